//! Cores, spheres and MEMORY.md as documents: what we write, and read back.
//!
//! Each page is made anew from what it consolidates; of the page that is there, only a person's
//! words are kept: the notes, a landmark put in other words, a pin. Reading is lenient, line by
//! line, so that a page that git merged from two versions is read too.

pub mod lines;
pub mod memory;
mod own;

use std::collections::BTreeMap;
use std::path::Path;

use chrono::NaiveDate;

use crate::base::clock;
use crate::base::files;
use crate::base::front_matter::{self, Document};
use crate::base::markdown::inline;
use crate::model::core::{
    Core, How, Landmark, LandmarkId, LandmarkState, Member, Membership, Merged, OpenEnd, Relation,
    Sphere, Superseded,
};
use crate::model::digest::Outcome;
use crate::model::ids::{CoreId, SessionId, SphereId};
use crate::store::authored::{self, OtherVersion, Regions};
use crate::store::layout;

/// The schemas that we write.
pub const CORE_SCHEMA: &str = "memtree/core/1";
pub const SPHERE_SCHEMA: &str = "memtree/sphere/1";

const LANDMARKS: &str = "## Landmarks";
const SUPERSEDED: &str = "## Superseded";
const NOTES: &str = "## Notes";
/// The heading of landmarks that belong to no project.
const NO_PROJECT: &str = "(no project)";

/// The title of a session that has none.
const UNTITLED: &str = "(no title)";

/// What is read of a core's page.
#[derive(Debug, Default)]
pub struct WrittenCore {
    /// When the last of its sessions ended.
    pub last: Option<NaiveDate>,
    pub landmarks: Vec<Landmark>,
    pub superseded: Vec<Superseded>,
    /// How many of its sessions belong to which project.
    pub projects: BTreeMap<String, usize>,
}

/// Writes a core; `existing` is the page that is there.
pub fn core_text(core: &Core, made_by: &str, existing: &str) -> String {
    let Core { id, members, landmarks, superseded, relations, open } = core;
    let confirmed =
        landmarks.iter().filter(|landmark| landmark.state == LandmarkState::Confirmed).count();
    let contested =
        landmarks.iter().filter(|landmark| landmark.state == LandmarkState::Contested).count();
    let share = |part: usize| part as f32 / (landmarks.len() + superseded.len()).max(1) as f32;
    let sessions: Vec<String> = members.iter().map(|member| member.session.to_string()).collect();
    let projects = projects_of(members);
    let names: Vec<&String> = projects.keys().collect();
    let mut text = String::from("---\n");
    let mut put = |key: &str, value: &str| text.push_str(&format!("{key}: {value}\n"));
    put("schema", CORE_SCHEMA);
    put("core_id", &id.to_string());
    if let Some(last) = last_of(members) {
        put("extraction_date", &last.to_string());
    }
    put("source_sessions", &front_matter::list(&sessions));
    put("projects", &front_matter::list(&names));
    put("landmarks", &landmarks.len().to_string());
    put("confirmed", &confirmed.to_string());
    put("superseded", &superseded.len().to_string());
    put("identity_drift", &format!("{:.2}", share(contested + superseded.len())));
    put("growth_index", &format!("{:.2}", share(confirmed)));
    put("made_by", made_by);
    text.push_str("---\n");
    text.push_str(&format!(
        "# Core {id}\n> {}\n\n## Sessions\n",
        said_of(members, landmarks.len(), confirmed)
    ));
    for member in members {
        text.push_str(&member_line(member));
    }
    text.push_str(&format!("\n{LANDMARKS}\n"));
    if landmarks.is_empty() {
        let remembered = |member: &Member| matches!(member.what, Membership::Remembered { .. });
        text.push_str(match members.iter().any(remembered) {
            true => "(none: nothing recurred, and nobody stated anything for later)\n",
            false => "(none: not one of these sessions was worth remembering)\n",
        });
    }
    by_project(&mut text, landmarks, |landmark| {
        (landmark.project.as_deref(), lines::landmark_line(landmark))
    });
    if !open.is_empty() {
        text.push_str("\n## Left open\n");
        by_project(&mut text, open, |end| (end.project.as_deref(), open_line(end)));
    }
    if !relations.is_empty() {
        text.push_str("\n## Relations\n");
        relations.iter().for_each(|relation| text.push_str(&relation_line(relation)));
    }
    if !superseded.is_empty() {
        text.push_str(&format!("\n{SUPERSEDED}\n"));
        by_project(&mut text, superseded, |old| {
            (old.landmark.project.as_deref(), lines::superseded_line(old))
        });
    }
    text.push_str(&own::with_lines(notes_of(existing), &own::own_lines(existing)));
    with_own_keys(text, existing)
}

/// Lines below a heading for each project.
fn by_project<'a, T>(
    text: &mut String,
    items: &'a [T],
    line: impl Fn(&'a T) -> (Option<&'a str>, String),
) {
    let mut current = None;
    for item in items {
        let (project, line) = line(item);
        if current != Some(project) {
            text.push_str(&format!("\n### {}\n", project.unwrap_or(NO_PROJECT)));
            current = Some(project);
        }
        text.push_str(&format!("{line}\n"));
    }
}

fn said_of(members: &[Member], landmarks: usize, confirmed: usize) -> String {
    let days: Vec<NaiveDate> = members.iter().filter_map(ended).collect();
    let span = match (days.iter().min(), days.iter().max()) {
        (Some(first), Some(last)) if first == last => format!(" of {first}"),
        (Some(first), Some(last)) => format!(" from {first} to {last}"),
        _ => String::new(),
    };
    let projects: Vec<String> = projects_of(members)
        .iter()
        .map(|(name, count)| format!("{} ({count})", inline(name)))
        .collect();
    let about =
        if projects.is_empty() { String::new() } else { format!(" · {}", projects.join(", ")) };
    format!("Eight sessions{span}{about} · {confirmed} of {landmarks} landmarks confirmed")
}

fn ended(member: &Member) -> Option<NaiveDate> {
    match &member.what {
        Membership::Remembered { ended, .. } => ended.map(|at| at.date_naive()),
        _ => None,
    }
}

fn last_of(members: &[Member]) -> Option<NaiveDate> {
    members.iter().filter_map(ended).max()
}

fn projects_of(members: &[Member]) -> BTreeMap<String, usize> {
    let mut projects = BTreeMap::new();
    for member in members {
        if let Membership::Remembered { project: Some(project), .. } = &member.what {
            *projects.entry(project.clone()).or_default() += 1;
        }
    }
    projects
}

fn link(session: &SessionId) -> String {
    format!("[{session}]({})", layout::from_core_to_digest(session))
}

fn member_line(Member { session, what }: &Member) -> String {
    match what {
        Membership::Forgotten => format!("- {session} · forgotten\n"),
        Membership::NotWorth => format!("- {} · not worth remembering\n", link(session)),
        Membership::Remembered { title, project, status, ended, outcome } => {
            let project = project
                .as_deref()
                .map(|project| format!(" · {}", inline(project)))
                .unwrap_or_default();
            let day = ended.map(|at| format!(" · {}", &clock::stamp(at)[..10])).unwrap_or_default();
            let came = match outcome.is_empty() {
                true => String::new(),
                false => format!("  - {}\n", inline(outcome)),
            };
            let title = if title.is_empty() { UNTITLED.to_string() } else { inline(title) };
            format!("- {}{project}{day} · {status} · {title}\n{came}", link(session))
        }
    }
}

fn open_line(OpenEnd { text, session, episode, on, .. }: &OpenEnd) -> String {
    let on = on.map(|on| format!(", {on}")).unwrap_or_default();
    let digest = layout::from_core_to_digest(session);
    format!("- {} ([{session}#{episode}]({digest}){on})", inline(text))
}

fn relation_line(Relation { from, to, how, what }: &Relation) -> String {
    let (from, to, what) = (link(from), link(to), inline(what));
    match how {
        How::Follows | How::Contradicts => format!("- {to} {how} {from} · {what}\n"),
        How::SameFile | How::SameError | How::SameDecision => {
            format!("- {from} and {to} · {how} · {what}\n")
        }
    }
}

/// The page with the keys that a person added to the front matter of the one that is there.
fn with_own_keys(text: String, existing: &str) -> String {
    let (mut page, before) = (Document::parse(&text), Document::parse(existing));
    let is_own = |key: &&str| !OUR_KEYS.contains(key);
    let own: Vec<&str> = before.keys().filter(is_own).collect();
    if own.is_empty() {
        return text;
    }
    for key in own {
        page.set_raw(key, before.get_raw(key).unwrap_or_default());
    }
    page.into_text()
}

/// Whether nobody has written into a core's or sphere's page.
pub fn is_ours(text: &str) -> bool {
    let document = Document::parse(text);
    let notes = notes_of(text);
    own::own_lines(text).is_empty()
        && document.keys().all(|key| OUR_KEYS.contains(&key))
        && notes.trim_start().strip_prefix(NOTES).is_some_and(|own| own.trim().is_empty())
}

/// The keys of cores and spheres that are ours, whether they are written or not.
const OUR_KEYS: [&str; 15] = [
    "schema", "core_id", "sphere_id", "scope", "extraction_date", "source_sessions",
    "source_cores", "projects", "entities", "landmarks", "confirmed", "superseded",
    "identity_drift", "growth_index", "made_by",
];

/// The person's own section, as it is; a new one where there is none.
fn notes_of(existing: &str) -> String {
    let begin = |page: &str| page.find("\n---\nschema: memtree/");
    let end = |page: &str| {
        let mut ends = page.match_indices(NOTES).map(|(at, _)| at + NOTES.len());
        ends.find(|end| {
            let rest = &page[*end..];
            page[..end - NOTES.len()].ends_with('\n')
                && (rest.is_empty() || rest.starts_with(['\n', '\r', ' ']))
        })
    };
    // A merge may have put two pages one after the other; then each has its notes.
    let mut notes = String::new();
    for (_, own) in Regions::from_start(existing, begin, end).regions {
        if notes.is_empty() || !own.trim().is_empty() {
            notes.push_str(own);
        }
    }
    if notes.is_empty() {
        notes.push('\n');
    }
    format!("\n{NOTES}{notes}")
}

/// Reads a core's page; also one that was merged from two versions of it.
pub fn parse_core(text: &str) -> WrittenCore {
    let document = Document::parse(text);
    let mut core = WrittenCore {
        last: document.get_str("extraction_date").and_then(|day| day.parse().ok()),
        ..WrittenCore::default()
    };
    each_line(document.body(), |section, project, line| {
        if section == "## Sessions" && !line.starts_with("- ") {
            // What came of a session.
        } else if section == "## Sessions" {
            let mut fields = line.split(" · ").skip(1);
            if let (Some(project), 3..) = (
                fields.next().filter(|first| !is_day_or_status(first)),
                line.split(" · ").count().saturating_sub(1),
            ) {
                *core.projects.entry(crate::base::markdown::plain(project)).or_default() += 1;
            }
        } else if let Some(found) = lines::parse_landmark(line, project) {
            match section {
                SUPERSEDED => core.superseded.push(found),
                _ => core.landmarks.push(found.landmark),
            }
        }
    });
    core
}

/// Whether a field of a session's line is its day or how it went: then it has no project.
fn is_day_or_status(field: &str) -> bool {
    field.parse::<NaiveDate>().is_ok() || field.parse::<Outcome>().is_ok()
}

/// Every line of a page with the section and the project it stands under; a person's notes aside.
fn each_line(body: &str, mut each: impl FnMut(&str, Option<&str>, &str)) {
    let (mut section, mut project) = ("", None);
    for line in body.lines() {
        let line = line.trim_end();
        if let Some(name) = line.strip_prefix("### ") {
            project = (name != NO_PROJECT).then_some(name);
        } else if line.starts_with("## ") || line.starts_with("# ") {
            (section, project) = (line, None);
        } else if section != NOTES {
            each(section, project, line);
        }
    }
}

/// Writes a sphere; `existing` is the page that is there.
pub fn sphere_text(sphere: &Sphere, made_by: &str, existing: &str) -> String {
    let Sphere { id, cores, entities, together } = sphere;
    let names: Vec<String> = cores.iter().map(|(core, _)| core.to_string()).collect();
    let all: usize = entities.iter().map(|entity| entity.sessions).sum();
    let entity_lines: Vec<String> = entities
        .iter()
        .map(|entity| {
            let strength = entity.sessions as f32 / all.max(1) as f32;
            let last = entity.last.map(|last| last.to_string()).unwrap_or_else(|| "unknown".into());
            format!("{} | works on | {strength:.2} | {last}", entity.name)
        })
        .collect();
    let mut text = format!("---\nschema: {SPHERE_SCHEMA}\nsphere_id: {id}\nscope: environmental\n");
    text.push_str(&format!("source_cores: {}\n", front_matter::list(&names)));
    text.push_str(&format!("entities:{}\n", front_matter::block_list(&entity_lines)));
    text.push_str(&format!("made_by: {made_by}\n---\n# Sphere {id}\n"));
    let of_state = |state: LandmarkState| -> Vec<&Merged> {
        let mut found: Vec<&Merged> =
            together.landmarks.iter().filter(|one| one.landmark.state == state).collect();
        // The best supported first, those of one project together.
        found.sort_by_key(|one| (one.landmark.project.is_none(), &one.landmark.project));
        found
    };
    let (confirmed, contested) =
        (of_state(LandmarkState::Confirmed), of_state(LandmarkState::Contested));
    text.push_str(&format!(
        "> Eight cores · {} landmarks confirmed\n\n## Cores\n",
        confirmed.len()
    ));
    for (core, last) in cores {
        let last = last.map(|last| format!(" · {last}")).unwrap_or_default();
        text.push_str(&format!("- [{core}]({}){last}\n", layout::core_name(core)));
    }
    text.push_str(&format!("\n{LANDMARKS}\n"));
    if confirmed.is_empty() {
        text.push_str("(none: nothing was confirmed)\n");
    }
    by_project(&mut text, &confirmed, |one| {
        (one.landmark.project.as_deref(), lines::merged_line(one))
    });
    if !contested.is_empty() {
        text.push_str("\n## Under revision\n");
        by_project(&mut text, &contested, |one| {
            (one.landmark.project.as_deref(), lines::merged_line(one))
        });
    }
    if !together.superseded.is_empty() {
        text.push_str(&format!("\n{SUPERSEDED}\n"));
        by_project(&mut text, &together.superseded, |(old, by)| {
            (old.landmark.project.as_deref(), lines::replaced_line(old, by))
        });
    }
    text.push_str(&own::with_lines(notes_of(existing), &own::own_lines(existing)));
    with_own_keys(text, existing)
}

/// The landmarks of a sphere's page that hold or are under revision.
pub fn parse_sphere(text: &str) -> Vec<Merged> {
    let mut found = Vec::new();
    each_line(Document::parse(text).body(), |section, project, line| {
        if section != SUPERSEDED {
            found.extend(lines::parse_merged(line, project));
        }
    });
    found
}

/// Two devices' versions of a core: every landmark of both, for the next consolidation to put in
/// order, and what people wrote.
pub fn joined_core(base: Option<&str>, sides: [&str; 2]) -> String {
    joined_page(base, sides, |line| Some(lines::parse_landmark(line, None)?.landmark))
}

/// Two devices' versions of a sphere, which is made anew from its cores.
pub fn joined_sphere(base: Option<&str>, sides: [&str; 2]) -> String {
    joined_page(base, sides, |line| Some(lines::parse_merged(line, None)?.landmark))
}

fn joined_page(
    base: Option<&str>,
    [one, other]: [&str; 2],
    landmark: impl Fn(&str) -> Option<Landmark>,
) -> String {
    let rank = |page: &str| {
        let document = Document::parse(page);
        let said = |key: &str| document.get_str(key).unwrap_or_default();
        (said("extraction_date"), said("landmarks").parse::<u64>().unwrap_or_default())
    };
    let is_newer = (rank(one), one) >= (rank(other), other);
    let [new, old] = if is_newer { [one, other] } else { [other, one] };
    let by_id = |page: &str| -> BTreeMap<LandmarkId, (String, String)> {
        let mut found = BTreeMap::new();
        each_line(Document::parse(page).body(), |section, project, line| {
            if let Some(landmark) = landmark(line) {
                let under = format!("{section}\n\n### {}", project.unwrap_or(NO_PROJECT));
                found.insert(landmark.id, (under, line.to_string()));
            }
        });
        found
    };
    let (before, in_new, in_old) = (base.map(&by_id), by_id(new), by_id(old));
    let is_decided = |line: &str| landmark(line).is_some_and(|one| one.pinned || one.reviewed);
    let words = |line: &str| landmark(line).map(|one| one.text);
    let mut text = String::with_capacity(new.len());
    let mut others = Vec::new();
    for ended in new.split_inclusive('\n') {
        let line = ended.trim_end();
        let there = landmark(line).and_then(|one| Some((in_old.get(&one.id)?, one.id)));
        let Some(((_, theirs), id)) = there.filter(|((_, theirs), _)| theirs != line) else {
            text.push_str(ended);
            continue;
        };
        let was = before.as_ref().and_then(|before| before.get(&id)).map(|(_, was)| was.as_str());
        let takes_theirs = was == Some(line) || (is_decided(theirs) && !is_decided(line));
        let left = if takes_theirs { line } else { theirs };
        match takes_theirs {
            true => text.push_str(&format!("{theirs}\n")),
            false => text.push_str(ended),
        }
        // Both were put into other words: the ones that do not stand here are kept beside them.
        let (here, there, was) = (words(line), words(theirs), was.and_then(words));
        if here != there && here != was && there != was {
            others.push(OtherVersion::of_landmark(&id.to_string(), left));
        }
    }
    let missing: String = in_old
        .iter()
        .filter(|(id, _)| !in_new.contains_key(*id))
        .map(|(_, (under, line))| format!("\n{under}\n{line}\n"))
        .collect();
    let notes = [base.unwrap_or_default(), one, other].map(notes_of);
    let joined = authored::join_text(base.map(|_| notes[0].as_str()), [&notes[1], &notes[2]]);
    // Own lines of the newer page stand where they are; those of the other would be gone.
    let [was, here] = [base.unwrap_or_default(), new].map(own::own_lines);
    let mut own = own::own_lines(old);
    own.retain(|line| !was.contains(line) && !here.contains(line));
    let joined = own::with_lines(joined, &own);
    let end = text.rfind(&notes_of(&text)).unwrap_or(text.len());
    let text = format!("{}{missing}\n{}", &text[..end], joined.trim_start_matches('\n'));
    OtherVersion::add_all(&with_joined_keys(text, base, [new, old]), &others)
}

/// A page with the keys that people added on either side.
fn with_joined_keys(text: String, base: Option<&str>, sides: [&str; 2]) -> String {
    let mut page = Document::parse(&text);
    let base = base.map(Document::parse);
    let [new, old] = sides.map(Document::parse);
    for key in old.keys().filter(|key| !OUR_KEYS.contains(key)) {
        let was = base.as_ref().and_then(|base| base.get_raw(key));
        let (here, there) = (new.get_raw(key), old.get_raw(key));
        if here == was && there != was {
            page.set_raw(key, there.unwrap_or_default());
        }
    }
    for key in new.keys().filter(|key| !OUR_KEYS.contains(key) && !old.has(key)) {
        if base.as_ref().is_some_and(|base| base.get_raw(key) == new.get_raw(key)) {
            page.remove(key);
        }
    }
    page.into_text()
}

/// The cores that a memory holds, in order.
pub fn core_ids(folder: &Path) -> Vec<CoreId> {
    ids(folder, layout::core_named)
}

/// The spheres that a memory holds, in order.
pub fn sphere_ids(folder: &Path) -> Vec<SphereId> {
    ids(folder, layout::sphere_named)
}

fn ids<T: Ord>(folder: &Path, named: impl Fn(&str) -> Option<T>) -> Vec<T> {
    let names =
        files::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut ids: Vec<T> = names.filter_map(|name| named(name.to_str()?)).collect();
    ids.sort();
    ids
}
