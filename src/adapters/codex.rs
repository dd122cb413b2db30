//! Codex CLI and app: `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl` and `archived_sessions/`, each
//! also as `.jsonl.zst` (seen in 0.34 to 0.146; packed files and the two old forms not as real logs).
//!
//! A line is `{timestamp, type, payload}`. Up to 0.31 the lines were bare items after a header, and in
//! spring 2025 a rollout was one document `{session, items}`. What people and models say is told twice,
//! as an item for the model and as an event for the screen; prompts are taken from the events, replies
//! from the items, and only where a log lacks them from the other. A fork or a subagent is a rollout of
//! its own that may begin with a copy of its parent's: such records are inherited. `session_index.jsonl`
//! holds the titles of all sessions, the last one for an id counts.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::hooks::{self, HookSpec};
use super::jsonl::{self, Dialect, Line, Lines};
use super::shared::{Shared, SharedSession};
use super::wire::{self, Content, Count, Text};
use super::{Adapter, Identity, Places, tools};
use crate::base::clock::Timestamp;
use crate::base::files;
use crate::error::{Context, Result};
use crate::model::session::{Action, Answer, Call, Event, EventSink, Head, Log, Place, Role, What};

/// Codex.
pub struct Codex;

impl Adapter for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn hooks(&self) -> Option<HookSpec> {
        Some(hooks::CODEX)
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let home = places.folder("CODEX_HOME", ".codex");
        vec![home.join("sessions"), home.join("archived_sessions"), home.join(TITLES)]
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let name = name.as_ref();
        let identity = |id: &str, start: &str| Identity {
            native_id: id.to_string(),
            role: Role::Main,
            // An archived or packed copy begins at the same moment; another rollout with the same id does not.
            lineage: Some(format!("{id} {start}")),
        };
        let string = |record: &Map<String, Value>, key: &str| {
            record.get(key).and_then(Value::as_str).unwrap_or_default().to_string()
        };
        if name.ends_with(".json") {
            let document = jsonl::document_head(file, &["session"], "items")?;
            let session = document.get("session").and_then(Value::as_object);
            return Ok(session
                .filter(|session| session.contains_key("id") && document.contains_key("items"))
                .map(|session| identity(&string(session, "id"), &string(session, "timestamp"))));
        }
        let Some(stem) = name.strip_suffix(".zst").unwrap_or(name).strip_suffix(".jsonl") else { return Ok(None) };
        let records = jsonl::first_objects(file, 4)?;
        if let Some(header) = records.first().filter(|_| is_bare(&records)) {
            return Ok(Some(identity(&string(header, "id"), &string(header, "timestamp"))));
        }
        if !records.iter().any(is_envelope) {
            return Ok(None);
        }
        let meta = records
            .iter()
            .filter(|record| string(record, "type") == "session_meta")
            .find_map(|record| record.get("payload")?.as_object().filter(|meta| meta.contains_key("id")));
        Ok(Some(match meta {
            Some(meta) => identity(&string(meta, "id"), &string(meta, "timestamp")),
            // The first line is gone: `rollout-<time>-<id>` still tells the id.
            None => identity(stem.len().checked_sub(36).and_then(|at| stem.get(at..)).unwrap_or(stem), ""),
        }))
    }

    fn share(&self, file: &Path) -> io::Result<Option<Box<dyn Shared>>> {
        if file.file_name().is_none_or(|name| name != TITLES) {
            return Ok(None);
        }
        let mut titles = Titles::default();
        let mut lines = Lines::open(file)?;
        while let Some((_, line)) = lines.next()? {
            // A line that cannot be read is no session's; a title is no loss.
            if let Line::Bytes { bytes, .. } = line
                && let Ok(title) = serde_json::from_slice::<WireTitle>(bytes)
                && let Some(id) = title.id.some()
            {
                let lines = titles.0.entry(id.to_string()).or_default();
                lines.extend_from_slice(bytes);
                lines.push(b'\n');
            }
        }
        Ok(Some(Box::new(titles)))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut reader = Reader::new(log, events)?;
        let is_document = |name: &Path| name.extension().is_some_and(|extension| extension == "json");
        let document = log.files.iter().position(|file| file.role == Role::Main && is_document(&file.name));
        match document {
            Some(at) => reader.document(at)?,
            None => jsonl::read_log(&mut reader, log)?,
        }
        let mut head = reader.head;
        if let Some(file) =
            log.files.iter().find(|file| file.role == Role::Attachment && file.name == Path::new(TITLES))
        {
            head.title = last_title(&file.path).or(head.title);
        }
        Ok(head)
    }
}

const TITLES: &str = "session_index.jsonl";

#[derive(Deserialize)]
struct WireTitle<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    thread_name: Text<'a>,
}

/// The lines of the titles' file, by the session that they name.
#[derive(Default)]
struct Titles(BTreeMap<String, Vec<u8>>);

impl Shared for Titles {
    fn sessions(&mut self) -> io::Result<Vec<SharedSession>> {
        let sessions = self.0.iter().map(|(id, lines)| SharedSession {
            native_id: id.clone(),
            revision: files::sha256_hex(lines)[..16].to_string(),
            role: Role::Attachment,
            lineage: None,
        });
        Ok(sessions.collect())
    }

    fn extract(&mut self, native_id: &str, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.0.get(native_id).map_or(&[], Vec::as_slice))
    }
}

fn last_title(path: &Path) -> Option<String> {
    let lines = std::fs::read(path).ok()?;
    let titles = lines.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<WireTitle>(line).ok());
    titles.filter_map(|title| title.thread_name.owned()).next_back()
}

fn is_envelope(record: &Map<String, Value>) -> bool {
    const KINDS: &[&str] = &["session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"];
    record.get("payload").is_some_and(Value::is_object)
        && record.get("type").and_then(Value::as_str).is_some_and(|kind| KINDS.contains(&kind))
}

/// Whether a log is a header followed by bare items, as up to 0.31.
fn is_bare(records: &[Map<String, Value>]) -> bool {
    const HEADER: &[&str] = &["id", "timestamp", "instructions", "git"];
    records.first().is_some_and(|header| {
        ["id", "timestamp", "instructions"].iter().all(|key| header.contains_key(*key))
            && header.keys().all(|key| HEADER.contains(&key.as_str()))
    })
}

// What stands in a line, exactly as the agent writes it.

#[derive(Deserialize)]
struct WireLine<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    timestamp: Text<'a>,
    #[serde(borrow, default)]
    payload: Option<WireItem<'a>>,
    #[serde(borrow, default)]
    record_type: Text<'a>,
}

/// The payloads of all kinds in one: their fields do not collide.
#[derive(Deserialize, Default)]
#[serde(default)]
struct WireItem<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    timestamp: Text<'a>,
    #[serde(borrow)]
    cwd: Text<'a>,
    #[serde(borrow)]
    cli_version: Text<'a>,
    #[serde(borrow)]
    forked_from_id: Text<'a>,
    #[serde(borrow)]
    parent_thread_id: Text<'a>,
    #[serde(borrow)]
    source: Option<&'a RawValue>,
    git: Option<WireGit>,
    #[serde(borrow)]
    turn_id: Text<'a>,
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow)]
    content: Content<'a>,
    #[serde(borrow)]
    summary: Content<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    namespace: Text<'a>,
    #[serde(borrow)]
    call_id: Text<'a>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    action: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    exit_code: Text<'a>,
    success: Option<bool>,
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(rename = "kind", borrow)]
    told_as: Text<'a>,
    #[serde(borrow)]
    images: Option<&'a RawValue>,
    #[serde(borrow)]
    local_images: Option<&'a RawValue>,
    #[serde(borrow)]
    reason: Text<'a>,
    #[serde(borrow)]
    thread_name: Text<'a>,
    num_turns: Count,
    info: Option<WireInfo>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireGit {
    commit_hash: Option<String>,
    branch: Option<String>,
    repository_url: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireInfo {
    total_token_usage: Option<WireUsage>,
    last_token_usage: Option<WireUsage>,
}

#[derive(Deserialize, Default, Clone, Copy, PartialEq)]
#[serde(default)]
struct WireUsage {
    input_tokens: Count,
    cached_input_tokens: Count,
    output_tokens: Count,
}

#[derive(Deserialize)]
struct WireDocument<'a> {
    #[serde(borrow)]
    session: WireItem<'a>,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

/// What the old `shell` tool answered: a JSON text with the output and how the command ended.
#[derive(Deserialize)]
struct WireShellOutput {
    output: String,
    #[serde(default)]
    metadata: WireShellMetadata,
}

#[derive(Deserialize, Default)]
struct WireShellMetadata {
    exit_code: Option<i32>,
}

/// Reads the rollouts of one session into events.
struct Reader<'l, 's> {
    log: &'l Log,
    events: &'s mut dyn EventSink,
    head: Head,
    /// How many prompts were said, and which of them were not taken back.
    prompts: u32,
    standing: Vec<u32>,
    /// Whether a prompt of our own was said: nothing copied comes after it.
    own_turn: bool,
    /// Whether the log has events with prompts, and items with replies.
    prompts_from_events: bool,
    replies_from_items: bool,
    id: String,
    began: Option<Timestamp>,
    /// The moment of the first event in a log whose lines have no time.
    untimed: Option<Timestamp>,
    /// A copy of the parent's rollout is being read, and whether its turns are numbered by time.
    copying: bool,
    turns_tell_time: bool,
    model: String,
    total: Option<WireUsage>,
    /// By call: how events said that it ended, before its answer comes.
    ends: HashMap<String, End>,
    /// By call and by process: the command, so that waiting for a process names it again.
    commands: HashMap<String, String>,
    processes: HashMap<String, String>,
}

#[derive(Default)]
struct End {
    failed: bool,
    exit_code: Option<i32>,
}

/// When and where a record was told.
#[derive(Clone, Copy)]
struct Told {
    at: Option<Timestamp>,
    place: Place,
    inherited: bool,
}

impl Dialect for Reader<'_, '_> {
    fn head(&mut self) -> &mut Head {
        &mut self.head
    }

    fn record(&mut self, json: &[u8], place: Place) -> Result<serde_json::Result<()>> {
        let line: WireLine = match serde_json::from_slice(json) {
            Ok(line) => line,
            Err(err) => return Ok(Err(err)),
        };
        self.head.records += 1;
        let at = line.timestamp.time();
        let Some(item) = line.payload else {
            // Before the envelope: a header without a type, then bare items.
            return match serde_json::from_slice::<WireItem>(json) {
                Ok(header) if line.kind.is_empty() && line.record_type.is_empty() => {
                    self.untimed = header.timestamp.time();
                    self.session(header);
                    Ok(Ok(()))
                }
                Ok(_) if !line.record_type.is_empty() => self.pass(&line.record_type).map(Ok),
                Ok(item) => self.item(item, Told { at: None, place, inherited: false }).map(Ok),
                Err(err) => Ok(Err(err)),
            };
        };
        let inherited = self.is_copied(&line.kind, &item, at);
        if inherited {
            self.head.inherited += 1;
        }
        let told = Told { at, place, inherited };
        match line.kind.as_str() {
            "session_meta" => self.session(item),
            "turn_context" => self.model = item.model.owned().unwrap_or_default(),
            "response_item" => self.item(item, told)?,
            "event_msg" => self.event(item, told)?,
            "compacted" => match item.message.owned() {
                Some(summary) => self.emit(told, What::Compaction(summary.into()))?,
                None => self.emit(told, What::Lifecycle("context compacted".into()))?,
            },
            // What one agent writes to another: the task of a subagent.
            "inter_agent_communication" if self.head.parent.is_some() => self.prompt(item.content, 0, told)?,
            kind => jsonl::ignore(&mut self.head, kind),
        }
        Ok(Ok(()))
    }
}

impl<'l, 's> Reader<'l, 's> {
    fn new(log: &'l Log, events: &'s mut dyn EventSink) -> Result<Self> {
        let (prompts_from_events, replies_from_items) = spoken_where(log)?;
        Ok(Reader {
            log,
            events,
            head: Head::default(),
            prompts: 0,
            standing: Vec::new(),
            own_turn: false,
            prompts_from_events,
            replies_from_items,
            id: String::new(),
            began: None,
            untimed: None,
            copying: false,
            turns_tell_time: false,
            model: String::new(),
            total: None,
            ends: HashMap::new(),
            commands: HashMap::new(),
            processes: HashMap::new(),
        })
    }

    /// Reads a rollout of spring 2025, which is one document.
    fn document(&mut self, file: usize) -> Result<()> {
        let path = &self.log.files[file].path;
        let Some(bytes) = jsonl::read_document(&mut self.head, path)? else { return Ok(()) };
        let document: WireDocument = match serde_json::from_slice(&bytes) {
            Ok(document) => document,
            Err(err) => {
                jsonl::skip(&mut self.head, path, 0, format!("not a whole document: {err}"));
                return Ok(());
            }
        };
        self.untimed = document.session.timestamp.time();
        self.session(document.session);
        for (at, raw) in document.items.iter().enumerate() {
            self.head.records += 1;
            let place = Place { file: file as u32, line: at as u64 + 1 };
            match serde_json::from_str::<WireItem>(raw.get()) {
                Ok(item) => self.item(item, Told { at: None, place, inherited: false })?,
                Err(err) => jsonl::skip(&mut self.head, path, place.line, format!("an unexpected shape: {err}")),
            }
        }
        Ok(())
    }

    fn session(&mut self, meta: WireItem) {
        let Some(id) = meta.id.owned() else { return };
        if !self.id.is_empty() {
            // Only the first one is ours; the others came with a copy, or with a resume.
            if self.id != id && self.head.parent.is_none() {
                self.head.parent = Some(id);
            }
            return;
        }
        self.id = id;
        self.began = meta.timestamp.time();
        self.copying = meta.forked_from_id.some().is_some();
        self.head.cwd = meta.cwd.owned();
        self.head.version = meta.cli_version.owned();
        self.head.parent =
            meta.forked_from_id.owned().or_else(|| meta.parent_thread_id.owned()).or_else(|| spawned_by(meta.source));
        if let Some(git) = meta.git {
            self.head.branch = git.branch.filter(|branch| !branch.is_empty());
            self.head.remote = git.repository_url.filter(|url| !url.is_empty());
            self.head.head_commit = git.commit_hash.filter(|commit| !commit.is_empty());
        }
    }

    /// Whether a record came with the copy of the parent's rollout that a fork begins with.
    fn is_copied(&mut self, kind: &str, item: &WireItem, at: Option<Timestamp>) -> bool {
        if kind == "session_meta" && !self.id.is_empty() && item.id.some().is_some_and(|id| id != self.id) {
            self.copying |= !self.own_turn;
            return true;
        }
        let (true, Some(began)) = (self.copying, self.began) else { return self.copying };
        match uuid_time(&item.turn_id) {
            // A turn that was opened after this thread is its own; the copied ones are older.
            Some(opened) if kind == "turn_context" || item.kind.as_str() == "task_started" => {
                self.turns_tell_time = true;
                self.copying = opened < began.timestamp_millis();
            }
            // Older versions do not say; a copy is written in one go, or keeps its old times.
            _ if !self.turns_tell_time => {
                self.copying = at.is_none_or(|at| (at - began).num_seconds() <= 2);
            }
            _ => {}
        }
        self.copying
    }

    fn item(&mut self, item: WireItem, told: Told) -> Result<()> {
        match item.kind.as_str() {
            "message" | "" if item.role.some().is_some() => match item.role.as_str() {
                "assistant" if self.replies_from_items => self.reply(item.content.text, told),
                "user" if !self.prompts_from_events => {
                    let images = item.content.images;
                    self.prompt(item.content, images, told)
                }
                role => self.pass(&format!("message {role}")),
            },
            "reasoning" => {
                let thought = if item.summary.text.is_empty() { item.content.text } else { item.summary.text };
                self.think(thought, told)
            }
            "function_call" | "custom_tool_call" | "tool_search_call" => {
                let raw = item.arguments.or(item.input);
                let input = raw.map(wire::plain).unwrap_or_default();
                let name = if item.name.is_empty() { "tool_search".into() } else { item.name.0 };
                let tool = match item.namespace.some() {
                    Some(namespace) => format!("{namespace}__{}", name.trim_start_matches('_')).into(),
                    None => name,
                };
                let action = self.action(&tool, &input, &item.call_id);
                self.call(item.call_id.0, tool, action, told)
            }
            "local_shell_call" => {
                let action = tools::action("local_shell", item.action.map_or("", |action| action.get()));
                let id = if item.call_id.is_empty() { item.id } else { item.call_id };
                self.call(id.0, "local_shell".into(), action, told)
            }
            "web_search_call" => {
                // Its answer goes to the model alone; that it came is all that the log tells.
                let action = tools::action("web_search", item.action.map_or("", |action| action.get()));
                let id = item.id.owned().unwrap_or_else(|| format!("web_search-{}", told.place.line));
                self.call(id.clone().into(), "web_search".into(), action, told)?;
                self.emit(
                    told,
                    What::Result(Answer {
                        id: id.into(),
                        text: "".into(),
                        failed: false,
                        exit_code: None,
                        images: 0,
                        ..Answer::default()
                    }),
                )
            }
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" | "tool_search_output" => {
                self.answer(item, told)
            }
            "" => self.pass("record without a kind"),
            kind => self.pass(kind),
        }
    }

    fn event(&mut self, event: WireItem, told: Told) -> Result<()> {
        match event.kind.as_str() {
            "user_message" if event.told_as.is_empty() || event.told_as.as_str() == "plain" => {
                let images = wire::length(event.images) + wire::length(event.local_images);
                self.prompt(Content { text: event.message.0, images: 0 }, images, told)
            }
            "agent_message" if !self.replies_from_items => self.reply(event.message.0, told),
            "agent_reasoning" if !self.replies_from_items => self.think(event.text.0, told),
            "token_count" => {
                if let Some(info) = event.info {
                    self.count(&info, told.inherited);
                }
                Ok(())
            }
            "task_complete" => self.emit(told, What::Completion),
            "turn_aborted" => {
                let reason = event.reason.some().unwrap_or("interrupted");
                self.emit(told, What::Intervention(format!("turn aborted: {reason}").into()))
            }
            "thread_rolled_back" => {
                let kept = self.standing.len().saturating_sub(event.num_turns.0 as usize);
                self.standing.truncate(kept);
                self.emit(told, What::Rewind { kept: self.standing.last().copied().unwrap_or(0) })
            }
            "thread_name_updated" => {
                self.head.title = event.thread_name.owned().or(self.head.title.take());
                Ok(())
            }
            "exec_command_end" => self.note_end(event.call_id, false, event.exit_code.parse().ok()),
            "patch_apply_end" => self.note_end(event.call_id, event.success == Some(false), None),
            "mcp_tool_call_end" => {
                let result = event.result.map_or("", |result| result.get());
                let failed = result.starts_with("{\"Err\"") || result.contains("\"isError\":true");
                self.note_end(event.call_id, failed, None)
            }
            "error" => self.emit(told, What::Lifecycle(format!("error: {}", event.message.trim()).into())),
            "entered_review_mode" => self.emit(told, What::Lifecycle("review begun".into())),
            "exited_review_mode" => self.emit(told, What::Lifecycle("review ended".into())),
            kind => self.pass(&format!("event {kind}")),
        }
    }

    fn prompt(&mut self, content: Content, images: u32, told: Told) -> Result<()> {
        let Some(text) = spoken(&content.text).filter(|text| images > 0 || !text.is_empty()) else {
            return self.pass("message user that no person wrote");
        };
        let mut prompt = text.to_string();
        if images > 0 {
            prompt.push_str(&format!("\n[{images} image(s)]"));
        }
        self.prompts += 1;
        self.standing.push(self.prompts);
        self.own_turn |= !told.inherited;
        self.emit(told, What::Prompt(prompt.trim().into()))
    }

    fn reply(&mut self, text: Cow<str>, told: Told) -> Result<()> {
        self.note_model(told);
        if text.trim().is_empty() { Ok(()) } else { self.emit(told, What::Reply(text)) }
    }

    fn think(&mut self, text: Cow<str>, told: Told) -> Result<()> {
        if text.trim().is_empty() { Ok(()) } else { self.emit(told, What::Thinking(text)) }
    }

    fn call(&mut self, id: Cow<str>, tool: Cow<str>, action: Action, told: Told) -> Result<()> {
        self.note_model(told);
        self.emit(told, What::Call(Call { id, tool, action }))
    }

    /// Says what a call does; waiting for a running process is running its command on.
    fn action(&mut self, tool: &str, input: &str, call: &str) -> Action {
        let action = tools::action(tool, input);
        if tool == "write_stdin" {
            let field = |name| serde_json::from_str::<Value>(input).ok()?.get(name).map(Value::to_string);
            let typed = field("chars").is_some_and(|chars| chars != "\"\"");
            if let Some(command) = field("session_id").and_then(|id| self.processes.get(&id)).filter(|_| !typed) {
                let command = command.clone();
                self.commands.insert(call.to_string(), command.clone());
                return Action::Shell { command };
            }
        } else if let Action::Shell { command } = &action {
            self.commands.insert(call.to_string(), command.clone());
        }
        action
    }

    fn answer(&mut self, item: WireItem, told: Told) -> Result<()> {
        let raw = item.output.or(item.tools).map_or("", |raw| raw.get());
        let content: Content = serde_json::from_str(raw).unwrap_or_default();
        let mut answer = Answered { text: content.text, exit_code: None, process: None };
        if answer.text.starts_with('{')
            && let Ok(shell) = serde_json::from_str::<WireShellOutput>(&answer.text)
        {
            answer = Answered { text: shell.output.into(), exit_code: shell.metadata.exit_code, process: None };
        } else {
            answer = without_preamble(answer.text);
        }
        let command = self.commands.remove(item.call_id.as_str());
        if let (Some(process), Some(command)) = (answer.process, command) {
            self.processes.insert(process, command);
        }
        let end = self.ends.remove(item.call_id.as_str()).unwrap_or_default();
        let exit_code = answer.exit_code.or(end.exit_code);
        let refused = answer.text.len() < 300
            && answer.text.contains("by user")
            && ["rejected", "aborted", "denied"].iter().any(|word| answer.text.contains(word));
        let failed = end.failed || refused || exit_code.is_some_and(|code| code != 0) || tells_failure(&answer.text);
        let refusal = refused.then(|| answer.text.to_string());
        let text = answer.text;
        self.emit(
            told,
            What::Result(Answer {
                id: item.call_id.0,
                text,
                failed,
                exit_code,
                images: content.images,
                ..Answer::default()
            }),
        )?;
        match refusal {
            Some(refusal) => self.emit(told, What::Intervention(refusal.into())),
            None => Ok(()),
        }
    }

    fn note_end(&mut self, call: Text, failed: bool, exit_code: Option<i32>) -> Result<()> {
        self.ends.insert(call.0.into_owned(), End { failed, exit_code });
        Ok(())
    }

    fn note_model(&mut self, told: Told) {
        if !told.inherited && !self.model.is_empty() {
            jsonl::usage(&mut self.head, &self.model);
        }
    }

    /// Counts the tokens of one request; the same total told again is a refreshed rate limit.
    fn count(&mut self, info: &WireInfo, inherited: bool) {
        if info.total_token_usage.is_some() && info.total_token_usage == self.total {
            return;
        }
        // Totals also count requests that were broken off. They may go on from the parent's, so of the
        // first one only the last request is ours.
        let spent = match (self.total, info.total_token_usage, info.last_token_usage) {
            (Some(before), Some(total), _) if total.is_more_than(before) => total.since(before),
            (_, _, Some(last)) => last,
            (_, total, None) => total.unwrap_or_default(),
        };
        self.total = info.total_token_usage.or(self.total);
        if inherited {
            return;
        }
        let model = if self.model.is_empty() { "unknown" } else { &self.model };
        let usage = jsonl::usage(&mut self.head, model);
        // The log counts what was cached as input, too.
        usage.input += spent.input_tokens.0.saturating_sub(spent.cached_input_tokens.0);
        usage.cache_read += spent.cached_input_tokens.0;
        usage.output += spent.output_tokens.0;
    }

    fn pass(&mut self, kind: &str) -> Result<()> {
        jsonl::ignore(&mut self.head, kind);
        Ok(())
    }

    fn emit(&mut self, told: Told, what: What<'_>) -> Result<()> {
        let at = told.at.or_else(|| self.untimed.take());
        self.events.event(Event { at, place: told.place, agent: None, inherited: told.inherited, what })
    }
}

impl WireUsage {
    fn is_more_than(self, earlier: WireUsage) -> bool {
        self.input_tokens.0 >= earlier.input_tokens.0
            && self.cached_input_tokens.0 >= earlier.cached_input_tokens.0
            && self.output_tokens.0 >= earlier.output_tokens.0
    }

    fn since(self, earlier: WireUsage) -> WireUsage {
        let less = |now: Count, then: Count| Count(now.0.saturating_sub(then.0));
        WireUsage {
            input_tokens: less(self.input_tokens, earlier.input_tokens),
            cached_input_tokens: less(self.cached_input_tokens, earlier.cached_input_tokens),
            output_tokens: less(self.output_tokens, earlier.output_tokens),
        }
    }
}

/// Whether a log has events with prompts, and items with replies. Both stand near its beginning, so
/// this look ahead is short where it matters.
fn spoken_where(log: &Log) -> Result<(bool, bool)> {
    let (events, items) = (memmem::Finder::new(b"\"user_message\""), memmem::Finder::new(b"\"assistant\""));
    let (mut prompts, mut replies) = (false, false);
    for file in log.files.iter().filter(|file| file.role == Role::Main) {
        let cannot_read = || format!("cannot read the log `{}`", file.path.display());
        let mut lines = Lines::new(jsonl::open(&file.path).context(cannot_read)?);
        // A fault is named when the log is read in earnest.
        while let (false, Ok(Some((_, line)))) = (prompts && replies, lines.next()) {
            if let Line::Bytes { bytes, .. } = line {
                prompts |= events.find(bytes).is_some();
                replies |= items.find(bytes).is_some();
            }
        }
    }
    Ok((prompts, replies))
}

/// What a person said in a prompt; `None` where the program put the text there.
fn spoken(text: &str) -> Option<&str> {
    const INJECTED: &[&str] = &[
        "<environment_context>",
        "# AGENTS.md instructions",
        "<user_instructions>",
        "<INSTRUCTIONS>",
        "<turn_aborted>",
        "<skill>",
        "<recommended_plugins>",
        "<permissions instructions>",
        "<codex_delegation>",
        "<subagent_notification>",
        "<user_shell_command>",
        "<model_switch>",
        "<collaboration_mode>",
        "<personality_spec>",
        "<apps_instructions>",
        "<skills_instructions>",
        "<plugins_instructions>",
        "<hook_prompt",
    ];
    let text = text.trim();
    if INJECTED.iter().any(|start| text.starts_with(start)) {
        return None;
    }
    // An editor puts its open files before the person's words.
    let request = text.starts_with("# ").then(|| text.split_once("## My request for Codex:")).flatten();
    Some(request.map_or(text, |(_, request)| request.trim()))
}

struct Answered<'a> {
    text: Cow<'a, str>,
    exit_code: Option<i32>,
    process: Option<String>,
}

/// Takes off what the program puts before a command's output, and reads how it ended out of it.
fn without_preamble(text: Cow<'_, str>) -> Answered<'_> {
    let (mut exit_code, mut process, mut at) = (None, None, 0);
    for line in text.split_inclusive('\n').take(10) {
        at += line.len();
        let line = line.trim_end();
        if let Some(code) = line.strip_prefix("Process exited with code ").or(line.strip_prefix("Exit code: ")) {
            exit_code = code.parse().ok();
        } else if let Some(id) = line.strip_prefix("Process running with session ID ") {
            process = Some(id.to_string());
        } else if line == "Output:" {
            let text = match text {
                Cow::Borrowed(text) => Cow::Borrowed(&text[at..]),
                Cow::Owned(text) => Cow::Owned(text[at..].to_string()),
            };
            return Answered { text, exit_code, process };
        } else if !["Chunk ID: ", "Wall time: ", "Original token count: ", "Total output lines: "]
            .iter()
            .any(|start| line.starts_with(start))
        {
            break;
        }
    }
    Answered { text, exit_code, process }
}

/// Whether an answer without an exit code says that the tool could not do it.
fn tells_failure(text: &str) -> bool {
    const STARTS: &[&str] = &[
        "failed in sandbox",
        "error: ",
        "execution error",
        "exec_command failed",
        "apply_patch verification failed",
        "unsupported call",
        "failed to parse function arguments",
    ];
    STARTS.iter().any(|start| text.starts_with(start))
}

/// The thread that a subagent was spawned by, in `source`.
fn spawned_by(source: Option<&RawValue>) -> Option<String> {
    let source: Value = serde_json::from_str(source?.get()).ok()?;
    let parent = source.pointer("/subagent/thread_spawn/parent_thread_id")?;
    parent.as_str().map(str::to_string)
}

/// The milliseconds since 1970 in a UUID of version 7.
fn uuid_time(id: &str) -> Option<i64> {
    let hex: String = id.chars().filter(|c| *c != '-').collect();
    (id.len() == 36 && id.as_bytes()[14] == b'7').then(|| i64::from_str_radix(hex.get(..12)?, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_an_output_tells_how_the_command_ended() {
        let check = |text: &str, rest: &str, exit_code, process: Option<&str>| {
            let answer = without_preamble(text.into());
            assert_eq!((answer.text.as_ref(), answer.exit_code, answer.process.as_deref()), (rest, exit_code, process));
        };
        check(
            "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 101\nOutput:\nno\n",
            "no\n",
            Some(101),
            None,
        );
        check("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nok", "ok", Some(0), None);
        check("Wall time: 1 s\nProcess running with session ID 7\nOutput:\n", "", None, Some("7"));
        check("Output without a preamble\nOutput:\n", "Output without a preamble\nOutput:\n", None, None);
        check("", "", None, None);
    }

    #[test]
    fn only_what_a_person_wrote_is_a_prompt() {
        assert_eq!(spoken(" Fix it.\n"), Some("Fix it."));
        assert_eq!(spoken("<environment_context>\n</environment_context>"), None);
        assert_eq!(
            spoken("# Context from my IDE setup:\n\n## Open tabs:\n- a.rs\n\n## My request for Codex:\nFix it."),
            Some("Fix it.")
        );
        assert_eq!(spoken("# Plan\nFix it."), Some("# Plan\nFix it."));
    }

    #[test]
    fn turns_tell_time() {
        assert_eq!(uuid_time("01a1ad1f-db7c-783c-a222-fc04bf907b5b"), Some(0x01a1_ad1f_db7c));
        assert_eq!(uuid_time("turn-1"), None);
        assert_eq!(uuid_time("fa1ac8bf-348e-4b9a-a06d-767050fa1e10"), None);
    }
}
