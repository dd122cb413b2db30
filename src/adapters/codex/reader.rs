//! Reads the rollouts of one session of Codex into events.

use std::borrow::Cow;
use std::collections::HashMap;

use memchr::memmem;
use serde_json::Value;
use serde_json::value::RawValue;

use super::spoken::{Answered, spoken, tells_failure, without_preamble};
use super::wire::{WireDocument, WireInfo, WireItem, WireLine, WireShellOutput, WireUsage};
use crate::adapters::jsonl::{self, Dialect, Line, Lines};
use crate::adapters::tools;
use crate::adapters::wire::{self, Content, Text};
use crate::base::clock::Timestamp;
use crate::error::{Context, Result};
use crate::model::session::{
    Action, Call, CallResult, Event, EventKind, EventSink, Head, Log, Position, Role,
};

/// Reads the rollouts of one session into events.
pub struct Reader<'l, 's> {
    log: &'l Log,
    events: &'s mut dyn EventSink,
    head: Head,
    /// How many prompts were said, and which of them were not taken back.
    prompts: u32,
    standing: Vec<u32>,
    /// Whether a prompt of our own was said: nothing copied comes after it.
    own_turn: bool,
    /// Whether the log has events with prompts, and items with replies.
    prompts_from_events: bool,
    replies_from_items: bool,
    id: String,
    began: Option<Timestamp>,
    /// The moment of the first event in a log whose lines have no time.
    untimed: Option<Timestamp>,
    /// A copy of the parent's rollout is being read, and whether its turns are numbered by time.
    copying: bool,
    turns_tell_time: bool,
    model: String,
    total: Option<WireUsage>,
    /// By call: how events said that it ended, before its answer comes.
    ends: HashMap<String, End>,
    /// By call and by process: the command, so that waiting for a process names it again.
    commands: HashMap<String, String>,
    processes: HashMap<String, String>,
}

#[derive(Default)]
struct End {
    failed: bool,
    exit_code: Option<i32>,
}

/// When and where a record was told.
#[derive(Clone, Copy)]
struct Told {
    at: Option<Timestamp>,
    position: Position,
    inherited: bool,
}

impl Dialect for Reader<'_, '_> {
    fn head(&mut self) -> &mut Head {
        &mut self.head
    }

    fn record(&mut self, json: &[u8], position: Position) -> Result<serde_json::Result<()>> {
        let line: WireLine = match serde_json::from_slice(json) {
            Ok(line) => line,
            Err(err) => return Ok(Err(err)),
        };
        self.head.records += 1;
        let at = line.timestamp.time();
        let Some(item) = line.payload else {
            // Before the envelope: a header without a type, then bare items.
            return match serde_json::from_slice::<WireItem>(json) {
                Ok(header) if line.kind.is_empty() && line.record_type.is_empty() => {
                    self.untimed = header.timestamp.time();
                    self.session(header);
                    Ok(Ok(()))
                }
                Ok(_) if !line.record_type.is_empty() => self.pass(&line.record_type).map(Ok),
                Ok(item) => self.item(item, Told { at: None, position, inherited: false }).map(Ok),
                Err(err) => Ok(Err(err)),
            };
        };
        let inherited = self.is_copied(&line.kind, &item, at);
        if inherited {
            self.head.inherited += 1;
        }
        let told = Told { at, position, inherited };
        match line.kind.as_str() {
            "session_meta" => self.session(item),
            "turn_context" => self.model = item.model.owned().unwrap_or_default(),
            "response_item" => self.item(item, told)?,
            "event_msg" => self.event(item, told)?,
            "compacted" => match item.message.owned() {
                Some(summary) => self.emit(told, EventKind::Compaction(summary.into()))?,
                None => self.emit(told, EventKind::Lifecycle("context compacted".into()))?,
            },
            // What one agent writes to another: the task of a subagent.
            "inter_agent_communication" if self.head.parent.is_some() => {
                self.prompt(item.content, 0, told)?
            }
            kind => jsonl::ignore(&mut self.head, kind),
        }
        Ok(Ok(()))
    }
}

impl<'l, 's> Reader<'l, 's> {
    pub fn new(log: &'l Log, events: &'s mut dyn EventSink) -> Result<Self> {
        let (prompts_from_events, replies_from_items) = spoken_where(log)?;
        Ok(Reader {
            log,
            events,
            head: Head::default(),
            prompts: 0,
            standing: Vec::new(),
            own_turn: false,
            prompts_from_events,
            replies_from_items,
            id: String::new(),
            began: None,
            untimed: None,
            copying: false,
            turns_tell_time: false,
            model: String::new(),
            total: None,
            ends: HashMap::new(),
            commands: HashMap::new(),
            processes: HashMap::new(),
        })
    }

    /// What is known of the session, once it has been read.
    pub fn into_head(self) -> Head {
        self.head
    }

    /// Reads a rollout of spring 2025, which is one document.
    pub fn document(&mut self, file: usize) -> Result<()> {
        let path = &self.log.files[file].path;
        let Some(bytes) = jsonl::read_document(&mut self.head, path)? else { return Ok(()) };
        let document: WireDocument = match serde_json::from_slice(&bytes) {
            Ok(document) => document,
            Err(err) => {
                jsonl::skip(&mut self.head, path, 0, format!("not a whole document: {err}"));
                return Ok(());
            }
        };
        self.untimed = document.session.timestamp.time();
        self.session(document.session);
        for (at, raw) in document.items.iter().enumerate() {
            self.head.records += 1;
            let position = Position { file: file as u32, line: at as u64 + 1 };
            match serde_json::from_str::<WireItem>(raw.get()) {
                Ok(item) => self.item(item, Told { at: None, position, inherited: false })?,
                Err(err) => jsonl::skip(
                    &mut self.head,
                    path,
                    position.line,
                    format!("an unexpected shape: {err}"),
                ),
            }
        }
        Ok(())
    }

    fn session(&mut self, meta: WireItem) {
        let Some(id) = meta.id.owned() else { return };
        if !self.id.is_empty() {
            // Only the first one is ours; the others came with a copy, or with a resume.
            if self.id != id && self.head.parent.is_none() {
                self.head.parent = Some(id);
            }
            return;
        }
        self.id = id;
        self.began = meta.timestamp.time();
        self.copying = meta.forked_from_id.some().is_some();
        self.head.cwd = meta.cwd.owned();
        self.head.version = meta.cli_version.owned();
        self.head.parent = meta
            .forked_from_id
            .owned()
            .or_else(|| meta.parent_thread_id.owned())
            .or_else(|| spawned_by(meta.source));
        if let Some(git) = meta.git {
            self.head.branch = git.branch.filter(|branch| !branch.is_empty());
            self.head.remote = git.repository_url.filter(|url| !url.is_empty());
            self.head.head_commit = git.commit_hash.filter(|commit| !commit.is_empty());
        }
    }

    /// Whether a record came with the copy of the parent's rollout that a fork begins with.
    fn is_copied(&mut self, kind: &str, item: &WireItem, at: Option<Timestamp>) -> bool {
        if kind == "session_meta"
            && !self.id.is_empty()
            && item.id.some().is_some_and(|id| id != self.id)
        {
            self.copying |= !self.own_turn;
            return true;
        }
        let (true, Some(began)) = (self.copying, self.began) else { return self.copying };
        match uuid_time(&item.turn_id) {
            // A turn that was opened after this thread is its own; the copied ones are older.
            Some(opened) if kind == "turn_context" || item.kind.as_str() == "task_started" => {
                self.turns_tell_time = true;
                self.copying = opened < began.timestamp_millis();
            }
            // Older versions do not say; a copy is written in one go, or keeps its old times.
            _ if !self.turns_tell_time => {
                self.copying = at.is_none_or(|at| (at - began).num_seconds() <= 2);
            }
            _ => {}
        }
        self.copying
    }

    fn item(&mut self, item: WireItem, told: Told) -> Result<()> {
        match item.kind.as_str() {
            "message" | "" if item.role.some().is_some() => match item.role.as_str() {
                "assistant" if self.replies_from_items => self.reply(item.content.text, told),
                "user" if !self.prompts_from_events => {
                    let images = item.content.images;
                    self.prompt(item.content, images, told)
                }
                role => self.pass(&format!("message {role}")),
            },
            "reasoning" => {
                let thought = if item.summary.text.is_empty() {
                    item.content.text
                } else {
                    item.summary.text
                };
                self.think(thought, told)
            }
            "function_call" | "custom_tool_call" | "tool_search_call" => {
                let raw = item.arguments.or(item.input);
                let input = wire::plain(raw);
                let name = if item.name.is_empty() { "tool_search".into() } else { item.name.0 };
                let tool = match item.namespace.some() {
                    Some(namespace) => {
                        format!("{namespace}__{}", name.trim_start_matches('_')).into()
                    }
                    None => name,
                };
                let action = self.action(&tool, &input, &item.call_id);
                self.call(item.call_id.0, tool, action, told)
            }
            "local_shell_call" => {
                let action =
                    tools::action("local_shell", item.action.map_or("", |action| action.get()));
                let id = if item.call_id.is_empty() { item.id } else { item.call_id };
                self.call(id.0, "local_shell".into(), action, told)
            }
            "web_search_call" => {
                // Its answer goes to the model alone; that it came is all that the log tells.
                let action =
                    tools::action("web_search", item.action.map_or("", |action| action.get()));
                let id =
                    item.id.owned().unwrap_or_else(|| format!("web_search-{}", told.position.line));
                self.call(id.clone().into(), "web_search".into(), action, told)?;
                self.emit(
                    told,
                    EventKind::Result(CallResult {
                        id: id.into(),
                        text: "".into(),
                        failed: false,
                        exit_code: None,
                        images: 0,
                        ..CallResult::default()
                    }),
                )
            }
            "function_call_output"
            | "custom_tool_call_output"
            | "local_shell_call_output"
            | "tool_search_output" => self.answer(item, told),
            "" => self.pass("record without a kind"),
            kind => self.pass(kind),
        }
    }

    fn event(&mut self, event: WireItem, told: Told) -> Result<()> {
        match event.kind.as_str() {
            "user_message" if event.told_as.is_empty() || event.told_as.as_str() == "plain" => {
                let images = wire::length(event.images) + wire::length(event.local_images);
                self.prompt(Content { text: event.message.0, images: 0 }, images, told)
            }
            "agent_message" if !self.replies_from_items => self.reply(event.message.0, told),
            "agent_reasoning" if !self.replies_from_items => self.think(event.text.0, told),
            "token_count" => {
                if let Some(info) = event.info {
                    self.count(&info, told.inherited);
                }
                Ok(())
            }
            "task_complete" => self.emit(told, EventKind::Completion),
            "turn_aborted" => {
                let reason = event.reason.some().unwrap_or("interrupted");
                self.emit(told, EventKind::Intervention(format!("turn aborted: {reason}").into()))
            }
            "thread_rolled_back" => {
                let kept = self.standing.len().saturating_sub(event.num_turns.0 as usize);
                self.standing.truncate(kept);
                self.emit(
                    told,
                    EventKind::Rewind { kept: self.standing.last().copied().unwrap_or(0) },
                )
            }
            "thread_name_updated" => {
                self.head.title = event.thread_name.owned().or(self.head.title.take());
                Ok(())
            }
            "exec_command_end" => self.note_end(event.call_id, false, event.exit_code.parse().ok()),
            "patch_apply_end" => self.note_end(event.call_id, event.success == Some(false), None),
            "mcp_tool_call_end" => {
                let result = event.result.map_or("", |result| result.get());
                let failed = result.starts_with("{\"Err\"") || result.contains("\"isError\":true");
                self.note_end(event.call_id, failed, None)
            }
            "error" => self.emit(
                told,
                EventKind::Lifecycle(format!("error: {}", event.message.trim()).into()),
            ),
            "entered_review_mode" => self.emit(told, EventKind::Lifecycle("review begun".into())),
            "exited_review_mode" => self.emit(told, EventKind::Lifecycle("review ended".into())),
            kind => self.pass(&format!("event {kind}")),
        }
    }

    fn prompt(&mut self, content: Content, images: u32, told: Told) -> Result<()> {
        let Some(text) = spoken(&content.text).filter(|text| images > 0 || !text.is_empty()) else {
            return self.pass("message user that no person wrote");
        };
        let mut prompt = text.to_string();
        if images > 0 {
            prompt.push_str(&format!("\n[{images} image(s)]"));
        }
        self.prompts += 1;
        self.standing.push(self.prompts);
        self.own_turn |= !told.inherited;
        self.emit(told, EventKind::Prompt(prompt.trim().into()))
    }

    fn reply(&mut self, text: Cow<str>, told: Told) -> Result<()> {
        self.note_model(told);
        if text.trim().is_empty() { Ok(()) } else { self.emit(told, EventKind::Reply(text)) }
    }

    fn think(&mut self, text: Cow<str>, told: Told) -> Result<()> {
        if text.trim().is_empty() { Ok(()) } else { self.emit(told, EventKind::Thinking(text)) }
    }

    fn call(&mut self, id: Cow<str>, tool: Cow<str>, action: Action, told: Told) -> Result<()> {
        self.note_model(told);
        self.emit(told, EventKind::Call(Call { id, tool, action }))
    }

    /// Says what a call does; waiting for a running process is running its command on.
    fn action(&mut self, tool: &str, input: &str, call: &str) -> Action {
        let action = tools::action(tool, input);
        if tool == "write_stdin" {
            let field =
                |name| serde_json::from_str::<Value>(input).ok()?.get(name).map(Value::to_string);
            let typed = field("chars").is_some_and(|chars| chars != "\"\"");
            if let Some(command) =
                field("session_id").and_then(|id| self.processes.get(&id)).filter(|_| !typed)
            {
                let command = command.clone();
                self.commands.insert(call.to_string(), command.clone());
                return Action::Shell { command };
            }
        } else if let Action::Shell { command } = &action {
            self.commands.insert(call.to_string(), command.clone());
        }
        action
    }

    fn answer(&mut self, item: WireItem, told: Told) -> Result<()> {
        let raw = item.output.or(item.tools).map_or("", |raw| raw.get());
        let content: Content = serde_json::from_str(raw).unwrap_or_default();
        let mut answer = Answered { text: content.text, exit_code: None, process: None };
        if answer.text.starts_with('{')
            && let Ok(shell) = serde_json::from_str::<WireShellOutput>(&answer.text)
        {
            answer = Answered {
                text: shell.output.into(),
                exit_code: shell.metadata.exit_code,
                process: None,
            };
        } else {
            answer = without_preamble(answer.text);
        }
        let command = self.commands.remove(item.call_id.as_str());
        if let (Some(process), Some(command)) = (answer.process, command) {
            self.processes.insert(process, command);
        }
        let end = self.ends.remove(item.call_id.as_str()).unwrap_or_default();
        let exit_code = answer.exit_code.or(end.exit_code);
        let refused = answer.text.len() < 300
            && answer.text.contains("by user")
            && ["rejected", "aborted", "denied"].iter().any(|word| answer.text.contains(word));
        let failed = end.failed
            || refused
            || exit_code.is_some_and(|code| code != 0)
            || tells_failure(&answer.text);
        let refusal = refused.then(|| answer.text.to_string());
        let text = answer.text;
        self.emit(
            told,
            EventKind::Result(CallResult {
                id: item.call_id.0,
                text,
                failed,
                exit_code,
                images: content.images,
                ..CallResult::default()
            }),
        )?;
        match refusal {
            Some(refusal) => self.emit(told, EventKind::Intervention(refusal.into())),
            None => Ok(()),
        }
    }

    fn note_end(&mut self, call: Text, failed: bool, exit_code: Option<i32>) -> Result<()> {
        self.ends.insert(call.0.into_owned(), End { failed, exit_code });
        Ok(())
    }

    fn note_model(&mut self, told: Told) {
        if !told.inherited && !self.model.is_empty() {
            jsonl::usage(&mut self.head, &self.model);
        }
    }

    /// Counts the tokens of one request; the same total told again is a refreshed rate limit.
    fn count(&mut self, info: &WireInfo, inherited: bool) {
        if info.total_token_usage.is_some() && info.total_token_usage == self.total {
            return;
        }
        // Totals also count requests that were broken off. They may go on from the parent's, so of
        // the first one only the last request is ours.
        let spent = match (self.total, info.total_token_usage, info.last_token_usage) {
            (Some(before), Some(total), _) if total.is_more_than(before) => total.since(before),
            (_, _, Some(last)) => last,
            (_, total, None) => total.unwrap_or_default(),
        };
        self.total = info.total_token_usage.or(self.total);
        if inherited {
            return;
        }
        let model = if self.model.is_empty() { "unknown" } else { &self.model };
        let usage = jsonl::usage(&mut self.head, model);
        // The log counts what was cached as input, too.
        usage.input += spent.input_tokens.0.saturating_sub(spent.cached_input_tokens.0);
        usage.cache_read += spent.cached_input_tokens.0;
        usage.output += spent.output_tokens.0;
    }

    fn pass(&mut self, kind: &str) -> Result<()> {
        jsonl::ignore(&mut self.head, kind);
        Ok(())
    }

    fn emit(&mut self, told: Told, kind: EventKind<'_>) -> Result<()> {
        let at = told.at.or_else(|| self.untimed.take());
        self.events.event(Event {
            at,
            position: told.position,
            agent: None,
            inherited: told.inherited,
            kind,
        })
    }
}

/// Whether a log has events with prompts, and items with replies. Both stand near its beginning, so
/// this look ahead is short where it matters.
fn spoken_where(log: &Log) -> Result<(bool, bool)> {
    let (events, items) =
        (memmem::Finder::new(b"\"user_message\""), memmem::Finder::new(b"\"assistant\""));
    let (mut prompts, mut replies) = (false, false);
    for file in log.files.iter().filter(|file| file.role == Role::Main) {
        let cannot_read = || format!("cannot read the log `{}`", file.path.display());
        let mut lines = Lines::new(jsonl::open(&file.path).context(cannot_read)?);
        // A fault is named when the log is read in earnest.
        while let (false, Ok(Some((_, line)))) = (prompts && replies, lines.next()) {
            if let Line::Bytes { bytes, .. } = line {
                prompts |= events.find(bytes).is_some();
                replies |= items.find(bytes).is_some();
            }
        }
    }
    Ok((prompts, replies))
}

/// The thread that a subagent was spawned by, in `source`.
fn spawned_by(source: Option<&RawValue>) -> Option<String> {
    let source: Value = serde_json::from_str(source?.get()).ok()?;
    let parent = source.pointer("/subagent/thread_spawn/parent_thread_id")?;
    parent.as_str().map(str::to_string)
}

/// The milliseconds since 1970 in a UUID of version 7.
fn uuid_time(id: &str) -> Option<i64> {
    let hex: String = id.chars().filter(|c| *c != '-').collect();
    (id.len() == 36 && id.as_bytes()[14] == b'7')
        .then(|| i64::from_str_radix(hex.get(..12)?, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_tell_time() {
        assert_eq!(uuid_time("01a1ad1f-db7c-783c-a222-fc04bf907b5b"), Some(0x01a1_ad1f_db7c));
        assert_eq!(uuid_time("turn-1"), None);
        assert_eq!(uuid_time("fa1ac8bf-348e-4b9a-a06d-767050fa1e10"), None);
    }
}
