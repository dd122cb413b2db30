//! Fix: what was done after the same error in earlier sessions, whichever agent they were with, and
//! which of it held.

use serde::Serialize;

use crate::base::setters::setters;
use crate::base::{files, text};
use crate::distill::errors;
use crate::distill::patterns::fixes::{self, Occurrence, Wanted};
use crate::distill::patterns::{Observed, loci};
use crate::error::{Error, Result};
use crate::index::Corpus;
use crate::memory::Memory;
use crate::model::core::Support;
use crate::model::digest::Worth;
use crate::model::ids::SessionId;
use crate::ops::search::{self, SearchRequest};
use crate::query::{FilterKey, Query};
use crate::store::core;

/// Which error was met.
#[derive(Debug, Clone, Default)]
pub struct FixRequest {
    /// The error as it was printed: one line, or a whole output.
    pub error: String,
    /// Only sessions of this project.
    pub project: Option<String>,
    pub limit: Option<usize>,
}

setters!(FixRequest { error: String, project: Option<String>, limit: Option<usize> });

/// How many sessions are shown where nothing is said.
const MOST: usize = 5;
/// How many landmarks and similar sessions are shown.
const MOST_LANDMARKS: usize = 3;
/// How short a part of a line may be that names it.
const SHORTEST_PART: usize = 10;
/// How long a line may be, in characters.
const LONGEST_LINE: usize = 400;
/// How much of an output is looked through, in bytes.
const LONGEST: usize = 64 << 10;

/// What is known of an error.
#[derive(Debug, Serialize)]
pub struct FixReport {
    /// The line that was looked for, as it was printed.
    pub error: String,
    /// In how many sessions it was met, went away, and stayed away.
    pub met: usize,
    pub solved: usize,
    pub held: usize,
    /// What held comes first, the latest first.
    pub sessions: Vec<Occurrence>,
    /// What cores remember of it.
    pub landmarks: Vec<Remembered>,
    /// Sessions with the same words, where nothing else is known.
    pub similar: Vec<SimilarSession>,
    /// What helps against errors of this kind.
    pub in_general: Option<String>,
}

/// What a core remembers of an error.
#[derive(Debug, Serialize)]
pub struct Remembered {
    pub text: String,
    /// The core's page, relative to the memory.
    pub path: String,
    /// Where it was said, as `recall` takes it.
    pub place: Option<String>,
}

/// A session in which a search finds the words of an error.
#[derive(Debug, Serialize)]
pub struct SimilarSession {
    pub session: SessionId,
    pub title: String,
    pub place: String,
    pub excerpt: String,
}

impl Memory {
    /// Says what was done about an error before.
    pub fn fix(&self, request: FixRequest) -> Result<FixReport> {
        let printed = text::cut(&request.error, LONGEST);
        let lines = lines_of(printed);
        if lines.is_empty() {
            return Err(Error::usage("there is no error to look for")
                .hint("give it as it was printed: memtree fix \"EWOULDBLOCK: lock is held\""));
        }
        let mut sessions: Vec<Observed> = self.observed()?.sessions;
        sessions.retain(|session| session.worth == Worth::Full);
        sessions.sort_by(|a, b| (a.ended, &a.session).cmp(&(b.ended, &b.session)));
        let find = |line: String| {
            let wanted = Wanted::of(&line);
            let mut met = fixes::after(&wanted, &sessions);
            met.retain(|one| request.project.is_none() || one.project == request.project);
            let landmarks = self.landmarks_on(&wanted, request.project.as_deref());
            (line, met, landmarks)
        };
        let part = lines[0].clone();
        // The line of an output that is known; the first, where none is.
        let mut found: Vec<_> = lines.into_iter().map(find).collect();
        let is_known = |(_, met, landmarks): &(String, Vec<Occurrence>, Vec<Remembered>)| {
            !met.is_empty() || !landmarks.is_empty()
        };
        if !found.iter().any(is_known) {
            found.extend(with_part(&part, &sessions).into_iter().map(find));
        }
        let best = found.iter().position(is_known).unwrap_or_default();
        let (error, met, mut landmarks) = found.into_iter().nth(best).unwrap_or_default();
        landmarks.retain(|one| !met.iter().any(|met| met.lesson == one.text));
        let similar = match met.is_empty() && landmarks.is_empty() {
            true => self.similar_sessions(&error, request.project.as_deref())?,
            false => Vec::new(),
        };
        let class = loci::of_error(&errors::fingerprint(&error));
        let class = class.and_then(|locus| loci::class(&locus));
        let limit = request.limit.unwrap_or(MOST);
        Ok(FixReport {
            in_general: class.map(|class| class.advice.to_string()),
            met: met.len(),
            solved: met.iter().filter(|one| one.solved).count(),
            held: met.iter().filter(|one| one.held).count(),
            sessions: met.into_iter().take(limit).collect(),
            landmarks,
            similar,
            error,
        })
    }

    /// What cores remember of an error.
    fn landmarks_on(&self, wanted: &Wanted, project: Option<&str>) -> Vec<Remembered> {
        let layout = self.layout();
        let mut found: Vec<Remembered> = Vec::new();
        for id in core::core_ids(&layout.cores()).into_iter().rev() {
            let path = layout.core(&id);
            let Ok(page) = files::read_to_string(&path) else { continue };
            for landmark in core::parse_core(&page).landmarks {
                let is_asked = project.is_none() || landmark.project.as_deref() == project;
                let text = text::without_sentences(&landmark.text, text::is_injection);
                let is_new = !found.iter().any(|known| known.text == text);
                if is_asked && is_new && wanted.is_in(&landmark.text) {
                    let place = |one: &Support| format!("{}#{}", one.session, one.episode);
                    let place = landmark.supports.last().map(place);
                    let (text, path) = (text.into_owned(), layout.shown(&path));
                    found.push(Remembered { text, path, place });
                }
            }
        }
        found.truncate(MOST_LANDMARKS);
        found
    }

    /// Sessions that a search finds by the words of an error; guesses aside.
    fn similar_sessions(&self, error: &str, project: Option<&str>) -> Result<Vec<SimilarSession>> {
        let mut query = Query::of_words(error);
        if let Some(project) = project {
            query.filter(FilterKey::Project, project)?;
        }
        if query.words.is_empty() {
            return Ok(Vec::new());
        }
        // `recall 2` goes on to mean the person's own last search.
        let request = SearchRequest { query, ..SearchRequest::default() };
        let index = search::open_index(self.store(), Corpus::Digests, &request)?;
        let found =
            index.search_phrasings(&request.query.phrasings(&[]), self.now(), MOST_LANDMARKS)?;
        let hits = found.hits.into_iter().filter(|hit| !hit.weak);
        let similar = hits.map(|hit| SimilarSession {
            place: match hit.triggers.first() {
                Some(trigger) => format!("{}#{}", hit.session, trigger.episode),
                None => hit.session.to_string(),
            },
            session: hit.session,
            title: hit.title,
            excerpt: text::one_line(&hit.excerpt, 200),
        });
        Ok(similar.collect())
    }
}

/// The lines that sessions met and of which this is a part, as a person remembers it:
/// `index.lock: File exists`. The latest come first.
fn with_part(part: &str, sessions: &[Observed]) -> Vec<String> {
    // Nobody remembers what was quoted.
    let plain = |text: &str| text.replace(['\'', '"', '`'], "").trim().to_lowercase();
    let part = plain(part);
    // A word alone stands in too many.
    if part.len() < SHORTEST_PART || part.split_whitespace().count() < 2 {
        return Vec::new();
    }
    let printed = sessions.iter().rev().flat_map(|session| &session.printed);
    let mut lines: Vec<String> = Vec::new();
    for error in printed.filter(|error| plain(&error.text).contains(&part)) {
        let line = errors::without_mark(&error.text).to_string();
        let print = errors::fingerprint(&line);
        if !lines.iter().any(|known| errors::fingerprint(known) == print) {
            lines.push(line);
        }
    }
    lines.truncate(MOST);
    lines
}

/// The lines of an output that are errors; all of a single line.
fn lines_of(printed: &str) -> Vec<String> {
    let mut lines: Vec<String> =
        errors::in_failure(printed).into_iter().map(|line| line.sample).collect();
    let only = printed.trim();
    if !only.is_empty() && !only.contains('\n') {
        lines.insert(0, text::one_line(only, LONGEST_LINE));
    } else if let Some(first) = only.lines().next().filter(|_| lines.is_empty()) {
        lines.push(text::one_line(first, LONGEST_LINE));
    }
    lines.iter_mut().for_each(|line| *line = errors::without_mark(line).to_string());
    lines.dedup();
    lines
}
