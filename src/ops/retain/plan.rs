//! What to keep and what to evict, as a pure function of what is there, the limits and the time.
//!
//! Three passes: what is too old goes; while there is more than the soft cap, the oldest goes; and
//! while there is more than the hard cap, even what has no digest. Raw and long outputs go before
//! the readable pages.

use chrono::Duration;
use serde::Serialize;

use crate::base::clock::Timestamp;
use crate::model::ids::SessionId;

/// The storage budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// While snapshots take more than this, the oldest are evicted.
    pub soft_cap: u64,
    /// While they take more than this, even those without a digest are.
    pub hard_cap: u64,
    /// Raw that was captured longer ago than this is evicted, however much space there is.
    pub max_age: Option<Duration>,
    /// When digests, days and the like take more than this, there is a word about it, and nothing
    /// else.
    pub distilled_cap: u64,
}

impl Limits {
    /// More than this is not kept if it can be helped. Whoever sets only a hard cap means that
    /// there shall not be more.
    pub fn cap(&self) -> u64 {
        self.soft_cap.min(self.hard_cap)
    }

    /// What decides about evictions, as numbers.
    pub fn eviction_key(&self) -> [u64; 3] {
        let age = self.max_age.map_or(0, |age| age.num_seconds() as u64);
        [self.soft_cap, self.hard_cap, age]
    }

    /// When the next raw will be too old, given since when each is there.
    pub fn next_due(
        &self,
        since: impl Iterator<Item = Timestamp>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let age = self.max_age?;
        // What is too old by now is held by something else than the time.
        since.filter_map(|since| since.checked_add_signed(age)).filter(|due| *due > now).min()
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { soft_cap: 4 << 30, hard_cap: 6 << 30, max_age: None, distilled_cap: 1 << 30 }
    }
}

/// What there is to know of a session before its fate is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub session: SessionId,
    /// When it was captured, or last grew.
    pub captured: Timestamp,
    /// The bytes of raw and long outputs that are here.
    pub heavy: u64,
    /// The bytes of its readable pages that are here.
    pub light: u64,
    /// Whether it has a digest that can say so when the raw is gone.
    pub digested: bool,
    /// Why it may not be touched.
    pub held: Option<HoldReason>,
}

/// Why a session may not be touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldReason {
    Pinned,
    /// It may still grow.
    Open,
    /// This very sweep captured it.
    Fresh,
    /// It is for its own device to decide.
    Elsewhere,
    /// It is not what its digest was made of.
    Damaged,
}

/// Which pass evicts a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pass {
    Age,
    Budget,
    Overflow,
}

/// How much of a snapshot goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Portion {
    /// Raw and long outputs; the readable pages stay.
    Raw,
    /// Everything but the manifest.
    All,
}

/// What becomes of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Keep(&'static str),
    Evict(Pass, Portion),
}

/// What becomes of each session, in the order in which they were given, and how much will be in use
/// then.
#[derive(Debug, PartialEq, Eq)]
pub struct Plan {
    pub fates: Vec<Fate>,
    pub in_use: u64,
}

/// Decides.
pub fn plan(sessions: &[Candidate], limits: &Limits, now: Timestamp) -> Plan {
    let mut in_use: u64 = sessions.iter().map(|one| one.heavy + one.light).sum();
    let mut fates: Vec<Fate> = sessions.iter().map(|one| Fate::Keep(why_kept(one))).collect();
    let mut oldest: Vec<usize> = (0..sessions.len()).collect();
    oldest.sort_by_key(|at| (sessions[*at].captured, &sessions[*at].session));
    let evictable = |one: &Candidate| one.digested && one.held.is_none();

    for at in &oldest {
        let one = &sessions[*at];
        let too_old = limits.max_age.is_some_and(|age| now - one.captured > age);
        if too_old && evictable(one) && one.heavy > 0 {
            fates[*at] = Fate::Evict(Pass::Age, Portion::Raw);
            in_use -= one.heavy;
        }
    }
    let soft_cap = limits.cap();
    for at in &oldest {
        let one = &sessions[*at];
        if in_use > soft_cap
            && evictable(one)
            && one.heavy > 0
            && matches!(fates[*at], Fate::Keep(_))
        {
            fates[*at] = Fate::Evict(Pass::Budget, Portion::Raw);
            in_use -= one.heavy;
        }
    }
    for at in &oldest {
        let one = &sessions[*at];
        if in_use > soft_cap && evictable(one) && one.light > 0 {
            fates[*at] = Fate::Evict(Pass::Budget, Portion::All);
            in_use -= one.light;
        }
    }
    for at in &oldest {
        let one = &sessions[*at];
        if in_use > limits.hard_cap
            && !one.digested
            && one.held.is_none()
            && one.heavy + one.light > 0
        {
            fates[*at] = Fate::Evict(Pass::Overflow, Portion::All);
            in_use -= one.heavy + one.light;
        }
    }
    Plan { fates, in_use }
}

fn why_kept(one: &Candidate) -> &'static str {
    match one.held {
        Some(HoldReason::Pinned) => "pinned",
        Some(HoldReason::Open) => "still open",
        Some(HoldReason::Damaged) => "damaged: it is not what its digest was made of",
        Some(HoldReason::Fresh) => "captured by this sweep",
        Some(HoldReason::Elsewhere) => "another device's",
        None if !one.digested => "has no digest yet",
        None if one.heavy + one.light == 0 => "evicted before",
        None if one.heavy == 0 => "evicted before; its pages are within the budget",
        None => "within the budget",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ids::Device;
    use proptest::prelude::*;

    /// `3d 10+2 held` is a session captured three days ago, of 10 heavy and 2 light bytes.
    fn kept(ordinal: u32, text: &str) -> Candidate {
        let mut words = text.split_whitespace();
        let days: i64 = words.next().unwrap().trim_end_matches('d').parse().unwrap();
        let (heavy, light) = words.next().unwrap().split_once('+').unwrap();
        let rest: Vec<&str> = words.collect();
        let held = |word: &str, held: HoldReason| rest.contains(&word).then_some(held);
        Candidate {
            session: SessionId::new(Device::new("desk"), ordinal),
            captured: now() - Duration::days(days),
            heavy: heavy.parse().unwrap(),
            light: light.parse().unwrap(),
            digested: !rest.contains(&"undigested"),
            held: held("pinned", HoldReason::Pinned)
                .or(held("open", HoldReason::Open))
                .or(held("fresh", HoldReason::Fresh))
                .or(held("elsewhere", HoldReason::Elsewhere)),
        }
    }

    fn now() -> Timestamp {
        crate::base::clock::parse("2026-12-30T12:00:00Z").unwrap()
    }

    fn limits(soft: u64, hard: u64, days: Option<i64>) -> Limits {
        Limits {
            soft_cap: soft,
            hard_cap: hard,
            max_age: days.map(Duration::days),
            distilled_cap: u64::MAX,
        }
    }

    fn shown(fate: &Fate) -> String {
        match fate {
            Fate::Keep(_) => "keep".into(),
            Fate::Evict(pass, portion) => format!("{pass:?} {portion:?}").to_lowercase(),
        }
    }

    #[test]
    fn who_goes_and_who_stays() {
        let check = |limits: Limits, sessions: &[(&str, &str)], in_use: u64| {
            let kept: Vec<Candidate> =
                sessions.iter().zip(0..).map(|((text, _), ordinal)| kept(ordinal, text)).collect();
            let plan = plan(&kept, &limits, now());
            let fates: Vec<String> = plan.fates.iter().map(shown).collect();
            let expect: Vec<&str> = sessions.iter().map(|(_, fate)| *fate).collect();
            assert_eq!(
                (fates, plan.in_use),
                (expect.iter().map(|fate| fate.to_string()).collect(), in_use),
                "{sessions:?}"
            );
        };
        let none = || limits(u64::MAX, u64::MAX, None);
        // Nothing has to go.
        check(none(), &[("900d 10+2", "keep")], 12);
        check(limits(12, 12, Some(900)), &[("900d 10+2", "keep")], 12);
        // Age: raw alone, and only of those that may go.
        check(limits(99, 99, Some(45)), &[("46d 10+2", "age raw"), ("44d 10+2", "keep")], 14);
        check(
            limits(99, 99, Some(45)),
            &[("46d 10+2 pinned", "keep"), ("46d 10+2 open", "keep")],
            24,
        );
        check(
            limits(99, 99, Some(45)),
            &[("46d 10+2 fresh", "keep"), ("46d 10+2 undigested", "keep")],
            24,
        );
        check(limits(99, 99, Some(45)), &[("46d 0+2", "keep"), ("-9d 10+2", "keep")], 14);
        // Budget: the oldest first, whatever the order, and no more than needed.
        check(
            limits(20, 99, None),
            &[("1d 10+2", "keep"), ("3d 10+2", "budget raw"), ("2d 10+2", "budget raw")],
            16,
        );
        check(
            limits(26, 99, None),
            &[("1d 10+2", "keep"), ("3d 10+2", "budget raw"), ("2d 10+2", "keep")],
            26,
        );
        // All raw goes before the first page does.
        check(
            limits(5, 99, None),
            &[("3d 10+2", "budget all"), ("2d 10+2", "budget raw"), ("1d 10+2", "budget raw")],
            4,
        );
        check(limits(0, 99, None), &[("3d 0+2", "budget all"), ("2d 10+2", "budget all")], 0);
        check(limits(0, 99, Some(1)), &[("3d 10+2", "budget all"), ("2d 10+0", "age raw")], 0);
        // Nobody takes the place of one that is held.
        check(
            limits(0, 0, None),
            &[("3d 10+2 pinned", "keep"), ("2d 10+2 fresh", "keep"), ("1d 5+2 elsewhere", "keep")],
            31,
        );
        // What has no digest goes only beyond the hard cap, and last.
        check(
            limits(0, 24, None),
            &[("9d 10+2 undigested", "keep"), ("1d 10+2", "budget all")],
            12,
        );
        check(
            limits(0, 11, None),
            &[("9d 10+2 undigested", "overflow all"), ("1d 10+2", "budget all")],
            0,
        );
        check(
            limits(0, 12, None),
            &[("9d 10+2 undigested", "overflow all"), ("8d 10+2 undigested", "keep")],
            12,
        );
        check(
            limits(0, 0, None),
            &[("9d 10+2 undigested pinned", "keep"), ("9d 10+2 undigested fresh", "keep")],
            24,
        );
        // A hard cap below the soft cap counts as both.
        check(limits(99, 12, None), &[("3d 10+2", "budget raw"), ("1d 10+0", "keep")], 12);
    }

    fn any_kept() -> impl Strategy<Value = Candidate> {
        let held = prop_oneof![
            4 => Just(None),
            1 => Just(Some(HoldReason::Pinned)),
            1 => Just(Some(HoldReason::Fresh)),
            1 => Just(Some(HoldReason::Open)),
        ];
        (0_u32..500, 0_i64..100, 0_u64..50, 0_u64..20, prop::bool::weighted(0.8), held).prop_map(
            |(ordinal, days, heavy, light, digested, held)| Candidate {
                session: SessionId::new(Device::new("desk"), ordinal),
                captured: now() - Duration::days(days),
                heavy,
                light,
                digested,
                held,
            },
        )
    }

    proptest! {
        #[test]
        fn a_plan_keeps_its_promises(
            sessions in prop::collection::vec(any_kept(), 0..30), soft in 0_u64..400, more in 0_u64..200,
            days in prop::option::of(0_i64..100),
        ) {
            let limits = limits(soft, soft + more, days);
            let plan = plan(&sessions, &limits, now());
            let mut in_use = 0;
            for (one, fate) in sessions.iter().zip(&plan.fates) {
                match fate {
                    Fate::Keep(_) => in_use += one.heavy + one.light,
                    Fate::Evict(pass, portion) => {
                        prop_assert_eq!(one.held, None);
                        prop_assert_eq!(one.digested, *pass != Pass::Overflow);
                        in_use += if *portion == Portion::Raw { one.light } else { 0 };
                    }
                }
            }
            prop_assert_eq!(in_use, plan.in_use);
            let could_go = |one: &Candidate| one.held.is_none() && one.digested;
            let left = |digested: bool| sessions.iter().zip(&plan.fates).any(|(one, fate)| {
                let is_left = *fate != Fate::Evict(Pass::Budget, Portion::All) && one.light > 0;
                could_go(one) && digested && is_left
            });
            prop_assert!(plan.in_use <= soft || !left(true), "more could have been freed");
        }
    }
}
