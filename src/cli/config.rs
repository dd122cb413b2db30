//! `memtree config`

use std::io::IsTerminal;

use super::{App, output};
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::ops::config::{self, Decision, Verdict};
use crate::ops::config_embeddings::{self, EmbeddingsChoice, EmbeddingsRequest};
use crate::ops::config_model::{self, ModelRequest};
use crate::settings::TEMPLATE;
use crate::settings::accepted::WaitingSetting;

/// Print every setting with its default, or decide what of a memory's settings counts here
///
/// A memory's `memtree.toml` arrives by `git pull`, so what it says takes effect on this device
/// only once you accepted it here; until then what you accepted before stays in force. `trust`,
/// `distrust`, `model` and `embeddings` change your own configuration: the first two say whether
/// what another device wrote counts as your own words, `model` which model writes better prose than
/// memtree does by itself, `embeddings` which server helps `search` to find what was meant.
/// `memtree config KEY VALUE`, such as `memtree config sync.episodes true`, writes any setting
/// there.
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
    /// OpenAI's protocol. Every line has to quote the session and is checked without a model.
    /// Nothing is sent before you say yes: then one call of a few tokens tries it.
    /// `models.daily_tokens` and `models.daily_usd` cap what a day may cost.
    Model(ModelArgs),
    /// Let a server make vectors of what was said, so that `search` also finds what is meant alike
    ///
    /// Any server with OpenAI's `/v1/embeddings`: Ollama, llama.cpp, LM Studio, or a hosted one.
    /// What was said in sessions goes there after each sweep, redacted, and so do the words of
    /// every search. The vectors stay in `.memtree/cache` on this device. `off` takes the setting
    /// out and removes them.
    Embeddings(EmbeddingsArgs),
    /// `memtree config sync.episodes true`: a setting, in your own configuration
    #[command(external_subcommand)]
    Set(Vec<String>),
}

#[derive(Debug, clap::Args)]
struct EmbeddingsArgs {
    /// The server's address (http://127.0.0.1:11434/v1), `ollama`, or `off`
    name: String,
    /// Which of its models, such as all-minilm or nomic-embed-text
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The environment variable that holds the server's key
    #[arg(long, value_name = "VARIABLE")]
    key_variable: Option<String>,
    /// Try it at once, without a question
    #[arg(long)]
    yes: bool,
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
        Some(Action::Embeddings(args)) => return choose_embeddings(args, app),
        Some(Action::Set(words)) => set(app, &words)?,
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

fn set(app: &App, words: &[String]) -> Result<()> {
    let [key, value] = words else {
        return Err(Error::usage("`memtree config KEY VALUE` takes one setting and its value")
            .hint("`memtree config` lists the settings"));
    };
    let report = config::set_own(&app.environment, key, value)?;
    if app.json {
        output::json(&report);
    } else {
        let already = if report.changed { "" } else { " already" };
        let file = report.file.display();
        output::print(&format!("{key} is {value}{already} ({file})\n"));
    }
    Ok(())
}

/// Whether the person wants what they chose to be tried at once.
fn is_to_be_tried(with: &str, yes: bool, app: &App) -> Result<bool> {
    if !yes && !std::io::stdin().is_terminal() {
        app.note(format!("it was not tried; `--yes` tries it with {with}"));
        return Ok(false);
    }
    app.confirm(&format!("try it now with {with}?"), yes)
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
    if !is_to_be_tried("one call of a few tokens", yes, app)? {
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

fn choose_embeddings(args: EmbeddingsArgs, app: &App) -> Result<u8> {
    let EmbeddingsArgs { name, model, key_variable, yes } = args;
    let request = EmbeddingsRequest { name, model, key_variable };
    let choice = config_embeddings::choose_embeddings(&app.environment, &request)?;
    let is_off = request.name == config_embeddings::OFF;
    if is_off && let Ok(memory) = Memory::open(&app.root) {
        memory.remove_embeddings()?;
    }
    if app.json {
        output::json(&choice);
        return Ok(0);
    }
    let file = choice.file.display();
    if is_off {
        output::print(&format!("words alone rank; the vectors are removed ({file})\n"));
        return Ok(0);
    }
    let already = if choice.changed { "" } else { " already" };
    let EmbeddingsChoice { model, base_url, .. } = &choice;
    output::print(&format!("the model `{model}` at {base_url} makes vectors{already} ({file})\n"));
    app.note(format!(
        "what was said in sessions, redacted, and the words of every search are sent there; the next \
         sweeps make the vectors, newest sessions first; `{} config embeddings off` undoes it",
        app.program()
    ));
    if !is_to_be_tried("one short text", yes, app)? {
        return Ok(0);
    }
    match app.memory_for_dry_run()?.try_embeddings()? {
        Ok(numbers) => output::print(&format!("it answers, with vectors of {numbers} numbers\n")),
        Err(reason) => {
            return Err(Error::new("the server does not answer").because(reason).hint(
                "the settings stay; `memtree config embeddings` with another address changes them",
            ));
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
            output::json(&serde_json::json!({ "waiting": memory.waiting_settings() }));
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
    let mut report = config::judge_device(&app.environment, device, verdict)?;
    if let Ok(memory) = Memory::open_for_dry_run(&app.root, app.environment.clone()) {
        report.is_unknown = !memory.knows_device(&report.device);
    }
    if app.json {
        output::json(&report);
        return Ok(());
    }
    if report.is_unknown && verdict == Verdict::Trust {
        app.note(format!(
            "warning: this memory has nothing of a device `{}`; `{} doctor` lists those that it knows",
            report.device,
            app.program()
        ));
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
