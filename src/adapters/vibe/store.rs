//! Reads a session of Vibe since 3.0 from its store: entries in chunks, and those of the journal.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use memchr::memmem;
use serde_json::Value;
use serde_json::value::RawValue;

use super::messages::{self, WireMeta};
use super::{CURRENT, STORE_FORMAT};
use crate::adapters::transcript::{Dialect, Tokens, Transcript, attached};
use crate::adapters::wire::{Content, Count, Lenient, Text, raw, wire_types};
use crate::adapters::{shared, tools};
use crate::base::text;
use crate::error::Result;
use crate::model::session::{BegunBy, Position};

pub const MANIFEST: &str = "manifest.json";
pub const PROJECTION: &str = "projection-state.json";
pub const RUNTIME: &str = "runtime-state.json";

wire_types! {
    struct WireCurrent<'a> {
        store_format: Text<'a>,
    }

    struct WireManifest<'a> {
        projection_state: WireChunks<'a>,
    }

    struct WireChunks<'a> {
        chunks: Vec<Text<'a>>,
    }

    struct WireProjection<'a> {
        snapshot: WireState<'a>,
    }

    /// `runtime-state.json`, as far as it says whose the session is.
    struct WireRuntime<'a> {
        identity: Lenient<WireIdentity<'a>>,
        session_metadata: Lenient<WireSessionMetadata<'a>>,
    }

    struct WireIdentity<'a> {
        kind: Text<'a>,
        parent_session_id: Text<'a>,
    }

    struct WireSessionMetadata<'a> {
        cwd: Text<'a>,
        active_model: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireState<'a> {
        session: Lenient<WireSession<'a>>,
        latest_turn: Lenient<WireTurn<'a>>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireSession<'a> {
        title: Text<'a>,
        title_source: Text<'a>,
        token_usage: Lenient<WireUsage>,
    }

    struct WireTurn<'a> {
        id: Text<'a>,
        status: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireUsage {
        input_tokens: Count,
        output_tokens: Count,
        cached_input_tokens: Count,
    }

    struct WireJournalLine<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        payload: Lenient<WirePayload<'a>>,
    }

    struct WirePayload<'a> {
        delta: Option<Vec<WireDelta<'a>>>,
    }

    struct WireDelta<'a> {
        op: Text<'a>,
        entry: Option<&'a RawValue>,
        state: Option<WireState<'a>>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireStamp<'a> {
        id: Text<'a>,
        turn_id: Text<'a>,
        #[serde(rename = "type")]
        kind: Text<'a>,
        role: Text<'a>,
        updated_at: Count,
    }

    #[serde(rename_all = "camelCase")]
    struct WireEntry<'a> {
        id: Text<'a>,
        #[serde(rename = "type")]
        kind: Text<'a>,
        role: Text<'a>,
        source: Text<'a>,
        content: Content<'a>,
        /// What the person saw themselves type, where more was sent.
        user_display_content: Option<WireDisplay<'a>>,
        text: Text<'a>,
        summary: Content<'a>,
        created_at: Count,
        updated_at: Count,
        detail: Lenient<WireDetail<'a>>,
        state: Lenient<WireEffectState<'a>>,
    }

    struct WireDisplay<'a> {
        content: Content<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireDetail<'a> {
        kind: Text<'a>,
        tool_name: Text<'a>,
        input: Option<&'a RawValue>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireEffectState<'a> {
        status: Text<'a>,
        reason: Text<'a>,
        error: Lenient<WireError<'a>>,
        output: Lenient<WireOutput<'a>>,
        output_text: Text<'a>,
    }

    struct WireError<'a> {
        message: Text<'a>,
    }

    struct WireOutput<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        content: Content<'a>,
        structured_content: Option<&'a RawValue>,
    }
}

/// Whether a chunk holds entries; others hold the model's messages or the program's tools. The
/// names of fields stand so in no text, where their quotes would be escaped.
pub fn is_entries(chunk: &Path) -> bool {
    let Ok(start) = shared::first_bytes(chunk, 1 << 20) else { return false };
    start.starts_with(b"[")
        && ["\"turnId\":", "\"createdAt\":"]
            .iter()
            .all(|field| memmem::find(&start, field.as_bytes()).is_some())
}

/// Reads the entries of one session.
pub fn read(out: &mut Transcript) -> Result<()> {
    let mut history = History::default();
    let meta_bytes = messages::meta_document(out)?.unwrap_or_default();
    let meta: WireMeta = serde_json::from_slice(&meta_bytes).unwrap_or_default();
    messages::describe(&meta, out);
    let mut model = meta.config.model_name.owned().or_else(|| meta.config.active_model.owned());
    check_format(out)?;
    let files = Files::of(out);
    for file in files.runtimes {
        let Some(bytes) = out.read_document(file)? else { continue };
        let Some(state) = out.parse_document::<WireRuntime>(file, &bytes) else { continue };
        state.session_metadata.cwd.fill(&mut out.head.cwd);
        state.identity.parent_session_id.fill(&mut out.head.parent);
        model = model.or_else(|| state.session_metadata.active_model.owned());
        if state.identity.kind.as_str() == "subagent" {
            out.head.begun_by = BegunBy::Agent;
        }
    }
    for file in files.projections {
        let Some(bytes) = out.read_document(file)? else { continue };
        let Some(projection) = out.parse_document::<WireProjection>(file, &bytes) else { continue };
        history.envelope(projection.snapshot, out);
    }
    for file in listed_chunks(&files.manifests, &files.chunks, out)? {
        let Some(bytes) = out.read_document(file)? else { continue };
        let Some(entries) = out.parse_document::<Vec<&RawValue>>(file, &bytes) else { continue };
        for (at, entry) in entries.into_iter().enumerate() {
            out.go_to(Position { file: file as u32, line: at as u64 + 1 });
            history.put(entry.get(), out);
        }
    }
    for file in files.journals {
        out.read_file(&mut history, file)?;
    }
    history.tell(model.as_deref().unwrap_or("unknown"), out)
}

/// Names a store of another format; what is known of it is read all the same.
fn check_format(out: &mut Transcript) -> Result<()> {
    let at = out.log.files.iter().position(|file| file.name == Path::new(CURRENT));
    let Some(file) = at else { return Ok(()) };
    let Some(bytes) = out.read_document(file)? else { return Ok(()) };
    let current: WireCurrent = serde_json::from_slice(&bytes).unwrap_or_default();
    if current.store_format.strip_prefix(STORE_FORMAT) != Some("v1") {
        let format = text::one_line(&current.store_format, 60);
        out.skip(file, 0, format!("a newer format, `{format}`: some of it may not be read"));
    }
    Ok(())
}

/// The files of a store by what they hold, each kind from the oldest to the newest.
#[derive(Default)]
struct Files {
    manifests: Vec<usize>,
    projections: Vec<usize>,
    runtimes: Vec<usize>,
    journals: Vec<usize>,
    /// By hash.
    chunks: HashMap<String, usize>,
}

impl Files {
    fn of(out: &Transcript) -> Files {
        let mut files = Files::default();
        let mut by_name: Vec<(&Path, usize)> =
            out.log.files.iter().enumerate().map(|(at, file)| (file.name.as_path(), at)).collect();
        // Generations and journals are called by numbers of one length.
        by_name.sort();
        for (path, at) in by_name {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let within = |folder: &str| path.parent().is_some_and(|inner| inner.ends_with(folder));
            match name.as_ref() {
                MANIFEST => files.manifests.push(at),
                PROJECTION => files.projections.push(at),
                RUNTIME => files.runtimes.push(at),
                name if within("journal") && name.ends_with(".jsonl") => files.journals.push(at),
                name if within("chunks") => {
                    files.chunks.insert(name.trim_end_matches(".json").to_string(), at);
                }
                _ => {}
            }
        }
        files
    }
}

/// The chunks of entries in their order; those that no generation lists any more come first.
fn listed_chunks(
    manifests: &[usize],
    chunks: &HashMap<String, usize>,
    out: &mut Transcript,
) -> Result<Vec<usize>> {
    let mut listed = Vec::new();
    for manifest in manifests {
        let Some(bytes) = out.read_document(*manifest)? else { continue };
        let Some(found) = out.parse_document::<WireManifest>(*manifest, &bytes) else { continue };
        for hash in found.projection_state.chunks {
            match chunks.get(hash.as_str()) {
                Some(chunk) => listed.push(*chunk),
                None => out.skip(*manifest, 0, "names a chunk that is not there"),
            }
        }
    }
    let mut order: Vec<usize> =
        chunks.values().copied().filter(|chunk| !listed.contains(chunk)).collect();
    order.sort_unstable();
    order.extend(listed);
    let mut seen = HashSet::new();
    order.retain(|chunk| seen.insert(*chunk));
    Ok(order)
}

/// The entries of a session, each in its latest form, where it first stood.
#[derive(Default)]
struct History {
    entries: Vec<Entry>,
    by_id: HashMap<String, usize>,
    /// What was used in all; it only grows.
    used: Tokens,
    interrupted: HashSet<String>,
}

struct Entry {
    json: String,
    position: Position,
    updated: u64,
    turn: String,
    is_prompt: bool,
}

impl Dialect for History {
    type Record<'a> = WireJournalLine<'a>;

    fn record(&mut self, line: WireJournalLine, out: &mut Transcript) -> Result<()> {
        let Some(delta) = line.payload.0.delta.filter(|_| line.kind.as_str() == "projection_delta")
        else {
            return out.ignore(&line.kind);
        };
        for change in delta {
            match (change.op.as_str(), change.entry, change.state) {
                ("append_entry" | "replace_entry", Some(entry), _) => self.put(entry.get(), out),
                ("set_envelope", _, Some(state)) => self.envelope(state, out),
                (op, ..) => out.ignore(&format!("change {op}"))?,
            }
        }
        Ok(())
    }
}

impl History {
    fn put(&mut self, json: &str, out: &mut Transcript) {
        let Some(stamp) = out.parse::<WireStamp>(json) else { return };
        let entry = Entry {
            json: json.to_string(),
            position: out.context.position,
            updated: stamp.updated_at.0,
            turn: stamp.turn_id.as_str().to_string(),
            is_prompt: stamp.kind.as_str() == "message" && stamp.role.as_str() == "user",
        };
        match self.by_id.get(stamp.id.as_str()) {
            Some(at) if self.entries[*at].updated <= entry.updated => self.entries[*at] = entry,
            Some(_) => {}
            None => {
                self.by_id.insert(stamp.id.as_str().to_string(), self.entries.len());
                self.entries.push(entry);
            }
        }
    }

    fn envelope(&mut self, state: WireState, out: &mut Transcript) {
        state.session.title.replace(&mut out.head.title);
        out.head.titled_by_person |= state.session.title_source.as_str() == "manual";
        let usage = &state.session.token_usage;
        self.used.input = self.used.input.max(usage.input_tokens.0);
        self.used.output = self.used.output.max(usage.output_tokens.0);
        self.used.cache_read = self.used.cache_read.max(usage.cached_input_tokens.0);
        if state.latest_turn.status.as_str() == "interrupted" {
            self.interrupted.insert(state.latest_turn.id.as_str().to_string());
        }
    }

    /// Says what happened, entry by entry.
    fn tell(self, model: &str, out: &mut Transcript) -> Result<()> {
        let mut entries = self.entries.into_iter().peekable();
        while let Some(entry) = entries.next() {
            out.go_to(entry.position);
            let Some(wire) = out.parse::<WireEntry>(&entry.json) else { continue };
            out.head.records += 1;
            let said = wire.kind.as_str() == "message" && wire.role.as_str() == "assistant";
            tell_entry(wire, out)?;
            let next = entries.peek();
            if next.is_none_or(|next| next.turn != entry.turn)
                && self.interrupted.contains(&entry.turn)
            {
                out.intervention("turn interrupted")?;
            } else if said && next.is_none_or(|next| next.is_prompt) {
                out.completion()?;
            }
        }
        if self.used.input + self.used.output > 0 {
            out.count(model, self.used.without_cached_input());
        }
        Ok(())
    }
}

fn tell_entry(entry: WireEntry, out: &mut Transcript) -> Result<()> {
    out.context.at = entry.created_at.milliseconds();
    match (entry.kind.as_str(), entry.role.as_str()) {
        ("message", "user") if entry.source.as_str() == "harness" => {
            out.ignore("user message that no person wrote")
        }
        ("message", "user") => {
            let typed = entry.user_display_content.map_or(entry.content, |shown| shown.content);
            out.prompt(&attached(&typed.text, typed.images, "image"))
        }
        ("message", "assistant") => out.reply(entry.content.text),
        ("message", role) => out.ignore(&format!("message of {role}")),
        ("reasoning", _) if entry.text.is_empty() => out.think(entry.summary.text),
        ("reasoning", _) => out.think(entry.text.0),
        ("effect", _) => effect(entry, out),
        (kind, _) => out.ignore(kind),
    }
}

/// A call, and its answer where that has come.
fn effect(entry: WireEntry, out: &mut Transcript) -> Result<()> {
    let (detail, state) = (entry.detail.0, entry.state.0);
    let tool = if detail.tool_name.is_empty() { detail.kind } else { detail.tool_name };
    // Tools belong to groups: `file_system.bash`. The last word says what they do.
    let short = match tool.as_str() {
        "subagent.spawn" => "subagent",
        tool => tool.rsplit('.').next().unwrap_or(tool),
    };
    let action = tools::action(short, raw(detail.input));
    out.act(entry.id.0.clone(), tool.0, action)?;
    let failed = match state.status.as_str() {
        "completed" => !matches!(state.output.kind.as_str(), "" | "success"),
        "failed" | "errored" | "skipped" | "cancelled" => true,
        _ => return Ok(()),
    };
    out.context.at = entry.updated_at.milliseconds().or(out.context.at);
    let (content, exit_code) = answer(state);
    out.result(entry.id.0, content, failed, exit_code)
}

/// What a tool answered, and the exit code where it was a command.
fn answer(state: WireEffectState<'_>) -> (Content<'_>, Option<i32>) {
    let structured: Value =
        serde_json::from_str(raw(state.output.structured_content)).unwrap_or_default();
    let part = |name: &str| structured.get(name).and_then(Value::as_str).unwrap_or_default();
    let exit_code = structured.get("returncode").and_then(Value::as_i64);
    let printed = [part("stdout"), part("stderr"), part("content")].concat();
    let raw_answer = raw(state.output.structured_content);
    let mut content = state.output.0.content;
    let texts = [printed.as_str(), &state.output_text, &state.error.message, &state.reason];
    if content.text.is_empty() && exit_code.is_none() | texts.iter().any(|text| !text.is_empty()) {
        let said = texts.iter().find(|text| !text.is_empty()).copied();
        let said = said.unwrap_or(raw_answer);
        content.text = said.to_string().into();
    }
    (content, exit_code.and_then(|code| i32::try_from(code).ok()))
}
