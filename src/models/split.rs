//! Splitting: what is too long for one call is split between its parts, and a part that is too long
//! between its paragraphs.

use crate::base::text;

/// Groups parts, in order, into pieces that each take at most so many tokens. The pieces are about
/// equally long, so that none of them is a scrap that a model would make too much of.
pub fn pieces(parts: &[String], most: usize) -> Vec<String> {
    let most = most.max(1);
    let mut units: Vec<(usize, &str)> = Vec::new();
    for part in parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()) {
        match text::tokens(part) {
            tokens if tokens <= most => units.push((tokens, part)),
            _ => {
                units.extend(within(part, most).into_iter().map(|unit| (text::tokens(unit), unit)))
            }
        }
    }
    let total: usize = units.iter().map(|(tokens, _)| tokens).sum();
    let fair = total.div_ceil(total.div_ceil(most).max(1));
    let mut pieces: Vec<(usize, String)> = Vec::new();
    for (tokens, unit) in units {
        match pieces.last_mut() {
            // Half of a unit may stand over the fair share; none may be over the limit.
            Some((sum, piece)) if *sum + tokens / 2 <= fair && *sum + tokens <= most => {
                *sum += tokens;
                piece.push_str("\n\n");
                piece.push_str(unit);
            }
            _ => pieces.push((tokens, unit.to_string())),
        }
    }
    pieces.into_iter().map(|(_, piece)| piece).collect()
}

/// Cuts one part: at empty lines, else at line ends, else anywhere.
fn within(part: &str, most: usize) -> Vec<&str> {
    let mut cut = Vec::new();
    let mut rest = part;
    while text::tokens(rest) > most {
        // No character takes more than 2 tokens or less than a quarter of one for each of its
        // bytes.
        let mut window = text::cut(rest, most * 4);
        while text::tokens(window) > most {
            window = text::cut(window, window.len() * 3 / 4);
        }
        let seam = |mark: &str| {
            window.rfind(mark).filter(|at| *at > window.len() / 2).map(|at| at + mark.len())
        };
        let first_char = rest.chars().next().map_or(1, char::len_utf8);
        let at = seam("\n\n")
            .or_else(|| seam("\n"))
            .or_else(|| seam(" "))
            .unwrap_or(window.len())
            .max(first_char);
        cut.push(rest[..at].trim());
        rest = rest[at..].trim_start();
    }
    cut.push(rest);
    cut.retain(|unit| !unit.is_empty());
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_whole() {
        assert_eq!(pieces(&["one".into(), " ".into(), "two".into()], 100), ["one\n\ntwo"]);
        assert!(pieces(&[], 100).is_empty());
    }

    #[test]
    fn pieces_end_where_parts_end() {
        let parts: Vec<String> =
            (1..=9).map(|n| format!("EP_00{n} {}", "word ".repeat(30))).collect();
        let pieces = pieces(&parts, 120);
        assert!(
            pieces.len() >= 3 && pieces.iter().all(|piece| text::tokens(piece) <= 120),
            "{pieces:?}"
        );
        assert!(pieces.iter().all(|piece| piece.starts_with("EP_") && piece.ends_with("word")));
        assert_eq!(pieces.join("\n\n").matches("EP_").count(), 9);
    }

    #[test]
    fn a_part_that_is_too_long_is_cut_at_its_lines_and_loses_nothing() {
        let part: String = (0..200).map(|n| format!("line number {n}\n")).collect();
        let cut = pieces(std::slice::from_ref(&part), 60);
        assert!(cut.len() > 5 && cut.iter().all(|piece| text::tokens(piece) <= 60));
        assert!(cut.iter().all(|piece| piece.starts_with("line number")));
        assert_eq!(cut.join("\n").trim(), part.trim());
        // Without a seam, in a script whose characters take three bytes.
        let dense = "記憶".repeat(400);
        let cut = pieces(std::slice::from_ref(&dense), 50);
        assert!(cut.iter().all(|piece| text::tokens(piece) <= 50));
        assert_eq!(cut.concat(), dense);
        assert_eq!(pieces(&["🙂🙂".into()], 1), ["🙂", "🙂"]);
    }
}
