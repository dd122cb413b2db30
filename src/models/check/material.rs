//! The material of a session as a check sees it: who said which sentence in which episode.

use std::collections::HashSet;

use super::Refusal;
use super::meaning::{Meaning, Token};
use crate::base::text;
use crate::model::digest::Origin;
use crate::model::ids::EpisodeId;

/// One episode, as its page shows it.
#[derive(Debug, Clone)]
pub struct Episode {
    pub id: EpisodeId,
    pub text: String,
}

/// Everything that a line may be borne out by.
pub struct Material {
    episodes: Vec<EpisodeMaterial>,
}

/// One episode, read.
pub struct EpisodeMaterial {
    id: EpisodeId,
    entries: Vec<Entry>,
    /// The words of all of it, by what they mean.
    words: HashSet<String>,
    numbers: HashSet<String>,
    /// Numbers that are part of a name: `#754`, `v1.25.6`, `EP_004`.
    names: HashSet<String>,
}

/// What one speaker said at once.
struct Entry {
    speaker: Origin,
    sentences: Vec<Sentence>,
}

struct Sentence {
    text: String,
    /// Only its letters and digits.
    flat: String,
}

/// A quote that was found.
pub struct Quoted<'m> {
    pub speaker: Origin,
    /// The whole sentences in which it stands.
    pub sentences: String,
    /// All that was said with it.
    pub entry: String,
    pub episode: &'m EpisodeMaterial,
}

impl Material {
    /// The material of a session: the pages of its episodes.
    pub fn of_episodes(episodes: &[Episode]) -> Material {
        let read = |episode: &Episode| EpisodeMaterial::new(episode.id, entries(&episode.text));
        Material { episodes: episodes.iter().map(read).collect() }
    }

    /// The material of a conversation: turns in which `**User:**` and `**Assistant:**` speak. Each
    /// turn counts as an episode.
    pub fn of_turns(turns: &[String]) -> Material {
        let turns = turns.iter().zip(1..);
        let episodes =
            turns.map(|(turn, number)| EpisodeMaterial::new(EpisodeId(number), entries(turn)));
        Material { episodes: episodes.collect() }
    }

    /// Finds a quote in its episode.
    pub fn quoted(&self, id: EpisodeId, quote: &str) -> Result<Quoted<'_>, Refusal> {
        let wanted = flat(quote);
        let episode =
            self.episodes.iter().find(|one| one.id == id).ok_or(Refusal::NoEpisode(id))?;
        let found = episode.entries.iter().find_map(|entry| {
            Some(Quoted {
                speaker: entry.speaker,
                sentences: entry.sentences_around(&wanted)?,
                entry: entry.text(),
                episode,
            })
        });
        found.ok_or_else(|| {
            let has = |one: &&EpisodeMaterial| {
                one.entries.iter().any(|entry| entry.sentences_around(&wanted).is_some())
            };
            Refusal::Misquoted(id, self.episodes.iter().find(has).map(|one| one.id))
        })
    }

    pub fn has(&self, word: &Token) -> bool {
        self.episodes.iter().any(|episode| episode.has(word))
    }

    pub fn has_number(&self, number: &str) -> bool {
        self.episodes.iter().any(|episode| episode.numbers.contains(number))
    }
}

impl EpisodeMaterial {
    fn new(id: EpisodeId, entries: Vec<Entry>) -> EpisodeMaterial {
        let (mut words, mut numbers) = (HashSet::new(), HashSet::new());
        let mut names = HashSet::new();
        for sentence in entries.iter().flat_map(|entry| &entry.sentences) {
            let meaning = Meaning::of(&sentence.text);
            meaning.collect(&mut words, &mut numbers);
            names.extend(numbers_in_names(&sentence.text));
        }
        EpisodeMaterial { id, entries, words, numbers, names }
    }

    pub fn has(&self, word: &Token) -> bool {
        word.is_within(&self.words)
    }

    /// Whether a number is part of a name that the episode has.
    pub fn names_number(&self, number: &str) -> bool {
        self.names.contains(number)
    }
}

impl Entry {
    fn text(&self) -> String {
        let sentences: Vec<&str> = self.sentences.iter().map(|one| one.text.as_str()).collect();
        sentences.join("\n")
    }

    /// The whole sentences in which a flat quote stands, if it does.
    fn sentences_around(&self, wanted: &str) -> Option<String> {
        let all: String = self.sentences.iter().map(|sentence| sentence.flat.as_str()).collect();
        let from = all.find(wanted).filter(|_| !wanted.is_empty())?;
        let until = from + wanted.len();
        let mut at = 0;
        let mut around = Vec::new();
        for sentence in &self.sentences {
            let end = at + sentence.flat.len();
            if at < until && end > from {
                around.push(sentence.text.as_str());
            }
            at = end;
        }
        Some(around.join("\n"))
    }
}

/// Reads a page: prompts and replies stand in quotes below their labels, tool calls in a list.
fn entries(page: &str) -> Vec<Entry> {
    let mut entries: Vec<(Origin, String)> = Vec::new();
    let mut inside_quote = false;
    for line in page.lines() {
        if let Some((speaker, rest)) = label(line) {
            inside_quote = !matches!(speaker, Origin::Tool);
            entries.push((speaker, format!("{rest}\n")));
            continue;
        }
        let quoted = line.strip_prefix("> ").or((line == ">").then_some(""));
        match (quoted, entries.last_mut()) {
            (Some(said), Some((_, text))) if inside_quote => {
                text.push_str(said);
                text.push('\n');
            }
            _ if line.starts_with("# EP_") => {}
            // Turns that were handed in have no quotation marks.
            (None, Some((speaker, text))) if *speaker != Origin::Tool && is_speech(line) => {
                text.push_str(line);
                text.push('\n');
            }
            _ if line.trim().is_empty() => {}
            (_, Some((Origin::Tool, text))) => {
                text.push_str(line);
                text.push('\n');
            }
            _ => entries.push((Origin::Tool, format!("{line}\n"))),
        }
    }
    entries.into_iter().map(|(speaker, text)| entry(speaker, &text)).collect()
}

/// Whether a line that follows a speaker's words belongs to them.
fn is_speech(line: &str) -> bool {
    !line.starts_with("- ") && !line.starts_with("  ")
}

/// The speaker whom a line names, and what it says besides.
fn label(line: &str) -> Option<(Origin, &str)> {
    let turns = [("**User:**", Origin::User), ("**Assistant:**", Origin::Assistant)];
    for (mark, speaker) in turns {
        if let Some(rest) = line.strip_prefix(mark) {
            return Some((speaker, rest));
        }
    }
    let labels = [
        ("**Prompt**", Origin::User),
        ("**Stepped in**", Origin::User),
        ("**Agent**", Origin::Assistant),
        ("**Subagent ", Origin::Assistant),
        ("**Summary at compaction**", Origin::Assistant),
    ];
    if let Some((_, speaker)) = labels.iter().find(|(mark, _)| line.starts_with(mark)) {
        return Some((*speaker, ""));
    }
    if let Some(thought) = line.strip_prefix("*Thought:* ") {
        return Some((Origin::Assistant, thought));
    }
    // A tool's call begins at the margin; its output is indented.
    (line.starts_with("- ") || line.starts_with('*')).then_some((Origin::Tool, line))
}

fn entry(speaker: Origin, said: &str) -> Entry {
    let sentence = |text: &str| Sentence { text: text.to_string(), flat: flat(text) };
    let sentences: Vec<Sentence> = match speaker {
        // What a program printed has lines, not sentences.
        Origin::Tool => said.lines().map(sentence).collect(),
        // Line by line, so that code that somebody shows is there too.
        _ => said.lines().flat_map(|line| sentences_of(line).into_iter().map(sentence)).collect(),
    };
    let is_person = speaker == Origin::Tool && is_answer(said);
    Entry { speaker: if is_person { Origin::User } else { speaker }, sentences }
}

/// The sentences of a line; all of it, where it has none.
fn sentences_of(line: &str) -> Vec<&str> {
    let found: Vec<&str> = text::sentences(line).collect();
    if flat(&found.concat()) == flat(line) { found } else { vec![line] }
}

/// Whether a tool printed what the person answered it.
fn is_answer(said: &str) -> bool {
    ["User selected", "User responded", "User answered", "user selected", "user responded"]
        .iter()
        .any(|mark| said.contains(mark))
}

/// Only the letters and digits of a text, in lower case: spacing, marks and line ends differ
/// between a page and a quote of it.
fn flat(value: &str) -> String {
    let value = value.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    value.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The numbers that stand in names: behind `#` or a letter, or between dots, slashes and dashes.
fn numbers_in_names(text: &str) -> impl Iterator<Item = String> {
    let names = text.split_whitespace().filter(|word| {
        let bare = word.trim_matches(|letter: char| !letter.is_alphanumeric() && letter != '#');
        let inside = &bare[bare.char_indices().nth(1).map_or(bare.len(), |(at, _)| at)..];
        let joined = inside.contains(['/', '_', '.', '-', '#', '@', ':']);
        bare.bytes().any(|byte| byte.is_ascii_digit())
            && (bare.starts_with('#') || joined || bare.starts_with(char::is_alphabetic))
    });
    names.flat_map(|word| {
        let parts = word.split(|letter: char| !letter.is_ascii_digit());
        parts.filter(|part| !part.is_empty()).map(str::to_string)
    })
}
