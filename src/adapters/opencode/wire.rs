//! What stands in the documents and rows of OpenCode, exactly as the agent writes it.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::adapters::wire::{Content, Count, Text, wire_types};

#[derive(Deserialize)]
pub struct WireExport<'a> {
    #[serde(borrow)]
    pub info: WireSession<'a>,
    pub messages: Vec<&'a RawValue>,
}

wire_types! {
    /// The document of a session, or its row, which is flat.
    pub struct WireSession<'a> {
        pub title: Text<'a>,
        pub directory: Text<'a>,
        pub version: Text<'a>,
        #[serde(rename = "parentID", alias = "parent_id")]
        pub parent: Text<'a>,
        /// In a row it is a document of its own.
        pub revert: Option<&'a RawValue>,
    }

    pub struct WireRevert<'a> {
        #[serde(rename = "messageID")]
        pub message: Text<'a>,
    }
}

#[derive(Deserialize)]
pub struct WireMessage<'a> {
    #[serde(borrow)]
    pub info: WireInfo<'a>,
    #[serde(default)]
    pub parts: Vec<&'a RawValue>,
}

wire_types! {
    pub struct WireInfo<'a> {
        pub id: Text<'a>,
        pub role: Text<'a>,
        pub time: WireTime,
        #[serde(rename = "modelID")]
        pub model: Text<'a>,
        pub tokens: Option<WireTokens>,
        pub cost: Option<Value>,
        pub finish: Text<'a>,
        /// `true` where an answer is the summary of a compaction.
        pub summary: Option<&'a RawValue>,
        pub error: Option<Value>,
    }

    #[derive(Clone, Copy)]
    pub struct WireTime {
        pub created: Count,
        pub start: Count,
        pub end: Count,
    }

    pub struct WireTokens {
        pub input: Count,
        pub output: Count,
        pub cache: WireCache,
    }

    pub struct WireCache {
        pub read: Count,
        pub write: Count,
    }

    pub struct WirePart<'a> {
        #[serde(rename = "type")]
        pub kind: Text<'a>,
        pub text: Text<'a>,
        pub synthetic: Option<bool>,
        pub ignored: Option<bool>,
        pub time: Option<WireTime>,
        pub tool: Text<'a>,
        #[serde(rename = "callID")]
        pub call: Text<'a>,
        pub state: Option<WireState<'a>>,
        pub command: Text<'a>,
        pub description: Text<'a>,
        #[serde(rename = "messageID")]
        pub message: Text<'a>,
    }

    pub struct WireState<'a> {
        pub status: Text<'a>,
        pub input: Option<&'a RawValue>,
        pub output: Content<'a>,
        pub error: Text<'a>,
        pub time: WireTime,
        pub metadata: Option<WireMetadata<'a>>,
        pub attachments: Option<&'a RawValue>,
    }

    pub struct WireMetadata<'a> {
        pub exit: Text<'a>,
    }

    /// The row of a message or of a part: `data` is its document, without the ids.
    pub struct WireDataRow<'a> {
        pub id: Text<'a>,
        pub message_id: Text<'a>,
        pub data: Text<'a>,
    }
}
