//! The entry point for agents: a few milliseconds, and the agent always goes on.
//!
//! A hook only reads: it takes the index as it is, waits for no lock and writes no page. Longer work
//! is done by a process of its own, which `start` starts. Errors go into the device's log.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::adapters::hooks::{self, HookSpec, Limit};
use crate::adapters::{self, Adapter};
use crate::base::files;
use crate::error::Result;
use crate::memory::Memory;
use crate::ops::context::{Contents, ContextRequest, Injected};
use crate::ops::turns;
use crate::store::local;

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

/// A call of a hook as it comes in.
#[derive(Debug)]
pub struct HookCall {
    /// Which agent calls, as we name it.
    pub agent: String,
    /// At which moment, as the agent names it.
    pub event: String,
    /// What it sends, as JSON.
    pub input: Vec<u8>,
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
    let Some(adapter) = adapters::named(&call.agent) else {
        note("there is no such agent".into());
        return HookReply::default();
    };
    let Some(spec) = adapter.hooks() else {
        note("this agent has no hooks".into());
        return HookReply::default();
    };
    let input = match HookInput::read(&call.input) {
        Ok(input) => input,
        Err(reason) => {
            note(format!("cannot read what the agent sent: {reason}"));
            return HookReply::default();
        }
    };
    reply_to(call, adapter, &spec, &input, memory).unwrap_or_else(|error| {
        note(error.to_string());
        HookReply::default()
    })
}

fn reply_to(
    call: &HookCall,
    adapter: &dyn Adapter,
    spec: &HookSpec,
    input: &HookInput,
    memory: &Memory,
) -> Result<HookReply> {
    let same = |name: &&str| name.eq_ignore_ascii_case(&call.event.replace(['-', '_'], ""));
    let events = spec.events.iter().map(|event| event.name).chain([NOTIFY]);
    let Some(event) = events.into_iter().find(same) else {
        // An agent may know more events than we do.
        return Ok(HookReply::default());
    };
    let session = input.session_id.as_str();
    // What a subagent does is part of its session, which has hooks of its own.
    if !input.agent_id.is_empty() {
        return Ok(HookReply::default());
    }
    Ok(match event {
        hooks::SESSION_START => {
            let reset = input.source == "clear";
            if reset || input.source == "compact" {
                // What it was given is gone from its context.
                Injected::forget(memory.store(), session);
            }
            let page = page(input, spec, memory, Contents::All, memory.settings().context.budget)?;
            HookReply {
                output: output(event, &page),
                work: reset.then(|| flush(adapter, input, "reset", memory)),
            }
        }
        hooks::USER_PROMPT_SUBMIT => {
            let budget = memory.settings().context.budget;
            let (contents, budget) = match memory.settings().context.each_turn {
                true => (Contents::PromptAndDays, budget),
                false => (Contents::Prompt, budget.min(RECALL_BUDGET)),
            };
            let page = page(input, spec, memory, contents, budget)?;
            HookReply { output: output(event, &page), work: None }
        }
        hooks::STOP | NOTIFY => {
            let due = turns::count(memory.store(), session).unwrap_or(false);
            HookReply::of_work(due.then(|| flush(adapter, input, "interval", memory)))
        }
        hooks::PRE_COMPACT => HookReply::of_work(Some(flush(adapter, input, "precompact", memory))),
        hooks::POST_COMPACT => {
            Injected::forget(memory.store(), session);
            HookReply::default()
        }
        hooks::SESSION_END => {
            Injected::forget(memory.store(), session);
            turns::forget(memory.store(), session);
            let reason = if input.reason == "clear" { "reset" } else { "end" };
            HookReply::of_work(Some(flush(adapter, input, reason, memory)))
        }
        _ => HookReply::default(),
    })
}

/// The page for this moment, within what the agent takes.
fn page(
    input: &HookInput,
    spec: &HookSpec,
    memory: &Memory,
    contents: Contents,
    budget: usize,
) -> Result<String> {
    let prompt = crate::base::text::cut(input.prompt.trim(), LONGEST_PROMPT).to_string();
    let (budget, characters) = match spec.limit {
        Limit::Characters(limit) => (budget, limit),
        // Their tokens are not quite ours.
        Limit::Tokens(limit) => (budget.min(limit - limit / 5), usize::MAX),
    };
    let request = ContextRequest {
        project: None,
        folder: (!input.cwd.is_empty()).then(|| PathBuf::from(&input.cwd)),
        prompt: (!prompt.is_empty()).then_some(prompt),
        budget: Some(budget),
        characters: Some(characters),
        session: (!input.session_id.is_empty()).then(|| input.session_id.clone()),
        contents,
        strong_only: true,
        hurried: true,
        dry_run: false,
    };
    Ok(memory.context(request)?.text)
}

fn output(event: &str, page: &str) -> String {
    if page.is_empty() { String::new() } else { wire::additional_context(event, page) }
}

/// The program that takes a session in: what was said until now is in the memory before the agent
/// forgets it.
fn flush(adapter: &dyn Adapter, input: &HookInput, reason: &str, memory: &Memory) -> Vec<OsString> {
    let root = memory.layout().root();
    let mut arguments: Vec<OsString> = vec!["--store".into(), root.into(), "--quiet".into()];
    match files::is_file(std::path::Path::new(&input.transcript_path)) {
        // Some agents do not say where their log is, an old way of calling us never did, and it may
        // not be there yet.
        false => arguments.extend(["sweep".into(), "--only".into(), adapter.name().into()]),
        true => {
            // `=` keeps whatever they say from being taken for a flag.
            let named = |flag: &str, value: &str| OsString::from(format!("--{flag}={value}"));
            arguments.push("flush".into());
            arguments.push(named("transcript", &input.transcript_path));
            arguments.push(named("session", &input.session_id));
            arguments.push(named("reason", reason));
            arguments.push("--linger".into());
        }
    }
    arguments
}
