//! `memtree doctor`

use super::sources::SourceArgs;
use super::{App, output};
use crate::error::Result;
use crate::memory::Memory;
use crate::ops::doctor::{DoctorReport, DoctorRequest, Level};

/// Say what is wrong with the memory, what it means and how to fix it
///
/// Also reads the rescue clock: which sessions an agent will soon delete. Those that the memory
/// does not have yet are swept first. Exits with 1 while something is broken or in danger.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Fix what can be fixed without losing anything
    #[arg(long)]
    fix: bool,
    /// With --fix, make again also what you may have taken out yourself: lines of days, sections of
    /// digests, whole pages
    #[arg(long, requires = "fix")]
    yes: bool,
    /// Look through the whole tree for secrets that redaction missed; with `--fix`, write the pages
    /// that hold some again with the present rules
    #[arg(long)]
    secrets: bool,
    /// Print one record of each kind that this memtree does not know, without what it says: to be
    /// put into a report to us
    #[arg(long, conflicts_with_all = ["fix", "secrets"])]
    unknown: bool,
    #[command(flatten)]
    sources: SourceArgs,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let selection = args.sources.selection()?;
    // Warnings about the settings are among what it finds.
    let memory = Memory::open_in(&app.root, app.environment.clone())?;
    if args.unknown {
        return show_unknown(&memory, app);
    }
    if args.fix && !args.dry_run {
        app.tell_settled(&memory)?;
    }
    let program = app.program_path()?;
    let Args { fix, yes, secrets, dry_run, .. } = args;
    let report = memory.doctor(DoctorRequest { selection, program, fix, yes, secrets, dry_run })?;
    if app.json {
        output::json(&report);
    } else {
        output::print(&shown(&report, app.quiet));
    }
    Ok(u8::from(report.has_errors()))
}

/// Prints what is not known, one line each.
fn show_unknown(memory: &Memory, app: &App) -> Result<u8> {
    let samples = memory.unknown_samples()?;
    if app.json {
        output::json(&serde_json::json!({ "unknown": samples }));
        return Ok(0);
    }
    if samples.is_empty() {
        app.note("every record is of a kind that this memtree knows");
    }
    for sample in &samples {
        let record = sample.record.as_ref().map_or("(not in raw)".into(), |one| one.to_string());
        let name = [sample.flavor.as_str(), sample.version.as_str()].join(" ");
        let line = format!("{}: {} × {}: {record}\n", name.trim_end(), sample.count, sample.kind);
        output::print(&output::safe(&line));
    }
    Ok(0)
}

fn shown(report: &DoctorReport, quiet: bool) -> String {
    let mut text = String::new();
    if report.rescued > 0 {
        text.push_str(&format!("swept first: {}\n\n", output::count(report.rescued, "session")));
    }
    for finding in &report.findings {
        let level = match (finding.fixed, finding.level) {
            (true, _) => "fixed",
            (_, Level::Error) => "error",
            (_, Level::Warning) => "warning",
            (_, Level::Note) => "note",
        };
        if quiet && (finding.fixed || finding.level == Level::Note) {
            continue;
        }
        text.push_str(&format!(
            "{level}: {} ({})\n  {}\n",
            finding.what, finding.check, finding.means
        ));
        if !finding.fix.is_empty() {
            text.push_str(&format!("  -> {}\n", finding.fix));
        }
        text.push('\n');
    }
    if quiet {
        return text;
    }
    let problems =
        report.findings.iter().filter(|one| one.level > Level::Note && !one.fixed).count();
    let checks =
        format!("{} ({})", output::count(report.checked.len(), "check"), report.checked.join(", "));
    text + &match problems {
        0 => format!("{checks}: all is well\n"),
        some => format!("{checks}: {} to fix\n", output::count(some, "problem")),
    }
}
