//! Distribute: approved patterns become lessons in the files from which agents take instructions.
//!
//! First a proposal with its difference; only `--apply` writes, into a block between two marks, to
//! files that were named before. What is retired is taken out again. A pattern can be tried first
//! in half of the projects, so that `measure` has something to compare with.

mod files_of_agents;
mod live;
mod trial;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use files_of_agents::{Place, is_only_front_matter, is_skill, read_place, skills_of};
use live::{Assignment, FilesInUse, Holds};

use crate::adapters;
use crate::base::files;
use crate::base::git::Repository;
use crate::base::setters::setters;
use crate::base::text;
use crate::distill::patterns::Observed;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::pattern::{Pattern, PatternId};
use crate::model::trust::Standing;
use crate::store::local::StateFile;
use crate::store::pattern::active::{self, Stretch};
use crate::store::pattern::block;

/// What to distribute.
#[derive(Debug, Clone, Default)]
pub struct DistributeRequest {
    /// Whether files are written; else only what would be.
    pub apply: bool,
    /// Only to this agent.
    pub to: Option<String>,
    /// Only in this project.
    pub project: Option<String>,
    /// Whether what is new goes to half of the projects first.
    pub trial: bool,
    /// Whether what is held back goes out, too.
    pub everywhere: bool,
}

setters!(DistributeRequest {
    apply: bool,
    to: Option<String>,
    project: Option<String>,
    trial: bool,
    everywhere: bool,
});

/// What was, or would be, distributed.
#[derive(Debug, Default, Serialize)]
pub struct DistributeReport {
    pub applied: bool,
    /// The files that change, with the difference.
    pub files: Vec<ChangedFile>,
    /// How many files are as they should be.
    pub unchanged: usize,
    /// How many approved patterns say what to do.
    pub ready: usize,
    /// Projects of which this machine has no folder.
    pub without_folder: Vec<String>,
    /// Patterns that are held back in a project, to compare.
    pub held_back: Vec<String>,
    /// What was not done, as `what: reason`.
    pub refused: Vec<String>,
    /// Approved patterns that are not ready to be read by agents, as `what: reason`.
    pub passed_over: Vec<String>,
    /// Lessons that a file has no room for, whether it changes or not.
    pub no_room: Vec<NoRoom>,
}

/// A lesson that a file has no room for.
#[derive(Debug, Serialize)]
pub struct NoRoom {
    pub path: PathBuf,
    pub pattern: PatternId,
}

/// A file that changes.
#[derive(Debug, Serialize)]
pub struct ChangedFile {
    pub path: PathBuf,
    pub project: String,
    pub patterns: Vec<PatternId>,
    pub diff: String,
    /// Lessons that there was no room for.
    pub left_out: Vec<PatternId>,
    #[serde(skip)]
    text: Option<String>,
}

/// The files outside of the memory that hold a block, by path.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Distributed {
    files: BTreeMap<PathBuf, String>,
}

/// The file from which an agent takes instructions.
pub fn target_of(flavor: &str) -> &'static str {
    adapters::named(flavor).map_or("AGENTS.md", |adapter| adapter.instructions())
}

/// Why a pattern may not be distributed, where it may not.
pub fn refusal(pattern: &Pattern) -> Option<String> {
    block::lesson(pattern).err()
}

/// A project on this device, and the agents that work in it.
#[derive(Debug)]
struct Project {
    name: String,
    domain: Option<String>,
    root: PathBuf,
    flavors: BTreeSet<String>,
}

impl Project {
    /// Whether a pattern is for an agent here.
    fn gets(&self, pattern: &Pattern, flavor: &str) -> bool {
        pattern.scope.reaches(flavor, &self.name, self.domain.as_deref())
    }
}

/// Which lessons go where, by their places in the list of them.
#[derive(Default)]
struct Wanted {
    /// For each file its project and its lessons.
    files: BTreeMap<PathBuf, (String, Vec<usize>)>,
    /// Which pattern is for which agent in which project, and whether it should be live there.
    assigned: Vec<Assignment>,
    in_use: FilesInUse,
}

impl Wanted {
    fn add(
        &mut self,
        project: &Project,
        flavor: &str,
        path: &Path,
        lessons: &[(Pattern, String)],
        goes: impl Fn(&Pattern) -> bool,
    ) {
        let new = || (project.name.clone(), Vec::new());
        let (_, listed) = self.files.entry(path.to_path_buf()).or_insert_with(new);
        self.in_use.add_reader(flavor, &project.name, path);
        let for_it = lessons.iter().enumerate().filter(|(_, it)| project.gets(&it.0, flavor));
        for (at, (pattern, _)) in for_it {
            let live = goes(pattern);
            let (pattern, project) = (pattern.id.clone(), project.name.clone());
            self.assigned.push(Assignment { pattern, flavor: flavor.into(), project, live });
            if live && !listed.contains(&at) {
                listed.push(at);
            }
        }
    }

    /// A project's file that cannot even be looked at stays as it is.
    fn add_unusable(&mut self, project: &Project, flavor: &str) {
        let path = project.root.join(target_of(flavor));
        self.in_use.add_reader(flavor, &project.name, &path);
        self.in_use.add_file(path, project.name.clone(), Holds::AsBefore { block: true });
    }
}

impl Memory {
    /// Proposes what agents should read, and writes it where that is asked for.
    pub fn distribute(&self, request: DistributeRequest) -> Result<DistributeReport> {
        if let Some(agent) = request.to.as_deref().filter(|agent| adapters::named(agent).is_none())
        {
            let known: Vec<&str> = adapters::ALL.iter().map(|adapter| adapter.name()).collect();
            let wrong = Error::usage(format!("unknown agent `{agent}`"));
            return Err(wrong.because(format!("known: {}", known.join(", "))));
        }
        let cannot = || self.store().cannot_write();
        let _lock = files::lock_exclusive(&self.layout().patterns_lock()).context(cannot)?;
        let mut plan = self.distribution(&request)?;
        self.write_proposals(&plan.report)?;
        if request.apply {
            self.apply(&mut plan)?;
        }
        Ok(plan.report)
    }

    fn distribution(&self, request: &DistributeRequest) -> Result<Plan> {
        let mut plan = Plan::default();
        let lessons = self.ready_lessons(&mut plan.report)?;
        // A page that cannot be read is no lesson, and its person should know why.
        plan.report.refused.extend(self.catalog()?.damaged);
        let observed = self.observed()?.sessions;
        let (projects, without_folder) = self.projects(&observed, request)?;
        plan.report.ready = lessons.len();
        plan.report.without_folder = without_folder;
        let stretches = active::load(self.layout()).context(|| "cannot read active.md".into())?;
        let trial = trial::Trial { stretches: &stretches, device: self.device(), now: self.now() };
        let mut wanted = Wanted::default();
        for project in &projects {
            let is_asked = |flavor: &&String| request.to.as_ref().is_none_or(|to| to == *flavor);
            for flavor in project.flavors.iter().filter(is_asked) {
                let goes = |pattern: &Pattern| {
                    let eligible = projects.iter().filter(|it| it.gets(pattern, flavor)).count();
                    request.everywhere
                        || trial.goes(&pattern.id, &project.name, eligible, request.trial)
                };
                plan.add_agent(project, flavor, &lessons, &mut wanted, goes);
            }
        }
        plan.add_former(self.distributed_file().load(), request, &mut wanted);
        let budget = self.settings().distribute.budget;
        for (path, (project, mut listed)) in wanted.files {
            listed.sort_unstable();
            let holds = plan.add_file(path.clone(), &project, &listed, &lessons, budget);
            wanted.in_use.add_file(path, project, holds);
        }
        let assigned = wanted.in_use.settle(&wanted.assigned, &stretches, self.device());
        let held = assigned.iter().filter(|one| !one.live);
        let shown = |one: &Assignment| {
            let Assignment { pattern, flavor, project, .. } = one;
            format!("{pattern} ({flavor}, {project})")
        };
        plan.report.held_back = held.map(shown).collect();
        plan.stretches = trial.stretches_with(&assigned, request);
        plan.report.refused.sort();
        plan.report.refused.dedup();
        Ok(plan)
    }

    /// The lessons of approved patterns, those that more sessions met first: also where the room is
    /// short.
    fn ready_lessons(&self, report: &mut DistributeReport) -> Result<Vec<(Pattern, String)>> {
        let mut lessons: Vec<(Pattern, String)> = Vec::new();
        for pattern in self.approved_patterns()? {
            match block::lesson(&pattern) {
                Ok(lesson) if pattern.ready => lessons.push((pattern, lesson)),
                Ok(_) => {
                    let reason = "its page says that it is not ready";
                    report.passed_over.push(format!("{}: {reason}", pattern.id));
                }
                Err(reason) if !pattern.ready => {
                    report.passed_over.push(format!("{}: {reason}", pattern.id));
                }
                Err(reason) => report.refused.push(format!("{}: {reason}", pattern.id)),
            }
        }
        lessons.sort_by_key(|(pattern, _)| {
            let weight = (pattern.scope.flavors.len() > 1, pattern.provenance.frequency);
            (std::cmp::Reverse(weight), pattern.id.clone())
        });
        Ok(lessons)
    }

    /// The projects that have a folder here, by what was captured on this device, and the names of
    /// those that have none.
    fn projects(
        &self,
        sessions: &[Observed],
        request: &DistributeRequest,
    ) -> Result<(Vec<Project>, Vec<String>)> {
        let trust = self.trust();
        let home = &self.environment().places.home;
        let mut own: Vec<&Observed> = sessions
            .iter()
            .filter(|session| trust.of_session(&session.session) == Standing::Own)
            .filter(|session| adapters::named(&session.flavor).is_some())
            .collect();
        own.sort_by_key(|session| Reverse(session.ended));
        let mut projects: BTreeMap<String, Project> = BTreeMap::new();
        let names = named(sessions, request.project.as_deref())?;
        for session in own {
            let (Some(name), Some(cwd)) = (&session.project, &session.cwd) else { continue };
            if request.project.as_ref().is_some_and(|wanted| wanted != name) {
                continue;
            }
            if let Some(known) = projects.get_mut(name) {
                known.flavors.insert(session.flavor.clone());
                continue;
            }
            let folder = self.environment().expand(cwd);
            let root = Repository::containing(&folder)
                .map_or_else(|| folder.clone(), |repository| repository.root);
            let is_project = folder.is_absolute()
                && files::is_dir(&root)
                && root != *home
                && root.parent().is_some()
                && !home.starts_with(&root)
                && !root.starts_with(self.root());
            if is_project {
                let flavors = BTreeSet::from([session.flavor.clone()]);
                let (name, domain) = (name.clone(), session.domain.clone());
                projects.insert(name.clone(), Project { name, domain, root, flavors });
            }
        }
        let has_none = |name: &&&str| !projects.contains_key(**name);
        let without = names.iter().filter(has_none).map(|name| name.to_string()).collect();
        Ok((projects.into_values().collect(), without))
    }

    /// What would be written, as pages that a person can read first.
    fn write_proposals(&self, report: &DistributeReport) -> Result<()> {
        let cannot = || "cannot write the proposals".to_string();
        let layout = self.layout();
        let mut names = BTreeSet::new();
        for file in &report.files {
            let name = text::file_name(&file.path.to_string_lossy()).to_string();
            let name = text::slug(&format!("{} {name}", file.project), 80);
            let patterns: Vec<String> = file.patterns.iter().map(PatternId::to_string).collect();
            let page = format!(
                "# {}\n\nWhat `memtree distribute --apply` writes: {}.\n\n{}",
                crate::base::markdown::heading(&format!("{} in {}", name, file.project)),
                if patterns.is_empty() { "nothing more".into() } else { patterns.join(", ") },
                crate::base::markdown::fenced("diff", &file.diff)
            );
            files::write_if_changed(&layout.proposal(&name), page.as_bytes()).context(cannot)?;
            names.insert(name);
        }
        let there = crate::store::pattern::catalog::pages(&layout.proposals()).context(cannot)?;
        for (path, _) in there.into_iter().filter(|(_, name)| !names.contains(name)) {
            files::remove_file(&path).context(cannot)?;
        }
        Ok(())
    }

    fn apply(&self, plan: &mut Plan) -> Result<()> {
        let file = self.distributed_file();
        let mut known = file.load();
        for changed in &plan.report.files {
            let cannot = || format!("cannot write `{}`", changed.path.display());
            // First the note: a block that nobody knows of would stay for ever.
            known.files.insert(changed.path.clone(), changed.project.clone());
            file.save(&known).context(|| self.store().cannot_write())?;
            match &changed.text {
                Some(text) => {
                    files::write_atomic(&changed.path, text.as_bytes()).context(cannot)?
                }
                None => {
                    files::remove_file(&changed.path).context(cannot)?;
                    if let Some(folder) = changed.path.parent().filter(|_| is_skill(&changed.path))
                    {
                        // It goes only where nothing else is in it.
                        let _ = files::remove_empty_folder(folder);
                    }
                }
            }
            if changed.patterns.is_empty() {
                known.files.remove(&changed.path);
                file.save(&known).context(|| self.store().cannot_write())?;
            }
        }
        active::save(self.layout(), &plan.stretches).context(|| self.store().cannot_write())?;
        // What was proposed is done.
        self.write_proposals(&DistributeReport::default())?;
        plan.report.applied = true;
        Ok(())
    }

    fn distributed_file(&self) -> StateFile<Distributed> {
        StateFile::local(self.layout().distributed())
    }
}

/// The names of the projects that are asked for; says so where there is none of that name.
pub(super) fn named<'s>(
    sessions: &'s [Observed],
    asked: Option<&str>,
) -> Result<BTreeSet<&'s str>> {
    const MOST_NAMES: usize = 8;
    let names: BTreeSet<&str> = sessions.iter().filter_map(|it| it.project.as_deref()).collect();
    let Some(asked) = asked else { return Ok(names) };
    if let Some(name) = names.get(asked) {
        return Ok(BTreeSet::from([*name]));
    }
    let wrong = Error::usage(format!("no session is of a project `{asked}`"));
    let some: Vec<&str> = names.iter().copied().take(MOST_NAMES).collect();
    Err(match text::nearest(asked, names.iter().copied()) {
        Some(near) => wrong.hint(format!("did you mean `{near}`?")),
        None => wrong.because(format!(
            "known: {}",
            text::and_more(&some.join(", "), names.len() - some.len())
        )),
    })
}

/// What a distribution is going to do.
#[derive(Default)]
struct Plan {
    report: DistributeReport,
    places: BTreeMap<PathBuf, Place>,
    stretches: Vec<Stretch>,
}

impl Plan {
    /// What an agent is to read in a project: its file of instructions, and its skills.
    fn add_agent(
        &mut self,
        project: &Project,
        flavor: &str,
        lessons: &[(Pattern, String)],
        wanted: &mut Wanted,
        goes: impl Fn(&Pattern) -> bool,
    ) {
        match read_place(&project.root, target_of(flavor)) {
            Ok(place) => {
                wanted.add(project, flavor, &place.path, lessons, goes);
                self.places.insert(place.path.clone(), place);
            }
            Err(reason) => {
                self.report.refused.push(reason);
                wanted.add_unusable(project, flavor);
            }
        }
        let goes = |pattern: &Pattern| {
            let mut assigned = wanted.assigned.iter().rev();
            let of_it = assigned.find(|one| {
                one.pattern == pattern.id && one.flavor == *flavor && one.project == project.name
            });
            of_it.is_some_and(|one| one.live)
        };
        let skills = self.skills(project, flavor, lessons, goes);
        for (path, _) in &skills {
            wanted.in_use.add_reader(flavor, &project.name, path);
        }
        wanted.files.extend(skills);
    }

    /// The files of the procedures that go to an agent in a project.
    fn skills(
        &mut self,
        project: &Project,
        flavor: &str,
        lessons: &[(Pattern, String)],
        goes: impl Fn(&Pattern) -> bool,
    ) -> Vec<(PathBuf, (String, Vec<usize>))> {
        let mut files = Vec::new();
        for (at, (pattern, _)) in lessons.iter().enumerate().filter(|(_, it)| goes(&it.0)) {
            let place = match block::skill(pattern) {
                Ok(None) => continue,
                Err(reason) => Err(format!("{}: {reason}", pattern.id)),
                Ok(Some(skill)) => {
                    let name = format!("{}/{}", skills_of(flavor), skill.path);
                    read_place(&project.root, &name)
                        .map(|place| Place { header: skill.header.into(), ..place })
                }
            };
            match place {
                Err(reason) => self.report.refused.push(reason),
                Ok(place) => {
                    files.push((place.path.clone(), (project.name.clone(), vec![at])));
                    self.places.insert(place.path.clone(), place);
                }
            }
        }
        files
    }

    /// Files that hold a block of ours and would get none: it is taken out.
    fn add_former(&mut self, known: Distributed, request: &DistributeRequest, wanted: &mut Wanted) {
        for (path, project) in known.files {
            let asked = request.project.as_ref().is_none_or(|wanted| *wanted == project);
            if wanted.files.contains_key(&path) || !asked || request.to.is_some() {
                continue;
            }
            let name = text::file_name(&path.to_string_lossy()).to_string();
            match read_place(path.parent().unwrap_or(Path::new("/")), &name) {
                Ok(place) => {
                    wanted.files.insert(path.clone(), (project, Vec::new()));
                    self.places.insert(path, place);
                }
                Err(reason) => {
                    self.report.refused.push(reason);
                    wanted.in_use.add_file(path, project, Holds::AsBefore { block: true });
                }
            }
        }
    }

    /// Plans what becomes of a file, and says what it holds then.
    fn add_file(
        &mut self,
        path: PathBuf,
        project: &str,
        listed: &[usize],
        lessons: &[(Pattern, String)],
        budget: usize,
    ) -> Holds {
        let Some(place) = self.places.get(&path) else { return Holds::AsBefore { block: false } };
        let (mut chosen, mut patterns, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
        for (pattern, lesson) in listed.iter().map(|at| &lessons[*at]) {
            let with = [chosen.concat(), lesson.clone()].concat();
            match is_skill(&path) || text::tokens(&with) <= budget {
                true => {
                    chosen.push(lesson.clone());
                    patterns.push(pattern.id.clone());
                }
                false => left_out.push(pattern.id.clone()),
            }
        }
        let no_room = left_out.iter().cloned();
        let no_room = no_room.map(|pattern| NoRoom { path: path.clone(), pattern });
        self.report.no_room.extend(no_room);
        let steps = |pattern: &Pattern| block::skill(pattern).ok().flatten().map(|it| it.steps);
        let block = match is_skill(&path) {
            true => listed.first().and_then(|at| steps(&lessons[*at].0)),
            false => (!chosen.is_empty()).then(|| block::block(&chosen)),
        };
        let before = place.text.as_deref().unwrap_or_default();
        let base = if place.text.is_none() { place.header.as_ref() } else { before };
        let after = match (&place.text, &block) {
            (None, None) => Ok(String::new()),
            _ => block::with_block(base, block.as_deref()),
        };
        let as_before = Holds::AsBefore { block: block::may_stand_in(before) };
        match after {
            Err(reason) => {
                self.report.refused.push(format!("{}: {reason}", path.display()));
                as_before
            }
            Ok(after) if after == before => {
                self.report.unchanged += 1;
                Holds::These(patterns)
            }
            Ok(_) if place.is_read_only => {
                self.report.refused.push(format!("{}: it is read-only", path.display()));
                as_before
            }
            Ok(after) => {
                let name = text::file_name(&path.to_string_lossy()).to_string();
                let diff = text::diff(before, &after, [&name, &name]);
                let is_gone = after.trim() == place.header.trim()
                    || block.is_none() && is_skill(&path) && is_only_front_matter(&after);
                let (text, project) = ((!is_gone).then_some(after), project.to_string());
                let holds = Holds::These(patterns.clone());
                self.report.files.push(ChangedFile {
                    path,
                    project,
                    patterns,
                    diff,
                    left_out,
                    text,
                });
                holds
            }
        }
    }
}
