//! DeepSeek Harness: `sessions/<project>/<id>/session.jsonl.zstd`, or `session.jsonl`, one event
//! per line (built from the published source of August 2026 and its snapshots; not seen as a real
//! log).
//!
//! The first line is the header. A session that another one started or that was forked begins with
//! `seedLength` events of that one. What the model says comes in chunks first, and once more as a
//! whole; calls stand in its message and in an event of their own.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use super::transcript::{Dialect, Transcript, WireTokens, attached, hash};
use super::wire::{self, Content, Count, Lenient, Text, plain, wire_types};
use super::{Adapter, Identity, Places, jsonl};
use crate::error::Result;
use crate::model::session::{BegunBy, EventSink, Head, Log};

/// DeepSeek Harness.
pub struct Dsh;

impl Adapter for Dsh {
    fn name(&self) -> &'static str {
        "dsh"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        vec![places.folder("DSH_HOME", ".dsh").join("sessions")]
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if ![".jsonl", ".jsonl.zstd", ".jsonl.zst"].iter().any(|end| name.ends_with(end)) {
            return Ok(None);
        }
        let records = jsonl::first_objects(file, 1)?;
        let Some(header) = records.first() else { return Ok(None) };
        let id = jsonl::string(header, "id");
        let created = header.get("createdAt").and_then(serde_json::Value::as_u64);
        let (true, Some(created)) = (jsonl::string(header, "type") == "session", created) else {
            return Ok(None);
        };
        let is_child = jsonl::string(header, "origin") == "subagent";
        let parent = is_child.then(|| jsonl::string(header, "parentSession").to_string());
        let identity = Identity::main(id, Some(format!("{id} {created}"))).started_by(parent);
        Ok((!id.is_empty()).then_some(identity))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let (mut out, mut reader) = (Transcript::new(log, events), Reader::default());
        out.read_log(&mut reader)?;
        reader.end_of_step(&mut out)?;
        Ok(out.head)
    }
}

// What stands in an event, exactly as the agent writes it.

wire_types! {
    #[serde(rename_all = "camelCase")]
    struct WireEvent<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        version: Count,
        created_at: Count,
        cwd: Text<'a>,
        parent_session: Text<'a>,
        seed_length: Count,
        origin: Text<'a>,
        time: Count,
        time0: Count,
        data: WireData<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireData<'a> {
        content: Option<&'a RawValue>,
        message: Lenient<WireMessage<'a>>,
        source: Lenient<WireSource<'a>>,
        usage: Option<WireTokens>,
        provenance: Lenient<WireModel<'a>>,
        header: Lenient<WireHeader<'a>>,
        title: Text<'a>,
        call_id: Text<'a>,
        sub_call_id: Text<'a>,
        name: Text<'a>,
        arguments: Option<&'a RawValue>,
        is_error: Option<bool>,
        reason: Lenient<WireReason<'a>>,
        texts: Lenient<Vec<Text<'a>>>,
        summary: Text<'a>,
    }

    struct WireMessage<'a> {
        content: Option<&'a RawValue>,
    }

    struct WireSource<'a> {
        kind: Text<'a>,
    }

    struct WireHeader<'a> {
        config: Lenient<WireModel<'a>>,
    }

    struct WireModel<'a> {
        model: Text<'a>,
    }

    /// Why a turn ended.
    struct WireReason<'a> {
        kind: Text<'a>,
        message: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireBlock<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        text: Text<'a>,
        id: Text<'a>,
        name: Text<'a>,
        arguments: Option<&'a RawValue>,
        tool_call_id: Text<'a>,
        content: Content<'a>,
        is_error: Option<bool>,
    }
}

/// Reads the events of one session.
#[derive(Default)]
struct Reader {
    model: Option<String>,
    /// How many of the next events are another session's.
    seed: u64,
    /// What the model has said in chunks since its last whole message.
    partial: String,
    /// The calls that were read.
    calls: HashSet<u64>,
}

impl Dialect for Reader {
    type Record<'a> = WireEvent<'a>;

    fn record(&mut self, event: WireEvent, out: &mut Transcript) -> Result<()> {
        if event.kind.as_str() == "session" {
            return self.session(event, out);
        }
        if self.seed > 0 {
            self.seed -= 1;
            out.inherit();
        }
        out.context.at = event.time.milliseconds().or(event.time0.milliseconds());
        let data = event.data;
        match event.kind.as_str() {
            "user/message" if matches!(data.source.kind.as_str(), "user" | "") => {
                let typed: Content =
                    serde_json::from_str(wire::raw(data.content)).unwrap_or_default();
                out.prompt(&attached(&typed.text, typed.images, "image"))
            }
            "user/message" => out.ignore("user message that no person wrote"),
            "assistant/message" => self.assistant(data, out),
            "tool/call" => self.call(data.call_id, data.name, data.arguments, out),
            // What code that the model wrote calls by itself.
            "tool/code-dispatch-start" => {
                self.call(data.sub_call_id, data.name, data.arguments, out)
            }
            "tool/code-dispatch" => {
                let content = serde_json::from_str(wire::raw(data.content)).unwrap_or_default();
                result(data.sub_call_id, content, data.is_error, out)
            }
            "tool/result" => answer(data, out),
            "text-chunks" => {
                self.partial.extend(data.texts.iter().map(Text::as_str));
                out.ignore("text-chunks")
            }
            "request/header" => {
                data.header.config.model.replace(&mut self.model);
                Ok(())
            }
            // A title that nobody gave is the beginning of the first prompt.
            "session/title" if data.source.kind.as_str() != "fallback" => {
                data.title.replace(&mut out.head.title);
                Ok(())
            }
            "turn/end" => self.end_of_turn(&data.reason, out),
            kind if kind.contains("compact") => out.compaction(data.summary.owned()),
            kind => out.ignore(kind),
        }
    }
}

impl Reader {
    fn session(&mut self, header: WireEvent, out: &mut Transcript) -> Result<()> {
        if header.version.0 > 0 {
            let at = out.context.position;
            let reason = format!("a newer format, version {}: it may be misread", header.version.0);
            out.skip(at.file as usize, at.line, reason);
        }
        header.cwd.fill(&mut out.head.cwd);
        header.parent_session.fill(&mut out.head.parent);
        out.began = header.created_at.milliseconds();
        self.seed = header.seed_length.0;
        if header.origin.as_str() == "subagent" {
            out.head.begun_by = BegunBy::Agent;
        }
        Ok(())
    }

    fn assistant(&mut self, data: WireData, out: &mut Transcript) -> Result<()> {
        self.partial.clear();
        let model = data.provenance.model.some().or(self.model.as_deref()).unwrap_or("unknown");
        if let Some(used) = data.usage.filter(|_| !out.context.inherited) {
            out.count(model, used.into());
        }
        let content = wire::raw(data.message.content.or(data.content));
        for block in out.parse::<Vec<WireBlock>>(content).unwrap_or_default() {
            match block.kind.as_str() {
                "text" => out.reply(block.text.0)?,
                "reasoning" => out.think(block.text.0)?,
                "tool-call" => self.call(block.id, block.name, block.arguments, out)?,
                kind => out.ignore(&format!("block {kind}"))?,
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        id: Text,
        name: Text,
        arguments: Option<&RawValue>,
        out: &mut Transcript,
    ) -> Result<()> {
        match self.calls.insert(hash(id.as_str())) {
            true => out.call(id.0, name.0, &plain(arguments)),
            false => out.ignore("call told again"),
        }
    }

    fn end_of_turn(&mut self, reason: &WireReason, out: &mut Transcript) -> Result<()> {
        self.end_of_step(out)?;
        match reason.kind.as_str() {
            "completed" | "" => out.completion(),
            "aborted" | "interrupted" => out.intervention("turn interrupted"),
            kind => out.lifecycle(format!("turn ended: {kind} {}", reason.message.trim()).trim()),
        }
    }

    /// What was said in chunks and never came as a whole.
    fn end_of_step(&mut self, out: &mut Transcript) -> Result<()> {
        out.reply(std::mem::take(&mut self.partial).into())
    }
}

/// A tool's answer: in the event itself, or in a message.
fn answer(data: WireData, out: &mut Transcript) -> Result<()> {
    let Some(message) = data.message.content else {
        let content = serde_json::from_str(wire::raw(data.content)).unwrap_or_default();
        return result(data.call_id, content, data.is_error, out);
    };
    for block in out.parse::<Vec<WireBlock>>(message.get()).unwrap_or_default() {
        result(block.tool_call_id, block.content, block.is_error, out)?;
    }
    Ok(())
}

fn result(id: Text, content: Content, failed: Option<bool>, out: &mut Transcript) -> Result<()> {
    let last = content.text.trim_end().lines().next_back().unwrap_or_default();
    let code = last.strip_prefix("[exit code: ").and_then(|code| code.strip_suffix(']'));
    let exit_code = code.and_then(|code| code.parse().ok());
    out.result(id.0, content, failed == Some(true), exit_code)
}
