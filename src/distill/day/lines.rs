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
/// its own.
pub fn line(step: &Step, episode: EpisodeId, at: Timestamp) -> Option<DayLine> {
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
        (StepKind::ToolCall(call), Some(_)) if call.failed() => {
            (LineKind::TaskAgentEvent, format!("{} ok=false", episodes::described(call)))
        }
        _ => return None,
    };
    finished(step, episode, at, kind, &said)
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
