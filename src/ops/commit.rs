//! Committing: what a sweep prepared takes its place in the tree, first the snapshots, then the
//! digests, then the days; and what a killed sweep left is finished or cleared away.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::adapters::eventlog;
use crate::base::clock::Timestamp;
use crate::base::files::{self, Batch};
use crate::base::zone::Zone;
use crate::distill::day::event_log;
use crate::error::{Context, Result};
use crate::model::digest::{Digest, State, Worth};
use crate::model::ids::SessionId;
use crate::model::knowledge::Kind;
use crate::model::session::Source;
use crate::ops::capture::{self, Prepared};
use crate::ops::sweep::{Sweep, Swept};
use crate::store::days::DayLines;
use crate::store::{Store, documents, layout};

/// How much text of days may wait in memory.
const DAY_BYTES: usize = 8 << 20;
/// The digest of a staged session, as it will be written.
const DIGEST: &str = "digest.md";

/// Puts prepared sessions in their places: snapshots, then digests, then days.
pub fn commit(
    store: &Store,
    sweep: &Sweep<'_>,
    batch: &[(Prepared, &Source)],
    mut id: impl FnMut(&str) -> SessionId,
) -> Result<Vec<(Swept, Option<Timestamp>)>> {
    let layout = store.layout();
    let cannot = || format!("cannot write to the memory `{}`", layout.root().display());
    let mut snapshots = Batch::new();
    let mut digests = Batch::new();
    let mut committing = Vec::new();
    let mut committed = Vec::new();
    for (prepared, source) in batch {
        let source_id = source.source_id();
        let session = id(&source_id);
        let mut draft = prepared.draft()?;
        draft.content.domain =
            draft.content.project.as_ref().and_then(|project| sweep.domains.get(project).cloned());
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
        store.refuse_links(Some(&session))?;
        let path = layout.digest(&session);
        let text = match fs::read_to_string(&path) {
            Ok(existing) => documents::digest_text_over(&existing, &digest),
            Err(err) if err.kind() == io::ErrorKind::NotFound => documents::digest_text(&digest),
            Err(err) => {
                return Err(err)
                    .context(|| format!("cannot read the digest `{}`", layout.shown(&path)));
            }
        };
        files::write_plain(&prepared.staged.join(DIGEST), text.as_bytes()).context(cannot)?;
        snapshots.rename_dir(&prepared.snapshot(), &layout.snapshot(&session)).context(cannot)?;
        digests.write(&path, text.as_bytes()).context(cannot)?;
        committing.push(Committing {
            staged: prepared.staged.file_name().unwrap_or_default().into(),
            session: session.clone(),
            manifest_sha256: digest.snapshot.manifest_sha256.clone(),
            has_days: digest.content.worth == Worth::Full,
            grown: path.exists(),
            // What was read from an event log needs no second one.
            event_log: (sweep.event_logs && source.flavor != eventlog::NAME)
                .then(|| source.flavor.to_string()),
        });
        committed.push((
            Swept {
                session,
                source_id,
                path: layout.shown(&path),
                status: digest.content.status.to_string(),
                bytes: digest.snapshot.bytes,
            },
            open_until,
        ));
    }
    // Raw before digest, also when the power fails in between. The days come last; the note of what
    // is being committed lets the next sweep write what a kill kept us from writing.
    let note = serde_json::to_vec(&committing).context(cannot)?;
    files::write_atomic(&layout.committing(), &note).context(cannot)?;
    snapshots.commit().context(cannot)?;
    digests.commit().context(cannot)?;
    write_days(store, sweep.zone, committing)?;
    Ok(committed)
}

/// Where a staged session has its snapshot.
pub fn snapshot_of(staged: &Path) -> PathBuf {
    staged.join("snapshot")
}

/// Puts a snapshot and a digest in the places of those that are there. Either may be missing: a
/// session without a snapshot, or one whose digest somebody removed.
pub fn replace(
    store: &Store,
    session: &SessionId,
    staged: &Path,
    digest: &str,
    manifest_sha256: &str,
) -> Result<()> {
    let layout = store.layout();
    let cannot = || format!("cannot write to `{}`", layout.shown(&layout.session(session)));
    let has_snapshot = snapshot_of(staged).is_dir();
    if has_snapshot {
        files::write_atomic(&staged.join(DIGEST), digest.as_bytes()).context(cannot)?;
        let committing = [Committing {
            staged: staged.file_name().unwrap_or_default().into(),
            session: session.clone(),
            manifest_sha256: manifest_sha256.to_string(),
            has_days: false,
            grown: true,
            event_log: None,
        }];
        files::write_atomic(
            &layout.committing(),
            &serde_json::to_vec(&committing).context(cannot)?,
        )
        .context(cannot)?;
        let mut snapshots = Batch::new();
        snapshots.rename_dir(&snapshot_of(staged), &layout.snapshot(session)).context(cannot)?;
        snapshots.commit().context(cannot)?;
    }
    if !digest.is_empty() {
        files::write_if_changed(&layout.digest(session), digest.as_bytes()).context(cannot)?;
    }
    match has_snapshot {
        true => files::remove_file(&layout.committing()).context(cannot),
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
    /// Whether it was captured before.
    #[serde(default)]
    grown: bool,
    /// Where its event log is written too: which agent's session it is.
    #[serde(default)]
    event_log: Option<String>,
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
            let lines = capture::day_lines(&layout.staging().join(&one.staged))?;
            let text = event_log(&one.session, flavor, lines);
            event_logs.write(&layout.event_log(&one.session), text.as_bytes()).context(cannot)?;
        }
        for line in capture::day_lines(&layout.staging().join(&one.staged))? {
            day_lines.add(&line, &one.session, zone);
        }
        if day_lines.bytes() > DAY_BYTES {
            std::mem::take(&mut day_lines).write(layout).context(cannot)?;
        }
    }
    day_lines.write(layout).context(cannot)?;
    event_logs.commit().context(cannot)?;
    files::remove_file(&layout.committing()).context(cannot)
}

/// Does what a sweep that was killed did not come to: the digests of the snapshots that it had put
/// in place (their logs may be gone by now), and the days of these sessions.
pub fn finish_earlier_sweep(store: &Store, zone: Zone) -> Result<()> {
    let layout = store.layout();
    let cannot = || format!("cannot finish an earlier sweep in `{}`", layout.root().display());
    let Ok(note) = fs::read(layout.committing()) else { return Ok(()) };
    let mut committing: Vec<Committing> = serde_json::from_slice(&note).unwrap_or_default();
    let digested = |one: &Committing| {
        let digest = store.digest(&one.session).ok().flatten();
        digest.is_some_and(|digest| digest.snapshot.manifest_sha256 == one.manifest_sha256)
    };
    for one in committing.iter().filter(|one| !digested(one)) {
        let manifest =
            fs::read(layout.snapshot(&one.session).join(layout::MANIFEST)).unwrap_or_default();
        let digest = fs::read(layout.staging().join(&one.staged).join(DIGEST));
        if let (true, Ok(digest)) = (files::sha256_hex(&manifest) == one.manifest_sha256, digest) {
            files::write_atomic(&layout.digest(&one.session), &digest).context(cannot)?;
        }
    }
    committing.retain(|one| digested(one) && layout.staging().join(&one.staged).exists());
    write_days(store, zone, committing)
}

/// Whether a killed command left an unfinished file where only holders of the sweep's lock write. A
/// memory that was never swept may just be being made by somebody else.
pub fn has_leftovers(store: &Store) -> bool {
    let layout = store.layout();
    let is_left = |folder: &Path| {
        let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.any(|entry| files::is_temporary(&entry.file_name()))
    };
    layout.cursors().exists()
        && (is_left(layout.root())
            || is_left(&layout.cores())
            || knowledge_folders(store).iter().any(|folder| is_left(folder)))
}

/// Removes what a killed sweep left unfinished beside the files and snapshots that it was to
/// replace. Only who holds the sweep's lock writes there, so that nobody is still at it.
pub fn remove_leftovers(store: &Store) -> io::Result<()> {
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
                // A snapshot that was moved aside; where its successor did not come, it is the one
                // that counts.
                true if !snapshot.exists() => files::rename(&entry.path(), &snapshot)?,
                true => files::remove_folder(&entry.path())?,
                false => files::remove_file(&entry.path())?,
            }
        }
    }
    for folder in
        [layout.root(), &layout.sessions(), &layout.days(), &layout.summaries(), &layout.cores()]
    {
        for entry in leftovers(folder) {
            files::remove_file(&entry.path())?;
        }
    }
    // Knowledge has a lock of its own: whoever holds it is still at work there.
    if let Some(_lock) = files::try_lock_exclusive(&layout.knowledge_lock())? {
        for folder in knowledge_folders(store) {
            for entry in leftovers(&folder) {
                files::remove_file(&entry.path())?;
            }
        }
    }
    Ok(())
}

fn knowledge_folders(store: &Store) -> Vec<PathBuf> {
    let layout = store.layout();
    let kinds = Kind::ALL.into_iter().map(|kind| layout.knowledge_of(kind));
    [layout.knowledge()].into_iter().chain(kinds).collect()
}
