//! Writing one line into a day by hand: what is in no agent's log.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::base::clock::Timestamp;
use crate::base::setters::setters;
use crate::base::text;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::day::{LONGEST_LINE, LineKind};
use crate::store::day::Entry;

/// The longest value of a `key=value`, in characters.
const LONGEST_VALUE: usize = 200;

/// A line to write.
#[derive(Debug, Clone, Default)]
pub struct LogRequest {
    pub kind: LineKind,
    pub text: String,
    /// When it was; the present time where nothing is said.
    pub at: Option<Timestamp>,
    /// Whose line it is.
    pub session: Option<String>,
    /// More about it, written behind the text as `key=value`, in the order of the keys.
    pub metadata: BTreeMap<String, String>,
    pub dry_run: bool,
}

setters!(LogRequest {
    kind: LineKind,
    text: String,
    at: Option<Timestamp>,
    session: Option<String>,
    metadata: BTreeMap<String, String>,
    dry_run: bool,
});

/// The line that was written.
#[derive(Debug, Serialize)]
pub struct LogReport {
    pub day: String,
    pub path: String,
    pub line: String,
}

impl Memory {
    /// Writes a line into its day.
    pub fn log(&self, request: LogRequest) -> Result<LogReport> {
        let (layout, zone, redactor) = (self.layout(), self.zone()?, self.redactor()?);
        // Redacted whole, so that a secret at the end of what is kept is still found by all of it.
        let clean = |value: &str, most: usize| text::one_line(&redactor.redact(value), most);
        let mut said = clean(&request.text, LONGEST_LINE);
        if said.is_empty() {
            return Err(Error::usage("there is nothing to log: the text is empty")
                .hint("write `memtree log user \"what was said\"`, or `-` for standard input"));
        }
        for (key, value) in &request.metadata {
            said.push_str(&format!(" {key}={}", clean(value, LONGEST_VALUE)));
        }
        let session =
            request.session.map(|session| clean(&session, LONGEST_VALUE)).unwrap_or_default();
        let at = request.at.unwrap_or(self.now());
        let entry = Entry { at, kind: request.kind, session: &session, text: &said };
        let (day, line) = match request.dry_run {
            true => entry.rendered(zone),
            false => {
                self.store().refuse_links(None)?;
                let (day, _) = entry.rendered(zone);
                let path = layout.shown(&layout.day(day));
                entry
                    .append(layout, zone)
                    .context(|| format!("cannot write to the day `{path}`"))?
            }
        };
        Ok(LogReport { day: day.to_string(), path: layout.shown(&layout.day(day)), line })
    }
}
