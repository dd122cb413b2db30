//! The n-th change to the disk fails or kills the process, for every n of a command: after the next plain sweep nothing
//! is gone, `verify` passes, and in the end the tree is that of an undisturbed run.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::harness::{Desk, Tree, assert_same, copy_folder, exchange};

/// A command that is disturbed, and what is there before it.
struct Scenario {
    name: &'static str,
    before: fn(&Desk),
    command: &'static [&'static str],
    /// Every so many points one is tried. Those of a long sweep repeat with each session, so that a few of them will do;
    /// with `MEMTREE_EVERY_POINT` set, as CI does, all of them are.
    every: u64,
}

const SCENARIOS: &[Scenario] = &[
    Scenario { name: "sweep of 20 sessions", before: twenty_logs, command: &["sweep"], every: 31 },
    Scenario { name: "sweep of 2 sessions", before: two_logs, command: &["sweep"], every: 2 },
    Scenario { name: "sweep of grown sessions", before: grown, command: &["sweep"], every: 5 },
    Scenario { name: "sweep with event logs", before: with_event_logs, command: &["sweep"], every: 3 },
    Scenario { name: "eviction", before: swept, command: &["retain", "--soft-cap", "4kB"], every: 2 },
    Scenario { name: "consolidation", before: without_core, command: &["consolidate"], every: 1 },
    Scenario { name: "flush", before: swept, command: &["flush"], every: 1 },
    Scenario { name: "forgetting", before: swept, command: &["forget", "SES3_desk_SP1C1", "--yes"], every: 1 },
];

fn id(number: u32) -> String {
    format!("aaaaaaaa-0000-4000-8000-{number:012}")
}

fn write_logs(desk: &Desk, numbers: std::ops::RangeInclusive<u32>) {
    for number in numbers {
        let reply = format!("Around the tree number {number} and back.");
        desk.write_log(&id(number), exchange(&id(number), number, "How do I tie a bowline?", &reply));
    }
}

fn twenty_logs(desk: &Desk) {
    write_logs(desk, 1..=20);
}

fn two_logs(desk: &Desk) {
    write_logs(desk, 1..=2);
}

fn with_event_logs(desk: &Desk) {
    write_logs(desk, 1..=2);
    let settings = desk.home().join(".config/memtree/config.toml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(settings, "[sessions]\njsonl_log = true\n").unwrap();
}

fn swept(desk: &Desk) {
    write_logs(desk, 1..=6);
    desk.later(120);
    desk.memtree(["sweep"]).success();
}

fn without_core(desk: &Desk) {
    write_logs(desk, 1..=8);
    desk.later(120);
    desk.memtree(["sweep"]).success();
    fs::remove_dir_all(desk.store().join("core")).unwrap();
}

fn grown(desk: &Desk) {
    swept(desk);
    for number in 1..=3 {
        let log = fs::read_to_string(desk.log_path(&id(number))).unwrap();
        desk.write_log(&id(number), log + &exchange(&id(number), 40 + number, "And a sheet bend?", "For two ropes."));
    }
    write_logs(desk, 7..=8);
}

/// A desk as another was.
fn copy_of(folder: &Path) -> Desk {
    let desk = Desk::in_memory().with_stopped_clock();
    desk.later(120);
    for name in ["home", "memory"] {
        if folder.join(name).exists() {
            copy_folder(&folder.join(name), &desk.root().join(name));
        }
    }
    // Logs keep their dates: a sweep must not find them changed.
    desk
}

fn disturbed(desk: &Desk, command: &[&str], fault: &str) -> Option<i32> {
    let arguments: Vec<OsString> = command.iter().map(OsString::from).collect();
    desk.command(&arguments).env("MEMTREE_FAULT", fault).output().unwrap().status.code()
}

/// The digests, and whatever else of a session has to be there still.
fn precious(tree: &Tree) -> BTreeSet<String> {
    let paths = tree.0.keys().map(|path| path.to_string_lossy().into_owned());
    paths
        .filter(|path| path.ends_with("_DIGEST.md") || path.contains("MANIFEST") || path.starts_with("daily"))
        .collect()
}

/// Tries every point of a scenario; returns how many there were.
fn try_all(scenario: &Scenario) -> u64 {
    let before = Desk::in_memory().with_stopped_clock();
    (scenario.before)(&before);
    let old = precious(&before.tree());
    let undisturbed = copy_of(before.root());
    let count = undisturbed.root().join("count");
    assert_eq!(disturbed(&undisturbed, scenario.command, &format!("count:{}", count.display())), Some(0));
    let points: u64 = fs::read_to_string(&count).unwrap().parse().unwrap();
    undisturbed.memtree(["sweep"]).success();
    undisturbed.memtree(["verify", "--deep"]).success();
    let expect = undisturbed.tree();
    assert!(points > 10, "{}: only {points} points", scenario.name);

    let every = if std::env::var_os("MEMTREE_EVERY_POINT").is_some() { 1 } else { scenario.every };
    let next = AtomicU64::new(0);
    let root = before.root();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    let point = number / 2 * every + 1;
                    if point > points {
                        break;
                    }
                    let kind = if number.is_multiple_of(2) { "kill" } else { "fail" };
                    // Every point is killed at; every third one also fails.
                    if kind == "fail" && !point.is_multiple_of(3) {
                        continue;
                    }
                    try_one(scenario, root, &format!("{kind}:{point}"), &old, &expect);
                }
            });
        }
    });
    points.div_ceil(every)
}

fn try_one(scenario: &Scenario, before: &Path, fault: &str, old: &BTreeSet<String>, expect: &Tree) {
    let when = format!("{}, {fault}", scenario.name);
    let desk = copy_of(before);
    disturbed(&desk, scenario.command, fault);
    desk.memtree(["sweep"]).success();
    // Whoever writes into days or knowledge may be at it, so only `doctor --fix` removes what is unfinished there.
    let of_others = |path: &Path| path.starts_with("daily") || path.starts_with("knowledge");
    let unfinished = |path: &Path| of_others(path) && path.to_string_lossy().ends_with(".tmp");
    let tree = || {
        let mut tree = desk.tree();
        tree.0.retain(|path, _| !unfinished(path));
        tree
    };
    if tree().0.keys().any(|path| path.to_string_lossy().starts_with(".memtree-")) {
        // Killed while the memory was made: an unfinished file of that goes with the sweep after the next.
        desk.memtree(["sweep"]).success();
    }
    let healed = tree();
    if scenario.command[0] != "forget" {
        let gone: Vec<_> = old.difference(&precious(&healed)).cloned().collect();
        assert_eq!(gone, [""; 0], "{when}: gone");
    }
    if *expect != healed {
        // What was asked for did not come to happen; then it does when it is asked for again.
        desk.memtree(["verify", "--deep"]).success();
        assert_ne!(scenario.command[0], "sweep", "{when}: {:#?}", expect.difference(&healed));
        let _ = desk.memtree(scenario.command);
        desk.memtree(["sweep"]).success();
    }
    assert_same(expect, &tree(), &when);
    if fault.ends_with('7') {
        desk.memtree(["verify", "--deep"]).success();
    }
    let left = desk.store().join(".memtree/local");
    for name in ["staging", "committing.json", "evicting.json", "evicted"] {
        assert!(!left.join(name).exists(), "{when}: {name} is left");
    }
}

#[test]
fn a_kill_or_a_failure_at_any_point_loses_nothing() {
    if !cfg!(debug_assertions) {
        eprintln!("a release build has no faults to inject");
        return;
    }
    for scenario in SCENARIOS {
        let began = std::time::Instant::now();
        let points = try_all(scenario);
        println!("{}: {points} points tried in {:.1} s", scenario.name, began.elapsed().as_secs_f64());
    }
}

#[test]
fn a_full_disk_is_told_and_what_was_there_stays() {
    if !cfg!(debug_assertions) {
        return;
    }
    let before = Desk::in_memory().with_stopped_clock();
    grown(&before);
    let undisturbed = copy_of(before.root());
    undisturbed.memtree(["sweep"]).success();
    let mut tried = 0;
    for point in (3..).step_by(17) {
        let desk = copy_of(before.root());
        let arguments = [OsString::from("sweep")];
        let output = desk.command(&arguments).env("MEMTREE_FAULT", format!("full:{point}")).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        if output.status.success() {
            break;
        }
        tried += 1;
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("cannot") && said.to_lowercase().contains("no storage space"), "point {point}: {said}");
        desk.memtree(["search", "bowline"]).success().stdout_has("SES1_desk_SP1C1");
        desk.memtree(["sweep"]).success();
        assert_same(&undisturbed.tree(), &desk.tree(), &format!("full at {point}"));
        desk.memtree(["verify", "--deep"]).success();
    }
    assert!(tried > 3, "only {tried} points");
}
