//! Tags with which agents mark what they put around a person's words: `<system-reminder>`.

/// What stands between two marks.
pub fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    let start = text.find(open)? + open.len();
    let end = text[start..].find(close)?;
    Some(&text[start..start + end])
}

/// What stands in a tag, which may have attributes; a tag that is not closed ends with the text.
pub fn inside<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (start, rest) = opening(text, tag)?;
    let inner = &text[start..][rest..];
    Some(inner.find(&format!("</{tag}>")).map_or(inner, |end| &inner[..end]).trim())
}

/// The text without these tags and what stands in them.
pub fn without(text: &str, tags: &[&str]) -> String {
    let mut rest = text.to_string();
    for tag in tags {
        let close = format!("</{tag}>");
        while let Some((start, inner)) = opening(&rest, tag) {
            let end = rest[start + inner..].find(&close);
            let end = end.map_or(rest.len(), |at| start + inner + at + close.len());
            rest.replace_range(start..end, "");
        }
    }
    rest.trim().to_string()
}

/// Where a tag begins, and how long its beginning is.
fn opening(text: &str, tag: &str) -> Option<(usize, usize)> {
    let open = format!("<{tag}");
    let mut from = 0;
    loop {
        let start = from + text[from..].find(&open)?;
        let behind = &text[start + open.len()..];
        if behind.starts_with('>') || behind.starts_with(' ') {
            return Some((start, open.len() + behind.find('>')? + 1));
        }
        from = start + open.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_taken_off_and_words_stay() {
        let text = "<note>\nA\n</note>\nB <notes>C</notes> <note kind=\"x\">D</note>";
        assert_eq!(inside(text, "note"), Some("A"));
        assert_eq!(inside(text, "notes"), Some("C"));
        assert_eq!(inside(text, "other"), None);
        assert_eq!(without(text, &["note"]), "B <notes>C</notes>");
        assert_eq!(without("A <note>never closed", &["note"]), "A");
        assert_eq!(inside("<note>never closed", "note"), Some("never closed"));
        assert_eq!(between("a (b) c", "(", ")"), Some("b"));
    }
}
