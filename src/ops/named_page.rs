//! A page that is no session's, named by its path as agents and search are given it:
//! `core/MEMORY.md`, or one line of it as `core/MEMORY.md:15`.

use std::path::Path;

use crate::base::files;
use crate::error::{Context, Error, Result};
use crate::store::Store;
use crate::store::layout;

/// A page, or a line of it, to show.
#[derive(Debug)]
pub struct NamedPage {
    /// Relative to the memory, with its line where one is meant.
    pub reference: String,
    pub path: String,
    pub text: String,
}

/// The page that a path names; none where the words are no path of a page. What looks like one and
/// is not there is an error: whoever names a page does not want another that is somehow like it.
pub fn named_page(store: &Store, what: &str) -> Result<Option<NamedPage>> {
    let layout = store.layout();
    let (name, line) = with_line(what);
    let within = Path::new(name).strip_prefix(layout.root()).unwrap_or(Path::new(name));
    let Some(relative) = files::safe_relative(within).map(|path| layout.shown(&path)) else {
        return Ok(None);
    };
    let is_name = !name.contains(char::is_whitespace) && name.ends_with(".md");
    if !is_name || !layout::is_readable_page(&relative) {
        return Ok(None);
    }
    let missing = || Error::not_found(format!("there is no page `{relative}`"));
    let Some(path) = layout.of_page(&relative) else { return Err(missing()) };
    let read = files::if_exists(files::read_to_string(&path));
    let text = read.context(|| format!("cannot read `{relative}`"))?.ok_or_else(missing)?;
    let Some(line) = line else {
        return Ok(Some(NamedPage { reference: relative.clone(), path: relative, text }));
    };
    let text = the_line(&text, line).ok_or_else(|| {
        let lines = text.lines().count();
        Error::not_found(format!("`{relative}` has no line {line}"))
            .because(format!("it has {lines}"))
    })?;
    let reference = format!("{relative}:{line}");
    let text = format!("{text}\n`memtree blame {reference}` leads to the sessions behind it.\n");
    Ok(Some(NamedPage { reference, path: relative, text }))
}

/// A path, and the line that is named behind it.
fn with_line(what: &str) -> (&str, Option<usize>) {
    let parts = what.rsplit_once(':').and_then(|(name, line)| Some((name, line.parse().ok()?)));
    parts.map_or((what, None), |(name, line)| (name, Some(line)))
}

/// A line, with the heading that it stands under.
fn the_line(text: &str, number: usize) -> Option<String> {
    let above: Vec<&str> = text.lines().take(number).collect();
    let line = above.last().filter(|_| above.len() == number)?;
    let heading = above.iter().rev().skip(1).find(|line| line.starts_with('#'));
    Some(heading.into_iter().chain([line]).map(|line| format!("{line}\n")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_shown_with_its_heading() {
        let page = "# Memory\n\n## boats\n- paint in May\n- sail in June\n";
        assert_eq!(the_line(page, 5).as_deref(), Some("## boats\n- sail in June\n"));
        assert_eq!(the_line(page, 1).as_deref(), Some("# Memory\n"));
        assert_eq!((the_line(page, 0), the_line(page, 6)), (None, None));
        assert_eq!(with_line("core/MEMORY.md:15"), ("core/MEMORY.md", Some(15)));
        assert_eq!(with_line("core/MEMORY.md"), ("core/MEMORY.md", None));
    }
}
