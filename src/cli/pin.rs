//! `memtree pin`: keeps a session from eviction.

use super::{App, output};
use crate::error::Result;
use crate::ops::pin::PinRequest;

/// Keep a session's snapshot from eviction
///
/// Writes `pinned: true` into the digest's front matter, where it travels with the memory. You can
/// also write it there yourself.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: its id, its number in the last search, or its path
    #[arg(value_name = "REF", required = true)]
    sessions: Vec<String>,
    /// Let it go again
    #[arg(long)]
    remove: bool,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let request =
        PinRequest::default().sessions(args.sessions).remove(args.remove).dry_run(args.dry_run);
    let report = app.memory_for(args.dry_run)?.pin(request)?;
    if app.json {
        output::json(&report);
    } else if !app.quiet {
        let word = if args.remove { "no longer pinned" } else { "pinned" };
        for one in &report.sessions {
            output::print(&format!("{} is {word}\n", one.session));
        }
    }
    Ok(0)
}
