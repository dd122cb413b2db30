//! Word forms: `locks`, `locked` and `locking` are one word to a person who asks for it.

/// A word without its English ending, so that its forms are one; only ever shorter, never changed.
pub fn folded(word: &str) -> &str {
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word;
    }
    let has_vowel = |stem: &str| stem.bytes().any(|byte| b"aeiouy".contains(&byte));
    let without = |word: &mut &str, ending: &str, least: usize| {
        let stem = word.strip_suffix(ending).filter(|stem| stem.len() >= least && has_vowel(stem));
        *word = stem.unwrap_or(word);
        stem.is_some()
    };
    let mut stem = word;
    // A final `y` counts as part of the ending, since `ies` and `ied` stand for it.
    if without(&mut stem, "ies", 2) || without(&mut stem, "ied", 2) {
        return stem;
    }
    if !stem.ends_with("ss") && !stem.ends_with("us") && !stem.ends_with("is") {
        without(&mut stem, "s", 3);
    }
    let _ = without(&mut stem, "ing", 3) || (!stem.ends_with("eed") && without(&mut stem, "ed", 3));
    if stem.ends_with("tion") || stem.ends_with("sion") {
        without(&mut stem, "ion", 3);
    }
    if stem.len() > 5 {
        without(&mut stem, "ly", 4);
    }
    without(&mut stem, "e", 3);
    let bytes = stem.as_bytes();
    if let [.., before, last] = bytes
        && stem.len() > 3
    {
        let vowel = |byte: &u8| b"aeiou".contains(byte);
        let doubled = before == last && !vowel(last);
        if doubled || (*last == b'y' && !vowel(before)) {
            stem = &stem[..stem.len() - 1];
        }
    }
    stem
}
