//! What agents propose to the person: a yes or no to something that waits, and instructions that
//! they took down. One line each, only ever appended to, on this device alone: nothing of it counts
//! before the person has said yes.

use std::io;

use serde::{Deserialize, Serialize};

use super::reviews::Action;
use crate::base::files;
use crate::model::ids::SessionId;
use crate::store::layout::Layout;

/// How much of the file is read: an agent that never stops fills nobody's memory.
const MOST: u64 = 4 << 20;

/// One proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// RFC 3339, to the second.
    pub at: String,
    /// The program through which the agent spoke, as it calls itself.
    pub by: String,
    #[serde(flatten)]
    pub what: Proposed,
}

/// What is proposed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Proposed {
    /// How to decide on something that waits.
    Decision {
        item: String,
        action: Action,
        why: String,
        /// The fingerprint of the evidence that the agent saw.
        #[serde(default)]
        evidence: String,
    },
    /// A standing instruction of the person's, in the agent's words.
    Instruction {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
    },
}

/// Reads them, oldest first, and names the lines that are none.
pub fn load(layout: &Layout) -> io::Result<(Vec<Proposal>, Vec<String>)> {
    let path = layout.agents_proposals();
    let bytes = files::if_exists(files::read_at_most(&path, MOST))?.unwrap_or_default();
    let (mut proposals, mut damaged) = (Vec::new(), Vec::new());
    for (number, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
        match serde_json::from_str(line) {
            Ok(proposal) => proposals.push(proposal),
            Err(_) if line.trim().is_empty() => {}
            Err(err) => damaged.push(format!("{}:{}: {err}", layout.shown(&path), number + 1)),
        }
    }
    Ok((proposals, damaged))
}

/// Adds one.
pub fn append(layout: &Layout, proposal: &Proposal) -> io::Result<()> {
    files::append_locked(&layout.agents_proposals(), &serde_json::to_string(proposal)?)
}
