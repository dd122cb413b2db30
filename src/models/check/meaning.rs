//! A sentence as a check sees it: its words by what they mean, its numbers, what it denies.

use std::collections::HashSet;

use super::vocabulary::{
    canonical, digits, is_action, is_break, is_forbidden, is_light, is_negator, is_past,
    is_reversal, is_soft, is_stop,
};
use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::model::digest::Origin;

/// One or more sentences.
pub struct Meaning {
    tokens: Vec<Token>,
    /// In lower case, for what stands in more than one word.
    lower: String,
}

/// One word of a sentence.
#[derive(Debug, Clone)]
pub struct Token {
    /// As it stands there, in lower case.
    pub shown: String,
    canonical: String,
    /// What an identifier consists of: `src/day.rs` has `src`, `day` and `rs`.
    parts: Vec<String>,
    /// Whether something before it denies it.
    denied: bool,
    /// Whether that is only said by a verb: `stop`, `avoid`.
    softly: bool,
    /// Whether it stands where a verb does.
    verb: bool,
    /// Whether it begins a clause.
    begins: bool,
}

/// How many words a negation reaches.
const REACH: usize = 5;

impl Meaning {
    pub fn of(value: &str) -> Meaning {
        let mut tokens: Vec<Token> = Vec::new();
        let (mut end, mut whole_end) = (0, 0);
        text::each_word(value, |word| {
            if !word.whole && word.start < whole_end {
                if let Some(last) = tokens.last_mut() {
                    last.parts.push(canonical(&word.text));
                }
                return;
            }
            let between = value.get(end..word.start).unwrap_or_default();
            let begins = tokens.is_empty()
                || between.contains([',', ';', ':', '.', '(', ')', '!', '?', '—', '–', '\n']);
            tokens.push(Token {
                canonical: canonical(&word.text),
                shown: word.text.to_string(),
                parts: Vec::new(),
                denied: false,
                softly: false,
                verb: false,
                begins,
            });
            (end, whole_end) = (word.end, word.end);
        });
        mark_denied(&mut tokens);
        mark_verbs(&mut tokens);
        Meaning { tokens, lower: value.to_lowercase() }
    }

    /// The words that say something, without numbers and negations.
    pub fn telling(&self) -> impl Iterator<Item = &Token> {
        self.tokens.iter().filter(|token| {
            !is_stop(&token.shown) && !is_negator(&token.shown) && token.number().is_none()
        })
    }

    pub fn numbers(&self) -> impl Iterator<Item = &str> {
        self.tokens.iter().filter_map(Token::number)
    }

    pub fn has(&self, word: &Token) -> bool {
        let is_there = |wanted: &String| {
            let mut words = self
                .tokens
                .iter()
                .flat_map(|token| std::iter::once(&token.canonical).chain(&token.parts));
            words.any(|word| is_same(word, wanted))
        };
        word.is_borne(is_there)
    }

    pub fn has_number(&self, number: &str) -> bool {
        let tokens = || self.tokens.iter();
        tokens().any(|token| token.number() == Some(number))
            || tokens().flat_map(|token| &token.parts).any(|part| part == number)
    }

    /// Adds the words and the numbers to those of others.
    pub fn collect(&self, words: &mut HashSet<String>, numbers: &mut HashSet<String>) {
        for token in &self.tokens {
            numbers.extend(token.number().map(str::to_string));
            let digits = |part: &&String| part.bytes().all(|byte| byte.is_ascii_digit());
            numbers.extend(token.parts.iter().filter(digits).cloned());
            words.insert(token.canonical.clone());
            words.extend(token.parts.iter().cloned());
        }
    }

    /// Whether it announces, wishes or asks, rather than tells.
    pub fn is_announced(&self) -> bool {
        static ANNOUNCED: StaticRegex = StaticRegex::new(
            r"\b(will|going to|let me|plans? to|wants? to|should|could|might|would|needs? to|maybe|perhaps|todo|try(ing)? to)\b|\b(i|we|you|it|that)['’]ll\b|\blet['’]s\b|\?\s*$",
        );
        ANNOUNCED.is_match(&self.lower)
    }

    /// Something that the source says did not succeed, and this one says was done.
    pub fn succeeds_where(&self, source: &Meaning) -> Option<String> {
        let is_reversed = |token: &&Token| is_reversal(&token.canonical);
        if self.tokens.iter().any(|token| is_reversal(&token.canonical)) {
            return None;
        }
        let clauses = source.tokens.chunk_by(|_, next| !next.begins && !is_break(&next.shown));
        let failed = clauses.filter(|clause| clause.iter().any(|token| is_reversed(&token)));
        let failed: Vec<&Token> = failed.flatten().collect();
        let mut done = self.telling().filter(|token| token.is_action());
        let is_failed =
            |token: &&Token| failed.iter().any(|other| other.canonical == token.canonical);
        done.find(is_failed).map(|token| token.shown.clone())
    }

    /// Whose words it claims to be, where it says so.
    pub fn names_speaker(&self) -> Option<Origin> {
        static PERSON: StaticRegex = StaticRegex::new(
            r"\b(user|person|human|owner|maintainer|customer|reviewer)\b,? (has |had |also )?(asked|asks|wants|wanted|decided|decides|said|says|chose|prefers|preferred|insisted|requested|told|rejected|approved|confirmed|refused|accepted)\b",
        );
        static AGENT: StaticRegex = StaticRegex::new(
            r"\b(agent|assistant|model|claude|codex|gemini|copilot)\b,? (has |had |also )?(asked|decided|said|says|chose|proposed|proposes|suggested|suggests|recommended|promised|claimed|offered|noted|rejected|preferred|explained)\b",
        );
        if PERSON.is_match(&self.lower) {
            return Some(Origin::User);
        }
        AGENT.is_match(&self.lower).then_some(Origin::Assistant)
    }

    /// A word that one of the two denies and the other does not. An aim may be to stop something,
    /// so that only a plain negation counts there.
    pub fn denied_otherwise(&self, source: &Meaning, is_aim: bool) -> Option<String> {
        let is_denied = |token: &Token| token.denied && !(is_aim && token.softly);
        if unspaced_negation(&self.lower) != unspaced_negation(&source.lower) {
            return Some(text::one_line(&self.lower, 40));
        }
        let conflicts = |token: &&Token| {
            let mut same = source
                .tokens
                .iter()
                .filter(|other| other.canonical == token.canonical && !is_negator(&other.shown))
                .peekable();
            same.peek().is_some() && same.all(|other| is_denied(other) != is_denied(token))
        };
        let mut weighty = self.telling().filter(|token| !token.is_light() || token.verb);
        weighty.find(conflicts).map(|token| token.shown.clone())
    }
}

impl Token {
    /// Whether some words have it, or all that it consists of.
    pub fn is_within(&self, words: &HashSet<String>) -> bool {
        self.is_borne(|wanted| {
            words.contains(wanted) || words.iter().any(|word| is_same(word, wanted))
        })
    }

    fn is_borne(&self, is_there: impl Fn(&String) -> bool) -> bool {
        // The parts of a version number say little one by one.
        let by_parts =
            !self.parts.is_empty() && !self.shown.starts_with(|c: char| c.is_ascii_digit());
        is_there(&self.canonical) || (by_parts && self.parts.iter().all(is_there))
    }

    /// Whether it says that something is done.
    pub fn is_action(&self) -> bool {
        is_action(&self.canonical) || (!self.is_light() && (self.verb || is_past(&self.shown)))
    }

    pub fn is_light(&self) -> bool {
        is_light(&self.shown)
    }

    /// Its digits, where it is a number.
    fn number(&self) -> Option<&str> {
        let is_number =
            !self.shown.is_empty() && self.shown.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some(self.shown.as_str()).or_else(|| digits(&self.shown))
    }
}

/// Whether two words are one in different forms, as far as their beginnings show.
fn is_same(word: &str, other: &str) -> bool {
    const LEAST: usize = 5;
    let common = word.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let longer = word.chars().count().max(other.chars().count());
    word == other
        || (common >= LEAST && common * 3 >= longer * 2 && word.chars().all(char::is_alphabetic))
}

/// Marks what a negation reaches: what follows it in its clause, or, where something is forbidden,
/// what stands before.
fn mark_denied(tokens: &mut [Token]) {
    let (mut reach, mut softly) = (0, false);
    for at in 0..tokens.len() {
        let next = tokens.get(at + 1).map_or("", |token| token.shown.as_str());
        let shown = tokens[at].shown.as_str();
        let contrast = matches!((shown, next), ("instead", "of") | ("rather", "than"));
        let only = (shown, next) == ("not", "only");
        if contrast || (is_negator(shown) && !only) {
            reach = REACH + usize::from(contrast);
            softly = !contrast && is_soft(shown);
            continue;
        }
        if tokens[at].begins || is_break(shown) {
            reach = 0;
        }
        if is_forbidden(shown)
            && at > 0
            && matches!(tokens[at - 1].shown.as_str(), "is" | "are" | "was" | "were" | "be")
        {
            let start = (0..at).rev().find(|place| tokens[*place].begins).unwrap_or(0);
            tokens[start..at].iter_mut().for_each(|token| token.denied = true);
            continue;
        }
        if reach > 0 {
            (tokens[at].denied, tokens[at].softly) = (true, softly);
            reach -= usize::from(!is_stop(&tokens[at].shown));
        }
    }
}

/// Marks what stands where a verb does.
fn mark_verbs(tokens: &mut [Token]) {
    const BEFORE: &[&str] = &[
        "to", "must", "should", "will", "shall", "can", "could", "cannot", "not", "never",
        "always", "dont", "doesnt", "didnt", "cant", "wont", "please", "lets",
    ];
    const DETERMINERS: &[&str] =
        &["the", "a", "an", "its", "their", "every", "all", "no", "any", "this", "that", "each"];
    for at in 0..tokens.len() {
        let next = tokens.get(at + 1).map_or("", |token| token.shown.as_str());
        let follows = at > 0 && BEFORE.contains(&tokens[at - 1].shown.as_str());
        let shown = tokens[at].shown.as_str();
        let ends = shown.ends_with('s') && !shown.ends_with("ss");
        let takes = (at == 0 || ends) && DETERMINERS.contains(&next);
        tokens[at].verb = !is_stop(shown) && (follows || takes);
    }
}

/// Whether a text of a script without spaces denies something.
fn unspaced_negation(value: &str) -> bool {
    const MARKS: &[&str] = &[
        "不", "没", "沒", "别", "別", "勿", "未", "無", "无", "ない", "ません", "ไม่", "อย่า", "않",
        "못",
    ];
    MARKS.iter().any(|mark| value.contains(mark))
}
