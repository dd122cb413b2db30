//! The cache on disk: a tantivy index in a folder of its own generation, and the stamps of what it
//! was made from.
//!
//! `index/CURRENT` names the generation that counts. A rebuild makes a new one beside it and then
//! changes that name, so a reader finds a whole index at any moment. One process at a time changes
//! things, under `index/lock`.

use std::io;
use std::path::{Path, PathBuf};

use super::changes::{self, Changes, StampedFile};
use super::documents::{self, Corpus};
use crate::base::files::{self, FileLock, Stamp};
use crate::store::Store;
use crate::store::guards;

/// The version of what the cache holds: raise it whenever fields, weights, folding or files change.
const SCHEMA: &str = "memtree/index/8";

/// The file that names the current generation.
const CURRENT: &str = "CURRENT";
/// The stamps of the digests, within a generation.
const STAMPS: &str = "stamps";
/// The stamps of the index's own files, within a generation.
const SEAL: &str = "seal";

/// The cache of one memory.
pub struct Cache<'s> {
    store: &'s Store,
    corpus: Corpus,
    folder: PathBuf,
}

type CacheError = Box<dyn std::error::Error + Send + Sync>;

impl<'s> Cache<'s> {
    pub fn of(store: &'s Store, corpus: Corpus) -> Cache<'s> {
        Cache { store, corpus, folder: corpus.folder(store.layout()) }
    }

    /// Waits for the right to change the cache.
    pub fn lock(&self) -> io::Result<FileLock> {
        files::lock_exclusive(&self.folder.join("lock"))
    }

    /// Takes the right to change the cache if nobody has it.
    pub fn try_lock(&self) -> io::Result<Option<FileLock>> {
        files::try_lock_exclusive(&self.folder.join("lock"))
    }

    /// Opens the index as it is, while somebody else may be changing it.
    pub fn open(&self) -> Result<tantivy::Index, CacheError> {
        let generation = self.current().ok_or("there is no index yet")?;
        own_files(&generation)?;
        documents::open(&generation)
    }

    /// Opens the index as it was left, provided that its files look as they were left: a damaged
    /// one is not worth the milliseconds of whoever has only those.
    pub fn open_as_left(&self) -> Result<tantivy::Index, CacheError> {
        let generation = self.current().ok_or("there is no index yet")?;
        if !is_sealed(&generation) {
            return Err("its files have changed since it was sealed".into());
        }
        documents::open(&generation)
    }

    /// Brings the cache up to date with the tree.
    pub fn refresh(&self, _lock: &FileLock) -> Result<tantivy::Index, CacheError> {
        // Its stamp is the file system's own idea of now.
        let clock = self.folder.join("clock");
        files::write_plain(&clock, b"")?;
        let before = Stamp::of(&files::metadata(&clock)?);
        let files = self.corpus.files(self.store)?;
        if let Some(generation) = self.current()
            && let Some(stamps) = sound_stamps(&generation)
            && let Some(known) = changes::read_stamps(&stamps)
            && let Ok(index) = documents::open(&generation)
            && let Ok(()) = self.update(&generation, &index, &known, &files, before)
        {
            return Ok(index);
        }
        self.rebuild(&files, before)
    }

    fn update(
        &self,
        generation: &Path,
        index: &tantivy::Index,
        known: &[(&str, Stamp)],
        files: &[StampedFile],
        before: Stamp,
    ) -> Result<(), CacheError> {
        let Changes { added, modified, removed } = Changes::between(known, files);
        let gone = [removed.as_slice(), &modified, &added].concat();
        if gone.is_empty() {
            return Ok(());
        }
        let new = [added.as_slice(), &modified].concat();
        documents::write(index, self.store, self.corpus, &gone, &new)?;
        Ok(seal(generation, files, before)?)
    }

    fn rebuild(&self, files: &[StampedFile], before: Stamp) -> Result<tantivy::Index, CacheError> {
        let name = format!("g{}", 1 + self.generations()?.into_iter().max().unwrap_or(0));
        let generation = self.folder.join(&name);
        files::create_folder(&generation)?;
        guards::guard_own(self.store.layout())?;
        let index = self.create(Some(&generation), files)?;
        seal(&generation, files, before)?;
        files::write_atomic(&self.folder.join(CURRENT), format!("{SCHEMA} {name}\n").as_bytes())?;
        for old in self.generations()? {
            let old = format!("g{old}");
            if old != name {
                // Whoever still reads it keeps its files open; the next rebuild tries again.
                let _ = files::remove_folder(&self.folder.join(old));
            }
        }
        Ok(index)
    }

    /// Makes an index in working memory, for when the cache cannot be written.
    pub fn in_memory(&self) -> Result<tantivy::Index, CacheError> {
        self.create(None, &self.corpus.files(self.store)?)
    }

    /// Makes an index of everything.
    fn create(
        &self,
        folder: Option<&Path>,
        files: &[StampedFile],
    ) -> Result<tantivy::Index, CacheError> {
        let index = documents::create(folder)?;
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        documents::write(&index, self.store, self.corpus, &[], &names)?;
        Ok(index)
    }

    /// The folder of the generation that counts.
    fn current(&self) -> Option<PathBuf> {
        let text = files::read_to_string(self.folder.join(CURRENT)).ok()?;
        let name = text.trim_end().strip_prefix(SCHEMA)?.strip_prefix(' ')?;
        generation_number(name).map(|_| self.folder.join(name))
    }

    fn generations(&self) -> io::Result<Vec<u64>> {
        let entries = files::read_dir(&self.folder)?;
        Ok(entries
            .flatten()
            .filter_map(|entry| generation_number(entry.file_name().to_str()?))
            .collect())
    }
}

fn generation_number(name: &str) -> Option<u64> {
    name.strip_prefix('g')
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?
        .parse()
        .ok()
}

/// Notes what a generation was made from, and how its files look now that they are whole.
fn seal(generation: &Path, files: &[StampedFile], before: Stamp) -> io::Result<()> {
    let remembered: Vec<(&str, Stamp)> = files
        .iter()
        .map(|(name, stamp)| (name.as_str(), changes::settled(*stamp, before)))
        .collect();
    let mut bytes = Vec::with_capacity(files.len() * 72);
    changes::write_stamps(&remembered, &mut bytes);
    files::write_atomic(&generation.join(STAMPS), &bytes)?;
    let mut bytes = Vec::new();
    changes::write_stamps(&own_files(generation)?, &mut bytes);
    files::write_atomic(&generation.join(SEAL), &bytes)
}

/// The stamps of what a generation was made from, where its files look as they were left.
///
/// Others may be damaged, copied, or left by a process that was killed just before it could seal
/// them. To find out would mean to open them, and damage there is can make tantivy panic; to make
/// them anew is surer.
fn sound_stamps(generation: &Path) -> Option<Vec<u8>> {
    let stamps = files::read(generation.join(STAMPS)).ok()?;
    is_sealed(generation).then_some(stamps)
}

fn is_sealed(generation: &Path) -> bool {
    let (Ok(seal), Ok(now)) = (files::read(generation.join(SEAL)), own_files(generation)) else {
        return false;
    };
    changes::read_stamps(&seal).is_some_and(|known| Changes::between(&known, &now).is_empty())
}

fn own_files(generation: &Path) -> io::Result<Vec<StampedFile>> {
    let mut stamps = changes::folder_stamps(generation)?;
    stamps.retain(|(name, _)| name != SEAL);
    Ok(stamps)
}
