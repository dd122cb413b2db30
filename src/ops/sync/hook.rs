//! A hook for those who push with plain git: it looks through what would leave, as `sync` does.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::base::files;
use crate::base::git::SYNCING;
use crate::base::shell::quoted;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;

/// The hook, and whether it was written.
#[derive(Debug, Clone, Serialize)]
pub struct InstalledHook {
    pub path: PathBuf,
    pub written: bool,
    /// The line that does it, for a hook that is there already.
    pub line: String,
}

/// What every hook of ours says, whichever version wrote it.
const OURS: &str = "Written by `memtree sync --install-hook`";

/// The line that does it. Git says on its input what it pushes, and whereto in `$1`.
fn line(program: &Path, root: &Path) -> String {
    format!(
        "[ -n \"${SYNCING}\" ] || {} --store {} sync --check --pre-push \"$1\" || exit 1",
        quoted(&program.display().to_string()),
        quoted(&root.display().to_string())
    )
}

impl Memory {
    /// Writes the hook, unless the person has one of their own.
    pub fn install_push_hook(&self, program: &Path) -> Result<InstalledHook> {
        let path = self.push_hook().map_err(|why| {
            Error::new(cannot()).because(why).hint("the memory has to be in a git repository")
        })?;
        let line = line(program, self.root());
        let there = files::if_exists(files::read(&path)).context(cannot)?;
        let is_ours = there.as_ref().is_none_or(|there| is_ours(there));
        if is_ours {
            let text = text(&line);
            files::write_atomic(&path, text.as_bytes()).context(cannot)?;
            files::make_executable(&path).context(cannot)?;
        }
        Ok(InstalledHook { path, written: is_ours, line })
    }

    /// Whether the hook is one of ours that an earlier version wrote: it looked at what is checked
    /// out, whatever was pushed.
    pub(crate) fn has_old_push_hook(&self) -> bool {
        let there = self.push_hook().ok().and_then(|path| files::read(path).ok());
        there.is_some_and(|there| {
            is_ours(&there) && !String::from_utf8_lossy(&there).contains(" --pre-push ")
        })
    }

    /// Brings such a hook up to date; says whether there was one.
    pub(crate) fn renew_push_hook(&self, program: &Path) -> Result<bool> {
        let is_old = self.repository().is_some() && self.has_old_push_hook();
        if is_old {
            self.install_push_hook(program)?;
        }
        Ok(is_old)
    }

    /// Where git looks for the hook. The person's own hooks folder counts, so git is asked as they
    /// would.
    fn push_hook(&self) -> Result<PathBuf, String> {
        let asked = ["rev-parse", "--path-format=absolute", "--git-path", "hooks/pre-push"];
        let named = self.git_work(false).run(&asked).unwrap_or_default();
        if !named.is_good() || named.out.trim().is_empty() {
            return Err(named.complaint());
        }
        Ok(PathBuf::from(named.out.trim_end_matches('\n')))
    }
}

fn cannot() -> String {
    "cannot install the hook".to_string()
}

fn is_ours(hook: &[u8]) -> bool {
    String::from_utf8_lossy(hook).contains(OURS)
}

fn text(line: &str) -> String {
    format!("#!/bin/sh\n# {OURS}: no secret and no raw is pushed.\n{line}\n")
}
