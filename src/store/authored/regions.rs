//! Regions: pages of which the stretches between two marks are ours as a whole, and the rest is a
//! person's.

/// A page, cut at its marks.
#[derive(Debug, PartialEq)]
pub struct Regions<'t> {
    /// What stands before the first region: all of it, where there is none.
    pub before: &'t str,
    /// Each region with its marks, and what follows it. A merge may have doubled what is ours.
    pub regions: Vec<(&'t str, &'t str)>,
}

impl<'t> Regions<'t> {
    /// Cuts a page. `begin` finds the start of a region, `end` the place behind its end; one
    /// without an end reaches to the end of the page.
    pub fn of(
        page: &'t str,
        begin: impl Fn(&str) -> Option<usize>,
        end: impl Fn(&str) -> Option<usize>,
    ) -> Regions<'t> {
        let (before, rest) = page.split_at(begin(page).unwrap_or(page.len()));
        Regions { before, ..Regions::from_start(rest, begin, end) }
    }

    /// Cuts a page that begins with a region.
    pub fn from_start(
        page: &'t str,
        begin: impl Fn(&str) -> Option<usize>,
        end: impl Fn(&str) -> Option<usize>,
    ) -> Regions<'t> {
        let (mut rest, mut regions) = (page, Vec::new());
        while !rest.is_empty() {
            let (ours, behind) = rest.split_at(end(rest).unwrap_or(rest.len()));
            let (theirs, next) = behind.split_at(begin(behind).unwrap_or(behind.len()));
            regions.push((ours, theirs));
            rest = next;
        }
        Regions { before: "", regions }
    }
}

/// The first place where a line begins with a mark.
pub fn find_line(text: &str, mark: &str) -> Option<usize> {
    text.match_indices(mark).map(|(at, _)| at).find(|at| is_line_start(text, *at))
}

/// Whether a line begins at a place in a text.
pub fn is_line_start(text: &str, at: usize) -> bool {
    at == 0 || text.as_bytes()[at - 1] == b'\n'
}
