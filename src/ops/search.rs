//! Search: ranks the digests of a memory by a query, and remembers the hits so that `recall 2` knows what is meant.

use std::fs;
use std::io::Write;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::base::clock::Timestamp;
use crate::error::{Error, Result};
use crate::index::Index;
use crate::model::ids::SessionId;
use crate::model::query::{Hit, Query};
use crate::store::Store;

/// What to search for.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    pub query: Query,
    /// At most so many hits.
    pub limit: usize,
    /// What `since:2w` counts from.
    pub now: Timestamp,
    /// Whether nothing at all may be written, not even the cache.
    pub dry_run: bool,
}

/// What a search found.
#[derive(Debug, Serialize)]
pub struct SearchAnswer {
    pub query: String,
    pub hits: Vec<Hit>,
    pub took_ms: u64,
    /// How many sessions have to do with the query at all.
    pub total: usize,
    /// What to try instead, where there is nothing or only guesses.
    pub suggestions: Vec<String>,
}

/// Finds the sessions that have most to do with a query.
pub fn search(store: &Store, request: &SearchRequest) -> Result<SearchAnswer> {
    let started = Instant::now();
    let query = &request.query;
    if query.is_empty() {
        return Err(Error::usage("there is nothing to search for")
            .hint("say what to find: `memtree search header race`, or narrow by a filter: `memtree search project:zubot since:2w`"));
    }
    let index = if request.dry_run { Index::in_memory(store)? } else { Index::open(store)? };
    let found = index.search(query, request.now, request.limit)?;
    let mut suggestions = Vec::new();
    if found.hits.iter().all(|hit| hit.weak) {
        suggestions = suggested(&index, request, found.hits.is_empty(), &found.unknown)?;
    }
    if !request.dry_run {
        remember(store, query, &found.hits);
    }
    Ok(SearchAnswer {
        query: query.text.clone(),
        hits: found.hits,
        took_ms: started.elapsed().as_millis() as u64,
        total: found.total,
        suggestions,
    })
}

/// What may help: fewer conditions, fewer words, other words.
fn suggested(
    index: &Index,
    request: &SearchRequest,
    nothing: bool,
    unknown: &[(String, Vec<String>)],
) -> Result<Vec<String>> {
    let query = &request.query;
    let mut suggestions = Vec::new();
    let conditions = query.filters.len() + query.phrases.len() + query.excluded.len();
    if nothing && conditions > 0 {
        let mut words = query.words.clone();
        words.extend(query.phrases.iter().cloned());
        let loose = Query { words, ..Query::default() };
        let total = if loose.is_empty() { 0 } else { index.search(&loose, request.now, 0)?.total };
        match total {
            0 => {}
            1 => suggestions.push("without filters, quotes and exclusions 1 session matches".into()),
            total => suggestions.push(format!("without filters, quotes and exclusions {total} sessions match")),
        }
    }
    for (word, near) in unknown {
        if near.is_empty() {
            suggestions.push(format!("no session has the word `{word}`"));
        }
    }
    if query.words.len() > 1 {
        suggestions.push("try fewer words, or others: names of files, functions and errors find best".into());
    } else if nothing && suggestions.is_empty() {
        suggestions.push("`memtree sweep` takes in what the agents have logged since".into());
    }
    suggestions.truncate(4);
    Ok(suggestions)
}

/// The hits of the last search, for [`super::recall`].
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct LastSearch {
    pub query: String,
    pub hits: Vec<LastHit>,
}

/// One hit of the last search.
#[derive(Debug, Serialize, Deserialize)]
pub struct LastHit {
    pub session: SessionId,
    /// The episodes of its matching triggers, best first.
    pub episodes: Vec<String>,
}

/// Reads the hits of the last search back.
pub fn last_search(store: &Store) -> Option<LastSearch> {
    serde_json::from_slice(&fs::read(store.layout().last_search()).ok()?).ok()
}

/// Notes the hits; that is a convenience, so trouble with it is none.
fn remember(store: &Store, query: &Query, hits: &[Hit]) {
    let last = LastSearch {
        query: query.text.clone(),
        hits: hits
            .iter()
            .map(|hit| LastHit {
                session: hit.session.clone(),
                episodes: hit.triggers.iter().map(|trigger| trigger.episode.to_string()).collect(),
            })
            .collect(),
    };
    let path = store.layout().last_search();
    // Whole or not at all, but without waiting for the disk as for something that matters.
    let written = (|| {
        let mut file = tempfile::NamedTempFile::new_in(path.parent()?).ok()?;
        file.write_all(&serde_json::to_vec(&last).ok()?).ok()?;
        file.persist(&path).ok()
    })();
    let _ = written;
}
