//! Faults on purpose: the n-th change to the disk fails, or ends the process, so that tests can try
//! every one of them.
//!
//! Every function of this folder that changes the disk passes a [`point`] first. In a release build
//! that is nothing at all. In a debug build, `MEMTREE_FAULT` says what happens where:
//!
//! - `kill:17` ends the process at the 17th point, as `kill -9` would; a write, or the removal of a
//!   folder, is done by half first;
//! - `fail:17` lets the 17th point fail with an error;
//! - `full:17` lets it fail because the disk is full, and every later write too;
//! - `count:PATH` lets all go well and writes to PATH how many points there were;
//! - `old-kernel` lets all go well, but without the newer system calls.

#[cfg(not(debug_assertions))]
use std::io;

/// A change to the disk that could fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(debug_assertions), allow(dead_code))]
pub(super) enum Point {
    Write,
    Sync,
    Rename,
    Remove,
    Folder,
    Lock,
}

/// Passes a point at which the disk is about to be changed.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub(super) fn point(_: Point) -> io::Result<()> {
    Ok(())
}

/// Does the same before bytes are written; `half` writes the first half of them, for a kill in the
/// middle.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub(super) fn write_point(_: impl FnOnce()) -> io::Result<()> {
    Ok(())
}

/// Does the same before a folder is removed with all that is in it.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub(super) fn remove_point(_: impl FnOnce()) -> io::Result<()> {
    Ok(())
}

/// Whether to do without the newer system calls, as on an old kernel.
#[cfg(all(target_os = "linux", not(debug_assertions)))]
#[inline(always)]
pub(super) fn is_old_kernel() -> bool {
    false
}

#[cfg(all(target_os = "linux", debug_assertions))]
pub(super) use injected::is_old_kernel;
#[cfg(debug_assertions)]
pub(super) use injected::{point, remove_point, write_point};

#[cfg(debug_assertions)]
mod injected {
    use std::io;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::Point;

    enum Fault {
        Kill(u64),
        Fail(u64),
        Full(u64),
        Count(std::path::PathBuf),
    }

    static FAULT: OnceLock<Option<Fault>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);

    pub fn point(what: Point) -> io::Result<()> {
        pass(what, || ())
    }

    pub fn write_point(half: impl FnOnce()) -> io::Result<()> {
        pass(Point::Write, half)
    }

    pub fn remove_point(half: impl FnOnce()) -> io::Result<()> {
        pass(Point::Remove, half)
    }

    #[cfg(target_os = "linux")]
    pub fn is_old_kernel() -> bool {
        std::env::var("MEMTREE_FAULT").is_ok_and(|text| text == "old-kernel")
    }

    fn pass(what: Point, half: impl FnOnce()) -> io::Result<()> {
        let Some(fault) = FAULT.get_or_init(configured) else { return Ok(()) };
        let number = PASSED.fetch_add(1, Ordering::SeqCst) + 1;
        match fault {
            Fault::Kill(at) if number == *at => {
                half();
                std::process::abort();
            }
            Fault::Fail(at) if number == *at => {
                Err(io::Error::other(format!("a fault was asked for ({what:?})")))
            }
            Fault::Full(at) if number >= *at && matches!(what, Point::Write | Point::Folder) => {
                Err(io::ErrorKind::StorageFull.into())
            }
            Fault::Count(path) => std::fs::write(path, number.to_string()),
            _ => Ok(()),
        }
    }

    fn configured() -> Option<Fault> {
        let text = std::env::var("MEMTREE_FAULT").ok()?;
        let (kind, value) = text.split_once(':')?;
        let at = || value.parse().ok();
        Some(match kind {
            "kill" => Fault::Kill(at()?),
            "fail" => Fault::Fail(at()?),
            "full" => Fault::Full(at()?),
            "count" => Fault::Count(value.into()),
            _ => return None,
        })
    }
}
