//! `memtree distribute`

use super::{App, output};
use crate::base::text;
use crate::error::Result;
use crate::ops::distribute::{ChangedFile, DistributeReport, DistributeRequest};

/// Bring approved patterns into the files from which agents take instructions
///
/// Without `--apply` it only shows what it would write, and keeps it below patterns/proposals. With
/// it, a block between two marks in CLAUDE.md, AGENTS.md, GEMINI.md or .cursor/rules of your
/// projects is written; everything outside of the marks stays byte for byte, and what is retired is
/// taken out. Only what you approved here, or on a device that you trust, is distributed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write the files
    #[arg(long)]
    apply: bool,
    /// Only for this agent
    #[arg(long, value_name = "AGENT")]
    to: Option<String>,
    /// Only in this project
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Try what is new in half of the projects first, or half of the weeks where there is only
    /// one, so that `measure` can compare
    #[arg(long)]
    trial: bool,
    /// End trials: what is held back goes out, too
    #[arg(long, conflicts_with = "trial")]
    everywhere: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let request = DistributeRequest::default()
        .apply(args.apply)
        .to(args.to)
        .project(args.project)
        .trial(args.trial)
        .everywhere(args.everywhere);
    let report = app.memory_to_write()?.distribute(request)?;
    if app.json {
        output::json(&report);
    } else if !app.quiet {
        show(&report, app);
    }
    Ok(if report.refused.is_empty() { 0 } else { 3 })
}

/// Files that get the same text are shown once.
fn files_by_text(report: &DistributeReport) -> Vec<(&str, Vec<&ChangedFile>)> {
    // The first two lines of a difference name its file.
    let text = |file: &'_ ChangedFile| -> usize {
        file.diff.match_indices('\n').nth(1).map_or(0, |(at, _)| at + 1)
    };
    let mut groups: Vec<(&str, Vec<&ChangedFile>)> = Vec::new();
    for file in &report.files {
        let text = &file.diff[text(file)..];
        match groups.iter_mut().find(|(known, _)| *known == text) {
            Some((_, files)) => files.push(file),
            None => groups.push((text, vec![file])),
        }
    }
    groups
}

/// Why there is nothing to write.
fn why_nothing(report: &DistributeReport, app: &App) -> Option<String> {
    const MOST: usize = 5;
    let DistributeReport { ready, without_folder: without, unchanged, .. } = report;
    if !report.files.is_empty()
        || !report.refused.is_empty()
        || *unchanged > 0 && without.is_empty()
    {
        return None;
    }
    if *ready == 0 {
        let program = app.program();
        return Some(format!(
            "no pattern is approved and says what to do: `{program} review` asks for your yes"
        ));
    }
    let some: Vec<&str> = without.iter().map(String::as_str).take(MOST).collect();
    let names = text::and_more(&some.join(", "), without.len() - some.len());
    match without.len() {
        0 => None,
        1 => Some(format!("the project {names} has no folder on this machine")),
        many if *unchanged > 0 => {
            Some(format!("{many} projects have no folder on this machine: {names}"))
        }
        many => Some(format!("{many} projects, none has its folder on this machine: {names}")),
    }
}

fn show(report: &DistributeReport, app: &App) {
    for (_, files) in files_by_text(report) {
        for file in &files {
            let names: Vec<&str> = file.patterns.iter().map(|id| id.as_str()).collect();
            let names =
                if names.is_empty() { "no lessons any more".into() } else { names.join(", ") };
            output::print(&format!("{} ({}): {names}\n", file.path.display(), file.project));
        }
        if let Some(first) = files.first().filter(|_| !report.applied) {
            output::print(&first.diff);
        }
    }
    for one in &report.no_room {
        app.note(format!("{}: no room in {}", one.pattern, one.path.display()));
    }
    let passed_over = report.passed_over.iter();
    passed_over.for_each(|passed| app.note(format!("passed over: {passed}")));
    report.held_back.iter().for_each(|held| app.note(format!("held back to compare: {held}")));
    report.refused.iter().for_each(|refused| app.note(format!("not done: {refused}")));
    if !report.held_back.is_empty() {
        let program = app.program();
        app.note(format!("to end the comparison: `{program} distribute --everywhere --apply`"));
    }
    why_nothing(report, app).into_iter().for_each(|why| app.note(why));
    let verb = if report.applied { "written" } else { "would be written" };
    output::print(&format!(
        "{} {verb}, {} as they should be\n",
        output::count(report.files.len(), "file"),
        report.unchanged
    ));
    if !report.applied && !report.files.is_empty() {
        app.note(format!("next: `{} distribute --apply`", app.program()));
    }
}
