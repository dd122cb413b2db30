//! Which logs and folders a memory takes in, as its settings say, and with which values.

use std::path::PathBuf;

use chrono::Duration;

use crate::adapters::{self, eventlog};
use crate::base::files;
use crate::capture::folder::Folder;
use crate::capture::sources::{Root, Selection};
use crate::capture::{CaptureSettings, PageSettings};
use crate::error::{Context, Error, Result};
use crate::memory::Memory;

impl Memory {
    /// The settings that name an agent that nobody knows.
    pub fn unknown_agents(&self) -> Vec<&str> {
        let sources = self.settings().sources.iter();
        let unused = sources.filter(|(_, setting)| !setting.enabled || setting.root.is_none());
        let names = unused.map(|(name, _)| name.as_str());
        names.filter(|name| adapters::named(name).is_none()).collect()
    }

    /// The folders that the settings name.
    pub(crate) fn folders(&self) -> Vec<Folder> {
        let folders = self.settings().folders.iter().map(|folder| Folder {
            path: self.environment().expand(&folder.path),
            objective: folder.objective.clone(),
            idle: Duration::minutes(folder.idle_minutes.into()),
        });
        folders.collect()
    }

    /// A selection with places to look in: its own, or else those of the settings.
    pub(crate) fn resolved(&self, selection: &Selection) -> Result<Selection> {
        let mut selection = selection.clone();
        if selection.roots.is_empty() {
            selection.roots = self.roots()?;
        }
        Ok(selection)
    }

    /// Where the agents of this machine keep their logs.
    fn roots(&self) -> Result<Vec<Root>> {
        let (settings, environment) = (self.settings(), self.environment());
        let mut roots = Vec::new();
        for adapter in adapters::ALL {
            let setting = settings.sources.get(adapter.name());
            if setting.is_none_or(|setting| setting.enabled && setting.root.is_none()) {
                roots.extend(adapter.roots(&environment.places).into_iter().map(Root::usual));
            }
        }
        for (name, setting) in &settings.sources {
            let (true, Some(root)) = (setting.enabled, &setting.root) else { continue };
            let glob = setting.glob.as_deref().map(glob::Pattern::new).transpose();
            let glob = glob.map_err(|err| {
                Error::new(format!("cannot use the setting `sources.{name}.glob`")).because(err)
            })?;
            roots.push(Root { path: environment.expand(root), glob, named: false });
        }
        roots.extend(self.old_event_logs()?.into_iter().map(Root::usual));
        Ok(roots)
    }

    /// The event logs that an older tool left in the memory. Those of our own sessions have nothing
    /// new.
    fn old_event_logs(&self) -> Result<Vec<PathBuf>> {
        let setting = self.settings().sources.get(eventlog::NAME);
        if setting.is_some_and(|setting| !setting.enabled)
            || !files::is_file(self.layout().settings())
        {
            return Ok(Vec::new());
        }
        let logs = self.store().event_logs();
        let logs =
            logs.context(|| format!("cannot look into the memory `{}`", self.root().display()))?;
        Ok(logs.into_iter().filter(|log| log.session.is_none()).map(|log| log.path).collect())
    }

    /// What capturing needs to know of this memory.
    pub(crate) fn capture_settings(&self) -> Result<CaptureSettings<'_>> {
        Ok(CaptureSettings {
            store: self.store(),
            device: self.device(),
            now: self.now(),
            zone: self.zone()?,
            open_for: self.open_for(),
            event_logs: self.settings().sessions.jsonl_log,
            trust: self.trust(),
            pages: PageSettings {
                cleaner: self.cleaner()?,
                inline_lines: self.settings().snapshot.inline_lines,
                exclude: self.exclude(),
                held_back: self.held_back(),
                domains: &self.settings().domains,
                zone: self.zone()?,
            },
        })
    }
}
