//! An entry is a top-level key of front matter with the lines that belong to it.
//!
//! Here the entries of a text are found, line by line and without a YAML parser, so that each can
//! be read and replaced by itself.

use std::ops::Range;

use super::scalars::{quoted, scalar};

/// Where the parts of a text lie.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// What is between the fences, where there are any.
    pub(super) block: Option<Range<usize>>,
    pub(super) entries: Vec<Entry>,
    /// Where the body begins.
    pub(super) body: usize,
    /// How lines end.
    pub(super) newline: &'static str,
}

/// One top-level key with its lines, or lines that belong to none, such as comments.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The key without its quotes; none for lines that have no key.
    key: Option<Range<usize>>,
    /// What follows the colon on the first line, with the end of the line.
    pub(super) value: Range<usize>,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout { block: None, entries: Vec::new(), body: 0, newline: "\n" }
    }
}

impl Layout {
    pub(super) fn of(text: &str) -> Layout {
        let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let first = &text[start..line_end(text, start)];
        let newline = if first.ends_with("\r\n") { "\r\n" } else { "\n" };
        let without = Layout { body: start, newline, ..Layout::default() };
        if !first.ends_with('\n') || without_newline(first).trim_end_matches([' ', '\t']) != "---" {
            return without;
        }
        let block_start = start + first.len();
        let mut entries: Vec<Entry> = Vec::with_capacity(40);
        // Where the blank lines and comments begin of which it is not yet known whether the entry
        // goes on after them.
        let mut loose = None;
        let mut at = block_start;
        while at < text.len() {
            let end = line_end(text, at);
            let line = without_newline(&text[at..end]);
            let keyless = |start| Entry { start, end: at, key: None, value: start..at };
            match Line::of(line) {
                Line::Fence => {
                    entries.extend(loose.map(keyless));
                    return Layout { block: Some(block_start..at), entries, body: end, newline };
                }
                Line::Loose => loose = loose.or(Some(at)),
                Line::Key { key, value } => {
                    entries.extend(loose.take().map(keyless));
                    let key = Some(at + key.start..at + key.end);
                    entries.push(Entry { start: at, end, key, value: at + value..end });
                }
                Line::More => match entries.last_mut() {
                    Some(entry) => (loose, entry.end) = (None, end),
                    None => {
                        let start = loose.take().unwrap_or(at);
                        entries.push(Entry { start, end, key: None, value: start..end });
                    }
                },
            }
            at = end;
        }
        without
    }
}

impl Entry {
    pub(super) fn span(&self) -> Range<usize> {
        self.start..self.end
    }

    pub(super) fn key<'text>(&self, text: &'text str) -> Option<&'text str> {
        self.key.clone().map(|key| &text[key])
    }

    pub(super) fn is_named(&self, name: &str, text: &str) -> bool {
        let Some(key) = self.key(text) else { return false };
        // A key that needs escapes is compared in the form in which we would write it.
        key == name || (key.contains('\\') && quoted(name) == format!("\"{key}\""))
    }
}

/// What a line between the fences is.
enum Line {
    Fence,
    /// A blank line or a comment at the margin, which may stand within an entry or between two.
    Loose,
    /// The first line of an entry, with its key and where its value begins.
    Key {
        key: Range<usize>,
        value: usize,
    },
    /// A line that goes on with the entry before it: indented, a list item, or whatever else is no
    /// key.
    More,
}

impl Line {
    fn of(line: &str) -> Line {
        let trimmed = line.trim_end_matches([' ', '\t']);
        match line.as_bytes() {
            _ if trimmed.is_empty() => Line::Loose,
            [b'#', ..] => Line::Loose,
            [b' ' | b'\t', ..] => Line::More,
            [b'-', b'-', b'-', ..] | [b'.', b'.', b'.', ..] if trimmed.len() == 3 => Line::Fence,
            [b'-', b'-', b'-', b' ' | b'\t', ..] | [b'.', b'.', b'.', b' ' | b'\t', ..] => {
                Line::More
            }
            [b'-' | b'?', b' ' | b'\t', ..] | [b'-' | b'?'] => Line::More,
            [
                b'{' | b'}' | b'[' | b']' | b',' | b'&' | b'*' | b'!' | b'|' | b'>' | b'%' | b'@'
                | b'`',
                ..,
            ] => Line::More,
            [quote @ (b'"' | b'\''), rest @ ..] => {
                Line::of_quoted_key(rest, *quote).unwrap_or(Line::More)
            }
            bytes => match find_colon(bytes) {
                Some(colon) => {
                    let key = line[..colon].trim_end_matches([' ', '\t']);
                    Line::Key { key: 0..key.len(), value: colon + 1 }
                }
                None => Line::More,
            },
        }
    }

    /// Reads the line that begins with a quote, of which the rest is given.
    fn of_quoted_key(rest: &[u8], quote: u8) -> Option<Line> {
        let length = find_closing_quote(rest, quote)?;
        let after = &rest[length + 1..];
        let blanks = after.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let is_key = find_colon(&after[blanks..]) == Some(0);
        is_key.then(|| Line::Key { key: 1..length + 1, value: length + blanks + 3 })
    }
}

/// Finds the quote that ends a quoted text, given what follows its opening one.
pub(super) fn find_closing_quote(rest: &[u8], quote: u8) -> Option<usize> {
    let mut escaped = false;
    rest.iter().position(|byte| {
        let ends = *byte == quote && !escaped;
        escaped = *byte == b'\\' && quote == b'"' && !escaped;
        ends
    })
}

/// Finds the colon that ends a key: the first one with a blank or nothing behind it, unless a
/// comment comes first.
fn find_colon(line: &[u8]) -> Option<usize> {
    let is_blank = |byte: Option<&u8>| matches!(byte, None | Some(b' ' | b'\t'));
    let mut colons = line.iter().enumerate().filter(|(_, byte)| **byte == b':').map(|(at, _)| at);
    let colon = colons.find(|at| is_blank(line.get(at + 1)))?;
    let commented = line[..colon].windows(2).any(|pair| matches!(pair, [b' ' | b'\t', b'#']));
    (!commented).then_some(colon)
}

pub(super) fn line_end(text: &str, start: usize) -> usize {
    text[start..].find('\n').map_or(text.len(), |length| start + length + 1)
}

pub(super) fn without_newline(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// Writes an entry, its line ends made those of the document.
pub(super) fn entry_text(key: &str, raw: &str, newline: &str) -> String {
    let raw = raw.trim_end_matches(['\r', '\n', ' ', '\t']).replace("\r\n", "\n");
    let gap = if raw.is_empty() || raw.starts_with('\n') { "" } else { " " };
    format!("{}:{gap}{raw}\n", scalar(key)).replace('\n', newline)
}

#[cfg(test)]
mod tests {
    use super::super::Document;
    use super::super::tests::{PAGE, yamlish};
    use proptest::prelude::*;

    #[test]
    fn splits_into_entries() {
        let page = Document::parse(PAGE);
        let keys: Vec<_> = page.keys().collect();
        let expect = "schema|title|quoted key|tags|items|nested|text|broken|version|title|empty";
        assert_eq!(keys.join("|"), expect);
        assert_eq!(page.body(), "# Body\n");
        assert_eq!(page.get_raw("title"), Some("Make it safe  # for two"));
        assert_eq!(page.get_raw("items"), Some("\n- one\n- two"));
        assert_eq!(page.get_raw("nested"), Some("\n  deep: [1]\n\n  # within\n  more: x"));
        assert_eq!(page.get_raw("empty"), Some(""));
        assert_eq!(page.get_raw("missing"), None);
        assert!(page.has("empty") && !page.has("missing"));
    }

    #[test]
    fn finds_where_front_matter_ends() {
        let check = |text: &str, keys: &str, body: &str| {
            let document = Document::parse(text);
            assert_eq!(document.keys().collect::<Vec<_>>().join("|"), keys, "{text:?}");
            assert_eq!(document.body(), body, "{text:?}");
        };
        check("", "", "");
        check("text", "", "text");
        check("---", "", "---");
        check("---\n", "", "---\n");
        check("---\n---", "", "");
        check("---\n---\nb", "", "b");
        check("---\na: 1\nno end", "", "---\na: 1\nno end");
        check("---\na: 1\n...\nb", "a", "b");
        check("--- \t\na: 1\n---  \nb", "a", "b");
        check("\u{feff}---\r\na: 1\r\nb:\r\n- x\r\n---\r\nb\r\n", "a|b", "b\r\n");
        check("\u{feff}text", "", "text");
        check("----\na: 1\n----\n", "", "----\na: 1\n----\n");
        check(" ---\na: 1\n---\n", "", " ---\na: 1\n---\n");
        check("---\n- just\n- a list\n---\nb", "", "b");
        check("---\njunk\n---\nb", "", "b");
        check("---\n'it''s': 1\nhttp://x: 2\na b : 3\n# c: 4\nd #: 5\n---\nb", "http://x|a b", "b");
        check("---\ntags: [\n  a\n]\nb: 1\n---\n", "tags|b", "");
        check("---\ntext: |\n  ---\n  a: b\n---\n", "text", "");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn every_text_survives(inner in yamlish(), prefix in "(\u{feff}?---[ \t]?\r?\n)?", suffix in "(\r?\n(---|\\.\\.\\.) ?\n?)?", tail in ".{0,9}") {
            let text = format!("{prefix}{inner}{suffix}{tail}");
            let document = Document::parse(&text);
            prop_assert_eq!(document.as_text(), &text);
            let entries = &document.layout.entries;
            if let Some(block) = &document.layout.block {
                // The entries cover the block without gap or overlap.
                let ends = entries.iter().map(|entry| entry.end);
                let starts = entries.iter().map(|entry| entry.start).chain([block.end]);
                prop_assert!([block.start].into_iter().chain(ends).eq(starts));
            } else {
                prop_assert!(entries.is_empty());
            }
        }
    }
}
