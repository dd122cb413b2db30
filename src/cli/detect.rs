//! `memtree detect`

use super::{App, output};
use crate::base::text;
use crate::error::Result;
use crate::ops::detect::{DetectReport, DetectRequest, Found};
use crate::store::pattern::candidate;

/// Find what goes wrong or right again and again, across agents and projects
///
/// It reads digests only: errors that come back, calls that you stop or refuse, what you have to
/// say again, tools that fail or are tried again as they were, checks that pass. Each pattern that
/// waits for your decision gets a page below patterns/candidates with its evidence; `memtree
/// review` is where you decide. Patterns of more than one agent come first, marked [CROSS-FLAVOR].
/// With a flag that narrows the search, no page is written.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only patterns that show at least so often
    #[arg(long, value_name = "N")]
    min_frequency: Option<u64>,
    /// Only sessions that ended on this day or later: 2026-11-01, yesterday, 7d
    #[arg(long, value_name = "DAY")]
    since: Option<String>,
    /// Only sessions of this project
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    // Where nothing can be written there is still something to print.
    let memory = app.memory_for(args.dry_run).or_else(|_| app.memory())?;
    let since = args.since.map(|day| memory.day_named(&day)).transpose()?;
    let request = DetectRequest::default()
        .min_frequency(args.min_frequency)
        .since(since)
        .project(args.project)
        .dry_run(args.dry_run);
    let (report, unwritten) = match memory.detect(request.clone()) {
        Err(err) if !args.dry_run => (memory.detect(request.dry_run(true))?, Some(err)),
        report => (report?, None),
    };
    if let Some(err) = &unwritten {
        app.note(format!("no page was written: {}", err.causes().join(": ")));
    }
    for damaged in &report.damaged {
        app.note(damaged);
    }
    if app.json {
        output::json(&report);
    } else if !app.quiet {
        show(&report, app);
    }
    Ok(if report.damaged.is_empty() && unwritten.is_none() { 0 } else { 3 })
}

fn show(report: &DetectReport, app: &App) {
    let mut lines = String::new();
    for (number, found) in (1..).zip(&report.candidates) {
        lines.push_str(&shown(number, found));
    }
    output::print(&lines);
    let waiting = report.candidates.iter().filter(|found| found.state.word() == "waiting").count();
    output::print(&format!(
        "{} in {} of real work ({} read): {waiting} waiting, {} written or taken away\n",
        output::count(report.candidates.len(), "pattern"),
        output::count(report.sessions.used, "session"),
        report.sessions.read,
        output::count(report.changed.len(), "page"),
    ));
    if waiting > 0 {
        app.note(format!("next: `{} review`", app.program()));
    }
}

fn shown(number: usize, found: &Found) -> String {
    let one = &found.candidate;
    let mut text = format!(
        "{number:2}. {} ({}, {})\n    {}\n",
        one.title,
        one.key.kind,
        found.state.word(),
        candidate::summary(one)
    );
    if !one.advice.is_empty() {
        text.push_str(&format!("    → {}\n", text::one_line(&one.advice, 200)));
    }
    let places: Vec<String> = one.evidence.iter().take(3).map(|seen| seen.place()).collect();
    text.push_str(&format!("    {} · {}\n", one.id, places.join(" ")));
    text
}
