//! `memtree install` and `memtree uninstall`: wire agents up, and undo it.

use serde::Serialize;

use super::{App, output};
use crate::adapters::{self, Adapter};
use crate::error::{Context, Error, Result};
use crate::ops::install::{Install, Plan, is_here};
use crate::store::layout::Layout;

/// Let an agent use the memory: write memtree's hooks into its settings
///
/// An agent then gets the page for its project when a session starts, and a recall before a prompt
/// where it is strong; its sessions are taken in every 30 turns, before compaction and at their
/// end. The difference is shown and asked about first. Comments, order and formatting of the
/// settings stay, what was there is kept, and `uninstall` puts it back byte for byte. An agent's
/// own memory is left as it is.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which agents: claude, codex
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

/// Take memtree's hooks out of an agent's settings again
///
/// If nobody has changed the settings since, they are byte for byte as they were before `install`;
/// otherwise only memtree's own entries go.
#[derive(Debug, clap::Args)]
pub struct UndoArgs {
    /// Which agents: claude, codex
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

struct Flags {
    dry_run: bool,
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
    let program = std::env::current_exe().context(|| "cannot tell where this program is".into())?;
    let flags = Flags { dry_run: args.dry_run, yes: args.yes };
    if !flags.dry_run {
        app.memory_or_new()?;
    }
    let layout = Layout::new(&app.root);
    let install = Install { program: &program, layout: &layout, places: &app.environment.places };
    let chosen = chosen(&args.agents, args.all, app)?;
    let mut plans = Vec::new();
    for adapter in &chosen {
        plans.push((adapter.name(), install.install(*adapter)?.into_iter().collect()));
    }
    carry_out(&install, plans, app, &flags, ["installed", "unchanged"], "Write this?")
}

/// Takes hooks out.
pub fn undo(args: UndoArgs, app: &App) -> Result<u8> {
    let program = std::env::current_exe().context(|| "cannot tell where this program is".into())?;
    let layout = Layout::new(&app.root);
    let install = Install { program: &program, layout: &layout, places: &app.environment.places };
    let mut plans = Vec::new();
    for adapter in chosen(&args.agents, args.all, app)? {
        plans.push((adapter.name(), install.uninstall(adapter)?));
    }
    let flags = Flags { dry_run: args.dry_run, yes: args.yes };
    carry_out(&install, plans, app, &flags, ["uninstalled", "unchanged"], "Take this out?")
}

fn carry_out(
    install: &Install,
    plans: Vec<(&'static str, Vec<Plan>)>,
    app: &App,
    flags: &Flags,
    [done, nothing]: [&'static str; 2],
    question: &str,
) -> Result<u8> {
    let mut report = Report { store: app.root.display().to_string(), agents: Vec::new() };
    for (agent, plans) in plans {
        if plans.is_empty() {
            let difference = String::new();
            report.agents.push(Done {
                agent,
                status: nothing,
                file: None,
                difference,
                afterwards: None,
            });
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
            let agreed = !flags.dry_run && app.confirm(question, flags.yes)?;
            let status = match (flags.dry_run, agreed) {
                (true, _) => "planned",
                (_, true) => done,
                _ => "declined",
            };
            if agreed {
                install.apply(&plan)?;
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

fn chosen(names: &[String], all: bool, app: &App) -> Result<Vec<&'static dyn Adapter>> {
    if all {
        let here: Vec<&dyn Adapter> = adapters::ALL
            .iter()
            .copied()
            .filter(|adapter| is_here(*adapter, &app.environment.places))
            .collect();
        if here.is_empty() {
            let known: Vec<&str> = adapters::ALL
                .iter()
                .filter(|adapter| adapter.hooks().is_some())
                .map(|adapter| adapter.name())
                .collect();
            app.note(format!(
                "no agent with hooks is on this machine; memtree knows: {}",
                known.join(", ")
            ));
        }
        return Ok(here);
    }
    names.iter().map(|name| agent(name)).collect()
}

fn agent(name: &str) -> Result<&'static dyn Adapter> {
    super::sources::known_flavor(name)?;
    adapters::named(name).ok_or_else(|| Error::usage(format!("unknown agent `{name}`")))
}
