//! Fixes: what was done about the same error in different sessions, and which of it held.

use serde::Serialize;

use crate::base::clock::Timestamp;
use crate::base::text;
use crate::distill::patterns::signals::Signal;
use crate::distill::patterns::similar;
use crate::distill::patterns::{Observed, loci};
use crate::distill::words;
use crate::model::ids::SessionId;
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

/// A session that met an error, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Occurrence {
    pub session: SessionId,
    pub flavor: String,
    pub project: Option<String>,
    pub ended: Option<Timestamp>,
    /// As this session met it, without what differs from time to time.
    pub error: String,
    /// Whether it is the very same, not only in similar words.
    pub same: bool,
    pub episode: String,
    pub times: u64,
    /// Whether it went away in that session, where, and by what.
    pub solved: bool,
    pub solved_in: Option<String>,
    pub by: String,
    /// What the session says it has learnt of it, in its words.
    pub lesson: String,
    /// Whether it went away and did not come back in a later session of the same project.
    pub held: bool,
    pub came_back_in: Option<SessionId>,
}

/// The sessions that met an error, given by its fingerprint: what held first, the very same before
/// the similar, the latest first. `sessions` are in the order in which they ended.
pub fn after(fingerprint: &str, sessions: &[Observed]) -> Vec<Occurrence> {
    let mut found: Vec<(usize, Occurrence)> = Vec::new();
    for (at, session) in sessions.iter().enumerate() {
        let near = session.signals.errors.iter().filter_map(|error| {
            let same = error.fingerprint == fingerprint;
            (same || is_same_in_other_words(&error.fingerprint, fingerprint))
                .then_some((same, error))
        });
        let Some((same, error)) = near.max_by_key(|(same, error)| (*same, error.solved.is_some()))
        else {
            continue;
        };
        let lesson = session
            .lessons
            .iter()
            .find(|(_, lesson)| similar::is_about(lesson, &error.fingerprint))
            .map(|(_, lesson)| text::without_sentences(lesson, text::is_injection).into_owned());
        let solved = error.solved.as_ref();
        found.push((
            at,
            Occurrence {
                session: session.session.clone(),
                flavor: session.flavor.clone(),
                project: session.project.clone(),
                ended: session.ended,
                error: error.fingerprint.clone(),
                same,
                episode: error.episode.to_string(),
                times: error.times,
                solved: solved.is_some(),
                solved_in: solved.map(|solved| solved.episode.to_string()),
                by: solved.map(|solved| solved.by.clone()).unwrap_or_default(),
                lesson: text::one_line(&lesson.unwrap_or_default(), 240),
                held: false,
                came_back_in: None,
            },
        ));
    }
    for at in 0..found.len() {
        let (_, one) = &found[at];
        let later = found[at + 1..].iter().find(|(_, later)| later.project == one.project);
        let came_back_in = later.map(|(_, later)| later.session.clone());
        let (_, one) = &mut found[at];
        one.held = one.solved && came_back_in.is_none();
        one.came_back_in = came_back_in;
    }
    found.sort_by_key(|(at, one)| {
        let says_nothing = one.by.is_empty() && one.lesson.is_empty();
        (!one.held, !one.same, !one.solved, says_nothing, std::cmp::Reverse(*at))
    });
    found.into_iter().map(|(_, one)| one).collect()
}

/// Whether two errors say the same but for some words: most of the telling ones are in both.
fn is_same_in_other_words(error: &str, other: &str) -> bool {
    let (a, b) = (words::telling(error), words::telling(other));
    let shared = a.iter().filter(|word| b.contains(word)).count();
    shared >= 3 && shared * 4 >= 3 * a.len().max(b.len())
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
    use crate::distill::patterns::signals;
    use crate::model::digest::{Outcome, Worth};
    use crate::model::ids::{Device, EpisodeId};
    use crate::model::pattern::Thresholds;
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

    #[test]
    fn the_same_error_is_found_across_agents_and_what_held_comes_first() {
        let all = [
            session(0, "boats", "claude", Some("changing wait.rs")),
            session(1, "tides", "codex", Some("changing lock.rs")),
            session(2, "boats", "grok", None),
        ];
        let met = after(ERROR, &all);
        let told: Vec<(&str, bool, bool)> =
            met.iter().map(|one| (one.flavor.as_str(), one.solved, one.held)).collect();
        assert_eq!(told, [("codex", true, true), ("claude", true, false), ("grok", false, false)]);
        assert_eq!(met[1].came_back_in.as_ref(), Some(&all[2].session));
        // In other words it is still the same; another error is not.
        let other = "fatal: lock of the day is held by another writer already";
        assert_eq!(after(other, &all).iter().filter(|one| !one.same).count(), 3);
        assert!(after("error: the day has no header and cannot be read", &all).is_empty());
    }
}
