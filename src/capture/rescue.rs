//! The rescue clock: which sessions an agent will delete, in how many days, and whether the memory
//! has them.
//!
//! Agents clear their logs away by age and say nothing. What is asked here is only how each log
//! looks: nothing is read but what a sweep reads of a log that it does not know.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use super::CaptureSettings;
use super::sources::{Selection, Sources};
use crate::adapters::{self, Places};
use crate::error::Result;

/// How soon is soon, in days.
pub const SOON: i64 = 7;

/// What one agent will delete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RescueClock {
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

impl RescueClock {
    /// How many sessions will go soon.
    pub fn at_risk(&self) -> usize {
        self.soon.values().sum()
    }
}

/// Reads the clock of every agent that deletes its logs.
pub fn clocks(
    settings: &CaptureSettings<'_>,
    selection: &Selection,
    places: &Places,
) -> Result<Vec<RescueClock>> {
    let mut clocks: Vec<RescueClock> = Vec::new();
    for adapter in adapters::ALL {
        if let Some(deletion) = adapter.deletion(places) {
            clocks.push(RescueClock {
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
    let (found, known) = Sources::scan(settings, selection)?;
    for source in &found.sources {
        let Some(clock) = clocks.iter_mut().find(|clock| clock.flavor == source.flavor) else {
            continue;
        };
        clock.sessions += 1;
        let Some(newest) = found.modified_ns(source) else { continue };
        let age_days = (settings.now.timestamp() - newest / 1_000_000_000).div_euclid(24 * 60 * 60);
        let in_days = (i64::from(clock.after_days) - age_days).max(0);
        if in_days <= SOON {
            *clock.soon.entry(in_days).or_default() += 1;
            let is_swept = found.is_unchanged(settings.store, &known, source);
            clock.not_swept += usize::from(!is_swept);
        }
    }
    Ok(clocks)
}
