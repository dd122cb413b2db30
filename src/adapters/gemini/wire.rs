//! What stands in a log of Gemini CLI, exactly as the agent writes it.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::adapters::wire::{Content, Count, Text};

/// As much of `settings.json` as says when chats are deleted: by its documentation of 2026 after 30
/// days, unless it says otherwise.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct WireSettings {
    pub general: WireGeneral,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WireGeneral {
    pub session_retention: WireRetention,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WireRetention {
    pub enabled: Option<bool>,
    pub max_age: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireId<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
}

/// A header, a message or a change: their fields do not collide.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct WireRecord<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    pub timestamp: Text<'a>,
    pub content: Content<'a>,
    pub display_content: Content<'a>,
    pub model: Text<'a>,
    pub tokens: Option<WireTokens>,
    pub thoughts: Option<Vec<WireThought<'a>>>,
    pub tool_calls: Option<Vec<WireToolCall<'a>>>,
    #[serde(rename = "$rewindTo")]
    pub rewind_to: Text<'a>,
    #[serde(rename = "$set")]
    pub set: Option<WireHeader<'a>>,
    pub session_id: Text<'a>,
    pub summary: Text<'a>,
    pub directories: Option<Vec<String>>,
}

/// The whole document of the old form, or what `$set` changes.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireHeader<'a> {
    #[serde(borrow)]
    pub summary: Text<'a>,
    pub directories: Option<Vec<String>>,
    pub messages: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireTokens {
    pub input: Count,
    pub output: Count,
    pub cached: Count,
    pub thoughts: Count,
    pub tool: Count,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireThought<'a> {
    #[serde(borrow)]
    pub subject: Text<'a>,
    pub description: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct WireToolCall<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
    pub name: Text<'a>,
    pub args: Option<&'a RawValue>,
    pub status: Text<'a>,
    pub timestamp: Text<'a>,
    pub result: Option<&'a RawValue>,
    pub result_display: Content<'a>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct WirePart<'a> {
    #[serde(borrow)]
    pub function_response: Option<WireFunctionResponse<'a>>,
}

/// What a tool answered, as Gemini and the agents made from it write it.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireFunctionResponse<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
    response: Option<WireResponse<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireResponse<'a> {
    #[serde(borrow)]
    output: Content<'a>,
    error: Content<'a>,
}

impl<'a> WireFunctionResponse<'a> {
    /// Its output or its error, and whether it is an error.
    pub fn content(self) -> (Content<'a>, bool) {
        match self.response {
            Some(response) if !response.error.text.is_empty() => (response.error, true),
            Some(response) => (response.output, false),
            None => (Content::default(), false),
        }
    }
}
