//! `docs/commands.md` says what `--help` says; `UPDATE_EXPECT=1 cargo test` writes it.

use crate::harness::{Desk, checkout, expect_file};

#[test]
fn the_page_of_commands_is_up_to_date() {
    let desk = Desk::new();
    let help = |arguments: &[&str]| desk.memtree(arguments).success().stdout;
    let overview = help(&["--help"]);
    let mut page = String::from(
        "# Commands\n\nWritten by a test from `--help`: `UPDATE_EXPECT=1 cargo test commands` writes it again.\n",
    );
    page.push_str(&format!("\n## memtree\n\n```text\n{}\n```\n", overview.trim()));
    for command in commands(&overview) {
        page.push_str(&format!(
            "\n## memtree {command}\n\n```text\n{}\n```\n",
            help(&[command, "--help"]).trim()
        ));
    }
    expect_file(&checkout().join("docs/commands.md"), &page);
}

#[test]
fn every_command_explains_itself() {
    let desk = Desk::new();
    let overview = desk.memtree(["--help"]).success().stdout;
    let commands = commands(&overview);
    assert!(commands.len() >= 7, "{commands:?}");
    for command in commands {
        let help = desk.memtree([command, "--help"]).success();
        let said = help.stdout.lines().next().unwrap_or_default();
        assert!(said.len() > 10, "`memtree {command}` does not say what it does:\n{}", help.stdout);
        for flag in ["--store", "--config", "--json", "--quiet"] {
            assert!(help.stdout.contains(flag), "`memtree {command}` has no {flag}");
        }
    }
    // A flag that a command would ignore is refused.
    for (command, flag) in [
        ("status", "--dry-run"),
        ("status", "--limit=3"),
        ("sweep", "--yes"),
        ("context", "--limit=3"),
        ("verify", "--dry-run"),
        ("search", "--yes"),
    ] {
        desk.memtree([command, flag]).code(2).stderr_has("unexpected argument");
    }
    assert!(
        overview.contains(
            "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done but something was skipped"
        )
    );
}

/// The commands that the overview lists.
fn commands(overview: &str) -> Vec<&str> {
    let (_, list) = overview.split_once("Commands:\n").expect("it lists commands");
    let lines =
        list.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    lines.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}

#[test]
fn every_shell_completes_every_command() {
    let desk = Desk::new();
    let overview = desk.memtree(["--help"]).success().stdout;
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = desk.memtree(["completions", shell]).success().stdout;
        for command in commands(&overview) {
            assert!(script.contains(command), "{shell} does not know {command}");
        }
    }
    desk.memtree(["completions", "tcsh"]).code(2).stderr_has("possible values: bash");
    let answer = desk.memtree(["completions", "bash", "--json"]).success().json();
    assert!(answer["script"].as_str().unwrap().contains("_memtree()"), "{answer}");
}

#[test]
fn every_command_has_a_manual_page() {
    let desk = Desk::new();
    let overview = desk.memtree(["--help"]).success().stdout;
    let page = desk.memtree(["man"]).success().stdout;
    assert!(page.contains(".TH memtree 1") && page.contains(".SH OPTIONS"), "{page}");
    for command in commands(&overview) {
        let escaped = command.replace('-', "\\-");
        assert!(page.contains(&format!("memtree\\-{escaped}(1)")), "{command}: {page}");
        let page = desk.memtree(["man", command]).success().stdout;
        assert!(page.contains(&format!(".TH memtree-{command} 1")), "{page}");
        assert!(page.contains("\\-\\-store"), "{page}");
    }
    desk.memtree(["man", "serch"]).code(2).stderr_has("memtree man search");
    desk.memtree(["man", "qqqqqqqq"]).code(2).stderr_has("known: init, sweep");
}
