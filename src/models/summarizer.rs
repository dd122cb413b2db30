//! A summarizer answers prompts: one small trait, and what goes in and out of it.

/// One call of a model.
pub struct ModelCall<'c> {
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
    /// The tokens read and written, where they were counted.
    pub tokens: Option<(u64, u64)>,
}

/// Why nothing came back.
#[derive(Debug)]
pub struct Failure {
    pub reason: String,
    pub kind: FailureKind,
    /// Whether a model may have worked on it, so that its cost is counted.
    pub may_cost: bool,
}

/// What a failure means for what is asked next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// It cannot be reached, or is busy: it is tried again, and after the last try no other
    /// question is asked.
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
    fn reply(&self, call: &ModelCall<'_>) -> Result<Reply, Failure>;
}
