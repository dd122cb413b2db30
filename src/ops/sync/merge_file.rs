//! What git asks for when two sides changed one page: `memtree merge-file %O %A %B %P`.

use std::path::PathBuf;

use serde::Serialize;

use crate::base::files;
use crate::error::{Context, Error, Result};
use crate::store::authored::OtherVersion;
use crate::store::layout::{self, PageKind};
use crate::store::{digest, merge};

/// The longest file that is joined.
const LONGEST: u64 = 64 << 20;

/// Three versions of a file, as git hands them over.
#[derive(Debug, Clone)]
pub struct MergeFileRequest {
    /// What both come from; empty where there was nothing.
    pub base: PathBuf,
    /// The version here, which is replaced by what they come to.
    pub ours: PathBuf,
    pub theirs: PathBuf,
    /// The file's path in the repository, which says what it is.
    pub path: String,
}

/// What came of them.
#[derive(Debug, Serialize)]
pub struct MergeFileReport {
    pub path: String,
    /// How many sections two people had changed; the other version of each is in the notes.
    pub other_versions: usize,
}

/// Joins two versions of a file and writes them into the place of the first.
pub fn merge_file(request: &MergeFileRequest) -> Result<MergeFileReport> {
    let read = |path: &PathBuf| -> Result<String> {
        let bytes = files::read_at_most(path, LONGEST + 1)
            .context(|| format!("cannot read `{}`", path.display()))?;
        if bytes.len() as u64 > LONGEST {
            return Err(Error::new(format!("`{}` is too long to be joined", request.path)));
        }
        String::from_utf8(bytes).context(|| format!("`{}` is no text", request.path))
    };
    let (base, ours, theirs) = (read(&request.base)?, read(&request.ours)?, read(&request.theirs)?);
    let base = Some(base.as_str()).filter(|base| !base.is_empty());
    let kind = layout::page_kind_within(&request.path);
    if kind == PageKind::Digest && !digest::is_one_session([&ours, &theirs]) {
        return Err(Error::new(format!("cannot join the two versions of `{}`", request.path))
            .because("they are of different sessions: two devices have one name")
            .hint("`memtree sync` says what to do"));
    }
    let joined = merge::joined(kind, base, [&ours, &theirs]);
    files::write_plain(&request.ours, joined.as_bytes())
        .context(|| format!("cannot write `{}`", request.ours.display()))?;
    let other_versions = OtherVersion::all(&joined).len();
    Ok(MergeFileReport { path: request.path.clone(), other_versions })
}
