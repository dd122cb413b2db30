//! The nearest of some known words is the one that was probably meant by a mistyped one.
//!
//! Nearness is counted in slips: letters inserted, left out, replaced, or swapped with their
//! neighbour.

/// Returns the known word that was probably meant, or none when all are too far away.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.to_lowercase().chars().collect();
    let mut best = None;
    for candidate in known {
        let letters: Vec<char> = candidate.to_lowercase().chars().collect();
        let limit = (word.len().max(letters.len()) / 3).max(1);
        let distance = edit_distance(&word, &letters);
        // A single letter is one edit away from every other.
        if distance > limit || distance >= letters.len() {
            continue;
        }
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Counts insertions, deletions, replacements and swaps of neighbours between two words.
fn edit_distance(left: &[char], right: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (row, from) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, to) in right.iter().enumerate() {
            let replaced = above[column] + usize::from(from != to);
            let mut least = replaced.min(above[column + 1] + 1).min(current[column] + 1);
            let swapped =
                row > 0 && column > 0 && left[row - 1] == *to && right[column - 1] == *from;
            if swapped {
                least = least.min(before[column - 1] + 1);
            }
            current.push(least);
        }
        before = std::mem::replace(&mut above, current);
    }
    above[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words() {
        let known = ["claude", "codex", "gemini", "grok"];
        assert_eq!(nearest("gemni", known), Some("gemini"));
        assert_eq!(nearest("Cluade", known), Some("claude"));
        assert_eq!(nearest("codx", known), Some("codex"));
        assert_eq!(nearest("zebra", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest("x", ["y"]), None);
    }
}
