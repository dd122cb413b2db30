//! Committing: what was staged takes its place in the tree, first the snapshots, then the digests,
//! then the days; and what a killed sweep left is finished or cleared away.

use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::cursors::SessionCursor;
use super::known::Known;
use super::stage::{self, SNAPSHOT, StagedSession};
use super::{CaptureSettings, raw};
use crate::adapters::{self, eventlog};
use crate::base::clock::Timestamp;
use crate::base::files::{self, Batch};
use crate::base::front_matter::Document;
use crate::base::zone::Zone;
use crate::distill::day::event_log;
use crate::error::{Context, Result};
use crate::model::digest::{Digest, SnapshotShape, State, Worth};
use crate::model::ids::SessionId;
use crate::model::knowledge::Kind;
use crate::store::day::DayLines;
use crate::store::device::Acquaintance;
use crate::store::guards;
use crate::store::layout::Layout;
use crate::store::local::StateFile;
use crate::store::{Store, authored, digest, layout};

/// How many sessions are committed with one sync.
const BATCH: usize = 256;
/// How much text of days may wait in memory.
const DAY_BYTES: usize = 8 << 20;
/// The digest of a staged session.
const DIGEST: &str = "digest.json";
/// The page that a staged session is to get, where somebody else made it.
const PAGE: &str = "digest.md";

/// A session that was put in its place.
#[derive(Debug, Serialize)]
pub struct CapturedSession {
    pub session: SessionId,
    pub source_id: String,
    pub path: String,
    pub status: String,
    #[serde(skip)]
    pub open_until: Option<Timestamp>,
    #[serde(skip)]
    bytes: u64,
}

/// Puts staged sessions in their places, in the order in which they ended, and remembers them.
pub fn commit_all(
    settings: &CaptureSettings<'_>,
    known: &mut Known,
    mut staged: Vec<StagedSession>,
    mut remember: impl FnMut(&mut Known, &StagedSession),
) -> Result<Vec<CapturedSession>> {
    staged.sort_by_key(|one| (one.ended, one.source.source_id()));
    let mut captured = Vec::new();
    for batch in staged.chunks(BATCH) {
        let committed = commit(settings, known, batch, true)?;
        for (one, swept) in batch.iter().zip(&committed) {
            remember(known, one);
            let cursor = SessionCursor {
                source_id: swept.source_id.clone(),
                open_until: swept.open_until,
                bytes: swept.bytes,
                raw_since: Some(settings.now),
            };
            known.cursors.remember_session(&swept.session, cursor);
        }
        captured.extend(committed);
    }
    Ok(captured)
}

/// Puts a session in its place that was made again from its own raw: its days are as they are.
pub fn commit_again(
    settings: &CaptureSettings<'_>,
    known: &mut Known,
    staged: StagedSession,
) -> Result<()> {
    commit(settings, known, &[staged], false).map(drop)
}

/// Puts a batch in its place: snapshots, then digests, then days where they have any.
fn commit(
    settings: &CaptureSettings<'_>,
    known: &mut Known,
    batch: &[StagedSession],
    has_days: bool,
) -> Result<Vec<CapturedSession>> {
    let store = settings.store;
    let layout = store.layout();
    let cannot = || settings.store.cannot_write();
    let mut snapshots = Batch::new();
    let mut digests = Batch::of_pages(&layout.replacing());
    let mut sessions = Vec::new();
    for staged in batch {
        let source_id = staged.source.source_id();
        let session = match staged.as_new {
            true => known.new_id(&source_id, settings),
            false => known.id_for(&source_id, settings),
        };
        sessions.push((staged, session));
    }
    let prepared: Result<Vec<Prepared>> =
        sessions.into_par_iter().map(|(staged, id)| prepare(settings, staged, id)).collect();
    let (mut committing, mut committed, mut pages) = (Vec::new(), Vec::new(), Vec::new());
    for Prepared { staged, digest, open_until, facts } in prepared? {
        let session = &digest.session;
        let path = layout.digest(session);
        let grown = files::exists(&path);
        if digest.content.shape() == SnapshotShape::Folder
            && let Some(text) = guards::with_line(layout, session)
        {
            let guard = layout.session_gitignore(session);
            snapshots.write(&guard, text.as_bytes()).context(cannot)?;
        }
        snapshots.rename_dir(&staged.snapshot(), &layout.snapshot(session)).context(cannot)?;
        // What was read from an event log needs no second one, and a folder has no events.
        let has_event_log = settings.event_logs
            && adapters::named(staged.source.flavor)
                .is_some_and(|adapter| adapter.name() != eventlog::NAME);
        committing.push(Committing {
            staged: staged.folder.file_name().unwrap_or_default().into(),
            session: session.clone(),
            manifest_sha256: digest.snapshot.manifest_sha256.clone(),
            has_days: has_days && digest.content.worth == Worth::Full,
            page_was: None,
            grown,
            event_log: has_event_log.then(|| staged.source.flavor.to_string()),
        });
        committed.push(CapturedSession {
            path: layout.shown(&path),
            status: digest.content.status.to_string(),
            bytes: digest.snapshot.bytes,
            session: digest.session.clone(),
            source_id: digest.source_id.clone(),
            open_until,
        });
        let merge = authored::merging_shared(move |now| {
            let whole = facts.as_ref().zip(now);
            let whole = whole.map(|(facts, now)| digest::with_machine_facts(now, facts));
            Some(digest::text_now(whole.as_deref().or(now), &digest))
        });
        pages.push((path, merge));
    }
    if let Err((path, err)) = digests.merge_all(pages) {
        return Err(err).context(|| format!("cannot read the digest `{}`", layout.shown(&path)));
    }
    // Before they are there: what has this device's name and was not noted came from elsewhere.
    // One that was begun on a device that nobody trusts holds that device's words, too.
    let is_own = |id: &&SessionId| {
        let is_new = !files::exists(layout.digest(id));
        let standing = settings.trust.of_session(id);
        (is_new && id.device == *settings.device) || standing.speaks_for_person()
    };
    let sessions = committed.iter().map(|one| &one.session).filter(is_own);
    Acquaintance::note_own(layout, sessions).context(cannot)?;
    // Raw before digest, also when the power fails in between. The days come last; the note of what
    // is being committed lets the next sweep write what a kill kept us from writing.
    Committing::file(layout).save(&committing).context(cannot)?;
    snapshots.commit().context(cannot)?;
    digests.commit().context(cannot)?;
    write_days(store, settings.zone, committing)?;
    Ok(committed)
}

/// A staged session with what its page will say.
struct Prepared<'s> {
    staged: &'s StagedSession,
    digest: Digest,
    open_until: Option<Timestamp>,
    /// What machines need and an older page lacks.
    facts: Option<String>,
}

/// Makes the digest of a staged session and keeps it beside the snapshot, for whoever finishes what
/// a kill prevents.
fn prepare<'s>(
    settings: &CaptureSettings<'_>,
    staged: &'s StagedSession,
    session: SessionId,
) -> Result<Prepared<'s>> {
    let cannot = || settings.store.cannot_write();
    let (digest, open_until) = digest(settings, staged, session)?;
    settings.store.refuse_links(Some(&digest.session))?;
    let bytes = serde_json::to_vec(&digest).map_err(io::Error::from).context(cannot)?;
    files::write_plain(&staged.folder.join(DIGEST), &bytes).context(cannot)?;
    let facts = raw::facts_again(settings, &digest.session);
    Ok(Prepared { staged, digest, open_until, facts })
}

/// The digest of a staged session, and until when it stays open.
fn digest(
    settings: &CaptureSettings<'_>,
    staged: &StagedSession,
    session: SessionId,
) -> Result<(Digest, Option<Timestamp>)> {
    let draft = staged.draft()?;
    let open_until = draft.content.ended.map(|ended| ended + settings.open_for);
    let open_until = open_until.filter(|until| !draft.ended && *until > settings.now);
    let digest = Digest {
        adopted_by: settings.adopter(&session),
        session,
        source_id: staged.source.source_id(),
        captured: settings.now,
        state: if open_until.is_some() { State::Open } else { State::Closed },
        content: draft.content,
        snapshot: draft.snapshot,
    };
    Ok((digest, open_until))
}

/// Closes the sessions that have had no event for long enough; returns how many.
pub fn close_sessions(settings: &CaptureSettings<'_>, known: &mut Known) -> io::Result<usize> {
    let (store, cursors) = (settings.store, &mut known.cursors);
    let mut closed = 0;
    // A session of another device is that device's to close.
    let adopter =
        |id: &SessionId| store.digest(id).ok().flatten().and_then(|digest| digest.adopted_by);
    let is_ours = |id: &SessionId| settings.writes(id, adopter(id).as_ref());
    for id in cursors.due(settings.now).into_iter().filter(is_ours) {
        let path = store.layout().digest(&id);
        let closing = |text: &str| {
            let mut document = Document::parse(text);
            document.set_raw("state", "closed");
            document.into_text()
        };
        match authored::replace(store.layout(), &path, |now| now.map(closing)) {
            // One that cannot be read is left as it is; the next growth of its session names it.
            Err(err) if err.kind() == io::ErrorKind::InvalidData => continue,
            changed => closed += usize::from(changed?),
        }
        if let Some(cursor) = cursors.session(&id).cloned() {
            cursors.remember_session(&id, SessionCursor { open_until: None, ..cursor });
        }
    }
    Ok(closed)
}

/// Puts a snapshot and a digest in the places of those that are there. Either may be missing: a
/// session without a snapshot, or one whose digest somebody removed. `page` says what becomes of
/// the digest.
pub fn replace(
    store: &Store,
    session: &SessionId,
    staged: &Path,
    page: impl Fn(&str) -> String,
    manifest_sha256: &str,
) -> Result<()> {
    let layout = store.layout();
    let cannot = || format!("cannot write to `{}`", layout.shown(&layout.session(session)));
    let has_snapshot = files::is_dir(staged.join(SNAPSHOT));
    if has_snapshot {
        let before = files::read_to_string(layout.digest(session)).unwrap_or_default();
        files::write_atomic(&staged.join(PAGE), page(&before).as_bytes()).context(cannot)?;
        let committing = Committing {
            page_was: Some(files::sha256_hex(before.as_bytes())),
            staged: staged.file_name().unwrap_or_default().into(),
            session: session.clone(),
            manifest_sha256: manifest_sha256.to_string(),
            has_days: false,
            grown: true,
            event_log: None,
        };
        Committing::file(layout).save(&vec![committing]).context(cannot)?;
        let mut snapshots = Batch::new();
        snapshots.rename_dir(&staged.join(SNAPSHOT), &layout.snapshot(session)).context(cannot)?;
        snapshots.commit().context(cannot)?;
    }
    let path = layout.digest(session);
    authored::replace(layout, &path, |now| now.map(&page)).context(cannot)?;
    match has_snapshot {
        true => Committing::file(layout).remove().context(cannot),
        false => Ok(()),
    }
}

/// A session that is being put in its place.
#[derive(Debug, Serialize, Deserialize)]
struct Committing {
    /// The folder in which it was prepared, below the staging folder: the memory may be moved.
    staged: PathBuf,
    session: SessionId,
    manifest_sha256: String,
    /// Whether its lines go into the days.
    has_days: bool,
    /// The hash of the page from which the staged one was made, where one was.
    #[serde(default)]
    page_was: Option<String>,
    /// Whether it was captured before.
    #[serde(default)]
    grown: bool,
    /// Where its event log is written too: which agent's session it is.
    #[serde(default)]
    event_log: Option<String>,
}

impl Committing {
    /// Writes the digest that waits beside the staged snapshot, around what is there by now.
    fn write_digest(&self, store: &Store) -> io::Result<()> {
        let (layout, path) = (store.layout(), store.layout().digest(&self.session));
        let staged = layout.staging().join(&self.staged);
        if let Some(bytes) = files::if_exists(files::read(staged.join(DIGEST)))? {
            let Ok(digest) = serde_json::from_slice::<Digest>(&bytes) else { return Ok(()) };
            return store.write_digest(&digest).map(drop);
        }
        let Some(page) = files::if_exists(files::read_to_string(staged.join(PAGE)))? else {
            return Ok(());
        };
        // A page that somebody changed since stays as it is: what was to be done is asked for
        // again.
        let is_same =
            |now: &str| self.page_was.as_ref() == Some(&files::sha256_hex(now.as_bytes()));
        let merge = |now: Option<&str>| now.is_none_or(is_same).then(|| page.clone());
        authored::replace(layout, &path, merge).map(drop)
    }

    fn file(layout: &Layout) -> StateFile<Vec<Committing>> {
        StateFile::local(layout.committing())
    }
}

/// Writes the days' lines of sessions whose digests are in place, their event logs where these are
/// wanted, and forgets the note about them.
fn write_days(store: &Store, zone: Zone, committing: Vec<Committing>) -> Result<()> {
    let layout = store.layout();
    let cannot = || format!("cannot write the days of `{}`", layout.root().display());
    let mut day_lines = DayLines::default();
    let mut event_logs = Batch::new();
    for one in committing.into_iter().filter(|one| one.has_days) {
        if one.grown {
            day_lines.grows(&one.session);
        }
        if let Some(flavor) = &one.event_log {
            let lines = stage::day_lines(&layout.staging().join(&one.staged))?;
            let text = event_log(&one.session, flavor, lines);
            event_logs.write(&layout.event_log(&one.session), text.as_bytes()).context(cannot)?;
        }
        for line in stage::day_lines(&layout.staging().join(&one.staged))? {
            day_lines.add(&line, &one.session, zone);
        }
        if day_lines.bytes() > DAY_BYTES {
            std::mem::take(&mut day_lines).write(layout).context(cannot)?;
        }
    }
    day_lines.write(layout).context(cannot)?;
    event_logs.commit().context(cannot)?;
    Committing::file(layout).remove().context(cannot)
}

/// Does what a sweep that was killed did not come to: the digests of the snapshots that it had put
/// in place (their logs may be gone by now), and the days of these sessions.
pub fn finish_earlier_sweep(store: &Store, zone: Zone) -> Result<()> {
    let layout = store.layout();
    let cannot = || format!("cannot finish an earlier sweep in `{}`", layout.root().display());
    if !Committing::file(layout).is_saved() {
        return Ok(());
    }
    let mut committing = Committing::file(layout).load();
    let digested = |one: &Committing| {
        let digest = store.digest(&one.session).ok().flatten();
        digest.is_some_and(|digest| digest.snapshot.manifest_sha256 == one.manifest_sha256)
    };
    for one in committing.iter().filter(|one| !digested(one)) {
        let manifest =
            files::read(layout.snapshot(&one.session).join(layout::MANIFEST)).unwrap_or_default();
        if files::sha256_hex(&manifest) == one.manifest_sha256 {
            one.write_digest(store).context(cannot)?;
        }
    }
    committing.retain(|one| digested(one) && files::exists(layout.staging().join(&one.staged)));
    write_days(store, zone, committing)
}

/// Whether a killed command left an unfinished file where only holders of the sweep's lock write. A
/// memory that was never swept may just be being made by somebody else.
pub fn has_leftovers(store: &Store) -> bool {
    let layout = store.layout();
    let is_left = |folder: &Path| {
        let mut entries = files::read_dir(folder).into_iter().flatten().flatten();
        entries.any(|entry| files::is_temporary(&entry.file_name()))
    };
    files::exists(layout.cursors())
        && (is_left(layout.root())
            || is_left(&layout.cores())
            || is_left(&layout.days())
            || is_left(&layout.summaries())
            || knowledge_folders(store).iter().any(|folder| is_left(folder)))
}

/// Removes what a killed sweep left unfinished beside the files and snapshots that it was to
/// replace. Only who holds the sweep's lock writes there, so that nobody is still at it.
pub fn remove_leftovers(store: &Store) -> io::Result<()> {
    let layout = store.layout();
    let sessions = store.session_ids()?;
    // What came out of a page's place may hold what a person saved.
    files::recover(&layout.replacing())?;
    let noted = layout.replacing().noted();
    let leftovers = |folder: &Path| {
        let entries = files::read_dir(folder).into_iter().flatten().flatten();
        let is_left = |entry: &std::fs::DirEntry| {
            files::is_temporary(&entry.file_name()) && !noted.contains(&entry.path())
        };
        entries.filter(is_left).collect::<Vec<_>>()
    };
    for id in &sessions {
        for entry in leftovers(&layout.session(id)) {
            let snapshot = layout.snapshot(id);
            match entry.file_type()?.is_dir() {
                // A snapshot that was moved aside; where its successor did not come, it is the one
                // that counts.
                true if !files::exists(&snapshot) => files::rename(&entry.path(), &snapshot)?,
                true => files::remove_folder(&entry.path())?,
                false => files::remove_file(&entry.path())?,
            }
        }
    }
    let clear = |folders: &[&Path]| {
        let entries = folders.iter().flat_map(|folder| leftovers(folder));
        entries.into_iter().try_for_each(|entry| files::remove_file(&entry.path()))
    };
    clear(&[layout.root(), &layout.sessions(), &layout.cores()])?;
    // Whoever writes into days has locks of their own, and holds one of these.
    let days = files::try_lock_exclusive(&layout.days_lock())?;
    let pages = files::try_lock_exclusive(&layout.pages_lock())?;
    if days.is_some() && pages.is_some() {
        clear(&[&layout.days(), &layout.summaries()])?;
    }
    drop((days, pages));
    // Knowledge has a lock of its own: whoever holds it is still at work there.
    if let Some(_lock) = files::try_lock_exclusive(&layout.knowledge_lock())? {
        let folders = knowledge_folders(store);
        clear(&folders.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
    }
    Ok(())
}

fn knowledge_folders(store: &Store) -> Vec<PathBuf> {
    let layout = store.layout();
    let kinds = Kind::ALL.into_iter().map(|kind| layout.knowledge_of(kind));
    [layout.knowledge()].into_iter().chain(kinds).collect()
}
