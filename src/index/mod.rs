//! The index: finds sessions by what their digests say, from a cache that can be thrown away.
//!
//! Every search first compares the tree with the cache and reads again what changed, so an edit
//! made with any editor is found by the next search. A cache that is missing, older or damaged is
//! made anew without a word; one that cannot be written is made in working memory.

use std::collections::HashSet;

use tantivy::schema::Value;
use tantivy::{ReloadPolicy, Searcher, TantivyDocument};

use crate::base::clock::{self, Timestamp};
use crate::error::{Error, Result};
use crate::model::hit::{Hit, NoteHit, Passage, Tree};
use crate::model::ids::SessionId;
use crate::query::names::Names;
use crate::query::{FilterKey, Query};
use crate::store::Store;

mod cache;
mod changes;
mod closer;
mod deep;
mod document;
mod hits;
mod latest;
mod matches;
mod notes;
mod page;
mod rank;
mod sheet;

pub use cache::Refreshed;

use cache::Cache;
use closer::CloserLook;
use document::{Fields, Shelf};
use hits::Finder;
use matches::Plan;
use page::Page;

/// An index that is open for searching.
pub struct Index<'s> {
    store: &'s Store,
    searcher: Searcher,
}

/// What a search found.
#[derive(Debug)]
pub struct Found<Hit> {
    /// The best hits, best first.
    pub hits: Vec<Hit>,
    /// How many sessions, or pages, have to do with the query at all.
    pub total: usize,
    /// Words of the query that nothing has, with those that were taken instead.
    pub unknown: Vec<(String, Vec<String>)>,
    /// The weight of all that was asked for: scores of different indexes compare by their share of
    /// it.
    pub asked: f64,
}

/// A document that was looked at closely.
struct Close {
    score: f32,
    /// Whether it is only a guess.
    weak: bool,
    /// The session, or the path of the page.
    name: String,
    /// The line that a section begins at.
    line: usize,
}

/// A session that is a hit.
struct Ranked {
    score: f32,
    weak: bool,
    session: SessionId,
    page: Page,
}

/// Brings the cache of a memory up to date, waiting for whoever else is at it.
pub fn refresh(store: &Store) -> Result<Refreshed> {
    let cache = Cache::of(store, Shelf::Digests);
    let refreshed = cache.lock().map_err(Into::into).and_then(|lock| cache.refresh(&lock));
    refreshed.map(|(_, refreshed)| refreshed).map_err(|reason| {
        Error::new("cannot write the search cache").because(reason).hint(
            "search works without it, only slower; check that `.memtree/cache` can be written",
        )
    })
}

impl<'s> Index<'s> {
    /// Opens the index of a memory's digests as the tree is now. While another process brings it up
    /// to date, as it was: a search waits for nobody.
    pub fn open(store: &'s Store) -> Result<Index<'s>> {
        Index::of_shelf(store, Shelf::Digests)
    }

    /// Opens the index of all other pages.
    pub fn notes(store: &'s Store) -> Result<Index<'s>> {
        Index::of_shelf(store, Shelf::Notes)
    }

    fn of_shelf(store: &'s Store, shelf: Shelf) -> Result<Index<'s>> {
        let cache = Cache::of(store, shelf);
        let index = match cache.try_lock() {
            Ok(Some(lock)) => cache.refresh(&lock).map(|(index, _)| index),
            Ok(None) => cache.open(),
            Err(err) => Err(err.into()),
        };
        match index.ok().and_then(|index| Index::over(store, &index).ok()) {
            Some(index) => Ok(index),
            // A memory that cannot be written, a full disk, or another process that is just making
            // the first index.
            None => Index::made_in_memory(store, shelf),
        }
    }

    /// Opens the index as it was left, without a look at the tree and without waiting: for whoever
    /// has only milliseconds. `None` where there is none, or where it is damaged.
    pub fn cached(store: &'s Store) -> Option<Index<'s>> {
        Index::as_left(store, Shelf::Digests)
    }

    /// The same for all other pages.
    pub fn notes_cached(store: &'s Store) -> Option<Index<'s>> {
        Index::as_left(store, Shelf::Notes)
    }

    fn as_left(store: &'s Store, shelf: Shelf) -> Option<Index<'s>> {
        Index::over(store, &Cache::of(store, shelf).open_as_left().ok()?).ok()
    }

    /// Makes an index of the digests in working memory and leaves the disk alone.
    pub fn in_memory(store: &'s Store) -> Result<Index<'s>> {
        Index::made_in_memory(store, Shelf::Digests)
    }

    /// Makes an index of all other pages in working memory.
    pub fn notes_in_memory(store: &'s Store) -> Result<Index<'s>> {
        Index::made_in_memory(store, Shelf::Notes)
    }

    fn made_in_memory(store: &'s Store, shelf: Shelf) -> Result<Index<'s>> {
        let index = cache::in_memory(store, shelf);
        let index =
            index.map_err(|reason| Error::new("cannot read the memory's pages").because(reason))?;
        Index::over(store, &index)
    }

    fn over(store: &'s Store, index: &tantivy::Index) -> Result<Index<'s>> {
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into();
        let reader: tantivy::IndexReader = reader.map_err(unusable)?;
        Ok(Index { store, searcher: reader.searcher() })
    }

    /// Finds the sessions that have most to do with a query; `now` is what `since:2w` counts from.
    pub fn search(&self, query: &Query, now: Timestamp, limit: usize) -> Result<Found<Hit>> {
        let plan = matches::plan(&self.searcher, query).map_err(unusable)?;
        let (ranked, total) = self.ranked(query, &plan, now, limit)?;
        let finder = Finder::new(&plan.wanted);
        let hits = ranked.into_iter().enumerate().map(|(at, ranked)| Hit {
            rank: at + 1,
            score: rounded(ranked.score),
            weak: ranked.weak,
            ..finder.hit(self.store.layout(), ranked.session, ranked.page)
        });
        Ok(Found { hits: hits.collect(), total, asked: plan.asked.into(), unknown: plan.unknown })
    }

    /// Goes on into the episodes of the best sessions: each hit is an episode, with the passage
    /// that fits best.
    pub fn deep(&self, query: &Query, now: Timestamp, limit: usize) -> Result<Found<Hit>> {
        let plan = matches::plan(&self.searcher, query).map_err(unusable)?;
        let (ranked, total) = self.ranked(query, &plan, now, deep::SESSIONS)?;
        let finder = Finder::new(&plan.wanted);
        let wanted = plan.for_episodes();
        let layout = self.store.layout();
        let weak: Vec<bool> = ranked.iter().map(|ranked| ranked.weak).collect();
        let sessions: Vec<(f32, SessionId, Page)> =
            ranked.into_iter().map(|ranked| (ranked.score, ranked.session, ranked.page)).collect();
        let episodes = deep::episodes(layout, &Finder::new(&wanted), &sessions, limit);
        let sessions: Vec<Hit> = sessions
            .into_iter()
            .map(|(_, session, page)| finder.hit(layout, session, page))
            .collect();
        let hits = episodes.into_iter().enumerate().map(|(at, found)| {
            let mut hit = sessions[found.session].clone();
            hit.triggers.retain(|trigger| trigger.episode == found.episode);
            let words: Vec<&str> =
                found.words.iter().take(hits::MOST_WORDS).map(String::as_str).collect();
            Hit {
                rank: at + 1,
                score: rounded(found.score),
                weak: weak[found.session],
                path: layout.shown(&found.path),
                excerpt: found.excerpt,
                reason: format!("{}: {}", found.episode, words.join(", ")),
                passage: Some(Passage {
                    episode: found.episode,
                    reference: format!("{}#{}", hit.session, found.episode),
                    line: found.line,
                }),
                words: found.words,
                ..hit
            }
        });
        Ok(Found { hits: hits.collect(), total, asked: plan.asked.into(), unknown: plan.unknown })
    }

    /// The sessions that fit best, best first, and how many fit at all.
    fn ranked(
        &self,
        query: &Query,
        plan: &Plan,
        now: Timestamp,
        limit: usize,
    ) -> Result<(Vec<Ranked>, usize)> {
        let names = Names::of(query, |term| plan.alternatives(term));
        let looked_at = if limit == 0 { 0 } else { limit.max(rank::CLOSER_LOOK) };
        let (close, total) = self.closely(query, plan, &names, now, &[], looked_at)?;
        let session =
            |close: Close| Some((close.score, close.weak, close.name.parse::<SessionId>().ok()?));
        let mut sessions: Vec<(f32, bool, SessionId)> =
            close.into_iter().filter_map(session).collect();
        sessions.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.cmp(&b.2)));
        let read = |(score, weak, session): (f32, bool, SessionId)| {
            // Gone since the index was made: the next search will know.
            let page = document::read_page(self.store, &session.to_string())?;
            let weak = weak || names.are_misread_in(page.texts(&session.to_string()));
            Some(Ranked { score, weak, session, page })
        };
        Ok((sessions.into_iter().filter_map(read).take(limit).collect(), total))
    }

    /// The documents that fit best, each scored once more by its best part, in any order; and how
    /// many fit at all.
    fn closely(
        &self,
        query: &Query,
        plan: &Plan,
        names: &Names,
        now: Timestamp,
        trees: &[Tree],
        most: usize,
    ) -> Result<(Vec<Close>, usize)> {
        let scored = matches::matches(&self.searcher, query, plan, now, trees).map_err(unusable)?;
        let total = scored.len();
        let finder = Finder::new(&plan.wanted);
        let mut best = rank::best(scored, most);
        best.sort_unstable_by_key(|scored| scored.place);
        let mut close = Vec::with_capacity(best.len());
        for of_segment in best.chunk_by(|a, b| a.place.segment_ord == b.place.segment_ord) {
            let segment = self.searcher.segment_reader(of_segment[0].place.segment_ord);
            let mut look = CloserLook::at(segment, &finder).map_err(unusable)?;
            let ended = segment.fast_fields().i64(Fields::ENDED).map_err(unusable)?;
            for scored in of_segment {
                let document: TantivyDocument =
                    self.searcher.doc(scored.place).map_err(unusable)?;
                let fields = Fields::get();
                let Some(name) =
                    document.get_first(fields.session).and_then(|value| value.as_str())
                else {
                    continue;
                };
                let parts = document.get_first(fields.parts).and_then(|value| value.as_bytes());
                let looked = look.look(scored.place.doc_id, parts.unwrap_or_default());
                let ended = ended.first(scored.place.doc_id);
                let lacked = names
                    .share_lacking(|term| matches::contains(segment, scored.place.doc_id, term))
                    .map_err(unusable)?;
                let at = ended.and_then(|seconds| clock::from_millis(seconds.saturating_mul(1000)));
                let nearness = at.map_or(0.0, |at| plan.times.nearness(at, now));
                let score = rank::together(scored.score, looked.part.score * rank::recency(ended));
                close.push(Close {
                    score: score * rank::as_asked(lacked, nearness),
                    weak: plan.is_weak(looked.part.weight, looked.covered, lacked),
                    name: name.to_string(),
                    line: document
                        .get_first(fields.line)
                        .and_then(|value| value.as_u64())
                        .unwrap_or(0) as usize,
                });
            }
        }
        Ok((close, total))
    }

    /// Finds the sections of pages that have most to do with a query, the best one of each page.
    pub fn search_notes(
        &self,
        query: &Query,
        trees: &[Tree],
        now: Timestamp,
        limit: usize,
    ) -> Result<Found<NoteHit>> {
        let plan = matches::plan(&self.searcher, query).map_err(unusable)?;
        let finder = Finder::new(&plan.wanted);
        let names = Names::of(query, |term| plan.alternatives(term));
        let looked_at = if limit == 0 { 0 } else { (4 * limit).max(rank::CLOSER_LOOK) };
        let (mut sections, total) = self.closely(query, &plan, &names, now, trees, looked_at)?;
        sections.sort_by(|a, b| {
            b.score.total_cmp(&a.score).then_with(|| (&a.name, a.line).cmp(&(&b.name, b.line)))
        });
        let mut seen = HashSet::new();
        sections.retain(|section| seen.insert(section.name.clone()));
        let total = if limit == 0 { total } else { sections.len() };
        let read = |found: Close| {
            // Gone since the index was made: the next search will know.
            let note = notes::read(self.store, &found.name)?;
            let section = note.sections.iter().find(|section| section.line == found.line)?;
            finder.note_hit(&found.name, &note, section, rounded(found.score), found.weak)
        };
        let hits = sections.into_iter().filter_map(read).take(limit).enumerate();
        let hits = hits.map(|(at, hit)| NoteHit { rank: at + 1, ..hit }).collect();
        Ok(Found { hits, total, asked: plan.asked.into(), unknown: plan.unknown })
    }

    /// A known word that looks like one that nothing has.
    pub fn alike(&self, word: &str) -> Option<String> {
        matches::alike(&self.searcher, word).ok().flatten()
    }

    /// The values that a filter can have in this memory, in order; none for one that is no list of
    /// names.
    pub fn filter_values(&self, key: FilterKey) -> Vec<String> {
        matches::filter_values(&self.searcher, key).unwrap_or_default()
    }

    /// The sessions of a project that ended last, the last first.
    pub fn latest(&self, project: &str, limit: usize) -> Result<Vec<SessionId>> {
        let places = latest::of_project(&self.searcher, project, limit).map_err(unusable)?;
        places.into_iter().filter_map(|place| self.session(place).transpose()).collect()
    }

    fn session(&self, place: tantivy::DocAddress) -> Result<Option<SessionId>> {
        let document: TantivyDocument = self.searcher.doc(place).map_err(unusable)?;
        let name = document.get_first(Fields::get().session).and_then(|value| value.as_str());
        Ok(name.and_then(|name| name.parse().ok()))
    }
}

/// A score as it is shown: more digits would only differ from machine to machine.
fn rounded(score: f32) -> f64 {
    f64::from((score * 1e4).round()) / 1e4
}

fn unusable(err: tantivy::TantivyError) -> Error {
    Error::new("cannot search")
        .because(err)
        .hint("delete `.memtree/cache`: the next search makes it anew")
}

#[cfg(test)]
mod tests;
