//! Words: how much a word says about the text it stands in.

use std::collections::HashSet;
use std::sync::LazyLock;

use foldhash::fast::RandomState;

use crate::base::common_words;
use crate::base::stem::stem;
use crate::base::text::{self, Word};

/// How much a word says: nothing for the commonest, more the rarer its kind is in ordinary prose.
pub fn weight(word: &str) -> f32 {
    let length = word.chars().count();
    let ascii = word.is_ascii();
    if length > 48 || (ascii && length < 3) {
        return 0.0;
    }
    if let Some(place) = common_words::place(word) {
        // Only the commonest say nothing at all: what is common in manuals may be just what
        // somebody asks for.
        let share = place as f32 / common_words::count() as f32;
        return if place < common_words::STOP_WORDS { 0.0 } else { 0.9 * share.powf(0.3) };
    }
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    if digits == word.len() {
        // Numbers are typed now and then (ports, issues, years), but most are noise.
        return if (3..=5).contains(&length) { 0.5 } else { 0.0 };
    }
    let letters = word.chars().filter(|letter| letter.is_alphabetic()).count();
    if ascii && letters < 3 && digits > 0 {
        // `0.5s`, `16_08`, `v2`: measured or counted, and different the next time.
        return 0.0;
    }
    if ascii && length >= 20 && digits >= 6 && !word.contains(['.', '_']) {
        return 0.0;
    }
    if word.contains('/') {
        // A path is found by its file name, which people remember.
        return 0.0;
    }
    if word.contains(['_', '.', ':']) { 1.2 } else { 1.0 }
}

/// Whether a word is the name of a folder within a path: `src` and `store` of `src/store/day.rs`,
/// but no word of `read/write`.
pub fn is_folder_name(value: &str, start: usize, end: usize) -> bool {
    let Some(rest) = value[end..].strip_prefix('/') else { return false };
    let ends = |letter: char| letter.is_whitespace() || "\"'`()[]<>,;".contains(letter);
    let after =
        || rest.split(ends).next().unwrap_or_default().trim_end_matches(['.', ':', '!', '?']);
    value[..start].ends_with('/') || after().contains(['/', '.'])
}

/// Whether a word stands in a list of words, which are separated by spaces.
pub fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// How many different weighty words a sentence has.
pub fn weighty_count(sentence: &str) -> usize {
    distinct(sentence, |word| weight(word) > 0.2).len()
}

/// How much a sentence says.
pub fn sentence_weight(sentence: &str) -> f32 {
    // Summed in order: the sum of floats depends on it, and a set has none.
    let mut weights: Vec<f32> =
        distinct(sentence, |_| true).iter().map(|word| weight(word).min(1.0)).collect();
    weights.sort_by(f32::total_cmp);
    weights.iter().sum()
}

/// The different whole words of a sentence for which `counts` says so.
fn distinct(sentence: &str, counts: impl Fn(&str) -> bool) -> HashSet<String, RandomState> {
    let mut words = HashSet::default();
    text::each_word(sentence, |word| {
        if word.whole && counts(&word.text) {
            words.insert(word.text.into_owned());
        }
    });
    words
}

/// The different words of a text that say what it is about, as stems, in their order: no everyday
/// words, and none that every session has ("please fix the failing test").
pub fn telling(text: &str) -> Vec<String> {
    static ROUTINE: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        let words = "please need want see look check think thing things know okay like feature file \
            files code change changes issue issues work sure done good here some add fix update \
            commit push test tests branch main comment comments feedback review make sure let lets \
            also just now still can could should would you your the this that with from http https \
            com www github pull";
        words.split_whitespace().collect()
    });
    let mut telling: Vec<String> = Vec::new();
    text::each_word(text, |word| {
        let counts = word.whole
            && common_words::place(&word.text)
                .is_none_or(|place| place >= common_words::STOP_WORDS)
            && (word.text.len() > 2 || !word.text.is_ascii())
            && !word.text.bytes().all(|byte| byte.is_ascii_digit())
            && !ROUTINE.contains(word.text.as_ref());
        if counts {
            let stem = stem(&word.text).to_string();
            if !telling.contains(&stem) {
                telling.push(stem);
            }
        }
    });
    telling
}

/// The stems of the words of a text for which `counts` says so.
pub fn stems(text: &str, counts: impl Fn(&Word<'_>) -> bool) -> HashSet<String> {
    let mut stems = HashSet::new();
    text::each_word(text, |word| {
        if counts(&word) {
            stems.insert(stem(&word.text).to_string());
        }
    });
    stems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_remembered_by_its_last_name() {
        let folders = |value: &str| -> Vec<String> {
            let mut folders = Vec::new();
            text::each_word(value, |word| {
                if is_folder_name(value, word.start, word.end) {
                    folders.push(word.text.into_owned());
                }
            });
            folders
        };
        assert_eq!(folders("see `src/store/day.rs`, please"), ["src", "store"]);
        assert_eq!(folders("/home/dev/x"), ["home", "dev"]);
        assert!(folders("read/write is fine. either/or.").is_empty());
    }

    #[test]
    fn common_words_weigh_nothing_and_names_do() {
        assert_eq!(weight("the"), 0.0);
        assert!(weight("retry_backoff") > weight("orchid") && weight("orchid") > weight("buffer"));
    }
}
