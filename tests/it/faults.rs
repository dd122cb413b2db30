//! The n-th change to the disk fails or kills the process, for every n of a command: after the next
//! plain sweep nothing is gone, `verify` passes, and in the end the tree is that of an undisturbed
//! run.

use std::collections::BTreeMap;
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
    /// Every so many points one is tried. Those of a long sweep repeat with each session, so that a
    /// few of them will do; with `MEMTREE_EVERY_POINT=23`, as CI has it, every 23rd of all of them
    /// is tried, and with 1, as `just long` has it, every one.
    every: u64,
}

const SCENARIOS: &[Scenario] = &[
    Scenario { name: "sweep of 20 sessions", before: twenty_logs, command: &["sweep"], every: 61 },
    Scenario { name: "sweep of 2 sessions", before: two_logs, command: &["sweep"], every: 11 },
    Scenario { name: "sweep of grown sessions", before: grown, command: &["sweep"], every: 23 },
    Scenario {
        name: "sweep with event logs",
        before: with_event_logs,
        command: &["sweep"],
        every: 13,
    },
    Scenario {
        name: "eviction",
        before: swept,
        command: &["retain", "--soft-cap", "4kB"],
        every: 7,
    },
    Scenario {
        name: "eviction by a sweep",
        before: swept,
        command: &["sweep", "--soft-cap", "4kB"],
        every: 11,
    },
    Scenario { name: "consolidation", before: without_core, command: &["consolidate"], every: 3 },
    Scenario { name: "flush", before: swept, command: &["flush"], every: 5 },
    Scenario { name: "flush of a context", before: handed_in, command: FLUSH, every: 5 },
    Scenario { name: "forgetting a session", before: learnt, command: FORGET_SESSION, every: 5 },
    Scenario { name: "forgetting a text", before: learnt, command: FORGET_TEXT, every: 9 },
];

const FLUSH: &[&str] = &["flush", "context.md", "SES3_desk_SP1C1"];
const FORGET_SESSION: &[&str] = &["forget", "SES3_desk_SP1C1", "--yes"];
const FORGET_TEXT: &[&str] = &["forget", "--text", "tree number 3", "--yes"];

fn id(number: u32) -> String {
    format!("aaaaaaaa-0000-4000-8000-{number:012}")
}

fn write_logs(desk: &Desk, numbers: std::ops::RangeInclusive<u32>) {
    for number in numbers {
        let reply = format!("Around the tree number {number} and back.");
        desk.write_log(
            &id(number),
            exchange(&id(number), number, "How do I tie a bowline?", &reply),
        );
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

/// What a person wrote into every digest.
const NOTE: &str = "my own words on knots";

fn swept(desk: &Desk) {
    write_logs(desk, 1..=6);
    desk.later(120);
    desk.memtree(["sweep"]).success();
    for session in desk.sessions() {
        let text = desk.digest_text(&session);
        desk.write(desk.digest_path(&session), text + NOTE + "\n");
    }
    desk.memtree(["sweep"]).success();
}

fn handed_in(desk: &Desk) {
    swept(desk);
    fs::write(
        desk.project().join("context.md"),
        "**User:** Which knot?\n\n**Assistant:** Decided: the bowline.\n",
    )
    .unwrap();
}

fn learnt(desk: &Desk) {
    swept(desk);
    desk.memtree(["compile"]).done();
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
        desk.write_log(
            &id(number),
            log + &exchange(&id(number), 40 + number, "And a sheet bend?", "For two ropes."),
        );
    }
    write_logs(desk, 7..=8);
}

/// A desk as another was.
fn copy_of(folder: &Path) -> Desk {
    let desk = Desk::in_memory().with_stopped_clock();
    desk.later(120);
    for name in ["home", "memory", "project"] {
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

/// What every file holds.
type Texts = BTreeMap<String, String>;

/// Looks whether all that was there is still: byte for byte in raw, line by line in days, and a
/// person's words.
fn assert_kept(old: &Texts, now: &Texts, scenario: &Scenario, when: &str) {
    let forgets = scenario.command[0] == "forget";
    // What is asked to go may be gone.
    let goes = |text: &str| {
        forgets && (text.contains("SES3_desk_SP1C1") || text.contains("tree number 3"))
    };
    for (name, text) in old.iter().filter(|(name, _)| !goes(name)) {
        let there = now.get(name);
        if name.contains("/snapshot/") && !name.ends_with("MANIFEST.sha256") {
            let id = name.split('/').nth(1).unwrap();
            let digest = now.get(&format!("sessions/{id}/{id}_DIGEST.md"));
            let is_evicted = digest.is_some_and(|text| text.contains("\nsnapshot: evicted "));
            let is_raw = name.contains("/snapshot/raw/");
            match there {
                Some(there) if is_raw => {
                    assert!(there.starts_with(text), "{when}: {name} lost something")
                }
                Some(_) => {}
                None => assert!(
                    is_evicted,
                    "{when}: {name} is gone, and nothing says that it was evicted"
                ),
            }
            continue;
        }
        let Some(there) = there else {
            // A page of knowledge that nothing bears out any more goes with what was forgotten.
            assert!(
                forgets && name.starts_with("knowledge/") && goes(text),
                "{when}: {name} is gone"
            );
            continue;
        };
        if text.contains(NOTE) {
            assert!(there.contains(NOTE), "{when}: {name} lost a person's words");
        }
        if name.starts_with("daily/raw") {
            for line in text.lines().filter(|line| !goes(line)) {
                assert!(there.contains(line), "{when}: {name} lost `{line}`");
            }
        }
    }
}

/// With more points than this, not every one of them is tried with a failure, too.
const MANY: u64 = 300;

/// Tries points of a scenario, each with a kill and with a failure; returns how many points there
/// are, at how many of them it was killed, and at how many it failed.
fn try_all(scenario: &Scenario) -> [u64; 3] {
    let before = Desk::in_memory().with_stopped_clock();
    (scenario.before)(&before);
    let old = before.texts();
    let undisturbed = copy_of(before.root());
    let count = undisturbed.root().join("count");
    assert_eq!(
        disturbed(&undisturbed, scenario.command, &format!("count:{}", count.display())),
        Some(0)
    );
    let points: u64 = fs::read_to_string(&count).unwrap().parse().unwrap();
    undisturbed.memtree(["sweep"]).success();
    undisturbed.memtree(["verify", "--deep"]).success();
    let expect = undisturbed.tree();
    assert!(points > 10, "{}: only {points} points", scenario.name);

    let wanted = std::env::var("MEMTREE_EVERY_POINT").ok().and_then(|every| every.parse().ok());
    let every = wanted.map_or(scenario.every, |every: u64| every.clamp(1, scenario.every.max(1)));
    let next = AtomicU64::new(0);
    let (killed, failed) = (AtomicU64::new(0), AtomicU64::new(0));
    let edits = std::env::var_os("MEMTREE_EVERY_POINT").is_some();
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
                    // A long sweep fails at the points at which a short one does, which fails at
                    // all of them.
                    if kind == "fail" && points > MANY && !point.is_multiple_of(5) {
                        continue;
                    }
                    if kind == "kill" { &killed } else { &failed }.fetch_add(1, Ordering::SeqCst);
                    let fault = format!("{kind}:{point}");
                    try_one(scenario, root, &fault, &old, &expect);
                    if kind == "kill" && (edits || (point / every).is_multiple_of(3)) {
                        try_edit(scenario, root, &fault);
                    }
                }
            });
        }
    });
    [points, killed.into_inner(), failed.into_inner()]
}

fn try_one(scenario: &Scenario, before: &Path, fault: &str, old: &Texts, expect: &Tree) {
    let when = format!("{}, {fault}", scenario.name);
    let desk = copy_of(before);
    disturbed(&desk, scenario.command, fault);
    desk.memtree(["sweep"]).success();
    // Whoever writes into days or knowledge may be at it, so only `doctor --fix` removes what is
    // unfinished there.
    let of_others = |path: &Path| path.starts_with("daily") || path.starts_with("knowledge");
    let unfinished = |path: &Path| of_others(path) && path.to_string_lossy().ends_with(".tmp");
    let tree = || {
        let mut tree = desk.tree();
        tree.0.retain(|path, _| !unfinished(path));
        tree
    };
    if tree().0.keys().any(|path| path.to_string_lossy().starts_with(".memtree-")) {
        // Killed while the memory was made: an unfinished file of that goes with the sweep after
        // the next.
        desk.memtree(["sweep"]).success();
    }
    let healed = tree();
    assert_kept(old, &desk.texts(), scenario, &when);
    let (proof, told) = desk.memtree(["verify", "--deep"]).any();
    assert_eq!(proof, Some(0), "{when}: {}", told.told());
    if *expect != healed {
        // What was asked for did not come to happen; then it does when it is asked for again.
        assert_ne!(scenario.command, &["sweep"], "{when}: {:#?}", expect.difference(&healed));
        let _ = desk.memtree(scenario.command);
        desk.memtree(["sweep"]).success();
    }
    assert_same(expect, &tree(), &when);
    let left = desk.store().join(".memtree/local");
    for name in ["staging", "committing.json", "evicting.json", "evicted"] {
        assert!(!left.join(name).exists(), "{when}: {name} is left");
    }
}

/// Kills a command, edits every page as a person does, and sweeps: no edit is gone.
fn try_edit(scenario: &Scenario, before: &Path, fault: &str) {
    let when = format!("{}, {fault}, then edits", scenario.name);
    let desk = copy_of(before);
    disturbed(&desk, scenario.command, fault);
    let is_page = |name: &str| {
        name.ends_with(".md") && !name.contains("/snapshot/") && !name.starts_with('.')
    };
    let mut edited = Vec::new();
    for (number, (name, text)) in desk.texts().into_iter().enumerate() {
        if !is_page(&name) || name == "README.md" || name == "forgotten.md" {
            continue;
        }
        let mark = match name.starts_with("daily/raw/") {
            true => format!("- [09:00:00] [user] (person) by hand {number}."),
            false => format!("by hand {number}."),
        };
        let text = match name.ends_with("_DIGEST.md") {
            // A word in the front matter as well.
            true => text.replacen("\n---\n", &format!("\nmine: by hand {number}.\n---\n"), 1),
            false => text,
        };
        desk.write(&name, format!("{text}{mark}\n"));
        edited.push((
            name,
            format!("by hand {number}."),
            text.matches("mine: by hand").count() + 1,
        ));
    }
    desk.memtree(["sweep"]).success();
    let _ = desk.memtree(scenario.command);
    desk.memtree(["sweep"]).success();
    let forgets = scenario.command[0] == "forget";
    for (name, mark, times) in edited {
        let gone = forgets && !desk.store().join(&name).exists();
        let now = if gone { continue } else { desk.read(&name) };
        assert_eq!(now.matches(&mark).count(), times, "{when}: {name} lost `{mark}`:\n{now}");
    }
    let (proof, told) = desk.memtree(["verify", "--deep"]).any();
    assert_eq!(proof, Some(0), "{when}: {}", told.told());
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "a release build has no faults to inject")]
fn a_kill_or_a_failure_at_any_point_loses_nothing() {
    for scenario in SCENARIOS {
        let began = std::time::Instant::now();
        let [points, killed, failed] = try_all(scenario);
        let seconds = began.elapsed().as_secs_f64();
        println!(
            "{}: {points} points, killed at {killed}, failed at {failed}, in {seconds:.1} s",
            scenario.name
        );
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "a release build has no faults to inject")]
fn a_full_disk_is_told_and_what_was_there_stays() {
    let before = Desk::in_memory().with_stopped_clock();
    grown(&before);
    let undisturbed = copy_of(before.root());
    undisturbed.memtree(["sweep"]).success();
    let mut tried = 0;
    for point in (3..).step_by(17) {
        let desk = copy_of(before.root());
        let arguments = [OsString::from("sweep")];
        let output = desk
            .command(&arguments)
            .env("MEMTREE_FAULT", format!("full:{point}"))
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        if output.status.success() {
            break;
        }
        tried += 1;
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("cannot") && said.to_lowercase().contains("no storage space"),
            "point {point}: {said}"
        );
        desk.memtree(["search", "bowline"]).success().stdout_has("SES1_desk_SP1C1");
        desk.memtree(["sweep"]).success();
        assert_same(&undisturbed.tree(), &desk.tree(), &format!("full at {point}"));
        desk.memtree(["verify", "--deep"]).success();
    }
    assert!(tried > 3, "only {tried} points");
}
