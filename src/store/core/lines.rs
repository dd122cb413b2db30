//! Landmarks as lines: one landmark, one line, so that a merge of two versions of a page loses
//! none.
//!
//! `- **decision** SENTENCE | confirmed 0.86, knowledge, 2026-11-15 | [SES1_laptop_SP1C2#EP_003](…)
//! user, … ^lm-0123456789`

use chrono::NaiveDate;

use crate::base::markdown::{inline, plain};
use crate::base::static_regex::StaticRegex;
use crate::model::core::{Domain, Landmark, LandmarkId, Merged, Superseded, Support};
use crate::model::ids::CoreId;
use crate::store::layout;

/// The mark of a line that is to stay.
pub const PIN: &str = "📌";
/// Behind the state that a person gave.
const REVIEWED: &str = " (reviewed)";
const MET_AGAIN: &str = "met again";
const REPLACED_BY: &str = "replaced by ";

/// A landmark of a core.
pub fn landmark_line(landmark: &Landmark) -> String {
    line(landmark, &dated(landmark), &supports(landmark), "")
}

/// A landmark of a core that holds no more.
pub fn superseded_line(old: &Superseded) -> String {
    let by = old.by.as_ref().map(|by| format!("{REPLACED_BY}[{by}](#^{by}): ")).unwrap_or_default();
    let why = format!(" | {by}{}", inline(&old.why));
    line(&old.landmark, &dated(&old.landmark), &supports(&old.landmark), &why)
}

/// A landmark of many cores.
pub fn merged_line(one: &Merged) -> String {
    line(&one.landmark, "", &behind(one), "")
}

/// A landmark of many cores that a later one replaced.
pub fn replaced_line(old: &Merged, by: &Merged) -> String {
    let newer =
        by.cores.last().map(|(core, id)| format!("[{core}]({}#^{id})", layout::core_name(core)));
    let why = format!(" | {REPLACED_BY}{}: it chose otherwise later", newer.unwrap_or_default());
    line(&old.landmark, "", &behind(old), &why)
}

/// The day of the fact, as it stands behind the domain.
fn dated(landmark: &Landmark) -> String {
    landmark.on.map(|on| format!(", {on}")).unwrap_or_default()
}

fn line(landmark: &Landmark, on: &str, rests_on: &str, more: &str) -> String {
    let Landmark { kind, text, state, confidence, domain, id, .. } = landmark;
    let pin = if landmark.pinned { format!(" {PIN}") } else { String::new() };
    let (whole, cents) = (confidence / 100, confidence % 100);
    let reviewed = if landmark.reviewed { REVIEWED } else { "" };
    format!(
        "- **{kind}** {} | {state}{reviewed} {whole}.{cents:02}, {domain}{on} | {rests_on}{more} ^{id}{pin}",
        inline(text)
    )
}

fn supports(landmark: &Landmark) -> String {
    let each = landmark.supports.iter().map(|Support { session, episode, said_by, .. }| {
        let digest = layout::from_core_to_digest(session);
        let who = said_by.map_or_else(|| MET_AGAIN.to_string(), |origin| origin.to_string());
        format!("[{session}#{episode}]({digest}) {who}")
    });
    each.collect::<Vec<_>>().join(", ")
}

fn behind(one: &Merged) -> String {
    let cores =
        one.cores.iter().map(|(core, id)| format!("[{core}]({}#^{id})", layout::core_name(core)));
    let count = format!("{} session{}", one.sessions, if one.sessions == 1 { "" } else { "s" });
    let last = one.last.map(|last| format!(", last {last}")).unwrap_or_default();
    format!("{count}{last} | {}", cores.collect::<Vec<_>>().join(", "))
}

/// The parts of a landmark's line, whichever page it is on.
struct Parts<'l> {
    landmark: Landmark,
    rest: Vec<&'l str>,
}

fn parts<'l>(line: &'l str, project: Option<&str>) -> Option<Parts<'l>> {
    let (line, id, behind) = with_id(line)?;
    let pinned = behind.trim_start().starts_with(PIN);
    let (kind, rest) = line.trim_start().strip_prefix("- **")?.split_once("** ")?;
    let mut fields = rest.split(" | ");
    let text = plain(fields.next()?);
    let mut known = fields.next()?.split(", ");
    let (state, confidence) = known.next()?.rsplit_once(' ')?;
    let (domain, on) = (known.next()?, known.next().and_then(|day| day.parse().ok()));
    let (state, reviewed) = match state.strip_suffix(REVIEWED) {
        Some(state) => (state, true),
        None => (state, false),
    };
    let landmark = Landmark {
        id,
        kind: kind.parse().ok()?,
        domain: domain.parse::<Domain>().ok()?,
        state: state.parse().ok()?,
        confidence: (confidence.parse::<f32>().ok()?.clamp(0.0, 1.0) * 100.0).round() as u8,
        project: project.map(str::to_string),
        text,
        supports: Vec::new(),
        on,
        pinned,
        reviewed,
    };
    Some(Parts { landmark, rest: fields.collect() })
}

/// A line up to the name of its landmark, that name, and what stands behind it.
fn with_id(line: &str) -> Option<(&str, LandmarkId, &str)> {
    static NAMED: StaticRegex = StaticRegex::new(r" \^(lm-[0-9a-f]{10})(?:\s|$)");
    let found = NAMED.captures_iter(line).last()?;
    let (whole, id) = (found.get(0)?, found.get(1)?);
    Some((&line[..whole.start()], id.as_str().parse().ok()?, &line[id.end()..]))
}

/// What a person wrote behind a landmark's line, and what that says.
pub fn words_behind(line: &str) -> Option<(String, String)> {
    let (.., behind) = with_id(line)?;
    let behind = behind.trim();
    let words = behind.strip_prefix(PIN).unwrap_or(behind).trim();
    let text = parts(line, None)?.landmark.text;
    (!words.is_empty()).then(|| (text, words.to_string()))
}

/// Whether a line is a landmark's, on whichever page.
pub fn is_landmark(line: &str) -> bool {
    parts(line, None).is_some()
}

/// Reads a landmark of a core, superseded or not.
pub fn parse_landmark(line: &str, project: Option<&str>) -> Option<Superseded> {
    static SUPPORT: StaticRegex = StaticRegex::new(
        r"\[(SES\d+_[A-Za-z0-9-]+_SP\d+C\d+)#(EP_\d+)\]\([^)]*\) (met again|user|assistant|tool)",
    );
    let Parts { mut landmark, rest } = parts(line, project)?;
    landmark.supports = SUPPORT
        .captures_iter(rest.first()?)
        .filter_map(|found| {
            Some(Support {
                session: found[1].parse().ok()?,
                episode: found[2].parse().ok()?,
                said_by: found[3].parse().ok(),
                evidence: String::new(),
            })
        })
        .collect();
    let more = rest.get(1..).unwrap_or_default().join(" | ");
    let by = more.strip_prefix(REPLACED_BY).and_then(|rest| id_in(rest.split_once("): ")?.0));
    let why = if by.is_some() { more.split_once("): ").map_or("", |(_, why)| why) } else { &more };
    Some(Superseded { landmark, by, why: plain(why) })
}

/// Reads a landmark of a sphere.
pub fn parse_merged(line: &str, project: Option<&str>) -> Option<Merged> {
    let Parts { landmark, rest } = parts(line, project)?;
    let (count, last) = match rest.first()?.split_once(", last ") {
        Some((count, last)) => (count, last.parse::<NaiveDate>().ok()),
        None => (*rest.first()?, None),
    };
    let sessions = count.split(' ').next()?.parse().ok()?;
    Some(Merged { landmark, sessions, last, cores: cores_in(rest.get(1)?) })
}

/// The cores that a line leads to, and the landmarks there.
pub fn cores_in(line: &str) -> Vec<(CoreId, LandmarkId)> {
    static LINK: StaticRegex = StaticRegex::new(r"\(CORE_([A-Za-z0-9_-]+)\.md#\^(lm-[0-9a-f]+)\)");
    LINK.captures_iter(line)
        .filter_map(|found| Some((found[1].parse().ok()?, found[2].parse().ok()?)))
        .collect()
}

/// The first landmark that a text names.
pub fn id_in(text: &str) -> Option<LandmarkId> {
    static ID: StaticRegex = StaticRegex::new(r"\blm-[0-9a-f]{10}\b");
    ID.find(text)?.as_str().parse().ok()
}
