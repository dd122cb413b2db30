//! A view is a text as somebody would read it in the end: strings that code puts together as one,
//! tokens that a line's end cut in two as whole, percent and Base64 decoded.
//!
//! What is found in a view is mapped back onto the text.

use std::ops::Range;

use crate::base::static_regex::StaticRegex;

/// A part of a text without some of its bytes.
pub(super) struct View {
    pub(super) text: String,
    /// For each kept piece where it begins in the view, and where in the text.
    pieces: Vec<(usize, usize)>,
}

impl View {
    /// A text from `start` to `end` without the given stretches of it.
    pub(super) fn without(text: &str, start: usize, end: usize, gaps: &[Range<usize>]) -> View {
        let mut view = View { text: String::new(), pieces: Vec::new() };
        let mut at = start;
        for gap in gaps {
            view.push(text, at..gap.start);
            at = gap.end;
        }
        view.push(text, at..end);
        view
    }

    fn push(&mut self, text: &str, range: Range<usize>) {
        self.pieces.push((self.text.len(), range.start));
        self.text.push_str(&text[range]);
    }

    /// Where a stretch of the view stands in the text; none where it lies within one piece, and so
    /// is found without the view.
    pub(super) fn mapped(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let piece = |at: usize| self.pieces.iter().rposition(|(begins, _)| *begins <= at);
        let (first, last) = (piece(range.start)?, piece(range.end.checked_sub(1)?)?);
        (first != last).then(|| self.placed(range))?
    }

    /// Where a stretch of the view stands in the text.
    pub(super) fn placed(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let place = |at: usize| {
            let piece = self.pieces.iter().rposition(|(begins, _)| *begins <= at)?;
            Some(self.pieces[piece].1 + at - self.pieces[piece].0)
        };
        Some(place(range.start)?..place(range.end.checked_sub(1)?)? + 1)
    }
}

/// What stands between two strings that code puts together: `" + "`, `' .\n '`, or a line's end.
static JOINT: StaticRegex = StaticRegex::new(concat!(
    r#"\A["'`][ \t]{0,4}(?:"#,
    r#"(?:\+|\.{1,2}|&|~|<>|\|\|)[ \t]{0,4}(?:\\?(?:\r?\n|\\n)[ \t]{0,40})?"#,
    r#"|\\?(?:\r?\n|\\n)[ \t]{0,40}(?:(?:\+|\.{1,2}|&)[ \t]{0,4})?"#,
    r#"|[ \t])\\{0,3}["'`]"#,
));

/// How far from a joint a view of it reaches.
const AROUND: usize = 160;

/// Calls `each` with a view of every place where strings are put together.
pub(super) fn each_joined(text: &str, mut each: impl FnMut(&View)) {
    let mut group: Vec<Range<usize>> = Vec::new();
    let mut give = |group: &mut Vec<Range<usize>>| {
        if let ([first, ..], [.., last]) = (group.as_slice(), group.as_slice()) {
            let (start, end) = (floor(text, first.start), ceiling(text, last.end));
            each(&View::without(text, start, end, group));
        }
        group.clear();
    };
    let bytes = text.as_bytes();
    for quote in memchr::memchr3_iter(b'"', b'\'', b'`', bytes) {
        // The next byte mostly shows that nothing is put together here.
        let next = bytes.get(quote + 1);
        if !next.is_some_and(|next| b" \t+.&~<|\r\n\\".contains(next))
            || group.last().is_some_and(|last| quote < last.end)
        {
            continue;
        }
        let Some(joint) = JOINT.find(super::cut(&text[quote..], 100)) else { continue };
        let escapes =
            bytes[..quote].iter().rev().take(3).take_while(|byte| **byte == b'\\').count();
        let joint = quote - escapes..quote + joint.end();
        if group.last().is_some_and(|last| joint.start > last.end + AROUND) || group.len() >= 16 {
            give(&mut group);
        }
        group.push(joint);
    }
    give(&mut group);
}

fn floor(text: &str, at: usize) -> usize {
    let mut floor = at.saturating_sub(AROUND);
    while !text.is_char_boundary(floor) {
        floor += 1;
    }
    floor
}

fn ceiling(text: &str, at: usize) -> usize {
    at + super::cut(&text[at..], AROUND).len()
}

/// What stands between the two halves of a token that was cut in two.
static CUT: StaticRegex = StaticRegex::new(concat!(
    r#"\A(?:\\?\r?\n[ \t>|#*/+-]{0,20}|\\{1,4}n[ \t]{0,20}"#,
    r#"|\\{0,3}["'`][ \t]{0,3}[,+.]{0,2}[ \t\r\n\\]{0,40}\\{0,3}["'`])"#,
));

/// A token that begins at `start`, put together again from its pieces; none where it is whole.
pub(super) fn uncut(text: &str, start: usize) -> Option<View> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.~+/=".contains(&byte);
    let bytes = text.as_bytes();
    let run =
        |from: usize| from + bytes[from..].iter().take(200).take_while(|b| is_token(**b)).count();
    let mut end = run(start);
    let mut gaps: Vec<Range<usize>> = Vec::new();
    while gaps.len() < 12 && end - start < 2000 {
        let rest = super::cut(&text[end..], 80);
        let piece = &text[gaps.last().map_or(start, |gap| gap.end)..end];
        // A line's end may have become a space.
        let spaced = rest.starts_with(' ') && piece.len() >= 12 && super::is_mixed(piece);
        let cut = if spaced { Some(1) } else { CUT.find(rest).map(|cut| cut.end()) };
        let Some(cut) = cut else { break };
        let from = end + cut;
        let next = run(from);
        if next == from {
            break;
        }
        gaps.push(end..from);
        end = next;
    }
    (!gaps.is_empty()).then(|| View::without(text, start, end, &gaps))
}

/// A place in lines that all begin with the same mark, as in a diff or a quotation.
pub(super) struct Marked {
    pub(super) view: View,
    /// Where it is in the view.
    pub(super) start: usize,
}

/// The lines from the one in which `start` is, without the mark that they begin with; none where
/// the next line has not the same one.
pub(super) fn unmarked(text: &str, start: usize, longest: usize) -> Option<Marked> {
    let bytes = text.as_bytes();
    let mark_end = |line: usize| {
        let blank = bytes[line..].iter().take(8).take_while(|byte| **byte == b' ').count();
        let mark = *bytes.get(line + blank).filter(|byte| b"+->|".contains(byte))?;
        let gap = usize::from(bytes.get(line + blank + 1) == Some(&b' '));
        Some((mark, line + blank + 1 + gap))
    };
    let line = memchr::memrchr(b'\n', &bytes[..start]).map_or(0, |end| end + 1);
    let (mark, first) = mark_end(line).filter(|(_, first)| *first <= start)?;
    let mut end = start + super::cut(&text[start..], longest).len();
    let mut gaps: Vec<Range<usize>> = Vec::new();
    let mut at = start;
    while let Some(next) = memchr::memchr(b'\n', &bytes[at..end]).map(|next| at + next + 1) {
        match mark_end(next).filter(|(other, after)| *other == mark && *after <= end) {
            Some((_, after)) => gaps.push(next..after),
            None => {
                end = next;
                break;
            }
        }
        at = next;
    }
    let is_marked = !gaps.is_empty();
    is_marked.then(|| Marked { view: View::without(text, first, end, &gaps), start: start - first })
}

/// What is written with percent signs; none where it is no text.
pub(super) fn percent_decoded(run: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(run.len());
    let mut rest = run.as_bytes();
    while let [first, others @ ..] = rest {
        rest = others;
        let code = others.get(..2).filter(|_| *first == b'%');
        match code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &others[2..];
            }
            None => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).ok()
}

/// What is written in Base64, in either alphabet; none where it is no printable text.
pub(super) fn base64_decoded(run: &str) -> Option<String> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    let mut decoded = Vec::new();
    for group in run.as_bytes().chunks(4) {
        let mut bits = 0u32;
        for (at, &byte) in group.iter().enumerate() {
            bits |= u32::from(value(byte)?) << (18 - 6 * at);
        }
        let bytes = [(bits >> 16) as u8, (bits >> 8) as u8, bits as u8];
        let count = group.len().saturating_sub(1);
        // Most runs are no text: three bytes mostly show it.
        if !bytes[..count].iter().all(|b| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~')) {
            return None;
        }
        decoded.extend_from_slice(&bytes[..count]);
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_together_is_mapped_back() {
        let text = r#"let x = "abc" + "def";"#;
        let mut seen = Vec::new();
        each_joined(text, |view| {
            let at = view.text.find("abcdef").unwrap();
            seen.push(view.mapped(&(at..at + 6)).map(|range| text[range].to_string()));
            assert_eq!(view.mapped(&(at..at + 2)), None);
        });
        assert_eq!(seen, [Some(r#"abc" + "def"#.to_string())]);
    }

    #[test]
    fn decoding() {
        assert_eq!(base64_decoded("aHVudGVyMg").as_deref(), Some("hunter2"));
        assert_eq!(base64_decoded("src/base/redact"), None);
        assert_eq!(percent_decoded("a%5Fb%2").as_deref(), Some("a_b%2"));
    }
}
