//! Flushes against a real model server: `tests/real_model/run` gets one, names it in the
//! environment and runs these tests. What the model says is its own affair; that it is asked,
//! booked, kept, waited for and believed only so far is ours.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::harness::Desk;
use crate::models::configure;

const CONTEXT: &str = "**User:** Why does the day log lose lines when two writers meet?\n\n\
    **Assistant:** The header is written after the lock is given back. We decided to hold the lock until it is there. \
    The word FLUSH_OK is only mentioned here.\n";
const SUMMARY: &str = "daily/summary/2026-11-15.md";
/// Replies, as a grammar has them that lets the model say nothing else.
const MENTIONS: &str = r#"{\"kind\":\"lesson\",\"episode\":\"EP_001\",\"by\":\"assistant\",\"text\":\"The word FLUSH_OK is only mentioned here\",\"quote\":\"The word FLUSH_OK is only mentioned here\"}"#;
const CAUSE: &str = r#"{\"kind\":\"lesson\",\"episode\":\"EP_001\",\"by\":\"assistant\",\"text\":\"The header is written after the lock is given back\",\"quote\":\"The header is written after the lock is given back\"}"#;

/// A server that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the server and waits until it listens.
fn start(port: u16, says: Option<&str>) -> Server {
    let named =
        |name| std::env::var_os(name).unwrap_or_else(|| panic!("tests/real_model/run sets {name}"));
    let (python, model) = (named("MEMTREE_REAL_MODEL_PYTHON"), named("MEMTREE_REAL_MODEL"));
    let mut command = Command::new(python);
    command.arg("tests/real_model/serve.py").arg(model).arg(port.to_string());
    command.args(says.map(|says| format!("root ::= \"{says}\"")));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let ready = out.lines().map_while(Result::ok).any(|line| line.starts_with("READY"));
    let server = Server(child);
    assert!(ready, "the model server has not started");
    server
}

fn desk(port: u16) -> Desk {
    let desk = Desk::new();
    desk.memtree(["init", "--quiet"]).success();
    fs::write(desk.project().join("context.md"), CONTEXT).unwrap();
    configure(&desk, "openai", &format!("base_url = \"http://127.0.0.1:{port}/v1\""));
    desk
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn flush(desk: &Desk) -> Value {
    desk.memtree(["flush", "context.md", "session-7", "--json"]).success().json()
}

fn waiting(desk: &Desk) -> usize {
    fs::read_dir(desk.store().join(".memtree/local/inbox")).into_iter().flatten().count()
}

#[test]
#[ignore = "needs a model server; `tests/real_model/run` gets one"]
fn its_words_are_kept_and_booked() {
    let port = free_port();
    let _server = start(port, Some(CAUSE));
    let desk = desk(port);
    assert_eq!(flush(&desk)["flushed"], 1);
    let summary = desk.read(SUMMARY);
    assert!(summary.contains("*A model's words, ") && summary.contains(" (model)\n"), "{summary}");
    let ledger = desk.read(".memtree/local/ledger.jsonl");
    let booked: Value = serde_json::from_str(ledger.lines().next().unwrap()).unwrap();
    assert!(
        booked["tokens_in"].as_u64() > Some(50) && booked["tokens_out"].as_u64() > Some(0),
        "{booked}"
    );
    assert_eq!(
        (&booked["estimated"], &booked["result"]),
        (&false.into(), &"text".into()),
        "{booked}"
    );
    assert_eq!(flush(&desk)["duplicates"], 1);
    assert_eq!(desk.read(".memtree/local/ledger.jsonl"), ledger, "nobody is asked twice");
}

/// A small model says whatever it likes: of that, only what stands in the context is kept, and our
/// own words stay where nothing is.
#[test]
#[ignore = "needs a model server; `tests/real_model/run` gets one"]
fn what_it_makes_up_is_booked_and_left_out() {
    let port = free_port();
    let _server = start(port, None);
    let desk = desk(port);
    assert_eq!(flush(&desk)["flushed"], 1);
    let summary = desk.read(SUMMARY);
    eprintln!("{summary}");
    assert!(summary.contains(" (model)\n") || summary.contains("hold the lock"), "{summary}");
    let ledger = desk.read(".memtree/local/ledger.jsonl");
    let booked: Value = serde_json::from_str(ledger.lines().next().unwrap()).unwrap();
    assert!(booked["tokens_out"].as_u64() > Some(0), "{booked}");
}

#[test]
#[ignore = "needs a model server; `tests/real_model/run` gets one"]
fn nothing_to_say_leaves_a_line() {
    let port = free_port();
    let _server = start(port, Some("FLUSH_OK"));
    let desk = desk(port);
    assert_eq!(flush(&desk)["nothing"], 1);
    assert!(
        desk.read("daily/raw/2026-11-15.md")
            .contains("[system] (session-7) flush: nothing worth saving")
    );
    assert!(!desk.store().join(SUMMARY).exists());
    assert_eq!((flush(&desk)["duplicates"].as_u64(), waiting(&desk)), (Some(1), 0));
}

#[test]
#[ignore = "needs a model server; `tests/real_model/run` gets one"]
fn a_reply_that_only_mentions_the_word_is_kept() {
    let port = free_port();
    let _server = start(port, Some(MENTIONS));
    let desk = desk(port);
    assert_eq!(flush(&desk)["flushed"], 1);
    let summary = desk.read(SUMMARY);
    assert!(
        summary.contains("- The word FLUSH\\_OK is only mentioned here (model)")
            || summary.contains("- The word FLUSH_OK is only mentioned here (model)"),
        "{summary}"
    );
}

#[test]
#[ignore = "needs a model server; `tests/real_model/run` gets one"]
fn a_server_that_is_down_is_waited_for() {
    let port = free_port();
    let server = start(port, Some(MENTIONS));
    let desk = desk(port);
    drop(server);
    assert_eq!(flush(&desk)["kept"], 1);
    assert_eq!(waiting(&desk), 1);
    assert!(desk.read(SUMMARY).contains("hold the lock"), "meanwhile it is told without a model");
    desk.memtree(["sweep"]).success();
    assert_eq!(waiting(&desk), 1, "it is still down");
    let _server = start(port, Some(MENTIONS));
    desk.memtree(["sweep"]).success();
    assert_eq!(waiting(&desk), 0);
    let summary = desk.read(SUMMARY);
    assert!(
        summary.contains("only mentioned here (model)")
            && !summary.contains("From a context handed in"),
        "{summary}"
    );
}
