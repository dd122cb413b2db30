//! The lines of a digest's body that are read back: triggers, and decisions and lessons.

use crate::base::markdown::{inline, plain};
use crate::model::digest::{Claim, Origin, Trigger};
use crate::model::ids::EpisodeId;
use crate::store::layout;

const REFERENCE: &str = " -> Trigger reference: [";
const KEYS: &str = " | keys: ";
const STATED_REFERENCE: &str = " -> [";

/// Reads one trigger line.
pub fn parse_trigger(line: &str) -> Option<Trigger> {
    let (topic, rest) = line.strip_prefix("- [")?.split_once("]: ")?;
    let (sentence, reference) = rest.rsplit_once(REFERENCE)?;
    let (episode, rest) = reference.split_once("](")?;
    let (path, rest) = rest.split_once(')')?;
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

/// Reads one line of decisions and lessons.
pub fn parse_claim(line: &str) -> Option<Claim> {
    let (kind, rest) = line.strip_prefix("- ")?.split_once(": ")?;
    let kind = kind.parse().ok()?;
    let (text, reference) = rest.rsplit_once(STATED_REFERENCE)?;
    let (episode, rest) = reference.split_once("](")?;
    let (_, origin) = rest.split_once(") | ")?;
    Some(Claim {
        kind,
        text: plain(text),
        episode: episode.parse().ok()?,
        origin: origin.trim_end().parse().ok()?,
    })
}

/// Writes one line of decisions and lessons.
pub fn claim_line(claim: &Claim) -> String {
    let text = inline(&claim.text.replace("->", "→"));
    let path = layout::from_digest(&layout::episode(claim.episode));
    format!(
        "- {}: {text}{STATED_REFERENCE}{}]({path}) | {}",
        claim.kind, claim.episode, claim.origin
    )
}

/// Writes one trigger line.
pub fn trigger_line(trigger: &Trigger) -> String {
    // Nothing that a log says may look like the marks between a trigger's parts.
    let topic = inline(&trigger.topic.replace(['[', ']'], "'"));
    let sentence = inline(&trigger.sentence.replace("->", "→"));
    let keys: Vec<String> = trigger
        .keys
        .iter()
        .map(|key| inline(&key.replace([',', '|'], " ").replace("->", "→")))
        .collect();
    let path = match trigger.path.as_str() {
        "" => layout::from_digest(&layout::episode(trigger.episode)),
        path => link_target(path),
    };
    let keys = if keys.is_empty() { String::new() } else { format!("{KEYS}{}", keys.join(", ")) };
    format!(
        "- [{topic}]: {sentence}{REFERENCE}{}]({path}) | {}{keys}",
        trigger.episode, trigger.origin
    )
}

/// A path as the target of a link: what would end the link or the line is written as in an address.
pub fn link_target(path: &str) -> String {
    let mut target = String::with_capacity(path.len());
    for letter in path.chars() {
        let plain = letter.is_alphanumeric() || "/._-+=@,:~'!".contains(letter);
        match plain {
            true => target.push(letter),
            false => {
                letter.to_string().bytes().for_each(|byte| target.push_str(&format!("%{byte:02X}")))
            }
        }
    }
    target
}

/// What [`link_target`] was given.
pub fn link_path(target: &str) -> String {
    let mut bytes = Vec::with_capacity(target.len());
    let mut rest = target.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = (*first == b'%')
            .then(|| tail.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match hex.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
