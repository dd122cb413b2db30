//! Which logs a command looks at: the flags that `sweep` and `watch` share, and the request made of
//! them.

use chrono::Duration;

use super::App;
use super::retain::RetentionArgs;
use crate::adapters::{self, eventlog};
use crate::base::clock::Timestamp;
use crate::base::text;
use crate::distill::clean::Cleaner;
use crate::error::{Context, Error, Result};
use crate::models::Models;
use crate::ops::capture::Pages;
use crate::ops::folders::Folder;
use crate::ops::sweep::{Root, Sweep};
use crate::settings::{self, Settings};
use crate::store::Store;

#[derive(Debug, Default, clap::Args)]
pub struct SourceArgs {
    /// Look here instead; may be given more than once. The agent is told by the content of the
    /// files
    #[arg(long, value_name = "FLAVOR=PATH")]
    pub source: Vec<String>,
    /// Only sessions of this agent; may be given more than once
    #[arg(long, value_name = "FLAVOR")]
    only: Vec<String>,
    /// No sessions of this agent; may be given more than once
    #[arg(long, value_name = "FLAVOR")]
    except: Vec<String>,
}

impl SourceArgs {
    /// Refuses names that no agent has.
    pub fn check(&self) -> Result<()> {
        self.only.iter().chain(&self.except).try_for_each(|flavor| known_flavor(flavor))
    }

    /// The places that the flags name, or else those of the settings.
    pub fn roots(&self, config: &Settings, app: &App) -> Result<Vec<Root>> {
        if self.source.is_empty() {
            return own_roots(config, app);
        }
        self.source.iter().map(|source| named_root(source)).collect()
    }

    /// The folders that the settings name, unless the flags choose among logs.
    pub fn folders(&self, config: &Settings, app: &App) -> Vec<Folder> {
        if !self.source.is_empty() || !self.only.is_empty() {
            return Vec::new();
        }
        let folder = |folder: &settings::FolderSettings| Folder {
            path: app.environment.expand(&folder.path),
            objective: folder.objective.clone(),
            idle: Duration::minutes(folder.idle_minutes.into()),
        };
        config.folders.iter().map(folder).collect()
    }

    /// What to sweep, from the flags and the settings.
    pub fn request<'a>(
        &self,
        roots: Vec<Root>,
        config: &Settings,
        app: &App,
        now: Timestamp,
        models: &'a Models,
        progress: &'a (dyn Fn(usize, usize) + Sync),
    ) -> Result<Sweep<'a>> {
        Ok(Sweep {
            roots,
            only: self.only.clone(),
            except: self.except.clone(),
            domains: config.domains.clone(),
            device: app.environment.device.clone(),
            now,
            zone: config.zone()?,
            open_for: Duration::minutes(config.sessions.open_minutes.into()),
            pages: pages(config, app)?,
            limits: RetentionArgs::default().limits(config),
            folders: Vec::new(),
            finalize: Some("sweep"),
            event_logs: config.sessions.jsonl_log,
            models,
            progress,
        })
    }
}

/// How pages are written, as the settings say.
pub fn pages(config: &Settings, app: &App) -> Result<Pages> {
    Ok(Pages {
        cleaner: Cleaner::new(app.redactor(config)?, config.snapshot.sensory_bytes),
        inline_lines: config.snapshot.inline_lines,
        exclude: app.exclude(config),
    })
}

/// Warns of settings for agents that nobody knows.
pub fn warn_of_unknown_agents(config: &Settings, app: &App) {
    let is_used =
        |setting: &crate::settings::SourceSettings| setting.enabled && setting.root.is_some();
    for (name, _) in config.sources.iter().filter(|(_, setting)| !is_used(setting)) {
        if adapters::named(name).is_none() {
            app.note(format!(
                "warning: the setting `sources.{name}` names no agent that memtree knows"
            ));
        }
    }
}

/// Where the agents of this machine keep their logs, as the settings say.
fn own_roots(config: &Settings, app: &App) -> Result<Vec<Root>> {
    let mut roots = Vec::new();
    for adapter in adapters::ALL {
        let setting = config.sources.get(adapter.name());
        if setting.is_some_and(|setting| !setting.enabled || setting.root.is_some()) {
            continue;
        }
        let paths = adapter.roots(&app.environment.places);
        roots.extend(paths.into_iter().map(|path| Root { path, glob: None, named: false }));
    }
    for (name, setting) in &config.sources {
        let (true, Some(root)) = (setting.enabled, &setting.root) else { continue };
        let path = app.environment.expand(root);
        let glob = setting.glob.as_deref().map(glob::Pattern::new).transpose().map_err(|err| {
            Error::new(format!("cannot use the setting `sources.{name}.glob`")).because(err)
        })?;
        roots.push(Root { path, glob, named: false });
    }
    roots.extend(old_event_logs(config, app)?);
    Ok(roots)
}

/// The event logs that an older tool left in the memory. Those of our own sessions tell nothing
/// new.
fn old_event_logs(config: &Settings, app: &App) -> Result<Vec<Root>> {
    let enabled = config.sources.get(eventlog::NAME).is_none_or(|setting| setting.enabled);
    let Some(store) = Store::open(&app.root).ok().filter(|_| enabled) else {
        return Ok(Vec::new());
    };
    let logs = store
        .event_logs()
        .context(|| format!("cannot look into the memory `{}`", app.root.display()))?;
    let old = logs.into_iter().filter(|log| log.session.is_none());
    Ok(old.map(|log| Root { path: log.path, glob: None, named: false }).collect())
}

fn named_root(source: &str) -> Result<Root> {
    let (flavor, path) = source.split_once('=').ok_or_else(|| {
        Error::usage(format!("`--source {source}` has no `=`")).hint("write `--source claude=PATH`")
    })?;
    known_flavor(flavor)?;
    let path = std::path::absolute(path).context(|| format!("cannot find `{path}`"))?;
    Ok(Root { path, glob: None, named: true })
}

/// Refuses a name that no agent has.
pub fn known_flavor(flavor: &str) -> Result<()> {
    let mut names: Vec<&str> = adapters::ALL.iter().map(|adapter| adapter.name()).collect();
    names.sort_unstable();
    if names.contains(&flavor) {
        return Ok(());
    }
    let error = Error::usage(format!("unknown agent `{flavor}`; known: {}", names.join(", ")));
    Err(match text::nearest(flavor, names) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    })
}
