//! Files: written whole or not at all, appended to under a lock, copied with their hash, walked in
//! order.
//!
//! [`write_atomic`] and [`Batch`] put whole files in place by renaming; [`replace`] and
//! [`Batch::merge`] do so with pages that a person may be editing; [`append_locked`] and
//! [`update_locked`] change a file that other processes change too; [`FileLock`] keeps a job to one
//! process at a time. [`safe_name`] and [`safe_relative`] stand between a name that somebody else
//! chose and a path. Nothing here follows a symbolic link in order to write, and below a [`Fence`]
//! none in order to read.

mod batch;
mod changes;
mod copies;
mod dir_handle;
mod exchange;
mod faults;
mod fence;
mod folders;
mod locks;
mod names;
mod notes;
mod place;
mod reading;
mod replace;
mod temporary;
mod walk;
mod writers;

use std::io::{self, ErrorKind};
use std::path::Path;

pub use batch::Batch;
pub use changes::{
    NewFile, append_plain, create_folder, create_new, create_new_private, remove_empty_folder,
    remove_file, remove_folder, rename, write_plain,
};
pub use copies::{HashingWriter, copy_hashed, hash_file, sha256_hex};
pub use dir_handle::DirHandle;
pub use fence::{Fence, is_link_error};
pub use folders::{create_private_dir, make_executable, make_private};
pub use locks::{
    FileLock, append_locked, append_page_if, lock_exclusive, try_lock_exclusive, update_locked,
};
pub use names::{safe_name, safe_relative};
pub use notes::Replacing;
pub use reading::{
    exists, is_dir, is_file, metadata, open, read, read_at_most, read_dir, read_to_string,
    symlink_metadata,
};
pub use replace::{Merge, SharedMerge, recover, replace};
pub use temporary::is_temporary;
pub use walk::{FoundFile, Stamp, walk_files};

use temporary::Temporary;

use crate::base::clock;

/// Replaces a file as a whole: whoever reads it finds the old or the new content, also after a
/// power loss.
///
/// A missing folder is created, the mode of an existing file is kept, and a symbolic link is
/// replaced, not followed: a caller who means its target resolves it first.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    Temporary::with(path, bytes)?.put_in_place()
}

/// Does the same; a new file is only its owner's to read.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    Temporary::private_with(path, bytes)?.put_in_place()
}

/// Does the same, unless the file already holds just these bytes; returns whether it wrote.
pub fn write_if_changed(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    // The length is compared first, so that most changed files need not be read.
    let unchanged = match if_exists(symlink_metadata(path))? {
        Some(metadata) => {
            metadata.is_file() && metadata.len() == bytes.len() as u64 && read(path)? == bytes
        }
        None => false,
    };
    if !unchanged {
        write_atomic(path, bytes)?;
    }
    Ok(!unchanged)
}

/// Lets a file look as if it had just been written.
pub fn touch(path: &Path) -> io::Result<()> {
    faults::point(faults::Point::Write)?;
    place::open(path, place::Access::Append)?.set_modified(clock::of_files())
}

/// Turns the error that something is not there into `None`. Below a fence, what a link leads to is
/// not there.
pub fn if_exists<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(err) if is_link_error(&err) => Ok(None),
        other => if_found(other),
    }
}

/// Turns the error that something is not there into `None`, for who is about to change it: there, a
/// link in the way is an error.
fn if_found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Replaces a file as a whole without waiting for the disk: for notes that may be lost with the
/// power.
pub fn write_unsynced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    Temporary::with(path, bytes)?.close().persist()
}

const NOT_REGULAR: &str = "not a regular file";

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::{Child, Command, Stdio};

    pub(super) fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != ".own")
            .collect();
        names.sort();
        names
    }

    #[cfg(unix)]
    pub(super) fn mode(path: &Path) -> u32 {
        use std::os::unix::fs::PermissionsExt;
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[cfg(unix)]
    pub(super) fn set_mode(path: &Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Where it is noted what is replaced in the folder of a file.
    pub(super) fn replacing(path: &Path) -> Replacing {
        let folder = path.parent().unwrap();
        Replacing::new(folder, folder.join(".own/replacing"), folder.join(".own/pages"))
    }

    /// Appends a line to a day.
    pub(super) fn append(path: &Path, line: &str) {
        let header = || "# Day".to_owned();
        assert!(append_page_if(&replacing(path), path, header, line, |_| Ok(true)).unwrap());
    }

    /// Starts this test binary again to do one job of [`as_another_process`].
    pub(super) fn start(job: &str, path: &Path) -> Child {
        let (_, module) = module_path!().split_once("::").unwrap();
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("{module}::as_another_process"), "--nocapture"])
            .env("MEMTREE_TEST_JOB", job)
            .env("MEMTREE_TEST_PATH", path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    #[test]
    fn as_another_process() {
        let (Ok(job), Some(path)) =
            (std::env::var("MEMTREE_TEST_JOB"), std::env::var_os("MEMTREE_TEST_PATH"))
        else {
            return;
        };
        let path = Path::new(&path);
        match job.as_str() {
            "rewrite" => (0..50).for_each(|number| {
                let rewritten = update_locked(&replacing(path), path, |before| {
                    let before = if before.is_empty() { b"# Day\n" } else { before };
                    let line = format!("rewrite {number}\n");
                    // Asked again, it may be there.
                    let text = String::from_utf8_lossy(before);
                    Ok((!text.contains(&line)).then(|| [before, line.as_bytes()].concat()))
                });
                assert!(rewritten.unwrap());
            }),
            "batches" => {
                for number in 0_u64.. {
                    let content = vec![b'0' + (number % 10) as u8; 100_000];
                    let mut batch = Batch::new();
                    for name in ["a", "b", "c", "d", "e"] {
                        batch.write(&path.join(name), &content).unwrap();
                    }
                    batch.commit().unwrap();
                    println!("\ncommitted {number}");
                }
            }
            name => (0..50).for_each(|number| {
                append(path, &format!("{name} {number}"));
            }),
        }
    }

    #[test]
    fn write_atomic_creates_replaces_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/page.md");
        write_atomic(&path, b"one").unwrap();
        write_atomic(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(path.parent().unwrap()), ["page.md"]);

        let taken = folder.path().join("taken");
        fs::create_dir_all(taken.join("full")).unwrap();
        assert!(write_atomic(&taken, b"three").is_err());
        assert!(write_atomic(&path.join("below a file"), b"four").is_err());
        assert_eq!(names(folder.path()), ["a", "taken"]);
    }

    #[cfg(unix)]
    #[test]
    fn write_atomic_keeps_the_mode_and_replaces_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (path, fresh) = (folder.path().join("page.md"), folder.path().join("fresh.md"));
        for kept in [0o600, 0o444, 0o755] {
            fs::write(&path, "old").unwrap();
            set_mode(&path, kept);
            write_atomic(&path, b"new").unwrap();
            assert_eq!(mode(&path), kept);
            fs::remove_file(&path).unwrap();
        }
        write_atomic(&fresh, b"new").unwrap();
        assert_eq!(mode(&fresh) & !0o644, 0);
        assert_eq!(mode(&fresh) & 0o600, 0o600);

        let (link, outside) = (folder.path().join("link.md"), folder.path().join("outside"));
        fs::write(&outside, "precious").unwrap();
        std::os::unix::fs::symlink(&outside, &link).unwrap();
        assert!(write_if_changed(&link, b"precious").unwrap());
        assert!(fs::symlink_metadata(&link).unwrap().is_file());
        assert_eq!(fs::read(&outside).unwrap(), b"precious");
    }

    #[test]
    fn write_if_changed_leaves_an_equal_file_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.md");
        assert!(write_if_changed(&path, b"one").unwrap());
        let before = Stamp::of(&fs::metadata(&path).unwrap());
        assert!(!write_if_changed(&path, b"one").unwrap());
        assert_eq!(Stamp::of(&fs::metadata(&path).unwrap()), before);
        assert!(write_if_changed(&path, b"two").unwrap());
        assert_ne!(Stamp::of(&fs::metadata(&path).unwrap()), before);
    }
}
