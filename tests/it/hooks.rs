//! What agents' hooks get from us: an answer within their limits, or nothing; never trouble.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Desk, exchange};

const ID: &str = "5e550001-0000-4000-8000-00000000abcd";

fn desk() -> Desk {
    let desk = Desk::new();
    let _ = desk.memtree(["sweep", "--sample", "--quiet"]).done();
    desk
}

/// A payload as the agent's documentation has it.
fn payload(agent: &str, event: &str) -> Value {
    let path = format!("tests/fixtures/hooks/{agent}/{event}.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn call(desk: &Desk, arguments: &[&str], told: &[u8], environment: &[(&str, &str)]) -> Output {
    let arguments: Vec<OsString> = ["hook"].iter().chain(arguments).map(OsString::from).collect();
    let mut command = desk.command(&arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.envs(environment.iter().copied()).spawn().unwrap();
    // It may well have ended before it has read all of that.
    let _ = child.stdin.take().unwrap().write_all(told);
    child.wait_with_output().unwrap()
}

/// What a hook says; it has to end well and in silence on stderr.
#[track_caller]
fn said(desk: &Desk, arguments: &[&str], told: &[u8]) -> String {
    quiet(call(desk, arguments, told, &[]))
}

#[track_caller]
fn quiet(output: Output) -> String {
    assert_eq!(
        (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
        (Some(0), "")
    );
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn context_of(said: &str, event: &str) -> String {
    let answer: Value = serde_json::from_str(said).unwrap_or_else(|err| panic!("{err}: {said}"));
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], event);
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_string()
}

fn log(desk: &Desk) -> String {
    fs::read_to_string(desk.store().join(".memtree/local/log")).unwrap_or_default()
}

#[test]
fn a_session_starts_with_the_page_for_its_project() {
    for (agent, most) in [("claude", 10_000), ("codex", 2_500 * 4)] {
        let desk = desk();
        let mut told = payload(agent, "SessionStart");
        let page =
            |told: &Value| said(&desk, &[agent, "SessionStart"], told.to_string().as_bytes());
        let first = context_of(&page(&told), "SessionStart");
        assert!(
            first.contains("Last sessions of tidepool") && first.chars().count() <= most,
            "{first}"
        );
        assert!(
            first.starts_with("<memtree-context ")
                && first.trim_end().ends_with("</memtree-context>")
        );
        // Nothing is told twice, unless the agent has forgotten it.
        let second = page(&told);
        let line = first.lines().find(|line| line.starts_with("- ")).unwrap();
        assert!(!second.contains(line.split('“').next_back().unwrap()), "{second}");
        // Nor when the session ended and is resumed: its log has the page.
        let ended = payload(agent, "SessionEnd").to_string();
        assert_eq!(said(&desk, &[agent, "SessionEnd"], ended.as_bytes()), "");
        settle(&desk);
        told["source"] = json!("resume");
        assert!(!page(&told).contains(line.split('“').next_back().unwrap()));
        told["source"] = json!("compact");
        assert_eq!(context_of(&page(&told), "SessionStart"), first);
    }
}

#[test]
fn a_resumed_session_gets_only_what_ended_since() {
    let desk = desk();
    let mut told = payload("claude", "SessionStart");
    let page = |told: &Value| said(&desk, &["claude", "SessionStart"], told.to_string().as_bytes());
    assert!(page(&told).contains("Last sessions of tidepool"));
    told["source"] = json!("resume");
    assert_eq!(page(&told), "", "older lines are no news");
    desk.later(120);
    let id = "0b9c8d1e-0000-4000-8000-000000000077";
    let log = exchange(id, 10, "Why does the quagga limp?", "We decided to shoe the quagga.");
    let hour = (desk.now() - chrono::Duration::minutes(60)).format("2026-11-15T%H:").to_string();
    let log = log.replace("code/demo", "code/tidepool").replace("2026-11-15T11:", &hour);
    desk.write_log(id, log);
    desk.memtree(["sweep", "--quiet"]).any();
    let news = context_of(&page(&told), "SessionStart");
    assert!(news.contains("quagga"), "{news}");
    let lines = news.lines().filter(|line| line.trim_start().starts_with("- "));
    assert!(lines.count() < 5, "{news}");
}

#[test]
fn an_index_that_is_gone_is_made_again_for_the_next_prompt() {
    let desk = desk();
    let cache = desk.store().join(".memtree/cache");
    fs::remove_dir_all(&cache).unwrap();
    let prompt = payload("claude", "UserPromptSubmit").to_string();
    assert_eq!(said(&desk, &["claude", "UserPromptSubmit"], prompt.as_bytes()), "");
    let index = cache.join("index");
    let until = Instant::now() + Duration::from_secs(60);
    while !index.exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(index.exists(), "{}", log(&desk));
    settle(&desk);
}

#[test]
fn a_huge_budget_stays_within_the_agents_limits() {
    let desk = desk();
    let line =
        "- a line of the memory that says a little about something, and goes on for a while\n";
    desk.write(
        "core/MEMORY.md",
        format!("# Memory\n\n{}", (0..900).map(|n| format!("- {n}{line}")).collect::<String>()),
    );
    for (agent, characters, tokens) in
        [("claude", 10_000, usize::MAX), ("codex", usize::MAX, 2_500)]
    {
        let told = payload(agent, "SessionStart").to_string();
        let output = call(
            &desk,
            &[agent, "SessionStart"],
            told.as_bytes(),
            &[("MEMTREE_CONTEXT_BUDGET", "100000")],
        );
        let page = context_of(&quiet(output), "SessionStart");
        assert!(
            page.chars().count() <= characters
                && memtree::internals::base::text::tokens(&page) <= tokens
        );
        assert!(page.chars().count() > 4_000, "{page}");
    }
}

#[test]
fn a_prompt_gets_a_recall_only_where_it_is_strong() {
    for agent in ["claude", "codex"] {
        let desk = desk();
        let mut told = payload(agent, "UserPromptSubmit");
        let ask =
            |told: &Value| said(&desk, &[agent, "UserPromptSubmit"], told.to_string().as_bytes());
        let page = context_of(&ask(&told), "UserPromptSubmit");
        assert!(
            page.contains("What bears on this prompt") && !page.contains("Last sessions"),
            "{page}"
        );
        // What did not fit may come now, but no line comes twice, and then there is nothing more.
        let again = ask(&told);
        if !again.is_empty() {
            let again = context_of(&again, "UserPromptSubmit");
            let lines = |page: &str| -> Vec<String> {
                page.lines().filter(|line| line.starts_with("- ")).map(str::to_string).collect()
            };
            assert!(
                lines(&again).iter().all(|line| !lines(&page).contains(line)),
                "{page}\n{again}"
            );
            assert_eq!(ask(&told), "", "it was told that already");
        }
        for prompt in
            ["continue", "yes, do it please", "what is the weather in Lisbon next weekend?", ""]
        {
            told["prompt"] = json!(prompt);
            assert_eq!(ask(&told), "", "{prompt}");
        }
    }
}

#[test]
fn summaries_come_before_each_prompt_where_that_is_wanted() {
    let desk = desk();
    desk.write(
        "daily/summary/2026-11-15.md",
        "# Daily Summary 2026-11-15\n- the gate was mended\n",
    );
    let mut told = payload("claude", "UserPromptSubmit");
    told["prompt"] = json!("continue");
    let ask = |environment: &[(&str, &str)]| {
        quiet(call(
            &desk,
            &["claude", "UserPromptSubmit"],
            told.to_string().as_bytes(),
            environment,
        ))
    };
    assert_eq!(ask(&[]), "");
    let page = context_of(&ask(&[("MEMTREE_CONTEXT_EACH_TURN", "true")]), "UserPromptSubmit");
    assert!(page.contains("“the gate was mended” (daily/summary/2026-11-15.md:2)"), "{page}");
}

#[test]
fn the_end_of_a_session_takes_it_in_without_waiting() {
    for (event, reason) in [("SessionEnd", "prompt_input_exit"), ("PreCompact", "")] {
        let desk = desk()
            .with_claude_log(ID, exchange(ID, 10, "where is the quagga kept?", "In the barn."));
        let before = desk.sessions().len();
        let mut told = payload("claude", event);
        told["transcript_path"] = json!(desk.log_path(ID));
        told["reason"] = json!(reason);
        assert_eq!(said(&desk, &["claude", event], told.to_string().as_bytes()), "");
        let began = Instant::now();
        while desk.sessions().len() == before
            || desk.digest_text(desk.sessions().last().unwrap()).is_empty()
        {
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "the session was not taken in\n{}",
                log(&desk)
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        settle(&desk);
    }
}

/// Waits until no work of ours runs any more.
fn settle(desk: &Desk) {
    // Whoever takes the lock of a sweep waits for the one that runs.
    let _ = desk.memtree(["sweep", "--quiet"]).done();
}

#[test]
fn every_thirtieth_turn_takes_the_session_in() {
    let desk =
        desk().with_claude_log(ID, exchange(ID, 10, "where is the quagga kept?", "In the barn."));
    let told = payload("claude", "Stop").to_string();
    let before = desk.sessions().len();
    for _ in 0..29 {
        assert_eq!(said(&desk, &["claude", "Stop"], told.as_bytes()), "");
    }
    assert_eq!(desk.sessions().len(), before);
    assert_eq!(said(&desk, &["claude", "Stop"], told.as_bytes()), "");
    let began = Instant::now();
    while desk.sessions().len() == before {
        assert!(began.elapsed() < Duration::from_secs(20), "the session was not taken in");
        std::thread::sleep(Duration::from_millis(20));
    }
    settle(&desk);
}

#[test]
fn every_documented_payload_is_understood() {
    let desk = desk();
    for agent in ["claude", "codex"] {
        for event in
            ["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "PostCompact", "SessionEnd"]
        {
            let _ = said(&desk, &[agent, event], payload(agent, event).to_string().as_bytes());
        }
    }
    let told = payload("codex", "notify").to_string();
    assert_eq!(said(&desk, &["codex", "notify", &told], b""), "");
    settle(&desk);
    assert_eq!(log(&desk), "", "nothing is amiss");
    let turns = fs::read_dir(desk.store().join(".memtree/local/turns")).unwrap().count();
    assert_eq!(turns, 1, "the older `notify` counts a turn");
}

#[test]
fn whatever_comes_the_agent_goes_on() {
    let desk = desk();
    let huge = vec![b'{'; 17 << 20];
    let nested = format!("{}{}", "{\"a\":".repeat(5000), "}".repeat(5000));
    let hostile = json!({"session_id": "../../../etc/passwd\u{0}", "transcript_path": "/nowhere/\n/x", "cwd": "\u{0}/x",
        "prompt": "x".repeat(3_000_000)});
    let nothing =
        json!({"session_id": "n", "cwd": "/x", "prompt": "\0".repeat(1 << 20)}).to_string();
    let long = json!({"session_id": "l", "cwd": "/home/dev/code/tidepool", "prompt": "EWOULDBLOCK lock ".repeat(1 << 16)});
    let garbage: [&[u8]; 10] = [
        nothing.as_bytes(),
        long.to_string().leak().as_bytes(),
        b"",
        b"garbage",
        b"[]",
        b"\xff\xfe\x00",
        b"{\"session_id\":{}}",
        &huge,
        nested.as_bytes(),
        hostile.to_string().leak().as_bytes(),
    ];
    for told in garbage {
        for event in ["SessionStart", "UserPromptSubmit", "Stop", "PostCompact", "NoSuchEvent", ""]
        {
            let said = said(&desk, &["claude", event], told);
            assert!(said.is_empty() || said.starts_with("{\"hookSpecificOutput\""), "{said}");
        }
    }
    assert!(log(&desk).contains("cannot read what the agent sent"), "{}", log(&desk));
    // A call that cannot be understood must not look like a wish to block: that is what a 2 means
    // to an agent.
    for wrong in [
        &["hook"][..],
        &["hook", "claude"],
        &["hook", "claude", "Stop", "--new-flag"],
        &["--odd", "hook", "claude", "Stop"],
    ] {
        assert_eq!(desk.memtree(wrong).code(0).stdout, "", "{wrong:?}");
    }
    // Nor one without its arguments, as an agent calls it that knows no `args`.
    assert_eq!(desk.memtree::<[&str; 0]>([]).code(0).stdout, "");
    let _ = desk.memtree(["search", "hook", "--odd"]).code(2);
    assert_eq!(said(&desk, &["nobody", "SessionStart"], b"{}"), "");
    assert_eq!(said(&desk, &["aider", "SessionStart"], b"{}"), "");
    assert_eq!(said(&desk, &["codex", "notify"], b""), "");
    assert_eq!(said(&desk, &["codex", "notify", "garbage"], b""), "");
}

#[test]
fn a_missing_or_damaged_memory_is_no_trouble_of_the_agents() {
    let empty = Desk::new();
    let told = payload("claude", "SessionStart").to_string();
    assert_eq!(said(&empty, &["claude", "SessionStart"], told.as_bytes()), "");
    assert!(!empty.store().exists(), "a hook makes no memory");
    let desk = desk();
    let damage = |what: &dyn Fn(&std::path::Path)| {
        let files =
            walkdir::WalkDir::new(desk.store().join(".memtree/cache/index")).into_iter().flatten();
        files.filter(|entry| entry.file_type().is_file()).for_each(|entry| what(entry.path()));
    };
    damage(&|path| fs::write(path, "damaged").unwrap());
    let page =
        context_of(&said(&desk, &["claude", "SessionStart"], told.as_bytes()), "SessionStart");
    assert!(
        page.contains("Last sessions of tidepool"),
        "the newest digests are read instead: {page}"
    );
    let prompt = payload("claude", "UserPromptSubmit").to_string();
    assert_eq!(said(&desk, &["claude", "UserPromptSubmit"], prompt.as_bytes()), "");
    desk.configure("format = [broken");
    assert_eq!(said(&desk, &["claude", "SessionStart"], told.as_bytes()), "");
    assert!(log(&desk).contains("cannot read the settings"), "{}", log(&desk));
    let wrong_time =
        call(&desk, &["claude", "SessionStart"], told.as_bytes(), &[("MEMTREE_NOW", "never")]);
    assert_eq!(quiet(wrong_time), "");
}

#[test]
fn memtree_does_not_call_itself() {
    let desk = desk();
    let told = payload("claude", "SessionStart").to_string();
    for name in ["CLAUDE_INVOKED_BY", "MEMTREE_INVOKED_BY"] {
        let output =
            call(&desk, &["claude", "SessionStart"], told.as_bytes(), &[(name, "memory_flush")]);
        assert_eq!(quiet(output), "");
        let output = call(&desk, &["claude", "SessionStart"], told.as_bytes(), &[(name, "")]);
        assert!(!quiet(output).is_empty() || name == "MEMTREE_INVOKED_BY");
    }
}

#[cfg(unix)]
#[test]
fn the_work_holds_on_to_nothing_of_the_agents() {
    // A sweep that waits for the lock stays as long as we like.
    let desk = desk();
    let lock = fs::OpenOptions::new()
        .write(true)
        .open(desk.store().join(".memtree/local/locks/sweep"))
        .unwrap();
    lock.lock().unwrap();
    let began = Instant::now();
    let told = payload("claude", "SessionEnd").to_string();
    // `wait_with_output` reads until every holder of the pipes has closed them.
    assert_eq!(said(&desk, &["claude", "SessionEnd"], told.as_bytes()), "");
    assert!(began.elapsed() < Duration::from_secs(5), "the hook waited for its work");
    lock.unlock().unwrap();
    settle(&desk);
}

#[test]
fn an_input_that_never_ends_is_not_waited_for() {
    let desk = desk();
    for told in [&b""[..], b"{\"session_id\": \"x", &[0; 100_000]] {
        let arguments = ["hook", "claude", "UserPromptSubmit"].map(OsString::from);
        let mut command = desk.command(&arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let began = Instant::now();
        let mut child = command.spawn().unwrap();
        let mut held = child.stdin.take().unwrap();
        let _ = held.write_all(told);
        assert_eq!(quiet(child.wait_with_output().unwrap()), "");
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        drop(held);
    }
}
