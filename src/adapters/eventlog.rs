//! Event logs: `<id>.jsonl`, two events for each turn, `{session_id, event_type, payload: {text,
//! route}, source}`.
//!
//! Older tools kept them in `sessions/` of the memory itself, and memtree writes the same where
//! `sessions.jsonl_log` asks for it. There is no agent whose own folder they lie in. Who speaks is
//! told by `source`, else by `event_type`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::jsonl::{self, Dialect};
use super::wire::Text;
use super::{Adapter, Identity, Places};
use crate::error::Result;
use crate::model::session::{Event, EventKind, EventSink, Head, Log, Position, Role};

/// Event logs.
pub struct EventLog;

/// Its name.
pub const NAME: &str = "eventlog";

impl Adapter for EventLog {
    fn name(&self) -> &'static str {
        NAME
    }

    fn roots(&self, _: &Places) -> Vec<PathBuf> {
        Vec::new()
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let Some(stem) = file.file_name().and_then(|name| name.to_str()?.strip_suffix(".jsonl"))
        else {
            return Ok(None);
        };
        let records = jsonl::first_objects(file, 3)?;
        let is_event = |record: &serde_json::Map<String, Value>| {
            let has_text = |key: &str| record.get(key).is_some_and(Value::is_string);
            has_text("session_id")
                && has_text("event_type")
                && record.get("payload").is_some_and(Value::is_object)
        };
        if records.is_empty() || !records.iter().all(is_event) {
            return Ok(None);
        }
        let own =
            records[0].get("session_id").and_then(Value::as_str).filter(|id| !id.trim().is_empty());
        Ok(Some(Identity {
            native_id: own.unwrap_or(stem).to_string(),
            role: Role::Main,
            lineage: None,
        }))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut reader = Reader { events, head: Head::default() };
        jsonl::read_log(&mut reader, log)?;
        Ok(reader.head)
    }
}

// What stands in a line.

#[derive(Deserialize)]
struct WireEvent<'a> {
    #[serde(borrow, default)]
    event_type: Text<'a>,
    #[serde(borrow, default)]
    source: Text<'a>,
    #[serde(
        borrow,
        default,
        alias = "event_time",
        alias = "created_at",
        alias = "time",
        alias = "at"
    )]
    timestamp: Text<'a>,
    #[serde(borrow, default)]
    payload: WirePayload<'a>,
}

#[derive(Deserialize, Default)]
struct WirePayload<'a> {
    #[serde(borrow, default)]
    text: Text<'a>,
}

/// Reads the lines of one session.
struct Reader<'s> {
    events: &'s mut dyn EventSink,
    head: Head,
}

impl Dialect for Reader<'_> {
    fn head(&mut self) -> &mut Head {
        &mut self.head
    }

    fn record(&mut self, json: &[u8], position: Position) -> Result<serde_json::Result<()>> {
        let event: WireEvent = match serde_json::from_slice(json) {
            Ok(event) => event,
            Err(err) => return Ok(Err(err)),
        };
        self.head.records += 1;
        let at = event.timestamp.time();
        let says = |words: &[&str]| {
            let told = [event.source.as_str(), event.event_type.as_str()].map(str::to_lowercase);
            words.iter().any(|word| {
                told.iter().any(|told| told.split(['_', '.', '-', ' ']).any(|part| part == *word))
            })
        };
        let text = event.payload.text;
        let kind = if says(&["user", "human"]) {
            Some(EventKind::Prompt(text.0))
        } else if says(&["assistant", "agent", "main", "reply", "bot", "model"]) {
            Some(EventKind::Reply(text.0))
        } else {
            None
        };
        let is_empty = |kind: &EventKind<'_>| matches!(kind, EventKind::Prompt(text) | EventKind::Reply(text) if text.trim().is_empty());
        let Some(kind) = kind.filter(|kind| !is_empty(kind)) else {
            jsonl::ignore(&mut self.head, event.event_type.as_str());
            return Ok(Ok(()));
        };
        self.events.event(Event { at, position, agent: None, inherited: false, kind })?;
        Ok(Ok(()))
    }
}
