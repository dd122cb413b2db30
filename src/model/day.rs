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

/// A line as it stands in a day: `- [14:03:22] [user] (SES3_laptop_SP1C2) text`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'l> {
    /// The time of day, `14:03:22`.
    pub time: &'l str,
    pub kind: LineKind,
    /// Whose it is: a session's id, or whatever somebody wrote there.
    pub session: &'l str,
    /// The rest, as Markdown.
    pub text: &'l str,
}

impl<'l> Line<'l> {
    /// Reads a line; `None` for whatever else a person may have written into the day.
    pub fn parse(line: &'l str) -> Option<Line<'l>> {
        let (time, rest) = line.strip_prefix("- [")?.split_once("] [")?;
        let (kind, rest) = rest.split_once("] (")?;
        let (session, text) = rest.split_once(')')?;
        let is_time =
            time.len() == 8 && time.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
        is_time
            .then(|| Some(Line { time, kind: kind.parse().ok()?, session, text: text.trim() }))?
    }
}

/// What a day's summary says; a function of the day's lines and its sessions' digests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DaySummary {
    /// The hash of the raw lines that it covers.
    pub raw_sha256: String,
    /// Whether the day has lines at all: what was handed in may be all there is.
    pub has_raw: bool,
    /// Whether an older tool kept a page of the same day.
    pub has_older_page: bool,
    /// How many of its lines are a person's.
    pub messages: u64,
    pub wanted: Vec<Point>,
    pub decided: Vec<Point>,
    pub done: Vec<Point>,
    pub open: Vec<Point>,
    /// In the order in which they began that day.
    pub sessions: Vec<SessionOfDay>,
}

/// One thing that a day's summary says, and of which session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    pub text: String,
    /// As the lines name it.
    pub session: String,
}

/// What one session was about on one day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionOfDay {
    /// As the lines name it.
    pub session: String,
    /// Its first and its last line of the day, `14:03:22`.
    pub first: String,
    pub last: String,
    /// Whether it has a digest to link to.
    pub digested: bool,
    pub title: String,
    pub project: Option<String>,
    pub status: Option<String>,
    /// What came of it, in one line.
    pub headline: String,
    pub summary: SessionSummary,
}

/// What a session, or a part of it, was about, in five lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSummary {
    pub context: Vec<String>,
    pub exchanges: Vec<String>,
    pub decisions: Vec<String>,
    pub lessons: Vec<String>,
    pub actions: Vec<String>,
}

impl SessionSummary {
    /// What each part is called on the page.
    pub const HEADINGS: [&'static str; 5] =
        ["Context", "Key Exchanges", "Decisions Made", "Lessons Learned", "Action Items"];

    /// The parts, in the order of [`SessionSummary::HEADINGS`].
    pub fn parts(&self) -> [&Vec<String>; 5] {
        [&self.context, &self.exchanges, &self.decisions, &self.lessons, &self.actions]
    }

    /// The same, to be filled.
    pub fn parts_mut(&mut self) -> [&mut Vec<String>; 5] {
        [
            &mut self.context, &mut self.exchanges, &mut self.decisions, &mut self.lessons,
            &mut self.actions,
        ]
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.parts().iter().all(|part| part.is_empty())
    }
}

/// What a flush added to a session's section: a model's words, or what could be said of a context
/// handed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The beginning of the hash of the context that it was made from: identifies a duplicate.
    pub id: String,
    /// The first and the last moment that it covers, `14:03:22`.
    pub from: String,
    pub until: String,
    /// Whether a model wrote it.
    pub by_model: bool,
    pub summary: SessionSummary,
}

/// Who or what speaks in a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    #[default]
    User,
    MainAgent,
    WorkerEvent,
    TaskAgentEvent,
    ToolEvent,
    System,
}

super::words::words!(LineKind {
    User = "user",
    MainAgent = "main_agent",
    WorkerEvent = "worker_event",
    TaskAgentEvent = "task_agent_event",
    ToolEvent = "tool_event",
    System = "system",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_back() {
        let line = Line::parse("- [14:03:22] [worker_event] (central) done: (x) ok=true").unwrap();
        assert_eq!(
            (line.time, line.kind, line.session),
            ("14:03:22", LineKind::WorkerEvent, "central")
        );
        assert_eq!(line.text, "done: (x) ok=true");
        for other in [
            "# Daily Raw 2026-11-15",
            "- a note",
            "- [14:03] [user] (x) y",
            "- [14:03:22] [shout] (x) y",
            "",
        ] {
            assert_eq!(Line::parse(other), None, "{other}");
        }
        for word in
            ["user", "main_agent", "worker_event", "task_agent_event", "tool_event", "system"]
        {
            assert_eq!(word.parse::<LineKind>().unwrap().to_string(), word);
        }
    }
}
