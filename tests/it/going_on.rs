//! Going on with what was begun: a session in its own agent, or in another one; what helped against
//! an error, and why a file is as it is.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::harness::{Desk, exchange, git_in};
use crate::terminal;

fn sampled() -> Desk {
    let desk = Desk::new();
    let _ = desk.memtree(["sweep", "--sample", "--quiet"]).done();
    desk
}

#[test]
fn a_session_is_resumed_in_its_own_agent_by_words_alone() {
    let desk = sampled();
    let session = desk.sessions().into_iter().find(|id| desk.digest(id).content.flavor == "codex");
    let session = session.unwrap();
    let id = desk.digest(&session).source_id.split_once(':').unwrap().1.to_string();
    let told = desk.memtree(["resume", &session, "--dry-run"]).success();
    assert_eq!(told.stdout, format!("codex resume {id}\n"), "its folder is not here");
    // Where nobody sits at the terminal, nothing is started.
    let told = desk.memtree(["resume", &session]).success();
    assert!(told.stderr.contains("not a terminal"), "{}", told.told());
    let launch = desk.memtree(["resume", &session, "--json"]).success().json();
    assert_eq!(launch["command"], serde_json::json!(["codex", "resume", id]));
    // Another device's log is not here.
    let elsewhere = Desk::new().on_device("other");
    let from = desk.store().to_str().unwrap().to_string();
    elsewhere
        .memtree(["--store", &from, "resume", &session])
        .code(1)
        .stderr_has("held on another device, `desk`");
    desk.memtree(["resume", "SES9_desk_SP9C9"]).code(1).stderr_has("SES9_desk_SP9C9");
}

#[test]
fn what_a_log_calls_itself_becomes_no_argument() {
    for id in ["--yolo", "a;touch pwned", "$(touch pwned)", "a b"] {
        let name = "0b9c8d1e-0000-4000-8000-000000000001";
        let log = exchange(id, 1, "What is a lighthouse?", "A tower with a light.");
        let desk = Desk::new().with_claude_log(name, log);
        let _ = desk.memtree(["sweep", "--quiet"]).done();
        for session in desk.sessions() {
            let source = desk.digest(&session).source_id;
            let (_, ran) = desk.memtree(["resume", &session, "--dry-run"]).any();
            let words = ran.stdout.trim_end().trim_start_matches("claude --resume ");
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
            assert!(
                ran.stdout.is_empty() || words.chars().all(plain) && !words.starts_with('-'),
                "{source}: {}",
                ran.told()
            );
        }
    }
}

#[test]
fn a_page_is_handed_over_as_a_file_that_the_prompt_names() {
    let desk = sampled();
    let session = desk.session_of(&desk.digest(&desk.sessions()[0]).source_id);
    let page = desk.store().join(format!(".memtree/local/handoff/{session}.md"));
    let told = desk.memtree(["handoff", &session, "--to", "gemini", "--dry-run"]).success();
    assert!(told.stdout.starts_with("gemini -i 'Go on with the work"), "{}", told.told());
    assert!(!page.exists());
    let told = desk.memtree(["handoff", &session, "--to", "claude"]).success();
    assert!(told.stdout.starts_with("claude 'Go on"), "{}", told.told());
    let printed = desk.memtree(["handoff", &session]).success().stdout;
    assert_eq!(
        fs::read_to_string(&page).unwrap(),
        printed,
        "what is handed over is what is printed"
    );
    let mode = fs::metadata(page.parent().unwrap()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700);
    desk.memtree(["handoff", &session, "--to", "goose"])
        .code(2)
        .stderr_has("cannot be started with a prompt");
    desk.memtree(["handoff", &session, "--to", "codx"]).code(2).stderr_has("codex");
}

#[test]
fn in_a_terminal_the_agent_is_started_with_the_page() {
    let desk = sampled();
    let session = desk.sessions().remove(0);
    let folder = desk.root().join("bin");
    fs::create_dir(&folder).unwrap();
    let agent = folder.join("codex");
    fs::write(&agent, "#!/bin/sh\necho \"started with $# argument: $1\"\nexit 4\n").unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let screen = terminal::run(
        desk.command(&["handoff", &session, "--to", "codex"].map(Into::into)).env("PATH", path),
        "",
    );
    let (command, started) = screen.text.split_once("started with ").expect("it was started");
    assert!(command.trim().starts_with("codex 'Go on with"), "{}", screen.text);
    assert!(started.starts_with("1 argument: Go on with the work"), "{}", screen.text);
    assert_eq!(screen.code, Some(4), "its exit code is ours");
    let gone = terminal::run(
        desk.command(&["handoff", &session, "--to", "grok"].map(Into::into)).env("PATH", &folder),
        "",
    );
    assert!(gone.text.contains("cannot start `grok`"), "{}", gone.text);
}

#[test]
fn the_same_error_leads_to_what_helped() {
    let desk = sampled();
    let error =
        "error: could not lock /tmp/other.lock: Resource temporarily unavailable (os error 35)";
    let told = desk.memtree(["fix", error]).success();
    let first = "met in 1 session; it went away in 1, and stayed away after 1\n";
    assert!(told.stdout.starts_with(first), "{}", told.told());
    assert!(told.stdout.contains("it went away by changing cache.rs"), "{}", told.told());
    // A whole output, and sessions of two agents.
    let output = "psql:0017.sql:3\nERROR: could not create unique index \"subscribers_list_email_lower_key\"\n\
                  DETAIL: Key (list_id, lower(email)) is duplicated.\n";
    let met = desk.memtree(["fix", output, "--json"]).success().json();
    let flavors: Vec<&str> = met["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["flavor"].as_str().unwrap())
        .collect();
    assert!(flavors.contains(&"claude") && flavors.contains(&"codex"), "{met:#}");
    assert_eq!((met["met"].as_u64(), met["held"].as_u64()), (Some(2), Some(0)), "{met:#}");
    let none = desk.memtree(["fix", "bash: lighthouse: command not found"]).success();
    assert!(none.stderr.contains("no session in this memory met"), "{}", none.told());
    assert!(none.stdout.starts_with("In general: "), "{}", none.told());
    desk.memtree(["fix"]).code(2).stderr_has("no error to look for");
}

/// A log of Claude Code in which these commands are run one after the other, each failing with a
/// text or working.
fn shell_log(id: &str, prompt: &str, commands: &[(&str, Option<&str>)]) -> String {
    let mut log = exchange(id, 0, prompt, "I look at it.");
    for (at, (command, error)) in commands.iter().enumerate() {
        let record = |kind: &str, message: serde_json::Value| {
            let record = serde_json::json!({
                "parentUuid": null, "isSidechain": false, "cwd": "/home/dev/code/demo",
                "sessionId": id, "version": "2.1.204", "gitBranch": "main", "type": kind,
                "message": message, "uuid": format!("{id}-{at}-{kind}"),
                "timestamp": format!("2026-11-15T11:{:02}:00.000Z", at + 1),
            });
            format!("{record}\n")
        };
        let call = serde_json::json!({
            "type": "tool_use", "id": format!("toolu_{at}"), "name": "Bash",
            "input": {"command": command},
        });
        let answer = serde_json::json!({
            "type": "tool_result", "tool_use_id": format!("toolu_{at}"),
            "is_error": error.is_some(), "content": error.unwrap_or("done"),
        });
        let said = serde_json::json!({
            "role": "assistant", "id": format!("msg_{id}_{at}"), "model": "claude-opus-4-8",
            "content": [call],
        });
        log += &record("assistant", said);
        log += &record("user", serde_json::json!({"role": "user", "content": [answer]}));
    }
    log + &exchange(id, 50, "thanks", "You are welcome.")
}

#[test]
fn a_command_may_solve_an_error() {
    let port = "Exit code 1\nError response from daemon: Bind for 0.0.0.0:5432 failed: port is already allocated";
    let stash = "Exit code 1\nnotes/harbour.md already exists, no checkout\nerror: could not restore untracked files from stash";
    let lock = "Exit code 128\nfatal: Unable to create '/home/dev/code/demo/.git/index.lock': File exists.";
    let types = "Exit code 101\nerror[E0308]: mismatched types in the tide table";
    let moved = "Exit code 1\nError: the lighthouse daemon is not reachable at its socket";
    type Call<'a> = (&'a str, Option<&'a str>);
    let cases: [(&str, &[Call<'_>], &str); 5] = [
        (
            "Bind for 0.0.0.0:5432 failed: port is already allocated",
            &[
                ("docker compose up -d", Some(port)),
                ("docker ps", None),
                ("docker stop pg", None),
                ("docker compose up -d", None),
            ],
            "running `docker stop pg`",
        ),
        (
            "error: could not restore untracked files from stash",
            &[("git stash pop", Some(stash)), ("git clean -fd", None), ("git stash pop", None)],
            "running `git clean -fd`",
        ),
        (
            "index.lock: File exists",
            &[("git add -A", Some(lock)), ("git status", None), ("git add -A", None)],
            "trying again",
        ),
        (
            "error[E0308]: mismatched types in the tide table",
            &[
                ("cargo build 2>&1", Some(types)),
                ("sed -i s/u32/u64/ src/tide.rs", None),
                ("cd /home/dev/code/demo && cargo build", None),
            ],
            "running `sed -i s/u32/u64/ src/tide.rs`",
        ),
        (
            "Error: the lighthouse daemon is not reachable at its socket",
            &[("lampctl ping", Some(moved)), ("lampctl status", None), ("lampctl pong", None)],
            "",
        ),
    ];
    let desk = cases.iter().zip(1..).fold(Desk::new(), |desk, ((_, commands, _), at)| {
        let id = format!("0b9c8d1e-0000-4000-8000-00000000010{at}");
        let prompt = format!("bring the demo of harbour number {at} up again");
        desk.with_claude_log(&id, shell_log(&id, &prompt, commands))
    });
    let _ = desk.memtree(["sweep", "--quiet"]).done();
    for (error, _, by) in cases {
        let told = desk.memtree(["fix", error]).success();
        match by {
            "" => assert!(told.stdout.contains("went away in 0"), "{}", told.told()),
            by => assert!(told.stdout.contains(&format!("by {by}")), "{by}: {}", told.told()),
        }
    }
}

/// An error that was only pasted, or stands in no session's signals, is known all the same.
#[test]
fn what_any_page_says_of_an_error_is_told() {
    let desk = sampled();
    // A code keeps its number, and pytest's mark does not count.
    let session = desk.sessions().remove(0);
    let page = desk.digest_text(&session);
    let line = "- error: npm error code E404 404 No match found for harbour (EP_001)\n\
                - error: E ImportError: libhorn.so.1: cannot open shared object file (EP_001)\n";
    let at = page.find("## 🔎 Index\n").unwrap() + "## 🔎 Index\n".len();
    desk.write(desk.digest_path(&session), format!("{}\n{line}{}", &page[..at], &page[at..]));
    let told = desk.memtree(["fix", "E404"]).success();
    assert!(told.stdout.starts_with("met in 1 session"), "{}", told.told());
    let line = "E   ImportError: libhorn.so.1: cannot open shared object file";
    let told = desk.memtree(["fix", line]).success();
    assert!(told.stdout.contains(&format!("{session}#EP_001")), "{}", told.told());
    let none = desk.memtree(["fix", "E407"]).success();
    assert!(none.stderr.contains("met `E407`"), "{}", none.told());
}

#[test]
fn a_page_names_the_episode_of_each_outcome_and_says_where_no_step_was_stated() {
    let desk = sampled();
    for session in desk.sessions() {
        let page = desk.memtree(["handoff", &session]).success().stdout;
        assert!(!page.contains("(EP_"), "{page}");
        let digest = desk.digest(&session);
        if !digest.content.key_outcomes.is_empty() {
            assert!(page.contains(&format!("({session}#EP_")), "{page}");
        }
        if page.contains("- Status: success") {
            assert!(!page.contains("was not solved"), "{page}");
        }
    }
    let unknown = desk.memtree(["install", "nosuch"]).code(2);
    assert!(
        unknown.stderr.contains("claude") && !unknown.stderr.contains("aider"),
        "{}",
        unknown.told()
    );
    desk.memtree(["install"]).code(2).stderr_has("--all");
}

#[test]
fn with_json_every_answer_is_an_object() {
    let desk = sampled();
    for words in [vec!["search", "--bogus"], vec!["log", "badkind", "x"], vec!["nosuchverb"]] {
        let told = desk.memtree(words.into_iter().chain(["--json"])).code(2);
        let error = told.json();
        assert!(error["error"]["what"].is_string(), "{}", told.told());
    }
    for words in [
        vec!["init", "--dry-run"],
        vec!["doctor", "--unknown"],
        vec!["config", "accept"],
        vec!["review", "--list"],
    ] {
        let told = desk.memtree(words.into_iter().chain(["--json"])).success();
        assert!(told.json().is_object(), "{}", told.told());
    }
}

#[test]
fn an_empty_memory_says_so_and_a_call_is_told_of_as_a_call() {
    let desk = Desk::new();
    let _ = desk.memtree(["init"]).done();
    let told = desk.memtree(["search", "harbour"]).success();
    let said = format!("{}{}", told.stdout, told.stderr);
    assert!(said.contains("empty") && said.contains("memtree sweep"), "{}", told.told());
    let desk = sampled();
    let told = desk.memtree(["context", "--before-editing", "nobody.rs"]).success();
    assert!(!told.stderr.contains("of the project"), "{}", told.told());
    let folder = desk.root().join("20260205");
    fs::create_dir_all(&folder).unwrap();
    let told = desk.memtree(["context", "--folder", folder.to_str().unwrap()]).success();
    assert!(!told.stderr.contains("knows 1,"), "{}", told.told());
}

#[test]
fn a_file_leads_to_what_was_decided_about_it() {
    let desk = sampled();
    let told = desk.memtree(["why", "src/cache.rs"]).success();
    assert!(told.stdout.contains("standing · the person: "), "{}", told.told());
    let none = desk.memtree(["why", "src/nobody.rs"]).success();
    assert!(none.stderr.contains("no session in this memory changed"), "{}", none.told());
    desk.memtree(["why", "core/MEMORY.md"]).code(2).stderr_has("memtree blame core/MEMORY.md");
    // A line is led back to its commit, and to the session that made it.
    fs::create_dir_all(desk.project().join("src")).unwrap();
    fs::write(desk.project().join("src/cache.rs"), "fn lock() {}\n").unwrap();
    let git =
        |arguments: &[&str]| git_in(&desk.project(), &desk.home(), arguments).trim().to_string();
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "one"]);
    let commit = git(&["rev-parse", "HEAD"]);
    let touched = |id: &String| desk.digest(id).content.files.contains(&"src/cache.rs".to_string());
    let session = desk.sessions().into_iter().find(touched).unwrap();
    let page = desk.digest_text(&session);
    let old = page.lines().find(|line| line.starts_with("commits: ")).map(str::to_string);
    let new = format!("commits: [{}]", &commit[..10]);
    let page = match old {
        Some(old) => page.replacen(&old, &new, 1),
        None => page.replacen("files: ", &format!("{new}\nfiles: "), 1),
    };
    desk.write(desk.digest_path(&session), page);
    let told = desk.memtree(["why", "src/cache.rs:1"]).success();
    let first = format!("line 1 is of commit {}, made in {session}\n", &commit[..10]);
    assert!(told.stdout.starts_with(&first), "{}", told.told());
    let report = desk.memtree(["why", "src/cache.rs:1", "--json"]).success().json();
    assert_eq!(report["sessions"][0]["session"], session.as_str());
    assert_eq!(report["sessions"][0]["reasons"][0]["nearness"], "commit");
}
