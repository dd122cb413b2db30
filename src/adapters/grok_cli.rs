//! The community's grok-cli, which keeps its database `grok.db` in the same home as Grok CLI (built
//! from its published source of May 2026; not seen as a real database).
//!
//! A message is what the AI SDK calls a model message: a text, or a list of parts, with the calls
//! and their answers among them. A compaction leaves the messages where they are.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::jsonl::{self, Dialect};
use super::rows::{self, WireRow};
use super::sqlite::{Schema, Table};
use super::tools;
use super::wire::{Count, Text};
use crate::base::clock::Timestamp;
use crate::error::Result;
use crate::model::session::{Call, CallResult, Event, EventKind, EventSink, Head, Log, Position};

/// What is read of the database. `workspaces`, `tool_calls` and `tool_results` say again what
/// sessions and messages say.
pub static SCHEMA: Schema = Schema {
    flavor: "grok",
    is_named: |name| name == "grok.db",
    lineage: "id",
    tables: &[
        Table {
            name: "sessions",
            session: "id",
            key: &["0"],
            columns: &["id", "workspace_id", "model", "cwd_at_start", "created_at", "updated_at"],
            more: &["title", "recap_text", "mode", "cwd_last", "status"],
            touched: Some("updated_at"),
        },
        Table {
            name: "compactions",
            session: "session_id",
            key: &["1", "id"],
            columns: &[],
            more: &["id", "session_id", "first_kept_seq", "summary", "tokens_before", "created_at"],
            touched: None,
        },
        Table {
            name: "messages",
            session: "session_id",
            key: &["2", "seq"],
            columns: &["session_id", "seq", "role", "message_json", "created_at"],
            more: &[],
            touched: Some("created_at"),
        },
        Table {
            name: "usage_events",
            session: "session_id",
            key: &["3", "id"],
            columns: &[],
            more: &[
                "id", "session_id", "message_seq", "source", "model", "input_tokens",
                "output_tokens", "total_tokens", "cost_micros", "created_at",
            ],
            touched: None,
        },
    ],
};

/// Reads the rows of one session.
pub fn read(log: &Log, extracts: &[usize], events: &mut dyn EventSink) -> Result<Head> {
    let mut reader = Reader { events, head: Head::default(), compactions: Vec::new() };
    rows::read(&mut reader, log, extracts)?;
    reader.compacted(None)?;
    Ok(reader.head)
}

// What stands in the rows, exactly as the agent writes it.

#[derive(Deserialize)]
struct WireSession<'a> {
    #[serde(borrow, default)]
    title: Text<'a>,
    #[serde(borrow, default)]
    cwd_at_start: Text<'a>,
}

/// The rows of the smaller tables in one: their fields do not collide.
#[derive(Deserialize)]
struct WireFields<'a> {
    #[serde(borrow, default)]
    summary: Text<'a>,
    #[serde(borrow, default)]
    created_at: Text<'a>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
    #[serde(default)]
    cost_micros: Count,
}

#[derive(Deserialize)]
struct WireMessageRow<'a> {
    #[serde(borrow, default)]
    role: Text<'a>,
    /// A document of its own.
    #[serde(borrow, default)]
    message_json: Text<'a>,
    #[serde(borrow, default)]
    created_at: Text<'a>,
}

#[derive(Deserialize)]
struct WireMessage<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePart<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    tool_call_id: Text<'a>,
    #[serde(borrow, default)]
    tool_name: Text<'a>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    output: Option<&'a RawValue>,
}

struct Reader<'s> {
    events: &'s mut dyn EventSink,
    head: Head,
    /// Summaries that are still to be told.
    compactions: Vec<Compaction>,
}

struct Compaction {
    summary: String,
    at: Option<Timestamp>,
    position: Position,
}

impl Dialect for Reader<'_> {
    fn head(&mut self) -> &mut Head {
        &mut self.head
    }

    fn record(&mut self, json: &[u8], position: Position) -> Result<serde_json::Result<()>> {
        let row: WireRow = match serde_json::from_slice(json) {
            Ok(row) => row,
            Err(err) => return Ok(Err(err)),
        };
        self.head.records += 1;
        let json = row.row.get();
        match row.table.as_str() {
            "sessions" => Ok(serde_json::from_str::<WireSession>(json).map(|session| {
                self.head.title = session.title.owned();
                self.head.cwd = session.cwd_at_start.owned();
            })),
            "messages" => match serde_json::from_str::<WireMessageRow>(json) {
                Ok(message) => self.message(message, position),
                Err(err) => Ok(Err(err)),
            },
            table => Ok(serde_json::from_str::<WireFields>(json)
                .map(|fields| self.fields(table, fields, position))),
        }
    }
}

impl Reader<'_> {
    fn fields(&mut self, table: &str, fields: WireFields, position: Position) {
        match table {
            "compactions" => self.compactions.push(Compaction {
                summary: fields.summary.0.to_string(),
                at: fields.created_at.time(),
                position,
            }),
            "usage_events" => {
                let used = jsonl::usage(&mut self.head, fields.model.as_str());
                used.input += fields.input_tokens.0;
                used.output += fields.output_tokens.0;
                // Reckoned by the program from its own list of prices; 0 where the model is not in
                // it.
                if fields.cost_micros.0 > 0 {
                    *used.cost_usd.get_or_insert(0.0) += fields.cost_micros.0 as f64 / 1e6;
                }
            }
            table => jsonl::ignore(&mut self.head, &format!("row of {table}")),
        }
    }

    /// Tells the summaries that were made before a moment, or all that are left.
    fn compacted(&mut self, before: Option<Timestamp>) -> Result<()> {
        let due = |compaction: &Compaction| before.is_none() || compaction.at <= before;
        while let Some(at) = self.compactions.iter().position(due) {
            let compaction = self.compactions.remove(at);
            let what = EventKind::Compaction(compaction.summary.into());
            self.emit(compaction.at, compaction.position, what)?;
        }
        Ok(())
    }

    fn message(
        &mut self,
        row: WireMessageRow,
        position: Position,
    ) -> Result<serde_json::Result<()>> {
        let message: WireMessage = match serde_json::from_str(row.message_json.as_str()) {
            Ok(message) => message,
            Err(err) => return Ok(Err(err)),
        };
        let at = row.created_at.time();
        if at.is_some() {
            self.compacted(at)?;
        }
        let content = message.content.map(RawValue::get).unwrap_or("\"\"");
        let parts: Vec<WirePart> = if content.starts_with('[') {
            match serde_json::from_str(content) {
                Ok(parts) => parts,
                Err(err) => return Ok(Err(err)),
            }
        } else {
            let text = serde_json::from_str(content).unwrap_or_default();
            let nothing = Text::default;
            vec![WirePart {
                kind: Text("text".into()),
                text,
                tool_call_id: nothing(),
                tool_name: nothing(),
                input: None,
                output: None,
            }]
        };
        match row.role.as_str() {
            "user" => self.user(parts, at, position)?,
            "assistant" => self.assistant(parts, at, position)?,
            "tool" => {
                for part in parts {
                    self.answer(part, at, position)?;
                }
            }
            role => jsonl::ignore(&mut self.head, &format!("message {role}")),
        }
        Ok(Ok(()))
    }

    fn user(
        &mut self,
        parts: Vec<WirePart>,
        at: Option<Timestamp>,
        position: Position,
    ) -> Result<()> {
        let files =
            parts.iter().filter(|part| ["image", "file"].contains(&part.kind.as_str())).count();
        let mut prompt = parts
            .iter()
            .map(|part| part.text.trim())
            .collect::<Vec<_>>()
            .join("\n")
            .trim()
            .to_string();
        if files > 0 {
            prompt = format!("{prompt}\n[{files} file(s)]").trim().to_string();
        }
        match prompt.is_empty() {
            true => Ok(()),
            false => self.emit(at, position, EventKind::Prompt(prompt.into())),
        }
    }

    fn assistant(
        &mut self,
        parts: Vec<WirePart>,
        at: Option<Timestamp>,
        position: Position,
    ) -> Result<()> {
        let mut acted = false;
        for part in parts {
            match part.kind.as_str() {
                "text" | "reasoning" if part.text.trim().is_empty() => {}
                "text" => self.emit(at, position, EventKind::Reply(part.text.0))?,
                "reasoning" => self.emit(at, position, EventKind::Thinking(part.text.0))?,
                "tool-call" => {
                    acted = true;
                    let action =
                        tools::action(&part.tool_name, part.input.map_or("", |input| input.get()));
                    self.emit(
                        at,
                        position,
                        EventKind::Call(Call {
                            id: part.tool_call_id.0,
                            tool: part.tool_name.0,
                            action,
                        }),
                    )?;
                }
                "tool-result" => self.answer(part, at, position)?,
                kind => jsonl::ignore(&mut self.head, &format!("part {kind}")),
            }
        }
        match acted {
            true => Ok(()),
            false => self.emit(at, position, EventKind::Completion),
        }
    }

    fn answer(&mut self, part: WirePart, at: Option<Timestamp>, position: Position) -> Result<()> {
        if part.kind.as_str() != "tool-result" {
            jsonl::ignore(&mut self.head, &format!("part {}", part.kind.as_str()));
            return Ok(());
        }
        let output: Value = part
            .output
            .and_then(|output| serde_json::from_str(output.get()).ok())
            .unwrap_or_default();
        let told_failed = output
            .get("type")
            .and_then(Value::as_str)
            .is_some_and(|kind| kind.starts_with("error"));
        // `{type, value}`; the value is text, or what the program's own tools give: `{success,
        // output, error}`.
        let value = output.get("value").unwrap_or(&output);
        let unsuccessful = value.get("success").and_then(Value::as_bool) == Some(false);
        let text: Cow<str> =
            match ["error", "output"].iter().find_map(|key| value.get(key)?.as_str()) {
                Some(text) => text.to_string().into(),
                None => match value {
                    Value::Null => "".into(),
                    Value::String(text) => text.clone().into(),
                    other => other.to_string().into(),
                },
            };
        let failed = told_failed || unsuccessful;
        let answer = CallResult {
            id: part.tool_call_id.0,
            text,
            failed,
            exit_code: None,
            images: 0,
            ..CallResult::default()
        };
        self.emit(at, position, EventKind::Result(answer))
    }

    fn emit(
        &mut self,
        at: Option<Timestamp>,
        position: Position,
        kind: EventKind<'_>,
    ) -> Result<()> {
        self.events.event(Event { at, position, agent: None, inherited: false, kind })
    }
}
