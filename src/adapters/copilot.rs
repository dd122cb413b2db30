//! GitHub Copilot CLI: `session-state/<id>/events.jsonl`, earlier `session-state/<id>.jsonl`, one
//! event per line (seen in 1.0.64 to 1.0.102).
//!
//! A line is `{type, data, id, timestamp, parentId}`. Full usage is given at `session.shutdown`,
//! for all of the session so far, also of what came before it was resumed: the last one counts. A
//! crash leaves only the output tokens of each message. `workspace.yaml` beside it has the title.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::transcript::{Dialect, Tokens, Transcript, WireTokens, attached};
use super::wire::{self, Content, Count, Text, wire_types};
use super::{Adapter, Identity, Places, jsonl};
use crate::base::files;
use crate::error::Result;
use crate::model::session::{EventKind, EventSink, Head, Log, ModelUsage, Role};

/// GitHub Copilot CLI.
pub struct Copilot;

/// The latest format that was seen.
const FORMAT: u64 = 1;
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
            Some((id, start)) => Some(Identity {
                lineage: Some(format!("{id} {start}")),
                ..Identity::beside(id, role)
            }),
            None => named().map(|native_id| Identity::beside(native_id, role)),
        })
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let (mut out, mut reader) = (Transcript::new(log, events), SessionEvents::default());
        out.read_log(&mut reader)?;
        // What was used after the last shutdown, as far as the log says it.
        for (model, output) in reader.open_output {
            out.usage(&model).output += output;
        }
        if let Some(workspace) = log.files.iter().find(|file| file.name == Path::new(WORKSPACE))
            && let Ok(text) = files::read_to_string(&workspace.path)
        {
            let name = field(&text, "name");
            out.head.titled_by_person =
                name.is_some() && field(&text, "user_named").is_some_and(|named| named == "true");
            if out.head.titled_by_person || out.head.title.is_none() {
                out.head.title = name.or_else(|| field(&text, "summary"));
            }
        }
        Ok(out.head)
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
    files::is_file(folder.join(EVENTS)).then_some(folder)
}

fn is_copilot_event(record: &Map<String, Value>) -> bool {
    let kind = jsonl::string(record, "type");
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

wire_types! {
    #[serde(rename_all = "camelCase")]
    struct WireLine<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        timestamp: Text<'a>,
        agent_id: Text<'a>,
        data: WireData<'a>,
    }

    /// The data of all kinds in one: their fields do not collide.
    #[serde(rename_all = "camelCase")]
    struct WireData<'a> {
        copilot_version: Text<'a>,
        /// The format's.
        version: Count,
        selected_model: Text<'a>,
        new_model: Text<'a>,
        context: Option<WireContext>,
        content: Content<'a>,
        source: Text<'a>,
        attachments: Option<&'a RawValue>,
        parent_tool_call_id: Text<'a>,
        model: Text<'a>,
        reasoning_text: Text<'a>,
        tool_requests: Vec<WireRequest<'a>>,
        output_tokens: Count,
        tool_call_id: Text<'a>,
        tool_name: Text<'a>,
        arguments: Option<&'a RawValue>,
        success: Option<bool>,
        result: Option<WireResult<'a>>,
        error: Option<WireError<'a>>,
        message: Text<'a>,
        reason: Text<'a>,
        summary_content: Text<'a>,
        title: Text<'a>,
        model_metrics: BTreeMap<String, WireMetrics>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireContext {
        cwd: Option<String>,
        branch: Option<String>,
        head_commit: Option<String>,
        repository: Option<String>,
        repository_host: Option<String>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireRequest<'a> {
        tool_call_id: Text<'a>,
        name: Text<'a>,
        arguments: Option<&'a RawValue>,
    }

    struct WireResult<'a> {
        content: Content<'a>,
        /// How a permission was resolved.
        kind: Text<'a>,
    }

    struct WireError<'a> {
        message: Text<'a>,
    }

    struct WireMetrics {
        usage: WireTokens,
    }

}

/// Reads the events of one session.
#[derive(Default)]
struct SessionEvents {
    /// The model that was chosen, for messages that do not name theirs.
    model: String,
    called: HashSet<String>,
    /// By model: the output of messages for which no shutdown has given the full usage yet.
    open_output: BTreeMap<String, u64>,
    /// Whether the last message of the agent asked for no more tools.
    finished: bool,
}

impl Dialect for SessionEvents {
    type Record<'a> = WireLine<'a>;

    fn record(&mut self, line: WireLine, out: &mut Transcript) -> Result<()> {
        let (kind, data) = (line.kind.as_str(), line.data);
        out.head.ended = kind == "session.shutdown";
        out.context.at = line.timestamp.time();
        let agent = line.agent_id.owned().or_else(|| data.parent_tool_call_id.owned());
        out.context.agent = agent.map(Into::into);
        match kind {
            "session.start" | "session.resume" => {
                out.note_newer_record(data.version.0, FORMAT);
                self.started(data, &mut out.head);
            }
            "user.message" => self.prompt(data, out)?,
            "assistant.message" => self.assistant(data, out)?,
            "assistant.turn_end" if self.finished && out.context.agent.is_none() => {
                self.finished = false;
                out.completion()?;
            }
            "tool.execution_start" if !self.called.contains(data.tool_call_id.as_str()) => {
                self.call(data.tool_call_id, data.tool_name, data.arguments, out)?;
            }
            "tool.execution_complete" => result(data, out)?,
            "session.compaction_complete" if !data.summary_content.trim().is_empty() => {
                out.emit(EventKind::Compaction(data.summary_content.0))?;
            }
            "session.error" => out.lifecycle(format!("error: {}", data.message.trim()))?,
            "session.title_changed" => data.title.replace(&mut out.head.title),
            "abort" => {
                let reason = data.reason.some().unwrap_or("interrupted");
                out.intervention(format!("turn aborted: {reason}"))?;
            }
            "permission.completed"
                if data.result.as_ref().is_some_and(|result| result.kind.starts_with("denied")) =>
            {
                out.intervention("the person refused a tool")?;
            }
            "session.model_change" => self.model = data.new_model.owned().unwrap_or_default(),
            "session.shutdown" => self.shutdown(data.model_metrics, out),
            kind => out.ignore(kind)?,
        }
        Ok(())
    }
}

impl SessionEvents {
    fn started(&mut self, data: WireData, head: &mut Head) {
        data.copilot_version.replace(&mut head.version);
        self.model = data.selected_model.owned().unwrap_or_else(|| std::mem::take(&mut self.model));
        let Some(context) = data.context else { return };
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        head.cwd = head.cwd.take().or(filled(context.cwd));
        head.branch = filled(context.branch).or(head.branch.take());
        head.head_commit = head.head_commit.take().or(filled(context.head_commit));
        if let Some(repository) = filled(context.repository).filter(|_| head.remote.is_none()) {
            let host = filled(context.repository_host).unwrap_or_else(|| "github.com".into());
            head.remote = Some(format!("https://{host}/{repository}"));
        }
    }

    fn prompt(&mut self, data: WireData, out: &mut Transcript) -> Result<()> {
        self.finished = false;
        // Skills and schedules speak with the person's voice, and say so.
        let is_person = data.source.some().is_none_or(|source| source == "user");
        if out.context.agent.is_some() || !is_person {
            return out.ignore("user.message that no person wrote");
        }
        let count = wire::length(data.attachments);
        out.prompt(&attached(data.content.text.trim(), count, "attachment"))
    }

    fn assistant(&mut self, data: WireData, out: &mut Transcript) -> Result<()> {
        let chosen = if self.model.is_empty() { "unknown" } else { &self.model };
        let model = data.model.some().unwrap_or(chosen);
        out.usage(model);
        *self.open_output.entry(model.to_string()).or_default() += data.output_tokens.0;
        out.think(data.reasoning_text.0)?;
        out.reply(data.content.text)?;
        if out.context.agent.is_none() {
            self.finished = data.tool_requests.is_empty();
        }
        for request in data.tool_requests {
            self.call(request.tool_call_id, request.name, request.arguments, out)?;
        }
        Ok(())
    }

    fn call(
        &mut self,
        id: Text,
        tool: Text,
        arguments: Option<&RawValue>,
        out: &mut Transcript,
    ) -> Result<()> {
        self.called.insert(id.to_string());
        out.call(id.0, tool.0, &wire::plain(arguments))
    }

    fn shutdown(&mut self, metrics: BTreeMap<String, WireMetrics>, out: &mut Transcript) {
        for (model, WireMetrics { usage }) in metrics {
            let tokens = Tokens::from(usage).without_cached_input();
            let used = out.usage(&model);
            // What is less than before was counted from a new beginning.
            let goes_on = tokens.input >= used.input
                && tokens.output >= used.output
                && tokens.cache_read >= used.cache_read
                && tokens.cache_write >= used.cache_write;
            if goes_on {
                *used = ModelUsage { model: std::mem::take(&mut used.model), ..Default::default() };
            }
            tokens.add_to(used);
        }
        self.open_output.clear();
    }
}

fn result(data: WireData, out: &mut Transcript) -> Result<()> {
    let content = match (data.result, data.error) {
        (_, Some(error)) if !error.message.is_empty() => {
            Content { text: error.message.0, images: 0 }
        }
        (Some(result), _) => result.content,
        (None, _) => Content::default(),
    };
    let exit_code = exit_code(&content.text);
    out.result(data.tool_call_id.0, content, data.success == Some(false), exit_code)
}

/// The exit code in a last line like `<shellId: 3 completed with exit code 1>`.
fn exit_code(text: &str) -> Option<i32> {
    let last = text.trim_end().lines().next_back()?;
    last.strip_prefix('<')?.strip_suffix('>')?.rsplit_once("exit code ")?.1.parse().ok()
}
