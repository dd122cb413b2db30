//! The JSON that agents and hooks exchange, exactly as it goes over the wire.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::adapters::hooks::AnswerForm;
use crate::ops::context::ToolCall;

/// What an agent sends to a hook. Everything may be missing: half a call is still answered.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct HookInput {
    /// The agent's own id of the session; untrusted, and never a path.
    pub session_id: String,
    pub transcript_path: String,
    pub cwd: String,
    /// What is asked now.
    pub prompt: String,
    /// Of a session's start: startup, resume, clear, compact, fork. Of a prompt: whose it is.
    pub source: String,
    /// Of a session's end: clear, resume, logout, prompt_input_exit, other.
    pub reason: String,
    /// In a subagent's calls.
    pub agent_id: String,
    /// What tells one turn or one call of a tool from the next, where the agent says so.
    pub occasion: String,
    /// What a tool is about to do, where it changes a file or runs a command.
    pub call: Option<ToolCall>,
    /// The names of all fields, as they were sent.
    fields: BTreeSet<String>,
}

impl HookInput {
    /// Parses what an agent sent. Backslashes of Windows paths that were not escaped are repaired.
    pub fn read(bytes: &[u8]) -> Result<HookInput, String> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_start_matches('\u{feff}').trim();
        let object = |text: &str| match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(fields)) => Ok(HookInput::of(&fields)),
            Ok(_) => Err("it is no object".to_string()),
            Err(err) => Err(err.to_string()),
        };
        let input: Result<HookInput, String> = object(text);
        let repaired = || object(&with_doubled_backslashes(text));
        match input {
            // `C:\new` reads as well, but as a path with a line end in it.
            Ok(input) if input.has_odd_paths() => {
                Ok(repaired().ok().filter(|input| !input.has_odd_paths()).unwrap_or(input))
            }
            Ok(input) => Ok(input),
            Err(reason) => repaired().map_err(|_| reason),
        }
    }

    /// Takes the fields as any agent spells them; where two are there, Claude Code's counts.
    fn of(fields: &Map<String, Value>) -> HookInput {
        let text = |names: &[&str]| {
            let found = names.iter().find_map(|name| fields.get(*name)?.as_str());
            found.unwrap_or_default().to_string()
        };
        let first = |name: &str| Some(fields.get(name)?.as_array()?.first()?.as_str()?.to_string());
        let ids = ["session_id", "sessionId", "conversation_id", "conversationId", "thread-id"];
        let cwd = Some(text(&["cwd", "working_dir"])).filter(|cwd| !cwd.is_empty());
        HookInput {
            session_id: text(&ids),
            transcript_path: text(&["transcript_path", "transcriptPath"]),
            cwd: cwd
                .or_else(|| first("workspace_roots"))
                .or_else(|| first("workspacePaths"))
                .unwrap_or_default(),
            prompt: without_hook_context(&text(&["prompt"])).to_string(),
            source: text(&["source"]),
            reason: text(&["reason"]),
            agent_id: text(&["agent_id", "agentId"]),
            occasion: text(&["tool_use_id", "toolUseId", "prompt_id", "promptId", "turn_id"]),
            call: tool_call(
                &text(&["tool_name"]),
                fields.get("tool_input").unwrap_or(&Value::Null),
            ),
            fields: fields.keys().cloned().collect(),
        }
    }

    /// Whether a field was sent, spelt just so.
    pub fn has(&self, field: &str) -> bool {
        self.fields.contains(field)
    }

    /// Whether the prompt is one that a person sent: agents also call for wake-ups, schedules and
    /// the results of tools.
    pub fn is_typed_by_person(&self) -> bool {
        matches!(self.source.as_str(), "" | "user") && !self.prompt.trim().is_empty()
    }

    fn has_odd_paths(&self) -> bool {
        [&self.transcript_path, &self.cwd].iter().any(|path| path.chars().any(char::is_control))
    }
}

/// What a tool is about to do; `None` where it neither changes a file nor runs a command.
fn tool_call(tool: &str, input: &Value) -> Option<ToolCall> {
    const EDITING: &[&str] = &["Edit", "MultiEdit", "Write", "NotebookEdit"];
    const RUNNING: &[&str] = &["Bash", "shell", "exec_command", "local_shell"];
    let text = |names: &[&str]| names.iter().find_map(|name| input.get(*name)?.as_str());
    let file = match tool {
        tool if EDITING.contains(&tool) => text(&["file_path", "notebook_path"]),
        "apply_patch" => text(&["command", "input", "patch"]).and_then(patched_file),
        _ => None,
    };
    let command = text(&["command", "cmd"]).filter(|_| RUNNING.contains(&tool));
    let said = |text: &&str| !text.trim().is_empty() && text.len() <= LONGEST_CALL;
    let file = file.filter(said).map(|path| ToolCall::Edit(path.into()));
    file.or_else(|| command.filter(said).map(|command| ToolCall::Run(command.to_string())))
}

/// How long a path or a command is at most, in bytes; what is longer was never noted either.
const LONGEST_CALL: usize = 16 << 10;

/// The first file that a patch changes, as Codex writes it.
fn patched_file(patch: &str) -> Option<&str> {
    patch.lines().find_map(|line| line.strip_prefix("*** Update File: ")).map(str::trim)
}

/// A prompt without what hooks have put before it: Gemini shows them the answers to a session's
/// start.
fn without_hook_context(prompt: &str) -> &str {
    const END: &str = "</hook_context>";
    match prompt.trim_start().strip_prefix("<hook_context>").and_then(|rest| rest.split_once(END)) {
        Some((_, prompt)) => prompt.trim_start(),
        None => prompt,
    }
}

/// Doubles every single backslash that is not before a quote.
fn with_doubled_backslashes(text: &str) -> String {
    let mut repaired = String::with_capacity(text.len() + 16);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        repaired.push(letter);
        if letter != '\\' {
            continue;
        }
        match letters.peek() {
            Some('\\' | '"') => repaired.extend(letters.next()),
            _ => repaired.push('\\'),
        }
    }
    repaired
}

/// What a hook answers, in each form that some agent takes.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum HookOutput<'a> {
    #[serde(rename_all = "camelCase")]
    Nested {
        hook_specific_output: NestedContext<'a>,
    },
    #[serde(rename_all = "camelCase")]
    TopLevel {
        additional_context: &'a str,
    },
    SnakeCase {
        additional_context: &'a str,
    },
    #[serde(rename_all = "camelCase")]
    Steps {
        inject_steps: [Step<'a>; 1],
    },
    Nothing {},
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NestedContext<'a> {
    hook_event_name: &'a str,
    additional_context: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Step<'a> {
    ephemeral_message: &'a str,
}

/// The answer to an event that adds to the agent's context, as one line of JSON; nothing where
/// there is nothing to add.
pub fn answer(form: AnswerForm, event: &str, context: &str) -> String {
    let output = match (form, context) {
        (AnswerForm::Steps, "") => HookOutput::Nothing {},
        (_, "") => return String::new(),
        (AnswerForm::Nested, additional_context) => HookOutput::Nested {
            hook_specific_output: NestedContext { hook_event_name: event, additional_context },
        },
        (AnswerForm::TopLevel, additional_context) => HookOutput::TopLevel { additional_context },
        (AnswerForm::SnakeCase, additional_context) => HookOutput::SnakeCase { additional_context },
        (AnswerForm::Steps, ephemeral_message) => {
            HookOutput::Steps { inject_steps: [Step { ephemeral_message }] }
        }
    };
    serde_json::to_string(&output).expect("our own types can always be written as JSON") + "\n"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_spelling_is_understood() {
        let read = |text: &str| HookInput::read(text.as_bytes()).unwrap();
        let parts = |input: HookInput| {
            [input.session_id, input.transcript_path, input.agent_id, input.cwd].join(" ")
        };
        let snake = r#"{"session_id":"a","transcript_path":"/t","agent_id":"x","cwd":"/w"}"#;
        assert_eq!(parts(read(snake)), "a /t x /w");
        for other in [
            r#"{"sessionId":"a","transcriptPath":"/t","agentId":"x","cwd":"/w"}"#,
            r#"{"conversationId":"a","transcriptPath":"/t","agentId":"x","workspacePaths":["/w"]}"#,
            r#"{"conversation_id":"a","transcript_path":"/t","agent_id":"x","workspace_roots":["/w"]}"#,
            r#"{"thread-id":"a","transcript_path":"/t","agent_id":"x","working_dir":"/w"}"#,
        ] {
            assert_eq!(parts(read(other)), "a /t x /w", "{other}");
        }
        assert_eq!(read(r#"{"sessionId":"b","session_id":"a"}"#).session_id, "a");
    }

    #[test]
    fn only_a_persons_prompt_counts() {
        let read = |text: &str| HookInput::read(text.as_bytes()).unwrap();
        assert!(read(r#"{"prompt":"go on"}"#).is_typed_by_person());
        assert!(read(r#"{"prompt":"go on","source":"user"}"#).is_typed_by_person());
        for other in ["sdk", "system", "loop_wakeup", "schedule_wakeup", "poll_event", "new one"] {
            let input = read(&format!(r#"{{"prompt":"go on","source":"{other}"}}"#));
            assert!(!input.is_typed_by_person(), "{other}");
        }
        assert!(!read(r#"{"prompt":" "}"#).is_typed_by_person(), "a tool's result");
        let gemini = read(r#"{"prompt":"<hook_context>ours</hook_context>\n\ngo on"}"#);
        assert_eq!(gemini.prompt, "go on");
    }

    #[test]
    fn each_form_is_one_line_of_json() {
        let all = [
            (
                AnswerForm::Nested,
                r#"{"hookSpecificOutput":{"hookEventName":"E","additionalContext":"a\nb"}}"#,
            ),
            (AnswerForm::TopLevel, r#"{"additionalContext":"a\nb"}"#),
            (AnswerForm::SnakeCase, r#"{"additional_context":"a\nb"}"#),
            (AnswerForm::Steps, r#"{"injectSteps":[{"ephemeralMessage":"a\nb"}]}"#),
        ];
        for (form, expect) in all {
            assert_eq!(answer(form, "E", "a\nb"), format!("{expect}\n"));
        }
        assert_eq!(answer(AnswerForm::TopLevel, "E", ""), "");
        assert_eq!(answer(AnswerForm::Steps, "E", ""), "{}\n", "silence is not an answer there");
    }

    #[test]
    fn a_call_is_an_edit_or_a_command() {
        let call = |tool: &str, input: Value| tool_call(tool, &input);
        let edit = |path: &str| Some(ToolCall::Edit(path.into()));
        let run = |command: &str| Some(ToolCall::Run(command.into()));
        assert_eq!(call("Edit", json!({"file_path": "/w/a.rs"})), edit("/w/a.rs"));
        assert_eq!(
            call("NotebookEdit", json!({"notebook_path": "/w/a.ipynb"})),
            edit("/w/a.ipynb")
        );
        assert_eq!(call("Bash", json!({"command": "cargo test"})), run("cargo test"));
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** End Patch";
        assert_eq!(call("apply_patch", json!({"command": patch})), edit("src/a.rs"));
        for (tool, input) in [
            ("Read", json!({"file_path": "/w/a.rs"})),
            ("Edit", json!({})),
            ("Edit", json!("x")),
            ("Bash", json!({"command": ["ls"]})),
            ("Bash", json!({"command": " "})),
            ("Bash", json!({"command": "x ".repeat(1 << 20)})),
            ("apply_patch", json!({"command": "*** Begin Patch"})),
            ("", Value::Null),
        ] {
            assert_eq!(call(tool, input), None, "{tool}");
        }
    }

    #[test]
    fn windows_paths_are_mended() {
        let input = HookInput::read(
            br#"{"session_id":"a","cwd":"C:\Users\new\temp","prompt":"say \"hi\" to C:\\x"}"#,
        )
        .unwrap();
        assert_eq!(input.cwd, r"C:\Users\new\temp");
        assert_eq!(input.prompt, r#"say "hi" to C:\x"#);
        let valid = HookInput::read(br#"{"cwd":"C:\new\temp","transcript_path":"C:\bin\x.jsonl"}"#)
            .unwrap();
        assert_eq!(
            (valid.cwd.as_str(), valid.transcript_path.as_str()),
            (r"C:\new\temp", r"C:\bin\x.jsonl")
        );
        let whole = HookInput::read(br#"{"cwd":"C:\\new\\temp","prompt":"two\nlines"}"#).unwrap();
        assert_eq!((whole.cwd.as_str(), whole.prompt.as_str()), (r"C:\new\temp", "two\nlines"));
    }

    #[test]
    fn odd_fields_count_as_none_and_garbage_is_named() {
        let input = HookInput::read(
            b"\xef\xbb\xbf{\"session_id\":7,\"transcript_path\":null,\"thread-id\":\"t\"}",
        );
        assert!(input.is_err() || input.unwrap().transcript_path.is_empty());
        for garbage in [&b""[..], b"[]", b"not json", b"{\"a\":", b"\xff\xfe\x00", b"3"] {
            assert!(HookInput::read(garbage).is_err(), "{garbage:?}");
        }
    }
}
