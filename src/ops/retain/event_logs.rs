//! Event logs by age: those of our own sessions, and those of older tools whose session the memory
//! holds.

use std::fs;

use chrono::Duration;
use serde::Serialize;

use crate::base::clock::{self, Timestamp};
use crate::base::files::{self, Stamp};
use crate::capture::cursors::Cursors;
use crate::error::{Context, Result};
use crate::store::{EventLog, Store};

/// What became of event logs.
#[derive(Debug, Serialize)]
pub struct EventLogReport {
    /// How many there were.
    pub scanned: usize,
    /// Those that went, by their path in the memory.
    pub removed: Vec<String>,
    /// Nobody had written to them since.
    pub cutoff: String,
}

/// Removes the event logs to which nobody has written for long; a dry run only names them. One that
/// was never captured as it is now stays: it may be all there is of its session.
pub fn remove_old(
    store: &Store,
    now: Timestamp,
    age: Duration,
    dry_run: bool,
) -> Result<EventLogReport> {
    let layout = store.layout();
    let cutoff = now.checked_sub_signed(age.max(Duration::zero())).unwrap_or_default();
    let logs = store.event_logs().context(|| "cannot list the event logs".into())?;
    let cursors = Cursors::load(&layout.cursors());
    let mut report =
        EventLogReport { scanned: logs.len(), removed: Vec::new(), cutoff: clock::stamp(cutoff) };
    for log in logs {
        let Ok(metadata) = files::symlink_metadata(&log.path) else { continue };
        let is_old = metadata.modified().is_ok_and(|at| Timestamp::from(at) < cutoff);
        if !is_old || !is_held(&log, &Stamp::of(&metadata), &cursors, store) {
            continue;
        }
        if !dry_run {
            files::remove_file(&log.path)
                .context(|| format!("cannot remove `{}`", layout.shown(&log.path)))?;
        }
        report.removed.push(layout.shown(&log.path));
    }
    Ok(report)
}

/// Whether the memory holds what an event log says.
fn is_held(log: &EventLog, stamp: &Stamp, cursors: &Cursors, store: &Store) -> bool {
    let session = match &log.session {
        Some(session) => Some(session.clone()),
        None => {
            let path = fs::canonicalize(&log.path).unwrap_or_else(|_| log.path.clone());
            let known = cursors.unchanged(&path, stamp).and_then(|cursor| cursor.known.as_ref());
            known.and_then(|known| cursors.with_native_id(&known.identity.native_id))
        }
    };
    session.is_some_and(|session| files::is_file(store.layout().digest(&session)))
}
