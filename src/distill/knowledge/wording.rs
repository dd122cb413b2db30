//! A model's words, checked: each sentence has to name quotes, and to say what they say, or it is
//! left out.

use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::distill::words;
use crate::model::knowledge::{Claim, Quote};

/// A reply with fewer sentences that hold is no summary.
const FEWEST_SENTENCES: usize = 2;
const MOST_SENTENCES: usize = 12;
/// How many names a model may give a piece of a day.
const MOST_NAMES: usize = 7;

/// Quotes with their numbers, as a model is given them.
pub fn numbered<'q>(quotes: impl Iterator<Item = &'q str>) -> String {
    quotes.enumerate().map(|(at, quote)| format!("[{}] {quote}\n", at + 1)).collect()
}

/// The sentences of a reply that name at least one of so many quotes, each with the places of these
/// in the list.
pub fn sentences(reply: &str, quotes: &[&str]) -> Vec<(String, Vec<usize>)> {
    static NUMBER: StaticRegex = StaticRegex::new(r"\[(\d{1,3})\]");
    // A number behind the full stop belongs to the sentence before it.
    static BEHIND: StaticRegex = StaticRegex::new(r"([.!?])((?:\s*\[\d{1,3}\])+)");
    let reply = BEHIND.replace_all(reply, "$2$1");
    let mut accepted: Vec<(String, Vec<usize>)> = Vec::new();
    for sentence in text::sentences(&reply) {
        let numbers =
            NUMBER.captures_iter(sentence).filter_map(|found| found[1].parse::<usize>().ok());
        let mut places: Vec<usize> = numbers
            .filter_map(|number| number.checked_sub(1))
            .filter(|at| *at < quotes.len())
            .collect();
        places.sort_unstable();
        places.dedup();
        let words = text::one_line(&NUMBER.replace_all(sentence, ""), 500)
            .replace(" .", ".")
            .replace(" ,", ",");
        let new = !accepted.iter().any(|(known, _)| *known == words);
        let named: Vec<&str> = places.iter().map(|at| quotes[*at]).collect();
        if !places.is_empty()
            && is_said_by(&words, &named.join(" "))
            && words.split_whitespace().count() >= 4
            && new
            && accepted.len() < MOST_SENTENCES
        {
            accepted.push((words, places));
        }
    }
    accepted
}

/// Whether a sentence says what its quotes say: most of its weighty words are theirs.
fn is_said_by(sentence: &str, quotes: &str) -> bool {
    let words = |said: &str| words::stems(said, |word| words::weight(&word.text) >= 0.3);
    let (own, theirs) = (words(sentence), words(quotes));
    own.intersection(&theirs).count() * 5 >= own.len() * 2
}

/// The sentences of a page's summary; `None` where too few name what they rest on.
pub fn summary(reply: &str, quotes: &[&Quote]) -> Option<Vec<Claim>> {
    let accepted =
        sentences(reply, &quotes.iter().map(|quote| quote.text.as_str()).collect::<Vec<_>>());
    let claim = |(text, places): (String, Vec<usize>)| {
        let mut sources: Vec<_> = places.iter().map(|at| quotes[*at].place.clone()).collect();
        sources.dedup();
        Claim { text, sources }
    };
    (accepted.len() >= FEWEST_SENTENCES).then(|| accepted.into_iter().map(claim).collect())
}

/// The topics that a reply names, one a line.
pub fn names(reply: &str) -> Vec<String> {
    let lines = reply
        .lines()
        .map(|line| line.trim().trim_start_matches(['-', '*', '•', ' ']).trim_end_matches('.'));
    let short = lines.filter(|line| {
        (3..=60).contains(&line.chars().count()) && line.split_whitespace().count() <= 5
    });
    short.take(MOST_NAMES).map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::digest::Origin;
    use crate::model::knowledge::QuoteSource;

    #[test]
    fn only_what_names_its_source_is_taken() {
        let place = |day: u32| QuoteSource {
            day: chrono::NaiveDate::from_ymd_opt(2026, 11, day).unwrap(),
            session: None,
            episode: None,
        };
        let quote = |day| Quote {
            text: "Jitter spreads the load; measured twice".into(),
            origin: Origin::User,
            place: place(day),
        };
        let quotes = [quote(1), quote(2)];
        let quotes: Vec<&Quote> = quotes.iter().collect();
        let reply = "Jitter spreads the load well [1]. It was measured twice.[2] Nobody said this at all. This cites a ghost [9]. Kubernetes ingress controllers terminate everything [1].";
        let claims = summary(reply, &quotes).unwrap();
        let texts: Vec<(&str, usize)> =
            claims.iter().map(|claim| (claim.text.as_str(), claim.sources.len())).collect();
        assert_eq!(texts, [("Jitter spreads the load well.", 1), ("It was measured twice.", 1)]);
        assert_eq!(claims[1].sources, [place(2)]);
        assert_eq!(summary("One sentence is too few here [1].", &quotes), None);
        assert_eq!(
            names(
                "- full jitter\n\n* Retry-After.\nthis line says far too much to be the name of a topic\n"
            ),
            ["full jitter", "Retry-After"]
        );
    }
}
