//! Words of a day's lines: what in them says something, and what does not.

use std::borrow::Cow;

use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::distill::replies;

const LONGEST_ANSWER: usize = 220;
/// How long a block of code may be to be shown within a line.
const LONGEST_CODE: usize = 60;

/// The sentence of a reply that says the most.
pub fn gist(reply: &str) -> String {
    let of = |reply: &str| {
        let sentence = replies::closing_sentence(reply).unwrap_or_default();
        // In a line of a day, a table or a list has become one long sentence: its beginning says
        // what it is.
        let end = ["|", ": - ", ": 1. ", ": * ", " ## ", " ### ", " --- "]
            .iter()
            .filter_map(|mark| sentence.find(mark))
            .min();
        let sentence = end.map_or(sentence.as_str(), |end| &sentence[..end]);
        let sentence = whole(without_tags(sentence));
        match text::wants_another(sentence).then(|| item_behind(reply, sentence)).flatten() {
            Some(item) => text::phrase(&format!("{sentence} {item}"), LONGEST_ANSWER),
            None => text::phrase(sentence, LONGEST_ANSWER),
        }
    };
    // What stands before the first list or heading sums it up, unless it only announces it.
    let lead = pieces(reply).first().copied().unwrap_or_default();
    let announces = lead.starts_with("Here") || lead.starts_with('#');
    let lead = Some(of(lead)).filter(|gist| !announces && !is_curt(gist)).map(|gist| {
        let item = text::wants_another(&gist).then(|| item_behind(reply, &gist)).flatten();
        item.map_or(gist.clone(), |item| text::phrase(&format!("{gist} {item}"), LONGEST_ANSWER))
    });
    lead.unwrap_or_else(|| of(reply))
}

/// The first item of the list that a sentence leads to: "it verifies that: - the lock is held".
fn item_behind<'r>(reply: &'r str, sentence: &str) -> Option<&'r str> {
    let ending = sentence.char_indices().rev().nth(14).map_or(sentence, |(at, _)| &sentence[at..]);
    let rest = reply[reply.find(ending)? + ending.len()..].trim_start_matches([':', ' ', '*']);
    let item = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let item = item.trim_start_matches(['-', '•', '*', '.', ')', ' ']);
    let ends = [" - ", " * ", " • ", " 2. ", " 2) "].iter().filter_map(|mark| item.find(mark));
    let item = &item[..ends.min().unwrap_or(item.len())];
    let item = text::sentences(item).next()?;
    (!item.is_empty()).then_some(item)
}

/// The pieces of a line of a day: one line was made of all that was said, and headings, rules and
/// lists show where it had several.
fn pieces(said: &str) -> Vec<&str> {
    static BREAK: StaticRegex =
        StaticRegex::new(r"\s(#{1,6}\s|-{3,}\s|- \[[ x]\] )|[:.!?)`*]\s+((?:[-•*]|\d{1,2}[.)])\s)");
    let mut pieces = Vec::new();
    let mut start = 0;
    for found in BREAK.captures_iter(said) {
        let mark = found.get(1).or(found.get(2)).expect("one of the two is there");
        pieces.push(said[start..mark.start()].trim());
        start = mark.start();
    }
    pieces.push(said[start..].trim());
    pieces
}

/// The sentences of a line of a day. The first behind a heading is left out, since it is not
/// known where that ended.
pub fn sentences(said: &str) -> impl Iterator<Item = &str> {
    pieces(said).into_iter().flat_map(|piece| {
        let skipped = usize::from(piece.starts_with('#'));
        let piece = piece.trim_start_matches(['-', '•', '*', ' ']);
        text::sentences(piece.strip_prefix("[ ] ").unwrap_or(piece)).skip(skipped)
    })
}

/// A sentence without what a list left at its end: its colon, and the number of the next item.
pub fn whole(sentence: &str) -> &str {
    static TAIL: StaticRegex = StaticRegex::new(r"([\s:]+\d{1,2}[.)]|[\s:*–—-]+)$");
    let sentence = sentence.trim().trim_start_matches(['*', ' ']);
    TAIL.find(sentence).map_or(sentence, |tail| &sentence[..tail.start()])
}

/// A text without the marks of the headings that were in it.
pub fn without_headings(said: &str) -> Cow<'_, str> {
    static MARK: StaticRegex = StaticRegex::new(r"(^|\s)#{1,6}\s+");
    MARK.replace_all(said, "$1")
}

/// A sentence without the tags that some agents put around it.
fn without_tags(sentence: &str) -> &str {
    static TAG: StaticRegex = StaticRegex::new(r"^(\s*</?[\w-]{1,40}>)+");
    TAG.find(sentence).map_or(sentence, |tags| sentence[tags.end()..].trim_start())
}

/// Whether an answer says so little that an earlier one says more: "Done.", a heading, what will
/// be looked at next.
pub fn is_curt(answer: &str) -> bool {
    answer.chars().count() < 24 || replies::is_narration(answer)
}

/// Whether words say nothing by themselves: an acknowledgement, as a whole and not as a part of a
/// word.
pub fn is_low(said: &str) -> bool {
    const LOW: &[&str] = &[
        "yes", "no", "ok", "okay", "y", "n", "sure", "thanks", "thank you", "go", "go on",
        "go ahead", "continue", "proceed", "yes please", "please", "done", "great", "good", "nice",
        "perfect", "hi", "hello", "hey", "next", "stop", "ping", "test", "exit", "quit", "bye",
        "do it", "please continue", "keep going", "yep", "nope", "cool",
    ];
    let plain: String =
        said.to_lowercase().chars().filter(|c| c.is_alphanumeric() || *c == ' ').collect();
    let plain = plain.trim();
    plain.chars().count() <= 2 || LOW.contains(&plain)
}

/// Whether somebody decides something in a sentence, rather than only speaking of a choice.
pub fn decides(sentence: &str) -> bool {
    static DECIDED: StaticRegex = StaticRegex::new(
        r"(?i)\b(decided|decision( is| was|:)|we chose|i chose|going with|go with|opt(ed)? for|let's|we'll|i'll|we will|i will|prefer)\b",
    );
    static UNDECIDED: StaticRegex = StaticRegex::new(
        r"(?i)\b((needs?|into|no|your|until|before) (a |the )?decision|(this|that|it)('s| is| was) (a|an|the|another)\b.{0,40}\bdecision|not (yet )?decided|rather than guess|decide (which|whether|if|how|between)|(would|you'd|you) (you )?prefer)\b",
    );
    DECIDED.is_match(sentence) && !UNDECIDED.is_match(sentence)
}

/// What an agent writes in the person's name.
pub fn is_noise(said: &str) -> bool {
    said.starts_with("[Request interrupted")
        || said.starts_with("No response requested")
        || said.trim().is_empty()
}

/// Whether it is a row of a table or a piece of code rather than a sentence.
pub fn is_drawn(sentence: &str) -> bool {
    sentence.matches('|').count() >= 2
        || sentence.contains("```")
        || sentence.matches(" - ").count() >= 3
}

/// What was said in a line of a day. Days are written with every tag and bracket escaped, also in
/// code.
pub fn as_said(line: &str) -> String {
    static ESCAPED: StaticRegex = StaticRegex::new(r"\\([<\[\]\\])");
    // What a program puts before the words of a person.
    static FIELD: StaticRegex = StaticRegex::new(r"^\[\[ (?:## )?\w+ (?:## )?\]\]\s*");
    let said = ESCAPED.replace_all(without_more(line), "$1");
    FIELD.replace(&said, "").into_owned()
}

/// A line's text without the link to the rest of it.
fn without_more(text: &str) -> &str {
    match text.rfind(" [more](") {
        Some(at) if text.ends_with(')') => &text[..at],
        _ => text,
    }
}

/// A text in which a block of code that became part of a line is a short span, or is left out.
pub fn without_fences(said: &str) -> Cow<'_, str> {
    static BLOCK: StaticRegex =
        StaticRegex::new(r"```(?:[a-z]{1,12}\s)?\s*([^`]*?)\s*(?:```|`*$)|```");
    if !said.contains("```") {
        return Cow::Borrowed(said);
    }
    BLOCK.replace_all(said, |found: &regex::Captures<'_>| {
        let code = found.get(1).map_or("", |code| code.as_str());
        if (1..=LONGEST_CODE).contains(&code.chars().count()) {
            format!("`{code}`")
        } else {
            "…".to_string()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gist_is_a_whole_sentence() {
        for (reply, expect) in [
            (
                "Both threads are resolved now. Fixed: 1. **`7d1d0e0`: key zeroing** 2. more of it",
                "Both threads are resolved now.",
            ),
            (
                "<summary>The class now stores its salary as a decimal.</summary>",
                "The class now stores its salary as a decimal.",
            ),
            (
                "Run the command with the flag, and the plugin will create the page. Then: - a - b",
                "Run the command with the flag, and the plugin will create the page.",
            ),
        ] {
            assert!(gist(reply).starts_with(expect), "{reply}\n{}", gist(reply));
        }
        let listed =
            "The new test of the harbour lock verifies that: - the lock is held - it is freed";
        assert_eq!(gist(listed), "The new test of the harbour lock verifies that the lock is held");
        assert_eq!(whole("make it deterministic by: 1."), "make it deterministic by");
        assert_eq!(whole("is set inside the handler 2."), "is set inside the handler");
        assert_eq!(whole("version 2 of it"), "version 2 of it");
    }

    #[test]
    fn a_line_is_read_as_it_was_said() {
        assert_eq!(as_said(r"Run `open \<id>` and \[[this]]"), "Run `open <id>` and [[this]]");
        assert_eq!(as_said(r"\[[ ## question ## ]] Which one?"), "Which one?");
        assert_eq!(as_said(r"C:\temp [more](x.md)"), r"C:\temp");
        let shown = |said: &str| without_fences(said).into_owned();
        assert_eq!(shown("Try: ```sh ./go ``` now"), "Try: `./go` now");
        let long = format!("Keep it: ```json {{ {} }} ``` and go", "x ".repeat(50));
        assert_eq!(shown(&long), "Keep it: … and go");
        assert_eq!(shown(&format!("Keep it: ```json {{ {}", "x ".repeat(50))), "Keep it: …");
        assert_eq!(shown("No `code` here"), "No `code` here");
    }

    #[test]
    fn a_choice_is_not_talk_of_one() {
        assert!(decides("We decided to hold the lock until the header is there."));
        for talk in [
            "Ah, this is a crucial architectural decision.",
            "That needs your decision.",
            "Decide which one it is.",
        ] {
            assert!(!decides(talk), "{talk}");
        }
    }
}
