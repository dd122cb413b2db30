//! What stands in a log of Gemini CLI, exactly as the agent writes it.

use serde_json::value::RawValue;

use crate::adapters::wire::{Content, Count, Text, wire_types};

wire_types! {
    /// As much of `settings.json` as says when chats are deleted: by its documentation of 2026
    /// after 30 days, unless it says otherwise.
    pub struct WireSettings {
        pub general: WireGeneral,
    }

    #[serde(rename_all = "camelCase")]
    pub struct WireGeneral {
        pub session_retention: WireRetention,
    }

    #[serde(rename_all = "camelCase")]
    pub struct WireRetention {
        pub enabled: Option<bool>,
        pub max_age: Option<String>,
    }

    /// `projects.json`: which folder goes by which name.
    pub struct WireProjects {
        pub projects: std::collections::BTreeMap<String, String>,
    }

    pub struct WireId<'a> {
        pub id: Text<'a>,
    }

    /// A header, a message or a change: their fields do not collide.
    #[serde(rename_all = "camelCase")]
    pub struct WireRecord<'a> {
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
    pub struct WireHeader<'a> {
        pub summary: Text<'a>,
        pub directories: Option<Vec<String>>,
        pub messages: Option<Vec<&'a RawValue>>,
    }

    pub struct WireTokens {
        pub input: Count,
        pub output: Count,
        pub cached: Count,
        pub thoughts: Count,
        pub tool: Count,
    }

    pub struct WireThought<'a> {
        pub subject: Text<'a>,
        pub description: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    pub struct WireToolCall<'a> {
        pub id: Text<'a>,
        pub name: Text<'a>,
        pub args: Option<&'a RawValue>,
        pub status: Text<'a>,
        pub timestamp: Text<'a>,
        pub result: Option<&'a RawValue>,
        pub result_display: Content<'a>,
    }

    #[serde(rename_all = "camelCase")]
    pub struct WirePart<'a> {
        pub function_response: Option<WireFunctionResponse<'a>>,
    }

    /// What a tool answered, as Gemini and the agents made from it write it.
    pub struct WireFunctionResponse<'a> {
        pub id: Text<'a>,
        response: Option<WireResponse<'a>>,
    }

    struct WireResponse<'a> {
        output: Content<'a>,
        error: Content<'a>,
    }
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
