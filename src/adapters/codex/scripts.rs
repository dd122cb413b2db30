//! Scripts of the model's that run: in code mode one tool runs JavaScript, which calls the others.
//!
//! What a script does is reported by items while it runs; of one whose calls were reported, the answer says
//! the same once more.

use std::collections::HashMap;

use crate::adapters::transcript::Transcript;
use crate::base::clock::Timestamp;
use crate::model::session::Position;

/// The tool that runs scripts.
pub const TOOL: &str = "exec";

/// The scripts whose answer has not come yet, by call.
#[derive(Default)]
pub struct Scripts(HashMap<String, Script>);

/// A script that runs.
pub struct Script {
    pub text: String,
    pub at: Option<Timestamp>,
    pub position: Position,
    pub inherited: bool,
    /// How many items reported a call of it.
    pub items: u32,
}

impl Script {
    fn place(&self) -> (u32, u64) {
        (self.position.file, self.position.line)
    }
}

impl Scripts {
    /// A script begins to run.
    pub fn begin(&mut self, call: String, text: String, out: &Transcript) {
        let (at, position) = (out.context.at, out.context.position);
        let inherited = out.context.inherited;
        self.0.insert(call, Script { text, at, position, inherited, items: 0 });
    }

    /// A script has answered.
    pub fn end(&mut self, call: &str) -> Option<Script> {
        self.0.remove(call)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// An item tells what was done. Scripts run one after the other: it belongs to the latest.
    pub fn count_call(&mut self) {
        if let Some(script) = self.0.values_mut().max_by_key(|script| script.place()) {
            script.items += 1;
        }
    }

    /// Those that never answered and of which no call was reported, in the order of the log.
    pub fn unreported(&mut self) -> Vec<(String, Script)> {
        let mut scripts: Vec<_> = std::mem::take(&mut self.0).into_iter().collect();
        scripts.retain(|(_, script)| script.items == 0);
        scripts.sort_by_key(|(_, script)| script.place());
        scripts
    }
}
