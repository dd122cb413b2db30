//! OpenCode: the database `opencode.db` of 1.2 and later (seen in 1.18), what `opencode export`
//! writes, `{info, messages: [{info, parts}]}` (seen in 1.2), and the tree of small documents that
//! versions before 1.2 kept, `storage/session/<project>/<session>.json`,
//! `storage/message/<session>/` and `storage/part/<message>/` (seen in fixtures only).
//!
//! A call and its answer stand in one part. Subagents are sessions of their own that name their
//! parent. The same session may lie in more than one of these forms, as the tree is left behind
//! when the database takes over: its messages are told once.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::jsonl::{self, Dialect};
use super::rows::{self, WireRow};
use super::sqlite::{Schema, Table};
use super::wire::{Content, Count, Text};
use super::{Adapter, Identity, Places, tools};
use crate::base::clock::{self, Timestamp};
use crate::error::Result;
use crate::model::session::{
    Call, CallResult, Event, EventKind, EventSink, Head, Log, Position, Role,
};

/// OpenCode.
pub struct OpenCode;

impl Adapter for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let data = places.folder("XDG_DATA_HOME", ".local/share").join("opencode");
        let mut roots = vec![data.join("storage")];
        // The other folders beside it hold logs and copies of repositories, and no sessions.
        if let Some(path) = places.environment.get("OPENCODE_DB").filter(|path| !path.is_empty()) {
            roots.push(data.join(path));
        }
        let beside =
            std::fs::read_dir(&data).into_iter().flatten().flatten().map(|entry| entry.path());
        roots.extend(
            beside.filter(|path| path.extension().is_some_and(|extension| extension == "db")),
        );
        roots.sort();
        roots
    }

    fn schema(&self) -> Option<&'static Schema> {
        Some(&SCHEMA)
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        if file.extension().is_none_or(|extension| extension != "json") {
            let own = rows::identify(file, self.name())?;
            return Ok(own.map(|identity| Identity {
                lineage: Some(identity.native_id.clone()),
                ..identity
            }));
        }
        let fields = ["info", "id", "sessionID", "projectID", "messageID", "role", "directory"];
        let document = jsonl::document_head(file, &fields, "messages")?;
        let string = |document: &Map<String, Value>, key: &str| {
            document
                .get(key)
                .and_then(Value::as_str)
                .filter(|value| !value.is_empty())
                .map(str::to_string)
        };
        let session = |info: &Map<String, Value>| {
            string(info, "id")
                .filter(|_| info.contains_key("directory") && info.contains_key("projectID"))
        };
        // The ids are unique: whatever names one is the same session.
        let identity = |native_id: String, role| Identity {
            lineage: Some(native_id.clone()),
            native_id,
            role,
        };
        if let Some(info) = document
            .get("info")
            .and_then(Value::as_object)
            .filter(|_| document.contains_key("messages"))
        {
            return Ok(session(info).map(|id| identity(id, Role::Main)));
        }
        if let Some(id) = session(&document) {
            return Ok(Some(identity(id, Role::Main)));
        }
        let belongs =
            string(&document, "role").or_else(|| string(&document, "messageID")).is_some();
        let id = string(&document, "sessionID").filter(|_| belongs && document.contains_key("id"));
        Ok(id.map(|id| identity(id, Role::Attachment)))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut reader = Reader {
            log,
            events,
            head: Head::default(),
            prompts: 0,
            reverted: None,
            row: None,
            told: HashSet::new(),
        };
        let extracts = rows::extracts(log);
        rows::read(&mut reader, log, &extracts)?;
        reader.row_message()?;
        for (at, file) in log.files.iter().enumerate() {
            if file.role == Role::Main && !extracts.contains(&at) {
                reader.session(at)?;
            }
        }
        reader.tree()?;
        if let Some((kept, position)) = reader.reverted.take().and_then(|reverted| reverted.kept) {
            reader.emit(None, position, EventKind::Rewind { kept })?;
        }
        Ok(reader.head)
    }
}

/// What is read of the database. It also has tables with credentials, accounts and secrets of
/// shared sessions, and `event` tells again what the messages say.
static SCHEMA: Schema = Schema {
    flavor: "opencode",
    is_named: |name| name.starts_with("opencode") && name.ends_with(".db"),
    lineage: "id",
    tables: &[
        Table {
            name: "session",
            session: "id",
            key: &["0"],
            columns: &["id", "directory", "title", "time_created", "time_updated"],
            more: &[
                "project_id", "parent_id", "slug", "version", "agent", "model", "cost",
                "tokens_input", "tokens_output", "tokens_reasoning", "tokens_cache_read",
                "tokens_cache_write", "revert", "summary_additions", "summary_deletions",
                "summary_files", "time_compacting", "time_archived",
            ],
            touched: Some("time_updated"),
        },
        Table {
            name: "message",
            session: "session_id",
            key: &["1", "id"],
            columns: &["id", "session_id", "data"],
            more: &["time_created", "time_updated"],
            touched: Some("time_updated"),
        },
        Table {
            name: "part",
            session: "session_id",
            key: &["1", "message_id", "id"],
            columns: &["id", "message_id", "session_id", "data"],
            more: &["time_created", "time_updated"],
            touched: Some("time_updated"),
        },
        Table {
            name: "todo",
            session: "session_id",
            key: &["2", "position"],
            columns: &[],
            more: &[
                "session_id", "content", "status", "priority", "position", "time_created",
                "time_updated",
            ],
            touched: Some("time_updated"),
        },
        // What a later version may keep instead; empty where it was seen. Kept, but not read.
        Table {
            name: "session_message",
            session: "session_id",
            key: &["3", "seq", "id"],
            columns: &[],
            more: &["id", "session_id", "type", "seq", "time_created", "time_updated", "data"],
            touched: Some("time_updated"),
        },
    ],
};

// What stands in the documents, exactly as the agent writes it.

#[derive(Deserialize)]
struct WireExport<'a> {
    #[serde(borrow)]
    info: WireSession<'a>,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireSession<'a> {
    #[serde(borrow, default)]
    title: Text<'a>,
    #[serde(borrow, default)]
    directory: Text<'a>,
    #[serde(borrow, default)]
    version: Text<'a>,
    #[serde(rename = "parentID", borrow, default)]
    parent: Text<'a>,
    #[serde(borrow, default)]
    revert: Option<WireRevert<'a>>,
}

#[derive(Deserialize)]
struct WireRevert<'a> {
    #[serde(rename = "messageID", borrow, default)]
    message: Text<'a>,
}

#[derive(Deserialize)]
struct WireMessage<'a> {
    #[serde(borrow)]
    info: WireInfo<'a>,
    #[serde(borrow, default)]
    parts: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireInfo<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    role: Text<'a>,
    #[serde(default)]
    time: WireTime,
    #[serde(rename = "modelID", borrow, default)]
    model: Text<'a>,
    #[serde(default)]
    tokens: Option<WireTokens>,
    #[serde(default)]
    cost: Option<Value>,
    #[serde(borrow, default)]
    finish: Text<'a>,
    /// `true` where an answer is the summary of a compaction.
    #[serde(borrow, default)]
    summary: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct WireTime {
    created: Count,
    start: Count,
    end: Count,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireTokens {
    input: Count,
    output: Count,
    cache: WireCache,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireCache {
    read: Count,
    write: Count,
}

#[derive(Deserialize)]
struct WirePart<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(default)]
    synthetic: Option<bool>,
    #[serde(default)]
    ignored: Option<bool>,
    #[serde(default)]
    time: Option<WireTime>,
    #[serde(borrow, default)]
    tool: Text<'a>,
    #[serde(rename = "callID", borrow, default)]
    call: Text<'a>,
    #[serde(borrow, default)]
    state: Option<WireState<'a>>,
    #[serde(borrow, default)]
    command: Text<'a>,
    #[serde(borrow, default)]
    description: Text<'a>,
    #[serde(rename = "messageID", borrow, default)]
    message: Text<'a>,
}

#[derive(Deserialize)]
struct WireState<'a> {
    #[serde(borrow, default)]
    status: Text<'a>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    output: Content<'a>,
    #[serde(borrow, default)]
    error: Text<'a>,
    #[serde(default)]
    time: WireTime,
    #[serde(borrow, default)]
    metadata: Option<WireMetadata<'a>>,
    #[serde(borrow, default)]
    attachments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireMetadata<'a> {
    #[serde(borrow, default)]
    exit: Text<'a>,
}

/// The row of a session: as its document, but flat.
#[derive(Deserialize)]
struct WireSessionRow<'a> {
    #[serde(borrow, default)]
    title: Text<'a>,
    #[serde(borrow, default)]
    directory: Text<'a>,
    #[serde(borrow, default)]
    version: Text<'a>,
    #[serde(borrow, default)]
    parent_id: Text<'a>,
    /// A document of its own.
    #[serde(borrow, default)]
    revert: Text<'a>,
}

/// The row of a message or of a part: `data` is its document, without the ids.
#[derive(Deserialize)]
struct WireDataRow<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    message_id: Text<'a>,
    #[serde(borrow, default)]
    data: Text<'a>,
}

/// A message of the database whose parts are still coming.
struct RowMessage {
    id: String,
    data: String,
    position: Position,
    parts: Vec<(Position, String)>,
}

/// Reads the documents of one session.
struct Reader<'l, 's> {
    log: &'l Log,
    events: &'s mut dyn EventSink,
    head: Head,
    prompts: u32,
    reverted: Option<Reverted>,
    row: Option<RowMessage>,
    /// The messages that were told already, where another form of the session may tell them again.
    told: HashSet<(String, Option<Timestamp>)>,
}

impl Dialect for Reader<'_, '_> {
    fn head(&mut self) -> &mut Head {
        &mut self.head
    }

    fn record(&mut self, json: &[u8], position: Position) -> Result<serde_json::Result<()>> {
        match serde_json::from_slice::<WireRow>(json) {
            Ok(row) => self.row(row, position),
            Err(err) => Ok(Err(err)),
        }
    }
}

/// The message that the person took back, with all after it, and the last prompt before it.
struct Reverted {
    message: String,
    kept: Option<(u32, Position)>,
}

impl Reader<'_, '_> {
    /// Takes a row of the database.
    fn row(&mut self, row: WireRow, position: Position) -> Result<serde_json::Result<()>> {
        match row.table.as_str() {
            "session" => Ok(self.session_row(row.row.get())),
            "message" => {
                self.row_message()?;
                Ok(serde_json::from_str::<WireDataRow>(row.row.get()).map(|message| {
                    let (id, data) = (message.id.0.into_owned(), message.data.0.into_owned());
                    self.row = Some(RowMessage { id, data, position, parts: Vec::new() });
                }))
            }
            "part" => Ok(serde_json::from_str::<WireDataRow>(row.row.get()).map(|part| match self
                .row
                .as_mut()
                .filter(|message| message.id == part.message_id.as_str())
            {
                Some(message) => message.parts.push((position, part.data.0.into_owned())),
                None => jsonl::ignore(&mut self.head, "part without its message"),
            })),
            table => self.ignore(&format!("row of {table}")).map(Ok),
        }
    }

    fn session_row(&mut self, json: &str) -> serde_json::Result<()> {
        let row: WireSessionRow = serde_json::from_str(json)?;
        let revert = serde_json::from_str(row.revert.as_str()).ok();
        let WireSessionRow { title, directory, version, parent_id: parent, .. } = row;
        self.note(WireSession { title, directory, version, parent, revert });
        Ok(())
    }

    /// Tells the message of the database whose last part has come.
    fn row_message(&mut self) -> Result<()> {
        let Some(message) = self.row.take() else { return Ok(()) };
        match serde_json::from_str::<WireInfo>(&message.data) {
            Ok(mut info) => {
                info.id = Text(Cow::Borrowed(&message.id));
                let parts = message
                    .parts
                    .iter()
                    .map(|(position, text)| (*position, text.as_str()))
                    .collect();
                self.message(info, parts, message.position)
            }
            Err(err) => {
                let path = &self.log.files[message.position.file as usize].path;
                jsonl::skip(
                    &mut self.head,
                    path,
                    message.position.line,
                    format!("an unexpected shape: {err}"),
                );
                Ok(())
            }
        }
    }

    /// Reads an export, or the document of a session in the tree.
    fn session(&mut self, at: usize) -> Result<()> {
        let path = &self.log.files[at].path;
        let Some(bytes) = jsonl::read_document(&mut self.head, path)? else { return Ok(()) };
        let export = match serde_json::from_slice::<WireExport>(&bytes) {
            Ok(export) => Ok(export),
            Err(err) => match serde_json::from_slice::<WireSession>(&bytes) {
                Ok(info) if !info.directory.is_empty() => {
                    Ok(WireExport { info, messages: Vec::new() })
                }
                _ => Err(err),
            },
        };
        let export = match export {
            Ok(export) => export,
            Err(err) => {
                jsonl::skip(&mut self.head, path, 0, format!("not a whole document: {err}"));
                return Ok(());
            }
        };
        self.note(export.info);
        for (number, raw) in export.messages.into_iter().enumerate() {
            let position = Position { file: at as u32, line: number as u64 + 1 };
            match serde_json::from_str::<WireMessage>(raw.get()) {
                Ok(message) => {
                    let parts =
                        message.parts.into_iter().map(|part| (position, part.get())).collect();
                    self.message(message.info, parts, position)?;
                }
                Err(err) => jsonl::skip(
                    &mut self.head,
                    path,
                    position.line,
                    format!("an unexpected shape: {err}"),
                ),
            }
        }
        Ok(())
    }

    /// Reads the messages of the tree and their parts, each in a document of its own, in the order
    /// of ids.
    fn tree(&mut self) -> Result<()> {
        let (mut messages, mut parts) =
            (BTreeMap::new(), BTreeMap::<String, BTreeMap<&Path, usize>>::new());
        for (at, file) in
            self.log.files.iter().enumerate().filter(|(_, file)| file.role == Role::Attachment)
        {
            let Some(bytes) = jsonl::read_document(&mut self.head, &file.path)? else { continue };
            let name = file.path.file_name().map(Path::new).unwrap_or(&file.path);
            match serde_json::from_slice::<WirePart>(&bytes) {
                Ok(part) if !part.message.is_empty() => {
                    parts.entry(part.message.0.into_owned()).or_default().insert(name, at);
                }
                Ok(_) => drop(messages.insert(name, (at, bytes))),
                Err(err) => jsonl::skip(
                    &mut self.head,
                    &file.path,
                    0,
                    format!("not a whole document: {err}"),
                ),
            }
        }
        for (at, bytes) in messages.into_values() {
            let path = &self.log.files[at].path;
            let info: WireInfo = match serde_json::from_slice(&bytes) {
                Ok(info) => info,
                Err(err) => {
                    jsonl::skip(&mut self.head, path, 0, format!("an unexpected shape: {err}"));
                    continue;
                }
            };
            let mut documents = Vec::new();
            for at in parts.remove(info.id.as_str()).unwrap_or_default().into_values() {
                if let Some(bytes) = jsonl::read_document(&mut self.head, &self.log.files[at].path)?
                {
                    let position = Position { file: at as u32, line: 1 };
                    documents.push((position, String::from_utf8_lossy(&bytes).into_owned()));
                }
            }
            let parts =
                documents.iter().map(|(position, text)| (*position, text.as_str())).collect();
            self.message(info, parts, Position { file: at as u32, line: 1 })?;
        }
        Ok(())
    }

    fn note(&mut self, session: WireSession) {
        if self.head.cwd.is_some() {
            // Another form of the same session, and an older one.
            return;
        }
        let untitled = |title: &String| {
            title.starts_with("New session - ") || title.starts_with("Child session - ")
        };
        let head = &mut self.head;
        head.title = session.title.owned().filter(|title| !untitled(title));
        head.cwd = session.directory.owned();
        head.version = session.version.owned();
        head.parent = session.parent.owned();
        self.reverted = session
            .revert
            .and_then(|revert| revert.message.owned())
            .map(|message| Reverted { message, kept: None });
    }

    fn message(
        &mut self,
        info: WireInfo,
        parts: Vec<(Position, &str)>,
        position: Position,
    ) -> Result<()> {
        self.head.records += 1;
        let at = time(info.time.created);
        // Tools that share logs blot ids out where they look like secrets; the time tells such
        // messages apart.
        if !info.id.is_empty() && !self.told.insert((info.id.as_str().to_string(), at)) {
            return self.ignore("message told again");
        }
        if let Some(reverted) =
            self.reverted.as_mut().filter(|reverted| reverted.message == info.id.as_str())
        {
            reverted.kept = Some((self.prompts, position));
        }
        let mut wire = Vec::new();
        for (position, text) in parts {
            match serde_json::from_str::<WirePart>(text) {
                Ok(part) => wire.push((position, part)),
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
        match info.role.as_str() {
            "user" => self.user(wire, at, position),
            "assistant" => self.assistant(info, wire, at, position),
            role => self.ignore(&format!("message {role}")),
        }
    }

    fn user(
        &mut self,
        parts: Vec<(Position, WirePart)>,
        at: Option<Timestamp>,
        position: Position,
    ) -> Result<()> {
        let (mut said, mut files) = (Vec::new(), 0);
        for (_, part) in &parts {
            match part.kind.as_str() {
                "text" if part.synthetic == Some(true) || part.ignored == Some(true) => {
                    self.ignore("text that no person wrote")?;
                }
                "text" => said.push(part.text.trim().to_string()),
                "file" => files += 1,
                // The person called a command that a subagent carries out.
                "subtask" => said.push(
                    format!("/{} {}", part.command.as_str(), part.description.as_str())
                        .trim()
                        .to_string(),
                ),
                "compaction" => {
                    self.emit(at, position, EventKind::Lifecycle("context compacted".into()))?
                }
                kind => self.ignore(&format!("part {kind}"))?,
            }
        }
        let mut prompt = said.join("\n").trim().to_string();
        if files > 0 {
            prompt = format!("{prompt}\n[{files} file(s)]").trim().to_string();
        }
        if prompt.is_empty() {
            return Ok(());
        }
        self.prompts += 1;
        self.emit(at, position, EventKind::Prompt(prompt.into()))
    }

    fn assistant(
        &mut self,
        info: WireInfo,
        parts: Vec<(Position, WirePart)>,
        at: Option<Timestamp>,
        position: Position,
    ) -> Result<()> {
        self.count(&info);
        let summary = info.summary.is_some_and(|summary| summary.get() == "true");
        for (position, part) in parts {
            let began = part.time.and_then(|times| time(times.start)).or(at);
            match part.kind.as_str() {
                "text" if part.text.trim().is_empty() => {}
                "text" if summary => {
                    self.emit(began, position, EventKind::Compaction(part.text.0))?
                }
                "text" => self.emit(began, position, EventKind::Reply(part.text.0))?,
                "reasoning" if part.text.trim().is_empty() => {}
                "reasoning" => self.emit(began, position, EventKind::Thinking(part.text.0))?,
                "tool" => self.call(part, at, position)?,
                "retry" => self.emit(
                    began,
                    position,
                    EventKind::Lifecycle("model error, tried again".into()),
                )?,
                kind => self.ignore(&format!("part {kind}"))?,
            }
        }
        if let Some(error) = info.error {
            let name = error.get("name").and_then(Value::as_str).unwrap_or("error");
            let said = error.pointer("/data/message").and_then(Value::as_str).unwrap_or_default();
            let text = format!("{name}: {said}");
            let aborted = name == "MessageAbortedError";
            let what = if aborted {
                EventKind::Intervention("turn aborted".into())
            } else {
                EventKind::Lifecycle(text.into())
            };
            self.emit(at, position, what)?;
        }
        match info.finish.as_str() {
            "stop" if !summary => self.emit(at, position, EventKind::Completion),
            _ => Ok(()),
        }
    }

    fn call(&mut self, part: WirePart, at: Option<Timestamp>, position: Position) -> Result<()> {
        let Some(state) = part.state else { return self.ignore("tool without a state") };
        let action = tools::action(&part.tool, state.input.map_or("", |input| input.get()));
        let (began, ended) = (time(state.time.start).or(at), time(state.time.end).or(at));
        let id = part.call.0;
        self.emit(
            began,
            position,
            EventKind::Call(Call { id: id.clone(), tool: part.tool.0, action }),
        )?;
        let error = state.status.as_str() == "error";
        if !error && state.status.as_str() != "completed" {
            return Ok(());
        }
        let exit_code = state.metadata.and_then(|metadata| metadata.exit.parse().ok());
        let text = if error && !state.error.is_empty() { state.error.0 } else { state.output.text };
        let answer = CallResult {
            id,
            text,
            failed: error || exit_code.is_some_and(|code: i32| code != 0),
            exit_code,
            images: super::wire::length(state.attachments),
            ..CallResult::default()
        };
        self.emit(ended, position, EventKind::Result(answer))
    }

    fn count(&mut self, info: &WireInfo) {
        let Some(model) = info.model.some() else { return };
        let usage = jsonl::usage(&mut self.head, model);
        if let Some(tokens) = &info.tokens {
            usage.input += tokens.input.0;
            usage.output += tokens.output.0;
            usage.cache_read += tokens.cache.read.0;
            usage.cache_write += tokens.cache.write.0;
        }
        if let Some(cost) = info.cost.as_ref().and_then(Value::as_f64) {
            *usage.cost_usd.get_or_insert(0.0) += cost;
        }
    }

    fn ignore(&mut self, kind: &str) -> Result<()> {
        jsonl::ignore(&mut self.head, kind);
        Ok(())
    }

    fn emit(
        &mut self,
        at: Option<Timestamp>,
        position: Position,
        kind: EventKind<'_>,
    ) -> Result<()> {
        self.events.event(Event { at, position, agent: None, inherited: false, kind })
    }
}

/// A moment in milliseconds since 1970; 0 stands for none.
fn time(milliseconds: Count) -> Option<Timestamp> {
    Some(milliseconds.0)
        .filter(|milliseconds| *milliseconds > 0)
        .and_then(|milliseconds| clock::from_millis(milliseconds as i64))
}
