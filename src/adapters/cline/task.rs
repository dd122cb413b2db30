//! What the extensions of Cline's family keep of a task in `tasks/<id>/`: the messages as the
//! model got them (`api_conversation_history.json`), what the screen showed (`ui_messages.json`:
//! the times and the tokens), and in Roo a summary (`history_item.json`).

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::markup::{self, Piece};
use crate::adapters::blocks::{Block, blocks};
use crate::adapters::tags;
use crate::adapters::transcript::{Tokens, Transcript, attached};
use crate::adapters::wire::{self, Content, Count, Text, wire_types};
use crate::adapters::{Identity, shared};
use crate::base::clock::Timestamp;
use crate::base::files;
use crate::error::Result;
use crate::model::session::{BegunBy, EventSink, Head, Log, Position, Role};

const MESSAGES: &str = "api_conversation_history.json";
const SCREEN: &str = "ui_messages.json";
const SUMMARY: &str = "history_item.json";

/// The folders of tasks below those of an extension.
pub fn folders(extensions: Vec<PathBuf>) -> impl Iterator<Item = PathBuf> {
    extensions.into_iter().map(|folder| folder.join("tasks"))
}

/// The task to which a file belongs.
pub fn identify(file: &Path) -> std::io::Result<Option<Identity>> {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_list = |file: &Path| -> std::io::Result<bool> {
        Ok(shared::first_bytes(file, 64)?.trim_ascii_start().first() == Some(&b'['))
    };
    let id = file.parent().and_then(Path::file_name).map(|id| id.to_string_lossy());
    let beside = files::exists(file.with_file_name(MESSAGES));
    let role = match name {
        MESSAGES if is_list(file)? => Role::Main,
        SCREEN | SUMMARY | "task_metadata.json" if beside => Role::Attachment,
        _ => return Ok(None),
    };
    Ok(id.map(|id| Identity::beside(id, role)))
}

/// Whether a log is a task's.
pub fn is_task(log: &Log) -> bool {
    log.files.iter().any(|file| file.role == Role::Main && is_called(&file.path, MESSAGES))
}

/// Files keep their names in a snapshot.
fn is_called(path: &Path, name: &str) -> bool {
    path.file_name().is_some_and(|found| found == name)
}

// What stands in the documents, exactly as the agent writes it.

wire_types! {
    #[serde(rename_all = "camelCase")]
    struct WireSummary<'a> {
        task: Text<'a>,
        workspace: Text<'a>,
        parent_task_id: Text<'a>,
        tokens_in: Count,
        tokens_out: Count,
        cache_reads: Count,
        cache_writes: Count,
        total_cost: Option<f64>,
    }

    struct WireScreen<'a> {
        say: Text<'a>,
        text: Text<'a>,
        ts: Count,
    }

    #[serde(rename_all = "camelCase")]
    struct WireRequest {
        tokens_in: Count,
        tokens_out: Count,
        cache_reads: Count,
        cache_writes: Count,
        cost: Option<f64>,
    }

    struct WireTaskMetadata<'a> {
        model_usage: Vec<WireModelUsage<'a>>,
    }

    struct WireModelUsage<'a> {
        model_id: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireMessage<'a> {
        role: Text<'a>,
        content: Option<&'a RawValue>,
        ts: Count,
        model_info: WireModelInfo<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireModelInfo<'a> {
        model_id: Text<'a>,
    }
}

/// Reads one task.
pub fn read(log: &Log, events: &mut dyn EventSink) -> Result<Head> {
    let mut out = Transcript::new(log, events);
    let mut task = Task::default();
    let mut summary = None;
    for (at, file) in log.files.iter().enumerate() {
        if file.role != Role::Attachment {
            continue;
        }
        let Some(bytes) = out.read_document(at)? else { continue };
        if is_called(&file.path, SCREEN) {
            let screen = out.parse_document(at, &bytes).unwrap_or_default();
            task.note_screen(screen);
        } else if is_called(&file.path, SUMMARY) {
            let found: Option<WireSummary> = out.parse_document(at, &bytes);
            summary = found.map(|found| note_summary(found, &mut out));
        } else if let Some(metadata) = out.parse_document::<WireTaskMetadata>(at, &bytes) {
            let model = metadata.model_usage.last().and_then(|used| used.model_id.owned());
            task.model = model;
        }
    }
    for file in out.main_files() {
        task.document(file, &mut out)?;
    }
    let model = task.model.as_deref().unwrap_or("unknown");
    match (task.used, summary) {
        (Some(used), _) | (None, Some(used)) => out.count(model, used),
        (None, None) => drop(task.model.as_deref().map(|model| out.usage(model))),
    }
    Ok(out.head)
}

fn note_summary(summary: WireSummary, out: &mut Transcript) -> Tokens {
    summary.task.fill(&mut out.head.title);
    summary.workspace.fill(&mut out.head.cwd);
    if let Some(parent) = summary.parent_task_id.owned() {
        out.head.parent = Some(parent);
        out.head.begun_by = BegunBy::Agent;
    }
    Tokens {
        input: summary.tokens_in.0,
        output: summary.tokens_out.0,
        cache_read: summary.cache_reads.0,
        cache_write: summary.cache_writes.0,
        cost_usd: summary.total_cost,
    }
}

#[derive(Default)]
struct Task {
    /// When each request was made.
    requests: Vec<Option<Timestamp>>,
    used: Option<Tokens>,
    model: Option<String>,
    /// The call that was written as tags and not answered yet.
    waiting: Option<String>,
    /// Calls that only said something to the person.
    said: HashSet<String>,
    /// How many answers there were.
    answers: usize,
}

impl Task {
    fn note_screen(&mut self, screen: Vec<WireScreen>) {
        for shown in screen.iter().filter(|shown| shown.say.as_str() == "api_req_started") {
            self.requests.push(shown.ts.milliseconds());
            let request = serde_json::from_str::<WireRequest>(&shown.text).unwrap_or_default();
            let used = self.used.get_or_insert_default();
            used.input += request.tokens_in.0;
            used.output += request.tokens_out.0;
            used.cache_read += request.cache_reads.0;
            used.cache_write += request.cache_writes.0;
            if let Some(cost) = request.cost {
                *used.cost_usd.get_or_insert(0.0) += cost;
            }
        }
    }

    fn document(&mut self, file: usize, out: &mut Transcript) -> Result<()> {
        let Some(bytes) = out.read_document(file)? else { return Ok(()) };
        let messages: Vec<&RawValue> = out.parse_document(file, &bytes).unwrap_or_default();
        for (number, raw) in messages.into_iter().enumerate() {
            out.go_to(Position { file: file as u32, line: number as u64 + 1 });
            let Some(message) = out.parse::<WireMessage>(raw.get()) else { continue };
            out.head.records += 1;
            let request = self.requests.get(self.answers).copied().flatten();
            out.context.at = message.ts.milliseconds().or(request);
            message.model_info.model_id.replace(&mut self.model);
            let blocks = blocks(message.content, out);
            match message.role.as_str() {
                "user" => self.user(blocks, out)?,
                "assistant" => {
                    self.answers += 1;
                    self.assistant(blocks, out)?;
                }
                role => out.ignore(&format!("message {role}"))?,
            }
        }
        Ok(())
    }

    fn user(&mut self, blocks: Vec<Block>, out: &mut Transcript) -> Result<()> {
        let (mut typed, mut images) = (Vec::new(), 0);
        // What a call that was written as tags printed.
        let mut printed: Option<String> = None;
        for block in blocks {
            match block.kind.as_str() {
                "text" => {
                    self.note_environment(&block.text, out);
                    let text = tags::without(&block.text, &["environment_details"]);
                    typed.extend(words(&text));
                    if let Some((_, first)) = result_of(&text) {
                        printed = Some(first.to_string());
                    } else if let Some(printed) = printed.as_mut().filter(|_| !text.is_empty()) {
                        printed.push('\n');
                        printed.push_str(&text);
                    } else if is_plain(&text) {
                        typed.push(text);
                    }
                }
                "image" => images += 1,
                "tool_result" => {
                    let content = block.result();
                    typed.extend(words(&content.text));
                    if !self.said.contains(block.tool_use_id.as_str()) {
                        let failed = block.is_error == Some(true);
                        result(block.tool_use_id.0, content, failed, out)?;
                    }
                }
                kind => out.ignore(&format!("block {kind}"))?,
            }
        }
        if let (Some(printed), Some(id)) = (printed, self.waiting.take()) {
            let content = Content { text: printed.trim().to_string().into(), images: 0 };
            result(id.into(), content, false, out)?;
        }
        out.prompt(&attached(typed.join("\n").trim(), images, "image"))
    }

    fn assistant(&mut self, blocks: Vec<Block>, out: &mut Transcript) -> Result<()> {
        for block in blocks {
            match block.kind.as_str() {
                "text" => self.answer(&block.text, out)?,
                "thinking" => out.think(block.thinking.0)?,
                "reasoning" => out.think(block.text.0)?,
                "tool_use" => {
                    let input = serde_json::from_str(wire::raw(block.input)).unwrap_or_default();
                    self.call(block.id.0.into_owned(), &block.name, input, out)?;
                }
                kind => out.ignore(&format!("block {kind}"))?,
            }
        }
        Ok(())
    }

    fn answer(&mut self, text: &str, out: &mut Transcript) -> Result<()> {
        for (number, piece) in markup::pieces(text).into_iter().enumerate() {
            match piece {
                Piece::Text(text) => {
                    // Some models think aloud in their answer.
                    if let Some(thought) = tags::inside(text, "thinking") {
                        out.think(thought.into())?;
                    }
                    out.reply(tags::without(text, &["thinking"]).into())?;
                }
                Piece::Call { tool, input } => {
                    let id = format!("call-{}-{number}", out.context.position.line);
                    self.waiting = Some(id.clone());
                    self.call(id, tool, input, out)?;
                }
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        id: String,
        tool: &str,
        mut input: Map<String, Value>,
        out: &mut Transcript,
    ) -> Result<()> {
        let said = match tool {
            "attempt_completion" => Some("result"),
            "plan_mode_respond" => Some("response"),
            _ => None,
        };
        if let Some(name) = said {
            let text = input.get(name).and_then(Value::as_str).unwrap_or_default();
            out.reply(text.to_string().into())?;
            self.waiting = None;
            self.said.insert(id);
            return out.completion();
        }
        // Roo asks for files in a list, and calls what it looks for otherwise than others do.
        let listed = input.get("args").and_then(Value::as_str);
        if let Some(path) = listed.and_then(|list| tags::inside(list, "path")).map(str::to_string) {
            input.entry("path").or_insert(path.into());
        }
        let diff = input.get("diff").and_then(Value::as_str);
        let edits = diff.map(markup::replacements).filter(|edits| !edits.is_empty());
        if let Some(edits) = edits {
            input.remove("diff");
            input.insert("edits".into(), edits.into());
        }
        if let Some(pattern) = input.remove("regex") {
            input.insert("pattern".into(), pattern);
        }
        let input = Value::Object(input).to_string();
        out.call(id.into(), tool.to_string().into(), &input)
    }

    /// The folder and the model, which are told to the model with each prompt.
    fn note_environment(&mut self, text: &str, out: &mut Transcript) {
        let Some(details) = tags::inside(text, "environment_details") else { return };
        let folders = ["Workspace Directory (", "Working Directory ("];
        let folder = folders.iter().find_map(|open| tags::between(details, open, ") Files"));
        if out.head.cwd.is_none() {
            out.head.cwd = folder.map(str::to_string);
        }
        if self.model.is_none() {
            self.model = tags::inside(details, "model").map(str::to_string);
        }
    }
}

/// What the person wrote, in the tags that mark it.
fn words(text: &str) -> Option<String> {
    let tags = ["task", "feedback", "answer", "user_message"];
    tags.iter().find_map(|tag| tags::inside(text, tag)).map(str::to_string)
}

/// The tool and the beginning of what it printed, in a text like `[list_files for 'src'] Result:`.
fn result_of(text: &str) -> Option<(&str, &str)> {
    let (head, printed) = text.strip_prefix('[')?.split_once("] Result:")?;
    (!head.contains('\n')).then(|| (head.split(' ').next().unwrap_or(head), printed.trim_start()))
}

/// Whether a text has none of the marks that the program puts around words, or into the midst.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.starts_with(['[', '<']) && words(text).is_none()
}

fn result(id: Cow<'_, str>, content: Content, failed: bool, out: &mut Transcript) -> Result<()> {
    let text = &content.text;
    let code = text.split_once("Exit code: ").map(|(_, rest)| rest.lines().next());
    let exit_code = code.flatten().and_then(|code| code.trim().trim_end_matches('.').parse().ok());
    let is_refused = text.contains("The user denied this operation");
    let failed = failed
        || is_refused
        || text.starts_with("The tool execution failed")
        || text.starts_with("Error");
    out.result(id, content, failed, exit_code)?;
    if is_refused { out.intervention("refused a tool") } else { Ok(()) }
}
