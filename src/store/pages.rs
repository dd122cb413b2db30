//! Pages that several devices write: who wrote which line, so that a person's words stay and ours
//! follow the days.
//!
//! A page remembers in `written` a short hash of every line as we wrote it, by key and section. A
//! key or section that still has these lines is ours to write again; any other is a person's. Lines
//! rather than whole sections are counted for a reason: git joins what two devices compiled line by
//! line (`merge=union`), so that they never conflict. What comes out is no page, but every line of
//! it is known, and the next compile puts it in order instead of taking it for a person's work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag};
use regex::Regex;

use crate::base::files;
use crate::base::front_matter::{self, Document};
use crate::base::text;

/// A page as we would write it.
#[derive(Debug, Clone)]
pub struct Page {
    /// The front matter, without `written`.
    pub entries: Vec<(&'static str, String)>,
    /// The parts of the body: first what stands before the first `##`, then each section with its
    /// heading.
    pub sections: Vec<String>,
    /// Keys that a person's edit does not change: what is counted is not a matter of opinion.
    pub always_ours: &'static [&'static str],
}

const WRITTEN: &str = "written";
/// What stands before the first section, as `written` names it.
const HEADER: &str = "#header";

/// The page as a new document.
pub fn page_text(page: &Page) -> String {
    front_matter_of(page) + &page.sections.concat()
}

fn front_matter_of(page: &Page) -> String {
    let entries: String = page.entries.iter().map(|(key, value)| entry(key, value)).collect();
    format!("---\n{entries}{}---\n", entry(WRITTEN, &written(page)))
}

/// The page written into the document that is there, around what a person changed in it.
pub fn page_text_over(existing: &str, page: &Page) -> String {
    if let Some(text) = over_joined(existing, page) {
        return text;
    }
    let mut document = Document::parse(existing);
    let before = before(&document);
    if before.is_empty() {
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
                Some(value) => wrote(&before, key, value),
                None => !before.contains_key(*key),
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
        let untouched = wrote(&before, &name, part);
        match our {
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
        if !met.contains(&name) && !before.contains_key(&name) {
            body.push_str(&before_next(our));
        }
    }
    let body = format!("{}\n", body.trim_end());
    if all_keys_ours {
        return front_matter_of(page) + &body;
    }
    for (key, value) in &page.entries {
        if ours_by_key[key] {
            document.set_raw(key, value);
        }
    }
    document.set_raw(WRITTEN, &written(page));
    document.set_body(&body);
    document.to_text()
}

/// A key with its value; a list stands on lines of its own.
fn entry(key: &str, value: &str) -> String {
    format!("{key}:{}{value}\n", if value.starts_with('\n') { "" } else { " " })
}

/// A part with an empty line behind it.
fn before_next(part: &str) -> String {
    format!("{}\n\n", part.trim_end())
}

/// What we wrote before: the hashes of lines, by key and section.
type Before = BTreeMap<String, BTreeSet<String>>;

fn before(document: &Document) -> Before {
    let lines = document.get_list(WRITTEN).unwrap_or_default();
    let record = |line: &String| {
        let mut words = line.split(' ').map(str::to_string);
        Some((words.next()?, words.collect()))
    };
    lines.iter().filter_map(record).collect()
}

/// Whether the lines of a text are those that we wrote.
fn wrote(before: &Before, name: &str, text: &str) -> bool {
    before.get(name).is_some_and(|known| *known == line_hashes(text))
}

/// The page in the place of what git has made of two versions of it, if that is what there is:
/// their lines may have come to stand anywhere, but we know every one. Lines that we do not know go
/// into the notes.
fn over_joined(existing: &str, page: &Page) -> Option<String> {
    let known = Known::of(existing);
    if !known.twice {
        return None;
    }
    let theirs = known.theirs(existing);
    let mut text = page_text(page);
    if !theirs.is_empty() {
        let notes =
            if theirs.iter().any(|line| line.starts_with("## ")) { "" } else { "## Notes\n\n" };
        text.push_str(&format!("\n{notes}{}\n", theirs.join("\n")));
    }
    Some(text)
}

/// Whether no line of a page is a person's.
pub fn is_ours(text: &str) -> bool {
    let known = Known::of(text);
    !known.names.is_empty() && known.theirs(text).is_empty()
}

/// The page without the hashes of lines that no longer stand in it: whoever guesses a short one
/// could prove it by that.
pub fn without_stale_hashes(text: &str) -> String {
    let mut document = Document::parse(text);
    let before = before(&document);
    if before.is_empty() {
        return text.to_string();
    }
    let mut there: Before =
        parts(document.body()).iter().map(|part| (part_name(part), line_hashes(part))).collect();
    there.extend(
        document
            .keys()
            .map(|key| (key.to_string(), line_hashes(document.get_raw(key).unwrap_or_default()))),
    );
    let kept: Vec<String> = before
        .iter()
        .map(|(name, hashes)| {
            let now = there.get(name);
            let left = hashes.iter().filter(|hash| now.is_some_and(|now| now.contains(*hash)));
            let left: Vec<&str> = left.map(String::as_str).collect();
            format!("{name} {}", left.join(" "))
        })
        .collect();
    document.set_raw(WRITTEN, &front_matter::block_list(&kept));
    document.into_text()
}

/// A line of `written`: a name, and the hashes of lines.
static RECORD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^ *- "([#\p{L}\p{N}_-]+)((?: [0-9a-f]{8})*)"$"#).expect("a fixed pattern")
});

/// The lines that we wrote into a page, wherever they stand by now.
struct Known {
    names: BTreeSet<String>,
    hashes: BTreeSet<String>,
    /// Whether some name comes more than once, as in what git joined.
    twice: bool,
}

impl Known {
    fn of(page: &str) -> Known {
        let mut known = Known { names: BTreeSet::new(), hashes: BTreeSet::new(), twice: false };
        for record in page.lines().filter_map(|line| RECORD.captures(line)) {
            known.twice |= !known.names.insert(record[1].to_string());
            known.hashes.extend(record[2].split_whitespace().map(str::to_string));
        }
        known
    }

    /// The lines that are none of ours.
    fn theirs<'t>(&self, page: &'t str) -> Vec<&'t str> {
        let is_ours = |line: &str| {
            let value = line
                .split_once(':')
                .filter(|(key, _)| self.names.contains(*key) || *key == WRITTEN);
            let of_key = value.is_some_and(|(_, value)| line_hashes(value).is_subset(&self.hashes));
            line == "---"
                || RECORD.is_match(line)
                || of_key
                || line_hashes(line).is_subset(&self.hashes)
        };
        page.lines().filter(|line| !is_ours(line)).collect()
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

/// The parts of a body: what stands before the first section, then each `##` section with its
/// heading.
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
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| &body[*start..end])
        .filter(|part| !part.trim().is_empty())
        .collect()
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
        assert_eq!(
            page_text_over(&page_text(&new), &new),
            page_text(&new),
            "a second time changes nothing"
        );
        let edited =
            written.replace("- one", "- mine").replace("Jitter\nupdated", "My jitter\nupdated")
                + "\n## Notes\n\nme\n";
        let over = page_text_over(&edited, &new);
        assert!(
            over.contains("- mine")
                && over.contains("title: My jitter")
                && over.contains("## Notes\n\nme"),
            "{over}"
        );
        assert!(over.contains("updated: 2026-11-02") && !over.contains("two"), "{over}");
        assert_eq!(page_text_over(&over, &new), over);
    }

    #[test]
    fn a_line_that_a_person_took_out_stays_out() {
        let (old, new) =
            (page("2026-11-01", &["one", "two"]), page("2026-11-02", &["one", "two", "three"]));
        let over = page_text_over(&page_text(&old).replace("- two\n", ""), &new);
        assert!(!over.contains("- two") && !over.contains("- three"), "{over}");
    }

    #[test]
    fn what_git_joined_from_two_devices_is_put_in_order() {
        let (here, there) =
            (page("2026-11-01", &["one", "two"]), page("2026-11-02", &["one", "three"]));
        let both = page("2026-11-02", &["one", "three", "two"]);
        // As `merge=union` leaves it: the lines of both sides.
        let (a, b) = (page_text(&here), page_text(&there));
        let mut joined: Vec<&str> = a.lines().collect();
        for line in b.lines().filter(|line| !a.lines().any(|known| known == *line)) {
            let at = joined
                .iter()
                .position(|known| known.split([' ', ':']).next() == line.split([' ', ':']).next());
            joined.insert(at.map_or(joined.len(), |at| at + 1), line);
        }
        let joined = joined.join("\n") + "\n";
        assert!(joined.contains("- two") && joined.contains("- three"), "{joined}");
        assert_eq!(page_text_over(&joined, &both), page_text(&both), "from:\n{joined}");
        // Whole files, one behind the other, and a line of a person's.
        let joined = format!("{a}- mine\n{b}");
        assert_eq!(page_text_over(&joined, &both), page_text(&both) + "\n## Notes\n\n- mine\n");
    }

    #[test]
    fn a_page_of_a_person_is_left_alone() {
        let theirs = "---\ntitle: Mine\n---\n# Mine\n";
        assert_eq!(page_text_over(theirs, &page("2026-11-01", &["one"])), theirs);
    }
}
