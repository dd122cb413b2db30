//! What only machines need of a digest: a comment before the notes, so that it stands behind what
//! people read.
//!
//! It has the form of front matter, and unfolded it is front matter: everything that reads or
//! changes a digest works on the unfolded text, and only what is on disk is folded.

use std::borrow::Cow;

use super::fields;
use crate::base::front_matter::Document;
use crate::store::authored::WRITTEN;

/// The line that begins it.
pub const MACHINE: &str = "<!-- memtree:";
/// How the comment begins, from the end of the line before it.
pub const START: &str = "\n<!-- memtree:\n";
const CLOSE: &str = "-->";
const NOTES: &str = "## Notes";

/// Where the comment stands in a text, and what it says.
struct Comment<'t> {
    start: usize,
    /// Behind it and the empty line that follows.
    end: usize,
    inner: &'t str,
}

/// The first comment of ours behind the front matter: a person may have quoted another in the
/// notes.
fn find(text: &str) -> Option<Comment<'_>> {
    let mut from = 0;
    let start = loop {
        let at = from + text[from..].find(MACHINE)?;
        let line_end = text[at..].find('\n').map_or(text.len(), |end| at + end);
        let alone = text[at + MACHINE.len()..line_end].trim().is_empty();
        if alone && at > 0 && text.as_bytes()[at - 1] == b'\n' {
            break at;
        }
        from = line_end;
    };
    let inner_start = start + text[start..].find('\n')? + 1;
    let mut at = inner_start;
    for line in text[inner_start..].split_inclusive('\n') {
        if line.trim_end() == CLOSE {
            let mut end = at + line.len();
            let rest = &text[end..];
            end += rest.len() - rest.strip_prefix('\r').unwrap_or(rest).len();
            let rest = &text[end..];
            end += rest.len() - rest.strip_prefix('\n').unwrap_or(rest).len();
            return Some(Comment { start, end, inner: &text[inner_start..at] });
        }
        at += line.len();
    }
    None
}

/// Where the line that closes the front matter begins.
fn front_matter_end(text: &str) -> Option<usize> {
    let first = text.find('\n')? + 1;
    if text[..first].trim_start_matches('\u{feff}').trim_end() != "---" {
        return None;
    }
    let mut at = first;
    for line in text[first..].split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// A digest with everything in its front matter.
pub fn unfolded(text: &str) -> Cow<'_, str> {
    let (Some(end), Some(comment)) = (front_matter_end(text), find(text)) else {
        return text.into();
    };
    if comment.start < end {
        return text.into();
    }
    let mut whole = String::with_capacity(text.len());
    whole.push_str(&text[..end]);
    whole.push_str(comment.inner);
    whole.push_str(&text[end..comment.start]);
    whole.push_str(&text[comment.end..]);
    whole.into()
}

/// A digest with what only machines need in its comment.
pub fn folded(text: &str) -> String {
    let mut document = Document::parse(text);
    let keys: Vec<&str> = fields::machine_keys().chain([WRITTEN]).collect();
    let mut inner = String::new();
    for key in &keys {
        let Some(raw) = document.get_raw(key) else { continue };
        let raw = raw.replace('\r', "");
        let gap = if raw.starts_with('\n') { "" } else { " " };
        inner.push_str(&format!("{key}:{gap}{}\n", raw.trim_end()));
    }
    document.remove_all(&keys);
    if inner.is_empty() {
        return document.into_text();
    }
    // No text may close the comment; these stand in quotes.
    let inner = inner.replace("-->", "--\\x3E").replace("--!>", "--!\\x3E");
    let body = document.body();
    let notes = notes_start(body);
    let mut before = body[..notes].to_string();
    let newline = newline_of(body);
    while !before.ends_with("\n\n") && !before.ends_with("\r\n\r\n") && !before.is_empty() {
        before.push_str(newline);
    }
    let gap = if body[notes..].is_empty() { "" } else { "\n" };
    let comment = format!("{MACHINE}\n{inner}{CLOSE}\n{gap}").replace('\n', newline);
    let body = format!("{before}{comment}{}", &body[notes..]);
    document.set_body(&body);
    document.into_text()
}

/// A digest that has no comment, with that of another one.
pub fn with_comment_of(text: &str, other: &str) -> String {
    let Some(comment) = find(other) else { return text.to_string() };
    let comment = other[comment.start..comment.end].trim_end();
    let comment = format!("{comment}\n\n").replace('\n', newline_of(text));
    let notes = notes_start(text);
    format!("{}{comment}{}", &text[..notes], &text[notes..])
}

/// How most lines of a text end.
fn newline_of(text: &str) -> &'static str {
    match text.matches("\r\n").count() * 2 > text.matches('\n').count() {
        true => "\r\n",
        false => "\n",
    }
}

/// Where the notes begin, or else the end.
fn notes_start(body: &str) -> usize {
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        if line.trim_end() == NOTES {
            return at;
        }
        at += line.len();
    }
    body.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "---\ntitle: T\n---\n# Page\n\n<!-- memtree:\nmade_by: x\nwritten:\n  - \"title \
                        1234\"\n-->\n\n## Notes\n<!-- memtree:\nmine\n-->\n";

    #[test]
    fn a_page_is_folded_as_it_was() {
        for page in [PAGE.to_string(), PAGE.replace('\n', "\r\n")] {
            let whole = unfolded(&page);
            let document = Document::parse(&whole);
            assert_eq!(document.get_list("written"), Some(vec!["title 1234".into()]));
            assert!(document.body().starts_with("# Page"), "{whole}");
            assert!(document.body().contains("mine"), "{whole}");
            assert_eq!(folded(&whole), page);
        }
        for plain in ["", "no front matter\n<!-- memtree:\nx\n-->\n", "---\nt: 1\n---\nbody\n"] {
            assert_eq!(unfolded(plain), plain);
            assert_eq!(folded(plain), plain);
        }
    }

    #[test]
    fn no_value_closes_the_comment() {
        let page = "---\nevidence:\n  - \"EP_001 a-->b --!> c\"\n---\n# Page\n";
        let folded = folded(page);
        assert_eq!(folded.matches("-->").count(), 1, "{folded}");
        let document = Document::parse(&unfolded(&folded));
        assert_eq!(document.get_list("evidence"), Some(vec!["EP_001 a-->b --!> c".into()]));
    }
}
