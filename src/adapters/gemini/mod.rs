//! Gemini CLI: `tmp/<project>/chats/session-<time>-<id>.json`, one document rewritten at each
//! message (seen in 0.2x), and since 0.4x `….jsonl`, a header and then messages (seen in 0.61).
//!
//! In the new form a message may be written again, and its last copy counts; `$rewindTo` takes back
//! a message and all after it; `$set` changes the header, at times with a whole list of messages. A
//! call and its answer stand in one object. Subagents are in `chats/<session>/`. There is no
//! branch. The folder of the project stands in the program's own first message, in `.project_root`
//! beside `chats/`, or in `projects.json`.

use std::path::{Path, PathBuf};

use super::transcript::Transcript;
use super::{Adapter, Deletion, Identity, Places, jsonl};
use crate::base::files;
use crate::error::Result;
use crate::model::session::{EventSink, Head, Log, Role};

mod reader;
mod wire;

pub(super) use reader::exit_code;
pub(super) use wire::WireFunctionResponse;

/// Gemini CLI.
pub struct Gemini;

impl Adapter for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn instructions(&self) -> &'static str {
        "GEMINI.md"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        vec![places.folder("GEMINI_CLI_HOME", "").join(".gemini/tmp")]
    }

    fn deletion(&self, places: &Places) -> Option<Deletion> {
        let logs = self.roots(places).into_iter().find(|folder| files::exists(folder))?;
        let settings = logs.parent()?.join("settings.json");
        let text = files::read_to_string(&settings).unwrap_or_default();
        let wire: wire::WireSettings = serde_json::from_str(&text).unwrap_or_default();
        let retention = wire.general.session_retention;
        let after_days = retention.max_age.as_deref().and_then(in_days).unwrap_or(30);
        let advice = "\"general\": { \"sessionRetention\": { \"enabled\": false } }";
        retention.enabled.unwrap_or(true).then_some(Deletion { after_days, settings, advice })
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let header = match file.extension().and_then(|extension| extension.to_str()) {
            Some("json") => {
                let fields = ["sessionId", "projectHash", "startTime"];
                let header = jsonl::document_head(file, &fields, "messages")?;
                header.contains_key("messages").then_some(header)
            }
            Some("jsonl") => jsonl::first_objects(file, 1)?.into_iter().next(),
            _ => None,
        };
        let Some(header) = header.filter(|header| header.contains_key("projectHash")) else {
            return Ok(None);
        };
        let id = jsonl::string(&header, "sessionId");
        if id.is_empty() {
            return Ok(None);
        }
        if jsonl::string(&header, "kind") == "subagent"
            && let Some(parent) =
                file.parent().and_then(Path::file_name).and_then(|name| name.to_str())
            && parent != "chats"
        {
            return Ok(Some(Identity::beside(parent, Role::Subagent(id.to_string()))));
        }
        // A resumed session may go on in a second file.
        let lineage = format!("{id} {}", jsonl::string(&header, "startTime"));
        Ok(Some(Identity::main(id, Some(lineage))))
    }

    fn folder_of(&self, log: &Path) -> Option<String> {
        let project = log.ancestors().find(|folder| folder.ends_with("chats"))?.parent()?;
        if let Some(root) = first_line(&project.join(".project_root")) {
            return Some(root);
        }
        let registry =
            files::read_at_most(project.parent()?.parent()?.join("projects.json"), SMALL).ok()?;
        let registry: wire::WireProjects = serde_json::from_slice(&registry).ok()?;
        let id = project.file_name()?.to_str()?;
        registry.projects.into_iter().find(|(_, name)| name == id).map(|(folder, _)| folder)
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut reader = reader::Reader::new(log)?;
        let mut out = Transcript::new(log, events);
        for file in [out.main_files(), out.subagent_files()].concat() {
            reader.file(file, &mut out)?;
        }
        Ok(out.head)
    }
}

/// More than this is not read of what lies around the logs.
const SMALL: u64 = 1 << 20;

/// The first line of a small file.
fn first_line(file: &Path) -> Option<String> {
    let text = String::from_utf8(files::read_at_most(file, SMALL).ok()?).ok()?;
    text.lines().next().map(|line| line.trim().to_string()).filter(|line| !line.is_empty())
}

/// A length of time such as `30d`, `24h` or `1w`, in whole days.
fn in_days(age: &str) -> Option<u32> {
    let unit = age.chars().next_back()?;
    let number: u32 = age.strip_suffix(unit)?.trim().parse().ok()?;
    match unit {
        'h' => Some(number / 24),
        'd' => Some(number),
        'w' => number.checked_mul(7),
        'm' => number.checked_mul(30),
        _ => None,
    }
}
