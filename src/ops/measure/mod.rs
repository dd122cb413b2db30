//! Measure: how the fleet of sessions is doing, and what each pattern that is live has changed.
//!
//! Sessions that began while a pattern was live for their agent and project are compared with those
//! that began without it in the same time, or, where there are too few of these, with the ones
//! before. Too little data is the verdict unless there is enough.

pub mod plot;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::json;

use crate::base::clock::{self, Timestamp};
use crate::base::files;
use crate::base::setters::setters;
use crate::distill::patterns::measure::{
    self, Effect, Share, Verdict, effect, percentile, rounded,
};
use crate::distill::patterns::signals::{self, Bucket};
use crate::distill::patterns::{self, Observed, loci};
use crate::error::{Context, Result};
use crate::memory::Memory;
use crate::model::digest::Outcome;
use crate::model::ids::SessionId;
use crate::model::pattern::{Pattern, PatternId, PatternKey, Polarity, SignalKind, Thresholds};
use crate::store::pattern::active::{self, Stretch};

/// A pattern that is followed in fewer than this share of the sessions is unheeded.
const HEEDED: f64 = 0.5;

/// What to measure.
#[derive(Debug, Clone, Default)]
pub struct MeasureRequest {
    /// Only sessions that ended since.
    pub since: Option<Timestamp>,
    /// Whether nothing is written.
    pub no_save: bool,
}

setters!(MeasureRequest { since: Option<Timestamp>, no_save: bool });

/// What was measured.
#[derive(Debug, Default, Serialize)]
pub struct MeasureReport {
    pub fleet: Fleet,
    pub patterns: Vec<Measured>,
    /// What could not be read, as `path: reason`.
    pub damaged: Vec<String>,
}

/// Numbers of all sessions that are real work.
#[derive(Debug, Default, Clone, Serialize)]
pub struct Fleet {
    pub sessions: usize,
    /// The share of calls that only keep house.
    pub overhead_median: f64,
    pub overhead_p90: f64,
    /// Sessions that met an error.
    pub error_rate: f64,
    /// Patterns of errors that came back.
    pub recurring_errors: usize,
    /// Sessions that load tool descriptions again and again.
    pub schema_thrash: usize,
    pub tokens_median: u64,
    pub tokens_p90: u64,
    pub success_rate: f64,
}

/// What one pattern has changed.
#[derive(Debug, Clone, Serialize)]
pub struct Measured {
    pub pattern: PatternId,
    pub name: String,
    /// When it went live first.
    pub since: Option<String>,
    /// With it, against the same agents and projects before.
    pub before: Effect,
    /// With it, against sessions of the same time without it.
    pub control: Effect,
    pub verdict: Verdict,
    /// What the verdict compares with.
    pub against: &'static str,
    /// Sessions in which its situation came up, and those of them that followed it.
    pub heeded: Share,
    /// Sessions in which it must not apply, and those of them where it showed.
    pub negative: Share,
    /// How often it showed, week by week.
    pub weeks: Vec<Week>,
}

/// One week of a pattern.
#[derive(Debug, Clone, Serialize)]
pub struct Week {
    pub monday: String,
    pub with: Share,
    pub without: Share,
}

impl Measured {
    /// Whether it should go: it has changed nothing, made it worse, or nobody follows it.
    pub fn proposes_retirement(&self) -> bool {
        matches!(self.verdict, Verdict::NoChange | Verdict::Worse) || self.is_unheeded()
    }

    fn is_unheeded(&self) -> bool {
        self.verdict != Verdict::TooLittleData
            && self.heeded.rate().is_some_and(|rate| rate < HEEDED)
    }

    /// Why it should go, in a sentence.
    pub fn why_retire(&self) -> String {
        match self.verdict {
            Verdict::NoChange | Verdict::Worse => {
                format!("measured: {} against {}", self.verdict.words(), self.against)
            }
            _ => "measured: it is not followed".to_string(),
        }
    }

    /// What the proposal rests on.
    pub fn fingerprint(&self) -> String {
        let of = json!([self.verdict, self.control, self.before, self.heeded]);
        files::sha256_hex(of.to_string().as_bytes())[..12].to_string()
    }

    /// The numbers, in lines.
    pub fn lines(&self) -> Vec<String> {
        let shown = |name: &str, effect: &Effect| {
            let interval = match (effect.difference, effect.low, effect.high) {
                (Some(middle), Some(low), Some(high)) => format!(
                    ": {:+.0} points ({:+.0} to {:+.0})",
                    middle * 100.0,
                    low * 100.0,
                    high * 100.0
                ),
                _ => String::new(),
            };
            let Effect { with, without, verdict, .. } = effect;
            format!(
                "against {name}: in {} of {} sessions with it, {} of {} without{interval}, {}",
                with.hits,
                with.of,
                without.hits,
                without.of,
                verdict.words()
            )
        };
        let mut lines =
            vec![shown("its control", &self.control), shown("the time before", &self.before)];
        lines.push(format!("followed in {} of {} sessions", self.heeded.hits, self.heeded.of));
        if self.negative.of > 0 {
            let Share { hits, of } = self.negative;
            lines.push(format!("showed in {hits} of {of} sessions in which it must not apply"));
        }
        lines
    }
}

impl Memory {
    /// Measures the sessions and the patterns, and keeps the numbers.
    pub fn measure(&self, request: MeasureRequest) -> Result<MeasureReport> {
        let observed = self.observed()?;
        let thresholds = self.thresholds();
        let sessions: Vec<Observed> = observed
            .sessions
            .into_iter()
            .filter(|one| request.since.is_none_or(|since| one.ended >= Some(since)))
            .collect();
        let real = patterns::real_work(&sessions, &thresholds);
        let shown = Shown::of(&real, &thresholds);
        let report = MeasureReport {
            fleet: fleet(&real, &sessions, &thresholds),
            patterns: self.measured(&real, &shown)?,
            damaged: observed.damaged,
        };
        if !request.no_save {
            let line = json!({
                "at": clock::stamp(self.now()),
                "device": self.device(),
                "fleet": report.fleet,
                "patterns": report.patterns.iter().map(|one| json!({
                    "pattern": one.pattern, "verdict": one.verdict, "against": one.against,
                    "control": one.control, "before": one.before, "heeded": one.heeded,
                })).collect::<Vec<_>>(),
            });
            files::append_locked(&self.layout().measurements(), &line.to_string())
                .context(|| self.store().cannot_write())?;
        }
        Ok(report)
    }

    /// What the patterns have changed.
    pub(crate) fn measure_patterns(&self, since: Option<Timestamp>) -> Result<Vec<Measured>> {
        let request = MeasureRequest { since, no_save: true };
        Ok(self.measure(request)?.patterns)
    }

    fn measured(&self, real: &[&Observed], shown: &Shown) -> Result<Vec<Measured>> {
        let stretches = active::load(self.layout()).context(|| "cannot read active.md".into())?;
        let fewest = self.settings().measure.min_sessions;
        let catalog = self.catalog()?;
        let live: BTreeSet<&PatternId> =
            stretches.iter().filter(|one| one.live).map(|one| &one.pattern).collect();
        let patterns = catalog.patterns.iter().filter(|pattern| live.contains(&pattern.id));
        Ok(patterns
            .map(|pattern| {
                let own: Vec<&Stretch> =
                    stretches.iter().filter(|one| one.pattern == pattern.id).collect();
                Comparison { pattern, stretches: own, real, shown, fewest }.measured()
            })
            .collect())
    }
}

/// In which sessions which keys show.
struct Shown {
    sessions: BTreeMap<PatternKey, BTreeSet<SessionId>>,
}

impl Shown {
    fn of(real: &[&Observed], thresholds: &Thresholds) -> Shown {
        let mut sessions: BTreeMap<PatternKey, BTreeSet<SessionId>> = BTreeMap::new();
        for signal in signals::of_all(real, thresholds) {
            sessions.entry(signal.key).or_default().insert(signal.sighting.session);
        }
        Shown { sessions }
    }

    fn is_in(&self, key: &PatternKey, session: &SessionId) -> bool {
        self.sessions.get(key).is_some_and(|sessions| sessions.contains(session))
    }
}

/// A pattern, and the sessions that had it or had it not.
struct Comparison<'c> {
    pattern: &'c Pattern,
    stretches: Vec<&'c Stretch>,
    real: &'c [&'c Observed],
    shown: &'c Shown,
    fewest: u64,
}

impl Comparison<'_> {
    fn measured(&self) -> Measured {
        let first = self.stretches.iter().filter(|one| one.live).map(|one| one.since).min();
        let (mut with, mut control, mut before) = (Vec::new(), Vec::new(), Vec::new());
        for session in self.real.iter().copied().filter(|session| self.is_for(session)) {
            let Some(began) = session.started.or(session.ended) else { continue };
            if self.was_live(session, began) {
                with.push(session);
            } else if first.is_some_and(|first| began >= first) {
                control.push(session);
            } else {
                before.push(session);
            }
        }
        let share = |sessions: &[&Observed]| Share::of(sessions.iter(), |it| self.shows(it));
        let less = self.pattern.key.polarity == Polarity::Problem;
        let against_control = effect(share(&with), share(&control), self.fewest, less);
        let against_before = effect(share(&with), share(&before), self.fewest, less);
        let (verdict, against) = match against_control.verdict {
            Verdict::TooLittleData => (against_before.verdict, "the time before"),
            verdict => (verdict, "its control"),
        };
        let bucket = self.situation();
        let came_up = with.iter().filter(|session| {
            bucket.is_none_or(|bucket| {
                session.signals.tools.keys().any(|tool| Bucket::of(tool) == bucket)
            })
        });
        let negative =
            self.real.iter().filter(|session| self.pattern.not_in.contains(&session.session));
        Measured {
            pattern: self.pattern.id.clone(),
            name: self.pattern.name.clone(),
            since: first.map(clock::stamp),
            before: against_before,
            control: against_control,
            verdict,
            against,
            heeded: Share::of(came_up, |session| self.shows(session) != less),
            negative: Share::of(negative, |session| self.shows(session)),
            weeks: self.weeks(&with, &control, &before),
        }
    }

    fn shows(&self, session: &Observed) -> bool {
        self.shown.is_in(&self.pattern.key, &session.session)
    }

    /// Whether the pattern is meant for a session, live or not.
    fn is_for(&self, session: &Observed) -> bool {
        let project = session.project.as_deref().unwrap_or_default();
        let domain = session.domain.as_deref();
        self.pattern.scope.reaches(&session.flavor, project, domain)
    }

    /// Whether the block was in the file that this agent loads for that project when it began.
    fn was_live(&self, session: &Observed, began: Timestamp) -> bool {
        self.stretches.iter().any(|one| {
            one.live
                && one.flavor == session.flavor
                && Some(&one.project) == session.project.as_ref()
                && one.device == session.session.device
                && one.covers(began)
        })
    }

    /// The kind of call in which its situation comes up, where it is about calls.
    fn situation(&self) -> Option<Bucket> {
        let key = &self.pattern.key;
        match key.kind {
            SignalKind::RecurringError => {
                let mut counts: BTreeMap<u8, (u64, Bucket)> = BTreeMap::new();
                let errors = self.real.iter().flat_map(|session| &session.signals.errors);
                for error in errors.filter(|error| {
                    !error.tool.is_empty()
                        && loci::of_error(&error.fingerprint).as_ref() == Some(&key.locus)
                }) {
                    let bucket = Bucket::of(&error.tool);
                    counts.entry(bucket as u8).or_insert((0, bucket)).0 += 1;
                }
                counts.into_values().max_by_key(|(count, _)| *count).map(|(_, bucket)| bucket)
            }
            SignalKind::Correction => Some(Bucket::Shell),
            SignalKind::RepeatedErrors | SignalKind::RetryStorm => {
                let named = [Bucket::Shell, Bucket::Edit, Bucket::Read];
                named.into_iter().find(|bucket| bucket.name() == key.locus)
            }
            _ => None,
        }
    }

    fn weeks(&self, with: &[&Observed], control: &[&Observed], before: &[&Observed]) -> Vec<Week> {
        let mut weeks: BTreeMap<String, (Share, Share)> = BTreeMap::new();
        let mut add = |sessions: &[&Observed], is_with: bool| {
            for session in sessions {
                let Some(began) = session.started.or(session.ended) else { continue };
                let (with, without) = weeks.entry(plot::monday(began)).or_default();
                let share = if is_with { with } else { without };
                share.of += 1;
                share.hits += u64::from(self.shows(session));
            }
        };
        add(with, true);
        add(control, false);
        add(before, false);
        let week = |(monday, (with, without))| Week { monday, with, without };
        weeks.into_iter().map(week).collect()
    }
}

fn fleet(real: &[&Observed], sessions: &[Observed], thresholds: &Thresholds) -> Fleet {
    let mut overhead: Vec<f64> = real.iter().map(|session| overhead_share(session)).collect();
    overhead.sort_by(f64::total_cmp);
    let mut tokens: Vec<u64> = real.iter().map(|session| session.tokens).collect();
    tokens.sort_unstable();
    let found = patterns::detect(sessions, thresholds);
    let share = |is_so: &dyn Fn(&Observed) -> bool| {
        rounded(Share::of(real.iter(), |session| is_so(session)).rate().unwrap_or(0.0))
    };
    let of_schema = |session: &&&Observed| {
        let loads =
            session.signals.tools.iter().filter(|(tool, _)| Bucket::of(tool) == Bucket::Schema);
        loads.map(|(_, count)| count).sum::<u64>() >= thresholds.schema_loads
    };
    Fleet {
        sessions: real.len(),
        overhead_median: rounded(percentile(&overhead, 0.5).unwrap_or(0.0)),
        overhead_p90: rounded(percentile(&overhead, 0.9).unwrap_or(0.0)),
        error_rate: share(&|session| !session.signals.errors.is_empty()),
        recurring_errors: found
            .iter()
            .filter(|one| one.key.kind == SignalKind::RecurringError)
            .count(),
        schema_thrash: real.iter().filter(of_schema).count(),
        tokens_median: measure::percentile(&tokens, 0.5).unwrap_or(0),
        tokens_p90: measure::percentile(&tokens, 0.9).unwrap_or(0),
        success_rate: share(&|session| session.status == Outcome::Success),
    }
}

fn overhead_share(session: &Observed) -> f64 {
    let house = [Bucket::Memory, Bucket::Tasks, Bucket::Schema];
    let tools = session.signals.tools.iter();
    let infra = tools.filter(|(tool, _)| house.contains(&Bucket::of(tool)));
    let infra: u64 = infra.map(|(_, count)| count).sum();
    infra as f64 / session.calls().max(1) as f64
}
