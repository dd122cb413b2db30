//! When knowledge is compiled again: the days have changed since, and an hour has passed.

use chrono::Duration;

use crate::base::clock::Timestamp;
use crate::base::files;
use crate::error::{Context, Result};
use crate::memory::Memory;
use crate::ops::compile::CompileRequest;
use crate::ops::flush::{Compiled, FlushReport, State};
use crate::store::day::summary;
use crate::store::layout::Layout;
use crate::store::local;

/// How long to wait after a compilation, where nobody says otherwise.
const INTERVAL_MINUTES: i64 = 60;

impl Memory {
    /// Compiles knowledge after a flush, where it is due. What fails is noted in the log: the flush
    /// itself went well.
    pub fn compile_after(&self, flushed: &FlushReport) {
        // What waits for a model will change the days again.
        if flushed.kept == 0
            && let Err(error) = self.compile_if_due()
        {
            local::note(self.layout(), self.now(), &format!("compile: {error}"));
        }
    }

    fn compile_if_due(&self) -> Result<bool> {
        let (layout, now) = (self.layout(), self.now());
        let minutes = self.environment().variable("MEMTREE_COMPILE_INTERVAL_MIN");
        let minutes = minutes.and_then(|minutes| minutes.parse().ok()).unwrap_or(INTERVAL_MINUTES);
        let interval = Duration::try_minutes(minutes).unwrap_or_default();
        let cannot = || "cannot tell whether knowledge is to be compiled".to_string();
        let _lock = files::lock_exclusive(&layout.flush_lock()).context(cannot)?;
        let mut state = State::load(layout, now).context(cannot)?;
        let days = days_hash(layout).context(cannot)?;
        if !is_due(state.compiled.as_ref(), &days, now, interval) {
            return Ok(false);
        }
        self.compile(CompileRequest::default())?;
        state.compiled = Some(Compiled { at: now, days });
        state.save(layout).context(cannot)?;
        Ok(true)
    }
}

/// The hash of all days' hashes, as their summaries tell them; empty where there is no day.
pub fn days_hash(layout: &Layout) -> std::io::Result<String> {
    let mut hashes = String::new();
    for day in crate::store::day::all(layout)? {
        let summary = files::read_to_string(layout.summary(day)).unwrap_or_default();
        if let Some(covers) = summary::covers(&summary) {
            hashes.push_str(&format!("{day} {covers}\n"));
        }
    }
    Ok(if hashes.is_empty() { hashes } else { files::sha256_hex(hashes.as_bytes()) })
}

/// Whether to compile now.
pub fn is_due(last: Option<&Compiled>, days: &str, now: Timestamp, interval: Duration) -> bool {
    match last {
        _ if days.is_empty() => false,
        None => true,
        // A time that lies ahead comes from a clock that was wrong, and holds nobody up.
        Some(last) => last.days != days && (now - last.at >= interval || last.at > now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock;

    #[test]
    fn it_takes_a_change_and_an_hour() {
        let at = |time: &str| clock::parse(&format!("2026-11-15T{time}:00Z")).unwrap();
        let hour = Duration::minutes(INTERVAL_MINUTES);
        let last = Compiled { at: at("12:00"), days: "a".into() };
        assert!(is_due(None, "a", at("12:00"), hour));
        assert!(!is_due(None, "", at("12:00"), hour), "there is nothing to compile");
        assert!(!is_due(Some(&last), "a", at("18:00"), hour), "nothing has changed");
        assert!(!is_due(Some(&last), "b", at("12:59"), hour));
        assert!(is_due(Some(&last), "b", at("13:00"), hour));
        assert!(is_due(Some(&last), "b", at("12:00"), Duration::zero()));
        assert!(is_due(Some(&last), "b", at("11:00"), hour), "a clock that was wrong");
    }
}
