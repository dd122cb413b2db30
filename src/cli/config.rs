//! `memtree config`

use super::{Door, output};
use crate::config::TEMPLATE;
use crate::error::Result;

/// Print every setting with its default, ready to be a `memtree.toml`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print the values in force for this memory instead, from all layers together
    #[arg(long)]
    effective: bool,
}

pub fn run(args: Args, door: &Door) -> Result<u8> {
    if args.effective || door.json {
        let config = door.config()?;
        output::json(&config);
    } else {
        output::print(TEMPLATE);
    }
    Ok(0)
}
