//! Authored pages: ours until somebody edits them.
//!
//! A page is front matter and a body of parts, each key and part under a name. `written` in the
//! front matter remembers how we wrote each of them. When the page is written again, what is still
//! so is replaced, or goes where we have no more to say; everything else is a person's and stays.
//! What a person removed stays away.

mod join;
mod other_version;
mod regions;
mod replace;
mod written;

use std::borrow::Cow;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag};

pub use join::{join, join_text};
pub use other_version::OtherVersion;
use regions::is_line_start;
pub use regions::{Regions, find_line};
pub use replace::{merging, merging_shared, replace};
pub use written::{Written, is_complete, is_ours, part_hash};

use crate::base::front_matter::Document;
use crate::base::text;
use written::KnownLines;

/// The key that remembers what we wrote.
pub const WRITTEN: &str = "written";

/// How pages of one kind are written.
#[derive(Debug)]
pub struct Rules {
    /// Finds the parts of a body.
    pub split: fn(&str) -> Vec<Part<'_>>,
    pub unit: Unit,
    pub order: Order,
    /// Whether an edit does not change a key: what was measured is not a matter of opinion.
    pub measured: fn(&str) -> bool,
}

/// What an edit is recognized by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// One hash of a whole key or part.
    Part,
    /// A hash of every line of it. Git joins what two devices wrote line by line (`merge=union`),
    /// so that they never conflict. What comes out is no page, but every line of it is known, and
    /// the next writing puts it in order instead of taking it for a person's work.
    Line,
}

/// Where parts stand that were there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Where they are: a person may have moved them.
    AsFound,
    /// In our own order, since they come and go; what is a person's stays behind the part that it
    /// follows.
    Ours,
}

/// A stretch of a body, from its heading to the next one.
#[derive(Debug, Clone)]
pub struct Part<'t> {
    /// Its name in `written`, where it may be ours.
    pub name: Option<Cow<'t, str>>,
    pub text: &'t str,
}

/// A page as we would write it.
#[derive(Debug, Clone)]
pub struct Page {
    pub rules: &'static Rules,
    /// The front matter, without `written`.
    pub entries: Vec<(&'static str, String)>,
    /// All parts. Those without a name are written only once, and a person's from then on.
    pub body: String,
}

impl Page {
    /// The page as a new document.
    pub fn to_text(&self) -> String {
        let parts = self.named_parts();
        let mut written = Written::default();
        self.entries.iter().for_each(|(key, value)| written.put(self.rules, key, value));
        parts.iter().for_each(|(name, text)| written.put(self.rules, name, text));
        self.front_matter(&self.sorted(written, &parts)) + &self.body
    }

    /// The page written into the document that is there, around what a person changed in it.
    pub fn over(&self, existing: &str) -> String {
        self.over_adding(existing, |_, _| String::new())
    }

    /// Does the same; `addition` says what a part that a person changed still lacks, by its name
    /// and text.
    pub fn over_adding(&self, existing: &str, addition: impl Fn(&str, &str) -> String) -> String {
        if let Some(text) = self.over_joined(existing) {
            return text;
        }
        let mut document = Document::parse(existing);
        let before = Written::of(&document, self.rules);
        if self.rules.unit == Unit::Line && before.is_empty() {
            // Not a page of ours, or its front matter is damaged: all of it is a person's.
            return existing.to_string();
        }
        if document.keys().next().is_none() {
            // The front matter is gone or damaged: nothing of ours can be told from a person's
            // words, so the old text is kept whole, below the notes.
            let damaged = "(what stood here before its front matter was damaged)";
            return match existing.trim().is_empty() {
                true => self.to_text(),
                false => format!("{}\n{damaged}\n\n{existing}", self.to_text()),
            };
        }
        let parts = self.named_parts();
        let mut written = Written::default();
        let all_ours = self.merge_entries(&mut document, &before, &mut written);
        let body = self.merged_body(document.body(), &parts, &before, &mut written, addition);
        let written = self.sorted(written, &parts);
        if all_ours {
            // In our own order, however often the page grew.
            return self.front_matter(&written) + &body;
        }
        document.set_raw(WRITTEN, &written.value());
        document.set_body(&body);
        document.into_text()
    }

    /// The page in the place of what git has made of two versions of it, if that is what there is.
    /// Lines that we do not know go into the notes.
    fn over_joined(&self, existing: &str) -> Option<String> {
        let known = (self.rules.unit == Unit::Line).then(|| KnownLines::of(existing))?;
        if !known.twice {
            return None;
        }
        let theirs = known.theirs(existing);
        let mut text = self.to_text();
        if !theirs.is_empty() {
            let is_heading = |line: &&str| line.starts_with("## ");
            let notes = if theirs.iter().any(is_heading) { "" } else { "## Notes\n\n" };
            text.push_str(&format!("\n{notes}{}\n", theirs.join("\n")));
        }
        Some(text)
    }

    /// The parts that are ours, by name.
    fn named_parts(&self) -> Vec<(Cow<'_, str>, &str)> {
        let parts = (self.rules.split)(&self.body).into_iter();
        parts.filter_map(|part| Some((part.name?, part.text))).collect()
    }

    /// What is remembered, in the order in which it is written.
    fn sorted(&self, mut written: Written, parts: &[(Cow<'_, str>, &str)]) -> Written {
        let keys = self.entries.iter().map(|(key, _)| *key);
        let names: Vec<&str> = keys.chain(parts.iter().map(|(name, _)| &**name)).collect();
        match self.rules.unit {
            Unit::Part => written.sort_by_key(|name| name.to_string()),
            Unit::Line => written.sort_by_key(|name| {
                names.iter().position(|known| *known == name).unwrap_or(names.len())
            }),
        }
        written
    }

    fn front_matter(&self, written: &Written) -> String {
        let written = written.value();
        let entries = self.entries.iter().map(|(key, value)| (*key, value));
        let lines = entries.chain([(WRITTEN, &written)]).map(|(key, value)| entry(key, value));
        format!("---\n{}---\n", lines.collect::<String>())
    }

    /// Puts our keys into a document; returns whether its front matter is all ours, so that it can
    /// be written as a whole.
    fn merge_entries(
        &self,
        document: &mut Document,
        before: &Written,
        written: &mut Written,
    ) -> bool {
        let is_measured = self.rules.measured;
        let is_untouched = |key: &str| match document.get_raw(key) {
            Some(value) => before.matches(self.rules, key, value),
            // Removed by a person, or never written yet.
            None => !before.has(key),
        };
        let is_ours = |key: &str| is_measured(key) || is_untouched(key);
        let ours: Vec<bool> = self.entries.iter().map(|(key, _)| is_ours(key)).collect();
        // A key that we once wrote and have no more to say about goes, unless a person changed it.
        let is_entry = |key: &str| self.entries.iter().any(|(name, _)| *name == key);
        let goes = |key: &str| key != WRITTEN && !is_entry(key) && is_ours(key);
        let gone: Vec<String> = document
            .keys()
            .filter(|key| (is_measured(key) || before.has(key)) && goes(key))
            .map(str::to_string)
            .collect();
        let all_ours = ours.iter().all(|ours| *ours) && self.is_as_written(document, before);
        for ((key, value), ours) in self.entries.iter().zip(ours) {
            match ours {
                true => written.put(self.rules, key, value),
                false => written.keep(key, before),
            }
            if ours && !all_ours {
                document.set_raw(key, value);
            }
        }
        for key in gone.iter().filter(|_| !all_ours) {
            document.remove(key);
        }
        all_ours
    }

    /// Whether a document's front matter holds our keys alone, none of them changed and nothing
    /// between them.
    fn is_as_written(&self, document: &Document, before: &Written) -> bool {
        let mut text = String::from("---\n");
        for key in document.keys() {
            let value = document.get_raw(key).unwrap_or_default();
            let ours = key == WRITTEN
                || (self.rules.measured)(key)
                || before.matches(self.rules, key, value);
            if !ours {
                return false;
            }
            text.push_str(&entry(key, value));
        }
        text.push_str("---\n");
        document.as_text() == text + document.body()
    }

    /// The body that is there with our untouched parts replaced.
    fn merged_body(
        &self,
        existing: &str,
        ours: &[(Cow<'_, str>, &str)],
        before: &Written,
        written: &mut Written,
        addition: impl Fn(&str, &str) -> String,
    ) -> String {
        let place = |name: &str| ours.iter().position(|(known, _)| *known == name);
        let mut merge = Merge::new(existing);
        let mut met: Vec<Cow<'_, str>> = Vec::new();
        for (at, part) in (self.rules.split)(existing).into_iter().enumerate() {
            // A second part with a name of ours is a person's.
            let Some(name) = part.name.filter(|name| !met.contains(name)) else {
                merge.push(None, Some(at), part.text.to_string());
                continue;
            };
            let untouched = before.matches(self.rules, &name, part.text);
            match place(&name) {
                Some(place) if untouched => {
                    merge.push(Some(place), None, merge.in_style(ours[place].1));
                    written.put(self.rules, &name, ours[place].1);
                }
                // There is no more to say there.
                None if untouched => {}
                place => {
                    let added = merge.in_style(&addition(&name, part.text));
                    merge.push(place, Some(at), part.text.to_string());
                    merge.add_to_last(&added);
                    written.keep(&name, before);
                }
            }
            met.push(name);
        }
        if self.rules.order == Order::Ours {
            merge.sort();
        }
        for (place, (name, text)) in ours.iter().enumerate() {
            if met.iter().any(|met| met == name) {
                continue;
            }
            // One that a person removed stays away.
            if before.has(name) {
                written.keep(name, before);
            } else {
                merge.insert(place, merge.in_style(text));
                written.put(self.rules, name, text);
            }
        }
        merge.finish()
    }
}

/// The parts of a body that is being put together.
struct Merge {
    newline: &'static str,
    pieces: Vec<Piece>,
    /// How many of them stand behind all of ours.
    behind: usize,
}

struct Piece {
    /// Its place among our parts, if it is one of them.
    place: Option<usize>,
    /// Its place in the body that is there, if it is as it was there.
    found: Option<usize>,
    text: String,
}

impl Merge {
    fn new(existing: &str) -> Merge {
        // As most of its lines end: one odd line must not turn the others.
        let windows = existing.matches("\r\n").count() * 2 > existing.matches('\n').count();
        Merge { newline: if windows { "\r\n" } else { "\n" }, pieces: Vec::new(), behind: 0 }
    }

    fn in_style(&self, text: &str) -> String {
        if self.newline == "\n" { text.to_string() } else { text.replace('\n', self.newline) }
    }

    fn push(&mut self, place: Option<usize>, found: Option<usize>, text: String) {
        self.behind = if place.is_some() { 0 } else { self.behind + 1 };
        self.pieces.push(Piece { place, found, text });
    }

    fn add_to_last(&mut self, added: &str) {
        if let Some(last) = self.pieces.last_mut().filter(|_| !added.is_empty()) {
            end_with_blank_line(&mut last.text, self.newline);
            last.text.push_str(added);
            last.found = None;
        }
    }

    /// Brings our parts into our order, each with what follows it.
    fn sort(&mut self) {
        let behind = self.pieces.split_off(self.pieces.len() - self.behind);
        let mut last = None;
        let mut keyed: Vec<(Option<usize>, Piece)> = Vec::with_capacity(self.pieces.len());
        for piece in self.pieces.drain(..) {
            last = piece.place.or(last);
            keyed.push((last, piece));
        }
        keyed.sort_by_key(|(place, _)| *place);
        self.pieces = keyed.into_iter().map(|(_, piece)| piece).chain(behind).collect();
    }

    /// Puts a part of ours before the next one of ours, or behind them all.
    fn insert(&mut self, place: usize, text: String) {
        let later = self.pieces.iter().enumerate().filter(|(_, one)| one.place > Some(place));
        let next = later.min_by_key(|(_, one)| one.place).map(|(at, _)| at);
        let at = next.unwrap_or(self.pieces.len() - self.behind);
        self.pieces.insert(at, Piece { place: Some(place), found: None, text });
    }

    fn finish(self) -> String {
        let mut body = String::new();
        let mut last: Option<Piece> = None;
        for piece in self.pieces {
            // What stood together stays as it stood.
            let before = last.as_ref().and_then(|last| Some(last.found? + 1));
            if last.is_some() && (before.is_none() || before != piece.found) {
                end_with_blank_line(&mut body, self.newline);
            }
            body.push_str(&piece.text);
            last = Some(piece);
        }
        if last.is_some_and(|last| last.found.is_none()) {
            body.truncate(body.trim_end().len());
            body.push_str(self.newline);
        }
        body
    }
}

fn end_with_blank_line(text: &mut String, newline: &str) {
    let end = &text[text.trim_end_matches(['\r', '\n']).len()..];
    (end.matches('\n').count()..2).for_each(|_| text.push_str(newline));
}

/// A key with its value; a list stands on lines of its own.
fn entry(key: &str, value: &str) -> String {
    format!("{key}:{}{value}\n", if value.starts_with('\n') { "" } else { " " })
}

/// Changes a part in place, where it is as we wrote it.
pub fn edit_part(
    document: &mut Document,
    rules: &Rules,
    name: &str,
    edit: impl FnOnce(&str) -> String,
) {
    let mut written = Written::of(document, rules);
    let body = document.body();
    let Some(part) = find_part(body, rules, name) else { return };
    if written.matches(rules, name, part) {
        let start = part.as_ptr() as usize - body.as_ptr() as usize;
        let text = edit(part);
        let body = format!("{}{text}{}", &body[..start], &body[start + part.len()..]);
        written.put(rules, name, &text);
        document.set_body(&body);
        document.set_raw(WRITTEN, &written.value());
    }
}

/// A page out of which something was taken: the parts that were ours still are, and no hash of what
/// was there stays.
pub fn still_ours(before: &str, after: &str, rules: &Rules) -> String {
    let (before, after) = (Document::parse(before), Document::parse(after));
    let known = Written::of(&before, rules);
    if known.is_empty() {
        return after.into_text();
    }
    let was_ours = |name: &str| {
        let part = find_part(before.body(), rules, name);
        part.is_some_and(|part| known.matches(rules, name, part))
    };
    let mut written = known.clone();
    for part in (rules.split)(after.body()) {
        if let Some(name) = part.name.as_deref().filter(|name| was_ours(name)) {
            written.put(rules, name, part.text);
        }
    }
    with_current_hashes(after, written, rules)
}

/// Changes the parts that are not as we wrote them; `None` where `edit` changes none of them.
pub fn edit_others(
    text: &str,
    rules: &Rules,
    edit: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let mut document = Document::parse(text);
    let written = Written::of(&document, rules);
    let mut body = String::with_capacity(text.len());
    let mut changed = false;
    for part in (rules.split)(document.body()) {
        let is_ours =
            part.name.as_deref().is_some_and(|name| written.matches(rules, name, part.text));
        let edited = if is_ours { None } else { edit(part.text) };
        changed |= edited.is_some();
        body.push_str(edited.as_deref().unwrap_or(part.text));
    }
    if !changed {
        return None;
    }
    document.set_body(&body);
    Some(without_stale_hashes(&document.into_text(), rules))
}

/// What stands behind the front matter of a page.
pub fn body_of(page: &str) -> &str {
    let length = Document::parse(page).body().len();
    &page[page.len() - length..]
}

/// The first part of a body with a name.
pub fn find_part<'b>(body: &'b str, rules: &Rules, name: &str) -> Option<&'b str> {
    let mut parts = (rules.split)(body).into_iter();
    parts.find(|part| part.name.as_deref() == Some(name)).map(|part| part.text)
}

/// Whether every key and part of a page is as we wrote it, but for parts without a name that `may`
/// stand there.
pub fn is_as_written(text: &str, rules: &Rules, may: impl Fn(&str) -> bool) -> bool {
    is_as_written_but_for(text, rules, &[], may)
}

/// Does the same, whatever some keys say.
pub fn is_as_written_but_for(
    text: &str,
    rules: &Rules,
    keys: &[&str],
    may: impl Fn(&str) -> bool,
) -> bool {
    let document = Document::parse(text);
    let written = Written::of(&document, rules);
    let is_key = |key: &str| {
        let raw = document.get_raw(key).unwrap_or_default();
        key == WRITTEN
            || keys.contains(&key)
            || (rules.measured)(key)
            || written.matches(rules, key, raw)
    };
    let is_part = |part: &Part<'_>| match &part.name {
        Some(name) => written.matches(rules, name, part.text),
        None => may(part.text),
    };
    !written.is_empty()
        && document.keys().all(is_key)
        && (rules.split)(document.body()).iter().all(is_part)
}

/// The page without the hashes of what no longer stands in it: whoever guesses a short text could
/// prove it by one.
pub fn without_stale_hashes(text: &str, rules: &Rules) -> String {
    let document = Document::parse(text);
    let written = Written::of(&document, rules);
    match written.is_empty() {
        true => text.to_string(),
        false => with_current_hashes(document, written, rules),
    }
}

/// A page that remembers what was written of it, as far as that still stands there.
fn with_current_hashes(mut document: Document, mut written: Written, rules: &Rules) -> String {
    written.retain(rules, |name| {
        find_part(document.body(), rules, name).or_else(|| document.get_raw(name))
    });
    document.set_block_list(WRITTEN, &written.lines());
    document.into_text()
}

/// The parts of a page, each named after its heading.
pub fn headed_parts(body: &str) -> Vec<Part<'_>> {
    let found = sections(body).into_iter().filter(|text| !text.trim().is_empty());
    found
        .map(|section| {
            let heading =
                section.trim_start().lines().next().and_then(|line| line.strip_prefix("## "));
            // With a mark, so that no part has the name of a key.
            let name = heading.map_or_else(|| "header".into(), |words| text::slug(words, 40));
            let name = Some(format!("#{name}").into());
            Part { name, text: section }
        })
        .collect()
}

/// What stands before the first `##` section, then each of them with its heading.
pub fn sections(body: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = Parser::new_ext(body, Options::empty())
        .into_offset_iter()
        .filter_map(|(event, range)| match event {
            Event::Start(Tag::Heading { level: HeadingLevel::H2, .. }) => Some(range.start),
            _ => None,
        })
        // A heading inside a quote or a list begins no section.
        .filter(|start| is_line_start(body, *start))
        .collect();
    starts.insert(0, 0);
    starts.dedup();
    starts.push(body.len());
    starts.windows(2).map(|ends| &body[ends[0]..ends[1]]).collect()
}

#[cfg(test)]
mod tests;
