//! The plugin folder: its manifests say the same to every client, and its skills keep to the format.
//!
//! The manifests are made here, from the package's own name, version and description;
//! `UPDATE_EXPECT=1` writes them.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{checkout, expect_file};

const NAME: &str = "memtree";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const DESCRIPTION: &str = env!("CARGO_PKG_DESCRIPTION");
const KEYWORDS: [&str; 3] = ["memory", "search", "sessions"];

/// Every manifest, by its path below `plugin/`.
fn manifests() -> Vec<(&'static str, Value)> {
    let plain = json!({
        "name": NAME, "version": VERSION, "description": DESCRIPTION,
        "license": env!("CARGO_PKG_LICENSE"), "keywords": KEYWORDS,
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
        (".claude-plugin/plugin.json", plain.clone()),
        (
            ".claude-plugin/marketplace.json",
            json!({
                "name": NAME,
                "owner": {"name": "memtree"},
                "plugins": [{"name": NAME, "source": "./", "description": DESCRIPTION}],
            }),
        ),
        (".mcp.json", json!({"mcpServers": {NAME: server}})),
        (
            ".codex-plugin/plugin.json",
            with(json!({
                "skills": "./skills/",
                "mcpServers": "./.mcp.json",
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
