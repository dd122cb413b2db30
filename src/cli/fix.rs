//! `memtree fix`: what helped against the same error before.

use std::io::{IsTerminal, Read};

use super::{App, output};
use crate::base::text;
use crate::distill::patterns::fixes::Occurrence;
use crate::error::{Context, Result};
use crate::ops::fix::{FixReport, FixRequest};

/// Say what was done after the same error in earlier sessions, and which of it held
///
/// Errors are compared without paths, numbers and ids, across agents and projects. A fix held where
/// the error went away and did not come back in a later session of the same project. What cores
/// remember of it is shown too, and where nothing is known, what a search finds. Without ERROR it is
/// read from stdin: `cargo test 2>&1 | memtree fix`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The error as it was printed: one line, or a whole output
    #[arg(value_name = "ERROR")]
    error: Vec<String>,
    /// Only sessions of this project
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// At most this many results
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// How much of stdin is read.
const LONGEST: u64 = 1 << 20;

/// Looks for the error, and prints what came of it.
pub fn run(args: Args, app: &App) -> Result<u8> {
    let Args { error, project, limit } = args;
    let mut error = error.join(" ");
    if error.is_empty() && !std::io::stdin().is_terminal() {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(LONGEST).read_to_end(&mut bytes);
        read.context(|| "cannot read the error from stdin".into())?;
        error = String::from_utf8_lossy(&bytes).into_owned();
    }
    let report = app.memory()?.fix(FixRequest { error, project, limit })?;
    match app.json {
        true => output::json(&report),
        false => show(&report, app),
    }
    Ok(0)
}

fn show(report: &FixReport, app: &App) {
    let FixReport { met, solved, held, sessions, landmarks, similar, .. } = report;
    let mut text = String::new();
    if sessions.is_empty() {
        app.note(format!("no session in this memory met `{}`", text::one_line(&report.error, 160)));
    } else {
        text = format!(
            "met in {}; it went away in {solved}, and stayed away after {held}\n",
            output::count(*met, "session")
        );
    }
    sessions.iter().for_each(|one| text.push_str(&paragraph(one)));
    for one in landmarks {
        let place = one.place.as_deref().map(|place| format!(", {place}")).unwrap_or_default();
        text.push_str(&format!("\nremembered ({}{place})\n  {}\n", one.path, one.text));
    }
    if !similar.is_empty() {
        text.push_str("sessions with these words, found by a plain search\n");
    }
    for one in similar {
        text.push_str(&format!("\n{} · {}\n  {}\n", one.place, one.title, one.excerpt));
    }
    if let Some(general) = &report.in_general {
        let gap = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{gap}In general: {general}\n"));
    }
    output::print(&text);
}

/// A session that met it.
fn paragraph(one: &Occurrence) -> String {
    let day = one.ended.map(|at| at.format("%Y-%m-%d").to_string()).unwrap_or_default();
    let project = one.project.as_deref().unwrap_or("no project");
    let verdict = match (one.held, one.solved, &one.came_back_in) {
        (true, ..) => "held".to_string(),
        (_, true, Some(later)) => format!("came back in {later}"),
        _ => "not solved there".to_string(),
    };
    let place = one.solved_in.as_ref().unwrap_or(&one.episode);
    let (session, flavor) = (&one.session, &one.flavor);
    let mut text = format!("\n{session}#{place} · {day} · {flavor} · {project} · {verdict}\n");
    if !one.same {
        text.push_str(&format!("  in other words: {}\n", one.error));
    }
    if !one.by.is_empty() {
        text.push_str(&format!("  it went away by {}\n", one.by));
    }
    if !one.lesson.is_empty() {
        text.push_str(&format!("  lesson: {}\n", one.lesson));
    }
    text
}
