//! What we wrote into a page: for each key and part, the hashes that show an edit.

use std::collections::BTreeSet;

use super::{Rules, Unit, WRITTEN};
use crate::base::files;
use crate::base::front_matter::{self, Document};
use crate::base::static_regex::StaticRegex;

/// The hashes of what we wrote, by the name of a key or part.
#[derive(Debug, Clone, Default)]
pub struct Written {
    records: Vec<(String, BTreeSet<String>)>,
}

impl Written {
    /// What a document remembers.
    pub fn of(document: &Document, rules: &Rules) -> Written {
        let lines = document.get_list(WRITTEN).unwrap_or_default();
        let record = |line: &String| {
            let (name, hashes) = match rules.unit {
                // The name of a part may be of several words.
                Unit::Part => line.rsplit_once(' ')?,
                Unit::Line => line.split_once(' ').unwrap_or((line, "")),
            };
            Some((name.to_string(), hashes.split_whitespace().map(str::to_string).collect()))
        };
        Written { records: lines.iter().filter_map(record).collect() }
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The names of what is remembered.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.records.iter().map(|(name, _)| name.as_str())
    }

    /// Whether we wrote something of this name.
    pub fn has(&self, name: &str) -> bool {
        self.hashes(name).is_some()
    }

    /// Whether a text is what we wrote under a name.
    pub fn matches(&self, rules: &Rules, name: &str, text: &str) -> bool {
        self.hashes(name).is_some_and(|known| *known == rules.unit.hashes(text))
    }

    /// Whether a text is one of those that we wrote under a name: git may have joined two.
    pub fn wrote(&self, rules: &Rules, name: &str, text: &str) -> bool {
        let hashes = rules.unit.hashes(text);
        self.records.iter().any(|(known, then)| known == name && *then == hashes)
    }

    /// Remembers what is written under a name.
    pub fn put(&mut self, rules: &Rules, name: &str, text: &str) {
        // Where lines may come to stand anywhere, those of measured keys have to be known too.
        if rules.unit == Unit::Part && (rules.measured)(name) {
            return;
        }
        let hashes = rules.unit.hashes(text);
        match self.records.iter_mut().rfind(|(known, _)| known == name) {
            Some((_, known)) => *known = hashes,
            None => self.records.push((name.to_string(), hashes)),
        }
    }

    /// Remembers what another remembers under a name.
    pub(super) fn keep(&mut self, name: &str, before: &Written) {
        self.records.extend(before.hashes(name).map(|known| (name.to_string(), known.clone())));
    }

    /// Leaves only the hashes of texts as they are now.
    pub(super) fn retain<'t>(&mut self, rules: &Rules, now: impl Fn(&str) -> Option<&'t str>) {
        for (name, hashes) in &mut self.records {
            let there = now(name).map(|text| rules.unit.hashes(text)).unwrap_or_default();
            hashes.retain(|hash| there.contains(hash));
        }
        self.records.retain(|(_, hashes)| rules.unit == Unit::Line || !hashes.is_empty());
    }

    /// Brings the names into an order.
    pub(super) fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&str) -> K) {
        self.records.sort_by_key(|(name, _)| key(name));
    }

    /// One line for each name.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |(name, hashes): &(String, BTreeSet<String>)| {
            let hashes: Vec<&str> = hashes.iter().map(String::as_str).collect();
            format!("{name} {}", hashes.join(" "))
        };
        self.records.iter().map(line).collect()
    }

    /// As it stands in front matter.
    pub fn value(&self) -> String {
        front_matter::block_list(&self.lines())
    }

    fn hashes(&self, name: &str) -> Option<&BTreeSet<String>> {
        // Of what git joined, the last one counts.
        self.records.iter().rfind(|(known, _)| known == name).map(|(_, hashes)| hashes)
    }
}

impl Unit {
    /// What shows an edit of a text. White space at the ends and line ends do not count; where
    /// lines are counted, neither do their order and empty ones.
    fn hashes(self, text: &str) -> BTreeSet<String> {
        let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
        match self {
            Unit::Part => BTreeSet::from([part_hash(text)]),
            Unit::Line => {
                lines().map(|line| files::sha256_hex(line.as_bytes())[..8].into()).collect()
            }
        }
    }
}

/// A hash that shows an edit of a key or part as a whole.
pub fn part_hash(text: &str) -> String {
    files::sha256_hex(text.replace('\r', "").trim().as_bytes())[..12].to_string()
}

/// Whether no line of a page is a person's.
pub fn is_ours(text: &str) -> bool {
    let known = KnownLines::of(text);
    !known.names.is_empty() && known.theirs(text).is_empty()
}

/// Whether a page remembers its lines, and every one of them stands in it.
pub fn is_complete(text: &str) -> bool {
    let known = KnownLines::of(text);
    let values = text.lines().filter_map(|line| line.split_once(':')).map(|(_, value)| value);
    let there: BTreeSet<String> =
        text.lines().chain(values).flat_map(|line| Unit::Line.hashes(line)).collect();
    !known.names.is_empty() && known.hashes.is_subset(&there)
}

/// A line of `written`: a name, and the hashes of lines.
static RECORD: StaticRegex = StaticRegex::new(r#"^ *- "([#\p{L}\p{N}_-]+)((?: [0-9a-f]{8})*)"$"#);

/// The lines that we wrote into a page, wherever they stand by now.
pub(super) struct KnownLines {
    names: BTreeSet<String>,
    hashes: BTreeSet<String>,
    /// Whether some name comes more than once, as in what git joined.
    pub(super) twice: bool,
}

impl KnownLines {
    pub(super) fn of(page: &str) -> KnownLines {
        let mut known =
            KnownLines { names: BTreeSet::new(), hashes: BTreeSet::new(), twice: false };
        for record in page.lines().filter_map(|line| RECORD.captures(line)) {
            known.twice |= !known.names.insert(record[1].to_string());
            known.hashes.extend(record[2].split_whitespace().map(str::to_string));
        }
        known
    }

    /// The lines that are none of ours.
    pub(super) fn theirs<'t>(&self, page: &'t str) -> Vec<&'t str> {
        let is_known = |text: &str| Unit::Line.hashes(text).is_subset(&self.hashes);
        let is_ours = |line: &str| {
            let value = line
                .split_once(':')
                .filter(|(key, _)| self.names.contains(*key) || *key == WRITTEN);
            line == "---"
                || RECORD.is_match(line)
                || value.is_some_and(|(_, value)| is_known(value))
                || is_known(line)
        };
        page.lines().filter(|line| !is_ours(line)).collect()
    }
}
