//! Pointers of Git LFS: what a clone has of a file that was not fetched, by the file's own hash.

use std::io::Read;
use std::path::Path;

use crate::base::files;

/// What stands for a file that is elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LfsPointer {
    pub sha256: String,
    pub bytes: u64,
}

/// How every pointer begins.
const BEGINS: &str = "version https://git-lfs.github.com/spec/v1\n";
/// A pointer is shorter than this, by its specification.
const LONGEST: u64 = 1024;

impl LfsPointer {
    /// The pointer that lies at a path; `None` where the file itself is there.
    pub fn at(path: &Path) -> Option<LfsPointer> {
        if files::metadata(path).ok()?.len() >= LONGEST {
            return None;
        }
        let mut text = String::new();
        files::open(path).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
        LfsPointer::parse(&text)
    }

    fn parse(text: &str) -> Option<LfsPointer> {
        let lines = text.strip_prefix(BEGINS)?.lines();
        let value = |key: &str| lines.clone().find_map(|line| line.strip_prefix(key));
        let sha256 = value("oid sha256:")?;
        let is_hash = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bytes = value("size ")?.parse().ok()?;
        is_hash.then(|| LfsPointer { sha256: sha256.to_string(), bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_told_from_a_log() {
        let hash = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
        let text = format!("{BEGINS}oid sha256:{hash}\nsize 12345\n");
        let pointer = LfsPointer::parse(&text).unwrap();
        assert_eq!((pointer.sha256.as_str(), pointer.bytes), (hash, 12345));
        for other in ["", "{\"type\":\"user\"}\n", BEGINS, &text[..text.len() - 12]] {
            assert_eq!(LfsPointer::parse(other), None, "{other}");
        }
    }
}
