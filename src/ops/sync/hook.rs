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

impl Memory {
    /// Writes the hook, unless the person has one of their own.
    pub fn install_push_hook(&self, program: &Path) -> Result<InstalledHook> {
        let cannot = || "cannot install the hook".to_string();
        let asked = ["rev-parse", "--path-format=absolute", "--git-path", "hooks/pre-push"];
        // The person's own hooks folder counts, so git is asked as they would.
        let named = self.git_work(false).run(&asked).unwrap_or_default();
        if !named.is_good() || named.out.trim().is_empty() {
            return Err(Error::new(cannot())
                .because(named.complaint())
                .hint("the memory has to be in a git repository"));
        }
        let path = PathBuf::from(named.out.trim_end_matches('\n'));
        let line = format!(
            "[ -n \"${SYNCING}\" ] || {} --store {} sync --check || exit 1",
            quoted(&program.display().to_string()),
            quoted(&self.root().display().to_string())
        );
        let text = format!(
            "#!/bin/sh\n# Written by `memtree sync --install-hook`: no secret and no raw is pushed.\n{line}\n"
        );
        let there = files::if_exists(files::read(&path)).context(cannot)?;
        let is_ours = there.as_ref().is_none_or(|there| {
            String::from_utf8_lossy(there).contains("Written by `memtree sync --install-hook`")
        });
        if is_ours {
            files::write_atomic(&path, text.as_bytes()).context(cannot)?;
            files::make_executable(&path).context(cannot)?;
        }
        Ok(InstalledHook { path, written: is_ours, line })
    }
}
