//! Cline: `sessions/<id>/<id>.messages.json` with the manifest `<id>.json` beside it (seen in 3.0,
//! without children), and what the extension of editors kept before, `tasks/<id>/` (in fixtures of
//! others).
//!
//! Each is one document, written anew whenever it changes. Children lie in the folder of the
//! session that started them.

use std::path::{Path, PathBuf};

use super::{Adapter, Identity, Places, editors, jsonl};
use crate::base::files;
use crate::error::Result;
use crate::model::session::{EventSink, Head, Log, Role};

mod markup;
mod session;
pub mod task;

/// Cline.
pub struct Cline;

/// What the agent of a session is called that a person talks to.
const LEAD: &str = "lead";

impl Adapter for Cline {
    fn name(&self) -> &'static str {
        "cline"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let home = places.folder("CLINE_DIR", ".cline");
        let data = places.variable("CLINE_DATA_DIR").map_or_else(|| home.join("data"), Into::into);
        let sessions = places.variable("CLINE_SESSION_DATA_DIR");
        let mut roots = vec![sessions.map_or_else(|| data.join("sessions"), Into::into)];
        roots.extend(task::folders(editors::extension_folders(places, "saoudrizwan.claude-dev")));
        roots
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let name = file.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        if !name.ends_with(".json") {
            return Ok(None);
        }
        let is_messages = name.ends_with(".messages.json");
        if is_messages || name.ends_with(".compaction.json") {
            let document =
                jsonl::document_head(file, &["sessionId", "version", "agent"], "messages")?;
            let id = jsonl::string(&document, "sessionId");
            if id.is_empty() || !document.contains_key("messages") {
                return Ok(None);
            }
            if !is_messages {
                return Ok(Some(Identity::beside(id, Role::Attachment)));
            }
            // A child is called after its agent, and lies beside the one that started it.
            let stem = name.trim_end_matches(".messages.json");
            let folder = file.parent().and_then(Path::file_name).map(|name| name.to_string_lossy());
            let lead = |folder: &str| file.with_file_name(format!("{folder}.messages.json"));
            let is_child = |folder: &str| stem != folder && files::exists(lead(folder));
            let agent = jsonl::string(&document, "agent");
            // Within raw the folder has another name; a session has a manifest, a child has none.
            let manifest = file.with_file_name(format!("{stem}.json"));
            let has_lead = || !agent.is_empty() && agent != LEAD && !files::exists(&manifest);
            return Ok(Some(match folder.filter(|folder| is_child(folder) || has_lead()) {
                Some(folder) => Identity::beside(folder, Role::Subagent(stem.to_string())),
                None => Identity::main(id, None),
            }));
        }
        let manifest = jsonl::document_head(file, &["session_id", "cwd", "workspace_root"], "")?;
        let id = jsonl::string(&manifest, "session_id");
        if !id.is_empty() && manifest.contains_key("workspace_root") {
            return Ok(Some(Identity::beside(id, Role::Attachment)));
        }
        task::identify(file)
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        match task::is_task(log) {
            true => task::read(log, events),
            false => session::read(log, events),
        }
    }
}
