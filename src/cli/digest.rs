//! `memtree digest`

use super::{App, output};
use crate::error::Result;
use crate::models::reply::RefusedLine;
use crate::ops::digest::{DigestReport, DigestRequest, DigestTarget, RefusedOfSession};

/// Write digests again from the raw that is kept, keeping a person's edits
///
/// Without a session, those that a newer program or the configured model would write otherwise:
/// also those for which the model had no answer before. What somebody changed by hand stays as it
/// is, byte for byte, and so does a digest whose raw is not here any more.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A session: its id, its digest's path, the agent's own id (`claude:…`) or a hit of the last
    /// search
    #[arg(value_name = "REF")]
    session: Option<String>,
    /// All sessions of this device
    #[arg(long, conflicts_with = "session")]
    all: bool,
    /// Ask the model also where it has answered already
    #[arg(long)]
    again: bool,
    /// List what the model said and the session does not bear out, line by line
    #[arg(long)]
    explain: bool,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let target = match (args.session, args.all) {
        (Some(name), _) => DigestTarget::One(name),
        (None, true) => DigestTarget::All,
        (None, false) => DigestTarget::Outdated,
    };
    let bar = output::progress_bar(app.quiet || app.json);
    let progress = |done, of| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    };
    let request = DigestRequest::default()
        .target(target.clone())
        .again(args.again)
        .dry_run(args.dry_run)
        .progress(&progress);
    let report = app.memory_for(args.dry_run)?.digest(request)?;
    bar.finish_and_clear();
    show(&report, target, args.dry_run, app);
    if args.explain && !app.json {
        for refused in &report.refused {
            let RefusedOfSession { session, line: RefusedLine { line, reason } } = refused;
            output::print(&format!("{session}: refused: {line}\n  because {reason}\n"));
        }
    }
    Ok(if report.left.is_empty() && report.unavailable.is_none() { 0 } else { 3 })
}

fn show(report: &DigestReport, target: DigestTarget, dry_run: bool, app: &App) {
    for left in &report.left {
        eprintln!("{}: left as it is: {}", left.session, output::safe(&left.reason));
    }
    if let Some(reason) = &report.unavailable {
        eprintln!("the model has not answered: {}", output::safe(reason));
    }
    if app.json {
        output::json(report);
        return;
    }
    if app.quiet {
        return;
    }
    let would = if dry_run { "would write" } else { "wrote" };
    let mut line = format!(
        "{would} {}, {} unchanged",
        output::count(report.written.len(), "digest"),
        report.unchanged
    );
    if report.improved > 0 {
        line.push_str(&format!(", a model added to {}", report.improved));
    }
    if !report.refused.is_empty() {
        let refused = output::count(report.refused.len(), "line");
        line.push_str(&format!(", {refused} of its refused (`--explain` lists them)"));
    }
    if report.waiting > 0 {
        line.push_str(&format!(", {} wait for a model", report.waiting));
    }
    output::print(&format!("{line}\n"));
    if target == DigestTarget::Outdated && report.written.is_empty() && report.left.is_empty() {
        app.note("every digest is what this program would write; `--all` makes sure of it");
    }
}
