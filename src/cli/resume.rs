//! `memtree resume`: goes on with a session in its own agent.

use std::io::IsTerminal;
use std::process::Command;

use super::{App, output};
use crate::base::shell;
use crate::error::{Context, Result};
use crate::ops::launch::{Launch, ResumeRequest};

/// Start a session's own agent at that session
///
/// The command is printed first, then started in the folder in which the session worked. Only
/// sessions of this device can be resumed: the agent needs its own log. Where this is not a
/// terminal, and with `--dry-run` or `--json`, the command is only printed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: SES3_laptop_SP1C2, its path, the agent's own id, or a hit of the last search
    #[arg(value_name = "SESSION")]
    session: String,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
}

/// Finds the command and starts it.
pub fn run(args: Args, app: &App) -> Result<u8> {
    let launch = app.memory()?.resume(ResumeRequest { session: args.session })?;
    if app.json {
        output::json(&launch);
        return Ok(0);
    }
    start(&launch, args.dry_run, app)
}

/// Prints a command, then starts it where a person is at both ends.
pub fn start(launch: &Launch, dry_run: bool, app: &App) -> Result<u8> {
    output::print(&format!("{}\n", line(launch)));
    if dry_run {
        return Ok(0);
    }
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        app.note("this is not a terminal, so it is not started");
        return Ok(0);
    }
    let [program, arguments @ ..] = launch.command.as_slice() else { return Ok(0) };
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(folder) = &launch.folder {
        command.current_dir(folder);
    }
    let status = command.status().context(|| {
        format!("cannot start `{program}`; is {} installed, and on your PATH?", launch.agent)
    })?;
    Ok(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1))
}

/// The command as a person would type it.
fn line(launch: &Launch) -> String {
    let quoted = |word: &str| shell::word(word, shell::WORDS);
    let words: Vec<String> = launch.command.iter().map(|word| quoted(word)).collect();
    match &launch.folder {
        Some(folder) => format!("cd {} && {}", quoted(&folder.to_string_lossy()), words.join(" ")),
        None => words.join(" "),
    }
}
