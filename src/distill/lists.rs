//! Lists: the points of a text in Markdown, each with the heading that it stands under.
//!
//! Agents close with lists, and so do the messages of commits and pull requests: what was done
//! stands there point by point, under the file or the part of the work that it is about.

use crate::base::markdown::strip_marks;
use crate::base::static_regex::StaticRegex;
use crate::base::text;

/// One point of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// What it stands under; empty where there is nothing.
    pub heading: String,
    pub text: String,
}

/// The longest point, and how many a text may have.
const LONGEST: usize = 600;
const MOST: usize = 60;
/// A longer sentence tells something of its own.
const MOST_WORDS_THAT_LEAD: usize = 22;

/// The points of a text, in its order: list items, rows of tables, and paragraphs that begin with a
/// label (`**Fix:** …`). What stands deeper belongs to the item above it.
pub fn points(value: &str) -> Vec<Point> {
    let mut reader = Reader::default();
    let mut fence: Option<&str> = None;
    let mut lines = value.lines().peekable();
    while let Some(line) = lines.next() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(open)) => fence = Some(open),
            (Some(open), Some(close)) if open == close => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                let next = lines.peek().copied().unwrap_or_default();
                reader.take(line, is_rule_of_table(next));
            }
        }
        if reader.points.len() >= MOST {
            break;
        }
    }
    reader.points
}

/// Whether a line begins a list item.
pub fn is_item(line: &str) -> bool {
    bullet(line).is_some()
}

#[derive(Default)]
struct Reader {
    points: Vec<Point>,
    heading: String,
    /// An item that ends in a colon, and how far it is indented: a heading for those below it.
    parent: Option<(usize, String)>,
    /// How far the item is indented that may still go on.
    open: Option<usize>,
}

impl Reader {
    fn take(&mut self, line: &str, heads_a_table: bool) {
        let start = line.trim();
        if start.is_empty() {
            self.open = None;
        } else if start.starts_with('|') {
            self.open = None;
            if !heads_a_table && !is_rule_of_table(start) {
                self.row(start);
            }
        } else if let Some(heading) = heading(line) {
            (self.heading, self.parent, self.open) = (heading, None, None);
        } else if let Some((indent, item)) = bullet(line) {
            self.item(indent, item);
        } else if let Some(item) = labelled(start) {
            self.push(String::new(), item);
            (self.parent, self.open) = (None, None);
        } else if let Some(indent) = self.open.filter(|_| line.starts_with([' ', '\t'])) {
            self.open = Some(indent);
            if let Some(last) = self.points.last_mut()
                && last.text.len() + start.len() < LONGEST
            {
                last.text = format!("{} {start}", last.text);
            }
        } else if !line.starts_with([' ', '\t']) {
            self.parent = None;
            self.open = None;
            if let Some(lead) = lead(start) {
                self.heading = plain(lead);
            } else if start.split_whitespace().count() > 12 {
                // A paragraph ends what stands under the heading before it.
                self.heading.clear();
            }
        }
    }

    fn item(&mut self, indent: usize, item: &str) {
        let item = plain(item);
        if let Some((parent, heading)) = self.parent.clone().filter(|(parent, _)| indent > *parent)
        {
            self.push(heading, item);
            self.open = Some(indent.max(parent));
            return;
        }
        self.parent = None;
        if let Some(open) = self.open
            && indent > open
            && !item.ends_with(':')
            && let Some(last) = self.points.last_mut()
        {
            // Particulars of the item above.
            if last.text.len() + item.len() < LONGEST {
                let end = last.text.trim_end_matches(['.', ':', ';']);
                last.text = format!("{end}; {item}");
            }
            return;
        }
        if item.ends_with(':') {
            self.parent = Some((indent, item.trim_end_matches(':').to_string()));
            self.open = None;
            return;
        }
        self.push(self.heading.clone(), item);
        self.open = Some(indent);
    }

    fn row(&mut self, row: &str) {
        let cells: Vec<String> =
            row.trim_matches('|').split('|').map(plain).filter(|cell| !cell.is_empty()).collect();
        // The number of a row says nothing.
        let is_number =
            |cell: &String| cell.trim_matches(['#', '.']).bytes().all(|b| b.is_ascii_digit());
        let named = if cells.first().is_some_and(is_number) { &cells[1..] } else { &cells };
        if let [only] = named
            && cells.len() > 1
        {
            self.push(self.heading.clone(), only.clone());
        } else if let [first, rest @ ..] = named
            && !rest.is_empty()
        {
            self.push(self.heading.clone(), format!("{first}: {}", rest.join(", ")));
        }
    }

    fn push(&mut self, heading: String, item: String) {
        if !item.is_empty() {
            self.points.push(Point { heading, text: text::cut(&item, LONGEST).to_string() });
        }
    }
}

/// The heading that a line is: `## Changes`, `**Changes:**`, `1. **Changes**`.
fn heading(line: &str) -> Option<String> {
    static BOLD: StaticRegex = StaticRegex::new(
        r"^(?:\d{1,2}[.)] +)?[^\w\s*`]*\s*\*\*([^*]{2,110}?):?\*\*:?(?: \([^)]{1,60}\))?:?$",
    );
    if line.starts_with("    ") {
        return None;
    }
    let start = line.trim();
    if start.starts_with('#') {
        let heading = start.trim_start_matches('#');
        return heading.starts_with(' ').then(|| plain(heading.trim_end_matches([':', '#', ' '])));
    }
    BOLD.captures(start).map(|found| plain(&found[1]))
}

/// The sentence with which a paragraph leads to the list below it: `Done. Added two tests
/// covering:`. One that leans on the sentence before it (`It checks for:`) leads with that.
fn lead(paragraph: &str) -> Option<&str> {
    static LEANS: StaticRegex = StaticRegex::new(
        r"(?i)^(?:it|this|they|these|that|those|specifically|in particular|the following)\b",
    );
    if !paragraph.ends_with(':') {
        return None;
    }
    let sentences: Vec<&str> = text::sentences(paragraph).collect();
    let (last, before) = sentences.split_last()?;
    let leans = LEANS.is_match(last) && last.split_whitespace().count() <= 6;
    let lead = before.last().filter(|_| leans).unwrap_or(last);
    let lead = lead.trim_end_matches([':', '.', '!']);
    (lead.split_whitespace().count() <= MOST_WORDS_THAT_LEAD).then_some(lead)
}

/// A list item: how far it is indented, and its text.
fn bullet(line: &str) -> Option<(usize, &str)> {
    let start = line.trim_start();
    let indent = line[..line.len() - start.len()].chars().map(|c| if c == '\t' { 4 } else { 1 });
    let digits = start.trim_start_matches(|c: char| c.is_ascii_digit());
    let item = match start.len() - digits.len() {
        0 => start.strip_prefix(['-', '*', '•', '+', '–'])?,
        1 | 2 => digits.strip_prefix(['.', ')'])?,
        _ => return None,
    };
    let text = item.strip_prefix([' ', '\t'])?.trim();
    (!text.is_empty()).then_some((indent.sum(), text))
}

/// What a paragraph that begins with a label says: `**Fix:** the lock is taken first`.
fn labelled(line: &str) -> Option<String> {
    static LABEL: StaticRegex = StaticRegex::new(
        r"(?i)^[^\w*]{0,4}\*\*(?:the )?(?:fix|fixed|solution|changes?|result|what changed|done|root cause|cause|summary)[^*:]{0,30}:?\*\*:?\s+(\S.{15,})$",
    );
    LABEL.captures(line).map(|found| plain(&found[1]))
}

fn is_rule_of_table(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('|') && line.contains('-') && line.chars().all(|c| "|:- ".contains(c))
}

/// A piece of Markdown without emphasis, boxes and pictures before it.
fn plain(value: &str) -> String {
    let pictured =
        |c: char| !c.is_alphanumeric() && !c.is_ascii_punctuation() && !"“„«".contains(c);
    let value = value.trim().trim_start_matches(pictured);
    let boxes = ["[ ] ", "[x] ", "[X] "];
    let value = boxes.iter().find_map(|mark| value.strip_prefix(mark)).unwrap_or(value);
    let value = value.trim_start_matches(pictured);
    let plain = strip_marks(value);
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let found: Vec<(String, String)> =
            points(text).into_iter().map(|point| (point.heading, point.text)).collect();
        let expected: Vec<(String, String)> =
            expected.iter().map(|(h, t)| (h.to_string(), t.to_string())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn points_stand_under_their_heading() {
        check(
            "Done.\n\n## Changes\n- **lock.rs** takes the lock\n  before the header\n- `day.rs` waits\n\nAll of it is tested and it runs on all three of the systems now.\n- last",
            &[
                ("Changes", "lock.rs takes the lock before the header"),
                ("Changes", "`day.rs` waits"),
                ("", "last"),
            ],
        );
        check(
            "1. **`src/lock.rs`**\n   - takes the lock\n   - frees it\n2. **Docs:**\n   - say so",
            &[
                ("`src/lock.rs`", "takes the lock"),
                ("`src/lock.rs`", "frees it"),
                ("Docs", "say so"),
            ],
        );
    }

    #[test]
    fn what_stands_deeper_belongs_to_the_item_above() {
        check(
            "- Updated `light.json`:\n  - off is gray\n  - low is blue\n- Docs\n  - in the guide\n",
            &[
                ("Updated `light.json`", "off is gray"),
                ("Updated `light.json`", "low is blue"),
                ("", "Docs; in the guide"),
            ],
        );
    }

    #[test]
    fn the_sentence_before_a_list_is_its_heading() {
        check(
            "Done. Added two tests covering:\n1. a day without a header\n2. two writers",
            &[
                ("Added two tests covering", "a day without a header"),
                ("Added two tests covering", "two writers"),
            ],
        );
        check(
            "The fix looks for a lock before `append`. It checks for:\n- `day.lock`\n- `x.pid`",
            &[
                ("The fix looks for a lock before `append`", "`day.lock`"),
                ("The fix looks for a lock before `append`", "`x.pid`"),
            ],
        );
        let long = "word ".repeat(MOST_WORDS_THAT_LEAD + 1);
        check(&format!("{long}:\n- one"), &[("", "one")]);
    }

    #[test]
    fn tables_and_labels_are_points_and_code_is_none() {
        check(
            "| File | Change |\n|---|---|\n| `a.rs` | locks |\n\n**Fix:** the header is written under the lock\n\n```\n- no item\n```\n- ✅ [x] --force is gone",
            &[
                ("", "`a.rs`: locks"),
                ("", "the header is written under the lock"),
                ("", "--force is gone"),
            ],
        );
        check(
            "| # | Change | File |\n|---|---|---|\n| 2 | waits for the lock | `a.rs` |\n| #3 | frees it |",
            &[("", "waits for the lock: `a.rs`"), ("", "frees it")],
        );
        check("3.5 is a number\n-v is an option\n**bold** begins it", &[]);
    }
}
