//! Sweeping whenever logs change: when a sweep is due, and what is waited for in between.
//!
//! What was said has to be in the memory quickly, so a sweep follows a change within seconds. What
//! is made of whole days can wait: a day that is over is finalized when a session has ended, but
//! not at each of many.
//!
//! The clock, the changes and the sweep are handed in, so that in a test a day passes in no time.

use std::time::Duration;

use serde::Serialize;

/// How eager a watch is until its next sweep.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// A sweep starts when nothing has changed for this long.
    pub settle: Duration,
    /// It starts this long after the first change, although changes keep coming.
    pub patience: Duration,
    /// It starts after this long, although nothing has changed.
    pub interval: Duration,
    /// Days are finalized at most once in this time when sessions end.
    pub debounce: Duration,
    /// They are finalized after this long, although no session has ended.
    pub finalize: Duration,
}

/// What one waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// A log changed.
    Changed,
    /// Time has passed.
    Nothing,
    /// The watch is to end.
    Stop,
}

/// What a sweep found.
#[derive(Debug, Clone, Copy)]
pub struct Swept {
    /// How eager to be for the next one.
    pub pace: Pace,
    /// Whether a session has ended.
    pub ended: bool,
}

/// Why days are finalized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The watch has just begun.
    Start,
    SessionEnd,
    Interval,
}

/// Why they are not finalized now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Skip {
    /// No session has ended, and it is not yet time.
    IntervalNotElapsed,
    /// A session has ended, but it was done only just now; it will be done in a while.
    CompletionDebounce,
}

/// What a watch lives in.
pub trait World {
    /// The time since it began.
    fn now(&self) -> Duration;
    /// Waits for news, not longer than this. A wish to stop comes before any change.
    fn wait(&mut self, at_most: Duration) -> News;
    /// Sweeps: what was said is in the memory, and today has its summary. Errors are shown there,
    /// and is no reason to end.
    fn sweep(&mut self) -> Swept;
    /// Does what can wait, where it is time to: finalizes days that are over, flushes what is idle,
    /// compiles.
    fn finalize(&mut self, decision: Result<Trigger, Skip>);
}

/// Sweeps at once and then whenever one is due, until it is to stop. A sweep that has begun is
/// finished.
pub fn watch(world: &mut dyn World) {
    let swept = world.sweep();
    let mut finalizing = Finalizing { last: None, ended: swept.ended, pace: swept.pace };
    let mut due = Due::after(world.now(), swept.pace);
    loop {
        let decision = finalizing.decide(world.now());
        world.finalize(decision);
        if decision.is_ok() {
            finalizing.done(world.now());
        }
        while !due.at().min(finalizing.at()).saturating_sub(world.now()).is_zero() {
            match world.wait(due.at().min(finalizing.at()).saturating_sub(world.now())) {
                News::Changed => due.changed(world.now()),
                News::Nothing => {}
                News::Stop => return,
            }
        }
        if due.at() <= world.now() {
            let swept = world.sweep();
            finalizing.ended |= swept.ended;
            finalizing.pace = swept.pace;
            due = Due::after(world.now(), swept.pace);
        }
    }
}

/// When days are finalized: at the beginning, at each interval, and when a session has ended.
struct Finalizing {
    /// When it was last done.
    last: Option<Duration>,
    /// Whether a session has ended since.
    ended: bool,
    pace: Pace,
}

impl Finalizing {
    fn decide(&self, now: Duration) -> Result<Trigger, Skip> {
        match self.last {
            None => Ok(Trigger::Start),
            Some(last) if self.ended && now >= last.saturating_add(self.pace.debounce) => {
                Ok(Trigger::SessionEnd)
            }
            Some(last) if now >= last.saturating_add(self.pace.finalize) => Ok(Trigger::Interval),
            Some(_) if self.ended => Err(Skip::CompletionDebounce),
            Some(_) => Err(Skip::IntervalNotElapsed),
        }
    }

    fn done(&mut self, now: Duration) {
        (self.last, self.ended) = (Some(now), false);
    }

    /// When it is to be done next.
    fn at(&self) -> Duration {
        let wait = if self.ended {
            self.pace.debounce.min(self.pace.finalize)
        } else {
            self.pace.finalize
        };
        self.last.map_or(Duration::ZERO, |last| last.saturating_add(wait.max(SHORTEST)))
    }
}

/// When the next sweep is due.
struct Due {
    pace: Pace,
    /// When it is, if nothing changes.
    regular: Duration,
    /// The first and the last change since the last sweep.
    changes: Option<(Duration, Duration)>,
}

/// No sweep follows another at once, whatever the settings: a wish to stop has to be heard in
/// between.
const SHORTEST: Duration = Duration::from_secs(1);

impl Due {
    fn after(swept: Duration, pace: Pace) -> Due {
        Due { pace, regular: swept.saturating_add(pace.interval.max(SHORTEST)), changes: None }
    }

    fn changed(&mut self, now: Duration) {
        let first = self.changes.map_or(now, |(first, _)| first);
        self.changes = Some((first, now));
    }

    fn at(&self) -> Duration {
        let changed = self.changes.map(|(first, last)| {
            let settled = last.saturating_add(self.pace.settle);
            settled.min(first.saturating_add(self.pace.patience.max(self.pace.settle)))
        });
        changed.map_or(self.regular, |changed| changed.min(self.regular))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A world in which changes come at given seconds and sweeps take three.
    struct Play {
        now: u64,
        changes: Vec<u64>,
        stop: u64,
        interval: u64,
        /// From when on each sweep finds a session that has ended.
        ends: Vec<u64>,
        swept: Vec<u64>,
        finalized: Vec<(u64, Trigger)>,
        skipped: Vec<(u64, Skip)>,
    }

    impl World for Play {
        fn now(&self) -> Duration {
            Duration::from_secs(self.now)
        }

        fn wait(&mut self, at_most: Duration) -> News {
            if self.stop <= self.now {
                return News::Stop;
            }
            let until = self.now + at_most.as_secs();
            let change = self.changes.first().copied().filter(|change| *change <= until);
            let stop = Some(self.stop).filter(|stop| *stop <= until);
            match (change, stop) {
                (Some(change), stop) if stop.is_none_or(|stop| change < stop) => {
                    self.changes.remove(0);
                    // What changed during a sweep is heard of after it.
                    self.now = self.now.max(change);
                    News::Changed
                }
                (_, Some(stop)) => {
                    self.now = stop;
                    News::Stop
                }
                _ => {
                    self.now = until;
                    News::Nothing
                }
            }
        }

        fn sweep(&mut self) -> Swept {
            self.swept.push(self.now);
            self.now += 3;
            let ended = self.ends.first().is_some_and(|end| *end <= self.now);
            if ended {
                self.ends.remove(0);
            }
            let pace = Pace {
                settle: Duration::from_secs(5),
                patience: Duration::from_secs(60),
                interval: Duration::from_secs(self.interval),
                debounce: Duration::from_secs(300),
                finalize: Duration::from_secs(1000),
            };
            Swept { pace, ended }
        }

        fn finalize(&mut self, decision: Result<Trigger, Skip>) {
            match decision {
                Ok(trigger) => self.finalized.push((self.now, trigger)),
                Err(skip) => self.skipped.push((self.now, skip)),
            }
        }
    }

    #[track_caller]
    fn check(interval: u64, changes: impl IntoIterator<Item = u64>, stop: u64, expect: &[u64]) {
        assert_eq!(play(interval, changes, &[], stop).swept, expect);
    }

    fn play(
        interval: u64,
        changes: impl IntoIterator<Item = u64>,
        ends: &[u64],
        stop: u64,
    ) -> Play {
        let mut play = Play {
            now: 0,
            changes: changes.into_iter().collect(),
            stop,
            interval,
            ends: ends.to_vec(),
            swept: Vec::new(),
            finalized: Vec::new(),
            skipped: Vec::new(),
        };
        watch(&mut play);
        play
    }

    #[test]
    fn days_are_finalized_at_the_start_and_at_each_interval() {
        let play = play(400, [], &[], 2100);
        assert_eq!(
            play.finalized,
            [(3, Trigger::Start), (1003, Trigger::Interval), (2003, Trigger::Interval)]
        );
        assert!(
            play.skipped.iter().all(|(_, skip)| *skip == Skip::IntervalNotElapsed)
                && !play.skipped.is_empty()
        );
    }

    #[test]
    fn a_session_that_ends_finalizes_at_once_and_many_do_not() {
        // The first end is long after the start, the next three come soon after one another.
        let play = play(5000, [500, 520, 540, 560], &[500, 520, 540, 560], 1500);
        assert_eq!(play.swept, [0, 505, 525, 545, 565]);
        let done = [(3, Trigger::Start), (508, Trigger::SessionEnd), (808, Trigger::SessionEnd)];
        assert_eq!(
            play.finalized, done,
            "what came in between is done once, and nothing is dropped"
        );
        let held = [528, 548, 568].map(|at| (at, Skip::CompletionDebounce));
        assert_eq!(play.skipped, held);
        // Each of them begins the interval anew.
        assert_eq!(
            self::play(5000, [500], &[500], 1600).finalized.last(),
            Some(&(1508, Trigger::Interval))
        );
    }

    #[test]
    fn an_end_just_after_the_start_waits() {
        let play = play(5000, [10], &[10], 400);
        assert_eq!(play.finalized, [(3, Trigger::Start), (303, Trigger::SessionEnd)]);
    }

    #[test]
    fn it_sweeps_at_once_and_then_at_each_interval() {
        check(1000, [], 2500, &[0, 1003, 2006]);
    }

    #[test]
    fn a_change_is_swept_once_it_has_settled() {
        check(1000, [100], 500, &[0, 105]);
        check(1000, [100, 103, 107], 500, &[0, 112]);
        // The interval counts from the last sweep.
        check(1000, [100], 1200, &[0, 105, 1108]);
        check(1000, [1001, 1002], 1500, &[0, 1003]);
    }

    #[test]
    fn changes_that_keep_coming_are_swept_every_minute() {
        check(1000, 100..240, 235, &[0, 160, 223]);
    }

    #[test]
    fn a_change_during_a_sweep_is_not_missed() {
        check(1000, [1], 500, &[0, 8]);
        check(1000, [100, 106], 500, &[0, 105, 113]);
    }

    #[test]
    fn it_stops_after_the_sweep_at_hand() {
        check(1000, [], 0, &[0]);
        check(1000, [100], 106, &[0, 105]);
        check(1000, [100, 101], 102, &[0]);
        // Not even an interval of nothing keeps it from hearing.
        check(0, [], 10, &[0, 4, 8]);
    }
}
