//! The entry point for agents: a few milliseconds, and the agent always goes on.
//!
//! A hook only looks: it takes the index as it is, waits for no lock and writes no page. Whatever
//! takes longer is work for a program of its own, which `start` sends off. Trouble goes into the
//! device's log.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::adapters::hooks::{self, HookSpec, Limit};
use crate::adapters::{self, Adapter};
use crate::base::clock::Timestamp;
use crate::error::Result;
use crate::ops::context::{Contents, ContextRequest, Injected, context};
use crate::ops::turns;
use crate::settings::Settings;
use crate::store::{Store, journal};

mod start;
mod wire;

pub use start::{INVOKED_BY, start_detached};

use wire::Told;

/// The last argument of a call by Codex's older `notify` is what it tells.
pub const NOTIFY: &str = "notify";
/// How much of what an agent tells is read.
pub const LONGEST_CALL: u64 = 16 << 20;
/// How much of a prompt is searched for.
const LONGEST_PROMPT: usize = 8 << 10;
/// How many lines on a prompt are worth an agent's attention, in tokens.
const RECALL_BUDGET: usize = 500;

/// A call as it comes in.
#[derive(Debug)]
pub struct Call {
    /// Which agent calls, as we name it.
    pub agent: String,
    /// At which moment, as the agent names it.
    pub event: String,
    /// What it tells, as JSON.
    pub told: Vec<u8>,
}

/// What comes of a call.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// What the agent is told; empty means nothing.
    pub said: String,
    /// The arguments of the program that does the rest.
    pub work: Option<Vec<OsString>>,
}

/// What a call is answered from.
pub struct World<'a> {
    pub store: &'a Store,
    pub config: &'a Settings,
    pub now: Timestamp,
    /// The folder in which the hook was called.
    pub folder: PathBuf,
    /// The person's home.
    pub home: PathBuf,
}

/// Answers a call. Trouble is noted in the device's log, and the answer is then: nothing.
pub fn answer(call: &Call, world: &World<'_>) -> Answer {
    let note = |what: String| {
        journal::note(
            world.store.layout(),
            world.now,
            &format!("hook {} {}: {what}", call.agent, call.event),
        )
    };
    let Some(adapter) = adapters::named(&call.agent) else {
        note("there is no such agent".into());
        return Answer::default();
    };
    let Some(spec) = adapter.hooks() else {
        note("this agent has no hooks".into());
        return Answer::default();
    };
    let told = match Told::read(&call.told) {
        Ok(told) => told,
        Err(reason) => {
            note(format!("cannot read what the agent told: {reason}"));
            return Answer::default();
        }
    };
    answered(call, adapter, &spec, &told, world).unwrap_or_else(|error| {
        note(error.to_string());
        Answer::default()
    })
}

fn answered(
    call: &Call,
    adapter: &dyn Adapter,
    spec: &HookSpec,
    told: &Told,
    world: &World<'_>,
) -> Result<Answer> {
    let same = |name: &&str| name.eq_ignore_ascii_case(&call.event.replace(['-', '_'], ""));
    let events = spec.events.iter().map(|event| event.name).chain([NOTIFY]);
    let Some(event) = events.into_iter().find(same) else {
        // An agent may know more events than we do.
        return Ok(Answer::default());
    };
    let session = told.session_id.as_str();
    // What a subagent does is part of its session, which tells of it itself.
    if !told.agent_id.is_empty() {
        return Ok(Answer::default());
    }
    Ok(match event {
        hooks::SESSION_START => {
            let reset = told.source == "clear";
            if reset || told.source == "compact" {
                // What it was given is gone from its context.
                Injected::forget(world.store, session);
            }
            let page = page(told, spec, world, Contents::All, world.config.context.budget)?;
            Answer {
                said: said(event, &page),
                work: reset.then(|| flush(adapter, told, "reset", world)),
            }
        }
        hooks::USER_PROMPT_SUBMIT => {
            let contents = if world.config.context.each_turn {
                Contents::PromptAndDays
            } else {
                Contents::Prompt
            };
            let budget = match contents {
                Contents::PromptAndDays => world.config.context.budget,
                _ => world.config.context.budget.min(RECALL_BUDGET),
            };
            let page = page(told, spec, world, contents, budget)?;
            Answer { said: said(event, &page), work: None }
        }
        hooks::STOP | NOTIFY => {
            let due = turns::count(world.store, session).unwrap_or(false);
            Answer {
                said: String::new(),
                work: due.then(|| flush(adapter, told, "interval", world)),
            }
        }
        hooks::PRE_COMPACT => {
            Answer { said: String::new(), work: Some(flush(adapter, told, "precompact", world)) }
        }
        hooks::POST_COMPACT => {
            Injected::forget(world.store, session);
            Answer::default()
        }
        hooks::SESSION_END => {
            Injected::forget(world.store, session);
            turns::forget(world.store, session);
            let reason = if told.reason == "clear" { "reset" } else { "end" };
            Answer { said: String::new(), work: Some(flush(adapter, told, reason, world)) }
        }
        _ => Answer::default(),
    })
}

/// The page for this moment, within what the agent takes.
fn page(
    told: &Told,
    spec: &HookSpec,
    world: &World<'_>,
    contents: Contents,
    budget: usize,
) -> Result<String> {
    let prompt = crate::base::text::cut(told.prompt.trim(), LONGEST_PROMPT).to_string();
    let (budget, characters) = match spec.limit {
        Limit::Characters(limit) => (budget, limit),
        // Their tokens are not quite ours.
        Limit::Tokens(limit) => (budget.min(limit - limit / 5), usize::MAX),
    };
    let folder = if told.cwd.is_empty() { world.folder.clone() } else { PathBuf::from(&told.cwd) };
    let request = ContextRequest {
        project: None,
        folder,
        home: world.home.clone(),
        prompt: (!prompt.is_empty()).then_some(prompt),
        budget,
        characters,
        session: (!told.session_id.is_empty()).then(|| told.session_id.clone()),
        now: world.now,
        zone: world.config.zone()?,
        contents,
        strong_only: true,
        hurried: true,
        dry_run: false,
    };
    Ok(context(world.store, &request)?.text)
}

fn said(event: &str, page: &str) -> String {
    if page.is_empty() { String::new() } else { wire::additional_context(event, page) }
}

/// The program that takes a session in: what was said until now is in the memory before the agent
/// forgets it.
fn flush(adapter: &dyn Adapter, told: &Told, reason: &str, world: &World<'_>) -> Vec<OsString> {
    let root = world.store.layout().root();
    let mut arguments: Vec<OsString> = vec!["--store".into(), root.into(), "--quiet".into()];
    match std::path::Path::new(&told.transcript_path).is_file() {
        // Some agents do not say where their log is, an old way of calling us never did, and it may
        // not be there yet.
        false => arguments.extend(["sweep".into(), "--only".into(), adapter.name().into()]),
        true => {
            // `=` keeps whatever they say from being taken for a flag.
            let named = |flag: &str, value: &str| OsString::from(format!("--{flag}={value}"));
            arguments.push("flush".into());
            arguments.push(named("transcript", &told.transcript_path));
            arguments.push(named("session", &told.session_id));
            arguments.push(named("reason", reason));
            arguments.push("--linger".into());
        }
    }
    arguments
}
