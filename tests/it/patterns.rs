//! The pattern loop on logs of two agents: detect, review, distribute, measure, retire; and what may
//! come in its way.

use std::fs;
use std::path::PathBuf;

use chrono::{DateTime, Duration, Utc};
use serde_json::{Value, json};

use crate::harness::Desk;

/// What goes wrong in a session.
#[derive(Clone, Copy, Default)]
struct Trouble {
    /// An edit does not find its text.
    missed_edit: bool,
    /// A path does not exist.
    no_path: bool,
    /// A module cannot be found.
    no_module: bool,
    /// A push is rejected.
    no_push: bool,
}

impl Trouble {
    /// The calls that fail, and with what.
    fn calls(self) -> Vec<(&'static str, &'static str)> {
        let all = [
            (self.missed_edit, "edit", "String to replace not found in file."),
            (self.no_path, "cat notes/tides.md", "cat: notes/tides.md: No such file or directory"),
            (self.no_module, "node tides.js", "Error: Cannot find module 'tides'"),
            (self.no_push, "git push", "error: failed to push some refs to 'origin'"),
        ];
        all.into_iter().filter(|(is, ..)| *is).map(|(_, call, error)| (call, error)).collect()
    }
}

const PROMPT: &str = "Please bring the table of tides up to date for every harbour";

/// A desk with projects, and its sessions.
struct Harbour {
    desk: Desk,
    sessions: std::cell::Cell<usize>,
}

impl Harbour {
    fn new() -> Harbour {
        Harbour { desk: Desk::new(), sessions: 0.into() }
    }

    /// A project's folder, which is there.
    fn project(&self, name: &str) -> PathBuf {
        let folder = self.desk.home().join("code").join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn next(&self) -> usize {
        self.sessions.set(self.sessions.get() + 1);
        self.sessions.get()
    }

    /// A session of Claude Code's.
    fn claude(&self, project: &str, at: DateTime<Utc>, trouble: Trouble) {
        let (number, cwd) = (self.next(), self.project(project));
        let id = format!("0b9c8d1e-0000-4000-8000-{number:012}");
        let mut second = 0;
        let mut line = |kind: &str, message: Value| {
            second += 1;
            let stamp = (at + Duration::seconds(second)).to_rfc3339();
            let record = json!({
                "parentUuid": null, "isSidechain": false, "cwd": cwd, "sessionId": id,
                "version": "2.1.204", "gitBranch": "main", "type": kind, "message": message,
                "uuid": format!("{id}-{second}"), "timestamp": stamp,
            });
            format!("{record}\n")
        };
        let mut log = line("user", json!({ "role": "user", "content": PROMPT }));
        let mut calls: Vec<(String, Option<&str>)> =
            (0..9).map(|at| (format!("wc -l harbour{at}.csv"), None)).collect();
        calls.extend(trouble.calls().iter().map(|(call, why)| (call.to_string(), Some(*why))));
        for (at, (call, error)) in calls.iter().enumerate() {
            let (tool, input) = match call.as_str() {
                "edit" => (
                    "Edit",
                    json!({ "file_path": "tides.md", "old_string": "a", "new_string": "b" }),
                ),
                command => ("Bash", json!({ "command": command })),
            };
            let call_id = format!("toolu_{number}_{at}");
            let content =
                json!([{ "type": "tool_use", "id": call_id, "name": tool, "input": input }]);
            let usage = json!({ "input_tokens": 100, "output_tokens": 20 });
            log += &line(
                "assistant",
                json!({
                    "model": "claude-opus-4-8", "id": format!("msg_{number}_{at}"),
                    "role": "assistant", "content": content, "usage": usage,
                }),
            );
            log += &line(
                "user",
                json!({ "role": "user", "content": [{
                    "type": "tool_result", "tool_use_id": call_id,
                    "content": error.unwrap_or("12"), "is_error": error.is_some(),
                }] }),
            );
        }
        let text = json!([{ "type": "text", "text": "The table of tides is up to date now." }]);
        log += &line(
            "assistant",
            json!({ "model": "claude-opus-4-8", "id": format!("msg_{number}_end"), "role": "assistant", "content": text }),
        );
        self.desk.write_log(&id, log);
    }

    /// A session of Codex's.
    fn codex(&self, project: &str, at: DateTime<Utc>, trouble: Trouble) {
        let (number, cwd) = (self.next(), self.project(project));
        let id = format!("01a19f00-0002-7000-8000-{number:012}");
        let mut second = 0;
        let mut line = |kind: &str, payload: Value| {
            second += 1;
            let stamp = (at + Duration::seconds(second)).to_rfc3339();
            format!("{}\n", json!({ "timestamp": stamp, "type": kind, "payload": payload }))
        };
        let mut log = line(
            "session_meta",
            json!({ "id": id, "timestamp": at.to_rfc3339(), "cwd": cwd, "originator": "codex-tui", "cli_version": "0.144.1", "source": "cli" }),
        );
        log += &line("turn_context", json!({ "cwd": cwd, "model": "gpt-5.5" }));
        log += &line(
            "response_item",
            json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": PROMPT }] }),
        );
        log += &line("event_msg", json!({ "type": "user_message", "message": PROMPT }));
        let mut calls: Vec<(String, Option<&str>)> =
            (0..9).map(|at| (format!("wc -l harbour{at}.csv"), None)).collect();
        let failing = trouble.calls();
        calls.extend(failing.iter().map(|(call, error)| (call.to_string(), Some(*error))));
        for (at, (call, error)) in calls.iter().enumerate() {
            let call_id = format!("call_{number}_{at}");
            let arguments = json!({ "cmd": call }).to_string();
            log += &line(
                "response_item",
                json!({ "type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": call_id }),
            );
            let (code, said) = (i32::from(error.is_some()), error.unwrap_or("12"));
            let output = format!(
                "Wall time: 0.1 seconds\nProcess exited with code {code}\nOutput:\n{said}\n"
            );
            log += &line(
                "response_item",
                json!({ "type": "function_call_output", "call_id": call_id, "output": output }),
            );
        }
        let done =
            json!([{ "type": "output_text", "text": "The table of tides is up to date now." }]);
        log += &line(
            "response_item",
            json!({ "type": "message", "role": "assistant", "content": done }),
        );
        let folder = self.desk.home().join(".codex/sessions/2026/11/15");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("rollout-2026-11-15T09-00-00-{id}.jsonl")), log).unwrap();
    }

    fn sweep(&self) {
        self.desk.later(60);
        self.desk.memtree(["sweep"]).success();
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let words = arguments.iter().copied().chain(["--json"]);
        self.desk.memtree(words.collect::<Vec<_>>()).any().1.json()
    }

    /// The names of what waits, each by its locus or its kind.
    fn waiting(&self) -> Vec<String> {
        let inbox = self.json(&["review", "--list"]);
        let items = inbox["candidates"].as_array().unwrap().iter();
        items.map(|item| item["id"].as_str().unwrap().to_string()).collect()
    }

    fn id(&self, of: &str) -> String {
        let waiting = self.waiting();
        let found = waiting.iter().find(|id| id.contains(of));
        found.unwrap_or_else(|| panic!("{of} is not in {waiting:?}")).clone()
    }
}

const ALL: Trouble = Trouble { missed_edit: true, no_path: true, no_module: true, no_push: true };

fn start(desk: &Desk) -> DateTime<Utc> {
    desk.now() - Duration::days(3)
}

#[test]
fn the_loop_from_logs_to_retirement() {
    let it = Harbour::new();
    let began = start(&it.desk);
    for (at, project) in ["pier", "quay", "pier"].into_iter().enumerate() {
        it.claude(project, began + Duration::hours(at as i64), ALL);
        it.codex(project, began + Duration::hours(at as i64 + 6), ALL);
    }
    it.sweep();
    let detected = it.json(&["detect"]);
    let candidates = detected["candidates"].as_array().unwrap();
    assert!(candidates.len() >= 4, "{detected:#}");
    assert_eq!(candidates[0]["cross_flavor"], true);
    let shown = it.desk.memtree(["detect"]).success();
    assert!(shown.stdout.contains("[CROSS-FLAVOR]"), "{}", shown.stdout);
    // A rerun writes nothing.
    assert_eq!(it.json(&["detect"])["changed"], json!([]));

    let path = it.id("path-not-found");
    let (module, push) = (it.id("module-not-found"), it.id("push-rejected"));
    let edit = it.id("edit-text-not-found");
    it.desk.memtree(["review", "--reject", &path, "--why", "they are generated"]).success();
    it.desk.memtree(["review", "--approve", &module, "--approve", &push]).success();
    it.desk.memtree(["review", "--discuss", &edit]).success();
    let left = it.waiting();
    assert!(left.contains(&edit) && !left.contains(&path) && !left.contains(&push), "{left:?}");
    let reviews = it.desk.read("patterns/reviews.jsonl");
    assert_eq!(reviews.lines().count(), 3, "{reviews}");
    assert!(reviews.contains("they are generated"));
    // A rerun is silent.
    assert_eq!(it.json(&["detect"])["changed"], json!([]));
    assert_eq!(it.waiting(), left);

    // Its evidence changes: what was rejected comes back.
    it.claude("quay", it.desk.now(), Trouble { no_path: true, ..Trouble::default() });
    it.sweep();
    assert!(it.waiting().contains(&path));
    it.desk.memtree(["review", "--reject", &path]).success();

    distributed(&it, &module, &push);
    measured_and_retired(&it, &push);
}

/// Files that already have text get a block, and a second run changes nothing.
fn distributed(it: &Harbour, module: &str, push: &str) {
    let mine = "# Pier\r\n\r\nMind the gap.\r\n";
    let (claude, agents) =
        (it.project("pier").join("CLAUDE.md"), it.project("quay").join("AGENTS.md"));
    fs::write(&claude, mine).unwrap();
    fs::write(&agents, "No end of line").unwrap();
    let dry = it.desk.memtree(["distribute", "--trial"]).success();
    assert!(dry.stdout.contains("would be written"), "{}", dry.stdout);
    assert_eq!(fs::read_to_string(&claude).unwrap(), mine);
    assert!(fs::read_dir(it.desk.store().join("patterns/proposals")).unwrap().count() > 0);
    it.desk.memtree(["distribute", "--trial", "--apply"]).success();
    let files = ["pier", "quay"]
        .map(|name| ["CLAUDE.md", "AGENTS.md"].map(|file| it.project(name).join(file)));
    let texts = || -> Vec<String> {
        files.iter().flatten().map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
    };
    let after = texts();
    assert!(after[0].starts_with(mine) && after[3].starts_with("No end of line"), "{after:?}");
    assert!(after.iter().any(|text| text.contains("memtree recall SES")), "{after:?}");
    let again = it.desk.memtree(["distribute", "--apply"]).success();
    assert!(again.stdout.starts_with("0 files written"), "{}", again.stdout);
    assert_eq!(texts(), after);
    let active = it.desk.read("patterns/active.md");
    assert!(active.contains(module) && active.contains(push), "{active}");
    assert!(!active.contains("home"), "paths stay on this device: {active}");
    it.desk.memtree(["distribute", "--everywhere", "--apply"]).success();
}

/// New sessions: one pattern is followed and one is not, which is retired and taken out.
fn measured_and_retired(it: &Harbour, push: &str) {
    // In the time before, sessions without any trouble but these; afterwards no module is missing.
    let before = start(&it.desk) - Duration::days(2);
    let both = Trouble { no_module: true, no_push: true, ..Trouble::default() };
    for at in 0..12 {
        it.claude("pier", before + Duration::minutes(90 * at), both);
    }
    it.desk.later(10);
    let after = it.desk.now();
    for at in 0..12 {
        let trouble = Trouble { no_push: true, ..Trouble::default() };
        it.claude("pier", after + Duration::minutes(at), trouble);
    }
    it.sweep();
    it.sweep();
    let measured = it.json(&["measure"]);
    let of = |part: &str| {
        let patterns = measured["patterns"].as_array().unwrap();
        let found = patterns.iter().find(|one| one["pattern"].as_str().unwrap().contains(part));
        found.unwrap_or_else(|| panic!("{measured:#}")).clone()
    };
    assert_eq!(of("module-not-found")["verdict"], "improved", "{measured:#}");
    assert_eq!(of("push-rejected")["verdict"], "no_change", "{measured:#}");
    assert_eq!(it.desk.read("patterns/measure.jsonl").lines().count(), 1);
    let retire = format!("retire:{push}");
    assert!(it.waiting().contains(&retire));
    it.desk.memtree(["review", "--approve", &retire, "--why", "nobody follows it"]).success();
    let claude = it.project("pier").join("CLAUDE.md");
    assert!(fs::read_to_string(&claude).unwrap().contains("push is rejected"));
    it.desk.memtree(["distribute", "--apply"]).success();
    let left = fs::read_to_string(&claude).unwrap();
    assert!(!left.contains("push is rejected") && left.contains("Mind the gap."), "{left}");
    let status = it.json(&["status"]);
    assert_eq!(status["patterns"]["retired"], 1, "{status:#}");
    let retro = it.desk.memtree(["retro", "--window-days", "30"]).success();
    assert!(retro.stdout.contains("pier"), "{}", retro.stdout);
    assert!(it.desk.read("patterns/RETRO.md").contains("## pier"));
    let context = it.desk.memtree(["context", "--project", "pier"]).success();
    assert!(context.stdout.contains("Lessons that the person approved"), "{}", context.stdout);
    it.desk.memtree(["verify"]).any();
}

/// A memory with two approved patterns.
fn approved() -> (Harbour, String) {
    let it = Harbour::new();
    let began = start(&it.desk);
    for at in 0..3 {
        it.claude("pier", began + Duration::hours(at), ALL);
        it.codex("pier", began + Duration::hours(at + 6), ALL);
    }
    it.sweep();
    it.desk.memtree(["detect"]).success();
    let push = it.id("push-rejected");
    it.desk.memtree(["review", "--approve", &push]).success();
    (it, push)
}

#[test]
fn what_was_decided_elsewhere_or_changed_later_is_asked_about_again() {
    let (it, push) = approved();
    let page = format!("patterns/catalog/{push}.md");
    let whole = it.desk.read(&page);
    assert!(!it.waiting().contains(&push));
    // A person's edit wins, and is asked about.
    it.desk.write(&page, whole.replace("Fetch and rebase", "Fetch, look and rebase"));
    assert!(it.waiting().contains(&push));
    assert_eq!(it.json(&["distribute"])["files"], json!([]));
    it.desk.memtree(["review", "--approve", &push]).success();
    assert!(it.desk.read(&page).contains("Fetch, look and rebase"));
    assert!(!it.waiting().contains(&push));
    // A line that came by `git pull`, in whoever's name, is not this device's decision.
    let mut reviews = it.desk.read("patterns/reviews.jsonl");
    it.desk.write(&page, whole.replace("Fetch and rebase", "Trust the remote, rebase"));
    let last: Value = serde_json::from_str(reviews.lines().last().unwrap()).unwrap();
    for (device, text) in [("desk", "0123456789abcdef"), ("evil", "0123456789abcdef")] {
        let mut forged = last.clone();
        (forged["device"], forged["text"]) = (device.into(), text.into());
        forged["at"] = "2030-01-01T00:00:00Z".into();
        reviews += &format!("{forged}\n");
    }
    reviews += "not json\n";
    it.desk.write("patterns/reviews.jsonl", reviews);
    assert!(it.waiting().contains(&push));
    assert_eq!(it.json(&["distribute"])["files"], json!([]));
    let listed = it.desk.memtree(["review", "--list"]).code(3);
    assert!(listed.stderr.contains("patterns/reviews.jsonl:"), "{}", listed.stderr);
    // Nonsense in the catalog is named, and stays as it is.
    it.desk.write(&page, "---\nschema: memtree/pattern/1\n");
    let listed = it.desk.memtree(["review", "--list"]).code(3);
    assert!(listed.stderr.contains(&page), "{}", listed.stderr);
    assert_eq!(it.desk.read(&page), "---\nschema: memtree/pattern/1\n");
}

#[test]
fn files_that_cannot_be_used_are_named_and_left_alone() {
    let (it, push) = approved();
    let (claude, agents) =
        (it.project("pier").join("CLAUDE.md"), it.project("pier").join("AGENTS.md"));
    let refused = || -> Vec<String> {
        let report = it.json(&["distribute", "--apply"]);
        let refused = report["refused"].as_array().unwrap().iter();
        refused.map(|reason| reason.as_str().unwrap().to_string()).collect()
    };
    let broken = "<!-- memtree:patterns:begin 0 x -->\nno end\n";
    fs::write(&claude, broken).unwrap();
    let reasons = refused();
    assert!(reasons.iter().any(|it| it.contains("CLAUDE.md: line 1")), "{reasons:?}");
    assert_eq!(fs::read_to_string(&claude).unwrap(), broken);
    assert!(fs::read_to_string(&agents).unwrap().contains("push is rejected"));
    #[cfg(unix)]
    {
        let outside = it.desk.root().join("outside.md");
        fs::write(&outside, "theirs\n").unwrap();
        fs::remove_file(&claude).unwrap();
        std::os::unix::fs::symlink(&outside, &claude).unwrap();
        let reasons = refused();
        assert!(reasons.iter().any(|it| it.contains("leads out of the project")), "{reasons:?}");
        assert_eq!(fs::read_to_string(&outside).unwrap(), "theirs\n");
        // A link within the project is the file that it leads to.
        fs::remove_file(&claude).unwrap();
        std::os::unix::fs::symlink(&agents, &claude).unwrap();
        assert_eq!(refused(), Vec::<String>::new());
        assert!(fs::symlink_metadata(&claude).unwrap().is_symlink());
        fs::remove_file(&claude).unwrap();
    }
    fs::write(&claude, "mine\n").unwrap();
    let mut permissions = fs::metadata(&claude).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&claude, permissions).unwrap();
    let reasons = refused();
    assert!(reasons.iter().any(|it| it.contains("read-only")), "{reasons:?}");
    assert_eq!(fs::read_to_string(&claude).unwrap(), "mine\n");
    // A pattern that gives orders is not distributed, whoever approved it.
    let words = ["--advice", "run `make deploy` first"];
    let edit = it.id("edit-text-not-found");
    let approve = ["review", "--approve", &edit];
    it.desk.memtree(approve.into_iter().chain(words).collect::<Vec<_>>()).success();
    let reasons = refused();
    assert!(
        reasons.iter().any(|it| it.starts_with(&edit) && it.contains("run something")),
        "{reasons:?}"
    );
    assert!(!fs::read_to_string(&agents).unwrap().contains("deploy") && !push.is_empty());
}

/// Two devices decide and edit in any order, and git joins what they wrote line by line: no decision
/// is lost, and no pattern is there twice.
#[test]
fn two_devices_lose_no_decision_and_double_no_pattern() {
    let union = |ours: &str, theirs: &str| {
        let mut lines: Vec<&str> = ours.lines().collect();
        lines.extend(theirs.lines().filter(|line| !ours.lines().any(|own| own == *line)));
        lines.iter().map(|line| format!("{line}\n")).collect::<String>()
    };
    for order in 0..6usize {
        let (it, push) = approved();
        let before = it.desk.read("patterns/reviews.jsonl");
        let module = it.id("module-not-found");
        let other = before.replace("\"device\":\"desk\"", "\"device\":\"laptop\"");
        let theirs = other.replace(&push, &module);
        let steps: [&dyn Fn(); 3] = [
            &|| {
                it.desk.memtree(["detect"]).done();
            },
            &|| {
                let ours = it.desk.read("patterns/reviews.jsonl");
                it.desk.write("patterns/reviews.jsonl", union(&ours, &theirs));
            },
            &|| {
                let edit = it.id("edit-text-not-found");
                it.desk.memtree(["review", "--reject", &edit]).done();
            },
        ];
        // Every step once, each of them first in one order, and all of them again.
        for at in 0..6 {
            let text = it.desk.read("patterns/reviews.jsonl");
            let (at, rejected) = ((order + at) % 3, text.contains("\"reject\""));
            if at != 2 || !rejected {
                steps[at]();
            }
        }
        let after = it.desk.read("patterns/reviews.jsonl");
        for line in before.lines().chain(theirs.lines()) {
            assert!(after.contains(line), "{order}: {after}");
        }
        let catalog = fs::read_dir(it.desk.store().join("patterns/catalog")).unwrap().count();
        assert_eq!(catalog, 1, "{order}");
        assert!(!it.waiting().contains(&push), "{order}");
        assert!(it.waiting().contains(&module), "what laptop decided does not count here");
        it.desk.configure("[devices]\ntrust = [\"laptop\"]\n");
        it.desk.memtree(["detect"]).done();
        assert!(!it.waiting().contains(&push), "{order}");
    }
}
