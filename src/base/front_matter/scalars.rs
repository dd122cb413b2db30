//! A scalar is a single value, as we write it: plain where every reader takes it for this very
//! text, else quoted.
//!
//! Lists are written as scalars in brackets, or one to a line.

use std::fmt::Write as _;

use serde_yaml::Value;

/// Returns the YAML form of a text: as it stands where every reader takes it for this very text,
/// else in double quotes, always on one line.
pub fn scalar(text: &str) -> String {
    match is_plain(text) {
        true => text.to_owned(),
        false => quoted(text),
    }
}

/// Returns the YAML form of a list on one line, `[a, b]`.
pub fn list(items: &[impl AsRef<str>]) -> String {
    let items: Vec<_> = items.iter().map(|item| flow_scalar(item.as_ref())).collect();
    format!("[{}]", items.join(", "))
}

/// Returns the YAML form of a list with one quoted item per line, beginning on the line after the
/// key.
pub fn block_list(items: &[impl AsRef<str>]) -> String {
    items.iter().map(|item| format!("\n  - {}", quoted(item.as_ref()))).collect()
}

/// Writes any value on one line.
pub(super) fn flow(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => flow_scalar(text),
        Value::Sequence(items) => {
            let items: Vec<_> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Mapping(pairs) => {
            let pairs: Vec<_> = pairs
                .iter()
                .map(|(key, value)| format!("{}: {}", flow(key), flow(value)))
                .collect();
            format!("{{{}}}", pairs.join(", "))
        }
        Value::Tagged(tagged) => format!("{} {}", tagged.tag, flow(&tagged.value)),
    }
}

/// Writes a text within brackets, where more characters have a meaning.
fn flow_scalar(text: &str) -> String {
    match is_plain(text) && !text.contains([',', '[', ']', '{', '}', '"', '\'', '?']) {
        true => text.to_owned(),
        false => quoted(text),
    }
}

pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ if is_special(character) => {
                let code = u32::from(character);
                let escape = if code <= 0xff {
                    write!(quoted, "\\x{code:02X}")
                } else {
                    write!(quoted, "\\u{code:04X}")
                };
                escape.expect("a string can always be written to");
            }
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns whether a text means itself without quotes, for readers of YAML 1.1 and 1.2 alike.
fn is_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else {
        return false;
    };
    let stands_out = first.is_alphanumeric()
        || "_/.~$(+=^;".contains(first)
        || (!first.is_ascii() && !first.is_whitespace());
    stands_out
        && !text.ends_with(char::is_whitespace)
        && !text.contains(|character| matches!(character, ':' | '#') || is_special(character))
        && !text.starts_with("...")
        && !is_word_with_meaning(text)
        && !is_like_a_number(text)
}

fn is_word_with_meaning(text: &str) -> bool {
    const WORDS: [&str; 14] = [
        "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", ".inf", "+.inf", ".nan",
        "=",
    ];
    text.len() <= 5 && WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Returns whether some reader might take a text for a number or a date; rather too often than too
/// rarely.
fn is_like_a_number(text: &str) -> bool {
    let unsigned = text.trim_start_matches(['+', '-']);
    match unsigned.as_bytes() {
        [b'0', b'x' | b'X' | b'o' | b'O' | b'b' | b'B', rest @ ..] => {
            rest.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        }
        [b'0'..=b'9' | b'.', ..] => unsigned
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'_' | b'e' | b'E' | b'+' | b'-')),
        _ => false,
    }
}

/// Returns whether a character is written as an escape: YAML forbids it or breaks a line at it, or
/// it could play tricks on a reader's screen.
pub(super) fn is_special(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    character.is_control()
        || matches!(character,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
            | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::super::tests::yamlish;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn writes_scalars_as_people_would() {
        let plain = "Make appends safe, isn't it?|memtree/digest/1|~/code/zubot|EP_001 - EP_007|1f3c9e2|über|日本|👍 ok|\
            a \"b\" c|.gitignore|/etc|v1.0|claude-opus-4-8|(x)|nothing|x=1";
        plain.split('|').for_each(|text| assert_eq!(scalar(text), text));
        let in_quotes = "claude:0b9c|a: b|a #b|-x|- x|?|@a|`a`|yes|No|NULL|~|true|on|1|1.0|010|0x1F|1_000|1e5|12e3456|.5|\
            +1|-1|2026-01-01|.inf|.NaN|'a'|*a|&a|!a|%a|>|[a|{a|,a| a|a |...|=||null";
        in_quotes
            .split('|')
            .filter(|text| !text.is_empty())
            .for_each(|text| assert_eq!(scalar(text), format!("\"{text}\"")));
        assert_eq!(scalar(""), "\"\"");
        assert_eq!(
            scalar("a\n\"b\"\\\t\0\u{7f}\u{85}\u{2028}\u{202e}"),
            r#""a\n\"b\"\\\t\x00\x7F\x85\u2028\u202E""#
        );
        assert_eq!(list(&["a b", "c,d", "[e]", "1", ""]), r#"[a b, "c,d", "[e]", "1", ""]"#);
        assert_eq!(block_list(&["a", "b\"c"]), "\n  - \"a\"\n  - \"b\\\"c\"");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn scalars_come_back(text in prop_oneof![yamlish(), any::<String>(), ".{0,3}"]) {
            let alone = |written: String| serde_yaml::from_str::<Value>(&format!("key: {written}\n")).unwrap()["key"].clone();
            prop_assert!(!scalar(&text).contains('\n'));
            prop_assert_eq!(alone(scalar(&text)), Value::from(text.as_str()));
            prop_assert_eq!(alone(list(&[&text, "x"])), Value::from(vec![text.as_str(), "x"]));
            prop_assert_eq!(alone(block_list(&["x", &text])), Value::from(vec!["x", text.as_str()]));
            prop_assert_eq!(alone(flow(&Value::from(vec![vec![text.as_str()]]))), Value::from(vec![vec![text.as_str()]]));
        }
    }
}
