//! How agents are started: at one of their sessions, or with a first prompt. One row for each
//! agent, in [`ALL`], by their documentation of November 2026.
//!
//! A row is a list of arguments, never a line for a shell.

/// How one agent is started.
#[derive(Debug, Clone, Copy)]
pub struct LaunchSpec {
    /// The agent as we name it.
    pub agent: &'static str,
    /// The program, as `PATH` knows it.
    pub program: &'static str,
    /// The arguments that go on with a session, in which `ID` stands for its own id.
    pub resume: Option<&'static [&'static str]>,
    /// The arguments before a first prompt, in an interactive session.
    pub prompt: Option<&'static [&'static str]>,
}

/// Every agent that can be started from the command line.
pub const ALL: &[LaunchSpec] = &[
    row("claude", "claude", &["--resume", "ID"], Some(&[])),
    row("codex", "codex", &["resume", "ID"], Some(&[])),
    row("copilot", "copilot", &["--resume=ID"], Some(&["-i"])),
    row("antigravity", "agy", &["--conversation", "ID"], Some(&["-i"])),
    row("gemini", "gemini", &["--resume", "ID"], Some(&["-i"])),
    row("opencode", "opencode", &["-s", "ID"], Some(&["--prompt"])),
    row("kilo", "kilo", &["-s", "ID"], Some(&["--prompt"])),
    row("cursor", "cursor-agent", &["--resume", "ID"], Some(&[])),
    row("qwen", "qwen", &["-r", "ID"], Some(&["-i"])),
    row("kimi", "kimi", &["--session", "ID"], None),
    row("pi", "pi", &["--session", "ID"], Some(&[])),
    row("omp", "omp", &["--resume", "ID"], Some(&[])),
    row("grok", "grok", &["--resume", "ID"], Some(&[])),
    row("goose", "goose", &["session", "--resume", "--session-id", "ID"], None),
    row("hermes", "hermes", &["--resume", "ID"], None),
    row("cline", "cline", &["--id", "ID"], Some(&["-i"])),
    row("kiro", "kiro-cli", &["chat", "--resume-id", "ID"], Some(&["chat"])),
    row("droid", "droid", &["--resume", "ID"], Some(&[])),
    row("crush", "crush", &["--session", "ID"], None),
    row("vibe", "vibe", &["--resume", "ID"], Some(&[])),
];

const fn row(
    agent: &'static str,
    program: &'static str,
    resume: &'static [&'static str],
    prompt: Option<&'static [&'static str]>,
) -> LaunchSpec {
    LaunchSpec { agent, program, resume: Some(resume), prompt }
}

/// The row of an agent, by its name.
pub fn of(agent: &str) -> Option<&'static LaunchSpec> {
    ALL.iter().find(|spec| spec.agent == agent)
}

/// The longest id of a session that is handed to a program.
const LONGEST_ID: usize = 128;

/// Whether an id can be an argument: it comes from a log, and must be neither a flag nor anything
/// that a program could take for more than a name.
pub fn is_safe_id(id: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
    !id.is_empty()
        && id.len() <= LONGEST_ID
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id.chars().all(plain)
}

impl LaunchSpec {
    /// The words that go on with a session; `None` where the agent cannot, or the id is none.
    pub fn resume_words(&self, id: &str) -> Option<Vec<String>> {
        let words = self.resume.filter(|_| is_safe_id(id))?;
        let words = words.iter().map(|word| word.replace("ID", id));
        Some([self.program.to_string()].into_iter().chain(words).collect())
    }

    /// The words that start a session with a prompt; `None` where the agent takes none.
    pub fn prompt_words(&self, prompt: &str) -> Option<Vec<String>> {
        let words = self.prompt?.iter().map(|word| word.to_string());
        let all = [self.program.to_string()].into_iter().chain(words).chain([prompt.to_string()]);
        Some(all.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_word_and_no_flag() {
        let codex = of("codex").unwrap();
        let words = codex.resume_words("0b9c8d1e-1f3c-4c1f").unwrap();
        assert_eq!(words, ["codex", "resume", "0b9c8d1e-1f3c-4c1f"]);
        assert_eq!(of("copilot").unwrap().resume_words("a").unwrap(), ["copilot", "--resume=a"]);
        for id in ["", "-c", "--yolo", "a b", "a;b", "$(id)", "../a", "a\nb", "ä", &"a".repeat(129)]
        {
            assert_eq!(codex.resume_words(id), None, "{id:?}");
        }
        assert_eq!(of("gemini").unwrap().prompt_words("Go on").unwrap(), ["gemini", "-i", "Go on"]);
        assert_eq!(of("goose").unwrap().prompt_words("Go on"), None);
    }
}
