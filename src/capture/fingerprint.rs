//! The sweep's fingerprint: how the sources and the tree looked when a sweep had left nothing to
//! do.
//!
//! One hash over the stamps of all files and all digests shows the next sweep that it has nothing
//! to do either, without asking the cursors about each file. It is only a short cut: where the hash
//! differs, or is not there, the long way gives the same answer.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Sink, Write};

use serde::{Deserialize, Serialize};

use super::CaptureSettings;
use super::cursors;
use super::sources::{Selection, Walk};
use crate::base::clock::Timestamp;
use crate::base::files::{HashingWriter, Stamp};
use crate::model::ids::SessionId;
use crate::store::layout::Layout;
use crate::store::local::StateFile;
use crate::store::tombstones::Tombstones;

/// What there is to say of a memory in which nothing has changed.
#[derive(Debug, Serialize, Deserialize)]
pub struct SweepFingerprint {
    /// As [`of_memory`] makes it.
    pub hash: String,
    /// How many sessions the sources hold, and of which agents.
    pub discovered: usize,
    pub by_flavor: BTreeMap<String, usize>,
    /// How many sessions the settings leave out.
    pub excluded: usize,
    /// How many are held back until the person decides.
    #[serde(default)]
    pub held_back: usize,
    /// How many sessions are left to other devices.
    #[serde(default)]
    pub left_to_others: usize,
    /// How much all snapshots take.
    pub in_use_bytes: u64,
    /// When the first open session will be over, or the first raw too old.
    pub due: Option<Timestamp>,
}

impl SweepFingerprint {
    /// Where it is kept.
    pub fn file(layout: &Layout) -> StateFile<SweepFingerprint> {
        StateFile::cache(layout.sweep_fingerprint())
    }

    /// Whether everything still is so.
    pub fn matches(&self, hash: &str, now: Timestamp) -> bool {
        self.hash == hash && self.due.is_none_or(|due| due > now)
    }
}

/// The hash of what is asked for and of the sources' files.
pub fn of_sources(
    settings: &CaptureSettings<'_>,
    selection: &Selection,
    limits: [u64; 3],
    walk: &Walk,
) -> String {
    let mut hash = Hash::new();
    hash.add(cursors::VERSION.as_bytes());
    hash.add(settings.device.as_str().as_bytes());
    hash.add(settings.pages.exclude.key().as_bytes());
    hash.add(settings.pages.held_key().as_bytes());
    limits.iter().for_each(|limit| hash.add(&limit.to_le_bytes()));
    for list in [&selection.only, &selection.except] {
        hash.add(list.join(" ").as_bytes());
    }
    for root in &selection.roots {
        hash.add(root.path.as_os_str().as_encoded_bytes());
        hash.add(root.glob.as_ref().map_or("", |glob| glob.as_str()).as_bytes());
    }
    hash.add(b"these files:");
    for (path, stamp) in &walk.files {
        hash.add_file(path.as_os_str().as_encoded_bytes(), stamp);
    }
    hash.finish()
}

/// The hash of the sources, of the tree's digests and of what was made from them.
pub fn of_memory(
    sources: &str,
    digests: &[(SessionId, Stamp)],
    cores: Option<String>,
    tombstones: &Tombstones,
    days: &[(String, Stamp)],
) -> String {
    let mut hash = Hash::new();
    hash.add(sources.as_bytes());
    tombstones.lines().iter().for_each(|line| hash.add(line.as_bytes()));
    hash.add(b"these days:");
    days.iter().for_each(|(name, stamp)| hash.add_file(name.as_bytes(), stamp));
    hash.add(b"these digests:");
    for (session, stamp) in digests {
        hash.add(&session.ordinal.to_le_bytes());
        hash.add_file(session.device.as_str().as_bytes(), stamp);
    }
    hash.add(cores.unwrap_or_default().as_bytes());
    hash.finish()
}

/// A hash that grows part by part.
struct Hash(BufWriter<HashingWriter<Sink>>);

impl Hash {
    fn new() -> Hash {
        Hash(BufWriter::new(HashingWriter::new(io::sink())))
    }

    fn add(&mut self, bytes: &[u8]) {
        // With its length, so that two lists never run together into the same bytes.
        let length = (bytes.len() as u64).to_le_bytes();
        let added = self.0.write_all(&length).and_then(|()| self.0.write_all(bytes));
        added.expect("a hash takes everything");
    }

    fn add_file(&mut self, name: &[u8], stamp: &Stamp) {
        let Stamp { size, mtime_ns, inode, ctime_ns } = *stamp;
        self.add(name);
        let numbers = [size, mtime_ns as u64, inode, ctime_ns as u64].map(u64::to_le_bytes);
        self.add(numbers.as_flattened());
    }

    fn finish(self) -> String {
        let hasher = self.0.into_inner().map_err(|err| err.into_error());
        hasher.expect("a hash takes everything").finish().1.sha256
    }
}
