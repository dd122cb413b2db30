//! Writing days' summaries again.

use std::collections::BTreeMap;

use chrono::NaiveDate;

use crate::error::{Context, Error, Result};
use crate::ops::days::{self, Summarized};
use crate::ops::flush::{self, Flush};
use crate::store::Store;

/// Which days.
pub enum Which {
    Day(NaiveDate),
    /// All that need it.
    Pending,
}

/// Writes summaries; a model, where there is one, is asked about what it has not told yet.
pub fn summarize(store: &Store, which: Which, flush: &Flush<'_>) -> Result<Summarized> {
    let layout = store.layout();
    store.refuse_links(None)?;
    let mut summarized = match which {
        Which::Pending => days::settle(store, flush.now, flush.zone, "summarize")?,
        Which::Day(day) => {
            if crate::store::days::is_silent(layout, day).context(|| format!("cannot read the day {day}"))? {
                return Err(Error::new(format!("there is nothing to summarize on {day}"))
                    .because(format!("`{}` tells nothing", layout.shown(&layout.day(day))))
                    .hint("`memtree sweep` writes the days of captured sessions"));
            }
            days::rewrite(store, &[day], &BTreeMap::new(), flush.now, flush.zone, "summarize")?
        }
    };
    let asked: Vec<NaiveDate> = match which {
        Which::Day(day) => vec![day],
        Which::Pending => summarized.days.clone(),
    };
    for day in asked {
        let told = flush::whole_day(store, day, flush)?;
        summarized.days.extend(told.summaries.days);
    }
    summarized.days.sort_unstable();
    summarized.days.dedup();
    Ok(summarized)
}
