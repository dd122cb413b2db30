//! What git makes of two versions of a page without knowing what a page is: marks of a conflict,
//! and sections with the lines of both sides.

use std::borrow::Cow;
use std::collections::HashSet;

const OURS: &str = "<<<<<<< ";
const BASE: &str = "||||||| ";
const BETWEEN: &str = "=======";
const THEIRS: &str = ">>>>>>> ";

/// Whether a page holds both sides of a conflict between git's marks.
pub fn has_markers(page: &str) -> bool {
    let mut lines = page.lines();
    lines.any(|line| line.starts_with(OURS))
        && lines.any(|line| line == BETWEEN)
        && lines.any(|line| line.starts_with(THEIRS))
}

/// A page without git's marks: the lines of both sides, and none of what they come from.
pub fn without_markers(page: &str) -> Cow<'_, str> {
    if !has_markers(page) {
        return page.into();
    }
    let mut kept = String::with_capacity(page.len());
    let (mut within, mut in_base) = (false, false);
    for line in page.split_inclusive('\n') {
        let text = line.trim_end();
        if text.starts_with(OURS) {
            within = true;
        } else if within && text.starts_with(BASE) {
            in_base = true;
        } else if within && text == BETWEEN {
            in_base = false;
        } else if within && text.starts_with(THEIRS) {
            (within, in_base) = (false, false);
        } else if !in_base {
            kept.push_str(line);
        }
    }
    kept.into()
}

/// Whether a page that a merge left is git's own work: neither side's, and every line of it is one
/// of theirs. What has a word of its own in it was somebody's.
pub fn is_mixed(merged: &str, sides: [&str; 2]) -> bool {
    if has_markers(merged) {
        return true;
    }
    let known: HashSet<&str> = sides.iter().flat_map(|side| side.lines()).collect();
    !sides.contains(&merged) && merged.lines().all(|line| known.contains(line))
}
