//! Lines of a day: what was said and done in a session, one line each, at its time.
//!
//! The session's own lines are made here; the store puts them into their days.

use crate::base::clock::Timestamp;
use crate::base::text;
use crate::distill::steps::{Step, StepKind};
use crate::distill::{commands, episodes, test_runs};
use crate::model::day::{DayLine, LONGEST_LINE, LineKind};
use crate::model::ids::EpisodeId;
use crate::model::session::Action;

/// The line that a step leaves in its day, if it leaves one; `at` is its time where it has none of
/// its own, and `agent` what is known of the subagent that did it.
pub fn line(
    step: &Step,
    episode: EpisodeId,
    at: Timestamp,
    agent: SubagentState<'_>,
) -> Option<DayLine> {
    // What a fork repeats has its line in the other session.
    if step.inherited {
        return None;
    }
    let (kind, said): (LineKind, String) = match (&step.kind, &step.agent) {
        (StepKind::Prompt(said), None) => (LineKind::User, said.clone()),
        (StepKind::Intervention(said), None) => (LineKind::User, said.clone()),
        (StepKind::Reply(said), None) => (LineKind::MainAgent, said.clone()),
        (StepKind::Compaction(_), None) => (LineKind::System, "context compacted".into()),
        (StepKind::ToolCall(call), None) => {
            if let Some(made) = commands::created(call) {
                return finished(
                    step,
                    episode,
                    at,
                    LineKind::ToolEvent,
                    &format!("{made} ok=true"),
                );
            }
            let verdict = test_runs::verdict(call);
            let is_news =
                call.failed() || verdict.is_some() || matches!(call.action, Action::Edit { .. });
            if !is_news {
                return None;
            }
            let ok = verdict.as_ref().map_or(!call.failed(), |verdict| verdict.passed);
            (LineKind::ToolEvent, format!("{} ok={ok}", episodes::described(call)))
        }
        // Something in the background reports how it went.
        (StepKind::Lifecycle(said), None) if said.starts_with(BACKGROUND) => {
            (LineKind::WorkerEvent, said.clone())
        }
        (kind, Some(name)) => (LineKind::TaskAgentEvent, agent_line(kind, name, agent)?),
        _ => return None,
    };
    finished(step, episode, at, kind, &said)
}

/// How the words begin with which a reader says that something in the background has ended.
pub const BACKGROUND: &str = "background task ";

/// What is known of a subagent when it takes a step.
#[derive(Debug, Clone, Copy, Default)]
pub struct SubagentState<'a> {
    /// Whether it is its first step.
    pub is_first: bool,
    /// What it said last.
    pub last_reply: Option<&'a str>,
}

/// What a subagent's step leaves: that it began, with its task; that it ended, with its answer; and
/// whatever failed.
fn agent_line(kind: &StepKind, name: &str, agent: SubagentState<'_>) -> Option<String> {
    let name = text::one_line(name, 40);
    match kind {
        StepKind::Completion => {
            let answer = agent.last_reply.map(|said| text::first_sentence(said, 300));
            let answer = answer.filter(|answer| !answer.is_empty());
            Some(match answer {
                Some(answer) => format!("finished {name}: {answer}"),
                None => format!("finished {name} without an answer"),
            })
        }
        StepKind::Lifecycle(task) if agent.is_first => Some(format!("started {name}: {task}")),
        _ if agent.is_first => Some(format!("started {name}")),
        StepKind::ToolCall(call) if call.failed() => {
            Some(format!("{name}: {} ok=false", episodes::described(call)))
        }
        StepKind::Lifecycle(said) if said.starts_with("API Error") => {
            Some(format!("failed {name}: {said}"))
        }
        _ => None,
    }
}

fn finished(
    step: &Step,
    episode: EpisodeId,
    at: Timestamp,
    kind: LineKind,
    said: &str,
) -> Option<DayLine> {
    let cut = said.chars().count() > LONGEST_LINE;
    let text = text::one_line(said, LONGEST_LINE);
    (!text.is_empty()).then_some(())?;
    Some(DayLine { at: step.at.unwrap_or(at), kind, text, cut_from: cut.then_some(episode) })
}
