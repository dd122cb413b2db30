//! Git at work, as the person would run it: with their settings, credentials and hooks, and their
//! own program. Only `sync` does that.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::Git;
use super::query::{absolute_entries, cannot_start};

/// How long one command may take: a first push over a slow line is long.
const PATIENCE: Duration = Duration::from_secs(60 * 60);
/// How often it is tried while another git holds the index.
const LOCKED_TRIES: usize = 30;
/// How much of what git says is kept.
const MOST: u64 = 16 << 20;

/// Variables by which a program that started us may have pointed git elsewhere.
const ELSEWHERE: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "LANGUAGE",
];

/// Set while `sync` runs git, so that our own hook does not look a second time.
pub const SYNCING: &str = "MEMTREE_SYNCING";

/// Git in one folder, with the person's own environment.
#[derive(Debug, Clone, Copy)]
pub struct GitWork<'e> {
    pub git: Git<'e>,
    pub folder: &'e Path,
    pub environment: &'e BTreeMap<String, String>,
    /// Whether somebody is there whom git may ask for a password.
    pub may_ask: bool,
}

/// How a command ended, and what it said.
#[derive(Debug, Clone, Default)]
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// How a push ended that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pushed {
    Done,
    /// Somebody else was faster.
    Raced,
    Offline(String),
}

impl Ended {
    /// What came of a push; where it failed, what git complained of.
    pub fn pushed(&self) -> Result<Pushed, String> {
        if self.is_good() {
            Ok(Pushed::Done)
        } else if self.is_raced() {
            Ok(Pushed::Raced)
        } else if self.is_offline() {
            Ok(Pushed::Offline(self.complaint()))
        } else {
            Err(self.complaint())
        }
    }

    /// Whether it went well.
    pub fn is_good(&self) -> bool {
        self.code == 0
    }

    /// Whether the network is to blame, rather than the address, the rights or the remote itself.
    pub fn is_offline(&self) -> bool {
        const SIGNS: &[&str] = &[
            "could not resolve host",
            "name or service not known",
            "temporary failure in name resolution",
            "connection refused",
            "connection timed out",
            "connection reset",
            "network is unreachable",
            "no route to host",
            "operation timed out",
            "failed to connect",
            "couldn't connect",
            "connection closed by",
            "could not resolve hostname",
            "timed out",
        ];
        let said = self.err.to_lowercase();
        SIGNS.iter().any(|sign| said.contains(sign))
    }

    /// Whether a push came too late: somebody else was faster.
    pub fn is_raced(&self) -> bool {
        const SIGNS: &[&str] = &[
            "fetch first",
            "non-fast-forward",
            "cannot lock ref",
            "failed to update ref",
            "reference already exists",
            "incorrect old value provided",
        ];
        SIGNS.iter().any(|sign| self.err.contains(sign))
    }

    /// What it complained of, in one line.
    pub fn complaint(&self) -> String {
        let lines = self.err.lines().chain(self.out.lines()).map(str::trim);
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).take(12).collect();
        match lines.is_empty() {
            true => format!("`git` ended with {}", self.code),
            false => lines.join("; "),
        }
    }
}

impl GitWork<'_> {
    /// Runs a command to its end; while another git is at work there, it waits a little. An error
    /// is a reason why it could not be.
    pub fn run(&self, arguments: &[&str]) -> Result<Ended, String> {
        for _ in 0..LOCKED_TRIES {
            let ended = self.run_once(arguments)?;
            if ended.is_good() || !ended.err.contains("index.lock': File exists") {
                return Ok(ended);
            }
            thread::sleep(Duration::from_millis(100));
        }
        self.run_once(arguments)
    }

    fn run_once(&self, arguments: &[&str]) -> Result<Ended, String> {
        let mut command = Command::new("git");
        command.arg("--no-pager").arg("-C").arg(self.folder);
        // Both would change files that nobody named.
        command.args(["-c", "submodule.recurse=false", "-c", "rerere.enabled=false"]);
        command.args(["-c", "merge.conflictStyle=merge", "-c", "advice.diverging=false"]);
        command.args(arguments).current_dir(self.git.home).env_clear().envs(self.environment);
        for name in ELSEWHERE {
            command.env_remove(name);
        }
        command.env("PATH", absolute_entries(self.git.path)).env("LC_ALL", "C");
        command.env("GIT_EDITOR", "true").env("GIT_MERGE_AUTOEDIT", "no").env(SYNCING, "1");
        if !self.may_ask {
            command.env("GIT_TERMINAL_PROMPT", "0");
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(cannot_start)?;
        let (out, err) = (kept(child.stdout.take()), kept(child.stderr.take()));
        let code = wait(&mut child)?;
        let text = |thread: JoinHandle<Vec<u8>>| {
            String::from_utf8_lossy(&thread.join().unwrap_or_default()).into_owned()
        };
        Ok(Ended { code, out: text(out), err: text(err) })
    }
}

/// Reads all that a program says, and keeps as much as is of use.
fn kept(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut said = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(MOST).read_to_end(&mut said);
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        }
        said
    })
}

fn wait(child: &mut Child) -> Result<i32, String> {
    let began = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.code().unwrap_or(-1)),
            Ok(None) if began.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("`git` did not end within an hour".into());
            }
            Ok(None) => thread::sleep(pause),
            Err(err) => return Err(err.to_string()),
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_line_is_no_error_and_a_wrong_password_is_one() {
        let ended = |err: &str| Ended { code: 128, out: String::new(), err: err.into() };
        let dead = "fatal: unable to access 'https://x/': Could not resolve host: x";
        assert!(ended(dead).is_offline());
        assert!(ended("ssh: connect to host x port 22: Connection refused").is_offline());
        assert!(!ended("fatal: Authentication failed for 'https://x/'").is_offline());
        assert!(!ended("fatal: '/x' does not appear to be a git repository").is_offline());
        assert!(ended("! [rejected] main -> main (fetch first)").is_raced());
        assert_eq!(ended("a\n\n b\n").complaint(), "a; b");
    }
}
