//! Questions to git itself: what it tracks, and what it leaves out.
//!
//! Git is asked only where its own answer counts, by `doctor`, `sweep` and whoever is about to send
//! the memory away. It is started without a shell, with an environment of our own, and with all of
//! a repository's settings off by which it would start another program.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
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
/// The longest answer.
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

    fn ask(
        &self,
        folder: &Path,
        arguments: &[&str],
        input: Vec<u8>,
    ) -> Result<(i32, Vec<u8>), String> {
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
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|err| format!("cannot start `git`: {err}"))?;
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

fn failed(code: i32) -> String {
    format!("`git` ended with {code}")
}

fn names(answer: &[u8]) -> Vec<String> {
    let names = answer.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// The entries of a `$PATH` that mean the same folder wherever one is.
fn absolute_entries(path: &str) -> String {
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
