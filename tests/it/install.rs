//! Our hooks in agents' settings: put in with everything else left alone, and out again byte for
//! byte.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::{Desk, Tree, assert_same};

/// Settings of both agents as people keep them.
const CLAUDE: &[&str] = &[
    "{\n  \"model\": \"opus\",\n  \"permissions\": { \"allow\": [\"Bash(ls:*)\"] }\n}\n",
    "{\r\n\t// mine\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [{ \"hooks\": [{ \"type\": \"command\", \"command\": \"say done\" }] }],\r\n\t},\r\n}",
    "\u{feff}{\"a\":1,\"hooks\":{}}",
    "{}",
    "",
    " \n",
];
const CODEX: &[(&str, &str)] = &[
    ("config.toml", "model = \"gpt-5.5\" # mine\nnotify = [\"say\", \"done\"]\n"),
    ("hooks.json", "{\n    \"hooks\": {\n        \"SessionStart\": []\n    }\n}\n"),
    ("config.toml", "[[hooks.Stop]]\nhooks = [{ type = \"command\", command = \"say done\" }]"),
];

fn desk(claude: Option<&str>, codex: Option<(&str, &str)>) -> Desk {
    let desk = Desk::new();
    let _ = desk.memtree(["init", "--quiet"]).success();
    if let Some(text) = claude {
        write(&desk, ".claude/settings.json", text);
    }
    if let Some((name, text)) = codex {
        write(&desk, &format!(".codex/{name}"), text);
    }
    desk
}

fn write(desk: &Desk, name: &str, text: &str) {
    let path = desk.home().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn read(desk: &Desk, name: &str) -> String {
    fs::read_to_string(desk.home().join(name)).unwrap()
}

#[test]
fn what_was_installed_is_undone_byte_for_byte() {
    for (at, claude) in CLAUDE.iter().enumerate() {
        let desk = desk(Some(claude), Some(CODEX[at % CODEX.len()]));
        let before = Tree::of(&desk.home());
        let done = desk.memtree(["install", "--all", "--yes"]).success();
        let with = Tree::of(&desk.home());
        assert_eq!(before.difference(&with).len(), 2, "one file for each agent: {}", done.told());
        let again = desk.memtree(["install", "--all", "--yes"]).success();
        assert_same(&with, &Tree::of(&desk.home()), "a second time nothing changes");
        assert!(again.stderr.contains("claude: nothing to change"), "{}", again.told());
        let _ = desk.memtree(["uninstall", "--all", "--yes"]).success();
        assert_same(&before, &Tree::of(&desk.home()), claude);
        let _ = desk.memtree(["uninstall", "--all", "--yes"]).success();
        assert_same(&before, &Tree::of(&desk.home()), "a second time nothing changes");
        assert_eq!(fs::read_dir(desk.store().join(".memtree/local/installed")).unwrap().count(), 0);
    }
}

#[test]
fn files_and_folders_that_were_not_there_go_again() {
    let desk = desk(None, None);
    let before = Tree::of(&desk.home());
    let none = desk.memtree(["install", "--all", "--yes"]).success();
    assert!(none.stderr.contains("no agent with hooks is on this machine"), "{}", none.told());
    assert_same(&before, &Tree::of(&desk.home()), "there is no agent");
    for agent in ["claude", "codex"] {
        let _ = desk.memtree(["install", agent, "--yes"]).success();
        assert_ne!(before, Tree::of(&desk.home()));
        let _ = desk.memtree(["uninstall", agent, "--yes"]).success();
        assert_same(&before, &Tree::of(&desk.home()), agent);
    }
}

#[test]
fn only_our_entries_go_when_somebody_has_changed_the_rest() {
    let desk = desk(Some(CLAUDE[0]), Some(CODEX[1]));
    let _ = desk.memtree(["install", "--all", "--yes"]).success();
    let claude = read(&desk, ".claude/settings.json");
    write(
        &desk,
        ".claude/settings.json",
        &claude.replace("\"opus\"", "\"sonnet\", // cheaper\n  \"theme\": \"dark\""),
    );
    let codex = read(&desk, ".codex/hooks.json");
    write(
        &desk,
        ".codex/hooks.json",
        &codex.replace("    \"hooks\": {\n", "    \"mine\": 1,\n    \"hooks\": {\n"),
    );
    let _ = desk.memtree(["uninstall", "--all", "--yes"]).success();
    let expect = CLAUDE[0].replace("\"opus\"", "\"sonnet\", // cheaper\n  \"theme\": \"dark\"");
    assert_eq!(read(&desk, ".claude/settings.json"), expect);
    assert_eq!(
        read(&desk, ".codex/hooks.json"),
        CODEX[1].1.replace("    \"hooks\"", "    \"mine\": 1,\n    \"hooks\"")
    );
}

#[test]
fn nobody_remembers_and_still_only_ours_go() {
    let desk = desk(Some(CLAUDE[0]), None);
    let _ = desk.memtree(["install", "claude", "--yes"]).success();
    fs::remove_dir_all(desk.store().join(".memtree")).unwrap();
    let _ = desk.memtree(["uninstall", "claude", "--yes"]).success();
    assert_eq!(read(&desk, ".claude/settings.json"), CLAUDE[0]);
}

#[test]
fn the_hooks_call_this_program_with_this_memory() {
    let desk = desk(Some(CLAUDE[1]), Some(CODEX[0]));
    let _ = desk.memtree(["install", "--all", "--yes"]).success();
    let claude =
        memtree::internals::base::jsonc::value(&read(&desk, ".claude/settings.json")).unwrap();
    assert_eq!(
        claude["hooks"]["Stop"].as_array().unwrap().len(),
        2,
        "the one that was there stays"
    );
    let hook = &claude["hooks"]["SessionStart"][0]["hooks"][0];
    let line = hook["command"].as_str().unwrap();
    let (program, arguments) = line.split_once(' ').unwrap();
    let program = PathBuf::from(program);
    assert!(program.is_absolute() && program.is_file(), "{hook}");
    assert_eq!(arguments, format!("--store {} hook claude SessionStart", desk.store().display()));
    assert!(hook.get("args").is_none() && claude["hooks"].get("PostCompact").is_none(), "{claude}");
    let codex: Value = serde_json::from_str(&read(&desk, ".codex/hooks.json")).unwrap();
    for event in
        ["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "PostCompact", "SessionEnd"]
    {
        let line = codex["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap();
        assert!(
            line.ends_with(&format!("--store {} hook codex {event}", desk.store().display())),
            "{line}"
        );
        if event != "PostCompact" {
            let line = &claude["hooks"][event].as_array().unwrap().last().unwrap()["hooks"][0];
            assert!(line["command"].as_str().unwrap().ends_with(event), "{line}");
        }
    }
    assert_eq!(
        read(&desk, ".codex/config.toml"),
        CODEX[0].1,
        "an agent's other settings are left alone"
    );
}

#[test]
fn hooks_of_the_first_version_are_written_anew() {
    let hook = |event: &str| {
        json!([{"hooks": [{"type": "command", "command": "/usr/bin/memtree", "timeout": 10,
            "args": ["--store", "/m", "hook", "claude", event]}]}])
    };
    let first = json!({
        "permissions": {"deny": ["Bash(rm:*)"]},
        "hooks": {"Stop": hook("Stop"), "PostCompact": hook("PostCompact")},
    });
    let desk = desk(Some(&format!("{first:#}\n")), None);
    desk.memtree(["init"]).success();
    desk.memtree(["doctor"]).any().1.stdout_has("are those of an older memtree");
    desk.memtree(["doctor", "--fix"]).any().1.stdout_has("written anew");
    let text = read(&desk, ".claude/settings.json");
    let settings: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(settings["permissions"], first["permissions"]);
    assert!(!text.contains("\"args\"") && !text.contains("PostCompact"), "{text}");
    assert!(text.contains("hook claude SessionStart"), "{text}");
    assert!(!desk.memtree(["doctor"]).any().1.stdout.contains("older memtree"));
}

#[test]
fn another_memory_takes_the_place_of_the_first() {
    let desk = desk(Some(CLAUDE[0]), None);
    let _ = desk.memtree(["install", "claude", "--yes"]).success();
    let other = desk.root().join("other memory");
    let _ =
        desk.memtree(["--store", other.to_str().unwrap(), "install", "claude", "--yes"]).success();
    let text = read(&desk, ".claude/settings.json");
    assert_eq!(text.matches("SessionStart").count(), 2, "one key and one argument: {text}");
    assert!(
        text.contains("other memory") && !text.contains(desk.store().to_str().unwrap()),
        "{text}"
    );
    let _ = desk
        .memtree(["--store", other.to_str().unwrap(), "uninstall", "claude", "--yes"])
        .success();
    assert_eq!(read(&desk, ".claude/settings.json"), CLAUDE[0]);
}

#[test]
fn nothing_is_written_unasked() {
    let desk = desk(Some(CLAUDE[0]), Some(CODEX[0]));
    let (home, memory) = (Tree::of(&desk.home()), Tree::of(&desk.store()));
    let rehearsed =
        desk.memtree(["install", "--all", "--dry-run"]).success().stdout_has("+  \"hooks\": {");
    assert!(rehearsed.stderr.contains("claude: planned"), "{}", rehearsed.told());
    let asked = desk.memtree(["install", "--all"]).code(2);
    assert!(
        asked.stdout.contains("+  \"hooks\": {"),
        "the difference is shown first: {}",
        asked.told()
    );
    assert_same(&home, &Tree::of(&desk.home()), "nobody said yes");
    assert_same(&memory, &Tree::of(&desk.store()), "nothing is kept of what was not done");
    let json = desk.memtree(["install", "--all", "--yes", "--json"]).success().json();
    assert_eq!(
        (json["agents"][0]["status"].as_str(), json["agents"][1]["status"].as_str()),
        (Some("installed"), Some("installed"))
    );
    let trust = json["agents"][0]["afterwards"].as_str().unwrap_or_default();
    assert!(trust.contains("`/hooks`"), "Codex runs only hooks that the person trusts: {json}");
    let _ = desk.memtree(["uninstall", "codex", "--yes"]).success();
    let again = desk.memtree(["install", "codex", "--yes"]).success();
    assert!(again.stderr.contains("only once you trust them: type `/hooks`"), "{}", again.told());
    // Nothing of the settings lies where git would sync it.
    desk.git(["init", "-q"]);
    assert!(!desk.git(["status", "--porcelain", "-uall"]).contains("installed"));
}

#[test]
fn settings_that_are_not_json_are_left_alone() {
    for text in ["{ \"a\": ", "[]", "{ \"hooks\": [] }", "{ \"hooks\": { \"Stop\": {} } }"] {
        let desk = desk(Some(text), None);
        let refused = desk.memtree(["install", "claude", "--yes"]).code(1);
        assert!(refused.stderr.contains("cannot change the settings"), "{}", refused.told());
        assert_eq!(read(&desk, ".claude/settings.json"), text);
    }
    let desk = desk(None, None);
    let _ = desk.memtree(["install", "aider", "--yes"]).code(2).stderr_has("has no hooks");
    let _ =
        desk.memtree(["install", "claud", "--yes"]).code(2).stderr_has("did you mean `claude`?");
    let _ = desk.memtree(["install"]).code(2);
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_stays_one() {
    use std::os::unix::fs::PermissionsExt;
    let desk = desk(None, None);
    let kept = desk.root().join("dotfiles.json");
    fs::write(&kept, CLAUDE[0]).unwrap();
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(desk.home().join(".claude")).unwrap();
    let link = desk.home().join(".claude/settings.json");
    std::os::unix::fs::symlink(&kept, &link).unwrap();
    let _ = desk.memtree(["install", "claude", "--yes"]).success();
    assert!(
        fs::symlink_metadata(&link).unwrap().is_symlink()
            && fs::read_to_string(&kept).unwrap().contains("hook")
    );
    assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
    let _ = desk.memtree(["uninstall", "claude", "--yes"]).success();
    assert_eq!(fs::read_to_string(&kept).unwrap(), CLAUDE[0]);
}
