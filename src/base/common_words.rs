//! Common words: how much a word says, by its place in a table that ships with the program.

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::RandomState;

/// So many of the commonest words are stop words: no page has to have them.
pub const STOP_WORDS: usize = 200;
/// So many are everyday words; those that follow are common in work on software and in manuals.
pub const EVERYDAY: usize = 468;

static PLACES: LazyLock<HashMap<&'static str, usize, RandomState>> =
    LazyLock::new(|| table().enumerate().map(|(place, word)| (word, place)).collect());

fn table() -> impl Iterator<Item = &'static str> {
    let lines = include_str!("../../templates/common-words.txt").lines();
    lines.filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace)
}

/// The place of a word, in lower case, in the table: the commonest first. `None` where it is not
/// common.
pub fn place(word: &str) -> Option<usize> {
    PLACES.get(word).copied()
}

/// The place of an everyday word, in lower case. It is looked for in the table as it is: a search
/// asks for a few words only, and to sort all of them first would cost more than that.
pub fn everyday_place(word: &str) -> Option<usize> {
    table().take(EVERYDAY).position(|one| one == word)
}

/// How many words the table has.
pub fn count() -> usize {
    PLACES.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_ordered_from_the_commonest_on() {
        assert!(place("the") < place("thing") && place("thing") < place("buffer"));
        assert!(place("made").is_some_and(|place| place < STOP_WORDS));
        assert!(place("worst").is_some_and(|place| (STOP_WORDS..EVERYDAY).contains(&place)));
        assert!(
            place("user").is_some_and(|place| place >= EVERYDAY) && place("xylophone").is_none()
        );
        assert!(count() > 2000);
        for word in ["the", "made", "worst", "user", "buffer", "xylophone"] {
            assert_eq!(
                everyday_place(word),
                place(word).filter(|place| *place < EVERYDAY),
                "{word}"
            );
        }
    }
}
