//! What a tool call does, by the tool's name and input: one table for all agents.
//!
//! Agents name the same thing differently (`Bash`, `exec_command`, `run_terminal_cmd`, `shell`),
//! and name its inputs differently (`file_path`, `filePath`, `path`). Unknown tools keep their
//! input.

use serde_json::{Map, Value};

use crate::base::files::sha256_hex;
use crate::base::text;
use crate::model::evidence::FileState;
use crate::model::session::{Action, FileChange};

/// The longest input that is kept of a tool we do not know.
const LONGEST_INPUT: usize = 4000;
/// The longest text that is kept of an edit or a delegated task.
const LONGEST_TEXT: usize = 16_000;

/// Says what a call does.
pub fn action(tool: &str, input: &str) -> Action {
    let value: Value = serde_json::from_str(input).unwrap_or(Value::Null);
    let Value::Object(fields) = &value else {
        return from_text(tool, value.as_str().unwrap_or(input));
    };
    from_fields(tool, fields, input)
}

fn from_fields(tool: &str, fields: &Map<String, Value>, input: &str) -> Action {
    match kind(tool) {
        Some(ToolKind::Shell) => match command(fields) {
            // Some agents send a patch through their shell.
            Some(command) if is_patch_command(&command) => patch(&command),
            // Nothing is typed: the agent looks what a running command has printed.
            Some(command) if command.is_empty() => {
                Action::Other { input: attended(fields).unwrap_or_else(|| kept_input(input)) }
            }
            Some(command) => Action::Shell { command },
            None => other(input),
        },
        Some(ToolKind::Edit) => match string(fields, &["input", "patch", "patchText"]) {
            Some(text) if text.contains("*** Begin Patch") => patch(&text),
            _ => edit(fields).unwrap_or_else(|| other(input)),
        },
        Some(ToolKind::Read) => match path(fields).or_else(|| first_path(fields)) {
            Some(path) => Action::Read { path },
            None => other(input),
        },
        Some(ToolKind::Search) => {
            let wanted = ["pattern", "query", "url", "glob", "glob_pattern", "path"];
            let query = wanted
                .iter()
                .filter_map(|name| string(fields, &[name]))
                .collect::<Vec<_>>()
                .join(" in ");
            Action::Search { query: kept(&query) }
        }
        Some(ToolKind::Delegate) => Action::Delegate { task: task(fields) },
        Some(ToolKind::Plan) => Action::Plan { text: plan(fields).unwrap_or_else(|| kept(input)) },
        Some(ToolKind::Ask) => {
            Action::Ask { question: question(fields).unwrap_or_else(|| kept(input)) }
        }
        Some(ToolKind::Attend) => {
            Action::Other { input: attended(fields).unwrap_or_else(|| kept_input(input)) }
        }
        None => match command(fields) {
            Some(command) if fields.len() <= 6 && tool_sounds_like_shell(tool) => {
                Action::Shell { command }
            }
            _ => other(input),
        },
    }
}

/// Says what a call with plain text as input does.
fn from_text(tool: &str, input: &str) -> Action {
    match kind(tool) {
        Some(ToolKind::Shell) if is_patch_command(input) => patch(input),
        Some(ToolKind::Shell) => Action::Shell { command: kept(input) },
        Some(ToolKind::Edit) => patch(input),
        Some(ToolKind::Read) => Action::Read { path: text::cut(input, 1000).to_string() },
        Some(ToolKind::Search) => Action::Search { query: kept(input) },
        Some(ToolKind::Delegate) => Action::Delegate { task: kept(input) },
        Some(ToolKind::Plan) => Action::Plan { text: kept(input) },
        Some(ToolKind::Ask) => Action::Ask { question: kept(input) },
        Some(ToolKind::Attend) => other(input),
        None => other(input),
    }
}

enum ToolKind {
    Shell,
    Edit,
    Read,
    Search,
    Delegate,
    Plan,
    Ask,
    Attend,
}

fn kind(tool: &str) -> Option<ToolKind> {
    // Names are compared without case and separators: `run_terminal_cmd`, `runTerminalCmd`.
    let name: String = tool
        .chars()
        .filter(|c| c.is_ascii_alphanumeric())
        .map(|c| c.to_ascii_lowercase())
        .collect();
    Some(match name.as_str() {
        "bash" | "shell" | "shellcommand" | "execcommand" | "localshell" | "localshellcall"
        | "containerexec" | "runterminalcmd" | "runterminalcommand" | "runshellcommand"
        | "powershell" | "execute" | "exec" | "developershell" | "writestdin" | "writebash"
        | "runcommand" | "runinterminal" | "executebash" => ToolKind::Shell,
        "bashoutput" | "readbash" | "killshell" | "killbash" | "stopbash" | "taskoutput"
        | "taskstop" | "waitagent" | "wait" | "closeagent" | "skill" => ToolKind::Attend,
        "edit"
        | "write"
        | "multiedit"
        | "notebookedit"
        | "applypatch"
        | "searchreplace"
        | "strreplace"
        | "strreplaceeditor"
        | "strreplacebasededittool"
        | "replace"
        | "writefile"
        | "editfile"
        | "create"
        | "createfile"
        | "patch"
        | "developertexteditor"
        | "texteditor"
        | "replaceinfile"
        | "writetofile"
        | "deletefile"
        | "delete"
        | "createnewfile"
        | "editexistingfile"
        | "singlefindandreplace"
        | "replacestringinfile"
        | "inserteditintofile"
        | "fswrite" => ToolKind::Edit,
        "read" | "readfile" | "view" | "viewimage" | "readmanyfiles" | "notebookread"
        | "openfile" | "fsread" => ToolKind::Read,
        "grep" | "glob" | "ls" | "listdir" | "listdirectory" | "list" | "search"
        | "searchfilecontent" | "websearch" | "webfetch" | "fetch" | "googlewebsearch"
        | "codebasesearch" | "filesearch" | "findfiles" | "toolsearch" | "grepsearch" | "rg"
        | "fileglobsearch" | "findpath" | "searchfiles" => ToolKind::Search,
        "task" | "agent" | "spawnagent" | "delegate" | "subagent" | "dispatchagent"
        | "runsubagent" => ToolKind::Delegate,
        "todowrite" | "todoread" | "todo" | "todolist" | "todos" | "managetodolist"
        | "updateplan" | "updatetodo" | "writetodos" | "taskcreate" | "taskupdate" | "tasklist"
        | "taskget" | "exitplanmode" | "enterplanmode" | "plan" => ToolKind::Plan,
        "askuserquestion" | "askuser" | "question" | "requestuserinput" | "askfollowupquestion" => {
            ToolKind::Ask
        }
        "executecommand" | "runcommands" => ToolKind::Shell,
        "replacefilecontent"
        | "multireplacefilecontent"
        | "applydiff"
        | "insertcontent"
        | "searchandreplace"
        | "editor" => ToolKind::Edit,
        "viewfile" | "readfiles" => ToolKind::Read,
        "find"
        | "findbyname"
        | "listfiles"
        | "listcodedefinitionnames"
        | "searchweb"
        | "readurlcontent"
        | "fetchurl" => ToolKind::Search,
        "invokesubagent" | "newtask" | "agentswarm" => ToolKind::Delegate,
        "updatetodolist" => ToolKind::Plan,
        "ask" | "askquestion" => ToolKind::Ask,
        _ => return None,
    })
}

fn tool_sounds_like_shell(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    ["shell", "bash", "terminal", "exec", "command"].iter().any(|word| tool.contains(word))
}

fn command(fields: &Map<String, Value>) -> Option<String> {
    for name in ["command", "cmd", "script", "chars", "input"] {
        match fields.get(name) {
            Some(Value::String(command)) => return Some(kept(command)),
            Some(Value::Array(words)) => {
                let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                // `["bash", "-lc", "cargo test"]` is `cargo test` to a person.
                return Some(kept(&match words.as_slice() {
                    [shell, flag, command] if flag.starts_with('-') && shell.ends_with("sh") => {
                        command.to_string()
                    }
                    words => words.join(" "),
                }));
            }
            _ => {}
        }
    }
    None
}

fn edit(fields: &Map<String, Value>) -> Option<Action> {
    let mut text = String::new();
    const TEXTS: &[&str] = &[
        "old_string", "old_str", "oldString", "oldText", "old_text", "before", "new_string",
        "new_str", "newString", "newText", "new_text", "after", "content", "contents", "file_text",
        "new_source", "diff", "changes",
    ];
    for name in TEXTS {
        if let Some(Value::String(part)) = fields.get(*name) {
            let is_old = name.starts_with("old") || *name == "before";
            let mark = if is_old { "- " } else { "+ " };
            for line in text::cut(part, LONGEST_TEXT).lines() {
                text.push_str(mark);
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    for list in ["edits", "content"] {
        let Some(Value::Array(edits)) = fields.get(list) else { continue };
        for one in edits.iter().filter_map(Value::as_object).take(50) {
            if let Some(Action::Edit { text: part, .. }) = edit(one) {
                text.push_str(&part);
            }
        }
    }
    let file = path(fields).map(|path| FileChange { path, state: whole_content(fields) });
    (file.is_some() || !text.is_empty()).then(|| Action::Edit {
        files: file.into_iter().collect(),
        text: text::cut(&text, LONGEST_TEXT).to_string(),
    })
}

/// The state of a file that is written as a whole.
fn whole_content(fields: &Map<String, Value>) -> FileState {
    const PARTS: &[&str] = &[
        "old_string", "old_str", "oldString", "oldText", "old_text", "before", "edits", "diff",
        "insert_line",
    ];
    let adds = matches!(fields.get("command").and_then(Value::as_str), Some("append" | "insert"));
    if adds || PARTS.iter().any(|name| fields.contains_key(*name)) {
        return FileState::Unknown;
    }
    let content =
        ["content", "contents", "file_text"].iter().find_map(|name| fields.get(*name)?.as_str());
    content.map_or(FileState::Unknown, state_of)
}

/// The state of a file with this content; line ends count as `\n`, because agents do not say which
/// a file has.
pub fn state_of(content: &str) -> FileState {
    FileState::Sha256(match content.contains('\r') {
        true => sha256_hex(content.replace("\r\n", "\n").as_bytes()),
        false => sha256_hex(content.as_bytes()),
    })
}

fn is_patch_command(command: &str) -> bool {
    command.starts_with("apply_patch") || command.starts_with("*** Begin Patch")
}

/// Reads the files out of a patch in the `*** Update File:` or the unified form.
fn patch(text: &str) -> Action {
    let mut files: Vec<FileChange> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let named = |mark: &str| line.strip_prefix(mark).map(|path| path.trim().to_string());
        let (path, state) = if let Some(path) = named("*** Add File: ") {
            let mut content = String::new();
            while let Some(added) = lines.peek().and_then(|line| line.strip_prefix('+')) {
                content.push_str(added);
                content.push('\n');
                lines.next();
            }
            // What follows shows that the patch was not cut off here.
            (path, if lines.peek().is_some() { state_of(&content) } else { FileState::Unknown })
        } else if let Some(path) = named("*** Delete File: ") {
            (path, FileState::Deleted)
        } else if let Some(path) = named("*** Move to: ") {
            if let Some(moved) = files.last_mut() {
                moved.state = FileState::Deleted;
            }
            (path, FileState::Unknown)
        } else if let Some(path) = named("*** Update File: ").or_else(|| named("+++ b/")) {
            (path, FileState::Unknown)
        } else {
            continue;
        };
        if !files.iter().any(|known| known.path == path) {
            files.push(FileChange { path, state });
        }
    }
    Action::Edit { files, text: text::cut(text, LONGEST_TEXT).to_string() }
}

/// What a subagent is to do, or each of several.
fn task(fields: &Map<String, Value>) -> String {
    if let Some(Value::Array(tasks)) = fields.get("tasks") {
        let tasks: Vec<String> = tasks.iter().filter_map(Value::as_object).map(task).collect();
        return kept(&tasks.join(" / "));
    }
    let parts = [
        string(fields, &["description", "title"]),
        string(fields, &["prompt", "task", "message", "instructions", "assignment"]),
    ];
    parts.into_iter().flatten().map(|part| kept(&part)).collect::<Vec<_>>().join(": ")
}

fn plan(fields: &Map<String, Value>) -> Option<String> {
    let items = ["todos", "plan", "items", "todoList", "tasks"]
        .iter()
        .find_map(|name| fields.get(*name)?.as_array());
    if let Some(items) = items {
        let lines: Vec<String> = items
            .iter()
            .filter_map(Value::as_object)
            .filter_map(|item| {
                const NAMES: &[&str] = &[
                    "content", "step", "text", "title", "description", "subject",
                    "task_description",
                ];
                let what = string(item, NAMES)?;
                let done = matches!(
                    item.get("status").and_then(Value::as_str),
                    Some("completed" | "done")
                );
                Some(format!("[{}] {}", if done { 'x' } else { ' ' }, text::one_line(&what, 300)))
            })
            .collect();
        return Some(lines.join("\n"));
    }
    string(fields, &["plan", "subject", "description", "text"]).map(|plan| kept(&plan))
}

fn question(fields: &Map<String, Value>) -> Option<String> {
    if let Some(Value::Array(questions)) = fields.get("questions") {
        let asked: Vec<String> = questions
            .iter()
            .filter_map(|one| string(one.as_object()?, &["question", "text"]))
            .collect();
        return Some(kept(&asked.join(" / ")));
    }
    string(fields, &["question", "text", "prompt"]).map(|question| kept(&question))
}

fn path(fields: &Map<String, Value>) -> Option<String> {
    string(
        fields,
        &[
            "file_path", "filePath", "path", "notebook_path", "target_file", "absolute_path",
            "file", "filename", "filepath",
        ],
    )
    .map(|path| text::cut(&path, 1000).to_string())
}

/// The path of the first of several operations in one call.
fn first_path(fields: &Map<String, Value>) -> Option<String> {
    path(fields.get("operations")?.as_array()?.first()?.as_object()?)
}

fn string(fields: &Map<String, Value>, names: &[&str]) -> Option<String> {
    names
        .iter()
        .find_map(|name| fields.get(*name)?.as_str())
        .filter(|value| !value.is_empty())
        .map(str::to_string)
}

fn kept(text: &str) -> String {
    text::cut(text, LONGEST_TEXT).to_string()
}

/// What the agent attends to: a command or subagent that goes on beside it, or a skill that it
/// loads.
fn attended(fields: &Map<String, Value>) -> Option<String> {
    let what = [
        "bash_id", "shell_id", "shellId", "session_id", "task_id", "agent_id", "id", "skill",
        "name",
    ];
    let named: Vec<&str> = ["ids", "targets", "agents"]
        .iter()
        .filter_map(|name| fields.get(*name)?.as_array())
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let what = match fields.get("session_id") {
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => string(fields, &what).or_else(|| (!named.is_empty()).then(|| named.join(" "))),
    }?;
    let more =
        string(fields, &["args", "arguments"]).map(|more| format!(" {more}")).unwrap_or_default();
    Some(kept_input(&format!("{what}{more}")))
}

fn kept_input(input: &str) -> String {
    text::cut(input, LONGEST_INPUT).to_string()
}

fn other(input: &str) -> Action {
    Action::Other { input: kept_input(input) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(command: &str) -> Action {
        Action::Shell { command: command.into() }
    }

    #[test]
    fn agents_name_the_same_thing_differently() {
        assert_eq!(action("Bash", r#"{"command":"cargo test"}"#), shell("cargo test"));
        assert_eq!(
            action("shell", r#"{"command":["bash","-lc","cargo test"]}"#),
            shell("cargo test")
        );
        assert_eq!(action("exec_command", r#"{"cmd":"cargo test"}"#), shell("cargo test"));
        assert_eq!(
            action("run_terminal_cmd", r#"{"command":"ls","explanation":"x"}"#),
            shell("ls")
        );
        assert_eq!(
            action("Read", r#"{"file_path":"/a/b.rs"}"#),
            Action::Read { path: "/a/b.rs".into() }
        );
        assert_eq!(
            action("read", r#"{"filePath":"/a/b.rs"}"#),
            Action::Read { path: "/a/b.rs".into() }
        );
        assert_eq!(
            action("Edit", r#"{"file_path":"a.rs","old_string":"x","new_string":"y"}"#),
            Action::Edit { files: vec![FileChange::of("a.rs".into())], text: "- x\n+ y\n".into() }
        );
        assert_eq!(
            action(
                "apply_patch",
                "*** Begin Patch\n*** Update File: src/a.rs\n-x\n+y\n*** Add File: b.rs\n*** End Patch"
            ),
            Action::Edit {
                files: vec![FileChange::of("src/a.rs".into()), FileChange { path: "b.rs".into(), state: state_of("") }],
                text: "*** Begin Patch\n*** Update File: src/a.rs\n-x\n+y\n*** Add File: b.rs\n*** End Patch".into()
            }
        );
        assert_eq!(
            action("mcp__hub__get", r#"{"id":7}"#),
            Action::Other { input: r#"{"id":7}"#.into() }
        );
        assert_eq!(action("Bash", "not json"), shell("not json"));
        assert_eq!(
            action("edit", r#"{"path":"a.rs","oldText":"x","newText":"y"}"#),
            Action::Edit { files: vec![FileChange::of("a.rs".into())], text: "- x\n+ y\n".into() }
        );
        assert_eq!(
            action("edit", r#"{"path":"a.rs","before":"x","after":"y"}"#),
            Action::Edit { files: vec![FileChange::of("a.rs".into())], text: "- x\n+ y\n".into() }
        );
        assert_eq!(
            action("Write", r#"{"path":"a.rs","contents":"x"}"#),
            Action::Edit {
                files: vec![FileChange { path: "a.rs".into(), state: state_of("x") }],
                text: "+ x\n".into()
            }
        );
    }

    #[test]
    fn a_file_that_is_told_whole_has_a_hash() {
        let states = |action: Action| match action {
            Action::Edit { files, .. } => {
                files.into_iter().map(|file| (file.path, file.state)).collect()
            }
            other => panic!("{other:?}"),
        };
        let check = |action: Action, expect: &[(&str, FileState)]| {
            let expect: Vec<(String, FileState)> =
                expect.iter().map(|(path, state)| (path.to_string(), state.clone())).collect();
            let states: Vec<(String, FileState)> = states(action);
            assert_eq!(states, expect);
        };
        // `printf 'a\nb\n' | sha256sum`
        let hash = "911169ddaaf146aff539f58c26c489af3b892dff0fe283c1c264c65ae5aa59a2";
        assert_eq!(state_of("a\nb\n"), FileState::Sha256(hash.into()));
        check(
            action("Write", r#"{"file_path":"a","content":"a\r\nb\n"}"#),
            &[("a", state_of("a\nb\n"))],
        );
        check(
            action(
                "apply_patch",
                "*** Begin Patch\n*** Add File: a\n+a\n+b\n*** Delete File: b\n*** Update File: c\n*** Move to: d\n-x\n+y\n*** End Patch",
            ),
            &[
                ("a", state_of("a\nb\n")),
                ("b", FileState::Deleted),
                ("c", FileState::Deleted),
                ("d", FileState::Unknown),
            ],
        );
        // The end is missing, and with it perhaps more lines.
        check(
            action("apply_patch", "*** Begin Patch\n*** Add File: a\n+a\n"),
            &[("a", FileState::Unknown)],
        );
    }

    #[test]
    fn what_goes_on_beside_the_agent_is_named() {
        let attends = |tool: &str, input: &str, what: &str| {
            assert_eq!(action(tool, input), Action::Other { input: what.into() }, "{tool} {input}");
        };
        attends("BashOutput", r#"{"bash_id":"bash_1","filter":"error"}"#, "bash_1");
        attends("read_bash", r#"{"shellId":"30","delay":2}"#, "30");
        attends("stop_bash", r#"{"shellId":"22"}"#, "22");
        attends("KillShell", r#"{"shell_id":"b5798f9"}"#, "b5798f9");
        attends("TaskOutput", r#"{"task_id":"b50b67f","block":true,"timeout":120000}"#, "b50b67f");
        attends("Skill", r#"{"skill":"commit","args":"-m fix"}"#, "commit -m fix");
        attends("wait_agent", r#"{"ids":["a1","a2"],"timeout_ms":1000}"#, "a1 a2");
        attends("write_stdin", r#"{"session_id":82336,"chars":""}"#, "82336");
        attends("KillShell", r#"{"odd":1}"#, r#"{"odd":1}"#);
        assert_eq!(action("write_stdin", r#"{"session_id":82336,"chars":"y\n"}"#), shell("y\n"));
        assert_eq!(
            action("write_bash", r#"{"shellId":"30","input":"y{enter}"}"#),
            shell("y{enter}")
        );
    }
}
