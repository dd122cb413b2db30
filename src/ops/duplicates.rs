//! Sessions that the memory holds twice, because two devices captured the same log before they knew
//! of each other.
//!
//! Both keep their ids and their raw. One goes on telling the session; the other's page says whose
//! part it is, and what people wrote into it stands in the first one's notes too.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::base::files;
use crate::error::{Context, Result};
use crate::memory::Memory;
use crate::model::digest::{Digest, Worth};
use crate::model::ids::SessionId;
use crate::model::trust::Standing;
use crate::store::{authored, digest};

/// A session that is there more than once.
#[derive(Debug)]
pub struct Duplicate {
    pub source_id: String,
    /// The one that goes on telling it: that which holds most of it, and among those the one that
    /// was captured first.
    pub kept: SessionId,
    pub others: Vec<SessionId>,
    /// Whether all of them were captured here or by devices that the person trusts. What others
    /// brought is a claim, and sets no page of the person's aside.
    pub is_trusted: bool,
}

/// Every session that is there more than once, and was not joined yet.
pub fn find(memory: &Memory) -> Result<Vec<Duplicate>> {
    let store = memory.store();
    let sessions = store.session_ids().context(|| "cannot list the sessions".into())?;
    let mut by_source: BTreeMap<String, Vec<Digest>> = BTreeMap::new();
    // A page that cannot be read is named by another check.
    for digest in sessions.iter().filter_map(|id| store.digest(id).ok().flatten()) {
        by_source.entry(digest.source_id.clone()).or_default().push(digest);
    }
    by_source.retain(|_, pages| {
        pages.retain(|page| !is_joined(page));
        pages.len() > 1
    });
    let trust = memory.trust();
    let duplicate = |(source_id, mut pages): (String, Vec<Digest>)| {
        pages.sort_by_key(|page| {
            (Reverse(page.content.turns), page.captured, page.session.to_string())
        });
        let is_trusted =
            pages.iter().all(|page| trust.of_session(&page.session) != Standing::Foreign);
        let mut ids = pages.into_iter().map(|page| page.session);
        let kept = ids.next().expect("there are several");
        Duplicate { source_id, kept, others: ids.collect(), is_trusted }
    };
    Ok(by_source.into_iter().map(duplicate).collect())
}

/// Whether a page says already that another one of this memory tells its session.
fn is_joined(page: &Digest) -> bool {
    let part_of = page.content.part_of.as_deref();
    page.content.worth == Worth::None && part_of.is_some_and(|it| it.parse::<SessionId>().is_ok())
}

/// Leaves a session to one of its pages: takes into that what people wrote into the others, and
/// lets those say so. Nothing is deleted. The sweep's lock has to be held.
pub fn join(memory: &Memory, duplicate: &Duplicate) -> Result<()> {
    let (store, layout) = (memory.store(), memory.layout());
    let cannot = || store.cannot_write();
    for other in &duplicate.others {
        let path = layout.digest(other);
        let words = files::read_to_string(&path)
            .context(|| format!("cannot read `{}`", layout.shown(&path)))?;
        // First what would be missed, then the mark by which it is known to be done.
        authored::replace(layout, &layout.digest(&duplicate.kept), |kept| {
            Some(digest::with_words_of(kept?, &words, other))
        })
        .context(cannot)?;
        authored::replace(layout, &path, |existing| {
            let mut page = digest::parse(existing?).ok()?;
            page.content.worth = Worth::None;
            page.content.part_of = Some(duplicate.kept.to_string());
            Some(digest::text_over(existing?, &page))
        })
        .context(cannot)?;
    }
    Ok(())
}
