//! Writing digests again: from the raw that a snapshot keeps, around a person's edits, with what a
//! model adds.
//!
//! A digest is a function of its session, so writing it again changes nothing unless the distiller,
//! the template or the summarizer is newer than what `made_by` says. A model's words cost something
//! and are never the same twice: where `made_by` names the model that would be asked, it is not
//! asked again.

use std::io;

use serde::Serialize;

use crate::adapters;
use crate::base::files;
use crate::base::setters::setters;
use crate::base::text;
use crate::capture::CaptureSettings;
use crate::capture::recorder::RenderError;
use crate::capture::{folder, raw};
use crate::distill::digest::{MADE_BY, upgraded_content};
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::day::DayLine;
use crate::model::digest::{Content, Digest, FOLDER, State, Worth};
use crate::model::ids::{EpisodeId, SessionId};
use crate::models::check::Episode;
use crate::models::digest as asking;
use crate::models::reply::RefusedLine;
use crate::models::{Alias, Answer, Models};
use crate::ops::consolidate;
use crate::ops::forget;
use crate::ops::waiting::DigestQueue;
use crate::settings::{self, FORMAT};
use crate::store::{Store, authored, digest, layout};

/// Which digests to write again, and how.
#[derive(Clone)]
pub struct DigestRequest<'a> {
    pub target: DigestTarget,
    /// Whether a model is asked also where it has answered already.
    pub again: bool,
    /// Whether nothing is written, and nobody asked.
    pub dry_run: bool,
    /// Is called for each session, with how many were looked at and how many there are.
    progress: &'a dyn Fn(usize, usize),
}

setters!(DigestRequest<'_> { target: DigestTarget, again: bool, dry_run: bool });

impl Default for DigestRequest<'_> {
    fn default() -> Self {
        DigestRequest {
            target: DigestTarget::default(),
            again: false,
            dry_run: false,
            progress: &|_, _| {},
        }
    }
}

impl<'a> DigestRequest<'a> {
    /// Sets what is called for each session.
    pub fn progress(self, progress: &'a dyn Fn(usize, usize)) -> Self {
        DigestRequest { progress, ..self }
    }
}

/// Which digests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DigestTarget {
    /// One: by its id, its path, the agent's own id, or its place among the last search's hits.
    One(String),
    /// Those that are not what this program and its model would write.
    #[default]
    Outdated,
    All,
}

/// What was done.
#[derive(Debug, Default, Serialize)]
pub struct DigestReport {
    /// The sessions whose digests were written, or in a dry run would be.
    pub written: Vec<SessionId>,
    pub unchanged: usize,
    /// Of those that were asked about, how many have a model's lines now.
    pub improved: usize,
    /// The sessions that wait for a model, which has not answered.
    pub waiting: usize,
    /// Why it has not.
    pub unavailable: Option<String>,
    /// The sessions that were left as they are, and why.
    pub left: Vec<LeftDigest>,
    /// What a model said and the session does not bear out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedOfSession>,
}

/// A line of a model's that did not get onto its page.
#[derive(Debug, Serialize)]
pub struct RefusedOfSession {
    pub session: SessionId,
    #[serde(flatten)]
    pub line: RefusedLine,
}

/// What came of asking a model after a sweep.
#[derive(Debug, Serialize)]
pub struct ModelReport {
    /// How many digests have its lines now.
    pub improved: usize,
    /// How many of its lines the sessions did not bear out.
    pub refused: usize,
    /// How many sessions still wait for it.
    pub waiting: usize,
    /// Why it has not answered, where it has not.
    pub unavailable: Option<String>,
}

/// A digest that was left as it is.
#[derive(Debug, Serialize)]
pub struct LeftDigest {
    pub session: SessionId,
    pub reason: String,
}

/// What became of one digest.
enum Rewrite {
    Written,
    Unchanged,
    Left(String),
}

/// What a model had to say to one digest.
enum ModelAnswer {
    /// Nobody was asked.
    Unasked,
    Written(asking::Written),
    Unavailable(String),
}

/// Why nothing can be done about a digest without raw.
const NO_RAW: &str = "its raw is not here, and nothing can be made again without it";
/// No page of a digest is longer than this, in tokens.
const LONGEST_PAGE: usize = 4_000;

impl Memory {
    /// Writes digests again.
    pub fn digest(&self, request: DigestRequest<'_>) -> Result<DigestReport> {
        let store = self.store();
        let ids = match &request.target {
            DigestTarget::One(name) => {
                vec![forget::named(store, name.split('#').next().unwrap_or(name))?]
            }
            DigestTarget::Outdated | DigestTarget::All => {
                let mut ids = store.session_ids().context(|| "cannot list the sessions".into())?;
                ids.retain(|id| {
                    id.device == *self.device() && files::is_file(store.layout().digest(id))
                });
                // The newest first: a model's cap may not reach for all of them.
                ids.reverse();
                ids
            }
        };
        let writer = Writer::new(self, request.again, request.dry_run)?;
        let mut report = DigestReport::default();
        for (at, id) in ids.iter().enumerate() {
            (request.progress)(at, ids.len());
            if request.target == DigestTarget::Outdated && writer.is_current(id) {
                report.unchanged += 1;
                continue;
            }
            writer.write(id, &mut report)?;
        }
        if !report.written.is_empty() && !request.dry_run {
            made_from_digests(self)?;
        }
        Ok(report)
    }

    /// Asks a model about the sessions that wait for it, newest first, until there are none or it
    /// gives no more answers.
    ///
    /// It is done after a sweep has put everything in its place, and without its lock: a slow model
    /// keeps nobody from capturing.
    pub(crate) fn improve_digests(
        &self,
        progress: &dyn Fn(usize, usize),
    ) -> Result<Option<ModelReport>> {
        let layout = self.layout();
        if !self.models()?.is_enabled() {
            return Ok(None);
        }
        let cannot = || format!("cannot write to `{}`", layout.local().display());
        let mut report = DigestReport::default();
        if let Some(_lock) = files::try_lock_exclusive(&layout.digests_lock()).context(cannot)? {
            self.ask_about_waiting(progress, &mut report)?;
        }
        let DigestReport { improved, waiting, unavailable, refused, .. } = report;
        Ok(Some(ModelReport { improved, refused: refused.len(), waiting, unavailable }))
    }

    fn ask_about_waiting(
        &self,
        progress: &dyn Fn(usize, usize),
        report: &mut DigestReport,
    ) -> Result<()> {
        let writer = Writer::new(self, false, false)?;
        let queue = DigestQueue::file(self.layout());
        let asked: Vec<SessionId> = queue.load().sessions().cloned().collect();
        for (at, id) in asked.iter().rev().enumerate() {
            if let Some(reason) = writer.models.given_up() {
                report.unavailable = Some(reason);
                break;
            }
            progress(at, asked.len());
            let digest = self.store().digest(id).ok().flatten();
            let open = digest.is_some_and(|digest| digest.state == State::Open);
            if !open && !writer.write(id, report)? {
                writer.wait(|waiting| waiting.done(id))?;
            }
        }
        report.waiting = queue.load().len();
        if !report.written.is_empty() {
            made_from_digests(self)?;
        }
        Ok(())
    }
}

/// Makes again what is made from digests.
pub(super) fn made_from_digests(memory: &Memory) -> Result<()> {
    consolidate::consolidate(memory.store(), memory.device(), false)?;
    crate::index::refresh(memory.store())?;
    Ok(())
}

/// Whether a digest waits for a model: one is configured, and it has not been asked about this
/// session.
pub fn awaits_model(digest: &Digest, models: &Models) -> bool {
    models.is_enabled()
        && digest.content.worth == Worth::Full
        && (adapters::named(&digest.content.flavor).is_some() || has_conversations(&digest.content))
        && digest.content.made_by != made_by(models)
        && digest.content.made_by != made_with_agent()
}

/// Whether it is a folder in whose episodes somebody speaks.
fn has_conversations(content: &Content) -> bool {
    content.flavor == FOLDER && content.turns > 0
}

/// What `made_by` says once a model was asked.
fn made_by(models: &Models) -> String {
    format!("{MADE_BY} + {}", models.made_by(Alias::Low))
}

/// What `made_by` says once an agent improved a page: a model is not asked to do it over again.
fn made_with_agent() -> String {
    format!("{MADE_BY} + agent")
}

/// Writes digests again.
pub(super) struct Writer<'a> {
    store: &'a Store,
    settings: CaptureSettings<'a>,
    models: &'a Models,
    /// Whether a model is asked also where it has answered already.
    again: bool,
    /// Whether nothing is written, and nobody asked.
    dry_run: bool,
}

impl<'a> Writer<'a> {
    pub fn new(memory: &'a Memory, again: bool, dry_run: bool) -> Result<Writer<'a>> {
        let (store, settings) = (memory.store(), memory.capture_settings()?);
        Ok(Writer { store, settings, models: memory.models()?, again, dry_run })
    }

    /// Whether a digest is what would be written now.
    fn is_current(&self, id: &SessionId) -> bool {
        let Ok(Some(digest)) = self.store.digest(id) else { return false };
        let distilled = digest.content.made_by.split(" + ").next() == Some(MADE_BY);
        distilled && (digest.state == State::Open || !awaits_model(&digest, self.models))
    }

    /// Writes one digest again; returns whether a model was asked.
    fn write(&self, id: &SessionId, report: &mut DigestReport) -> Result<bool> {
        let (fate, added) = self.rewrite(id)?;
        match fate {
            Rewrite::Written => report.written.push(id.clone()),
            Rewrite::Unchanged => report.unchanged += 1,
            Rewrite::Left(reason) => report.left.push(LeftDigest { session: id.clone(), reason }),
        }
        match added {
            ModelAnswer::Unasked => return Ok(false),
            ModelAnswer::Written(asking::Written { lines, refused }) => {
                report.improved += usize::from(lines > 0);
                let refused = refused.into_iter();
                report
                    .refused
                    .extend(refused.map(|line| RefusedOfSession { session: id.clone(), line }));
                self.wait(|waiting| waiting.done(id))?;
            }
            ModelAnswer::Unavailable(reason) => {
                report.waiting += 1;
                report.unavailable.get_or_insert(reason);
                // A model that answers nobody is not this session's fault.
                let at_fault = self.models.given_up().is_none();
                self.wait(|waiting| waiting.unanswered(id, at_fault))?;
            }
        }
        Ok(true)
    }

    /// Changes who waits for a model.
    fn wait(&self, change: impl FnOnce(&mut DigestQueue)) -> Result<()> {
        let layout = self.store.layout();
        let cannot = || format!("cannot write to `{}`", layout.local().display());
        let _lock = files::lock_exclusive(&layout.sweep_lock()).context(cannot)?;
        DigestQueue::change(layout, change).context(cannot)
    }

    fn rewrite(&self, id: &SessionId) -> Result<(Rewrite, ModelAnswer)> {
        let left = |reason: String| Ok((Rewrite::Left(reason), ModelAnswer::Unasked));
        let (existing, before) = match self.existing(id) {
            Ok(read) => read,
            Err(reason) => return left(reason),
        };
        let is_models =
            before.content.made_by.strip_prefix(MADE_BY).is_some_and(|rest| !rest.is_empty());
        let asks = before.state == State::Closed && awaits_model(&before, self.models);
        let asks =
            asks || (self.again && self.models.is_enabled() && before.content.worth == Worth::Full);
        if is_models && !asks {
            // What a model said is paid for, and kept as long as what it was said about is the
            // same.
            return Ok((Rewrite::Unchanged, ModelAnswer::Unasked));
        }
        let content = match self.content_of_raw(&before)? {
            Ok(content) => content,
            Err(reason) => return left(reason),
        };
        let mut digest = Digest { content, ..before };
        let added = match asks && digest.content.worth == Worth::Full && !self.dry_run {
            true => self.ask(&mut digest),
            false => ModelAnswer::Unasked,
        };
        if let (ModelAnswer::Unavailable(_), true) = (&added, is_models) {
            // Asked again in vain: the earlier words are better than none.
            return Ok((Rewrite::Unchanged, added));
        }
        self.replace(&existing, &digest, added)
    }

    /// Writes into one digest the lines that an agent proposes, as JSON, and the session bears out.
    pub fn annotate(&self, id: &SessionId, proposed: &str) -> Result<asking::Written> {
        let refused = |reason: String| {
            Err(Error::new(format!("the page of {id} stays as it is")).because(reason))
        };
        let (existing, before) = match self.existing(id) {
            Ok(read) => read,
            Err(reason) => return refused(reason),
        };
        let mut content = before.content.clone();
        let written = asking::write(&mut content, proposed, &self.episodes(id));
        if written.lines == 0 {
            return Ok(written);
        }
        content.made_by = made_with_agent();
        let mut digest = before;
        if !self.fits(&mut digest, content) {
            return refused(format!("it would have more than {LONGEST_PAGE} tokens"));
        }
        match self.replace(&existing, &digest, ModelAnswer::Unasked)? {
            (Rewrite::Left(reason), _) => refused(reason),
            _ => Ok(written),
        }
    }

    /// A digest that may be written again, as text and as data; or why it may not.
    fn existing(&self, id: &SessionId) -> Result<(String, Digest), String> {
        let layout = self.store.layout();
        let existing =
            files::read_to_string(layout.digest(id)).map_err(|err| match err.kind() {
                io::ErrorKind::NotFound => "it has no digest; a sweep writes it".to_string(),
                _ => format!("its digest cannot be read: {err}"),
            })?;
        let before = digest::parse(&existing)
            .map_err(|reason| format!("its digest is damaged: {reason}"))?;
        if id.device != *self.settings.device {
            return Err(format!("it belongs to the device `{}`", id.device));
        }
        let flavor = &before.content.flavor;
        // Only a model has something to add to a folder, which does not change.
        let is_folder = self.models.is_enabled() && has_conversations(&before.content);
        if adapters::named(flavor).is_none() && !is_folder {
            return Err(format!(
                "a session of `{flavor}` is digested when it is kept, and only then"
            ));
        }
        let snapshot = layout.snapshot(id);
        let raw = if is_folder { snapshot } else { snapshot.join(layout::RAW) };
        if !files::is_dir(raw) {
            return Err(NO_RAW.into());
        }
        Ok((existing, before))
    }

    /// What the raw of a session says now; or why it is not to be used.
    fn content_of_raw(&self, before: &Digest) -> Result<Result<Content, String>> {
        if before.content.flavor == FOLDER {
            return Ok(Ok(before.content.clone()));
        }
        let layout = self.store.layout();
        let snapshot = layout.snapshot(&before.session);
        let adapter = adapters::named(&before.content.flavor);
        let native_id = before.source_id.split_once(':').map_or("", |(_, native_id)| native_id);
        let mut none = |_: &DayLine| Ok(());
        let pages = &self.settings.pages;
        let Some(adapter) = adapter else { return Ok(Err(NO_RAW.into())) };
        let content = match raw::read_again(adapter, &snapshot, native_id, pages, &mut none) {
            Ok(Some(read)) => as_part(before, read.session.content),
            Ok(None) => return Ok(Err(NO_RAW.into())),
            Err(RenderError::Log(reason)) => {
                return Ok(Err(format!("its raw cannot be read: {reason}")));
            }
            Err(RenderError::Page(err)) => {
                return Err(err).context(|| format!("cannot read `{}`", layout.shown(&snapshot)));
            }
        };
        let last = |content: &Content| content.episodes.map(|(_, last)| last);
        Ok(match last(&content) < last(&before.content) {
            true => Err("its raw tells less than its digest does".into()),
            false => Ok(content),
        })
    }

    /// Writes a digest in the place of the one that is there, where it says anything else.
    fn replace(
        &self,
        existing: &str,
        digest: &Digest,
        added: ModelAnswer,
    ) -> Result<(Rewrite, ModelAnswer)> {
        let text = digest::text_over(existing, digest);
        if text == existing {
            return Ok((Rewrite::Unchanged, added));
        }
        if self.dry_run {
            return Ok((Rewrite::Written, added));
        }
        let path = self.store.layout().digest(&digest.session);
        let _lock = self.store.lock()?;
        self.store.refuse_links(Some(&digest.session))?;
        // A model takes its time: whatever was written meanwhile is newer.
        if files::read_to_string(&path).is_ok_and(|now| now != existing) {
            return Ok((
                Rewrite::Left("it was changed meanwhile".into()),
                ModelAnswer::Unavailable("changed meanwhile".into()),
            ));
        }
        let shown = self.store.layout().shown(&path);
        authored::replace(self.store.layout(), &path, |now| Some(digest::text_now(now, digest)))
            .context(|| format!("cannot write `{shown}`"))?;
        Ok((Rewrite::Written, added))
    }

    /// Asks a model about a session, and adds what it says.
    fn ask(&self, digest: &mut Digest) -> ModelAnswer {
        let episodes = match digest.content.flavor == FOLDER {
            true => self.conversations(&digest.session),
            false => self.episodes(&digest.session),
        };
        let answer = self.models.ask(Alias::Low, &asking::PROMPT, &asking::parts(&episodes));
        let written = match answer {
            Answer::Unavailable(reason) => return ModelAnswer::Unavailable(reason),
            Answer::Nothing => asking::Written::default(),
            Answer::Text(reply) => {
                let mut content = digest.content.clone();
                let written = asking::write(&mut content, &reply, &episodes);
                let fits = self.fits(digest, content);
                asking::Written { lines: if fits { written.lines } else { 0 }, ..written }
            }
        };
        digest.content.made_by = made_by(self.models);
        ModelAnswer::Written(written)
    }

    /// Takes over a content, unless the page would get too long by it.
    fn fits(&self, digest: &mut Digest, content: Content) -> bool {
        let ours = std::mem::replace(&mut digest.content, content);
        let fits = text::tokens(&digest::text(digest)) <= LONGEST_PAGE;
        if !fits {
            digest.content = ours;
        }
        fits
    }

    /// What was said in the episodes of a folder, in order.
    fn conversations(&self, id: &SessionId) -> Vec<Episode> {
        let snapshot = self.store.layout().snapshot(id);
        let said = folder::conversations(&snapshot, &self.settings.pages);
        said.into_iter().map(|(id, text)| Episode { id, text }).collect()
    }

    /// The readable episodes of a session, in order.
    fn episodes(&self, id: &SessionId) -> Vec<Episode> {
        let folder = self.store.layout().snapshot(id).join(layout::EPISODIC);
        let mut episodes = Vec::new();
        for entry in files::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let id = path.file_stem().and_then(|stem| stem.to_str()?.parse::<EpisodeId>().ok());
            // Nothing is followed out of the session.
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if let (Some(id), true, Ok(text)) = (id, is_file, files::read_to_string(&path)) {
                episodes.push(Episode { id, text });
            }
        }
        episodes.sort_by_key(|episode| episode.id);
        episodes
    }
}

/// A session that its parent tells of stays unremembered for itself, whatever its own raw says.
fn as_part(before: &Digest, content: Content) -> Content {
    let is_part = before.content.worth == Worth::None && before.content.part_of.is_some();
    let (worth, part_of) = match is_part {
        true => (Worth::None, before.content.part_of.clone()),
        false => (content.worth, content.part_of),
    };
    Content { worth, part_of, ..content }
}

/// Writes this device's digests of an earlier format in today's, once; returns how many. Only who
/// holds the sweep's lock does it. One that was killed goes on with those that are left.
pub fn upgrade(memory: &Memory, progress: &dyn Fn(usize, usize)) -> Result<usize> {
    let (store, layout) = (memory.store(), memory.layout());
    let mark = FORMAT.to_string();
    if files::read_to_string(layout.digest_format()).is_ok_and(|format| format == mark) {
        return Ok(0);
    }
    let ids = store.session_ids().context(|| "cannot list the sessions".into())?;
    let is_old = |id: &SessionId| {
        let page = files::read_at_most(layout.digest(id), 256).unwrap_or_default();
        id.device == *memory.device() && digest::is_of_format_1(&String::from_utf8_lossy(&page))
    };
    let old: Vec<SessionId> = ids.into_iter().filter(is_old).collect();
    let writer = Writer::new(memory, false, false)?;
    let cannot = || store.cannot_write();
    if !old.is_empty() {
        // It shows the next sweep a kill.
        files::create_private_dir(&layout.staging()).context(cannot)?;
    }
    for (at, id) in old.iter().enumerate() {
        progress(at, old.len());
        writer.upgrade(id)?;
    }
    // Last, so that a program that knows only the earlier format refuses what is whole.
    let settings = files::read_to_string(layout.settings()).context(cannot)?;
    let settings = settings::with_format(&settings);
    files::write_if_changed(&layout.settings(), settings.as_bytes()).context(cannot)?;
    files::write_atomic(&layout.digest_format(), mark.as_bytes()).context(cannot)?;
    Ok(old.len())
}

impl Writer<'_> {
    /// Writes a digest of an earlier format in today's: from raw, or where that is evicted, from
    /// what the page says.
    fn upgrade(&self, id: &SessionId) -> Result<()> {
        // One that is damaged stays as it is, and `verify` says so.
        let Ok(Some(before)) = self.store.digest(id) else { return Ok(()) };
        let raw = self.store.layout().snapshot(id).join(layout::RAW).is_dir();
        let read = if raw { self.content_of_raw(&before)?.ok() } else { None };
        let model = before.content.made_by.split_once(" + ").map(|(_, model)| model.to_string());
        let content = match (read, model) {
            (Some(read), None) => read,
            // What a model wrote is paid for.
            (Some(read), Some(model)) => Content {
                index: read.index,
                errors: read.errors,
                signals: read.signals,
                tags: read.tags,
                made_by: format!("{MADE_BY} + {model}"),
                ..upgraded_content(before.content.clone())
            },
            (None, _) => upgraded_content(before.content.clone()),
        };
        let digest = Digest { content: self.settings.pages.settled(content), ..before };
        let shown = self.store.layout().shown(&self.store.layout().digest(id));
        self.store.write_digest(&digest).context(|| format!("cannot write `{shown}`"))?;
        Ok(())
    }
}

/// Notes that sessions wait for a model, or, where there is no model, that nobody waits. Only who
/// holds the sweep's lock does it.
pub fn note_waiting<'s>(
    memory: &Memory,
    captured: impl Iterator<Item = &'s SessionId>,
) -> Result<()> {
    let (store, models) = (memory.store(), memory.models()?);
    let layout = store.layout();
    let cannot = || format!("cannot write to `{}`", layout.local().display());
    if !models.is_enabled() {
        return DigestQueue::forget(layout).context(cannot);
    }
    let waits = |id: &SessionId| {
        store.digest(id).ok().flatten().is_some_and(|digest| awaits_model(&digest, models))
    };
    if DigestQueue::file(layout).is_saved() {
        let new: Vec<&SessionId> = captured.filter(|id| waits(id)).collect();
        return if new.is_empty() {
            Ok(())
        } else {
            DigestQueue::change(layout, |all| all.add(new.iter().copied())).context(cannot)
        };
    }
    // A model was configured just now, or what concerns this device alone was lost: the tree shows.
    let ids =
        store.session_ids().map_err(|err| Error::new("cannot list the sessions").because(err))?;
    let own: Vec<&SessionId> =
        ids.iter().filter(|id| id.device == *memory.device() && waits(id)).collect();
    DigestQueue::change(layout, |all| all.add(own.iter().copied())).context(cannot)
}
