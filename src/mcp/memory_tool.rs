//! The memory tool as a tool of the server: the same commands and the same words as `memtree
//! memories` has them.

use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, Tool};
use serde_json::Value;

use super::answers;
use super::tools::{self, Asked};
use crate::error::Result;

pub const NAME: &str = "memory";

/// How it is described.
const DESCRIBED: &str = include_str!("../../templates/mcp/memory.json");

/// The tool as clients list it.
pub fn tool() -> Tool {
    serde_json::from_str(DESCRIBED).expect("a test reads the template")
}

/// Does a command; the answer is text and nothing else, as its contract wants it.
pub fn call(asked: &Asked, arguments: Value) -> CallToolResponse {
    let done = || -> Result<String> { asked.memory()?.memories(&tools::read(arguments)?) };
    match done() {
        Ok(said) => CallToolResult::success(vec![ContentBlock::text(said)]).into(),
        Err(error) => answers::failure(&error).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_described_in_few_words() {
        let tool = tool();
        assert_eq!(tool.name, NAME);
        assert!(DESCRIBED.split_whitespace().collect::<String>().chars().count() / 4 <= 300);
        let hints = tool.annotations.unwrap();
        assert_eq!(hints.read_only_hint, Some(false));
        assert_eq!(hints.destructive_hint, Some(true));
    }
}
