//! What stands in the rows and lines of Goose, exactly as the agent writes it.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::adapters::wire::{Content, Count, Text, wire_types};

wire_types! {
    /// A row of the database, or a line of the old logs: the session's metadata, or a message.
    /// Their fields do not collide.
    pub struct WireRecord<'a> {
        pub table: Text<'a>,
        pub row: Option<&'a RawValue>,
        pub role: Text<'a>,
        pub created: Count,
        pub content: Option<&'a RawValue>,
        pub metadata: WireVisible,
        pub working_dir: Text<'a>,
        pub name: Text<'a>,
        pub description: Text<'a>,
        pub session_type: Text<'a>,
        pub parent_session_id: Text<'a>,
        /// A document of its own.
        pub model_config_json: Text<'a>,
        pub total_tokens: Count,
        pub input_tokens: Count,
        pub output_tokens: Count,
        pub accumulated_total_tokens: Count,
        pub accumulated_input_tokens: Count,
        pub accumulated_output_tokens: Count,
        pub accumulated_cache_read_tokens: Count,
        pub accumulated_cache_write_tokens: Count,
    }

    pub struct WireMessageRow<'a> {
        pub role: Text<'a>,
        /// A document of its own.
        pub content_json: Text<'a>,
        pub created_timestamp: Count,
        /// A document of its own.
        pub metadata_json: Text<'a>,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WireVisible {
    pub user_visible: bool,
    /// A note of the time and the folder, which comes before each turn.
    pub turn_context: bool,
}

impl Default for WireVisible {
    fn default() -> Self {
        WireVisible { user_visible: true, turn_context: false }
    }
}

wire_types! {
    #[serde(rename_all = "camelCase")]
    pub struct WirePart<'a> {
        #[serde(rename = "type")]
        pub kind: Text<'a>,
        pub id: Text<'a>,
        pub text: Text<'a>,
        pub thinking: Text<'a>,
        pub msg: Text<'a>,
        pub tool_call: Option<WireOutcome<'a>>,
        pub tool_result: Option<WireOutcome<'a>>,
    }

    pub struct WireOutcome<'a> {
        pub status: Text<'a>,
        pub value: Option<&'a RawValue>,
        pub error: Text<'a>,
    }

    pub struct WireCall<'a> {
        pub name: Text<'a>,
        pub arguments: Option<&'a RawValue>,
    }

    #[serde(rename_all = "camelCase")]
    pub struct WireResult<'a> {
        pub content: Content<'a>,
        pub is_error: Option<bool>,
        pub structured_content: Option<WireStructured<'a>>,
    }

    /// What a command's answer says for programs.
    pub struct WireStructured<'a> {
        pub exit_code: Text<'a>,
    }

    pub struct WireUsage<'a> {
        pub model: Text<'a>,
        pub input_tokens: Count,
        pub output_tokens: Count,
        pub total_tokens: Count,
        pub cache_read_tokens: Count,
        pub cache_write_tokens: Count,
        pub cost: Option<f64>,
    }
}
