//! Why: the decisions behind a source file, from the sessions that touched it; of a line, those of
//! the session that made the commit first.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::base::clock::Timestamp;
use crate::base::git::Git;
use crate::base::setters::setters;
use crate::base::{files, text};
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::model::digest::{Claim, ClaimKind, Digest, Origin};
use crate::model::ids::SessionId;
use crate::ops::blame::{BlameReport, BlameRequest, FileSession};

/// Of what the reasons are wanted.
#[derive(Debug, Clone, Default)]
pub struct WhyRequest {
    /// A source file, relative to the current folder.
    pub file: PathBuf,
    pub line: Option<usize>,
    pub limit: Option<usize>,
}

setters!(WhyRequest { file: PathBuf, line: Option<usize>, limit: Option<usize> });

/// How many sessions are shown where nothing is said.
const MOST: usize = 5;
/// A session that touched no more files than this was about each of them.
const FEW_FILES: usize = 3;

/// The decisions behind a file.
#[derive(Debug, Serialize)]
pub struct WhyReport {
    pub file: String,
    /// Which commit wrote the line, where one was asked for and git knows.
    pub line: Option<LineOrigin>,
    /// Those that say something, what is nearest first, then the latest.
    pub sessions: Vec<SessionReasons>,
    /// How many more sessions touched it.
    pub more: usize,
}

/// Where a line comes from.
#[derive(Debug, Serialize)]
pub struct LineOrigin {
    pub line: usize,
    pub commit: String,
    /// The session that made the commit, where one is known.
    pub session: Option<SessionId>,
}

/// What a session decided.
#[derive(Debug, Serialize)]
pub struct SessionReasons {
    pub session: SessionId,
    pub title: String,
    pub flavor: String,
    pub ended: Option<Timestamp>,
    pub status: String,
    pub path: String,
    pub reasons: Vec<Reason>,
    #[serde(skip)]
    nearness: Nearness,
}

/// One line of a session that bears on the file.
#[derive(Debug, Serialize)]
pub struct Reason {
    pub kind: ClaimKind,
    pub text: String,
    pub episode: String,
    /// Whose words it is in: the person, somebody on another device, the agent, a tool.
    pub said_by: &'static str,
    pub nearness: Nearness,
}

/// How near a reason is to the file, the nearest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Nearness {
    /// The session made the commit that wrote the line.
    Commit,
    /// It names the file.
    Named,
    /// It was said where the file was worked on.
    Episode,
    /// The session was about little else.
    #[default]
    Session,
}

impl Memory {
    /// Says what was decided about a file.
    pub fn why(&self, request: WhyRequest) -> Result<WhyReport> {
        let blame = BlameRequest { file: request.file.clone(), line: None };
        let touched = match self.blame(blame)? {
            BlameReport::Source(touched) => touched,
            BlameReport::Memory { .. } => {
                let file = request.file.display();
                return Err(Error::usage(format!("`{file}` is a page of the memory"))
                    .hint(format!("`memtree blame {file}` leads to what is behind its lines")));
            }
        };
        let commit = request.line.and_then(|line| self.commit_of(&request.file, line));
        let mut line = request.line.zip(commit).map(|(line, commit)| {
            let session = None;
            LineOrigin { line, commit, session }
        });
        let name = request.file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let mut sessions = Vec::new();
        let all = touched.sessions.len();
        for session in touched.sessions {
            let Ok(Some(digest)) = self.store().digest(&session.session) else { continue };
            let made_it = line.as_ref().is_some_and(|line| made_commit(&digest, &line.commit));
            if let Some(line) = line.as_mut().filter(|line| made_it && line.session.is_none()) {
                line.session = Some(session.session.clone());
            }
            let is_persons = self.trust().of_session(&digest.session).speaks_for_person();
            let found = reasons(&digest, &session, name, made_it, is_persons);
            sessions.extend(reasons_of(session, &digest, found));
        }
        sessions.sort_by(|a: &SessionReasons, b| {
            (a.nearness, b.ended, &b.session).cmp(&(b.nearness, a.ended, &a.session))
        });
        sessions.truncate(request.limit.unwrap_or(MOST));
        Ok(WhyReport { file: touched.file, line, more: all - sessions.len(), sessions })
    }

    /// The commit that wrote a line; none where git does not know.
    fn commit_of(&self, file: &Path, line: usize) -> Option<String> {
        let environment = self.environment();
        let path = environment.current_dir.join(file);
        let folder = path.parent().filter(|folder| files::is_dir(folder))?;
        let git = Git {
            path: environment.variable("PATH").unwrap_or_default(),
            home: &environment.places.home,
        };
        git.commit_of_line(folder, path.file_name()?.to_str()?, line)
    }
}

/// Whether a session made a commit; short names of it count.
fn made_commit(digest: &Digest, commit: &str) -> bool {
    let same = |own: &String| {
        own.len() >= 7 && (commit.starts_with(own.as_str()) || own.starts_with(commit))
    };
    digest.content.commits.iter().any(same)
}

/// What a session says that bears on a file.
fn reasons(
    digest: &Digest,
    session: &FileSession,
    name: &str,
    made_it: bool,
    is_persons: bool,
) -> Vec<Reason> {
    let lower = name.to_lowercase();
    let is_about_few = digest.content.files.len() <= FEW_FILES;
    let near = |claim: &Claim| {
        let here = claim.episode.to_string();
        if made_it {
            Some(Nearness::Commit)
        } else if !lower.is_empty() && claim.text.to_lowercase().contains(&lower) {
            Some(Nearness::Named)
        } else if session.triggers.iter().any(|trigger| trigger.episode == here) {
            Some(Nearness::Episode)
        } else {
            is_about_few.then_some(Nearness::Session)
        }
    };
    let kinds = [ClaimKind::Decision, ClaimKind::Standing, ClaimKind::Lesson];
    let claims = digest.content.stated.iter();
    let mut found: Vec<Reason> = claims
        .filter(|claim| kinds.contains(&claim.kind) && !claim.is_check())
        .filter_map(|claim| {
            let nearness = near(claim)?;
            let is_own = claim.origin == Origin::User && is_persons;
            let said_by = match claim.origin {
                Origin::User if is_own => "the person",
                Origin::User => "somebody on another device",
                Origin::Assistant => "the agent",
                Origin::Tool => "a tool",
            };
            let text = text::without_sentences(&claim.text, text::is_injection);
            let text = text::one_line(text.trim(), 400);
            let speaks = !is_own && text::speaks_for_person(&claim.text);
            let (kind, episode) = (claim.kind, claim.episode.to_string());
            (!text.is_empty() && !speaks).then_some(Reason {
                kind,
                text,
                episode,
                said_by,
                nearness,
            })
        })
        .collect();
    found.sort_by_key(|reason| (reason.nearness, reason.kind != ClaimKind::Decision));
    found
}

/// A session with its reasons, where it has some.
fn reasons_of(
    session: FileSession,
    digest: &Digest,
    reasons: Vec<Reason>,
) -> Option<SessionReasons> {
    let nearness = reasons.first()?.nearness;
    Some(SessionReasons {
        session: session.session,
        title: session.title,
        flavor: digest.content.flavor.clone(),
        ended: session.ended,
        status: session.status,
        path: session.path,
        reasons,
        nearness,
    })
}
