//! `memtree install` and `memtree uninstall`: wire agents up, and undo it.

use serde::Serialize;

use super::{App, output};
use crate::error::Result;
use crate::memory::Memory;
use crate::ops::install::{self, InstallPlans, InstallRequest};

/// Let an agent use the memory: write memtree's hooks into its settings
///
/// An agent then gets the page for its project when a session starts, and a recall before a prompt
/// where it is strong, as far as it shows a model what hooks say; its sessions are taken in every 30
/// turns, before compaction and at their end. An agent that has no settings for that gets a plugin.
/// The difference is shown and asked about first. Comments, order and formatting of the
/// settings stay, what was there is kept, and `uninstall` puts it back byte for byte. An agent's
/// own memory is left as it is.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    agents: AgentArgs,
}

/// Take memtree's hooks out of an agent's settings again
///
/// If nobody has changed the settings since, they are byte for byte as they were before `install`;
/// otherwise only memtree's own entries go.
#[derive(Debug, clap::Args)]
pub struct UndoArgs {
    #[command(flatten)]
    agents: AgentArgs,
}

#[derive(Debug, clap::Args)]
struct AgentArgs {
    /// Which agents: antigravity, claude, codex, copilot, cursor, droid, gemini, goose, grok, kilo,
    /// opencode, pi, qwen
    #[arg(value_name = "AGENT", required_unless_present = "all", conflicts_with = "all")]
    agents: Vec<String>,
    /// Every agent with hooks that is on this machine
    #[arg(long)]
    all: bool,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Ask no questions
    #[arg(long, short = 'y')]
    yes: bool,
}

/// What was done to one agent.
#[derive(Serialize)]
struct Done {
    agent: &'static str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    difference: String,
    /// What the person still has to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    afterwards: Option<&'static str>,
}

#[derive(Serialize)]
struct Report {
    store: String,
    agents: Vec<Done>,
}

/// Writes hooks.
pub fn run(args: Args, app: &App) -> Result<u8> {
    let dry_run = args.agents.dry_run;
    let memory = if dry_run { app.memory_for_dry_run()? } else { app.memory_or_new()? };
    let plans = memory.plan_install(&args.agents.request(app)?)?;
    let code = carry_out(&memory, plans, app, &args.agents, "installed", "Write this?")?;
    if args.agents.all && !app.json {
        for agent in install::without_hooks(&app.environment.places) {
            app.note(format!("{agent}: has no hooks that memtree knows; {}", install::INSTEAD));
        }
    }
    Ok(code)
}

/// Takes hooks out.
pub fn undo(args: UndoArgs, app: &App) -> Result<u8> {
    let memory = app.memory_for_dry_run()?;
    let plans = memory.plan_uninstall(&args.agents.request(app)?)?;
    carry_out(&memory, plans, app, &args.agents, "uninstalled", "Take this out?")
}

impl AgentArgs {
    fn request(&self, app: &App) -> Result<InstallRequest> {
        Ok(InstallRequest { agents: self.agents.clone(), program: app.program_path()? })
    }
}

fn carry_out(
    memory: &Memory,
    plans: InstallPlans,
    app: &App,
    args: &AgentArgs,
    done: &'static str,
    question: &str,
) -> Result<u8> {
    if plans.is_empty() {
        let known = install::known();
        app.note(format!("no agent with hooks is on this machine; memtree knows: {known}"));
    }
    let mut report = Report { store: app.root.display().to_string(), agents: Vec::new() };
    for (agent, plans) in plans {
        if plans.is_empty() {
            let difference = String::new();
            let (status, file, afterwards) = ("unchanged", None, None);
            report.agents.push(Done { agent, status, file, difference, afterwards });
            if !app.json {
                app.note(format!("{agent}: nothing to change"));
            }
        }
        for plan in plans {
            let difference = plan.difference();
            let file = Some(plan.file.display().to_string());
            if !app.json {
                output::print(&difference);
            }
            let agreed = !args.dry_run && app.confirm(question, args.yes)?;
            let status = match (args.dry_run, agreed) {
                (true, _) => "planned",
                (_, true) => done,
                _ => "declined",
            };
            if agreed {
                memory.apply_install(&plan)?;
            }
            let afterwards = plan.afterwards.filter(|_| agreed);
            if !app.json {
                app.note(format!("{agent}: {status}: `{}`", plan.file.display()));
                if let Some(afterwards) = afterwards {
                    app.note(format!("{agent}: {afterwards}"));
                }
            }
            report.agents.push(Done { agent, status, file, difference, afterwards });
        }
    }
    if app.json {
        output::json(&report);
    }
    Ok(0)
}
