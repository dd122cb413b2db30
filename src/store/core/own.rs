//! A person's own lines between ours: a section that is made anew would drop them, so they move
//! into the notes.

use super::{NOTES, OUR_KEYS, lines};

/// The sections that are made anew.
const SECTIONS: &[&str] = &[
    "## Sessions", "## Cores", "## Landmarks", "## Under revision", "## Left open", "## Relations",
    "## Superseded",
];
/// How lines of ours begin, and the marks of a conflict.
const BEGINNINGS: &[&str] = &[
    "# Core ", "# Sphere ", "> Eight ", "(none: ", "- [SES", "- [CORE", "- SES", "  - ",
    "<<<<<<< ", "||||||| ", "=======", ">>>>>>> ",
];

/// The lines of a page that are neither ours nor in the notes; words behind a landmark's line, with
/// what that says.
pub fn own_lines(page: &str) -> Vec<String> {
    let mut own = Vec::new();
    let (mut section, mut in_front_matter) = ("", false);
    let mut lines = page.lines().map(str::trim_end).peekable();
    while let Some(line) = lines.next() {
        if line == "---" {
            let begins = lines.peek().is_some_and(|next| next.starts_with("schema: memtree/"));
            // A merge may have put two pages one after the other.
            section = if begins { "" } else { section };
            if begins || in_front_matter {
                in_front_matter = begins;
                continue;
            }
        }
        if in_front_matter || section == NOTES {
            continue;
        }
        if line.starts_with("## ") {
            section = line;
            if !SECTIONS.contains(&line) && line != NOTES {
                own.push(format!("#{line}"));
            }
        } else if let Some(words) = words_of_a_person(section, line) {
            own.push(words);
        }
    }
    own
}

/// What of a line is a person's. Git may have put two pages into each other line by line, so a line
/// of ours is one wherever it stands.
fn words_of_a_person(section: &str, line: &str) -> Option<String> {
    if let Some((text, words)) = lines::words_behind(line) {
        return Some(format!("- {words} (beside “{text}”)"));
    }
    let is_known_section = section.is_empty() || SECTIONS.contains(&section);
    let is_key = || line.split_once(':').is_some_and(|(key, _)| OUR_KEYS.contains(&key));
    let is_ours = line.is_empty()
        || line == "---"
        || BEGINNINGS.iter().any(|begin| line.starts_with(begin))
        || line.contains("([SES")
        || (line.starts_with("### ") && is_known_section)
        || is_key()
        || lines::is_landmark(line);
    (!is_ours).then(|| line.to_string())
}

/// Notes with these lines in them, each once.
pub fn with_lines(notes: String, own: &[String]) -> String {
    let mut text = notes;
    for line in own {
        if text.lines().any(|known| known.trim_end() == line) {
            continue;
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("{line}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "---\nschema: memtree/core/1\ncore_id: a_SP1C1\n---\n# Core a_SP1C1\n\
        > Eight sessions · 1 of 1 landmarks confirmed\n\n## Sessions\n\
        - [SES1_a_SP1C1](x) · demo · success · A title\n  - what came of it\n- SES2_a_SP1C1 · forgotten\n\n\
        ## Landmarks\n\n### demo\n\
        - **belief** Never push | confirmed 0.86, knowledge | [SES1_a_SP1C1#EP_001](x) user ^lm-0123456789 📌\n\n\
        ## Left open\n\n### demo\n- the lock ([SES1_a_SP1C1#EP_002](x), 2026-11-15)\n\n\
        ## Relations\n- [SES1_a_SP1C1](x) follows [SES2_a_SP1C1](x) · it\n\n## Notes\nmine\n";

    #[test]
    fn what_we_wrote_is_nobody_s_own() {
        assert_eq!(own_lines(PAGE), [""; 0]);
        assert_eq!(own_lines(&format!("{PAGE}\n{PAGE}")), [""; 0], "two pages in one");
        let marked =
            PAGE.replace("## Landmarks\n", "<<<<<<< HEAD\n## Landmarks\n=======\n>>>>>>> x\n");
        assert_eq!(own_lines(&marked), [""; 0]);
    }

    #[test]
    fn own_lines_words_and_sections_are_found() {
        let edited = PAGE
            .replace("## Landmarks\n", "## Landmarks\n- **belief** own line\n")
            .replace("📌\n", "📌 not on Fridays\n")
            .replace("## Relations", "## Plans\nto sail\n\n## Relations");
        let expect = [
            "- **belief** own line",
            "- not on Fridays (beside “Never push”)",
            "### Plans",
            "to sail",
        ];
        assert_eq!(own_lines(&edited), expect);
        let notes = with_lines("\n## Notes\nto sail\n".into(), &own_lines(&edited));
        assert_eq!(notes.matches("to sail").count(), 1);
        assert!(notes.ends_with("(beside “Never push”)\n### Plans\n"), "{notes}");
    }
}
