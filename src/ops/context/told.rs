//! What an agent's session was already told, so that no line comes twice; and when it has to be
//! told again.

use std::collections::BTreeSet;
use std::fs;

use serde::{Deserialize, Serialize};

use crate::base::files;
use crate::store::Store;

use super::page::{Line, Section};
use crate::ops::turns::key;

/// How many lines are remembered of one session; the oldest are of no more use by then.
const MOST: usize = 4000;

/// The lines that one session of an agent has seen, by a short hash of each.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Told {
    lines: BTreeSet<String>,
}

impl Told {
    /// What a session was told. A note that is missing or damaged says: nothing.
    pub fn load(store: &Store, session: &str) -> Told {
        let path = store.layout().told(&key(session));
        fs::read(path)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }

    /// Leaves out of the sections what the session has seen.
    pub fn filter(&self, sections: &mut Vec<Section>) {
        for section in sections.iter_mut() {
            section.lines.retain(|line| !self.lines.contains(&hash(line)));
        }
        sections.retain(|section| !section.lines.is_empty());
    }

    /// Notes what the session sees now. This is a convenience: where it cannot be written, a line
    /// may come twice.
    pub fn add(mut self, store: &Store, session: &str, sections: &[Section]) {
        let before = self.lines.len();
        self.lines.extend(sections.iter().flat_map(|section| &section.lines).map(hash));
        if self.lines.len() == before {
            return;
        }
        if self.lines.len() > MOST {
            self = Told {
                lines: sections.iter().flat_map(|section| &section.lines).map(hash).collect(),
            };
        }
        if let Ok(bytes) = serde_json::to_vec(&self) {
            let _ = files::write_unsynced(&store.layout().told(&key(session)), &bytes);
        }
    }

    /// Forgets what a session was told: its agent has forgotten it too, or it has ended.
    pub fn forget(store: &Store, session: &str) {
        let _ = files::remove_file(&store.layout().told(&key(session)));
    }
}

fn hash(line: &Line) -> String {
    files::sha256_hex(line.shown().as_bytes())[..12].to_string()
}
