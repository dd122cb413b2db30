//! Drift: agents change what they write. The share of records of kinds that this memtree does not
//! know shows it, version by version.
//!
//! It is counted from the vitals of sessions, so that it also tells of what was captured long ago,
//! and stops to tell once a newer memtree knows the kinds. Every agent has its usual share of odd
//! records; what is worth a warning is a version that writes surely more of them than those before.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::adapters::jsonl::{self, Line, Lines};
use crate::adapters::{self, noise};
use crate::base::{files, text};
use crate::distill::patterns::measure::{Share, interval};
use crate::error::Result;
use crate::memory::Memory;
use crate::model::ids::SessionId;
use crate::ops::tally::{Tally, Vitals};
use crate::store::layout;

/// What the sessions of one version of an agent hold that is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Drift {
    pub flavor: String,
    /// The agent's version; empty where its logs do not say.
    pub version: String,
    pub sessions: usize,
    pub records: u64,
    /// How many of the records are of an unknown kind.
    pub unknown: u64,
    /// The unknown kinds, the most frequent first.
    pub kinds: Vec<(String, u64)>,
    /// The share of unknown records in what it is compared with, in percent: the agent's earlier
    /// versions, or where there are none all other agents; none where there is nothing.
    pub before: Option<u64>,
    /// Whether the share is surely larger than that.
    pub jumped: bool,
    /// A session that holds some.
    #[serde(skip)]
    example: Option<SessionId>,
}

/// What is compared has to have so many records.
const ENOUGH: u64 = 100;
/// Fewer unknown records than these are chance, however few records there are.
const SOME: u64 = 20;
const MOST_KINDS: usize = 12;

impl Drift {
    /// The share of unknown records, in percent.
    pub fn percent(&self) -> u64 {
        (self.unknown * 100).checked_div(self.records.max(1)).unwrap_or(0)
    }

    fn share(&self) -> Share {
        Share { hits: self.unknown, of: self.records }
    }

    /// Compares the share with another one. At least twice as many have to be unknown as before,
    /// and the two intervals have to lie apart. Where there is nothing to compare with, what was
    /// known of an agent when its reader was written counts: nothing was unknown then.
    fn compare(&mut self, before: Share) {
        let before = Some(before).filter(|before| before.of >= ENOUGH);
        self.before = before.and_then(Share::rate).map(|rate| (rate * 100.0) as u64);
        let before = before.unwrap_or(Share { hits: 0, of: ENOUGH });
        let (Some((low, _)), Some((_, high))) = (interval(self.share()), interval(before)) else {
            return;
        };
        let doubled = self.share().rate() >= before.rate().map(|rate| 2.0 * rate);
        self.jumped = self.unknown >= SOME && doubled && low > high;
    }

    /// What is so, in a sentence.
    pub fn sentence(&self) -> String {
        let name = [self.flavor.as_str(), self.version.as_str()].join(" ");
        let kinds: Vec<&str> = self.kinds.iter().take(6).map(|(kind, _)| kind.as_str()).collect();
        let before = self.before.map_or(String::new(), |before| format!(", {before} % before"));
        format!(
            "{} writes {} % records that this memtree does not know{before}: {}",
            name.trim_end(),
            self.percent(),
            kinds.join(", ")
        )
    }
}

/// One record of an unknown kind, without what it says.
#[derive(Debug, Clone, Serialize)]
pub struct UnknownSample {
    pub flavor: String,
    pub version: String,
    pub kind: String,
    pub count: u64,
    /// Its fields; every text is replaced by its length. `None` where none was found.
    pub record: Option<Value>,
}

impl Memory {
    /// What the sessions of each agent's versions hold that is not known, the largest share first.
    pub fn drift(&self) -> Result<Vec<Drift>> {
        Ok(self.drift_of(&self.tally()?))
    }

    /// The same, from what was counted.
    pub(crate) fn drift_of(&self, tally: &Tally) -> Vec<Drift> {
        let mut all: BTreeMap<(String, String), Drift> = BTreeMap::new();
        for (id, session) in &tally.sessions {
            let Some(vitals) = session.vitals.clone() else { continue };
            if adapters::named(&vitals.flavor).is_none() {
                continue;
            }
            let key = (vitals.flavor.clone(), vitals.version.clone());
            all.entry(key).or_default().add(vitals, id.clone());
        }
        let mut all: Vec<Drift> = all.into_values().collect();
        find_jumps(&mut all);
        all.retain(|drift| drift.unknown > 0);
        for drift in &mut all {
            drift.kinds.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            drift.kinds.truncate(MOST_KINDS);
        }
        all.sort_by_key(|drift| std::cmp::Reverse(drift.percent()));
        all
    }

    /// One record of each unknown kind, without what it says: for a report to us.
    pub fn unknown_samples(&self) -> Result<Vec<UnknownSample>> {
        let mut samples = Vec::new();
        for drift in self.drift()? {
            for (kind, count) in &drift.kinds {
                let record = drift.example.as_ref().and_then(|id| self.sample(id, kind));
                let (flavor, version) = (drift.flavor.clone(), drift.version.clone());
                samples.push(UnknownSample {
                    flavor,
                    version,
                    kind: kind.clone(),
                    count: *count,
                    record,
                });
            }
        }
        Ok(samples)
    }

    /// A record of a kind in the raw of a session, without what it says.
    fn sample(&self, session: &SessionId, kind: &str) -> Option<Value> {
        let mark = kind.rsplit(' ').next().unwrap_or(kind);
        let quoted = Value::from(mark).to_string();
        for found in files::walk_files(&self.layout().snapshot(session).join(layout::RAW)) {
            let Ok(log) = found.ok().map(|found| jsonl::open(&found.path))? else { continue };
            let mut lines = Lines::new(log);
            while let Ok(Some((_, line))) = lines.next() {
                let Line::Bytes { bytes, .. } = line else { continue };
                if memchr::memmem::find(bytes, quoted.as_bytes()).is_none() {
                    continue;
                }
                let Ok(record) = serde_json::from_slice::<Value>(bytes) else { continue };
                if names_kind(&record, mark, 0) {
                    return Some(shape(&record, 0));
                }
            }
        }
        None
    }
}

impl Drift {
    fn add(&mut self, vitals: Vitals, session: SessionId) {
        self.flavor = vitals.flavor;
        self.version = vitals.version;
        self.sessions += 1;
        self.records += vitals.records;
        for (kind, count) in vitals.ignored {
            if noise::is_known(&self.flavor, &kind) {
                continue;
            }
            self.unknown += count;
            self.example.get_or_insert_with(|| session.clone());
            match self.kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, before)) => *before += count,
                None => self.kinds.push((kind, count)),
            }
        }
    }
}

/// Compares every version with those of the same agent before it, or with all other agents.
fn find_jumps(all: &mut [Drift]) {
    let sum = |shares: Vec<Share>| {
        shares.into_iter().fold(Share::default(), |sum, share| Share {
            hits: sum.hits + share.hits,
            of: sum.of + share.of,
        })
    };
    let compared: Vec<Share> = all
        .iter()
        .map(|drift| {
            let is_earlier = |other: &&Drift| {
                other.flavor == drift.flavor && order(&other.version) < order(&drift.version)
            };
            let earlier = sum(all.iter().filter(is_earlier).map(Drift::share).collect());
            let is_other = |other: &&Drift| other.flavor != drift.flavor;
            match earlier.of >= ENOUGH {
                true => earlier,
                false => sum(all.iter().filter(is_other).map(Drift::share).collect()),
            }
        })
        .collect();
    for (drift, before) in all.iter_mut().zip(compared) {
        drift.compare(before);
    }
}

/// The numbers of a version, which order it among others.
fn order(version: &str) -> Vec<u64> {
    let numbers = version.split(|letter: char| !letter.is_ascii_digit());
    numbers.filter_map(|number| number.parse().ok()).collect()
}

/// Whether a record, or something in it, says that it is of a kind.
fn names_kind(value: &Value, mark: &str, depth: usize) -> bool {
    const KEYS: &[&str] = &["type", "kind", "subtype", "role", "sessionUpdate", "event", "name"];
    let Value::Object(fields) = value else { return false };
    KEYS.iter().any(|key| fields.get(*key).and_then(Value::as_str) == Some(mark))
        || (depth < 4 && fields.values().any(|value| names_kind(value, mark, depth + 1)))
}

/// A record without what it says: names of fields and of kinds stay, texts become their length.
fn shape(value: &Value, depth: usize) -> Value {
    match value {
        Value::String(text) => Value::from(format!("<{} characters>", text.chars().count())),
        Value::Number(_) => Value::from("<number>"),
        Value::Array(list) => {
            let first = list.first().filter(|_| depth < 6).map(|one| shape(one, depth + 1));
            first.into_iter().chain((list.len() > 1).then(|| "…".into())).collect()
        }
        Value::Object(_) if depth >= 6 => Value::from("<object>"),
        Value::Object(fields) => {
            let named = |key: &str| matches!(key, "type" | "kind" | "subtype" | "role");
            let fields = fields.iter().take(60).map(|(key, value)| {
                let kept = match value {
                    Value::String(text) if named(key) && is_word(text) => value.clone(),
                    value => shape(value, depth + 1),
                };
                (text::one_line(key, 60), kept)
            });
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

/// Whether a text is a program's word rather than somebody's.
fn is_word(text: &str) -> bool {
    text.len() <= 60 && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./:".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vitals_say_which_kinds_were_left_out() {
        let page = "source_id: claude:5e55\nagent_version: 2.1.999\nrecords: 40\ninherited: 0\n\
                    ignored:\n  hologram: 7\n  'odd: kind': 2\n  progress x: 3\nskipped: 0\n";
        let vitals = Vitals::of(page);
        assert_eq!((vitals.flavor.as_str(), vitals.version.as_str()), ("claude", "2.1.999"));
        assert_eq!(vitals.records, 40);
        let mut drift = Drift::default();
        drift.add(vitals, "SES1_desk_SP1C1".parse().unwrap());
        assert_eq!((drift.unknown, drift.percent()), (9, 22));
        assert_eq!(drift.kinds, [("hologram".to_string(), 7), ("odd: kind".to_string(), 2)]);
    }

    fn version(flavor: &str, version: &str, unknown: u64, records: u64) -> Drift {
        let (flavor, version) = (flavor.to_string(), version.to_string());
        Drift { flavor, version, unknown, records, ..Drift::default() }
    }

    #[test]
    fn a_version_is_compared_with_those_before_it() {
        let mut all = [
            version("codex", "0.9.0", 100, 1_000),
            version("codex", "0.10.0", 110, 1_000),
            version("codex", "0.166.0", 400, 1_000),
            version("goose", "1.52.0", 40, 1_000),
            version("grok", "1.0", 10, 12),
        ];
        find_jumps(&mut all);
        let seen: Vec<_> = all.iter().map(|drift| (drift.before, drift.jumped)).collect();
        // The first of an agent is compared with all others; a tenth is usual for this one; four
        // tenths are not. Few records tell nothing.
        assert_eq!(
            seen,
            [
                (Some(4), true),
                (Some(10), false),
                (Some(10), true),
                (Some(20), false),
                (Some(16), false),
            ]
        );
        let mut alone = [version("pi", "1", 30, 100), version("omp", "1", 0, 50)];
        find_jumps(&mut alone);
        assert!(alone[0].jumped && !alone[1].jumped, "nothing to compare with");
        assert!(order("0.9.1") < order("0.10") && order("") < order("1"));
    }

    #[test]
    fn a_sample_says_nothing_of_what_was_said() {
        let record = serde_json::json!({
            "type": "hologram", "text": "my key is 1234", "n": 7,
            "list": [{"secret": "x"}, {"secret": "y"}], "role": "my own words"
        });
        assert!(names_kind(&record, "hologram", 0) && !names_kind(&record, "other", 0));
        let shown = shape(&record, 0).to_string();
        assert!(shown.contains("\"type\":\"hologram\"") && shown.contains("<14 characters>"));
        assert!(!shown.contains("1234") && !shown.contains("own words"), "{shown}");
    }
}
