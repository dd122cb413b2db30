//! `memtree handoff`: one page to go on in another agent.

use serde::Serialize;

use super::resume;
use super::{App, output};
use crate::error::Result;
use crate::ops::handoff::{HandoffReport, HandoffRequest};
use crate::ops::launch::{HandoffToRequest, Launch};

/// Print one page with which another agent can go on where a session ended
///
/// Goal, state, decisions with who made them, what did not work, what is open, the files, the next
/// step and how to check the work, each with its source. Without a session it is the newest one of
/// the current folder's project. With --to, the page is written to a file of this device and that
/// agent is started with it, in the current folder; the command is printed first, and only printed
/// where this is not a terminal.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: SES3_laptop_SP1C2, its path, the agent's own id, or a hit of the last search
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// The project whose newest session is meant
    #[arg(long, value_name = "NAME", conflicts_with = "session")]
    project: Option<String>,
    /// The agent that goes on: claude, codex, gemini …
    #[arg(long, value_name = "AGENT")]
    to: Option<String>,
    /// With --to: do nothing, but say what would be done
    #[arg(long, requires = "to")]
    dry_run: bool,
}

/// A page and the command that hands it over.
#[derive(Serialize)]
struct HandedOver<'a> {
    #[serde(flatten)]
    report: &'a HandoffReport,
    launch: &'a Launch,
}

/// Makes the page and prints it, or hands it over.
pub fn run(args: Args, app: &App) -> Result<u8> {
    let Args { session, project, to, dry_run } = args;
    let handoff = HandoffRequest { session, project };
    if let Some(to) = to {
        let (report, launch) =
            app.memory()?.handoff_to(HandoffToRequest { handoff, to, dry_run })?;
        if app.json {
            output::json(&HandedOver { report: &report, launch: &launch });
            return Ok(0);
        }
        return resume::start(&launch, dry_run, app);
    }
    let report = app.memory()?.handoff(handoff)?;
    match app.json {
        true => output::json(&report),
        false => output::print(&report.text),
    }
    Ok(0)
}
