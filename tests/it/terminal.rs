//! A terminal: a command with a person at both ends, what they type and what they see.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What was on the screen, and how the command ended.
pub struct Screen {
    pub text: String,
    pub code: Option<i32>,
}

/// Both ends of a terminal: the person's and the program's.
fn open() -> (File, File) {
    let (mut person, mut program) = (-1, -1);
    let nothing = std::ptr::null_mut();
    let name = std::ptr::null_mut();
    // SAFETY: both numbers are ours to fill, and nothing else is asked for.
    let opened = unsafe { libc::openpty(&mut person, &mut program, name, nothing, nothing.cast()) };
    assert_eq!(opened, 0, "there are no terminals here");
    // SAFETY: they were just opened, and nobody else has them.
    unsafe { (File::from_raw_fd(person), File::from_raw_fd(program)) }
}

/// Runs a command in a terminal; what is typed is typed at once.
pub fn run(command: &mut Command, typed: &str) -> Screen {
    let (mut person, program) = open();
    let end = || Stdio::from(OwnedFd::from(program.try_clone().unwrap()));
    let mut child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
    // Only the child keeps its end open, so that the screen ends with it.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    drop(program);
    person.write_all(typed.as_bytes()).unwrap();
    let reader = std::thread::spawn(move || {
        let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
        // At the end the system says that nobody is there any more.
        while let Ok(read @ 1..) = person.read(&mut piece) {
            seen.extend_from_slice(&piece[..read]);
        }
        seen
    });
    let began = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        if began.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            panic!("it waits for something that nobody has typed");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = String::from_utf8_lossy(&reader.join().unwrap()).replace("\r\n", "\n");
    Screen { text, code }
}
