//! Whether what a digest says still holds: its evidence against the files and commits that are
//! there now.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::base::files;
use crate::base::git::{History, Repository};
use crate::base::text;
use crate::model::digest::Digest;
use crate::model::evidence::{Evidence, FileState, Proof};
use crate::model::ids::EpisodeId;

/// How long a file may be whose content is compared.
const LONGEST_FILE: u64 = 1 << 20;
/// How many commits of a history are read, and how many in a hook, which has little time.
const COMMITS: usize = 20_000;
const COMMITS_IN_A_HURRY: usize = 500;

/// Compares evidence with the files and commits that are there now.
pub struct EvidenceChecker {
    home: PathBuf,
    /// The repository in which the agent works, and what its project is called.
    here: Option<(Repository, Vec<String>)>,
    most_commits: usize,
    histories: RefCell<HashMap<PathBuf, Option<History>>>,
    checked: RefCell<HashMap<String, Option<String>>>,
}

impl EvidenceChecker {
    /// Looks from the folder in which an agent works.
    pub fn new(folder: &Path, home: &Path, projects: &[String], hurried: bool) -> EvidenceChecker {
        EvidenceChecker {
            home: home.to_path_buf(),
            here: Repository::containing(folder).map(|repository| (repository, projects.to_vec())),
            most_commits: if hurried { COMMITS_IN_A_HURRY } else { COMMITS },
            histories: RefCell::default(),
            checked: RefCell::default(),
        }
    }

    /// Why an episode of a session may no longer hold; `None` where it does, or where that
    /// is not known.
    pub fn stale_reason(&self, digest: &Digest, episode: EpisodeId) -> Option<String> {
        let folder = self.folder_of(digest)?;
        let own = digest.content.evidence.iter().filter(|evidence| evidence.episode == episode);
        own.into_iter().find_map(|evidence| self.check(evidence, &folder))
    }

    /// Where the session worked, on this machine: in its own folder, or in this one if that is the
    /// same project.
    fn folder_of(&self, digest: &Digest) -> Option<PathBuf> {
        let own = digest
            .content
            .cwd
            .as_deref()
            .map(|cwd| self.absolute(cwd))
            .filter(|folder| files::is_dir(folder));
        own.or_else(|| {
            let (repository, projects) = self.here.as_ref()?;
            let project = digest.content.project.as_deref()?;
            projects
                .iter()
                .any(|name| name.eq_ignore_ascii_case(project))
                .then(|| repository.root.clone())
        })
    }

    fn absolute(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(below) => self.home.join(below),
            None if path == "~" => self.home.clone(),
            None => PathBuf::from(path),
        }
    }

    fn check(&self, evidence: &Evidence, folder: &Path) -> Option<String> {
        let key = format!(
            "{} {}",
            folder.display(),
            evidence.to_string().split_once(' ').map_or("", |(_, proof)| proof)
        );
        if let Some(known) = self.checked.borrow().get(&key) {
            return known.clone();
        }
        let reason = match &evidence.proof {
            Proof::File { path, state } => self.check_file(folder, path, state),
            Proof::Commit(hash) => self.check_commit(folder, hash),
        };
        self.checked.borrow_mut().insert(key, reason.clone());
        reason
    }

    fn check_file(&self, folder: &Path, path: &str, state: &FileState) -> Option<String> {
        let file = match path.starts_with(['~', '/']) {
            true => self.absolute(path),
            false => folder.join(path),
        };
        let name = text::one_line(path, 80);
        let there = files::metadata(&file).ok().filter(|metadata| metadata.is_file());
        match (state, there) {
            (FileState::Deleted, Some(_)) => Some(format!("{name} is there again")),
            (FileState::Deleted, None) => None,
            (_, None) => Some(format!("{name} is gone")),
            (FileState::Sha256(digits), Some(metadata)) if metadata.len() <= LONGEST_FILE => {
                let mut bytes = Vec::new();
                files::open(&file).ok()?.take(LONGEST_FILE).read_to_end(&mut bytes).ok()?;
                // As the evidence was taken: line ends make no difference.
                let same = if bytes.contains(&b'\r') {
                    String::from_utf8_lossy(&bytes).replace("\r\n", "\n").into_bytes()
                } else {
                    bytes
                };
                let changed = !files::sha256_hex(&same).starts_with(digits.as_str());
                changed.then(|| format!("{name} has changed since"))
            }
            _ => None,
        }
    }

    fn check_commit(&self, folder: &Path, hash: &str) -> Option<String> {
        let repository = Repository::containing(folder)?;
        let mut histories = self.histories.borrow_mut();
        let history = histories
            .entry(repository.root.clone())
            .or_insert_with(|| Some(repository.history(self.most_commits)))
            .as_mut()?;
        match history.has(hash) {
            Some(false) => {
                Some(format!("commit {} is not in the history", text::one_line(hash, 12)))
            }
            _ => None,
        }
    }
}
