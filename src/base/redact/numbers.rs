//! Numbers that are secret by themselves: those of payment cards, and of accounts where a word
//! announces them. Their check digits tell them from any other number.

use std::ops::Range;

/// The shortest number of a card.
const SHORTEST: usize = 13;

/// Calls `each` with every card number, looking at one byte in each stride.
pub(super) fn each_card(text: &str, mut each: impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    let mut at = SHORTEST - 1;
    let mut floor = 0;
    while at < bytes.len() {
        if !is_within(bytes, at) {
            floor = at + 1;
            at += SHORTEST;
            continue;
        }
        let (mut start, mut end) = (at, at + 1);
        while start > floor && is_within(bytes, start - 1) {
            start -= 1;
        }
        while end < bytes.len() && is_within(bytes, end) {
            end += 1;
        }
        if end - start >= SHORTEST {
            look(text, start..end, &mut each);
        }
        floor = end;
        at = end + SHORTEST;
    }
}

/// Whether a byte is a digit, or one space or hyphen between two.
fn is_within(bytes: &[u8], at: usize) -> bool {
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    digit(at) || (matches!(bytes[at], b' ' | b'-') && at > 0 && digit(at - 1) && digit(at + 1))
}

fn look(text: &str, range: Range<usize>, each: &mut impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    // A fraction, a hexadecimal number, a part of a name.
    let glued = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/'))
    };
    let dot_ends = bytes.get(range.end) == Some(&b'.')
        && !bytes.get(range.end + 1).is_some_and(u8::is_ascii_digit);
    let before = range.start.checked_sub(1).and_then(|at| bytes.get(at));
    let glued_before = glued(before) && !matches!(before, Some(b'/' | b'_'));
    if glued_before
        || (glued(bytes.get(range.end)) && !dot_ends && bytes.get(range.end) != Some(&b'/'))
    {
        return;
    }
    let groups: Vec<&str> = text[range.clone()].split([' ', '-']).collect();
    let sizes: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let grouped = matches!(
        sizes.as_slice(),
        [_] | [4, 4, 4, 4] | [4, 6, 5] | [4, 6, 4] | [4, 4, 4, 4, 3] | [4, 4, 5] | [4, 4, 4, 1]
    );
    let digits: Vec<u8> = groups.concat().bytes().map(|byte| byte - b'0').collect();
    if grouped && is_card(&digits) {
        each(range);
    }
}

/// Whether digits are those of a card: an issuer's first ones, its length, and the check digit.
fn is_card(digits: &[u8]) -> bool {
    let prefix =
        |length: usize| digits.iter().take(length).fold(0u32, |n, d| n * 10 + u32::from(*d));
    let (two, three, four) = (prefix(2), prefix(3), prefix(4));
    let issued = match digits.len() {
        13 => false,
        14 => matches!(two, 36 | 38 | 39) || (300..=305).contains(&three),
        15 => matches!(two, 34 | 37),
        16 => {
            two / 10 == 4
                || (51..=55).contains(&two)
                || (2221..=2720).contains(&four)
                || matches!(two, 62 | 65)
                || four == 6011
                || (644..=649).contains(&three)
                || (3528..=3589).contains(&four)
        }
        17..=19 => two == 62 || (two / 10 == 4 && digits.len() == 19),
        _ => false,
    };
    issued && has_check_digit(digits) && digits.iter().any(|digit| *digit != digits[0])
}

/// Luhn's check.
fn has_check_digit(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, &digit)| match at % 2 {
            0 => u32::from(digit),
            _ => u32::from(digit * 2 / 10 + digit * 2 % 10),
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Finds the account number that the word `IBAN` at `start` announces.
pub(super) fn read_iban(text: &str, start: usize, found: &mut dyn FnMut(Range<usize>)) {
    let rest = super::cut(&text[start + "iban".len()..], 120);
    let offset = start + "iban".len();
    let starts = rest.char_indices().map(|(at, _)| at).take(60);
    for at in starts {
        let bytes = rest.as_bytes();
        let is_country = bytes[at].is_ascii_uppercase()
            && bytes.get(at + 1).is_some_and(u8::is_ascii_uppercase)
            && bytes.get(at + 2).is_some_and(u8::is_ascii_digit)
            && bytes.get(at + 3).is_some_and(u8::is_ascii_digit);
        if !is_country {
            continue;
        }
        let length = rest[at..]
            .bytes()
            .take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b' ')
            .count();
        let mut end = at + length;
        // The words behind it may look like a part of it.
        while end > at + 14 {
            if is_iban(&rest[at..end]) {
                return found(offset + at..offset + end);
            }
            end -= 1;
        }
    }
}

fn is_iban(value: &str) -> bool {
    let value: String = value.chars().filter(|c| *c != ' ').collect();
    if !(15..=34).contains(&value.len()) {
        return false;
    }
    let turned = value[4..].bytes().chain(value[..4].bytes());
    let rest = turned.fold(0u32, |rest, byte| match byte {
        b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
        _ => (rest * 100 + u32::from(byte - b'A') + 10) % 97,
    });
    rest == 1
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, untouched};

    #[test]
    fn cards_by_their_check_digit() {
        let card = ["4539 1488", "0343 6467"].join(" ");
        check(&format!("pay with {card} please"), "pay with [redacted:card-number] please");
        check(&format!("card={}", card.replace(' ', "")), "card=[redacted:card-number]");
        check(&card.replace(' ', "-"), "[redacted:card-number]");
        untouched("pay with 4539 1488 0343 6468 please");
        untouched("at 1763400000000 and 1763400000000000 ms");
        untouched("0.4539148803436467 and x4539148803436467y");
        untouched("+49 30 1234567890123");
    }

    #[test]
    fn accounts_that_are_announced() {
        let account = ["DE89 3704 0044", "0532 0130 00"].join(" ");
        check(&format!("IBAN: {account}"), "IBAN: [redacted:iban]");
        check(&format!("my IBAN is {account}, ok"), "my IBAN is [redacted:iban], ok");
        untouched("IBAN: DE88 3704 0044 0532 0130 00");
    }
}
