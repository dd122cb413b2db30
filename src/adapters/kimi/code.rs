//! How the records of Kimi Code become events.
//!
//! A person's words stand in a `turn.prompt` and again in the message that the model gets; what the
//! model says comes in steps (`context.append_loop_event`) and once more as whole messages, which
//! are left out. So is a step's usage where it was recorded by itself.

use std::collections::HashMap;

use serde_json::value::RawValue;

use crate::adapters::functions::Function;
use crate::adapters::tags;
use crate::adapters::transcript::{Dialect, Tokens, Transcript, attached, hash};
use crate::adapters::wire::{self, Content, Count, Text, wire_types};
use crate::base::clock::Timestamp;
use crate::error::Result;
use crate::model::session::{EventKind, Position, Role};

/// Reads the logs of all agents of a session.
pub fn read(out: &mut Transcript) -> Result<()> {
    let mut main = Records::default();
    for file in out.main_files() {
        out.read_file(&mut main, file)?;
    }
    main.end_step(out)?;
    // Those that nobody was said to have started.
    for file in out.subagent_files() {
        if !main.read.contains(&file) {
            main.subagent(file, out)?;
        }
    }
    Ok(())
}

// What stands in a record, exactly as the agent writes it.

wire_types! {
    #[serde(rename_all = "camelCase")]
    struct WireRecord<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        time: Count,
        #[serde(alias = "protocol_version")]
        protocol_version: Text<'a>,
        cwd: Text<'a>,
        model_alias: Text<'a>,
        model: Text<'a>,
        input: Option<&'a RawValue>,
        origin: WireOrigin<'a>,
        message: Option<WireMessage<'a>>,
        event: Option<WireEvent<'a>>,
        usage: Option<WireUsage>,
        summary: Text<'a>,
        count: Count,
        reason: Text<'a>,
        subagent_id: Text<'a>,
        tool_name: Text<'a>,
        result: Option<WireDecision<'a>>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireOrigin<'a> {
        kind: Text<'a>,
        trigger: Text<'a>,
        skill_name: Text<'a>,
        skill_args: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireMessage<'a> {
        role: Text<'a>,
        content: Option<&'a RawValue>,
        origin: WireOrigin<'a>,
        tool_calls: Vec<WireCall<'a>>,
        tool_call_id: Text<'a>,
        is_error: Option<bool>,
    }

    struct WireCall<'a> {
        id: Text<'a>,
        name: Text<'a>,
        arguments: Option<&'a RawValue>,
        function: Option<Function<'a>>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireEvent<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        part: Option<WirePart<'a>>,
        tool_call_id: Text<'a>,
        name: Text<'a>,
        args: Option<&'a RawValue>,
        display: Option<WireDisplay<'a>>,
        result: Option<WireResult<'a>>,
        usage: Option<WireUsage>,
        model: Text<'a>,
    }

    struct WirePart<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        text: Text<'a>,
        think: Text<'a>,
    }

    struct WireDisplay<'a> {
        cwd: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireResult<'a> {
        output: Content<'a>,
        is_error: Option<bool>,
    }

    struct WireDecision<'a> {
        decision: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireUsage {
        input_other: Count,
        output: Count,
        input_cache_read: Count,
        input_cache_creation: Count,
    }
}

impl WireUsage {
    fn tokens(&self) -> Tokens {
        Tokens {
            input: self.input_other.0,
            output: self.output.0,
            cache_read: self.input_cache_read.0,
            cache_write: self.input_cache_creation.0,
            cost_usd: None,
        }
    }
}

/// Reads the records of one agent.
#[derive(Default)]
struct Records {
    /// By the name that the person gave a model: its own.
    models: HashMap<String, String>,
    model: String,
    /// Prompts that come again as messages.
    emitted: Vec<u64>,
    /// The episodes that still stand.
    standing: Vec<u32>,
    /// What the model is saying, with the time and the place of its first part.
    saying: Option<(Option<Timestamp>, Position, String)>,
    /// The usage of a step that was not recorded by itself.
    unrecorded: Option<Tokens>,
    is_recorded: bool,
    is_cancelled: bool,
    /// The subagents' logs that were read.
    read: Vec<usize>,
}

impl Dialect for Records {
    type Record<'a> = WireRecord<'a>;

    fn record(&mut self, record: WireRecord, out: &mut Transcript) -> Result<()> {
        out.context.at = record.time.milliseconds();
        match record.kind.as_str() {
            "metadata" => protocol(&record.protocol_version, out),
            "config.update" | "profile.bind" => {
                record.cwd.fill(&mut out.head.cwd);
                self.name_model(&record);
                Ok(())
            }
            "llm.request" => {
                self.name_model(&record);
                Ok(())
            }
            "turn.prompt" | "turn.steer" => self.prompt(record, out),
            "context.append_message" => match record.message {
                Some(message) => self.message(message, out),
                None => out.ignore("message without content"),
            },
            "context.append_loop_event" => match record.event {
                Some(event) => self.event(event, out),
                None => out.ignore("event without content"),
            },
            "usage.record" => {
                self.name_model(&record);
                (self.is_recorded, self.unrecorded) = (true, None);
                let tokens = record.usage.unwrap_or_default().tokens();
                out.count(&self.model, tokens);
                Ok(())
            }
            "context.apply_compaction" => out.compaction(record.summary.owned()),
            "context.undo" => self.undo(record.count.0 as usize, out),
            "context.clear" => out.lifecycle("context cleared"),
            "turn.cancel" => {
                self.is_cancelled = true;
                out.intervention("turn cancelled")
            }
            "turn.ended" => self.turn_ended(&record.reason, out),
            "permission.record_approval_result" => match record.result {
                Some(result) if result.decision.as_str() == "rejected" => {
                    out.intervention(format!("refused {}", record.tool_name.as_str()))
                }
                _ => out.ignore("permission.record_approval_result"),
            },
            "subagent.spawned" => self.spawned(&record.subagent_id, out),
            kind => out.ignore(kind),
        }
    }
}

impl Records {
    /// Notes which model answers, by its own name where that is known.
    fn name_model(&mut self, record: &WireRecord) {
        let (alias, model) = (record.model_alias.some(), record.model.some());
        if let (Some(alias), Some(model)) = (alias, model) {
            self.models.insert(alias.to_string(), model.to_string());
        }
        if let Some(name) = model.or(alias) {
            self.model = self.models.get(name).map_or(name, String::as_str).to_string();
        }
    }

    fn prompt(&mut self, record: WireRecord, out: &mut Transcript) -> Result<()> {
        let content = serde_json::from_str::<Content>(wire::raw(record.input)).unwrap_or_default();
        self.emitted.push(hash(content.text.trim()));
        self.said_by(record.origin, content, out)
    }

    /// Tells a prompt, if a person wrote it, or a subagent's task.
    fn said_by(&mut self, origin: WireOrigin, said: Content, out: &mut Transcript) -> Result<()> {
        let words = tags::without(&said.text, &["system-reminder", "git-context"]);
        let words = attached(&words, said.images, "image");
        let before = out.prompts;
        match origin.kind.as_str() {
            "user" | "" => out.prompt(&words)?,
            // The person typed `/name arguments`; the text is the skill's.
            "skill_activation" if origin.trigger.as_str() != "model-tool" => {
                let (name, arguments) = (origin.skill_name.as_str(), origin.skill_args.as_str());
                out.prompt(format!("/{name} {arguments}").trim_end_matches(['/', ' ']))?;
            }
            "system_trigger" if out.context.agent.is_some() => out.prompt(&words)?,
            kind => out.ignore(&format!("message of {kind}"))?,
        }
        if out.prompts > before {
            self.standing.push(out.prompts);
            self.is_cancelled = false;
        }
        Ok(())
    }

    fn message(&mut self, message: WireMessage, out: &mut Transcript) -> Result<()> {
        let content = || serde_json::from_str::<Content>(wire::raw(message.content));
        match message.role.as_str() {
            "user" => {
                let content = content().unwrap_or_default();
                let key = hash(content.text.trim());
                match self.emitted.iter().position(|seen| *seen == key) {
                    Some(at) => {
                        self.emitted.remove(at);
                        out.ignore("prompt told again")
                    }
                    None => self.said_by(message.origin, content, out),
                }
            }
            "assistant" => {
                let parts: Vec<WirePart> =
                    serde_json::from_str(wire::raw(message.content)).unwrap_or_default();
                for part in parts {
                    self.part(part, out)?;
                }
                self.end_saying(out)?;
                for call in message.tool_calls {
                    let function = call.function.unwrap_or_default();
                    let name = if call.name.is_empty() { function.name } else { call.name };
                    let arguments = wire::plain(call.arguments.or(function.arguments));
                    out.call(call.id.0, name.0, &arguments)?;
                }
                Ok(())
            }
            "tool" => {
                let content = content().unwrap_or_default();
                result(message.tool_call_id, content, message.is_error, out)
            }
            role => out.ignore(&format!("message {role}")),
        }
    }

    fn event(&mut self, event: WireEvent, out: &mut Transcript) -> Result<()> {
        match event.kind.as_str() {
            "step.begin" => {
                self.end_step(out)?;
                self.is_recorded = false;
                Ok(())
            }
            "content.part" => event.part.map_or(Ok(()), |part| self.part(part, out)),
            "tool.call" => {
                self.end_saying(out)?;
                if let Some(display) = event.display {
                    display.cwd.fill(&mut out.head.cwd);
                }
                out.call(event.tool_call_id.0, event.name.0, &wire::plain(event.args))
            }
            "tool.result" => {
                let WireResult { output, is_error } = event.result.unwrap_or_default();
                result(event.tool_call_id, output, is_error, out)
            }
            "step.end" => {
                event.model.some().inspect(|model| self.model = model.to_string());
                if !self.is_recorded {
                    self.unrecorded = event.usage.map(|usage| usage.tokens());
                }
                self.end_saying(out)
            }
            kind => out.ignore(kind),
        }
    }

    /// A part of what the model says; several that follow each other are one text.
    fn part(&mut self, part: WirePart, out: &mut Transcript) -> Result<()> {
        match part.kind.as_str() {
            "text" => {
                let begun = || (out.context.at, out.context.position, String::new());
                let saying = self.saying.get_or_insert_with(begun);
                saying.2.push_str(&part.text);
                Ok(())
            }
            "think" => {
                self.end_saying(out)?;
                out.think(if part.think.is_empty() { part.text.0 } else { part.think.0 })
            }
            kind => out.ignore(&format!("part {kind}")),
        }
    }

    fn end_saying(&mut self, out: &mut Transcript) -> Result<()> {
        let Some((at, position, text)) = self.saying.take() else { return Ok(()) };
        let context = out.context.clone();
        (out.context.at, out.context.position) = (at, position);
        out.reply(text.into())?;
        out.context = context;
        Ok(())
    }

    fn end_step(&mut self, out: &mut Transcript) -> Result<()> {
        if let Some(used) = self.unrecorded.take() {
            out.count(&self.model, used);
        }
        self.end_saying(out)
    }

    /// The person took back so many prompts.
    fn undo(&mut self, count: usize, out: &mut Transcript) -> Result<()> {
        if count == 0 || out.context.agent.is_some() {
            return out.ignore("context.undo");
        }
        self.standing.truncate(self.standing.len().saturating_sub(count));
        let kept = self.standing.last().copied().unwrap_or(0);
        out.emit(EventKind::Rewind { kept })
    }

    fn turn_ended(&mut self, reason: &str, out: &mut Transcript) -> Result<()> {
        self.end_saying(out)?;
        match reason {
            "completed" => out.completion(),
            "cancelled" if self.is_cancelled => out.ignore("turn.ended"),
            "cancelled" => out.intervention("turn cancelled"),
            reason => out.lifecycle(format!("turn {reason}")),
        }
    }

    /// A subagent was started: its log is read here.
    fn spawned(&mut self, id: &str, out: &mut Transcript) -> Result<()> {
        let is_its = |at: &usize| out.log.files[*at].role == Role::Subagent(id.to_string());
        let file = out.subagent_files().into_iter().find(is_its);
        match file.filter(|file| !self.read.contains(file)) {
            Some(file) => self.subagent(file, out),
            None => out.ignore("subagent.spawned"),
        }
    }

    fn subagent(&mut self, file: usize, out: &mut Transcript) -> Result<()> {
        self.read.push(file);
        let mut child = Records { read: std::mem::take(&mut self.read), ..Records::default() };
        out.read_file(&mut child, file)?;
        child.end_step(out)?;
        self.read = child.read;
        Ok(())
    }
}

/// Names a log that a later program wrote.
fn protocol(version: &Text, out: &mut Transcript) -> Result<()> {
    let major = version.split('.').next().and_then(|major| major.parse::<u64>().ok());
    if major.is_some_and(|major| major > 1) {
        let (at, version) = (out.context.position, version.as_str());
        let reason = format!("written by protocol {version}, which is newer than 1");
        out.skip(at.file as usize, at.line, reason);
    }
    Ok(())
}

fn result(id: Text, output: Content, is_error: Option<bool>, out: &mut Transcript) -> Result<()> {
    // The last line of a command that failed: `Command failed with exit code: 2.`
    let last = output.text.trim_end().lines().next_back().unwrap_or_default();
    let code = last.strip_prefix("Command failed with exit code: ");
    let exit_code = code.and_then(|code| code.trim_end_matches('.').parse().ok());
    out.result(id.0, output, is_error == Some(true), exit_code)
}
