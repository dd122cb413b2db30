//! The lines of a digest's body that are read back: triggers, decisions and lessons, the Index.

use crate::base::markdown::{inline, plain, tight_code};
use crate::base::text;
use crate::model::digest::{Claim, ClaimKind, ErrorFact, IndexLine, Origin, Trigger};
use crate::model::ids::{Device, EpisodeId};
use crate::store::layout::{self, link_path, link_target};

const REFERENCE: &str = " -> Trigger reference: ";
/// What stands around a file of a folder's snapshot, which only the device has that made it.
const IN_FILE: &str = ", `";
const ON_DEVICE: &str = "` on ";
const KEYS: &str = " | keys: ";
const CLAIM_REFERENCE: &str = " -> ";
const ERROR: &str = "- error: ";
const SOLVED_IN: &str = ", solved in ";

/// Reads one trigger line.
pub fn parse_trigger(line: &str) -> Option<Trigger> {
    let (topic, rest) = line.strip_prefix("- [")?.split_once("]: ")?;
    let (sentence, reference) = rest.rsplit_once(REFERENCE)?;
    let (episode, path, rest) = match reference.strip_prefix('[') {
        Some(link) => {
            let (episode, rest) = link.split_once("](")?;
            let (path, rest) = rest.split_once(')')?;
            (episode, path, rest)
        }
        None => {
            let (episode, rest) = reference.split_once(IN_FILE)?;
            let (path, rest) = rest.split_once(ON_DEVICE)?;
            (episode, path, rest.find(' ').map_or("", |end| &rest[end..]))
        }
    };
    let (origin, keys) = match rest.split_once(KEYS) {
        Some((origin, keys)) => (origin, keys),
        None => (rest, ""),
    };
    Some(Trigger {
        topic: plain(topic),
        sentence: plain(sentence),
        episode: episode.parse().unwrap_or(EpisodeId(0)),
        path: link_path(path),
        origin: origin.trim_start_matches(" | ").parse().unwrap_or(Origin::Assistant),
        keys: keys.split(", ").filter(|key| !key.is_empty()).map(plain).collect(),
    })
}

/// Reads one line of decisions and lessons: `- decision (user): text -> [EP_004](…)`, or as format
/// 1 had it, `- decision: text -> [EP_004](…) | user`.
pub fn parse_claim(line: &str) -> Option<Claim> {
    let (label, rest) = line.strip_prefix("- ")?.split_once(": ")?;
    let (text, reference) = rest.rsplit_once(CLAIM_REFERENCE)?;
    let (episode, rest) = match reference.strip_prefix('[') {
        Some(link) => link.split_once("](")?,
        None => (reference.trim_end(), ""),
    };
    let (kind, origin) = match label.split_once(" (") {
        Some((kind, origin)) => (kind, origin.strip_suffix(')')?),
        None => (label, rest.split_once(") | ")?.1),
    };
    Some(Claim {
        kind: claim_kind(kind)?,
        text: plain(text),
        episode: episode.parse().ok()?,
        origin: origin.trim_end().parse().ok()?,
    })
}

/// What a claim claims, in the words of both formats.
fn claim_kind(word: &str) -> Option<ClaimKind> {
    match word {
        "preference" | "check" => Some(ClaimKind::Standing),
        "fix" => Some(ClaimKind::Lesson),
        word => word.parse().ok(),
    }
}

/// Writes one line of decisions and lessons; without a link where the part is a file of a folder.
pub fn claim_line(claim: &Claim, of_folder: bool) -> String {
    let Claim { kind, text, episode, origin } = claim;
    let text = line(text);
    let path = layout::from_digest(&layout::episode(*episode));
    let place = if of_folder { episode.to_string() } else { format!("[{episode}]({path})") };
    format!("- {kind} ({origin}): {text}{CLAIM_REFERENCE}{place}")
}

/// So many characters of a text stand in one line: no line of a page is longer than about 400.
const LONGEST_TEXT: usize = 340;

/// Text as it stands in a line among others.
pub fn line(text: &str) -> String {
    inline(&text::one_line(&unmarked(text), LONGEST_TEXT))
}

/// Text in one line without the marks that part a line's fields.
fn unmarked(text: &str) -> String {
    let line = text::one_line(text, usize::MAX);
    let line = tight_code(&line);
    let words = line.split(' ').map(|word| match word {
        "->" => "→",
        "|" => "¦",
        word => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Reads a line of the Index that lists a part's terms: `- EP_001: flock, header`.
pub fn parse_index_line(line: &str) -> Option<IndexLine> {
    let (episode, terms) = line.strip_prefix("- ")?.split_once(':')?;
    let terms = terms.trim().split(", ").filter(|term| !term.is_empty());
    Some(IndexLine { episode: episode.parse().ok()?, terms: terms.map(plain).collect() })
}

/// Writes a line of the Index that lists a part's terms.
pub fn index_line(line: &IndexLine) -> String {
    let terms: Vec<String> =
        line.terms.iter().map(|term| inline(&term.replace(',', " "))).collect();
    format!("- {}: {}", line.episode, terms.join(", ")).trim_end().to_string()
}

/// Reads an error of the Index: `- error: text (EP_004, solved in EP_005)`.
pub fn parse_error(line: &str) -> Option<ErrorFact> {
    let (text, place) = line.strip_prefix(ERROR)?.strip_suffix(')')?.rsplit_once(" (")?;
    let (episode, solved_in) = match place.split_once(SOLVED_IN) {
        Some((episode, solved_in)) => (episode, Some(solved_in.parse().ok()?)),
        None => (place, None),
    };
    Some(ErrorFact { text: plain(text), episode: episode.parse().ok()?, solved_in })
}

/// Writes an error of the Index.
pub fn error_line(error: &ErrorFact) -> String {
    let solved_in = error.solved_in.map(|episode| format!("{SOLVED_IN}{episode}"));
    let text = inline(&error.text);
    format!("{ERROR}{text} ({}{})", error.episode, solved_in.unwrap_or_default())
}

/// Writes one trigger line. The files of a folder are on one device only, where a link would lead
/// nowhere in a clone: they are named with that device.
pub fn trigger_line(trigger: &Trigger, of_folder_on: Option<&Device>) -> String {
    // Nothing that a log says may look like the marks between a trigger's parts.
    let topic = line(&trigger.topic.replace(['[', ']'], "'"));
    let sentence = line(&trigger.sentence);
    let keys: Vec<String> =
        trigger.keys.iter().map(|key| line(&key.replace([',', '|'], " "))).collect();
    let path = match trigger.path.as_str() {
        "" => layout::from_digest(&layout::episode(trigger.episode)),
        path => link_target(path),
    };
    let keys = if keys.is_empty() { String::new() } else { format!("{KEYS}{}", keys.join(", ")) };
    let Trigger { episode, origin, .. } = trigger;
    let place = match of_folder_on {
        Some(device) => format!("{episode}{IN_FILE}{path}{ON_DEVICE}{device}"),
        None => format!("[{episode}]({path})"),
    };
    format!("- [{topic}]: {sentence}{REFERENCE}{place} | {origin}{keys}")
}
