//! The checks, one function each, in the order in which they are made.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use chrono::Duration;

use super::finding::Findings;
use super::{Doctor, environment};
use crate::base::files;
use crate::capture::cursors::Cursors;
use crate::capture::raw;
use crate::error::{Context, Error, Result};
use crate::index::{Corpus, Index, Source};
use crate::model::ids::SessionId;
use crate::ops::devices::{command, meet};
use crate::ops::duplicates;
use crate::ops::forget;
use crate::ops::repair;
use crate::ops::verify::{Finding, UNGUARDED, VerifyRequest};
use crate::store::layout;
use crate::store::seals::Seals;
use crate::store::snapshots::manifest_again;
use crate::store::tombstones::Tombstones;

type Check = fn(&Doctor<'_>, &mut Findings) -> Result<()>;

/// Every check with its name.
pub const ALL: &[(&str, Check)] = &[
    ("settings", settings),
    ("devices", devices),
    ("unfinished work", unfinished),
    ("digests", digests),
    ("duplicates", duplicates),
    ("snapshots", snapshots),
    ("forgotten", forgotten),
    ("cursors", cursors),
    ("index", index),
    ("copies", environment::copies),
    ("names", environment::names),
    ("damage", damage),
    ("clock", clock),
    ("drift", drift),
    ("permissions", environment::permissions),
    ("links", links),
    ("git", environment::git),
    ("merges", environment::merges),
    ("hooks", environment::hooks),
    ("servers", environment::servers),
    ("given", environment::given),
    ("disk", environment::disk),
];

/// Versions of agents that write more that is not known than those before them.
fn drift(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    for drift in doctor.memory.drift()?.iter().filter(|drift| drift.jumped) {
        let means = "what was done in these sessions may be described badly, or not at all";
        let fix = "update memtree, or send us what `memtree doctor --unknown` prints";
        findings.warning(drift.sentence(), means, fix);
    }
    Ok(())
}

fn settings(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    for warning in doctor.warnings {
        let fix = "correct the line; `memtree config` shows every setting with its default";
        findings.warning(warning, "the setting has no effect", fix);
    }
    for setting in doctor.memory.waiting_settings() {
        let means = "the file may have come from elsewhere, so what you accepted stays in force";
        let key = setting.accept.rsplit(' ').next().unwrap_or_default();
        let fix = format!("`{}`, or `memtree config reject {key}`", setting.accept);
        findings.warning(format!("not accepted here: {}", setting.shown()), means, fix);
    }
    Ok(())
}

/// What it means where lines or sections are no longer there.
const TAKEN_OUT: &str = "somebody took it out, or it was lost; as long as nobody asks, it stays so";

/// Pages and snapshots that are not what they were. What a person may have done is made again only
/// if they say so.
fn damage(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    let layout = doctor.store.layout();
    let cannot = || "cannot look at the pages".to_string();
    let means = "what stood there is missing until it is made again from what it derives from";
    let again = "`memtree doctor --fix --yes` makes it again, where it can be";
    if !doctor.fix {
        for page in Seals::file(layout).load().damaged(layout, false).context(cannot)? {
            let fix = if page.is_ours() { "`memtree sweep` makes it again" } else { again };
            findings.warning(format!("`{}` {}", page.name, page.damage), means, fix);
        }
        return Ok(());
    }
    let look = || -> Result<(Vec<_>, Vec<_>)> {
        // Who says yes wants all of it, also the lines that only raw knows of.
        let request = VerifyRequest::default().selection(doctor.selection.clone());
        let found = doctor.memory.verify(request.deep(doctor.yes))?;
        let (mut gaps, mut notes) = (found.gaps, found.notes);
        // What keeps raw out of git is looked at with git.
        gaps.retain(|gap| gap.reason != UNGUARDED);
        notes.retain(Finding::may_be_made_again);
        Ok((gaps, notes))
    };
    let (mut before, notes) = look()?;
    match doctor.yes {
        true => before.extend(notes),
        false => {
            for note in notes {
                findings.note(format!("`{}` {}", note.path, note.reason), TAKEN_OUT, again);
            }
        }
    }
    if before.is_empty() {
        return Ok(());
    }
    if doctor.yes {
        repair::as_asked(doctor.memory)?;
    }
    doctor.sweep_thoroughly()?;
    if doctor.yes {
        repair::accept(doctor.memory)?;
    }
    let (mut after, notes) = look()?;
    after.extend(notes);
    for gap in before {
        let is_left = after.iter().any(|left| left.path == gap.path && left.reason == gap.reason);
        let what = format!("`{}` {}", gap.path, gap.reason);
        match is_left {
            true => findings.warning(what, means, again),
            false => findings.fixed(what, means, "made again"),
        }
    }
    Ok(())
}

/// Whose pages are here, and who they are to this device.
fn devices(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    let sessions = doctor.sessions()?;
    let met = meet(doctor.memory, sessions.iter());
    for device in &met.foreign {
        let what = format!("the device `{device}` is not trusted");
        let means = "what it wrote is given to agents as somebody's words, never as yours";
        findings.note(what, means, format!("if it is yours: `{}`", command(device)));
    }
    if let Some(first) = met.namesakes.first() {
        let (count, name) = (met.namesakes.len(), &first.device);
        let what =
            format!("another device is called `{name}`, too: it wrote {count}, such as {first}");
        let means = "two devices with one name give the same ids to different sessions";
        let fix = format!(
            "name one of them otherwise with `MEMTREE_DEVICE`; if they are your own, from an \
             earlier copy of this memory: `{}`",
            command(name)
        );
        findings.warning(what, means, fix);
    }
    let identity = &doctor.memory.recognized().identity;
    if let Some(from) = &identity.copied_from {
        let what = format!("this folder was copied from the device `{from}`");
        let means =
            format!("here it is called `{}`, so that no id is given twice", doctor.memory.device());
        findings.note(what, &means, "set `MEMTREE_DEVICE` for another name");
    }
    if let Some(twin) = identity.twin() {
        let what = format!("`{}` has the same name, `{}`", twin.display(), doctor.memory.device());
        let means =
            "one of the two is a copy: synced with each other, they give the same ids twice";
        findings.warning(what, means, "set `MEMTREE_DEVICE` for one of them, or remove it");
    }
    Ok(())
}

/// Whether something failed because it may not be written to.
fn is_read_only(err: &std::io::Error) -> bool {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    matches!(err.kind(), PermissionDenied | ReadOnlyFilesystem)
}

/// What a killed command left behind. Locks are not: the system releases them.
fn unfinished(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    let layout = doctor.store.layout();
    if doctor.dry_run && !files::exists(layout.sweep_lock()) {
        return Ok(());
    }
    let lock = match files::try_lock_exclusive(&layout.sweep_lock()) {
        Ok(lock) => lock,
        // Nobody can have left anything half done in what cannot be written.
        Err(err) if is_read_only(&err) => {
            let what = "this memory is read-only here";
            findings.note(what, "it can be searched; nothing can be captured or mended", "");
            return Ok(());
        }
        Err(err) => return Err(Error::new("cannot look at the locks").because(err)),
    };
    if lock.is_none() {
        let what = "another memtree is writing to this memory right now";
        findings.note(what, "unfinished work is its own", "");
        return Ok(());
    }
    let mut left: Vec<PathBuf> =
        [layout.staging(), layout.committing(), layout.evicting(), layout.evicted()]
            .into_iter()
            .filter(|path| files::exists(path))
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
        let noted = layout.replacing().noted();
        let is_left = |path: &&PathBuf| is_temporary(path) && !noted.contains(*path);
        for path in left.iter().filter(is_left) {
            let _ = files::remove_file(path);
        }
        findings.fixed(what, means, "swept, and cleared away");
    } else {
        findings.warning(
            what,
            means,
            "`memtree sweep` finishes it; `memtree doctor --fix` clears up",
        );
    }
    Ok(())
}

fn digests(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    let layout = doctor.store.layout();
    for id in doctor.sessions()? {
        let path = layout.digest(&id);
        let shown = layout.shown(&path);
        match doctor.store.digest(&id) {
            Ok(Some(_)) => {}
            Ok(None)
                if files::read_dir(layout.session(&id))
                    .is_ok_and(|mut entries| entries.next().is_none()) =>
            {
                let what = format!("`{}` is empty", layout.shown(&layout.session(&id)));
                let means = "its id is taken, and it says nothing";
                findings.note(what, means, "remove the folder, if nothing was ever in it");
            }
            Ok(None) => {
                let means = "the session is captured, but no search finds it";
                if rewrite_digest(doctor, &id)? {
                    findings.fixed(
                        format!("`{shown}` is not there"),
                        means,
                        "written again from its raw",
                    );
                    continue;
                }
                let fix = match id.device == *doctor.memory.device() {
                    true => {
                        "`memtree doctor --fix` writes it from its raw, or `memtree sweep` from the log"
                    }
                    false => "its own device has it: `git pull`, or copy it from there",
                };
                findings.error(format!("`{shown}` is not there"), means, fix);
            }
            Err(err) => {
                let what = format!("`{shown}`: {}", err.causes().join(": "));
                let means = "a search finds it by its words, but no filter does, and growth is not written into it";
                if rewrite_digest(doctor, &id)? {
                    findings.fixed(
                        what,
                        means,
                        "written again from its raw; all that stood there is below the notes",
                    );
                    continue;
                }
                let fix = "correct its front matter; where its raw is here, `memtree doctor --fix` writes it again, \
                            with what stands there below the notes";
                findings.error(what, means, fix);
            }
        }
    }
    Ok(())
}

/// Writes a digest again from its session's raw files, where `--fix` was given and it can be done.
fn rewrite_digest(doctor: &Doctor<'_>, id: &SessionId) -> Result<bool> {
    if !doctor.fix || id.device != *doctor.memory.device() {
        return Ok(false);
    }
    let cannot = || "cannot take the lock".to_string();
    let _lock = files::lock_exclusive(&doctor.store.layout().sweep_lock()).context(cannot)?;
    raw::restore_digest(&doctor.memory.capture_settings()?, id)
}

/// Sessions that are there more than once.
fn duplicates(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    let found = duplicates::find(doctor.memory)?;
    if found.is_empty() {
        return Ok(());
    }
    let means = "searches, days and cores tell its work more than once";
    let lock = match doctor.fix {
        true => Some(doctor.store.lock()?),
        false => None,
    };
    for duplicate in found {
        let others: Vec<String> = duplicate.others.iter().map(ToString::to_string).collect();
        let (kept, others) = (&duplicate.kept, others.join(", "));
        let what = format!("{kept} and {others} are the same session, {}", duplicate.source_id);
        match (&lock, duplicate.is_trusted) {
            (_, false) => {
                let fix = "trust the device that wrote the other one (`memtree config trust NAME`), \
                           then `memtree doctor --fix` joins them";
                findings.warning(what, means, fix);
            }
            (None, true) => {
                let fix = format!(
                    "`memtree doctor --fix` leaves it to {kept}, with what you wrote into the \
                     others; nothing is deleted"
                );
                findings.warning(what, means, fix);
            }
            (Some(_), true) => {
                duplicates::join(doctor.memory, &duplicate)?;
                let how = format!("left to {kept}, with what you wrote into {others}");
                findings.fixed(what, means, &how);
            }
        }
    }
    Ok(())
}

fn snapshots(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    let layout = doctor.store.layout();
    for id in doctor.sessions()? {
        let Ok(Some(digest)) = doctor.store.digest(&id) else { continue };
        // Snapshots are local: another device's are on that device.
        if id.device != *doctor.memory.device() || digest.snapshot.evicted.is_some() {
            continue;
        }
        let snapshot = layout.snapshot(&id);
        if !files::is_dir(&snapshot) {
            let means = "its digest says that raw is here, and it is not: what it points to cannot be recalled";
            let fix = "copy it back from a backup; or remove the digest, and `memtree sweep` captures the log anew";
            findings.error(format!("`{}` is not there", layout.shown(&snapshot)), means, fix);
            continue;
        }
        let manifest = snapshot.join(layout::MANIFEST);
        let there = files::read(&manifest).ok();
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
        // It can be made again from the files, if none of them has changed.
        let again = manifest_again(&snapshot, digest.content.shape()).unwrap_or_default();
        let is_whole = files::sha256_hex(again.as_bytes()) == digest.snapshot.manifest_sha256;
        match (is_whole, doctor.fix) {
            (true, true) => {
                let written = files::write_atomic(&manifest, again.as_bytes());
                written.context(|| format!("cannot write `{}`", manifest.display()))?;
                findings.fixed(what, means, "written again: every file is as the digest says");
            }
            (true, false) => {
                let fix =
                    "`memtree doctor --fix` writes it again: every file is as the digest says";
                findings.error(what, means, fix);
            }
            (false, _) => {
                let fix =
                    "`memtree verify` names the files that changed; copy them back from a backup";
                findings.error(what, means, fix);
            }
        }
    }
    Ok(())
}

fn forgotten(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    let layout = doctor.store.layout();
    let tombstones =
        Tombstones::load(layout).context(|| "cannot read what was forgotten".into())?;
    for entry in doctor.memory.quarantine() {
        let by = entry.by.map_or_else(|| "somebody".to_string(), |by| format!("`{by}`"));
        let what = format!("{} is in quarantine: {by} forgot it", entry.session);
        let means = format!("it is deleted on {}", entry.until);
        findings.note(
            what,
            &means,
            format!("`{}` brings it back; `memtree forget --purge` ends it", entry.undo),
        );
    }
    for session in tombstones.claims().iter().flat_map(|claim| &claim.sessions) {
        if files::exists(layout.session(session)) {
            let what = format!("a line in forgotten.md that was not written here names {session}");
            let means = "it takes nothing away unless its hash is that of the session's source";
            findings.note(
                what,
                means,
                "remove the line if nobody knows it; `memtree sweep` carries it out if it is right",
            );
        }
    }
    let back: Vec<String> = tombstones
        .carried()
        .filter(|session| files::exists(layout.session(session)))
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
        forget::finish(doctor.store, &forget::Request::of(doctor.memory)?)?;
        drop(lock);
        findings.fixed(what, means, "removed");
    } else {
        findings.error(what, means, "`memtree sweep` removes it");
    }
    Ok(())
}

fn cursors(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    let path = doctor.store.layout().cursors();
    if !files::exists(&path) || Cursors::is_readable(&path) {
        return Ok(());
    }
    let what = format!(
        "`{}` cannot be read, or is an older program's",
        doctor.store.layout().shown(&path)
    );
    let means = "the next sweep looks into every log once more; nothing else";
    if doctor.fix {
        files::remove_file(&path).context(|| format!("cannot remove `{}`", path.display()))?;
        findings.fixed(what, means, "removed; it is made again");
    } else {
        findings.note(what, means, "the next sweep writes it again");
    }
    Ok(())
}

fn index(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    // Opening repairs it. Where nothing may be written, it is made in memory.
    let source = if doctor.dry_run { Source::InMemory } else { Source::Refreshed };
    if let Err(err) = Index::open(doctor.store, Corpus::Digests, source) {
        let fix = format!("remove `{}`; it is made again", doctor.store.layout().index().display());
        findings.error(format!("the index cannot be opened: {err}"), "searches fail", &fix);
    }
    Ok(())
}

fn clock(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    let limit = doctor.memory.now() + Duration::minutes(10);
    let mut ahead = Vec::new();
    for id in doctor.sessions()? {
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
        findings.warning(what, means, "check this machine's clock, and those of the other devices");
    }
    Ok(())
}

/// So many links are named one by one.
const MOST_LINKS: usize = 20;

fn links(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    let layout = doctor.store.layout();
    let git = layout.git();
    let links: Vec<PathBuf> = files::walk_files(layout.root())
        .flatten()
        .filter(|found| found.link.is_some() && !found.path.starts_with(&git))
        .map(|found| found.path)
        .collect();
    if links.len() > MOST_LINKS {
        let what = format!("{} links stand in the memory", links.len());
        findings.error(
            what,
            "the first of them follow",
            "put real files and folders in their place",
        );
    }
    for path in links.into_iter().take(MOST_LINKS) {
        let means = "a link may lead anywhere, so nothing is read or written through it";
        let what = format!("`{}` is a link", layout.shown(&path));
        findings.error(what, means, "put the real file or folder in its place");
    }
    Ok(())
}

fn sessions_in_words(count: usize) -> String {
    if count == 1 { "1 session is".into() } else { format!("{count} sessions are") }
}
