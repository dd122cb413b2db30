//! Kiro CLI: `sessions/cli/<id>.jsonl`, one message per line, with `<id>.json` that describes the
//! session (seen in 2.5 and 2.6); and `data.sqlite3`, conversations as documents (seen in fixtures
//! of others only).
//!
//! Only prompts have times; when a turn ended stands in the description. The same conversation may
//! lie in both places: then its lines are read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use serde_json::value::RawValue;

use super::schema::{Schema, Table};
use super::transcript::{Dialect, Transcript};
use super::wire::{Content, Count, Lenient, Text, raw, wire_types};
use super::{Adapter, Identity, Places, jsonl, rows};
use crate::base::clock::Timestamp;
use crate::error::Result;
use crate::model::session::{BegunBy, EventSink, Head, Log, Position, Role};

/// Kiro CLI.
pub struct Kiro;

impl Adapter for Kiro {
    fn name(&self) -> &'static str {
        "kiro"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let data = places.folder("XDG_DATA_HOME", ".local/share");
        vec![
            places.home.join(".kiro/sessions/cli"),
            data.join("kiro-cli/data.sqlite3"),
            places.home.join("Library/Application Support/kiro-cli/data.sqlite3"),
        ]
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("jsonl") => {
                if let Some(extract) = rows::identify(file, self.name())? {
                    return Ok(Some(extract));
                }
                lines_of(file)
            }
            Some("json") => {
                Ok(description_of(file)?.map(|(id, _)| Identity::beside(id, Role::Attachment)))
            }
            _ => Ok(None),
        }
    }

    fn schema(&self) -> Option<&'static Schema> {
        Some(&SCHEMA)
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut out = Transcript::new(log, events);
        let extracts = rows::extracts(log);
        let lines: Vec<usize> =
            out.main_files().into_iter().filter(|file| !extracts.contains(file)).collect();
        if lines.is_empty() {
            let mut latest = LatestDocument::default();
            rows::read(&mut latest, &mut out, &extracts)?;
            latest.tell(&mut out)?;
        } else {
            let ended = describe(&mut out)?;
            let mut messages = Messages { ended, format: FORMAT };
            for file in lines {
                out.read_file(&mut messages, file)?;
            }
        }
        Ok(out.head)
    }
}

/// The database also has sign-ins and settings, which are not read.
static SCHEMA: Schema = Schema {
    flavor: "kiro",
    // One without conversations is no fault: it has the sign-in and settings, too.
    is_named: |_| false,
    lineage: "conversation_id",
    parent: None,
    tables: &[Table::new("conversations_v2", "conversation_id", &["0", "\"key\""])
        .required(&["key", "conversation_id", "value", "created_at", "updated_at"])
        .touched("updated_at")],
};

/// The session of a file of messages: as the description beside it says, else by its name.
fn lines_of(file: &Path) -> std::io::Result<Option<Identity>> {
    const KINDS: &[&str] = &["Prompt", "AssistantMessage", "ToolResults", "Compaction", "Clear"];
    let records = jsonl::first_objects(file, 3)?;
    let is_own = |record: &serde_json::Map<String, Value>| {
        jsonl::string(record, "version").starts_with('v')
            && KINDS.contains(&jsonl::string(record, "kind"))
            && record.get("data").is_some_and(Value::is_object)
    };
    let Some(first) = records.first().filter(|_| records.iter().any(is_own)) else {
        return Ok(None);
    };
    let described = description_of(&file.with_extension("json")).unwrap_or_default();
    let message = first.get("data").and_then(|data| data.get("message_id")?.as_str());
    let stem = jsonl::stem(file).unwrap_or_default();
    let (id, parent) = match (described, message) {
        (Some((id, parent)), _) => (id, parent),
        // A recording that was taken out of its place; its name says nothing.
        (None, Some(message)) if stem.len() < 32 => (message.to_string(), None),
        (None, _) => (stem, None),
    };
    Ok(Some(Identity::main(id.as_str(), Some(id.clone())).started_by(parent)))
}

/// The session that a file describes, and the one whose subagent it is.
fn description_of(file: &Path) -> std::io::Result<Option<(String, Option<String>)>> {
    let fields = ["session_id", "cwd", "created_at", "session_created_reason", "parent_session_id"];
    let head = match jsonl::document_head(file, &fields, "session_state") {
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        head => head?,
    };
    let text = |name: &str| jsonl::string(&head, name).to_string();
    let is_own = head.contains_key("session_state") && !text("created_at").is_empty();
    // Every session may be called a subagent's; one that is has a parent.
    let is_child = text("session_created_reason") == "subagent";
    let parent = is_child.then(|| text("parent_session_id")).filter(|parent| !parent.is_empty());
    let id = text("session_id");
    Ok((is_own && !id.is_empty()).then_some((id, parent)))
}

// What stands in lines and documents, exactly as the agent writes it.

wire_types! {
    struct WireDescription<'a> {
        cwd: Text<'a>,
        created_at: Text<'a>,
        title: Text<'a>,
        session_created_reason: Text<'a>,
        parent_session_id: Text<'a>,
        session_state: Lenient<WireState<'a>>,
    }

    struct WireState<'a> {
        conversation_metadata: Lenient<WireTurns<'a>>,
        rts_model_state: Lenient<WireModelState<'a>>,
    }

    struct WireTurns<'a> {
        user_turn_metadatas: Vec<WireTurn<'a>>,
    }

    struct WireTurn<'a> {
        message_ids: Vec<Text<'a>>,
        end_timestamp: Text<'a>,
        input_token_count: Count,
        output_token_count: Count,
    }

    struct WireModelState<'a> {
        model_info: Lenient<WireModel<'a>>,
    }

    struct WireModel<'a> {
        model_id: Text<'a>,
    }

    struct WireLine<'a> {
        version: Text<'a>,
        kind: Text<'a>,
        data: WireMessage<'a>,
    }

    struct WireMessage<'a> {
        message_id: Text<'a>,
        content: Vec<WireBlock<'a>>,
        meta: Lenient<WireMeta>,
        summary: Text<'a>,
    }

    struct WireMeta {
        timestamp: Count,
    }

    struct WireBlock<'a> {
        kind: Text<'a>,
        data: Option<&'a RawValue>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireCall<'a> {
        tool_use_id: Text<'a>,
        name: Text<'a>,
        input: Option<&'a RawValue>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireResult<'a> {
        tool_use_id: Text<'a>,
        content: Vec<WireBlock<'a>>,
        status: Text<'a>,
    }

    struct WireRow<'a> {
        row: WireConversation<'a>,
    }

    struct WireConversation<'a> {
        key: Text<'a>,
        /// A document of its own.
        value: Text<'a>,
        updated_at: Count,
    }

    struct WireDocument<'a> {
        history: Vec<WireExchange<'a>>,
    }

    struct WireExchange<'a> {
        user: WireUser<'a>,
        assistant: WireAssistant<'a>,
        request_metadata: Lenient<WireRequest<'a>>,
    }

    struct WireUser<'a> {
        content: WireUserContent<'a>,
        timestamp: Text<'a>,
    }

    struct WireUserContent<'a> {
        #[serde(rename = "Prompt")]
        prompt: Option<WirePrompt<'a>>,
        #[serde(rename = "ToolUseResults")]
        results: Option<WireResults<'a>>,
        #[serde(rename = "CancelledToolUses")]
        cancelled: Option<WirePrompt<'a>>,
    }

    struct WirePrompt<'a> {
        prompt: Text<'a>,
    }

    struct WireResults<'a> {
        tool_use_results: Vec<WireOldResult<'a>>,
    }

    struct WireOldResult<'a> {
        tool_use_id: Text<'a>,
        content: Vec<WireOldBlock<'a>>,
        status: Text<'a>,
    }

    struct WireOldBlock<'a> {
        #[serde(rename = "Text")]
        text: Text<'a>,
        #[serde(rename = "Json")]
        json: Option<&'a RawValue>,
    }

    struct WireAssistant<'a> {
        #[serde(rename = "Response")]
        response: Option<WireResponse<'a>>,
        #[serde(rename = "ToolUse")]
        tool_use: Option<WireResponse<'a>>,
    }

    struct WireResponse<'a> {
        content: Text<'a>,
        tool_uses: Vec<WireOldCall<'a>>,
    }

    struct WireOldCall<'a> {
        id: Text<'a>,
        name: Text<'a>,
        args: Option<&'a RawValue>,
    }

    struct WireRequest<'a> {
        model_id: Text<'a>,
        stream_end_timestamp_ms: Count,
    }
}

/// Takes over what describes the session; says when which message ended a turn.
fn describe(out: &mut Transcript) -> Result<HashMap<String, Timestamp>> {
    let mut ended = HashMap::new();
    let describes = |name: &Path| name.extension().is_some_and(|extension| extension == "json");
    let files = &out.log.files;
    // The latest, where earlier ones were kept: those lie in folders of their own.
    let at = files.iter().position(|file| {
        file.role == Role::Attachment
            && describes(&file.name)
            && file.name.components().count() == 1
    });
    let Some(file) = at else { return Ok(ended) };
    let Some(bytes) = out.read_document(file)? else { return Ok(ended) };
    let Some(wire) = out.parse_document::<WireDescription>(file, &bytes) else { return Ok(ended) };
    wire.cwd.fill(&mut out.head.cwd);
    wire.title.fill(&mut out.head.title);
    wire.parent_session_id.fill(&mut out.head.parent);
    out.began = wire.created_at.time();
    if wire.session_created_reason.as_str() == "subagent" && !wire.parent_session_id.is_empty() {
        out.head.begun_by = BegunBy::Agent;
    }
    let state = wire.session_state.0;
    let model = state.rts_model_state.0.model_info.0.model_id;
    for turn in state.conversation_metadata.0.user_turn_metadatas {
        if let (Some(id), Some(at)) = (turn.message_ids.last(), turn.end_timestamp.time()) {
            ended.insert(id.as_str().to_string(), at);
        }
        if let Some(model) = model.some() {
            let used = out.usage(model);
            used.input += turn.input_token_count.0;
            used.output += turn.output_token_count.0;
        }
    }
    Ok(ended)
}

/// Reads the lines of one session.
struct Messages {
    /// When a turn ended, by its last message.
    ended: HashMap<String, Timestamp>,
    /// The latest format of a line, so far.
    format: u64,
}

/// The latest format of lines that was seen: each says `v1`.
const FORMAT: u64 = 1;

impl Dialect for Messages {
    type Record<'a> = WireLine<'a>;

    fn record(&mut self, line: WireLine, out: &mut Transcript) -> Result<()> {
        let format = line.version.trim_start_matches('v').parse().unwrap_or_default();
        out.note_newer_record(format, self.format);
        self.format = self.format.max(format);
        let message = line.data;
        out.context.at = message.meta.timestamp.seconds();
        match line.kind.as_str() {
            "Prompt" => {
                let texts: Vec<_> = message.content.iter().filter_map(text).collect();
                let prompt = texts.join("\n");
                drop_repeated_title(&prompt, out);
                out.prompt(&prompt)
            }
            "AssistantMessage" => {
                out.context.at = self.ended.get(message.message_id.as_str()).copied();
                let mut acted = false;
                for block in message.content {
                    acted |= block.kind.as_str() == "toolUse";
                    assistant_block(block, out)?;
                }
                if acted { Ok(()) } else { out.completion() }
            }
            "ToolResults" => {
                for block in message.content {
                    let Some(result) = out.parse::<WireResult>(raw(block.data)) else { continue };
                    let (content, exit_code) = answer(&result.content);
                    let failed = result.status.as_str() == "error";
                    out.result(result.tool_use_id.0, content, failed, exit_code)?;
                }
                Ok(())
            }
            kind if kind.starts_with("Compact") => out.compaction(message.summary.owned()),
            kind => out.ignore(kind),
        }
    }
}

/// A title that nobody gave is the beginning of the first prompt.
fn drop_repeated_title(prompt: &str, out: &mut Transcript) {
    let title = out.head.title.as_deref().unwrap_or_default();
    if prompt.starts_with(title.trim_end_matches(['…', '.'])) {
        out.head.title = None;
    }
}

fn text(block: &WireBlock) -> Option<String> {
    let text = || serde_json::from_str::<Text>(raw(block.data)).ok();
    (block.kind.as_str() == "text").then(text)?.map(|text| text.0.into_owned())
}

fn assistant_block(block: WireBlock, out: &mut Transcript) -> Result<()> {
    match block.kind.as_str() {
        "text" => out.reply(text(&block).unwrap_or_default().into()),
        "toolUse" => match out.parse::<WireCall>(raw(block.data)) {
            Some(call) => out.call(call.tool_use_id.0, call.name.0, raw(call.input)),
            None => Ok(()),
        },
        kind => out.ignore(&format!("block {kind}")),
    }
}

/// What a tool answered, and the exit code where it was a command.
fn answer<'a>(blocks: &[WireBlock<'a>]) -> (Content<'a>, Option<i32>) {
    let (mut texts, mut code, mut images) = (Vec::new(), None, 0);
    for block in blocks {
        match block.kind.as_str() {
            "json" => {
                let (text, exit_code) = printed(raw(block.data));
                texts.push(text);
                code = code.or(exit_code);
            }
            "image" => images += 1,
            _ => texts.extend(text(block)),
        }
    }
    (Content { text: texts.join("\n").into(), images }, code)
}

/// What a command printed, and its exit code: `exit status: 1`. Other answers are as they stand.
fn printed(json: &str) -> (String, Option<i32>) {
    let answer: Value = serde_json::from_str(json).unwrap_or_default();
    let part = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or_default();
    let status = part("exit_status");
    if status.is_empty() {
        return (json.to_string(), None);
    }
    let code = status.rsplit(' ').next().and_then(|code| code.parse().ok());
    ([part("stdout"), part("stderr")].concat(), code)
}

/// The newest document of a conversation that lies in the database.
#[derive(Default)]
struct LatestDocument {
    value: String,
    cwd: Option<String>,
    updated: u64,
    position: Option<Position>,
}

impl Dialect for LatestDocument {
    type Record<'a> = WireRow<'a>;

    fn record(&mut self, record: WireRow, out: &mut Transcript) -> Result<()> {
        let row = record.row;
        if row.updated_at.0 < self.updated {
            return out.ignore("older document of the conversation");
        }
        *self = LatestDocument {
            updated: row.updated_at.0,
            cwd: row.key.owned(),
            value: row.value.0.into_owned(),
            position: Some(out.context.position),
        };
        Ok(())
    }
}

impl LatestDocument {
    fn tell(self, out: &mut Transcript) -> Result<()> {
        let Some(position) = self.position else { return Ok(()) };
        out.go_to(position);
        out.head.cwd = self.cwd;
        let Some(document) = out.parse::<WireDocument>(&self.value) else { return Ok(()) };
        for exchange in document.history {
            out.head.records += 1;
            exchange.user.tell(out)?;
            let request = exchange.request_metadata;
            out.context.at = request.stream_end_timestamp_ms.milliseconds();
            if let Some(model) = request.model_id.some() {
                out.usage(model);
            }
            let WireAssistant { response, tool_use } = exchange.assistant;
            let acted = tool_use.is_some();
            let Some(said) = response.or(tool_use) else { continue };
            out.reply(said.content.0)?;
            for call in said.tool_uses {
                out.call(call.id.0, call.name.0, raw(call.args))?;
            }
            if !acted {
                out.completion()?;
            }
        }
        Ok(())
    }
}

impl WireUser<'_> {
    fn tell(self, out: &mut Transcript) -> Result<()> {
        out.context.at = self.timestamp.time();
        for result in
            self.content.results.map(|results| results.tool_use_results).into_iter().flatten()
        {
            let (mut texts, mut code) = (Vec::new(), None);
            for block in result.content {
                let json = block.json.map(|json| printed(json.get()));
                code = code.or(json.as_ref().and_then(|(_, code)| *code));
                texts.push(json.map_or(block.text.0.into_owned(), |(text, _)| text));
            }
            let content = Content { text: texts.join("\n").into(), images: 0 };
            out.result(result.tool_use_id.0, content, result.status.as_str() == "Error", code)?;
        }
        if let Some(refused) = self.content.cancelled {
            out.intervention("the person cancelled a tool")?;
            return out.prompt(&refused.prompt);
        }
        self.content.prompt.map_or(Ok(()), |typed| out.prompt(&typed.prompt))
    }
}
