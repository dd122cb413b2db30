//! Dates in a query: those of `since:` and `before:`, and those that a question names in words:
//! "in May 2023", "on 7 July", "last week", "three days ago"; and the commonest of them in other
//! languages: "vor zwei Wochen", "el lunes", "au printemps".
//!
//! The latter are no condition: people are often wrong about when, and a session may be about what
//! happened before it. Sessions near such a date count more, that is all.

use chrono::{Datelike, Days, Months, NaiveDate, NaiveTime};

use super::languages;
use super::times_elsewhere::{self, Elsewhere};
use crate::base::clock::{self, Timestamp};

/// A point in time as a filter names it: a date, or an age.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FilterDate {
    At(Timestamp),
    DaysAgo(u64),
    MonthsAgo(u32),
}

impl FilterDate {
    /// Reads `2026-11-15`, `2026-11`, `2026`, `today`, `yesterday`, `7d`, `2w`, `3m`, `1y`.
    pub fn parse(text: &str) -> Option<FilterDate> {
        let lower = text.to_lowercase();
        match lower.as_str() {
            "today" => return Some(FilterDate::DaysAgo(0)),
            "yesterday" => return Some(FilterDate::DaysAgo(1)),
            _ => {}
        }
        let date = |text: &str| {
            let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
            Some(FilterDate::At(day.and_time(NaiveTime::MIN).and_utc()))
        };
        let digits = lower.bytes().take_while(u8::is_ascii_digit).count();
        match (digits, lower.len()) {
            (4, 4) => return date(&format!("{lower}-01-01")),
            (4, 7) => return date(&format!("{lower}-01")),
            (4, 10) => return date(&lower),
            _ => {}
        }
        if let Some(at) = clock::parse(text) {
            return Some(FilterDate::At(at));
        }
        let number: u32 = lower[..digits].parse().ok()?;
        match &lower[digits..] {
            "d" => Some(FilterDate::DaysAgo(u64::from(number))),
            "w" => Some(FilterDate::DaysAgo(u64::from(number) * 7)),
            "m" => Some(FilterDate::MonthsAgo(number)),
            "y" => Some(FilterDate::MonthsAgo(number.checked_mul(12)?)),
            _ => None,
        }
    }

    /// The time that it means now.
    pub fn time(self, now: Timestamp) -> Option<Timestamp> {
        let today = now.date_naive();
        let day = match self {
            FilterDate::At(at) => return Some(at),
            FilterDate::DaysAgo(days) => today.checked_sub_days(Days::new(days))?,
            FilterDate::MonthsAgo(months) => today.checked_sub_months(Months::new(months))?,
        };
        Some(day.and_time(NaiveTime::MIN).and_utc())
    }
}

/// A time that is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedTime {
    /// A year, a month or a day of it; without a year, that of any.
    Calendar { year: Option<i32>, month: Option<u32>, day: Option<u32> },
    /// So many days before now, from and to.
    DaysAgo(u64, u64),
    /// The last such day of the week, counted from Monday.
    Weekday(u32),
    /// Three months from this one on: of a year, or of the last in which it could be spoken of.
    Season { year: Option<i32>, month: u32 },
}

/// The times in a question, and the words that name them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedTimes {
    pub times: Vec<NamedTime>,
    /// In lower case.
    pub words: Vec<String>,
    /// Those of them that no page has for its time: `yesterday`, `last Tuesday`, `in spring`.
    relative: Vec<String>,
}

const MONTHS: [&str; 12] = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
];
const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
/// What stands before a month or a year.
const BEFORE_A_TIME: &[&str] = &[
    "in", "of", "during", "since", "until", "before", "after", "from", "by", "early", "late",
    "mid", "last", "this", "spring", "summer", "autumn", "fall", "winter", "year", "beginning",
    "end",
];
/// How long after a time people still speak of it, in days.
const SPOKEN_OF_FOR: f32 = 30.0;

/// Recognizes the name of a month or of a day of the week, in lower case.
pub fn is_calendar_word(word: &str) -> bool {
    MONTHS.contains(&word) || WEEKDAYS.contains(&word)
}

impl NamedTimes {
    /// Finds the times that a text names.
    pub fn of(text: &str) -> NamedTimes {
        let lower = text.to_lowercase();
        let words: Vec<&str> = lower
            .split(|c: char| !c.is_alphanumeric() && c != '-')
            .filter(|word| !word.is_empty())
            .collect();
        let mut named = NamedTimes::default();
        let mut at = 0;
        while at < words.len() {
            match time_at(&words, at) {
                Some((time, from, to)) => {
                    named.times.push(time);
                    let of_it = words[from..to].iter().flat_map(|word| word.split('-'));
                    if !matches!(time, NamedTime::Calendar { .. }) {
                        named.relative.extend(of_it.clone().map(str::to_string));
                    }
                    named.words.extend(of_it.map(str::to_string));
                    at = to;
                }
                None => at += 1,
            }
        }
        // Where words stand without spaces, a time may be anywhere among them.
        if languages::is_unspaced(&lower)
            && let Some((name, time)) = times_elsewhere::within(&lower)
        {
            named.times.push(time.into());
            named.words.push(name.to_string());
            named.relative.push(name.to_string());
        }
        named
    }

    /// Whether a word, in lower case, is one that names a time.
    pub fn has(&self, word: &str) -> bool {
        self.words.iter().any(|known| known == word)
    }

    /// Whether a word, in lower case, names a time by the day on which it is said: pages are not
    /// searched for it.
    pub fn is_relative(&self, word: &str) -> bool {
        self.relative.iter().any(|known| known == word)
    }

    /// Whether a time is named by the day on which it is said.
    pub fn are_relative(&self) -> bool {
        !self.relative.is_empty()
    }

    /// Whether a day is one of those that are named.
    pub fn names_day(&self, day: NaiveDate, today: NaiveDate) -> bool {
        self.times.iter().any(|time| time.nearness(day, today) >= 1.0)
    }

    /// How near a session is that ended then: one within a named time, less after it, nothing
    /// before.
    pub fn nearness(&self, ended: Timestamp, now: Timestamp) -> f32 {
        self.times
            .iter()
            .map(|time| time.nearness(ended.date_naive(), now.date_naive()))
            .fold(0.0, f32::max)
    }
}

impl NamedTime {
    fn nearness(self, ended: NaiveDate, now: NaiveDate) -> f32 {
        match self {
            NamedTime::DaysAgo(from, to) => {
                let ago = (now - ended).num_days();
                f32::from(u8::from(ago >= from as i64 && ago <= to as i64))
            }
            NamedTime::Calendar { year, month, day } => {
                // Without a year, the last one in which it could be spoken of.
                let years = year.map_or(vec![ended.year() - 1, ended.year()], |year| vec![year]);
                let ranges = years.into_iter().filter_map(|year| range(year, month, day));
                ranges.map(|range| nearness_to(range, ended)).fold(0.0, f32::max)
            }
            NamedTime::Weekday(weekday) => {
                let ago = (now - ended).num_days();
                // The one of last week may be meant as well as the one of this.
                let near = (1..=14).contains(&ago);
                match near && ended.weekday().num_days_from_monday() == weekday {
                    true if ago <= 7 => 1.0,
                    true => 0.7,
                    false => 0.0,
                }
            }
            NamedTime::Season { year, month } => {
                let years = year.map_or(vec![ended.year() - 1, ended.year()], |year| vec![year]);
                let ranges = years.into_iter().filter_map(|year| {
                    let first = NaiveDate::from_ymd_opt(year, month, 1)?;
                    let end = first.checked_add_months(Months::new(3))?;
                    Some((first, end.checked_sub_days(Days::new(1))?))
                });
                ranges.map(|range| nearness_to(range, ended)).fold(0.0, f32::max)
            }
        }
    }
}

/// How near a day is to some days from first to last: within, one; less after them.
fn nearness_to((first, last): (NaiveDate, NaiveDate), ended: NaiveDate) -> f32 {
    match ended {
        ended if ended < first => 0.0,
        ended if ended <= last => 1.0,
        ended => (1.0 - (ended - last).num_days() as f32 / SPOKEN_OF_FOR).max(0.0),
    }
}

/// The first and the last day of a year, a month or a day.
fn range(year: i32, month: Option<u32>, day: Option<u32>) -> Option<(NaiveDate, NaiveDate)> {
    let first = NaiveDate::from_ymd_opt(year, month.unwrap_or(1), day.unwrap_or(1))?;
    let last = match (month, day) {
        (_, Some(_)) => first,
        (Some(12) | None, None) => NaiveDate::from_ymd_opt(year, 12, 31)?,
        (Some(month), None) => {
            NaiveDate::from_ymd_opt(year, month + 1, 1)?.checked_sub_days(Days::new(1))?
        }
    };
    Some((first, last))
}

/// The time that is named at a word, and the words that name it.
fn time_at(words: &[&str], at: usize) -> Option<(NamedTime, usize, usize)> {
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let before = |at: usize| at.checked_sub(1).map(word).unwrap_or_default();
    let year = |word: &str| {
        word.parse().ok().filter(|year| word.len() == 4 && (1990..2100).contains(year))
    };
    let introduced = BEFORE_A_TIME.contains(&before(at));
    if let Some(month) = MONTHS.iter().position(|month| *month == word(at)) {
        let month = Some(month as u32 + 1);
        // "7 July 2026", "7th of July", "July 7, 2026", "July 2026".
        let first = if before(at) == "of" && at >= 2 { at - 2 } else { at.saturating_sub(1) };
        let (day, from) = match day_of_month(word(first)).filter(|_| first < at) {
            Some(day) => (Some(day), first),
            None => (None, at),
        };
        let (day, to) = match day_of_month(word(at + 1)).filter(|_| day.is_none()) {
            Some(day) => (Some(day), at + 2),
            None => (day, at + 1),
        };
        let (year, to) = year(word(to)).map_or((None, to), |year| (Some(year), to + 1));
        // "It may" and "march on" name no time.
        let ambiguous = matches!(word(at), "may" | "march");
        let sure = !ambiguous || day.is_some() || year.is_some() || introduced;
        return sure.then_some((NamedTime::Calendar { year, month, day }, from, to));
    }
    if let Some(year) = year(word(at)).filter(|_| introduced) {
        return Some((
            NamedTime::Calendar { year: Some(year), month: None, day: None },
            at,
            at + 1,
        ));
    }
    if let Some(time) = dashed(word(at)) {
        return Some((time, at, at + 1));
    }
    if let Some(time) = weekday_or_season(&words[at..], before(at)) {
        let from = at - usize::from(matches!(before(at), "last" | "this"));
        return Some((time.0, from, at + time.1));
    }
    let ago = |from, to, words| Some((NamedTime::DaysAgo(from, to), at, at + words));
    if let Some((time, count)) = times_elsewhere::at(&words[at..]) {
        return Some((NamedTime::from(time), at, at + count));
    }
    match (word(at), word(at + 1), word(at + 2)) {
        ("this", "morning" | "afternoon" | "evening", _) => ago(0, 0, 2),
        ("last", "night", _) => ago(0, 1, 2),
        ("the", "other", "day") => ago(1, 10, 3),
        ("last", "year", _) => ago(180, 730, 2),
        ("today", ..) => ago(0, 0, 1),
        ("yesterday", ..) => ago(1, 2, 1),
        ("this", "week", _) => ago(0, 7, 2),
        ("this", "month", _) => ago(0, 31, 2),
        ("last", "week", _) => ago(2, 14, 2),
        ("last", "month", _) => ago(7, 62, 2),
        ("a", "few", unit) if word(at + 3) == "ago" => {
            let days = days_in(unit)?;
            ago(2 * days, 6 * days, 4)
        }
        ("a", "couple", "of") if word(at + 4) == "ago" => {
            let days = days_in(word(at + 3))?;
            ago(days, 4 * days, 5)
        }
        (count, unit, "ago") => {
            let count = number(count)?;
            let days = days_in(unit)?;
            let (from, to) = about(days, count);
            ago(from, to, 3)
        }
        _ => None,
    }
}

/// From and to how many days ago so many units are: "three weeks ago" is rarely exact.
fn about(days: u64, count: u64) -> (u64, u64) {
    let slack = days * count.max(2) / 4 + 1;
    ((days * count).saturating_sub(slack), days * count + slack)
}

impl From<Elsewhere> for NamedTime {
    fn from(time: Elsewhere) -> NamedTime {
        match time {
            Elsewhere::DaysAgo(from, to) => NamedTime::DaysAgo(from, to),
            Elsewhere::UnitsAgo { days, count } => {
                let (from, to) = about(days, count);
                NamedTime::DaysAgo(from, to)
            }
            Elsewhere::Weekday(day) => NamedTime::Weekday(day),
            Elsewhere::Month { year, month } => {
                NamedTime::Calendar { year, month: Some(month), day: None }
            }
            Elsewhere::Season { year, month } => NamedTime::Season { year, month },
        }
    }
}

fn days_in(unit: &str) -> Option<u64> {
    Some(match unit.trim_end_matches('s') {
        "day" => 1,
        "week" => 7,
        "month" => 30,
        "year" => 365,
        _ => return None,
    })
}

/// The day of the week or the season that words begin with, and how many words name it.
fn weekday_or_season(words: &[&str], before: &str) -> Option<(NamedTime, usize)> {
    let first = words.first().copied().unwrap_or_default();
    if let Some(weekday) = WEEKDAYS.iter().position(|weekday| *weekday == first) {
        return Some((NamedTime::Weekday(weekday as u32), 1));
    }
    let month = match first {
        "spring" => 3,
        "summer" => 6,
        "autumn" | "fall" => 9,
        "winter" => 12,
        _ => return None,
    };
    // "Spring Boot" and "fall back" name no time.
    let named = matches!(before, "in" | "last" | "this" | "of" | "since" | "during" | "the");
    let year = words.get(1).and_then(|word| word.parse().ok());
    let year = year.filter(|year| (1990..2100).contains(year));
    let ends = words.len() == 1 || year.is_some() || before == "last" || before == "this";
    let said = named && (ends || !matches!(before, "the" | "of"));
    said.then_some((NamedTime::Season { year, month }, 1 + usize::from(year.is_some())))
}

/// The day of `7`, `7th`, `1st`.
fn day_of_month(word: &str) -> Option<u32> {
    let digits = word
        .trim_end_matches("st")
        .trim_end_matches("nd")
        .trim_end_matches("rd")
        .trim_end_matches("th");
    digits.parse().ok().filter(|day| digits.len() <= 2 && (1..=31).contains(day))
}

/// The time of `2026-11-15` and `2026-11`.
fn dashed(word: &str) -> Option<NamedTime> {
    let mut parts = word.split('-');
    let year: i32 = parts.next().filter(|year| year.len() == 4)?.parse().ok()?;
    let month: u32 = parts.next().filter(|month| month.len() == 2)?.parse().ok()?;
    let day = parts.next().map(str::parse::<u32>).transpose().ok()?;
    range(year, Some(month), day).filter(|_| parts.next().is_none())?;
    Some(NamedTime::Calendar { year: Some(year), month: Some(month), day })
}

fn number(word: &str) -> Option<u64> {
    const NUMBERS: [&str; 13] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    match word {
        "a" | "an" => Some(1),
        _ => word.parse().ok().filter(|number| *number < 1000).or_else(|| {
            let place = NUMBERS.iter().position(|number| *number == word)?;
            Some(place as u64)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calendar(year: Option<i32>, month: Option<u32>, day: Option<u32>) -> NamedTime {
        NamedTime::Calendar { year, month, day }
    }

    #[test]
    fn times_are_found_in_questions() {
        for (text, expect) in [
            ("what did we release in May 2023?", calendar(Some(2023), Some(5), None)),
            ("the crash on 7 July, 2026", calendar(Some(2026), Some(7), Some(7))),
            ("the crash on the 7th of July", calendar(None, Some(7), Some(7))),
            ("the crash on July 7th, 2026", calendar(Some(2026), Some(7), Some(7))),
            ("who wrote it in march?", calendar(None, Some(3), None)),
            ("October plans", calendar(None, Some(10), None)),
            ("the plan of 2025", calendar(Some(2025), None, None)),
            ("session of 2026-11-15", calendar(Some(2026), Some(11), Some(15))),
            ("sessions 2026-11", calendar(Some(2026), Some(11), None)),
            ("what broke yesterday", NamedTime::DaysAgo(1, 2)),
            ("what did we do last week?", NamedTime::DaysAgo(2, 14)),
            ("the fix from three weeks ago", NamedTime::DaysAgo(15, 27)),
            ("what broke last Tuesday?", NamedTime::Weekday(1)),
            ("was haben wir gestern gemacht", NamedTime::DaysAgo(1, 2)),
            ("was ging letzte Woche kaputt", NamedTime::DaysAgo(2, 14)),
            ("我们昨天做了什么", NamedTime::DaysAgo(1, 2)),
            ("เมื่อวานทำอะไร", NamedTime::DaysAgo(1, 2)),
            ("was haben wir vor zwei Wochen gemacht", NamedTime::DaysAgo(10, 18)),
            ("was ging am Montag kaputt", NamedTime::Weekday(0)),
            ("der Absturz letzten Dienstag", NamedTime::Weekday(1)),
            ("die Bibliothek vom Frühling", NamedTime::Season { year: None, month: 3 }),
            ("was wir im Herbst gewählt haben", NamedTime::Season { year: None, month: 9 }),
            ("die Pläne vom März 2026", calendar(Some(2026), Some(3), None)),
            ("warum brach es vor einem Monat", NamedTime::DaysAgo(14, 46)),
            ("was wir diese Woche entschieden haben", NamedTime::DaysAgo(0, 7)),
            ("qué hicimos hace tres días", NamedTime::DaysAgo(2, 4)),
            ("qué falló la semana pasada", NamedTime::DaysAgo(2, 14)),
            ("lo que elegimos el lunes", NamedTime::Weekday(0)),
            ("qu'avons-nous fait il y a deux semaines", NamedTime::DaysAgo(10, 18)),
            ("choisi au printemps", NamedTime::Season { year: None, month: 3 }),
            ("cosa abbiamo fatto due settimane fa", NamedTime::DaysAgo(10, 18)),
            ("wat deden we drie weken geleden", NamedTime::DaysAgo(15, 27)),
            ("o que fizemos na semana passada", NamedTime::DaysAgo(2, 14)),
            ("что мы делали две недели назад", NamedTime::DaysAgo(10, 18)),
            ("what broke a few days ago", NamedTime::DaysAgo(2, 6)),
            ("what broke a couple of weeks ago", NamedTime::DaysAgo(7, 28)),
            ("the library we chose in spring", NamedTime::Season { year: None, month: 3 }),
            ("chosen in autumn 2025", NamedTime::Season { year: Some(2025), month: 9 }),
            ("what did I do this morning", NamedTime::DaysAgo(0, 0)),
        ] {
            assert_eq!(NamedTimes::of(text).times, [expect], "{text}");
        }
        assert_eq!(
            NamedTimes::of("the crash on July 7th, 2026, again").words,
            ["july", "7th", "2026"]
        );
    }

    #[test]
    fn what_only_looks_like_a_time_is_none() {
        for text in [
            "it may break",
            "march on",
            "2048 tokens",
            "port 2023",
            "v2.1.0 of 40 files",
            "the last weekday",
            "fall back to main",
            "the spring boot app",
            "99 days",
            "1-2-3",
            "der Sommer Code",
            "vor dem Absturz",
            "hace falta un test",
            "le mois",
            "was ist hier kaputt",
            "2026-99-99",
            "",
            "ago",
        ] {
            assert_eq!(NamedTimes::of(text), NamedTimes::default(), "{text}");
        }
    }

    #[test]
    fn sessions_of_that_time_are_near() {
        let now = clock::parse("2026-11-15T13:40:10Z").unwrap();
        let near = |text: &str, day: &str| {
            NamedTimes::of(text).nearness(clock::parse(&format!("{day}T10:00:00Z")).unwrap(), now)
        };
        assert_eq!(near("in May 2026", "2026-05-31"), 1.0);
        assert_eq!(near("in May 2026", "2026-04-30"), 0.0);
        assert!((0.4..0.6).contains(&near("in May 2026", "2026-06-15")));
        assert_eq!(near("in May 2026", "2026-07-15"), 0.0);
        assert_eq!(near("in December", "2025-12-10"), 1.0);
        assert!(
            near("in December", "2026-01-05") > 0.8,
            "spoken of a few days later, in the next year"
        );
        assert_eq!(near("on 29 February 2025", "2025-02-28"), 0.0);
        assert_eq!((near("last week", "2026-11-08"), near("last week", "2026-10-08")), (1.0, 0.0));
        assert_eq!(near("the header race", "2026-11-08"), 0.0);
        // The fifteenth is a Sunday.
        assert_eq!(near("on Tuesday", "2026-11-10"), 1.0);
        assert!((0.5..1.0).contains(&near("last Tuesday", "2026-11-03")));
        assert_eq!((near("on Tuesday", "2026-11-11"), near("on Sunday", "2026-11-15")), (0.0, 0.0));
        assert_eq!((near("in spring", "2026-04-10"), near("in spring", "2026-01-10")), (1.0, 0.0));
        assert_eq!(
            (near("last winter", "2026-01-10"), near("in summer", "2026-11-10")),
            (1.0, 0.0)
        );
    }
}
