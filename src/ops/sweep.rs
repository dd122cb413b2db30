//! The main job, once: logs are found, sessions captured, digests and days written, the index
//! refreshed.
//!
//! Sessions are staged in parallel and in any order under temporary names, then committed in the
//! order in which they ended: first the snapshots, then the digests (whose rename is the commit
//! mark), then the days. A sweep that is killed leaves a prefix; the next one does the rest and
//! ends in the same tree.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::time::Instant;

use chrono::NaiveDate;
use serde::Serialize;

use crate::adapters::shared::SharedFiles;
use crate::adapters::{self, Adapter};
use crate::base::clock::Timestamp;
use crate::base::files::{self, Stamp};
use crate::base::setters::setters;
use crate::capture::CaptureSettings;
use crate::capture::commit::{self, CapturedSession};
use crate::capture::fingerprint::{self, SweepFingerprint};
use crate::capture::folder::{self, Folder, FolderNotes, FolderReport, FolderStatus, Listing};
use crate::capture::held;
use crate::capture::known::Known;
use crate::capture::parts::{self, Parts};
use crate::capture::sources::{Root, Selection, Sources, SweepPlan, Walk};
use crate::capture::stage::{self, StagedSession};
use crate::error::{Context, Result};
use crate::memory::Memory;
use crate::model::ids::{Device, SessionId};
use crate::model::session::{Skipped, Source};
use crate::ops::days::{self, Scope, Summarized};
use crate::ops::digest::ModelReport;
use crate::ops::embeddings::EmbeddingsReport;
use crate::ops::forget::quarantine::QuarantineEntry;
use crate::ops::repair::{self, Extent};
use crate::ops::retain::plan::Limits;
use crate::ops::retain::{self, Budget, Retention};
use crate::ops::{consolidate, context, day_status, devices, digest, forget, redaction, turns};
use crate::settings::accepted::WaitingSetting;
use crate::store::device::Acquaintance;
use crate::store::guards;
use crate::store::local;
use crate::store::seals;
use crate::store::tombstones::Tombstones;

/// What to sweep, and how.
pub struct SweepRequest<'a> {
    /// Which logs; without any places, those of the settings.
    pub selection: Selection,
    /// The storage budget, where it is not that of the settings.
    pub limits: Option<Limits>,
    /// Whether the folders that the settings name are kept too; not where places or agents are
    /// named.
    pub folders: bool,
    /// Whether days that are over get their last summary now; `watch` does that less often.
    pub finalize: bool,
    /// Whether every file of every snapshot is looked at, rather than those that look changed.
    pub thorough: bool,
    /// Whether it only says what would be done. Then the memory need not be there.
    pub dry_run: bool,
    /// Is called for each session that is done, with how many there are.
    progress: &'a (dyn Fn(usize, usize) + Sync),
}

setters!(SweepRequest<'_> {
    selection: Selection,
    limits: Option<Limits>,
    folders: bool,
    finalize: bool,
    thorough: bool,
    dry_run: bool,
});

impl Default for SweepRequest<'_> {
    fn default() -> Self {
        SweepRequest {
            selection: Selection::default(),
            limits: None,
            folders: true,
            finalize: true,
            thorough: false,
            dry_run: false,
            progress: &|_, _| {},
        }
    }
}

impl<'a> SweepRequest<'a> {
    /// The logs in one place; whose they are is recognized by their content.
    pub fn of(path: impl Into<PathBuf>) -> SweepRequest<'a> {
        SweepRequest::default().roots(vec![Root::named(path)])
    }

    /// Sets the places of the [`selection`](Self::selection).
    pub fn roots(mut self, roots: Vec<Root>) -> Self {
        self.selection.roots = roots;
        self
    }

    /// Sets its only agents.
    pub fn only(mut self, only: Vec<String>) -> Self {
        self.selection.only = only;
        self
    }

    /// Sets the agents that it has not.
    pub fn except(mut self, except: Vec<String>) -> Self {
        self.selection.except = except;
        self
    }

    /// Sets what is called for each session that is done.
    pub fn progress(self, progress: &'a (dyn Fn(usize, usize) + Sync)) -> Self {
        SweepRequest { progress, ..self }
    }
}

impl SweepRequest<'_> {
    /// All places that would be looked at, whether they are there or not: for whoever waits for
    /// changes.
    pub fn places(&self, memory: &Memory) -> Result<Vec<PathBuf>> {
        let resolved = memory.resolved(&self.selection)?;
        let roots: Vec<PathBuf> = resolved.roots.into_iter().map(|root| root.path).collect();
        // Where only other agents keep their logs nothing comes that is meant.
        let places = &memory.environment().places;
        let (meant, others): (Vec<&dyn Adapter>, Vec<&dyn Adapter>) =
            adapters::ALL.iter().copied().partition(|adapter| self.selection.has(adapter.name()));
        let of = |adapters: &[&dyn Adapter]| -> HashSet<PathBuf> {
            adapters.iter().flat_map(|adapter| adapter.roots(places)).collect()
        };
        let (meant, others) = (of(&meant), of(&others));
        let roots = roots.into_iter().filter(|root| meant.contains(root) || !others.contains(root));
        Ok(roots.chain(self.folders_of(memory).into_iter().map(|folder| folder.path)).collect())
    }

    /// The folders that are kept too.
    fn folders_of(&self, memory: &Memory) -> Vec<Folder> {
        let Selection { roots, only, .. } = &self.selection;
        match self.folders && roots.is_empty() && only.is_empty() {
            true => memory.folders(),
            false => Vec::new(),
        }
    }
}

/// What a sweep did.
#[derive(Debug, Default, Serialize)]
pub struct SweepReport {
    pub discovered: usize,
    /// The same by agent.
    pub by_flavor: BTreeMap<String, usize>,
    pub captured: usize,
    pub unchanged: usize,
    pub digested: usize,
    /// How many digests of an earlier format were written in today's.
    #[serde(skip_serializing_if = "is_none")]
    pub upgraded: usize,
    /// What could not be read: the first of each file.
    pub skipped: Vec<Skipped>,
    /// How many there are in all; `state/skipped.txt` of a session names every one.
    pub skipped_total: u64,
    /// The secrets that were redacted.
    pub redactions: Redactions,
    /// How many sessions were captured with rules that knew fewer secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_rules: Option<usize>,
    /// How many sessions the settings leave out; they are not counted as discovered.
    pub excluded: usize,
    /// How many sessions have no page because a setting that nobody accepted names them.
    pub held_back: usize,
    /// How many sessions have their log here and are another device's to write.
    pub left_to_others: usize,
    /// When the first of these may be captured here.
    #[serde(skip)]
    left_until: Option<Timestamp>,
    pub sessions: Vec<CapturedSession>,
    /// What became of the folders that the settings name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<FolderReport>,
    /// The cores and spheres that were written, relative to the memory.
    pub cores: Vec<String>,
    pub spheres: Vec<String>,
    /// What was damaged, had no word of a person's, and was made again, relative to the memory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repaired: Vec<String>,
    pub retention: Retention,
    /// What tombstones of other devices took out of the tree; it can be brought back.
    pub quarantined: Vec<QuarantineEntry>,
    /// What was in quarantine for thirty days, and is deleted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quarantine_ended: Vec<SessionId>,
    /// What the memory's file says and nobody accepted on this device.
    pub settings_waiting: Vec<WaitingSetting>,
    /// The devices whose pages are here for the first time and whom nobody trusts yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new_devices: Vec<Device>,
    /// The device from which this folder was copied; it is reported once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copied_from: Option<Device>,
    /// Sessions in this device's name that it did not capture: another one has the same name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namesakes: Vec<SessionId>,
    /// What a model did, where one is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelReport>,
    /// What was done for vectors, where a server makes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embeddings: Option<EmbeddingsReport>,
    /// The days whose summaries were written.
    #[serde(skip)]
    pub days: Summarized,
    /// How many sessions were found to be over.
    #[serde(skip)]
    pub ended: usize,
    pub took_ms: u64,
}

/// How many secrets were redacted, in how many sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Redactions {
    pub count: u64,
    pub sessions: usize,
}

impl Memory {
    /// Takes the agents' logs in, and then asks a model about what is new, where there is one.
    pub fn sweep(&self, request: SweepRequest<'_>) -> Result<SweepReport> {
        let began = Instant::now();
        let mut report = match request.dry_run {
            true => self.preview_sweep(&request)?,
            false => self.sweep_locked(&request)?,
        };
        if !request.dry_run {
            turns::prune(self.store(), self.now());
            context::prune(self.store(), self.now());
            report.older_rules = redaction::note_sweep(self, report.sessions.len())?;
            for skipped in self.refresh_native()? {
                local::note(self.layout(), self.now(), &format!("notes of agents: {skipped}"));
            }
            report.model = self.improve_digests(request.progress)?;
            report.embeddings = self.embed_sessions(request.progress)?;
        }
        // Whole files are counted where they are found, lines where they are read.
        report.skipped_total = report.skipped_total.max(report.skipped.len() as u64);
        report.skipped.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
        report.took_ms = began.elapsed().as_millis() as u64;
        Ok(report)
    }

    /// Plans a sweep and reads what it would capture; creates nothing, not even a folder.
    fn preview_sweep(&self, request: &SweepRequest<'_>) -> Result<SweepReport> {
        let mut run = Run::new(self, request)?;
        run.report.folders = run.plan_folders().into_iter().map(|(folder, _)| folder).collect();
        let (mut found, known) = Sources::scan(&run.settings, &run.selection)?;
        let plan = found.plan(self.store(), &known);
        let preview = stage::preview_all(&run.settings, &known, &found, &plan.changed)?;
        run.report.captured = preview.sessions.len();
        run.report.skipped = found.skipped;
        run.report.held_back = plan.held.len() + preview.held.len();
        run.report.left_to_others = preview.elsewhere + known.left_to_others(&plan.unchanged);
        run.report.count(&plan, &preview.excluded, preview.elsewhere, preview.by_flavor);
        run.report.skipped_total = run.report.skipped.len() as u64 + preview.skipped_total;
        run.report.skipped.extend(preview.skipped);
        run.retain(&known)?;
        Ok(run.report)
    }

    /// All that a sweep does by itself, step by step.
    fn sweep_locked(&self, request: &SweepRequest<'_>) -> Result<SweepReport> {
        let layout = self.layout();
        let cannot = || self.store().cannot_write();
        // One sweep at a time; a second one waits and then finds everything done.
        let _lock = self.store().lock()?;
        guards::guard_own(layout)
            .and_then(|()| guards::write_once(self.store()))
            .context(cannot)?;
        let mut run = Run::new(self, request)?;
        let tombstones = run.finish_earlier()?;
        run.report.upgraded = digest::upgrade(self, request.progress)?;
        let folders = run.plan_folders();
        let walk = Walk::of(&run.selection, layout.root(), &run.settings.pages.exclude)?;
        let digests = self.store().digest_stamps()?;
        run.meet_devices(&digests)?;
        let inputs = run.hash_inputs(&walk, &tombstones);
        let is_new = |(_, listing): &(FolderReport, Option<Listing>)| listing.is_some();
        if walk.skipped.is_empty()
            && !request.thorough
            && !folders.iter().any(is_new)
            && run.matches(&inputs, &digests)
            && !run.is_suspicious(&digests)
        {
            run.report.folders = folders.into_iter().map(|(folder, _)| folder).collect();
            digest::note_waiting(self, std::iter::empty())?;
            return Ok(run.report);
        }
        // It is there from the beginning of a sweep to its end, and so shows the next one a kill.
        files::create_private_dir(&layout.staging()).context(cannot)?;
        let digests = run.repair_pages(digests)?;
        let mut known = Known::load(&run.settings, digests);
        run.report.repaired.extend(repair::snapshots(&run.settings, &mut known, request.thorough)?);
        // First, because a folder may be the eighth session of a core.
        run.keep_folders(&mut known, &tombstones, folders)?;
        let has_shared = run.capture(&mut known, walk, &tombstones)?;
        run.close_sessions(&mut known)?;
        run.settle_held(&known)?;
        let digests = run.write_days_and_cores()?;
        known.cursors.save(&layout.cursors()).context(cannot)?;
        run.retain(&known)?;
        run.report.repaired.extend(repair::orphans(&run.settings)?);
        files::remove_folder(&layout.staging()).context(cannot)?;
        repair::remember(layout).context(cannot)?;
        if !has_shared {
            run.save_fingerprint(&inputs, &digests, &known)?;
        }
        if run.report.has_written() {
            crate::index::refresh(self.store())?;
        }
        Ok(run.report)
    }
}

/// A sweep under way.
struct Run<'m> {
    memory: &'m Memory,
    request: &'m SweepRequest<'m>,
    settings: CaptureSettings<'m>,
    selection: Selection,
    limits: Limits,
    report: SweepReport,
    /// The sessions that were found to be parts of others.
    parts: Parts,
}

/// The places to look in, and the copies of what was held back and is not any more.
fn with_held(memory: &Memory, mut selection: Selection) -> Selection {
    selection.roots.extend(held::roots(memory.layout(), &memory.held_back(), &memory.exclude()));
    selection
}

/// The hash of the sources, and what of the memory does not change in a sweep.
struct Inputs<'t> {
    sources: String,
    tombstones: &'t Tombstones,
}

impl<'m> Run<'m> {
    fn new(memory: &'m Memory, request: &'m SweepRequest<'m>) -> Result<Run<'m>> {
        Ok(Run {
            memory,
            request,
            settings: memory.capture_settings()?,
            selection: with_held(memory, memory.resolved(&request.selection)?),
            limits: request.limits.unwrap_or_else(|| memory.limits()),
            report: SweepReport {
                settings_waiting: memory.waiting_settings().to_vec(),
                ..SweepReport::default()
            },
            parts: Parts::default(),
        })
    }

    /// Does what killed commands and other devices' tombstones left to do; says what is forgotten.
    fn finish_earlier(&mut self) -> Result<Tombstones> {
        let (store, layout) = (self.memory.store(), self.memory.layout());
        if layout.replacing().has_left() {
            // First of all: what a person saved into a page counts for whatever is made of it.
            files::recover(&layout.replacing()).context(|| self.settings.store.cannot_write())?;
        }
        commit::finish_earlier_sweep(store, self.settings.zone)?;
        if files::exists(layout.staging()) || commit::has_leftovers(store) {
            commit::remove_leftovers(store).context(|| self.settings.store.cannot_write())?;
        }
        if files::exists(layout.knowledge_log()) && !files::exists(layout.knowledge_index()) {
            // A compile was killed just before its last page.
            store.write_index().context(|| self.settings.store.cannot_write())?;
        }
        files::remove_folder(&layout.staging()).context(|| self.settings.store.cannot_write())?;
        retain::finish_earlier_eviction(store, &mut self.report.retention)?;
        let finished = forget::finish(store, &forget::Request::of(self.memory)?)?;
        self.report.quarantined = finished.quarantined;
        self.report.quarantine_ended = finished.ended;
        Ok(finished.tombstones)
    }

    /// Looks whose pages are here, and notes the devices that were not here before.
    fn meet_devices(&mut self, digests: &[(SessionId, Stamp)]) -> Result<()> {
        let met = devices::meet(self.memory, digests.iter().map(|(session, _)| session));
        self.report.new_devices = met.new;
        self.report.namesakes = met.namesakes;
        self.report.copied_from = met.copied_from;
        if !self.report.new_devices.is_empty() || self.report.copied_from.is_some() {
            let noted = Acquaintance::note_shown(self.memory.layout(), met.seen);
            noted.context(|| self.settings.store.cannot_write())?;
        }
        Ok(())
    }

    /// What is to be done about the folders that the settings name.
    fn plan_folders(&self) -> Vec<(FolderReport, Option<Listing>)> {
        let folders = self.request.folders_of(self.memory);
        folders.iter().map(|folder| folder::plan(&self.settings, folder)).collect()
    }

    /// Makes sessions of the folders that are to be kept.
    fn keep_folders(
        &mut self,
        known: &mut Known,
        tombstones: &Tombstones,
        planned: Vec<(FolderReport, Option<Listing>)>,
    ) -> Result<()> {
        let folders = self.request.folders_of(self.memory);
        for ((mut report, listing), folder) in planned.into_iter().zip(folders) {
            if let Some(mut listing) = listing {
                let notes = FolderNotes { objective: folder.objective, ..FolderNotes::default() };
                let (session, is_new) =
                    folder::keep(&self.settings, known, tombstones, &mut listing, &notes)?;
                report.session = session;
                report.status = FolderStatus::Unchanged;
                if is_new {
                    report.status = FolderStatus::Kept;
                    self.report.skipped.extend(listing.skipped);
                }
            }
            self.report.folders.push(report);
        }
        Ok(())
    }

    fn hash_inputs<'t>(&self, walk: &Walk, tombstones: &'t Tombstones) -> Inputs<'t> {
        let limits = self.limits.eviction_key();
        let sources = fingerprint::of_sources(&self.settings, &self.selection, limits, walk);
        Inputs { sources, tombstones }
    }

    fn hash_memory(&self, inputs: &Inputs<'_>, digests: &[(SessionId, Stamp)]) -> String {
        let layout = self.memory.layout();
        let cores = consolidate::upper_stamp(layout);
        let mut days = days::stamps(layout);
        days.extend(seals::stamps(layout));
        fingerprint::of_memory(&inputs.sources, digests, cores, inputs.tombstones, &days)
    }

    /// Whether nothing has changed since a sweep that left nothing to do; then its report is this
    /// one's.
    fn matches(&mut self, inputs: &Inputs<'_>, digests: &[(SessionId, Stamp)]) -> bool {
        let Some(before) = SweepFingerprint::file(self.memory.layout()).read() else {
            return false;
        };
        if !before.matches(&self.hash_memory(inputs, digests), self.settings.now) {
            return false;
        }
        (self.report.discovered, self.report.unchanged) = (before.discovered, before.discovered);
        self.report.by_flavor = before.by_flavor;
        self.report.excluded = before.excluded;
        self.report.left_to_others = before.left_to_others;
        self.report.held_back = before.held_back;
        self.report.retention.in_use_bytes = before.in_use_bytes;
        true
    }

    /// Whether a snapshot was changed that nobody has looked at since.
    fn is_suspicious(&self, digests: &[(SessionId, Stamp)]) -> bool {
        let own = digests.iter().map(|(id, _)| id).filter(|id| id.device == *self.settings.device);
        let own: Vec<SessionId> = own.cloned().collect();
        repair::is_suspicious(self.memory.store(), &own, self.settings.now.timestamp() as usize)
    }

    /// Makes damaged pages again; returns how the digests look then.
    fn repair_pages(
        &mut self,
        digests: Vec<(SessionId, Stamp)>,
    ) -> Result<Vec<(SessionId, Stamp)>> {
        self.report.repaired = repair::pages(self.memory, &digests, Extent::Ours)?;
        match self.report.repaired.is_empty() {
            true => Ok(digests),
            false => self.memory.store().digest_stamps(),
        }
    }

    /// Captures what has changed; says whether any file is shared among sessions.
    fn capture(&mut self, known: &mut Known, walk: Walk, tombstones: &Tombstones) -> Result<bool> {
        let (settings, staging) = (&self.settings, self.memory.layout().staging());
        let shared = SharedFiles::with_copies_in(staging.join("shared"));
        let keys = [settings.pages.exclude.key(), settings.pages.held_key()];
        let cursors = &mut known.cursors;
        let mut found = Sources::find(walk, &self.selection, cursors, &keys, tombstones, shared);
        let plan = found.plan(settings.store, known);
        plan.unchanged.iter().for_each(|source| found.remember(&mut known.cursors, source));
        let staged =
            stage::stage_all(settings, known, &found, &plan.changed, self.request.progress)?;
        self.report.left_to_others = staged.elsewhere + known.left_to_others(&plan.unchanged);
        self.report.left_until = staged.elsewhere_until;
        self.report.held_back = plan.held.len() + staged.held.len();
        self.report.count(&plan, &staged.excluded, staged.elsewhere, staged.by_flavor);
        self.report.skipped.append(&mut found.skipped);
        self.report.skipped_total = self.report.skipped.len() as u64 + staged.skipped_total;
        self.report.skipped.extend(staged.skipped);
        for redactions in staged.sessions.iter().map(|one| one.redactions).filter(|one| *one > 0) {
            self.report.redactions.count += redactions;
            self.report.redactions.sessions += 1;
        }
        for source in &staged.excluded {
            found.remember(&mut known.cursors, source);
            known.cursors.remember_excluded(source.source_id(), settings.pages.exclude.key());
        }
        for (source, ..) in &staged.held {
            found.remember(&mut known.cursors, source);
            known.cursors.remember_excluded(source.source_id(), settings.pages.held_key());
        }
        held::note(self.memory.layout(), staged.held)
            .context(|| self.settings.store.cannot_write())?;
        let remember = |known: &mut Known, staged: &StagedSession| {
            found.remember(&mut known.cursors, &staged.source);
        };
        let held: Vec<Source> = staged.sessions.iter().map(|one| one.source.clone()).collect();
        let captured = commit::commit_all(settings, known, staged.sessions, remember)?;
        let sources = held.iter().chain(&plan.unchanged);
        self.parts = parts::leave_to_parents(settings, known, sources)
            .context(|| settings.store.cannot_write())?;
        self.report.captured = captured.len();
        self.report.ended += captured.iter().filter(|one| one.open_until.is_none()).count();
        self.report.sessions = captured;
        Ok(found.has_shared)
    }

    /// Removes the copies of what was held back and is decided.
    fn settle_held(&self, known: &Known) -> Result<()> {
        let (layout, captured) = (self.memory.layout(), &self.report.sessions);
        let is_captured = |id: &str| captured.iter().any(|one| one.source_id == id);
        held::settle(layout, &self.settings.pages.exclude, known, is_captured)
            .context(|| self.settings.store.cannot_write())
    }

    fn close_sessions(&mut self, known: &mut Known) -> Result<()> {
        let closed = commit::close_sessions(&self.settings, known)
            .context(|| self.settings.store.cannot_write())?;
        self.report.digested = self.report.captured + closed + self.parts.written;
        self.report.ended += closed;
        let captured = self.report.sessions.iter().map(|captured| &captured.session);
        digest::note_waiting(self.memory, captured)
    }

    /// Writes what is made from digests; returns how they look now.
    fn write_days_and_cores(&mut self) -> Result<Vec<(SessionId, Stamp)>> {
        let CaptureSettings { store, device, now, zone, .. } = self.settings;
        let finalize = self.request.finalize;
        let scope = if finalize { Scope::All } else { Scope::Today };
        day_status::take_in(store.layout(), now)
            .context(|| "cannot take in what another tool noted of the days".into())?;
        self.report.days = days::settle(store, now, zone, scope)?;
        if !self.parts.days.is_empty() {
            let days: Vec<NaiveDate> = self.parts.days.iter().copied().collect();
            days::rewrite(store, &days, &BTreeMap::new(), now, zone)?;
        }
        let consolidated = consolidate::run(store, device)?;
        (self.report.cores, self.report.spheres) = (consolidated.cores, consolidated.spheres);
        Ok(consolidated.digests)
    }

    /// Applies the storage budget, but for what was captured just now.
    fn retain(&mut self, known: &Known) -> Result<()> {
        let report = &mut self.report;
        let folders = report.folders.iter().filter(|one| one.status == FolderStatus::Kept);
        let folders = folders.filter_map(|folder| folder.session.clone());
        let sessions = report.sessions.iter().map(|captured| captured.session.clone());
        let fresh = sessions.chain(folders).collect();
        let retention = &mut report.retention;
        let budget =
            Budget { settings: &self.settings, limits: self.limits, dry_run: self.request.dry_run };
        budget.after_sweep(known, &fresh, report.digested > 0, retention)
    }

    /// Notes that whoever comes next has nothing to do: whatever was read is remembered.
    fn save_fingerprint(
        &self,
        inputs: &Inputs<'_>,
        digests: &[(SessionId, Stamp)],
        known: &Known,
    ) -> Result<()> {
        let (report, now) = (&self.report, self.settings.now);
        let in_use_bytes = report.retention.in_use_bytes;
        // What this sweep captured may go with the next one.
        if !report.skipped.is_empty() || in_use_bytes > self.limits.cap() {
            return Ok(());
        }
        if !self.request.finalize {
            let today = days::today(now, self.settings.zone);
            let pending = days::pending(self.settings.store, today);
            if !pending.context(|| self.settings.store.cannot_write())?.is_empty() {
                return Ok(());
            }
        }
        let open = known.cursors.next_due(self.settings.device).into_iter();
        let fingerprint = SweepFingerprint {
            hash: self.hash_memory(inputs, digests),
            discovered: report.discovered,
            by_flavor: report.by_flavor.clone(),
            excluded: report.excluded,
            left_to_others: report.left_to_others,
            held_back: report.held_back,
            in_use_bytes,
            due: open
                .chain(self.limits.next_due(known.cursors.raw_since(), now))
                .chain(report.left_until)
                .min(),
        };
        let file = SweepFingerprint::file(self.memory.layout());
        file.save(&fingerprint).map(drop).context(|| self.settings.store.cannot_write())
    }
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

impl SweepReport {
    /// Counts the sessions that were found.
    fn count(
        &mut self,
        plan: &SweepPlan,
        excluded: &[Source],
        elsewhere: usize,
        changed: BTreeMap<&'static str, usize>,
    ) {
        let unchanged = plan.unchanged.iter().map(|source| (source.flavor, 1));
        for (flavor, count) in changed.into_iter().chain(unchanged) {
            *self.by_flavor.entry(flavor.to_string()).or_default() += count;
            self.discovered += count;
        }
        self.unchanged = plan.unchanged.len() + elsewhere;
        self.excluded = plan.excluded.len() + excluded.len();
    }

    /// Whether anything was written that a search finds. It looks for changes itself, so there is
    /// no need to look where nothing was.
    fn has_written(&self) -> bool {
        let retention = &self.retention;
        let is_kept = |folder: &FolderReport| folder.status == FolderStatus::Kept;
        self.digested + self.upgraded + retention.evicted.count() + retention.digested_now.len() > 0
            || self.folders.iter().any(is_kept)
            || !self.repaired.is_empty()
    }
}
