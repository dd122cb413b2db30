//! Wiring agents up: our hooks in their own settings, and out again as if they had never been
//! there.
//!
//! A plan says what would change; applying it notes what was there before. If a settings file is
//! still as we left it, undoing puts the bytes back that were there; if somebody has changed it
//! since, only our entries are taken out.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::adapters::hooks::{self, HookSpec, Shape};
use crate::adapters::{self, Places};
use crate::base::files;
use crate::base::redact::Redactor;
use crate::base::setters::setters;
use crate::base::text;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::store::layout::Layout;
use crate::store::local::StateFile;

mod edit;
mod plugin;
mod toml_file;
mod trust;

use edit::Wiring;
pub use trust::untrusted;

/// Whose settings are to change.
#[derive(Debug, Clone, Default)]
pub struct InstallRequest {
    /// The agents by name; every agent with hooks that is on this machine, where none is named.
    pub agents: Vec<String>,
    /// The absolute path of the program that the hooks call.
    pub program: PathBuf,
}

setters!(InstallRequest { agents: Vec<String>, program: PathBuf });

/// What would change, for each agent; nothing where it is as it should be.
pub type InstallPlans = Vec<(&'static str, Vec<InstallPlan>)>;

impl Memory {
    /// Says what has to change for agents to call us.
    pub fn plan_install(&self, request: &InstallRequest) -> Result<InstallPlans> {
        self.plan_hooks(request, |hooks, spec| Ok(hooks.install(spec)?.into_iter().collect()))
    }

    /// Says what has to change for agents to call us no more.
    pub fn plan_uninstall(&self, request: &InstallRequest) -> Result<InstallPlans> {
        self.plan_hooks(request, |hooks, spec| {
            let mut plans = hooks.uninstall(spec)?;
            plans.extend(
                spec.instead.map(|spec| hooks.uninstall(spec)).transpose()?.into_iter().flatten(),
            );
            Ok(plans)
        })
    }

    /// Makes a change. What was there before is kept first.
    pub fn apply_install(&self, plan: &InstallPlan) -> Result<()> {
        apply(self.layout(), plan)
    }

    fn plan_hooks(
        &self,
        request: &InstallRequest,
        plan: impl Fn(&Hooks, &'static HookSpec) -> Result<Vec<InstallPlan>>,
    ) -> Result<InstallPlans> {
        let (layout, places) = (self.layout(), &self.environment().places);
        let hooks = Hooks { program: &request.program, layout, places };
        let specs: Vec<&HookSpec> = match request.agents.as_slice() {
            [] => here(places).collect(),
            names => names.iter().map(|name| named(name)).collect::<Result<_>>()?,
        };
        specs.into_iter().map(|spec| Ok((spec.agent, plan(&hooks, spec)?))).collect()
    }
}

/// The names of the agents that have hooks.
pub fn known() -> String {
    let mut names: Vec<&str> = hooks::ALL.iter().map(|spec| spec.agent).collect();
    names.sort_unstable();
    names.join(", ")
}

/// The agents with hooks that are on this machine: those whose folder is.
pub fn here(places: &Places) -> impl Iterator<Item = &'static HookSpec> {
    hooks::ALL.iter().copied().filter(|spec| (spec.home)(places).is_dir())
}

/// What to do for an agent that has no hooks.
pub const INSTEAD: &str = "let `memtree watch` take in its sessions, and let its instructions \
                           (such as AGENTS.md) tell it to run `memtree context` and `memtree search`";

/// The agents on this machine that have no hooks: those whose logs are.
pub fn without_hooks(places: &Places) -> impl Iterator<Item = &'static str> {
    let others = adapters::ALL.iter().filter(|adapter| hooks::of(adapter.name()).is_none());
    let is_here = |path: &PathBuf| files::exists(path);
    others
        .filter(move |adapter| adapter.roots(places).iter().any(is_here))
        .map(|adapter| adapter.name())
}

/// The hooks of an agent by its name, or why there are none.
fn named(name: &str) -> Result<&'static HookSpec> {
    match hooks::of(name) {
        Some(spec) => Ok(spec),
        None => {
            let adapter = adapters::known(name)?;
            Err(Error::usage(format!("`{}` has no hooks that memtree knows", adapter.name()))
                .because(format!("those that have: {}", known()))
                .hint(INSTEAD))
        }
    }
}

/// Hooks in the settings of agents.
#[derive(Debug)]
struct Hooks<'a> {
    /// The absolute path of this program.
    program: &'a Path,
    /// The paths of the memory that the hooks are for.
    layout: &'a Layout,
    places: &'a Places,
}

/// A change of one settings file that is not made yet.
#[derive(Debug)]
pub struct InstallPlan {
    pub agent: &'static str,
    /// The file as a person knows it.
    pub file: PathBuf,
    /// What a person still has to do.
    pub afterwards: Option<&'static str>,
    /// Where its bytes are; the file itself may be a link to it.
    target: PathBuf,
    before: Option<String>,
    after: Option<String>,
    change: Change,
}

/// A settings file as it is, without our hooks and with them, and the keys made for them.
struct Edit {
    file: PathBuf,
    before: Option<String>,
    base: Option<String>,
    after: String,
    created: Vec<String>,
}

/// What a plan makes of our note.
#[derive(Debug)]
enum Change {
    Install {
        note: Note,
        /// What is kept of the file: all but our part of it.
        base: Option<String>,
    },
    Uninstall {
        folders: Vec<PathBuf>,
    },
}

/// What is remembered of an installation, so that it can be undone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Note {
    file: PathBuf,
    /// Whether the file was there before; then the bytes it had are kept beside this note.
    existed: bool,
    /// The hash of the file as we wrote it.
    written: String,
    /// The keys that we made.
    created: Vec<String>,
    /// The folders that we made, the outer first.
    folders: Vec<PathBuf>,
}

impl Hooks<'_> {
    /// What has to change for an agent to call us; `None` where it already does.
    fn install(&self, spec: &'static HookSpec) -> Result<Option<InstallPlan>> {
        let spec = spec.in_force(self.places);
        let (program, store) = (utf8(self.program)?, utf8(self.layout.root())?);
        let wiring = Wiring { spec, program, store };
        let file = (spec.file)(self.places);
        let before = read(&file)?;
        let (agent, afterwards) = (spec.agent, spec.afterwards);
        let cannot = |reason| cannot_change(&file, reason, "; nothing was changed");
        if let Shape::Plugin(template) = spec.shape {
            let after = plugin::text(template, &wiring);
            if before.as_deref().is_some_and(|text| !plugin::is_ours(text)) {
                return Err(cannot("it is not memtree's, and bears its name".into()));
            }
            let edit = Edit { file, before, base: None, after, created: Vec::new() };
            return self.plan_install(agent, afterwards, edit);
        }
        if before.is_none()
            && let Some(edit) = self.edit_of_toml(&wiring)?
        {
            return self.plan_install(agent, afterwards, edit);
        }
        if before.as_deref().is_some_and(|text| wiring.is_in(text)) {
            return Ok(None);
        }
        let note = self.note(agent).filter(|note| note.file == file);
        let base = match (&before, &note) {
            (None, _) => None,
            (Some(text), Some(note)) if note.is_untouched(text) => {
                self.kept(agent, note).or(before.clone())
            }
            (Some(text), note) => {
                let created = note.as_ref().map(|note| note.created.as_slice());
                Some(edit::without_hooks(text, spec, created).map_err(cannot)?)
            }
        };
        let (after, created) =
            edit::with_hooks(base.as_deref().unwrap_or_default(), &wiring).map_err(cannot)?;
        self.plan_install(agent, afterwards, Edit { file, before, base, after, created })
    }

    /// The change of an agent's TOML file, where it has hooks in that.
    fn edit_of_toml(&self, wiring: &Wiring) -> Result<Option<Edit>> {
        let Some(name) = wiring.spec.toml else { return Ok(None) };
        let file = (wiring.spec.home)(self.places).join(name);
        let Some(text) = read(&file)?.filter(|text| toml_file::has_hooks(text)) else {
            return Ok(None);
        };
        let base = toml_file::without_hooks(&text);
        // Where hooks are written so that none can be added, a file of our own does as well.
        let after = toml_file::with_hooks(&base, wiring).ok();
        Ok(after.map(|after| {
            let (before, base, created) = (Some(text), Some(base), Vec::new());
            Edit { file, before, base, after, created }
        }))
    }

    fn plan_install(
        &self,
        agent: &'static str,
        afterwards: Option<&'static str>,
        Edit { file, before, base, after, created }: Edit,
    ) -> Result<Option<InstallPlan>> {
        if before.as_deref() == Some(after.as_str()) {
            return Ok(None);
        }
        let missing = file.ancestors().skip(1).take_while(|folder| !files::exists(folder));
        let mut folders: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
        folders.reverse();
        let earlier = self.note(agent).filter(|note| note.file == file);
        if let Some(earlier) = &earlier {
            folders = earlier.folders.iter().cloned().chain(folders).collect();
        }
        let existed = base.is_some() && earlier.is_none_or(|earlier| earlier.existed);
        let written = files::sha256_hex(after.as_bytes());
        let note = Note { file: file.clone(), existed, written, created, folders };
        let change = Change::Install { note, base: base.filter(|_| existed) };
        let (target, after) = (target_of(&file)?, Some(after));
        Ok(Some(InstallPlan { agent, file, afterwards, target, before, after, change }))
    }

    /// What has to change for an agent to call us no more: a plan for each file that holds hooks of
    /// ours.
    fn uninstall(&self, spec: &'static HookSpec) -> Result<Vec<InstallPlan>> {
        let agent = spec.agent;
        let file = (spec.file)(self.places);
        let toml = spec.toml.map(|name| (spec.home)(self.places).join(name));
        let all_notes = self.note(agent);
        let mut plans = Vec::new();
        for file in [Some(file), toml.clone()].into_iter().flatten() {
            let Some(before) = read(&file)? else { continue };
            let note = all_notes.as_ref().filter(|note| note.file == file);
            let untouched = note.filter(|note| note.is_untouched(&before));
            let after = if untouched.is_some_and(|note| !note.existed) {
                None
            } else if let Some(kept) = untouched.and_then(|note| self.kept(agent, note)) {
                Some(kept)
            } else if toml.as_ref() == Some(&file) {
                Some(toml_file::without_hooks(&before))
            } else {
                self.undone(spec, &file, &before, note)?
            };
            if after.as_deref() == Some(before.as_str()) {
                continue;
            }
            let folders = note.map(|note| note.folders.clone()).unwrap_or_default();
            let (target, change) = (target_of(&file)?, Change::Uninstall { folders });
            let (before, afterwards) = (Some(before), None);
            plans.push(InstallPlan { agent, file, afterwards, target, before, after, change });
        }
        Ok(plans)
    }

    /// A file that somebody has changed, or of which nothing was noted, without what is ours; `None`
    /// where nothing else is in it.
    fn undone(
        &self,
        spec: &HookSpec,
        file: &Path,
        before: &str,
        note: Option<&Note>,
    ) -> Result<Option<String>> {
        if let Shape::Plugin(template) = spec.shape {
            return match (plugin::is_ours(before), plugin::is_unchanged(before, template)) {
                (true, true) => Ok(None),
                (true, false) => {
                    let reason = "somebody has changed it since memtree wrote it";
                    Err(cannot_change(file, reason.into(), ", or remove it by hand"))
                }
                (false, _) => Ok(Some(before.to_string())),
            };
        }
        let created = note.map(|note| note.created.as_slice());
        let by_hand = ", or take out the hooks that call `memtree` by hand";
        let after = edit::without_hooks(before, spec, created)
            .map_err(|reason| cannot_change(file, reason, by_hand))?;
        let ours = note.is_some_and(|note| !note.existed) && edit::is_fresh(&after, spec);
        Ok((!ours).then_some(after))
    }

    fn note(&self, agent: &'static str) -> Option<Note> {
        note_file(self.layout, agent).read()
    }

    /// The text that a settings file had before us.
    fn kept(&self, agent: &'static str, note: &Note) -> Option<String> {
        files::read_to_string(self.layout.before_install(agent)).ok().filter(|_| note.existed)
    }
}

/// Makes a change. What was there before is kept first.
fn apply(layout: &Layout, plan: &InstallPlan) -> Result<()> {
    let cannot = || format!("cannot write the settings `{}`", plan.file.display());
    if read(&plan.file)? != plan.before {
        return Err(Error::new(cannot())
            .because("somebody else has just changed them")
            .hint("run the command again"));
    }
    match &plan.change {
        Change::Install { note, base } => {
            keep(layout, plan.agent, note, base.as_deref()).context(|| {
                let path = layout.installed(plan.agent);
                format!("cannot write `{}`", path.display())
            })?;
            let after = plan.after.as_deref().unwrap_or_default();
            files::write_atomic(&plan.target, after.as_bytes()).context(cannot)
        }
        Change::Uninstall { folders } => {
            match &plan.after {
                Some(after) => {
                    files::write_atomic(&plan.target, after.as_bytes()).context(cannot)?
                }
                None => files::remove_file(&plan.target).context(cannot)?,
            }
            for folder in folders.iter().rev() {
                // One that somebody else uses by now is not empty, and stays.
                let _ = files::remove_empty_folder(folder);
            }
            for own in [layout.installed(plan.agent), layout.before_install(plan.agent)] {
                files::remove_file(&own)
                    .context(|| format!("cannot remove `{}`", own.display()))?;
            }
            Ok(())
        }
    }
}

/// Writes what may hold what settings hold: for nobody else's eyes.
fn keep(layout: &Layout, agent: &'static str, note: &Note, base: Option<&str>) -> io::Result<()> {
    let file = note_file(layout, agent);
    file.path().parent().map(files::create_private_dir).transpose()?;
    if let Some(base) = base {
        files::write_atomic(&layout.before_install(agent), base.as_bytes())?;
    }
    file.save(note).map(drop)
}

fn note_file(layout: &Layout, agent: &'static str) -> StateFile<Note> {
    StateFile::local(layout.installed(agent))
}

impl Note {
    fn is_untouched(&self, text: &str) -> bool {
        self.written == files::sha256_hex(text.as_bytes())
    }
}

impl InstallPlan {
    /// Whether it takes out hooks of an earlier version that do harm to some agents.
    pub fn ends_harm(&self) -> bool {
        let before = self.before.as_deref().unwrap_or_default();
        hooks::of(self.agent).is_some_and(|spec| edit::has_harmful_hooks(before, spec))
    }

    /// The change as a difference of lines; secrets that stand beside it are not shown.
    pub fn difference(&self) -> String {
        let (before, after) =
            (self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default());
        let name = |text: &Option<String>| match text {
            Some(_) => self.file.display().to_string(),
            None => "(no file)".into(),
        };
        let shown = text::diff(before, after, [&name(&self.before), &name(&self.after)]);
        Redactor::new().redact(&shown).into_owned()
    }
}

fn cannot_change(file: &Path, reason: String, or: &str) -> Error {
    Error::new(format!("cannot change the settings `{}`", file.display()))
        .because(reason)
        .hint(format!("fix the file first{or}"))
}

fn read(file: &Path) -> Result<Option<String>> {
    let cannot = || format!("cannot read the settings `{}`", file.display());
    match files::read(file) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(Error::new(cannot())
                .because("they are not UTF-8")
                .hint("save the file as UTF-8 first")),
        },
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(err) => Err(err).context(cannot),
    }
}

/// The file that a settings file is, where it is a link: people keep their settings in a repository
/// of their own.
fn target_of(file: &Path) -> Result<PathBuf> {
    if !files::symlink_metadata(file).is_ok_and(|metadata| metadata.is_symlink()) {
        return Ok(file.to_path_buf());
    }
    fs::canonicalize(file).map_err(|err| {
        Error::new(format!("`{}` is a link that leads nowhere", file.display()))
            .because(err)
            .hint("fix or remove the link first")
    })
}

fn utf8(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| {
        Error::new(format!("cannot write the path `{}` into an agent's settings", path.display()))
            .because("it is not UTF-8")
    })
}
