//! Days and flushes: what was said today is in memory before an agent forgets it, once, whatever is
//! killed meanwhile.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Desk, assert_same, exchange};
use crate::models::{Server, configure};

const ONE: &str = "5e55f101-0000-4000-8000-000000000001";
const SUMMARY: &str = "daily/summary/2026-11-15.md";
const RAW: &str = "daily/raw/2026-11-15.md";

const CONTEXT: &str = "**User:** Why does the day log lose lines?\n\n\
    **Assistant:** The root cause is the header: it is written after the lock is given back. We decided to hold the lock.\n";

/// A line about it that is borne out, and one that is not.
const RACE: &str = r#"{"kind":"lesson","episode":"EP_001","by":"assistant","text":"The header is written after the lock is given back","quote":"it is written after the lock is given back"}"#;
const ELSEWHERE: &str = r#"{"kind":"outcome","episode":"EP_001","by":"assistant","text":"The harbour wall was painted","quote":"the harbour wall was painted"}"#;

fn desk() -> Desk {
    let desk = Desk::new();
    desk.memtree(["init"]).success();
    fs::write(desk.project().join("context.md"), CONTEXT).unwrap();
    desk
}

fn flush(desk: &Desk) -> Value {
    desk.memtree(["flush", "context.md", "session-7", "--json"]).success().json()
}

fn inbox(desk: &Desk) -> Vec<PathBuf> {
    fs::read_dir(desk.store().join(".memtree/local/inbox"))
        .into_iter()
        .flatten()
        .map(|one| one.unwrap().path())
        .collect()
}

#[test]
fn a_context_that_is_handed_in_is_told_once() {
    let desk = desk();
    assert_eq!(flush(&desk)["flushed"], 1);
    let summary = desk.read(SUMMARY);
    for part in [
        "### Session (12:00)\n`session-7`",
        "**Key Exchanges**",
        "**Decisions Made**",
        "**Lessons Learned**",
    ] {
        assert!(summary.contains(part), "{part}\n{summary}");
    }
    let again = flush(&desk);
    assert_eq!([&again["flushed"], &again["duplicates"]], [0, 1]);
    assert_eq!(desk.read(SUMMARY), summary);
    // What is new is not a duplicate, however soon it comes.
    fs::write(
        desk.project().join("context.md"),
        format!("{CONTEXT}\n**User:** And on Windows, what then?\n"),
    )
    .unwrap();
    assert_eq!(flush(&desk)["flushed"], 1);
    assert!(
        desk.read(SUMMARY).contains("And on Windows")
            && desk.read(SUMMARY).matches("### Session").count() == 1
    );
    // The hashes are in the summary as well.
    fs::remove_dir_all(desk.store().join(".memtree")).unwrap();
    let summary = desk.read(SUMMARY);
    flush(&desk);
    assert_eq!(desk.read(SUMMARY), summary);
    assert_eq!(inbox(&desk), Vec::<PathBuf>::new());
}

#[test]
fn what_is_missing_empty_or_idle_is_said() {
    let desk = desk();
    desk.memtree(["flush", "context.md"]).code(2);
    desk.memtree(["flush", "no-such-file.md", "s"])
        .code(1)
        .stderr_has("cannot read the context `no-such-file.md`");
    desk.memtree(["flush", "--transcript", "/no/such/log.jsonl", "--session", "../../x"]).success();
    let log = desk.read(".memtree/local/log");
    assert!(log.contains("/no/such/log.jsonl"), "{log}");
    fs::write(desk.project().join("context.md"), "**User:** ok\n\n**Assistant:** Fine.\n").unwrap();
    for _ in 0..2 {
        desk.memtree(["flush", "context.md", "s"]).success();
    }
    let raw = desk.read(RAW);
    assert_eq!(raw.matches("[system] (s) flush: nothing worth saving").count(), 1, "{raw}");
    assert!(!desk.store().join(SUMMARY).exists());
    fs::write(desk.project().join("context.md"), " \n").unwrap();
    desk.memtree(["flush", "context.md", "s"]).success();
    assert!(desk.read(".memtree/local/log").contains("is empty"));
}

#[test]
fn a_model_s_words_are_kept_and_marked() {
    let server = Server::start(&[(200, &format!("{RACE}\n{ELSEWHERE}"))]);
    let desk = desk();
    configure(&desk, "openai", &server.settings());
    assert_eq!(flush(&desk)["flushed"], 1);
    let summary = desk.read(SUMMARY);
    assert!(summary.contains("*A model's words, 12:00:0"), "{summary}");
    assert!(
        summary.contains("- The header is written after the lock is given back (model)"),
        "{summary}"
    );
    assert!(!summary.contains("harbour"), "{summary}");
    assert!(server.asked()[0].to_string().contains("Why does the day log lose lines?"));
    // Writing the day again keeps them, and asks nobody.
    desk.memtree(["log", "user", "Something else altogether happened"]).success();
    desk.memtree(["summarize"]).success();
    assert!(
        desk.read(SUMMARY).contains("- The header is written after the lock is given back (model)")
    );
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn a_model_that_has_nothing_to_say_leaves_a_line() {
    let server = Server::start(&[(200, "FLUSH_OK\n")]);
    let desk = desk();
    configure(&desk, "openai", &server.settings());
    assert_eq!(flush(&desk)["nothing"], 1);
    assert!(
        desk.read(RAW).contains("[system] (session-7) flush: nothing worth saving (handed in)")
    );
    assert_eq!(flush(&desk)["duplicates"], 1);
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn what_a_model_could_not_do_waits_and_is_tried_again() {
    let server = Server::start(&[(503, "down")]);
    let desk = desk();
    configure(&desk, "openai", &server.settings());
    assert_eq!(flush(&desk)["kept"], 1);
    assert_eq!(inbox(&desk).len(), 1);
    assert!(
        fs::read_to_string(&inbox(&desk)[0]).unwrap().contains("Why does the day log lose lines?")
    );
    assert_eq!(desk.memtree(["status", "--json"]).success().json()["pending"]["flushes"], 1);
    // Meanwhile it is told without a model.
    assert!(desk.read(SUMMARY).contains("the header"), "{}", desk.read(SUMMARY));
    server.says(RACE);
    desk.memtree(["sweep"]).success();
    let summary = desk.read(SUMMARY);
    assert!(
        summary.contains("- The header is written after the lock is given back (model)")
            && !summary.contains("From a context handed in"),
        "{summary}"
    );
    assert_eq!(inbox(&desk).len(), 0);
    assert_eq!(flush(&desk)["duplicates"], 1);
}

#[test]
fn a_damaged_state_is_moved_aside_and_named() {
    let desk = desk();
    flush(&desk);
    desk.write(".memtree/local/flush.json", "{torn");
    let summary = desk.read(SUMMARY);
    flush(&desk);
    assert_eq!(desk.read(SUMMARY), summary);
    let names: Vec<String> = fs::read_dir(desk.store().join(".memtree/local"))
        .unwrap()
        .map(|one| one.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.iter().any(|name| name.starts_with("flush.json.bak-20261115T1200")), "{names:?}");
    assert!(desk.read(".memtree/local/log").contains("was damaged"));
}

#[test]
fn a_late_line_opens_a_day_again_and_a_person_s_words_stay() {
    let desk = Desk::new()
        .with_claude_log(ONE, exchange(ONE, 1, "Which shell does the build use?", "It uses dash."));
    desk.memtree(["sweep"]).success();
    assert!(desk.read(SUMMARY).contains("Which shell does the build use?"));
    desk.later(24 * 60);
    desk.memtree(["sweep"]).success();
    // It was covered when the day ended, so nothing is left to be done.
    assert!(!desk.store().join("daily/raw/2026-11-16.md").exists());
    desk.write(SUMMARY, desk.read(SUMMARY).replace("(yours: never touched)", "the good day"));
    desk.memtree(["log", "user", "A late thought on the build", "--at", "2026-11-15T18:00:00Z"])
        .success();
    let pending = || desk.memtree(["status", "--json"]).success().json()["pending"]["days"].clone();
    assert_eq!(pending(), json!(["2026-11-15"]));
    desk.memtree(["sweep"]).success();
    assert_eq!(pending(), json!([]));
    let summary = desk.read(SUMMARY);
    assert!(
        summary.contains("A late thought on the build") && summary.contains("the good day"),
        "{summary}"
    );
    // A report of ours is nothing that happened on a day.
    assert!(!desk.store().join("daily/raw/2026-11-16.md").exists());
    let before = desk.tree();
    desk.memtree(["sweep"]).success();
    desk.memtree(["summarize", "--pending"]).success();
    assert_same(&before, &desk.tree(), "after another sweep");
    // The hash is one that anybody can compute.
    let told: String = desk
        .read(RAW)
        .lines()
        .filter(|line| !line.contains("] [system] ("))
        .map(|l| format!("{l}\n"))
        .collect();
    assert!(summary.contains(&memtree::internals::base::files::sha256_hex(told.as_bytes())));
}

#[test]
fn writers_flushes_and_sweeps_at_once_lose_nothing() {
    let desk = Desk::new()
        .with_claude_log(ONE, exchange(ONE, 1, "Which shell does the build use?", "It uses dash."));
    desk.memtree(["init"]).success();
    let program = desk.command(&[]);
    let each = crate::log::lines_of_each_writer(20);
    let shell = |script: String| {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).arg(program.get_program()).env_clear();
        shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
    };
    let looped = |call: &str, times: usize| {
        format!(
            "i=0; while [ $i -lt {times} ]; do \"$0\" --quiet {call} || exit 1; i=$((i+1)); done"
        )
    };
    let mut all: Vec<Child> = (0..8)
        .map(|writer| {
            shell(looped(
                &format!("log user \"writer {writer} says line $i today\" --session w{writer}"),
                each,
            ))
        })
        .collect();
    all.push(shell(looped("flush", each * 2 / 5)));
    all.push(shell(looped("sweep", each / 4)));
    for mut child in all {
        assert!(child.wait().unwrap().success());
    }
    let day = desk.read(RAW);
    assert_eq!(day.matches("# Daily Raw").count(), 1);
    for writer in 0..8 {
        for number in 0..each {
            let line = format!("(w{writer}) writer {writer} says line {number} today\n");
            assert_eq!(day.matches(&line).count(), 1, "{line}");
        }
    }
    assert_eq!(day.matches("Which shell does the build use?").count(), 1);
    desk.memtree(["flush"]).success();
    assert!(desk.read(SUMMARY).contains("`w7`"));
}

#[test]
fn knowledge_is_compiled_after_a_flush_at_most_once_an_hour() {
    let desk = desk();
    let log = || desk.read("knowledge/log.md");
    desk.memtree(["log", "user", "The lock of the day log is given back too early"]).success();
    desk.memtree(["flush"]).success();
    let first = log();
    desk.memtree(["log", "user", "The lock of the day log is held longer now"]).success();
    desk.memtree(["flush"]).success();
    assert_eq!(log(), first, "within the hour");
    desk.later(61);
    desk.memtree(["flush"]).success();
    assert_ne!(log(), first);
}
