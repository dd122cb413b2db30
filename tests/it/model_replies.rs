//! Recorded replies of a model about made-up sessions, replayed through a `command` model: what is
//! true gets onto the pages, and what is nearly true does not.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::{Desk, assert_same, checkout, fixtures};
use crate::models::configure;

const ID: &str = "bbbbbbbb-0000-4000-8000-000000000001";

fn cases() -> Vec<PathBuf> {
    let entries = fs::read_dir(checkout().join(fixtures("model_replies"))).unwrap();
    let mut cases: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    cases
}

/// A conversation as Claude Code would have logged it: `user:`, `agent:`, and `$ command` with what
/// it printed behind `ok:` or `fail:`.
fn log(talk: &str) -> String {
    let mut records: Vec<Value> = Vec::new();
    let mut blocks: Vec<(&str, String)> = Vec::new();
    for line in talk.lines() {
        let begun = ["user: ", "agent: ", "$ ", "ok: ", "fail: "]
            .into_iter()
            .find_map(|mark| Some((mark, line.strip_prefix(mark)?)));
        match (begun, blocks.last_mut()) {
            (Some((mark, said)), _) => blocks.push((mark, said.to_string())),
            (None, Some((_, text))) => text.push_str(&format!("\n{line}")),
            (None, None) => panic!("the talk begins with a speaker: {line}"),
        }
    }
    for (at, (mark, said)) in blocks.iter().enumerate() {
        let call = format!(
            "toolu_{:03}",
            if mark.ends_with("k: ") || mark.ends_with("l: ") { at - 1 } else { at }
        );
        let content = match *mark {
            "user: " => json!(said),
            "agent: " => json!([{ "type": "text", "text": said }]),
            "$ " => {
                json!([{ "type": "tool_use", "id": call, "name": "Bash", "input": { "command": said } }])
            }
            _ => json!([{
                "type": "tool_result", "tool_use_id": call, "content": said, "is_error": *mark == "fail: ",
            }]),
        };
        let role = if ["agent: ", "$ "].contains(mark) { "assistant" } else { "user" };
        let mut message = json!({ "role": role, "content": content });
        if role == "assistant" {
            message["model"] = json!("claude-opus-4-8");
            message["id"] = json!(format!("msg_{at:03}"));
        }
        records.push(json!({
            "parentUuid": null, "isSidechain": false, "cwd": "/home/dev/code/harbor", "sessionId": ID,
            "version": "2.1.204", "gitBranch": "main", "type": role, "message": message,
            "uuid": format!("record-{at}"), "timestamp": format!("2026-11-15T10:{at:02}:00.000Z"),
        }));
    }
    records.iter().map(|record| format!("{record}\n")).collect()
}

fn desk(case: &Path) -> Desk {
    let talk = fs::read_to_string(case.join("talk.md")).unwrap();
    Desk::new().with_claude_log(ID, log(&talk))
}

fn replay(desk: &Desk, case: &Path, file: &str) {
    let reply = case.join(file);
    configure(desk, "command", &format!("command = [\"/bin/cat\", {:?}]", reply));
}

#[test]
fn true_lines_get_onto_the_page() {
    let mut kept = 0;
    for case in cases() {
        let desk = desk(&case);
        replay(&desk, &case, "reply.jsonl");
        let swept = desk.memtree(["sweep", "--json"]).success().json();
        assert_eq!(swept["model"]["refused"], 0, "{}: {swept}", case.display());
        let page = desk.digest_text(&desk.sessions()[0]);
        for line in fs::read_to_string(case.join("reply.jsonl")).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let text = line["text"].as_str().unwrap().trim_end_matches('.');
            assert!(page.contains(text), "{}: {text}\n{page}", case.display());
            kept += 1;
        }
        desk.memtree(["verify"]).success();
    }
    assert!(kept >= 30, "{kept}");
}

#[test]
fn untrue_lines_change_nothing_and_are_named() {
    let mut refused = 0;
    for case in cases() {
        let desk = desk(&case);
        desk.memtree(["sweep"]).success();
        let before = desk.tree();
        replay(&desk, &case, "untrue.jsonl");
        let planted = fs::read_to_string(case.join("untrue.jsonl")).unwrap().lines().count();
        let digested = desk.memtree(["digest", "--all", "--json"]).success().json();
        let named = digested["refused"].as_array().unwrap();
        assert_eq!(named.len(), planted, "{}: {digested}", case.display());
        assert_eq!(digested["improved"], 0, "{digested}");
        refused += planted;
        // But for who was asked, the page is what it was.
        let after = desk.tree();
        let changed = before.difference(&after);
        assert!(
            changed.len() <= 1 && changed.iter().all(|path| path.contains("_DIGEST.md")),
            "{changed:?}"
        );
        // A person can read why.
        let explained = desk.memtree(["digest", "--all", "--again", "--explain"]).success();
        assert!(explained.stdout.contains("refused: "), "{}", explained.told());
        assert_same(&after, &desk.tree(), "after asking again");
    }
    assert!(refused >= 30, "{refused}");
}
