//! What goes onto the page when not everything fits: pure choice among lines, within a budget of
//! tokens.

use crate::base::text;

/// One line of the page, with the place it is from.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Line {
    pub text: String,
    /// What `recall` takes, or a file of the memory with the line's number.
    pub source: String,
    /// Why it may no longer hold, where its evidence changed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
    /// Whether it says more of the line above it.
    #[serde(skip)]
    pub below: bool,
    /// Why it is given, where that is not plain from its heading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Line {
    pub fn new(text: impl Into<String>, source: impl Into<String>) -> Line {
        Line { text: text.into(), source: source.into(), stale: None, below: false, why: None }
    }

    /// The line as it stands on the page.
    pub fn shown(&self) -> String {
        let indent = if self.below { "  " } else { "" };
        match &self.stale {
            Some(why) => format!("{indent}- stale ({why}): {} ({})\n", self.text, self.source),
            None => format!("{indent}- {} ({})\n", self.text, self.source),
        }
    }
}

/// Lines of one kind, in the order in which they are shown.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Section {
    pub heading: String,
    pub lines: Vec<Line>,
    /// How much of the page it gets before the others have taken theirs, in hundredths.
    #[serde(skip)]
    pub share: usize,
    /// Whether its last lines matter most.
    #[serde(skip)]
    pub last_first: bool,
}

/// How many tokens a text may cost at most, by any tokenizer: what we estimate, or what a plain
/// rule of thumb says if that is more, and a twelfth on top. Tokenizers differ most in what is not
/// ASCII: such a character may cost half a token more than we think.
pub fn cost(value: &str) -> usize {
    let other = value.chars().filter(|character| !character.is_ascii()).count();
    let most = (text::tokens(value) + other.div_ceil(2)).max(value.chars().count().div_ceil(3));
    most + most.div_ceil(12)
}

/// The sections cut down to so many tokens. Each first gets its share; what one leaves over goes to
/// the others, in their order. A line is shown whole or not at all.
pub fn fitted(sections: Vec<Section>, budget: usize) -> Vec<Section> {
    let shares: usize = sections.iter().map(|section| section.share).sum::<usize>().max(1);
    let mut chosen: Vec<Vec<bool>> =
        sections.iter().map(|section| vec![false; section.lines.len()]).collect();
    let mut left = budget;
    for in_full in [false, true] {
        for (section, chosen) in sections.iter().zip(&mut chosen) {
            let mut allowed =
                if in_full { left } else { (budget * section.share / shares).min(left) };
            let heading = cost(&section.title());
            let mut order: Vec<usize> = (0..section.lines.len()).collect();
            if section.last_first {
                order.reverse();
            }
            for at in order {
                if chosen[at] {
                    continue;
                }
                let first = !chosen.contains(&true);
                let price = cost(&section.lines[at].shown()) + if first { heading } else { 0 };
                if price > allowed {
                    // The next may be shorter, but a page with holes reads worse than a shorter
                    // one.
                    break;
                }
                chosen[at] = true;
                (allowed, left) = (allowed - price, left - price);
            }
        }
    }
    let kept = sections.into_iter().zip(chosen).map(|(mut section, chosen)| {
        let mut chosen = chosen.into_iter();
        section.lines.retain(|_| chosen.next() == Some(true));
        section
    });
    kept.filter(|section| !section.lines.is_empty()).collect()
}

/// Leaves out what an earlier line of the page says already. A line that others say more of stays.
pub fn without_repeats(sections: &mut [Section]) {
    let mut said: Vec<String> = Vec::new();
    for section in sections {
        let lines = std::mem::take(&mut section.lines);
        let is_led = |at: usize| lines.get(at).is_some_and(|line| line.below);
        let leads: Vec<bool> = (0..lines.len()).map(|at| !is_led(at) && is_led(at + 1)).collect();
        for (line, leads) in lines.into_iter().zip(leads) {
            let words = sentence(&line.text);
            let begins: String = words.chars().take(SAME_BEGINNING).collect();
            let long = begins.len() < words.len();
            let repeated = !words.is_empty()
                && said
                    .iter()
                    .any(|known| known.contains(&words) || (long && known.starts_with(&begins)));
            if leads || !repeated {
                said.push(words);
                section.lines.push(line);
            }
        }
    }
}

/// Two sentences that begin with so many same letters are one, cut at different places.
const SAME_BEGINNING: usize = 80;

/// What a line quotes, the answer rather than the question, as letters and digits alone: by it two
/// lines are the same, whoever is named as its source.
fn sentence(text: &str) -> String {
    // `on “what was asked”, assistant said “what was answered”`
    let answer = text.split_once("”, ").map_or(text, |(_, answer)| answer);
    let quoted = answer.split_once('“').map_or(answer, |(_, quoted)| quoted);
    quoted.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

impl Section {
    /// The heading as it stands on the page.
    fn title(&self) -> String {
        format!("\n## {}\n", self.heading)
    }

    /// Leaves out orders to agents, whoever repeated them.
    pub fn leave_out_orders(&mut self) {
        self.lines.retain(|line| !text::is_injection(&line.text));
    }

    /// The section as it stands on the page.
    pub fn shown(&self) -> String {
        self.lines.iter().fold(self.title(), |text, line| text + &line.shown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn section(heading: &str, lines: &[&str], share: usize) -> Section {
        let lines = lines.iter().map(|text| Line::new(*text, "a/b.md:1")).collect();
        Section { heading: heading.into(), lines, share, last_first: false }
    }

    #[test]
    fn what_one_section_leaves_over_goes_to_the_next() {
        let long: Vec<String> = (0..50).map(|n| format!("line {n} of the long one")).collect();
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        let sections = vec![section("Short", &["only this"], 50), section("Long", &long, 50)];
        let kept = fitted(sections.clone(), 400);
        let used: usize = kept.iter().map(|section| cost(&section.shown())).sum();
        assert_eq!(kept[0].lines.len(), 1);
        assert!((320..=400).contains(&used), "{used}");
        assert_eq!(kept[1].lines[0].text, "line 0 of the long one");
        let newest = Section { last_first: true, ..sections[1].clone() };
        assert_eq!(
            fitted(vec![newest], 100)[0].lines.last().unwrap().text,
            "line 49 of the long one"
        );
        assert!(fitted(sections, 3).is_empty());
    }

    #[test]
    fn no_sentence_comes_twice() {
        let mut sections = vec![
            section("A", &["p: “Take the lock first.”", "user decided “keep the header”"], 50),
            section("B", &["on “x”, assistant said “take the lock first…”", "“the header”"], 50),
        ];
        sections[1].lines.push(Line { below: true, ..Line::new("open: “keep it”", "a") });
        without_repeats(&mut sections);
        let texts: Vec<&str> =
            sections.iter().flat_map(|one| &one.lines).map(|line| line.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "p: “Take the lock first.”",
                "user decided “keep the header”",
                "“the header”",
                "open: “keep it”"
            ]
        );
    }

    proptest! {
        #[test]
        fn no_budget_is_ever_exceeded(
            texts in proptest::collection::vec(proptest::collection::vec("\\PC{0,120}", 0..12), 0..5),
            shares in proptest::collection::vec(0usize..100, 5),
            budget in 0usize..600,
            last_first: bool,
        ) {
            let sections: Vec<Section> = texts
                .iter()
                .zip(shares)
                .map(|(lines, share)| Section {
                    heading: "Some heading".into(),
                    lines: lines.iter().map(|text| Line::new(text.as_str(), "daily/raw/x.md:3")).collect(),
                    share,
                    last_first,
                })
                .collect();
            let page: String = fitted(sections, budget).iter().map(Section::shown).collect();
            prop_assert!(cost(&page) <= budget && text::tokens(&page) <= budget, "{} of {budget}", cost(&page));
        }
    }
}
