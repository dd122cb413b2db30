//! Knowledge without what was forgotten: pages are written again from the days that are left.
//!
//! A page that rests on no other session goes as a whole, with every link to it: its very name says
//! what was talked about. One into which a person wrote stays, without the lines that name
//! the session.

use std::collections::BTreeSet;

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
    if !gone.is_empty() {
        let log = store.without_pages_in_log(&gone).context(cannot)?;
        changed.extend(log.then(|| layout.shown(&layout.knowledge_log())));
        for name in store.page_names().context(cannot)? {
            if store.without_links_to(&name, &gone).context(cannot)? {
                changed.push(layout.shown(&layout.page(&name)));
            }
        }
    }
    if store.write_index().context(cannot)? {
        changed.push(layout.shown(&layout.knowledge_index()));
    }
    Ok(changed)
}
