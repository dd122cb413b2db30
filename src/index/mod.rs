//! The index: finds sessions by what their digests say, from a cache that can be thrown away.
//!
//! Every search first compares the tree with the cache and reads again what changed, so an edit made with any
//! editor is found by the next search. A cache that is missing, older or damaged is made anew without a word;
//! one that cannot be written is made in working memory.

use tantivy::schema::Value;
use tantivy::{ReloadPolicy, Searcher, TantivyDocument};

use crate::base::clock::Timestamp;
use crate::error::{Error, Result};
use crate::model::ids::SessionId;
use crate::model::query::{Hit, Query};
use crate::store::Store;

mod cache;
mod changes;
mod document;
mod hits;
mod matches;
mod page;
mod rank;
mod words;

pub use cache::Refreshed;

use cache::Cache;
use document::Fields;
use hits::Finder;

/// An index that is open for searching.
pub struct Index<'s> {
    store: &'s Store,
    searcher: Searcher,
}

/// What a search found.
#[derive(Debug)]
pub struct Found {
    /// The best hits, best first.
    pub hits: Vec<Hit>,
    /// How many sessions have to do with the query at all.
    pub total: usize,
    /// Words of the query that no session has, with those that were taken instead.
    pub unknown: Vec<(String, Vec<String>)>,
}

/// Brings the cache of a memory up to date, waiting for whoever else is at it.
pub fn refresh(store: &Store) -> Result<Refreshed> {
    let cache = Cache::of(store);
    let refreshed = cache.lock().map_err(Into::into).and_then(|lock| cache.refresh(&lock));
    refreshed.map(|(_, refreshed)| refreshed).map_err(|reason| {
        Error::new("cannot write the search cache")
            .because(reason)
            .hint("search works without it, only slower; check that `.memtree/cache` can be written")
    })
}

impl<'s> Index<'s> {
    /// Opens the index of a memory as the tree is now. While another process brings it up to date, as it was.
    pub fn open(store: &'s Store) -> Result<Index<'s>> {
        let cache = Cache::of(store);
        let lock = match cache.try_lock() {
            Ok(Some(lock)) => Ok(lock),
            Ok(None) => match cache.open() {
                Ok(index) => return Index::over(store, &index),
                // The other one makes the first index of all; ours would come no sooner.
                Err(_) => cache.lock(),
            },
            Err(err) => Err(err),
        };
        match lock.map_err(Into::into).and_then(|lock| cache.refresh(&lock)) {
            Ok((index, _)) => Index::over(store, &index),
            // A memory that cannot be written, or a full disk.
            Err(_) => Index::in_memory(store),
        }
    }

    /// Makes an index in working memory and leaves the disk alone.
    pub fn in_memory(store: &'s Store) -> Result<Index<'s>> {
        let index = cache::in_memory(store).map_err(|reason| Error::new("cannot read the digests").because(reason))?;
        Index::over(store, &index)
    }

    fn over(store: &'s Store, index: &tantivy::Index) -> Result<Index<'s>> {
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into();
        let reader: tantivy::IndexReader = reader.map_err(unusable)?;
        Ok(Index { store, searcher: reader.searcher() })
    }

    /// Finds the sessions that have most to do with a query; `now` is what `since:2w` counts from.
    pub fn search(&self, query: &Query, now: Timestamp, limit: usize) -> Result<Found> {
        let plan = matches::plan(&self.searcher, query).map_err(unusable)?;
        let scored = matches::matches(&self.searcher, query, &plan, now).map_err(unusable)?;
        let total = scored.len();
        let mut best = Vec::new();
        for scored in rank::best(scored, limit) {
            if let Some(session) = self.session(scored.place)? {
                best.push((scored, session));
            }
        }
        best.sort_by(|(a, one), (b, other)| b.score.total_cmp(&a.score).then_with(|| one.cmp(other)));
        let finder = Finder::new(&plan);
        let mut hits = Vec::new();
        for (scored, session) in best.into_iter().take(limit) {
            // Gone since the index was made: the next search will know.
            let Some(page) = document::read_page(self.store, &session.to_string()) else { continue };
            hits.push(Hit {
                rank: hits.len() + 1,
                score: f64::from((scored.score * 1e4).round()) / 1e4,
                weak: scored.covered < rank::CONFIDENT,
                ..finder.hit(self.store.layout(), session, page)
            });
        }
        Ok(Found { hits, total, unknown: plan.unknown })
    }

    fn session(&self, place: tantivy::DocAddress) -> Result<Option<SessionId>> {
        let document: TantivyDocument = self.searcher.doc(place).map_err(unusable)?;
        let name = document.get_first(Fields::get().session).and_then(|value| value.as_str());
        Ok(name.and_then(|name| name.parse().ok()))
    }
}

fn unusable(err: tantivy::TantivyError) -> Error {
    Error::new("cannot search").because(err).hint("delete `.memtree/cache`: the next search makes it anew")
}

#[cfg(test)]
mod tests;
