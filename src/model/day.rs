//! A day: its transcript, one line for each thing that was said or done.

use serde::{Deserialize, Serialize};

use super::ids::EpisodeId;
use crate::base::clock::Timestamp;

/// The longest text of a line, in characters.
pub const LONGEST_LINE: usize = 2000;

/// One line of a day, before its session has an id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayLine {
    pub at: Timestamp,
    pub kind: LineKind,
    pub text: String,
    /// The episode that has the full text, where it was cut.
    pub cut_from: Option<EpisodeId>,
}

/// Who or what speaks in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    User,
    MainAgent,
    TaskAgentEvent,
    ToolEvent,
    System,
}

impl LineKind {
    /// The word that stands in the line.
    pub fn word(self) -> &'static str {
        match self {
            LineKind::User => "user",
            LineKind::MainAgent => "main_agent",
            LineKind::TaskAgentEvent => "task_agent_event",
            LineKind::ToolEvent => "tool_event",
            LineKind::System => "system",
        }
    }
}
