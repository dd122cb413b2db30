//! `command`: any program that reads a prompt on stdin and prints its reply.
//!
//! It is started word by word, without a shell, in a process group of its own that ends with it or
//! with the time it is given. The environment says to whatever it starts that memtree called it.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use super::summarizer::{Failure, FailureKind, ModelCall, Reply, Summarizer};
use crate::base::text;
use crate::model::calls;

/// A program that answers.
pub struct Program {
    /// Its name and arguments; `{model}` stands for the model.
    pub words: Vec<String>,
    /// Where it runs: a folder that is no project.
    pub folder: PathBuf,
    pub timeout: Duration,
}

/// More than this is no reply.
const MOST_REPLY: u64 = 1 << 20;
/// How much of its stderr is read.
const MOST_STDERR: u64 = 64 << 10;
/// How long its output may stay open after its end, held by something that it started.
const PIPE_GRACE: Duration = Duration::from_secs(1);

impl Summarizer for Program {
    fn name(&self) -> &'static str {
        "command"
    }

    fn reply(&self, call: &ModelCall<'_>) -> Result<Reply, Failure> {
        let never =
            |reason: String| Failure { reason, kind: FailureKind::Hopeless, may_cost: false };
        let words: Vec<String> =
            self.words.iter().map(|word| word.replace("{model}", call.model)).collect();
        let Some((program, arguments)) = words.split_first() else {
            return Err(never("the setting `models.command` names no program".into()));
        };
        let mut running = Running::start(program, arguments, &self.folder).map_err(never)?;
        let prompt = format!("{}\n\n{}\n", call.instructions, call.material);
        let said = running.converse(prompt, self.timeout).map_err(|reason| Failure {
            reason: format!("`{program}` {reason}"),
            kind: FailureKind::Down,
            may_cost: true,
        })?;
        Ok(Reply { text: said, tokens: None })
    }
}

/// How long a program may take that is only notified.
const HAND_OVER_TIME: Duration = Duration::from_secs(20);

/// Hands a text to a program of the person's own; what it answers does not matter, but that it ends
/// well.
pub fn hand_over(words: &[String], folder: &Path, text: &str) -> Result<(), String> {
    let Some((program, arguments)) = words.split_first() else {
        return Err("no program is named".into());
    };
    let mut running = Running::start(program, arguments, folder)?;
    running.converse(format!("{text}\n"), HAND_OVER_TIME).map(drop)
}

/// A program that runs. Whatever is left of its group ends with this.
struct Running {
    child: Child,
}

impl Running {
    /// Starts a program, word by word and without a shell.
    fn start(program: &str, arguments: &[String], folder: &Path) -> Result<Running, String> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for guard in calls::GUARDS {
            command.env(guard, calls::CALLER);
        }
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command.spawn().map_err(|err| format!("cannot start `{program}`: {err}"))?;
        Ok(Running { child })
    }

    fn converse(&mut self, prompt: String, timeout: Duration) -> Result<String, String> {
        let began = Instant::now();
        let mut stdin = self.child.stdin.take();
        // On a thread of its own: a program may write before it has read. One that does not read to
        // the end is judged by what it writes.
        thread::spawn(move || stdin.as_mut().map(|stdin| stdin.write_all(prompt.as_bytes())));
        let said = read_in_background(self.child.stdout.take(), MOST_REPLY);
        let stderr = read_in_background(self.child.stderr.take(), MOST_STDERR);
        let status =
            self.wait(timeout, began).map_err(|err| format!("cannot be waited for: {err}"))?;
        let Some(status) = status else {
            return Err(format!("took longer than {} s and was ended", timeout.as_secs()));
        };
        let said = said.recv_timeout(PIPE_GRACE).unwrap_or_default();
        if !status.success() {
            let stderr = stderr.recv_timeout(PIPE_GRACE).unwrap_or_default();
            let last =
                stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let why = if last.is_empty() {
                String::new()
            } else {
                format!(": {}", text::one_line(last, 200))
            };
            return Err(format!("ended with {status}{why}"));
        }
        if said.len() as u64 > MOST_REPLY {
            return Err("said more than any reply has".into());
        }
        Ok(said)
    }

    /// Waits for its end; `None` where the time was up first.
    fn wait(&mut self, timeout: Duration, began: Instant) -> io::Result<Option<ExitStatus>> {
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if began.elapsed() >= timeout {
                return Ok(None);
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(group) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a pipe on a thread of its own, one byte more than is allowed.
fn read_in_background(pipe: Option<impl Read + Send + 'static>, most: u64) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            let _ = pipe.take(most + 1).read_to_end(&mut bytes);
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn ask(script: &str, timeout: Duration) -> Result<String, Failure> {
        let words = ["sh", "-c", script].map(String::from).to_vec();
        let program = Program { words, folder: "/".into(), timeout };
        let call = ModelCall {
            model: "small",
            instructions: "Sum up.",
            material: "the material",
            reply_tokens: 10,
        };
        program.reply(&call).map(|reply| reply.text)
    }

    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn it_gets_the_prompt_and_who_asks() {
        assert_eq!(ask("cat", SOON).unwrap(), "Sum up.\n\nthe material\n");
        assert_eq!(
            ask("echo $MEMTREE_INVOKED_BY $CLAUDE_INVOKED_BY '{model}'", SOON).unwrap(),
            "memtree memtree small\n"
        );
        // It does not listen at all.
        assert_eq!(ask("exec <&-; echo heard", SOON).unwrap(), "heard\n");
    }

    #[test]
    fn its_failure_is_reported_in_its_own_words() {
        let failure = ask("echo first >&2; echo rate limited >&2; exit 3", SOON).unwrap_err();
        assert!(
            failure.reason.contains("exit status: 3: rate limited")
                && failure.kind == FailureKind::Down,
            "{failure:?}"
        );
        let program =
            Program { words: vec!["/no/such/program".into()], folder: "/".into(), timeout: SOON };
        let call = ModelCall { model: "", instructions: "", material: "", reply_tokens: 10 };
        let failure = program.reply(&call).unwrap_err();
        assert!(
            failure.kind == FailureKind::Hopeless
                && !failure.may_cost
                && failure.reason.contains("/no/such/program"),
            "{failure:?}"
        );
    }

    #[test]
    fn its_whole_group_ends_with_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("child");
        let script = format!("(sleep 60 & echo $! > {0}; wait) & wait", mark.display());
        let began = Instant::now();
        let failure = ask(&script, Duration::from_millis(300)).unwrap_err();
        assert!(failure.reason.contains("took longer"), "{failure:?}");
        assert!(began.elapsed() < Duration::from_secs(10));
        let grandchild: i32 = std::fs::read_to_string(&mark).unwrap().trim().parse().unwrap();
        let gone = || {
            // It may still be there as a zombie until its new parent has seen it.
            let stat =
                std::fs::read_to_string(format!("/proc/{grandchild}/stat")).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z ")
        };
        for _ in 0..100 {
            if gone() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("the sleeping grandchild {grandchild} was not ended");
    }

    #[test]
    fn what_it_left_running_holds_nobody_up() {
        let began = Instant::now();
        let _ = ask("sleep 60 & echo done", SOON);
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
