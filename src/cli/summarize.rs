//! `memtree summarize`

use chrono::NaiveDate;

use super::{App, output};
use crate::error::{Error, Result};
use crate::ops::days;
use crate::ops::flush::Flush;
use crate::ops::summarize::{self, Which};

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
    pub(super) dry_run: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let config = app.config()?;
    let store = app.store()?;
    let zone = config.zone()?;
    let today = days::today(app.environment.now, zone);
    let day = match args.day.as_deref() {
        None | Some("today") => today,
        Some("yesterday") => today.pred_opt().unwrap_or(today),
        Some(text) => text.parse::<NaiveDate>().map_err(|_| {
            Error::usage(format!("`{text}` is no day"))
                .hint("write `2026-11-15`, `today` or `yesterday`")
        })?,
    };
    if app.dry_run {
        let days = match args.pending {
            true => days::pending(&store, today)
                .map_err(|err| Error::new("cannot read the days").because(err))?,
            false => vec![day],
        };
        days.iter().for_each(|day| output::print(&format!("would summarize {day}\n")));
        return Ok(0);
    }
    let (models, redactor) = (app.models(&config)?, app.redactor(&config)?);
    let idle = super::flush::idle(&config);
    let flush =
        Flush { now: app.environment.now, zone, idle, models: &models, redactor: &redactor };
    let which = if args.pending { Which::Pending } else { Which::Day(day) };
    let summarized = summarize::summarize(&store, which, &flush)?;
    if app.json {
        output::json(&summarized);
    } else if !app.quiet {
        let layout = store.layout();
        let path = |day: &NaiveDate| format!("{}\n", layout.shown(&layout.summary(*day)));
        output::print(&summarized.days.iter().map(path).collect::<String>());
        if summarized.days.is_empty() {
            app.note("nothing to do: every summary covers its day");
        }
    }
    Ok(0)
}
