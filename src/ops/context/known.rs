//! What is known: the lines of MEMORY.md that are of this project, or of all.

use super::days::{prose, read};
use super::page::Section;
use crate::store::Store;
use crate::store::core::memory as memory_page;

/// The heading above them.
pub const HEADING: &str = "What is known";

/// The page that an agent always loads, without what is of other projects.
pub fn known(store: &Store, projects: &[String]) -> Section {
    let path = store.layout().memory_page();
    let mut lines = Vec::new();
    if let Some(page) = read(&path) {
        let others = memory_page::of_other_projects(&page, projects);
        // The way to a core is for a person: `recall` and `blame` take the line's own source.
        let bare: Vec<&str> = page.lines().map(memory_page::without_link).collect();
        let source = store.layout().shown(&path);
        lines = prose(&bare.join("\n"), &source, |_, line| memory_page::is_knowledge(line));
        lines.retain(|line| {
            !others.iter().any(|number| line.source.ends_with(&format!(":{number}")))
        });
        // The page is of this project: its name before every line says nothing.
        for line in &mut lines {
            let prefix = projects
                .iter()
                .find_map(|project| line.text.strip_prefix(project.as_str())?.strip_prefix(": "));
            if let Some(rest) = prefix {
                line.text = rest.to_string();
            }
        }
    }
    Section { heading: HEADING.into(), lines, share: 30, last_first: false }
}
