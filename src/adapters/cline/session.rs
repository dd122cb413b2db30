//! How the documents of a session of Cline's become events.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::adapters::blocks::{Block, blocks};
use crate::adapters::tags;
use crate::adapters::transcript::{Tokens, Transcript, attached};
use crate::adapters::wire::{self, Content, Count, Text, wire_types};
use crate::base::clock::Timestamp;
use crate::error::Result;
use crate::model::session::{Action, EventSink, Head, Log, Position, Role};

/// The latest format that was seen.
const FORMAT: u64 = 1;

// What stands in the documents, exactly as the agent writes it.

wire_types! {
    struct WireManifest<'a> {
        cwd: Text<'a>,
        workspace_root: Text<'a>,
        metadata: WireMetadata<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireMetadata<'a> {
        title: Text<'a>,
        git: WireGit<'a>,
        fork: WireFork<'a>,
        session_history_origin: WireOrigin<'a>,
    }

    struct WireGit<'a> {
        url: Text<'a>,
        branch: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireFork<'a> {
        forked_from_session_id: Text<'a>,
        forked_at: Text<'a>,
    }

    struct WireOrigin<'a> {
        version: Text<'a>,
    }

    struct WireDocument<'a> {
        messages: Vec<&'a RawValue>,
        version: Count,
    }

    #[serde(rename_all = "camelCase")]
    struct WireMessage<'a> {
        role: Text<'a>,
        content: Option<&'a RawValue>,
        ts: Count,
        model_info: WireModel<'a>,
        metrics: Option<WireMetrics>,
        metadata: WireNote<'a>,
    }

    struct WireModel<'a> {
        id: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireMetrics {
        input_tokens: Count,
        output_tokens: Count,
        cache_read_tokens: Count,
        cache_write_tokens: Count,
        cost: Option<f64>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireNote<'a> {
        kind: Text<'a>,
        summary: Text<'a>,
        generated_at: Count,
    }
}

/// Reads one session.
pub fn read(log: &Log, events: &mut dyn EventSink) -> Result<Head> {
    let mut out = Transcript::new(log, events);
    let mut session = Session::default();
    for (at, file) in log.files.iter().enumerate() {
        if file.role != Role::Attachment {
            continue;
        }
        let Some(bytes) = out.read_document(at)? else { continue };
        if file.path.to_string_lossy().ends_with(".compaction.json") {
            let Some(document) = out.parse_document::<WireDocument>(at, &bytes) else { continue };
            session.note_compactions(document);
        } else if let Some(manifest) = out.parse_document(at, &bytes) {
            session.note(manifest, &mut out);
        }
    }
    for file in out.main_files() {
        session.document(file, &mut out)?;
        session.compact(None, &mut out)?;
    }
    for file in out.subagent_files() {
        Session::default().document(file, &mut out)?;
    }
    Ok(out.head)
}

#[derive(Default)]
struct Session {
    /// When it was forked off another one: what is older is a copy.
    forked: Option<Timestamp>,
    /// When the context was summed up, and how; the latest first.
    compactions: Vec<(Option<Timestamp>, Option<String>)>,
}

impl Session {
    fn note(&mut self, manifest: WireManifest, out: &mut Transcript) {
        let (metadata, head) = (manifest.metadata, &mut out.head);
        metadata.title.fill(&mut head.title);
        manifest.cwd.fill(&mut head.cwd);
        manifest.workspace_root.fill(&mut head.cwd);
        metadata.git.url.fill(&mut head.remote);
        metadata.git.branch.fill(&mut head.branch);
        metadata.session_history_origin.version.fill(&mut head.version);
        metadata.fork.forked_from_session_id.fill(&mut head.parent);
        self.forked = metadata.fork.forked_at.time();
    }

    /// The document of a compaction is the context as it was then; the session's own keeps all.
    fn note_compactions(&mut self, document: WireDocument) {
        for raw in document.messages {
            let Ok(message) = serde_json::from_str::<WireMessage>(raw.get()) else { continue };
            let note = message.metadata;
            if note.kind.starts_with("compaction") {
                let at = note.generated_at.milliseconds().or(message.ts.milliseconds());
                self.compactions.push((at, note.summary.owned()));
            }
        }
        self.compactions.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    }

    /// Tells the compactions before a moment, or all.
    fn compact(&mut self, before: Option<Timestamp>, out: &mut Transcript) -> Result<()> {
        let is_due =
            |at: Option<Timestamp>| before.is_none_or(|before| at.is_some_and(|at| at < before));
        while self.compactions.last().is_some_and(|(at, _)| is_due(*at)) {
            let Some((at, summary)) = self.compactions.pop() else { break };
            out.context.at = at;
            out.compaction(summary)?;
        }
        Ok(())
    }

    fn document(&mut self, file: usize, out: &mut Transcript) -> Result<()> {
        let Some(bytes) = out.read_document(file)? else { return Ok(()) };
        let Some(document) = out.parse_document::<WireDocument>(file, &bytes) else {
            return Ok(());
        };
        if document.version.0 > FORMAT {
            let format = document.version.0;
            let reason = format!("written in format {format}, which is newer than {FORMAT}");
            out.skip(file, 0, reason);
        }
        let mut messages = Vec::new();
        for (number, raw) in document.messages.into_iter().enumerate() {
            out.go_to(Position { file: file as u32, line: number as u64 + 1 });
            messages.extend(out.parse::<WireMessage>(raw.get()).map(|one| (number, one)));
        }
        // A fork that has not gone on yet would have nothing; its copy counts as its own.
        let latest = messages.iter().filter_map(|(_, message)| message.ts.milliseconds()).max();
        let forked = self.forked.filter(|forked| latest.is_some_and(|latest| latest >= *forked));
        for (number, message) in messages {
            let at = message.ts.milliseconds();
            out.go_to(Position { file: file as u32, line: number as u64 + 1 });
            if let Some(at) = at {
                self.compact(Some(at), out)?;
            }
            out.head.records += 1;
            out.context.at = at;
            if forked.zip(at).is_some_and(|(forked, at)| at < forked) {
                out.inherit();
            }
            self::message(message, out)?;
        }
        Ok(())
    }
}

fn message(message: WireMessage, out: &mut Transcript) -> Result<()> {
    let blocks = blocks(message.content, out);
    match message.role.as_str() {
        "user" => user(&message.metadata, blocks, out),
        "assistant" => {
            count(&message.model_info.id, message.metrics, out);
            assistant(blocks, out)
        }
        role => out.ignore(&format!("message {role}")),
    }
}

fn user(note: &WireNote, blocks: Vec<Block>, out: &mut Transcript) -> Result<()> {
    if note.kind.starts_with("compaction") {
        return out.ignore("message of a compaction");
    }
    let (mut typed, mut sent) = (Vec::new(), 0);
    for block in blocks {
        match block.kind.as_str() {
            "text" => {
                let words = tags::without(&block.text, &["SYSTEM_NOTICE", "environment_details"]);
                typed.push(tags::inside(&words, "user_input").unwrap_or(&words).to_string());
            }
            "file" | "image" => sent += 1,
            "tool_result" => {
                let (text, failed) = outcome(block.content);
                let exit_code = exit_code(&text);
                let failed = failed || block.is_error == Some(true);
                let content = Content { text: text.into(), images: 0 };
                out.result(block.tool_use_id.0, content, failed, exit_code)?;
            }
            kind => out.ignore(&format!("block {kind}"))?,
        }
    }
    out.prompt(&attached(typed.join("\n").trim(), sent, "file"))
}

fn assistant(blocks: Vec<Block>, out: &mut Transcript) -> Result<()> {
    let mut called = false;
    for block in blocks {
        match block.kind.as_str() {
            "text" => out.reply(block.text.0)?,
            "thinking" if block.thinking.is_empty() => out.think(block.text.0)?,
            "thinking" => out.think(block.thinking.0)?,
            "tool_use" => {
                called = true;
                call(block, out)?;
            }
            kind => out.ignore(&format!("block {kind}"))?,
        }
    }
    if called { Ok(()) } else { out.completion() }
}

/// Counts what a request used; the log counts what was cached as input, too.
fn count(model: &Text, metrics: Option<WireMetrics>, out: &mut Transcript) {
    let Some(used) = metrics.filter(|_| !out.context.inherited) else { return };
    let tokens = Tokens {
        input: used.input_tokens.0,
        output: used.output_tokens.0,
        cache_read: used.cache_read_tokens.0,
        cache_write: used.cache_write_tokens.0,
        cost_usd: used.cost,
    };
    out.count(model.some().unwrap_or("unknown"), tokens.without_cached_input());
}

/// A call. Some of Cline's tools do several things at once.
fn call(block: Block, out: &mut Transcript) -> Result<()> {
    let input: Map<String, Value> =
        serde_json::from_str(wire::raw(block.input)).unwrap_or_default();
    let list = |name: &str| input.get(name).and_then(Value::as_array);
    if let Some(commands) = list("commands") {
        let command = |one: &Value| match one {
            Value::String(command) => command.clone(),
            other => other.get("command").and_then(Value::as_str).unwrap_or_default().to_string(),
        };
        let commands: Vec<String> = commands.iter().map(command).collect();
        let action = Action::Shell { command: commands.join("\n") };
        return out.act(block.id.0, block.name.0, action);
    }
    if let Some(path) = list("files").and_then(|files| files.first()?.get("path")?.as_str()) {
        return out.act(block.id.0, block.name.0, Action::Read { path: path.to_string() });
    }
    let common = input.into_iter().map(|(name, value)| match name.as_str() {
        "old_text" => ("old_string".to_string(), value),
        "new_text" => ("new_string".to_string(), value),
        _ => (name, value),
    });
    let input = Value::Object(common.collect());
    out.call(block.id.0, block.name.0, &input.to_string())
}

/// What came of a call, and whether it failed: a text, or `{query, result, error, success}`, one or
/// several, which may stand in a text.
fn outcome(content: Option<&RawValue>) -> (String, bool) {
    let text = wire::plain(content);
    let Ok(value) = serde_json::from_str::<Value>(&text) else { return (text.into_owned(), false) };
    let list = match value {
        Value::Array(list) => list,
        one => vec![one],
    };
    let is_outcome = |one: &Value| one.get("result").is_some() || one.get("success").is_some();
    if !list.iter().all(is_outcome) {
        let content = serde_json::from_str::<Content>(wire::raw(content)).unwrap_or_default();
        return (content.text.into_owned(), false);
    }
    let part = |one: &Value, name: &str| match one.get(name) {
        Some(Value::String(text)) => text.trim().to_string(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    let texts = list.iter().flat_map(|one| {
        let (result, error) = (part(one, "result"), part(one, "error"));
        // Mostly the result says it too.
        let is_new = !result.contains(&error);
        [result, if is_new { error } else { String::new() }]
    });
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    let failed = list.iter().any(|one| one.get("success") == Some(&false.into()));
    (texts.join("\n"), failed)
}

/// The exit code in a first line like `[Command exited with code 1]`.
fn exit_code(text: &str) -> Option<i32> {
    let line = text.lines().next()?.trim_matches(['[', ']']);
    line.strip_prefix("Command exited with code ")?.parse().ok()
}
