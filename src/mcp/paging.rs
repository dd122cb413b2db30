//! Long answers in parts: each within a budget of tokens, with a cursor that continues it.

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

#[cfg(test)]
mod tests {
    use super::*;

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
