//! `memtree install` and `memtree uninstall`: wire agents up, and undo it.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde::Serialize;

use super::{App, output};
use crate::base::git::Repository;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::ops::install::{self, InstallPlan, InstallPlans, InstallRequest, LeftAlone, Part};
use crate::ops::native::{NativeNotes, NativeRequest};

/// Let an agent use the memory: write memtree's hooks, MCP server and skills where it looks for
/// them
///
/// Hooks: an agent gets the page for its project when a session starts, and a recall before a
/// prompt where it is strong, as far as it shows a model what hooks say; its sessions are taken in
/// every 30 turns, before compaction and at their end. An agent that has no settings for that gets
/// a plugin. MCP: an entry in its own list of servers, so that it can search by itself. Skills:
/// when to do so, and how. What will change is shown and asked about once. Comments, order and
/// formatting of the files stay, what was there is kept, and `uninstall` puts it back byte for
/// byte. An agent's own memory is left as it is.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    agents: AgentArgs,
    /// Also call before a tool edits a file or runs a command, and when a subagent starts: the
    /// agent is then told what was decided on that file, or what that command came to, where that
    /// is sure. For Claude Code and Codex; asks them for their version first
    #[arg(long)]
    before_tools: bool,
}

/// Take memtree's hooks, MCP server and skills out of an agent's files again
///
/// A file that nobody has changed since is byte for byte as it was before `install`; otherwise only
/// memtree's own entries go. Files and folders that memtree made are removed.
#[derive(Debug, clap::Args)]
pub struct UndoArgs {
    #[command(flatten)]
    agents: AgentArgs,
}

#[derive(Debug, clap::Args)]
struct AgentArgs {
    /// Which agents: antigravity, claude, cline, codex, copilot, crush, cursor, droid, gemini,
    /// goose, grok, hermes, kilo, kimi, kiro, omp, openclaw, opencode, pi, qwen, zed
    #[arg(value_name = "AGENT", conflicts_with = "all")]
    agents: Vec<String>,
    /// Every agent that is on this machine
    #[arg(long)]
    all: bool,
    /// Only this part; may be given several times
    #[arg(long, value_name = "PART", value_enum)]
    only: Vec<OnlyPart>,
    /// The skills of the current folder's project instead of those of your home, and nothing else
    #[arg(long, conflicts_with = "only")]
    project: bool,
    /// Read what the agents remember by themselves (the auto memory of Claude Code, the memories of
    /// Codex, memory/ of OpenClaw) into memories/native, now and with every sweep, or with
    /// `uninstall` no longer; theirs stays as it is
    #[arg(long, conflicts_with_all = ["only", "project"])]
    native: bool,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Ask no questions
    #[arg(long, short = 'y')]
    yes: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum OnlyPart {
    Hooks,
    Mcp,
    Skills,
}

impl From<OnlyPart> for Part {
    fn from(part: OnlyPart) -> Part {
        match part {
            OnlyPart::Hooks => Part::Hooks,
            OnlyPart::Mcp => Part::Mcp,
            OnlyPart::Skills => Part::Skills,
        }
    }
}

/// What was done to one file.
#[derive(Serialize)]
struct Done {
    agent: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    difference: String,
    /// What the person still has to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    afterwards: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct Report {
    store: String,
    agents: Vec<Done>,
    /// What is as it was, though it was asked for.
    left: Vec<LeftAlone>,
}

/// The words for one direction.
#[derive(Clone, Copy)]
struct Words {
    done: &'static str,
    question: &'static str,
    will: &'static str,
    /// What else is there to know.
    hint: &'static str,
}

const IN: Words = Words {
    done: "installed",
    question: "Write this?",
    will: "memtree will write",
    hint: "`--dry-run` shows every line of it; `memtree uninstall --all` undoes it exactly.\n",
};
const OUT: Words = Words {
    done: "uninstalled",
    question: "Take this out?",
    will: "memtree will take itself out of",
    hint: "`--dry-run` shows every line of it.\n",
};

impl AgentArgs {
    /// Says so where no agent is named.
    fn check(&self) -> Result<()> {
        match self.agents.is_empty() && !self.all {
            true => Err(Error::usage("no agent is named")
                .hint("name one, or say `--all` for every agent on this machine")),
            false => Ok(()),
        }
    }
}

/// Wires agents up.
pub fn run(args: Args, app: &App) -> Result<u8> {
    args.agents.check()?;
    if args.agents.native {
        return native(&args.agents, app, false);
    }
    let dry_run = args.agents.dry_run;
    let memory = if dry_run { app.memory_for_dry_run()? } else { app.memory_or_new()? };
    let mut request = args.agents.request(app)?;
    if args.before_tools {
        request.before_tools = true;
        request.versions = versions();
    }
    let plans = memory.plan_install(&request)?;
    let code = carry_out(&memory, plans, app, &args.agents, IN)?;
    if args.agents.all && !app.json {
        for (agent, has_server) in install::without_hooks(&app.environment.places) {
            let instead = match has_server {
                true => "let `memtree watch` take in its sessions",
                false => install::INSTEAD,
            };
            app.note(format!("{agent}: has no hooks that memtree knows; {instead}"));
        }
    }
    Ok(code)
}

/// Takes out again what `run` has written.
pub fn undo(args: UndoArgs, app: &App) -> Result<u8> {
    args.agents.check()?;
    if args.agents.native {
        return native(&args.agents, app, true);
    }
    let memory = app.memory_for_dry_run()?;
    let plans = memory.plan_uninstall(&args.agents.request(app)?)?;
    carry_out(&memory, plans, app, &args.agents, OUT)
}

/// Reads agents' own notes, after a look at what there is; or reads them no longer.
fn native(args: &AgentArgs, app: &App, stop: bool) -> Result<u8> {
    let memory = match args.dry_run || stop {
        true => app.memory()?,
        false => app.memory_or_new()?,
    };
    let request = NativeRequest { agents: args.agents.clone(), stop, dry_run: true };
    let mut report = memory.read_native(request.clone())?;
    let folder = |one: &NativeNotes| one.folder.display().to_string();
    if !app.json && !stop {
        for one in &report.agents {
            let notes = output::count(one.notes, "note");
            output::print(&format!(
                "{}: {notes}, {} to read into {}\n",
                one.agent,
                one.read,
                folder(one)
            ));
        }
    }
    if report.agents.is_empty() {
        app.note("no agent on this machine keeps notes that memtree can read");
    } else if !args.dry_run {
        let agreed = stop || app.confirm("Read them, now and with every sweep?", args.yes)?;
        if agreed {
            report = memory.read_native(NativeRequest { dry_run: false, ..request })?;
        }
        for one in report.agents.iter().filter(|_| agreed && !app.json) {
            let agent = one.agent;
            let kept = match one.kept {
                0 => String::new(),
                kept => format!(", left {kept} that you have changed"),
            };
            app.note(match stop {
                true => format!(
                    "{agent}: its notes are read no longer; what was read stays in {}",
                    folder(one)
                ),
                false => format!("{agent}: read {}{kept}", output::count(one.read, "note")),
            });
        }
    }
    for skipped in &report.skipped {
        eprintln!("{}", output::safe(&format!("skipped {skipped}")));
    }
    if app.json {
        output::json(&report);
    } else if !stop {
        for one in &report.agents {
            app.note(format!(
                "{}: to let it keep its notes in the memory itself, {}",
                one.agent, one.instead
            ));
        }
    }
    Ok(if report.skipped.is_empty() { 0 } else { 3 })
}

/// What the agents with hooks before tools say of their version.
fn versions() -> BTreeMap<String, String> {
    let agents = ["claude", "codex"].into_iter();
    agents.filter_map(|agent| Some((agent.to_string(), said_version(agent)?))).collect()
}

/// What a program says to `--version`; nothing where it is not there or takes too long.
fn said_version(program: &str) -> Option<String> {
    const PATIENCE: Duration = Duration::from_secs(10);
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().ok()?;
    let mut out = child.stdout.take()?.take(1000);
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let mut said = String::new();
        let _ = out.read_to_string(&mut said);
        let _ = send.send(said);
    });
    let said = receive.recv_timeout(PATIENCE).ok();
    // It has said what it had to say, or never will.
    let _ = child.kill();
    let _ = child.wait();
    said.filter(|said| !said.trim().is_empty())
}

impl AgentArgs {
    fn request(&self, app: &App) -> Result<InstallRequest> {
        let here = app.environment.current_dir.clone();
        let root = Repository::containing(&here).map_or(here, |repository| repository.root);
        Ok(InstallRequest {
            agents: self.agents.clone(),
            program: app.program_path()?,
            parts: self.only.iter().copied().map(Part::from).collect(),
            project: self.project.then_some(root),
            ..InstallRequest::default()
        })
    }
}

fn carry_out(
    memory: &Memory,
    InstallPlans { agents, plans, left }: InstallPlans,
    app: &App,
    args: &AgentArgs,
    words: Words,
) -> Result<u8> {
    if agents.is_empty() {
        let known = install::known();
        app.note(format!(
            "no agent that can be wired up is on this machine; memtree knows: {known}"
        ));
    }
    let shown: Vec<&InstallPlan> = plans.iter().filter(|plan| !plan.is_silent()).collect();
    if !app.json {
        match args.all && !args.dry_run {
            true => output::print(&summary(&shown, words, &app.environment.places.home)),
            false => shown.iter().for_each(|plan| output::print(&plan.difference())),
        }
        tell_left(&left, app);
    }
    let agreed = !args.dry_run
        && (plans.is_empty() || app.confirm(words.question, args.yes || shown.is_empty())?);
    let mut report = Report { store: app.root.display().to_string(), agents: Vec::new(), left };
    for agent in agents {
        if shown.iter().all(|plan| !plan.agents.contains(&agent)) {
            report.agents.push(Done::nothing(agent));
            if !app.json {
                app.note(format!("{agent}: nothing to change"));
            }
        }
    }
    let mut failed = false;
    for plan in &plans {
        let error = if agreed { memory.apply_install(plan).err() } else { None };
        let status = match (args.dry_run, agreed, &error) {
            (true, ..) => "planned",
            (_, true, None) => words.done,
            (_, true, Some(_)) => "failed",
            _ => "declined",
        };
        failed |= error.is_some();
        let done = Done::of(plan, status, error.map(|error| error.to_string()));
        if !app.json {
            tell_done(&done, plan, app, args.all && !args.dry_run);
        }
        if !plan.is_silent() {
            report.agents.push(done);
        }
    }
    if args.all && agreed && !app.json && !shown.is_empty() {
        let count = report.agents.iter().filter(|done| done.status == words.done).count();
        app.note(format!("{}: {}", words.done, output::count(count, "file")));
    }
    let is_trouble = report.left.iter().any(|left| left.is_trouble);
    if app.json {
        output::json(&report);
    }
    Ok(if failed {
        1
    } else if is_trouble {
        3
    } else {
        0
    })
}

impl Done {
    fn nothing(agent: &str) -> Done {
        Done {
            agent: agent.into(),
            parts: Vec::new(),
            status: "unchanged",
            file: None,
            difference: String::new(),
            afterwards: None,
            error: None,
        }
    }

    fn of(plan: &InstallPlan, status: &'static str, error: Option<String>) -> Done {
        Done {
            agent: plan.agents.join(", "),
            parts: plan.parts.clone(),
            status,
            file: Some(plan.file.display().to_string()),
            difference: plan.difference(),
            afterwards: plan.afterwards.filter(|_| !matches!(status, "planned" | "declined")),
            error,
        }
    }
}

/// Says what was done to a file; where the summary has named it, only what is left to do.
fn tell_done(done: &Done, plan: &InstallPlan, app: &App, is_known: bool) {
    let Done { agent, status, error, .. } = done;
    if let Some(error) = error {
        eprintln!("{}", output::safe(&format!("{agent}: {status}: {error}")));
    } else if !plan.is_silent() && !is_known {
        app.note(format!("{agent}: {status}: `{}`", plan.file.display()));
    }
    if let Some(afterwards) = done.afterwards {
        app.note(format!("{agent}: {afterwards}"));
    }
}

fn tell_left(left: &[LeftAlone], app: &App) {
    for LeftAlone { agent, file, reason, .. } in left {
        app.note(format!("{agent}: `{file}` is left as it is: {reason}"));
    }
}

/// What will change where, one line for each file.
fn summary(plans: &[&InstallPlan], words: Words, home: &Path) -> String {
    if plans.is_empty() {
        return String::new();
    }
    let short = |path: &Path| match path.strip_prefix(home) {
        Ok(below) => format!("~/{}", below.display()),
        Err(_) => path.display().to_string(),
    };
    let rows: Vec<[String; 3]> = plans
        .iter()
        .map(|plan| {
            let parts: Vec<String> = plan.parts.iter().map(Part::to_string).collect();
            [
                parts.join(" + "),
                format!("{} ({})", short(&plan.file), plan.verb()),
                plan.agents.join(", "),
            ]
        })
        .collect();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    let mut text = format!("{} {}:\n", words.will, output::count(rows.len(), "file"));
    for [parts, file, agents] in &rows {
        text.push_str(&format!("  {parts:first$}  {file:second$}  {agents}\n"));
    }
    text.push_str(words.hint);
    text
}
