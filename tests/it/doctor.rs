//! The doctor names what is unwell, mends what it can, and keeps an eye on what agents are about to delete.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::harness::{Desk, exchange};

const ONE: &str = "cccccccc-0000-4000-8000-000000000001";

fn desk() -> Desk {
    let desk =
        Desk::new().with_claude_log(ONE, exchange(ONE, 1, "How do I tie a bowline?", "Around the tree and back."));
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
    let findings = report["findings"].as_array().unwrap().iter().filter(|finding| finding["check"] == check);
    findings.map(|one| (one["what"].as_str().unwrap().to_string(), one["fixed"].as_bool().unwrap())).collect()
}

#[test]
fn a_well_memory_has_nothing_to_look_after() {
    let desk = desk();
    let before = desk.tree();
    desk.memtree(["doctor"]).success().stdout_has("all is well");
    desk.memtree(["doctor", "--fix", "--secrets"]).success().stdout_has("all is well");
    crate::harness::assert_same(&before, &desk.tree(), "the doctor only looks");
}

#[test]
fn everything_unwell_is_named_and_what_can_be_mended_is() {
    let desk = desk();
    let session = desk.store().join("sessions/SES1_desk_SP1C1");
    fs::set_permissions(session.join("snapshot"), fs::Permissions::from_mode(0o755)).unwrap();
    desk.write(".memtree/cache/cursors.json", "{ half a");
    desk.write("sessions/SES1_desk_SP1C1/.memtree-abc.tmp", "half a digest");
    desk.git(["init", "-q"]);
    desk.write(".gitignore", "/.memtree/\n");
    desk.write("memtree.toml", "format = 1\ntimezon = \"UTC\"\n");
    desk.write("sessions/SES2_desk_SP1C1/SES2_desk_SP1C1_DIGEST.md", "---\nsession: [\n---\nmy notes on knots\n");
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
        assert!(findings.iter().any(|(found, fixed)| found.contains(what) && !fixed), "{check}: {findings:?}");
    }
    fs::remove_file(desk.store().join("sessions/SES4_desk_SP1C1")).unwrap();
    let report = desk.memtree(["doctor", "--fix", "--json"]).code(1).json();
    for check in ["permissions", "unfinished work", "git"] {
        assert!(found(&report, check).iter().all(|(_, fixed)| *fixed), "{check}: {report}");
    }
    assert_eq!(fs::metadata(session.join("snapshot")).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(!session.join(".memtree-abc.tmp").exists());
    assert_eq!(desk.read(".gitignore"), "/.memtree/\n/sessions/*/snapshot/\n/sessions/*.jsonl\n");
    // A damaged page is a person's to mend, and still found by its words.
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
    assert!(told.stdout.contains("\"cleanupPeriodDays\": 3650 into [HOME]/.claude/settings.json"), "{}", told.told());
    assert!(desk.digest_text("SES1_desk_SP1C1").contains("EP_001 - EP_002"));
    let status = desk.memtree(["status", "--json"]).success().json();
    assert_eq!(status["at_risk"], serde_json::json!([{ "flavor": "claude", "sessions": 1, "in_days": 3 }]));
    // The advice works.
    fs::write(desk.home().join(".claude/settings.json"), "{ \"cleanupPeriodDays\": 3650 }").unwrap();
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
