//! `annotate`: lines that an agent proposes for a session's digest, each with its episode and a
//! quote. What the quoted words bear out takes the place of our own lines of that kind; the rest is
//! refused by name. No model is asked.

use serde::{Deserialize, Serialize};

use super::digest::Writer;
use super::{digest, forget};
use crate::base::setters::setters;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::model::ids::SessionId;
use crate::models::digest as writing;
use crate::models::reply::RefusedLine;

/// A page has room for fewer.
const MOST_LINES: usize = 40;

/// Lines for one session.
#[derive(Debug, Clone, Default)]
pub struct AnnotateRequest {
    /// Its name, as `forget` understands names.
    pub session: String,
    pub lines: Vec<ProposedLine>,
}

setters!(AnnotateRequest { session: String, lines: Vec<ProposedLine> });

/// A line as an agent proposes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposedLine {
    /// title, objective, outcome, decision, standing, lesson or open.
    pub kind: String,
    /// `EP_004`.
    pub episode: String,
    /// Who said what is quoted: user, assistant or tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    pub text: String,
    /// The words of the episode that bear it out.
    pub quote: String,
}

/// What became of the lines.
#[derive(Debug, Serialize)]
pub struct AnnotateReport {
    pub session: SessionId,
    /// How many of them stand on the page now.
    pub kept: usize,
    pub refused: Vec<RefusedLine>,
}

impl Memory {
    /// Writes into a session's digest what an agent proposes and the session bears out.
    pub fn annotate(&self, request: AnnotateRequest) -> Result<AnnotateReport> {
        let session = forget::named(self.store(), request.session.trim())?;
        if request.lines.is_empty() {
            return Err(Error::usage("there are no lines").hint("propose at least one"));
        }
        if request.lines.len() > MOST_LINES {
            return Err(Error::usage(format!("there are {} lines", request.lines.len()))
                .because(format!("a digest takes in {MOST_LINES} at once"))
                .hint("propose the best of them"));
        }
        let redactor = self.redactor()?;
        let clean = |line: ProposedLine| ProposedLine {
            text: redactor.redact(&line.text).into_owned(),
            ..line
        };
        let lines: Vec<ProposedLine> = request.lines.into_iter().map(clean).collect();
        let proposed = serde_json::to_string(&lines).expect("lines can be written as JSON");
        let writer = Writer::new(self, false, false)?;
        let written = writer.annotate(&session, &proposed)?;
        if written.lines > 0 {
            digest::made_from_digests(self)?;
        }
        let writing::Written { lines: kept, refused } = written;
        Ok(AnnotateReport { session, kept, refused })
    }
}
