//! Mistral Vibe: since 3.0 `unified/<id>/`, a store of its own for each session (seen in 3.0.2);
//! before that `session_<time>_<id>/messages.jsonl` with `meta.json` (seen in 2.18).
//!
//! In the store `CURRENT` names the newest of two generations. A generation's manifest lists the
//! chunks of entries, and the journal has the entries since; both are read (`store.rs`). The lines
//! of old have no times (`messages.rs`).

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::transcript::Transcript;
use super::{Adapter, Identity, Places, jsonl};
use crate::base::files;
use crate::error::Result;
use crate::model::session::{EventSink, Head, Log, Role};

mod messages;
mod store;

/// Mistral Vibe.
pub struct Vibe;

impl Adapter for Vibe {
    fn name(&self) -> &'static str {
        "vibe"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        vec![places.folder("VIBE_HOME", ".vibe").join("logs/session")]
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let folder = file.parent().unwrap_or(Path::new(""));
        match name.as_ref() {
            CURRENT => Ok(pointer(file)?.map(|id| {
                let identity = Identity::main(id.as_str(), Some(id.clone()));
                identity.started_by(started_by(folder))
            })),
            META if is_store(folder) => match pointer(&folder.join(CURRENT)) {
                Ok(Some(id)) => Ok(Some(Identity::beside(id, Role::Attachment))),
                // The pointer is gone; what it pointed to is still there.
                _ => Ok(meta_id(file).map(|id| Identity::main(id.as_str(), Some(id.clone())))),
            },
            META => beside_messages(file, folder),
            _ => match store_of(file) {
                Some(store) if !name.ends_with(".tmp") => Ok(pointer(&store.join(CURRENT))
                    .unwrap_or_default()
                    .or_else(|| meta_id(&store.join(META)))
                    .map(|id| Identity::beside(id, Role::Attachment))),
                Some(_) => Ok(None),
                None => messages_of(file, folder),
            },
        }
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut out = Transcript::new(log, events);
        let is_lines = |file: &usize| jsonl::stem(&log.files[*file].name).is_some();
        match out.main_files().first().is_some_and(is_lines) {
            true => messages::read(&mut out)?,
            false => store::read(&mut out)?,
        }
        Ok(out.head)
    }
}

const CURRENT: &str = "CURRENT";
const META: &str = "meta.json";
const MESSAGES: &str = "messages.jsonl";
const STORE_FORMAT: &str = "mistral.vibe.unified-session-store/";

/// The session whose store's `CURRENT` a file is.
fn pointer(file: &Path) -> std::io::Result<Option<String>> {
    let fields = ["store_format", "session_id"];
    let current = match jsonl::document_head(file, &fields, "") {
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    let is_own = jsonl::string(&current, "store_format").starts_with(STORE_FORMAT);
    let id = jsonl::string(&current, "session_id");
    Ok((is_own && !id.is_empty()).then(|| id.to_string()))
}

/// Whether a folder is a session's store.
fn is_store(folder: &Path) -> bool {
    ["chunks", "journal", "generations"].iter().any(|inner| folder.join(inner).is_dir())
}

/// The store that a file belongs to and is read or kept with. Requests and what the program
/// recovers from are no part of the conversation.
fn store_of(file: &Path) -> Option<&Path> {
    let name = file.file_name()?.to_str()?;
    let folder = file.parent()?;
    let inner = folder.file_name()?.to_str()?;
    let store = match inner {
        "chunks" if name.ends_with(".json") && store::is_entries(file) => folder.parent()?,
        "journal" if name.ends_with(".jsonl") => folder.parent()?,
        _ if matches!(name, store::MANIFEST | store::PROJECTION | store::RUNTIME) => {
            let generations = folder.parent()?;
            (generations.file_name()? == "generations").then(|| generations.parent())??
        }
        _ => return None,
    };
    files::is_file(store.join(CURRENT))
        .then_some(store)
        .or_else(|| files::is_file(store.join(META)).then_some(store))
}

/// The session that started this one, where it is a subagent; it says so in its own state.
fn started_by(store: &Path) -> Option<String> {
    let current = jsonl::document_head(&store.join(CURRENT), &["generation"], "").ok()?;
    let generation = jsonl::string(&current, "generation");
    // It names a folder, so it has to be a plain number.
    if generation.is_empty() || !generation.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let state = store.join("generations").join(generation).join(store::RUNTIME);
    let state = jsonl::document_head(&state, &["identity"], "").ok()?;
    let identity = state.get("identity")?.as_object()?;
    let parent = jsonl::string(identity, "parent_session_id").to_string();
    (jsonl::string(identity, "kind") == "subagent").then_some(parent)
}

fn meta_id(meta: &Path) -> Option<String> {
    let fields = ["session_id", "environment"];
    let meta = jsonl::document_head(meta, &fields, "").ok()?;
    let id = jsonl::string(&meta, "session_id");
    (!id.is_empty() && meta.contains_key("environment")).then(|| id.to_string())
}

/// What describes a session of old lies beside its messages.
fn beside_messages(file: &Path, folder: &Path) -> std::io::Result<Option<Identity>> {
    let Some(id) = meta_id(file) else { return Ok(None) };
    let is_session = folder.file_name().is_some_and(|name| {
        name.to_string_lossy().starts_with("session_") || files::is_file(folder.join(MESSAGES))
    });
    match is_session && !files::is_file(folder.join(MESSAGES)) {
        true => Err(std::io::Error::new(
            std::io::ErrorKind::InvalidData,
            format!("a session of Vibe without its `{MESSAGES}`"),
        )),
        false => Ok(is_session.then(|| Identity::beside(id, Role::Attachment))),
    }
}

/// The session of a file of messages: as the description beside it says, else its first message.
fn messages_of(file: &Path, folder: &Path) -> std::io::Result<Option<Identity>> {
    if jsonl::stem(file).is_none() {
        return Ok(None);
    }
    let records = jsonl::first_objects(file, 3)?;
    if records.is_empty() || !records.iter().all(is_message) {
        return Ok(None);
    }
    let first = jsonl::string(&records[0], "message_id").to_string();
    let described = file.file_name().is_some_and(|name| name == MESSAGES);
    let id = described.then(|| meta_id(&folder.join(META))).flatten();
    let id = id.unwrap_or(first);
    Ok(Some(Identity::main(id.as_str(), Some(id.clone()))))
}

fn is_message(record: &Map<String, Value>) -> bool {
    let has = |name: &str| !jsonl::string(record, name).is_empty();
    matches!(jsonl::string(record, "role"), "user" | "assistant" | "tool")
        && (has("message_id") || has("tool_call_id"))
        && ["type", "uuid", "id", "timestamp", "message", "parts", "data", "_id"]
            .iter()
            .all(|name| !record.contains_key(*name))
}
