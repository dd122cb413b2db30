//! The days: every session worth remembering has its lines in them, and every line has its session.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::{Findings, Step};
use crate::base::clock::Timestamp;
use crate::model::ids::SessionId;
use crate::store::tombstones::Tombstones;
use crate::store::{Store, day};

/// The sessions that must have lines.
pub type Expected = BTreeMap<SessionId, ExpectedLines>;

/// What a digest says that the days must hold.
pub struct ExpectedLines {
    /// When the session began.
    pub began: Timestamp,
    /// How often a person asked something.
    pub turns: u64,
}

/// Counts the lines of each session.
pub fn check(store: &Store, ids: &[SessionId], expected: &Expected) -> io::Result<Findings> {
    let layout = store.layout();
    let counted = day::count(layout)?;
    let mut findings = Findings::default();
    let amount = findings.amount(Step::Day);
    (amount.files, amount.lines) = (counted.days, counted.lines);
    amount.sessions = counted.by_session.len() as u64;
    for (session, lines_of) in expected {
        let lines = counted.by_session.get(session).copied().unwrap_or_default();
        let day = layout.shown(&layout.day(lines_of.began.date_naive()));
        if lines.all == 0 {
            findings.gap(
                Step::Day,
                Some(session),
                day,
                format!("{session} has no line in any day"),
            );
        } else if lines.asked < lines_of.turns {
            let (asked, turns) = (lines.asked, lines_of.turns);
            let reason = format!(
                "the days tell {asked} prompts of {session}, but its digest counts {turns}"
            );
            findings.gap(Step::Day, Some(session), day, reason);
        }
    }
    let tombstones = Tombstones::load(layout)?;
    let there: BTreeSet<&SessionId> = ids.iter().collect();
    let mut gone: BTreeSet<SessionId> = given_and_gone(ids, &tombstones);
    gone.extend(
        counted
            .by_session
            .keys()
            .filter(|id| !there.contains(id) && !tombstones.has_session(id))
            .cloned(),
    );
    for session in gone {
        let path = layout.shown(&layout.session(&session));
        let reason = format!("is gone; if it is to be, `memtree forget {session}` says so");
        findings.gap(Step::Digest, Some(&session), path, reason);
    }
    Ok(findings)
}

/// The sessions whose numbers were given, since those after them are there, and who are neither
/// there nor forgotten.
fn given_and_gone(ids: &[SessionId], tombstones: &Tombstones) -> BTreeSet<SessionId> {
    let mut devices: BTreeMap<&crate::model::ids::Device, BTreeSet<u32>> = BTreeMap::new();
    for id in ids.iter().chain(tombstones.sessions()) {
        devices.entry(&id.device).or_default().insert(id.ordinal);
    }
    let mut gone = BTreeSet::new();
    for (device, ordinals) in devices {
        let last = ordinals.last().copied().unwrap_or_default();
        let missing = (0..last).filter(|ordinal| !ordinals.contains(ordinal));
        // A page that names an absurd number must not make as many gaps.
        gone.extend(missing.take(MOST_GONE).map(|ordinal| SessionId::new(device.clone(), ordinal)));
    }
    gone
}

/// So many lost sessions of a device are named.
const MOST_GONE: usize = 1_000;
