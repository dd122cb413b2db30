//! The parts of an installation, and one file with the parts that may stand in it: some agents have
//! their hooks and their servers in the same one.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::adapters::servers::ServerShape;

use super::edit::{self, Wiring};
use super::server::{self, Owner, Server};
use super::toml_file;

/// What an agent can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Calls of ours at certain moments.
    Hooks,
    /// The server that it may ask.
    Mcp,
    /// Texts that say when to ask, and how.
    Skills,
}

impl Part {
    pub const ALL: [Part; 3] = [Part::Hooks, Part::Mcp, Part::Skills];
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Hooks => "hooks",
            Part::Mcp => "mcp",
            Part::Skills => "skills",
        })
    }
}

/// A file of an agent's, and what of ours may stand in it.
#[derive(Debug, Clone)]
pub struct SharedFile<'a> {
    pub file: PathBuf,
    /// The parts that are asked for here; others stay as they are.
    pub asked: Vec<Part>,
    pub hooks: Option<Wiring<'a>>,
    pub server: Option<Server<'a>>,
    /// Whether it is TOML: there all of ours is one stretch.
    pub is_toml: bool,
}

impl<'a> SharedFile<'a> {
    pub fn of_hooks(file: PathBuf, wiring: Wiring<'a>, is_toml: bool) -> SharedFile<'a> {
        let asked = vec![Part::Hooks];
        SharedFile { file, asked, hooks: Some(wiring), server: None, is_toml }
    }

    pub fn of_server(file: PathBuf, server: Server<'a>) -> SharedFile<'a> {
        let is_toml = matches!(server.spec.shape, ServerShape::Toml { .. });
        let asked = vec![Part::Mcp];
        SharedFile { file, asked, hooks: None, server: Some(server), is_toml }
    }

    /// Takes in what is asked for in the same file.
    pub fn join(&mut self, other: SharedFile<'a>) {
        self.asked.extend(other.asked);
        self.hooks = self.hooks.or(other.hooks);
        self.server = self.server.or(other.server);
    }

    /// The parts that a text has of ours.
    pub fn present(&self, text: &str) -> Vec<Part> {
        let hooks = self.hooks.is_some_and(|wiring| match self.is_toml {
            true => toml_file::value(text)
                .is_some_and(|value| !edit::places_of_ours(&value, wiring.spec).is_empty()),
            false => edit::has_hooks(text, wiring.spec),
        });
        let mcp = self.owner_of_server(text) == Owner::Memtree;
        let parts = [(hooks, Part::Hooks), (mcp, Part::Mcp)];
        parts.into_iter().filter_map(|(is_there, part)| is_there.then_some(part)).collect()
    }

    /// Whose entry stands under our server's name.
    pub fn owner_of_server(&self, text: &str) -> Owner {
        self.server.map_or(Owner::Nobody, |server| server::owner(text, server.spec))
    }

    /// Whether a text has parts just as we would write them.
    pub fn is_in(&self, text: &str, parts: &[Part]) -> bool {
        parts.iter().all(|part| match part {
            Part::Hooks => !self.is_toml && self.hooks.is_some_and(|wiring| wiring.is_in(text)),
            Part::Mcp => self.server.is_some_and(|server| server.is_in(text)),
            Part::Skills => false,
        })
    }

    /// A text with parts of ours, which must not be in it yet, and the keys made for them.
    pub fn with(&self, text: &str, parts: &[Part]) -> Result<(String, Vec<String>), String> {
        let hooks = self.hooks.filter(|_| parts.contains(&Part::Hooks));
        let server = self.server.filter(|_| parts.contains(&Part::Mcp));
        if self.is_toml {
            let hooks = hooks.map(|wiring| toml_file::hooks(&wiring)).transpose()?;
            let server = server.map(|server| match server.spec.shape {
                ServerShape::Toml { table } => server.table(table),
                _ => Ok(String::new()),
            });
            let tables: Vec<String> = hooks.into_iter().chain(server.transpose()?).collect();
            return Ok((toml_file::with_part(text, &tables.join("\n"))?, Vec::new()));
        }
        let (mut text, mut created) = match hooks {
            Some(wiring) => edit::with_hooks(text, &wiring)?,
            None => (text.to_string(), Vec::new()),
        };
        if let Some(server) = server {
            let (with, made) = server.put_into(&text)?;
            text = with;
            created.extend(made);
        }
        Ok((text, created))
    }

    /// A text without anything of ours.
    pub fn without(&self, text: &str, created: Option<&[String]>) -> Result<String, String> {
        let mut text = if self.is_toml { toml_file::without_part(text) } else { text.to_string() };
        // The other way round than they were put in.
        if let Some(server) = self.server {
            text = server::without(&text, server.spec, created)?;
        }
        if let Some(wiring) = self.hooks.filter(|_| !self.is_toml) {
            text = edit::without_hooks(&text, wiring.spec, created)?;
        }
        Ok(text)
    }

    /// Whether a text says nothing but what a new file says before our parts are in it.
    pub fn is_fresh(&self, text: &str) -> bool {
        let is_blank = edit::split_mark(text).1.trim().is_empty();
        let says_nothing = || match self.hooks {
            Some(wiring) => edit::is_fresh(text, wiring.spec),
            None => edit::split_mark(text).1.trim() == "{}",
        };
        is_blank || !self.is_toml && says_nothing()
    }
}
