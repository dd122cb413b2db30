//! `handoff`: one page to go on elsewhere, in another agent or tomorrow: the goal, where it stands,
//! what was decided and why, what did not work, what is open, how to check it.

use serde::Serialize;

use super::context;
use super::forget;
use super::list::ListRequest;
use crate::base::setters::setters;
use crate::distill::handoff;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::model::ids::SessionId;
use crate::ops::recall::RecallRequest;

/// What to hand over.
#[derive(Debug, Clone, Default)]
pub struct HandoffRequest {
    /// The session, as `forget` understands names; the newest of the project where nothing is
    /// said.
    pub session: Option<String>,
    /// The project whose newest session is meant; that of the current folder where nothing is said.
    pub project: Option<String>,
}

setters!(HandoffRequest { session: Option<String>, project: Option<String> });

/// The page.
#[derive(Debug, Serialize)]
pub struct HandoffReport {
    pub session: SessionId,
    /// Which agent it was.
    pub flavor: String,
    /// The agent's own id of the session.
    pub native_id: String,
    /// Where it worked.
    pub cwd: Option<String>,
    pub text: String,
}

impl Memory {
    /// Makes the page with which somebody else can go on.
    pub fn handoff(&self, request: HandoffRequest) -> Result<HandoffReport> {
        let session = match &request.session {
            Some(name) => forget::named(self.store(), name.trim())?,
            None => self.newest_of(request.project.as_deref())?,
        };
        let digest = self.store().digest(&session)?.ok_or_else(|| {
            Error::not_found(format!("`{session}` has no digest")).hint("`memtree sweep` makes it")
        })?;
        let last = digest.content.episodes.map(|(_, last)| format!("{session}#{last}"));
        let last = last.and_then(|last| self.recall(RecallRequest::of(last).dry_run(true)).ok());
        let last_words = last.filter(|last| !last.evicted).map(|last| last.text);
        let is_persons = self.trust().of_session(&session).speaks_for_person();
        let text = handoff::page(&digest, last_words.as_deref(), is_persons);
        let native_id = digest.source_id.split_once(':').map_or("", |(_, id)| id).to_string();
        let flavor = digest.content.flavor.clone();
        Ok(HandoffReport { session, flavor, native_id, cwd: digest.content.cwd, text })
    }

    /// The newest session of a project.
    fn newest_of(&self, project: Option<&str>) -> Result<SessionId> {
        let named = project.map(str::to_string);
        let projects = context::projects(named.as_ref(), &self.environment().current_dir);
        for project in &projects {
            let request = ListRequest::default().project(project.clone()).limit(1usize);
            if let Some(newest) = self.list(request)?.sessions.into_iter().next() {
                return Ok(newest.session);
            }
        }
        let known = projects.join("`, `");
        Err(Error::not_found(format!("no session of the project `{known}` is known"))
            .hint("name one: `memtree list` shows them"))
    }
}
