//! Replies: which sentences of an agent's words are worth repeating. What was decided and why, what
//! was learnt, how the agent closed, what it left open, and whether it gave up.

use std::borrow::Cow;

use crate::base::static_regex::StaticRegex;
use crate::base::{markdown, text};
use crate::distill::{lists, words};
use crate::model::digest::{ClaimKind, Origin};

/// How many sentences of a reply may stand for it.
const SENTENCES_CONSIDERED: usize = 14;
/// How much a line of code counts against a sentence: it is used where a reply says nothing else.
const OF_CODE: f32 = 0.25;
/// A sentence with fewer weighty words ("The problem is clear.") says nothing by itself.
const FEWEST_WEIGHTY: usize = 3;

/// Splits a reply into its prose and its blocks of code.
pub fn split_code(reply: &str) -> (Cow<'_, str>, String) {
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

/// What the agent understood that the person wants: "The user wants to lock the day log" is "Lock
/// the day log". Only where it says so near the beginning of a thought.
pub fn understood(thought: &str) -> Option<String> {
    static WANTS: StaticRegex = StaticRegex::new(
        r"\b[Tt]he user (?:now )?(?:also )?(?:wants|is asking|asked|needs|would like|has asked|requested|is requesting)(?: me)?(?: to| about whether| whether)?\s",
    );
    let beginning = text::cut(thought, 800);
    if !beginning.contains("he user") {
        return None;
    }
    let found = WANTS.find(beginning).filter(|found| found.start() < 300)?;
    let said = &beginning[found.start()..];
    let sentence = text::sentences(said).next()?;
    let wish = markdown::strip_marks(sentence.get(found.len()..)?);
    let cut_short =
        found.start() + sentence.len() >= beginning.len() && thought.len() > beginning.len();
    let is_wish = found.as_str().trim_end().ends_with("to");
    let whole = !wish.ends_with([':', '?']) && wish.chars().count() < 260 && !cut_short;
    (is_wish && whole && words::telling(&wish).len() >= 3).then(|| text::capitalized(&wish))
}

/// Whether a sentence decides something or says what was learnt.
pub fn claim_kind(sentence: &str, origin: Origin) -> Option<ClaimKind> {
    static DECISION: StaticRegex = StaticRegex::new(
        r"(?i)\b(decided|decision|(we|i) chose|chose to|going with|go with|went with|opt(ed)? for|settled on|let['’]?s use|agreed to)\b",
    );
    // "Instead of" alone is a difference; with a reason or somebody's will it is a choice.
    static CHOICE: StaticRegex =
        StaticRegex::new(r"(?i)\b(instead of|rather than|prefer(red)?|we['’]ll use|i['’]ll use)\b");
    static REASON: StaticRegex = StaticRegex::new(
        r"(?i)\b(because|since|so that|so it|so we|to avoid|to keep|in order to|otherwise|as it|due to)\b",
    );
    static WILL: StaticRegex = StaticRegex::new(
        r"(?i)^(use|make|call|keep|let['’]?s|we |i |i['’]|no,|yes,|instead|please|changed|switched|replaced|moved|refactored)",
    );
    static LESSON: StaticRegex = StaticRegex::new(
        r"(?i)\b(root cause|turns? out|turned out|the (real |actual )?(problem|issue|bug|cause|culprit|fix|reason|failure) (is|was|here)|lesson|learn(ed|t) that|was caused by|the trick (is|was))\b|^(fix|cause|reason):",
    );
    if !(28..320).contains(&sentence.len()) {
        return None;
    }
    // Who asks for a root cause has not learnt it yet.
    let lesson = LESSON.is_match(sentence)
        && (origin != Origin::User || !sentence.to_lowercase().contains("root cause"));
    let decides = || {
        DECISION.is_match(sentence)
            || (CHOICE.is_match(sentence) && (REASON.is_match(sentence) || WILL.is_match(sentence)))
    };
    let kind = match lesson {
        true => ClaimKind::Lesson,
        false if decides() => ClaimKind::Decision,
        false => return None,
    };
    // Last, because to weigh its words costs most.
    stands_alone(sentence, origin).then_some(kind)
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
    let is_whole = match origin {
        Origin::User => sentence.chars().count() >= 40,
        _ => begins && !is_narration(sentence),
    };
    closed && is_whole && words::weighty_count(sentence) >= FEWEST_WEIGHTY
}

/// Whether the agent only says what it is about to do.
pub fn is_narration(sentence: &str) -> bool {
    static NARRATION: StaticRegex = StaticRegex::new(
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

/// How the agent closed: of its sentences the one that says most, best a result, rather than
/// "Done.".
pub fn closing_sentence(reply: &str) -> Option<String> {
    // "Here is the page:" closes nothing, and yet it is an answer.
    let first = || Some(text::first_sentence(&markdown::strip_marks(reply), 200));
    closing_sentence_except(reply, |_| false).or_else(first).filter(|said| !said.is_empty())
}

/// How the agent closed, leaving out sentences that say what stands elsewhere.
pub fn closing_sentence_except(reply: &str, is_said: impl Fn(&str) -> bool) -> Option<String> {
    static RESULT: StaticRegex = StaticRegex::new(
        r"(?ix)^(done\b|fixed|added|created|updated|committed|pushed|implemented|removed|renamed|rebased|merged|moved|replaced|refactored|resolved|published|released|opened|draft\ pr|wrote|spawned|closed|deleted|verified|confirmed|reviewed|saved|switched|enabled|disabled|successfully|i('ve|’ve|\ have)?\ (added|fixed|created|updated|removed|changed|implemented|reviewed|patched)|found\ \d|no\ (blocking|blockers|issues)|root\ cause|all\ \d*\ ?(tests|checks)|yes\b|the\ (fix|cause|issue|problem|bug)\b)
              |\b(is|are|was|were|been|now)\ (fixed|done|pushed|merged|committed|created|green|passing|complete|landed|in\ place|removed|updated|published)\b|\btests?\ (now\ )?pass",
    );
    let (prose, code) = split_code(reply);
    let sentences = text::sentences(&prose)
        .map(|sentence| (sentence, 1.0))
        .chain(text::sentences(&code).map(|sentence| (sentence, OF_CODE)))
        .filter(|(sentence, _)| !is_table_row(sentence))
        .map(|(sentence, factor)| (text::one_line(&markdown::strip_marks(sentence), 200), factor))
        .filter(|(sentence, _)| sentence.chars().count() >= 16 && !sentence.starts_with("http"))
        .filter(|(sentence, _)| {
            !sentence.ends_with([':', '?']) && !is_narration(sentence) && !is_said(sentence)
        })
        .take(SENTENCES_CONSIDERED);
    let weighed = sentences.enumerate().map(|(at, (sentence, factor))| {
        let kind = match (RESULT.is_match(&sentence), sentence.chars().count() >= 24) {
            _ if NEXT.is_match(&sentence) => 0.3,
            (true, _) => 1.8,
            (false, true) if is_labelled(&sentence) => 0.6,
            (false, true) => 1.0,
            (false, false) => 0.2,
        };
        // The first sentence says what the others explain.
        (
            words::sentence_weight(&sentence).min(6.0) * kind * factor * 0.93_f32.powi(at as i32),
            sentence,
        )
    });
    weighed
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .filter(|(weight, _)| *weight > 0.0)
        .map(|(_, sentence)| sentence)
        .or_else(|| {
            let first = text::first_sentence(&markdown::strip_marks(reply), 200);
            let tells = !first.is_empty()
                && !first.ends_with([':', '?'])
                && !is_narration(&first)
                && !is_said(&first);
            tells.then_some(first)
        })
}

/// The headline of a reply: its first sentence that says what was done or found, rather than
/// "Done.", "All tests pass" or "8 files changed".
pub fn headline(reply: &str) -> Option<String> {
    let (prose, _) = split_code(reply);
    let mut paragraphs = 0;
    for block in prose.split("\n\n") {
        let block: String = block
            .lines()
            .take_while(|line| !lists::is_item(line) && !line.trim_start().starts_with(['#', '|']))
            .collect::<Vec<_>>()
            .join("\n");
        if block.trim().is_empty() {
            continue;
        }
        paragraphs += 1;
        let sentences = text::sentences(&block).map(|sentence| {
            let sentence = text::one_line(&markdown::strip_marks(sentence), 600);
            without_cheer(&sentence).to_string()
        });
        if let Some(found) = sentences.into_iter().find(|sentence| is_headline(sentence)) {
            return Some(found);
        }
        if paragraphs >= 3 {
            break;
        }
    }
    None
}

/// A sentence without the cheer before it: "Done. ", "You're right! ", "✅ ".
pub fn without_cheer(sentence: &str) -> &str {
    static CHEER: StaticRegex = StaticRegex::new(
        r"(?i)^(?:[✅🎉✓✔☑🚀]\s*|(?:perfect|great|excellent|done|good|yes|all (?:set|done|good)|fixed|committed|pushed|ok(?:ay)?|got it|sure|exactly|correct|right|agreed|understood|you['’]?re (?:absolutely )?right|the change is done)\b[^.!:,—–`]{0,25}(?:[.!:,]|\s[—–-])\s+)",
    );
    let mut rest = sentence;
    while let Some(found) = CHEER.find(rest) {
        rest = &rest[found.end()..];
    }
    rest
}

/// Whether a sentence only leads to others, says what somebody may do, or leans on one before it.
pub fn announces(sentence: &str) -> bool {
    static ANNOUNCES: StaticRegex = StaticRegex::new(
        r"(?i)^(?:here(?:['’]s| is| are)|summary|let me|let['’]s|i['’]?ll|i will|now (?:let|i)|next|want me|would you|shall i|should i|do you|if\b|once\b|try\b|please\b|you (?:may|might|will)\b|no,|to (?:run|use|test|see)\b|you can|the following|what (?:i|was) (?:did|done|changed|implemented)|note\b|everything\b|no response|i['’]m (?:going|about|now|checking|running|waiting)|wait\b|looking\b|checking\b|using\b|one (?:note|thing|caveat)\b|so,? the\b|this (?:is|means|should|breaks)\b|i (?:couldn[\x27’]t|could not|also (?:compiled|ran|checked))\b|that (?:is|means)\b|it(?:[\x27’]s)?\b|they\b|step \d|\(|because\b|the only\b|verified (?:with|that|by)\b|updated to\b|i proceeded\b|ready when\b|continued with\b|i[\x27’]ve completed (?:the|your)\b|fastest\b|unfortunately|the (?:only )?remaining|remaining\b|pre-?existing|only\b|when the path)",
    );
    ANNOUNCES.is_match(sentence)
}

fn is_headline(sentence: &str) -> bool {
    // What was not touched is no news.
    static ASIDE: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:left (?:untouched|alone|unstaged)|remains? unstaged|were pre-?existing|verified that)\b",
    );
    !sentence.ends_with([':', '?', ','])
        && !ASIDE.is_match(sentence)
        && !announces(sentence)
        && !says_it_passed(sentence)
        && !is_table_row(sentence)
        && !sentence.contains("http")
        && !sentence.contains(" still need")
        && (words::telling(sentence).len() >= 4 || names_pull_request(sentence))
}

/// Whether a sentence says by number which pull request it is about.
fn names_pull_request(sentence: &str) -> bool {
    let number = sentence.split_once("PR #").map(|(_, rest)| rest);
    number.is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
}

/// Whether a sentence says only that checks passed, how many files changed, or that it is
/// committed.
pub fn says_it_passed(sentence: &str) -> bool {
    static PASSED: StaticRegex = StaticRegex::new(
        r"(?i)^(?:all|the|both|everything|\d+)?\b[^.;]{0,50}\b(?:tests?|lint|checks?|build|typecheck|ci|suite|hooks?)\b[^.;`]{0,50}\b(?:pass(?:es|ed|ing)?|clean|green|succeed(?:s|ed)?|ok)\b(?:[^.;]{0,30}|\s*\([^)]{0,90}\))\.?$|^\d+ files? changed|^committed (?:successfully|with both|as\b)|^commit succeeded|\b(?:is|are|was|were|been) (?:now )?committed\b|working tree (?:is )?clean|^(?:all|the|both)? ?\d* ?tests? (?:all )?pass|^all (?:\w+ ){0,2}(?:changes|steps|tasks|items|fixes|edits) (?:are|were|have been) (?:now )?(?:implemented|done|completed?|made|applied|in place)\.?$",
    );
    PASSED.is_match(sentence)
}

/// What is still to be done, or asked.
static NEXT: StaticRegex = StaticRegex::new(
    r"(?i)^(next( steps?)?\b|remaining\b|still (to do|open|missing|untracked)|not (yet|done)\b|left (for|open)\b|todo\b|what['’]s (next|left)|open questions?\b|would you like|do you want|should i\b|shall i\b|want me to)|\b(is|are) still (stale|open|missing|failing|pending)\b|\bnot yet\b",
);

/// What the agent left open: a question to the person, or what it named as the next thing, where it
/// closed with that.
pub fn open_item(reply: &str) -> Option<String> {
    let sentences: Vec<String> = text::sentences(&split_code(reply).0)
        .filter(|sentence| !is_table_row(sentence))
        .map(|sentence| text::one_line(&markdown::strip_marks(sentence), 160))
        .collect();
    let late = sentences.iter().skip(sentences.len().saturating_sub(4));
    let open = late.filter(|sentence| sentence.chars().count() >= 24 && !sentence.ends_with(':'));
    open.rev().find(|sentence| NEXT.is_match(sentence)).cloned()
}

/// Whether a reply says that the work could not be done. Where nothing that the agent tried has
/// worked, less is enough.
pub fn gives_up(reply: &str, nothing_worked: bool) -> bool {
    static GIVING_UP: StaticRegex = StaticRegex::new(
        r"(?ix)\b( still\ (fails|failing|broken|not\ working) | giving\ up | gave\ up
              | (i|we)\ (could\ ?n[o']t|can(no|')t|were\ unable\ to|was\ unable\ to|am\ unable\ to|['a]?m\ unable\ to)\ (fix|solve|resolve|complete|finish|make\ .{0,40}\ work|get\ .{0,40}\ to\ work)
              | unable\ to\ (fix|resolve|complete|finish) | remains?\ (unsolved|broken|unresolved) )\b",
    );
    static NOT_DONE: StaticRegex = StaticRegex::new(
        r"(?i)\b(denied|error|not available|not found|unavailable|cannot|can['’]t|could ?n[o'’]t|could not|unable|no access)\b",
    );
    let from = reply.len().saturating_sub(600);
    let from = (from..reply.len()).find(|at| reply.is_char_boundary(*at)).unwrap_or(0);
    GIVING_UP.is_match(&reply[from..]) || (nothing_worked && NOT_DONE.is_match(&reply[from..]))
}

/// Whether a sentence belongs to a list of particulars: `Branch: x`. By hand, because compiling a
/// pattern for the letters of all scripts takes longer than reading a session.
fn is_labelled(sentence: &str) -> bool {
    let Some((label, rest)) = sentence.split_once(':') else { return false };
    let inner = label.strip_prefix(|first: char| first.is_ascii_uppercase()).unwrap_or_default();
    let is_part = |letter: char| letter.is_alphanumeric() || "_/’' -".contains(letter);
    rest.starts_with(char::is_whitespace)
        && (2..=28).contains(&inner.chars().count())
        && inner.chars().all(is_part)
}

/// Whether a line belongs to a table or a piece of code, which nobody reads as a sentence.
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
        let kind = |sentence| claim_kind(sentence, Origin::Assistant);
        let decision = Some(ClaimKind::Decision);
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
            claim_kind("let's use the existing queue instead of a new worker", Origin::User),
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
        let kind = |sentence| claim_kind(sentence, Origin::Assistant);
        let lesson = Some(ClaimKind::Lesson);
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
        let closing = |reply: &str| closing_sentence(reply).unwrap_or_default();
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
    fn what_is_left_open_is_found() {
        assert_eq!(
            open_item("All done.\n\nWould you like me to add tests for the importer as well?")
                .as_deref(),
            Some("Would you like me to add tests for the importer as well?")
        );
        assert_eq!(
            open_item(
                "Landed. The npm dist-tags are still stale until the workflow is dispatched."
            )
            .as_deref(),
            Some("The npm dist-tags are still stale until the workflow is dispatched.")
        );
        assert_eq!(open_item("Committed, and all tests pass."), None);
    }

    #[test]
    fn an_agent_says_what_it_understood() {
        let of = |thought: &str| understood(thought).unwrap_or_default();
        assert_eq!(
            of(
                "Let me see. The user wants me to lock the day log before the header. First, files."
            ),
            "Lock the day log before the header."
        );
        for nothing in [
            "The user is asking about the lock of the header and append files.",
            "The user wants to:",
            "I should look at the lock.",
            "The user wants to go on.",
        ] {
            assert_eq!(of(nothing), "", "{nothing}");
        }
    }

    #[test]
    fn the_headline_is_the_first_sentence_that_says_something() {
        let of = |reply: &str| headline(reply).unwrap_or_default();
        assert_eq!(
            of("Done. PR #75 has been squash merged to main. The branch is gone."),
            "PR #75 has been squash merged to main."
        );
        assert_eq!(
            of(
                "Perfect! All tests pass.\n\nThe lock is taken before `append` looks for the header.\n\n- a\n- b"
            ),
            "The lock is taken before `append` looks for the header."
        );
        assert_eq!(
            of("✅ Fixed: the header is written under the lock."),
            "the header is written under the lock."
        );
        for nothing in [
            "Done.",
            "8 files changed, 3 insertions",
            "Here's what I did:\n- locked it",
            "Let me check the lock of the header file.",
            "All 12 tests pass and lint is clean.",
            "Would you like me to lock the header file?",
            "",
        ] {
            assert_eq!(of(nothing), "", "{nothing}");
        }
    }
}
