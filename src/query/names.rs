//! Names: what a person writes with a capital letter in the middle of a sentence is the very thing
//! they ask about.
//!
//! Who asks what fixed the crash on iOS is not served by another crash, however much of the
//! question it has. So a page that lacks a name counts a little less, and is no more than a guess.

use super::{Query, dates, terms};
use crate::base::{common_words, text};

/// How many names of a query are looked for.
const MOST_NAMES: usize = 12;
/// What is shorter (`ql` of `GraphQL`) says nothing alone.
const SHORTEST_PART: usize = 3;

/// A name, as the index may have it.
#[derive(Debug, Clone, PartialEq)]
struct Name {
    /// As one word.
    whole: Option<String>,
    /// In parts: one of the words of each.
    parts: Vec<Vec<String>>,
    /// As it was typed, where the index keeps it in a form that another word may have too: `Stripe`
    /// and `strip`.
    typed: Option<String>,
}

/// The names in a query.
#[derive(Debug, Default)]
pub struct Names(Vec<Name>);

impl Names {
    /// The names that a query asks for; any of the alternatives of a term counts as it.
    pub fn of(query: &Query, alternatives: impl Fn(&str) -> Vec<String>) -> Names {
        let raw: Vec<&str> = query
            .words
            .iter()
            .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
            .collect();
        let capitals = raw.iter().filter(|word| word.starts_with(char::is_uppercase)).count();
        // Where most words have a capital (a heading, a title), it says nothing.
        if raw.len() > 2 && 2 * capitals > raw.len() {
            return Names::default();
        }
        // In German every noun has one; only capitals within a word tell a name there.
        let german = raw.iter().any(|word| is_german(&word.to_lowercase()));
        let mut names = Vec::new();
        // A word alone begins no sentence.
        let few = raw.len() <= 2;
        for (at, word) in raw.iter().enumerate() {
            let begins = german
                || (at == 0 && !few)
                || at > 0 && query.words[at - 1].ends_with(['.', '?', '!', ':']);
            if names.len() < MOST_NAMES && is_name(word, begins) {
                names.extend(Name::of(word, &alternatives));
            }
        }
        Names(names)
    }

    /// Whether a page has other words for some of them, which only share their stem.
    pub fn are_misread_in<'t>(&self, texts: impl Iterator<Item = &'t str>) -> bool {
        if self.0.iter().all(|name| name.typed.is_none()) {
            return false;
        }
        let texts: Vec<&str> = texts.collect();
        self.0.iter().any(|name| name.is_other_word_in(&texts))
    }

    /// The share of them that a document lacks, which knows the terms that it has.
    pub fn share_lacking<E>(&self, mut has: impl FnMut(&str) -> Result<bool, E>) -> Result<f32, E> {
        let mut lacking = 0;
        for name in &self.0 {
            lacking += usize::from(!name.is_in(&mut has)?);
        }
        Ok(lacking as f32 / self.0.len().max(1) as f32)
    }
}

impl Name {
    fn of(word: &str, alternatives: impl Fn(&str) -> Vec<String>) -> Option<Name> {
        let all = terms::of(word);
        let specific = |typed: &str| !terms::is_question_word(typed) && !is_everyday(typed);
        let whole = all.iter().find(|word| !word.unit).map(|word| word.text.clone());
        let joined = whole.is_some() && word.chars().all(char::is_alphanumeric);
        let units: Vec<&terms::QueryTerm> =
            all.iter().filter(|word| word.unit && specific(&word.typed)).collect();
        let short = units.iter().any(|unit| unit.typed.chars().count() < SHORTEST_PART);
        let parts: Vec<Vec<String>> = match joined && (short || units.len() < 2) {
            true => Vec::new(),
            false => units.iter().map(|unit| alternatives(&unit.text)).collect(),
        };
        let typed = match units.as_slice() {
            [only] if only.typed != only.text && whole.is_none() => Some(only.typed.clone()),
            _ => None,
        };
        (whole.is_some() || !parts.is_empty()).then_some(Name { whole, parts, typed })
    }

    /// Whether a page that has the form of a name has it for another word.
    fn is_other_word_in(&self, texts: &[&str]) -> bool {
        let (Some(typed), Some(words)) = (&self.typed, self.parts.first()) else { return false };
        let mut found = false;
        for text in texts {
            text::each_word(text, |word| {
                let same = word.text == *typed
                    || word.text.strip_suffix('s') == Some(typed)
                    || typed.strip_suffix('s') == Some(&word.text);
                // What stands for the name in its place is another word by intent.
                found = found
                    || same
                    || words[1..].iter().any(|other| *other == terms::stem(&word.text));
            });
        }
        !found
    }

    fn is_in<E>(&self, mut has: impl FnMut(&str) -> Result<bool, E>) -> Result<bool, E> {
        if let Some(whole) = &self.whole
            && has(whole)?
        {
            return Ok(true);
        }
        for part in &self.parts {
            let mut found = false;
            for word in part {
                found = found || has(word)?;
            }
            if !found {
                return Ok(false);
            }
        }
        Ok(!self.parts.is_empty())
    }
}

/// Recognizes a name by how it is written: `Kafka`, `iOS`, `GraphQL`, but not the first word of a
/// sentence.
fn is_name(word: &str, begins_sentence: bool) -> bool {
    let mut letters = word.chars();
    let capital = letters.next().is_some_and(char::is_uppercase);
    let inner = letters.any(char::is_uppercase);
    let lower = word.to_lowercase();
    let plain =
        terms::is_question_word(&lower) || is_everyday(&lower) || dates::is_calendar_word(&lower);
    // `OK`, `UI` and `PR` are said of anything.
    (inner || (capital && !begins_sentence)) && !plain && lower.chars().count() >= SHORTEST_PART
}

/// Recognizes a small word that German has and English has not.
fn is_german(lower: &str) -> bool {
    const SMALL: &[&str] = &[
        "aber", "auch", "bei", "beim", "das", "dem", "der", "ein", "eine", "einem", "einen",
        "einer", "für", "gibt", "haben", "ist", "kein", "keine", "mit", "nach", "nicht", "oder",
        "sind", "und", "vom", "von", "warum", "welche", "welcher", "wenn", "wie", "wieso", "wir",
        "wurde", "wurden", "zum", "zur", "über",
    ];
    SMALL.contains(&lower)
}

fn is_everyday(lower: &str) -> bool {
    common_words::everyday_place(lower).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No term stands for another.
    fn itself(term: &str) -> Vec<String> {
        vec![term.to_string()]
    }

    fn names(text: &str) -> Vec<String> {
        let query = Query::parse(text).unwrap();
        let names = Names::of(&query, itself).0;
        names
            .into_iter()
            .map(|name| name.whole.unwrap_or_else(|| name.parts.concat().join("+")))
            .collect()
    }

    #[test]
    fn names_are_recognized_by_their_capitals() {
        assert_eq!(names("why did we drop Redis in favour of Kafka?"), ["redis", "kafka"]);
        assert_eq!(names("what fixed the iOS crash in GraphQL"), ["ios", "graphql"]);
        assert_eq!(names("Why did Kubernetes fail? Pods died"), ["kubernet"]);
        assert_eq!(names("the VPC of Alice's team"), ["vpc", "alic"]);
        assert!(names("Header race in the log").is_empty());
        assert!(names("what did I do in May and on Monday? They said OK. It may break").is_empty());
        assert!(names("FIX THE HEADER RACE").is_empty());
        assert!(names("Make Appends Safe Under Two Writers").is_empty());
        assert!(names("").is_empty() && names("kafka topics").is_empty());
        assert!(names("warum bricht der Build auf dem Server beim Start ab").is_empty());
        assert_eq!(names("wie wurde der Fehler in GraphQL behoben"), ["graphql"]);
    }

    #[test]
    fn another_word_of_the_same_form_is_no_name() {
        let name = |word: &str| Name::of(word, itself).unwrap();
        assert!(name("Stripe").is_other_word_in(&["strip the prefix", "stripped"]));
        assert!(!name("Stripe").is_other_word_in(&["the prefix", "paid by Stripe"]));
        assert!(!name("Kubernetes").is_other_word_in(&["a kubernetes pod"]));
        assert!(!name("Kafka").is_other_word_in(&[]), "only one word has this form");
    }
}
