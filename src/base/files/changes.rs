//! The plain changes to the disk, one function each: nobody else makes them, so that every one of
//! them can be made to fail in a test.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use super::faults::{self, Point};
use super::folders::parent_of;
use super::locks::detach;
use super::place::{self, Access, Place};
use super::{NOT_REGULAR, if_found, read_dir, symlink_metadata};

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
    Ok(NewFile { file: place::open(path, Access::New { private: false })? })
}

/// Creates a file that only its owner can read, and that must not be there yet.
pub fn create_new_private(path: &Path) -> io::Result<NewFile> {
    faults::point(Point::Write)?;
    Ok(NewFile { file: place::open(path, Access::New { private: true })? })
}

/// Writes a file in a folder of our own that nobody reads before it is whole, such as one in the
/// making. A file that is there is replaced by a new one: it may have a second name elsewhere.
pub fn write_plain(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let place = Place::of(path)?;
    let write = |bytes: &[u8]| -> io::Result<()> {
        let new = || place.open(Access::New { private: false });
        let file = match new() {
            Err(err) if err.kind() == ErrorKind::AlreadyExists => {
                if_found(place.remove_file())?;
                new()
            }
            opened => opened,
        };
        file?.write_all(bytes)
    };
    faults::write_point(|| drop(write(&bytes[..bytes.len() / 2])))?;
    write(bytes)
}

/// Adds bytes to the end of a file of this device's own by one write, without lock or sync; returns
/// how long it is then.
pub fn append_plain(path: &Path, bytes: &[u8]) -> io::Result<u64> {
    create_folder(parent_of(path))?;
    let mut file = match place::open(path, Access::Append) {
        Err(err) if err.kind() == ErrorKind::NotFound => {
            match place::open(path, Access::New { private: false }) {
                Err(err) if err.kind() == ErrorKind::AlreadyExists => {}
                made => drop(made?),
            }
            place::open(path, Access::Append)?
        }
        opened => opened?,
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, NOT_REGULAR));
    }
    if detach(&mut file, path)? {
        file = place::open(path, Access::Append)?;
    }
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
    Place::of(from)?.rename(&Place::of(to)?)
}

/// Removes a file; one that is not there is no error.
pub fn remove_file(path: &Path) -> io::Result<()> {
    faults::point(Point::Remove)?;
    if_found(Place::of(path).and_then(|place| place.remove_file())).map(drop)
}

/// Removes a folder with all that is in it; one that is not there is no error.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    if if_found(symlink_metadata(path)).is_ok_and(|found| found.is_none()) {
        return Ok(());
    }
    faults::remove_point(|| remove_half(path))?;
    if_found(Place::of(path).and_then(|place| place::remove_tree(&place))).map(drop)
}

/// Removes a folder that holds nothing; one that does is left, and that is an error.
pub fn remove_empty_folder(path: &Path) -> io::Result<()> {
    faults::point(Point::Remove)?;
    if_found(Place::of(path).and_then(|place| place.remove_empty_folder())).map(drop)
}

/// Removes some of what is in a folder, as a process does that is killed while it removes all.
fn remove_half(path: &Path) {
    let entries: Vec<_> = read_dir(path).into_iter().flatten().flatten().collect();
    for entry in entries.iter().take(entries.len().div_ceil(2)) {
        let _ = Place::of(&entry.path()).and_then(|place| place::remove_tree(&place));
    }
}
