//! Presets: which settings let a person's own agent, or a server, answer for memtree.
//!
//! An agent is called without a screen, without tools where it can do without, and without keeping
//! a session of the call, with the flags that its own `--help` names (Claude Code 2.1.325, Codex
//! 0.166.0, Gemini CLI 0.61.0). Whatever it keeps all the same begins with our mark and is not
//! remembered.

use crate::settings::Summarizer;

/// Settings of one way to ask a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preset {
    pub summarizer: Summarizer,
    /// The program and its words; empty for a server.
    pub command: Vec<String>,
    /// The server's address; empty for a program.
    pub base_url: String,
    /// The model for small jobs, and the one for large ones; empty means the program's own choice.
    pub low: String,
    pub high: String,
    /// How much text goes into one call, in tokens.
    pub input_tokens: usize,
}

/// The agents and servers that are known by name.
pub const KNOWN: &[&str] = &["claude", "codex", "gemini", "ollama"];

/// What capable models read at once with ease, and what small ones on a person's own machine do.
const LARGE_INPUT: usize = 60_000;
const SMALL_INPUT: usize = 6_000;

/// The settings for an agent's name or a server's address; `None` where it is neither.
pub fn preset(name: &str, model: Option<&str>) -> Option<Preset> {
    let model = model.unwrap_or_default();
    let program = |words: &[&str], flag: &[&str], low: &str, high: &str| {
        let (low, high) = if model.is_empty() { (low, high) } else { (model, "") };
        // Without a model's name the program decides.
        let flag = if low.is_empty() { &[] } else { flag };
        let command = words.iter().chain(flag).map(|word| word.to_string()).collect();
        let base_url = String::new();
        let (low, high) = (low.to_string(), high.to_string());
        let summarizer = Summarizer::Command;
        Some(Preset { summarizer, command, base_url, low, high, input_tokens: LARGE_INPUT })
    };
    let server = |base_url: &str, input_tokens: usize| {
        let (low, high, command) = (model.to_string(), String::new(), Vec::new());
        let (summarizer, base_url) = (Summarizer::OpenAi, base_url.trim_end_matches('/').into());
        Some(Preset { summarizer, command, base_url, low, high, input_tokens })
    };
    match name {
        "claude" => program(
            &[
                "claude",
                "-p",
                "--tools",
                "",
                "--no-session-persistence",
                "--strict-mcp-config",
                "--disable-slash-commands",
            ],
            &["--model", "{model}"],
            "haiku",
            "sonnet",
        ),
        "codex" => program(
            &[
                "codex",
                "exec",
                "--ephemeral",
                "--skip-git-repo-check",
                "--sandbox",
                "read-only",
                "--ignore-rules",
                "--color",
                "never",
            ],
            &["--model", "{model}"],
            "",
            "",
        ),
        "gemini" => program(
            &[
                "gemini",
                "--approval-mode",
                "plan",
                "--skip-trust",
                "--extensions",
                "none",
                "--output-format",
                "text",
                "-p",
                "Answer the request above.",
            ],
            &["--model", "{model}"],
            "",
            "",
        ),
        "ollama" => server("http://127.0.0.1:11434/v1", SMALL_INPUT),
        address if address.starts_with("http://") || address.starts_with("https://") => {
            server(address, SMALL_INPUT)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_answer_without_a_screen_and_keep_nothing() {
        let claude = preset("claude", None).unwrap();
        assert_eq!((claude.low.as_str(), claude.high.as_str()), ("haiku", "sonnet"));
        assert!(claude.command.windows(2).any(|pair| pair == ["--tools", ""]));
        assert_eq!(claude.command.last().unwrap(), "{model}");
        let codex = preset("codex", None).unwrap();
        assert!(codex.command.contains(&"--ephemeral".into()) && codex.low.is_empty());
        assert!(!codex.command.contains(&"{model}".into()), "no flag without a name");
        let named = preset("codex", Some("small")).unwrap();
        assert_eq!(
            (named.low.as_str(), named.command.last().unwrap().as_str()),
            ("small", "{model}")
        );
    }

    #[test]
    fn an_address_is_a_server() {
        let server = preset("http://127.0.0.1:8080/v1/", Some("qwen")).unwrap();
        assert_eq!(server.base_url, "http://127.0.0.1:8080/v1");
        assert_eq!((server.summarizer, server.low.as_str()), (Summarizer::OpenAi, "qwen"));
        assert_eq!(preset("127.0.0.1:8080", None), None);
        assert_eq!(preset("gemni", None), None);
    }
}
