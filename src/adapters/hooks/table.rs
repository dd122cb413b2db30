//! The agents that have hooks, one row each.
//!
//! "Tried" names the version of the real program that was run with these hooks (November 2026). Two
//! events are in no row: a tool's call, which some agents refuse when a hook is silent (see
//! `before_tools.rs`), and whatever only some versions of an agent know, since an unknown event can
//! cost a whole file.

use super::{AnswerForm, HookEvent, HookSpec, Limit, Moment, Shape, Signs};
use crate::adapters::Places;

/// Every agent with hooks.
pub const ALL: &[&HookSpec] = &[
    &CODEX, &COPILOT, &PI, &CLAUDE, &QWEN, &GEMINI, &ANTIGRAVITY, &OPENCODE, &KILO, &CURSOR, &GROK,
    &GOOSE, &DROID,
];

const NO_SIGNS: Signs = Signs { fields: &[], variable: None };

/// An event at which the model sees what we answer.
const fn answered(name: &'static str, moment: Moment) -> HookEvent {
    HookEvent { name, moment, timeout: 10, takes_text: true, matcher: None }
}

/// An event at which we only take note.
const fn noted(name: &'static str, moment: Moment) -> HookEvent {
    HookEvent { name, moment, timeout: 10, takes_text: false, matcher: None }
}

/// Claude Code: hooks page of August 2026; tried: 2.0.76, 2.1.138, 2.1.325. A session's end waits
/// 1.5 seconds for its hooks.
///
/// Only events that every version knows: 2.0 drops the whole file, with its permission rules, for
/// an unknown one. After a compaction it calls `SessionStart`, so `PostCompact` is not missed.
pub const CLAUDE: HookSpec = HookSpec {
    agent: "claude",
    home: |places| places.folder("CLAUDE_CONFIG_DIR", ".claude"),
    file: |places| places.folder("CLAUDE_CONFIG_DIR", ".claude").join("settings.json"),
    toml: None,
    shape: Shape::Groups { milliseconds: false },
    instead: None,
    events: &[
        answered("SessionStart", Moment::SessionStart),
        answered("UserPromptSubmit", Moment::Prompt),
        noted("Stop", Moment::TurnEnd),
        noted("PreCompact", Moment::BeforeCompaction),
        noted("SessionEnd", Moment::SessionEnd),
    ],
    former: &["PostCompact"],
    answer: AnswerForm::Nested,
    limit: Limit::Characters(10_000),
    says_when_it_ends: true,
    names_whole_log: true,
    runs_hooks_of: &[],
    signs: NO_SIGNS,
    afterwards: None,
};

/// Codex: `hooks.json` beside `config.toml`, or tables in the latter; tried: 0.166. It caps the end
/// of a session at three seconds, and 0.144 does not call it at all.
pub const CODEX: HookSpec = HookSpec {
    agent: "codex",
    home: |places| places.folder("CODEX_HOME", ".codex"),
    file: |places| places.folder("CODEX_HOME", ".codex").join("hooks.json"),
    toml: Some("config.toml"),
    events: &[
        answered("SessionStart", Moment::SessionStart),
        answered("UserPromptSubmit", Moment::Prompt),
        noted("Stop", Moment::TurnEnd),
        noted("PreCompact", Moment::BeforeCompaction),
        noted("PostCompact", Moment::AfterCompaction),
        HookEvent { timeout: 3, ..noted("SessionEnd", Moment::SessionEnd) },
    ],
    former: &[],
    limit: Limit::Tokens(2_500),
    says_when_it_ends: false,
    afterwards: Some("Codex runs hooks only once you trust them: type `/hooks` in it, then `t`"),
    ..CLAUDE
};

/// What the others share with Claude Code: all but the event that we once wrote there, and that the
/// log which a hook names is the whole one.
const LIKE_CLAUDE: HookSpec = HookSpec { former: &[], names_whole_log: false, ..CLAUDE };

/// Gemini CLI: `settings.json`; tried: 0.61, where those of an extension run just as well. Its
/// event before a compaction comes before every call of the model, so it is not hooked.
const GEMINI: HookSpec = HookSpec {
    agent: "gemini",
    home: |places| places.folder("GEMINI_CLI_HOME", "").join(".gemini"),
    file: |places| places.folder("GEMINI_CLI_HOME", "").join(".gemini/settings.json"),
    shape: Shape::Groups { milliseconds: true },
    events: &[
        answered("SessionStart", Moment::SessionStart),
        answered("BeforeAgent", Moment::Prompt),
        noted("AfterAgent", Moment::TurnEnd),
        noted("SessionEnd", Moment::SessionEnd),
    ],
    ..LIKE_CLAUDE
};

/// Antigravity, the program and the editor: by reports on 1.1 and 1.2, not tried. It says nothing
/// of a session's start or end, and a silent answer to a tool's call refuses it: neither is hooked.
const ANTIGRAVITY: HookSpec = HookSpec {
    agent: "antigravity",
    home: |places| places.home.join(".gemini/antigravity-cli"),
    file: |places| places.home.join(".gemini/config/hooks.json"),
    shape: Shape::Named,
    events: &[answered("PreInvocation", Moment::ModelCall), noted("Stop", Moment::TurnEnd)],
    answer: AnswerForm::Steps,
    says_when_it_ends: false,
    ..LIKE_CLAUDE
};

/// Qwen Code: `settings.json`, with the events of Claude Code; tried: 0.24. Without a screen it
/// does not say when a session ends.
const QWEN: HookSpec = HookSpec {
    agent: "qwen",
    home: |places| places.home.join(".qwen"),
    file: |places| places.home.join(".qwen/settings.json"),
    shape: Shape::Groups { milliseconds: true },
    says_when_it_ends: false,
    ..LIKE_CLAUDE
};

/// Cursor, the editor and `cursor-agent`: by its documentation of autumn 2026, not tried. What is
/// answered to a prompt is not shown to the model.
const CURSOR: HookSpec = HookSpec {
    agent: "cursor",
    home: |places| places.home.join(".cursor"),
    file: |places| places.home.join(".cursor/hooks.json"),
    shape: Shape::Handlers { typed: false, timeout: "timeout" },
    events: &[
        answered("sessionStart", Moment::SessionStart),
        noted("stop", Moment::TurnEnd),
        noted("preCompact", Moment::BeforeCompaction),
        noted("sessionEnd", Moment::SessionEnd),
    ],
    answer: AnswerForm::SnakeCase,
    runs_hooks_of: &["claude"],
    signs: Signs { fields: &["conversation_id", "workspace_roots"], variable: None },
    ..LIKE_CLAUDE
};

/// Copilot CLI: any file in `~/.copilot/hooks`; tried: 1.0.102, where the model sees both answers.
/// It runs the hooks in a repository's `.claude/settings.json` too.
const COPILOT: HookSpec = HookSpec {
    agent: "copilot",
    home: |places| places.folder("COPILOT_HOME", ".copilot"),
    file: |places| places.folder("COPILOT_HOME", ".copilot").join("hooks/memtree.json"),
    shape: Shape::Handlers { typed: true, timeout: "timeoutSec" },
    events: &[
        answered("sessionStart", Moment::SessionStart),
        answered("userPromptSubmitted", Moment::Prompt),
        noted("agentStop", Moment::TurnEnd),
        noted("preCompact", Moment::BeforeCompaction),
        noted("sessionEnd", Moment::SessionEnd),
    ],
    answer: AnswerForm::TopLevel,
    runs_hooks_of: &["claude"],
    signs: Signs { fields: &["timestamp"], variable: Some("COPILOT_CLI") },
    ..LIKE_CLAUDE
};

/// Grok: any file in `~/.grok/hooks`; tried: 1.0.41. It shows the model nothing of what hooks
/// answer, and runs the hooks of two others.
const GROK: HookSpec = HookSpec {
    agent: "grok",
    home: |places| places.folder("GROK_HOME", ".grok"),
    file: |places| places.folder("GROK_HOME", ".grok").join("hooks/memtree.json"),
    events: &[
        noted("Stop", Moment::TurnEnd),
        noted("PreCompact", Moment::BeforeCompaction),
        noted("SessionEnd", Moment::SessionEnd),
    ],
    runs_hooks_of: &["claude", "cursor"],
    signs: Signs { fields: &["hookEventName", "workspaceRoot"], variable: None },
    ..LIKE_CLAUDE
};

/// Goose: a plugin's `hooks.json`; tried: 1.52. It only lets hooks look on.
const GOOSE: HookSpec = HookSpec {
    agent: "goose",
    home: |places| places.folder("XDG_DATA_HOME", ".local/share").join("goose"),
    file: |places| places.home.join(".agents/plugins/memtree/hooks/hooks.json"),
    events: &[noted("Stop", Moment::TurnEnd), noted("SessionEnd", Moment::SessionEnd)],
    ..LIKE_CLAUDE
};

/// Droid: `settings.json`, with the events of Claude Code; tried: 0.215. Where there is a
/// `hooks.json`, it does not look at those in the settings: to make one would switch off the
/// person's own.
const DROID: HookSpec = HookSpec {
    file: |places| places.home.join(".factory/settings.json"),
    shape: Shape::Groups { milliseconds: false },
    instead: Some(&DROID_HOOKS_FILE),
    ..DROID_HOOKS_FILE
};

const DROID_HOOKS_FILE: HookSpec = HookSpec {
    agent: "droid",
    home: |places| places.home.join(".factory"),
    file: |places| places.home.join(".factory/hooks.json"),
    shape: Shape::BareGroups,
    ..LIKE_CLAUDE
};

/// OpenCode: a module in its folder of plugins, which calls us as the others do.
const OPENCODE: HookSpec = HookSpec {
    agent: "opencode",
    home: |places| config(places, "opencode"),
    file: |places| config(places, "opencode").join("plugins/memtree.js"),
    shape: Shape::Plugin(include_str!("../../../templates/plugins/opencode.js")),
    events: &[
        answered("SessionStart", Moment::SessionStart),
        answered("UserPromptSubmit", Moment::Prompt),
        noted("Stop", Moment::TurnEnd),
        noted("PreCompact", Moment::BeforeCompaction),
    ],
    answer: AnswerForm::TopLevel,
    says_when_it_ends: false,
    ..LIKE_CLAUDE
};

/// Kilo: OpenCode's successor in another house, with the same plugins.
const KILO: HookSpec = HookSpec {
    agent: "kilo",
    home: |places| config(places, "kilo"),
    file: |places| config(places, "kilo").join("plugins/memtree.js"),
    ..OPENCODE
};

/// Pi: an extension in its own folder.
const PI: HookSpec = HookSpec {
    agent: "pi",
    home: |places| places.folder("PI_CODING_AGENT_DIR", ".pi/agent"),
    file: |places| places.folder("PI_CODING_AGENT_DIR", ".pi/agent").join("extensions/memtree.ts"),
    shape: Shape::Plugin(include_str!("../../../templates/plugins/pi.ts")),
    events: &[
        answered("SessionStart", Moment::SessionStart),
        answered("UserPromptSubmit", Moment::Prompt),
        noted("Stop", Moment::TurnEnd),
        noted("PreCompact", Moment::BeforeCompaction),
        noted("SessionEnd", Moment::SessionEnd),
    ],
    answer: AnswerForm::TopLevel,
    ..LIKE_CLAUDE
};

/// A program's folder among the settings of all.
fn config(places: &Places, program: &str) -> std::path::PathBuf {
    places.folder("XDG_CONFIG_HOME", ".config").join(program)
}
