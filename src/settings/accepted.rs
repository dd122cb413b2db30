//! Accepted settings: what of a memory's `memtree.toml` is in force on this device.
//!
//! The file arrives by `git pull`, so it only claims. A value counts once it was accepted here;
//! until then the accepted one stays in force, and where none was, the default.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::base::shell;

/// What was decided on this device, by key: `exclude.projects`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Accepted {
    /// The values in force; a key that is missing has its default.
    values: BTreeMap<String, Value>,
    /// What the file said when it was rejected; `None` where the key was missing. It is not asked
    /// about again while it says the same.
    #[serde(default)]
    rejected: BTreeMap<String, Option<Value>>,
}

/// A value of the file that is not in force, because nobody accepted it here.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitingSetting {
    pub key: String,
    /// What the file says; `None` where it says nothing any more.
    pub value: Option<Value>,
    /// What is in force instead; `None` where there is nothing.
    pub in_force: Option<Value>,
    /// The command that accepts it.
    pub accept: String,
}

impl WaitingSetting {
    /// It in one line: what the file says, and what holds.
    pub fn shown(&self) -> String {
        let said = self.value.as_ref().map_or("no value".to_string(), short);
        let holds = self.in_force.as_ref().map_or("no value".to_string(), short);
        format!("{}: {said} in memtree.toml, {holds} in force", self.key)
    }
}

/// How long a value may be where it is shown in a line.
const LONGEST: usize = 120;

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

impl Accepted {
    /// All of a file: what stood there when this device had already used it.
    pub fn all_of(file: &Table) -> Accepted {
        Accepted { values: flat(file).into_iter().collect(), rejected: BTreeMap::new() }
    }

    /// The accepted values as a file of settings.
    pub fn to_table(&self) -> Table {
        let mut table = Table::new();
        for (key, value) in &self.values {
            put(&mut table, &path(key), value.clone());
        }
        table
    }

    /// What a file says otherwise than was accepted. Keys that are set elsewhere are of no
    /// consequence, and those that nobody knows have none.
    pub fn waiting(
        &self,
        file: &Table,
        defaults: &Table,
        is_of_consequence: impl Fn(&str) -> bool,
    ) -> Vec<WaitingSetting> {
        let file: BTreeMap<String, Value> = flat(file).into_iter().collect();
        let defaults: BTreeMap<String, Value> = flat(defaults).into_iter().collect();
        let keys: BTreeSet<&String> = file.keys().chain(self.values.keys()).collect();
        let mut waiting = Vec::new();
        for key in keys.into_iter().filter(|key| is_of_consequence(key)) {
            let said = file.get(key);
            let in_force = self.values.get(key).or(defaults.get(key));
            let is_rejected = self.rejected.get(key).is_some_and(|then| then.as_ref() == said);
            if said.or(defaults.get(key)) != in_force && !is_rejected {
                waiting.push(WaitingSetting {
                    key: key.clone(),
                    value: said.cloned(),
                    in_force: in_force.cloned(),
                    accept: format!("memtree config accept {}", in_shell(key)),
                });
            }
        }
        waiting
    }

    /// The same with a value in force.
    pub fn accept(&mut self, setting: &WaitingSetting) {
        self.rejected.remove(&setting.key);
        match &setting.value {
            Some(value) => drop(self.values.insert(setting.key.clone(), value.clone())),
            None => drop(self.values.remove(&setting.key)),
        }
    }

    /// The same with a value turned down, until the file says something else.
    pub fn reject(&mut self, setting: &WaitingSetting) {
        self.rejected.insert(setting.key.clone(), setting.value.clone());
    }
}

/// Every key with its path, as TOML writes it: `sessions.open_minutes`, `domains."a.b"`.
pub fn flat(table: &Table) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for (key, value) in table {
        let key = quoted(key);
        match value {
            Value::Table(inner) => {
                let inner = flat(inner).into_iter();
                all.extend(inner.map(|(name, value)| (format!("{key}.{name}"), value)));
            }
            value => all.push((key, value.clone())),
        }
    }
    all
}

/// A part of a key; in quotes where it is no plain word.
fn quoted(part: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !part.is_empty() && part.chars().all(is_plain) {
        true => part.to_string(),
        false => Value::String(part.to_string()).to_string(),
    }
}

/// The parts of a key.
fn path(key: &str) -> Vec<String> {
    let Ok(mut table) = format!("{key} = 0").parse::<Table>() else { return vec![key.into()] };
    let mut parts = Vec::new();
    while let Some((part, value)) = table.into_iter().next() {
        parts.push(part);
        let Value::Table(inner) = value else { break };
        table = inner;
    }
    parts
}

fn put(table: &mut Table, path: &[String], value: Value) {
    match path {
        [] => {}
        [last] => drop(table.insert(last.clone(), value)),
        [first, rest @ ..] => {
            let inner = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// A key as a shell takes it.
fn in_shell(key: &str) -> String {
    shell::word(key, "._-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        text.parse().unwrap()
    }

    fn keys(waiting: &[WaitingSetting]) -> Vec<&str> {
        waiting.iter().map(|one| one.key.as_str()).collect()
    }

    #[test]
    fn what_differs_waits_until_it_is_accepted_or_rejected() {
        let defaults = table("timezone = 'UTC'\n[exclude]\nprojects = []");
        let mut accepted = Accepted::default();
        let file = table("timezone = 'UTC'\n[exclude]\nprojects = ['a']\n[domains]\n'x.y' = 'z'");
        let waiting =
            |accepted: &Accepted, file: &Table| accepted.waiting(file, &defaults, |_| true);
        let all = waiting(&accepted, &file);
        assert_eq!(keys(&all), ["domains.\"x.y\"", "exclude.projects"]);
        assert_eq!(all[0].accept, "memtree config accept 'domains.\"x.y\"'");
        assert_eq!(all[1].shown(), "exclude.projects: [\"a\"] in memtree.toml, [] in force");
        accepted.accept(&all[0]);
        assert_eq!(accepted.to_table(), table("[domains]\n'x.y' = 'z'"));
        accepted.reject(&all[1]);
        assert_eq!(keys(&waiting(&accepted, &file)), Vec::<&str>::new());
        let other = table("[exclude]\nprojects = ['b']\n");
        let all = waiting(&accepted, &other);
        assert_eq!(keys(&all), ["domains.\"x.y\"", "exclude.projects"]);
        // Removing a line is a claim like any other.
        assert_eq!((&all[0].value, &all[1].in_force), (&None, &Some(Value::Array(vec![]))));
        accepted.accept(&all[0]);
        assert_eq!(accepted.to_table(), Table::new());
        assert_eq!(accepted.waiting(&other, &defaults, |key| key != "exclude.projects"), []);
    }

    #[test]
    fn accepted_values_are_kept_as_json() {
        let file = table("a = 1\nb = [{ name = 'x', pattern = '(?s).+' }]\n[c]\nd = 1.5\ne = true");
        let accepted = Accepted::all_of(&file);
        let json = serde_json::to_string(&accepted).unwrap();
        let back: Accepted = serde_json::from_str(&json).unwrap();
        assert_eq!((back.to_table(), back), (file, accepted));
    }
}
