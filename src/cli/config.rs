//! `memtree config`

use super::{App, output};
use crate::error::Result;
use crate::ops::config::{self, Verdict};
use crate::settings::TEMPLATE;

/// Print every setting with its default, ready to be a `memtree.toml`
///
/// `trust` and `distrust` change your own configuration and nothing else: they say whether what
/// another device wrote counts as your own words.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    /// Print the values in force for this memory instead, from all layers together
    #[arg(long)]
    effective: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Count what a device wrote as your own words, in your own configuration
    Trust { device: String },
    /// Take that back
    Distrust { device: String },
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    match args.action {
        Some(Action::Trust { device }) => judge(app, &device, Verdict::Trust)?,
        Some(Action::Distrust { device }) => judge(app, &device, Verdict::Distrust)?,
        None if args.effective || app.json => output::json(app.memory_for_dry_run()?.settings()),
        None => output::print(TEMPLATE),
    }
    Ok(0)
}

fn judge(app: &App, device: &str, verdict: Verdict) -> Result<()> {
    let report = config::judge_device(&app.environment, device, verdict)?;
    if app.json {
        output::json(&report);
        return Ok(());
    }
    let says = match verdict {
        Verdict::Trust => "is trusted",
        Verdict::Distrust => "is not trusted",
    };
    let already = if report.changed { "" } else { " already" };
    let file = report.file.display();
    output::print(&format!("{} {says}{already} (`devices.trust` in {file})\n", report.device));
    Ok(())
}
