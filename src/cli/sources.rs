//! Which logs a command looks at: the flags that `sweep`, `watch`, `verify` and `doctor` share.

use super::App;
use crate::adapters;
use crate::capture::sources::{Root, Selection};
use crate::error::{Context, Error, Result};
use crate::memory::Memory;

#[derive(Debug, Default, clap::Args)]
pub struct SourceArgs {
    /// Look here instead; may be given more than once. The agent is recognized by the content
    /// of the files
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
    /// What the flags choose; names that no agent has are refused.
    pub fn selection(&self) -> Result<Selection> {
        self.only
            .iter()
            .chain(&self.except)
            .try_for_each(|flavor| adapters::known(flavor).map(drop))?;
        let roots = self.source.iter().map(|source| named_root(source)).collect::<Result<_>>()?;
        Ok(Selection { roots, only: self.only.clone(), except: self.except.clone() })
    }

    /// Warns of settings for agents that nobody knows, where the settings say where to look.
    pub fn warn_of_unknown_agents(&self, memory: &Memory, app: &App) {
        for name in memory.unknown_agents().into_iter().filter(|_| self.source.is_empty()) {
            app.note(format!(
                "warning: the setting `sources.{name}` names no agent that memtree knows"
            ));
        }
    }
}

fn named_root(source: &str) -> Result<Root> {
    let (flavor, path) = source.split_once('=').ok_or_else(|| {
        Error::usage(format!("`--source {source}` has no `=`")).hint("write `--source claude=PATH`")
    })?;
    adapters::known(flavor)?;
    let path = std::path::absolute(path).context(|| format!("cannot find `{path}`"))?;
    Ok(Root::named(path))
}
