//! What there is in a memory: sessions by agent and state, episodes, days, and their disk
//! use.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chrono::NaiveDate;
use rayon::prelude::*;
use serde::Serialize;

use crate::base::files;
use crate::capture::rescue;
use crate::capture::sources::Selection;
use crate::error::{Context, Result};
use crate::memory::Memory;
use crate::model::digest::{SnapshotShape, State};
use crate::model::pattern::{Pattern, PatternStatus};
use crate::models::ledger::{self, DaySpending};
use crate::ops::context::WeekOfGiving;
use crate::ops::days::{self, DayCounters};
use crate::ops::drift::Drift;
use crate::ops::sync::PageVersion;
use crate::ops::tally::{DigestTally, Tally};
use crate::store::layout::Layout;
use crate::store::pattern::catalog;
use crate::store::{self, core, layout};

/// What there is.
#[derive(Debug, Default, Serialize)]
pub struct StatusReport {
    pub store: PathBuf,
    pub device: String,
    pub sessions: Sessions,
    pub episodes: u64,
    pub days: usize,
    pub cores: usize,
    pub spheres: usize,
    pub patterns: BTreeMap<String, usize>,
    pub bytes: Bytes,
    pub pending: Pending,
    /// What each day has beyond its summary.
    pub day_counters: Vec<DayCounters>,
    pub at_risk: Vec<AtRisk>,
    /// What models were asked today, and what it cost.
    pub models: DaySpending,
    /// Versions of agents that write much that this memtree does not know.
    pub drift: Vec<Drift>,
    /// What agents were given in the last 90 days, by week and agent, and whether it was recalled.
    pub given: Vec<WeekOfGiving>,
    /// Sections that were edited on two devices: the other version of each, until `review` decides.
    pub other_versions: Vec<PageVersion>,
    /// Digests that cannot be read, with the reason.
    pub damaged: Vec<String>,
}

/// The part of it that costs least.
#[derive(Debug, Default, Serialize)]
pub struct ShortStatus {
    pub sessions: Sessions,
    pub days: usize,
    pub cores: usize,
    pub at_risk: Vec<AtRisk>,
    pub damaged: Vec<String>,
}

/// How many sessions there are.
#[derive(Debug, Default, Serialize)]
pub struct Sessions {
    pub total: usize,
    pub open: usize,
    pub closed: usize,
    pub by_flavor: BTreeMap<String, usize>,
}

/// Their disk use.
#[derive(Debug, Default, Serialize)]
pub struct Bytes {
    /// The agents' own logs, byte for byte.
    pub raw: u64,
    /// The readable parts made from them.
    pub derived: u64,
    /// Digests, days and cores: what is kept for good.
    pub distilled: u64,
    pub cache: u64,
}

/// What waits to be done.
#[derive(Debug, Default, Serialize)]
pub struct Pending {
    pub days: Vec<String>,
    pub flushes: usize,
}

/// Sessions that an agent will delete soon.
#[derive(Debug, Serialize)]
pub struct AtRisk {
    pub flavor: String,
    pub sessions: usize,
    pub in_days: i64,
}

impl Memory {
    /// Looks through the memory.
    pub fn status(&self) -> Result<StatusReport> {
        let (store, layout) = (self.store(), self.layout());
        let today = days::today(self.now(), self.zone()?);
        let tally = self.tally()?;
        let mut status = StatusReport {
            store: layout.root().to_path_buf(),
            device: self.device().to_string(),
            at_risk: self.at_risk()?,
            drift: self.drift_of(&tally).into_iter().filter(|drift| drift.jumped).collect(),
            given: self.given_by_week(),
            other_versions: self.other_versions_of(&tally),
            ..StatusReport::default()
        };
        status.count(&tally);
        status.bytes.add_snapshots(layout, &tally);
        status.cores = core::core_ids(&layout.cores()).len();
        status.spheres = core::sphere_ids(&layout.cores()).len();
        status.bytes.distilled += size(&layout.cores());
        status.days = store::day::all(layout).map_or(0, |days| days.len());
        status.bytes.distilled += size(&layout.daily());
        status.patterns = self.pattern_counts()?;
        status.bytes.distilled += size(&layout.patterns());
        let pending = days::pending(store, today).context(|| "cannot read the days".into())?;
        status.pending.days = pending.iter().map(NaiveDate::to_string).collect();
        status.day_counters =
            days::counters(store, today).context(|| "cannot read the days".into())?;
        status.pending.flushes = store.inbox().len();
        status.bytes.cache = fs_extra::dir::get_size(layout.cache()).unwrap_or(0);
        status.models = ledger::spent(&layout.ledger(), today, |_| true)
            .context(|| "cannot read the ledger".into())?;
        Ok(status)
    }

    /// What an agent asks for: how much there is, without a look at the disk's use.
    pub fn status_in_short(&self) -> Result<ShortStatus> {
        let layout = self.layout();
        let mut counted = StatusReport::default();
        counted.count(&self.tally()?);
        Ok(ShortStatus {
            sessions: counted.sessions,
            days: store::day::all(layout).map_or(0, |days| days.len()),
            cores: core::core_ids(&layout.cores()).len(),
            at_risk: self.at_risk()?,
            damaged: counted.damaged,
        })
    }

    /// How many patterns wait, are approved, only provisional, or retired.
    fn pattern_counts(&self) -> Result<BTreeMap<String, usize>> {
        let mut counts = BTreeMap::new();
        let layout = self.layout();
        if !files::is_dir(layout.patterns()) {
            return Ok(counts);
        }
        let waiting = catalog::pages(&layout.candidates()).map_or(0, |pages| pages.len());
        let approved = self.approved_patterns()?.len();
        let patterns = self.catalog()?.patterns;
        let is_retired = |pattern: &&Pattern| pattern.status == PatternStatus::Retired;
        let retired = patterns.iter().filter(is_retired).count();
        let provisional = patterns.len().saturating_sub(approved + retired);
        for (name, count) in [
            ("waiting", waiting),
            ("approved", approved),
            ("provisional", provisional),
            ("retired", retired),
        ] {
            counts.insert(name.to_string(), count);
        }
        Ok(counts)
    }

    /// What agents will delete soon.
    fn at_risk(&self) -> Result<Vec<AtRisk>> {
        let selection = self.resolved(&Selection::default())?;
        let places = &self.environment().places;
        let clocks = rescue::clocks(&self.capture_settings()?, &selection, places)?;
        let risks = clocks.into_iter().flat_map(|clock| {
            let flavor = clock.flavor;
            let soon = clock.soon.into_iter();
            soon.map(move |(in_days, sessions)| AtRisk {
                flavor: flavor.clone(),
                sessions,
                in_days,
            })
        });
        Ok(risks.collect())
    }
}

impl StatusReport {
    /// Adds what digests say.
    fn count(&mut self, tally: &Tally) {
        for session in tally.sessions.values() {
            match &session.digest {
                DigestTally::Missing => continue,
                DigestTally::Damaged(reason) => self.damaged.push(reason.clone()),
                DigestTally::Read { state, flavor, episodes, bytes, .. } => {
                    match state {
                        State::Open => self.sessions.open += 1,
                        State::Closed => self.sessions.closed += 1,
                    }
                    self.episodes += episodes;
                    self.bytes.distilled += bytes;
                    *self.sessions.by_flavor.entry(flavor.clone()).or_default() += 1;
                }
            }
            self.sessions.total += 1;
        }
    }
}

impl Bytes {
    /// Adds what the snapshots of sessions take, where their digests can be read.
    fn add_snapshots(&mut self, layout: &Layout, tally: &Tally) {
        let sizes = tally.sessions.par_iter().map(|(id, session)| match session.digest {
            DigestTally::Read { shape, .. } => snapshot_sizes(&layout.snapshot(id), shape),
            _ => (0, 0),
        });
        let (raw, derived) = sizes.reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        self.raw += raw;
        self.derived += derived;
    }
}

/// How much of a snapshot is raw, and how much was made of it.
fn snapshot_sizes(snapshot: &Path, shape: SnapshotShape) -> (u64, u64) {
    let (mut raw, mut derived) = (0, 0);
    if !files::exists(snapshot) {
        return (raw, derived);
    }
    for file in files::walk_files(snapshot).flatten() {
        let name = layout::shown_relative(&file.relative);
        if layout::is_guard(&name, shape) {
            continue;
        }
        let is_raw = layout::is_raw_file(&name, shape);
        *(if is_raw { &mut raw } else { &mut derived }) += file.metadata.len();
    }
    (raw, derived)
}

fn size(folder: &Path) -> u64 {
    if !files::exists(folder) {
        return 0;
    }
    files::walk_files(folder).flatten().map(|file| file.metadata.len()).sum()
}
