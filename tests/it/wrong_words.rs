//! What a person types wrongly: it is said what is wrong, and what would be right.

use crate::harness::{Desk, exchange};

const ID: &str = "5f5f5f5f-0000-4000-8000-000000000001";

fn swept() -> Desk {
    let desk = Desk::new();
    for number in 1..=3 {
        let id = ID.replace("0001", &format!("{number:04}"));
        let reply = "Decided: hooks are kept short.";
        desk.write_log(
            &id,
            exchange(&id, number, &format!("Which hooks hold mast {number}?"), reply),
        );
    }
    desk.memtree(["sweep"]).success();
    desk
}

#[test]
fn a_value_that_a_setting_does_not_take_is_told_from_a_damaged_file() {
    let desk = Desk::new();
    desk.memtree(["init"]).success();
    for (key, value, allowed) in [
        ("sync.episodes", "maybe", "true, false or \"ask\""),
        ("sync.raw", "sure", "\"plain\""),
        ("timezone", "Mars/Base", "Europe/Paris"),
        ("team.name", "../evil", "letters, digits"),
    ] {
        let wrong = desk.memtree(["config", key, value]).code(2);
        let is_no = format!("`{value}` is no value of `{key}`");
        let wrong = wrong.stderr_has(&is_no).stderr_has(allowed);
        assert!(
            !wrong.stderr.contains("by hand") && !wrong.stderr.contains("untagged"),
            "{}",
            wrong.stderr
        );
    }
    desk.memtree(["config", "sync.episodes", "true"]).success();
    desk.memtree(["config", "timezone", "Europe/Paris"]).success();
    // A file that cannot be read is another matter.
    desk.configure("sync = [");
    desk.memtree(["config", "sync.episodes", "true"])
        .any()
        .1
        .stderr_has("correct the file by hand");
}

#[test]
fn what_was_named_and_is_not_there_fails_alike() {
    let desk = swept();
    for arguments in [
        ["recall", "SES99_desk_SP1C1"],
        ["recall", "SES99x_desk"],
        ["pin", "SES99_desk_SP1C1"],
        ["pin", "nothing-like-it"],
        ["forget", "SES99_desk_SP1C1"],
    ] {
        desk.memtree(arguments).code(1);
    }
    let wrong = desk.memtree(["--json", "forget"]).code(2).json();
    assert!(wrong["error"]["what"].as_str().unwrap().contains("--text"), "{wrong}");
    desk.memtree(["forget", "--before", "never"])
        .code(2)
        .stderr_has("no day; write one like 2026-01-31");
    desk.memtree(["config", "trust", "nobody"])
        .success()
        .stderr_has("this memory has nothing of a device `nobody`");
    let known = desk.memtree(["config", "trust", "desk"]).success();
    assert!(!known.stderr.contains("warning"), "{}", known.stderr);
}

#[test]
fn numbers_of_hits_are_true() {
    let desk = swept();
    desk.memtree(["search", "hooks", "--limit", "0"])
        .success()
        .stderr_has("3 found, and `--limit 0` shows none of them");
    desk.memtree(["search", "hooks", "--limit", "2"])
        .success()
        .stderr_has("1 more; see them with --limit 3");
    desk.memtree(["search", "zyzzyva"]).any().1.stderr_has("nothing found");
    // One phrasing that is sure by itself stays so beside others that nothing has.
    let alone = desk.memtree(["search", "hooks", "--json"]).success().json();
    assert_eq!(alone["hits"][0]["weak"], false, "{alone}");
    let both = desk.memtree(["search", "hooks", "--also", "githooks lefthook", "--json"]).success();
    let both = both.json();
    assert_eq!(both["hits"][0]["weak"], false, "{both}");
}

#[test]
fn a_watch_names_only_the_places_of_agents_that_are_meant() {
    let desk = swept();
    std::fs::create_dir_all(desk.home().join(".codex/sessions")).unwrap();
    let said = desk.memtree(["watch", "--dry-run", "--only", "claude"]).success();
    assert!(said.stdout.contains(".claude") && !said.stdout.contains(".codex"), "{}", said.stdout);
    desk.memtree(["watch", "--dry-run"]).success().stdout_has(".codex");
}
