//! Aider: `.aider.chat.history.md` in the folder of a repository, one file for all its runs (seen
//! in fixtures only). Each `# aider chat started at …` begins a run, and each run is a session.
//!
//! A line that begins with `#### ` is the person's, one with `> ` the program's, all else the
//! model's. The program ends its own lines and the person's with two blanks, which tells them from
//! the same marks in the model's text; where an editor took the blanks away, what stands around a
//! line has to tell. Times are local and without a zone: they are taken as UTC. Only the run's
//! beginning has one.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::jsonl::{self, Line, Lines};
use super::shared::{self, Shared, SharedSession};
use super::{Adapter, Identity, Places};
use crate::base::clock::{self, Timestamp};
use crate::base::files::{self, HashingWriter};
use crate::base::text;
use crate::error::{Context, Result};
use crate::model::session::{
    Action, Call, CallResult, Event, EventKind, EventSink, FileChange, Head, Log, Position, Role,
};

/// Aider.
pub struct Aider;

impl Adapter for Aider {
    fn name(&self) -> &'static str {
        "aider"
    }

    /// Histories lie in repositories, wherever these are: only those that somebody names are looked
    /// for.
    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let named =
            places.environment.get("AIDER_CHAT_HISTORY_FILE").filter(|path| !path.is_empty());
        named.map(PathBuf::from).into_iter().collect()
    }

    fn identify(&self, _: &Path) -> io::Result<Option<Identity>> {
        Ok(None)
    }

    fn share(&self, file: &Path) -> io::Result<Option<Box<dyn Shared>>> {
        if file.extension().is_none_or(|extension| extension != "md") {
            return Ok(None);
        }
        let beginning = shared::first_bytes(file, 4096)?;
        let first =
            beginning.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
        if first.and_then(started).is_none() {
            return Ok(None);
        }
        Ok(Some(Box::new(History { path: file.to_path_buf(), runs: runs(file)? })))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut head = Head::default();
        for (at, file) in log.files.iter().enumerate().filter(|(_, file)| file.role == Role::Main) {
            let cannot_read = || format!("cannot read the log `{}`", file.path.display());
            let marked = is_marked(&file.path).context(cannot_read)?;
            let mut reader = Reader::new(at, marked, &mut head, &mut *events);
            let mut lines = Lines::open(&file.path).context(cannot_read)?;
            while let Some((number, line)) = lines.next().context(cannot_read)? {
                match line {
                    Line::Bytes { bytes, .. } => {
                        reader.line(&String::from_utf8_lossy(bytes), number)?
                    }
                    Line::TooLong => reader.too_long(&file.path, number),
                }
            }
            reader.end()?;
        }
        Ok(head)
    }
}

const STARTED: &str = "# aider chat started at ";
/// The first line of an extract: where the history lies.
const ORIGIN: &str = "<!-- aider: ";
const ORIGIN_END: &str = " -->";

/// When a run began, out of its first line.
fn started(line: &[u8]) -> Option<Timestamp> {
    clock::parse(String::from_utf8_lossy(line.strip_prefix(STARTED.as_bytes())?).trim())
}

/// A history with all its runs.
struct History {
    path: PathBuf,
    runs: Vec<Run>,
}

/// One run, and where its lines are.
struct Run {
    native_id: String,
    start: u64,
    end: u64,
}

fn runs(path: &Path) -> io::Result<Vec<Run>> {
    let position = &files::sha256_hex(path.to_string_lossy().as_bytes())[..8];
    let mut runs: Vec<Run> = Vec::new();
    let mut taken: HashMap<String, u32> = HashMap::new();
    let mut lines =
        LineStarts { reader: io::BufReader::with_capacity(64 << 10, File::open(path)?), end: 0 };
    while let Some((start, beginning)) = lines.next(STARTED.len() + 30)? {
        if let Some(began) = started(&beginning) {
            let mut native_id = format!("{position}-{}", began.format("%Y%m%dT%H%M%S"));
            let count = taken.entry(native_id.clone()).or_default();
            *count += 1;
            if *count > 1 {
                native_id = format!("{native_id}-{count}");
            }
            runs.push(Run { native_id, start, end: start });
        }
        if let Some(run) = runs.last_mut() {
            run.end = lines.end;
        }
    }
    Ok(runs)
}

impl History {
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(run.start))?;
        writeln!(
            out,
            "{ORIGIN}{}{ORIGIN_END}",
            self.path.to_string_lossy().replace(['\n', '\r'], " ")
        )?;
        io::copy(&mut file.take(run.end - run.start), out).map(|_| ())
    }
}

impl Shared for History {
    fn sessions(&mut self) -> io::Result<Vec<SharedSession>> {
        let mut sessions = Vec::new();
        for run in &self.runs {
            let mut hasher = HashingWriter::new(io::sink());
            self.write(run, &mut hasher)?;
            let revision = hasher.finish().1.sha256[..16].to_string();
            let native_id = run.native_id.clone();
            sessions.push(SharedSession { native_id, revision, role: Role::Main, lineage: None });
        }
        Ok(sessions)
    }

    fn extract(&mut self, native_id: &str, out: &mut dyn Write) -> io::Result<()> {
        let run = self.runs.iter().find(|run| run.native_id == native_id);
        let run = run.ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, "the run is not in the history any more")
        })?;
        self.write(run, out)
    }
}

/// Finds where lines begin, without holding more than their beginnings.
struct LineStarts {
    reader: io::BufReader<File>,
    end: u64,
}

impl LineStarts {
    /// Where the next line begins, and at most so many bytes of it.
    fn next(&mut self, most: usize) -> io::Result<Option<(u64, Vec<u8>)>> {
        use io::BufRead;
        let (start, mut beginning) = (self.end, Vec::new());
        loop {
            let bytes = self.reader.fill_buf()?;
            if bytes.is_empty() {
                return Ok((self.end > start).then_some((start, beginning)));
            }
            let (line, ends) = match memchr::memchr(b'\n', bytes) {
                Some(at) => (&bytes[..at], true),
                None => (bytes, false),
            };
            let room = most.saturating_sub(beginning.len());
            beginning.extend_from_slice(&line[..line.len().min(room)]);
            let used = line.len() + usize::from(ends);
            self.reader.consume(used);
            self.end += used as u64;
            if ends {
                return Ok(Some((start, beginning)));
            }
        }
    }
}

/// Whether the person's lines still end with two blanks, as the program writes them.
fn is_marked(path: &Path) -> io::Result<bool> {
    let mut lines = Lines::open(path)?;
    while let Some((_, line)) = lines.next()? {
        if let Line::Bytes { bytes, .. } = line
            && (bytes.starts_with(PROMPT.as_bytes()) || bytes.starts_with(STATUS.as_bytes()))
            && bytes.ends_with(BLANKS.as_bytes())
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The longest text that is kept of an edit.
const LONGEST_TEXT: usize = 16_000;
const PROMPT: &str = "#### ";
const STATUS: &str = "> ";
const BLANKS: &str = "  ";

/// Whose lines are being gathered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Voice {
    Nobody,
    Person,
    Program,
    Model,
}

/// Reads one run.
struct Reader<'h, 's> {
    file: u32,
    /// Whether two blanks tell the program's and the person's lines from the model's.
    marked: bool,
    head: &'h mut Head,
    events: &'s mut dyn EventSink,
    at: Option<Timestamp>,
    voice: Voice,
    /// The lines of one voice, and where they begin.
    text: String,
    line: u64,
    /// Whether the lines are within a block of code, where marks mean nothing.
    fenced: bool,
    after_blank: bool,
    model: Option<String>,
    /// The changes that the model's last answer asks for, by file.
    changes: Vec<(String, String)>,
    /// A command of the person's whose output is coming.
    command: Option<String>,
    calls: u64,
}

impl<'h, 's> Reader<'h, 's> {
    fn new(file: usize, marked: bool, head: &'h mut Head, events: &'s mut dyn EventSink) -> Self {
        Reader {
            file: file as u32,
            marked,
            head,
            events,
            at: None,
            voice: Voice::Nobody,
            text: String::new(),
            line: 0,
            fenced: false,
            after_blank: true,
            model: None,
            changes: Vec::new(),
            command: None,
            calls: 0,
        }
    }

    fn line(&mut self, line: &str, number: u64) -> Result<()> {
        if let Some(path) = line.strip_prefix(ORIGIN).and_then(|line| line.strip_suffix(ORIGIN_END))
        {
            self.head.cwd =
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
            self.end()?;
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
            Voice::Nobody if self.voice == Voice::Person => self.end()?,
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

    /// Tells what was gathered.
    fn end(&mut self) -> Result<()> {
        let text = std::mem::take(&mut self.text);
        let (voice, position) = (self.voice, Position { file: self.file, line: self.line });
        self.voice = Voice::Nobody;
        self.fenced = false;
        if voice != Voice::Nobody {
            self.head.records += 1;
        }
        match voice {
            Voice::Nobody => Ok(()),
            Voice::Person => self.person(text.trim(), position),
            Voice::Model => {
                self.changes = changes(&text);
                match text.trim() {
                    "" => Ok(()),
                    said => {
                        self.emit(position, EventKind::Reply(said.into()))?;
                        self.emit(position, EventKind::Completion)
                    }
                }
            }
            Voice::Program => self.program(&text, position),
        }
    }

    fn person(&mut self, said: &str, position: Position) -> Result<()> {
        // `/ask`, `/code` and the like only say how the words after them are meant.
        let (command, rest) = said.split_once(char::is_whitespace).unwrap_or((said, ""));
        match command {
            "" | "<blank>" => Ok(()),
            "/ask" | "/code" | "/architect" | "/context" | "/chat-mode"
                if !rest.trim().is_empty() =>
            {
                self.emit(position, EventKind::Prompt(rest.trim().into()))
            }
            "/run" | "/test" | "/git" | "/lint" => {
                let command =
                    if command == "/git" { format!("git {rest}") } else { rest.to_string() };
                self.run(command.trim(), position)
            }
            shell if shell.starts_with('!') => self.run(said[1..].trim(), position),
            command if command.starts_with('/') && !command[1..].contains('/') => {
                self.emit(position, EventKind::Lifecycle(said.into()))
            }
            _ => self.emit(position, EventKind::Prompt(said.into())),
        }
    }

    fn run(&mut self, command: &str, position: Position) -> Result<()> {
        let id = self.call("run", Action::Shell { command: command.into() }, position)?;
        self.command = Some(id);
        Ok(())
    }

    fn program(&mut self, text: &str, position: Position) -> Result<()> {
        let mut rest = Vec::new();
        for line in text.lines() {
            if !self.status(line, position)? {
                rest.push(line);
            }
        }
        let rest = rest.join("\n");
        if let Some(id) = self.command.take() {
            return self.result(id, &rest, false, position);
        }
        let interrupted = rest.contains("KeyboardInterrupt") || rest.contains("^C again to exit");
        if interrupted {
            return self.emit(position, EventKind::Intervention("interrupted".into()));
        }
        for line in rest.lines().filter(|line| !line.trim().is_empty()) {
            if ["litellm.", "Error", "The API provider", "Traceback"]
                .iter()
                .any(|start| line.starts_with(start))
            {
                self.emit(position, EventKind::Lifecycle(line.to_string().into()))?;
            } else {
                jsonl::ignore(self.head, "the program's own words");
            }
        }
        Ok(())
    }

    /// Takes a line of the program's that says something we know.
    fn status(&mut self, line: &str, position: Position) -> Result<bool> {
        if let Some(version) = line.strip_prefix("Aider v") {
            self.head.version = Some(version.trim().to_string());
        } else if let Some(model) =
            ["Main model: ", "Model: "].iter().find_map(|start| line.strip_prefix(start))
        {
            self.model = model.split(" with ").next().map(|model| model.trim().to_string());
        } else if let Some(used) = line.strip_prefix("Tokens: ") {
            self.usage(used);
        } else if let Some((hash, message)) =
            line.strip_prefix("Commit ").and_then(|commit| commit.split_once(' '))
        {
            // Said as git says it.
            let command = format!("git commit -m {}", serde_json::Value::from(message));
            let id = self.call("commit", Action::Shell { command }, position)?;
            self.result(id, &format!("[aider {hash}] {message}"), false, position)?;
        } else if let Some(path) = ["Applied edit to ", "Creating empty file "]
            .iter()
            .find_map(|start| line.strip_prefix(start))
        {
            self.edited(path, line, false, position)?;
        } else if let Some(path) = ["Did not apply edit to ", "Skipping edits to "]
            .iter()
            .find_map(|start| line.strip_prefix(start))
        {
            self.edited(path, line, true, position)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn edited(&mut self, path: &str, line: &str, failed: bool, position: Position) -> Result<()> {
        let path = path.split(" (").next().unwrap_or(path).trim().to_string();
        let at = self.changes.iter().position(|(file, _)| *file == path);
        let text = at.map(|at| self.changes.remove(at).1).unwrap_or_default();
        let text = text::cut(&text, LONGEST_TEXT).to_string();
        let id =
            self.call("edit", Action::Edit { files: vec![FileChange::of(path)], text }, position)?;
        self.result(id, line, failed, position)
    }

    /// `5.1k sent, 2k cache hit, 300 received. Cost: $0.01 message, $0.05 session.`
    fn usage(&mut self, line: &str) {
        let (tokens, cost) = line.split_once(". Cost: ").unwrap_or((line, ""));
        let used = jsonl::usage(self.head, self.model.as_deref().unwrap_or("unknown"));
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
        if let Some(cost) = message.and_then(|cost| cost.replace(',', "").parse::<f64>().ok()) {
            *used.cost_usd.get_or_insert(0.0) += cost;
        }
    }

    fn call(&mut self, tool: &str, action: Action, position: Position) -> Result<String> {
        self.calls += 1;
        let id = format!("{tool}-{}", self.calls);
        let call = Call { id: id.clone().into(), tool: tool.to_string().into(), action };
        self.emit(position, EventKind::Call(call))?;
        Ok(id)
    }

    fn result(&mut self, id: String, text: &str, failed: bool, position: Position) -> Result<()> {
        let answer = CallResult {
            id: id.into(),
            text: text.to_string().into(),
            failed,
            exit_code: None,
            images: 0,
            ..CallResult::default()
        };
        self.emit(position, EventKind::Result(answer))
    }

    fn too_long(&mut self, path: &Path, number: u64) {
        jsonl::skip(self.head, path, number, "a line longer than 32 MB".into());
    }

    fn emit(&mut self, position: Position, kind: EventKind<'_>) -> Result<()> {
        self.events.event(Event { at: self.at, position, agent: None, inherited: false, kind })
    }
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

/// The changes that an answer asks for: the file named before each block, and what is taken out and
/// put in.
fn changes(answer: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let (mut named, mut change, mut mark) = (String::new(), None::<String>, "- ");
    for line in answer.lines() {
        match (&mut change, line.trim_end()) {
            (None, "<<<<<<< SEARCH") => (change, mark) = (Some(String::new()), "- "),
            (None, line) if !line.trim().is_empty() && !line.starts_with("```") => {
                named = line.trim().to_string()
            }
            (None, _) => {}
            (Some(_), "=======") => mark = "+ ",
            (Some(text), ">>>>>>> REPLACE") => {
                match found.iter_mut().find(|(file, _)| *file == named) {
                    Some((_, before)) => before.push_str(text),
                    None => found.push((named.clone(), std::mem::take(text))),
                }
                change = None;
            }
            (Some(text), line) => {
                text.push_str(mark);
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    found
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

    #[test]
    fn an_answer_names_the_files_that_it_changes() {
        let answer = "Here:\n\nsrc/a.py\n```python\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n```\n\nDone.";
        assert_eq!(changes(answer), [("src/a.py".to_string(), "- x = 1\n+ x = 2\n".to_string())]);
        assert_eq!(changes("No change.\n<<<<<<< SEARCH\ntorn"), []);
    }
}
