//! Leaving: a person's memory goes from this device and from the team's repository. What git's
//! history still holds is said, with the commands that remove it, which the person runs.

use std::path::PathBuf;

use serde::Serialize;
use toml_edit::DocumentMut;

use super::{Place, TeamState};
use crate::base::files;
use crate::base::shell::quoted;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::ids::Person;
use crate::ops::own_settings;

/// What was done about a person who left.
#[derive(Debug, Serialize)]
pub struct LeaveReport {
    pub author: Person,
    /// How many of their sessions were here.
    pub sessions: usize,
    /// What was removed on this device, or would be.
    pub removed: Vec<PathBuf>,
    /// The file of the person's settings that named them.
    pub settings: Option<PathBuf>,
    /// Their own folder of this machine, which stays.
    pub stays: Option<PathBuf>,
    /// What became of their folder in the team's repository, where it was there.
    pub repository: Option<Removal>,
    /// Commands that remove them from its history.
    pub git: Vec<String>,
    pub dry_run: bool,
}

/// How far a removal from the team's repository has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Removal {
    Pushed,
    /// Why it waits for the next `sync --team`.
    Waits(String),
}

impl Memory {
    /// Removes a person who left, or says what would go.
    pub fn forget_author(&self, name: &str, dry_run: bool, may_ask: bool) -> Result<LeaveReport> {
        let author: Person = name.parse().map_err(|why: String| {
            Error::usage(format!("`{name}` is no name of a person")).because(why)
        })?;
        if self.own_name()?.as_ref() == Some(&author) && !self.settings().team.share.is_empty() {
            return Err(Error::usage("that is you, and `team.share` still names projects").hint(
                "empty `team.share`; then `memtree sync --team` takes back what you shared",
            ));
        }
        let _lock = self.lock_team()?;
        let layout = self.layout();
        let mut report = self.planned_leave(&author)?;
        report.dry_run = dry_run;
        if dry_run {
            return Ok(report);
        }
        let cannot = || self.store().cannot_write();
        let is_named = self.settings().team.people.contains_key(author.as_str());
        if is_named {
            let key = author.as_str();
            let changed = own_settings::change(self.environment(), |text| without(text, key))?;
            report.settings = changed.changed.then_some(changed.file);
        }
        let in_repository = report.repository.is_some();
        for folder in &report.removed {
            files::if_exists(files::remove_folder(folder)).context(cannot)?;
        }
        // It may name their pages.
        files::if_exists(files::remove_file(&layout.last_search())).context(cannot)?;
        let file = TeamState::file(layout);
        let mut state = file.load();
        if state.left.insert(author.clone()) {
            file.save(&state).context(cannot)?;
        }
        if in_repository {
            if !state.leaving.contains(&author) {
                state.leaving.push(author.clone());
            }
            file.save(&state).context(cannot)?;
            report.repository = Some(match self.exchange_with_team(may_ask)?.offline {
                None => Removal::Pushed,
                Some(why) => Removal::Waits(why),
            });
        }
        Ok(report)
    }

    /// Lets a person's folder in the team's repository be read again, where they had left; says
    /// whether they had.
    pub fn readmit_author(&self, name: &str) -> Result<bool> {
        let Ok(author) = name.parse::<Person>() else { return Ok(false) };
        let file = TeamState::file(self.layout());
        let mut state = file.load();
        let had_left = state.left.remove(&author);
        if had_left {
            state.leaving.retain(|name| *name != author);
            file.save(&state).context(|| self.store().cannot_write())?;
        }
        Ok(had_left)
    }

    fn planned_leave(&self, author: &Person) -> Result<LeaveReport> {
        let layout = self.layout();
        let mut report = LeaveReport {
            author: author.clone(),
            sessions: 0,
            removed: Vec::new(),
            settings: None,
            stays: None,
            repository: None,
            git: Vec::new(),
            dry_run: false,
        };
        let named = self.named_colleagues()?.into_iter().filter(|one| one.name == *author);
        let mut is_known = false;
        for one in named {
            is_known = true;
            report.sessions += one.store(layout).session_ids().unwrap_or_default().len();
            match one.place {
                Place::Address(_) => report.removed.push(one.root),
                _ => report.stays = Some(one.root),
            }
        }
        let folder = layout.team_folder(author);
        if !self.settings().team.repository.is_empty() && self.folders_of_people().contains(author)
        {
            is_known = true;
            let there = crate::store::Store::at(&folder);
            report.sessions += there.session_ids().unwrap_or_default().len();
            report.removed.push(folder);
            report.repository = Some(Removal::Waits("nothing was pushed yet".into()));
            report.git = history_commands(&self.team_address(), author);
        }
        if !is_known {
            return Err(Error::not_found(format!("nobody is called `{author}` here")).hint(
                "`memtree sync --team` shows who is; names are those of `[team.people]` and of the folders of the team's repository",
            ));
        }
        let caches = [false, true].map(|place| layout.team_cache(author, place));
        report.removed.extend(caches.into_iter().filter(|cache| files::is_dir(cache)));
        Ok(report)
    }
}

/// The settings without a person's line.
fn without(text: &str, name: &str) -> std::result::Result<(String, ()), String> {
    let mut document: DocumentMut = text.parse().map_err(|err| format!("{err}"))?;
    let people = document
        .get_mut("team")
        .and_then(|team| team.as_table_like_mut()?.get_mut("people")?.as_table_like_mut());
    if let Some(people) = people {
        people.remove(name);
    }
    Ok((document.to_string(), ()))
}

/// What removes a person's folder from every commit of a repository.
fn history_commands(address: &str, author: &Person) -> Vec<String> {
    let filter = quoted(&format!("git rm -r -q --cached --ignore-unmatch -- {author}"));
    vec![
        format!("git clone --mirror {} team-without-{author}", quoted(address)),
        format!("git -C team-without-{author} filter-branch --index-filter {filter} -- --all"),
        format!("git -C team-without-{author} push --force --all"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_their_line_goes() {
        let text =
            "# mine\n[team]\nname = \"me\"\n\n[team.people]\nana = \"a\" # here\nbo = \"b\"\n";
        let (left, ()) = without(text, "ana").unwrap();
        assert_eq!(left, "# mine\n[team]\nname = \"me\"\n\n[team.people]\nbo = \"b\"\n");
        assert_eq!(without("[team]\n", "ana").unwrap().0, "[team]\n");
        let inline = "team = { people = { ana = \"a\" } }\n";
        assert!(!without(inline, "ana").unwrap().0.contains("ana"));
    }
}
