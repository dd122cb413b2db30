//! A folder holds names, which are durable only once it has been synced itself.
//!
//! Here folders are created, some closed to all but their owner, and made to outlast a power loss.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::faults::{self, Point};
use super::place::{self, Access, Place};
use super::walk::walk_all;
use super::{is_dir, is_link_error, metadata};

/// Creates a folder that only its owner can enter, with the folders above it; closes one that stood
/// open.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    create_folders_as(path, 0o700)?;
    #[cfg(unix)]
    close(path, 0o700)?;
    Ok(())
}

/// Closes a file or folder to everybody but its owner, if it stands open.
#[cfg(unix)]
fn close(path: &Path, mode: u32) -> io::Result<()> {
    let place = Place::of(path)?;
    if place.mode().is_some_and(|found| found & 0o077 != 0) {
        faults::point(Point::Write)?;
        place.set_mode(mode)?;
    }
    Ok(())
}

/// Closes a folder and all that is in it to everybody but its owner; links are left alone.
#[cfg(unix)]
pub fn make_private(folder: &Path) -> io::Result<()> {
    for entry in walk_all(folder) {
        let entry = entry?;
        match entry.file_type() {
            kind if kind.is_dir() => close(entry.path(), 0o700)?,
            kind if kind.is_file() => close(entry.path(), 0o600)?,
            _ => {}
        }
    }
    Ok(())
}

/// Elsewhere a person's own folders are closed to others already.
#[cfg(not(unix))]
pub fn make_private(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Lets a file be run as a program.
#[cfg(unix)]
pub fn make_executable(path: &Path) -> io::Result<()> {
    faults::point(Point::Write)?;
    Place::of(path)?.set_mode(0o755)
}

/// Elsewhere every file may be.
#[cfg(not(unix))]
pub fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Creates a folder and those above it; returns the folders to sync, so that the new ones outlast a
/// power loss.
pub(super) fn create_folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    create_folders_as(folder, 0o777)
}

fn create_folders_as(folder: &Path, mode: u32) -> io::Result<Vec<PathBuf>> {
    match metadata(folder) {
        Ok(metadata) if metadata.is_dir() => return Ok(Vec::new()),
        Err(err) if is_link_error(&err) => return Err(err),
        _ => {}
    }
    let parent = parent_of(folder);
    let mut changed = create_folders_as(parent, mode)?;
    faults::point(Point::Folder)?;
    match Place::of(folder)?.create_folder(mode) {
        // Whoever else is just creating it may not have synced it yet.
        Err(err) if err.kind() != ErrorKind::AlreadyExists || !is_dir(folder) => {
            return Err(err);
        }
        _ => changed.push(parent.to_owned()),
    }
    Ok(changed)
}

pub(super) fn create_folders_synced(folder: &Path) -> io::Result<()> {
    create_folders(folder)?.iter().try_for_each(|changed| sync_folder(changed))
}

/// Returns the folder a path lies in, which for a bare name is the current one.
pub(super) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Makes the names in a folder durable, where the system lets us.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    faults::point(Point::Sync)?;
    match place::open(folder, Access::Folder)?.sync_all() {
        // Some network file systems cannot sync a folder and need not.
        Err(err) if err.kind() == ErrorKind::InvalidInput => Ok(()),
        done => done,
    }
}

pub(super) fn sync_file(path: &Path) -> io::Result<()> {
    // Windows only syncs what is open for writing; elsewhere the file may be read-only.
    faults::point(Point::Sync)?;
    let access = if cfg!(windows) { Access::Append } else { Access::Read };
    place::open(path, access)?.sync_all()
}

/// Syncs every file and folder under a folder, one by one.
pub(super) fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in walk_all(folder).contents_first(true) {
        let entry = entry?;
        match entry.file_type() {
            kind if kind.is_dir() => sync_folder(entry.path())?,
            kind if kind.is_file() => sync_file(entry.path())?,
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use super::super::tests::{mode, set_mode};
    #[cfg(unix)]
    use super::*;

    #[cfg(unix)]
    #[test]
    fn private_folders_are_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/raw");
        create_private_dir(&path).unwrap();
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o700, 0o700));
        set_mode(&path, 0o755);
        create_private_dir(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
    }
}
