//! Trials: a pattern goes to half of the projects first, chosen by a hash of both, so that every
//! run chooses the same. Where there is one project only, it is live in half of the weeks.

use chrono::Datelike;

use super::DistributeRequest;
use super::live::Assignment;
use crate::base::clock::Timestamp;
use crate::base::files;
use crate::model::ids::Device;
use crate::model::pattern::PatternId;
use crate::store::pattern::active::Stretch;

pub struct Trial<'a> {
    pub stretches: &'a [Stretch],
    pub device: &'a Device,
    pub now: Timestamp,
}

impl Trial<'_> {
    /// Whether a pattern is live in a project now. `eligible` is the number of projects that it is
    /// for.
    pub fn goes(
        &self,
        pattern: &PatternId,
        project: &str,
        eligible: usize,
        new_trial: bool,
    ) -> bool {
        let own = || self.stretches.iter().filter(|one| one.device == *self.device);
        let of_pattern = || own().filter(|one| one.pattern == *pattern && one.is_open());
        let is_tried = of_pattern().any(|one| !one.live);
        let is_live = of_pattern().any(|one| one.live);
        match (is_tried, is_live, new_trial) {
            // It is out everywhere: a trial would take it away again.
            (false, true, _) => true,
            (false, false, false) => true,
            (true, ..) | (false, false, true) => is_first(pattern, project, eligible, self.now),
        }
    }

    /// All stretches of time as they are once this is applied.
    pub fn stretches_with(
        &self,
        assigned: &[Assignment],
        request: &DistributeRequest,
    ) -> Vec<Stretch> {
        let mut all = self.stretches.to_vec();
        let is_asked = |one: &Stretch| {
            one.device == *self.device
                && request.to.as_ref().is_none_or(|to| *to == one.flavor)
                && request.project.as_ref().is_none_or(|project| *project == one.project)
        };
        for one in all.iter_mut().filter(|one| one.is_open() && is_asked(one)) {
            let is_so = assigned.iter().any(|it| it.is_of(one) && it.live == one.live);
            if !is_so {
                one.until = Some(self.now);
            }
        }
        for it in assigned {
            let is_there = all.iter().any(|one| {
                one.is_open() && one.device == *self.device && it.is_of(one) && one.live == it.live
            });
            if !is_there {
                all.push(Stretch {
                    pattern: it.pattern.clone(),
                    flavor: it.flavor.clone(),
                    project: it.project.clone(),
                    device: self.device.clone(),
                    live: it.live,
                    since: self.now,
                    until: None,
                });
            }
        }
        all
    }
}

/// Whether a project, or this week where it is the only one, belongs to the first half.
fn is_first(pattern: &PatternId, project: &str, eligible: usize, now: Timestamp) -> bool {
    let week = match eligible {
        0 | 1 => format!("{:?}", now.iso_week()),
        _ => String::new(),
    };
    let hash = files::sha256_hex(format!("{pattern}\n{project}\n{week}").as_bytes());
    // The first digit of sixteen.
    hash.as_bytes()[0].is_ascii_digit() && hash.as_bytes()[0] < b'8'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock;

    #[test]
    fn about_half_of_the_projects_or_weeks_come_first_and_always_the_same() {
        let pattern: PatternId = "recurring-error-x".parse().unwrap();
        let now = clock::parse("2026-11-18T10:00:00Z").unwrap();
        let first = |project: usize| is_first(&pattern, &format!("p{project}"), 9, now);
        let of_projects = (0..200).filter(|project| first(*project)).count();
        assert!((70..130).contains(&of_projects), "{of_projects}");
        let later = now + chrono::Duration::days(90);
        let again = |project: usize| is_first(&pattern, &format!("p{project}"), 9, later);
        assert!((0..200).all(|project| first(project) == again(project)));
        let weeks = (0..200).map(|week| now + chrono::Duration::weeks(week));
        let of_weeks = weeks.filter(|week| is_first(&pattern, "only", 1, *week)).count();
        assert!((70..130).contains(&of_weeks), "{of_weeks}");
    }
}
