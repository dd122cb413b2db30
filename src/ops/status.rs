//! What there is in a memory: sessions by agent and state, episodes, days, and how much room they
//! take.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use chrono::NaiveDate;
use serde::Serialize;

use crate::base::files;
use crate::error::{Context, Result};
use crate::model::digest::State;
use crate::models::ledger::{self, DaySpending};
use crate::ops::days::pending;
use crate::ops::snapshot;
use crate::store::{Store, cores, days, layout};

/// What there is.
#[derive(Debug, Default, Serialize)]
pub struct Status {
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
    pub at_risk: Vec<AtRisk>,
    /// What models were asked today, and what it cost.
    pub models: DaySpending,
    /// Digests that cannot be read, with the reason.
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

/// How much room they take.
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

/// Looks through a memory.
pub fn status(store: &Store, device: &str, today: NaiveDate) -> Result<Status> {
    let layout = store.layout();
    let mut status = Status {
        store: layout.root().to_path_buf(),
        device: device.to_string(),
        ..Status::default()
    };
    for id in store.session_ids().context(|| "cannot list the sessions".into())? {
        let digest = match store.digest(&id) {
            Ok(Some(digest)) => digest,
            Ok(None) => continue,
            Err(err) => {
                status.sessions.total += 1;
                let causes = err.causes().join(": ");
                status.damaged.push(format!("{}: {causes}", layout.shown(&layout.digest(&id))));
                continue;
            }
        };
        status.sessions.total += 1;
        match digest.state {
            State::Open => status.sessions.open += 1,
            State::Closed => status.sessions.closed += 1,
        }
        let flavor = digest.content.flavor;
        *status.sessions.by_flavor.entry(flavor.clone()).or_default() += 1;
        if let Some((first, last)) = digest.content.episodes {
            status.episodes += u64::from(last.0 - first.0 + 1);
        }
        status.bytes.distilled +=
            fs::metadata(layout.digest(&id)).map_or(0, |metadata| metadata.len());
        let whole = size(&layout.snapshot(&id));
        // A folder's snapshot is raw throughout.
        let raw = if flavor == snapshot::FLAVOR {
            whole
        } else {
            size(&layout.snapshot(&id).join(layout::RAW))
        };
        status.bytes.raw += raw;
        status.bytes.derived += whole - raw;
    }
    status.cores = cores::core_ids(&layout.cores()).len();
    status.spheres = cores::sphere_ids(&layout.cores()).len();
    status.bytes.distilled += size(&layout.cores());
    status.days = days::all(layout).map_or(0, |days| days.len());
    status.bytes.distilled += size(&layout.daily());
    let pending = pending(store, today).context(|| "cannot read the days".into())?;
    status.pending.days = pending.iter().map(NaiveDate::to_string).collect();
    status.pending.flushes = crate::ops::flush::waiting(layout).len();
    status.bytes.cache = fs_extra::dir::get_size(layout.cache()).unwrap_or(0);
    status.models =
        ledger::spent(&layout.ledger(), today).context(|| "cannot read the ledger".into())?;
    Ok(status)
}

fn size(folder: &Path) -> u64 {
    if !folder.exists() {
        return 0;
    }
    files::walk_files(folder).flatten().map(|file| file.metadata.len()).sum()
}
