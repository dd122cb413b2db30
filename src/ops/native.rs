//! Native: what agents remember by themselves, read into `memories/native/` of the memory. Theirs
//! stays as it is and is not switched off.
//!
//! What is read is an agent's: redacted, with a line that says whose it is, and never the person's
//! words. A copy that somebody has changed is left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::adapters;
use crate::adapters::native::{self, NativeSpec};
use crate::base::files;
use crate::base::setters::setters;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::store::local::StateFile;

/// Whose notes are read.
#[derive(Debug, Clone, Default)]
pub struct NativeRequest {
    /// The agents by name; all that have notes here, where none is named.
    pub agents: Vec<String>,
    /// Whether they are no longer to be read; what was read stays.
    pub stop: bool,
    /// Whether nothing is written.
    pub dry_run: bool,
}

setters!(NativeRequest { agents: Vec<String>, stop: bool, dry_run: bool });

/// The longest note, in bytes, and how many an agent has at most.
const LONGEST_NOTE: u64 = 256 << 10;
const MOST_NOTES: usize = 500;

/// What was read.
#[derive(Debug, Default, Serialize)]
pub struct NativeReport {
    pub agents: Vec<NativeNotes>,
    /// What could not be read, as `path: reason`.
    pub skipped: Vec<String>,
}

/// The notes of one agent.
#[derive(Debug, Serialize)]
pub struct NativeNotes {
    pub agent: &'static str,
    /// How many notes it has, and how many of them were new or had changed.
    pub notes: usize,
    pub read: usize,
    /// Copies that somebody has changed, and that stay as they are.
    pub kept: usize,
    /// The folder of the copies.
    pub folder: PathBuf,
    /// How to let the agent keep its notes in the memory instead.
    pub instead: String,
}

/// What is remembered of it: whose notes every sweep reads, and the hash of each copy as we wrote
/// it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct NativeState {
    agents: BTreeSet<String>,
    written: BTreeMap<String, String>,
}

impl Memory {
    /// Reads agents' own notes, now and with every sweep from now on; or stops doing so.
    pub fn read_native(&self, request: NativeRequest) -> Result<NativeReport> {
        let specs: Vec<&'static NativeSpec> = match request.agents.as_slice() {
            [] => native::ALL.iter().filter(|spec| self.has_notes(spec)).collect(),
            names => names.iter().map(|name| named(name)).collect::<Result<_>>()?,
        };
        let file = self.native_state();
        let mut state = file.load();
        let mut report = NativeReport::default();
        for spec in specs {
            match request.stop {
                true => drop(state.agents.remove(spec.agent)),
                false => drop(state.agents.insert(spec.agent.to_string())),
            }
            let only_look = request.dry_run || request.stop;
            self.read_notes(spec, only_look, &mut state, &mut report)?;
        }
        if !request.dry_run {
            file.save(&state).context(|| self.store().cannot_write())?;
        }
        Ok(report)
    }

    /// Reads the notes of the agents that were chosen before; returns what could not be read.
    pub(crate) fn refresh_native(&self) -> Result<Vec<String>> {
        let file = self.native_state();
        let Some(mut state) = file.read() else { return Ok(Vec::new()) };
        let mut report = NativeReport::default();
        let chosen = state.agents.clone();
        for spec in native::ALL.iter().filter(|spec| chosen.contains(spec.agent)) {
            self.read_notes(spec, false, &mut state, &mut report)?;
        }
        file.save(&state).context(|| self.store().cannot_write())?;
        Ok(report.skipped)
    }

    fn native_state(&self) -> StateFile<NativeState> {
        StateFile::local(self.layout().native_state())
    }

    fn has_notes(&self, spec: &NativeSpec) -> bool {
        let places = (spec.places)(&self.environment().places);
        places.iter().any(|(_, path)| files::exists(path))
    }

    fn read_notes(
        &self,
        spec: &'static NativeSpec,
        only_look: bool,
        state: &mut NativeState,
        report: &mut NativeReport,
    ) -> Result<()> {
        let folder = self.layout().native_notes(spec.agent);
        let (mut notes, mut read, mut kept) = (0, 0, 0);
        for (place, root) in (spec.places)(&self.environment().places) {
            for found in files::walk_files(&root) {
                let found = match found {
                    Ok(found) if found.link.is_none() && is_note(&found.path) => found,
                    Ok(_) => continue,
                    Err(_) if !files::exists(&root) => continue,
                    Err(err) => {
                        report.skipped.push(err.to_string());
                        continue;
                    }
                };
                notes += 1;
                if notes > MOST_NOTES || found.metadata.len() > LONGEST_NOTE {
                    let reason = if notes > MOST_NOTES { "one of too many" } else { "too long" };
                    report.skipped.push(format!("{}: {reason}", found.path.display()));
                    continue;
                }
                let Ok(text) = files::read_to_string(&found.path) else {
                    report.skipped.push(format!("{}: it is not UTF-8", found.path.display()));
                    continue;
                };
                let copy = copy_path(&folder, &place, &found.relative);
                let text = self.framed(&found.path, &text)?;
                match self.write_copy(&copy, &text, only_look, state)? {
                    Written::New => read += 1,
                    Written::Same => {}
                    Written::Theirs => kept += 1,
                }
            }
        }
        let instead = spec
            .instead
            .replace("FOLDER", &self.layout().notes_of(spec.agent).display().to_string());
        report.agents.push(NativeNotes { agent: spec.agent, notes, read, kept, folder, instead });
        Ok(())
    }

    /// A note as it is kept: redacted, under a line that says whose it is.
    fn framed(&self, from: &Path, text: &str) -> Result<String> {
        let home = &self.environment().places.home;
        let from = match from.strip_prefix(home) {
            Ok(below) => format!("~/{}", below.display()),
            Err(_) => from.display().to_string(),
        };
        let from = from.replace("--", "- -").replace(['\n', '>'], " ");
        let head =
            format!("<!-- an agent's own note, not the person's words; read from {from} -->\n\n");
        let text = self.redactor()?.redact(&text.replace('\0', "")).into_owned();
        Ok(head + &text)
    }

    fn write_copy(
        &self,
        copy: &Path,
        text: &str,
        only_look: bool,
        state: &mut NativeState,
    ) -> Result<Written> {
        let shown = self.layout().shown(copy);
        let hash = files::sha256_hex(text.as_bytes());
        let now =
            files::if_exists(files::read(copy)).context(|| format!("cannot read `{shown}`"))?;
        let now = now.map(|bytes| files::sha256_hex(&bytes));
        match now {
            Some(now) if now == hash => return Ok(Written::Same),
            Some(now) if state.written.get(&shown) != Some(&now) => return Ok(Written::Theirs),
            _ if only_look => return Ok(Written::New),
            _ => {}
        }
        copy.parent()
            .map(files::create_private_dir)
            .transpose()
            .and_then(|_| files::write_atomic(copy, text.as_bytes()))
            .context(|| format!("cannot write `{shown}`"))?;
        state.written.insert(shown, hash);
        Ok(Written::New)
    }
}

/// What came of a copy.
enum Written {
    New,
    Same,
    /// Somebody has changed it.
    Theirs,
}

fn is_note(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "md")
}

/// Where the copy of a note is, made of safe names.
fn copy_path(folder: &Path, place: &str, relative: &Path) -> PathBuf {
    const LONGEST: usize = 100;
    let place = Some(place.trim_start_matches('-')).filter(|place| !place.is_empty());
    let above = relative.parent().into_iter().flat_map(Path::components);
    let above = above.map(|part| part.as_os_str().to_string_lossy().into_owned());
    let folders = place.map(str::to_string).into_iter().chain(above);
    let stem = relative.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!("{}.md", files::safe_name(&stem, LONGEST));
    folders
        .map(|name| files::safe_name(&name, LONGEST))
        .fold(folder.to_path_buf(), |path, name| path.join(name))
        .join(name)
}

fn named(name: &str) -> Result<&'static NativeSpec> {
    let agent = adapters::known(name)?.name();
    native::of(agent).ok_or_else(|| {
        let known: Vec<&str> = native::ALL.iter().map(|spec| spec.agent).collect();
        Error::usage(format!("`{agent}` keeps no notes that memtree can read"))
            .because(format!("those that do: {}", known.join(", ")))
    })
}
