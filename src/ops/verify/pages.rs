//! The pages that are made of days and sessions, and those that say what a memory is: none of them
//! is missing, empty, zeroed, cut or another one.

use std::io;

use super::{Findings, Step};
use crate::base::files;
use crate::model::trust::Trust;
use crate::store::Store;
use crate::store::pattern::catalog::Catalog;
use crate::store::pattern::reviews::Reviews;
use crate::store::seals::Seals;

/// Compares every page with how it looked when it was last known to be whole.
pub fn check(store: &Store) -> io::Result<Findings> {
    let layout = store.layout();
    let mut findings = Findings::default();
    let step = |name: &str| match name.split('/').next() {
        Some("daily") => Step::Day,
        Some("core") => Step::Core,
        _ => Step::Page,
    };
    for (path, _) in crate::store::seals::stamps(layout) {
        if step(&path) == Step::Page {
            let amount = findings.amount(Step::Page);
            amount.files += 1;
            amount.bytes +=
                files::metadata(layout.root().join(&path)).map_or(0, |found| found.len());
        }
    }
    for page in Seals::file(layout).load().damaged(layout, true)? {
        findings.gap(step(&page.name), None, page.name, page.damage.to_string());
    }
    for file in files::walk_files(&layout.memories()).flatten() {
        let amount = findings.amount(Step::Page);
        amount.files += 1;
        amount.bytes += file.metadata.len();
        let is_whole = file.link.is_none() && !files::read(&file.path)?.contains(&0);
        if !is_whole {
            let reason = "is a link, or holds zero bytes, which no file of the memory tool does";
            findings.gap(Step::Page, None, layout.shown(&file.path), reason);
        }
    }
    let catalog = Catalog::load(layout)?;
    let reviews = Reviews::load(layout, &Trust::default())?;
    for damaged in catalog.damaged.iter().chain(&reviews.damaged) {
        let (path, reason) = damaged.split_once(": ").unwrap_or((damaged, "cannot be read"));
        findings.gap(Step::Page, None, path, reason);
    }
    let index = layout.knowledge_index();
    if !store.page_names()?.is_empty() && !store.is_index_current()? {
        let reason = "does not list the pages of knowledge as they are";
        findings.gap(Step::Page, None, layout.shown(&index), reason);
    }
    Ok(findings)
}
