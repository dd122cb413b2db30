//! A temporary file stands beside the file whose place it is to take, and is removed if it never
//! does.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::faults::{self, Point};
use super::folders::{create_folders_synced, parent_of, sync_folder};
use super::place::{Access, Place};

const PREFIX: &str = ".memtree-";
const SUFFIX: &str = ".tmp";

/// Whether a name is that of a temporary file of ours, which a killed process may have left behind.
pub fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(PREFIX.as_bytes()) && name.ends_with(SUFFIX.as_bytes())
}

/// A name that nobody else has.
pub(super) fn temporary_name() -> OsString {
    // The standard library has no random numbers but these.
    let number = RandomState::new().hash_one(std::process::id());
    format!("{PREFIX}{number:016x}{SUFFIX}").into()
}

/// A temporary file that is open.
#[derive(Debug)]
pub(super) struct Temporary {
    file: File,
    closed: Closed,
}

/// A temporary file that was written; it waits for its place. No file is held open, since there may
/// be very many.
#[derive(Debug)]
pub(super) struct Closed {
    name: OsString,
    path: PathBuf,
    is_placed: bool,
}

impl Temporary {
    /// Creates an empty temporary file beside a path, with the mode the file is to have.
    pub fn beside(path: &Path) -> io::Result<Temporary> {
        Temporary::new(path, false)
    }

    /// The same; a file that is not there yet may be only its owner's to read.
    fn new(path: &Path, private: bool) -> io::Result<Temporary> {
        faults::point(Point::Write)?;
        let place = match Place::of(path) {
            Err(err) if err.kind() == ErrorKind::NotFound => {
                create_folders_synced(parent_of(path))?;
                Place::of(path)?
            }
            found => found?,
        };
        let (file, name) = loop {
            let name = temporary_name();
            match place.beside(&name).open(Access::New { private }) {
                Err(err) if err.kind() == ErrorKind::AlreadyExists => {}
                made => break (made?, name),
            }
        };
        let closed = Closed { name, path: path.to_owned(), is_placed: false };
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let is_file = super::symlink_metadata(path).ok().filter(|found| found.is_file());
            let permissions = match is_file {
                Some(metadata) => Some(metadata.permissions()),
                // Never more than readable to others, whatever the umask lets through.
                None => {
                    let mode = file.metadata()?.permissions().mode() & 0o7777;
                    (mode & !0o644 != 0).then(|| std::fs::Permissions::from_mode(mode & 0o644))
                }
            };
            if let Some(permissions) = permissions {
                file.set_permissions(permissions)?;
            }
        }
        Ok(Temporary { file, closed })
    }

    /// Creates one that holds some bytes, not synced.
    pub fn with(path: &Path, bytes: &[u8]) -> io::Result<Temporary> {
        Temporary::beside(path)?.holding(bytes)
    }

    /// The same, of a file that is only its owner's to read where it is not there yet.
    pub fn private_with(path: &Path, bytes: &[u8]) -> io::Result<Temporary> {
        Temporary::new(path, true)?.holding(bytes)
    }

    fn holding(self, bytes: &[u8]) -> io::Result<Temporary> {
        let mut temporary = self;
        faults::write_point(|| drop((&temporary.file).write_all(&bytes[..bytes.len() / 2])))?;
        temporary.file.write_all(bytes)?;
        Ok(temporary)
    }

    #[cfg(unix)]
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Closes it, to be put in its place later.
    pub fn close(self) -> Closed {
        self.closed
    }

    /// Syncs it and gives it its name for good.
    pub fn put_in_place(self) -> io::Result<()> {
        faults::point(Point::Sync)?;
        self.file.sync_all()?;
        let folder = parent_of(&self.closed.path).to_owned();
        self.closed.persist()?;
        sync_folder(&folder)
    }
}

impl Closed {
    /// Its temporary path.
    pub fn path(&self) -> PathBuf {
        self.path.with_file_name(&self.name)
    }

    /// The path that it is to have.
    pub fn target(&self) -> &Path {
        &self.path
    }

    /// Its temporary name.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Leaves whatever has its temporary name by now; returns where that is.
    pub fn keep(mut self) -> PathBuf {
        self.is_placed = true;
        self.path()
    }

    /// Gives it its name for good, without syncing.
    pub fn persist(mut self) -> io::Result<()> {
        faults::point(Point::Rename)?;
        let place = Place::of(&self.path)?;
        place.beside(&self.name).rename(&place)?;
        self.is_placed = true;
        Ok(())
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        if !self.is_placed {
            // Best effort: what is left is known by its name.
            let _ = Place::of(&self.path).and_then(|place| place.beside(&self.name).remove_file());
        }
    }
}
