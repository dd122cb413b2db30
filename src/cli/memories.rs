//! `memtree memories`: the memory tool's commands on stdin, one answer each on stdout.

use std::io::{BufRead, Read};

use serde_json::json;

use super::{App, output};
use crate::base::text;
use crate::error::{Context, Result};
use crate::ops::memories::MemoryCommand;

/// How long one command may be, in bytes.
const LONGEST: usize = 4 << 20;

/// Answer the memory tool of Claude's API: view, create, str_replace, insert, delete, rename
///
/// Each line of stdin is a command as the model sends it: {"command":"view","path":"/memories"}.
/// Each gets one line of JSON: {"content":"…","is_error":false}, in the words of the tool's
/// contract (memory_20250818). The files are those of memories/ in the memory: agents write them,
/// so they never count as your words; secrets are taken out, search finds them. /memories/core and
/// /memories/digests show the rest of the memory and cannot be written to. The exit code is 1 where
/// a command failed.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_: Args, app: &App) -> Result<u8> {
    let memory = app.memory()?;
    let mut failed = false;
    let mut input = std::io::stdin().lock();
    let mut said = Vec::new();
    loop {
        let limit = (LONGEST - said.len()) as u64;
        let read = input.by_ref().take(limit).read_until(b'\n', &mut said);
        let is_end = read.context(|| "cannot read the commands".into())? == 0;
        let text = String::from_utf8_lossy(&said);
        // Some shells put a mark before what they pipe.
        let text = text.trim_start_matches('\u{feff}');
        let answer = match serde_json::from_str::<MemoryCommand>(text) {
            _ if text.trim().is_empty() => None,
            // A command may stand on several lines.
            Err(err) if err.is_eof() && !is_end && said.len() < LONGEST => continue,
            Err(_) if said.len() >= LONGEST => {
                skip_line(&mut input).context(|| "cannot read the commands".into())?;
                Some(Err(format!("this is no command: it has more than {LONGEST} bytes")))
            }
            Err(err) => Some(Err(no_command(&err))),
            Ok(command) => Some(memory.memories(&command).map_err(|error| error.to_string())),
        };
        said.clear();
        if let Some(answer) = answer {
            let is_error = answer.is_err();
            failed |= is_error;
            let content = answer.unwrap_or_else(|wrong| wrong);
            let line = json!({"content": content, "is_error": is_error});
            output::print_raw(&format!("{line}\n"));
        }
        if is_end {
            return Ok(failed.into());
        }
    }
}

/// Reads to the end of a line that is too long to be kept.
fn skip_line(input: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let read = input.fill_buf()?;
        let end = read.iter().position(|byte| *byte == b'\n');
        let (used, is_end) =
            (end.map_or(read.len(), |at| at + 1), end.is_some() || read.is_empty());
        input.consume(used);
        if is_end {
            return Ok(());
        }
    }
}

fn no_command(err: &serde_json::Error) -> String {
    format!("this is no command: {}", text::one_line(&err.to_string(), 200))
}
