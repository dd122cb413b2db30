//! Three-way merge: what two sides made of one text, joined line by line.
//!
//! What only one side changed is taken from it. Where both changed the same lines, the lines of
//! both stay: nothing that anybody wrote goes.

use std::collections::HashSet;

use super::diff::common_lines;

/// What came of a text on two sides, joined.
pub fn merge3(base: &str, ours: &str, theirs: &str) -> String {
    if ours == theirs || theirs == base {
        return ours.to_string();
    }
    if ours == base {
        return theirs.to_string();
    }
    let split = |text| str::split_inclusive(text, '\n').collect::<Vec<&str>>();
    let [base, ours, theirs] = [base, ours, theirs].map(split);
    let [in_ours, in_theirs] = [&ours, &theirs].map(|side| places(&base, side));
    let mut joined = Joined(String::new());
    let (mut at, mut at_ours, mut at_theirs) = (0, 0, 0);
    loop {
        // The next line that both sides still have.
        let both = |line: &usize| in_ours[*line].is_some() && in_theirs[*line].is_some();
        let kept = (at..base.len()).find(both);
        let end = kept.unwrap_or(base.len());
        let end_ours = kept.and_then(|line| in_ours[line]).unwrap_or(ours.len());
        let end_theirs = kept.and_then(|line| in_theirs[line]).unwrap_or(theirs.len());
        joined.change(&base[at..end], &ours[at_ours..end_ours], &theirs[at_theirs..end_theirs]);
        let Some(line) = kept else { break };
        joined.push(ours[end_ours]);
        (at, at_ours, at_theirs) = (line + 1, end_ours + 1, end_theirs + 1);
    }
    joined.0
}

/// Two texts joined of which nobody knows what they come from: the lines of both.
pub fn union(ours: &str, theirs: &str) -> String {
    let split = |text| str::split_inclusive(text, '\n').collect::<Vec<&str>>();
    let lines = split(ours);
    let common = common_lines(&lines, &split(theirs));
    let base: String = common.into_iter().map(|(line, _)| lines[line]).collect();
    merge3(&base, ours, theirs)
}

/// Where each line of a base is on a side, if it is.
fn places(base: &[&str], side: &[&str]) -> Vec<Option<usize>> {
    let mut places = vec![None; base.len()];
    for (line, there) in common_lines(base, side) {
        places[line] = Some(there);
    }
    places
}

struct Joined(String);

impl Joined {
    fn push(&mut self, line: &str) {
        if !self.0.is_empty() && !self.0.ends_with('\n') {
            self.0.push('\n');
        }
        self.0.push_str(line);
    }

    /// Adds what two sides made of a stretch.
    fn change<'t>(&mut self, base: &'t [&'t str], ours: &'t [&'t str], theirs: &'t [&'t str]) {
        // A line without an end is the same as one with it.
        let texts = |lines: &'t [&'t str]| lines.iter().map(|line| text(line)).collect::<Vec<_>>();
        let [old, our, their] = [base, ours, theirs].map(texts);
        if our == old && their != old {
            return theirs.iter().for_each(|line| self.push(line));
        }
        ours.iter().for_each(|line| self.push(line));
        if their != old && their != our {
            let known: HashSet<&str> = our.into_iter().chain(old).collect();
            let new = theirs.iter().filter(|line| !known.contains(text(line)));
            new.for_each(|line| self.push(line));
        }
    }
}

fn text(line: &str) -> &str {
    line.trim_end_matches(['\r', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(base: &str, ours: &str, theirs: &str, expect: &str) {
        assert_eq!(merge3(base, ours, theirs), expect);
    }

    #[test]
    fn each_side_keeps_what_it_changed() {
        check("a\nb\nc\n", "a\nB\nc\n", "a\nb\nc\nd\n", "a\nB\nc\nd\n");
        check("a\nb\nc\n", "a\nc\n", "a\nb\nc\nd\n", "a\nc\nd\n");
        check("a\n", "a\none\n", "a\ntwo\n", "a\none\ntwo\n");
        check("a\n", "a\none\n", "a\none\ntwo\n", "a\none\ntwo\n");
        check("a\nb\n", "a\nours\n", "a\ntheirs\n", "a\nours\ntheirs\n");
        check("a", "a\none", "a\ntwo\n", "a\none\ntwo\n");
        check("", "x\n", "y\n", "x\ny\n");
        check("a\nb\n", "a\nb\n", "b\n", "b\n");
    }

    #[test]
    fn a_union_has_the_lines_of_both_once() {
        assert_eq!(union("a\nb\nd\n", "a\nc\nd\ne\n"), "a\nb\nc\nd\ne\n");
        assert_eq!(union("a\n", "a\n"), "a\n");
        assert_eq!(union("", "a\n"), "a\n");
    }
}
