//! Writing one line into a day by hand: what no agent's log tells.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::base::clock::Timestamp;
use crate::base::redact::Redactor;
use crate::base::text;
use crate::base::zone::Zone;
use crate::error::{Context, Error, Result};
use crate::model::day::{LONGEST_LINE, LineKind};
use crate::store::Store;
use crate::store::days::Entry;

/// The longest value of a `key=value`, in characters.
const LONGEST_VALUE: usize = 200;

/// What to write.
pub struct Request<'r> {
    pub kind: LineKind,
    pub text: &'r str,
    pub at: Timestamp,
    pub zone: Zone,
    /// Whose line it is.
    pub session: Option<&'r str>,
    /// More about it, written behind the text as `key=value`, in the order of the keys.
    pub metadata: BTreeMap<String, String>,
    pub redactor: &'r Redactor,
    pub dry_run: bool,
}

/// What was written.
#[derive(Debug, Serialize)]
pub struct Logged {
    pub day: String,
    pub path: String,
    pub line: String,
}

/// Writes a line into its day.
pub fn log(store: &Store, request: &Request<'_>) -> Result<Logged> {
    let layout = store.layout();
    // Redacted whole, so that a secret at the end of what is kept is still told by all of it.
    let clean = |value: &str, most: usize| text::one_line(&request.redactor.redact(value), most);
    let mut said = clean(request.text, LONGEST_LINE);
    if said.is_empty() {
        return Err(Error::usage("there is nothing to log: the text is empty")
            .hint("write `memtree log user \"what was said\"`, or `-` for standard input"));
    }
    for (key, value) in &request.metadata {
        said.push_str(&format!(" {key}={}", clean(value, LONGEST_VALUE)));
    }
    let session = request.session.map(|session| clean(session, LONGEST_VALUE)).unwrap_or_default();
    let entry = Entry { at: request.at, kind: request.kind, session: &session, text: &said };
    let (day, line) = match request.dry_run {
        true => entry.rendered(request.zone),
        false => {
            store.refuse_links(None)?;
            let (day, _) = entry.rendered(request.zone);
            let path = layout.shown(&layout.day(day));
            entry
                .append(layout, request.zone)
                .context(|| format!("cannot write to the day `{path}`"))?
        }
    };
    Ok(Logged { day: day.to_string(), path: layout.shown(&layout.day(day)), line })
}
