//! OpenClaw: since 2026.9 one database for each of its agents, `agents/<agent>/agent/*.sqlite`
//! (seen in 2026.9.6). Before it kept logs like Pi's, `agents/<agent>/sessions/<id>.jsonl`.
//!
//! `transcript_events` has the entries of Pi's format, one per row, long ones packed with zstd.
//! Tables with keys (`auth_profile_store` and its like) are never asked for. A subagent is a
//! session of its own that names the key of the one that started it (by its schema, not seen).

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::pi::{self, Entries, LatestMessage, Pi};
use super::rows::WireRow;
use super::schema::{Schema, Table};
use super::transcript::{Dialect, NoEvents, Transcript};
use super::wire::{Text, wire_types};
use super::{Adapter, Identity, Places, rows};
use crate::error::Result;
use crate::model::session::{BegunBy, EventSink, Head, Log};

/// OpenClaw.
pub struct OpenClaw;

impl Adapter for OpenClaw {
    fn name(&self) -> &'static str {
        "openclaw"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let own = places.folder("OPENCLAW_STATE_DIR", ".openclaw").join("agents");
        std::iter::once(own)
            .chain(OTHER_NAMES.iter().map(|folder| places.home.join(folder)))
            .collect()
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        if let Some(extract) = rows::identify(file, self.name())? {
            return Ok(Some(extract));
        }
        let own = pi::header(file)?.filter(|_| lies_with_an_agent(file));
        Ok(own.map(|header| header.identity()))
    }

    fn identify_kept(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        if let Some(extract) = rows::identify(file, self.name())? {
            return Ok(Some(extract));
        }
        Ok(pi::header(file)?.map(|header| header.identity()))
    }

    fn schema(&self) -> Option<&'static Schema> {
        Some(&SCHEMA)
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let extracts = rows::extracts(log);
        if extracts.is_empty() {
            return Pi.read(log, events);
        }
        let mut latest = EventRows(LatestMessage::default());
        rows::read(&mut latest, &mut Transcript::new(log, &mut NoEvents), &extracts)?;
        let mut out = Transcript::new(log, events);
        rows::read(&mut EventRows(Entries::until(latest.0)), &mut out, &extracts)?;
        Ok(out.head)
    }
}

/// Where it was under the names that it had before, and where others keep what is built on it.
const OTHER_NAMES: &[&str] =
    &[".clawdbot/agents", ".moltbot/agents", ".qclaw/agents", ".kimi_openclaw/agents"];

/// Whether a log lies where OpenClaw keeps those of its agents: `agents/<agent>/sessions/<file>`.
fn lies_with_an_agent(file: &Path) -> bool {
    let mut names = file.iter().rev().skip(1);
    names.next().is_some_and(|name| name == "sessions")
        && names.nth(1).is_some_and(|name| name == "agents")
}

static SCHEMA: Schema = Schema {
    flavor: "openclaw",
    is_named: |name| name == "openclaw-agent.sqlite",
    lineage: "session_id || ' ' || created_at",
    parent: Some(("spawned_by", STARTED_BY)),
    tables: &[
        Table::new("session_windows", "session_id", &["-1"])
            .required(&["session_id", "created_at", "updated_at"])
            .optional(&["previous_session_id", "reason", "model", "display_name", "spawned_by"])
            .touched("updated_at"),
        Table::new("transcript_events", "session_id", &["seq"])
            .required(&["seq", "event_json"])
            .optional(&["event_zstd"])
            .packed("event_zstd", "event_json"),
    ],
};

/// A key has a session for each time that it was begun anew: the last one before the subagent.
const STARTED_BY: &str = "(SELECT starter.session_id FROM session_windows AS starter \
    WHERE starter.session_key = session_windows.spawned_by \
    ORDER BY starter.created_at <= session_windows.created_at DESC, starter.created_at DESC \
    LIMIT 1)";

/// Hands the entries within rows to those who read Pi's.
struct EventRows<D>(D);

impl<D: Dialect> Dialect for EventRows<D> {
    type Record<'a> = WireRow<'a>;

    fn record(&mut self, _: WireRow, _: &mut Transcript) -> Result<()> {
        Ok(())
    }

    fn json(&mut self, json: &[u8], out: &mut Transcript) -> Result<serde_json::Result<()>> {
        let row = match serde_json::from_slice::<WireRow>(json) {
            Ok(row) => row,
            Err(err) => return Ok(Err(err)),
        };
        if row.table != "transcript_events" {
            out.head.records += 1;
            let window = serde_json::from_str::<WireWindow>(row.row.get()).unwrap_or_default();
            if window.spawned_by.some().is_some() {
                out.head.begun_by = BegunBy::Agent;
            }
            return Ok(Ok(()));
        }
        match serde_json::from_str::<WireEvent>(row.row.get()) {
            Ok(event) => self.0.json(event.event_json.as_bytes(), out),
            Err(err) => Ok(Err(err)),
        }
    }
}

wire_types! {
    struct WireWindow<'a> {
        spawned_by: Text<'a>,
    }
}

#[derive(Deserialize)]
struct WireEvent<'a> {
    #[serde(borrow)]
    event_json: Cow<'a, str>,
}
