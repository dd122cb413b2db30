//! Evidence: what a claim of a digest can be checked against later. A file with the hash of its
//! content, or a commit, each with the episode in which it happened.
//!
//! One line each, as it stands in the front matter: `EP_004 src/day.rs sha256:9c41a2b7`, `EP_004
//! tests/day.rs`, `EP_005 src/old.rs deleted`, `EP_006 commit 1f3c9e2`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::ids::EpisodeId;

/// Something that a claim rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The episode that tells of it.
    pub episode: EpisodeId,
    pub proof: Proof,
}

/// What can be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Proof {
    /// A file that was changed, and what is known of it afterwards.
    File { path: String, state: FileState },
    /// A commit that was made, by its hash as git printed it.
    Commit(String),
}

/// What is known of a file after a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileState {
    /// It was changed, but the log does not hold all of its content.
    #[default]
    Unknown,
    /// The SHA-256 of its content in hex, with line ends as `\n`; in a digest its first
    /// [`SHOWN_DIGITS`] digits.
    Sha256(String),
    /// It was deleted.
    Deleted,
}

/// So many digits of a content's hash stand in a digest: enough to tell that a file has changed
/// since.
pub const SHOWN_DIGITS: usize = 8;

const SHA256: &str = " sha256:";
const DELETED: &str = " deleted";
const COMMIT: &str = "commit ";

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.episode)?;
        match &self.proof {
            Proof::Commit(hash) => write!(f, "{COMMIT}{hash}"),
            Proof::File { path, state } => match state {
                FileState::Unknown => f.write_str(path),
                FileState::Sha256(digits) => {
                    write!(f, "{path}{SHA256}{}", digits.get(..SHOWN_DIGITS).unwrap_or(digits))
                }
                FileState::Deleted => write!(f, "{path}{DELETED}"),
            },
        }
    }
}

impl FromStr for Evidence {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let (episode, rest) =
            line.split_once(' ').ok_or_else(|| format!("`{line}` names no episode"))?;
        let is_hash =
            |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let commit = rest.strip_prefix(COMMIT).filter(|hash| is_hash(hash));
        let hashed = rest.rsplit_once(SHA256).filter(|(_, digits)| is_hash(digits));
        let file = |path: &str, state| Proof::File { path: path.to_string(), state };
        let proof = match (commit, hashed, rest.strip_suffix(DELETED)) {
            (Some(hash), _, _) => Proof::Commit(hash.to_string()),
            (_, Some((path, digits)), _) => file(path, FileState::Sha256(digits.to_string())),
            (_, _, Some(path)) => file(path, FileState::Deleted),
            _ => file(rest, FileState::Unknown),
        };
        Ok(Evidence { episode: episode.parse()?, proof })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_back_as_it_was_meant() {
        let lines = [
            "EP_004 src/day.rs sha256:9c41a2b7",
            "EP_004 a name with spaces.md",
            "EP_005 src/old.rs deleted",
            "EP_006 commit 1f3c9e2",
            "EP_006 commit message.txt",
        ];
        for line in lines {
            let evidence: Evidence = line.parse().unwrap();
            assert_eq!(evidence.to_string(), line, "{evidence:?}");
        }
        assert_eq!(
            "EP_006 commit 1f3c9e2".parse::<Evidence>().unwrap().proof,
            Proof::Commit("1f3c9e2".into())
        );
        assert!("src/day.rs".parse::<Evidence>().is_err());
    }
}
