//! Differences: what changed between two texts, line by line, as `diff -u` shows it.

/// How many lines that stayed are shown around a change.
const AROUND: usize = 3;
/// Texts whose changed parts have more lines than this are shown as replaced: to find what stayed
/// between would take too long.
const MOST_LINES: usize = 2000;

/// A line of a difference, with the number of lines before it on both sides.
#[derive(Clone, Copy)]
struct Line<'t> {
    sign: char,
    text: &'t str,
    before: usize,
    after: usize,
}

/// The difference of two texts under their names; empty where there is none.
pub fn diff(before: &str, after: &str, names: [&str; 2]) -> String {
    let lines = lines(before, after);
    let is_near = |at: usize| {
        let around = &lines[at.saturating_sub(AROUND)..(at + AROUND + 1).min(lines.len())];
        around.iter().any(|line| line.sign != ' ')
    };
    let near: Vec<bool> = (0..lines.len()).map(is_near).collect();
    let mut shown = String::new();
    let mut at = 0;
    while let Some(start) = (at..lines.len()).find(|at| near[*at]) {
        let end = (start..lines.len()).find(|at| !near[*at]).unwrap_or(lines.len());
        if shown.is_empty() {
            shown = format!("--- {}\n+++ {}\n", names[0], names[1]);
        }
        hunk(&lines[start..end], &mut shown);
        at = end;
    }
    shown
}

fn hunk(lines: &[Line<'_>], shown: &mut String) {
    // A side without lines is counted from the line before it.
    let range =
        |first: usize, other: char| match lines.iter().filter(|line| line.sign != other).count() {
            0 => format!("{first},0"),
            1 => format!("{}", first + 1),
            count => format!("{},{count}", first + 1),
        };
    let (before, after) = (range(lines[0].before, '+'), range(lines[0].after, '-'));
    shown.push_str(&format!("@@ -{before} +{after} @@\n"));
    for line in lines {
        shown.push(line.sign);
        shown.push_str(line.text);
        if !line.text.ends_with('\n') {
            shown.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// All lines of both texts: those that stayed, those that went, and those that came.
fn lines<'t>(before: &'t str, after: &'t str) -> Vec<Line<'t>> {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let mut lines = Vec::with_capacity(old.len() + new.len());
    let (mut at_old, mut at_new) = (0, 0);
    for (one, other) in common_lines(&old, &new).into_iter().chain([(old.len(), new.len())]) {
        let gone =
            old[at_old..one].iter().enumerate().map(|(at, text)| ('-', text, at_old + at, at_new));
        let came =
            new[at_new..other].iter().enumerate().map(|(at, text)| ('+', text, one, at_new + at));
        let same = old.get(one).map(|text| (' ', text, one, other));
        let all = gone.chain(came).chain(same);
        lines.extend(all.map(|(sign, text, before, after)| Line { sign, text, before, after }));
        (at_old, at_new) = (one + 1, other + 1);
    }
    lines
}

/// The places of the lines that stayed.
pub(super) fn common_lines(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let head = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let tail = old[head..]
        .iter()
        .rev()
        .zip(new[head..].iter().rev())
        .take_while(|(one, other)| one == other)
        .count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let stayed = longest_common(&old[head..old_end], &new[head..new_end]);
    let common = (0..head).map(|at| (at, at));
    let common = common.chain(stayed.into_iter().map(|(one, other)| (head + one, head + other)));
    common.chain((0..tail).map(|at| (old_end + at, new_end + at))).collect()
}

/// The places of the lines that two lists have in common, as many as can be in order.
fn longest_common(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    if old.is_empty() || new.is_empty() || old.len().max(new.len()) > MOST_LINES {
        return Vec::new();
    }
    let width = new.len() + 1;
    // How many are in common from each place on.
    let mut lengths = vec![0u16; (old.len() + 1) * width];
    for one in (0..old.len()).rev() {
        for other in (0..new.len()).rev() {
            lengths[one * width + other] = match old[one] == new[other] {
                true => lengths[(one + 1) * width + other + 1] + 1,
                false => lengths[(one + 1) * width + other].max(lengths[one * width + other + 1]),
            };
        }
    }
    let (mut common, mut one, mut other) = (Vec::new(), 0, 0);
    while one < old.len() && other < new.len() {
        if old[one] == new[other] {
            common.push((one, other));
            (one, other) = (one + 1, other + 1);
        } else if lengths[(one + 1) * width + other] >= lengths[one * width + other + 1] {
            one += 1;
        } else {
            other += 1;
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, expect: &str) {
        assert_eq!(diff(before, after, ["a", "b"]), expect);
    }

    #[test]
    fn differences_read_as_those_of_diff() {
        check("a\nb\n", "a\nb\n", "");
        check("", "a\nb\n", "--- a\n+++ b\n@@ -0,0 +1,2 @@\n+a\n+b\n");
        check("a\n", "", "--- a\n+++ b\n@@ -1 +0,0 @@\n-a\n");
        check("a\nb\nc\n", "a\nx\nc\n", "--- a\n+++ b\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n");
        check(
            "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
            "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n",
            "--- a\n+++ b\n@@ -7,3 +7,4 @@\n 7\n 8\n 9\n+10\n",
        );
        check(
            "a\nb",
            "a\nc\n",
            "--- a\n+++ b\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n",
        );
        check(
            "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n",
            "1\n2\n3\n4\n5\n6\n7\n8\nx\n",
            "--- a\n+++ b\n@@ -1,4 +1,3 @@\n-0\n 1\n 2\n 3\n@@ -7,4 +6,4 @@\n 6\n 7\n 8\n-9\n+x\n",
        );
        check("a\nb\nc\nd\n", "b\nd\ne\n", "--- a\n+++ b\n@@ -1,4 +1,3 @@\n-a\n b\n-c\n d\n+e\n");
    }

    #[test]
    fn what_is_too_long_to_compare_is_shown_as_replaced() {
        let text =
            |word: &str| (0..3000).map(|line| format!("{word} {line}\n")).collect::<String>();
        let shown = diff(&text("old"), &text("new"), ["a", "b"]);
        assert!(shown.contains("@@ -1,3000 +1,3000 @@\n-old 0\n"));
    }
}
