//! Codex CLI and app: `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl` and `archived_sessions/`,
//! each also as `.jsonl.zst` (seen in 0.34 to 0.146; packed files and the two old forms not as real
//! logs).
//!
//! A line is `{timestamp, type, payload}`. Up to 0.31 the lines were bare items after a header, and
//! in spring 2025 a rollout was one document `{session, items}`. What people and models say is told
//! twice, as an item for the model and as an event for the screen; prompts are taken from the
//! events, replies from the items, and only where a log lacks them from the other. A fork or a
//! subagent is a rollout of its own that may begin with a copy of its parent's: such records are
//! inherited. `session_index.jsonl` holds the titles of all sessions, the last one for an id
//! counts.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::hooks::{self, HookSpec};
use super::jsonl;
use super::shared::Shared;
use super::{Adapter, Identity, Places};
use crate::error::Result;
use crate::model::session::{EventSink, Head, Log, Role};

mod reader;
mod spoken;
mod titles;
mod wire;

use reader::Reader;
use titles::Titles;

/// Codex.
pub struct Codex;

impl Adapter for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn hooks(&self) -> Option<HookSpec> {
        Some(hooks::CODEX)
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let home = places.folder("CODEX_HOME", ".codex");
        vec![home.join("sessions"), home.join("archived_sessions"), home.join(titles::FILE)]
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let name = name.as_ref();
        let identity = |id: &str, start: &str| Identity {
            native_id: id.to_string(),
            role: Role::Main,
            // An archived or packed copy begins at the same moment; another rollout with the same
            // id does not.
            lineage: Some(format!("{id} {start}")),
        };
        let string = |record: &Map<String, Value>, key: &str| {
            record.get(key).and_then(Value::as_str).unwrap_or_default().to_string()
        };
        if name.ends_with(".json") {
            let document = jsonl::document_head(file, &["session"], "items")?;
            let session = document.get("session").and_then(Value::as_object);
            return Ok(session
                .filter(|session| session.contains_key("id") && document.contains_key("items"))
                .map(|session| identity(&string(session, "id"), &string(session, "timestamp"))));
        }
        let Some(stem) = name.strip_suffix(".zst").unwrap_or(name).strip_suffix(".jsonl") else {
            return Ok(None);
        };
        let records = jsonl::first_objects(file, 4)?;
        if let Some(header) = records.first().filter(|_| is_bare(&records)) {
            return Ok(Some(identity(&string(header, "id"), &string(header, "timestamp"))));
        }
        if !records.iter().any(is_envelope) {
            return Ok(None);
        }
        let meta =
            records.iter().filter(|record| string(record, "type") == "session_meta").find_map(
                |record| record.get("payload")?.as_object().filter(|meta| meta.contains_key("id")),
            );
        Ok(Some(match meta {
            Some(meta) => identity(&string(meta, "id"), &string(meta, "timestamp")),
            // The first line is gone: `rollout-<time>-<id>` still tells the id.
            None => identity(
                stem.len().checked_sub(36).and_then(|at| stem.get(at..)).unwrap_or(stem),
                "",
            ),
        }))
    }

    fn share(&self, file: &Path) -> io::Result<Option<Box<dyn Shared>>> {
        if file.file_name().is_none_or(|name| name != titles::FILE) {
            return Ok(None);
        }
        Ok(Some(Box::new(Titles::open(file)?)))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut reader = Reader::new(log, events)?;
        let is_document =
            |name: &Path| name.extension().is_some_and(|extension| extension == "json");
        let document =
            log.files.iter().position(|file| file.role == Role::Main && is_document(&file.name));
        match document {
            Some(at) => reader.document(at)?,
            None => jsonl::read_log(&mut reader, log)?,
        }
        let mut head = reader.into_head();
        if let Some(file) = log
            .files
            .iter()
            .find(|file| file.role == Role::Attachment && file.name == Path::new(titles::FILE))
        {
            head.title = titles::last(&file.path).or(head.title);
        }
        Ok(head)
    }
}

fn is_envelope(record: &Map<String, Value>) -> bool {
    const KINDS: &[&str] =
        &["session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"];
    record.get("payload").is_some_and(Value::is_object)
        && record.get("type").and_then(Value::as_str).is_some_and(|kind| KINDS.contains(&kind))
}

/// Whether a log is a header followed by bare items, as up to 0.31.
fn is_bare(records: &[Map<String, Value>]) -> bool {
    const HEADER: &[&str] = &["id", "timestamp", "instructions", "git"];
    records.first().is_some_and(|header| {
        ["id", "timestamp", "instructions"].iter().all(|key| header.contains_key(*key))
            && header.keys().all(|key| HEADER.contains(&key.as_str()))
    })
}
