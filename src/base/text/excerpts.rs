//! An excerpt is the stretch of a text in which the terms of a query stand closest together.
//!
//! It shows on one line why the text was found.

use std::collections::{HashMap, HashSet};

use super::{back, each_word, one_line};

/// Returns the stretch of a text with the densest cluster of the terms, on one line of at most
/// `max_chars` characters, with `…` where it was cut.
pub fn excerpt(text: &str, terms: &[String], max_chars: usize) -> String {
    let Some((from, to)) = densest(text, terms, max_chars) else {
        return one_line(text, max_chars);
    };
    let found = text[from..to].chars().count();
    let spare = max_chars.saturating_sub(found + 2);
    // What follows a hit usually explains it better than what comes before.
    let mut start = back(text, from, spare / 3);
    if start > 0
        && let Some(space) = text[start..from].find(char::is_whitespace)
    {
        start += space;
    }
    if max_chars == 0 || text[..start].trim().is_empty() {
        return one_line(&text[start..], max_chars);
    }
    format!("…{}", one_line(&text[start..], max_chars - 1))
}

/// Returns the byte range of the window in which the most and the longest of the terms meet.
fn densest(text: &str, terms: &[String], max_chars: usize) -> Option<(usize, usize)> {
    let mut wanted = HashMap::new();
    for term in terms {
        each_word(term, |word| {
            let next = wanted.len();
            wanted.entry(word.text.into_owned()).or_insert(next);
        });
    }
    // The byte range of each hit, which term it is, and its length.
    let mut hits: Vec<(usize, usize, usize, usize)> = Vec::new();
    each_word(text, |word| {
        if let Some(&term) = wanted.get(word.text.as_ref()) {
            hits.push((word.start, word.end, term, word.text.chars().count()));
        }
    });
    let mut best: Option<(usize, usize, usize)> = None;
    for (first, &(start, ..)) in hits.iter().enumerate() {
        let mut seen = HashSet::new();
        let mut score = 0;
        let mut end = start;
        // Bytes are at least as many as characters, so a window is never too wide.
        for &(_, hit_end, term, length) in hits[first..].iter().take(64) {
            if hit_end > start + max_chars {
                break;
            }
            end = end.max(hit_end);
            score += if seen.insert(term) { 8 + length } else { 1 };
        }
        if best.is_none_or(|(most, ..)| score > most) {
            best = Some((score, start, end));
        }
    }
    best.map(|(_, start, end)| (start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts() {
        let filler = "filler words go on and on without end ".repeat(20);
        let text = format!("{filler}the flock header race lost an append {filler}");
        let terms = ["flock".to_string(), "header race".to_string()];
        let found = excerpt(&text, &terms, 60);
        assert!(found.contains("flock header race"), "{found}");
        assert!(found.starts_with('…') && found.ends_with('…'), "{found}");
        assert!(found.chars().count() <= 60);
        assert_eq!(excerpt("short text", &terms, 60), "short text");
        assert_eq!(excerpt("the flock", &terms, 60), "the flock");
        let text = "説明が続く。".repeat(30) + "ロックの競合が原因だった" + &"続く。".repeat(30);
        let found = excerpt(&text, &["ロック".to_string(), "競合".to_string()], 40);
        assert!(found.contains("ロックの競合"), "{found}");
    }
}
