//! The days' raw logs: `- [14:03:22] [user] (SES3_laptop_SP1C2) text`, in time order, each line once.
//!
//! A day is shared by all sessions, by people and by other devices (git merges it line by line). So lines
//! are only ever added: those that are there already stay as they are, whoever wrote them.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, BufReader, Read, Seek, Write};

use chrono::NaiveDate;
use chrono_tz::Tz;

use super::layout::{self, Layout};
use crate::base::{files, markdown};
use crate::model::day::DayLine;
use crate::model::ids::SessionId;

/// The lines of several sessions, sorted into their days.
#[derive(Debug, Default)]
pub struct DayLines {
    days: BTreeMap<NaiveDate, Vec<String>>,
    bytes: usize,
}

impl DayLines {
    /// Adds a session's line.
    pub fn add(&mut self, line: &DayLine, session: &SessionId, zone: Tz) {
        let (day, text) = rendered(line, session, zone);
        self.bytes += text.len();
        self.days.entry(day).or_default().push(text);
    }

    /// How much text waits to be written.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes the lines that are not there yet into their days.
    pub fn write(self, layout: &Layout) -> io::Result<()> {
        for (day, lines) in self.days {
            files::update_locked(&layout.day(day), |existing, out| merge(day, existing, &lines, out))?;
        }
        Ok(())
    }
}

fn rendered(line: &DayLine, session: &SessionId, zone: Tz) -> (NaiveDate, String) {
    let local = line.at.with_timezone(&zone);
    let more = match line.cut_from {
        Some(episode) => format!(" [more]({})", layout::from_day_to_episode(session, episode)),
        None => String::new(),
    };
    let text = format!(
        "- [{}] [{}] ({session}) {}{more}",
        local.format("%H:%M:%S"),
        line.kind.word(),
        markdown::inline(&line.text)
    );
    (local.date_naive(), text)
}

/// The header of a day's raw log.
fn header(day: NaiveDate) -> String {
    format!("# Daily Raw {day}\n\n")
}

/// Writes a day with new lines in their places, and says whether there were any. Lines without a time stay behind the
/// line they follow.
fn merge(day: NaiveDate, existing: &mut (impl Read + Seek), lines: &[String], out: &mut dyn Write) -> io::Result<bool> {
    // How often each line is still to be added: not as often as it is there.
    let mut missing: HashMap<&[u8], usize> = HashMap::with_capacity(lines.len());
    for line in lines {
        *missing.entry(line.as_bytes()).or_default() += 1;
    }
    let mut is_empty = true;
    each_line(existing, |line, _| {
        is_empty = false;
        if let Some(count) = missing.get_mut(line) {
            *count = count.saturating_sub(1);
        }
        Ok(())
    })?;
    let mut new: Vec<&String> = lines
        .iter()
        .filter(|line| match missing.get_mut(line.as_bytes()) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        })
        .collect();
    if new.is_empty() {
        return Ok(false);
    }
    new.sort_by(|a, b| place(a).cmp(&place(b)));
    let mut new = new.into_iter().peekable();
    if is_empty {
        out.write_all(header(day).as_bytes())?;
    }
    existing.rewind()?;
    each_line(existing, |line, end| {
        if let Some(at) = std::str::from_utf8(line).ok().and_then(place) {
            while let Some(earlier) = new.next_if(|line| place(line).is_some_and(|new| new < at)) {
                writeln!(out, "{earlier}")?;
            }
        }
        out.write_all(line)?;
        out.write_all(if end.is_empty() { b"\n" } else { end })
    })?;
    new.try_for_each(|line| writeln!(out, "{line}"))?;
    Ok(true)
}

/// Hands over each line, and its end as it is.
fn each_line(text: &mut impl Read, mut each: impl FnMut(&[u8], &[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut text = BufReader::with_capacity(64 << 10, text);
    let mut line = Vec::new();
    while text.read_until(b'\n', &mut line)? > 0 {
        let words = line.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
        each(&line[..words], &line[words..])?;
        line.clear();
    }
    Ok(())
}

/// Where a line belongs: by its time, then by its session, so that the order of writing does not matter.
fn place(line: &str) -> Option<(&str, &str)> {
    let (time, rest) = line.strip_prefix("- [")?.split_once("] [")?;
    if time.len() != 8 {
        return None;
    }
    let session = rest.split_once("] (").and_then(|(_, rest)| rest.split_once(')')).map_or("", |(session, _)| session);
    Some((time, session))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day() -> NaiveDate {
        NaiveDate::from_ymd_opt(2026, 11, 15).unwrap()
    }

    fn merge(existing: Option<&str>, lines: &[&str]) -> String {
        let existing = existing.unwrap_or_default();
        let lines: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
        let mut out = Vec::new();
        match super::merge(day(), &mut io::Cursor::new(existing), &lines, &mut out).unwrap() {
            true => String::from_utf8(out).unwrap(),
            false => existing.to_string(),
        }
    }

    #[test]
    fn lines_come_in_time_order_and_once() {
        let (a, b, c) = ("- [10:00:00] [user] (S1) a", "- [10:00:05] [user] (S2) b", "- [11:00:00] [system] (-) c");
        let whole = "# Daily Raw 2026-11-15\n\n".to_string() + a + "\n" + b + "\n" + c + "\n";
        assert_eq!(merge(None, &[c, a, b]), whole);
        assert_eq!(merge(Some(&merge(None, &[a, c])), &[b]), whole);
        assert_eq!(merge(Some(&merge(None, &[c])), &[a, b, c]), whole);
        assert_eq!(merge(Some(&whole), &[a, b]), whole);
    }

    #[test]
    fn what_a_person_wrote_stays() {
        let existing = "# My day\n\n- [10:00:00] [user] (S1) a\n  a note of mine\n\nbye\n";
        assert_eq!(
            merge(Some(existing), &["- [09:00:00] [user] (S2) z", "- [12:00:00] [user] (S2) y"]),
            "# My day\n\n- [09:00:00] [user] (S2) z\n- [10:00:00] [user] (S1) a\n  a note of mine\n\nbye\n- [12:00:00] [user] (S2) y\n"
        );
    }

    #[test]
    fn line_ends_stay_as_they_are() {
        let existing = "# My day\r\n\r\n- [10:00:00] [user] (S1) a\r\n";
        let merged = merge(Some(existing), &["- [10:00:00] [user] (S1) a", "- [12:00:00] [user] (S2) y"]);
        assert_eq!(merged, existing.to_string() + "- [12:00:00] [user] (S2) y\n");
    }

    #[test]
    fn two_equal_lines_are_both_kept() {
        let a = "- [10:00:00] [user] (S1) yes";
        let twice = merge(None, &[a, a]);
        assert_eq!(twice.matches(a).count(), 2);
        assert_eq!(merge(Some(&twice), &[a, a]), twice);
    }
}
