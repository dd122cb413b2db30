//! Cursor's agent: `projects/<slug>/agent-transcripts/<id>.jsonl` or `<id>/<id>.jsonl`, with
//! `<id>/subagents/`, one message per line (seen in fixtures only).
//!
//! A line is `{role, message: {content}}` and nothing else: no times, no ids, no model, and no
//! answers of tools. What the person typed stands in `<user_query>`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::jsonl::{self, Dialect};
use super::wire::Text;
use super::{Adapter, Identity, Places, tools};
use crate::error::Result;
use crate::model::session::{Call, Event, EventKind, EventSink, Head, Log, Position, Role};

/// Cursor's agent.
pub struct Cursor;

impl Adapter for Cursor {
    fn name(&self) -> &'static str {
        "cursor"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        vec![places.home.join(".cursor/projects")]
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let name = name.as_ref();
        let Some(stem) = name.strip_suffix(".jsonl") else { return Ok(None) };
        let records = jsonl::first_objects(file, 3)?;
        if records.is_empty() || !records.iter().all(is_cursor_line) {
            return Ok(None);
        }
        let folder = file
            .parent()
            .filter(|folder| folder.file_name().is_some_and(|name| name == "subagents"));
        let session =
            folder.and_then(Path::parent).and_then(Path::file_name).and_then(|name| name.to_str());
        Ok(Some(match session {
            Some(session) => Identity {
                native_id: session.to_string(),
                role: Role::Subagent(stem.to_string()),
                lineage: None,
            },
            None => Identity { native_id: stem.to_string(), role: Role::Main, lineage: None },
        }))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut reader = Reader { events, head: Head::default(), agent: None, calls: 0 };
        jsonl::read_log(&mut reader, log)?;
        for (at, file) in log.files.iter().enumerate() {
            if let Role::Subagent(agent) = &file.role {
                reader.agent = Some(agent.clone());
                jsonl::read_file(&mut reader, log, at, None)?;
            }
        }
        Ok(reader.head)
    }
}

fn is_cursor_line(record: &Map<String, Value>) -> bool {
    let role = record.get("role").and_then(Value::as_str).unwrap_or_default();
    matches!(role, "user" | "assistant")
        && record.get("message").is_some_and(|message| message.get("content").is_some())
        && ["type", "uuid", "id", "created_at", "sessionId"]
            .iter()
            .all(|key| !record.contains_key(*key))
}

// What stands in a line, exactly as the agent writes it.

#[derive(Deserialize)]
struct WireLine<'a> {
    #[serde(borrow, default)]
    role: Text<'a>,
    #[serde(borrow, default)]
    message: WireMessage<'a>,
}

#[derive(Deserialize, Default)]
struct WireMessage<'a> {
    #[serde(borrow, default)]
    content: Vec<WireBlock<'a>>,
}

#[derive(Deserialize)]
struct WireBlock<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

/// Reads the lines of one session.
struct Reader<'s> {
    events: &'s mut dyn EventSink,
    head: Head,
    agent: Option<String>,
    calls: u32,
}

impl Dialect for Reader<'_> {
    fn head(&mut self) -> &mut Head {
        &mut self.head
    }

    fn record(&mut self, json: &[u8], position: Position) -> Result<serde_json::Result<()>> {
        let line: WireLine = match serde_json::from_slice(json) {
            Ok(line) => line,
            Err(err) => return Ok(Err(err)),
        };
        self.head.records += 1;
        match line.role.as_str() {
            "user" => self.user(line.message, position)?,
            "assistant" => self.assistant(line.message, position)?,
            role => jsonl::ignore(
                &mut self.head,
                if role.is_empty() { "record without a role" } else { role },
            ),
        }
        Ok(Ok(()))
    }
}

impl Reader<'_> {
    fn user(&mut self, message: WireMessage, position: Position) -> Result<()> {
        let images = message.content.iter().filter(|block| block.kind.as_str() == "image").count();
        let text = message
            .content
            .iter()
            .filter_map(|block| block.text.some())
            .collect::<Vec<_>>()
            .join("\n");
        let mut prompt = typed(&text).to_string();
        if images > 0 {
            prompt.push_str(&format!("\n[{images} image(s)]"));
        }
        match prompt.trim() {
            "" => Ok(()),
            task if self.agent.is_some() => self.emit(position, EventKind::Lifecycle(task.into())),
            prompt => self.emit(position, EventKind::Prompt(prompt.into())),
        }
    }

    fn assistant(&mut self, message: WireMessage, position: Position) -> Result<()> {
        for block in message.content {
            match block.kind.as_str() {
                "text" if block.text.trim().is_empty() => {}
                "text" => self.emit(position, EventKind::Reply(block.text.0))?,
                "tool_use" => {
                    self.calls += 1;
                    let action =
                        tools::action(&block.name, block.input.map_or("", |input| input.get()));
                    let id = if block.id.is_empty() {
                        format!("call-{}", self.calls).into()
                    } else {
                        block.id.0
                    };
                    self.emit(position, EventKind::Call(Call { id, tool: block.name.0, action }))?;
                }
                kind => jsonl::ignore(&mut self.head, &format!("block {kind}")),
            }
        }
        Ok(())
    }

    fn emit(&mut self, position: Position, kind: EventKind<'_>) -> Result<()> {
        self.events.event(Event {
            at: None,
            position,
            agent: self.agent.as_deref(),
            inherited: false,
            kind,
        })
    }
}

/// What the person typed: what stands beside `<user_query>` was put there by the program.
fn typed(text: &str) -> &str {
    let query = text
        .split_once("<user_query>")
        .map(|(_, rest)| rest.split_once("</user_query>").map_or(rest, |(query, _)| query));
    query.unwrap_or(text).trim()
}
