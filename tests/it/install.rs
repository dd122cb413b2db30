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
        let done = desk.memtree(["install", "--all", "--yes", "--json"]).success().json();
        let with = Tree::of(&desk.home());
        let changed = before.difference(&with);
        let changed: Vec<&String> =
            changed.iter().filter(|one| !desk.home().join(&one[5..]).is_dir()).collect();
        let told = done["agents"].as_array().unwrap();
        assert_eq!(changed.len(), told.len(), "what is told is what changes: {changed:?} {done}");
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

/// Every agent with hooks, the folder by which it is known, and the file that its hooks go into.
const EVERY: &[(&str, &str, &str)] = &[
    ("antigravity", ".gemini/antigravity-cli", ".gemini/config/hooks.json"),
    ("claude", ".claude", ".claude/settings.json"),
    ("codex", ".codex", ".codex/hooks.json"),
    ("copilot", ".copilot", ".copilot/hooks/memtree.json"),
    ("cursor", ".cursor", ".cursor/hooks.json"),
    ("droid", ".factory", ".factory/settings.json"),
    ("gemini", ".gemini", ".gemini/settings.json"),
    ("goose", ".local/share/goose", ".agents/plugins/memtree/hooks/hooks.json"),
    ("grok", ".grok", ".grok/hooks/memtree.json"),
    ("kilo", ".config/kilo", ".config/kilo/plugins/memtree.js"),
    ("opencode", ".config/opencode", ".config/opencode/plugins/memtree.js"),
    ("pi", ".pi/agent", ".pi/agent/extensions/memtree.ts"),
    ("qwen", ".qwen", ".qwen/settings.json"),
];

/// Every agent with servers, the folder by which it is known, the file that names them, and the way
/// to ours in it.
const SERVERS: &[(&str, &str, &str, &str)] = &[
    ("antigravity", ".gemini/antigravity-cli", ".gemini/config/mcp_config.json", "mcpServers"),
    ("claude", ".claude", ".claude.json", "mcpServers"),
    ("cline", ".cline", ".cline/data/settings/cline_mcp_settings.json", "mcpServers"),
    ("codex", ".codex", ".codex/config.toml", "mcp_servers"),
    ("copilot", ".copilot", ".copilot/mcp-config.json", "mcpServers"),
    ("crush", ".config/crush", ".config/crush/crush.json", "mcp"),
    ("cursor", ".cursor", ".cursor/mcp.json", "mcpServers"),
    ("droid", ".factory", ".factory/mcp.json", "mcpServers"),
    ("gemini", ".gemini", ".gemini/settings.json", "mcpServers"),
    ("goose", ".local/share/goose", ".config/goose/config.yaml", "extensions"),
    ("grok", ".grok", ".grok/config.toml", "mcp_servers"),
    ("hermes", ".hermes", ".hermes/config.yaml", "mcp_servers"),
    ("kilo", ".config/kilo", ".config/kilo/kilo.jsonc", "mcp"),
    ("kimi", ".kimi-code", ".kimi-code/mcp.json", "mcpServers"),
    ("kiro", ".kiro", ".kiro/settings/mcp.json", "mcpServers"),
    ("omp", ".omp", ".omp/agent/mcp.json", "mcpServers"),
    ("openclaw", ".openclaw", ".openclaw/openclaw.json", "mcp.servers"),
    ("opencode", ".config/opencode", ".config/opencode/opencode.json", "mcp"),
    ("pi", ".pi/agent", ".pi/agent/mcp.json", "mcpServers"),
    ("qwen", ".qwen", ".qwen/settings.json", "mcpServers"),
    ("zed", ".config/zed", ".config/zed/settings.json", "context_servers"),
];

/// A settings file, whatever it is written in.
fn settings(file: &str, text: &str) -> Value {
    let text = text.trim_start_matches('\u{feff}');
    match file.rsplit_once('.').unwrap().1 {
        "toml" => serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap(),
        "yaml" => serde_yaml::from_str(text).unwrap(),
        _ => memtree::internals::base::jsonc::value(text).unwrap(),
    }
}

/// The words that start the server in an agent's file.
fn server_of(desk: &Desk, file: &str, way: &str) -> Vec<String> {
    let all = settings(file, &read(desk, file));
    let entry = &way.split('.').fold(&all, |value, key| &value[key])["memtree"];
    let words = |key: &str| entry[key].as_array().cloned().unwrap_or_default();
    let program = ["command", "cmd"].iter().filter_map(|key| entry[key].as_str());
    let program = program.map(Value::from).collect::<Vec<_>>();
    let all = program.into_iter().chain(words("command")).chain(words("args"));
    all.map(|word| word.as_str().unwrap().to_string()).collect()
}

#[test]
fn every_agent_is_told_of_the_server_and_forgets_it_byte_for_byte() {
    // A home without files, and one where each has some of the person's own, with all that people
    // do.
    for own in [false, true] {
        let desk = desk(None, None);
        for (_, folder, file, way) in SERVERS {
            fs::create_dir_all(desk.home().join(folder)).unwrap();
            let key = way.split('.').next().unwrap();
            let text = match file.rsplit_once('.').unwrap().1 {
                "toml" => format!("# mine\r\n[{key}.other]\r\ncommand = \"x\" # mine"),
                "yaml" => format!("# mine\n{key}:\n    other:\n        enabled: true\nmodel: x"),
                _ => format!("\u{feff}{{\n\t// mine\n\t\"{key}\": {{ \"other\": {{}} , }},\n}}"),
            };
            if own {
                write(&desk, file, &text);
            }
        }
        let before = Tree::of(&desk.home());
        let _ = desk.memtree(["install", "--all", "--only", "mcp", "--yes"]).success();
        for (agent, _, file, way) in SERVERS {
            let words = server_of(&desk, file, way);
            let store = desk.store().to_str().unwrap().to_string();
            assert_eq!(words[1..], ["--store".to_string(), store, "mcp".into()], "{agent}");
            assert!(PathBuf::from(&words[0]).is_file(), "{agent}: {words:?}");
            assert_eq!(read(&desk, file).contains("mine"), own, "{agent}");
        }
        let with = Tree::of(&desk.home());
        let again = desk.memtree(["install", "--all", "--only", "mcp", "--yes"]).success();
        assert_same(&with, &Tree::of(&desk.home()), &again.told());
        let _ = desk.memtree(["uninstall", "--all", "--yes"]).success();
        assert_same(&before, &Tree::of(&desk.home()), "all of them are undone");
        // Settings that somebody changes in the meantime keep what is theirs.
        let _ = desk.memtree(["install", "--all", "--yes"]).success();
        let file = ".cursor/mcp.json";
        let with = read(&desk, file);
        let end = with.rfind('}').unwrap();
        let comma = if own { "" } else { "," };
        write(&desk, file, &format!("{}{comma} \"later\": 1 }}", with[..end].trim_end()));
        let _ = desk.memtree(["uninstall", "--all", "--yes"]).success();
        let left = read(&desk, file);
        assert!(left.contains("later") && !left.contains("memtree"), "{left}");
    }
}

#[test]
fn hooks_and_server_in_one_file_come_and_go_apart() {
    let text = "{\n  // mine\n  \"theme\": \"dark\"\n}\n";
    let desk = desk(None, None);
    write(&desk, ".gemini/settings.json", text);
    let all = |verb: &str, part: &str| {
        desk.memtree([verb, "gemini", "--only", part, "--yes"]).success();
        let text = read(&desk, ".gemini/settings.json");
        (text.contains("hook gemini"), text.contains("\"mcpServers\""))
    };
    let before = Tree::of(&desk.home());
    assert_eq!(all("install", "mcp"), (false, true));
    assert_eq!(all("install", "hooks"), (true, true));
    assert_eq!(all("uninstall", "mcp"), (true, false));
    assert_eq!(all("install", "mcp"), (true, true));
    assert_eq!(all("uninstall", "hooks"), (false, true));
    assert_eq!(all("uninstall", "mcp"), (false, false));
    assert_same(&before, &Tree::of(&desk.home()), "nothing is left");
}

#[test]
fn skills_are_there_as_long_as_somebody_reads_them() {
    let desk = desk(None, None);
    let before = Tree::of(&desk.home());
    let skill = desk.home().join(".agents/skills/memtree/SKILL.md");
    let _ = desk.memtree(["install", "codex", "claude", "--yes"]).success();
    let _ = desk.memtree(["install", "copilot", "--yes"]).success();
    assert!(
        skill.is_file() && desk.home().join(".claude/skills/memtree-curate/SKILL.md").is_file()
    );
    let _ = desk.memtree(["uninstall", "codex", "claude", "--yes"]).success();
    assert!(skill.is_file(), "Copilot reads it too");
    assert!(!desk.home().join(".claude/skills").exists());
    let _ = desk.memtree(["uninstall", "copilot", "--yes"]).success();
    assert_same(&before, &Tree::of(&desk.home()), "the last one has gone");
    // What a person has made of a skill is theirs, and so is one of their own by that name.
    let _ = desk.memtree(["install", "codex", "--only", "skills", "--yes"]).success();
    fs::write(&skill, "---\nname: memtree\n---\nmine\n").unwrap();
    let kept = desk.memtree(["install", "codex", "--only", "skills", "--yes"]).success();
    assert!(kept.stderr.contains("you have changed it"), "{}", kept.told());
    let _ = desk.memtree(["uninstall", "codex", "--yes"]).success();
    assert_eq!(fs::read_to_string(&skill).unwrap(), "---\nname: memtree\n---\nmine\n");
    fs::remove_dir_all(desk.store().join(".memtree/local/installed")).unwrap();
    let kept = desk.memtree(["install", "codex", "--only", "skills", "--yes"]).success();
    assert!(kept.stderr.contains("is there already"), "{}", kept.told());
    assert!(fs::read_to_string(&skill).unwrap().ends_with("mine\n"));
}

#[cfg(unix)]
#[test]
fn skills_in_a_folder_that_several_agents_link_to_are_one() {
    use std::os::unix::fs::symlink;
    let desk = desk(None, None);
    let kept = desk.home().join("dotfiles/skills");
    fs::create_dir_all(&kept).unwrap();
    for agent in [".claude", ".agents", ".codex"] {
        fs::create_dir_all(desk.home().join(agent)).unwrap();
    }
    for agent in [".claude", ".agents"] {
        symlink(&kept, desk.home().join(agent).join("skills")).unwrap();
    }
    let before = Tree::of(&desk.home());
    let _ = desk.memtree(["install", "--all", "--yes"]).success();
    assert!(kept.join("memtree/SKILL.md").is_file());
    let _ = desk.memtree(["uninstall", "--all", "--yes"]).success();
    assert_same(&before, &Tree::of(&desk.home()), "both have gone");
    let _ = desk.memtree(["install", "claude", "--yes"]).success();
    let _ = desk.memtree(["install", "codex", "--yes"]).success();
    let _ = desk.memtree(["uninstall", "codex", "--yes"]).success();
    assert!(kept.join("memtree/SKILL.md").is_file(), "Claude Code reads it, too");
    let _ = desk.memtree(["uninstall", "claude", "--yes"]).success();
    assert_same(&before, &Tree::of(&desk.home()), "the last one has gone");
}

#[test]
fn a_project_can_have_the_skills_instead() {
    let desk = desk(None, None);
    fs::create_dir(desk.home().join(".codex")).unwrap();
    fs::create_dir_all(desk.home().join(".claude")).unwrap();
    let (home, project) = (Tree::of(&desk.home()), Tree::of(&desk.project()));
    let _ = desk.memtree(["install", "--all", "--project", "--yes"]).success();
    for folder in [".agents", ".claude"] {
        assert!(desk.project().join(folder).join("skills/memtree-handoff/SKILL.md").is_file());
    }
    assert_same(&home, &Tree::of(&desk.home()), "the home is as it was");
    let _ = desk.memtree(["uninstall", "--all", "--project", "--yes"]).success();
    assert_same(&project, &Tree::of(&desk.project()), "and so is the project");
}

#[test]
fn a_server_that_a_person_named_stays_theirs() {
    let desk = desk(None, None);
    let own =
        "{ \"mcpServers\": { \"memtree\": { \"command\": \"memtree\", \"args\": [\"mcp\"] } } }";
    write(&desk, ".cursor/mcp.json", own);
    let other = "[mcp_servers.memtree]\nurl = \"http://127.0.0.1:1\"\n";
    write(&desk, ".codex/config.toml", other);
    let done = desk.memtree(["install", "--all", "--only", "mcp", "--yes"]).success();
    assert!(done.stderr.contains("an entry `memtree` of your own"), "{}", done.told());
    assert!(done.stderr.contains("starts something else"), "{}", done.told());
    let _ = desk.memtree(["uninstall", "--all", "--yes"]).success();
    assert_eq!(read(&desk, ".cursor/mcp.json"), own);
    assert_eq!(read(&desk, ".codex/config.toml"), other);
}

#[test]
fn one_bad_file_does_not_keep_the_others_back() {
    let desk = desk(Some("{ \"hooks\": "), None);
    write(&desk, ".config/goose/config.yaml", "- a list\n");
    fs::create_dir_all(desk.home().join(".local/share/goose")).unwrap();
    fs::create_dir_all(desk.home().join(".cursor")).unwrap();
    let before = Tree::of(&desk.home());
    let done = desk.memtree(["install", "--all", "--yes"]).code(3);
    assert!(done.stderr.contains("settings.json` is left as it is"), "{}", done.told());
    assert!(done.stderr.contains("config.yaml` is left as it is"), "{}", done.told());
    assert!(read(&desk, ".cursor/hooks.json").contains("hook cursor"));
    assert!(read(&desk, ".claude.json").contains("\"mcp\""), "the rest of it is done");
    let _ = desk.memtree(["uninstall", "--all", "--yes"]).done();
    assert_same(&before, &Tree::of(&desk.home()), "and undone");
}

#[test]
fn what_will_change_is_told_at_a_glance() {
    let desk = desk(Some(CLAUDE[0]), Some(CODEX[0]));
    let asked = desk.memtree(["install", "--all"]).code(2);
    let lines: Vec<&str> = asked.stdout.lines().collect();
    assert_eq!(lines[0], "memtree will write 10 files:", "{}", asked.told());
    for expect in [
        "hooks   ~/.claude/settings.json (changed)",
        "mcp     ~/.claude.json (new)",
        "mcp     ~/.codex/config.toml (changed)",
        "skills  ~/.agents/skills/memtree/SKILL.md (new)",
    ] {
        assert!(lines.iter().any(|line| line.trim().starts_with(expect)), "{}", asked.told());
    }
}

#[test]
fn every_agent_is_wired_up_and_undone_byte_for_byte() {
    let desk = desk(None, None);
    for (_, folder, _) in EVERY {
        fs::create_dir_all(desk.home().join(folder)).unwrap();
    }
    // Half of them have files of the person's own, with a hook where the agent would have one.
    let own = "{\n\t// mine\n\t\"version\": 1,\n\t\"hooks\": { \"Stop\": [] , },\n}";
    for (_, _, file) in EVERY.iter().filter(|(_, _, file)| file.ends_with("s.json")) {
        write(&desk, file, own);
    }
    let before = Tree::of(&desk.home());
    let done = desk.memtree(["install", "--all", "--yes", "--json"]).success().json();
    let agents: Vec<&str> = done["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["agent"].as_str().unwrap())
        .collect();
    for (agent, _, file) in EVERY {
        assert!(agents.contains(agent), "{agent}: {agents:?}");
        let text = read(&desk, file);
        assert!(text.contains(desk.store().to_str().unwrap()), "{agent}: {text}");
        assert!(
            text.contains(&format!("hook {agent} ")) || text.contains(&format!("\"{agent}\"]"))
        );
        assert!(!text.contains("PreToolUse") && !text.contains("preToolUse"), "{agent}: {text}");
    }
    let with = Tree::of(&desk.home());
    let again = desk.memtree(["install", "--all", "--yes"]).success();
    assert_same(&with, &Tree::of(&desk.home()), &again.told());
    let _ = desk.memtree(["uninstall", "--all", "--yes"]).success();
    assert_same(&before, &Tree::of(&desk.home()), "all of them are undone");
}

#[test]
fn hooks_go_where_the_agent_looks() {
    let desk = desk(None, None);
    let own =
        "{ \"Stop\": [{ \"hooks\": [{ \"type\": \"command\", \"command\": \"say done\" }] }] }\n";
    write(&desk, ".factory/hooks.json", own);
    let before = Tree::of(&desk.home());
    let _ = desk.memtree(["install", "droid", "--yes"]).success();
    let hooks: Value = serde_json::from_str(&read(&desk, ".factory/hooks.json")).unwrap();
    assert_eq!(hooks["Stop"].as_array().unwrap().len(), 2, "{hooks}");
    assert!(hooks["SessionEnd"][0]["hooks"][0]["command"].as_str().unwrap().contains("hook droid"));
    assert!(!desk.home().join(".factory/settings.json").exists());
    let _ = desk.memtree(["uninstall", "droid", "--yes"]).success();
    assert_same(&before, &Tree::of(&desk.home()), "its hooks are as before");
}

#[test]
fn a_plugin_of_somebody_else_is_left_alone() {
    let desk = desk(None, None);
    let file = ".config/opencode/plugins/memtree.js";
    write(&desk, file, "export const mine = 1;\n");
    let refused = desk.memtree(["install", "opencode", "--yes"]).code(1);
    assert!(refused.stderr.contains("is not memtree's"), "{}", refused.told());
    let _ = desk.memtree(["uninstall", "opencode", "--yes"]).success();
    assert_eq!(read(&desk, file), "export const mine = 1;\n");
    // Nor is one of ours that somebody has changed taken away.
    fs::remove_file(desk.home().join(file)).unwrap();
    let _ = desk.memtree(["install", "opencode", "--yes"]).success();
    let ours = read(&desk, file);
    write(&desk, file, &format!("{ours}// mine\n"));
    let refused = desk.memtree(["uninstall", "opencode", "--yes"]).code(1);
    assert!(refused.stderr.contains("somebody has changed it"), "{}", refused.told());
    write(&desk, file, &ours);
    fs::remove_dir_all(desk.store().join(".memtree")).unwrap();
    let _ = desk.memtree(["uninstall", "opencode", "--yes"]).success();
    assert!(!desk.home().join(file).exists(), "nobody remembers it, and it is still ours");
}

#[test]
fn hooks_that_codex_does_not_trust_are_named() {
    let desk = desk(None, Some(CODEX[0]));
    let _ = desk.memtree(["install", "codex", "--yes"]).success();
    let found = desk.memtree(["doctor"]).any().1;
    assert!(found.stdout.contains("codex does not run these hooks of memtree"), "{}", found.told());
}

#[cfg(unix)]
#[test]
fn a_hook_names_the_way_that_path_leads_to_the_program() {
    let desk = desk(Some(CLAUDE[0]), None);
    let folder = desk.root().join("links");
    fs::create_dir(&folder).unwrap();
    let link = folder.join("memtree");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_memtree"), &link).unwrap();
    let arguments = ["install", "claude", "--yes"].map(std::ffi::OsString::from);
    let done = desk.command(&arguments).env("PATH", &folder).output().unwrap();
    assert!(done.status.success());
    let line = format!("{} --store", link.display());
    assert!(read(&desk, ".claude/settings.json").contains(&line), "an upgrade moves the link only");
}

#[cfg(unix)]
#[test]
fn settings_that_may_not_be_changed_are_named() {
    use std::os::unix::fs::PermissionsExt;
    let desk = desk(Some(CLAUDE[0]), None);
    let folder = desk.home().join(".claude");
    let file = folder.join("settings.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let ran = desk.memtree(["install", "claude", "--yes"]).any().1;
    // Who may not write a file in a folder of their own says so by its mode; it stays that way.
    let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o444, "{}", ran.told());
    let _ = desk.memtree(["uninstall", "claude", "--yes"]).any();
    assert_eq!(read(&desk, ".claude/settings.json"), CLAUDE[0]);
}

#[test]
fn files_and_folders_that_were_not_there_go_again() {
    let desk = desk(None, None);
    let before = Tree::of(&desk.home());
    let none = desk.memtree(["install", "--all", "--yes"]).success();
    assert!(none.stderr.contains("no agent that can be wired up is"), "{}", none.told());
    assert_same(&before, &Tree::of(&desk.home()), "there is no agent");
    for (agent, ..) in EVERY {
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
    let _ = desk.memtree(["install", "--all", "--only", "hooks", "--yes"]).success();
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
        asked.stdout.contains("~/.claude/settings.json (changed)"),
        "what will change is shown first: {}",
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
    let _ = desk.memtree(["install", "aider", "--yes"]).code(2).stderr_has("memtree watch");
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

#[test]
fn what_agents_remember_is_read_and_theirs_stays() {
    let desk = desk(None, None);
    let note = ".claude/projects/-home-dev-code-demo/memory/MEMORY.md";
    write(
        &desk,
        note,
        "- The tests need `--locked`.\n- token ghp_0123456789abcdefghijABCDEFGHIJ012345\n",
    );
    write(&desk, ".codex/memories/my notes.md", "Codex likes short commits.\n");
    write(&desk, ".codex/memories/not-a-note.bin", "x");
    write(
        &desk,
        ".openclaw/workspace/memory/2026-11-01.md",
        "The gate code is not written down.\n",
    );
    let home = Tree::of(&desk.home());
    desk.memtree(["install", "--all", "--native"]).code(2).stdout_has("claude: 1 note, 1 to read");
    assert!(!desk.store().join("memories").exists(), "nobody said yes");
    let done = desk.memtree(["install", "--all", "--native", "--yes"]).success();
    assert!(done.stderr.contains("autoMemoryDirectory"), "how to point it here: {}", done.told());
    assert_same(&home, &Tree::of(&desk.home()), "theirs is as it was, and is not switched off");
    let copy = "memories/native/claude/home-dev-code-demo/MEMORY.md";
    let text = desk.read(copy);
    assert!(
        text.starts_with("<!-- an agent's own note, not the person's words; read from ~/.claude"),
        "{text}"
    );
    assert!(text.contains("The tests need") && !text.contains("ghp_0123456789"), "{text}");
    let names: Vec<String> =
        desk.texts().into_keys().filter(|name| name.starts_with("memories/native")).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    // Every sweep reads what has changed; what somebody has changed here stays.
    write(&desk, note, "- The tests need `--locked` and a database.\n");
    let _ = desk.memtree(["sweep", "--quiet"]).done();
    assert!(desk.read(copy).contains("and a database"));
    desk.write(copy, "mine\n");
    write(&desk, note, "- Another note.\n");
    let _ = desk.memtree(["sweep", "--quiet"]).done();
    assert_eq!(desk.read(copy), "mine\n");
    let _ = desk.memtree(["uninstall", "--all", "--native"]).success();
    write(&desk, ".codex/memories/my notes.md", "Codex likes long commits.\n");
    let _ = desk.memtree(["sweep", "--quiet"]).done();
    assert!(!desk.texts().values().any(|text| text.contains("long commits")), "no longer read");
    desk.memtree(["install", "aider", "--native", "--yes"]).code(2).stderr_has("keeps no notes");
}
