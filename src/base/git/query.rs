//! Questions to git itself: what it tracks, and what it leaves out.
//!
//! Git is asked only where its own answer counts, by `doctor`, `sweep` and whoever is about to send
//! the memory away. It is started without a shell, with an environment of our own, and with all of
//! a repository's settings off by which it would start another program.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// The program, as this person has it.
#[derive(Debug, Clone, Copy)]
pub struct Git<'e> {
    /// Where programs are looked for: `$PATH`.
    pub path: &'e str,
    /// The home directory, whose settings say which repositories git may look at.
    pub home: &'e Path,
}

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it may take to go through all objects of a repository.
const PATIENCE_FOR_ALL: Duration = Duration::from_secs(300);
/// The longest answer, and the longest object that is looked into.
const MOST: u64 = 64 << 20;
/// Settings of a repository that would let git start a program, or write.
const HARMLESS: &[&str] =
    &["core.fsmonitor=false", "core.hooksPath=/dev/null", "core.untrackedCache=false"];

impl Git<'_> {
    /// The files that git tracks or that are staged, by their paths below a folder of the working
    /// tree. An error is a reason.
    pub fn tracked(&self, folder: &Path, below: &[&str]) -> Result<Vec<String>, String> {
        let arguments = [&["ls-files", "-z", "--cached", "--"], below].concat();
        let (code, answer) = self.ask(folder, &arguments, Vec::new())?;
        if code == 0 { Ok(names(&answer)) } else { Err(failed(code)) }
    }

    /// Those of some paths below a folder of the working tree that git leaves out.
    pub fn ignored(&self, folder: &Path, paths: &[String]) -> Result<Vec<String>, String> {
        let mut asked = paths.join("\0").into_bytes();
        asked.push(0);
        let (code, answer) = self.ask(folder, &["check-ignore", "-z", "--stdin"], asked)?;
        // With 1 it says that none of them is left out.
        if matches!(code, 0 | 1) { Ok(names(&answer)) } else { Err(failed(code)) }
    }

    /// The rules that leave out some paths below a folder of the working tree: the file, the line
    /// and the pattern of each, with its path.
    pub fn ignore_rules(
        &self,
        folder: &Path,
        paths: &[String],
    ) -> Result<Vec<[String; 4]>, String> {
        let mut asked = paths.join("\0").into_bytes();
        asked.push(0);
        let (code, answer) =
            self.ask(folder, &["check-ignore", "--verbose", "-z", "--stdin"], asked)?;
        if !matches!(code, 0 | 1) {
            return Err(failed(code));
        }
        let fields = names(&answer);
        Ok(fields.chunks_exact(4).filter_map(|rule| rule.to_vec().try_into().ok()).collect())
    }

    /// The commit that wrote a line of a file; none where git does not know, or where it is not
    /// committed.
    pub fn commit_of_line(&self, folder: &Path, file: &str, line: usize) -> Option<String> {
        let range = format!("-L{line},{line}");
        // Without the programs that would turn a file into text.
        let asked = ["blame", "--porcelain", "--no-textconv", &range, "--", file];
        let (code, answer) = self.ask(folder, &asked, Vec::new()).ok()?;
        let answer = String::from_utf8_lossy(&answer);
        let commit = answer.split(' ').next().filter(|_| code == 0)?;
        let is_name = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_committed = commit.bytes().any(|byte| byte != b'0');
        (is_name && is_committed).then(|| commit.to_string())
    }

    /// What git answers to a question about a folder of the working tree; any other end than a good
    /// one is an error.
    pub fn answer(&self, folder: &Path, arguments: &[&str]) -> Result<String, String> {
        let (code, answer) = self.ask(folder, arguments, Vec::new())?;
        if code != 0 {
            return Err(failed(code));
        }
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Hands every object of a folder's repository to `look`, with its kind, also those that
    /// nothing leads to any more; `None` stands for one that is too long. An error is a reason why
    /// not all of them were.
    pub fn each_object(
        &self,
        folder: &Path,
        look: impl FnMut(&str, Option<&[u8]>),
    ) -> Result<(), String> {
        let all = ["cat-file", "--batch-all-objects", "--batch", "--buffer", "--unordered"];
        let mut command = self.command(folder, &all);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(cannot_start)?;
        let stdout = child.stdout.take().expect("it is piped");
        let child = Mutex::new(child);
        let kill = || child.lock().map(|mut child| child.kill());
        let read = thread::scope(|threads| {
            let (done, waits) = mpsc::channel::<()>();
            threads.spawn(move || {
                if waits.recv_timeout(PATIENCE_FOR_ALL) == Err(mpsc::RecvTimeoutError::Timeout) {
                    let _ = kill();
                }
            });
            let mut look = look;
            let reader = BufReader::with_capacity(1 << 16, stdout);
            let read = read_objects(reader, |_, kind, object| look(kind, object));
            drop(done);
            read
        });
        let mut child = child.into_inner().map_err(|err| err.to_string())?;
        if read.is_err() {
            let _ = child.kill();
        }
        let status = child.wait().map_err(|err| err.to_string())?;
        read.map_err(|err| format!("`git` gave no answer that could be used: {err}"))?;
        if status.success() { Ok(()) } else { Err(failed(status.code().unwrap_or(-1))) }
    }

    /// Git in a folder, so that it starts nothing and asks nothing.
    fn command(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            .arg("--no-pager")
            .arg("-C")
            .arg(folder)
            .args(HARMLESS.iter().flat_map(|it| ["-c", it]));
        // Not in the memory: a program that lies there must not be found by a relative `$PATH`.
        command.args(arguments).current_dir(self.home).env_clear();
        command.env("PATH", absolute_entries(self.path)).env("HOME", self.home).env("LC_ALL", "C");
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0");
        command
    }

    pub(super) fn ask(
        &self,
        folder: &Path,
        arguments: &[&str],
        input: Vec<u8>,
    ) -> Result<(i32, Vec<u8>), String> {
        let mut command = self.command(folder, arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(cannot_start)?;
        let stdin = child.stdin.take();
        // On a thread of its own: git may answer before it has read all.
        thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)));
        let (sender, receiver) = mpsc::channel();
        let stdout = child.stdout.take();
        thread::spawn(move || {
            let mut answer = Vec::new();
            let read = stdout.map(|stdout| stdout.take(MOST + 1).read_to_end(&mut answer));
            let _ = sender.send((read.is_some_and(|read| read.is_ok()), answer));
        });
        let began = Instant::now();
        let answer = receiver.recv_timeout(PATIENCE);
        while began.elapsed() < PATIENCE && answer.is_ok() {
            match child.try_wait() {
                Ok(None) => thread::sleep(Duration::from_millis(1)),
                _ => break,
            }
        }
        // Whatever has not ended by now has had its time.
        let _ = child.kill();
        let status = child.wait().map_err(|err| err.to_string())?;
        match (answer, status.code()) {
            (Ok((true, answer)), Some(code)) if answer.len() as u64 <= MOST => Ok((code, answer)),
            _ => Err("`git` gave no answer that could be used".into()),
        }
    }
}

/// Reads `<name> <kind> <size>`, the object and the end of its line, for as long as there are some.
pub(super) fn read_objects(
    mut answer: impl BufRead,
    mut look: impl FnMut(&str, &str, Option<&[u8]>),
) -> io::Result<()> {
    let (mut header, mut object) = (String::new(), Vec::new());
    while answer.read_line(&mut header)? > 0 {
        if header.trim_end().ends_with(" missing") {
            header.clear();
            continue;
        }
        let mut words = header.split_whitespace();
        let (name, kind, size) =
            (words.next().unwrap_or_default(), words.next().unwrap_or_default(), words.next());
        let size: u64 =
            size.and_then(|size| size.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
        object.clear();
        let length = size.saturating_add(1);
        let read = match size <= MOST {
            true => answer.by_ref().take(length).read_to_end(&mut object)? as u64,
            false => io::copy(&mut answer.by_ref().take(length), &mut io::sink())?,
        };
        if read < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        object.pop();
        look(name, kind, (size <= MOST).then_some(object.as_slice()));
        header.clear();
    }
    Ok(())
}

pub(super) fn cannot_start(err: io::Error) -> String {
    format!("cannot start `git`: {err}")
}

pub(super) fn failed(code: i32) -> String {
    format!("`git` ended with {code}")
}

fn names(answer: &[u8]) -> Vec<String> {
    let names = answer.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// The entries of a `$PATH` that mean the same folder wherever one is.
pub(super) fn absolute_entries(path: &str) -> String {
    if cfg!(windows) {
        return path.to_string();
    }
    path.split(':').filter(|entry| entry.starts_with('/')).collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_entries_of_the_path_do_not_count() {
        assert_eq!(absolute_entries(".:/usr/bin::bin:/bin"), "/usr/bin:/bin");
        assert_eq!(names(b"a\0b c\0\0"), ["a", "b c"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_repository_s_settings_start_no_program() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (work, home) = (folder.path().join("work"), folder.path().join("home"));
        std::fs::create_dir_all(&home).unwrap();
        let path = "/usr/bin:/bin:/usr/local/bin";
        let made = Command::new("git").arg("init").arg("-q").arg(&work).status();
        if !made.is_ok_and(|status| status.success()) {
            // Without git there is nothing to ask, and that is an error, not a panic.
            assert!(Git { path, home: &home }.tracked(&work, &["."]).is_err());
            return;
        }
        let script = folder.path().join("evil");
        std::fs::write(&script, format!("#!/bin/sh\ntouch {}/ran\n", folder.path().display()))
            .unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let config = format!("[core]\n\tfsmonitor = {0}\n\tpager = {0}\n", script.display());
        std::fs::write(work.join(".git/config"), config).unwrap();
        std::fs::write(work.join(".gitignore"), "*.log\n").unwrap();
        std::fs::write(work.join("kept"), "").unwrap();
        let git = Git { path, home: &home };
        assert_eq!(git.tracked(&work, &["."]).unwrap(), [""; 0]);
        let asked = ["a.log", "kept", "deep/b.log"].map(String::from);
        assert_eq!(git.ignored(&work, &asked).unwrap(), ["a.log", "deep/b.log"]);
        assert!(!folder.path().join("ran").exists());
        assert!(git.tracked(folder.path(), &["."]).is_err(), "no repository");
    }
}
