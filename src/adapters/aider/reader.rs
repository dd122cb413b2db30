//! Reads one run of Aider into events: whose each line is, and what its lines say.

use std::path::Path;

use super::edits::requested_edits;
use super::{BLANKS, ORIGIN, ORIGIN_END, PROMPT, STATUS, started};
use crate::adapters::transcript::{Tokens, Transcript};
use crate::adapters::wire::Content;
use crate::base::clock::Timestamp;
use crate::base::text;
use crate::error::Result;
use crate::model::session::{Action, FileChange, Position};

/// The longest text that is kept of an edit.
const LONGEST_TEXT: usize = 16_000;

/// Whose lines are being gathered.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Voice {
    #[default]
    Nobody,
    Person,
    Program,
    Model,
}

/// Reads one run.
#[derive(Default)]
pub struct Reader {
    file: u32,
    /// Whether the program's and the person's lines end with two blanks, unlike the model's.
    marked: bool,
    at: Option<Timestamp>,
    voice: Voice,
    /// The lines of one voice, and where they begin.
    text: String,
    line: u64,
    /// Whether the lines are within a block of code, where marks mean nothing.
    fenced: bool,
    after_blank: bool,
    model: Option<String>,
    /// The edits that the model's last answer asks for, by file.
    edits: Vec<(String, String)>,
    /// A command of the person's whose output is coming.
    command: Option<String>,
    calls: u64,
}

impl Reader {
    /// Begins to read a file.
    pub fn new(file: usize, marked: bool) -> Reader {
        Reader { file: file as u32, marked, after_blank: true, ..Reader::default() }
    }

    /// Takes the next line.
    pub fn line(&mut self, line: &str, number: u64, out: &mut Transcript) -> Result<()> {
        if let Some(path) = line.strip_prefix(ORIGIN).and_then(|line| line.strip_suffix(ORIGIN_END))
        {
            out.head.cwd =
                Path::new(path).parent().map(|folder| folder.to_string_lossy().into_owned());
            return Ok(());
        }
        if let Some(began) = started(line.as_bytes()) {
            self.at = Some(began);
            self.after_blank = true;
            return Ok(());
        }
        let voice = self.voice_of(line);
        if voice != self.voice && voice != Voice::Nobody {
            self.end(out)?;
            self.voice = voice;
            self.line = number;
        }
        self.after_blank = line.trim().is_empty();
        match voice {
            Voice::Person => self.add(line.strip_prefix(PROMPT).unwrap_or("").trim_end()),
            Voice::Program => self.add(line.strip_prefix(STATUS).unwrap_or("").trim_end()),
            Voice::Model => self.add(line),
            // A blank line ends what the person or the program said, and belongs to what the model
            // says.
            Voice::Nobody if self.voice == Voice::Model => self.add(""),
            Voice::Nobody if self.voice == Voice::Person => self.end(out)?,
            Voice::Nobody => {}
        }
        if voice == Voice::Model && line.trim_start().starts_with("```") {
            self.fenced = !self.fenced;
        }
        Ok(())
    }

    /// Whose line it is; a blank one is nobody's.
    fn voice_of(&self, line: &str) -> Voice {
        if line.trim().is_empty() {
            return Voice::Nobody;
        }
        let is_prompt = line.starts_with(PROMPT);
        if !is_prompt && !line.starts_with(STATUS) {
            return Voice::Model;
        }
        let theirs = if self.marked {
            line.ends_with(BLANKS)
        } else if is_prompt {
            // A heading of the model's stands amid its text; a prompt after all that was said
            // before.
            !self.fenced
                && (self.voice == Voice::Person || (self.after_blank && self.voice != Voice::Model))
        } else {
            !self.fenced && (self.voice == Voice::Program || self.after_blank)
        };
        match (theirs, is_prompt) {
            (false, _) => Voice::Model,
            (true, true) => Voice::Person,
            (true, false) => Voice::Program,
        }
    }

    fn add(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
    }

    /// Says what the lines of one voice make up.
    pub fn end(&mut self, out: &mut Transcript) -> Result<()> {
        let text = std::mem::take(&mut self.text);
        let voice = std::mem::replace(&mut self.voice, Voice::Nobody);
        self.fenced = false;
        if voice == Voice::Nobody {
            return Ok(());
        }
        out.head.records += 1;
        out.go_to(Position { file: self.file, line: self.line });
        out.context.at = self.at;
        match voice {
            Voice::Person => self.person(text.trim(), out),
            Voice::Program => self.program(&text, out),
            _ => {
                self.edits = requested_edits(&text);
                match text.trim() {
                    "" => Ok(()),
                    reply => {
                        out.reply(reply.into())?;
                        out.completion()
                    }
                }
            }
        }
    }

    fn person(&mut self, typed: &str, out: &mut Transcript) -> Result<()> {
        // `/ask`, `/code` and the like only say how the words after them are meant.
        let (command, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
        match command {
            "" | "<blank>" => Ok(()),
            "/ask" | "/code" | "/architect" | "/context" | "/chat-mode"
                if !rest.trim().is_empty() =>
            {
                out.prompt(rest)
            }
            "/git" => self.run(&format!("git {rest}"), out),
            "/run" | "/test" | "/lint" => self.run(rest, out),
            shell if shell.starts_with('!') => self.run(&typed[1..], out),
            command if command.starts_with('/') && !command[1..].contains('/') => {
                out.lifecycle(typed)
            }
            _ => out.prompt(typed),
        }
    }

    /// What the person runs is theirs.
    fn run(&mut self, command: &str, out: &mut Transcript) -> Result<()> {
        let id = self.next_id("run");
        out.own_command(id.as_str().into(), command)?;
        self.command = Some(id);
        Ok(())
    }

    fn program(&mut self, text: &str, out: &mut Transcript) -> Result<()> {
        let mut rest = Vec::new();
        for line in text.lines() {
            if !self.status(line, out)? {
                rest.push(line);
            }
        }
        let rest = rest.join("\n");
        if let Some(id) = self.command.take() {
            return result(id, &rest, false, out);
        }
        if rest.contains("KeyboardInterrupt") || rest.contains("^C again to exit") {
            return out.intervention("interrupted");
        }
        for line in rest.lines().filter(|line| !line.trim().is_empty()) {
            const FAULTS: &[&str] = &["litellm.", "Error", "The API provider", "Traceback"];
            if FAULTS.iter().any(|start| line.starts_with(start)) {
                out.lifecycle(line)?;
            } else {
                out.ignore("the program's own words")?;
            }
        }
        Ok(())
    }

    /// Takes a line of the program's that says something we know.
    fn status(&mut self, line: &str, out: &mut Transcript) -> Result<bool> {
        let after = |starts: &[&str]| starts.iter().find_map(|start| line.strip_prefix(start));
        if let Some(version) = line.strip_prefix("Aider v") {
            out.head.version = Some(version.trim().to_string());
        } else if let Some(model) = after(&["Main model: ", "Model: "]) {
            self.model = model.split(" with ").next().map(|model| model.trim().to_string());
        } else if let Some(used) = line.strip_prefix("Tokens: ") {
            out.count(self.model.as_deref().unwrap_or("unknown"), tokens(used));
        } else if let Some((hash, message)) =
            line.strip_prefix("Commit ").and_then(|commit| commit.split_once(' '))
        {
            let (hash, message) = (hash.to_string(), message.trim().to_string());
            let id = self.apply("commit", Action::Commit { hash, message }, out)?;
            result(id, line, false, out)?;
        } else if let Some(path) = after(&["Applied edit to ", "Creating empty file "]) {
            self.edited(path, line, false, out)?;
        } else if let Some(path) = after(&["Did not apply edit to ", "Skipping edits to "]) {
            self.edited(path, line, true, out)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn edited(&mut self, path: &str, line: &str, failed: bool, out: &mut Transcript) -> Result<()> {
        let path = path.split(" (").next().unwrap_or(path).trim().to_string();
        let at = self.edits.iter().position(|(file, _)| *file == path);
        let text = at.map(|at| self.edits.remove(at).1).unwrap_or_default();
        let text = text::cut(&text, LONGEST_TEXT).to_string();
        let action = Action::Edit { files: vec![FileChange::of(path)], text };
        let id = self.apply("edit", action, out)?;
        result(id, line, failed, out)
    }

    /// The program does what the model asked for in its text; the model has no tools.
    fn apply(&mut self, tool: &str, action: Action, out: &mut Transcript) -> Result<String> {
        let id = self.next_id(tool);
        out.apply(id.as_str().into(), tool.into(), action)?;
        Ok(id)
    }

    fn next_id(&mut self, tool: &str) -> String {
        self.calls += 1;
        format!("{tool}-{}", self.calls)
    }
}

fn result(id: String, text: &str, failed: bool, out: &mut Transcript) -> Result<()> {
    out.result(id.into(), Content { text: text.into(), images: 0 }, failed, None)
}

/// `5.1k sent, 2k cache hit, 300 received. Cost: $0.01 message, $0.05 session.`
fn tokens(line: &str) -> Tokens {
    let (tokens, cost) = line.split_once(". Cost: ").unwrap_or((line, ""));
    let mut used = Tokens::default();
    for part in tokens.split(", ") {
        let Some((count, what)) = part.trim().split_once(' ') else { continue };
        let count = tokens_in(count);
        match what.trim_end_matches('.') {
            "sent" => used.input += count,
            "received" => used.output += count,
            "cache hit" => used.cache_read += count,
            "cache write" => used.cache_write += count,
            _ => {}
        }
    }
    let message = cost.split(" message").next().and_then(|cost| cost.trim().strip_prefix('$'));
    used.cost_usd = message.and_then(|cost| cost.replace(',', "").parse().ok());
    used
}

/// A count as the program rounds it: `950`, `5.1k`, `1.2M`.
fn tokens_in(text: &str) -> u64 {
    let (number, unit) = match text.as_bytes().last() {
        Some(b'k') => (&text[..text.len() - 1], 1e3),
        Some(b'M') => (&text[..text.len() - 1], 1e6),
        _ => (text, 1.0),
    };
    number.replace(',', "").parse::<f64>().map_or(0, |count| (count * unit).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_rounded() {
        assert_eq!(
            ["950", "5.1k", "1.2M", "12,345", "?"].map(tokens_in),
            [950, 5100, 1_200_000, 12_345, 0]
        );
    }
}
