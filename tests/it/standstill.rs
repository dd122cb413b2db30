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
    let file = desk.store().join(".memtree/cache/standstill.json");
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

/// What a sweep says, but for how long it took.
fn report(desk: &Desk) -> Value {
    let mut report = desk.memtree(["sweep", "--json"]).success().json();
    report["took_ms"] = Value::Null;
    report
}
