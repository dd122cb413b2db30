//! Knowledge without what was forgotten: pages are written again from the days that are left.
//!
//! A page that rests on no other session goes as a whole, with every link to it: its very name says
//! what was talked about. One into which a person wrote stays, without the lines that name
//! the session.

use std::collections::BTreeSet;
use std::io;

use super::traces::Traces;
use crate::base::files;
use crate::base::redact::Redactor;
use crate::error::{Context, Result};
use crate::model::knowledge::{Kind, PageName};
use crate::ops::compile;
use crate::store::{Store, authored};

/// Writes the pages again and removes those that rest on nothing any more; returns which files
/// changed or went.
pub fn rewrite(store: &Store, traces: &Traces, redactor: &Redactor) -> Result<Vec<String>> {
    let layout = store.layout();
    let cannot = || "cannot write the pages of knowledge again".to_string();
    let there = store.page_names().context(cannot)?;
    if there.is_empty() {
        return Ok(Vec::new());
    }
    let _lock = files::lock_exclusive(&layout.knowledge_lock()).context(cannot)?;
    let days = compile::rebuild_from_days(store, redactor)?;
    let mut gone: BTreeSet<PageName> = BTreeSet::new();
    for name in there.iter().filter(|name| !days.borne_out.contains(name)) {
        let text = store.page_text(name).context(cannot)?.unwrap_or_default();
        let rests_on_it = match name.kind {
            // Answers are not made from days; one that quotes no other session goes.
            Kind::Question => traces.are_all_that_is_quoted(&text),
            Kind::Concept | Kind::Connection => text.lines().any(|line| traces.are_in(line)),
        };
        if rests_on_it && authored::is_ours(&text) {
            gone.insert(name.clone());
        }
    }
    let mut changed: Vec<String> =
        days.changed.iter().map(|name| layout.shown(&layout.page(name))).collect();
    for name in &gone {
        files::remove_file(&layout.page(name)).context(cannot)?;
        changed.push(layout.shown(&layout.page(name)));
    }
    changed.extend(settle(store, &gone).context(cannot)?);
    Ok(changed)
}

/// Takes what the other pages and lists say of pages that are gone out of them; returns which files
/// changed.
fn settle(store: &Store, gone: &BTreeSet<PageName>) -> io::Result<Vec<String>> {
    let layout = store.layout();
    let mut changed = Vec::new();
    if !gone.is_empty() {
        let log = store.without_pages_in_log(gone)?;
        changed.extend(log.then(|| layout.shown(&layout.knowledge_log())));
        for name in store.page_names()? {
            if store.without_links_to(&name, gone)? {
                changed.push(layout.shown(&layout.page(&name)));
            }
        }
    }
    if store.write_index()? {
        changed.push(layout.shown(&layout.knowledge_index()));
    }
    Ok(changed)
}

/// Takes a text out of pages, by what `clean` does, and then what the others say of those that
/// went; returns which files changed.
pub fn cleaned(
    store: &Store,
    clean: impl FnOnce() -> io::Result<Vec<String>>,
) -> io::Result<Vec<String>> {
    let there = store.page_names()?;
    if there.is_empty() {
        return clean();
    }
    let _lock = files::lock_exclusive(&store.layout().knowledge_lock())?;
    let mut changed = clean()?;
    let left: BTreeSet<PageName> = store.page_names()?.into_iter().collect();
    let gone = there.into_iter().filter(|name| !left.contains(name)).collect();
    changed.extend(settle(store, &gone)?);
    changed.sort();
    changed.dedup();
    Ok(changed)
}
