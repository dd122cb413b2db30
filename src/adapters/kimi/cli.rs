//! How the records of kimi-cli become events: `{timestamp, message: {type, payload}}`, or the
//! messages as the model got them (`context.jsonl`), where nothing else is left.

use std::collections::HashMap;

use serde_json::value::RawValue;

use crate::adapters::functions::Function;
use crate::adapters::tags;
use crate::adapters::transcript::{Dialect, Tokens, Transcript, attached};
use crate::adapters::wire::{self, Content, Count, Text, wire_types};
use crate::base::clock;
use crate::error::Result;

/// kimi-cli does not say which model answered.
const MODEL: &str = "kimi";

/// Reads the log of a session.
pub fn read(out: &mut Transcript) -> Result<()> {
    let mut records = Records::default();
    out.read_log(&mut records)?;
    for agent in records.calls.keys().cloned().collect::<Vec<_>>() {
        records.end_call(&agent, out)?;
    }
    Ok(())
}

wire_types! {
    struct WireRecord<'a> {
        timestamp: Text<'a>,
        message: Option<WireMessage<'a>>,
        role: Text<'a>,
        content: Option<&'a RawValue>,
        tool_calls: Vec<WirePayload<'a>>,
        tool_call_id: Text<'a>,
    }

    struct WireMessage<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        payload: Option<&'a RawValue>,
    }

    /// The fields that we read of what stands in a message, whatever its kind.
    struct WirePayload<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        user_input: Content<'a>,
        text: Text<'a>,
        think: Text<'a>,
        id: Text<'a>,
        function: Option<Function<'a>>,
        arguments_part: Text<'a>,
        tool_call_id: Text<'a>,
        return_value: Option<WireReturn<'a>>,
        token_usage: Option<WireUsage>,
        response: Text<'a>,
        agent_id: Text<'a>,
        parent_tool_call_id: Text<'a>,
        /// What a subagent did; of a hook, its name.
        event: Option<&'a RawValue>,
    }

    struct WireReturn<'a> {
        output: Content<'a>,
        message: Text<'a>,
        is_error: Option<bool>,
    }

    struct WireUsage {
        input_other: Count,
        output: Count,
        input_cache_read: Count,
        input_cache_creation: Count,
    }
}

/// A call whose arguments are still coming.
struct Call {
    id: String,
    name: String,
    arguments: String,
}

/// Reads the records of one session.
#[derive(Default)]
struct Records {
    /// The latest call of each agent; the main one has no name.
    calls: HashMap<String, Call>,
}

impl Dialect for Records {
    type Record<'a> = WireRecord<'a>;

    fn record(&mut self, record: WireRecord, out: &mut Transcript) -> Result<()> {
        out.context.at = record.timestamp.parse().ok().and_then(clock::from_seconds);
        match record.message {
            Some(message) => self.message(message, out),
            None if record.role.is_empty() => out.ignore("metadata"),
            None => context(record, out),
        }
    }
}

impl Records {
    fn message(&mut self, message: WireMessage, out: &mut Transcript) -> Result<()> {
        let Some(payload) = out.parse::<WirePayload>(wire::raw(message.payload)) else {
            return Ok(());
        };
        let agent = out.context.agent.as_deref().unwrap_or_default().to_string();
        if !matches!(message.kind.as_str(), "ToolCallPart" | "SubagentEvent") {
            self.end_call(&agent, out)?;
        }
        match message.kind.as_str() {
            "TurnBegin" | "SteerInput" => prompt(payload.user_input, out),
            "ContentPart" => match payload.kind.as_str() {
                "text" => out.reply(payload.text.0),
                "think" => out.think(payload.think.0),
                kind => out.ignore(&format!("part {kind}")),
            },
            "ToolCall" => {
                let function = payload.function.unwrap_or_default();
                let (id, name) = (payload.id.0.into_owned(), function.name.0.into_owned());
                let arguments = wire::plain(function.arguments).into_owned();
                self.calls.insert(agent, Call { id, name, arguments });
                Ok(())
            }
            "ToolCallPart" => {
                if let Some(call) = self.calls.get_mut(&agent) {
                    call.arguments.push_str(&payload.arguments_part);
                }
                Ok(())
            }
            "ToolResult" => {
                let WireReturn { mut output, message, is_error } =
                    payload.return_value.unwrap_or_default();
                let exit_code = exit_code(&message);
                if output.text.trim().is_empty() {
                    output.text = message.0;
                }
                out.result(payload.tool_call_id.0, output, is_error == Some(true), exit_code)
            }
            "StatusUpdate" => {
                count(payload.token_usage, out);
                Ok(())
            }
            "SubagentEvent" => self.subagent(payload, out),
            "ApprovalResponse" if payload.response.as_str() == "reject" => {
                out.intervention("refused a tool")
            }
            "StepInterrupted" => out.intervention("step interrupted"),
            "CompactionEnd" => out.compaction(None),
            "TurnEnd" => out.completion(),
            kind => out.ignore(kind),
        }
    }

    /// What happened in a subagent stands in the midst of the session.
    fn subagent(&mut self, payload: WirePayload, out: &mut Transcript) -> Result<()> {
        let event = wire::raw(payload.event);
        let Some(event) = out.parse::<WireMessage>(event) else { return Ok(()) };
        // The call that started it is whole.
        let started_by = payload.parent_tool_call_id.as_str();
        if self.calls.get("").is_some_and(|call| call.id == started_by) {
            self.end_call("", out)?;
        }
        let names = [&payload.agent_id, &payload.parent_tool_call_id];
        let agent = names.into_iter().find_map(Text::owned).unwrap_or_else(|| "subagent".into());
        out.context.agent = Some(agent.into());
        self.message(event, out)
    }

    /// Tells a call of an agent, the arguments of which are all there.
    fn end_call(&mut self, agent: &str, out: &mut Transcript) -> Result<()> {
        let Some(Call { id, name, arguments }) = self.calls.remove(agent) else { return Ok(()) };
        out.call(id.into(), name.into(), &arguments)
    }
}

fn prompt(input: Content, out: &mut Transcript) -> Result<()> {
    let words = tags::without(&input.text, &["system-reminder"]);
    out.prompt(&attached(&words, input.images, "image"))
}

fn count(usage: Option<WireUsage>, out: &mut Transcript) {
    let Some(used) = usage else { return };
    let tokens = Tokens {
        input: used.input_other.0,
        output: used.output.0,
        cache_read: used.input_cache_read.0,
        cache_write: used.input_cache_creation.0,
        cost_usd: None,
    };
    out.count(MODEL, tokens);
}

/// The exit code in a message like `Command failed with exit code: 1.`
fn exit_code(message: &str) -> Option<i32> {
    let (_, code) = message.rsplit_once("exit code: ")?;
    code.trim_end_matches('.').parse().ok()
}

/// A message as the model got it.
fn context(record: WireRecord, out: &mut Transcript) -> Result<()> {
    let content = || serde_json::from_str::<Content>(wire::raw(record.content)).unwrap_or_default();
    match record.role.as_str() {
        "user" => prompt(content(), out),
        "assistant" => {
            out.reply(content().text)?;
            for call in record.tool_calls {
                let function = call.function.unwrap_or_default();
                out.call(call.id.0, function.name.0, &wire::plain(function.arguments))?;
            }
            Ok(())
        }
        "tool" => {
            let content = content();
            let failed = content.text.starts_with("<system>ERROR");
            out.result(record.tool_call_id.0, content, failed, None)
        }
        role => out.ignore(role),
    }
}
