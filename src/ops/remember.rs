//! `remember`: a note that an agent writes, into today's log and, given a session, into its Notes;
//! or an instruction of the person's that it takes down, into the inbox, where it waits for their
//! yes.
//!
//! What an agent writes has the agent's origin for good: it is found and shown as such, and never
//! given to anybody as the person's words. A secret, an order to other agents or a piece of a
//! page's frame is refused rather than mended, so that the agent learns of it.

use serde::{Deserialize, Serialize};

use super::forget;
use super::log::LogRequest;
use super::review::InstructionRequest;
use crate::base::setters::setters;
use crate::base::{markdown, text};
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::context;
use crate::model::day::LineKind;
use crate::model::ids::SessionId;
use crate::store::{authored, digest};

/// The longest note, in characters.
const LONGEST: usize = 2_000;

/// What kind of thing is noted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoteKind {
    /// What was found out.
    #[default]
    Note,
    /// A standing instruction that the person gave.
    Instruction,
}

/// What to note.
#[derive(Debug, Clone, Default)]
pub struct RememberRequest {
    pub text: String,
    /// The session that it belongs to, as `forget` understands names.
    pub session: Option<String>,
    pub kind: NoteKind,
    /// The project that an instruction is for; all where there is none.
    pub project: Option<String>,
    /// The program through which the agent speaks.
    pub by: String,
}

setters!(RememberRequest {
    text: String,
    session: Option<String>,
    kind: NoteKind,
    project: Option<String>,
    by: String,
});

/// What was noted.
#[derive(Debug, Serialize)]
pub struct RememberReport {
    /// The line as it stands in the day, or the instruction as it waits.
    pub line: String,
    /// The pages that have it, relative to the memory.
    pub paths: Vec<String>,
    /// The item of the inbox that waits for the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
}

impl Memory {
    /// Writes a note of an agent's.
    pub fn remember(&self, request: RememberRequest) -> Result<RememberReport> {
        let said = text::one_line(&request.text, LONGEST);
        self.refuse_unfit(&request, &said)?;
        let session = request.session.as_deref().map(|name| forget::named(self.store(), name));
        let session = session.transpose()?;
        if request.kind == NoteKind::Instruction {
            let RememberRequest { project, by, .. } = request;
            let noted = InstructionRequest { text: said.clone(), project, session, by };
            let waits = self.note_instruction(noted)?.to_string();
            return Ok(RememberReport { line: said, paths: Vec::new(), waits: Some(waits) });
        }
        let mut paths = Vec::new();
        if let Some(session) = &session {
            paths.push(self.note_in(session, &said)?);
        }
        let log = LogRequest::default()
            .kind(LineKind::MainAgent)
            .text(format!("noted: {said}"))
            .session(session.map(|session| session.to_string()));
        let logged = self.log(log)?;
        paths.push(logged.path);
        Ok(RememberReport { line: logged.line, paths, waits: None })
    }

    fn refuse_unfit(&self, request: &RememberRequest, said: &str) -> Result<()> {
        let typed = &request.text;
        let refused = |reason: &str, hint: &str| {
            Err(Error::usage("this is not noted")
                .because(reason.to_string())
                .hint(hint.to_string()))
        };
        if said.is_empty() {
            return refused("there is no text", "say what was found out, in a sentence");
        }
        if typed.trim().chars().count() > LONGEST {
            return refused("it is too long", "note the one or two sentences that matter");
        }
        let has_frame = typed.lines().map(str::trim_start).any(|line| {
            line.starts_with('#') || line.starts_with("---") || line.starts_with("<!--")
        });
        if has_frame || context::is_marked(said) {
            return refused("it has a heading or a mark of a page", "write plain sentences");
        }
        if self.redactor()?.redact(typed) != *typed {
            return refused(
                "it has a secret in it",
                "say where the secret is kept, not what it is",
            );
        }
        // An instruction is the person's to confirm, so it may say what they want.
        let is_note = request.kind == NoteKind::Note;
        if text::is_injection(said) || (is_note && text::speaks_for_person(said)) {
            return refused(
                "it gives orders to agents, or speaks in the person's name",
                "note what is the case; a rule that the person gave is `kind: instruction`",
            );
        }
        Ok(())
    }

    /// Appends a marked line to the Notes of a session's digest; returns the page.
    fn note_in(&self, session: &SessionId, said: &str) -> Result<String> {
        let (store, layout) = (self.store(), self.layout());
        let path = layout.digest(session);
        let shown = layout.shown(&path);
        let day = self.now().format("%Y-%m-%d");
        let line = format!("- (agent, {day}) {}", markdown::inline(said));
        store.refuse_links(Some(session))?;
        let _lock = store.lock()?;
        authored::replace(layout, &path, |page| Some(digest::with_note(page?, &line)))
            .context(|| format!("cannot write `{shown}`"))?;
        Ok(shown)
    }
}
