//! Pi, and the logs of OpenClaw before it had a database ([`super::openclaw`]):
//! `sessions/--<cwd>--/<time>_<id>.jsonl` and `agents/<agent>/sessions/<id>.jsonl`, one JSON entry
//! per line (Pi seen in 0.87 and in format 1, format 2 and OpenClaw in fixtures only), and others
//! of the family, whose roots alone are known.
//!
//! The first line is the header; in Oh My Pi, which is read here too ([`super::omp`]), the title
//! may stand before it. Since format 2 entries have an `id` and a `parentId`, and one file holds
//! all branches of the conversation. A session branched off another begins with a copy of its
//! entries.

use std::path::{Path, PathBuf};

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::transcript::{Dialect, NoEvents, Tokens, Transcript, attached};
use super::wire::{self, Content, Count, Text, wire_types};
use super::{Adapter, Identity, Places, jsonl};
use crate::base::clock::Timestamp;
use crate::error::Result;
use crate::model::session::{BegunBy, EventKind, EventSink, Head, Log};

/// Pi and what is built on it.
pub struct Pi;

/// The latest format that was seen: Pi writes 3, OpenClaw 4.
const FORMAT: u64 = 4;

impl Adapter for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let sessions = places.variable("PI_CODING_AGENT_SESSION_DIR").map_or_else(
            || places.folder("PI_CODING_AGENT_DIR", ".pi/agent").join("sessions"),
            PathBuf::from,
        );
        std::iter::once(sessions)
            .chain(RELATIVES.iter().map(|folder| places.home.join(folder)))
            .collect()
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        Ok(header(file)?.map(|header| header.identity()))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut latest = LatestMessage::default();
        Transcript::new(log, &mut NoEvents).read_log(&mut latest)?;
        let mut out = Transcript::new(log, events);
        out.read_log(&mut Entries::until(latest))?;
        Ok(out.head)
    }
}

/// Where agents that are built on Pi keep the same logs; none of them was seen.
const RELATIVES: &[&str] = &[
    ".omo/agent/sessions",
    ".stepcode/agent/sessions",
    ".prime/agent/sessions",
    ".fx/sessions",
    ".tau/sessions",
];

/// How a log of Pi's family begins.
pub struct Header {
    /// The record of the session.
    pub session: Map<String, Value>,
    /// Whether the title stands before it, in a line of its own that is written over.
    pub has_title_line: bool,
}

/// The header of a log; `None` where it is none of Pi's family.
pub fn header(file: &Path) -> std::io::Result<Option<Header>> {
    // OpenClaw keeps what was reset or deleted as `<id>.jsonl.reset.<time>`.
    let is_named = |name: &str| name.contains(".jsonl") && !name.ends_with(".zst");
    if !file.file_name().is_some_and(|name| is_named(&name.to_string_lossy())) {
        return Ok(None);
    }
    let mut records = jsonl::first_objects(file, 2)?.into_iter().peekable();
    let has_title_line =
        records.next_if(|record| jsonl::string(record, "type") == "title").is_some();
    let session = records.next().filter(|record| {
        let has = |name: &str| !jsonl::string(record, name).is_empty();
        // Others begin with a record of this kind too, but count milliseconds.
        let is_session = jsonl::string(record, "type") == "session" && record.contains_key("cwd");
        is_session && has("id") && has("timestamp")
    });
    Ok(session.map(|session| Header { session, has_title_line }))
}

impl Header {
    /// The session that it begins.
    pub fn identity(&self) -> Identity {
        let field = |name| jsonl::string(&self.session, name);
        let (id, start) = (field("id"), field("timestamp"));
        Identity::main(id, Some(format!("{id} {start}")))
    }
}

// What stands in an entry, exactly as the agent writes it.

wire_types! {
    #[serde(rename_all = "camelCase")]
    pub(super) struct WireEntry<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        id: Text<'a>,
        parent_id: Text<'a>,
        timestamp: Text<'a>,
        cwd: Text<'a>,
        branched_from: Text<'a>,
        parent_session: Text<'a>,
        summary: Text<'a>,
        name: Text<'a>,
        title: Text<'a>,
        /// Who gave the title, in omp.
        source: Text<'a>,
        title_source: Text<'a>,
        /// The format's, in the first line.
        version: Count,
        model: Text<'a>,
        usage: Option<WireUsage>,
        message: Option<WireMessage<'a>>,
    }

    pub(super) struct WireStamp<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        timestamp: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireMessage<'a> {
        role: Text<'a>,
        content: Option<&'a RawValue>,
        model: Text<'a>,
        usage: Option<WireUsage>,
        stop_reason: Text<'a>,
        error_message: Text<'a>,
        tool_call_id: Text<'a>,
        is_error: Option<bool>,
        command: Text<'a>,
        output: Text<'a>,
        exit_code: Text<'a>,
        details: Option<&'a RawValue>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireDetails<'a> {
        exit_code: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireUsage {
        input: Count,
        output: Count,
        cache_read: Count,
        cache_write: Count,
        cost: Option<Value>,
    }

    struct WireBlock<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        text: Text<'a>,
        thinking: Text<'a>,
        id: Text<'a>,
        name: Text<'a>,
        arguments: Option<&'a RawValue>,
    }
}

impl WireUsage {
    fn tokens(&self) -> Tokens {
        Tokens {
            input: self.input.0,
            output: self.output.0,
            cache_read: self.cache_read.0,
            cache_write: self.cache_write.0,
            cost_usd: self.cost.as_ref().and_then(|cost| cost.get("total")?.as_f64()),
        }
    }
}

/// Finds out when the last message was written.
#[derive(Default)]
pub(super) struct LatestMessage(Option<Timestamp>);

impl Dialect for LatestMessage {
    type Record<'a> = WireStamp<'a>;

    fn record(&mut self, stamp: WireStamp, _: &mut Transcript) -> Result<()> {
        if stamp.kind.as_str() == "message" {
            self.0 = self.0.max(stamp.timestamp.time());
        }
        Ok(())
    }
}

/// Reads the entries of one session.
#[derive(Default)]
pub(super) struct Entries {
    latest: Option<Timestamp>,
    /// When it was branched off another session: what is older is a copy.
    branched: Option<Timestamp>,
    /// Whether the title stands in a line of its own.
    has_title: bool,
}

impl Dialect for Entries {
    type Record<'a> = WireEntry<'a>;

    fn record(&mut self, entry: WireEntry, out: &mut Transcript) -> Result<()> {
        let at = entry.timestamp.time();
        out.context.at = at;
        if self.branched.is_some_and(|branched| at.is_some_and(|at| at < branched)) {
            out.inherit();
        }
        out.follow(&entry.id, &entry.parent_id);
        match entry.kind.as_str() {
            "session" => self.session(entry, out),
            "message" => entry.message.map_or(Ok(()), |message| self.message(message, out)),
            "compaction" => out.emit(EventKind::Compaction(entry.summary.0)),
            "branch_summary" => out.lifecycle(format!("left a branch: {}", entry.summary.trim())),
            "session_info" => {
                // `/name` is how a person calls it.
                entry.name.replace(&mut out.head.title);
                out.head.titled_by_person = entry.name.some().is_some();
                Ok(())
            }
            // The line of the title is always the latest: it is written over in its place.
            "title" => {
                self.has_title = entry.title.owned().is_some();
                if self.has_title {
                    retitle(&entry.title, &entry.source, &mut out.head);
                }
                Ok(())
            }
            "title_change" => {
                if !self.has_title {
                    retitle(&entry.title, &entry.source, &mut out.head);
                }
                Ok(())
            }
            // A request outside of the conversation: for a title, or to keep a cache warm.
            "usage" | "model_usage" => {
                if let (Some(model), Some(used)) = (entry.model.some(), entry.usage) {
                    out.count(model.rsplit('/').next().unwrap_or(model), used.tokens());
                }
                Ok(())
            }
            "session_init" => {
                out.head.begun_by = BegunBy::Agent;
                Ok(())
            }
            "reset_boundary" => out.lifecycle("began anew"),
            kind => out.ignore(kind),
        }
    }
}

/// Takes a title over, and who gave it.
fn retitle(title: &Text, source: &Text, head: &mut Head) {
    title.replace(&mut head.title);
    head.titled_by_person = matches!(source.as_str(), "user" | "manual");
}

impl Entries {
    /// The same, where the last message was written at this time.
    pub(super) fn until(latest: LatestMessage) -> Entries {
        Entries { latest: latest.0, ..Entries::default() }
    }

    fn session(&mut self, entry: WireEntry, out: &mut Transcript) -> Result<()> {
        entry.cwd.fill(&mut out.head.cwd);
        if out.head.title.is_none() {
            retitle(&entry.title, &entry.title_source, &mut out.head);
        }
        out.note_newer_record(entry.version.0, FORMAT);
        let parent = entry.branched_from.owned().or_else(|| entry.parent_session.owned());
        let Some(parent) = parent else { return Ok(()) };
        // A branch that has not gone on yet would have nothing; its copy counts as its own.
        let at = out.context.at;
        self.branched = at.filter(|branched| self.latest.is_some_and(|latest| latest >= *branched));
        // The parent is named by its file: `…/<time>_<id>.jsonl`.
        let stem = Path::new(&parent).file_stem().and_then(|stem| stem.to_str()).unwrap_or(&parent);
        out.head.parent = Some(stem.rsplit('_').next().unwrap_or(stem).to_string());
        Ok(())
    }

    fn message(&self, message: WireMessage, out: &mut Transcript) -> Result<()> {
        let content = || serde_json::from_str::<Content>(wire::raw(message.content));
        match message.role.as_str() {
            "user" => {
                let Content { text, images } = content().unwrap_or_default();
                out.prompt(&attached(text.trim(), images, "image"))
            }
            "assistant" => assistant(message, out),
            "toolResult" => {
                let content = content().unwrap_or_default();
                let details = serde_json::from_str::<WireDetails>(wire::raw(message.details));
                let stated = details.ok().and_then(|details| details.exit_code.parse().ok());
                let exit_code = stated.or_else(|| exit_code(&content.text));
                let failed = message.is_error == Some(true);
                out.result(message.tool_call_id.0, content, failed, exit_code)
            }
            // The person ran a command beside the agent.
            "bashExecution" => {
                let id = format!("bash-{}", out.context.position.line);
                out.own_command(id.as_str().into(), &message.command)?;
                let output = Content { text: message.output.0, images: 0 };
                out.result(id.into(), output, false, message.exit_code.parse().ok())
            }
            role => out.ignore(&format!("message {role}")),
        }
    }
}

fn assistant(message: WireMessage, out: &mut Transcript) -> Result<()> {
    if let Some(model) = message.model.some().filter(|_| !out.context.inherited) {
        let tokens = message.usage.unwrap_or_default().tokens();
        out.count(model, tokens);
    }
    let blocks: Vec<WireBlock> =
        serde_json::from_str(wire::raw(message.content)).unwrap_or_default();
    for block in blocks {
        match block.kind.as_str() {
            "text" => out.reply(block.text.0)?,
            "thinking" => out.think(block.thinking.0)?,
            "toolCall" => out.call(block.id.0, block.name.0, wire::raw(block.arguments))?,
            kind => out.ignore(&format!("block {kind}"))?,
        }
    }
    match message.stop_reason.as_str() {
        "stop" => out.completion(),
        "aborted" => out.intervention("turn aborted"),
        "error" => out.lifecycle(format!("error: {}", message.error_message.trim())),
        _ => Ok(()),
    }
}

/// The exit code in a last line like `Command exited with code 1`.
fn exit_code(text: &str) -> Option<i32> {
    let last = text.trim_end().lines().next_back()?;
    let last = last.strip_prefix('(').and_then(|line| line.strip_suffix(')')).unwrap_or(last);
    last.strip_prefix("Command exited with code ")?.parse().ok()
}
