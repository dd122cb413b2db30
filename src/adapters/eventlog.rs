//! Event logs: `<id>.jsonl`, two events for each turn, `{session_id, event_type, payload: {text,
//! route}, source}`.
//!
//! Older tools kept them in `sessions/` of the memory itself, and memtree writes the same where
//! `sessions.jsonl_log` asks for it. There is no agent whose own folder they lie in. Who speaks is
//! said by `source`, else by `event_type`.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::transcript::{Dialect, Transcript};
use super::wire::{Text, wire_types};
use super::{Adapter, Identity, Places, jsonl};
use crate::error::Result;
use crate::model::session::{EventKind, EventSink, Head, Log};

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
        let Some(stem) = jsonl::stem(file) else { return Ok(None) };
        let records = jsonl::first_objects(file, 3)?;
        if records.is_empty() || !records.iter().all(is_event) {
            return Ok(None);
        }
        let own = jsonl::string(&records[0], "session_id");
        Ok(Some(Identity::main(if own.trim().is_empty() { &stem } else { own }, None)))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut out = Transcript::new(log, events);
        out.read_log(&mut Turns)?;
        Ok(out.head)
    }
}

fn is_event(record: &Map<String, Value>) -> bool {
    ["session_id", "event_type"].iter().all(|key| record.get(*key).is_some_and(Value::is_string))
        && record.get("payload").is_some_and(Value::is_object)
}

// What stands in a line.

wire_types! {
    struct WireEvent<'a> {
        event_type: Text<'a>,
        source: Text<'a>,
        #[serde(alias = "event_time", alias = "created_at", alias = "time", alias = "at")]
        timestamp: Text<'a>,
        payload: WirePayload<'a>,
    }

    struct WirePayload<'a> {
        text: Text<'a>,
    }
}

/// Reads the turns of one session.
struct Turns;

impl Dialect for Turns {
    type Record<'a> = WireEvent<'a>;

    fn record(&mut self, event: WireEvent, out: &mut Transcript) -> Result<()> {
        out.context.at = event.timestamp.time();
        let says = |words: &[&str]| {
            let said = [event.source.as_str(), event.event_type.as_str()].map(str::to_lowercase);
            words.iter().any(|word| {
                said.iter().any(|said| said.split(['_', '.', '-', ' ']).any(|part| part == *word))
            })
        };
        let text = event.payload.text;
        if text.trim().is_empty() {
            out.ignore(&event.event_type)
        } else if says(&["user", "human"]) {
            out.emit(EventKind::Prompt(text.0))
        } else if says(&["assistant", "agent", "main", "reply", "bot", "model"]) {
            out.reply(text.0)
        } else {
            out.ignore(&event.event_type)
        }
    }
}
