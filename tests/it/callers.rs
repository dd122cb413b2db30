//! Agents that run the hooks of others: a session belongs to the agent that it was held in, and one
//! event gets one answer.

use std::ffi::OsString;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::Desk;

/// Calls Claude Code's hook as another agent does, and returns what it is told.
fn call(desk: &Desk, event: &str, told: &Value, environment: &[(&str, &str)]) -> String {
    let arguments = ["hook", "claude", event].map(OsString::from);
    let mut command = desk.command(&arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.envs(environment.iter().copied()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(told.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_plugin_and_the_installed_hook_give_one_answer() {
    let desk = Desk::new().with_stopped_clock();
    let _ = desk.memtree(["sweep", "--sample", "--quiet"]).done();
    let told = json!({"session_id": "c1", "hook_event_name": "SessionStart", "source": "startup",
        "cwd": "/home/dev/code/tidepool"});
    let plugin = |told: &Value| {
        let arguments = ["hook", "claude", "SessionStart", "--plugin"].map(OsString::from);
        let mut command = desk.command(&arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(told.to_string().as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    assert!(call(&desk, "SessionStart", &told, &[]).contains("tidepool"));
    assert_eq!(plugin(&told), "", "the second is silent");
    let other = json!({"session_id": "c2", "hook_event_name": "SessionStart", "source": "startup",
        "cwd": "/home/dev/code/tidepool"});
    assert!(plugin(&other).contains("tidepool"), "alone it answers");
    assert_eq!(call(&desk, "SessionStart", &other, &[]), "", "whichever comes second");
    // A person is told.
    let _ = desk.memtree(["install", "claude", "--yes"]).success();
    let plugin = desk.home().join(".claude/plugins/cache/memtree/memtree");
    std::fs::create_dir_all(plugin).unwrap();
    let doctor = desk.memtree(["doctor"]).any().1;
    assert!(doctor.stdout.contains("claude has memtree's plugin"), "{}", doctor.told());
}

/// Variables of an agent's process, by name.
type Variables = &'static [(&'static str, &'static str)];

/// What Grok, Cursor and Copilot send to the hook at a session's start, with a variable that they
/// set.
fn starts() -> [(&'static str, Value, Variables); 3] {
    let folder = "/home/dev/code/tidepool";
    [
        (
            "grok",
            json!({"hookEventName": "session_start", "sessionId": "g1", "session_id": "g1",
                "hook_event_name": "SessionStart", "cwd": folder, "workspaceRoot": folder,
                "source": "new"}),
            &[],
        ),
        (
            "cursor",
            json!({"hook_event_name": "sessionStart", "conversation_id": "c1", "generation_id": "1",
                "workspace_roots": [folder], "cursor_version": "2.4"}),
            &[],
        ),
        (
            "copilot",
            json!({"hook_event_name": "SessionStart", "session_id": "p1", "cwd": folder,
                "timestamp": "2026-11-15T12:00:00Z", "source": "new"}),
            &[("COPILOT_CLI", "1")],
        ),
    ]
}

#[test]
fn each_agent_is_answered_in_its_own_form_or_not_at_all() {
    let desk = Desk::new();
    let _ = desk.memtree(["sweep", "--sample", "--quiet"]).done();
    for (agent, told, environment) in starts() {
        let said = call(&desk, "SessionStart", &told, environment);
        let answer: Value = serde_json::from_str(&said).unwrap_or_default();
        let (form, has_page) = match agent {
            // It shows a model nothing of what hooks say.
            "grok" => ("", said.is_empty()),
            "cursor" => ("additional_context", true),
            _ => ("additionalContext", true),
        };
        let page = answer[form].as_str().unwrap_or_default();
        assert!(has_page && (form.is_empty() || page.contains("tidepool")), "{agent}: {said}");
        assert!(answer.get("hookSpecificOutput").is_none(), "{agent}: {said}");
        let doctor = desk.memtree(["doctor"]).any().1;
        assert!(!doctor.stdout.contains("runs the hooks"), "no hooks are installed yet");
    }
    // An agent that is not known gets nothing.
    let told = json!({"hookEventName": "SessionStart", "sessionId": "v1", "cwd": "/home/dev/code/tidepool"});
    assert_eq!(call(&desk, "SessionStart", &told, &[]), "");
    let _ = desk.memtree(["install", "claude", "--yes"]).success();
    let doctor = desk.memtree(["doctor"]).any().1;
    assert!(
        doctor.stdout.contains("grok runs the hooks in the settings of claude too"),
        "{}",
        doctor.told()
    );
}

#[test]
fn an_agent_with_hooks_of_its_own_is_left_to_them() {
    let desk = Desk::new();
    let _ = desk.memtree(["sweep", "--sample", "--quiet"]).done();
    let _ = desk.memtree(["install", "cursor", "copilot", "--yes"]).success();
    for (agent, told, environment) in starts() {
        assert_eq!(call(&desk, "SessionStart", &told, environment), "", "{agent}");
    }
}

#[test]
fn the_session_is_filed_under_the_agent_that_calls() {
    let desk = Desk::new().with_log("grok", "one_question");
    let _ = desk.memtree(["init", "--quiet"]).success();
    let told = json!({"hookEventName": "session_end", "sessionId": "g1", "session_id": "g1",
        "hook_event_name": "SessionEnd", "cwd": "/w", "workspaceRoot": "/w/", "reason": "shutdown"});
    assert_eq!(call(&desk, "SessionEnd", &told, &[]), "");
    wait_for_sessions(&desk);
    let digest = desk.digest_text(&desk.sessions()[0]);
    assert!(digest.contains("\nflavor: grok\n"), "{digest}");
}

#[test]
fn a_turn_may_be_the_last_where_nobody_says_so() {
    let desk = Desk::new().with_log("codex", "one_question");
    let _ = desk.memtree(["init", "--quiet"]).success();
    let told = json!({"session_id": "t1", "transcript_path": null, "cwd": "/w",
        "hook_event_name": "Stop", "stop_hook_active": false});
    let arguments = ["hook", "codex", "Stop"].map(OsString::from);
    let mut command = desk.command(&arguments);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(told.to_string().as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(desk.sessions().is_empty(), "not at once: the person may go on");
    wait_for_sessions(&desk);
    // A sweep for a turn that was followed by another does nothing.
    let later = ["sweep", "--only", "codex", "--session=t1", "--after-turn=7", "--json"];
    assert_eq!(desk.memtree(later).success().stdout, "");
}

fn wait_for_sessions(desk: &Desk) {
    let began = Instant::now();
    let is_there = |id: &String| desk.store().join(desk.digest_path(id)).is_file();
    while !desk.sessions().first().is_some_and(is_there) {
        assert!(began.elapsed() < Duration::from_secs(60), "the session was not taken in");
        std::thread::sleep(Duration::from_millis(50));
    }
    // Whoever takes the lock of a sweep waits for the one that runs.
    let _ = desk.memtree(["sweep", "--quiet"]).done();
}
