//! Rescoring by part: how well the best part of a document fits, counted in the posting lists.
//!
//! Each list knows at which positions of a document its term stands, and each document where its
//! parts end. So the many documents that might be hits are scored without reading one of them.

use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, SegmentReader};

use super::documents::Fields;
use super::matcher::{Matcher, PartScore, TermCounts};
use super::postings;
use super::tokens::Parts;

/// What a document has of a query.
pub struct DocumentScore {
    /// The part of it that fits best.
    pub best_part: PartScore,
    /// The weight of the terms that it has in any part.
    pub covered: f32,
}

/// The lists of a query's terms in one segment, and buffers to count in.
pub struct PartScorer<'m> {
    matcher: &'m Matcher<'m>,
    lists: Vec<Option<SegmentPostings>>,
    positions: Vec<u32>,
    parts: Parts,
    /// What each part has of the query.
    counts: Vec<TermCounts>,
    /// Which terms the document has.
    present: Vec<bool>,
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
        Ok(PartScorer { matcher, lists, positions, parts, counts, present })
    }

    /// Scores a document by its parts; documents have to be asked for in order.
    pub fn rescore(&mut self, document: DocId, parts: &[u8]) -> DocumentScore {
        self.parts.read(parts);
        self.counts.resize_with(self.parts.lengths.len(), || self.matcher.no_counts());
        for (counts, length) in self.counts.iter_mut().zip(&self.parts.lengths) {
            counts.clear(*length);
        }
        for (at, list) in self.lists.iter_mut().enumerate() {
            let Some(list) = list else { continue };
            self.present[at] = postings::seek(list, document);
            if self.present[at] {
                list.positions(&mut self.positions);
                self.parts
                    .count(&self.positions, |part, times| self.counts[part].counts[at] += times);
            }
        }
        let parts = self.counts.iter().filter(|counts| !counts.is_empty());
        let scores = parts.map(|counts| self.matcher.part_score(counts));
        let best_part = scores.fold(PartScore::default(), PartScore::max);
        DocumentScore { best_part, covered: self.matcher.covered(&self.present) }
    }
}
