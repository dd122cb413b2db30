//! A batch is many writes and renames that are committed together and share one sync.
//!
//! What it puts in place appears in order, each file whole: whoever stops it leaves a prefix.

use std::collections::BTreeSet;
#[cfg(target_os = "linux")]
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::faults::{self, Point};
use super::folders::{create_folders, parent_of, sync_file, sync_folder, sync_tree};
use super::notes::{Notes, Replacing};
use super::place::Place;
use super::replace::{self, Merge, Replacement, SharedMerge, Written};
use super::temporary::{Closed, Temporary, temporary_name};
use super::{if_found, remove_folder, rename, symlink_metadata};
#[cfg(target_os = "linux")]
use super::{
    metadata,
    place::{self, Access},
};

/// Many whole-file writes and folder renames that share one sync.
///
/// The content waits under temporary names until [`Batch::commit`] has synced all of it; then the
/// renames happen in the order in which they were added. So a kill at any point leaves a prefix of
/// them, each file old or new. The same holds for a power loss on a file system that journals its
/// renames in order (ext4, XFS, Btrfs, APFS); who must not rely on that commits what has to come
/// first in a batch of its own. An uncommitted batch removes its temporary files when dropped, and
/// leaves the folders to be renamed alone.
#[derive(Debug, Default)]
pub struct Batch<'m> {
    steps: Vec<Step<'m>>,
    /// Where it is noted which pages are being replaced.
    replacing: Option<Replacing>,
    /// Folders in which a name has changed and is to be made durable.
    folders: BTreeSet<PathBuf>,
    /// One open folder per file system, for `syncfs`. It is opened before the first write there,
    /// because a later handle may not report a write that failed in between.
    #[cfg(target_os = "linux")]
    file_systems: Vec<(u64, File)>,
}

#[derive(Debug)]
enum Step<'m> {
    Write(Closed),
    Replace(Replacement<'m>),
    Rename { from: PathBuf, to: PathBuf },
}

/// Up to this many files or folders, syncing each is cheaper than syncing a file system others
/// write to as well.
const FEW: usize = 4;

impl<'m> Batch<'m> {
    /// Begins an empty batch.
    pub fn new() -> Batch<'m> {
        Batch::default()
    }

    /// Begins an empty batch of pages that somebody may be editing.
    pub fn of_pages(replacing: &Replacing) -> Batch<'m> {
        Batch { replacing: Some(replacing.clone()), ..Batch::default() }
    }

    /// Writes the new content of a file to a temporary name beside it.
    pub fn write(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.folders.extend(create_folders(parent_of(path))?);
        self.remember_file_system(parent_of(path))?;
        self.steps.push(Step::Write(Temporary::with(path, bytes)?.close()));
        Ok(())
    }

    /// Makes a page from what is there, now and again where somebody saves it meanwhile; returns
    /// whether it changes.
    pub fn merge(&mut self, path: &Path, merge: Merge<'m>) -> io::Result<bool> {
        self.folders.extend(create_folders(parent_of(path))?);
        self.remember_file_system(parent_of(path))?;
        let replacement = Replacement::of(path, merge)?;
        let changes = replacement.is_some();
        self.steps.extend(replacement.map(Step::Replace));
        Ok(changes)
    }

    /// Makes many pages from what is there, several at a time; fails with the first that cannot be
    /// made.
    pub fn merge_all(
        &mut self,
        pages: Vec<(PathBuf, SharedMerge<'m>)>,
    ) -> Result<(), (PathBuf, io::Error)> {
        for (path, _) in &pages {
            let folders = create_folders(parent_of(path)).map_err(|err| (path.clone(), err))?;
            self.folders.extend(folders);
            self.remember_file_system(parent_of(path)).map_err(|err| (path.clone(), err))?;
        }
        let written: Vec<_> =
            pages.par_iter().map(|(path, merge)| Written::of(path, merge)).collect();
        for ((path, merge), written) in pages.into_iter().zip(written) {
            match written {
                Ok(Some(new)) => self.steps.push(Step::Replace(Replacement::by(&path, new, merge))),
                Ok(None) => {}
                Err(err) => return Err((path, err)),
            }
        }
        Ok(())
    }

    /// Does the same for a page that was read already: `new` is what came of it.
    pub fn replace(
        &mut self,
        path: &Path,
        read: Option<Vec<u8>>,
        new: Vec<u8>,
        merge: Merge<'m>,
    ) -> io::Result<()> {
        self.folders.extend(create_folders(parent_of(path))?);
        self.remember_file_system(parent_of(path))?;
        self.steps.push(Step::Replace(Replacement::with(path, read, new, merge)?));
        Ok(())
    }

    /// Notes that a folder, with everything in it, is to be moved to its final name on the same
    /// file system.
    ///
    /// A folder that stands there already is replaced, in one step where the system can exchange
    /// two names; the old one is deleted when everything is in place. A kill before that leaves it
    /// under the name `from`, or under a temporary name.
    pub fn rename_dir(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.folders.extend(create_folders(parent_of(to))?);
        self.remember_file_system(from)?;
        self.steps.push(Step::Rename { from: from.to_owned(), to: to.to_owned() });
        Ok(())
    }

    /// Syncs all content at once, then puts it in place, in order, and makes that durable too.
    pub fn commit(mut self) -> io::Result<()> {
        self.sync_content()?;
        let mut folders = std::mem::take(&mut self.folders);
        let (mut replaced, mut placed) = (Vec::new(), Vec::new());
        let mut notes = self.replacing.as_ref().map(Notes::new);
        if let Some(notes) = &mut notes {
            let pages = self.steps.iter().filter_map(|step| match step {
                Step::Replace(page) => Some(page.note()),
                _ => None,
            });
            notes.add_all(&pages.collect::<Vec<_>>())?;
        }
        // On an error, the temporary files not yet renamed are removed as the remaining steps are
        // dropped.
        for step in std::mem::take(&mut self.steps) {
            match step {
                Step::Write(temporary) => {
                    folders.insert(parent_of(temporary.target()).to_owned());
                    temporary.persist()?;
                }
                Step::Replace(page) => {
                    folders.insert(parent_of(&page.path).to_owned());
                    let notes = notes.as_mut().expect("only a batch of pages has them");
                    placed.push(page.place(notes)?);
                }
                Step::Rename { from, to } => {
                    replaced.extend(replace_folder(&from, &to)?);
                    folders.extend([parent_of(&from).to_owned(), parent_of(&to).to_owned()]);
                }
            }
        }
        if folders.len() <= FEW || !self.sync_file_systems()? {
            folders.iter().try_for_each(|folder| sync_folder(folder))?;
        }
        for folder in replaced {
            // All is committed by now; what cannot be deleted is a leftover, as after a kill, and
            // no failure.
            let _ = remove_folder(&folder);
        }
        notes.map_or(Ok(()), |notes| replace::finish(placed, notes))
    }

    fn sync_content(&self) -> io::Result<()> {
        let few = self.steps.len() <= FEW
            && !self.steps.iter().any(|step| matches!(step, Step::Rename { .. }));
        if !few && self.sync_file_systems()? {
            return Ok(());
        }
        for step in &self.steps {
            match step {
                Step::Write(temporary) => sync_file(&temporary.path())?,
                Step::Replace(page) => sync_file(&page.temporary.path())?,
                Step::Rename { from, .. } => sync_tree(from)?,
            }
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn remember_file_system(&mut self, folder: &Path) -> io::Result<()> {
        use std::os::unix::fs::MetadataExt;
        let device = metadata(folder)?.dev();
        if self.file_systems.iter().all(|(known, _)| *known != device) {
            self.file_systems.push((device, place::open(folder, Access::Folder)?));
        }
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn remember_file_system(&mut self, _folder: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Syncs every file system written to; returns false where the system has no such call.
    #[cfg(target_os = "linux")]
    fn sync_file_systems(&self) -> io::Result<bool> {
        for (_, folder) in &self.file_systems {
            faults::point(Point::Sync)?;
            match rustix::fs::syncfs(folder) {
                Ok(()) => {}
                Err(rustix::io::Errno::NOSYS) => return Ok(false),
                Err(err) => return Err(err.into()),
            }
        }
        Ok(true)
    }

    #[cfg(not(target_os = "linux"))]
    fn sync_file_systems(&self) -> io::Result<bool> {
        Ok(false)
    }
}

/// Moves a folder to a name that may be taken; returns where the folder that had it is now.
fn replace_folder(from: &Path, to: &Path) -> io::Result<Option<PathBuf>> {
    if if_found(symlink_metadata(to))?.is_none() {
        return rename(from, to).map(|()| None);
    }
    faults::point(Point::Rename)?;
    if Place::of(from)?.exchange(&Place::of(to)?)? {
        return Ok(Some(from.to_owned()));
    }
    // Not every file system can do it.
    let aside = to.with_file_name(temporary_name());
    rename(to, &aside)?;
    rename(from, to)?;
    Ok(Some(aside))
}

#[cfg(test)]
mod tests {
    use super::super::is_temporary;
    use super::super::tests::{names, start};
    use super::*;
    use std::fs;
    use std::io::{BufRead, BufReader};

    #[test]
    fn a_batch_commits_all_or_when_dropped_nothing() {
        for count in [1, FEW + 3] {
            let folder = tempfile::tempdir().unwrap();
            let path = |number: usize| folder.path().join(format!("{number}/page.md"));
            let mut batch = Batch::new();
            (0..count).for_each(|number| batch.write(&path(number), b"new").unwrap());
            assert!(!path(0).exists());
            assert!(
                names(path(0).parent().unwrap()).iter().all(|name| is_temporary(name.as_ref()))
            );
            drop(batch);
            assert_eq!(names(path(0).parent().unwrap()), [""; 0]);

            let mut batch = Batch::new();
            (0..count).for_each(|number| batch.write(&path(number), b"new").unwrap());
            batch.commit().unwrap();
            (0..count)
                .for_each(|number| assert_eq!(names(path(number).parent().unwrap()), ["page.md"]));
        }
    }

    #[test]
    fn a_batch_renames_in_order_and_stops_at_the_first_trouble() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("staged/raw")).unwrap();
        fs::write(at("staged/raw/log"), "all").unwrap();
        let mut batch = Batch::new();
        batch.write(&at("before.md"), b"1").unwrap();
        batch.rename_dir(&at("staged"), &at("session/snapshot")).unwrap();
        batch.write(&at("session/digest.md"), b"2").unwrap();
        batch.rename_dir(&at("session"), &at("session/into itself")).unwrap();
        batch.write(&at("after.md"), b"3").unwrap();
        assert!(batch.commit().is_err());
        assert_eq!(names(folder.path()), ["before.md", "session"]);
        assert_eq!(names(&at("session")), ["digest.md", "snapshot"]);
        assert_eq!(fs::read(at("session/snapshot/raw/log")).unwrap(), b"all");
    }

    #[test]
    fn a_batch_replaces_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for content in ["first", "second"] {
            fs::create_dir(at("staged")).unwrap();
            fs::write(at("staged/log"), content).unwrap();
            let mut batch = Batch::new();
            batch.rename_dir(&at("staged"), &at("snapshot")).unwrap();
            batch.commit().unwrap();
            assert_eq!(names(folder.path()), ["snapshot"]);
            assert_eq!(fs::read_to_string(at("snapshot/log")).unwrap(), content);
        }
        sync_tree(folder.path()).unwrap();
    }

    #[test]
    fn a_killed_batch_leaves_whole_files_and_a_prefix() {
        for kill_after in 1..4 {
            let folder = tempfile::tempdir().unwrap();
            let mut child = start("batches", folder.path());
            let output = BufReader::new(child.stdout.take().unwrap());
            let committed =
                |line: &io::Result<String>| line.as_ref().unwrap().starts_with("committed");
            output.lines().filter(committed).nth(kill_after).unwrap().unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
            let contents =
                ["a", "b", "c", "d", "e"].map(|name| fs::read(folder.path().join(name)).unwrap());
            for content in &contents {
                assert!(content.len() == 100_000 && content.iter().all(|byte| *byte == content[0]));
            }
            let marks = contents.map(|content| content[0]);
            // A prefix has the new mark, the rest the one before.
            assert!(marks.windows(2).filter(|pair| pair[0] != pair[1]).count() <= 1, "{marks:?}");
            let left = names(folder.path()).into_iter().filter(|name| name.len() > 1);
            assert!(left.into_iter().all(|name| is_temporary(name.as_ref())));
        }
    }
}
