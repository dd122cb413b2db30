//! The doctor names what is wrong, fixes what it can, and keeps an eye on what agents are about to
//! delete.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::harness::{Desk, exchange};

const ONE: &str = "cccccccc-0000-4000-8000-000000000001";

fn desk() -> Desk {
    let desk = Desk::new().with_claude_log(
        ONE,
        exchange(ONE, 1, "How do I tie a bowline?", "Around the tree and back."),
    );
    set_age(&desk, 1);
    desk.memtree(["sweep"]).success();
    desk
}

/// Makes the log look so many days old: the desk's clock stands in November 2026.
fn set_age(desk: &Desk, days: u64) {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(desk.now().timestamp() as u64);
    let log = fs::File::options().append(true).open(desk.log_path(ONE)).unwrap();
    log.set_modified(now - Duration::from_secs(days * 24 * 3600 + 60)).unwrap();
}

/// The findings of a check, as `what` each.
fn found(report: &Value, check: &str) -> Vec<(String, bool)> {
    let findings =
        report["findings"].as_array().unwrap().iter().filter(|finding| finding["check"] == check);
    findings
        .map(|one| (one["what"].as_str().unwrap().to_string(), one["fixed"].as_bool().unwrap()))
        .collect()
}

#[test]
fn a_sound_memory_has_nothing_to_fix() {
    let desk = desk();
    let before = desk.tree();
    desk.memtree(["doctor"]).success().stdout_has("all is well");
    desk.memtree(["doctor", "--fix", "--secrets"]).success().stdout_has("all is well");
    crate::harness::assert_same(&before, &desk.tree(), "the doctor only looks");
}

#[test]
fn everything_wrong_is_named_and_what_can_be_fixed_is() {
    let desk = desk();
    let session = desk.store().join("sessions/SES1_desk_SP1C1");
    fs::set_permissions(session.join("snapshot"), fs::Permissions::from_mode(0o755)).unwrap();
    desk.write(".memtree/cache/cursors.json", "{ half a");
    desk.write("sessions/SES1_desk_SP1C1/.memtree-abc.tmp", "half a digest");
    desk.git(["init", "-q"]);
    desk.write(".gitignore", "/.memtree/\n");
    desk.write("memtree.toml", "format = 1\ntimezon = \"UTC\"\n");
    desk.write(
        "sessions/SES2_desk_SP1C1/SES2_desk_SP1C1_DIGEST.md",
        "---\nsession: [\n---\nmy notes on knots\n",
    );
    desk.write("sessions/SES3_desk_SP1C1/snapshot/raw/log.jsonl", "{}");
    symlink(desk.home(), desk.store().join("sessions/SES4_desk_SP1C1")).unwrap();
    let report = desk.memtree(["doctor", "--json"]).code(1).json();
    for (check, what) in [
        ("permissions", "2 snapshots may be read by others"),
        ("cursors", "cursors.json` cannot be read"),
        ("unfinished work", ".memtree-abc.tmp"),
        ("git", "/sessions/*/snapshot/"),
        ("settings", "timezon"),
        ("digests", "SES2_desk_SP1C1_DIGEST.md`"),
        ("digests", "SES3_desk_SP1C1_DIGEST.md` is not there"),
        ("links", "SES4_desk_SP1C1` is a link"),
    ] {
        let findings = found(&report, check);
        assert!(
            findings.iter().any(|(found, fixed)| found.contains(what) && !fixed),
            "{check}: {findings:?}"
        );
    }
    fs::remove_file(desk.store().join("sessions/SES4_desk_SP1C1")).unwrap();
    let report = desk.memtree(["doctor", "--fix", "--json"]).code(1).json();
    for check in ["permissions", "unfinished work", "git"] {
        assert!(found(&report, check).iter().all(|(_, fixed)| *fixed), "{check}: {report}");
    }
    assert_eq!(fs::metadata(session.join("snapshot")).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(!session.join(".memtree-abc.tmp").exists());
    assert_eq!(desk.read(".gitignore"), "/.memtree/\n/sessions/*/snapshot/\n/sessions/*.jsonl\n");
    // What has no raw to be told from is a person's to fix, and still found by its words.
    assert!(desk.read("sessions/SES2_desk_SP1C1/SES2_desk_SP1C1_DIGEST.md").contains("my notes"));
    desk.memtree(["search", "knots"]).success().stdout_has("SES2_desk_SP1C1");
}

#[test]
fn what_an_agent_is_about_to_delete_is_swept_first() {
    let desk = desk();
    let log = fs::read_to_string(desk.log_path(ONE)).unwrap();
    desk.write_log(ONE, log + &exchange(ONE, 9, "And a sheet bend?", "Through the bight."));
    set_age(&desk, 27);
    let dry = desk.memtree(["doctor", "--dry-run"]).code(1);
    assert!(
        dry.stdout.contains("claude will delete 1 of its 1 sessions within 7 days, the first in 3"),
        "{}",
        dry.told()
    );
    assert!(dry.stdout.contains("does not have 1 of them yet"), "{}", dry.told());
    let told = desk.memtree(["doctor"]).success().stdout_has("swept first: 1 session");
    assert!(told.stdout.contains("the memory has all of them"), "{}", told.told());
    assert!(
        told.stdout.contains("\"cleanupPeriodDays\": 3650 into [HOME]/.claude/settings.json"),
        "{}",
        told.told()
    );
    assert!(desk.digest_text("SES1_desk_SP1C1").contains("EP_001 - EP_002"));
    let status = desk.memtree(["status", "--json"]).success().json();
    assert_eq!(
        status["at_risk"],
        serde_json::json!([{ "flavor": "claude", "sessions": 1, "in_days": 3 }])
    );
    // The advice works.
    fs::write(desk.home().join(".claude/settings.json"), "{ \"cleanupPeriodDays\": 3650 }")
        .unwrap();
    let report = desk.memtree(["doctor", "--json"]).success().json();
    assert_eq!(found(&report, "rescue clock"), []);
}

#[test]
fn secrets_that_got_in_are_named_without_their_value() {
    let desk = desk();
    // Put together here, so that this file holds none.
    let secret = ["ghp", "_", "0123456789abcdefghijABCDEFGHIJ012345"].concat();
    desk.write("core/notes.md", format!("first line\nthe token is {secret}\n"));
    let told = desk.memtree(["doctor", "--secrets"]).code(1).stdout_has("core/notes.md:2: github");
    assert!(!told.stdout.contains(&secret));
    desk.memtree(["doctor"]).success();
}

/// A page that lost its front matter, or is gone, is told again from its raw; a lost manifest from
/// the files themselves.
#[test]
fn what_raw_can_tell_is_fixed_and_a_second_look_finds_nothing() {
    const TWO: &str = "cccccccc-0000-4000-8000-000000000002";
    let desk = desk();
    desk.write_log(TWO, exchange(TWO, 5, "How do I tie a sheet bend?", "Through the bight."));
    desk.memtree(["sweep"]).success();
    let (one, two) = (desk.digest_path("SES1_desk_SP1C1"), desk.digest_path("SES2_desk_SP1C1"));
    let manifest = "sessions/SES2_desk_SP1C1/snapshot/MANIFEST.sha256";
    let kept = desk.read(manifest);
    for damaged in ["", "no such manifest\n"] {
        desk.write(
            &one,
            desk.read(&one).replacen("schema:", "schema: [", 1) + "my own note on knots\n",
        );
        match damaged {
            "" => fs::remove_file(desk.store().join(manifest)).unwrap(),
            damaged => desk.write(manifest, damaged),
        }
        let report = desk.memtree(["doctor", "--json"]).code(1).json();
        assert_eq!(found(&report, "digests").len(), 1, "{report}");
        assert_eq!(found(&report, "snapshots").len(), 1, "{report}");
        let report = desk.memtree(["doctor", "--fix", "--json"]).success().json();
        assert!(found(&report, "digests")[0].1 && found(&report, "snapshots")[0].1, "{report}");
        assert_eq!(desk.read(manifest), kept);
        assert!(desk.digest_text("SES1_desk_SP1C1").contains("my own note on knots"));
        desk.memtree(["doctor"]).success().stdout_has("all is well");
        desk.memtree(["verify", "--deep"]).success();
    }
    fs::remove_file(desk.store().join(&two)).unwrap();
    fs::remove_file(desk.log_path(TWO)).unwrap();
    desk.memtree(["doctor"]).code(1).stdout_has("SES2_desk_SP1C1_DIGEST.md` is not there");
    desk.memtree(["doctor", "--fix"]).success().stdout_has("written again from its raw");
    desk.memtree(["doctor"]).success().stdout_has("all is well");
    desk.memtree(["verify", "--deep"]).success();
    // A manifest is not made up where a file has changed.
    desk.write("sessions/SES2_desk_SP1C1/snapshot/episodic/EP_001.md", "changed\n");
    fs::remove_file(desk.store().join(manifest)).unwrap();
    desk.memtree(["doctor", "--fix"]).code(1).stdout_has("copy them back from a backup");
    // The pages and the manifest were written again from raw, which is whole.
    desk.memtree(["verify"]).success();
}

#[test]
fn hooks_merges_and_killed_evictions_are_looked_at() {
    let desk = desk();
    let note = desk.memtree(["doctor"]).success();
    assert!(
        note.stdout.contains("claude is on this machine, but its hooks are not wired"),
        "{}",
        note.told()
    );
    assert!(note.stdout.contains("`memtree install claude`"), "{}", note.told());
    desk.memtree(["install", "claude", "--yes"]).success();
    assert_eq!(found(&desk.memtree(["doctor", "--json"]).success().json(), "hooks"), []);
    let settings = desk.home().join(".claude/settings.json");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, text.replace("SessionEnd", "SessionGone")).unwrap();
    desk.memtree(["doctor"])
        .success()
        .stdout_has("claude no longer calls this memory as it was set up to");
    fs::write(&settings, "{ half").unwrap();
    desk.memtree(["doctor"]).success().stdout_has("the settings of claude cannot be read");
    fs::write(&settings, text).unwrap();
    desk.write(
        "daily/raw/2026-11-14.md",
        "# Day\n<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> theirs\n",
    );
    desk.memtree(["doctor"])
        .code(1)
        .stdout_has("`daily/raw/2026-11-14.md` holds both sides of a merge");
    fs::remove_file(desk.store().join("daily/raw/2026-11-14.md")).unwrap();
    desk.write(".memtree/local/evicting.json", "[]");
    desk.memtree(["doctor"]).success().stdout_has("evicting.json");
    desk.memtree(["doctor", "--fix"]).success().stdout_has("swept, and cleared away");
    desk.git(["init", "-q"]);
    desk.write(".git/index.lock", "");
    desk.memtree(["doctor"]).success().stdout_has("`.git/index.lock` is there");
    fs::remove_file(desk.store().join(".git/index.lock")).unwrap();
    desk.memtree(["doctor"]).success().stdout_has("all is well");
}

/// Two people edit one digest on two devices; plain git joins it, and the doctor leaves each key
/// once.
#[test]
fn a_digest_that_two_people_edited_is_joined_and_fixed() {
    let desk = desk();
    // As earlier versions had it: git joins pages line by line.
    desk.write(".gitattributes", "/sessions/*/*_DIGEST.md merge=union\n");
    desk.git(["init", "-q", "-b", "main"]);
    desk.git(["add", "-A"]);
    desk.git(["commit", "-q", "-m", "one"]);
    desk.memtree(["sweep"]).success();
    let path = desk.digest_path("SES1_desk_SP1C1");
    let edit = |title: &str, note: &str| {
        let text = desk.read(&path);
        let line = text.lines().find(|line| line.starts_with("title: ")).unwrap().to_string();
        desk.write(&path, text.replace(&line, title) + note);
        desk.git(["commit", "-q", "-a", "-m", note]);
    };
    desk.git(["checkout", "-q", "-b", "other"]);
    edit("title: The title of another", "- a note of another\n");
    desk.git(["checkout", "-q", "main"]);
    // Only a key beside it changes here.
    let text = desk.read(&path);
    let objective = text.lines().find(|line| line.starts_with("objective: ")).unwrap();
    desk.write(&path, text.replacen(objective, "objective: My own aim", 1) + "- a note of mine\n");
    desk.git(["commit", "-q", "-a", "-m", "mine"]);
    desk.git(["merge", "-q", "--no-edit", "other"]);
    let joined = desk.read(&path);
    assert!(
        joined.contains("- a note of another\n") && joined.contains("- a note of mine\n"),
        "{joined}"
    );
    assert_eq!(joined.matches("\ntitle: ").count(), 2, "{joined}");
    desk.memtree(["verify"]).success();
    desk.memtree(["doctor"]).success().stdout_has("has some keys twice");
    desk.memtree(["doctor", "--fix"]).success();
    let fixed = desk.read(&path);
    assert_eq!(
        (fixed.matches("\ntitle: ").count(), fixed.matches("\nobjective: ").count()),
        (1, 1),
        "{fixed}"
    );
    assert!(fixed.contains("\ntitle: The title of another\n"), "{fixed}");
    assert!(fixed.contains("\nobjective: My own aim\n"), "{fixed}");
    desk.memtree(["doctor"]).success().stdout_has("all is well");
    desk.write(".gitattributes", "*.md text eol=lf\n");
    desk.memtree(["doctor"])
        .success()
        .stdout_has("`.gitattributes` does not say how each kind of page is joined");
    desk.memtree(["doctor", "--fix"]).success();
    let attributes = desk.read(".gitattributes");
    assert!(attributes.starts_with("*.md text eol=lf\n"), "{attributes}");
    assert!(attributes.contains("/sessions/*/*_DIGEST.md merge=memtree\n"), "{attributes}");
}

#[test]
fn the_clock_of_every_agent_that_deletes_is_read() {
    let desk = Desk::new().with_logs("gemini");
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(desk.now().timestamp() as u64);
    for entry in walkdir::WalkDir::new(desk.home().join(".gemini")).into_iter().flatten() {
        if entry.file_type().is_file() {
            let log = fs::File::options().append(true).open(entry.path()).unwrap();
            log.set_modified(now - Duration::from_secs(28 * 24 * 3600)).unwrap();
        }
    }
    desk.memtree(["init"]).success();
    let told = desk.memtree(["doctor"]).done();
    assert!(told.stdout.contains("gemini will delete "), "{}", told.told());
    assert!(
        told.stdout.contains("\"sessionRetention\": { \"enabled\": false }"),
        "{}",
        told.told()
    );
    for (settings, is_quiet) in [
        (r#"{"general":{"sessionRetention":{"enabled":false}}}"#, true),
        (r#"{"general":{"sessionRetention":{"maxAge":"20w"}}}"#, true),
        (r#"{"general":{"sessionRetention":{"maxAge":"720h"}}}"#, false),
    ] {
        fs::write(desk.home().join(".gemini/settings.json"), settings).unwrap();
        let report = desk.memtree(["doctor", "--json"]).done().json();
        assert_eq!(found(&report, "rescue clock").is_empty(), is_quiet, "{settings}: {report}");
    }
}

/// Raw is for its owner alone, whatever the umask, also where it was taken out of a database, and
/// after a clone.
#[test]
fn snapshots_are_closed_to_all_others() {
    let desk =
        Desk::new().with_logs("opencode").with_logs("goose").with_log("claude", "one_question");
    fs::write(desk.project().join("notes.md"), "# Notes\n").unwrap();
    let open = || -> Vec<String> {
        let files = walkdir::WalkDir::new(desk.store().join("sessions")).into_iter().flatten();
        let within = files.filter(|entry| entry.path().to_string_lossy().contains("/snapshot"));
        let mode =
            |entry: &walkdir::DirEntry| entry.metadata().unwrap().permissions().mode() & 0o077;
        within
            .filter(|entry| mode(entry) != 0)
            .map(|entry| entry.path().display().to_string())
            .collect()
    };
    for command in [["sweep", "--quiet"], ["snapshot", "."]] {
        let mut shell = std::process::Command::new("sh");
        let arguments: Vec<std::ffi::OsString> =
            command.iter().map(std::ffi::OsString::from).collect();
        let plain = desk.command(&arguments);
        shell
            .arg("-c")
            .arg("umask 000; exec \"$@\"")
            .arg("sh")
            .arg(plain.get_program())
            .args(plain.get_args());
        shell.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.current_dir(desk.project());
        let output = shell.output().unwrap();
        assert!(
            matches!(output.status.code(), Some(0 | 3)),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    assert!(desk.sessions().len() > 3);
    assert_eq!(open(), [""; 0]);
    // As after a clone of a memory whose owner lets git carry snapshots.
    for entry in walkdir::WalkDir::new(desk.store().join("sessions")).into_iter().flatten() {
        let mode = if entry.file_type().is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(entry.path(), fs::Permissions::from_mode(mode)).unwrap();
    }
    desk.memtree(["doctor"]).code(1).stdout_has("may be read by others");
    desk.memtree(["doctor", "--fix"]).success();
    assert_eq!(open(), [""; 0]);
}

#[test]
fn a_session_that_two_devices_captured_is_left_to_one_of_them() {
    const HERE: &str = "SES1_desk_SP1C1";
    const THERE: &str = "SES1_lap-7f3a_SP1C1";
    let desk = desk();
    let log = fs::read_to_string(desk.log_path(ONE)).unwrap();
    let lap = Desk::new().on_device("lap-7f3a").with_claude_log(ONE, log);
    lap.later(60);
    lap.memtree(["sweep"]).success();
    desk.write(desk.digest_path(HERE), desk.digest_text(HERE) + "seen on the desk\n");
    let theirs = lap.digest_text(THERE);
    let title = theirs.lines().find(|line| line.starts_with("title: ")).unwrap();
    let theirs = theirs.replacen(title, "title: Knots", 1);
    fs::create_dir_all(desk.store().join(format!("sessions/{THERE}"))).unwrap();
    desk.write(desk.digest_path(THERE), theirs + "seen on the lap\n");

    let report = |arguments: &[&str]| desk.memtree(arguments).any().1.json();
    let untrusted = report(&["doctor", "--fix", "--json"]);
    assert_eq!(found(&untrusted, "duplicates").len(), 1, "{untrusted}");
    assert!(!found(&untrusted, "duplicates")[0].1, "a stranger's page decides nothing");
    assert!(!desk.digest_text(HERE).contains("seen on the lap"));

    desk.memtree(["config", "trust", "lap-7f3a"]).success();
    let before = desk.tree();
    desk.memtree(["doctor"]).any().1.stdout_has("are the same session");
    crate::harness::assert_same(&before, &desk.tree(), "it only looked");
    let fixed = report(&["doctor", "--fix", "--json"]);
    assert!(found(&fixed, "duplicates")[0].1, "{fixed}");

    let (kept, other) = (desk.digest_text(HERE), desk.digest_text(THERE));
    assert!(kept.contains("seen on the desk") && kept.contains("seen on the lap"), "{kept}");
    assert!(kept.contains("\ntitle: Knots\n"), "{kept}");
    assert!(other.contains("seen on the lap"), "{other}");
    assert!(
        other.contains("worth: none") && other.contains(&format!("part_of: {HERE}")),
        "{other}"
    );
    desk.memtree(["sweep"]).success();
    desk.memtree(["verify"]).success();
    let again = report(&["doctor", "--fix", "--json"]);
    assert_eq!(found(&again, "duplicates"), [], "{again}");
    assert_eq!(desk.digest_text(HERE).matches("seen on the lap").count(), 1);
}
