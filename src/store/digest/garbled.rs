//! Digests that `merge=union` garbled: earlier versions let git join them line by line, so that a
//! section may stand twice, or hold lines of another one.

use std::collections::BTreeSet;

use super::machine::{MACHINE, folded, unfolded};
use super::{
    INDEX_SECTION, RULES, parse_claim, parse_error, parse_index_line, parse_trigger, sections,
};
use crate::base::front_matter::Document;
use crate::store::authored::{self, OtherVersion, Written};

/// The names of sections that stand twice or hold lines of another one.
pub fn garbled_sections(page: &str) -> BTreeSet<String> {
    let page = unfolded(page);
    let document = Document::parse(&page);
    let (mut met, mut garbled) = (BTreeSet::new(), BTreeSet::new());
    for part in sections(document.body()) {
        let Some(name) = part.name else { continue };
        let is_out_of_place = |line: &str| home_of(line).is_some_and(|home| home != name);
        if !met.insert(name.to_string())
            || part.text.lines().any(|line| is_out_of_place(line) || line.trim_end() == MACHINE)
        {
            garbled.insert(name.into_owned());
        }
    }
    garbled
}

/// The section that a line of ours belongs to, where its form tells.
fn home_of(line: &str) -> Option<&'static str> {
    if parse_trigger(line).is_some() {
        Some("triggers")
    } else if parse_claim(line).is_some() {
        Some("stated")
    } else if parse_index_line(line).is_some() || parse_error(line).is_some() {
        Some(INDEX_SECTION)
    } else {
        None
    }
}

/// A garbled digest with its sections as `fresh` has them, which was made from the session's raw.
/// Lines that `fresh` does not have may be somebody's words: they stand in the notes, marked.
pub fn repaired(page: &str, fresh: &str) -> String {
    let garbled = garbled_sections(page);
    let whole = super::without_doubles(page);
    let whole = unfolded(whole.as_deref().unwrap_or(page)).into_owned();
    let fresh = unfolded(fresh).into_owned();
    let (mut document, new) = (Document::parse(&whole), Document::parse(&fresh));
    let mut written = Written::of(&document, &RULES);
    let mut body = String::with_capacity(whole.len());
    let (mut met, mut others) = (BTreeSet::new(), Vec::new());
    for part in sections(document.body()) {
        let name = part.name.as_deref().filter(|name| garbled.contains(*name));
        let Some(name) = name else {
            body.push_str(part.text);
            continue;
        };
        if !met.insert(name.to_string()) {
            continue;
        }
        let text = authored::find_part(new.body(), &RULES, name).unwrap_or_default();
        body.push_str(text);
        written.put(&RULES, name, text);
        let left = left_over(document.body(), name, &fresh);
        if !left.is_empty() {
            let heading = part.text.lines().next().unwrap_or_default();
            others.push(OtherVersion::of_lines(heading, &left));
        }
    }
    document.set_body(&body);
    document.set_raw(authored::WRITTEN, &written.value());
    folded(&OtherVersion::add_all(document.as_text(), &others))
}

/// The lines below the headings of a name that are nowhere in what raw says.
fn left_over<'b>(body: &'b str, name: &str, fresh: &str) -> Vec<&'b str> {
    let parts = sections(body).into_iter().filter(|part| part.name.as_deref() == Some(name));
    let mut within_comment = false;
    let mut left: Vec<&str> = Vec::new();
    for line in parts.flat_map(|part| part.text.lines().skip(1)) {
        // A second comment for machines is nobody's words.
        within_comment |= line.trim_end() == MACHINE;
        let is_new = !line.trim().is_empty()
            && !fresh.lines().any(|known| known == line)
            && !left.contains(&line);
        if is_new && !within_comment {
            left.push(line);
        }
        within_comment &= line.trim_end() != "-->";
    }
    left
}
