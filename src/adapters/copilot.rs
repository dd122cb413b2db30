//! GitHub Copilot CLI: `session-state/<id>/events.jsonl`, earlier `session-state/<id>.jsonl`, one
//! event per line (seen in 1.0.64 to 1.0.78).
//!
//! A line is `{type, data, id, timestamp, parentId}`. Full usage is told once, at
//! `session.shutdown`, for the part of the session since it was started or resumed; a crash leaves
//! only the output tokens of each message. `workspace.yaml` beside it has the title.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::jsonl::{self, Dialect};
use super::wire::{self, Content, Count, Text};
use super::{Adapter, Identity, Places, tools};
use crate::base::clock::Timestamp;
use crate::error::Result;
use crate::model::session::{
    Call, CallResult, Event, EventKind, EventSink, Head, Log, Position, Role,
};

/// GitHub Copilot CLI.
pub struct Copilot;

const EVENTS: &str = "events.jsonl";
const WORKSPACE: &str = "workspace.yaml";

impl Adapter for Copilot {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        vec![places.folder("COPILOT_HOME", ".copilot").join("session-state")]
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let name = name.as_ref();
        let (log, role) = match (name.strip_suffix(".jsonl"), session_folder(file, name)) {
            (_, Some(folder)) => (folder.join(EVENTS), Role::Attachment),
            (Some(_), None) => (file.to_path_buf(), Role::Main),
            (None, None) => return Ok(None),
        };
        let records = jsonl::first_objects(&log, 3)?;
        if !records.iter().any(is_copilot_event) {
            return Ok(None);
        }
        let started = records.iter().find_map(|record| {
            let data = record.get("data")?;
            Some((
                data.get("sessionId")?.as_str()?.to_string(),
                data.get("startTime").and_then(Value::as_str).unwrap_or_default(),
            ))
        });
        let named = || {
            let name = if name == EVENTS { file.parent()?.file_name()? } else { file.file_stem()? };
            name.to_str().map(str::to_string)
        };
        Ok(match started {
            Some((id, start)) => {
                Some(Identity { lineage: Some(format!("{id} {start}")), native_id: id, role })
            }
            None => named().map(|native_id| Identity { native_id, role, lineage: None }),
        })
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut reader = Reader {
            events,
            head: Head::default(),
            model: String::new(),
            called: HashSet::new(),
            open: BTreeMap::new(),
            finished: false,
        };
        jsonl::read_log(&mut reader, log)?;
        reader.close();
        if reader.head.title.is_none()
            && let Some(workspace) = log.files.iter().find(|file| file.name == Path::new(WORKSPACE))
            && let Ok(text) = std::fs::read_to_string(&workspace.path)
        {
            reader.head.title = field(&text, "name").or_else(|| field(&text, "summary"));
        }
        Ok(reader.head)
    }
}

/// The folder of the session to which a file that is not its log belongs.
fn session_folder<'f>(file: &'f Path, name: &str) -> Option<&'f Path> {
    let folder = file.parent()?;
    let inner = folder.file_name().is_some_and(|name| name == "checkpoints" || name == "files");
    let folder = match name {
        EVENTS => return None,
        WORKSPACE | "plan.md" => folder,
        _ if inner => folder.parent()?,
        _ => return None,
    };
    folder.join(EVENTS).is_file().then_some(folder)
}

fn is_copilot_event(record: &Map<String, Value>) -> bool {
    let kind = record.get("type").and_then(Value::as_str).unwrap_or_default();
    let known =
        ["session.", "user.message", "assistant.", "tool.execution", "hook.", "system.message"];
    record.get("data").is_some_and(Value::is_object)
        && ["id", "timestamp", "parentId"].iter().all(|key| record.contains_key(*key))
        && known.iter().any(|start| kind.starts_with(start))
}

/// A field of `workspace.yaml`, which is flat.
fn field(yaml: &str, name: &str) -> Option<String> {
    let value = yaml.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?.trim();
    let value = value.trim_matches(|c| c == '"' || c == '\'');
    Some(value)
        .filter(|value| !value.is_empty() && *value != "null" && !value.starts_with(['|', '>']))
        .map(str::to_string)
}

// What stands in a line, exactly as the agent writes it.

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireLine<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    timestamp: Text<'a>,
    #[serde(borrow, default)]
    agent_id: Text<'a>,
    #[serde(borrow, default)]
    data: WireData<'a>,
}

/// The data of all kinds in one: their fields do not collide.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct WireData<'a> {
    #[serde(borrow)]
    copilot_version: Text<'a>,
    #[serde(borrow)]
    selected_model: Text<'a>,
    #[serde(borrow)]
    new_model: Text<'a>,
    context: Option<WireContext>,
    #[serde(borrow)]
    content: Content<'a>,
    #[serde(borrow)]
    source: Text<'a>,
    #[serde(borrow)]
    attachments: Option<&'a RawValue>,
    #[serde(borrow)]
    parent_tool_call_id: Text<'a>,
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    reasoning_text: Text<'a>,
    #[serde(borrow)]
    tool_requests: Vec<WireRequest<'a>>,
    output_tokens: Count,
    #[serde(borrow)]
    tool_call_id: Text<'a>,
    #[serde(borrow)]
    tool_name: Text<'a>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    success: Option<bool>,
    #[serde(borrow)]
    result: Option<WireResult<'a>>,
    #[serde(borrow)]
    error: Option<WireError<'a>>,
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(borrow)]
    reason: Text<'a>,
    #[serde(borrow)]
    summary_content: Text<'a>,
    #[serde(borrow)]
    title: Text<'a>,
    model_metrics: BTreeMap<String, WireMetrics>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct WireContext {
    cwd: Option<String>,
    branch: Option<String>,
    head_commit: Option<String>,
    repository: Option<String>,
    repository_host: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireRequest<'a> {
    #[serde(borrow, default)]
    tool_call_id: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireResult<'a> {
    #[serde(borrow, default)]
    content: Content<'a>,
    /// How a permission was resolved.
    #[serde(borrow, default)]
    kind: Text<'a>,
}

#[derive(Deserialize)]
struct WireError<'a> {
    #[serde(borrow, default)]
    message: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireMetrics {
    usage: WireUsage,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct WireUsage {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_tokens: Count,
    cache_write_tokens: Count,
}

/// Reads the events of one session.
struct Reader<'s> {
    events: &'s mut dyn EventSink,
    head: Head,
    /// The model that was chosen, for messages that do not name theirs.
    model: String,
    called: HashSet<String>,
    /// By model: the output of messages for which no shutdown has told the full usage yet.
    open: BTreeMap<String, u64>,
    /// Whether the last message of the agent asked for no more tools.
    finished: bool,
}

/// When, where and by whom an event was told.
struct Told {
    at: Option<Timestamp>,
    position: Position,
    agent: Option<String>,
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
        self.head.ended = line.kind.as_str() == "session.shutdown";
        let agent = line.agent_id.owned().or_else(|| line.data.parent_tool_call_id.owned());
        let told = Told { at: line.timestamp.time(), position, agent };
        self.tell(&line.kind, line.data, &told).map(Ok)
    }
}

impl Reader<'_> {
    fn tell(&mut self, kind: &str, data: WireData, told: &Told) -> Result<()> {
        match kind {
            "session.start" | "session.resume" => self.started(data),
            "user.message" => self.user(data, told)?,
            "assistant.message" => self.assistant(data, told)?,
            "assistant.turn_end" if self.finished && told.agent.is_none() => {
                self.finished = false;
                self.emit(told, EventKind::Completion)?;
            }
            "tool.execution_start" if !self.called.contains(data.tool_call_id.as_str()) => {
                self.call(data.tool_call_id, data.tool_name, data.arguments, told)?;
            }
            "tool.execution_complete" => self.answer(data, told)?,
            "session.compaction_complete" if !data.summary_content.trim().is_empty() => {
                self.emit(told, EventKind::Compaction(data.summary_content.0))?;
            }
            "session.error" => self.emit(
                told,
                EventKind::Lifecycle(format!("error: {}", data.message.trim()).into()),
            )?,
            "session.title_changed" => {
                self.head.title = data.title.owned().or(self.head.title.take())
            }
            "abort" => {
                let reason = data.reason.some().unwrap_or("interrupted");
                self.emit(told, EventKind::Intervention(format!("turn aborted: {reason}").into()))?;
            }
            "permission.completed"
                if data.result.as_ref().is_some_and(|result| result.kind.starts_with("denied")) =>
            {
                self.emit(told, EventKind::Intervention("the person refused a tool".into()))?;
            }
            "session.model_change" => self.model = data.new_model.owned().unwrap_or_default(),
            "session.shutdown" => self.shutdown(data.model_metrics),
            kind => jsonl::ignore(&mut self.head, kind),
        }
        Ok(())
    }

    fn started(&mut self, data: WireData) {
        self.head.version = data.copilot_version.owned().or(self.head.version.take());
        self.model = data.selected_model.owned().unwrap_or_else(|| std::mem::take(&mut self.model));
        let Some(context) = data.context else { return };
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        let head = &mut self.head;
        head.cwd = head.cwd.take().or(filled(context.cwd));
        head.branch = filled(context.branch).or(head.branch.take());
        head.head_commit = head.head_commit.take().or(filled(context.head_commit));
        if let Some(repository) = filled(context.repository).filter(|_| head.remote.is_none()) {
            let host = filled(context.repository_host).unwrap_or_else(|| "github.com".into());
            head.remote = Some(format!("https://{host}/{repository}"));
        }
    }

    fn user(&mut self, data: WireData, told: &Told) -> Result<()> {
        self.finished = false;
        let text = data.content.text.trim();
        // Skills and schedules speak with the person's voice, and say so.
        if told.agent.is_some() || data.source.some().is_some_and(|source| source != "user") {
            jsonl::ignore(&mut self.head, "user.message that no person wrote");
            return Ok(());
        }
        let attached = wire::length(data.attachments);
        let prompt = match attached {
            0 => text.to_string(),
            _ => format!("{text}\n[{attached} attachment(s)]").trim().to_string(),
        };
        if prompt.is_empty() { Ok(()) } else { self.emit(told, EventKind::Prompt(prompt.into())) }
    }

    fn assistant(&mut self, data: WireData, told: &Told) -> Result<()> {
        let chosen = if self.model.is_empty() { "unknown" } else { &self.model };
        let model = data.model.some().unwrap_or(chosen);
        jsonl::usage(&mut self.head, model);
        *self.open.entry(model.to_string()).or_default() += data.output_tokens.0;
        if !data.reasoning_text.trim().is_empty() {
            self.emit(told, EventKind::Thinking(data.reasoning_text.0))?;
        }
        if !data.content.text.trim().is_empty() {
            self.emit(told, EventKind::Reply(data.content.text))?;
        }
        if told.agent.is_none() {
            self.finished = data.tool_requests.is_empty();
        }
        for request in data.tool_requests {
            self.call(request.tool_call_id, request.name, request.arguments, told)?;
        }
        Ok(())
    }

    fn call(
        &mut self,
        id: Text,
        tool: Text,
        arguments: Option<&RawValue>,
        told: &Told,
    ) -> Result<()> {
        self.called.insert(id.to_string());
        let action = tools::action(&tool, &arguments.map(wire::plain).unwrap_or_default());
        self.emit(told, EventKind::Call(Call { id: id.0, tool: tool.0, action }))
    }

    fn answer(&mut self, data: WireData, told: &Told) -> Result<()> {
        let content = match (data.result, data.error) {
            (_, Some(error)) if !error.message.is_empty() => {
                Content { text: error.message.0, images: 0 }
            }
            (Some(result), _) => result.content,
            (None, _) => Content::default(),
        };
        let exit_code = exit_code(&content.text);
        let failed = data.success == Some(false) || exit_code.is_some_and(|code| code != 0);
        let answer = CallResult {
            id: data.tool_call_id.0,
            text: content.text,
            failed,
            exit_code,
            images: content.images,
            ..CallResult::default()
        };
        self.emit(told, EventKind::Result(answer))
    }

    fn shutdown(&mut self, metrics: BTreeMap<String, WireMetrics>) {
        for (model, WireMetrics { usage: used }) in metrics {
            let usage = jsonl::usage(&mut self.head, &model);
            // The log counts what was cached as input, too.
            usage.input += used
                .input_tokens
                .0
                .saturating_sub(used.cache_read_tokens.0 + used.cache_write_tokens.0);
            usage.output += used.output_tokens.0;
            usage.cache_read += used.cache_read_tokens.0;
            usage.cache_write += used.cache_write_tokens.0;
        }
        self.open.clear();
    }

    /// Counts what was used after the last shutdown, as far as the log tells it.
    fn close(&mut self) {
        for (model, output) in std::mem::take(&mut self.open) {
            jsonl::usage(&mut self.head, &model).output += output;
        }
    }

    fn emit(&mut self, told: &Told, kind: EventKind<'_>) -> Result<()> {
        let agent = told.agent.as_deref();
        self.events.event(Event {
            at: told.at,
            position: told.position,
            agent,
            inherited: false,
            kind,
        })
    }
}

/// The exit code in a last line like `<shellId: 3 completed with exit code 1>`.
fn exit_code(text: &str) -> Option<i32> {
    let last: Cow<str> = text.trim_end().lines().next_back()?.into();
    last.strip_prefix('<')?.strip_suffix('>')?.rsplit_once("exit code ")?.1.parse().ok()
}
