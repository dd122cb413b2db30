//! Writing days' summaries again.

use std::collections::BTreeMap;

use chrono::NaiveDate;

use crate::error::{Context, Error, Result};
use crate::ops::days::{self, Scope, Summarized};
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
        Which::Pending => days::settle(store, flush.now, flush.zone, Scope::All, "summarize")?,
        Which::Day(day) => {
            if crate::store::day::is_silent(layout, day)
                .context(|| format!("cannot read the day {day}"))?
            {
                let error = Error::new(format!("there is nothing to summarize on {day}"))
                    .because(format!("`{}` tells nothing", layout.shown(&layout.day(day))));
                let older = layout.old_day(day);
                return Err(match older.is_file() {
                    true => error.hint(format!(
                        "`{}` is kept as another tool wrote it",
                        layout.shown(&older)
                    )),
                    false => error.hint("`memtree sweep` writes the days of captured sessions"),
                });
            }
            days::rewrite(store, &[day], &BTreeMap::new(), flush.now, flush.zone, "summarize")?
        }
    };
    let asked: Vec<NaiveDate> = match which {
        Which::Day(day) => vec![day],
        Which::Pending => summarized.days.clone(),
    };
    for day in asked {
        let flushed = flush::whole_day(store, day, flush)?;
        summarized.days.extend(flushed.summaries.days);
    }
    summarized.days.sort_unstable();
    summarized.days.dedup();
    Ok(summarized)
}
