//! Commands that run on in a process: whoever waits for it later runs the command on.

use std::collections::HashMap;

use serde_json::Value;

use crate::adapters::tools;
use crate::model::session::Action;

/// The commands of calls that have not answered yet, and of processes that run.
#[derive(Default)]
pub struct Commands {
    by_call: HashMap<String, String>,
    by_process: HashMap<String, String>,
}

impl Commands {
    /// Says what a call does; waiting for a process names its command again.
    pub fn action(&mut self, tool: &str, input: &str, call: &str) -> Action {
        let action = match tool {
            "write_stdin" => self.waiting(input),
            _ => None,
        };
        let action = action.unwrap_or_else(|| tools::action(tool, input));
        if let Action::Shell { command } = &action {
            self.by_call.insert(call.to_string(), command.clone());
        }
        action
    }

    /// The command of the process that is waited for, where nothing is typed into it.
    fn waiting(&self, input: &str) -> Option<Action> {
        let fields = serde_json::from_str::<Value>(input).ok()?;
        let is_typed = fields.get("chars").is_some_and(|chars| chars != "");
        let command = self.by_process.get(&fields.get("session_id")?.to_string())?;
        (!is_typed).then(|| Action::Shell { command: command.clone() })
    }

    /// A call has answered; its command may run on in a process.
    pub fn answered(&mut self, call: &str, process: Option<String>) {
        let command = self.by_call.remove(call);
        self.by_process.extend(process.zip(command));
    }
}
