//! Hermes: `state.db`, one database for all sessions (schema 22 of 0.19, by its source, and rows of
//! real sessions of August 2026; no real database was seen).
//!
//! A session's `source` is the surface that it ran on. Those of a terminal or an editor are read,
//! with their subagents; chats through messengers are not. Rows that a rewind or a compaction took
//! out of the conversation stay in the table, marked.

use std::path::PathBuf;

use serde_json::Value;
use serde_json::value::RawValue;

use super::functions::FunctionCall;
use super::schema::{Schema, Table};
use super::transcript::{Dialect, Tokens, Transcript};
use super::wire::{Content, Count, Text, plain, wire_types};
use super::{Adapter, Places, rows, tools};
use crate::base::clock;
use crate::error::Result;
use crate::model::session::{Action, BegunBy, EventKind, EventSink, Head, Log};

/// Hermes.
pub struct Hermes;

impl Adapter for Hermes {
    fn name(&self) -> &'static str {
        "hermes"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let home = places.folder("HERMES_HOME", ".hermes");
        vec![home.join("state.db"), home.join("profiles")]
    }

    fn schema(&self) -> Option<&'static Schema> {
        Some(&SCHEMA)
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let (mut out, mut reader) = (Transcript::new(log, events), Reader::default());
        rows::read(&mut reader, &mut out, &rows::extracts(log))?;
        reader.finish(&mut out);
        Ok(out.head)
    }
}

/// What is read of the database. Other tables hold the routes of messengers and pairing codes,
/// other columns their users and chats.
static SCHEMA: Schema = Schema {
    flavor: "hermes",
    is_named: |name| name == "state.db",
    lineage: "id",
    parent: Some((
        "parent_session_id",
        "CASE WHEN source = 'subagent' OR ifnull(model_config, '') LIKE '%\"_delegate_from\"%' \
         THEN parent_session_id END",
    )),
    tables: &[
        Table::new(
            "sessions",
            "CASE WHEN source IN ('cli', 'tui', 'acp') OR source = 'subagent' AND \
             parent_session_id IN (SELECT id FROM sessions WHERE source IN ('cli', 'tui', 'acp')) \
             THEN id END",
            &["0"],
        )
        .required(&["id", "source", "model", "started_at", "parent_session_id"])
        .optional(&[
            "ended_at", "end_reason", "message_count", "tool_call_count", "input_tokens",
            "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "cwd",
            "git_branch", "git_repo_root", "estimated_cost_usd", "actual_cost_usd", "title",
            "rewind_count", "archived",
        ])
        .touched("ended_at"),
        Table::new("messages", "session_id", &["1", "id"])
            .required(&["id", "session_id", "role", "content", "tool_calls", "timestamp"])
            .optional(&[
                "tool_call_id", "tool_name", "finish_reason", "reasoning", "reasoning_content",
                "active", "compacted", "observed", "display_kind",
            ]),
        Table::new("session_model_usage", "session_id", &["2", "model", "task"]).optional(&[
            "session_id", "model", "task", "input_tokens", "output_tokens", "cache_read_tokens",
            "cache_write_tokens", "estimated_cost_usd", "actual_cost_usd",
        ]),
    ],
};

// What stands in a row, exactly as the agent writes it.

wire_types! {
    struct WireRecord<'a> {
        table: Text<'a>,
        row: Option<&'a RawValue>,
    }

    struct WireSession<'a> {
        source: Text<'a>,
        model: Text<'a>,
        started_at: Option<f64>,
        parent_session_id: Text<'a>,
        cwd: Text<'a>,
        git_branch: Text<'a>,
        title: Text<'a>,
    }

    /// What was used, in a session's row or a model's.
    struct WireUsage<'a> {
        model: Text<'a>,
        input_tokens: Count,
        output_tokens: Count,
        cache_read_tokens: Count,
        cache_write_tokens: Count,
        estimated_cost_usd: Option<f64>,
        actual_cost_usd: Option<f64>,
    }

    struct WireMessage<'a> {
        role: Text<'a>,
        content: Text<'a>,
        /// A document of its own.
        tool_calls: Text<'a>,
        tool_call_id: Text<'a>,
        timestamp: Option<f64>,
        finish_reason: Text<'a>,
        reasoning: Text<'a>,
        reasoning_content: Text<'a>,
        active: Option<i64>,
        compacted: Option<i64>,
        observed: Option<i64>,
    }

    struct WireDelegation<'a> {
        goal: Text<'a>,
        tasks: Vec<WireTask<'a>>,
    }

    struct WireTask<'a> {
        goal: Text<'a>,
    }
}

/// Reads the rows of one session.
#[derive(Default)]
struct Reader {
    /// What the session used in all, where no model has a row of its own.
    total: Option<(String, Tokens)>,
    has_models: bool,
    /// How many prompts stood before rows that were taken back.
    rewound: Option<u32>,
}

impl Dialect for Reader {
    type Record<'a> = WireRecord<'a>;

    fn record(&mut self, record: WireRecord, out: &mut Transcript) -> Result<()> {
        let Some(row) = record.row.map(RawValue::get) else { return out.ignore("line of no row") };
        match record.table.as_str() {
            "sessions" => {
                if let Some(session) = out.parse::<WireSession>(row) {
                    describe(session, out);
                }
                let usage: WireUsage = serde_json::from_str(row).unwrap_or_default();
                let model = usage.model.some().unwrap_or("unknown").to_string();
                self.total = Some((model, tokens(&usage)));
                Ok(())
            }
            "messages" => match out.parse(row) {
                Some(message) => self.message(message, out),
                None => Ok(()),
            },
            "session_model_usage" => {
                if let Some(usage) = out.parse::<WireUsage>(row) {
                    self.has_models = true;
                    out.count(usage.model.some().unwrap_or("unknown"), tokens(&usage));
                }
                Ok(())
            }
            table => out.ignore(&format!("row of {table}")),
        }
    }
}

impl Reader {
    fn message(&mut self, message: WireMessage, out: &mut Transcript) -> Result<()> {
        out.context.at = message.timestamp.and_then(clock::from_seconds);
        let is_taken_back = message.active == Some(0) && message.compacted != Some(1);
        match (is_taken_back, self.rewound) {
            (true, None) => self.rewound = Some(out.prompts),
            (false, Some(kept)) => {
                self.rewound = None;
                if kept < out.prompts {
                    out.emit(EventKind::Rewind { kept })?;
                }
            }
            _ => {}
        }
        match message.role.as_str() {
            "user" | "system" if message.content.starts_with("[CONTEXT ") => {
                out.emit(EventKind::Compaction(message.content.0))
            }
            "user" if message.observed == Some(1) => out.ignore("message that was only overheard"),
            "user" => user(&message.content, out),
            "assistant" => assistant(message, out),
            "tool" => result(message, out),
            role => out.ignore(&format!("message {role}")),
        }
    }

    /// Counts what was used as a whole, where no model has a row of its own.
    fn finish(self, out: &mut Transcript) {
        if let (false, Some((model, total))) = (self.has_models, self.total)
            && (model != "unknown" || total.input + total.output > 0)
        {
            out.count(&model, total);
        }
    }
}

fn describe(session: WireSession, out: &mut Transcript) {
    session.cwd.fill(&mut out.head.cwd);
    session.git_branch.fill(&mut out.head.branch);
    session.title.fill(&mut out.head.title);
    session.parent_session_id.fill(&mut out.head.parent);
    out.began = session.started_at.and_then(clock::from_seconds);
    if session.source.as_str() == "subagent" {
        out.head.begun_by = BegunBy::Agent;
    }
}

fn tokens(usage: &WireUsage) -> Tokens {
    let cost = |cost: Option<f64>| cost.filter(|cost| *cost > 0.0);
    Tokens {
        input: usage.input_tokens.0,
        output: usage.output_tokens.0,
        cache_read: usage.cache_read_tokens.0,
        cache_write: usage.cache_write_tokens.0,
        cost_usd: cost(usage.actual_cost_usd).or(cost(usage.estimated_cost_usd)),
    }
}

/// A message in the person's role. The program puts skills before what was typed, and writes there
/// itself: what subagents answered, and that a goal still stands.
fn user(text: &str, out: &mut Transcript) -> Result<()> {
    const MACHINE: &[&str] =
        &["[ASYNC DELEGATION", "[Continuing toward your standing goal]", "[System"];
    const TYPED: &str = "The user has provided the following instruction alongside the skill";
    let text = text.trim();
    if MACHINE.iter().any(|start| text.starts_with(start)) {
        return out.ignore("user message that no person wrote");
    }
    let skill = text.strip_prefix("[IMPORTANT: The user has invoked the \"");
    let Some((skill, rest)) = skill.and_then(|rest| rest.split_once('"')) else {
        return out.prompt(text);
    };
    let typed = rest.rsplit_once(TYPED).and_then(|(_, typed)| typed.split_once(": "));
    match typed {
        Some((_, typed)) => out.prompt(&format!("/{skill} {typed}")),
        None => out.prompt(&format!("/{skill}")),
    }
}

fn assistant(message: WireMessage, out: &mut Transcript) -> Result<()> {
    let thoughts = [message.reasoning_content, message.reasoning];
    let thought = thoughts.into_iter().find(|thought| !thought.is_empty());
    out.think(thought.unwrap_or_default().0)?;
    out.reply(message.content.0)?;
    let calls = match message.tool_calls.some() {
        Some(calls) => out.parse::<Vec<FunctionCall>>(calls).unwrap_or_default(),
        None => Vec::new(),
    };
    for call in calls {
        let input = plain(call.function.arguments);
        let action = match call.function.name.as_str() {
            "delegate_task" => delegation(&input),
            name => tools::action(name, &input),
        };
        out.act(call.id.0, call.function.name.0, action)?;
    }
    if message.finish_reason.as_str() == "stop" { out.completion() } else { Ok(()) }
}

/// One task, or several at once.
fn delegation(input: &str) -> Action {
    let wire: WireDelegation = serde_json::from_str(input).unwrap_or_default();
    let goals = std::iter::once(&wire.goal).chain(wire.tasks.iter().map(|task| &task.goal));
    let goals: Vec<&str> = goals.filter_map(Text::some).collect();
    Action::Delegate { task: goals.join("\n") }
}

/// A tool's answer is a document: of a command its output and exit code, else whether it worked.
fn result(message: WireMessage, out: &mut Transcript) -> Result<()> {
    let answer: Value = serde_json::from_str(&message.content).unwrap_or_default();
    let exit_code = answer.get("exit_code").and_then(Value::as_i64);
    let exit_code = exit_code.and_then(|code| i32::try_from(code).ok());
    let has_error = answer.get("error").is_some_and(|error| !error.is_null());
    let failed = has_error || answer.get("success") == Some(&Value::Bool(false));
    let output = answer.get("output").and_then(Value::as_str).filter(|_| exit_code.is_some());
    let content = match output {
        Some(output) => Content { text: output.to_string().into(), images: 0 },
        None => Content { text: message.content.0, images: 0 },
    };
    out.result(message.tool_call_id.0, content, failed, exit_code)
}
