//! The checks, one function each, in the order in which they are made.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use chrono::Duration;

use super::{Doctor, Level, Report, environment};
use crate::base::files;
use crate::capture::cursors::Cursors;
use crate::capture::raw;
use crate::error::{Context, Result};
use crate::index::Index;
use crate::model::ids::SessionId;
use crate::ops::forget;
use crate::store::tombstones::Tombstones;
use crate::store::{layout, snapshots};

type Check = fn(&Doctor<'_>, &'static str, &mut Report) -> Result<()>;

/// Every check with its name.
pub const ALL: &[(&str, Check)] = &[
    ("settings", settings),
    ("unfinished work", unfinished),
    ("digests", digests),
    ("snapshots", kept),
    ("forgotten", forgotten),
    ("cursors", cursors),
    ("index", index),
    ("clock", clock),
    ("permissions", environment::permissions),
    ("links", links),
    ("git", environment::git),
    ("merges", environment::merges),
    ("hooks", environment::hooks),
    ("disk", environment::disk),
];

fn settings(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
    for warning in doctor.warnings {
        let mend = "correct the line; `memtree config` shows every setting with its default";
        report.found(name, Level::Warning, warning, "the setting has no effect", mend);
    }
    Ok(())
}

/// What a killed command left behind. Its locks are none: the system takes them back.
fn unfinished(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
    let layout = doctor.store.layout();
    if doctor.dry_run && !layout.sweep_lock().exists() {
        return Ok(());
    }
    let lock = files::try_lock_exclusive(&layout.sweep_lock())
        .context(|| "cannot look at the locks".into())?;
    if lock.is_none() {
        let what = "another memtree is writing to this memory right now";
        report.found(name, Level::Note, what, "unfinished work is its own", "");
        return Ok(());
    }
    let mut left: Vec<PathBuf> =
        [layout.staging(), layout.committing(), layout.evicting(), layout.evicted()]
            .into_iter()
            .filter(|path| path.exists())
            .collect();
    let is_temporary =
        |path: &Path| files::is_temporary(path.file_name().unwrap_or(OsStr::new("")));
    let walked = files::walk_files(layout.root()).flatten();
    left.extend(walked.map(|found| found.path).filter(|path| is_temporary(path)));
    if left.is_empty() {
        return Ok(());
    }
    let first = layout.shown(&left[0]);
    let what = format!(
        "a command was stopped in the middle: {} left behind, such as `{first}`",
        left.len()
    );
    let means = "nothing is lost: what was not finished is done again";
    // The sweep takes the lock itself.
    drop(lock);
    if doctor.fix {
        doctor.sweep()?;
        for path in left.iter().filter(|path| is_temporary(path)) {
            let _ = files::remove_file(path);
        }
        report.mended(name, what, means, "swept, and cleared away");
    } else {
        report.found(
            name,
            Level::Warning,
            what,
            means,
            "`memtree sweep` finishes it; `memtree doctor --fix` clears up",
        );
    }
    Ok(())
}

fn digests(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
    let layout = doctor.store.layout();
    for id in sessions(doctor)? {
        let path = layout.digest(&id);
        let shown = layout.shown(&path);
        match doctor.store.digest(&id) {
            Ok(Some(_)) => {}
            Ok(None)
                if fs::read_dir(layout.session(&id))
                    .is_ok_and(|mut entries| entries.next().is_none()) =>
            {
                let what = format!("`{}` is empty", layout.shown(&layout.session(&id)));
                let means = "its id is taken, and it says nothing";
                report.found(
                    name,
                    Level::Note,
                    what,
                    means,
                    "remove the folder, if nothing was ever in it",
                );
            }
            Ok(None) => {
                let means = "the session is captured, but no search finds it";
                if written_again(doctor, &id)? {
                    report.mended(
                        name,
                        format!("`{shown}` is not there"),
                        means,
                        "written again from its raw",
                    );
                    continue;
                }
                let mend = match id.device == *doctor.memory.device() {
                    true => {
                        "`memtree doctor --fix` writes it from its raw, or `memtree sweep` from the log"
                    }
                    false => "its own device has it: `git pull`, or copy it from there",
                };
                report.found(name, Level::Error, format!("`{shown}` is not there"), means, mend);
            }
            Err(err) => {
                let what = format!("`{shown}`: {}", err.causes().join(": "));
                let means = "a search finds it by its words, but no filter does, and growth is not written into it";
                if written_again(doctor, &id)? {
                    report.mended(
                        name,
                        what,
                        means,
                        "written again from its raw; all that stood there is below the notes",
                    );
                    continue;
                }
                let mend = "correct its front matter; where its raw is here, `memtree doctor --fix` writes it again, \
                            with what stands there below the notes";
                report.found(name, Level::Error, what, means, mend);
            }
        }
    }
    Ok(())
}

/// Writes a digest again from its session's raw, where that is asked for and can be done.
fn written_again(doctor: &Doctor<'_>, id: &SessionId) -> Result<bool> {
    if !doctor.fix || id.device != *doctor.memory.device() {
        return Ok(false);
    }
    let cannot = || "cannot take the lock".to_string();
    let _lock = files::lock_exclusive(&doctor.store.layout().sweep_lock()).context(cannot)?;
    raw::restore_digest(&doctor.memory.capture_settings()?, id)
}

fn kept(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
    let layout = doctor.store.layout();
    for id in sessions(doctor)? {
        let Ok(Some(digest)) = doctor.store.digest(&id) else { continue };
        // Snapshots are local: another device's are on that device.
        if id.device != *doctor.memory.device() || digest.snapshot.evicted.is_some() {
            continue;
        }
        let snapshot = layout.snapshot(&id);
        if !snapshot.is_dir() {
            let means = "its digest says that raw is here, and it is not: what it points to cannot be recalled";
            let mend = "copy it back from a backup; or remove the digest, and `memtree sweep` captures the log anew";
            report.found(
                name,
                Level::Error,
                format!("`{}` is not there", layout.shown(&snapshot)),
                means,
                mend,
            );
            continue;
        }
        let manifest = snapshot.join(layout::MANIFEST);
        let there = fs::read(&manifest).ok();
        if there
            .as_ref()
            .is_some_and(|bytes| files::sha256_hex(bytes) == digest.snapshot.manifest_sha256)
        {
            continue;
        }
        let what = match there {
            Some(_) => format!("`{}` is not as it was", layout.shown(&manifest)),
            None => format!("`{}` is not there", layout.shown(&manifest)),
        };
        let means = "whether the snapshot is whole cannot be proven";
        // The files themselves tell what stood in it, if none of them has changed.
        let again = snapshots::manifest_again(&snapshot).unwrap_or_default();
        let is_whole = files::sha256_hex(again.as_bytes()) == digest.snapshot.manifest_sha256;
        match (is_whole, doctor.fix) {
            (true, true) => {
                let written = files::write_atomic(&manifest, again.as_bytes());
                written.context(|| format!("cannot write `{}`", manifest.display()))?;
                report.mended(name, what, means, "written again: every file is as the digest says");
            }
            (true, false) => {
                let mend =
                    "`memtree doctor --fix` writes it again: every file is as the digest says";
                report.found(name, Level::Error, what, means, mend);
            }
            (false, _) => {
                let mend =
                    "`memtree verify` names the files that changed; copy them back from a backup";
                report.found(name, Level::Error, what, means, mend);
            }
        }
    }
    Ok(())
}

fn forgotten(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
    let layout = doctor.store.layout();
    let tombstones =
        Tombstones::load(layout).context(|| "cannot read what was forgotten".into())?;
    let back: Vec<String> = tombstones
        .sessions()
        .filter(|session| layout.session(session).exists())
        .map(|session| session.to_string())
        .collect();
    if back.is_empty() {
        return Ok(());
    }
    let what = format!("forgotten, but still here: {}", back.join(", "));
    let means = "a `forget` was stopped in the middle, or a sync brought it back";
    if doctor.fix {
        let lock = files::lock_exclusive(&layout.sweep_lock())
            .context(|| "cannot take the lock".into())?;
        forget::finish(doctor.store, &tombstones, &forget::Request::of(doctor.memory)?)?;
        drop(lock);
        report.mended(name, what, means, "removed");
    } else {
        report.found(name, Level::Error, what, means, "`memtree sweep` removes it");
    }
    Ok(())
}

fn cursors(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
    let path = doctor.store.layout().cursors();
    if !path.exists() || Cursors::is_readable(&path) {
        return Ok(());
    }
    let what = format!(
        "`{}` cannot be read, or is an older program's",
        doctor.store.layout().shown(&path)
    );
    let means = "the next sweep looks into every log once more; nothing else";
    if doctor.fix {
        files::remove_file(&path).context(|| format!("cannot remove `{}`", path.display()))?;
        report.mended(name, what, means, "removed; it is made again");
    } else {
        report.found(name, Level::Note, what, means, "the next sweep writes it again");
    }
    Ok(())
}

fn index(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
    // Opening mends it; where nothing may be written, it is made in memory.
    let opened =
        if doctor.dry_run { Index::in_memory(doctor.store) } else { Index::open(doctor.store) };
    if let Err(err) = opened.map(drop) {
        let mend =
            format!("remove `{}`; it is made again", doctor.store.layout().index().display());
        report.found(
            name,
            Level::Error,
            format!("the index cannot be opened: {err}"),
            "searches fail",
            &mend,
        );
    }
    Ok(())
}

fn clock(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
    let limit = doctor.memory.now() + Duration::minutes(10);
    let mut ahead = Vec::new();
    for id in sessions(doctor)? {
        if let Ok(Some(digest)) = doctor.store.digest(&id)
            && (digest.captured > limit || digest.content.ended.is_some_and(|ended| ended > limit))
        {
            ahead.push(id.to_string());
        }
    }
    if !ahead.is_empty() {
        let what =
            format!("{} of the future, such as {}", sessions_in_words(ahead.len()), ahead[0]);
        let means = "a clock was or is wrong; ages are counted from these times, so nothing of them is evicted too early";
        report.found(
            name,
            Level::Warning,
            what,
            means,
            "check this machine's clock, and those of the other devices",
        );
    }
    Ok(())
}

fn links(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
    let layout = doctor.store.layout();
    let sessions = sessions(doctor)?;
    // A folder's snapshot may hold links of its own; they are kept as links and never followed.
    let places = [layout.sessions(), layout.daily(), layout.days(), layout.own()];
    let places = places.into_iter().chain(
        sessions.iter().flat_map(|id| [layout.session(id), layout.digest(id), layout.snapshot(id)]),
    );
    for path in
        places.filter(|path| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()))
    {
        let means = "a link may lead anywhere, so nothing is read or written through it";
        let what = format!("`{}` is a link", layout.shown(&path));
        report.found(name, Level::Error, what, means, "put the real file or folder in its place");
    }
    Ok(())
}

pub fn sessions(doctor: &Doctor<'_>) -> Result<Vec<SessionId>> {
    doctor.store.session_ids().context(|| "cannot list the sessions".into())
}

fn sessions_in_words(count: usize) -> String {
    if count == 1 { "1 session is".into() } else { format!("{count} sessions are") }
}
