//! Kimi Code: `sessions/<folder>/<session>/agents/<agent>/wire.jsonl`, one record per line, with
//! `state.json` above (seen in 2.1, protocol 1.5; 1.1 to 1.4 in fixtures of others). And kimi-cli
//! before it: `sessions/<hash>/<session>/wire.jsonl`, or `context.jsonl` alone (in fixtures of
//! others, protocol 1.3 to 1.10).
//!
//! Each agent of a session has a log of its own; that of a subagent is read where it was started.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::transcript::Transcript;
use super::wire::{Text, wire_types};
use super::{Adapter, Identity, Places, jsonl};
use crate::base::files;
use crate::error::Result;
use crate::model::session::{EventSink, Head, Log, Role};

mod cli;
mod code;

/// Kimi Code and kimi-cli.
pub struct Kimi;

const MAIN: &str = "main";

impl Adapter for Kimi {
    fn name(&self) -> &'static str {
        "kimi"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        vec![
            places.folder("KIMI_CODE_HOME", ".kimi-code").join("sessions"),
            places.home.join(".kimi/sessions"),
        ]
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let folder = |up: usize| {
            let name = file.ancestors().nth(up).and_then(Path::file_name);
            name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        };
        if file.file_name().is_some_and(|name| name == "state.json") {
            let state = jsonl::document_head(file, &["agents", "custom_title", "approval"], "")?;
            let is_own = state.get("agents").is_some_and(Value::is_object)
                || state.contains_key("custom_title") && state.contains_key("approval");
            return Ok(is_own.then(|| Identity::beside(folder(1), Role::Attachment)));
        }
        let Some(stem) = jsonl::stem(file) else { return Ok(None) };
        let records = jsonl::first_objects(file, 3)?;
        if is_context(&records) {
            // The messages as the model got them. Where there is a log, it says more.
            let wire = file.with_file_name("wire.jsonl");
            let role = if files::exists(wire) { Role::Attachment } else { Role::Main };
            return Ok(Some(Identity::beside(folder(1), role)));
        }
        if !is_wire(&records) {
            return Ok(None);
        }
        // Elsewhere than in their folders, logs are called after their sessions.
        Ok(Some(match (stem.as_str(), folder(2).as_str(), folder(1)) {
            ("wire", "agents", agent) if agent != MAIN => {
                Identity::beside(folder(3), Role::Subagent(agent))
            }
            ("wire", "agents", _) => Identity::main(folder(3), None),
            // Within raw the folder may have another name; the log says whose it is.
            ("wire", _, session) => match agent_of(&records) {
                Some(agent) => Identity::beside(session, Role::Subagent(agent)),
                None => Identity::main(session, None),
            },
            _ => Identity::main(stem, None),
        }))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut out = Transcript::new(log, events);
        read_state(&mut out)?;
        let is_cli = |file: usize| {
            let records = jsonl::first_objects(&log.files[file].path, 3).unwrap_or_default();
            records.iter().any(|record| record.contains_key("role") || is_cli_record(record))
        };
        match out.main_files().first() {
            Some(first) if is_cli(*first) => cli::read(&mut out)?,
            _ => code::read(&mut out)?,
        }
        Ok(out.head)
    }
}

fn is_cli_record(record: &Map<String, Value>) -> bool {
    let message = record.get("message").and_then(Value::as_object);
    record.contains_key("timestamp") && message.is_some_and(|message| message.contains_key("type"))
}

fn is_wire(records: &[Map<String, Value>]) -> bool {
    let kind = |record: &Map<String, Value>| jsonl::string(record, "type").to_string();
    let header = records.first().is_some_and(|record| {
        kind(record) == "metadata" && record.contains_key("protocol_version")
    });
    // A log that begins in its midst.
    let dotted = ["config.", "turn.", "context.", "runtime.", "profile."];
    let is_own = |record| dotted.iter().any(|start| kind(record).starts_with(start));
    header || records.first().is_some_and(is_own)
}

/// The subagent whose log says so at its beginning.
fn agent_of(records: &[Map<String, Value>]) -> Option<String> {
    let binds = |record: &&Map<String, Value>| {
        ["runtime.set_binding", "profile.bind"].contains(&jsonl::string(record, "type"))
    };
    let agent = jsonl::string(records.iter().find(binds)?, "agentId");
    (!agent.is_empty() && agent != MAIN).then(|| agent.to_string())
}

fn is_context(records: &[Map<String, Value>]) -> bool {
    let marks = ["_system_prompt", "_checkpoint", "_usage"];
    records.iter().any(|record| marks.contains(&jsonl::string(record, "role")))
}

wire_types! {
    #[serde(rename_all = "camelCase")]
    struct WireState<'a> {
        title: Text<'a>,
        #[serde(alias = "custom_title")]
        custom_title: Text<'a>,
        is_custom_title: Option<bool>,
        cwd: Text<'a>,
        work_dir: Text<'a>,
    }
}

/// What is known of the session as a whole.
fn read_state(out: &mut Transcript) -> Result<()> {
    let files = out.log.files.iter().enumerate();
    let is_state = |name: &Path| name.file_name().is_some_and(|name| name == "state.json");
    let states: Vec<usize> = files
        .filter(|(_, file)| file.role == Role::Attachment && is_state(&file.path))
        .map(|(at, _)| at)
        .collect();
    for at in states {
        let Some(bytes) = out.read_document(at)? else { continue };
        if let Some(state) = out.parse_document::<WireState>(at, &bytes) {
            let titles = [&state.custom_title, &state.title];
            // What kimi-cli calls a custom title is the beginning of the first prompt as well.
            out.head.titled_by_person = state.is_custom_title == Some(true);
            out.head.title = titles.into_iter().find_map(Text::owned);
            state.cwd.fill(&mut out.head.cwd);
            state.work_dir.fill(&mut out.head.cwd);
        }
    }
    Ok(())
}
