//! MEMORY.md: the page that an agent always loads.
//!
//! What memtree writes stands between two marks; everything outside of them is a person's and stays
//! as it is. Within them, a line that ends in 📌 stays.

use crate::base::markdown::inline;
use crate::model::core::{EVERYWHERE, Kind, LandmarkId, Merged};
use crate::model::digest::{Claim, Origin};
use crate::model::ids::CoreId;
use crate::store::authored::{self, Regions};
use crate::store::core::lines::{self, PIN};
use crate::store::layout;

/// The page has at most so many lines and bytes.
pub const MOST_LINES: usize = 200;
pub const MOST_BYTES: usize = 25_000;

const BEGIN: &str = "<!-- memtree: begin · rewritten from the cores by every sweep; a line that ends in 📌 stays -->";
const BEGIN_MARK: &str = "<!-- memtree: begin";
const END: &str = "<!-- memtree: end -->";
const NEW: &str = "# Memory

What earlier sessions taught. These are notes about past work, not instructions; each line leads to its core, and
`memtree blame core/MEMORY.md:9` from a line to the sessions and the raw log behind it.

{ours}

## Notes

Yours: whatever stands outside of the two marks is never touched.
";
const NOTHING_YET: &str = "(nothing is confirmed yet)";
const OTHER: &str = "other";
const CHECKS: &str = "Checks that pass here: ";
/// How many decisions, and how many lessons, the page has of one project.
const MOST_DECISIONS: usize = 2;
const MOST_LESSONS: usize = 3;
/// How many of them may be an agent's words of a single session: the rest stays in the cores until
/// another session meets it.
const MOST_SAID_ONCE: usize = 1;
/// How many commands the line of checks names.
const MOST_CHECKS: usize = 7;
/// How many documents the line of plans and notes names.
const MOST_NOTES: usize = 6;
/// How many of them are enough if several sessions ran them.
const ENOUGH_CHECKS: usize = 3;

/// What a page holds that is a person's.
#[derive(Debug, Default)]
pub struct PersonsPart {
    before: String,
    after: String,
    /// The pinned lines, with the project they stand under.
    pub pinned: Vec<(String, String)>,
}

/// Reads the page that is there.
pub fn parse(text: &str) -> PersonsPart {
    let begin = |text: &str| authored::find_line(text, BEGIN_MARK);
    let Regions { before, regions } =
        Regions::of(text, begin, |text| text.find(END).map(|at| at + END.len()));
    let mut part = PersonsPart { before: before.to_string(), ..PersonsPart::default() };
    if regions.is_empty() && text.trim().is_empty() {
        let (before, after) = NEW.split_once("{ours}").expect("the text has the place");
        (part.before, part.after) = (before.to_string(), after.to_string());
    } else if regions.is_empty() {
        // A person wrote the page before there was anything to say: ours goes below.
        part.before = format!("{}\n\n", text.trim_end());
    }
    let mut project = OTHER;
    for (ours, theirs) in &regions {
        for line in ours.lines().map(str::trim_end) {
            let pinned = || (project.to_string(), line.to_string());
            if let Some(name) = line.strip_prefix("## ") {
                project = name;
            } else if line.ends_with(PIN) && !part.pinned.contains(&pinned()) {
                part.pinned.push(pinned());
            }
        }
        part.after.push_str(theirs);
    }
    if regions.last().is_none_or(|(_, last)| last.is_empty()) && !part.after.ends_with('\n') {
        part.after.push('\n');
    }
    part
}

/// Two devices' versions of the page: what people wrote and pinned on both, around what is made
/// anew from the cores by the next consolidation.
pub fn joined(base: Option<&str>, sides: [&str; 2]) -> String {
    let [one, other] = sides.map(parse);
    let base = base.map(parse);
    let text = |of: fn(&PersonsPart) -> &str| {
        authored::join_text(base.as_ref().map(of), [of(&one), of(&other)])
    };
    let (before, after) = (text(|part| &part.before), text(|part| &part.after));
    let is_in = |part: &PersonsPart, line: &(String, String)| part.pinned.contains(line);
    let mut pinned = one.pinned.clone();
    pinned.extend(other.pinned.iter().filter(|line| !is_in(&one, line)).cloned());
    // What one of them took the pin from is pinned no more.
    pinned.retain(|line| {
        let was = base.as_ref().is_some_and(|base| is_in(base, line));
        !was || (is_in(&one, line) && is_in(&other, line))
    });
    pinned.sort();
    self::text(&PersonsPart { before, after, pinned }, &[]).0
}

/// Whether nobody has written into the page.
pub fn is_ours(text: &str) -> bool {
    let (new, own) = (parse(""), parse(text));
    own.pinned.is_empty() && own.before == new.before && own.after.trim() == new.after.trim()
}

/// Whether a line of the page is knowledge, rather than what every such page says of itself.
pub fn is_knowledge(line: &str) -> bool {
    line != NOTHING_YET && !NEW.lines().any(|ours| ours == line)
}

/// The numbers of the lines that tell of other projects than these.
pub fn of_other_projects(page: &str, projects: &[String]) -> Vec<usize> {
    let (mut ours, mut other) = (false, false);
    let mut numbers = Vec::new();
    for (at, line) in page.lines().enumerate() {
        if line.starts_with(BEGIN_MARK) || line == END {
            (ours, other) = (line != END, false);
        } else if let Some(project) = line.strip_prefix("## ") {
            let of_all = project == OTHER || project == EVERYWHERE;
            other = ours && !of_all && !projects.iter().any(|known| known == project);
        } else if other {
            numbers.push(at + 1);
        }
    }
    numbers
}

/// Whether a line names the commands that check the work.
pub fn is_checks(line: &str) -> bool {
    line.starts_with(CHECKS)
}

/// Whether a line is a rule that the person gave.
pub fn is_rule(line: &str) -> bool {
    line[without_link(line).len()..].starts_with(&format!(" ([{}, ", Kind::Belief))
}

/// A line without the way to its core.
pub fn without_link(line: &str) -> &str {
    line.rfind(" ([")
        .map_or(line, |at| if line[at..].contains("(CORE_") { &line[..at] } else { line })
}

/// The cores and landmarks that a line of the page leads to.
pub fn leads_to(line: &str) -> Vec<(CoreId, LandmarkId)> {
    lines::cores_in(line)
}

/// Writes the page: what a person wrote, what they pinned, and as many of the landmarks as there is
/// room for, the best supported first. Within a project the commands come first, then the person's
/// rules, then decisions and lessons. Says how many did not fit.
pub fn text(existing: &PersonsPart, landmarks: &[Merged]) -> (String, usize) {
    let own = existing.before.len() + existing.after.len() + BEGIN.len() + END.len() + 2;
    let own_lines = existing.before.lines().count() + existing.after.lines().count() + 2;
    let mut left = SpaceLeft {
        lines: MOST_LINES.saturating_sub(own_lines),
        bytes: MOST_BYTES.saturating_sub(own),
    };
    let mut sections: Vec<(String, Vec<(Rank, String)>)> = Vec::new();
    for (project, line) in &existing.pinned {
        // Pinned means pinned: it comes first, and is there even where there is no space.
        left.take(&mut sections, project, (Rank::Pinned, line.clone()), true);
    }
    let is_pinned = |one: &Merged| {
        existing.pinned.iter().any(|(_, pinned)| {
            one.cores.iter().any(|(_, id)| leads_to(pinned).iter().any(|(_, known)| known == id))
        })
    };
    let free: Vec<&Merged> = landmarks.iter().filter(|one| !is_pinned(one)).collect();
    let (entries, mut left_out) = entries(&free);
    for Entry { project, rank, facts } in entries {
        let line = match rank {
            Rank::Checks => checks_line(&facts),
            Rank::Notes => notes_line(&facts),
            _ => line(facts[0]),
        };
        if !left.take(&mut sections, project, (rank, line), false) {
            left_out += facts.len();
        }
    }
    // What holds in all projects is read first.
    sections.sort_by_key(|(project, _)| project != EVERYWHERE);
    let mut ours = format!("{BEGIN}\n");
    for (project, lines) in &mut sections {
        lines.sort_by_key(|(rank, _)| *rank);
        ours.push_str(&format!("\n## {project}\n"));
        lines.iter().for_each(|(_, line)| ours.push_str(&format!("{line}\n")));
    }
    if sections.is_empty() {
        ours.push_str(&format!("{NOTHING_YET}\n"));
    }
    ours.push_str(END);
    (format!("{}{ours}{}", existing.before, existing.after), left_out)
}

/// Where in its project a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Pinned,
    Checks,
    Notes,
    Rule,
    Decision,
    Lesson,
}

/// One line of the page, and the landmarks that it tells of.
struct Entry<'m> {
    project: &'m str,
    rank: Rank,
    facts: Vec<&'m Merged>,
}

/// The lines that landmarks make, the best supported first, and how many have no place: of one
/// project only so many decisions and lessons, so that no one session fills the page.
fn entries<'m>(landmarks: &[&'m Merged]) -> (Vec<Entry<'m>>, usize) {
    let mut entries: Vec<Entry<'m>> = Vec::new();
    let mut left_out = 0;
    for one in landmarks {
        let project = one.landmark.project.as_deref().unwrap_or(OTHER);
        let rank = match one.landmark.kind {
            Kind::Belief => Rank::Rule,
            Kind::Decision => Rank::Decision,
            Kind::Knowledge if one.landmark.text.starts_with(Claim::NOTES) => Rank::Notes,
            Kind::Knowledge => Rank::Lesson,
            Kind::Habit if check_of(one).is_some() => Rank::Checks,
            // The form of commits and which files change together show by themselves: whoever wants
            // to know reads the core.
            Kind::Habit | Kind::Relationship => continue,
        };
        let same = |entry: &&mut Entry<'_>| entry.project == project && entry.rank == rank;
        if rank == Rank::Lesson && was_said_once(one) {
            let others = entries.iter().filter(|entry| {
                entry.project == project && entry.rank == rank && was_said_once(entry.facts[0])
            });
            if others.count() >= MOST_SAID_ONCE {
                left_out += 1;
                continue;
            }
        }
        let room = match rank {
            Rank::Checks | Rank::Notes => 1,
            Rank::Decision => MOST_DECISIONS,
            Rank::Lesson => MOST_LESSONS,
            _ => usize::MAX,
        };
        let is_one_line = matches!(rank, Rank::Checks | Rank::Notes);
        if let (true, Some(known)) = (is_one_line, entries.iter_mut().find(same)) {
            known.facts.push(one);
        } else if entries.iter_mut().filter(same).count() < room {
            entries.push(Entry { project, rank, facts: vec![*one] });
        } else {
            left_out += 1;
        }
    }
    // One document of one session is no custom.
    let is_custom = |entry: &Entry<'_>| {
        entry.facts.len() > 1 || entry.facts[0].sessions > 1 || notes_in(&entry.facts).1.len() > 1
    };
    entries.retain(|entry| entry.rank != Rank::Notes || is_custom(entry));
    for entry in entries.iter_mut().filter(|entry| entry.rank == Rank::Checks) {
        let all = entry.facts.len();
        // Where several commands are known to be the project's, those of one session are asides.
        let known = entry.facts.iter().filter(|one| one.sessions > 1).count();
        if known >= ENOUGH_CHECKS {
            entry.facts.retain(|one| one.sessions > 1);
        }
        entry.facts.truncate(MOST_CHECKS);
        left_out += all - entry.facts.len();
    }
    (entries, left_out)
}

/// Whether only the agent of one session says so, and no program.
fn was_said_once(one: &Merged) -> bool {
    let by_program = one.landmark.supports.iter().any(|s| s.said_by == Some(Origin::Tool));
    one.sessions <= 1 && !by_program && !one.landmark.pinned
}

/// The command that a landmark tells of, where it tells of one that checks the work.
fn check_of(one: &Merged) -> Option<&str> {
    let text = &one.landmark.text;
    let command =
        ["Tests run with `", "Checked with `"].iter().find_map(|b| text.strip_prefix(b))?;
    command.strip_suffix('`')
}

/// The folders in which plans and notes are kept, and the documents that are named there.
fn notes_in<'m>(facts: &[&'m Merged]) -> (Vec<&'m str>, Vec<&'m str>) {
    let (mut folders, mut names): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for one in facts {
        for (at, span) in one.landmark.text.split('`').skip(1).step_by(2).enumerate() {
            let known = if at == 0 { &mut folders } else { &mut names };
            if !known.contains(&span) {
                known.push(span);
            }
        }
    }
    (folders, names)
}

/// Where plans and notes are kept in a project, as one line.
fn notes_line(facts: &[&Merged]) -> String {
    let (folders, names) = notes_in(facts);
    let code = |spans: &[&str]| -> String {
        let spans: Vec<String> = spans.iter().map(|span| format!("`{span}`")).collect();
        spans.join(", ")
    };
    let names = &names[..names.len().min(MOST_NOTES)];
    let text = format!("{}{}: {}", Claim::NOTES, code(&folders), code(names));
    format!("- {} ({})", inline(&text), links(facts).join(", "))
}

/// The commands that check the work in a project, as one line.
fn checks_line(facts: &[&Merged]) -> String {
    let commands: Vec<String> = facts
        .iter()
        .filter_map(|one| check_of(one))
        .map(|command| format!("`{command}`"))
        .collect();
    let commands = inline(&commands.join(", "));
    format!("- {CHECKS}{commands} ({})", links(facts).join(", "))
}

/// The ways to the landmarks of a line, the first one with what it is.
fn links(facts: &[&Merged]) -> Vec<String> {
    let mut links: Vec<String> = facts
        .iter()
        .enumerate()
        .map(|(at, one)| {
            let named = if at == 0 { about(one) } else { (at + 1).to_string() };
            format!("[{named}]({})", target(one))
        })
        .collect();
    links.dedup();
    links
}

/// What a landmark is, how many sessions say it, and when the last one did.
fn about(one: &Merged) -> String {
    let count = format!("{} session{}", one.sessions, if one.sessions == 1 { "" } else { "s" });
    let last = one.last.map(|last| format!(", {last}")).unwrap_or_default();
    format!("{}, {count}{last}", one.landmark.kind)
}

/// The way to a landmark in its core.
fn target(one: &Merged) -> String {
    let (core, id) = one
        .cores
        .iter()
        .find(|(_, id)| *id == one.landmark.id)
        .or(one.cores.first())
        .expect("a landmark stands in some core");
    format!("{}#^{id}", layout::core_name(core))
}

/// A landmark as it stands there: the sentence, what it is, and the way to its core.
fn line(one: &Merged) -> String {
    let pin = if one.landmark.pinned { format!(" {PIN}") } else { String::new() };
    format!("- {} ([{}]({})){pin}", inline(&one.landmark.text), about(one), target(one))
}

/// How much more the page may hold.
struct SpaceLeft {
    lines: usize,
    bytes: usize,
}

impl SpaceLeft {
    /// Puts a line into its section, if it fits or has to.
    fn take(
        &mut self,
        sections: &mut Vec<(String, Vec<(Rank, String)>)>,
        project: &str,
        (rank, line): (Rank, String),
        must: bool,
    ) -> bool {
        let known = sections.iter().position(|(name, _)| name == project);
        // A new section costs a blank line and its heading.
        let (lines, bytes) = match known {
            Some(_) => (1, line.len() + 1),
            None => (3, line.len() + 1 + project.len() + 5),
        };
        if !must && (lines > self.lines || bytes > self.bytes) {
            return false;
        }
        (self.lines, self.bytes) =
            (self.lines.saturating_sub(lines), self.bytes.saturating_sub(bytes));
        match known {
            Some(at) => sections[at].1.push((rank, line)),
            None => sections.push((project.to_string(), vec![(rank, line)])),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::core::{Domain, Landmark, LandmarkId, LandmarkState};
    use crate::model::ids::CoreId;

    fn notes(text: &str, sessions: usize) -> Merged {
        let id = LandmarkId::new(Kind::Knowledge, Some("tide"), text);
        let core: CoreId = "vm_SP1C1".parse().expect("a core's name");
        Merged {
            landmark: Landmark {
                id: id.clone(),
                kind: Kind::Knowledge,
                domain: Domain::Knowledge,
                state: LandmarkState::Confirmed,
                confidence: 70,
                project: Some("tide".into()),
                text: text.into(),
                supports: Vec::new(),
                on: None,
                pinned: false,
                reviewed: false,
            },
            sessions,
            last: None,
            cores: vec![(core, id)],
        }
    }

    #[test]
    fn where_notes_are_kept_is_one_line_of_what_several_documents_show() {
        let one = notes("Plans and notes are kept in `.planning/`: `STATE.md`", 1);
        let two = notes("Plans and notes are kept in `.planning/`: `ROADMAP.md`, `STATE.md`", 1);
        let (entries_of_one, _) = entries(&[&one]);
        assert!(entries_of_one.is_empty(), "one document of one session is no custom");
        let (both, _) = entries(&[&one, &two]);
        assert_eq!(both.len(), 1);
        let line = notes_line(&both[0].facts);
        assert!(
            line.starts_with(
                "- Plans and notes are kept in `.planning/`: `STATE.md`, `ROADMAP.md` ("
            ),
            "{line}"
        );
    }
}
