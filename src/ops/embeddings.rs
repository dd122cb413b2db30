//! Embeddings: vectors of what was said, made after a sweep, and asked for in a search.
//!
//! All of it is off until the person's own settings name a server. Nothing depends on it: a search
//! that gets no vector in time ranks by words alone and says so.

use std::collections::{HashMap, HashSet};
use std::io;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::base::files::{self, Stamp};
use crate::base::text;
use crate::error::{Context, Result};
use crate::index::{self, Nearness, Record, VectorWriter, Vectors};
use crate::memory::Memory;
use crate::model::exclude::Exclude;
use crate::model::ids::SessionId;
use crate::models::FailureKind;
use crate::models::embeddings::{Embedded, Embeddings, Patience};
use crate::query::Query;

/// What the model is asked besides every first text, to see whether it is still the same model.
const PROBE: &str = "memtree remembers what coding agents did";
/// How many texts are sent at once.
const BATCH: usize = 32;
/// After how many new vectors they are written down.
const SAVED_TOGETHER: usize = 512;
/// How much of a text is tried where the server refuses all of it, in bytes.
const SHORTENED: usize = 500;

/// What a sweep did for vectors.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct EmbeddingsReport {
    /// How many sessions got vectors, and of how many chunks.
    pub sessions: usize,
    pub chunks: usize,
    /// How many sessions wait for the next sweep.
    pub waiting: usize,
    /// Why they wait, where it is not for lack of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

/// Whether embeddings had a say in an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct EmbeddingsUse {
    pub used: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

impl Memory {
    /// Has the server make vectors of what is new, as long as the settings allow; `None` where none
    /// is configured.
    pub(crate) fn embed_sessions(
        &self,
        progress: &dyn Fn(usize, usize),
    ) -> Result<Option<EmbeddingsReport>> {
        let embeddings = self.embeddings()?;
        if !embeddings.is_enabled() {
            return Ok(None);
        }
        let layout = self.layout();
        let cannot = || format!("cannot write to `{}`", layout.vectors().display());
        // Somebody else is at it.
        let lock = files::try_lock_exclusive(&layout.vectors_lock()).context(cannot)?;
        let Some(_lock) = lock else { return Ok(Some(EmbeddingsReport::default())) };
        let mut run = Run::new(self, embeddings);
        let due = run.due()?;
        run.report.waiting = run.embed(&due, progress).context(cannot)?;
        run.save().context(cannot)?;
        Ok(Some(run.report))
    }

    /// How near the sessions are to each phrasing of a question, where there are vectors; and
    /// whether that has a say, where a server is configured.
    pub(crate) fn nearness(
        &self,
        phrasings: &[Query],
    ) -> Result<(Vec<Nearness>, Option<EmbeddingsUse>)> {
        let embeddings = self.embeddings()?;
        let texts: Vec<String> = phrasings.iter().map(words).collect();
        if !embeddings.is_enabled() || texts.first().is_none_or(String::is_empty) {
            return Ok((Vec::new(), None));
        }
        Ok(match self.ask_for_nearness(embeddings, texts) {
            Ok(near) => (near, Some(EmbeddingsUse { used: true, because: None })),
            Err(reason) => (Vec::new(), Some(EmbeddingsUse { used: false, because: Some(reason) })),
        })
    }

    fn ask_for_nearness(
        &self,
        embeddings: &Embeddings,
        mut texts: Vec<String>,
    ) -> Result<Vec<Nearness>, String> {
        let layout = self.layout();
        let vectors = Vectors::open(layout, embeddings.model())
            .ok_or("there are no vectors yet; a sweep makes them")?;
        texts.push(PROBE.to_string());
        let embedded = embeddings.embed(&texts, Patience::Search);
        let mut found = embedded.map_err(|failure| failure.reason)?.vectors;
        let probe = found.pop().unwrap_or_default();
        if !vectors.is_of(&probe) {
            let _ = files::write_unsynced(&layout.vectors_stale(), b"");
            return Err("its model has changed; the next sweep makes the vectors anew".into());
        }
        let near = vectors.nearness(&found);
        near.map_err(|err| format!("the vectors cannot be read ({err}); a sweep makes them anew"))
    }

    /// How many sessions and chunks have vectors.
    pub fn embedded(&self) -> (usize, usize) {
        let model = self.settings().embeddings.model.as_str();
        let writer = VectorWriter::open(self.layout(), model);
        (writer.known_with_vectors().count(), writer.chunks())
    }

    /// Removes all vectors.
    pub fn remove_embeddings(&self) -> Result<()> {
        let layout = self.layout();
        let cannot = || format!("cannot remove `{}`", layout.vectors().display());
        let _lock = files::lock_exclusive(&layout.vectors_lock()).context(cannot)?;
        index::remove_vectors(layout).context(cannot)
    }
}

/// What of a question is sent: its words, not its filters.
fn words(query: &Query) -> String {
    query.words.iter().chain(&query.phrases).map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// Vectors in the making.
struct Run<'m> {
    memory: &'m Memory,
    embeddings: &'m Embeddings,
    writer: VectorWriter,
    /// What the settings leave out, and what they would if that were accepted.
    exclude: [Exclude; 2],
    /// How many tokens may still be sent.
    tokens_left: u64,
    unsaved: Unsaved,
    report: EmbeddingsReport,
}

/// What was sent since it was last written down.
#[derive(Default)]
struct Unsaved {
    chunks: usize,
    tokens: u64,
    estimated: bool,
    took: Duration,
}

/// Why no more vectors are made.
struct Stop(String);

impl<'m> Run<'m> {
    fn new(memory: &'m Memory, embeddings: &'m Embeddings) -> Run<'m> {
        Run {
            memory,
            embeddings,
            writer: VectorWriter::open(memory.layout(), embeddings.model()),
            exclude: [memory.exclude(), memory.held_back()],
            tokens_left: 0,
            unsaved: Unsaved::default(),
            report: EmbeddingsReport::default(),
        }
    }

    /// The sessions whose digests look different than when their vectors were made, the newest
    /// first. What is gone or left out by now loses its vectors; where the model is another one,
    /// all do.
    fn due(&mut self) -> Result<Vec<(SessionId, Stamp)>> {
        let mut found = self.memory.store().digest_stamps()?;
        let names: HashMap<String, Stamp> =
            found.iter().map(|(id, stamp)| (id.to_string(), *stamp)).collect();
        self.writer.retain(|session| names.contains_key(session));
        self.leave_out();
        let is_due = |writer: &VectorWriter| {
            let known: HashMap<&str, Stamp> = writer.known().collect();
            names.iter().any(|(name, stamp)| known.get(name.as_str()) != Some(stamp))
        };
        let is_stale = files::exists(self.memory.layout().vectors_stale());
        if (is_stale || is_due(&self.writer))
            && let Err(Stop(reason)) = self.check_model()
        {
            self.report.unavailable = Some(reason);
        }
        let known: HashMap<&str, Stamp> = self.writer.known().collect();
        found.retain(|(id, stamp)| known.get(id.to_string().as_str()) != Some(stamp));
        found.sort_by(|a, b| b.0.cmp(&a.0));
        Ok(found)
    }

    /// Where other sessions are left out than before, those that are now lose their vectors, and
    /// those that were are looked at again.
    fn leave_out(&mut self) {
        let excluded = index::text_hash(&self.exclude.each_ref().map(Exclude::key).concat());
        if self.writer.excluded() == excluded {
            return;
        }
        let is_in = |name: &str| name.parse().is_ok_and(|id| !self.is_left_out(&id));
        let kept = self.writer.known_with_vectors().filter(|name| is_in(name));
        let kept: HashSet<String> = kept.map(str::to_string).collect();
        self.writer.retain(|session| kept.contains(session));
        self.writer.set_excluded(excluded);
    }

    /// Asks whether the model is still the same; where it is not, all vectors go.
    fn check_model(&mut self) -> Result<(), Stop> {
        let made = self.ask(&[PROBE.to_string()]).map_err(|(_, reason)| Stop(reason))?;
        self.writer.check_model(&made.vectors[0]);
        // Where it cannot be removed, the next sweep asks once more.
        let _ = files::remove_file(&self.memory.layout().vectors_stale());
        Ok(())
    }

    fn is_left_out(&self, id: &SessionId) -> bool {
        let Some(digest) = self.memory.store().digest(id).ok().flatten() else { return true };
        let content = &digest.content;
        let cwd = content.cwd.as_deref().map(|cwd| self.memory.environment().expand(cwd));
        let cwd = cwd.as_ref().map(|cwd| cwd.to_string_lossy());
        self.exclude.iter().any(|out| out.has_session(content.project.as_deref(), cwd.as_deref()))
    }

    /// Embeds session after session; how many are left over.
    fn embed(
        &mut self,
        due: &[(SessionId, Stamp)],
        progress: &dyn Fn(usize, usize),
    ) -> io::Result<usize> {
        let settings = &self.memory.settings().embeddings;
        let until = Instant::now() + Duration::from_secs(settings.sweep_seconds);
        let mut too_old = false;
        for (at, (id, stamp)) in due.iter().enumerate() {
            let left = due.len() - at;
            if self.report.unavailable.is_some() || Instant::now() >= until {
                return Ok(left);
            }
            progress(at, due.len());
            // Those that follow are older still.
            too_old |= self.writer.chunks() >= settings.most_chunks && self.is_oldest(id);
            if too_old {
                self.writer.put(&id.to_string(), *stamp, &[]);
                continue;
            }
            if let Err(Stop(reason)) = self.embed_session(id, *stamp) {
                self.report.unavailable = Some(reason);
                return Ok(left);
            }
            self.keep_to_limit(settings.most_chunks);
            if self.unsaved.chunks >= SAVED_TOGETHER {
                self.save()?;
            }
        }
        Ok(0)
    }

    /// Embeds what is new of a session; what it said before keeps its vectors.
    fn embed_session(&mut self, id: &SessionId, stamp: Stamp) -> Result<(), Stop> {
        let session = id.to_string();
        let chunks = match self.is_left_out(id) {
            true => Vec::new(),
            false => index::chunks_of(self.memory.store(), id),
        };
        let hashes: Vec<u64> = chunks.iter().map(|chunk| index::text_hash(chunk)).collect();
        let mut records = self.writer.records(&session).unwrap_or_default();
        let is_new = |at: &usize| !records.contains_key(&hashes[*at]);
        let new: Vec<usize> = (0..chunks.len()).filter(is_new).collect();
        for batch in new.chunks(BATCH) {
            let texts: Vec<String> = batch.iter().map(|at| chunks[*at].clone()).collect();
            let made = self.vectors(&texts)?;
            for (at, vector) in batch.iter().zip(made) {
                let record = vector.map(|vector| Record::of(hashes[*at], &vector));
                records.extend(record.map(|record| (hashes[*at], record)));
            }
        }
        let all: Vec<Record> =
            hashes.iter().filter_map(|hash| records.get(hash).cloned()).collect();
        self.report.sessions += usize::from(!new.is_empty());
        self.report.chunks += new.len();
        self.writer.put(&session, stamp, &all);
        Ok(())
    }

    /// The vectors of some texts; none for one that the server does not take.
    fn vectors(&mut self, texts: &[String]) -> Result<Vec<Option<Vec<f32>>>, Stop> {
        if self.tokens_left == 0 {
            // What is not on the books yet is not under the cap.
            self.book();
            self.tokens_left = self.embeddings.tokens_left().map_err(Stop)?;
        }
        match self.ask(texts) {
            Ok(embedded) => Ok(embedded.vectors.into_iter().map(Some).collect()),
            Err((FailureKind::Down | FailureKind::Hopeless, reason)) => Err(Stop(reason)),
            Err(_) => self.one_by_one(texts),
        }
    }

    /// The same where the server refused them together: one of them may be too long for it.
    fn one_by_one(&mut self, texts: &[String]) -> Result<Vec<Option<Vec<f32>>>, Stop> {
        let (mut made, mut refusal) = (Vec::new(), String::new());
        for text in texts {
            let short = text::cut(text, SHORTENED).to_string();
            let tried = self.ask(std::slice::from_ref(text)).or_else(|_| self.ask(&[short]));
            made.push(match tried {
                Ok(embedded) => embedded.vectors.into_iter().next(),
                Err((FailureKind::Down | FailureKind::Hopeless, reason)) => {
                    return Err(Stop(reason));
                }
                Err((_, reason)) => {
                    refusal = reason;
                    None
                }
            });
        }
        if made.iter().all(Option::is_none) { Err(Stop(refusal)) } else { Ok(made) }
    }

    fn ask(&mut self, texts: &[String]) -> Result<Embedded, (FailureKind, String)> {
        let began = Instant::now();
        let embedded = self.embeddings.embed(texts, Patience::Sweep);
        let embedded = embedded.map_err(|failure| (failure.kind, failure.reason))?;
        self.unsaved.chunks += texts.len();
        self.unsaved.tokens += embedded.tokens;
        self.unsaved.estimated |= embedded.estimated;
        self.unsaved.took += began.elapsed();
        self.tokens_left = self.tokens_left.saturating_sub(embedded.tokens);
        Ok(embedded)
    }

    /// The sessions that have vectors.
    fn embedded(&self) -> impl Iterator<Item = SessionId> {
        self.writer.known_with_vectors().filter_map(|name| name.parse().ok())
    }

    fn is_oldest(&self, id: &SessionId) -> bool {
        self.embedded().all(|other| other > *id)
    }

    /// Takes the vectors of the oldest sessions away while there are too many.
    fn keep_to_limit(&mut self, most: usize) {
        while self.writer.chunks() > most && self.embedded().count() > 1 {
            let Some(oldest) = self.embedded().min() else { return };
            self.writer.empty(&oldest.to_string());
        }
    }

    fn book(&mut self) {
        let Unsaved { chunks, tokens, estimated, took } = std::mem::take(&mut self.unsaved);
        if chunks > 0 {
            self.embeddings.book(tokens, estimated, took);
        }
    }

    /// Writes down what there is, and what it cost.
    fn save(&mut self) -> io::Result<()> {
        self.book();
        self.writer.commit()
    }
}
