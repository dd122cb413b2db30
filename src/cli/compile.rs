//! `memtree compile`

use chrono::NaiveDate;

use super::{App, output};
use crate::error::{Error, Result};
use crate::ops::compile::{CompileReport, CompileRequest, DaySelection};

/// Write pages of knowledge from the days that have changed
///
/// What comes up again and again becomes a page below knowledge/concepts: what was said of it, in
/// the words in which it was said, each with its session and episode. Two concepts that keep
/// meeting get a page below knowledge/connections. knowledge/index.md lists all pages,
/// knowledge/log.md what was compiled. What you change on a page stays.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// All days, changed or not
    #[arg(long, conflicts_with = "file")]
    all: bool,
    /// Only this day: 2026-11-15, or the path of its file; may be given more than once
    #[arg(long, value_name = "DAY|FILE")]
    file: Vec<String>,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let days = match (args.all, args.file.as_slice()) {
        (true, _) => DaySelection::All,
        (false, []) => DaySelection::Changed,
        (false, files) => {
            DaySelection::Named(files.iter().map(|file| day(file)).collect::<Result<_>>()?)
        }
    };
    let dry_run = args.dry_run;
    let report = app.memory_for(dry_run)?.compile(CompileRequest { days, dry_run })?;
    if app.json {
        output::json(&report);
    } else if !app.quiet {
        show(&report, dry_run, app);
    }
    Ok(if report.pending.is_empty() { 0 } else { 3 })
}

/// The day that a name or a path means.
fn day(file: &str) -> Result<NaiveDate> {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.strip_suffix(".md").unwrap_or(name).parse().map_err(|_| {
        Error::new(format!("there is no day `{file}`"))
            .hint("write it as 2026-11-15, or name its file")
    })
}

fn show(report: &CompileReport, dry_run: bool, app: &App) {
    for pending in &report.pending {
        app.note(format!("{}: {}", pending.day, pending.reason));
    }
    if report.compiled.is_empty() {
        output::print(&format!(
            "nothing to compile: {} unchanged\n",
            output::count(report.unchanged, "day")
        ));
        return;
    }
    let would = if dry_run { "would compile" } else { "compiled" };
    output::print(&format!(
        "{would} {}: {} new, {} changed, {} unchanged ({} ms)\n",
        output::count(report.compiled.len(), "day"),
        output::count(report.created.len(), "page"),
        report.updated.len(),
        output::count(report.unchanged, "day"),
        report.took_ms
    ));
    if dry_run {
        for page in report.created.iter().chain(&report.updated) {
            output::print(&format!("  {page}\n"));
        }
    } else {
        app.note(format!(
            "next: read `knowledge/index.md`, or `{} ask \"your question\"`",
            app.program()
        ));
    }
}
