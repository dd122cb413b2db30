//! Folders that the settings name: kept when they have changed and lain still, once for each
//! content.

use std::fs::{self, File};
use std::path::Path;

use crate::harness::{Desk, START, assert_same, exchange};

const ONE: &str = "5e55fd01-0000-4000-8000-000000000001";

/// A desk at which a folder of notes is to be kept; it was last changed so many minutes before
/// noon.
fn desk(minutes: i64) -> Desk {
    let desk = Desk::new();
    configure(&desk, "[[folders]]\npath = \"~/notes\"\nobjective = \"The notes on the boats\"\n");
    put(&desk, "hulls/wherry.md", "# Wherry\nClinker built, of larch on oak.\n", minutes);
    desk
}

fn configure(desk: &Desk, settings: &str) {
    let path = desk.home().join(".config/memtree/config.toml");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, settings).unwrap();
}

/// Writes a file of the folder, and dates it and all folders so many minutes before noon.
fn put(desk: &Desk, name: &str, text: &str, minutes: i64) {
    let path = desk.home().join("notes").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    date(desk, &path, minutes);
}

fn date(desk: &Desk, path: &Path, minutes: i64) {
    let at =
        chrono::DateTime::parse_from_rfc3339(START).unwrap() - chrono::Duration::minutes(minutes);
    for path in path.ancestors().take_while(|path| *path != desk.home()) {
        File::open(path).unwrap().set_modified(at.into()).unwrap();
    }
}

fn folders(desk: &Desk) -> serde_json::Value {
    desk.memtree(["sweep", "--json"]).success().json()["folders"].clone()
}

#[test]
fn a_folder_is_kept_once_it_has_lain_still() {
    let desk = desk(10);
    let waiting = folders(&desk);
    assert_eq!(
        (waiting[0]["status"].as_str(), waiting[0]["due"].as_str()),
        (Some("waiting"), Some("2026-11-15T12:20:00Z"))
    );
    assert_eq!(desk.sessions(), Vec::<String>::new());
    desk.memtree(["sweep"])
        .success()
        .stdout_has("notes`: has just changed; waits until 2026-11-15T12:20:00Z");
    desk.later(21);
    desk.memtree(["sweep", "--dry-run"]).success().stdout_has("notes`: would be kept");
    assert_eq!(desk.sessions(), Vec::<String>::new());
    desk.memtree(["sweep"]).success().stdout_has("notes`: kept as SES1_desk_SP1C1");
    let digest = desk.digest_text("SES1_desk_SP1C1");
    assert!(digest.contains("The notes on the boats") && digest.contains("larch"), "{digest}");
    desk.check_manifest("SES1_desk_SP1C1");
    let before = desk.tree();
    assert_eq!(folders(&desk)[0]["status"], "unchanged");
    assert_same(&before, &desk.tree(), "after a second sweep");
    // Other dates alone are no change.
    date(&desk, &desk.home().join("notes/hulls/wherry.md"), -5);
    desk.later(60);
    assert_eq!(folders(&desk)[0]["session"], "SES1_desk_SP1C1");
    assert_same(&before, &desk.tree(), "after a sweep of other dates");
}

#[test]
fn each_content_is_a_session_of_its_own() {
    let desk = desk(60);
    folders(&desk);
    put(&desk, "rig.md", "# Rig\nA single gaff sail, tanned.\n", 20);
    assert_eq!(folders(&desk)[0]["status"], "waiting");
    desk.later(15);
    assert_eq!(folders(&desk)[0]["session"], "SES2_desk_SP1C1");
    // What is gone is told by the date of the folder in which it lay; then it is as it was at
    // first.
    fs::remove_file(desk.home().join("notes/rig.md")).unwrap();
    date(&desk, &desk.home().join("notes/hulls/wherry.md"), 60);
    date(&desk, &desk.home().join("notes"), -15);
    assert_eq!(folders(&desk)[0]["status"], "waiting");
    desk.later(40);
    assert_eq!(folders(&desk)[0]["session"], "SES1_desk_SP1C1");
    assert_eq!(desk.sessions().len(), 2);
}

#[test]
fn a_folder_may_be_the_eighth_of_a_core() {
    let mut desk = desk(60);
    for number in 0..7 {
        let id = format!("5e55fd02-0000-4000-8000-{number:012}");
        desk = desk.with_claude_log(
            &id,
            exchange(&id, number, &format!("Which rope is number {number}?"), "Hemp."),
        );
    }
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!(swept["cores"].as_array().unwrap().len(), 1, "{swept}");
    let before = desk.tree();
    desk.memtree(["sweep"]).success();
    assert_same(&before, &desk.tree(), "nothing trickles after");
}

#[test]
fn what_cannot_be_kept_is_a_warning() {
    let desk = Desk::new().with_claude_log(ONE, exchange(ONE, 1, "Which rope is this?", "Hemp."));
    fs::create_dir_all(desk.home().join("empty")).unwrap();
    fs::create_dir_all(desk.home().join("secret")).unwrap();
    fs::write(desk.home().join("secret/x"), "x").unwrap();
    let settings = "[exclude]\nfolders = [\"~/secret\"]\n[[folders]]\npath = \"~/gone\"\n[[folders]]\npath = \"~/empty\"\n\
        [[folders]]\npath = \"notes\"\n[[folders]]\npath = \"~/secret\"\n";
    configure(&desk, settings);
    let swept = desk.memtree(["sweep"]).success();
    for warning in [
        "warning: the setting `folders`: `[HOME]/gone`: there is no such folder",
        "`[HOME]/empty`: it holds no file",
        "`notes`: its path has to begin with `/` or `~/`",
        "`[HOME]/secret`: it is left out by the setting `exclude.folders`",
    ] {
        assert!(swept.stderr.contains(warning), "{warning}\n{}", swept.told());
    }
    assert_eq!(desk.sessions().len(), 1, "the rest goes on");
}

#[test]
fn a_memory_that_was_pulled_names_no_folders() {
    let desk = desk(60);
    configure(&desk, "");
    desk.memtree(["init"]).success();
    let settings = desk.read("memtree.toml") + "\n[[folders]]\npath = \"~/notes\"\n";
    desk.write("memtree.toml", settings);
    let swept = desk.memtree(["sweep"]).success();
    assert!(
        swept.stderr.contains("`folders` names what is copied, and words of it are synced"),
        "{}",
        swept.told()
    );
    assert_eq!(desk.sessions(), Vec::<String>::new());
}

#[test]
fn what_was_forgotten_stays_away() {
    let desk = desk(60);
    folders(&desk);
    desk.memtree(["forget", "SES1_desk_SP1C1", "--yes"]).success();
    for _ in 0..2 {
        assert_eq!(folders(&desk)[0]["status"], "unchanged");
        assert_eq!(desk.sessions(), Vec::<String>::new());
    }
    let again = desk.memtree(["snapshot", desk.home().join("notes").to_str().unwrap()]).success();
    assert!(again.stdout.contains("were forgotten"), "{}", again.told());
    put(&desk, "rig.md", "# Rig\nA single gaff sail, tanned.\n", 50);
    assert_eq!(folders(&desk)[0]["status"], "kept", "what is new is not what was forgotten");
}

#[test]
fn flags_that_choose_among_logs_leave_folders_alone() {
    let desk = desk(60);
    for flags in [
        &["sweep", "--sample"][..],
        &["sweep", "--only", "claude"],
        &["sweep", "--source", "claude=."],
    ] {
        let json = desk.memtree(flags.iter().chain(&["--json"])).done().json();
        assert!(json.get("folders").is_none(), "{json}");
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "a release build has no faults to inject")]
fn a_kill_while_a_folder_is_kept_is_healed() {
    let mut killed = 0;
    for point in (1..).step_by(5) {
        let desk = desk(60);
        desk.memtree(["init", "--quiet"]).success();
        let sweep = desk
            .command(&["sweep".into()])
            .env("MEMTREE_FAULT", format!("kill:{point}"))
            .output()
            .unwrap();
        if sweep.status.success() {
            break;
        }
        killed += 1;
        let folder = &folders(&desk)[0];
        assert_eq!(folder["session"], "SES1_desk_SP1C1", "killed at {point}: {folder}");
        assert_eq!(desk.sessions(), ["SES1_desk_SP1C1"], "killed at {point}");
        desk.check_manifest("SES1_desk_SP1C1");
        let before = desk.tree();
        assert_eq!(folders(&desk)[0]["status"], "unchanged");
        assert_same(&before, &desk.tree(), &format!("killed at {point}"));
    }
    assert!(killed > 3, "only {killed} points");
}
