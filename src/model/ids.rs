//! Names of things: sessions, episodes, devices.
//!
//! A session is `SES{n}_{Device}_SP{x}C{y}`: the n-th of eight in core y, one of eight in sphere x.
//! The three numbers are one running number in base eight, so "the next id" is plain counting.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How many sessions make a core, and how many cores a sphere.
pub const EIGHT: u32 = 8;

/// How long a device's name is at most.
const LONGEST_DEVICE: usize = 64;

/// One machine's name in the memory: letters, digits and hyphens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Device(String);

impl Device {
    /// Makes a device name of any text; what does not fit becomes a hyphen.
    pub fn new(text: &str) -> Device {
        let mut name = String::new();
        for c in text.chars().take(LONGEST_DEVICE) {
            if c.is_ascii_alphanumeric() {
                name.push(c);
            } else if !name.ends_with('-') {
                name.push('-');
            }
        }
        let name = name.trim_matches('-');
        Device(if name.is_empty() { "device" } else { name }.to_string())
    }

    /// Whether a text is a device's name as it stands.
    fn is_name(text: &str) -> bool {
        let fits = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let hyphens = text.starts_with('-') || text.ends_with('-') || text.contains("--");
        fits && !hyphens && (1..=LONGEST_DEVICE).contains(&text.len())
    }

    /// The name as it stands in ids.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A person's name in a team: letters, digits and hyphens, so that it is a folder's name
/// everywhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Person(String);

impl Person {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Person {
    type Err = String;

    fn from_str(text: &str) -> Result<Person, String> {
        match Device::is_name(text) {
            true => Ok(Person(text.to_string())),
            false => Err("a name has letters, digits and single hyphens, such as ana-b".into()),
        }
    }
}

impl From<Person> for String {
    fn from(person: Person) -> String {
        person.0
    }
}

impl TryFrom<String> for Person {
    type Error = String;

    fn try_from(text: String) -> Result<Person, String> {
        text.parse()
    }
}

/// The id of one captured session, such as `SES3_laptop_SP1C2`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SessionId {
    /// Whose session it is.
    pub device: Device,
    /// The running number on that device, from 0.
    pub ordinal: u32,
}

impl SessionId {
    /// The id with this running number.
    pub fn new(device: Device, ordinal: u32) -> SessionId {
        SessionId { device, ordinal }
    }

    /// The position within its core, 1 to 8.
    pub fn position(&self) -> u32 {
        self.ordinal % EIGHT + 1
    }

    /// The number of its core within the sphere, 1 to 8.
    pub fn core(&self) -> u32 {
        self.ordinal / EIGHT % EIGHT + 1
    }

    /// The number of its sphere, from 1.
    pub fn sphere(&self) -> u32 {
        self.ordinal / EIGHT / EIGHT + 1
    }
}

/// The id of a core: eight sessions of a device, such as `laptop_SP1C2`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CoreId {
    pub device: Device,
    /// The running number on that device, from 0.
    pub ordinal: u32,
}

impl CoreId {
    /// The core that a session belongs to.
    pub fn of(session: &SessionId) -> CoreId {
        CoreId { device: session.device.clone(), ordinal: session.ordinal / EIGHT }
    }

    /// Its eight sessions, in order.
    pub fn sessions(&self) -> impl Iterator<Item = SessionId> + '_ {
        (0..EIGHT).map(|at| SessionId::new(self.device.clone(), self.ordinal * EIGHT + at))
    }

    /// The sphere that it belongs to.
    pub fn sphere(&self) -> SphereId {
        SphereId { device: self.device.clone(), ordinal: self.ordinal / EIGHT }
    }
}

impl fmt::Display for CoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_SP{}C{}", self.device, self.ordinal / EIGHT + 1, self.ordinal % EIGHT + 1)
    }
}

impl FromStr for CoreId {
    type Err = String;

    fn from_str(text: &str) -> Result<CoreId, String> {
        // The first of its sessions has the same numbers.
        let first = format!("SES1_{text}").parse::<SessionId>();
        first
            .map(|first| CoreId::of(&first))
            .map_err(|_| format!("`{text}` is not a core such as laptop_SP1C2"))
    }
}

impl From<CoreId> for String {
    fn from(id: CoreId) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for CoreId {
    type Error = String;

    fn try_from(text: String) -> Result<CoreId, String> {
        text.parse()
    }
}

/// The id of a sphere: eight cores of a device, such as `laptop_SP1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SphereId {
    pub device: Device,
    /// The running number on that device, from 0.
    pub ordinal: u32,
}

impl SphereId {
    /// Its eight cores, in order.
    pub fn cores(&self) -> impl Iterator<Item = CoreId> + '_ {
        (0..EIGHT)
            .map(|at| CoreId { device: self.device.clone(), ordinal: self.ordinal * EIGHT + at })
    }
}

impl fmt::Display for SphereId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_SP{}", self.device, self.ordinal + 1)
    }
}

impl FromStr for SphereId {
    type Err = String;

    fn from_str(text: &str) -> Result<SphereId, String> {
        let first = format!("SES1_{text}C1").parse::<SessionId>();
        first
            .map(|first| CoreId::of(&first).sphere())
            .map_err(|_| format!("`{text}` is not a sphere such as laptop_SP1"))
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SES{}_{}_SP{}C{}", self.position(), self.device, self.sphere(), self.core())
    }
}

impl FromStr for SessionId {
    type Err = String;

    fn from_str(text: &str) -> Result<SessionId, String> {
        let parsed = (|| {
            let (position, rest) = text.strip_prefix("SES")?.split_once('_')?;
            let (device, place) = rest.rsplit_once("_SP")?;
            let (sphere, core) = place.split_once('C')?;
            let number = |digits: &str| {
                (!digits.starts_with(['0', '+'])).then(|| digits.parse::<u32>().ok()).flatten()
            };
            let (position, sphere, core) = (number(position)?, number(sphere)?, number(core)?);
            let fits = position <= EIGHT && core <= EIGHT && Device::is_name(device);
            let ordinal = (sphere - 1)
                .checked_mul(EIGHT * EIGHT)?
                .checked_add((core - 1) * EIGHT + position - 1)?;
            fits.then(|| SessionId::new(Device(device.to_string()), ordinal))
        })();
        parsed.ok_or_else(|| format!("`{text}` is not a session id such as SES3_laptop_SP1C2"))
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for SessionId {
    type Error = String;

    fn try_from(text: String) -> Result<SessionId, String> {
        text.parse()
    }
}

/// The number of an episode: `EP_001` is the first prompt, `EP_000` what came before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EpisodeId(pub u32);

impl fmt::Display for EpisodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EP_{:03}", self.0)
    }
}

impl FromStr for EpisodeId {
    type Err = String;

    fn from_str(text: &str) -> Result<EpisodeId, String> {
        text.strip_prefix("EP_")
            .filter(|digits| digits.len() >= 3 && digits.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|digits| digits.parse().ok())
            .map(EpisodeId)
            .ok_or_else(|| format!("`{text}` is not an episode such as EP_004"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_count_in_eights() {
        let id = |ordinal| SessionId::new(Device::new("laptop"), ordinal).to_string();
        assert_eq!(id(0), "SES1_laptop_SP1C1");
        assert_eq!(id(7), "SES8_laptop_SP1C1");
        assert_eq!(id(8), "SES1_laptop_SP1C2");
        assert_eq!(id(63), "SES8_laptop_SP1C8");
        assert_eq!(id(64), "SES1_laptop_SP2C1");
    }

    #[test]
    fn ids_are_read_back() {
        for ordinal in [0, 1, 7, 8, 63, 64, 511, 512, 100_000] {
            let id = SessionId::new(Device::new("my-laptop-7f3a"), ordinal);
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for bad in [
            "",
            "SES",
            "SES9_a_SP1C1",
            "SES0_a_SP1C1",
            "SES1_a_SP1C9",
            "SES1_a_SP0C1",
            "SES1_a/b_SP1C1",
            "SES1_.._SP1C1",
            "SES1__SP1C1",
            "SES01_a_SP1C1",
            "SES1_a_SP1C1x",
            "SES1_a_SP4294967295C8",
        ] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn cores_and_spheres_are_eights() {
        let id: SessionId = "SES3_my-laptop_SP2C5".parse().unwrap();
        let core = CoreId::of(&id);
        assert_eq!(core.to_string(), "my-laptop_SP2C5");
        assert_eq!(core.to_string().parse(), Ok(core.clone()));
        assert_eq!(core.sphere().to_string(), "my-laptop_SP2");
        assert_eq!("my-laptop_SP2".parse(), Ok(core.sphere()));
        let sessions: Vec<String> = core.sessions().map(|id| id.to_string()).collect();
        assert_eq!(
            (sessions[0].as_str(), sessions[7].as_str()),
            ("SES1_my-laptop_SP2C5", "SES8_my-laptop_SP2C5")
        );
        assert_eq!(core.sphere().cores().nth(4), Some(core));
        assert!("laptop".parse::<CoreId>().is_err() && "../x_SP1C1".parse::<CoreId>().is_err());
        assert!("laptop_SP1C1".parse::<SphereId>().is_err());
    }

    #[test]
    fn any_text_makes_a_device() {
        assert_eq!(Device::new("Ann's Laptop.local").as_str(), "Ann-s-Laptop-local");
        assert_eq!(Device::new("../..").as_str(), "device");
        let long = "x".repeat(LONGEST_DEVICE);
        for name in
            ["a", "my-laptop-7f3a", "-a", "a-", "a--b", "", "ü", "a b", &long, &format!("{long}x")]
        {
            assert_eq!(Device::is_name(name), Device::new(name).0 == name, "{name}");
        }
    }
}
