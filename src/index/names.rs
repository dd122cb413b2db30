//! Names: what a person writes with a capital letter in the middle of a sentence is the very thing
//! they ask about.
//!
//! Who asks what fixed the crash on iOS is not served by another crash, however much of the
//! question it has. So a page that lacks a name counts a little less, and is no more than a guess.

use std::collections::HashSet;

use tantivy::{DocAddress, DocSet, Searcher};

use super::document::Fields;
use super::matches::{self, Plan};
use super::page::Page;
use super::words;
use crate::base::{common_words, text};
use crate::model::query::Query;
use crate::model::times;

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
    /// The names that a query asks for; what stands for one of them in the plan counts as it.
    pub fn of(query: &Query, plan: &Plan) -> Names {
        let raw: Vec<&str> = query
            .words
            .iter()
            .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
            .collect();
        let capitals = raw.iter().filter(|word| word.starts_with(char::is_uppercase)).count();
        // Where most words have a capital (a heading, a title), it tells nothing.
        if raw.len() > 2 && 2 * capitals > raw.len() {
            return Names::default();
        }
        let mut names = Vec::new();
        for (at, word) in raw.iter().enumerate() {
            let begins = at == 0 || query.words[at - 1].ends_with(['.', '?', '!', ':']);
            if names.len() < MOST_NAMES && is_name(word, begins) {
                names.extend(Name::of(word, plan));
            }
        }
        Names(names)
    }

    /// Whether a page has other words for some of them, which only share their form.
    pub fn misread_in(&self, page: &Page, session: &str) -> bool {
        if self.0.iter().all(|name| name.typed.is_none()) {
            return false;
        }
        let texts: Vec<&str> = page.texts(session).collect();
        self.0.iter().any(|name| name.is_other_word_in(&texts))
    }

    /// The share of them that a document does not have.
    pub fn lacked(&self, searcher: &Searcher, place: DocAddress) -> tantivy::Result<f32> {
        let mut lacked = 0;
        for name in &self.0 {
            lacked += usize::from(!name.stands_in(searcher, place)?);
        }
        Ok(lacked as f32 / self.0.len().max(1) as f32)
    }
}

impl Name {
    fn of(word: &str, plan: &Plan) -> Option<Name> {
        let all = words::units_and_wholes(word);
        let telling = |typed: &str| !words::is_question_word(typed) && !is_everyday(typed);
        let whole = all.iter().find(|word| !word.unit).map(|word| word.text.clone());
        let joined = whole.is_some() && word.chars().all(char::is_alphanumeric);
        let units: Vec<&words::QueryWord> =
            all.iter().filter(|word| word.unit && telling(&word.typed)).collect();
        let short = units.iter().any(|unit| unit.typed.chars().count() < SHORTEST_PART);
        let parts: Vec<Vec<String>> = match joined && (short || units.len() < 2) {
            true => Vec::new(),
            false => units.iter().map(|unit| plan.standing_for(&unit.text)).collect(),
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
                    || words[1..].iter().any(|other| *other == words::stem(&word.text));
            });
        }
        !found
    }

    fn stands_in(&self, searcher: &Searcher, place: DocAddress) -> tantivy::Result<bool> {
        if let Some(whole) = &self.whole
            && has(searcher, place, whole)?
        {
            return Ok(true);
        }
        for part in &self.parts {
            let mut found = false;
            for word in part {
                found = found || has(searcher, place, word)?;
            }
            if !found {
                return Ok(false);
            }
        }
        Ok(!self.parts.is_empty())
    }
}

/// Whether a document has a word.
fn has(searcher: &Searcher, place: DocAddress, word: &str) -> tantivy::Result<bool> {
    let segment = searcher.segment_reader(place.segment_ord);
    let record = tantivy::schema::IndexRecordOption::Basic;
    let Some(mut list) = matches::postings(segment, Fields::get().words, word, record)? else {
        return Ok(false);
    };
    let doc = if list.doc() < place.doc_id { list.seek(place.doc_id) } else { list.doc() };
    Ok(doc == place.doc_id)
}

/// Tells a name by how it is written: `Kafka`, `iOS`, `GraphQL`, but not the first word of a
/// sentence.
fn is_name(word: &str, begins_sentence: bool) -> bool {
    let mut letters = word.chars();
    let capital = letters.next().is_some_and(char::is_uppercase);
    let inner = letters.any(char::is_uppercase);
    let lower = word.to_lowercase();
    let plain =
        words::is_question_word(&lower) || is_everyday(&lower) || times::is_calendar_word(&lower);
    // `OK`, `UI` and `PR` are said of anything.
    (inner || (capital && !begins_sentence)) && !plain && lower.chars().count() >= SHORTEST_PART
}

fn is_everyday(lower: &str) -> bool {
    common_words::everyday_place(lower).is_some()
}

impl Plan {
    /// A word with those that may stand for it, as the index has them.
    fn standing_for(&self, word: &str) -> Vec<String> {
        let all = || self.wanted.iter().chain(&self.absent);
        let groups: HashSet<usize> =
            all().filter(|wanted| wanted.word == word).map(|wanted| wanted.group).collect();
        let mut words: Vec<String> = self
            .wanted
            .iter()
            .filter(|wanted| groups.contains(&wanted.group))
            .map(|wanted| wanted.word.clone())
            .collect();
        words.retain(|stands_for| stands_for != word);
        words.insert(0, word.to_string());
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let query = Query::parse(text).unwrap();
        let names = Names::of(&query, &Plan::default()).0;
        names
            .into_iter()
            .map(|name| name.whole.unwrap_or_else(|| name.parts.concat().join("+")))
            .collect()
    }

    #[test]
    fn names_are_told_by_their_capitals() {
        assert_eq!(names("why did we drop Redis in favour of Kafka?"), ["redis", "kafka"]);
        assert_eq!(names("what fixed the iOS crash in GraphQL"), ["ios", "graphql"]);
        assert_eq!(names("Why did Kubernetes fail? Pods died"), ["kubernet"]);
        assert_eq!(names("the VPC of Alice's team"), ["vpc", "alic"]);
        assert!(names("Header race in the log").is_empty());
        assert!(names("what did I do in May and on Monday? They said OK. It may break").is_empty());
        assert!(names("FIX THE HEADER RACE").is_empty());
        assert!(names("Make Appends Safe Under Two Writers").is_empty());
        assert!(names("").is_empty() && names("kafka topics").is_empty());
    }

    #[test]
    fn another_word_of_the_same_form_is_no_name() {
        let name = |word: &str| Name::of(word, &Plan::default()).unwrap();
        assert!(name("Stripe").is_other_word_in(&["strip the prefix", "stripped"]));
        assert!(!name("Stripe").is_other_word_in(&["the prefix", "paid by Stripe"]));
        assert!(!name("Kubernetes").is_other_word_in(&["a kubernetes pod"]));
        assert!(!name("Kafka").is_other_word_in(&[]), "only one word has this form");
    }
}
