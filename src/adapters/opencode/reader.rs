//! Reads one session of OpenCode into events, whatever the form in which it lies.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::wire::{
    WireDataRow, WireExport, WireInfo, WireMessage, WirePart, WireRevert, WireSession,
};
use crate::adapters::rows::WireRow;
use crate::adapters::transcript::{Dialect, Tokens, Transcript, attached, hash, unexpected_shape};
use crate::adapters::wire::{Text, length, plain, raw};
use crate::error::Result;
use crate::model::session::{BegunBy, EventKind, Position, Role};

/// Reads the documents of one session.
#[derive(Default)]
pub struct Reader {
    reverted: Option<Revert>,
    /// The message of the database whose parts are still coming.
    row: Option<RowMessage>,
}

struct RowMessage {
    id: String,
    data: String,
    position: Position,
    parts: Vec<(Position, String)>,
}

/// The message that the person took back, with all after it, and the last prompt before it.
struct Revert {
    message: String,
    kept: Option<(u32, Position)>,
}

impl Dialect for Reader {
    type Record<'a> = WireRow<'a>;

    /// A row is not counted as a record: a message has many.
    fn json(&mut self, json: &[u8], out: &mut Transcript) -> Result<serde_json::Result<()>> {
        match serde_json::from_slice(json) {
            Ok(row) => self.record(row, out).map(Ok),
            Err(err) => Ok(Err(err)),
        }
    }

    fn record(&mut self, row: WireRow, out: &mut Transcript) -> Result<()> {
        let (json, position) = (row.row.get(), out.context.position);
        match row.table.as_str() {
            "session" => {
                if let Some(session) = out.parse(json) {
                    self.note(session, out);
                }
                Ok(())
            }
            "message" => {
                self.end_message(out)?;
                out.go_to(position);
                self.row = out.parse::<WireDataRow>(json).map(|message| {
                    let (id, data) = (message.id.0.into_owned(), message.data.0.into_owned());
                    RowMessage { id, data, position, parts: Vec::new() }
                });
                Ok(())
            }
            "part" => {
                let Some(part) = out.parse::<WireDataRow>(json) else { return Ok(()) };
                match self.row.as_mut().filter(|row| row.id == part.message_id.as_str()) {
                    Some(message) => message.parts.push((position, part.data.0.into_owned())),
                    None => out.ignore("part without its message")?,
                }
                Ok(())
            }
            table => out.ignore(&format!("row of {table}")),
        }
    }
}

impl Reader {
    /// Reads the message of the database whose last part has come.
    pub fn end_message(&mut self, out: &mut Transcript) -> Result<()> {
        let Some(RowMessage { id, data, position, parts }) = self.row.take() else { return Ok(()) };
        out.go_to(position);
        let Some(info) = out.parse::<WireInfo>(&data) else { return Ok(()) };
        let parts = parts.iter().map(|(position, text)| (*position, text.as_str())).collect();
        self.message(WireInfo { id: Text(id.as_str().into()), ..info }, parts, out)
    }

    /// Reads an export, or the document of a session in the tree.
    pub fn session(&mut self, file: usize, out: &mut Transcript) -> Result<()> {
        let Some(bytes) = out.read_document(file)? else { return Ok(()) };
        let mut export = serde_json::from_slice::<WireExport>(&bytes).ok();
        if export.is_none() {
            let session = serde_json::from_slice::<WireSession>(&bytes).ok();
            export = session
                .filter(|session| !session.directory.is_empty())
                .map(|info| WireExport { info, messages: Vec::new() });
        }
        let Some(export) = export.or_else(|| out.parse_document(file, &bytes)) else {
            return Ok(());
        };
        self.note(export.info, out);
        for (number, raw) in export.messages.into_iter().enumerate() {
            let position = Position { file: file as u32, line: number as u64 + 1 };
            out.go_to(position);
            if let Some(WireMessage { info, parts }) = out.parse(raw.get()) {
                let parts = parts.into_iter().map(|part| (position, part.get())).collect();
                self.message(info, parts, out)?;
            }
        }
        Ok(())
    }

    /// Reads the messages of the tree and their parts, each in a document of its own, in the order
    /// of ids.
    pub fn tree(&mut self, out: &mut Transcript) -> Result<()> {
        let log = out.log;
        let (mut messages, mut parts) =
            (BTreeMap::new(), BTreeMap::<String, BTreeMap<&Path, usize>>::new());
        let attachments =
            log.files.iter().enumerate().filter(|(_, file)| file.role == Role::Attachment);
        for (at, file) in attachments {
            let Some(bytes) = out.read_document(at)? else { continue };
            let name = file.path.file_name().map(Path::new).unwrap_or(&file.path);
            match out.parse_document::<WirePart>(at, &bytes) {
                Some(part) if !part.message.is_empty() => {
                    parts.entry(part.message.0.into_owned()).or_default().insert(name, at);
                }
                Some(_) => drop(messages.insert(name, (at, bytes))),
                None => {}
            }
        }
        let position = |file: usize| Position { file: file as u32, line: 1 };
        for (at, bytes) in messages.into_values() {
            let info: WireInfo = match serde_json::from_slice(&bytes) {
                Ok(info) => info,
                Err(err) => {
                    out.skip(at, 0, unexpected_shape(&err));
                    continue;
                }
            };
            let mut documents = Vec::new();
            for at in parts.remove(info.id.as_str()).unwrap_or_default().into_values() {
                if let Some(bytes) = out.read_document(at)? {
                    documents.push((position(at), String::from_utf8_lossy(&bytes).into_owned()));
                }
            }
            let parts = documents.iter().map(|(at, text)| (*at, text.as_str())).collect();
            out.go_to(position(at));
            self.message(info, parts, out)?;
        }
        Ok(())
    }

    /// Takes back what the person took back.
    pub fn finish(self, out: &mut Transcript) -> Result<()> {
        let Some((kept, position)) = self.reverted.and_then(|reverted| reverted.kept) else {
            return Ok(());
        };
        out.go_to(position);
        out.emit(EventKind::Rewind { kept })
    }

    fn note(&mut self, session: WireSession, out: &mut Transcript) {
        let head = &mut out.head;
        if head.cwd.is_some() {
            // Another form of the same session, and an older one.
            return;
        }
        let untitled = |title: &String| {
            title.starts_with("New session - ") || title.starts_with("Child session - ")
        };
        head.title = session.title.owned().filter(|title| !untitled(title));
        head.cwd = session.directory.owned();
        head.version = session.version.owned();
        head.parent = session.parent.owned();
        // A fork copies its messages and names nobody.
        head.begun_by = if head.parent.is_some() { BegunBy::Agent } else { BegunBy::Person };
        let revert = plain(session.revert);
        let revert = serde_json::from_str::<WireRevert>(&revert).unwrap_or_default();
        let message = revert.message.owned();
        self.reverted = message.map(|message| Revert { message, kept: None });
    }

    fn message(
        &mut self,
        info: WireInfo,
        parts: Vec<(Position, &str)>,
        out: &mut Transcript,
    ) -> Result<()> {
        out.head.records += 1;
        let (at, position) = (info.time.created.milliseconds(), out.context.position);
        // Tools that share logs blot ids out where they look like secrets; the time keeps such
        // messages apart. The same session may lie in more than one form.
        if !info.id.is_empty() && out.is_repeated(hash((info.id.as_str(), at)))? {
            return Ok(());
        }
        let reverted = self.reverted.as_mut();
        if let Some(reverted) = reverted.filter(|reverted| reverted.message == info.id.as_str()) {
            reverted.kept = Some((out.prompts, position));
        }
        let mut wire = Vec::new();
        for (position, text) in parts {
            out.go_to(position);
            wire.extend(out.parse::<WirePart>(text).map(|part| (position, part)));
        }
        out.go_to(position);
        out.context.at = at;
        match info.role.as_str() {
            "user" => user(wire, out),
            "assistant" => assistant(info, wire, out),
            role => out.ignore(&format!("message {role}")),
        }
    }
}

fn user(parts: Vec<(Position, WirePart)>, out: &mut Transcript) -> Result<()> {
    let (mut typed, mut files) = (Vec::new(), 0);
    for (_, part) in &parts {
        match part.kind.as_str() {
            "text" if part.synthetic == Some(true) || part.ignored == Some(true) => {
                out.ignore("text that no person wrote")?;
            }
            "text" => typed.push(unquoted(part.text.trim())),
            "file" => files += 1,
            // The person called a command that a subagent carries out.
            "subtask" => {
                let command = format!("/{} {}", part.command.as_str(), part.description.as_str());
                typed.push(command.trim().to_string());
            }
            "compaction" => out.compaction(None)?,
            kind => out.ignore(&format!("part {kind}"))?,
        }
    }
    out.prompt(&attached(typed.join("\n").trim(), files, "file"))
}

/// `opencode run` puts the argument that a person gave it into quotes.
fn unquoted(text: &str) -> String {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let inner = inner.map(|inner| inner.replace("\\\"", "\0"));
    match inner.filter(|inner| inner.contains(' ') && !inner.contains('"')) {
        Some(inner) => inner.replace('\0', "\""),
        None => text.to_string(),
    }
}

fn assistant(info: WireInfo, parts: Vec<(Position, WirePart)>, out: &mut Transcript) -> Result<()> {
    count(&info, out);
    let message = out.context.clone();
    let is_summary = info.summary.is_some_and(|summary| summary.get() == "true");
    for (position, part) in parts {
        out.context.position = position;
        out.context.at = part.time.and_then(|time| time.start.milliseconds()).or(message.at);
        match part.kind.as_str() {
            "text" if is_summary && !part.text.trim().is_empty() => {
                out.emit(EventKind::Compaction(part.text.0))?
            }
            "text" => out.reply(part.text.0)?,
            "reasoning" => out.think(part.text.0)?,
            "tool" => {
                out.context.at = message.at;
                tool(part, out)?;
            }
            "retry" => out.lifecycle("model error, tried again")?,
            kind => out.ignore(&format!("part {kind}"))?,
        }
    }
    out.context = message;
    if let Some(error) = info.error {
        let name = error.get("name").and_then(Value::as_str).unwrap_or("error");
        let text = error.pointer("/data/message").and_then(Value::as_str).unwrap_or_default();
        match name {
            "MessageAbortedError" => out.intervention("turn aborted")?,
            name => out.lifecycle(format!("{name}: {text}"))?,
        }
    }
    if info.finish.as_str() == "stop" && !is_summary { out.completion() } else { Ok(()) }
}

/// A call, and its answer where that has come.
fn tool(part: WirePart, out: &mut Transcript) -> Result<()> {
    let Some(state) = part.state else { return out.ignore("tool without a state") };
    let at = out.context.at;
    let id = part.call.0;
    out.context.at = state.time.start.milliseconds().or(at);
    out.call(id.clone(), part.tool.0, raw(state.input))?;
    let is_error = state.status.as_str() == "error";
    if !is_error && state.status.as_str() != "completed" {
        return Ok(());
    }
    let exit_code = state.metadata.and_then(|metadata| metadata.exit.parse().ok());
    let mut content = state.output;
    content.images = length(state.attachments);
    if is_error && !state.error.is_empty() {
        content.text = state.error.0;
    }
    out.context.at = state.time.end.milliseconds().or(at);
    out.result(id, content, is_error, exit_code)
}

fn count(info: &WireInfo, out: &mut Transcript) {
    let Some(model) = info.model.some() else { return };
    let mut used = Tokens::default();
    if let Some(tokens) = &info.tokens {
        (used.input, used.output) = (tokens.input.0, tokens.output.0);
        (used.cache_read, used.cache_write) = (tokens.cache.read.0, tokens.cache.write.0);
    }
    used.cost_usd = info.cost.as_ref().and_then(Value::as_f64);
    out.count(model, used);
}
