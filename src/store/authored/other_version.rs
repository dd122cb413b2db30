//! Other versions: what somebody else wrote into a section that was edited on two devices. It
//! stands in the notes, marked, until a person says what becomes of it.
//!
//! ```text
//! > **Other version of “Knowledge Triggers”**, from another device ^other-1a2b3c4d
//! > - [Lock first]: …
//! ```

use serde::Serialize;

use super::part_hash;
use crate::base::front_matter::Document;

/// The heading of what is a person's on every page.
pub(super) const NOTES: &str = "## Notes";

const BEGIN: &str = "> **Other version of “";
const BETWEEN: &str = "”**, from another device ^other-";

/// What another device made of a key or section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OtherVersion {
    /// Made from what it says, so that every device gives it the same name.
    pub id: String,
    /// The key, or the heading of the section.
    pub of: String,
    pub text: String,
}

impl OtherVersion {
    /// Stands on every page that has one.
    pub const MARK: &str = BEGIN;

    pub(super) fn of_key(key: &str, raw: &str) -> OtherVersion {
        OtherVersion::new(key, &format!("{key}: {}", raw.trim()))
    }

    pub(super) fn of_part(text: &str) -> OtherVersion {
        let heading = text.trim_start().lines().next().unwrap_or_default();
        OtherVersion::new(heading.trim_start_matches('#').trim(), text)
    }

    /// Lines below a heading of which nobody knows whose they are.
    pub fn of_lines(heading: &str, lines: &[&str]) -> OtherVersion {
        OtherVersion::of_part(&format!("{}\n{}", heading.trim_end(), lines.join("\n")))
    }

    /// The line of a landmark, by its name.
    pub fn of_landmark(id: &str, line: &str) -> OtherVersion {
        OtherVersion::new(&format!("^{id}"), line)
    }

    fn new(of: &str, text: &str) -> OtherVersion {
        let text = text.replace('\r', "").trim().to_string();
        let of = of.replace(['“', '”'], "'");
        OtherVersion { id: part_hash(&format!("{of}\n{text}"))[..8].to_string(), of, text }
    }

    /// As it stands in the notes.
    fn note(&self) -> String {
        let mut note = format!("{BEGIN}{}{BETWEEN}{}\n", self.of, self.id);
        for line in self.text.lines() {
            note.push_str(format!("> {line}").trim_end());
            note.push('\n');
        }
        note
    }

    /// The page with these in its notes; one that is there already is not added again.
    pub fn add_all(page: &str, others: &[OtherVersion]) -> String {
        let mut page = page.to_string();
        for other in others {
            if OtherVersion::all(&page).contains(other) {
                continue;
            }
            let has_notes = page.lines().any(|line| line.trim_end() == NOTES);
            let heading = if has_notes { String::new() } else { format!("{NOTES}\n\n") };
            page = format!("{}\n\n{heading}{}", page.trim_end(), other.note());
        }
        page
    }

    /// Those that stand on a page.
    pub fn all(page: &str) -> Vec<OtherVersion> {
        let mut found: Vec<OtherVersion> = Vec::new();
        let mut within = false;
        for line in page.lines().map(str::trim_end) {
            let begins = line.strip_prefix(BEGIN).and_then(|rest| rest.split_once(BETWEEN));
            if let Some((of, id)) = begins {
                let (of, id) = (of.to_string(), id.to_string());
                found.push(OtherVersion { id, of, text: String::new() });
                within = true;
            } else if let (true, Some(last), Some(text)) =
                (within, found.last_mut(), line.strip_prefix('>'))
            {
                let gap = if last.text.is_empty() { "" } else { "\n" };
                last.text.push_str(&format!("{gap}{}", text.strip_prefix(' ').unwrap_or(text)));
            } else {
                within = false;
            }
        }
        found
    }

    /// A page with this version in the place of the one that stands there.
    pub fn taken(&self, page: &str) -> String {
        let heading = self.text.lines().next().unwrap_or_default();
        if self.of.starts_with('^') {
            let mark = format!(" {}", self.of);
            let is_it = |line: &str| line.starts_with("- **") && line.contains(&mark);
            let taken = page.split_inclusive('\n').map(|line| match is_it(line) {
                true => format!("{}\n", self.text),
                false => line.to_string(),
            });
            return taken.collect();
        }
        if !heading.starts_with('#') {
            let mut document = Document::parse(page);
            let raw = self.text.strip_prefix(&format!("{}:", self.of)).unwrap_or_default();
            document.set_raw(&self.of, raw.trim());
            return document.into_text();
        }
        let level = heading.bytes().take_while(|byte| *byte == b'#').count();
        let ends = |line: &str| {
            let depth = line.bytes().take_while(|byte| *byte == b'#').count();
            let is_heading = depth > 0 && line[depth..].starts_with(' ');
            (is_heading && depth <= level.max(2)) || line.starts_with("<!-- memtree:")
        };
        let mut taken = String::with_capacity(page.len() + self.text.len());
        let (mut within, mut done) = (false, false);
        for line in page.split_inclusive('\n') {
            if within && ends(line) {
                within = false;
            }
            if !done && line.trim_end() == heading {
                taken.push_str(&format!("{}\n\n", self.text));
                (within, done) = (true, true);
            } else if !within {
                taken.push_str(line);
            }
        }
        taken
    }

    /// A page without one of them.
    pub fn removed(page: &str, id: &str) -> String {
        let mark = format!("{BETWEEN}{id}");
        let mut kept = String::with_capacity(page.len());
        let mut within = false;
        for line in page.split_inclusive('\n') {
            let text = line.trim_end();
            within = match text.starts_with(BEGIN) {
                true => text.ends_with(&mark),
                false => within && text.starts_with('>'),
            };
            if !within {
                kept.push_str(line);
            }
        }
        kept
    }
}
