//! Who else writes to a file: what cannot be asked of every system.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

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
        // SAFETY: the descriptor is open for as long as `file` is borrowed, and both commands take a
        // number.
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
