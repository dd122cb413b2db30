//! What stands in a line of a rollout, exactly as Codex writes it.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::adapters::wire::{Content, Count, Text};

#[derive(Deserialize)]
pub struct WireLine<'a> {
    #[serde(rename = "type", borrow, default)]
    pub kind: Text<'a>,
    #[serde(borrow, default)]
    pub timestamp: Text<'a>,
    #[serde(borrow, default)]
    pub payload: Option<WireItem<'a>>,
    #[serde(borrow, default)]
    pub record_type: Text<'a>,
}

/// The payloads of all kinds in one: their fields do not collide.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireItem<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub timestamp: Text<'a>,
    #[serde(borrow)]
    pub cwd: Text<'a>,
    #[serde(borrow)]
    pub cli_version: Text<'a>,
    #[serde(borrow)]
    pub forked_from_id: Text<'a>,
    #[serde(borrow)]
    pub parent_thread_id: Text<'a>,
    #[serde(borrow)]
    pub source: Option<&'a RawValue>,
    pub git: Option<WireGit>,
    #[serde(borrow)]
    pub turn_id: Text<'a>,
    #[serde(borrow)]
    pub model: Text<'a>,
    #[serde(borrow)]
    pub role: Text<'a>,
    #[serde(borrow)]
    pub content: Content<'a>,
    #[serde(borrow)]
    pub summary: Content<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub namespace: Text<'a>,
    #[serde(borrow)]
    pub call_id: Text<'a>,
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub action: Option<&'a RawValue>,
    #[serde(borrow)]
    pub output: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tools: Option<&'a RawValue>,
    #[serde(borrow)]
    pub result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub exit_code: Text<'a>,
    pub success: Option<bool>,
    #[serde(borrow)]
    pub message: Text<'a>,
    #[serde(borrow)]
    pub text: Text<'a>,
    #[serde(rename = "kind", borrow)]
    pub told_as: Text<'a>,
    #[serde(borrow)]
    pub images: Option<&'a RawValue>,
    #[serde(borrow)]
    pub local_images: Option<&'a RawValue>,
    #[serde(borrow)]
    pub reason: Text<'a>,
    #[serde(borrow)]
    pub thread_name: Text<'a>,
    pub num_turns: Count,
    pub info: Option<WireInfo>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireGit {
    pub commit_hash: Option<String>,
    pub branch: Option<String>,
    pub repository_url: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct WireInfo {
    pub total_token_usage: Option<WireUsage>,
    pub last_token_usage: Option<WireUsage>,
}

#[derive(Deserialize, Default, Clone, Copy, PartialEq)]
#[serde(default)]
pub struct WireUsage {
    pub input_tokens: Count,
    pub cached_input_tokens: Count,
    pub output_tokens: Count,
}

#[derive(Deserialize)]
pub struct WireDocument<'a> {
    #[serde(borrow)]
    pub session: WireItem<'a>,
    #[serde(borrow)]
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
