//! A folder holds names, which are durable only once it has been synced itself.
//!
//! Here folders are created, some closed to all but their owner, and made to outlast a power loss.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::faults::{self, Point};

/// Creates a folder that only its owner can enter, with the folders above it; closes one that stood
/// open.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    if !path.is_dir() {
        faults::point(Point::Folder)?;
    }
    builder.create(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = fs::symlink_metadata(path)?;
        if metadata.is_dir() && metadata.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
        }
    }
    Ok(())
}

/// Closes a folder and all that is in it to everybody but its owner; links are left alone.
#[cfg(unix)]
pub fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    for entry in WalkDir::new(folder) {
        let entry = entry?;
        let mode = match entry.file_type() {
            kind if kind.is_dir() => 0o700,
            kind if kind.is_file() => 0o600,
            _ => continue,
        };
        if entry.metadata()?.permissions().mode() & 0o077 != 0 {
            faults::point(Point::Write)?;
            fs::set_permissions(entry.path(), fs::Permissions::from_mode(mode))?;
        }
    }
    Ok(())
}

/// Creates a folder and those above it; returns the folders to sync, so that the new ones outlast a
/// power loss.
pub(super) fn create_folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if folder.is_dir() {
        return Ok(Vec::new());
    }
    let parent = parent_of(folder);
    let mut changed = create_folders(parent)?;
    faults::point(Point::Folder)?;
    match fs::create_dir(folder) {
        // Whoever else is just creating it may not have synced it yet.
        Err(err) if err.kind() != ErrorKind::AlreadyExists || !folder.is_dir() => {
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
    match File::open(folder)?.sync_all() {
        // Some network file systems cannot sync a folder and need not.
        Err(err) if err.kind() == ErrorKind::InvalidInput => Ok(()),
        done => done,
    }
}

pub(super) fn sync_file(path: &Path) -> io::Result<()> {
    // Windows only syncs what is open for writing; elsewhere the file may be read-only.
    faults::point(Point::Sync)?;
    OpenOptions::new().read(true).write(cfg!(windows)).open(path)?.sync_all()
}

/// Syncs every file and folder under a folder, one by one.
pub(super) fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in WalkDir::new(folder).contents_first(true) {
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
