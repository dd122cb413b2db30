//! Trust: whose words a page holds, judged by the device that wrote it.
//!
//! Pages of other devices arrive by `git pull`, and whoever may push can write anything into them.
//! Only sessions that were captured here, and those of devices that the person's own configuration
//! names (`[devices] trust`), speak for the person.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::ids::{Device, SessionId};

/// How much a device's pages are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Another device's, which nobody named: evidence with a name on it, and nothing more.
    Foreign,
    /// Another device's, which the person named.
    Trusted,
    /// Captured here.
    Own,
}

impl Standing {
    /// Whether “user” in such a page is the person whom the agent works for. Where it is not, the
    /// line is given as “on desk-1a2b somebody wrote …”, and an order in it is left out.
    pub fn speaks_for_person(self) -> bool {
        self > Standing::Foreign
    }
}

/// Which devices speak for the person. [`Memory::trust`](crate::Memory::trust) makes it.
///
/// Ask [`of_session`](Trust::of_session) wherever a line comes from a digest, an episode or a day;
/// [`of`](Trust::of) where only the device is known, as with a core; and
/// [`of_shared`](Trust::of_shared) for what stands in a page that all devices write, such as the
/// notes in MEMORY.md.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// What was captured here.
    own: OwnSessions,
    /// The names that this device has or had.
    names: BTreeSet<Device>,
    trusted: BTreeSet<Device>,
    /// The devices whose pages the memory holds, as the last sweep saw them.
    seen: BTreeSet<Device>,
}

impl Trust {
    /// The trust of a device with these names, which captured these sessions.
    pub fn new(
        names: impl IntoIterator<Item = Device>,
        own: OwnSessions,
        trusted: impl IntoIterator<Item = Device>,
        seen: impl IntoIterator<Item = Device>,
    ) -> Trust {
        let (trusted, seen) = (trusted.into_iter().collect(), seen.into_iter().collect());
        Trust { own, names: names.into_iter().collect(), trusted, seen }
    }

    /// How much the pages of a device are worth.
    pub fn of(&self, device: &Device) -> Standing {
        match (self.names.contains(device), self.trusted.contains(device)) {
            (true, _) => Standing::Own,
            (false, true) => Standing::Trusted,
            (false, false) => Standing::Foreign,
        }
    }

    /// Whether the person named a device.
    pub fn is_trusted(&self, device: &Device) -> bool {
        self.trusted.contains(device)
    }

    /// How much a session's pages are worth. A session in this device's name that was not captured
    /// here came from elsewhere, whatever it is called.
    pub fn of_session(&self, session: &SessionId) -> Standing {
        match (self.own.contains(session), self.trusted.contains(&session.device)) {
            (true, _) => Standing::Own,
            (false, true) => Standing::Trusted,
            (false, false) => Standing::Foreign,
        }
    }

    /// How much a page is worth that every device of the memory writes: as much as the least of
    /// them.
    pub fn of_shared(&self) -> Standing {
        self.seen.iter().map(|device| self.of(device)).min().unwrap_or(Standing::Own)
    }
}

/// The sessions that were captured here, by device: an adopted one keeps the name of another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnSessions {
    /// Running numbers, as ranges in order: there may be many thousands, and they follow each
    /// other.
    ranges: BTreeMap<Device, Vec<(u32, u32)>>,
}

impl OwnSessions {
    /// Whether a session was captured here.
    pub fn contains(&self, session: &SessionId) -> bool {
        let ranges = self.ranges.get(&session.device).into_iter().flatten();
        ranges.into_iter().any(|(first, last)| (*first..=*last).contains(&session.ordinal))
    }

    /// Notes a session; returns whether it is new.
    pub fn insert(&mut self, session: &SessionId) -> bool {
        if self.contains(session) {
            return false;
        }
        let ranges = self.ranges.entry(session.device.clone()).or_default();
        ranges.push((session.ordinal, session.ordinal));
        ranges.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges.drain(..) {
            match joined.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last)
                }
                _ => joined.push((first, last)),
            }
        }
        *ranges = joined;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(text: &str) -> SessionId {
        text.parse().unwrap()
    }

    #[test]
    fn only_what_was_captured_here_and_named_devices_speak_for_the_person() {
        let mut own = OwnSessions::default();
        own.insert(&session("SES1_desk_SP1C1"));
        own.insert(&session("SES1_gone_SP1C1"));
        let [desk, laptop, evil] = ["desk", "laptop", "evil"].map(Device::new);
        let trust = Trust::new([desk.clone()], own, [laptop.clone()], [desk, laptop.clone()]);
        for (id, standing) in [
            ("SES1_desk_SP1C1", Standing::Own),
            ("SES2_desk_SP1C1", Standing::Foreign),
            ("SES1_gone_SP1C1", Standing::Own),
            ("SES2_gone_SP1C1", Standing::Foreign),
            ("SES1_laptop_SP1C1", Standing::Trusted),
            ("SES1_evil_SP1C1", Standing::Foreign),
        ] {
            assert_eq!(trust.of_session(&session(id)), standing, "{id}");
        }
        assert_eq!(trust.of_shared(), Standing::Trusted);
        let seen = Trust { seen: [laptop, evil].into(), ..trust };
        assert_eq!(seen.of_shared(), Standing::Foreign);
        assert!(Standing::Trusted.speaks_for_person() && !Standing::Foreign.speaks_for_person());
    }

    #[test]
    fn numbers_that_follow_each_other_are_one_range() {
        let mut own = OwnSessions::default();
        let id = |ordinal| SessionId::new(Device::new("desk"), ordinal);
        for ordinal in [3, 1, 2, 9, 0, 10, 3] {
            assert_eq!(own.insert(&id(ordinal)), !(ordinal == 3 && own.contains(&id(10))));
        }
        assert_eq!(own.ranges[&Device::new("desk")], [(0, 3), (9, 10)]);
        assert!(!own.contains(&id(4)) && own.contains(&id(9)));
    }
}
