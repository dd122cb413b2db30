//! Staging: a session's files are copied and hashed, then read from our own copy, and its pages are
//! written beside them. All of it happens under a temporary name; [`commit`](super::commit) puts
//! it in place.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::found::Around;
use super::known::{Known, KnownSession};
use super::recorder::{self, RenderError, RenderedSession};
use super::sources::{Sources, unreadable};
use super::{CaptureSettings, PageSettings, held};
use crate::adapters::shared::SharedFiles;
use crate::adapters::{self, Adapter, children, rows};
use crate::base::clock::Timestamp;
use crate::base::files;
use crate::distill::digest::project_name;
use crate::error::{Context, Error, Result};
use crate::model::day::DayLine;
use crate::model::digest::{Content, Snapshot, SnapshotShape};
use crate::model::ids::EpisodeId;
use crate::model::session::{Event, EventSink, Log, LogFile, Role, Skipped, Source};
use crate::store::snapshots::{self, SnapshotFile, SnapshotWriter, parse_manifest_line};
use crate::store::{Store, layout};

/// A session that was captured under a temporary name.
pub struct StagedSession {
    pub source: Source,
    /// The folder with the snapshot, the draft and the day's lines.
    pub folder: PathBuf,
    /// When the session ended: its place in the order.
    pub ended: Option<Timestamp>,
    /// The records that could not be read: the first of each file, and how many there are.
    pub skipped: Vec<Skipped>,
    pub skipped_total: u64,
    /// How many secrets were redacted.
    pub redactions: u64,
    /// Whether it gets an id of its own, although a session of another device claims its source.
    pub as_new: bool,
}

/// What the digest of a staged session will say; kept on disk until its turn comes, so that
/// memory does not grow with the number of sessions.
#[derive(Debug, Serialize, Deserialize)]
pub struct Draft {
    pub content: Content,
    pub snapshot: Snapshot,
    /// Whether the log says that the session was ended.
    pub ended: bool,
}

/// Why a session could not be captured.
pub enum CaptureError {
    /// Its log could not be read; the others can.
    Source(Skipped),
    /// The person wants it left out.
    Excluded,
    /// Nobody decided yet whether it is to be left out: its project, and where it worked.
    Held(Option<String>, Option<String>),
    /// The memory could not be written; nothing else will be either.
    Store(Error),
}

impl Draft {
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        files::write_plain(&folder.join(DRAFT), &serde_json::to_vec(self)?)
    }
}

impl StagedSession {
    /// Where the snapshot waits.
    pub fn snapshot(&self) -> PathBuf {
        self.folder.join(SNAPSHOT)
    }

    /// Reads what the digest will say.
    pub fn draft(&self) -> Result<Draft> {
        let path = self.folder.join(DRAFT);
        let cannot = || format!("cannot read back `{}`", path.display());
        serde_json::from_slice(&files::read(&path).context(cannot)?).context(cannot)
    }
}

/// Reads a staged session's lines for the days, one by one.
pub fn day_lines(staged: &Path) -> Result<impl Iterator<Item = DayLine> + use<>> {
    let path = staged.join(DAY_LINES);
    let file = files::open(&path).context(|| format!("cannot read back `{}`", path.display()))?;
    let lines = io::BufRead::lines(io::BufReader::new(file)).map_while(|line| line.ok());
    Ok(lines.filter_map(|line| serde_json::from_str(&line).ok()))
}

/// Where a staged session has its snapshot.
pub const SNAPSHOT: &str = "snapshot";
/// How the folder within raw begins that keeps an earlier version of a file.
pub(super) const EARLIER: &str = "earlier-";
const DRAFT: &str = "draft.json";
const DAY_LINES: &str = "day.jsonl";

/// What came of reading the sources that changed.
pub struct Staging<T> {
    /// Those that can be committed.
    pub sessions: Vec<T>,
    /// Those that the settings leave out.
    pub excluded: Vec<Source>,
    /// Those that are held back, with their project and where they worked.
    pub held: Vec<(Source, Option<String>, Option<String>)>,
    /// What could not be read: the first of each file, and how many there are.
    pub skipped: Vec<Skipped>,
    pub skipped_total: u64,
    /// How many are another device's to capture.
    pub elsewhere: usize,
    /// When the first of these may be captured here.
    pub elsewhere_until: Option<Timestamp>,
    /// How many there are of each agent, but for those left out.
    pub by_flavor: BTreeMap<&'static str, usize>,
}

/// Captures sessions in parallel, each under a temporary name.
pub fn stage_all(
    settings: &CaptureSettings<'_>,
    known: &Known,
    found: &Sources,
    changed: &[Source],
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Staging<StagedSession>> {
    let done = AtomicUsize::new(0);
    read_all(settings, known, changed, |number, source, session| {
        let folder = settings.store.layout().staging().join(number.to_string());
        let staged = stage_one(settings, session, found, source, &folder);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, changed.len());
        let mut staged = staged?;
        let skipped = (std::mem::take(&mut staged.skipped), staged.skipped_total);
        Ok((staged, skipped))
    })
}

/// Reads sessions as [`stage_all`] would, and writes nothing.
pub fn preview_all(
    settings: &CaptureSettings<'_>,
    known: &Known,
    found: &Sources,
    changed: &[Source],
) -> Result<Staging<()>> {
    read_all(settings, known, changed, |_, source, _| {
        let is_known = known.session(&source.source_id()).is_some();
        Ok(((), preview(source, &found.shared, &settings.pages, is_known)?))
    })
}

/// The first records of each file that could not be read, and how many there are.
type SkippedOf = (Vec<Skipped>, u64);

/// Reads sessions in parallel and sorts what came of it.
fn read_all<T: Send>(
    settings: &CaptureSettings<'_>,
    known: &Known,
    changed: &[Source],
    read: impl Fn(usize, &Source, Option<&KnownSession>) -> Result<(T, SkippedOf), CaptureError> + Sync,
) -> Result<Staging<T>> {
    let read = |(number, source): (usize, &Source)| {
        let session = known.session(&source.source_id());
        match session.and_then(|session| left_until(settings, session)) {
            Some(until) => Err(until),
            None => Ok(read(number, source, session)),
        }
    };
    let results: Vec<_> = changed.par_iter().enumerate().map(read).collect();
    let mut staging = Staging {
        sessions: Vec::new(),
        excluded: Vec::new(),
        held: Vec::new(),
        skipped: Vec::new(),
        skipped_total: 0,
        elsewhere: 0,
        elsewhere_until: None,
        by_flavor: BTreeMap::new(),
    };
    for (result, source) in results.into_iter().zip(changed) {
        match result {
            Ok(Ok((session, (skipped, total)))) => {
                staging.skipped.extend(skipped);
                staging.skipped_total += total;
                staging.sessions.push(session);
            }
            Ok(Err(CaptureError::Source(skipped))) => {
                staging.skipped.push(skipped);
                staging.skipped_total += 1;
            }
            Ok(Err(CaptureError::Excluded)) => {
                staging.excluded.push(source.clone());
                continue;
            }
            Ok(Err(CaptureError::Held(project, cwd))) => {
                staging.held.push((source.clone(), project, cwd));
                continue;
            }
            Ok(Err(CaptureError::Store(error))) => return Err(error),
            Err(until) => {
                staging.elsewhere += 1;
                let first = staging.elsewhere_until.unwrap_or(until).min(until);
                staging.elsewhere_until = Some(first);
            }
        }
        *staging.by_flavor.entry(source.flavor).or_default() += 1;
    }
    Ok(staging)
}

/// How long a session is left to the device that last went on with it.
const LEFT_HOURS: i64 = 24;

/// Until when a log that holds more than its session's manifest is left to another device: a day
/// from the last capture by a trusted device that adopted it. A session that nobody adopted is not
/// left to anybody, nor one that only an unknown device says it adopted, or whoever may push could
/// keep it from being captured.
fn left_until(settings: &CaptureSettings<'_>, session: &KnownSession) -> Option<Timestamp> {
    let digest = settings.store.digest(&session.id).ok().flatten()?;
    let adopter = digest.adopted_by.as_ref()?;
    if adopter == settings.device || !settings.trust.of(adopter).speaks_for_person() {
        return None;
    }
    let until = digest.captured + chrono::Duration::hours(LEFT_HOURS);
    (digest.captured <= settings.now && settings.now < until).then_some(until)
}

/// Captures one session; one that is known must lose nothing by it.
fn stage_one(
    settings: &CaptureSettings<'_>,
    known: Option<&KnownSession>,
    found: &Sources,
    source: &Source,
    folder: &Path,
) -> Result<StagedSession, CaptureError> {
    let adapter = adapters::named(source.flavor).expect("sources come from adapters");
    if let Some(known) = known {
        check_digest(settings.store, known)?;
    }
    let previous = known.map(|known| settings.store.layout().snapshot(&known.id));
    let (shared, pages) = (&found.shared, &settings.pages);
    let around = Around::of(previous.as_deref(), source);
    let staged = stage(adapter, source, shared, previous.as_deref(), folder, pages, around);
    if let Err(CaptureError::Held(..)) = &staged {
        let held = held::hold(settings.store.layout(), source, folder);
        held.map_err(|err| CaptureError::Store(cannot_write_to(folder, err)))?;
    }
    let mut staged = staged?;
    if let Some(known) = known {
        match check_episodes(settings.store, known, &staged) {
            // What another device says that it has is no reason to have nothing.
            Err(CaptureError::Source(_)) if !known.own => staged.as_new = true,
            checked => checked?,
        }
    }
    Ok(staged)
}

/// Refuses a session whose digest cannot be written again without losing what a person wrote in
/// it.
fn check_digest(store: &Store, known: &KnownSession) -> Result<(), CaptureError> {
    let path = store.layout().digest(&known.id);
    match files::read_to_string(&path) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => {
            let reason = format!(
                "the digest cannot be read ({err}), so it is left alone and its session is not \
                 updated"
            );
            Err(CaptureError::Source(unreadable(path, reason)))
        }
        _ => Ok(()),
    }
}

/// Refuses a new capture that has less than the digest, where the raw behind it is not here
/// to be kept.
fn check_episodes(
    store: &Store,
    known: &KnownSession,
    staged: &StagedSession,
) -> Result<(), CaptureError> {
    let layout = store.layout();
    if files::exists(layout.snapshot(&known.id).join(layout::RAW)) {
        return Ok(());
    }
    let last = |episodes: Option<(_, EpisodeId)>| episodes.map(|(_, last)| last);
    let before = store.digest(&known.id).ok().flatten();
    let before = before.and_then(|digest| last(digest.content.episodes));
    if last(staged.draft().map_err(CaptureError::Store)?.content.episodes) >= before {
        return Ok(());
    }
    let reason = "the log has less than its digest tells, and the raw behind the digest is not \
                  here; left as it is";
    Err(CaptureError::Source(unreadable(layout.digest(&known.id), reason)))
}

/// Captures a session into `folder`, which does not exist yet. `previous` is the snapshot that is
/// there already, where the session has grown.
pub fn stage(
    adapter: &dyn Adapter,
    source: &Source,
    shared: &SharedFiles,
    previous: Option<&Path>,
    folder: &Path,
    pages: &PageSettings<'_>,
    around: Around<'_>,
) -> Result<StagedSession, CaptureError> {
    let cannot_write = |err: io::Error| CaptureError::Store(cannot_write_to(folder, err));
    let mut writer = SnapshotWriter::create(&folder.join(SNAPSHOT)).map_err(cannot_write)?;
    let mut copies = Vec::new();
    for file in &source.files {
        let file = LogFile { name: Source::shown_name(&file.name), ..file.clone() };
        let path = copy(&file, shared, folder, &mut writer)?;
        copies.push(LogFile { path, within: None, ..file });
    }
    if let Some(previous) = previous {
        carry_over(adapter, previous, &mut writer, &mut copies).map_err(cannot_write)?;
    }
    let log = Log { native_id: source.native_id.clone(), files: copies };
    let mut day_lines = create_day_lines(folder).map_err(cannot_write)?;
    let mut write_line = |line: &DayLine| {
        serde_json::to_writer(&mut day_lines, line)?;
        day_lines.write_all(b"\n")
    };
    let rendered = recorder::render(adapter, &log, writer, pages, around, &mut write_line);
    let (writer, mut rendered) = rendered.map_err(|error| match error {
        RenderError::Log(reason) => CaptureError::Source(unreadable(&source.files[0].path, reason)),
        RenderError::Page(err) => cannot_write(err),
    })?;
    let project = rendered.content.project.as_deref();
    if pages.exclude.has_session(project, rendered.cwd.as_deref()) {
        // Only a whole log says where its session worked. What was copied to read it goes at once.
        files::remove_folder(folder).map_err(cannot_write)?;
        return Err(CaptureError::Excluded);
    }
    // One that has a page keeps it.
    if previous.is_none() && pages.held_back.has_session(project, rendered.cwd.as_deref()) {
        return Err(CaptureError::Held(rendered.content.project.clone(), rendered.cwd));
    }
    day_lines.flush().map_err(cannot_write)?;
    let snapshot = finish_snapshot(writer, SnapshotShape::Log, pages).map_err(cannot_write)?;
    let draft =
        Draft { content: std::mem::take(&mut rendered.content), snapshot, ended: rendered.ended };
    draft.write(folder).map_err(cannot_write)?;
    // The copies' names mean nothing to the person: name the agent's own files.
    for skipped in &mut rendered.skipped {
        let copy = log.files.iter().find(|file| file.path == skipped.path);
        let is_of = |one: &LogFile, copy: &LogFile| Source::shown_name(&one.name) == copy.name;
        let original = copy.and_then(|copy| source.files.iter().find(|one| is_of(one, copy)));
        if let Some(original) = original {
            skipped.path = original.path.clone();
        }
    }
    let (source, folder) = (source.clone(), folder.to_path_buf());
    let RenderedSession { skipped, skipped_total, redactions, .. } = rendered;
    let ended = draft.content.ended;
    Ok(StagedSession { source, folder, ended, skipped, skipped_total, redactions, as_new: false })
}

/// Copies a file of a session into its snapshot, or what the session has in it; returns where.
fn copy(
    file: &LogFile,
    shared: &SharedFiles,
    folder: &Path,
    writer: &mut SnapshotWriter,
) -> Result<PathBuf, CaptureError> {
    let name = format!("{}/{}", layout::RAW, layout::shown_relative(&file.name));
    let cannot_write = |err: io::Error| CaptureError::Store(cannot_write_to(folder, err));
    let cannot_read =
        |err: io::Error| CaptureError::Source(unreadable(&file.path, err.to_string()));
    let Some(id) = &file.within else {
        return writer.copy(&file.path, &name).map_err(|err| match files::open(&file.path) {
            Err(err) => cannot_read(err),
            Ok(_) => cannot_write(err),
        });
    };
    let mut out = CheckedFile { file: writer.file(&name).map_err(cannot_write)?, failed: false };
    shared.extract(&file.path, id, &mut out).map_err(|err| match out.failed {
        true => cannot_write(err),
        false => cannot_read(err),
    })?;
    writer.close(out.file).map_err(cannot_write)?;
    Ok(folder.join(SNAPSHOT).join(&name))
}

/// Begins the lines that a staged session has for the days.
pub(super) fn create_day_lines(folder: &Path) -> io::Result<BufWriter<files::NewFile>> {
    Ok(BufWriter::new(files::create_new(&folder.join(DAY_LINES))?))
}

/// Ends a snapshot; says what the digest has to say of it.
pub(super) fn finish_snapshot(
    writer: SnapshotWriter,
    shape: SnapshotShape,
    pages: &PageSettings<'_>,
) -> io::Result<Snapshot> {
    if shape == SnapshotShape::Log {
        writer.write_guards()?;
    }
    let has_secret = writer.hashes().keys().any(|name| pages.is_secret(name));
    let snapshot = writer.finish_listing(|name| layout::is_raw_file(name, shape))?;
    Ok(if has_secret { snapshots::without_names(snapshot) } else { snapshot })
}

/// Reads one session, and says which lines could not be read.
fn preview(
    source: &Source,
    shared: &SharedFiles,
    pages: &PageSettings<'_>,
    is_known: bool,
) -> Result<SkippedOf, CaptureError> {
    let cannot_read = |path: &Path, reason: String| CaptureError::Source(unreadable(path, reason));
    let adapter = adapters::named(source.flavor).expect("sources come from adapters");
    let mut log = Log { native_id: source.native_id.clone(), files: source.files.clone() };
    // They go away with the function.
    let mut extracts = Vec::new();
    for file in &mut log.files {
        let Some(id) = file.within.take() else { continue };
        let extracted = tempfile::NamedTempFile::new().and_then(|mut extract| {
            shared.extract(&file.path, &id, &mut extract)?;
            Ok(extract)
        });
        let extract = extracted.map_err(|err| cannot_read(&file.path, err.to_string()))?;
        file.path = extract.path().to_path_buf();
        extracts.push(extract);
    }
    let head = children::read(adapter, &log, &mut NullSink)
        .map_err(|err| cannot_read(&source.files[0].path, err.to_string()))?;
    let project = project_name(head.remote.as_deref(), head.cwd.as_deref());
    if pages.exclude.has_session(project.as_deref(), head.cwd.as_deref()) {
        return Err(CaptureError::Excluded);
    }
    if !is_known && pages.held_back.has_session(project.as_deref(), head.cwd.as_deref()) {
        return Err(CaptureError::Held(project, head.cwd));
    }
    let (mut skipped, total) = (head.skipped, head.skipped_total);
    for one in &mut skipped {
        if let Some(at) = log.files.iter().position(|file| file.path == one.path) {
            one.path = source.files[at].path.clone();
        }
    }
    Ok((skipped, total))
}

/// Takes events and forgets them.
struct NullSink;

impl EventSink for NullSink {
    fn event(&mut self, _: Event<'_>) -> Result<()> {
        Ok(())
    }
}

/// A file that remembers whether writing to it failed: the other failures are those of the source.
struct CheckedFile {
    file: SnapshotFile,
    failed: bool,
}

impl Write for CheckedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).inspect_err(|_| self.failed = true)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().inspect_err(|_| self.failed = true)
    }
}

fn cannot_write_to(staged: &Path, err: io::Error) -> Error {
    let full = err.kind() == io::ErrorKind::StorageFull;
    let error =
        Error::new(format!("cannot write to the memory (`{}`)", staged.display())).because(err);
    if full {
        error.hint("free space on the disk and sweep again; what was there before is untouched")
    } else {
        error.hint("check the folder's owner and permissions, then sweep again")
    }
}

/// Keeps what an earlier capture had and the source has no more: a file that is gone, or one that
/// was rewritten rather than appended to. A log that shrinks must not take memory with it.
fn carry_over(
    adapter: &dyn Adapter,
    previous: &Path,
    writer: &mut SnapshotWriter,
    copies: &mut Vec<LogFile>,
) -> io::Result<()> {
    let manifest = files::if_exists(files::read_to_string(previous.join(layout::MANIFEST)))?;
    let manifest = manifest.unwrap_or_default();
    for (sha256, name) in manifest.lines().filter_map(parse_manifest_line) {
        let Some(raw_name) =
            name.strip_prefix("raw/").map(Path::new).and_then(files::safe_relative)
        else {
            continue;
        };
        let raw_name = Source::shown_name(&raw_name);
        let old = previous.join(&name);
        if !files::is_file(&old) {
            continue;
        }
        let same = copies.iter().find(|copy| copy.name == raw_name);
        let kept_as = match same {
            Some(copy) if begins_with(&copy.path, files::metadata(&old)?.len(), sha256)? => {
                continue;
            }
            Some(copy) if rows::holds_all(&old, &copy.path)? => continue,
            Some(_) => Path::new(&format!("{EARLIER}{}", &sha256[..8])).join(&raw_name),
            None => raw_name,
        };
        let path =
            writer.copy(&old, &format!("{}/{}", layout::RAW, layout::shown_relative(&kept_as)))?;
        let identity = adapter.identify_kept(&path)?;
        let named = identity.as_ref().map(|identity| identity.native_id.as_str());
        let child = children::own_id(&kept_as, named);
        let role = identity.map_or(Role::Attachment, |identity| identity.role);
        let earlier = LogFile { path, name: kept_as, role, within: None, child };
        // What came earlier is read first.
        let at = if earlier.role == Role::Main { 0 } else { copies.len() };
        copies.insert(at, earlier);
    }
    Ok(())
}

/// Whether the first bytes of a file have a given hash: then it only grew.
fn begins_with(path: &Path, bytes: u64, sha256: &str) -> io::Result<bool> {
    use io::Read;
    let file = files::open(path)?;
    if file.metadata()?.len() < bytes {
        return Ok(false);
    }
    let mut hasher = files::HashingWriter::new(io::sink());
    io::copy(&mut file.take(bytes), &mut hasher)?;
    Ok(hasher.finish().1.sha256 == sha256)
}
