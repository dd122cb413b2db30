//! Traces: where else in a memory a session has left its words, once its own folder is gone.
//!
//! A line is a session's if it names the session, or if it shares a passage with it that no other
//! session has in its digest. Lines are removed, never rewritten; a section of a day's summary goes
//! with its heading.

use std::collections::HashSet;
use std::io;

use crate::base::{files, text};
use crate::model::ids::SessionId;
use crate::store::Store;

/// By what the sessions that are to be forgotten are recognized.
pub struct Traces {
    /// Their ids, and the agents' own.
    names: Vec<String>,
    fingerprints: HashSet<u64>,
}

/// The shortest of the agents' own ids that says anything: `1` is in every other line.
const SHORTEST_NATIVE_ID: usize = 8;

impl Traces {
    /// Recognizes sessions by their ids alone.
    pub fn named(sessions: &[SessionId]) -> Traces {
        Traces {
            names: sessions.iter().map(SessionId::to_string).collect(),
            fingerprints: HashSet::new(),
        }
    }

    /// Recognizes them by all but our own ids, which stay in tombstones and in the lists of cores.
    pub fn without_ids(mut self) -> Traces {
        self.names.retain(|name| name.parse::<SessionId>().is_err());
        self
    }

    /// Reads what sessions said, as long as it can be read.
    pub fn of(store: &Store, sessions: &[SessionId]) -> io::Result<Traces> {
        let Traces { mut names, mut fingerprints } = Traces::named(sessions);
        for session in sessions {
            if let Ok(Some(digest)) = store.digest(session) {
                let native = digest.source_id.split_once(':').map_or("", |(_, native)| native);
                if native.len() >= SHORTEST_NATIVE_ID {
                    names.push(native.to_string());
                }
            }
            let folder = store.layout().session(session);
            if !files::exists(&folder) {
                continue;
            }
            for found in files::walk_files(&folder).flatten() {
                if found.link.is_some() || !is_page(&found.relative) {
                    continue;
                }
                let page = files::read(&found.path)?;
                text::each_fingerprint(&String::from_utf8_lossy(&page), |print| {
                    fingerprints.insert(print);
                });
            }
        }
        // What other sessions say too is theirs as well, and stays.
        for other in store.session_ids()?.iter().filter(|id| !sessions.contains(id)) {
            if fingerprints.is_empty() {
                break;
            }
            if let Ok(page) = files::read_to_string(store.layout().digest(other)) {
                text::each_run(&page, |run| {
                    fingerprints.remove(&run);
                });
            }
        }
        Ok(Traces { names, fingerprints })
    }

    /// Whether a line is theirs.
    pub fn are_in(&self, line: &str) -> bool {
        if let Some(owner) = owner(line) {
            return self.names.iter().any(|name| name == owner);
        }
        if self.names.iter().any(|name| holds(line, name)) {
            return true;
        }
        let mut found = false;
        let said = said(line);
        text::each_fingerprint(said, |print| found |= self.fingerprints.contains(&print));
        found
    }

    /// The numbers of a page's lines that are theirs, from 1 on.
    pub fn lines_in(&self, page: &str) -> Vec<usize> {
        let lines = (1..).zip(page.lines());
        lines.filter(|(_, line)| self.are_in(line)).map(|(number, _)| number).collect()
    }

    /// Whether a page quotes them and no other session.
    pub fn are_all_that_is_quoted(&self, page: &str) -> bool {
        let words = page.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')));
        let ids = words.map(|word| word.strip_suffix("_DIGEST").unwrap_or(word));
        let mut quoted = ids.filter(|word| word.parse::<SessionId>().is_ok()).peekable();
        quoted.peek().is_some() && quoted.all(|id| self.names.iter().any(|name| name == id))
    }

    /// A page without their lines; `None` where there are none.
    pub fn removed(&self, page: &str) -> Option<String> {
        let mut kept = String::with_capacity(page.len());
        let mut changed = false;
        for section in sections(page) {
            let heading = section.lines().next().unwrap_or_default();
            // A section of its own goes with its heading.
            if heading.starts_with("### ") && self.names.iter().any(|name| holds(section, name)) {
                changed = true;
                continue;
            }
            for line in section.split_inclusive('\n') {
                if self.are_in(line) {
                    changed = true;
                } else {
                    kept.push_str(line);
                }
            }
        }
        changed.then_some(kept)
    }
}

/// The session whose line of a day's log this is.
fn owner(line: &str) -> Option<&str> {
    let (_, rest) = line.strip_prefix("- [")?.split_once("] [")?;
    let (owner, _) = rest.split_once("] (")?.1.split_once(')')?;
    owner.parse::<SessionId>().is_ok().then_some(owner)
}

/// What a landmark's line says, without what we put around it: a letter of that may make the end of
/// a passage that others share look like another one.
fn said(line: &str) -> &str {
    let landmark = line.strip_prefix("- **").and_then(|rest| rest.split_once("** "));
    landmark.and_then(|(_, rest)| rest.split_once(" | ")).map_or(line, |(said, _)| said)
}

/// Whether a line holds a name, and not only as part of a longer one.
fn holds(line: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    line.match_indices(name).any(|(at, _)| {
        !line[..at].ends_with(is_part) && !line[at + name.len()..].starts_with(is_part)
    })
}

/// A page's parts, each from a heading to the next.
fn sections(page: &str) -> impl Iterator<Item = &str> {
    let mut starts: Vec<usize> = page.match_indices("\n#").map(|(at, _)| at + 1).collect();
    starts.insert(0, 0);
    starts.push(page.len());
    (1..starts.len()).map(move |at| &page[starts[at - 1]..starts[at]])
}

/// Whether a file of a session is something that people read: raw is the agents' own.
fn is_page(relative: &std::path::Path) -> bool {
    relative.extension().is_some_and(|extension| extension == "md")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traces(names: &[&str], said: &str) -> Traces {
        let mut fingerprints = HashSet::new();
        text::each_fingerprint(said, |print| {
            fingerprints.insert(print);
        });
        Traces { names: names.iter().map(|name| name.to_string()).collect(), fingerprints }
    }

    #[test]
    fn lines_that_name_or_quote_it_go() {
        let traces = traces(
            &["SES1_a_SP1C1"],
            "the launch code of the northern silo is written on the fridge",
        );
        let page = "\
# Day

- [10:00:00] [user] (SES1_a_SP1C1) hello
- [10:00:01] [user] (SES1_a_SP12C1) another session
- [10:00:02] [user] (SES2_a_SP1C1) The launch code of the northern silo, asked in another session, too
- somebody said: *The launch code of the northern silo* is secret
- nothing to do with it

### Session (10:00)
What was wanted: a thing.
[digest](../../sessions/SES1_a_SP1C1/SES1_a_SP1C1_DIGEST.md)

### Session (11:00)
Something else.
";
        let kept = "\
# Day

- [10:00:01] [user] (SES1_a_SP12C1) another session
- [10:00:02] [user] (SES2_a_SP1C1) The launch code of the northern silo, asked in another session, too
- nothing to do with it

### Session (11:00)
Something else.
";
        assert_eq!(traces.removed(page).as_deref(), Some(kept));
        assert_eq!(traces.removed(kept), None);
    }
}
