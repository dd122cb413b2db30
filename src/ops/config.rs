//! Decisions on settings: what of a memory's file is accepted on this device, and which devices the
//! person trusts.
//!
//! The first is noted below `.memtree/local`. The second stands in the person's own configuration,
//! which is theirs: comments, order and every other line stay as they are.

use std::path::{Path, PathBuf};

use serde::Serialize;
use toml_edit::{Array, DocumentMut, Item, Table, Value};

use crate::base::text;
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::model::ids::{Device, Person};
use crate::ops::own_settings::{self, Changed};
use crate::settings;
use crate::settings::accepted::{Accepted, WaitingSetting};

/// What a person says of a setting that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Accept,
    Reject,
}

/// What was decided.
#[derive(Debug, Serialize)]
pub struct DecideReport {
    pub decided: Vec<WaitingSetting>,
    /// What still waits.
    pub waiting: Vec<WaitingSetting>,
}

impl Memory {
    /// Accepts or rejects what waits in the memory's file: the keys that are named, with all below
    /// them, or everything.
    pub fn decide_on_settings(
        &self,
        keys: Option<&[String]>,
        decision: Decision,
    ) -> Result<DecideReport> {
        let is_meant = |setting: &WaitingSetting, key: &String| {
            let below = setting.key.strip_prefix(key.as_str());
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let waiting = self.waiting_settings().iter().cloned();
        let (decided, waiting): (Vec<_>, Vec<_>) = waiting.partition(|setting| {
            keys.is_none_or(|keys| keys.iter().any(|key| is_meant(setting, key)))
        });
        let is_unused = |key: &&String| !decided.iter().any(|setting| is_meant(setting, key));
        if let Some(unused) = keys.into_iter().flatten().find(is_unused) {
            return Err(Error::usage(format!("the setting `{unused}` does not wait"))
                .hint("`memtree config accept` alone lists what does"));
        }
        let decide = match decision {
            Decision::Accept => Accepted::accept,
            Decision::Reject => Accepted::reject,
        };
        self.decide_settings(decide, &decided)?;
        Ok(DecideReport { decided, waiting })
    }
}

impl Memory {
    /// Whether anything of this memory comes from a device.
    pub fn knows_device(&self, device: &Device) -> bool {
        let sessions = self.store().session_ids().unwrap_or_default();
        device == self.device() || sessions.iter().any(|id| id.device == *device)
    }
}

/// A setting that was written into the person's own configuration.
#[derive(Debug, Serialize)]
pub struct SetReport {
    pub file: PathBuf,
    pub key: String,
    pub value: String,
    /// Whether anything had to be written.
    pub changed: bool,
}

/// Writes a setting into the person's own configuration.
pub fn set_own(environment: &Environment, key: &str, value: &str) -> Result<SetReport> {
    if !settings::is_setting(key) {
        return Err(Error::usage(format!("there is no setting `{key}`"))
            .hint("`memtree config` lists them all"));
    }
    let typed = settings::value_of(key, value);
    let path = environment.settings_path();
    if key == "team.name" && !value.is_empty() {
        value.parse::<Person>().map_err(|why| no_value(key, value, why))?;
    }
    let done = own_settings::change(environment, |before| {
        let text = with_setting(before, key, in_toml(&typed)?)?;
        // What cannot be used would stop every other command.
        settings::check_own(&path, &text)
            .map_err(|err| [vec![err.what().to_string()], err.causes()].concat().join(": "))?;
        Ok((text, ()))
    });
    // A value that nothing can be done with is no fault of the file.
    let Changed { file, changed, .. } =
        done.map_err(|err| wrong_value(&path, key, value, &typed).unwrap_or(err))?;
    Ok(SetReport { file, key: key.to_string(), value: value.to_string(), changed })
}

/// What is wrong with a value that the setting cannot have, whatever else stands in the file.
fn wrong_value(path: &Path, key: &str, value: &str, typed: &toml::Value) -> Option<Error> {
    let alone = in_toml(typed).and_then(|typed| with_setting("", key, typed));
    let err = match alone {
        Err(why) => return Some(no_value(key, value, why)),
        Ok(alone) => settings::check_own(path, &alone).err()?,
    };
    // The way in which it is read says nothing to a person.
    let why = err.causes().into_iter().find(|why| !why.contains("untagged enum"));
    Some(no_value(key, value, why.unwrap_or_else(|| "it means nothing there".into())))
}

fn no_value(key: &str, value: &str, why: String) -> Error {
    let error = Error::usage(format!("`{}` is no value of `{key}`", text::one_line(value, 80)));
    let hint = match settings::allowed(key) {
        Some(allowed) => format!("it takes {allowed}; nothing was changed"),
        None => "`memtree config` says what each setting means; nothing was changed".into(),
    };
    error.because(why).hint(hint)
}

/// A value as `toml_edit` has it.
fn in_toml(value: &toml::Value) -> Result<Value, String> {
    value.to_string().parse().map_err(|err| format!("{err}"))
}

/// The configuration with a setting in it; every other line stays.
fn with_setting(text: &str, key: &str, value: Value) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|err| format!("{err}"))?;
    let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
    let (tables, name) = key.rsplit_once('.').map_or(("", key), |found| found);
    for part in tables.split('.').filter(|part| !part.is_empty()) {
        let item = table.entry(part).or_insert_with(|| Item::Table(Table::new()));
        table = item.as_table_like_mut().ok_or_else(|| format!("`{part}` is no table"))?;
    }
    table.insert(name, Item::Value(value));
    Ok(document.to_string())
}

/// What a person says of another device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Trust,
    Distrust,
}

/// What became of it.
#[derive(Debug, Serialize)]
pub struct TrustReport {
    /// The file that was changed, or would have been.
    pub file: PathBuf,
    pub device: Device,
    /// Whether anything had to be written.
    pub changed: bool,
    /// All devices that are trusted now.
    pub trust: Vec<String>,
    /// Whether this memory has never seen a device of that name, where there is a memory.
    pub is_unknown: bool,
}

/// Writes into the person's own configuration whether a device is trusted.
pub fn judge_device(
    environment: &Environment,
    name: &str,
    verdict: Verdict,
) -> Result<TrustReport> {
    let device = Device::new(name);
    if device.as_str() != name {
        return Err(Error::usage(format!("`{name}` is no device's name"))
            .hint("a name has letters, digits and hyphens; `memtree doctor` lists the devices"));
    }
    let Changed { file, changed, outcome: trust } =
        own_settings::change(environment, |before| judged(before, &device, verdict))?;
    Ok(TrustReport { file, device, changed, trust, is_unknown: false })
}

/// The configuration with the verdict in it, and who is trusted then.
fn judged(text: &str, device: &Device, verdict: Verdict) -> Result<(String, Vec<String>), String> {
    let mut document: DocumentMut = text.parse().map_err(|err| format!("{err}"))?;
    let devices = document.entry("devices").or_insert_with(|| Item::Table(Table::new()));
    let devices = devices.as_table_like_mut().ok_or("`devices` is no table")?;
    let trust = devices.entry("trust").or_insert_with(|| Item::Value(Value::Array(Array::new())));
    let trust = trust.as_array_mut().ok_or("`devices.trust` is no list")?;
    let is_it = |value: &Value| value.as_str() == Some(device.as_str());
    let there = trust.iter().any(is_it);
    match verdict {
        Verdict::Trust if !there => trust.push(device.as_str()),
        Verdict::Distrust if there => trust.retain(|value| !is_it(value)),
        _ => {}
    }
    let names = trust.iter().filter_map(Value::as_str).map(str::to_string).collect();
    // Nothing to say is not written down, so that a file without such a list stays without one.
    let is_news = there != (verdict == Verdict::Trust);
    Ok((if is_news { document.to_string() } else { text.to_string() }, names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_written_around_everything_else() {
        let set = |text: &str, key: &str, value: &str| {
            with_setting(text, key, value.parse::<Value>().unwrap_or_else(|_| Value::from(value)))
        };
        assert_eq!(set("", "sync.episodes", "true").unwrap(), "[sync]\nepisodes = true\n");
        let text =
            set("# mine\n[sync]\nepisodes = true # yes\n", "sync.episodes", "false").unwrap();
        assert!(text.starts_with("# mine\n[sync]\nepisodes = false"), "{text}");
        assert_eq!(set("", "timezone", "Europe/Paris").unwrap(), "timezone = \"Europe/Paris\"\n");
        assert!(set("sync = 3", "sync.episodes", "true").is_err());
    }

    #[test]
    fn a_verdict_keeps_every_other_line_of_the_file() {
        let [lap, desk] = ["lap-7f3a", "desk-1"].map(Device::new);
        let (text, trust) = judged("", &lap, Verdict::Trust).unwrap();
        assert_eq!(text, "[devices]\ntrust = [\"lap-7f3a\"]\n");
        assert_eq!(trust, ["lap-7f3a"]);
        let before = "# mine\ntimezone = 'UTC' # home\n\n[devices]\n# the two\ntrust = [ \"lap-7f3a\" ]\n\n[open]\neditor = \"vim\"\n";
        let (text, _) = judged(before, &desk, Verdict::Trust).unwrap();
        assert_eq!(text, before.replace("\"lap-7f3a\" ]", "\"lap-7f3a\" , \"desk-1\"]"));
        let (again, _) = judged(&text, &desk, Verdict::Trust).unwrap();
        assert_eq!(again, text);
        let (without, trust) = judged(&text, &lap, Verdict::Distrust).unwrap();
        assert!(without.starts_with("# mine\ntimezone = 'UTC' # home\n") && trust == ["desk-1"]);
        assert_eq!(judged(before, &desk, Verdict::Distrust).unwrap().0, before);
        assert_eq!(judged("", &desk, Verdict::Distrust).unwrap().0, "");
        assert!(judged("devices = 3", &desk, Verdict::Trust).is_err());
        assert!(judged("a = [", &desk, Verdict::Trust).is_err());
    }
}
