//! Search: ranks the digests of a memory by a query, or other pages, or episodes; and remembers the
//! hits, so that `recall 2` knows what is meant.

use std::time::Instant;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize};

use crate::base::clock::Timestamp;
use crate::base::files;
use crate::base::setters::setters;
use crate::base::text;
use crate::error::{Error, Result};
use crate::index::{Corpus, Index, Source};
use crate::memory::Memory;
use crate::model::hit::{Hit, NoteHit, Tree};
use crate::model::ids::SessionId;
use crate::ops::embeddings::EmbeddingsUse;
use crate::query::dates::NamedTimes;
use crate::query::{Filter, Query};
use crate::store::Store;
use crate::store::local::StateFile;

/// How many hits are shown where nothing is said.
pub const LIMIT: usize = 10;
/// How many suggestions are made, and how many unknown words are named in them.
const MOST_SUGGESTIONS: usize = 5;
const MOST_UNKNOWN: usize = 2;
/// How many values of a filter are named.
const MOST_VALUES: usize = 8;

/// What to search for.
#[derive(Debug, Clone, Default)]
pub struct SearchRequest {
    pub query: Query,
    /// The same question in other words: what all of them find together comes first.
    pub also: Vec<String>,
    /// Where to look; empty means among the digests.
    pub trees: Vec<Tree>,
    /// Whether to go on into the episodes of the best sessions.
    pub deep: bool,
    /// At most so many hits; ten where nothing is said.
    pub limit: Option<usize>,
    /// Whether to take the index as it was left rather than look at every page first.
    pub hurried: bool,
    /// Whether its hits get no numbers: those of the search before keep theirs.
    pub unnumbered: bool,
    /// Whether nothing at all may be written, not even the cache.
    pub dry_run: bool,
}

setters!(SearchRequest {
    query: Query,
    also: Vec<String>,
    trees: Vec<Tree>,
    deep: bool,
    limit: Option<usize>,
    hurried: bool,
    unnumbered: bool,
    dry_run: bool,
});

impl SearchRequest {
    /// A search for what a person typed: words, "phrases" and filters.
    pub fn of(text: &str) -> Result<SearchRequest> {
        Ok(SearchRequest { query: Query::parse(text)?, ..SearchRequest::default() })
    }
}

/// What a search found.
#[derive(Debug, Default)]
pub struct SearchReport {
    pub query: String,
    /// Sessions, or their episodes. They and the notes are one list by rank.
    pub hits: Vec<Hit>,
    /// Sections of other pages.
    pub notes: Vec<NoteHit>,
    pub took_ms: u64,
    /// How many sessions and pages have to do with the query at all.
    pub total: usize,
    /// What to try instead, where there is nothing or only guesses.
    pub suggestions: Vec<String>,
    /// Whether embeddings had a say in the order, where they are configured.
    pub embeddings: Option<EmbeddingsUse>,
}

/// One of the hits of an answer, whatever it is.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub enum AnyHit<'a> {
    Session(&'a Hit),
    Note(&'a NoteHit),
}

impl AnyHit<'_> {
    pub fn rank(&self) -> usize {
        match self {
            AnyHit::Session(hit) => hit.rank,
            AnyHit::Note(hit) => hit.rank,
        }
    }

    pub fn weak(&self) -> bool {
        match self {
            AnyHit::Session(hit) => hit.weak,
            AnyHit::Note(hit) => hit.weak,
        }
    }

    /// The page to open, relative to the memory.
    pub fn path(&self) -> &str {
        match self {
            AnyHit::Session(hit) => &hit.path,
            AnyHit::Note(hit) => &hit.path,
        }
    }
}

impl SearchReport {
    /// All hits, best first.
    pub fn all(&self) -> Vec<AnyHit<'_>> {
        let mut all: Vec<AnyHit> = self.hits.iter().map(AnyHit::Session).collect();
        all.extend(self.notes.iter().map(AnyHit::Note));
        all.sort_by_key(AnyHit::rank);
        all
    }

    /// Puts sessions and notes into one order, by score, and keeps the best.
    fn assign_ranks(&mut self, limit: usize) {
        let mut order: Vec<(f64, bool, usize)> = Vec::new();
        order.extend(self.hits.iter().enumerate().map(|(at, hit)| (hit.score, false, at)));
        order.extend(self.notes.iter().enumerate().map(|(at, hit)| (hit.score, true, at)));
        // Of equals, sessions come first; both lists are in order already.
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
        for (rank, (_, is_note, at)) in order.into_iter().enumerate() {
            match is_note {
                false => self.hits[at].rank = rank + 1,
                true => self.notes[at].rank = rank + 1,
            }
        }
        self.hits.retain(|hit| hit.rank <= limit);
        self.notes.retain(|hit| hit.rank <= limit);
    }
}

impl Serialize for SearchReport {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        let fields = 5 + usize::from(self.embeddings.is_some());
        let mut answer = serializer.serialize_struct("SearchReport", fields)?;
        answer.serialize_field("query", &self.query)?;
        answer.serialize_field("hits", &self.all())?;
        answer.serialize_field("took_ms", &self.took_ms)?;
        answer.serialize_field("total", &self.total)?;
        answer.serialize_field("suggestions", &self.suggestions)?;
        if let Some(embeddings) = &self.embeddings {
            answer.serialize_field("embeddings", embeddings)?;
        }
        answer.end()
    }
}

impl Memory {
    /// Finds what has most to do with a query.
    pub fn search(&self, request: SearchRequest) -> Result<SearchReport> {
        let (store, now, request) = (self.store(), self.now(), &request);
        let most = request.limit.unwrap_or(LIMIT);
        let started = Instant::now();
        let query = &request.query;
        check(request)?;
        let phrasings = query.phrasings(&request.also);
        let digests = request.trees.is_empty() || request.trees.contains(&Tree::Digests);
        let notes: Vec<Tree> =
            request.trees.iter().copied().filter(|tree| *tree != Tree::Digests).collect();
        let mut answer = SearchReport { query: query.text.clone(), ..SearchReport::default() };
        let mut notes_weight = 0.0;
        if !notes.is_empty() {
            let index = open_index(store, Corpus::Notes, request)?;
            let found = index.search_notes(&phrasings, &notes, now, most)?;
            (answer.notes, answer.total, notes_weight) =
                (found.hits, found.total, found.query_weight);
        }
        if digests || answer.notes.iter().all(|hit| hit.weak) {
            let limit = if digests { most } else { 0 };
            let mut index = open_index(store, Corpus::Digests, request)?;
            if limit > 0 {
                let (nearness, used) = self.nearness(&phrasings)?;
                index = index.with_nearness(nearness);
                answer.embeddings = used;
            }
            let ask = |phrasings: &[Query]| match request.deep && digests {
                true => index.deep(phrasings, now, limit),
                false => index.search_phrasings(phrasings, now, limit),
            };
            let mut found = ask(&phrasings)?;
            if phrasings.len() > 1 && found.hits.iter().all(|hit| hit.weak) {
                // Among the words of the others one that is sure by itself looks like a guess.
                for phrasing in &phrasings {
                    let alone = ask(std::slice::from_ref(phrasing))?.hits;
                    for sure in alone.iter().filter(|hit| !hit.weak) {
                        let there = found.hits.iter_mut().find(|hit| hit.session == sure.session);
                        if let Some(hit) = there {
                            (hit.weak, hit.confidence) = (false, sure.confidence);
                        }
                    }
                }
            }
            let looser = query.without_quotes().filter(|_| digests && found.total == 0);
            if let Some(looser) = looser {
                found = ask(&looser.phrasings(&request.also))?;
                found.hits.iter_mut().for_each(|hit| hit.weak = true);
            }
            // Words are rarer among the many sections than among sessions; that makes no section a
            // better answer.
            if digests && notes_weight > found.query_weight && found.query_weight > 0.0 {
                let factor = found.query_weight / notes_weight;
                answer
                    .notes
                    .iter_mut()
                    .for_each(|hit| hit.score = (hit.score * factor * 1e4).round() / 1e4);
            }
            answer.hits = found.hits;
            answer.total += if digests { found.total } else { 0 };
            answer.assign_ranks(most);
            if answer.all().iter().all(AnyHit::weak) {
                let nothing = answer.all().is_empty();
                answer.suggestions =
                    suggestions(store, &index, now, request, nothing, &found.unknown)?;
            }
        }
        if !request.dry_run && !request.unnumbered {
            remember(store, &answer);
        }
        answer.took_ms = started.elapsed().as_millis() as u64;
        Ok(answer)
    }
}

/// Refuses a request that asks for nothing.
fn check(request: &SearchRequest) -> Result<()> {
    let query = &request.query;
    if query.is_empty() {
        return Err(Error::usage("there is nothing to search for").hint(
            "say what to find: `memtree search header race`, or narrow by a filter: \
             `memtree search project:zubot since:2w`",
        ));
    }
    if request.deep && query.words.is_empty() && query.phrases.is_empty() {
        return Err(Error::usage("a search that goes deep needs words to look for")
            .hint("add some, or leave `--deep` away to list what the filters let through"));
    }
    Ok(())
}

/// The index that a request asks for. Where none was left, or a damaged one, even who is in a hurry
/// waits for it.
pub(super) fn open_index<'s>(
    store: &'s Store,
    corpus: Corpus,
    request: &SearchRequest,
) -> Result<Index<'s>> {
    match request.hurried.then(|| Index::open(store, corpus, Source::Cached)) {
        Some(Ok(index)) => Ok(index),
        _ if request.dry_run => Index::open(store, corpus, Source::InMemory),
        _ => Index::open(store, corpus, Source::Refreshed),
    }
}

/// What may help: fewer conditions, fewer words, other words, other places.
fn suggestions(
    store: &Store,
    index: &Index,
    now: Timestamp,
    request: &SearchRequest,
    nothing: bool,
    unknown: &[(String, Vec<String>)],
) -> Result<Vec<String>> {
    let query = &request.query;
    let is_digests = request.trees.is_empty() || request.trees.contains(&Tree::Digests);
    if nothing && is_digests && store.session_ids().is_ok_and(|ids| ids.is_empty()) {
        return Ok(vec![
            "this memory is empty: `memtree sweep` takes in what agents have logged".into(),
        ]);
    }
    let mut suggestions = Vec::new();
    if !nothing
        && let Some(phrase) = query.phrases.first().filter(|_| query.without_quotes().is_some())
    {
        suggestions.push(format!(
            "no session has “{}” word for word; these have some of it",
            text::one_line(phrase, 60)
        ));
    }
    if nothing {
        suggestions.extend(of_another_time(index, now, query)?);
        suggestions.extend(without_conditions(index, now, query)?);
        let filters = query.filters.iter().filter(|filter| !filter.negated);
        suggestions.extend(filters.filter_map(|filter| other_value(index, filter)));
    }
    for (word, _) in unknown.iter().filter(|(_, taken)| taken.is_empty()).take(MOST_UNKNOWN) {
        suggestions.push(match index.similar_word(word) {
            Some(alike) => format!("no session has the word `{word}`; did you mean `{alike}`?"),
            None => format!("no session has the word `{word}`"),
        });
    }
    if query.words.len() > 1 {
        suggestions.push(
            "try fewer words, or others: names of files, functions and errors find best".into(),
        );
    } else if nothing && suggestions.is_empty() {
        suggestions.push("`memtree sweep` takes in what the agents have logged since".into());
    }
    let mut folders = Tree::NOTES.into_iter().filter_map(|tree| store.layout().tree(tree));
    let elsewhere = folders.any(|folder| files::is_dir(&folder));
    if request.trees.is_empty() && elsewhere {
        suggestions.push(
            "`--in all` also looks through days, core, knowledge, patterns and memories".into(),
        );
    }
    if !nothing && !request.deep && request.trees.is_empty() {
        suggestions.push("`--deep` looks into the episodes of these sessions".into());
    }
    suggestions.truncate(MOST_SUGGESTIONS);
    Ok(suggestions)
}

/// When there was a session last, where a question names a time of which there is none.
fn of_another_time(index: &Index, now: Timestamp, query: &Query) -> Result<Option<String>> {
    if !NamedTimes::of(&query.words.join(" ")).are_relative() || !query.filters.is_empty() {
        return Ok(None);
    }
    let all = Query { all: true, ..Query::default() };
    let last = index.search(&all, now, 1)?.hits.into_iter().find_map(|hit| hit.ended);
    Ok(last.as_deref().and_then(|ended| ended.get(..10)).map(|day| {
        format!("no session is of that time; the last one ended on {day}: `memtree list`")
    }))
}

/// How much the words alone find, where there were conditions.
fn without_conditions(index: &Index, now: Timestamp, query: &Query) -> Result<Option<String>> {
    let words = [query.words.as_slice(), &query.phrases].concat();
    let has_conditions = query.filters.len() + query.phrases.len() + query.excluded.len() > 0;
    if !has_conditions || words.is_empty() {
        return Ok(None);
    }
    let found = match index.search(&Query { words, ..Query::default() }, now, 0)?.total {
        0 => return Ok(None),
        1 => "1 session matches".to_string(),
        total => format!("{total} sessions match"),
    };
    Ok(Some(format!("without filters, quotes and exclusions {found}")))
}

/// What to ask for instead of a filter's value that no session has.
fn other_value(index: &Index, filter: &Filter) -> Option<String> {
    let known = index.filter_values(filter.key);
    let wanted = filter.value.to_lowercase();
    let name = filter.key.name();
    if known.contains(&wanted) || !filter.key.is_name() {
        return None;
    }
    let value = text::one_line(&filter.value, 60);
    Some(match text::nearest(&wanted, known.iter().map(String::as_str)) {
        Some(near) => format!("no session has {name}:{value}; did you mean {name}:{near}?"),
        None if known.is_empty() => format!("no session has a {name}"),
        None => {
            let shown = known.iter().take(MOST_VALUES).map(|known| text::one_line(known, 40));
            let shown = shown.collect::<Vec<_>>();
            let more = if known.len() > MOST_VALUES { ", …" } else { "" };
            format!("no session has {name}:{value}; there are {}{more}", shown.join(", "))
        }
    })
}

/// The hits of the last search, for [`super::recall`]; not what was asked, which may be a secret.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct LastSearch {
    pub hits: Vec<LastHit>,
}

/// One hit of the last search.
#[derive(Debug, Serialize, Deserialize)]
pub struct LastHit {
    /// The session; none where a page was found that is no digest.
    pub session: Option<SessionId>,
    /// The page, relative to the memory.
    #[serde(default)]
    pub path: String,
    /// The episodes of its matching triggers, best first.
    pub episodes: Vec<String>,
}

/// Reads the hits of the last search back.
pub fn last_search(store: &Store) -> Option<LastSearch> {
    StateFile::cache(store.layout().last_search()).read()
}

/// Notes the hits, as a convenience: errors are ignored.
pub(super) fn remember(store: &Store, answer: &SearchReport) {
    let hits = answer.all().into_iter().map(|hit| match hit {
        // Somebody else's session is none of this memory: its page is all there is.
        AnyHit::Session(hit) if hit.whose.as_ref().is_some_and(|whose| whose.others) => {
            LastHit { session: None, path: hit.path.clone(), episodes: Vec::new() }
        }
        AnyHit::Session(hit) => LastHit {
            session: Some(hit.session.clone()),
            path: hit.path.clone(),
            episodes: match &hit.passage {
                Some(passage) => vec![passage.episode.to_string()],
                None => hit.triggers.iter().map(|trigger| trigger.episode.to_string()).collect(),
            },
        },
        AnyHit::Note(hit) => {
            LastHit { session: None, path: hit.path.clone(), episodes: Vec::new() }
        }
    });
    let last = LastSearch { hits: hits.collect() };
    StateFile::cache(store.layout().last_search()).save_if_possible(&last);
}
