//! Qwen Code: `projects/<slug>/chats/<session>.jsonl`, one JSON record per line (seen in 0.18 to
//! 0.21).
//!
//! The envelope is Claude's (`uuid`, `parentUuid`, `sessionId`), the messages are Gemini's (`parts`
//! with text, thoughts, calls and answers). Earlier versions wrote Gemini's documents and are read
//! as such.

use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::gemini::{self, WireFunctionResponse};
use super::transcript::{Dialect, Tokens, Transcript, attached};
use super::wire::{self, Count, Text, wire_types};
use super::{Adapter, Identity, Places, jsonl};
use crate::error::Result;
use crate::model::session::{BegunBy, EventSink, Head, Log};

/// Qwen Code.
pub struct Qwen;

impl Adapter for Qwen {
    fn name(&self) -> &'static str {
        "qwen"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        vec![places.home.join(".qwen/projects"), places.home.join(".qwen/tmp")]
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let Some(stem) = jsonl::stem(file) else { return Ok(None) };
        let records = jsonl::first_objects(file, 20)?;
        let mut own = records.iter().filter(|record| is_qwen_record(record)).peekable();
        if own.peek().is_none() {
            return Ok(None);
        }
        let first = *own.peek().expect("looked at");
        if first.get("isSidechain") == Some(&true.into())
            && !jsonl::string(first, "agentId").is_empty()
        {
            // A subagent's records carry the id of the session that started it.
            let (id, lineage) = (jsonl::string(first, "agentId"), jsonl::string(first, "uuid"));
            let parent = jsonl::string(first, "sessionId").to_string();
            let identity = Identity::main(id, Some(lineage.to_string()));
            return Ok(Some(identity.started_by(Some(parent))));
        }
        let ids: Vec<&str> = own.filter_map(|record| record.get("sessionId")?.as_str()).collect();
        // A fork begins with records of another session; the file is named after its own.
        let id = ids.iter().find(|id| **id == stem).or(ids.last()).copied().unwrap_or(&stem);
        let lineage =
            records.iter().find_map(|record| record.get("uuid")?.as_str().map(str::to_string));
        let lineage = lineage.filter(|_| ids.first() == Some(&id));
        Ok(Some(Identity::main(id, lineage)))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut out = Transcript::new(log, events);
        out.read_log(&mut Records)?;
        Ok(out.head)
    }
}

/// Whether a record is Qwen's; those of Claude have the same envelope but other messages.
pub(super) fn is_qwen_record(record: &Map<String, Value>) -> bool {
    let parts = record.get("message").and_then(|message| message.get("parts")).is_some();
    record.contains_key("uuid")
        && record.contains_key("sessionId")
        && (parts || record.contains_key("systemPayload"))
}

// What stands in a record, exactly as the agent writes it.

wire_types! {
    #[serde(rename_all = "camelCase")]
    struct WireRecord<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        subtype: Text<'a>,
        provenance: Text<'a>,
        uuid: Text<'a>,
        parent_uuid: Text<'a>,
        session_id: Text<'a>,
        agent_id: Text<'a>,
        is_sidechain: Option<bool>,
        timestamp: Text<'a>,
        cwd: Text<'a>,
        git_branch: Text<'a>,
        version: Text<'a>,
        model: Text<'a>,
        message: Option<WireMessage<'a>>,
        usage_metadata: Option<WireUsage>,
        tool_call_result: Option<WireToolCallResult<'a>>,
        system_payload: Option<&'a RawValue>,
    }

    struct WireMessage<'a> {
        parts: Vec<WirePart<'a>>,
    }

    #[serde(rename_all = "camelCase")]
    struct WirePart<'a> {
        text: Text<'a>,
        thought: Option<bool>,
        function_call: Option<WireFunctionCall<'a>>,
        function_response: Option<WireFunctionResponse<'a>>,
        inline_data: Option<IgnoredAny>,
    }

    struct WireFunctionCall<'a> {
        id: Text<'a>,
        name: Text<'a>,
        args: Option<&'a RawValue>,
    }

    struct WireToolCallResult<'a> {
        status: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireUsage {
        prompt_token_count: Count,
        candidates_token_count: Count,
        cached_content_token_count: Count,
        total_token_count: Count,
    }

    /// The fields that we read of a system record, or of what a hook put beside a prompt.
    #[serde(rename_all = "camelCase")]
    struct WirePayload<'a> {
        display_text: Text<'a>,
        custom_title: Text<'a>,
        title_source: Text<'a>,
        phase: Text<'a>,
        raw_command: Text<'a>,
        compressed_history: Option<Vec<WireMessage<'a>>>,
    }
}

/// Reads the records of one session.
struct Records;

impl Dialect for Records {
    type Record<'a> = WireRecord<'a>;

    fn record(&mut self, record: WireRecord, out: &mut Transcript) -> Result<()> {
        out.context.at = record.timestamp.time();
        let is_subagents = record.is_sidechain == Some(true)
            && record.agent_id.some() == Some(out.log.native_id.as_str());
        if is_subagents {
            out.head.begun_by = BegunBy::Agent;
            record.session_id.replace(&mut out.head.parent);
        }
        if !is_subagents && record.session_id.some().is_some_and(|id| id != out.log.native_id) {
            out.inherit();
            record.session_id.replace(&mut out.head.parent);
        } else {
            record.cwd.fill(&mut out.head.cwd);
            record.git_branch.replace(&mut out.head.branch);
            record.version.replace(&mut out.head.version);
        }
        out.follow(&record.uuid, &record.parent_uuid);
        match record.kind.as_str() {
            "user" => prompt(record, out),
            "assistant" => assistant(record, out),
            "tool_result" => {
                let status =
                    record.tool_call_result.map(|result| result.status).unwrap_or_default();
                for part in record.message.map(|message| message.parts).unwrap_or_default() {
                    if let Some(response) = part.function_response {
                        result(response, &status, out)?;
                    }
                }
                Ok(())
            }
            "system" => system(record, out),
            kind => out.ignore(kind),
        }
    }
}

fn prompt(record: WireRecord, out: &mut Transcript) -> Result<()> {
    let person = record.provenance.some().is_none_or(|who| who.contains("user"));
    if !person || record.subtype.some().is_some_and(|subtype| subtype != "mid_turn_user_message") {
        return out.ignore("user record that no person wrote");
    }
    let parts = record.message.map(|message| message.parts).unwrap_or_default();
    let images = parts.iter().filter(|part| part.inline_data.is_some()).count();
    // What was typed; beside it stand the texts of hooks and of files that the person named.
    let typed = payload(record.system_payload).display_text.owned().unwrap_or_else(|| {
        parts.iter().filter_map(|part| part.text.some()).collect::<Vec<_>>().join("\n")
    });
    out.prompt(&attached(&typed, images as u32, "image"))
}

fn assistant(record: WireRecord, out: &mut Transcript) -> Result<()> {
    // A subagent's records count tokens, but do not name the model.
    let nameless = record.usage_metadata.as_ref().map(|_| "unknown");
    if let Some(model) = record.model.some().or(nameless).filter(|_| !out.context.inherited) {
        let used = record.usage_metadata.unwrap_or_default();
        // What is no input is output or thinking.
        let (input, total) = (used.prompt_token_count.0, used.total_token_count.0);
        let output = used.candidates_token_count.0.max(total.saturating_sub(input));
        let cache_read = used.cached_content_token_count.0;
        let tokens = Tokens { input, output, cache_read, ..Tokens::default() };
        out.count(model, tokens.without_cached_input());
    }
    let (mut called, mut replied) = (false, false);
    for part in record.message.map(|message| message.parts).unwrap_or_default() {
        if let Some(call) = part.function_call {
            called = true;
            out.call(call.id.0, call.name.0, wire::raw(call.args))?;
        } else if part.thought == Some(true) {
            out.think(part.text.0)?;
        } else {
            replied |= !part.text.trim().is_empty();
            out.reply(part.text.0)?;
        }
    }
    if replied && !called { out.completion() } else { Ok(()) }
}

fn result(response: WireFunctionResponse, status: &str, out: &mut Transcript) -> Result<()> {
    let id = response.id.0.clone();
    let (content, error) = response.content();
    let exit_code = gemini::exit_code(&content.text);
    out.result(id, content, error || matches!(status, "error" | "cancelled"), exit_code)?;
    match status {
        "cancelled" => out.intervention("the person cancelled a tool"),
        _ => Ok(()),
    }
}

fn system(record: WireRecord, out: &mut Transcript) -> Result<()> {
    let payload = payload(record.system_payload);
    match record.subtype.as_str() {
        "custom_title" => {
            payload.custom_title.replace(&mut out.head.title);
            out.head.titled_by_person = payload.title_source.as_str() == "manual";
            Ok(())
        }
        "slash_command" if payload.phase.as_str() != "result" => {
            match payload.raw_command.owned() {
                Some(command) => out.lifecycle(command),
                None => Ok(()),
            }
        }
        "chat_compression" => {
            let history = payload.compressed_history.unwrap_or_default();
            let mut parts = history.iter().flat_map(|message| &message.parts);
            out.compaction(parts.find_map(|part| part.text.owned()))
        }
        subtype => out.ignore(&format!("system {subtype}")),
    }
}

fn payload<'a>(raw: Option<&'a RawValue>) -> WirePayload<'a> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}
