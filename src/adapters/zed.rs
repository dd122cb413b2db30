//! Zed's own agent: `threads/threads.db`, one database for all threads (Zed 1.16 by its source and
//! fixtures of others; not seen as a real log).
//!
//! A thread is a document, packed or not, which is rewritten as a whole. Threads of two forms lie
//! side by side: those of old have `role` and `segments`, today's are named by their kind. There
//! are no times but the thread's own. Agents that Zed only hosts keep no threads here.

use std::path::{Path, PathBuf};

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::schema::{Schema, Table};
use super::transcript::{Dialect, Tokens, Transcript, attached};
use super::wire::{Content, Count, Lenient, Text, raw, wire_types};
use super::{Adapter, Places, rows, tools};
use crate::error::Result;
use crate::model::session::{Action, BegunBy, EventSink, Head, Log};

/// Zed's own agent.
pub struct Zed;

impl Adapter for Zed {
    fn name(&self) -> &'static str {
        "zed"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let data = places
            .variable("FLATPAK_XDG_DATA_HOME")
            .map_or_else(|| places.folder("XDG_DATA_HOME", ".local/share"), PathBuf::from);
        vec![data.join("zed/threads"), places.home.join("Library/Application Support/Zed/threads")]
    }

    fn schema(&self) -> Option<&'static Schema> {
        Some(&SCHEMA)
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut out = Transcript::new(log, events);
        rows::read(&mut Threads, &mut out, &rows::extracts(log))?;
        Ok(out.head)
    }
}

static SCHEMA: Schema = Schema {
    flavor: "zed",
    is_named: |name| name == "threads.db",
    lineage: "id",
    parent: Some(("parent_id", "parent_id")),
    tables: &[Table::new("threads", "id", &["0"])
        .required(&["id", "summary", "updated_at", "data_type", "data"])
        .optional(&["parent_id", "folder_paths", "folder_paths_order", "created_at"])
        .touched("updated_at")],
};

// What stands in a row and its document, exactly as the agent writes it.

wire_types! {
    struct WireRecord<'a> {
        row: WireThread<'a>,
    }

    struct WireThread<'a> {
        summary: Text<'a>,
        updated_at: Text<'a>,
        created_at: Text<'a>,
        parent_id: Text<'a>,
        /// One per line.
        folder_paths: Text<'a>,
        data_type: Text<'a>,
        /// A document of its own.
        data: Text<'a>,
    }

    struct WireDocument<'a> {
        version: Text<'a>,
        title: Text<'a>,
        messages: Vec<&'a RawValue>,
        cumulative_token_usage: Lenient<WireUsage>,
        model: Lenient<WireModel<'a>>,
        imported: Option<bool>,
    }

    struct WireUsage {
        input_tokens: Count,
        output_tokens: Count,
        cache_creation_input_tokens: Count,
        cache_read_input_tokens: Count,
    }

    struct WireModel<'a> {
        model: Text<'a>,
    }

    /// A message of today, by its kind, or one of old.
    struct WireMessage<'a> {
        #[serde(rename = "User")]
        user: Option<WireParts<'a>>,
        #[serde(rename = "Agent")]
        agent: Option<WireParts<'a>>,
        role: Text<'a>,
        segments: Vec<WireSegment<'a>>,
        tool_uses: Vec<WireCall<'a>>,
        tool_results: Vec<WireResult<'a>>,
    }

    struct WireParts<'a> {
        content: Vec<WirePart<'a>>,
        tool_results: Lenient<Map<String, Value>>,
    }

    struct WirePart<'a> {
        #[serde(rename = "Text")]
        text: Text<'a>,
        #[serde(rename = "Mention")]
        mention: Option<&'a RawValue>,
        #[serde(rename = "Image")]
        image: Option<&'a RawValue>,
        #[serde(rename = "Thinking")]
        thinking: Option<WireSegment<'a>>,
        #[serde(rename = "ToolUse")]
        tool_use: Option<WireCall<'a>>,
    }

    struct WireSegment<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        text: Text<'a>,
    }

    struct WireCall<'a> {
        id: Text<'a>,
        name: Text<'a>,
        input: Option<&'a RawValue>,
    }

    struct WireResult<'a> {
        tool_use_id: Text<'a>,
        is_error: Option<bool>,
        content: Option<&'a RawValue>,
    }
}

struct Threads;

impl Dialect for Threads {
    type Record<'a> = WireRecord<'a>;

    fn record(&mut self, record: WireRecord, out: &mut Transcript) -> Result<()> {
        let thread = record.row;
        thread.parent_id.fill(&mut out.head.parent);
        if out.head.parent.is_some() {
            out.head.begun_by = BegunBy::Agent;
        }
        let folder = thread.folder_paths.lines().next().unwrap_or_default();
        out.head.cwd = Some(folder.to_string()).filter(|folder| !folder.is_empty());
        out.began = thread.created_at.time().or(thread.updated_at.time());
        let Some(document) = out.parse::<WireDocument>(&thread.data) else { return Ok(()) };
        let is_known = matches!(document.version.as_str(), "" | "0.1.0" | "0.2.0" | "0.3.0");
        if !is_known && document.imported != Some(true) {
            let at = out.context.position;
            let version = document.version.as_str();
            out.skip(at.file as usize, at.line, format!("a newer format, version {version}"));
        }
        thread.summary.fill(&mut out.head.title);
        document.title.replace(&mut out.head.title);
        if document.imported == Some(true) {
            out.lifecycle("taken over from somebody else's thread")?;
        }
        let root = Path::new(folder).file_name().unwrap_or_default().to_string_lossy();
        for message in document.messages {
            tell(message, &root, out)?;
        }
        let used = document.cumulative_token_usage;
        if let Some(model) = document.model.model.some() {
            let tokens = Tokens {
                input: used.input_tokens.0,
                output: used.output_tokens.0,
                cache_read: used.cache_read_input_tokens.0,
                cache_write: used.cache_creation_input_tokens.0,
                cost_usd: None,
            };
            out.count(model, tokens);
        }
        Ok(())
    }
}

fn tell(json: &RawValue, root: &str, out: &mut Transcript) -> Result<()> {
    // Some kinds are a word alone: the person let it go on.
    if json.get().starts_with('"') {
        return out.ignore(json.get().trim_matches('"'));
    }
    let Some(message) = out.parse::<WireMessage>(json.get()) else { return Ok(()) };
    out.head.records += 1;
    match (message.user, message.agent) {
        (Some(user), _) => {
            let texts: Vec<&str> =
                user.content.iter().filter_map(|part| part.text.some()).collect();
            let is_beside = |part: &&WirePart| part.mention.is_some() || part.image.is_some();
            let beside = user.content.iter().filter(is_beside).count() as u32;
            out.prompt(&attached(&texts.join(""), beside, "attachment"))
        }
        (_, Some(agent)) => tell_agent(agent, root, out),
        _ => {
            let old = WireMessage { user: None, agent: None, ..message };
            tell_old(old, root, out)
        }
    }
}

fn tell_agent(agent: WireParts, root: &str, out: &mut Transcript) -> Result<()> {
    let mut acted = false;
    for part in agent.content {
        out.think(part.thinking.unwrap_or_default().text.0)?;
        out.reply(part.text.0)?;
        let Some(call) = part.tool_use else { continue };
        acted = true;
        let result = agent.tool_results.get(call.id.as_str()).map(Value::to_string);
        tell_call(call, root, out)?;
        if let Some(result) = result
            && let Some(result) = out.parse::<WireResult>(&result)
        {
            tell_result(result, out)?;
        }
    }
    if acted { Ok(()) } else { out.completion() }
}

/// A message as it was written before version 0.3.
fn tell_old(message: WireMessage, root: &str, out: &mut Transcript) -> Result<()> {
    if message.role.as_str() == "user" {
        for result in message.tool_results {
            tell_result(result, out)?;
        }
        let texts: Vec<&str> = message.segments.iter().filter_map(|one| one.text.some()).collect();
        return out.prompt(&texts.join("\n"));
    }
    if message.role.as_str() != "assistant" {
        return out.ignore(&format!("message {}", message.role.as_str()));
    }
    for segment in message.segments {
        match segment.kind.as_str() {
            "text" => out.reply(segment.text.0)?,
            "thinking" => out.think(segment.text.0)?,
            kind => out.ignore(&format!("segment {kind}"))?,
        }
    }
    let acted = !message.tool_uses.is_empty();
    for call in message.tool_uses {
        tell_call(call, root, out)?;
    }
    for result in message.tool_results {
        tell_result(result, out)?;
    }
    if acted { Ok(()) } else { out.completion() }
}

fn tell_call(call: WireCall, root: &str, out: &mut Transcript) -> Result<()> {
    let mut action = tools::action(&call.name, raw(call.input));
    // Paths begin with the name of the project's folder.
    let below = |path: &mut String| {
        let rest = path.strip_prefix(root).and_then(|rest| rest.strip_prefix('/'));
        if let Some(rest) = rest.filter(|rest| !root.is_empty() && !rest.is_empty()) {
            *path = rest.to_string();
        }
    };
    match &mut action {
        Action::Read { path } => below(path),
        Action::Edit { files, .. } => files.iter_mut().for_each(|file| below(&mut file.path)),
        _ => {}
    }
    out.act(call.id.0, call.name.0, action)
}

fn tell_result(result: WireResult, out: &mut Transcript) -> Result<()> {
    let json = raw(result.content);
    let mut content: Content = serde_json::from_str(json).unwrap_or_default();
    if content.text.is_empty() {
        // Today's are named by their kind: `{"Text": "…"}`, alone or in a list.
        let parts: Vec<WirePart> = serde_json::from_str(json)
            .or_else(|_| serde_json::from_str(json).map(|part| vec![part]))
            .unwrap_or_default();
        let texts: Vec<&str> = parts.iter().filter_map(|part| part.text.some()).collect();
        content.text = texts.join("\n").into();
    }
    let exit_code = exit_code(&content.text);
    out.result(result.tool_use_id.0, content, result.is_error == Some(true), exit_code)
}

/// The exit code in a beginning like `Command "ls" failed with exit code 1.`
fn exit_code(text: &str) -> Option<i32> {
    let line = text.lines().next().filter(|line| line.starts_with("Command"))?;
    let (_, rest) = line.split_once("exit code ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
