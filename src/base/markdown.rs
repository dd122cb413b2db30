//! Text from a log as Markdown that cannot be markup of ours: in one line, in a quote, in a fence.

use std::borrow::Cow;

use pulldown_cmark::{Event, Parser, Tag};

use super::static_regex::StaticRegex;
use super::text;

/// Text as one line that holds no tag, link or line break; code spans stay as they are.
pub fn inline(value: &str) -> String {
    let line = text::one_line(value, usize::MAX);
    let mut safe = String::with_capacity(line.len());
    let mut rest = line.as_str();
    while let Some(letter) = rest.chars().next() {
        if letter == '`' {
            let (run, span) = code_span(rest);
            match span {
                Some(span) => {
                    safe.push_str(span);
                    rest = &rest[span.len()..];
                }
                // One that nothing closes could open a span with what stands behind the text.
                None => {
                    safe.push_str(&"\\`".repeat(run));
                    rest = &rest[run..];
                }
            }
            continue;
        }
        rest = &rest[letter.len_utf8()..];
        let next = rest.chars().next().unwrap_or(' ');
        let active = match letter {
            '<' => next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?'),
            ']' => matches!(next, '(' | '['),
            '[' => next == '[',
            // A backslash of the text is no backslash of ours.
            '\\' => is_escaped(next),
            _ => false,
        };
        if active {
            safe.push('\\');
        }
        safe.push(letter);
    }
    // A backslash at the end would escape what follows the text.
    if safe.ends_with('\\') {
        safe.push('\\');
    }
    safe
}

/// A line in which what looks like a tag (`<session>`, `</summary>`, `<!doctype html>`) is a code
/// span, which nobody has to escape; code spans stay as they are.
pub fn tags_as_code(line: &str) -> Cow<'_, str> {
    static TAG: StaticRegex = StaticRegex::new(
        r"[\w.~/-]*</?[A-Za-z!][^<>`\n]{0,60}>(?:[\w./-]*</?[A-Za-z][^<>`\n]{0,60}>)*[\w/-]*",
    );
    if !TAG.is_match(line) {
        return Cow::Borrowed(line);
    }
    let mut shown = String::with_capacity(line.len() + 8);
    for (piece, is_code) in pieces(line) {
        match is_code {
            true => shown.push_str(piece),
            false => shown.push_str(&TAG.replace_all(piece, "`$0`")),
        }
    }
    Cow::Owned(shown)
}

/// What [`inline`] does, with code spans treated as text: how days have been written from the first format on.
/// Their lines are compared with what sessions say, so it never changes.
pub fn inline_as_text(value: &str) -> String {
    let line = text::one_line(value, usize::MAX);
    let mut safe = String::with_capacity(line.len());
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied().unwrap_or(' ');
        let active = match letter {
            '<' => next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?'),
            ']' => matches!(next, '(' | '['),
            '[' => next == '[',
            '\\' => matches!(next, '<' | '[' | ']' | '\\'),
            _ => false,
        };
        if active {
            safe.push('\\');
        }
        safe.push(letter);
    }
    safe
}

fn is_escaped(letter: char) -> bool {
    matches!(letter, '<' | '[' | ']' | '\\' | '`')
}

/// How many ticks a text begins with, and the code span that they open, if as many close it.
fn code_span(text: &str) -> (usize, Option<&str>) {
    let ticks = |text: &str| text.len() - text.trim_start_matches('`').len();
    let run = ticks(text);
    let mut at = run;
    while let Some(found) = text[at..].find('`') {
        at += found;
        let closing = ticks(&text[at..]);
        at += closing;
        if closing == run {
            return (run, Some(&text[..at]));
        }
    }
    (run, None)
}

/// What [`inline`] was given, as far as markup goes.
pub fn plain(value: &str) -> String {
    if !value.contains('\\') {
        return value.to_string();
    }
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(letter) = rest.chars().next() {
        if letter == '`' {
            let (run, span) = code_span(rest);
            let end = span.map_or(run, str::len);
            text.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        rest = &rest[letter.len_utf8()..];
        match rest.chars().next().filter(|next| letter == '\\' && is_escaped(*next)) {
            Some(escaped) => {
                text.push(escaped);
                rest = &rest[escaped.len_utf8()..];
            }
            None => text.push(letter),
        }
    }
    text
}

/// A sentence without the marks of Markdown around its words; code spans stay as they are.
pub fn strip_marks(sentence: &str) -> String {
    static LINK: StaticRegex = StaticRegex::new(r"\[([^\[\]]+)\]\([^()\s]+\)");
    let mut words = String::with_capacity(sentence.len());
    for (piece, is_code) in pieces(without_leading_marks(sentence)) {
        match is_code {
            true => words.push_str(piece),
            false => words.push_str(&without_stress(piece)),
        }
    }
    if words.contains("](") { LINK.replace_all(&words, "$1").into_owned() } else { words }
}

/// A text in pieces, each with whether it is a code span.
pub fn pieces(text: &str) -> Vec<(&str, bool)> {
    let mut pieces = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(found) = text[at..].find('`') {
        at += found;
        let (run, span) = code_span(&text[at..]);
        let Some(span) = span else {
            at += run;
            continue;
        };
        pieces.push((&text[from..at], false));
        pieces.push((span, true));
        at += span.len();
        from = at;
    }
    pieces.push((&text[from..], false));
    pieces.retain(|(piece, _)| !piece.is_empty());
    pieces
}

/// A line whose code spans hold no ` -> ` and no ` | `, which part the fields of a line of ours:
/// `string | null` is `string|null`.
pub fn tight_code(line: &str) -> Cow<'_, str> {
    if !line.contains('`') || !(line.contains(" -> ") || line.contains(" | ")) {
        return Cow::Borrowed(line);
    }
    let tight = |(piece, is_code): (&str, bool)| match is_code {
        true => piece.replace(" -> ", "->").replace(" | ", "|"),
        false => piece.to_string(),
    };
    Cow::Owned(pieces(line).into_iter().map(tight).collect())
}

/// Text behind the marks of headings, lists, quotes and tables. A mark has a space behind it:
/// `#12` is a number and `--all` an option.
fn without_leading_marks(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let behind = rest.trim_start_matches(['#', '-', '*', '>', '|']);
        let is_mark = behind.is_empty() || behind.starts_with(char::is_whitespace);
        if behind.len() == rest.len() || !is_mark {
            return rest;
        }
        rest = behind.trim_start();
    }
}

/// Prose without `**` and without `__` around words; those of `src/**/*.rs` and `__init__.py` are
/// parts of names.
fn without_stress(prose: &str) -> String {
    let mut words = String::with_capacity(prose.len());
    let mut rest = prose;
    while let Some(at) = rest.find("**") {
        let behind = &rest[at + 2..];
        let is_glob = rest[..at].ends_with('/') || behind.starts_with("/*");
        words.push_str(&rest[..if is_glob { at + 2 } else { at }]);
        rest = behind;
    }
    words.push_str(rest);
    let mut at = 0;
    while let Some(open) = words[at..].find("__").map(|found| at + found) {
        match closing_underlines(&words, open) {
            Some(close) => {
                words.replace_range(close..close + 2, "");
                words.replace_range(open..open + 2, "");
                at = close - 2;
            }
            None => at = open + 2,
        }
    }
    words
}

/// Where the `__` stand that close those at a place, where these open stressed words.
fn closing_underlines(words: &str, open: usize) -> Option<usize> {
    let begins =
        words[..open].chars().next_back().is_none_or(|c| c.is_whitespace() || "(\"'".contains(c));
    let inner = &words[open + 2..];
    if !begins || inner.starts_with(|c: char| c.is_whitespace() || c == '_') {
        return None;
    }
    let ends = |close: &usize| {
        let behind =
            inner[close + 2..].trim_start_matches(['.', ',', ';', ':', '!', '?', ')', '"']);
        let whole = behind.is_empty() || behind.starts_with(char::is_whitespace);
        whole && !inner[..*close].ends_with(|c: char| c.is_whitespace() || c == '_')
    };
    let close = inner.match_indices("__").map(|(close, _)| close).find(ends)?;
    Some(open + 2 + close)
}

/// Text as inline code, whatever backticks it holds.
pub fn code(value: &str) -> String {
    let value = text::one_line(value, 300);
    if value.is_empty() {
        return value;
    }
    let longest = longest_run_of_ticks(&value);
    let ticks = "`".repeat(longest + 1);
    let pad = if longest > 0 { " " } else { "" };
    format!("{ticks}{pad}{value}{pad}{ticks}")
}

/// Texts as inline code: `` `a`, `b` and 3 more ``.
pub fn code_list(values: &[String], most: usize) -> String {
    let shown: Vec<String> = values.iter().take(most).map(|value| code(value)).collect();
    text::and_more(&shown.join(", "), values.len().saturating_sub(most))
}

/// Text in a fence that it cannot close.
pub fn fenced(language: &str, value: &str) -> String {
    let ticks = "`".repeat(longest_run_of_ticks(value).max(2) + 1);
    format!("{ticks}{language}\n{}\n{ticks}\n", text::printable(value))
}

/// Text as a quote of at most so many bytes.
pub fn quoted(value: &str, most: usize) -> String {
    let whole = value.trim();
    let kept = text::cut(whole, most);
    let mut quote = String::with_capacity(kept.len() + kept.len() / 16);
    for line in without_html(text::printable(kept)).lines() {
        quote.push_str(if line.is_empty() { ">" } else { "> " });
        quote.push_str(line);
        quote.push('\n');
    }
    if kept.len() < whole.len() {
        quote.push_str(&format!("> … ({} bytes in all; raw has them)\n", whole.len()));
    }
    quote
}

/// Text as part of a heading.
pub fn heading(value: &str) -> String {
    value.replace(['#', '`', '<', '>', '[', ']'], "").trim().to_string()
}

/// Markdown whose HTML is shown, not obeyed; what stands in code stays as it is.
fn without_html(value: Cow<'_, str>) -> Cow<'_, str> {
    let mut value = value;
    // Where one tag is none any more, another may begin; each pass leaves fewer.
    for _ in 0..8 {
        let mut at = Vec::new();
        if value.contains('<') {
            for (event, range) in Parser::new(&value).into_offset_iter() {
                if let Event::Html(_) | Event::InlineHtml(_) | Event::Start(Tag::HtmlBlock) = event
                {
                    at.extend(
                        value[range.clone()]
                            .match_indices('<')
                            .map(|(offset, _)| range.start + offset),
                    );
                }
            }
        }
        if at.is_empty() {
            return value;
        }
        at.sort_unstable();
        at.dedup();
        let mut escaped = value.into_owned();
        at.iter().rev().for_each(|at| escaped.insert(*at, '\\'));
        value = Cow::Owned(escaped);
    }
    // Somebody went to great lengths; then it is shown without any.
    Cow::Owned(value.replace('<', "&lt;"))
}

/// Text whose emphasis marks are shown as they are.
pub fn without_emphasis(value: &str) -> Cow<'_, str> {
    if value.contains(['*', '_']) {
        value.replace('*', "\\*").replace('_', "\\_").into()
    } else {
        value.into()
    }
}

fn longest_run_of_ticks(value: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for byte in value.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_log_can_close_a_fence_or_leave_a_quote() {
        assert_eq!(fenced("text", "a\n```\n# b"), "````text\na\n```\n# b\n````\n");
        assert_eq!(quoted("# a\n\n---\nb", 100), "> # a\n>\n> ---\n> b\n");
        assert_eq!(code("a `b` c"), "`` a `b` c ``");
    }

    #[test]
    fn html_in_a_quote_is_shown_and_code_stays_as_it_is() {
        for (value, quote) in [
            ("a <b>bold</b> word, 1 < 2", "> a \\<b>bold\\</b> word, 1 < 2\n"),
            ("<script>\nalert(1)\n</script>", "> \\<script>\n> alert(1)\n> \\</script>\n"),
            ("`Vec<String>` and\n```\n<div>\n```", "> `Vec<String>` and\n> ```\n> <div>\n> ```\n"),
            ("<!-- <b> -->", "> \\<!-- \\<b> -->\n"),
        ] {
            assert_eq!(quoted(value, 1000), quote);
        }
        for hostile in [
            "```\n    ```\n<script>x</script>",
            "~~~\n```\n~~~\n<script>x</script>",
            "\\\\<script>x</script>",
            "<<<script>x",
        ] {
            let quote = quoted(hostile, 1000);
            let html = Parser::new(&quote)
                .any(|event| matches!(event, Event::Html(_) | Event::InlineHtml(_)));
            assert!(!html, "{quote}");
        }
    }

    #[test]
    fn marks_around_words_go_and_those_of_code_stay() {
        for (marked, plain) in [
            ("# Heading of it", "Heading of it"),
            ("> - **Bold** words", "Bold words"),
            ("__bold__ word", "bold word"),
            ("a __bold word__, and more", "a bold word, and more"),
            ("see [the guide](https://git.example/a)", "see the guide"),
            ("`join(__tide, '..')` and `a**b`", "`join(__tide, '..')` and `a**b`"),
            ("**`__tide.rs`** is new", "`__tide.rs` is new"),
            ("in tide/__start__.py, not __tide", "in tide/__start__.py, not __tide"),
            ("it reads src/**/*.rs", "it reads src/**/*.rs"),
            ("#523 is closed", "#523 is closed"),
            ("--all lists them", "--all lists them"),
            ("| a cell", "a cell"),
            ("one ` tick __here__", "one ` tick here"),
        ] {
            assert_eq!(strip_marks(marked), plain);
        }
    }

    #[test]
    fn code_in_a_line_of_fields_is_readable() {
        for (line, tight) in [
            ("takes `Lock | None` and gives it | so", "takes `Lock|None` and gives it | so"),
            ("`fn a() -> b` -> `c`", "`fn a()->b` -> `c`"),
            ("nothing | to do", "nothing | to do"),
        ] {
            assert_eq!(tight_code(line), tight);
        }
    }

    #[test]
    fn one_line_holds_no_markup() {
        for (value, safe) in [
            ("a\n## b", "a ## b"),
            ("<script>x</script>", "\\<script>x\\</script>"),
            ("[x](javascript:y) [[z]]", "[x\\](javascript:y) \\[[z]]"),
            ("a < b", "a < b"),
            ("`Vec<u8>` and <b>", "`Vec<u8>` and \\<b>"),
            ("one ` tick <b>", "one \\` tick \\<b>"),
        ] {
            assert_eq!(inline(value), safe);
        }
        for value in
            ["<b> [x](y)", r"C:\Users\[a] \\host\<b> \](x) \\\[[", r"\", r"a \`b` ``c<d>`` ` \`"]
        {
            assert_eq!(plain(&inline(value)), value);
        }
    }

    #[test]
    fn what_looks_like_a_tag_is_code() {
        for (line, expected) in [
            ("results/<tide>/<quay>/ of a run", "`results/<tide>/<quay>/` of a run"),
            ("Use <summary></summary> here", "Use `<summary></summary>` here"),
            ("it got <!doctype html> instead", "it got `<!doctype html>` instead"),
            ("in `<quay>` already", "in `<quay>` already"),
            ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ] {
            assert_eq!(tags_as_code(line), expected);
            assert_eq!(inline(&tags_as_code(line)), expected, "nothing is left to escape");
        }
    }
}
