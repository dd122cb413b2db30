//! Lines of a day: what was said and done in a session, one line each, at its time.
//!
//! The session's own lines are made here; the store puts them into their days.

use crate::base::text;
use crate::distill::steps::{Kind, Step};
use crate::distill::{facts, outcome};
use crate::model::day::{DayLine, LONGEST_LINE, LineKind};
use crate::model::ids::EpisodeId;

/// The line that a step leaves in its day, if it leaves one.
pub fn line(step: &Step, episode: EpisodeId) -> Option<DayLine> {
    // What a fork repeats has its line in the other session.
    if step.inherited {
        return None;
    }
    let (kind, said): (LineKind, String) = match (&step.kind, &step.agent) {
        (Kind::Prompt(said), None) => (LineKind::User, said.clone()),
        (Kind::Intervention(said), None) => (LineKind::User, said.clone()),
        (Kind::Reply(said), None) => (LineKind::MainAgent, said.clone()),
        (Kind::Compaction(_), None) => (LineKind::System, "context compacted".into()),
        (Kind::Deed(deed), None) => {
            if let Some(made) = facts::made(deed) {
                return finished(step, episode, LineKind::ToolEvent, &format!("{made} ok=true"));
            }
            let verdict = outcome::verdict(deed);
            let telling = deed.failed()
                || verdict.is_some()
                || matches!(deed.action, crate::model::session::Action::Edit { .. });
            if !telling {
                return None;
            }
            let ok = verdict.as_ref().map_or(!deed.failed(), |verdict| verdict.passed);
            (LineKind::ToolEvent, format!("{} ok={ok}", crate::distill::episodes::described(deed)))
        }
        (Kind::Deed(deed), Some(_)) if deed.failed() => (
            LineKind::TaskAgentEvent,
            format!("{} ok=false", crate::distill::episodes::described(deed)),
        ),
        _ => return None,
    };
    finished(step, episode, kind, &said)
}

fn finished(step: &Step, episode: EpisodeId, kind: LineKind, said: &str) -> Option<DayLine> {
    let cut = said.chars().count() > LONGEST_LINE;
    let text = text::one_line(said, LONGEST_LINE);
    (!text.is_empty()).then_some(())?;
    Some(DayLine { at: step.at?, kind, text, cut_from: cut.then_some(episode) })
}
