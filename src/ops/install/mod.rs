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

use crate::adapters::hooks::HookSpec;
use crate::adapters::{self, Adapter, Places};
use crate::base::redact::Redactor;
use crate::base::setters::setters;
use crate::base::text;
use crate::base::{files, jsonc};
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::store::layout::Layout;
use crate::store::local::StateFile;

mod edit;

use edit::Wiring;

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
        self.plan_hooks(request, |hooks, adapter| Ok(hooks.install(adapter)?.into_iter().collect()))
    }

    /// Says what has to change for agents to call us no more.
    pub fn plan_uninstall(&self, request: &InstallRequest) -> Result<InstallPlans> {
        self.plan_hooks(request, |hooks, adapter| hooks.uninstall(adapter))
    }

    /// Makes a change. What was there before is kept first.
    pub fn apply_install(&self, plan: &InstallPlan) -> Result<()> {
        apply(self.layout(), plan)
    }

    fn plan_hooks(
        &self,
        request: &InstallRequest,
        plan: impl Fn(&Hooks, &'static dyn Adapter) -> Result<Vec<InstallPlan>>,
    ) -> Result<InstallPlans> {
        let (layout, places) = (self.layout(), &self.environment().places);
        let hooks = Hooks { program: &request.program, layout, places };
        let adapters: Vec<&dyn Adapter> = match request.agents.as_slice() {
            [] => with_hooks().filter(|adapter| is_here(*adapter, places)).collect(),
            names => names.iter().map(|name| adapters::known(name)).collect::<Result<_>>()?,
        };
        let plans = adapters.into_iter().map(|one| Ok((one.name(), plan(&hooks, one)?)));
        plans.collect()
    }
}

/// The agents that have hooks.
pub fn with_hooks() -> impl Iterator<Item = &'static dyn Adapter> {
    adapters::ALL.iter().copied().filter(|adapter| adapter.hooks().is_some())
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
    fn install(&self, adapter: &'static dyn Adapter) -> Result<Option<InstallPlan>> {
        let spec = spec_of(adapter)?;
        let (program, store) = (utf8(self.program)?, utf8(self.layout.root())?);
        let wiring = Wiring { agent: adapter.name(), spec: &spec, program, store };
        let home = (spec.home)(self.places);
        let json = home.join(spec.json);
        if let Some(toml) = spec.toml.map(|name| home.join(name))
            && !files::exists(&json)
            && let Some(text) = read(&toml)?
            && edit::toml_has_hooks(&text)
        {
            let base = edit::toml_without_hooks(&text);
            // Where hooks are written so that none can be added, a file of our own does as well.
            if let Ok(after) = edit::toml_with_hooks(&base, &wiring) {
                let (before, base, created) = (Some(text), Some(base), Vec::new());
                let edit = Edit { file: toml, before, base, after, created };
                return self.plan_install(adapter.name(), spec.afterwards, edit);
            }
        }
        let before = read(&json)?;
        if before.as_deref().is_some_and(|text| wiring.is_in(text.trim_start_matches('\u{feff}'))) {
            return Ok(None);
        }
        let cannot = |reason| cannot_change(&json, reason, "; nothing was changed");
        let note = self.note(adapter.name()).filter(|note| note.file == json);
        let base = match (&before, &note) {
            (None, _) => None,
            (Some(text), Some(note)) if note.is_untouched(text) => {
                self.kept(adapter.name(), note).or(before.clone())
            }
            (Some(text), note) => {
                let created = note.as_ref().map(|note| note.created.as_slice());
                Some(edit::without_hooks(text, adapter.name(), &spec, created).map_err(cannot)?)
            }
        };
        let (after, created) =
            edit::with_hooks(base.as_deref().unwrap_or_default(), &wiring).map_err(cannot)?;
        let edit = Edit { file: json, before, base, after, created };
        self.plan_install(adapter.name(), spec.afterwards, edit)
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
    fn uninstall(&self, adapter: &'static dyn Adapter) -> Result<Vec<InstallPlan>> {
        let (agent, spec) = (adapter.name(), spec_of(adapter)?);
        let home = (spec.home)(self.places);
        let note = self.note(agent);
        let mut plans = Vec::new();
        for name in [Some(spec.json), spec.toml].into_iter().flatten() {
            let file = home.join(name);
            let Some(before) = read(&file)? else { continue };
            let note = note.as_ref().filter(|note| note.file == file);
            let untouched = note.filter(|note| note.is_untouched(&before));
            let after = if untouched.is_some_and(|note| !note.existed) {
                None
            } else if let Some(kept) = untouched.and_then(|note| self.kept(agent, note)) {
                Some(kept)
            } else if name == spec.json {
                let created = note.map(|note| note.created.as_slice());
                let by_hand = ", or take out the hooks that call `memtree` by hand";
                let after = edit::without_hooks(&before, agent, &spec, created)
                    .map_err(|reason| cannot_change(&file, reason, by_hand))?;
                let ours = note.is_some_and(|note| !note.existed) && jsonc::is_empty(&after);
                (!ours).then_some(after)
            } else {
                Some(edit::toml_without_hooks(&before))
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
        let spec = adapters::known(self.agent).ok().and_then(|adapter| adapter.hooks());
        let before = self.before.as_deref().unwrap_or_default();
        spec.is_some_and(|spec| edit::has_harmful_hooks(before, self.agent, &spec))
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

/// Whether an agent is on this machine: whether its folder is.
pub fn is_here(adapter: &dyn Adapter, places: &Places) -> bool {
    adapter.hooks().is_some_and(|spec| (spec.home)(places).is_dir())
}

fn cannot_change(file: &Path, reason: String, or: &str) -> Error {
    Error::new(format!("cannot change the settings `{}`", file.display()))
        .because(reason)
        .hint(format!("fix the file first{or}"))
}

fn spec_of(adapter: &dyn Adapter) -> Result<HookSpec> {
    adapter.hooks().ok_or_else(|| {
        let known: Vec<&str> = with_hooks().map(|adapter| adapter.name()).collect();
        Error::usage(format!("`{}` has no hooks that memtree knows", adapter.name()))
            .because(format!("those that have: {}", known.join(", ")))
            .hint("`memtree watch` takes in its sessions all the same")
    })
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
