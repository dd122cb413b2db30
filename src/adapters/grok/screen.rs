//! What the screen showed: `updates.jsonl`, which has times where the history has none.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::wire::{WireScreenUpdate, WireUpdate, WireUsage};
use crate::adapters::transcript::{Dialect, Transcript, hash};
use crate::adapters::wire::{Content, raw};
use crate::base::clock::Timestamp;
use crate::error::Result;
use crate::model::session::Position;

/// One thing that the screen showed; texts come in chunks in the log and are whole here.
pub struct Update<'a> {
    pub at: Option<Timestamp>,
    pub position: Position,
    pub kind: UpdateKind<'a>,
}

pub enum UpdateKind<'a> {
    Text { speaker: Speaker, text: &'a str, prompt: Option<u64> },
    Call { id: &'a str, tool: &'a str, input: &'a str },
    Result { id: &'a str, content: &'a Content<'a>, failed: bool, exit_code: Option<i32> },
    TurnEnd { prompt_id: &'a str, stop_reason: &'a str, usage: Option<WireUsage> },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Speaker {
    Person,
    Agent,
    Thought,
}

/// Reads the updates of one session and hands each to a function.
pub struct Screen<F> {
    pending: Option<PendingText>,
    each: F,
}

/// A text whose chunks are still coming.
struct PendingText {
    speaker: Speaker,
    text: String,
    prompt: Option<u64>,
    at: Option<Timestamp>,
    position: Position,
}

impl<F: FnMut(Update<'_>) -> Result<()>> Dialect for Screen<F> {
    type Record<'a> = WireUpdate<'a>;

    fn record(&mut self, line: WireUpdate, out: &mut Transcript) -> Result<()> {
        let (update, meta) = match line.params {
            Some(params) => (params.update, params.meta),
            None => (line.update, line.meta),
        };
        let Some(update) = update else { return Ok(()) };
        let at = match meta.agent_timestamp_ms.0 {
            0 => line.timestamp.seconds(),
            _ => meta.agent_timestamp_ms.milliseconds(),
        };
        self.update(update, meta.prompt_index, at, out.context.position)
    }
}

impl<F: FnMut(Update<'_>) -> Result<()>> Screen<F> {
    pub fn new(each: F) -> Screen<F> {
        Screen { pending: None, each }
    }

    fn update(
        &mut self,
        update: WireScreenUpdate,
        prompt: Option<u64>,
        at: Option<Timestamp>,
        position: Position,
    ) -> Result<()> {
        let speaker = match update.session_update.as_str() {
            "user_message_chunk" => Some(Speaker::Person),
            "agent_message_chunk" => Some(Speaker::Agent),
            "agent_thought_chunk" => Some(Speaker::Thought),
            _ => None,
        };
        if let Some(speaker) = speaker {
            let prompt = update.meta.prompt_index.or(prompt).filter(|_| speaker == Speaker::Person);
            match &mut self.pending {
                // A prompt with a number of its own is a new one, also right after another.
                Some(pending) if pending.speaker == speaker && pending.prompt == prompt => {
                    pending.text.push_str(&update.content.text)
                }
                _ => {
                    self.end()?;
                    let text = update.content.text.into_owned();
                    self.pending = Some(PendingText { speaker, text, prompt, at, position });
                }
            }
            return Ok(());
        }
        self.end()?;
        let (id, tool) = (update.tool_call_id.as_str(), &update.meta.tool.name);
        let kind = match (update.session_update.as_str(), update.status.as_str()) {
            ("tool_call", _) => UpdateKind::Call {
                id,
                tool: if tool.is_empty() { &update.title } else { tool },
                input: raw(update.raw_input),
            },
            ("tool_call_update", status @ ("completed" | "failed")) => {
                let output = update.raw_output.as_ref();
                let exit_code = output.and_then(|output| output.exit_code.parse().ok());
                let failed = status == "failed";
                UpdateKind::Result { id, content: &update.content, failed, exit_code }
            }
            ("turn_completed", _) => UpdateKind::TurnEnd {
                prompt_id: &update.prompt_id,
                stop_reason: &update.stop_reason,
                usage: update.usage,
            },
            _ => return Ok(()),
        };
        (self.each)(Update { at, position, kind })
    }

    /// Hands over the text whose last chunk has come.
    pub fn end(&mut self) -> Result<()> {
        let Some(PendingText { speaker, text, prompt, at, position }) = self.pending.take() else {
            return Ok(());
        };
        let kind = UpdateKind::Text { speaker, text: &text, prompt };
        (self.each)(Update { at, position, kind })
    }
}

/// What is kept of the screen to complete the history: no texts, only when and how.
#[derive(Default)]
pub struct ScreenTimes {
    pub prompts: BTreeMap<u64, Option<Timestamp>>,
    pub calls: HashMap<String, Option<Timestamp>>,
    /// By call: when its result came, whether it failed, and its exit code.
    pub results: HashMap<String, (Option<Timestamp>, bool, Option<i32>)>,
    /// By prompt: when its turn ended, and why.
    pub turns: BTreeMap<u64, (Option<Timestamp>, String)>,
    pub usage: BTreeMap<String, WireUsage>,
    texts: HashMap<u64, VecDeque<Timestamp>>,
    prompt: u64,
}

impl ScreenTimes {
    pub fn note(&mut self, update: Update<'_>) -> Result<()> {
        match update.kind {
            UpdateKind::Text { speaker, text, prompt } => {
                if let Some(prompt) = prompt {
                    self.prompt = prompt;
                    self.prompts.entry(prompt).or_insert(update.at);
                }
                self.texts.entry(key(speaker, text)).or_default().extend(update.at);
            }
            UpdateKind::Call { id, .. } => {
                self.calls.entry(id.to_string()).or_insert(update.at);
            }
            UpdateKind::Result { id, failed, exit_code, .. } => {
                self.results.insert(id.to_string(), (update.at, failed, exit_code));
            }
            UpdateKind::TurnEnd { prompt_id, stop_reason, usage } => {
                self.turns.insert(self.prompt, (update.at, stop_reason.to_string()));
                // Given again it replaces what was given before.
                if let Some(usage) = usage {
                    self.usage.insert(prompt_id.to_string(), usage);
                }
            }
        }
        Ok(())
    }

    /// When a text was shown; of several that are the same each counts once.
    pub fn of_text(&mut self, speaker: Speaker, text: &str) -> Option<Timestamp> {
        self.texts.get_mut(&key(speaker, text))?.pop_front()
    }

    pub fn of_call(&self, id: &str) -> Option<Timestamp> {
        self.calls.get(id).copied().flatten()
    }
}

fn key(speaker: Speaker, text: &str) -> u64 {
    hash((speaker, text.trim()))
}
