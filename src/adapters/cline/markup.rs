//! Calls that a model wrote as tags in its answer, as all of Cline's kind did before they used the
//! tools of the interface: `<read_file><path>a.rs</path></read_file>`.

use serde_json::{Map, Value};

const TOOLS: &[&str] = &[
    "execute_command",
    "read_file",
    "write_to_file",
    "replace_in_file",
    "apply_diff",
    "insert_content",
    "search_and_replace",
    "edit_file",
    "search_files",
    "list_files",
    "list_code_definition_names",
    "codebase_search",
    "browser_action",
    "use_mcp_tool",
    "access_mcp_resource",
    "ask_followup_question",
    "attempt_completion",
    "new_task",
    "switch_mode",
    "plan_mode_respond",
    "update_todo_list",
    "fetch_instructions",
    "load_mcp_documentation",
    "web_fetch",
];

/// A piece of an answer.
#[derive(Debug, PartialEq)]
pub enum Piece<'t> {
    Text(&'t str),
    Call { tool: &'static str, input: Map<String, Value> },
}

/// The texts and calls of an answer, in order.
pub fn pieces(mut text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    while let Some((start, tool)) = first_tool(text) {
        pieces.push(Piece::Text(&text[..start]));
        let inner = &text[start + tool.len() + 2..];
        let close = format!("</{tool}>");
        // One that is not closed was cut off, or is still being written.
        let (inner, rest) = inner.split_once(close.as_str()).unwrap_or((inner, ""));
        pieces.push(Piece::Call { tool, input: parameters(inner) });
        text = rest;
    }
    pieces.push(Piece::Text(text));
    pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.trim().is_empty()));
    pieces
}

fn first_tool(text: &str) -> Option<(usize, &'static str)> {
    let found = TOOLS.iter().filter_map(|tool| {
        let open = format!("<{tool}>");
        // What a model says of a tool stands in the midst of a line.
        let starts_line = |at: &usize| text[..*at].trim_end_matches([' ', '\t']).ends_with('\n');
        let mut places = text.match_indices(&open).map(|(at, _)| at);
        places.find(|at| *at == 0 || starts_line(at)).map(|at| (at, *tool))
    });
    found.min()
}

/// The parameters of a call: each in a tag of its own.
fn parameters(mut text: &str) -> Map<String, Value> {
    let mut parameters = Map::new();
    while let Some((_, rest)) = text.split_once('<') {
        let Some((name, rest)) = rest.split_once('>') else { break };
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        // What is written into a file may hold the same tag: the last end counts.
        match rest.rfind(&format!("</{name}>")).filter(|_| is_name) {
            Some(end) => {
                let value = rest[..end].trim_matches('\n');
                parameters.insert(name.to_string(), value.into());
                text = &rest[end + name.len() + 3..];
            }
            None => text = rest,
        }
    }
    parameters
}

/// The texts that a change takes out and puts in, each block of `<<<<<<< SEARCH`, `=======` and
/// `>>>>>>> REPLACE`; none where it is written otherwise.
pub fn replacements(diff: &str) -> Vec<Value> {
    let mut list = Vec::new();
    for block in diff.split("<<<<<<< SEARCH").skip(1) {
        let Some((old, rest)) = block.split_once("\n=======\n") else { continue };
        let new = rest.split_once(">>>>>>> REPLACE").map_or(rest, |(new, _)| new);
        // Roo says first where the block stands.
        let old = old.split_once("\n-------\n").map_or(old, |(_, old)| old);
        let [old, new] = [old, new].map(|text| Value::from(text.trim_matches('\n')));
        list.push(Value::from_iter([("old_string", old), ("new_string", new)]));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_pairs_of_texts() {
        let diff = "<<<<<<< SEARCH\n:start_line:3\n-------\na\n=======\nb\n>>>>>>> REPLACE\n\n<<<<<<< SEARCH\nc\n=======\n>>>>>>> REPLACE";
        let pair = |old: &str, new: &str| serde_json::json!({"old_string": old, "new_string": new});
        assert_eq!(replacements(diff), [pair("a", "b"), pair("c", "")]);
        assert!(replacements("--- a\n+++ b\n").is_empty());
    }

    #[test]
    fn calls_stand_in_the_answer() {
        let text =
            "I'll look.\n<read_file>\n<path>a.rs</path>\n</read_file>\nThen `<read_file>` again.";
        let input = Map::from_iter([("path".to_string(), Value::from("a.rs"))]);
        assert_eq!(
            pieces(text),
            [
                Piece::Text("I'll look.\n"),
                Piece::Call { tool: "read_file", input },
                Piece::Text("\nThen `<read_file>` again."),
            ]
        );
        let text = "<write_to_file><path>a.html</path><content>\n<b></b>\n<content></content>\n</content></write_to_file>";
        let Piece::Call { input, .. } = &pieces(text)[0] else { panic!("no call") };
        assert_eq!(input["content"], "<b></b>\n<content></content>");
        assert_eq!(input["path"], "a.html");
    }
}
