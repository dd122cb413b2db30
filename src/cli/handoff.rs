//! `memtree handoff`: one page to go on in another agent.

use super::{App, output};
use crate::error::Result;
use crate::ops::handoff::HandoffRequest;

/// Print one page with which another agent can go on where a session ended
///
/// Goal, state, decisions with who made them, what did not work, what is open, the files, the next
/// step and how to check the work, each with its source. Without a session it is the newest one of
/// the current folder's project.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: SES3_laptop_SP1C2, its path, the agent's own id, or a hit of the last search
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// The project whose newest session is meant
    #[arg(long, value_name = "NAME", conflicts_with = "session")]
    project: Option<String>,
}

/// Makes the page and prints it.
pub fn run(args: Args, app: &App) -> Result<u8> {
    let Args { session, project } = args;
    let report = app.memory()?.handoff(HandoffRequest { session, project })?;
    match app.json {
        true => output::json(&report),
        false => output::print(&report.text),
    }
    Ok(0)
}
