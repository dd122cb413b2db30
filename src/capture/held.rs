//! Held back: sessions that an `[exclude]` names which nobody accepted here yet.
//!
//! Leaving them out could lose them, since agents delete their logs; giving them a page could show
//! what the person wants hidden. So their raw is copied below `.memtree/local`, and they get no
//! page until the person decides.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::known::Known;
use super::sources::Root;
use crate::base::files;
use crate::model::exclude::Exclude;
use crate::model::session::Source;
use crate::store::layout::{self, Layout};
use crate::store::local::StateFile;

/// A session that is held back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldSession {
    project: Option<String>,
    cwd: Option<String>,
    /// Its log, as the agent keeps it.
    files: Vec<PathBuf>,
}

/// By the agents' own ids.
pub type HeldSessions = BTreeMap<String, HeldSession>;

fn file(layout: &Layout) -> StateFile<HeldSessions> {
    StateFile::local(layout.held_list())
}

/// Where the copy of a session lies.
fn folder(layout: &Layout, source_id: &str) -> PathBuf {
    layout.held().join(&files::sha256_hex(source_id.as_bytes())[..16])
}

/// Moves the raw of a staged session to where it is held, in the place of an earlier copy.
pub fn hold(layout: &Layout, source: &Source, staged: &std::path::Path) -> io::Result<()> {
    let place = folder(layout, &source.source_id());
    files::remove_folder(&place)?;
    files::create_private_dir(&place.join(layout::SNAPSHOT))?;
    let raw = place.join(layout::SNAPSHOT).join(layout::RAW);
    files::rename(&staged.join(layout::SNAPSHOT).join(layout::RAW), &raw)?;
    files::remove_folder(staged)
}

/// Notes what is held back now.
pub fn note(layout: &Layout, new: Vec<(Source, Option<String>, Option<String>)>) -> io::Result<()> {
    if new.is_empty() {
        return Ok(());
    }
    let mut held = file(layout).load();
    for (source, project, cwd) in new {
        let files = source.files.iter().map(|file| file.path.clone()).collect();
        held.insert(source.source_id(), HeldSession { project, cwd, files });
    }
    file(layout).save(&held).map(drop)
}

/// The places of copies whose log is gone, and which nobody wants hidden any more: they are
/// captured from there.
pub fn roots(layout: &Layout, held_back: &Exclude, exclude: &Exclude) -> Vec<Root> {
    let is_free = |one: &HeldSession| {
        let (project, cwd) = (one.project.as_deref(), one.cwd.as_deref());
        !held_back.has_session(project, cwd) && !exclude.has_session(project, cwd)
    };
    let held = file(layout).load();
    let gone = held.iter().filter(|(_, one)| is_free(one) && !one.files.iter().any(files::exists));
    gone.map(|(source_id, _)| Root::usual(folder(layout, source_id))).collect()
}

/// Removes the copies of what was decided: captured, or left out.
pub fn settle(
    layout: &Layout,
    exclude: &Exclude,
    known: &Known,
    is_captured: impl Fn(&str) -> bool,
) -> io::Result<()> {
    let mut held = file(layout).load();
    let is_over = |source_id: &String, one: &HeldSession| {
        exclude.has_session(one.project.as_deref(), one.cwd.as_deref())
            || is_captured(source_id)
            || known.session(source_id).is_some_and(|session| session.digested && session.own)
    };
    let over: Vec<String> =
        held.iter().filter(|(id, one)| is_over(id, one)).map(|(id, _)| id.clone()).collect();
    for source_id in &over {
        files::remove_folder(&folder(layout, source_id))?;
        held.remove(source_id);
    }
    if over.is_empty() { Ok(()) } else { file(layout).save(&held).map(drop) }
}
