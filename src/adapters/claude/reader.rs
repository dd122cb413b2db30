//! Reads the records of one session of Claude Code into events.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::io::Read;

use super::user_text::{UserText, classify};
use super::wire::{
    WireBlock, WireCompaction, WireContent, WireCost, WireOrigin, WireRecord, WireUsage, blocks,
    changed_file, details, text_of,
};
use super::{forks, is_uuid};
use crate::adapters::jsonl::{self, Lines};
use crate::adapters::transcript::{Dialect, Tokens, Transcript, attached, hash};
use crate::adapters::wire::{Content, raw};
use crate::base::clock::{self, Timestamp};
use crate::base::{files, text};
use crate::error::{Context, Result};
use crate::model::evidence::FileState;
use crate::model::session::{BegunBy, CallResult, EventKind, Head, Log, LogFile, Role};

/// How the ids of the subagents begin that write compaction summaries.
const COMPACTION_WORKER: &str = "acompact";
/// How much is read of an output that was moved out of the log; the pages show less.
const LONGEST_OUTPUT: u64 = 1 << 20;
const NO_PERSON: &str = "user record that no person wrote";
const FROM_QUEUE: &str = "queued prompt that was already told";

/// Reads the files of one session into events.
#[derive(Default)]
pub struct Reader {
    titles: Titles,
    /// The records read so far.
    records: HashMap<u64, RecordNode>,
    /// The record of the latest prompt; none where it came without one of its own.
    latest_prompt: Option<u64>,
    /// By message and request: which model, and what was counted for it.
    usage: HashMap<u64, (usize, WireUsage)>,
    /// What each model cost by the last `cost-state`, where nothing was counted since.
    cost: BTreeMap<String, WireCost>,
    queue: VecDeque<String>,
    from_queue: HashSet<u64>,
    /// The command that the person ran and whose output is coming.
    own_command: Option<String>,
    /// By main file: how many of its first lines were copied from another session.
    copied: HashMap<u32, u64>,
    /// Subagent files that no call has led to yet, by agent id.
    subagents: Vec<Subagent>,
    /// Whether the session's own file is gone, and the subagents' are all that is left of it.
    has_no_main: bool,
    /// Whose task was read, where it has none.
    tasks: HashSet<String>,
}

/// A record's place in the tree of records.
struct RecordNode {
    /// How many prompts there were when it came.
    prompts: u32,
    /// The record that it goes on from, where that one came before it.
    parent: Option<u64>,
}

struct Subagent {
    id: String,
    file: usize,
    began: Option<Timestamp>,
}

#[derive(Default)]
struct Titles {
    custom: Option<String>,
    ai: Option<String>,
    agent: Option<String>,
    /// Summaries with the record that each of them sums up to.
    summaries: Vec<(u64, String)>,
}

impl Dialect for Reader {
    type Record<'a> = WireRecord<'a>;

    fn record(&mut self, mut record: WireRecord, out: &mut Transcript) -> Result<()> {
        out.context.at = record.timestamp.as_deref().and_then(clock::parse);
        let is_main = out.context.agent.is_none();
        let position = out.context.position;
        let is_copied = record.uuid.is_some()
            && self.copied.get(&position.file).is_some_and(|last| position.line <= *last);
        let is_foreign =
            record.session_id.as_deref().is_some_and(|id| is_another_session(out.log, id));
        let is_copy = is_main && (is_copied || is_foreign);
        let key = record.uuid.as_deref().map(hash);
        if key.is_some_and(|key| self.records.contains_key(&key)) {
            // Still look at the usage: of several copies the last one counts.
            out.context.inherited = is_copy;
            self.count_usage(&record, out);
            return out.ignore("repeated record");
        }
        if is_copy {
            out.inherit();
            if is_foreign {
                out.head.parent = record.session_id.as_deref().map(str::to_string);
            }
        } else if is_main || self.has_no_main {
            note_place(&record, &mut out.head);
        }
        if is_main && record.is_sidechain == Some(true) {
            let agent = record.agent_id.take().map_or("sidechain".into(), Cow::into_owned);
            out.context.agent = Some(agent.into());
        }
        let parent = record.parent_uuid.as_deref().map(hash);
        let parent = parent.filter(|parent| self.records.contains_key(parent));
        let (prompts, is_user) = (out.prompts, record.kind == "user");
        self.read(record, out)?;
        if out.prompts > prompts {
            self.latest_prompt = key.filter(|_| is_user);
        }
        if let Some(key) = key {
            self.records.insert(key, RecordNode { prompts: out.prompts, parent });
        }
        Ok(())
    }
}

impl Reader {
    pub fn new(log: &Log) -> Reader {
        let subagent = |(file, log_file): (usize, &LogFile)| match &log_file.role {
            Role::Subagent(id) if !id.starts_with(COMPACTION_WORKER) => {
                let began = jsonl::first_objects(&log_file.path, 5).ok().and_then(|records| {
                    records.iter().find_map(|r| clock::parse(r.get("timestamp")?.as_str()?))
                });
                Some(Subagent { id: id.clone(), file, began })
            }
            _ => None,
        };
        let mut subagents: Vec<_> = log.files.iter().enumerate().filter_map(subagent).collect();
        subagents.sort_by(|a, b| (a.began, &a.id).cmp(&(b.began, &b.id)));
        let main = log.files.iter().enumerate().filter(|(_, file)| file.role == Role::Main);
        let copied = main.map(|(at, file)| (at as u32, forks::copied_lines(&file.path)));
        let copied = copied.filter(|(_, lines)| *lines > 0).collect();
        let has_no_main = log.files.iter().all(|file| file.role != Role::Main);
        Reader { subagents, copied, has_no_main, ..Reader::default() }
    }

    fn read(&mut self, record: WireRecord, out: &mut Transcript) -> Result<()> {
        match record.kind.as_ref() {
            "assistant" => return self.assistant(record, out),
            "user" => return self.user(record, out),
            "attachment" => return self.attachment(record, out),
            "queue-operation" => return self.queue_operation(record, out),
            "system" => return system(record, out),
            "summary" => {
                // Often it is another session's; that is known when all records have been read.
                if let (Some(leaf), Some(summary)) = (record.leaf_uuid, owned(record.summary)) {
                    self.titles.summaries.push((hash(leaf.as_ref()), summary));
                }
            }
            "custom-title" => put(&mut self.titles.custom, record.custom_title.or(record.title)),
            "ai-title" => put(&mut self.titles.ai, record.ai_title.or(record.title)),
            "agent-name" => put(&mut self.titles.agent, record.agent_name.or(record.title)),
            "pr-link" => {
                let known = &mut out.head.pull_requests;
                let url = owned(record.pr_url);
                known.extend(url.filter(|url| known.len() < 100 && !known.contains(url)));
            }
            "cost-state" if !out.context.inherited => {
                self.cost = serde_json::from_str(raw(record.model_usage)).unwrap_or_default();
            }
            "progress" => {
                let kind = details(record.data).kind.unwrap_or_default();
                return out.ignore(&format!("progress {kind}"));
            }
            kind => return out.ignore(kind),
        }
        Ok(())
    }

    fn assistant(&mut self, record: WireRecord, out: &mut Transcript) -> Result<()> {
        self.count_usage(&record, out);
        let Some(message) = record.message else { return Ok(()) };
        let finished = matches!(message.stop_reason.as_deref(), Some("end_turn" | "stop_sequence"));
        let is_error = record.is_api_error_message == Some(true);
        for block in blocks(message.content) {
            match block.kind.as_ref() {
                "text" if is_error => out.lifecycle(block.text.unwrap_or_default())?,
                "text" => out.reply(block.text.unwrap_or_default())?,
                "thinking" => out.think(block.thinking.unwrap_or_default())?,
                "tool_use" | "server_tool_use" => {
                    let (id, tool) = (block.id.unwrap_or_default(), block.name.unwrap_or_default());
                    out.call(id, tool, raw(block.input))?;
                }
                "tool_result" => result(block, FileState::Unknown, out)?,
                kind => out.ignore(&format!("block {kind}"))?,
            }
        }
        if finished && out.context.agent.is_none() {
            out.completion()?;
        }
        Ok(())
    }

    fn user(&mut self, record: WireRecord, out: &mut Transcript) -> Result<()> {
        let agent_id = details(record.tool_use_result).agent_id;
        let mut state = record.tool_use_result.map(changed_file).unwrap_or_default();
        let is_human = record
            .origin
            .and_then(|raw| serde_json::from_str::<WireOrigin>(raw.get()).ok())
            .is_none_or(|origin| origin.kind == "human");
        let content = record.message.map(|message| message.content).unwrap_or_default();
        let mut texts: Vec<Cow<str>> = Vec::new();
        let (mut images, mut answered) = (0, false);
        for block in blocks(content) {
            match block.kind.as_ref() {
                "tool_result" => {
                    answered = true;
                    result(block, std::mem::take(&mut state), out)?;
                }
                "text" => texts.extend(block.text),
                "image" | "document" => images += 1,
                kind => out.ignore(&format!("block {kind}"))?,
            }
        }
        if let Some(agent) = agent_id {
            self.subagent(&agent, out)?;
        }
        let text = texts.join("\n");
        let text = text.trim();
        if record.is_compact_summary == Some(true) {
            return out.emit(EventKind::Compaction(text.into()));
        }
        if text.is_empty() {
            // A pasted picture stands in a record of its own, beside the words that go with it.
            return if answered || images == 0 { Ok(()) } else { out.lifecycle("a picture") };
        }
        if let Some(agent) = &out.context.agent {
            // The task that was handed to the subagent; the call that handed it over says the same.
            return match self.has_no_main && self.tasks.insert(agent.to_string()) {
                true => self.task(text, out),
                false => out.lifecycle(text),
            };
        }
        let by_person = is_human && record.is_meta != Some(true);
        let parent = record.parent_uuid.as_deref().map(hash);
        self.user_text(text, images, by_person, parent, out)
    }

    /// What stands in a record that is called the person's.
    fn user_text(
        &mut self,
        text: &str,
        images: u32,
        by_person: bool,
        parent: Option<u64>,
        out: &mut Transcript,
    ) -> Result<()> {
        match classify(text) {
            // It comes in the person's name, and says itself that it does not come from them.
            UserText::Notification(said) => out.lifecycle(said),
            _ if !by_person => out.ignore(NO_PERSON),
            UserText::Interruption => out.intervention(text),
            UserText::Command(command) => out.lifecycle(command),
            UserText::OwnCommand(command) => {
                let id = format!("own-command-{}", out.context.position.line);
                out.own_command(id.as_str().into(), &command)?;
                self.own_command = Some(id);
                Ok(())
            }
            UserText::OwnOutput(text) => match self.own_command.take() {
                Some(id) => {
                    out.result(id.into(), Content { text: text.into(), images: 0 }, false, None)
                }
                None => out.ignore(NO_PERSON),
            },
            UserText::Machine => out.ignore(NO_PERSON),
            UserText::Prompt(words) => {
                let prompt = attached(&words, images, "image");
                if prompt.is_empty() {
                    return Ok(());
                }
                if self.from_queue.remove(&hash(prompt.as_ref())) {
                    return out.ignore(FROM_QUEUE);
                }
                self.prompt(&prompt, parent, out)
            }
        }
    }

    /// What a subagent was to do, where nothing is left of the call that said so.
    fn task(&mut self, text: &str, out: &mut Transcript) -> Result<()> {
        let agent = out.context.agent.take();
        out.prompts += 1;
        let said = out.emit(EventKind::Prompt(text.into()));
        out.context.agent = agent;
        said
    }

    /// A person's prompt, and first whether it goes back behind earlier ones.
    fn prompt(&mut self, text: &str, parent: Option<u64>, out: &mut Transcript) -> Result<()> {
        self.unled_subagents(out)?;
        if let Some(kept) = parent.and_then(|parent| self.taken_back_to(parent, out.prompts)) {
            out.emit(EventKind::Rewind { kept })?;
        }
        out.prompts += 1;
        out.emit(EventKind::Prompt(text.into()))
    }

    /// How many prompts stand where a prompt does not go on from the latest one but from before it.
    fn taken_back_to(&self, parent: u64, prompts: u32) -> Option<u32> {
        let mut at = parent;
        while self.latest_prompt != Some(at) {
            let record = self.records.get(&at)?;
            if record.prompts < prompts {
                return Some(record.prompts);
            }
            // It came after the latest prompt, but need not come from it: a note that the program
            // wrote on the way may stand between. Only a prompt with a record of its own can be
            // gone around.
            self.latest_prompt?;
            at = record.parent?;
        }
        None
    }

    fn attachment(&mut self, record: WireRecord, out: &mut Transcript) -> Result<()> {
        let attached = details(record.attachment);
        let kind = attached.kind.unwrap_or_default();
        if kind != "queued_command"
            || attached.command_mode.as_deref().is_some_and(|mode| mode != "prompt")
        {
            return out.ignore(&format!("attachment {kind}"));
        }
        let UserText::Prompt(prompt) = classify(text_of(attached.prompt).trim()) else {
            return out.ignore("attachment queued_command that no person wrote");
        };
        if self.from_queue.remove(&hash(prompt.as_str())) {
            return out.ignore(FROM_QUEUE);
        }
        self.from_queue.insert(hash(prompt.as_str()));
        self.prompt(&prompt, None, out)
    }

    /// A prompt typed while the agent worked waits in a queue. When it is taken out (`dequeue`) its
    /// own record follows; when it is slipped into the running turn (`remove`) it often has none.
    fn queue_operation(&mut self, record: WireRecord, out: &mut Transcript) -> Result<()> {
        let content = serde_json::from_str(raw(record.content)).map(text_of).unwrap_or_default();
        match record.operation.as_deref() {
            Some("enqueue") => self.queue.push_back(content),
            Some("dequeue") => drop(self.queue.pop_front()),
            // Put back into the input line, to be sent again or not.
            Some("popAll") => self.queue.clear(),
            Some("remove") => {
                if let Some(text) = self.queue.pop_front()
                    && let UserText::Prompt(prompt) = classify(text.trim())
                    && !prompt.is_empty()
                    && self.from_queue.insert(hash(prompt.as_str()))
                {
                    return self.prompt(&prompt, None, out);
                }
            }
            _ => {}
        }
        out.ignore("queue-operation")
    }

    /// Reads a subagent's own log where its answer came.
    fn subagent(&mut self, id: &str, out: &mut Transcript) -> Result<()> {
        let Some(at) = self.subagents.iter().position(|subagent| subagent.id == id) else {
            return Ok(());
        };
        let file = self.subagents.remove(at).file;
        self.whole_subagent(file, out)
    }

    /// Reads the log of a subagent, and says at its end that it is done.
    fn whole_subagent(&mut self, file: usize, out: &mut Transcript) -> Result<()> {
        out.read_file(self, file)?;
        let Role::Subagent(agent) = &out.log.files[file].role else { return Ok(()) };
        let outer = out.context.agent.replace(Cow::Borrowed(agent.as_str()));
        out.completion()?;
        out.context.agent = outer;
        Ok(())
    }

    /// Reads the subagents that began before the record at hand and to which no call has led.
    fn unled_subagents(&mut self, out: &mut Transcript) -> Result<()> {
        let Some(before) = out.context.at else { return Ok(()) };
        // One that was sent to the background answers later; it is read where it began.
        while let Some(at) =
            self.subagents.iter().position(|s| s.began.is_some_and(|began| began < before))
        {
            let file = self.subagents.remove(at).file;
            self.whole_subagent(file, out)?;
        }
        Ok(())
    }

    fn count_usage(&mut self, record: &WireRecord, out: &mut Transcript) {
        let Some(message) = &record.message else { return };
        let Some(usage) = message.usage else { return };
        let model = message.model.as_deref().unwrap_or_default();
        if out.context.inherited || model == "<synthetic>" || model.is_empty() {
            return;
        }
        let key = match (message.id.as_deref(), record.request_id.as_deref()) {
            (None, None) => hash(record.uuid.as_deref().unwrap_or_default()),
            (id, request) => hash((id, request)),
        };
        if out.context.agent.is_none() && !self.usage.contains_key(&key) {
            // It went on, and was not ended properly since.
            self.cost.clear();
        }
        self.usage.insert(key, (out.usage_index(model), usage));
    }

    /// Takes over what the models cost, also those that only worked beside the conversation.
    fn add_cost(&mut self, out: &mut Transcript) {
        for (name, cost) in std::mem::take(&mut self.cost) {
            let Some(cost_usd) = cost.cost_usd.filter(|cost| *cost > 0.0) else { continue };
            // `claude-opus-4-6[1m]` is the model with a longer context.
            let model = name.split('[').next().unwrap_or(&name);
            let is_known = out.head.usage.iter().any(|used| used.model == model);
            let tokens = Tokens {
                input: cost.input_tokens.0,
                output: cost.output_tokens.0,
                cache_read: cost.cache_read_input_tokens.0,
                cache_write: cost.cache_creation_input_tokens.0,
                cost_usd: None,
            };
            let tokens = if is_known { Tokens::default() } else { tokens };
            out.count(model, Tokens { cost_usd: Some(cost_usd), ..tokens });
        }
    }

    /// Reads what no record has led to, and sums up.
    pub fn finish(mut self, out: &mut Transcript) -> Result<()> {
        compaction_workers(out)?;
        if self.has_no_main {
            let name = text::one_line(&out.log.native_id, 80);
            let lost = "only what its subagents did is left of the session";
            out.skip(0, 0, format!("`{name}.jsonl` is missing beside it: {lost}"));
            out.head.begun_by = BegunBy::Agent;
        }
        while !self.subagents.is_empty() {
            let file = self.subagents.remove(0).file;
            out.read_file(&mut self, file)?;
        }
        for (at, usage) in self.usage.values() {
            let tokens = Tokens {
                input: usage.input_tokens.unwrap_or(0),
                output: usage.output_tokens.unwrap_or(0),
                cache_read: usage.cache_read_input_tokens.unwrap_or(0),
                cache_write: usage.cache_creation_input_tokens.unwrap_or(0),
                cost_usd: None,
            };
            tokens.add_to(&mut out.head.usage[*at]);
        }
        self.add_cost(out);
        let Titles { custom, ai, agent, summaries } = self.titles;
        let own = summaries.into_iter().rev().find(|(leaf, _)| self.records.contains_key(leaf));
        out.head.titled_by_person = custom.is_some();
        out.head.title = custom.or(ai).or(agent).or(own.map(|(_, summary)| summary));
        Ok(())
    }
}

/// Whether an id is that of another session; one that is no id at all belongs to nobody else.
fn is_another_session(log: &Log, id: &str) -> bool {
    Some(id) != log.native_id.split('~').next() && is_uuid(id) && !is_resumed_part(log, id)
}

/// Whether an id is that of another main file of this same session (an old-style resume).
fn is_resumed_part(log: &Log, id: &str) -> bool {
    let main = || log.files.iter().filter(|file| file.role == Role::Main);
    main().count() > 1 && main().any(|file| file.name.file_stem().is_some_and(|stem| stem == id))
}

fn note_place(record: &WireRecord, head: &mut Head) {
    let filled =
        |field: &Option<Cow<str>>| field.as_deref().filter(|v| !v.is_empty()).map(str::to_string);
    if head.cwd.is_none() {
        head.cwd = filled(&record.cwd);
    }
    if let Some(branch) = filled(&record.git_branch).filter(|branch| branch != "HEAD") {
        head.branch = Some(branch);
    }
    if let Some(version) = filled(&record.version) {
        head.version = Some(version);
    }
}

fn result(block: WireBlock, state: FileState, out: &mut Transcript) -> Result<()> {
    let (mut text, mut images) = (Cow::Borrowed(""), 0);
    match block.content {
        WireContent::Text(whole) => text = whole,
        WireContent::Blocks(parts) => {
            let mut whole = String::new();
            for part in parts {
                match (part.kind.as_ref(), part.text) {
                    ("image" | "document", _) => images += 1,
                    (_, Some(part)) => {
                        if !whole.is_empty() {
                            whole.push('\n');
                        }
                        whole.push_str(&part);
                    }
                    _ => {}
                }
            }
            text = whole.into();
        }
        WireContent::Nothing => {}
    }
    let id = block.tool_use_id.unwrap_or_default();
    if text.starts_with("<persisted-output>")
        && let Some(whole) = persisted(out.log, &id)
    {
        text = whole.into();
    }
    let failed = block.is_error == Some(true);
    let exit_code = failed.then(|| exit_code(&text)).flatten();
    out.emit(EventKind::Result(CallResult { id, text, failed, exit_code, images, state }))
}

/// The output that was too big for the log. The path in the log may be another machine's, so it is
/// looked for beside the log.
fn persisted(log: &Log, id: &str) -> Option<String> {
    let mut files = log.files.iter().filter(|file| file.role == Role::Attachment);
    let file = files.find(|file| file.name.file_stem().is_some_and(|stem| stem == id))?;
    let mut bytes = Vec::new();
    files::open(&file.path).ok()?.take(LONGEST_OUTPUT).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn system(record: WireRecord, out: &mut Transcript) -> Result<()> {
    match record.subtype.unwrap_or_default().as_ref() {
        "compact_boundary" => {
            let how = serde_json::from_str::<WireCompaction>(raw(record.compact_metadata));
            let how = how
                .map(|how| format!(" ({}, at {} tokens)", how.trigger, how.pre_tokens))
                .unwrap_or_default();
            out.lifecycle(format!("context compacted{how}"))
        }
        "api_error" => out.lifecycle("model error, tried again"),
        "local_command" => {
            let text = serde_json::from_str::<String>(raw(record.content)).unwrap_or_default();
            match classify(text.trim()) {
                UserText::Command(command) => out.lifecycle(command),
                _ => out.ignore("system local_command"),
            }
        }
        subtype => out.ignore(&format!("system {subtype}")),
    }
}

/// Counts the records of the workers that write compaction summaries: they repeat the whole
/// conversation.
fn compaction_workers(out: &mut Transcript) -> Result<()> {
    for file in &out.log.files {
        if !matches!(&file.role, Role::Subagent(id) if id.starts_with(COMPACTION_WORKER)) {
            continue;
        }
        let cannot_read = || format!("cannot read the log `{}`", file.path.display());
        let mut lines = Lines::open(&file.path).context(cannot_read)?;
        while lines.next().context(cannot_read)?.is_some() {
            out.head.records += 1;
            out.ignore("record of a compaction worker")?;
        }
    }
    Ok(())
}

/// The exit code in `Exit code 1` at the beginning of a failed command's output.
fn exit_code(text: &str) -> Option<i32> {
    let digits = text.trim_start().strip_prefix("Exit code ")?;
    digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())].parse().ok()
}

fn owned(text: Option<Cow<'_, str>>) -> Option<String> {
    text.map(Cow::into_owned).filter(|text| !text.trim().is_empty())
}

/// Puts a title where an earlier one may stand.
fn put(title: &mut Option<String>, text: Option<Cow<'_, str>>) {
    *title = owned(text).or(title.take());
}
