//! The pattern loop on logs of two agents: detect, review, distribute, measure, retire; and what
//! may come in its way.

use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Duration, Utc};
use serde_json::{Value, json};

use crate::harness::{Answer, Desk, checkout, expect_file, git_in};

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
    /// The commands of a person and what they said.
    transcript: std::cell::RefCell<String>,
}

impl Harbour {
    fn new() -> Harbour {
        Harbour { desk: Desk::new(), sessions: 0.into(), transcript: String::new().into() }
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

    /// Runs a command that succeeds, and keeps it with its answer as a person sees them.
    fn shown(&self, arguments: &[&str]) -> Answer {
        let answer = self.desk.memtree(arguments).success();
        let root = self.desk.root().to_str().unwrap();
        let quoted = |word: &&str| match word.contains(' ') {
            true => format!("\"{word}\""),
            false => word.to_string(),
        };
        let words: Vec<String> = arguments.iter().map(quoted).collect();
        let said = [answer.stdout.as_str(), &answer.stderr].concat().replace(root, "[DESK]");
        let mut transcript = self.transcript.borrow_mut();
        *transcript += &format!("$ memtree {}\n{}\n\n", words.join(" "), said.trim_end());
        answer
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
    let shown = it.shown(&["detect"]);
    assert!(shown.stdout.contains("[CROSS-FLAVOR]"), "{}", shown.stdout);
    // A rerun writes nothing.
    assert_eq!(it.json(&["detect"])["changed"], json!([]));
    it.shown(&["review", "--list"]);

    let path = it.id("path-not-found");
    let (module, push) = (it.id("module-not-found"), it.id("push-rejected"));
    let edit = it.id("edit-text-not-found");
    it.shown(&["review", "--reject", &path, "--why", "they are generated"]);
    it.shown(&["review", "--approve", &module, "--approve", &push]);
    it.shown(&["review", "--discuss", &edit]);
    let left = it.waiting();
    assert!(left.contains(&edit) && !left.contains(&path) && !left.contains(&push), "{left:?}");
    let reviews = it.desk.read("patterns/reviews.jsonl");
    assert_eq!(reviews.lines().count(), 3, "{reviews}");
    assert!(reviews.contains("they are generated"));
    // A rerun is silent.
    assert_eq!(it.json(&["detect"])["changed"], json!([]));
    it.shown(&["detect"]);
    assert_eq!(it.waiting(), left);

    // Its evidence changes: what was rejected comes back.
    it.claude("quay", it.desk.now(), Trouble { no_path: true, ..Trouble::default() });
    it.sweep();
    assert!(it.waiting().contains(&path));
    it.shown(&["review", "--list"]);
    it.shown(&["review", "--reject", &path]);

    distributed(&it, &module, &push);
    measured_and_retired(&it, &push);
    let page = checkout().join("tests/it/transcripts/pattern_loop.txt");
    expect_file(&page, &it.transcript.borrow());
}

/// Files that already have text get a block, and a second run changes nothing.
fn distributed(it: &Harbour, module: &str, push: &str) {
    let mine = "# Pier\r\n\r\nMind the gap.\r\n";
    let (claude, agents) =
        (it.project("pier").join("CLAUDE.md"), it.project("quay").join("AGENTS.md"));
    fs::write(&claude, mine).unwrap();
    fs::write(&agents, "No end of line").unwrap();
    let dry = it.shown(&["distribute", "--trial"]);
    assert!(dry.stdout.contains("would be written"), "{}", dry.stdout);
    assert_eq!(fs::read_to_string(&claude).unwrap(), mine);
    assert!(fs::read_dir(it.desk.store().join("patterns/proposals")).unwrap().count() > 0);
    it.shown(&["distribute", "--trial", "--apply"]);
    let files = ["pier", "quay"]
        .map(|name| ["CLAUDE.md", "AGENTS.md"].map(|file| it.project(name).join(file)));
    let texts = || -> Vec<String> {
        files.iter().flatten().map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
    };
    let after = texts();
    assert!(after[0].starts_with(mine) && after[3].starts_with("No end of line"), "{after:?}");
    assert!(after.iter().any(|text| text.contains("memtree recall SES")), "{after:?}");
    let again = it.shown(&["distribute", "--apply"]);
    assert!(again.stdout.starts_with("0 files written"), "{}", again.stdout);
    assert_eq!(texts(), after);
    let active = it.desk.read("patterns/active.md");
    assert!(active.contains(module) && active.contains(push), "{active}");
    assert!(!active.contains("home"), "paths stay on this device: {active}");
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
        // Where it is held back, all is as before.
        it.claude("quay", after + Duration::minutes(at), both);
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
    let told = it.shown(&["measure", "--no-save"]).stdout;
    assert!(told.contains("verdict: improved against its control"), "{told}");
    assert_eq!(it.desk.read("patterns/measure.jsonl").lines().count(), 1);
    let retire = format!("retire:{push}");
    assert!(it.waiting().contains(&retire));
    it.shown(&["review", "--approve", &retire, "--why", "nobody follows it"]);
    let claude = it.project("pier").join("CLAUDE.md");
    assert!(fs::read_to_string(&claude).unwrap().contains("push is rejected"));
    it.shown(&["distribute", "--everywhere", "--apply"]);
    let left = fs::read_to_string(&claude).unwrap();
    assert!(!left.contains("push is rejected") && left.contains("Mind the gap."), "{left}");
    let status = it.json(&["status"]);
    assert_eq!(status["patterns"]["retired"], 1, "{status:#}");
    let retro = it.shown(&["retro", "--window-days", "30"]);
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
fn damage_to_patterns_and_decisions_is_seen_and_made_good() {
    let (it, push) = approved();
    it.sweep();
    it.desk.memtree(["verify"]).success();
    let decisions = "patterns/reviews.jsonl".to_string();
    for page in [format!("patterns/catalog/{push}.md"), decisions.clone()] {
        let whole = it.desk.read(&page);
        for damage in ["cut", "emptied", "zeroed"] {
            let harmed = match damage {
                "cut" => whole[..whole.len() / 2].trim_end().to_string(),
                "emptied" => String::new(),
                _ => "\0".repeat(whole.len()),
            };
            it.desk.write(&page, harmed);
            it.desk.memtree(["verify"]).code(1);
            it.desk.memtree(["doctor", "--fix", "--yes"]).any();
            assert_eq!(it.desk.read(&page), whole, "{page} {damage}");
            it.desk.memtree(["verify"]).success();
        }
    }
    fs::remove_file(it.desk.store().join(&decisions)).unwrap();
    it.desk.memtree(["verify"]).code(1);
    it.desk.memtree(["doctor", "--fix", "--yes"]).any();
    it.desk.memtree(["verify"]).success();
    // What a person writes into a pattern stays, and what they remove goes.
    let page = format!("patterns/catalog/{push}.md");
    it.desk.write(&page, it.desk.read(&page) + "by hand");
    it.desk.memtree(["verify"]).success();
    fs::remove_file(it.desk.store().join(&page)).unwrap();
    it.sweep();
    it.desk.memtree(["verify"]).success();
    assert!(!it.desk.store().join(&page).exists());
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
    let told = it.desk.memtree(["distribute"]).code(3);
    assert!(told.stderr.contains(&format!("not done: {page}")), "{}", told.stderr);
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
    #[cfg(unix)]
    {
        // Nor is a folder of rules or skills that is really somebody else's.
        let page = format!("patterns/catalog/{push}.md");
        let text = it.desk.read(&page);
        let (start, end) = (text.find("## What to do").unwrap(), text.find("## Evidence").unwrap());
        let steps = "## What to do\n\n- Fetch.\n- Rebase.\n- Push again.\n\n";
        it.desk.write(&page, format!("{}{steps}{}", &text[..start], &text[end..]));
        it.desk.memtree(["review", "--approve", &push]).success();
        let theirs = it.desk.root().join("theirs");
        fs::create_dir(&theirs).unwrap();
        std::os::unix::fs::symlink(&theirs, it.project("pier").join(".claude")).unwrap();
        let reasons = refused();
        assert!(
            reasons.iter().any(|it| it.contains("a folder on the way is a link")),
            "{reasons:?}"
        );
        assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
        fs::remove_file(it.project("pier").join(".claude")).unwrap();
        it.desk.write(&page, text);
        it.desk.memtree(["review", "--approve", &push]).success();
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

/// The lines of `patterns/active.md`, without their times.
fn active(it: &Harbour) -> Vec<String> {
    let page = fs::read_to_string(it.desk.store().join("patterns/active.md")).unwrap_or_default();
    let lines = page.lines().filter(|line| line.starts_with("- "));
    lines.map(|line| line.replace(" · since ", "|")).collect()
}

#[test]
fn a_lesson_is_live_only_where_a_file_holds_it() {
    let (it, push) = approved();
    let pier = it.project("pier");
    let claude = pier.join("CLAUDE.md");
    let open = |agent: &str| {
        let of_it = format!("- {push} · {agent} · pier · ");
        let is_open = |line: &&String| line.starts_with(&of_it) && !line.contains("until");
        active(&it).iter().filter(is_open).count()
    };
    let set_readonly = |readonly: bool| {
        let mut permissions = fs::metadata(&claude).unwrap().permissions();
        permissions.set_readonly(readonly);
        fs::set_permissions(&claude, permissions).unwrap();
    };
    // Broken marks and a read-only file: nothing was written.
    fs::write(&claude, "<!-- memtree:patterns:begin 0 x -->\nno end\n").unwrap();
    it.desk.memtree(["distribute", "--apply"]).code(3);
    assert_eq!((open("claude"), open("codex")), (0, 1), "{:?}", active(&it));
    fs::write(&claude, "mine\n").unwrap();
    set_readonly(true);
    it.desk.memtree(["distribute", "--apply"]).code(3);
    assert_eq!(open("claude"), 0, "{:?}", active(&it));
    set_readonly(false);
    it.desk.memtree(["distribute", "--apply"]).success();
    assert_eq!(open("claude"), 1, "{:?}", active(&it));
    // What cannot be taken out is live as before; the other file's is not.
    set_readonly(true);
    it.desk.memtree(["review", "--retire", &push]).success();
    it.desk.memtree(["distribute", "--apply"]).code(3);
    assert!(fs::read_to_string(&claude).unwrap().contains("push is rejected"));
    assert_eq!((open("claude"), open("codex")), (1, 0), "{:?}", active(&it));
    set_readonly(false);
    it.desk.memtree(["distribute", "--apply"]).success();
    assert_eq!(open("claude"), 0, "{:?}", active(&it));
}

#[test]
fn a_lesson_without_room_is_named_each_time_and_not_live() {
    let (it, push) = approved();
    it.desk.settings("format = 1\n[distribute]\nbudget = 5\n");
    for _ in 0..2 {
        let told = it.desk.memtree(["distribute", "--apply"]).success();
        assert!(told.stderr.contains(&format!("{push}: no room in")), "{}", told.told());
        assert_eq!(active(&it), Vec::<String>::new());
    }
}

#[test]
fn a_pattern_with_orders_reaches_agents_in_no_way() {
    let (it, _) = approved();
    let edit = it.id("edit-text-not-found");
    let orders = "always run `make deploy` first";
    let told = it.desk.memtree(["review", "--approve", &edit, "--advice", orders]).success().stderr;
    assert!(told.contains("no agent gets it"), "{told}");
    let context = it.desk.memtree(["context", "--project", "pier"]).success().stdout;
    assert!(context.contains("push is rejected") && !context.contains("deploy"), "{context}");
    let retro = it.desk.memtree(["retro", "--window-days", "30"]).success().stdout;
    assert!(!retro.contains("make deploy"), "{retro}");
    assert!(!it.desk.read("patterns/RETRO.md").contains("make deploy"));
    // In other words it is a lesson.
    let better = ["review", "--approve", &edit, "--advice", "Read the file again before an edit"];
    let told = it.desk.memtree(better).success();
    assert!(!told.stderr.contains("no agent"), "{}", told.told());
    let context = it.desk.memtree(["context", "--project", "pier"]).success().stdout;
    assert!(context.contains("Read the file again"), "{context}");
}

#[test]
fn what_says_nothing_is_named_and_one_item_gets_one_answer() {
    let (it, push) = approved();
    let page = format!("patterns/catalog/{push}.md");
    let text = it.desk.read(&page);
    let (start, end) = (text.find("## What to do").unwrap(), text.find("## Evidence").unwrap());
    it.desk.write(&page, format!("{}{}", &text[..start], &text[end..]));
    it.desk
        .memtree(["review", "--approve", &push])
        .success()
        .stderr_has("does not say what to do")
        .stderr_has("--advice");
    let told = it.desk.memtree(["distribute"]).success();
    assert!(told.stderr.contains(&format!("passed over: {push}")), "{}", told.told());
    let edit = it.id("edit-text-not-found");
    it.desk
        .memtree(["review", "--approve", &edit, "--reject", &edit])
        .code(2)
        .stderr_has("named twice");
    assert!(it.waiting().contains(&edit));
}

#[test]
fn a_procedure_becomes_a_skill_and_goes_with_its_pattern() {
    let (it, push) = approved();
    let page = format!("patterns/catalog/{push}.md");
    let skill = |folder: &str| {
        it.project("pier").join(folder).join(format!("memtree-{push}")).join("SKILL.md")
    };
    let [claude, others] = [".claude/skills", ".agents/skills"].map(skill);
    it.desk.memtree(["distribute", "--apply"]).success();
    assert!(!claude.exists() && !others.exists(), "one thing to do is a lesson");
    let text = it.desk.read(&page);
    let advice = text.lines().find(|line| line.contains("Fetch and rebase")).unwrap().to_string();
    let steps = format!("{advice}\n- Look at who pushed in between.\n- Push once, without force.");
    it.desk.write(&page, text.replace(&advice, &steps));
    it.desk.memtree(["review", "--approve", &push]).success();
    let report = it.json(&["distribute", "--apply"]);
    assert_eq!(report["refused"], json!([]), "{report:#}");
    for file in [&claude, &others] {
        let text = fs::read_to_string(file).unwrap();
        assert!(text.starts_with(&format!("---\nname: memtree-{push}\ndescription: \"")), "{text}");
        assert!(text.contains("2. Look at who pushed in between.\n3. Push once"), "{text}");
    }
    assert!(it.desk.memtree(["distribute"]).success().stdout.starts_with("0 files"));
    // What somebody wrote around it stays; a file that is only ours goes with its pattern.
    let mine = format!("{}\nMine: ask the harbour master.\n", fs::read_to_string(&others).unwrap());
    fs::write(&others, mine).unwrap();
    it.desk.memtree(["review", "--undo"]).success();
    it.desk.memtree(["review", "--undo"]).success();
    it.desk.memtree(["distribute", "--apply"]).success();
    assert!(!claude.exists() && !claude.parent().unwrap().exists());
    let left = fs::read_to_string(&others).unwrap();
    assert!(left.contains("Mine: ask") && !left.contains("Push once"), "{left}");
}

#[test]
fn what_is_retired_by_hand_or_by_flag_is_taken_out_and_counted_once() {
    let (it, push) = approved();
    it.desk.memtree(["distribute", "--apply"]).success();
    let agents = it.project("pier").join("AGENTS.md");
    let has_it = || fs::read_to_string(&agents).is_ok_and(|text| text.contains("push is rejected"));
    assert!(has_it());
    let text = fs::read_to_string(&agents).unwrap();
    assert!(text.contains("#EP_"), "it leads to the episode: {text}");
    // By hand, on the page.
    let page = format!("patterns/catalog/{push}.md");
    let whole = it.desk.read(&page);
    it.desk.write(&page, whole.replace("status: approved", "status: retired"));
    let counts = it.json(&["status"])["patterns"].clone();
    assert_eq!((&counts["approved"], &counts["retired"]), (&json!(0), &json!(1)), "{counts:#}");
    assert!(!it.waiting().contains(&push));
    it.desk.memtree(["distribute", "--apply"]).success();
    assert!(!has_it());
    it.desk.write(&page, whole);
    it.desk.memtree(["distribute", "--apply"]).success();
    assert!(has_it());
    // By flag, with the beginning of its name; and taken back.
    it.desk.memtree(["review", "--retire", "no-such"]).code(1).stderr_has("no-such");
    let retire = ["review", "--retire", &push[..20], "--why", "it is old"];
    it.desk.memtree(retire).success().stdout_has("1 retired");
    let reviews = it.desk.read("patterns/reviews.jsonl");
    assert!(reviews.contains("\"retire\"") && reviews.contains("it is old"), "{reviews}");
    it.desk.memtree(["distribute", "--apply"]).success();
    assert!(!has_it());
    it.desk.memtree(["review", "--undo"]).success();
    assert_eq!(it.json(&["status"])["patterns"]["approved"], 1);
    it.desk.memtree(["distribute", "--apply"]).success();
    assert!(has_it());
    it.desk.memtree(["status"]).success().stdout_has("patterns  1 approved, 0 retired");
}

#[test]
fn a_project_that_nobody_knows_is_no_empty_answer() {
    let (it, _) = approved();
    let told = it.desk.memtree(["detect", "--project", "peir"]).code(2);
    assert!(told.stderr.contains("did you mean `pier`?"), "{}", told.stderr);
    it.desk.memtree(["detect", "--project", "pier"]).success();
}

#[test]
fn where_nothing_can_be_distributed_it_says_why() {
    let (it, _) = approved();
    it.desk
        .memtree(["distribute", "--project", "peer"])
        .code(2)
        .stderr_has("no session is of a project `peer`")
        .stderr_has("did you mean `pier`?");
    fs::remove_dir_all(it.project("pier")).unwrap();
    let told = it.desk.memtree(["distribute"]).success();
    assert!(told.stderr.contains("the project pier has no folder"), "{}", told.told());
    assert_eq!(it.json(&["distribute"])["without_folder"], json!(["pier"]));
    // Nothing is live: there is nothing to draw.
    let drawn = it.desk.root().join("weeks.svg");
    let told = it.desk.memtree(["measure", "--svg", drawn.to_str().unwrap()]).success();
    assert!(told.stderr.contains("nothing to draw") && !drawn.exists(), "{}", told.told());
}

#[test]
fn one_text_for_many_files_is_shown_once() {
    let (it, _) = approved();
    let told = it.desk.memtree(["distribute"]).success().stdout;
    assert!(told.contains("CLAUDE.md") && told.contains("AGENTS.md"), "{told}");
    assert_eq!(told.matches("push is rejected").count(), 1, "{told}");
}

#[test]
fn a_retrospective_has_each_project_s_own_evidence() {
    let it = Harbour::new();
    let began = start(&it.desk);
    let projects = ["pier", "quay", "mole", "dock", "slip"];
    for (at, project) in projects.into_iter().enumerate() {
        for hour in 0..3 {
            let trouble =
                Trouble { no_path: true, no_push: project == "mole", ..Trouble::default() };
            it.claude(project, began + Duration::hours(5 * at as i64 + hour), trouble);
        }
    }
    it.sweep();
    let report = it.json(&["retro", "--window-days", "30"]);
    assert_eq!(report["in_many"][0]["projects"].as_array().unwrap().len(), 5, "{report:#}");
    assert_eq!(report["projects"]["pier"], Value::Null, "{report:#}");
    let own = &report["projects"]["mole"][0];
    assert_eq!(own["evidence"].as_array().unwrap().len(), 3, "{report:#}");
    let page = it.desk.read("patterns/RETRO.md");
    assert!(!page.contains("()") && page.contains("## mole"), "{page}");
    assert_eq!(page.matches("A path is used").count(), 1, "{page}");
    // Nobody worked in these days.
    it.desk.later(60 * 24 * 30);
    let told = it.desk.memtree(["retro"]).success();
    assert!(told.stderr.contains("no session of real work"), "{}", told.told());
    let page = it.desk.read("patterns/RETRO.md");
    assert!(page.contains("nothing to look back on") && !page.contains('%'), "{page}");
}

#[test]
fn what_the_gate_takes_in_waits_and_is_listed_like_a_candidate() {
    let it = Harbour::new();
    it.desk.settings("[review]\nmin_frequency = 2\nmin_sessions = 2\nmin_cost = 0\n");
    let began = start(&it.desk);
    for at in 0..4 {
        it.claude("pier", began + Duration::hours(at), Trouble { no_path: true, ..ALL });
    }
    it.sweep();
    let told = it.desk.memtree(["review", "--auto-approve"]).success().stdout;
    assert!(told.contains("taken in provisionally") && told.contains("your yes"), "{told}");
    let inbox = it.json(&["review", "--list"]);
    let changed = inbox["candidates"].as_array().unwrap().iter();
    let changed: Vec<&Value> = changed.filter(|item| item["kind"] == "changed").collect();
    assert!(!changed.is_empty(), "{inbox:#}");
    for item in &changed {
        for key in ["polarity", "type", "locus", "frequency", "sessions", "flavors", "cross_flavor"]
        {
            assert!(!item[key].is_null(), "{key}: {item:#}");
        }
        assert!(item["evidence"][0]["session"].is_string(), "{item:#}");
    }
    let detected = it.json(&["detect"]);
    assert!(detected["candidates"][0]["evidence"][0]["session"].is_string(), "{detected:#}");
}

/// Two devices decide and edit in any order, and git joins what they wrote line by line: no
/// decision is lost, and no pattern is there twice.
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

/// Two devices, each with its own logs and a clone of one repository, joined by the real git.
struct Pair {
    devices: [Harbour; 2],
    remote: tempfile::TempDir,
    /// Every line that either device appended to the decisions.
    decided: std::collections::BTreeSet<String>,
    edits: Vec<String>,
    random: u64,
}

impl Pair {
    fn new(seed: u64) -> Pair {
        let remote = tempfile::tempdir().unwrap();
        let mut devices = ["desk", "laptop"].map(|name| {
            let mut it = Harbour::new();
            it.desk = it.desk.on_device(name);
            it.desk.configure("[devices]\ntrust = [\"desk\", \"laptop\"]\n");
            it
        });
        let began = start(&devices[0].desk);
        for at in 0..3 {
            devices[0].claude("pier", began + Duration::hours(at), ALL);
            devices[0].codex("pier", began + Duration::hours(at + 6), ALL);
        }
        devices[0].sweep();
        devices[1].sessions.set(100);
        let store = |it: &Harbour| it.desk.store().to_str().unwrap().to_string();
        let bare = remote.path().to_str().unwrap().to_string();
        devices[0].desk.memtree(["detect"]).success();
        git(&bare, &["init", "-q", "--bare", "-b", "main", "."]);
        let desk = store(&devices[0]);
        git(&desk, &["init", "-q", "-b", "main", "."]);
        git(&desk, &["remote", "add", "origin", &bare]);
        git(&desk, &["add", "-A"]);
        git(&desk, &["commit", "-qm", "start"]);
        git(&desk, &["push", "-q", "-u", "origin", "main"]);
        let laptop = store(&devices[1]);
        let _ = fs::remove_dir_all(&laptop);
        git(&bare, &["clone", "-q", &bare, &laptop]);
        // Both tell git how pages are joined.
        devices.iter().for_each(|it| drop(it.desk.memtree(["init"]).success()));
        devices[1].desk.memtree(["detect"]).done();
        devices.iter_mut().for_each(|it| it.desk.later(5));
        Pair { devices, remote, decided: Default::default(), edits: Vec::new(), random: seed }
    }

    /// The next number below a limit: the same for the same seed.
    fn next(&mut self, below: usize) -> usize {
        self.random =
            self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.random >> 33) as usize % below
    }

    fn step(&mut self) {
        let (at, what) = (self.next(2), self.next(10));
        self.devices.iter().for_each(|it| it.desk.later(3));
        match what {
            0 | 1 => drop(self.devices[at].desk.memtree(["detect"]).done()),
            2..=5 => self.decide(at),
            6 | 7 => self.edit(at),
            _ => self.join(at),
        }
        self.note(at);
    }

    fn decide(&mut self, at: usize) {
        let waiting = self.devices[at].waiting();
        let chance = self.next(6);
        if chance == 0 {
            return drop(self.devices[at].desk.memtree(["review", "--undo"]).done());
        }
        if waiting.is_empty() {
            return;
        }
        let item = waiting[self.next(waiting.len())].clone();
        let how = if chance < 4 { "--approve" } else { "--reject" };
        self.devices[at].desk.memtree(["review", how, &item]).done();
    }

    /// A person adds a sentence to a pattern of the catalog.
    fn edit(&mut self, at: usize) {
        let folder = self.devices[at].desk.store().join("patterns/catalog");
        let mut pages: Vec<PathBuf> =
            fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path()).collect();
        // Each device has pages of its own, so that git has nothing to ask a person.
        pages.retain(|page| page.file_name().unwrap().len() % 2 == at);
        pages.sort();
        if pages.is_empty() {
            return;
        }
        let page = pages[self.next(pages.len())].clone();
        let said = format!("Seen by hand at low tide number {}.", self.edits.len());
        let text = fs::read_to_string(&page).unwrap();
        fs::write(&page, format!("{}\n\n{said}\n", text.trim_end())).unwrap();
        self.edits.push(said);
    }

    /// Commits, pulls and pushes, as a person does.
    fn join(&mut self, at: usize) {
        let store = self.devices[at].desk.store().to_str().unwrap().to_string();
        git(&store, &["add", "-A"]);
        let message = format!("tide {}", self.random);
        git(&store, &["commit", "-q", "--allow-empty", "-m", &message]);
        let pull = ["pull", "-q", "--no-rebase", "--no-edit", "origin", "main"];
        if !self.devices[at].desk.try_git(&pull).status.success() {
            // One device took a page away that the other changed: a person keeps what is there.
            git(&store, &["add", "-A"]);
            git(&store, &["commit", "-q", "--no-edit"]);
        }
        git(&store, &["push", "-q", "origin", "HEAD:main"]);
    }

    fn note(&mut self, at: usize) {
        let reviews = self.devices[at].desk.store().join("patterns/reviews.jsonl");
        let text = fs::read_to_string(reviews).unwrap_or_default();
        self.decided.extend(text.lines().map(str::to_string));
    }

    /// After both have everything, nothing is lost and nothing is there twice.
    fn check(&mut self, seed: u64) {
        for at in [0, 1, 0] {
            self.join(at);
            self.devices[at].desk.memtree(["detect"]).done();
        }
        self.join(0);
        self.join(1);
        for it in &self.devices {
            let reviews = it.desk.read("patterns/reviews.jsonl");
            let lines: Vec<&str> = reviews.lines().collect();
            for line in &self.decided {
                let times = lines.iter().filter(|one| *one == line).count();
                assert_eq!(times, 1, "seed {seed}: {line}\n{reviews}");
            }
            let texts: Vec<String> = fs::read_dir(it.desk.store().join("patterns/catalog"))
                .into_iter()
                .flatten()
                .flatten()
                .map(|page| fs::read_to_string(page.path()).unwrap())
                .collect();
            assert!(texts.iter().all(|text| !text.contains("<<<<<<<")), "seed {seed}");
            let key = |text: &String| {
                text.lines().find(|line| line.starts_with("key:")).map(str::to_string)
            };
            let mut keys: Vec<_> = texts.iter().filter_map(key).collect();
            let all = keys.len();
            keys.sort();
            keys.dedup();
            assert_eq!(keys.len(), all, "seed {seed}: a pattern is there twice");
            let history = it.desk.texts();
            for said in &self.edits {
                assert!(history.values().any(|text| text.contains(said)), "seed {seed}: {said}");
            }
        }
        let [desk, laptop] = [0, 1].map(|at| self.devices[at].waiting());
        assert_eq!(desk, laptop, "seed {seed}");
        assert!(self.remote.path().exists());
    }
}

fn git(folder: &str, arguments: &[&str]) {
    // Nobody's settings: what a home has there is none of git's.
    git_in(Path::new(folder), Path::new("/dev/null"), arguments);
}

/// Any order of detecting, deciding, editing and joining on two devices loses no decision and no
/// edit, and doubles no pattern. `MEMTREE_PATTERN_RUNS` says how many orders are tried.
#[test]
fn any_order_on_two_devices_loses_nothing() {
    let runs = std::env::var("MEMTREE_PATTERN_RUNS").ok().and_then(|it| it.parse().ok());
    for seed in 1..=runs.unwrap_or(3u64) {
        let mut pair = Pair::new(seed);
        for _ in 0..14 {
            pair.step();
        }
        pair.check(seed);
    }
}
