//! Reads a session of Vibe before 3.0: a message for each line, and what `meta.json` says.

use std::path::Path;

use super::META;
use crate::adapters::functions::{self, FunctionCall};
use crate::adapters::transcript::{Dialect, Tokens, Transcript, attached};
use crate::adapters::wire::{Content, Count, Lenient, Text, wire_types};
use crate::error::Result;
use crate::model::session::EventKind;

wire_types! {
    /// `meta.json`, which the store has too.
    pub struct WireMeta<'a> {
        pub parent_session_id: Text<'a>,
        pub start_time: Text<'a>,
        pub git_branch: Text<'a>,
        pub git_commit: Text<'a>,
        pub title: Text<'a>,
        pub title_source: Text<'a>,
        pub model: Text<'a>,
        pub environment: Lenient<WireEnvironment<'a>>,
        pub config: Lenient<WireConfig<'a>>,
        pub stats: Lenient<WireStats>,
    }

    pub struct WireEnvironment<'a> {
        pub working_directory: Text<'a>,
    }

    pub struct WireConfig<'a> {
        pub active_model: Text<'a>,
        pub model_name: Text<'a>,
    }

    pub struct WireStats {
        pub session_prompt_tokens: Count,
        pub session_completion_tokens: Count,
        pub session_cached_tokens: Count,
    }

    struct WireMessage<'a> {
        role: Text<'a>,
        content: Content<'a>,
        reasoning_content: Text<'a>,
        injected: Option<bool>,
        tool_calls: Option<Vec<FunctionCall<'a>>>,
        name: Text<'a>,
        tool_call_id: Text<'a>,
    }
}

/// Reads the messages of one session.
pub fn read(out: &mut Transcript) -> Result<()> {
    let Some(bytes) = meta_document(out)? else { return out.read_log(&mut Messages) };
    let meta: WireMeta = serde_json::from_slice(&bytes).unwrap_or_default();
    describe(&meta, out);
    out.read_log(&mut Messages)?;
    let used = &meta.stats;
    let tokens = Tokens {
        input: used.session_prompt_tokens.0,
        output: used.session_completion_tokens.0,
        cache_read: used.session_cached_tokens.0,
        ..Tokens::default()
    };
    if tokens.input + tokens.output > 0 {
        let model = meta.model.some().or(meta.config.active_model.some()).unwrap_or("unknown");
        out.count(model, tokens.without_cached_input());
    }
    Ok(())
}

/// The latest `meta.json` of a session, where there is one.
pub fn meta_document(out: &mut Transcript) -> Result<Option<Vec<u8>>> {
    let at = out.log.files.iter().position(|file| file.name == Path::new(META));
    at.map_or(Ok(None), |file| out.read_document(file))
}

/// Takes over what describes a session.
pub fn describe(meta: &WireMeta, out: &mut Transcript) {
    meta.environment.working_directory.fill(&mut out.head.cwd);
    meta.git_branch.fill(&mut out.head.branch);
    meta.git_commit.fill(&mut out.head.head_commit);
    meta.parent_session_id.fill(&mut out.head.parent);
    // What nobody gave is the beginning of the first prompt.
    if meta.title_source.as_str() == "manual" {
        meta.title.fill(&mut out.head.title);
        out.head.titled_by_person = out.head.title.is_some();
    }
    out.began = meta.start_time.time();
}

struct Messages;

impl Dialect for Messages {
    type Record<'a> = WireMessage<'a>;

    fn record(&mut self, message: WireMessage, out: &mut Transcript) -> Result<()> {
        match message.role.as_str() {
            "user" if message.injected == Some(true) => injected(&message.content.text, out),
            "user" => out.prompt(&attached(&message.content.text, message.content.images, "image")),
            "assistant" => {
                out.think(message.reasoning_content.0)?;
                out.reply(message.content.text)?;
                let calls = message.tool_calls.unwrap_or_default();
                let finished = calls.is_empty();
                functions::emit(calls, out)?;
                if finished { out.completion() } else { Ok(()) }
            }
            "tool" => result(message, out),
            "" => out.ignore("record without a role"),
            role => out.ignore(role),
        }
    }
}

/// What the program put into the person's role.
fn injected(text: &str, out: &mut Transcript) -> Result<()> {
    if text.starts_with("Manual `!` command result from the user") {
        return out.lifecycle(text);
    }
    let summary = text.split_once("<compaction_summary>").map(|(_, rest)| {
        rest.split_once("</compaction_summary>").map_or(rest, |(summary, _)| summary).trim()
    });
    match summary {
        Some(summary) => out.emit(EventKind::Compaction(summary.into())),
        None => out.ignore("user message that no person wrote"),
    }
}

fn result(message: WireMessage, out: &mut Transcript) -> Result<()> {
    let text = message.content.text.trim();
    let failed = text.starts_with("<tool_error>");
    let exit_code = (message.name.as_str() == "bash").then(|| exit_code(text)).flatten();
    out.result(message.tool_call_id.0, message.content, failed, exit_code)
}

/// The exit code in the last line of a command's answer: `returncode: 1`, or of a failed one's
/// `Return code: 1</tool_error>`.
fn exit_code(text: &str) -> Option<i32> {
    let mut lines = text.trim_end_matches("</tool_error>").lines().rev().take(4);
    let code = |line: &str| {
        let code = line.strip_prefix("returncode: ").or(line.strip_prefix("Return code: "))?;
        code.trim().parse().ok()
    };
    lines.find_map(code)
}
