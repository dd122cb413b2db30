//! Claims: the few sentences of a session that later ones should know, in the words in which they
//! were said.
//!
//! Most of what agents say is about the moment ("Let me check …"), so a sentence has to earn its
//! place: a person's standing wish or choice, a cause that names a thing, a choice of one thing
//! over another, a command that passed.

use std::collections::BTreeMap;

use crate::base::static_regex::StaticRegex;
use crate::base::{markdown, text};
use crate::distill::facts::{EpisodeFacts, Facts};
use crate::model::digest::{Claim, ClaimKind, Origin};
use crate::model::ids::EpisodeId;

/// How many claims a page has.
const MOST_CLAIMS: usize = 8;
/// How many of them may be commands.
const MOST_CHECKS: usize = 2;
/// Longer prompts are pasted plans and templates; lasting wishes are short.
const LONGEST_OWN_WORDS: usize = 1500;
const LONGEST_CLAIM: usize = 220;

/// The claims of a session, in the order of its episodes.
pub fn claims(facts: &Facts) -> Vec<Claim> {
    let mut weighed: Vec<(u32, Claim)> = Vec::new();
    for part in facts.own_parts() {
        let mut add = |weight: u32, kind: ClaimKind, said: &str, origin: Origin| {
            let text = text::one_line(&markdown::strip_marks(said), LONGEST_CLAIM);
            let text = text.trim_end_matches(['.', ',', ';', ' ']);
            let bare = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
            let text = bare.unwrap_or(text).to_string();
            if !weighed.iter().any(|(_, known)| known.text == text) {
                weighed
                    .push((weight, Claim { kind, text, episode: EpisodeId(part.episode), origin }));
            }
        };
        if part.prompt.len() <= LONGEST_OWN_WORDS {
            for sentence in text::sentences(&part.prompt).map(str::trim) {
                match of_person(sentence) {
                    Some(ClaimKind::Standing) => {
                        add(6, ClaimKind::Standing, sentence, Origin::User)
                    }
                    Some(kind) => add(5, kind, sentence, Origin::User),
                    None => {}
                }
            }
        }
        // Of an agent that only talked, the person's words are enough.
        if facts.tool_calls > 0 {
            for (kind, sentence) in of_agent(part) {
                let weight = if kind == ClaimKind::Lesson { 4 } else { 3 };
                add(weight, kind, &sentence, Origin::Assistant);
            }
        }
    }
    weighed.extend(checks(facts).into_iter().map(|claim| (4, claim)));
    weighed.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    weighed.truncate(MOST_CLAIMS);
    let mut claims: Vec<Claim> = weighed.into_iter().map(|(_, claim)| claim).collect();
    claims.sort_by(|a, b| (a.episode, a.kind, &a.text).cmp(&(b.episode, b.kind, &b.text)));
    claims
}

/// What a person's sentence states for good, if it does.
fn of_person(sentence: &str) -> Option<ClaimKind> {
    // A standing wish: a rule, not an errand.
    static RULE: StaticRegex = StaticRegex::new(
        r"(?xi)
            ^(please\s+|and\s+|but\s+|also,?\s+|no,?\s+|ok,?\s+)*(always|never)\s+\w
          | \b(from\ now\ on|going\ forward|as\ a\ rule|by\ convention|our\ (convention|policy|rule)s?)\b
          | \b(you|we|agents?|it|this|they)\s+(should|must|may|can|shall|will)\s+(always|never)\b
          | \b(do\ not|don'?t|no)\b.{3,80}\b(unless|without|until|before)\b
          | ^(i|we|in\ this\ \w+,?\ we)\s+(always|never|prefer|don'?t\ (want|like|use)|do\ not\ (want|like|use))\b
          | ^(please\s+)?prefer\s
          ",
    );
    static CHOICE: StaticRegex = StaticRegex::new(
        r"(?xi)
            ^(ok,?\s+|yes,?\s+|no,?\s+|yeah,?\s+|and\s+)*let'?s\s+(use|go\ with|keep|drop|stick|call|rename|not|do)\b
          | \b(use|call|rename|keep|put|prefer)\b.{2,80}\b(instead\ of|rather\ than|not)\b
          | ^(ok,?\s+|no,?\s+)*instead\ of\b.{3,80}\b(use|call|do|put|keep|make)\b
          | \b(we|i)('ve|\ have)?\ (decided|chose|opted|settled)\b | \b(go|going|stick)\ with\b
          ",
    );
    let asks = sentence.contains('?') || ASKING.is_match(sentence);
    if asks
        || !(16..=300).contains(&sentence.len())
        || sentence.ends_with([':', ','])
        || is_pasted(sentence)
    {
        return None;
    }
    if RULE.is_match(sentence) {
        Some(ClaimKind::Standing)
    } else if CHOICE.is_match(sentence) && sentence.split_whitespace().count() >= 4 {
        Some(ClaimKind::Decision)
    } else {
        None
    }
}

static ASKING: StaticRegex = StaticRegex::new(
    r"(?i)^(can|could|should|would|do|does|did|is|are|was|what|why|how|where|which|who|when|will|shall|have|has|am|isn'?t|so,? (can|could|should)|confirm|check|verify|to|i (tried|thought)|also i)\b",
);

/// Whether a line is a piece of code, a log, a table or markup rather than a sentence.
fn is_pasted(sentence: &str) -> bool {
    let letters = sentence.chars().filter(|c| c.is_alphabetic() || *c == ' ').count();
    sentence.starts_with(['#', '<', '{', '[', '|', '$', '+', '@'])
        || sentence.contains("```")
        || sentence.contains("](")
        || sentence.contains("=>")
        || sentence.contains("();")
        || sentence.matches('|').count() >= 2
        || letters * 10 < sentence.chars().count() * 7
}

/// What the agent learnt or chose in a part.
fn of_agent(part: &EpisodeFacts) -> Vec<(ClaimKind, String)> {
    let stated =
        part.statements.iter().filter(|stated| stated.origin == Origin::Assistant).map(|stated| {
            let kind = if stated.kind == ClaimKind::Lesson {
                ClaimKind::Lesson
            } else {
                ClaimKind::Decision
            };
            (kind, stated.text.clone())
        });
    let closing = text::sentences(&part.last_reply)
        .map(str::trim)
        .filter(|sentence| BECAUSE.is_match(sentence))
        .map(|sentence| (ClaimKind::Lesson, sentence.to_string()));
    let mut claims: Vec<(ClaimKind, String)> = Vec::new();
    for (kind, said) in stated.chain(closing) {
        let sound = match kind {
            ClaimKind::Lesson => !EMPTY.is_match(&said),
            _ if DECIDED.is_match(&said) => true,
            _ => OVER.is_match(&said) && CHANGE.is_match(&said) && !FINDING.is_match(&said),
        };
        let fits = (40..=300).contains(&said.len()) && !said.ends_with([':', '?', ',']);
        if sound && fits && !NARRATION.is_match(&said) && !is_pasted(&said) && names_a_thing(&said)
        {
            claims.push((kind, said));
        }
    }
    claims
}

/// A fact with its reason or its limit.
static BECAUSE: StaticRegex = StaticRegex::new(
    r"(?xi)
        \b(fail(s|ed)?|breaks?|broke|crash(es|ed)?|hangs?|ignores?)\b.{0,120}\b(because|when|if|unless|since)\b
      | \bonly\ works\b | \b(does\ not|doesn't|cannot|can't)\ (support|work|handle|accept)\b.{0,120}\b(because|when|if|unless|without|so)\b
      | \broot\ cause\b
      ",
);

/// A sentence that says itself what it is.
static DECIDED: StaticRegex = StaticRegex::new(r"(?i)^(decision|decided|we decided|i decided)\b");

/// A choice of one thing over another.
static OVER: StaticRegex =
    StaticRegex::new(r"(?i)\b(instead of|rather than|decided|chose|opted for|going with)\b");

/// The agent speaking of what it does just now, or offering something.
static NARRATION: StaticRegex = StaticRegex::new(
    r"(?xi)
        ^(i['’]ll|i['’]m|i\ (will|am|was|need|have|can|want|should|would|could|think|see|also|just|also|don['’]t)|i['’](ve|d)|let\ me|let['’]s|now\b|next\b|next,|if\ you|would|want|once|you\ (can|could|may|said)|good\b|great\b|perfect|ah\b|ok\b|okay|looking|one\ |understood|previously|pre-existing|option|alternatively|maybe|perhaps|we\ could|could)
      | ['’](ll|m)\b | \b(guessing|assuming|guess\b|assume\b|interrupting|let\ me\ know|tell\ me|shall\ i|want\ me)\b
      ",
);

/// Sentences that announce a lesson and do not say it.
static EMPTY: StaticRegex = StaticRegex::new(
    r"(?i)^(found|here'?s|this is|that'?s|so|the (issue|problem|bug) is (clear|here|simple|more|twofold|that the tests?))\b|\b(root cause (and|&)|root cause\.?$)",
);

/// Words of a choice that was made, rather than of a fault that was found.
static CHANGE: StaticRegex = StaticRegex::new(
    r"(?i)\b(now|changed|made|moved|switched|replaced|renamed|kept|keep|use|reuse|uses|chose|decided|opted|going with|put|point)\b",
);

/// A fault, a possibility, or a proposal.
static FINDING: StaticRegex = StaticRegex::new(
    r"(?i)\b(could|might|would|may|should we|bug|missing|incorrect(ly)?|wrong|silently|suggested|suggests?|verified|confirmed|result:|still|was expecting|latest tail)\b|^(low|medium|high|critical)\b",
);

/// Whether a sentence names something that exists: code, a path, an identifier.
fn names_a_thing(sentence: &str) -> bool {
    // A sentence that begins in the middle was cut out of something.
    if sentence.starts_with(|c: char| c.is_lowercase()) {
        return false;
    }
    static THING: StaticRegex =
        StaticRegex::new(r"`[^`]+`|\b\w+[./_]\w+|\b[a-z]+[A-Z]\w*|\b[A-Z]{3,}\b|--\w+");
    THING.is_match(sentence)
}

/// The commands that checked the work and passed, the most used first.
fn checks(facts: &Facts) -> Vec<Claim> {
    let mut counted: BTreeMap<&str, (usize, u32)> = BTreeMap::new();
    for part in facts.own_parts() {
        for command in &part.checks {
            let (count, episode) = counted.entry(command).or_insert((0, part.episode));
            *count += 1;
            *episode = (*episode).max(part.episode);
        }
    }
    let mut counted: Vec<(&str, (usize, u32))> = counted.into_iter().collect();
    // Of equals the shorter one is the more general.
    counted
        .sort_by_key(|(command, (count, _))| (std::cmp::Reverse(*count), command.len(), *command));
    counted
        .into_iter()
        .take(MOST_CHECKS)
        .map(|(command, (_, episode))| Claim {
            kind: ClaimKind::Standing,
            text: format!("`{command}` passed"),
            episode: EpisodeId(episode),
            origin: Origin::Tool,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standing_wishes_and_choices_are_not_errands() {
        let kind = |sentence: &str| of_person(sentence);
        for rule in [
            "Never push to main without asking.",
            "always run the linter before you commit",
            "From now on use bun for scripts.",
            "Don't touch the migrations unless I say so.",
            "I prefer small commits.",
        ] {
            assert_eq!(kind(rule), Some(ClaimKind::Standing), "{rule}");
        }
        for choice in [
            "let's use apple container instead of docker proper",
            "Use pnpm, not npm, in this repo",
            "ok, let's go with option 2 then",
        ] {
            assert_eq!(kind(choice), Some(ClaimKind::Decision), "{choice}");
        }
        for errand in [
            "Add a test for the parser.",
            "Should we always use bun?",
            "commit this",
            "| never | always | use a instead of b |",
            "do you want to go with this?",
        ] {
            assert_eq!(kind(errand), None, "{errand}");
        }
    }

    #[test]
    fn lessons_name_a_cause_and_a_thing() {
        let count = |said: &str| of_agent(&EpisodeFacts::of_text(1, "", said)).len();
        assert_eq!(
            count("`npm ci` fails when the lock file was written by another version of npm."),
            1
        );
        for chatter in [
            "Found the root cause.",
            "I'll check whether `x` fails when y is set, one moment please.",
        ] {
            assert_eq!(count(chatter), 0, "{chatter}");
        }
    }
}
