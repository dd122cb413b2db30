//! The text of a user's record: a person's words, a command, or what the program put there itself.

use crate::adapters::tags::{self, between};

/// Who wrote the text of a user record.
pub enum UserText {
    Prompt(String),
    Interruption,
    Command(String),
    /// The person ran a command beside the agent.
    OwnCommand(String),
    /// What that command printed.
    OwnOutput(String),
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
    if let Some(command) = between(text, "<bash-input>", "</bash-input>")
        && text.starts_with("<bash-input>")
    {
        return UserText::OwnCommand(command.trim().to_string());
    }
    if text.starts_with("<bash-stdout>") || text.starts_with("<bash-stderr>") {
        let part = |name: &str| {
            let (open, close) = (format!("<{name}>"), format!("</{name}>"));
            between(text, &open, &close).unwrap_or_default().trim_end().to_string()
        };
        let said = [part("bash-stdout"), part("bash-stderr")];
        let said: Vec<String> = said.into_iter().filter(|part| !part.is_empty()).collect();
        return UserText::OwnOutput(said.join("\n"));
    }
    const MACHINE: &[&str] = &[
        "<local-command-",
        "Caveat:",
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
