//! The text of a user's record: a person's words, a command, or what the program put there itself.

use crate::adapters::tags::{self, between};

/// Who wrote the text of a user record.
pub enum UserText {
    Prompt(String),
    Interruption,
    Command(String),
    /// Something in the background says how it went.
    Notification(String),
    Machine,
}

/// Distinguishes a person's words from what the program wrote in their name.
pub fn classify(text: &str) -> UserText {
    if text.starts_with("[Request interrupted by user") {
        return UserText::Interruption;
    }
    if text.starts_with("<command-name>") || text.starts_with("<command-message>") {
        let name = between(text, "<command-name>", "</command-name>").unwrap_or_default();
        let arguments = between(text, "<command-args>", "</command-args>").unwrap_or_default();
        return UserText::Command(
            format!("{} {}", name.trim(), arguments.trim()).trim().to_string(),
        );
    }
    if text.starts_with("<task-notification>") {
        let field = |name: &str| {
            between(text, &format!("<{name}>"), &format!("</{name}>")).unwrap_or_default().trim()
        };
        let (status, summary) = (field("status"), field("summary"));
        if status.is_empty() {
            return UserText::Machine;
        }
        // The words that days look for: see `distill::day`.
        let said = format!("background task {status}: {summary}");
        return UserText::Notification(said.trim_end_matches([':', ' ']).to_string());
    }
    const MACHINE: &[&str] = &[
        "<local-command-",
        "Caveat:",
        "<bash-input>",
        "<bash-stdout>",
        "<bash-stderr>",
        "<teammate-message",
        "<user-prompt-submit-hook>",
        "<session-start-hook>",
        "{\"task_id\"",
    ];
    if MACHINE.iter().any(|start| text.starts_with(start)) {
        return UserText::Machine;
    }
    // What the program puts around a person's words is taken off; if nothing remains, no one spoke.
    const AROUND: &[&str] =
        &["system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics"];
    let rest = tags::without(text, AROUND);
    if rest.is_empty() && !text.is_empty() { UserText::Machine } else { UserText::Prompt(rest) }
}
