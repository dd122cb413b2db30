//! `memtree pin`: keeps a session from eviction.

use serde::Serialize;

use super::{App, output};
use crate::error::{Error, Result};
use crate::model::ids::SessionId;
use crate::ops::{recall, retain};

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
    pub(super) dry_run: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Answer {
    sessions: Vec<Pinned>,
}

#[derive(Serialize)]
struct Pinned {
    session: SessionId,
    pinned: bool,
    changed: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let store = app.store()?;
    let mut told = Vec::new();
    for reference in &args.sessions {
        let session = recall::session_named(&store, reference)?;
        if !store.layout().digest(&session).is_file() {
            return Err(Error::new(format!("there is no session `{session}`"))
                .hint("`memtree search` shows what there is"));
        }
        let changed = !app.dry_run && retain::pin(&store, &session, !args.remove)?;
        told.push((session, changed));
    }
    if app.json {
        let pinned = !args.remove;
        let sessions = told
            .into_iter()
            .map(|(session, changed)| Pinned { session, pinned, changed })
            .collect();
        output::json(&Answer { sessions });
    } else if !app.quiet {
        let word = if args.remove { "no longer pinned" } else { "pinned" };
        told.iter().for_each(|(session, _)| output::print(&format!("{session} is {word}\n")));
    }
    Ok(0)
}
