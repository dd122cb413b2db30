//! What was already injected into an agent's session, so that no line comes twice; and when it has
//! to come again.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::base::files;
use crate::store::Store;
use crate::store::local::StateFile;

use super::page::{Line, Section};
use crate::ops::turns::key;

/// How many lines are remembered of one session; the oldest are of no more use by then.
const MOST: usize = 4000;

/// The lines that one session of an agent has seen, by a short hash of each.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Injected {
    lines: BTreeSet<String>,
}

impl Injected {
    /// What a session has seen. A note that is missing or damaged says: nothing.
    pub fn load(store: &Store, session: &str) -> Injected {
        file(store, session).load()
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
            self = Injected {
                lines: sections.iter().flat_map(|section| &section.lines).map(hash).collect(),
            };
        }
        file(store, session).save_if_possible(&self);
    }

    /// Forgets what a session has seen: its agent has forgotten it too, or it has ended.
    pub fn forget(store: &Store, session: &str) {
        let _ = file(store, session).remove();
    }
}

fn file(store: &Store, session: &str) -> StateFile<Injected> {
    StateFile::local(store.layout().injected(&key(session)))
}

fn hash(line: &Line) -> String {
    files::sha256_hex(line.shown().as_bytes())[..12].to_string()
}
