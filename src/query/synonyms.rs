//! Synonyms: people ask in other words than those they worked in. Who looks for what *wiped
//! the leftovers* should find the session that *removed stale files*.
//!
//! The table is written by hand and knows the words of work on software, no project's own. What it
//! adds to a query counts less than what was asked for, and of all the words that stand for one
//! only the best counts.

use memchr::memmem;

use super::terms::stem;

/// One group of words on each line, and comments.
const TABLE: &str = include_str!("../../templates/related-words.txt");

/// The words that may stand for one, all as the index keeps them; in the order of the table.
///
/// The table is looked through as it is: a process asks for a few words only, and to stem all of
/// them first would cost more than the rest of a search.
pub fn synonyms(word: &str) -> Vec<&'static str> {
    let mut related = Vec::new();
    // Stemming takes from the end of a word alone, so whatever has this stem begins with it.
    let mut done = 0;
    for at in memmem::find_iter(TABLE.as_bytes(), word.as_bytes()) {
        let begins = TABLE[..at].chars().next_back().is_none_or(char::is_whitespace);
        if at < done || !begins {
            continue;
        }
        let line = TABLE[..at].rfind('\n').map_or(0, |end| end + 1);
        let group = TABLE[line..].lines().next().unwrap_or_default();
        let found = TABLE[at..].split_whitespace().next().is_some_and(|whole| stem(whole) == word);
        if word.is_empty() || group.starts_with('#') || !found {
            continue;
        }
        done = line + group.len();
        for other in group.split_whitespace().map(stem).filter(|other| *other != word) {
            if !related.contains(&other) {
                related.push(other);
            }
        }
    }
    related
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_for_one_another() {
        for (asked, written) in
            [("wipe", "remove"), ("folder", "directory"), ("broke", "broken"), ("ticket", "issue")]
        {
            assert!(synonyms(stem(asked)).contains(&stem(written)), "{asked}");
            assert!(synonyms(stem(written)).contains(&stem(asked)), "{written}");
        }
        assert!(synonyms("xylophone").is_empty());
    }

    #[test]
    fn the_table_is_tidy() {
        for group in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let group: Vec<&str> = group.split_whitespace().map(stem).collect();
            for word in &group {
                let others = synonyms(word);
                assert!(
                    group.iter().all(|other| other == word || others.contains(other)),
                    "{word}: {others:?}"
                );
                assert!(!others.contains(word) && others.len() <= 16, "{word}: {others:?}");
            }
        }
        for line in TABLE.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert!(line.starts_with('#') || words.is_empty() || words.len() > 1, "alone: {line}");
            assert!(line.starts_with('#') || !line.contains(|c: char| c.is_uppercase()), "{line}");
        }
    }
}
