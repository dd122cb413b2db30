//! The memory tool (`memory_20250818`): an agent's own files, below `memories/`, by six commands.
//!
//! What is answered is what the tool's contract says, to the letter; so the texts here are not ours
//! to improve. What agents write there is the agents': it is redacted, searched and forgotten like
//! the rest, and never given as the person's words. Core and digests are shown beside it and cannot
//! be written to.

mod listing;
mod read_only;

use std::io;
use std::path::PathBuf;

use serde::Deserialize;

use crate::base::files;
use crate::base::text;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::memory_path::{MemoryPath, ROOT, Unfit};
use crate::store::authored;

/// How many lines a file may have that is shown.
const MOST_LINES: usize = 999_999;
/// The largest file, in bytes.
const LARGEST: usize = 1 << 20;
/// How many lines around a change are shown.
const AROUND: usize = 2;

/// A command, as a model sends it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum MemoryCommand {
    View {
        path: String,
        /// The first line and the last, from one; -1 is the end.
        #[serde(default)]
        view_range: Option<Vec<i64>>,
    },
    Create {
        path: String,
        file_text: String,
    },
    StrReplace {
        path: String,
        old_str: String,
        #[serde(default)]
        new_str: String,
    },
    Insert {
        path: String,
        /// Behind this line; 0 is the beginning.
        insert_line: i64,
        insert_text: String,
    },
    Delete {
        path: String,
    },
    Rename {
        old_path: String,
        new_path: String,
    },
}

impl Memory {
    /// Does what a command says; returns what the model is told. An error's first line is what the
    /// contract says, with nothing before or behind it.
    pub fn memories(&self, command: &MemoryCommand) -> Result<String> {
        match command {
            MemoryCommand::View { path, view_range } => self.view(path, view_range.as_deref()),
            MemoryCommand::Create { path, file_text } => self.create(path, file_text),
            MemoryCommand::StrReplace { path, old_str, new_str } => {
                self.str_replace(path, old_str, new_str)
            }
            MemoryCommand::Insert { path, insert_line, insert_text } => {
                self.insert(path, *insert_line, insert_text)
            }
            MemoryCommand::Delete { path } => self.delete(path),
            MemoryCommand::Rename { old_path, new_path } => self.rename(old_path, new_path),
        }
    }

    fn view(&self, path: &str, range: Option<&[i64]>) -> Result<String> {
        let at = parsed(path)?;
        if let Some(listed) = listing::of(self, path, &at)? {
            return Ok(listed);
        }
        let content = match read_only::is_below(&at) {
            true => read_only::page(self, &at).ok_or_else(|| Error::usage(missing(path)))?,
            false => self.own_text(path, &at)?,
        };
        let lines: Vec<&str> = content.split('\n').collect();
        if lines.len() > MOST_LINES {
            return refused(format!("File {path} exceeds maximum line limit of 999,999 lines."));
        }
        let (first, last) = match range {
            Some([first, last]) => {
                let first = usize::try_from(*first - 1).unwrap_or(0).min(lines.len());
                let last = usize::try_from(*last).unwrap_or(lines.len()).min(lines.len());
                (first, last.max(first))
            }
            _ => (0, lines.len()),
        };
        let shown = numbered(&lines, first, last);
        Ok(format!("Here's the content of {path} with line numbers:\n{shown}"))
    }

    fn create(&self, path: &str, file_text: &str) -> Result<String> {
        let (_lock, file) = self.new_place(path)?;
        if is_there(&file)? {
            return refused(format!("File {path} already exists"));
        }
        let content = self.fit(path, file_text)?;
        self.make_folder(path, &file)?;
        files::write_private(&file, content.as_bytes()).context(cannot(path))?;
        Ok(format!("File created successfully at: {path}"))
    }

    fn str_replace(&self, path: &str, old: &str, new: &str) -> Result<String> {
        let edited = self.edit(path, |content| {
            let found: Vec<usize> = places(content, old);
            match found[..] {
                [] => Err(format!(
                    "No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
                )),
                [at] => {
                    let line = content[..at].matches('\n').count();
                    Ok((content.replacen(old, new, 1), line))
                }
                _ => {
                    let line = |at: &usize| (content[..*at].matches('\n').count() + 1).to_string();
                    let lines: Vec<String> = found.iter().map(line).collect();
                    Err(format!(
                        "No replacement was performed. Multiple occurrences of old_str `{old}` in \
                         lines: {}. Please ensure it is unique",
                        lines.join(", ")
                    ))
                }
            }
        })?;
        let lines: Vec<&str> = edited.content.split('\n').collect();
        let last = (edited.line + AROUND + 1).min(lines.len());
        let shown = numbered(&lines, edited.line.saturating_sub(AROUND).min(last), last);
        Ok(format!(
            "The memory file has been edited. Here is the snippet showing the change (with line \
             numbers):\n{shown}"
        ))
    }

    fn insert(&self, path: &str, line: i64, added: &str) -> Result<String> {
        self.edit(path, |content| {
            let mut lines: Vec<&str> = content.split('\n').collect();
            lines.pop_if(|last| last.is_empty());
            let at = usize::try_from(line).ok().filter(|at| *at <= lines.len());
            let Some(at) = at else {
                return Err(format!(
                    "Invalid `insert_line` parameter: {line}. It should be within the range [0, {}].",
                    lines.len()
                ));
            };
            lines.insert(at, added.trim_end_matches('\n'));
            let joined = lines.join("\n");
            Ok((if joined.ends_with('\n') { joined } else { joined + "\n" }, at))
        })?;
        Ok(format!("The file {path} has been edited."))
    }

    fn delete(&self, path: &str) -> Result<String> {
        let at = parsed(path)?;
        if at.is_root() {
            return refused(format!("Cannot delete the {ROOT} directory itself"));
        }
        refuse_read_only(path, &at)?;
        let _lock = self.lock_memories()?;
        let file = self.layout().memories_file(&at);
        match files::symlink_metadata(&file) {
            Err(err) if files::is_link_error(&err) => return refused(THROUGH_LINK),
            Ok(found) if found.is_symlink() => return refused(THROUGH_LINK),
            Ok(found) if found.is_dir() => files::remove_folder(&file),
            Ok(_) if !at.is_hidden() => files::remove_file(&file),
            _ => return refused(format!("The path {path} does not exist")),
        }
        .context(cannot(path))?;
        Ok(format!("Successfully deleted {path}"))
    }

    fn rename(&self, old_path: &str, new_path: &str) -> Result<String> {
        let old = parsed(old_path)?;
        // An old name that is none is named before a new one.
        let new = parsed(new_path)?;
        if old.is_root() {
            return refused(format!("Cannot rename the {ROOT} directory itself"));
        }
        refuse_read_only(old_path, &old)?;
        let (_lock, to) = match new.is_root() {
            true => return refused(format!("The destination {new_path} already exists")),
            false => self.new_place(new_path)?,
        };
        let from = self.layout().memories_file(&old);
        if is_there(&to)? {
            return refused(format!("The destination {new_path} already exists"));
        }
        if old.is_hidden() || !is_there(&from)? {
            return refused(format!("The path {old_path} does not exist"));
        }
        if files::symlink_metadata(&from).is_ok_and(|found| found.is_symlink()) {
            return refused(THROUGH_LINK);
        }
        if new.names().starts_with(old.names()) {
            return refused(format!("The destination {new_path} is inside of {old_path}"));
        }
        self.make_folder(new_path, &to)?;
        files::rename(&from, &to).context(cannot(old_path))?;
        Ok(format!("Successfully renamed {old_path} to {new_path}"))
    }

    /// Changes a file that is there, and again where somebody saves it meanwhile. `change` returns
    /// the new text and the line of the change, or why there is none.
    fn edit(
        &self,
        path: &str,
        change: impl Fn(&str) -> std::result::Result<(String, usize), String>,
    ) -> Result<Edited> {
        let at = parsed(path)?;
        refuse_read_only(path, &at)?;
        let _lock = self.lock_memories()?;
        let before = self.own_text(path, &at)?;
        let file = self.layout().memories_file(&at);
        // Said before anything is written.
        let (after, line) = change(&before).map_err(Error::usage)?;
        let content = self.fit(path, &after)?;
        // A file without a letter counts as none there.
        let merge = |now: Option<&str>| match now.unwrap_or_default() {
            now if now == before => Some(content.clone()),
            now => change(now).ok().and_then(|(after, _)| self.fit(path, &after).ok()),
        };
        let changed = authored::replace(self.layout(), &file, merge).context(cannot(path))?;
        if !changed && content != before {
            return match files::is_file(&file) {
                true => {
                    refused(format!("The file {path} was changed meanwhile. Please view it again."))
                }
                false => refused(vanished(path)),
            };
        }
        Ok(Edited { content, line })
    }

    /// What a file of an agent's says.
    fn own_text(&self, path: &str, at: &MemoryPath) -> Result<String> {
        let file = self.layout().memories_file(at);
        let found = match files::symlink_metadata(&file) {
            Err(err) if files::is_link_error(&err) => return refused(THROUGH_LINK),
            // Nothing is below a file.
            Err(err) if is_missing(&err) => return refused(missing(path)),
            found => found.context(cannot(path))?,
        };
        if found.is_symlink() {
            return refused(THROUGH_LINK);
        }
        if at.is_hidden() {
            return refused(missing(path));
        }
        if found.is_dir() {
            return refused(format!("The path {path} is not a file."));
        }
        if !found.is_file() {
            return refused(format!("Unsupported file type for {path}"));
        }
        match files::read_to_string(&file) {
            Ok(content) => Ok(content),
            Err(err) if err.kind() == io::ErrorKind::NotFound => refused(vanished(path)),
            Err(err) if err.kind() == io::ErrorKind::InvalidData => {
                refused(format!("Unsupported file type for {path}"))
            }
            Err(err) => Err(err).context(cannot(path)),
        }
    }

    /// Where something new goes, and the lock under which it does.
    fn new_place(&self, path: &str) -> Result<(files::FileLock, PathBuf)> {
        let at = parsed(path)?;
        refuse_read_only(path, &at)?;
        if at.is_root() {
            return refused(format!("File {path} already exists"));
        }
        let has_secret = self.redactor()?.redact(path) != path;
        if !at.is_fit_for_new() || has_secret {
            return refused(format!(
                "The path {path} cannot be used: names have letters, digits, spaces, `.`, `_` and \
                 `-`, and do not begin with `.` or `-`."
            ));
        }
        Ok((self.lock_memories()?, self.layout().memories_file(&at)))
    }

    /// Text as it is kept: without secrets, and no more than a file may hold.
    fn fit(&self, path: &str, content: &str) -> Result<String> {
        if content.len() > LARGEST {
            return refused(format!("File {path} would be larger than 1 MB."));
        }
        Ok(self.redactor()?.redact(&content.replace('\0', "")).into_owned())
    }

    fn make_folder(&self, path: &str, file: &std::path::Path) -> Result<()> {
        let folder = file.parent().unwrap_or(file);
        let is_file = |err: &io::Error| {
            matches!(err.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists)
        };
        match files::create_private_dir(folder) {
            Err(err) if files::is_link_error(&err) => refused(THROUGH_LINK),
            Err(err) if is_file(&err) => {
                refused(format!("The path {path} is below a file, which is not a directory."))
            }
            made => made.context(|| self.store().cannot_write()),
        }
    }

    fn lock_memories(&self) -> Result<files::FileLock> {
        self.store().refuse_links(None)?;
        files::lock_exclusive(&self.layout().memories_lock())
            .context(|| self.store().cannot_write())
    }
}

/// A file after a change.
struct Edited {
    content: String,
    line: usize,
}

const THROUGH_LINK: &str = "Path would escape /memories directory via symlink";

/// An error that says just this.
fn refused<T>(text: impl Into<String>) -> Result<T> {
    Err(Error::usage(text))
}

fn parsed(path: &str) -> Result<MemoryPath> {
    MemoryPath::parse(path).map_err(|unfit| {
        Error::usage(match unfit {
            Unfit::Elsewhere => format!("Path must start with {ROOT}, got: {path}"),
            Unfit::Escapes => format!("Path {path} would escape {ROOT} directory"),
        })
    })
}

fn refuse_read_only(path: &str, at: &MemoryPath) -> Result<()> {
    match read_only::is_below(at) {
        true => refused(format!("The path {path} is read-only.")),
        false => Ok(()),
    }
}

fn missing(path: &str) -> String {
    format!("The path {path} does not exist. Please provide a valid path.")
}

fn is_missing(err: &io::Error) -> bool {
    matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn vanished(path: &str) -> String {
    format!("The file {path} no longer exists (may have been deleted or renamed concurrently).")
}

fn cannot(path: &str) -> impl Fn() -> String {
    let path = text::one_line(path, 200);
    move || format!("cannot use {path}")
}

/// Whether something has this name; behind a link nothing has.
fn is_there(file: &std::path::Path) -> Result<bool> {
    match files::symlink_metadata(file) {
        Err(err) if files::is_link_error(&err) => refused(THROUGH_LINK),
        found => Ok(found.is_ok()),
    }
}

/// Where a text begins in another, also where two overlap.
fn places(content: &str, sought: &str) -> Vec<usize> {
    let (mut found, mut from) = (Vec::new(), 0);
    // An empty text stands everywhere, which is nowhere in particular.
    while let Some(at) = content[from..].find(sought).filter(|_| !sought.is_empty()) {
        found.push(from + at);
        let step = content[from + at..].chars().next().map_or(1, char::len_utf8);
        from += at + step;
    }
    found
}

/// Lines with their numbers, which begin at one, without letters that hide or turn text around.
fn numbered(lines: &[&str], first: usize, last: usize) -> String {
    let line = |at: usize| {
        // The end of a line as Windows writes it is no hidden letter.
        let (said, end) = match lines[at].strip_suffix('\r') {
            Some(said) => (said, "\r"),
            None => (lines[at], ""),
        };
        format!("{:>6}\t{}{end}", at + 1, text::printable(said))
    };
    (first..last).map(line).collect::<Vec<_>>().join("\n")
}
