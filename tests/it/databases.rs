//! Files that many sessions share: read without touching them, each session on its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;

use crate::harness::{Desk, Tree, assert_same, fixture};

/// Where a copy of a fixture's database lies on a desk.
fn database(desk: &Desk, flavor: &str, case: &str, name: &str) -> PathBuf {
    let folder = desk.project().join(flavor);
    crate::harness::copy_folder(&fixture(flavor, case), &folder);
    let database = folder.join(name);
    assert!(database.is_file(), "{}", database.display());
    database
}

fn source(flavor: &str, path: &Path) -> String {
    format!("{flavor}={}", path.display())
}

/// All text of the memory's files, the cache's included.
fn everything_in(folder: &Path) -> String {
    let files = walkdir::WalkDir::new(folder)
        .into_iter()
        .flatten()
        .filter(|entry| entry.file_type().is_file() && entry.file_name() != ".gitignore");
    files
        .map(|entry| String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned())
        .collect()
}

#[test]
fn an_open_database_is_read_with_its_log_and_left_alone() {
    let desk = Desk::new();
    let path = database(&desk, "opencode", "wal", "data/opencode.db");
    let folder = desk.project();
    let before =
        (Tree::of(&folder), fs::metadata(path.parent().unwrap()).unwrap().modified().unwrap());
    let source = source("opencode", &path);
    desk.memtree(["sweep", "--dry-run", "--source", &source]).success();
    assert!(!desk.store().exists(), "a rehearsal makes nothing");
    desk.memtree(["sweep", "--source", &source]).success();
    assert_same(&before.0, &Tree::of(&folder), "after a sweep");
    assert_eq!(
        fs::metadata(path.parent().unwrap()).unwrap().modified().unwrap(),
        before.1,
        "nothing came and went"
    );
    let session = desk.session_of("opencode:ses_5e55d003");
    assert_eq!(desk.digest(&session).content.turns, 2);
    desk.check_manifest(&session);
    let left = everything_in(&desk.root().join("tmp"));
    assert_eq!(left, "", "no copy is left behind");
    assert!(!desk.store().join(".memtree/local/staging").exists());
}

#[test]
fn credentials_are_never_read() {
    let desk = Desk::new();
    let opencode = database(&desk, "opencode", "database", "data/opencode.db");
    let goose = database(&desk, "goose", "database", "sessions/sessions.db");
    let kilo = database(&desk, "kilo", "database", "data/kilo.db");
    for path in [&opencode, &goose, &kilo] {
        assert!(
            String::from_utf8_lossy(&fs::read(path).unwrap()).contains("NEVER-READ"),
            "the fixture has some"
        );
    }
    let sources = [source("opencode", &opencode), source("goose", &goose), source("kilo", &kilo)];
    let named = sources.iter().flat_map(|source| ["--source", source.as_str()]);
    let swept = desk.memtree(["sweep", "--json"].into_iter().chain(named)).success().json();
    assert_eq!(swept["captured"], 4, "two of the six are subagents of others");
    assert!(!everything_in(&desk.store()).contains("NEVER-READ"));
    assert!(everything_in(&desk.store()).contains("ses_5e55d001"));
}

#[test]
fn a_database_with_the_tables_of_two_agents_is_known_by_its_own_ones() {
    let desk = Desk::new();
    let kilo = database(&desk, "kilo", "database", "data/kilo.db");
    let copy = desk.project().join("copy.db");
    fs::rename(&kilo, &copy).unwrap();
    let opencode = database(&desk, "opencode", "database", "data/opencode.db");
    let whose = |path: &Path| {
        let source = source("kilo", path);
        let swept = desk.memtree(["sweep", "--dry-run", "--json", "--source", &source]).success();
        swept.json()["by_flavor"].clone()
    };
    assert_eq!(whose(&copy), serde_json::json!({"kilo": 1}));
    assert_eq!(whose(&opencode), serde_json::json!({"opencode": 1}));
}

#[test]
fn what_is_no_conversation_is_never_read() {
    let cases = [
        ("hermes", "state.db"),
        ("kiro", "kiro-cli/data.sqlite3"),
        ("crush", "hive/.crush/crush.db"),
        ("cursor", "User/globalStorage/state.vscdb"),
    ];
    for (flavor, name) in cases {
        let desk = Desk::new();
        let case = if flavor == "cursor" { "editor" } else { "database" };
        let path = database(&desk, flavor, case, name);
        let bytes = fs::read(&path).unwrap();
        assert!(String::from_utf8_lossy(&bytes).contains("NEVER-READ"), "{flavor}");
        desk.memtree(["sweep", "--source", &source(flavor, &path)]).any();
        let kept = everything_in(&desk.store());
        assert!(kept.contains(&format!("{flavor}:")), "{flavor} is captured");
        assert!(!kept.contains("NEVER-READ"), "{flavor}");
    }
}

#[test]
fn a_damaged_database_is_not_said_to_be_none() {
    let cases = [
        ("hermes", "database", "state.db"),
        ("zed", "database", "threads/threads.db"),
        ("crush", "database", "hive/.crush/crush.db"),
    ];
    for (flavor, case, name) in cases {
        let desk = Desk::new();
        let path = database(&desk, flavor, case, name);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..5000]).unwrap();
        let swept = desk.memtree(["sweep", "--source", &source(flavor, &path)]).code(3);
        assert!(swept.stderr.contains("cannot read the database"), "{flavor}: {}", swept.stderr);
        assert!(!swept.stderr.contains("no agent's logs"), "{flavor}: {}", swept.stderr);
    }
}

/// Beside it lies another one, which rests.
#[test]
fn a_database_that_stays_busy_is_named_and_the_rest_captured() {
    let desk = Desk::new();
    let busy = database(&desk, "goose", "database", "sessions/sessions.db");
    let still = database(&desk, "opencode", "database", "data/opencode.db");
    // So long that it cannot be copied between two changes, and with something in its log.
    let agent = Connection::open(&busy).unwrap();
    agent
        .execute_batch(
            "CREATE TABLE filler AS SELECT zeroblob(40000000) AS zeros;
            PRAGMA journal_mode = WAL; UPDATE sessions SET updated_at = updated_at;",
        )
        .unwrap();
    let ended = AtomicBool::new(false);
    let said = std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = fs::File::options().write(true).open(&busy).unwrap();
            while !ended.load(Ordering::Relaxed) {
                file.set_modified(std::time::SystemTime::now()).unwrap();
                std::thread::sleep(std::time::Duration::from_micros(200));
            }
        });
        let sources = [source("goose", &busy), source("opencode", &still)];
        let sweep = |_| {
            let both = ["sweep", "--source", &sources[0], "--source", &sources[1]];
            desk.memtree(both).any().1.stderr
        };
        // On a machine with much else to do, the copy may find a quiet moment.
        let busy = |said: &String| said.contains("the next sweep will take it");
        let said = (0..20).map(sweep).find(busy);
        ended.store(true, Ordering::Relaxed);
        said
    });
    let said = said.expect("twenty sweeps found the database at rest");
    assert!(said.contains("sessions.db:0: ") && !said.contains("no agent's logs"), "{said}");
    assert!(!desk.session_of("opencode:ses_5e55d001").is_empty());
    let swept = desk.memtree(["sweep", "--source", &source("goose", &busy)]).success();
    assert!(!desk.session_of("goose:20261103_1").is_empty(), "{}", swept.told());
}

#[test]
fn only_the_session_that_grew_is_news() {
    let desk = Desk::new();
    let path = database(&desk, "opencode", "database", "data/opencode.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("UPDATE session SET parent_id = NULL").unwrap();
    drop(connection);
    let sweep = ["sweep", "--json", "--source", &source("opencode", &path)];
    assert_eq!(desk.memtree(sweep).success().json()["captured"], 2);
    let before = desk.tree();
    assert_eq!(desk.memtree(sweep).success().json()["unchanged"], 2);
    // Without what is remembered, the content tells the same.
    fs::remove_dir_all(desk.store().join(".memtree/cache")).unwrap();
    assert_eq!(desk.memtree(sweep).success().json()["unchanged"], 2);
    assert_same(&before, &desk.tree(), "after three sweeps");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            r#"UPDATE message SET time_updated = time_updated + 1 WHERE id = 'msg_0102';
            INSERT INTO message VALUES ('msg_0103', 'ses_5e55d002', 1793696410000, 1793696410000,
                '{"role":"user","time":{"created":1793696410000}}');
            INSERT INTO part VALUES ('prt_01030', 'msg_0103', 'ses_5e55d002', 1793696410000, 1793696410000,
                '{"type":"text","text":"And which passes?"}');"#,
        )
        .unwrap();
    drop(connection);
    let swept = desk.memtree(sweep).success().json();
    assert_eq!([&swept["captured"], &swept["unchanged"]], [1, 1], "{swept}");
    let session = desk.session_of("opencode:ses_5e55d002");
    assert_eq!(desk.digest(&session).content.turns, 2);
    let raw = desk.store().join("sessions").join(&session).join("snapshot/raw");
    let raw = Tree::of(&raw);
    let kept = raw.files().map(|(path, _)| path);
    let kept: Vec<_> = kept.filter(|path| !path.ends_with(".gitignore")).collect();
    assert_eq!(kept, [Path::new("ses_5e55d002.rows.jsonl")], "what only grew is not kept twice");
}

#[test]
fn what_a_database_loses_is_still_remembered() {
    let desk = Desk::new();
    let path = database(&desk, "goose", "database", "sessions/sessions.db");
    let sweep = ["sweep", "--json", "--source", &source("goose", &path)];
    desk.memtree(sweep).success();
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("DELETE FROM messages WHERE session_id = '20261103_1' AND id < 7; DELETE FROM sessions WHERE id = '20261103_2'")
        .unwrap();
    drop(connection);
    let swept = desk.memtree(sweep).success().json();
    assert_eq!([&swept["discovered"], &swept["captured"]], [1, 1]);
    assert_eq!(desk.sessions().len(), 2, "a session that the agent deleted stays");
    let session = desk.session_of("goose:20261103_1");
    assert_eq!(desk.digest(&session).content.turns, 2, "and so do the prompts");
    desk.check_manifest(&session);
    assert_eq!(desk.memtree(sweep).success().json()["unchanged"], 1);
}

#[test]
fn a_damaged_or_foreign_database_is_named_and_the_rest_captured() {
    let desk = Desk::new();
    let whole = database(&desk, "opencode", "database", "data/opencode.db");
    let folder = desk.project().join("bad");
    fs::create_dir(&folder).unwrap();
    let bytes = fs::read(&whole).unwrap();
    fs::write(folder.join("opencode.db"), &bytes[..bytes.len() / 2]).unwrap();
    let newer = Connection::open(folder.join("opencode-next.db")).unwrap();
    newer.execute_batch("CREATE TABLE session (id TEXT, blob BLOB)").unwrap();
    let foreign = Connection::open(folder.join("history.db")).unwrap();
    foreign.execute_batch("CREATE TABLE visits (url TEXT)").unwrap();
    fs::write(folder.join("kilo.db"), "not what it says").unwrap();
    fs::write(folder.join("kilo-new.db"), "").unwrap();
    drop((newer, foreign));
    let sources = [source("opencode", &folder), source("opencode", &whole)];
    let swept = desk
        .memtree(["sweep", "--json", "--source", &sources[0], "--source", &sources[1]])
        .code(3)
        .json();
    assert_eq!(swept["captured"], 1, "a session and its subagent: {swept}");
    let skipped = swept["skipped"].as_array().unwrap();
    let reason = |name: &str| {
        let one = skipped.iter().find(|one| one["path"].as_str().unwrap().ends_with(name));
        one.unwrap_or_else(|| panic!("{name} is not named: {swept}"))["reason"]
            .as_str()
            .unwrap()
            .to_string()
    };
    assert_eq!(skipped.len(), 3, "{swept}");
    assert!(reason("/kilo.db").contains("called as an agent's database, but none"), "{swept}");
    assert!(reason("/opencode.db").contains("cannot read the database"), "{swept}");
    assert!(
        reason("opencode-next.db").contains("unknown schema: the table `session` has no column"),
        "{swept}"
    );
}

#[test]
fn a_database_that_its_agent_has_locked_is_read_all_the_same() {
    let desk = Desk::new();
    let path = database(&desk, "goose", "database", "sessions/sessions.db");
    let agent = Connection::open(&path).unwrap();
    agent.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let swept =
        desk.memtree(["sweep", "--json", "--source", &source("goose", &path)]).success().json();
    assert_eq!(swept["captured"], 2);
    // In the middle of a change, what was there before it counts.
    agent
        .execute_batch(
            "PRAGMA cache_size = 1; UPDATE messages SET content_json = '[]'; DELETE FROM sessions",
        )
        .unwrap();
    let swept =
        desk.memtree(["sweep", "--json", "--source", &source("goose", &path)]).done().json();
    assert_eq!(swept["captured"], 0, "{swept}");
    agent.execute_batch("ROLLBACK").unwrap();
    let again =
        desk.memtree(["sweep", "--json", "--source", &source("goose", &path)]).success().json();
    assert_eq!([&again["captured"], &again["unchanged"]], [0, 2], "{again}");
}

#[test]
fn a_run_of_a_history_grows_on_its_own() {
    let desk = Desk::new();
    let path = database(&desk, "aider", "history", "repo/.aider.chat.history.md");
    let sweep = ["sweep", "--json", "--source", &source("aider", &path)];
    let first = desk.memtree(sweep).success().json();
    assert_eq!(first["captured"], 3);
    let mut history = fs::read_to_string(&path).unwrap();
    history.push_str("\n#### what is left to do?  \n\nNothing.\n\n");
    fs::write(&path, &history).unwrap();
    let grown = desk.memtree(sweep).success().json();
    assert_eq!([&grown["captured"], &grown["unchanged"]], [1, 2]);
    let source_id = grown["sessions"][0]["source_id"].as_str().unwrap().to_string();
    assert!(source_id.ends_with("-20261103T103000-2"), "{source_id}");
    let session = desk.session_of(&source_id);
    let raw = desk.store().join("sessions").join(&session).join("snapshot/raw");
    let kept = everything_in(&raw);
    // The log, and what keeps it out of git.
    assert_eq!(Tree::of(&raw).files().count(), 2);
    let own = &history[history.rfind("# aider chat").unwrap()..];
    assert!(kept.ends_with(own) && kept.starts_with("<!-- aider: "), "{kept}");
}

#[test]
fn what_a_subagent_of_openclaw_did_is_told_in_its_parents_session() {
    let desk = Desk::new();
    let name = "agents/main/agent/openclaw-agent.sqlite";
    let path = database(&desk, "openclaw", "database", name);
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "ALTER TABLE session_windows ADD COLUMN spawned_by TEXT;
            INSERT INTO session_windows (session_id, session_key, spawned_by, created_at, updated_at)
                SELECT 'helper', 'agent:main:subagent:1', session_key, created_at + 1000, updated_at
                FROM session_windows;",
        )
        .unwrap();
    let events = [
        r#"{"type":"session","version":4,"id":"helper","timestamp":"2026-11-03T09:00:01.100Z","cwd":"/home/ada/hive"}"#,
        r#"{"type":"message","id":"h1","parentId":null,"timestamp":"2026-11-03T09:00:01.200Z","message":{"role":"user","content":[{"type":"text","text":"Count the frames of the hive"}]}}"#,
        r#"{"type":"message","id":"h2","parentId":"h1","timestamp":"2026-11-03T09:00:01.300Z","message":{"role":"assistant","model":"m","content":[{"type":"text","text":"There are ten frames."}],"stopReason":"stop"}}"#,
    ];
    for (number, event) in events.iter().enumerate() {
        connection
            .execute(
                "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES ('helper', ?1, ?2, 0)",
                (number as i64, event),
            )
            .unwrap();
    }
    drop(connection);
    let swept = desk.memtree(["sweep", "--json", "--source", &source("openclaw", &path)]);
    let swept = swept.success().json();
    assert_eq!(swept["captured"], 1, "{swept}");
    let session = desk.session_of("openclaw:harbour");
    let snapshot = desk.store().join("sessions").join(&session).join("snapshot");
    let told = everything_in(&snapshot.join("episodic"));
    assert!(told.contains("Count the frames of the hive"), "{told}");
    let raw = Tree::of(&snapshot.join("raw"));
    assert!(raw.files().any(|(path, _)| path.starts_with("subagent-helper")), "kept in its folder");
}
