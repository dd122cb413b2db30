//! What other tools left in a memory: pages of days and event logs. They are read, and stay as they
//! are.

use std::fs::{self, File};

use crate::harness::{Desk, START, assert_same, exchange};

const ONE: &str = "5e550d01-0000-4000-8000-000000000001";
const PAGE: &str = "# Daily Log: 2026-11-14\n\n## Sessions\n\n### Session (09:10)\n- The sluice is opened by hand since the motor failed\n";
const LOG: &str = "tests/fixtures/eventlog/two_turns/chat_main.jsonl";

fn desk() -> Desk {
    let desk = Desk::new();
    desk.memtree(["init", "--quiet"]).success();
    desk
}

#[test]
fn an_older_page_stands_in_for_a_day() {
    let desk = desk();
    desk.write("daily/2026-11-14.md", PAGE);
    desk.write("daily/2026-11-15.md", "  \n");
    let page = || desk.memtree(["context"]).success().stdout;
    assert!(
        page().contains(
            "“The sluice is opened by hand since the motor failed” (daily/2026-11-14.md:6)"
        ),
        "{}",
        page()
    );
    assert!(!page().contains("2026-11-15"), "a blank one says nothing: {}", page());
    desk.memtree(["search", "sluice motor", "--in", "days"])
        .success()
        .stdout_has("daily/2026-11-14.md");
    desk.memtree(["summarize", "2026-11-14"])
        .code(1)
        .stderr_has("`daily/2026-11-14.md` is kept as another tool wrote it");
    // A day of ours links to it, and then tells more than it.
    desk.memtree([
        "log",
        "user",
        "The motor of the sluice is mended again",
        "--at",
        "2026-11-14T10:00:00Z",
    ])
    .success();
    desk.memtree(["sweep"]).success();
    let summary = desk.read("daily/summary/2026-11-14.md");
    assert!(summary.contains("[older page](../2026-11-14.md)"), "{summary}");
    assert!(page().contains("mended again") && !page().contains("opened by hand"), "{}", page());
    assert_eq!(desk.read("daily/2026-11-14.md"), PAGE);
    let before = desk.tree();
    desk.memtree(["sweep"]).success();
    assert_same(&before, &desk.tree(), "after another sweep");
}

#[test]
fn an_older_event_log_is_a_session() {
    let desk = desk();
    desk.write("sessions/chat_main.jsonl", fs::read(LOG).unwrap());
    desk.memtree(["sweep"]).success().stdout_has("1 captured");
    assert_eq!(desk.digest("SES1_desk_SP1C1").source_id, "eventlog:chat/main");
    let raw = desk.read("daily/raw/2026-03-02.md");
    assert!(
        raw.contains(
            "- [09:14:00] [user] (SES1_desk_SP1C1) Which tide table does the harbour use?"
        ),
        "{raw}"
    );
    desk.memtree(["search", "tide table inner basin"]).success().stdout_has("SES1_desk_SP1C1");
    let before = desk.tree();
    desk.memtree(["sweep"]).success().stdout_has("1 unchanged");
    assert_same(&before, &desk.tree(), "after another sweep");
    desk.memtree(["verify", "--deep"]).success();
    desk.memtree(["forget", "SES1_desk_SP1C1", "--yes"]).success();
    desk.memtree(["sweep"]).success();
    assert_eq!(desk.sessions(), Vec::<String>::new());
}

#[test]
fn event_logs_are_written_where_they_are_wanted() {
    let two = exchange(ONE, 1, "Which rope is this?", "Hemp.")
        + &exchange(ONE, 2, "And that one?", "Manila, ghp_a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6.");
    let desk = desk().with_claude_log(ONE, &two);
    desk.memtree(["sweep"]).success();
    assert!(!desk.store().join("sessions/SES1_desk_SP1C1.jsonl").exists(), "nobody asked for it");
    let settings = desk.read("memtree.toml").replace("#jsonl_log = false", "jsonl_log = true");
    desk.settings(settings);
    desk.write_log(ONE, two + &exchange(ONE, 3, "Thanks, that is all", "You are welcome."));
    desk.memtree(["sweep"]).success();
    let log = desk.read("sessions/SES1_desk_SP1C1.jsonl");
    let events: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.len(), 6, "two for each turn: {log}");
    assert_eq!(events[0]["payload"]["text"], "Which rope is this?");
    assert_eq!(
        (&events[0]["source"], &events[1]["source"]),
        (&"user".into(), &"main_agent".into())
    );
    assert!(!log.contains("ghp_") && log.contains("[redacted:"), "{log}");
    // It is no session of its own, git leaves it out, and it goes with its session.
    desk.memtree(["sweep"]).success().stdout_has("1 session discovered");
    desk.git(["init", "-q"]);
    assert!(!desk.git(["status", "--porcelain", "-uall"]).contains(".jsonl"));
    desk.memtree(["forget", "--text", "Manila", "--yes"]).success();
    assert!(!desk.read("sessions/SES1_desk_SP1C1.jsonl").contains("Manila"));
    desk.memtree(["forget", "SES1_desk_SP1C1", "--yes"]).success();
    assert!(!desk.store().join("sessions/SES1_desk_SP1C1.jsonl").exists());
}

#[test]
fn old_event_logs_go_by_age() {
    let desk = desk().with_claude_log(ONE, exchange(ONE, 1, "Which rope is this?", "Hemp."));
    let settings = desk.read("memtree.toml").replace("#jsonl_log = false", "jsonl_log = true");
    desk.settings(settings);
    desk.write("sessions/chat_main.jsonl", fs::read(LOG).unwrap());
    let days_ago = |name: &str, days: i64| {
        let at =
            chrono::DateTime::parse_from_rfc3339(START).unwrap() - chrono::Duration::days(days);
        File::options()
            .append(true)
            .open(desk.store().join("sessions").join(name))
            .unwrap()
            .set_modified(at.into())
            .unwrap();
    };
    days_ago("chat_main.jsonl", 40);
    let retain = |days: &str| {
        desk.memtree(["retain", "--jsonl-max-age-days", days, "--json"]).success().json()
    };
    assert_eq!(
        retain("30")["event_logs"]["removed"],
        serde_json::json!([]),
        "it was never captured"
    );
    desk.memtree(["sweep"]).success();
    let ours = desk.session_of(&format!("claude:{ONE}")) + ".jsonl";
    days_ago(&ours, 20);
    assert!(retain("0").get("event_logs").is_none(), "0 means never");
    let rehearsed = desk.memtree(["retain", "--jsonl-max-age-days", "30", "--dry-run"]).success();
    assert!(rehearsed.stdout.contains("would remove 1 event log"), "{}", rehearsed.told());
    let gone = retain("30");
    assert_eq!(
        gone["event_logs"]["removed"],
        serde_json::json!(["sessions/chat_main.jsonl"]),
        "{gone}"
    );
    assert_eq!(
        (&gone["event_logs"]["scanned"], &gone["event_logs"]["cutoff"]),
        (&2.into(), &gone["event_logs"]["cutoff"])
    );
    assert_eq!(
        retain("10")["event_logs"]["removed"],
        serde_json::json!([format!("sessions/{ours}")])
    );
    // What it held is still there.
    desk.memtree(["search", "tide table"]).success().stdout_has("SES");
    desk.memtree(["sweep"]).success();
    desk.memtree(["retain", "--jsonl-max-age-days", "-1"]).code(2);
    desk.write(
        "memtree.toml",
        desk.read("memtree.toml").replace("#jsonl_max_age_days = 0", "jsonl_max_age_days = -1"),
    );
    // What cannot be used cannot be accepted, and what was accepted stays in force.
    desk.memtree(["config", "accept", "--all"])
        .code(1)
        .stderr_has("cannot use the setting `retention.jsonl_max_age_days = -1`");
    desk.memtree(["retain"]).success();
    desk.configure("[retention]\njsonl_max_age_days = -1\n");
    desk.memtree(["retain"])
        .code(1)
        .stderr_has("cannot use the setting `retention.jsonl_max_age_days = -1`");
}

#[test]
fn what_another_tool_noted_of_days_is_taken_in_once() {
    let desk = desk();
    desk.memtree(["log", "user", "Is the sluice open?", "--at", "2026-11-15T10:00:00Z"]).success();
    fs::create_dir(desk.store().join("central")).unwrap();
    let note = |path: &str, waiting: u32, summaries: u32| {
        let database = rusqlite::Connection::open(desk.store().join(path)).unwrap();
        database
            .execute_batch(&format!(
                "CREATE TABLE IF NOT EXISTS day_memory_status (day TEXT PRIMARY KEY, messages_since_last_summary INTEGER, summaries_count INTEGER, is_finalized INTEGER);
                 INSERT OR REPLACE INTO day_memory_status VALUES ('2026-11-15', {waiting}, {summaries}, 0);"
            ))
            .unwrap();
    };
    note("memory_index.sqlite3", 7, 2);
    note("central/zubot_core.db", 4, 5);
    let database = fs::read(desk.store().join("memory_index.sqlite3")).unwrap();
    let counters =
        || desk.memtree(["status", "--json"]).success().json()["day_counters"][0].clone();
    desk.memtree(["sweep"]).success();
    let of_day = counters();
    assert_eq!(of_day["earlier_summaries"], 5, "the larger one: {of_day}");
    assert_eq!(of_day["messages_since_last_summary"], 0, "our own summary covers it: {of_day}");
    // Not yet summarized by us, what the other tool counted counts.
    desk.memtree(["log", "user", "And the gate?", "--at", "2026-11-15T11:00:00Z"]).success();
    assert_eq!(counters()["messages_since_last_summary"], 7);
    fs::remove_file(desk.store().join("central/zubot_core.db")).unwrap();
    assert_eq!(counters()["earlier_summaries"], 5, "it was taken in");
    assert_eq!(fs::read(desk.store().join("memory_index.sqlite3")).unwrap(), database);
}

#[test]
fn a_database_that_cannot_be_read_stops_nothing() {
    let desk = desk();
    desk.write("memory_index.sqlite3", "SQLite format 3\0 and then nothing of the kind");
    desk.memtree(["log", "user", "Is the sluice open?", "--at", "2026-11-15T10:00:00Z"]).success();
    desk.memtree(["sweep"]).success();
    let counters = desk.memtree(["status", "--json"]).success().json();
    assert!(counters["day_counters"][0]["earlier_summaries"].is_null(), "{counters}");
}
