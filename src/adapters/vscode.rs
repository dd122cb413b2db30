//! Copilot Chat in VS Code: `workspaceStorage/<hash>/chatSessions/<id>.json`, one document for each
//! session (seen as one real document of format 3), or `<id>.jsonl`, the changes to it one per line
//! (by the notes of others only). `workspace.json` beside the folder names the project.
//!
//! A request has what the person typed, what was shown as the answer, and, where tools were called,
//! the rounds of calls with their answers, which are read instead.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use serde_json::value::RawValue;

use super::jsonl::{Line, Lines};
use super::shared::{Shared, SharedSession};
use super::transcript::{Tokens, Transcript, hash};
use super::wire::{Content, Count, Lenient, Text, local_path, plain, wire_types};
use super::{Adapter, Identity, Places, editors, jsonl};
use crate::base::files;
use crate::error::Result;
use crate::model::session::{EventSink, Head, Log, Position, Role};

/// Copilot Chat in VS Code.
pub struct VsCode;

const WORKSPACE: &str = "workspace.json";
const SESSIONS: &str = "chatSessions";

impl Adapter for VsCode {
    fn name(&self) -> &'static str {
        "vscode"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let mut roots = Vec::new();
        for user in editors::user_folders(places) {
            roots.push(user.join("globalStorage/emptyWindowChatSessions"));
            let Ok(workspaces) = files::read_dir(user.join("workspaceStorage")) else { continue };
            // The other things that lie there are many, and none of them is a chat.
            for folder in workspaces.flatten().map(|entry| entry.path()) {
                if folder.join(SESSIONS).is_dir() {
                    roots.extend([folder.join(SESSIONS), folder.join(WORKSPACE)]);
                }
            }
        }
        roots.sort();
        roots
    }

    fn identify(&self, file: &Path) -> io::Result<Option<Identity>> {
        let id = match file.extension().and_then(|extension| extension.to_str()) {
            Some("json") => {
                let fields = ["sessionId", "requesterUsername", "responderUsername"];
                let head = jsonl::document_head(file, &fields, "requests")?;
                let is_own =
                    head.contains_key("requests") && head.contains_key("responderUsername");
                // Its id comes after the requests, which may be long; it is the file's name, too.
                let stem = file.file_stem().unwrap_or_default().to_string_lossy();
                let id = Some(jsonl::string(&head, "sessionId")).filter(|id| !id.is_empty());
                is_own.then(|| id.unwrap_or(&stem).to_string())
            }
            Some("jsonl") => {
                let first = jsonl::first_objects(file, 1)?.into_iter().next().unwrap_or_default();
                let start = first.get("v").and_then(Value::as_object);
                let is_own = first.get("kind").and_then(Value::as_u64) == Some(0)
                    && start.is_some_and(|start| start.contains_key("requests"));
                start.filter(|_| is_own).map(|start| jsonl::string(start, "sessionId").to_string())
            }
            _ => None,
        };
        let id = id.filter(|id| !id.is_empty());
        Ok(id.map(|id| Identity::main(id.as_str(), Some(id.clone()))))
    }

    fn share(&self, file: &Path) -> io::Result<Option<Box<dyn Shared>>> {
        let folder = file.parent().unwrap_or(Path::new("")).join(SESSIONS);
        let is_own = file.file_name().is_some_and(|name| name == WORKSPACE) && folder.is_dir();
        if !is_own || files::metadata(file)?.len() > 1 << 20 {
            return Ok(None);
        }
        let names = files::read_dir(&folder)?.flatten().map(|entry| entry.path());
        let mut ids: Vec<String> =
            names.filter_map(|path| Some(path.file_stem()?.to_str()?.to_string())).collect();
        ids.sort();
        ids.dedup();
        Ok(Some(Box::new(Workspace { document: files::read(file)?, ids })))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut out = Transcript::new(log, events);
        let at = log.files.iter().position(|file| file.name == Path::new(WORKSPACE));
        if let Some(file) = at
            && let Some(bytes) = out.read_document(file)?
        {
            let workspace: WireWorkspace = serde_json::from_slice(&bytes).unwrap_or_default();
            out.head.cwd = workspace.folder.some().map(folder_path);
        }
        read_documents(&mut out)?;
        Ok(out.head)
    }
}

/// A folder's address; one on another machine is known by its path there.
fn folder_path(address: &str) -> String {
    match address.split_once("://") {
        Some(("file", _)) | None => local_path(address),
        Some((_, rest)) => {
            let path = rest.find('/').map_or("", |at| &rest[at..]);
            local_path(&format!("file://{path}"))
        }
    }
}

/// The file that names the project of all chats beside it.
struct Workspace {
    document: Vec<u8>,
    ids: Vec<String>,
}

impl Shared for Workspace {
    fn sessions(&mut self) -> io::Result<Vec<SharedSession>> {
        let revision = files::sha256_hex(&self.document)[..16].to_string();
        let sessions = self.ids.iter().map(|id| SharedSession {
            native_id: id.clone(),
            revision: revision.clone(),
            role: Role::Attachment,
            lineage: None,
            parent: None,
        });
        Ok(sessions.collect())
    }

    fn extract(&mut self, _: &str, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.document)
    }
}

// What stands in a document, exactly as the program writes it.

wire_types! {
    struct WireWorkspace<'a> {
        folder: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireSession<'a> {
        custom_title: Text<'a>,
        version: Count,
        requests: Vec<&'a RawValue>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireRequestId<'a> {
        request_id: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireRequest<'a> {
        message: Lenient<WireMessage<'a>>,
        response: Lenient<Vec<WireItem<'a>>>,
        result: Lenient<WireResult<'a>>,
        timestamp: Count,
        model_id: Text<'a>,
        is_canceled: Option<bool>,
    }

    struct WireMessage<'a> {
        text: Text<'a>,
    }

    /// A piece of what was shown: text where it has no kind.
    #[serde(rename_all = "camelCase")]
    struct WireItem<'a> {
        kind: Text<'a>,
        value: Text<'a>,
        tool_id: Text<'a>,
        tool_call_id: Text<'a>,
        past_tense_message: Lenient<WireShown<'a>>,
        is_complete: Option<bool>,
        tool_specific_data: Lenient<WireToolData<'a>>,
    }

    /// Text that was shown, at times with how it was.
    struct WireShown<'a> {
        value: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireToolData<'a> {
        command_line: Lenient<WireCommandLine<'a>>,
        terminal_command_state: Lenient<WireCommandState>,
    }

    struct WireCommandLine<'a> {
        original: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireCommandState {
        exit_code: Option<i32>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireResult<'a> {
        metadata: Lenient<WireMetadata<'a>>,
        error_details: Option<WireError<'a>>,
    }

    struct WireError<'a> {
        message: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct WireMetadata<'a> {
        tool_call_rounds: Lenient<Vec<WireRound<'a>>>,
        tool_call_results: Lenient<HashMap<String, &'a RawValue>>,
        prompt_tokens: Count,
        output_tokens: Count,
    }

    #[serde(rename_all = "camelCase")]
    struct WireRound<'a> {
        response: Text<'a>,
        tool_calls: Vec<WireCall<'a>>,
    }

    struct WireCall<'a> {
        id: Text<'a>,
        name: Text<'a>,
        /// A document of its own.
        arguments: Option<&'a RawValue>,
    }
}

/// Reads the documents of one session; a request that a later one has too is read there.
fn read_documents(out: &mut Transcript) -> Result<()> {
    let mut documents = Vec::new();
    for file in out.main_files() {
        let is_lines = jsonl::stem(&out.log.files[file].name).is_some();
        let bytes = if is_lines { replayed(file, out)? } else { out.read_document(file)? };
        documents.extend(bytes.map(|bytes| (file, bytes)));
    }
    let mut sessions = Vec::new();
    for (file, bytes) in &documents {
        sessions.extend(out.parse_document::<WireSession>(*file, bytes).map(|one| (*file, one)));
    }
    let key = |request: &RawValue| {
        let id: WireRequestId = serde_json::from_str(request.get()).unwrap_or_default();
        hash(id.request_id.as_str())
    };
    for at in 0..sessions.len() {
        let later: HashSet<u64> = sessions[at + 1..]
            .iter()
            .flat_map(|(_, session)| session.requests.iter().map(|request| key(request)))
            .collect();
        let (file, session) = &sessions[at];
        if session.version.0 > 3 {
            let reason = format!("a newer format, version {}", session.version.0);
            out.skip(*file, 0, reason);
        }
        session.custom_title.replace(&mut out.head.title);
        for (number, request) in session.requests.iter().enumerate() {
            out.go_to(Position { file: *file as u32, line: number as u64 + 1 });
            if later.contains(&key(request)) {
                out.ignore("earlier copy of a request")?;
            } else if let Some(request) = out.parse::<WireRequest>(request.get()) {
                out.head.records += 1;
                tell(request, out)?;
            }
        }
    }
    Ok(())
}

/// The document that the changes of a log lead to.
fn replayed(file: usize, out: &mut Transcript) -> Result<Option<Vec<u8>>> {
    let path = &out.log.files[file].path;
    let Ok(mut lines) = Lines::open(path) else {
        out.skip(file, 0, "cannot be opened");
        return Ok(None);
    };
    let (mut document, mut skipped) = (Value::Null, Vec::new());
    while let Ok(Some((number, line))) = lines.next() {
        let Line::Bytes { bytes, .. } = line else {
            skipped.push((number, jsonl::TOO_LONG));
            continue;
        };
        let change = serde_json::from_slice::<Value>(bytes).ok();
        if !bytes.is_empty() && change.and_then(|change| apply(&mut document, change)).is_none() {
            skipped.push((number, "a change that cannot be made"));
        }
    }
    for (number, reason) in skipped {
        out.skip(file, number, reason);
    }
    Ok(serde_json::to_vec(&document).ok())
}

/// Makes one change: 0 is the whole document, 1 sets, 2 adds to a list, 3 deletes.
fn apply(document: &mut Value, mut change: Value) -> Option<()> {
    let kind = change.get("kind")?.as_u64()?;
    let value = change.get_mut("v").map(Value::take);
    if kind == 0 {
        *document = value?;
        return Some(());
    }
    let way = change.get("k")?.as_array()?.clone();
    let (last, before) = way.split_last()?;
    let mut at = document;
    for step in before {
        at = within(at, step)?;
    }
    match (kind, value) {
        (1, Some(value)) => match (at, last) {
            (Value::Object(fields), Value::String(name)) => {
                fields.insert(name.clone(), value);
            }
            (at, last) => *within(at, last)? = value,
        },
        (2, value) => {
            let list = within(at, last)?.as_array_mut()?;
            if let Some(length) = change.get("i").and_then(Value::as_u64) {
                list.truncate(usize::try_from(length).ok()?);
            }
            list.extend(value.and_then(|value| value.as_array().cloned()).unwrap_or_default());
        }
        (3, _) => {
            at.as_object_mut()?.remove(last.as_str()?);
        }
        _ => return None,
    }
    Some(())
}

fn within<'v>(value: &'v mut Value, step: &Value) -> Option<&'v mut Value> {
    match step {
        Value::String(name) => value.as_object_mut()?.get_mut(name),
        step => value.as_array_mut()?.get_mut(usize::try_from(step.as_u64()?).ok()?),
    }
}

fn tell(request: WireRequest, out: &mut Transcript) -> Result<()> {
    out.context.at = request.timestamp.milliseconds();
    out.prompt(&request.message.text)?;
    let result = request.result.0;
    let metadata = result.metadata.0;
    if let Some(model) = request.model_id.some() {
        let tokens = Tokens {
            input: metadata.prompt_tokens.0,
            output: metadata.output_tokens.0,
            ..Tokens::default()
        };
        out.count(model.strip_prefix("copilot/").unwrap_or(model), tokens);
    }
    if metadata.tool_call_rounds.is_empty() {
        tell_shown(request.response.0, out)?;
    } else {
        tell_rounds(metadata, &request.response, out)?;
    }
    match result.error_details {
        Some(error) => out.lifecycle(format!("error: {}", error.message.trim())),
        None if request.is_canceled == Some(true) => out.intervention("request cancelled"),
        None => out.completion(),
    }
}

/// Tells the rounds of calls. Exit codes stand in what was shown.
fn tell_rounds(metadata: WireMetadata, shown: &[WireItem], out: &mut Transcript) -> Result<()> {
    // An id has a mark behind it that what was shown may lack.
    let bare = |id: &str| id.split("__vscode").next().unwrap_or(id).to_string();
    let codes: HashMap<String, i32> = shown
        .iter()
        .filter_map(|item| {
            let code = item.tool_specific_data.terminal_command_state.exit_code?;
            Some((bare(&item.tool_call_id), code))
        })
        .collect();
    for round in metadata.tool_call_rounds.0 {
        out.reply(round.response.0)?;
        for call in round.tool_calls {
            let id = call.id.0.into_owned();
            out.call(id.as_str().into(), call.name.0, &plain(call.arguments))?;
            let Some(result) = metadata.tool_call_results.get(&id) else { continue };
            let answer: Value = serde_json::from_str(result.get()).unwrap_or_default();
            let mut text = String::new();
            collect_text(&answer, &mut text);
            let code = codes.get(&bare(&id)).copied();
            out.result(id.into(), Content { text: text.into(), images: 0 }, false, code)?;
        }
    }
    Ok(())
}

/// The text of an answer, which is a tree of pieces.
fn collect_text(value: &Value, text: &mut String) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect_text(value, text)),
        Value::Object(fields) => {
            if let Some(piece) = fields.get("text").and_then(Value::as_str) {
                let breaks = fields.get("lineBreakBefore") == Some(&Value::Bool(true));
                if breaks && !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                text.push_str(piece);
            }
            for inner in ["content", "value", "node", "children"] {
                match fields.get(inner) {
                    Some(Value::String(piece)) => text.push_str(piece),
                    Some(value) => collect_text(value, text),
                    None => {}
                }
            }
        }
        _ => {}
    }
}

/// Tells what was shown, where nothing says more: pieces of text, and calls as they were described.
fn tell_shown(items: Vec<WireItem>, out: &mut Transcript) -> Result<()> {
    let mut said = String::new();
    for item in items {
        match item.kind.as_str() {
            "" => said.push_str(&item.value),
            "thinking" => out.think(item.value.0)?,
            "toolInvocationSerialized" => {
                out.reply(std::mem::take(&mut said).into())?;
                tell_invocation(item, out)?;
            }
            kind => out.ignore(kind)?,
        }
    }
    out.reply(said.into())
}

fn tell_invocation(item: WireItem, out: &mut Transcript) -> Result<()> {
    let data = item.tool_specific_data.0;
    let tool = item.tool_id.0.trim_start_matches("copilot_").to_string();
    let id = item.tool_call_id.0.into_owned();
    match data.command_line.original.some() {
        Some(command) => {
            let input = Value::from_iter([("command", command)]).to_string();
            out.call(id.as_str().into(), "run_in_terminal".into(), &input)?;
        }
        None => {
            let input = Value::from(item.past_tense_message.value.as_str()).to_string();
            let action = crate::model::session::Action::Other { input };
            out.act(id.as_str().into(), tool.into(), action)?;
        }
    }
    if item.is_complete != Some(true) {
        return Ok(());
    }
    let code = data.terminal_command_state.exit_code;
    out.result(
        id.into(),
        Content { text: item.past_tense_message.0.value.0, images: 0 },
        false,
        code,
    )
}
