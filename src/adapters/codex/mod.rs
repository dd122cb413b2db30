//! Codex CLI and app: `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl` and `archived_sessions/`,
//! each also as `.jsonl.zst` (seen in 0.34 to 0.166; packed files and the two old forms not as real
//! logs).
//!
//! A line is `{timestamp, type, payload}`. Up to 0.31 the lines were bare items after a header, and
//! in spring 2025 a rollout was one document `{session, items}`. What people and models say is
//! written twice, as an item for the model and as an event for the screen; prompts are taken from
//! the events, replies from the items, and only where a log lacks them from the other. A fork or a
//! subagent is a rollout of its own that may begin with a copy of its parent's: such records are
//! inherited. Since 0.147 a rollout may be paginated: its records are numbered, and what was done
//! is reported by items ([`items`]). Then a fork holds only its own records and names the rollout and
//! the record that it goes on from (`history_base`); a revert does the same within one thread, so
//! that two files have one id. `migrate-rollouts` rewrites an old rollout in that form ([`turns`]).
//! `session_index.jsonl` holds the titles of all sessions, the last one for an id counts.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::shared::Shared;
use super::transcript::Transcript;
use super::{Adapter, Identity, Places, jsonl};
use crate::error::Result;
use crate::model::session::{EventSink, Head, Log, LogFile, Role};

mod commands;
mod forms;
mod items;
mod origin;
mod reader;
mod scripts;
mod texts;
mod titles;
mod turns;
mod usage;
mod wire;

use origin::Origin;
use reader::{PAGINATED, Reader};

/// Codex.
pub struct Codex;

impl Adapter for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let home = places.folder("CODEX_HOME", ".codex");
        vec![home.join("sessions"), home.join("archived_sessions"), home.join(titles::FILE)]
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let name = name.as_ref();
        // An archived or packed copy begins at the same moment; another rollout with the same id
        // does not.
        let identity = |id: &str, start: &str| {
            Identity::main(id, Some(format!("{id} {start}").trim_end().to_string()))
        };
        let header = |meta: &Map<String, Value>| {
            let origin =
                Origin::of_value(meta.get("source"), jsonl::string(meta, "parent_thread_id"));
            // The rollouts of a paginated thread, one for each revert, are one conversation.
            let start = match jsonl::string(meta, "history_mode") {
                PAGINATED => "",
                _ => jsonl::string(meta, "timestamp"),
            };
            identity(jsonl::string(meta, "id"), start).started_by(origin.parent)
        };
        if name.ends_with(".json") {
            let document = jsonl::document_head(file, &["session"], "items")?;
            let session = document.get("session").and_then(Value::as_object);
            return Ok(session
                .filter(|session| session.contains_key("id") && document.contains_key("items"))
                .map(header));
        }
        let Some(stem) = name.strip_suffix(".zst").unwrap_or(name).strip_suffix(".jsonl") else {
            return Ok(None);
        };
        let records = jsonl::first_objects(file, 4)?;
        if let Some(meta) = records.first().filter(|_| is_bare(&records)) {
            return Ok(Some(header(meta)));
        }
        if !records.iter().any(is_envelope) {
            return Ok(None);
        }
        let meta = records
            .iter()
            .filter(|record| jsonl::string(record, "type") == "session_meta")
            .find_map(|record| {
                record.get("payload")?.as_object().filter(|meta| meta.contains_key("id"))
            });
        Ok(Some(match meta {
            Some(meta) => header(meta),
            // The first line is gone: `rollout-<time>-<id>` still has the id.
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
        Ok(Some(Box::new(titles::list(file)?)))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let (mut out, mut reader) = (Transcript::new(log, events), Reader::new(log)?);
        let is_document = |file: &LogFile| {
            file.role == Role::Main && file.name.extension().is_some_and(|end| end == "json")
        };
        match log.files.iter().position(is_document) {
            Some(at) => reader.document(at, &mut out)?,
            None => {
                out.read_parts(&mut reader, in_order(&out))?;
                reader.finish(&mut out)?;
            }
        }
        let mut files = log.files.iter().filter(|file| file.role == Role::Attachment);
        if let Some(file) = files.find(|file| file.name == Path::new(titles::FILE)) {
            out.head.title = titles::last(&file.path).or(out.head.title);
        }
        Ok(out.head)
    }
}

/// The files of the conversation in the order in which they were written: a rollout that goes on
/// from another comes after it. What a rollout was before it was migrated comes last: of it only
/// what the others lack is read.
fn in_order(out: &Transcript) -> Vec<usize> {
    let mut files = out.main_files();
    if files.len() > 1 {
        files.sort_by_cached_key(|file| {
            let first = jsonl::first_objects(&out.log.files[*file].path, 1).unwrap_or_default();
            let meta = |name: &str| first.first()?.get("payload")?.get(name);
            let is_paginated = meta("history_mode").is_some_and(|mode| mode == PAGINATED);
            let goes_on = meta("history_base").is_some_and(Value::is_object);
            let began = first.first().map_or("", |line| jsonl::string(line, "timestamp"));
            (!is_paginated, goes_on, if goes_on { began.to_string() } else { String::new() })
        });
    }
    files
}

fn is_envelope(record: &Map<String, Value>) -> bool {
    const KINDS: &[&str] =
        &["session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"];
    record.get("payload").is_some_and(Value::is_object)
        && KINDS.contains(&jsonl::string(record, "type"))
}

/// Whether a log is a header followed by bare items, as up to 0.31.
fn is_bare(records: &[Map<String, Value>]) -> bool {
    const HEADER: &[&str] = &["id", "timestamp", "instructions", "git"];
    records.first().is_some_and(|header| {
        ["id", "timestamp", "instructions"].iter().all(|key| header.contains_key(*key))
            && header.keys().all(|key| HEADER.contains(&key.as_str()))
    })
}
