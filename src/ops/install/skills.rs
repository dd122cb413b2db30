//! Our skills: texts that tell an agent when to search the memory, and how. A plugin brings the
//! same.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::adapters::servers::{self, ServerSpec};
use crate::base::files;
use crate::error::Result;

use super::installer::Installer;
use super::parts::Part;
use super::plan::{Direction, InstallPlan, InstallPlans, LeftAlone, read};

/// Every skill: the name of its folder, and what its file says.
const ALL: [(&str, &str); 3] = [
    ("memtree", include_str!("../../../plugin/skills/memtree/SKILL.md")),
    ("memtree-curate", include_str!("../../../plugin/skills/memtree-curate/SKILL.md")),
    ("memtree-handoff", include_str!("../../../plugin/skills/memtree-handoff/SKILL.md")),
];
/// The name of a skill's file.
const FILE: &str = "SKILL.md";

/// A folder by the name that it really has, as far as it is there: people keep what their agents
/// read in a repository of their own, and link to it.
fn real(folder: &Path) -> PathBuf {
    for above in folder.ancestors() {
        if let (Ok(real), Ok(below)) = (fs::canonicalize(above), folder.strip_prefix(above)) {
            // Nothing is joined to a folder that is there whole: that would end it with a slash.
            return if below.as_os_str().is_empty() { real } else { real.join(below) };
        }
    }
    folder.to_path_buf()
}

impl Installer<'_> {
    /// The plans for skills: each folder of them once, whoever reads it.
    pub fn plan_skills(
        &self,
        specs: &[&'static ServerSpec],
        direction: Direction,
        all: &mut InstallPlans,
    ) -> Result<()> {
        let mut folders: Vec<(PathBuf, Vec<&'static str>)> = Vec::new();
        for spec in specs {
            let Some(folder) = self.skills_of(spec) else { continue };
            // Several agents' folders may be links to one.
            let folder = real(&folder);
            match folders.iter_mut().find(|(known, _)| *known == folder) {
                Some((_, readers)) => readers.push(spec.agent),
                None => folders.push((folder, vec![spec.agent])),
            }
        }
        for (folder, readers) in folders {
            for (name, text) in ALL {
                let file = folder.join(name).join(FILE);
                let planned = self.plan_skill(&folder, name, text, &readers, direction, all);
                self.take(all, readers[0], Part::Skills, &file, planned)?;
            }
        }
        Ok(())
    }

    /// Where an agent reads skills.
    fn skills_of(&self, spec: &ServerSpec) -> Option<PathBuf> {
        let own = spec.skills?;
        match self.project {
            Some(project) => Some(project.join(spec.project_skills)),
            None => Some(own(self.places)),
        }
    }

    fn plan_skill(
        &self,
        folder: &Path,
        name: &str,
        text: &str,
        readers: &[&'static str],
        direction: Direction,
        all: &mut InstallPlans,
    ) -> Result<Option<InstallPlan>> {
        let file = folder.join(name).join(FILE);
        let place = &files::sha256_hex(folder.as_os_str().as_encoded_bytes())[..8];
        let note_name = format!("skill-{place}-{name}");
        let before = read(&file)?;
        let note = self.notes.named(&note_name).filter(|note| note.file == file);
        let is_ours = |before: &str| {
            before == text || note.as_ref().is_some_and(|note| note.is_untouched(before))
        };
        if before.as_deref().is_some_and(|before| !is_ours(before)) {
            let reason = match &note {
                Some(_) => "you have changed it, so it stays as it is",
                None => "a skill of that name is there already, and stays as it is",
            };
            if direction == Direction::In || note.is_some() {
                let (agent, part, reason) = (readers[0], Part::Skills, reason.to_string());
                let (file, is_trouble) = (file.display().to_string(), false);
                all.left.push(LeftAlone { agent, part, file, reason, is_trouble });
            }
            return Ok(None);
        }
        let known = note.map(|note| note.agents);
        let plan = match direction {
            Direction::In => {
                let mut agents = known.unwrap_or_default();
                agents.extend(readers.iter().map(|agent| agent.to_string()));
                self.notes.plan_whole(note_name, file, before, text.to_string(), agents)?
            }
            Direction::Out => {
                let Some(before) = before else { return Ok(None) };
                let mut others = known.unwrap_or_else(|| self.others_who_read(folder));
                others.retain(|agent| !readers.contains(&agent.as_str()));
                match self.named.is_empty() || others.is_empty() {
                    true => Some(self.notes.plan_removal(note_name, file, before)?),
                    false => {
                        let text = before.clone();
                        self.notes.plan_whole(note_name, file, Some(before), text, others)?
                    }
                }
            }
        };
        Ok(plan.map(|plan| plan.on_behalf_of(readers.to_vec(), Part::Skills)))
    }

    /// The agents on this machine that read skills from a folder.
    fn others_who_read(&self, folder: &Path) -> BTreeSet<String> {
        let all = servers::ALL.iter();
        all.filter(|spec| files::is_dir(spec.home(self.places)))
            .filter(|spec| self.skills_of(spec).is_some_and(|own| real(&own) == folder))
            .map(|spec| spec.agent.to_string())
            .collect()
    }
}
