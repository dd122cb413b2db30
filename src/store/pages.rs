//! Pages that several devices write: who wrote which line, so that a person's words stay and ours follow the days.
//!
//! A page remembers in `written` a short hash of every line as we wrote it, by key and section. A key or section all of
//! whose lines are known is ours to write again; any other is a person's. Counting lines rather than whole sections has
//! a reason: git joins what two devices compiled line by line (`merge=union`). What comes out are lines of ours from
//! both, and the next compile puts the page in order instead of taking it for a person's work.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag};

use crate::base::files;
use crate::base::front_matter::{self, Document};
use crate::base::text;

/// A page as we would write it.
#[derive(Debug, Clone)]
pub struct Page {
    /// The front matter, without `written`.
    pub entries: Vec<(&'static str, String)>,
    /// The parts of the body: first what stands before the first `##`, then each section with its heading.
    pub sections: Vec<String>,
    /// Keys that a person's edit does not change: what is counted is not a matter of opinion.
    pub always_ours: &'static [&'static str],
}

const WRITTEN: &str = "written";
/// What stands before the first section, as `written` names it.
const HEADER: &str = "#header";

/// The page as a new document.
pub fn page_text(page: &Page) -> String {
    let mut text = String::from("---\n");
    for (key, value) in &page.entries {
        text.push_str(&entry(key, value));
    }
    text.push_str(&entry(WRITTEN, &written(page)));
    text.push_str("---\n");
    text.extend(page.sections.iter().map(String::as_str));
    text
}

/// The page written into the document that is there, around what a person changed in it.
pub fn page_text_over(existing: &str, page: &Page) -> String {
    let mut document = Document::parse(existing);
    let before = Before::of(&document);
    if before.0.is_empty() {
        // Not a page of ours, or its front matter is damaged: all of it is a person's.
        return existing.to_string();
    }
    let parts = parts(document.body());
    let ours_by_key: BTreeMap<&str, bool> = page
        .entries
        .iter()
        .map(|(key, _)| {
            let there = document.get_raw(key);
            let untouched = match there {
                Some(value) => before.wrote(key, value),
                None => !before.0.contains_key(*key),
            };
            (*key, untouched || page.always_ours.contains(key))
        })
        .collect();
    let known_key = |key: &str| key == WRITTEN || page.entries.iter().any(|(name, _)| *name == key);
    let foreign_keys = document.keys().any(|key| !known_key(key));
    let all_keys_ours = !foreign_keys && ours_by_key.values().all(|ours| *ours);
    let mut body = String::new();
    let mut met = BTreeSet::new();
    for part in &parts {
        let name = part_name(part);
        let our = page.sections.iter().find(|section| part_name(section) == name);
        let untouched = before.wrote(&name, part);
        match our {
            // Two devices' versions of one section, side by side: one is enough.
            Some(_) if untouched && met.contains(&name) => {}
            Some(our) if untouched => body.push_str(&before_next(our)),
            // A section that we wrote and have no more to say in.
            None if untouched => {}
            _ => body.push_str(&before_next(part)),
        }
        met.insert(name);
    }
    for our in &page.sections {
        let name = part_name(our);
        // A section that we never wrote comes at the end; one that a person removed stays away.
        if !met.contains(&name) && !before.0.contains_key(&name) {
            body.push_str(&before_next(our));
        }
    }
    let body = format!("{}\n", body.trim_end());
    if all_keys_ours {
        let mut text = String::from("---\n");
        for (key, value) in &page.entries {
            text.push_str(&entry(key, value));
        }
        text.push_str(&entry(WRITTEN, &written(page)));
        text.push_str("---\n");
        return text + &body;
    }
    for (key, value) in &page.entries {
        if ours_by_key[key] {
            put(&mut document, key, value);
        }
    }
    put(&mut document, WRITTEN, &written(page));
    document.set_body(&body);
    document.to_text()
}

/// Whether a page holds nothing but what we wrote.
pub fn is_ours(existing: &str) -> bool {
    let document = Document::parse(existing);
    let before = Before::of(&document);
    let keys_ours =
        document.keys().all(|key| key == WRITTEN || document.get_raw(key).is_none_or(|value| before.wrote(key, value)));
    !before.0.is_empty() && keys_ours && parts(document.body()).iter().all(|part| before.wrote(&part_name(part), part))
}

fn put(document: &mut Document, key: &str, value: &str) {
    // Where git has joined two versions the key may stand twice.
    if document.keys().filter(|there| *there == key).count() > 1 {
        document.remove(key);
    }
    document.set_raw(key, value);
}

/// A key with its value; a list stands on lines of its own.
fn entry(key: &str, value: &str) -> String {
    format!("{key}:{}{value}\n", if value.starts_with('\n') { "" } else { " " })
}

/// A part with an empty line behind it.
fn before_next(part: &str) -> String {
    format!("{}\n\n", part.trim_end())
}

/// What we wrote before: the hashes of lines, by key and section, with how many versions are remembered.
struct Before(BTreeMap<String, (BTreeSet<String>, usize)>);

impl Before {
    fn of(document: &Document) -> Before {
        let mut before: BTreeMap<String, (BTreeSet<String>, usize)> = BTreeMap::new();
        for key in [WRITTEN] {
            for line in document.get_list(key).unwrap_or_default() {
                let mut words = line.split(' ').map(str::to_string);
                let Some(name) = words.next() else { continue };
                let (hashes, versions) = before.entry(name).or_default();
                hashes.extend(words);
                *versions += 1;
            }
        }
        Before(before)
    }

    /// Whether all lines of a text are ours, and none is missing. Where two versions were joined, one may lack what the
    /// other had.
    fn wrote(&self, name: &str, text: &str) -> bool {
        let Some((known, versions)) = self.0.get(name) else { return false };
        let there = line_hashes(text);
        there.is_subset(known) && (*versions > 1 || there.len() == known.len())
    }
}

fn written(page: &Page) -> String {
    let record = |name: &str, text: &str| {
        let hashes: Vec<String> = line_hashes(text).into_iter().collect();
        format!("{name} {}", hashes.join(" "))
    };
    let keys = page.entries.iter().map(|(key, value)| record(key, value));
    let sections = page.sections.iter().map(|section| record(&part_name(section), section));
    front_matter::block_list(&keys.chain(sections).collect::<Vec<String>>())
}

/// The lines of a text as hashes; the order, white space at the ends and empty lines do not count.
fn line_hashes(text: &str) -> BTreeSet<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| files::sha256_hex(line.as_bytes())[..8].to_string()).collect()
}

/// The parts of a body: what stands before the first section, then each `##` section with its heading.
pub fn parts(body: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = Parser::new_ext(body, Options::empty())
        .into_offset_iter()
        .filter_map(|(event, range)| match event {
            Event::Start(Tag::Heading { level: HeadingLevel::H2, .. }) => Some(range.start),
            _ => None,
        })
        // A heading inside a quote or a list begins no part.
        .filter(|start| *start == 0 || body.as_bytes()[start - 1] == b'\n')
        .collect();
    starts.insert(0, 0);
    starts.dedup();
    let ends = starts.iter().skip(1).copied().chain([body.len()]);
    starts.iter().zip(ends).map(|(start, end)| &body[*start..end]).filter(|part| !part.trim().is_empty()).collect()
}

/// The name of a part in `written`, made of its heading.
fn part_name(part: &str) -> String {
    match part.trim_start().lines().next().and_then(|line| line.strip_prefix("## ")) {
        // With a mark, so that no section has the name of a key.
        Some(heading) => format!("#{}", text::slug(heading, 40)),
        None => HEADER.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(updated: &str, points: &[&str]) -> Page {
        let points: String = points.iter().map(|point| format!("- {point}\n")).collect();
        Page {
            entries: vec![("title", "Jitter".into()), ("updated", updated.into())],
            sections: vec!["# Jitter\n\nCore.\n\n".into(), format!("## Key Points\n\n{points}")],
            always_ours: &["updated"],
        }
    }

    #[test]
    fn what_we_wrote_follows_and_what_a_person_wrote_stays() {
        let (old, new) = (page("2026-11-01", &["one"]), page("2026-11-02", &["one", "two"]));
        let written = page_text(&old);
        assert_eq!(page_text_over(&written, &new), page_text(&new));
        assert_eq!(page_text_over(&page_text(&new), &new), page_text(&new), "a second time changes nothing");
        let edited =
            written.replace("- one", "- mine").replace("Jitter\nupdated", "My jitter\nupdated") + "\n## Notes\n\nme\n";
        let over = page_text_over(&edited, &new);
        assert!(
            over.contains("- mine") && over.contains("title: My jitter") && over.contains("## Notes\n\nme"),
            "{over}"
        );
        assert!(over.contains("updated: 2026-11-02") && !over.contains("two"), "{over}");
        assert_eq!(page_text_over(&over, &new), over);
    }

    #[test]
    fn a_line_that_a_person_took_out_stays_out() {
        let (old, new) = (page("2026-11-01", &["one", "two"]), page("2026-11-02", &["one", "two", "three"]));
        let over = page_text_over(&page_text(&old).replace("- two\n", ""), &new);
        assert!(!over.contains("- two") && !over.contains("- three"), "{over}");
    }

    #[test]
    fn what_git_joined_from_two_devices_is_put_in_order() {
        let (here, there) = (page("2026-11-01", &["one", "two"]), page("2026-11-02", &["one", "three"]));
        let both = page("2026-11-02", &["one", "three", "two"]);
        // As `merge=union` leaves it: the lines of both sides.
        let (a, b) = (page_text(&here), page_text(&there));
        let mut joined: Vec<&str> = a.lines().collect();
        for line in b.lines().filter(|line| !a.lines().any(|known| known == *line)) {
            let at = joined.iter().position(|known| known.split([' ', ':']).next() == line.split([' ', ':']).next());
            joined.insert(at.map_or(joined.len(), |at| at + 1), line);
        }
        let joined = joined.join("\n") + "\n";
        assert!(joined.contains("- two") && joined.contains("- three"), "{joined}");
        assert_eq!(page_text_over(&joined, &both), page_text(&both), "from:\n{joined}");
    }

    #[test]
    fn a_page_of_a_person_is_left_alone() {
        let theirs = "---\ntitle: Mine\n---\n# Mine\n";
        assert_eq!(page_text_over(theirs, &page("2026-11-01", &["one"])), theirs);
        assert!(!is_ours(theirs) && is_ours(&page_text(&page("2026-11-01", &["one"]))));
    }
}
