//! Ways in which something could be lost or leak, each found by trying: none of them does any more.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use crate::harness::{Desk, exchange};

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TWO: &str = "aaaaaaaa-0000-4000-8000-000000000002";

fn desk() -> Desk {
    Desk::new().with_claude_log(
        ONE,
        exchange(ONE, 1, "How do I tie a bowline?", "Around the tree and back."),
    )
}

fn grow(desk: &Desk, id: &str, minute: u32) {
    let log = fs::read_to_string(desk.log_path(id)).unwrap();
    desk.write_log(
        id,
        log + &exchange(id, minute, "And a second one?", "Just the same way again."),
    );
}

#[test]
fn a_digest_that_is_not_utf_8_keeps_its_notes() {
    let desk = desk();
    desk.memtree(["sweep"]).success();
    let path = desk.store().join(desk.digest_path("SES1_desk_SP1C1"));
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(b"my precious note caf\xe9\n");
    fs::write(&path, &bytes).unwrap();
    grow(&desk, ONE, 5);
    desk.memtree(["sweep"]).code(3).stderr_has("the digest cannot be read");
    assert_eq!(fs::read(&path).unwrap(), bytes);
    // Closing it later does not stumble over it either.
    desk.later(60);
    desk.memtree(["sweep"]).code(3);
}

#[test]
fn another_conversation_with_the_same_id_takes_nothing_over() {
    let desk = desk();
    grow(&desk, ONE, 5);
    desk.memtree(["sweep"]).success();
    let other = desk.home().join(".claude/projects/-elsewhere");
    fs::create_dir_all(&other).unwrap();
    let log = exchange(TWO, 2, "What is a sheet bend for?", "For two ropes.").replace(TWO, ONE);
    fs::write(other.join(format!("{ONE}.jsonl")), log).unwrap();
    let swept =
        desk.memtree(["sweep", "--json"]).code(3).stderr_has("claims the session id of").json();
    assert_eq!([&swept["captured"], &swept["unchanged"]], [1, 1]);
    assert_eq!(desk.digest("SES1_desk_SP1C1").content.turns, 2);
    let second = desk.digest("SES2_desk_SP1C1");
    assert_eq!(
        (second.content.turns, second.content.objective.as_str()),
        (1, "What is a sheet bend for?")
    );
    desk.memtree(["sweep"]).success();
}

#[test]
fn a_resumed_session_keeps_its_id_when_its_first_log_goes_or_grows() {
    for deleted in [true, false] {
        let desk = desk();
        let first = fs::read_to_string(desk.log_path(ONE)).unwrap();
        // The old way to resume: all records are copied under a new id, and the conversation goes
        // on.
        let id = |id: &str| format!("\"sessionId\":\"{id}\"");
        let copied = first.replace(&id(ONE), &id(TWO));
        desk.write_log(
            TWO,
            copied + &exchange(TWO, 9, "Go on with the next knot?", "Gladly: the sheet bend."),
        );
        desk.memtree(["sweep"]).success();
        let sessions = desk.sessions();
        assert_eq!(sessions, ["SES1_desk_SP1C1"]);
        if deleted {
            fs::remove_file(desk.log_path(ONE)).unwrap();
        } else {
            for minute in [20, 21, 22, 23] {
                grow(&desk, ONE, minute);
            }
        }
        desk.memtree(["sweep"]).success();
        assert_eq!(desk.sessions(), sessions, "deleted: {deleted}");
    }
}

#[test]
fn raw_whose_digest_was_removed_is_not_replaced() {
    let desk = desk();
    let notes = desk.project().join("notes");
    fs::create_dir_all(&notes).unwrap();
    fs::write(notes.join("a.md"), "first").unwrap();
    desk.memtree(["snapshot".as_ref(), notes.as_os_str()]).success();
    fs::remove_file(desk.store().join(desk.digest_path("SES1_desk_SP1C1"))).unwrap();
    fs::write(notes.join("a.md"), "second").unwrap();
    desk.memtree(["snapshot".as_ref(), notes.as_os_str()]).success();
    assert_eq!(desk.read("sessions/SES1_desk_SP1C1/snapshot/a.md"), "first");
    desk.memtree(["sweep"]).success();
    assert_eq!(desk.sessions().len(), 3);
    assert_eq!(desk.read("sessions/SES1_desk_SP1C1/snapshot/a.md"), "first");
}

#[test]
fn a_log_whose_name_is_not_utf_8_is_captured() {
    let desk = Desk::new();
    let folder = desk.home().join(".claude/projects/-p");
    fs::create_dir_all(&folder).unwrap();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.jsonl");
    fs::write(
        folder.join(name),
        exchange(ONE, 1, "Which knot holds best?", "It depends on the rope."),
    )
    .unwrap();
    desk.memtree(["sweep"]).success().stdout_has("1 captured");
}

#[test]
fn a_shorter_log_shrinks_no_digest_whose_raw_is_elsewhere() {
    let desk = desk();
    grow(&desk, ONE, 5);
    desk.memtree(["sweep"]).success();
    let before = desk.digest_text("SES1_desk_SP1C1");
    // As after a clone: digests came, snapshots did not.
    fs::remove_dir_all(desk.store().join("sessions/SES1_desk_SP1C1/snapshot")).unwrap();
    fs::remove_dir_all(desk.store().join(".memtree")).unwrap();
    desk.write_log(ONE, exchange(ONE, 1, "How do I tie a bowline?", "Around the tree and back."));
    // Nothing says any more that the digest was written here, so it is left alone, and the log gets
    // one of its own.
    desk.memtree(["sweep"]).success().stderr_has("another device has this one's name");
    assert_eq!(desk.digest_text("SES1_desk_SP1C1"), before);
    assert_eq!(desk.digest("SES2_desk_SP1C1").content.turns, 1);
}

/// Whether it is one of the pages that list the sessions.
fn is_index(entry: &fs::DirEntry) -> bool {
    entry.file_name().to_string_lossy().starts_with("INDEX")
}

#[test]
fn a_memory_inside_its_source_is_never_swept_into_itself() {
    let desk = Desk::new();
    let logs = desk.project().join("logs");
    fs::create_dir_all(&logs).unwrap();
    fs::write(
        logs.join(format!("{ONE}.jsonl")),
        exchange(ONE, 1, "Which way is up?", "Away from the ground."),
    )
    .unwrap();
    let link = desk.project().join("link");
    symlink(&logs, &link).unwrap();
    let memory = logs.join("memory");
    let source = format!("claude={}", link.display());
    for _ in 0..3 {
        desk.memtree(["--store", memory.to_str().unwrap(), "sweep", "--source", &source]).success();
    }
    let is_plain = |entry: &fs::DirEntry| !entry.file_name().to_string_lossy().starts_with('.');
    let count = |folder: &str| {
        let entries = fs::read_dir(memory.join(folder)).unwrap().flatten();
        entries.filter(|entry| is_plain(entry) && !is_index(entry)).count()
    };
    assert_eq!((count("sessions/SES1_desk_SP1C1/snapshot/raw"), count("sessions")), (1, 1));
}

#[test]
fn a_copy_from_another_device_does_not_stop_this_ones_session() {
    let desk = desk();
    desk.memtree(["sweep"]).success();
    let theirs = desk.store().join("sessions/SES1_zebra_SP1C1");
    fs::create_dir_all(&theirs).unwrap();
    let digest = desk.digest_text("SES1_desk_SP1C1").replace("SES1_desk_SP1C1", "SES1_zebra_SP1C1");
    fs::write(theirs.join("SES1_zebra_SP1C1_DIGEST.md"), digest).unwrap();
    grow(&desk, ONE, 5);
    desk.memtree(["sweep"]).success().stdout_has("1 captured");
    assert_eq!(desk.digest("SES1_desk_SP1C1").content.turns, 2);
}

#[test]
fn secrets_in_what_a_person_says_of_a_folder_stay_out() {
    let desk = Desk::new();
    let token = ["ghp_", "abcdefghijklmnopqrstuvwxyz0123456789AB"].concat();
    let folder = desk.project().join(format!("d-{token}"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("a.md"), "hello").unwrap();
    let folder = folder.to_str().unwrap();
    desk.memtree(["snapshot", folder, "--objective", &format!("use {token}"), "--motto", &token])
        .success();
    assert!(!desk.digest_text("SES1_desk_SP1C1").contains(&token));
}

#[test]
fn secrets_in_the_names_of_a_folders_files_stay_out() {
    let desk = Desk::new();
    let token = ["ghp_", "abcdefghijklmnopqrstuvwxyz0123456789AB"].concat();
    let folder = desk.project().join("notes");
    fs::create_dir_all(folder.join("state")).unwrap();
    fs::write(folder.join(format!("{token}.md")), "# A page\nabout bowlines\n").unwrap();
    fs::write(folder.join(format!("state/vitals-{token}.yaml")), "mood: 1\n").unwrap();
    fs::write(folder.join("plain.md"), "# Another\nabout reef knots\n").unwrap();
    desk.memtree(["snapshot", folder.to_str().unwrap()]).success();
    assert!(
        !desk.digest_text("SES1_desk_SP1C1").contains(&token),
        "{}",
        desk.digest_text("SES1_desk_SP1C1")
    );
    // It is kept all the same, and can be recalled.
    assert!(desk.store().join(format!("sessions/SES1_desk_SP1C1/snapshot/{token}.md")).exists());
    desk.memtree(["verify"]).success();
    desk.memtree(["recall", "SES1_desk_SP1C1#EP_001"]).success();
    desk.check_manifest("SES1_desk_SP1C1");
    desk.memtree(["doctor", "--secrets"]).success();
}

#[test]
fn nothing_is_written_through_a_link_in_the_tree() {
    for link in ["sessions", "daily", "sessions/SES1_desk_SP1C1"] {
        let desk = desk();
        desk.memtree(["init"]).success();
        let outside = desk.project().join("outside");
        fs::create_dir_all(&outside).unwrap();
        fs::create_dir_all(desk.store().join(link).parent().unwrap()).unwrap();
        symlink(&outside, desk.store().join(link)).unwrap();
        desk.memtree(["sweep"]).code(1).stderr_has("is a link");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{link}");
    }
}

#[test]
fn a_heading_like_ours_freezes_nothing() {
    let desk = desk();
    desk.memtree(["sweep"]).success();
    let path = desk.digest_path("SES1_desk_SP1C1");
    let text =
        desk.digest_text("SES1_desk_SP1C1") + "\n## Knowledge Triggers I want to add\n\nmine\n";
    desk.write(&path, &text);
    for (minute, knot) in [(5, "clove hitch"), (9, "trucker splice")] {
        let log = fs::read_to_string(desk.log_path(ONE)).unwrap();
        let asked = exchange(
            ONE,
            minute,
            &format!("And a {knot} around the mast, how does that go?"),
            "With a turn more.",
        );
        desk.write_log(ONE, log + &asked);
        desk.memtree(["sweep"]).success();
    }
    let text = desk.digest_text("SES1_desk_SP1C1");
    assert!(text.contains("## Knowledge Triggers I want to add\n\nmine\n"));
    let (_, triggers) = text.split_once("Knowledge Triggers\n").unwrap();
    let (triggers, _) = triggers.split_once("\n## ").unwrap();
    assert!(triggers.contains("mast"), "{triggers}");
}

#[test]
fn how_often_a_log_was_swept_does_not_show() {
    let stopped = || desk().with_stopped_clock();
    let (often, once) = (stopped(), stopped());
    often.memtree(["sweep"]).success();
    for minute in [5, 9, 13] {
        grow(&often, ONE, minute);
        grow(&once, ONE, minute);
        often.memtree(["sweep"]).success();
    }
    once.memtree(["sweep"]).success();
    crate::harness::assert_same(&once.tree(), &often.tree(), "swept four times");
}

/// A rollout of Codex with these prompts, each answered once.
fn rollout(mode: &str, prompts: &[&str]) -> String {
    let id = "01a1ad00-0000-7000-8000-000000000001";
    let mut lines = vec![format!(
        r#"{{"timestamp":"2026-11-03T10:00:00.000Z","type":"session_meta","payload":{{"id":"{id}","timestamp":"2026-11-03T10:00:00.000Z","cwd":"/home/ada/hive","cli_version":"0.166.0","source":"cli","history_mode":"{mode}"}}}}"#
    )];
    for (number, prompt) in prompts.iter().enumerate() {
        let line = |kind: &str, payload: String| {
            format!(
                r#"{{"timestamp":"2026-11-03T10:0{}:00.000Z","type":"{kind}","payload":{payload}}}"#,
                number + 1
            )
        };
        lines.push(match mode {
            "paginated" => line(
                "event_msg",
                format!(
                    r#"{{"type":"item_completed","item":{{"type":"UserMessage","id":"u{number}","content":[{{"type":"text","text":"{prompt}"}}]}}}}"#
                ),
            ),
            _ => line("event_msg", format!(r#"{{"type":"user_message","message":"{prompt}"}}"#)),
        });
        lines.push(line(
            "response_item",
            format!(
                r#"{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"Answer {number} to it."}}]}}"#
            ),
        ));
        let total = (number + 1) * 100;
        lines.push(line(
            "event_msg",
            format!(
                r#"{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":{total},"output_tokens":{total}}},"last_token_usage":{{"input_tokens":100,"output_tokens":100}}}}}}"#
            ),
        ));
    }
    lines.join("\n") + "\n"
}

#[test]
fn a_rollout_that_codex_migrated_is_told_once() {
    let desk = Desk::new();
    let folder = desk.home().join(".codex/sessions/2026/11/03");
    fs::create_dir_all(&folder).unwrap();
    let path =
        folder.join("rollout-2026-11-03T10-00-00-01a1ad00-0000-7000-8000-000000000001.jsonl");
    fs::write(&path, rollout("legacy", &["How many bees?", "Go on", "Go on"])).unwrap();
    desk.memtree(["sweep"]).success();
    let session = desk.session_of("codex:01a1ad00-0000-7000-8000-000000000001");
    let before = fs::read(&path).unwrap();
    // It is rewritten in its place, and the person goes on.
    let prompts = ["How many bees?", "Go on", "Go on", "And drones?"];
    fs::write(&path, rollout("paginated", &prompts)).unwrap();
    desk.memtree(["sweep"]).success();
    assert_eq!(desk.sessions().len(), 1);
    let content = desk.digest(&session).content;
    assert_eq!(content.turns, 4, "each turn once");
    assert_eq!((content.tokens_in, content.tokens_out), (400, 400), "and its tokens");
    let raw = desk.store().join("sessions").join(&session).join("snapshot/raw");
    let mut kept = walkdir::WalkDir::new(raw).into_iter().flatten();
    let is_kept = kept.any(|entry| fs::read(entry.path()).is_ok_and(|bytes| bytes == before));
    assert!(is_kept, "the bytes before are kept");
    desk.memtree(["verify"]).success();
}
