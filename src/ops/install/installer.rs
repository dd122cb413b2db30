//! Which files of which agents are to change, and the plan for each.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::adapters::hooks::{self, HookSpec, Shape, before_tools};
use crate::adapters::servers::{self, ServerSpec};
use crate::adapters::{self, Places};
use crate::base::{files, text};
use crate::error::{Error, Result};

use super::edit::Wiring;
use super::parts::{Part, SharedFile};
use super::plan::{
    self, Direction, InstallPlan, InstallPlans, LeftAlone, Notes, cannot_change, read,
};
use super::server::{Owner, Server};
use super::{InstallRequest, plugin, toml_file};

/// What is put into agents' files, or taken out of them.
#[derive(Debug)]
pub struct Installer<'a> {
    /// The absolute path of this program.
    pub program: &'a str,
    /// The absolute path of the memory.
    pub store: &'a str,
    pub notes: Notes<'a>,
    pub places: &'a Places,
    pub parts: Vec<Part>,
    pub project: Option<&'a Path>,
    pub named: &'a [String],
    pub request: &'a InstallRequest,
}

impl Installer<'_> {
    /// The plans for all agents that are meant. Where one is named, trouble with it is an error;
    /// otherwise the rest goes on.
    pub fn plans(
        &self,
        specs: &[&'static ServerSpec],
        direction: Direction,
    ) -> Result<InstallPlans> {
        let agents = specs.iter().map(|spec| spec.agent).collect();
        let mut all = InstallPlans { agents, ..InstallPlans::default() };
        for spec in specs {
            for one in self.files_of(spec, direction)? {
                let planned = match &one {
                    Wanted::Shared(shared) => {
                        self.plan_shared(spec.agent, shared, direction, &mut all)
                    }
                    Wanted::Plugin(file, text, template) => {
                        self.plan_plugin(spec.agent, file, text, template, direction)
                    }
                };
                let (file, part) = one.file_and_part();
                self.take(&mut all, spec.agent, part, file, planned)?;
            }
        }
        Ok(all)
    }

    /// Takes in a plan; what cannot be planned is left alone, unless its agent was named.
    pub fn take(
        &self,
        all: &mut InstallPlans,
        agent: &'static str,
        part: Part,
        file: &Path,
        planned: Result<Option<InstallPlan>>,
    ) -> Result<()> {
        match planned {
            Ok(plan) => all.plans.extend(plan),
            Err(error) if !self.named.is_empty() => return Err(error),
            Err(error) => {
                let reason = error.causes().join("; ");
                let reason = if reason.is_empty() { error.what().to_string() } else { reason };
                let file = file.display().to_string();
                all.left.push(LeftAlone { agent, part, file, reason, is_trouble: true });
            }
        }
        Ok(())
    }

    /// The agents that are meant. Out of all means also those that are gone and left our files.
    pub fn specs(&self, direction: Direction) -> Result<Vec<&'static ServerSpec>> {
        if !self.named.is_empty() {
            return self.named.iter().map(|name| named(name)).collect();
        }
        let was_wired = |spec: &&ServerSpec| {
            let names = [spec.agent.to_string(), plan::server_note(spec.agent)];
            direction == Direction::Out && names.iter().any(|name| self.notes.named(name).is_some())
        };
        let all = servers::ALL.iter().copied();
        Ok(all.filter(|spec| files::is_dir(spec.home(self.places)) || was_wired(spec)).collect())
    }

    /// The files of an agent's that parts of ours belong into or, on the way out, may stand in.
    fn files_of(&self, spec: &'static ServerSpec, direction: Direction) -> Result<Vec<Wanted<'_>>> {
        let mut wanted = Vec::new();
        if let Some(hooks) = hooks::of(spec.agent).filter(|_| self.parts.contains(&Part::Hooks)) {
            self.files_of_hooks(hooks, direction, &mut wanted)?;
        }
        if self.parts.contains(&Part::Mcp) {
            let paths = match direction {
                Direction::In => vec![spec.file(self.places)],
                Direction::Out => (spec.files)(self.places),
            };
            let server = Server { spec, program: self.program, store: self.store };
            for file in paths {
                wanted.push(Wanted::Shared(SharedFile::of_server(file, server)));
            }
        }
        // What may stand in the same file is changed at once.
        let mut joined: Vec<Wanted> = Vec::new();
        for one in wanted {
            let same = joined.iter_mut().find_map(|other| match (other, &one) {
                (Wanted::Shared(other), Wanted::Shared(one)) => {
                    (other.file == one.file).then_some(other)
                }
                _ => None,
            });
            match (same, one) {
                (Some(other), Wanted::Shared(one)) => other.join(one),
                (_, one) => joined.push(one),
            }
        }
        // A part that is not asked for stays in its file.
        for one in &mut joined {
            if let Wanted::Shared(shared) = one {
                self.complete(spec, shared);
            }
        }
        Ok(joined)
    }

    /// Lets a file know of all of ours that may stand in it.
    fn complete<'s>(&'s self, spec: &'static ServerSpec, shared: &mut SharedFile<'s>) {
        if shared.server.is_none() && (spec.files)(self.places).contains(&shared.file) {
            shared.server = Some(Server { spec, program: self.program, store: self.store });
        }
        if let Some(hooks) = hooks::of(spec.agent).filter(|_| shared.hooks.is_none()) {
            let toml = hooks.toml.map(|name| (hooks.home)(self.places).join(name));
            let is_theirs =
                (hooks.file)(self.places) == shared.file || toml.as_ref() == Some(&shared.file);
            let is_text = !matches!(hooks.shape, Shape::Plugin(_));
            shared.hooks = (is_theirs && is_text).then(|| self.wiring(hooks));
        }
    }

    fn wiring(&self, spec: &'static HookSpec) -> Wiring<'_> {
        Wiring { spec: self.with_asked_for(spec), program: self.program, store: self.store }
    }

    /// An agent's row with the hooks before tools, where they are asked for or already there.
    fn with_asked_for(&self, spec: &'static HookSpec) -> &'static HookSpec {
        let toml = spec.toml.map(|name| (spec.home)(self.places).join(name));
        let files = [Some((spec.file)(self.places)), toml].into_iter().flatten();
        let texts: Vec<String> = files.filter_map(|file| read(&file).ok().flatten()).collect();
        let has = |event: &str| {
            let call = format!(" hook {} {event}", spec.agent);
            texts.iter().any(|text| text.contains(&call))
        };
        if !self.request.before_tools && !before_tools::names(spec.agent).any(has) {
            return spec;
        }
        let said = self.request.versions.get(spec.agent);
        let version = said.and_then(|said| before_tools::version(said));
        // What is there was taken by the agent, whatever its version is called.
        let version = if has(before_tools::SUBAGENT_START) { Some([u32::MAX; 3]) } else { version };
        before_tools::asked_for(spec.agent, version).unwrap_or(spec)
    }

    fn files_of_hooks<'s>(
        &'s self,
        spec: &'static HookSpec,
        direction: Direction,
        wanted: &mut Vec<Wanted<'s>>,
    ) -> Result<()> {
        let rows = match direction {
            Direction::In => vec![spec.in_force(self.places)],
            Direction::Out => [Some(spec), spec.instead].into_iter().flatten().collect(),
        };
        for spec in rows {
            let (file, wiring) = ((spec.file)(self.places), self.wiring(spec));
            if let Shape::Plugin(template) = spec.shape {
                wanted.push(Wanted::Plugin(file, plugin::text(template, &wiring), template));
                continue;
            }
            let toml = spec.toml.map(|name| (spec.home)(self.places).join(name));
            let goes_there = match (&toml, direction) {
                (Some(toml), Direction::In) => !files::exists(&file) && takes_hooks(toml, &wiring)?,
                _ => false,
            };
            let both = direction == Direction::Out;
            if both || !goes_there {
                wanted.push(Wanted::Shared(SharedFile::of_hooks(file, wiring, false)));
            }
            if let Some(toml) = toml.filter(|_| both || goes_there) {
                wanted.push(Wanted::Shared(SharedFile::of_hooks(toml, wiring, true)));
            }
        }
        Ok(())
    }

    /// A plan for a file that others use too.
    fn plan_shared(
        &self,
        agent: &'static str,
        shared: &SharedFile,
        direction: Direction,
        all: &mut InstallPlans,
    ) -> Result<Option<InstallPlan>> {
        let mut parts = shared.asked.clone();
        if direction == Direction::In && parts.contains(&Part::Mcp) {
            let text = read(&shared.file)?.unwrap_or_default();
            let reason = match shared.owner_of_server(&text) {
                Owner::Nobody | Owner::Memtree => None,
                Owner::Person => Some("it has an entry `memtree` of your own, which stays"),
                Owner::Another => Some("its entry `memtree` starts something else"),
            };
            if let Some(reason) = reason {
                let (file, part) = (shared.file.display().to_string(), Part::Mcp);
                let reason = reason.to_string();
                all.left.push(LeftAlone { agent, part, file, reason, is_trouble: false });
                parts.retain(|part| *part != Part::Mcp);
            }
        }
        if parts.is_empty() {
            return Ok(None);
        }
        let mut plan = self.notes.plan_shared(agent, shared, direction, &parts)?;
        if let Some(plan) = plan.as_mut().filter(|plan| plan.parts.contains(&Part::Hooks)) {
            let spec = hooks::of(agent).filter(|_| direction == Direction::In);
            plan.afterwards = spec.and_then(|spec| spec.afterwards);
        }
        Ok(plan)
    }

    /// A plan for a plugin of ours.
    fn plan_plugin(
        &self,
        agent: &'static str,
        file: &Path,
        text: &str,
        template: &str,
        direction: Direction,
    ) -> Result<Option<InstallPlan>> {
        let before = read(file)?;
        let is_ours = before.as_deref().is_none_or(plugin::is_ours);
        let plan = match (direction, before) {
            (Direction::In, _) if !is_ours => {
                let reason = "it is not memtree's, and bears its name".to_string();
                return Err(cannot_change(file, reason, "; nothing was changed"));
            }
            (Direction::In, before) => self.notes.plan_whole(
                agent.to_string(),
                file.to_path_buf(),
                before,
                text.to_string(),
                BTreeSet::new(),
            )?,
            (Direction::Out, Some(before)) if is_ours => {
                let note = self.notes.named(agent).filter(|note| note.file == file);
                let is_untouched = note.is_some_and(|note| note.is_untouched(&before));
                if !is_untouched && !plugin::is_unchanged(&before, template) {
                    let reason = "somebody has changed it since memtree wrote it".to_string();
                    return Err(cannot_change(file, reason, ", or remove it by hand"));
                }
                Some(self.notes.plan_removal(agent.to_string(), file.to_path_buf(), before)?)
            }
            _ => None,
        };
        Ok(plan.map(|plan| plan.on_behalf_of(vec![agent], Part::Hooks)))
    }
}

/// A file that something of ours belongs into.
enum Wanted<'a> {
    Shared(SharedFile<'a>),
    /// A plugin: its file, its text, and the template that it is made from.
    Plugin(PathBuf, String, &'static str),
}

impl Wanted<'_> {
    fn file_and_part(&self) -> (&Path, Part) {
        match self {
            Wanted::Shared(shared) => (&shared.file, shared.asked[0]),
            Wanted::Plugin(file, ..) => (file, Part::Hooks),
        }
    }
}

/// Whether an agent's TOML file has hooks, so that ours belong there too. Where they are written so
/// that none can be added, a file of our own does as well.
fn takes_hooks(toml: &Path, wiring: &Wiring) -> Result<bool> {
    let Some(text) = read(toml)?.filter(|text| toml_file::has_hooks(text)) else {
        return Ok(false);
    };
    let tables = toml_file::hooks(wiring);
    let base = toml_file::without_part(&text);
    Ok(tables.and_then(|tables| toml_file::with_part(&base, &tables)).is_ok())
}

/// The names of the agents that can be wired up.
pub fn known() -> String {
    let mut names: Vec<&str> = servers::ALL.iter().map(|spec| spec.agent).collect();
    names.sort_unstable();
    names.join(", ")
}

/// What to do for an agent that has no hooks.
pub const INSTEAD: &str = "let `memtree watch` take in its sessions, and let its instructions \
                           (such as AGENTS.md) tell it to run `memtree context` and `memtree search`";

/// The row of an agent by its name, or why there is none.
fn named(name: &str) -> Result<&'static ServerSpec> {
    match servers::of(name) {
        Some(spec) => Ok(spec),
        None => {
            let Some(adapter) = adapters::named(name) else {
                let wrong = Error::usage(format!("unknown agent `{name}`; known: {}", known()));
                let names = servers::ALL.iter().map(|spec| spec.agent);
                return Err(match text::nearest(name, names) {
                    Some(near) => wrong.hint(format!("did you mean `{near}`?")),
                    None => wrong,
                });
            };
            Err(Error::usage(format!("`{}` has no hooks that memtree knows", adapter.name()))
                .because(format!("those that can be wired up: {}", known()))
                .hint(INSTEAD))
        }
    }
}
