//! Lines written into a day by hand: whole, once each, at their place by time, whoever else is
//! writing.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::harness::{Desk, exchange};

const ONE: &str = "5e55da01-0000-4000-8000-000000000001";

#[test]
fn a_line_says_when_who_and_what() {
    let desk = Desk::new();
    let said = desk
        .memtree(["log", "user", "  Fix\n the  lock ", "--session", "central service"])
        .success();
    assert_eq!(said.stdout, "- [12:00:01] [user] (central-service) Fix the lock\n");
    desk.memtree(["log", "main_agent", "done", "--meta", "tools=grep,sed", "--meta", "route=x"])
        .success();
    for kind in ["worker_event", "task_agent_event", "tool_event", "system"] {
        desk.memtree(["log", kind, "something"]).success();
    }
    let expected = "# Daily Raw 2026-11-15\n\n\
        - [12:00:01] [user] (central-service) Fix the lock\n\
        - [12:00:02] [main_agent] (-) done route=x tools=grep,sed\n\
        - [12:00:03] [worker_event] (-) something\n\
        - [12:00:04] [task_agent_event] (-) something\n\
        - [12:00:05] [tool_event] (-) something\n\
        - [12:00:06] [system] (-) something\n";
    assert_eq!(desk.read("daily/raw/2026-11-15.md"), expected);
    let json = desk
        .memtree(["log", "user", "more", "--json", "--at", "2026-11-15T11:00:00Z"])
        .success()
        .json();
    assert_eq!(json["path"], "daily/raw/2026-11-15.md");
    assert_eq!(json["line"], "- [11:00:00] [user] (-) more");
    // At its place by time.
    assert!(
        desk.read("daily/raw/2026-11-15.md")
            .starts_with("# Daily Raw 2026-11-15\n\n- [11:00:00] [user] (-) more\n")
    );
    // Said twice is written twice.
    desk.memtree(["log", "user", "more", "--at", "2026-11-15T11:00:00Z"]).success();
    assert_eq!(
        desk.read("daily/raw/2026-11-15.md").matches("[11:00:00] [user] (-) more\n").count(),
        2
    );
    // A day alone is never midnight.
    desk.memtree(["log", "user", "late", "--at", "2026-11-14"]).success();
    assert!(!desk.read("daily/raw/2026-11-14.md").contains("[00:00:00]"));
}

#[test]
fn long_and_secret_texts_are_cut_and_redacted() {
    let desk = Desk::new();
    let long = format!("begin {} ghp_{}", "word ".repeat(600), "a1B2".repeat(9));
    let line = desk.memtree(["log", "user", &long]).success().stdout;
    let said = line.split_once("(-) ").unwrap().1.trim_end();
    assert!(said.chars().count() <= 2000 && said.ends_with('…'), "{} {said}", said.chars().count());
    let secret = format!("token ghp_{} here", "a1B2c3D4e5F6".repeat(3));
    let line = desk.memtree(["log", "user", &secret]).success().stdout;
    assert!(line.contains("[redacted:") && !line.contains("ghp_"), "{line}");
    let mut child = desk.command(&["log".into(), "tool_event".into(), "-".into()]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all("from\nstdin \u{1b}[2J".as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(desk.read("daily/raw/2026-11-15.md").contains("(-) from stdin [2J\n"));
}

#[test]
fn wrong_usage_is_told_and_writes_nothing() {
    let desk = Desk::new();
    desk.memtree(["init"]).success();
    let before = desk.tree();
    for wrong in [
        &["log", "user", "  \n "][..],
        &["log", "shout", "x"],
        &["log", "user"],
        &["log", "user", "x", "--at", "yesterday"],
        &["log", "user", "x", "--meta", "novalue"],
        &["log", "user", "x", "--meta", "a b=c"],
    ] {
        desk.memtree(wrong).code(2);
    }
    desk.memtree(["log", "user", "x", "--dry-run"]).success().stdout_has("[user] (-) x");
    crate::harness::assert_same(&before, &desk.tree(), "after wrong usage");
}

/// Eight writers at once, as shells that call the program in a loop.
fn eight_writers(desk: &Desk, each: usize) -> Vec<std::process::Child> {
    let program = desk.command(&[]);
    (0..8)
        .map(|writer| {
            let mut shell = Command::new("sh");
            let calls = format!(
                "i=0; while [ $i -lt {each} ]; do \"$0\" --quiet log user \"writer {writer} line $i end\" \
                 --session w{writer} || exit 1; i=$((i+1)); done"
            );
            shell.arg("-c").arg(calls).arg(program.get_program()).env_clear();
            shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
            shell.stdin(Stdio::null()).spawn().unwrap()
        })
        .collect()
}

fn assert_whole(day: &str, each: usize) {
    assert_eq!(day.matches("# Daily Raw 2026-11-15\n").count(), 1, "one header");
    assert!(day.starts_with("# Daily Raw 2026-11-15\n\n"));
    for writer in 0..8 {
        for number in 0..each {
            let line = format!("] [user] (w{writer}) writer {writer} line {number} end\n");
            assert_eq!(day.matches(&line).count(), 1, "{line}");
        }
    }
}

/// How many lines each of eight writers writes: as many as `MEMTREE_LINES` says, where it is set.
pub fn lines_of_each_writer(usually: usize) -> usize {
    let told = std::env::var("MEMTREE_LINES").ok();
    told.map_or(usually, |lines| lines.parse().expect("a number of lines"))
}

#[test]
fn eight_writers_lose_and_double_nothing() {
    let each = lines_of_each_writer(50);
    let desk = Desk::new();
    desk.memtree(["init"]).success();
    for mut writer in eight_writers(&desk, each) {
        assert!(writer.wait().unwrap().success());
    }
    let day = desk.read("daily/raw/2026-11-15.md");
    assert_whole(&day, each);
    assert_eq!(day.lines().count(), 8 * each + 2);
}

#[test]
fn a_changed_time_zone_doubles_no_line() {
    let first = exchange(ONE, 1, "Which shell is this?", "It is dash.");
    let desk = Desk::new().with_claude_log(ONE, &first);
    desk.memtree(["sweep"]).success();
    let settings =
        desk.read("memtree.toml").replace("#timezone = \"UTC\"", "timezone = \"Pacific/Auckland\"");
    desk.settings(settings);
    desk.write_log(
        ONE,
        first.clone()
            + &exchange(ONE, 5, "Which shell is this?", "Still dash.")
            + &first.replace("-1-", "-9-"),
    );
    desk.memtree(["sweep"]).success();
    let days: String = std::fs::read_dir(desk.store().join("daily/raw"))
        .unwrap()
        .map(|day| std::fs::read_to_string(day.unwrap().path()).unwrap())
        .collect();
    // Said once before the change, and once or twice after it.
    assert_eq!(days.matches("[user] (SES1_desk_SP1C1) Which shell is this?").count(), 3, "{days}");
    assert_eq!(days.matches("It is dash.").count(), 2, "{days}");
    assert_eq!(days.matches("Still dash.").count(), 1, "{days}");
}
