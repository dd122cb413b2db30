//! Desk: a person's machine in a temporary folder, with a home, a project, a memory and a clock of
//! its own.
//!
//! `Desk::new().with_log("claude", "one_question").memtree(["sweep"]).success()` reads like a
//! sentence. The real program runs with an empty environment; the clock moves by one second with
//! every command.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use chrono::{DateTime, Duration, Utc};
use fs_extra::dir::CopyOptions;
use memtree::internals::adapters::{self, Places};
use memtree::internals::store::digest;
use memtree::model::digest::Digest;
use memtree::model::ids::Device;
use memtree::{Environment, Memory};
use serde_json::Value;
use tempfile::TempDir;

/// When the clock starts.
pub const START: &str = "2026-11-15T12:00:00Z";

/// A machine with a memory.
pub struct Desk {
    // Removed when the desk is.
    _folder: TempDir,
    root: PathBuf,
    device: String,
    now: Cell<DateTime<Utc>>,
    stopped: bool,
}

impl Desk {
    /// An empty home, an empty project, and no memory yet.
    pub fn new() -> Desk {
        Desk::below(&std::env::temp_dir())
    }

    /// The same in memory, where the system has such a place: for tests that sync thousands of
    /// times.
    pub fn in_memory() -> Desk {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Desk::below(memory) } else { Desk::new() }
    }

    fn below(place: &Path) -> Desk {
        let folder = tempfile::Builder::new().prefix("desk-").tempdir_in(place).unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        for name in ["home", "project", "tmp"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        let now = DateTime::parse_from_rfc3339(START).unwrap().to_utc();
        Desk { _folder: folder, root, device: "desk".into(), now: Cell::new(now), stopped: false }
    }

    /// Puts a fixture where its agent would keep it.
    pub fn with_log(self, flavor: &str, case: &str) -> Desk {
        let adapter = adapters::named(flavor).unwrap_or_else(|| panic!("no agent `{flavor}`"));
        let roots = adapter.roots(&Places { home: self.home(), ..Places::default() });
        for entry in fs::read_dir(fixture(flavor, case)).unwrap().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if path.is_dir() {
                copy_folder(
                    &path,
                    roots.iter().find(|root| root.ends_with(&name)).unwrap_or(&roots[0]),
                );
            } else if name != "README.md" && name != "session.md" {
                fs::create_dir_all(&roots[0]).unwrap();
                fs::copy(&path, roots[0].join(&name)).unwrap();
            }
        }
        self
    }

    /// Puts an agent's bundled sample sessions there.
    pub fn with_sample(self, flavor: &str) -> Desk {
        copy_folder(
            &checkout().join("templates/sample").join(flavor),
            &self.home().join(format!(".{flavor}")),
        );
        self
    }

    /// Puts every fixture of an agent there.
    pub fn with_logs(self, flavor: &str) -> Desk {
        cases(flavor).iter().fold(self, |desk, case| desk.with_log(flavor, case))
    }

    /// Writes a log of Claude Code's; returns the desk.
    pub fn with_claude_log(self, id: &str, text: impl AsRef<[u8]>) -> Desk {
        self.write_log(id, text);
        self
    }

    /// The clock does not move: everything is written at the same moment.
    pub fn with_stopped_clock(mut self) -> Desk {
        self.stopped = true;
        self
    }

    /// The same desk, seen from another machine.
    pub fn on_device(mut self, device: &str) -> Desk {
        self.device = device.into();
        self
    }

    /// The whole temporary folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    pub fn store(&self) -> PathBuf {
        self.root.join("memory")
    }

    /// Its memory, opened at a given time by a process that knows nothing else of the machine.
    pub fn memory_at(&self, now: DateTime<Utc>) -> Memory {
        open_at(&self.store(), "desk", now)
    }

    /// Where a log of Claude Code's with this id lies.
    pub fn log_path(&self, id: &str) -> PathBuf {
        self.home().join(format!(".claude/projects/-home-dev-code-demo/{id}.jsonl"))
    }

    /// Writes a log of Claude Code's.
    pub fn write_log(&self, id: &str, text: impl AsRef<[u8]>) {
        let path = self.log_path(id);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What every file of the memory holds, but for this device's own.
    pub fn texts(&self) -> BTreeMap<String, String> {
        let files = walkdir::WalkDir::new(self.store())
            .into_iter()
            .flatten()
            .filter(|entry| entry.file_type().is_file());
        let named = files.map(|entry| {
            let name =
                entry.path().strip_prefix(self.store()).unwrap().to_string_lossy().into_owned();
            (name, String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned())
        });
        named
            .filter(|(name, _)| !name.starts_with(".memtree") && !name.starts_with(".git/"))
            .collect()
    }

    /// The summaries of days, by their paths in the memory.
    pub fn summaries(&self) -> Vec<String> {
        let entries =
            fs::read_dir(self.store().join("daily/summary")).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut paths: Vec<String> = names
            .filter(|name| name.ends_with(".md"))
            .map(|name| format!("daily/summary/{name}"))
            .collect();
        paths.sort();
        paths
    }

    /// What the clock says.
    pub fn now(&self) -> chrono::DateTime<chrono::Utc> {
        self.now.get().to_utc()
    }

    /// Sets the clock.
    pub fn set_clock(&self, now: DateTime<Utc>) {
        self.now.set(now);
    }

    /// Moves the clock.
    pub fn later(&self, minutes: i64) {
        self.now.set(self.now.get() + Duration::minutes(minutes));
    }

    /// Runs the program with the memory of this desk.
    pub fn memtree<I: IntoIterator<Item: AsRef<OsStr>>>(&self, arguments: I) -> Ran {
        let arguments: Vec<OsString> =
            arguments.into_iter().map(|one| one.as_ref().to_owned()).collect();
        let output = self.command(&arguments).output().unwrap();
        self.ran(&arguments, output)
    }

    /// Starts the program and goes on.
    pub fn start<I: IntoIterator<Item: AsRef<OsStr>>>(&self, arguments: I) -> Running {
        let arguments: Vec<OsString> =
            arguments.into_iter().map(|one| one.as_ref().to_owned()).collect();
        Running::of(self.command(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()))
    }

    /// Runs a command line as a person would copy it: `memtree search "two words"`.
    pub fn type_in(&self, line: &str) -> Ran {
        let mut words = Vec::new();
        for (at, piece) in line.split('"').enumerate() {
            match at % 2 {
                0 => words.extend(piece.split_whitespace().map(str::to_string)),
                _ => words.push(piece.to_string()),
            }
        }
        assert_eq!(
            words.first().map(String::as_str),
            Some("memtree"),
            "not a command of ours: {line}"
        );
        self.memtree(&words[1..])
    }

    /// The program, ready to run: an empty environment but for what the desk is.
    pub fn command(&self, arguments: &[OsString]) -> Command {
        if !self.stopped {
            self.now.set(self.now.get() + Duration::seconds(1));
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_memtree"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.home())
            // Git is looked for there.
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TMPDIR", self.root.join("tmp"))
            .env("MEMTREE_STORE", self.store())
            .env("MEMTREE_DEVICE", &self.device)
            .env("MEMTREE_NOW", self.now.get().to_rfc3339())
            .current_dir(self.project())
            .stdin(Stdio::null());
        command
    }

    fn ran(&self, arguments: &[OsString], output: std::process::Output) -> Ran {
        let shown = |bytes: &[u8]| {
            let text = String::from_utf8(bytes.to_vec()).expect("output is UTF-8");
            text.replace(self.store().to_str().unwrap(), "[STORE]")
                .replace(self.home().to_str().unwrap(), "[HOME]")
        };
        let words: Vec<String> =
            arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let answer = Answer {
            command: format!("memtree {}", words.join(" ")),
            stdout: shown(&output.stdout),
            stderr: shown(&output.stderr),
        };
        Ran { code: output.status.code(), answer }
    }

    /// Reads a file of the memory.
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.store().join(path);
        fs::read_to_string(&path)
            .unwrap_or_else(|err| panic!("cannot read {}: {err}", path.display()))
    }

    /// Writes a file of the memory, as a person would.
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        let path = self.store().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes the memory's settings, and accepts them on this device.
    pub fn settings(&self, text: impl AsRef<[u8]>) {
        self.write("memtree.toml", text);
        self.memtree(["config", "accept", "--all"]).success();
    }

    /// Writes the person's own configuration.
    pub fn configure(&self, text: impl AsRef<[u8]>) {
        let path = self.home().join(".config/memtree/config.toml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The sessions in the memory, by name.
    pub fn sessions(&self) -> Vec<String> {
        let entries =
            fs::read_dir(self.store().join("sessions")).into_iter().flatten().map(Result::unwrap);
        let folders = entries.filter(|entry| entry.path().is_dir());
        let mut names: Vec<String> =
            folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The path of a session's digest, within the memory.
    pub fn digest_path(&self, session: &str) -> String {
        format!("sessions/{session}/{session}_DIGEST.md")
    }

    /// The text of a session's digest.
    pub fn digest_text(&self, session: &str) -> String {
        self.read(self.digest_path(session))
    }

    /// A session's digest, read back.
    pub fn digest(&self, session: &str) -> Digest {
        let text = self.digest_text(session);
        digest::parse(&text).unwrap_or_else(|reason| panic!("{session}: {reason}\n{text}"))
    }

    /// The session that came from a source.
    pub fn session_of(&self, source_id: &str) -> String {
        let mut sessions = self.sessions().into_iter();
        let found = sessions.find(|session| self.digest(session).source_id == source_id);
        found.unwrap_or_else(|| panic!("no session of {source_id}"))
    }

    /// Every file of the memory with its hash, but for the cache.
    pub fn tree(&self) -> Tree {
        let mut tree = Tree::of(&self.store());
        tree.0.retain(|path, _| !path.starts_with(".memtree"));
        tree
    }

    /// Runs git in the memory.
    pub fn git<const N: usize>(&self, arguments: [&str; N]) -> String {
        git_in(&self.store(), &self.root.join("tmp"), &arguments)
    }

    /// Runs git in the memory, which may fail: in a conflict, say.
    pub fn try_git(&self, arguments: &[&str]) -> Output {
        git_command(&self.store(), &self.root.join("tmp")).args(arguments).output().unwrap()
    }

    /// Checks a session's snapshot as a person would, and asserts that nothing is left out of its
    /// manifest.
    pub fn check_manifest(&self, session: &str) {
        let snapshot = self.store().join("sessions").join(session).join("snapshot");
        let output = Command::new("sha256sum")
            .args(["--strict", "--check", "MANIFEST.sha256"])
            .current_dir(&snapshot)
            .env("LC_ALL", "C")
            .output()
            .expect("`sha256sum` is there");
        let (said, wrong) = (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned());
        assert!(output.status.success(), "{session}: {wrong}\n{}", String::from_utf8_lossy(&said));
        let checked =
            said.split(|byte| *byte == b'\n').filter(|line| line.ends_with(b": OK")).count();
        let there = walkdir::WalkDir::new(&snapshot)
            .into_iter()
            .filter(|entry| entry.as_ref().unwrap().file_type().is_file())
            // What keeps raw out of git is in no manifest.
            .filter(|entry| entry.as_ref().unwrap().file_name() != ".gitignore");
        assert_eq!(
            checked + 1,
            there.count(),
            "{session}: every file is in the manifest, and the manifest itself is not"
        );
    }
}

/// A program that runs beside the test, and ends with it also where the test fails: what lived on
/// would hold the test's output open.
pub struct Running(Option<Child>);

impl Running {
    pub fn of(command: &mut Command) -> Running {
        Running(Some(command.spawn().unwrap()))
    }

    /// Waits until it has ended by itself.
    pub fn wait_with_output(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        self.0.as_ref().unwrap()
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What a command did, before anybody looked.
#[must_use = "a command that is not looked at proves nothing: say `.success()` or `.code(n)`"]
pub struct Ran {
    code: Option<i32>,
    answer: Answer,
}

impl Ran {
    /// However it ended.
    pub fn any(self) -> (Option<i32>, Answer) {
        (self.code, self.answer)
    }

    /// It ended with 0.
    #[track_caller]
    pub fn success(self) -> Answer {
        self.code(0)
    }

    /// It ended with 0, or with 3 because something was skipped.
    #[track_caller]
    pub fn done(self) -> Answer {
        assert!(matches!(self.code, Some(0 | 3)), "{}", self.answer.told());
        self.answer
    }

    /// It ended with this code.
    #[track_caller]
    pub fn code(self, code: i32) -> Answer {
        assert_eq!(self.code, Some(code), "{}", self.answer.told());
        self.answer
    }
}

/// What a command said.
pub struct Answer {
    command: String,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    #[track_caller]
    pub fn stdout_has(self, text: &str) -> Answer {
        assert!(self.stdout.contains(text), "stdout has no `{text}`\n{}", self.told());
        self
    }

    #[track_caller]
    pub fn stderr_has(self, text: &str) -> Answer {
        assert!(self.stderr.contains(text), "stderr has no `{text}`\n{}", self.told());
        self
    }

    /// The one object that `--json` prints.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|err| panic!("no JSON: {err}\n{}", self.told()))
    }

    /// All that was said.
    pub fn told(&self) -> String {
        format!("$ {}\n{}{}", self.command, self.stdout, self.stderr)
    }
}

/// Every file, folder and link below a folder, with what it holds.
#[derive(Clone, PartialEq, Eq)]
pub struct Tree(pub BTreeMap<PathBuf, String>);

impl Tree {
    /// Looks at a folder; one that is not there holds nothing.
    pub fn of(folder: &Path) -> Tree {
        let mut tree = BTreeMap::new();
        for entry in walkdir::WalkDir::new(folder).min_depth(1).into_iter().flatten() {
            let holds = match entry.file_type() {
                kind if kind.is_dir() => "a folder".into(),
                kind if kind.is_symlink() => {
                    format!("a link to {}", fs::read_link(entry.path()).unwrap().display())
                }
                _ => memtree::internals::base::files::hash_file(entry.path()).unwrap().1,
            };
            tree.insert(entry.path().strip_prefix(folder).unwrap().to_owned(), holds);
        }
        Tree(tree)
    }

    /// Looks at a folder without reading its files: what they are is told by their dates and
    /// inodes.
    #[cfg(unix)]
    pub fn stamps_of(folder: &Path) -> Tree {
        use std::os::unix::fs::MetadataExt;
        let entries = walkdir::WalkDir::new(folder).min_depth(1).into_iter().flatten();
        let stamped = entries.filter(|entry| entry.file_type().is_file()).map(|entry| {
            let metadata = entry.metadata().unwrap();
            let stamp =
                format!("{} {} {}", metadata.ino(), metadata.ctime(), metadata.ctime_nsec());
            (entry.path().strip_prefix(folder).unwrap().to_owned(), stamp)
        });
        Tree(stamped.collect())
    }

    /// Looks only at some of it.
    pub fn retain(&mut self, keep: impl Fn(&Path) -> bool) {
        self.0.retain(|path, _| keep(path));
    }

    /// The files with their hashes.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &str)> {
        let hashed = self.0.iter().filter(|(_, holds)| holds.len() == 64);
        hashed.map(|(path, hash)| (path.as_path(), hash.as_str()))
    }

    /// What is in one tree and not, or not so, in the other.
    pub fn difference(&self, after: &Tree) -> Vec<String> {
        let gone =
            self.0.keys().filter(|path| !after.0.contains_key(*path)).map(|path| ("gone", path));
        let new =
            after.0.keys().filter(|path| !self.0.contains_key(*path)).map(|path| ("new", path));
        let changed = self
            .0
            .iter()
            .filter(|(path, holds)| after.0.get(*path).is_some_and(|now| now != *holds));
        let changed = changed.map(|(path, _)| ("changed", path));
        gone.chain(new)
            .chain(changed)
            .map(|(how, path)| format!("{how}: {}", path.display()))
            .collect()
    }
}

impl std::fmt::Debug for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(&self.0).finish()
    }
}

/// Asserts that two trees are the same, and says where they are not.
#[track_caller]
pub fn assert_same(before: &Tree, after: &Tree, when: &str) {
    let difference = before.difference(after);
    assert!(difference.is_empty(), "{when}:\n{}", difference.join("\n"));
}

/// The folder of a fixture, relative to the checkout, where tests run: the same wherever that lies.
pub fn fixture(flavor: &str, case: &str) -> PathBuf {
    fixtures(flavor).join(case)
}

/// The folder with all fixtures of an agent.
pub fn fixtures(flavor: &str) -> PathBuf {
    Path::new("tests/fixtures").join(flavor)
}

/// The names of an agent's fixtures.
pub fn cases(flavor: &str) -> Vec<String> {
    let entries = fs::read_dir(fixtures(flavor)).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> =
        folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The project's own folder.
pub fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Copies what is in a folder into another.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    let options = CopyOptions::new().content_only(true).overwrite(true);
    fs_extra::dir::copy(from, to, &options)
        .unwrap_or_else(|err| panic!("cannot copy {}: {err}", from.display()));
}

/// Two records as Claude Code writes them: a prompt and its answer, at minute `minute` of
/// 2026-11-15, 11 o'clock.
pub fn exchange(id: &str, minute: u32, prompt: &str, reply: &str) -> String {
    let record = |kind: &str, uuid: String, second: u32, message: Value| {
        let record = serde_json::json!({
            "parentUuid": null, "isSidechain": false, "cwd": "/home/dev/code/demo", "sessionId": id,
            "version": "2.1.204", "gitBranch": "main", "type": kind, "message": message, "uuid": uuid,
            "requestId": format!("req_{minute}"), "timestamp": format!("2026-11-15T11:{minute:02}:{second:02}.000Z"),
        });
        format!("{record}\n")
    };
    let answer = serde_json::json!({
        "model": "claude-opus-4-8", "id": format!("msg_{minute}"), "role": "assistant",
        "content": [{ "type": "text", "text": reply }], "stop_reason": "end_turn",
        "usage": { "input_tokens": 10, "output_tokens": 20 },
    });
    record(
        "user",
        format!("{id}-{minute}-a"),
        7,
        serde_json::json!({ "role": "user", "content": prompt }),
    ) + &record("assistant", format!("{id}-{minute}-b"), 14, answer)
}

/// Git in a folder, with a home and a name of its own and nothing of who runs the tests.
pub fn git_command(folder: &Path, home: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_EDITOR", "true")
        .env("LC_ALL", "C")
        .envs(["AUTHOR", "COMMITTER"].iter().flat_map(|who| {
            [(format!("GIT_{who}_NAME"), "desk"), (format!("GIT_{who}_EMAIL"), "desk@example.org")]
        }))
        .current_dir(folder);
    command
}

/// Runs git in a folder, and says what it printed; it has to succeed.
#[track_caller]
pub fn git_in(folder: &Path, home: &Path, arguments: &[&str]) -> String {
    let output = git_command(folder, home).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Compares a text with the file that holds what is expected; `UPDATE_EXPECT=1` writes it instead.
#[track_caller]
pub fn expect_file(path: &Path, actual: &str) {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, actual).unwrap();
        return;
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    assert!(
        expected == actual,
        "{} is not as expected (- expected, + now):\n{}\nIf this is right, write it with `UPDATE_EXPECT=1 cargo test` and read it again.",
        path.strip_prefix(checkout()).unwrap_or(path).display(),
        line_difference(&expected, actual)
    );
}

/// The lines that differ, with three lines around them.
fn line_difference(before: &str, after: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.lines().collect(), after.lines().collect());
    let start = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let ends = before[start..].iter().rev().zip(after[start..].iter().rev());
    let end = ends.take_while(|(a, b)| a == b).count();
    let mut shown = String::new();
    let mut add = |mark: &str, lines: &[&str]| {
        lines.iter().for_each(|line| writeln!(shown, "{mark}{line}").unwrap())
    };
    add("  ", &before[start.saturating_sub(3)..start]);
    add("- ", &before[start..before.len() - end]);
    add("+ ", &after[start..after.len() - end]);
    add("  ", &before[before.len() - end..(before.len() - end + 3).min(before.len())]);
    shown
}

/// Opens the memory in a folder as a device at a given time, in an environment that is otherwise
/// empty.
pub fn open_at(root: &Path, device: &str, now: DateTime<Utc>) -> Memory {
    let nowhere = PathBuf::from("/nowhere");
    let places = Places { home: nowhere.clone(), ..Places::default() };
    let device = Device::new(device);
    let environment = Environment {
        now,
        device,
        device_is_named: true,
        machine: String::new(),
        places,
        current_dir: nowhere,
        settings_file: None,
    };
    Memory::open_in(root, environment).unwrap()
}
