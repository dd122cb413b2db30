//! `memtree config`

use std::io::IsTerminal;

use super::{App, output};
use crate::error::{Error, Result};
use crate::ops::config::{self, Verdict};
use crate::ops::config_model::{self, ModelRequest};
use crate::settings::TEMPLATE;

/// Print every setting with its default, ready to be a `memtree.toml`
///
/// `trust`, `distrust` and `model` change your own configuration and nothing else: the first two say
/// whether what another device wrote counts as your own words, the last which model writes better
/// prose than memtree does by itself.
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

pub fn run(args: Args, app: &App) -> Result<u8> {
    match args.action {
        Some(Action::Model(args)) => return choose_model(args, app),
        Some(Action::Trust { device }) => judge(app, &device, Verdict::Trust)?,
        Some(Action::Distrust { device }) => judge(app, &device, Verdict::Distrust)?,
        None if args.effective || app.json => output::json(app.memory_for_dry_run()?.settings()),
        None => output::print(TEMPLATE),
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
