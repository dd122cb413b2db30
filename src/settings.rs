//! The settings, put together once at an entry point: defaults, the memory's file, the user's own,
//! the environment, flags.
//!
//! `templates/memtree.toml` is both the documentation and the list of known keys. A memory's file
//! arrives by `git pull`, so keys that run a program or send text are not taken from it, and the
//! others only once they were [accepted] on this device.

pub mod accepted;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use accepted::{Accepted, WaitingSetting, flat};

use crate::base::redact::Redactor;
use crate::base::size::Size;
use crate::base::zone::Zone;
use crate::base::{clock, text};
use crate::error::{Error, Result};
use crate::model::pattern::Thresholds;

/// The settings file that `init` writes and `memtree config` prints.
pub const TEMPLATE: &str = include_str!("../templates/memtree.toml");

/// The newest format of the tree that this program knows.
pub const FORMAT: i64 = 2;

/// A memory's settings with the format of today; everything else of the file stays as it is.
pub fn with_format(text: &str) -> String {
    let line = format!("format = {FORMAT}");
    let is_format =
        |line: &str| line.split_once('=').is_some_and(|(key, _)| key.trim_end() == "format");
    let mut found = false;
    let mut lines: Vec<&str> = Vec::new();
    for one in text.split('\n') {
        // Keys behind a table's heading are the table's.
        let is_top = !lines.iter().any(|before| before.starts_with('['));
        match is_format(one) && is_top && !found {
            true => {
                lines.push(&line);
                found = true;
            }
            false => lines.push(one),
        }
    }
    if !found {
        lines.insert(0, &line);
    }
    lines.join("\n")
}

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
    "embeddings.base_url",
    "embeddings.model",
    "embeddings.key_variable",
    "embeddings.search_ms",
    "embeddings.sweep_seconds",
    "embeddings.timeout_seconds",
    "embeddings.most_chunks",
    "embeddings.daily_tokens",
    "embeddings.daily_usd",
    "embeddings.usd",
    "review.sink",
    "retro.publish",
    FOLDERS,
    RAW,
    TRUST,
    TEAM,
];

/// The folders that are kept. Words of theirs go into digests, which are synced, so a file that
/// came by `git pull` must not choose them.
const FOLDERS: &str = "folders";

/// Whether raw travels. It is not redacted, so nobody else may send it away.
const RAW: &str = "sync.raw";

/// The devices whose pages speak for the person. A memory that named them would vouch for itself.
const TRUST: &str = "devices.trust";

/// Whose memories are read beside one's own, and what others get of it.
const TEAM: &str = "team";

/// The version of the tree's format, in a memory's file.
const FORMAT_KEY: &str = "format";

/// How long a file of settings may be.
const LONGEST_FILE: usize = 1 << 20;

/// What other programs call settings that we have, and what they are called here.
const OLD_NAMES: &[(&str, &str)] = &[
    ("raw_soft_cap_bytes", "retention.soft_cap"),
    ("raw_hard_cap_bytes", "retention.hard_cap"),
    ("raw_max_age_days", "retention.max_age_days"),
    ("distilled_cap_bytes", "retention.distilled_cap"),
    ("cadence", "watch.interval"),
    ("repo_domain_map", "domains"),
    ("db_path", "--store"),
    ("blob_dir", "--store"),
    ("cursor", "--store"),
];

/// Tables whose keys are names that the user chooses.
const OPEN_TABLES: &[&str] = &["sources", "domains", "team.people"];

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
    pub embeddings: EmbeddingsSettings,
    pub watch: WatchSettings,
    pub sync: SyncSettings,
    pub detect: Thresholds,
    pub review: ReviewSettings,
    pub distribute: DistributeSettings,
    pub measure: MeasureSettings,
    pub retro: RetroSettings,
    pub devices: DevicesSettings,
    pub team: TeamSettings,
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

/// Who makes vectors of texts, and how much of that.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct EmbeddingsSettings {
    pub base_url: String,
    pub model: String,
    pub key_variable: String,
    pub search_ms: u64,
    pub sweep_seconds: u64,
    pub timeout_seconds: u64,
    pub most_chunks: usize,
    pub daily_tokens: u64,
    pub daily_usd: f64,
    pub usd: f64,
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

/// How the memory travels.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct SyncSettings {
    pub episodes: Episodes,
    pub raw: RawSync,
    pub debounce_seconds: u32,
}

/// Whether the readable parts of sessions travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Episodes {
    Decided(bool),
    OnEachDevice(Ask),
}

/// Whether raw travels, and how: `true` is through Git LFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum RawSync {
    Decided(bool),
    Without(Plain),
}

/// As any other file of git's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Plain {
    Plain,
}

/// What was said on each device counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ask {
    Ask,
}

/// What the gate lets through, and who hears of decisions.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct ReviewSettings {
    pub min_frequency: u64,
    pub min_sessions: usize,
    pub min_cost: u64,
    pub ready_frequency: u64,
    pub ready_cross_flavor: bool,
    pub sink: Vec<String>,
}

/// How much goes into files of instructions.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct DistributeSettings {
    pub budget: usize,
}

/// When there is enough to judge by.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct MeasureSettings {
    pub min_sessions: u64,
}

/// Who gets the retrospective.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct RetroSettings {
    pub publish: Vec<String>,
}

/// Which other devices speak for the person.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct DevicesSettings {
    pub trust: Vec<String>,
}

/// Other people's memories, and what they get of one's own.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct TeamSettings {
    pub name: String,
    pub repository: String,
    pub share: Vec<String>,
    #[serde(default)]
    pub people: BTreeMap<String, String>,
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
    /// Why nothing of that file could be read, where something is there.
    pub unread: Option<&'a str>,
    /// The text of the user's own configuration.
    pub user: Option<(&'a Path, &'a str)>,
    /// `MEMTREE_…` variables.
    pub environment: BTreeMap<String, String>,
    /// What of the memory's file was accepted here; without it, all of it counts.
    pub accepted: Option<&'a Accepted>,
    /// Whether this device has used the memory before: then a file that cannot be read, or that
    /// claims to be of a newer format, does not keep it from going on.
    pub is_known: bool,
}

/// The settings, and what there is to say of them.
#[derive(Debug)]
pub struct Loaded {
    pub settings: Settings,
    /// What is wrong without being an error, in sentences.
    pub warnings: Vec<String>,
    /// What the memory's file says and nobody accepted here.
    pub waiting: Vec<WaitingSetting>,
}

impl Settings {
    /// Puts the layers together.
    pub fn load(layers: &Layers<'_>) -> Result<Loaded> {
        let known = defaults();
        let mut merged = known.clone();
        let (mut warnings, mut waiting) = (Vec::new(), Vec::new());
        let user = layers.user.map(|(path, text)| read(path, text)).transpose()?;
        if let Some((path, text)) = layers.memory {
            let (table, unread) = memory_table(layers, path, text)?;
            warnings.extend(unread);
            let table = claims(path, table, &known, &mut warnings);
            let own = flat(user.as_ref().unwrap_or(&Table::new()));
            let is_set_elsewhere = |key: &str| {
                own.iter().any(|(name, _)| name == key)
                    || layers.environment.contains_key(&variable(key))
            };
            match layers.accepted {
                Some(accepted) => {
                    let is_claim = |key: &str| is_known(key, &known) && !is_set_elsewhere(key);
                    waiting = accepted.waiting(&table, &known, is_claim);
                    waiting.retain(|one| one.key != FORMAT_KEY || is_newer(one.value.as_ref()));
                    merge(&mut merged, accepted.to_table());
                    if let Some(format) = table.get(FORMAT_KEY).filter(|_| !layers.is_known) {
                        merged.insert(FORMAT_KEY.into(), format.clone());
                    }
                }
                None => merge(&mut merged, table),
            }
        }
        if let (Some((path, _)), Some(table)) = (layers.user, user) {
            warn_of_unknown(path, &table, &known, &mut warnings);
            merge(&mut merged, table);
        }
        for (key, default) in flat(&known) {
            let name = variable(&key);
            if let Some(text) = layers.environment.get(&name) {
                put(&mut merged, &key, from_environment(&name, text, &default)?);
            }
        }
        let settings: Settings = merged.clone().try_into().map_err(|err: toml::de::Error| {
            let wrong = wrong_setting(&merged, &known);
            let what = match &wrong {
                Some((key, value)) => format!("cannot use the setting `{key} = {value}`"),
                None => "cannot use the settings".to_string(),
            };
            let file = match (layers.user, wrong) {
                (Some((path, text)), Some((key, _)))
                    if read(path, text)
                        .is_ok_and(|own| flat(&own).iter().any(|it| it.0 == key)) =>
                {
                    format!("it stands in `{}`; ", path.display())
                }
                _ => String::new(),
            };
            Error::new(what)
                .because(err.message())
                .hint(format!("{file}`memtree config` shows every setting with its default"))
        })?;
        if settings.format > FORMAT {
            return Err(Error::new(format!(
                "this memory has format {}, newer than this program knows",
                settings.format
            ))
            .because(format!("memtree {} writes format {FORMAT}", env!("CARGO_PKG_VERSION")))
            .hint("install a newer memtree; nothing was changed"));
        }
        Ok(Loaded { settings, warnings, waiting })
    }

    /// Whether every value can be used, also those that are only looked at when they are needed.
    pub fn check(&self) -> Result<()> {
        self.zone()?;
        self.redactor()?;
        self.watch_interval()?;
        let globs = self.sources.iter().filter_map(|(name, set)| Some((name, set.glob.as_ref()?)));
        for (name, pattern) in globs {
            glob::Pattern::new(pattern).map_err(|err| {
                Error::new(format!("cannot use the setting `sources.{name}.glob`")).because(err)
            })?;
        }
        Ok(())
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
    if text.len() > LONGEST_FILE {
        return Err(Error::new(format!("cannot read the settings `{}`", path.display()))
            .because(format!("it has {} bytes, and {LONGEST_FILE} are enough", text.len())));
    }
    // What a crash left of a file in which nothing was set sets nothing: a sweep makes it again.
    if text.bytes().all(|byte| byte == 0) || TEMPLATE.starts_with(text) {
        return Ok(Table::new());
    }
    text.parse::<Table>().map_err(|err| {
        let line = err
            .span()
            .map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        Error::new(format!("cannot read the settings `{}`", path.display()))
            .because(format!("line {line}: {}", err.message()))
            .hint("`memtree config` shows every setting with its default")
    })
}

/// The memory's file as a table. Where it cannot be read, a device that has been here before goes
/// on with what it accepted, and says so.
fn memory_table(layers: &Layers<'_>, path: &Path, text: &str) -> Result<(Table, Option<String>)> {
    let table = match layers.unread {
        Some(why) => {
            let what = format!("cannot read the settings `{}`", path.display());
            Err(Error::new(what).because(why))
        }
        None => read(path, text),
    };
    match (table, layers.accepted) {
        (Ok(table), _) => Ok((table, None)),
        (Err(err), Some(accepted)) if layers.is_known => {
            let why = err.causes().join(": ");
            let warning = format!("{} ({why}); what was accepted here stays in force", err.what());
            Ok((accepted.to_table(), Some(warning)))
        }
        (Err(err), _) => Err(err),
    }
}

/// What a memory's file may claim: without what is not its to say, and without what nobody knows.
fn claims(path: &Path, mut table: Table, known: &Table, warnings: &mut Vec<String>) -> Table {
    for key in YOURS_ONLY {
        // A heading with nothing below it claims nothing: the template has one.
        let claims = |value: &Value| value.as_table().is_none_or(|below| !below.is_empty());
        if take(&mut table, key).as_ref().is_some_and(claims) {
            let why = match *key {
                FOLDERS => "names what is copied, and words of it are synced",
                RAW => "sends away what is not redacted",
                TRUST => "says whose words count as yours",
                TEAM => "says what others get of this memory",
                _ => "runs a program, sends text or spends money",
            };
            warnings.push(format!(
                "{}: `{key}` {why}, so it is ignored here; set it in ~/.config/memtree/config.toml",
                path.display()
            ));
        }
    }
    for key in warn_of_unknown(path, &table, known, warnings) {
        take(&mut table, &key);
    }
    table
}

/// What of a memory's file takes effect where its device has already used it.
pub fn of_earlier(path: &Path, text: &str) -> Accepted {
    let known = defaults();
    let table = read(path, text).unwrap_or_default();
    let mut table = claims(path, table, &known, &mut Vec::new());
    table.remove(FORMAT_KEY);
    Accepted::all_of(&table)
}

/// Whether the format of a file is one that this program does not know.
fn is_newer(format: Option<&Value>) -> bool {
    format.is_some_and(|format| format.as_integer().is_none_or(|format| format > FORMAT))
}

/// The variable that sets a key: `sessions.open_minutes` is MEMTREE_SESSIONS_OPEN_MINUTES.
fn variable(key: &str) -> String {
    format!("MEMTREE_{}", key.to_uppercase().replace('.', "_"))
}

/// The first setting that cannot be what it is said to be.
fn wrong_setting(merged: &Table, known: &Table) -> Option<(String, Value)> {
    flat(merged).into_iter().find(|(key, value)| {
        let mut alone = known.clone();
        put(&mut alone, key, value.clone());
        alone.try_into::<Settings>().is_err()
    })
}

/// Whether a person's own configuration can be used, as this text.
pub fn check_own(path: &Path, text: &str) -> Result<()> {
    let layers = Layers { user: Some((path, text)), ..Layers::default() };
    Settings::load(&layers)?.settings.check()
}

/// A value as it was typed, in the form that a setting has: one word for a list is its only item.
pub fn value_of(key: &str, typed: &str) -> Value {
    let value = typed.parse::<Value>().unwrap_or_else(|_| Value::from(typed));
    let default = flat(&defaults()).into_iter().find(|(name, _)| name == key);
    match default {
        Some((_, Value::Array(_))) if !value.is_array() => Value::Array(vec![value]),
        _ => value,
    }
}

/// What a setting takes, where its kind does not say so.
pub fn allowed(key: &str) -> Option<&'static str> {
    Some(match key {
        "sync.episodes" => "true, false or \"ask\"",
        "sync.raw" => "true (through Git LFS), \"plain\" or false",
        "timezone" => "a name of the time zone database, such as \"Europe/Paris\", or \"UTC\"",
        "summarizer" => "\"extractive\", \"command\" or \"openai\"",
        "team.name" => "letters, digits and single hyphens, such as ana-b",
        _ => return None,
    })
}

/// Whether there is a setting of this name.
pub fn is_setting(key: &str) -> bool {
    is_known(key, &defaults())
}

/// Whether there is such a setting.
fn is_known(key: &str, known: &Table) -> bool {
    is_open(key) || flat(known).iter().any(|(name, _)| name == key)
}

/// Whether a key is a name that the person chose.
fn is_open(key: &str) -> bool {
    let below = |table: &&str| key.strip_prefix(*table).is_some_and(|rest| rest.starts_with('.'));
    OPEN_TABLES.iter().any(|table| key == *table || below(table))
}

/// Warns of keys that nobody knows, and names them.
fn warn_of_unknown(
    path: &Path,
    table: &Table,
    known: &Table,
    warnings: &mut Vec<String>,
) -> Vec<String> {
    let names: Vec<String> = flat(known).into_iter().map(|(key, _)| key).collect();
    let mut unknown = Vec::new();
    for (key, _) in flat(table) {
        if names.contains(&key) || is_open(&key) {
            continue;
        }
        let is_part = |name: &str| key.split('.').any(|part| part == name);
        let old = OLD_NAMES.iter().find(|(name, _)| is_part(name));
        let near = || text::nearest(&key, names.iter().map(String::as_str));
        let hint = match old.map(|(_, ours)| *ours) {
            Some("--store") => "; the memory is one folder here, named by `--store`".to_string(),
            Some(ours) => format!("; here it is `{ours}`"),
            None => near().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default(),
        };
        warnings.push(format!("{}: unknown setting `{key}`{hint}", path.display()));
        unknown.push(key);
    }
    unknown
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
        let loaded = Settings::load(&Layers {
            memory: Some((Path::new("m.toml"), memory)),
            user: Some((Path::new("u.toml"), user)),
            ..Layers::default()
        })?;
        Ok((loaded.settings, loaded.warnings))
    }

    #[test]
    fn nothing_of_a_memory_takes_effect_before_it_is_accepted() {
        let nothing = Accepted::default();
        let claimed = |accepted: &Accepted, memory: &str, user: &str, is_known| {
            Settings::load(&Layers {
                memory: Some((Path::new("m.toml"), memory)),
                user: Some((Path::new("u.toml"), user)),
                accepted: Some(accepted),
                is_known,
                ..Layers::default()
            })
        };
        let other = |value: &Value| match value {
            Value::Integer(number) => Value::Integer(number + 1),
            Value::Boolean(flag) => Value::Boolean(!flag),
            Value::Float(number) => Value::Float(number + 1.0),
            Value::String(_) => Value::String("3B".into()),
            Value::Array(_) => Value::Array(vec![Value::String("*".into())]),
            value => value.clone(),
        };
        let plain = toml::to_string(&claimed(&nothing, "", "", true).unwrap().settings).unwrap();
        let extra =
            ["sources.claude.enabled = false", "sources.claude.root = '/etc'", "domains.x = 'y'"];
        let lines =
            flat(&defaults()).into_iter().map(|(key, value)| format!("{key} = {}", other(&value)));
        let lines: Vec<String> = lines.chain(extra.map(String::from)).collect();
        assert!(lines.len() > 30);
        for line in &lines {
            let loaded = claimed(&nothing, line, "", true).unwrap();
            assert_eq!(toml::to_string(&loaded.settings).unwrap(), plain, "{line}");
            // Either it waits, or it is none of the memory's business.
            assert_eq!(loaded.waiting.len() + loaded.warnings.len(), 1, "{line}: {loaded:?}");
            if let [one] = &loaded.waiting[..] {
                assert!(line.starts_with(&format!("{} = ", one.key)), "{line}");
            }
        }
        // What the person says themself needs no acceptance, and then the file has no say.
        let own = claimed(&nothing, "timezone = 'Asia/Tokyo'", "timezone = 'Europe/Paris'", true)
            .unwrap();
        assert_eq!((own.settings.timezone.as_str(), own.waiting.len()), ("Europe/Paris", 0));
        // A file that nobody can read, or of the future, stops nobody who was here before.
        let accepted =
            of_earlier(Path::new("m.toml"), "timezone = 'Asia/Tokyo'\n[open]\neditor = 'x'");
        for broken in ["a = [", "format = 99", &"#".repeat(LONGEST_FILE + 1)] {
            let loaded = claimed(&accepted, broken, "", true).unwrap();
            assert_eq!(loaded.settings.timezone, "Asia/Tokyo", "{:.20}", broken);
            assert!(!loaded.warnings.is_empty() || !loaded.waiting.is_empty());
            assert!(claimed(&nothing, broken, "", false).is_err(), "{:.20}", broken);
        }
    }

    #[test]
    fn a_template_with_one_setting_changed_is_no_reason_to_warn() {
        let file = TEMPLATE.replacen("\n#budget = 600\n", "\nbudget = 500\n", 1);
        assert_ne!(file, TEMPLATE);
        for file in [file.clone(), file.replace('\n', "\r\n")] {
            let (settings, warnings) = load(&file, "").unwrap();
            assert_eq!((settings.distribute.budget, warnings), (500, Vec::new()));
        }
        let (_, warnings) = load("[team]\nname = 'ana'\n", "").unwrap();
        assert!(warnings[0].contains("`team` says what others get"), "{warnings:?}");
    }

    #[test]
    fn names_of_other_programs_lead_to_ours() {
        let file = "[retention]\nraw_soft_cap_bytes = 1\ncadence = 'daily'\n[repo_domain_map]\na = 'b'\n[store]\ndb_path = 'x'";
        let (_, warnings) = load(file, "").unwrap();
        for ours in
            ["here it is `retention.soft_cap`", "`watch.interval`", "`domains`", "`--store`"]
        {
            assert!(warnings.iter().any(|warning| warning.contains(ours)), "{ours}: {warnings:?}");
        }
    }

    #[test]
    fn every_setting_has_a_default() {
        let Loaded { settings: config, warnings, .. } = Settings::load(&Layers::default()).unwrap();
        assert_eq!((config.format, config.timezone.as_str()), (FORMAT, "UTC"));
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
