//! What agents were given, when and why, and whether it was recalled afterwards.
//!
//! Each day has a file below `.memtree/local`, with one line for every line that an agent was given
//! and one for every part that somebody recalled. They are kept for 90 days and never leave the
//! device; `forget` takes lines out of them as out of any page.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{Days, Duration, NaiveDate};
use serde::{Deserialize, Serialize};

use super::page::Section;
use crate::base::clock::{self, Timestamp};
use crate::base::files;
use crate::ops::turns;
use crate::store::Store;
use crate::store::local::LinesFile;

/// How many days it is kept.
pub const KEPT_DAYS: u64 = 90;
/// What is given and not recalled within this time was not needed.
const NEEDED_WITHIN: Duration = Duration::hours(24);
/// A line that so many sessions were given in so many days, and nobody recalled, is not given
/// again.
const IGNORED_BY: usize = 3;
const IGNORED_DAYS: u64 = 30;

/// The moment of a line that tells of a recall.
const RECALL: &str = "recall";

/// One line that an agent was given, or a part that was recalled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenLine {
    pub at: String,
    /// Which agent; empty for a recall.
    #[serde(default)]
    pub agent: String,
    /// A short hash of the agent's own id of the session.
    #[serde(default)]
    pub session: String,
    /// At which moment: SessionStart, UserPromptSubmit, …
    pub moment: String,
    #[serde(default)]
    pub project: String,
    /// Where the line is from, as `recall` takes it.
    pub source: String,
    #[serde(default)]
    pub why: String,
    #[serde(default)]
    pub line: String,
}

impl GivenLine {
    fn time(&self) -> Option<Timestamp> {
        clock::parse(&self.at)
    }

    /// The session of the memory that it is from.
    fn origin(&self) -> &str {
        self.source.split(['#', ':']).next().unwrap_or_default()
    }
}

/// Whom something is given.
#[derive(Debug, Clone)]
pub struct Recipient<'a> {
    pub agent: &'a str,
    pub session: &'a str,
    pub moment: &'a str,
    pub project: &'a str,
}

/// Notes what an agent is given. This is a convenience: where it cannot be written, nothing comes
/// of it.
pub fn note(store: &Store, now: Timestamp, to: &Recipient<'_>, sections: &[Section]) {
    let lines: Vec<GivenLine> = sections
        .iter()
        .flat_map(|section| section.lines.iter().map(move |line| (section, line)))
        .map(|(section, line)| GivenLine {
            at: clock::stamp(now),
            agent: to.agent.to_string(),
            session: turns::key(to.session),
            moment: to.moment.to_string(),
            project: to.project.to_string(),
            source: line.source.clone(),
            why: line.why.clone().unwrap_or_else(|| section.heading.clone()),
            line: line.text.clone(),
        })
        .collect();
    if !lines.is_empty() {
        let _ = of_day(store, now.date_naive()).add(&lines);
    }
}

/// Notes that a part of the memory was recalled.
pub fn note_recall(store: &Store, now: Timestamp, source: &str) {
    let [agent, session, project, why, line] = Default::default();
    let (at, moment, source) = (clock::stamp(now), RECALL.into(), source.into());
    let line = GivenLine { at, agent, session, moment, project, source, why, line };
    let _ = of_day(store, now.date_naive()).add(&[line]);
}

/// Forgets what is older than 90 days.
pub fn prune(store: &Store, now: Timestamp) {
    let kept = kept_days(now, KEPT_DAYS);
    for entry in files::read_dir(store.layout().given_folder()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let day = name.strip_suffix(".jsonl").and_then(|day| day.parse::<NaiveDate>().ok());
        if day.is_some_and(|day| !kept.contains(&day)) {
            let _ = files::remove_file(&entry.path());
        }
    }
}

/// Everything of the last so many days, the oldest first.
pub fn lately(store: &Store, now: Timestamp, days: u64) -> Vec<GivenLine> {
    kept_days(now, days).into_iter().flat_map(|day| of_day(store, day).read()).collect()
}

/// Leaves out the lines that session after session was given and nobody recalled.
pub fn leave_out_ignored(store: &Store, now: Timestamp, session: &str, section: &mut Section) {
    if section.lines.is_empty() {
        return;
    }
    let lately = lately(store, now, IGNORED_DAYS);
    let own = turns::key(session);
    section.lines.retain(|line| {
        let same = |given: &&GivenLine| given.source == line.source && given.line == line.text;
        let sessions: BTreeSet<&str> =
            lately.iter().filter(same).map(|given| given.session.as_str()).collect();
        let others = sessions.iter().filter(|session| **session != own).count();
        let origin = line.source.split('#').next().unwrap_or_default();
        let recalled =
            || lately.iter().any(|given| given.moment == RECALL && given.origin() == origin);
        others < IGNORED_BY || recalled()
    });
}

/// How often an agent was given something in a week, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WeekOfGiving {
    /// As ISO counts them: `2026-W47`.
    pub week: String,
    pub agent: String,
    /// How often something was given, and how many lines in all.
    pub given: usize,
    pub lines: usize,
    /// How often at the start of a session; the rest on a prompt or before a tool.
    pub at_start: usize,
    /// How often some of it was recalled within a day.
    pub recalled: usize,
    /// How often nothing of it was.
    pub ignored: usize,
}

/// What agents were given in the last 90 days, by week and agent, the last week first.
pub fn by_week(store: &Store, now: Timestamp) -> Vec<WeekOfGiving> {
    let lines = lately(store, now, KEPT_DAYS);
    let recalls: Vec<(Timestamp, &str)> = lines
        .iter()
        .filter(|line| line.moment == RECALL)
        .filter_map(|line| Some((line.time()?, line.origin())))
        .collect();
    // What was given at once.
    let mut givings: BTreeMap<(&str, &str, &str), Vec<&GivenLine>> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.moment != RECALL) {
        givings.entry((&line.at, &line.agent, &line.session)).or_default().push(line);
    }
    let mut weeks: BTreeMap<(std::cmp::Reverse<String>, String), WeekOfGiving> = BTreeMap::new();
    for ((_, agent, _), lines) in givings {
        let Some(at) = lines[0].time() else { continue };
        let week = at.format("%G-W%V").to_string();
        let key = (std::cmp::Reverse(week.clone()), agent.to_string());
        let week = weeks.entry(key).or_insert_with(|| WeekOfGiving {
            week,
            agent: agent.to_string(),
            given: 0,
            lines: 0,
            at_start: 0,
            recalled: 0,
            ignored: 0,
        });
        let was_recalled = recalls.iter().any(|(when, origin)| {
            (at..=at + NEEDED_WITHIN).contains(when)
                && lines.iter().any(|line| line.origin() == *origin)
        });
        week.given += 1;
        week.lines += lines.len();
        week.at_start += usize::from(lines[0].moment.eq_ignore_ascii_case("SessionStart"));
        week.recalled += usize::from(was_recalled);
        week.ignored += usize::from(!was_recalled);
    }
    weeks.into_values().collect()
}

fn of_day(store: &Store, day: NaiveDate) -> LinesFile<GivenLine> {
    LinesFile::local(store.layout().given(day))
}

/// The last so many days, this one among them, the oldest first.
fn kept_days(now: Timestamp, days: u64) -> Vec<NaiveDate> {
    let today = now.date_naive();
    (0..days).rev().filter_map(|back| today.checked_sub_days(Days::new(back))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::page::Line;
    use super::*;

    fn section(source: &str) -> Section {
        let lines = vec![Line::new("assistant said “x”", source)];
        Section { heading: "What bears".into(), lines, share: 1, last_first: false }
    }

    fn at(time: &str) -> Timestamp {
        clock::parse(time).unwrap()
    }

    #[test]
    fn weeks_tell_what_was_recalled_and_what_was_not() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::init(folder.path()).unwrap();
        let to = |session, moment| Recipient { agent: "claude", session, moment, project: "p" };
        let give = |time: &str, session, moment, source: &str| {
            note(&store, at(time), &to(session, moment), &[section(source)]);
        };
        give("2026-11-16T08:00:00Z", "a", "SessionStart", "SES1_desk_SP1C1#EP_001");
        give("2026-11-16T09:00:00Z", "a", "UserPromptSubmit", "SES2_desk_SP1C1#EP_001");
        give("2026-11-09T09:00:00Z", "b", "UserPromptSubmit", "SES2_desk_SP1C1#EP_001");
        note_recall(&store, at("2026-11-16T09:30:00Z"), "SES2_desk_SP1C1#EP_004");
        let weeks = by_week(&store, at("2026-11-18T00:00:00Z"));
        let counts: Vec<_> = weeks
            .iter()
            .map(|week| {
                (week.week.as_str(), week.given, week.at_start, week.recalled, week.ignored)
            })
            .collect();
        assert_eq!(counts, [("2026-W47", 2, 1, 1, 1), ("2026-W46", 1, 0, 0, 1)]);
        prune(&store, at("2027-02-13T00:00:00Z"));
        assert_eq!(lately(&store, at("2026-11-18T00:00:00Z"), KEPT_DAYS).len(), 3);
        prune(&store, at("2027-02-14T00:00:00Z"));
        assert_eq!(lately(&store, at("2026-11-18T00:00:00Z"), KEPT_DAYS).len(), 0);
    }

    #[test]
    fn what_everybody_ignores_is_left_out_until_somebody_recalls_it() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::init(folder.path()).unwrap();
        let now = at("2026-11-16T08:00:00Z");
        let is_given = |session: &str| {
            let mut section = section("SES1_desk_SP1C1#EP_001");
            leave_out_ignored(&store, now, session, &mut section);
            let to = Recipient { agent: "codex", session, moment: "UserPromptSubmit", project: "" };
            note(&store, now, &to, std::slice::from_ref(&section));
            !section.lines.is_empty()
        };
        assert!(is_given("a") && is_given("b") && is_given("c"));
        assert!(!is_given("d"));
        note_recall(&store, now, "SES1_desk_SP1C1");
        assert!(is_given("e"));
    }
}
