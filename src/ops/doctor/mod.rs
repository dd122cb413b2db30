//! The doctor: everything that can be unwell in a memory, what it means, and what mends it.
//!
//! Each check looks and reports; with `fix`, it mends what can be mended without losing anything,
//! and says so. What only a person can decide is left to them, with the command to run.

mod checks;
mod environment;
mod secrets;

use serde::Serialize;

use crate::adapters::Places;
use crate::base::redact::Redactor;
use crate::capture::rescue::{self, RescueClock};
use crate::capture::sources::Selection;
use crate::error::Result;
use crate::memory::Memory;
use crate::ops::sweep::SweepRequest;
use crate::store::Store;

/// What to look at, and how.
pub struct Doctor<'a> {
    pub store: &'a Store,
    pub memory: &'a Memory,
    /// Which logs are looked at.
    pub selection: &'a Selection,
    pub places: &'a Places,
    /// This program, as hooks call it.
    pub program: &'a std::path::Path,
    /// What the settings were warned of.
    pub warnings: &'a [String],
    /// Whether to mend what can be mended.
    pub fix: bool,
    /// Whether nothing at all may be written.
    pub dry_run: bool,
    /// Looks for secrets in the whole tree, where given.
    pub secrets: Option<&'a Redactor>,
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
}

/// What was found.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    pub findings: Vec<Finding>,
    /// The names of all checks that were made.
    pub checked: Vec<&'static str>,
    /// What agents will delete.
    pub clocks: Vec<RescueClock>,
    /// How many sessions were swept because an agent is about to delete them.
    pub rescued: usize,
}

/// One thing that is unwell, or worth knowing.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// The check that found it.
    pub check: &'static str,
    pub level: Level,
    /// What is so, with the path where there is one.
    pub what: String,
    /// What that means for the person.
    pub means: String,
    /// What mends it; empty where nothing has to be done.
    pub mend: String,
    /// Whether it has been mended now.
    pub fixed: bool,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Good to know.
    Note,
    /// It will get in the way.
    Warning,
    /// Something is broken or in danger.
    Error,
}

impl Report {
    /// Whether something is broken or in danger, still.
    pub fn is_unwell(&self) -> bool {
        self.findings.iter().any(|finding| finding.level == Level::Error && !finding.fixed)
    }

    fn found(
        &mut self,
        check: &'static str,
        level: Level,
        what: impl Into<String>,
        means: &str,
        mend: &str,
    ) {
        let (what, means, mend) = (what.into(), means.to_string(), mend.to_string());
        self.findings.push(Finding { check, level, what, means, mend, fixed: false });
    }

    /// The same, for something that was mended on the spot.
    fn mended(&mut self, check: &'static str, what: impl Into<String>, means: &str, mend: &str) {
        self.found(check, Level::Warning, what, means, mend);
        self.findings.last_mut().expect("it was just added").fixed = true;
    }
}

/// Looks at everything.
pub fn doctor(doctor: &Doctor<'_>) -> Result<Report> {
    let mut report = Report::default();
    rescue(doctor, &mut report)?;
    for (name, check) in checks::ALL {
        report.checked.push(name);
        check(doctor, name, &mut report)?;
    }
    if let Some(redactor) = doctor.secrets {
        report.checked.push(secrets::NAME);
        secrets::check(doctor, redactor, &mut report)?;
    }
    report.findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    Ok(report)
}

/// What an agent is about to delete is swept first; then its clock is shown.
fn rescue(doctor: &Doctor<'_>, report: &mut Report) -> Result<()> {
    const NAME: &str = "rescue clock";
    report.checked.push(NAME);
    let mut clocks = doctor.clocks()?;
    let in_danger: usize = clocks.iter().map(|clock| clock.not_swept).sum();
    if in_danger > 0 && !doctor.dry_run {
        doctor.sweep()?;
        clocks = doctor.clocks()?;
        let still: usize = clocks.iter().map(|clock| clock.not_swept).sum();
        report.rescued = in_danger.saturating_sub(still);
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
        let mend = format!("write {} into {}", clock.advice, clock.settings.display());
        let (level, means) = match clock.not_swept {
            0 => (Level::Note, "the memory has all of them".to_string()),
            some => (
                Level::Error,
                format!("the memory does not have {some} of them yet; run `memtree sweep`"),
            ),
        };
        report.found(NAME, level, what, &means, &mend);
    }
    report.clocks = clocks;
    Ok(())
}
