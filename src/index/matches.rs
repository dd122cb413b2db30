//! Matches: the documents that answer a query, found list by list and scored by [`bm25`].
//!
//! Every list of a query's terms is read to its end, rather than letting tantivy skip what cannot
//! win: that is fast enough for 100,000 digests, and makes a score depend on the living documents
//! alone, not on how they happen to be spread over segments.

use tantivy::query::{EnableScoring, PhraseQuery, Query as _};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocId, Searcher, SegmentReader, Term};

use super::bm25;
use super::documents::Fields;
use super::plan::{MOST_WORDS, Plan, PlanTerm};
use super::postings::{collect, documents};
use crate::base::clock::{self, Timestamp};
use crate::model::hit::Tree;
use crate::query::{Filter, FilterKey, Query, terms};

/// A document that answers a query, with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Match {
    pub score: f32,
    pub address: DocAddress,
}

/// Every document that answers a query, with its score; of notes, only those of some trees.
pub fn matches(
    searcher: &Searcher,
    query: &Query,
    plan: &Plan,
    now: Timestamp,
    trees: &[Tree],
) -> tantivy::Result<Vec<Match>> {
    let mut scored = Vec::new();
    let has_words = (!query.words.is_empty() || !query.phrases.is_empty()) && !plan.only_times;
    let is_then = |seconds: Option<i64>| {
        let at = seconds.and_then(|seconds| clock::from_millis(seconds.saturating_mul(1000)));
        at.is_some_and(|at| plan.times.nearness(at, now) > 0.0)
    };
    for (number, segment) in (0..).zip(searcher.segment_readers()) {
        let allowed = DocumentFilter::of(segment, query, now, trees)?;
        let ended = segment.fast_fields().i64(Fields::ENDED)?;
        let mut take = |doc: DocId, score: f32| {
            let at = ended.first(doc);
            if !segment.is_deleted(doc) && allowed.has(doc) && (!plan.only_times || is_then(at)) {
                let score = score * bm25::recency(at);
                scored.push(Match { score, address: DocAddress::new(number, doc) });
            }
        };
        match has_words {
            true => Scores::of(segment, plan)?.each(&mut take),
            false => (0..segment.max_doc()).for_each(|doc| take(doc, 1.0)),
        }
    }
    Ok(scored)
}

/// Keeps the best so many, and all that score the same as the last of them, in any order.
pub fn best(mut matches: Vec<Match>, most: usize) -> Vec<Match> {
    if most == 0 {
        return Vec::new();
    }
    if matches.len() > most {
        let (_, last, _) =
            matches.select_nth_unstable_by(most - 1, |a, b| b.score.total_cmp(&a.score));
        let least = last.score;
        matches.retain(|one| one.score >= least);
    }
    matches
}

/// The scores of a segment's documents.
struct Scores {
    /// By document; zero where it has nothing of the query.
    scores: Vec<f32>,
    /// The documents that have something, in the order in which they were found.
    found: Vec<DocId>,
}

impl Scores {
    fn of(segment: &SegmentReader, plan: &Plan) -> tantivy::Result<Scores> {
        let mut all = Scores::none(segment);
        // What the words of one group give, the best of them for each document, before it is added.
        let mut best: Option<Scores> = None;
        for group in plan.terms.chunk_by(|a, b| a.group == b.group) {
            if let [only] = group {
                each(segment, only, |doc, value| all.add(doc, value))?;
                continue;
            }
            let best = best.get_or_insert_with(|| Scores::none(segment));
            for term in group {
                each(segment, term, |doc, value| best.raise(doc, value))?;
            }
            best.drain(|doc, value| all.add(doc, value));
        }
        Ok(all)
    }

    fn none(segment: &SegmentReader) -> Scores {
        Scores { scores: vec![0.0; segment.max_doc() as usize], found: Vec::new() }
    }

    #[inline]
    fn add(&mut self, doc: DocId, value: f32) {
        let score = &mut self.scores[doc as usize];
        if *score == 0.0 {
            self.found.push(doc);
        }
        *score += value;
    }

    #[inline]
    fn raise(&mut self, doc: DocId, value: f32) {
        let score = &mut self.scores[doc as usize];
        if *score == 0.0 {
            self.found.push(doc);
        }
        *score = score.max(value);
    }

    fn each(&self, mut take: impl FnMut(DocId, f32)) {
        self.found.iter().for_each(|doc| take(*doc, self.scores[*doc as usize]));
    }

    fn drain(&mut self, mut take: impl FnMut(DocId, f32)) {
        for doc in self.found.drain(..) {
            take(doc, std::mem::take(&mut self.scores[doc as usize]));
        }
    }
}

/// Goes through the documents that have a term, with what it gives each.
fn each(
    segment: &SegmentReader,
    term: &PlanTerm,
    mut take: impl FnMut(DocId, f32),
) -> tantivy::Result<()> {
    let field = Fields::get().words;
    let lengths = segment.get_fieldnorms_reader(field)?;
    let list = segment.inverted_index(field)?.read_block_postings(
        &Term::from_field_text(field, &term.text),
        IndexRecordOption::WithFreqs,
    )?;
    let Some(mut list) = list else { return Ok(()) };
    while !list.docs().is_empty() {
        for (doc, count) in list.docs().iter().zip(list.freqs()) {
            let length = lengths.fieldnorm(*doc) as f32;
            take(*doc, bm25::bm25(term.weight, *count as f32, length, bm25::DIGEST));
        }
        list.advance();
    }
    Ok(())
}

/// The documents of a segment that filters, phrases and exclusions let through; `None` lets all
/// through.
struct DocumentFilter(Option<Vec<bool>>);

impl DocumentFilter {
    fn of(
        segment: &SegmentReader,
        query: &Query,
        now: Timestamp,
        trees: &[Tree],
    ) -> tantivy::Result<DocumentFilter> {
        let mut filter = DocumentFilter(None);
        let (words, tree) = (Fields::get().words, Fields::get().tree);
        if !trees.is_empty() {
            filter.narrow(true, trees, segment, |one| documents(segment, tree, one.name()))?;
        }
        for phrase in &query.phrases {
            filter.narrow(true, &[phrase], segment, |one| with_phrase(segment, words, one))?;
        }
        for phrase in &query.excluded {
            filter.narrow(false, &[phrase], segment, |one| with_phrase(segment, words, one))?;
        }
        for alternatives in query.wanted_filters().values() {
            filter.narrow(true, alternatives, segment, |one| with_filter(segment, one, now))?;
        }
        for negated in query.filters.iter().filter(|filter| filter.negated) {
            filter.narrow(false, &[negated], segment, |one| with_filter(segment, one, now))?;
        }
        Ok(filter)
    }

    /// Keeps the documents that one of the conditions names, or that none of them does.
    fn narrow<T>(
        &mut self,
        keep: bool,
        conditions: &[T],
        segment: &SegmentReader,
        named_by: impl Fn(&T) -> tantivy::Result<Vec<DocId>>,
    ) -> tantivy::Result<()> {
        let mut named = vec![false; segment.max_doc() as usize];
        for condition in conditions {
            named_by(condition)?.into_iter().for_each(|doc| named[doc as usize] = true);
        }
        let allowed = self.0.get_or_insert_with(|| vec![true; segment.max_doc() as usize]);
        for (allowed, named) in allowed.iter_mut().zip(named) {
            *allowed &= named == keep;
        }
        Ok(())
    }

    fn has(&self, doc: DocId) -> bool {
        self.0.as_ref().is_none_or(|allowed| allowed[doc as usize])
    }
}

/// The documents in which the smallest words of a phrase follow each other.
fn with_phrase(segment: &SegmentReader, field: Field, phrase: &str) -> tantivy::Result<Vec<DocId>> {
    let mut units = terms::of(phrase);
    units.retain(|word| word.unit);
    units.truncate(MOST_WORDS);
    match units.as_slice() {
        [] => Ok(Vec::new()),
        [unit] => documents(segment, field, &unit.text),
        units => {
            let term = |unit: &terms::QueryTerm| Term::from_field_text(field, &unit.text);
            let terms = units.iter().map(|unit| (unit.position, term(unit))).collect();
            let phrase = PhraseQuery::new_with_offset(terms);
            let weight = phrase.weight(EnableScoring::disabled_from_schema(segment.schema()))?;
            Ok(collect(weight.scorer(segment, 1.0)?))
        }
    }
}

fn with_filter(
    segment: &SegmentReader,
    filter: &Filter,
    now: Timestamp,
) -> tantivy::Result<Vec<DocId>> {
    match (filter.key, Fields::get().of_filter(filter.key)) {
        (FilterKey::File, Some(field)) => with_phrase(segment, field, &filter.value),
        (_, Some(field)) => documents(segment, field, &filter.value.to_lowercase()),
        (key, None) => {
            // Before the beginning of the calendar there is nothing.
            let time = filter.time(now).map_or(i64::MIN, |time| time.timestamp());
            let ended = segment.fast_fields().i64(Fields::ENDED)?;
            let fits = |at: i64| if key == FilterKey::Since { at >= time } else { at < time };
            Ok((0..segment.max_doc()).filter(|doc| ended.first(*doc).is_some_and(fits)).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_of_the_last_are_kept() {
        let scored = [1.0, 3.0, 2.0, 2.0, 2.0, 0.5]
            .map(|score| Match { score, address: DocAddress::new(0, 0) });
        let mut scores: Vec<f32> = best(scored.to_vec(), 2).iter().map(|one| one.score).collect();
        scores.sort_by(f32::total_cmp);
        assert_eq!(scores, [2.0, 2.0, 2.0, 3.0]);
        assert_eq!(best(scored.to_vec(), 100).len(), 6);
        assert!(best(scored.to_vec(), 0).is_empty());
    }
}
