//! What a line of an agent's last message does: whether it says that something was changed, or only
//! explains how things are.

use crate::base::static_regex::StaticRegex;

/// Whether a line says how something is rather than what was done: nothing in it was added, moved
/// or is so from now on, and it stands under no file. What has no verb at all names a result.
pub fn explains(line: &str) -> bool {
    static LABEL: StaticRegex = StaticRegex::new(r"^(?:[^.;]|\.\w){1,70}?(?:: | [—–-]+ )");
    static ACTS: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:now|no longer|PR #\d+|tagged|instead)\b|→|^the (?:fix|change) (?:is to\b|was\b|adds\b|\w+es\b)",
    );
    // A verb that has a subject; plural ones look like nouns too often.
    static FINITE: StaticRegex = StaticRegex::new(
        r"(?i)\w\W+(?:is|are|was|were|has|have|had|does|do|doesn['’]t|don['’]t|isn['’]t|aren['’]t|can|cannot|can['’]t|will|won['’]t|would|needs|requires|comes?|means|exists|gets|runs|reads|returns|creates|shows|keeps|uses|takes|calls|goes|falls|verifies|affects|reinstalls|accepts|sends|looks|wants|assumes|maps|supports)\b",
    );
    let words: Vec<&str> = line.split('`').step_by(2).collect();
    let words = words.join("_");
    // "Hmm, looks like it was moved" and "add a lock if it is not enough" are thoughts.
    static THINKS: StaticRegex = StaticRegex::new(
        r"(?i)^(?:hmm|(?:it )?(?:looks|seems)\b|maybe|perhaps|(?:options? )?\d+(?:, \d+)*,? and \d+\b)|^(?:add|use|make|keep|move|formalize)\b.*\bif\b",
    );
    if speaks(&words) || THINKS.is_match(&words) {
        return true;
    }
    // `name: what it does` is the form of a list of results, `times are merged: both` is not.
    let label = LABEL.find(&words).map(|label| label.as_str());
    let is_labelled = label.is_some_and(|label| !FINITE.is_match(label));
    let acts = is_labelled || ACTS.is_match(&words) || is_past(&words);
    !acts && FINITE.is_match(&words)
}

/// Whether somebody speaks: "we have", "I would", "what you want".
pub fn speaks(words: &str) -> bool {
    static SPEAKS: StaticRegex = StaticRegex::new(
        r"\b(?:I|[Ww]e|[Yy]ou|[Ww]e['’]re|I['’]m|[Yy]ou['’]re|[Ww]e['’]ve|I['’]ve)\b",
    );
    // What stands in quotes is another's word, and what stands in brackets an aside.
    static ASIDE: StaticRegex = StaticRegex::new(r#""[^"]*"|“[^”]*”|\([^)]*\)"#);
    let plain = ASIDE.replace_all(words, "_");
    SPEAKS.is_match(plain.split(". ").next().unwrap_or_default())
}

/// Whether a point says near its beginning that something was done.
pub fn is_past(text: &str) -> bool {
    static PAST: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:added|removed|created|fixed|changed|updated|replaced|rewrote|rewritten|moved|renamed|deleted|dropped|merged|implemented|refactored|documented|configured|enabled|disabled|inserted|pushed|published|tagged|wired|exposed|extracted|converted|simplified|reverted|resolved|consolidated|preserved|deployed|installed|switched|hardened|restored|cleared|wrapped|zeroed|formalized|generated|made|split|wrote|set up|improved|introduced|extended|corrected|adjusted|applied|captured|excluded|ignored|retitled|hid|hidden|capped|bumped|upgraded|cleaned|dispatched|opened|closed|verified|established|excised|ported|unified|reworked|reduced|increased)\b",
    );
    let beginning = text.char_indices().nth(70).map_or(text, |(at, _)| &text[..at]);
    PAST.is_match(beginning)
}

/// Whether a sentence tells of a change.
pub fn is_change(sentence: &str) -> bool {
    static CHANGE: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:add(?:ed|s)?|remov(?:ed|es?)|creat(?:ed|es?)|fix(?:ed|es)?|chang(?:ed|es?)|updat(?:ed|es?)|replac(?:ed|es?)|rewr(?:ote|itten|ites?)|mov(?:ed|es?)|renam(?:ed|es?)|delet(?:ed|es?)|dropp?(?:ed|s)?|merg(?:ed|es?)|implement(?:ed|s)?|now|returns?|skip(?:s|ped)?|hid(?:es?|den)|shows?|uses?|used|calls?|keeps?|kept|pass(?:es|ed)?|handl(?:es|ed)|reject(?:ed|s)?|validat(?:ed|es?)|zeroed|refactor(?:ed|s)?|document(?:ed|s)?|configur(?:ed|es?)|enabl(?:ed|es?)|disabl(?:ed|es?)|split|insert(?:ed|s)?|committed|pushed|published|tagged|detect(?:s|ed)?|captur(?:ed|es)|made|makes|sets?|instead|wir(?:ed|es)|expos(?:ed|es?)|support(?:s|ed)?|includ(?:ed|es?)|extract(?:ed|s)?|convert(?:ed|s)?|simplif(?:ied|ies)|revert(?:ed|s)?|resolv(?:ed|es)|replied|no longer|maps?|writes?|wrote|prints?|records?|ignor(?:es|ed)|exclud(?:ed|es)|consolidat(?:ed|es)|preserv(?:ed|es)|deploy(?:ed|s)|install(?:ed|s)?|switch(?:ed|es)|hardened|restor(?:ed|es)|clear(?:ed|s)|guard(?:ed|s)?|wrapp?(?:ed|s)|zero(?:es|ed)|formaliz(?:ed|es)|generat(?:ed|es)|emits?|falls? back)\b",
    );
    CHANGE.is_match(sentence)
}

/// Whether a sentence names something of the code: a span, a path, a function, a pull request.
pub fn names_code(sentence: &str) -> bool {
    static CODE: StaticRegex = StaticRegex::new(
        r"`[^`]+`|\b[\w-]+/[\w./-]+|\b\w+\.(?:ts|tsx|go|rs|py|md|json|yml|yaml|js|jsx|toml|sh|html|css|java|kt|rb|php|c|cpp|h|swift)\b|\b\w+\(\)|\b[a-z]+[A-Z]\w+|\b[a-z]+_[a-z_]+|PR ?#\d+",
    );
    CODE.is_match(sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_things_are_is_no_result() {
        for said in [
            "Tides have no order of their own",
            "The times are in one list: `tides: [first, second]`",
            "The 3 active tides you want to look at",
            "We have the form for asking the pilot, but it is used once",
            "Hmm, looks like the lock was removed already",
            "1, 2 and 4 are the right piers now",
            "Add or name a lock for it if the one of `day.rs` is not enough",
            "`--lock` only affects the same boat",
            "Both `tide` and `quay` come from the log",
        ] {
            assert!(explains(said), "{said}");
        }
        for result in [
            "Added a lock to `day.rs`",
            "Both tides were moved to `day.rs`",
            "`append` now returns the header",
            "A lock file beside the log, with the name of its holder",
            "`initTide()` - silently falls back to the day before",
            "`append` now sets both (so you see it), the header and the lock",
            "Tide-use layer on the pier",
            "quay.yml: supports a name, and the tide of the day is checked",
            "`src/day.rs` — the header is written under the lock",
            "day.rs: returns early when the lock is held",
            "PR #12 merged: tides that have a name",
            "Folder: `tide/` → `tides/`",
            "Moved \"where you are\" behind the tides",
        ] {
            assert!(!explains(result), "{result}");
        }
    }
}
