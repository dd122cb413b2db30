//! The entry point for agents: a few milliseconds, and the agent always goes on.
//!
//! A hook only reads: it takes the index as it is, waits for no lock and writes no page. Longer
//! work is done by a process of its own, which `start` starts. Errors go into the device's log.

use std::cell::Cell;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::adapters;
use crate::adapters::hooks::{self, HookSpec, Limit, Moment};
use crate::base::files;
use crate::error::Result;
use crate::memory::Memory;
use crate::ops::answered::{self, EventCall};
use crate::ops::context::{Contents, ContextRequest, Injected};
use crate::ops::{callers, turns};
use crate::store::local;

mod caller;
mod start;
mod wire;

pub use start::{INVOKED_BY, start_detached};

use wire::HookInput;

/// The event of Codex's older `notify`, whose input is the last argument.
pub const NOTIFY: &str = "notify";
/// How much of an agent's input is read.
pub const LONGEST_CALL: u64 = 16 << 20;
/// How much of a prompt is searched for.
const LONGEST_PROMPT: usize = 8 << 10;
/// How many lines on a prompt are worth an agent's attention, in tokens.
const RECALL_BUDGET: usize = 500;
/// The same on a call of a tool, and for a subagent.
const CALL_BUDGET: usize = 240;
const SUBAGENT_BUDGET: usize = 400;

/// A call of a hook as it comes in.
#[derive(Debug)]
pub struct HookCall {
    /// Which agent calls, as we name it.
    pub agent: String,
    /// At which moment, as the agent names it.
    pub event: String,
    /// What it sends, as JSON.
    pub input: Vec<u8>,
    /// Whether the hook is our plugin's, not one that `install` wrote.
    pub is_plugins: bool,
}

/// What a call is answered with.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HookReply {
    /// What is written to the agent; empty means nothing.
    pub output: String,
    /// The arguments of the program that does the rest.
    pub work: Option<Vec<OsString>>,
}

impl HookReply {
    fn of_work(work: Option<Vec<OsString>>) -> HookReply {
        HookReply { output: String::new(), work }
    }
}

/// Answers a call. An error is noted in the device's log, and the reply is then empty.
pub fn answer(call: &HookCall, memory: &Memory) -> HookReply {
    let note = |what: String| {
        local::note(
            memory.layout(),
            memory.now(),
            &format!("hook {} {}: {what}", call.agent, call.event),
        )
    };
    let Some(named) = hooks::of(&call.agent) else {
        note("memtree knows no hooks of such an agent".into());
        return HookReply::default();
    };
    let input = match HookInput::read(&call.input) {
        Ok(input) => input,
        Err(reason) => {
            note(format!("cannot read what the agent sent: {reason}"));
            return HookReply::default();
        }
    };
    // An agent may know more events than we do.
    let moment =
        if call.event == NOTIFY { Some(Moment::TurnEnd) } else { named.event(&call.event) };
    let Some(moment) = moment else { return HookReply::default() };
    let caller = caller::of(named, &input, &memory.environment().places);
    if let Some(caller) = caller.filter(|caller| caller.agent != named.agent) {
        callers::note(memory.store(), named.agent, caller.agent);
        // One event, one answer: its own hooks see to it.
        if files::exists(memory.layout().installed(caller.agent)) {
            return HookReply::default();
        }
    }
    // Our plugin and `install` may both be there: one event, one answer.
    let what = [&call.event, &input.prompt, &input.source, &input.agent_id, &input.occasion];
    let event = what.map(String::as_str).join("\n");
    let (session, is_plugins) = (input.session_id.as_str(), call.is_plugins);
    let event_call = EventCall { session, event: &event, is_plugins };
    if !answered::is_first(memory.store(), event_call, memory.now()) {
        return HookReply::default();
    }
    reply_to(moment, caller, &input, memory).unwrap_or_else(|error| {
        note(error.to_string());
        HookReply::default()
    })
}

/// What a call is answered with. An agent that we do not know gets no text.
fn reply_to(
    moment: Moment,
    caller: Option<&'static HookSpec>,
    input: &HookInput,
    memory: &Memory,
) -> Result<HookReply> {
    let session = input.session_id.as_str();
    if matches!(moment, Moment::BeforeTool | Moment::SubagentStart) {
        let page = |spec: &HookSpec| on_request(moment, input, spec, memory);
        return Ok(HookReply { output: output(moment, caller, page)?, work: None });
    }
    // What a subagent does is part of its session, which has hooks of its own.
    if !input.agent_id.is_empty() {
        return Ok(HookReply::default());
    }
    Ok(match moment {
        Moment::SessionStart => {
            let reset = input.source == "clear";
            if reset || input.source == "compact" {
                // What it was given is gone from its context.
                Injected::forget(memory.store(), session);
            }
            let pages = Pages::of(moment, input, memory);
            let budget = memory.settings().context.budget;
            let page = |spec: &HookSpec| pages.page(spec, Contents::All, budget);
            let output = output(moment, caller, page)?;
            let work = reset.then(|| flush(caller, input, "reset", memory));
            HookReply { output, work: work.or_else(|| pages.refresh()) }
        }
        Moment::ModelCall => {
            let is_first = !files::exists(memory.layout().injected(&turns::key(session)));
            let pages = Pages::of(moment, input, memory);
            let budget = memory.settings().context.budget;
            let page = |spec: &HookSpec| match is_first {
                true => pages.page(spec, Contents::All, budget),
                false => Ok(String::new()),
            };
            HookReply { output: output(moment, caller, page)?, work: pages.refresh() }
        }
        Moment::Prompt => {
            let budget = memory.settings().context.budget;
            let (contents, budget) = match memory.settings().context.each_turn {
                true => (Contents::PromptAndDays, budget),
                false => (Contents::Prompt, budget.min(RECALL_BUDGET)),
            };
            let pages = Pages::of(moment, input, memory);
            let page = |spec: &HookSpec| match input.is_typed_by_person() {
                true => pages.page(spec, contents, budget),
                false => Ok(String::new()),
            };
            HookReply { output: output(moment, caller, page)?, work: pages.refresh() }
        }
        Moment::TurnEnd => {
            let turn = turns::count(memory.store(), session).unwrap_or_default();
            let says_when_it_ends = caller.is_none_or(|caller| caller.says_when_it_ends);
            HookReply::of_work(match turns::is_due(turn) {
                true => Some(flush(caller, input, "interval", memory)),
                false if says_when_it_ends || turn == 0 => None,
                false => Some(sweep_when_quiet(caller, session, turn, memory)),
            })
        }
        Moment::BeforeCompaction => {
            HookReply::of_work(Some(flush(caller, input, "precompact", memory)))
        }
        Moment::AfterCompaction => {
            Injected::forget(memory.store(), session);
            HookReply::default()
        }
        // Answered above.
        Moment::BeforeTool | Moment::SubagentStart => HookReply::default(),
        Moment::SessionEnd => {
            Injected::end(memory.store(), session, memory.now());
            turns::forget(memory.store(), session);
            let reason = if input.reason == "clear" { "reset" } else { "end" };
            HookReply::of_work(Some(flush(caller, input, reason, memory)))
        }
    })
}

/// What surely bears on the call that a tool is about to make, or what a subagent should know of
/// the project. A subagent has a context of its own, so what its session has seen is new to it.
fn on_request(
    moment: Moment,
    input: &HookInput,
    spec: &HookSpec,
    memory: &Memory,
) -> Result<String> {
    if moment == Moment::BeforeTool && input.call.is_none() {
        return Ok(String::new());
    }
    let session = match input.agent_id.is_empty() {
        true => input.session_id.clone(),
        false => format!("{}/{}", input.session_id, input.agent_id),
    };
    let budget = memory.settings().context.budget;
    let mut own = input.clone();
    own.prompt.clear();
    own.session_id = session;
    let pages = Pages::of(moment, &own, memory);
    match moment {
        Moment::BeforeTool => pages.page(spec, Contents::Prompt, budget.min(CALL_BUDGET)),
        _ => pages.page(spec, Contents::Project, budget.min(SUBAGENT_BUDGET)),
    }
}

/// The pages that a call is answered with.
struct Pages<'c> {
    moment: Moment,
    input: &'c HookInput,
    memory: &'c Memory,
    /// Whether there was no index to look into.
    lacks_index: Cell<bool>,
}

impl<'c> Pages<'c> {
    fn of(moment: Moment, input: &'c HookInput, memory: &'c Memory) -> Pages<'c> {
        Pages { moment, input, memory, lacks_index: Cell::new(false) }
    }

    /// The page for this moment, within what the agent takes.
    fn page(&self, spec: &HookSpec, contents: Contents, budget: usize) -> Result<String> {
        let Pages { moment, input, memory, .. } = self;
        let prompt = crate::base::text::cut(input.prompt.trim(), LONGEST_PROMPT).to_string();
        let (budget, characters) = match spec.limit {
            Limit::Characters(limit) => (budget, limit),
            // Their tokens are not quite ours.
            Limit::Tokens(limit) => (budget.min(limit - limit / 5), usize::MAX),
        };
        let request = ContextRequest {
            folder: (!input.cwd.is_empty()).then(|| PathBuf::from(&input.cwd)),
            prompt: (!prompt.is_empty()).then_some(prompt),
            call: input.call.clone().filter(|_| *moment == Moment::BeforeTool),
            budget: Some(budget),
            characters: Some(characters),
            session: (!input.session_id.is_empty()).then(|| input.session_id.clone()),
            agent: Some(spec.agent.to_string()),
            moment: spec.at(*moment).map(|event| event.name.to_string()),
            contents,
            strong_only: true,
            hurried: true,
            resumed: *moment == Moment::SessionStart && input.source == "resume",
            ..ContextRequest::default()
        };
        let report = memory.context(request)?;
        self.lacks_index.set(report.lacks_index);
        Ok(report.text)
    }

    /// The program that makes the index, where it is gone: a search does, and nobody may ask for
    /// one soon.
    fn refresh(&self) -> Option<Vec<OsString>> {
        let has_sessions = || self.memory.store().session_ids().is_ok_and(|ids| !ids.is_empty());
        (self.lacks_index.get() && has_sessions()).then(|| {
            let mut arguments = program(self.memory, "search");
            arguments.extend(["--limit=1".into(), "index".into()]);
            arguments
        })
    }
}

/// A page in the form in which the agent that calls takes it at this moment; nothing where it takes
/// none, or where there is none.
fn output(
    moment: Moment,
    caller: Option<&HookSpec>,
    page: impl Fn(&HookSpec) -> Result<String>,
) -> Result<String> {
    let event = caller.and_then(|caller| Some((caller, caller.at(moment)?)));
    match event.filter(|(_, event)| event.takes_text) {
        Some((caller, event)) => Ok(wire::answer(caller.answer, event.name, &page(caller)?)),
        None => Ok(String::new()),
    }
}

/// The program that takes a session in: what was said until now is in the memory before the agent
/// forgets it.
fn flush(
    caller: Option<&HookSpec>,
    input: &HookInput,
    reason: &str,
    memory: &Memory,
) -> Vec<OsString> {
    let log = std::path::Path::new(&input.transcript_path);
    let Some(caller) = caller.filter(|_| !input.session_id.is_empty()) else {
        return sweep(caller, memory);
    };
    // `=` keeps whatever they say from being taken for a flag.
    let named = |flag: &str, value: &str| OsString::from(format!("--{flag}={value}"));
    let mut arguments = program(memory, "flush");
    // Some agents do not say where their log is, an old way of calling us never did, it may be only
    // a part of what they keep, and it may not be there yet.
    arguments.push(match caller.names_whole_log && files::is_file(log) {
        true => named("transcript", &input.transcript_path),
        false => named("agent", caller.agent),
    });
    arguments.extend([named("session", &input.session_id), named("reason", reason)]);
    arguments.push("--linger".into());
    arguments
}

/// The program that takes in what an agent has written; all agents, where it is not known which one
/// calls.
fn sweep(caller: Option<&HookSpec>, memory: &Memory) -> Vec<OsString> {
    let mut arguments = program(memory, "sweep");
    // An agent may have hooks that we know and logs that we do not.
    if let Some(caller) = caller.filter(|caller| adapters::named(caller.agent).is_some()) {
        arguments.extend(["--only".into(), caller.agent.into()]);
    }
    arguments
}

/// The same, once a session has been quiet for a while: this turn may have been its last, and
/// nobody would say so.
fn sweep_when_quiet(
    caller: Option<&HookSpec>,
    session: &str,
    turn: u64,
    memory: &Memory,
) -> Vec<OsString> {
    let mut arguments = sweep(caller, memory);
    arguments.push(format!("--session={session}").into());
    arguments.push(format!("--after-turn={turn}").into());
    arguments
}

fn program(memory: &Memory, verb: &str) -> Vec<OsString> {
    vec!["--store".into(), memory.layout().root().into(), "--quiet".into(), verb.into()]
}
