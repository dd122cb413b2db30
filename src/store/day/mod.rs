//! The days' raw logs: `- [14:03:22] [user] (SES3_laptop_SP1C2) text`, in time order, each line
//! once.
//!
//! A day is shared by all sessions, by people and by other devices (git merges it line by line). So
//! lines are only ever added: those that are there already stay as they are, whoever wrote them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};

use chrono::{Days, NaiveDate};

use super::layout::{self, Layout};
use crate::base::clock::Timestamp;
use crate::base::zone::Zone;
use crate::base::{files, markdown};
use crate::model::day::{DayLine, Line, LineKind};
use crate::model::ids::SessionId;

mod compare;
pub mod summary;

pub use compare::{Difference, count, session_of};

/// The lines of several sessions, sorted into their days.
#[derive(Debug, Default, Clone)]
pub struct DayLines {
    days: BTreeMap<NaiveDate, Vec<String>>,
    /// The sessions some of whose lines may be there already.
    grown: HashSet<String>,
    bytes: usize,
}

impl DayLines {
    /// Adds a session's line.
    pub fn add(&mut self, line: &DayLine, session: &SessionId, zone: Zone) {
        let more = line.cut_from.map(|episode| layout::from_day_to_episode(session, episode));
        let (day, text) =
            rendered(line.at, line.kind, &session.to_string(), &line.text, more.as_deref(), zone);
        self.bytes += text.len();
        self.days.entry(day).or_default().push(text);
    }

    /// Notes that a session was captured before, so that its lines may stand in the days under the
    /// clock of another time zone.
    pub fn grows(&mut self, session: &SessionId) {
        self.grown.insert(session.to_string());
    }

    /// Leaves only some days.
    pub fn keep_days(&mut self, keeps: impl Fn(NaiveDate) -> bool) {
        self.days.retain(|day, _| keeps(*day));
    }

    /// How much text waits to be written.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The days that they are of.
    pub fn days(&self) -> Vec<NaiveDate> {
        self.days.keys().copied().collect()
    }

    /// Writes the lines that are not there yet into their days.
    pub fn write(mut self, layout: &Layout) -> io::Result<()> {
        if !self.grown.is_empty() {
            self.leave_out_moved(layout)?;
        }
        for (day, lines) in self.days {
            add_lines(layout, day, &lines)?;
        }
        Ok(())
    }

    /// Leaves out the lines that stand in the days already, but at the time of another zone: the
    /// setting was changed while the session went on. What tells a line is then who said what, not
    /// when.
    fn leave_out_moved(&mut self, layout: &Layout) -> io::Result<()> {
        // Two clocks on earth differ by 26 hours at most.
        const FARTHEST: u64 = 2;
        let of_grown =
            |line: &str| Line::parse(line).is_some_and(|line| self.grown.contains(line.session));
        let mut near = BTreeSet::new();
        for (day, _) in
            self.days.iter().filter(|(_, lines)| lines.iter().any(|line| of_grown(line)))
        {
            near.extend(
                day.checked_sub_days(Days::new(FARTHEST))
                    .into_iter()
                    .flat_map(|first| first.iter_days().take(5)),
            );
        }
        let mut there: HashMap<u64, usize> = HashMap::new();
        for day in near {
            let Ok(mut file) = files::open(layout.day(day)) else { continue };
            each_line(&mut file, |line, _| {
                if let Some(line) = std::str::from_utf8(line).ok().filter(|line| of_grown(line)) {
                    *there.entry(exactly(day, line)).or_default() += 1;
                    *there.entry(said(line)).or_default() += 1;
                }
                Ok(())
            })?;
        }
        let mut take = |mark: u64| {
            let count = there.get_mut(&mark).filter(|count| **count > 0);
            count.map(|count| *count -= 1).is_some()
        };
        let mut exact = HashSet::new();
        for (day, lines) in &self.days {
            for (at, line) in lines.iter().enumerate().filter(|(_, line)| of_grown(line)) {
                if take(exactly(*day, line)) {
                    take(said(line));
                    exact.insert((*day, at));
                }
            }
        }
        for (day, lines) in &mut self.days {
            let mut at = 0;
            lines.retain(|line| {
                at += 1;
                let grown = Line::parse(line).is_some_and(|line| self.grown.contains(line.session));
                !grown || exact.contains(&(*day, at - 1)) || !take(said(line))
            });
        }
        Ok(())
    }
}

/// The mark of a line where it stands.
fn exactly(day: NaiveDate, line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (day, line).hash(&mut hasher);
    hasher.finish()
}

/// The mark of what a line says, whenever it was.
fn said(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    if let Some(line) = Line::parse(line) {
        (line.session, line.kind, line.text).hash(&mut hasher);
    }
    hasher.finish()
}

/// A line that is in no session's log: written by `memtree log`, or by memtree about itself.
#[derive(Debug, Clone)]
pub struct Entry<'e> {
    pub at: Timestamp,
    pub kind: LineKind,
    /// Whose it is; made into one harmless word.
    pub session: &'e str,
    /// Redacted and short enough.
    pub text: &'e str,
}

impl Entry<'_> {
    /// The line as it will stand in its day.
    pub fn rendered(&self, zone: Zone) -> (NaiveDate, String) {
        let session: String =
            self.session
                .chars()
                .take(80)
                .map(|letter| {
                    if letter.is_alphanumeric() || "._:@~-".contains(letter) { letter } else { '-' }
                })
                .collect();
        let session = if session.is_empty() { "-" } else { &session };
        rendered(self.at, self.kind, session, self.text, None, zone)
    }

    /// Appends it to its day, at its place by time.
    pub fn append(&self, layout: &Layout, zone: Zone) -> io::Result<(NaiveDate, String)> {
        let (day, line) = self.rendered(zone);
        let path = layout.day(day);
        let replacing = layout.replacing();
        let at_the_end = files::append_page_if(
            &replacing,
            &path,
            || header(day),
            &line,
            |file| Ok(last_place(file)? <= own(place(&line))),
        )?;
        if !at_the_end {
            // It may be there already, said by somebody else; asked again, it is ours.
            let before = std::cell::Cell::new(None);
            files::update_locked(&replacing, &path, |now| {
                let is_line = |one: &&[u8]| *one == line.as_bytes();
                let count = now.split(|byte| *byte == b'\n').filter(is_line).count();
                if before.get().is_none() {
                    before.set(Some(count));
                }
                match before.get() == Some(count) {
                    true => merged(day, now, std::slice::from_ref(&line), Repeats::Keep),
                    false => Ok(None),
                }
            })?;
        }
        Ok((day, line))
    }

    /// Does the same, unless the very same line is there already.
    pub fn append_once(&self, layout: &Layout, zone: Zone) -> io::Result<NaiveDate> {
        let (day, line) = self.rendered(zone);
        add_lines(layout, day, &[line])?;
        Ok(day)
    }
}

fn rendered(
    at: Timestamp,
    kind: LineKind,
    session: &str,
    text: &str,
    more: Option<&str>,
    zone: Zone,
) -> (NaiveDate, String) {
    let local = at.with_timezone(&zone);
    let more = more.map(|link| format!(" [more]({link})")).unwrap_or_default();
    let time = local.format("%H:%M:%S");
    (
        local.date_naive(),
        format!("- [{time}] [{}] ({session}) {}{more}", kind, markdown::inline_as_text(text)),
    )
}

/// The header of a day's raw log.
fn header(day: NaiveDate) -> String {
    format!("# Daily Raw {day}\n\n")
}

/// What a day's raw log says, but for `[system]` lines: the SHA-256 of what `grep -v` leaves of
/// it, and whether there is anything at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayContents {
    pub sha256: String,
    pub anything: bool,
}

/// Reads a day's raw log once, hands over its lines that can be read, and says what it holds.
pub fn read(
    layout: &Layout,
    day: NaiveDate,
    mut each: impl FnMut(Line<'_>),
) -> io::Result<DayContents> {
    let mut hasher = files::HashingWriter::new(io::sink());
    let mut anything = false;
    let Some(mut file) = files::if_exists(files::open(layout.day(day)))? else {
        return Ok(DayContents { sha256: hasher.finish().1.sha256, anything });
    };
    // Git may have checked it out with other line ends than another device has.
    each_line(&mut file, |line, _| {
        let text = String::from_utf8_lossy(line);
        let parsed = Line::parse(&text);
        if parsed.is_none_or(|line| line.kind != LineKind::System) {
            anything |= is_entry(&text);
            hasher.write_all(line)?;
            hasher.write_all(b"\n")?;
        }
        parsed.into_iter().for_each(&mut each);
        Ok(())
    })?;
    Ok(DayContents { sha256: hasher.finish().1.sha256, anything })
}

/// Whether a day's raw log holds nothing but `[system]` lines; as little of it is read as need be.
pub fn is_silent(layout: &Layout, day: NaiveDate) -> io::Result<bool> {
    let Some(file) = files::if_exists(files::open(layout.day(day)))? else { return Ok(true) };
    for line in BufReader::new(file).split(b'\n') {
        if is_entry(&String::from_utf8_lossy(&line?)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a line is more than a heading, a gap or a word of the system.
fn is_entry(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty()
        && !line.starts_with("# ")
        && Line::parse(line).is_none_or(|line| line.kind != LineKind::System)
}

/// The days that have a raw log, in order.
pub fn all(layout: &Layout) -> io::Result<Vec<NaiveDate>> {
    let mut days = Vec::new();
    for entry in files::if_exists(files::read_dir(layout.days()))?.into_iter().flatten() {
        days.extend(
            entry?
                .file_name()
                .to_str()
                .and_then(|name| name.strip_suffix(".md")?.parse::<NaiveDate>().ok()),
        );
    }
    days.sort_unstable();
    Ok(days)
}

/// Where the last line of a day stands, owned. What is not found in the last stretch of the file
/// counts as later than anything, so that the long way is taken.
fn last_place(file: &mut File) -> io::Result<(String, String)> {
    const STRETCH: u64 = 16 << 10;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(STRETCH)))?;
    let mut tail = Vec::new();
    file.take(STRETCH).read_to_end(&mut tail)?;
    let tail = String::from_utf8_lossy(&tail);
    let timed = |line: &str| place(line).is_some();
    match tail.lines().rev().find(|line| timed(line)) {
        Some(line) => Ok(own(place(line))),
        // A day with a header and nothing else.
        None if length < STRETCH => Ok(own(None)),
        None => Ok(("~".into(), String::new())),
    }
}

fn own(place: Option<(&str, &str)>) -> (String, String) {
    place.map(|(time, session)| (time.to_string(), session.to_string())).unwrap_or_default()
}

/// What becomes of a line that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repeats {
    /// It is the same one.
    Drop,
    /// It is another one that says the same.
    Keep,
}

/// Adds lines to a day, those that are not there yet.
fn add_lines(layout: &Layout, day: NaiveDate, lines: &[String]) -> io::Result<bool> {
    files::update_locked(&layout.replacing(), &layout.day(day), |now| {
        merged(day, now, lines, Repeats::Drop)
    })
}

/// A day with new lines in their places; `None` where there are none.
fn merged(
    day: NaiveDate,
    now: &[u8],
    lines: &[String],
    repeats: Repeats,
) -> io::Result<Option<Vec<u8>>> {
    let mut out = Vec::with_capacity(now.len() + 1024);
    let changed = merge(day, &mut io::Cursor::new(now), lines, repeats, &mut out)?;
    Ok(changed.then_some(out))
}

/// Writes a day with new lines in their places, and says whether there were any. Lines without a
/// time stay behind the line they follow.
fn merge(
    day: NaiveDate,
    existing: &mut (impl Read + Seek),
    lines: &[String],
    repeats: Repeats,
    out: &mut dyn Write,
) -> io::Result<bool> {
    // How often each line is still to be added: not as often as it is there.
    let mut missing: HashMap<&[u8], usize> = HashMap::with_capacity(lines.len());
    for line in lines {
        *missing.entry(line.as_bytes()).or_default() += 1;
    }
    let mut is_empty = true;
    each_line(existing, |line, _| {
        is_empty = false;
        if let Some(count) = missing.get_mut(line).filter(|_| repeats == Repeats::Drop) {
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

/// A day that git joined, with its lines in their places; each line without a time stays behind the
/// one it follows.
pub fn in_order(text: &str) -> String {
    let mut blocks: Vec<(Option<(&str, &str)>, &str)> = Vec::new();
    let mut start = 0;
    let mut at = 0;
    let mut current = None;
    for line in text.split_inclusive('\n') {
        let found = place(line.trim_end());
        if found.is_some() && at > start {
            blocks.push((current, &text[start..at]));
            start = at;
        }
        current = found.or(current);
        at += line.len();
    }
    blocks.push((current, &text[start..]));
    // What stands before the first line with a time stays first.
    blocks.sort_by_key(|(place, _)| *place);
    blocks.into_iter().map(|(_, block)| block).collect()
}

/// Whether a line has its place by its time; any other stays behind the one it follows.
pub fn has_time(line: &str) -> bool {
    place(line).is_some()
}

/// Hands over each line, and its end as it is.
fn each_line(
    text: &mut impl Read,
    mut each: impl FnMut(&[u8], &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut text = BufReader::with_capacity(64 << 10, text);
    let mut line = Vec::new();
    while text.read_until(b'\n', &mut line)? > 0 {
        let words =
            line.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
        each(&line[..words], &line[words..])?;
        line.clear();
    }
    Ok(())
}

/// Where a line belongs: by its time, then by its session, so that the order of writing does not
/// matter.
fn place(line: &str) -> Option<(&str, &str)> {
    let (time, rest) = line.strip_prefix("- [")?.split_once("] [")?;
    if time.len() != 8 {
        return None;
    }
    let session = rest
        .split_once("] (")
        .and_then(|(_, rest)| rest.split_once(')'))
        .map_or("", |(session, _)| session);
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
        match super::merge(day(), &mut io::Cursor::new(existing), &lines, Repeats::Drop, &mut out)
            .unwrap()
        {
            true => String::from_utf8(out).unwrap(),
            false => existing.to_string(),
        }
    }

    #[test]
    fn lines_come_in_time_order_and_once() {
        let (a, b, c) = (
            "- [10:00:00] [user] (S1) a",
            "- [10:00:05] [user] (S2) b",
            "- [11:00:00] [system] (-) c",
        );
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
        let merged =
            merge(Some(existing), &["- [10:00:00] [user] (S1) a", "- [12:00:00] [user] (S2) y"]);
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
