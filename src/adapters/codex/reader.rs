//! Reads the rollouts of one session of Codex into events.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::value::RawValue;

use super::commands::Commands;
use super::forms;
use super::items::{self, WireTurnItem};
use super::origin::Origin;
use super::scripts::{self, Script, Scripts};
use super::texts::{ToolOutput, says_failure, typed, without_preamble};
use super::turns::{self, Turns};
use super::usage::Totals;
use super::wire::{WireDocument, WireInfo, WireItem, WireLine, WireShellOutput};
use crate::adapters::tools;
use crate::adapters::transcript::{Dialect, Tokens, Transcript, attached, hash};
use crate::adapters::wire::{self, Content, Text};
use crate::base::clock::Timestamp;
use crate::base::text;
use crate::error::Result;
use crate::model::session::{Action, EventKind, Log, Position};

/// How a message begins that tells of a command of the person's.
const OWN_COMMAND: &str = "<user_shell_command>";
/// The form of rollouts whose records are numbered.
pub const PAGINATED: &str = "paginated";
/// A record of a turn that was read.
const REPEATED: &str = "repeated record";

/// Reads the rollouts of one session into events.
#[derive(Default)]
pub struct Reader {
    /// The prompts that were not taken back, each with the number of its record.
    standing: Vec<Standing>,
    /// The number of the record at hand, in a paginated rollout.
    ordinal: u64,
    /// Whether the rollout is paginated: items tell what was done.
    is_paginated: bool,
    /// The number of a subagent's first own record; what comes before it is inherited.
    own_from: u64,
    /// Whether there was a prompt of our own: nothing copied comes after it.
    own_turn: bool,
    /// Whether the log has events with prompts, and items with replies.
    prompts_from_events: bool,
    replies_from_items: bool,
    id: String,
    began: Option<Timestamp>,
    /// A copy of the parent's rollout is being read, and whether its turns are numbered by time.
    copying: bool,
    turns_are_timed: bool,
    model: String,
    totals: Totals,
    /// By call: how events said that it ended, before its answer comes.
    ends: HashMap<String, End>,
    commands: Commands,
    /// The calls that were read: an item of the same id only says how one ended.
    calls: HashSet<u64>,
    /// Calls that hand a task to a subagent.
    delegations: HashSet<u64>,
    scripts: Scripts,
    turns: Turns,
}

/// A prompt that stands.
struct Standing {
    prompt: u32,
    ordinal: u64,
}

#[derive(Default)]
struct End {
    failed: bool,
    exit_code: Option<i32>,
}

impl Dialect for Reader {
    type Record<'a> = WireLine<'a>;

    fn json(&mut self, json: &[u8], out: &mut Transcript) -> Result<serde_json::Result<()>> {
        let line = serde_json::from_slice::<WireLine>(json).and_then(|line| match line.payload {
            Some(_) => Ok(line),
            // Before the envelope: a header without a type, then bare items.
            None => Ok(WireLine { bare: serde_json::from_slice(json)?, ..line }),
        });
        match line {
            Ok(line) => {
                out.head.records += 1;
                self.record(line, out).map(Ok)
            }
            Err(err) => Ok(Err(err)),
        }
    }

    fn record(&mut self, line: WireLine, out: &mut Transcript) -> Result<()> {
        let Some(item) = line.payload else {
            return match line.bare {
                Some(header) if line.kind.is_empty() && line.record_type.is_empty() => {
                    out.began = header.timestamp.time();
                    self.session(header, out);
                    Ok(())
                }
                Some(item) if line.record_type.is_empty() => self.item(item, out),
                _ => out.ignore(&line.record_type),
            };
        };
        out.context.at = line.timestamp.time();
        self.ordinal = line.ordinal.parse().unwrap_or(0);
        if self.turns.is_repeated() && !may_begin_turn(&line.kind, &item) {
            self.totals.spent(&item.info.unwrap_or_default());
            return out.ignore(REPEATED);
        }
        if self.is_copied(&line.kind, &item, out.context.at) {
            out.inherit();
        }
        match line.kind.as_str() {
            "session_meta" => self.session_meta(item, out)?,
            "turn_context" => self.model = item.model.owned().unwrap_or_default(),
            "response_item" => self.item(item, out)?,
            "event_msg" => self.event(item, out)?,
            "compacted" => out.compaction(item.message.owned())?,
            // What one agent writes to another: the task of a subagent.
            "inter_agent_communication" if out.head.parent.is_some() => {
                self.prompt(&item.content.text, 0, out)?
            }
            kind => out.ignore(kind)?,
        }
        Ok(())
    }
}

impl Reader {
    pub fn new(log: &Log) -> Result<Reader> {
        let (prompts_from_events, replies_from_items) = forms::of_messages(log)?;
        Ok(Reader { prompts_from_events, replies_from_items, ..Reader::default() })
    }

    /// Reads a rollout of spring 2025, which is one document.
    pub fn document(&mut self, file: usize, out: &mut Transcript) -> Result<()> {
        let Some(bytes) = out.read_document(file)? else { return Ok(()) };
        let document = out.parse_document::<WireDocument>(file, &bytes);
        let Some(WireDocument { session, items }) = document else { return Ok(()) };
        out.began = session.timestamp.time();
        self.session(session, out);
        for (at, raw) in items.iter().enumerate() {
            out.head.records += 1;
            out.go_to(Position { file: file as u32, line: at as u64 + 1 });
            if let Some(item) = out.parse(raw.get()) {
                self.item(item, out)?;
            }
        }
        Ok(())
    }

    fn session(&mut self, meta: WireItem, out: &mut Transcript) {
        let Some(id) = meta.id.owned() else { return };
        let head = &mut out.head;
        if !self.id.is_empty() {
            // Only the first one is ours; the others came with a copy, a revert or a resume.
            if self.id != id && head.parent.is_none() {
                head.parent = Some(id);
            }
            return;
        }
        self.id = id;
        self.began = meta.timestamp.time();
        self.is_paginated = meta.history_mode.as_str() == PAGINATED;
        self.own_from = meta.subagent_history_start_ordinal.parse().unwrap_or(0);
        let base = meta.history_base.and_then(|base| base.thread_id);
        // What a fork goes on from is copied into it, or it names the record.
        self.copying = meta.forked_from_id.some().is_some() && base.is_none();
        head.cwd = meta.cwd.owned();
        head.version = meta.cli_version.owned();
        let began = Origin::of(meta.source, &meta.parent_thread_id);
        head.begun_by = began.by;
        head.parent = began.parent.or_else(|| meta.forked_from_id.owned()).or(base);
        head.parent.take_if(|parent| *parent == self.id);
        if let Some(git) = meta.git {
            head.branch = git.branch.filter(|branch| !branch.is_empty());
            head.remote = git.repository_url.filter(|url| !url.is_empty());
            head.head_commit = git.commit_hash.filter(|commit| !commit.is_empty());
        }
    }

    /// A header; one of a revert takes back what came after the record that it goes on from.
    fn session_meta(&mut self, meta: WireItem, out: &mut Transcript) -> Result<()> {
        let is_own = !self.id.is_empty() && meta.id.some() == Some(&self.id);
        if is_own {
            let is_former = self.is_paginated && meta.history_mode.as_str() != PAGINATED;
            self.turns.begin_rollout(is_former);
        }
        let base = meta.history_base.as_ref().filter(|_| is_own);
        if let Some(end) = base.map(|base| base.end_ordinal_exclusive.0) {
            self.standing.retain(|standing| standing.ordinal < end);
            let kept = self.standing.last().map_or(0, |standing| standing.prompt);
            if kept < out.prompts {
                out.emit(EventKind::Rewind { kept })?;
            }
        }
        self.session(meta, out);
        Ok(())
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
        if self.ordinal < self.own_from {
            return true;
        }
        let (true, Some(began)) = (self.copying, self.began) else { return self.copying };
        match turns::opened(&item.turn_id) {
            // A turn that was opened after this thread is its own; the copied ones are older.
            Some(opened) if kind == "turn_context" || item.kind.as_str() == "task_started" => {
                self.turns_are_timed = true;
                self.copying = opened < began.timestamp_millis();
            }
            // Older versions do not say; a copy is written in one go, or keeps its old times.
            _ if !self.turns_are_timed => {
                self.copying = at.is_none_or(|at| (at - began).num_seconds() <= 2);
            }
            _ => {}
        }
        self.copying
    }

    fn item(&mut self, item: WireItem, out: &mut Transcript) -> Result<()> {
        match item.kind.as_str() {
            "message" | "" if item.role.some().is_some() => match item.role.as_str() {
                "assistant" if self.replies_from_items => self.reply(item.content.text, out),
                "user" if !self.is_paginated && item.content.text.starts_with(OWN_COMMAND) => {
                    self.own_command(&item.content.text, out)
                }
                "user" if !self.prompts_from_events => {
                    self.prompt(&item.content.text, item.content.images, out)
                }
                role => out.ignore(&format!("message {role}")),
            },
            "reasoning" if item.summary.text.is_empty() => out.think(item.content.text),
            "reasoning" => out.think(item.summary.text),
            "custom_tool_call" if item.name.as_str() == scripts::TOOL => {
                let text = wire::plain(item.input).into_owned();
                self.scripts.begin(item.call_id.0.into_owned(), text, out);
                Ok(())
            }
            "function_call" | "custom_tool_call" | "tool_search_call" => {
                let input = wire::plain(item.arguments.or(item.input));
                let name = if item.name.is_empty() { "tool_search".into() } else { item.name.0 };
                let tool = match item.namespace.some() {
                    Some(namespace) => {
                        format!("{namespace}__{}", name.trim_start_matches('_')).into()
                    }
                    None => name,
                };
                let action = self.commands.action(&tool, &input, &item.call_id);
                if tool.ends_with("spawn_agent") {
                    self.delegations.insert(hash(item.call_id.as_str()));
                }
                self.call(item.call_id.0, tool, action, out)
            }
            "local_shell_call" => {
                let action = tools::action("local_shell", wire::raw(item.action));
                let id = if item.call_id.is_empty() { item.id } else { item.call_id };
                self.call(id.0, "local_shell".into(), action, out)
            }
            "web_search_call" => {
                // Its answer goes to the model alone; that it came is all that the log says.
                let action = tools::action("web_search", wire::raw(item.action));
                let line = out.context.position.line;
                let id = item.id.owned().unwrap_or_else(|| format!("web_search-{line}"));
                self.call(id.as_str().into(), "web_search".into(), action, out)?;
                out.result(id.into(), Content::default(), false, None)
            }
            "function_call_output"
            | "custom_tool_call_output"
            | "local_shell_call_output"
            | "tool_search_output" => match self.scripts.end(&item.call_id) {
                Some(script) => self.script_end(item, script, out),
                None => self.result(item, out),
            },
            "" => out.ignore("record without a kind"),
            kind => out.ignore(kind),
        }
    }

    fn event(&mut self, event: WireItem, out: &mut Transcript) -> Result<()> {
        match event.kind.as_str() {
            "user_message" if matches!(event.message_kind.as_str(), "" | "plain") => {
                let images = wire::length(event.images) + wire::length(event.local_images);
                self.prompt(&event.message, images, out)
            }
            "agent_message" if !self.replies_from_items => self.reply(event.message.0, out),
            "agent_reasoning" if !self.replies_from_items => out.think(event.text.0),
            "token_count" => {
                if let Some(info) = event.info {
                    self.count(&info, out);
                }
                Ok(())
            }
            "item_completed" => self.turn_item(event.item, out),
            "task_complete" => out.completion(),
            "turn_aborted" => {
                let reason = event.reason.some().unwrap_or("interrupted");
                out.intervention(format!("turn aborted: {reason}"))
            }
            "thread_rolled_back" => {
                let kept = self.standing.len().saturating_sub(event.num_turns.0 as usize);
                self.standing.truncate(kept);
                let kept = self.standing.last().map_or(0, |standing| standing.prompt);
                out.emit(EventKind::Rewind { kept })
            }
            "thread_name_updated" => {
                event.thread_name.replace(&mut out.head.title);
                Ok(())
            }
            "exec_command_end" => self.note_end(event.call_id, false, event.exit_code.parse().ok()),
            "patch_apply_end" => self.note_end(event.call_id, event.success == Some(false), None),
            "mcp_tool_call_end" => {
                let result = wire::raw(event.result);
                let failed = result.starts_with("{\"Err\"") || result.contains("\"isError\":true");
                self.note_end(event.call_id, failed, None)
            }
            "error" => out.lifecycle(format!("error: {}", event.message.trim())),
            "entered_review_mode" => out.lifecycle("review begun"),
            "exited_review_mode" => out.lifecycle("review ended"),
            kind => out.ignore(&format!("event {kind}")),
        }
    }

    fn prompt(&mut self, text: &str, images: u32, out: &mut Transcript) -> Result<()> {
        let Some(words) = typed(text).filter(|words| images > 0 || !words.is_empty()) else {
            return out.ignore("message user that no person wrote");
        };
        if self.turns.begin(words) {
            return out.ignore(REPEATED);
        }
        self.own_turn |= !out.context.inherited;
        out.prompt(&attached(words, images, "image"))?;
        self.standing.push(Standing { prompt: out.prompts, ordinal: self.ordinal });
        Ok(())
    }

    fn reply(&mut self, text: Cow<str>, out: &mut Transcript) -> Result<()> {
        self.note_model(out);
        out.reply(text)
    }

    fn call(
        &mut self,
        id: Cow<str>,
        tool: Cow<str>,
        action: Action,
        out: &mut Transcript,
    ) -> Result<()> {
        self.note_model(out);
        self.calls.insert(hash(id.as_ref()));
        out.act(id, tool, action)
    }

    fn result(&mut self, item: WireItem, out: &mut Transcript) -> Result<()> {
        let raw = wire::raw(item.output.or(item.tools));
        let content: Content = serde_json::from_str(raw).unwrap_or_default();
        let shell = content.text.starts_with('{').then(|| serde_json::from_str(&content.text).ok());
        let output = match shell.flatten() {
            Some(WireShellOutput { output, metadata }) => {
                ToolOutput { text: output.into(), exit_code: metadata.exit_code, process: None }
            }
            None => without_preamble(content.text),
        };
        self.commands.answered(&item.call_id, output.process);
        let (end, text) =
            (self.ends.remove(item.call_id.as_str()).unwrap_or_default(), output.text);
        let is_refused = text.len() < 300
            && text.contains("by user")
            && ["rejected", "aborted", "denied"].iter().any(|word| text.contains(word));
        let refusal = is_refused.then(|| text.to_string());
        // A subagent that began is named in JSON; words say why none did.
        let no_agent = self.delegations.remove(&hash(item.call_id.as_str()))
            && !text.is_empty()
            && !text.starts_with('{');
        let failed = end.failed || is_refused || no_agent || says_failure(&text);
        let exit_code = output.exit_code.or(end.exit_code);
        let content = Content { text, images: content.images };
        out.result(item.call_id.0, content, failed, exit_code)?;
        refusal.map_or(Ok(()), |refusal| out.intervention(refusal))
    }

    fn note_end(&mut self, call: Text, failed: bool, exit_code: Option<i32>) -> Result<()> {
        self.ends.insert(call.0.into_owned(), End { failed, exit_code });
        Ok(())
    }

    fn note_model(&mut self, out: &mut Transcript) {
        if !out.context.inherited && !self.model.is_empty() {
            out.usage(&self.model);
        }
    }

    /// Counts the tokens of one request.
    fn count(&mut self, info: &WireInfo, out: &mut Transcript) {
        let Some(spent) = self.totals.spent(info) else { return };
        if out.context.inherited {
            return;
        }
        let tokens = Tokens {
            input: spent.input_tokens.0,
            output: spent.output_tokens.0,
            cache_read: spent.cached_input_tokens.0,
            ..Tokens::default()
        };
        let model = if self.model.is_empty() { "unknown" } else { &self.model };
        out.count(model, tokens.without_cached_input());
    }
}

/// Items and scripts.
impl Reader {
    /// What was done in a turn, once it is done.
    fn turn_item(&mut self, item: Option<&RawValue>, out: &mut Transcript) -> Result<()> {
        let Some(item) = out.parse::<WireTurnItem>(wire::raw(item)) else { return Ok(()) };
        match item.kind.as_str() {
            "UserMessage" => return self.prompt(&item.content.text, item.content.images, out),
            "EnteredReviewMode" => return out.lifecycle("review begun"),
            "ExitedReviewMode" => return out.lifecycle("review ended"),
            _ => {}
        }
        let (id, failed, exit_code) = (item.id.0.clone(), item.failed(), item.exit_code());
        let is_known = self.calls.contains(&hash(id.as_ref()));
        let is_work = matches!(item.kind.as_str(), "CommandExecution" | "FileChange");
        let call = item.call().filter(|_| !item.is_interaction());
        let call = call.filter(|_| is_known || is_work || !self.scripts.is_empty());
        let Some((tool, action)) = call else {
            return out.ignore(&format!("item {}", item.kind.as_str()));
        };
        if is_known {
            self.ends.insert(id.into_owned(), End { failed, exit_code });
            return Ok(());
        }
        match &action {
            Action::Shell { command } if item.is_own_command() => {
                out.own_command(id.as_ref().into(), command)?;
            }
            _ => {
                self.scripts.count_call();
                self.call(id.as_ref().into(), tool, action, out)?;
            }
        }
        out.result(id, item.output(), failed, exit_code)
    }

    /// A script has answered. Where items say what it did, its answer says that once more.
    fn script_end(&mut self, item: WireItem, script: Script, out: &mut Transcript) -> Result<()> {
        let content: Content = serde_json::from_str(wire::raw(item.output)).unwrap_or_default();
        let (text, failed) = items::script_output(&content.text);
        if script.items > 0 && !failed {
            return out.ignore("script whose calls were told");
        }
        let text = Cow::Owned(text.to_string());
        self.script(&item.call_id, script, out)?;
        out.result(item.call_id.0, Content { text, images: content.images }, failed, None)
    }

    fn script(&mut self, id: &str, script: Script, out: &mut Transcript) -> Result<()> {
        let here = out.context.clone();
        out.context.at = script.at;
        out.context.position = script.position;
        out.context.inherited = script.inherited;
        let action = Action::Other { input: text::cut(&script.text, 4000).to_string() };
        let event = self.call(id.into(), scripts::TOOL.into(), action, out);
        out.context = here;
        event
    }

    /// Tells of the scripts that never answered.
    pub fn finish(mut self, out: &mut Transcript) -> Result<()> {
        let unreported = self.scripts.unreported();
        unreported.into_iter().try_for_each(|(id, script)| self.script(&id, script, out))
    }

    /// A command that the person ran, as older rollouts tell it.
    fn own_command(&mut self, message: &str, out: &mut Transcript) -> Result<()> {
        let Some((command, output, exit_code)) = items::own_command(message) else {
            return out.ignore("message user that no person wrote");
        };
        let id = format!("own-command-{}", out.context.position.line);
        out.own_command(id.as_str().into(), command)?;
        let text = Cow::Owned(output.to_string());
        out.result(id.into(), Content { text, images: 0 }, false, exit_code)
    }
}

/// Whether a record may be a prompt, or the header of another rollout.
fn may_begin_turn(kind: &str, item: &WireItem) -> bool {
    match kind {
        "session_meta" => true,
        "event_msg" => item.kind.as_str() == "user_message",
        "response_item" => item.role.as_str() == "user",
        _ => false,
    }
}
