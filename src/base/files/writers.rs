//! Who else writes to an open file, or put another in its place: what cannot be asked of every
//! system.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

#[cfg(not(unix))]
use super::Stamp;
use super::{if_found, symlink_metadata};

/// Whether somebody has a file open to write to it, as far as the system says; the file itself has
/// to be open for reading alone.
///
/// Linux gives a lease for reading only where nobody can write. It is given back at once; should
/// somebody open the file in between, the signal about it is one that does nothing.
#[cfg(target_os = "linux")]
pub(super) fn has_writer(file: &File) -> io::Result<bool> {
    use std::os::fd::AsRawFd;
    // The same on every kind of processor that we build for.
    const F_SETSIG: libc::c_int = 10;
    let fcntl = |command: libc::c_int, value: libc::c_int| {
        // SAFETY: the descriptor is open for as long as `file` is borrowed, and both commands take
        // a number.
        match unsafe { libc::fcntl(file.as_raw_fd(), command, value) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    fcntl(F_SETSIG, libc::SIGURG)?;
    match fcntl(libc::F_SETLEASE, libc::F_RDLCK) {
        Ok(()) => fcntl(libc::F_SETLEASE, libc::F_UNLCK).map(|()| false),
        Err(err) if err.raw_os_error() == Some(libc::EAGAIN) => Ok(true),
        // A file of another user, or a file system without leases.
        Err(_) => was_just_written(file),
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn has_writer(file: &File) -> io::Result<bool> {
    was_just_written(file)
}

/// Waits for a while until nobody writes to a file.
pub(super) fn wait_for_writer(file: &File) -> io::Result<()> {
    const LONGEST: Duration = Duration::from_millis(300);
    let until = Instant::now() + LONGEST;
    while has_writer(file)? && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Whether a file was changed so lately that more may come.
fn was_just_written(file: &File) -> io::Result<bool> {
    const LATELY: Duration = Duration::from_millis(30);
    let age = file.metadata()?.modified()?.elapsed();
    Ok(age.is_ok_and(|age| age < LATELY))
}

/// Returns whether a path still names an open file.
pub(super) fn is_current(file: &File, path: &Path) -> io::Result<bool> {
    let Some(named) = if_found(symlink_metadata(path))? else { return Ok(false) };
    let open = file.metadata()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Ok((open.dev(), open.ino()) == (named.dev(), named.ino()))
    }
    // Elsewhere the standard library does not give a file's number. Nobody writes to the file whose
    // lock we hold, so it is the same if it has the same size and time; a file that replaced it was
    // written later.
    #[cfg(not(unix))]
    Ok(Stamp::of(&open) == Stamp::of(&named))
}
