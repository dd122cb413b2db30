//! Sweeping whenever logs change: when a sweep is due, and what is waited for in between.
//!
//! The clock, the changes and the sweep are handed in, so that in a test a day passes in no time.

use std::time::Duration;

/// How eager a watch is until its next sweep.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// A sweep starts when nothing has changed for this long.
    pub settle: Duration,
    /// It starts this long after the first change, although changes keep coming.
    pub patience: Duration,
    /// It starts after this long, although nothing has changed.
    pub interval: Duration,
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

/// What a watch lives in.
pub trait World {
    /// The time since it began.
    fn now(&self) -> Duration;
    /// Waits for news, not longer than this. A wish to stop comes before any change.
    fn wait(&mut self, at_most: Duration) -> News;
    /// Sweeps, and says how eager to be for the next one. Trouble is told there, and is no reason to end.
    fn sweep(&mut self) -> Pace;
}

/// Sweeps at once and then whenever one is due, until it is to stop. A sweep that has begun is finished.
pub fn watch(world: &mut dyn World) {
    loop {
        let pace = world.sweep();
        let mut due = Due::after(world.now(), pace);
        loop {
            let now = world.now();
            let wait = due.at().saturating_sub(now);
            if wait.is_zero() {
                break;
            }
            match world.wait(wait) {
                News::Changed => due.changed(world.now()),
                News::Nothing => {}
                News::Stop => return,
            }
        }
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

/// No sweep follows another at once, whatever the settings: a wish to stop has to be heard in between.
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
        swept: Vec<u64>,
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

        fn sweep(&mut self) -> Pace {
            self.swept.push(self.now);
            self.now += 3;
            Pace {
                settle: Duration::from_secs(5),
                patience: Duration::from_secs(60),
                interval: Duration::from_secs(self.interval),
            }
        }
    }

    #[track_caller]
    fn check(interval: u64, changes: impl IntoIterator<Item = u64>, stop: u64, expect: &[u64]) {
        let mut play = Play { now: 0, changes: changes.into_iter().collect(), stop, interval, swept: Vec::new() };
        watch(&mut play);
        assert_eq!(play.swept, expect);
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
