//! MEMORY.md: the page that an agent always loads.
//!
//! What memtree writes stands between two marks; everything outside of them is a person's and stays
//! as it is. Within them, a line that ends in 📌 stays.

use crate::base::markdown::inline;
use crate::model::core::{LandmarkId, Merged};
use crate::model::ids::CoreId;
use crate::store::cores::lines::{self, PIN};
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

/// What a page holds that is a person's.
#[derive(Debug, Default)]
pub struct Existing {
    before: String,
    after: String,
    /// The pinned lines, with the project they stand under.
    pub pinned: Vec<(String, String)>,
}

/// Reads the page that is there.
pub fn parse(text: &str) -> Existing {
    let mut existing = Existing::default();
    let Some(begin) = line_start(text, BEGIN_MARK) else {
        if text.trim().is_empty() {
            let (before, after) = NEW.split_once("{ours}").expect("the text has the place");
            (existing.before, existing.after) = (before.to_string(), after.to_string());
        } else {
            // A person wrote the page before there was anything to say: ours goes below.
            existing.before = format!("{}\n\n", text.trim_end());
            existing.after = "\n".into();
        }
        return existing;
    };
    existing.before = text[..begin].to_string();
    // A merge may have doubled what is ours; what stands between is a person's.
    let mut ours = String::new();
    let mut rest = &text[begin..];
    while let Some(begin) = line_start(rest, BEGIN_MARK) {
        existing.after.push_str(&rest[..begin]);
        let end = rest[begin..].find(END).map_or(rest.len(), |end| begin + end + END.len());
        ours.push_str(&rest[begin..end]);
        ours.push('\n');
        rest = &rest[end..];
    }
    existing.after.push_str(if rest.is_empty() { "\n" } else { rest });
    let mut project = OTHER.to_string();
    for line in ours.lines() {
        let line = line.trim_end();
        if let Some(name) = line.strip_prefix("## ") {
            project = name.to_string();
        } else if line.ends_with(PIN) {
            let pinned = (project.clone(), line.to_string());
            if !existing.pinned.contains(&pinned) {
                existing.pinned.push(pinned);
            }
        }
    }
    existing
}

fn line_start(text: &str, mark: &str) -> Option<usize> {
    text.match_indices(mark)
        .map(|(at, _)| at)
        .find(|at| *at == 0 || text.as_bytes()[at - 1] == b'\n')
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
            other = ours && project != OTHER && !projects.iter().any(|known| known == project);
        } else if other {
            numbers.push(at + 1);
        }
    }
    numbers
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
/// room for, the best supported first. Says how many did not fit.
pub fn text(existing: &Existing, landmarks: &[Merged]) -> (String, usize) {
    let own = existing.before.len() + existing.after.len() + BEGIN.len() + END.len() + 2;
    let own_lines = existing.before.lines().count() + existing.after.lines().count() + 2;
    let mut room =
        Room { lines: MOST_LINES.saturating_sub(own_lines), bytes: MOST_BYTES.saturating_sub(own) };
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    for (project, line) in &existing.pinned {
        // Pinned means pinned: it takes its room first, and is there even where there is none.
        room.take(&mut sections, project, line.clone(), true);
    }
    let mut left_out = 0;
    for one in landmarks {
        let line = line(one);
        let shown_already = existing.pinned.iter().any(|(_, pinned)| {
            one.cores.iter().any(|(_, id)| leads_to(pinned).iter().any(|(_, known)| known == id))
        });
        let project = one.landmark.project.as_deref().unwrap_or(OTHER);
        if !shown_already && !room.take(&mut sections, project, line, false) {
            left_out += 1;
        }
    }
    let mut ours = format!("{BEGIN}\n");
    for (project, lines) in &sections {
        ours.push_str(&format!("\n## {project}\n"));
        lines.iter().for_each(|line| ours.push_str(&format!("{line}\n")));
    }
    if sections.is_empty() {
        ours.push_str(&format!("{NOTHING_YET}\n"));
    }
    ours.push_str(END);
    (format!("{}{ours}{}", existing.before, existing.after), left_out)
}

/// A landmark as it stands there: the sentence, what it is, and the way to its core.
fn line(one: &Merged) -> String {
    let landmark = &one.landmark;
    let count = format!("{} session{}", one.sessions, if one.sessions == 1 { "" } else { "s" });
    let (core, id) = one
        .cores
        .iter()
        .find(|(_, id)| *id == landmark.id)
        .or(one.cores.first())
        .expect("a landmark stands in some core");
    let pin = if landmark.pinned { format!(" {PIN}") } else { String::new() };
    let target = format!("{}#^{id}", layout::core_name(core));
    format!("- {} ([{}, {count}]({target})){pin}", inline(&landmark.text), landmark.kind)
}

/// What is left of the page.
struct Room {
    lines: usize,
    bytes: usize,
}

impl Room {
    /// Puts a line into its section, if it fits or has to.
    fn take(
        &mut self,
        sections: &mut Vec<(String, Vec<String>)>,
        project: &str,
        line: String,
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
            Some(at) => sections[at].1.push(line),
            None => sections.push((project.to_string(), vec![line])),
        }
        true
    }
}
