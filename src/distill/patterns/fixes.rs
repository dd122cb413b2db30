//! Fixes: what was done about the same error in different sessions, and which of it held.

use std::collections::BTreeMap;

use crate::base::text;
use crate::distill::patterns::signals::Signal;
use crate::distill::patterns::similar;
use crate::distill::patterns::{Observed, loci};
use crate::model::pattern::Fix;

/// How many fixes a candidate names.
const MOST: usize = 3;

/// What was done about an error, what held first, the latest first. A fix held where the error did
/// not come back in a later session of the same project.
pub fn of(locus: &str, signals: &[Signal], sessions: &[&Observed]) -> Vec<Fix> {
    // The last session of each project that met it.
    let mut last_met: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    for signal in signals {
        let project = sessions[signal.at].project.as_deref();
        let last = last_met.entry(project).or_insert(signal.at);
        *last = (*last).max(signal.at);
    }
    let mut met: Vec<usize> = signals.iter().map(|signal| signal.at).collect();
    met.sort_unstable();
    met.dedup();
    let mut fixes: Vec<(usize, Fix)> = Vec::new();
    for at in met.iter().rev().copied() {
        let session = sessions[at];
        let came_back = last_met
            .get(&session.project.as_deref())
            .and_then(|last| met.iter().find(|later| **later > at && **later <= *last))
            .filter(|later| sessions[**later].project == session.project)
            .map(|later| sessions[*later].session.clone());
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
