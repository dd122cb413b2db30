//! Words for a shell: commands that a person is shown to copy, or that others run for us.

/// What needs no quotes in a word of a command line.
pub const WORDS: &str = "/._-+:,@%=";

/// A path, or whatever else, as a shell reads it back.
pub fn quoted(path: &str) -> String {
    word(path, "/._-")
}

/// A word as a shell reads it back: in quotes, unless it has only letters, digits and what is
/// `plain`.
pub fn word(word: &str, plain: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || plain.contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_back_as_it_was() {
        assert_eq!(quoted("/a/b-c.d"), "/a/b-c.d");
        assert_eq!(quoted("it's; rm"), "'it'\\''s; rm'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("a=b"), "'a=b'");
        assert_eq!(word("a=b", WORDS), "a=b");
        assert_eq!(word("größe", WORDS), "'größe'");
    }
}
