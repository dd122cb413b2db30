//! Pages by name: what a client of the memory may list and read whole.
//!
//! A name is made of checked ids (`session/SES3_laptop_SP1C2`, `day/2026-11-15`), so it never leads
//! out of the tree, and never to raw.

use std::fmt;
use std::str::FromStr;

use chrono::NaiveDate;

use super::recall::RecallRequest;
use crate::base::files;
use crate::base::setters::setters;
use crate::base::text;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::digest::Worth;
use crate::model::ids::{CoreId, EpisodeId, SessionId, SphereId};
use crate::store::session_index::IndexEntry;
use crate::store::{day, layout};

/// A page of the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageRef {
    /// The page that an agent always loads.
    Memory,
    /// A session's digest.
    Session(SessionId),
    Episode(SessionId, EpisodeId),
    /// A day's summary, or its lines where it has none yet.
    Day(NaiveDate),
    Core(CoreId),
    Sphere(SphereId),
}

impl fmt::Display for PageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageRef::Memory => f.write_str("memory"),
            PageRef::Session(id) => write!(f, "session/{id}"),
            PageRef::Episode(id, episode) => write!(f, "session/{id}/{episode}"),
            PageRef::Day(day) => write!(f, "day/{day}"),
            PageRef::Core(id) => write!(f, "core/CORE_{id}"),
            PageRef::Sphere(id) => write!(f, "core/SPHERE_{id}"),
        }
    }
}

impl FromStr for PageRef {
    type Err = Error;

    fn from_str(name: &str) -> Result<PageRef> {
        let parts: Vec<&str> = name.split('/').collect();
        let page = match parts[..] {
            ["memory"] => Some(PageRef::Memory),
            ["session", id] => id.parse().ok().map(PageRef::Session),
            ["session", id, episode] => {
                let id = id.parse().ok();
                id.and_then(|id| Some(PageRef::Episode(id, episode.parse().ok()?)))
            }
            ["day", day] => day.parse().ok().map(PageRef::Day),
            ["core", name] => {
                let file = format!("{name}.md");
                let sphere = || layout::sphere_named(&file).map(PageRef::Sphere);
                layout::core_named(&file).map(PageRef::Core).or_else(sphere)
            }
            _ => None,
        };
        page.ok_or_else(|| {
            let name = text::one_line(name, 80);
            Error::not_found(format!("there is no page `{name}`")).hint(
                "pages are `memory`, `session/SES1_desk_SP1C1`, `session/SES1_desk_SP1C1/EP_001`, \
                 `day/2026-11-15` and `core/CORE_desk_SP1C1`",
            )
        })
    }
}

/// Which pages to list.
#[derive(Debug, Clone, Default)]
pub struct PagesRequest {
    /// Where to begin: what the last report had as its `next`.
    pub from: usize,
    pub limit: usize,
}

setters!(PagesRequest { from: usize, limit: usize });

/// Pages, and where the list goes on.
#[derive(Debug, Default)]
pub struct PagesReport {
    pub pages: Vec<ListedPage>,
    pub next: Option<usize>,
}

/// One page of a list.
#[derive(Debug)]
pub struct ListedPage {
    pub page: PageRef,
    pub title: String,
}

impl Memory {
    /// Lists what can be read: the page that is always loaded, then sessions and days, those that
    /// were captured last first. Only what is listed is read, however much there is.
    pub fn pages(&self, request: PagesRequest) -> Result<PagesReport> {
        let layout = self.layout();
        let mut all = vec![PageRef::Memory];
        let mut sessions =
            self.store().session_ids().context(|| "cannot list the sessions".into())?;
        sessions.sort_by(|a, b| b.ordinal.cmp(&a.ordinal).then_with(|| a.device.cmp(&b.device)));
        all.extend(sessions.into_iter().map(PageRef::Session));
        let days = day::all(layout).context(|| "cannot list the days".into())?;
        all.extend(days.into_iter().rev().map(PageRef::Day));
        let mut report = PagesReport::default();
        for (at, page) in all.into_iter().enumerate().skip(request.from) {
            if report.pages.len() == request.limit {
                report.next = Some(at);
                break;
            }
            report.pages.extend(self.title_of(&page).map(|title| ListedPage { page, title }));
        }
        Ok(report)
    }

    /// What a page is listed as; `None` where it is not there, or not worth it.
    fn title_of(&self, page: &PageRef) -> Option<String> {
        match page {
            PageRef::Memory => files::is_file(self.layout().memory_page())
                .then(|| "What is always loaded".to_string()),
            PageRef::Session(id) => {
                let entry = IndexEntry::read(self.store(), id)?;
                let content = &entry.digest.content;
                let title = format!("{} · {}", entry.date, content.title);
                (content.worth == Worth::Full).then(|| text::one_line(&title, 120))
            }
            PageRef::Day(day) => Some(format!("The day {day}")),
            other => Some(other.to_string()),
        }
    }

    /// Reads a page whole.
    pub fn page(&self, page: &PageRef) -> Result<String> {
        let layout = self.layout();
        let path = match page {
            PageRef::Session(id) => return self.recalled(id.to_string()),
            PageRef::Episode(id, episode) => return self.recalled(format!("{id}#{episode}")),
            PageRef::Memory => layout.memory_page(),
            PageRef::Core(id) => layout.core(id),
            PageRef::Sphere(id) => layout.sphere(id),
            PageRef::Day(day) if files::is_file(layout.summary(*day)) => layout.summary(*day),
            PageRef::Day(day) => layout.day(*day),
        };
        if !files::is_file(&path) {
            return Err(Error::not_found(format!("there is no page `{page}`")));
        }
        files::read_to_string(&path).context(|| format!("cannot read `{}`", layout.shown(&path)))
    }

    fn recalled(&self, what: String) -> Result<String> {
        Ok(self.recall(RecallRequest::of(what).dry_run(true))?.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_back_and_nothing_else_is_one() {
        for name in [
            "memory",
            "session/SES3_laptop_SP1C2",
            "session/SES3_laptop_SP1C2/EP_004",
            "day/2026-11-15",
            "core/CORE_laptop_SP1C2",
            "core/SPHERE_laptop_SP1",
        ] {
            assert_eq!(name.parse::<PageRef>().unwrap().to_string(), name);
        }
        for name in [
            "",
            "session",
            "session/../../etc/passwd",
            "session/SES3_laptop_SP1C2/../raw",
            "day/2026-13-01",
            "day/../core",
            "core/MEMORY.md",
            "core/../../x",
            "raw/SES3_laptop_SP1C2",
        ] {
            assert!(name.parse::<PageRef>().is_err(), "{name}");
        }
    }
}
