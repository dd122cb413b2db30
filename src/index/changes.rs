//! Changes: the tree against the cache. Which digests are new, which look different, which are
//! gone.
//!
//! Only what the file system says of a file is compared, so an unchanged memory costs one look at
//! each digest and no reading.

use std::cmp::Ordering;
use std::io;
use std::path::Path;

use crate::base::files::{self, Stamp};

/// How close to a look a file's last change may lie for the look not to count, in nanoseconds. File
/// systems count time in steps of up to 10 ms, so a second change in the same step would leave no
/// trace.
const UNSETTLED_NS: i64 = 20_000_000;

/// A file by its name, and how it looked.
pub type StampedFile = (String, Stamp);

/// What differs between the tree and the cache, by name.
#[derive(Debug, Default, PartialEq)]
pub struct Changes<'a> {
    pub added: Vec<&'a str>,
    pub modified: Vec<&'a str>,
    pub removed: Vec<&'a str>,
}

impl<'a> Changes<'a> {
    /// Compares two lists that are sorted by name.
    pub fn between(known: &[(&'a str, Stamp)], found: &'a [StampedFile]) -> Changes<'a> {
        let mut changes = Changes::default();
        let (mut known, mut found) = (known.iter().peekable(), found.iter().peekable());
        loop {
            let order = match (known.peek(), found.peek()) {
                (None, None) => return changes,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((known, _)), Some((found, _))) => (*known).cmp(found.as_str()),
            };
            let before = if order.is_le() { known.next() } else { None };
            let now = if order.is_ge() { found.next() } else { None };
            match (before, now) {
                (Some((_, before)), Some((name, now))) if before != now => {
                    changes.modified.push(name)
                }
                (Some((name, _)), None) => changes.removed.push(name),
                (None, Some((name, _))) => changes.added.push(name),
                _ => {}
            }
        }
    }

    /// Whether the tree is as the cache knows it.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }
}

/// The stamp to remember of a file that was looked at after `before` was last changed.
///
/// A file that changed at nearly the same time may change again unseen: it is remembered as one
/// never seen.
pub fn settled(stamp: Stamp, before: Stamp) -> Stamp {
    let changed = |stamp: Stamp| if stamp.ctime_ns != 0 { stamp.ctime_ns } else { stamp.mtime_ns };
    if changed(stamp) > changed(before).saturating_sub(UNSETTLED_NS) { NEVER } else { stamp }
}

const NEVER: Stamp = Stamp { size: u64::MAX, mtime_ns: 0, inode: 0, ctime_ns: 0 };

/// Writes a list of stamps: each name after its length, then the four numbers.
pub fn write_stamps(stamps: &[(impl AsRef<str>, Stamp)], into: &mut Vec<u8>) {
    for (name, stamp) in stamps {
        let name = name.as_ref();
        into.extend((name.len() as u16).to_le_bytes());
        into.extend(name.as_bytes());
        into.extend(stamp.size.to_le_bytes());
        into.extend(stamp.mtime_ns.to_le_bytes());
        into.extend(stamp.inode.to_le_bytes());
        into.extend(stamp.ctime_ns.to_le_bytes());
    }
}

/// Reads a list of stamps; `None` where it is damaged.
pub fn read_stamps(mut bytes: &[u8]) -> Option<Vec<(&str, Stamp)>> {
    let mut stamps = Vec::with_capacity(bytes.len() / 48);
    while !bytes.is_empty() {
        stamps.push(read_stamp(&mut bytes)?);
    }
    Some(stamps)
}

/// Reads the first stamp of a list, and leaves the rest.
pub fn read_stamp<'b>(bytes: &mut &'b [u8]) -> Option<(&'b str, Stamp)> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (name, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    let (size, rest) = rest.split_first_chunk()?;
    let (mtime, rest) = rest.split_first_chunk()?;
    let (inode, rest) = rest.split_first_chunk()?;
    let (ctime, rest) = rest.split_first_chunk()?;
    let stamp = Stamp {
        size: u64::from_le_bytes(*size),
        mtime_ns: i64::from_le_bytes(*mtime),
        inode: u64::from_le_bytes(*inode),
        ctime_ns: i64::from_le_bytes(*ctime),
    };
    *bytes = rest;
    Some((std::str::from_utf8(name).ok()?, stamp))
}

/// The stamps of the files in a folder, sorted by name; locks come and go and do not count.
pub fn folder_stamps(folder: &Path) -> io::Result<Vec<StampedFile>> {
    let mut stamps = Vec::new();
    for entry in files::read_dir(folder)? {
        let entry = entry?;
        // What is to be opened by its path must not lead elsewhere.
        if !entry.file_type()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not only files are there"));
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.ends_with(".lock") {
            stamps.push((name, Stamp::of(&entry.metadata()?)));
        }
    }
    stamps.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Ok(stamps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(size: u64) -> Stamp {
        Stamp { size, mtime_ns: 1, inode: 2, ctime_ns: 3 }
    }

    #[test]
    fn differences_are_sorted_out() {
        let known = [("a", stamp(1)), ("b", stamp(1)), ("d", stamp(1)), ("e", stamp(1))];
        let found = [("b", 1), ("c", 1), ("d", 2), ("f", 1)]
            .map(|(name, size)| (name.to_string(), stamp(size)));
        let changes = Changes::between(&known, &found);
        assert_eq!(
            changes,
            Changes { added: vec!["c", "f"], modified: vec!["d"], removed: vec!["a", "e"] }
        );
        let same = found.clone().map(|(_, stamp)| stamp);
        let known: Vec<_> = found.iter().map(|(name, _)| name.as_str()).zip(same).collect();
        assert!(Changes::between(&known, &found).is_empty());
        assert!(Changes::between(&[], &[]).is_empty());
    }

    #[test]
    fn stamps_are_read_back_and_damage_is_seen() {
        let stamps = [("SES1_a_SP1C1", stamp(7)), ("été", stamp(8)), ("", stamp(9))];
        let mut bytes = Vec::new();
        write_stamps(&stamps, &mut bytes);
        assert_eq!(read_stamps(&bytes).unwrap(), stamps);
        assert_eq!(read_stamps(&bytes[..bytes.len() - 1]), None);
        assert_eq!(read_stamps(&[255; 40]), None);
    }

    #[test]
    fn a_file_that_just_changed_is_looked_at_again() {
        let at = |ctime_ns| Stamp { ctime_ns, ..stamp(1) };
        assert_eq!(settled(at(1), at(1_000_000_000)), at(1));
        assert_ne!(settled(at(999_999_999), at(1_000_000_000)), at(999_999_999));
        assert_ne!(settled(at(1_500_000_000), at(1_000_000_000)), at(1_500_000_000));
    }
}
