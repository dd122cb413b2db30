//! Wiring agents up: our hooks, our MCP server and our skills in their own files, and out again as
//! if they had never been there.
//!
//! Which agent wants what where is data: `adapters/hooks/` and `adapters/servers.rs`. A plan says
//! what would change in one file; applying it notes what was there before.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::adapters::hooks::{self, HookSpec};
use crate::adapters::servers::{self, ServerSpec};
use crate::adapters::{self, Places};
use crate::base::files;
use crate::base::setters::setters;
use crate::error::{Error, Result};
use crate::memory::Memory;

mod edit;
mod installer;
mod parts;
mod plan;
mod plugin;
mod server;
mod skills;
mod toml_file;
mod trust;
mod yaml_file;

pub use installer::{INSTEAD, known};
pub use parts::Part;
pub use plan::{InstallPlan, InstallPlans, LeftAlone};
pub use trust::untrusted;

use installer::Installer;
use plan::{Direction, Notes};

/// Whose files are to change.
#[derive(Debug, Clone, Default)]
pub struct InstallRequest {
    /// The agents by name; every agent on this machine that can be wired up, where none is named.
    pub agents: Vec<String>,
    /// The absolute path of the program that is called.
    pub program: PathBuf,
    /// What they are given; everything, where nothing is said.
    pub parts: Vec<Part>,
    /// The project whose folders get the skills, and nothing else; the home's, where none is named.
    pub project: Option<PathBuf>,
    /// Whether agents that can should also call before a tool edits or runs something, and when a
    /// subagent starts.
    pub before_tools: bool,
    /// What agents say of their version: no event is written that theirs may not know.
    pub versions: BTreeMap<String, String>,
}

setters!(InstallRequest {
    agents: Vec<String>,
    program: PathBuf,
    parts: Vec<Part>,
    project: Option<PathBuf>,
    before_tools: bool,
    versions: BTreeMap<String, String>,
});

impl Memory {
    /// Says what has to change for agents to use the memory.
    pub fn plan_install(&self, request: &InstallRequest) -> Result<InstallPlans> {
        self.plan_change(request, Direction::In)
    }

    /// Says what has to change for agents to know nothing of it any more.
    pub fn plan_uninstall(&self, request: &InstallRequest) -> Result<InstallPlans> {
        self.plan_change(request, Direction::Out)
    }

    /// Makes a change. What was there before is kept first.
    pub fn apply_install(&self, plan: &InstallPlan) -> Result<()> {
        plan::apply(self.layout(), plan)
    }

    fn plan_change(&self, request: &InstallRequest, direction: Direction) -> Result<InstallPlans> {
        let (layout, places) = (self.layout(), &self.environment().places);
        let parts = match (&request.project, request.parts.as_slice()) {
            (Some(_), _) => vec![Part::Skills],
            (None, []) => Part::ALL.to_vec(),
            (None, parts) => parts.to_vec(),
        };
        let installer = Installer {
            program: utf8(&request.program)?,
            store: utf8(layout.root())?,
            notes: Notes { layout },
            places,
            parts,
            project: request.project.as_deref(),
            named: &request.agents,
            request,
        };
        let specs = installer.specs(direction)?;
        let mut plans = installer.plans(&specs, direction)?;
        if installer.parts.contains(&Part::Skills) {
            installer.plan_skills(&specs, direction, &mut plans)?;
        }
        Ok(plans)
    }
}

/// The agents with hooks that are on this machine: those whose folder is.
pub fn here(places: &Places) -> impl Iterator<Item = &'static HookSpec> {
    hooks::ALL.iter().copied().filter(|spec| files::is_dir((spec.home)(places)))
}

/// All agents on this machine that can be wired up.
pub fn agents_here(places: &Places) -> impl Iterator<Item = &'static ServerSpec> {
    servers::ALL.iter().copied().filter(|spec| files::is_dir(spec.home(places)))
}

/// The agents on this machine that have no hooks: those whose logs are. Whether they have a server
/// is told too.
pub fn without_hooks(places: &Places) -> impl Iterator<Item = (&'static str, bool)> {
    let others = adapters::ALL.iter().filter(|adapter| hooks::of(adapter.name()).is_none());
    let is_here = |path: &PathBuf| files::exists(path);
    others
        .filter(move |adapter| adapter.roots(places).iter().any(is_here))
        .map(|adapter| (adapter.name(), servers::of(adapter.name()).is_some()))
}

/// Whether our MCP server is no longer in an agent's file as it was written there.
pub fn server_is_lost(memory: &Memory, request: &InstallRequest) -> bool {
    let notes = Notes { layout: memory.layout() };
    let request = request.clone().parts(vec![Part::Mcp]);
    let was_written = |agent: &String| notes.named(&plan::server_note(agent)).is_some();
    request.agents.iter().any(was_written)
        && memory.plan_install(&request).is_ok_and(|plans| !plans.plans.is_empty())
}

fn utf8(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| {
        Error::new(format!("cannot write the path `{}` into an agent's settings", path.display()))
            .because("it is not UTF-8")
    })
}
