//! What is really live: a lesson counts for an agent once a file that it reads holds it. A file
//! that could not be written, or had no room, makes nothing live; and what could not be taken out
//! of it stays so.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::target_of;
use crate::model::ids::Device;
use crate::model::pattern::PatternId;
use crate::store::pattern::active::Stretch;

/// A pattern that is for an agent in a project, and whether it is live there or held back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    pub pattern: PatternId,
    pub flavor: String,
    pub project: String,
    pub live: bool,
}

impl Assignment {
    /// Whether it is what a stretch of time is about.
    pub fn is_of(&self, one: &Stretch) -> bool {
        self.pattern == one.pattern && self.flavor == one.flavor && self.project == one.project
    }
}

/// What a file holds once all of this is applied.
#[derive(Debug)]
pub enum Holds {
    These(Vec<PatternId>),
    /// What it held before, because it cannot be written.
    AsBefore {
        block: bool,
    },
}

/// The files of agents, and which of them an agent reads in a project.
#[derive(Debug, Default)]
pub struct FilesInUse {
    holds: BTreeMap<PathBuf, (String, Holds)>,
    /// Agent, project, file.
    readers: Vec<(String, String, PathBuf)>,
}

impl FilesInUse {
    pub fn add_reader(&mut self, flavor: &str, project: &str, path: &Path) {
        self.readers.push((flavor.into(), project.into(), path.into()));
    }

    pub fn add_file(&mut self, path: PathBuf, project: String, holds: Holds) {
        self.holds.insert(path, (project, holds));
    }

    /// What an agent reads in a project.
    fn read_by<'a>(&'a self, flavor: &'a str, project: &'a str) -> impl Iterator<Item = &'a Holds> {
        let is_reader = move |path: &Path| {
            self.readers.iter().any(|(to, of, read)| to == flavor && of == project && read == path)
        };
        let holds = self.holds.iter().filter(move |(path, (of, _))| {
            is_reader(path) || (of == project && path.ends_with(target_of(flavor)))
        });
        holds.map(|(_, (_, holds))| holds)
    }

    /// What is live, and what is held back, of what was wanted.
    pub fn settle(
        &self,
        wanted: &[Assignment],
        stretches: &[Stretch],
        device: &Device,
    ) -> Vec<Assignment> {
        let was_live = |one: &&Stretch| one.device == *device && one.is_open() && one.live;
        let was_live: Vec<&Stretch> = stretches.iter().filter(was_live).collect();
        let stays = |flavor: &str, project: &str| {
            let mut read = self.read_by(flavor, project);
            read.any(|holds| matches!(holds, Holds::AsBefore { block: true }))
        };
        let has = |one: &Assignment| {
            let mut read = self.read_by(&one.flavor, &one.project);
            read.any(|holds| matches!(holds, Holds::These(ids) if ids.contains(&one.pattern)))
        };
        let stays_live = |one: &Assignment| {
            was_live.iter().any(|was| one.is_of(was)) && stays(&one.flavor, &one.project)
        };
        let settle = |one: &Assignment| {
            let live = has(one) || stays_live(one);
            (live || !one.live).then(|| Assignment { live, ..one.clone() })
        };
        let mut settled: Vec<Assignment> = wanted.iter().filter_map(settle).collect();
        for was in was_live.iter().filter(|was| stays(&was.flavor, &was.project)) {
            if !wanted.iter().any(|one| one.is_of(was)) {
                settled.push(Assignment {
                    pattern: was.pattern.clone(),
                    flavor: was.flavor.clone(),
                    project: was.project.clone(),
                    live: true,
                });
            }
        }
        settled
    }
}
