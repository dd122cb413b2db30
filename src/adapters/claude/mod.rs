//! Claude Code: `projects/<slug>/<session>.jsonl`, one JSON record per line (seen in 1.0 to
//! 2.1.325).
//!
//! Subagents stand inline (`isSidechain`), beside it (`agent-<id>.jsonl`) or below it
//! (`<session>/subagents/`). One API message is written as several records with the same id; resume
//! and fork copy records. So: records are distinguished by `uuid`, usage by message and request id
//! (the last one counts), and what carries another session's id, or was copied into a fork
//! ([`forks`]), is inherited.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::transcript::Transcript;
use super::{Adapter, Deletion, Identity, Places, jsonl};
use crate::base::files;
use crate::error::Result;
use crate::model::session::{EventSink, Head, Log, Role};

mod forks;
mod reader;
mod user_text;
mod wire;

use reader::Reader;
use wire::WireSettings;

/// Claude Code.
pub struct Claude;

impl Adapter for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn instructions(&self) -> &'static str {
        "CLAUDE.md"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        match places.variable("CLAUDE_CONFIG_DIR") {
            // The variable may list several folders.
            Some(folders) => {
                folders.split(',').map(|folder| Path::new(folder.trim()).join("projects")).collect()
            }
            None => vec![
                places.home.join(".claude/projects"),
                places.home.join(".config/claude/projects"),
            ],
        }
    }

    fn deletion(&self, places: &Places) -> Option<Deletion> {
        let projects = self.roots(places).into_iter().find(|folder| files::exists(folder))?;
        let settings = projects.parent()?.join("settings.json");
        let text = files::read_to_string(&settings).unwrap_or_default();
        let days = serde_json::from_str::<WireSettings>(&text)
            .ok()
            .and_then(|settings| settings.cleanup_period_days);
        // Without the setting it is 30 days; with 0 nothing is written in the first place.
        let after_days = days.unwrap_or(30);
        (after_days > 0).then_some(Deletion {
            after_days,
            settings,
            advice: "\"cleanupPeriodDays\": 3650",
        })
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        if let Some(session) = tool_result_owner(file) {
            return Ok(Some(Identity::beside(session, Role::Attachment)));
        }
        if let Some(session) = subagent_note_owner(file) {
            return Ok(Some(Identity::beside(session, Role::Attachment)));
        }
        let Some(stem) = jsonl::stem(file) else { return Ok(None) };
        let stem = stem.as_str();
        if stem == "history" || stem == "journal" {
            return Ok(None);
        }
        let records = jsonl::first_objects(file, LOOKED_AT)?;
        // Qwen writes the same envelope around other messages.
        if !records.iter().any(is_claude_record) || records.iter().any(super::qwen::is_qwen_record)
        {
            return Ok(None);
        }
        let text = |record: &Map<String, Value>, key: &str| {
            Some(jsonl::string(record, key)).filter(|text| !text.is_empty()).map(str::to_string)
        };
        let ids: Vec<String> = records.iter().filter_map(|r| text(r, "sessionId")).collect();
        // A file is named after its session, sometimes with a date before it; a fork begins with
        // records of another session, so the name is asked first and the records second.
        let own = ids.iter().find(|id| stem.ends_with(id.as_str())).or(ids.last()).cloned();
        let mut messages = records.iter().filter(|r| r.contains_key("uuid")).peekable();
        let sidechain = messages.peek().is_some()
            && messages.all(|r| r.get("isSidechain") == Some(&true.into()));
        if sidechain && let Some(agent) = stem.strip_prefix("agent-") {
            let session = own.or_else(|| folder_session(file)).unwrap_or_else(|| stem.to_string());
            return Ok(Some(Identity::beside(session, Role::Subagent(agent.to_string()))));
        }
        if records.len() < LOOKED_AT && records.iter().all(is_bookkeeping) {
            return Ok(None);
        }
        let own = if is_uuid(stem)
            && !ids.iter().any(|id| id == stem)
            && folder_session(file).is_none()
        {
            // Every record was copied so far: a fork that has not gone on yet.
            stem.to_string()
        } else {
            own.unwrap_or_else(|| stem.to_string())
        };
        let lineage = records
            .iter()
            .find(|r| r.get("uuid").is_some())
            .filter(|r| text(r, "sessionId").is_none_or(|id| id == own))
            .and_then(|r| text(r, "uuid"));
        if forks::is_fork(&records) {
            return Ok(Some(Identity { forked: lineage, ..Identity::main(own, None) }));
        }
        // A conversation that goes on in a second file names the record that it goes on from.
        let follows = records
            .iter()
            .find(|r| r.get("uuid").is_some())
            .filter(|_| lineage.is_some())
            .and_then(|r| text(r, "parentUuid"));
        Ok(Some(Identity { follows, ..Identity::main(own, lineage) }))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let (mut out, mut reader) = (Transcript::new(log, events), Reader::new(log));
        for file in out.main_files() {
            out.read_file(&mut reader, file)?;
        }
        reader.finish(&mut out)?;
        Ok(out.head)
    }
}

fn is_claude_record(record: &Map<String, Value>) -> bool {
    let parts = record.get("message").and_then(|m| m.get("parts")).is_some();
    match jsonl::string(record, "type") {
        "user" | "assistant" | "system" | "progress" | "attachment" => {
            // Qwen writes the same envelope around other messages.
            !parts
                && record.contains_key("uuid")
                && (record.contains_key("parentUuid") || record.contains_key("message"))
                && record.get("message").is_none_or(|m| m.get("content").is_some())
        }
        "summary" => record.contains_key("leafUuid"),
        "file-history-snapshot"
        | "queue-operation"
        | "last-prompt"
        | "custom-title"
        | "ai-title"
        | "pr-link"
        | "permission-mode"
        | "agent-name" => true,
        _ => false,
    }
}

/// How many records are looked at to see whose a log is.
const LOOKED_AT: usize = 40;

/// Whether a record is nothing that anybody said: after `/clear` a log has no others until the
/// person asks something.
fn is_bookkeeping(record: &Map<String, Value>) -> bool {
    let content = record.get("message").and_then(|message| message.get("content"));
    match jsonl::string(record, "type") {
        "assistant" | "summary" => false,
        "user" => {
            let said = content.and_then(Value::as_str).unwrap_or_default();
            let is_clear = said.contains("<command-name>/clear</command-name>")
                || said.starts_with("<local-command-");
            is_clear || record.get("isMeta") == Some(&true.into())
        }
        "attachment" | "queue-operation" => {
            let kind = record.get("attachment").and_then(|attached| attached.get("type"));
            !record.contains_key("content") && kind != Some(&"queued_command".into())
        }
        "system" => jsonl::string(record, "subtype") != "compact_boundary",
        _ => true,
    }
}

/// The session of `<session>/subagents/agent-<id>.meta.json`, which says what a subagent was for.
fn subagent_note_owner(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let is_note = name.starts_with("agent-") && name.ends_with(".meta.json");
    // Qwen's notes are called the same, and name the session.
    let is_qwens = |file: &Path| {
        let note = jsonl::document_head(file, &["parentSessionId"], "");
        note.is_ok_and(|note| note.contains_key("parentSessionId"))
    };
    (is_note && !is_qwens(file)).then(|| folder_session(file))?
}

/// The session of `<session>/tool-results/<file>`: a big output that was moved out of the log.
fn tool_result_owner(file: &Path) -> Option<String> {
    let folder = file.parent()?;
    (folder.file_name()? == "tool-results")
        .then(|| folder.parent()?.file_name()?.to_str().map(str::to_string))?
}

/// The session of `<session>/subagents/…/<file>`.
fn folder_session(file: &Path) -> Option<String> {
    let mut folder = file.parent()?;
    for _ in 0..4 {
        if folder.file_name()? == "subagents" {
            return folder.parent()?.file_name()?.to_str().map(str::to_string);
        }
        folder = folder.parent()?;
    }
    None
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}
