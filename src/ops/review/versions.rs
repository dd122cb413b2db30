//! Other versions in the inbox: sections that were edited on two devices.

use super::inbox::{Evidence, InboxItem, ItemKind};
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::ops::sync::PageVersion;
use crate::store::authored::{self, OtherVersion};

/// How such an item is called.
const OTHER: &str = "other-";

impl Memory {
    /// The versions that wait for a person.
    pub(super) fn version_items(&self) -> Result<Vec<InboxItem>> {
        Ok(self.other_versions()?.iter().map(item).collect())
    }

    /// Puts the other version in the place of the section, or drops it.
    pub(super) fn set_version(&self, item: &InboxItem, take: bool) -> Result<()> {
        let id = item.id.strip_prefix(OTHER).unwrap_or(&item.id);
        let found: Vec<PageVersion> =
            self.other_versions()?.into_iter().filter(|one| one.version.id == id).collect();
        if found.is_empty() {
            return Err(Error::not_found(format!("no page has the version `{}`", item.id)));
        }
        for one in found {
            let Some(path) = self.layout().of_page(&one.path) else { continue };
            let edit = |now: Option<&str>| {
                let now = now?;
                let page = if take { one.version.taken(now) } else { now.to_string() };
                Some(OtherVersion::removed(&page, id))
            };
            authored::replace(self.layout(), &path, edit)
                .context(|| format!("cannot write `{}`", one.path))?;
        }
        Ok(())
    }
}

fn item(one: &PageVersion) -> InboxItem {
    let OtherVersion { id, of, text } = &one.version;
    let lines: Vec<String> = text.lines().map(str::to_string).collect();
    InboxItem {
        id: format!("{OTHER}{id}"),
        kind: ItemKind::Version,
        title: format!("“{of}” in {}", one.path),
        because: "it was edited on two devices; a yes takes this version, a no drops it".into(),
        advice: Vec::new(),
        sightings: Evidence::of_lines(&lines),
        evidence: lines,
        warnings: Vec::new(),
        adds: vec![format!("{}: this version in the place of the one that stands there", one.path)],
        state: "waiting",
        facts: None,
        proposed: None,
        candidate: None,
        evidence_fingerprint: id.clone(),
        text_hash: String::new(),
    }
}
