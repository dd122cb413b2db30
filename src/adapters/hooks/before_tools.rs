//! Two moments that a person has to ask for: before a tool edits or runs something, and when a
//! subagent starts.
//!
//! Only Claude Code and Codex document that a model is shown what is said there and that silence
//! decides nothing. Elsewhere a silent answer refuses the call (Antigravity), or a failing one does
//! (Copilot), so no other agent is ever given these hooks, and one that runs Claude Code's gets no
//! answer.

use super::table::{CLAUDE, CODEX};
use super::{HookEvent, HookSpec, Moment};

/// The version of a program: 2.1.325.
pub type Version = [u32; 3];

/// The event of a subagent's start.
pub const SUBAGENT_START: &str = "SubagentStart";

/// What is written for one agent.
struct Asked {
    /// Its usual row, and the same with a hook before tools.
    spec: &'static HookSpec,
    with_tools: &'static HookSpec,
    /// The same with one for subagents too, and the first version that is known to take it: an
    /// older one of Claude Code drops all settings for an event that it does not know.
    with_both: &'static HookSpec,
    since: Version,
}

const ASKED: &[Asked] = &[
    Asked {
        spec: &CLAUDE,
        with_tools: &HookSpec {
            events: &[
                CLAUDE.events[0], CLAUDE.events[1], CLAUDE.events[2], CLAUDE.events[3],
                CLAUDE.events[4], CLAUDE_TOOLS,
            ],
            ..CLAUDE
        },
        with_both: &HookSpec {
            events: &[
                CLAUDE.events[0], CLAUDE.events[1], CLAUDE.events[2], CLAUDE.events[3],
                CLAUDE.events[4], CLAUDE_TOOLS, SUBAGENT,
            ],
            ..CLAUDE
        },
        since: [2, 1, 138],
    },
    Asked {
        spec: &CODEX,
        with_tools: &HookSpec {
            events: &[
                CODEX.events[0], CODEX.events[1], CODEX.events[2], CODEX.events[3],
                CODEX.events[4], CODEX.events[5], CODEX_TOOLS,
            ],
            ..CODEX
        },
        with_both: &HookSpec {
            events: &[
                CODEX.events[0], CODEX.events[1], CODEX.events[2], CODEX.events[3],
                CODEX.events[4], CODEX.events[5], CODEX_TOOLS, SUBAGENT,
            ],
            ..CODEX
        },
        since: [0, 166, 0],
    },
];

/// The tools that change files or run commands, as each agent calls them.
const CLAUDE_TOOLS: HookEvent = before_tool("Edit|MultiEdit|Write|NotebookEdit|Bash");
const CODEX_TOOLS: HookEvent = before_tool("Bash|apply_patch");
const SUBAGENT: HookEvent = HookEvent {
    name: SUBAGENT_START,
    moment: Moment::SubagentStart,
    timeout: 5,
    takes_text: true,
    matcher: None,
};

const fn before_tool(tools: &'static str) -> HookEvent {
    HookEvent {
        name: "PreToolUse",
        moment: Moment::BeforeTool,
        timeout: 5,
        takes_text: true,
        matcher: Some(tools),
    }
}

/// An agent's hooks with those that were asked for, as far as its version is known to take them;
/// `None` where it has none.
pub fn asked_for(agent: &str, version: Option<Version>) -> Option<&'static HookSpec> {
    let asked = ASKED.iter().find(|asked| asked.spec.agent == agent)?;
    let takes_both = version.is_some_and(|version| version >= asked.since);
    Some(if takes_both { asked.with_both } else { asked.with_tools })
}

/// The names of the events that a person may have asked for.
pub fn names(agent: &str) -> impl Iterator<Item = &'static str> {
    asked_events(agent).iter().map(|event| event.name)
}

/// The event of an agent at one of these moments.
pub fn event(agent: &str, is: impl Fn(&HookEvent) -> bool) -> Option<&'static HookEvent> {
    asked_events(agent).iter().find(|event| is(event))
}

fn asked_events(agent: &str) -> &'static [HookEvent] {
    let asked = ASKED.iter().find(|asked| asked.spec.agent == agent);
    asked.map_or(&[], |asked| &asked.with_both.events[asked.spec.events.len()..])
}

/// The version that a program says it has: the first three numbers of `2.1.325 (Claude Code)`.
pub fn version(said: &str) -> Option<Version> {
    let word = said.split(|c: char| !(c.is_ascii_digit() || c == '.'));
    let mut numbers = word.filter(|word| word.contains('.')).map(|word| {
        let mut parts = word.split('.').map(|part| part.parse::<u32>().ok());
        Some([parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)])
    });
    numbers.find_map(|version| version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::hooks::ALL;

    #[test]
    fn only_two_agents_have_them_and_only_when_asked() {
        for spec in ALL {
            let usual = spec.events.iter().map(|event| event.moment);
            assert!(!usual.clone().any(|one| one == Moment::BeforeTool), "{}", spec.agent);
            assert!(!usual.clone().any(|one| one == Moment::SubagentStart), "{}", spec.agent);
            let asked = asked_for(spec.agent, Some([99, 0, 0]));
            assert_eq!(asked.is_some(), ["claude", "codex"].contains(&spec.agent));
            if let Some(asked) = asked {
                let same = asked.events.iter().zip(spec.events).all(|(a, b)| a.name == b.name);
                assert!(same && asked.events.len() == spec.events.len() + 2, "{}", spec.agent);
            }
        }
    }

    #[test]
    fn an_older_version_gets_no_event_that_it_does_not_know() {
        let has = |version| {
            let spec = asked_for("claude", version).unwrap();
            spec.events.iter().any(|event| event.name == "SubagentStart")
        };
        assert!(has(version("2.1.325 (Claude Code)")));
        assert!(!has(version("2.0.76 (Claude Code)")) && !has(None));
        assert_eq!(version("codex-cli 0.166.0-alpha.1"), Some([0, 166, 0]));
        assert_eq!(version("no numbers"), None);
        assert_eq!(version("1.0"), Some([1, 0, 0]));
    }
}
