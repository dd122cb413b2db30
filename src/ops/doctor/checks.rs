//! The checks, one function each, in the order in which they are made.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use chrono::Duration;

use super::{Doctor, Level, Report};
use crate::base::files;
use crate::error::{Context, Result};
use crate::index::Index;
use crate::ops::cursors::Cursors;
use crate::ops::{forget, sweep};
use crate::store::layout;
use crate::store::tombstones::Tombstones;

type Check = fn(&Doctor<'_>, &'static str, &mut Report) -> Result<()>;

/// Every check with its name.
pub const ALL: &[(&str, Check)] = &[
    ("settings", settings),
    ("unfinished work", unfinished),
    ("digests", digests),
    ("snapshots", snapshots),
    ("forgotten", forgotten),
    ("cursors", cursors),
    ("index", index),
    ("clock", clock),
    ("permissions", permissions),
    ("links", links),
    ("git", git),
    ("disk", disk),
];

/// Less free space than this is a warning, and a tenth of it an error.
const LITTLE_SPACE: u64 = 1 << 30;

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
    let lock = files::try_lock_exclusive(&layout.sweep_lock()).context(|| "cannot look at the locks".into())?;
    if lock.is_none() {
        let what = "another memtree is writing to this memory right now";
        report.found(name, Level::Note, what, "unfinished work is its own", "");
        return Ok(());
    }
    let mut left: Vec<PathBuf> =
        [layout.staging(), layout.committing()].into_iter().filter(|path| path.exists()).collect();
    let is_temporary = |path: &Path| files::is_temporary(path.file_name().unwrap_or(OsStr::new("")));
    let walked = files::walk_files(layout.root()).flatten();
    left.extend(walked.map(|found| found.path).filter(|path| is_temporary(path)));
    if left.is_empty() {
        return Ok(());
    }
    let first = layout.shown(&left[0]);
    let what = format!("a command was stopped in the middle: {} left behind, such as `{first}`", left.len());
    let means = "nothing is lost: what was not finished is done again";
    // The sweep takes the lock itself.
    drop(lock);
    if doctor.fix {
        sweep::sweep(doctor.store, doctor.sweep)?;
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
            Ok(None) if fs::read_dir(layout.session(&id)).is_ok_and(|mut entries| entries.next().is_none()) => {
                let what = format!("`{}` is empty", layout.shown(&layout.session(&id)));
                let means = "its id is taken, and it says nothing";
                report.found(name, Level::Note, what, means, "remove the folder, if nothing was ever in it");
            }
            Ok(None) => {
                let means = "the session is captured, but no search finds it";
                let mend = "`memtree sweep` writes it while the agent still has the log";
                report.found(name, Level::Error, format!("`{shown}` is not there"), means, mend);
            }
            Err(err) => {
                let means = "a search finds it by its words, but no filter does, and growth is not written into it";
                let mend =
                    "correct its front matter; or move the file away and run `memtree sweep`, then put your notes back";
                report.found(name, Level::Error, format!("`{shown}`: {}", err.causes().join(": ")), means, mend);
            }
        }
    }
    Ok(())
}

fn snapshots(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
    let layout = doctor.store.layout();
    for id in sessions(doctor)? {
        let Ok(Some(digest)) = doctor.store.digest(&id) else { continue };
        // Snapshots are local: another device's are on that device.
        if id.device != doctor.sweep.device || digest.snapshot.evicted.is_some() {
            continue;
        }
        let snapshot = layout.snapshot(&id);
        if !snapshot.is_dir() {
            let means = "its digest says that raw is here, and it is not: what it points to cannot be recalled";
            let mend = "copy it back from a backup; or remove the digest, and `memtree sweep` captures the log anew";
            report.found(name, Level::Error, format!("`{}` is not there", layout.shown(&snapshot)), means, mend);
        } else if !snapshot.join(layout::MANIFEST).is_file() {
            let what = format!("`{}` is not there", layout.shown(&snapshot.join(layout::MANIFEST)));
            let means = "whether the snapshot is whole cannot be proven";
            report.found(name, Level::Error, what, means, "copy it back from a backup");
        }
    }
    Ok(())
}

fn forgotten(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
    let layout = doctor.store.layout();
    let tombstones = Tombstones::load(layout).context(|| "cannot read what was forgotten".into())?;
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
        let lock = files::lock_exclusive(&layout.sweep_lock()).context(|| "cannot take the lock".into())?;
        forget::finish(doctor.store, &tombstones)?;
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
    let what = format!("`{}` cannot be read, or is an older program's", doctor.store.layout().shown(&path));
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
    let opened = if doctor.dry_run { Index::in_memory(doctor.store) } else { Index::open(doctor.store) };
    if let Err(err) = opened.map(drop) {
        let mend = format!("remove `{}`; it is made again", doctor.store.layout().index().display());
        report.found(name, Level::Error, format!("the index cannot be opened: {err}"), "searches fail", &mend);
    }
    Ok(())
}

fn clock(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
    let limit = doctor.sweep.now + Duration::minutes(10);
    let mut ahead = Vec::new();
    for id in sessions(doctor)? {
        if let Ok(Some(digest)) = doctor.store.digest(&id)
            && (digest.captured > limit || digest.content.ended.is_some_and(|ended| ended > limit))
        {
            ahead.push(id.to_string());
        }
    }
    if !ahead.is_empty() {
        let what = format!("{} of the future, such as {}", sessions_in_words(ahead.len()), ahead[0]);
        let means =
            "a clock was or is wrong; ages are counted from these times, so nothing of them is evicted too early";
        report.found(name, Level::Warning, what, means, "check this machine's clock, and those of the other devices");
    }
    Ok(())
}

#[cfg(unix)]
fn permissions(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let layout = doctor.store.layout();
    let is_open = |path: &Path| {
        fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir() && metadata.permissions().mode() & 0o077 != 0)
    };
    // A closed folder closes everything below it.
    let open: Vec<PathBuf> =
        sessions(doctor)?.iter().map(|id| layout.snapshot(id)).filter(|folder| is_open(folder)).collect();
    if open.is_empty() {
        return Ok(());
    }
    let what = format!(
        "{} may be read by others on this machine, such as `{}`",
        match open.len() {
            1 => "1 snapshot".to_string(),
            many => format!("{many} snapshots"),
        },
        layout.shown(&open[0])
    );
    let means = "raw logs may hold secrets";
    if doctor.fix {
        for folder in &open {
            let closed = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
            closed.context(|| format!("cannot close `{}`", folder.display()))?;
        }
        report.mended(name, what, means, "closed");
    } else {
        report.found(name, Level::Error, what, means, "`memtree doctor --fix` closes them");
    }
    Ok(())
}

#[cfg(not(unix))]
fn permissions(_: &Doctor<'_>, _: &'static str, _: &mut Report) -> Result<()> {
    Ok(())
}

fn links(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
    let layout = doctor.store.layout();
    let sessions = sessions(doctor)?;
    // A folder's snapshot may hold links of its own; they are kept as links and never followed.
    let places = [layout.sessions(), layout.daily(), layout.days(), layout.own()];
    let places = places
        .into_iter()
        .chain(sessions.iter().flat_map(|id| [layout.session(id), layout.digest(id), layout.snapshot(id)]));
    for path in places.filter(|path| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())) {
        let means = "a link may lead anywhere, so nothing is read or written through it";
        let what = format!("`{}` is a link", layout.shown(&path));
        report.found(name, Level::Error, what, means, "put the real file or folder in its place");
    }
    Ok(())
}

/// Raw must not leave the machine by accident.
fn git(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
    let layout = doctor.store.layout();
    if !layout.git().exists() {
        return Ok(());
    }
    let ignored = fs::read_to_string(layout.gitignore()).unwrap_or_default();
    let needed = layout::IGNORED_BY_GIT.iter().filter(|needed| !ignored.lines().any(|line| line.trim() == **needed));
    let missing: Vec<&str> = needed.copied().collect();
    if missing.is_empty() {
        return Ok(());
    }
    let what = format!("`.gitignore` does not leave out {}", missing.join(" and "));
    let means = "git would carry raw logs, or this device's own files, to other machines";
    if doctor.fix {
        let ends = if ignored.is_empty() || ignored.ends_with('\n') { "" } else { "\n" };
        let text = format!("{ignored}{ends}{}\n", missing.join("\n"));
        files::write_atomic(&layout.gitignore(), text.as_bytes()).context(|| "cannot write `.gitignore`".into())?;
        report.mended(name, what, means, "added; what git has already, `git rm -r --cached` takes out");
    } else {
        report.found(name, Level::Warning, what, means, "add these lines, or run `memtree doctor --fix`");
    }
    Ok(())
}

#[cfg(unix)]
fn disk(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
    let Ok(space) = rustix::fs::statvfs(doctor.store.layout().root()) else { return Ok(()) };
    let free = space.f_bavail * space.f_frsize;
    if free >= LITTLE_SPACE {
        return Ok(());
    }
    let level = if free < LITTLE_SPACE / 10 { Level::Error } else { Level::Warning };
    let what = format!("{} MB are free on the disk of the memory", free / 1_000_000);
    let means = "a sweep that finds no room stops; what is there stays as it is";
    report.found(
        name,
        level,
        what,
        means,
        "make room, or set a budget: `retention` in memtree.toml, then `memtree retain`",
    );
    Ok(())
}

#[cfg(not(unix))]
fn disk(_: &Doctor<'_>, _: &'static str, _: &mut Report) -> Result<()> {
    Ok(())
}

fn sessions(doctor: &Doctor<'_>) -> Result<Vec<crate::model::ids::SessionId>> {
    doctor.store.session_ids().context(|| "cannot list the sessions".into())
}

fn sessions_in_words(count: usize) -> String {
    if count == 1 { "1 session is".into() } else { format!("{count} sessions are") }
}
