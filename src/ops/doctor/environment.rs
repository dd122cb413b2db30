//! The checks of what is around a memory: who may read it, where git carries it, who calls it, what
//! room there is.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Doctor, Level, Report, checks};
use crate::adapters;
use crate::base::files;
use crate::error::{Context, Result};
use crate::ops::install::{self, Install};
use crate::store::{documents, layout};

/// Less free space than this is a warning, and a tenth of it an error.
#[cfg(unix)]
const LITTLE_SPACE: u64 = 1 << 30;

#[cfg(unix)]
pub fn permissions(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let layout = doctor.store.layout();
    let is_open = |path: &Path| {
        fs::symlink_metadata(path)
            .is_ok_and(|metadata| metadata.is_dir() && metadata.permissions().mode() & 0o077 != 0)
    };
    // A closed folder closes everything below it.
    let open: Vec<PathBuf> = checks::sessions(doctor)?
        .iter()
        .map(|id| layout.snapshot(id))
        .filter(|folder| is_open(folder))
        .collect();
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
            files::make_private(folder)
                .context(|| format!("cannot close `{}`", folder.display()))?;
        }
        report.mended(name, what, means, "closed");
    } else {
        report.found(name, Level::Error, what, means, "`memtree doctor --fix` closes them");
    }
    Ok(())
}

#[cfg(not(unix))]
pub fn permissions(_: &Doctor<'_>, _: &'static str, _: &mut Report) -> Result<()> {
    Ok(())
}

/// Raw must not leave the machine by accident.
pub fn git(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
    let layout = doctor.store.layout();
    if !layout.git().exists() {
        return Ok(());
    }
    // Git takes it away itself when it is done; one that stays is left by a git that was killed.
    let lock = layout.git().join("index.lock");
    if lock.exists() {
        let means = "git changes nothing here while it stands: no commit, no pull";
        let mend = "wait for the git that is at work; if there is none, remove the file";
        report.found(
            name,
            Level::Warning,
            format!("`{}` is there", layout.shown(&lock)),
            means,
            mend,
        );
    }
    let means = "git would carry raw logs, or this device's own files, to other machines";
    let mended = "added; what git has already, `git rm -r --cached` takes out";
    let what = "`.gitignore` does not leave out";
    with_lines(
        doctor,
        name,
        report,
        &layout.gitignore(),
        layout::IGNORED_BY_GIT,
        [what, means, mended],
    )?;
    let means = "git would stop in a conflict where two devices wrote into the same page";
    let what = "`.gitattributes` does not say";
    with_lines(
        doctor,
        name,
        report,
        &layout.gitattributes(),
        layout::JOINED_BY_GIT,
        [what, means, "added"],
    )
}

/// Looks whether lines stand in a file that git reads, and adds those that do not.
fn with_lines(
    doctor: &Doctor<'_>,
    name: &'static str,
    report: &mut Report,
    path: &Path,
    lines: &[&str],
    [what, means, mended]: [&str; 3],
) -> Result<()> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let missing: Vec<&str> = lines
        .iter()
        .filter(|needed| !text.lines().any(|line| line.trim() == **needed))
        .copied()
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let what = format!("{what} {}", missing.join(" and "));
    if doctor.fix {
        let ends = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let text = format!("{text}{ends}{}\n", missing.join("\n"));
        files::write_atomic(path, text.as_bytes())
            .context(|| format!("cannot write `{}`", path.display()))?;
        report.mended(name, what, means, mended);
    } else {
        report.found(
            name,
            Level::Warning,
            what,
            means,
            "add these lines, or run `memtree doctor --fix`",
        );
    }
    Ok(())
}

#[cfg(unix)]
pub fn disk(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
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
pub fn disk(_: &Doctor<'_>, _: &'static str, _: &mut Report) -> Result<()> {
    Ok(())
}

/// Pages in which git left both sides of a conflict.
pub fn merges(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
    let layout = doctor.store.layout();
    let folders = layout.distilled();
    let walked = folders
        .iter()
        .filter(|folder| folder.exists())
        .flat_map(|folder| files::walk_files(folder).flatten());
    let pages = walked.filter(|found| found.link.is_none()).map(|found| found.path);
    let digests = checks::sessions(doctor)?
        .into_iter()
        .map(|id| layout.digest(&id))
        .collect::<Vec<PathBuf>>();
    for path in pages.chain(digests).chain([layout.forgotten(), layout.settings()]) {
        let page = fs::read(&path).unwrap_or_default();
        let has = |mark: &[u8]| memchr::memmem::find(&page, mark).is_some();
        if has(b"<<<<<<< ") && has(b"\n>>>>>>> ") {
            let what = format!("`{}` holds both sides of a merge", layout.shown(&path));
            let means = "git could not join what two devices wrote, and asks a person";
            report.found(
                name,
                Level::Error,
                what,
                means,
                "keep what you want of it, then `git add` and `git commit`",
            );
        }
    }
    for id in checks::sessions(doctor)? {
        let path = layout.digest(&id);
        let Some(text) =
            fs::read_to_string(&path).ok().and_then(|page| documents::without_doubles(&page))
        else {
            continue;
        };
        let what = format!("`{}` has some keys twice", layout.shown(&path));
        let means = "git joined what two devices wrote; the first of them counts, and other programs may refuse the page";
        if doctor.fix {
            let lock = files::lock_exclusive(&layout.sweep_lock())
                .context(|| "cannot take the lock".into())?;
            files::write_atomic(&path, text.as_bytes())
                .context(|| format!("cannot write `{}`", path.display()))?;
            drop(lock);
            report.mended(name, what, means, "each stands once; a person's words were kept");
        } else {
            report.found(
                name,
                Level::Warning,
                what,
                means,
                "`memtree doctor --fix` leaves one, a person's where there is one",
            );
        }
    }
    Ok(())
}

/// Agents on this machine that do not call this memory, or no longer as they were told to.
pub fn hooks(doctor: &Doctor<'_>, name: &'static str, report: &mut Report) -> Result<()> {
    let layout = doctor.store.layout();
    let install = Install { program: doctor.program, layout, places: doctor.places };
    for adapter in
        adapters::ALL.iter().copied().filter(|adapter| install::is_here(*adapter, doctor.places))
    {
        let agent = adapter.name();
        let mend = format!("`memtree install {agent}` shows what it would write, and asks");
        let was_installed = layout.installed(agent).exists();
        match install.install(adapter) {
            Ok(None) => {}
            Ok(Some(_)) if was_installed => {
                let what = format!("{agent} no longer calls this memory as it was told to");
                let means = "its settings were changed, or this program or memory was moved: some of its calls go elsewhere";
                report.found(name, Level::Warning, what, means, &mend);
            }
            Ok(Some(_)) => {
                let what = format!(
                    "{agent} is on this machine, but its hooks are not wired to this memory"
                );
                let means =
                    "it is given no memory at its start, and its sessions come in by a sweep only";
                report.found(name, Level::Note, what, means, &mend);
            }
            Err(err) => {
                let what = format!("the settings of {agent} cannot be read: {err}");
                let means = "whether it calls this memory cannot be told";
                report.found(name, Level::Warning, what, means, "mend that file");
            }
        }
    }
    Ok(())
}
