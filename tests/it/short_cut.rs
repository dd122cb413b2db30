//! Where nothing has changed a sweep takes a short cut, and says the same as without it.

use std::fs;

use serde_json::Value;

use crate::harness::{Desk, assert_same, exchange};

const ONE: &str = "5e55dd01-0000-4000-8000-000000000001";
const TWO: &str = "5e55dd02-0000-4000-8000-000000000002";

#[test]
fn the_short_cut_says_what_the_long_way_says() {
    let desk = desk_with_two_sessions();
    desk.memtree(["sweep"]).success();
    let file = desk.store().join(".memtree/cache/sweep-fingerprint.json");
    assert!(file.is_file(), "the short cut is prepared");
    let short = report(&desk);
    fs::remove_file(&file).unwrap();
    let long = report(&desk);
    assert_eq!(short, long);
    assert_eq!([&short["discovered"], &short["unchanged"], &short["captured"]], [2, 2, 0]);
    assert!(short["retention"]["in_use_bytes"].as_u64() > Some(0));
    // It is for the same question only.
    assert_eq!(
        desk.memtree(["sweep", "--json", "--except", "claude"]).success().json()["discovered"],
        0
    );
    assert_eq!(report(&desk), long);
}

/// What may be in a memory, and whether the next sweep has a short cut.
type Situation = (&'static str, fn() -> Desk, bool);

const SITUATIONS: &[Situation] = &[
    ("an excluded session", excluded, true),
    ("a budget that was exceeded", || over_budget(false), true),
    ("a budget that cannot be kept", || over_budget(true), false),
    ("skipped lines", || Desk::new().with_log("claude", "bad_lines"), true),
    ("open sessions", open_sessions, true),
    ("a file that sessions share", || Desk::new().with_logs("goose"), false),
    ("folders", folders, true),
    ("several agents", || Desk::new().with_sample("claude").with_sample("codex"), true),
];

#[test]
fn the_short_cut_equals_the_full_sweep_in_every_field() {
    for (name, desk, has_short_cut) in SITUATIONS {
        let desk = desk().with_stopped_clock();
        for _ in 0..3 {
            desk.memtree(["sweep"]).any();
        }
        let file = desk.store().join(".memtree/cache/sweep-fingerprint.json");
        assert_eq!(file.is_file(), *has_short_cut, "{name}");
        let short = any_report(&desk);
        if *has_short_cut {
            fs::remove_file(&file).unwrap();
        }
        let long = any_report(&desk);
        assert_eq!(short, long, "{name}");
        assert_eq!(short["captured"], 0, "{name}");
    }
}

fn excluded() -> Desk {
    let desk = desk_with_two_sessions();
    desk.write_log(
        TWO,
        exchange(TWO, 3, "Which editor is this?", "It is ed.")
            .replace("/home/dev/code/demo", "/home/dev/clients/payroll"),
    );
    desk.memtree(["init"]).success();
    desk.settings("format = 1\n[exclude]\nprojects = [\"payroll\"]\n");
    desk
}

fn over_budget(pinned: bool) -> Desk {
    let desk = desk_with_two_sessions();
    desk.later(60);
    desk.memtree(["sweep"]).success();
    if pinned {
        desk.memtree(["pin", "SES1_desk_SP1C1", "SES2_desk_SP1C1"]).success();
    }
    desk.settings("format = 1\n[retention]\nsoft_cap = \"1kB\"\nhard_cap = \"1kB\"\n");
    desk
}

/// Their last word was said a moment ago.
fn open_sessions() -> Desk {
    let desk = desk_with_two_sessions();
    let log = fs::read_to_string(desk.log_path(ONE)).unwrap();
    let said = chrono::DateTime::parse_from_rfc3339(first_time(&log)).unwrap().to_utc();
    desk.set_clock(said + chrono::Duration::minutes(5));
    desk
}

fn first_time(log: &str) -> &str {
    let (_, rest) = log.split_once("\"timestamp\":\"").unwrap();
    rest.split('"').next().unwrap()
}

fn folders() -> Desk {
    let desk = desk_with_two_sessions();
    let settings = desk.home().join(".config/memtree/config.toml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(
        settings,
        "[[folders]]\npath = \"~/notes\"\n[[folders]]\npath = \"~/new\"\n[[folders]]\npath = \"~/gone\"\n",
    )
    .unwrap();
    let now = desk.now();
    for (folder, minutes) in [("notes", 60), ("new", 5)] {
        let folder = desk.home().join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("wherry.md"), "# Wherry\nClinker built.\n").unwrap();
        for path in [folder.join("wherry.md"), folder] {
            let at = now - chrono::Duration::minutes(minutes);
            fs::File::open(path).unwrap().set_modified(at.into()).unwrap();
        }
    }
    desk
}

#[test]
#[cfg(unix)]
fn a_log_that_could_not_be_read_is_tried_again() {
    let desk = desk_with_two_sessions();
    let broken = desk.log_path(ONE).with_file_name("broken.jsonl");
    let fifo = std::process::Command::new("mkfifo").arg(&broken).status().unwrap();
    assert!(fifo.success());
    for _ in 0..3 {
        let skipped = desk.memtree(["sweep", "--json"]).code(3).json()["skipped"].clone();
        assert_eq!(skipped[0]["reason"], "not a regular file", "{skipped}");
    }
    fs::remove_file(broken).unwrap();
    desk.memtree(["sweep"]).success();
}

#[test]
fn a_memory_does_not_remember_itself() {
    let desk = desk_with_two_sessions();
    // The memory lies within what is swept, with a copy of every log in it.
    let sweep = || {
        desk.memtree(["sweep", "--json", "--source", &format!("claude={}", desk.root().display())])
    };
    let first = sweep().success().json();
    assert_eq!([&first["discovered"], &first["captured"]], [2, 2]);
    let before = desk.tree();
    let second = sweep().success().json();
    assert_eq!([&second["discovered"], &second["captured"]], [2, 0]);
    assert_same(&before, &desk.tree(), "after a second sweep");
}

fn desk_with_two_sessions() -> Desk {
    Desk::new()
        .with_claude_log(ONE, exchange(ONE, 1, "Which shell is this?", "It is dash."))
        .with_claude_log(TWO, exchange(TWO, 3, "Which editor is this?", "It is ed."))
}

/// What `status` says; and the same without the tally that it keeps.
#[track_caller]
fn status_both_ways(desk: &Desk) -> Value {
    let file = desk.store().join(".memtree/cache/tally.json");
    let status = || desk.memtree(["status", "--json"]).success().json();
    let short = status();
    fs::remove_file(&file).unwrap();
    let mut long = status();
    // The tally is itself part of the cache, and a stamp may have more digits than another.
    let mut short = short;
    short["bytes"]["cache"] = Value::Null;
    long["bytes"]["cache"] = Value::Null;
    assert_eq!(short, long);
    short
}

#[test]
fn status_counts_what_changed_and_says_what_the_long_way_says() {
    for (name, desk, _) in SITUATIONS {
        let desk = desk().with_stopped_clock();
        desk.memtree(["sweep"]).any();
        let first = status_both_ways(&desk);
        assert_eq!(status_both_ways(&desk), first, "{name}");
    }
    let desk = desk_with_two_sessions().with_stopped_clock();
    desk.memtree(["sweep"]).success();
    let status = status_both_ways(&desk);
    assert_eq!([&status["sessions"]["total"], &status["episodes"]], [2, 2]);
    // A page that is edited, damaged, put right, hidden behind a link, or gone.
    let [one, two] = <[String; 2]>::try_from(desk.sessions()).unwrap();
    let whole = desk.digest_text(&one);
    let path = desk.store().join(desk.digest_path(&one));
    let state = |state: &str| {
        let now = if whole.contains("state: open") { "state: open" } else { "state: closed" };
        whole.replace(now, &format!("state: {state}"))
    };
    for (said, open) in [("open", 1), ("closed", 0), ("open", 1)] {
        fs::write(&path, state(said)).unwrap();
        let others = u64::from(desk.digest_text(&two).contains("state: open"));
        assert_eq!(status_both_ways(&desk)["sessions"]["open"], open + others);
    }
    fs::write(&path, "---\nsession: [\n").unwrap();
    let status = status_both_ways(&desk);
    assert_eq!(status["sessions"]["total"], 2);
    assert!(status["damaged"][0].as_str().unwrap().contains(&one), "{status}");
    fs::write(&path, &whole).unwrap();
    assert_eq!(status_both_ways(&desk)["damaged"], Value::Array(Vec::new()));
    // A file that is damaged is as good as none.
    fs::write(desk.store().join(".memtree/cache/tally.json"), "{\"schema\":").unwrap();
    assert_eq!(status_both_ways(&desk)["sessions"]["total"], 2);
    fs::remove_file(&path).unwrap();
    assert_eq!(status_both_ways(&desk)["sessions"]["total"], 1);
    fs::remove_dir_all(desk.store().join("sessions").join(&two)).unwrap();
    assert_eq!(status_both_ways(&desk)["sessions"]["total"], 0);
}

/// The same, whatever it is that it ends with.
fn any_report(desk: &Desk) -> Value {
    let (_, answer) = desk.memtree(["sweep", "--json"]).any();
    let mut report = answer.json();
    report["took_ms"] = Value::Null;
    report
}

/// What a sweep says, but for how long it took.
fn report(desk: &Desk) -> Value {
    let mut report = desk.memtree(["sweep", "--json"]).success().json();
    report["took_ms"] = Value::Null;
    report
}
