//! Writing days' summaries again.

use std::collections::BTreeMap;

use chrono::NaiveDate;

use crate::base::files;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::ops::days::{self, Scope, Summarized};
use crate::ops::flush::{self, Flush};

/// Which days.
#[derive(Debug, Clone, Copy, Default)]
pub enum SummarizeRequest {
    Day(NaiveDate),
    /// All that need it.
    #[default]
    Pending,
}

/// The days whose summaries were written.
pub type SummarizeReport = Summarized;

impl Memory {
    /// The days that a request means.
    pub fn plan_summarize(&self, request: SummarizeRequest) -> Result<Vec<NaiveDate>> {
        match request {
            SummarizeRequest::Day(day) => Ok(vec![day]),
            SummarizeRequest::Pending => {
                let today = days::today(self.now(), self.zone()?);
                days::pending(self.store(), today).context(|| "cannot read the days".into())
            }
        }
    }

    /// Writes summaries; a model, where one is configured, is asked about what it has not
    /// summarized.
    pub fn summarize(&self, request: SummarizeRequest) -> Result<SummarizeReport> {
        let (store, layout, flush) = (self.store(), self.layout(), &Flush::of(self)?);
        let (now, zone) = (self.now(), self.zone()?);
        store.refuse_links(None)?;
        let mut summarized = match request {
            SummarizeRequest::Pending => days::settle(store, now, zone, Scope::All)?,
            SummarizeRequest::Day(day) => {
                if crate::store::day::is_silent(layout, day)
                    .context(|| format!("cannot read the day {day}"))?
                {
                    let error = Error::new(format!("there is nothing to summarize on {day}"))
                        .because(format!("`{}` tells nothing", layout.shown(&layout.day(day))));
                    let older = layout.old_day(day);
                    return Err(match files::is_file(&older) {
                        true => error.hint(format!(
                            "`{}` is kept as another tool wrote it",
                            layout.shown(&older)
                        )),
                        false => error.hint("`memtree sweep` writes the days of captured sessions"),
                    });
                }
                days::rewrite(store, &[day], &BTreeMap::new(), now, zone)?
            }
        };
        let asked: Vec<NaiveDate> = match request {
            SummarizeRequest::Day(day) => vec![day],
            SummarizeRequest::Pending => summarized.days.clone(),
        };
        for day in asked {
            let flushed = flush::whole_day(store, day, flush)?;
            summarized.days.extend(flushed.summaries.days);
        }
        summarized.days.sort_unstable();
        summarized.days.dedup();
        Ok(summarized)
    }
}
