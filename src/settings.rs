//! The settings, put together once at an entry point: defaults, the memory's file, the user's own, the
//! environment, flags.
//!
//! `templates/memtree.toml` is both the documentation and the list of known keys. A memory's file
//! arrives by `git pull`, so keys that run a program or send text are not taken from it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::base::redact::Redactor;
use crate::base::size::Size;
use crate::base::zone::Zone;
use crate::base::{clock, text};
use crate::error::{Error, Result};

/// The settings file that `init` writes and `memtree config` prints.
pub const TEMPLATE: &str = include_str!("../templates/memtree.toml");

/// The newest format of the tree that this program knows.
pub const FORMAT: i64 = 1;

/// Keys that run a program, send text, spend money or name what is copied: only the user's own
/// configuration may set them.
const YOURS_ONLY: &[&str] = &[
    "open.editor",
    "summarizer",
    "models.base_url",
    "models.key_variable",
    "models.command",
    "models.daily_tokens",
    "models.daily_usd",
    "models.low_usd",
    "models.high_usd",
    "models.trust_prompts",
    FOLDERS,
    TRUST,
];

/// The folders that are kept. Words of theirs go into digests, which are synced, so a file that
/// came by `git pull` must not choose them.
const FOLDERS: &str = "folders";

/// The devices whose pages speak for the person. A memory that named them would vouch for itself.
const TRUST: &str = "devices.trust";

/// Tables whose keys are names that the user chooses.
const OPEN_TABLES: &[&str] = &["sources", "domains"];

/// Every setting.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Settings {
    pub format: i64,
    pub timezone: String,
    pub max_log_chars: usize,
    pub summarizer: Summarizer,
    pub sessions: SessionsSettings,
    pub snapshot: SnapshotSettings,
    pub context: ContextSettings,
    pub redact: RedactSettings,
    pub exclude: ExcludeSettings,
    pub folders: Vec<FolderSettings>,
    #[serde(default)]
    pub sources: BTreeMap<String, SourceSettings>,
    #[serde(default)]
    pub domains: BTreeMap<String, String>,
    pub retention: RetentionSettings,
    pub models: ModelsSettings,
    pub watch: WatchSettings,
    pub devices: DevicesSettings,
    pub open: OpenSettings,
}

/// When a session counts as over.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct SessionsSettings {
    pub open_minutes: u32,
    pub jsonl_log: bool,
}

/// What goes into a snapshot's readable parts.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct SnapshotSettings {
    pub inline_lines: usize,
    pub sensory_bytes: usize,
}

/// What an agent is given.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct ContextSettings {
    pub budget: usize,
    pub each_turn: bool,
}

/// The user's own secrets.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct RedactSettings {
    pub rules: Vec<RedactRule>,
}

/// One rule of [`Redact`].
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct RedactRule {
    pub name: String,
    pub pattern: String,
}

/// What is never captured.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct ExcludeSettings {
    pub projects: Vec<String>,
    pub folders: Vec<String>,
}

/// A folder that becomes a session when it has changed and lain still.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FolderSettings {
    pub path: String,
    pub objective: Option<String>,
    #[serde(default = "half_an_hour")]
    pub idle_minutes: u32,
}

/// Where to look for one agent's logs.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct SourceSettings {
    #[serde(default = "yes")]
    pub enabled: bool,
    pub root: Option<String>,
    pub glob: Option<String>,
}

/// Who adds prose to what memtree writes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Summarizer {
    Extractive,
    Command,
    OpenAi,
}

/// Which models there are, and what they may cost.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct ModelsSettings {
    pub low: String,
    pub high: String,
    pub base_url: String,
    pub key_variable: String,
    pub command: Vec<String>,
    pub daily_tokens: u64,
    pub daily_usd: f64,
    pub low_usd: Vec<f64>,
    pub high_usd: Vec<f64>,
    pub trust_prompts: bool,
    pub input_tokens: usize,
    pub timeout_seconds: u64,
    pub retry_seconds: u64,
}

/// How much of the sessions is kept in full.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct RetentionSettings {
    pub soft_cap: Size,
    pub hard_cap: Size,
    /// 0 is none.
    pub max_age_days: u32,
    pub distilled_cap: Size,
    /// 0 is never.
    pub jsonl_max_age_days: u32,
}

/// When `memtree watch` sweeps.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct WatchSettings {
    pub interval: String,
    pub debounce_seconds: u32,
    pub finalize_seconds: u32,
}

/// Which other devices speak for the person.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct DevicesSettings {
    pub trust: Vec<String>,
}

/// What `--open` starts.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct OpenSettings {
    pub editor: String,
}

fn yes() -> bool {
    true
}

fn half_an_hour() -> u32 {
    30
}

/// Where settings come from, handed in by an entry point.
#[derive(Debug, Default)]
pub struct Layers<'a> {
    /// The text of the memory's `memtree.toml`, with its path for messages.
    pub memory: Option<(&'a Path, &'a str)>,
    /// The text of the user's own configuration.
    pub user: Option<(&'a Path, &'a str)>,
    /// `MEMTREE_…` variables.
    pub environment: BTreeMap<String, String>,
}

impl Settings {
    /// Puts the layers together; the second value holds warnings for the user.
    pub fn load(layers: &Layers<'_>) -> Result<(Settings, Vec<String>)> {
        let known = defaults();
        let mut merged = known.clone();
        let mut warnings = Vec::new();
        if let Some((path, text)) = layers.memory {
            let mut table = read(path, text)?;
            for key in YOURS_ONLY {
                if take(&mut table, key).is_some() {
                    let why = match *key {
                        FOLDERS => "names what is copied, and words of it are synced",
                        TRUST => "says whose words count as yours",
                        _ => "runs a program, sends text or spends money",
                    };
                    warnings.push(format!(
                        "{}: `{key}` {why}, so it is ignored here; set it in ~/.config/memtree/config.toml",
                        path.display()
                    ));
                }
            }
            warn_of_unknown(path, &table, &known, &mut warnings);
            merge(&mut merged, table);
        }
        if let Some((path, text)) = layers.user {
            let table = read(path, text)?;
            warn_of_unknown(path, &table, &known, &mut warnings);
            merge(&mut merged, table);
        }
        for (key, default) in flat(&known) {
            // `sessions.open_minutes` is MEMTREE_SESSIONS_OPEN_MINUTES.
            let name = format!("MEMTREE_{}", key.to_uppercase().replace('.', "_"));
            if let Some(text) = layers.environment.get(&name) {
                put(&mut merged, &key, from_environment(&name, text, &default)?);
            }
        }
        let settings: Settings = merged.try_into().map_err(|err: toml::de::Error| {
            Error::new("cannot use the settings")
                .because(err.message())
                .hint("`memtree config` shows every setting with its default")
        })?;
        if settings.format > FORMAT {
            return Err(Error::new(format!(
                "this memory has format {}, newer than this program knows",
                settings.format
            ))
            .because(format!("memtree {} writes format {FORMAT}", env!("CARGO_PKG_VERSION")))
            .hint("install a newer memtree; nothing was changed"));
        }
        Ok((settings, warnings))
    }

    /// The time zone whose midnight parts the days.
    pub fn zone(&self) -> Result<Zone> {
        Zone::named(&self.timezone).ok_or_else(|| {
            let error = Error::new(format!("unknown time zone `{}`", self.timezone));
            match text::nearest(&self.timezone, Zone::names()) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint("use a name such as `UTC` or `Europe/Paris`"),
            }
        })
    }

    /// Finds secrets, by the rules that are built in and the person's own.
    pub fn redactor(&self) -> Result<Redactor> {
        let rules = self.redact.rules.iter();
        let rules: Vec<_> = rules.map(|rule| (rule.name.clone(), rule.pattern.clone())).collect();
        Redactor::with_rules(&rules)
            .map_err(|reason| Error::new("cannot use the setting `redact.rules`").because(reason))
    }

    /// How long a watch waits for its next sweep when nothing changes.
    pub fn watch_interval(&self) -> Result<Duration> {
        clock::parse_interval(&self.watch.interval).ok_or_else(|| {
            Error::new("cannot use the setting `watch.interval`")
                .because(format!("`{}` is no length of time", self.watch.interval))
                .hint("write minutes, hours or days: `30m`, `12h`, `1d`")
        })
    }
}

/// The template with every setting's `#` taken away.
fn defaults() -> Table {
    let live: Vec<&str> = TEMPLATE
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_lowercase()) => rest,
            _ => line,
        })
        .collect();
    let mut table: Table = live.join("\n").parse().expect("templates/memtree.toml is valid TOML");
    // The template shows examples; the default is none.
    for key in ["redact.rules", "exclude.projects", "exclude.folders", FOLDERS] {
        put(&mut table, key, Value::Array(Vec::new()));
    }
    table
}

fn read(path: &Path, text: &str) -> Result<Table> {
    text.parse::<Table>().map_err(|err| {
        let line = err
            .span()
            .map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        Error::new(format!("cannot read the settings `{}`", path.display()))
            .because(format!("line {line}: {}", err.message()))
            .hint("`memtree config` shows every setting with its default")
    })
}

fn warn_of_unknown(path: &Path, table: &Table, known: &Table, warnings: &mut Vec<String>) {
    let names: Vec<String> = flat(known).into_iter().map(|(key, _)| key).collect();
    for (key, _) in flat(table) {
        let root = key.split('.').next().unwrap_or_default();
        if names.contains(&key) || OPEN_TABLES.contains(&root) {
            continue;
        }
        let near = text::nearest(&key, names.iter().map(String::as_str));
        warnings.push(match near {
            Some(near) => {
                format!("{}: unknown setting `{key}`; did you mean `{near}`?", path.display())
            }
            None => format!("{}: unknown setting `{key}`", path.display()),
        });
    }
}

/// Every key with its path, `sessions.open_minutes`.
fn flat(table: &Table) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => {
                all.extend(
                    flat(inner).into_iter().map(|(name, value)| (format!("{key}.{name}"), value)),
                );
            }
            value => all.push((key.clone(), value.clone())),
        }
    }
    all
}

fn merge(into: &mut Table, from: Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(into)), Value::Table(from)) => merge(into, from),
            (_, value) => drop(into.insert(key, value)),
        }
    }
}

fn put(table: &mut Table, path: &str, value: Value) {
    match path.split_once('.') {
        None => drop(table.insert(path.to_string(), value)),
        Some((head, rest)) => {
            let inner = table.entry(head).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

fn take(table: &mut Table, path: &str) -> Option<Value> {
    match path.split_once('.') {
        None => table.remove(path),
        Some((head, rest)) => take(table.get_mut(head)?.as_table_mut()?, rest),
    }
}

fn from_environment(name: &str, text: &str, default: &Value) -> Result<Value> {
    let wrong = |kind: &str| Error::usage(format!("`{name}` should be {kind}, but is `{text}`"));
    Ok(match default {
        Value::Integer(_) => Value::Integer(text.parse().map_err(|_| wrong("a number"))?),
        Value::Boolean(_) => Value::Boolean(text.parse().map_err(|_| wrong("true or false"))?),
        Value::Float(_) => Value::Float(text.parse().map_err(|_| wrong("a number"))?),
        Value::String(_) => Value::String(text.to_string()),
        Value::Array(_) => {
            text.parse::<Value>().ok().filter(Value::is_array).ok_or_else(|| wrong("a list"))?
        }
        _ => return Err(wrong("set in a file")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(memory: &str, user: &str) -> Result<(Settings, Vec<String>)> {
        Settings::load(&Layers {
            memory: Some((Path::new("m.toml"), memory)),
            user: Some((Path::new("u.toml"), user)),
            environment: BTreeMap::new(),
        })
    }

    #[test]
    fn every_setting_has_a_default() {
        let (config, warnings) = Settings::load(&Layers::default()).unwrap();
        assert_eq!((config.format, config.timezone.as_str()), (1, "UTC"));
        assert_eq!(config.sessions.open_minutes, 30);
        assert_eq!(config.watch_interval().unwrap(), Duration::from_secs(12 * 3600));
        assert!(config.redact.rules.is_empty() && config.sources.is_empty() && warnings.is_empty());
    }

    #[test]
    fn the_template_itself_changes_nothing() {
        let (_, warnings) = load(TEMPLATE, TEMPLATE).unwrap();
        assert_eq!(warnings, Vec::<String>::new());
    }

    #[test]
    fn later_layers_win_and_unknown_keys_are_named() {
        let (config, warnings) = load(
            "timezone = \"Asia/Tokyo\"\n[sessions]\nopen_minuts = 5",
            "[sessions]\nopen_minutes = 9",
        )
        .unwrap();
        assert_eq!(config.timezone, "Asia/Tokyo");
        assert_eq!(config.sessions.open_minutes, 9);
        assert_eq!(
            warnings,
            [
                "m.toml: unknown setting `sessions.open_minuts`; did you mean `sessions.open_minutes`?"
            ]
        );
    }

    #[test]
    fn a_memory_cannot_run_programs() {
        let (config, warnings) = load("[open]\neditor = \"evil\"", "").unwrap();
        assert_eq!(config.open.editor, "");
        assert!(warnings[0].contains("runs a program"), "{warnings:?}");
        let (config, _) = load("", "[open]\neditor = \"vim\"").unwrap();
        assert_eq!(config.open.editor, "vim");
    }

    #[test]
    fn only_the_person_names_folders_to_keep() {
        let folders =
            "[[folders]]\npath = \"~/notes\"\n[[folders]]\npath = \"/srv/x\"\nidle_minutes = 5\n";
        let (config, warnings) = load("", folders).unwrap();
        let named: Vec<(&str, u32)> =
            config.folders.iter().map(|one| (one.path.as_str(), one.idle_minutes)).collect();
        assert_eq!((named, warnings), (vec![("~/notes", 30), ("/srv/x", 5)], vec![]));
        let (config, warnings) = load(folders, "").unwrap();
        assert!(
            config.folders.is_empty() && warnings[0].contains("words of it are synced"),
            "{warnings:?}"
        );
        let wrong = load("", "[[folders]]\npath = \"x\"\nidle_minuts = 5").unwrap_err();
        assert!(wrong.causes()[0].contains("idle_minuts"), "{wrong}");
    }

    #[test]
    fn bad_settings_are_clear_errors() {
        assert!(load("format = 99", "").unwrap_err().what().contains("format 99"));
        assert!(load("timezone = 3", "").is_err());
        let broken = load("a = [", "").unwrap_err();
        assert!(broken.causes()[0].starts_with("line 1"), "{broken}");
        let (config, _) = load("timezone = \"Europe/Pariss\"", "").unwrap();
        assert_eq!(config.zone().unwrap_err().next_step(), Some("did you mean `Europe/Paris`?"));
        let (config, _) = load("[watch]\ninterval = \"soon\"", "").unwrap();
        assert_eq!(config.watch_interval().unwrap_err().causes(), ["`soon` is no length of time"]);
    }
}
