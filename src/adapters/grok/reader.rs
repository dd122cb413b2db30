//! Reads one session of Grok CLI into events: its history, completed by what the screen showed.

use std::borrow::Cow;
use std::path::Path;

use super::screen::{Screen, ScreenTimes, Speaker, Update, UpdateKind};
use super::wire::{WireBackendCall, WireLine, WireSummary};
use super::{SUMMARY, UPDATES};
use crate::adapters::jsonl;
use crate::adapters::transcript::{Dialect, NoEvents, Transcript, attached};
use crate::adapters::wire::{self, Content};
use crate::base::clock;
use crate::error::Result;
use crate::model::session::{BegunBy, CallResult, EventKind, Position};

/// Reads the files of one session.
pub fn read(out: &mut Transcript) -> Result<()> {
    let named = |name: &str| out.log.files.iter().position(|file| file.name == Path::new(name));
    let (summary, updates) = (named(SUMMARY), named(UPDATES));
    let mut reader = Reader::default();
    if let Some(file) = summary {
        reader.read_summary(file, out)?;
    }
    if let Some(file) = updates {
        let mut no_events = NoEvents;
        let mut scan = Transcript::new(out.log, &mut no_events);
        let mut screen = Screen::new(|update: Update<'_>| reader.screen.note(update));
        scan.read_file(&mut screen, file)?;
        screen.end()?;
        for skipped in std::mem::take(&mut scan.head.skipped) {
            out.skip_again(skipped);
        }
        reader.compacted_turns(file, out)?;
    }
    out.read_log(&mut reader)?;
    reader.finish(out)
}

#[derive(Default)]
struct Reader {
    summary: WireSummary,
    screen: ScreenTimes,
    /// The number of the prompt whose turn is being read.
    turn: Option<u64>,
}

impl Dialect for Reader {
    type Record<'a> = WireLine<'a>;

    fn record(&mut self, line: WireLine, out: &mut Transcript) -> Result<()> {
        if self.is_inherited(out.context.position) {
            out.inherit();
        }
        let kind = if line.kind.is_empty() { line.role.0.clone() } else { line.kind.0.clone() };
        match kind.as_ref() {
            "user" => self.user(line, out),
            "assistant" => self.assistant(line, out),
            "tool_result" | "tool" => self.result(line, out),
            "reasoning" => self.say(Speaker::Thought, line.summary.text, out),
            "backend_tool_call" => line.backend.map_or(Ok(()), |call| self.backend_call(call, out)),
            kind => out.ignore(kind),
        }
    }
}

/// The latest `chat_format_version` that was seen.
const FORMAT: u64 = 1;

impl Reader {
    fn read_summary(&mut self, file: usize, out: &mut Transcript) -> Result<()> {
        let Some(bytes) = out.read_document(file)? else { return Ok(()) };
        match serde_json::from_slice(&bytes) {
            Ok(summary) => {
                self.summary = summary;
                out.note_newer_format(file, 0, self.summary.chat_format_version.0, FORMAT);
            }
            // It is empty after a crash; the history is as good without it.
            Err(err) => out.skip(file, 0, format!("not a whole summary: {err}")),
        }
        out.began = self.summary.created_at.as_deref().and_then(clock::parse);
        Ok(())
    }

    /// Reads from the screen the turns that a compaction took out of the history.
    fn compacted_turns(&mut self, updates: usize, out: &mut Transcript) -> Result<()> {
        let history = out.main_files().first().map(|file| &out.log.files[*file].path);
        let first =
            history.and_then(|path| jsonl::first_objects(path, 40).ok()).and_then(|records| {
                records.iter().find_map(|record| record.get("prompt_index")?.as_u64())
            });
        let (Some(first), Some((shown, _))) = (first, self.screen.prompts.first_key_value()) else {
            return Ok(());
        };
        if *shown >= first || self.summary.inherited_prefix_len.is_some() {
            return Ok(());
        }
        let mut over = false;
        let mut no_events = NoEvents;
        let mut scan = Transcript::new(out.log, &mut no_events);
        let mut screen = Screen::new(|update: Update<'_>| {
            if let UpdateKind::Text { prompt: Some(prompt), .. } = update.kind {
                over |= prompt >= first;
            }
            if over { Ok(()) } else { from_screen(update, out) }
        });
        scan.read_file(&mut screen, updates)?;
        screen.end()
    }

    fn user(&mut self, line: WireLine, out: &mut Transcript) -> Result<()> {
        let reason = line.synthetic_reason.as_str();
        let text = typed(&line.content.text);
        if reason == "compaction_meta" {
            return out.emit(EventKind::Compaction(text.into()));
        }
        if (!reason.is_empty() && reason != "interjection") || text.starts_with("<user_info>") {
            return out.ignore(&format!("user {reason}"));
        }
        let shown = self.screen.of_text(Speaker::Person, text);
        if reason.is_empty() {
            self.end_turn(out)?;
            self.turn = line.prompt_index;
        }
        let numbered = line.prompt_index.and_then(|prompt| *self.screen.prompts.get(&prompt)?);
        out.context.at = numbered.or(shown);
        if let Some(interrupt) = line.prior_turn_interrupt.some() {
            out.intervention(format!("turn interrupted: {interrupt}"))?;
        }
        out.emit(EventKind::Prompt(attached(text, line.content.images, "image")))
    }

    /// Says how the turn ended, where the screen showed it.
    fn end_turn(&mut self, out: &mut Transcript) -> Result<()> {
        let Some((at, stop)) = self.turn.take().and_then(|turn| self.screen.turns.remove(&turn))
        else {
            return Ok(());
        };
        out.context.at = at;
        match stop.as_str() {
            "cancelled" => out.intervention("turn interrupted: cancelled"),
            "" | "end_turn" => out.completion(),
            stop => out.lifecycle(format!("turn ended: {stop}")),
        }
    }

    fn assistant(&mut self, line: WireLine, out: &mut Transcript) -> Result<()> {
        if let Some(model) = line.model_id.some().filter(|_| !out.context.inherited) {
            out.usage(model);
        }
        self.say(Speaker::Thought, line.reasoning_content.0, out)?;
        self.say(Speaker::Agent, line.content.text, out)?;
        for call in line.tool_calls.unwrap_or_default() {
            let (name, arguments) = match call.function {
                Some(function) => (function.name, function.arguments),
                None => (call.name, call.arguments),
            };
            out.context.at = self.screen.of_call(&call.id);
            out.call(call.id.0, name.0, &wire::plain(arguments))?;
        }
        Ok(())
    }

    fn say(&mut self, speaker: Speaker, text: Cow<str>, out: &mut Transcript) -> Result<()> {
        if text.trim().is_empty() {
            return Ok(());
        }
        out.context.at = self.screen.of_text(speaker, &text);
        if speaker == Speaker::Agent { out.reply(text) } else { out.think(text) }
    }

    fn result(&mut self, line: WireLine, out: &mut Transcript) -> Result<()> {
        let shown = self.screen.results.get(line.tool_call_id.as_str());
        let (at, failed, shown) = shown.copied().unwrap_or_default();
        out.context.at = at;
        let images = line.content.images + wire::length(line.images);
        let (text, stated) = without_exit_code(line.content.text);
        let exit_code = stated.or(shown).or_else(|| exit_code(&text));
        let content = Content { text, images };
        out.result(line.tool_call_id.0, content, failed, exit_code)
    }

    /// A tool that ran on the server: its answer is not in the log, only that it came.
    fn backend_call(&mut self, call: WireBackendCall, out: &mut Transcript) -> Result<()> {
        out.context.at = self.screen.of_call(&call.id);
        let failed = call.status.as_str() == "failed";
        out.call(call.id.0.clone(), call.tool_type.0, wire::raw(call.action))?;
        out.result(call.id.0, Content::default(), failed, None)
    }

    fn is_inherited(&self, position: Position) -> bool {
        self.summary.inherited_prefix_len.is_some_and(|length| position.line <= length)
    }

    fn finish(mut self, out: &mut Transcript) -> Result<()> {
        let last = out.main_files().first().copied().unwrap_or_default();
        let position = Position { file: last as u32, line: out.head.records };
        out.go_to(position);
        out.context.inherited = self.is_inherited(position);
        self.end_turn(out)?;
        let summary = self.summary;
        let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let head = &mut out.head;
        head.title = filled(summary.generated_title).or(filled(summary.session_summary));
        head.cwd = filled(summary.info.and_then(|info| info.cwd));
        head.branch = filled(summary.head_branch);
        head.head_commit = filled(summary.head_commit);
        head.remote = summary.git_remotes.into_iter().next();
        head.parent = filled(summary.parent_session_id);
        if summary.session_kind.is_some_and(|kind| kind.starts_with("subagent")) {
            head.begun_by = BegunBy::Agent;
        }
        for turn in self.screen.usage.into_values() {
            let model = summary.current_model_id.as_deref().unwrap_or("unknown");
            if turn.model_usage.is_empty() {
                out.count(model, turn.tokens());
            }
            for (model, used) in turn.model_usage {
                out.count(&model, used.tokens());
            }
        }
        Ok(())
    }
}

/// What the screen showed, where the history has it no more.
fn from_screen(update: Update<'_>, out: &mut Transcript) -> Result<()> {
    out.go_to(update.position);
    out.context.at = update.at;
    match update.kind {
        UpdateKind::Text { speaker: Speaker::Person, text, .. } => {
            out.emit(EventKind::Prompt(typed(text).into()))
        }
        UpdateKind::Text { speaker: Speaker::Agent, text, .. } => {
            out.emit(EventKind::Reply(text.into()))
        }
        UpdateKind::Text { speaker: Speaker::Thought, text, .. } => {
            out.emit(EventKind::Thinking(text.into()))
        }
        UpdateKind::Call { id, tool, input } => out.call(id.into(), tool.into(), input),
        UpdateKind::Result { id, content, failed, exit_code: stated } => {
            let exit_code = stated.or_else(|| exit_code(&content.text));
            let (text, images) = (Cow::Borrowed(content.text.as_ref()), content.images);
            let id = id.into();
            let result = CallResult { id, text, failed, exit_code, images, ..Default::default() };
            out.emit(EventKind::Result(result))
        }
        UpdateKind::TurnEnd { .. } => out.completion(),
    }
}

/// What the person typed, without what the program puts around it.
fn typed(text: &str) -> &str {
    let text = text.trim();
    let inner =
        text.strip_prefix("<user_query>").and_then(|text| text.strip_suffix("</user_query>"));
    inner.map_or(text, str::trim)
}

/// The exit code in a first line `exit: 1`, which the program puts before a command's output.
fn without_exit_code(text: Cow<'_, str>) -> (Cow<'_, str>, Option<i32>) {
    let first = text.split_once('\n').and_then(|(line, rest)| {
        Some((line.strip_prefix("exit: ")?.trim().parse().ok()?, rest.len()))
    });
    let Some((code, rest)) = first else { return (text, None) };
    let text = match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[text.len() - rest..]),
        Cow::Owned(text) => Cow::Owned(text[text.len() - rest..].to_string()),
    };
    (text, Some(code))
}

/// The exit code in the last line of a command's output.
fn exit_code(text: &str) -> Option<i32> {
    text.trim_end().lines().next_back()?.strip_prefix("Exit code: ")?.parse().ok()
}
