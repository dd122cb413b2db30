//! A day of two agents in a real repository, across midnight, told to `memtree hook` as the agents
//! tell it: everything is in the memory once, before it is forgotten, and whatever is killed
//! meanwhile is done by the same call again.
#![cfg(target_os = "linux")]

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::{Desk, Tree, assert_same, exchange};

const CLAUDE: &str = "5e55f101-0000-4000-8000-000000000001";
const CODEX: &str = "019e0000-0000-7000-8000-000000000002";
/// So many prompts come before the compaction, and so many after it.
const BEFORE: usize = 35;
const AFTER: usize = 5;
/// It begins so many minutes after 23 o'clock; at midnight so many prompts have been.
const START: usize = 35;
const AT_MIDNIGHT: usize = 60 - START;
const DAYS: [&str; 2] = ["2026-11-15", "2026-11-16"];

/// Chooses moments, the same ones in every run of the test.
struct Dice(Cell<u64>);

impl Dice {
    fn below(&self, end: u64) -> u64 {
        // A linear congruence is random enough to choose a moment by.
        self.0.set(
            self.0
                .get()
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407),
        );
        (self.0.get() >> 33) % end
    }
}

struct Day {
    desk: Desk,
    /// Where things are killed, if they are.
    dice: Option<Dice>,
    kills: Cell<usize>,
    /// What the hooks said, and after which event.
    said: RefCell<Vec<(String, String)>>,
}

impl Day {
    fn new(dice: Option<u64>) -> Day {
        let desk = Desk::in_memory().with_stopped_clock();
        desk.memtree(["init", "--quiet"]).success();
        let git = |arguments: &[&str]| {
            let mut command = Command::new("git");
            command
                .args(["-c", "user.name=desk", "-c", "user.email=desk@example.org"])
                .args(arguments);
            command
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .env("HOME", desk.root().join("tmp"))
                .current_dir(desk.project());
            assert!(command.output().unwrap().status.success(), "git {arguments:?}");
        };
        git(&["init", "-q", "--initial-branch=main"]);
        git(&["remote", "add", "origin", "https://example.org/dev/locks.git"]);
        fs::write(desk.project().join("lock.rs"), "fn lock() {}\n").unwrap();
        git(&["add", "--all"]);
        git(&["commit", "-q", "-m", "begin"]);
        let (kills, said) = (Cell::new(0), RefCell::default());
        Day { desk, dice: dice.map(|seed| Dice(Cell::new(seed))), kills, said }
    }

    /// The whole day: both agents, turn by turn.
    fn run(&self) {
        self.at(0, 0);
        self.both("SessionStart", |told| told["source"] = json!("startup"));
        for turn in 0..BEFORE {
            self.turn(turn);
        }
        self.both("PreCompact", |_| {});
        self.both("PostCompact", |_| {});
        self.both("SessionStart", |told| told["source"] = json!("compact"));
        for turn in BEFORE..BEFORE + AFTER {
            self.turn(turn);
        }
        self.both("SessionEnd", |_| {});
    }

    /// A prompt and its answer, one minute after the one before.
    fn turn(&self, turn: usize) {
        self.at(turn, 5);
        let asked = [
            format!("Claude question {turn} about the lock"),
            format!("Codex question {turn} about the tide"),
        ];
        for (agent, asked) in ["claude", "codex"].into_iter().zip(&asked) {
            self.call(agent, "UserPromptSubmit", |told| told["prompt"] = json!(asked));
        }
        self.append(turn, &asked);
        self.at(turn, 40);
        self.both("Stop", |_| {});
    }

    fn at(&self, turn: usize, second: usize) {
        let minutes = START + turn;
        let (day, hour) = (DAYS[minutes / 60], (23 + minutes / 60) % 24);
        let now: DateTime<Utc> =
            format!("{day}T{hour:02}:{:02}:{second:02}Z", minutes % 60).parse().unwrap();
        self.desk.set_clock(now);
    }

    fn codex_path(&self) -> PathBuf {
        self.desk
            .home()
            .join(format!(".codex/sessions/2026/11/15/rollout-2026-11-15T23-35-00-{CODEX}.jsonl"))
    }

    /// What the agents write into their own logs in a turn.
    fn append(&self, turn: usize, asked: &[String; 2]) {
        let cwd = self.desk.project();
        let now = |second: u32| {
            let at = self.desk.now().format("%Y-%m-%dT%H:%M:").to_string();
            format!("{at}{second:02}.000Z")
        };
        let stamp = |second: u32| format!("2026-11-15T11:{turn:02}:{second:02}.000Z");
        let claude =
            exchange(CLAUDE, turn as u32, &asked[0], &format!("Answer {turn} on the lock"))
                .replace("/home/dev/code/demo", cwd.to_str().unwrap())
                .replace(&stamp(7), &now(7))
                .replace(&stamp(14), &now(14));
        let line = |time: String, kind: &str, payload: Value| {
            format!("{}\n", json!({"timestamp": time, "type": kind, "payload": payload}))
        };
        let mut codex = String::new();
        if turn == 0 {
            let meta = json!({"id": CODEX, "timestamp": now(5), "cwd": cwd, "originator": "codex_cli_rs",
                "cli_version": "0.130.0", "git": {"repository_url": "https://example.org/dev/locks.git"}});
            codex += &line(now(5), "session_meta", meta);
        }
        codex += &line(
            now(20),
            "event_msg",
            json!({"type": "user_message", "message": asked[1], "kind": "plain"}),
        );
        let text = format!("Codex answer {turn} on the tide");
        codex += &line(
            now(30),
            "response_item",
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}),
        );
        for (path, text) in [(self.desk.log_path(CLAUDE), claude), (self.codex_path(), codex)] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .unwrap()
                .write_all(text.as_bytes())
                .unwrap();
        }
    }

    fn both(&self, event: &str, change: impl Fn(&mut Value)) {
        for agent in ["claude", "codex"] {
            self.call(agent, event, &change);
        }
    }

    /// Calls a hook with what the agent's documentation says that it is told, and waits for the
    /// work it leaves behind.
    fn call(&self, agent: &str, event: &str, change: impl Fn(&mut Value)) {
        let recorded = format!("tests/fixtures/hooks/{agent}/{event}.json");
        let mut told: Value = serde_json::from_str(&fs::read_to_string(recorded).unwrap()).unwrap();
        let (id, log) = match agent {
            "claude" => (CLAUDE, self.desk.log_path(CLAUDE)),
            _ => (CODEX, self.codex_path()),
        };
        (told["session_id"], told["cwd"]) = (json!(id), json!(self.desk.project()));
        // Codex does not say where the log is before there is one.
        if !told["transcript_path"].is_null() {
            told["transcript_path"] = json!(log);
        }
        change(&mut told);
        let told = told.to_string();
        // A second call of `Stop` would be a second turn; of the others it is the same again.
        if let Some(dice) = self.dice.as_ref().filter(|_| event != "Stop")
            && dice.below(12) == 0
        {
            let mut hook = self.hook(agent, event, &told);
            std::thread::sleep(Duration::from_millis(dice.below(25)));
            let _ = hook.kill();
            hook.wait().unwrap();
            self.kills.set(self.kills.get() + 1);
            self.let_work_end();
        }
        let Output { status, stdout, stderr } =
            self.hook(agent, event, &told).wait_with_output().unwrap();
        assert_eq!((status.code(), String::from_utf8_lossy(&stderr).as_ref()), (Some(0), ""));
        self.said
            .borrow_mut()
            .push((format!("{agent} {event}"), String::from_utf8(stdout).unwrap()));
        match &self.dice {
            Some(dice) => self.kill_work(dice),
            None => self.let_work_end(),
        }
    }

    fn hook(&self, agent: &str, event: &str, told: &str) -> Child {
        let mut command = self.desk.command(&["hook", agent, event].map(OsString::from));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(told.as_bytes());
        child
    }

    /// The programs that run for this memory and are no children of ours, with their arguments.
    fn work(&self) -> Vec<(Pid, Vec<OsString>)> {
        let store = self.desk.store().into_os_string().into_string().unwrap();
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let work = processes.filter_map(|process| {
            let pid = Pid::from_raw(process.file_name().to_str()?.parse().ok()?)?;
            let line = String::from_utf8(fs::read(process.path().join("cmdline")).ok()?).ok()?;
            let words: Vec<OsString> =
                line.split_terminator('\0').skip(1).map(OsString::from).collect();
            (words.len() > 1 && words[0] == "--store" && words[1] == *store).then_some((pid, words))
        });
        work.collect()
    }

    fn let_work_end(&self) {
        let began = Instant::now();
        while !self.work().is_empty() {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "the work does not end: {:?}",
                self.work()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Kills the work a few times at some moment of it, each time after it was begun again; in the
    /// end it is done.
    fn kill_work(&self, dice: &Dice) {
        let Some((pid, words)) = self.work().into_iter().next() else { return };
        let kill = |pid: Pid| {
            std::thread::sleep(Duration::from_millis(dice.below(300)));
            let _ = kill_process(pid, Signal::KILL);
            self.kills.set(self.kills.get() + 1);
            self.let_work_end();
        };
        kill(pid);
        let again = || {
            self.desk.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        for _ in 0..3 {
            let mut child = again();
            kill(Pid::from_child(&child));
            child.wait().unwrap();
        }
        assert!(again().wait().unwrap().success(), "{words:?}");
    }

    fn raw(&self) -> String {
        DAYS.iter().map(|day| self.desk.read(format!("daily/raw/{day}.md"))).collect()
    }

    /// The memory, and what has happened to the project.
    fn ends_in(&self) -> (Tree, Tree) {
        (self.desk.tree(), Tree::of(&self.desk.project()))
    }
}

#[test]
fn a_day_of_both_agents_across_midnight_is_told_once() {
    let day = Day::new(None);
    let project = Tree::of(&day.desk.project());
    day.run();
    let raw = day.raw();
    for turn in 0..BEFORE + AFTER {
        for said in [
            format!("Claude question {turn} about the lock\n"),
            format!("Answer {turn} on the lock\n"),
            format!("Codex question {turn} about the tide\n"),
            format!("Codex answer {turn} on the tide\n"),
        ] {
            assert_eq!(raw.matches(&said).count(), 1, "{said}\n{raw}");
        }
    }
    for (day_name, first, last) in
        [(DAYS[0], 0, AT_MIDNIGHT - 1), (DAYS[1], AT_MIDNIGHT, BEFORE + AFTER - 1)]
    {
        let raw = day.desk.read(format!("daily/raw/{day_name}.md"));
        let summary = day.desk.read(format!("daily/summary/{day_name}.md"));
        assert_eq!(summary.matches("\n### Session (").count(), 2, "{summary}");
        assert!(
            raw.lines().filter(|line| line.starts_with("- [")).is_sorted(),
            "in the order of time: {raw}"
        );
        for agent in ["Claude", "Codex"] {
            for turn in [first, last] {
                let said = format!("“{agent} question {turn} about");
                assert!(summary.contains(&said), "{said}\n{summary}");
            }
            let other = format!(
                "“{agent} question {} about",
                if first == 0 { AT_MIDNIGHT } else { AT_MIDNIGHT - 1 }
            );
            assert!(!summary.contains(&other), "{other} is of the other day\n{summary}");
        }
        assert!(
            summary.contains("· locks ·"),
            "Codex tells the repository, which names the project: {summary}"
        );
    }
    assert!(!raw.contains("finalized"), "a report of ours is nothing that happened: {raw}");
    assert_eq!(day.desk.sessions().len(), 2);
    // What the compaction made the agent forget, it is given again.
    let said = day.said.take();
    let starts: Vec<&str> = said
        .iter()
        .filter(|(on, _)| on == "claude SessionStart")
        .map(|(_, said)| &**said)
        .collect();
    assert_eq!(starts.len(), 2);
    assert!(starts[1].contains("Claude question"), "{}", starts[1]);
    assert_eq!(starts[1].matches("Codex question").count(), 1, "once: {}", starts[1]);
    assert_eq!(
        fs::read_to_string(day.desk.store().join(".memtree/local/log")).unwrap_or_default(),
        ""
    );
    assert_same(&project, &Tree::of(&day.desk.project()), "the project is left alone");
    // The same calls at the end once more change nothing.
    let before = day.desk.tree();
    day.both("SessionEnd", |_| {});
    assert_same(&before, &day.desk.tree(), "after the same end again");
    day.desk.memtree(["verify", "--deep"]).success();
}

#[test]
fn a_day_whose_work_is_killed_twenty_times_ends_in_the_same_files() {
    let whole = Day::new(None);
    whole.run();
    let seed = 20_261_115;
    let day = Day::new(Some(seed));
    day.run();
    assert!(day.kills.get() >= 20, "only {} were killed", day.kills.get());
    // The projects lie in different places, and so do the logs that name them.
    let own = |tree: Tree| {
        let named = |path: &std::path::Path| {
            path.starts_with("daily") || path.starts_with("knowledge") || path.starts_with("core")
        };
        let mut tree = tree;
        tree.retain(named);
        tree
    };
    assert_same(&own(whole.ends_in().0), &own(day.ends_in().0), "days, knowledge and cores");
    let names = |day: &Day| day.desk.tree().0.into_keys().collect::<Vec<_>>();
    assert_eq!(names(&whole), names(&day), "no file more and none less");
    for session in day.desk.sessions() {
        let text = |day: &Day| {
            let root = day.desk.root().to_str().unwrap().to_string();
            let text = day.desk.digest_text(&session).replace(&root, "");
            // Hashes of raw, which names the folder, and of what is written from it.
            let told =
                text.lines().filter(|line| !line.contains("sha256") && !line.starts_with("  - \""));
            told.collect::<Vec<_>>().join("\n")
        };
        assert_eq!(text(&whole), text(&day), "{session}");
    }
    day.desk.memtree(["verify", "--deep"]).success();
    let inbox =
        fs::read_dir(day.desk.store().join(".memtree/local/inbox")).into_iter().flatten().count();
    assert_eq!(inbox, 0);
}
