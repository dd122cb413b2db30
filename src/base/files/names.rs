//! A name that somebody else chose, made safe to be part of a path of ours.
//!
//! [`safe_name`] makes one component out of any text; [`safe_relative`] lets a path through only if
//! it stays below the folder it is put in.

use std::path::{Component, Path, PathBuf};

use super::sha256_hex;

/// Makes a single path component out of text that somebody else chose.
///
/// Letters, digits, `.`, `_` and `-` stay, all else becomes `-`; no hidden, empty or reserved name
/// comes out. A name that had to be changed or cut ends in a hash of the original, so that
/// different texts get different names. `max_bytes` counts as at least 16.
pub fn safe_name(untrusted: &str, max_bytes: usize) -> String {
    const HASH_BYTES: usize = 8;
    let mut name = String::with_capacity(untrusted.len().min(256));
    for character in untrusted.chars() {
        if character.is_alphanumeric() || matches!(character, '.' | '_' | '-') {
            name.push(character);
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    let mut name = name.trim_start_matches(['.', '-']).trim_end_matches('.').to_owned();
    if is_reserved(&name) {
        name.insert(0, '_');
    }
    let max_bytes = max_bytes.max(16);
    if !name.is_empty() && name == untrusted && name.len() <= max_bytes {
        return name;
    }
    let mut end = name.len().min(max_bytes - HASH_BYTES - 1);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    let stem = match name[..end].trim_end_matches(['.', '-']) {
        "" => "unnamed",
        stem => stem,
    };
    format!("{stem}-{}", &sha256_hex(untrusted.as_bytes())[..HASH_BYTES])
}

/// Returns whether Windows takes a name for a device, with or without an extension.
fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().to_ascii_uppercase();
    let numbered = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    let mut number = numbered.unwrap_or_default().chars();
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL")
        || matches!((number.next(), number.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
}

/// Returns a relative path that stays where it is put: plain names only, without control
/// characters.
pub fn safe_relative(path: &Path) -> Option<PathBuf> {
    let mut safe = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) if !name.to_string_lossy().contains(char::is_control) => {
                safe.push(name)
            }
            _ => return None,
        }
    }
    (!safe.as_os_str().is_empty()).then_some(safe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn safe_names() {
        let check = |untrusted: &str, expect: &str| {
            let name = safe_name(untrusted, 40);
            match expect.strip_suffix('#') {
                Some(stem) => {
                    assert_eq!(name, format!("{stem}{}", &sha256_hex(untrusted.as_bytes())[..8]))
                }
                None => assert_eq!(name, expect),
            }
        };
        check("rollout-2026_11.jsonl", "rollout-2026_11.jsonl");
        check("日記-é1", "日記-é1");
        check("a--b", "a--b");
        check("", "unnamed-#");
        check(".", "unnamed-#");
        check("..", "unnamed-#");
        check("/", "unnamed-#");
        check("../../etc/passwd", "etc-passwd-#");
        check("..\\..\\boot.ini", "boot.ini-#");
        check("/home/me/code", "home-me-code-#");
        check("-home-me-code", "home-me-code-#");
        check(".hidden", "hidden-#");
        check("a b\n\u{7}\0c", "a-b-c-#");
        check("c:d", "c-d-#");
        check("trailing...", "trailing-#");
        check("trailing ", "trailing-#");
        check("\u{202e}gpj.exe", "gpj.exe-#");
        check("👍", "unnamed-#");
        check("con", "_con-#");
        check("NUL.txt", "_NUL.txt-#");
        check("com1", "_com1-#");
        check("LPT¹", "_LPT¹-#");
        check("com10", "com10");
        check("console", "console");
        check(&"x".repeat(40), &"x".repeat(40));
        check(&"x".repeat(41), &format!("{}-#", "x".repeat(31)));
        check(&"é".repeat(21), &format!("{}-#", "é".repeat(15)));
        assert_ne!(safe_name("a/b", 40), safe_name("a:b", 40));
        assert_eq!(safe_name("a long name indeed", 0).len(), 15);
    }

    #[test]
    fn safe_relatives() {
        let check = |path: &str, expect: Option<&str>| {
            assert_eq!(
                safe_relative(Path::new(path)).as_deref(),
                expect.map(Path::new),
                "{path:?}"
            );
        };
        check("a", Some("a"));
        check("a/b c/é.md", Some("a/b c/é.md"));
        check("a//b/./c/", Some("a/b/c"));
        check("", None);
        check(".", None);
        check("./a", None);
        check("/a", None);
        check("..", None);
        check("a/../b", None);
        check("a/b\n", None);
        check("a\u{1b}[2J/b", None);
    }

    proptest! {
        #[test]
        fn a_safe_name_is_one_harmless_component(text in "\\PC{0,60}|[./\\\\ \u{0}-\u{1f}a-c-]{0,30}", max in 0_usize..80) {
            let name = safe_name(&text, max);
            prop_assert!(name.len() <= max.max(16));
            prop_assert_eq!(safe_relative(Path::new(&name)), Some(PathBuf::from(&name)));
            prop_assert!(!name.starts_with(['.', '-']) && !name.ends_with('.') && !name.contains(['/', '\\', ':', ' ']));
            prop_assert_eq!(safe_name(&name, max), name);
        }
    }
}
