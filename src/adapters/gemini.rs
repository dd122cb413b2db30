//! Gemini CLI: `tmp/<project>/chats/session-<time>-<id>.json`, one document rewritten at each
//! message (seen in 0.2x), and since 0.4x `….jsonl`, a header and then messages (seen in fixtures
//! only).
//!
//! In the new form a message may be written again, and its last copy counts; `$rewindTo` takes back
//! a message and all after it; `$set` changes the header, at times with a whole list of messages. A
//! call and its answer stand in one object. Subagents are in `chats/<session>/`. There is no cwd
//! and no branch.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::jsonl::{self, Dialect};
use super::wire::{Content, Count, Text};
use super::{Adapter, Deletion, Identity, Places, tools};
use crate::base::clock::Timestamp;
use crate::error::Result;
use crate::model::session::{
    Call, CallResult, Event, EventKind, EventSink, Head, Log, Position, Role,
};

/// Gemini CLI.
pub struct Gemini;

impl Adapter for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        vec![places.folder("GEMINI_CLI_HOME", "").join(".gemini/tmp")]
    }

    fn deletion(&self, places: &Places) -> Option<Deletion> {
        let logs = self.roots(places).into_iter().find(|folder| folder.exists())?;
        let settings = logs.parent()?.join("settings.json");
        let text = std::fs::read_to_string(&settings).unwrap_or_default();
        let wire: WireSettings = serde_json::from_str(&text).unwrap_or_default();
        let retention = wire.general.session_retention;
        let after_days = retention.max_age.as_deref().and_then(in_days).unwrap_or(30);
        let advice = "\"general\": { \"sessionRetention\": { \"enabled\": false } }";
        retention.enabled.unwrap_or(true).then_some(Deletion { after_days, settings, advice })
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let header = match file.extension().and_then(|extension| extension.to_str()) {
            Some("json") => {
                let header = jsonl::document_head(
                    file,
                    &["sessionId", "projectHash", "startTime"],
                    "messages",
                )?;
                header.contains_key("messages").then_some(header)
            }
            Some("jsonl") => jsonl::first_objects(file, 1)?.into_iter().next(),
            _ => None,
        };
        let Some(header) = header.filter(|header| header.contains_key("projectHash")) else {
            return Ok(None);
        };
        let string =
            |key: &str| header.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
        let id = string("sessionId");
        if id.is_empty() {
            return Ok(None);
        }
        if string("kind") == "subagent"
            && let Some(parent) =
                file.parent().and_then(Path::file_name).and_then(|name| name.to_str())
            && parent != "chats"
        {
            return Ok(Some(Identity {
                native_id: parent.to_string(),
                role: Role::Subagent(id),
                lineage: None,
            }));
        }
        // A resumed session may go on in a second file.
        let lineage = Some(format!("{id} {}", string("startTime")));
        Ok(Some(Identity { native_id: id, role: Role::Main, lineage }))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut index = Index { head: Head::default(), last: HashMap::new() };
        for at in 0..log.files.len() {
            if is_lines(log, at) && log.files[at].role != Role::Attachment {
                jsonl::read_file(&mut index, log, at, None)?;
            }
        }
        let mut reader = Reader {
            log,
            events,
            head: Head::default(),
            last: index.last,
            told: HashMap::new(),
            prompts: 0,
            agent: None,
        };
        for (at, file) in log.files.iter().enumerate() {
            if file.role == Role::Main {
                reader.file(at)?;
            }
        }
        for (at, file) in log.files.iter().enumerate() {
            if let Role::Subagent(agent) = &file.role {
                reader.agent = Some(agent.clone());
                reader.file(at)?;
            }
        }
        Ok(reader.head)
    }
}

/// As much of `settings.json` as says when chats are deleted: by its documentation of 2026 after 30
/// days, unless told otherwise.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WireSettings {
    general: WireGeneral,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireGeneral {
    session_retention: WireRetention,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireRetention {
    enabled: Option<bool>,
    max_age: Option<String>,
}

/// A length of time such as `30d`, `24h` or `1w`, in whole days.
fn in_days(age: &str) -> Option<u32> {
    let unit = age.chars().next_back()?;
    let number: u32 = age.strip_suffix(unit)?.trim().parse().ok()?;
    match unit {
        'h' => Some(number / 24),
        'd' => Some(number),
        'w' => number.checked_mul(7),
        'm' => number.checked_mul(30),
        _ => None,
    }
}

fn is_lines(log: &Log, at: usize) -> bool {
    log.files[at].name.extension().is_some_and(|extension| extension == "jsonl")
}

// What stands in the log, exactly as the agent writes it.

#[derive(Deserialize)]
struct WireId<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
}

/// A header, a message or a change: their fields do not collide.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireRecord<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(rename = "type", borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    timestamp: Text<'a>,
    #[serde(borrow, default)]
    content: Content<'a>,
    #[serde(borrow, default)]
    display_content: Content<'a>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(default)]
    tokens: Option<WireTokens>,
    #[serde(borrow, default)]
    thoughts: Option<Vec<WireThought<'a>>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<WireToolCall<'a>>>,
    #[serde(rename = "$rewindTo", borrow, default)]
    rewind_to: Text<'a>,
    #[serde(rename = "$set", borrow, default)]
    set: Option<WireHeader<'a>>,
    #[serde(borrow, default)]
    session_id: Text<'a>,
    #[serde(borrow, default)]
    summary: Text<'a>,
    #[serde(default)]
    directories: Option<Vec<String>>,
}

/// The whole document of the old form, or what `$set` changes.
#[derive(Deserialize)]
struct WireHeader<'a> {
    #[serde(borrow, default)]
    summary: Text<'a>,
    #[serde(default)]
    directories: Option<Vec<String>>,
    #[serde(borrow, default)]
    messages: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireTokens {
    input: Count,
    output: Count,
    cached: Count,
    thoughts: Count,
    tool: Count,
}

#[derive(Deserialize)]
struct WireThought<'a> {
    #[serde(borrow, default)]
    subject: Text<'a>,
    #[serde(borrow, default)]
    description: Text<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireToolCall<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
    #[serde(borrow, default)]
    status: Text<'a>,
    #[serde(borrow, default)]
    timestamp: Text<'a>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result_display: Content<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePart<'a> {
    #[serde(borrow, default)]
    function_response: Option<WireFunctionResponse<'a>>,
}

/// What a tool answered, as Gemini and the agents made from it write it.
#[derive(Deserialize)]
pub(super) struct WireFunctionResponse<'a> {
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    response: Option<WireResponse<'a>>,
}

#[derive(Deserialize)]
struct WireResponse<'a> {
    #[serde(borrow, default)]
    output: Content<'a>,
    #[serde(borrow, default)]
    error: Content<'a>,
}

impl<'a> WireFunctionResponse<'a> {
    /// Its output or its error, and whether it is an error.
    pub(super) fn content(self) -> (Content<'a>, bool) {
        match self.response {
            Some(response) if !response.error.text.is_empty() => (response.error, true),
            Some(response) => (response.output, false),
            None => (Content::default(), false),
        }
    }
}

/// Finds out where the last copy of each message stands.
struct Index {
    head: Head,
    last: HashMap<u64, Position>,
}

impl Dialect for Index {
    fn head(&mut self) -> &mut Head {
        &mut self.head
    }

    fn record(&mut self, json: &[u8], position: Position) -> Result<serde_json::Result<()>> {
        let record: WireId = match serde_json::from_slice(json) {
            Ok(record) => record,
            Err(err) => return Ok(Err(err)),
        };
        if let Some(id) = record.id.some() {
            self.last.insert(hash(id), position);
        }
        Ok(Ok(()))
    }
}

/// Reads the files of one session into events.
struct Reader<'l, 's> {
    log: &'l Log,
    events: &'s mut dyn EventSink,
    head: Head,
    last: HashMap<u64, Position>,
    /// The messages that were told, and how many prompts had been said before each.
    told: HashMap<u64, u32>,
    prompts: u32,
    agent: Option<String>,
}

impl Dialect for Reader<'_, '_> {
    fn head(&mut self) -> &mut Head {
        &mut self.head
    }

    fn record(&mut self, json: &[u8], position: Position) -> Result<serde_json::Result<()>> {
        match serde_json::from_slice::<WireRecord>(json) {
            Ok(record) => self.tell(record, position).map(Ok),
            Err(err) => Ok(Err(err)),
        }
    }
}

impl Reader<'_, '_> {
    fn file(&mut self, at: usize) -> Result<()> {
        if is_lines(self.log, at) {
            return jsonl::read_file(self, self.log, at, None);
        }
        let path = &self.log.files[at].path;
        let Some(bytes) = jsonl::read_document(&mut self.head, path)? else { return Ok(()) };
        match serde_json::from_slice::<WireHeader>(&bytes) {
            Ok(document) => self.set(document, Position { file: at as u32, line: 0 }),
            Err(err) => {
                jsonl::skip(&mut self.head, path, 0, format!("not a whole document: {err}"));
                Ok(())
            }
        }
    }

    /// Takes a header, and the messages in it that were not told yet.
    fn set(&mut self, header: WireHeader, position: Position) -> Result<()> {
        self.note(&header.summary, header.directories);
        for (at, raw) in header.messages.unwrap_or_default().into_iter().enumerate() {
            let position = if position.line == 0 {
                Position { line: at as u64 + 1, ..position }
            } else {
                position
            };
            match serde_json::from_str::<WireRecord>(raw.get()) {
                // Its own line will tell it, or has told it.
                Ok(message)
                    if !message.id.is_empty() && self.last.contains_key(&hash(&message.id)) => {}
                Ok(message) => self.tell(message, position)?,
                Err(err) => {
                    let path = &self.log.files[position.file as usize].path;
                    jsonl::skip(
                        &mut self.head,
                        path,
                        position.line,
                        format!("an unexpected shape: {err}"),
                    );
                }
            }
        }
        Ok(())
    }

    fn note(&mut self, summary: &Text, directories: Option<Vec<String>>) {
        if self.agent.is_none() {
            self.head.title = summary.owned().or(self.head.title.take());
            self.head.cwd = self.head.cwd.take().or_else(|| directories?.into_iter().next());
        }
    }

    fn tell(&mut self, record: WireRecord, position: Position) -> Result<()> {
        self.head.records += 1;
        if let Some(set) = record.set {
            return self.set(set, position);
        }
        if let Some(id) = record.rewind_to.some() {
            let kept = self.told.get(&hash(id)).copied().unwrap_or(self.prompts);
            return self.emit(None, position, EventKind::Rewind { kept });
        }
        if record.kind.is_empty() {
            if record.session_id.is_empty() {
                jsonl::ignore(&mut self.head, "record without a type");
            }
            self.note(&record.summary, record.directories);
            return Ok(());
        }
        if let Some(id) = record.id.some() {
            let key = hash(id);
            if self.last.get(&key).is_some_and(|last| *last != position)
                || self.told.contains_key(&key)
            {
                jsonl::ignore(&mut self.head, "earlier copy of a message");
                return Ok(());
            }
            self.told.insert(key, self.prompts);
        }
        let at = record.timestamp.time();
        match record.kind.as_str() {
            "user" => self.user(record, at, position),
            "gemini" => self.gemini(record, at, position),
            "error" => self.emit(
                at,
                position,
                EventKind::Lifecycle(format!("error: {}", record.content.text.trim()).into()),
            ),
            "info" if record.content.text.starts_with("Request cancelled") => {
                self.emit(at, position, EventKind::Intervention(record.content.text))
            }
            kind => {
                jsonl::ignore(&mut self.head, kind);
                Ok(())
            }
        }
    }

    fn user(
        &mut self,
        record: WireRecord,
        at: Option<Timestamp>,
        position: Position,
    ) -> Result<()> {
        // What was typed; the content has the files that the person named spelled out.
        let said = if record.display_content.text.is_empty() {
            &record.content
        } else {
            &record.display_content
        };
        let text = said.text.trim();
        const MACHINE: &[&str] = &[
            "<session_context>",
            "This is the Gemini CLI. We are setting up",
            "System: Please continue.",
        ];
        if MACHINE.iter().any(|start| text.starts_with(start)) {
            jsonl::ignore(&mut self.head, "user message that no person wrote");
            return Ok(());
        }
        let images = record.content.images;
        let prompt = match images {
            0 => text.to_string(),
            _ => format!("{text}\n[{images} image(s)]").trim().to_string(),
        };
        let command = text
            .strip_prefix('/')
            .is_some_and(|rest| !rest.contains(|c: char| c == '/' || c.is_whitespace()));
        if prompt.is_empty() {
            Ok(())
        } else if command || self.agent.is_some() {
            self.emit(at, position, EventKind::Lifecycle(prompt.into()))
        } else {
            self.prompts += 1;
            self.emit(at, position, EventKind::Prompt(prompt.into()))
        }
    }

    fn gemini(
        &mut self,
        record: WireRecord,
        at: Option<Timestamp>,
        position: Position,
    ) -> Result<()> {
        self.count(&record);
        let thoughts =
            record.thoughts.unwrap_or_default().iter().map(thought).collect::<Vec<_>>().join("\n");
        if !thoughts.trim().is_empty() {
            self.emit(at, position, EventKind::Thinking(thoughts.into()))?;
        }
        if !record.content.text.trim().is_empty() {
            self.emit(at, position, EventKind::Reply(record.content.text))?;
        }
        let calls = record.tool_calls.unwrap_or_default();
        let finished = calls.is_empty() && self.agent.is_none();
        for (number, call) in calls.into_iter().enumerate() {
            let id = call.id.owned().unwrap_or_else(|| format!("{}-{number}", record.id.as_str()));
            self.call(call, &id, at, position)?;
        }
        if finished { self.emit(at, position, EventKind::Completion) } else { Ok(()) }
    }

    fn call(
        &mut self,
        call: WireToolCall,
        id: &str,
        at: Option<Timestamp>,
        position: Position,
    ) -> Result<()> {
        let action = tools::action(&call.name, call.args.map_or("", |args| args.get()));
        self.emit(
            at,
            position,
            EventKind::Call(Call { id: id.into(), tool: call.name.0, action }),
        )?;
        let status = call.status.as_str();
        if !matches!(status, "success" | "error" | "cancelled") {
            return Ok(());
        }
        let mut content = call.result.map(output).unwrap_or_default();
        if content.text.is_empty() {
            content.text = call.result_display.text;
        }
        let exit_code = exit_code(&content.text);
        let failed = status != "success" || exit_code.is_some_and(|code| code != 0);
        let at = call.timestamp.time().or(at);
        let answer = CallResult {
            id: id.into(),
            text: content.text,
            failed,
            exit_code,
            images: content.images,
            ..CallResult::default()
        };
        self.emit(at, position, EventKind::Result(answer))?;
        match status {
            "cancelled" => self.emit(
                at,
                position,
                EventKind::Intervention("the person cancelled a tool".into()),
            ),
            _ => Ok(()),
        }
    }

    fn count(&mut self, record: &WireRecord) {
        let Some(model) = record.model.some() else { return };
        let usage = jsonl::usage(&mut self.head, model);
        if let Some(tokens) = &record.tokens {
            // The log counts what was cached as input, too, and thinking beside the output.
            usage.input += tokens.input.0.saturating_sub(tokens.cached.0) + tokens.tool.0;
            usage.cache_read += tokens.cached.0;
            usage.output += tokens.output.0 + tokens.thoughts.0;
        }
    }

    fn emit(
        &mut self,
        at: Option<Timestamp>,
        position: Position,
        kind: EventKind<'_>,
    ) -> Result<()> {
        self.events.event(Event {
            at,
            position,
            agent: self.agent.as_deref(),
            inherited: false,
            kind,
        })
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

/// The exit code in the line `Exit Code: 1` of a command's output.
pub(super) fn exit_code(text: &str) -> Option<i32> {
    text.lines()
        .rev()
        .take(12)
        .find_map(|line| line.strip_prefix("Exit Code: ")?.trim().parse().ok())
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
