//! How memtree's own calls of a model are told apart from a person's sessions.
//!
//! A program that answers for a model may keep a log of what it was asked, where the next sweep
//! finds it. So every prompt of ours begins with one line, and a session that consists of such
//! prompts is not worth remembering.

/// The first line of everything that memtree asks a model.
pub const MARK: &str =
    "[memtree asks: this is the memory's own call of a model, no session to remember]";

/// The environment variables that say to whatever runs below a call of ours that memtree called it.
pub const GUARDS: [&str; 2] = ["MEMTREE_INVOKED_BY", "CLAUDE_INVOKED_BY"];

/// What they say below a call of a model; hooks say something else to what they start.
pub const CALLER: &str = "memtree";

/// Whether a title is that of a session which consists of such calls.
pub fn are_told_by(title: &str) -> bool {
    title.contains(MARK.trim_matches(['[', ']']))
}

/// Whether a prompt is one of memtree's own.
pub fn is_ours(prompt: &str) -> bool {
    prompt.trim_start().starts_with(MARK)
}
