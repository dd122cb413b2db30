//! `memtree status`

use super::{App, output};
use crate::error::Result;
use crate::models::ledger::DaySpending;
use crate::ops::context::WeekOfGiving;
use crate::ops::status::StatusReport;

/// Say what there is in the memory
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_: Args, app: &App) -> Result<u8> {
    let status = app.memory()?.status()?;
    if app.json {
        output::json(&status);
        return Ok(0);
    }
    output::print(&(contents(&status) + &concerns(&status)));
    Ok(0)
}

/// What there is.
fn contents(status: &StatusReport) -> String {
    let flavors: Vec<String> = status
        .sessions
        .by_flavor
        .iter()
        .map(|(flavor, count)| format!("{count} {flavor}"))
        .collect();
    let mut text =
        format!("memory    {} (this device: {})\n", status.store.display(), status.device);
    text.push_str(&format!("sessions  {}", status.sessions.total));
    if !flavors.is_empty() {
        text.push_str(&format!(" ({}), {} open", flavors.join(", "), status.sessions.open));
    }
    text.push_str(&format!("\nepisodes  {}\ndays      {}\n", status.episodes, status.days));
    if status.cores > 0 {
        let spheres = output::count(status.spheres, "sphere");
        text.push_str(&format!("cores     {} ({spheres})\n", status.cores));
    }
    let patterns = &status.patterns;
    let counted = |name: &str| patterns.get(name).copied().unwrap_or(0);
    if patterns.values().sum::<usize>() > 0 {
        text.push_str(&format!(
            "patterns  {} approved, {} retired, {} provisional; {} new in the inbox: `memtree review`\n",
            counted("approved"),
            counted("retired"),
            counted("provisional"),
            counted("waiting")
        ));
    }
    text.push_str(&format!(
        "disk      raw {}, readable {}, digests and days {}, cache {}\n",
        output::bytes(status.bytes.raw),
        output::bytes(status.bytes.derived),
        output::bytes(status.bytes.distilled),
        output::bytes(status.bytes.cache)
    ));
    text
}

/// What agents were given in the last weeks, and whether they came back for it.
fn given(status: &StatusReport) -> String {
    const LINES: usize = 4;
    let line = |week: &WeekOfGiving| {
        format!(
            "given     {} {}: {} ({} at start), {} recalled, {} not\n",
            week.week,
            week.agent,
            output::count(week.given, "time"),
            week.at_start,
            week.recalled,
            week.ignored
        )
    };
    status.given.iter().take(LINES).map(line).collect()
}

/// What is spent, is waiting or needs to be looked after.
fn concerns(status: &StatusReport) -> String {
    let mut text = String::new();
    for risk in &status.at_risk {
        let sessions = output::count(risk.sessions, "session");
        text.push_str(&format!(
            "at risk   {} deletes {sessions} in {} days\n",
            risk.flavor, risk.in_days
        ));
    }
    for one in &status.other_versions {
        text.push_str(&format!(
            "merged    “{}” in {} was edited on two devices: `memtree review` shows the other version\n",
            output::safe(&one.version.of),
            output::safe(&one.path)
        ));
    }
    for drift in &status.drift {
        text.push_str(&format!(
            "drift     {}; update, or see `memtree doctor --unknown`\n",
            output::safe(&drift.sentence())
        ));
    }
    if status.models.calls > 0 {
        let DaySpending { calls, failed, tokens, usd } = &status.models;
        let failed =
            if *failed > 0 { format!(", {failed} of them in vain") } else { String::new() };
        text.push_str(&format!(
            "models    today {}, {tokens} tokens, ${usd:.4}{failed}\n",
            output::count(*calls, "call")
        ));
    }
    text.push_str(&given(status));
    if !status.pending.days.is_empty() {
        let days = &status.pending.days;
        let more = days.len().saturating_sub(3);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        text.push_str(&format!(
            "pending   summaries of {}{more}\n",
            days[..days.len().min(3)].join(", ")
        ));
    }
    if status.pending.flushes > 0 {
        text.push_str(&format!(
            "waiting   {} for a model\n",
            output::count(status.pending.flushes, "context")
        ));
    }
    for damaged in &status.damaged {
        text.push_str(&format!("damaged   {damaged}\n"));
    }
    text
}
