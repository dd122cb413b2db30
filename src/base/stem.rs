//! Word forms: `locks`, `locked` and `locking` are one word to a person who asks for it.

/// A word without its English ending, so that its forms are one; only ever shorter, never changed.
pub fn stem(word: &str) -> &str {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_one() {
        for family in [
            "lock locks locked locking",
            "cache caches cached caching",
            "retry retries retried retrying",
            "run runs running",
            "process processes processed processing",
            "box boxes",
            "migrate migration migrations",
            "connect connected connection connections",
            "query queries querying",
            "stop stopped stopping",
            "call calls called calling",
            "fix fixes fixed fixing",
            "error errors",
            "quick quickly",
            "file files",
            "class classes",
            "code coded coding",
            "add added adding",
            "copy copies copied copying",
            "control controls controlled controlling",
            "resolve resolves resolved resolving",
        ] {
            let stems: Vec<&str> = family.split(' ').map(stem).collect();
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{family}: {stems:?}");
        }
    }

    #[test]
    fn other_words_stay_apart() {
        for (a, b) in [
            ("string", "str"),
            ("need", "ned"),
            ("status", "stat"),
            ("this", "thi"),
            ("speed", "spe"),
        ] {
            assert_ne!(stem(a), stem(b));
        }
        for word in ["src/days.rs", "retry_backoffs", "bus", "été", "数据库", "v2.1s", "ss", ""]
        {
            assert_eq!(stem(word), word);
        }
    }
}
