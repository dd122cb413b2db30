//! The storage budget: what is kept in full, and what only in words.
//!
//! [`plan`] decides, and this carries it out. The order is such that a kill at any point loses
//! nothing in silence: a note of what goes, then the digests that say so, durably, and only then
//! the files. Whatever a kill left is finished by the next sweep. The manifest always stays, so
//! that what was captured can be proved, and a source that has not changed since is not captured
//! again.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use chrono::Duration;
use serde::{Deserialize, Serialize};

use crate::base::clock::{self, Timestamp};
use crate::base::files::{self, Batch};
use crate::base::setters::setters;
use crate::capture::cursors::{Cursors, SessionCursor};
use crate::capture::known::Known;
use crate::capture::{CaptureSettings, commit, raw};
use crate::error::{Context, Result};
use crate::memory::Memory;
use crate::model::digest::{Digest, SnapshotShape, State};
use crate::model::ids::SessionId;
use crate::ops::repair;
use crate::store::local::StateFile;
use crate::store::{Store, authored, digest, layout, snapshots};

mod event_logs;
pub mod plan;

pub use event_logs::EventLogReport;

use plan::{Candidate, Fate, HoldReason, Limits, Pass, Portion};

/// What to keep within which limits.
#[derive(Debug, Clone, Default)]
pub struct RetainRequest {
    /// The storage budget, where it is not that of the settings.
    pub limits: Option<Limits>,
    /// Event logs that nobody wrote to for so many days go, where that is not as the settings say;
    /// 0 means never.
    pub event_log_days: Option<u32>,
    /// Whether it only says what would be done.
    pub dry_run: bool,
}

setters!(RetainRequest { limits: Option<Limits>, event_log_days: Option<u32>, dry_run: bool });

/// What went, and what becomes of each session.
#[derive(Debug, Serialize)]
pub struct RetainReport {
    #[serde(flatten)]
    pub retention: Retention,
    pub sessions: Vec<Decision>,
}

/// What the storage budget did.
#[derive(Debug, Default, Serialize)]
pub struct Retention {
    pub freed_bytes: u64,
    pub in_use_bytes: u64,
    pub evicted: Evicted,
    /// The sessions that went without a digest.
    pub data_loss: Vec<String>,
    /// The sessions that got a digest so that their raw could go.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub digested_now: Vec<String>,
    /// What a person should know: a cap that could not be kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alerts: Vec<String>,
    /// What became of event logs, where an age is set for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_logs: Option<EventLogReport>,
}

impl Retention {
    fn add(&mut self, eviction: &Eviction) {
        self.freed_bytes += eviction.bytes;
        self.evicted.list(eviction.pass).push(eviction.session.to_string());
    }
}

/// The sessions whose raw was evicted, by pass.
#[derive(Debug, Default, Serialize)]
pub struct Evicted {
    pub age: Vec<String>,
    pub budget: Vec<String>,
    pub overflow: Vec<String>,
}

impl Evicted {
    fn list(&mut self, pass: Pass) -> &mut Vec<String> {
        match pass {
            Pass::Age => &mut self.age,
            Pass::Budget => &mut self.budget,
            Pass::Overflow => &mut self.overflow,
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.age.len() + self.budget.len() + self.overflow.len()
    }
}

/// A session and what becomes of it, for a person to read before it happens.
#[derive(Debug, Serialize)]
pub struct Decision {
    pub session: SessionId,
    pub captured: String,
    pub bytes: u64,
    pub decision: &'static str,
    pub pass: Option<Pass>,
    pub portion: Option<Portion>,
    pub why: String,
}

impl Memory {
    /// Applies the storage budget.
    pub fn retain(&self, request: RetainRequest) -> Result<RetainReport> {
        let store = self.store();
        let (settings, dry_run) = (&self.capture_settings()?, request.dry_run);
        let limits = request.limits.unwrap_or_else(|| self.limits());
        let mut retention = Retention::default();
        let _lock = match dry_run {
            true => None,
            false => {
                let lock = store.lock()?;
                commit::finish_earlier_sweep(store, settings.zone)?;
                finish_earlier_eviction(store, &mut retention)?;
                Some(lock)
            }
        };
        let budget = Budget { settings, limits, dry_run };
        let sessions = budget.keep_within(&HashSet::new(), &mut retention)?;
        let days = request.event_log_days.unwrap_or(self.settings().retention.jsonl_max_age_days);
        if days > 0 {
            let age = Duration::days(days.into());
            retention.event_logs = Some(event_logs::remove_old(store, self.now(), age, dry_run)?);
        }
        if !dry_run && retention.evicted.count() + retention.digested_now.len() > 0 {
            crate::index::refresh(store)?;
        }
        Ok(RetainReport { retention, sessions })
    }

    /// The storage budget, as the settings say it.
    pub fn limits(&self) -> Limits {
        let set = &self.settings().retention;
        Limits {
            soft_cap: set.soft_cap.0,
            hard_cap: set.hard_cap.0,
            max_age: (set.max_age_days > 0).then(|| Duration::days(set.max_age_days.into())),
            distilled_cap: set.distilled_cap.0,
        }
    }
}

/// A storage budget and what it applies to.
pub struct Budget<'a> {
    pub settings: &'a CaptureSettings<'a>,
    pub limits: Limits,
    /// Whether nothing is to go.
    pub dry_run: bool,
}

impl Budget<'_> {
    /// The sweep's last step: looks closer only where the budget may be exceeded. `fresh` is what
    /// was captured just now, and `changed` whether anything was.
    pub fn after_sweep(
        &self,
        known: &Known,
        fresh: &HashSet<SessionId>,
        changed: bool,
        retention: &mut Retention,
    ) -> Result<()> {
        retention.in_use_bytes = known.in_use_bytes();
        let now = self.settings.now;
        let too_old = |since: Timestamp| self.limits.max_age.is_some_and(|age| now - since > age);
        if retention.in_use_bytes > self.limits.cap() || known.cursors.raw_since().any(too_old) {
            self.keep_within(fresh, retention)?;
        } else if changed {
            self.alert(retention);
        }
        Ok(())
    }

    /// Plans and evicts, for whoever holds the sweep's lock.
    fn keep_within(
        &self,
        fresh: &HashSet<SessionId>,
        retention: &mut Retention,
    ) -> Result<Vec<Decision>> {
        let mut candidates = self.candidates(fresh)?;
        let mut planned = plan::plan(&candidates, &self.limits, self.settings.now);
        let overflowing = |fate: &Fate| matches!(fate, Fate::Evict(Pass::Overflow, _));
        if !self.dry_run && planned.fates.iter().any(overflowing) {
            // Whatever can still get a digest gets it now, and may then go as any other.
            for (one, fate) in candidates.iter_mut().zip(&planned.fates) {
                if overflowing(fate) && raw::restore_digest(self.settings, &one.session)? {
                    one.digested = true;
                    retention.digested_now.push(one.session.to_string());
                }
            }
            planned = plan::plan(&candidates, &self.limits, self.settings.now);
        }
        while self.hold_damaged(&mut candidates, &planned.fates) {
            planned = plan::plan(&candidates, &self.limits, self.settings.now);
        }
        let fates = candidates.iter().zip(&planned.fates);
        let evictions: Vec<Eviction> =
            fates.filter_map(|(one, fate)| Eviction::new(one, fate)).collect();
        match self.dry_run {
            true => evictions.iter().for_each(|eviction| retention.add(eviction)),
            false => evict(self.settings.store, evictions, self.settings.now, retention)?,
        }
        retention.in_use_bytes = planned.in_use;
        self.alert(retention);
        Ok(decisions(&candidates, &planned.fates))
    }

    /// Holds back the sessions that would go and whose snapshots are not what their digests say;
    /// returns whether there were any.
    fn hold_damaged(&self, candidates: &mut [Candidate], fates: &[Fate]) -> bool {
        let store = self.settings.store;
        let mut found = false;
        for (one, fate) in candidates.iter_mut().zip(fates) {
            let goes = one.digested && matches!(fate, Fate::Evict(..));
            let digest = if goes { store.digest(&one.session).ok().flatten() } else { None };
            let snapshot = store.layout().snapshot(&one.session);
            if digest.is_some_and(|digest| is_damaged(&snapshot, &digest)) {
                one.held = Some(HoldReason::Damaged);
                found = true;
            }
        }
        found
    }

    /// Looks at every session of the memory.
    fn candidates(&self, fresh: &HashSet<SessionId>) -> Result<Vec<Candidate>> {
        let ids = self.settings.store.session_ids();
        let ids = ids.context(|| "cannot list the sessions".into())?;
        Ok(ids.into_iter().filter_map(|id| self.candidate(fresh, id)).collect())
    }

    fn candidate(&self, fresh: &HashSet<SessionId>, session: SessionId) -> Option<Candidate> {
        let layout = self.settings.store.layout();
        let path = layout.snapshot(&session);
        let text = files::read_to_string(layout.digest(&session)).ok();
        let digest = text.as_deref().and_then(|text| digest::parse(text).ok());
        if digest.is_none() && !files::exists(&path) {
            return None;
        }
        let held = if session.device != *self.settings.device {
            Some(HoldReason::Elsewhere)
        } else if text.as_deref().is_some_and(digest::is_pinned) {
            Some(HoldReason::Pinned)
        } else if fresh.contains(&session) {
            Some(HoldReason::Fresh)
        } else if digest.as_ref().is_some_and(|digest| digest.state == State::Open) {
            Some(HoldReason::Open)
        } else {
            None
        };
        // What lies here of other devices is theirs to count.
        let measured = match held {
            Some(HoldReason::Elsewhere) => snapshots::Measured::default(),
            _ => {
                let shape = digest.as_ref().map(|digest| digest.content.shape());
                snapshots::measure(&path, shape.unwrap_or(SnapshotShape::Log))
            }
        };
        Some(Candidate {
            captured: digest.as_ref().map(|digest| digest.captured).unwrap_or_default(),
            heavy: measured.heavy,
            light: measured.light,
            digested: digest.is_some(),
            held,
            session,
        })
    }

    /// Says which caps could not be kept.
    fn alert(&self, retention: &mut Retention) {
        let limits = &self.limits;
        let (in_use, cap) = (retention.in_use_bytes, limits.hard_cap);
        if in_use > cap {
            retention.alerts.push(format!(
                "snapshots take {in_use} bytes, more than `retention.hard_cap` ({cap}); what is \
                 left is pinned, open or new"
            ));
        }
        let (distilled, cap) = (self.settings.store.distilled_bytes(), limits.distilled_cap);
        if distilled > cap {
            retention.alerts.push(format!(
                "digests, days and what is made of them take {distilled} bytes, more than \
                 `retention.distilled_cap` ({cap}); nothing of it is ever dropped"
            ));
        }
    }
}

fn decisions(kept: &[Candidate], fates: &[Fate]) -> Vec<Decision> {
    let decided = kept.iter().zip(fates).map(|(one, fate)| {
        let (decision, pass, portion, why) = match fate {
            Fate::Keep(why) => ("keep", None, None, why.to_string()),
            Fate::Evict(pass, portion) => {
                let what = match portion {
                    Portion::Raw => "raw and long outputs go, the pages stay",
                    Portion::All => "raw and pages go, the digest stays",
                };
                let why = match pass {
                    Pass::Age => format!("older than the age limit: {what}"),
                    Pass::Budget => format!("over the soft cap, oldest first: {what}"),
                    Pass::Overflow => {
                        "over the hard cap and without a digest: lost unless it can get one"
                            .to_string()
                    }
                };
                ("evict", Some(*pass), Some(*portion), why)
            }
        };
        Decision {
            session: one.session.clone(),
            captured: clock::stamp(one.captured),
            bytes: one.heavy + one.light,
            decision,
            pass,
            portion,
            why,
        }
    });
    decided.collect()
}

/// A session that is being evicted.
#[derive(Debug, Serialize, Deserialize)]
struct Eviction {
    session: SessionId,
    pass: Pass,
    portion: Portion,
    bytes: u64,
    digested: bool,
}

impl Eviction {
    fn file(store: &Store) -> StateFile<Vec<Eviction>> {
        StateFile::local(store.layout().evicting())
    }

    fn new(one: &Candidate, fate: &Fate) -> Option<Eviction> {
        let Fate::Evict(pass, portion) = *fate else { return None };
        let bytes = one.heavy + if portion == Portion::All { one.light } else { 0 };
        Some(Eviction {
            session: one.session.clone(),
            pass,
            portion,
            bytes,
            digested: one.digested,
        })
    }
}

/// Whether a snapshot is not what its digest was made of: then the digest may not tell what would
/// go.
fn is_damaged(snapshot: &Path, digest: &Digest) -> bool {
    repair::state_of(snapshot, digest) != repair::SnapshotState::Whole
}

/// Evicts: the note, the digests, the files.
fn evict(
    store: &Store,
    going: Vec<Eviction>,
    now: Timestamp,
    retention: &mut Retention,
) -> Result<()> {
    if going.is_empty() {
        return Ok(());
    }
    let layout = store.layout();
    let cannot = || format!("cannot evict from the memory `{}`", layout.root().display());
    // What the short cut of the next sweep knows is no longer so.
    files::remove_file(&layout.sweep_fingerprint()).context(cannot)?;
    Eviction::file(store).save(&going).context(cannot)?;
    let day = now.date_naive().to_string();
    let mut digests = Batch::of_pages(&layout.replacing());
    for one in going.iter().filter(|one| one.digested) {
        store.refuse_links(Some(&one.session))?;
        let path = layout.digest(&one.session);
        let merge = authored::merging(|now| now.map(|text| digest::evicted(text, &day)));
        digests.merge(&path, merge).context(cannot)?;
    }
    digests.commit().context(cannot)?;
    remove(store, marked(store, going), retention)
}

/// Those whose digests say that they are evicted, or that have none: a person may just have removed
/// a digest, and nothing goes that no page tells of.
fn marked(store: &Store, mut going: Vec<Eviction>) -> Vec<Eviction> {
    going.retain(|one| match store.digest(&one.session) {
        Ok(Some(digest)) => digest.snapshot.evicted.is_some(),
        _ => !one.digested,
    });
    going
}

/// Evicts all that was captured of some sessions, whatever the budget: for a text in them that is
/// to be forgotten.
pub fn evict_all(store: &Store, sessions: &[SessionId], now: Timestamp) -> Result<()> {
    let going = sessions.iter().map(|session| {
        let bytes = snapshots::bytes(&store.layout().snapshot(session));
        Eviction {
            session: session.clone(),
            pass: Pass::Age,
            portion: Portion::All,
            bytes,
            digested: true,
        }
    });
    evict(store, going.collect(), now, &mut Retention::default())
}

/// Does what an eviction that was killed did not come to. Only a session whose digest says so, or
/// that has none, goes.
pub fn finish_earlier_eviction(store: &Store, retention: &mut Retention) -> Result<()> {
    if !Eviction::file(store).is_saved() {
        return Ok(());
    }
    commit::remove_leftovers(store).context(|| "cannot clear away what an eviction left".into())?;
    let going = Eviction::file(store).load();
    remove(store, marked(store, going), retention)
}

/// Removes the files of evicted sessions, and the note about them.
fn remove(store: &Store, going: Vec<Eviction>, retention: &mut Retention) -> Result<()> {
    let layout = store.layout();
    let cannot = || format!("cannot evict from the memory `{}`", layout.root().display());
    for (number, one) in going.iter().enumerate() {
        let snapshot = layout.snapshot(&one.session);
        let digest = store.digest(&one.session).ok().flatten();
        let shape = digest.map_or(SnapshotShape::Log, |digest| digest.content.shape());
        let goes = |name: &str| one.portion == Portion::All || layout::is_heavy(name, shape);
        move_aside(&snapshot, &layout.evicted().join(number.to_string()), goes).context(cannot)?;
        retention.add(one);
        if !one.digested {
            retention.data_loss.push(one.session.to_string());
        }
    }
    files::remove_folder(&layout.evicted()).context(cannot)?;
    settle(store, &going).context(cannot)?;
    Eviction::file(store).remove().context(cannot)
}

/// Lets the cursors know how much is left.
fn settle(store: &Store, going: &[Eviction]) -> io::Result<()> {
    let path = store.layout().cursors();
    let mut cursors = Cursors::load(&path);
    for one in going {
        if let Some(cursor) = cursors.session(&one.session).cloned() {
            let bytes = snapshots::bytes(&store.layout().snapshot(&one.session));
            cursors
                .remember_session(&one.session, SessionCursor { bytes, raw_since: None, ..cursor });
        }
    }
    cursors.save(&path)
}

/// Moves parts of a snapshot out of it, each by one rename, so that no part is ever there by half.
/// The manifest stays.
fn move_aside(snapshot: &Path, aside: &Path, goes: impl Fn(&str) -> bool) -> io::Result<()> {
    let Some(entries) = files::if_exists(files::read_dir(snapshot))? else { return Ok(()) };
    for entry in entries {
        let name = entry?.file_name();
        if name != layout::MANIFEST && goes(&name.to_string_lossy()) {
            files::create_private_dir(aside)?;
            files::rename(&snapshot.join(&name), &aside.join(&name))?;
        }
    }
    Ok(())
}
