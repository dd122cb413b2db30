//! OpenCode: the database `opencode.db` of 1.2 and later (seen in 1.18), what `opencode export`
//! writes, `{info, messages: [{info, parts}]}` (seen in 1.2), and the tree of small documents that
//! versions before 1.2 kept, `storage/session/<project>/<session>.json`,
//! `storage/message/<session>/` and `storage/part/<message>/` (seen in fixtures only).
//!
//! A call and its answer stand in one part. Subagents are sessions of their own that name their
//! parent. The same session may lie in more than one of these forms, as the tree is left behind
//! when the database takes over: its messages are read once.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::schema::{Schema, Table};
use super::transcript::Transcript;
use super::{Adapter, Identity, Places, jsonl, rows};
use crate::base::files;
use crate::error::Result;
use crate::model::session::{EventSink, Head, Log, Role};

mod reader;
mod wire;

/// OpenCode.
pub struct OpenCode;

impl Adapter for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let data = places.folder("XDG_DATA_HOME", ".local/share").join("opencode");
        roots(&data, places.variable("OPENCODE_DB"))
    }

    fn schema(&self) -> Option<&'static Schema> {
        Some(&SCHEMA)
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        identify(file, self.name())
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let (mut out, mut reader) = (Transcript::new(log, events), reader::Reader::default());
        let extracts = rows::extracts(log);
        rows::read(&mut reader, &mut out, &extracts)?;
        reader.end_message(&mut out)?;
        for file in out.main_files() {
            if !extracts.contains(&file) {
                reader.session(file, &mut out)?;
            }
        }
        reader.tree(&mut out)?;
        reader.finish(&mut out)?;
        Ok(out.head)
    }
}

/// Where the sessions are below the folder of the agent's data. The other folders beside them hold
/// logs and copies of repositories, and no sessions.
pub fn roots(data: &Path, database: Option<&str>) -> Vec<PathBuf> {
    let mut roots = vec![data.join("storage")];
    roots.extend(database.map(|path| data.join(path)));
    let beside = files::read_dir(data).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_database = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "db");
    roots.extend(beside.filter(is_database));
    roots.sort();
    roots
}

/// The session to which a document of the tree, an export, or an extract of a flavor belongs.
pub fn identify(file: &Path, flavor: &str) -> std::io::Result<Option<Identity>> {
    // The ids are unique: whatever names one is the same session.
    let identity = |native_id: &str, role| Identity {
        lineage: Some(native_id.to_string()),
        ..Identity::beside(native_id, role)
    };
    if file.extension().is_none_or(|extension| extension != "json") {
        let own = rows::identify(file, flavor)?;
        return Ok(own.map(|own| identity(&own.native_id, own.role)));
    }
    let fields =
        ["info", "id", "sessionID", "projectID", "messageID", "role", "directory", "parentID"];
    let document = jsonl::document_head(file, &fields, "messages")?;
    let has = |key: &str| !jsonl::string(&document, key).is_empty();
    let export = document.get("info").and_then(Value::as_object);
    let session = |info: &Map<String, Value>| {
        let is_session = ["directory", "projectID"].iter().all(|key| info.contains_key(*key));
        let id = Some(jsonl::string(info, "id")).filter(|id| is_session && !id.is_empty());
        let parent = jsonl::string(info, "parentID").to_string();
        id.map(|id| identity(id, Role::Main).started_by(Some(parent)))
    };
    if let Some(info) = export.filter(|_| document.contains_key("messages")) {
        return Ok(session(info));
    }
    Ok(session(&document).or_else(|| {
        // A message or a part of one, in the tree.
        let belongs = (has("role") || has("messageID")) && document.contains_key("id");
        (belongs && has("sessionID"))
            .then(|| identity(jsonl::string(&document, "sessionID"), Role::Attachment))
    }))
}

/// What is read of the database. It also has tables with credentials, accounts and secrets of
/// shared sessions, and `event` repeats what the messages say.
static SCHEMA: Schema = Schema {
    flavor: "opencode",
    is_named: |name| name.starts_with("opencode") && name.ends_with(".db"),
    lineage: "id",
    parent: PARENT,
    tables: &[SESSION, MESSAGE, PART, TODO, SESSION_MESSAGE],
};

pub const PARENT: Option<(&str, &str)> = Some(("parent_id", "parent_id"));

pub const SESSION: Table = Table::new("session", "id", &["0"])
    .required(&["id", "directory", "title", "time_created", "time_updated"])
    .optional(&[
        "project_id", "parent_id", "slug", "version", "agent", "model", "cost", "tokens_input",
        "tokens_output", "tokens_reasoning", "tokens_cache_read", "tokens_cache_write", "revert",
        "summary_additions", "summary_deletions", "summary_files", "time_compacting",
        "time_archived",
    ])
    .touched("time_updated");

pub const MESSAGE: Table = Table::new("message", "session_id", &["1", "id"])
    .required(&["id", "session_id", "data"])
    .optional(&["time_created", "time_updated"])
    .touched("time_updated");

pub const PART: Table = Table::new("part", "session_id", &["1", "message_id", "id"])
    .required(&["id", "message_id", "session_id", "data"])
    .optional(&["time_created", "time_updated"])
    .touched("time_updated");

pub const TODO: Table = Table::new("todo", "session_id", &["2", "position"])
    .optional(&[
        "session_id", "content", "status", "priority", "position", "time_created", "time_updated",
    ])
    .touched("time_updated");

/// What a later version may keep instead; empty where it was seen. Kept, but not read.
pub const SESSION_MESSAGE: Table = Table::new("session_message", "session_id", &["3", "seq", "id"])
    .optional(&["id", "session_id", "type", "seq", "time_created", "time_updated", "data"])
    .touched("time_updated");
