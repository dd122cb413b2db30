//! Compares days with what sessions say of them, and counts their lines.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read};

use chrono::{Days, NaiveDate};

use super::{DayLines, all, each_line, place, read, said};
use crate::base::files;
use crate::model::day::LineKind;
use crate::model::ids::SessionId;
use crate::store::layout::Layout;

/// How a day differs from what sessions say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// A line is not there.
    Missing,
    /// There is another line of this session at this time: edited, or written by an earlier
    /// program.
    OtherWords,
    /// A line is there more often than it was said.
    TooOften,
}

impl DayLines {
    /// Adds the lines of others.
    pub fn join(&mut self, other: DayLines) {
        for (day, lines) in other.days {
            self.days.entry(day).or_default().extend(lines);
        }
        self.grown.extend(other.grown);
        self.bytes += other.bytes;
    }

    /// Compares the lines with those that are there instead of writing them; returns how many it
    /// compared.
    pub fn compare(
        self,
        layout: &Layout,
        mut differs: impl FnMut(NaiveDate, &str, Difference),
    ) -> io::Result<u64> {
        let mut compared = 0;
        let mut missing = Vec::new();
        for (day, lines) in &self.days {
            compared += lines.len() as u64;
            let existing = open(layout, *day)?;
            compare(existing.as_ref(), lines, |line, difference| match difference {
                Difference::Missing => missing.push((*day, line.to_string())),
                _ => differs(*day, line, difference),
            })?;
        }
        for (day, line) in missing {
            if !is_nearby(layout, day, &line)? {
                differs(day, &line, Difference::Missing);
            }
        }
        Ok(compared)
    }
}

fn open(layout: &Layout, day: NaiveDate) -> io::Result<Option<File>> {
    files::if_exists(files::open(layout.day(day)))
}

/// Whether a line stands there by the clock of another time zone, which the settings once named.
fn is_nearby(layout: &Layout, day: NaiveDate, line: &str) -> io::Result<bool> {
    let mut found = false;
    for near in
        day.checked_sub_days(Days::new(2)).into_iter().flat_map(|first| first.iter_days().take(5))
    {
        let Some(mut file) = open(layout, near)? else { continue };
        each_line(&mut file, |other, _| {
            found |= std::str::from_utf8(other)
                .is_ok_and(|other| other != line && said(other) == said(line));
            Ok(())
        })?;
    }
    Ok(found)
}

fn compare(
    existing: Option<impl Read>,
    lines: &[String],
    mut differs: impl FnMut(&str, Difference),
) -> io::Result<()> {
    // How often each line was said, and how often it is there.
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for line in lines {
        counts.entry(line).or_default().0 += 1;
    }
    // How many other lines there are at each session's times.
    let mut others: HashMap<&str, HashMap<&str, usize>> = HashMap::new();
    for (time, session) in lines.iter().filter_map(|line| place(line)) {
        others.entry(session).or_default().insert(time, 0);
    }
    if let Some(mut existing) = existing {
        each_line(&mut existing, |line, _| {
            let Ok(line) = std::str::from_utf8(line) else { return Ok(()) };
            if let Some((_, there)) = counts.get_mut(line) {
                *there += 1;
            } else if let Some((time, session)) = place(line)
                && let Some(count) = others.get_mut(session).and_then(|times| times.get_mut(time))
            {
                *count += 1;
            }
            Ok(())
        })?;
    }
    for (line, (said, there)) in counts {
        if there > said {
            differs(line, Difference::TooOften);
        }
        for _ in there..said {
            let other =
                place(line).and_then(|(time, session)| others.get_mut(session)?.get_mut(time));
            match other.filter(|count| **count > 0) {
                Some(count) => {
                    *count -= 1;
                    differs(line, Difference::OtherWords);
                }
                None => differs(line, Difference::Missing),
            }
        }
    }
    Ok(())
}

/// The session that a line of a day is of.
pub fn session_of(line: &str) -> Option<SessionId> {
    place(line)?.1.parse().ok()
}

/// How many days there are, and how many lines each session has in them.
#[derive(Debug, Default)]
pub struct Counted {
    pub days: u64,
    pub lines: u64,
    pub by_session: HashMap<SessionId, Lines>,
}

/// How many lines a session has in the days.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    pub all: u64,
    /// What a person said.
    pub asked: u64,
}

/// Counts the lines of all days.
pub fn count(layout: &Layout) -> io::Result<Counted> {
    let mut counted = Counted::default();
    for day in all(layout)? {
        counted.days += 1;
        read(layout, day, |line| {
            if let Ok(session) = line.session.parse() {
                counted.lines += 1;
                let lines = counted.by_session.entry(session).or_default();
                lines.all += 1;
                lines.asked += u64::from(line.kind == LineKind::User);
            }
        })?;
    }
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_compared_with_what_was_said() {
        let check = |existing: &str, lines: &[&str], expect: &[(&str, Difference)]| {
            let lines: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
            let mut found = Vec::new();
            let differs = |line: &str, difference| found.push((line.to_string(), difference));
            compare(Some(existing.as_bytes()), &lines, differs).unwrap();
            let expect: Vec<_> =
                expect.iter().map(|(line, difference)| (line.to_string(), *difference)).collect();
            assert_eq!(found, expect, "{existing}");
        };
        let (a, b) = ("- [10:00:00] [user] (S1) a", "- [10:00:05] [user] (S1) b");
        check("# Day\n\n- [10:00:00] [user] (S1) a\r\n- [10:00:05] [user] (S1) b", &[b, a], &[]);
        check("- [10:00:00] [user] (S1) a\n", &[a, b], &[(b, Difference::Missing)]);
        check("- [10:00:00] [user] (S1) a\n", &[a, a], &[(a, Difference::Missing)]);
        check(
            "- [10:00:00] [user] (S1) mine\n",
            &[a, a],
            &[(a, Difference::OtherWords), (a, Difference::Missing)],
        );
        check("- [10:00:00] [user] (S2) a\n", &[a], &[(a, Difference::Missing)]);
        check(&format!("{a}\n{a}\n"), &[a], &[(a, Difference::TooOften)]);
        check(&format!("{a}\n{a}\n- [09:00:00] [user] (S9) z\n"), &[a, a], &[]);
    }
}
