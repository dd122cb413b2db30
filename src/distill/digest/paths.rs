//! Paths as a page shows them: relative to the session's folder, without the name of a home
//! directory, and as the name of a project.

use crate::base::static_regex::StaticRegex;
use crate::base::text;

/// A path as a page shows it: relative to the session's folder where it lies in it, with `/` on
/// every system.
pub fn shown_path(path: &str, cwd: Option<&str>) -> String {
    let mut path = slashed(&text::one_line(path, 200));
    // A folder that was found around the log is kept without the name of the home directory.
    if cwd.is_some_and(|cwd| cwd.starts_with("~/")) {
        path = without_home(&path);
    }
    let relative = cwd.map(slashed).and_then(|cwd| {
        let cwd = cwd.trim_end_matches('/');
        let start = path.get(..cwd.len())?;
        // Windows does not tell the case of names apart.
        let inside = start == cwd || (is_windows(cwd) && start.eq_ignore_ascii_case(cwd));
        path[cwd.len()..].strip_prefix('/').filter(|_| inside).map(str::to_string)
    });
    without_home(&relative.unwrap_or(path))
}

/// Whether a file is a temporary one, which nobody looks for later; a session may work in such a
/// folder.
pub fn is_temporary(path: &str, cwd: Option<&str>) -> bool {
    const PLACES: &[&str] = &["/tmp/", "/private/tmp/", "/var/folders/", "/private/var/folders/"];
    let path = slashed(path);
    let is_temporary = |path: &str| {
        PLACES.iter().any(|place| path.starts_with(place))
            || path.to_lowercase().contains("/appdata/local/temp/")
    };
    is_temporary(&path) && !cwd.is_some_and(|cwd| is_temporary(&format!("{}/", slashed(cwd))))
}

/// A path of Windows with `/`; in others a backslash is a letter like any other.
fn slashed(path: &str) -> String {
    if is_windows(path) { path.replace('\\', "/") } else { path.to_string() }
}

fn is_windows(path: &str) -> bool {
    let drive =
        matches!(path.as_bytes(), [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    drive || path.starts_with("\\\\") || (path.contains('\\') && !path.contains('/'))
}

/// What a project is called: by its git remote or its folder, so that worktrees agree.
pub fn project_name(remote: Option<&str>, cwd: Option<&str>) -> Option<String> {
    let from_remote = remote.and_then(|remote| {
        let name =
            remote.trim_end_matches('/').trim_end_matches(".git").rsplit(['/', ':']).next()?;
        is_name(name).then(|| name.to_string())
    });
    let name = from_remote.or_else(|| {
        let cwd = cwd?.replace('\\', "/");
        let mut folder = cwd.trim_end_matches('/');
        for mark in ["/.claude/worktrees/", "/.worktrees/", "/worktrees/", "/.git/"] {
            if let Some((before, _)) = folder.split_once(mark) {
                folder = before;
            }
        }
        // `tide__worktrees/lock` and `tide.worktrees/lock` lie beside `tide`.
        static BESIDE: StaticRegex = StaticRegex::new(r"(?i)^(.+/[^/]*[^/_.-])[_.-]+worktrees?/");
        let beside = BESIDE.captures(folder).and_then(|found| found.get(1));
        let folder = beside.map_or(folder, |found| found.as_str());
        folder.rsplit('/').next().map(|name| undated(name).to_string())
    })?;
    Some(text::one_line(&name, 80)).filter(|name| is_name(name))
}

fn is_name(name: &str) -> bool {
    name.contains(char::is_alphanumeric)
}

/// A folder's name without the day on which it was made: `20260205-cli` is `cli`. A year alone is
/// part of the name.
fn undated(name: &str) -> &str {
    static DAY: StaticRegex = StaticRegex::new(r"^20\d{2}-?[01]\d-?[0-3]\d[-_ ]+");
    let rest = DAY.find(name).map_or(name, |day| &name[day.end()..]);
    if is_name(rest) { rest } else { name }
}

/// A path with the home directory as `~`: its name is private.
pub fn without_home(path: &str) -> String {
    let path = slashed(path);
    // `C:/Users/me`, and as shells of Windows write it, `/c/Users/me`.
    let below_drive = match path.as_bytes() {
        [_, b':', b'/', ..] => &path[2..],
        [b'/', drive, b'/', b'U', b's', ..] if drive.is_ascii_alphabetic() => &path[2..],
        _ => &path,
    };
    for homes in ["/home/", "/Users/"] {
        if let Some(rest) = below_drive.strip_prefix(homes) {
            return match rest.split_once('/') {
                Some((_, below)) => format!("~/{below}"),
                None => "~".into(),
            };
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_from_the_sessions_folder_on_every_system() {
        for (path, cwd, shown) in [
            ("/home/me/code/x/src/a.rs", "/home/me/code/x", "src/a.rs"),
            (r"C:\Users\me\code\x\src\a.rs", r"C:\Users\me\code\x", "src/a.rs"),
            (r"c:\users\me\code\x\src\a.rs", r"C:\Users\me\code\x\", "src/a.rs"),
            (r"C:\Users\me\other\a.rs", r"C:\Users\me\code\x", "~/other/a.rs"),
            (r"src\a.rs", r"C:\Users\me\code\x", "src/a.rs"),
            ("/home/me/code/xy/a.rs", "/home/me/code/x", "~/code/xy/a.rs"),
            ("/srv/a b/ü.rs", "/srv/a b", "ü.rs"),
            ("/home/me/code/x/src/a.rs", "~/code/x", "src/a.rs"),
        ] {
            assert_eq!(shown_path(path, Some(cwd)), shown, "{path}");
        }
    }

    #[test]
    fn a_project_is_called_by_its_remote_or_by_its_folder() {
        for (remote, cwd, name) in [
            (Some("https://github.com/.git"), Some("/home/me/tide"), Some("tide")),
            (Some("https://github.com/..git"), Some("/home/me/tide"), Some("tide")),
            (Some("git@example.com:me/tide.git"), Some("/x"), Some("tide")),
            (None, Some("/code/tide__worktrees/fix-lock"), Some("tide")),
            (None, Some("/code/tide.worktrees/fix-lock/src"), Some("tide")),
            (None, Some("/code/tide/.worktrees/fix-lock"), Some("tide")),
            (None, Some("/code/20260205-tide"), Some("tide")),
            (None, Some("/code/2026-02-05_tide"), Some("tide")),
            (None, Some("/code/2026-notes"), Some("2026-notes")),
            (None, Some("/code/20260205"), Some("20260205")),
            (None, Some("/code/tide-worktrees"), Some("tide-worktrees")),
            (None, Some("/"), None),
        ] {
            assert_eq!(project_name(remote, cwd).as_deref(), name, "{remote:?} {cwd:?}");
        }
    }

    #[test]
    fn temporary_files_are_told_apart() {
        assert!(is_temporary("/tmp/x.py", Some("/home/me/x")));
        assert!(is_temporary(r"C:\Users\me\AppData\Local\Temp\x.py", None));
        assert!(!is_temporary("/tmp/work/x.py", Some("/tmp/work")));
        assert!(!is_temporary("/home/me/tmp/x.py", None));
    }
}
