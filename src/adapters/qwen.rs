//! Qwen Code: `projects/<slug>/chats/<session>.jsonl`, one JSON record per line (seen in 0.18 to
//! 0.21).
//!
//! The envelope is Claude's (`uuid`, `parentUuid`, `sessionId`), the messages are Gemini's (`parts`
//! with text, thoughts, calls and answers). Earlier versions wrote Gemini's documents and are read
//! as such.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::gemini::{self, WireFunctionResponse};
use super::jsonl::{self, Dialect};
use super::wire::{Count, Text};
use super::{Adapter, Identity, Places, tools};
use crate::base::clock::Timestamp;
use crate::error::Result;
use crate::model::session::{
    Call, CallResult, Event, EventKind, EventSink, Head, Log, Position, Role,
};

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
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let name = name.as_ref();
        let Some(stem) = name.strip_suffix(".jsonl") else { return Ok(None) };
        let records = jsonl::first_objects(file, 20)?;
        let mut own = records.iter().filter(|record| is_qwen_record(record)).peekable();
        if own.peek().is_none() {
            return Ok(None);
        }
        let ids: Vec<&str> = own.filter_map(|record| record.get("sessionId")?.as_str()).collect();
        // A fork begins with records of another session; the file is named after its own.
        let id = ids.iter().find(|id| **id == stem).or(ids.last()).copied().unwrap_or(stem);
        let lineage =
            records.iter().find_map(|record| record.get("uuid")?.as_str().map(str::to_string));
        let lineage = lineage.filter(|_| ids.first() == Some(&id));
        Ok(Some(Identity { native_id: id.to_string(), role: Role::Main, lineage }))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut reader =
            Reader { log, events, head: Head::default(), seen: HashMap::new(), prompts: 0 };
        jsonl::read_log(&mut reader, log)?;
        Ok(reader.head)
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireRecord<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    subtype: Text<'a>,
    #[serde(borrow, default)]
    provenance: Text<'a>,
    #[serde(borrow, default)]
    uuid: Text<'a>,
    #[serde(borrow, default)]
    parent_uuid: Text<'a>,
    #[serde(borrow, default)]
    session_id: Text<'a>,
    #[serde(borrow, default)]
    timestamp: Text<'a>,
    #[serde(borrow, default)]
    cwd: Text<'a>,
    #[serde(borrow, default)]
    git_branch: Text<'a>,
    #[serde(borrow, default)]
    version: Text<'a>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow, default)]
    message: Option<WireMessage<'a>>,
    #[serde(default)]
    usage_metadata: Option<WireUsage>,
    #[serde(borrow, default)]
    tool_call_result: Option<WireToolCallResult<'a>>,
    #[serde(borrow, default)]
    system_payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireMessage<'a> {
    #[serde(borrow, default)]
    parts: Vec<WirePart<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePart<'a> {
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(default)]
    thought: Option<bool>,
    #[serde(borrow, default)]
    function_call: Option<WireFunctionCall<'a>>,
    #[serde(borrow, default)]
    function_response: Option<WireFunctionResponse<'a>>,
    #[serde(default)]
    inline_data: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct WireFunctionCall<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireToolCallResult<'a> {
    #[serde(borrow, default)]
    status: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct WireUsage {
    prompt_token_count: Count,
    candidates_token_count: Count,
    cached_content_token_count: Count,
    total_token_count: Count,
}

/// The fields that we read of a system record, or of what a hook put beside a prompt.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct WirePayload<'a> {
    #[serde(borrow)]
    display_text: Text<'a>,
    #[serde(borrow)]
    custom_title: Text<'a>,
    #[serde(borrow)]
    phase: Text<'a>,
    #[serde(borrow)]
    raw_command: Text<'a>,
    #[serde(borrow)]
    compressed_history: Option<Vec<WireMessage<'a>>>,
}

/// Reads the records of one session.
struct Reader<'l, 's> {
    log: &'l Log,
    events: &'s mut dyn EventSink,
    head: Head,
    /// The records seen so far, and the episode of each.
    seen: HashMap<u64, u32>,
    prompts: u32,
}

#[derive(Clone, Copy)]
struct Told {
    at: Option<Timestamp>,
    position: Position,
    inherited: bool,
}

impl Dialect for Reader<'_, '_> {
    fn head(&mut self) -> &mut Head {
        &mut self.head
    }

    fn record(&mut self, json: &[u8], position: Position) -> Result<serde_json::Result<()>> {
        let record: WireRecord = match serde_json::from_slice(json) {
            Ok(record) => record,
            Err(err) => return Ok(Err(err)),
        };
        self.head.records += 1;
        let inherited = record.session_id.some().is_some_and(|id| id != self.log.native_id);
        if inherited {
            self.head.inherited += 1;
            self.head.parent = record.session_id.owned();
        } else {
            self.head.cwd = self.head.cwd.take().or_else(|| record.cwd.owned());
            self.head.branch = record.git_branch.owned().or(self.head.branch.take());
            self.head.version = record.version.owned().or(self.head.version.take());
        }
        let told = Told { at: record.timestamp.time(), position, inherited };
        let (uuid, before) = (record.uuid.some().map(hash), self.prompts);
        let parent =
            record.parent_uuid.some().and_then(|parent| self.seen.get(&hash(parent)).copied());
        self.tell(record, parent, told)?;
        if let Some(uuid) = uuid {
            // A prompt opens an episode; everything else belongs to that of its parent.
            let episode =
                if self.prompts > before { self.prompts } else { parent.unwrap_or(before) };
            self.seen.insert(uuid, episode);
        }
        Ok(Ok(()))
    }
}

impl Reader<'_, '_> {
    fn tell(&mut self, record: WireRecord, parent: Option<u32>, told: Told) -> Result<()> {
        match record.kind.as_str() {
            "user" => self.user(record, parent, told),
            "assistant" => self.assistant(record, told),
            "tool_result" => {
                let status = record
                    .tool_call_result
                    .map(|result| result.status.0.into_owned())
                    .unwrap_or_default();
                for part in record.message.map(|message| message.parts).unwrap_or_default() {
                    if let Some(response) = part.function_response {
                        self.answer(response, &status, told)?;
                    }
                }
                Ok(())
            }
            "system" => self.system(record, told),
            kind => {
                jsonl::ignore(&mut self.head, kind);
                Ok(())
            }
        }
    }

    fn user(&mut self, record: WireRecord, parent: Option<u32>, told: Told) -> Result<()> {
        let person = record.provenance.some().is_none_or(|who| who.contains("user"));
        if !person
            || record.subtype.some().is_some_and(|subtype| subtype != "mid_turn_user_message")
        {
            jsonl::ignore(&mut self.head, "user record that no person wrote");
            return Ok(());
        }
        let parts = record.message.map(|message| message.parts).unwrap_or_default();
        let images = parts.iter().filter(|part| part.inline_data.is_some()).count();
        // What was typed; beside it stand the texts of hooks and of files that the person named.
        let typed = payload(record.system_payload).display_text;
        let mut prompt = match typed.owned() {
            Some(typed) => typed,
            None => parts.iter().filter_map(|part| part.text.some()).collect::<Vec<_>>().join("\n"),
        };
        if images > 0 {
            prompt.push_str(&format!("\n[{images} image(s)]"));
        }
        let prompt = prompt.trim();
        if prompt.is_empty() {
            return Ok(());
        }
        if let Some(kept) = parent.filter(|kept| *kept < self.prompts) {
            self.emit(told, EventKind::Rewind { kept })?;
        }
        self.prompts += 1;
        self.emit(told, EventKind::Prompt(prompt.into()))
    }

    fn assistant(&mut self, record: WireRecord, told: Told) -> Result<()> {
        if let Some(model) = record.model.some().filter(|_| !told.inherited) {
            let usage = jsonl::usage(&mut self.head, model);
            if let Some(used) = record.usage_metadata {
                // The log counts what was cached as input, too; what is no input is output or
                // thinking.
                let (input, cached) =
                    (used.prompt_token_count.0, used.cached_content_token_count.0);
                usage.input += input.saturating_sub(cached);
                usage.cache_read += cached;
                usage.output += used
                    .candidates_token_count
                    .0
                    .max(used.total_token_count.0.saturating_sub(input));
            }
        }
        let mut called = false;
        let mut replied = false;
        for part in record.message.map(|message| message.parts).unwrap_or_default() {
            if let Some(call) = part.function_call {
                called = true;
                let action = tools::action(&call.name, call.args.map_or("", |args| args.get()));
                self.emit(
                    told,
                    EventKind::Call(Call { id: call.id.0, tool: call.name.0, action }),
                )?;
            } else if part.text.trim().is_empty() {
                continue;
            } else if part.thought == Some(true) {
                self.emit(told, EventKind::Thinking(part.text.0))?;
            } else {
                replied = true;
                self.emit(told, EventKind::Reply(part.text.0))?;
            }
        }
        if replied && !called { self.emit(told, EventKind::Completion) } else { Ok(()) }
    }

    fn answer(&mut self, response: WireFunctionResponse, status: &str, told: Told) -> Result<()> {
        let id = response.id.0.clone();
        let (content, error) = response.answer();
        let exit_code = gemini::exit_code(&content.text);
        let failed = error
            || matches!(status, "error" | "cancelled")
            || exit_code.is_some_and(|code| code != 0);
        self.emit(
            told,
            EventKind::Result(CallResult {
                id,
                text: content.text,
                failed,
                exit_code,
                images: content.images,
                ..CallResult::default()
            }),
        )?;
        match status {
            "cancelled" => {
                self.emit(told, EventKind::Intervention("the person cancelled a tool".into()))
            }
            _ => Ok(()),
        }
    }

    fn system(&mut self, record: WireRecord, told: Told) -> Result<()> {
        let payload = payload(record.system_payload);
        match record.subtype.as_str() {
            "custom_title" => {
                self.head.title = payload.custom_title.owned().or(self.head.title.take())
            }
            "slash_command" if payload.phase.as_str() != "result" => {
                if let Some(command) = payload.raw_command.owned() {
                    return self.emit(told, EventKind::Lifecycle(command.into()));
                }
            }
            "chat_compression" => {
                let history = payload.compressed_history.unwrap_or_default();
                let summary = history
                    .iter()
                    .flat_map(|message| &message.parts)
                    .find_map(|part| part.text.owned());
                return match summary {
                    Some(summary) => self.emit(told, EventKind::Compaction(summary.into())),
                    None => self.emit(told, EventKind::Lifecycle("context compacted".into())),
                };
            }
            subtype => jsonl::ignore(&mut self.head, &format!("system {subtype}")),
        }
        Ok(())
    }

    fn emit(&mut self, told: Told, kind: EventKind<'_>) -> Result<()> {
        self.events.event(Event {
            at: told.at,
            position: told.position,
            agent: None,
            inherited: told.inherited,
            kind,
        })
    }
}

fn payload<'a>(raw: Option<&'a RawValue>) -> WirePayload<'a> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
