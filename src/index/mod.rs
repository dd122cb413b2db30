//! The index: finds sessions by what their digests say, from a cache that can be thrown away.
//!
//! Every search first compares the tree with the cache and reads again what changed, so an edit
//! made with any editor is found by the next search. A cache that is missing, older or damaged is
//! made anew without a word; one that cannot be written is made in working memory.

use std::collections::HashSet;

use rayon::prelude::*;
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
mod candidates;
mod changes;
mod chunks;
mod confidence;
mod digests;
mod documents;
mod episodes;
mod head;
mod hits;
mod matcher;
mod matches;
mod notes;
mod pages;
mod pairs;
mod plan;
mod postings;
mod rescore;
mod tokens;
mod vectors;

pub use changes::settled;
pub use chunks::{of_session as chunks_of, text_hash};
pub use confidence::Evidence;
pub use documents::Corpus;
pub use pages::{PageTexts, score_pages};
pub use vectors::{
    Nearness, Record, VectorWriter, Vectors, forget as forget_vectors, remove as remove_vectors,
};

use cache::Cache;
use candidates::Candidate;
use digests::DigestPage;
use documents::Fields;
use hits::SessionMatch;
use matcher::Matcher;
use matches::Match;
use notes::Note;
use plan::{Plan, PlanTerm};
use rescore::PartScorer;

/// An index that is open for searching.
pub struct Index<'s> {
    store: &'s Store,
    searcher: Searcher,
    /// How near the sessions are to each phrasing of the question, where vectors say so.
    nearness: Vec<Nearness>,
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

/// How many of the nearest sessions are looked at, however little their words fit.
const NEAREST: usize = 30;

/// A question in one phrasing or several, with what each comes to in one index.
struct Search<'q> {
    phrasings: Vec<Phrasing<'q>>,
    /// The terms of all of them.
    terms: Vec<PlanTerm>,
    now: Timestamp,
}

/// A query with what it comes to in one index.
struct Phrasing<'q> {
    query: &'q Query,
    plan: Plan,
    names: Names,
    /// Its number among the phrasings.
    number: usize,
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
            Ok(Index { store, searcher: reader.searcher(), nearness: Vec::new() })
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

    /// Lets vectors have a say in the order: one for each phrasing that will be asked.
    pub fn with_nearness(mut self, nearness: Vec<Nearness>) -> Index<'s> {
        self.nearness = nearness;
        self
    }

    /// Finds the sessions that have most to do with a query; `now` is what `since:2w` counts from.
    pub fn search(&self, query: &Query, now: Timestamp, limit: usize) -> Result<SearchResult<Hit>> {
        self.search_phrasings(std::slice::from_ref(query), now, limit)
    }

    /// Finds the sessions that have most to do with a question that is asked in several ways, the
    /// first of them as it was meant.
    pub fn search_phrasings(
        &self,
        phrasings: &[Query],
        now: Timestamp,
        limit: usize,
    ) -> Result<SearchResult<Hit>> {
        let search = self.plan(phrasings, now)?;
        let (sessions, total) = self.sessions(&search, limit)?;
        let hits = self.session_hits(&search, &sessions);
        let hits = hits.zip(1..).map(|(hit, rank)| Hit { rank, ..hit }).collect();
        Ok(search.result(hits, total))
    }

    /// Goes on into the episodes of the best sessions: each hit is an episode, with the passage
    /// that fits best.
    pub fn deep(
        &self,
        phrasings: &[Query],
        now: Timestamp,
        limit: usize,
    ) -> Result<SearchResult<Hit>> {
        let search = self.plan(phrasings, now)?;
        let (sessions, total) = self.sessions(&search, episodes::SESSIONS)?;
        let terms = search.terms_of_episodes();
        let layout = self.store.layout();
        let episodes = episodes::search(layout, &Matcher::new(&terms), &sessions, limit);
        let sessions: Vec<Hit> = self.session_hits(&search, &sessions).collect();
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

    /// Finds the sections of pages that have most to do with a question, the best one of each page.
    pub fn search_notes(
        &self,
        phrasings: &[Query],
        trees: &[Tree],
        now: Timestamp,
        limit: usize,
    ) -> Result<SearchResult<NoteHit>> {
        let search = self.plan(phrasings, now)?;
        let rescored = if limit == 0 { 0 } else { (4 * limit).max(bm25::RESCORED) };
        let (mut sections, total) = self.candidates(&search, trees, rescored)?;
        let mut seen = HashSet::new();
        sections.retain(|section| seen.insert(section.name.clone()));
        let total = if limit == 0 { total } else { sections.len() };
        let matcher = Matcher::new(&search.terms);
        let read = |found: Candidate| {
            // Gone since the index was made: the next search will know.
            let note = Note::read(self.store, &found.name)?;
            let section = note.sections.iter().find(|section| section.line == found.line)?;
            let hit = hits::note_hit(&matcher, &note, section, &found)?;
            Some(NoteHit { found_by: search.texts(&found.found_by), ..hit })
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

    /// How much a word, as [`terms::of`](crate::query::terms::of) gives it, sets a session apart:
    /// the fewer have it, the more. A small memory says little of that, so it counts as a larger
    /// one.
    pub fn rarity(&self, word: &str) -> f32 {
        const SMALL: u32 = 50;
        let sessions = (self.searcher.num_docs() as u32).max(SMALL);
        bm25::idf(postings::document_frequency(&self.searcher, word).unwrap_or(sessions), sessions)
    }

    /// The sessions that have a word; `None` where they are more than so many.
    pub fn sessions_with(&self, word: &str, most: usize) -> Result<Option<Vec<SessionId>>> {
        let having = postings::document_frequency(&self.searcher, word).map_err(unusable)?;
        if having as usize > most {
            return Ok(None);
        }
        let mut sessions = Vec::new();
        for (ordinal, segment) in (0..).zip(self.searcher.segment_readers()) {
            let found = postings::documents(segment, Fields::get().words, word);
            for doc in found.map_err(unusable)? {
                if !segment.is_deleted(doc) {
                    let document = self.document(DocAddress::new(ordinal, doc))?;
                    sessions.extend(document.name().and_then(|name| name.parse().ok()));
                }
            }
        }
        Ok(Some(sessions))
    }

    fn plan<'q>(&self, phrasings: &'q [Query], now: Timestamp) -> Result<Search<'q>> {
        let phrasing = |(number, query): (usize, &'q Query)| -> Result<Phrasing<'q>> {
            let plan = Plan::of(&self.searcher, query).map_err(unusable)?;
            let names = Names::of(query, |term| plan.alternatives(term));
            Ok(Phrasing { query, plan, names, number })
        };
        let phrasings = phrasings.iter().enumerate().map(phrasing).collect::<Result<Vec<_>>>()?;
        let terms = plan::joined(phrasings.iter().map(|one| one.plan.terms.as_slice()));
        Ok(Search { phrasings, terms, now })
    }

    /// The sessions that fit best, best first, and how many fit at all.
    fn sessions(&self, search: &Search, limit: usize) -> Result<(Vec<SessionMatch>, usize)> {
        let rescored = if limit == 0 { 0 } else { limit.max(bm25::RESCORED) };
        let (mut candidates, total) = self.candidates(search, &[], rescored)?;
        let all = search.phrasings[0].query.all;
        for one in candidates.iter_mut().filter(|one| one.aside && !all) {
            one.score *= ASIDE;
        }
        candidates::sort(&mut candidates);
        if !all {
            candidates::put_aside(&mut candidates);
        }
        let read = |one: Candidate| {
            let session = one.name.parse::<SessionId>().ok()?;
            // Gone since the index was made: the next search will know.
            let page = DigestPage::read(self.store, &one.name)?;
            let misread = search.phrasings[0].names.are_misread_in(page.texts(&one.name));
            let confidence = match one.evidence.confidence() {
                sure if (one.aside && !all) || misread => confidence::guess(sure),
                sure => sure,
            };
            let Candidate { score, evidence, aside, found_by, .. } = one;
            Some(SessionMatch { score, confidence, evidence, aside, found_by, session, page })
        };
        Ok((candidates.into_iter().filter_map(read).take(limit).collect(), total))
    }

    /// The hits of some sessions; their ranks are given later.
    fn session_hits<'a>(
        &'a self,
        search: &'a Search,
        sessions: &'a [SessionMatch],
    ) -> impl Iterator<Item = Hit> + 'a {
        let matcher = Matcher::new(&search.terms);
        sessions.iter().map(move |one| Hit {
            found_by: search.texts(&one.found_by),
            lacks: search.lacks(&matcher, one),
            ..hits::session_hit(&matcher, self.store.layout(), one)
        })
    }

    /// The documents that the phrasings of a question find together, best first; and how many fit
    /// at all.
    fn candidates(
        &self,
        search: &Search,
        trees: &[Tree],
        most: usize,
    ) -> Result<(Vec<Candidate>, usize)> {
        let found = |phrasing: &Phrasing| self.rescore(phrasing, search.now, trees, most);
        // A thread costs more than a search of a small memory, but only where there are several.
        let found: Vec<(Vec<Candidate>, usize)> = match search.phrasings.as_slice() {
            [only] => vec![found(only)?],
            several => several.par_iter().map(found).collect::<Result<_>>()?,
        };
        let total = found.iter().map(|(_, total)| *total).max().unwrap_or(0);
        let asked = search.phrasings.iter().map(|one| one.plan.query_weight);
        let lists = found.into_iter().map(|(list, _)| list).zip(asked);
        Ok((candidates::join(lists.collect()), total))
    }

    /// The documents that fit one phrasing best, each scored once more by its best part, best
    /// first; and how many fit at all.
    fn rescore(
        &self,
        phrasing: &Phrasing,
        now: Timestamp,
        trees: &[Tree],
        most: usize,
    ) -> Result<(Vec<Candidate>, usize)> {
        let Phrasing { query, plan, names, number } = phrasing;
        let nearness = self.nearness.get(*number).filter(|_| trees.is_empty() && most > 0);
        let matches =
            matches::matches(&self.searcher, query, plan, now, trees).map_err(unusable)?;
        let total = matches.len();
        let matcher = Matcher::new(&plan.terms);
        let near = nearness.map_or(Ok(Vec::new()), |near| self.near(near, &matches))?;
        let mut best = matches::best(matches, most);
        best.extend(near);
        best.sort_unstable_by_key(|one| one.address);
        best.dedup_by_key(|one| one.address);
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
                let names_lacking = names.share_lacking(has).map_err(unusable)?;
                let ended = ended.first(id);
                let at = ended.and_then(|seconds| clock::from_millis(seconds.saturating_mul(1000)));
                let timeliness = at.map_or(0.0, |at| plan.times.nearness(at, now));
                let asked = plan.query_weight.max(f32::MIN_POSITIVE);
                let title = scored.title.weight.min(asked);
                let by_part = scored.by_parts * bm25::recency(ended);
                candidates.push(Candidate {
                    score: bm25::whole_and_part(one.score, by_part)
                        * bm25::by_title(title / asked, scored.title.whole)
                        * bm25::by_pairs(scored.pairs)
                        * bm25::boost(names_lacking, timeliness)
                        * nearness.map_or(1.0, |near| near.factor(name)),
                    evidence: Evidence {
                        part: scored.best_part.weight,
                        page: scored.covered,
                        asked: plan.query_weight,
                        rare_word: plan.rare_weight,
                        parts: scored.parts,
                        names_lacking,
                    },
                    aside: aside.first(id).is_some(),
                    name: name.to_string(),
                    line: document.line(),
                    found_by: Vec::new(),
                });
            }
        }
        candidates::sort(&mut candidates);
        Ok((candidates, total))
    }

    /// The matches that are of the nearest sessions: their words alone may have left them far
    /// behind.
    fn near(&self, nearness: &Nearness, matches: &[Match]) -> Result<Vec<Match>> {
        let mut near = HashSet::new();
        for (session, _) in nearness.nearest(NEAREST) {
            for (ordinal, segment) in (0..).zip(self.searcher.segment_readers()) {
                let found = postings::documents(segment, Fields::get().session, session);
                let found = found.map_err(unusable)?.into_iter();
                near.extend(found.map(|doc| DocAddress::new(ordinal, doc)));
            }
        }
        Ok(matches.iter().filter(|one| near.contains(&one.address)).copied().collect())
    }

    fn document(&self, address: DocAddress) -> Result<StoredDocument> {
        self.searcher.doc(address).map(StoredDocument).map_err(unusable)
    }
}

impl Search<'_> {
    fn result<Hit>(self, hits: Vec<Hit>, total: usize) -> SearchResult<Hit> {
        let query_weight = self.phrasings.iter().map(|one| f64::from(one.plan.query_weight)).sum();
        let first = self.phrasings.into_iter().next();
        let unknown = first.map(|one| one.plan.unknown).unwrap_or_default();
        SearchResult { hits, total, unknown, query_weight }
    }

    /// The phrasings of some numbers, as they were typed.
    fn texts(&self, numbers: &[usize]) -> Vec<String> {
        let text = |number: &usize| Some(self.phrasings.get(*number)?.query.text.clone());
        numbers.iter().filter_map(text).collect()
    }

    /// The words of the question itself that a session's page has in no form.
    fn lacks(&self, matcher: &Matcher, found: &SessionMatch) -> Vec<String> {
        let Some(Phrasing { query, plan, .. }) = self.phrasings.first() else { return Vec::new() };
        let session = found.session.to_string();
        let matched = matcher.match_texts(found.page.texts(&session));
        plan.lacking(query, &matched.counts.counts)
    }

    /// All terms that may stand in an episode, those of one group together.
    fn terms_of_episodes(&self) -> Vec<PlanTerm> {
        let of_each: Vec<Vec<PlanTerm>> =
            self.phrasings.iter().map(|one| one.plan.for_episodes()).collect();
        plan::joined(of_each.iter().map(Vec::as_slice))
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
