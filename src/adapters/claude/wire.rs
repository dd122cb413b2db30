//! What stands in a record of Claude Code, exactly as the agent writes it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::adapters::tools;
use crate::adapters::wire::{Count, wire_types};
use crate::model::evidence::FileState;

/// What matters to us of the agent's settings.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WireSettings {
    pub cleanup_period_days: Option<u32>,
}

wire_types! {
    #[serde(rename_all = "camelCase")]
    pub struct WireRecord<'a> {
        #[serde(rename = "type")]
        pub kind: Cow<'a, str>,
        pub subtype: Option<Cow<'a, str>>,
        pub uuid: Option<Cow<'a, str>>,
        pub parent_uuid: Option<Cow<'a, str>>,
        pub is_sidechain: Option<bool>,
        pub is_meta: Option<bool>,
        pub is_compact_summary: Option<bool>,
        pub is_api_error_message: Option<bool>,
        pub session_id: Option<Cow<'a, str>>,
        pub agent_id: Option<Cow<'a, str>>,
        pub request_id: Option<Cow<'a, str>>,
        pub cwd: Option<Cow<'a, str>>,
        pub git_branch: Option<Cow<'a, str>>,
        pub version: Option<Cow<'a, str>>,
        pub timestamp: Option<Cow<'a, str>>,
        pub message: Option<WireMessage<'a>>,
        pub origin: Option<&'a RawValue>,
        pub tool_use_result: Option<&'a RawValue>,
        pub attachment: Option<&'a RawValue>,
        pub data: Option<&'a RawValue>,
        pub operation: Option<Cow<'a, str>>,
        pub content: Option<&'a RawValue>,
        pub compact_metadata: Option<&'a RawValue>,
        pub summary: Option<Cow<'a, str>>,
        pub leaf_uuid: Option<Cow<'a, str>>,
        pub custom_title: Option<Cow<'a, str>>,
        pub ai_title: Option<Cow<'a, str>>,
        pub agent_name: Option<Cow<'a, str>>,
        pub pr_url: Option<Cow<'a, str>>,
        pub title: Option<Cow<'a, str>>,
        pub model_usage: Option<&'a RawValue>,
    }

    /// What a model cost, as Claude Code counts it.
    #[serde(rename_all = "camelCase")]
    pub struct WireCost {
        pub input_tokens: Count,
        pub output_tokens: Count,
        pub cache_read_input_tokens: Count,
        pub cache_creation_input_tokens: Count,
        #[serde(rename = "costUSD")]
        pub cost_usd: Option<f64>,
    }

    pub struct WireMessage<'a> {
        pub id: Option<Cow<'a, str>>,
        pub model: Option<Cow<'a, str>>,
        pub content: WireContent<'a>,
        pub stop_reason: Option<Cow<'a, str>>,
        pub usage: Option<WireUsage>,
    }

    #[derive(Clone, Copy)]
    pub struct WireUsage {
        pub input_tokens: Option<u64>,
        pub output_tokens: Option<u64>,
        pub cache_creation_input_tokens: Option<u64>,
        pub cache_read_input_tokens: Option<u64>,
    }
}

/// A string, or a list of blocks.
#[derive(Default)]
pub enum WireContent<'a> {
    #[default]
    Nothing,
    Text(Cow<'a, str>),
    Blocks(Vec<WireBlock<'a>>),
}

wire_types! {
    pub struct WireBlock<'a> {
        #[serde(rename = "type")]
        pub kind: Cow<'a, str>,
        pub text: Option<Cow<'a, str>>,
        pub thinking: Option<Cow<'a, str>>,
        pub id: Option<Cow<'a, str>>,
        pub name: Option<Cow<'a, str>>,
        pub input: Option<&'a RawValue>,
        pub tool_use_id: Option<Cow<'a, str>>,
        pub content: WireContent<'a>,
        pub is_error: Option<bool>,
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for WireContent<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = WireContent<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string or a list of blocks")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<Self::Value, E> {
                Ok(WireContent::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> std::result::Result<Self::Value, E> {
                Ok(WireContent::Text(Cow::Owned(text.to_string())))
            }
            fn visit_unit<E>(self) -> std::result::Result<Self::Value, E> {
                Ok(WireContent::Nothing)
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> std::result::Result<Self::Value, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = list.next_element()? {
                    blocks.push(block);
                }
                Ok(WireContent::Blocks(blocks))
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Self::Value, A::Error> {
                while map.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {}
                Ok(WireContent::Nothing)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

wire_types! {
    /// The fields that we read of a tool's structured result, an attachment or a progress record.
    #[serde(rename_all = "camelCase")]
    pub struct WireDetails<'a> {
        #[serde(rename = "type")]
        pub kind: Option<Cow<'a, str>>,
        pub agent_id: Option<Cow<'a, str>>,
        pub prompt: WireContent<'a>,
        pub command_mode: Option<Cow<'a, str>>,
    }
}

/// What an edit found and did.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WireEdit<'a> {
    #[serde(default)]
    pub original_file: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub old_string: Cow<'a, str>,
    #[serde(borrow)]
    pub new_string: Cow<'a, str>,
    #[serde(default)]
    pub replace_all: bool,
    #[serde(default)]
    pub user_modified: bool,
}

/// The state of a file after an edit, where the log says what it was like before. A change that the
/// person made to the edit is not in the log, and a file that is written whole is known from the
/// call.
pub fn changed_file(result: &RawValue) -> FileState {
    if !result.get().contains("\"oldString\"") {
        return FileState::Unknown;
    }
    let Ok(edit) = serde_json::from_str::<WireEdit>(result.get()) else {
        return FileState::Unknown;
    };
    let (before, new) =
        (edit.original_file.as_deref().unwrap_or_default(), edit.new_string.as_ref());
    match edit.old_string.as_ref() {
        _ if edit.user_modified => FileState::Unknown,
        "" if before.is_empty() => tools::state_of(new),
        old if old.is_empty() || !before.contains(old) => FileState::Unknown,
        old if edit.replace_all => tools::state_of(&before.replace(old, new)),
        old => tools::state_of(&before.replacen(old, new, 1)),
    }
}

/// How a compaction came about.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WireCompaction<'a> {
    #[serde(borrow)]
    pub trigger: Cow<'a, str>,
    pub pre_tokens: u64,
}

/// Who put a user record into the log.
#[derive(Deserialize)]
pub struct WireOrigin<'a> {
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
}

pub fn details<'a>(raw: Option<&'a RawValue>) -> WireDetails<'a> {
    raw.filter(|raw| raw.get().starts_with('{'))
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default()
}

/// The blocks of a content; a string is a block of text.
pub fn blocks(content: WireContent<'_>) -> Vec<WireBlock<'_>> {
    match content {
        WireContent::Nothing => Vec::new(),
        WireContent::Blocks(blocks) => blocks,
        WireContent::Text(text) => {
            vec![WireBlock { kind: "text".into(), text: Some(text), ..WireBlock::default() }]
        }
    }
}

/// The text of the blocks of a content.
pub fn text_of(content: WireContent<'_>) -> String {
    let texts: Vec<_> = blocks(content).into_iter().filter_map(|block| block.text).collect();
    texts.join("\n")
}
