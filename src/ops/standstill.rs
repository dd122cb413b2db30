//! Standstill: how the sources and the tree looked when a sweep had left nothing to do.
//!
//! One hash over the stamps of all files and all digests tells the next sweep that it has nothing
//! to do either, without asking the cursors about each file. It is only a short cut: where the hash
//! differs, or is not there, the long way gives the same answer.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::clock::Timestamp;
use crate::base::files::{self, HashingWriter, Stamp};
use crate::model::ids::SessionId;
use crate::ops::cursors;
use crate::ops::retain::plan::Limits;
use crate::ops::sweep::Sweep;
use crate::store::tombstones::Tombstones;

/// What there is to say of a memory in which nothing has changed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Standstill {
    /// As [`hash`] makes it.
    pub hash: String,
    /// How many sessions the sources hold.
    pub discovered: usize,
    /// How much room all snapshots take.
    pub bytes: u64,
    /// When the first open session will be over.
    pub due: Option<Timestamp>,
}

impl Standstill {
    /// Reads it; a missing or damaged file is none.
    pub fn load(path: &Path) -> Option<Standstill> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    /// Writes it.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        files::write_if_changed(path, &serde_json::to_vec(self)?).map(drop)
    }

    /// Whether it still is so.
    pub fn holds(&self, hash: &str, now: Timestamp) -> bool {
        self.hash == hash && self.due.is_none_or(|due| due > now)
    }
}

/// The hash of what is asked for, of the sources' files, of the tree's digests and of what was made
/// from them.
pub fn hash(
    sweep: &Sweep<'_>,
    files: &[(PathBuf, Stamp)],
    digests: &[(SessionId, Stamp)],
    cores: Option<String>,
    tombstones: &Tombstones,
    days: &[(String, Stamp)],
) -> String {
    let mut hasher = io::BufWriter::new(HashingWriter::new(io::sink()));
    let mut add = |bytes: &[u8]| {
        // With its length, so that two lists never run together into the same bytes.
        let length = (bytes.len() as u64).to_le_bytes();
        hasher
            .write_all(&length)
            .and_then(|()| hasher.write_all(bytes))
            .expect("a hash takes everything");
    };
    add(cursors::VERSION.as_bytes());
    add(sweep.device.as_str().as_bytes());
    add(sweep.pages.exclude.key().as_bytes());
    let Limits { soft_cap, hard_cap, max_age, distilled_cap: _ } = sweep.limits;
    for limit in [soft_cap, hard_cap, max_age.map_or(0, |age| age.num_seconds() as u64)] {
        add(&limit.to_le_bytes());
    }
    for list in [&sweep.only, &sweep.except] {
        add(list.join(" ").as_bytes());
    }
    for root in &sweep.roots {
        add(root.path.as_os_str().as_encoded_bytes());
        add(root.glob.as_ref().map_or("", |glob| glob.as_str()).as_bytes());
    }
    add(b"without these:");
    tombstones.lines().iter().for_each(|line| add(line.as_bytes()));
    let numbers = |stamp: &Stamp| {
        let Stamp { size, mtime_ns, inode, ctime_ns } = *stamp;
        [size, mtime_ns as u64, inode, ctime_ns as u64].map(u64::to_le_bytes)
    };
    add(b"these files:");
    let days = days.iter().map(|(name, stamp)| (name.as_bytes(), stamp));
    let files = files.iter().map(|(path, stamp)| (path.as_os_str().as_encoded_bytes(), stamp));
    for (name, stamp) in files.chain(days) {
        add(name);
        add(numbers(stamp).as_flattened());
    }
    add(b"these digests:");
    for (session, stamp) in digests {
        add(session.device.as_str().as_bytes());
        add(&session.ordinal.to_le_bytes());
        add(numbers(stamp).as_flattened());
    }
    add(cores.unwrap_or_default().as_bytes());
    let hasher =
        hasher.into_inner().map_err(|err| err.into_error()).expect("a hash takes everything");
    hasher.finish().1.sha256
}
