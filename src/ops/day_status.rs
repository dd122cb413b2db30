//! What another tool noted of this memory's days, taken in from its database.
//!
//! It counts until our own summary covers a day: numbers are joined by taking the larger one, so
//! taking them in twice changes nothing.

use std::collections::BTreeMap;
use std::io;

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use crate::adapters::day_status;
use crate::base::clock::Timestamp;
use crate::base::files::{self, Stamp};
use crate::store::layout::Layout;
use crate::store::local::{self, StateFile};

/// What was taken in.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct TakenIn {
    /// How each database looked when it was read.
    databases: BTreeMap<String, Stamp>,
    days: BTreeMap<NaiveDate, Noted>,
}

/// What was noted of one day.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    pub messages_since_last_summary: u64,
    pub summaries: u64,
    pub is_final: bool,
}

impl TakenIn {
    fn file(layout: &Layout) -> StateFile<TakenIn> {
        StateFile::local(layout.day_status())
    }

    /// What was taken in so far.
    pub fn load(layout: &Layout) -> TakenIn {
        TakenIn::file(layout).load()
    }

    /// What was noted of a day.
    pub fn of(&self, day: NaiveDate) -> Option<Noted> {
        self.days.get(&day).copied()
    }
}

/// Takes in the databases that lie in a memory, each once as it is. One that cannot be read is
/// named in this device's log and tried again.
pub fn take_in(layout: &Layout, now: Timestamp) -> io::Result<()> {
    let databases = layout.day_status_databases();
    let mut databases = databases.iter().filter(|path| files::is_file(path)).peekable();
    if databases.peek().is_none() {
        return Ok(());
    }
    let file = TakenIn::file(layout);
    let mut taken = file.load();
    for path in databases {
        let name = layout.shown(path);
        let stamp = Stamp::of(&files::metadata(path)?);
        if taken.databases.get(&name) == Some(&stamp) {
            continue;
        }
        match day_status::read(path) {
            Ok(days) => {
                for status in days {
                    let noted = taken.days.entry(status.day).or_default();
                    noted.messages_since_last_summary =
                        noted.messages_since_last_summary.max(status.messages_since_last_summary);
                    noted.summaries = noted.summaries.max(status.summaries);
                    noted.is_final |= status.is_final;
                }
                taken.databases.insert(name, stamp);
            }
            Err(err) => local::note(layout, now, &format!("cannot read `{name}`: {err}")),
        }
    }
    file.save(&taken).map(drop)
}
