//! Front matter: the `---` block of YAML at the head of a Markdown file, split from its body and joined again.
//!
//! A [`Document`] keeps the text as it was, byte for byte, and knows where its entries lie: an entry is a
//! top-level key with the lines that belong to it. Reading one entry parses that entry alone; changing one
//! rewrites that entry alone. [`scalar`], [`list`] and [`block_list`] are the forms in which we write values.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use serde::de::DeserializeOwned;
use serde_yaml::Value;

/// A Markdown text with or without front matter. Every text is one, and comes out as it went in.
///
/// Where a key stands twice, the first one counts. A block that is never closed is no front matter.
#[derive(Debug, Clone, Default)]
pub struct Document {
    text: String,
    layout: Layout,
}

impl Document {
    /// Finds the front matter and its entries.
    pub fn parse(text: &str) -> Document {
        Document::from(text.to_owned())
    }

    /// Returns the whole text.
    pub fn to_text(&self) -> String {
        self.text.clone()
    }

    /// Returns the whole text without copying it.
    pub fn as_text(&self) -> &str {
        &self.text
    }

    /// Gives the whole text back.
    pub fn into_text(self) -> String {
        self.text
    }

    /// Returns whether there is a closed `---` block, however empty.
    pub fn has_front_matter(&self) -> bool {
        self.layout.block.is_some()
    }

    /// Returns the top-level keys in their order, those that stand twice twice.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.layout.entries.iter().filter_map(|entry| entry.key(&self.text))
    }

    /// Returns whether there is such a key, whatever its value.
    pub fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// Returns a value as it is written: what follows the colon, comments and further lines included.
    pub fn get_raw(&self, key: &str) -> Option<&str> {
        let entry = self.entry(key)?;
        Some(self.text[entry.value.start..entry.end].trim_start_matches([' ', '\t']).trim_end())
    }

    /// Returns a value of any kind; `None` where it is missing or broken.
    pub fn get(&self, key: &str) -> Option<Value> {
        let entry = self.entry(key)?;
        let value = self.single_line(entry).unwrap_or_default().trim_start_matches(' ');
        match simple_scalar(value) {
            // In quotes it is a text in any case.
            Simple::Text(text) if value.starts_with(['"', '\'']) => Some(Value::from(text)),
            _ => parse_entry(&self.text[entry.span()]),
        }
    }

    /// Returns a single value as text, a number or a date just as it is written.
    pub fn get_str(&self, key: &str) -> Option<String> {
        let entry = self.entry(key)?;
        match simple_scalar(self.single_line(entry).unwrap_or("|")) {
            Simple::Text(text) => Some(text.into_owned()),
            Simple::Nothing => None,
            Simple::Unclear => parse_entry::<Option<String>>(&self.text[entry.span()])?,
        }
    }

    /// Returns a list of texts; a single value is a list of one, and a key without a value an empty one.
    pub fn get_list(&self, key: &str) -> Option<Vec<String>> {
        let entry = self.entry(key)?;
        let value = &self.text[entry.value.start..entry.end];
        simple_list(value).or_else(|| careful_list(&self.text[entry.span()]))
    }

    /// Sets a value in our canonical form: in its place where the key exists, else at the end.
    ///
    /// Texts that other programs could take for a date are quoted; a real date is set with [`Document::set_raw`].
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        let value = match value.into() {
            Value::Null => String::new(),
            Value::String(text) => scalar(&text),
            value => flow(&value),
        };
        self.put(key, &value);
    }

    /// Sets a list, one quoted item per line.
    pub fn set_block_list(&mut self, key: &str, items: &[impl AsRef<str>]) {
        match items {
            [] => self.put(key, "[]"),
            _ => self.put(key, &block_list(items)),
        }
    }

    /// Sets a value as it is to be written; returns false, and changes nothing, where that is no YAML value or
    /// would not stay within its entry.
    pub fn set_raw(&mut self, key: &str, raw: &str) -> bool {
        let alone = Document::parse(&format!("---\n{}---\n", entry_text(key, raw, "\n")));
        let stays = alone.body().is_empty() && alone.layout.entries.len() == 1 && alone.has(key);
        // A value that is parsed only in part, as by a lone carriage return, is not one value either.
        let stays = stays && (alone.get(key).is_some() || alone.get_list(key).is_some());
        if stays {
            self.put(key, raw);
        }
        stays
    }

    /// Removes a key, wherever it stands; returns whether there was one.
    pub fn remove(&mut self, key: &str) -> bool {
        let is_meant = |entry: &&Entry| entry.is_named(key, &self.text);
        let spans: Vec<_> = self.layout.entries.iter().filter(is_meant).map(Entry::span).collect();
        for span in spans.iter().rev() {
            self.text.replace_range(span.clone(), "");
        }
        self.layout = Layout::of(&self.text);
        !spans.is_empty()
    }

    /// Returns what follows the front matter.
    pub fn body(&self) -> &str {
        &self.text[self.layout.body..]
    }

    /// Replaces what follows the front matter.
    pub fn set_body(&mut self, body: &str) {
        self.text.truncate(self.layout.body);
        let closed_by_end = self.has_front_matter() && !self.text.ends_with('\n');
        if closed_by_end && !body.is_empty() {
            self.text.push_str(self.layout.newline);
        }
        let start = self.text.len();
        self.text.push_str(body);
        let layout = Layout::of(&self.text);
        if layout.body == start {
            self.layout = layout;
        } else {
            // The body itself looks like front matter; behind a real one it does not.
            self.text.insert_str(start, "---\n---\n");
            self.layout = Layout::of(&self.text);
        }
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        self.layout.entries.iter().find(|entry| entry.is_named(key, &self.text))
    }

    /// Returns the value of an entry that has one line.
    fn single_line(&self, entry: &Entry) -> Option<&str> {
        (entry.value.end == entry.end).then(|| &self.text[entry.value.clone()])
    }

    fn put(&mut self, key: &str, raw: &str) {
        let newline = self.layout.newline;
        let text = entry_text(key, raw, newline);
        match (self.entry(key).map(Entry::span), &self.layout.block) {
            (Some(span), _) => self.text.replace_range(span, &text),
            (None, Some(block)) => self.text.insert_str(block.end, &text),
            (None, None) => {
                self.text.insert_str(self.layout.body, &format!("---{newline}{text}---{newline}"));
            }
        }
        self.layout = Layout::of(&self.text);
    }
}

impl From<String> for Document {
    fn from(text: String) -> Document {
        Document { layout: Layout::of(&text), text }
    }
}

/// Returns the YAML form of a text: as it stands where every reader takes it for this very text, else in double
/// quotes, always on one line.
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

/// Returns the YAML form of a list with one quoted item per line, beginning on the line after the key.
pub fn block_list(items: &[impl AsRef<str>]) -> String {
    items.iter().map(|item| format!("\n  - {}", quoted(item.as_ref()))).collect()
}

/// Where the parts of a text lie.
#[derive(Debug, Clone)]
struct Layout {
    /// What is between the fences, where there are any.
    block: Option<Range<usize>>,
    entries: Vec<Entry>,
    /// Where the body begins.
    body: usize,
    /// How lines end.
    newline: &'static str,
}

/// One top-level key with its lines, or lines that belong to none, such as comments.
#[derive(Debug, Clone)]
struct Entry {
    start: usize,
    end: usize,
    /// The key without its quotes; none for lines that have no key.
    key: Option<Range<usize>>,
    /// What follows the colon on the first line, with the end of the line.
    value: Range<usize>,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout { block: None, entries: Vec::new(), body: 0, newline: "\n" }
    }
}

impl Layout {
    fn of(text: &str) -> Layout {
        let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let first = &text[start..line_end(text, start)];
        let newline = if first.ends_with("\r\n") { "\r\n" } else { "\n" };
        let without = Layout { body: start, newline, ..Layout::default() };
        if !first.ends_with('\n') || without_newline(first).trim_end_matches([' ', '\t']) != "---" {
            return without;
        }
        let block_start = start + first.len();
        let mut entries: Vec<Entry> = Vec::with_capacity(40);
        // Where the blank lines and comments begin of which it is not yet known whether the entry goes on after them.
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
    fn span(&self) -> Range<usize> {
        self.start..self.end
    }

    fn key<'text>(&self, text: &'text str) -> Option<&'text str> {
        self.key.clone().map(|key| &text[key])
    }

    fn is_named(&self, name: &str, text: &str) -> bool {
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
    /// A line that goes on with the entry before it: indented, a list item, or whatever else is no key.
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
            [b'-', b'-', b'-', b' ' | b'\t', ..] | [b'.', b'.', b'.', b' ' | b'\t', ..] => Line::More,
            [b'-' | b'?', b' ' | b'\t', ..] | [b'-' | b'?'] => Line::More,
            [b'{' | b'}' | b'[' | b']' | b',' | b'&' | b'*' | b'!' | b'|' | b'>' | b'%' | b'@' | b'`', ..] => {
                Line::More
            }
            [quote @ (b'"' | b'\''), rest @ ..] => Line::of_quoted_key(rest, *quote).unwrap_or(Line::More),
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
fn find_closing_quote(rest: &[u8], quote: u8) -> Option<usize> {
    let mut escaped = false;
    rest.iter().position(|byte| {
        let ends = *byte == quote && !escaped;
        escaped = *byte == b'\\' && quote == b'"' && !escaped;
        ends
    })
}

/// Finds the colon that ends a key: the first one with a blank or nothing behind it, unless a comment comes first.
fn find_colon(line: &[u8]) -> Option<usize> {
    let is_blank = |byte: Option<&u8>| matches!(byte, None | Some(b' ' | b'\t'));
    let mut colons = line.iter().enumerate().filter(|(_, byte)| **byte == b':').map(|(at, _)| at);
    let colon = colons.find(|at| is_blank(line.get(at + 1)))?;
    let commented = line[..colon].windows(2).any(|pair| matches!(pair, [b' ' | b'\t', b'#']));
    (!commented).then_some(colon)
}

fn line_end(text: &str, start: usize) -> usize {
    text[start..].find('\n').map_or(text.len(), |length| start + length + 1)
}

fn without_newline(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// Writes an entry, its line ends made those of the document.
fn entry_text(key: &str, raw: &str, newline: &str) -> String {
    let raw = raw.trim_end_matches(['\r', '\n', ' ', '\t']).replace("\r\n", "\n");
    let gap = if raw.is_empty() || raw.starts_with('\n') { "" } else { " " };
    format!("{}:{gap}{raw}\n", scalar(key)).replace('\n', newline)
}

/// Parses one entry by itself and returns its value.
fn parse_entry<T: DeserializeOwned>(entry: &str) -> Option<T> {
    if is_bomb(entry) {
        return None;
    }
    let mut values = serde_yaml::from_str::<BTreeMap<String, T>>(entry).ok()?;
    match values.len() {
        1 => values.pop_first().map(|(_, value)| value),
        _ => None,
    }
}

/// Returns whether an entry might take the YAML parser long or blow up: the parser expands aliases, which can
/// multiply a text many thousand times, and needs time quadratic in the depth of brackets before it refuses it.
fn is_bomb(entry: &str) -> bool {
    const MOST_BYTES: usize = 1_000_000;
    const MOST_BRACKETS: usize = 1_000;
    entry.len() > MOST_BYTES
        || entry.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count() > MOST_BRACKETS
        || (entry.contains('&') && entry.match_indices('*').any(|(at, _)| begins_node(&entry[..at])))
}

/// Returns whether what follows this text may be the first character of a YAML node, rather than be within one.
fn begins_node(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}', ':', '-', '?', ',', '[', '{'])
}

/// What can be said of a value without the YAML parser, which takes a hundred times as long.
enum Simple<'text> {
    Text(Cow<'text, str>),
    Nothing,
    /// It may be anything.
    Unclear,
}

/// Reads a value on one line: plain, or in quotes as [`scalar`] writes them.
fn simple_scalar(value: &str) -> Simple<'_> {
    let value = without_newline(value).trim_matches(' ');
    let is_end = |rest: &str| rest.is_empty() || rest.trim_start_matches(' ').is_empty() || rest.starts_with(" #");
    match value.as_bytes().first() {
        _ if value.contains(is_special) => Simple::Unclear,
        None | Some(b'#') => Simple::Nothing,
        Some(quote @ (b'"' | b'\'')) => match find_closing_quote(&value.as_bytes()[1..], *quote) {
            Some(length) if is_end(&value[length + 2..]) => {
                let inner = &value[1..=length];
                let text = if *quote == b'"' { unescaped(inner) } else { Some(Cow::Borrowed(inner)) };
                text.map_or(Simple::Unclear, Simple::Text)
            }
            _ => Simple::Unclear,
        },
        Some(first) if b"-?:,[]{}&*!|>%@`".contains(first) => Simple::Unclear,
        Some(_) => {
            let value = value.split_once(" #").map_or(value, |(value, _)| value).trim_end_matches(' ');
            match value {
                "~" | "null" | "Null" | "NULL" => Simple::Nothing,
                _ if value.contains(": ") || value.ends_with(':') => Simple::Unclear,
                _ => Simple::Text(Cow::Borrowed(value)),
            }
        }
    }
}

/// Undoes the escapes of [`quoted`]; `None` where there are others.
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

/// Reads a list in one of the two forms we write, or a single value; `None` where it is anything else.
fn simple_list(value: &str) -> Option<Vec<String>> {
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
fn careful_list(entry: &str) -> Option<Vec<String>> {
    match parse_entry::<Vec<Option<String>>>(entry) {
        Some(items) => Some(items.into_iter().flatten().collect()),
        None => Some(parse_entry::<Option<String>>(entry)?.into_iter().collect()),
    }
}

/// Writes any value on one line.
fn flow(value: &Value) -> String {
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
            let pairs: Vec<_> = pairs.iter().map(|(key, value)| format!("{}: {}", flow(key), flow(value))).collect();
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

fn quoted(text: &str) -> String {
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
                let escape =
                    if code <= 0xff { write!(quoted, "\\x{code:02X}") } else { write!(quoted, "\\u{code:04X}") };
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
    let stands_out =
        first.is_alphanumeric() || "_/.~$(+=^;".contains(first) || (!first.is_ascii() && !first.is_whitespace());
    stands_out
        && !text.ends_with(char::is_whitespace)
        && !text.contains(|character| matches!(character, ':' | '#') || is_special(character))
        && !text.starts_with("...")
        && !is_word_with_meaning(text)
        && !is_like_a_number(text)
}

fn is_word_with_meaning(text: &str) -> bool {
    const WORDS: [&str; 14] =
        ["~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", ".inf", "+.inf", ".nan", "="];
    text.len() <= 5 && WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Returns whether some reader might take a text for a number or a date; rather too often than too rarely.
fn is_like_a_number(text: &str) -> bool {
    let unsigned = text.trim_start_matches(['+', '-']);
    match unsigned.as_bytes() {
        [b'0', b'x' | b'X' | b'o' | b'O' | b'b' | b'B', rest @ ..] => {
            rest.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        }
        [b'0'..=b'9' | b'.', ..] => {
            unsigned.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'_' | b'e' | b'E' | b'+' | b'-'))
        }
        _ => false,
    }
}

/// Returns whether a character is written as an escape: YAML forbids it or breaks a line at it, or it could
/// play tricks on a reader's screen.
fn is_special(character: char) -> bool {
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
    use super::*;
    use proptest::prelude::*;

    const PAGE: &str = "---\n# about\nschema: memtree/digest/1\n\ntitle: Make it safe  # for two\n\"quoted key\": 1\n\
        tags: [a, \"b, c\"]\nitems:\n- one\n- two\n\nnested:\n  deep: [1]\n\n  # within\n  more: x\ntext: |\n  a\n\n  b: c\n\
        broken: [\nversion: 1.0\ntitle: again\nempty:\n# last\n---\n# Body\n";

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

    #[test]
    fn sets_in_place_or_at_the_end() {
        let check = |before: &str, change: &dyn Fn(&mut Document), after: &str| {
            let mut document = Document::parse(before);
            change(&mut document);
            assert_eq!(document.to_text(), after);
        };
        check("---\na: 1\nb:\n  - x\nc: 3\n---\nB", &|page| page.set("b", "new"), "---\na: 1\nb: new\nc: 3\n---\nB");
        check("---\na: 1\n# end\n---\nB", &|page| page.set("b", "x: y"), "---\na: 1\n# end\nb: \"x: y\"\n---\nB");
        check("B", &|page| page.set("a", 1), "---\na: 1\n---\nB");
        check("\u{feff}B\r\n", &|page| page.set("a", true), "\u{feff}---\r\na: true\r\n---\r\nB\r\n");
        check(
            "---\r\na: 1\r\n---\r\n",
            &|page| page.set_block_list("a", &["x", "y"]),
            "---\r\na:\r\n  - \"x\"\r\n  - \"y\"\r\n---\r\n",
        );
        check("---\n---", &|page| page.set("a", vec!["x", "y, z"]), "---\na: [x, \"y, z\"]\n---");
        check("---\na: 1\n---\n", &|page| page.set("a", Value::Null), "---\na:\n---\n");
        check("---\na: 1\n---\n", &|page| page.set_block_list("a", &[""; 0]), "---\na: []\n---\n");
        check("---\na: 1\nb: 2\na: 3\n---\n", &|page| assert!(page.remove("a")), "---\nb: 2\n---\n");
        check("---\na: 1\n---\n", &|page| assert!(!page.remove("b")), "---\na: 1\n---\n");
        check("---\na: 1\n---", &|page| page.set_body("B"), "---\na: 1\n---\nB");
        check("---\na: 1\n---\nold", &|page| page.set_body(""), "---\na: 1\n---\n");
        check("old", &|page| page.set_body("---\na: 1\n---\n"), "---\n---\n---\na: 1\n---\n");
        check("B", &|page| page.set("a: b\n", 1), "---\n\"a: b\\n\": 1\n---\nB");
        check(
            "B",
            &|page| assert!(page.set_raw("started", "2026-11-15T13:40:10Z")),
            "---\nstarted: 2026-11-15T13:40:10Z\n---\nB",
        );
        check("---\na: 1\n---\n", &|page| assert!(page.set_raw("a", "|\n  x\n")), "---\na: |\n  x\n---\n");
        for breaking_out in ["x\nb: 2", "x\n---\n", "[", "\"", "x\rb: 2", "x: y", "# c\nb: 1"] {
            check("---\na: 1\n---\n", &|page| assert!(!page.set_raw("a", breaking_out)), "---\na: 1\n---\n");
        }
    }

    #[test]
    fn escaped_keys_are_found_again() {
        let mut page = Document::default();
        for key in ["tab\there", "tab\t", "tab\there too", "quote\"d", "back\\slash", "", "plain", "- x"] {
            page.set(key, 1);
            page.set(key, 2);
            assert_eq!(page.get_str(key).as_deref(), Some("2"), "{key:?} in {}", page.as_text());
        }
        assert_eq!(page.keys().count(), 8);
    }

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
        assert_eq!(scalar("a\n\"b\"\\\t\0\u{7f}\u{85}\u{2028}\u{202e}"), r#""a\n\"b\"\\\t\x00\x7F\x85\u2028\u202E""#);
        assert_eq!(list(&["a b", "c,d", "[e]", "1", ""]), r#"[a b, "c,d", "[e]", "1", ""]"#);
        assert_eq!(block_list(&["a", "b\"c"]), "\n  - \"a\"\n  - \"b\\\"c\"");
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

    /// Texts full of what means something to YAML.
    fn yamlish() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => "[a-c]{1,3}".prop_map(String::from),
            8 => prop::sample::select(vec![
                "---", "...", "\n", "\r\n", "\r", " ", "  ", "\t", ": ", ":", "- ", "-", "#", " # ", "[", "]", "{", "}", ",", ", ",
                "\"", "'", "\\", "\\n", "&a ", "*a", "!t ", "|", ">", "?", "%", "@", "`", "~", "null", "true", "1.0", "010", "yes",
                "k: ", "k:\n", "k:\n  - ", "\n- ", "\u{feff}", "\u{2028}", "\u{85}", "\u{a0}", "é", "👍", "\0", "=", "<<", "2026-01-01",
            ]).prop_map(String::from),
            1 => any::<char>().prop_map(String::from),
        ];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
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

        #[test]
        fn edits_touch_nothing_else(inner in yamlish(), value in yamlish(), body in yamlish()) {
            let mut page = Document::parse(&format!("---\nfirst: 1\n{inner}\nlast: 2\n---\nbody"));
            let others = |page: &Document| -> Vec<String> {
                let text = |entry: &Entry| page.text[entry.span()].to_owned();
                page.layout.entries.iter().filter(|entry| entry.key(&page.text) != Some("new")).map(text).collect()
            };
            let (before, rest) = (others(&page), page.body().to_owned());
            page.set("new", value.as_str());
            prop_assert_eq!(page.get_str("new"), Some(value.clone()));
            prop_assert_eq!(others(&page), before.clone());
            page.set("new", vec![value.as_str(), "x"]);
            prop_assert_eq!(page.get_list("new"), Some(vec![value.clone(), "x".to_owned()]));
            page.set_block_list("new", &[value.as_str(), "x"]);
            prop_assert_eq!(page.get_list("new"), Some(vec![value.clone(), "x".to_owned()]));
            prop_assert_eq!(others(&page), before.clone());
            page.set_raw("new", &value);
            prop_assert_eq!(others(&page), before.clone());
            prop_assert_eq!(page.body(), rest);
            page.set_body(&body);
            prop_assert_eq!(page.body(), body);
            prop_assert!(page.remove("new"));
            prop_assert_eq!(others(&page), before);
        }

        #[test]
        fn a_body_is_kept_by_any_document(text in yamlish(), body in yamlish()) {
            let mut page = Document::parse(&text);
            page.set_body(&body);
            prop_assert_eq!(page.body(), body);
            prop_assert_eq!(Document::parse(page.as_text()).layout.body, page.layout.body);
        }

        #[test]
        fn scalars_come_back(text in prop_oneof![yamlish(), any::<String>(), ".{0,3}"]) {
            let alone = |written: String| serde_yaml::from_str::<Value>(&format!("key: {written}\n")).unwrap()["key"].clone();
            prop_assert!(!scalar(&text).contains('\n'));
            prop_assert_eq!(alone(scalar(&text)), Value::from(text.as_str()));
            prop_assert_eq!(alone(list(&[&text, "x"])), Value::from(vec![text.as_str(), "x"]));
            prop_assert_eq!(alone(block_list(&["x", &text])), Value::from(vec!["x", text.as_str()]));
            prop_assert_eq!(alone(flow(&Value::from(vec![vec![text.as_str()]]))), Value::from(vec![vec![text.as_str()]]));
        }

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
