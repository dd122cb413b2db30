//! `memtree measure`

use std::path::PathBuf;

use super::{App, output};
use crate::base::files;
use crate::error::{Context, Result};
use crate::ops::measure::plot::{sparkline, svg};
use crate::ops::measure::{MeasureReport, MeasureRequest};

/// Measure how sessions go, and what each pattern has changed
///
/// Each pattern that is live is compared with sessions of the same time that did not have it, or
/// with the time before: how often what it warns of came, with an interval of 95 %. With too few
/// sessions it says so. It also says how often a pattern was followed, and how often it showed in
/// sessions in which it must not apply. What changes nothing is proposed for retirement in `memtree
/// review`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only sessions that ended on this day or later: 2026-11-01, yesterday, 7d
    #[arg(long, value_name = "DAY")]
    since: Option<String>,
    /// Do not add the numbers to patterns/measure.jsonl
    #[arg(long)]
    no_save: bool,
    /// Draw the weeks of each pattern into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let memory = app.memory_to_write()?;
    let since = args.since.map(|day| memory.day_named(&day)).transpose()?;
    let report = memory.measure(MeasureRequest::default().since(since).no_save(args.no_save))?;
    report.damaged.iter().for_each(|damaged| app.note(damaged));
    if let Some(path) = &args.svg {
        let cannot = || format!("cannot write `{}`", path.display());
        match report.patterns.is_empty() {
            true => app.note("no pattern is live yet: there is nothing to draw"),
            false => {
                files::write_atomic(path, svg(&report.patterns).as_bytes()).context(cannot)?;
            }
        }
    }
    if app.json {
        output::json(&report);
    } else if !app.quiet {
        show(&report);
    }
    Ok(if report.damaged.is_empty() { 0 } else { 3 })
}

fn show(report: &MeasureReport) {
    let fleet = &report.fleet;
    output::print(&format!(
        "{} of real work: {:.0} % success, {:.0} % met errors, {} came back\n\
         tokens {} in the middle, {} at p90; house-keeping {:.0} % of calls in the middle, {:.0} % at p90; \
         {} loading tools again and again\n",
        output::count(fleet.sessions, "session"),
        fleet.success_rate * 100.0,
        fleet.error_rate * 100.0,
        output::count(fleet.recurring_errors, "error"),
        fleet.tokens_median,
        fleet.tokens_p90,
        fleet.overhead_median * 100.0,
        fleet.overhead_p90 * 100.0,
        output::count(fleet.schema_thrash, "session"),
    ));
    for one in &report.patterns {
        output::print(&format!("\n{} ({})\n", one.name, one.pattern));
        output::print(&format!("  verdict: {} against {}\n", one.verdict.words(), one.against));
        one.lines().iter().for_each(|line| output::print(&format!("  {line}\n")));
        if !one.weeks.is_empty() {
            output::print(&format!(
                "  weeks from {}: with {} without {}\n",
                one.weeks[0].monday,
                sparkline(&one.weeks, |week| week.with),
                sparkline(&one.weeks, |week| week.without)
            ));
        }
    }
    if report.patterns.is_empty() {
        output::print("no pattern is live yet\n");
    }
}
