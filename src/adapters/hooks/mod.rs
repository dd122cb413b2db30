//! How agents call us: at which moments, where that is set up, and what they take in return.
//!
//! What the agents' documentation and programs fix, as data: one row for each agent, in [`ALL`].
//! `hooks/` answers the calls, `ops/install/` sets them up.

use std::path::PathBuf;

use super::Places;
use crate::base::files;

pub mod before_tools;
mod table;

pub use table::ALL;
#[cfg(test)]
pub use table::{CLAUDE, CODEX};

/// How one agent calls a program at certain moments.
#[derive(Debug, Clone, Copy)]
pub struct HookSpec {
    /// The agent as we name it.
    pub agent: &'static str,
    /// Where the agent's own folder is; it is there if the agent is.
    pub home: fn(&Places) -> PathBuf,
    /// The file that holds its hooks.
    pub file: fn(&Places) -> PathBuf,
    /// The TOML file in its folder that may hold them instead.
    pub toml: Option<&'static str>,
    /// What that file looks like.
    pub shape: Shape,
    /// The row that counts instead where its file is there: the agent then looks nowhere else.
    pub instead: Option<&'static HookSpec>,
    /// The events, in the order in which they are written.
    pub events: &'static [HookEvent],
    /// Events that an earlier version of ours wrote and this one does not.
    pub former: &'static [&'static str],
    /// How it is told what the memory has for it.
    pub answer: AnswerForm,
    /// How much text it takes from one hook.
    pub limit: Limit,
    /// Whether every version of it says when a session ends. Where not, each answer may be the
    /// last.
    pub says_when_it_ends: bool,
    /// Whether the log that it names is the whole session.
    pub names_whole_log: bool,
    /// The agents whose hooks it runs besides its own.
    pub runs_hooks_of: &'static [&'static str],
    /// What is in all of its calls, and in no call of those agents.
    pub signs: Signs,
    /// What a person still has to do after the hooks are written.
    pub afterwards: Option<&'static str>,
}

/// One event at which an agent calls.
#[derive(Debug, Clone, Copy)]
pub struct HookEvent {
    /// As the agent spells it.
    pub name: &'static str,
    pub moment: Moment,
    /// After how many seconds the agent gives up on us.
    pub timeout: u32,
    /// Whether the model gets to see what we answer.
    pub takes_text: bool,
    /// For which tools it calls, where it says so of calls of tools.
    pub matcher: Option<&'static str>,
}

/// What happens at an event, whatever the agent calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    SessionStart,
    Prompt,
    /// Before each call of the model, in an agent that has no event for a session's start.
    ModelCall,
    /// An answer is complete.
    TurnEnd,
    BeforeCompaction,
    AfterCompaction,
    SessionEnd,
    /// Before a tool edits a file or runs a command.
    BeforeTool,
    SubagentStart,
}

/// What a file with hooks looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `hooks` → event → groups → `hooks` → handlers: Claude Code's, which most have taken over.
    /// Some count the time in milliseconds.
    Groups { milliseconds: bool },
    /// Event → groups, in a file that has nothing but hooks.
    BareGroups,
    /// `hooks` → event → handlers, in a file that names its version; whether a handler says of what
    /// kind it is, and how it names its time.
    Handlers { typed: bool, timeout: &'static str },
    /// Our name → event → handlers.
    Named,
    /// A program of ours in the agent's own language.
    Plugin(&'static str),
}

/// The form in which an agent takes text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerForm {
    /// `{"hookSpecificOutput": {"hookEventName": …, "additionalContext": …}}`
    Nested,
    /// `{"additionalContext": …}`
    TopLevel,
    /// `{"additional_context": …}`
    SnakeCase,
    /// `{"injectSteps": [{"ephemeralMessage": …}]}`, and `{}` for nothing.
    Steps,
}

/// How the calls of an agent are known from those of another whose hooks it runs.
#[derive(Debug, Clone, Copy)]
pub struct Signs {
    /// Fields of what it sends: all of them are there.
    pub fields: &'static [&'static str],
    /// A variable that it sets. Programs that it starts inherit it, so fields have to agree.
    pub variable: Option<&'static str>,
}

/// How much an agent takes from one hook before it puts the rest elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Characters(usize),
    Tokens(usize),
}

/// The hooks of an agent, by its name.
pub fn of(agent: &str) -> Option<&'static HookSpec> {
    ALL.iter().copied().find(|spec| spec.agent == agent)
}

impl HookSpec {
    /// The event of a name, however that is spelt. Those that an earlier version of ours wrote are
    /// answered as long as somebody calls them.
    pub fn event(&self, name: &str) -> Option<Moment> {
        let name = name.replace(['-', '_'], "");
        let same = |other: &str| other.eq_ignore_ascii_case(&name);
        let event = self.events.iter().find(|event| same(event.name)).map(|event| event.moment);
        let former = || self.former.iter().any(|event| same(event));
        let asked = || before_tools::event(self.agent, |event| same(event.name));
        event
            .or_else(|| asked().map(|event| event.moment))
            .or_else(|| former().then_some(Moment::AfterCompaction))
    }

    /// The row that counts on this machine.
    pub fn in_force(&self, places: &Places) -> &HookSpec {
        self.instead.filter(|other| files::exists((other.file)(places))).unwrap_or(self)
    }

    /// The event at a moment, where the agent has one.
    pub fn at(&self, moment: Moment) -> Option<&'static HookEvent> {
        let own = self.events.iter().find(|event| event.moment == moment);
        own.or_else(|| before_tools::event(self.agent, |event| event.moment == moment))
    }
}
