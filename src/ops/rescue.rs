//! The rescue clock: which sessions an agent will delete, in how many days, and whether the memory
//! has them.
//!
//! Agents clear their logs away by age and say nothing. What is asked here is only how each log
//! looks: nothing is read but what a sweep reads of a log that it does not know.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::adapters::shared::SharedFiles;
use crate::adapters::{self, Places};
use crate::error::Result;
use crate::ops::cursors::Cursors;
use crate::ops::discover;
use crate::ops::sweep::{self, Report, Sweep, Tree};
use crate::store::Store;
use crate::store::tombstones::Tombstones;

/// How soon is soon, in days.
pub const SOON: i64 = 7;

/// What one agent will delete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Clock {
    pub flavor: String,
    /// So many days after a log was last written to, it goes.
    pub after_days: u32,
    /// How many sessions it has now.
    pub sessions: usize,
    /// How many of them will go in so many days, for the next [`SOON`] days; those that are overdue
    /// count as 0.
    pub soon: BTreeMap<i64, usize>,
    /// How many of those the memory does not hold as they are now.
    pub not_swept: usize,
    /// Where the agent's setting is, and what to write there.
    pub settings: PathBuf,
    pub advice: String,
}

impl Clock {
    /// How many sessions will go soon.
    pub fn at_risk(&self) -> usize {
        self.soon.values().sum()
    }
}

/// Reads the clock of every agent that deletes its logs.
pub fn clocks(store: &Store, sweep: &Sweep<'_>, places: &Places) -> Result<Vec<Clock>> {
    let mut clocks: Vec<Clock> = Vec::new();
    for adapter in adapters::ALL {
        if let Some(deletion) = adapter.deletion(places) {
            clocks.push(Clock {
                flavor: adapter.name().to_string(),
                after_days: deletion.after_days,
                sessions: 0,
                soon: BTreeMap::new(),
                not_swept: 0,
                settings: deletion.settings,
                advice: deletion.advice.to_string(),
            });
        }
    }
    if clocks.is_empty() {
        return Ok(clocks);
    }
    let layout = store.layout();
    let mut cursors = Cursors::load(&layout.cursors());
    let tree = Tree::load(store, sweep::digested(store)?, &mut cursors, sweep);
    let tombstones = Tombstones::load(layout).unwrap_or_default();
    let shared = SharedFiles::with_temporary_copies();
    let mut unread = Report::default();
    let walked = discover::walk(sweep, layout.root(), &mut unread)?;
    let found = discover::discover(sweep, &walked, &shared, &mut cursors, &mut unread);
    for source in found.sources.iter().filter(|source| !tombstones.has_source(&source.source_id()))
    {
        let Some(clock) = clocks.iter_mut().find(|clock| clock.flavor == source.flavor) else {
            continue;
        };
        clock.sessions += 1;
        let stamps = source.files.iter().filter_map(|file| found.files.get(file.path.as_os_str()));
        let Some(newest) = stamps.map(|seen| seen.stamp.mtime_ns).max() else { continue };
        let age_days = (sweep.now.timestamp() - newest / 1_000_000_000).div_euclid(24 * 60 * 60);
        let in_days = (i64::from(clock.after_days) - age_days).max(0);
        if in_days <= SOON {
            *clock.soon.entry(in_days).or_default() += 1;
            let is_swept =
                sweep::is_unchanged(store, &tree, &found.files, &shared, &cursors, source);
            clock.not_swept += usize::from(!is_swept);
        }
    }
    Ok(clocks)
}
