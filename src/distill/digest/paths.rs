//! Paths as a page shows them: relative to the session's folder, without the name of a home
//! directory, and as the name of a project.

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
    fn temporary_files_are_told_apart() {
        assert!(is_temporary("/tmp/x.py", Some("/home/me/x")));
        assert!(is_temporary(r"C:\Users\me\AppData\Local\Temp\x.py", None));
        assert!(!is_temporary("/tmp/work/x.py", Some("/tmp/work")));
        assert!(!is_temporary("/home/me/tmp/x.py", None));
    }
}
