//! Fixes: what was done about the same error in different sessions, and which of it held.

use crate::base::text;
use crate::distill::patterns::signals::Signal;
use crate::distill::patterns::similar;
use crate::distill::patterns::{Observed, loci};
use crate::model::pattern::Fix;

/// How many fixes a candidate names.
const MOST: usize = 3;
/// How many of the latest sessions are asked for theirs.
const MOST_READ: usize = 40;

/// What was done about an error, what held first, the latest first. A fix held where the error did
/// not come back in a later session of the same project.
pub fn of(locus: &str, signals: &[Signal], sessions: &[&Observed]) -> Vec<Fix> {
    let mut met: Vec<usize> = signals.iter().map(|signal| signal.at).collect();
    met.sort_unstable();
    met.dedup();
    let mut fixes: Vec<(usize, Fix)> = Vec::new();
    for at in met.iter().rev().take(MOST_READ).copied() {
        let session = sessions[at];
        let is_later =
            |later: &&usize| **later > at && sessions[**later].project == session.project;
        let came_back = met.iter().find(is_later).map(|later| sessions[*later].session.clone());
        let errors = session.signals.errors.iter();
        let of_locus =
            errors.filter(|error| loci::of_error(&error.fingerprint).as_deref() == Some(locus));
        for error in of_locus {
            let lesson = session
                .lessons
                .iter()
                .find(|(_, lesson)| similar::is_about(lesson, &error.fingerprint));
            let solved = error.solved.as_ref();
            let episode = match (solved, lesson) {
                (Some(solved), _) => solved.episode,
                (None, Some((episode, _))) => *episode,
                (None, None) => continue,
            };
            let fix = Fix {
                by: solved.map(|solved| solved.by.clone()).unwrap_or_default(),
                lesson: lesson.map(|(_, text)| text::one_line(text, 240)).unwrap_or_default(),
                place: format!("{}#{episode}", session.session),
                flavor: session.flavor.clone(),
                came_back_in: came_back.clone(),
            };
            let says = !fix.by.is_empty() || !fix.lesson.is_empty();
            if says && !fixes.iter().any(|(_, known)| known.place == fix.place) {
                fixes.push((at, fix));
            }
        }
    }
    fixes.sort_by_key(|(at, fix)| (!fix.held(), fix.lesson.is_empty(), std::cmp::Reverse(*at)));
    fixes.into_iter().map(|(_, fix)| fix).take(MOST).collect()
}

/// What to do about an error, from the fix that held; empty where none is known.
pub fn advice(fixes: &[Fix]) -> String {
    let Some(fix) = fixes.first().filter(|fix| fix.held()) else { return String::new() };
    match (fix.lesson.is_empty(), fix.by.is_empty()) {
        (false, _) => {
            format!("What held: {} ({}, {}).", trimmed(&fix.lesson), fix.flavor, fix.place)
        }
        (true, false) => format!("It went away by {} ({}, {}).", fix.by, fix.flavor, fix.place),
        (true, true) => String::new(),
    }
}

fn trimmed(sentence: &str) -> &str {
    sentence.trim_end_matches(['.', ' '])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distill::patterns::Thresholds;
    use crate::distill::patterns::signals;
    use crate::model::digest::{Outcome, Worth};
    use crate::model::ids::{Device, EpisodeId, SessionId};
    use crate::model::signals::{MetError, Signals, Solved};

    const ERROR: &str = "error: the lock of the day is already held by another writer";

    fn session(number: u32, project: &str, flavor: &str, by: Option<&str>) -> Observed {
        let episode = EpisodeId(2);
        let solved = by.map(|by| Solved { episode, by: by.into() });
        let error = MetError {
            fingerprint: ERROR.into(),
            episode: EpisodeId(1),
            times: 1,
            tool: "Bash".into(),
            solved,
        };
        Observed {
            session: SessionId::new(Device::new("desk"), number),
            flavor: flavor.into(),
            project: Some(project.into()),
            domain: None,
            cwd: None,
            started: None,
            ended: None,
            tokens: 0,
            status: Outcome::Success,
            worth: Worth::Full,
            signals: Signals { errors: vec![error], ..Signals::default() },
            lessons: Vec::new(),
            wishes: Vec::new(),
            checks: Vec::new(),
            prompt: String::new(),
        }
    }

    #[test]
    fn the_fix_after_which_it_did_not_come_back_is_named() {
        let all = [
            session(0, "boats", "claude", Some("changing wait.rs")),
            session(1, "tides", "codex", Some("changing lock.rs")),
            session(2, "boats", "codex", None),
        ];
        let sessions: Vec<&Observed> = all.iter().collect();
        let thresholds = Thresholds {
            min_frequency: 2,
            min_events: 0,
            min_substantive: 0,
            min_prompt_chars: 0,
            retries: 3,
            failures: 3,
            infra_calls: 20,
            infra_share: 0.3,
            schema_loads: 5,
            thrash_calls: 20,
            thrash_share: 0.6,
        };
        let signals: Vec<Signal> = signals::of_all(&sessions, &thresholds)
            .into_iter()
            .filter(|signal| signal.key.locus == ERROR && signal.sighting.detail == ERROR)
            .collect();
        assert_eq!(signals.len(), 3);
        let fixes = of(ERROR, &signals, &sessions);
        assert_eq!((fixes[0].by.as_str(), fixes[0].held()), ("changing lock.rs", true));
        assert_eq!(fixes[1].came_back_in.as_ref(), Some(&all[2].session));
        assert!(advice(&fixes).contains("changing lock.rs (codex"), "{}", advice(&fixes));
    }
}
