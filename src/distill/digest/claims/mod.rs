//! Claims: the few sentences of a session that later ones should know, in the words in which they
//! were said: what holds from now on, what was decided, what was learnt, what was left open.
//!
//! Each rule has a name, a cue, and counter-examples in its tests. Rules are of form: who says it,
//! where it stands, what it answers. None has a weight; where there are more lines than room, the
//! rule that is right more often comes first, and of one rule's lines the latest.

mod decisions;
mod lessons;
mod open;
mod own;
mod standing;

use std::collections::HashSet;

use crate::base::static_regex::StaticRegex;
use crate::base::{markdown, text};
use crate::distill::change::explains;
use crate::distill::facts::Facts;
use crate::distill::words;
use crate::model::digest::{Claim, ClaimKind, Origin};
use crate::model::ids::EpisodeId;
use crate::model::session::Head;

use own::Talk;

/// No line of a page is longer.
const LONGEST_CLAIM: usize = 400;
/// What is left of a line without its first words has at least so many.
const FEWEST_WORDS: usize = 4;
/// From which share of the shorter one's words on two lines say the same.
const ALIKE: f32 = 0.6;
/// From which share of the longer one's words on two lines are the same.
const SAME: f32 = 0.75;

/// The claims of a session: standing lines first, then decisions, lessons and open ends, each kind
/// in the order of its episodes. What the outcomes of the session say is not said again.
pub fn claims(facts: &Facts, head: &Head, outcomes: &[String]) -> Vec<Claim> {
    let talk = Talk::of(facts);
    let mut page = Page::default();
    for line in standing::standing(&talk) {
        page.add(ClaimKind::Standing, line, standing::MOST);
    }
    page.add_all(ClaimKind::Standing, standing::checks(facts), 1);
    page.add_aside(ClaimKind::Standing, standing::notes(facts, head));
    for line in decisions::decisions(&talk) {
        page.add(ClaimKind::Decision, line, decisions::MOST);
    }
    // What only explains is a lesson rather than an outcome.
    let results = outcomes.iter().filter(|outcome| !explains(outcome));
    let said: Vec<HashSet<String>> = results.map(|one| telling_words(one)).collect();
    for line in lessons::lessons(&talk) {
        let line = lessons::as_it_is_now(line, outcomes);
        let words = telling_words(&line.text);
        if said.iter().any(|outcome| are_the_same(outcome, &words)) {
            continue;
        }
        page.add(ClaimKind::Lesson, line, lessons::most(&talk));
    }
    for line in open::open(facts, &talk, head) {
        page.add(ClaimKind::Open, line, open::MOST);
    }
    page.claims.sort_by_key(|claim| (claim.kind, claim.episode));
    page.claims
}

/// A line that a rule found.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    text: String,
    episode: EpisodeId,
    origin: Origin,
}

impl Line {
    fn new(text: impl Into<String>, episode: u32, origin: Origin) -> Line {
        Line { text: text.into(), episode: EpisodeId(episode), origin }
    }
}

/// The lines that a page has so far.
#[derive(Default)]
struct Page {
    claims: Vec<Claim>,
    words: Vec<HashSet<String>>,
}

impl Page {
    /// Adds a line, where there is room and nothing says the same yet.
    fn add(&mut self, kind: ClaimKind, line: Line, most: usize) {
        let room = self.claims.iter().filter(|claim| claim.kind == kind).count() < most;
        let words = telling_words(&line.text);
        let known = self.words.iter().any(|other| are_alike(other, &words));
        // A fact of the person is the name of what they use.
        let says_something = words.len() > 1 || own::is_fact(&line.text);
        if room && !known && says_something {
            self.push(kind, line, words);
        }
    }

    /// Adds lines whatever else there is.
    fn add_all(&mut self, kind: ClaimKind, lines: impl IntoIterator<Item = Line>, most: usize) {
        for line in lines.into_iter().take(most) {
            let words = telling_words(&line.text);
            self.push(kind, line, words);
        }
    }

    /// Adds a line that only says where things are: others may say more of the same files.
    fn add_aside(&mut self, kind: ClaimKind, line: Option<Line>) {
        if let Some(line) = line {
            self.push(kind, line, HashSet::new());
        }
    }

    fn push(&mut self, kind: ClaimKind, line: Line, words: HashSet<String>) {
        let Line { text, episode, origin } = line;
        let said = if origin == Origin::User { without_fillers(&text) } else { &text };
        let text = tidy(said);
        if !text.is_empty() {
            self.claims.push(Claim { kind, text, episode, origin });
            self.words.push(words);
        }
    }
}

/// A line as it stands on a page: one line, without marks of Markdown.
fn tidy(said: &str) -> String {
    let line = text::one_line(&markdown::strip_marks(said), LONGEST_CLAIM);
    let line = line.trim_end_matches([',', ';', ' ']);
    // One sentence alone needs no full stop; several do.
    let one = line.strip_suffix('.').filter(|one| !one.contains(". ") && !one.ends_with('.'));
    let line = one.unwrap_or(line).to_string();
    // Half a code span would swallow the rest of the line.
    if line.matches('`').count() % 2 == 1 { line.replace('`', "'") } else { line }
}

/// What a person says without the words that only take the turn: "ok, also the log is locked" is
/// "the log is locked". "No", "but" and "ah" object, which says something.
fn without_fillers(said: &str) -> &str {
    static FILLERS: StaticRegex = StaticRegex::new(
        r"(?i)^(?:(?:ok(?:ay)?|also|and|so+)[,.!… ]+|(?:hm+|well|alright|yeah|great|cool)[,.!…]+\s*)+",
    );
    let rest = FILLERS.find(said).map_or(said, |fillers| &said[fillers.end()..]);
    if rest.split_whitespace().count() >= FEWEST_WORDS { rest } else { said }
}

/// The words by which two lines are found to say the same.
fn telling_words(line: &str) -> HashSet<String> {
    words::stems(line, |word| word.whole && words::weight(&word.text) > 0.0)
}

/// Whether two lines have nearly all words in common.
fn are_the_same(one: &HashSet<String>, other: &HashSet<String>) -> bool {
    one.intersection(other).count() as f32 >= SAME * one.len().max(other.len()) as f32
}

fn are_alike(one: &HashSet<String>, other: &HashSet<String>) -> bool {
    let common = one.intersection(other).count();
    let shorter = one.len().min(other.len());
    shorter > 0 && common as f32 >= ALIKE * shorter as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_only_take_the_turn_are_left_out() {
        for (said, rest) in [
            ("ok, also the log of the day is locked", "the log of the day is locked"),
            ("hmmm, the tide log comes before that", "the tide log comes before that"),
        ] {
            assert_eq!(without_fillers(said), rest);
        }
        for said in [
            "No, let us lock the log of the day",
            "but the log has a lock of its own",
            "no lock on the log of the day",
            "well tested code needs no lock of its own",
            "ok, do that now",
            "sort the log of the day before that",
        ] {
            assert_eq!(without_fillers(said), said);
        }
    }
}
