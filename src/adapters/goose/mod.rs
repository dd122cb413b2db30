//! Goose: the database `sessions.db` of 1.10 and later (seen in 2026), and the logs of a session
//! each that came before it, `<id>.jsonl`, metadata on the first line and a message on each other
//! (not seen as a real log; built to the documented shape).
//!
//! A message is a list of parts. Models that stream leave a part of thinking for each token, which
//! are put together again. A tool's answer comes as a message of the person's. Usage is in a
//! ledger.

use std::path::{Path, PathBuf};

use super::schema::{Schema, Table};
use super::transcript::Transcript;
use super::{Adapter, Identity, Places, jsonl, rows};
use crate::error::Result;
use crate::model::session::{EventSink, Head, Log};

mod reader;
mod wire;

/// Goose.
pub struct Goose;

impl Adapter for Goose {
    fn name(&self) -> &'static str {
        "goose"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        if let Some(root) = places.variable("GOOSE_PATH_ROOT") {
            return vec![Path::new(root).join("data/sessions")];
        }
        vec![
            places.folder("XDG_DATA_HOME", ".local/share").join("goose/sessions"),
            places.home.join("Library/Application Support/Block/goose/sessions"),
        ]
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let Some(stem) = jsonl::stem(file) else { return Ok(None) };
        if let Some(extract) = rows::identify(file, self.name())? {
            return Ok(Some(extract));
        }
        let records = jsonl::first_objects(file, 2)?;
        let is_header = records.first().is_some_and(|header| {
            header.contains_key("working_dir")
                && ["description", "message_count"].iter().any(|key| header.contains_key(*key))
        });
        // What was kept so is taken over into the database under the same id.
        Ok(is_header.then(|| Identity::main(stem.as_str(), Some(stem.clone()))))
    }

    fn schema(&self) -> Option<&'static Schema> {
        Some(&SCHEMA)
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let (mut out, mut reader) = (Transcript::new(log, events), reader::Reader::default());
        let extracts = rows::extracts(log);
        for file in out.main_files() {
            if !extracts.contains(&file) {
                out.read_file(&mut reader, file)?;
            }
        }
        rows::read(&mut reader, &mut out, &extracts)?;
        reader.finish(&mut out);
        Ok(out.head)
    }
}

/// What is read of the database. Extensions and recipes are left out: they are settings, and may
/// hold keys.
static SCHEMA: Schema = Schema {
    flavor: "goose",
    is_named: |name| name == "sessions.db",
    // Ids are counted by the day, on each machine anew; those of old are moments and so unique.
    lineage: "CASE WHEN length(id) > 12 THEN id ELSE id || ' ' || ifnull(created_at, '') || ' ' || working_dir END",
    parent: Some((
        "parent_session_id",
        "CASE WHEN session_type = 'sub_agent' THEN parent_session_id END",
    )),
    tables: &[
        Table::new("sessions", "id", &["0"])
            .required(&["id", "working_dir", "created_at", "updated_at"])
            .optional(&[
                "name",
                "description",
                "user_set_name",
                "session_type",
                "total_tokens",
                "input_tokens",
                "output_tokens",
                "cache_read_tokens",
                "cache_write_tokens",
                "accumulated_total_tokens",
                "accumulated_input_tokens",
                "accumulated_output_tokens",
                "accumulated_cache_read_tokens",
                "accumulated_cache_write_tokens",
                "accumulated_cost",
                "schedule_id",
                "provider_name",
                "model_config_json",
                "goose_mode",
                "archived_at",
                "project_id",
                "parent_session_id",
            ])
            .touched("updated_at"),
        Table::new("messages", "session_id", &["1", "id"])
            .required(&["id", "session_id", "role", "content_json", "created_timestamp"])
            .optional(&["message_id", "timestamp", "tokens", "metadata_json"])
            .touched("timestamp"),
        Table::new("usage_ledger", "session_id", &["2", "id"]).optional(&[
            "id", "session_id", "created_timestamp", "model", "input_tokens", "output_tokens",
            "total_tokens", "cache_read_tokens", "cache_write_tokens", "cost", "is_compaction",
        ]),
    ],
};
