//! Continue: `sessions/<id>.json`, one document rewritten at each message (CLI seen in 1.5.47, its
//! editor extensions by their source only), and `sessions.json`, the list of all sessions.
//!
//! Messages have no times: when a session began stands in the list, of which each session keeps its
//! own entry. The command-line program puts a call and its answer into one item, the extensions
//! write the answer as a message of its own.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use super::functions::{self, FunctionCall};
use super::shared::{SessionList, Shared};
use super::transcript::{Tokens, Transcript, attached, hash};
use super::wire::{Content, Count, Lenient, Text, local_path, wire_types};
use super::{Adapter, Identity, Places, jsonl};
use crate::base::files;
use crate::error::Result;
use crate::model::session::{EventKind, EventSink, Head, Log, Position};

/// Continue.
pub struct Continue;

/// The list of all sessions.
const LIST: &str = "sessions.json";

impl Adapter for Continue {
    fn name(&self) -> &'static str {
        "continue"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        vec![places.folder("CONTINUE_GLOBAL_DIR", ".continue").join("sessions")]
    }

    fn identify(&self, file: &Path) -> io::Result<Option<Identity>> {
        if file.extension().is_none_or(|extension| extension != "json") {
            return Ok(None);
        }
        let fields = ["sessionId", "title", "workspaceDirectory"];
        let head = jsonl::document_head(file, &fields, "history")?;
        let is_own = head.contains_key("history")
            && (head.contains_key("workspaceDirectory") || head.contains_key("title"));
        let id = jsonl::string(&head, "sessionId");
        Ok((is_own && !id.is_empty()).then(|| Identity::main(id, Some(id.to_string()))))
    }

    fn share(&self, file: &Path) -> io::Result<Option<Box<dyn Shared>>> {
        if file.file_name().is_none_or(|name| name != LIST) {
            return Ok(None);
        }
        let list = list_of_sessions(file)?;
        Ok(list.map(|list| Box::new(list) as Box<dyn Shared>))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut out = Transcript::new(log, events);
        let listed = log.files.iter().position(|file| file.name == Path::new(LIST));
        if let Some(file) = listed
            && let Some(bytes) = out.read_document(file)?
        {
            let entry: WireListed = serde_json::from_slice(&bytes).unwrap_or_default();
            out.began = entry.date_created.milliseconds();
        }
        read_documents(&mut out)?;
        Ok(out.head)
    }
}

/// What the list of all sessions says of each; `None` where a file is no such list.
fn list_of_sessions(file: &Path) -> io::Result<Option<SessionList>> {
    if files::metadata(file)?.len() > jsonl::LONGEST_DOCUMENT {
        return Ok(None);
    }
    let bytes = files::read(file)?;
    let Ok(entries) = serde_json::from_slice::<Vec<&RawValue>>(&bytes) else { return Ok(None) };
    let mut list = SessionList::default();
    let mut seen = HashSet::new();
    // The last entry for a session counts.
    for entry in entries.into_iter().rev() {
        let wire: WireListed = serde_json::from_str(entry.get()).unwrap_or_default();
        if let (Some(id), true) = (wire.session_id.some(), wire.date_created.0 > 0)
            && seen.insert(id.to_string())
        {
            list.add(id, entry.get().as_bytes());
        }
    }
    Ok((!list.is_empty()).then_some(list))
}

// What stands in a document, exactly as the agent writes it.

wire_types! {
    #[serde(rename_all = "camelCase")]
    struct WireListed<'a> {
        session_id: Text<'a>,
        date_created: Count,
    }

    #[serde(rename_all = "camelCase")]
    struct WireSession<'a> {
        title: Text<'a>,
        workspace_directory: Text<'a>,
        history: Vec<&'a RawValue>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireItem<'a> {
        message: WireMessage<'a>,
        conversation_summary: Text<'a>,
        tool_call_states: Option<Vec<WireCallState<'a>>>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireMessage<'a> {
        role: Text<'a>,
        content: Content<'a>,
        tool_calls: Option<Vec<FunctionCall<'a>>>,
        tool_call_id: Text<'a>,
        usage: Option<WireUsage<'a>>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireCallState<'a> {
        tool_call_id: Text<'a>,
        status: Text<'a>,
        output: Content<'a>,
    }

    struct WireUsage<'a> {
        model: Text<'a>,
        prompt_tokens: Count,
        completion_tokens: Count,
        prompt_tokens_details: Lenient<WireUsageDetails>,
    }

    struct WireUsageDetails {
        cached_tokens: Count,
        cache_write_tokens: Count,
    }
}

/// Reads the documents of one session, each of which has all of it. What an earlier one has and a
/// later one has not was taken back.
fn read_documents(out: &mut Transcript) -> Result<()> {
    let mut documents = Vec::new();
    for file in out.main_files() {
        if let Some(bytes) = out.read_document(file)? {
            documents.push((file, bytes));
        }
    }
    let mut reader = Reader::default();
    let mut waiting: Option<(usize, WireSession)> = None;
    for (file, bytes) in &documents {
        let Some(session) = out.parse_document::<WireSession>(*file, bytes) else { continue };
        if let Some((earlier, before)) = waiting.take() {
            let same = before.history.iter().zip(&session.history);
            let same = same.take_while(|(one, other)| key(one) == key(other)).count();
            if same < before.history.len() {
                reader.items(earlier, &before.history, out)?;
                reader.take_back(same, out)?;
            }
        }
        waiting = Some((*file, session));
    }
    let Some((file, session)) = waiting else { return Ok(()) };
    reader.items(file, &session.history, out)?;
    let title = session.title.owned();
    out.head.title = title.filter(|title| title != "Untitled Session" && title != "New Session");
    out.head.cwd = session.workspace_directory.some().map(local_path);
    Ok(())
}

/// What distinguishes an item; the states of its calls change while it stands.
fn key(item: &RawValue) -> u64 {
    let item: WireItem = serde_json::from_str(item.get()).unwrap_or_default();
    let calls = item.message.tool_calls.unwrap_or_default();
    let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
    hash((item.message.role.as_str(), item.message.content.text.as_ref(), ids))
}

/// Reads the items of one session.
#[derive(Default)]
struct Reader {
    /// How many prompts there were before each item that was read.
    prompts: Vec<u32>,
    /// The calls whose answers were read.
    answered: HashSet<u64>,
}

impl Reader {
    /// Reads the items that were not read yet.
    fn items(&mut self, file: usize, items: &[&RawValue], out: &mut Transcript) -> Result<()> {
        for (at, item) in items.iter().enumerate().skip(self.prompts.len()) {
            out.go_to(Position { file: file as u32, line: at as u64 + 1 });
            self.prompts.push(out.prompts);
            if let Some(item) = out.parse::<WireItem>(item.get()) {
                out.head.records += 1;
                self.item(item, out)?;
            }
        }
        Ok(())
    }

    /// Says that the items after the first ones were taken back.
    fn take_back(&mut self, kept: usize, out: &mut Transcript) -> Result<()> {
        match self.prompts.get(kept).copied() {
            Some(prompts) => {
                self.prompts.truncate(kept);
                out.emit(EventKind::Rewind { kept: prompts })
            }
            None => Ok(()),
        }
    }

    fn item(&mut self, item: WireItem, out: &mut Transcript) -> Result<()> {
        if let Some(summary) = item.conversation_summary.some() {
            out.emit(EventKind::Compaction(summary.into()))?;
        }
        let message = item.message;
        match message.role.as_str() {
            "user" => out.prompt(&attached(&message.content.text, message.content.images, "image")),
            "assistant" => {
                count(message.usage, out);
                out.reply(message.content.text)?;
                let calls = message.tool_calls.unwrap_or_default();
                let finished = calls.is_empty();
                functions::tell(calls, out)?;
                for state in item.tool_call_states.unwrap_or_default() {
                    self.answer(state, out)?;
                }
                if finished { out.completion() } else { Ok(()) }
            }
            "thinking" => out.think(message.content.text),
            "tool" if self.answered.insert(hash(message.tool_call_id.as_str())) => {
                let exit_code = exit_code(&message.content.text);
                out.result(message.tool_call_id.0, message.content, false, exit_code)
            }
            "tool" => out.ignore("answer told again"),
            role => out.ignore(&format!("message {role}")),
        }
    }

    /// The answer to a call, where it has come.
    fn answer(&mut self, state: WireCallState, out: &mut Transcript) -> Result<()> {
        let failed = match state.status.as_str() {
            "done" => false,
            "errored" | "canceled" => true,
            _ => return Ok(()),
        };
        let is_canceled = state.status.as_str() == "canceled";
        self.answered.insert(hash(state.tool_call_id.as_str()));
        let exit_code = exit_code(&state.output.text);
        out.result(state.tool_call_id.0, state.output, failed, exit_code)?;
        if is_canceled { out.intervention("the person cancelled a tool") } else { Ok(()) }
    }
}

fn count(usage: Option<WireUsage>, out: &mut Transcript) {
    let Some(used) = usage else { return };
    let tokens = Tokens {
        input: used.prompt_tokens.0,
        output: used.completion_tokens.0,
        cache_read: used.prompt_tokens_details.cached_tokens.0,
        cache_write: used.prompt_tokens_details.cache_write_tokens.0,
        cost_usd: None,
    };
    out.count(used.model.some().unwrap_or("unknown"), tokens.without_cached_input());
}

/// The exit code in a beginning like `Error executing tool Bash: Error (exit code 1): …`.
fn exit_code(text: &str) -> Option<i32> {
    let line = text.trim_start().lines().next()?;
    let (before, rest) = line.split_once("(exit code ")?;
    let is_error = before.len() < 60 && before.starts_with("Error");
    is_error.then(|| rest.split_once(')')?.0.parse().ok())?
}
