//! Items: what was done in a turn, as paginated rollouts tell it once it is done
//! (`event_msg/item_completed`).
//!
//! Where the model runs scripts (one tool `exec` that runs JavaScript), only the items say which
//! commands ran, how they ended and what was changed; the call and its answer hold the script.

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::adapters::tools;
use crate::adapters::wire::{self, Content, Text, wire_types};
use crate::base::text;
use crate::model::evidence::FileState;
use crate::model::session::{Action, FileChange};

wire_types! {
    /// The items of all kinds in one: their fields do not collide.
    pub struct WireTurnItem<'a> {
        #[serde(rename = "type")]
        pub kind: Text<'a>,
        pub id: Text<'a>,
        pub content: Content<'a>,
        pub command: Option<&'a RawValue>,
        pub source: Text<'a>,
        pub status: Text<'a>,
        pub aggregated_output: Text<'a>,
        pub stdout: Text<'a>,
        pub stderr: Text<'a>,
        pub exit_code: Text<'a>,
        pub changes: Option<Map<String, Value>>,
        pub server: Text<'a>,
        pub namespace: Text<'a>,
        pub tool: Text<'a>,
        pub arguments: Option<&'a RawValue>,
        pub result: Content<'a>,
        pub content_items: Content<'a>,
        pub error: Option<&'a RawValue>,
        pub success: Option<bool>,
        pub query: Text<'a>,
        pub path: Text<'a>,
    }
}

/// The longest text that is kept of a change.
const LONGEST_CHANGE: usize = 16_000;

impl<'a> WireTurnItem<'a> {
    /// Whether the person ran it beside the agent.
    pub fn is_own_command(&self) -> bool {
        self.source.as_str() == "user_shell"
    }

    /// Whether it only hands input to a command that another item tells of.
    pub fn is_interaction(&self) -> bool {
        self.source.as_str() == "unified_exec_interaction"
    }

    /// Whether it says that it did not work.
    pub fn failed(&self) -> bool {
        matches!(self.status.as_str(), "failed" | "declined")
            || self.success == Some(false)
            || !matches!(wire::raw(self.error), "" | "null")
    }

    /// How its command ended, where it has one.
    pub fn exit_code(&self) -> Option<i32> {
        self.exit_code.parse().ok()
    }

    /// The tool and what it was asked; `None` where the item is no call.
    pub fn call(&self) -> Option<(Cow<'static, str>, Action)> {
        Some(match self.kind.as_str() {
            "CommandExecution" => {
                let input = format!("{{\"command\":{}}}", wire::raw(self.command));
                ("exec_command".into(), tools::action("exec_command", &input))
            }
            "FileChange" => ("apply_patch".into(), change(self.changes.as_ref()?)),
            "McpToolCall" => self.named(format!("mcp__{}__{}", self.server.0, self.tool.0)),
            "DynamicToolCall" if self.namespace.is_empty() => self.named(self.tool.to_string()),
            "DynamicToolCall" => self.named(format!("{}__{}", self.namespace.0, self.tool.0)),
            "WebSearch" => ("web_search".into(), Action::Search { query: self.query.to_string() }),
            "ImageView" => ("view_image".into(), Action::Read { path: self.path.to_string() }),
            _ => return None,
        })
    }

    fn named(&self, tool: String) -> (Cow<'static, str>, Action) {
        let action = tools::action(&tool, wire::raw(self.arguments));
        (tool.into(), action)
    }

    /// What it answered.
    pub fn output(self) -> Content<'a> {
        let text = match (self.aggregated_output.0, self.stdout.0, self.stderr.0) {
            (whole, _, _) if !whole.is_empty() => whole,
            (_, out, err) if err.is_empty() => out,
            (_, out, err) if out.is_empty() => err,
            (_, out, err) => format!("{out}\n{err}").into(),
        };
        [Content { text, images: 0 }, self.result, self.content_items]
            .into_iter()
            .find(|content| !content.text.is_empty() || content.images > 0)
            .unwrap_or_else(|| Content { text: wire::plain(self.error), images: 0 })
    }
}

/// The files that were changed, and how.
fn change(changes: &Map<String, Value>) -> Action {
    let (mut files, mut whole) = (Vec::new(), String::new());
    for (path, change) in changes.iter().take(200) {
        let field = |name: &str| change.get(name).and_then(Value::as_str);
        let path = text::cut(path, 1000).to_string();
        let (state, mark) = match field("type") {
            Some("add") => (field("content").map_or(FileState::Unknown, tools::state_of), "+"),
            Some("delete") => (FileState::Deleted, "-"),
            _ => (FileState::Unknown, ""),
        };
        if let Some(moved) = field("move_path") {
            files.push(FileChange { path: path.clone(), state: FileState::Deleted });
            files.push(FileChange::of(text::cut(moved, 1000).to_string()));
        } else {
            files.push(FileChange { path, state });
        }
        let shown = field("unified_diff").or(field("content")).unwrap_or_default();
        for line in text::cut(shown, LONGEST_CHANGE).lines() {
            whole.push_str(mark);
            whole.push_str(line);
            whole.push('\n');
        }
    }
    Action::Edit { files, text: text::cut(&whole, LONGEST_CHANGE).to_string() }
}

/// What a script printed, without the program's words before it; and whether it failed.
pub fn script_output(text: &str) -> (&str, bool) {
    let failed = text.starts_with("Script ")
        && !["Script completed", "Script running"].iter().any(|start| text.starts_with(start));
    let mut rest = text;
    for start in ["Script ", "Wall time ", "Output:"] {
        let (line, behind) = rest.split_once('\n').unwrap_or((rest, ""));
        if line.starts_with(start) {
            rest = behind;
        }
    }
    (rest.trim_start_matches('\n'), failed)
}

/// A command that a person ran, as older rollouts hold it in a message: the command, what it
/// printed and how it ended.
pub fn own_command(message: &str) -> Option<(&str, &str, Option<i32>)> {
    let inside = message.trim().strip_prefix("<user_shell_command>")?;
    let command = between(inside, "<command>", "</command>")?.trim();
    let result = between(inside, "<result>", "</result>").unwrap_or_default();
    let mut lines = result.lines().map(|line| line.strip_prefix("Exit code: "));
    let exit_code = lines.find_map(|code| code?.trim().parse().ok());
    let output = result.split_once("Output:\n").map_or("", |(_, output)| output);
    Some((command, output.trim_end(), exit_code))
}

/// What stands between two marks, as far as the last of the second.
fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    let start = text.find(open)? + open.len();
    let end = text[start..].rfind(close)?;
    Some(&text[start..start + end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(json: &str) -> WireTurnItem<'_> {
        serde_json::from_str(json).expect("an item")
    }

    #[test]
    fn an_item_says_what_was_done_and_how_it_ended() {
        let run = item(
            r#"{"type":"CommandExecution","id":"exec-1","command":["/bin/bash","-lc","make"],
                "status":"failed","exit_code":2,"aggregated_output":"no rule\n"}"#,
        );
        let (tool, action) = run.call().expect("a call");
        assert_eq!((tool.as_ref(), run.failed(), run.exit_code()), ("exec_command", true, Some(2)));
        assert_eq!(action, Action::Shell { command: "make".into() });
        assert_eq!(run.output().text, "no rule\n");
        let edit = item(
            r#"{"type":"FileChange","changes":{"/w/a":{"type":"add","content":"x\n"},
                "/w/b":{"type":"update","unified_diff":"@@\n-x\n+y\n","move_path":"/w/c"},
                "/w/d":{"type":"delete"}},"status":"completed"}"#,
        );
        let Some((_, Action::Edit { files, text })) = edit.call() else { panic!("no edit") };
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["/w/a", "/w/b", "/w/c", "/w/d"]);
        assert_eq!(files[0].state, tools::state_of("x\n"));
        assert_eq!(text, "+x\n@@\n-x\n+y\n");
        assert!(item(r#"{"type":"McpToolCall","error":{"message":"no"}}"#).failed());
        assert!(item(r#"{"type":"Reasoning"}"#).call().is_none());
    }

    #[test]
    fn the_words_around_a_script_and_a_command_are_taken_off() {
        let text = "Script completed\nWall time 0.1 seconds\nOutput:\n\n6 slug.py\n";
        assert_eq!(script_output(text), ("6 slug.py\n", false));
        assert_eq!(script_output("Script failed\nOutput:\nTypeError"), ("TypeError", true));
        assert_eq!(script_output("just text"), ("just text", false));
        let typed = "<user_shell_command>\n<command>\nls x\n</command>\n<result>\nExit code: 2\n\
                     Duration: 0.1 seconds\nOutput:\nno x\n</result>\n</user_shell_command>";
        assert_eq!(own_command(typed), Some(("ls x", "no x", Some(2))));
        assert_eq!(own_command("ls x"), None);
    }
}
