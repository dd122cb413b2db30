//! Consolidation: eight digests become a core, eight cores a sphere, and what is confirmed the page
//! that agents load.
//!
//! Every page is a function of what it is made from, so any device that holds the eight digests
//! writes the same core. The page that is there is read first: what it said and does not hold any
//! more is superseded, never dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::base::files::{self, Batch, SharedMerge, Stamp};
use crate::base::setters::setters;
use crate::distill::core::{self as rules, Source, sphere};
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::core::{Entity, LandmarkState, Merged, Sphere};
use crate::model::digest::{State, Worth};
use crate::model::ids::{CoreId, Device, SessionId, SphereId};
use crate::store::core::{self, WrittenCore, memory};
use crate::store::layout::Layout;
use crate::store::local::StateFile;
use crate::store::{Store, authored, digest, layout, session_index};

/// What to consolidate: whatever is due.
#[derive(Debug, Clone, Default)]
pub struct ConsolidateRequest {
    /// Whether nothing is written.
    pub dry_run: bool,
}

setters!(ConsolidateRequest { dry_run: bool });

/// What a consolidation did.
#[derive(Debug, Default, Serialize)]
pub struct ConsolidateReport {
    /// The pages that it wrote, relative to the memory.
    pub cores: Vec<String>,
    pub spheres: Vec<String>,
    /// Whether MEMORY.md changed.
    pub memory: bool,
    /// How many digests were marked as related.
    pub related: usize,
    /// Confirmed landmarks that MEMORY.md has no room for.
    pub left_out: usize,
    /// Cores that cannot be made yet, and why.
    pub waiting: Vec<PendingCore>,
    /// The digests as they were looked at, or left: whatever looks different later has not been
    /// seen.
    #[serde(skip)]
    pub digests: Vec<(SessionId, Stamp)>,
}

/// A core that cannot be made yet.
#[derive(Debug, Serialize)]
pub struct PendingCore {
    pub core: CoreId,
    pub because: String,
}

impl Memory {
    /// Rolls every eight closed sessions into a core, while no sweep is at work.
    pub fn consolidate(&self, request: ConsolidateRequest) -> Result<ConsolidateReport> {
        consolidate(self.store(), self.device(), request.dry_run)
    }
}

/// Consolidates a memory, while no sweep is at work in it.
pub fn consolidate(store: &Store, device: &Device, dry_run: bool) -> Result<ConsolidateReport> {
    store.refuse_links(None)?;
    if dry_run {
        return Ok(Plan::new(store, device)?.report);
    }
    let cannot = || format!("cannot write to the memory `{}`", store.layout().root().display());
    let _lock = files::lock_exclusive(&store.layout().sweep_lock()).context(cannot)?;
    run(store, device)
}

/// Consolidates a memory whose lock is held.
pub fn run(store: &Store, device: &Device) -> Result<ConsolidateReport> {
    let report = Plan::new(store, device)?.apply(store)?;
    session_index::update(store, &report.digests).context(|| store.cannot_write())?;
    Ok(report)
}

/// What a consolidation is going to write.
#[derive(Default)]
struct Plan {
    report: ConsolidateReport,
    cores: BTreeMap<CoreId, MadeCore>,
    /// The digests whose box is to be ticked.
    ticks: BTreeSet<SessionId>,
    /// What lies above the cores: spheres and MEMORY.md.
    upper: Vec<(PathBuf, Remake)>,
    /// Whether it was looked at.
    looked_above: bool,
    /// How everything looks; of what is written, only afterwards.
    state: ConsolidatedState,
}

/// How a page is made around what a person wrote into the one that is there, which may be empty.
type Remake = Box<dyn Fn(&str) -> String + Send + Sync>;

/// A core that was made of eight sessions.
struct MadeCore {
    eight: Eight,
    page: String,
    remake: Remake,
    /// Whether the page is there already.
    same: bool,
}

impl Plan {
    fn new(store: &Store, device: &Device) -> Result<Plan> {
        let mut plan = Plan::default();
        let known = ConsolidatedState::file(store).load();
        let forgotten = store.forgotten();
        plan.report.digests = store.digest_stamps()?;
        let candidates = candidates(&plan.report.digests, &forgotten);
        let newest: BTreeMap<Device, CoreId> =
            candidates.iter().map(|(id, _)| (id.device.clone(), id.clone())).collect();
        let looked: Vec<(CoreId, Candidate)> = candidates
            .into_par_iter()
            .map(|(id, eight)| {
                let looked = match eight.iter().any(|(_, seen)| seen.is_none()) {
                    true => incomplete(&eight, newest.get(&id.device) == Some(&id)),
                    false => look(store, &id, eight, &forgotten, known.cores.get(&id.to_string())),
                };
                (id, looked)
            })
            .collect();
        for (id, looked) in looked {
            match looked {
                Candidate::Unchanged(hash) => drop(plan.state.cores.insert(id.to_string(), hash)),
                Candidate::NotFull => {}
                Candidate::Waiting(because) => {
                    plan.report.waiting.push(PendingCore { core: id, because });
                }
                Candidate::Made(core, unrelated) => {
                    if !core.same {
                        plan.report.cores.push(store.layout().shown(&store.layout().core(&id)));
                    }
                    // Whoever captured a session is the one that writes its digest.
                    plan.ticks.extend(unrelated.into_iter().filter(|id| id.device == *device));
                    plan.cores.insert(id, core);
                }
            }
        }
        plan.report.related = plan.ticks.len();
        plan.looked_above = plan.look_above(store, &known)?;
        Ok(plan)
    }

    fn apply(mut self, store: &Store) -> Result<ConsolidateReport> {
        let layout = store.layout();
        let cannot = || format!("cannot write to the memory `{}`", layout.root().display());
        let cores = self.cores.iter().filter(|(_, core)| !core.same);
        let cores = cores.map(|(id, core)| (layout.core(id), &core.remake));
        let upper = self.upper.iter().map(|(path, remake)| (path.clone(), remake));
        let pages: Vec<(PathBuf, &Remake)> = cores.chain(upper).collect();
        for pages in pages.chunks(PAGES_AT_ONCE) {
            let merges = pages.iter().map(|(path, remake)| {
                let merge = |now: Option<&str>| Some(remake(now.unwrap_or_default()));
                (path.clone(), authored::merging_shared(merge))
            });
            write_pages(layout, merges.collect()).context(cannot)?;
        }
        // A box is ticked only once the core that it tells of is there.
        let ticks: Vec<&SessionId> = self.ticks.iter().collect();
        for ticks in ticks.chunks(PAGES_AT_ONCE) {
            let merges = ticks.iter().map(|session| {
                let merge = |now: Option<&str>| now.map(digest::related_text);
                (layout.digest(session), authored::merging_shared(merge))
            });
            write_pages(layout, merges.collect()).context(cannot)?;
        }
        // Of what was only read, the look before reading counts: a change since then is seen the
        // next time.
        let is_ticked = |session: &SessionId| self.ticks.contains(session);
        for (session, stamp) in self.report.digests.iter_mut().filter(|(id, _)| is_ticked(id)) {
            *stamp = store.digest_stamp(session).unwrap_or(*stamp);
        }
        for (id, MadeCore { mut eight, .. }) in self.cores {
            for (session, seen) in eight.iter_mut().filter(|(id, _)| is_ticked(id)) {
                *seen = store.digest_stamp(session).map(MemberState::Digest);
            }
            self.state.cores.insert(id.to_string(), inputs(store, &id, &eight));
        }
        self.state.upper = self.looked_above.then(|| upper_stamp(layout)).flatten();
        ConsolidatedState::file(store).save(&self.state).context(cannot)?;
        Ok(self.report)
    }
}

/// So many pages are held in memory until they are in place.
const PAGES_AT_ONCE: usize = 256;

/// Puts pages in their places with one sync.
fn write_pages(layout: &Layout, pages: Vec<(PathBuf, SharedMerge<'_>)>) -> io::Result<()> {
    let mut batch = Batch::of_pages(&layout.replacing());
    batch.merge_all(pages).map_err(|(_, err)| err)?;
    batch.commit()
}

// --- Cores ---

/// The eight sessions of a core as they are now; `None` where there is neither digest nor
/// tombstone.
type Eight = Vec<(SessionId, Option<MemberState>)>;

#[derive(Debug, Clone, Copy)]
enum MemberState {
    Digest(Stamp),
    Forgotten,
}

/// The cores of which at least one session has a digest.
fn candidates(
    digests: &[(SessionId, Stamp)],
    forgotten: &BTreeSet<SessionId>,
) -> Vec<(CoreId, Eight)> {
    let seen: BTreeMap<&SessionId, Stamp> =
        digests.iter().map(|(id, stamp)| (id, *stamp)).collect();
    let cores: BTreeSet<CoreId> = seen.keys().map(|id| CoreId::of(id)).collect();
    let eight = |core: &CoreId| -> Eight {
        core.sessions()
            .map(|id| {
                let what = match seen.get(&id) {
                    _ if forgotten.contains(&id) => Some(MemberState::Forgotten),
                    Some(stamp) => Some(MemberState::Digest(*stamp)),
                    None => None,
                };
                (id, what)
            })
            .collect()
    };
    cores.into_iter().map(|core| (core.clone(), eight(&core))).collect()
}

/// What came of a look at a core.
enum Candidate {
    /// Nothing changed since it was made.
    Unchanged(String),
    /// It has fewer than eight sessions yet.
    NotFull,
    Waiting(String),
    /// With the digests whose box is not ticked yet.
    Made(MadeCore, Vec<SessionId>),
}

/// A core without all its sessions: the newest of a device may just not be full yet; else there is
/// a gap.
fn incomplete(eight: &Eight, newest: bool) -> Candidate {
    let missing =
        eight.iter().filter(|(_, seen)| seen.is_none()).map(|(session, _)| session.to_string());
    let missing = missing.collect::<Vec<_>>().join(", ");
    let gap = !newest || eight.windows(2).any(|pair| pair[0].1.is_none() && pair[1].1.is_some());
    if gap {
        Candidate::Waiting(format!("there is no digest of {missing}"))
    } else {
        Candidate::NotFull
    }
}

fn look(
    store: &Store,
    id: &CoreId,
    eight: Eight,
    forgotten: &BTreeSet<SessionId>,
    known: Option<&String>,
) -> Candidate {
    let hash = inputs(store, id, &eight);
    if known == Some(&hash) {
        return Candidate::Unchanged(hash);
    }
    let mut sources = Vec::new();
    let mut unrelated = Vec::new();
    for (session, seen) in &eight {
        if matches!(seen, Some(MemberState::Forgotten)) {
            sources.push((session.clone(), Source::Forgotten));
            continue;
        }
        let read =
            files::read_to_string(store.layout().digest(session)).map_err(|err| err.to_string());
        let digest = match read.and_then(|text| Ok((digest::parse(&text)?, text))) {
            Ok((digest, text)) => {
                if digest::related_text(&text) != text {
                    unrelated.push(session.clone());
                }
                digest
            }
            Err(reason) => {
                return Candidate::Waiting(format!(
                    "the digest of {session} cannot be read: {reason}"
                ));
            }
        };
        if digest.state == State::Open && digest.content.worth == Worth::Full {
            return Candidate::Waiting(format!("{session} is still open"));
        }
        sources.push((session.clone(), Source::Digest(Box::new(digest))));
    }
    let existing = match read_page(&store.layout().core(id)) {
        Ok(existing) => existing,
        Err(reason) => return Candidate::Waiting(reason),
    };
    let (core, forgotten) = (rules::core(id, sources), forgotten.clone());
    let remake: Remake = Box::new(move |existing| {
        let written = core::parse_core(existing);
        let said = written
            .landmarks
            .into_iter()
            .chain(written.superseded.into_iter().map(|old| old.landmark))
            .collect();
        let core = rules::with_history(core.clone(), said, &forgotten);
        core::core_text(&core, rules::MADE_BY, existing)
    });
    let page = remake(&existing);
    Candidate::Made(MadeCore { eight, same: page == existing, page, remake }, unrelated)
}

/// A page of ours, empty where there is none. One that cannot be read is left alone.
fn read_page(path: &Path) -> Result<String, String> {
    files::if_exists(files::read_to_string(path))
        .map(Option::unwrap_or_default)
        .map_err(|err| format!("`{}` cannot be read ({err}), so it is left alone", path.display()))
}

/// The core of eight digests as they are now, with what every landmark rests on in words; `None`
/// where one is missing.
pub fn core_now(store: &Store, id: &CoreId) -> Option<crate::model::core::Core> {
    let forgotten = store.forgotten();
    let sources: Option<Vec<(SessionId, Source)>> = id
        .sessions()
        .map(|session| {
            if forgotten.contains(&session) {
                return Some((session, Source::Forgotten));
            }
            let digest = store.digest(&session).ok()??;
            Some((session, Source::Digest(Box::new(digest))))
        })
        .collect();
    Some(rules::core(id, sources?))
}

// --- Spheres and MEMORY.md ---

impl Plan {
    /// Plans what lies above the cores, where a core changed or a page is not as it was left. Says
    /// whether it looked.
    fn look_above(&mut self, store: &Store, known: &ConsolidatedState) -> Result<bool> {
        let layout = store.layout();
        let made = &self.cores;
        let page = |id: &CoreId| match made.get(id) {
            Some(core) => core.page.clone(),
            None => files::read_to_string(layout.core(id)).unwrap_or_default(),
        };
        let mut ids: BTreeSet<CoreId> = core::core_ids(&layout.cores()).into_iter().collect();
        ids.extend(made.keys().cloned());
        if ids.is_empty() && !files::exists(layout.memory_page()) {
            return Ok(false);
        }
        if made.is_empty() && known.upper.is_some() && known.upper == upper_stamp(layout) {
            return Ok(true);
        }
        let mut by_sphere: BTreeMap<SphereId, Vec<CoreId>> = BTreeMap::new();
        for id in ids {
            by_sphere.entry(id.sphere()).or_default().push(id);
        }
        let mut all: Vec<Merged> = Vec::new();
        for (id, members) in by_sphere {
            let path = layout.sphere(&id);
            let touched = members.iter().any(|core| made.contains_key(core));
            let whole = members.len() == crate::model::ids::EIGHT as usize;
            let existing = read_page(&path).map_err(Error::new)?;
            if whole && !touched && !existing.is_empty() {
                all.extend(core::parse_sphere(&existing));
                continue;
            }
            let pages: Vec<(CoreId, WrittenCore)> = members
                .par_iter()
                .map(|core| (core.clone(), core::parse_core(&page(core))))
                .collect();
            let sphere = sphere_of(&id, &pages);
            all.extend(sphere.together.landmarks.iter().filter(|one| rises(one)).cloned());
            let remake: Remake =
                Box::new(move |existing| core::sphere_text(&sphere, rules::MADE_BY, existing));
            if whole && remake(&existing) != existing {
                self.report.spheres.push(layout.shown(&path));
                self.upper.push((path, remake));
            }
        }
        let together = sphere::together(all);
        let confirmed: Vec<Merged> = together
            .landmarks
            .into_iter()
            .filter(|one| one.landmark.state == LandmarkState::Confirmed)
            .collect();
        let path = layout.memory_page();
        let existing = read_page(&path).map_err(Error::new)?;
        let made: BTreeMap<CoreId, String> =
            made.iter().map(|(id, core)| (id.clone(), core.page.clone())).collect();
        let cores = layout.clone();
        let text = move |existing: &str| {
            let page = |id: &CoreId| match made.get(id) {
                Some(page) => page.clone(),
                None => files::read_to_string(cores.core(id)).unwrap_or_default(),
            };
            let mut own = memory::parse(existing);
            own.pinned.retain(|(_, line)| !leads_to_nothing(line, &page));
            memory::text(&own, &confirmed)
        };
        let (now, left_out) = text(&existing);
        self.report.left_out = left_out;
        self.report.memory = now != existing;
        let remake: Remake = Box::new(move |existing| text(existing).0);
        self.upper.extend(self.report.memory.then_some((path, remake)));
        Ok(true)
    }
}

/// Whether a landmark goes up from its cores: what is confirmed or contested, not what is only
/// supposed.
fn rises(one: &Merged) -> bool {
    matches!(one.landmark.state, LandmarkState::Confirmed | LandmarkState::Contested)
}

fn sphere_of(id: &SphereId, pages: &[(CoreId, WrittenCore)]) -> Sphere {
    let mut entities: BTreeMap<&String, Entity> = BTreeMap::new();
    for (_, page) in pages {
        for (name, sessions) in &page.projects {
            let entity = entities.entry(name).or_insert_with(|| Entity {
                name: name.clone(),
                sessions: 0,
                last: None,
            });
            entity.sessions += sessions;
            entity.last = entity.last.max(page.last);
        }
    }
    let landmarks = pages
        .iter()
        .flat_map(|(core, page)| page.landmarks.iter().map(|one| Merged::of(core, page.last, one)));
    let together = sphere::together(landmarks.collect());
    let mut entities: Vec<Entity> = entities.into_values().collect();
    entities.sort_by(|a, b| (b.sessions, &a.name).cmp(&(a.sessions, &b.name)));
    Sphere {
        id: id.clone(),
        cores: pages.iter().map(|(core, page)| (core.clone(), page.last)).collect(),
        entities,
        together,
    }
}

/// Whether a pinned line tells of nothing but what was forgotten: forgetting outweighs a pin.
fn leads_to_nothing(line: &str, page: &impl Fn(&CoreId) -> String) -> bool {
    let targets = memory::leads_to(line);
    let is_forgotten = |(core, id): &(CoreId, _)| {
        core::parse_core(&page(core))
            .superseded
            .iter()
            .any(|old| old.landmark.id == *id && old.landmark.is_forgotten())
    };
    !targets.is_empty() && targets.iter().all(is_forgotten)
}

// --- What is known from last time ---

/// How everything looked when it was last consolidated.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ConsolidatedState {
    /// Each core with a hash of how its digests and its page looked.
    cores: BTreeMap<String, String>,
    /// How the folder and MEMORY.md looked.
    upper: Option<String>,
}

impl ConsolidatedState {
    fn file(store: &Store) -> StateFile<ConsolidatedState> {
        StateFile::cache(store.layout().consolidated())
    }
}

/// A hash of how a core's digests and its page look.
fn inputs(store: &Store, id: &CoreId, eight: &Eight) -> String {
    let mut text = format!("{} {}", rules::MADE_BY, env!("CARGO_PKG_VERSION"));
    for (_, seen) in eight {
        match seen {
            Some(MemberState::Digest(stamp)) => text.push_str(&stamp_text(stamp)),
            Some(MemberState::Forgotten) => text.push_str(" forgotten"),
            None => text.push_str(" missing"),
        }
    }
    let page = files::symlink_metadata(store.layout().core(id))
        .map(|metadata| stamp_text(&Stamp::of(&metadata)));
    text.push_str(&page.unwrap_or_default());
    files::sha256_hex(text.as_bytes())[..16].to_string()
}

fn stamp_text(stamp: &Stamp) -> String {
    let Stamp { size, mtime_ns, inode, ctime_ns } = stamp;
    format!(" {size}:{mtime_ns}:{inode}:{ctime_ns}")
}

/// How the folder of cores and MEMORY.md look.
pub fn upper_stamp(layout: &layout::Layout) -> Option<String> {
    let of = |path: &Path| Some(stamp_text(&Stamp::of(&files::symlink_metadata(path).ok()?)));
    Some(of(&layout.cores())? + &of(&layout.memory_page())?)
}
