//! Paths as a page shows them: relative to the session's folder, without the name of a home directory,
//! and as the name of a project.

use crate::base::text;

/// A path as a page shows it: relative to the session's folder where it lies in it.
pub fn shown_path(path: &str, cwd: Option<&str>) -> String {
    let path = text::one_line(path, 200);
    let relative =
        cwd.and_then(|cwd| path.strip_prefix(cwd)?.strip_prefix('/').map(str::to_string));
    without_home(&relative.unwrap_or(path))
}

/// What a project is called: by its git remote or its folder, so that worktrees agree.
pub fn project_name(remote: Option<&str>, cwd: Option<&str>) -> Option<String> {
    let from_remote = remote.and_then(|remote| {
        let name =
            remote.trim_end_matches('/').trim_end_matches(".git").rsplit(['/', ':']).next()?;
        (!name.is_empty()).then(|| name.to_string())
    });
    let name = from_remote.or_else(|| {
        let cwd = cwd?.replace('\\', "/");
        let mut folder = cwd.trim_end_matches('/');
        for mark in ["/.claude/worktrees/", "/.worktrees/", "/worktrees/", "/.git/"] {
            if let Some((before, _)) = folder.split_once(mark) {
                folder = before;
            }
        }
        folder.rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_string)
    })?;
    Some(text::one_line(&name, 80)).filter(|name| !name.is_empty() && name != "." && name != "..")
}

/// A path with the home directory as `~`: its name is private.
pub fn without_home(path: &str) -> String {
    for homes in ["/home/", "/Users/"] {
        if let Some(rest) = path.strip_prefix(homes) {
            return match rest.split_once('/') {
                Some((_, below)) => format!("~/{below}"),
                None => "~".into(),
            };
        }
    }
    path.to_string()
}
