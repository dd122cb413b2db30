//! How agents find an MCP server and skills: which file names the server, in which form, and which
//! folder they read skills from. One row for each agent, in [`ALL`].
//!
//! "Tried" names the version of the real program that listed a server written so (November 2026);
//! the others are by their documentation. `ops/install/` writes what is described here.

use std::path::PathBuf;

use super::Places;
use super::hooks;
use crate::base::files;

/// Where one agent looks for servers and skills.
#[derive(Debug, Clone, Copy)]
pub struct ServerSpec {
    /// The agent as we name it.
    pub agent: &'static str,
    /// Where the agent's own folder is, where its hooks do not say so.
    home: Option<fn(&Places) -> PathBuf>,
    /// The files that may name its servers: the first that is there counts, else the first.
    pub files: fn(&Places) -> Vec<PathBuf>,
    /// What such a file looks like.
    pub shape: ServerShape,
    /// The folder that it reads skills from, where it is known.
    pub skills: Option<fn(&Places) -> PathBuf>,
    /// The same folder in a project.
    pub project_skills: &'static str,
    /// Where its plugins lie, below its own folder; one step of any name is written as `*`.
    pub plugins: Option<&'static str>,
}

/// What a file with servers looks like. In an entry, `COMMAND` stands for the program, `ARGS` for
/// the list of its arguments, and `LINE` for the list of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerShape {
    /// JSON, in which these keys lead to the servers by name.
    Json { path: &'static [&'static str], entry: &'static str },
    /// TOML, with a table of this name that holds them.
    Toml { table: &'static str },
    /// YAML, with this key over them.
    Yaml { key: &'static str, entry: &'static str },
}

/// The name of our server, everywhere.
pub const SERVER: &str = "memtree";

/// Every agent that can be given a server.
pub const ALL: &[&ServerSpec] = &[
    &CODEX, &COPILOT, &PI, &CLAUDE, &QWEN, &GEMINI, &ANTIGRAVITY, &OPENCODE, &KILO, &CURSOR, &GROK,
    &GOOSE, &DROID, &KIMI, &CLINE, &HERMES, &OPENCLAW, &OMP, &ZED, &CRUSH, &KIRO,
];

const PLAIN: &str = r#"{ "command": COMMAND, "args": ARGS }"#;
const TYPED: &str = r#"{ "type": "stdio", "command": COMMAND, "args": ARGS }"#;
const MCP_SERVERS: ServerShape = ServerShape::Json { path: &["mcpServers"], entry: PLAIN };

/// Claude Code: the file beside its folder, which it also keeps its own state in; tried: 2.1.326.
const CLAUDE: ServerSpec = ServerSpec {
    agent: "claude",
    home: None,
    files: |places| match places.variable("CLAUDE_CONFIG_DIR") {
        Some(folder) => vec![PathBuf::from(folder).join(".claude.json")],
        None => vec![places.home.join(".claude.json")],
    },
    shape: ServerShape::Json { path: &["mcpServers"], entry: TYPED },
    skills: Some(|places| places.folder("CLAUDE_CONFIG_DIR", ".claude").join("skills")),
    project_skills: ".claude/skills",
    plugins: Some("plugins/cache/*/memtree"),
};

/// Codex: tables in its settings; tried: 0.169.
const CODEX: ServerSpec = ServerSpec {
    agent: "codex",
    files: |places| vec![places.folder("CODEX_HOME", ".codex").join("config.toml")],
    shape: ServerShape::Toml { table: "mcp_servers" },
    skills: Some(shared_skills),
    project_skills: ".agents/skills",
    plugins: Some("plugins/cache/*/memtree"),
    ..CLAUDE
};

/// Gemini CLI: its settings; tried: 0.61.
const GEMINI: ServerSpec = ServerSpec {
    agent: "gemini",
    files: |places| vec![places.folder("GEMINI_CLI_HOME", "").join(".gemini/settings.json")],
    shape: MCP_SERVERS,
    plugins: Some("extensions/memtree"),
    ..CODEX
};

/// Antigravity: a file for the program and the editor.
const ANTIGRAVITY: ServerSpec = ServerSpec {
    agent: "antigravity",
    files: |places| vec![places.home.join(".gemini/config/mcp_config.json")],
    shape: MCP_SERVERS,
    skills: Some(|places| places.home.join(".gemini/antigravity-cli/skills")),
    plugins: None,
    ..CODEX
};

/// Qwen Code: its settings; tried: 0.24.
const QWEN: ServerSpec = ServerSpec {
    agent: "qwen",
    files: |places| vec![places.home.join(".qwen/settings.json")],
    shape: MCP_SERVERS,
    plugins: Some("extensions/memtree"),
    ..CODEX
};

/// Cursor, the editor and `cursor-agent`.
const CURSOR: ServerSpec = ServerSpec {
    agent: "cursor",
    files: |places| vec![places.home.join(".cursor/mcp.json")],
    shape: MCP_SERVERS,
    plugins: None,
    ..CODEX
};

/// Copilot CLI: it wants to be told which tools it may use; tried: 1.0.102.
const COPILOT: ServerSpec = ServerSpec {
    agent: "copilot",
    files: |places| vec![places.folder("COPILOT_HOME", ".copilot").join("mcp-config.json")],
    shape: ServerShape::Json {
        path: &["mcpServers"],
        entry: r#"{ "type": "local", "command": COMMAND, "args": ARGS, "tools": ["*"] }"#,
    },
    plugins: Some("installed-plugins/*/memtree"),
    ..CODEX
};

/// Grok: tables in its settings, as in Codex; tried: 1.0.41.
const GROK: ServerSpec = ServerSpec {
    agent: "grok",
    files: |places| vec![places.folder("GROK_HOME", ".grok").join("config.toml")],
    plugins: None,
    ..CODEX
};

/// Goose: its servers are called extensions.
const GOOSE: ServerSpec = ServerSpec {
    agent: "goose",
    files: |places| vec![config(places, "goose").join("config.yaml")],
    shape: ServerShape::Yaml {
        key: "extensions",
        entry: r#"{ "name": "memtree", "type": "stdio", "cmd": COMMAND, "args": ARGS, "enabled": true, "timeout": 60 }"#,
    },
    plugins: None,
    ..CODEX
};

/// Droid: a file of its own.
const DROID: ServerSpec = ServerSpec {
    agent: "droid",
    files: |places| vec![places.home.join(".factory/mcp.json")],
    shape: ServerShape::Json { path: &["mcpServers"], entry: TYPED },
    skills: None,
    plugins: None,
    ..CODEX
};

const LOCAL: ServerShape = ServerShape::Json {
    path: &["mcp"],
    entry: r#"{ "type": "local", "command": LINE, "enabled": true }"#,
};

/// OpenCode: one of two files, with or without comments; tried: 1.18.
const OPENCODE: ServerSpec = ServerSpec {
    agent: "opencode",
    files: |places| either(config(places, "opencode"), ["opencode.json", "opencode.jsonc"]),
    shape: LOCAL,
    plugins: None,
    ..CODEX
};

/// Kilo: as OpenCode, with the other file by default; tried: 7.7.
const KILO: ServerSpec = ServerSpec {
    agent: "kilo",
    files: |places| either(config(places, "kilo"), ["kilo.jsonc", "kilo.json"]),
    ..OPENCODE
};

/// Pi: a file of its own, since 1.0.
const PI: ServerSpec = ServerSpec {
    agent: "pi",
    files: |places| vec![places.folder("PI_CODING_AGENT_DIR", ".pi/agent").join("mcp.json")],
    shape: MCP_SERVERS,
    plugins: None,
    ..CODEX
};

/// Kimi Code: a file of its own.
const KIMI: ServerSpec = ServerSpec {
    agent: "kimi",
    home: Some(|places| places.folder("KIMI_CODE_HOME", ".kimi-code")),
    files: |places| vec![places.folder("KIMI_CODE_HOME", ".kimi-code").join("mcp.json")],
    shape: MCP_SERVERS,
    skills: Some(|places| places.folder("KIMI_CODE_HOME", ".kimi-code").join("skills")),
    plugins: None,
    ..CODEX
};

/// Cline, the command line.
const CLINE: ServerSpec = ServerSpec {
    agent: "cline",
    home: Some(|places| places.folder("CLINE_DIR", ".cline")),
    files: |places| {
        vec![places.folder("CLINE_DIR", ".cline").join("data/settings/cline_mcp_settings.json")]
    },
    skills: None,
    ..KIMI
};

/// Hermes: its settings.
const HERMES: ServerSpec = ServerSpec {
    agent: "hermes",
    home: Some(|places| places.folder("HERMES_HOME", ".hermes")),
    files: |places| vec![places.folder("HERMES_HOME", ".hermes").join("config.yaml")],
    shape: ServerShape::Yaml { key: "mcp_servers", entry: PLAIN },
    skills: None,
    ..KIMI
};

/// OpenClaw: its settings.
const OPENCLAW: ServerSpec = ServerSpec {
    agent: "openclaw",
    home: Some(|places| places.folder("OPENCLAW_STATE_DIR", ".openclaw")),
    files: |places| vec![places.folder("OPENCLAW_STATE_DIR", ".openclaw").join("openclaw.json")],
    shape: ServerShape::Json { path: &["mcp", "servers"], entry: PLAIN },
    skills: Some(shared_skills),
    ..KIMI
};

/// Oh My Pi: as Pi.
const OMP: ServerSpec = ServerSpec {
    agent: "omp",
    home: Some(|places| places.home.join(".omp")),
    files: |places| vec![places.home.join(".omp/agent/mcp.json")],
    skills: Some(shared_skills),
    ..KIMI
};

/// Zed: among the settings of the editor.
const ZED: ServerSpec = ServerSpec {
    agent: "zed",
    home: Some(|places| config(places, "zed")),
    files: |places| vec![config(places, "zed").join("settings.json")],
    shape: ServerShape::Json {
        path: &["context_servers"],
        entry: r#"{ "source": "custom", "command": COMMAND, "args": ARGS }"#,
    },
    ..OMP
};

/// Crush: its settings.
const CRUSH: ServerSpec = ServerSpec {
    agent: "crush",
    home: Some(|places| config(places, "crush")),
    files: |places| vec![config(places, "crush").join("crush.json")],
    shape: ServerShape::Json { path: &["mcp"], entry: TYPED },
    ..OMP
};

/// Kiro, the editor and the command line.
const KIRO: ServerSpec = ServerSpec {
    agent: "kiro",
    home: Some(|places| places.home.join(".kiro")),
    files: |places| vec![places.home.join(".kiro/settings/mcp.json")],
    skills: None,
    ..KIMI
};

/// Where most agents look for skills.
fn shared_skills(places: &Places) -> PathBuf {
    places.home.join(".agents/skills")
}

/// A program's folder among the settings of all.
fn config(places: &Places, program: &str) -> PathBuf {
    places.folder("XDG_CONFIG_HOME", ".config").join(program)
}

fn either(folder: PathBuf, names: [&str; 2]) -> Vec<PathBuf> {
    names.iter().map(|name| folder.join(name)).collect()
}

/// The row of an agent, by its name.
pub fn of(agent: &str) -> Option<&'static ServerSpec> {
    ALL.iter().copied().find(|spec| spec.agent == agent)
}

impl ServerSpec {
    /// The agent's own folder; it is there if the agent is.
    pub fn home(&self, places: &Places) -> PathBuf {
        let of_hooks = || hooks::of(self.agent).map(|spec| (spec.home)(places));
        self.home.map(|home| home(places)).or_else(of_hooks).unwrap_or_default()
    }

    /// The file that names its servers, or that would.
    pub fn file(&self, places: &Places) -> PathBuf {
        let mut files = (self.files)(places);
        let there = files.iter().position(files::exists).unwrap_or_default();
        files.swap_remove(there)
    }

    /// The folder of our plugin, where the agent has it.
    pub fn plugin(&self, places: &Places) -> Option<PathBuf> {
        let home = self.home(places);
        match self.plugins?.split_once("/*/") {
            None => Some(home.join(self.plugins?)).filter(|folder| files::is_dir(folder)),
            Some((above, below)) => {
                let entries = files::read_dir(home.join(above)).ok()?.flatten();
                let mut folders: Vec<PathBuf> = entries
                    .map(|entry| entry.path().join(below))
                    .filter(|folder| files::is_dir(folder))
                    .collect();
                folders.sort();
                folders.into_iter().next()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::jsonc;

    #[test]
    fn every_row_can_be_found_and_written() {
        let places = Places { home: "/home/dev".into(), ..Places::default() };
        for spec in ALL {
            assert!(spec.home(&places).starts_with("/home/dev"), "{}", spec.agent);
            assert!(spec.file(&places).starts_with("/home/dev"), "{}", spec.agent);
            if let ServerShape::Json { entry, .. } | ServerShape::Yaml { entry, .. } = spec.shape {
                let entry = ["COMMAND", "ARGS", "LINE"]
                    .iter()
                    .fold(entry.to_string(), |entry, word| entry.replace(word, "1"));
                assert!(jsonc::value(&entry).is_some(), "{}: {entry}", spec.agent);
            }
        }
        for spec in hooks::ALL {
            assert!(of(spec.agent).is_some(), "{} has hooks and no server", spec.agent);
        }
    }
}
