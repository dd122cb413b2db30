//! The devices of a memory: which ones have pages here, which of them are new, and whether another
//! one has this device's name.

use std::collections::BTreeSet;

use crate::memory::Memory;
use crate::model::ids::{Device, SessionId};
use crate::model::trust::Standing;

/// Whose pages are here.
pub struct Met {
    /// All devices but this one.
    pub seen: BTreeSet<Device>,
    /// Those that nobody trusts.
    pub foreign: Vec<Device>,
    /// Those of them that were not here before.
    pub new: Vec<Device>,
    /// The sessions in this device's name that it did not capture.
    pub namesakes: Vec<SessionId>,
    /// The device from which this folder was copied, where the person does not know yet.
    pub copied_from: Option<Device>,
}

/// Looks at the sessions of a memory.
pub fn meet<'i>(memory: &Memory, sessions: impl Iterator<Item = &'i SessionId>) -> Met {
    let (trust, before) = (memory.trust(), memory.acquaintance());
    let (mut seen, mut namesakes) = (BTreeSet::new(), Vec::new());
    for session in sessions {
        match (trust.of(&session.device), trust.of_session(session)) {
            (_, Standing::Own) | (Standing::Own, Standing::Trusted) => {}
            (Standing::Own, Standing::Foreign) => namesakes.push(session.clone()),
            _ if seen.contains(&session.device) => {}
            _ => drop(seen.insert(session.device.clone())),
        }
    }
    let is_foreign = |device: &&Device| trust.of(device) == Standing::Foreign;
    let foreign: Vec<Device> = seen.iter().filter(is_foreign).cloned().collect();
    let new = foreign.iter().filter(|device| !before.seen.contains(device)).cloned().collect();
    let copied_from = memory.recognized().identity.copied_from.clone();
    let copied_from = copied_from.filter(|_| !before.told_of_copy);
    Met { seen, foreign, new, namesakes, copied_from }
}

/// The command by which a device is trusted.
pub fn command(device: &Device) -> String {
    format!("memtree config trust {device}")
}
