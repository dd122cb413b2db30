//! What stands in a line of a rollout, exactly as Codex writes it.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::adapters::wire::{Content, Count, Text, wire_types};

wire_types! {
    pub struct WireLine<'a> {
        #[serde(rename = "type")]
        pub kind: Text<'a>,
        pub timestamp: Text<'a>,
        /// Its number in a paginated rollout.
        pub ordinal: Text<'a>,
        pub payload: Option<WireItem<'a>>,
        pub record_type: Text<'a>,
        /// The line itself, where it is no envelope.
        #[serde(skip)]
        pub bare: Option<WireItem<'a>>,
    }

    /// The payloads of all kinds in one: their fields do not collide.
    pub struct WireItem<'a> {
        #[serde(rename = "type")]
        pub kind: Text<'a>,
        pub id: Text<'a>,
        pub timestamp: Text<'a>,
        pub cwd: Text<'a>,
        pub cli_version: Text<'a>,
        pub forked_from_id: Text<'a>,
        pub history_mode: Text<'a>,
        pub history_base: Option<WireHistoryBase>,
        pub subagent_history_start_ordinal: Text<'a>,
        pub parent_thread_id: Text<'a>,
        pub source: Option<&'a RawValue>,
        pub git: Option<WireGit>,
        pub turn_id: Text<'a>,
        pub model: Text<'a>,
        pub role: Text<'a>,
        pub content: Content<'a>,
        pub summary: Content<'a>,
        pub name: Text<'a>,
        pub namespace: Text<'a>,
        pub call_id: Text<'a>,
        pub arguments: Option<&'a RawValue>,
        pub input: Option<&'a RawValue>,
        pub action: Option<&'a RawValue>,
        pub output: Option<&'a RawValue>,
        pub tools: Option<&'a RawValue>,
        pub result: Option<&'a RawValue>,
        pub exit_code: Text<'a>,
        pub success: Option<bool>,
        pub message: Text<'a>,
        pub text: Text<'a>,
        #[serde(rename = "kind")]
        pub message_kind: Text<'a>,
        pub images: Option<&'a RawValue>,
        pub local_images: Option<&'a RawValue>,
        pub reason: Text<'a>,
        pub thread_name: Text<'a>,
        pub num_turns: Count,
        pub info: Option<WireInfo>,
        pub item: Option<&'a RawValue>,
    }

    /// The other rollout whose records stand before the first of this one.
    pub struct WireHistoryBase {
        pub thread_id: Option<String>,
        pub end_ordinal_exclusive: Count,
    }

    pub struct WireGit {
        pub commit_hash: Option<String>,
        pub branch: Option<String>,
        pub repository_url: Option<String>,
    }

    pub struct WireInfo {
        pub total_token_usage: Option<WireUsage>,
        pub last_token_usage: Option<WireUsage>,
    }

    #[derive(Clone, Copy, PartialEq)]
    pub struct WireUsage {
        pub input_tokens: Count,
        pub cached_input_tokens: Count,
        pub output_tokens: Count,
    }
}

#[derive(Deserialize)]
pub struct WireDocument<'a> {
    #[serde(borrow)]
    pub session: WireItem<'a>,
    pub items: Vec<&'a RawValue>,
}

/// What the old `shell` tool answered: a JSON text with the output and how the command ended.
#[derive(Deserialize)]
pub struct WireShellOutput {
    pub output: String,
    #[serde(default)]
    pub metadata: WireShellMetadata,
}

#[derive(Deserialize, Default)]
pub struct WireShellMetadata {
    pub exit_code: Option<i32>,
}

impl WireUsage {
    pub fn is_more_than(self, earlier: WireUsage) -> bool {
        self.input_tokens.0 >= earlier.input_tokens.0
            && self.cached_input_tokens.0 >= earlier.cached_input_tokens.0
            && self.output_tokens.0 >= earlier.output_tokens.0
    }

    pub fn since(self, earlier: WireUsage) -> WireUsage {
        let less = |now: Count, then: Count| Count(now.0.saturating_sub(then.0));
        WireUsage {
            input_tokens: less(self.input_tokens, earlier.input_tokens),
            cached_input_tokens: less(self.cached_input_tokens, earlier.cached_input_tokens),
            output_tokens: less(self.output_tokens, earlier.output_tokens),
        }
    }
}
