//! The main job, once: logs are found, sessions captured, digests and days written, the index
//! refreshed.
//!
//! Sessions are prepared in parallel and in any order under temporary names, then committed in the
//! order in which they ended: first the snapshots, then the digests (whose rename is the commit
//! mark), then the days. A sweep that is killed leaves a prefix; the next one does the rest and
//! ends in the same tree.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use chrono::Duration;
use rayon::prelude::*;
use serde::Serialize;

use crate::adapters::shared::SharedFiles;
use crate::adapters::{self, Adapter};
use crate::base::clock::Timestamp;
use crate::base::files::{self, Stamp};
use crate::base::front_matter::Document;
use crate::base::zone::Zone;
use crate::distill::digest::project_name;
use crate::error::{Context, Result};
use crate::model::digest::State;
use crate::model::exclude::Exclude;
use crate::model::ids::{Device, EpisodeId, SessionId};
use crate::model::session::{Event, EventSink, Log, LogFile, Skipped, Source};
use crate::models::Models;
use crate::ops::capture::{self, Pages, Prepared, Trouble};
use crate::ops::commit;
use crate::ops::consolidate;
use crate::ops::cursors::{Cursors, SessionCursor};
use crate::ops::days::{self, Scope, Summarized};
use crate::ops::digest;
use crate::ops::discover::{Seen, discover, walk};
use crate::ops::folders::{self, Folder, Looked};
use crate::ops::forget;
use crate::ops::retain::plan::Limits;
use crate::ops::retain::{self, Retention};
use crate::ops::standstill::{self, Standstill};
use crate::ops::turns;
use crate::store::snapshots::{self, parse_manifest_line};
use crate::store::tombstones::Tombstones;
use crate::store::{Store, layout};

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
    pub zone: Zone,
    /// A session is open while its last event is younger than this.
    pub open_for: Duration,
    pub pages: Pages,
    /// The storage budget.
    pub limits: Limits,
    /// Folders that are no logs, to be kept when they have lain still.
    pub folders: Vec<Folder>,
    /// In whose name days that are over get their last summary now, if they do; `watch` does that
    /// less often.
    pub finalize: Option<&'static str>,
    /// Whether each session also gets an event log.
    pub event_logs: bool,
    /// Who may add to what memtree says by itself.
    pub models: &'a Models,
    /// Told of each session that is done, with how many there are.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

impl Sweep<'_> {
    /// Who forgets what tombstones ask for.
    pub fn forgetting(&self) -> forget::Request<'_> {
        let redactor = self.pages.cleaner.redactor();
        forget::Request { device: &self.device, now: self.now, zone: self.zone, redactor }
    }
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
    /// How many sessions the settings leave out.
    pub excluded: usize,
    pub sessions: Vec<Swept>,
    /// What became of the folders that the settings name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<Looked>,
    /// The cores and spheres that were written, relative to the memory.
    pub cores: Vec<String>,
    pub spheres: Vec<String>,
    pub retention: Retention,
    /// What a model did, where one is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Asked>,
    /// The days whose summaries were written.
    #[serde(skip)]
    pub days: Summarized,
    /// How many sessions were found to be over.
    #[serde(skip)]
    pub ended: usize,
    pub took_ms: u64,
}

/// What came of asking a model.
#[derive(Debug, Serialize)]
pub struct Asked {
    /// How many digests it added to.
    pub improved: usize,
    /// How many sessions still wait for it.
    pub waiting: usize,
    /// Why it has not answered, where it has not.
    pub unavailable: Option<String>,
}

/// One session that a sweep wrote.
#[derive(Debug, Serialize)]
pub struct Swept {
    pub session: SessionId,
    pub source_id: String,
    pub path: String,
    pub status: String,
    #[serde(skip)]
    pub(super) bytes: u64,
}

/// How many sessions are committed with one sync.
const BATCH: usize = 256;

/// Sweeps into a memory, and then asks a model about what is new, where there is one.
pub fn sweep(store: &Store, sweep: &Sweep<'_>) -> Result<Report> {
    let began = Instant::now();
    let mut report = Report::default();
    // First, because a folder may be the eighth session of a core.
    report.folders = folders::keep_idle(store, sweep, &mut report.skipped)?;
    without_models(store, sweep, &mut report)?;
    turns::prune(store, sweep.now);
    if sweep.models.is_enabled() {
        let (device, domains, pages, models) =
            (&sweep.device, &sweep.domains, &sweep.pages, sweep.models);
        let writer =
            digest::Writer { store, device, domains, pages, models, again: false, dry_run: false };
        let asked = digest::catch_up(&writer, &sweep.progress)?;
        report.model = Some(Asked {
            improved: asked.improved,
            waiting: asked.waiting,
            unavailable: asked.unavailable,
        });
    }
    report.took_ms = began.elapsed().as_millis() as u64;
    Ok(report)
}

/// All that a sweep does by itself.
fn without_models(store: &Store, sweep: &Sweep<'_>, report: &mut Report) -> Result<()> {
    let layout = store.layout();
    let cannot = || format!("cannot write to the memory `{}`", layout.root().display());
    store.refuse_links(None)?;
    // One sweep at a time; a second one waits and then finds everything done.
    let _lock = files::lock_exclusive(&layout.sweep_lock()).context(cannot)?;
    commit::finish_earlier_sweep(store, sweep.zone)?;
    if layout.staging().exists() || commit::has_leftovers(store) {
        commit::remove_leftovers(store).context(cannot)?;
    }
    if layout.knowledge_log().exists() && !layout.knowledge_index().exists() {
        // A compile was killed just before its last page.
        store.write_index().context(cannot)?;
    }
    files::remove_folder(&layout.staging()).context(cannot)?;
    retain::finish_earlier_eviction(store, &mut report.retention)?;
    let tombstones =
        Tombstones::load(layout).context(|| "cannot read what was forgotten".into())?;
    forget::finish(store, &tombstones, &sweep.forgetting())?;
    let walked = walk(sweep, layout.root(), report)?;
    let digests = digested(store)?;
    let standstill = Standstill::load(&layout.standstill());
    if report.skipped.is_empty()
        && let Some(before) = standstill
        && before.holds(&standstill_hash(store, sweep, &walked, &digests, &tombstones), sweep.now)
    {
        (report.discovered, report.unchanged) = (before.discovered, before.discovered);
        report.retention.in_use_bytes = before.bytes;
        digest::note_waiting(store, &sweep.device, sweep.models, std::iter::empty())?;
        return Ok(());
    }
    // It is there from the beginning of a sweep to its end, and so tells the next one of a kill.
    files::create_private_dir(&layout.staging()).context(cannot)?;
    let mut cursors = Cursors::load(&layout.cursors());
    let tree = Tree::load(store, digests, &mut cursors, sweep);
    let shared = SharedFiles::with_copies_in(layout.staging().join("shared"));
    let mut found = discover(sweep, &walked, &shared, &mut cursors, report);
    // They are not remembered in the cursors either, which would tell their names.
    found.sources.retain(|source| !tombstones.has_source(&source.source_id()));
    let (unchanged, changed): (Vec<_>, Vec<_>) = found
        .sources
        .into_iter()
        .partition(|source| is_unchanged(store, &tree, &found.files, &shared, &cursors, source));
    // What was left out before is left out again without being read, while the settings and its log
    // are the same.
    let key = sweep.pages.exclude.key();
    let is_left_out = |source: &Source| {
        let same =
            |file: &LogFile| found.files.get(file.path.as_os_str()).is_some_and(|now| now.same);
        cursors.is_excluded(&source.source_id(), &key) && source.files.iter().all(same)
    };
    let (left_out, changed): (Vec<_>, Vec<_>) = changed.into_iter().partition(is_left_out);
    report.excluded = left_out.len();
    report.discovered = unchanged.len() + changed.len();
    report.unchanged = unchanged.len();
    for source in &unchanged {
        remember(&mut cursors, source, &found.files);
    }
    let (mut prepared, excluded) = prepare(store, sweep, &tree, &changed, &shared, report)?;
    for source in excluded {
        remember(&mut cursors, source, &found.files);
        cursors.remember_excluded(source.source_id(), sweep.pages.exclude.key());
        report.excluded += 1;
    }
    prepared.sort_by_key(|(one, source)| (one.ended, source.source_id()));
    let mut next = store.next_ordinal(&sweep.device, tree.ids.iter().cloned());
    for batch in prepared.chunks(BATCH) {
        let committed =
            commit::commit(store, sweep, batch, |source_id| match tree.sessions.get(source_id) {
                Some(known) => known.id.clone(),
                None => {
                    next += 1;
                    SessionId::new(sweep.device.clone(), next - 1)
                }
            })?;
        for ((_, source), (swept, open_until)) in batch.iter().zip(committed) {
            report.ended += usize::from(open_until.is_none());
            remember(&mut cursors, source, &found.files);
            let (source_id, raw_since) = (swept.source_id.clone(), Some(sweep.now));
            let cursor = SessionCursor { source_id, open_until, bytes: swept.bytes, raw_since };
            cursors.remember_session(&swept.session, cursor);
            report.sessions.push(swept);
        }
    }
    report.captured = report.sessions.len();
    let closed = close_sessions(store, &mut cursors, sweep).context(cannot)?;
    report.digested = report.captured + closed;
    report.ended += closed;
    digest::note_waiting(
        store,
        &sweep.device,
        sweep.models,
        report.sessions.iter().map(|swept| &swept.session),
    )?;
    let scope = if sweep.finalize.is_some() { Scope::All } else { Scope::Today };
    report.days =
        days::settle(store, sweep.now, sweep.zone, scope, sweep.finalize.unwrap_or_default())?;
    let mut consolidated = consolidate::run(store, &sweep.device, false)?;
    report.cores = std::mem::take(&mut consolidated.cores);
    report.spheres = std::mem::take(&mut consolidated.spheres);
    cursors.save(&layout.cursors()).context(cannot)?;
    retain::after_sweep(store, sweep, &cursors, tree.loose_bytes, report)?;
    files::remove_folder(&layout.staging()).context(cannot)?;
    let today = days::today(sweep.now, sweep.zone);
    let all_final =
        sweep.finalize.is_some() || days::pending(store, today).context(cannot)?.is_empty();
    if report.skipped.is_empty() && !found.has_shared && all_final {
        // Whatever was read is remembered, and whoever comes next has nothing to do.
        let hash = standstill_hash(store, sweep, &walked, &consolidated.digests, &tombstones);
        let due = cursors
            .next_due(&sweep.device)
            .into_iter()
            .chain(retain::next_due(&cursors, sweep))
            .min();
        let bytes = report.retention.in_use_bytes;
        let standstill = Standstill { hash, discovered: report.discovered, bytes, due };
        standstill.save(&layout.standstill()).context(cannot)?;
    }
    // A search looks for changes itself, so there is no need to look where nothing was written.
    if report.digested + report.retention.evicted.count() + report.retention.digested_now.len() > 0
    {
        crate::index::refresh(store)?;
    }
    report.skipped.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    Ok(())
}

/// Reads and parses only; creates nothing, not even a folder.
pub fn rehearse(root: &Path, sweep: &Sweep<'_>) -> Result<Report> {
    let began = Instant::now();
    let store = Store::open(root).ok();
    let mut report =
        Report { folders: folders::rehearse(store.as_ref(), sweep)?, ..Report::default() };
    let mut cursors =
        store.as_ref().map(|store| Cursors::load(&store.layout().cursors())).unwrap_or_default();
    let tree = match &store {
        Some(store) => Tree::load(store, digested(store)?, &mut cursors, sweep),
        None => Tree::default(),
    };
    let shared = SharedFiles::with_temporary_copies();
    let walked = walk(sweep, root, &mut report)?;
    let mut found = discover(sweep, &walked, &shared, &mut cursors, &mut report);
    let tombstones =
        store.as_ref().and_then(|store| Tombstones::load(store.layout()).ok()).unwrap_or_default();
    found.sources.retain(|source| !tombstones.has_source(&source.source_id()));
    for source in &found.sources {
        report.discovered += 1;
        if store.as_ref().is_some_and(|store| {
            is_unchanged(store, &tree, &found.files, &shared, &cursors, source)
        }) {
            report.unchanged += 1;
            continue;
        }
        let adapter = adapters::named(source.flavor).expect("sources come from adapters");
        match rehearse_one(adapter, source, &shared, &sweep.pages.exclude) {
            Ok(None) => {
                report.discovered -= 1;
                report.excluded += 1;
            }
            Ok(Some(skipped)) => {
                report.captured += 1;
                report.skipped.extend(skipped);
            }
            Err(skipped) => report.skipped.push(skipped),
        }
    }
    report.took_ms = began.elapsed().as_millis() as u64;
    Ok(report)
}

/// Reads one session, and says what could not be read; `None` for one that is left out.
fn rehearse_one(
    adapter: &dyn Adapter,
    source: &Source,
    shared: &SharedFiles,
    exclude: &Exclude,
) -> Result<Option<Vec<Skipped>>, Skipped> {
    let trouble =
        |path: &Path, reason: String| Skipped { path: path.to_path_buf(), line: 0, reason };
    let mut log = Log { native_id: source.native_id.clone(), files: source.files.clone() };
    // They go away with the function.
    let mut extracts = Vec::new();
    for file in &mut log.files {
        let Some(id) = file.within.take() else { continue };
        let extracted = tempfile::NamedTempFile::new().and_then(|mut extract| {
            shared.extract(&file.path, &id, &mut extract)?;
            Ok(extract)
        });
        let extract = extracted.map_err(|err| trouble(&file.path, err.to_string()))?;
        file.path = extract.path().to_path_buf();
        extracts.push(extract);
    }
    let head = adapter
        .read(&log, &mut Nowhere)
        .map_err(|err| trouble(&source.files[0].path, err.to_string()))?;
    let project = project_name(head.remote.as_deref(), head.cwd.as_deref());
    if exclude.has_session(project.as_deref(), head.cwd.as_deref()) {
        return Ok(None);
    }
    let mut skipped = head.skipped;
    for one in &mut skipped {
        if let Some(at) = log.files.iter().position(|file| file.path == one.path) {
            one.path = source.files[at].path.clone();
        }
    }
    Ok(Some(skipped))
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
pub(super) struct Tree {
    /// How much room the snapshots take that have no digest, or none that can be read.
    loose_bytes: u64,
    pub(super) sessions: HashMap<String, KnownSession>,
    ids: HashSet<SessionId>,
}

pub(super) struct KnownSession {
    pub(super) id: SessionId,
    /// Whether its digest is there.
    digested: bool,
}

impl Tree {
    /// Learns which sessions are there: from the cursors, and from the digests that they do not
    /// know.
    pub(super) fn load(
        store: &Store,
        digests: Vec<(SessionId, Stamp)>,
        cursors: &mut Cursors,
        sweep: &Sweep<'_>,
    ) -> Tree {
        let open_for = sweep.open_for;
        let mut tree = Tree::default();
        for (id, _) in digests {
            tree.ids.insert(id.clone());
            let source_id = match cursors.session(&id) {
                Some(cursor) => cursor.source_id.clone(),
                None => match store.digest(&id) {
                    Ok(Some(digest)) => {
                        let ended = digest.content.ended.unwrap_or_default();
                        let open_until = (digest.state == State::Open).then(|| ended + open_for);
                        let own = id.device == sweep.device;
                        let cursor = SessionCursor {
                            source_id: digest.source_id.clone(),
                            open_until,
                            bytes: if own {
                                snapshots::measure(&store.layout().snapshot(&id), false).all()
                            } else {
                                0
                            },
                            raw_since: (own && digest.snapshot.evicted.is_none())
                                .then_some(digest.captured),
                        };
                        cursors.remember_session(&id, cursor);
                        digest.source_id
                    }
                    // Damaged by hand: it keeps its id, but nothing is known of its source.
                    _ => {
                        tree.loose_bytes +=
                            snapshots::measure(&store.layout().snapshot(&id), false).all();
                        continue;
                    }
                },
            };
            tree.know(source_id, KnownSession { id, digested: true }, &sweep.device);
        }
        cursors.keep_sessions(|id| tree.ids.contains(id));
        tree.orphans(store, &sweep.device);
        tree
    }

    /// Notes a session. Where two devices captured the same one, this device's own counts here.
    fn know(&mut self, source_id: String, session: KnownSession, device: &Device) {
        let before = self.sessions.get(&source_id);
        if before.is_none_or(|before| before.id.device != *device) {
            self.sessions.insert(source_id, session);
        }
    }

    /// Notes the snapshots whose digest somebody removed: their ids are taken, and they get their
    /// digest again.
    fn orphans(&mut self, store: &Store, device: &Device) {
        for id in store.session_ids().unwrap_or_default() {
            if self.ids.contains(&id) || !store.layout().snapshot(&id).exists() {
                continue;
            }
            self.loose_bytes += snapshots::measure(&store.layout().snapshot(&id), false).all();
            let vitals = fs::read_to_string(store.layout().snapshot(&id).join(layout::VITALS))
                .unwrap_or_default();
            let source_id = Document::parse(&format!("---\n{vitals}---\n")).get_str("source_id");
            if let Some(source_id) =
                source_id.filter(|source_id| !self.sessions.contains_key(source_id))
            {
                self.know(source_id, KnownSession { id: id.clone(), digested: false }, device);
            }
            self.ids.insert(id);
        }
    }
}

/// The sessions that have a digest, in order, and how it looks.
pub(super) fn digested(store: &Store) -> Result<Vec<(SessionId, Stamp)>> {
    consolidate::digests(store).context(|| "cannot list the sessions".to_string())
}

fn standstill_hash(
    store: &Store,
    sweep: &Sweep<'_>,
    walked: &[(PathBuf, Stamp)],
    digests: &[(SessionId, Stamp)],
    tombstones: &Tombstones,
) -> String {
    let layout = store.layout();
    standstill::hash(
        sweep,
        walked,
        digests,
        consolidate::upper_stamp(layout),
        tombstones,
        &days::stamps(layout),
    )
}

/// Whether the tree already holds a source as it is now.
pub(super) fn is_unchanged(
    store: &Store,
    tree: &Tree,
    seen: &HashMap<&OsStr, Seen>,
    shared: &SharedFiles,
    cursors: &Cursors,
    source: &Source,
) -> bool {
    let Some(known) = tree.sessions.get(&source.source_id()).filter(|known| known.digested) else {
        return false;
    };
    let looks_the_same = source.files.iter().all(|file| match &file.within {
        Some(id) => cursors.holds(&file.path, id),
        None => seen.get(file.path.as_os_str()).is_some_and(|now| now.same),
    });
    if looks_the_same {
        return true;
    }
    // Dates and inodes change for many reasons; the content decides.
    let Ok(Some(digest)) = store.digest(&known.id) else { return false };
    // The snapshot's own manifest names every file; the digest only a few, but also after eviction.
    let whole = fs::read_to_string(store.layout().snapshot(&known.id).join(layout::MANIFEST))
        .unwrap_or_default();
    let manifest: HashMap<String, &str> = whole
        .lines()
        .chain(digest.snapshot.manifest.iter().map(String::as_str))
        .filter_map(parse_manifest_line)
        .map(|(sha256, name)| (name, sha256))
        .collect();
    source.files.iter().all(|file| {
        let name = format!("{}/{}", layout::RAW, file.name.display());
        let now = match &file.within {
            Some(id) => shared.hash(&file.path, id),
            None => files::hash_file(&file.path).map(|(_, now)| now),
        };
        manifest.get(&name).is_some_and(|sha256| now.is_ok_and(|now| now == **sha256))
    })
}

fn remember(cursors: &mut Cursors, source: &Source, seen: &HashMap<&OsStr, Seen>) {
    for file in &source.files {
        if let Some(id) = &file.within {
            cursors.remember_part(&file.path, id);
        } else if let Some(now) = seen.get(file.path.as_os_str()) {
            if !now.same {
                cursors.remember(file.path.clone(), now.stamp, now.known.clone());
            }
            if let Some(lineage) = now.known.as_ref().and_then(|known| known.lineage.as_deref()) {
                cursors.remember_owner(source.flavor, lineage, &source.native_id);
            }
        }
    }
}

/// Whether a session's digest can be written again without losing what a person wrote in it.
fn may_rewrite(store: &Store, id: &SessionId) -> Result<(), Skipped> {
    let path = store.layout().digest(id);
    match fs::read_to_string(&path) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => {
            let reason = format!(
                "the digest cannot be read ({err}), so it is left alone and its session is not updated"
            );
            Err(Skipped { path, line: 0, reason })
        }
        _ => Ok(()),
    }
}

/// Whether a new capture tells at least what the digest does, where the raw behind it is not here
/// to be kept.
fn tells_no_less(store: &Store, id: &SessionId, prepared: &Prepared) -> Result<(), Trouble> {
    if store.layout().snapshot(id).join(layout::RAW).exists() {
        return Ok(());
    }
    let last = |episodes: Option<(_, EpisodeId)>| episodes.map(|(_, last)| last);
    let before = store.digest(id).ok().flatten().and_then(|digest| last(digest.content.episodes));
    let now = last(prepared.draft().map_err(Trouble::Store)?.content.episodes);
    if now >= before {
        return Ok(());
    }
    let reason = "the log has less than its digest tells, and the raw behind the digest is not here; left as it is";
    Err(Trouble::Source(Skipped {
        path: store.layout().digest(id),
        line: 0,
        reason: reason.into(),
    }))
}

/// The sessions that wait to be committed, and those that are left out.
type Captures<'s> = (Vec<(Prepared, &'s Source)>, Vec<&'s Source>);

/// Captures sessions in parallel, each under a temporary name.
fn prepare<'s>(
    store: &Store,
    sweep: &Sweep<'_>,
    tree: &Tree,
    sources: &'s [Source],
    shared: &SharedFiles,
    report: &mut Report,
) -> Result<Captures<'s>> {
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
            if let Some(known) = known
                && let Err(skipped) = may_rewrite(store, &known.id)
            {
                return Some(Err(Trouble::Source(skipped)));
            }
            let previous = known.map(|known| layout.snapshot(&known.id));
            let staged = layout.staging().join(number.to_string());
            let prepared = capture::prepare(
                adapter,
                source,
                shared,
                previous.as_deref(),
                &staged,
                &sweep.pages,
            );
            (sweep.progress)(
                done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1,
                sources.len(),
            );
            let prepared = prepared.and_then(|prepared| match known {
                Some(known) => tells_no_less(store, &known.id, &prepared).map(|()| prepared),
                None => Ok(prepared),
            });
            Some(prepared.map(|prepared| (prepared, source)))
        })
        .collect();
    let (mut prepared, mut excluded) = (Vec::new(), Vec::new());
    for (result, source) in results.into_iter().zip(sources) {
        match result {
            Some(Ok((mut one, source))) => {
                report.skipped.append(&mut one.skipped);
                prepared.push((one, source));
            }
            Some(Err(Trouble::Source(skipped))) => report.skipped.push(skipped),
            Some(Err(Trouble::Excluded)) => excluded.push(source),
            Some(Err(Trouble::Store(error))) => return Err(error),
            None => report.unchanged += 1,
        }
    }
    Ok((prepared, excluded))
}

/// Closes the sessions that have had no event for long enough; returns how many.
fn close_sessions(store: &Store, cursors: &mut Cursors, sweep: &Sweep<'_>) -> io::Result<usize> {
    let mut closed = 0;
    // A session of another device is that device's to close.
    for id in cursors.due(sweep.now).into_iter().filter(|id| id.device == sweep.device) {
        let path = store.layout().digest(&id);
        // One that cannot be read is left as it is; the next growth of its session names it.
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let mut document = Document::parse(&text);
        document.set_raw("state", "closed");
        closed += usize::from(files::write_if_changed(&path, document.to_text().as_bytes())?);
        if let Some(cursor) = cursors.session(&id).cloned() {
            cursors.remember_session(&id, SessionCursor { open_until: None, ..cursor });
        }
    }
    Ok(closed)
}
