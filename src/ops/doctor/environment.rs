//! The checks of what surrounds a memory: permissions, git, the hooks of agents, free disk space.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::Doctor;
use super::finding::Findings;
#[cfg(unix)]
use super::finding::Level;
use crate::adapters::hooks::HookSpec;
use crate::base::{files, text};
use crate::capture::raw;
use crate::error::{Context, Result};
use crate::model::ids::SessionId;
use crate::ops::callers;
use crate::ops::git_exposure::GitExposure;
use crate::ops::install::{self, InstallPlan, InstallPlans, InstallRequest, Part};
use crate::store::guards;
use crate::store::{authored, digest, layout};

/// Less free space than this is a warning, and a tenth of it an error.
#[cfg(unix)]
const LITTLE_SPACE: u64 = 1 << 30;

/// How many weeks of what agents were given are shown.
const WEEKS_TOLD: usize = 4;

/// What agents were given in the last weeks, and whether somebody came back for it.
pub fn given(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    let mut weeks = doctor.memory.given_by_week();
    let mut last: Vec<String> = weeks.iter().map(|week| week.week.clone()).collect();
    last.dedup();
    last.truncate(WEEKS_TOLD);
    weeks.retain(|week| last.contains(&week.week));
    for week in weeks {
        let what = format!(
            "in {} {} was given something {}, {} of them at the start of a session",
            week.week,
            week.agent,
            text::counted(week.given, "time"),
            week.at_start
        );
        let means =
            format!("{} were recalled within a day, {} were not", week.recalled, week.ignored);
        findings.note(what, &means, "`memtree context --explain` says what, when and why");
    }
    Ok(())
}

#[cfg(unix)]
pub fn permissions(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let layout = doctor.store.layout();
    let is_open = |path: &Path| {
        files::symlink_metadata(path)
            .is_ok_and(|metadata| metadata.is_dir() && metadata.permissions().mode() & 0o077 != 0)
    };
    // A closed folder closes everything below it.
    let open: Vec<PathBuf> = doctor
        .sessions()?
        .iter()
        // What came from another device is readable and redacted, and whoever may read the memory
        // may read it.
        .filter(|id| id.device == *doctor.memory.device() || doctor.memory.has_raw(id))
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
        findings.fixed(what, means, "closed");
    } else {
        findings.error(what, means, "`memtree doctor --fix` closes them");
    }
    Ok(())
}

#[cfg(not(unix))]
pub fn permissions(_: &Doctor<'_>, _: &mut Findings) -> Result<()> {
    Ok(())
}

/// Raw must not leave the machine by accident.
pub fn git(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    let layout = doctor.store.layout();
    ensure_guards(doctor, findings)?;
    match doctor.memory.git_exposure() {
        Ok(None) if !files::exists(layout.git()) => return Ok(()),
        Ok(exposure) => report_exposure(doctor, findings, &exposure.unwrap_or_default()),
        Err(err) => {
            let what = err.causes().join(": ");
            let what = format!("git could not be asked what it has of this memory: {what}");
            let means = "whether raw stays on this device was judged by `.gitignore` alone";
            findings.note(what, means, "install git, or see that it may read this repository");
        }
    }
    // Git removes it when it is done. One that stays was left by a git that was killed.
    let lock = layout.git().join("index.lock");
    if files::exists(&lock) {
        let means = "git changes nothing here while it stands: no commit, no pull";
        let fix = "wait for the git that is at work; if there is none, remove the file";
        findings.warning(format!("`{}` is there", layout.shown(&lock)), means, fix);
    }
    let means = "git would carry raw logs, or this device's own files, to other machines";
    let how = "added; what git has already, `git rm -r --cached` takes out";
    let what = "`.gitignore` does not leave out";
    ensure_lines(
        doctor,
        findings,
        &layout.gitignore(),
        layout::IGNORED_BY_GIT,
        [what, means, how],
    )?;
    attributes(doctor, findings)?;
    push_hook(doctor, findings)?;
    ignored(doctor, findings);
    driver(doctor, findings)
}

/// Whether the memory says how git joins what two devices wrote.
fn attributes(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    let undone = || {
        let (joined, ends): (Vec<String>, Vec<String>) =
            doctor.memory.attributes_undone().into_iter().partition(|it| it.starts_with("merge="));
        (joined.into_iter().next(), ends.into_iter().next())
    };
    let (joined, ends) = undone();
    if let Some(ends) = ends {
        let what = format!("git checks pages out with other line ends than memtree writes: {ends}");
        let means =
            "nothing is lost, but pages of snapshots then differ from what their manifests say";
        findings.note(what, means, "take `eol=crlf` out of `.gitattributes`, here and above");
    }
    if doctor.memory.has_attributes() && joined.is_none() {
        return Ok(());
    }
    let named = joined.map(|joined| format!(": {joined}")).unwrap_or_default();
    let what = format!("`.gitattributes` does not say how each kind of page is joined{named}");
    let means = "git would stop in a conflict, or put sections twice, where two devices wrote into one page";
    if !doctor.fix {
        findings.warning(what, means, "run `memtree doctor --fix`");
        return Ok(());
    }
    doctor.memory.write_attributes()?;
    match undone().0 {
        None => findings.fixed(what, means, "written; what you added there stays"),
        Some(left) => findings.warning(
            format!("git does not join pages as `.gitattributes` says: {left}"),
            means,
            "another file has a later rule: a `.gitattributes` further in, or `.git/info/attributes`; take it out there",
        ),
    }
    Ok(())
}

/// Pages that a rule from outside of the memory keeps out of git.
fn ignored(doctor: &Doctor<'_>, findings: &mut Findings) {
    let pages = doctor.memory.ignored_pages().unwrap_or_default();
    for said in crate::ops::ignored::shown(&pages) {
        let what = format!("git leaves out pages of this memory: {said}");
        let means = "plain `git add` does not take them, so other machines never get them";
        findings.warning(what, means, "`memtree sync` adds them all the same; or narrow that rule");
    }
}

/// A hook of ours that looked at what is checked out, whatever was pushed.
fn push_hook(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    if !doctor.memory.has_old_push_hook() {
        return Ok(());
    }
    let what = "the hook `pre-push` is that of an older memtree";
    let means = "it looks at the branch that is checked out, also where another one is pushed";
    if doctor.fix && doctor.memory.renew_push_hook(doctor.program)? {
        findings.fixed(what, means, "written anew");
    } else {
        findings.warning(what, means, "`memtree doctor --fix` writes it anew");
    }
    Ok(())
}

/// Whether this clone knows how git joins pages.
fn driver(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    let program = doctor.program;
    // Where nothing comes from elsewhere there is nothing to join.
    if !doctor.memory.has_remote() || doctor.memory.has_merge_driver(program) {
        return Ok(());
    }
    let what = "this clone's git does not know `memtree merge-file`";
    let means = "where two devices changed one page it merges line by line, and the next memtree \
                 command has to put that right";
    if doctor.fix && doctor.memory.register_merge_driver(program).is_ok() {
        findings.fixed(what, means, "registered in this clone's own settings");
    } else {
        findings.note(what, means, "`memtree doctor --fix` registers it");
    }
    Ok(())
}

/// Says what git has, or would take, of what has to stay on this device.
fn report_exposure(doctor: &Doctor<'_>, findings: &mut Findings, exposure: &GitExposure) {
    let means = "raw is not redacted; it would go wherever this repository is pushed";
    if let Some(first) = exposure.tracked.first() {
        let count = exposure.tracked.len();
        let what = format!(
            "git has {count} of the files that must stay on this device, such as `{first}`"
        );
        findings.error(what, means, doctor.memory.untracking(&exposure.tracked));
    }
    if let Some(first) = exposure.not_ignored.first() {
        let what =
            format!("the next `git add` would take `{first}`, which must stay on this device");
        let fix = "run `memtree doctor --fix`; then take out of `.gitignore`, there and above, what lets it in";
        findings.error(what, means, fix);
    }
}

/// Checks that every raw folder keeps itself out of git.
fn ensure_guards(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    let cannot = || "cannot look at what keeps raw out of git".to_string();
    let missing = guards::write_missing(doctor.store, doctor.fix).context(cannot)?;
    if missing > 0 {
        let what =
            format!("{missing} of the `.gitignore` files that keep raw out of git are not there");
        let means = "a changed `.gitignore` further up could let git take raw";
        match doctor.fix {
            true => findings.fixed(what, means, "written"),
            false => findings.warning(what, means, "run `memtree sweep` or `memtree doctor --fix`"),
        }
    }
    Ok(())
}

/// Checks that a file which git reads has some lines; with `--fix`, adds those that are missing.
fn ensure_lines(
    doctor: &Doctor<'_>,
    findings: &mut Findings,
    path: &Path,
    lines: &[&str],
    [what, means, how]: [&str; 3],
) -> Result<()> {
    let text = files::read_to_string(path).unwrap_or_default();
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
        let with_lines = |now: Option<&str>| {
            let text = now.unwrap_or_default();
            let is_there = |needed: &str| text.lines().any(|line| line.trim() == needed);
            let missing: Vec<&str> =
                lines.iter().filter(|needed| !is_there(needed)).copied().collect();
            let ends = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            (!missing.is_empty()).then(|| format!("{text}{ends}{}\n", missing.join("\n")))
        };
        authored::replace(doctor.store.layout(), path, with_lines)
            .context(|| format!("cannot write `{}`", path.display()))?;
        findings.fixed(what, means, how);
    } else {
        findings.warning(what, means, "add these lines, or run `memtree doctor --fix`");
    }
    Ok(())
}

#[cfg(unix)]
pub fn disk(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    let Ok(space) = rustix::fs::statvfs(doctor.store.layout().root()) else { return Ok(()) };
    let free = space.f_bavail * space.f_frsize;
    if free >= LITTLE_SPACE {
        return Ok(());
    }
    let level = if free < LITTLE_SPACE / 10 { Level::Error } else { Level::Warning };
    let what = format!("{} MB are free on the disk of the memory", free / 1_000_000);
    let means = "a sweep that runs out of space stops; what is there stays as it is";
    findings.add(
        level,
        what,
        means,
        "free some space, or set a budget: `retention` in memtree.toml, then `memtree retain`",
    );
    Ok(())
}

#[cfg(not(unix))]
pub fn disk(_: &Doctor<'_>, _: &mut Findings) -> Result<()> {
    Ok(())
}

/// Pages in which git left both sides of a conflict.
pub fn merges(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    let layout = doctor.store.layout();
    let folders = layout.distilled();
    let walked = folders
        .iter()
        .filter(|folder| files::exists(folder))
        .flat_map(|folder| files::walk_files(folder).flatten());
    let pages = walked.filter(|found| found.link.is_none()).map(|found| found.path);
    let digests =
        doctor.sessions()?.into_iter().map(|id| layout.digest(&id)).collect::<Vec<PathBuf>>();
    for path in pages.chain(digests).chain([layout.forgotten(), layout.settings()]) {
        let page = files::read(&path).unwrap_or_default();
        let has = |mark: &[u8]| memchr::memmem::find(&page, mark).is_some();
        if has(b"<<<<<<< ") && has(b"\n>>>>>>> ") {
            let what = format!("`{}` holds both sides of a merge", layout.shown(&path));
            let means = "git could not join what two devices wrote, and asks a person";
            findings.error(
                what,
                means,
                "keep what you want of it, then `git add` and `git commit`",
            );
        }
    }
    for id in doctor.sessions()? {
        doubled_keys(doctor, findings, &id)?;
        garbled(doctor, findings, &id)?;
    }
    for one in doctor.memory.other_versions()? {
        let what = format!("“{}” in `{}` was edited on two devices", one.version.of, one.path);
        let means = "one version stands there, and the other one in its notes";
        let fix = format!(
            "`memtree review` shows it; `--approve other-{0}` takes it, `--reject other-{0}` drops it",
            one.version.id
        );
        findings.note(what, means, fix);
    }
    Ok(())
}

/// What other sync tools left beside a page that two devices changed.
pub fn copies(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    for found in doctor.memory.conflict_copies() {
        let what = format!("`{}` is another version of `{}`", found.copy, found.page);
        let means = "a sync tool could not join what two devices wrote, and left both";
        if doctor.fix && doctor.yes {
            let _lock = doctor.store.lock()?;
            doctor.memory.join_copy(&found)?;
            let how = "joined by section; the copy lies in `.memtree/local/damaged`";
            findings.fixed(what, means, how);
        } else {
            findings.warning(what, means, "`memtree doctor --fix --yes` joins it by section");
        }
    }
    Ok(())
}

/// Names that only case tells apart: two devices, or two pages.
pub fn names(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    let layout = doctor.store.layout();
    let sessions = doctor.store.session_ids().context(|| "cannot list the sessions".into())?;
    let devices: BTreeSet<String> =
        sessions.iter().map(|id| format!("the device {}", id.device)).collect();
    let folders = layout.distilled().into_iter().filter(|folder| files::is_dir(folder));
    let pages = folders.flat_map(|folder| files::walk_files(&folder).flatten().collect::<Vec<_>>());
    let pages = pages.map(|found| format!("`{}`", layout.shown(&found.path)));
    let mut alike: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in devices.into_iter().chain(pages) {
        alike.entry(name.to_lowercase()).or_default().push(name);
    }
    for names in alike.into_values().filter(|names| names.len() > 1) {
        findings.warning(
            format!("only case tells {} apart", names.join(" and ")),
            "on macOS and Windows a clone has room for one of them",
            "rename one page; of devices, give one another name: set `MEMTREE_DEVICE` there before its next sweep",
        );
    }
    Ok(())
}

/// A digest that has a key twice.
fn doubled_keys(doctor: &Doctor<'_>, findings: &mut Findings, id: &SessionId) -> Result<()> {
    let layout = doctor.store.layout();
    let path = layout.digest(id);
    let page = files::read_to_string(&path).ok();
    if page.and_then(|page| digest::without_doubles(&page)).is_none() {
        return Ok(());
    }
    let what = format!("`{}` has some keys twice", layout.shown(&path));
    let means = "git joined what two devices wrote; the first of them counts, and other programs may refuse the page";
    if doctor.fix {
        let _lock = doctor.store.lock()?;
        authored::replace(layout, &path, |now| digest::without_doubles(now?))
            .context(|| doctor.store.cannot_write())?;
        findings.fixed(what, means, "each stands once; a person's words were kept");
    } else {
        let fix = "`memtree doctor --fix` leaves one, a person's where there is one";
        findings.warning(what, means, fix);
    }
    Ok(())
}

/// A digest that an earlier version let git join line by line.
fn garbled(doctor: &Doctor<'_>, findings: &mut Findings, id: &SessionId) -> Result<()> {
    let layout = doctor.store.layout();
    let path = layout.digest(id);
    let Ok(page) = files::read_to_string(&path) else { return Ok(()) };
    let garbled = digest::garbled_sections(&page);
    if garbled.is_empty() {
        return Ok(());
    }
    let names = garbled.into_iter().collect::<Vec<_>>().join(", ");
    let what =
        format!("`{}` has sections twice, or lines in the wrong one: {names}", layout.shown(&path));
    let means = "an earlier version let git join two devices' pages line by line";
    let settings = doctor.memory.capture_settings()?;
    let Some(fresh) = raw::page_again(&settings, id, &page) else {
        let fix = "its raw is on the device that captured it: `memtree doctor --fix` there";
        findings.warning(what, means, fix);
        return Ok(());
    };
    if doctor.fix {
        let _lock = doctor.store.lock()?;
        authored::replace(layout, &path, |now| Some(digest::repaired(now?, &fresh)))
            .context(|| doctor.store.cannot_write())?;
        let how = "written again from its raw; what raw does not say is in its notes, marked";
        findings.fixed(what, means, how);
    } else {
        findings.warning(what, means, "`memtree doctor --fix` writes it again from its raw");
    }
    Ok(())
}

/// Agents on this machine whose hooks do not call this memory, or no longer as they were installed,
/// or are not run, or are run by others.
pub fn hooks(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    for spec in install::here(doctor.places) {
        let agent = spec.agent;
        let request = InstallRequest::default()
            .agents(vec![agent.to_string()])
            .program(doctor.program)
            .parts(vec![Part::Hooks]);
        match doctor.memory.plan_install(&request) {
            Ok(plans) if plans.plans.is_empty() => {
                installed_hooks(doctor, findings, spec);
            }
            Ok(plans) => changed_hooks(doctor, findings, agent, &plans)?,
            Err(err) => {
                let what = format!("the settings of {agent} cannot be read: {err}");
                let means = "whether it calls this memory is not known";
                findings.warning(what, means, "correct that file");
            }
        }
    }
    Ok(())
}

/// Servers that agents no longer start as they were told to, and agents that have our plugin
/// besides what `install` wrote.
pub fn servers(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<()> {
    for spec in install::agents_here(doctor.places) {
        let agent = spec.agent;
        let request =
            InstallRequest::default().agents(vec![agent.to_string()]).program(doctor.program);
        if install::server_is_lost(doctor.memory, &request) {
            let what =
                format!("{agent} no longer starts the server of this memory as it was told to");
            let means =
                "its settings were changed, or this program or memory was moved: it cannot search";
            let fix =
                format!("`memtree install {agent} --only mcp` shows what it would write, and asks");
            findings.warning(what, means, fix);
        }
        let is_installed = files::exists(doctor.store.layout().installed(agent));
        if let Some(plugin) = spec.plugin(doctor.places).filter(|_| is_installed) {
            let what = format!(
                "{agent} has memtree's plugin (`{}`) and what `memtree install` wrote",
                plugin.display()
            );
            let means = "each event is answered once; its server and its skills are there twice";
            let fix =
                format!("keep one: `memtree uninstall {agent}`, or remove the plugin in {agent}");
            findings.note(what, means, fix);
        }
    }
    Ok(())
}

/// Hooks that are written as they should be: whether they are run, and by whom.
fn installed_hooks(doctor: &Doctor<'_>, findings: &mut Findings, spec: &'static HookSpec) {
    let agent = spec.agent;
    let untrusted = install::untrusted(spec, doctor.places);
    if !untrusted.is_empty() {
        let what = format!("{agent} does not run these hooks of memtree: {}", untrusted.join(", "));
        let means = "nobody has agreed to them as they are now, or they were switched off";
        findings.warning(what, means, spec.afterwards.unwrap_or("agree to them in that agent"));
    }
    for caller in callers::of(doctor.store, agent) {
        if files::exists(doctor.store.layout().installed(caller)) {
            continue;
        }
        let what = format!("{caller} runs the hooks in the settings of {agent} too");
        let means = format!("its sessions are filed under {caller}, not under {agent}");
        let fix = format!("`memtree install {caller}` gives it hooks of its own");
        findings.note(what, &means, fix);
    }
}

/// Hooks that are not as they should be.
fn changed_hooks(
    doctor: &Doctor<'_>,
    findings: &mut Findings,
    agent: &'static str,
    plans: &InstallPlans,
) -> Result<()> {
    let plans = || plans.plans.iter();
    let fix = format!("`memtree install {agent}` shows what it would write, and asks");
    if plans().any(InstallPlan::ends_harm) {
        let what = format!("the hooks in the settings of {agent} are those of an older memtree");
        let means = "other agents that read these settings, and older versions of this one, cannot \
                     call them: some stop every prompt, or drop the whole file";
        if doctor.fix {
            plans().try_for_each(|plan| doctor.memory.apply_install(plan))?;
            findings.fixed(what, means, "written anew");
        } else {
            findings.warning(what, means, "`memtree doctor --fix` writes them anew");
        }
    } else if files::exists(doctor.store.layout().installed(agent)) {
        let what = format!("{agent} no longer calls this memory as it was set up to");
        let means = "its settings were changed, or this program or memory was moved: some of its calls go elsewhere";
        findings.warning(what, means, fix);
    } else {
        let what =
            format!("{agent} is on this machine, but its hooks are not wired to this memory");
        let means = "it is given no memory at its start, and its sessions come in by a sweep only";
        findings.note(what, means, fix);
    }
    Ok(())
}
