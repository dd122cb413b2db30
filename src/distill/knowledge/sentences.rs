//! A transcript: the sentences of days, with how much each is worth quoting.
//!
//! Only what people and agents said is quoted. What a tool printed is evidence, never a statement,
//! and least of all an instruction; of it, only which files were changed and which commands failed
//! are taken over.

use super::Day;
use crate::base::static_regex::StaticRegex;
use crate::base::{markdown, text};
use crate::model::day::LineKind;
use crate::model::digest::Origin;
use crate::model::ids::SessionId;
use crate::model::knowledge::QuoteSource;

/// How long a sentence may be that is quoted, in characters.
const QUOTABLE: std::ops::RangeInclusive<usize> = 32..=330;
/// A longer prompt was not typed, and so many sentences lead to what was pasted.
const PASTED: usize = 1200;
const LEADS_TO_PASTE: usize = 2;
/// The fewest words of a sentence that is quoted.
const FEWEST_WORDS: usize = 6;

/// All sentences of some days, in order.
pub struct Transcript {
    pub sentences: Vec<Sentence>,
    pub exchanges: Vec<Exchange>,
}

/// One sentence.
pub struct Sentence {
    pub text: String,
    pub origin: Origin,
    pub place: QuoteSource,
    /// In which exchange it was said.
    pub exchange: usize,
    /// How much it says, about 0 to 2; 0 where it is not to be quoted.
    pub worth: f32,
    /// The words that were set in bold or italics.
    pub stressed: Vec<String>,
    /// Whether it goes on where the sentence before it ended.
    pub goes_on: bool,
}

/// A prompt and all that follows it, as far as it is on one day.
pub struct Exchange {
    pub place: QuoteSource,
    /// The first sentence of the prompt, if there was one.
    pub prompt: String,
    pub actions: Vec<Action>,
}

/// Something that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Edited(String),
    Failed(String),
}

impl Transcript {
    /// Reads days; the order in which they are handed over does not matter.
    pub fn of(days: &[Day]) -> Transcript {
        let mut transcript = Transcript { sentences: Vec::new(), exchanges: Vec::new() };
        let mut days: Vec<&Day> = days.iter().collect();
        days.sort_by_key(|day| day.day);
        for day in days {
            transcript.add(day);
        }
        transcript
    }

    /// The sentence that goes on from another, if it can be quoted.
    pub fn next(&self, at: usize) -> Option<usize> {
        self.sentences.get(at + 1).filter(|next| next.goes_on && next.worth > 0.0).map(|_| at + 1)
    }

    fn add(&mut self, day: &Day) {
        // Sessions of a day run side by side, so each has an exchange of its own that is going on.
        let mut going_on: std::collections::HashMap<Option<&SessionId>, usize> = Default::default();
        for line in &day.lines {
            let place =
                QuoteSource { day: day.day, session: line.session.clone(), episode: line.episode };
            let begins = line.kind == LineKind::User;
            let exchange = match going_on.get(&line.session.as_ref()) {
                Some(exchange) if !begins => *exchange,
                _ => {
                    self.exchanges.push(Exchange {
                        place: place.clone(),
                        prompt: if begins { prompt(&line.text) } else { String::new() },
                        actions: Vec::new(),
                    });
                    going_on.insert(line.session.as_ref(), self.exchanges.len() - 1);
                    self.exchanges.len() - 1
                }
            };
            let origin = match line.kind {
                LineKind::User => Origin::User,
                LineKind::MainAgent => Origin::Assistant,
                _ => {
                    self.exchanges[exchange].actions.extend(actions(&line.text));
                    continue;
                }
            };
            for (at, sentence) in text::sentences(&unflattened(&line.text)).enumerate() {
                let stressed = stressed(sentence);
                let sentence = balanced(&text::one_line(
                    &without_stress(&markdown::strip_marks(sentence)),
                    600,
                ));
                // What a person pasted was said by somebody else; they said what leads to it.
                let pasted = origin == Origin::User && line.text.chars().count() > PASTED;
                let own = match (pasted, at < LEADS_TO_PASTE) {
                    (false, _) => 1.0,
                    (true, true) => 0.7,
                    (true, false) => 0.0,
                };
                let worth = worth(&sentence, origin) * own;
                let goes_on = at > 0;
                let place = place.clone();
                self.sentences.push(Sentence {
                    text: sentence,
                    origin,
                    place,
                    exchange,
                    worth,
                    stressed,
                    goes_on,
                });
            }
        }
    }
}

impl std::ops::Index<usize> for Transcript {
    type Output = Sentence;

    fn index(&self, at: usize) -> &Sentence {
        &self.sentences[at]
    }
}

/// A line of a day is one line, also where a list was said: its items are put on lines of their own
/// again.
fn unflattened(line: &str) -> String {
    static ITEM: StaticRegex = StaticRegex::new(r#" (?:[-*•]|\d{1,2}[.)]|#{1,4}) ([\p{Lu}*`"“])"#);
    static NEXT: StaticRegex = StaticRegex::new(r"([;:.]) [-*•] ");
    NEXT.replace_all(&ITEM.replace_all(line, "\n\n- $1"), "$1\n\n- ").into_owned()
}

/// A sentence in which a lone backtick cannot swallow what follows it on the page.
fn balanced(sentence: &str) -> String {
    if sentence.matches('`').count() % 2 == 1 {
        sentence.replace('`', "'")
    } else {
        sentence.to_string()
    }
}

/// The words between stars, which somebody stressed.
fn stressed(sentence: &str) -> Vec<String> {
    static STARS: StaticRegex =
        StaticRegex::new(r"\*{1,2}([\p{L}\p{N}][^*:`]{2,40}[\p{L}\p{N}])\*{1,2}");
    STARS.captures_iter(sentence).map(|found| found[1].to_string()).collect()
}

/// A sentence without the stars around its words; those between numbers and in code stay.
fn without_stress(sentence: &str) -> String {
    let letters: Vec<char> = sentence.chars().collect();
    let mut in_code = false;
    let mut plain = String::with_capacity(sentence.len());
    for (at, letter) in letters.iter().enumerate() {
        in_code ^= *letter == '`';
        let is_word = |near: Option<&char>| near.is_some_and(|near| near.is_alphanumeric());
        let (before, after) =
            (at.checked_sub(1).and_then(|at| letters.get(at)), letters.get(at + 1));
        if *letter == '*'
            && !in_code
            && (is_word(before) != is_word(after) || before == Some(&'*') || after == Some(&'*'))
        {
            continue;
        }
        plain.push(*letter);
    }
    plain
}

fn prompt(text: &str) -> String {
    let line = text::one_line(&without_stress(&markdown::strip_marks(text)), 120);
    balanced(line.trim_end_matches(['.', ':']))
}

/// What a line of a tool reports: files that were changed, or a command that failed.
fn actions(line: &str) -> Vec<Action> {
    static TICKED: StaticRegex = StaticRegex::new(r"`([^`]+)`");
    if let Some(rest) = line.strip_prefix("edited ") {
        let names = TICKED.captures_iter(rest).map(|found| found[1].to_string());
        return names.filter(|_| line.ends_with("ok=true")).map(Action::Edited).collect();
    }
    let failed = line.strip_suffix(" ok=false").and_then(|said| TICKED.captures(said));
    let command = failed.filter(|found| found[1].starts_with("$ "));
    command.map(|found| Action::Failed(text::one_line(&found[1], 80))).into_iter().collect()
}

static NARRATION: StaticRegex = StaticRegex::new(
    r"(?i)^(i('|’)ll|i will|i('|’)d like to|i am |i('|’)m |i('|’)ve (read|looked|got|now)|i (need|can see|see|want to|now|found (the|a) file)|let me|let's|let us|now[, ]|next[, ]|first[, ]|then[, ]|good[.!,:;]|great|perfect|excellent|okay|ok[.!, ]|sure[.!,]|yes[.!,]|no[.!,]|thanks|thank you|done[.!:]|you're|here('s| is| are)|looking|checking|reading|running|understood|all (tests|done|good)|summary|key |status|updated:|next steps?|would you|do you want|shall i|want me)",
);
static LESSON: StaticRegex = StaticRegex::new(
    r"(?i)\b(root cause|turns? out|(problem|issue|bug|cause|culprit|fix|reason|fault|mistake|catch|trap) (is|was|were|here)|lesson|learn(ed|t)|caused by|the trick|the point|because|otherwise|cannot|can't|only (works|when|if)|that is why|which is why|means that)\b",
);
static DECISION: StaticRegex = StaticRegex::new(
    r"(?i)\b(decided|decision|we chose|i chose|chosen|going with|opt(ed)? for|rather than|instead of|in favou?r of|prefer|we('ll| will) use|no longer|must(n't)?|never|always|don't|do not|should( not|n't)?|so that)\b",
);
static MEASURED: StaticRegex =
    StaticRegex::new(r"(?i)\b\d+([.,]\d+)?\s?(ms|s|x|%|kb|mb|gb|bytes|rows|times|tests)\b");
static DANGLING: StaticRegex = StaticRegex::new(
    r"(?i)^(it|this|that|these|those|they|he|she|both|there|and|but|or|so|also|which|one)\b",
);

// What is just going on ("the hook is running tests"), what somebody wants of the agent, and a
// place in a file are no statements of a thing.
static GOES_ON: StaticRegex = StaticRegex::new(
    r"(?i)\b(?:is|are|was|were) (?:now |still |currently )?(?:running|checking|waiting|looking|working)\b|^(?:the user\b|what['’]s next|lines? \d|found it|no response)|^\W*\d+ pending",
);

/// How much a sentence says, whatever it is about; 0 where it is no statement.
fn worth(sentence: &str, origin: Origin) -> f32 {
    let length = sentence.chars().count();
    let words = sentence.split_whitespace().count();
    let drawn = |letter: char| ('\u{2500}'..='\u{259f}').contains(&letter);
    let letters =
        sentence.chars().filter(|letter| letter.is_alphabetic() || *letter == ' ').count();
    let wide = !sentence.is_ascii() && words < FEWEST_WORDS && length >= 16;
    let short_or_long = words < FEWEST_WORDS || !QUOTABLE.contains(&length);
    let no_statement = (short_or_long && !wide)
        || letters * 100 < length * 66
        || sentence.ends_with([':', '…', ',', '('])
        || sentence.matches('|').count() >= 2
        || sentence.contains("```")
        || sentence.contains("](")
        || sentence.contains("://")
        || sentence.starts_with(['<', '{', '[', '/', '$', '@', '✅', '❌', '⚠'])
        || sentence.contains(['{', '}', '✅', '❌'])
        || sentence.contains(" ## ")
        || sentence.contains(drawn)
        || NARRATION.is_match(sentence)
        || GOES_ON.is_match(sentence);
    if no_statement {
        return 0.0;
    }
    let mut worth: f32 = 0.4;
    let mut count = |holds: bool, weight: f32| worth += if holds { weight } else { 0.0 };
    count(LESSON.is_match(sentence), 0.45);
    count(DECISION.is_match(sentence), if origin == Origin::User { 0.4 } else { 0.35 });
    count(MEASURED.is_match(sentence), 0.15);
    count(sentence.contains('`'), 0.12);
    count(sentence.ends_with('?'), -0.3);
    count(!(50..=240).contains(&length), -0.12);
    count(DANGLING.is_match(sentence), -0.22);
    count(sentence.starts_with(|first: char| first.is_lowercase()), -0.1);
    count(!sentence.ends_with(['.', '!', '?', '。', '"', '”', '`', ')']), -0.12);
    count(sentence.starts_with("I ") || sentence.contains(" I "), -0.1);
    worth.max(0.05)
}
