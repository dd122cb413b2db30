//! Claude Code: `projects/<slug>/<session>.jsonl`, one JSON record per line (seen in 1.0 to 2.1).
//!
//! Subagents stand inline (`isSidechain`), beside it (`agent-<id>.jsonl`) or below it
//! (`<session>/subagents/`). One API message is written as several records with the same id; resume
//! and fork copy records. So: records are told apart by `uuid`, usage by message and request id (the
//! last one counts), and what carries another session's id is inherited.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::hooks::{self, HookSpec};
use super::jsonl::{self, Dialect, Lines};
use super::{Adapter, Deletion, Identity, Places, tools};
use crate::base::clock::{self, Timestamp};
use crate::error::{Context, Result};
use crate::model::evidence::FileState;
use crate::model::session::{Answer, Call, Event, EventSink, Head, Log, ModelUsage, Place, Role, What};

/// Claude Code.
pub struct Claude;

/// How the ids of the subagents begin that write compaction summaries.
const COMPACTION_WORKER: &str = "acompact";
/// How much is read of an output that was moved out of the log; the pages show less.
const LONGEST_OUTPUT: u64 = 1 << 20;

impl Adapter for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn hooks(&self) -> Option<HookSpec> {
        Some(hooks::CLAUDE)
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        match places.environment.get("CLAUDE_CONFIG_DIR").filter(|v| !v.is_empty()) {
            // The variable may list several folders.
            Some(folders) => folders.split(',').map(|folder| Path::new(folder.trim()).join("projects")).collect(),
            None => vec![places.home.join(".claude/projects"), places.home.join(".config/claude/projects")],
        }
    }

    fn deletion(&self, places: &Places) -> Option<Deletion> {
        let projects = self.roots(places).into_iter().find(|folder| folder.exists())?;
        let settings = projects.parent()?.join("settings.json");
        let text = std::fs::read_to_string(&settings).unwrap_or_default();
        let days = serde_json::from_str::<WireSettings>(&text).ok().and_then(|settings| settings.cleanup_period_days);
        // Without the setting it is 30 days; with 0 nothing is written in the first place.
        let after_days = days.unwrap_or(30);
        (after_days > 0).then_some(Deletion { after_days, settings, advice: "\"cleanupPeriodDays\": 3650" })
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let name = name.as_ref();
        if let Some(session) = tool_result_owner(file) {
            return Ok(Some(Identity { native_id: session, role: Role::Attachment, lineage: None }));
        }
        let Some(stem) = name.strip_suffix(".jsonl") else { return Ok(None) };
        if stem == "history" || stem == "journal" {
            return Ok(None);
        }
        let records = jsonl::first_objects(file, 40)?;
        // Qwen writes the same envelope around other messages.
        if !records.iter().any(is_claude_record) || records.iter().any(super::qwen::is_qwen_record) {
            return Ok(None);
        }
        let text = |record: &serde_json::Map<String, serde_json::Value>, key: &str| {
            record.get(key).and_then(|v| v.as_str()).filter(|v| !v.is_empty()).map(str::to_string)
        };
        let ids: Vec<String> = records.iter().filter_map(|r| text(r, "sessionId")).collect();
        // A file is named after its session, sometimes with a date before it; a fork begins with
        // records of another session, so the name is asked first and the records second.
        let own = ids.iter().find(|id| stem.ends_with(id.as_str())).or(ids.last()).cloned();
        let sidechain = records.iter().any(|r| r.get("uuid").is_some())
            && records.iter().filter(|r| r.get("uuid").is_some()).all(|r| r.get("isSidechain") == Some(&true.into()));
        if sidechain && let Some(agent) = stem.strip_prefix("agent-") {
            let session = own.or_else(|| folder_session(file)).unwrap_or_else(|| stem.to_string());
            return Ok(Some(Identity { native_id: session, role: Role::Subagent(agent.to_string()), lineage: None }));
        }
        let own = if is_uuid(stem) && !ids.iter().any(|id| id == stem) && folder_session(file).is_none() {
            // Every record was copied so far: a fork that has not gone on yet.
            stem.to_string()
        } else {
            own.unwrap_or_else(|| stem.to_string())
        };
        let lineage = records
            .iter()
            .find(|r| r.get("uuid").is_some())
            .filter(|r| text(r, "sessionId").is_none_or(|id| id == own))
            .and_then(|r| text(r, "uuid"));
        Ok(Some(Identity { native_id: own, role: Role::Main, lineage }))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut reader = Reader::new(log, events);
        for (at, file) in log.files.iter().enumerate() {
            if file.role == Role::Main {
                reader.file(at, None)?;
            }
        }
        reader.finish()
    }
}

fn is_claude_record(record: &serde_json::Map<String, serde_json::Value>) -> bool {
    let kind = record.get("type").and_then(|v| v.as_str()).unwrap_or_default();
    let parts = record.get("message").and_then(|m| m.get("parts")).is_some();
    match kind {
        "user" | "assistant" | "system" | "progress" | "attachment" => {
            // Qwen writes the same envelope around other messages.
            !parts
                && record.contains_key("uuid")
                && (record.contains_key("parentUuid") || record.contains_key("message"))
                && record.get("message").is_none_or(|m| m.get("content").is_some())
        }
        "summary" => record.contains_key("leafUuid"),
        "file-history-snapshot"
        | "queue-operation"
        | "last-prompt"
        | "custom-title"
        | "ai-title"
        | "pr-link"
        | "permission-mode"
        | "agent-name" => true,
        _ => false,
    }
}

/// The session of `<session>/tool-results/<file>`: a big output that was moved out of the log.
fn tool_result_owner(file: &Path) -> Option<String> {
    let folder = file.parent()?;
    (folder.file_name()? == "tool-results").then(|| folder.parent()?.file_name()?.to_str().map(str::to_string))?
}

/// The session of `<session>/subagents/…/<file>`.
fn folder_session(file: &Path) -> Option<String> {
    let mut folder = file.parent()?;
    for _ in 0..4 {
        if folder.file_name()? == "subagents" {
            return folder.parent()?.file_name()?.to_str().map(str::to_string);
        }
        folder = folder.parent()?;
    }
    None
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

// What stands in a record, exactly as the agent writes it.

/// What matters to us of the agent's settings.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSettings {
    cleanup_period_days: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireRecord<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    subtype: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    uuid: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    parent_uuid: Option<Cow<'a, str>>,
    #[serde(default)]
    is_sidechain: Option<bool>,
    #[serde(default)]
    is_meta: Option<bool>,
    #[serde(default)]
    is_compact_summary: Option<bool>,
    #[serde(default)]
    is_api_error_message: Option<bool>,
    #[serde(borrow, default)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    agent_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    request_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    cwd: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    git_branch: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    version: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    message: Option<WireMessage<'a>>,
    #[serde(borrow, default)]
    origin: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_use_result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    attachment: Option<&'a RawValue>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    operation: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    compact_metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    summary: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    leaf_uuid: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    custom_title: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    ai_title: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    agent_name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pr_url: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    title: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct WireMessage<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: WireContent<'a>,
    #[serde(borrow, default)]
    stop_reason: Option<Cow<'a, str>>,
    #[serde(default)]
    usage: Option<WireUsage>,
}

#[derive(Deserialize, Default, Clone, Copy)]
struct WireUsage {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
}

/// A string, or a list of blocks.
#[derive(Default)]
enum WireContent<'a> {
    #[default]
    Nothing,
    Text(Cow<'a, str>),
    Blocks(Vec<WireBlock<'a>>),
}

#[derive(Deserialize)]
struct WireBlock<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    thinking: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_use_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: WireContent<'a>,
    #[serde(default)]
    is_error: Option<bool>,
}

impl<'de: 'a, 'a> Deserialize<'de> for WireContent<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = WireContent<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string or a list of blocks")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<Self::Value, E> {
                Ok(WireContent::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> std::result::Result<Self::Value, E> {
                Ok(WireContent::Text(Cow::Owned(text.to_string())))
            }
            fn visit_unit<E>(self) -> std::result::Result<Self::Value, E> {
                Ok(WireContent::Nothing)
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> std::result::Result<Self::Value, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = list.next_element()? {
                    blocks.push(block);
                }
                Ok(WireContent::Blocks(blocks))
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
                while map.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {}
                Ok(WireContent::Nothing)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// The fields that we read of a tool's structured result, an attachment or a progress record.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct WireDetails<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    agent_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    prompt: WireContent<'a>,
    #[serde(borrow)]
    command_mode: Option<Cow<'a, str>>,
}

/// What an edit found and did.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireEdit<'a> {
    #[serde(borrow, default)]
    original_file: Option<Cow<'a, str>>,
    #[serde(borrow)]
    old_string: Cow<'a, str>,
    #[serde(borrow)]
    new_string: Cow<'a, str>,
    #[serde(default)]
    replace_all: bool,
    #[serde(default)]
    user_modified: bool,
}

/// The state of a file after an edit, where the log tells what it was like before. A change that the person made
/// to the edit is not in the log, and a file that is written whole is told by the call.
fn changed_file(result: &RawValue) -> FileState {
    if !result.get().contains("\"oldString\"") {
        return FileState::Unknown;
    }
    let Ok(edit) = serde_json::from_str::<WireEdit>(result.get()) else { return FileState::Unknown };
    let (before, new) = (edit.original_file.as_deref().unwrap_or_default(), edit.new_string.as_ref());
    match edit.old_string.as_ref() {
        _ if edit.user_modified => FileState::Unknown,
        "" if before.is_empty() => tools::state_of(new),
        old if old.is_empty() || !before.contains(old) => FileState::Unknown,
        old if edit.replace_all => tools::state_of(&before.replace(old, new)),
        old => tools::state_of(&before.replacen(old, new, 1)),
    }
}

/// How a compaction came about.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCompaction<'a> {
    #[serde(borrow)]
    trigger: Cow<'a, str>,
    pre_tokens: u64,
}

/// Who put a user record into the log.
#[derive(Deserialize)]
struct WireOrigin<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
}

fn details<'a>(raw: Option<&'a RawValue>) -> WireDetails<'a> {
    raw.filter(|raw| raw.get().starts_with('{'))
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default()
}

/// Reads the files of one session into events.
struct Reader<'l, 's> {
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

    fn record(&mut self, json: &[u8], place: Place) -> Result<serde_json::Result<()>> {
        match serde_json::from_slice::<WireRecord>(json) {
            Ok(record) => {
                let agent = self.agent.clone();
                self.take(record, place, agent.as_deref()).map(Ok)
            }
            Err(err) => Ok(Err(err)),
        }
    }
}

impl<'l, 's> Reader<'l, 's> {
    fn new(log: &'l Log, events: &'s mut dyn EventSink) -> Self {
        let mut subagents: Vec<Subagent> = log
            .files
            .iter()
            .enumerate()
            .filter_map(|(file, log_file)| match &log_file.role {
                Role::Subagent(id) if !id.starts_with(COMPACTION_WORKER) => {
                    let began = jsonl::first_objects(&log_file.path, 5)
                        .ok()
                        .and_then(|records| records.iter().find_map(|r| clock::parse(r.get("timestamp")?.as_str()?)));
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
    fn file(&mut self, file: usize, agent: Option<&str>) -> Result<()> {
        let outer = std::mem::replace(&mut self.agent, agent.map(str::to_string));
        let read = jsonl::read_file(self, self.log, file, None);
        self.agent = outer;
        read
    }

    fn ignore(&mut self, kind: &str) {
        jsonl::ignore(&mut self.head, kind);
    }

    fn take(&mut self, record: WireRecord, place: Place, agent: Option<&str>) -> Result<()> {
        self.head.records += 1;
        let at = record.timestamp.as_deref().and_then(clock::parse);
        let inherited = agent.is_none() && record.session_id.as_deref().is_some_and(|id| self.is_another_session(id));
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
        let context = Told { at, place, inherited, agent };
        let parent = record.parent_uuid.as_deref().map(hash).filter(|parent| self.seen.contains_key(parent));
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
                self.titles.custom = owned(record.custom_title.or(record.title)).or(self.titles.custom.take());
                Ok(())
            }
            "ai-title" => {
                self.titles.ai = owned(record.ai_title.or(record.title)).or(self.titles.ai.take());
                Ok(())
            }
            "agent-name" => {
                self.titles.agent = owned(record.agent_name.or(record.title)).or(self.titles.agent.take());
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
            && self
                .log
                .files
                .iter()
                .any(|file| file.role == Role::Main && file.name.file_stem().is_some_and(|stem| stem == id))
    }

    fn note_place(&mut self, record: &WireRecord) {
        let filled = |field: &Option<Cow<str>>| field.as_deref().filter(|v| !v.is_empty()).map(str::to_string);
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

    fn emit(&mut self, context: &Told, what: What<'_>) -> Result<()> {
        self.events.event(Event {
            at: context.at,
            place: context.place,
            agent: context.agent.as_deref(),
            inherited: context.inherited,
            what,
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
                        self.emit(context, What::Lifecycle(text))?;
                    } else if !text.trim().is_empty() {
                        self.emit(context, What::Reply(text))?;
                    }
                }
                "thinking" => {
                    let text = block.thinking.unwrap_or_default();
                    if !text.trim().is_empty() {
                        self.emit(context, What::Thinking(text))?;
                    }
                }
                "tool_use" | "server_tool_use" => {
                    let tool = block.name.unwrap_or_default();
                    let action = tools::action(&tool, block.input.map_or("", |input| input.get()));
                    self.emit(context, What::Call(Call { id: block.id.unwrap_or_default(), tool, action }))?;
                }
                "tool_result" => self.answer(block, context, FileState::Unknown)?,
                kind => self.ignore(&format!("block {kind}")),
            }
        }
        if finished && context.agent.is_none() {
            self.emit(context, What::Completion)?;
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
        let (meta, summary) = (record.is_meta == Some(true), record.is_compact_summary == Some(true));
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
            return self.emit(context, What::Compaction(text.into()));
        }
        if text.is_empty() {
            // A pasted picture stands in a record of its own, beside the words that go with it.
            return if answered || images == 0 {
                Ok(())
            } else {
                self.emit(context, What::Lifecycle("a picture".into()))
            };
        }
        if context.agent.is_some() {
            // The task that was handed to the subagent; the call that handed it over says the same.
            return self.emit(context, What::Lifecycle(text.into()));
        }
        match spoken(text) {
            _ if meta || !human => {
                self.ignore("user record that no person wrote");
                Ok(())
            }
            Spoken::Interruption => self.emit(context, What::Intervention(text.into())),
            Spoken::Command(command) => self.emit(context, What::Lifecycle(command.into())),
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
            self.emit(context, What::Rewind { kept })?;
        }
        self.prompts += 1;
        self.emit(context, What::Prompt(text.into()))
    }

    /// How many prompts stand where a prompt does not go on from the latest one but from before it.
    fn taken_back_to(&self, parent: u64) -> Option<u32> {
        let mut at = parent;
        while self.latest_prompt != Some(at) {
            let seen = self.seen.get(&at)?;
            if seen.prompts < self.prompts {
                return Some(seen.prompts);
            }
            // It came after the latest prompt, but need not come from it: a note that the program wrote
            // on the way may stand between. Only a prompt with a record of its own can be gone around.
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
            What::Result(Answer { id: block.tool_use_id.unwrap_or_default(), text, failed, exit_code, images, state }),
        )
    }

    /// The output that was too big for the log. The path that the log tells may be another machine's, so it
    /// is looked for beside the log.
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
        if kind != "queued_command" || attached.command_mode.as_deref().is_some_and(|mode| mode != "prompt") {
            self.ignore(&format!("attachment {kind}"));
            return Ok(());
        }
        let text = blocks(attached.prompt).into_iter().filter_map(|block| block.text).collect::<Vec<_>>().join("\n");
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

    /// A prompt typed while the agent worked waits in a queue. When it is taken out (`dequeue`) its own
    /// record follows; when it is slipped into the running turn (`remove`) often nothing else tells it.
    fn queue_operation(&mut self, record: WireRecord, context: &Told) -> Result<()> {
        let content = match record.content.and_then(|raw| serde_json::from_str::<WireContent>(raw.get()).ok()) {
            Some(WireContent::Text(text)) => text.into_owned(),
            Some(content) => blocks(content).into_iter().filter_map(|b| b.text).collect::<Vec<_>>().join("\n"),
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
                let how =
                    record.compact_metadata.and_then(|raw| serde_json::from_str::<WireCompaction>(raw.get()).ok());
                let how =
                    how.map(|how| format!(" ({}, at {} tokens)", how.trigger, how.pre_tokens)).unwrap_or_default();
                self.emit(context, What::Lifecycle(format!("context compacted{how}").into()))
            }
            "api_error" => self.emit(context, What::Lifecycle("model error, tried again".into())),
            "local_command" => {
                let text = record.content.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
                match spoken(text.unwrap_or_default().trim()) {
                    Spoken::Command(command) => self.emit(context, What::Lifecycle(command.into())),
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

    /// Counts the records of the workers that write compaction summaries: they repeat the whole conversation.
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

    /// Reads a subagent's own log at the place where its answer came.
    fn subagent(&mut self, id: &str) -> Result<()> {
        let Some(at) = self.subagents.iter().position(|subagent| subagent.id == id) else { return Ok(()) };
        let subagent = self.subagents.remove(at);
        self.file(subagent.file, Some(&subagent.id))
    }

    /// Reads the subagents that began before the given time and to which no call has led.
    fn unled_subagents(&mut self, before: Option<Timestamp>) -> Result<()> {
        let Some(before) = before else { return Ok(()) };
        // One that was sent to the background answers later; it is read where it began.
        while let Some(at) = self.subagents.iter().position(|s| s.began.is_some_and(|began| began < before)) {
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

    fn finish(mut self) -> Result<Head> {
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
    place: Place,
    inherited: bool,
    agent: Option<String>,
}

fn blocks(content: WireContent<'_>) -> Vec<WireBlock<'_>> {
    match content {
        WireContent::Nothing => Vec::new(),
        WireContent::Blocks(blocks) => blocks,
        WireContent::Text(text) => vec![WireBlock {
            kind: "text".into(),
            text: Some(text),
            thinking: None,
            id: None,
            name: None,
            input: None,
            tool_use_id: None,
            content: WireContent::Nothing,
            is_error: None,
        }],
    }
}

/// Who wrote the text of a user record.
enum Spoken {
    Prompt(String),
    Interruption,
    Command(String),
    Machine,
}

fn spoken(text: &str) -> Spoken {
    if text.starts_with("[Request interrupted by user") {
        return Spoken::Interruption;
    }
    if text.starts_with("<command-name>") || text.starts_with("<command-message>") {
        let name = between(text, "<command-name>", "</command-name>").unwrap_or_default();
        let arguments = between(text, "<command-args>", "</command-args>").unwrap_or_default();
        return Spoken::Command(format!("{} {}", name.trim(), arguments.trim()).trim().to_string());
    }
    const MACHINE: &[&str] = &[
        "<local-command-",
        "Caveat:",
        "<task-notification>",
        "<bash-input>",
        "<bash-stdout>",
        "<bash-stderr>",
        "<teammate-message",
        "<user-prompt-submit-hook>",
        "<session-start-hook>",
        "{\"task_id\"",
    ];
    if MACHINE.iter().any(|start| text.starts_with(start)) {
        return Spoken::Machine;
    }
    // What the program puts around a person's words is taken off; if nothing remains, no one spoke.
    let mut rest = text.to_string();
    for tag in ["system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics"] {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        while let Some(start) = rest.find(&open) {
            let end = rest[start..].find(&close).map_or(rest.len(), |at| start + at + close.len());
            rest.replace_range(start..end, "");
        }
    }
    let rest = rest.trim();
    if rest.is_empty() && !text.is_empty() { Spoken::Machine } else { Spoken::Prompt(rest.to_string()) }
}

fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    let start = text.find(open)? + open.len();
    let end = text[start..].find(close)?;
    Some(&text[start..start + end])
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
