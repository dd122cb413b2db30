//! Postings: the inverted lists and the dictionary of the index, read term by term.

use std::collections::BTreeSet;

use tantivy::postings::SegmentPostings;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocId, DocSet, Searcher, SegmentReader, TERMINATED, Term};

use super::documents::Fields;
use crate::base::text;
use crate::query::{FilterKey, terms};

/// How many terms are looked through for some that were not named exactly.
const MOST_LISTED: usize = 100_000;

/// The list of a term in one segment, with as much as is asked for.
pub fn postings(
    segment: &SegmentReader,
    field: Field,
    term: &str,
    record: IndexRecordOption,
) -> tantivy::Result<Option<SegmentPostings>> {
    Ok(segment.inverted_index(field)?.read_postings(&Term::from_field_text(field, term), record)?)
}

/// The documents of one segment that have a term.
pub fn documents(segment: &SegmentReader, field: Field, term: &str) -> tantivy::Result<Vec<DocId>> {
    let list = postings(segment, field, term, IndexRecordOption::Basic)?;
    Ok(list.map(collect).unwrap_or_default())
}

/// All documents of a list.
pub fn collect(mut list: impl DocSet) -> Vec<DocId> {
    let mut documents = Vec::new();
    while list.doc() != TERMINATED {
        documents.push(list.doc());
        list.advance();
    }
    documents
}

/// Whether a document has a word.
pub fn contains(segment: &SegmentReader, doc: DocId, word: &str) -> tantivy::Result<bool> {
    let list = postings(segment, Fields::get().words, word, IndexRecordOption::Basic)?;
    Ok(list.is_some_and(|mut list| seek(&mut list, doc)))
}

/// Goes on to a document in a list; whether it is there.
pub fn seek(list: &mut SegmentPostings, doc: DocId) -> bool {
    doc == if list.doc() < doc { list.seek(doc) } else { list.doc() }
}

/// How many living documents have a word.
pub fn document_frequency(searcher: &Searcher, word: &str) -> tantivy::Result<u32> {
    let field = Fields::get().words;
    let term = Term::from_field_text(field, word);
    let mut having = 0;
    for segment in searcher.segment_readers() {
        let list = segment.inverted_index(field)?;
        if !segment.has_deletes() {
            having += list.doc_freq(&term)?;
            continue;
        }
        let Some(mut postings) = list.read_postings(&term, IndexRecordOption::Basic)? else {
            continue;
        };
        while postings.doc() != TERMINATED {
            having += u32::from(!segment.is_deleted(postings.doc()));
            postings.advance();
        }
    }
    Ok(having)
}

/// A known word that looks like an unknown one, further away than a slip; for when nothing else
/// helps.
pub fn similar_word(searcher: &Searcher, word: &str) -> tantivy::Result<Option<String>> {
    let long = word.chars().count() > terms::SHORTEST_SLIP;
    let Some(first) = word.chars().next().filter(|_| long) else { return Ok(None) };
    let mut known = Vec::new();
    for segment in searcher.segment_readers() {
        let inverted = segment.inverted_index(Fields::get().words)?;
        let mut terms = inverted.terms().range().ge(first.to_string()).into_stream()?;
        while terms.advance() && known.len() < MOST_LISTED {
            let term = std::str::from_utf8(terms.key()).ok();
            let Some(term) = term.filter(|term| term.starts_with(first)) else { break };
            if term.len().abs_diff(word.len()) <= 2 {
                known.push(term.to_string());
            }
        }
    }
    known.sort_unstable();
    Ok(text::nearest(word, known.iter().map(String::as_str)).map(str::to_string))
}

/// The values that a filter can have in this memory, in order; none for one that is no list of
/// names.
pub fn filter_values(searcher: &Searcher, key: FilterKey) -> tantivy::Result<Vec<String>> {
    let mut values = BTreeSet::new();
    if key.is_name()
        && let Some(field) = Fields::get().of_filter(key)
    {
        for segment in searcher.segment_readers() {
            let inverted = segment.inverted_index(field)?;
            let mut terms = inverted.terms().stream()?;
            while terms.advance() && values.len() < MOST_LISTED {
                values.extend(std::str::from_utf8(terms.key()).ok().map(str::to_string));
            }
        }
    }
    Ok(values.into_iter().collect())
}

/// A project's sessions that are worth remembering, the last to end first.
pub fn latest(
    searcher: &Searcher,
    project: &str,
    limit: usize,
) -> tantivy::Result<Vec<DocAddress>> {
    let mut ended: Vec<(i64, DocAddress)> = Vec::new();
    for (ordinal, segment) in (0..).zip(searcher.segment_readers()) {
        let times = segment.fast_fields().i64(Fields::ENDED)?;
        let aside = segment.fast_fields().u64(Fields::ASIDE)?;
        for doc in documents(segment, Fields::get().project, &project.to_lowercase())? {
            if !segment.is_deleted(doc) && aside.first(doc).is_none() {
                let at = times.first(doc).unwrap_or(i64::MIN);
                ended.push((at, DocAddress::new(ordinal, doc)));
            }
        }
    }
    ended.sort_unstable_by_key(|(ended, _)| std::cmp::Reverse(*ended));
    // Sessions that ended in the same second are put in order by whoever reads them.
    ended.truncate(limit);
    Ok(ended.into_iter().map(|(_, address)| address).collect())
}
