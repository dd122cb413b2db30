//! The person's own configuration, changed around everything else that stands in it.

use std::path::PathBuf;

use crate::base::files;
use crate::environment::Environment;
use crate::error::{Context, Error, Result};

/// What came of a change.
pub struct Changed<T> {
    pub file: PathBuf,
    /// Whether the file was written.
    pub changed: bool,
    pub outcome: T,
}

/// Makes of the configuration, which is empty where there is none, what is to take its place;
/// fails with the reason where it cannot be read.
pub fn change<T>(
    environment: &Environment,
    change: impl FnOnce(&str) -> Result<(String, T), String>,
) -> Result<Changed<T>> {
    let file = environment.settings_path();
    let cannot = || format!("cannot change your settings `{}`", file.display());
    let before =
        files::if_exists(files::read_to_string(&file)).context(cannot)?.unwrap_or_default();
    let (text, outcome) = change(&before).map_err(|reason| {
        Error::new(cannot()).because(reason).hint("correct the file by hand; nothing was changed")
    })?;
    let changed = text != before;
    if changed {
        files::write_atomic(&file, text.as_bytes()).context(cannot)?;
    }
    Ok(Changed { file, changed, outcome })
}
