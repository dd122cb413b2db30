//! `memtree config`

use std::io::IsTerminal;

use super::{App, output};
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::ops::config::{self, Decision, Verdict};
use crate::ops::config_model::{self, ModelRequest};
use crate::settings::TEMPLATE;
use crate::settings::accepted::WaitingSetting;

/// Print every setting with its default, or decide what of a memory's settings counts here
///
/// A memory's `memtree.toml` arrives by `git pull`, so what it says takes effect on this device only
/// once you accepted it here; until then what you accepted before stays in force. `trust`,
/// `distrust` and `model` change your own configuration and nothing else: the first two say whether
/// what another device wrote counts as your own words, the last which model writes better prose
/// than memtree does by itself.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    /// Print the values in force for this memory instead, from all layers together
    #[arg(long)]
    effective: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Let settings of this memory's file take effect here; without a key, list what waits
    Accept(Choice),
    /// Turn them down: what is in force stays, and the file is not asked about again
    Reject(Choice),
    /// Count what a device wrote as your own words, in your own configuration
    Trust { device: String },
    /// Take that back
    Distrust { device: String },
    /// Let your own agent or a server write titles, outcomes, decisions and lessons
    ///
    /// Known by name: claude, codex, gemini, ollama; or name the address of any server that speaks
    /// OpenAI's protocol. Every line has to quote the session and is checked without a model. Nothing is
    /// sent before you say yes: then one call of a few tokens tries it. `models.daily_tokens` and
    /// `models.daily_usd` cap what a day may cost.
    Model(ModelArgs),
}

#[derive(Debug, clap::Args)]
struct ModelArgs {
    /// claude, codex, gemini, ollama, or a server's address
    name: String,
    /// Which of its models; Claude Code takes haiku, Codex and Gemini their own choice
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The environment variable that holds a server's key
    #[arg(long, value_name = "VARIABLE")]
    key_variable: Option<String>,
    /// Try it at once, without a question
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, clap::Args)]
struct Choice {
    /// The settings, such as `exclude.projects`, or a whole table, such as `sources`
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    /// Everything that waits
    #[arg(long, conflicts_with = "keys")]
    all: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    match args.action {
        Some(Action::Model(args)) => return choose_model(args, app),
        Some(Action::Accept(choice)) => decide(app, &choice, Decision::Accept)?,
        Some(Action::Reject(choice)) => decide(app, &choice, Decision::Reject)?,
        Some(Action::Trust { device }) => judge(app, &device, Verdict::Trust)?,
        Some(Action::Distrust { device }) => judge(app, &device, Verdict::Distrust)?,
        None if args.effective || app.json => {
            let memory = app.memory_for_dry_run()?;
            warn_of_waiting(memory.waiting_settings(), app);
            output::json(memory.settings());
        }
        None => {
            // The list of all settings needs no memory; where there is one, it may say something.
            if let Ok(memory) = Memory::open_for_dry_run(&app.root, app.environment.clone()) {
                warn_of_waiting(memory.waiting_settings(), app);
            }
            output::print(TEMPLATE);
        }
    }
    Ok(0)
}

fn choose_model(args: ModelArgs, app: &App) -> Result<u8> {
    let ModelArgs { name, model, key_variable, yes } = args;
    let choice =
        config_model::choose_model(&app.environment, &ModelRequest { name, model, key_variable })?;
    if app.json {
        output::json(&choice);
        return Ok(0);
    }
    let asked = match choice.base_url.as_str() {
        "" => format!("`{}` is run", choice.command.join(" ")),
        address => format!("the model `{}` at {address} is asked", choice.low),
    };
    let already = if choice.changed { "" } else { " already" };
    let file = choice.file.display();
    output::print(&format!("{asked} for better prose{already} ({file})\n"));
    let memory = app.memory_for_dry_run()?;
    let models = &memory.settings().models;
    app.note(format!(
        "at most {} tokens and ${:.2} a day (`models.daily_tokens`, `models.daily_usd`); the sweep asks \
         about new sessions, `{} digest --all` about old ones, newest first",
        models.daily_tokens,
        models.daily_usd,
        app.program()
    ));
    if !yes && !std::io::stdin().is_terminal() {
        app.note("it was not tried; `--yes` tries it with one call of a few tokens");
        return Ok(0);
    }
    if !app.confirm("try it now with one call of a few tokens?", yes)? {
        return Ok(0);
    }
    match app.memory()?.try_model()? {
        None => output::print("it answers\n"),
        Some(reason) => {
            return Err(Error::new("the model does not answer")
                .because(reason)
                .hint("the settings stay; `memtree config model` with another name changes them"));
        }
    }
    Ok(0)
}

/// How many settings are named before the rest is only counted.
const NAMED: usize = 8;

/// Names what waits, each with the command that accepts it.
pub fn warn_of_waiting(waiting: &[WaitingSetting], app: &App) {
    for setting in waiting.iter().take(NAMED) {
        app.note(format!("not accepted here: {}; `{}`", setting.shown(), setting.accept));
    }
    if waiting.len() > NAMED {
        let more = output::count(waiting.len() - NAMED, "more setting");
        app.note(format!("and {more}; `memtree config accept` lists them"));
    }
}

fn decide(app: &App, choice: &Choice, decision: Decision) -> Result<()> {
    let memory = app.memory()?;
    if choice.keys.is_empty() && !choice.all {
        if app.json {
            output::json(&memory.waiting_settings());
            return Ok(());
        }
        for setting in memory.waiting_settings() {
            output::print(&format!("{}\n  `{}`\n", setting.shown(), setting.accept));
        }
        if memory.waiting_settings().is_empty() {
            app.note("nothing waits: what this memory's file says is in force");
        }
        return Ok(());
    }
    let keys = (!choice.all).then_some(choice.keys.as_slice());
    let report = memory.decide_on_settings(keys, decision)?;
    if app.json {
        output::json(&report);
        return Ok(());
    }
    let said = if decision == Decision::Accept { "accepted" } else { "rejected" };
    for setting in &report.decided {
        output::print(&format!("{said} {}\n", setting.shown()));
    }
    if report.decided.is_empty() {
        app.note("nothing waits: what this memory's file says is in force");
    }
    Ok(())
}

fn judge(app: &App, device: &str, verdict: Verdict) -> Result<()> {
    let report = config::judge_device(&app.environment, device, verdict)?;
    if app.json {
        output::json(&report);
        return Ok(());
    }
    let says = match verdict {
        Verdict::Trust => "is trusted",
        Verdict::Distrust => "is not trusted",
    };
    let already = if report.changed { "" } else { " already" };
    let file = report.file.display();
    output::print(&format!("{} {says}{already} (`devices.trust` in {file})\n", report.device));
    Ok(())
}
