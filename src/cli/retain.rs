//! `memtree retain`: applies the storage budget.

use chrono::Duration;

use super::{App, output};
use crate::base::size::Size;
use crate::error::Result;
use crate::ops::retain::plan::Limits;
use crate::ops::retain::{Decision, Evicted, RetainRequest, Retention};

/// Apply the storage budget: evict raw that is too old or too much
///
/// A sweep does the same at its end. Three passes: raw captured longer ago than --max-age-days goes
/// (off by default); while snapshots take more than --soft-cap, the oldest go, raw and long outputs
/// before the readable pages; while they take more than --hard-cap, even those without a digest get
/// one and go, and what cannot get one is lost by name, with exit code 1. Digests always stay, say
/// that their raw was evicted, and keep its hashes. Pinned and open sessions are never touched.
/// `--dry-run` shows every session, whether it stays, and why.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    retention: RetentionArgs,
    /// Remove event logs (`sessions/*.jsonl`) that nobody wrote to for this long; 0 means never
    #[arg(long, value_name = "DAYS", allow_negative_numbers = true)]
    jsonl_max_age_days: Option<u32>,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
    /// At most this many results
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// The limits that the flags name, or else the settings.
#[derive(Debug, Default, clap::Args)]
pub struct RetentionArgs {
    /// While snapshots take more than this, evict the oldest, such as 4GiB
    #[arg(long, value_name = "SIZE")]
    soft_cap: Option<Size>,
    /// While they take more than this, evict even those without a digest
    #[arg(long, value_name = "SIZE")]
    hard_cap: Option<Size>,
    /// Evict raw that was captured longer ago than this; 0 means never
    #[arg(long, value_name = "DAYS")]
    max_age_days: Option<u32>,
    /// Say so when digests and days take more than this
    #[arg(long, value_name = "SIZE")]
    distilled_cap: Option<Size>,
}

impl RetentionArgs {
    /// The limits that the flags name, and the others as they are.
    pub fn limits(&self, set: Limits) -> Limits {
        let size = |flag: Option<Size>, set: u64| flag.map_or(set, |size| size.0);
        let age = |days: u32| (days > 0).then(|| Duration::days(days.into()));
        Limits {
            soft_cap: size(self.soft_cap, set.soft_cap),
            hard_cap: size(self.hard_cap, set.hard_cap),
            max_age: self.max_age_days.map_or(set.max_age, age),
            distilled_cap: size(self.distilled_cap, set.distilled_cap),
        }
    }
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let memory = app.memory_for(args.dry_run)?;
    let request = RetainRequest::default()
        .limits(args.retention.limits(memory.limits()))
        .event_log_days(args.jsonl_max_age_days)
        .dry_run(args.dry_run);
    let report = memory.retain(request)?;
    let (retention, sessions) = (&report.retention, &report.sessions);
    warn(retention);
    if app.json {
        output::json(&report);
    } else if !app.quiet {
        let shown = sessions.iter().filter(|one| args.dry_run || one.decision == "evict");
        let mut text: String = shown.take(args.limit.unwrap_or(usize::MAX)).map(line).collect();
        if let Some(logs) = retention.event_logs.as_ref().filter(|logs| !logs.removed.is_empty()) {
            let would = if args.dry_run { "would remove" } else { "removed" };
            text.push_str(&format!("{would} {}\n", output::count(logs.removed.len(), "event log")));
        }
        text.push_str(&if args.dry_run {
            let (freed, left) =
                (output::bytes(retention.freed_bytes), output::bytes(retention.in_use_bytes));
            format!("would free {freed}; then {left} are in use\n")
        } else {
            summary(retention)
        });
        output::print(&text);
    }
    Ok(if retention.data_loss.is_empty() { 0 } else { 1 })
}

fn line(one: &Decision) -> String {
    let day = one.captured.get(..10).unwrap_or_default();
    format!(
        "{:<5}  {}  {day}  {:>9}  {}\n",
        one.decision,
        one.session,
        output::bytes(one.bytes),
        one.why
    )
}

/// What was evicted, in one line.
pub fn summary(retention: &Retention) -> String {
    let (freed, left) =
        (output::bytes(retention.freed_bytes), output::bytes(retention.in_use_bytes));
    match retention.evicted.count() {
        0 => format!("nothing had to go; {left} are in use\n"),
        count => format!(
            "evicted {}: freed {freed}, {left} are in use\n",
            output::count(count, "session")
        ),
    }
}

/// What a sweep did about the storage budget, in one line.
pub fn storage(retention: &Retention, dry_run: bool) -> String {
    let (in_use, freed) =
        (output::bytes(retention.in_use_bytes), output::bytes(retention.freed_bytes));
    let Evicted { age, budget, overflow } = &retention.evicted;
    let (would_free, would_evict) = match dry_run {
        true => ("would free", "would evict"),
        false => ("freed", "evicted"),
    };
    format!(
        "storage: {in_use} in use, {would_free} {freed}, {would_evict} {} (age {}, budget {}, \
         overflow {})\n",
        retention.evicted.count(),
        age.len(),
        budget.len(),
        overflow.len()
    )
}

/// Says what was lost and which caps could not be kept, however quiet the person wants it.
pub fn warn(retention: &Retention) {
    for session in &retention.data_loss {
        eprintln!(
            "data loss: {session} was over the hard cap and could get no digest; its snapshot is \
             gone"
        );
    }
    for alert in &retention.alerts {
        eprintln!("warning: {}", output::safe(alert));
    }
}
