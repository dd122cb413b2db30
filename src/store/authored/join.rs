//! Joining: what two devices made of one page, put together by key and section.
//!
//! What only one side changed is taken from it. Where both did, a person's words win over ours, and
//! of our own the newer page's are taken. Where two people changed the same section, one version
//! stays as the section and the other stands in the notes, marked: see [`super::other_version`].
//! Which side is “here” does not matter, so every device that joins the same two gets the same
//! page.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::other_version::{NOTES, OtherVersion};
use super::written::Written;
use super::{Rules, WRITTEN, end_with_blank_line};
use crate::base::front_matter::Document;
use crate::base::text;

/// Two versions of a page, joined; `base` is what they come from, and `rank` says how new one is.
pub fn join<R: Ord>(
    rules: &Rules,
    base: Option<&str>,
    [one, other]: [&str; 2],
    rank: impl Fn(&Document) -> R,
) -> String {
    if one == other || base == Some(other) {
        return one.to_string();
    }
    if base == Some(one) {
        return other.to_string();
    }
    let documents = [one, other].map(Document::parse);
    let is_page = |document: &Document| !Written::of(document, rules).is_empty();
    if !documents.iter().all(is_page) {
        return join_text(base, [one, other]);
    }
    let is_newer = (rank(&documents[0]), one) >= (rank(&documents[1]), other);
    let [new, old] = if is_newer { [0, 1] } else { [1, 0] };
    let base = base.map(Document::parse);
    let joining = Joining {
        rules,
        base: base.as_ref().map(|base| Version::of(base, rules)),
        new: Version::of(&documents[new], rules),
        old: Version::of(&documents[old], rules),
    };
    joining.joined()
}

/// Two versions of a text that nobody but people writes: the lines of both.
pub fn join_text(base: Option<&str>, sides: [&str; 2]) -> String {
    let [one, other] = ordered(sides);
    match base {
        Some(base) => text::merge3(base, one, other),
        None => text::union(one, other),
    }
}

/// Two texts in an order that does not depend on who has which.
fn ordered(sides: [&str; 2]) -> [&str; 2] {
    let [one, other] = sides;
    if one <= other { [one, other] } else { [other, one] }
}

/// One version of a page: its keys, and its parts by name. Parts of a person's are named after
/// their heading.
struct Version<'d> {
    document: &'d Document,
    written: Written,
    parts: Vec<(Cow<'d, str>, &'d str)>,
}

impl<'d> Version<'d> {
    fn of(document: &'d Document, rules: &Rules) -> Version<'d> {
        let mut parts: Vec<(Cow<'d, str>, &'d str)> = Vec::new();
        for part in (rules.split)(document.body()) {
            let heading = part.text.trim_start().lines().next().unwrap_or_default().trim_end();
            let mut name = part.name.unwrap_or_else(|| heading.into());
            while parts.iter().any(|(known, _)| *known == name) {
                name = format!("{name} again").into();
            }
            parts.push((name, part.text));
        }
        Version { document, written: Written::of(document, rules), parts }
    }

    fn part(&self, name: &str) -> Option<&'d str> {
        self.parts.iter().find(|(known, _)| known == name).map(|(_, text)| *text)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|(name, _)| &**name)
    }
}

/// Which version of a key or part stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    New,
    Old,
}

/// What becomes of a key or part.
struct Decision {
    kept: Kept,
    /// Whether the other one is somebody's words, too.
    both: bool,
}

const NEW: Decision = Decision { kept: Kept::New, both: false };
const OLD: Decision = Decision { kept: Kept::Old, both: false };

struct Joining<'d> {
    rules: &'d Rules,
    base: Option<Version<'d>>,
    new: Version<'d>,
    old: Version<'d>,
}

impl<'d> Joining<'d> {
    fn joined(&self) -> String {
        let mut document = self.new.document.clone();
        let mut kept: BTreeMap<String, Kept> = BTreeMap::new();
        let mut others = Vec::new();
        self.join_keys(&mut document, &mut kept, &mut others);
        let body = self.join_parts(&mut kept, &mut others);
        if body != document.body() {
            document.set_body(&body);
        }
        let written = self.written(&kept);
        document.set_raw(WRITTEN, &written.value());
        OtherVersion::add_all(document.as_text(), &others)
    }

    /// What becomes of a value that both sides may have.
    fn decide(
        &self,
        [base, new, old]: [Option<&str>; 3],
        is_ours: impl Fn(&Version<'_>, Option<&str>) -> bool,
    ) -> Decision {
        let same =
            |one: Option<&str>, other: Option<&str>| one.map(str::trim) == other.map(str::trim);
        if same(new, old) || (self.base.is_some() && same(old, base)) {
            return NEW;
        }
        if self.base.is_some() && same(new, base) {
            return OLD;
        }
        match (is_ours(&self.new, new), is_ours(&self.old, old)) {
            (true, false) => OLD,
            (true, true) | (false, true) => NEW,
            (false, false) => between_people(new, old),
        }
    }

    fn join_keys(
        &self,
        document: &mut Document,
        kept: &mut BTreeMap<String, Kept>,
        others: &mut Vec<OtherVersion>,
    ) {
        let (new, old) = (&self.new, &self.old);
        let mut keys: Vec<&str> = new.document.keys().collect();
        keys.extend(old.document.keys().filter(|key| !new.document.has(key)));
        for key in keys.into_iter().filter(|key| *key != WRITTEN) {
            let raw = |version: &Version<'d>| version.document.get_raw(key);
            let is_ours = |version: &Version<'_>, raw: Option<&str>| match raw {
                _ if (self.rules.measured)(key) => true,
                Some(raw) => version.written.matches(self.rules, key, raw),
                // What a person took out is still remembered.
                None => !version.written.has(key),
            };
            let base = self.base.as_ref().and_then(|base| base.document.get_raw(key));
            let decision = self.decide([base, new.document.get_raw(key), raw(old)], is_ours);
            kept.insert(key.to_string(), decision.kept);
            let (taken, left) = match decision.kept {
                Kept::New => (raw(new), raw(old)),
                Kept::Old => (raw(old), raw(new)),
            };
            match taken {
                Some(value) if decision.kept == Kept::Old => drop(document.set_raw(key, value)),
                None if decision.kept == Kept::Old => drop(document.remove(key)),
                _ => {}
            }
            if let (true, Some(left)) = (decision.both, left) {
                others.push(OtherVersion::of_key(key, left));
            }
        }
    }

    /// The body, part by part in the newer page's order; what only the older one has stands behind
    /// what it follows there.
    fn join_parts(
        &self,
        kept: &mut BTreeMap<String, Kept>,
        others: &mut Vec<OtherVersion>,
    ) -> String {
        let mut body = String::new();
        // What stands together on the newer page stays as it stands there.
        let mut next = Some(0);
        for name in self.order() {
            let (text, decision) = self.part(&name);
            let (new, old) = (self.new.part(&name), self.old.part(&name));
            let left = if decision.kept == Kept::New { old } else { new };
            if let (true, Some(left)) = (decision.both, left) {
                others.push(OtherVersion::of_part(left));
            }
            if let Some(text) = text {
                let at = self.new.names().position(|known| known == name);
                let at = at.filter(|_| new == Some(&*text));
                if (at.is_none() || at != next) && !body.is_empty() {
                    end_with_blank_line(&mut body, "\n");
                }
                body.push_str(&text);
                next = at.map(|at| at + 1);
            }
            kept.insert(name, decision.kept);
        }
        if next.is_none() {
            body.truncate(body.trim_end().len());
            body.push('\n');
        }
        body
    }

    fn order(&self) -> Vec<String> {
        let mut names: Vec<String> = self.new.names().map(str::to_string).collect();
        let mut last = None;
        for name in self.old.names() {
            match names.iter().position(|known| known == name) {
                Some(at) => last = Some(at),
                None => {
                    let at = last.map_or(0, |last| last + 1);
                    names.insert(at, name.to_string());
                    last = Some(at);
                }
            }
        }
        names
    }

    /// The text of a part, and from whom it is.
    fn part(&self, name: &str) -> (Option<Cow<'d, str>>, Decision) {
        let base = self.base.as_ref().and_then(|base| base.part(name));
        let (new, old) = (self.new.part(name), self.old.part(name));
        if let (true, Some(new), Some(old)) = (name.starts_with(NOTES), new, old) {
            let base = self.base.as_ref().map(|_| base.unwrap_or_default());
            let ended = |text: &str| format!("{}\n", text.trim_end());
            let joined = match base {
                _ if new.trim_end() == old.trim_end() => new.to_string(),
                base => join_text(base.map(ended).as_deref(), [&ended(new), &ended(old)]),
            };
            return (Some(joined.into()), NEW);
        }
        let is_ours = |version: &Version<'_>, text: Option<&str>| match text {
            Some(text) => version.written.matches(self.rules, name, text),
            None => !version.written.has(name),
        };
        let decision = self.decide([base, new, old], is_ours);
        let text = if decision.kept == Kept::New { new } else { old };
        (text.map(Cow::Borrowed), decision)
    }

    /// What is remembered of each key and part: as on the page that it was taken from.
    fn written(&self, kept: &BTreeMap<String, Kept>) -> Written {
        let mut written = Written::default();
        for name in self.new.written.names().chain(self.old.written.names()) {
            if written.has(name) {
                continue;
            }
            let [first, second] = match kept.get(name) {
                Some(Kept::Old) => [&self.old, &self.new],
                _ => [&self.new, &self.old],
            };
            written
                .keep(name, if first.written.has(name) { &first.written } else { &second.written });
        }
        if self.rules.unit == super::Unit::Part {
            written.sort_by_key(str::to_string);
        }
        written
    }
}

/// Of two people's words, the longer ones stay; the others are kept too, unless they are among
/// them.
fn between_people(new: Option<&str>, old: Option<&str>) -> Decision {
    let (Some(new), Some(old)) = (new, old) else {
        return if new.is_some() { NEW } else { OLD };
    };
    let holds = |all: &str, some: &str| {
        some.lines().all(|line| line.trim().is_empty() || all.lines().any(|known| known == line))
    };
    if holds(new, old) {
        NEW
    } else if holds(old, new) {
        OLD
    } else {
        let kept = if (new.len(), new) >= (old.len(), old) { Kept::New } else { Kept::Old };
        Decision { kept, both: true }
    }
}
