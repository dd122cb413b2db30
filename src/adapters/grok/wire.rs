//! What stands in the files of Grok CLI, exactly as the agent writes it.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::adapters::functions::Function;
use crate::adapters::transcript::Tokens;
use crate::adapters::wire::{Content, Count, Text, wire_types};

wire_types! {
    /// A line of `chat_history.jsonl`.
    pub struct WireLine<'a> {
        #[serde(rename = "type")]
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

    pub struct WireCall<'a> {
        pub id: Text<'a>,
        pub name: Text<'a>,
        pub arguments: Option<&'a RawValue>,
        pub function: Option<Function<'a>>,
    }

    pub struct WireBackendCall<'a> {
        pub tool_type: Text<'a>,
        pub id: Text<'a>,
        pub action: Option<&'a RawValue>,
        pub status: Text<'a>,
    }

    /// What `summary.json` says.
    pub struct WireSummary {
        pub info: Option<WireSessionInfo>,
        pub chat_format_version: Count,
        pub session_summary: Option<String>,
        pub generated_title: Option<String>,
        pub created_at: Option<String>,
        pub current_model_id: Option<String>,
        pub parent_session_id: Option<String>,
        pub session_kind: Option<String>,
        pub inherited_prefix_len: Option<u64>,
        pub git_remotes: Vec<String>,
        pub head_commit: Option<String>,
        pub head_branch: Option<String>,
    }

    pub struct WireSessionInfo {
        pub cwd: Option<String>,
    }

    /// A line of `updates.jsonl`.
    pub struct WireUpdate<'a> {
        pub params: Option<WireNotification<'a>>,
        pub timestamp: Count,
        // Older lines are the notification itself.
        pub update: Option<WireScreenUpdate<'a>>,
        #[serde(rename = "_meta")]
        pub meta: WireMeta,
    }

    pub struct WireNotification<'a> {
        pub update: Option<WireScreenUpdate<'a>>,
        #[serde(rename = "_meta")]
        pub meta: WireMeta,
    }

    #[serde(rename_all = "camelCase")]
    pub struct WireMeta {
        pub agent_timestamp_ms: Count,
        pub prompt_index: Option<u64>,
        #[serde(rename = "x.ai/tool")]
        pub tool: WireToolName,
    }

    pub struct WireToolName {
        pub name: String,
    }

    #[serde(rename_all = "camelCase")]
    pub struct WireScreenUpdate<'a> {
        pub session_update: Text<'a>,
        pub content: Content<'a>,
        pub tool_call_id: Text<'a>,
        pub title: Text<'a>,
        pub status: Text<'a>,
        pub raw_input: Option<&'a RawValue>,
        pub raw_output: Option<WireOutput<'a>>,
        #[serde(rename = "prompt_id")]
        pub prompt_id: Text<'a>,
        #[serde(rename = "stop_reason")]
        pub stop_reason: Text<'a>,
        pub usage: Option<WireUsage>,
        #[serde(rename = "_meta")]
        pub meta: WireMeta,
    }

    /// What a command's answer says for programs.
    pub struct WireOutput<'a> {
        #[serde(rename = "exit_code")]
        pub exit_code: Text<'a>,
    }

    #[derive(Clone)]
    #[serde(rename_all = "camelCase")]
    pub struct WireUsage {
        pub input_tokens: Count,
        pub output_tokens: Count,
        pub cached_read_tokens: Count,
        pub cache_creation_tokens: Count,
        pub model_usage: BTreeMap<String, WireUsage>,
    }
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
