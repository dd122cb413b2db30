//! `memtree retro`

use super::{App, output};
use crate::error::Result;
use crate::ops::retro::RetroRequest;

/// Look back: the three weightiest problems of each project in the last days, and what to do
///
/// The page is patterns/RETRO.md. What to do comes from the approved pattern, where there is one.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How many days to look back
    #[arg(long, value_name = "N", default_value_t = 7)]
    window_days: u32,
    /// Hand it to the program that `retro.publish` of your own settings names
    #[arg(long)]
    publish: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let request = RetroRequest::default().window_days(args.window_days).publish(args.publish);
    let report = app.memory_to_write()?.retro(request)?;
    if let Some(reason) = &report.not_published {
        app.note(format!("not published: {reason}"));
    }
    if app.json {
        output::json(&report);
    } else if !app.quiet {
        if report.fleet.sessions == 0 {
            app.note(format!("no session of real work has ended since {}", report.since));
        }
        let many = ("in many projects".to_string(), report.in_many.clone());
        let many = Some(many).filter(|(_, lessons)| !lessons.is_empty());
        let projects = report.projects.clone().into_iter();
        for (project, lessons) in many.into_iter().chain(projects) {
            output::print(&format!("{project}\n"));
            for one in lessons {
                let cross = if one.cross_flavor { "[CROSS-FLAVOR] " } else { "" };
                output::print(&format!("  {cross}{}\n    → {}\n", one.title, one.recommendation));
            }
        }
        let what = if report.written { "written" } else { "unchanged" };
        output::print(&format!("patterns/RETRO.md: {what}, sessions since {}\n", report.since));
    }
    Ok(if report.not_published.is_some() { 3 } else { 0 })
}
