//! The front matter of a digest: one table of keys and fields, for writing and for reading.

use crate::base::clock::{self, Timestamp};
use crate::base::front_matter::{self, Document};
use crate::model::digest::{Digest, Outcome, State, Worth};
use crate::model::ids::{Device, EpisodeId};
use crate::model::signals::Signals;

/// The schema that we write.
pub const SCHEMA: &str = "memtree/digest/2";
/// The one before, which is still read.
pub const SCHEMA_1: &str = "memtree/digest/1";

/// A list that is longer in one line has a line for each item.
const LONGEST_LINE: usize = 320;

const EVICTED: &str = "evicted ";

/// One key of the front matter, and the field of a digest behind it.
#[derive(Debug)]
pub struct Field {
    pub key: &'static str,
    pub place: Place,
    /// Whether it is always ours: what was measured or proved is not a matter of opinion.
    pub measured: bool,
    /// The value as it is written; empty where the key is left out.
    pub write: fn(&Digest) -> String,
    /// Takes the value from a document; one that is missing or makes no sense changes nothing.
    pub read: fn(&mut Digest, &Document),
}

/// Where a key stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the front matter.
    Page,
    /// In the comment behind what people read.
    Machine,
}

/// A key whose field tells by its type how it is written, or with functions of its own.
macro_rules! field {
    (measured $($row:tt)+) => {
        Field { measured: true, ..field!($($row)+) }
    };
    (machine $($row:tt)+) => {
        Field { measured: true, place: Place::Machine, ..field!($($row)+) }
    };
    ($key:literal, $($field:ident).+) => {
        field!($key, $($field).+, Value::raw, Value::read)
    };
    ($key:literal, $($field:ident).+, $write:expr, $read:expr) => {
        Field {
            key: $key,
            place: Place::Page,
            measured: false,
            write: |digest| $write(&digest.$($field).+),
            read: |digest, document| {
                if let Some(value) = $read(document, $key) {
                    digest.$($field).+ = value;
                }
            },
        }
    };
}

/// A key that says the same on every digest, or is read before all others.
macro_rules! fixed {
    ($key:literal, $write:expr) => {
        Field { key: $key, place: Place::Page, measured: true, write: $write, read: |_, _| () }
    };
}

/// Every key, in the order in which they are written: people first.
pub const FIELDS: &[Field] = &[
    fixed!("schema", |_| SCHEMA.into()),
    field!("title", content.title),
    field!("objective", content.objective),
    Field { key: "aliases", place: Place::Page, measured: false, write: alias, read: |_, _| () },
    field!(measured "date", content.date, String::clone, Value::read),
    field!("project", content.project),
    field!("status", content.status),
    field!("tags", content.tags),
    fixed!("session", |digest| digest.session.to_string()),
    field!(measured "source_id", source_id),
    field!(measured "adopted_by", adopted_by),
    field!(measured "flavor", content.flavor),
    field!(measured "state", state),
    field!("worth", content.worth),
    field!("part_of", content.part_of),
    field!("continues", content.continues),
    field!("domain", content.domain),
    field!("cwd", content.cwd),
    field!("branch", content.branch),
    field!("commits", content.commits),
    field!("files", content.files),
    field!("model", content.models),
    field!(measured "started", content.started),
    field!(measured "ended", content.ended),
    field!(measured "captured", captured),
    field!(measured "episodes", content.episodes),
    field!(measured "turns", content.turns),
    field!(measured "tokens_in", content.tokens_in, if_any, Value::read),
    field!(measured "tokens_out", content.tokens_out, if_any, Value::read),
    field!(measured "tokens_cache", content.tokens_cache, if_any, Value::read),
    field!(measured "cost_usd", content.cost_usd, dollars, read_word),
    field!(measured "snapshot", snapshot.evicted, presence, read_presence),
    field!(measured "manifest", snapshot.manifest, |all: &[_]| each_line(all), Value::read),
    field!(measured "manifest_sha256", snapshot.manifest_sha256, String::clone, Value::read),
    field!(machine "made_by", content.made_by),
    Field { place: Place::Machine, ..fixed!("readiness", readiness) },
    field!(machine "snapshot_bytes", snapshot.bytes),
    field!(machine "snapshot_files", snapshot.files),
    field!(machine "evidence", content.evidence, |all: &[_]| each_line(all), read_lines),
    field!(machine "signals", content.signals, signals, read_signals),
];

/// What was done to most pages: all but those of folders that say nothing of themselves.
pub const ALL_DONE: &str = "[cleaned, summarized, indexed]";

/// What was done to a page.
fn readiness(digest: &Digest) -> String {
    let summarized = digest.content.is_summarized().then_some("summarized");
    let indexed = digest.content.is_indexed().then_some("indexed");
    let done: Vec<&str> = ["cleaned"].into_iter().chain(summarized).chain(indexed).collect();
    format!("[{}]", done.join(", "))
}

/// The keys that only machines need.
pub fn machine_keys() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().filter(|field| field.place == Place::Machine).map(|field| field.key)
}

/// Whether a key is always ours.
pub fn is_measured(key: &str) -> bool {
    FIELDS.iter().any(|field| field.key == key && field.measured)
}

/// The front matter, entry by entry in order; empty values are left out.
pub fn entries(digest: &Digest) -> Vec<(&'static str, String)> {
    let entries = FIELDS.iter().map(|field| (field.key, (field.write)(digest)));
    entries.filter(|(_, value)| !value.is_empty()).collect()
}

/// What `snapshot` says of one that was evicted on a day.
pub fn evicted(day: &str) -> String {
    format!("{EVICTED}{day}")
}

/// A type of field, as it stands in front matter.
trait Value: Sized {
    fn raw(&self) -> String;
    fn read(document: &Document, key: &str) -> Option<Self>;
}

fn some_text(document: &Document, key: &str) -> Option<String> {
    document.get_str(key).filter(|value| !value.is_empty())
}

impl Value for String {
    fn raw(&self) -> String {
        if self.is_empty() { String::new() } else { front_matter::scalar(self) }
    }

    fn read(document: &Document, key: &str) -> Option<String> {
        some_text(document, key)
    }
}

impl Value for Option<String> {
    fn raw(&self) -> String {
        self.as_ref().map(Value::raw).unwrap_or_default()
    }

    fn read(document: &Document, key: &str) -> Option<Self> {
        some_text(document, key).map(Some)
    }
}

impl Value for Option<Device> {
    fn raw(&self) -> String {
        self.as_ref().map(Device::to_string).unwrap_or_default()
    }

    fn read(document: &Document, key: &str) -> Option<Self> {
        some_text(document, key).map(|name| Some(Device::new(&name)))
    }
}

impl Value for Vec<String> {
    fn raw(&self) -> String {
        match front_matter::list(self) {
            _ if self.is_empty() => String::new(),
            list if list.chars().count() <= LONGEST_LINE => list,
            _ => front_matter::block_list(self),
        }
    }

    fn read(document: &Document, key: &str) -> Option<Self> {
        document.get_list(key)
    }
}

impl Value for Timestamp {
    fn raw(&self) -> String {
        clock::stamp(*self)
    }

    fn read(document: &Document, key: &str) -> Option<Self> {
        clock::parse(&some_text(document, key)?)
    }
}

impl Value for Option<Timestamp> {
    fn raw(&self) -> String {
        self.as_ref().map(Value::raw).unwrap_or_default()
    }

    fn read(document: &Document, key: &str) -> Option<Self> {
        Value::read(document, key).map(Some)
    }
}

impl Value for Option<(EpisodeId, EpisodeId)> {
    fn raw(&self) -> String {
        self.map(|(first, last)| format!("{first} - {last}")).unwrap_or_default()
    }

    fn read(document: &Document, key: &str) -> Option<Self> {
        let range = some_text(document, key)?;
        let (first, last) = range.split_once(" - ").unwrap_or((&range, &range));
        Some(Some((first.parse().ok()?, last.parse().ok()?)))
    }
}

/// Values that are one word.
macro_rules! words {
    ($($type:ty),+) => {$(
        impl Value for $type {
            fn raw(&self) -> String {
                self.to_string()
            }

            fn read(document: &Document, key: &str) -> Option<Self> {
                some_text(document, key)?.parse().ok()
            }
        }
    )+};
}

words!(u64, State, Outcome, Worth);

/// The title, so that quick switchers find it; a person may add others.
fn alias(digest: &Digest) -> String {
    match digest.content.title.as_str() {
        "" => String::new(),
        title => front_matter::list(&[title]),
    }
}

fn signals(signals: &Signals) -> String {
    front_matter::block_list(&signals.lines())
}

fn read_signals(document: &Document, key: &str) -> Option<Signals> {
    Some(Signals::of_lines(&document.get_list(key)?))
}

fn if_any(count: &u64) -> String {
    if *count == 0 { String::new() } else { count.to_string() }
}

/// Money with as many digits as tell something: cents, and parts of them where it is less than one
/// dollar.
fn dollars(cost: &Option<f64>) -> String {
    match cost {
        None => String::new(),
        Some(cost) if *cost < 1.0 => format!("{cost:.4}"),
        Some(cost) => format!("{cost:.2}"),
    }
}

fn read_word(document: &Document, key: &str) -> Option<Option<f64>> {
    some_text(document, key)?.parse().ok().map(Some)
}

fn each_line<T: ToString>(items: &[T]) -> String {
    let lines: Vec<String> = items.iter().map(T::to_string).collect();
    front_matter::block_list(&lines)
}

fn read_lines<T: std::str::FromStr>(document: &Document, key: &str) -> Option<Vec<T>> {
    Some(document.get_list(key)?.iter().filter_map(|line| line.parse().ok()).collect())
}

fn presence(gone: &Option<String>) -> String {
    gone.as_deref().map_or_else(|| "present".into(), evicted)
}

fn read_presence(document: &Document, key: &str) -> Option<Option<String>> {
    Some(some_text(document, key)?.strip_prefix(EVICTED).map(str::to_string))
}
