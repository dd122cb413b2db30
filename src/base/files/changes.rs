//! The plain changes to the disk, one function each: nobody else makes them, so that every one of
//! them can be made to fail in a test.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use super::faults::{self, Point};
use super::if_exists;

/// A file that is being written. It is not synced: that is the work of whoever puts it in its
/// place.
#[derive(Debug)]
pub struct NewFile {
    file: File,
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        faults::write_point(|| drop(self.file.write_all(&bytes[..bytes.len() / 2])))?;
        self.file.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Creates a file that must not be there yet.
pub fn create_new(path: &Path) -> io::Result<NewFile> {
    faults::point(Point::Write)?;
    Ok(NewFile { file: OpenOptions::new().write(true).create_new(true).open(path)? })
}

/// Creates a file that only its owner can read, and that must not be there yet.
pub fn create_new_private(path: &Path) -> io::Result<NewFile> {
    faults::point(Point::Write)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    Ok(NewFile { file: options.open(path)? })
}

/// Writes a file in a folder of our own that nobody reads before it is whole, such as one in the
/// making.
pub fn write_plain(path: &Path, bytes: &[u8]) -> io::Result<()> {
    faults::write_point(|| drop(fs::write(path, &bytes[..bytes.len() / 2])))?;
    fs::write(path, bytes)
}

/// Adds bytes to the end of a file of this device's own by one write, without lock or sync; returns
/// how long it is then.
pub fn append_plain(path: &Path, bytes: &[u8]) -> io::Result<u64> {
    create_folder(super::folders::parent_of(path))?;
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let half = bytes.len() / 2;
    faults::write_point(|| drop((&file).write_all(&bytes[..half])))?;
    file.write_all(bytes)?;
    Ok(file.metadata()?.len())
}

/// Creates a folder and those above it.
pub fn create_folder(path: &Path) -> io::Result<()> {
    super::folders::create_folders(path).map(drop)
}

/// Moves a file or folder to a name that is free, or is a file's.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    faults::point(Point::Rename)?;
    fs::rename(from, to)
}

/// Removes a file; one that is not there is no error.
pub fn remove_file(path: &Path) -> io::Result<()> {
    faults::point(Point::Remove)?;
    if_exists(fs::remove_file(path)).map(drop)
}

/// Removes a folder with all that is in it; one that is not there is no error.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    if if_exists(fs::symlink_metadata(path)).is_ok_and(|found| found.is_none()) {
        return Ok(());
    }
    faults::remove_point(|| remove_half(path))?;
    if_exists(fs::remove_dir_all(path)).map(drop)
}

/// Removes a folder that holds nothing; one that does is left, and that is an error.
pub fn remove_empty_folder(path: &Path) -> io::Result<()> {
    faults::point(Point::Remove)?;
    if_exists(fs::remove_dir(path)).map(drop)
}

/// Removes some of what is in a folder, as a process does that is killed while it removes all.
fn remove_half(path: &Path) {
    let entries: Vec<_> = fs::read_dir(path).into_iter().flatten().flatten().collect();
    for entry in entries.iter().take(entries.len().div_ceil(2)) {
        let path = entry.path();
        let _ = if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            fs::remove_dir_all(path)
        } else {
            fs::remove_file(path)
        };
    }
}
