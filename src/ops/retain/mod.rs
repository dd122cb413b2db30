//! The storage budget: what is kept in full, and what only in words.
//!
//! [`plan`] decides, and this carries it out. The order is such that a kill at any point loses
//! nothing in silence: a note of what goes, then the digests that say so, durably, and only then
//! the files. Whatever a kill left is finished by the next sweep. The manifest always stays, so
//! that what was captured can be proved, and a source that has not changed since is not captured
//! again.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

use chrono::Duration;
use serde::{Deserialize, Serialize};

use crate::base::clock::{self, Timestamp};
use crate::base::files::{self, Batch};
use crate::base::front_matter::Document;
use crate::base::zone::Zone;
use crate::error::{Context, Result};
use crate::model::digest::State;
use crate::model::ids::{Device, SessionId};
use crate::ops::capture::Pages;
use crate::ops::cursors::{Cursors, SessionCursor};
use crate::ops::folders::Status;
use crate::ops::sweep::{self, Sweep};
use crate::ops::{commit, snapshot};
use crate::store::local::StateFile;
use crate::store::{Store, documents, layout, snapshots};

mod digest_now;
mod event_logs;
pub mod plan;

pub use digest_now::digest_now;
pub use event_logs::EventLogs;

use plan::{Fate, Held, Kept, Limits, Pass, Portion};

/// What to keep within which limits.
pub struct Request<'a> {
    pub limits: Limits,
    pub device: Device,
    pub now: Timestamp,
    pub zone: Zone,
    /// How the digest of a session is written that has none.
    pub pages: &'a Pages,
    /// Event logs that nobody wrote to for so long go.
    pub event_log_age: Option<Duration>,
}

impl<'a> Request<'a> {
    /// What a sweep would keep.
    pub fn of(sweep: &'a Sweep<'_>) -> Request<'a> {
        let (limits, device, pages) = (sweep.limits, sweep.device.clone(), &sweep.pages);
        Request { limits, device, now: sweep.now, zone: sweep.zone, pages, event_log_age: None }
    }
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
    pub event_logs: Option<EventLogs>,
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

/// Applies the storage budget to a memory.
pub fn retain(store: &Store, request: &Request<'_>) -> Result<(Retention, Vec<Decision>)> {
    let layout = store.layout();
    let cannot = || format!("cannot write to the memory `{}`", layout.root().display());
    store.refuse_links(None)?;
    let _lock = files::lock_exclusive(&layout.sweep_lock()).context(cannot)?;
    commit::finish_earlier_sweep(store, request.zone)?;
    let mut report = Retention::default();
    finish_earlier_eviction(store, &mut report)?;
    let decisions = keep_within(store, request, &HashSet::new(), &mut report)?;
    report.event_logs = event_logs::remove_old(store, request, false)?;
    if report.evicted.count() + report.digested_now.len() > 0 {
        crate::index::refresh(store)?;
    }
    Ok((report, decisions))
}

/// The sweep's last step: looks closer only where the budget may be exceeded. `loose_bytes` is what
/// has no digest.
pub fn after_sweep(
    store: &Store,
    sweep: &Sweep<'_>,
    cursors: &Cursors,
    loose_bytes: u64,
    report: &mut sweep::Report,
) -> Result<()> {
    let limits = sweep.limits;
    let retention = &mut report.retention;
    retention.in_use_bytes = cursors.bytes() + loose_bytes;
    let too_old = |since: Timestamp| limits.max_age.is_some_and(|age| sweep.now - since > age);
    if retention.in_use_bytes > limits.soft_cap.min(limits.hard_cap)
        || cursors.raw_since().any(too_old)
    {
        let of_folders = report.folders.iter().filter(|looked| looked.status == Status::Kept);
        let of_folders = of_folders.filter_map(|looked| looked.session.clone());
        let fresh =
            report.sessions.iter().map(|swept| swept.session.clone()).chain(of_folders).collect();
        keep_within(store, &Request::of(sweep), &fresh, retention)?;
    } else if report.digested > 0 {
        alert(store, &limits, retention);
    }
    Ok(())
}

/// When the next raw will be too old.
pub fn next_due(cursors: &Cursors, sweep: &Sweep<'_>) -> Option<Timestamp> {
    let age = sweep.limits.max_age?;
    // What is too old by now is held by something else than the time.
    cursors
        .raw_since()
        .filter_map(|since| since.checked_add_signed(age))
        .filter(|due| *due > sweep.now)
        .min()
}

/// Says what [`retain`] would do, and does nothing.
pub fn rehearse(store: &Store, request: &Request<'_>) -> Result<(Retention, Vec<Decision>)> {
    let kept = look(store, request, &HashSet::new())?;
    let plan = plan::plan(&kept, &request.limits, request.now);
    let in_use: u64 = kept.iter().map(|one| one.heavy + one.light).sum();
    let mut report = Retention {
        freed_bytes: in_use - plan.in_use,
        in_use_bytes: plan.in_use,
        ..Retention::default()
    };
    for (one, fate) in kept.iter().zip(&plan.fates) {
        if let Fate::Evict(pass, _) = fate {
            report.evicted.list(*pass).push(one.session.to_string());
        }
    }
    alert(store, &request.limits, &mut report);
    report.event_logs = event_logs::remove_old(store, request, true)?;
    Ok((report, decisions(&kept, &plan.fates)))
}

/// Plans and evicts, for whoever holds the sweep's lock. `fresh` is what was captured just now.
pub fn keep_within(
    store: &Store,
    request: &Request<'_>,
    fresh: &HashSet<SessionId>,
    report: &mut Retention,
) -> Result<Vec<Decision>> {
    let mut kept = look(store, request, fresh)?;
    let mut planned = plan::plan(&kept, &request.limits, request.now);
    let overflowing = |fate: &Fate| matches!(fate, Fate::Evict(Pass::Overflow, _));
    if planned.fates.iter().any(overflowing) {
        // Whatever can still get a digest gets it now, and may then go as any other.
        for (one, fate) in kept.iter_mut().zip(&planned.fates) {
            if overflowing(fate) && digest_now(store, request, &one.session)? {
                one.digested = true;
                report.digested_now.push(one.session.to_string());
            }
        }
        planned = plan::plan(&kept, &request.limits, request.now);
    }
    let going: Vec<Going> =
        kept.iter().zip(&planned.fates).filter_map(|(one, fate)| Going::new(one, fate)).collect();
    evict(store, going, request.now, report)?;
    report.in_use_bytes = planned.in_use;
    alert(store, &request.limits, report);
    Ok(decisions(&kept, &planned.fates))
}

/// Looks at every session of the memory.
fn look(store: &Store, request: &Request<'_>, fresh: &HashSet<SessionId>) -> Result<Vec<Kept>> {
    let ids = store.session_ids().context(|| "cannot list the sessions".into())?;
    Ok(ids.into_iter().filter_map(|id| look_at(store, request, fresh, id)).collect())
}

fn look_at(
    store: &Store,
    request: &Request<'_>,
    fresh: &HashSet<SessionId>,
    session: SessionId,
) -> Option<Kept> {
    let path = store.layout().snapshot(&session);
    let text = fs::read_to_string(store.layout().digest(&session)).ok();
    let digest = text.as_deref().and_then(|text| documents::parse_digest(text).ok());
    if digest.is_none() && !path.exists() {
        return None;
    }
    let is_folder = digest.as_ref().is_some_and(|digest| digest.content.flavor == snapshot::FLAVOR);
    let measured = snapshots::measure(&path, is_folder);
    let held = if session.device != request.device {
        Some(Held::Elsewhere)
    } else if text.as_deref().is_some_and(documents::is_pinned) {
        Some(Held::Pinned)
    } else if fresh.contains(&session) {
        Some(Held::Fresh)
    } else if digest.as_ref().is_some_and(|digest| digest.state == State::Open) {
        Some(Held::Open)
    } else {
        None
    };
    // What lies here of other devices is theirs to count.
    let measured =
        if held == Some(Held::Elsewhere) { snapshots::Measured::default() } else { measured };
    Some(Kept {
        captured: digest.as_ref().map(|digest| digest.captured).unwrap_or_default(),
        heavy: measured.heavy,
        light: measured.light,
        digested: digest.is_some(),
        held,
        session,
    })
}

fn decisions(kept: &[Kept], fates: &[Fate]) -> Vec<Decision> {
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

/// Says which caps could not be kept.
fn alert(store: &Store, limits: &Limits, report: &mut Retention) {
    if report.in_use_bytes > limits.hard_cap {
        let (in_use, cap) = (report.in_use_bytes, limits.hard_cap);
        report.alerts.push(format!(
            "snapshots take {in_use} bytes, more than `retention.hard_cap` ({cap}); what is left is pinned, open or new"
        ));
    }
    let distilled = store.distilled_bytes();
    if distilled > limits.distilled_cap {
        let cap = limits.distilled_cap;
        report.alerts.push(format!("digests, days and what is made of them take {distilled} bytes, more than `retention.distilled_cap` ({cap}); nothing of it is ever dropped"));
    }
}

/// A session that is being evicted.
#[derive(Debug, Serialize, Deserialize)]
struct Going {
    session: SessionId,
    pass: Pass,
    portion: Portion,
    bytes: u64,
    digested: bool,
}

impl Going {
    fn file(store: &Store) -> StateFile<Vec<Going>> {
        StateFile::local(store.layout().evicting())
    }

    fn new(one: &Kept, fate: &Fate) -> Option<Going> {
        let Fate::Evict(pass, portion) = *fate else { return None };
        let bytes = one.heavy + if portion == Portion::All { one.light } else { 0 };
        Some(Going { session: one.session.clone(), pass, portion, bytes, digested: one.digested })
    }
}

/// Evicts: the note, the digests, the files.
fn evict(store: &Store, going: Vec<Going>, now: Timestamp, report: &mut Retention) -> Result<()> {
    if going.is_empty() {
        return Ok(());
    }
    let layout = store.layout();
    let cannot = || format!("cannot evict from the memory `{}`", layout.root().display());
    // What the short cut of the next sweep knows is no longer so.
    files::remove_file(&layout.standstill()).context(cannot)?;
    Going::file(store).save(&going).context(cannot)?;
    let day = now.date_naive().to_string();
    let mut digests = Batch::new();
    for one in going.iter().filter(|one| one.digested) {
        store.refuse_links(Some(&one.session))?;
        let path = layout.digest(&one.session);
        let text = fs::read_to_string(&path).context(cannot)?;
        digests.write(&path, documents::evicted(&text, &day).as_bytes()).context(cannot)?;
    }
    digests.commit().context(cannot)?;
    remove(store, going, report)
}

/// Evicts all that was captured of some sessions, whatever the budget: for a text in them that is
/// to be forgotten.
pub fn evict_all(store: &Store, sessions: &[SessionId], now: Timestamp) -> Result<()> {
    let going = sessions.iter().map(|session| {
        let bytes = snapshots::measure(&store.layout().snapshot(session), true).all();
        Going {
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
pub fn finish_earlier_eviction(store: &Store, report: &mut Retention) -> Result<()> {
    if !Going::file(store).exists() {
        return Ok(());
    }
    commit::remove_leftovers(store).context(|| "cannot clear away what an eviction left".into())?;
    let mut going = Going::file(store).load();
    going.retain(|one| match store.digest(&one.session) {
        Ok(Some(digest)) => digest.snapshot.evicted.is_some(),
        _ => !one.digested,
    });
    remove(store, going, report)
}

/// Removes the files of evicted sessions, and the note about them.
fn remove(store: &Store, going: Vec<Going>, report: &mut Retention) -> Result<()> {
    let layout = store.layout();
    let cannot = || format!("cannot evict from the memory `{}`", layout.root().display());
    for (number, one) in going.iter().enumerate() {
        let snapshot = layout.snapshot(&one.session);
        let digest = store.digest(&one.session).ok().flatten();
        let is_folder = digest.is_some_and(|digest| digest.content.flavor == snapshot::FLAVOR);
        let goes = |name: &str| one.portion == Portion::All || layout::is_heavy(name, is_folder);
        move_aside(&snapshot, &layout.evicted().join(number.to_string()), goes).context(cannot)?;
        report.freed_bytes += one.bytes;
        report.evicted.list(one.pass).push(one.session.to_string());
        if !one.digested {
            report.data_loss.push(one.session.to_string());
        }
    }
    files::remove_folder(&layout.evicted()).context(cannot)?;
    settle(store, &going).context(cannot)?;
    Going::file(store).remove().context(cannot)
}

/// Lets the cursors know how much is left.
fn settle(store: &Store, going: &[Going]) -> io::Result<()> {
    let path = store.layout().cursors();
    let mut cursors = Cursors::load(&path);
    for one in going {
        if let Some(cursor) = cursors.session(&one.session).cloned() {
            let bytes = snapshots::measure(&store.layout().snapshot(&one.session), false).all();
            cursors
                .remember_session(&one.session, SessionCursor { bytes, raw_since: None, ..cursor });
        }
    }
    cursors.save(&path)
}

/// Moves parts of a snapshot out of it, each by one rename, so that no part is ever there by half.
/// The manifest stays.
fn move_aside(snapshot: &Path, aside: &Path, goes: impl Fn(&str) -> bool) -> io::Result<()> {
    let entries = match fs::read_dir(snapshot) {
        Ok(entries) => entries,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(err) => return Err(err),
    };
    for entry in entries {
        let name = entry?.file_name();
        if name != layout::MANIFEST && goes(&name.to_string_lossy()) {
            files::create_private_dir(aside)?;
            files::rename(&snapshot.join(&name), &aside.join(&name))?;
        }
    }
    Ok(())
}

/// Keeps a session from eviction, or no longer; returns whether that changed anything.
pub fn pin(store: &Store, session: &SessionId, pinned: bool) -> Result<bool> {
    let layout = store.layout();
    let path = layout.digest(session);
    let cannot = || format!("cannot pin `{session}`");
    store.refuse_links(Some(session))?;
    let _lock = files::lock_exclusive(&layout.sweep_lock()).context(cannot)?;
    let text = fs::read_to_string(&path).context(cannot)?;
    let mut document = Document::parse(&text);
    match pinned {
        _ if documents::is_pinned(&text) == pinned => return Ok(false),
        true => document.set_raw(documents::PINNED, "true"),
        false => document.remove(documents::PINNED),
    };
    // What may go by now is for the next sweep to find out.
    files::remove_file(&layout.standstill()).context(cannot)?;
    files::write_if_changed(&path, document.to_text().as_bytes()).context(cannot)
}
