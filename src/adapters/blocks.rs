//! The blocks of a message in the form of Anthropic's interface, which several agents keep as they
//! got them.

use serde_json::value::RawValue;

use super::transcript::Transcript;
use super::wire::{self, Content, Text, wire_types};

wire_types! {
    /// A block: words, thoughts, a call or what came of one.
    pub struct Block<'a> {
        #[serde(rename = "type")]
        pub kind: Text<'a>,
        pub text: Text<'a>,
        pub thinking: Text<'a>,
        pub id: Text<'a>,
        pub name: Text<'a>,
        pub input: Option<&'a RawValue>,
        pub tool_use_id: Text<'a>,
        /// What came of the call, in any form.
        pub content: Option<&'a RawValue>,
        pub is_error: Option<bool>,
    }
}

impl<'a> Block<'a> {
    /// What came of the call, as text.
    pub fn result(&self) -> Content<'a> {
        serde_json::from_str(wire::raw(self.content)).unwrap_or_default()
    }
}

/// The blocks of a message's content; a text by itself is one.
pub fn blocks<'a>(content: Option<&'a RawValue>, out: &mut Transcript) -> Vec<Block<'a>> {
    let json = wire::raw(content);
    match json.starts_with('"') {
        true => {
            let (kind, text) = (Text("text".into()), Text(wire::plain(content)));
            vec![Block { kind, text, ..Block::default() }]
        }
        false => out.parse(json).unwrap_or_default(),
    }
}
