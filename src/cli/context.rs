//! `memtree context`: the page to give an agent now.

use std::io::Read;
use std::path::PathBuf;

use super::{App, output};
use crate::error::{Context, Result};
use crate::ops::context::ContextRequest;

/// Print the page to give an agent now, within a budget of tokens
///
/// It holds what is known (core/MEMORY.md), what the project's last sessions did and left open, the
/// summaries of today and yesterday, and, given a prompt, the triggers that answer it best. Every
/// line names its source, which `memtree recall` opens; where its evidence has changed since (a
/// file, a commit), it says `stale`. The hooks that `memtree install` sets up hand the same page to
/// an agent when its session starts.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The project [default: that of the current folder, by its git remote or its name]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// What the agent is asked now; `-` reads it from stdin
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: Option<String>,
    /// At most this many tokens [default: the setting context.budget]
    #[arg(long, value_name = "TOKENS")]
    budget: Option<usize>,
    /// The agent's session: a line that it was already given is left out
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The folder in which the agent works [default: the current one]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
}

/// How much of a prompt is read.
const LONGEST_PROMPT: u64 = 256 << 10;

/// Makes the page and prints it.
pub fn run(args: Args, app: &App) -> Result<u8> {
    let memory = app.memory()?;
    let absolute = |folder: PathBuf| {
        std::path::absolute(&folder).context(|| format!("cannot find `{}`", folder.display()))
    };
    let prompt = match args.prompt.as_deref() {
        Some("-") => Some(stdin()?),
        prompt => prompt.map(str::to_string),
    };
    let budget = args.budget.unwrap_or(memory.settings().context.budget);
    let answer = memory.context(ContextRequest {
        project: args.project,
        folder: args.folder.map(absolute).transpose()?,
        prompt: prompt.filter(|prompt| !prompt.trim().is_empty()),
        budget: Some(budget),
        session: args.session,
        dry_run: args.dry_run,
        ..ContextRequest::default()
    })?;
    if app.json {
        output::json(&answer);
    } else if answer.text.is_empty() {
        app.note(format!("nothing to tell within {budget} tokens"));
    } else {
        output::print(&answer.text);
    }
    Ok(0)
}

fn stdin() -> Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(LONGEST_PROMPT)
        .read_to_end(&mut bytes)
        .context(|| "cannot read stdin".into())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
