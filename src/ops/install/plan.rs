//! A plan: the change of one file that is not made yet, and the note by which it can be undone.
//!
//! If a file is still as we left it, undoing puts the bytes back that were there; if somebody has
//! changed it since, only what is ours is taken out.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::adapters::hooks;
use crate::base::files;
use crate::base::redact::Redactor;
use crate::base::text;
use crate::error::{Context, Error, Result};
use crate::store::layout::Layout;
use crate::store::local::StateFile;

use super::edit;
use super::parts::{Part, SharedFile};

/// What would change.
#[derive(Debug, Default)]
pub struct InstallPlans {
    /// The agents that were asked for, or found.
    pub agents: Vec<&'static str>,
    /// One for each file.
    pub plans: Vec<InstallPlan>,
    /// What is left as it is, though it was asked for.
    pub left: Vec<LeftAlone>,
}

/// A file that is left as it is.
#[derive(Debug, Serialize)]
pub struct LeftAlone {
    pub agent: &'static str,
    pub part: Part,
    pub file: String,
    pub reason: String,
    /// Whether something has to be put right first.
    pub is_trouble: bool,
}

/// A change of one file that is not made yet.
#[derive(Debug)]
pub struct InstallPlan {
    /// Whose file it is; of a skill, who reads it.
    pub agents: Vec<&'static str>,
    /// What of ours is put in or taken out.
    pub parts: Vec<Part>,
    /// The file as a person knows it.
    pub file: PathBuf,
    /// What a person still has to do.
    pub afterwards: Option<&'static str>,
    /// Where its bytes are; the file itself may be a link to it.
    target: PathBuf,
    before: Option<String>,
    after: Option<String>,
    change: Change,
}

/// What a plan makes of our notes.
#[derive(Debug)]
enum Change {
    /// Something of ours is in the file afterwards.
    Keep {
        name: String,
        note: Note,
        /// What is kept of the file: all but our part of it.
        base: Option<String>,
        /// The note that this one takes the place of.
        former: Option<String>,
    },
    /// Nothing of ours is.
    Forget { names: Vec<String>, folders: Vec<PathBuf> },
}

/// What is remembered of an installation, so that it can be undone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Note {
    pub file: PathBuf,
    /// Whether the file was there before; then the bytes it had are kept beside this note.
    existed: bool,
    /// The hash of the file as we wrote it.
    written: String,
    /// The keys that we made.
    #[serde(default)]
    created: Vec<String>,
    /// The folders that we made, the outer first.
    #[serde(default)]
    folders: Vec<PathBuf>,
    /// Of a skill, the agents that it is there for.
    #[serde(default)]
    pub agents: BTreeSet<String>,
}

impl Note {
    pub fn is_untouched(&self, text: &str) -> bool {
        self.written == files::sha256_hex(text.as_bytes())
    }
}

/// What is to become of the parts that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    In,
    Out,
}

/// The notes of a memory.
#[derive(Debug, Clone, Copy)]
pub struct Notes<'a> {
    pub layout: &'a Layout,
}

impl Notes<'_> {
    /// The note of a name.
    pub fn named(&self, name: &str) -> Option<Note> {
        note_file(self.layout, name).read()
    }

    /// The note on a file of an agent's, and its name.
    fn of(&self, agent: &str, file: &Path) -> Option<(String, Note)> {
        let names = [agent.to_string(), server_note(agent)];
        names.into_iter().find_map(|name| {
            let note = self.named(&name)?;
            (note.file == file).then_some((name, note))
        })
    }

    /// The text that a file had before us.
    fn kept(&self, name: &str, note: &Note) -> Option<String> {
        files::read_to_string(self.layout.before_install(name)).ok().filter(|_| note.existed)
    }

    /// The folders above a file that are ours: those that are missing, and those that we made for
    /// another file. Whoever leaves last takes them away.
    fn folders_above(&self, file: &Path) -> Vec<PathBuf> {
        let entries = files::read_dir(self.layout.installed_folder()).into_iter().flatten();
        let names = entries.flatten().filter_map(|entry| {
            Some(entry.file_name().to_str()?.strip_suffix(".json")?.to_string())
        });
        let made: BTreeSet<PathBuf> =
            names.filter_map(|name| self.named(&name)).flat_map(|note| note.folders).collect();
        let above = file.ancestors().skip(1);
        let ours = above.filter(|folder| !files::exists(folder) || made.contains(*folder));
        let mut folders: Vec<PathBuf> = ours.map(Path::to_path_buf).collect();
        folders.reverse();
        folders
    }

    /// What has to change in a file of an agent's for parts of ours to be in it, or out of it;
    /// nothing where it is as it should be.
    pub fn plan_shared(
        &self,
        agent: &'static str,
        shared: &SharedFile,
        direction: Direction,
        parts: &[Part],
    ) -> Result<Option<InstallPlan>> {
        let file = &shared.file;
        let before = read(file)?;
        let present = before.as_deref().map(|text| shared.present(text)).unwrap_or_default();
        let is_asked = |part: &Part| parts.contains(part);
        let wanted: Vec<Part> = match direction {
            Direction::In => {
                let all = Part::ALL.into_iter();
                all.filter(|part| present.contains(part) || is_asked(part)).collect()
            }
            Direction::Out => present.iter().copied().filter(|part| !is_asked(part)).collect(),
        };
        let is_done = match direction {
            Direction::In => before.as_deref().is_some_and(|text| shared.is_in(text, &wanted)),
            Direction::Out => wanted == present,
        };
        if is_done {
            return Ok(None);
        }
        let found = self.of(agent, file);
        let by_hand = match direction {
            Direction::In => "; nothing was changed",
            Direction::Out => ", or take out what calls `memtree` by hand",
        };
        let cannot = |reason| cannot_change(file, reason, by_hand);
        let base = self.base_of(shared, before.as_deref(), found.as_ref()).map_err(cannot)?;
        let (after, change) = self.outcome(agent, shared, &wanted, base, found).map_err(cannot)?;
        let changed = match direction {
            Direction::In => parts.to_vec(),
            Direction::Out => present.into_iter().filter(is_asked).collect(),
        };
        let (agents, file, target) = (vec![agent], file.clone(), target_of(file)?);
        let plan = InstallPlan {
            agents,
            parts: changed,
            file,
            afterwards: None,
            target,
            before,
            after,
            change,
        };
        Ok((!plan.is_silent()).then_some(plan))
    }

    /// What a file says with the parts that are wanted in it, and what becomes of our notes on it.
    fn outcome(
        &self,
        agent: &str,
        shared: &SharedFile,
        wanted: &[Part],
        base: Option<String>,
        found: Option<(String, Note)>,
    ) -> Result<(Option<String>, Change), String> {
        let note = found.as_ref().map(|(_, note)| note);
        if wanted.is_empty() {
            let was_made = note.is_some_and(|note| !note.existed);
            let after = base.filter(|base| !(was_made && shared.is_fresh(base)));
            let folders = note.map(|note| note.folders.clone()).unwrap_or_default();
            let names = found.map(|(name, _)| name).into_iter().collect();
            return Ok((after, Change::Forget { names, folders }));
        }
        let (after, created) = shared.with(base.as_deref().unwrap_or_default(), wanted)?;
        let has_hooks = wanted.contains(&Part::Hooks);
        let name = if has_hooks { agent.to_string() } else { server_note(agent) };
        let former = found.as_ref().map(|(name, _)| name.clone()).filter(|old| *old != name);
        let (note, base) = self.note_on(&shared.file, note, base, &after, created);
        Ok((Some(after), Change::Keep { name, note, base, former }))
    }

    /// A file as it would be without us: the bytes that were kept where nobody has changed it
    /// since, else what is left when ours is taken out; `None` where it was not there.
    fn base_of(
        &self,
        shared: &SharedFile,
        before: Option<&str>,
        found: Option<&(String, Note)>,
    ) -> Result<Option<String>, String> {
        let Some(text) = before else { return Ok(None) };
        if let Some((name, note)) = found.filter(|(_, note)| note.is_untouched(text)) {
            let kept = self.kept(name, note);
            if !note.existed || kept.is_some() {
                return Ok(kept);
            }
        }
        let created = found.map(|(_, note)| note.created.as_slice());
        shared.without(text, created).map(Some)
    }

    /// The note on a file with something of ours in it, and what is kept of the file.
    fn note_on(
        &self,
        file: &Path,
        earlier: Option<&Note>,
        base: Option<String>,
        after: &str,
        created: Vec<String>,
    ) -> (Note, Option<String>) {
        let existed = base.is_some() && earlier.is_none_or(|earlier| earlier.existed);
        let mut folders = self.folders_above(file);
        for folder in earlier.iter().flat_map(|earlier| &earlier.folders) {
            if !folders.contains(folder) {
                folders.push(folder.clone());
            }
        }
        folders.sort();
        let written = files::sha256_hex(after.as_bytes());
        let agents = BTreeSet::new();
        let file = file.to_path_buf();
        let note = Note { file, existed, written, created, folders, agents };
        (note, base.filter(|_| existed))
    }

    /// A file that is ours as a whole, as it should be.
    pub fn plan_whole(
        &self,
        name: String,
        file: PathBuf,
        before: Option<String>,
        text: String,
        readers: BTreeSet<String>,
    ) -> Result<Option<InstallPlan>> {
        let earlier = self.named(&name).filter(|note| note.file == file);
        let same_readers = earlier.as_ref().is_some_and(|note| note.agents == readers);
        if before.as_deref() == Some(text.as_str()) && (same_readers || readers.is_empty()) {
            return Ok(None);
        }
        let (mut note, _) = self.note_on(&file, earlier.as_ref(), None, &text, Vec::new());
        note.agents = readers;
        let target = target_of(&file)?;
        let change = Change::Keep { name, note, base: None, former: None };
        let (agents, parts, afterwards) = (Vec::new(), Vec::new(), None);
        let after = Some(text);
        Ok(Some(InstallPlan { agents, parts, file, afterwards, target, before, after, change }))
    }

    /// The end of a file that is ours as a whole.
    pub fn plan_removal(&self, name: String, file: PathBuf, before: String) -> Result<InstallPlan> {
        let earlier = self.named(&name).filter(|note| note.file == file);
        let folders = earlier.map(|note| note.folders).unwrap_or_default();
        let target = target_of(&file)?;
        let change = Change::Forget { names: vec![name], folders };
        let (agents, parts, afterwards) = (Vec::new(), Vec::new(), None);
        let before = Some(before);
        Ok(InstallPlan { agents, parts, file, afterwards, target, before, after: None, change })
    }
}

/// The name of the note on an agent's file with servers, where that has no hooks.
pub fn server_note(agent: &str) -> String {
    format!("{agent}-mcp")
}

/// Makes a change. What was there before is kept first.
pub fn apply(layout: &Layout, plan: &InstallPlan) -> Result<()> {
    let cannot = || format!("cannot write `{}`", plan.file.display());
    if read(&plan.file)? != plan.before {
        return Err(Error::new(cannot())
            .because("somebody else has just changed it")
            .hint("run the command again"));
    }
    match &plan.change {
        Change::Keep { name, note, base, former } => {
            keep(layout, name, note, base.as_deref())
                .context(|| format!("cannot write `{}`", layout.installed(name).display()))?;
            if plan.before != plan.after {
                let after = plan.after.as_deref().unwrap_or_default();
                files::write_atomic(&plan.target, after.as_bytes()).context(cannot)?;
            }
            forget(layout, former.as_slice())
        }
        Change::Forget { names, folders } => {
            match &plan.after {
                Some(after) => {
                    files::write_atomic(&plan.target, after.as_bytes()).context(cannot)?
                }
                None => files::remove_file(&plan.target).context(cannot)?,
            }
            for folder in folders.iter().rev() {
                // One that somebody else uses by now is not empty, and stays.
                let _ = files::remove_empty_folder(folder);
            }
            forget(layout, names)
        }
    }
}

/// Writes what may hold what settings hold: for nobody else's eyes.
fn keep(layout: &Layout, name: &str, note: &Note, base: Option<&str>) -> io::Result<()> {
    let file = note_file(layout, name);
    file.path().parent().map(files::create_private_dir).transpose()?;
    if let Some(base) = base {
        files::write_atomic(&layout.before_install(name), base.as_bytes())?;
    }
    file.save(note).map(drop)
}

fn forget(layout: &Layout, names: &[String]) -> Result<()> {
    for own in names.iter().flat_map(|name| [layout.installed(name), layout.before_install(name)]) {
        files::remove_file(&own).context(|| format!("cannot remove `{}`", own.display()))?;
    }
    Ok(())
}

fn note_file(layout: &Layout, name: &str) -> StateFile<Note> {
    StateFile::local(layout.installed(name))
}

impl InstallPlan {
    /// The plan of what is asked for on behalf of agents.
    pub(super) fn on_behalf_of(mut self, agents: Vec<&'static str>, part: Part) -> InstallPlan {
        (self.agents, self.parts) = (agents, vec![part]);
        self
    }

    /// Whether only our own note changes.
    pub fn is_silent(&self) -> bool {
        self.before == self.after
    }

    /// What happens to the file, in a word.
    pub fn verb(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "new",
            (_, None) => "removed",
            _ => "changed",
        }
    }

    /// Whether it takes out hooks of an earlier version that do harm to some agents.
    pub fn ends_harm(&self) -> bool {
        let before = self.before.as_deref().unwrap_or_default();
        let mut specs = self.agents.iter().filter_map(|agent| hooks::of(agent));
        specs.any(|spec| edit::has_harmful_hooks(before, spec))
    }

    /// The change as a difference of lines; secrets that stand beside it are not shown.
    pub fn difference(&self) -> String {
        let (before, after) =
            (self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default());
        let name = |text: &Option<String>| match text {
            Some(_) => self.file.display().to_string(),
            None => "(no file)".into(),
        };
        let shown = text::diff(before, after, [&name(&self.before), &name(&self.after)]);
        Redactor::new().redact(&shown).into_owned()
    }
}

/// Says that a file is left as it is, and why.
pub fn cannot_change(file: &Path, reason: String, or: &str) -> Error {
    Error::new(format!("cannot change the settings `{}`", file.display()))
        .because(reason)
        .hint(format!("fix the file first{or}"))
}

/// The text of a file, where it is there.
pub fn read(file: &Path) -> Result<Option<String>> {
    let cannot = || format!("cannot read the settings `{}`", file.display());
    match files::read(file) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(Error::new(cannot())
                .because("they are not UTF-8")
                .hint("save the file as UTF-8 first")),
        },
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(err) => Err(err).context(cannot),
    }
}

/// The file that a settings file is, where it is a link: people keep their settings in a repository
/// of their own.
fn target_of(file: &Path) -> Result<PathBuf> {
    if !files::symlink_metadata(file).is_ok_and(|metadata| metadata.is_symlink()) {
        return Ok(file.to_path_buf());
    }
    fs::canonicalize(file).map_err(|err| {
        Error::new(format!("`{}` is a link that leads nowhere", file.display()))
            .because(err)
            .hint("fix or remove the link first")
    })
}
