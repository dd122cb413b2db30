//! Turns: how often an agent has answered in a session, so that a long one is taken in before it
//! ends.

use std::io;
use std::path::PathBuf;

use chrono::Duration;

use crate::base::clock::Timestamp;
use crate::base::files;
use crate::store::Store;

/// After so many turns a session is taken in.
pub const EVERY: u64 = 30;

/// What hooks remember of a session is forgotten after this long: not every agent says when a
/// session ends.
const KEPT_FOR: Duration = Duration::days(90);
/// Of so many sessions something is remembered at most; the oldest go.
const MOST: usize = 2000;

/// Counts a turn of a session, and says how many there were; 0 where the session has no name.
///
/// The count is the length of a file: to append one byte is cheap, needs no lock, and two at a time
/// are both counted.
pub fn count(store: &Store, session: &str) -> io::Result<u64> {
    if session.is_empty() {
        return Ok(0);
    }
    files::append_plain(&store.layout().turns(&key(session)), b".")
}

/// Whether it is time to take a session in, after so many turns.
pub fn is_due(turn: u64) -> bool {
    turn > 0 && turn.is_multiple_of(EVERY)
}

/// How many turns a session has had since it was last forgotten.
pub fn so_far(store: &Store, session: &str) -> u64 {
    files::metadata(store.layout().turns(&key(session))).map_or(0, |metadata| metadata.len())
}

/// Forgets a session that has ended.
pub fn forget(store: &Store, session: &str) {
    let _ = files::remove_file(&store.layout().turns(&key(session)));
}

/// Forgets the sessions of which no hook has heard for long, and the oldest where they are too
/// many. Where that is not possible, nothing comes of it.
pub fn prune(store: &Store, now: Timestamp) {
    for folder in store.layout().hooks_memory() {
        let mut files: Vec<(Timestamp, PathBuf)> = files::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                Some((Timestamp::from(entry.metadata().ok()?.modified().ok()?), entry.path()))
            })
            .collect();
        files.sort();
        let too_many = files.len().saturating_sub(MOST);
        for (at, (last, path)) in files.iter().enumerate() {
            if at < too_many || *last + KEPT_FOR < now {
                let _ = files::remove_file(path);
            }
        }
    }
}

/// A name for a session that can be a file's, whatever the agent calls it.
pub fn key(session: &str) -> String {
    files::sha256_hex(session.as_bytes())[..16].to_string()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_thirtieth_turn_is_due() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::init(folder.path()).unwrap();
        let due: Vec<u32> = (1..=65).filter(|_| is_due(count(&store, "../a").unwrap())).collect();
        assert_eq!(due, [30, 60]);
        assert_eq!((so_far(&store, "../a"), so_far(&store, "b")), (65, 0));
        assert_eq!(count(&store, "b").unwrap(), 1);
        forget(&store, "../a");
        assert_eq!(count(&store, "../a").unwrap(), 1);
        assert!(!is_due(count(&store, "").unwrap()));
    }

    #[test]
    fn what_nobody_ends_is_forgotten_by_age_and_number() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::init(folder.path()).unwrap();
        let now = chrono::Utc::now();
        let names = || {
            let folders = store.layout().hooks_memory().into_iter();
            folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten()).count()
        };
        let put = |session: &str, days: i64| {
            for path in [store.layout().turns(session), store.layout().injected(session)] {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                let file = fs::File::create(path).unwrap();
                file.set_modified((now - Duration::days(days)).into()).unwrap();
            }
        };
        put("old", 91);
        put("new", 89);
        prune(&store, now);
        assert_eq!(names(), 2);
        assert!(store.layout().turns("new").exists() && store.layout().injected("new").exists());
        (0..MOST).for_each(|number| put(&number.to_string(), 1));
        prune(&store, now);
        assert_eq!(names(), 2 * MOST);
        assert!(!store.layout().turns("new").exists(), "the oldest goes first");
    }
}
