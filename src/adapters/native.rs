//! What agents remember by themselves: where they keep their own notes, as Markdown.
//!
//! `ops/native.rs` reads them into the memory; theirs stay as they are.

use std::path::PathBuf;

use super::Places;
use crate::base::files;

/// Where one agent keeps notes of its own.
#[derive(Debug, Clone, Copy)]
pub struct NativeSpec {
    /// The agent as we name it.
    pub agent: &'static str,
    /// The folders or files with its notes, each with a name of its own.
    pub places: fn(&Places) -> Vec<(String, PathBuf)>,
    /// How a person lets the agent keep them in the memory instead; `FOLDER` is where.
    pub instead: &'static str,
}

/// Every agent whose notes can be read.
pub const ALL: &[NativeSpec] = &[
    NativeSpec {
        agent: "claude",
        places: |places| {
            let projects = places.folder("CLAUDE_CONFIG_DIR", ".claude").join("projects");
            below(projects, "memory")
        },
        instead: "set \"autoMemoryDirectory\": \"FOLDER\" in ~/.claude/settings.json",
    },
    NativeSpec {
        agent: "codex",
        places: |places| {
            let folder = places.folder("CODEX_HOME", ".codex").join("memories");
            vec![(String::new(), folder)]
        },
        instead: "link ~/.codex/memories/extensions/ad_hoc/notes to FOLDER",
    },
    NativeSpec {
        agent: "openclaw",
        places: |places| {
            let home = places.folder("OPENCLAW_STATE_DIR", ".openclaw");
            let mut all = below(home.clone(), "memory");
            all.extend(below(home, "MEMORY.md"));
            all.retain(|(name, _)| name.starts_with("workspace"));
            all
        },
        instead: "link the folder memory/ of its workspace to FOLDER",
    },
];

/// The row of an agent, by its name.
pub fn of(agent: &str) -> Option<&'static NativeSpec> {
    ALL.iter().find(|spec| spec.agent == agent)
}

/// What has this name in each folder of a folder.
fn below(folder: PathBuf, name: &str) -> Vec<(String, PathBuf)> {
    let entries = files::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<(String, PathBuf)> = entries
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path().join(name)))
        .filter(|(_, path)| files::exists(path))
        .collect();
    found.sort();
    found
}
