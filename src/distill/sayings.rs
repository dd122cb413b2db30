//! Sayings: which sentences of a session are worth repeating. What was decided and why, what was
//! learnt, and how the agent closed.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::base::pattern::Pattern;
use crate::base::text;
use crate::distill::facts::{EpisodeFacts, StatedKind};
use crate::distill::triggers::{plain_words, telling};
use crate::model::digest::Origin;

/// How many sentences of a reply may stand for it.
const SENTENCES_CONSIDERED: usize = 14;
/// How much a line of code counts against a sentence: it stands for a reply that says nothing else.
const OF_CODE: f32 = 0.25;
/// A sentence with fewer telling words ("The problem is clear.") says nothing by itself.
const FEWEST_TELLING: usize = 3;

/// A reply in two: what is said in it, and its blocks of code.
pub fn prose_and_code(reply: &str) -> (Cow<'_, str>, String) {
    if !reply.contains("```") && !reply.contains("~~~") {
        return (Cow::Borrowed(reply), String::new());
    }
    let (mut said, mut code) = (String::with_capacity(reply.len()), String::new());
    let (mut fence, mut is_code) = (None, false);
    for line in reply.split_inclusive('\n') {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(open)) => {
                let language = start.trim_start_matches(['`', '~']).trim();
                (fence, is_code) =
                    (Some(open), !matches!(language, "markdown" | "md" | "text" | "txt"));
                // What stands before a block and after it are two sentences.
                said.push_str("\n\n");
            }
            (Some(open), Some(close)) if open == close => fence = None,
            (Some(_), _) if is_code => code.push_str(line),
            _ => said.push_str(line),
        }
    }
    (Cow::Owned(said), code)
}

/// Whether a sentence decides something or says what was learnt.
pub fn stated(sentence: &str, origin: Origin) -> Option<StatedKind> {
    static DECISION: Pattern = Pattern::new(
        r"(?i)\b(decided|decision|(we|i) chose|chose to|going with|go with|went with|opt(ed)? for|settled on|let['’]?s use|agreed to)\b",
    );
    // "Instead of" alone tells a difference; with a reason or somebody's will it tells a choice.
    static CHOICE: Pattern =
        Pattern::new(r"(?i)\b(instead of|rather than|prefer(red)?|we['’]ll use|i['’]ll use)\b");
    static REASON: Pattern = Pattern::new(
        r"(?i)\b(because|since|so that|so it|so we|to avoid|to keep|in order to|otherwise|as it|due to)\b",
    );
    static WILL: Pattern = Pattern::new(
        r"(?i)^(use|make|call|keep|let['’]?s|we |i |i['’]|no,|yes,|instead|please|changed|switched|replaced|moved|refactored)",
    );
    static LESSON: Pattern = Pattern::new(
        r"(?i)\b(root cause|turns? out|turned out|the (real |actual )?(problem|issue|bug|cause|culprit|fix|reason|failure) (is|was|here)|lesson|learn(ed|t) that|was caused by|the trick (is|was))\b|^(fix|cause|reason):",
    );
    if !(28..320).contains(&sentence.len()) || !stands_alone(sentence, origin) {
        return None;
    }
    // Who asks for a root cause has not learnt it yet.
    let lesson = LESSON.is_match(sentence)
        && (origin != Origin::User || !sentence.to_lowercase().contains("root cause"));
    let decides = || {
        DECISION.is_match(sentence)
            || (CHOICE.is_match(sentence) && (REASON.is_match(sentence) || WILL.is_match(sentence)))
    };
    if lesson {
        Some(StatedKind::Lesson)
    } else if decides() {
        Some(StatedKind::Decision)
    } else {
        None
    }
}

/// Whether a sentence can be understood without what stands around it: no question, no heading, no
/// half of a list item, no word about what the agent is just going to do.
fn stands_alone(sentence: &str, origin: Origin) -> bool {
    let begins = sentence
        .chars()
        .next()
        .is_some_and(|first| !first.is_lowercase() && !"(),;".contains(first));
    let closed = !sentence.ends_with([':', '?', ',', '(']) && !is_table_row(sentence);
    // A person types as they please, but says more than half a sentence.
    let told = match origin {
        Origin::User => sentence.chars().count() >= 40,
        _ => begins && !is_narration(sentence),
    };
    closed && told && telling_words(sentence) >= FEWEST_TELLING
}

/// Whether the agent only says what it is about to do.
pub fn is_narration(sentence: &str) -> bool {
    static NARRATION: Pattern = Pattern::new(
        r"(?ix)^(let\ me|let['’]?s\ (check|see|look|find|start|first)|now\b|next[, ]|first[, ]|wait|hmm|ok(ay)?[, ]|good[,!. ]|great|perfect|excellent
              |i['’](ll|m)\b
              |i\ (need|want|should|will|see|can|notice|have\ enough)\b|if\ you\b|you\ can\b|would\ you|do\ you|should\ i|here['’]?s|here\ is|here\ are|the\ user\b|no\ response\ requested)",
    );
    let aside = [
        "I’m letting", "I'm letting", "I’m going to", "I'm going to", "I’ll have the",
        "I'll have the",
    ];
    NARRATION.is_match(sentence) || aside.iter().any(|saying| sentence.contains(saying))
}

/// How the agent closed: of its sentences the one that tells most, and best a result, rather than
/// "Done.".
pub fn closing_sentence(part: &EpisodeFacts) -> Option<String> {
    closing_sentence_but(part, |_| false)
}

/// How the agent closed, leaving out sentences that say what is told elsewhere.
pub fn closing_sentence_but(part: &EpisodeFacts, told: impl Fn(&str) -> bool) -> Option<String> {
    static RESULT: Pattern = Pattern::new(
        r"(?ix)^(done\b|fixed|added|created|updated|committed|pushed|implemented|removed|renamed|rebased|merged|moved|replaced|refactored|resolved|published|released|opened|draft\ pr|wrote|spawned|closed|deleted|verified|confirmed|reviewed|saved|switched|enabled|disabled|successfully|i('ve|’ve|\ have)?\ (added|fixed|created|updated|removed|changed|implemented|reviewed|patched)|found\ \d|no\ (blocking|blockers|issues)|root\ cause|all\ \d*\ ?(tests|checks)|yes\b|the\ (fix|cause|issue|problem|bug)\b)
              |\b(is|are|was|were|been|now)\ (fixed|done|pushed|merged|committed|created|green|passing|complete|landed|in\ place|removed|updated|published)\b|\btests?\ (now\ )?pass",
    );
    let (prose, code) = prose_and_code(&part.last_reply);
    let sentences = text::sentences(&prose)
        .map(|sentence| (sentence, 1.0))
        .chain(text::sentences(&code).map(|sentence| (sentence, OF_CODE)))
        .filter(|(sentence, _)| !is_table_row(sentence))
        .map(|(sentence, factor)| (text::one_line(&plain_words(sentence), 200), factor))
        .filter(|(sentence, _)| sentence.chars().count() >= 16 && !sentence.starts_with("http"))
        .filter(|(sentence, _)| {
            !sentence.ends_with([':', '?']) && !is_narration(sentence) && !told(sentence)
        })
        .take(SENTENCES_CONSIDERED);
    let told = sentences.enumerate().map(|(at, (sentence, factor))| {
        let kind = match (RESULT.is_match(&sentence), sentence.chars().count() >= 24) {
            _ if NEXT.is_match(&sentence) => 0.3,
            (true, _) => 1.8,
            (false, true) if is_labelled(&sentence) => 0.6,
            (false, true) => 1.0,
            (false, false) => 0.2,
        };
        // The first sentence says what the others explain.
        (telling_weight(&sentence).min(6.0) * kind * factor * 0.93_f32.powi(at as i32), sentence)
    });
    told.reduce(|best, next| if next.0 > best.0 { next } else { best })
        .filter(|(weight, _)| *weight > 0.0)
        .map(|(_, sentence)| sentence)
        .or_else(|| {
            Some(text::first_sentence(&plain_words(&part.last_reply), 200))
                .filter(|sentence| !sentence.is_empty())
        })
}

/// What is still to be done, or asked.
static NEXT: Pattern = Pattern::new(
    r"(?i)^(next( steps?)?\b|remaining\b|still (to do|open|missing|untracked)|not (yet|done)\b|left (for|open)\b|todo\b|what['’]s (next|left)|open questions?\b|would you like|do you want|should i\b|shall i\b|want me to)|\b(is|are) still (stale|open|missing|failing|pending)\b|\bnot yet\b",
);

/// What the agent left open: a question to the person, or what it named as the next thing, where it
/// closed with that.
pub fn open_end(reply: &str) -> Option<String> {
    let sentences: Vec<String> = text::sentences(&prose_and_code(reply).0)
        .filter(|sentence| !is_table_row(sentence))
        .map(|sentence| text::one_line(&plain_words(sentence), 160))
        .collect();
    let late = sentences.iter().skip(sentences.len().saturating_sub(4));
    let open = late.filter(|sentence| sentence.chars().count() >= 24 && !sentence.ends_with(':'));
    open.rev().find(|sentence| NEXT.is_match(sentence)).cloned()
}

/// How many different telling words a sentence has.
fn telling_words(sentence: &str) -> usize {
    let mut words = HashSet::new();
    text::each_word(sentence, |word| {
        if word.whole && telling(&word.text) > 0.2 {
            words.insert(word.text.into_owned());
        }
    });
    words.len()
}

/// How much a sentence tells.
pub fn telling_weight(sentence: &str) -> f32 {
    let mut words = HashSet::new();
    text::each_word(sentence, |word| {
        if word.whole {
            words.insert(word.text.into_owned());
        }
    });
    // Summed in order: the sum of floats depends on it, and a set has none.
    let mut words: Vec<f32> = words.iter().map(|word| telling(word).min(1.0)).collect();
    words.sort_by(f32::total_cmp);
    words.iter().sum()
}

/// Whether a line belongs to a table or a piece of code, which nobody reads as a sentence. Whether
/// a sentence belongs to a list of particulars: `Branch: x`. By hand, because a pattern that counts
/// letters of all scripts takes longer to make than a session to read.
fn is_labelled(sentence: &str) -> bool {
    let Some((label, rest)) = sentence.split_once(':') else { return false };
    let inner = label.strip_prefix(|first: char| first.is_ascii_uppercase()).unwrap_or_default();
    let is_part = |letter: char| letter.is_alphanumeric() || "_/’' -".contains(letter);
    rest.starts_with(char::is_whitespace)
        && (2..=28).contains(&inner.chars().count())
        && inner.chars().all(is_part)
}

fn is_table_row(sentence: &str) -> bool {
    let drawn = |letter: char| ('\u{2500}'..='\u{259f}').contains(&letter);
    sentence.matches('|').count() >= 2 || sentence.contains("```") || sentence.contains(drawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn particulars_have_a_label() {
        for labelled in ["Branch: main", "Größe: 3 MB", "What’s new: all of it"] {
            assert!(is_labelled(labelled), "{labelled}");
        }
        for other in [
            "branch: main",
            "A: b",
            "See https://a.example",
            "The cause (at last): a race",
            "No label",
        ] {
            assert!(!is_labelled(other), "{other}");
        }
    }

    #[test]
    fn a_decision_has_a_reason_or_a_will() {
        let kind = |sentence| stated(sentence, Origin::Assistant);
        let decision = Some(StatedKind::Decision);
        assert_eq!(
            kind("I went with flock rather than a lock file because it survives a crash."),
            decision
        );
        assert_eq!(
            kind("Since `SESSION_ID` isn't available, I'll use a SessionStart hook to capture it."),
            decision
        );
        assert_eq!(
            kind("Changed the resume check to use `git status` instead of the library."),
            decision
        );
        assert_eq!(
            stated("let's use the existing queue instead of a new worker", Origin::User),
            decision
        );
        for nothing in [
            "Result: users hit Vite HTML/404 instead of JSON.",
            "instead of just `theme.bold()`",
            "I'm letting it finish the focused tests rather than interrupting.",
            "Should I customize it with specific colors, or would you prefer to edit it yourself?",
            "Implementation defaults (already decided):",
            "Let me fix the tests to check stdout instead of stderr.",
        ] {
            assert_eq!(kind(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_lesson_says_what_was_wrong() {
        let kind = |sentence| stated(sentence, Origin::Assistant);
        let lesson = Some(StatedKind::Lesson);
        assert_eq!(kind("The issue was that go-git doesn't respect the global gitignore."), lesson);
        assert_eq!(
            kind("Root cause: `v4.40.1` exists on the server, but npm never published it."),
            lesson
        );
        for nothing in [
            "The problem is clear.",
            "Found the root cause.",
            "Root Cause Resolution:",
            "The issue is clear now.",
        ] {
            assert_eq!(kind(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn the_closing_sentence_is_a_result() {
        let closing = |reply: &str| {
            let mut part = EpisodeFacts::of_text(1, "", "");
            part.last_reply = reply.into();
            closing_sentence(&part).unwrap_or_default()
        };
        assert_eq!(
            closing(
                "Perfect! Here's a summary:\n\n- **Package renamed:** `summarise` is now `summarize`\n- Comments updated"
            ),
            "Package renamed: `summarise` is now `summarize`"
        );
        assert_eq!(
            closing(
                "Good catch! The carriage return stays in the value. Fixed the parser so that it strips `\\r` too."
            ),
            "Fixed the parser so that it strips `\\r` too."
        );
        assert_eq!(closing("Done."), "Done.");
        assert_eq!(closing(""), "");
        assert_eq!(
            closing(
                "The lock is taken first now.\n\n```rust\nimport lock, header, append; fixed(lock_header)\n```\n"
            ),
            "The lock is taken first now."
        );
        assert_eq!(
            closing(
                "Committed it.\n\n```\n8225e0f merge AGENTS.md and CLAUDE.md by a model, not by cat\n```\n"
            ),
            "8225e0f merge AGENTS.md and CLAUDE.md by a model, not by cat"
        );
        assert_eq!(
            closing("Here it is:\n\n```markdown\n- Transcripts of Gemini in `explain`\n```"),
            "Transcripts of Gemini in `explain`"
        );
        assert_eq!(
            closing("Cut off here:\n\nIt waits for the lock.\n\n```rust\nfn never_ends() {"),
            "It waits for the lock."
        );
    }

    #[test]
    fn what_is_left_open_is_told() {
        assert_eq!(
            open_end("All done.\n\nWould you like me to add tests for the importer as well?")
                .as_deref(),
            Some("Would you like me to add tests for the importer as well?")
        );
        assert_eq!(
            open_end("Landed. The npm dist-tags are still stale until the workflow is dispatched.")
                .as_deref(),
            Some("The npm dist-tags are still stale until the workflow is dispatched.")
        );
        assert_eq!(open_end("Committed, and all tests pass."), None);
    }
}
