//! `memtree log`

use std::io::Read;

use chrono::{NaiveDate, TimeZone, Utc};

use super::{App, output};
use crate::base::clock::{self, Timestamp};
use crate::base::zone::Zone;
use crate::error::{Context, Error, Result};
use crate::model::day::LineKind;
use crate::ops::log::LogRequest;

/// Append one line to a day's raw log
///
/// Writes `- [14:03:22] [KIND] (session) text` into `daily/raw/<day>.md`, at its place by time. The
/// text becomes one line, its secrets are redacted, and more than 2,000 characters are cut. What an
/// agent's own log holds needs no `log`: the sweep writes it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Who or what speaks: user, main_agent, worker_event, task_agent_event, tool_event or system
    kind: LineKind,
    /// What to write; `-` reads it from standard input
    #[arg(allow_hyphen_values = true)]
    text: String,
    /// When it was: a time (`2026-11-15T13:40:10Z`), or a day (`2026-11-15`) at the present time of
    /// day
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Whose line it is
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// More about it, written behind the text; may be given more than once
    #[arg(long, value_name = "KEY=VALUE")]
    meta: Vec<String>,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let metadata = args.meta.iter().map(|pair| key_and_value(pair)).collect::<Result<_>>()?;
    let text = if args.text == "-" { from_stdin()? } else { args.text };
    let memory = if args.dry_run { app.memory()? } else { app.memory_or_new()? };
    let zone = memory.zone()?;
    let at = args.at.as_deref().map(|at| moment(at, memory.now(), zone)).transpose()?;
    let (kind, session, dry_run) = (args.kind, args.session, args.dry_run);
    let report = memory.log(LogRequest { kind, text, at, session, metadata, dry_run })?;
    if app.json {
        output::json(&report);
    } else if !app.quiet {
        output::print(&format!("{}\n", output::safe(&report.line)));
    }
    Ok(0)
}

/// A time, or a day at the time of day that it is now.
fn moment(text: &str, now: Timestamp, zone: Zone) -> Result<Timestamp> {
    let on_day = |day: NaiveDate| {
        let local = day.and_time(now.with_timezone(&zone).time());
        // In the hour that a change of clocks skips there is no such local time.
        zone.from_local_datetime(&local)
            .earliest()
            .map_or_else(|| Utc.from_utc_datetime(&local), |at| at.to_utc())
    };
    clock::parse(text).or_else(|| text.parse().ok().map(on_day)).ok_or_else(|| {
        Error::usage(format!("`--at {text}` is no time"))
            .hint("write `2026-11-15T13:40:10Z`, or a day: `2026-11-15`")
    })
}

fn key_and_value(pair: &str) -> Result<(String, String)> {
    let is_key = |key: &str| {
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
    };
    match pair.split_once('=') {
        Some((key, value)) if is_key(key) => Ok((key.to_string(), value.to_string())),
        _ => Err(Error::usage(format!("`--meta {pair}` is not of the form KEY=VALUE"))
            .hint("a key is made of letters, digits, `_`, `.` and `-`: `--meta tools=grep,sed`")),
    }
}

fn from_stdin() -> Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).context(|| "cannot read standard input".into())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
