//! Reads the chats of one session of Gemini CLI into events.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::value::RawValue;

use super::wire::{WireHeader, WireId, WirePart, WireRecord, WireThought, WireToolCall};
use crate::adapters::transcript::{Dialect, NoEvents, Tokens, Transcript, attached, hash};
use crate::adapters::wire::{Content, Text, raw};
use crate::error::Result;
use crate::model::session::{EventKind, Log, Position, Role};

/// Reads the files of one session into events.
pub struct Reader {
    /// Where the last copy of each message stands.
    last: HashMap<u64, Position>,
    /// The messages that were read, and how many prompts there were before each.
    messages: HashMap<u64, u32>,
}

/// Finds out where the last copy of each message stands.
#[derive(Default)]
struct LastCopies(HashMap<u64, Position>);

impl Dialect for LastCopies {
    type Record<'a> = WireId<'a>;

    fn record(&mut self, record: WireId, out: &mut Transcript) -> Result<()> {
        if let Some(id) = record.id.some() {
            self.0.insert(hash(id), out.context.position);
        }
        Ok(())
    }
}

impl Dialect for Reader {
    type Record<'a> = WireRecord<'a>;

    fn record(&mut self, record: WireRecord, out: &mut Transcript) -> Result<()> {
        if let Some(set) = record.set {
            return self.set(set, out);
        }
        if let Some(id) = record.rewind_to.some() {
            let kept = self.messages.get(&hash(id)).copied().unwrap_or(out.prompts);
            return out.emit(EventKind::Rewind { kept });
        }
        if record.kind.is_empty() {
            if record.session_id.is_empty() {
                out.ignore("record without a type")?;
            }
            note(&record.summary, record.directories, out);
            return Ok(());
        }
        if let Some(id) = record.id.some() {
            let (key, position) = (hash(id), out.context.position);
            let is_earlier = self.last.get(&key).is_some_and(|last| *last != position);
            if is_earlier || self.messages.contains_key(&key) {
                return out.ignore("earlier copy of a message");
            }
            self.messages.insert(key, out.prompts);
        }
        out.context.at = record.timestamp.time();
        match record.kind.as_str() {
            "user" => user(record, out),
            "gemini" => gemini(record, out),
            "error" => out.lifecycle(format!("error: {}", record.content.text.trim())),
            "info" if record.content.text.starts_with("Request cancelled") => {
                out.intervention(record.content.text)
            }
            kind => out.ignore(kind),
        }
    }
}

impl Reader {
    /// Looks through the log for the last copies of messages.
    pub fn new(log: &Log) -> Result<Reader> {
        let mut copies = LastCopies::default();
        for (at, file) in log.files.iter().enumerate() {
            if is_lines(log, at) && file.role != Role::Attachment {
                Transcript::new(log, &mut NoEvents).read_file(&mut copies, at)?;
            }
        }
        Ok(Reader { last: copies.0, messages: HashMap::new() })
    }

    /// Reads one file, a document or lines.
    pub fn file(&mut self, file: usize, out: &mut Transcript) -> Result<()> {
        if is_lines(out.log, file) {
            return out.read_file(self, file);
        }
        let Some(bytes) = out.read_document(file)? else { return Ok(()) };
        let Some(document) = out.parse_document(file, &bytes) else { return Ok(()) };
        out.go_to(Position { file: file as u32, line: 0 });
        self.set(document, out)
    }

    /// Takes a header, and the messages in it that were not read yet.
    fn set(&mut self, header: WireHeader, out: &mut Transcript) -> Result<()> {
        note(&header.summary, header.directories, out);
        let Position { file, line } = out.context.position;
        for (at, raw) in header.messages.unwrap_or_default().into_iter().enumerate() {
            let line = if line == 0 { at as u64 + 1 } else { line };
            out.go_to(Position { file, line });
            let Some(message) = out.parse::<WireRecord>(raw.get()) else { continue };
            // What has a line of its own is read there.
            if message.id.is_empty() || !self.last.contains_key(&hash(message.id.as_str())) {
                out.head.records += 1;
                self.record(message, out)?;
            }
        }
        Ok(())
    }
}

fn is_lines(log: &Log, at: usize) -> bool {
    log.files[at].name.extension().is_some_and(|extension| extension == "jsonl")
}

fn note(summary: &Text, directories: Option<Vec<String>>, out: &mut Transcript) {
    if out.context.agent.is_none() {
        summary.replace(&mut out.head.title);
        let cwd = out.head.cwd.take();
        out.head.cwd = cwd.or_else(|| directories?.into_iter().next());
    }
}

fn user(record: WireRecord, out: &mut Transcript) -> Result<()> {
    // What was typed; the content has the files that the person named spelled out.
    let typed = if record.display_content.text.is_empty() {
        &record.content
    } else {
        &record.display_content
    };
    let text = typed.text.trim();
    const MACHINE: &[&str] = &[
        "<session_context>",
        "This is the Gemini CLI. We are setting up",
        "System: Please continue.",
    ];
    if out.head.cwd.is_none() && out.context.agent.is_none() {
        out.head.cwd = workspace(text);
    }
    if MACHINE.iter().any(|start| text.starts_with(start)) {
        return out.ignore("user message that no person wrote");
    }
    let prompt = attached(text, record.content.images, "image");
    let is_command = text
        .strip_prefix('/')
        .is_some_and(|rest| !rest.contains(|c: char| c == '/' || c.is_whitespace()));
    if is_command { out.lifecycle(prompt) } else { out.prompt(&prompt) }
}

fn gemini(record: WireRecord, out: &mut Transcript) -> Result<()> {
    if let Some(model) = record.model.some() {
        let used = record.tokens.unwrap_or_default();
        // The log counts what was cached as input, too, and thinking beside the output.
        let tokens = Tokens {
            input: used.input.0.saturating_sub(used.cached.0) + used.tool.0,
            output: used.output.0 + used.thoughts.0,
            cache_read: used.cached.0,
            ..Tokens::default()
        };
        out.count(model, tokens);
    }
    let thoughts: Vec<_> = record.thoughts.unwrap_or_default().iter().map(thought).collect();
    out.think(thoughts.join("\n").into())?;
    out.reply(record.content.text)?;
    let (calls, at) = (record.tool_calls.unwrap_or_default(), out.context.at);
    let finished = calls.is_empty() && out.context.agent.is_none();
    for (number, call) in calls.into_iter().enumerate() {
        let id = call.id.owned().unwrap_or_else(|| format!("{}-{number}", record.id.as_str()));
        out.context.at = at;
        tool(call, &id, out)?;
    }
    if finished { out.completion() } else { Ok(()) }
}

/// A call, and its answer where that has come.
fn tool(call: WireToolCall, id: &str, out: &mut Transcript) -> Result<()> {
    out.call(id.into(), call.name.0, raw(call.args))?;
    let status = call.status.as_str();
    if !matches!(status, "success" | "error" | "cancelled") {
        return Ok(());
    }
    let mut content = call.result.map(output).unwrap_or_default();
    if content.text.is_empty() {
        content.text = call.result_display.text;
    }
    let exit_code = exit_code(&content.text);
    content.text = unwrapped(content.text);
    out.context.at = call.timestamp.time().or(out.context.at);
    out.result(id.into(), content, status != "success", exit_code)?;
    match status {
        "cancelled" => out.intervention("the person cancelled a tool"),
        _ => Ok(()),
    }
}

fn thought(thought: &WireThought) -> String {
    match (thought.subject.some(), thought.description.as_str()) {
        (Some(subject), description) if !description.is_empty() => {
            format!("{subject}: {description}")
        }
        (subject, description) => subject.unwrap_or(description).to_string(),
    }
}

/// What a tool answered: function responses, or parts with text and images beside them.
fn output(raw: &RawValue) -> Content<'_> {
    let mut content: Content = serde_json::from_str(raw.get()).unwrap_or_default();
    let parts: Vec<WirePart> = serde_json::from_str(raw.get()).unwrap_or_default();
    let answers =
        parts.into_iter().filter_map(|part| Some(part.function_response?.content().0.text));
    let texts: Vec<_> = answers.filter(|text| !text.is_empty()).collect();
    if !texts.is_empty() {
        content.text = texts.join("\n").into();
    }
    content
}

/// The folder that the program's first message names: the first of its list.
fn workspace(text: &str) -> Option<String> {
    if !text.starts_with("<session_context>") {
        return None;
    }
    let (_, list) = text.split_once("**Workspace Directories:**\n")?;
    let folder = list.lines().next()?.trim_start().strip_prefix("- ")?.trim();
    (!folder.is_empty()).then(|| folder.to_string())
}

/// What a tool printed, without what the program puts around it for the model.
fn unwrapped(text: Cow<'_, str>) -> Cow<'_, str> {
    let inner = text.trim().strip_prefix("<untrusted_context>");
    let Some(inner) = inner.and_then(|text| text.strip_suffix("</untrusted_context>")) else {
        return text;
    };
    let inner = inner.trim_matches('\n');
    let inner = inner.strip_prefix("Output: ").unwrap_or(inner);
    let is_note = |line: &&str| {
        line.starts_with("Process Group PGID: ") || line.starts_with("Background PIDs: ")
    };
    let lines: Vec<&str> = inner.lines().filter(|line| !is_note(line)).collect();
    lines.join("\n").into()
}

/// The exit code in the line `Exit Code: 1` of a command's output.
pub fn exit_code(text: &str) -> Option<i32> {
    let mut lines = text.lines().rev().take(12);
    lines.find_map(|line| line.strip_prefix("Exit Code: ")?.trim().parse().ok())
}
