//! Calls of tools in the form of OpenAI's interface, which several agents keep as they got them.

use serde_json::value::RawValue;

use super::transcript::Transcript;
use super::wire::{self, Text, wire_types};
use crate::error::Result;

wire_types! {
    /// A call.
    pub struct FunctionCall<'a> {
        pub id: Text<'a>,
        pub function: Function<'a>,
    }

    /// What is called, and with what.
    pub struct Function<'a> {
        pub name: Text<'a>,
        /// A document of its own, or what is in it.
        pub arguments: Option<&'a RawValue>,
    }
}

/// Tells calls, one after the other.
pub fn tell(calls: Vec<FunctionCall>, out: &mut Transcript) -> Result<()> {
    calls.into_iter().try_for_each(|FunctionCall { id, function }| {
        out.call(id.0, function.name.0, &wire::plain(function.arguments))
    })
}
