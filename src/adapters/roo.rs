//! Roo Code: `tasks/<id>/` in the folder of the extension, in Cline's shape with a summary of the
//! task, `history_item.json` (by documentation and fixtures of others; no real log was seen).

use std::path::{Path, PathBuf};

use super::cline::task;
use super::{Adapter, Identity, Places, editors, jsonl};
use crate::base::files;
use crate::error::Result;
use crate::model::session::{EventSink, Head, Log, Role};

/// Roo Code.
pub struct Roo;

const EXTENSION: &str = "rooveterinaryinc.roo-cline";

impl Adapter for Roo {
    fn name(&self) -> &'static str {
        "roo"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        task::folders(editors::extension_folders(places, EXTENSION)).collect()
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let Some(identity) = task::identify(file)? else { return Ok(None) };
        // The files are Cline's, but for the summary beside them.
        let summary = file.with_file_name("history_item.json");
        let has_summary = files::exists(&summary);
        if !has_summary && !file.components().any(|part| part.as_os_str() == EXTENSION) {
            return Ok(None);
        }
        if identity.role != Role::Main || !has_summary {
            return Ok(Some(identity));
        }
        let summary = jsonl::document_head(&summary, &["parentTaskId"], "")?;
        let parent = jsonl::string(&summary, "parentTaskId").to_string();
        Ok(Some(identity.started_by(Some(parent))))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        task::read(log, events)
    }
}
