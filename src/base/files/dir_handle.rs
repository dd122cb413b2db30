//! A folder that is held open, to look at many files below it without finding the way to it each
//! time.

use std::io;
use std::path::Path;

use super::Stamp;
use super::place;
#[cfg(unix)]
use super::place::Access;

/// A folder to look at files below.
#[derive(Debug)]
pub struct DirHandle {
    #[cfg(unix)]
    folder: std::fs::File,
    #[cfg(not(unix))]
    folder: std::path::PathBuf,
}

impl DirHandle {
    /// Holds a folder open.
    #[cfg(unix)]
    pub fn open(folder: &Path) -> io::Result<DirHandle> {
        Ok(DirHandle { folder: place::open(folder, Access::Folder)? })
    }

    #[cfg(not(unix))]
    pub fn open(folder: &Path) -> io::Result<DirHandle> {
        place::look_through(folder)?;
        Ok(DirHandle { folder: folder.to_owned() })
    }

    /// The stamp of a plain file, by its path below the folder; `None` for anything else, a link
    /// included. Whoever reads the file opens it by its path: here only the end is looked at.
    #[cfg(unix)]
    pub fn stamp(&self, path: &Path) -> Option<Stamp> {
        use rustix::fs::{AtFlags, FileType, statat};
        let found = statat(&self.folder, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        (FileType::from_raw_mode(found.st_mode) == FileType::RegularFile)
            .then(|| Stamp::of_stat(&found))
    }

    #[cfg(not(unix))]
    pub fn stamp(&self, path: &Path) -> Option<Stamp> {
        let metadata = std::fs::symlink_metadata(self.folder.join(path)).ok()?;
        metadata.is_file().then(|| Stamp::of(&metadata))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_stamp_is_the_same_however_it_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("below")).unwrap();
        fs::write(folder.path().join("below/file"), "text").unwrap();
        std::os::unix::fs::symlink("file", folder.path().join("below/link")).unwrap();
        let held = DirHandle::open(folder.path()).unwrap();
        let stamp = Stamp::of(&fs::metadata(folder.path().join("below/file")).unwrap());
        assert_eq!(held.stamp(Path::new("below/file")), Some(stamp));
        for other in ["below/link", "below", "below/none", ""] {
            assert_eq!(held.stamp(Path::new(other)), None, "{other}");
        }
    }
}
