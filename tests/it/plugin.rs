//! The plugin folder: its manifests say the same to every client, and its skills keep to the
//! format.
//!
//! The manifests are made here, from the package's own name, version and description and from the
//! hooks that `install` writes; `UPDATE_EXPECT=1` writes them.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{checkout, expect_file};

const NAME: &str = "memtree";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const DESCRIPTION: &str = env!("CARGO_PKG_DESCRIPTION");
const KEYWORDS: [&str; 3] = ["memory", "search", "sessions"];

/// The hooks of an agent as a plugin brings them: the same events as `install` writes, with the
/// program that `PATH` leads to and the memory that a person would get there.
fn hooks(agent: &str) -> Value {
    let spec = memtree::internals::adapters::hooks::of(agent).unwrap();
    let groups = spec.events.iter().map(|event| {
        let command = format!("memtree hook {agent} {} --plugin", event.name);
        let handler = json!({"type": "command", "command": command, "timeout": event.timeout});
        (event.name.to_string(), json!([{"hooks": [handler]}]))
    });
    json!({"hooks": groups.collect::<serde_json::Map<_, _>>()})
}

/// The bundle for desktop apps (MCPB); `plugin/bundle` packs it with a program.
fn bundle() -> Value {
    json!({
        "manifest_version": "0.3", "name": NAME, "display_name": NAME, "version": VERSION,
        "description": DESCRIPTION, "author": {"name": NAME}, "keywords": KEYWORDS,
        "license": env!("CARGO_PKG_LICENSE"),
        "server": {
            "type": "binary", "entry_point": "server/memtree",
            "mcp_config": {
                "command": "${__dirname}/server/memtree", "args": ["mcp"],
                "env": {"MEMTREE_STORE": "${user_config.store}"},
            },
        },
        "user_config": {
            "store": {
                "type": "directory", "title": "Memory", "required": false,
                "description": "The folder of the memory", "default": "${HOME}/memory",
            },
        },
        "compatibility": {"platforms": ["darwin", "linux", "win32"]},
    })
}

/// What the MCP registry is told; `plugin/bundle` fills in where the bundle is, and its hash.
fn registry_entry() -> Value {
    json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "io.github.OWNER/memtree", "title": NAME, "description": DESCRIPTION,
        "version": VERSION,
        "packages": [{
            "registryType": "mcpb", "identifier": "URL", "fileSha256": "SHA256",
            "transport": {"type": "stdio"},
        }],
    })
}

/// Every manifest, by its path below `plugin/`.
fn manifests() -> Vec<(&'static str, Value)> {
    let plain = json!({
        "name": NAME, "version": VERSION, "description": DESCRIPTION,
        "license": env!("CARGO_PKG_LICENSE"), "keywords": KEYWORDS, "author": {"name": NAME},
    });
    let with = |more: Value| {
        let mut manifest = plain.clone();
        manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        manifest
    };
    let server = json!({"command": "memtree", "args": ["mcp"]});
    let schema = |name: &str| format!("https://agent-plugins.org/schemas/1.0.0/{name}.schema.json");
    vec![
        ("plugin.json", with(json!({"$schema": schema("plugin")}))),
        (
            "mcp.json",
            json!({
                "$schema": schema("mcp"),
                "mcpServers": {NAME: {"type": "stdio", "command": "memtree", "args": ["mcp"]}},
            }),
        ),
        (".claude-plugin/plugin.json", with(json!({"hooks": "./com.anthropic/hooks.json"}))),
        ("com.anthropic/hooks.json", hooks("claude")),
        ("com.openai/hooks.json", hooks("codex")),
        (
            ".claude-plugin/marketplace.json",
            json!({
                "name": NAME,
                "owner": {"name": NAME}, "description": DESCRIPTION,
                "plugins": [{"name": NAME, "source": "./", "description": DESCRIPTION}],
            }),
        ),
        (
            "../.claude-plugin/marketplace.json",
            json!({
                "name": NAME,
                "owner": {"name": NAME}, "description": DESCRIPTION,
                "plugins": [{"name": NAME, "source": "./plugin", "description": DESCRIPTION}],
            }),
        ),
        (".mcp.json", json!({"mcpServers": {NAME: server}})),
        ("mcp_config.json", json!({"mcpServers": {NAME: server}})),
        ("mcpb.json", bundle()),
        ("server.json", registry_entry()),
        (
            ".codex-plugin/plugin.json",
            with(json!({
                "skills": "./skills/",
                "mcpServers": "./.mcp.json",
                "hooks": "./com.openai/hooks.json",
                "interface": {
                    "displayName": NAME, "shortDescription": DESCRIPTION,
                    "category": "Productivity",
                },
            })),
        ),
        (".cursor-plugin/plugin.json", plain.clone()),
        (
            "gemini-extension.json",
            json!({
                "name": NAME, "version": VERSION, "description": DESCRIPTION,
                "mcpServers": {NAME: server},
            }),
        ),
    ]
}

#[test]
fn every_manifest_says_the_same() {
    for (path, manifest) in manifests() {
        let text = serde_json::to_string_pretty(&manifest).unwrap() + "\n";
        expect_file(&checkout().join("plugin").join(path), &text);
    }
}

#[test]
fn what_the_registries_limit_is_within_it() {
    assert!(DESCRIPTION.chars().count() <= 100, "the MCP registry takes 100 characters");
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    assert!(NAME.chars().all(is_plain) && NAME.len() <= 64);
    for agent in ["claude", "codex"] {
        let told = hooks(agent).to_string();
        assert!(told.contains("--plugin") && !told.contains("--store"), "{told}");
    }
}

#[test]
fn skills_keep_to_the_format() {
    let mut found = Vec::new();
    for entry in fs::read_dir(checkout().join("plugin/skills")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_string();
        let text = fs::read_to_string(folder.join("SKILL.md")).unwrap();
        let (head, body) =
            text.strip_prefix("---\n").and_then(|text| text.split_once("\n---\n")).unwrap();
        let value = |key: &str| {
            head.lines().find_map(|line| line.strip_prefix(&format!("{key}: "))).unwrap_or_default()
        };
        assert_eq!(value("name"), name);
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(name.len() <= 64 && name.chars().all(is_plain) && !name.contains("--"), "{name}");
        let description = value("description");
        assert!((1..=1024).contains(&description.chars().count()), "{name}: {description}");
        assert!(description.contains("Use when"), "{name} says when it is used");
        for line in head.lines() {
            let key = line.split(':').next().unwrap();
            assert!(["name", "description", "license"].contains(&key), "{name}: {key}");
        }
        assert!(body.lines().count() < 500 && body.chars().count() / 4 < 5_000, "{name}");
        found.push(name);
    }
    found.sort();
    assert_eq!(found, ["memtree", "memtree-curate", "memtree-handoff"]);
}
