//! Processes, and what they cost.

use std::path::Path;
use std::process::Command;
use std::{env, io};

use crate::BoxError;

/// What a process took.
#[derive(Clone, Copy)]
pub struct Cost {
    pub cpu_ms: f64,
    pub wall_ms: f64,
}

/// The program, with a memory and nothing of this machine's.
pub fn memtree(memory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_memtree"));
    command.env_clear().env("HOME", memory.with_extension("home")).env("MEMTREE_DEVICE", "bench");
    command.arg("--store").arg(memory);
    command
}

/// A floor: this same program, as a process of its own.
pub fn floor<const N: usize>(name: &str, paths: [&Path; N]) -> io::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.args(["--floor", name]).args(paths);
    Ok(command)
}

/// Runs a process to its end.
pub fn cost(command: &mut Command) -> Result<Cost, BoxError> {
    cost_with_input(command, "")
}

/// The same, with something on stdin. What the process leaves behind is not waited for and does not
/// count.
#[cfg(unix)]
pub fn cost_with_input(command: &mut Command, input: &str) -> Result<Cost, BoxError> {
    use std::io::Write;
    use std::process::Stdio;
    use std::time::Instant;

    let started = Instant::now();
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // Who does not listen is done already.
        let _ = stdin.write_all(input.as_bytes());
    }
    let mut status = 0;
    // SAFETY: all zeroes is a valid value of this plain struct, and both pointers are to living
    // values.
    let (ended, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage), usage)
    };
    let wall_ms = started.elapsed().as_secs_f64() * 1e3;
    if ended < 0 || !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != 0 {
        return Err(format!("{command:?} failed").into());
    }
    let ms = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    Ok(Cost { cpu_ms: ms(usage.ru_utime) + ms(usage.ru_stime), wall_ms })
}

#[cfg(not(unix))]
pub fn cost_with_input(_: &mut Command, _: &str) -> Result<Cost, BoxError> {
    Err("CPU time is measured with `wait4`, which only Unix has".into())
}
