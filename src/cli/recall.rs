//! `memtree recall`: opens just the raw part behind a trigger.

use super::{App, output};
use crate::error::Result;
use crate::ops::recall::RecallRequest;

/// Open the part of a session that a reference, a search hit or a question names
///
/// A reference is SES3_laptop_SP1C2#EP_004, a session alone (its digest), a hit of the last search
/// (2, or 2#EP_003), a path within the memory, or a trigger as its digest has it. Anything else is
/// searched for, and the best hit's best trigger is opened.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to open
    #[arg(value_name = "REF|QUERY")]
    what: Vec<String>,
    /// The same question in other words, as in `search`; repeat it
    #[arg(long, value_name = "QUERY")]
    also: Vec<String>,
    /// Also the so many episodes before and after it
    #[arg(long, value_name = "N", default_value_t = 0)]
    around: u32,
    /// The agent's original records instead of the readable page (not redacted)
    #[arg(long, conflicts_with = "around")]
    raw: bool,
    /// At most this many tokens, cut at a line's end
    #[arg(long, value_name = "TOKENS")]
    budget: Option<usize>,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
}

/// Recalls, and prints the text.
pub fn run(args: Args, app: &App) -> Result<u8> {
    let Args { what, also, around, raw, budget, dry_run } = args;
    app.note_phrasings(also.len());
    let what = what.join(" ");
    let answer =
        app.memory()?.recall(RecallRequest { what, also, around, raw, budget, dry_run })?;
    if app.json {
        output::json(&answer);
        return Ok(0);
    }
    app.note(format!("{} · {}", answer.reference, answer.path));
    if answer.weak {
        app.note("nothing fits well; this is a guess");
    }
    output::print(&answer.text);
    if !answer.text.ends_with('\n') {
        output::print("\n");
    }
    Ok(0)
}
