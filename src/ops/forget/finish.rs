//! Finishing: what tombstones ask for and was not done yet, after a kill or because a sync brought
//! the tombstones along.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use super::pages::clean_page;
use super::quarantine::{self, QuarantineEntry};
use super::traces::Traces;
use super::{Request, chosen, pattern, purge};
use crate::base::files::{self, Stamp};
use crate::error::{Context, Result};
use crate::model::ids::{Device, SessionId};
use crate::ops::retain;
use crate::store::layout::Layout;
use crate::store::local::StateFile;
use crate::store::tombstones::Tombstones;
use crate::store::{Store, layout};

/// What came of tombstones that other devices wrote.
#[derive(Debug, Default)]
pub struct Finished {
    /// What is gone by now.
    pub tombstones: Tombstones,
    /// What went into quarantine.
    pub quarantined: Vec<QuarantineEntry>,
    /// What was in quarantine for long enough, and is deleted.
    pub ended: Vec<SessionId>,
}

/// Does what tombstones ask for and was not done: a forget that was killed, or one that a sync
/// brought along; and takes out the lines that a merge of days brought back. What another device
/// wants to be gone goes into quarantine. The caller holds the sweep's lock.
pub fn finish(store: &Store, request: &Request<'_>) -> Result<Finished> {
    let layout = store.layout();
    let cannot = || "cannot finish forgetting".to_string();
    let load = || Tombstones::load(layout).context(|| "cannot read what was forgotten".into());
    let ended = quarantine::end_old(store, request.now)?;
    let mut tombstones = load()?;
    if tombstones.is_empty() {
        return Ok(Finished { tombstones, ended, ..Finished::default() });
    }
    let source_of = |session: &SessionId| quarantine::source_of(store, session);
    if tombstones.accept_trusted(layout, &request.trust, source_of).context(cannot)? {
        tombstones = load()?;
    }
    let quarantined = quarantine::take_in_claimed(store, &tombstones, request)?;
    if !quarantined.is_empty() {
        tombstones = load()?;
    }
    let is_back = |session: &&SessionId| files::exists(layout.session(session));
    let back: Vec<SessionId> = tombstones.carried().filter(is_back).cloned().collect();
    if !back.is_empty() {
        let traces = Traces::of(store, &back).context(cannot)?;
        purge(store, &back, &traces, request.redactor)?;
    }
    let before = CleanDays::file(layout).load();
    if before.tombstones != tombstones.lines() {
        let held = holding_forgotten_texts(store, &tombstones, request.device)?;
        retain::evict_all(store, &held, request.now)?;
    }
    clean_days(store, &tombstones, &before).context(cannot)?;
    Ok(Finished { tombstones, quarantined, ended })
}

/// This device's sessions whose log is not to be captured again for what it says, and whose raw is
/// still as it was: the text was forgotten on another device. Which text is not known here, so all
/// that was captured has to go.
fn holding_forgotten_texts(
    store: &Store,
    tombstones: &Tombstones,
    device: &Device,
) -> Result<Vec<SessionId>> {
    chosen(store, |digest| {
        digest.session.device == *device
            && digest.snapshot.evicted.is_none()
            && tombstones.has_source(&digest.source_id)
            && !tombstones.has_session(&digest.session)
            && files::exists(store.layout().snapshot(&digest.session))
    })
}

/// How days looked when they held no line of a forgotten session.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct CleanDays {
    tombstones: Vec<String>,
    days: BTreeMap<String, Stamp>,
}

impl CleanDays {
    fn file(layout: &Layout) -> StateFile<CleanDays> {
        StateFile::cache(layout.clean_days())
    }
}

/// Takes the lines of forgotten sessions, and lines that lost a text elsewhere, out of the days
/// that have changed since that was last done.
fn clean_days(store: &Store, tombstones: &Tombstones, before: &CleanDays) -> io::Result<()> {
    let layout = store.layout();
    let mut now = CleanDays { tombstones: tombstones.lines(), days: BTreeMap::new() };
    let gone: Vec<SessionId> =
        tombstones.carried().chain(tombstones.quarantined()).cloned().collect();
    let traces = Traces::named(&gone);
    let days = files::walk_files(&layout.daily()).flatten().filter(|found| found.link.is_none());
    for found in days.collect::<Vec<_>>() {
        let name = layout::shown_relative(&found.relative);
        let stamp = Stamp::of(&found.metadata);
        if before.tombstones != now.tombstones || before.days.get(&name) != Some(&stamp) {
            clean_page(&layout.replacing(), &found.path, |page| {
                let kept = traces.removed(page);
                pattern::without_originals(kept.as_deref().unwrap_or(page)).or(kept)
            })?;
        }
        // As it is now: a line that comes later makes it another one.
        now.days.insert(name, Stamp::of(&files::symlink_metadata(&found.path)?));
    }
    if now == *before { Ok(()) } else { CleanDays::file(layout).save(&now).map(drop) }
}
