//! Cursor's agent: `projects/<slug>/agent-transcripts/<id>.jsonl` or `<id>/<id>.jsonl`, with
//! `<id>/subagents/`, one message per line (seen in fixtures only).
//!
//! A line is `{role, message: {content}}` and nothing else: no times, no ids, no model, and no
//! answers of tools. What the person typed stands in `<user_query>`. The chats of the editor are in
//! a database ([`cursor_editor`]).

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::blocks::Block;
use super::schema::Schema;
use super::transcript::{Dialect, Transcript, attached};
use super::wire::{self, Text, wire_types};
use super::{Adapter, Identity, Places, cursor_editor, jsonl, rows};
use crate::error::Result;
use crate::model::session::{EventSink, Head, Log, Role};

/// Cursor's agent.
pub struct Cursor;

impl Adapter for Cursor {
    fn name(&self) -> &'static str {
        "cursor"
    }

    fn instructions(&self) -> &'static str {
        ".cursor/rules/memtree.mdc"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let transcripts = places.home.join(".cursor/projects");
        [transcripts].into_iter().chain(cursor_editor::databases(places)).collect()
    }

    fn schema(&self) -> Option<&'static Schema> {
        Some(&cursor_editor::SCHEMA)
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let Some(stem) = jsonl::stem(file) else { return Ok(None) };
        if let Some(chat) = rows::identify(file, self.name())? {
            return Ok(Some(chat));
        }
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
            Some(session) => Identity::beside(session, Role::Subagent(stem)),
            // A chat of the editor with the same id is the same conversation.
            None => Identity::main(stem.as_str(), Some(stem.clone())),
        }))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let (mut out, mut messages) = (Transcript::new(log, events), Messages::default());
        // The editor's chat says more: times, answers of tools, the model.
        match rows::extracts(log).as_slice() {
            [] => out.read_log(&mut messages)?,
            extracts => cursor_editor::read(&mut out, extracts)?,
        }
        for file in out.subagent_files() {
            out.read_file(&mut messages, file)?;
        }
        Ok(out.head)
    }
}

fn is_cursor_line(record: &Map<String, Value>) -> bool {
    matches!(jsonl::string(record, "role"), "user" | "assistant")
        && record.get("message").is_some_and(|message| message.get("content").is_some())
        && ["type", "uuid", "id", "created_at", "sessionId"]
            .iter()
            .all(|key| !record.contains_key(*key))
}

// What stands in a line, exactly as the agent writes it.

wire_types! {
    struct WireLine<'a> {
        role: Text<'a>,
        message: WireMessage<'a>,
    }

    struct WireMessage<'a> {
        content: Vec<Block<'a>>,
    }
}

/// Reads the messages of one session.
#[derive(Default)]
struct Messages {
    /// How many tools were called: the log has no ids of calls.
    calls: u32,
}

impl Dialect for Messages {
    type Record<'a> = WireLine<'a>;

    fn record(&mut self, line: WireLine, out: &mut Transcript) -> Result<()> {
        match line.role.as_str() {
            "user" => prompt(line.message, out),
            "assistant" => self.assistant(line.message, out),
            "" => out.ignore("record without a role"),
            role => out.ignore(role),
        }
    }
}

impl Messages {
    fn assistant(&mut self, message: WireMessage, out: &mut Transcript) -> Result<()> {
        for block in message.content {
            match block.kind.as_str() {
                "text" => out.reply(block.text.0)?,
                "tool_use" => {
                    self.calls += 1;
                    let id = if block.id.is_empty() {
                        format!("call-{}", self.calls).into()
                    } else {
                        block.id.0
                    };
                    out.call(id, block.name.0, wire::raw(block.input))?;
                }
                kind => out.ignore(&format!("block {kind}"))?,
            }
        }
        Ok(())
    }
}

fn prompt(message: WireMessage, out: &mut Transcript) -> Result<()> {
    let images = message.content.iter().filter(|block| block.kind.as_str() == "image").count();
    let texts: Vec<&str> = message.content.iter().filter_map(|block| block.text.some()).collect();
    out.prompt(&attached(typed(&texts.join("\n")), images as u32, "image"))
}

/// What the person typed: what stands beside `<user_query>` was put there by the program.
fn typed(text: &str) -> &str {
    let query = text
        .split_once("<user_query>")
        .map(|(_, rest)| rest.split_once("</user_query>").map_or(rest, |(query, _)| query));
    query.unwrap_or(text).trim()
}
