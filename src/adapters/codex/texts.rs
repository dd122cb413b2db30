//! The texts of people and of commands, which the program writes its own words around.

use std::borrow::Cow;

/// What a person typed in a prompt; `None` where the program put the text there.
pub fn typed(text: &str) -> Option<&str> {
    const INJECTED: &[&str] = &[
        "<environment_context>",
        "# AGENTS.md instructions",
        "<user_instructions>",
        "<INSTRUCTIONS>",
        "<turn_aborted>",
        "<skill>",
        "<recommended_plugins>",
        "<permissions instructions>",
        "<codex_delegation>",
        "<subagent_notification>",
        "<user_shell_command>",
        "<model_switch>",
        "<collaboration_mode>",
        "<personality_spec>",
        "<apps_instructions>",
        "<skills_instructions>",
        "<plugins_instructions>",
        "<hook_prompt",
    ];
    let text = text.trim();
    if INJECTED.iter().any(|start| text.starts_with(start)) {
        return None;
    }
    // An editor puts its open files before the person's words.
    let request =
        text.starts_with("# ").then(|| text.split_once("## My request for Codex:")).flatten();
    Some(request.map_or(text, |(_, request)| request.trim()))
}

/// What a command printed, and how it ended.
pub struct ToolOutput<'a> {
    pub text: Cow<'a, str>,
    pub exit_code: Option<i32>,
    pub process: Option<String>,
}

/// Takes off what the program puts before a command's output, and reads how it ended out of it.
pub fn without_preamble(text: Cow<'_, str>) -> ToolOutput<'_> {
    let (mut exit_code, mut process, mut at) = (None, None, 0);
    for line in text.split_inclusive('\n').take(10) {
        at += line.len();
        let line = line.trim_end();
        if let Some(code) =
            line.strip_prefix("Process exited with code ").or(line.strip_prefix("Exit code: "))
        {
            exit_code = code.parse().ok();
        } else if let Some(id) = line.strip_prefix("Process running with session ID ") {
            process = Some(id.to_string());
        } else if line == "Output:" {
            let text = match text {
                Cow::Borrowed(text) => Cow::Borrowed(&text[at..]),
                Cow::Owned(text) => Cow::Owned(text[at..].to_string()),
            };
            return ToolOutput { text, exit_code, process };
        } else if !["Chunk ID: ", "Wall time: ", "Original token count: ", "Total output lines: "]
            .iter()
            .any(|start| line.starts_with(start))
        {
            break;
        }
    }
    ToolOutput { text, exit_code, process }
}

/// Whether an answer without an exit code says that the tool could not do it.
pub fn says_failure(text: &str) -> bool {
    const STARTS: &[&str] = &[
        "failed in sandbox",
        "error: ",
        "execution error",
        "exec_command failed",
        "apply_patch verification failed",
        "unsupported call",
        "failed to parse function arguments",
    ];
    STARTS.iter().any(|start| text.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_an_output_tells_how_the_command_ended() {
        let check = |text: &str, rest: &str, exit_code, process: Option<&str>| {
            let answer = without_preamble(text.into());
            assert_eq!(
                (answer.text.as_ref(), answer.exit_code, answer.process.as_deref()),
                (rest, exit_code, process)
            );
        };
        check(
            "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 101\nOutput:\nno\n",
            "no\n",
            Some(101),
            None,
        );
        check("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nok", "ok", Some(0), None);
        check("Wall time: 1 s\nProcess running with session ID 7\nOutput:\n", "", None, Some("7"));
        check(
            "Output without a preamble\nOutput:\n",
            "Output without a preamble\nOutput:\n",
            None,
            None,
        );
        check("", "", None, None);
    }

    #[test]
    fn only_what_a_person_wrote_is_a_prompt() {
        assert_eq!(typed(" Fix it.\n"), Some("Fix it."));
        assert_eq!(typed("<environment_context>\n</environment_context>"), None);
        assert_eq!(
            typed(
                "# Context from my IDE setup:\n\n## Open tabs:\n- a.rs\n\n## My request for Codex:\nFix it."
            ),
            Some("Fix it.")
        );
        assert_eq!(typed("# Plan\nFix it."), Some("# Plan\nFix it."));
    }
}
