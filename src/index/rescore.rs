//! Rescoring by part: how well the best part of a document fits, counted in the posting lists.
//!
//! Each list knows at which positions of a document its term stands, and each document where its
//! parts end. So the many documents that might be hits are scored without reading one of them.

use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, SegmentReader};

use super::bm25;
use super::documents::Fields;
use super::matcher::{Matcher, PartScore, TermCounts};
use super::pairs::Pairs;
use super::postings;
use super::tokens::{PartKind, Parts};

/// What a document has of a query.
pub struct DocumentScore {
    /// The part of it that fits best.
    pub best_part: PartScore,
    /// How many parts there are.
    pub parts: usize,
    /// What its best parts give, less where there are many to choose from.
    pub by_parts: f32,
    /// How much of the query its title has, and of the title the query.
    pub title: TitleMatch,
    /// The weight of the terms that it has in any part.
    pub covered: f32,
    /// How much it has of the words that follow each other in the query, close together.
    pub pairs: f32,
}

/// How a title fits a query.
#[derive(Debug, Default, Clone, Copy)]
pub struct TitleMatch {
    /// The weight of the terms that it has.
    pub weight: f32,
    /// Whether its words are all in the query.
    pub whole: bool,
}

/// The best of some parts, and what it gives together with the second best.
pub fn best_of(scores: impl Iterator<Item = PartScore>, parts: usize) -> (PartScore, f32) {
    let (mut best, mut second) = (PartScore::default(), PartScore::default());
    for one in scores {
        if one.score > best.score {
            (best, second) = (one, best);
        } else {
            second = second.max(one);
        }
    }
    let both = best.score + bm25::SECOND_PART * second.score;
    (best, both * bm25::of_many(parts))
}

/// The lists of a query's terms in one segment, and buffers to count in.
pub struct PartScorer<'m> {
    matcher: &'m Matcher<'m>,
    lists: Vec<Option<SegmentPostings>>,
    positions: Vec<u32>,
    parts: Parts,
    /// What each part has of the query, and the summary's parts together.
    counts: Vec<TermCounts>,
    summary: TermCounts,
    /// Which terms the document has.
    present: Vec<bool>,
    pairs: Pairs,
}

impl<'m> PartScorer<'m> {
    pub fn new(segment: &SegmentReader, matcher: &'m Matcher) -> tantivy::Result<PartScorer<'m>> {
        let record = IndexRecordOption::WithFreqsAndPositions;
        let terms = matcher.terms.iter();
        let lists = terms
            .map(|term| postings::postings(segment, Fields::get().words, &term.text, record))
            .collect::<tantivy::Result<Vec<_>>>()?;
        let present = vec![false; lists.len()];
        let (positions, parts, counts) = Default::default();
        let (summary, pairs) = (matcher.no_counts(), Pairs::of(matcher.terms));
        Ok(PartScorer { matcher, lists, positions, parts, counts, summary, present, pairs })
    }

    /// Scores a document by its parts; documents have to be asked for in order.
    pub fn rescore(&mut self, document: DocId, parts: &[u8]) -> DocumentScore {
        self.parts.read(parts);
        self.counts.resize_with(self.parts.lengths.len(), || self.matcher.no_counts());
        for (counts, length) in self.counts.iter_mut().zip(&self.parts.lengths) {
            counts.clear(*length);
        }
        self.pairs.clear();
        for (at, list) in self.lists.iter_mut().enumerate() {
            let Some(list) = list else { continue };
            self.present[at] = postings::seek(list, document);
            if self.present[at] {
                list.positions(&mut self.positions);
                self.pairs.add(at, &self.positions);
                self.parts
                    .count(&self.positions, |part, times| self.counts[part].counts[at] += times);
            }
        }
        self.summary.clear(0);
        let mut title = TitleMatch::default();
        for (counts, kind) in self.counts.iter().zip(&self.parts.kinds) {
            if *kind != PartKind::Trigger {
                self.summary.add(counts);
            }
            if *kind == PartKind::Title {
                let weight = self.matcher.part_score(counts).weight;
                title = TitleMatch { weight, whole: self.matcher.is_all_of(counts) };
            }
        }
        let parts = self.counts.iter().chain([&self.summary]).filter(|counts| !counts.is_empty());
        let scores = parts.map(|counts| self.matcher.part_score(counts));
        let (best_part, by_parts) = best_of(scores, self.counts.len());
        let covered = self.matcher.covered(&self.present);
        let (parts, pairs) = (self.counts.len(), self.pairs.share());
        DocumentScore { best_part, parts, by_parts, title, covered, pairs }
    }
}
