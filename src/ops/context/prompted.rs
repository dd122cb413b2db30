//! What bears on a prompt: lines of the project's own sessions, and of another project's only where
//! both have a rare name in common.

use std::collections::BTreeMap;

use serde::Serialize;

use super::asking::Asking;
use super::lines::{self, DigestLines, day_of, plain};
use super::page::{Line, Section};
use super::relevance::{self, Common, PromptWords};
use super::stale::EvidenceChecker;
use crate::base::text;
use crate::error::Result;
use crate::index::Index;
use crate::model::digest::{Digest, Worth};
use crate::model::hit::Hit;
use crate::model::ids::EpisodeId;
use crate::query::{FilterKey, Query};
use crate::store::Store;

/// The heading above it.
pub const HEADING: &str = "What bears on this prompt";
/// How many sessions may answer a prompt, and how many lines of each.
const HITS: usize = 5;
const LINES: usize = 2;
/// How likely a session has to be what was asked for, by the search itself: below it, hardly one
/// of twenty is.
const LIKELY: f64 = 0.05;
/// In how many sessions a name may be to be rare.
const RARE_IN: usize = 3;

/// A session that was looked at, and what came of it.
#[derive(Debug, Serialize)]
pub struct Considered {
    pub session: String,
    pub title: String,
    pub project: Option<String>,
    /// What it has in common with the prompt.
    pub words: Vec<String>,
    pub given: bool,
    /// Why it was given or not.
    pub why: String,
}

/// What is asked, and of whom.
pub struct PromptSearch<'a> {
    pub store: &'a Store,
    pub index: &'a Index<'a>,
    pub prompt: &'a str,
    /// The same in other words.
    pub also: &'a [String],
    pub asking: &'a Asking<'a>,
    pub checker: &'a EvidenceChecker,
    /// Whether only what surely bears on the prompt counts.
    pub strong_only: bool,
}

impl PromptSearch<'_> {
    /// The lines that bear on the prompt, and all that was looked at for it.
    pub fn run(&self) -> Result<(Section, Vec<Considered>)> {
        let (mut lines, mut considered) = (Vec::new(), Vec::new());
        let words = PromptWords::of(self.prompt, |word| self.index.rarity(word));
        let words = words.or(self.phrasings().iter().skip(1).map(|phrasing| {
            PromptWords::of(&phrasing.words.join(" "), |word| self.index.rarity(word))
        }));
        if !words.is_empty() {
            self.own(&words, &mut lines, &mut considered)?;
            if lines.is_empty() {
                self.elsewhere(&words, &mut lines, &mut considered)?;
            }
            if lines.is_empty() && !self.strong_only {
                self.guesses(&words, &mut lines, &mut considered)?;
            }
        }
        let section = Section { heading: HEADING.into(), lines, share: 40, last_first: false };
        Ok((section, considered))
    }

    /// The prompt and what else it was said to mean, bounded.
    fn phrasings(&self) -> Vec<Query> {
        Query::of_words(self.prompt).phrasings(self.also)
    }

    /// The session of this project that answers best, if one surely does.
    fn own(
        &self,
        words: &PromptWords,
        lines: &mut Vec<Line>,
        considered: &mut Vec<Considered>,
    ) -> Result<()> {
        let mut query = Query::of_words(self.prompt);
        for project in self.asking.projects {
            query.filter(FilterKey::Project, project)?;
        }
        if query.words.is_empty() || self.asking.projects.is_empty() {
            return Ok(());
        }
        let found =
            self.index.search_phrasings(&query.phrasings(self.also), self.asking.now, HITS + 1);
        for hit in found?.hits {
            if self.asking.is_source(&hit.source_id) {
                continue;
            }
            let first = considered.is_empty();
            let Some(digest) = self.worthy(&hit) else {
                // What answers best is not to be passed on, and the next best is no answer.
                if first && self.strong_only {
                    break;
                }
                continue;
            };
            let common = words.common_in_a_part(&[&digest.content.title], &parts(&digest));
            let why = format!("same project, and has {}", listed(&common));
            let found = self.telling_lines(&digest, words, &why, "");
            let (given, why) = match common.is_sure() {
                true if !first && self.strong_only => {
                    (false, "another session of the project answers better".into())
                }
                true if hit.confidence < LIKELY => (false, "it has too little of the rest".into()),
                true if found.is_empty() => (false, "no line of it says what is asked".into()),
                true => (true, why),
                false => (false, common.doubt()),
            };
            if given {
                lines.extend(found);
            }
            considered.push(looked_at(&digest, &common, given, why));
            if considered.len() == HITS {
                break;
            }
        }
        Ok(())
    }

    /// A session of another project that has a name which is written nowhere else.
    fn elsewhere(
        &self,
        words: &PromptWords,
        lines: &mut Vec<Line>,
        considered: &mut Vec<Considered>,
    ) -> Result<()> {
        for name in relevance::names(self.prompt) {
            let kept = crate::base::stem::stem(&name);
            let Some(sessions) = self.index.sessions_with(kept, RARE_IN)? else { continue };
            let digests: Vec<Digest> = sessions
                .iter()
                .filter_map(|session| self.store.digest(session).ok().flatten())
                .filter(|digest| digest.content.worth == Worth::Full && !self.asking.is(digest))
                .collect();
            let Some(last) = digests.iter().max_by_key(|digest| digest.content.ended) else {
                continue;
            };
            let project = last.content.project.as_deref();
            // A name that several projects have is theirs in common, and says nothing.
            if digests.iter().any(|digest| digest.content.project.as_deref() != project) {
                continue;
            }
            let label = match project {
                Some(project) => format!("in another project, {}: ", plain(project)),
                None => format!("in a session of {}: ", plain(&last.content.flavor)),
            };
            let why = format!("another project, but only it has `{}`", plain(&name));
            let found = self.naming_lines(last, &name, &label, &why);
            let common = words.common(texts(last));
            let given = !found.is_empty();
            let why = if given { why } else { format!("no line of it says `{name}`") };
            lines.extend(found);
            considered.push(looked_at(last, &common, given, why));
            if given {
                break;
            }
        }
        Ok(())
    }

    /// What a search finds in the whole memory, for a person who asks for it.
    fn guesses(
        &self,
        words: &PromptWords,
        lines: &mut Vec<Line>,
        considered: &mut Vec<Considered>,
    ) -> Result<()> {
        let query = Query::of_words(self.prompt);
        let found =
            self.index.search_phrasings(&query.phrasings(self.also), self.asking.now, HITS + 1);
        for hit in found?.hits {
            let known = considered.iter().any(|one| one.session == hit.session.to_string());
            let Some(digest) = self.worthy(&hit).filter(|_| !known && !hit.weak) else { continue };
            let common = words.common(texts(&digest));
            let here = self.asking.is_here(digest.content.project.as_deref());
            let label = match &digest.content.project {
                Some(project) if !here => format!("{}: ", plain(project)),
                _ => String::new(),
            };
            let why = format!("a search finds it by {}", listed(&common));
            lines.extend(self.best_lines(&digest, words, &hit, &why, &label));
            considered.push(looked_at(&digest, &common, true, why));
        }
        Ok(())
    }

    /// The digest of a hit, where it may be passed on at all.
    fn worthy(&self, hit: &Hit) -> Option<Digest> {
        if self.asking.is_source(&hit.source_id) {
            return None;
        }
        let digest = self.store.digest(&hit.session).ok().flatten()?;
        (digest.content.worth == Worth::Full).then_some(digest)
    }

    /// The lines of a session that say most of what the prompt asks, or else what was said in the
    /// part that the search names.
    fn best_lines(
        &self,
        digest: &Digest,
        words: &PromptWords,
        hit: &Hit,
        why: &str,
        label: &str,
    ) -> Vec<Line> {
        let lines = self.lines_that(digest, words, |common| common.weight > 0.0);
        let named = || {
            // Only its index has the words.
            hit.triggers.iter().find_map(|found| {
                let mut here = digest.content.triggers.iter();
                here.find(|one| one.episode == found.episode)
                    .and_then(|trigger| self.of(digest).trigger(trigger))
            })
        };
        let lines = if lines.is_empty() { named().into_iter().collect() } else { lines };
        lines.into_iter().map(|line| attributed(line, digest, label, why)).collect()
    }

    /// The same, where the line itself has a word that tells what it is about.
    fn telling_lines(
        &self,
        digest: &Digest,
        words: &PromptWords,
        why: &str,
        label: &str,
    ) -> Vec<Line> {
        let lines = self.lines_that(digest, words, Common::is_telling);
        lines.into_iter().map(|line| attributed(line, digest, label, why)).collect()
    }

    /// The lines that have most in common with the prompt: decisions before outcomes before what
    /// else was said, where they say as much.
    fn lines_that(
        &self,
        digest: &Digest,
        words: &PromptWords,
        is_wanted: impl Fn(&Common) -> bool,
    ) -> Vec<Line> {
        let mut scored: Vec<(f32, Line)> = Vec::new();
        for (says, line, preference) in self.all_lines(digest) {
            let common = words.common(says);
            if is_wanted(&common) {
                scored.push((common.weight + preference, line));
            }
        }
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut lines: Vec<Line> = Vec::new();
        for (_, line) in scored {
            if lines.iter().all(|there| there.text != line.text) {
                lines.push(line);
            }
            if lines.len() == LINES {
                break;
            }
        }
        lines
    }

    /// The lines of a session that have a name.
    fn naming_lines(&self, digest: &Digest, name: &str, label: &str, why: &str) -> Vec<Line> {
        let has = |value: &str| {
            let mut found = false;
            text::each_word(value, |word| found |= word.text == name);
            found
        };
        let mut all = self.all_lines(digest);
        all.retain(|(says, ..)| says.iter().any(|value| has(value)));
        all.sort_by(|a, b| b.2.total_cmp(&a.2));
        all.truncate(1);
        all.into_iter().map(|(_, line, _)| attributed(line, digest, label, why)).collect()
    }

    /// Everything that a session may be quoted with: what it says, the line, and how much it is
    /// preferred.
    fn all_lines<'d>(&self, digest: &'d Digest) -> Vec<(Vec<&'d str>, Line, f32)> {
        const CLAIM: f32 = 1.0;
        const OUTCOME: f32 = 0.5;
        let of = self.of(digest);
        let content = &digest.content;
        let mut all = Vec::new();
        for claim in &content.stated {
            all.extend(of.claim(claim).map(|line| (vec![claim.text.as_str()], line, CLAIM)));
        }
        for outcome in &content.key_outcomes {
            all.extend(of.outcome(outcome).map(|line| (vec![outcome.as_str()], line, OUTCOME)));
        }
        for trigger in &content.triggers {
            let keys = trigger.keys.iter().map(String::as_str);
            let says = [trigger.topic.as_str(), &trigger.sentence].into_iter().chain(keys);
            all.extend(of.trigger(trigger).map(|line| (says.collect(), line, 0.0)));
        }
        all
    }

    fn of<'d>(&'d self, digest: &'d Digest) -> DigestLines<'d> {
        DigestLines { digest, trust: self.asking.trust, checker: self.checker }
    }
}

/// What a digest says of each part of its session.
fn parts(digest: &Digest) -> Vec<Vec<&str>> {
    let content = &digest.content;
    let mut parts: BTreeMap<EpisodeId, Vec<&str>> = BTreeMap::new();
    for one in &content.triggers {
        let part = parts.entry(one.episode).or_default();
        part.extend([one.topic.as_str(), &one.sentence]);
        part.extend(one.keys.iter().map(String::as_str));
    }
    for claim in &content.stated {
        parts.entry(claim.episode).or_default().push(&claim.text);
    }
    for error in &content.errors {
        parts.entry(error.episode).or_default().push(&error.text);
    }
    for line in &content.index {
        parts.entry(line.episode).or_default().extend(line.terms.iter().map(String::as_str));
    }
    for outcome in &content.key_outcomes {
        if let Some(episode) = lines::episode_of(outcome) {
            parts.entry(episode).or_default().push(outcome);
        }
    }
    parts.into_values().collect()
}

/// All that a digest says in words.
fn texts(digest: &Digest) -> impl Iterator<Item = &str> {
    let content = &digest.content;
    let head = [&content.title, &content.objective, &content.core_intent];
    let triggers = content
        .triggers
        .iter()
        .flat_map(|one| [&one.topic, &one.sentence].into_iter().chain(&one.keys));
    let index = content.index.iter().flat_map(|line| &line.terms);
    let errors = content.errors.iter().map(|error| &error.text);
    let stated = content.stated.iter().map(|claim| &claim.text);
    let lists = content.key_outcomes.iter().chain(&content.files).chain(&content.tags);
    head.into_iter()
        .chain(triggers)
        .chain(index)
        .chain(errors)
        .chain(stated)
        .chain(lists)
        .map(String::as_str)
}

fn attributed(line: Line, digest: &Digest, label: &str, why: &str) -> Line {
    let text = format!("{}{label}{}", day_of(digest), line.text);
    Line { text, why: Some(why.to_string()), ..line }
}

fn looked_at(digest: &Digest, common: &Common, given: bool, why: String) -> Considered {
    Considered {
        session: digest.session.to_string(),
        title: digest.content.title.clone(),
        project: digest.content.project.clone(),
        words: common.words.clone(),
        given,
        why,
    }
}

fn listed(common: &Common) -> String {
    const MOST: usize = 6;
    let words: Vec<String> =
        common.words.iter().take(MOST).map(|word| format!("`{word}`")).collect();
    words.join(", ")
}
