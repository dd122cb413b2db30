//! `memtree verify`: proves that nothing was lost, or names what was.

use super::sources::SourceArgs;
use super::{App, output};
use crate::error::Result;
use crate::ops::verify::{Amount, Finding, Step, VerifyReport, VerifyRequest};

/// Prove that nothing was lost: source → raw → readable parts → digest → day → core
///
/// Hashes every file of every snapshot and the agents' logs that are still there, and compares them
/// with the manifests, the digests, the days and the cores. Says what was checked and names every
/// gap; with a gap, the exit code is 1. A log that changed since the last sweep is no gap, nor is
/// one that its agent has deleted: raw holds it. Each snapshot can also be checked without memtree:
/// `cd snapshot && sha256sum -c MANIFEST.sha256`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Also read all raw again, and compare episodes, counts and day lines with what was written
    #[arg(long)]
    deep: bool,
    #[command(flatten)]
    sources: SourceArgs,
    /// At most this many results
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let selection = args.sources.selection()?;
    let request = VerifyRequest::default().selection(selection).deep(args.deep);
    let report = app.memory()?.verify(request)?;
    if app.json {
        output::json(&report);
    } else {
        show(&report, args.limit, app);
    }
    Ok(if report.gaps.is_empty() { 0 } else { 1 })
}

fn show(report: &VerifyReport, limit: Option<usize>, app: &App) {
    let mut text = String::new();
    if !app.quiet {
        text.push_str("            sessions    files      bytes    lines   gaps\n");
        for checked in &report.checked {
            let Amount { sessions, files, bytes, lines } = checked.amount;
            let bytes = if bytes == 0 { String::new() } else { output::bytes(bytes) };
            let lines = if lines == 0 { String::new() } else { lines.to_string() };
            let name = name(checked.step);
            text.push_str(&format!(
                "{name:<11}{sessions:>9}{files:>9}{bytes:>11}{lines:>9}{:>7}\n",
                checked.gaps
            ));
        }
        text.push('\n');
    }
    let most = limit.unwrap_or(usize::MAX);
    for (word, findings) in [("gap", &report.gaps), ("note", &report.notes)] {
        if word == "note" && app.quiet {
            continue;
        }
        for finding in findings.iter().take(most) {
            text.push_str(&format!("{word}: {}\n", line(finding)));
        }
        if findings.len() > most {
            text.push_str(&format!("{} more {word}s\n", findings.len() - most));
        }
    }
    if !app.quiet {
        if report.evicted > 0 {
            let sessions = output::count(report.evicted, "session");
            text.push_str(&format!(
                "{sessions} evicted: what was captured is proved by the digest's manifest\n"
            ));
        }
        if report.left_to_others > 0 {
            let sessions = output::count(report.left_to_others, "session");
            text.push_str(&format!("{sessions} with a log here are left to other devices\n"));
        }
        if report.elsewhere > 0 {
            let sessions = output::count(report.elsewhere, "session");
            text.push_str(&format!("{sessions} of other devices: their snapshots are there\n"));
        }
        text.push_str(&match report.gaps.len() {
            0 => format!("nothing is missing ({} ms)\n", report.took_ms),
            gaps => format!("{} ({} ms)\n", output::count(gaps, "gap"), report.took_ms),
        });
    }
    output::print(&text);
}

fn name(step: Step) -> &'static str {
    match step {
        Step::Source => "sources",
        Step::Raw => "raw",
        Step::Again => "read again",
        Step::Readable => "readable",
        Step::Digest => "digests",
        Step::Day => "days",
        Step::Core => "cores",
        Step::Page => "pages",
    }
}

fn line(finding: &Finding) -> String {
    format!("{}: {}", finding.path, finding.reason)
}
