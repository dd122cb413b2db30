//! `memtree summarize`

use chrono::NaiveDate;

use super::{App, output};
use crate::error::{Error, Result};
use crate::ops::days;
use crate::ops::summarize::SummarizeRequest;

/// Write a day's summary again
///
/// Writes `daily/summary/<day>.md` from the day's lines and its sessions' digests: what was wanted,
/// decided, done and left open, and what each session was about. What you changed in it stays.
/// Every sweep does this for days that need it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The day [default: today]
    #[arg(value_name = "DAY")]
    day: Option<String>,
    /// All days whose lines have changed since their summary was written
    #[arg(long, conflicts_with = "day")]
    pending: bool,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let memory = app.memory_for(args.dry_run)?;
    let today = days::today(memory.now(), memory.zone()?);
    let day = match args.day.as_deref() {
        None | Some("today") => today,
        Some("yesterday") => today.pred_opt().unwrap_or(today),
        Some(text) => text.parse::<NaiveDate>().map_err(|_| {
            Error::usage(format!("`{text}` is no day"))
                .hint("write `2026-11-15`, `today` or `yesterday`")
        })?,
    };
    let request = if args.pending { SummarizeRequest::Pending } else { SummarizeRequest::Day(day) };
    if args.dry_run {
        let days = memory.plan_summarize(request)?;
        days.iter().for_each(|day| output::print(&format!("would summarize {day}\n")));
        return Ok(0);
    }
    let summarized = memory.summarize(request)?;
    if app.json {
        output::json(&summarized);
    } else if !app.quiet {
        let layout = memory.layout();
        let path = |day: &NaiveDate| format!("{}\n", layout.shown(&layout.summary(*day)));
        output::print(&summarized.days.iter().map(path).collect::<String>());
        if summarized.days.is_empty() {
            app.note("nothing to do: every summary covers its day");
        }
    }
    Ok(0)
}
