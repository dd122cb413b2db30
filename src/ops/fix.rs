//! Fix: what was done after the same error in earlier sessions, whichever agent they were with, and
//! which of it held.

use serde::Serialize;

use crate::base::setters::setters;
use crate::base::text;
use crate::distill::errors;
use crate::distill::patterns::fixes::{self, Occurrence};
use crate::distill::patterns::{Observed, loci};
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::model::digest::Worth;

/// Which error was met.
#[derive(Debug, Clone, Default)]
pub struct FixRequest {
    /// The error as it was printed: one line, or a whole output.
    pub error: String,
    /// Only sessions of this project.
    pub project: Option<String>,
    pub limit: Option<usize>,
}

setters!(FixRequest { error: String, project: Option<String>, limit: Option<usize> });

/// How many sessions are told where nothing is said.
const MOST: usize = 5;
/// How much of an output is looked through, in bytes.
const LONGEST: usize = 64 << 10;

/// What is known of an error.
#[derive(Debug, Serialize)]
pub struct FixReport {
    /// The line that was looked for, without what differs from time to time.
    pub error: String,
    /// In how many sessions it was met, went away, and stayed away.
    pub met: usize,
    pub solved: usize,
    pub held: usize,
    /// What held comes first, the latest first.
    pub sessions: Vec<Occurrence>,
    /// What helps against errors of this kind.
    pub in_general: Option<String>,
}

impl Memory {
    /// Says what was done about an error before.
    pub fn fix(&self, request: FixRequest) -> Result<FixReport> {
        let printed = text::cut(&request.error, LONGEST);
        let lines = lines_of(printed);
        if lines.is_empty() {
            return Err(Error::usage("there is no error to look for")
                .hint("give it as it was printed: memtree fix \"EWOULDBLOCK: lock is held\""));
        }
        let mut sessions: Vec<Observed> = self.observed()?.sessions;
        sessions.retain(|session| session.worth == Worth::Full);
        sessions.sort_by(|a, b| (a.ended, &a.session).cmp(&(b.ended, &b.session)));
        let found = lines.into_iter().map(|line| {
            let mut met = fixes::after(&line, &sessions);
            met.retain(|one| request.project.is_none() || one.project == request.project);
            (line, met)
        });
        // The line of an output that was met before; the first, where none was.
        let found: Vec<_> = found.collect();
        let best = found.iter().position(|(_, met)| !met.is_empty()).unwrap_or_default();
        let (error, met) = found.into_iter().nth(best).unwrap_or_default();
        let class = loci::of_error(&error).and_then(|locus| loci::class(&locus));
        let (solved, held) = (met.iter().filter(|one| one.solved).count(), held(&met));
        let limit = request.limit.unwrap_or(MOST);
        Ok(FixReport {
            in_general: class.map(|class| class.advice.to_string()),
            met: met.len(),
            solved,
            held,
            sessions: met.into_iter().take(limit).collect(),
            error,
        })
    }
}

fn held(met: &[Occurrence]) -> usize {
    met.iter().filter(|one| one.held).count()
}

/// The lines of an output that are errors, as fingerprints; all of a single line.
fn lines_of(printed: &str) -> Vec<String> {
    let mut lines: Vec<String> =
        errors::in_failure(printed).into_iter().map(|line| line.fingerprint).collect();
    let only = printed.trim();
    if !only.is_empty() && !only.contains('\n') {
        lines.insert(0, errors::fingerprint(only));
    } else if let Some(first) = only.lines().next().filter(|_| lines.is_empty()) {
        lines.push(errors::fingerprint(first));
    }
    lines.dedup();
    lines
}
