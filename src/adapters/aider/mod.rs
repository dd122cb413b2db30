//! Aider: `.aider.chat.history.md` in the folder of a repository, one file for all its runs (seen
//! in fixtures only). Each `# aider chat started at …` begins a run, and each run is a session.
//!
//! A line that begins with `#### ` is the person's, one with `> ` the program's, all else the
//! model's. The program ends its own lines and the person's with two blanks, which the same marks
//! in the model's text do not have; where an editor took the blanks away, what stands around a line
//! has to show whose it is. Times are local and without a zone: they are taken as UTC. Only the
//! run's beginning has one.

use std::io;
use std::path::{Path, PathBuf};

use super::jsonl::{self, Line, Lines};
use super::shared::{self, Shared};
use super::transcript::Transcript;
use super::{Adapter, Identity, Places};
use crate::base::clock::{self, Timestamp};
use crate::error::{Context, Result};
use crate::model::session::{EventSink, Head, Log};

mod edits;
mod history;
mod reader;

/// Aider.
pub struct Aider;

impl Adapter for Aider {
    fn name(&self) -> &'static str {
        "aider"
    }

    /// Histories lie in repositories, wherever these are: only those that somebody names are looked
    /// for.
    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        places.variable("AIDER_CHAT_HISTORY_FILE").map(PathBuf::from).into_iter().collect()
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
        Ok(Some(Box::new(history::History::open(file)?)))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        let mut out = Transcript::new(log, events);
        for file in out.main_files() {
            let path = &log.files[file].path;
            let cannot_read = || format!("cannot read the log `{}`", path.display());
            let mut reader = reader::Reader::new(file, is_marked(path).context(cannot_read)?);
            let mut lines = Lines::open(path).context(cannot_read)?;
            while let Some((number, line)) = lines.next().context(cannot_read)? {
                match line {
                    Line::Bytes { bytes, .. } => {
                        reader.line(&String::from_utf8_lossy(bytes), number, &mut out)?
                    }
                    Line::TooLong => out.skip(file, number, jsonl::TOO_LONG),
                }
            }
            reader.end(&mut out)?;
        }
        Ok(out.head)
    }
}

const STARTED: &str = "# aider chat started at ";
/// The first line of an extract: where the history lies.
const ORIGIN: &str = "<!-- aider: ";
const ORIGIN_END: &str = " -->";
const PROMPT: &str = "#### ";
const STATUS: &str = "> ";
const BLANKS: &str = "  ";

/// When a run began, out of its first line.
fn started(line: &[u8]) -> Option<Timestamp> {
    clock::parse(String::from_utf8_lossy(line.strip_prefix(STARTED.as_bytes())?).trim())
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
