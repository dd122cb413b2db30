//! `memtree lint`

use super::{App, output};
use crate::error::Result;
use crate::ops::lint::{LintReport, LintRequest, Severity};

/// Check the pages of knowledge
///
/// Seven checks: broken_link (an error), orphan_page, orphan_source, stale_article, contradiction
/// (warnings), missing_backlink and sparse_article (suggestions). What was found is also written to
/// .memtree/local/reports/lint-<day>.md. The exit code is 1 if there are errors.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Add links back where they are missing
    #[arg(long)]
    fix: bool,
    /// Leave out what needs reading: contradictions
    #[arg(long)]
    structural_only: bool,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let Args { fix, structural_only, dry_run } = args;
    let report =
        app.memory_for(dry_run || !fix)?.lint(LintRequest { structural_only, fix, dry_run })?;
    if app.json {
        output::json(&report);
    } else {
        show(&report, app);
    }
    Ok(if report.errors > 0 { 1 } else { 0 })
}

fn show(report: &LintReport, app: &App) {
    for item in &report.items {
        let mark = match item.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Suggestion => "suggestion",
        };
        if !app.quiet || item.severity == Severity::Error {
            output::print(&format!("{mark}: {} · {}: {}\n", item.check, item.page, item.message));
        }
    }
    if app.quiet {
        return;
    }
    output::print(&format!(
        "{}: {}, {}, {}\n",
        output::count(report.pages, "page"),
        output::count(report.errors, "error"),
        output::count(report.warnings, "warning"),
        output::count(report.suggestions, "suggestion")
    ));
    if !report.fixed.is_empty() {
        app.note(format!("added links back to {}", output::count(report.fixed.len(), "page")));
    }
    if let Some(path) = &report.report {
        app.note(format!("report: {path}"));
    }
}
