//! Long answers in parts: each within a budget of tokens, with a cursor that continues it.

use std::borrow::Cow;

use crate::base::text;
use crate::error::{Error, Result};

/// Where an answer goes on: how much of it was given already.
pub fn position(cursor: Option<&str>) -> Result<usize> {
    let Some(cursor) = cursor else { return Ok(0) };
    cursor.parse().map_err(|_| {
        Error::usage("this cursor is none of ours")
            .hint("leave it away to begin, or give back what the last answer had as `cursor`")
    })
}

/// The part of a text that begins at a byte and has at most so many tokens, in whole lines where
/// that is possible; and where the next one begins.
pub fn part(whole: &str, from: usize, budget: usize) -> Result<(&str, Option<usize>)> {
    let rest = whole.get(from..).ok_or_else(|| {
        Error::usage("this cursor is behind the end of the text").hint("leave it away to begin")
    })?;
    let mut end = 0;
    let mut left = budget.max(1);
    for line in rest.split_inclusive('\n') {
        let cost = text::tokens(line);
        if cost > left {
            break;
        }
        (end, left) = (end + line.len(), left - cost);
    }
    if end == 0 && !rest.is_empty() {
        // A line that is longer than the budget is begun; a token has at least one byte.
        end = text::cut(rest, budget.max(4)).len();
    }
    let next = from + end;
    Ok((&rest[..end], (next < whole.len()).then_some(next)))
}

/// How much of a first part is its end.
const SHARE_OF_END: usize = 3;

/// The first part of a text, and where it goes on. One that is too long is given with its last
/// lines, since what a prompt came to stands at the end of what followed it.
pub fn first_part(whole: &str, budget: usize) -> Result<(Cow<'_, str>, Option<usize>)> {
    let (all, None) = part(whole, 0, budget)? else {
        let (head, next) = part(whole, 0, budget - budget / SHARE_OF_END)?;
        let rest = &whole[head.len()..];
        let end = last_lines(rest, budget / SHARE_OF_END);
        if end.is_empty() {
            return Ok((head.into(), next));
        }
        let left_out = text::tokens(&rest[..rest.len() - end.len()]);
        let mark =
            format!("[… some {left_out} tokens are left out here, `cursor` has them; the end:]");
        return Ok((format!("{head}\n{mark}\n\n{end}").into(), next));
    };
    Ok((all.into(), None))
}

/// The last whole lines that have at most so many tokens.
fn last_lines(rest: &str, budget: usize) -> &str {
    let mut from = rest.len();
    let mut left = budget;
    for line in rest.split_inclusive('\n').rev() {
        let cost = text::tokens(line);
        if cost > left {
            break;
        }
        (from, left) = (from - line.len(), left - cost);
    }
    &rest[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_part_has_the_end_and_the_cursor_what_is_between() {
        let whole: String = (0..400).map(|at| format!("line {at} of the output\n")).collect();
        let whole = format!("the prompt\n{whole}It was the lock.\n");
        let (first, next) = first_part(&whole, 120).unwrap();
        assert!(first.starts_with("the prompt\n") && first.ends_with("It was the lock.\n"));
        assert!(first.contains("left out here") && text::tokens(&first) < 160, "{first}");
        let (more, _) = part(&whole, next.unwrap(), 120).unwrap();
        let shown = first.split("\n[…").next().unwrap();
        assert!(whole.starts_with(&format!("{shown}{more}")));
        assert_eq!(first_part("short\n", 120).unwrap(), ("short\n".into(), None));
        let long_line = "word ".repeat(4000);
        let (first, next) = first_part(&long_line, 120).unwrap();
        assert!(long_line.starts_with(&*first) && next == Some(first.len()));
    }

    #[test]
    fn the_parts_of_a_text_are_the_text() {
        let long_line = "word ".repeat(400);
        let whole = format!("one\ntwo words\n{long_line}\nlast: 数据库锁\n");
        for budget in [1, 3, 10, 1000] {
            let (mut joined, mut from) = (String::new(), Some(0));
            while let Some(at) = from {
                let (part, next) = part(&whole, at, budget).unwrap();
                assert!(!part.is_empty(), "{budget} at {at}");
                joined.push_str(part);
                from = next;
            }
            assert_eq!(joined, whole, "{budget}");
        }
    }

    #[test]
    fn cursors_of_others_are_refused() {
        assert_eq!(position(None).unwrap(), 0);
        assert_eq!(position(Some("12")).unwrap(), 12);
        for bad in ["", "-1", "next", "99999999999999999999999", "1 2"] {
            assert!(position(Some(bad)).is_err(), "{bad}");
        }
        assert!(part("数", 1, 10).is_err());
        assert!(part("abc", 4, 10).is_err());
        assert_eq!(part("", 0, 10).unwrap(), ("", None));
    }
}
