//! Reading: whole files, their beginnings, folders, and what the file system says of them.
//!
//! Only regular files are read: a pipe or a device in place of one would be an endless wait. Below
//! a [`super::Fence`] no link is followed; what a link leads to is not there.

use std::fs::{File, Metadata, ReadDir};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use super::NOT_REGULAR;
use super::fence::is_fenced;
use super::place::{self, Access};

/// The longest file that is read whole. Pages are far shorter; logs are never held whole.
const MOST: u64 = 512 << 20;

const NOT_UTF8: &str = "stream did not contain valid UTF-8";

/// Opens a regular file for reading.
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    open_sized(path.as_ref()).map(|(file, _)| file)
}

fn open_sized(path: &Path) -> io::Result<(File, u64)> {
    let file = place::open(path, Access::Read)?;
    let metadata = file.metadata()?;
    match metadata.is_file() {
        true => Ok((file, metadata.len())),
        false => Err(io::Error::new(ErrorKind::InvalidInput, NOT_REGULAR)),
    }
}

/// Reads a regular file.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let (file, size) = open_sized(path.as_ref())?;
    let too_long = || io::Error::new(ErrorKind::FileTooLarge, "too long to be read whole");
    if size > MOST {
        return Err(too_long());
    }
    // It may grow, or have no end although the system calls it empty.
    let bytes = take(file, size, MOST + 1)?;
    if bytes.len() as u64 > MOST { Err(too_long()) } else { Ok(bytes) }
}

/// Reads a regular file as text.
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| io::Error::new(ErrorKind::InvalidData, NOT_UTF8))
}

/// Reads a file, or as much of its beginning as is allowed.
pub fn read_at_most(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    let (file, size) = open_sized(path.as_ref())?;
    take(file, size, most)
}

fn take(file: File, size: u64, most: u64) -> io::Result<Vec<u8>> {
    // Room for all of it, or it would be read in many small pieces.
    let mut bytes = Vec::new();
    let room = usize::try_from(size.min(most)).unwrap_or(usize::MAX).saturating_add(1);
    bytes.try_reserve_exact(room).map_err(|_| ErrorKind::OutOfMemory)?;
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Lists a folder.
pub fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    if is_fenced(path.as_ref()) {
        place::open(path.as_ref(), Access::Folder)?;
    }
    std::fs::read_dir(path)
}

/// What the file system says of a file or folder; below a fence, a link is an error.
pub fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    place::look_through(path.as_ref())
}

/// What the file system says of whatever has this name, which may be a link.
pub fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    place::look(path.as_ref())
}

/// Whether something has this name; below a fence that may be a link that leads nowhere.
pub fn exists(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref();
    match is_fenced(path) {
        true => place::look(path).is_ok(),
        false => path.exists(),
    }
}

/// Whether there is a regular file; below a fence, a link is none.
pub fn is_file(path: impl AsRef<Path>) -> bool {
    metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Whether there is a folder; below a fence, a link is none.
pub fn is_dir(path: impl AsRef<Path>) -> bool {
    metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_absurd_length_is_not_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse");
        let file = File::create(&path).unwrap();
        file.set_len(1 << 40).unwrap();
        assert_eq!(read_at_most(&path, 3).unwrap(), [0; 3]);
        assert_eq!(read(&path).unwrap_err().kind(), ErrorKind::FileTooLarge);
        file.set_len(4).unwrap();
        assert_eq!(read_to_string(&path).unwrap(), "\0\0\0\0");
    }
}
