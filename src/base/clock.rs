//! The time: the machine's, or the one handed in with `MEMTREE_NOW`.
//!
//! A timestamp is a moment in UTC. Here it is asked for, read out of the logs' many spellings and
//! written in our one spelling. Nothing else in the program knows the variable.

use std::time::Duration;

use chrono::{DateTime, SubsecRound, Timelike, Utc};

/// A moment in UTC.
pub type Timestamp = DateTime<Utc>;

/// The variable that stands in for the machine's clock.
const VARIABLE: &str = "MEMTREE_NOW";

/// The time that a file gets when it is written, whatever the run takes the time to be.
pub fn of_files() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

/// Returns the present moment in whole seconds; `MEMTREE_NOW` replaces the machine's clock.
pub fn now() -> Result<Timestamp, String> {
    match std::env::var_os(VARIABLE) {
        Some(value) => now_from(&value.to_string_lossy()),
        None => Ok(Utc::now().trunc_subsecs(0)),
    }
}

/// Reads a timestamp as logs write it: RFC 3339 with any offset, or `YYYY-MM-DD HH:MM:SS`, which is
/// taken as UTC.
///
/// Years outside 1970 to 9999 are refused: in a log they are always a mistake.
pub fn parse(text: &str) -> Option<Timestamp> {
    let text = text.trim_ascii();
    let timestamp = parse_utc(text.as_bytes()).or_else(|| parse_any(text))?;
    plausible(timestamp)
}

/// Returns the moment that many milliseconds after 1970, where it lies within the years we accept.
pub fn from_millis(milliseconds: i64) -> Option<Timestamp> {
    DateTime::from_timestamp_millis(milliseconds).and_then(plausible)
}

/// Returns the moment that many seconds after 1970, exact to the millisecond.
pub fn from_seconds(seconds: f64) -> Option<Timestamp> {
    // A float cast saturates, so an absurd number ends up out of range; only NaN would pass as
    // zero.
    if seconds.is_nan() {
        return None;
    }
    from_millis((seconds * 1000.0).round() as i64)
}

/// Writes a timestamp in our one spelling, `2026-11-15T13:40:10Z`.
pub fn stamp(timestamp: Timestamp) -> String {
    timestamp.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Reads a length of time in minutes, hours or days: `30m`, `12h`, `1d`. Zero is refused.
pub fn parse_interval(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (unit, seconds) = [('m', 60), ('h', 3600), ('d', 86_400)]
        .into_iter()
        .find(|(unit, _)| text.ends_with(*unit))?;
    let digits = text.strip_suffix(unit)?.trim_end();
    // `parse` alone would take `+3` as well.
    let count: u64 =
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
    (count > 0).then(|| count.checked_mul(seconds)).flatten().map(Duration::from_secs)
}

/// Reads the value of `MEMTREE_NOW`; an empty one counts as unset.
fn now_from(value: &str) -> Result<Timestamp, String> {
    if value.is_empty() {
        return Ok(Utc::now().trunc_subsecs(0));
    }
    parse(value).map(|timestamp| timestamp.trunc_subsecs(0)).ok_or_else(|| {
        format!("{VARIABLE} is `{value}`; it should look like `2026-11-15T13:40:10Z` (RFC 3339)")
    })
}

/// Reads `YYYY-MM-DDTHH:MM:SS`, with a fraction and a `Z` if there are any: the spelling of nearly
/// every log line, which chrono's general parser takes several times as long for.
fn parse_utc(text: &[u8]) -> Option<Timestamp> {
    let (head, tail) = text.split_at_checked(19)?;
    let separators = [head[4], head[7], head[10], head[13], head[16]];
    if !matches!(separators, [b'-', b'-', b'T' | b' ', b':', b':']) {
        return None;
    }
    let year = number(&head[0..4])?;
    let (month, day) = (number(&head[5..7])?, number(&head[8..10])?);
    let (hour, minute, second) =
        (number(&head[11..13])?, number(&head[14..16])?, number(&head[17..19])?);
    if !(1..=12).contains(&month)
        || day < 1
        || day > days_in(year, month)
        || hour > 23
        || minute > 59
        || second > 59
    {
        return None;
    }
    let nanoseconds = match tail.strip_suffix(b"Z").unwrap_or(tail) {
        [] => 0,
        [b'.', fraction @ ..] if (1..=9).contains(&fraction.len()) => {
            number(fraction)? * 10_i64.pow(9 - fraction.len() as u32)
        }
        _ => return None,
    };
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    DateTime::from_timestamp(seconds, nanoseconds as u32)
}

/// Reads whatever else RFC 3339 allows: offsets, leap seconds, lower case.
fn parse_any(text: &str) -> Option<Timestamp> {
    let timestamp = DateTime::parse_from_rfc3339(text).ok()?.to_utc();
    // chrono keeps a leap second as a 59th second with too many nanoseconds, which would print as
    // `:60`.
    match timestamp.nanosecond() {
        0..1_000_000_000 => Some(timestamp),
        _ => timestamp.with_nanosecond(999_999_999),
    }
}

fn plausible(timestamp: Timestamp) -> Option<Timestamp> {
    /// The first second of the year 10000.
    const END: i64 = 253_402_300_800;
    (0..END).contains(&timestamp.timestamp()).then_some(timestamp)
}

/// Returns the number that a run of ASCII digits spells.
fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'))
    })
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Counts the days from 1970-01-01 to a date of the Gregorian calendar.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years are counted from March, so that the leap day is the last one and months follow one
    // formula.
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year
        - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_the_spellings_of_logs() {
        let check = |text: &str, expect: &str| {
            assert_eq!(
                parse(text).map(|timestamp| timestamp.to_rfc3339()).unwrap_or_default(),
                expect,
                "{text:?}"
            );
        };
        check("2026-11-15T13:40:10Z", "2026-11-15T13:40:10+00:00");
        check(" 2026-11-15T13:40:10Z\n", "2026-11-15T13:40:10+00:00");
        check("2026-11-15T13:40:10.5Z", "2026-11-15T13:40:10.500+00:00");
        check("2026-11-15T13:40:10.123456789Z", "2026-11-15T13:40:10.123456789+00:00");
        check("2026-11-15T13:40:10.1234567891Z", "2026-11-15T13:40:10.123456789+00:00");
        check("2026-11-15 13:40:10", "2026-11-15T13:40:10+00:00");
        check("2026-11-15 13:40:10.25", "2026-11-15T13:40:10.250+00:00");
        check("2026-11-15T13:40:10", "2026-11-15T13:40:10+00:00");
        check("2026-11-15T13:40:10+02:00", "2026-11-15T11:40:10+00:00");
        check("2026-11-15T13:40:10.5-05:30", "2026-11-15T19:10:10.500+00:00");
        check("2026-11-15t13:40:10z", "2026-11-15T13:40:10+00:00");
        check("2024-02-29T00:00:00Z", "2024-02-29T00:00:00+00:00");
        check("1970-01-01T00:00:00Z", "1970-01-01T00:00:00+00:00");
        check("9999-12-31T23:59:59Z", "9999-12-31T23:59:59+00:00");
        check("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.999999999+00:00");
    }

    #[test]
    fn refuses_what_is_no_time() {
        let no_times = "1969-12-31T23:59:59Z|1970-01-01T00:00:00+01:00|10000-01-01T00:00:00Z|0000-00-00T00:00:00Z|\
            2026-02-29T00:00:00Z|2100-02-29T00:00:00Z|2026-13-01T00:00:00Z|2026-00-01T00:00:00Z|2026-04-31T00:00:00Z|\
            2026-11-15T24:00:00Z|2026-11-15T13:60:10Z|2026-11-15|2026-11-15T13:40:10.Z|2026-11-15T13:40:10ZZ|\
            2026-11-15T1３:40:10Z|+026-11-15T13:40:10Z|yesterday||Z|2026-11-15T13:40:1é";
        for text in no_times.split('|') {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn reads_numbers() {
        let check = |timestamp: Option<Timestamp>, expect: &str| {
            assert_eq!(timestamp.map(stamp).unwrap_or_default(), expect);
        };
        check(from_millis(1_794_750_010_000), "2026-11-15T13:40:10Z");
        check(from_millis(-1), "");
        check(from_millis(i64::MAX), "");
        check(from_seconds(1_794_750_010.0), "2026-11-15T13:40:10Z");
        check(from_seconds(0.0), "1970-01-01T00:00:00Z");
        check(from_seconds(f64::NAN), "");
        check(from_seconds(f64::INFINITY), "");
        check(from_seconds(1e300), "");
        assert_eq!(from_seconds(1_794_750_010.123).unwrap().timestamp_subsec_millis(), 123);
    }

    #[test]
    fn reads_intervals() {
        let check = |text, expect: Option<u64>| {
            assert_eq!(parse_interval(text).map(|d| d.as_secs()), expect, "{text:?}")
        };
        check("30m", Some(1800));
        check(" 12 h ", Some(43_200));
        check("1d", Some(86_400));
        for text in [
            "",
            "m",
            "12",
            "0h",
            "-1h",
            "+1h",
            "1.5h",
            "12x",
            "1dh",
            "99999999999999999999d",
            "999999999999999999d",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn the_variable_replaces_the_clock_or_says_what_is_wrong() {
        assert_eq!(
            now_from("2026-11-15T13:40:10.9+01:00").map(stamp).unwrap(),
            "2026-11-15T12:40:10Z"
        );
        let err = now_from("tomorrow").unwrap_err();
        assert!(err.contains("`tomorrow`") && err.contains("2026-11-15T13:40:10Z"), "{err}");
        assert_eq!(now_from("").unwrap().nanosecond(), 0);
    }

    proptest! {
        #[test]
        fn the_fast_path_agrees_with_chrono(seconds in 0_i64..253_402_300_800, nanoseconds in 0_u32..1_000_000_000) {
            let timestamp = DateTime::from_timestamp(seconds, nanoseconds).unwrap();
            let text = timestamp.format("%Y-%m-%dT%H:%M:%S%.9fZ").to_string();
            prop_assert_eq!(parse_utc(text.as_bytes()), Some(timestamp));
            prop_assert_eq!(parse(&stamp(timestamp)), Some(timestamp.trunc_subsecs(0)));
        }

        #[test]
        fn never_panics(text in "\\PC{0,40}") {
            parse(&text);
        }
    }
}
