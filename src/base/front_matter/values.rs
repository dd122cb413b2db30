//! A value is what an entry holds, as it is read.
//!
//! The forms in which we write values are read by hand, which is fast; all else goes to the YAML
//! parser, unless it could take that long or blow up.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use super::entries::{find_closing_quote, line_end, without_newline};
use super::scalars::is_special;

/// Parses one entry by itself and returns its value.
pub(super) fn parse_entry<T: DeserializeOwned>(entry: &str) -> Option<T> {
    if is_bomb(entry) {
        return None;
    }
    let mut values = serde_yaml::from_str::<BTreeMap<String, T>>(entry).ok()?;
    match values.len() {
        1 => values.pop_first().map(|(_, value)| value),
        _ => None,
    }
}

/// Returns whether an entry might take the YAML parser long or blow up: the parser expands aliases,
/// which can multiply a text many thousand times, and needs time quadratic in the depth of brackets
/// before it refuses it.
fn is_bomb(entry: &str) -> bool {
    const MOST_BYTES: usize = 1_000_000;
    const MOST_BRACKETS: usize = 1_000;
    entry.len() > MOST_BYTES
        || entry.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count() > MOST_BRACKETS
        || (entry.contains('&')
            && entry.match_indices('*').any(|(at, _)| begins_node(&entry[..at])))
}

/// Returns whether what follows this text may be the first character of a YAML node, rather than be
/// within one.
fn begins_node(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t']);
    before.is_empty()
        || before
            .ends_with(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}', ':', '-', '?', ',', '[', '{'])
}

/// What can be said of a value without the YAML parser, which takes a hundred times as long.
pub(super) enum Simple<'text> {
    Text(Cow<'text, str>),
    Nothing,
    /// It may be anything.
    Unclear,
}

/// Reads a value on one line: plain, or in quotes as [`scalar`](super::scalar) writes them.
pub(super) fn simple_scalar(value: &str) -> Simple<'_> {
    let value = without_newline(value).trim_matches(' ');
    let is_end = |rest: &str| {
        rest.is_empty() || rest.trim_start_matches(' ').is_empty() || rest.starts_with(" #")
    };
    match value.as_bytes().first() {
        _ if value.contains(is_special) => Simple::Unclear,
        None | Some(b'#') => Simple::Nothing,
        Some(quote @ (b'"' | b'\'')) => match find_closing_quote(&value.as_bytes()[1..], *quote) {
            Some(length) if is_end(&value[length + 2..]) => {
                let inner = &value[1..=length];
                let text =
                    if *quote == b'"' { unescaped(inner) } else { Some(Cow::Borrowed(inner)) };
                text.map_or(Simple::Unclear, Simple::Text)
            }
            _ => Simple::Unclear,
        },
        Some(first) if b"-?:,[]{}&*!|>%@`".contains(first) => Simple::Unclear,
        Some(_) => {
            let value =
                value.split_once(" #").map_or(value, |(value, _)| value).trim_end_matches(' ');
            match value {
                "~" | "null" | "Null" | "NULL" => Simple::Nothing,
                _ if value.contains(": ") || value.ends_with(':') => Simple::Unclear,
                _ => Simple::Text(Cow::Borrowed(value)),
            }
        }
    }
}

/// Undoes the escapes of [`quoted`](super::scalars::quoted); `None` where there are others.
fn unescaped(inner: &str) -> Option<Cow<'_, str>> {
    let Some(first) = inner.find('\\') else {
        return Some(Cow::Borrowed(inner));
    };
    let mut text = inner[..first].to_owned();
    let mut rest = &inner[first..];
    while let Some(after) = rest.strip_prefix('\\') {
        let digits = match after.as_bytes().first()? {
            b'x' => 2,
            b'u' => 4,
            _ => 0,
        };
        let character = match after.as_bytes()[0] {
            same @ (b'"' | b'\\') => char::from(same),
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            _ => {
                let digits = after.get(1..1 + digits).filter(|digits| !digits.starts_with('+'))?;
                char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
            }
        };
        text.push(character);
        rest = &after[1 + digits..];
        let plain = rest.find('\\').unwrap_or(rest.len());
        text.push_str(&rest[..plain]);
        rest = &rest[plain..];
    }
    Some(Cow::Owned(text))
}

/// Reads a list in one of the two forms we write, or a single value; `None` where it is anything
/// else.
pub(super) fn simple_list(value: &str) -> Option<Vec<String>> {
    let end = line_end(value, 0);
    let (first, more) = value.split_at(end);
    let trimmed = without_newline(first).trim_matches(' ');
    if !more.is_empty() {
        return trimmed.is_empty().then(|| simple_block_items(more))?;
    }
    if let Some(items) = trimmed.strip_prefix('[') {
        return simple_flow_items(items.strip_suffix(']')?);
    }
    match simple_scalar(first) {
        Simple::Text(text) => Some(vec![text.into_owned()]),
        Simple::Nothing => Some(Vec::new()),
        Simple::Unclear => None,
    }
}

fn simple_block_items(lines: &str) -> Option<Vec<String>> {
    let margin = lines.len() - lines.trim_start_matches(' ').len();
    let mut items = Vec::new();
    for line in lines.split_inclusive('\n') {
        let (blanks, item) = line.split_at_checked(margin)?;
        let item = item.strip_prefix("- ").filter(|_| blanks.bytes().all(|byte| byte == b' '))?;
        match simple_scalar(item) {
            Simple::Text(text) => items.push(text.into_owned()),
            Simple::Nothing | Simple::Unclear => return None,
        }
    }
    Some(items)
}

fn simple_flow_items(mut rest: &str) -> Option<Vec<String>> {
    let mut items = Vec::new();
    loop {
        rest = rest.trim_start_matches(' ');
        let length = match rest.as_bytes().first() {
            None => return Some(items),
            Some(b'"') => find_closing_quote(&rest.as_bytes()[1..], b'"')? + 2,
            Some(_) => rest.find(',').unwrap_or(rest.len()),
        };
        let (item, after) = rest.split_at(length);
        // Within brackets more characters have a meaning, but none within quotes.
        if !item.starts_with('"') && item.contains(['[', ']', '{', '}', ':', '?', '#', '"', '\'']) {
            return None;
        }
        match simple_scalar(item) {
            Simple::Text(text) => items.push(text.into_owned()),
            Simple::Nothing | Simple::Unclear => return None,
        }
        let after = after.trim_start_matches(' ');
        rest = match after.strip_prefix(',') {
            Some(rest) => rest,
            None if after.is_empty() => after,
            None => return None,
        };
    }
}

/// Reads a list, or a single value, with the YAML parser.
pub(super) fn careful_list(entry: &str) -> Option<Vec<String>> {
    match parse_entry::<Vec<Option<String>>>(entry) {
        Some(items) => Some(items.into_iter().flatten().collect()),
        None => Some(parse_entry::<Option<String>>(entry)?.into_iter().collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Document;
    use super::super::tests::{PAGE, yamlish};
    use super::*;
    use proptest::prelude::*;
    use serde_yaml::Value;

    #[test]
    fn reads_values() {
        let page = Document::parse(PAGE);
        let text = |key| page.get_str(key).unwrap_or("-".to_owned());
        assert_eq!(text("title"), "Make it safe");
        assert_eq!(text("quoted key"), "1");
        assert_eq!(text("text"), "a\n\nb: c\n");
        assert_eq!(text("version"), "1.0");
        assert_eq!(["tags", "broken", "empty", "missing"].map(text), ["-"; 4]);
        let list = |key| page.get_list(key).map(|items| items.join("|")).unwrap_or("-".to_owned());
        assert_eq!(list("tags"), "a|b, c");
        assert_eq!(list("items"), "one|two");
        assert_eq!(list("title"), "Make it safe");
        assert_eq!(list("empty"), "");
        assert_eq!(["nested", "broken", "missing"].map(list), ["-"; 3]);
        assert_eq!(page.get("version"), Some(Value::from(1.0)));
        assert_eq!(page.get("nested").unwrap()["more"], Value::from("x"));
        assert_eq!(page.get("broken"), None);
    }

    #[test]
    fn bombs_are_refused_cheaply() {
        let mut laughs = "bomb:\n  a: &a [x, x, x, x, x, x, x, x]\n".to_owned();
        for (this, next) in "abcdefghi".chars().zip("bcdefghij".chars()) {
            laughs += &format!("  {next}: &{next} [{}]\n", format!("*{this}, ").repeat(8));
        }
        let long = "x".repeat(400_000);
        let entries = [
            laughs,
            format!("bomb: [&a {long}{}]\n", ", *a".repeat(100_000)),
            format!("bomb: [!t &a {long}{}]\n", ",*a".repeat(100_000)),
            format!("bomb: {}\n", "[".repeat(900_000)),
            format!("bomb: {}\n", "{a: ".repeat(200_000)),
            format!("bomb: {}{}\n", "[".repeat(900), "]".repeat(900)),
            format!("bomb:\n  {}x\n", "- ".repeat(100_000)),
            format!("bomb:\n  - |\n    {}\n", "x".repeat(1_000_001)),
        ];
        for entry in entries {
            let begun = std::time::Instant::now();
            let page = Document::parse(&format!("---\n{entry}after: fine\n---\n"));
            assert_eq!(page.get("bomb"), None);
            assert_eq!(page.get_str("bomb"), None);
            assert_eq!(page.get_list("bomb"), None);
            assert_eq!(page.get_str("after").as_deref(), Some("fine"));
            assert!(begun.elapsed().as_secs() < 5, "{} took {:?}", &entry[..20], begun.elapsed());
        }
        // What we write ourselves is read back, whatever it holds.
        let strange = [format!("\"&a, *a\n{}", "[".repeat(2_000)), "x\n".repeat(1_000_000)];
        let mut page = Document::default();
        page.set("text", strange[0].as_str());
        page.set("list", &strange[..]);
        page.set_block_list("lines", &strange);
        assert!(page.get("text") == Some(Value::from(strange[0].as_str())));
        assert!(page.get_str("text").as_ref() == strange.first());
        assert!(page.get_list("list").as_deref() == Some(&strange));
        assert!(page.get_list("lines").as_deref() == Some(&strange));
        // Stars and ampersands in ordinary text are no bomb.
        let page = Document::parse("---\na:\n  - \"R&D \\u002b\"\n  - some *bold* words\n---\n");
        assert_eq!(page.get_list("a").unwrap(), ["R&D +", "some *bold* words"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_fast_way_agrees_with_the_parser(value in yamlish(), brackets in any::<bool>()) {
            let value = if brackets { format!("[{value}]") } else { value };
            let page = Document::parse(&format!("---\nkey: {value}\n---\n"));
            let Some(entry) = page.entry("key") else { return Ok(()) };
            let text = &page.text[entry.span()];
            prop_assume!(!is_bomb(text));
            match page.single_line(entry).map(simple_scalar) {
                Some(Simple::Text(fast)) => prop_assert_eq!(parse_entry(text), Some(fast.into_owned())),
                Some(Simple::Nothing) => prop_assert_eq!(parse_entry::<Option<String>>(text), Some(None)),
                Some(Simple::Unclear) | None => {}
            }
            if let Some(fast) = simple_list(&page.text[entry.value.start..entry.end]) {
                prop_assert_eq!(careful_list(text), Some(fast));
            }
        }
    }
}
