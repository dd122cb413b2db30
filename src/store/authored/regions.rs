//! Regions: pages of which only the stretches between two marks are ours, as a whole.

/// A page, cut at its marks.
#[derive(Debug, Default, PartialEq)]
pub struct Regions<'t> {
    /// What stands before the first region: all of it, where there is none.
    pub before: &'t str,
    /// Each region with its marks, and what follows it. A merge may have doubled what is ours.
    pub regions: Vec<(&'t str, &'t str)>,
}

impl<'t> Regions<'t> {
    /// Cuts a page; `begin` and `end` find where a region begins, and where it ends, its mark
    /// included. One without an end reaches to the end of the page.
    pub fn of(
        page: &'t str,
        begin: impl Fn(&str) -> Option<usize>,
        end: impl Fn(&str) -> Option<usize>,
    ) -> Regions<'t> {
        let (before, mut rest) = page.split_at(begin(page).unwrap_or(page.len()));
        let mut regions = Vec::new();
        while !rest.is_empty() {
            let (ours, behind) = rest.split_at(end(rest).unwrap_or(rest.len()));
            let (theirs, next) = behind.split_at(begin(behind).unwrap_or(behind.len()));
            regions.push((ours, theirs));
            rest = next;
        }
        Regions { before, regions }
    }
}

/// Whether a line begins at a place in a text.
pub fn is_line_start(text: &str, at: usize) -> bool {
    at == 0 || text.as_bytes()[at - 1] == b'\n'
}
