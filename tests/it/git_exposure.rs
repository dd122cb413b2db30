//! Raw stays out of git for good, whatever a pulled `.gitignore` says; and where git has it
//! already, `doctor` and `sweep` stop with the commands that mend it.

use std::fs;

use crate::harness::{Desk, exchange};

const ID: &str = "0e0e0e0e-0000-4000-8000-000000000001";

fn desk() -> Desk {
    let log = exchange(ID, 1, "how tall is the lighthouse?", "40 m.");
    let desk = Desk::new().with_claude_log(ID, log);
    fs::create_dir(desk.project().join("notes")).unwrap();
    fs::write(desk.project().join("notes/notes.md"), "# Notes\n").unwrap();
    desk.memtree(["sweep"]).success();
    desk.memtree(["snapshot", "notes"]).success();
    desk.git(["init", "-q"]);
    desk
}

/// What is staged of raw, of this device's own, and of the folder's snapshot.
fn staged(desk: &Desk) -> Vec<String> {
    desk.git(["add", "-A"]);
    let staged = desk.git(["ls-files", "--cached"]);
    let stays = |path: &&str| {
        path.contains("/snapshot/raw/")
            || path.starts_with(".memtree")
            || path.starts_with("sessions/SES2_desk_SP1C1/snapshot/")
    };
    let found = staged.lines().filter(stays).map(str::to_string).collect();
    desk.git(["rm", "-r", "-q", "--cached", "."]);
    found
}

#[test]
fn no_gitignore_further_up_lets_raw_in() {
    let desk = desk();
    let ours = desk.read(".gitignore");
    let nothing = [""; 0];
    assert_eq!(staged(&desk), nothing);
    for text in ["", "!*\n", &format!("{ours}!/sessions/*/snapshot/\n!/.memtree/\n")] {
        desk.write(".gitignore", text);
        assert_eq!(staged(&desk), nothing, "{text:?}");
    }
    desk.write("sessions/.gitignore", "!*/snapshot/\n!*/snapshot/**\n");
    assert_eq!(staged(&desk), nothing);
    // All is in no manifest, and known to whoever looks.
    desk.write(".gitignore", ours);
    fs::remove_file(desk.store().join("sessions/.gitignore")).unwrap();
    desk.check_manifest("SES1_desk_SP1C1");
    desk.memtree(["verify", "--deep"]).success();
    desk.memtree(["doctor"]).success();
    // Nor does a session that grows lose it.
    let log = exchange(ID, 1, "how tall is the lighthouse?", "40 m.");
    desk.write_log(ID, log + &exchange(ID, 3, "and how old?", "Old."));
    desk.memtree(["sweep"]).success();
    desk.write(".gitignore", "");
    assert_eq!(staged(&desk), nothing);
    desk.memtree(["forget", "--text", "and how old", "--yes"]).done();
    assert_eq!(staged(&desk), nothing);
}

#[test]
fn an_older_memory_gets_its_guards_by_the_next_sweep() {
    let desk = desk();
    let guards = [
        ".memtree/.gitignore",
        "sessions/SES1_desk_SP1C1/snapshot/raw/.gitignore",
        "sessions/SES2_desk_SP1C1/.gitignore",
    ];
    let remove = || {
        for guard in guards {
            fs::remove_file(desk.store().join(guard)).unwrap();
        }
    };
    let are_there = || guards.iter().all(|guard| desk.store().join(guard).is_file());
    assert!(are_there());
    remove();
    fs::remove_file(desk.store().join(".memtree/local/git.json")).unwrap();
    desk.memtree(["sweep"]).success();
    assert!(are_there());
    remove();
    desk.memtree(["doctor"]).any().1.stdout_has("3 of the `.gitignore` files");
    desk.memtree(["doctor", "--fix"]).any().1.stdout_has("written");
    assert!(are_there());
    desk.memtree(["doctor"]).success();
}

#[test]
fn a_guard_that_is_gone_or_changed_is_seen_and_written_again() {
    let desk = desk();
    let raw = "sessions/SES1_desk_SP1C1/snapshot/raw/.gitignore";
    let beside = "sessions/SES2_desk_SP1C1/.gitignore";
    for guard in [raw, beside] {
        for damage in [None, Some(""), Some("!*\n"), Some("\0\0\0")] {
            match damage {
                Some(text) => {
                    fs::remove_file(desk.store().join(guard)).unwrap();
                    desk.write(guard, text);
                }
                None => fs::remove_file(desk.store().join(guard)).unwrap(),
            }
            desk.memtree(["verify"]).code(1).stdout_has(guard);
            desk.memtree(["sweep"]).success();
            desk.memtree(["verify"]).success();
        }
    }
    fs::remove_file(desk.store().join(".memtree/.gitignore")).unwrap();
    desk.memtree(["sweep"]).success();
    assert!(desk.store().join(".memtree/.gitignore").is_file());
    assert_eq!(staged(&desk), [""; 0]);
}

#[test]
fn raw_that_git_has_stops_sweep_and_doctor() {
    let desk = desk();
    desk.git(["add", "-A"]);
    desk.git(["commit", "-q", "-m", "1"]);
    desk.memtree(["sweep"]).success();
    let raw = format!("sessions/SES1_desk_SP1C1/snapshot/raw/{ID}.jsonl");
    for (what, mend) in [
        (raw.as_str(), "sessions/SES1_desk_SP1C1/snapshot/raw"),
        (".memtree/local/git.json", ".memtree"),
        ("sessions/SES2_desk_SP1C1/snapshot/notes.md", "sessions/SES2_desk_SP1C1/snapshot"),
    ] {
        desk.git(["add", "-f", what]);
        let command = format!("rm -r -q --cached --ignore-unmatch -- {mend}");
        desk.memtree(["doctor"]).code(1).stdout_has(what).stdout_has(&command);
        for _ in ["asked", "asked again, since nothing was mended"] {
            desk.memtree(["sweep"]).code(1).stderr_has(what).stderr_has(&command);
        }
        let words: Vec<&str> = command.split(' ').collect();
        desk.git::<7>(words.try_into().unwrap());
        desk.memtree(["sweep"]).success();
        desk.memtree(["doctor"]).success();
        assert!(desk.store().join(what).is_file());
    }
}

#[test]
fn a_memory_within_a_bigger_repository_is_asked_about_too() {
    let desk = desk();
    fs::remove_dir_all(desk.store().join(".git")).unwrap();
    let git = |arguments: &[&str]| {
        let status = std::process::Command::new("git")
            .args(arguments)
            .current_dir(desk.root())
            .status()
            .unwrap();
        assert!(status.success());
    };
    git(&["init", "-q"]);
    desk.memtree(["sweep"]).success();
    let raw = format!("sessions/SES1_desk_SP1C1/snapshot/raw/{ID}.jsonl");
    git(&["add", "-f", &format!("memory/{raw}")]);
    desk.memtree(["sweep"]).code(1).stderr_has(&raw);
    desk.memtree(["doctor"]).code(1).stdout_has(&raw);
    // Hooks never ask.
    desk.memtree(["hook", "claude", "SessionStart"]).success();
}
