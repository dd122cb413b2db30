//! What agents and hooks say to each other, exactly as it goes over the wire.

use serde::{Deserialize, Serialize};

/// What an agent tells a hook. Everything may be missing: a call with half of it is still answered.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Told {
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

impl Told {
    /// Reads what an agent said. Where it wrote the backslashes of Windows paths as they are, they
    /// are mended.
    pub fn read(bytes: &[u8]) -> Result<Told, String> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_start_matches('\u{feff}').trim();
        let object = |text: &str| match serde_json::from_str::<serde_json::Value>(text) {
            Ok(value) if value.is_object() => {
                serde_json::from_value(value).map_err(|err| err.to_string())
            }
            Ok(_) => Err("it is no object".to_string()),
            Err(err) => Err(err.to_string()),
        };
        let told: Result<Told, String> = object(text);
        let mended = || object(&with_doubled_backslashes(text));
        match told {
            // `C:\new` reads as well, but as a path with a line end in it.
            Ok(told) if told.has_odd_paths() => {
                Ok(mended().ok().filter(|told| !told.has_odd_paths()).unwrap_or(told))
            }
            Ok(told) => Ok(told),
            Err(reason) => mended().map_err(|_| reason),
        }
    }

    fn has_odd_paths(&self) -> bool {
        [&self.transcript_path, &self.cwd].iter().any(|path| path.chars().any(char::is_control))
    }
}

/// The text with every backslash doubled that is alone and stands before no quote.
fn with_doubled_backslashes(text: &str) -> String {
    let mut mended = String::with_capacity(text.len() + 16);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        mended.push(letter);
        if letter != '\\' {
            continue;
        }
        match letters.peek() {
            Some('\\' | '"') => mended.extend(letters.next()),
            _ => mended.push('\\'),
        }
    }
    mended
}

/// What a hook answers, where it has something to say.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer<'a> {
    hook_specific_output: Output<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Output<'a> {
    hook_event_name: &'a str,
    additional_context: &'a str,
}

/// The answer to an event that adds to the agent's context, as one line of JSON.
pub fn additional_context(event: &str, context: &str) -> String {
    let output = Output { hook_event_name: event, additional_context: context };
    let answer = Answer { hook_specific_output: output };
    serde_json::to_string(&answer).expect("our own types can always be written as JSON") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_paths_are_mended() {
        let told = Told::read(
            br#"{"session_id":"a","cwd":"C:\Users\new\temp","prompt":"say \"hi\" to C:\\x"}"#,
        )
        .unwrap();
        assert_eq!(told.cwd, r"C:\Users\new\temp");
        assert_eq!(told.prompt, r#"say "hi" to C:\x"#);
        let valid =
            Told::read(br#"{"cwd":"C:\new\temp","transcript_path":"C:\bin\x.jsonl"}"#).unwrap();
        assert_eq!(
            (valid.cwd.as_str(), valid.transcript_path.as_str()),
            (r"C:\new\temp", r"C:\bin\x.jsonl")
        );
        let whole = Told::read(br#"{"cwd":"C:\\new\\temp","prompt":"two\nlines"}"#).unwrap();
        assert_eq!((whole.cwd.as_str(), whole.prompt.as_str()), (r"C:\new\temp", "two\nlines"));
    }

    #[test]
    fn odd_fields_count_as_none_and_garbage_is_named() {
        let told = Told::read(
            b"\xef\xbb\xbf{\"session_id\":7,\"transcript_path\":null,\"thread-id\":\"t\"}",
        );
        assert!(told.is_err() || told.unwrap().transcript_path.is_empty());
        for garbage in [&b""[..], b"[]", b"not json", b"{\"a\":", b"\xff\xfe\x00", b"3"] {
            assert!(Told::read(garbage).is_err(), "{garbage:?}");
        }
    }
}
