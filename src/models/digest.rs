//! What a model may add to a digest: an intent, outcomes, sentences for triggers, and the choice of
//! a motto.
//!
//! It only ever adds. Our own sentences, keys, ids and evidence stay, so that a session is found as
//! well as before, and every line of the model's is marked. A line counts only if it names an
//! episode of the session, and if that episode supports it: its names and numbers are there, and so
//! are most of its other words.

use std::collections::HashSet;

use super::{MARK, Prompt};
use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::model::digest::Content;
use crate::model::ids::EpisodeId;

/// What a model is asked about a session.
pub const PROMPT: Prompt = Prompt {
    task: "digest",
    text: include_str!("../../templates/prompts/digest.md"),
    reply_tokens: 700,
};

/// How much of a session is shown to a model, in tokens: of a longer one, the beginning and end of
/// each episode.
const MOST_SHOWN: usize = 40_000;
/// The longest line of a model, in characters.
const LONGEST: usize = 240;
const MOST_OUTCOMES: usize = 3;
/// The lengths that a motto may have, in characters.
const MOTTO: std::ops::RangeInclusive<usize> = 12..=90;
/// What parts a model's words from ours on one line.
const BETWEEN: &str = " · ";

/// One episode, as its page shows it.
pub struct Episode {
    pub id: EpisodeId,
    pub text: String,
}

/// The episodes as a model is shown them, one part each.
pub fn parts(episodes: &[Episode]) -> Vec<String> {
    let share = MOST_SHOWN / episodes.len().max(1);
    let shown = |episode: &Episode| {
        if text::tokens(&episode.text) <= share {
            return episode.text.clone();
        }
        // A token has about three bytes in what is mostly code; the end says what came of it.
        let half = share * 3 / 2;
        let from = (episode.text.len().saturating_sub(half)..)
            .find(|at| episode.text.is_char_boundary(*at));
        let end = &episode.text[from.unwrap_or(episode.text.len())..];
        format!("{}\n\n[… left out …]\n\n{end}", text::cut(&episode.text, half))
    };
    episodes.iter().map(shown).collect()
}

/// Adds to a digest what a model said and the session supports; returns how many of its lines that
/// were.
pub fn add(content: &mut Content, reply: &str, episodes: &[Episode]) -> usize {
    let lines: Vec<Line> = reply.lines().filter_map(|line| Line::read(line, episodes)).collect();
    let marked = |line: &Line| format!("{} {MARK}", line.text);
    let mut added = 0;
    if let Some(intent) = lines.iter().find(|line| line.kind == Kind::Intent) {
        content.core_intent = joined(&marked(intent), &content.core_intent);
        added += 1;
    }
    let outcomes = lines.iter().filter(|line| line.kind == Kind::Outcome).take(MOST_OUTCOMES);
    let outcomes: Vec<String> =
        outcomes.map(|line| format!("{} ({}) {MARK}", line.text, line.episode)).collect();
    added += outcomes.len();
    content.key_outcomes.splice(..0, outcomes);
    let mut changed = HashSet::new();
    for line in lines.iter().filter(|line| line.kind == Kind::Trigger) {
        // A trigger may stand for several episodes: the last one that begins at or before this.
        let before = |at: &usize| content.triggers[*at].episode <= line.episode;
        let at = (0..content.triggers.len())
            .filter(before)
            .max_by_key(|at| content.triggers[*at].episode);
        if let Some(at) = at.filter(|at| changed.insert(*at)) {
            let trigger = &mut content.triggers[at];
            trigger.sentence = joined(&marked(line), &trigger.sentence);
            added += 1;
        }
    }
    if let Some(motto) = lines.iter().find(|line| line.kind == Kind::Motto) {
        // The words are the session's own; only the choice is the model's.
        content.motto = motto.text.clone();
        added += 1;
    }
    added
}

fn joined(theirs: &str, ours: &str) -> String {
    if ours.is_empty() { theirs.to_string() } else { format!("{theirs}{BETWEEN}{ours}") }
}

/// A line of a reply that the session supports.
struct Line {
    kind: Kind,
    episode: EpisodeId,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Intent,
    Outcome,
    Trigger,
    Motto,
}

impl Line {
    fn read(line: &str, episodes: &[Episode]) -> Option<Line> {
        static FORM: StaticRegex = StaticRegex::new(
            r"(?i)^[\s>*#-]*(intent|outcome|trigger|motto)[\s*\[(]*EP_(\d+)[\s\])*]*:[\s*]*(.+)$",
        );
        let found = FORM.captures(line)?;
        let kind = match found[1].to_ascii_lowercase().as_str() {
            "intent" => Kind::Intent,
            "outcome" => Kind::Outcome,
            "trigger" => Kind::Trigger,
            _ => Kind::Motto,
        };
        let number: u32 = found[2].parse().ok()?;
        let episode = episodes.iter().find(|episode| episode.id.0 == number)?;
        let words = text::one_line(found[3].trim().trim_matches(['"', '“', '”']), LONGEST);
        // Our own mark is removed, so that a line cannot pass for another's.
        let words = words.replace(MARK, "").trim().trim_end_matches('.').to_string();
        let holds = match kind {
            Kind::Motto => {
                MOTTO.contains(&words.chars().count())
                    && flat(&episode.text).contains(&flat(&words))
            }
            _ => is_supported(&episode.text, &words),
        };
        holds.then_some(Line { kind, episode: episode.id, text: words })
    }
}

/// Whether an episode supports a sentence: every name and number of it is there, and most of
/// its words.
fn is_supported(episode: &str, sentence: &str) -> bool {
    let there = flat(episode);
    let names =
        sentence.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let mut names = names.filter(|word| is_name(word));
    if !names.all(|name| there.contains(&flat(name))) {
        return false;
    }
    let stems: HashSet<String> = text::words(episode).iter().map(|word| stem(word)).collect();
    let words: Vec<String> = text::words(sentence)
        .iter()
        .map(|word| stem(word))
        .filter(|stem| !is_small(stem))
        .collect();
    let known = words.iter().filter(|word| stems.contains(*word)).count();
    !words.is_empty() && known * 5 >= words.len() * 3
}

/// A word that means one thing only: a path, a symbol, a number, a name in code.
fn is_name(word: &str) -> bool {
    let inner_capital =
        word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    let joined = ['/', '_', '.', ':', '\\', '@', '#'].iter().any(|mark| word.contains(*mark));
    inner_capital || joined || word.chars().any(|c| c.is_ascii_digit())
}

/// The beginning of a word: sentences turn words, `locked` for `locking`.
fn stem(word: &str) -> String {
    word.to_lowercase().chars().take(5).collect()
}

/// Words that every sentence has.
fn is_small(stem: &str) -> bool {
    const SMALL: &[&str] = &[
        "the", "and", "for", "was", "were", "with", "that", "this", "from", "into", "which", "when",
    ];
    stem.chars().count() < 3 && stem.is_ascii() || SMALL.contains(&stem)
}

/// A text in which case, line ends and quotation marks make no difference.
fn flat(value: &str) -> String {
    let words: Vec<&str> = value
        .split(|c: char| c.is_whitespace() || c == '>')
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::digest::{Origin, Outcome, Trigger};

    fn episodes() -> Vec<Episode> {
        let page = |number: u32, text: &str| Episode { id: EpisodeId(number), text: text.into() };
        vec![
            page(
                1,
                "# EP_001 · Fix the lock\n\n**Prompt**\n> The day log loses lines with two writers, fix the lock.",
            ),
            page(
                2,
                "# EP_002 · why\n\n**Agent**\n> Both saw no header in src/day.rs:\n> Lock first, look later. 3 tests failed.",
            ),
            page(3, "# EP_003 · go\n\n- `$ cargo test` → ok\n  7 passed"),
        ]
    }

    fn content() -> Content {
        let trigger = |number: u32, sentence: &str| Trigger {
            topic: "topic".into(),
            sentence: sentence.into(),
            episode: EpisodeId(number),
            path: String::new(),
            origin: Origin::Assistant,
            keys: vec!["flock".into()],
        };
        Content {
            flavor: "claude".into(),
            status: Outcome::Success,
            objective: "Fix the lock".into(),
            motto: "ours".into(),
            core_intent: "Fix the lock".into(),
            key_outcomes: vec!["changed src/day.rs".into()],
            triggers: vec![trigger(1, "first"), trigger(2, "second")],
            turns: 3,
            ..Content::default()
        }
    }

    #[test]
    fn a_model_adds_and_takes_nothing_away() {
        let mut page = content();
        let reply = "Sure! Here is the note:\n\
            INTENT [EP_001]: The day log loses lines with two writers.\n\
            - **OUTCOME** [EP_003]: cargo test passed with 7 passed.\n\
            TRIGGER [EP_003]: The tests passed with cargo test.\n\
            MOTTO [EP_002]: \"Lock first, look later.\"";
        assert_eq!(add(&mut page, reply, &episodes()), 4);
        assert_eq!(
            page.core_intent,
            "The day log loses lines with two writers (model) · Fix the lock"
        );
        assert_eq!(
            page.key_outcomes,
            ["cargo test passed with 7 passed (EP_003) (model)", "changed src/day.rs"]
        );
        assert_eq!(page.motto, "Lock first, look later");
        // Episode 3 belongs to the trigger that begins with episode 2.
        assert_eq!(page.triggers[1].sentence, "The tests passed with cargo test (model) · second");
        assert_eq!(
            (page.triggers[0].sentence.as_str(), &page.triggers[1].keys),
            ("first", &vec!["flock".to_string()])
        );
    }

    #[test]
    fn what_the_session_does_not_support_is_left_out() {
        let mut page = content();
        let reply = "INTENT [EP_009]: The day log loses lines with two writers.\n\
            INTENT: The day log loses lines with two writers.\n\
            OUTCOME [EP_002]: Both saw no header in src/other.rs.\n\
            OUTCOME [EP_002]: 4 tests failed.\n\
            OUTCOME [EP_003]: The customer database was migrated to a new cluster.\n\
            MOTTO [EP_002]: Look first, lock later.\n\
            TRIGGER [EP_002]: .";
        assert_eq!(add(&mut page, reply, &episodes()), 0);
        assert_eq!(page, content());
    }

    #[test]
    fn a_long_session_is_shown_in_part_and_no_episode_is_dropped() {
        let long = format!("# EP_001 begins\n{}\nends here", "many words of it\n".repeat(40_000));
        let shown = parts(&[
            Episode { id: EpisodeId(1), text: long },
            Episode { id: EpisodeId(2), text: "# EP_002".into() },
        ]);
        assert!(shown[0].starts_with("# EP_001 begins") && shown[0].ends_with("ends here"));
        assert!(
            shown[0].contains("left out")
                && text::tokens(&shown[0]) < MOST_SHOWN
                && shown[1] == "# EP_002"
        );
    }
}
