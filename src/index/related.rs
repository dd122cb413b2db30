//! Related words: people ask in other words than those they worked in. Who looks for what *wiped the leftovers*
//! should find the session that *removed stale files*.
//!
//! The table is written by hand and knows the words of work on software, no project's own. What it adds to a
//! query counts less than what was asked for, and of all the words that stand for one only the best counts.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::folded;

static RELATED: LazyLock<HashMap<&'static str, Vec<&'static str>>> = LazyLock::new(|| {
    let mut related: HashMap<&str, Vec<&str>> = HashMap::new();
    let lines = include_str!("../../templates/related-words.txt").lines();
    for group in lines.filter(|line| !line.starts_with('#')) {
        let group: Vec<&str> = group.split_whitespace().map(folded).collect();
        for word in &group {
            let others = related.entry(word).or_default();
            for other in group.iter().filter(|other| *other != word) {
                if !others.contains(other) {
                    others.push(other);
                }
            }
        }
    }
    related
});

/// The words that may stand for one, all as the index keeps them; in the order of the table.
pub fn related(word: &str) -> &'static [&'static str] {
    RELATED.get(word).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_for_one_another() {
        for (asked, written) in [("wipe", "remove"), ("folder", "directory"), ("broke", "broken"), ("ticket", "issue")]
        {
            assert!(related(folded(asked)).contains(&folded(written)), "{asked}");
            assert!(related(folded(written)).contains(&folded(asked)), "{written}");
        }
        assert!(related("xylophone").is_empty());
    }

    #[test]
    fn the_table_is_tidy() {
        for (word, others) in RELATED.iter() {
            assert!(!others.contains(word) && others.len() <= 16, "{word}: {others:?}");
        }
        for line in include_str!("../../templates/related-words.txt").lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert!(line.starts_with('#') || words.is_empty() || words.len() > 1, "alone: {line}");
            assert!(line.starts_with('#') || !line.contains(|c: char| c.is_uppercase()), "{line}");
        }
    }
}
