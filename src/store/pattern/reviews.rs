//! Decisions: `patterns/reviews.jsonl`, one line each, only ever appended to, so that git can join
//! what two devices wrote.
//!
//! A line counts where it was made on this device, which remembers its hash below `.memtree/local`,
//! or names a device that the person trusts. Any other line is what somebody else decided: whoever
//! may push can write one.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use serde::{Deserialize, Serialize};

use crate::base::clock::{self, Timestamp};
use crate::base::files;
use crate::model::ids::Device;
use crate::model::trust::{Standing, Trust};
use crate::model::words::words;
use crate::store::layout::Layout;
use crate::store::local::StateFile;

/// What was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    Approve,
    Reject,
    /// A pattern that was approved holds no more.
    Retire,
    /// The decision before it does not count.
    Undo,
}

words!(Action { Approve = "approve", Reject = "reject", Retire = "retire", Undo = "undo" });

/// One decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// RFC 3339, to the second.
    pub at: String,
    pub device: String,
    /// How many decisions its device had made before: those of one run have the same time.
    #[serde(default)]
    pub number: u64,
    /// What it is about: a pattern's or a landmark's name.
    pub item: String,
    pub action: Action,
    #[serde(default)]
    pub why: String,
    /// The fingerprint of the evidence that was seen.
    #[serde(default)]
    pub evidence: String,
    /// The hash of the words that were seen.
    #[serde(default)]
    pub text: String,
    /// Whether no person was asked.
    #[serde(default)]
    pub auto: bool,
}

/// All decisions, oldest first, and how much each is worth here.
#[derive(Debug, Default)]
pub struct Reviews {
    decisions: Vec<(Decision, Standing)>,
    /// `path:line: reason`.
    pub damaged: Vec<String>,
}

impl Reviews {
    /// Reads them. A line that is none is named and left alone.
    pub fn load(layout: &Layout, trust: &Trust) -> io::Result<Reviews> {
        let path = layout.reviews();
        let bytes = files::if_exists(files::read(&path))?.unwrap_or_default();
        let own = own_file(layout).load();
        let mut reviews = Reviews::default();
        let mut seen = BTreeSet::new();
        for (number, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
            if line.trim().is_empty() || !seen.insert(line.trim().to_string()) {
                continue;
            }
            match serde_json::from_str::<Decision>(line) {
                Ok(decision) => {
                    let device = Device::new(&decision.device);
                    let standing = match (own.contains(&hash(line)), trust.is_trusted(&device)) {
                        (true, _) => Standing::Own,
                        (false, true) => Standing::Trusted,
                        (false, false) => Standing::Foreign,
                    };
                    reviews.decisions.push((decision, standing));
                }
                Err(err) => {
                    reviews.damaged.push(format!("{}:{}: {err}", layout.shown(&path), number + 1))
                }
            }
        }
        // By time, and by what they say where that is the same: the same on every device.
        reviews.decisions.sort_by_key(|(one, _)| {
            let said = serde_json::to_string(one).unwrap_or_default();
            (clock::parse(&one.at), one.number, said)
        });
        Ok(reviews)
    }

    /// The decision that counts for each item: the last one that was not taken back.
    pub fn in_force(&self) -> BTreeMap<&str, &Decision> {
        let counting = |standing: &Standing| standing.speaks_for_person();
        self.latest(counting)
    }

    /// What other devices decided that nobody here trusts, by item.
    pub fn elsewhere(&self) -> BTreeMap<&str, &Decision> {
        self.latest(|standing| !standing.speaks_for_person())
    }

    fn latest(&self, counts: impl Fn(&Standing) -> bool) -> BTreeMap<&str, &Decision> {
        let mut of_item: BTreeMap<&str, Vec<&Decision>> = BTreeMap::new();
        for (decision, _) in self.decisions.iter().filter(|(_, standing)| counts(standing)) {
            let made = of_item.entry(&decision.item).or_default();
            match decision.action {
                Action::Undo => drop(made.pop()),
                _ => made.push(decision),
            }
        }
        of_item.into_iter().filter_map(|(item, made)| Some((item, *made.last()?))).collect()
    }

    /// The last decision that was made on this device and not taken back.
    pub fn last_own(&self) -> Option<&Decision> {
        let mut made: Vec<&Decision> = Vec::new();
        let own = self.decisions.iter().filter(|(_, standing)| *standing == Standing::Own);
        for (decision, _) in own {
            match decision.action {
                Action::Undo => {
                    if let Some(at) = made.iter().rposition(|one| one.item == decision.item) {
                        made.remove(at);
                    }
                }
                _ => made.push(decision),
            }
        }
        made.last().copied()
    }
}

/// Appends a decision that is made here, and remembers that it was.
pub fn append(layout: &Layout, decision: &Decision) -> io::Result<()> {
    let file = own_file(layout);
    let mut own = file.load();
    let line = serde_json::to_string(&Decision { number: own.len() as u64, ..decision.clone() })?;
    // First the note: a line without one would be taken for somebody else's.
    own.insert(hash(&line));
    file.save(&own)?;
    files::append_locked(&layout.reviews(), &line)
}

/// A decision's time, as it is written.
pub fn stamp(now: Timestamp) -> String {
    clock::stamp(now)
}

fn own_file(layout: &Layout) -> StateFile<BTreeSet<String>> {
    StateFile::local(layout.own_reviews())
}

fn hash(line: &str) -> String {
    files::sha256_hex(line.trim().as_bytes())[..24].to_string()
}
