//! The shape of a value: whether its letters and digits are words, or stand at random.

/// Counts the places where the class of character changes, except after a capital, as names have
/// it.
pub(super) fn splits(segment: &str) -> usize {
    let class = |byte: u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let pairs = segment.as_bytes().windows(2);
    pairs
        .filter(|pair| {
            class(pair[0]) != class(pair[1]) && (class(pair[0]), class(pair[1])) != (1, 0)
        })
        .count()
}

/// Whether a value is made of words and small numbers, such as `e2e-user-token`, `access-123` or
/// `tokenV2`.
pub(super) fn is_wordy(value: &str) -> bool {
    let mut scattered = 0;
    let mut is_word = |segment: &str| {
        let digits = segment.bytes().filter(u8::is_ascii_digit).count();
        if digits == segment.len() {
            return digits <= 3;
        }
        scattered += digits;
        digits <= 1 && splits(segment) * 4 <= segment.len() + 8
    };
    value.split(|c: char| !c.is_ascii_alphanumeric()).all(&mut is_word) && scattered < 3
}
