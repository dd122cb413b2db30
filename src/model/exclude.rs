//! What a person wants to be left out: projects by name, folders by path.

use std::path::{Path, PathBuf};

/// Sessions that are never captured.
#[derive(Debug, Clone, Default)]
pub struct Exclude {
    /// As digests name them; case does not matter.
    pub projects: Vec<String>,
    /// Sessions that worked in or below one of these, and logs that lie there.
    pub folders: Vec<PathBuf>,
}

impl Exclude {
    /// Whether a session is left out, by its project or by the folder in which it worked.
    pub fn has_session(&self, project: Option<&str>, cwd: Option<&str>) -> bool {
        let named = |project: &str| {
            self.projects.iter().any(|one| one.to_lowercase() == project.to_lowercase())
        };
        project.is_some_and(named) || cwd.is_some_and(|cwd| self.has_path(Path::new(cwd)))
    }

    /// Whether a file or folder lies in a folder that is left out.
    pub fn has_path(&self, path: &Path) -> bool {
        self.folders.iter().any(|folder| path.starts_with(folder))
    }

    /// All of it as one text, which changes when it does.
    pub fn key(&self) -> String {
        let folders = self.folders.iter().map(|folder| folder.to_string_lossy().into_owned());
        self.projects
            .iter()
            .cloned()
            .chain([String::new()])
            .chain(folders)
            .collect::<Vec<_>>()
            .join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_and_folders_are_left_out_and_their_neighbours_are_not() {
        let exclude =
            Exclude { projects: vec!["Acme".into()], folders: vec!["/home/ann/clients".into()] };
        for (project, cwd, out) in [
            (Some("acme"), None, true),
            (Some("acme-two"), Some("/home/ann/acme-two"), false),
            (None, Some("/home/ann/clients"), true),
            (None, Some("/home/ann/clients/big/src"), true),
            (None, Some("/home/ann/clients-not"), false),
            (None, None, false),
        ] {
            assert_eq!(exclude.has_session(project, cwd), out, "{project:?} {cwd:?}");
        }
        assert!(!Exclude::default().has_session(Some(""), Some("/")));
    }
}
