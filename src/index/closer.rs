//! A closer look: how well the best part of a document fits, told from the lists of the index.
//!
//! Each list knows at which places of a document its word stands, and each document where its parts
//! end. So the many documents that might be hits are looked at without reading one of them.

use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, SegmentReader};

use super::document::Fields;
use super::hits::{Closest, Counted, Finder};
use super::matches;
use super::sheet::Parts;

/// What a document has of a query.
pub struct Looked {
    /// The part of it that fits best.
    pub part: Closest,
    /// The weight of the words that it has in any part.
    pub covered: f32,
}

/// The lists of a query's words in one segment, and room to count in.
pub struct CloserLook<'f> {
    finder: &'f Finder<'f>,
    lists: Vec<Option<SegmentPostings>>,
    places: Vec<u32>,
    parts: Parts,
    /// What each part has of the query.
    counted: Vec<Counted>,
    /// Which words the document has.
    present: Vec<bool>,
}

impl<'f> CloserLook<'f> {
    pub fn at(segment: &SegmentReader, finder: &'f Finder<'f>) -> tantivy::Result<CloserLook<'f>> {
        let field = Fields::get().words;
        let list = |word| {
            matches::postings(segment, field, word, IndexRecordOption::WithFreqsAndPositions)
        };
        let lists = finder.words().map(list).collect::<tantivy::Result<Vec<_>>>()?;
        let present = vec![false; lists.len()];
        let (places, parts, counted) = Default::default();
        Ok(CloserLook { finder, lists, places, parts, counted, present })
    }

    /// Looks at a document; they have to be asked for in order.
    pub fn look(&mut self, document: DocId, parts: &[u8]) -> Looked {
        self.parts.read(parts);
        self.counted.resize_with(self.parts.lengths.len(), || self.finder.nothing());
        for (counted, length) in self.counted.iter_mut().zip(&self.parts.lengths) {
            counted.clear(*length);
        }
        for (at, list) in self.lists.iter_mut().enumerate() {
            let Some(list) = list else { continue };
            if list.doc() < document {
                list.seek(document);
            }
            self.present[at] = list.doc() == document;
            if self.present[at] {
                list.positions(&mut self.places);
                self.parts.count(&self.places, |part, times| self.counted[part].times[at] += times);
            }
        }
        let parts =
            self.counted.iter().filter(|counted| counted.times.iter().any(|times| *times > 0));
        let parts = parts.map(|counted| self.finder.part_score(counted));
        let part =
            parts.fold(
                Closest::default(),
                |best, part| if part.score > best.score { part } else { best },
            );
        Looked { part, covered: self.finder.covered(&self.present) }
    }
}
