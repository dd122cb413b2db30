//! Factory's Droid: `sessions/-<cwd>/<id>.jsonl`, one record per line, and `<id>.settings.json`
//! with the model and the tokens of the whole session (seen in 0.215, format 2).
//!
//! Messages have Anthropic's blocks. Those whose ids begin with `context-` are the program's own.
//! A subagent is a session of its own that names the one that called it (by what others found, not
//! seen).

use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use super::blocks::{Block, blocks};
use super::tags;
use super::transcript::{Dialect, Tokens, Transcript, attached};
use super::wire::{self, Count, Text, wire_types};
use super::{Adapter, Identity, Places, jsonl};
use crate::error::Result;
use crate::model::session::{BegunBy, EventSink, Head, Log, Role};

/// Factory's Droid.
pub struct Droid;

/// The latest format that was seen.
const FORMAT: u64 = 2;

impl Adapter for Droid {
    fn name(&self) -> &'static str {
        "droid"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        vec![places.home.join(".factory/sessions")]
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let name = file.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        if let Some(id) = name.strip_suffix(".settings.json") {
            let fields = ["tokenUsage", "model", "autonomyLevel", "interactionMode"];
            let settings = jsonl::document_head(file, &fields, "")?;
            let is_own = fields.iter().filter(|name| settings.contains_key(**name)).count() > 1;
            return Ok(is_own.then(|| Identity::beside(id, Role::Attachment)));
        }
        let Some(_) = jsonl::stem(file) else { return Ok(None) };
        let records = jsonl::first_objects(file, 1)?;
        let Some(start) = records.first() else { return Ok(None) };
        let id = jsonl::string(start, "id");
        let is_own = jsonl::string(start, "type") == "session_start" && !id.is_empty();
        let caller = jsonl::string(start, "callingSessionId").to_string();
        Ok(is_own.then(|| Identity::main(id, None).started_by(Some(caller))))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut out = Transcript::new(log, events);
        let beside = log.files.iter().enumerate();
        for (at, _) in beside.filter(|(_, file)| file.role == Role::Attachment) {
            let Some(bytes) = out.read_document(at)? else { continue };
            if let Some(settings) = out.parse_document::<WireSettings>(at, &bytes) {
                count(settings, &mut out);
            }
        }
        out.read_log(&mut Records)?;
        Ok(out.head)
    }
}

// What stands in a record, exactly as the agent writes it.

wire_types! {
    #[serde(rename_all = "camelCase")]
    struct WireRecord<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        id: Text<'a>,
        parent_id: Text<'a>,
        timestamp: Text<'a>,
        title: Text<'a>,
        session_title: Text<'a>,
        cwd: Text<'a>,
        /// Of the format; in earlier logs, of the program.
        version: Text<'a>,
        calling_session_id: Text<'a>,
        reason: Text<'a>,
        summary_text: Text<'a>,
        message: Option<WireMessage<'a>>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireMessage<'a> {
        role: Text<'a>,
        content: Option<&'a RawValue>,
        model_id: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireSettings<'a> {
        model: Text<'a>,
        token_usage: Option<WireUsage>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireUsage {
        input_tokens: Count,
        output_tokens: Count,
        cache_read_tokens: Count,
        cache_creation_tokens: Count,
    }
}

/// Counts what the session used as a whole: messages have no figures of their own.
fn count(settings: WireSettings, out: &mut Transcript) {
    let Some(used) = settings.token_usage else { return };
    let tokens = Tokens {
        input: used.input_tokens.0,
        output: used.output_tokens.0,
        cache_read: used.cache_read_tokens.0,
        cache_write: used.cache_creation_tokens.0,
        cost_usd: None,
    };
    out.count(settings.model.some().unwrap_or("unknown"), tokens);
}

/// Reads the records of one session.
struct Records;

impl Dialect for Records {
    type Record<'a> = WireRecord<'a>;

    fn record(&mut self, record: WireRecord, out: &mut Transcript) -> Result<()> {
        out.context.at = record.timestamp.time();
        out.follow(&record.id, &record.parent_id);
        match record.kind.as_str() {
            "session_start" => start(record, out),
            "message" => match record.message {
                Some(message) => self::message(&record.id, message, out),
                None => out.ignore("message without content"),
            },
            "agent_turn_outcome" => match record.reason.as_str() {
                "completed" => out.completion(),
                "" => out.ignore("agent_turn_outcome"),
                reason if reason.contains("cancel") || reason.contains("interrupt") => {
                    out.intervention(format!("turn {reason}"))
                }
                reason => out.lifecycle(format!("turn {reason}")),
            },
            "compaction_state" => out.compaction(record.summary_text.owned()),
            kind => out.ignore(kind),
        }
    }
}

fn start(record: WireRecord, out: &mut Transcript) -> Result<()> {
    record.cwd.fill(&mut out.head.cwd);
    let titles = [&record.session_title, &record.title];
    let title = titles.into_iter().find_map(Text::owned);
    out.head.title = title.filter(|title| title != "New Session");
    if record.version.contains('.') {
        record.version.replace(&mut out.head.version);
    } else {
        out.note_newer_record(record.version.parse().unwrap_or_default(), FORMAT);
    }
    if let Some(caller) = record.calling_session_id.owned() {
        out.head.parent = Some(caller);
        out.head.begun_by = BegunBy::Agent;
    }
    Ok(())
}

fn message(id: &str, message: WireMessage, out: &mut Transcript) -> Result<()> {
    let blocks = blocks(message.content, out);
    if message.role.as_str() == "assistant" {
        return assistant(&message.model_id, blocks, out);
    }
    let (mut typed, mut images) = (Vec::new(), 0);
    for block in blocks {
        match block.kind.as_str() {
            "text" => typed.push(tags::without(&block.text, &["system-reminder"])),
            "image" | "document" => images += 1,
            "tool_result" => {
                let content = block.result();
                let exit_code = exit_code(&content.text);
                let failed = block.is_error == Some(true)
                    || content.text.starts_with("Error: Command failed");
                out.result(block.tool_use_id.0, content, failed, exit_code)?;
            }
            kind => out.ignore(&format!("block {kind}"))?,
        }
    }
    if message.role.as_str() != "user" || id.starts_with("context-") {
        return out.ignore("message that no person wrote");
    }
    out.prompt(&attached(typed.join("\n").trim(), images, "image"))
}

fn assistant(model: &Text, blocks: Vec<Block>, out: &mut Transcript) -> Result<()> {
    if let Some(model) = model.some() {
        out.usage(model);
    }
    for block in blocks {
        match block.kind.as_str() {
            "text" => out.reply(block.text.0)?,
            "thinking" => out.think(block.thinking.0)?,
            "tool_use" => out.call(block.id.0, block.name.0, wire::raw(block.input))?,
            kind => out.ignore(&format!("block {kind}"))?,
        }
    }
    Ok(())
}

/// The exit code in a first line like `Error: Command failed (exit code: 1)`, or in a last one like
/// `[Process exited with code 0]`.
fn exit_code(text: &str) -> Option<i32> {
    let first = text.strip_prefix("Error: Command failed (exit code: ");
    let first = first.and_then(|rest| rest.split(')').next());
    let last = || text.trim_end().lines().next_back()?.strip_prefix("[Process exited with code ");
    first.or_else(|| last()?.strip_suffix(']'))?.parse().ok()
}
