//! Reads the rows and lines of one session of Goose into events.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use super::wire::{
    WireCall, WireMessageRow, WirePart, WireRecord, WireResult, WireUsage, WireVisible,
};
use crate::adapters::tools;
use crate::adapters::transcript::{Dialect, Tokens, Transcript, attached};
use crate::adapters::wire::{Count, raw};
use crate::error::Result;
use crate::model::session::{BegunBy, EventKind};

/// Reads the messages of one session.
#[derive(Default)]
pub struct Reader {
    model: Option<String>,
    /// Whether each use of a model has a row of its own.
    has_ledger: bool,
    /// What the session used as a whole, for want of anything better.
    totals: Option<Tokens>,
}

impl Dialect for Reader {
    type Record<'a> = WireRecord<'a>;

    fn record(&mut self, record: WireRecord, out: &mut Transcript) -> Result<()> {
        if let Some(row) = record.row {
            return self.row(&record.table, row.get(), out);
        }
        match record.content.filter(|_| !record.role.is_empty()) {
            Some(content) => {
                out.context.at = record.created.seconds();
                message(&record.role, content.get(), record.created, record.metadata, out)
            }
            None => self.session(record, out),
        }
    }
}

impl Reader {
    fn row(&mut self, table: &str, json: &str, out: &mut Transcript) -> Result<()> {
        match table {
            "sessions" => match out.parse(json) {
                Some(session) => self.session(session, out),
                None => Ok(()),
            },
            "messages" => {
                let Some(row) = out.parse::<WireMessageRow>(json) else { return Ok(()) };
                let metadata: WireVisible =
                    serde_json::from_str(&row.metadata_json).unwrap_or_default();
                let (content, created) = (&row.content_json, row.created_timestamp);
                out.context.at = created.seconds();
                message(&row.role, content, created, metadata, out)
            }
            "usage_ledger" => {
                if let Some(usage) = out.parse(json) {
                    self.count(usage, out);
                }
                Ok(())
            }
            table => out.ignore(&format!("row of {table}")),
        }
    }

    fn session(&mut self, session: WireRecord, out: &mut Transcript) -> Result<()> {
        let title = session.name.owned().or_else(|| session.description.owned());
        out.head.title = title.filter(|title| !is_untitled(title));
        out.head.cwd = session.working_dir.owned();
        out.head.parent = session.parent_session_id.owned();
        let config: Value = serde_json::from_str(&session.model_config_json).unwrap_or_default();
        self.model = config.get("model_name").and_then(Value::as_str).map(str::to_string);
        let larger = |sum: Count, last: Count| sum.0.max(last.0);
        let tokens = Tokens {
            input: larger(session.accumulated_input_tokens, session.input_tokens),
            output: larger(session.accumulated_output_tokens, session.output_tokens),
            cache_read: session.accumulated_cache_read_tokens.0,
            cache_write: session.accumulated_cache_write_tokens.0,
            cost_usd: None,
        };
        let total = larger(session.accumulated_total_tokens, session.total_tokens);
        let has_any = tokens.input + tokens.output + total > 0;
        self.totals = has_any.then(|| cached_once(tokens, total));
        match session.session_type.as_str() {
            "" | "user" => Ok(()),
            "sub_agent" => {
                out.head.begun_by = BegunBy::Agent;
                Ok(())
            }
            kind => out.ignore(&format!("session of the kind {kind}")),
        }
    }

    fn count(&mut self, usage: WireUsage, out: &mut Transcript) {
        self.has_ledger = true;
        let model = usage.model.some().or(self.model.as_deref()).unwrap_or("unknown");
        let tokens = Tokens {
            input: usage.input_tokens.0,
            output: usage.output_tokens.0,
            cache_read: usage.cache_read_tokens.0,
            cache_write: usage.cache_write_tokens.0,
            cost_usd: usage.cost,
        };
        out.count(model, cached_once(tokens, usage.total_tokens.0));
    }

    /// Counts what was used as a whole, where there is no ledger.
    pub fn finish(self, out: &mut Transcript) {
        if let (false, Some(tokens)) = (self.has_ledger, self.totals) {
            out.count(self.model.as_deref().unwrap_or("unknown"), tokens);
        }
    }
}

/// Tokens without what was cached in the input, where the total shows that it is in there.
fn cached_once(tokens: Tokens, total: u64) -> Tokens {
    let apart = tokens.input + tokens.output + tokens.cache_read + tokens.cache_write;
    if total >= apart { tokens } else { tokens.without_cached_input() }
}

fn message(
    role: &str,
    content: &str,
    created: Count,
    metadata: WireVisible,
    out: &mut Transcript,
) -> Result<()> {
    if metadata.turn_context {
        return out.ignore("turn context");
    }
    let Some(parts) = out.parse::<Vec<WirePart>>(content) else { return Ok(()) };
    // The old logs live on in the database.
    if out.is_repeated(key(role, created, &parts))? {
        return Ok(());
    }
    let (mut typed, mut thought, mut images) = (Vec::new(), String::new(), 0);
    let mut acted = false;
    for part in parts {
        if part.kind.as_str() == "thinking" {
            thought.push_str(&part.thinking);
            continue;
        }
        // The thoughts before it, which came in pieces, are whole.
        out.think(std::mem::take(&mut thought).into())?;
        match part.kind.as_str() {
            "text" if part.text.trim().is_empty() => {}
            "text" if role == "user" => typed.push(part.text.trim().to_string()),
            "text" => out.reply(part.text.0)?,
            "image" => images += 1,
            "toolRequest" | "frontendToolRequest" => {
                acted = true;
                call(part, out)?;
            }
            "toolResponse" => result(part, out)?,
            // What a compaction leaves in place of what came before.
            "summarizationRequested" | "contextLengthExceeded" => out.compaction(None)?,
            "conversationCompacted" | "systemNotification" => {
                out.lifecycle(if part.msg.is_empty() { part.text.0 } else { part.msg.0 })?;
            }
            kind => out.ignore(&format!("part {kind}"))?,
        }
    }
    out.think(thought.into())?;
    let prompt = attached(&typed.join("\n"), images, "image").into_owned();
    match role {
        // Only the model sees it: a summary of what came before, or a note of the program's.
        "user" if !metadata.user_visible && !prompt.is_empty() => {
            out.emit(EventKind::Compaction(prompt.into()))
        }
        "user" => out.prompt(&prompt),
        _ if acted => Ok(()),
        _ => out.completion(),
    }
}

/// What distinguishes a message from the others.
fn key(role: &str, created: Count, parts: &[WirePart]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (role, created.0).hash(&mut hasher);
    for part in parts {
        [part.kind.as_str(), part.id.as_str(), part.text.as_str(), part.thinking.as_str()]
            .hash(&mut hasher);
    }
    hasher.finish()
}

fn call(part: WirePart, out: &mut Transcript) -> Result<()> {
    let outcome = part.tool_call.unwrap_or_default();
    let Ok(call) = serde_json::from_str::<WireCall>(raw(outcome.value)) else {
        let error = outcome.error.as_str();
        return out.lifecycle(format!("a tool call that could not be read: {error}"));
    };
    // Tools of extensions are called `developer__shell`; the last word says what they do.
    let short = call.name.rsplit("__").next().unwrap_or(&call.name);
    let action = tools::action(short, raw(call.arguments));
    out.act(part.id.0, call.name.0, action)
}

fn result(part: WirePart, out: &mut Transcript) -> Result<()> {
    let Some(outcome) = part.tool_result else { return out.ignore("answer without a result") };
    let value = raw(outcome.value);
    // Up to 1.10 the value was the content itself.
    let mut result = if value.starts_with('{') {
        serde_json::from_str::<WireResult>(value).unwrap_or_default()
    } else {
        let content = serde_json::from_str(value).unwrap_or_default();
        WireResult { content, ..WireResult::default() }
    };
    let failed = outcome.status.as_str() == "error";
    if failed {
        result.content.text = outcome.error.0;
    }
    let exit_code = result.structured_content.and_then(|said| said.exit_code.parse().ok());
    out.result(part.id.0, result.content, failed || result.is_error == Some(true), exit_code)
}

/// A title that nobody gave.
fn is_untitled(title: &str) -> bool {
    title == "CLI Session" || title.starts_with("New session") || title.starts_with("New Chat")
}
