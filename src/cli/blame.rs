//! `memtree blame`

use std::path::PathBuf;

use super::{App, output};
use crate::error::Result;
use crate::ops::blame::{BlameReport, BlameRequest, FileBlame, LineBlame};

/// Say what stands behind a line of the memory, or which sessions touched a source file
///
/// core/MEMORY.md:12 leads from the line to its core, its digests, their episodes and the raw bytes
/// that hold the evidence; a line of a core or of a digest does the same, a line of any other page
/// leads to the sessions that it names, and without a line every line is shown. Any other file is a source file: the sessions that changed it, newest first, with
/// the triggers that name it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file of the memory, a line of it, or a source file
    #[arg(value_name = "FILE[:LINE]")]
    what: PathBuf,
    /// At most this many results
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let report = app.memory()?.blame(BlameRequest::of(&args.what))?;
    if app.json {
        output::json(&report);
        return Ok(0);
    }
    match &report {
        BlameReport::Memory { lines } => lines.iter().for_each(show_line),
        BlameReport::Source(file) => show_file(file, args.limit, app),
    }
    Ok(0)
}

fn show_line(one: &LineBlame) {
    let mut text = format!("{}:{}  {}\n", one.path, one.line, one.text);
    if let Some(core) = one.core.as_ref().filter(|core| core.path != one.path) {
        text.push_str(&format!("  core     {}:{} ({})\n", core.path, core.line, core.landmark));
    }
    for source in &one.sources {
        let who = match source.said_by {
            Some(origin) => format!("said by {origin}"),
            None if source.evidence.is_empty() => "named there".to_string(),
            None => "met again".to_string(),
        };
        text.push_str(&format!("  session  {}, {who}\n", source.place()));
        text.push_str(&format!("    digest   {}\n", source.digest));
        if source.episode.is_empty() {
            continue;
        }
        match &source.page {
            Some(page) => text.push_str(&format!("    episode  {page}\n")),
            None => text.push_str("    episode  not on this device, or evicted\n"),
        }
        match &source.raw {
            Some(raw) => {
                let place = format!("{}:{} (bytes {}-{})", raw.path, raw.line, raw.start, raw.end);
                text.push_str(&format!("    raw      {place}\n             “{}”\n", raw.quote));
            }
            None if source.evidence.is_empty() => {}
            None => text.push_str(&format!(
                "    raw      “{}” was not found in what is here\n",
                source.evidence
            )),
        }
    }
    output::print(&text);
}

fn show_file(blamed: &FileBlame, limit: Option<usize>, app: &App) {
    if blamed.sessions.is_empty() {
        app.note(format!("no session in this memory changed `{}`", blamed.file));
        return;
    }
    let mut text = String::new();
    for one in blamed.sessions.iter().take(limit.unwrap_or(usize::MAX)) {
        let day = one.ended.map(|at| at.format("%Y-%m-%d").to_string()).unwrap_or_default();
        text.push_str(&format!("{} · {day} · {} · {}\n", one.session, one.status, one.title));
        for trigger in &one.triggers {
            text.push_str(&format!(
                "  {}  [{}] {}\n",
                trigger.episode, trigger.topic, trigger.sentence
            ));
        }
    }
    output::print(&text);
}
