//! The storage budget: who goes, who stays, what is left, and what is proved of it.

use std::fs;

use serde_json::Value;

use crate::harness::{Desk, assert_same, exchange};

const OLD: &str = "SES1_desk_SP1C1";
const NEW: &str = "SES2_desk_SP1C1";

fn id(number: u32) -> String {
    format!("aaaaaaaa-0000-4000-8000-{number:012}")
}

/// A desk with so many sessions, one minute apart, swept an hour after the last.
fn desk(sessions: u32) -> Desk {
    let desk = Desk::new();
    for number in 1..=sessions {
        let reply =
            format!("Around the tree number {number} and back. {}", "And again. ".repeat(200));
        desk.write_log(
            &id(number),
            exchange(&id(number), number, "How do I tie a bowline?", &reply),
        );
    }
    desk.later(60);
    desk.memtree(["sweep"]).success();
    desk
}

fn grow(desk: &Desk, number: u32) {
    let log = fs::read_to_string(desk.log_path(&id(number))).unwrap();
    desk.write_log(
        &id(number),
        log + &exchange(&id(number), 40, "And a sheet bend?", "For two ropes."),
    );
}

fn has(desk: &Desk, session: &str, part: &str) -> bool {
    desk.store().join("sessions").join(session).join("snapshot").join(part).exists()
}

fn decisions(answer: &Value) -> Vec<String> {
    let sessions = answer["sessions"].as_array().unwrap().iter();
    sessions
        .map(|one| {
            format!("{} {}", one["session"].as_str().unwrap(), one["decision"].as_str().unwrap())
        })
        .collect()
}

/// How much room raw takes, of all and of the first session.
fn in_use(desk: &Desk) -> u64 {
    desk.memtree(["retain", "--dry-run", "--json"]).success().json()["in_use_bytes"]
        .as_u64()
        .unwrap()
}

#[test]
fn the_oldest_raw_goes_first_and_the_digest_says_so() {
    let desk = desk(3);
    let before = desk.tree();
    let cap = format!("--soft-cap={}", in_use(&desk) - 1);
    let planned = desk.memtree(["retain", "--dry-run", &cap]).success();
    assert_eq!(
        planned.stdout.lines().filter(|line| line.starts_with("keep ")).count(),
        2,
        "{}",
        planned.stdout
    );
    assert!(planned.stdout.contains(&format!("evict  {OLD}")), "{}", planned.stdout);
    assert!(planned.stdout.contains("over the soft cap, oldest first"), "{}", planned.stdout);
    assert_same(&before, &desk.tree(), "a rehearsal changes nothing");

    let done = desk.memtree(["retain", &cap, "--json"]).success().json();
    assert_eq!(decisions(&done)[..2], [format!("{OLD} evict"), format!("{NEW} keep")]);
    assert_eq!(done["evicted"]["budget"][0], OLD);
    assert!(done["freed_bytes"].as_u64().unwrap() > 0);
    assert!(
        !has(&desk, OLD, "raw") && has(&desk, OLD, "episodic/EP_001.md") && has(&desk, NEW, "raw")
    );
    let digest = desk.digest(OLD);
    assert_eq!(digest.snapshot.evicted.as_deref(), Some("2026-11-15"));
    assert_eq!(digest.snapshot.manifest.len(), 1, "the hash of what was captured stays");
    assert!(
        desk.digest_text(OLD).contains("entries captured, evicted with the raw on 2026-11-15\n")
    );
    desk.memtree(["verify", "--deep"]).success().stdout_has("1 session evicted");

    // The source is as it was, so it is not captured again; neither when everything was forgotten
    // but the tree.
    let after = desk.tree();
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!([&swept["captured"], &swept["unchanged"]], [0, 3]);
    assert_eq!(swept["retention"]["in_use_bytes"], done["in_use_bytes"]);
    fs::remove_dir_all(desk.store().join(".memtree")).unwrap();
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!([&swept["captured"], &swept["unchanged"]], [0, 3]);
    assert_eq!(swept["retention"]["in_use_bytes"], done["in_use_bytes"]);
    assert_same(&after, &desk.tree(), "nothing comes back by itself");

    // One that grows is captured again, in full.
    grow(&desk, 1);
    assert_eq!(desk.memtree(["sweep", "--json"]).success().json()["captured"], 1);
    assert!(has(&desk, OLD, "raw") && desk.digest(OLD).snapshot.evicted.is_none());
    assert!(!desk.digest_text(OLD).contains("evicted"));
    desk.check_manifest(OLD);
    desk.memtree(["verify", "--deep"]).success();
}

#[test]
fn a_quiet_memory_comes_within_its_budget_too() {
    let desk = Desk::new();
    for number in 1..=3 {
        let log = exchange(&id(number), number, "How do I tie a bowline?", &"Around. ".repeat(300));
        desk.write_log(&id(number), log);
    }
    desk.later(60);
    desk.settings("format = 1\n[retention]\nsoft_cap = \"1kB\"\nhard_cap = \"2kB\"\n");
    // What was captured just now does not go at once, and the person is told.
    let first = desk.memtree(["sweep"]).success().stderr_has("more than `retention.hard_cap`");
    assert!(first.stdout.contains("evicted 0 (age 0, budget 0, overflow 0)"), "{}", first.stdout);
    let second = desk.memtree(["sweep"]).success();
    assert!(second.stdout.contains("3 unchanged"), "{}", second.stdout);
    assert!(second.stdout.contains("evicted 3 (age 0, budget 3, overflow 0)"), "{}", second.stdout);
    assert!(!has(&desk, OLD, "raw") && !has(&desk, NEW, "raw"));
    let third = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!(third["retention"]["in_use_bytes"], 0, "{third}");
    // What may not go is named each time.
    grow(&desk, 1);
    desk.memtree(["sweep"]).success();
    desk.memtree(["pin", OLD]).success();
    desk.later(60);
    for _ in 0..3 {
        desk.memtree(["sweep"]).success().stderr_has("more than `retention.hard_cap`");
    }
    assert!(has(&desk, OLD, "raw"));
    // A dry run says what would go.
    desk.memtree(["pin", "--remove", OLD]).success();
    let before = desk.tree();
    desk.memtree(["sweep", "--dry-run"]).success().stdout_has("would evict 1 (age 0, budget 1");
    assert_same(&before, &desk.tree(), "a dry run changes nothing");
}

#[test]
fn pages_go_when_raw_is_not_enough_and_the_digest_still_answers() {
    let desk = desk(2);
    desk.memtree(["retain", "--soft-cap", "1"]).success().stdout_has("evicted 2 sessions");
    for session in [OLD, NEW] {
        let left =
            fs::read_dir(desk.store().join("sessions").join(session).join("snapshot")).unwrap();
        let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["MANIFEST.sha256"]);
    }
    desk.memtree(["verify", "--deep"]).success().stdout_has("2 sessions evicted");
    let recalled = desk.memtree(["recall", &format!("{OLD}#EP_001"), "--json"]).success().json();
    assert_eq!(recalled["evicted"], true);
    desk.memtree(["search", "bowline tree"]).success().stdout_has(OLD);
    assert_eq!(desk.memtree(["sweep", "--json"]).success().json()["captured"], 0);
    desk.memtree(["retain", "--soft-cap", "1"]).success().stdout_has("nothing had to go");
}

#[test]
fn nothing_goes_in_the_sweep_that_captured_it() {
    let desk = Desk::new();
    desk.write_log(
        &id(1),
        exchange(&id(1), 1, "How do I tie a bowline?", "Around the tree and back."),
    );
    desk.later(60);
    let swept = desk.memtree(["sweep", "--soft-cap", "1", "--hard-cap", "1", "--json"]).success();
    let retention = &swept.json()["retention"];
    assert_eq!(
        retention["evicted"],
        serde_json::json!({ "age": [], "budget": [], "overflow": [] })
    );
    assert!(retention["alerts"][0].as_str().unwrap().contains("hard_cap"), "{retention}");
    assert!(swept.stderr.contains("hard_cap") && has(&desk, OLD, "raw"));
    // The next one may take it, also where nothing else has changed.
    desk.memtree(["sweep"]).success();
    let swept = desk.memtree(["sweep", "--soft-cap", "1kB", "--json"]).success().json();
    assert_eq!(swept["retention"]["evicted"]["budget"][0], OLD, "{swept}");
    assert!(!has(&desk, OLD, "raw"));
}

#[test]
fn age_counts_from_the_capture_or_the_last_growth() {
    let desk = desk(2);
    desk.settings(desk.read("memtree.toml").replace("#max_age_days = 0", "max_age_days = 45"));
    desk.memtree(["sweep"]).success();
    desk.later(30 * 24 * 60);
    grow(&desk, 2);
    desk.memtree(["sweep"]).success();
    desk.memtree(["sweep"]).success();
    // Nothing changes but the time; the short cut must not hide that.
    desk.later(16 * 24 * 60);
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!(
        swept["retention"]["evicted"],
        serde_json::json!({ "age": [OLD], "budget": [], "overflow": [] })
    );
    assert!(!has(&desk, OLD, "raw") && has(&desk, OLD, "episodic") && has(&desk, NEW, "raw"));
    desk.later(30 * 24 * 60);
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!(swept["retention"]["evicted"]["age"][0], NEW);
    desk.memtree(["verify", "--deep"]).success();
    let before = desk.tree();
    desk.memtree(["sweep"]).success();
    assert_same(&before, &desk.tree(), "a second sweep changes nothing");
}

#[test]
fn pinned_sessions_stay() {
    let desk = desk(2);
    desk.memtree(["pin", OLD]).success().stdout_has("is pinned");
    assert!(desk.digest_text(OLD).contains("\npinned: true\n"));
    desk.memtree(["retain", "--dry-run", "--soft-cap", "1"]).success().stdout_has("pinned");
    desk.memtree(["retain", "--soft-cap", "1"]).success();
    assert!(has(&desk, OLD, "raw") && !has(&desk, NEW, "raw"));
    grow(&desk, 1);
    desk.memtree(["sweep"]).success();
    assert!(desk.digest_text(OLD).contains("\npinned: true\n"), "it stays when the session grows");
    desk.later(60);
    desk.memtree(["sweep"]).success();
    desk.memtree(["pin", OLD, "--remove"]).success();
    assert!(!desk.digest_text(OLD).contains("pinned"));
    desk.memtree(["sweep", "--soft-cap", "1"]).success().stdout_has("evicted 1 (age 0, budget 1");
    assert!(!has(&desk, OLD, "raw"));
    desk.memtree(["pin", "SES8_desk_SP1C1"]).code(1).stderr_has("there is no session");
    desk.memtree(["pin", "what is this"]).code(1).stderr_has("names no session");
}

#[test]
fn beyond_the_hard_cap_a_session_gets_its_digest_first() {
    let desk = desk(2);
    let digest = desk.store().join(desk.digest_path(OLD));
    let text = fs::read_to_string(&digest).unwrap();
    fs::remove_file(&digest).unwrap();
    fs::remove_file(desk.log_path(&id(1))).unwrap();
    // The soft cap alone never touches what has no digest.
    desk.memtree(["retain", "--soft-cap", "1"]).success();
    assert!(has(&desk, OLD, "raw"));
    let swept = desk.memtree(["sweep", "--hard-cap", "1", "--json"]).success().json();
    assert_eq!(swept["retention"]["digested_now"][0], OLD, "{swept}");
    assert_eq!(swept["retention"]["evicted"]["budget"][0], OLD);
    assert_eq!(swept["retention"]["data_loss"], serde_json::json!([]));
    let line = |text: &str, start: &str| {
        text.lines().find(|line| line.starts_with(start)).map(str::to_string)
    };
    for key in ["source_id:", "title:", "manifest_sha256:", "snapshot_bytes:", "- [How do I tie"] {
        assert_eq!(line(&text, key), line(&desk.digest_text(OLD), key));
    }
    desk.memtree(["verify", "--deep"]).success();
}

#[test]
fn what_can_get_no_digest_is_lost_by_name() {
    let desk = desk(2);
    fs::remove_file(desk.store().join(desk.digest_path(OLD))).unwrap();
    fs::remove_file(desk.log_path(&id(1))).unwrap();
    fs::remove_file(desk.store().join(format!("sessions/{OLD}/snapshot/state/vitals.yaml")))
        .unwrap();
    let planned = desk.memtree(["retain", "--dry-run", "--hard-cap", "1"]).success();
    assert!(
        planned.stdout.contains("over the hard cap and without a digest"),
        "{}",
        planned.stdout
    );
    let swept = desk
        .memtree(["sweep", "--hard-cap", "1", "--json"])
        .code(1)
        .stderr_has("data loss: SES1_desk_SP1C1");
    let retention = &swept.json()["retention"];
    assert_eq!(
        (&retention["data_loss"][0], &retention["evicted"]["overflow"][0]),
        (&OLD.into(), &OLD.into())
    );
    assert!(!has(&desk, OLD, "raw") && !has(&desk, OLD, "episodic"));
}

#[test]
fn a_session_of_many_files_is_known_after_eviction() {
    let desk = desk(1);
    let results = desk.log_path(&id(1)).with_extension("").join("tool-results");
    fs::create_dir_all(&results).unwrap();
    for number in 0..20 {
        fs::write(results.join(format!("toolu_{number:02}.txt")), format!("output {number}\n"))
            .unwrap();
    }
    desk.memtree(["sweep"]).success();
    assert!(
        desk.digest(OLD).snapshot.manifest[0].ends_with("MANIFEST.sha256"),
        "too many for the page"
    );
    desk.memtree(["retain", "--soft-cap", "1"]).success();
    fs::remove_dir_all(desk.store().join(".memtree")).unwrap();
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!([&swept["captured"], &swept["unchanged"]], [0, 1], "{swept}");
    desk.memtree(["verify"]).success();
}

#[test]
fn a_folder_is_raw_throughout() {
    let desk = Desk::new();
    fs::create_dir_all(desk.project().join("episodic")).unwrap();
    fs::write(desk.project().join("episodic/EP1.md"), "# One\nabout bowlines").unwrap();
    desk.memtree(["snapshot", "."]).success();
    desk.memtree(["retain", "--soft-cap", "1"]).success().stdout_has("evicted 1 session");
    assert!(!has(&desk, OLD, "episodic") && has(&desk, OLD, "MANIFEST.sha256"));
    desk.memtree(["verify"]).success();
    desk.memtree(["snapshot", "."]).success();
    assert_eq!(desk.sessions(), [OLD], "the same folder is the same session");
}

#[test]
fn digests_are_never_dropped_but_their_cap_is_told() {
    let desk = desk(1);
    let before = desk.tree();
    desk.memtree(["retain", "--distilled-cap", "1"])
        .success()
        .stderr_has("retention.distilled_cap");
    assert_same(&before, &desk.tree(), "an alert changes nothing");
    desk.memtree(["retain", "--soft-cap", "4 gigs"]).code(2).stderr_has("`4 gigs` is no size");
}

#[test]
fn each_device_evicts_its_own() {
    let desk = desk(1).on_device("other");
    fs::remove_file(desk.log_path(&id(1))).unwrap();
    desk.memtree(["retain", "--soft-cap", "1"]).success();
    assert!(has(&desk, OLD, "raw"));
    desk.memtree(["retain", "--soft-cap", "1", "--dry-run"])
        .success()
        .stdout_has("another device's");
}
