//! Fixes: what was done about the same error in different sessions, and which of it held.

use serde::Serialize;

use crate::base::clock::Timestamp;
use crate::base::text;
use crate::distill::errors;
use crate::distill::patterns::named::Named;
use crate::distill::patterns::signals::Signal;
use crate::distill::patterns::similar;
use crate::distill::patterns::{Observed, loci};
use crate::distill::words;
use crate::model::digest::Origin;
use crate::model::ids::{EpisodeId, SessionId};
use crate::model::pattern::Fix;
use crate::model::signals::Solved;

/// How many fixes a candidate names.
const MOST: usize = 3;
/// So many words of an error, as they stand there, name it.
const FEWEST_WORDS: usize = 3;
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
            let lesson = lesson_on(session, &error.fingerprint, locus);
            let solved = error.solved.as_ref();
            let episode = match (solved, lesson) {
                (Some(solved), _) => solved.episode,
                (None, Some((episode, _))) => episode,
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

/// What a session learnt of an error: what the calls themselves show (one form of a command failed
/// with it, another worked), or else what the agent said.
fn lesson_on<'s>(
    session: &'s Observed,
    fingerprint: &str,
    locus: &str,
) -> Option<(EpisodeId, &'s str)> {
    let named = Named::of(fingerprint);
    let shown = session.learnt.iter().filter(|claim| claim.origin == Origin::Tool);
    let mut shown = shown.filter(|claim| named.is_in(&claim.text));
    let said = || {
        session.lessons.iter().find(|(_, lesson)| {
            similar::is_about(lesson, fingerprint) && !loci::is_of_another_class(lesson, locus)
        })
    };
    let shown = shown.next().map(|claim| (claim.episode, claim.text.as_str()));
    shown.or_else(|| said().map(|(episode, text)| (*episode, text.as_str())))
}

/// A session that met an error, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Occurrence {
    pub session: SessionId,
    pub flavor: String,
    pub project: Option<String>,
    pub ended: Option<Timestamp>,
    /// As this session met it.
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

/// An error that is looked for.
#[derive(Debug)]
pub struct Wanted {
    fingerprint: String,
    named: Named,
}

impl Wanted {
    /// A line as it was printed.
    pub fn of(line: &str) -> Wanted {
        let line = errors::without_mark(line);
        Wanted { fingerprint: errors::fingerprint(line), named: Named::of(line) }
    }

    /// Whether a text speaks of it.
    pub fn is_in(&self, text: &str) -> bool {
        self.named.is_in(text)
    }

    /// Whether an error, by its fingerprint, is the same, or the same in other words.
    fn is(&self, fingerprint: &str) -> Option<bool> {
        let fingerprint = errors::without_mark(fingerprint);
        let same = fingerprint == self.fingerprint;
        (same || is_same_in_other_words(fingerprint, &self.fingerprint)).then_some(same)
    }

    /// How a session met it: what a failed call printed, what else was printed or pasted, or else
    /// what was learnt of it.
    fn met(&self, session: &Observed) -> Option<Met> {
        let counted = session.signals.errors.iter();
        let counted = counted.filter_map(|error| Some((self.is(&error.fingerprint)?, error)));
        let counted = counted.max_by_key(|(same, error)| (*same, error.solved.is_some()));
        let printed = session.printed.iter().filter_map(|error| {
            let of_text = || self.is_in(&error.text).then_some(true);
            let same = self.is(&errors::fingerprint(&error.text)).or_else(of_text)?;
            Some((same, error))
        });
        let printed = printed.max_by_key(|(same, error)| (*same, error.solved_in.is_some()));
        let learnt = session.learnt.iter().find(|claim| self.is_in(&claim.text));
        let mut met = match (counted, printed, learnt) {
            (Some((same, error)), printed, _) => Met {
                same,
                text: printed
                    .map_or_else(|| shown(&error.fingerprint), |(_, error)| error.text.clone()),
                episode: error.episode,
                times: error.times,
                solved: error.solved.clone(),
            },
            (None, Some((same, error)), _) => Met {
                same,
                text: error.text.clone(),
                episode: error.episode,
                times: 1,
                solved: error.solved_in.map(|episode| Solved { episode, by: String::new() }),
            },
            (None, None, Some(claim)) => Met {
                same: true,
                text: claim.text.clone(),
                episode: claim.episode,
                times: 1,
                solved: None,
            },
            (None, None, None) => return None,
        };
        // "`a` fails (…) → `b` works": the calls themselves show that it went away.
        let way_out = learnt.filter(|claim| claim.origin == Origin::Tool);
        if let Some(claim) = way_out.filter(|_| met.solved.is_none()) {
            met.solved = Some(Solved { episode: claim.episode, by: String::new() });
        }
        Some(met)
    }

    /// What a session learnt of it.
    fn lesson(&self, session: &Observed, met: &Met) -> String {
        let learnt = session.learnt.iter().find(|claim| self.is_in(&claim.text));
        let about =
            || session.lessons.iter().find(|(_, lesson)| similar::is_about(lesson, &met.text));
        let lesson = learnt.map(|claim| &claim.text).or_else(|| about().map(|(_, text)| text));
        let lesson = lesson.map(|lesson| text::without_sentences(lesson, text::is_injection));
        text::one_line(&lesson.unwrap_or_default(), 240)
    }
}

/// How a session met an error.
struct Met {
    same: bool,
    text: String,
    episode: EpisodeId,
    times: u64,
    solved: Option<Solved>,
}

/// The sessions that met an error: what held first, the very same before the similar, the latest
/// first. `sessions` are in the order in which they ended.
pub fn after(wanted: &Wanted, sessions: &[Observed]) -> Vec<Occurrence> {
    let mut found: Vec<(usize, Occurrence)> = Vec::new();
    for (at, session) in sessions.iter().enumerate() {
        let Some(met) = wanted.met(session) else { continue };
        let lesson = wanted.lesson(session, &met);
        let solved = met.solved.as_ref();
        let one = Occurrence {
            session: session.session.clone(),
            flavor: session.flavor.clone(),
            project: session.project.clone(),
            ended: session.ended,
            same: met.same,
            episode: met.episode.to_string(),
            times: met.times,
            solved: solved.is_some(),
            solved_in: solved.map(|solved| solved.episode.to_string()),
            by: solved.map(|solved| solved.by.clone()).unwrap_or_default(),
            error: text::without_sentences(&met.text, text::is_injection).into_owned(),
            lesson,
            held: false,
            came_back_in: None,
        };
        found.push((at, one));
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

/// A fingerprint as people read it.
fn shown(fingerprint: &str) -> String {
    fingerprint.replace('_', "…")
}

/// Whether two errors say the same but for some words: most of the telling ones are in both, or
/// what is looked for is a stretch of the error, as a person remembers it.
fn is_same_in_other_words(error: &str, other: &str) -> bool {
    if other.split_whitespace().count() >= FEWEST_WORDS && error.contains(other) {
        return true;
    }
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
    use crate::model::digest::{Claim, ClaimKind, ErrorFact, Outcome, Worth};
    use crate::model::ids::Device;
    use crate::model::pattern::Thresholds;
    use crate::model::signals::{MetError, Signals};

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
            printed: Vec::new(),
            learnt: Vec::new(),
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
        let met = after(&Wanted::of(ERROR), &all);
        let fixes: Vec<(&str, bool, bool)> =
            met.iter().map(|one| (one.flavor.as_str(), one.solved, one.held)).collect();
        assert_eq!(fixes, [("codex", true, true), ("claude", true, false), ("grok", false, false)]);
        assert_eq!(met[1].came_back_in.as_ref(), Some(&all[2].session));
        // What a person remembers of it is enough.
        let begun = "error: the lock of the day is already held";
        assert_eq!(after(&Wanted::of(begun), &all).len(), 3);
        // In other words it is still the same; another error is not.
        let other = "fatal: lock of the day is held by another writer already";
        assert_eq!(after(&Wanted::of(other), &all).iter().filter(|one| !one.same).count(), 3);
        let unmet = Wanted::of("error: the day has no header and cannot be read");
        assert!(after(&unmet, &all).is_empty());
    }

    #[test]
    fn what_the_calls_show_is_a_fix_and_what_is_said_of_another_error_is_none() {
        let mut one = session(0, "boats", "claude", None);
        let said = "ImportError: libhorn.so.1: cannot open shared object file: No such file or directory \
                    → the horn is loaded too early";
        one.lessons = vec![(EpisodeId(3), said.to_string())];
        let missing = "horn: no such file or directory";
        assert_eq!(lesson_on(&one, missing, "path not found"), None);
        let said = "The horn is no file or directory there: it is in `deck/`";
        one.lessons = vec![(EpisodeId(3), said.to_string())];
        assert_eq!(lesson_on(&one, missing, "path not found"), Some((EpisodeId(3), said)));
        let text =
            "`wrap bell run` fails (error: unrecognized subcommand 'bell') → `bell run` works";
        let (kind, origin, episode) = (ClaimKind::Lesson, Origin::Tool, EpisodeId(2));
        one.learnt = vec![Claim { kind, text: text.into(), episode, origin }];
        let met = "error: unrecognized subcommand 'bell'";
        assert_eq!(lesson_on(&one, met, "command not found"), Some((EpisodeId(2), text)));
    }

    #[test]
    fn what_was_only_printed_or_only_learnt_is_found_too() {
        let mut all = [session(0, "boats", "claude", None), session(1, "tides", "codex", None)];
        let episode = EpisodeId(4);
        let text = "E ImportError: libhorn.so.3: cannot open shared object file".to_string();
        all[0].printed = vec![ErrorFact { text, episode, solved_in: None }];
        let line = "E   ImportError: libhorn.so.9: cannot open shared object file";
        let met = after(&Wanted::of(line), &all);
        assert_eq!((met.len(), met[0].episode.as_str(), met[0].same), (1, "EP_004", true));
        all[0].printed[0].text = "npm error code E404 404 No match found".into();
        assert_eq!(after(&Wanted::of("E404"), &all).len(), 1);
        assert!(after(&Wanted::of("E403"), &all).is_empty());
        let text =
            "`wrap bell run` fails (error: unrecognized subcommand 'bell') → `bell run` works";
        let (kind, origin) = (ClaimKind::Lesson, Origin::Tool);
        all[1].learnt = vec![Claim { kind, text: text.into(), episode, origin }];
        let met = after(&Wanted::of("error: unrecognized subcommand 'bell'"), &all);
        assert_eq!((met.len(), met[0].held, met[0].lesson.as_str()), (1, true, text));
    }
}
