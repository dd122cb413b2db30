//! Git's history: the commands that remove the same from it. The person runs them, since nothing
//! here runs a program.
//!
//! Git keeps every page as it once was, also pages that no longer mention it. So the history of every
//! page that can ever have mentioned a session goes with it; a text can have been on any page.

use std::path::Path;

use chrono::{Days, NaiveDate};

use super::{ForgetPlan, PlannedSession};
use crate::base::files;
use crate::store::Store;
use crate::store::layout::{self, Layout};

/// The commands; none where the memory is in no repository. The pages keep their present and lose
/// their past.
pub fn commands(store: &Store, plan: &ForgetPlan) -> Vec<String> {
    let layout = store.layout();
    let root = layout.root();
    let Some(repository) = root.ancestors().find(|folder| files::exists(folder.join(".git")))
    else {
        return Vec::new();
    };
    let below = root.strip_prefix(repository).unwrap_or(Path::new(""));
    let within = |path: &str| quoted(&layout::shown_relative(&below.join(path)));
    let paths: Vec<String> = match plan.is_text() {
        true if below.as_os_str().is_empty() => vec![".".to_string()],
        true => vec![within("")],
        false => {
            let mut paths = past(layout, &plan.sessions);
            paths.extend(plan.files.iter().cloned());
            paths.sort();
            paths.dedup();
            paths.iter().map(|path| within(path)).collect()
        }
    };
    let memory = if below.as_os_str().is_empty() { ".".to_string() } else { within("") };
    let git = format!("git -C {}", quoted(&repository.to_string_lossy()));
    let rewrite = format!(
        "{git} filter-branch --force --tag-name-filter cat --index-filter \
         'test \"$GIT_COMMIT\" = \"$MEMTREE_LAST\" || git rm -r -q --cached --ignore-unmatch -- {}' -- --all",
        paths.join(" ").replace('\'', "'\\''")
    );
    vec![
        format!("{git} add -A -- {memory} && {git} commit -m 'forget' -- {memory}"),
        format!("export MEMTREE_LAST=$({git} rev-parse HEAD)"),
        rewrite,
        format!(
            "{git} for-each-ref --format='delete %(refname)' refs/original | {git} update-ref --stdin"
        ),
        format!(
            "(cd \"$({git} rev-parse --absolute-git-dir)\" && rm -f FETCH_HEAD ORIG_HEAD MERGE_HEAD)"
        ),
        format!("{git} reflog expire --expire=now --all && {git} gc --quiet --prune=now"),
        format!("{git} push --force --all && {git} push --force --tags"),
    ]
}

/// Every place in which sessions can have left something, then or now.
fn past(layout: &Layout, sessions: &[PlannedSession]) -> Vec<String> {
    let mut paths: Vec<String> = layout
        .distilled()
        .iter()
        .filter(|folder| **folder != layout.daily())
        .map(|path| layout.shown(path))
        .collect();
    for planned in sessions {
        paths.push(layout.shown(&layout.session(&planned.session)));
        match &planned.days {
            Some((first, last)) => {
                for day in around(*first, *last) {
                    paths.push(layout.shown(&layout.day(day)));
                    paths.push(layout.shown(&layout.summary(day)));
                }
            }
            // Nobody knows when it was.
            None => paths.push(layout.shown(&layout.daily())),
        }
    }
    paths
}

/// The days of a session by the clock of any zone; its notes may have been written into the next.
fn around(first: NaiveDate, last: NaiveDate) -> impl Iterator<Item = NaiveDate> {
    let first = first.checked_sub_days(Days::new(1)).unwrap_or(first);
    let last = last.checked_add_days(Days::new(1)).unwrap_or(last);
    first.iter_days().take_while(move |day| *day <= last)
}

/// A word for a shell, whatever it holds.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
