//! Putting a file into a place that may be taken, in such a way that what stood there is not lost.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::faults::{self, Point};
use super::folders::parent_of;
use super::{TEMPORARY_PREFIX, TEMPORARY_SUFFIX};

/// What came of it.
pub(super) enum Put {
    /// It is in place; what stood there is under this name now.
    Done(Option<PathBuf>),
    /// Nothing stands there although something should, or the other way round; nothing was done.
    Other(TempPath),
}

/// Puts a temporary file in its place. Where `replaces` says so, it takes the place of what stands
/// there, which gets a temporary name; otherwise it takes the place only if it is free.
pub(super) fn put(temporary: TempPath, path: &Path, replaces: bool) -> io::Result<Put> {
    faults::point(Point::Rename)?;
    if !replaces {
        return match temporary.persist_noclobber(path) {
            Ok(()) => Ok(Put::Done(None)),
            Err(err) if err.error.kind() == ErrorKind::AlreadyExists => Ok(Put::Other(err.path)),
            Err(err) => Err(err.error),
        };
    }
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    match exchange(&temporary, path) {
        Ok(true) => return Ok(Put::Done(Some(temporary.keep()?))),
        Ok(false) => {}
        Err(err) if err.kind() == ErrorKind::NotFound => return Ok(Put::Other(temporary)),
        Err(err) => return Err(err),
    }
    move_over(temporary, path)
}

/// Exchanges two names; false where the system or its file system cannot.
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(true),
        // Not every file system can do it.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(false),
        Err(err) => Err(err.into()),
    }
}

/// Does what an exchange does in two steps: what stands there gets a second name first. Who saves
/// by renaming just between the two is not seen.
fn move_over(temporary: TempPath, path: &Path) -> io::Result<Put> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY_PREFIX).suffix(TEMPORARY_SUFFIX);
    let aside = builder.make_in(parent_of(path), |aside| fs::hard_link(path, aside));
    let aside = match aside {
        Ok(aside) => Some(aside.into_temp_path().keep()?),
        Err(err) if err.kind() == ErrorKind::NotFound => return Ok(Put::Other(temporary)),
        // Without second names, what stood there cannot be looked at any more.
        Err(_) => None,
    };
    temporary.persist(path)?;
    Ok(Put::Done(aside))
}
