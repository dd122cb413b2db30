//! Clean: what every text goes through before anything is made of it. What memtree itself gave to
//! an agent and images in base64 are left out, long outputs are shortened, secrets are redacted.

use std::borrow::Cow;

use crate::base::redact::Redactor;
use crate::distill::episodes;
use crate::model::context;
use crate::model::session::{Action, Call, CallResult, Event, EventKind, FileChange};

/// Cleans the texts of events.
pub struct Cleaner {
    redactor: Redactor,
    /// How much of one tool's output is kept, in bytes.
    output_bytes: usize,
}

/// A run of this many characters of base64 is no text.
const LONGEST_RUN: usize = 512;

impl Cleaner {
    /// Makes a cleaner.
    pub fn new(redactor: Redactor, output_bytes: usize) -> Cleaner {
        Cleaner { redactor, output_bytes }
    }

    /// What it knows secrets by.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Cleans a text.
    pub fn text<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        self.text_counted(text, &mut 0)
    }

    /// Cleans a text that is kept for good.
    pub fn string(&self, text: String) -> String {
        self.text(text.into()).into_owned()
    }

    /// Cleans all that an event says; adds to `redacted` how many secrets there were.
    pub fn event<'e>(&self, event: Event<'e>, redacted: &mut u64) -> Event<'e> {
        let mut text = |text| self.text_counted(text, redacted);
        let kind = match event.kind {
            EventKind::Prompt(said) => EventKind::Prompt(text(said)),
            EventKind::Intervention(said) => EventKind::Intervention(text(said)),
            EventKind::Reply(said) => EventKind::Reply(text(said)),
            EventKind::Thinking(said) => EventKind::Thinking(text(said)),
            EventKind::Compaction(said) => EventKind::Compaction(text(said)),
            EventKind::Lifecycle(said) => EventKind::Lifecycle(text(said)),
            EventKind::Call(call) => {
                EventKind::Call(Call {
                    // Also in a tool's name, which pages count and show.
                    tool: text(call.tool),
                    action: self.action(call.action, redacted),
                    ..call
                })
            }
            EventKind::Result(answer) => {
                // Shortened first, so that no time is spent on what is not kept; a secret that is
                // cut in two at the seam is still known by its beginning.
                let short = match &answer.text {
                    Cow::Borrowed(text) => episodes::shortened(text, self.output_bytes),
                    Cow::Owned(text) => {
                        episodes::shortened(text, self.output_bytes).into_owned().into()
                    }
                };
                EventKind::Result(CallResult { text: text(short), ..answer })
            }
            kind @ (EventKind::Rewind { .. } | EventKind::Completion) => kind,
        };
        Event { kind, ..event }
    }

    fn action(&self, action: Action, redacted: &mut u64) -> Action {
        let mut string = |text: String| self.text_counted(text.into(), redacted).into_owned();
        match action {
            Action::Shell { command } => Action::Shell { command: string(command) },
            Action::Edit { files, text } => {
                let files =
                    files.into_iter().map(|file| FileChange { path: string(file.path), ..file });
                Action::Edit { files: files.collect(), text: string(text) }
            }
            Action::Read { path } => Action::Read { path: string(path) },
            Action::Search { query } => Action::Search { query: string(query) },
            Action::Delegate { task } => Action::Delegate { task: string(task) },
            Action::Plan { text } => Action::Plan { text: string(text) },
            Action::Ask { question } => Action::Ask { question: string(question) },
            Action::Commit { hash, message } => {
                Action::Commit { hash: string(hash), message: string(message) }
            }
            Action::Other { input } => Action::Other { input: string(input) },
        }
    }

    fn text_counted<'t>(&self, text: Cow<'t, str>, redacted: &mut u64) -> Cow<'t, str> {
        let text = through(text, context::without_ours);
        let text = through(text, without_base64);
        through(text, |text| self.redactor.redact_counted(text, redacted))
    }
}

/// A text with something done to it; what is borrowed and stays as it is stays borrowed.
fn through<'t>(text: Cow<'t, str>, mut change: impl FnMut(&str) -> Cow<'_, str>) -> Cow<'t, str> {
    match text {
        Cow::Borrowed(text) => change(text),
        Cow::Owned(text) => match change(&text) {
            Cow::Owned(changed) => changed.into(),
            Cow::Borrowed(_) => text.into(),
        },
    }
}

/// A text with each long run of base64 replaced by a word about it.
fn without_base64(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut kept: Option<String> = None;
    let (mut copied, mut at) = (0, 0);
    while at + LONGEST_RUN <= bytes.len() {
        // Look at the end of a possible run first: one byte in many shows that there is none.
        match bytes[at..at + LONGEST_RUN].iter().rposition(|byte| !is_base64(*byte)) {
            Some(last) => at += last + 1,
            None => {
                let end = at
                    + bytes[at..]
                        .iter()
                        .position(|byte| !is_base64(*byte))
                        .unwrap_or(bytes.len() - at);
                let kept = kept.get_or_insert_with(String::new);
                kept.push_str(&text[copied..at]);
                kept.push_str(&format!("[base64, {} bytes, in raw]", end - at));
                (copied, at) = (end, end);
            }
        }
    }
    match kept {
        None => text.into(),
        Some(mut kept) => {
            kept.push_str(&text[copied..]);
            kept.into()
        }
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_left_out() {
        let image = "iVBORw0KGgo".repeat(100);
        let text = format!("see data:image/png;base64,{image} there");
        assert_eq!(
            without_base64(&text),
            "see data:image/png;base64,[base64, 1100 bytes, in raw] there"
        );
        assert_eq!(without_base64(&image), "[base64, 1100 bytes, in raw]");
        let prose = "many words of prose, ".repeat(100);
        assert!(matches!(without_base64(&prose), Cow::Borrowed(_)));
        assert_eq!(
            without_base64(&format!("{}é{}", "a".repeat(600), "b".repeat(20))),
            format!("[base64, 600 bytes, in raw]é{}", "b".repeat(20))
        );
    }
}
