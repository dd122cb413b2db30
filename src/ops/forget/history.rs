//! Git's history: whether it still holds it, and the commands that remove it from there, which the
//! person runs.
//!
//! Git keeps every page as it once was, also pages that no longer mention it. In each commit the
//! files that hold it go, by `git grep` over that commit; the others stay. What was made of several
//! sessions need not name the one that is forgotten, so with a session the past of those pages
//! goes.

use std::path::Path;

use regex::bytes::RegexBuilder;
use serde::Serialize;

use super::ForgetPlan;
use crate::base::files;
use crate::base::git::Git;
use crate::base::shell::quoted;
use crate::error::{Error, Result};
use crate::store::{Store, layout};

/// What was found in git's objects.
#[derive(Debug, Clone, Default, Serialize)]
pub struct GitObjects {
    /// How many files, lists of names and commits of all times were looked through.
    pub searched: u64,
    /// How many of them hold it.
    pub holding: u64,
    /// How many of those are commits or tags whose message holds it.
    pub messages: u64,
    /// Branches and tags whose names hold it.
    pub refs: Vec<String>,
    /// Why not all of them could be looked through.
    pub incomplete: Option<String>,
}

/// Looks through everything that git keeps; `None` where the memory is in no repository.
pub fn search(store: &Store, git: &Git<'_>, plan: &ForgetPlan) -> Result<Option<GitObjects>> {
    let Some(repository) = repository(store) else { return Ok(None) };
    let names = match &plan.text {
        Some(_) => None,
        None => {
            let mut names = RegexBuilder::new(&session_names(plan).join("|"));
            let names = names.case_insensitive(true).build();
            Some(names.map_err(|err| Error::new("cannot look for these sessions").because(err))?)
        }
    };
    let holds = |object: &[u8]| {
        plan.text.as_ref().is_some_and(|text| text.is_in_bytes(object))
            || names.as_ref().is_some_and(|names| names.is_match(object))
    };
    let (mut objects, mut too_long) = (GitObjects::default(), 0);
    let look = |kind: &str, object: Option<&[u8]>| {
        objects.searched += 1;
        let Some(object) = object else {
            too_long += 1;
            return;
        };
        objects.holding += u64::from(holds(object));
        if ["commit", "tag"].contains(&kind) {
            let message = object.windows(2).position(|pair| pair == b"\n\n").unwrap_or(0);
            objects.messages += u64::from(holds(&object[message..]));
        }
    };
    let searched = git.each_object(repository, look);
    let refs = git.answer(repository, &["for-each-ref", "--format=%(refname)"]);
    let refs = refs.unwrap_or_default();
    objects.refs = refs.lines().filter(|name| holds(name.as_bytes())).map(str::to_string).collect();
    objects.incomplete = match (searched, too_long) {
        (Err(reason), _) => Some(reason),
        (Ok(()), 0) => None,
        (Ok(()), count) => Some(format!("{count} of them are too long")),
    };
    Ok(Some(objects))
}

fn repository(store: &Store) -> Option<&Path> {
    store.layout().root().ancestors().find(|folder| files::exists(folder.join(".git")))
}

/// The commands; none where the memory is in no repository. In every commit but the last, the files
/// that hold it go; everything else stays as it was, but for messages that hold it.
pub fn commands(store: &Store, plan: &ForgetPlan, found: &GitObjects) -> Vec<String> {
    let root = store.layout().root();
    let Some(repository) = repository(store) else { return Vec::new() };
    let below = root.strip_prefix(repository).unwrap_or(Path::new(""));
    let memory = match below.as_os_str().is_empty() {
        true => ".".to_string(),
        false => quoted(&layout::shown_relative(below)),
    };
    let git = format!("git -C {}", quoted(&repository.to_string_lossy()));
    let pattern = quoted(&pattern(plan));
    // By content, and by name; `git ls-files` is the index of the commit at hand.
    let made = made_of_sessions(store, plan, below);
    let filter = format!(
        "test \"$GIT_COMMIT\" = \"$MEMTREE_LAST\" || {{ git grep -a -l -z -i -E --cached -e {pattern} -- {memory}; \
         git ls-files -z -- {memory} | grep -z -i -E -e {pattern}; {made}}} | \
         xargs -0 -r git rm -q --cached --ignore-unmatch --"
    );
    let messages = match found.messages {
        0 => String::new(),
        _ => {
            // No pattern has this sign.
            let words =
                format!("sed -E {}", quoted(&format!("s#{}#[forgotten]#gI", self::pattern(plan))));
            format!("--msg-filter {} ", quoted(&words))
        }
    };
    let rewrite = format!(
        "{git} filter-branch --force --tag-name-filter cat {messages}--index-filter {} -- --all",
        quoted(&filter)
    );
    // A tag's message cannot be filtered: such a tag stays as a name for what it stood for.
    let tags = format!(
        "{git} for-each-ref --format='%(refname)' refs/tags | while read -r tag; do \
         {git} for-each-ref --format='%(contents)' \"$tag\" | tr '\\n' ' ' | \
         grep -q -i -E -e {pattern} || continue; \
         {git} update-ref \"$tag\" \"$({git} rev-parse \"$tag^{{}}\")\"; done"
    );
    let mut commands = vec![
        format!("{git} add -A -- {memory} && {git} commit -m 'forget' -- {memory}"),
        format!("export MEMTREE_LAST=$({git} rev-parse HEAD)"),
        rewrite,
    ];
    if found.messages > 0 {
        commands.push(tags);
    }
    commands.extend([
        format!(
            "{git} for-each-ref --format='delete %(refname)' refs/original | {git} update-ref --stdin"
        ),
        format!(
            "(cd \"$({git} rev-parse --absolute-git-dir)\" && rm -f FETCH_HEAD ORIG_HEAD MERGE_HEAD)"
        ),
        format!("{git} reflog expire --expire=now --all && {git} gc --quiet --prune=now"),
        format!("{git} push --force --all && {git} push --force --tags"),
    ]);
    commands
}

/// The command that lists the pages made of sessions, of which none needs to name its sessions;
/// empty for a text, which is known wherever it stands. The lines of days name theirs.
fn made_of_sessions(store: &Store, plan: &ForgetPlan, below: &Path) -> String {
    if plan.text.is_some() {
        return String::new();
    }
    let layout = store.layout();
    let folders = layout.distilled().into_iter().filter(|folder| *folder != layout.daily());
    let folders = folders.map(|folder| below.join(layout.shown(&folder)));
    let folders: Vec<String> =
        folders.map(|folder| quoted(&layout::shown_relative(&folder))).collect();
    format!("git ls-files -z -- {}; ", folders.join(" "))
}

/// What a file that goes holds, as an extended regular expression: the text, or the name of a
/// session.
fn pattern(plan: &ForgetPlan) -> String {
    if let Some(text) = &plan.text {
        return text.for_git().to_string();
    }
    session_names(plan).join("|")
}

/// The names of the sessions, ours and the agents' own, each as a regular expression.
fn session_names(plan: &ForgetPlan) -> Vec<String> {
    let ids = plan.sessions.iter().map(|planned| planned.session.to_string());
    let natives = plan.sessions.iter().filter_map(|planned| planned.source_id.clone());
    let natives = natives.filter_map(|id| Some(id.split_once(':')?.1.to_string()));
    let names: Vec<String> = ids.chain(natives.filter(|id| id.len() >= 8)).collect();
    let escaped = names.iter().map(|name| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        name.chars().map(|c| if plain(c) { c } else { '.' }).collect::<String>()
    });
    escaped.collect()
}
