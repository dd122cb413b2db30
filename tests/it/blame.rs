//! From a line of memory to the raw bytes behind it, and from a source file to the sessions that
//! touched it.

use std::fs;

use serde_json::Value;

use crate::harness::Desk;

/// Asserts that every line of MEMORY.md leads to raw bytes that hold its evidence; says how many
/// lines there are.
fn every_line_reaches_raw_bytes(desk: &Desk, store: &std::path::Path) -> usize {
    let store = store.to_str().unwrap();
    let answer =
        desk.memtree(["--store", store, "blame", "core/MEMORY.md", "--json"]).success().json();
    let lines = answer["lines"].as_array().unwrap();
    for line in lines {
        let sources = line["sources"].as_array().unwrap();
        assert!(!sources.is_empty(), "{line:#}");
        let proven = |source: &&Value| {
            let raw = &source["raw"];
            let Some(path) = raw["path"].as_str() else { return false };
            let bytes = fs::read(std::path::Path::new(store).join(path)).unwrap();
            let (start, end) =
                (raw["start"].as_u64().unwrap() as usize, raw["end"].as_u64().unwrap() as usize);
            let there = String::from_utf8(bytes[start..end].to_vec()).unwrap().to_lowercase();
            let evidence = source["evidence"].as_str().unwrap().to_lowercase();
            let first =
                evidence.split(|c: char| !c.is_alphanumeric()).find(|word| word.len() > 1).unwrap();
            there.contains(first)
        };
        assert!(sources.iter().any(|source| proven(&source)), "no raw bytes behind {line:#}");
    }
    lines.len()
}

#[test]
fn every_line_of_the_samples_memory_reaches_raw_bytes() {
    let desk = Desk::new();
    desk.memtree(["sweep", "--sample"]).success();
    let count = every_line_reaches_raw_bytes(&desk, &desk.store());
    let landmarks =
        desk.read("core/MEMORY.md").lines().filter(|line| line.starts_with("- ")).count();
    assert_eq!(count, landmarks);
    assert!(count >= 3, "{count}");
    let at =
        desk.read("core/MEMORY.md").lines().position(|line| line.starts_with("- ")).unwrap() + 1;
    let told = desk.memtree(["blame", &format!("core/MEMORY.md:{at}")]).success();
    told.stdout_has("core/CORE_desk_SP1C1.md:")
        .stdout_has("_DIGEST.md")
        .stdout_has("episodic/EP_")
        .stdout_has("(bytes ");
    // A digest's line, and lines that nothing stands behind.
    let digest = desk.digest_path("SES7_desk_SP1C1");
    let at = desk
        .read(&digest)
        .lines()
        .position(|line| line.contains(" -> Trigger reference: "))
        .unwrap()
        + 1;
    desk.memtree(["blame", &format!("{digest}:{at}")]).success().stdout_has("(bytes ");
    desk.memtree(["blame", "core/MEMORY.md:1"]).code(1).stderr_has("nothing stands behind");
    desk.memtree(["blame", "core/MEMORY.md:9999"]).code(2).stderr_has("has no line 9999");
}

/// `MEMTREE_CORPUS=DIR cargo test --test it corpus -- --ignored`
#[test]
#[ignore = "needs a corpus of logs in $MEMTREE_CORPUS"]
fn every_line_of_the_corpus_memory_reaches_raw_bytes() {
    let corpus = std::env::var("MEMTREE_CORPUS").expect("MEMTREE_CORPUS names a folder of logs");
    let desk = Desk::new();
    let mut arguments = vec!["sweep".to_string()];
    for entry in fs::read_dir(&corpus).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        let flavor = entry.file_name().into_string().unwrap();
        if !flavor.starts_with('_') {
            arguments.extend(["--source".into(), format!("{flavor}={}", entry.path().display())]);
        }
    }
    desk.later(60 * 24 * 400);
    desk.memtree(&arguments).done();
    assert!(every_line_reaches_raw_bytes(&desk, &desk.store()) > 5);
}

#[test]
fn a_line_of_a_day_leads_to_the_session_that_it_names() {
    let desk = Desk::new();
    desk.memtree(["sweep", "--sample"]).success();
    let session = desk.sessions().remove(0);
    let days = fs::read_dir(desk.store().join("daily/raw")).unwrap();
    let mut names = days.map(|day| day.unwrap().file_name().into_string().unwrap());
    let named = names.find_map(|name| {
        let text = desk.read(format!("daily/raw/{name}"));
        let at = text.lines().position(|line| line.contains(&format!("({session})")))?;
        Some(format!("daily/raw/{name}:{}", at + 1))
    });
    let told = desk.memtree(["blame", &named.unwrap()]).success();
    told.stdout_has(&format!("session  {session}, named there"));
}

#[test]
fn a_source_file_is_blamed_on_the_sessions_that_changed_it() {
    let desk = Desk::new();
    desk.memtree(["sweep", "--sample"]).success();
    let answer = desk.memtree(["blame", "src/sync.rs", "--json"]).success().json();
    let sessions: Vec<&str> = answer["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["session"].as_str().unwrap())
        .collect();
    assert!(
        sessions.ends_with(&["SES3_desk_SP1C1", "SES1_desk_SP1C1"]),
        "newest first: {sessions:?}"
    );
    assert!(
        answer["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| !one["triggers"].as_array().unwrap().is_empty())
    );
    let by_name = desk.memtree(["blame", "sync.rs", "--json"]).success().json();
    assert_eq!(by_name["sessions"], answer["sessions"], "the end of a path is enough");
    for path in ["./src/sync.rs", "SRC/Sync.rs", r"src\sync.rs", r"C:\work\tidepool\src\sync.rs"] {
        let alike = desk.memtree(["blame", path, "--json"]).success().json();
        assert_eq!(alike["sessions"], answer["sessions"], "{path}");
    }
    desk.memtree(["blame", "src/none.rs"])
        .success()
        .stderr_has("no session in this memory changed");
    // The memory has a README.md too, but that is not the one that sessions changed.
    desk.memtree(["blame", "README.md"])
        .success()
        .stderr_has("no session in this memory changed `README.md`");
}
