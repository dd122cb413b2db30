//! How agents call us: at which events, where that is set up, and how much they take in return.
//!
//! What the agents' documentation fixes, as data. `hooks/` answers the calls, `ops/install.rs` sets
//! them up.

use std::path::PathBuf;

use super::Places;

/// How one agent calls a program at certain moments.
#[derive(Debug, Clone, Copy)]
pub struct HookSpec {
    /// The events, in the order in which they are written into the settings.
    pub events: &'static [HookEvent],
    /// Where the agent's own folder is; it is there if the agent is.
    pub home: fn(&Places) -> PathBuf,
    /// The file within it that holds its hooks as JSON.
    pub json: &'static str,
    /// The TOML file that may hold them instead.
    pub toml: Option<&'static str>,
    /// Events that an earlier version of ours wrote and this one does not.
    pub former: &'static [&'static str],
    /// How much text it takes from one hook.
    pub limit: Limit,
    /// What a person still has to do after the hooks are written.
    pub afterwards: Option<&'static str>,
}

/// One event at which an agent calls.
#[derive(Debug, Clone, Copy)]
pub struct HookEvent {
    /// As the agent spells it.
    pub name: &'static str,
    /// After how many seconds the agent gives up on us.
    pub timeout: u32,
}

/// How much an agent takes from one hook before it puts the rest elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Characters(usize),
    Tokens(usize),
}

/// The events that both agents have, by one name.
pub const SESSION_START: &str = "SessionStart";
pub const USER_PROMPT_SUBMIT: &str = "UserPromptSubmit";
pub const STOP: &str = "Stop";
pub const PRE_COMPACT: &str = "PreCompact";
pub const POST_COMPACT: &str = "PostCompact";
pub const SESSION_END: &str = "SessionEnd";

/// Claude Code: `settings.json`, hooks page of August 2026. A session's end waits 1.5 seconds for
/// its hooks.
///
/// Only events that every version knows: 2.0 drops the whole file, with its permission rules, for an
/// unknown one. After a compaction it calls `SessionStart`, so `PostCompact` is not missed.
pub const CLAUDE: HookSpec = HookSpec {
    events: &[
        HookEvent { name: SESSION_START, timeout: 10 },
        HookEvent { name: USER_PROMPT_SUBMIT, timeout: 10 },
        HookEvent { name: STOP, timeout: 10 },
        HookEvent { name: PRE_COMPACT, timeout: 10 },
        HookEvent { name: SESSION_END, timeout: 10 },
    ],
    former: &[POST_COMPACT],
    home: |places| places.folder("CLAUDE_CONFIG_DIR", ".claude"),
    json: "settings.json",
    toml: None,
    limit: Limit::Characters(10_000),
    afterwards: None,
};

/// Codex: `hooks.json` beside `config.toml`, or tables in the latter. Its hooks are a line for the
/// shell, and it caps the end of a session at three seconds.
pub const CODEX: HookSpec = HookSpec {
    events: &[
        HookEvent { name: SESSION_START, timeout: 10 },
        HookEvent { name: USER_PROMPT_SUBMIT, timeout: 10 },
        HookEvent { name: STOP, timeout: 10 },
        HookEvent { name: PRE_COMPACT, timeout: 10 },
        HookEvent { name: POST_COMPACT, timeout: 10 },
        HookEvent { name: SESSION_END, timeout: 3 },
    ],
    former: &[],
    home: |places| places.folder("CODEX_HOME", ".codex"),
    json: "hooks.json",
    toml: Some("config.toml"),
    limit: Limit::Tokens(2_500),
    afterwards: Some("Codex runs hooks only once you trust them: type `/hooks` in it, then `t`"),
};
