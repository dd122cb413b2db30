//! Turns: how often an agent has answered in a session, so that a long one is taken in before it ends.

use std::io;

use crate::base::files;
use crate::store::Store;

/// After so many turns a session is taken in.
pub const EVERY: u64 = 30;

/// Counts a turn of a session, and says whether it is time to take it in.
///
/// The count is the length of a file: to append one byte is cheap, needs no lock, and two at a time are both counted.
pub fn count(store: &Store, session: &str) -> io::Result<bool> {
    if session.is_empty() {
        return Ok(false);
    }
    let path = store.layout().turns(&key(session));
    Ok(files::append_plain(&path, b".")?.is_multiple_of(EVERY))
}

/// Forgets a session that has ended.
pub fn forget(store: &Store, session: &str) {
    let _ = files::remove_file(&store.layout().turns(&key(session)));
}

/// A name for a session that can be a file's, whatever the agent calls it.
pub fn key(session: &str) -> String {
    files::sha256_hex(session.as_bytes())[..16].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thirtieth_turn_is_due() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::init(folder.path()).unwrap();
        let due: Vec<u32> = (1..=65).filter(|_| count(&store, "../a").unwrap()).collect();
        assert_eq!(due, [30, 60]);
        assert!(!count(&store, "b").unwrap());
        forget(&store, "../a");
        assert_eq!((1..=30).filter(|_| count(&store, "../a").unwrap()).count(), 1);
    }
}
