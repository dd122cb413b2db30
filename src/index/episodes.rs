//! Episodes: from the best sessions on into their pages, to the passage that was meant.
//!
//! Only digests are indexed; the episodes of a few sessions are read when they are asked for. A
//! passage is scored by how rare its words are among all passages read, so that what the whole
//! session speaks of counts little.

use std::path::PathBuf;

use rayon::prelude::*;

use super::bm25;
use super::digests::{self, DigestPage};
use super::hits::SessionMatch;
use super::matcher::{Matcher, TermCounts};
use crate::base::{files, text};
use crate::model::ids::{EpisodeId, SessionId};
use crate::store::layout::Layout;

/// How many of the best sessions are opened.
pub const SESSIONS: usize = 10;
/// How long a passage is, in bytes.
const PASSAGE: usize = 1600;
/// How much is read of an episode, of a session and in all, in bytes.
const LONGEST_EPISODE: u64 = 1 << 20;
const MOST_OF_A_SESSION: u64 = 8 << 20;
const MOST_IN_ALL: u64 = 40 << 20;
/// How much of a score comes from where: the session, the best passage, the whole episode, its
/// trigger.
const SESSION: f32 = 2.0;
const BEST_PASSAGE: f32 = 1.0;
const EPISODE: f32 = 0.5;
const TRIGGER: f32 = 0.3;
/// How long an excerpt is, in characters.
const EXCERPT: usize = 420;

/// An episode of a session, where its page is.
struct Episode {
    id: EpisodeId,
    /// Which of the sessions it belongs to.
    session: usize,
    path: PathBuf,
    bytes: u64,
}

/// The page of an episode, as it is scored.
struct EpisodePage {
    passages: Vec<Passage>,
    whole: TermCounts,
}

#[derive(Default)]
struct Passage {
    line: usize,
    text: String,
    counts: TermCounts,
}

/// An episode that was found.
pub struct EpisodeMatch {
    /// Which of the sessions it belongs to.
    pub session: usize,
    pub episode: EpisodeId,
    pub path: PathBuf,
    /// Where its best passage begins, counted from one.
    pub line: usize,
    pub excerpt: String,
    pub words: Vec<String>,
    pub score: f32,
}

/// Finds the episodes of some sessions that fit best, best first.
pub fn search(
    layout: &Layout,
    matcher: &Matcher,
    sessions: &[SessionMatch],
    limit: usize,
) -> Vec<EpisodeMatch> {
    let mut left = MOST_IN_ALL;
    let mut episodes: Vec<Episode> = Vec::new();
    for (at, SessionMatch { session, page, .. }) in sessions.iter().enumerate() {
        let mut of_session = MOST_OF_A_SESSION.min(left);
        for episode in listed(layout, session, page, at) {
            if episode.bytes > of_session {
                break;
            }
            of_session -= episode.bytes;
            left -= episode.bytes;
            episodes.push(episode);
        }
    }
    let read = |episode: Episode| Some((EpisodePage::read(matcher, &episode)?, episode));
    let pages: Vec<(EpisodePage, Episode)> = episodes.into_par_iter().filter_map(read).collect();
    let idf = idf_among(matcher, pages.iter().flat_map(|(page, _)| &page.passages));
    let matches = pages.into_iter().filter_map(|(page, episode)| {
        let session = &sessions[episode.session];
        page.score(matcher, &idf, session, episode)
    });
    let mut matches: Vec<EpisodeMatch> = matches.collect();
    matches.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| (a.session, a.episode).cmp(&(b.session, b.episode)))
    });
    matches.truncate(limit);
    matches
}

/// The episodes of a session in order: its readable pages, and whatever else its triggers lead to.
fn listed(layout: &Layout, session: &SessionId, page: &DigestPage, at: usize) -> Vec<Episode> {
    let mut episodes: Vec<Episode> = Vec::new();
    let mut consider = |id: EpisodeId, path: PathBuf| {
        let metadata = files::symlink_metadata(&path).ok().filter(|metadata| metadata.is_file());
        if let Some(metadata) = metadata
            && !episodes.iter().any(|known| known.path == path)
        {
            episodes.push(Episode {
                id,
                session: at,
                path,
                bytes: metadata.len().min(LONGEST_EPISODE),
            });
        }
    };
    for entry in files::read_dir(layout.episodes(session)).into_iter().flatten().flatten() {
        let path = entry.path();
        let id = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        if let Some(id) = id.filter(|_| path.extension().is_some_and(|extension| extension == "md"))
        {
            consider(id, path);
        }
    }
    for trigger in &page.triggers {
        if let Some(path) = files::safe_relative(trigger.path.as_ref()) {
            consider(trigger.episode, layout.session(session).join(path));
        }
    }
    episodes.sort_by_key(|episode| episode.id);
    episodes
}

impl EpisodePage {
    fn read(matcher: &Matcher, episode: &Episode) -> Option<EpisodePage> {
        let bytes = files::read_at_most(&episode.path, LONGEST_EPISODE).ok()?;
        let mut passages = vec![Passage { line: 1, ..Passage::default() }];
        for (line, text) in (1..).zip(String::from_utf8_lossy(&bytes).lines()) {
            // What tools printed is indented, and there is much of it that nobody asks for.
            if text.starts_with("  ") {
                continue;
            }
            let open = passages.last().map_or(0, |open| open.text.len());
            if open > 0 && open + text.len() > PASSAGE {
                passages.push(Passage { line, ..Passage::default() });
            }
            if let Some(open) = passages.last_mut() {
                open.text.push_str(text.strip_prefix('>').map_or(text, str::trim_start));
                open.text.push('\n');
            }
        }
        let mut whole = matcher.no_counts();
        for passage in &mut passages {
            passage.counts = matcher.no_counts();
            matcher.count(&passage.text, &mut passage.counts);
            whole.add(&passage.counts);
        }
        Some(EpisodePage { passages, whole })
    }

    /// Scores the episode by its best passage; `None` where none has anything of the query.
    fn score(
        &self,
        matcher: &Matcher,
        idf: &[f32],
        session: &SessionMatch,
        episode: Episode,
    ) -> Option<EpisodeMatch> {
        let score = |passage: &Passage| matcher.episode_score(&passage.counts, bm25::PASSAGE, idf);
        let scores = self.passages.iter().map(|passage| (score(passage), passage));
        let best = scores.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.line.cmp(&a.1.line)));
        let (best_score, best) = best.filter(|(score, _)| *score > 0.0)?;
        let triggers = session.page.triggers.iter();
        let triggers = triggers.filter(|trigger| trigger.episode == episode.id).map(|trigger| {
            let mut counts = matcher.no_counts();
            digests::trigger_texts(trigger).for_each(|text| matcher.count(text, &mut counts));
            matcher.part_score(&counts).score
        });
        let words = matcher.words(&matcher.match_texts([&best.text]));
        Some(EpisodeMatch {
            session: episode.session,
            episode: episode.id,
            line: best.line,
            excerpt: text::excerpt(&best.text, &words, EXCERPT),
            words,
            score: SESSION * session.score
                + BEST_PASSAGE * best_score
                + EPISODE * matcher.episode_score(&self.whole, bm25::DIGEST, idf)
                + TRIGGER * triggers.fold(0.0, f32::max),
            path: episode.path,
        })
    }
}

/// How rare each term is among the passages.
fn idf_among<'p>(matcher: &Matcher, passages: impl Iterator<Item = &'p Passage>) -> Vec<f32> {
    let mut having = vec![0; matcher.terms.len()];
    let mut of = 0;
    for passage in passages {
        of += 1;
        let counts = having.iter_mut().zip(&passage.counts.counts);
        counts.for_each(|(having, count)| *having += u32::from(*count > 0));
    }
    having.into_iter().map(|having| bm25::idf(having, of)).collect()
}
