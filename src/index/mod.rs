//! The index: finds sessions by what their digests say, from a cache that can be thrown away.
//!
//! Every search first compares the tree with the cache and reads again what changed, so an edit
//! made with any editor is found by the next search. A cache that is missing, older or damaged is
//! made anew without a word; one that cannot be written is made in working memory.

use std::collections::HashSet;

use tantivy::schema::Value;
use tantivy::{DocAddress, ReloadPolicy, Searcher, TantivyDocument};

use crate::base::clock::{self, Timestamp};
use crate::error::{Error, Result};
use crate::model::hit::{Hit, NoteHit, Passage, Tree};
use crate::model::ids::SessionId;
use crate::query::names::Names;
use crate::query::{FilterKey, Query};
use crate::store::Store;

mod bm25;
mod cache;
mod changes;
mod digests;
mod documents;
mod episodes;
mod head;
mod hits;
mod matcher;
mod matches;
mod notes;
mod pages;
mod plan;
mod postings;
mod rescore;
mod tokens;

pub use documents::Corpus;
pub use pages::{PageTexts, score_pages};

use cache::Cache;
use digests::DigestPage;
use documents::Fields;
use hits::SessionMatch;
use matcher::Matcher;
use notes::Note;
use plan::Plan;
use rescore::PartScorer;

/// An index that is open for searching.
pub struct Index<'s> {
    store: &'s Store,
    searcher: Searcher,
}

/// Where an index comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// From the cache, once that is as the tree is now. While another process brings it up to date,
    /// as it was: a search waits for nobody. Where it cannot be used, from working memory.
    Refreshed,
    /// From the cache as it was left, without a look at the tree and without waiting: for whoever
    /// has only milliseconds. An error where there is none, or where it is damaged.
    Cached,
    /// Made in working memory; the disk is left alone.
    InMemory,
}

/// What a search found.
#[derive(Debug)]
pub struct SearchResult<Hit> {
    /// The best hits, best first.
    pub hits: Vec<Hit>,
    /// How many sessions, or pages, have to do with the query at all.
    pub total: usize,
    /// Words of the query that nothing has, with those that were taken instead.
    pub unknown: Vec<(String, Vec<String>)>,
    /// The weight of all that was asked for: scores of different indexes compare by their share of
    /// it.
    pub query_weight: f64,
}

/// What the score of a session counts that was not found worth remembering. It is a guess at best,
/// but some are asked for after all: a review by a subagent whose parent is not here.
const ASIDE: f32 = 0.9;

/// A document that may be a hit, scored by its parts.
struct Candidate {
    score: f32,
    /// Whether it is only a guess.
    weak: bool,
    /// Whether it is a session that was not found worth remembering.
    aside: bool,
    /// The session, or the path of the page.
    name: String,
    /// The line that a section begins at.
    line: usize,
}

/// A query with what it comes to in one index.
struct Search<'q> {
    query: &'q Query,
    plan: Plan,
    names: Names,
    now: Timestamp,
}

/// Brings the cache of a memory up to date, waiting for whoever else is at it.
pub fn refresh(store: &Store) -> Result<()> {
    let cache = Cache::of(store, Corpus::Digests);
    let refreshed = cache.lock().map_err(Into::into).and_then(|lock| cache.refresh(&lock));
    refreshed.map(drop).map_err(|reason| {
        Error::new("cannot write the search cache").because(reason).hint(
            "search works without it, only slower; check that `.memtree/cache` can be written",
        )
    })
}

impl<'s> Index<'s> {
    /// Opens the index of a corpus.
    pub fn open(store: &'s Store, corpus: Corpus, source: Source) -> Result<Index<'s>> {
        let cache = Cache::of(store, corpus);
        let over = |index: tantivy::Index| {
            let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into();
            let reader: tantivy::IndexReader = reader.map_err(unusable)?;
            Ok(Index { store, searcher: reader.searcher() })
        };
        let unreadable = |reason| Error::new("cannot read the memory's pages").because(reason);
        match source {
            Source::Cached => cache.open_as_left().map_err(unreadable).and_then(over),
            Source::InMemory => cache.in_memory().map_err(unreadable).and_then(over),
            Source::Refreshed => {
                let index = match cache.try_lock() {
                    Ok(Some(lock)) => cache.refresh(&lock),
                    Ok(None) => cache.open(),
                    Err(err) => Err(err.into()),
                };
                // A memory that cannot be written, a full disk, or another process that is just
                // making the first index.
                index
                    .map_err(unreadable)
                    .and_then(over)
                    .or_else(|_| Index::open(store, corpus, Source::InMemory))
            }
        }
    }

    /// Finds the sessions that have most to do with a query; `now` is what `since:2w` counts from.
    pub fn search(&self, query: &Query, now: Timestamp, limit: usize) -> Result<SearchResult<Hit>> {
        let search = self.plan(query, now)?;
        let (sessions, total) = self.sessions(&search, limit)?;
        let matcher = Matcher::new(&search.plan.terms);
        let layout = self.store.layout();
        let hits = sessions.iter().map(|one| hits::session_hit(&matcher, layout, one));
        let hits = hits.zip(1..).map(|(hit, rank)| Hit { rank, ..hit }).collect();
        Ok(search.result(hits, total))
    }

    /// Goes on into the episodes of the best sessions: each hit is an episode, with the passage
    /// that fits best.
    pub fn deep(&self, query: &Query, now: Timestamp, limit: usize) -> Result<SearchResult<Hit>> {
        let search = self.plan(query, now)?;
        let (sessions, total) = self.sessions(&search, episodes::SESSIONS)?;
        let matcher = Matcher::new(&search.plan.terms);
        let terms = search.plan.for_episodes();
        let layout = self.store.layout();
        let episodes = episodes::search(layout, &Matcher::new(&terms), &sessions, limit);
        let sessions: Vec<Hit> =
            sessions.iter().map(|one| hits::session_hit(&matcher, layout, one)).collect();
        let hits = episodes.into_iter().zip(1..).map(|(found, rank)| {
            let mut hit = sessions[found.session].clone();
            hit.triggers.retain(|trigger| trigger.episode == found.episode);
            Hit {
                rank,
                score: hits::rounded(found.score),
                path: layout.shown(&found.path),
                excerpt: found.excerpt,
                reason: hits::reason(&found.episode.to_string(), &found.words),
                passage: Some(Passage {
                    episode: found.episode,
                    reference: format!("{}#{}", hit.session, found.episode),
                    line: found.line,
                }),
                words: found.words,
                ..hit
            }
        });
        let hits = hits.collect();
        Ok(search.result(hits, total))
    }

    /// Finds the sections of pages that have most to do with a query, the best one of each page.
    pub fn search_notes(
        &self,
        query: &Query,
        trees: &[Tree],
        now: Timestamp,
        limit: usize,
    ) -> Result<SearchResult<NoteHit>> {
        let search = self.plan(query, now)?;
        let rescored = if limit == 0 { 0 } else { (4 * limit).max(bm25::RESCORED) };
        let (mut sections, total) = self.rescore(&search, trees, rescored)?;
        sections.sort_by(|a, b| {
            b.score.total_cmp(&a.score).then_with(|| (&a.name, a.line).cmp(&(&b.name, b.line)))
        });
        let mut seen = HashSet::new();
        sections.retain(|section| seen.insert(section.name.clone()));
        let total = if limit == 0 { total } else { sections.len() };
        let matcher = Matcher::new(&search.plan.terms);
        let read = |found: Candidate| {
            // Gone since the index was made: the next search will know.
            let note = Note::read(self.store, &found.name)?;
            let section = note.sections.iter().find(|section| section.line == found.line)?;
            hits::note_hit(&matcher, &found.name, &note, section, (found.score, found.weak))
        };
        let hits = sections.into_iter().filter_map(read).take(limit);
        let hits = hits.zip(1..).map(|(hit, rank)| NoteHit { rank, ..hit }).collect();
        Ok(search.result(hits, total))
    }

    /// A known word that looks like one that nothing has.
    pub fn similar_word(&self, word: &str) -> Option<String> {
        postings::similar_word(&self.searcher, word).ok().flatten()
    }

    /// The values that a filter can have in this memory, in order; none for one that is no list of
    /// names.
    pub fn filter_values(&self, key: FilterKey) -> Vec<String> {
        postings::filter_values(&self.searcher, key).unwrap_or_default()
    }

    /// The sessions of a project that ended last, the last first.
    pub fn latest(&self, project: &str, limit: usize) -> Result<Vec<SessionId>> {
        let latest = postings::latest(&self.searcher, project, limit).map_err(unusable)?;
        let session = |address: DocAddress| -> Result<Option<SessionId>> {
            Ok(self.document(address)?.name().and_then(|name| name.parse().ok()))
        };
        latest.into_iter().filter_map(|address| session(address).transpose()).collect()
    }

    fn plan<'q>(&self, query: &'q Query, now: Timestamp) -> Result<Search<'q>> {
        let plan = Plan::of(&self.searcher, query).map_err(unusable)?;
        let names = Names::of(query, |term| plan.alternatives(term));
        Ok(Search { query, plan, names, now })
    }

    /// The sessions that fit best, best first, and how many fit at all.
    fn sessions(&self, search: &Search, limit: usize) -> Result<(Vec<SessionMatch>, usize)> {
        let rescored = if limit == 0 { 0 } else { limit.max(bm25::RESCORED) };
        let (candidates, total) = self.rescore(search, &[], rescored)?;
        let with_id = |one: Candidate| {
            let session = one.name.parse::<SessionId>().ok()?;
            let score = if one.aside { ASIDE * one.score } else { one.score };
            Some((score, one.weak || one.aside, session))
        };
        let mut sessions: Vec<_> = candidates.into_iter().filter_map(with_id).collect();
        sessions.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.cmp(&b.2)));
        let read = |(score, weak, session): (f32, bool, SessionId)| {
            let name = session.to_string();
            // Gone since the index was made: the next search will know.
            let page = DigestPage::read(self.store, &name)?;
            let weak = weak || search.names.are_misread_in(page.texts(&name));
            Some(SessionMatch { score, weak, session, page })
        };
        Ok((sessions.into_iter().filter_map(read).take(limit).collect(), total))
    }

    /// The documents that fit best, each scored once more by its best part, in any order; and how
    /// many fit at all.
    fn rescore(
        &self,
        search: &Search,
        trees: &[Tree],
        most: usize,
    ) -> Result<(Vec<Candidate>, usize)> {
        let Search { query, plan, now, .. } = search;
        let matches =
            matches::matches(&self.searcher, query, plan, *now, trees).map_err(unusable)?;
        let total = matches.len();
        let matcher = Matcher::new(&plan.terms);
        let mut best = matches::best(matches, most);
        best.sort_unstable_by_key(|one| one.address);
        let mut candidates = Vec::with_capacity(best.len());
        for in_segment in best.chunk_by(|a, b| a.address.segment_ord == b.address.segment_ord) {
            let segment = self.searcher.segment_reader(in_segment[0].address.segment_ord);
            let mut scorer = PartScorer::new(segment, &matcher).map_err(unusable)?;
            let ended = segment.fast_fields().i64(Fields::ENDED).map_err(unusable)?;
            let aside = segment.fast_fields().u64(Fields::ASIDE).map_err(unusable)?;
            for one in in_segment {
                let (document, id) = (self.document(one.address)?, one.address.doc_id);
                let Some(name) = document.name() else { continue };
                let scored = scorer.rescore(id, document.parts());
                let has = |term: &str| postings::contains(segment, id, term);
                let lacking = search.names.share_lacking(has).map_err(unusable)?;
                let ended = ended.first(id);
                let at = ended.and_then(|seconds| clock::from_millis(seconds.saturating_mul(1000)));
                let nearness = at.map_or(0.0, |at| plan.times.nearness(at, *now));
                let by_part = scored.best_part.score * bm25::recency(ended);
                candidates.push(Candidate {
                    score: bm25::whole_and_part(one.score, by_part)
                        * bm25::boost(lacking, nearness),
                    weak: plan.is_weak(scored.best_part.weight, scored.covered, lacking),
                    aside: aside.first(id).is_some(),
                    name: name.to_string(),
                    line: document.line(),
                });
            }
        }
        Ok((candidates, total))
    }

    fn document(&self, address: DocAddress) -> Result<StoredDocument> {
        self.searcher.doc(address).map(StoredDocument).map_err(unusable)
    }
}

impl Search<'_> {
    fn result<Hit>(self, hits: Vec<Hit>, total: usize) -> SearchResult<Hit> {
        let Plan { unknown, query_weight, .. } = self.plan;
        SearchResult { hits, total, unknown, query_weight: query_weight.into() }
    }
}

/// What the index stores of a document.
struct StoredDocument(TantivyDocument);

impl StoredDocument {
    fn name(&self) -> Option<&str> {
        self.0.get_first(Fields::get().session)?.as_str()
    }

    fn parts(&self) -> &[u8] {
        let parts = self.0.get_first(Fields::get().parts);
        parts.and_then(|value| value.as_bytes()).unwrap_or_default()
    }

    fn line(&self) -> usize {
        let line = self.0.get_first(Fields::get().line);
        line.and_then(|value| value.as_u64()).unwrap_or(0) as usize
    }
}

fn unusable(err: tantivy::TantivyError) -> Error {
    Error::new("cannot search")
        .because(err)
        .hint("delete `.memtree/cache`: the next search makes it anew")
}

#[cfg(test)]
mod tests;
