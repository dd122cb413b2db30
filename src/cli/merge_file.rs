//! `memtree merge-file`

use std::path::PathBuf;

use super::output;
use crate::error::Result;
use crate::ops::sync::{MergeFileRequest, merge_file};

/// Join two versions of a page by section, as git's merge driver
///
/// Git calls it where two devices changed the same page: `memtree init`, `sync` and `doctor --fix`
/// register it in the clone's own settings. What only one side changed is taken from it; your words
/// win over what memtree wrote; where two people changed the same section, one version stays and
/// the other stands in `## Notes`, marked. The result takes the place of the second file.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What both come from (%O)
    base: PathBuf,
    /// The version here, which is replaced (%A)
    ours: PathBuf,
    /// The other version (%B)
    theirs: PathBuf,
    /// The file's path in the repository (%P)
    path: String,
}

pub fn run(args: Args, json: bool) -> Result<u8> {
    let Args { base, ours, theirs, path } = args;
    let report = merge_file(&MergeFileRequest { base, ours, theirs, path })?;
    if json {
        output::json(&report);
    }
    Ok(0)
}
