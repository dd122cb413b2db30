//! Oh My Pi: `sessions/-<cwd>/<time>_<id>.jsonl`, Pi's entries and some more (by its source of 18.3
//! and fixtures of others; no real log was seen).
//!
//! The first line may be a title that is written over in its place; the header comes second. What a
//! subagent does lies in a folder that is called as its parent's log, without the ending.

use std::path::{Path, PathBuf};

use super::pi::{self, Header, Pi};
use super::{Adapter, Identity, Places};
use crate::base::files;
use crate::error::Result;
use crate::model::session::{EventSink, Head, Log};

/// Oh My Pi.
pub struct OhMyPi;

impl Adapter for OhMyPi {
    fn name(&self) -> &'static str {
        "omp"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let (home, data) =
            (places.home.join(".omp"), places.folder("XDG_DATA_HOME", ".local/share").join("omp"));
        let mut roots = vec![home.join("agent/sessions"), data.join("sessions")];
        for (profiles, below) in [(home, "agent/sessions"), (data, "sessions")] {
            let found = files::read_dir(profiles.join("profiles")).into_iter().flatten().flatten();
            roots.extend(found.map(|profile| profile.path().join(below)));
        }
        roots.sort();
        roots
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        let own = pi::header(file)?.filter(|header| is_own(header, file));
        Ok(own.map(|header| header.identity().started_by(parent(file))))
    }

    fn identify_kept(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        Ok(pi::header(file)?.map(|header| header.identity()))
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        Pi.read(log, events)
    }
}

/// Whether a log of Pi's family is Oh My Pi's: by what only it writes into the header, else by its
/// place.
fn is_own(header: &Header, file: &Path) -> bool {
    let fields = ["title", "titleSource", "additionalDirectories", "previousSessionFiles"];
    let is_named = |name: &str| name == ".omp" || name == "omp";
    header.has_title_line
        || fields.iter().any(|name| header.session.contains_key(*name))
        || file.components().any(|part| is_named(&part.as_os_str().to_string_lossy()))
}

/// The session in whose folder a log lies.
fn parent(file: &Path) -> Option<String> {
    let folder = file.parent()?;
    let log = PathBuf::from(format!("{}.jsonl", folder.display()));
    let (_, id) = folder.file_name()?.to_str()?.rsplit_once('_')?;
    files::exists(&log).then(|| id.to_string())
}
