//! Merging: what two devices made of one file of the memory, as one file again, whatever kind it
//! is.
//!
//! Git calls this through `memtree merge-file`; where it did not, the next command that writes
//! calls it with both versions and what they come from. It never fails, leaves no marks of a
//! conflict, and drops nobody's words; and it does not matter which side is “here”.

mod garbled;
mod lists;

use lists::{entries, join_attached, join_lists, lines};

pub use garbled::{has_markers, is_mixed, without_markers};

use crate::base::front_matter::Document;
use crate::store::authored;
use crate::store::layout::PageKind;
use crate::store::{core, day, digest, knowledge, pattern};

/// Two versions of a file, joined; `base` is what they come from, where there was anything.
pub fn joined(kind: PageKind, base: Option<&str>, sides: [&str; 2]) -> String {
    // Who committed the marks of a conflict has both sides in one.
    let base = base.map(without_markers);
    let [one, other] = sides.map(without_markers);
    let (base, sides) = (base.as_deref(), [&*one, &*other]);
    if sides[0] == sides[1] || base == Some(sides[1]) {
        return sides[0].to_string();
    }
    if base == Some(sides[0]) {
        return sides[1].to_string();
    }
    match kind {
        PageKind::Digest => digest::joined(base, sides),
        PageKind::Summary => day::summary::joined(base, sides),
        PageKind::Day => {
            let is_attached = |line: &str| !day::has_time(line);
            day::in_order(&join_attached(base, sides, lines, is_attached))
        }
        PageKind::Knowledge => authored::join(&knowledge::RULES, base, sides, |page| {
            (page.get_str("updated").or_else(|| page.get_str("filed")), sources(page))
        }),
        PageKind::Pattern => authored::join(&pattern::RULES, base, sides, |page| {
            (page.get_str("version"), number(page, "frequency"))
        }),
        PageKind::Core => core::joined_core(base, sides),
        PageKind::Sphere => core::joined_sphere(base, sides),
        PageKind::MemoryPage => core::memory::joined(base, sides),
        PageKind::Lines | PageKind::Generated => join_lists(base, sides, lines),
        PageKind::Entries => join_lists(base, sides, entries),
        PageKind::Settings => settings(base, sides),
        PageKind::Snapshot => longer(sides).to_string(),
        PageKind::Other => authored::join_text(base, sides),
    }
}

fn number(page: &Document, key: &str) -> u64 {
    page.get_str(key).and_then(|value| value.parse().ok()).unwrap_or_default()
}

fn sources(page: &Document) -> usize {
    page.get_list("sources").unwrap_or_default().len()
}

/// What a session's own device wrote: it only ever grows.
fn longer([one, other]: [&str; 2]) -> &str {
    if (one.len(), one) >= (other.len(), other) { one } else { other }
}

/// Two versions of the settings. Where no file with the lines of both can be read, one of them
/// counts and the other's lines stand below it, without effect.
fn settings(base: Option<&str>, sides: [&str; 2]) -> String {
    let is_readable = |text: &str| text.parse::<toml::Table>().is_ok();
    let joined = authored::join_text(base, sides);
    if is_readable(&joined) {
        return joined;
    }
    let (kept, left) = match longer(sides) == sides[0] {
        true => (sides[0], sides[1]),
        false => (sides[1], sides[0]),
    };
    let [kept, left] = if is_readable(kept) { [kept, left] } else { [left, kept] };
    let is_new = |line: &&str| !line.trim().is_empty() && !kept.lines().any(|known| known == *line);
    let mut text = format!("{}\n\n# From another device, without effect here:\n", kept.trim_end());
    for line in left.lines().filter(is_new) {
        text.push_str(&format!("# {line}\n"));
    }
    text
}

#[cfg(test)]
mod tests;
