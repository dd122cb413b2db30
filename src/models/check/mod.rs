//! What a model or an agent may add to a page: only lines that the words it quotes bear out.
//!
//! A [`Proposal`] names its episode and quotes it. The quote has to stand there, in the mouth of
//! whoever is said to have said it, and the line may say no more than the quote does: its numbers
//! and its verbs stand in the quoted sentences, its other words at least in the episode, and what
//! is denied there is denied here. No model is asked. It is strict on purpose: a true line that is
//! refused costs little, since our own words stay; an untrue one that is kept costs trust.

mod material;
mod meaning;
mod vocabulary;

use std::fmt;

pub use material::{Episode, Material};

use crate::base::text;
use crate::model::digest::Origin;
use crate::model::ids::EpisodeId;
use crate::model::words::words;
use material::Quoted;
use meaning::Meaning;

/// One line that a model would like to have on a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    pub kind: Kind,
    pub episode: EpisodeId,
    /// Who is said to have said it, where that is said.
    pub by: Option<Origin>,
    pub text: String,
    /// The words of the episode that bear it out.
    pub quote: String,
}

/// What a proposed line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Title,
    Objective,
    Outcome,
    Decision,
    Standing,
    Lesson,
    Open,
}

words!(Kind {
    Title = "title",
    Objective = "objective",
    Outcome = "outcome",
    Decision = "decision",
    Standing = "standing",
    Lesson = "lesson",
    Open = "open",
});

impl Kind {
    /// Whether it says what the whole session was about, so that it may take its words from all of
    /// it.
    fn is_about_all(self) -> bool {
        matches!(self, Kind::Title | Kind::Objective)
    }
}

/// Why a line is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It has no episode, no quote, no text, or too much of it.
    Form(&'static str),
    /// The session has no such episode.
    NoEpisode(EpisodeId),
    /// The quote does not stand there, but perhaps elsewhere.
    Misquoted(EpisodeId, Option<EpisodeId>),
    /// Somebody else said it.
    Speaker { said: Origin, by: Origin },
    /// A number that the quoted sentences do not have.
    Number(String),
    /// A word that the episode does not have.
    Word(String),
    /// Something that the quoted words do not say was done.
    Action(String),
    /// One of the two denies it.
    Negation(String),
    /// It was announced, wished or asked, and is stated as done.
    NotDone,
    /// It speaks of something else.
    OtherSubject,
    /// It gives orders to agents.
    Order,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Form(what) => f.write_str(what),
            Refusal::NoEpisode(id) => write!(f, "there is no {id}"),
            Refusal::Misquoted(id, None) => write!(f, "the quote does not stand in {id}"),
            Refusal::Misquoted(id, Some(other)) => {
                write!(f, "the quote does not stand in {id} but in {other}")
            }
            Refusal::Speaker { said, by } => {
                write!(f, "the quoted words are those of the {by}, not of the {said}")
            }
            Refusal::Number(number) => write!(f, "the quoted words do not have `{number}`"),
            Refusal::Word(word) => write!(f, "the episode does not speak of `{word}`"),
            Refusal::Action(verb) => write!(f, "the quoted words do not say `{verb}`"),
            Refusal::Negation(word) => {
                write!(f, "`{word}` is denied in one of the two, and not in the other")
            }
            Refusal::NotDone => f.write_str("the quoted words announce or ask it"),
            Refusal::OtherSubject => f.write_str("it shares too little with the quoted words"),
            Refusal::Order => f.write_str("it gives an order to agents"),
        }
    }
}

/// The shortest quote, in words and in letters: shorter ones stand everywhere.
const SHORTEST_QUOTE: (usize, usize) = (3, 8);
/// The longest quote, in characters.
const LONGEST_QUOTE: usize = 600;
/// The longest line, in characters.
const LONGEST_LINE: usize = 320;
/// The longest title, in characters.
const LONGEST_TITLE: usize = 110;
/// The longest objective, in words.
const LONGEST_OBJECTIVE: usize = 60;

impl Material {
    /// Whether the material bears a line out; returns whose words the quote is.
    pub fn check(&self, proposal: &Proposal) -> Result<Origin, Refusal> {
        check_form(proposal)?;
        let quoted = self.quoted(proposal.episode, &proposal.quote)?;
        // Whether the agent wrote it or a tool printed it is hard to tell from a page, and neither
        // is the person.
        if let Some(said) = proposal.by
            && said != quoted.speaker
            && [said, quoted.speaker].contains(&Origin::User)
        {
            return Err(Refusal::Speaker { said, by: quoted.speaker });
        }
        let line = Meaning::of(&proposal.text);
        if let Some(said) = line.names_speaker()
            && said != quoted.speaker
            && !proposal.kind.is_about_all()
        {
            return Err(Refusal::Speaker { said, by: quoted.speaker });
        }
        if text::is_injection(&proposal.text) && quoted.speaker != Origin::User {
            return Err(Refusal::Order);
        }
        let source = Meaning::of(&quoted.sentences);
        if matches!(proposal.kind, Kind::Outcome | Kind::Lesson)
            && source.is_announced()
            && !line.is_announced()
        {
            return Err(Refusal::NotDone);
        }
        match proposal.kind.is_about_all() {
            true => self.check_aim(&line, &source)?,
            false => self.check_statement(&line, &source, &quoted)?,
        }
        match line.denied_otherwise(&source, proposal.kind.is_about_all()) {
            Some(word) => Err(Refusal::Negation(word)),
            None => Ok(quoted.speaker),
        }
    }

    /// A title or an objective is about the whole session, and takes its words from all of it.
    fn check_aim(&self, line: &Meaning, source: &Meaning) -> Result<(), Refusal> {
        if let Some(number) = line.numbers().find(|number| !self.has_number(number)) {
            return Err(Refusal::Number(number.to_string()));
        }
        let telling: Vec<_> = line.telling().collect();
        let mut unknown = telling.iter().filter(|word| !self.has(word) && !word.is_light());
        let most = telling.len() / 6;
        if let Some(word) = unknown.nth(most) {
            return Err(Refusal::Word(word.shown.clone()));
        }
        let shared = telling.iter().filter(|word| source.has(word)).count();
        if shared == 0 { Err(Refusal::OtherSubject) } else { Ok(()) }
    }

    /// Any other line says what its quote says.
    fn check_statement(
        &self,
        line: &Meaning,
        source: &Meaning,
        quoted: &Quoted<'_>,
    ) -> Result<(), Refusal> {
        let has_number =
            |number: &&str| source.has_number(number) || quoted.episode.names_number(number);
        if let Some(number) = line.numbers().find(|number| !has_number(number)) {
            return Err(Refusal::Number(number.to_string()));
        }
        let telling: Vec<_> = line.telling().collect();
        for word in &telling {
            if source.has(word) {
                continue;
            }
            if word.is_action() {
                return Err(Refusal::Action(word.shown.clone()));
            }
            if !quoted.episode.has(word) && !word.is_light() {
                return Err(Refusal::Word(word.shown.clone()));
            }
        }
        if let Some(verb) = line.succeeds_where(source) {
            return Err(Refusal::Action(verb));
        }
        // What stands beside the quote counts half.
        let entry = Meaning::of(&quoted.entry);
        let weighty = || telling.iter().filter(|word| !word.is_light());
        let shared = weighty().filter(|word| source.has(word)).count();
        let beside = weighty().filter(|word| !source.has(word) && entry.has(word)).count();
        let enough = 2 * shared + beside >= weighty().count();
        if enough && shared > 0 { Ok(()) } else { Err(Refusal::OtherSubject) }
    }
}

fn check_form(proposal: &Proposal) -> Result<(), Refusal> {
    let Proposal { kind, text: line, quote, .. } = proposal;
    let chars = |text: &str| text.chars().count();
    let words = quote.split_whitespace().count();
    let letters = quote.chars().filter(|letter| letter.is_alphanumeric()).count();
    let wide = quote.chars().any(|letter| letter.is_alphabetic() && !letter.is_ascii());
    let (fewest_words, fewest_letters) = SHORTEST_QUOTE;
    if letters < fewest_letters / 2 || (!wide && (words < fewest_words || letters < fewest_letters))
    {
        return Err(Refusal::Form("the quote is too short to prove anything"));
    }
    if chars(quote) > LONGEST_QUOTE {
        return Err(Refusal::Form("the quote is too long"));
    }
    let most = if *kind == Kind::Title { LONGEST_TITLE } else { LONGEST_LINE };
    if line.trim().is_empty() || chars(line) > most || line.contains('\n') {
        return Err(Refusal::Form("the line is empty or too long"));
    }
    if *kind == Kind::Objective && line.split_whitespace().count() > LONGEST_OBJECTIVE {
        return Err(Refusal::Form("the line is empty or too long"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
