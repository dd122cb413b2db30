//! The chats of Cursor's editor: `globalStorage/state.vscdb`, whose table `cursorDiskKV` has a
//! document for each chat, `composerData:<chat>`, and one for each message of it,
//! `bubbleId:<chat>:<bubble>` (by documentation only; not seen as a real database).
//!
//! The chat's document lists its bubbles in their order; old ones hold them. Other keys, and the
//! other table, hold settings and what the editor sent to its servers: they are never asked for.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::value::RawValue;

use super::rows::{self, WireRow};
use super::schema::{Schema, Table};
use super::transcript::{Dialect, Transcript};
use super::wire::{Content, Count, Text, local_path, wire_types};
use super::{Places, editors};
use crate::base::clock::Timestamp;
use crate::error::Result;
use crate::model::session::Position;

/// Where the database is.
pub fn databases(places: &Places) -> impl Iterator<Item = PathBuf> {
    let users = editors::user_folders(places).into_iter();
    let of_cursor = |user: &PathBuf| user.parent().is_some_and(|editor| editor.ends_with("Cursor"));
    users.filter(of_cursor).map(|user| user.join("globalStorage/state.vscdb"))
}

/// What is read of the database. A chat without a bubble is only the empty field of a new one.
pub static SCHEMA: Schema = Schema {
    flavor: "cursor",
    // Other editors call theirs the same.
    is_named: |_| false,
    lineage: CHAT,
    parent: None,
    tables: &[Table::new("cursorDiskKV", CHAT, &["key"]).required(&["key", "value"])],
};

/// The chat to which a row belongs. A bubble whose chat is gone belongs to none.
const CHAT: &str = "CASE \
    WHEN substr(key, 1, 13) = 'composerData:' AND instr(value, '\"bubbleId\"') > 0 \
    THEN substr(key, 14) \
    WHEN substr(key, 1, 9) = 'bubbleId:' AND EXISTS (SELECT 1 FROM cursorDiskKV AS chat \
        WHERE chat.key = 'composerData:' || \
        substr(cursorDiskKV.key, 10, instr(substr(cursorDiskKV.key, 10), ':') - 1)) \
    THEN substr(key, 10, instr(substr(key, 10), ':') - 1) END";

// What stands in the rows, exactly as the editor writes it.

wire_types! {
    struct WireEntry<'a> {
        key: Text<'a>,
        /// A document of its own.
        value: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireChat<'a> {
        name: Text<'a>,
        created_at: Text<'a>,
        full_conversation_headers_only: Vec<WireHeader<'a>>,
        conversation: Vec<&'a RawValue>,
        model_config: WireModel<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireHeader<'a> {
        bubble_id: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireModel<'a> {
        model_name: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireBubble<'a> {
        bubble_id: Text<'a>,
        #[serde(rename = "type")]
        kind: Count,
        text: Text<'a>,
        raw_text: Text<'a>,
        thinking: Content<'a>,
        tool_former_data: Option<WireTool<'a>>,
        created_at: Text<'a>,
        timestamp: Text<'a>,
        model_info: WireModel<'a>,
        workspace_project_dir: Text<'a>,
        workspace_uris: Vec<Text<'a>>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireTool<'a> {
        name: Text<'a>,
        tool_call_id: Text<'a>,
        /// Documents of their own.
        raw_args: Text<'a>,
        params: Text<'a>,
        result: Text<'a>,
        status: Text<'a>,
    }
}

/// Reads the rows of one chat.
pub fn read(out: &mut Transcript, extracts: &[usize]) -> Result<()> {
    let mut reader = Reader::default();
    rows::read(&mut reader, out, extracts)?;
    reader.finish(out)
}

/// Reads the rows of one chat: they come in the order of their keys, which says nothing.
#[derive(Default)]
struct Reader {
    /// The chat's own document, and where it stands.
    chat: Option<(Position, String)>,
    bubbles: HashMap<String, (Position, String)>,
}

impl Dialect for Reader {
    type Record<'a> = WireRow<'a>;

    fn record(&mut self, row: WireRow, out: &mut Transcript) -> Result<()> {
        let Some(entry) = out.parse::<WireEntry>(row.row.get()) else { return Ok(()) };
        let found = (out.context.position, entry.value.0.into_owned());
        match entry.key.rsplit_once(':') {
            Some(("composerData", _)) => self.chat = Some(found),
            Some((_, bubble)) => drop(self.bubbles.insert(bubble.to_string(), found)),
            None => out.ignore("row of another key")?,
        }
        Ok(())
    }
}

impl Reader {
    fn finish(mut self, out: &mut Transcript) -> Result<()> {
        let Some((position, document)) = self.chat else { return Ok(()) };
        out.go_to(position);
        let Some(chat) = out.parse::<WireChat>(&document) else { return Ok(()) };
        chat.name.fill(&mut out.head.title);
        out.began = moment(&chat.created_at);
        let model = chat.model_config.model_name;
        for header in chat.full_conversation_headers_only {
            // A bubble that the chat lists may be gone, or empty.
            let Some((position, bubble)) = self.bubbles.remove(header.bubble_id.as_str()) else {
                continue;
            };
            out.go_to(position);
            if let Some(bubble) = out.parse(&bubble) {
                emit_bubble(bubble, &model, out)?;
            }
        }
        for bubble in chat.conversation {
            out.go_to(position);
            if let Some(bubble) = out.parse(bubble.get()) {
                emit_bubble(bubble, &model, out)?;
            }
        }
        for _ in self.bubbles {
            out.ignore("bubble that its chat does not list")?;
        }
        Ok(())
    }
}

fn emit_bubble(bubble: WireBubble, model: &Text, out: &mut Transcript) -> Result<()> {
    out.context.at = moment(&bubble.created_at).or_else(|| moment(&bubble.timestamp));
    bubble.workspace_project_dir.fill(&mut out.head.cwd);
    if let (None, Some(address)) = (&out.head.cwd, bubble.workspace_uris.first()) {
        out.head.cwd = address.some().map(local_path);
    }
    let text = if bubble.text.is_empty() { bubble.raw_text } else { bubble.text };
    match bubble.kind.0 {
        1 => out.prompt(&text),
        2 => {
            if let Some(model) = bubble.model_info.model_name.some().or(model.some()) {
                out.usage(model);
            }
            if !bubble.thinking.text.is_empty() {
                out.think(bubble.thinking.text)?;
            }
            if !text.is_empty() {
                out.reply(text.0)?;
            }
            match bubble.tool_former_data {
                Some(tool) => called(tool, bubble.bubble_id, out),
                None => Ok(()),
            }
        }
        kind => out.ignore(&format!("bubble of type {kind}")),
    }
}

/// A call and its answer stand in one bubble.
fn called(tool: WireTool, bubble: Text, out: &mut Transcript) -> Result<()> {
    if tool.name.is_empty() {
        return Ok(());
    }
    let id = if tool.tool_call_id.is_empty() { bubble.0 } else { tool.tool_call_id.0 };
    let input = tool.raw_args.some().or(tool.params.some()).unwrap_or("{}");
    out.call(id.clone(), tool.name.0, input)?;
    let failed = tool.status.as_str() == "error";
    if tool.result.is_empty() && !failed {
        return Ok(());
    }
    out.result(id, Content { text: tool.result.0, images: 0 }, failed, None)
}

/// Milliseconds after 1970, or a moment in words.
fn moment(text: &Text) -> Option<Timestamp> {
    match text.parse() {
        Ok(number) => Count(number).milliseconds(),
        Err(_) => text.time(),
    }
}
