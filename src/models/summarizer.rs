//! Whoever answers a prompt: one small trait, and what goes in and out of it.

/// One call of a model.
pub struct Call<'c> {
    /// The model's name in the settings.
    pub model: &'c str,
    /// What to do, in our words.
    pub instructions: &'c str,
    /// What to do it with, framed as a quotation.
    pub material: &'c str,
    /// How long the reply may be.
    pub reply_tokens: u32,
}

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub text: String,
    /// The tokens read and written, where whoever answered counted them.
    pub tokens: Option<(u64, u64)>,
}

/// Why nothing came back.
#[derive(Debug)]
pub struct Failure {
    pub reason: String,
    pub trouble: Trouble,
    /// Whether a model may have been at work, so that it has to be counted.
    pub may_cost: bool,
}

/// What a failure means for what is asked next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Nobody is there, or has no time: it is tried again, and after the last try nobody else is
    /// kept waiting.
    Down,
    /// The reply is of no use: it is tried again, and another question may go well.
    Poor,
    /// This question is refused, and would be again.
    Refused,
    /// Every question would be refused.
    Hopeless,
}

/// Answers prompts. Caps, tries, redaction and the ledger are [`super::Models`]' business.
pub trait Summarizer: Send + Sync {
    /// Its name in the settings and in `made_by`.
    fn name(&self) -> &'static str;

    /// Asks once.
    fn reply(&self, call: &Call<'_>) -> Result<Reply, Failure>;
}

/// The default: what `distill` wrote from the session is all there is. It needs no model and no
/// tokens.
pub struct Extractive;

impl Summarizer for Extractive {
    fn name(&self) -> &'static str {
        "extractive"
    }

    fn reply(&self, _: &Call<'_>) -> Result<Reply, Failure> {
        Err(Failure {
            reason: "no model is configured".into(),
            trouble: Trouble::Hopeless,
            may_cost: false,
        })
    }
}
