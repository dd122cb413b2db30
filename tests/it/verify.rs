//! `verify` proves that nothing was lost; whatever is lost, it names.

use std::fs;

use serde_json::Value;

use crate::harness::{Answer, Desk, exchange};

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TWO: &str = "aaaaaaaa-0000-4000-8000-000000000002";
const FIRST: &str = "SES1_desk_SP1C1";

/// A desk with the sample sessions of every agent and a log of our own, swept.
fn desk() -> Desk {
    let desk = Desk::new().with_sample("claude").with_sample("codex").with_sample("grok");
    desk.write_log(ONE, exchange(ONE, 1, "How do I tie a bowline?", "Around the tree and back."));
    desk.memtree(["sweep"]).success();
    desk
}

fn verify(desk: &Desk, code: i32) -> Value {
    desk.memtree(["verify", "--deep", "--json"]).code(code).json()
}

/// The gaps as `step path: reason`.
fn gaps(proof: &Value) -> Vec<String> {
    let told = |gap: &Value| {
        let word = |key: &str| gap[key].as_str().unwrap().to_string();
        format!("{} {}: {}", word("step"), word("path"), word("reason"))
    };
    proof["gaps"].as_array().unwrap().iter().map(told).collect()
}

#[test]
fn a_whole_memory_is_proved() {
    let desk = desk();
    let before = desk.tree();
    let answer = desk.memtree(["verify", "--deep"]).success().stdout_has("nothing is missing");
    let row = |name: &str| row(&answer, name);
    assert_eq!(row("sources"), row("raw"), "every byte of the logs is in raw");
    assert_eq!(row("sources"), row("read again").iter().take(4).cloned().collect::<Vec<_>>());
    assert_eq!(row("digests")[0], "11");
    let proof = desk.memtree(["verify", "--json"]).success().json();
    assert_eq!(
        (proof["gaps"].as_array().unwrap().len(), proof["notes"].as_array().unwrap().len()),
        (0, 0),
        "{proof}"
    );
    assert_eq!(before, desk.tree(), "verify changes nothing");
}

/// Sessions, files and bytes of one row of the table.
fn row(answer: &Answer, name: &str) -> Vec<String> {
    let line = answer
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap_or_else(|| panic!("no {name}"));
    let mut words: Vec<String> = line.split_whitespace().map(str::to_string).collect();
    words.pop();
    words
}

/// Changes a file of the memory.
fn change(text: impl Fn(String) -> String, path: String) -> impl Fn(&Desk) {
    move |desk| desk.write(&path, text(desk.read(&path)))
}

#[test]
fn every_gap_is_named() {
    let session = |name: &str| format!("sessions/{FIRST}/{name}");
    let remove =
        |path: String| move |desk: &Desk| fs::remove_file(desk.store().join(&path)).unwrap();
    let append = |text: String| text + "x";
    let digest = session(&format!("{FIRST}_DIGEST.md"));
    let snapshot = |name: &str| session(&format!("snapshot/{name}"));
    let check = |damage: &dyn Fn(&Desk), expect: &str| {
        let desk = Desk::new().with_sample("codex");
        desk.memtree(["sweep"]).success();
        damage(&desk);
        let found = gaps(&verify(&desk, 1));
        assert!(found.iter().any(|gap| gap.starts_with(expect)), "no `{expect}` in {found:#?}");
        desk.memtree(["verify"]).code(1);
    };
    let raw = {
        let desk = Desk::new().with_sample("codex");
        desk.memtree(["sweep"]).success();
        let manifest = desk.read(snapshot("MANIFEST.sha256"));
        manifest.lines().find_map(|line| line.split_once("  raw/")).unwrap().1.to_string()
    };
    let raw = snapshot(&format!("raw/{raw}"));
    let page = snapshot("episodic/EP_001.md");
    check(&remove(raw.clone()), &format!("raw {raw}: is gone"));
    check(&change(append, raw.clone()), &format!("raw {raw}: is not what the manifest says"));
    check(&remove(page.clone()), &format!("readable {page}: is gone"));
    check(
        &change(append, page.clone()),
        &format!("readable {page}: is not what the manifest says"),
    );
    check(
        &|desk| desk.write(snapshot("episodic/EP_099.md"), "x"),
        "readable sessions/SES1_desk_SP1C1/snapshot/episodic/EP_099.md: is not in the manifest",
    );
    check(
        &|desk| desk.write(snapshot("raw/more"), "x"),
        "raw sessions/SES1_desk_SP1C1/snapshot/raw/more: is not in the manifest",
    );
    check(
        &change(&append, snapshot("MANIFEST.sha256")),
        "digest sessions/SES1_desk_SP1C1/snapshot/MANIFEST.sha256: is not the manifest",
    );
    check(&remove(digest.clone()), &format!("digest {digest}: there is a snapshot but no digest"));
    check(
        &change(|text: String| text.replacen("schema:", "scheme:", 1), digest.clone()),
        &format!("digest {digest}: cannot be read"),
    );
    check(
        &change(|text: String| text.replacen("turns: ", "turns: 9", 1), digest.clone()),
        "again sessions/SES1_desk_SP1C1/snapshot/raw: tells EP_001",
    );
    check(
        &change(|text: String| text.replace("EP_001 - ", "EP_000 - "), digest.clone()),
        "readable sessions/SES1_desk_SP1C1/snapshot/episodic/EP_000.md: the digest counts",
    );
    check(
        &|desk| fs::remove_dir_all(desk.store().join(snapshot(""))).unwrap(),
        "raw sessions/SES1_desk_SP1C1/snapshot: the digest says `snapshot: present`",
    );
    check(&|desk| fs::remove_dir_all(desk.store().join("daily")).unwrap(), "day daily/raw/");
    // All of a session, as if it had never been: the others' numbers and its own lines tell.
    check(
        &|desk| fs::remove_dir_all(desk.store().join(session(""))).unwrap(),
        "digest sessions/SES1_desk_SP1C1: is gone; if it is to be, `memtree forget SES1_desk_SP1C1` says so",
    );
    let cut = |text: String| text[..text.find("## ⚡").unwrap() + 30].to_string();
    check(
        &change(cut, digest.clone()),
        &format!("digest {digest}: has no section on Synthesis Readiness any more, and ends"),
    );
    let first_prompt = |desk: &Desk| {
        let days = fs::read_dir(desk.store().join("daily/raw")).unwrap().flatten();
        let day = days.map(|day| day.path()).min().unwrap();
        let text = fs::read_to_string(&day).unwrap();
        let line = text.lines().find(|line| line.contains(&format!("[user] ({FIRST})"))).unwrap();
        fs::write(&day, text.replacen(&format!("{line}\n"), "", 1)).unwrap();
    };
    // By count alone, without reading raw again.
    let counted = Desk::new().with_sample("codex");
    counted.memtree(["sweep"]).success();
    first_prompt(&counted);
    counted.memtree(["verify"]).code(1).stdout_has("but its digest counts");
    let eight = Desk::new();
    for number in 1..=8 {
        let id = format!("aaaaaaaa-0000-4000-8000-{number:012}");
        eight.write_log(
            &id,
            exchange(&id, number, "How do I tie a bowline?", "Around the tree and back."),
        );
    }
    eight.later(120);
    eight.memtree(["sweep"]).success();
    let core = "core/CORE_desk_SP1C1.md";
    let page = eight.read(core);
    eight.memtree(["verify"]).success();
    eight.write(core, page.replace("SES8_desk_SP1C1", "SES8"));
    assert_eq!(gaps(&verify(&eight, 1)), [format!("core {core}: does not list SES8_desk_SP1C1")]);
    eight.write(core, &page);
    fs::remove_file(eight.store().join("core/MEMORY.md")).unwrap();
    assert!(gaps(&verify(&eight, 1))[0].starts_with("core core/MEMORY.md: there are cores"));
    fs::remove_file(eight.store().join(core)).unwrap();
    assert!(
        gaps(&verify(&eight, 1))[0]
            .starts_with(&format!("core {core}: its eight sessions are closed"))
    );
    let one_line = |edit: &dyn Fn(&str) -> String| {
        let edit = |desk: &Desk| {
            let days = fs::read_dir(desk.store().join("daily/raw")).unwrap().flatten();
            let day = days.map(|day| day.path()).min().unwrap();
            let text = fs::read_to_string(&day).unwrap();
            let line = text.lines().find(|line| line.contains("[user]")).unwrap();
            fs::write(&day, text.replacen(&format!("{line}\n"), &edit(line), 1)).unwrap();
        };
        let desk = Desk::new().with_sample("codex");
        desk.memtree(["sweep"]).success();
        edit(&desk);
        desk
    };
    let missing = gaps(&verify(&one_line(&|_| String::new()), 1));
    assert!(missing.iter().any(|gap| gap.contains("has no line `- [")), "{missing:?}");
    assert!(
        gaps(&verify(&one_line(&|line| format!("{line}\n{line}\n")), 1))[0]
            .contains("has twice `- [")
    );
    let edited = verify(&one_line(&|line| format!("{line}, as I said\n")), 0);
    assert!(
        edited["notes"][0]["reason"].as_str().unwrap().starts_with("says in other words"),
        "{edited}"
    );
}

#[test]
fn what_is_not_swept_yet_or_was_deleted_is_no_gap() {
    let desk = desk();
    let note = |proof: &Value| proof["notes"][0]["reason"].as_str().map(str::to_string);
    desk.write_log(TWO, exchange(TWO, 5, "And a sheet bend?", "For two ropes."));
    assert_eq!(note(&verify(&desk, 0)).unwrap(), "not swept yet");
    desk.memtree(["sweep"]).success();
    assert_eq!(note(&verify(&desk, 0)), None);
    let log = fs::read_to_string(desk.log_path(TWO)).unwrap();
    desk.write_log(TWO, log.clone() + &exchange(TWO, 9, "And a reef knot?", "Never for climbing."));
    assert_eq!(note(&verify(&desk, 0)).unwrap(), "changed since the last sweep; not swept yet");
    desk.memtree(["sweep"]).success();
    fs::remove_file(desk.log_path(TWO)).unwrap();
    assert_eq!(note(&verify(&desk, 0)), None);
    // A log that was cut: what was there before is still in raw, and read again with it.
    desk.write_log(ONE, exchange(ONE, 30, "Which knot for a hammock?", "The becket hitch."));
    desk.memtree(["sweep"]).success();
    assert_eq!(note(&verify(&desk, 0)), None);
}

#[test]
fn snapshots_of_other_devices_are_elsewhere() {
    let desk = desk();
    desk.git(["init", "--quiet"]);
    desk.git(["add", "."]);
    desk.git(["commit", "--quiet", "-m", "memory"]);
    let clone = desk.root().join("clone");
    desk.git(["clone", "--quiet", ".", clone.to_str().unwrap()]);
    let desk = desk.on_device("other");
    let store = clone.to_str().unwrap();
    let proof = desk.memtree(["--store", store, "verify", "--deep", "--json"]).success().json();
    assert_eq!(proof["elsewhere"], 11, "{proof}");
}

#[test]
fn a_folder_and_a_damaged_log_are_proved_too() {
    let desk = Desk::new().with_log("claude", "one_question");
    desk.write_log(ONE, exchange(ONE, 1, "Which way?", "That way.") + "{ not json\n");
    fs::write(desk.project().join("a note.md"), "# Note\n").unwrap();
    desk.memtree(["sweep"]).code(3);
    desk.memtree(["snapshot", "."]).success();
    desk.memtree(["verify", "--deep"]).success().stdout_has("nothing is missing");
}

#[test]
fn a_session_removed_by_hand_is_named_until_it_is_forgotten() {
    let desk = Desk::new();
    for number in 1..=3 {
        let id = format!("aaaaaaaa-0000-4000-8000-{number:012}");
        desk.write_log(
            &id,
            exchange(&id, number, "How do I tie a bowline?", "Around the tree and back."),
        );
    }
    desk.memtree(["sweep"]).success();
    fs::remove_dir_all(desk.store().join("sessions/SES2_desk_SP1C1")).unwrap();
    assert_eq!(gaps(&verify(&desk, 1)).len(), 1);
    // Also where the days say nothing of it.
    let day = desk.read("daily/raw/2026-11-15.md");
    let others: String =
        day.split_inclusive('\n').filter(|line| !line.contains("SES2_desk")).collect();
    desk.write("daily/raw/2026-11-15.md", others);
    assert!(gaps(&verify(&desk, 1))[0].contains("SES2_desk_SP1C1: is gone"));
    desk.write("daily/raw/2026-11-15.md", day);
    desk.memtree(["forget", "SES2_desk_SP1C1", "--yes"]).success();
    assert!(!desk.read("daily/raw/2026-11-15.md").contains("SES2_desk"));
    desk.memtree(["verify"]).success();
    // A page out of which a person took a section is theirs.
    let path = desk.digest_path("SES1_desk_SP1C1");
    let text = desk.read(&path);
    let (before, rest) = text.split_once("## 🔄").unwrap();
    desk.write(&path, format!("{before}{}", &rest[rest.find("## Notes").unwrap()..]));
    let proof = verify(&desk, 0);
    assert_eq!(proof["notes"].as_array().unwrap().len(), 1, "its log stays out: {proof}");
    assert!(
        proof["notes"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("has no section on Synthesis Readiness"),
        "{proof}"
    );
}
