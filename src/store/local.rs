//! State files: what this device remembers below `.memtree`, behind one type.
//!
//! A state file is JSON, written whole or not at all, and only where it changed. A missing or
//! damaged one reads as none. What lies in `cache` can be made again, so a damaged file is simply
//! replaced; one in `local` is kept beside the new one, as `<name>.bak`. The device's own log,
//! `.memtree/local/log`, is written here too: trouble of whoever cannot speak up, such as a hook.

use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::layout::Layout;
use crate::base::clock::{self, Timestamp};
use crate::base::files;
use crate::base::redact::Redactor;
use crate::base::text;

/// A file that holds one value of a type.
#[derive(Debug, Clone)]
pub struct StateFile<T> {
    path: PathBuf,
    /// Whether a damaged file is kept, because nothing else holds what it held.
    keeps_damaged: bool,
    value: PhantomData<fn() -> T>,
}

impl<T: Serialize + DeserializeOwned> StateFile<T> {
    /// A file below `.memtree/local`.
    pub fn local(path: PathBuf) -> StateFile<T> {
        StateFile { path, keeps_damaged: true, value: PhantomData }
    }

    /// A file below `.memtree/cache`.
    pub fn cache(path: PathBuf) -> StateFile<T> {
        StateFile { path, keeps_damaged: false, value: PhantomData }
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is such a file, damaged or not.
    pub fn is_saved(&self) -> bool {
        files::is_file(&self.path)
    }

    /// Reads the value; `None` where the file is missing or damaged.
    pub fn read(&self) -> Option<T> {
        serde_json::from_slice(&files::read(&self.path).ok()?).ok()
    }

    /// Reads the value, or takes the default.
    pub fn load(&self) -> T
    where
        T: Default,
    {
        self.read().unwrap_or_default()
    }

    /// Reads the value, or takes the default; a damaged file is moved to `<name>.bak-<time>` and
    /// named in the log. Only for whoever may write the file.
    pub fn load_or_move_aside(&self, layout: &Layout, now: Timestamp) -> io::Result<T>
    where
        T: Default,
    {
        let Some(bytes) = files::if_exists(files::read(&self.path))? else {
            return Ok(T::default());
        };
        serde_json::from_slice(&bytes).or_else(|err| {
            let stamp = clock::stamp(now).replace(['-', ':'], "");
            let aside = self.move_aside(&format!(".bak-{stamp}"))?;
            let (path, aside) = (self.path.display(), aside.display());
            let what = format!("`{path}` was damaged ({err}); moved to `{aside}`");
            note(layout, now, &what);
            Ok(T::default())
        })
    }

    /// Writes the value, unless the file holds it already; returns whether it wrote.
    pub fn save(&self, value: &T) -> io::Result<bool> {
        if self.keeps_damaged && self.is_saved() && self.read().is_none() {
            self.move_aside(".bak")?;
        }
        files::write_if_changed(&self.path, &serde_json::to_vec(value)?)
    }

    /// Writes the value without waiting for the disk, where that is possible: for a convenience
    /// that may be lost.
    pub fn save_if_possible(&self, value: &T) {
        if let Ok(bytes) = serde_json::to_vec(value) {
            let _ = files::write_unsynced(&self.path, &bytes);
        }
    }

    /// Removes the file, if there is one.
    pub fn remove(&self) -> io::Result<()> {
        files::remove_file(&self.path)
    }

    fn move_aside(&self, suffix: &str) -> io::Result<PathBuf> {
        let mut aside = self.path.clone().into_os_string();
        aside.push(suffix);
        files::rename(&self.path, Path::new(&aside))?;
        Ok(aside.into())
    }
}

/// A file of values, one line of JSON each, to which any process adds. Lines that cannot be read
/// are left out: nothing but a convenience is kept so.
#[derive(Debug, Clone)]
pub struct LinesFile<T> {
    path: PathBuf,
    value: PhantomData<fn() -> T>,
}

impl<T: Serialize + DeserializeOwned> LinesFile<T> {
    /// How much of one file is read.
    const MOST: u64 = 4 << 20;

    /// A file below `.memtree/local`.
    pub fn local(path: PathBuf) -> LinesFile<T> {
        LinesFile { path, value: PhantomData }
    }

    /// Adds values by one write, without waiting for the disk: lines of several processes stay
    /// whole.
    pub fn add(&self, values: &[T]) -> io::Result<()> {
        let mut lines = Vec::new();
        for value in values {
            serde_json::to_writer(&mut lines, value)?;
            lines.push(b'\n');
        }
        files::append_plain(&self.path, &lines).map(drop)
    }

    /// Reads the values, in the order in which they were added.
    pub fn read(&self) -> Vec<T> {
        let bytes = files::read_at_most(&self.path, Self::MOST).unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }
}

/// How long the log may become; then it is put aside, and the one before it goes.
const LONGEST: u64 = 1 << 20;
/// How long one line may be, in characters.
const LONGEST_LINE: usize = 500;

/// Adds a line to the log, redacted. It never waits, and where it cannot be written nothing comes
/// of it: there is nobody left to tell.
pub fn note(layout: &Layout, now: Timestamp, what: &str) {
    let path = layout.journal();
    if files::metadata(&path).is_ok_and(|metadata| metadata.len() > LONGEST) {
        let _ = files::rename(&path, &path.with_extension("old"));
    }
    let what = text::one_line(&Redactor::new().redact(what), LONGEST_LINE);
    let line = format!("{} {what}\n", clock::stamp(now));
    // One write at the end of the file: lines of several processes stay whole.
    let _ = files::append_plain(&path, line.as_bytes());
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_are_added_and_what_is_damaged_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("given/2026-11-15.jsonl");
        let file: LinesFile<Vec<u8>> = LinesFile::local(path.clone());
        assert!(file.read().is_empty());
        file.add(&[vec![1], vec![2]]).unwrap();
        files::append_plain(&path, b"{half\n\xff\n").unwrap();
        file.add(&[vec![3]]).unwrap();
        assert_eq!(file.read(), [[1], [2], [3]]);
    }

    #[test]
    fn a_damaged_file_is_the_default_and_kept_where_nothing_else_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("local/numbers.json");
        let backup = folder.path().join("local/numbers.json.bak");
        let [local, cache]: [StateFile<Vec<u8>>; 2] =
            [StateFile::local(path.clone()), StateFile::cache(path.clone())];
        assert_eq!((local.read(), local.load(), local.is_saved()), (None, vec![], false));
        local.remove().unwrap();
        assert!(local.save(&vec![1]).unwrap() && !local.save(&vec![1]).unwrap());
        assert_eq!(local.read(), Some(vec![1]));
        files::write_atomic(&path, b"[1").unwrap();
        assert_eq!((local.read(), local.load(), local.is_saved()), (None, vec![], true));
        assert!(cache.save(&vec![2]).unwrap() && !backup.exists());
        files::write_atomic(&path, b"[1").unwrap();
        assert!(local.save(&vec![2]).unwrap());
        assert_eq!((fs::read(&backup).unwrap(), local.load()), (b"[1".to_vec(), vec![2]));
        local.save_if_possible(&vec![3]);
        assert_eq!(local.load(), [3]);
        local.remove().unwrap();
        assert!(!local.is_saved());
    }
}
