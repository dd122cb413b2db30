//! Grok CLI: `sessions/<encoded cwd>/<id>/`, a folder per session (built from the published source
//! of August 2026 and fixtures; not seen as a real log).
//!
//! `chat_history.jsonl` is the conversation as the model has it, without times; `summary.json` says
//! where and what; `updates.jsonl` is what the screen showed: times, failures, usage, and the turns
//! that a compaction took out of the history, which are read from there. The first format
//! (`chat_format_version` 0) had `role` where there is `type` now. The community's program of the
//! same name keeps its database in the same home: see `community.rs`.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::schema::Schema;
use super::transcript::Transcript;
use super::{Adapter, Identity, Places, jsonl, rows};
use crate::base::files;
use crate::error::Result;
use crate::model::session::{EventSink, Head, Log, Role};

mod community;
mod reader;
mod screen;
mod wire;

/// Grok CLI.
pub struct Grok;

impl Adapter for Grok {
    fn name(&self) -> &'static str {
        "grok"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let home = places.folder("GROK_HOME", ".grok");
        // The community's program knows no variable.
        vec![home.join("sessions"), home.join("grok.db"), places.home.join(".grok/grok.db")]
    }

    fn schema(&self) -> Option<&'static Schema> {
        Some(&community::SCHEMA)
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let name = name.as_ref();
        let Some(folder) = session_folder(file) else { return rows::identify(file, self.name()) };
        if name.ends_with(".lock") || name.ends_with(".tmp") {
            return Ok(None);
        }
        let role = if name == HISTORY { Role::Main } else { Role::Attachment };
        if role == Role::Main && !jsonl::first_objects(file, 3)?.iter().any(is_history_record) {
            return Ok(None);
        }
        let fields = ["info", "session_kind", "parent_session_id"];
        let summary = jsonl::document_head(&folder.join(SUMMARY), &fields, "").unwrap_or_default();
        let id = summary.get("info").and_then(|info| info.get("id")?.as_str().map(str::to_string));
        let id = id.or_else(|| folder.file_name()?.to_str().map(str::to_string));
        let is_subagent = jsonl::string(&summary, "session_kind").starts_with("subagent");
        Ok(id.map(|id| {
            let parent = is_subagent.then(|| match jsonl::string(&summary, "parent_session_id") {
                "" => started_by(folder, &id),
                parent => Some(parent.to_string()),
            });
            Identity::beside(id, role).started_by(parent.flatten())
        }))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut out = Transcript::new(log, events);
        let extracts = rows::extracts(log);
        if extracts.is_empty() {
            reader::read(&mut out)?;
        } else {
            community::read(&mut out, &extracts)?;
        }
        Ok(out.head)
    }
}

const HISTORY: &str = "chat_history.jsonl";
const SUMMARY: &str = "summary.json";
const UPDATES: &str = "updates.jsonl";

/// The session beside a subagent's that says that it started it: `<parent>/subagents/<id>/`.
fn started_by(folder: &Path, id: &str) -> Option<String> {
    if folder.file_name().is_none_or(|name| name != id) {
        return None;
    }
    let beside = files::read_dir(folder.parent()?).ok()?.flatten().map(|entry| entry.path());
    let mut parents: Vec<PathBuf> =
        beside.filter(|parent| parent.join("subagents").join(id).is_dir()).collect();
    parents.sort();
    Some(parents.first()?.file_name()?.to_str()?.to_string())
}

/// The session's folder that a file lies in, or in a folder of.
fn session_folder(file: &Path) -> Option<&Path> {
    const INNER: &[&str] = &["compaction", "terminal", "assets", "subagents"];
    let mut folder = file.parent()?;
    for _ in 0..3 {
        if files::is_file(folder.join(HISTORY)) {
            return Some(folder);
        }
        let inner = |folder: &Path| {
            folder.file_name().is_some_and(|name| INNER.iter().any(|inner| name == *inner))
        };
        if !inner(folder) && !folder.parent().is_some_and(inner) {
            return None;
        }
        folder = folder.parent()?;
    }
    None
}

fn is_history_record(record: &Map<String, Value>) -> bool {
    const KINDS: &[&str] =
        &["system", "user", "assistant", "tool_result", "backend_tool_call", "reasoning", "tool"];
    let kind =
        record.get("type").or(record.get("role")).and_then(Value::as_str).unwrap_or_default();
    let foreign = ["uuid", "timestamp", "message", "payload", "data", "parts"]
        .iter()
        .any(|key| record.contains_key(*key));
    KINDS.contains(&kind) && !foreign
}
