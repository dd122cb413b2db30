//! Hooks before a tool edits or runs something, and at a subagent's start: only for two agents,
//! only when asked for, silent unless sure, and never with a permission.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::{Desk, exchange};

const ID: &str = "eeeeeeee-0000-4000-8000-000000000001";

/// A project with a decision on a file, and a lesson of a command.
fn desk() -> Desk {
    let asked = "Why does the gangplank winch stall in fog?";
    let told = "The gangplank winch stalls because its brake freezes; we keep it dry now.";
    let desk = Desk::new().with_claude_log(ID, exchange(ID, 1, asked, told));
    desk.memtree(["sweep", "--quiet"]).success();
    let session = desk.session_of(&format!("claude:{ID}"));
    let claims = "- decision (user): src/winch.rs keeps its own clock, because fog stops the other -> [EP_001](snapshot/episodic/EP_001.md)\n\
        - lesson (assistant): `anchor lower --fast` fails in fog → the chain slips → dry it first -> [EP_001](snapshot/episodic/EP_001.md)\n";
    let heading = "## ⚡ Knowledge Triggers\n";
    let stated = format!("## 🧭 Decisions and Lessons\n{claims}\n{heading}");
    let text = desk.digest_text(&session).replacen(heading, &stated, 1);
    let text = text.replacen("flavor: claude\n", "flavor: claude\nfiles: [src/winch.rs]\n", 1);
    desk.write(desk.digest_path(&session), &text);
    desk.memtree(["search", "winch"]).success();
    desk
}

fn call(desk: &Desk, agent: &str, event: &str, told: &Value, variables: &[(&str, &str)]) -> String {
    let words: Vec<OsString> = ["hook", agent, event].map(OsString::from).into();
    let mut command = desk.command(&words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.envs(variables.iter().copied()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(told.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    String::from_utf8(output.stdout).unwrap()
}

fn edit(session: &str) -> Value {
    json!({
        "session_id": session, "transcript_path": "/t", "cwd": "/home/dev/code/demo",
        "hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_use_id": "toolu_1",
        "tool_input": { "file_path": "/home/dev/code/demo/src/winch.rs", "old_string": "a", "new_string": "b" },
    })
}

fn run(session: &str, tool: &str, command: &str) -> Value {
    json!({
        "session_id": session, "cwd": "/home/dev/code/demo", "hook_event_name": "PreToolUse",
        "tool_name": tool, "tool_input": { "command": command },
    })
}

#[test]
fn what_is_sure_is_told_and_nothing_is_decided() {
    let desk = desk();
    let said = call(&desk, "claude", "PreToolUse", &edit("one"), &[]);
    let answer: Value = serde_json::from_str(&said).unwrap_or_else(|err| panic!("{err}: {said}"));
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&answer), ["hookSpecificOutput"]);
    assert_eq!(keys(&answer["hookSpecificOutput"]), ["additionalContext", "hookEventName"]);
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "PreToolUse");
    assert!(said.contains("src/winch.rs keeps its own clock"), "{said}");
    // Once is enough in a conversation; a subagent has a context of its own.
    assert_eq!(call(&desk, "claude", "PreToolUse", &edit("one"), &[]), "");
    let mut by_subagent = edit("one");
    by_subagent["agent_id"] = "a1".into();
    assert!(call(&desk, "claude", "PreToolUse", &by_subagent, &[]).contains("own clock"));
    let command = run("two", "Bash", "cd x && anchor lower --fast | tail");
    assert!(call(&desk, "codex", "PreToolUse", &command, &[]).contains("the chain slips"));
    let patch = "*** Begin Patch\n*** Update File: src/winch.rs\n@@\n-a\n+b\n*** End Patch";
    let patched = call(&desk, "codex", "PreToolUse", &run("three", "apply_patch", patch), &[]);
    assert!(patched.contains("own clock"), "{patched}");
    for silent in [
        run("four", "Bash", "ls -la"),
        run("four", "Bash", "anchor raise --slow"),
        run("four", "Read", "src/winch.rs"),
        json!({ "session_id": "four", "cwd": "/home/dev/code/other", "tool_name": "Edit",
            "tool_input": { "file_path": "/home/dev/code/other/src/winch.rs" } }),
        json!({ "session_id": "four", "tool_name": "Edit" }),
        json!({}),
        run("four", "Bash", &"x ".repeat(1 << 19)),
    ] {
        assert_eq!(call(&desk, "claude", "PreToolUse", &silent, &[]), "", "{silent:.200}");
    }
}

#[test]
fn a_subagent_is_told_of_its_project_and_of_no_other() {
    let desk = desk();
    let start = |cwd: &str| {
        json!({ "session_id": "one", "cwd": cwd, "hook_event_name": "SubagentStart",
            "agent_id": "a1", "agent_type": "Explore" })
    };
    let said = call(&desk, "claude", "SubagentStart", &start("/home/dev/code/demo"), &[]);
    assert!(
        said.contains("\"hookEventName\":\"SubagentStart\"") && said.contains("own clock"),
        "{said}"
    );
    assert!(said.len() < 4000, "{}", said.len());
    assert_eq!(call(&desk, "claude", "SubagentStart", &start("/home/dev/code/other"), &[]), "");
}

/// Others run Claude Code's hooks: a silent answer there must not be one of ours.
#[test]
fn other_agents_get_no_answer() {
    let desk = desk();
    let mut cursor = edit("one");
    cursor["conversation_id"] = "one".into();
    cursor["workspace_roots"] = json!(["/home/dev/code/demo"]);
    assert_eq!(call(&desk, "claude", "PreToolUse", &cursor, &[]), "");
    let mut copilot = edit("one");
    copilot["timestamp"] = "2026-11-15T12:00:00Z".into();
    let variables = [("COPILOT_CLI", "1")];
    assert_eq!(call(&desk, "claude", "PreToolUse", &copilot, &variables), "");
    let mut grok = edit("one");
    grok["hookEventName"] = "pre_tool_use".into();
    grok["workspaceRoot"] = "/home/dev/code/demo/".into();
    assert_eq!(call(&desk, "claude", "PreToolUse", &grok, &[]), "");
    for agent in ["antigravity", "copilot", "cursor", "gemini", "qwen", "grok"] {
        assert_eq!(call(&desk, agent, "PreToolUse", &edit("one"), &[]), "", "{agent}");
        assert_eq!(call(&desk, agent, "SubagentStart", &edit("one"), &[]), "", "{agent}");
    }
}

/// A folder with programs that say only their version.
fn programs(desk: &Desk, claude: &str) -> String {
    let folder = desk.root().join("programs");
    fs::create_dir_all(&folder).unwrap();
    for (name, says) in [("claude", claude), ("codex", "codex-cli 0.166.0")] {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\necho '{says}'\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

fn install(desk: &Desk, path: &str, words: &[&str]) {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let output = desk.command(&words).env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn hooks_before_tools_are_written_only_when_asked_for_and_undone_exactly() {
    let desk = Desk::new();
    desk.memtree(["init", "--quiet"]).success();
    let claude = "{\n  // mine\n  \"model\": \"opus\"\n}\n";
    let [settings, codex] =
        [".claude/settings.json", ".codex/hooks.json"].map(|name| desk.home().join(name));
    for path in [&settings, &codex] {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
    }
    fs::write(&settings, claude).unwrap();
    let path = programs(&desk, "2.1.325 (Claude Code)");
    let text = || fs::read_to_string(&settings).unwrap();
    install(&desk, &path, &["install", "claude", "codex", "--yes"]);
    assert!(!text().contains("PreToolUse") && !text().contains("Subagent"), "{}", text());
    install(&desk, &path, &["install", "claude", "codex", "--before-tools", "--yes"]);
    assert!(
        text().contains("\"matcher\": \"Edit|MultiEdit|Write|NotebookEdit|Bash\""),
        "{}",
        text()
    );
    assert!(text().contains("hook claude SubagentStart"), "{}", text());
    assert!(fs::read_to_string(&codex).unwrap().contains("hook codex SubagentStart"));
    let with = text();
    // Whoever installs again keeps them, and `doctor` has nothing to say of them.
    install(&desk, &path, &["install", "claude", "codex", "--yes"]);
    assert_eq!(text(), with);
    install(&desk, &path, &["uninstall", "claude", "codex", "--yes"]);
    assert_eq!(text(), claude);
    assert!(!codex.exists());
    // Somebody changes the file: only ours go.
    install(&desk, &path, &["install", "claude", "--before-tools", "--yes"]);
    fs::write(&settings, text().replace("opus", "sonnet")).unwrap();
    install(&desk, &path, &["uninstall", "claude", "--yes"]);
    assert_eq!(text(), claude.replace("opus", "sonnet"));
}

#[test]
fn a_version_that_may_not_know_an_event_does_not_get_it() {
    for said in ["2.0.76 (Claude Code)", "dev build", ""] {
        let desk = Desk::new();
        desk.memtree(["init", "--quiet"]).success();
        fs::create_dir_all(desk.home().join(".claude")).unwrap();
        let path = programs(&desk, said);
        install(&desk, &path, &["install", "claude", "--before-tools", "--yes"]);
        let text = fs::read_to_string(desk.home().join(".claude/settings.json")).unwrap();
        assert!(text.contains("PreToolUse") && !text.contains("Subagent"), "{said}: {text}");
    }
}
