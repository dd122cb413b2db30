//! Chunks: a large day in pieces that a model with a limited context can take.

/// Cuts a text where a `### ` section begins, into pieces of at most `most` characters; a longer
/// section is a piece of its own. Joined again, the pieces are the text, byte for byte.
pub fn chunks(text: &str, most: usize) -> Vec<&str> {
    let mut chunks = Vec::new();
    let (mut start, mut length) = (0, 0);
    for section in sections(text) {
        let more = section.chars().count();
        if length > 0 && length + more > most {
            let end = start + chunk_bytes(&text[start..], section);
            chunks.push(&text[start..end]);
            (start, length) = (end, 0);
        }
        length += more;
    }
    if start < text.len() {
        chunks.push(&text[start..]);
    }
    chunks
}

/// How far a section lies behind the beginning of the text that it is part of.
fn chunk_bytes(text: &str, section: &str) -> usize {
    section.as_ptr() as usize - text.as_ptr() as usize
}

/// The text from one `### ` at the beginning of a line to the next; what stands before the first is
/// one too.
fn sections(text: &str) -> impl Iterator<Item = &str> {
    const MARK: &str = "### ";
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let next =
            rest.match_indices('\n').map(|(at, _)| at + 1).find(|at| rest[*at..].starts_with(MARK));
        let (section, behind) = rest.split_at(next.unwrap_or(rest.len()));
        rest = behind;
        Some(section)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sections_stay_whole() {
        let day = "# Day\n\n### Session (10:00)\naaaa\n### Session (11:00)\nbbbb\n#### c\nx ### y\n### d\n";
        let pieces = chunks(day, 40);
        assert_eq!(
            pieces,
            [
                "# Day\n\n### Session (10:00)\naaaa\n",
                "### Session (11:00)\nbbbb\n#### c\nx ### y\n",
                "### d\n"
            ]
        );
        assert_eq!(chunks(day, 1_000_000), [day]);
        assert!(chunks("", 10).is_empty());
        let long = format!("a\n### {}\n### c\n", "b".repeat(50));
        assert_eq!(chunks(&long, 10).len(), 3, "a section that is too long stands alone");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]
        #[test]
        fn joined_again_it_is_the_text(
            pieces in prop::collection::vec(prop::sample::select(vec!["### ", "\n", "a", "日本", "#", "\r\n", "### é\n", " "]), 0..60),
            most in 1usize..40,
        ) {
            let text = pieces.concat();
            let cut = chunks(&text, most);
            prop_assert_eq!(cut.concat(), text.as_str());
            prop_assert!(cut.iter().skip(1).all(|chunk| chunk.starts_with("### ")));
        }
    }
}
