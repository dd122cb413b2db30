//! A plan: which terms a query comes to in this memory, and what each of them weighs.
//!
//! Beside the words that were typed stand others in their place: synonyms, and for a word that
//! nothing has, those that are one slip of the pen away. Of all that stand for one word, only the
//! best counts.

use std::collections::HashSet;

use tantivy::Searcher;

use super::bm25;
use super::postings::document_frequency;
use crate::base::text;
use crate::query::Query;
use crate::query::dates::NamedTimes;
use crate::query::languages::{self, Language};
use crate::query::synonyms::synonyms;
use crate::query::terms::{self, QueryTerm};

/// How many words of a query are looked up.
pub const MOST_WORDS: usize = 96;
/// How many words may stand for a misspelled one.
const MOST_NEAR: usize = 3;
/// A word of so many letters that is spelled alike is hardly another one, and of so many it is none.
const LONG_WORD: usize = 6;
const VERY_LONG_WORD: usize = 8;
/// Up to so many words of a query are few.
const FEW_WORDS: usize = 2;
/// How many terms are looked up in all, with those that stand for others.
const MOST_TERMS: usize = 256;
/// How many words are named that a hit lacks, and how long each is at most.
const MOST_LACKING: usize = 8;
const LONGEST_LACKING: usize = 60;

/// What the words of a query come to in this memory.
#[derive(Debug, Default)]
pub struct Plan {
    pub terms: Vec<PlanTerm>,
    /// Terms that no digest has, but an episode may: they weigh nothing here.
    pub absent: Vec<PlanTerm>,
    /// The weight of all that was asked for, found or not.
    pub query_weight: f32,
    /// The weight of a word that only one document has.
    pub rare_weight: f32,
    /// Words that nothing has, with those that were taken instead.
    pub unknown: Vec<(String, Vec<String>)>,
    /// The times that it names.
    pub times: NamedTimes,
    /// Whether it asks for nothing else.
    pub only_times: bool,
    /// The language that it is asked in.
    language: Language,
}

/// A term that is looked up, with what it counts.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanTerm {
    /// As the index keeps it.
    pub text: String,
    /// What it adds to a score, where it is present.
    pub weight: f32,
    /// What it adds to the covered share of the query.
    pub covers: f32,
    /// How much of a word that was asked for it is: one, or less where it only stands for it.
    pub factor: f32,
    /// Which word of the query it stands for: of the terms of one group, only the best counts.
    /// Groups lie together.
    pub group: usize,
}

impl Plan {
    /// Weighs the words of a query by how rare they are.
    pub fn of(searcher: &Searcher, query: &Query) -> tantivy::Result<Plan> {
        let text = query.words.join(" ");
        let (times, language) = (NamedTimes::of(&text), Language::of(&text));
        let rare_weight = bm25::idf(1, searcher.num_docs() as u32);
        let mut plan = Plan { times, language, rare_weight, ..Plan::default() };
        let mut seen = HashSet::new();
        let mut typed = query_terms(query, &plan.times, language);
        typed.retain(|word| !plan.times.is_relative(&word.typed));
        plan.only_times = typed.is_empty() && plan.times.are_relative();
        let few = typed.iter().filter(|word| word.unit).count() <= FEW_WORDS;
        for (group, word) in typed.into_iter().enumerate() {
            if seen.insert((word.text.clone(), word.unit)) && seen.len() <= MOST_WORDS {
                plan.add(searcher, group, word, few)?;
            }
        }
        Ok(plan)
    }

    /// Adds a word and what may stand for it.
    fn add(
        &mut self,
        searcher: &Searcher,
        group: usize,
        word: QueryTerm,
        few: bool,
    ) -> tantivy::Result<()> {
        let living = searcher.num_docs() as u32;
        let having = document_frequency(searcher, &word.text)?;
        // Everyday words stand in a page by chance: how rare they are there says little.
        let typed_weight = terms::weight(&word.typed);
        if !word.unit {
            if having > 0 {
                let weight = bm25::idf(having, living) * typed_weight * bm25::COMPOUND;
                let (text, factor) = (word.text, bm25::COMPOUND);
                self.terms.push(PlanTerm { text, weight, covers: 0.0, factor, group });
            }
            return Ok(());
        }
        let others = having_each(searcher, synonyms(&word.text))?;
        let commonest = others.iter().map(|(_, having)| *having).fold(having, u32::max);
        let own_idf = bm25::idf_of_meaning(having, commonest, living);
        let (present, absent) = (&mut self.terms, &mut self.absent);
        let long = word.text.chars().count() >= LONG_WORD;
        // A rare synonym says no more than the word that was typed.
        let most = if having > 0 { bm25::idf(having, living) } else { f32::MAX };
        let mut push = |text: &str, having: u32, factor: f32| {
            let slip = factor == bm25::NEAR_TERM && !few && !long;
            let idf = match text == word.text {
                true => own_idf,
                false => bm25::idf(having, living).min(most),
            };
            let factor = factor * typed_weight;
            let weight = if having > 0 { idf * factor } else { 0.0 };
            let list = if having > 0 { &mut *present } else { &mut *absent };
            // In a question of many words, what is only spelled alike is no evidence where it is
            // short.
            let covers = if slip { 0.0 } else { weight };
            list.push(PlanTerm { text: text.to_string(), weight, covers, factor, group });
        };
        push(&word.text, having, 1.0);
        let mut taken = Vec::new();
        for (synonym, having) in others {
            push(synonym, having, bm25::SYNONYM);
            if having > 0 {
                taken.push(synonym.to_string());
            }
        }
        let mut asked = own_idf * typed_weight;
        if having == 0 {
            // Nothing has the word or means the same: it may be misspelled.
            if taken.is_empty() {
                let near = near(searcher, &word.text)?;
                near.iter().for_each(|(near, having)| push(near, *having, bm25::NEAR_TERM));
                // Letters in the wrong order, too many or too few are slips where the words are few
                // or long; another letter in a short word may well be another word: `gestern` is not
                // `western`.
                let likely = |near: &str| (few || long) && is_slip(&word.text, near);
                let sure = |(near, _): &&(String, u32)| {
                    word.text.chars().count() >= VERY_LONG_WORD || likely(near)
                };
                if let Some((_, having)) = near.first().filter(sure) {
                    asked = bm25::idf(*having, living) * typed_weight * bm25::ASKED_BY_SLIP;
                }
                taken.extend(near.into_iter().map(|(word, _)| word));
            }
            self.unknown.push((word.typed.clone(), taken));
        }
        // When it was is no part of what it was; see `bm25::boost`.
        if !self.times.has(&word.typed) {
            self.query_weight += asked;
        }
        self.terms.truncate(MOST_TERMS);
        self.absent.truncate(MOST_TERMS);
        Ok(())
    }

    /// The words of a query that say something and that a text lacks, as they were typed; it has
    /// each of this plan's terms so many times.
    pub fn lacking(&self, query: &Query, counts: &[u32]) -> Vec<String> {
        if self.only_times {
            return Vec::new();
        }
        let present: HashSet<usize> = self
            .terms
            .iter()
            .zip(counts)
            .filter(|(_, count)| **count > 0)
            .map(|(term, _)| term.group)
            .collect();
        let all = || self.terms.iter().chain(&self.absent);
        let is_there = |unit: &QueryTerm| {
            all().any(|term| term.text == unit.text && present.contains(&term.group))
        };
        let mut lacking: Vec<String> = Vec::new();
        for word in query.words.iter().chain(&query.phrases) {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric());
            let says_something = |unit: &QueryTerm| {
                unit.unit
                    && terms::weight(&unit.typed) >= 1.0
                    && !terms::is_question_word(&unit.typed)
                    && !self.language.is_question_word(&unit.typed)
                    && !self.times.has(&unit.typed)
            };
            let units = terms::of(&languages::without_question_phrases(word));
            let mut units = units.iter().filter(|unit| says_something(unit)).peekable();
            // A whole sentence may stand without a space: it lacks what nothing of it is there of.
            let lacks = match languages::is_unspaced(word) {
                true => units.peek().is_some() && !units.any(is_there),
                false => units.any(|unit| !is_there(unit)),
            };
            if lacks && lacking.len() < MOST_LACKING {
                lacking.push(text::one_line(word, LONGEST_LACKING));
            }
        }
        lacking
    }

    /// All terms that may stand in an episode, those of one group together.
    pub fn for_episodes(&self) -> Vec<PlanTerm> {
        let mut all: Vec<PlanTerm> = self.terms.iter().chain(&self.absent).cloned().collect();
        all.sort_by_key(|term| term.group);
        all
    }

    /// A term with those that may stand for it, as the index has them.
    pub fn alternatives(&self, text: &str) -> Vec<String> {
        let all = self.terms.iter().chain(&self.absent);
        let groups: HashSet<usize> =
            all.filter(|term| term.text == text).map(|term| term.group).collect();
        let others =
            self.terms.iter().filter(|term| groups.contains(&term.group) && term.text != text);
        let others = others.map(|term| term.text.clone());
        [text.to_string()].into_iter().chain(others).collect()
    }
}

/// The terms of several plans, no group of one in the place of another's.
pub fn joined<'p>(plans: impl Iterator<Item = &'p [PlanTerm]>) -> Vec<PlanTerm> {
    let mut joined: Vec<PlanTerm> = Vec::new();
    for terms in plans {
        let first = joined.iter().map(|term| term.group + 1).max().unwrap_or(0);
        joined.extend(terms.iter().cloned().map(|mut term| {
            term.group += first;
            term
        }));
    }
    joined
}

/// Words, each with how many documents have it.
fn having_each<'w>(
    searcher: &Searcher,
    words: Vec<&'w str>,
) -> tantivy::Result<Vec<(&'w str, u32)>> {
    words.into_iter().map(|word| Ok((word, document_frequency(searcher, word)?))).collect()
}

/// The words that count: all but those that any question has, unless there are no others.
fn query_terms(query: &Query, times: &NamedTimes, language: Language) -> Vec<QueryTerm> {
    let text = query.words.join(" ");
    let mut typed = terms::of(&languages::without_question_phrases(&text));
    // “What was made yesterday” asks for nothing but a time.
    let then = times.are_relative();
    if typed.is_empty() && !then {
        typed = terms::of(&text);
    }
    let says_something = |word: &QueryTerm| {
        let typed = &word.typed;
        let asks = terms::is_question_word(typed) || language.is_question_word(typed);
        let is_known = then && language.is_everyday(typed);
        !asks && !is_known
    };
    if typed.iter().any(says_something) || !query.phrases.is_empty() {
        typed.retain(says_something);
    }
    typed.extend(query.phrases.iter().flat_map(|phrase| terms::of(phrase)));
    typed
}

/// Whether a word has the letters of another in another order, or one more or less of them.
fn is_slip(word: &str, meant: &str) -> bool {
    let sorted = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    let (one, other) = (sorted(word), sorted(meant));
    one == other || (one.len() != other.len() && word.chars().next() == meant.chars().next())
}

/// The known words that are one slip away from an unknown one, the commonest first.
fn near(searcher: &Searcher, word: &str) -> tantivy::Result<Vec<(String, u32)>> {
    let short = word.chars().count() < terms::SHORTEST_SLIP;
    if short || word.chars().all(|letter| letter.is_ascii_digit()) {
        return Ok(Vec::new());
    }
    let mut near = Vec::new();
    // `E404` is another error than `E403`.
    let digits = |word: &str| word.chars().filter(char::is_ascii_digit).collect::<String>();
    let same_digits = digits(word);
    for slip in terms::slips(word).into_iter().filter(|slip| digits(slip) == same_digits) {
        let having = document_frequency(searcher, &slip)?;
        if having > 0 {
            near.push((slip, having));
        }
    }
    near.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    near.truncate(MOST_NEAR);
    Ok(near)
}
