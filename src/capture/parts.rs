//! Parts: sessions that were captured by themselves before it was known that they are subagents of
//! another one.
//!
//! Such a one keeps its id, its folder and its raw. Its work is described by its parent now, so its
//! digest says whose part it is and that it is not remembered for itself.

use std::collections::BTreeSet;
use std::io;

use chrono::NaiveDate;

use super::CaptureSettings;
use super::known::Known;
use crate::base::files;
use crate::model::digest::Worth;
use crate::model::session::Source;
use crate::store::{authored, digest};

/// What was found to be a part of another session.
#[derive(Debug, Default)]
pub struct Parts {
    /// How many digests were written.
    pub written: usize,
    /// The days on which they were at work.
    pub days: BTreeSet<NaiveDate>,
}

/// Says in the digests of subagents that were captured by themselves to which session they belong.
/// `sources` are the sessions that the memory holds as they are now.
pub fn leave_to_parents<'s>(
    settings: &CaptureSettings<'_>,
    known: &Known,
    sources: impl Iterator<Item = &'s Source>,
) -> io::Result<Parts> {
    let mut parts = Parts::default();
    for source in sources {
        for child in source.children() {
            let session = known.session(&child).filter(|session| session.digested);
            let own = session.filter(|session| session.id.device == *settings.device);
            let Some(session) = own else { continue };
            let path = settings.store.layout().digest(&session.id);
            // One that cannot be read is left as it is; `verify` names it.
            let Ok(existing) = files::read_to_string(&path) else { continue };
            let Ok(page) = digest::parse(&existing) else { continue };
            let as_part = |existing: Option<&str>| {
                let mut page = digest::parse(existing?).ok()?;
                page.content.worth = Worth::None;
                page.content.part_of = Some(source.source_id());
                Some(digest::text_over(existing?, &page))
            };
            if authored::replace(settings.store.layout(), &path, as_part)? {
                parts.written += 1;
                let moments = [page.content.started, page.content.ended].into_iter().flatten();
                let mut days = moments.map(|at| at.with_timezone(&settings.zone).date_naive());
                if let (Some(first), last) = (days.next(), days.next()) {
                    let last = last.unwrap_or(first);
                    parts.days.extend(first.iter_days().take_while(|day| *day <= last));
                }
            }
        }
    }
    Ok(parts)
}
