//! The community's grok-cli, which keeps its database `grok.db` in the same home as Grok CLI (built
//! from its published source of May 2026; not seen as a real database).
//!
//! A message is what the AI SDK calls a model message: a text, or a list of parts, with the calls
//! and their answers among them. A compaction leaves the messages where they are.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::adapters::rows::{self, WireRow};
use crate::adapters::schema::{Schema, Table};
use crate::adapters::transcript::{Dialect, Tokens, Transcript, attached};
use crate::adapters::wire::{Content, Count, Text, raw, wire_types};
use crate::base::clock::Timestamp;
use crate::error::Result;
use crate::model::session::Position;

/// What is read of the database. `workspaces`, `tool_calls` and `tool_results` say again what
/// sessions and messages say.
pub static SCHEMA: Schema = Schema {
    flavor: "grok",
    is_named: |name| name == "grok.db",
    lineage: "id",
    parent: None,
    tables: &[
        Table::new("sessions", "id", &["0"])
            .required(&["id", "workspace_id", "model", "cwd_at_start", "created_at", "updated_at"])
            .optional(&["title", "recap_text", "mode", "cwd_last", "status"])
            .touched("updated_at"),
        Table::new("compactions", "session_id", &["1", "id"]).optional(&[
            "id", "session_id", "first_kept_seq", "summary", "tokens_before", "created_at",
        ]),
        Table::new("messages", "session_id", &["2", "seq"])
            .required(&["session_id", "seq", "role", "message_json", "created_at"])
            .touched("created_at"),
        Table::new("usage_events", "session_id", &["3", "id"]).optional(&[
            "id", "session_id", "message_seq", "source", "model", "input_tokens", "output_tokens",
            "total_tokens", "cost_micros", "created_at",
        ]),
    ],
};

/// Reads the rows of one session.
pub fn read(out: &mut Transcript, extracts: &[usize]) -> Result<()> {
    let mut reader = RowReader { compactions: Vec::new() };
    rows::read(&mut reader, out, extracts)?;
    reader.compactions_before(None, out)
}

// What stands in the rows, exactly as the agent writes it.

wire_types! {
    struct WireSession<'a> {
        title: Text<'a>,
        cwd_at_start: Text<'a>,
    }

    /// The rows of the smaller tables in one: their fields do not collide.
    struct WireFields<'a> {
        summary: Text<'a>,
        created_at: Text<'a>,
        model: Text<'a>,
        input_tokens: Count,
        output_tokens: Count,
        cost_micros: Count,
    }

    struct WireMessageRow<'a> {
        role: Text<'a>,
        /// A document of its own.
        message_json: Text<'a>,
        created_at: Text<'a>,
    }

    struct WireMessage<'a> {
        content: Option<&'a RawValue>,
    }

    #[serde(rename_all = "camelCase")]
    struct WirePart<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        text: Text<'a>,
        tool_call_id: Text<'a>,
        tool_name: Text<'a>,
        input: Option<&'a RawValue>,
        output: Option<&'a RawValue>,
    }
}

struct RowReader {
    /// Summaries that still have to take their place.
    compactions: Vec<Compaction>,
}

struct Compaction {
    summary: String,
    at: Option<Timestamp>,
    position: Position,
}

impl Dialect for RowReader {
    type Record<'a> = WireRow<'a>;

    fn record(&mut self, row: WireRow, out: &mut Transcript) -> Result<()> {
        let json = row.row.get();
        match row.table.as_str() {
            "sessions" => {
                if let Some(session) = out.parse::<WireSession>(json) {
                    out.head.title = session.title.owned();
                    out.head.cwd = session.cwd_at_start.owned();
                }
                Ok(())
            }
            "messages" => self.message(json, out),
            table => match out.parse(json) {
                Some(fields) => self.fields(table, fields, out),
                None => Ok(()),
            },
        }
    }
}

impl RowReader {
    fn fields(&mut self, table: &str, fields: WireFields, out: &mut Transcript) -> Result<()> {
        match table {
            "compactions" => self.compactions.push(Compaction {
                summary: fields.summary.0.to_string(),
                at: fields.created_at.time(),
                position: out.context.position,
            }),
            "usage_events" => {
                // Reckoned by the program from its own list of prices; 0 where the model is not in
                // it.
                let cost = Some(fields.cost_micros.0).filter(|cost| *cost > 0);
                let tokens = Tokens {
                    input: fields.input_tokens.0,
                    output: fields.output_tokens.0,
                    cost_usd: cost.map(|cost| cost as f64 / 1e6),
                    ..Tokens::default()
                };
                out.count(&fields.model, tokens);
            }
            table => out.ignore(&format!("row of {table}"))?,
        }
        Ok(())
    }

    /// The summaries that were made before a moment, or all that are left.
    fn compactions_before(
        &mut self,
        moment: Option<Timestamp>,
        out: &mut Transcript,
    ) -> Result<()> {
        let is_due = |compaction: &Compaction| moment.is_none() || compaction.at <= moment;
        while let Some(at) = self.compactions.iter().position(is_due) {
            let Compaction { summary, at, position } = self.compactions.remove(at);
            out.go_to(position);
            out.context.at = at;
            out.compaction(Some(summary))?;
        }
        Ok(())
    }

    fn message(&mut self, json: &str, out: &mut Transcript) -> Result<()> {
        let Some(row) = out.parse::<WireMessageRow>(json) else { return Ok(()) };
        let Some(message) = out.parse::<WireMessage>(&row.message_json) else { return Ok(()) };
        let (position, at) = (out.context.position, row.created_at.time());
        if at.is_some() {
            self.compactions_before(at, out)?;
        }
        out.go_to(position);
        out.context.at = at;
        let content = message.content.map_or("\"\"", RawValue::get);
        let parts: Vec<WirePart> = if content.starts_with('[') {
            let Some(parts) = out.parse(content) else { return Ok(()) };
            parts
        } else {
            let text = serde_json::from_str(content).unwrap_or_default();
            vec![WirePart { kind: Text("text".into()), text, ..WirePart::default() }]
        };
        match row.role.as_str() {
            "user" => user(parts, out),
            "assistant" => assistant(parts, out),
            "tool" => parts.into_iter().try_for_each(|part| result(part, out)),
            role => out.ignore(&format!("message {role}")),
        }
    }
}

fn user(parts: Vec<WirePart>, out: &mut Transcript) -> Result<()> {
    let files = parts.iter().filter(|part| ["image", "file"].contains(&part.kind.as_str())).count();
    let texts: Vec<&str> = parts.iter().map(|part| part.text.trim()).collect();
    out.prompt(&attached(texts.join("\n").trim(), files as u32, "file"))
}

fn assistant(parts: Vec<WirePart>, out: &mut Transcript) -> Result<()> {
    let mut acted = false;
    for part in parts {
        match part.kind.as_str() {
            "text" => out.reply(part.text.0)?,
            "reasoning" => out.think(part.text.0)?,
            "tool-call" => {
                acted = true;
                out.call(part.tool_call_id.0, part.tool_name.0, raw(part.input))?;
            }
            _ => result(part, out)?,
        }
    }
    if acted { Ok(()) } else { out.completion() }
}

fn result(part: WirePart, out: &mut Transcript) -> Result<()> {
    if part.kind.as_str() != "tool-result" {
        return out.ignore(&format!("part {}", part.kind.as_str()));
    }
    let output: Value = serde_json::from_str(raw(part.output)).unwrap_or_default();
    let kind = output.get("type").and_then(Value::as_str).unwrap_or_default();
    // `{type, value}`; the value is text, or what the program's own tools give: `{success, output,
    // error}`.
    let value = output.get("value").unwrap_or(&output);
    let unsuccessful = value.get("success").and_then(Value::as_bool) == Some(false);
    let text = match ["error", "output"].iter().find_map(|key| value.get(key)?.as_str()) {
        Some(text) => text.to_string(),
        None => match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        },
    };
    let content = Content { text: text.into(), images: 0 };
    out.result(part.tool_call_id.0, content, kind.starts_with("error") || unsuccessful, None)
}
