//! `memtree config`

use super::{App, output};
use crate::error::Result;
use crate::settings::TEMPLATE;

/// Print every setting with its default, ready to be a `memtree.toml`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print the values in force for this memory instead, from all layers together
    #[arg(long)]
    effective: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    if args.effective || app.json {
        output::json(app.memory_for_dry_run()?.settings());
    } else {
        output::print(TEMPLATE);
    }
    Ok(0)
}
