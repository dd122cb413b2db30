//! A seed phrase: the twelve to twenty-four plain words from which a wallet's keys are made.

use std::ops::Range;

/// What announces one.
pub(super) const ANCHORS: &[&str] = &[
    "seed", "mnemonic", "recovery phrase", "recovery words", "backup phrase", "secret phrase",
    "wallet", "bip39", "bip-39", "phrase", "12 words", "24 words", "secret words",
];

/// Words that no list of seeds has and hardly any sentence lacks.
const STOP_WORDS: &[&str] = &[
    "the", "and", "for", "with", "from", "not", "but", "are", "was", "were", "has", "have", "had",
    "its", "his", "her", "our", "their", "which", "what", "who", "how", "why", "does", "did",
    "should", "would", "could", "into", "our", "been", "there", "here", "them", "then", "than",
    "where", "being", "your", "let", "get", "set", "run", "new", "file", "files", "test", "tests",
    "code", "function", "value",
];

/// Finds the seed phrase that the word at `start` announces.
pub(super) fn read(text: &str, start: usize, found: &mut dyn FnMut(Range<usize>)) {
    let window = super::cut(&text[start..], 600);
    let mut run: Vec<Range<usize>> = Vec::new();
    let mut first_end = None;
    for word in words(window) {
        let value = &window[word.clone()];
        let fits = (3..=8).contains(&value.len())
            && value.bytes().all(|byte| byte.is_ascii_lowercase())
            && !STOP_WORDS.contains(&value);
        let joined = run.last().is_none_or(|last| is_gap(&window[last.end..word.start]));
        if fits && joined && run.len() < 24 {
            run.push(word);
            continue;
        }
        if run.len() >= 12 {
            break;
        }
        first_end.get_or_insert(word.end);
        // The phrase begins soon behind what announces it.
        if word.start > 160 {
            return;
        }
        run.clear();
        if fits {
            run.push(word);
        }
    }
    // `seed phrase abandon …`: the announcing words are no part of it.
    let own = |value: &str| {
        ["seed", "phrase", "mnemonic", "words", "wallet", "secret", "backup"].contains(&value)
    };
    let skip = run.iter().take_while(|word| own(&window[(*word).clone()])).count();
    let run = &run[skip..];
    if let ([first, ..], [.., last]) = (run, run)
        && run.len() >= 12
    {
        found(start + first.start..start + last.end);
    }
}

/// Whether only a space, a comma, a number of a list or a line's end stands between two words.
fn is_gap(gap: &str) -> bool {
    gap.len() <= 16
        && gap.chars().all(|c| c.is_ascii_digit() || " \t\r\n,.)|\\n\"'`-".contains(c))
        && !gap.contains(". ") | gap.contains(|c: char| c.is_ascii_digit())
}

fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let from = at + rest.find(char::is_alphabetic)?;
        let length = text[from..].find(|c: char| !c.is_alphanumeric() && c != '_');
        at = length.map_or(text.len(), |length| from + length);
        Some(from..at)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, untouched};

    #[test]
    fn announced_phrases() {
        let words =
            "lamp orbit velvet canyon brisk melody harbor cactus fossil jungle mirror tunnel";
        check(&format!("my seed phrase: {words}"), "my seed phrase: [redacted:seed-phrase]");
        let list: String = words
            .split(' ')
            .enumerate()
            .map(|(at, word)| format!("{}. {word}\n", at + 1))
            .collect();
        let clean = super::super::Redactor::new();
        let clean = clean.redact(&format!("mnemonic:\n{list}")).into_owned();
        assert!(!clean.contains("velvet") && !clean.contains("tunnel"), "{clean}");
        untouched(
            "the seed phrase should never be written into a file that other people can read or copy",
        );
    }
}
