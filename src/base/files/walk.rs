//! A walk visits every file and link under a folder, in the order of their names.
//!
//! Each is a [`FoundFile`] with its metadata; a [`Stamp`] is as much of that as shows whether a
//! file may have changed since.

use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use walkdir::WalkDir;

use super::fence::{is_fenced, link_error};
use super::{NOT_REGULAR, is_link_error, symlink_metadata};

/// What the file system says of a file, to see cheaply whether it may have changed.
///
/// The times are nanoseconds since 1970. `ctime_ns`, which nobody can set, also gives away a file
/// that was restored with its old date. Where the system knows no inode and no ctime, they are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp {
    pub size: u64,
    pub mtime_ns: i64,
    pub inode: u64,
    pub ctime_ns: i64,
}

impl Stamp {
    /// Returns the stamp of a file with this metadata.
    #[cfg(unix)]
    pub fn of(metadata: &Metadata) -> Stamp {
        use std::os::unix::fs::MetadataExt;
        Stamp {
            size: metadata.size(),
            mtime_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            inode: metadata.ino(),
            ctime_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Returns the stamp of a file of which the system says this.
    #[cfg(unix)]
    // What is a number of 64 bits on one system is a smaller one on another.
    #[allow(clippy::unnecessary_cast)]
    pub(super) fn of_stat(stat: &rustix::fs::Stat) -> Stamp {
        Stamp {
            size: stat.st_size as u64,
            mtime_ns: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            inode: stat.st_ino as u64,
            ctime_ns: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }

    /// Returns the stamp of a file with this metadata.
    #[cfg(not(unix))]
    pub fn of(metadata: &Metadata) -> Stamp {
        let modified = metadata.modified().ok();
        let since_1970 = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let mtime_ns = since_1970.map_or(0, |duration| duration.as_nanos() as i64);
        Stamp { size: metadata.len(), mtime_ns, inode: 0, ctime_ns: 0 }
    }
}

/// Wrapping, because an absurd date need only compare equal to itself.
#[cfg(unix)]
fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.wrapping_mul(1_000_000_000).wrapping_add(rest)
}

/// A file found by [`walk_files`].
#[derive(Debug)]
pub struct FoundFile {
    /// Its path, beginning with the root as it was given.
    pub path: PathBuf,
    /// Its path within the root; its name, where the root itself is a file.
    pub relative: PathBuf,
    /// Its metadata; those of the link itself where it is one.
    pub metadata: Metadata,
    /// Where it points to, where it is a symbolic link.
    pub link: Option<PathBuf>,
}

/// A path that [`walk_files`] could not look at, or a thing that is neither file, folder nor link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkError {
    /// The path.
    pub path: PathBuf,
    /// What was wrong with it.
    pub reason: String,
}

impl fmt::Display for WalkError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for WalkError {}

/// Walks over all files and links under a folder, ordered by name, following no link but the root.
///
/// An error at one place is an item like any other, and the walk goes on.
pub fn walk_files(root: &Path) -> impl Iterator<Item = Result<FoundFile, WalkError>> + use<> {
    let root = root.to_owned();
    walk_all(&root).sort_by_file_name().into_iter().filter_map(move |entry| {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let path = error.path().unwrap_or(&root).to_owned();
                let reason = match error.io_error() {
                    Some(error) => error.to_string(),
                    None => error.to_string(),
                };
                return Some(Err(WalkError { path, reason }));
            }
        };
        let kind = entry.file_type();
        if kind.is_dir() {
            return None;
        }
        let path = entry.path().to_owned();
        if entry.depth() == 0 && kind.is_symlink() {
            match is_fenced(&path) {
                true => return Some(Err(WalkError { path, reason: link_error().to_string() })),
                // It is the folder that is walked, not something in it.
                false if path.is_dir() => return None,
                false => {}
            }
        }
        let err = |path: PathBuf, reason: String| Some(Err(WalkError { path, reason }));
        if !kind.is_file() && !kind.is_symlink() {
            return err(path, NOT_REGULAR.to_owned());
        }
        let metadata = match entry.metadata() {
            Ok(metadata) => metadata,
            Err(error) => return err(path, io::Error::from(error).to_string()),
        };
        let link = match kind.is_symlink().then(|| fs::read_link(&path)).transpose() {
            Ok(link) => link,
            Err(error) => return err(path, error.to_string()),
        };
        let relative = match path.strip_prefix(&root) {
            Ok(relative) if !relative.as_os_str().is_empty() => relative.to_owned(),
            _ => PathBuf::from(entry.file_name()),
        };
        Some(Ok(FoundFile { path, relative, metadata, link }))
    })
}

/// Walks over everything under a folder, following no link but the root; below a fence not that
/// either, nor one on the way to it.
pub(super) fn walk_all(root: &Path) -> WalkDir {
    let fenced = is_fenced(root);
    // What cannot be reached without a link is not looked for at all: an empty path is nowhere.
    let hidden = fenced && symlink_metadata(root).is_err_and(|err| is_link_error(&err));
    let root = if hidden { Path::new("") } else { root };
    WalkDir::new(root).follow_root_links(!fenced)
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use super::*;
    #[cfg(unix)]
    use std::fs::File;

    #[cfg(unix)]
    #[test]
    fn a_stamp_shows_a_restored_date() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "one").unwrap();
        let metadata = fs::metadata(&path).unwrap();
        let before = Stamp::of(&metadata);
        fs::write(&path, "two").unwrap();
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(metadata.modified().unwrap())
            .unwrap();
        let after = Stamp::of(&fs::metadata(&path).unwrap());
        assert_eq!(
            (before.size, before.mtime_ns, before.inode),
            (after.size, after.mtime_ns, after.inode)
        );
        assert_ne!(before, after);
        let value = serde_yaml::to_string(&after).unwrap();
        assert_eq!(serde_yaml::from_str::<Stamp>(&value).unwrap(), after);
    }

    #[cfg(unix)]
    #[test]
    fn the_walk_is_ordered_and_goes_on_after_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("b/deep")).unwrap();
        fs::create_dir_all(at("empty")).unwrap();
        for name in ["c", "b/deep/z", "b/a", "B"] {
            fs::write(at(name), name).unwrap();
        }
        std::os::unix::fs::symlink("..", at("b/loop")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("a socket")).unwrap();
        let shown: Vec<_> = walk_files(folder.path())
            .map(|item| match item {
                Ok(FoundFile { relative, link: None, metadata, .. }) => {
                    format!("{} {}", relative.display(), metadata.len())
                }
                Ok(FoundFile { relative, link: Some(link), .. }) => {
                    format!("{} -> {}", relative.display(), link.display())
                }
                Err(WalkError { path, reason }) => {
                    format!("{}! {reason}", path.strip_prefix(folder.path()).unwrap().display())
                }
            })
            .collect();
        assert_eq!(
            shown,
            ["B 1", "a socket! not a regular file", "b/a 3", "b/deep/z 8", "b/loop -> ..", "c 1"]
        );

        let alone: Vec<_> = walk_files(&at("c")).map(|item| item.unwrap().relative).collect();
        assert_eq!(alone, [Path::new("c")]);
        let missing: Vec<_> = walk_files(&at("missing")).map(|item| item.unwrap_err()).collect();
        assert_eq!(missing.len(), 1);
        assert!(missing[0].to_string().starts_with(at("missing").to_str().unwrap()));
    }
}
