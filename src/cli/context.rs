//! `memtree context`: the page to give an agent now.

use std::io::Read;
use std::path::PathBuf;

use super::{App, output};
use crate::base::text;
use crate::error::{Context, Result};
use crate::ops::context::{ContextReport, ContextRequest, Explanation, ToolCall};

/// Print the page to give an agent now, within a budget of tokens
///
/// It holds what is known (core/MEMORY.md), what the project's last sessions decided, did and left
/// open, what else was done today and yesterday, and, given a prompt, the lines that answer it
/// best. Every line names its source, which `memtree recall` opens; where its evidence has changed
/// since (a file, a commit), it says `stale`. The hooks that `memtree install` sets up hand the
/// same page to an agent when its session starts. Lines of another project are given on a prompt
/// only where both have a rare name in common, and are named as such.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The project [default: that of the current folder, by its git remote or its name]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// What the agent is asked now; `-` reads it from stdin
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: Option<String>,
    /// The same prompt in other words; what all phrasings find together comes first. Repeat it
    #[arg(long, value_name = "TEXT", requires = "prompt", allow_hyphen_values = true)]
    also: Vec<String>,
    /// Only what was decided on this file, or taken back in it: for an agent that is about to edit
    /// it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prompt", "before_running"])]
    before_editing: Option<PathBuf>,
    /// Only what this command came to before: for an agent that is about to run it
    #[arg(long, value_name = "COMMAND", conflicts_with = "prompt", allow_hyphen_values = true)]
    before_running: Option<String>,
    /// At most this many tokens [default: the setting context.budget]
    #[arg(long, value_name = "TOKENS")]
    budget: Option<usize>,
    /// The agent's session: a line that it was already given is left out
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The folder in which the agent works [default: the current one]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Say why: what a hook would give on this prompt and what it looked at, and what agents were
    /// given in the last 90 days (with --session, that session). Nothing is given or noted
    #[arg(long)]
    explain: bool,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
}

/// How much of what was given is shown to a person.
const SHOWN_LINES: usize = 20;

/// How much of a prompt is read.
const LONGEST_PROMPT: u64 = 256 << 10;

/// Makes the page and prints it.
pub fn run(args: Args, app: &App) -> Result<u8> {
    let memory = app.memory()?;
    app.note_phrasings(args.also.len());
    let absolute = |folder: PathBuf| {
        std::path::absolute(&folder).context(|| format!("cannot find `{}`", folder.display()))
    };
    let prompt = match args.prompt.as_deref() {
        Some("-") => Some(stdin()?),
        prompt => prompt.map(str::to_string),
    };
    let budget = args.budget.unwrap_or(memory.settings().context.budget);
    let editing = args.before_editing.map(absolute).transpose()?.map(ToolCall::Edit);
    let is_call = editing.is_some() || args.before_running.is_some();
    let answer = memory.context(ContextRequest {
        project: args.project,
        folder: args.folder.map(absolute).transpose()?,
        prompt: prompt.filter(|prompt| !prompt.trim().is_empty()),
        also: args.also,
        call: editing.or(args.before_running.map(ToolCall::Run)),
        budget: Some(budget),
        session: args.session,
        // A hook gives only what is sure.
        strong_only: args.explain,
        explain: args.explain,
        dry_run: args.dry_run,
        ..ContextRequest::default()
    })?;
    if app.json {
        output::json(&answer);
        return Ok(0);
    }
    if answer.text.is_empty() {
        app.note(match is_call {
            true => "nothing is known that helps with this call".to_string(),
            false => nothing_to_tell(&answer, budget),
        });
    } else {
        output::print(&answer.text);
    }
    if let Some(explanation) = &answer.explanation {
        output::print(&explained(&answer, explanation));
    }
    Ok(0)
}

/// Says which project was meant and which there are: the folder may be called otherwise.
fn nothing_to_tell(answer: &ContextReport, budget: usize) -> String {
    const MOST: usize = 12;
    let project = match &answer.project {
        Some(project) => format!(" of the project `{project}`"),
        None => String::new(),
    };
    let mut text = format!("nothing to tell{project} within {budget} tokens");
    let known = &answer.known_projects;
    if !known.is_empty() {
        let more = known.len().saturating_sub(MOST);
        let names = known[..known.len().min(MOST)].join(", ");
        text.push_str(&format!("\nthe memory knows {}", text::and_more(&names, more)));
        text.push_str("\n`--project NAME` takes one of them");
    }
    text
}

/// Why the page has its lines, what else was looked at, and what was given before.
fn explained(answer: &ContextReport, explanation: &Explanation) -> String {
    let mut text = String::from("\nWhy\n");
    for section in &answer.sections {
        for line in &section.lines {
            let why = line.why.as_ref().unwrap_or(&section.heading);
            text.push_str(&format!("  {}  {why}\n", line.source));
        }
    }
    if answer.sections.is_empty() {
        text.push_str("  nothing is given\n");
    }
    let left_out: Vec<_> = explanation.considered.iter().filter(|one| !one.given).collect();
    if !left_out.is_empty() {
        text.push_str("\nLooked at and left out\n");
    }
    for one in left_out {
        text.push_str(&format!("  {}  {}: {}\n", one.session, one.title, one.why));
    }
    if !explanation.given.is_empty() {
        text.push_str("\nGiven in the last 90 days, the last first\n");
    }
    for given in explanation.given.iter().take(SHOWN_LINES) {
        let whose = if given.agent.is_empty() { "" } else { " " };
        text.push_str(&format!(
            "  {} {}{whose}{}  {}  {}\n",
            given.at, given.agent, given.moment, given.source, given.why
        ));
    }
    let more = explanation.given.len().saturating_sub(SHOWN_LINES);
    if more > 0 {
        text.push_str(&format!("  and {more} more: `--json` has all of them\n"));
    }
    text
}

fn stdin() -> Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(LONGEST_PROMPT)
        .read_to_end(&mut bytes)
        .context(|| "cannot read stdin".into())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
