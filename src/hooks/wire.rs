//! The JSON that agents and hooks exchange, exactly as it goes over the wire.

use serde::{Deserialize, Serialize};

/// What an agent sends to a hook. Everything may be missing: half a call is still answered.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HookInput {
    /// The agent's own id of the session; untrusted, and never a path.
    #[serde(alias = "thread-id", deserialize_with = "text")]
    pub session_id: String,
    #[serde(deserialize_with = "text")]
    pub transcript_path: String,
    #[serde(deserialize_with = "text")]
    pub cwd: String,
    /// Of UserPromptSubmit.
    #[serde(deserialize_with = "text")]
    pub prompt: String,
    /// Of SessionStart: startup, resume, clear, compact, fork.
    #[serde(deserialize_with = "text")]
    pub source: String,
    /// Of SessionEnd: clear, resume, logout, prompt_input_exit, other.
    #[serde(deserialize_with = "text")]
    pub reason: String,
    /// Of the older `notify`: agent-turn-complete.
    #[serde(rename = "type", deserialize_with = "text")]
    pub kind: String,
    /// In a subagent's calls.
    #[serde(deserialize_with = "text")]
    pub agent_id: String,
}

/// A text; anything else, `null` too, counts as none.
fn text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match serde_json::Value::deserialize(deserializer)? {
        serde_json::Value::String(text) => text,
        _ => String::new(),
    })
}

impl HookInput {
    /// Parses what an agent sent. Backslashes of Windows paths that were not escaped are repaired.
    pub fn read(bytes: &[u8]) -> Result<HookInput, String> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_start_matches('\u{feff}').trim();
        let object = |text: &str| match serde_json::from_str::<serde_json::Value>(text) {
            Ok(serde_json::Value::Object(fields)) => {
                let fields = serde_json::Value::Object(in_snake_case(fields));
                serde_json::from_value(fields).map_err(|err| err.to_string())
            }
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

    fn has_odd_paths(&self) -> bool {
        [&self.transcript_path, &self.cwd].iter().any(|path| path.chars().any(char::is_control))
    }
}

/// The fields as Claude Code spells them. Agents that run its hooks may spell them otherwise, Grok
/// `sessionId`; where both are there, Claude's counts.
fn in_snake_case(
    mut fields: serde_json::Map<String, serde_json::Value>,
) -> serde_json::Map<String, serde_json::Value> {
    for (camel, snake) in [
        ("sessionId", "session_id"),
        ("transcriptPath", "transcript_path"),
        ("agentId", "agent_id"),
    ] {
        if let Some(value) = fields.remove(camel) {
            fields.entry(snake).or_insert(value);
        }
    }
    fields
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

/// What a hook answers, where it has something to add.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookOutput<'a> {
    hook_specific_output: Context<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Context<'a> {
    hook_event_name: &'a str,
    additional_context: &'a str,
}

/// The answer to an event that adds to the agent's context, as one line of JSON.
pub fn additional_context(event: &str, context: &str) -> String {
    let output = Context { hook_event_name: event, additional_context: context };
    let answer = HookOutput { hook_specific_output: output };
    serde_json::to_string(&answer).expect("our own types can always be written as JSON") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_understood() {
        let read = |text: &str| HookInput::read(text.as_bytes()).unwrap();
        let snake = read(r#"{"session_id":"a","transcript_path":"/t","agent_id":"x","cwd":"/w"}"#);
        let camel = read(r#"{"sessionId":"a","transcriptPath":"/t","agentId":"x","cwd":"/w"}"#);
        assert_eq!(snake, camel);
        assert_eq!(read(r#"{"sessionId":"b","session_id":"a"}"#).session_id, "a");
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
