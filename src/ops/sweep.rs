//! The main job, once: logs are found, sessions captured, digests and days written, the index refreshed.
//!
//! Sessions are prepared in parallel and in any order under temporary names, then committed in the order
//! in which they ended: first the snapshots, then the digests (whose rename is the commit mark), then the
//! days. A sweep that is killed leaves a prefix; the next one does the rest and ends in the same tree.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use chrono::Duration;
use chrono_tz::Tz;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::adapters::{self, Identified};
use crate::base::clock::Timestamp;
use crate::base::files::{self, Batch, Stamp};
use crate::base::front_matter::Document;
use crate::error::{Context, Error, Result};
use crate::model::digest::{Digest, State, Worth};
use crate::model::ids::{Device, SessionId};
use crate::model::session::{Event, EventSink, Log, Skipped, Source};
use crate::ops::capture::{self, Pages, Prepared, Trouble};
use crate::ops::cursors::{Cursors, KnownFile, SessionCursor};
use crate::store::days::DayLines;
use crate::store::snapshots::parse_manifest_line;
use crate::store::{Store, documents, layout};

/// What to sweep, and how.
pub struct Sweep<'a> {
    /// Where to look.
    pub roots: Vec<Root>,
    /// Only sessions of these agents, where any are named.
    pub only: Vec<String>,
    /// No sessions of these agents.
    pub except: Vec<String>,
    /// Which domain a project belongs to.
    pub domains: std::collections::BTreeMap<String, String>,
    pub device: Device,
    pub now: Timestamp,
    pub zone: Tz,
    /// A session is open while its last event is younger than this.
    pub open_for: Duration,
    pub pages: Pages,
    /// Told of each session that is done, with how many there are.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// A place to look for logs.
#[derive(Debug, Clone)]
pub struct Root {
    pub path: PathBuf,
    /// Which files below it count, as a pattern on their path below the root.
    pub glob: Option<glob::Pattern>,
    /// Whether the person named it: then it has to be there.
    pub named: bool,
}

/// What a sweep did.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    pub discovered: usize,
    pub captured: usize,
    pub unchanged: usize,
    pub digested: usize,
    pub skipped: Vec<Skipped>,
    pub sessions: Vec<Swept>,
    pub retention: Retention,
    pub took_ms: u64,
}

/// One session that a sweep wrote.
#[derive(Debug, Serialize)]
pub struct Swept {
    pub session: SessionId,
    pub source_id: String,
    pub path: String,
    pub status: String,
    #[serde(skip)]
    bytes: u64,
}

/// What the storage budget did: nothing yet, but how much is in use.
#[derive(Debug, Default, Serialize)]
pub struct Retention {
    pub freed_bytes: u64,
    pub in_use_bytes: u64,
    pub evicted: Evicted,
    pub data_loss: Vec<String>,
}

/// The sessions whose raw was evicted, by pass.
#[derive(Debug, Default, Serialize)]
pub struct Evicted {
    pub age: Vec<String>,
    pub budget: Vec<String>,
    pub overflow: Vec<String>,
}

/// How many sessions are committed with one sync.
const BATCH: usize = 256;
/// How much text of days may wait in memory.
const DAY_BYTES: usize = 8 << 20;

/// Sweeps into a memory.
pub fn sweep(store: &Store, sweep: &Sweep<'_>) -> Result<Report> {
    let began = Instant::now();
    let layout = store.layout();
    let cannot = || format!("cannot write to the memory `{}`", layout.root().display());
    // One sweep at a time; a second one waits and then finds everything done.
    let _lock = files::lock_exclusive(&layout.sweep_lock()).context(cannot)?;
    finish_earlier_sweep(store, sweep.zone)?;
    if layout.staging().exists() {
        remove_leftovers(store).context(cannot)?;
    }
    // It is there from the beginning of a sweep to its end, and so tells the next one of a kill.
    remove_folder(&layout.staging()).context(cannot)?;
    files::create_private_dir(&layout.staging()).context(cannot)?;
    let mut cursors = Cursors::load(&layout.cursors());
    let tree = Tree::load(store, &mut cursors, sweep.open_for)?;
    let mut report = Report::default();
    let found = discover(sweep, &mut cursors, &mut report)?;
    let (unchanged, changed): (Vec<_>, Vec<_>) =
        found.sources.into_iter().partition(|source| is_unchanged(store, &tree, &found.files, &cursors, source));
    report.discovered = unchanged.len() + changed.len();
    report.unchanged = unchanged.len();
    for source in &unchanged {
        remember(&mut cursors, source, &found.files);
    }
    let mut prepared = prepare(store, sweep, &tree, &changed, &mut report)?;
    prepared.sort_by(|a, b| (a.0.ended, a.1.source_id()).cmp(&(b.0.ended, b.1.source_id())));
    let mut next = store.next_ordinal(&sweep.device, tree.ids.iter().filter_map(|id| id.parse().ok()));
    for batch in prepared.chunks(BATCH) {
        let committed = commit(store, sweep, &tree, batch, &mut next)?;
        for ((_, source), (swept, open_until)) in batch.iter().zip(committed) {
            remember(&mut cursors, source, &found.files);
            let cursor = SessionCursor { source_id: swept.source_id.clone(), open_until, bytes: swept.bytes };
            cursors.remember_session(&swept.session, cursor);
            report.sessions.push(swept);
        }
    }
    report.captured = report.sessions.len();
    report.digested = report.captured + close_sessions(store, &mut cursors, sweep).context(cannot)?;
    remove_folder(&layout.staging()).context(cannot)?;
    cursors.save(&layout.cursors()).context(cannot)?;
    // A search looks for changes itself, so there is no need to look where nothing was written.
    if report.digested > 0 {
        crate::index::refresh(store)?;
    }
    report.skipped.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    report.retention.in_use_bytes = cursors.bytes();
    report.took_ms = began.elapsed().as_millis() as u64;
    Ok(report)
}

/// Reads and parses only; creates nothing, not even a folder.
pub fn rehearse(root: &Path, sweep: &Sweep<'_>) -> Result<Report> {
    let began = Instant::now();
    let mut report = Report::default();
    let store = Store::open(root).ok();
    let mut cursors = store.as_ref().map(|store| Cursors::load(&store.layout().cursors())).unwrap_or_default();
    let tree = store.as_ref().map(|store| Tree::load(store, &mut cursors, sweep.open_for)).transpose()?.unwrap_or_default();
    let found = discover(sweep, &mut cursors, &mut report)?;
    for source in &found.sources {
        report.discovered += 1;
        if store.as_ref().is_some_and(|store| is_unchanged(store, &tree, &found.files, &cursors, source)) {
            report.unchanged += 1;
            continue;
        }
        let adapter = adapters::named(source.flavor).expect("sources come from adapters");
        let log = Log { native_id: source.native_id.clone(), files: source.files.clone() };
        match adapter.read(&log, &mut Nowhere) {
            Ok(head) => {
                report.captured += 1;
                report.skipped.extend(head.skipped);
            }
            Err(err) => {
                report.skipped.push(Skipped { path: source.files[0].path.clone(), line: 0, reason: err.to_string() });
            }
        }
    }
    report.took_ms = began.elapsed().as_millis() as u64;
    Ok(report)
}

/// Takes events and forgets them.
struct Nowhere;

impl EventSink for Nowhere {
    fn event(&mut self, _: Event<'_>) -> Result<()> {
        Ok(())
    }
}

/// The sessions that the tree holds, by the agents' own ids.
#[derive(Default)]
struct Tree {
    sessions: HashMap<String, KnownSession>,
    ids: HashSet<String>,
}

struct KnownSession {
    id: SessionId,
}

impl Tree {
    /// Learns which sessions are there: from the cursors, and from the digests that they do not know.
    fn load(store: &Store, cursors: &mut Cursors, open_for: Duration) -> Result<Tree> {
        let layout = store.layout();
        let ids = store.session_ids().context(|| "cannot list the sessions".to_string())?;
        let mut tree = Tree::default();
        for id in ids {
            if !layout.digest(&id).is_file() {
                continue;
            }
            tree.ids.insert(id.to_string());
            let source_id = match cursors.session(&id) {
                Some(cursor) => cursor.source_id.clone(),
                None => match store.digest(&id) {
                    Ok(Some(digest)) => {
                        let ended = digest.content.ended.unwrap_or_default();
                        let open_until = (digest.state == State::Open).then(|| ended + open_for);
                        let cursor = SessionCursor {
                            source_id: digest.source_id.clone(),
                            open_until,
                            bytes: digest.snapshot.bytes,
                        };
                        cursors.remember_session(&id, cursor);
                        digest.source_id
                    }
                    // Damaged by hand: it keeps its id, but nothing is known of its source.
                    _ => continue,
                },
            };
            tree.sessions.insert(source_id, KnownSession { id });
        }
        cursors.keep_sessions(|id| tree.ids.contains(id));
        Ok(tree)
    }
}

struct Discovery {
    sources: Vec<Source>,
    files: HashMap<PathBuf, Seen>,
}

/// A file as it is now.
struct Seen {
    stamp: Stamp,
    known: Option<KnownFile>,
}

/// Walks the roots and puts the files of each session together.
fn discover(sweep: &Sweep<'_>, cursors: &mut Cursors, report: &mut Report) -> Result<Discovery> {
    let mut seen: HashMap<PathBuf, Seen> = HashMap::new();
    let mut identified = Vec::new();
    for root in &sweep.roots {
        if !root.path.exists() {
            if root.named {
                return Err(Error::new(format!("cannot find the logs `{}`", root.path.display()))
                    .because("there is no such file or folder")
                    .hint("check the path after `--source`"));
            }
            continue;
        }
        for found in files::walk_files(&root.path) {
            let found = match found {
                Ok(found) => found,
                Err(trouble) => {
                    report.skipped.push(Skipped { path: trouble.path, line: 0, reason: trouble.reason });
                    continue;
                }
            };
            // A link may lead anywhere; the file it leads to is found where it is.
            if found.link.is_some() || root.glob.as_ref().is_some_and(|glob| !glob.matches_path(&found.relative)) {
                continue;
            }
            if seen.contains_key(&found.path) {
                continue;
            }
            let stamp = Stamp::of(&found.metadata);
            let known = match cursors.unchanged(&found.path, &stamp) {
                Some(cursor) => cursor.known.clone(),
                None => match adapters::recognize(&found.path) {
                    Ok(Some((adapter, identity))) => Some(KnownFile::new(adapter.name(), &identity)),
                    Ok(None) => {
                        cursors.remember(found.path.clone(), stamp, None);
                        None
                    }
                    Err(err) => {
                        report.skipped.push(Skipped { path: found.path, line: 0, reason: err.to_string() });
                        continue;
                    }
                },
            };
            seen.insert(found.path.clone(), Seen { stamp, known: known.clone() });
            let Some(known) = known else { continue };
            let Some(adapter) = adapters::named(&known.flavor) else { continue };
            let wanted = sweep.only.is_empty() || sweep.only.contains(&known.flavor);
            if !wanted || sweep.except.contains(&known.flavor) {
                continue;
            }
            identified.push(Identified {
                path: found.path,
                flavor: adapter.name(),
                size: stamp.size,
                identity: known.identity(),
            });
        }
    }
    let (sources, clashes) = adapters::gather(identified);
    // Once they are captured, a clash is known and no news.
    report.skipped.extend(clashes.into_iter().filter(|clash| {
        seen.get(&clash.path).is_none_or(|file| cursors.unchanged(&clash.path, &file.stamp).is_none())
    }));
    Ok(Discovery { sources, files: seen })
}

/// Whether the tree already holds a source as it is now.
fn is_unchanged(
    store: &Store,
    tree: &Tree,
    seen: &HashMap<PathBuf, Seen>,
    cursors: &Cursors,
    source: &Source,
) -> bool {
    let Some(known) = tree.sessions.get(&source.source_id()) else { return false };
    let same_stamps = source
        .files
        .iter()
        .all(|file| seen.get(&file.path).is_some_and(|now| cursors.unchanged(&file.path, &now.stamp).is_some()));
    if same_stamps {
        return true;
    }
    // Dates and inodes change for many reasons; the content decides.
    let Ok(Some(digest)) = store.digest(&known.id) else { return false };
    // The snapshot's own manifest names every file; the digest only a few, but also after eviction.
    let whole = fs::read_to_string(store.layout().snapshot(&known.id).join(layout::MANIFEST)).unwrap_or_default();
    let manifest: HashMap<String, &str> = whole
        .lines()
        .chain(digest.snapshot.manifest.iter().map(String::as_str))
        .filter_map(parse_manifest_line)
        .map(|(sha256, name)| (name, sha256))
        .collect();
    source.files.iter().all(|file| {
        let name = format!("{}/{}", layout::RAW, file.name.display());
        manifest.get(&name).is_some_and(|sha256| files::hash_file(&file.path).is_ok_and(|(_, now)| now == **sha256))
    })
}

fn remember(cursors: &mut Cursors, source: &Source, seen: &HashMap<PathBuf, Seen>) {
    for file in &source.files {
        if let Some(now) = seen.get(&file.path)
            && cursors.unchanged(&file.path, &now.stamp).is_none()
        {
            cursors.remember(file.path.clone(), now.stamp, now.known.clone());
        }
    }
}

/// Captures sessions in parallel, each under a temporary name.
fn prepare<'s>(
    store: &Store,
    sweep: &Sweep<'_>,
    tree: &Tree,
    sources: &'s [Source],
    report: &mut Report,
) -> Result<Vec<(Prepared, &'s Source)>> {
    let layout = store.layout();
    let done = std::sync::atomic::AtomicUsize::new(0);
    let results: Vec<Option<Result<(Prepared, &Source), Trouble>>> = sources
        .par_iter()
        .enumerate()
        .map(|(number, source)| {
            let adapter = adapters::named(source.flavor).expect("sources come from adapters");
            let known = tree.sessions.get(&source.source_id());
            // A session of another device is that device's to rewrite.
            if known.is_some_and(|known| known.id.device != sweep.device) {
                return None;
            }
            let previous = known.map(|known| layout.snapshot(&known.id));
            let staged = layout.staging().join(number.to_string());
            let prepared = capture::prepare(adapter, source, previous.as_deref(), &staged, &sweep.pages);
            (sweep.progress)(done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1, sources.len());
            Some(prepared.map(|prepared| (prepared, source)))
        })
        .collect();
    let mut prepared = Vec::new();
    for result in results {
        match result {
            Some(Ok((mut one, source))) => {
                report.skipped.append(&mut one.skipped);
                prepared.push((one, source));
            }
            Some(Err(Trouble::Source(skipped))) => report.skipped.push(skipped),
            Some(Err(Trouble::Store(error))) => return Err(error),
            None => report.unchanged += 1,
        }
    }
    Ok(prepared)
}

/// Puts prepared sessions in their places: snapshots, then digests, then days.
fn commit(
    store: &Store,
    sweep: &Sweep<'_>,
    tree: &Tree,
    batch: &[(Prepared, &Source)],
    next: &mut u32,
) -> Result<Vec<(Swept, Option<Timestamp>)>> {
    let layout = store.layout();
    let cannot = || format!("cannot write to the memory `{}`", layout.root().display());
    let mut snapshots = Batch::new();
    let mut digests = Batch::new();
    let mut committing = Vec::new();
    let mut committed = Vec::new();
    for (prepared, source) in batch {
        let source_id = source.source_id();
        let known = tree.sessions.get(&source_id);
        let session = known.map_or_else(
            || {
                *next += 1;
                SessionId::new(sweep.device.clone(), *next - 1)
            },
            |known| known.id.clone(),
        );
        let mut draft = prepared.draft()?;
        draft.content.domain = draft.content.project.as_ref().and_then(|project| sweep.domains.get(project).cloned());
        let open_until = draft.content.ended.map(|ended| ended + sweep.open_for);
        let open_until = open_until.filter(|until| !draft.ended && *until > sweep.now);
        let digest = Digest {
            session: session.clone(),
            source_id: source_id.clone(),
            captured: sweep.now,
            state: if open_until.is_some() { State::Open } else { State::Closed },
            content: draft.content,
            snapshot: draft.snapshot,
        };
        let path = layout.digest(&session);
        let text = match fs::read_to_string(&path) {
            Ok(existing) => documents::digest_text_over(&existing, &digest),
            Err(_) => documents::digest_text(&digest),
        };
        snapshots.rename_dir(&prepared.snapshot(), &layout.snapshot(&session)).context(cannot)?;
        digests.write(&path, text.as_bytes()).context(cannot)?;
        if digest.content.worth == Worth::Full {
            let manifest_sha256 = digest.snapshot.manifest_sha256.clone();
            committing.push(Committing { staged: prepared.staged.clone(), session: session.clone(), manifest_sha256 });
        }
        committed.push((
            Swept { session, source_id, path: layout.shown(&path), status: digest.content.status.to_string(), bytes: digest.snapshot.bytes },
            open_until,
        ));
    }
    // Raw before digest, also when the power fails in between. The days come last; the note of what is
    // being committed lets the next sweep write the lines that a kill kept us from writing.
    let note = serde_json::to_vec(&committing).context(cannot)?;
    files::write_atomic(&layout.committing(), &note).context(cannot)?;
    snapshots.commit().context(cannot)?;
    digests.commit().context(cannot)?;
    write_days(store, sweep.zone, committing)?;
    Ok(committed)
}

/// A session that is being put in its place.
#[derive(Debug, Serialize, Deserialize)]
struct Committing {
    staged: PathBuf,
    session: SessionId,
    manifest_sha256: String,
}

/// Writes the days' lines of sessions whose digests are in place, and forgets the note about them.
fn write_days(store: &Store, zone: Tz, committing: Vec<Committing>) -> Result<()> {
    let layout = store.layout();
    let cannot = || format!("cannot write the days of `{}`", layout.root().display());
    let mut day_lines = DayLines::default();
    for one in committing {
        for line in capture::day_lines(&one.staged)? {
            day_lines.add(&line, &one.session, zone);
        }
        if day_lines.bytes() > DAY_BYTES {
            std::mem::take(&mut day_lines).write(layout).context(cannot)?;
        }
    }
    day_lines.write(layout).context(cannot)?;
    fs::remove_file(layout.committing()).context(cannot)
}

/// Does what a sweep that was killed did not come to: the days of the sessions it had committed.
fn finish_earlier_sweep(store: &Store, zone: Tz) -> Result<()> {
    let Ok(note) = fs::read(store.layout().committing()) else { return Ok(()) };
    let mut committing: Vec<Committing> = serde_json::from_slice(&note).unwrap_or_default();
    committing.retain(|one| {
        let digest = store.digest(&one.session).ok().flatten();
        digest.is_some_and(|digest| digest.snapshot.manifest_sha256 == one.manifest_sha256) && one.staged.exists()
    });
    write_days(store, zone, committing)
}

/// Removes what a killed sweep left unfinished beside the files and snapshots that it was to replace. Only
/// who holds the sweep's lock writes there, so that nobody is still at it.
fn remove_leftovers(store: &Store) -> io::Result<()> {
    let layout = store.layout();
    let sessions = store.session_ids()?;
    let leftovers = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter(|entry| files::is_temporary(&entry.file_name()))
    };
    for id in &sessions {
        for entry in leftovers(&layout.session(id)) {
            let snapshot = layout.snapshot(id);
            match entry.file_type()?.is_dir() {
                // A snapshot that was moved aside; where its successor did not come, it is the one that counts.
                true if !snapshot.exists() => fs::rename(entry.path(), snapshot)?,
                true => fs::remove_dir_all(entry.path())?,
                false => fs::remove_file(entry.path())?,
            }
        }
    }
    for folder in [layout.root(), &layout.days()] {
        for entry in leftovers(folder) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Closes the sessions that have had no event for long enough; returns how many.
fn close_sessions(store: &Store, cursors: &mut Cursors, sweep: &Sweep<'_>) -> io::Result<usize> {
    let mut closed = 0;
    // A session of another device is that device's to close.
    for id in cursors.due(sweep.now).into_iter().filter(|id| id.device == sweep.device) {
        let path = store.layout().digest(&id);
        let mut document = Document::parse(&fs::read_to_string(&path)?);
        document.set_raw("state", "closed");
        closed += usize::from(files::write_if_changed(&path, document.to_text().as_bytes())?);
        if let Some(cursor) = cursors.session(&id).cloned() {
            cursors.remember_session(&id, SessionCursor { open_until: None, ..cursor });
        }
    }
    Ok(closed)
}

fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
