//! Team: other people's memories, read beside one's own and never as one's own words.
//!
//! They lie in folders of this machine, are fetched from addresses, or are the folders of the
//! team's repository; only the person's own settings name them. They are searched where somebody
//! asks for it, and nothing of them gets into a page of this memory or into what an agent is given.

mod exchange;
mod leave;
mod publish;
mod search;

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::base::files;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::model::ids::Person;
use crate::store::Store;
use crate::store::layout::Layout;
use crate::store::local::StateFile;

pub use exchange::{TeamSyncReport, TeamSyncRequest};
pub use leave::{LeaveReport, Removal};

/// Somebody else's memory.
#[derive(Debug, Clone)]
struct Colleague {
    name: Person,
    root: PathBuf,
    place: Place,
}

/// Where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// A folder of this machine, which is theirs.
    Folder,
    /// An address that it is fetched from.
    Address(String),
    /// A folder of the team's repository.
    Repository,
}

impl Colleague {
    /// Their memory, for who only reads.
    fn store(&self, own: &Layout) -> Store {
        Store::of_other(&self.root, own.team_cache(&self.name, self.place == Place::Repository))
    }
}

/// What is still to be done in the team's repository.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct TeamState {
    /// Whose folders are to go from there.
    leaving: Vec<Person>,
    /// Who has left: what appears under their names there is not read any more.
    left: BTreeSet<Person>,
}

impl TeamState {
    fn file(layout: &Layout) -> StateFile<TeamState> {
        StateFile::local(layout.team_state())
    }
}

impl Memory {
    /// The person's own name in the team, where they have one.
    pub(super) fn own_name(&self) -> Result<Option<Person>> {
        let name = self.settings().team.name.as_str();
        let wrong = |why: String| Error::usage("cannot use the setting `team.name`").because(why);
        (!name.is_empty()).then(|| name.parse().map_err(wrong)).transpose()
    }

    /// Everybody whose memory the person's settings name, or who has a folder in the team's
    /// repository, as it was fetched last.
    fn colleagues(&self) -> Result<Vec<Colleague>> {
        let mut all = self.named_colleagues()?;
        if !self.settings().team.repository.is_empty() {
            let own = self.own_name()?;
            let left = TeamState::file(self.layout()).load().left;
            let folders = self.folders_of_people().into_iter().filter(|name| !left.contains(name));
            let others = folders.filter(|name| Some(name) != own.as_ref());
            all.extend(others.map(|name| Colleague {
                root: self.layout().team_folder(&name),
                place: Place::Repository,
                name,
            }));
        }
        Ok(all)
    }

    /// Those whom the settings name one by one.
    fn named_colleagues(&self) -> Result<Vec<Colleague>> {
        let people = self.settings().team.people.iter();
        let colleague = |(name, place): (&String, &String)| {
            let name: Person = name.parse().map_err(|why: String| {
                Error::usage(format!("cannot use the setting `team.people.{name}`")).because(why)
            })?;
            Ok(match is_address(place) {
                true => Colleague {
                    root: self.layout().fetched(&name),
                    place: Place::Address(place.clone()),
                    name,
                },
                false => {
                    let root = self.root().join(self.environment().expand(place));
                    Colleague { root, place: Place::Folder, name }
                }
            })
        };
        people.map(colleague).collect()
    }

    /// Who has a folder in the team's repository, in order. A link is no folder.
    fn folders_of_people(&self) -> Vec<Person> {
        let entries = files::read_dir(self.layout().team_repository());
        let mut names: Vec<Person> = entries
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        names.sort();
        names
    }
}

/// Whether a place is one that git has to fetch: `https://…`, `git@example.org:…`. A drive's letter
/// makes no address.
fn is_address(place: &str) -> bool {
    let host = place.split_once(':').map_or("", |(host, _)| host);
    place.contains("://") || (host.len() > 1 && !host.contains(['/', '\\']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_no_folder() {
        for address in ["https://example.org/a.git", "git@example.org:bo/memory.git", "host:a"] {
            assert!(is_address(address), "{address}");
        }
        for folder in ["~/memories/ana", "/srv/ana", "./a:b", "C:\\ana", "ana"] {
            assert!(!is_address(folder), "{folder}");
        }
    }
}
