//! What `sweep` and `watch` say of the folders that the settings name.

use super::output;
use crate::base::clock;
use crate::capture::folder::{FolderReport, FolderStatus};

/// Warns of folders of which nothing can come.
pub fn warn(folders: &[FolderReport]) {
    for warning in folders.iter().filter_map(warning) {
        eprintln!("{warning}");
    }
}

/// The warning about a folder, if there is one.
pub fn warning(folder: &FolderReport) -> Option<String> {
    let why = folder.warning.as_deref()?;
    Some(
        output::safe(&format!(
            "warning: the setting `folders`: `{}`: {why}",
            folder.path.display()
        ))
        .into_owned(),
    )
}

/// What there is to say of the others: one line each, but for those that are as they were.
pub fn lines(folders: &[FolderReport]) -> String {
    let lines = folders.iter().filter_map(|folder| {
        let what = match (folder.status, &folder.session, folder.due) {
            (FolderStatus::Kept, Some(session), _) => format!("kept as {session}"),
            (FolderStatus::Planned, ..) => "would be kept".into(),
            (FolderStatus::Waiting, _, Some(due)) => {
                format!("has just changed; waits until {}", clock::stamp(due))
            }
            _ => return None,
        };
        Some(format!("folder `{}`: {what}\n", folder.path.display()))
    });
    lines.collect()
}
