//! `list`: the sessions of a memory by date, as the index of sessions shows them.

use rayon::prelude::*;
use serde::Serialize;

use crate::base::clock::Timestamp;
use crate::base::setters::setters;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::digest::{Outcome, Worth};
use crate::model::ids::SessionId;
use crate::query::dates::FilterDate;
use crate::store::session_index::{self, IndexEntry};

/// Which sessions to list; without a filter all that are worth remembering.
#[derive(Debug, Clone, Default)]
pub struct ListRequest {
    pub project: Option<String>,
    pub flavor: Option<String>,
    /// The first day: `2026-11-01`, `yesterday`, `7d`.
    pub since: Option<String>,
    pub status: Option<String>,
    /// How many at most; 0 is all.
    pub limit: usize,
}

setters!(ListRequest {
    project: Option<String>,
    flavor: Option<String>,
    since: Option<String>,
    status: Option<String>,
    limit: usize,
});

/// The sessions, newest first.
#[derive(Debug, Default, Serialize)]
pub struct ListReport {
    pub sessions: Vec<ListedSession>,
}

/// One session of a list.
#[derive(Debug, Serialize)]
pub struct ListedSession {
    pub session: SessionId,
    pub date: String,
    pub project: Option<String>,
    pub flavor: String,
    pub title: String,
    pub status: Outcome,
    /// Its digest, relative to the memory.
    pub path: String,
}

impl Memory {
    /// The beginning of the day that a person means: `2026-11-01`, `yesterday`, `7d`.
    pub fn day_named(&self, said: &str) -> Result<Timestamp> {
        let day = FilterDate::parse(said).and_then(|day| day.time(self.now()));
        let wrong = || Error::usage(format!("`{said}` is no day"));
        day.ok_or_else(|| wrong().hint("try `2026-11-01`, `yesterday` or `7d`"))
    }

    /// Lists sessions.
    pub fn list(&self, request: ListRequest) -> Result<ListReport> {
        let status = request.status.as_deref().map(str::parse::<Outcome>).transpose();
        let status =
            status.map_err(|reason| Error::usage(format!("wrong `--status`: {reason}")))?;
        let since = request.since.as_deref().map(|said| self.day_named(said)).transpose()?;
        let store = self.store();
        let ids = store.session_ids().context(|| "cannot list the sessions".into())?;
        let read = ids.into_par_iter().filter_map(|id| IndexEntry::read(store, &id));
        let same = |wanted: &Option<String>, value: Option<&str>| {
            let wanted = wanted.as_deref();
            wanted.is_none_or(|wanted| value.is_some_and(|is| is.eq_ignore_ascii_case(wanted)))
        };
        let fits = |entry: &IndexEntry| {
            let content = &entry.digest.content;
            content.worth == Worth::Full
                && same(&request.project, content.project.as_deref())
                && same(&request.flavor, Some(&content.flavor))
                && status.is_none_or(|status| content.status == status)
                && since.is_none_or(|since| content.ended.is_some_and(|ended| ended >= since))
        };
        let mut entries: Vec<IndexEntry> = read.filter(fits).collect();
        session_index::sort(&mut entries);
        entries.truncate(if request.limit == 0 { usize::MAX } else { request.limit });
        let listed = |IndexEntry { session, date, digest }| ListedSession {
            path: store.layout().shown(&store.layout().digest(&session)),
            session,
            date,
            project: digest.content.project,
            flavor: digest.content.flavor,
            title: digest.content.title,
            status: digest.content.status,
        };
        Ok(ListReport { sessions: entries.into_iter().map(listed).collect() })
    }
}
