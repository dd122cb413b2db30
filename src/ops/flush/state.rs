//! What was flushed, on this device: the hashes of contexts, and when knowledge was last compiled.
//!
//! It only saves asking a model again: the summaries themselves hold the same hashes.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use crate::base::clock::Timestamp;
use crate::store::layout::Layout;
use crate::store::local::StateFile;

/// How many hashes are remembered.
const MOST: usize = 2000;

/// What was flushed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct State {
    /// When each context was flushed, by its id.
    #[serde(default)]
    flushed: BTreeMap<String, Timestamp>,
    /// When knowledge was last compiled, and from which days.
    #[serde(default)]
    pub compiled: Option<Compiled>,
}

/// A compilation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compiled {
    pub at: Timestamp,
    /// The hash of all days' hashes.
    pub days: String,
}

impl State {
    /// Reads it; a damaged one is moved aside, named in the journal, and begun anew.
    pub fn load(layout: &Layout, now: Timestamp) -> io::Result<State> {
        State::file(layout).load_or_move_aside(layout, now)
    }

    /// Whether a context was flushed before.
    pub fn has(&self, id: &str) -> bool {
        self.flushed.contains_key(id)
    }

    /// Remembers a context.
    pub fn remember(&mut self, id: &str, now: Timestamp) {
        self.flushed.insert(id.to_string(), now);
        if self.flushed.len() > MOST
            && let Some(oldest) =
                self.flushed.iter().min_by_key(|(_, at)| **at).map(|(id, _)| id.clone())
        {
            self.flushed.remove(&oldest);
        }
    }

    /// Writes it.
    pub fn save(&self, layout: &Layout) -> io::Result<()> {
        State::file(layout).save(self).map(drop)
    }

    fn file(layout: &Layout) -> StateFile<State> {
        StateFile::local(layout.flush_state())
    }
}
