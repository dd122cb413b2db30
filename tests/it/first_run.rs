//! `memtree` alone: a person in a terminal is offered what there is to do; nobody else is.

use std::ffi::OsString;

use crate::harness::{Desk, Tree, assert_same};
use crate::terminal;

const NOTHING: &[OsString] = &[];

fn desk() -> Desk {
    let desk = Desk::new().with_sample("claude").with_sample("codex");
    std::fs::write(desk.home().join(".claude/settings.json"), "{ \"model\": \"opus\" }\n").unwrap();
    desk
}

#[test]
fn a_person_is_offered_to_begin_in_four_lines() {
    let desk = desk();
    let before = Tree::of(desk.root());
    let screen = terminal::run(&mut desk.command(NOTHING), "n\n");
    // What is typed is shown too; the offer ends with the question.
    let offer = screen.text.trim_start_matches("n\n");
    let lines: Vec<&str> = offer.lines().collect();
    assert!(lines[0].contains("logs of codex and claude"), "{}", screen.text);
    assert!(lines[1].contains(desk.store().to_str().unwrap()), "{}", screen.text);
    assert!(lines[2].contains("memtree uninstall --all"), "{}", screen.text);
    assert!(lines[3].starts_with("Do it? [y] both"), "{}", screen.text);
    assert!(screen.text.contains("nothing was done"), "{}", screen.text);
    assert_eq!(screen.code, Some(0));
    assert_same(&before, &Tree::of(desk.root()), "somebody said no");
}

#[test]
fn yes_takes_in_the_logs_and_wires_up_the_agents() {
    let desk = desk();
    let home = Tree::of(&desk.home());
    let screen = terminal::run(&mut desk.command(NOTHING), "y\ny\n");
    assert_eq!(screen.code, Some(0), "{}", screen.text);
    assert!(!desk.sessions().is_empty(), "{}", screen.text);
    assert!(screen.text.contains("memtree will write"), "one summary: {}", screen.text);
    let settings = std::fs::read_to_string(desk.home().join(".claude/settings.json")).unwrap();
    assert!(settings.contains("hook claude SessionStart"), "{}", screen.text);
    assert!(screen.text.contains("the memory is in"), "{}", screen.text);
    desk.memtree(["uninstall", "--all", "--yes"]).success();
    assert_same(&home, &Tree::of(&desk.home()), "undone exactly");
    // From now on it is an ordinary program.
    let again = terminal::run(&mut desk.command(NOTHING), "");
    assert!(again.text.contains("Usage: memtree"), "{}", again.text);
}

#[test]
fn only_the_logs_may_be_taken_in() {
    let desk = desk();
    let home = Tree::of(&desk.home());
    let screen = terminal::run(&mut desk.command(NOTHING), "s\n");
    assert!(!desk.sessions().is_empty(), "{}", screen.text);
    assert_same(&home, &Tree::of(&desk.home()), "no agent was wired up");
}

#[test]
fn nobody_else_is_asked() {
    let desk = desk();
    let before = Tree::of(desk.root());
    // Piped, or called by an agent that does not know how to call a hook.
    let piped = desk.memtree(NOTHING).success();
    assert!(!piped.told().contains("Do it?"), "{}", piped.told());
    for flags in [&["--json"][..], &["--store", "elsewhere"], &["--json", "--quiet"]] {
        let piped = desk.memtree(flags).success();
        assert_eq!(piped.stdout, "", "{}", piped.told());
    }
    assert_eq!(desk.memtree(["--no-such-flag"]).any().0, Some(2), "that is no caller of hooks");
    let invoked = terminal::run(desk.command(NOTHING).env("CLAUDE_INVOKED_BY", "memtree"), "");
    assert!(invoked.text.contains("Usage: memtree"), "{}", invoked.text);
    assert_same(&before, &Tree::of(desk.root()), "nothing is written");
    // And where there is nothing to take in, there is nothing to offer.
    let screen = terminal::run(&mut Desk::new().command(NOTHING), "");
    assert!(screen.text.contains("Usage: memtree"), "{}", screen.text);
}
