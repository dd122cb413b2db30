//! A path of the memory tool: `/memories/notes/plan.md`, as an agent writes it, made of plain
//! names.

use crate::base::files;

/// Where all of them begin.
pub const ROOT: &str = "/memories";
/// How deep folders lie within each other at most, and how long a name is, in bytes.
const DEEPEST: usize = 8;
const LONGEST_NAME: usize = 120;

/// A path below [`ROOT`], without its leading part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryPath {
    names: Vec<String>,
}

/// Why something is no such path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// It begins elsewhere.
    Elsewhere,
    /// It would lead out.
    Escapes,
}

impl MemoryPath {
    /// Reads a path. No name of it leads up, hides a second name in it, or is no text.
    pub fn parse(path: &str) -> Result<MemoryPath, Unfit> {
        let rest = path.strip_prefix(ROOT).ok_or(Unfit::Elsewhere)?;
        if !rest.is_empty() && !rest.starts_with('/') {
            return Err(Unfit::Elsewhere);
        }
        let names = rest.split('/').filter(|name| !matches!(*name, "" | "."));
        let names: Vec<String> = names.map(str::to_string).collect();
        let leads_out = |name: &String| name == ".." || name.contains(['\\', '\0']);
        match names.iter().any(leads_out) {
            true => Err(Unfit::Escapes),
            false => Ok(MemoryPath { names }),
        }
    }

    /// Its names, from the outermost folder on.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub fn is_root(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether one of its names is hidden: nothing of ours is, but git's and editors' files are.
    pub fn is_hidden(&self) -> bool {
        self.names.iter().any(|name| name.starts_with('.'))
    }

    /// Whether something new may have this name, on every system: letters, digits, spaces, `.`, `_`
    /// and `-`.
    pub fn is_fit_for_new(&self) -> bool {
        let fits = |name: &String| {
            let solid = name.replace(' ', "_");
            files::safe_name(&solid, LONGEST_NAME) == solid && name.trim() == name
        };
        (1..=DEEPEST).contains(&self.names.len()) && self.names.iter().all(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_below_the_root_are_paths() {
        for (path, names) in [
            ("/memories", &[][..]),
            ("/memories/", &[]),
            ("/memories/a.md", &["a.md"]),
            ("/memories//a/./b c.txt", &["a", "b c.txt"]),
            ("/memories/..a", &["..a"]),
        ] {
            assert_eq!(MemoryPath::parse(path).unwrap().names(), names, "{path}");
        }
        for path in ["", "/", "memories/a", "/memoriesx", "/etc/passwd", "C:\\memories"] {
            assert_eq!(MemoryPath::parse(path), Err(Unfit::Elsewhere), "{path}");
        }
        for path in ["/memories/..", "/memories/a/../../b", "/memories/a\\..\\b", "/memories/a\0"] {
            assert_eq!(MemoryPath::parse(path), Err(Unfit::Escapes), "{path}");
        }
    }

    #[test]
    fn new_names_are_names_on_every_system() {
        let is_fit = |path: &str| MemoryPath::parse(path).unwrap().is_fit_for_new();
        for path in ["/memories/a.md", "/memories/my notes/plan_2-b.txt", "/memories/日記.md"] {
            assert!(is_fit(path), "{path}");
        }
        for path in [
            "/memories",
            "/memories/.gitattributes",
            "/memories/a/.git/config",
            "/memories/con",
            "/memories/a:b",
            "/memories/a\nb",
            "/memories/ a",
            "/memories/a.",
            "/memories/-rf",
            "/memories/1/2/3/4/5/6/7/8/9",
            "/memories/\u{202e}gpj.exe",
        ] {
            assert!(!is_fit(path), "{path}");
        }
        assert!(!is_fit(&format!("/memories/{}", "x".repeat(200))));
    }
}
