//! Decisions: what the person chose in answer to what the agent proposed or built, and the little
//! that the agent left out for a reason.
//!
//! Most decisions are later prompts of a sentence or two: an objection, a wish, an opinion. Whether
//! one was a decision shows in how the agent takes it ("You're right").

use super::own::{self, Talk, Turn};
use super::{Line, telling_words};
use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::distill::core::Gist;
use crate::distill::remarks::concedes;
use crate::model::digest::Origin;

/// How many a page has.
pub const MOST: usize = 3;
/// How many words a decision has.
const WORDS: std::ops::RangeInclusive<usize> = 4..=60;

/// A prompt of more words says what it is about, whatever it begins with.
const MOST_THAT_POINT: usize = 16;

/// By which rule a prompt is a decision, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    /// The agent asked through a tool, and this was chosen.
    Answered,
    /// The agent gave the person right.
    Conceded,
    /// Something is wanted, and something else is not.
    Contrast,
    /// Something is wanted or not, and why.
    Reason,
    /// The person says what they think.
    Opinion,
    /// The person objects.
    Objection,
    /// The person took up an offer.
    Offer,
    /// The agent left something out, and said why.
    LeftOut,
}

/// What was decided, the surest first; of what contradicts each other only the later.
pub fn decisions(talk: &Talk<'_>) -> Vec<Line> {
    let mut found: Vec<(Rule, Line)> = Vec::new();
    for (turn, before) in talk.answers().filter(|(turn, _)| !turn.first) {
        let (episode, said) = (turn.part.episode, turn.said.as_str());
        if let Some(rule) = rule(turn) {
            found.push((rule, Line::new(said, episode, Origin::User)));
        } else if let Some(offer) = taken_up(said, before) {
            found.push((Rule::Offer, Line::new(offer, episode, Origin::User)));
        }
    }
    for turn in &talk.turns {
        for (question, answer) in &turn.part.remarks.answers {
            if let Some(line) = answered(question, answer) {
                found.push((Rule::Answered, Line::new(line, turn.part.episode, Origin::User)));
            }
        }
    }
    let left_out = talk.turns.iter().rev().find_map(|turn| {
        let choice = turn.part.remarks.choices.last()?;
        Some((Rule::LeftOut, Line::new(choice, turn.part.episode, Origin::Assistant)))
    });
    found.extend(left_out);
    let gists: Vec<Gist> = found.iter().map(|(_, line)| Gist::of(&line.text)).collect();
    let reversed = |at: usize| {
        let later = |other: &usize| found[*other].1.episode > found[at].1.episode;
        (0..found.len()).filter(later).any(|other| gists[other].contradicts(&gists[at]))
    };
    let mut kept: Vec<&(Rule, Line)> =
        found.iter().enumerate().filter(|(at, _)| !reversed(*at)).map(|(_, one)| one).collect();
    kept.sort_by_key(|(rule, line)| (*rule, std::cmp::Reverse(line.episode)));
    kept.into_iter().map(|(_, line)| line.clone()).collect()
}

/// The rule by which a prompt decides something.
fn rule(turn: &Turn<'_>) -> Option<Rule> {
    let said = turn.said.as_str();
    if !WORDS.contains(&said.split_whitespace().count()) {
        return None;
    }
    if REPORT.is_match(said) || own::is_fact(said) || only_points(said) {
        return None;
    }
    let contrast = CONTRAST.is_match(said);
    let modal = MODAL.is_match(said);
    let opinion = OPINION.is_match(said);
    let reason = REASON.is_match(said);
    let asks = said.ends_with('?') && text::sentences(said).last().is_some_and(is_question);
    let errand = is_errand(said);
    let plain_errand = errand && !contrast && !reason;
    let wants = opinion || reason || ((modal || contrast) && !asks);
    if concedes(&turn.part.remarks.opening) && wants && !plain_errand {
        return Some(Rule::Conceded);
    }
    if asks || (errand && !(contrast && modal && reason)) {
        return None;
    }
    if contrast && modal {
        Some(Rule::Contrast)
    } else if (contrast || modal) && reason {
        Some(Rule::Reason)
    } else if COMPLAINT.is_match(said) {
        None
    } else if opinion {
        Some(Rule::Opinion)
    } else if objects(said) {
        Some(Rule::Objection)
    } else {
        None
    }
}

/// Whether a person objects and says what they want, or what is not so: "wait, somebody else holds
/// the lock" only reports.
fn objects(said: &str) -> bool {
    static WHY_WOULD: StaticRegex = StaticRegex::new(r"(?i-u)\bwhy (?:would|should|not)\b");
    let Some(opener) = OBJECTS.find(said) else { return false };
    let rest = &said[opener.end()..];
    let wants = MODAL.is_match(rest) || WHY_WOULD.is_match(rest);
    wants || (CONTRAST.is_match(rest) && !said.ends_with('?'))
}

/// Whether a short prompt begins with a word for what was said before, and names nothing: nobody
/// knows later what it was about.
fn only_points(said: &str) -> bool {
    static POINTS: StaticRegex = StaticRegex::new(
        r"(?i-u)^(?:(?:yes|no|ok(?:ay)?|so|and|but|great|perfect)[,.!]* )*(?:that|it|those|these|this|they)(?:'s|'re)?\b",
    );
    static NAMES: StaticRegex = StaticRegex::new(
        r#"(?-u)[`"/_]|\w\.\w|\b[a-z]+[A-Z]|\b[A-Z]{2,}|(?u:[^.!?] )[A-Z][a-z]{2,}"#,
    );
    let Some(pointer) = POINTS.find(said) else { return false };
    let is_short = said.split_whitespace().count() <= MOST_THAT_POINT;
    is_short && !NAMES.is_match(&said[pointer.end()..])
}

/// One thing is set against another, or ruled out.
static CONTRAST: StaticRegex = StaticRegex::new(
    r"(?i-u)\b(?:instead|rather|no need|not|doesn't|don't|dont|shouldn't|won't|isn't|wait|actually|nope|no longer|without|only|except|too (?:much|early|heavy|complex|dim|long)|over-?(?:engineer|complicat)\w*|remove|drop|avoid|omit|hide|exception|revert)\b|^no\b|, no \w",
);

/// Something is wanted.
static MODAL: StaticRegex = StaticRegex::new(
    r"(?i-u)\b(?:should|must|needs? to|need|let'?s|prefer|i'd (?:like|rather)|i want|we want|i think|have to|we can|could we|can we|make sure|keep|use)\b",
);

/// The person says what they think.
static OPINION: StaticRegex = StaticRegex::new(
    r"(?i-u)\b(?:i think|i'd (?:like|prefer|rather)|would prefer|i (?:like|love|want|prefer|feel)|we should|shouldn't|should (?:be|not|we|have|use|return)|we (?:can|could|don't|must|need)|maybe (?:we|just)|not sure if|makes? (?:more )?sense|let'?s (?:use|make|keep|call|drop|have|go with|not))\b",
);

static REASON: StaticRegex = StaticRegex::new(
    r"(?i-u)\b(?:because|since|so that|due to|as we|so we|otherwise|this is (?:exactly|more)|in order|so you)\b",
);

static OBJECTS: StaticRegex =
    StaticRegex::new(r"(?i-u)^(?:no|nope|wait|actually|hmm+|but|oh|nah)\b");

/// Something does not work as it did not before: that is a report.
static REPORT: StaticRegex = StaticRegex::new(
    r"(?i-u)\b(?:still (?:fail\w*|broken|not|the same|doesn't)|same (?:error|issue))\b",
);

/// Words of trouble: with nothing but an opinion beside them they report, too.
static COMPLAINT: StaticRegex = StaticRegex::new(
    r"(?i-u)\b(?:still|again|nope|wtf|broken?|fail\w*|not working|doesn't work|works?|same (?:error|issue)|errors?)\b",
);

/// Whether a sentence asks for a fact.
fn is_question(sentence: &str) -> bool {
    static ASKS: StaticRegex = StaticRegex::new(
        r"(?i-u)^(?:(?:ok|so|and|but|wait|hmm+|oh|also)[,. ]+)*(?:what|why|how|where|which|who|when|is|are|was|were|does|do|did|has|have|any|doesn't|didn't|hasn't|haven't|wasn't)\b",
    );
    static OBJECTS: StaticRegex = StaticRegex::new(r"(?i-u)\bwhy would\b");
    ASKS.is_match(sentence) && !OBJECTS.is_match(sentence)
}

/// Whether a prompt sends the agent on an errand: that is what is wanted next, not a choice.
fn is_errand(said: &str) -> bool {
    static ERRAND: StaticRegex = StaticRegex::new(
        r"(?i-u)^(?:ok(?:ay)?[,. ]+|now,? |and |please |alright[,. ]+|yes[,. ]+|then |great[,. ]+|cool[,. ]+|so |also )*(?:(?:can|could|would) you\b|(?:commit|push|run|continue|check|look|show|write|read|rebase|open|create|merge|fix|update|add|re-?check|tell|explain|list|investigate|start|review|try|go|do|give|describe|summari[sz]e|test|verify|implement)\b|let'?s (?:look|investigate|note|move|add|get|commit|push|merge|summari[sz]e|create|see|try|start|continue|go|open|check|do)\b)",
    );
    ERRAND.is_match(said)
}

/// A question that the agent put through a tool, and what the person chose.
fn answered(question: &str, answer: &str) -> Option<String> {
    static NEXT: StaticRegex = StaticRegex::new(
        r"(?i)\bwhat (?:would you like|should i|shall we|do you want) (?:to )?do\b",
    );
    let says_something = telling_words(answer).len() > 1 && !NEXT.is_match(question);
    says_something.then(|| {
        let answer = answer.trim_end().trim_end_matches(" (Recommended)");
        format!("{} → {}", text::one_line(question, 180), text::one_line(answer, 200))
    })
}

/// The offer that a short answer takes up, with the answer: "yes" means nothing alone.
fn taken_up(said: &str, before: &str) -> Option<String> {
    static YES: StaticRegex = StaticRegex::new(
        r"(?i-u)^(?:yes|yeah|yep|yup|ok(?:ay)?|sure|do (?:it|that)|go for it|please do|sounds good|correct|approved?)\b[\s,.!]*(?:please|do (?:it|that)|thanks?|let'?s do (?:it|that))?[\s.!]*$",
    );
    static OPTION: StaticRegex = StaticRegex::new(
        r"(?i)^(?:option |#|let'?s (?:do|go with) |do |go with )?\(?([0-9a-d])\)?[.!]?$",
    );
    let offer = if let Some(option) = OPTION.captures(said) {
        option_of(before, &option[1])?
    } else if YES.is_match(said) {
        offered(before)?
    } else {
        return None;
    };
    // What is done in every session is no choice.
    let says_something = telling_words(&offer).len() > 3 && !is_errand(&offer);
    says_something.then(|| format!("{offer} (offered by the agent; the answer: “{said}”)"))
}

/// The line of a list that begins with an option's number or letter.
fn option_of(before: &str, option: &str) -> Option<String> {
    before.lines().rev().find_map(|line| {
        let line = line.trim_start_matches([' ', '*', '-', '(', '#']);
        let rest = line
            .strip_prefix("Option ")
            .unwrap_or(line)
            .strip_prefix(|first: char| first.to_string().eq_ignore_ascii_case(option))?;
        let rest = rest.strip_prefix(['.', ')', ':'])?.trim_start_matches(['*', ' ', ':']);
        Some(text::one_line(&crate::base::markdown::strip_marks(rest), 240))
            .filter(|offer| !offer.is_empty())
    })
}

/// What the agent offered to do, in its last sentences.
fn offered(before: &str) -> Option<String> {
    static OFFER: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:want me to|should i|shall i|would you like(?: me)? to|do you want me to)\s+",
    );
    let sentences: Vec<&str> = text::sentences(before).collect();
    let late = sentences.iter().skip(sentences.len().saturating_sub(4)).rev();
    late.into_iter().find_map(|sentence| {
        let from = OFFER.find(sentence)?.end();
        let offer = sentence[from..].trim_end_matches(['?', '*', ' ', '.']);
        let mut letters = offer.chars();
        let first = letters.next()?.to_uppercase();
        // "Yes" to one thing or another chooses neither.
        static OR: StaticRegex = StaticRegex::new(r"(?i),? or\b");
        let prose: Vec<&str> = offer.split('`').step_by(2).collect();
        if OR.is_match(&prose.join("_")) {
            return None;
        }
        Some(first.chain(letters).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distill::facts::{EpisodeFacts, Facts};

    fn part(episode: u32, prompt: &str, opening: &str, closing: &str) -> EpisodeFacts {
        let mut part = EpisodeFacts::of_prompt(episode, prompt);
        part.remarks.opening = opening.into();
        part.remarks.closing = closing.into();
        part
    }

    /// What a session decides in which the agent closed with `before`, the person said `prompt`,
    /// and the agent's answer opens with `opening`.
    fn decided(before: &str, prompt: &str, opening: &str) -> Vec<String> {
        let parts =
            vec![part(1, "make the day log safe", "", before), part(2, prompt, opening, "")];
        let facts = Facts { parts, ..Facts::default() };
        decisions(&Talk::of(&facts)).into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn a_later_prompt_that_wants_one_thing_and_not_another_decides() {
        for prompt in [
            "we should lock the file itself, not a sidecar",
            "i'd rather not have a database here",
            "use one lock for both instead of two",
        ] {
            assert_eq!(decided("", prompt, "Done."), [prompt]);
        }
    }

    #[test]
    fn an_opinion_with_its_reason_decides() {
        let said = "keep the header, because other tools read it";
        assert_eq!(decided("", said, ""), [said]);
        assert_eq!(decided("", "i think a title of its own reads better", "").len(), 1);
        assert_eq!(decided("", "let's make the two tides visible", "").len(), 1);
    }

    #[test]
    fn a_prompt_that_the_agent_concedes_decides() {
        let said = "could we just drop the sidecar";
        assert_eq!(decided("", said, "Good catch — it is not needed."), [said]);
    }

    #[test]
    fn errands_questions_reports_and_thanks_decide_nothing() {
        for prompt in [
            "commit this and push it please",
            "can you check the lock again",
            "why does the test not need a lock?",
            "it still fails, i think, with the same error",
            "thanks that is great work",
            "let's get this merged",
            "let's look into the tides of the harbour",
            "let's note the tide in the harbour log",
            "doesn't the header hold it already?",
        ] {
            assert_eq!(
                decided("", prompt, "You're right to ask."),
                Vec::<String>::new(),
                "{prompt}"
            );
        }
    }

    #[test]
    fn a_question_for_a_fact_decides_nothing_though_the_agent_agrees() {
        assert!(
            decided("", "doesn't the clone bring it along?", "Good question, partly.").is_empty()
        );
        assert!(decided("", "doesn't the clone bring it along?", "Good catch.").is_empty());
        assert_eq!(decided("", "shouldn't we use one lock instead?", "Good catch.").len(), 1);
    }

    #[test]
    fn the_first_prompt_is_what_is_wanted() {
        let facts = Facts {
            parts: vec![part(1, "we should lock the file, not a sidecar", "You're right.", "")],
            ..Facts::default()
        };
        assert!(decisions(&Talk::of(&facts)).is_empty());
    }

    #[test]
    fn a_short_answer_is_joined_with_the_offer() {
        assert_eq!(
            decided(
                "It works. Want me to keep the sidecar for other programs that lock it?",
                "yes",
                ""
            ),
            [
                "Keep the sidecar for other programs that lock it (offered by the agent; the answer: “yes”)"
            ]
        );
        assert_eq!(
            decided(
                "Two ways:\n\n1. **Sidecar**: a lock file beside the log\n2. Lock the log file itself, no sidecar\n",
                "2",
                ""
            ),
            ["Lock the log file itself, no sidecar (offered by the agent; the answer: “2”)"]
        );
        assert!(decided("All done.", "yes", "").is_empty());
        assert!(decided("Should I commit and push all of it to the branch?", "yes", "").is_empty());
    }

    #[test]
    fn yes_to_one_thing_or_another_chooses_neither() {
        let asked = "Should I keep the sidecar for other programs, or lock the day log itself?";
        assert!(decided(asked, "yes", "").is_empty());
        let listed = "Two ways:\n\n1. Lock the log, or its folder, without a sidecar\n";
        assert_eq!(decided(listed, "1", "").len(), 1, "a number chooses");
    }

    #[test]
    fn an_objection_says_what_is_wanted() {
        for report in [
            "wait, somebody else wrote the day log",
            "but while it runs my own tide log is open, right?",
            "oh the tide is in the log of the harbour",
        ] {
            assert!(decided("", report, "").is_empty(), "{report}");
        }
        for objection in [
            "wait, the lock was not for the sidecar",
            "oh, keep the tide out of the log",
            "but a new log has it all, why would you write the tide?",
        ] {
            assert_eq!(decided("", objection, ""), [objection]);
        }
    }

    #[test]
    fn a_fact_of_the_person_and_what_only_points_decide_nothing() {
        for prompt in [
            "I'm on Debian 12. You should know this.",
            "I use Bun for scripts, not node.",
            "Yes, that would be great. But it needs to be written down.",
            "that should not be so early, i think",
        ] {
            assert!(decided("", prompt, "").is_empty(), "{prompt}");
        }
        for prompt in [
            "it should not be in the header but below, currently the name of the boat stands in the bar",
            "that should not be in `day.rs`, i think",
        ] {
            assert_eq!(decided("", prompt, ""), [prompt]);
        }
    }

    #[test]
    fn an_answer_to_a_question_decides() {
        assert_eq!(
            answered("Which store?", "Plain files only (Recommended)").as_deref(),
            Some("Which store? → Plain files only")
        );
        assert_eq!(answered("Go on?", "Yes"), None);
        assert_eq!(answered("What would you like to do next?", "Work on the parser"), None);
    }

    #[test]
    fn the_later_of_two_that_contradict_each_other_wins() {
        let parts = vec![
            part(1, "make the log safe", "", ""),
            part(2, "let's use sqlite instead of postgres", "", ""),
            part(3, "we should use postgres instead of sqlite", "", ""),
        ];
        let facts = Facts { parts, ..Facts::default() };
        let lines = decisions(&Talk::of(&facts));
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].text, "we should use postgres instead of sqlite");
    }
}
