//! Antigravity, the command line and the editor:
//! `brain/<id>/.system_generated/logs/transcript.jsonl`, one step per line, and the documents that
//! the agent wrote beside it (seen in 1.0, June 2026).
//!
//! The program is closed and the shape is by observation. Steps have no ids: the answer to a call
//! is the next step of the tool's kind. The id of the session is the folder's name, and the model
//! is known by its name on the screen. Tokens are only in databases of a private form, which are
//! left alone. The summary after the first turn (`CHECKPOINT 0`) comes with every session and
//! shortens nothing: its first line is the title.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::tags::{self, between};
use super::transcript::{Dialect, Transcript};
use super::wire::{self, Content, Text, wire_types};
use super::{Adapter, Identity, Places, jsonl};
use crate::base::files;
use crate::error::Result;
use crate::model::session::{EventKind, EventSink, Head, Log, Role};

/// Antigravity.
pub struct Antigravity;

const LOG: &str = ".system_generated/logs/transcript.jsonl";

impl Adapter for Antigravity {
    fn name(&self) -> &'static str {
        "antigravity"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let programs = ["antigravity-cli", "antigravity", "antigravity-ide"];
        let folder = |name: &&str| places.home.join(".gemini").join(name).join("brain");
        programs.iter().map(folder).collect()
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        if file.extension().is_some_and(|extension| extension == "md") {
            // A plan or a report, beside the log of the session that wrote it.
            let folder = file.parent().filter(|folder| files::exists(folder.join(LOG)));
            let id = folder.and_then(|folder| folder.file_name()?.to_str());
            return Ok(id.map(|id| Identity::beside(id, Role::Attachment)));
        }
        let Some(stem) = jsonl::stem(file) else { return Ok(None) };
        let records = jsonl::first_objects(file, 12)?;
        if records.is_empty() || !records.iter().all(is_step) {
            return Ok(None);
        }
        // Elsewhere than in its folder, the summary says where it was.
        let stated = || records.iter().find_map(|step| folder_in(jsonl::string(step, "content")));
        let id = folder_in(&file.to_string_lossy().replace('\\', "/")).or_else(stated);
        let lineage = files::sha256_hex(Value::from(records[0].clone()).to_string().as_bytes());
        let id = id.unwrap_or_else(|| format!("{stem}-{}", &lineage[..12]));
        Ok(Some(Identity::main(id, None)))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut out = Transcript::new(log, events);
        out.read_log(&mut Steps::default())?;
        Ok(out.head)
    }
}

fn is_step(record: &Map<String, Value>) -> bool {
    let sources = ["USER_EXPLICIT", "USER_IMPLICIT", "MODEL", "SYSTEM"];
    sources.contains(&jsonl::string(record, "source")) && record.contains_key("created_at")
}

/// The session's folder in a path or a text.
fn folder_in(text: &str) -> Option<String> {
    let (before, _) = text.split_once(&format!("/{LOG}"))?;
    let (_, id) = before.rsplit_once("brain/")?;
    (!id.is_empty() && !id.contains('/')).then(|| id.to_string())
}

// What stands in a step, exactly as the agent writes it.

wire_types! {
    struct WireStep<'a> {
        source: Text<'a>,
        #[serde(rename = "type")]
        kind: Text<'a>,
        created_at: Text<'a>,
        content: Text<'a>,
        thinking: Text<'a>,
        tool_calls: Option<Vec<WireCall<'a>>>,
    }

    struct WireCall<'a> {
        name: Text<'a>,
        args: Option<&'a RawValue>,
    }
}

/// Reads the steps of one session.
#[derive(Default)]
struct Steps {
    /// The calls that were not answered yet: the ids and the kinds of step that answer them.
    waiting: VecDeque<(String, &'static str)>,
}

impl Dialect for Steps {
    type Record<'a> = WireStep<'a>;

    fn record(&mut self, step: WireStep, out: &mut Transcript) -> Result<()> {
        out.context.at = step.created_at.time();
        match (step.source.as_str(), step.kind.as_str()) {
            ("USER_EXPLICIT", "USER_INPUT" | "") => self.prompt(&step.content, out),
            ("MODEL", "PLANNER_RESPONSE" | "") => self.response(step, out),
            ("MODEL", kind) => self.answer(kind, &step.content, out),
            ("SYSTEM", "CHECKPOINT") => checkpoint(&step.content, out),
            ("SYSTEM", "ERROR_MESSAGE") => out.lifecycle(step.content.trim()),
            ("SYSTEM", "SYSTEM_MESSAGE") => match message(&step.content) {
                Some(said) => out.lifecycle(said),
                None => out.ignore("SYSTEM_MESSAGE"),
            },
            (_, "") => out.ignore("step without a type"),
            (_, kind) => out.ignore(kind),
        }
    }
}

impl Steps {
    fn prompt(&mut self, content: &str, out: &mut Transcript) -> Result<()> {
        self.waiting.clear();
        if let Some(model) = between(content, "`Model Selection` from ", ". No need")
            .or_else(|| between(content, "`Model Selection` from ", ".\n"))
            .and_then(|change| change.split_once(" to "))
        {
            out.usage(model.1);
        }
        let request = tags::inside(content, "USER_REQUEST").unwrap_or(content);
        out.prompt(&tags::without(request, &["ADDITIONAL_METADATA", "USER_SETTINGS_CHANGE"]))
    }

    fn response(&mut self, step: WireStep, out: &mut Transcript) -> Result<()> {
        out.think(step.thinking.0)?;
        let has_answer = !step.content.trim().is_empty();
        out.reply(step.content.0)?;
        let calls = step.tool_calls.unwrap_or_default();
        if calls.is_empty() {
            return if has_answer { out.completion() } else { Ok(()) };
        }
        for (number, call) in calls.into_iter().enumerate() {
            let id = format!("step-{}-{number}", out.context.position.line);
            let arguments = serde_json::from_str(wire::raw(call.args)).unwrap_or_default();
            let arguments = common(Value::Object(arguments));
            note_cwd(&arguments, out);
            out.call(id.as_str().into(), call.name.0.clone(), &arguments.to_string())?;
            self.waiting.push_back((id, answered_by(&call.name)));
        }
        Ok(())
    }

    /// A step of a tool's kind: the answer to the first call of this kind, else to the first one.
    fn answer(&mut self, kind: &str, content: &str, out: &mut Transcript) -> Result<()> {
        let of_kind = self.waiting.iter().position(|(_, answered_by)| *answered_by == kind);
        let of_none = self.waiting.iter().position(|(_, answered_by)| answered_by.is_empty());
        let found = of_kind.or(of_none).and_then(|at| self.waiting.remove(at));
        let id = match found {
            Some((id, _)) => id,
            // A later version may leave calls out of its own kinds.
            None => {
                let id = format!("step-{}", out.context.position.line);
                out.call(id.as_str().into(), kind.to_lowercase().into(), "{}")?;
                id
            }
        };
        if out.head.cwd.is_none()
            && let Some(workspace) = between(content, "\"workspaceUris\":  [\n    \"file://", "\"")
        {
            out.head.cwd = Some(workspace.to_string());
        }
        let text = output(content);
        let exit_code = match text.starts_with("The command completed successfully") {
            true => Some(0),
            false => between(&text, "The command failed with exit code: ", "\n")
                .and_then(|code| code.trim().parse().ok()),
        };
        let failed = text.starts_with("Error") || text.starts_with("The command failed");
        let text = match exit_code {
            Some(_) => printed(&text),
            None => text,
        };
        out.result(id.into(), Content { text: text.into(), images: 0 }, failed, exit_code)
    }
}

/// The kind of step that answers a call; empty where the tool is not known.
fn answered_by(tool: &str) -> &'static str {
    match tool {
        "run_command" => "RUN_COMMAND",
        "invoke_subagent" => "INVOKE_SUBAGENT",
        "list_dir" => "LIST_DIRECTORY",
        "view_file" => "VIEW_FILE",
        "grep_search" => "GREP_SEARCH",
        "search_web" => "SEARCH_WEB",
        "write_file" | "write_to_file" | "replace_file_content" | "multi_replace_file_content" => {
            "CODE_ACTION"
        }
        _ => "",
    }
}

/// The arguments under the names that other agents give them. Each is JSON in a string.
fn common(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(name, _)| !name.starts_with("tool"));
            let named = fields.map(|(name, value)| {
                let decoded = value.as_str().and_then(|text| serde_json::from_str(text).ok());
                let value = common(decoded.unwrap_or(value));
                let name = match name.as_str() {
                    "CommandLine" => "command",
                    "TargetFile" | "AbsolutePath" | "DirectoryPath" | "SearchPath" => "path",
                    "CodeContent" => "content",
                    "TargetContent" => "old_string",
                    "ReplacementContent" => "new_string",
                    "ReplacementChunks" => "edits",
                    "Query" => "query",
                    "Url" => "url",
                    "Subagents" => "tasks",
                    "Prompt" => "prompt",
                    "Role" => "description",
                    _ => return (name, value),
                };
                (name.to_string(), value)
            });
            Value::Object(named.collect())
        }
        Value::Array(list) => Value::Array(list.into_iter().map(common).collect()),
        Value::String(text) => match text.strip_prefix("file://") {
            Some(path) => path.into(),
            None => text.into(),
        },
        other => other,
    }
}

/// The session itself names no folder. A command's is the next best, but for the one that the
/// program gives to those without a workspace.
fn note_cwd(arguments: &Value, out: &mut Transcript) {
    let cwd = arguments.get("Cwd").and_then(Value::as_str);
    let cwd = cwd.filter(|cwd| !cwd.is_empty() && !cwd.contains("/.gemini/antigravity"));
    if out.head.cwd.is_none() {
        out.head.cwd = cwd.map(str::to_string);
    }
}

/// What a tool printed, without the times and the indentation of the frame around it.
fn output(content: &str) -> String {
    let is_time =
        |line: &&str| line.starts_with("Created At: ") || line.starts_with("Completed At: ");
    let lines = content.lines().skip_while(is_time);
    let lines: Vec<&str> = lines
        .map(|line| line.strip_prefix("\t\t\t").unwrap_or(line))
        .map(|line| line.strip_prefix('\t').unwrap_or(line))
        .collect();
    lines.join("\n").trim().to_string()
}

/// What a command printed, without the lines that the tool puts before it.
fn printed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let below = lines.strip_prefix(&["Output:"]).or_else(|| lines.strip_prefix(&["Stdout:"]));
    let text = below.unwrap_or(&lines).join("\n");
    // What went to the other stream comes last.
    let (out, err) = text.rsplit_once("\nStderr:").unwrap_or((&text, ""));
    format!("{}\n{}", out.trim(), err.trim()).trim().to_string()
}

/// A summary of what came before. The first one is made after the first turn, for the title.
fn checkpoint(content: &str, out: &mut Transcript) -> Result<()> {
    let is_first = content.trim_start().starts_with("{{ CHECKPOINT 0 }}");
    let Some((_, objective)) = content.split_once("# USER Objective:") else {
        return out.emit(EventKind::Compaction(content.trim().into()));
    };
    if out.head.title.is_none() {
        let title = objective.trim_start().lines().next().unwrap_or_default();
        out.head.title = Text(title.trim_start_matches(['#', ' ']).into()).owned();
    }
    if is_first {
        return out.ignore("CHECKPOINT 0");
    }
    out.emit(EventKind::Compaction(format!("# USER Objective:{objective}").into()))
}

/// What a subagent or the program says to the agent.
fn message(content: &str) -> Option<String> {
    let message = tags::inside(content, "SYSTEM_MESSAGE")?;
    let sender = between(message, "sender=", " ")?;
    let (_, said) = message.split_once(" content=")?;
    (sender != "system").then(|| format!("subagent {sender}: {}", said.trim()))
}
