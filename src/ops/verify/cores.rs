//! The cores: every eight closed sessions have one, and it lists all eight.

use std::collections::BTreeMap;
use std::io;

use rayon::prelude::*;

use super::{Findings, Step};
use crate::base::files;
use crate::model::digest::State;
use crate::model::ids::{CoreId, EIGHT, SessionId};
use crate::store::Store;
use crate::store::core;
use crate::store::tombstones::Tombstones;

/// Checks each core's page against its sessions, and the sessions for a core that is missing.
pub fn check(store: &Store, ids: &[SessionId]) -> io::Result<Findings> {
    let layout = store.layout();
    let mut findings = Findings::default();
    let tombstones = Tombstones::load(layout)?;
    let there = core::core_ids(&layout.cores());
    for id in &there {
        let path = layout.core(id);
        let text = files::read_to_string(&path)?;
        let amount = findings.amount(Step::Core);
        amount.files += 1;
        amount.bytes += text.len() as u64;
        amount.sessions += u64::from(EIGHT);
        for session in id.sessions().filter(|session| !tombstones.has_session(session)) {
            if !text.contains(&session.to_string()) {
                let reason = format!("does not list {session}");
                findings.gap(Step::Core, Some(&session), layout.shown(&path), reason);
            }
        }
    }
    for id in core::sphere_ids(&layout.cores()) {
        let path = layout.sphere(&id);
        let text = files::read_to_string(&path)?;
        let amount = findings.amount(Step::Core);
        amount.files += 1;
        amount.bytes += text.len() as u64;
        for core in
            id.cores().filter(|core| there.contains(core) && !text.contains(&core.to_string()))
        {
            findings.gap(Step::Core, None, layout.shown(&path), format!("does not list {core}"));
        }
    }
    let memory = layout.memory_page();
    if !there.is_empty() && !files::is_file(&memory) {
        let reason = "there are cores, but not the page that is made of them";
        findings.gap(Step::Core, None, layout.shown(&memory), reason);
    }
    for id in missing(store, ids, &there) {
        let path = layout.shown(&layout.core(&id));
        let reason = "its eight sessions are closed, but there is no such page";
        findings.gap(Step::Core, None, path, reason);
    }
    Ok(findings)
}

/// The cores that should be there and are not.
fn missing(store: &Store, ids: &[SessionId], there: &[CoreId]) -> Vec<CoreId> {
    let mut members: BTreeMap<CoreId, Vec<&SessionId>> = BTreeMap::new();
    for session in ids {
        members.entry(CoreId::of(session)).or_default().push(session);
    }
    let is_closed = |session: &&SessionId| {
        let digest = store.digest(session).ok().flatten();
        digest.is_some_and(|digest| digest.state == State::Closed)
    };
    let is_due = |(id, sessions): &(CoreId, Vec<&SessionId>)| {
        let is_full = sessions.len() == EIGHT as usize;
        is_full && !there.contains(id) && sessions.iter().all(is_closed)
    };
    members.into_par_iter().filter(is_due).map(|(id, _)| id).collect()
}
