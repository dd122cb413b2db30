//! What was already injected into an agent's session, so that no line comes twice; and when it has
//! to come again.
//!
//! It is kept when the session ends: whoever resumes it has the lines in their context already.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::page::{Line, Section};
use crate::base::clock::{self, Timestamp};
use crate::base::files;
use crate::ops::turns::key;
use crate::store::Store;
use crate::store::local::StateFile;

/// How many lines are remembered of one session; the oldest are of no more use by then.
const MOST: usize = 4000;

/// The lines that one session of an agent has seen, by a short hash of each.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Injected {
    lines: BTreeSet<String>,
    /// When it was last given some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given: Option<String>,
    /// When its agent said that it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
}

impl Injected {
    /// What a session has seen. A note that is missing or damaged says: nothing.
    pub fn load(store: &Store, session: &str) -> Injected {
        file(store, session).load()
    }

    /// When its agent said that it ended.
    pub fn ended(&self) -> Option<Timestamp> {
        clock::parse(self.ended.as_deref()?)
    }

    /// When it was last given lines: what ended before then, it was given or was not worth it.
    pub fn last_given(&self) -> Option<Timestamp> {
        clock::parse(self.given.as_deref()?).filter(|_| !self.lines.is_empty())
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
    pub fn add(mut self, store: &Store, session: &str, now: Timestamp, sections: &[Section]) {
        if !sections.is_empty() {
            self.given = Some(clock::stamp(now));
        }
        let before = self.lines.len();
        let seen = || sections.iter().flat_map(|section| &section.lines).map(hash);
        self.lines.extend(seen());
        if self.lines.len() == before && sections.is_empty() {
            return;
        }
        if self.lines.len() > MOST {
            self.lines = seen().collect();
        }
        file(store, session).save_if_possible(&self);
    }

    /// Notes that a session has ended; what it has seen is kept for whoever resumes it.
    pub fn end(store: &Store, session: &str, now: Timestamp) {
        let file = file(store, session);
        file.save_if_possible(&Injected { ended: Some(clock::stamp(now)), ..file.load() });
    }

    /// Forgets what a session has seen: its agent has forgotten it too.
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
