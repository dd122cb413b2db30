//! Reads the records of one session of Claude Code into events.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;

use super::is_uuid;
use super::spoken::{Spoken, spoken};
use super::wire::{
    WireBlock, WireCompaction, WireContent, WireOrigin, WireRecord, WireUsage, blocks,
    changed_file, details,
};
use crate::adapters::jsonl::{self, Dialect, Lines};
use crate::adapters::tools;
use crate::base::clock::{self, Timestamp};
use crate::error::{Context, Result};
use crate::model::evidence::FileState;
use crate::model::session::{
    Call, CallResult, Event, EventKind, EventSink, Head, Log, ModelUsage, Position, Role,
};

/// How the ids of the subagents begin that write compaction summaries.
const COMPACTION_WORKER: &str = "acompact";
/// How much is read of an output that was moved out of the log; the pages show less.
const LONGEST_OUTPUT: u64 = 1 << 20;

/// Reads the files of one session into events.
pub struct Reader<'l, 's> {
    log: &'l Log,
    events: &'s mut dyn EventSink,
    head: Head,
    /// The subagent whose file is being read.
    agent: Option<String>,
    titles: Titles,
    /// The records seen so far.
    seen: HashMap<u64, Seen>,
    prompts: u32,
    /// The record of the latest prompt; none where it was told without one of its own.
    latest_prompt: Option<u64>,
    models: Vec<ModelUsage>,
    /// By message and request: which model, and what was counted for it.
    usage: HashMap<u64, (usize, WireUsage)>,
    queue: VecDeque<String>,
    from_queue: HashSet<u64>,
    /// Subagent files that no call has led to yet, by agent id.
    subagents: Vec<Subagent>,
}

/// A record that was seen.
struct Seen {
    /// How many prompts had been said when it came.
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

impl Dialect for Reader<'_, '_> {
    fn head(&mut self) -> &mut Head {
        &mut self.head
    }

    fn record(&mut self, json: &[u8], position: Position) -> Result<serde_json::Result<()>> {
        match serde_json::from_slice::<WireRecord>(json) {
            Ok(record) => {
                let agent = self.agent.clone();
                self.take(record, position, agent.as_deref()).map(Ok)
            }
            Err(err) => Ok(Err(err)),
        }
    }
}

impl<'l, 's> Reader<'l, 's> {
    pub fn new(log: &'l Log, events: &'s mut dyn EventSink) -> Self {
        let mut subagents: Vec<Subagent> = log
            .files
            .iter()
            .enumerate()
            .filter_map(|(file, log_file)| match &log_file.role {
                Role::Subagent(id) if !id.starts_with(COMPACTION_WORKER) => {
                    let began = jsonl::first_objects(&log_file.path, 5).ok().and_then(|records| {
                        records.iter().find_map(|r| clock::parse(r.get("timestamp")?.as_str()?))
                    });
                    Some(Subagent { id: id.clone(), file, began })
                }
                _ => None,
            })
            .collect();
        subagents.sort_by(|a, b| (a.began, &a.id).cmp(&(b.began, &b.id)));
        Reader {
            log,
            events,
            head: Head::default(),
            agent: None,
            titles: Titles::default(),
            seen: HashMap::new(),
            prompts: 0,
            latest_prompt: None,
            models: Vec::new(),
            usage: HashMap::new(),
            queue: VecDeque::new(),
            from_queue: HashSet::new(),
            subagents,
        }
    }

    /// Reads one file; `agent` names the subagent whose it is.
    pub fn file(&mut self, file: usize, agent: Option<&str>) -> Result<()> {
        let outer = std::mem::replace(&mut self.agent, agent.map(str::to_string));
        let read = jsonl::read_file(self, self.log, file, None);
        self.agent = outer;
        read
    }

    fn ignore(&mut self, kind: &str) {
        jsonl::ignore(&mut self.head, kind);
    }

    fn take(&mut self, record: WireRecord, position: Position, agent: Option<&str>) -> Result<()> {
        self.head.records += 1;
        let at = record.timestamp.as_deref().and_then(clock::parse);
        let inherited = agent.is_none()
            && record.session_id.as_deref().is_some_and(|id| self.is_another_session(id));
        let key = record.uuid.as_deref().map(hash);
        if key.is_some_and(|key| self.seen.contains_key(&key)) {
            // Still look at the usage: of several copies the last one counts.
            self.count_usage(&record, inherited);
            self.ignore("repeated record");
            return Ok(());
        }
        if inherited {
            self.head.inherited += 1;
            self.head.parent = record.session_id.as_deref().map(str::to_string);
        } else if agent.is_none() {
            self.note_place(&record);
        }
        let sidechain = record.is_sidechain == Some(true);
        let agent = match (agent, sidechain) {
            (Some(agent), _) => Some(agent.to_string()),
            (None, true) => Some(record.agent_id.as_deref().unwrap_or("sidechain").to_string()),
            (None, false) => None,
        };
        let context = Told { at, position, inherited, agent };
        let parent =
            record.parent_uuid.as_deref().map(hash).filter(|parent| self.seen.contains_key(parent));
        let (prompts, is_user) = (self.prompts, record.kind == "user");
        self.tell(record, &context)?;
        if self.prompts > prompts {
            self.latest_prompt = key.filter(|_| is_user);
        }
        if let Some(key) = key {
            self.seen.insert(key, Seen { prompts: self.prompts, parent });
        }
        Ok(())
    }

    fn tell(&mut self, record: WireRecord, context: &Told) -> Result<()> {
        match record.kind.as_ref() {
            "assistant" => self.assistant(record, context),
            "user" => self.user(record, context),
            "attachment" => self.attachment(record, context),
            "queue-operation" => self.queue_operation(record, context),
            "system" => self.system(record, context),
            "summary" => {
                // Often it tells of another session; that is known when all records have been seen.
                if let (Some(leaf), Some(summary)) = (record.leaf_uuid, owned(record.summary)) {
                    self.titles.summaries.push((hash(leaf.as_ref()), summary));
                }
                Ok(())
            }
            "custom-title" => {
                self.titles.custom =
                    owned(record.custom_title.or(record.title)).or(self.titles.custom.take());
                Ok(())
            }
            "ai-title" => {
                self.titles.ai = owned(record.ai_title.or(record.title)).or(self.titles.ai.take());
                Ok(())
            }
            "agent-name" => {
                self.titles.agent =
                    owned(record.agent_name.or(record.title)).or(self.titles.agent.take());
                Ok(())
            }
            "pr-link" => {
                if let Some(url) = owned(record.pr_url)
                    && !self.head.pull_requests.contains(&url)
                    && self.head.pull_requests.len() < 100
                {
                    self.head.pull_requests.push(url);
                }
                Ok(())
            }
            "progress" => {
                let kind = details(record.data).kind.unwrap_or_default();
                self.ignore(&format!("progress {kind}"));
                Ok(())
            }
            kind => {
                let kind = kind.to_string();
                self.ignore(&kind);
                Ok(())
            }
        }
    }

    /// Whether an id is that of another session; one that is no id at all belongs to nobody else.
    fn is_another_session(&self, id: &str) -> bool {
        Some(id) != self.log.native_id.split('~').next() && is_uuid(id) && !self.is_resumed_part(id)
    }

    /// Whether an id is that of another main file of this same session (an old-style resume).
    fn is_resumed_part(&self, id: &str) -> bool {
        self.log.files.iter().filter(|file| file.role == Role::Main).count() > 1
            && self.log.files.iter().any(|file| {
                file.role == Role::Main && file.name.file_stem().is_some_and(|stem| stem == id)
            })
    }

    fn note_place(&mut self, record: &WireRecord) {
        let filled = |field: &Option<Cow<str>>| {
            field.as_deref().filter(|v| !v.is_empty()).map(str::to_string)
        };
        if self.head.cwd.is_none() {
            self.head.cwd = filled(&record.cwd);
        }
        if let Some(branch) = filled(&record.git_branch).filter(|branch| branch != "HEAD") {
            self.head.branch = Some(branch);
        }
        if let Some(version) = filled(&record.version) {
            self.head.version = Some(version);
        }
    }

    fn emit(&mut self, context: &Told, kind: EventKind<'_>) -> Result<()> {
        self.events.event(Event {
            at: context.at,
            position: context.position,
            agent: context.agent.as_deref(),
            inherited: context.inherited,
            kind,
        })
    }

    fn assistant(&mut self, record: WireRecord, context: &Told) -> Result<()> {
        self.count_usage(&record, context.inherited);
        let Some(message) = record.message else { return Ok(()) };
        let finished = matches!(message.stop_reason.as_deref(), Some("end_turn" | "stop_sequence"));
        let error = record.is_api_error_message == Some(true);
        for block in blocks(message.content) {
            match block.kind.as_ref() {
                "text" => {
                    let text = block.text.unwrap_or_default();
                    if error {
                        self.emit(context, EventKind::Lifecycle(text))?;
                    } else if !text.trim().is_empty() {
                        self.emit(context, EventKind::Reply(text))?;
                    }
                }
                "thinking" => {
                    let text = block.thinking.unwrap_or_default();
                    if !text.trim().is_empty() {
                        self.emit(context, EventKind::Thinking(text))?;
                    }
                }
                "tool_use" | "server_tool_use" => {
                    let tool = block.name.unwrap_or_default();
                    let action = tools::action(&tool, block.input.map_or("", |input| input.get()));
                    self.emit(
                        context,
                        EventKind::Call(Call { id: block.id.unwrap_or_default(), tool, action }),
                    )?;
                }
                "tool_result" => self.answer(block, context, FileState::Unknown)?,
                kind => self.ignore(&format!("block {kind}")),
            }
        }
        if finished && context.agent.is_none() {
            self.emit(context, EventKind::Completion)?;
        }
        Ok(())
    }

    fn user(&mut self, record: WireRecord, context: &Told) -> Result<()> {
        let agent_id = details(record.tool_use_result).agent_id.map(Cow::into_owned);
        let mut state = record.tool_use_result.map(changed_file).unwrap_or_default();
        let human = record
            .origin
            .and_then(|raw| serde_json::from_str::<WireOrigin>(raw.get()).ok())
            .is_none_or(|origin| origin.kind == "human");
        let (meta, summary) =
            (record.is_meta == Some(true), record.is_compact_summary == Some(true));
        let parent = record.parent_uuid.as_deref().map(hash);
        let content = record.message.map(|message| message.content).unwrap_or_default();
        let mut said: Vec<Cow<str>> = Vec::new();
        let mut images = 0;
        let mut answered = false;
        for block in blocks(content) {
            match block.kind.as_ref() {
                "tool_result" => {
                    answered = true;
                    self.answer(block, context, std::mem::take(&mut state))?;
                }
                "text" => said.extend(block.text),
                "image" | "document" => images += 1,
                kind => self.ignore(&format!("block {kind}")),
            }
        }
        if let Some(agent) = agent_id {
            self.subagent(&agent)?;
        }
        let text = said.join("\n");
        let text = text.trim();
        if summary {
            return self.emit(context, EventKind::Compaction(text.into()));
        }
        if text.is_empty() {
            // A pasted picture stands in a record of its own, beside the words that go with it.
            return if answered || images == 0 {
                Ok(())
            } else {
                self.emit(context, EventKind::Lifecycle("a picture".into()))
            };
        }
        if context.agent.is_some() {
            // The task that was handed to the subagent; the call that handed it over says the same.
            return self.emit(context, EventKind::Lifecycle(text.into()));
        }
        match spoken(text) {
            _ if meta || !human => {
                self.ignore("user record that no person wrote");
                Ok(())
            }
            Spoken::Interruption => self.emit(context, EventKind::Intervention(text.into())),
            Spoken::Command(command) => self.emit(context, EventKind::Lifecycle(command.into())),
            Spoken::Machine => {
                self.ignore("user record that no person wrote");
                Ok(())
            }
            Spoken::Prompt(prompt) => {
                let mut prompt = prompt;
                if images > 0 {
                    prompt.push_str(&format!("\n[{images} image(s)]"));
                }
                let prompt = prompt.trim().to_string();
                if prompt.is_empty() {
                    return Ok(());
                }
                if self.from_queue.remove(&hash(&prompt)) {
                    self.ignore("queued prompt that was already told");
                    return Ok(());
                }
                self.prompt(context, &prompt, parent)
            }
        }
    }

    /// A person's prompt; tells first whether it goes back behind earlier ones.
    fn prompt(&mut self, context: &Told, text: &str, parent: Option<u64>) -> Result<()> {
        self.unled_subagents(context.at)?;
        if let Some(kept) = parent.and_then(|parent| self.taken_back_to(parent)) {
            self.emit(context, EventKind::Rewind { kept })?;
        }
        self.prompts += 1;
        self.emit(context, EventKind::Prompt(text.into()))
    }

    /// How many prompts stand where a prompt does not go on from the latest one but from before it.
    fn taken_back_to(&self, parent: u64) -> Option<u32> {
        let mut at = parent;
        while self.latest_prompt != Some(at) {
            let seen = self.seen.get(&at)?;
            if seen.prompts < self.prompts {
                return Some(seen.prompts);
            }
            // It came after the latest prompt, but need not come from it: a note that the program
            // wrote on the way may stand between. Only a prompt with a record of its own can be
            // gone around.
            self.latest_prompt?;
            at = seen.parent?;
        }
        None
    }

    fn answer(&mut self, block: WireBlock, context: &Told, state: FileState) -> Result<()> {
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
        if text.starts_with("<persisted-output>")
            && let Some(whole) = self.persisted(block.tool_use_id.as_deref().unwrap_or_default())
        {
            text = whole.into();
        }
        let failed = block.is_error == Some(true);
        let exit_code = failed.then(|| exit_code(&text)).flatten();
        self.emit(
            context,
            EventKind::Result(CallResult {
                id: block.tool_use_id.unwrap_or_default(),
                text,
                failed,
                exit_code,
                images,
                state,
            }),
        )
    }

    /// The output that was too big for the log. The path that the log tells may be another
    /// machine's, so it is looked for beside the log.
    fn persisted(&self, id: &str) -> Option<String> {
        let mut files = self.log.files.iter().filter(|file| file.role == Role::Attachment);
        let file = files.find(|file| file.name.file_stem().is_some_and(|stem| stem == id))?;
        let mut bytes = Vec::new();
        File::open(&file.path).ok()?.take(LONGEST_OUTPUT).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn attachment(&mut self, record: WireRecord, context: &Told) -> Result<()> {
        let attached = details(record.attachment);
        let kind = attached.kind.unwrap_or_default();
        if kind != "queued_command"
            || attached.command_mode.as_deref().is_some_and(|mode| mode != "prompt")
        {
            self.ignore(&format!("attachment {kind}"));
            return Ok(());
        }
        let text = blocks(attached.prompt)
            .into_iter()
            .filter_map(|block| block.text)
            .collect::<Vec<_>>()
            .join("\n");
        let Spoken::Prompt(prompt) = spoken(text.trim()) else {
            self.ignore("attachment queued_command that no person wrote");
            return Ok(());
        };
        if self.from_queue.remove(&hash(&prompt)) {
            self.ignore("queued prompt that was already told");
            return Ok(());
        }
        self.from_queue.insert(hash(&prompt));
        self.prompt(context, &prompt, None)
    }

    /// A prompt typed while the agent worked waits in a queue. When it is taken out (`dequeue`) its
    /// own record follows; when it is slipped into the running turn (`remove`) often nothing else
    /// tells it.
    fn queue_operation(&mut self, record: WireRecord, context: &Told) -> Result<()> {
        let content = match record
            .content
            .and_then(|raw| serde_json::from_str::<WireContent>(raw.get()).ok())
        {
            Some(WireContent::Text(text)) => text.into_owned(),
            Some(content) => {
                blocks(content).into_iter().filter_map(|b| b.text).collect::<Vec<_>>().join("\n")
            }
            None => String::new(),
        };
        match record.operation.as_deref() {
            Some("enqueue") => self.queue.push_back(content),
            Some("dequeue") => drop(self.queue.pop_front()),
            // Put back into the input line, to be sent again or not.
            Some("popAll") => self.queue.clear(),
            Some("remove") => {
                if let Some(text) = self.queue.pop_front()
                    && let Spoken::Prompt(prompt) = spoken(text.trim())
                    && !prompt.is_empty()
                    && !self.from_queue.contains(&hash(&prompt))
                {
                    self.from_queue.insert(hash(&prompt));
                    return self.prompt(context, &prompt, None);
                }
            }
            _ => {}
        }
        self.ignore("queue-operation");
        Ok(())
    }

    fn system(&mut self, record: WireRecord, context: &Told) -> Result<()> {
        let subtype = record.subtype.unwrap_or_default();
        match subtype.as_ref() {
            "compact_boundary" => {
                let how = record
                    .compact_metadata
                    .and_then(|raw| serde_json::from_str::<WireCompaction>(raw.get()).ok());
                let how = how
                    .map(|how| format!(" ({}, at {} tokens)", how.trigger, how.pre_tokens))
                    .unwrap_or_default();
                self.emit(context, EventKind::Lifecycle(format!("context compacted{how}").into()))
            }
            "api_error" => {
                self.emit(context, EventKind::Lifecycle("model error, tried again".into()))
            }
            "local_command" => {
                let text =
                    record.content.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
                match spoken(text.unwrap_or_default().trim()) {
                    Spoken::Command(command) => {
                        self.emit(context, EventKind::Lifecycle(command.into()))
                    }
                    _ => {
                        self.ignore("system local_command");
                        Ok(())
                    }
                }
            }
            subtype => {
                let kind = format!("system {subtype}");
                self.ignore(&kind);
                Ok(())
            }
        }
    }

    /// Counts the records of the workers that write compaction summaries: they repeat the whole
    /// conversation.
    fn compaction_workers(&mut self) -> Result<()> {
        for file in &self.log.files {
            if !matches!(&file.role, Role::Subagent(id) if id.starts_with(COMPACTION_WORKER)) {
                continue;
            }
            let cannot_read = || format!("cannot read the log `{}`", file.path.display());
            let mut lines = Lines::open(&file.path).context(cannot_read)?;
            while lines.next().context(cannot_read)?.is_some() {
                self.head.records += 1;
                self.ignore("record of a compaction worker");
            }
        }
        Ok(())
    }

    /// Reads a subagent's own log where its answer came.
    fn subagent(&mut self, id: &str) -> Result<()> {
        let Some(at) = self.subagents.iter().position(|subagent| subagent.id == id) else {
            return Ok(());
        };
        let subagent = self.subagents.remove(at);
        self.file(subagent.file, Some(&subagent.id))
    }

    /// Reads the subagents that began before the given time and to which no call has led.
    fn unled_subagents(&mut self, before: Option<Timestamp>) -> Result<()> {
        let Some(before) = before else { return Ok(()) };
        // One that was sent to the background answers later; it is read where it began.
        while let Some(at) =
            self.subagents.iter().position(|s| s.began.is_some_and(|began| began < before))
        {
            let subagent = self.subagents.remove(at);
            self.file(subagent.file, Some(&subagent.id))?;
        }
        Ok(())
    }

    fn count_usage(&mut self, record: &WireRecord, inherited: bool) {
        let Some(message) = &record.message else { return };
        let Some(usage) = message.usage else { return };
        let model = message.model.as_deref().unwrap_or_default();
        if inherited || model == "<synthetic>" || model.is_empty() {
            return;
        }
        let key = match (message.id.as_deref(), record.request_id.as_deref()) {
            (None, None) => hash(record.uuid.as_deref().unwrap_or_default()),
            (id, request) => hash((id, request)),
        };
        let at = match self.models.iter().position(|known| known.model == model) {
            Some(at) => at,
            None => {
                self.models.push(ModelUsage { model: model.to_string(), ..ModelUsage::default() });
                self.models.len() - 1
            }
        };
        self.usage.insert(key, (at, usage));
    }

    pub fn finish(mut self) -> Result<Head> {
        self.compaction_workers()?;
        while !self.subagents.is_empty() {
            let subagent = self.subagents.remove(0);
            self.file(subagent.file, Some(&subagent.id))?;
        }
        for (at, usage) in self.usage.values() {
            let model = &mut self.models[*at];
            model.input += usage.input_tokens.unwrap_or(0);
            model.output += usage.output_tokens.unwrap_or(0);
            model.cache_read += usage.cache_read_input_tokens.unwrap_or(0);
            model.cache_write += usage.cache_creation_input_tokens.unwrap_or(0);
        }
        self.head.usage = self.models;
        let Titles { custom, ai, agent, summaries } = self.titles;
        let own = summaries.into_iter().rev().find(|(leaf, _)| self.seen.contains_key(leaf));
        self.head.title = custom.or(ai).or(agent).or(own.map(|(_, summary)| summary));
        Ok(self.head)
    }
}

/// When, where and by whom a record was told.
struct Told {
    at: Option<Timestamp>,
    position: Position,
    inherited: bool,
    agent: Option<String>,
}

/// The exit code in `Exit code 1` at the beginning of a failed command's output.
fn exit_code(text: &str) -> Option<i32> {
    let digits = text.trim_start().strip_prefix("Exit code ")?;
    digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())].parse().ok()
}

fn owned(text: Option<Cow<'_, str>>) -> Option<String> {
    text.map(Cow::into_owned).filter(|text| !text.trim().is_empty())
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
