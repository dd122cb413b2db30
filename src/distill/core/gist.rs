//! The gist of a sentence: by which two of them are found to say the same, or the opposite.

use std::collections::BTreeSet;

use crate::base::static_regex::StaticRegex;
use crate::base::stem::stem;
use crate::base::text;
use crate::distill::words;

/// From here on two sentences say the same.
const ALIKE: f32 = 0.6;
/// How many words before and after "instead of" are what is meant.
const CHOICE_WORDS: usize = 7;

/// What a sentence says, without how it says it.
#[derive(Debug, Clone, Default)]
pub struct Gist {
    words: BTreeSet<String>,
    /// What stands in it as code: two sentences about different code are different.
    code: BTreeSet<String>,
    /// Whether it forbids or denies.
    negated: bool,
    /// What was chosen, and over what.
    choice: Option<(BTreeSet<String>, BTreeSet<String>)>,
}

impl Gist {
    /// The gist of a sentence.
    pub fn of(sentence: &str) -> Gist {
        static NO: StaticRegex = StaticRegex::new(
            r"(?i)\b(never|don['’]?t|do not|doesn['’]?t|must not|mustn['’]?t|no longer|not|stop|avoid|without)\b",
        );
        let code = sentence
            .split('`')
            .skip(1)
            .step_by(2)
            .map(|code| code.trim_end_matches(" …").to_string())
            .collect();
        Gist {
            words: words_of(sentence),
            code,
            negated: NO.is_match(sentence),
            choice: choice(sentence),
        }
    }

    /// The words that say something.
    pub fn words(&self) -> &BTreeSet<String> {
        &self.words
    }

    /// Whether two sentences say the same.
    pub fn says_the_same(&self, other: &Gist) -> bool {
        let same_code = match self.code.is_empty() || other.code.is_empty() {
            true => self.code.is_empty() == other.code.is_empty(),
            false => !self.code.is_disjoint(&other.code),
        };
        same_code
            && self.negated == other.negated
            && self.likeness(other) >= ALIKE
            && !self.reverses(other)
    }

    /// Whether one allows what the other forbids, or chooses what the other gave up.
    pub fn contradicts(&self, other: &Gist) -> bool {
        self.reverses(other) || (self.negated != other.negated && self.likeness(other) >= ALIKE)
    }

    /// How many of the words of both are common to both.
    pub fn likeness(&self, other: &Gist) -> f32 {
        let common = self.words.intersection(&other.words).count();
        let all = self.words.len() + other.words.len() - common;
        if all == 0 { 0.0 } else { common as f32 / all as f32 }
    }

    fn reverses(&self, other: &Gist) -> bool {
        let (Some((mine, not_mine)), Some((theirs, not_theirs))) = (&self.choice, &other.choice)
        else {
            return false;
        };
        !mine.is_disjoint(not_theirs) && !not_mine.is_disjoint(theirs)
    }
}

/// The weighty words of a sentence; all of them where none is.
fn words_of(sentence: &str) -> BTreeSet<String> {
    let (mut weighty, mut all) = (BTreeSet::new(), BTreeSet::new());
    text::each_word(sentence, |word| {
        if word.whole {
            let word = stem(&word.text).to_string();
            if words::weight(&word) > 0.0
                && !matches!(word.as_str(), "always" | "never" | "instead" | "rather" | "please")
            {
                weighty.insert(word.clone());
            }
            all.insert(word);
        }
    });
    if weighty.is_empty() { all } else { weighty }
}

/// What is chosen over what: "use A instead of B", "A, not B", "instead of B, use A".
fn choice(sentence: &str) -> Option<(BTreeSet<String>, BTreeSet<String>)> {
    static OVER: StaticRegex =
        StaticRegex::new(r"(?i)\b(instead of|rather than|over)\s|[,;]?\s+not\s+");
    static END: StaticRegex =
        StaticRegex::new(r"[,;:(—]|\.\s|\b(because|so that|since|for|when|and)\b");
    static USE: StaticRegex =
        StaticRegex::new(r"(?i)[,;]?\s+(use|call|do|put|keep|make|go with)\s");
    let over = OVER.find(sentence)?;
    let (before, after) = (&sentence[..over.start()], &sentence[over.end()..]);
    let few =
        |words: &str| words.split_whitespace().take(CHOICE_WORDS).collect::<Vec<_>>().join(" ");
    let last = |words: &str| {
        let words: Vec<&str> = words.split_whitespace().collect();
        words[words.len().saturating_sub(CHOICE_WORDS)..].join(" ")
    };
    let given_up = &after[..END.find(after).map_or(after.len(), |end| end.start())];
    let (chosen, given_up) = if before.trim().len() < 3 {
        let at = USE.find(after)?;
        (few(&after[at.end()..]), after[..at.start()].to_string())
    } else {
        (last(before), few(given_up))
    };
    let (chosen, given_up) = (words_of(&chosen), words_of(&given_up));
    let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| {
        a.difference(b).cloned().collect::<BTreeSet<_>>()
    };
    let choice = (only(&chosen, &given_up), only(&given_up, &chosen));
    (!choice.0.is_empty() && !choice.1.is_empty()).then_some(choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_found_in_other_words() {
        let same = |a: &str, b: &str| Gist::of(a).says_the_same(&Gist::of(b));
        assert!(same("Never push to main without asking", "never push to main without asking me"));
        assert!(!same("Never push to main", "Always push to main"));
        assert!(!same("Checked with `bun run lint`", "Checked with `bun run build`"));
        assert!(!same("Use bun for the scripts", "The cache key needs the locale"));
    }

    #[test]
    fn a_reversal_is_found() {
        let against = |a: &str, b: &str| Gist::of(a).contradicts(&Gist::of(b));
        assert!(against(
            "let's use postgres instead of sqlite",
            "we go back: use sqlite rather than postgres"
        ));
        assert!(against("Use pnpm, not npm, here", "instead of pnpm use npm"));
        assert!(against("Always squash the commits", "Never squash the commits"));
        assert!(!against("use postgres instead of sqlite", "use redis instead of memcached"));
        assert!(!against("use postgres instead of sqlite", "use postgres rather than sqlite"));
    }
}
