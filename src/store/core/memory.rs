//! MEMORY.md: the page that an agent always loads.
//!
//! What memtree writes stands between two marks; everything outside of them is a person's and stays
//! as it is. Within them, a line that ends in 📌 stays.

use crate::base::markdown::inline;
use crate::model::core::{LandmarkId, Merged};
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
pub fn text(existing: &PersonsPart, landmarks: &[Merged]) -> (String, usize) {
    let own = existing.before.len() + existing.after.len() + BEGIN.len() + END.len() + 2;
    let own_lines = existing.before.lines().count() + existing.after.lines().count() + 2;
    let mut left = SpaceLeft {
        lines: MOST_LINES.saturating_sub(own_lines),
        bytes: MOST_BYTES.saturating_sub(own),
    };
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    for (project, line) in &existing.pinned {
        // Pinned means pinned: it comes first, and is there even where there is no space.
        left.take(&mut sections, project, line.clone(), true);
    }
    let mut left_out = 0;
    for one in landmarks {
        let line = line(one);
        let shown_already = existing.pinned.iter().any(|(_, pinned)| {
            one.cores.iter().any(|(_, id)| leads_to(pinned).iter().any(|(_, known)| known == id))
        });
        let project = one.landmark.project.as_deref().unwrap_or(OTHER);
        if !shown_already && !left.take(&mut sections, project, line, false) {
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

/// How much more the page may hold.
struct SpaceLeft {
    lines: usize,
    bytes: usize,
}

impl SpaceLeft {
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
