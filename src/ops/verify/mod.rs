//! Proof that nothing was lost: source → raw → readable parts → digest → day → core, each step by
//! hash and count.
//!
//! A gap is a link of that chain that does not hold; whoever finds one names it. What is only not
//! done yet (a log that grew since the last sweep), or is a person's doing, is a note. Nothing is
//! changed, and nothing is held whole: files are hashed as they stream by.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;

use crate::base::files;
use crate::base::setters::setters;
use crate::capture::sources::Selection;
use crate::error::{Context, Result};
use crate::memory::Memory;
use crate::model::ids::SessionId;

mod cores;
mod days;
mod pages;
mod sessions;
mod sources;

pub use sessions::UNGUARDED;

/// The steps of the data's way, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// The agents' own logs, against raw.
    Source,
    /// Raw, against the manifest.
    Raw,
    /// Raw, read again and compared with the readable parts and the digest.
    Again,
    /// The readable parts, against the manifest.
    Readable,
    /// The digests, against manifest and snapshot.
    Digest,
    /// The days' lines.
    Day,
    /// The cores, against their eight sessions.
    Core,
    /// Every other page, against how it looked when it was last known to be whole.
    Page,
}

impl Step {
    const ALL: [Step; 8] = [
        Step::Source,
        Step::Raw,
        Step::Again,
        Step::Readable,
        Step::Digest,
        Step::Day,
        Step::Core,
        Step::Page,
    ];
}

/// What to check.
#[derive(Debug, Clone, Default)]
pub struct VerifyRequest {
    /// Which of the agents' own logs are compared; without any places, those of the settings.
    pub selection: Selection,
    /// Whether all raw is read again.
    pub deep: bool,
}

setters!(VerifyRequest { selection: Selection, deep: bool });

/// What was checked, and what was found.
#[derive(Debug, Default, Serialize)]
pub struct VerifyReport {
    pub deep: bool,
    /// What was checked, step by step.
    pub checked: Vec<Checked>,
    /// What does not hold.
    pub gaps: Vec<Finding>,
    /// What is worth knowing and no gap.
    pub notes: Vec<Finding>,
    /// Sessions whose raw was evicted: what was captured is proved by the manifest in their digest.
    pub evicted: usize,
    /// Sessions of other devices, whose snapshots are there.
    pub elsewhere: usize,
    /// Sessions whose log is here, and which another device captured.
    pub left_to_others: usize,
    pub took_ms: u64,
}

/// How much of one step was checked.
#[derive(Debug, Serialize)]
pub struct Checked {
    pub step: Step,
    #[serde(flatten)]
    pub amount: Amount,
    pub gaps: usize,
}

/// How much there was to check.
#[derive(Debug, Default, Clone, Copy, Serialize)]
pub struct Amount {
    pub sessions: u64,
    pub files: u64,
    pub bytes: u64,
    pub lines: u64,
}

/// One thing that was found.
#[derive(Debug, Serialize)]
pub struct Finding {
    pub step: Step,
    pub session: Option<SessionId>,
    pub path: String,
    pub reason: String,
}

impl Finding {
    /// Whether it names what a person may have taken out of a page, and what can be made again.
    pub fn may_be_made_again(&self) -> bool {
        [sessions::NO_SECTION, sessions::LACKS].iter().any(|start| self.reason.starts_with(start))
    }

    fn new(step: Step, session: Option<&SessionId>, path: String, reason: String) -> Finding {
        Finding { step, session: session.cloned(), path, reason }
    }
}

/// Everything that one part of the proof found.
#[derive(Debug, Default)]
struct Findings {
    amounts: BTreeMap<Step, Amount>,
    gaps: Vec<Finding>,
    notes: Vec<Finding>,
    evicted: usize,
    elsewhere: usize,
    left_to_others: usize,
}

impl Findings {
    fn amount(&mut self, step: Step) -> &mut Amount {
        self.amounts.entry(step).or_default()
    }

    fn gap(
        &mut self,
        step: Step,
        session: Option<&SessionId>,
        path: impl Into<String>,
        reason: impl Into<String>,
    ) {
        self.gaps.push(Finding::new(step, session, path.into(), reason.into()));
    }

    fn note(
        &mut self,
        step: Step,
        session: Option<&SessionId>,
        path: impl Into<String>,
        reason: impl Into<String>,
    ) {
        self.notes.push(Finding::new(step, session, path.into(), reason.into()));
    }

    fn add(&mut self, other: Findings) {
        for (step, amount) in other.amounts {
            let sum = self.amount(step);
            sum.sessions += amount.sessions;
            sum.files += amount.files;
            sum.bytes += amount.bytes;
            sum.lines += amount.lines;
        }
        self.gaps.extend(other.gaps);
        self.notes.extend(other.notes);
        self.evicted += other.evicted;
        self.elsewhere += other.elsewhere;
        self.left_to_others += other.left_to_others;
    }
}

impl Memory {
    /// Proves that nothing was lost, or names what was.
    pub fn verify(&self, request: VerifyRequest) -> Result<VerifyReport> {
        let began = Instant::now();
        let (store, deep) = (self.store(), request.deep);
        let settings = self.capture_settings()?;
        let selection = self.resolved(&request.selection)?;
        // A sweep that is under way would look like many gaps. Where the memory cannot be written,
        // none is.
        let _lock = files::lock_exclusive(&store.layout().sweep_lock()).ok();
        let ids = store.session_ids().context(|| "cannot list the sessions".into())?;
        let mut found = sources::check(&settings, &selection)?;
        let (sessions, expected) = sessions::check(&settings, &ids);
        found.add(sessions);
        found.add(days::check(store, &ids, &expected).context(|| "cannot read the days".into())?);
        found.add(cores::check(store, &ids).context(|| "cannot read the cores".into())?);
        found.add(pages::check(store).context(|| "cannot read the pages".into())?);
        if deep {
            found.add(sessions::check_again(&settings, &ids)?);
        }
        for findings in [&mut found.gaps, &mut found.notes] {
            findings
                .sort_by(|a, b| (a.step, &a.session, &a.path).cmp(&(b.step, &b.session, &b.path)));
        }
        let checked =
            Step::ALL.into_iter().filter(|step| deep || *step != Step::Again).map(|step| Checked {
                step,
                amount: found.amounts.get(&step).copied().unwrap_or_default(),
                gaps: found.gaps.iter().filter(|gap| gap.step == step).count(),
            });
        Ok(VerifyReport {
            deep,
            checked: checked.collect(),
            gaps: found.gaps,
            notes: found.notes,
            evicted: found.evicted,
            elsewhere: found.elsewhere,
            left_to_others: found.left_to_others,
            took_ms: began.elapsed().as_millis() as u64,
        })
    }
}
