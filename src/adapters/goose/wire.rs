//! What stands in the rows and lines of Goose, exactly as the agent writes it.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::adapters::wire::{Content, Count, Text};

/// A row of the database, or a line of the old logs: the session's metadata, or a message. Their
/// fields do not collide.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireRecord<'a> {
    #[serde(borrow)]
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
    pub accumulated_input_tokens: Count,
    pub accumulated_output_tokens: Count,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireMessageRow<'a> {
    #[serde(borrow)]
    pub role: Text<'a>,
    /// A document of its own.
    pub content_json: Text<'a>,
    pub created_timestamp: Count,
    /// A document of its own.
    pub metadata_json: Text<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WireVisible {
    pub user_visible: bool,
}

impl Default for WireVisible {
    fn default() -> Self {
        WireVisible { user_visible: true }
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct WirePart<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Text<'a>,
    pub id: Text<'a>,
    pub text: Text<'a>,
    pub thinking: Text<'a>,
    pub msg: Text<'a>,
    pub tool_call: Option<WireOutcome<'a>>,
    pub tool_result: Option<WireOutcome<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireOutcome<'a> {
    #[serde(borrow)]
    pub status: Text<'a>,
    pub value: Option<&'a RawValue>,
    pub error: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireCall<'a> {
    #[serde(borrow)]
    pub name: Text<'a>,
    pub arguments: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct WireResult<'a> {
    #[serde(borrow)]
    pub content: Content<'a>,
    pub is_error: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireUsage<'a> {
    #[serde(borrow)]
    pub model: Text<'a>,
    pub input_tokens: Count,
    pub output_tokens: Count,
    pub cache_read_tokens: Count,
    pub cache_write_tokens: Count,
    pub cost: Option<f64>,
}
