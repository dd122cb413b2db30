//! The tally: what is counted of each session, kept with how its files looked, so that to count
//! again costs a look at every session and the reading of those that changed.
//!
//! It is a cache: without it, or where it cannot be written, everything is read.

use std::collections::BTreeMap;
use std::path::Path;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::base::files::{self, Stamp};
use crate::error::{Context, Result};
use crate::index;
use crate::memory::Memory;
use crate::model::digest::{SnapshotShape, State};
use crate::model::ids::SessionId;
use crate::store::authored::OtherVersion;
use crate::store::layout::{self, Layout};
use crate::store::local::StateFile;
use crate::store::{Store, guards};

/// What the file holds: raise the number whenever the same pages are counted otherwise.
const SCHEMA: &str = concat!("memtree/tally/1 ", env!("CARGO_PKG_VERSION"));
/// How much of a session's vitals is read.
const LONGEST_VITALS: u64 = 1 << 20;

/// What is counted, session by session.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    schema: String,
    pub sessions: BTreeMap<SessionId, SessionTally>,
}

/// What is counted of one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionTally {
    looks: Looks,
    pub digest: DigestTally,
    /// What its snapshot says of its records, where it does.
    pub vitals: Option<Vitals>,
    /// Whether its digest has another version of a section in its notes.
    pub has_versions: bool,
}

/// What is counted of a digest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum DigestTally {
    Missing,
    /// It cannot be read, for this reason.
    Damaged(String),
    Read {
        state: State,
        flavor: String,
        episodes: u64,
        shape: SnapshotShape,
        bytes: u64,
    },
}

/// How the files of a session look.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Looks {
    digest: Look,
    vitals: Look,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Look {
    Missing,
    Plain(Stamp),
    /// A link, or what cannot be looked at: it may change unseen.
    Odd,
}

impl Memory {
    /// Counts all sessions, reading those that changed.
    pub(crate) fn tally(&self) -> Result<Tally> {
        let (store, layout) = (self.store(), self.layout());
        let ids = store.session_ids().context(|| "cannot list the sessions".into())?;
        let looks: Vec<Looks> =
            ids.par_iter().with_min_len(256).map(|id| Looks::of(layout, id)).collect();
        let file: StateFile<Tally> = StateFile::cache(layout.tally());
        let mut tally = file.read().filter(|kept| kept.schema == SCHEMA).unwrap_or_default();
        let kept = tally.sessions.len();
        tally.sessions.retain(|id, _| ids.binary_search(id).is_ok());
        let is_as_it_was = |id: &SessionId, looks: &Looks| {
            tally.sessions.get(id).is_some_and(|kept| kept.looks.still(looks))
        };
        let changed: Vec<&SessionId> = ids
            .iter()
            .zip(&looks)
            .filter(|(id, looks)| !is_as_it_was(id, looks))
            .map(|(id, _)| id)
            .collect();
        if changed.is_empty() && tally.sessions.len() == kept && file.is_saved() {
            return Ok(tally);
        }
        // Its stamp is the file system's own idea of now.
        let clock = layout.tally_clock();
        let now = || files::write_plain(&clock, b"").and_then(|()| files::metadata(&clock)).ok();
        let before = guards::has_own(layout).then(now).flatten();
        let before = before.map(|metadata| Stamp::of(&metadata));
        let read: Vec<(SessionId, SessionTally)> = changed
            .into_par_iter()
            .map(|id| (id.clone(), SessionTally::read(store, id, before)))
            .collect();
        tally.sessions.extend(read);
        tally.schema = SCHEMA.to_string();
        if before.is_some() {
            file.save_if_possible(&tally);
        }
        Ok(tally)
    }
}

impl SessionTally {
    /// Reads a session, and remembers how it looked before that. `before` was written earlier.
    fn read(store: &Store, id: &SessionId, before: Option<Stamp>) -> SessionTally {
        let layout = store.layout();
        let mut looks = Looks::of(layout, id);
        let path = layout.digest(id);
        let digest = match store.digest(id) {
            Ok(None) => DigestTally::Missing,
            Ok(Some(digest)) => DigestTally::Read {
                state: digest.state,
                episodes: digest
                    .content
                    .episodes
                    .map_or(0, |(first, last)| u64::from(last.0 - first.0 + 1)),
                shape: digest.content.shape(),
                flavor: digest.content.flavor,
                bytes: files::metadata(&path).map_or(0, |metadata| metadata.len()),
            },
            Err(err) => {
                // It may have been the disk, and not the page.
                looks.digest = Look::Odd;
                let causes = err.causes().join(": ");
                DigestTally::Damaged(format!("{}: {causes}", layout.shown(&path)))
            }
        };
        let mark = OtherVersion::MARK.as_bytes();
        let has_versions =
            files::read(&path).is_ok_and(|bytes| memchr::memmem::find(&bytes, mark).is_some());
        let vitals = files::read_at_most(Looks::vitals(layout, id), LONGEST_VITALS).ok();
        if vitals.is_none() && looks.vitals != Look::Missing {
            looks.vitals = Look::Odd;
        }
        let vitals = vitals.map(|bytes| Vitals::of(&String::from_utf8_lossy(&bytes)));
        let looks =
            Looks { digest: looks.digest.settled(before), vitals: looks.vitals.settled(before) };
        SessionTally { looks, digest, vitals, has_versions }
    }
}

impl Looks {
    fn of(layout: &Layout, id: &SessionId) -> Looks {
        Looks { digest: Look::at(&layout.digest(id)), vitals: Look::at(&Looks::vitals(layout, id)) }
    }

    fn vitals(layout: &Layout, id: &SessionId) -> std::path::PathBuf {
        layout.snapshot(id).join(layout::VITALS)
    }

    fn still(&self, now: &Looks) -> bool {
        self == now && ![now.digest, now.vitals].contains(&Look::Odd)
    }
}

impl Look {
    fn at(path: &Path) -> Look {
        match files::if_exists(files::symlink_metadata(path)) {
            Ok(None) => Look::Missing,
            Ok(Some(metadata)) if metadata.is_file() => Look::Plain(Stamp::of(&metadata)),
            _ => Look::Odd,
        }
    }

    /// What is remembered of it: a file that changed just now may change again unseen.
    fn settled(self, before: Option<Stamp>) -> Look {
        match (self, before) {
            (Look::Plain(stamp), Some(before)) => Look::Plain(index::settled(stamp, before)),
            (Look::Plain(_), None) => Look::Odd,
            (look, _) => look,
        }
    }
}

/// As much of a session's vitals as counts its records.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vitals {
    pub flavor: String,
    pub version: String,
    pub records: u64,
    /// The kinds of records that were not read, and how many there were.
    pub ignored: Vec<(String, u64)>,
}

impl Vitals {
    /// Reads the page as lines: it may come from anywhere.
    pub(crate) fn of(page: &str) -> Vitals {
        let mut vitals = Vitals::default();
        let mut in_ignored = false;
        for line in page.lines() {
            let Some((key, value)) = line.rsplit_once(": ") else {
                in_ignored = line == "ignored:";
                continue;
            };
            let plain = |text: &str| text.trim().trim_matches(['\'', '"']).to_string();
            if let Some(kind) = key.strip_prefix("  ").filter(|_| in_ignored) {
                vitals.ignored.extend(value.parse().ok().map(|count| (plain(kind), count)));
                continue;
            }
            in_ignored = false;
            match key {
                "records" => vitals.records = value.parse().unwrap_or(0),
                "agent_version" if value != "null" => vitals.version = plain(value),
                _ => {}
            }
            if let Some(id) = line.strip_prefix("source_id: ") {
                vitals.flavor = plain(id).split(':').next().unwrap_or_default().to_string();
            }
        }
        vitals
    }
}
