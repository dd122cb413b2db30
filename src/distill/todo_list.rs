//! The list of things to do that an agent keeps with a tool, followed call by call: what is not
//! ticked when the session ends was left to do.

use serde_json::Value;

use crate::base::text;
use crate::distill::steps::ToolCall;
use crate::model::session::Action;

/// How many things a list is followed with.
const MOST_ITEMS: usize = 64;

/// The list as the agent left it.
#[derive(Debug, Default)]
pub struct TodoList {
    /// The things, and whether each is done.
    items: Vec<(String, bool)>,
}

impl TodoList {
    /// Takes a call of the agent's own.
    pub fn take(&mut self, call: &ToolCall) {
        let Action::Plan { text } = &call.action else { return };
        // A call that failed says no less what the agent holds to be done.
        match call.tool.to_ascii_lowercase().replace('_', "").as_str() {
            "taskcreate" if self.items.len() < MOST_ITEMS => {
                self.items.push((text::one_line(text, 160), false));
            }
            "taskupdate" => self.tick(text),
            _ => self.replace(text),
        }
    }

    /// A tool that writes the whole list anew.
    fn replace(&mut self, list: &str) {
        let item = |line: &str| {
            let done = line.starts_with("[x] ");
            let what = line.strip_prefix("[x] ").or_else(|| line.strip_prefix("[ ] "))?;
            Some((text::one_line(what, 160), done))
        };
        let items: Vec<(String, bool)> = list.lines().filter_map(item).take(MOST_ITEMS).collect();
        if !items.is_empty() {
            self.items = items;
        }
    }

    /// A tool that changes one thing, by its number.
    fn tick(&mut self, change: &str) {
        let Ok(change) = serde_json::from_str::<Value>(change) else { return };
        let number = change.get("taskId").and_then(|id| match id {
            Value::String(id) => id.parse::<usize>().ok(),
            id => id.as_u64().and_then(|id| usize::try_from(id).ok()),
        });
        let status = change.get("status").and_then(Value::as_str).unwrap_or_default();
        let item = number.and_then(|number| self.items.get_mut(number.checked_sub(1)?));
        if let Some(item) = item.filter(|_| matches!(status, "completed" | "done" | "deleted")) {
            item.1 = true;
        }
    }

    /// What is not done. Where only the last thing is not ticked, the agent may well have forgotten
    /// to; where nothing is, the list was a plan and no account of the work.
    pub fn left(&self, cut_off: bool) -> Vec<&str> {
        let left: Vec<&str> =
            self.items.iter().filter(|(_, done)| !done).map(|(what, _)| what.as_str()).collect();
        let forgotten = left.len() == 1 && !cut_off;
        let untouched = left.len() == self.items.len() && !cut_off;
        if forgotten || untouched { Vec::new() } else { left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::Actor;

    fn list(calls: &[(&str, &str)]) -> TodoList {
        let mut list = TodoList::default();
        for (tool, text) in calls {
            let action = Action::Plan { text: text.to_string() };
            let (id, tool) = (String::new(), tool.to_string());
            list.take(&ToolCall { id, tool, action, by: Actor::Agent, answer: None });
        }
        list
    }

    #[test]
    fn what_is_not_ticked_is_left() {
        let list = list(&[
            ("TodoWrite", "[ ] lock the file\n[ ] write the header\n[ ] try it on Windows"),
            ("TodoWrite", "[x] lock the file\n[ ] write the header\n[ ] try it on Windows"),
        ]);
        assert_eq!(list.left(false), ["write the header", "try it on Windows"]);
    }

    #[test]
    fn things_are_ticked_by_number() {
        let list = list(&[
            ("TaskCreate", "lock the file"),
            ("TaskCreate", "write the header"),
            ("TaskCreate", "try it on Windows"),
            ("TaskUpdate", r#"{"taskId":"2","status":"completed"}"#),
            ("TaskUpdate", r#"{"taskId":"3","status":"in_progress"}"#),
        ]);
        assert_eq!(list.left(false), ["lock the file", "try it on Windows"]);
    }

    #[test]
    fn one_thing_that_nobody_ticked_counts_only_where_the_log_ends_in_the_work() {
        let list = list(&[("update_plan", "[x] lock the file\n[ ] say so")]);
        assert!(list.left(false).is_empty());
        assert_eq!(list.left(true), ["say so"]);
    }

    #[test]
    fn a_list_that_nobody_worked_on_is_a_plan() {
        let list = list(&[("update_plan", "[ ] lock the file\n[ ] say so")]);
        assert!(list.left(false).is_empty());
    }
}
