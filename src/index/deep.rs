//! Deep: from the best sessions on into their episodes, to the passage that was meant.
//!
//! Only digests are indexed; the episodes of a few sessions are read when they are asked for. A
//! passage is scored by how rare its words are among all passages read, so that what the whole
//! session speaks of counts little.

use std::fs;
use std::path::PathBuf;

use rayon::prelude::*;

use super::hits::{Counted, Finder};
use super::page::Page;
use super::rank;
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

/// What of a query an episode has.
struct Pages {
    passages: Vec<Passage>,
    whole: Counted,
}

struct Passage {
    line: usize,
    text: String,
    counted: Counted,
}

/// An episode that was found.
pub struct FoundEpisode {
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

/// Finds the episodes of some sessions that fit best, best first; each session comes with its score
/// and its page.
pub fn episodes(
    layout: &Layout,
    finder: &Finder,
    sessions: &[(f32, SessionId, Page)],
    limit: usize,
) -> Vec<FoundEpisode> {
    let mut left = MOST_IN_ALL;
    let mut all: Vec<Episode> = Vec::new();
    for (at, (_, session, page)) in sessions.iter().enumerate() {
        let mut of_session = MOST_OF_A_SESSION.min(left);
        for episode in listed(layout, session, page, at) {
            if episode.bytes > of_session {
                break;
            }
            of_session -= episode.bytes;
            left -= episode.bytes;
            all.push(episode);
        }
    }
    let read: Vec<Option<Pages>> = all.par_iter().map(|episode| read(finder, episode)).collect();
    let rarity = rarities(finder, read.iter().flatten().flat_map(|read| &read.passages));
    let mut found: Vec<FoundEpisode> = Vec::new();
    for (episode, read) in all.into_iter().zip(read) {
        let Some(read) = read else { continue };
        let (score, _, page) = &sessions[episode.session];
        let scores =
            read.passages.iter().map(|passage| finder.passage_score(&passage.counted, &rarity));
        let best = scores
            .zip(&read.passages)
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.line.cmp(&a.1.line)));
        let Some((best_score, best)) = best.filter(|(score, _)| *score > 0.0) else { continue };
        let triggers = page.triggers.iter().filter(|trigger| trigger.episode == episode.id);
        let trigger = triggers.map(|trigger| finder.trigger_score(trigger)).fold(0.0, f32::max);
        let words = finder.words_of(&best.text);
        found.push(FoundEpisode {
            session: episode.session,
            episode: episode.id,
            line: best.line,
            excerpt: text::excerpt(&best.text, &words, EXCERPT),
            words,
            score: SESSION * score
                + BEST_PASSAGE * best_score
                + EPISODE * finder.episode_score(&read.whole, &rarity)
                + TRIGGER * trigger,
            path: episode.path,
        });
    }
    found.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| (a.session, a.episode).cmp(&(b.session, b.episode)))
    });
    found.truncate(limit);
    found
}

/// The episodes of a session in order: its readable pages, and whatever else its triggers lead to.
fn listed(layout: &Layout, session: &SessionId, page: &Page, at: usize) -> Vec<Episode> {
    // What came by `git pull` may be a link that leads out of the memory.
    let Ok(home) = fs::canonicalize(layout.session(session)) else { return Vec::new() };
    let mut episodes: Vec<Episode> = Vec::new();
    let mut consider = |id: EpisodeId, path: PathBuf| {
        let metadata = fs::symlink_metadata(&path).ok().filter(|metadata| metadata.is_file());
        let inside = fs::canonicalize(&path).is_ok_and(|real| real.starts_with(&home));
        if let Some(metadata) = metadata.filter(|_| inside)
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
    for entry in fs::read_dir(layout.episodes(session)).into_iter().flatten().flatten() {
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

fn read(finder: &Finder, episode: &Episode) -> Option<Pages> {
    let bytes = files::read_at_most(&episode.path, LONGEST_EPISODE).ok()?;
    let page = String::from_utf8_lossy(&bytes);
    let mut passages: Vec<Passage> = Vec::new();
    let mut whole = finder.nothing();
    let mut open = Passage { line: 1, text: String::new(), counted: finder.nothing() };
    for (at, line) in page.lines().enumerate() {
        // What tools printed is indented, and there is much of it that nobody asks for.
        if line.starts_with("  ") {
            continue;
        }
        if open.text.len() + line.len() > PASSAGE && !open.text.is_empty() {
            let next = Passage { line: at + 1, text: String::new(), counted: finder.nothing() };
            passages.push(std::mem::replace(&mut open, next));
        }
        open.text.push_str(line.strip_prefix('>').map_or(line, str::trim_start));
        open.text.push('\n');
    }
    passages.push(open);
    for passage in &mut passages {
        finder.count(&passage.text, &mut passage.counted);
        whole.add(&passage.counted);
    }
    Some(Pages { passages, whole })
}

/// How rare each wanted word is among the passages.
fn rarities<'p>(finder: &Finder, passages: impl Iterator<Item = &'p Passage>) -> Vec<f32> {
    let mut having = finder.nothing();
    let mut of = 0;
    for passage in passages {
        of += 1;
        having.add_presence(&passage.counted);
    }
    having.times.iter().map(|having| rank::rarity(*having, of)).collect()
}
