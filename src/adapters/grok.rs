//! Grok CLI: `sessions/<encoded cwd>/<id>/`, a folder per session (built from the published source
//! of August 2026 and fixtures; not seen as a real log).
//!
//! `chat_history.jsonl` is the conversation as the model has it, without times; `summary.json` says
//! where and what; `updates.jsonl` is what the screen showed: times, failures, usage, and the turns
//! that a compaction took out of the history, which are told from there. The first format
//! (`chat_format_version` 0) had `role` where there is `type` now. The community's program of the
//! same name keeps its database in the same home: see `grok_cli.rs`.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::jsonl::{self, Dialect};
use super::sqlite::Schema;
use super::wire::{self, Content, Count, Text};
use super::{Adapter, Identity, Places, grok_cli, rows, tools};
use crate::base::clock::{self, Timestamp};
use crate::error::Result;
use crate::model::session::{
    Call, CallResult, Event, EventKind, EventSink, Head, Log, Position, Role,
};

/// Grok CLI.
pub struct Grok;

impl Adapter for Grok {
    fn name(&self) -> &'static str {
        "grok"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let home = places.folder("GROK_HOME", ".grok");
        // The community's program knows no variable.
        vec![home.join("sessions"), home.join("grok.db"), places.home.join(".grok/grok.db")]
    }

    fn schema(&self) -> Option<&'static Schema> {
        Some(&grok_cli::SCHEMA)
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let name = name.as_ref();
        let Some(folder) = session_folder(file) else { return rows::identify(file, self.name()) };
        if name.ends_with(".lock") || name.ends_with(".tmp") {
            return Ok(None);
        }
        let role = if name == HISTORY { Role::Main } else { Role::Attachment };
        if role == Role::Main && !jsonl::first_objects(file, 3)?.iter().any(is_history_record) {
            return Ok(None);
        }
        let id = jsonl::document_head(&folder.join(SUMMARY), &["info"], "")
            .ok()
            .and_then(|summary| summary.get("info")?.get("id")?.as_str().map(str::to_string))
            .or_else(|| folder.file_name()?.to_str().map(str::to_string));
        Ok(id.map(|native_id| Identity { native_id, role, lineage: None }))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let extracts = rows::extracts(log);
        if !extracts.is_empty() {
            return grok_cli::read(log, &extracts, events);
        }
        let named = |name: &str| log.files.iter().position(|file| file.name == Path::new(name));
        let mut reader = Reader {
            events,
            head: Head::default(),
            summary: Summary::default(),
            seen: Seen::default(),
            began: None,
            turn: None,
        };
        if let Some(at) = named(SUMMARY) {
            reader.summary(log, at)?;
        }
        if let Some(at) = named(UPDATES) {
            let mut seen = Seen::default();
            let mut screen = Screen {
                head: Head::default(),
                said: None,
                each: |update: Update<'_>| seen.note(update),
            };
            jsonl::read_file(&mut screen, log, at, None)?;
            screen.end()?;
            reader.head.skipped.append(&mut screen.head.skipped);
            reader.seen = seen;
            reader.compacted_turns(log, at)?;
        }
        jsonl::read_log(&mut reader, log)?;
        reader.finish(log)
    }
}

const HISTORY: &str = "chat_history.jsonl";
const SUMMARY: &str = "summary.json";
const UPDATES: &str = "updates.jsonl";

/// The session's folder that a file lies in, or in a folder of.
fn session_folder(file: &Path) -> Option<&Path> {
    const INNER: &[&str] = &["compaction", "terminal", "assets", "subagents"];
    let mut folder = file.parent()?;
    for _ in 0..3 {
        if folder.join(HISTORY).is_file() {
            return Some(folder);
        }
        let inner = |folder: &Path| {
            folder.file_name().is_some_and(|name| INNER.iter().any(|inner| name == *inner))
        };
        if !inner(folder) && !folder.parent().is_some_and(inner) {
            return None;
        }
        folder = folder.parent()?;
    }
    None
}

fn is_history_record(record: &Map<String, Value>) -> bool {
    const KINDS: &[&str] =
        &["system", "user", "assistant", "tool_result", "backend_tool_call", "reasoning", "tool"];
    let kind =
        record.get("type").or(record.get("role")).and_then(Value::as_str).unwrap_or_default();
    let foreign = ["uuid", "timestamp", "message", "payload", "data", "parts"]
        .iter()
        .any(|key| record.contains_key(*key));
    KINDS.contains(&kind) && !foreign
}

// What stands in the files, exactly as the agent writes it.

#[derive(Deserialize)]
struct WireLine<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    role: Text<'a>,
    #[serde(borrow, default)]
    content: Content<'a>,
    #[serde(borrow, default)]
    synthetic_reason: Text<'a>,
    #[serde(default)]
    prompt_index: Option<u64>,
    #[serde(borrow, default)]
    prior_turn_interrupt: Text<'a>,
    #[serde(borrow, default)]
    model_id: Text<'a>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<WireCall<'a>>>,
    #[serde(borrow, default)]
    tool_call_id: Text<'a>,
    #[serde(borrow, default)]
    images: Option<&'a RawValue>,
    #[serde(borrow, default)]
    summary: Content<'a>,
    #[serde(borrow, default)]
    reasoning_content: Text<'a>,
    #[serde(rename = "kind", borrow, default)]
    backend: Option<WireBackendCall<'a>>,
}

#[derive(Deserialize)]
struct WireCall<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    function: Option<WireFunction<'a>>,
}

#[derive(Deserialize)]
struct WireFunction<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireBackendCall<'a> {
    #[serde(borrow, default)]
    tool_type: Text<'a>,
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    action: Option<&'a RawValue>,
    #[serde(borrow, default)]
    status: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Summary {
    info: Option<Info>,
    session_summary: Option<String>,
    generated_title: Option<String>,
    created_at: Option<String>,
    current_model_id: Option<String>,
    parent_session_id: Option<String>,
    inherited_prefix_len: Option<u64>,
    git_remotes: Vec<String>,
    head_commit: Option<String>,
    head_branch: Option<String>,
}

#[derive(Deserialize)]
struct Info {
    cwd: Option<String>,
}

#[derive(Deserialize)]
struct WireUpdate<'a> {
    #[serde(default)]
    timestamp: Count,
    #[serde(borrow, default)]
    params: Option<WireNotification<'a>>,
    // Older lines are the notification itself.
    #[serde(borrow, default)]
    update: Option<WireShown<'a>>,
    #[serde(rename = "_meta", default)]
    meta: WireMeta,
}

#[derive(Deserialize)]
struct WireNotification<'a> {
    #[serde(borrow, default)]
    update: Option<WireShown<'a>>,
    #[serde(rename = "_meta", default)]
    meta: WireMeta,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct WireMeta {
    agent_timestamp_ms: Count,
    prompt_index: Option<u64>,
    #[serde(rename = "x.ai/tool")]
    tool: WireToolName,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireToolName {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireShown<'a> {
    #[serde(borrow, default)]
    session_update: Text<'a>,
    #[serde(borrow, default)]
    content: Content<'a>,
    #[serde(borrow, default)]
    tool_call_id: Text<'a>,
    #[serde(borrow, default)]
    title: Text<'a>,
    #[serde(borrow, default)]
    status: Text<'a>,
    #[serde(borrow, default)]
    raw_input: Option<&'a RawValue>,
    #[serde(rename = "prompt_id", borrow, default)]
    prompt_id: Text<'a>,
    #[serde(rename = "stop_reason", borrow, default)]
    stop_reason: Text<'a>,
    #[serde(default)]
    usage: Option<WireUsage>,
    #[serde(rename = "_meta", default)]
    meta: WireMeta,
}

#[derive(Deserialize, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
struct WireUsage {
    input_tokens: Count,
    output_tokens: Count,
    cached_read_tokens: Count,
    cache_creation_tokens: Count,
    model_usage: BTreeMap<String, WireUsage>,
}

// What the screen showed.

/// One thing that `updates.jsonl` tells; texts come in chunks there and are whole here.
struct Update<'a> {
    at: Option<Timestamp>,
    position: Position,
    shown: Shown<'a>,
}

enum Shown<'a> {
    Said { who: Who, text: &'a str, prompt: Option<u64> },
    Call { id: &'a str, tool: &'a str, input: &'a str },
    Answer { id: &'a str, content: &'a Content<'a>, failed: bool },
    TurnOver { prompt_id: &'a str, stop_reason: &'a str, usage: Option<WireUsage> },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Who {
    Person,
    Agent,
    Thought,
}

/// Reads `updates.jsonl`.
struct Screen<F> {
    head: Head,
    said: Option<Said>,
    each: F,
}

/// A text whose chunks are still coming.
struct Said {
    who: Who,
    text: String,
    prompt: Option<u64>,
    at: Option<Timestamp>,
    position: Position,
}

impl<F: FnMut(Update<'_>) -> Result<()>> Dialect for Screen<F> {
    fn head(&mut self) -> &mut Head {
        &mut self.head
    }

    fn record(&mut self, json: &[u8], position: Position) -> Result<serde_json::Result<()>> {
        let line: WireUpdate = match serde_json::from_slice(json) {
            Ok(line) => line,
            Err(err) => return Ok(Err(err)),
        };
        let (shown, meta) = match line.params {
            Some(params) => (params.update, params.meta),
            None => (line.update, line.meta),
        };
        let Some(shown) = shown else { return Ok(Ok(())) };
        let at = match meta.agent_timestamp_ms.0 {
            0 => Some(line.timestamp.0)
                .filter(|seconds| *seconds > 0)
                .and_then(|seconds| clock::from_seconds(seconds as f64)),
            milliseconds => clock::from_millis(milliseconds as i64),
        };
        self.shown(shown, meta.prompt_index, at, position).map(Ok)
    }
}

impl<F: FnMut(Update<'_>) -> Result<()>> Screen<F> {
    fn shown(
        &mut self,
        shown: WireShown,
        prompt: Option<u64>,
        at: Option<Timestamp>,
        position: Position,
    ) -> Result<()> {
        let who = match shown.session_update.as_str() {
            "user_message_chunk" => Some(Who::Person),
            "agent_message_chunk" => Some(Who::Agent),
            "agent_thought_chunk" => Some(Who::Thought),
            _ => None,
        };
        if let Some(who) = who {
            let prompt = shown.meta.prompt_index.or(prompt).filter(|_| who == Who::Person);
            match &mut self.said {
                // A prompt with a number of its own is a new one, also right after another.
                Some(said) if said.who == who && said.prompt == prompt => {
                    said.text.push_str(&shown.content.text)
                }
                _ => {
                    self.end()?;
                    self.said = Some(Said {
                        who,
                        text: shown.content.text.into_owned(),
                        prompt,
                        at,
                        position,
                    });
                }
            }
            return Ok(());
        }
        self.end()?;
        let id = shown.tool_call_id.as_str();
        let shown = match (shown.session_update.as_str(), shown.status.as_str()) {
            ("tool_call", _) => Shown::Call {
                id,
                tool: if shown.meta.tool.name.is_empty() {
                    &shown.title
                } else {
                    &shown.meta.tool.name
                },
                input: shown.raw_input.map_or("", |input| input.get()),
            },
            ("tool_call_update", status @ ("completed" | "failed")) => {
                Shown::Answer { id, content: &shown.content, failed: status == "failed" }
            }
            ("turn_completed", _) => Shown::TurnOver {
                prompt_id: &shown.prompt_id,
                stop_reason: &shown.stop_reason,
                usage: shown.usage,
            },
            _ => return Ok(()),
        };
        (self.each)(Update { at, position, shown })
    }

    /// Hands over the text whose last chunk has come.
    fn end(&mut self) -> Result<()> {
        let Some(Said { who, text, prompt, at, position }) = self.said.take() else {
            return Ok(());
        };
        (self.each)(Update { at, position, shown: Shown::Said { who, text: &text, prompt } })
    }
}

/// What is kept of the screen to complete the history: no texts, only when and how.
#[derive(Default)]
struct Seen {
    prompts: BTreeMap<u64, Option<Timestamp>>,
    said: HashMap<u64, VecDeque<Timestamp>>,
    calls: HashMap<String, Option<Timestamp>>,
    answers: HashMap<String, (Option<Timestamp>, bool)>,
    turns: BTreeMap<u64, (Option<Timestamp>, String)>,
    usage: BTreeMap<String, WireUsage>,
    prompt: u64,
}

impl Seen {
    fn note(&mut self, update: Update<'_>) -> Result<()> {
        match update.shown {
            Shown::Said { who, text, prompt } => {
                if let Some(prompt) = prompt {
                    self.prompt = prompt;
                    self.prompts.entry(prompt).or_insert(update.at);
                }
                self.said.entry(key(who, text)).or_default().extend(update.at);
            }
            Shown::Call { id, .. } => drop(self.calls.entry(id.to_string()).or_insert(update.at)),
            Shown::Answer { id, failed, .. } => {
                self.answers.insert(id.to_string(), (update.at, failed));
            }
            Shown::TurnOver { prompt_id, stop_reason, usage } => {
                self.turns.insert(self.prompt, (update.at, stop_reason.to_string()));
                // Told again it replaces what was told before.
                if let Some(usage) = usage {
                    self.usage.insert(prompt_id.to_string(), usage);
                }
            }
        }
        Ok(())
    }

    fn time(&mut self, who: Who, text: &str) -> Option<Timestamp> {
        self.said.get_mut(&key(who, text))?.pop_front()
    }
}

fn key(who: Who, text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (who, text.trim()).hash(&mut hasher);
    hasher.finish()
}

/// Reads the files of one session into events.
struct Reader<'s> {
    events: &'s mut dyn EventSink,
    head: Head,
    summary: Summary,
    seen: Seen,
    /// When the session began, for the first event.
    began: Option<Timestamp>,
    /// The number of the prompt whose turn is being told.
    turn: Option<u64>,
}

impl Dialect for Reader<'_> {
    fn head(&mut self) -> &mut Head {
        &mut self.head
    }

    fn record(&mut self, json: &[u8], position: Position) -> Result<serde_json::Result<()>> {
        let line: WireLine = match serde_json::from_slice(json) {
            Ok(line) => line,
            Err(err) => return Ok(Err(err)),
        };
        self.head.records += 1;
        if self.is_inherited(position) {
            self.head.inherited += 1;
        }
        let kind = if line.kind.is_empty() { line.role.0.clone() } else { line.kind.0.clone() };
        match kind.as_ref() {
            "user" => self.user(line, position)?,
            "assistant" => self.assistant(line, position)?,
            "tool_result" | "tool" => self.answer(line, position)?,
            "reasoning" => self.say(Who::Thought, line.summary.text, position)?,
            "backend_tool_call" => self.backend_call(line.backend, position)?,
            kind => jsonl::ignore(&mut self.head, kind),
        }
        Ok(Ok(()))
    }
}

impl Reader<'_> {
    fn summary(&mut self, log: &Log, at: usize) -> Result<()> {
        let path = &log.files[at].path;
        let Some(bytes) = jsonl::read_document(&mut self.head, path)? else { return Ok(()) };
        match serde_json::from_slice(&bytes) {
            Ok(summary) => self.summary = summary,
            // It is empty after a crash; the history is as good without it.
            Err(err) => jsonl::skip(&mut self.head, path, 0, format!("not a whole summary: {err}")),
        }
        self.began = self.summary.created_at.as_deref().and_then(clock::parse);
        Ok(())
    }

    /// Tells from the screen the turns that a compaction took out of the history.
    fn compacted_turns(&mut self, log: &Log, updates: usize) -> Result<()> {
        let history = log.files.iter().find(|file| file.role == Role::Main);
        let first = history.and_then(|file| jsonl::first_objects(&file.path, 40).ok()).and_then(
            |records| records.iter().find_map(|record| record.get("prompt_index")?.as_u64()),
        );
        let (Some(first), Some((shown, _))) = (first, self.seen.prompts.first_key_value()) else {
            return Ok(());
        };
        if *shown >= first || self.summary.inherited_prefix_len.is_some() {
            return Ok(());
        }
        let mut over = false;
        let mut screen = Screen {
            head: Head::default(),
            said: None,
            each: |update: Update<'_>| {
                over |= matches!(update.shown, Shown::Said { prompt: Some(prompt), .. } if prompt >= first);
                if over { Ok(()) } else { self.shown(update) }
            },
        };
        jsonl::read_file(&mut screen, log, updates, None)?;
        screen.end()
    }

    fn shown(&mut self, update: Update<'_>) -> Result<()> {
        let (at, position) = (update.at, update.position);
        match update.shown {
            Shown::Said { who: Who::Person, text, .. } => {
                self.emit(at, position, EventKind::Prompt(spoken(text).into()))
            }
            Shown::Said { who: Who::Agent, text, .. } => {
                self.emit(at, position, EventKind::Reply(text.into()))
            }
            Shown::Said { who: Who::Thought, text, .. } => {
                self.emit(at, position, EventKind::Thinking(text.into()))
            }
            Shown::Call { id, tool, input } => self.emit(
                at,
                position,
                EventKind::Call(Call {
                    id: id.into(),
                    tool: tool.into(),
                    action: tools::action(tool, input),
                }),
            ),
            Shown::Answer { id, content, failed } => {
                let exit_code = exit_code(&content.text);
                let text = Cow::Borrowed(content.text.as_ref());
                self.emit(
                    at,
                    position,
                    EventKind::Result(CallResult {
                        id: id.into(),
                        text,
                        failed,
                        exit_code,
                        images: content.images,
                        ..CallResult::default()
                    }),
                )
            }
            Shown::TurnOver { .. } => self.emit(at, position, EventKind::Completion),
        }
    }

    fn user(&mut self, line: WireLine, position: Position) -> Result<()> {
        let reason = line.synthetic_reason.as_str();
        let text = spoken(&line.content.text);
        if reason == "compaction_meta" {
            return self.emit(None, position, EventKind::Compaction(text.into()));
        }
        if (!reason.is_empty() && reason != "interjection") || text.starts_with("<user_info>") {
            jsonl::ignore(&mut self.head, &format!("user {reason}"));
            return Ok(());
        }
        let said = self.seen.time(Who::Person, text);
        if reason.is_empty() {
            self.end_turn(position)?;
            self.turn = line.prompt_index;
        }
        let at = line
            .prompt_index
            .and_then(|prompt| self.seen.prompts.get(&prompt).copied().flatten())
            .or(said);
        if let Some(interrupt) = line.prior_turn_interrupt.some() {
            self.emit(
                at,
                position,
                EventKind::Intervention(format!("turn interrupted: {interrupt}").into()),
            )?;
        }
        let mut prompt = text.to_string();
        if line.content.images > 0 {
            prompt.push_str(&format!("\n[{} image(s)]", line.content.images));
        }
        self.emit(at, position, EventKind::Prompt(prompt.trim().into()))
    }

    /// Tells how the turn ended, where the screen showed it.
    fn end_turn(&mut self, position: Position) -> Result<()> {
        let Some((at, stop)) = self.turn.take().and_then(|turn| self.seen.turns.remove(&turn))
        else {
            return Ok(());
        };
        match stop.as_str() {
            "cancelled" => self.emit(
                at,
                position,
                EventKind::Intervention("turn interrupted: cancelled".into()),
            ),
            "" | "end_turn" => self.emit(at, position, EventKind::Completion),
            stop => {
                self.emit(at, position, EventKind::Lifecycle(format!("turn ended: {stop}").into()))
            }
        }
    }

    fn assistant(&mut self, line: WireLine, position: Position) -> Result<()> {
        if let Some(model) = line.model_id.some().filter(|_| !self.is_inherited(position)) {
            jsonl::usage(&mut self.head, model);
        }
        self.say(Who::Thought, line.reasoning_content.0, position)?;
        self.say(Who::Agent, line.content.text, position)?;
        for call in line.tool_calls.unwrap_or_default() {
            let (name, arguments) = match call.function {
                Some(function) => (function.name, function.arguments),
                None => (call.name, call.arguments),
            };
            let action = tools::action(&name, &wire::plain(arguments));
            let at = self.seen.calls.get(call.id.as_str()).copied().flatten();
            self.emit(at, position, EventKind::Call(Call { id: call.id.0, tool: name.0, action }))?;
        }
        Ok(())
    }

    fn say(&mut self, who: Who, text: Cow<str>, position: Position) -> Result<()> {
        if text.trim().is_empty() {
            return Ok(());
        }
        let at = self.seen.time(who, &text);
        self.emit(
            at,
            position,
            if who == Who::Agent { EventKind::Reply(text) } else { EventKind::Thinking(text) },
        )
    }

    fn answer(&mut self, line: WireLine, position: Position) -> Result<()> {
        let (at, failed) =
            self.seen.answers.get(line.tool_call_id.as_str()).copied().unwrap_or_default();
        let exit_code = exit_code(&line.content.text);
        let answer = CallResult {
            failed: failed || exit_code.is_some_and(|code| code != 0),
            images: line.content.images + wire::length(line.images),
            id: line.tool_call_id.0,
            text: line.content.text,
            exit_code,
            ..CallResult::default()
        };
        self.emit(at, position, EventKind::Result(answer))
    }

    /// A tool that ran on the server: its answer is not in the log, only that it came.
    fn backend_call(&mut self, call: Option<WireBackendCall>, position: Position) -> Result<()> {
        let Some(call) = call else { return Ok(()) };
        let action = tools::action(&call.tool_type, call.action.map_or("", |action| action.get()));
        let at = self.seen.calls.get(call.id.as_str()).copied().flatten();
        let answer = CallResult {
            id: call.id.0.clone(),
            text: "".into(),
            failed: call.status.as_str() == "failed",
            exit_code: None,
            images: 0,
            ..CallResult::default()
        };
        self.emit(
            at,
            position,
            EventKind::Call(Call { id: call.id.0, tool: call.tool_type.0, action }),
        )?;
        self.emit(at, position, EventKind::Result(answer))
    }

    fn is_inherited(&self, position: Position) -> bool {
        self.summary.inherited_prefix_len.is_some_and(|length| position.line <= length)
    }

    fn emit(
        &mut self,
        at: Option<Timestamp>,
        position: Position,
        kind: EventKind<'_>,
    ) -> Result<()> {
        let inherited = self.is_inherited(position);
        let began = self.began.take();
        self.events.event(Event { at: at.or(began), position, agent: None, inherited, kind })
    }

    fn finish(mut self, log: &Log) -> Result<Head> {
        let last = log.files.iter().position(|file| file.role == Role::Main).unwrap_or_default();
        let position = Position { file: last as u32, line: self.head.records };
        self.end_turn(position)?;
        let Summary {
            info,
            session_summary,
            generated_title,
            current_model_id,
            parent_session_id,
            ..
        } = self.summary;
        let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let head = &mut self.head;
        head.title = filled(generated_title).or(filled(session_summary));
        head.cwd = filled(info.and_then(|info| info.cwd));
        head.branch = filled(self.summary.head_branch);
        head.head_commit = filled(self.summary.head_commit);
        head.remote = self.summary.git_remotes.into_iter().next();
        head.parent = filled(parent_session_id);
        for turn in self.seen.usage.into_values() {
            let whole =
                (current_model_id.clone().unwrap_or_else(|| "unknown".into()), turn.clone());
            let models = if turn.model_usage.is_empty() {
                vec![whole]
            } else {
                turn.model_usage.into_iter().collect()
            };
            for (model, used) in models {
                let usage = jsonl::usage(head, &model);
                // The log counts what was cached as input, too.
                usage.input += used
                    .input_tokens
                    .0
                    .saturating_sub(used.cached_read_tokens.0 + used.cache_creation_tokens.0);
                usage.output += used.output_tokens.0;
                usage.cache_read += used.cached_read_tokens.0;
                usage.cache_write += used.cache_creation_tokens.0;
            }
        }
        Ok(self.head)
    }
}

/// The person's words without what the program puts around them.
fn spoken(text: &str) -> &str {
    let text = text.trim();
    let inner =
        text.strip_prefix("<user_query>").and_then(|text| text.strip_suffix("</user_query>"));
    inner.map_or(text, str::trim)
}

/// The exit code in the last line of a command's output.
fn exit_code(text: &str) -> Option<i32> {
    text.trim_end().lines().next_back()?.strip_prefix("Exit code: ")?.parse().ok()
}
