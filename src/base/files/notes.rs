//! What is noted of pages that are being replaced, so that a kill in between loses nothing.
//!
//! Each process keeps a file of its own, which it locks for as long as it lives: what is not locked
//! was left behind.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::faults;
use super::folders::parent_of;
use super::place::{self, Access};
use super::temporary::temporary_name;
use super::writers::is_current;
use super::{create_folder, if_exists, is_temporary, read_dir, read_to_string, sha256_hex};

/// Pages longer than this are noted by their hash alone.
const LONGEST: usize = 256 << 10;

/// The pages of one root, and the folder in which it is noted which of them are being replaced.
#[derive(Debug, Clone)]
pub struct Replacing {
    root: PathBuf,
    folder: PathBuf,
    lock: PathBuf,
}

/// A page that is being replaced.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Note {
    /// The page, below the root; the temporary file lies beside it.
    pub(super) page: PathBuf,
    pub(super) temporary: PathBuf,
    /// What was read, where it is a text and not too long.
    pub(super) read: Option<String>,
    /// The hashes of what was read and of what is to take its place.
    known: Vec<String>,
}

impl Note {
    pub(super) fn of(page: &Path, temporary: &Path, new: &[u8], read: Option<&[u8]>) -> Note {
        let text = read.filter(|read| read.len() <= LONGEST);
        Note {
            page: page.to_owned(),
            temporary: temporary.to_owned(),
            read: text.and_then(|read| String::from_utf8(read.to_owned()).ok()),
            known: [Some(new), read].into_iter().flatten().map(sha256_hex).collect(),
        }
    }

    /// Whether a text is one that this process had read or made itself.
    pub(super) fn is_known(&self, text: &[u8]) -> bool {
        self.known.contains(&sha256_hex(text))
    }
}

impl Replacing {
    /// The pages below a root, noted in a folder; `lock` is for those that several processes
    /// append to.
    pub fn new(root: &Path, folder: PathBuf, lock: PathBuf) -> Replacing {
        Replacing { root: root.to_owned(), folder, lock }
    }

    /// The lock of whoever appends to a page or rewrites one that is appended to.
    pub(super) fn lock_path(&self) -> &Path {
        &self.lock
    }

    /// Whether a process may have left something behind.
    pub fn has_left(&self) -> bool {
        read_dir(&self.folder).is_ok_and(|mut entries| entries.next().is_some())
    }

    /// What processes left that are no more.
    pub(super) fn left(&self) -> io::Result<Vec<Notes>> {
        let mut left = Vec::new();
        for entry in if_exists(read_dir(&self.folder))?.into_iter().flatten() {
            let entry = entry?;
            if !entry.file_type()?.is_file() {
                continue;
            }
            // Whoever is done removes theirs, also just after it was listed.
            let opened = if_exists(place::open(&entry.path(), Access::Append))?;
            let Some(file) = opened else { continue };
            match file.try_lock() {
                Ok(()) => {
                    left.push(Notes { replacing: self.clone(), file: Some((entry.path(), file)) })
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(err)) => return Err(err),
            }
        }
        Ok(left)
    }

    /// The temporary files that somebody may still need.
    pub fn noted(&self) -> BTreeSet<PathBuf> {
        let entries = read_dir(&self.folder).into_iter().flatten().flatten();
        entries.flat_map(|entry| self.read(&entry.path())).map(|note| note.temporary).collect()
    }

    /// What a file notes, the last first, as far as it can be read.
    fn read(&self, path: &Path) -> Vec<Note> {
        let text = read_to_string(path).unwrap_or_default();
        let read = text.lines().rev().filter_map(|line| serde_json::from_str::<Note>(line).ok());
        let mut notes: Vec<Note> = Vec::new();
        for note in read {
            let (Some(page), Some(temporary)) =
                (self.above(&note.page), self.above(&note.temporary))
            else {
                continue;
            };
            let is_ours = temporary.file_name().is_some_and(is_temporary);
            let is_new = notes.iter().all(|known| known.temporary != temporary);
            if is_ours && is_new && parent_of(&page) == parent_of(&temporary) {
                notes.push(Note { page, temporary, ..note });
            }
        }
        notes
    }

    /// A path as it is noted.
    fn below(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap_or(path).to_owned()
    }

    /// A noted path, if it is one of a page below the root. Notes could come from anywhere.
    fn above(&self, path: &Path) -> Option<PathBuf> {
        let is_name = |part: Component<'_>| matches!(part, Component::Normal(_));
        path.components().all(is_name).then(|| self.root.join(path))
    }
}

/// The notes of one process.
#[derive(Debug)]
pub(super) struct Notes {
    replacing: Replacing,
    /// The file, once there is something to note.
    file: Option<(PathBuf, File)>,
}

impl Notes {
    pub(super) fn new(replacing: &Replacing) -> Notes {
        Notes { replacing: replacing.clone(), file: None }
    }

    pub(super) fn add(&mut self, note: &Note) -> io::Result<()> {
        self.add_all(std::slice::from_ref(note))
    }

    pub(super) fn add_all(&mut self, notes: &[Note]) -> io::Result<()> {
        if notes.is_empty() {
            return Ok(());
        }
        let mut lines = Vec::new();
        for note in notes {
            let page = self.replacing.below(&note.page);
            let temporary = self.replacing.below(&note.temporary);
            serde_json::to_writer(&mut lines, &Note { page, temporary, ..note.clone() })?;
            lines.push(b'\n');
        }
        let file = self.open()?;
        faults::write_point(|| drop((&*file).write_all(&lines[..lines.len() / 2])))?;
        file.write_all(&lines)
    }

    fn open(&mut self) -> io::Result<&mut File> {
        if self.file.is_none() {
            create_folder(&self.replacing.folder)?;
        }
        while self.file.is_none() {
            let path = self.replacing.folder.join(temporary_name()).with_extension("jsonl");
            let file = place::open(&path, Access::New { private: true })?;
            file.lock()?;
            // Before it was locked, somebody may have taken it for one that was left, and removed
            // it.
            if is_current(&file, &path)? {
                self.file = Some((path, file));
            }
        }
        Ok(&mut self.file.as_mut().expect("it was just opened").1)
    }

    /// What is noted, the last first, as far as it can be read.
    pub(super) fn notes(&self) -> Vec<Note> {
        self.file.as_ref().map(|(path, _)| self.replacing.read(path)).unwrap_or_default()
    }

    /// Forgets what is done; what is not stays for the next process.
    pub(super) fn finish(mut self, kept: Vec<Note>) -> io::Result<()> {
        let Some((path, file)) = self.file.take() else { return Ok(()) };
        if kept.is_empty() {
            let _ = super::remove_file(&path);
            return Ok(());
        }
        let mut rest = Notes::new(&self.replacing);
        rest.add_all(&kept)?;
        let _ = super::remove_file(&path);
        drop(file);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of many short-lived processes looks for what others left while they come and go.
    #[test]
    fn who_comes_and_goes_disturbs_nobody() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("notes");
        let replacing = Replacing::new(root.path(), folder.clone(), root.path().join("lock"));
        let page = root.path().join("page.md");
        let note = Note::of(&page, &root.path().join(temporary_name()), b"new", None);
        std::thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    for _ in 0..500 {
                        let mut notes = Notes::new(&replacing);
                        notes.add(&note).unwrap();
                        assert_eq!(notes.notes().len(), 1, "somebody removed what is in use");
                        notes.finish(Vec::new()).unwrap();
                    }
                });
                threads.spawn(|| {
                    for _ in 0..500 {
                        for left in replacing.left().unwrap() {
                            left.finish(Vec::new()).unwrap();
                        }
                    }
                });
            }
        });
        assert!(!replacing.has_left());
    }
}
