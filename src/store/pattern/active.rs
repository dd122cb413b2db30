//! `patterns/active.md`: which pattern is live for which agent and project, on which device, and
//! since when. Paths are not in it; they are this device's own.

use std::collections::BTreeMap;
use std::io;

use crate::base::clock::{self, Timestamp};
use crate::base::{files, text};
use crate::model::ids::Device;
use crate::model::pattern::PatternId;
use crate::store::layout::Layout;

const HEADER: &str = "# Active patterns

Which pattern is live for which agent and project, on which device, and since when. What is held
back is the control. Written by `memtree distribute --apply`.

";
const LIVE: &str = "live";
const HELD_BACK: &str = "held back";

/// One stretch of time in which a pattern was live, or held back to compare.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stretch {
    pub pattern: PatternId,
    pub flavor: String,
    pub project: String,
    pub device: Device,
    pub live: bool,
    pub since: Timestamp,
    pub until: Option<Timestamp>,
}

impl Stretch {
    /// Whether it is going on.
    pub fn is_open(&self) -> bool {
        self.until.is_none()
    }

    /// Whether it covers a moment.
    pub fn covers(&self, at: Timestamp) -> bool {
        self.since <= at && self.until.is_none_or(|until| at < until)
    }

    fn line(&self) -> String {
        let Stretch { pattern, flavor, project, device, .. } = self;
        let state = if self.live { LIVE } else { HELD_BACK };
        let until = self.until.map(|at| format!(" · until {}", clock::stamp(at)));
        format!(
            "- {pattern} · {} · {} · {device} · {state} · since {}{}\n",
            text::one_line(flavor, 40),
            super::said(&text::one_line(&project.replace(" · ", " "), 80)),
            clock::stamp(self.since),
            until.unwrap_or_default()
        )
    }

    fn parse(line: &str) -> Option<Stretch> {
        let mut fields = line.strip_prefix("- ")?.split(" · ");
        let pattern = fields.next()?.parse().ok()?;
        let (flavor, project) = (fields.next()?.to_string(), fields.next()?);
        let device = Device::new(fields.next()?);
        let live = match fields.next()? {
            LIVE => true,
            HELD_BACK => false,
            _ => return None,
        };
        let since = clock::parse(fields.next()?.strip_prefix("since ")?)?;
        let until = fields.next().and_then(|it| clock::parse(it.strip_prefix("until ")?));
        let project = crate::base::markdown::plain(project);
        Some(Stretch { pattern, flavor, project, device, live, since, until })
    }
}

/// Every stretch, in order; of two that began alike, the one that has ended.
pub fn load(layout: &Layout) -> io::Result<Vec<Stretch>> {
    let text = files::if_exists(files::read_to_string(layout.active()))?.unwrap_or_default();
    Ok(of_text(&text))
}

fn of_text(text: &str) -> Vec<Stretch> {
    type Began = (PatternId, String, String, Device, bool, Timestamp);
    let mut stretches: BTreeMap<Began, Stretch> = BTreeMap::new();
    for one in text.lines().filter_map(|line| Stretch::parse(line.trim_end())) {
        let began = (
            one.pattern.clone(),
            one.flavor.clone(),
            one.project.clone(),
            one.device.clone(),
            one.live,
            one.since,
        );
        let known = stretches.entry(began).or_insert_with(|| one.clone());
        known.until = match (known.until, one.until) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
    stretches.into_values().collect()
}

/// Writes them, where that changes anything.
pub fn save(layout: &Layout, stretches: &[Stretch]) -> io::Result<bool> {
    let path = layout.active();
    if stretches.is_empty() && !files::exists(&path) {
        return Ok(false);
    }
    let mut sorted = stretches.to_vec();
    sorted.sort();
    let lines: String = sorted.iter().map(Stretch::line).collect();
    files::write_if_changed(&path, format!("{HEADER}{lines}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_joined_is_one_list() {
        let at = |text: &str| clock::parse(text).unwrap();
        let open = Stretch {
            pattern: "a-1".parse().unwrap(),
            flavor: "claude".into(),
            project: "boats_2".into(),
            device: Device::new("desk"),
            live: true,
            since: at("2026-11-15T10:00:00Z"),
            until: None,
        };
        let ended = Stretch { until: Some(at("2026-11-16T10:00:00Z")), ..open.clone() };
        let both = format!("{}{}{}", open.line(), ended.line(), open.line());
        assert_eq!(of_text(&both), std::slice::from_ref(&ended));
        assert!(ended.covers(at("2026-11-15T10:00:00Z")));
        assert!(!ended.covers(at("2026-11-16T10:00:00Z")));
        assert_eq!(of_text("- nonsense\n# x\n- a · b\n"), []);
    }
}
