//! Pi, and OpenClaw which is built on it: `sessions/--<cwd>--/<time>_<id>.jsonl` and
//! `agents/<agent>/sessions/<id>.jsonl`, one JSON entry per line (Pi seen in format 1, formats 2
//! and 3 and OpenClaw in fixtures only).
//!
//! The first line is the header. Since format 2 entries have an `id` and a `parentId`, and one file
//! holds all branches of the conversation. A session branched off another begins with a copy of its
//! entries.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::jsonl::{self, Dialect};
use super::wire::{Content, Count, Text};
use super::{Adapter, Identity, Places, tools};
use crate::base::clock::Timestamp;
use crate::error::Result;
use crate::model::session::{
    Action, Call, CallResult, Event, EventKind, EventSink, Head, Log, Position, Role,
};

/// Pi and OpenClaw.
pub struct Pi;

impl Adapter for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let sessions = match places
            .environment
            .get("PI_CODING_AGENT_SESSION_DIR")
            .filter(|folder| !folder.is_empty())
        {
            Some(folder) => PathBuf::from(folder),
            None => places.folder("PI_CODING_AGENT_DIR", ".pi/agent").join("sessions"),
        };
        let claws = [".openclaw/agents", ".clawdbot/agents", ".moltbot/agents"];
        std::iter::once(sessions)
            .chain(claws.iter().map(|folder| places.home.join(folder)))
            .collect()
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        // OpenClaw keeps what was reset or deleted as `<id>.jsonl.reset.<time>`.
        if !file
            .file_name()
            .map(|name| name.to_string_lossy())
            .is_some_and(|name| name.contains(".jsonl") && !name.ends_with(".zst"))
        {
            return Ok(None);
        }
        let records = jsonl::first_objects(file, 1)?;
        let string = |key: &str| {
            records.first().and_then(|header| header.get(key)?.as_str()).unwrap_or_default()
        };
        let (id, start) = (string("id"), string("timestamp"));
        if string("type") != "session"
            || id.is_empty()
            || records.first().is_none_or(|header| !header.contains_key("cwd"))
        {
            return Ok(None);
        }
        Ok(Some(Identity {
            native_id: id.to_string(),
            role: Role::Main,
            lineage: Some(format!("{id} {start}")),
        }))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut youngest = Youngest { head: Head::default(), entry: None };
        jsonl::read_log(&mut youngest, log)?;
        let mut reader = Reader {
            events,
            head: Head::default(),
            youngest: youngest.entry,
            branched: None,
            seen: HashMap::new(),
            prompts: 0,
        };
        jsonl::read_log(&mut reader, log)?;
        Ok(reader.head)
    }
}

// What stands in an entry, exactly as the agent writes it.

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireEntry<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    parent_id: Text<'a>,
    #[serde(borrow, default)]
    timestamp: Text<'a>,
    #[serde(borrow, default)]
    cwd: Text<'a>,
    #[serde(borrow, default)]
    branched_from: Text<'a>,
    #[serde(borrow, default)]
    parent_session: Text<'a>,
    #[serde(borrow, default)]
    summary: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    message: Option<WireMessage<'a>>,
}

#[derive(Deserialize)]
struct WireStamp<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    timestamp: Text<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMessage<'a> {
    #[serde(borrow, default)]
    role: Text<'a>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(default)]
    usage: Option<WireUsage>,
    #[serde(borrow, default)]
    stop_reason: Text<'a>,
    #[serde(borrow, default)]
    error_message: Text<'a>,
    #[serde(borrow, default)]
    tool_call_id: Text<'a>,
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(borrow, default)]
    command: Text<'a>,
    #[serde(borrow, default)]
    output: Text<'a>,
    #[serde(borrow, default)]
    exit_code: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct WireUsage {
    input: Count,
    output: Count,
    cache_read: Count,
    cache_write: Count,
    cost: Option<Value>,
}

#[derive(Deserialize)]
struct WireBlock<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    thinking: Text<'a>,
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

/// Finds out when the last message was written.
struct Youngest {
    head: Head,
    entry: Option<Timestamp>,
}

impl Dialect for Youngest {
    fn head(&mut self) -> &mut Head {
        &mut self.head
    }

    fn record(&mut self, json: &[u8], _: Position) -> Result<serde_json::Result<()>> {
        let stamp = serde_json::from_slice::<WireStamp>(json)
            .ok()
            .filter(|stamp| stamp.kind.as_str() == "message");
        self.entry = self.entry.max(stamp.and_then(|stamp| stamp.timestamp.time()));
        Ok(Ok(()))
    }
}

/// Reads the entries of one session.
struct Reader<'s> {
    events: &'s mut dyn EventSink,
    head: Head,
    youngest: Option<Timestamp>,
    /// When it was branched off another session: what is older is a copy.
    branched: Option<Timestamp>,
    /// The entries seen so far, and the episode of each.
    seen: HashMap<u64, u32>,
    prompts: u32,
}

#[derive(Clone, Copy)]
struct Told {
    at: Option<Timestamp>,
    position: Position,
    inherited: bool,
}

impl Dialect for Reader<'_> {
    fn head(&mut self) -> &mut Head {
        &mut self.head
    }

    fn record(&mut self, json: &[u8], position: Position) -> Result<serde_json::Result<()>> {
        let entry: WireEntry = match serde_json::from_slice(json) {
            Ok(entry) => entry,
            Err(err) => return Ok(Err(err)),
        };
        self.head.records += 1;
        let at = entry.timestamp.time();
        let inherited = self.branched.is_some_and(|branched| at.is_some_and(|at| at < branched));
        if inherited {
            self.head.inherited += 1;
        }
        let told = Told { at, position, inherited };
        let (id, before) = (entry.id.some().map(hash), self.prompts);
        let parent =
            entry.parent_id.some().and_then(|parent| self.seen.get(&hash(parent)).copied());
        self.tell(entry, parent, told)?;
        if let Some(id) = id {
            // A prompt opens an episode; everything else belongs to that of its parent.
            let episode =
                if self.prompts > before { self.prompts } else { parent.unwrap_or(before) };
            self.seen.insert(id, episode);
        }
        Ok(Ok(()))
    }
}

impl Reader<'_> {
    fn tell(&mut self, entry: WireEntry, parent: Option<u32>, told: Told) -> Result<()> {
        match entry.kind.as_str() {
            "session" => {
                self.head.cwd = self.head.cwd.take().or_else(|| entry.cwd.owned());
                if let Some(parent) =
                    entry.branched_from.owned().or_else(|| entry.parent_session.owned())
                {
                    // A branch that has not gone on yet would tell nothing; it tells its copy as
                    // its own.
                    self.branched = told.at.filter(|branched| {
                        self.youngest.is_some_and(|youngest| youngest >= *branched)
                    });
                    // The parent is named by its file: `…/<time>_<id>.jsonl`.
                    let stem = Path::new(&parent)
                        .file_stem()
                        .and_then(|stem| stem.to_str())
                        .unwrap_or(&parent);
                    self.head.parent = Some(stem.rsplit('_').next().unwrap_or(stem).to_string());
                }
            }
            "message" => return self.message(entry, parent, told),
            "compaction" => return self.emit(told, EventKind::Compaction(entry.summary.0)),
            "branch_summary" => {
                return self.emit(
                    told,
                    EventKind::Lifecycle(format!("left a branch: {}", entry.summary.trim()).into()),
                );
            }
            "session_info" => self.head.title = entry.name.owned().or(self.head.title.take()),
            kind => jsonl::ignore(&mut self.head, kind),
        }
        Ok(())
    }

    fn message(&mut self, entry: WireEntry, parent: Option<u32>, told: Told) -> Result<()> {
        let Some(message) = entry.message else { return Ok(()) };
        let content = |raw: Option<&RawValue>| -> Content<'static> {
            let content: Content =
                raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
            Content { text: content.text.into_owned().into(), images: content.images }
        };
        match message.role.as_str() {
            "user" => self.prompt(content(message.content), parent, told),
            "assistant" => self.assistant(message, told),
            "toolResult" => {
                let Content { text, images } = content(message.content);
                let exit_code = exit_code(&text);
                let failed =
                    message.is_error == Some(true) || exit_code.is_some_and(|code| code != 0);
                self.emit(
                    told,
                    EventKind::Result(CallResult {
                        id: message.tool_call_id.0,
                        text,
                        failed,
                        exit_code,
                        images,
                        ..CallResult::default()
                    }),
                )
            }
            // The person ran a command beside the agent.
            "bashExecution" => {
                let id = format!("bash-{}", told.position.line);
                let action = Action::Shell { command: message.command.0.into_owned() };
                self.emit(
                    told,
                    EventKind::Call(Call {
                        id: id.clone().into(),
                        tool: "bashExecution".into(),
                        action,
                    }),
                )?;
                let exit_code = message.exit_code.parse().ok();
                let failed = exit_code.is_some_and(|code: i32| code != 0);
                self.emit(
                    told,
                    EventKind::Result(CallResult {
                        id: id.into(),
                        text: message.output.0,
                        failed,
                        exit_code,
                        images: 0,
                        ..CallResult::default()
                    }),
                )
            }
            role => {
                jsonl::ignore(&mut self.head, &format!("message {role}"));
                Ok(())
            }
        }
    }

    fn prompt(&mut self, content: Content, parent: Option<u32>, told: Told) -> Result<()> {
        let mut prompt = content.text.trim().to_string();
        if content.images > 0 {
            prompt.push_str(&format!("\n[{} image(s)]", content.images));
        }
        if prompt.is_empty() {
            return Ok(());
        }
        if let Some(kept) = parent.filter(|kept| *kept < self.prompts) {
            self.emit(told, EventKind::Rewind { kept })?;
        }
        self.prompts += 1;
        self.emit(told, EventKind::Prompt(prompt.trim().into()))
    }

    fn assistant(&mut self, message: WireMessage, told: Told) -> Result<()> {
        if let Some(model) = message.model.some().filter(|_| !told.inherited) {
            let usage = jsonl::usage(&mut self.head, model);
            if let Some(used) = &message.usage {
                usage.input += used.input.0;
                usage.output += used.output.0;
                usage.cache_read += used.cache_read.0;
                usage.cache_write += used.cache_write.0;
                if let Some(cost) = used.cost.as_ref().and_then(|cost| cost.get("total")?.as_f64())
                {
                    *usage.cost_usd.get_or_insert(0.0) += cost;
                }
            }
        }
        let blocks: Vec<WireBlock> = message
            .content
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        for block in blocks {
            match block.kind.as_str() {
                "text" if !block.text.trim().is_empty() => {
                    self.emit(told, EventKind::Reply(block.text.0))?
                }
                "thinking" if !block.thinking.trim().is_empty() => {
                    self.emit(told, EventKind::Thinking(block.thinking.0))?
                }
                "toolCall" => {
                    let action = tools::action(
                        &block.name,
                        block.arguments.map_or("", |arguments| arguments.get()),
                    );
                    self.emit(
                        told,
                        EventKind::Call(Call { id: block.id.0, tool: block.name.0, action }),
                    )?;
                }
                "text" | "thinking" => {}
                kind => jsonl::ignore(&mut self.head, &format!("block {kind}")),
            }
        }
        match message.stop_reason.as_str() {
            "stop" => self.emit(told, EventKind::Completion),
            "aborted" => self.emit(told, EventKind::Intervention("turn aborted".into())),
            "error" => self.emit(
                told,
                EventKind::Lifecycle(format!("error: {}", message.error_message.trim()).into()),
            ),
            _ => Ok(()),
        }
    }

    fn emit(&mut self, told: Told, kind: EventKind<'_>) -> Result<()> {
        self.events.event(Event {
            at: told.at,
            position: told.position,
            agent: None,
            inherited: told.inherited,
            kind,
        })
    }
}

/// The exit code in a last line like `Command exited with code 1`.
fn exit_code(text: &str) -> Option<i32> {
    text.trim_end().lines().next_back()?.strip_prefix("Command exited with code ")?.parse().ok()
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
