//! The environment: what a run takes from the machine besides the files that it reads.
//!
//! The time, the variables, the home directory, the current folder and the device's name are asked
//! for here, once, and handed down as values.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::adapters::Places;
use crate::base::clock::{self, Timestamp};
use crate::base::files;
use crate::error::{Error, Result};
use crate::model::ids::Device;

/// What a run knows of the machine and of who started it.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The time at which the run began.
    pub now: Timestamp,
    /// This machine's name in the memory; an open memory may know an earlier one, which stays.
    pub device: Device,
    /// Whether the person gave that name: then it is the one that counts.
    pub device_is_named: bool,
    /// What tells this machine from others: a hash, since it never changes.
    pub machine: String,
    /// The home directory and the variables.
    pub places: Places,
    /// The current folder.
    pub current_dir: PathBuf,
    /// The person's own settings, where they are not in the usual place.
    pub settings_file: Option<PathBuf>,
}

impl Environment {
    /// The environment of this process.
    pub fn of_process() -> Result<Environment> {
        let environment: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let home = environment
            .get("HOME")
            .or(environment.get("USERPROFILE"))
            .filter(|home| !home.is_empty())
            .map_or_else(|| PathBuf::from("."), PathBuf::from);
        let (device, machine, device_is_named) = device(&environment);
        Ok(Environment {
            now: now()?,
            device,
            device_is_named,
            machine,
            places: Places { home, environment },
            current_dir: std::env::current_dir().unwrap_or_default(),
            settings_file: None,
        })
    }

    /// The same at the present time.
    pub fn at_present(&self) -> Result<Environment> {
        Ok(Environment { now: now()?, ..self.clone() })
    }

    /// A variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.places.environment.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A path of the settings, in which `~` is the home directory.
    pub fn expand(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(below) => self.places.home.join(below),
            None if path == "~" => self.places.home.clone(),
            None => PathBuf::from(path),
        }
    }

    /// Where the person's own settings are, or would be.
    pub fn settings_path(&self) -> PathBuf {
        match (&self.settings_file, self.variable("XDG_CONFIG_HOME")) {
            (Some(file), _) => file.clone(),
            (None, Some(folder)) => PathBuf::from(folder).join("memtree/config.toml"),
            (None, None) => self.places.home.join(".config/memtree/config.toml"),
        }
    }
}

fn now() -> Result<Timestamp> {
    clock::now().map_err(|reason| Error::usage("cannot tell the time").because(reason))
}

/// The host's name and four digits of its machine id, or what `$MEMTREE_DEVICE` says; the hash of
/// the machine id; and whether a person chose the name.
fn device(environment: &BTreeMap<String, String>) -> (Device, String, bool) {
    let first_line =
        |path: &str| files::read_to_string(path).ok().map(|text| text.trim().to_string());
    let host = first_line("/etc/hostname")
        .filter(|host| !host.is_empty())
        .or_else(|| environment.get("HOSTNAME").cloned())
        .or_else(|| environment.get("COMPUTERNAME").cloned())
        .unwrap_or_else(|| "device".into());
    let host = host.split('.').next().unwrap_or(&host).to_string();
    let machine =
        first_line("/etc/machine-id").filter(|id| !id.is_empty()).unwrap_or_else(|| host.clone());
    let digits = &files::sha256_hex(machine.as_bytes())[..4];
    let named = environment.get("MEMTREE_DEVICE").filter(|name| !name.is_empty());
    let device =
        named.map_or_else(|| Device::new(&format!("{host}-{digits}")), |name| Device::new(name));
    // The id itself is to be kept to the machine, so a hash of it and a word of ours is used.
    let machine = files::sha256_hex(format!("memtree/machine/{machine}").as_bytes());
    (device, machine, named.is_some())
}
