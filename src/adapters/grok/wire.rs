//! What stands in the files of Grok CLI, exactly as the agent writes it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::adapters::transcript::Tokens;
use crate::adapters::wire::{Content, Count, Text};

/// A line of `chat_history.jsonl`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireLine<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Text<'a>,
    pub role: Text<'a>,
    pub content: Content<'a>,
    pub synthetic_reason: Text<'a>,
    pub prompt_index: Option<u64>,
    pub prior_turn_interrupt: Text<'a>,
    pub model_id: Text<'a>,
    pub tool_calls: Option<Vec<WireCall<'a>>>,
    pub tool_call_id: Text<'a>,
    pub images: Option<&'a RawValue>,
    pub summary: Content<'a>,
    pub reasoning_content: Text<'a>,
    #[serde(rename = "kind")]
    pub backend: Option<WireBackendCall<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireCall<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
    pub name: Text<'a>,
    pub arguments: Option<&'a RawValue>,
    pub function: Option<WireFunction<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireFunction<'a> {
    #[serde(borrow)]
    pub name: Text<'a>,
    pub arguments: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireBackendCall<'a> {
    #[serde(borrow)]
    pub tool_type: Text<'a>,
    pub id: Text<'a>,
    pub action: Option<&'a RawValue>,
    pub status: Text<'a>,
}

/// What `summary.json` says.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireSummary {
    pub info: Option<WireSessionInfo>,
    pub session_summary: Option<String>,
    pub generated_title: Option<String>,
    pub created_at: Option<String>,
    pub current_model_id: Option<String>,
    pub parent_session_id: Option<String>,
    pub inherited_prefix_len: Option<u64>,
    pub git_remotes: Vec<String>,
    pub head_commit: Option<String>,
    pub head_branch: Option<String>,
}

#[derive(Deserialize)]
pub struct WireSessionInfo {
    pub cwd: Option<String>,
}

/// A line of `updates.jsonl`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireUpdate<'a> {
    pub timestamp: Count,
    #[serde(borrow)]
    pub params: Option<WireNotification<'a>>,
    // Older lines are the notification itself.
    pub update: Option<WireScreenUpdate<'a>>,
    #[serde(rename = "_meta")]
    pub meta: WireMeta,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireNotification<'a> {
    #[serde(borrow)]
    pub update: Option<WireScreenUpdate<'a>>,
    #[serde(rename = "_meta")]
    pub meta: WireMeta,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct WireMeta {
    pub agent_timestamp_ms: Count,
    pub prompt_index: Option<u64>,
    #[serde(rename = "x.ai/tool")]
    pub tool: WireToolName,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireToolName {
    pub name: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct WireScreenUpdate<'a> {
    #[serde(borrow)]
    pub session_update: Text<'a>,
    pub content: Content<'a>,
    pub tool_call_id: Text<'a>,
    pub title: Text<'a>,
    pub status: Text<'a>,
    pub raw_input: Option<&'a RawValue>,
    #[serde(rename = "prompt_id")]
    pub prompt_id: Text<'a>,
    #[serde(rename = "stop_reason")]
    pub stop_reason: Text<'a>,
    pub usage: Option<WireUsage>,
    #[serde(rename = "_meta")]
    pub meta: WireMeta,
}

#[derive(Deserialize, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
pub struct WireUsage {
    pub input_tokens: Count,
    pub output_tokens: Count,
    pub cached_read_tokens: Count,
    pub cache_creation_tokens: Count,
    pub model_usage: BTreeMap<String, WireUsage>,
}

impl WireUsage {
    pub fn tokens(&self) -> Tokens {
        let tokens = Tokens {
            input: self.input_tokens.0,
            output: self.output_tokens.0,
            cache_read: self.cached_read_tokens.0,
            cache_write: self.cache_creation_tokens.0,
            cost_usd: None,
        };
        tokens.without_cached_input()
    }
}
