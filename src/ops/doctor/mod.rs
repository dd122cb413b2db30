//! The doctor: everything that can be wrong with a memory, what it means, and how to fix it.
//!
//! Each check looks and reports; with `fix`, it repairs what can be repaired without losing
//! anything, and says so. What only a person can decide is left to them, with the command to run.

mod checks;
mod environment;
mod finding;
mod secrets;

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::adapters::Places;
use crate::base::redact::Redactor;
use crate::base::setters::setters;
use crate::capture::rescue::{self, RescueClock};
use crate::capture::sources::Selection;
use crate::error::{Context, Result};
use crate::memory::Memory;
use crate::model::ids::SessionId;
use crate::ops::sweep::SweepRequest;
use crate::store::Store;

use finding::Findings;
pub use finding::{Finding, Level};
pub use secrets::redact_sessions;

/// What to look at, and how.
#[derive(Debug, Clone, Default)]
pub struct DoctorRequest {
    /// Which logs are looked at.
    pub selection: Selection,
    /// This program, as hooks call it.
    pub program: PathBuf,
    /// Whether to repair what can be repaired.
    pub fix: bool,
    /// Whether to make again also what a person may have taken out themselves.
    pub yes: bool,
    /// Whether to look for secrets in the whole tree.
    pub secrets: bool,
    /// Whether nothing at all may be written.
    pub dry_run: bool,
}

setters!(DoctorRequest {
    selection: Selection,
    program: PathBuf,
    fix: bool,
    yes: bool,
    secrets: bool,
    dry_run: bool,
});

impl Memory {
    /// Says what is wrong, and fixes what can be fixed if that is wanted.
    pub fn doctor(&self, request: DoctorRequest) -> Result<DoctorReport> {
        doctor(&Doctor {
            store: self.store(),
            memory: self,
            selection: &request.selection,
            places: &self.environment().places,
            program: &request.program,
            warnings: self.warnings(),
            fix: request.fix && !request.dry_run,
            yes: request.yes,
            dry_run: request.dry_run,
            secrets: if request.secrets { Some(self.redactor()?) } else { None },
        })
    }
}

/// What the checks work with.
struct Doctor<'a> {
    store: &'a Store,
    memory: &'a Memory,
    selection: &'a Selection,
    places: &'a Places,
    program: &'a Path,
    /// What the settings were warned of.
    warnings: &'a [String],
    fix: bool,
    yes: bool,
    dry_run: bool,
    /// Finds secrets, where they are looked for.
    secrets: Option<&'a Redactor>,
}

impl Doctor<'_> {
    /// What agents will delete.
    fn clocks(&self) -> Result<Vec<RescueClock>> {
        let settings = self.memory.capture_settings()?;
        let selection = self.memory.resolved(self.selection)?;
        rescue::clocks(&settings, &selection, self.places)
    }

    /// Sweeps the logs that are looked at.
    fn sweep(&self) -> Result<()> {
        let request = SweepRequest::default().selection(self.selection.clone()).folders(false);
        self.memory.sweep(request).map(drop)
    }

    /// Does the same, and looks at every file of every snapshot.
    fn sweep_thoroughly(&self) -> Result<()> {
        let request = SweepRequest::default().selection(self.selection.clone()).folders(false);
        self.memory.sweep(request.thorough(true)).map(drop)
    }

    /// Every session that has a folder.
    fn sessions(&self) -> Result<Vec<SessionId>> {
        self.store.session_ids().context(|| "cannot list the sessions".into())
    }
}

/// What was found.
#[derive(Debug, Default, Serialize)]
pub struct DoctorReport {
    pub findings: Vec<Finding>,
    /// The names of all checks that were made.
    pub checked: Vec<&'static str>,
    /// What agents will delete.
    pub clocks: Vec<RescueClock>,
    /// How many sessions were swept because an agent is about to delete them.
    pub rescued: usize,
}

impl DoctorReport {
    /// Whether something is still broken or in danger.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.level == Level::Error && !finding.fixed)
    }
}

/// Makes every check.
fn doctor(doctor: &Doctor<'_>) -> Result<DoctorReport> {
    let mut report = DoctorReport::default();
    let mut all = Vec::new();
    let mut check = |name: &'static str, check: &mut dyn FnMut(&mut Findings) -> Result<()>| {
        let mut findings = Findings::of(name);
        check(&mut findings)?;
        report.checked.push(name);
        all.append(&mut findings.found);
        Ok(())
    };
    check("rescue clock", &mut |findings| {
        (report.clocks, report.rescued) = rescue(doctor, findings)?;
        Ok(())
    })?;
    for (name, function) in checks::ALL {
        check(name, &mut |findings| function(doctor, findings))?;
    }
    if let Some(redactor) = doctor.secrets {
        check("secrets", &mut |findings| secrets::check(doctor, redactor, findings))?;
    }
    all.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    report.findings = all;
    Ok(report)
}

/// Sweeps first what an agent is about to delete, and then shows its clock. Returns the clocks, and
/// how many sessions were swept.
fn rescue(doctor: &Doctor<'_>, findings: &mut Findings) -> Result<(Vec<RescueClock>, usize)> {
    let not_swept =
        |clocks: &[RescueClock]| clocks.iter().map(|clock| clock.not_swept).sum::<usize>();
    let mut clocks = doctor.clocks()?;
    let mut rescued = 0;
    let in_danger = not_swept(&clocks);
    if in_danger > 0 && !doctor.dry_run {
        doctor.sweep()?;
        clocks = doctor.clocks()?;
        rescued = in_danger.saturating_sub(not_swept(&clocks));
    }
    for clock in clocks.iter().filter(|clock| clock.at_risk() > 0) {
        let soonest = clock.soon.keys().next().copied().unwrap_or_default();
        let what = format!(
            "{} will delete {} of its {} sessions within {} days, the first in {soonest}",
            clock.flavor,
            clock.at_risk(),
            clock.sessions,
            rescue::SOON
        );
        let fix = format!("write {} into {}", clock.advice, clock.settings.display());
        match clock.not_swept {
            0 => findings.note(what, "the memory has all of them", fix),
            some => {
                let means =
                    format!("the memory does not have {some} of them yet; run `memtree sweep`");
                findings.error(what, &means, fix);
            }
        }
    }
    Ok((clocks, rescued))
}
