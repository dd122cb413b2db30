//! Which pages have another version of a section in their notes, from a merge.

use std::path::PathBuf;

use serde::Serialize;

use crate::base::files;
use crate::error::Result;
use crate::memory::Memory;
use crate::ops::tally::Tally;
use crate::store::authored::OtherVersion;

/// A page with another version of one of its sections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PageVersion {
    /// The page, relative to the memory.
    pub path: String,
    #[serde(flatten)]
    pub version: OtherVersion,
}

impl Memory {
    /// Every other version that waits for a person, by page.
    pub(crate) fn other_versions(&self) -> Result<Vec<PageVersion>> {
        Ok(self.other_versions_of(&self.tally()?))
    }

    /// The same, from what was counted of the sessions.
    pub(crate) fn other_versions_of(&self, tally: &Tally) -> Vec<PageVersion> {
        let layout = self.layout();
        let marked = tally.sessions.iter().filter(|(_, session)| session.has_versions);
        let mut pages: Vec<PathBuf> = marked.map(|(id, _)| layout.digest(id)).collect();
        for folder in layout.distilled().iter().filter(|folder| files::exists(folder)) {
            let walked = files::walk_files(folder).flatten().filter(|found| found.link.is_none());
            pages.extend(walked.map(|found| found.path));
        }
        let mut found = Vec::new();
        for page in pages {
            let Ok(bytes) = files::read(&page) else { continue };
            if memchr::memmem::find(&bytes, OtherVersion::MARK.as_bytes()).is_none() {
                continue;
            }
            let path = layout.shown(&page);
            let versions = OtherVersion::all(&String::from_utf8_lossy(&bytes)).into_iter();
            found.extend(versions.map(|version| PageVersion { path: path.clone(), version }));
        }
        found.sort_by(|a, b| (&a.path, &a.version.id).cmp(&(&b.path, &b.version.id)));
        found
    }
}
