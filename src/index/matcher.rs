//! The matcher: finds the terms of a query again in a text, counts them and scores by the counts.

use std::borrow::Cow;
use std::collections::HashMap;

use super::bm25::{self, LengthNorm};
use super::plan::PlanTerm;
use crate::base::text;
use crate::query::terms::stem;

/// The terms of a query, to find them again in a text.
pub struct Matcher<'p> {
    /// Each term with its places in `terms`.
    places: HashMap<&'p str, Vec<usize>>,
    /// Which bytes a term begins with: most words of a text are none by their first letter already.
    beginnings: [bool; 256],
    pub terms: &'p [PlanTerm],
}

/// How often each term stands in a text, and how many words that has.
#[derive(Debug, Clone, Default)]
pub struct TermCounts {
    pub counts: Vec<u32>,
    length: u32,
}

/// What of a query a text has, or several together.
#[derive(Debug, Clone)]
pub struct TextMatch<'t> {
    pub counts: TermCounts,
    /// The words as the texts have them, in their order, each once; and which terms each is.
    words: Vec<(Cow<'t, str>, &'t [usize])>,
}

/// How well a part of a page fits.
#[derive(Debug, Default, Clone, Copy)]
pub struct PartScore {
    pub score: f32,
    /// The weight of the terms that it has.
    pub weight: f32,
}

impl PartScore {
    /// The better of two; the first of equals.
    pub fn max(self, other: PartScore) -> PartScore {
        if other.score > self.score { other } else { self }
    }
}

impl TermCounts {
    /// Makes it the counts of a text of so many words, none of which is a term.
    pub fn clear(&mut self, length: u32) {
        self.counts.fill(0);
        self.length = length;
    }

    /// Adds the counts of another text.
    pub fn add(&mut self, other: &TermCounts) {
        self.length += other.length;
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
    }

    pub fn is_empty(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
    }
}

impl<'t> TextMatch<'t> {
    /// Adds what another text has.
    pub fn add(&mut self, other: &TextMatch<'t>) {
        self.counts.add(&other.counts);
        other.words.iter().for_each(|(word, terms)| self.add_word(word.clone(), terms));
    }

    fn add_word(&mut self, word: Cow<'t, str>, terms: &'t [usize]) {
        if !self.words.iter().any(|(there, _)| *there == word) {
            self.words.push((word, terms));
        }
    }
}

impl<'p> Matcher<'p> {
    /// Finds terms in texts; those of one group lie together.
    pub fn new(terms: &'p [PlanTerm]) -> Matcher<'p> {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut beginnings = [false; 256];
        for (at, term) in terms.iter().enumerate() {
            places.entry(&term.text).or_default().push(at);
            term.text.bytes().take(1).for_each(|byte| beginnings[usize::from(byte)] = true);
        }
        Matcher { places, beginnings, terms }
    }

    /// Which of the terms a word is. Stemming takes from its end alone.
    fn places_of(&self, word: &str) -> Option<&[usize]> {
        let begins = word.bytes().next().is_some_and(|byte| self.beginnings[usize::from(byte)]);
        if begins { self.places.get(stem(word)).map(Vec::as_slice) } else { None }
    }

    /// The counts of an empty text.
    pub fn no_counts(&self) -> TermCounts {
        TermCounts { counts: vec![0; self.terms.len()], length: 0 }
    }

    /// Adds the words of a text to counts.
    pub fn count(&self, value: &str, counts: &mut TermCounts) {
        text::each_word(value, |word| {
            counts.length += u32::from(word.whole);
            if let Some(places) = self.places_of(&word.text) {
                places.iter().for_each(|at| counts.counts[*at] += 1);
            }
        });
    }

    /// Looks for the terms in some texts together.
    pub fn match_texts<'t>(
        &'t self,
        texts: impl IntoIterator<Item = &'t (impl AsRef<str> + ?Sized + 't)>,
    ) -> TextMatch<'t> {
        let mut found = TextMatch { counts: self.no_counts(), words: Vec::new() };
        for value in texts {
            text::each_word(value.as_ref(), |word| {
                found.counts.length += u32::from(word.whole);
                if let Some(places) = self.places_of(&word.text) {
                    places.iter().for_each(|at| found.counts.counts[*at] += 1);
                    found.add_word(word.text, places);
                }
            });
        }
        found
    }

    /// The words that match, as the texts have them, in their order.
    pub fn words(&self, found: &TextMatch) -> Vec<String> {
        // A term that only stands for another is no reason where that other one is there itself.
        let best_of_group = |at: &usize| {
            let best = &self.terms[*at];
            let others = self.terms.iter().zip(&found.counts.counts);
            let mut others = others.filter(|(term, count)| term.group == best.group && **count > 0);
            others.all(|(term, _)| term.weight <= best.weight)
        };
        let words = found.words.iter().filter(|(_, places)| places.iter().any(best_of_group));
        words.map(|(word, _)| word.to_string()).collect()
    }

    /// The weight of the terms that texts have.
    pub fn weight(&self, found: &TextMatch) -> f32 {
        let counts = &found.counts.counts;
        self.sum(|at, term| (if counts[at] > 0 { term.weight } else { 0.0 }, term.weight)).weight
    }

    /// How well a part of a page fits: a trigger, the summary, or a section.
    pub fn part_score(&self, counts: &TermCounts) -> PartScore {
        self.bm25(counts, bm25::PART, |_, term| term.weight)
    }

    /// How well a text of an episode fits, by how rare each term is among its passages.
    pub fn episode_score(&self, counts: &TermCounts, norm: LengthNorm, idf: &[f32]) -> f32 {
        self.bm25(counts, norm, |at, term| idf[at] * term.factor).score
    }

    /// Whether a text has as many words of the query as it has words at all.
    pub fn is_all_of(&self, counts: &TermCounts) -> bool {
        let mut words = 0;
        let mut at = 0;
        for group in self.terms.chunk_by(|a, b| a.group == b.group) {
            // Terms without a cover are made of others.
            let counted = group.iter().zip(&counts.counts[at..]);
            words += counted.filter(|(term, _)| term.covers > 0.0).map(|(_, n)| n).sum::<u32>();
            at += group.len();
        }
        counts.length > 0 && words >= counts.length
    }

    fn bm25(
        &self,
        counts: &TermCounts,
        norm: LengthNorm,
        weight: impl Fn(usize, &PlanTerm) -> f32,
    ) -> PartScore {
        let length = counts.length as f32;
        self.sum(|at, term| {
            let count = counts.counts[at] as f32;
            (bm25::bm25(weight(at, term), count, length, norm), term.weight)
        })
    }

    /// How much of the query is covered where these terms are present: the best of each group
    /// counts.
    pub fn covered(&self, present: &[bool]) -> f32 {
        self.sum(|at, term| (if present[at] { term.covers } else { 0.0 }, term.covers)).weight
    }

    /// The best term of each group, each with its score and weight, summed up in the order of the
    /// query.
    fn sum(&self, each: impl Fn(usize, &PlanTerm) -> (f32, f32)) -> PartScore {
        let mut sum = PartScore::default();
        let mut at = 0;
        for group in self.terms.chunk_by(|a, b| a.group == b.group) {
            let mut best = PartScore::default();
            for term in group {
                let (score, weight) = each(at, term);
                best = best.max(PartScore { score, weight });
                at += 1;
            }
            sum.score += best.score;
            sum.weight += best.weight;
        }
        sum
    }
}
