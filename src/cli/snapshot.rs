//! `memtree snapshot`

use std::path::PathBuf;

use super::{App, output};
use crate::capture::folder::FolderNotes;
use crate::error::Result;
use crate::model::digest::Outcome;
use crate::ops::snapshot::SnapshotRequest;

/// Make a session of any folder
///
/// Copies all of it into the memory in its own shape, hashes it, and writes its digest. The folder
/// is not touched, links are not followed, and a folder that has not changed is not copied again.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder
    dir: PathBuf,
    /// What it was about
    #[arg(long, value_name = "TEXT")]
    objective: Option<String>,
    /// A short saying for it
    #[arg(long, value_name = "TEXT")]
    motto: Option<String>,
    /// How it went: success, partial, fail, abandoned or unknown
    #[arg(long, value_name = "STATUS")]
    status: Option<Outcome>,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let memory = if args.dry_run { app.memory()? } else { app.memory_or_new()? };
    let Args { dir, objective, motto, status, dry_run } = args;
    let notes = FolderNotes { objective, motto, status };
    let request = SnapshotRequest::of(dir).notes(notes).dry_run(dry_run);
    let report = memory.snapshot(request)?;
    for skipped in &report.skipped {
        eprintln!(
            "{}: {}",
            output::safe(&skipped.path.to_string_lossy()),
            output::safe(&skipped.reason)
        );
    }
    if app.json {
        output::json(&report);
    } else if !app.quiet {
        let (files, bytes) = (output::count(report.files as usize, "file"), report.bytes);
        output::print(&match (&report.session, report.unchanged) {
            (None, true) => format!("left out: just these {files} were forgotten\n"),
            (Some(session), true) => format!("unchanged: {session} holds its {files}\n"),
            (Some(session), false) => format!("kept {files} ({bytes} bytes) as {session}\n"),
            (None, false) => format!("would keep {files} ({bytes} bytes)\n"),
        });
    }
    Ok(if report.skipped.is_empty() { 0 } else { 3 })
}
