//! The inbox in a real terminal: one item after the other, one key each.

use std::ffi::OsString;

use serde_json::{Value, json};

use crate::harness::Desk;
use crate::mcp::Client;
use crate::terminal::{self, Screen};

const RULES: usize = 20;

/// A desk at which an agent took twenty instructions down.
fn with_rules() -> Desk {
    let desk = Desk::new().with_log("codex", "one_question");
    desk.memtree(["sweep"]).success();
    let mut client = Client::initialized(&desk);
    for number in 1..=RULES {
        let text = format!("Always ask before you paint boat number {number}");
        client.call("remember", json!({"text": text, "kind": "instruction"}));
    }
    client.leave();
    desk
}

fn review(desk: &Desk, keys: &str) -> Screen {
    let words = ["review"].map(OsString::from);
    terminal::run(desk.command(&words).env("TERM", "xterm-256color"), keys)
}

fn decisions(desk: &Desk) -> Vec<Value> {
    let path = desk.store().join("patterns/reviews.jsonl");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn waiting(desk: &Desk) -> usize {
    desk.memtree(["review", "--list"]).success().stdout.matches("standing · ").count()
}

#[test]
fn twenty_items_take_one_key_each() {
    let desk = with_rules();
    assert_eq!(waiting(&desk), RULES);
    // Four times yes, one of them taken back and said no to; one is left for later.
    let screen = review(&desk, &format!("yyyyun{}dq", "yn".repeat(7)));
    assert_eq!(screen.code, Some(0), "{}", screen.text);
    for shown in ["1 of 20", "20 of 20", "boat number", "[y]es  [n]o", "taken back"] {
        assert!(screen.text.contains(shown), "no `{shown}`:\n{}", screen.text);
    }
    let decided = decisions(&desk);
    let count = |action: &str| decided.iter().filter(|it| it["action"] == action).count();
    assert_eq!((count("approve"), count("reject"), count("undo")), (11, 8, 1), "{decided:?}");
    assert_eq!(waiting(&desk), 2);
}

#[test]
fn keys_that_mean_nothing_decide_nothing() {
    let desk = with_rules();
    // Arrows with Shift and Ctrl, of old terminals, function keys, Alt and a letter.
    let keys = "\u{1b}[1;2A\u{1b}[1;5A\u{1b}OA\u{1b}[A\u{1b}[15~\u{1b}[3;5~xq";
    let screen = review(&desk, keys);
    assert!(screen.text.contains("that key means nothing here"), "{}", screen.text);
    assert_eq!((decisions(&desk), waiting(&desk)), (Vec::new(), RULES));
}

#[test]
fn yes_to_all_asks_once() {
    let desk = with_rules();
    let screen = review(&desk, "Anq");
    assert!(screen.text.contains("approve 20 items? y/n"), "{}", screen.text);
    assert!(screen.text.contains("nothing was approved"), "{}", screen.text);
    assert_eq!((decisions(&desk), waiting(&desk)), (Vec::new(), RULES));
}
