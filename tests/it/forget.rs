//! Forgetting: gone from every file, kept out by a tombstone, finished after a kill, taken over by another device.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::{Desk, assert_same, copy_folder, exchange};

const ONE: &str = "bbbbbbbb-0000-4000-8000-000000000001";
const TWO: &str = "bbbbbbbb-0000-4000-8000-000000000002";

const PROMPT: &str = "Where did we put the spare key of the northern greenhouse last winter?";
const REPLY: &str = "Under the third flower pot, the one with the broken rim, next to the compost heap.";

/// Two sessions: the first is to be forgotten.
fn desk() -> Desk {
    let desk = Desk::new()
        .with_claude_log(ONE, exchange(ONE, 1, PROMPT, REPLY))
        .with_claude_log(TWO, exchange(TWO, 3, "How do I prune the old apple tree?", "In late winter, above a bud."));
    desk.memtree(["sweep"]).success();
    desk.memtree(["search", "greenhouse"]).success().stdout_has("greenhouse");
    desk
}

/// The files below a folder, also git's and the cache's, that hold a text.
fn holding(folder: &Path, text: &str) -> Vec<String> {
    let files = walkdir::WalkDir::new(folder).into_iter().flatten().filter(|entry| entry.file_type().is_file());
    let holds = |entry: &walkdir::DirEntry| {
        let bytes = fs::read(entry.path()).unwrap();
        memchr::memmem::find(&bytes.to_ascii_lowercase(), text.to_lowercase().as_bytes()).is_some()
            || entry.path().to_string_lossy().contains(text)
    };
    files.filter(holds).map(|entry| entry.path().strip_prefix(folder).unwrap().display().to_string()).collect()
}

#[track_caller]
fn assert_gone(folder: &Path, texts: &[&str]) {
    for text in texts {
        assert_eq!(holding(folder, text), [""; 0], "`{text}` is still there");
    }
}

const ALL_OF_IT: &[&str] = &[PROMPT, REPLY, "greenhouse", "flower pot", "compost", ONE];

#[test]
fn a_forgotten_session_is_gone_from_every_file_and_stays_away() {
    let desk = desk();
    desk.write(
        "daily/summary/2026-11-15.md",
        "# Day\n\n- the spare key of the northern greenhouse was looked for\n- apples\n",
    );
    let dry = desk.memtree(["forget", "SES1_desk_SP1C1", "--dry-run"]).success().stdout_has("SES1_desk_SP1C1");
    assert!(dry.stdout.contains("daily/raw/2026-11-15.md"), "{}", dry.told());
    assert!(!desk.store().join("forgotten.md").exists());
    desk.memtree(["forget", "SES1_desk_SP1C1"]).code(2).stderr_has("--yes");
    desk.memtree(["forget", "SES1_desk_SP1C1", "--yes"]).success().stdout_has("nothing of it is left");
    assert_gone(&desk.store(), ALL_OF_IT);
    assert_eq!(desk.read("daily/summary/2026-11-15.md"), "# Day\n\n- apples\n");
    assert!(desk.read("daily/raw/2026-11-15.md").contains("apple tree"));
    assert!(desk.read("forgotten.md").contains("SES1_desk_SP1C1"));
    // Neither a sweep nor growth brings it back, and its id is not given to another.
    for _ in 0..2 {
        let swept = desk.memtree(["sweep", "--json"]).success().json();
        assert_eq!([&swept["captured"], &swept["discovered"]], [0, 1]);
        assert_eq!(desk.sessions(), ["SES2_desk_SP1C1"]);
        assert_gone(&desk.store(), ALL_OF_IT);
        let log = fs::read_to_string(desk.log_path(ONE)).unwrap();
        desk.write_log(ONE, log + &exchange(ONE, 9, "And the greenhouse again?", "The compost again."));
    }
    desk.memtree(["search", "greenhouse"]).success();
    desk.memtree(["search", "apple"]).success().stdout_has("SES2_desk_SP1C1");
    assert_gone(&desk.store(), &["flower pot"]);
}

#[test]
fn a_forgotten_text_takes_its_raw_with_it_and_the_session_stays() {
    let desk = desk();
    let before = desk.digest("SES2_desk_SP1C1");
    let text = "the spare  KEY of the\nnorthern greenhouse";
    desk.memtree(["forget", "--text", text, "--yes"]).success().stdout_has("nothing of it is left");
    assert_gone(&desk.store(), &["spare key of the northern greenhouse"]);
    assert!(!desk.store().join("sessions/SES1_desk_SP1C1/snapshot/raw").exists());
    desk.check_manifest("SES1_desk_SP1C1");
    let digest = desk.digest_text("SES1_desk_SP1C1");
    assert!(digest.contains("[forgotten]") && digest.contains("snapshot: evicted 2026-11-"), "{digest}");
    assert!(desk.read("sessions/SES1_desk_SP1C1/snapshot/episodic/EP_001.md").contains("flower pot"));
    assert_eq!(desk.digest("SES2_desk_SP1C1"), before);
    // The summary of the day is told anew from the lines that are left.
    desk.memtree(["sweep"]).success();
    assert_gone(&desk.store(), &["spare key of the northern greenhouse"]);
    let log = fs::read_to_string(desk.log_path(ONE)).unwrap();
    desk.write_log(ONE, log + &exchange(ONE, 9, "Anything else?", "No."));
    let after = desk.tree();
    desk.memtree(["sweep"]).success();
    assert_same(&after, &desk.tree(), "after another sweep");
}

#[test]
fn a_note_of_a_person_is_forgotten_without_the_log() {
    let desk = desk();
    let path = desk.digest_path("SES2_desk_SP1C1");
    desk.write(&path, desk.read(&path) + "\nmy bank account is 12-34-56\n");
    desk.memtree(["forget", "--text", "account is 12-34-56", "--yes"]).success();
    assert_gone(&desk.store(), &["12-34-56"]);
    assert!(desk.store().join("sessions/SES2_desk_SP1C1/snapshot/raw").exists());
    let log = fs::read_to_string(desk.log_path(TWO)).unwrap();
    desk.write_log(TWO, log + &exchange(TWO, 9, "And the pear?", "The same."));
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!(swept["captured"], 1);
}

#[test]
fn sessions_are_forgotten_by_project_and_by_day() {
    let desk = desk();
    desk.memtree(["forget", "--before", "2026-11-15", "--yes"]).success().stderr_has("nothing in this memory");
    desk.memtree(["forget", "--project", "nowhere", "--yes"]).success().stderr_has("nothing in this memory");
    let plan = desk.memtree(["forget", "--before", "2026-11-16", "--dry-run", "--json"]).success().json();
    assert_eq!(plan["sessions"].as_array().unwrap().len(), 2);
    desk.memtree(["forget", "--project", "demo", "--yes"]).success();
    assert_eq!(desk.sessions(), [""; 0]);
    assert_gone(&desk.store(), ALL_OF_IT);
    for wrong in [
        vec!["forget"],
        vec!["forget", "SES1_desk_SP1C1#EP_001"],
        vec!["forget", "SES9_x"],
        vec!["forget", "--text", "a"],
    ] {
        desk.memtree(wrong).code(2);
    }
}

#[test]
fn tombstones_of_another_device_take_effect_here() {
    let desk = desk();
    let other = Desk::new().on_device("other");
    copy_folder(&desk.store(), &other.store());
    let merged = desk.read("daily/raw/2026-11-15.md");
    desk.memtree(["forget", "SES1_desk_SP1C1", "--yes"]).success();
    // All that the sync brings is the list; the union of two day logs even brings the lines back.
    fs::copy(desk.store().join("forgotten.md"), other.store().join("forgotten.md")).unwrap();
    other.memtree(["sweep"]).success();
    assert_eq!(other.sessions(), ["SES2_desk_SP1C1"]);
    assert_gone(&other.store(), ALL_OF_IT);
    fs::write(other.store().join("daily/raw/2026-11-15.md"), merged).unwrap();
    other.memtree(["sweep"]).success();
    assert_gone(&other.store(), ALL_OF_IT);
    assert!(other.read("daily/raw/2026-11-15.md").contains("apple tree"));
}

#[test]
fn the_printed_commands_take_it_out_of_gits_history() {
    let desk = desk();
    desk.git(["init", "-q", "-b", "main"]);
    desk.git(["add", "-A"]);
    desk.git(["commit", "-q", "-m", "one"]);
    let told = desk.memtree(["forget", "SES1_desk_SP1C1", "--yes", "--json"]).success().json();
    let commands: Vec<&str> = told["git"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    // There is nobody to push to.
    let (push, local) = commands.split_last().unwrap();
    assert!(push.contains("push --force"), "{push}");
    let output = Command::new("bash")
        .args(["-e", "-c", &local.join("\n").replace("[STORE]", desk.store().to_str().unwrap())])
        .env("HOME", desk.home())
        .env("FILTER_BRANCH_SQUELCH_WARNING", "1")
        .env("GIT_AUTHOR_NAME", "desk")
        .env("GIT_AUTHOR_EMAIL", "desk@example.org")
        .env("GIT_COMMITTER_NAME", "desk")
        .env("GIT_COMMITTER_EMAIL", "desk@example.org")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all = desk.git(["rev-list", "--objects", "--all"]);
    for object in all.lines().filter_map(|line| line.split(' ').next()) {
        let content = desk.git(["cat-file", "-p", object]);
        assert!(!content.contains("greenhouse") && !content.contains(ONE), "{object}: {content}");
    }
    assert!(desk.git(["log", "-p", "--all"]).contains("apple tree"));
    let clone = desk.root().join("clone");
    desk.git(["clone", "-q", ".", clone.to_str().unwrap()]);
    assert_gone(&clone, ALL_OF_IT);
    assert!(clone.join("daily/raw/2026-11-15.md").exists());
}
