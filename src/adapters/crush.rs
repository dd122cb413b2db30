//! Crush: `<project>/.crush/crush.db`, a database for each project, as `projects.json` lists them
//! (built from the published source of August 2026; not seen as a real log).
//!
//! The database does not name its project: that is the folder it lies in. A session's tokens are
//! those of its last request alone, so that only its cost is taken over.

use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use super::schema::{PLACE, Schema, Table};
use super::transcript::{Dialect, Transcript, attached};
use super::wire::{Content, Count, Text, raw, wire_types};
use super::{Adapter, Places, rows};
use crate::base::clock::Timestamp;
use crate::base::files;
use crate::error::Result;
use crate::model::session::{BegunBy, EventKind, EventSink, Head, Log};

/// Crush.
pub struct Crush;

impl Adapter for Crush {
    fn name(&self) -> &'static str {
        "crush"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let data = places.folder("XDG_DATA_HOME", ".local/share").join("crush");
        let list = files::read_to_string(data.join("projects.json")).unwrap_or_default();
        let list: WireProjects = serde_json::from_str(&list).unwrap_or_default();
        let folders = list.projects.iter().filter_map(|project| project.data_dir.some());
        let absolute = folders.map(PathBuf::from).filter(|folder| folder.is_absolute());
        absolute.map(|folder| folder.join("crush.db")).collect()
    }

    fn schema(&self) -> Option<&'static Schema> {
        Some(&SCHEMA)
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut out = Transcript::new(log, events);
        let mut reader = Reader::default();
        rows::read(&mut reader, &mut out, &rows::extracts(log))?;
        if let (Some(cost), Some(model)) = (reader.cost, out.head.usage.first_mut()) {
            model.cost_usd = Some(cost);
        }
        Ok(out.head)
    }
}

/// What is read of the database. Other tables hold whole copies of the project's files.
static SCHEMA: Schema = Schema {
    flavor: "crush",
    is_named: |name| name == "crush.db",
    lineage: "id",
    parent: Some(("parent_session_id", "parent_session_id")),
    tables: &[
        // A session's title is made by a session of its own.
        Table::new("sessions", "CASE WHEN id LIKE 'title-%' THEN NULL ELSE id END", &["0"])
            .required(&["id", "title", "message_count", "prompt_tokens", "created_at"])
            .optional(&["parent_session_id", "cost", "summary_message_id", "updated_at"])
            .touched("updated_at")
            .place(project_of),
        Table::new("messages", "session_id", &["1", "created_at", "rowid"])
            .required(&["id", "session_id", "role", "parts", "created_at"])
            .optional(&["model", "provider", "is_summary_message", "updated_at", "finished_at"])
            .touched("updated_at"),
    ],
};

/// The project of `<project>/.crush/crush.db`.
fn project_of(database: &Path) -> Option<PathBuf> {
    let folder = database.parent()?;
    let is_usual = folder.file_name().is_some_and(|name| name == ".crush");
    is_usual.then(|| folder.parent().map(Path::to_path_buf))?
}

// What stands in the list and the rows, exactly as the agent writes it.

wire_types! {
    struct WireProjects<'a> {
        projects: Vec<WireProject<'a>>,
    }

    struct WireProject<'a> {
        data_dir: Text<'a>,
    }

    struct WireRecord<'a> {
        table: Text<'a>,
        row: Option<&'a RawValue>,
    }

    struct WirePlace<'a> {
        folder: Text<'a>,
    }

    struct WireSession<'a> {
        title: Text<'a>,
        parent_session_id: Text<'a>,
        cost: Option<f64>,
        created_at: Count,
    }

    struct WireMessage<'a> {
        role: Text<'a>,
        /// A document of its own.
        parts: Text<'a>,
        model: Text<'a>,
        is_summary_message: Option<i64>,
        created_at: Count,
    }

    struct WirePart<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        data: WireData<'a>,
    }

    struct WireData<'a> {
        text: Text<'a>,
        hidden: Option<bool>,
        thinking: Text<'a>,
        id: Text<'a>,
        name: Text<'a>,
        /// A document of its own.
        input: Text<'a>,
        tool_call_id: Text<'a>,
        content: Text<'a>,
        is_error: Option<bool>,
        reason: Text<'a>,
        message: Text<'a>,
        command: Text<'a>,
        output: Text<'a>,
        exit_code: Text<'a>,
    }
}

/// Reads the rows of one session.
#[derive(Default)]
struct Reader {
    /// What the session cost in all.
    cost: Option<f64>,
}

impl Dialect for Reader {
    type Record<'a> = WireRecord<'a>;

    fn record(&mut self, record: WireRecord, out: &mut Transcript) -> Result<()> {
        let row = raw(record.row);
        match record.table.as_str() {
            PLACE => {
                let place: WirePlace = serde_json::from_str(row).unwrap_or_default();
                place.folder.fill(&mut out.head.cwd);
            }
            "sessions" => {
                let Some(session) = out.parse::<WireSession>(row) else { return Ok(()) };
                self.cost = session.cost.filter(|cost| *cost > 0.0);
                let untitled = matches!(session.title.as_str(), "New Session" | "Untitled Session");
                if !untitled {
                    session.title.fill(&mut out.head.title);
                }
                session.parent_session_id.fill(&mut out.head.parent);
                if out.head.parent.is_some() {
                    out.head.begun_by = BegunBy::Agent;
                }
                out.began = moment(session.created_at);
            }
            "messages" => {
                let Some(message) = out.parse::<WireMessage>(row) else { return Ok(()) };
                return emit_message(message, out);
            }
            table => return out.ignore(&format!("row of {table}")),
        }
        Ok(())
    }
}

/// Seconds or milliseconds after 1970: both occur.
fn moment(number: Count) -> Option<Timestamp> {
    if number.0 < 100_000_000_000 { number.seconds() } else { number.milliseconds() }
}

fn emit_message(message: WireMessage, out: &mut Transcript) -> Result<()> {
    out.context.at = moment(message.created_at);
    let Some(parts) = out.parse::<Vec<WirePart>>(&message.parts) else { return Ok(()) };
    if let Some(model) = message.model.some().filter(|_| message.role.as_str() == "assistant") {
        out.usage(model);
    }
    if message.is_summary_message == Some(1) {
        let texts: Vec<&str> = parts.iter().filter_map(|part| part.data.text.some()).collect();
        return out.emit(EventKind::Compaction(texts.join("\n").into()));
    }
    let (mut typed, mut attachments) = (Vec::new(), 0);
    let is_user = message.role.as_str() == "user";
    for part in parts {
        let data = part.data;
        match part.kind.as_str() {
            "text" if is_user && data.hidden == Some(true) => {
                out.ignore("user message that no person wrote")?;
            }
            "text" if is_user => typed.push(data.text.0.into_owned()),
            "binary" | "image_url" if is_user => attachments += 1,
            _ => told_part(&part.kind, data, out)?,
        }
    }
    out.prompt(&attached(&typed.join("\n"), attachments, "attachment"))
}

fn told_part(kind: &str, data: WireData, out: &mut Transcript) -> Result<()> {
    match kind {
        "text" => out.reply(data.text.0),
        "reasoning" => out.think(data.thinking.0),
        "tool_call" => out.call(data.id.0, data.name.0, &data.input),
        "tool_result" => {
            let exit_code = exit_code(&data.content);
            let content = Content { text: data.content.0, images: 0 };
            out.result(data.tool_call_id.0, content, data.is_error == Some(true), exit_code)
        }
        "shell_command" => {
            // The person ran a command beside the agent.
            let id = format!("shell-{}", out.context.position.line);
            out.own_command(id.as_str().into(), &data.command)?;
            let output = Content { text: data.output.0, images: 0 };
            out.result(id.into(), output, false, data.exit_code.parse().ok())
        }
        "finish" => match data.reason.as_str() {
            "end_turn" => out.completion(),
            "canceled" => out.intervention("turn cancelled"),
            "error" => out.lifecycle(format!("error: {}", data.message.trim())),
            _ => Ok(()),
        },
        kind => out.ignore(&format!("part {kind}")),
    }
}

/// The exit code in one of the last lines of a command's answer: `Exit code 1`, before the folder.
fn exit_code(text: &str) -> Option<i32> {
    let mut lines = text.trim_end().lines().rev().take(4);
    lines.find_map(|line| line.strip_prefix("Exit code ")?.trim().parse().ok())
}
