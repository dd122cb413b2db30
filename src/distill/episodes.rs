//! Episodes as pages that a person enjoys reading: the prompt, what the agent did in order,
//! results.
//!
//! What people and agents said stands in quotes, what tools printed in fences, so that nothing in a
//! log can pose as a heading or a mark of ours. Long outputs go to the episode's page under
//! `sensory/`.

use crate::base::clock;
use crate::base::markdown::{code, fenced, heading, quoted, without_emphasis};
use crate::base::text;
use crate::distill::messages;
use crate::distill::steps::{Step, StepKind, ToolCall};
use crate::distill::test_runs::{self, Verdict};
use crate::model::ids::EpisodeId;
use crate::model::session::{Action, Actor};

/// How much of a long output stays in the episode.
const SHOWN_OF_LONG: usize = 6;
/// How many characters of a command stand in its line.
const SHOWN_OF_COMMAND: usize = 200;
/// The longest single text that is shown of a reply or a prompt, in bytes; raw has all of it.
const LONGEST_SAID: usize = 64 << 10;

/// The pages of one episode, written piece by piece.
#[derive(Debug)]
pub struct EpisodePage {
    inline_lines: usize,
    /// Where the long outputs are, as the page links to them.
    sensory_link: String,
    /// The readable page; the caller takes pieces off it as they come.
    pub page: String,
    /// The long outputs.
    pub sensory: String,
    /// How many long outputs there are.
    pub entries: u64,
}

impl EpisodePage {
    /// Begins the page of an episode.
    pub fn new(
        id: EpisodeId,
        title: &str,
        inline_lines: usize,
        sensory_link: String,
    ) -> EpisodePage {
        let title = text::first_sentence(title, 90);
        let page = match (id.0, title.as_str()) {
            (0, _) => format!("# {id} · before the first prompt\n"),
            (_, "") => format!("# {id}\n"),
            (_, title) => format!("# {id} · {}\n", heading(title)),
        };
        EpisodePage { inline_lines, sensory_link, page, sensory: String::new(), entries: 0 }
    }

    /// Adds a step.
    pub fn add(&mut self, step: &Step) {
        let who = step.agent.as_deref().map(|agent| text::one_line(agent, 40));
        let when = step.at.map(|at| format!(" · {}", at.format("%H:%M:%S"))).unwrap_or_default();
        let from = format!(
            " · {}line {}",
            if step.inherited { "inherited, " } else { "" },
            step.position.line
        );
        match &step.kind {
            StepKind::Prompt(said) => {
                let day = step.at.map(|at| format!(" · {}", clock::stamp(at))).unwrap_or_default();
                self.block(&format!("**Prompt**{day}{from}"), &quoted(said, LONGEST_SAID));
            }
            StepKind::Rewind(kept) => self.line(&format!(
                "*The conversation went back to {}; what came after it was taken back.*",
                EpisodeId(*kept)
            )),
            StepKind::Intervention(said) => {
                self.block(&format!("**Stepped in**{when}{from}"), &quoted(said, LONGEST_SAID))
            }
            StepKind::Reply(said) => {
                let speaker =
                    who.map_or_else(|| "Agent".into(), |agent| format!("Subagent {agent}"));
                self.block(&format!("**{speaker}**{when}{from}"), &quoted(said, LONGEST_SAID));
            }
            StepKind::Thinking(said) => {
                let thought = text::one_line(said, 400);
                self.line(&format!("*Thought:* {}", without_emphasis(&thought)));
            }
            StepKind::Compaction(said) => self.block(
                &format!("**Summary at compaction**{when}{from}"),
                &quoted(said, LONGEST_SAID),
            ),
            StepKind::Lifecycle(said) => {
                self.line(&format!("*{}*{when}", without_emphasis(&text::one_line(said, 300))))
            }
            StepKind::Completion => {}
            StepKind::ToolCall(call) => self.call(call, who.as_deref(), step.position.line),
        }
    }

    fn call(&mut self, call: &ToolCall, agent: Option<&str>, line: u64) {
        let by = match (call.by, agent) {
            (Actor::Person, _) => "the person ran ".to_string(),
            (_, agent) => agent.map(|agent| format!("[{agent}] ")).unwrap_or_default(),
        };
        let what = described(call);
        let verdict = test_runs::verdict(call);
        let result = match (&call.answer, verdict) {
            (None, _) => "no answer".to_string(),
            (_, Some(Verdict { passed, summary })) => {
                format!("{}{}", if passed { "passed" } else { "failed" }, spaced(&summary))
            }
            (Some(answer), _) => match (answer.exit_code, answer.failed) {
                (Some(0), _) => "ok".into(),
                (Some(code), _) => format!("failed (exit {code})"),
                (None, true) => "failed".into(),
                (None, false) => "ok".into(),
            },
        };
        self.line(&format!("- {by}{what} → {result} · line {line}"));
        if let Action::Shell { command } = &call.action
            && let Some(message) = long_message(command)
        {
            self.page.push_str(&indented(&fenced("text", &message)));
        }
        if let Action::Edit { text, .. } = &call.action {
            self.output("change", "diff", text, text.len());
        }
        let Some(answer) = &call.answer else { return };
        // What was read from a file says little here, and an edit's answer nothing.
        let says_nothing = matches!(call.action, Action::Edit { .. } | Action::Commit { .. });
        let worth_showing = call.failed() || !says_nothing;
        if worth_showing {
            self.output(&what, "text", &answer.text, answer.bytes);
        }
        if answer.images > 0 {
            self.line(&format!("  [{} image(s), in raw]", answer.images));
        }
    }

    /// Shows an output: whole where it is short, else its beginning, with the rest under
    /// `sensory/`.
    fn output(&mut self, title: &str, language: &str, output: &str, whole_bytes: usize) {
        let output = output.trim_end();
        if output.is_empty() {
            return;
        }
        let lines = output.lines().count();
        if lines <= self.inline_lines && output.len() <= 160 * self.inline_lines {
            self.page.push_str(&indented(&fenced(language, output)));
            return;
        }
        self.entries += 1;
        let number = self.entries;
        let start: String = output
            .lines()
            .take(SHOWN_OF_LONG)
            .map(|line| format!("{}\n", text::cut(line, 200)))
            .collect();
        self.page.push_str(&indented(&fenced(language, start.trim_end())));
        self.page.push_str(&format!("  … [all {lines} lines]({}#{number})\n", self.sensory_link));
        self.sensory.push_str(&format!("## {number}\n{title}\n\n"));
        self.sensory.push_str(&fenced(language, output));
        if whole_bytes > output.len() + 64 {
            self.sensory.push_str(&format!("({whole_bytes} bytes in all; raw has them)\n"));
        }
        self.sensory.push('\n');
    }

    fn block(&mut self, label: &str, text: &str) {
        self.page.push_str(&format!("\n{label}\n{text}\n"));
    }

    fn line(&mut self, text: &str) {
        if !self.page.ends_with("\n\n") && !text.starts_with("- ") {
            self.page.push('\n');
        }
        self.page.push_str(text);
        self.page.push('\n');
    }
}

/// What a tool was asked, in a few words of Markdown.
pub fn described(call: &ToolCall) -> String {
    match &call.action {
        Action::Shell { command } => {
            code(&format!("$ {}", text::one_line(command, SHOWN_OF_COMMAND)))
        }
        Action::Edit { files, .. } if files.is_empty() => format!("edited ({})", tool(call)),
        Action::Edit { files, .. } => {
            let shown: Vec<String> = files.iter().take(8).map(|file| code(&file.path)).collect();
            format!("edited {}", shown.join(", "))
        }
        Action::Read { path } => format!("read {}", code(path)),
        Action::Search { query } => format!("searched {}", code(&text::one_line(query, 160))),
        Action::Delegate { task } => format!("handed to a subagent: {}", text::one_line(task, 200)),
        Action::Plan { text } => format!("planned: {}", text::one_line(text, 200)),
        Action::Ask { question } => format!("asked: {}", text::one_line(question, 200)),
        Action::Commit { hash, message } => {
            format!("committed {} {}", code(hash), code(&text::one_line(message, 160)))
        }
        Action::Other { input } if call.tool.is_empty() && input.is_empty() => "late answer".into(),
        Action::Other { input } => {
            format!("{} {}", code(&tool(call)), code(&text::one_line(input, 160)))
        }
    }
}

/// The message of a commit or a pull request, whole, where the line of its command cuts it.
fn long_message(command: &str) -> Option<String> {
    if command.chars().count() <= SHOWN_OF_COMMAND {
        return None;
    }
    let commit = messages::of_commit(command).map(|message| message.whole());
    let pull = messages::of_pull_request(command).map(|message| message.whole());
    let said: Vec<String> = commit.into_iter().chain(pull).collect();
    (!said.is_empty()).then(|| said.join("\n\n"))
}

fn tool(call: &ToolCall) -> String {
    text::one_line(&call.tool, 60)
}

fn indented(block: &str) -> String {
    block.lines().map(|line| format!("  {line}\n")).collect()
}

fn spaced(summary: &str) -> String {
    if summary.is_empty() { String::new() } else { format!(" ({summary})") }
}

/// Shortens a long output in the middle, at line ends: its beginning and its end say the most.
pub fn shortened(output: &str, most: usize) -> std::borrow::Cow<'_, str> {
    if output.len() <= most {
        return output.into();
    }
    let head = text::cut(output, most / 4 * 3);
    let head = &head[..head.rfind('\n').map_or(head.len(), |at| at + 1)];
    let mut from = output.len() - most / 4;
    while !output.is_char_boundary(from) {
        from += 1;
    }
    let tail = &output[from..];
    let tail = tail.find('\n').map_or(tail, |at| &tail[at + 1..]);
    format!("{head}\n[… {} bytes left out …]\n{tail}", output.len() - head.len() - tail.len())
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_outputs_keep_their_ends() {
        let output: String = (0..1000).map(|n| format!("line {n}\n")).collect();
        let short = shortened(&output, 400);
        assert!(
            short.len() < 500 && short.starts_with("line 0\n") && short.ends_with("line 999\n"),
            "{short}"
        );
        assert!(short.contains("bytes left out"));
        assert_eq!(shortened("short", 400), "short");
    }

    #[test]
    fn the_message_of_a_commit_stays_whole() {
        let body = "a line that says why, and for whom\n".repeat(12);
        let command = format!("git commit -m \"$(cat <<'EOF'\nlock first\n\n{body}EOF\n)\"");
        assert!(long_message(&command).unwrap().ends_with(body.trim_end()));
        assert_eq!(long_message("git commit -m 'lock first'"), None);
        assert_eq!(long_message(&format!("echo {body}")), None);
    }
}
