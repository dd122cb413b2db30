//! A query: what a person types to find a session.
//!
//! `flock "header race" -windows project:zubot since:2w`: words rank, a phrase in quotes has to be
//! there, `-` leaves out, filters narrow. Whatever is broken in it (a quote without an end, a lone
//! colon) counts as words.

use std::collections::BTreeMap;

use crate::base::clock::Timestamp;
use crate::base::text;
use crate::error::{Error, Result};
use crate::model::digest::Outcome;

pub mod dates;
pub mod languages;
pub mod names;
pub mod synonyms;
pub mod terms;
mod times_elsewhere;

use dates::FilterDate;

/// How much of a query is read, in bytes: far more than anybody types, far less than a pasted log.
const LONGEST_QUERY: usize = 4 << 10;
/// How many words, phrases and filters of a query count.
const MOST_PARTS: usize = 64;
/// From so many words on, a colon is more likely part of a text than of a filter.
const PASTED: usize = 8;
/// In how many ways a question is asked at most.
pub const MOST_PHRASINGS: usize = 8;

/// What to find.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// The query as it was typed, cut where it is absurdly long.
    pub text: String,
    /// Words that rank, as typed; an identifier or path is one.
    pub words: Vec<String>,
    /// Phrases that have to be there.
    pub phrases: Vec<String>,
    /// Words and phrases that may not be there.
    pub excluded: Vec<String>,
    /// What narrows the search.
    pub filters: Vec<Filter>,
    /// Whether sessions that were not found worth remembering count like any other, rather than as
    /// guesses.
    pub all: bool,
}

/// One narrowing of a search. Those with the same key are alternatives; different keys all have to
/// hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    pub key: FilterKey,
    pub value: String,
    /// Whether it leaves out what it names, as `-project:zubot` does.
    pub negated: bool,
    /// The date that a `since:` or `before:` names.
    date: Option<FilterDate>,
}

/// What a filter looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FilterKey {
    Project,
    Flavor,
    Status,
    File,
    Tag,
    Since,
    Before,
}

/// Every filter, as typed.
const FILTERS: &[(&str, FilterKey)] = &[
    ("project", FilterKey::Project),
    ("flavor", FilterKey::Flavor),
    ("status", FilterKey::Status),
    ("file", FilterKey::File),
    ("tag", FilterKey::Tag),
    ("since", FilterKey::Since),
    ("before", FilterKey::Before),
];

impl FilterKey {
    /// Whether its value is one of a list of names.
    pub fn is_name(self) -> bool {
        matches!(self, FilterKey::Project | FilterKey::Flavor | FilterKey::Tag)
    }

    /// Its name, as it is typed.
    pub fn name(self) -> &'static str {
        FILTERS.iter().find(|(_, key)| *key == self).map_or("", |(name, _)| name)
    }
}

impl Query {
    /// Reads a query; only a filter that does not exist or has no such value is an error.
    pub fn parse(text: &str) -> Result<Query> {
        let text = text::cut(text.trim(), LONGEST_QUERY);
        let mut query = Query { text: text.to_string(), ..Query::default() };
        let mut rest = text;
        for _ in 0..MOST_PARTS {
            rest = rest.trim_start();
            if rest.is_empty() {
                break;
            }
            rest = query.part(rest)?;
        }
        Ok(query)
    }

    /// A query of a text's words alone: whatever signs are among them, they are nobody's operators.
    pub fn of_words(text: &str) -> Query {
        let bare =
            |word: &str| word.trim_matches(['"', '\'', '`', '“', '”', '-', '(', ')']).to_string();
        let words = text::cut(text, LONGEST_QUERY).split_whitespace().map(bare);
        let words = words.filter(|word| word.chars().any(char::is_alphanumeric)).take(MOST_PARTS);
        Query { text: text::one_line(text, 200), words: words.collect(), ..Query::default() }
    }

    /// Adds a filter, as a flag of the command line names it.
    pub fn filter(&mut self, key: FilterKey, value: &str) -> Result<()> {
        self.filters.push(Filter::new(key, value, false)?);
        Ok(())
    }

    /// Whether nothing at all is asked for.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.phrases.is_empty() && self.filters.is_empty()
    }

    /// The same question with the words of its phrases anywhere. `None` where a phrase is all that
    /// is asked for, or where there is none: in a question, quotes often stand around a title.
    pub fn without_quotes(&self) -> Option<Query> {
        if self.words.is_empty() || self.phrases.is_empty() {
            return None;
        }
        let mut looser = self.clone();
        looser.words.append(&mut looser.phrases);
        Some(looser)
    }

    /// The question with others that mean the same: empty and repeated ones are left out, and of
    /// many only the first count. What narrows the question narrows them all.
    pub fn phrasings(&self, also: &[String]) -> Vec<Query> {
        let mut phrasings = vec![self.clone()];
        for text in also {
            // What looks like a filter that does not exist is words here: a commit's subject has
            // many a colon.
            let mut other = Query::parse(text).unwrap_or_else(|_| Query::of_words(text));
            let says_something = !other.words.is_empty() || !other.phrases.is_empty();
            let same =
                |known: &Query| (&known.words, &known.phrases) == (&other.words, &other.phrases);
            if !says_something || phrasings.iter().any(same) {
                continue;
            }
            other.filters.extend(self.filters.iter().cloned());
            other.excluded.extend(self.excluded.iter().cloned());
            phrasings.push(other);
            if phrasings.len() == MOST_PHRASINGS {
                break;
            }
        }
        phrasings
    }

    /// The filters by key, without those that leave out.
    pub fn wanted_filters(&self) -> BTreeMap<FilterKey, Vec<&Filter>> {
        let mut by_key: BTreeMap<FilterKey, Vec<&Filter>> = BTreeMap::new();
        for filter in self.filters.iter().filter(|filter| !filter.negated) {
            by_key.entry(filter.key).or_default().push(filter);
        }
        by_key
    }

    /// Whether a name before a colon is most likely part of a longer text that somebody pasted, such
    /// as an error's, rather than a filter that was mistyped.
    fn is_pasted(&self, name: &str) -> bool {
        let words = self.text.split_whitespace().count();
        words >= PASTED && text::nearest(name, FILTERS.iter().map(|(known, _)| *known)).is_none()
    }

    /// Takes one part off the front of a text and returns what is left.
    fn part<'t>(&mut self, text: &'t str) -> Result<&'t str> {
        let (negated, body) = match text.strip_prefix('-') {
            // A dash on its own, or several (`--dry-run`), is no exclusion.
            Some(body) if body.starts_with(|c: char| c == '"' || c.is_alphanumeric()) => {
                (true, body)
            }
            _ => (false, text),
        };
        if let Some((phrase, rest)) = quoted(body) {
            let list = if negated { &mut self.excluded } else { &mut self.phrases };
            // A phrase without a word, such as `"…"` in a title, asks for nothing.
            if phrase.contains(char::is_alphanumeric) {
                list.push(phrase.trim().to_string());
            }
            return Ok(rest);
        }
        let word_end = |text: &str| text.find(char::is_whitespace).unwrap_or(text.len());
        let end = word_end(body);
        if let Some((name, _)) = body[..end].split_once(':')
            && !name.is_empty()
        {
            let after = &body[name.len() + 1..];
            let (value, rest) = quoted(after).unwrap_or_else(|| after.split_at(word_end(after)));
            let known = FILTERS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            match known {
                Some((_, key)) if !value.trim().is_empty() => {
                    self.filters.push(Filter::new(*key, value.trim(), negated)?);
                    return Ok(rest);
                }
                None if looks_like_filter(name, value) && !self.is_pasted(name) => {
                    return Err(unknown_filter(name, value));
                }
                _ => {}
            }
        }
        let word = body[..end].trim_matches('"');
        if negated {
            self.excluded.push(word.to_string());
        } else if word.chars().any(char::is_alphanumeric) {
            self.words.push(word.to_string());
        }
        Ok(&body[end..])
    }
}

impl Filter {
    fn new(key: FilterKey, value: &str, negated: bool) -> Result<Filter> {
        let date = match key {
            FilterKey::Since | FilterKey::Before => {
                Some(FilterDate::parse(value).ok_or_else(|| {
                    Error::usage(format!("`{value}` is no time")).hint(
                        "say a day (2026-11-15), a month (2026-11), a year, `today`, \
                         `yesterday`, or an age: 7d, 2w, 3m, 1y",
                    )
                })?)
            }
            FilterKey::Status => {
                value.to_lowercase().parse::<Outcome>().map_err(|reason| {
                    Error::usage(format!("no session has the status `{value}`")).because(reason)
                })?;
                None
            }
            _ => None,
        };
        Ok(Filter { key, value: value.to_string(), negated, date })
    }

    /// The time that a `since:` or `before:` means now.
    pub fn time(&self, now: Timestamp) -> Option<Timestamp> {
        self.date?.time(now)
    }
}

/// The text in the quotes that a text begins with, and what follows them; an open quote ends
/// nowhere.
fn quoted(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('"')?.split_once('"')
}

/// Tells a filter that we do not know from text that merely has a colon: `http://…`, `std::fs`,
/// `12:30`, `localhost:8080`, `C:\x`, `TypeError:x`, `error:`.
fn looks_like_filter(name: &str, value: &str) -> bool {
    name.len() > 1
        && name.bytes().all(|byte| byte.is_ascii_lowercase())
        && !value.is_empty()
        && !value.starts_with(['/', '\\', ':', '=', ')'])
        && !value.bytes().all(|byte| byte.is_ascii_digit() || byte == b':')
        && !value.contains("::")
}

fn unknown_filter(name: &str, value: &str) -> Error {
    let names: Vec<&str> = FILTERS.iter().map(|(name, _)| *name).collect();
    let known: Vec<String> = names.iter().map(|name| format!("{name}:")).collect();
    let meant = match text::nearest(name, names) {
        Some(near) => format!("did you mean `{near}:`? "),
        None => String::new(),
    };
    Error::usage(format!("there is no filter `{name}:`"))
        .because(format!("the filters are {}", known.join(" ")))
        .hint(format!("{meant}To look for the text itself, put it in quotes: \"{name}:{value}\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock;

    fn parse(text: &str) -> Query {
        Query::parse(text).unwrap()
    }

    #[test]
    fn the_parts_are_told_apart() {
        let query = parse(
            r#"flock "header race" -windows -"old way" project:zubot file:"my file.rs" -tag:wip"#,
        );
        assert_eq!(query.words, ["flock"]);
        assert_eq!(query.phrases, ["header race"]);
        assert_eq!(query.excluded, ["windows", "old way"]);
        let filters: Vec<_> =
            query.filters.iter().map(|f| (f.key, f.value.as_str(), f.negated)).collect();
        assert_eq!(
            filters,
            [
                (FilterKey::Project, "zubot", false),
                (FilterKey::File, "my file.rs", false),
                (FilterKey::Tag, "wip", true),
            ]
        );
    }

    #[test]
    fn what_only_looks_like_syntax_is_words() {
        for text in [
            "http://example.org/x",
            "std::fs",
            "12:30",
            r"C:\x",
            "error: something",
            "localhost:8080",
            "a:b",
            "TypeError:undefined",
            "src/day.rs:12",
            "project:",
            ":",
            "--dry-run",
            "-",
            "fn::call",
        ] {
            let query = parse(text);
            assert!(query.filters.is_empty() && query.excluded.is_empty(), "{text}: {query:?}");
        }
        assert_eq!(parse("std::fs 12:30").words, ["std::fs", "12:30"]);
        assert_eq!(
            parse(r#"broken "quote never ends"#).words,
            ["broken", "quote", "never", "ends"]
        );
        assert_eq!(parse(r#"say "" it"#).words, ["say", "it"]);
        let ellipsis = parse(r#"Rename "…" to "harbour""#);
        assert_eq!(
            (ellipsis.words, ellipsis.phrases),
            (vec!["Rename".into(), "to".into()], vec!["harbour".into()])
        );
    }

    #[test]
    fn an_unknown_filter_is_explained() {
        let error = Query::parse("flock projet:zubot").unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.causes()[0].contains("project: flavor: status:"), "{error}");
        assert!(error.next_step().unwrap().contains("`project:`"), "{error}");
        assert!(Query::parse("repo:zubot flock").is_err());
        let pasted =
            "Invalid search query OPENAI_BASE_URL or custom endpoint repo:zubot type:issue";
        assert!(parse(pasted).words.contains(&"repo:zubot".to_string()));
        assert!(Query::parse(&format!("{pasted} projet:zubot")).is_err());
        assert!(Query::parse("status:great").is_err());
        assert!(Query::parse("since:whenever").is_err());
    }

    #[test]
    fn times_are_dates_or_ages() {
        let now = clock::parse("2026-11-15T13:40:10Z").unwrap();
        let check = |text: &str, expect: &str| {
            let query = parse(&format!("since:{text}"));
            assert_eq!(clock::stamp(query.filters[0].time(now).unwrap()), expect, "{text}");
        };
        check("2026-11-01", "2026-11-01T00:00:00Z");
        check("2026-11", "2026-11-01T00:00:00Z");
        check("2026", "2026-01-01T00:00:00Z");
        check("2026-11-01T10:00:00Z", "2026-11-01T10:00:00Z");
        check("today", "2026-11-15T00:00:00Z");
        check("yesterday", "2026-11-14T00:00:00Z");
        check("2w", "2026-11-01T00:00:00Z");
        check("3m", "2026-08-15T00:00:00Z");
        check("1y", "2025-11-15T00:00:00Z");
        assert_eq!(parse("since:4000000y before:1d").filters.len(), 2);
    }

    #[test]
    fn phrasings_are_bounded_and_share_what_narrows() {
        let query = parse("flock project:zubot -windows");
        let also = |texts: &[&str]| -> Vec<Query> {
            query.phrasings(&texts.iter().map(|text| text.to_string()).collect::<Vec<_>>())
        };
        let two = also(&["", "  ", "file lock since:2w", "flock", "fix:lock the day"]);
        let words: Vec<String> = two.iter().map(|one| one.words.join(" ")).collect();
        assert_eq!(words, ["flock", "file lock", "fix:lock the day"]);
        assert_eq!((two[1].filters.len(), two[2].filters.len()), (2, 1));
        assert!(two.iter().all(|one| one.excluded == ["windows"]));
        let many: Vec<String> = (0..20).map(|number| format!("lock {number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(also(&many).len(), MOST_PHRASINGS);
        assert!(also(&[&"lock ".repeat(300_000)])[1].text.len() <= LONGEST_QUERY);
    }

    #[test]
    fn a_huge_query_is_cut() {
        let query = parse(&"word ".repeat(200_000));
        assert!(query.words.len() <= MOST_PARTS && query.text.len() <= LONGEST_QUERY);
        parse(&"\"".repeat(1 << 20));
        parse(&"é".repeat(1 << 19));
    }
}
