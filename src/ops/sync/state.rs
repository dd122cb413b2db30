//! What this device remembers of its syncs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::store::layout::Layout;
use crate::store::local::StateFile;

/// How far this device and its remotes were the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncState {
    /// The commit that was here after the last sync.
    pub synced: Option<String>,
    /// The commit that each branch of a remote was last seen at, by git's name for it. One that
    /// does not lead to the next was taken away there.
    pub seen: BTreeMap<String, String>,
    /// Whether episodes travel from here, where the person was asked.
    pub episodes: Option<bool>,
    /// The rules of redaction with which they were last looked through.
    pub episodes_rules: String,
    /// Whether git has all that were here at the last sync: then only sessions that have changed
    /// since have new ones.
    pub has_episodes: bool,
    /// Where raw may go from here, as the person said: the hashes of the remotes' addresses.
    pub raw_to: BTreeSet<String>,
    /// Whether git has the raw that was here at the last sync.
    pub has_raw: bool,
}

impl SyncState {
    /// Where it is kept.
    pub fn file(layout: &Layout) -> StateFile<SyncState> {
        StateFile::local(layout.sync_state())
    }
}
