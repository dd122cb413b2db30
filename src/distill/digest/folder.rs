//! The digest of a folder that is kept as a session: nobody spoke in it, so it is about its files.

use std::collections::BTreeMap;

use super::{SnapshotParts, content};
use crate::base::clock::Timestamp;
use crate::distill::agent_state::AgentState;
use crate::distill::facts::Facts;
use crate::model::digest::{Content, Origin, Outcome, Trigger, Worth};
use crate::model::session::Head;

/// What is known of a folder besides the words of its files. Every text is clean.
#[derive(Debug)]
pub struct FolderFacts {
    pub name: String,
    /// The folder's path.
    pub path: String,
    pub objective: String,
    /// The objective is the motto of a folder that has none.
    pub motto: Option<String>,
    pub status: Option<Outcome>,
    /// When the newest file was changed.
    pub modified: Option<Timestamp>,
    /// How many files were kept.
    pub files: usize,
    /// The link to the file of each part.
    pub links: BTreeMap<u32, String>,
    /// The range of episodes in the folder's own names.
    pub own_episodes: String,
    /// The state that the agent left in one of the files.
    pub state: Option<AgentState>,
}

/// What the digest of a folder says.
pub fn folder_content(
    flavor: &str,
    facts: &Facts,
    folder: FolderFacts,
    parts: SnapshotParts,
) -> Content {
    let title = Some(format!("Snapshot of {}", folder.name));
    let head = Head { title, cwd: Some(folder.path), ..Head::default() };
    let mut content = content(flavor, facts, &head, parts);
    let triggers = std::mem::take(&mut content.triggers).into_iter().map(|trigger| Trigger {
        path: folder.links.get(&trigger.episode.0).cloned().unwrap_or_default(),
        // Nobody said it in a conversation: it is what a file holds.
        origin: Origin::Tool,
        ..trigger
    });
    Content {
        triggers: triggers.collect(),
        started: folder.modified,
        ended: folder.modified,
        status: folder.status.unwrap_or(Outcome::Unknown),
        worth: Worth::Full,
        motto: folder.motto.unwrap_or_else(|| folder.objective.clone()),
        core_intent: folder.objective.clone(),
        objective: folder.objective,
        key_outcomes: vec![format!("{} files kept byte for byte", folder.files)],
        turns: 0,
        arc: folder.state.map(|state| state.encode()).unwrap_or_default(),
        own_episodes: folder.own_episodes,
        ..content
    }
}
