//! `memtree why`: the decisions behind a file.

use std::path::PathBuf;

use super::{App, output};
use crate::error::Result;
use crate::ops::blame::BlameRequest;
use crate::ops::why::{Nearness, WhyReport, WhyRequest};

/// Say what was decided about a source file, and why
///
/// Decisions, standing rules and lessons of the sessions that changed it: those that name it first,
/// then those that were stated where it was worked on. With a line, git is asked which commit wrote
/// it, and the session that made that commit comes first.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A source file, or a line of it
    #[arg(value_name = "FILE[:LINE]")]
    what: PathBuf,
    /// At most this many results
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// Looks for the reasons, and prints them.
pub fn run(args: Args, app: &App) -> Result<u8> {
    let BlameRequest { file, line } = BlameRequest::of(&args.what);
    let report = app.memory()?.why(WhyRequest { file, line, limit: args.limit })?;
    match app.json {
        true => output::json(&report),
        false => show(&report, app),
    }
    Ok(0)
}

fn show(report: &WhyReport, app: &App) {
    let mut text = String::new();
    if let Some(line) = &report.line {
        let commit: String = line.commit.chars().take(10).collect();
        let by = match &line.session {
            Some(session) => format!("made in {session}"),
            None => "of which no session here knows".to_string(),
        };
        text.push_str(&format!("line {} is of commit {commit}, {by}\n\n", line.line));
    }
    if report.sessions.is_empty() {
        output::print(&text);
        let file = &report.file;
        app.note(match report.more {
            0 => format!("no session in this memory changed `{file}`"),
            more => format!(
                "{} changed `{file}`, and none says why; `memtree blame {file}` names them",
                output::count(more, "session")
            ),
        });
        return;
    }
    for one in &report.sessions {
        let day = one.ended.map(|at| at.format("%Y-%m-%d").to_string()).unwrap_or_default();
        text.push_str(&format!("{} · {day} · {} · {}\n", one.session, one.flavor, one.title));
        for reason in &one.reasons {
            let near = match reason.nearness {
                Nearness::Commit | Nearness::Named => "",
                Nearness::Episode => " (where it was worked on)",
                Nearness::Session => " (in the same session)",
            };
            text.push_str(&format!(
                "  {} {} · {}: {}{near}\n",
                reason.episode, reason.kind, reason.said_by, reason.text
            ));
        }
    }
    if report.more > 0 {
        let more = output::count(report.more, "more session");
        text.push_str(&format!("{more} changed it: `memtree blame {}`\n", report.file));
    }
    output::print(&text);
}
