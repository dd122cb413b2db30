//! Starting work that outlives us: in a session of its own, holding on to nothing of the agent's.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Set for every program that memtree starts: its hooks then do nothing.
pub const INVOKED_BY: &str = "MEMTREE_INVOKED_BY";

/// Starts a program and does not wait for it. It keeps running when the agent ends, and no pipe of
/// the agent stays open for its sake.
pub fn start_detached(program: &Path, arguments: &[OsString], folder: &Path) -> io::Result<()> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env(INVOKED_BY, "hook");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    detach(&mut command);
    command.spawn().map(drop)
}

#[cfg(unix)]
fn detach(command: &mut Command) {
    use std::os::fd::BorrowedFd;
    use std::os::unix::process::CommandExt;

    /// Agents hand down few files; those beyond are closed by themselves when a program starts.
    const MOST_HANDED_DOWN: i32 = 256;

    let apart = || {
        rustix::process::setsid()?;
        for number in 3..MOST_HANDED_DOWN {
            // SAFETY: the number is only asked for its flags; where there is no such file, that is
            // an error, and none of ours.
            let file = unsafe { BorrowedFd::borrow_raw(number) };
            let _ = rustix::io::fcntl_setfd(file, rustix::io::FdFlags::CLOEXEC);
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made, which neither allocate nor take a
    // lock.
    unsafe { command.pre_exec(apart) };
}

#[cfg(windows)]
fn detach(command: &mut Command) {
    use std::os::windows::process::CommandExt;

    const DETACHED_PROCESS: u32 = 0x0000_0008;
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;
    const CREATE_NO_WINDOW: u32 = 0x0800_0000;
    command.creation_flags(DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW);
}

#[cfg(not(any(unix, windows)))]
fn detach(_command: &mut Command) {}
