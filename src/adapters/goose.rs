//! Goose: the database `sessions.db` of 1.10 and later (seen in 2026), and the logs of a session
//! each that came before it, `<id>.jsonl`, metadata on the first line and a message on each other
//! (not seen as a real log; built to the documented shape).
//!
//! A message is a list of parts. Models that stream leave a part of thinking for each token, which
//! are put together again. A tool's answer comes as a message of the person's. Usage is told by a
//! ledger.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

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

/// Goose.
pub struct Goose;

impl Adapter for Goose {
    fn name(&self) -> &'static str {
        "goose"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        if let Some(root) =
            places.environment.get("GOOSE_PATH_ROOT").filter(|root| !root.is_empty())
        {
            return vec![Path::new(root).join("data/sessions")];
        }
        vec![
            places.folder("XDG_DATA_HOME", ".local/share").join("goose/sessions"),
            places.home.join("Library/Application Support/Block/goose/sessions"),
        ]
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        if file.extension().is_none_or(|extension| extension != "jsonl") {
            return Ok(None);
        }
        if let Some(extract) = rows::identify(file, self.name())? {
            return Ok(Some(extract));
        }
        let records = jsonl::first_objects(file, 2)?;
        let is_header = records.first().is_some_and(|header| {
            header.contains_key("working_dir")
                && ["description", "message_count"].iter().any(|key| header.contains_key(*key))
        });
        let id =
            file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).filter(|_| is_header);
        // What was kept so is taken over into the database under the same id.
        Ok(id.map(|native_id| Identity {
            lineage: Some(native_id.clone()),
            native_id,
            role: Role::Main,
        }))
    }

    fn schema(&self) -> Option<&'static Schema> {
        Some(&SCHEMA)
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut reader = Reader {
            events,
            head: Head::default(),
            model: None,
            ledger: false,
            told: HashSet::new(),
            totals: None,
        };
        let extracts = rows::extracts(log);
        for (at, file) in log.files.iter().enumerate() {
            if file.role == Role::Main && !extracts.contains(&at) {
                jsonl::read_file(&mut reader, log, at, None)?;
            }
        }
        rows::read(&mut reader, log, &extracts)?;
        Ok(reader.finish())
    }
}

/// What is read of the database. Extensions and recipes are left out: they are settings, and may
/// hold keys.
static SCHEMA: Schema = Schema {
    flavor: "goose",
    is_named: |name| name == "sessions.db",
    // Ids are counted by the day, on each machine anew; those of old are moments and so unique.
    lineage: "CASE WHEN length(id) > 12 THEN id ELSE id || ' ' || ifnull(created_at, '') || ' ' || working_dir END",
    tables: &[
        Table {
            name: "sessions",
            session: "id",
            key: &["0"],
            columns: &["id", "working_dir", "created_at", "updated_at"],
            more: &[
                "name",
                "description",
                "user_set_name",
                "session_type",
                "total_tokens",
                "input_tokens",
                "output_tokens",
                "cache_read_tokens",
                "cache_write_tokens",
                "accumulated_total_tokens",
                "accumulated_input_tokens",
                "accumulated_output_tokens",
                "accumulated_cache_read_tokens",
                "accumulated_cache_write_tokens",
                "accumulated_cost",
                "schedule_id",
                "provider_name",
                "model_config_json",
                "goose_mode",
                "archived_at",
                "project_id",
                "parent_session_id",
            ],
            touched: Some("updated_at"),
        },
        Table {
            name: "messages",
            session: "session_id",
            key: &["1", "id"],
            columns: &["id", "session_id", "role", "content_json", "created_timestamp"],
            more: &["message_id", "timestamp", "tokens", "metadata_json"],
            touched: Some("timestamp"),
        },
        Table {
            name: "usage_ledger",
            session: "session_id",
            key: &["2", "id"],
            columns: &[],
            more: &[
                "id", "session_id", "created_timestamp", "model", "input_tokens", "output_tokens",
                "total_tokens", "cache_read_tokens", "cache_write_tokens", "cost", "is_compaction",
            ],
            touched: None,
        },
    ],
};

// What stands in the rows and lines, exactly as the agent writes it.

#[derive(Deserialize)]
struct WireSession<'a> {
    #[serde(borrow, default)]
    working_dir: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    description: Text<'a>,
    #[serde(borrow, default)]
    session_type: Text<'a>,
    #[serde(borrow, default)]
    parent_session_id: Text<'a>,
    /// A document of its own.
    #[serde(borrow, default)]
    model_config_json: Text<'a>,
    #[serde(default)]
    total_tokens: Count,
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
    #[serde(default)]
    accumulated_input_tokens: Count,
    #[serde(default)]
    accumulated_output_tokens: Count,
}

#[derive(Deserialize)]
struct WireMessageRow<'a> {
    #[serde(borrow, default)]
    role: Text<'a>,
    /// A document of its own.
    #[serde(borrow, default)]
    content_json: Text<'a>,
    #[serde(default)]
    created_timestamp: Count,
    /// A document of its own.
    #[serde(borrow, default)]
    metadata_json: Text<'a>,
}

/// A line of the old logs: the metadata, or a message.
#[derive(Deserialize)]
struct WireLine<'a> {
    #[serde(borrow, default)]
    role: Text<'a>,
    #[serde(default)]
    created: Count,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    metadata: WireVisible,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireVisible {
    user_visible: bool,
}

impl Default for WireVisible {
    fn default() -> Self {
        WireVisible { user_visible: true }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePart<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    thinking: Text<'a>,
    #[serde(borrow, default)]
    msg: Text<'a>,
    #[serde(borrow, default)]
    tool_call: Option<WireOutcome<'a>>,
    #[serde(borrow, default)]
    tool_result: Option<WireOutcome<'a>>,
}

#[derive(Deserialize)]
struct WireOutcome<'a> {
    #[serde(borrow, default)]
    status: Text<'a>,
    #[serde(borrow, default)]
    value: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Text<'a>,
}

#[derive(Deserialize)]
struct WireCall<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireAnswer<'a> {
    #[serde(borrow, default)]
    content: Content<'a>,
    #[serde(default)]
    is_error: Option<bool>,
}

#[derive(Deserialize)]
struct WireUsage<'a> {
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
    #[serde(default)]
    cache_read_tokens: Count,
    #[serde(default)]
    cache_write_tokens: Count,
    #[serde(default)]
    cost: Option<f64>,
}

/// Reads the messages of one session.
struct Reader<'s> {
    events: &'s mut dyn EventSink,
    head: Head,
    model: Option<String>,
    /// Whether each use of a model was told on its own.
    ledger: bool,
    /// The messages that were told already: the old logs live on in the database.
    told: HashSet<u64>,
    /// Input and output of the session as a whole, for want of anything better.
    totals: Option<(u64, u64)>,
}

impl Dialect for Reader<'_> {
    fn head(&mut self) -> &mut Head {
        &mut self.head
    }

    fn record(&mut self, json: &[u8], position: Position) -> Result<serde_json::Result<()>> {
        if let Ok(row) = serde_json::from_slice::<WireRow>(json) {
            return self.row(row, position);
        }
        let line: WireLine = match serde_json::from_slice(json) {
            Ok(line) => line,
            Err(err) => return Ok(Err(err)),
        };
        self.head.records += 1;
        let Some(content) = line.content.filter(|_| !line.role.is_empty()) else {
            return Ok(serde_json::from_slice(json).map(|session| self.note(session)));
        };
        self.message(
            line.role.as_str(),
            content.get(),
            line.created,
            line.metadata.user_visible,
            position,
        )
    }
}

impl Reader<'_> {
    fn row(&mut self, row: WireRow, position: Position) -> Result<serde_json::Result<()>> {
        self.head.records += 1;
        let json = row.row.get();
        match row.table.as_str() {
            "sessions" => Ok(serde_json::from_str(json).map(|session| self.note(session))),
            "messages" => {
                let message: WireMessageRow = match serde_json::from_str(json) {
                    Ok(message) => message,
                    Err(err) => return Ok(Err(err)),
                };
                let seen: WireVisible =
                    serde_json::from_str(message.metadata_json.as_str()).unwrap_or_default();
                let (role, content) = (message.role.as_str(), message.content_json.as_str());
                self.message(role, content, message.created_timestamp, seen.user_visible, position)
            }
            "usage_ledger" => Ok(serde_json::from_str(json).map(|usage| self.usage(usage))),
            table => {
                jsonl::ignore(&mut self.head, &format!("row of {table}"));
                Ok(Ok(()))
            }
        }
    }

    fn note(&mut self, session: WireSession) {
        let head = &mut self.head;
        head.title = session
            .name
            .owned()
            .or_else(|| session.description.owned())
            .filter(|title| !is_untitled(title));
        head.cwd = session.working_dir.owned();
        head.parent = session.parent_session_id.owned();
        let config: Value =
            serde_json::from_str(session.model_config_json.as_str()).unwrap_or_default();
        self.model = config.get("model_name").and_then(Value::as_str).map(str::to_string);
        let larger = |sum: Count, last: Count| sum.0.max(last.0);
        let input = larger(session.accumulated_input_tokens, session.input_tokens);
        let output = larger(session.accumulated_output_tokens, session.output_tokens);
        self.totals = (input + output + session.total_tokens.0 > 0).then_some((input, output));
        if !["", "user"].contains(&session.session_type.as_str()) {
            jsonl::ignore(
                &mut self.head,
                &format!("session of the kind {}", session.session_type.as_str()),
            );
        }
    }

    fn usage(&mut self, usage: WireUsage) {
        self.ledger = true;
        let used = jsonl::usage(
            &mut self.head,
            usage.model.some().or(self.model.as_deref()).unwrap_or("unknown"),
        );
        used.input += usage.input_tokens.0;
        used.output += usage.output_tokens.0;
        used.cache_read += usage.cache_read_tokens.0;
        used.cache_write += usage.cache_write_tokens.0;
        if let Some(cost) = usage.cost {
            *used.cost_usd.get_or_insert(0.0) += cost;
        }
    }

    fn message(
        &mut self,
        role: &str,
        content: &str,
        created: Count,
        visible: bool,
        position: Position,
    ) -> Result<serde_json::Result<()>> {
        let parts: Vec<WirePart> = match serde_json::from_str(content) {
            Ok(parts) => parts,
            Err(err) => return Ok(Err(err)),
        };
        let mut hasher = DefaultHasher::new();
        (role, created.0).hash(&mut hasher);
        for part in &parts {
            [part.kind.as_str(), part.id.as_str(), part.text.as_str(), part.thinking.as_str()]
                .hash(&mut hasher);
        }
        if !self.told.insert(hasher.finish()) {
            jsonl::ignore(&mut self.head, "message told again");
            return Ok(Ok(()));
        }
        let told = Told { at: time(created), position };
        let (mut said, mut thought, mut images) = (Vec::new(), String::new(), 0);
        let mut acted = false;
        for part in parts {
            if part.kind.as_str() == "thinking" {
                thought.push_str(&part.thinking);
                continue;
            }
            self.thinking(&told, &mut thought)?;
            match part.kind.as_str() {
                "text" if part.text.trim().is_empty() => {}
                "text" if role == "user" => said.push(part.text.trim().to_string()),
                "text" => self.emit(&told, EventKind::Reply(part.text.0))?,
                "image" => images += 1,
                "toolRequest" | "frontendToolRequest" => {
                    acted = true;
                    self.call(part, &told)?;
                }
                "toolResponse" => self.answer(part, &told)?,
                // What a compaction leaves in place of what came before.
                "summarizationRequested" | "contextLengthExceeded" => {
                    self.emit(&told, EventKind::Lifecycle("context compacted".into()))?;
                }
                "conversationCompacted" | "systemNotification" => {
                    let text = if part.msg.is_empty() { part.text.0 } else { part.msg.0 };
                    self.emit(&told, EventKind::Lifecycle(text))?;
                }
                kind => jsonl::ignore(&mut self.head, &format!("part {kind}")),
            }
        }
        self.thinking(&told, &mut thought)?;
        if role == "user" {
            self.said(said, images, visible, &told)?;
        } else if !acted {
            self.emit(&told, EventKind::Completion)?;
        }
        Ok(Ok(()))
    }

    fn said(&mut self, said: Vec<String>, images: u32, visible: bool, told: &Told) -> Result<()> {
        let mut prompt = said.join("\n");
        if images > 0 {
            prompt = format!("{prompt}\n[{images} image(s)]");
        }
        let prompt = prompt.trim();
        if prompt.is_empty() {
            return Ok(());
        }
        if !visible {
            // Only the model sees it: a summary of what came before, or a note of the program's.
            return self.emit(told, EventKind::Compaction(prompt.into()));
        }
        self.emit(told, EventKind::Prompt(prompt.into()))
    }

    /// Hands over the thoughts that came in pieces.
    fn thinking(&mut self, told: &Told, thought: &mut String) -> Result<()> {
        let whole = std::mem::take(thought);
        match whole.trim().is_empty() {
            true => Ok(()),
            false => self.emit(told, EventKind::Thinking(whole.into())),
        }
    }

    fn call(&mut self, part: WirePart, told: &Told) -> Result<()> {
        let outcome = part.tool_call;
        let call = outcome
            .as_ref()
            .and_then(|call| serde_json::from_str::<WireCall>(call.value?.get()).ok());
        let Some(call) = call else {
            let error = outcome.map(|call| call.error.0.into_owned()).unwrap_or_default();
            return self.emit(
                told,
                EventKind::Lifecycle(format!("a tool call that could not be read: {error}").into()),
            );
        };
        // Tools of extensions are called `developer__shell`; the last word says what they do.
        let tool = call.name.as_str();
        let short = tool.rsplit("__").next().unwrap_or(tool);
        let action = tools::action(short, call.arguments.map_or("", |arguments| arguments.get()));
        self.emit(
            told,
            EventKind::Call(Call { id: part.id.0, tool: tool.to_string().into(), action }),
        )
    }

    fn answer(&mut self, part: WirePart, told: &Told) -> Result<()> {
        let Some(outcome) = part.tool_result else {
            jsonl::ignore(&mut self.head, "answer without a result");
            return Ok(());
        };
        let failed = outcome.status.as_str() == "error";
        let value = outcome.value.map(RawValue::get).unwrap_or_default();
        // Up to 1.10 the value was the content itself.
        let answer: WireAnswer = if value.starts_with('{') {
            serde_json::from_str(value)
                .unwrap_or(WireAnswer { content: Content::default(), is_error: None })
        } else {
            WireAnswer { content: serde_json::from_str(value).unwrap_or_default(), is_error: None }
        };
        let answer = CallResult {
            id: part.id.0,
            text: if failed { outcome.error.0 } else { answer.content.text },
            failed: failed || answer.is_error == Some(true),
            exit_code: None,
            images: answer.content.images,
            ..CallResult::default()
        };
        self.emit(told, EventKind::Result(answer))
    }

    fn finish(mut self) -> Head {
        if let (false, Some((input, output))) = (self.ledger, self.totals) {
            let used = jsonl::usage(&mut self.head, self.model.as_deref().unwrap_or("unknown"));
            (used.input, used.output) = (input, output);
        }
        self.head
    }

    fn emit(&mut self, told: &Told, kind: EventKind<'_>) -> Result<()> {
        self.events.event(Event {
            at: told.at,
            position: told.position,
            agent: None,
            inherited: false,
            kind,
        })
    }
}

/// When and where something was told.
struct Told {
    at: Option<Timestamp>,
    position: Position,
}

/// A title that nobody gave.
fn is_untitled(title: &str) -> bool {
    title == "CLI Session" || title.starts_with("New session") || title.starts_with("New Chat")
}

/// A moment in seconds since 1970; 0 stands for none.
fn time(seconds: Count) -> Option<Timestamp> {
    Some(seconds.0)
        .filter(|seconds| *seconds > 0)
        .and_then(|seconds| clock::from_seconds(seconds as f64))
}
