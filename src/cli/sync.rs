//! `memtree sync`

use std::io::{IsTerminal, Read};

use super::{App, output};
use crate::error::{Context, Result};
use crate::memory::Memory;
use crate::model::ids::Person;
use crate::ops::sync::{SyncReport, SyncRequest};
use crate::ops::team::TeamSyncRequest;

/// Commit, pull, merge without a conflict, and push the memory by git
///
/// First looks for secrets and for raw in what would be committed and in every commit that was not
/// pushed yet, and stops there, naming file, line and rule. Then commits the memory alone (what
/// else is staged stays staged), fetches, joins what two devices changed by section, makes anew
/// what is generated, verifies what changed and pushes; where somebody else was faster it does so
/// again. No network is no error: the commit goes with the next sync. Your own git, its settings,
/// hooks and credentials are used; history is never rewritten. Raw stays here, unless your own
/// settings say `sync.raw` and you agreed: see `memtree config`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The remote to sync with [default: the branch's own, or `origin`]
    #[arg(long, value_name = "REMOTE")]
    remote: Option<String>,
    /// The message of the commit [default: made from what changed]
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,
    /// Verify the whole memory, rather than what changed since the last sync
    #[arg(long)]
    full: bool,
    /// Only look for secrets and raw in what would leave
    #[arg(long, conflicts_with_all = ["message", "full", "dry_run"])]
    check: bool,
    /// For the hook `pre-push`: only look through what git pushes, as it says on the input
    #[arg(
        long,
        value_name = "REMOTE",
        requires = "check",
        hide = true,
        allow_hyphen_values = true
    )]
    pre_push: Option<String>,
    /// Let plain `git push` look for secrets and raw, too: writes the hook `pre-push`
    #[arg(long, conflicts_with_all = ["message", "full", "dry_run", "check"])]
    install_hook: bool,
    /// Instead, fetch your team's memories and push what you share of yours (`[team]` in your own
    /// configuration): by default nothing, else the digests of the projects that `team.share` names
    #[arg(long, conflicts_with_all = ["remote", "message", "full", "check", "install_hook", "dry_run"])]
    team: bool,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Where `sync.raw` is set: agree that raw, which is not redacted, goes to this remote
    #[arg(long, conflicts_with_all = ["check", "install_hook", "team", "dry_run"])]
    yes: bool,
}

/// How much of what git says to its hook is read: a line for each branch and tag.
const MOST_PUSHED: u64 = 16 << 20;

pub fn run(args: Args, app: &App) -> Result<u8> {
    let memory = app.memory()?;
    if args.check {
        match &args.pre_push {
            Some(remote) => {
                let mut said = String::new();
                std::io::stdin()
                    .take(MOST_PUSHED)
                    .read_to_string(&mut said)
                    .context(|| "cannot read what git is about to push".to_string())?;
                memory.check_push(remote, &said)?;
            }
            None => memory.check_sync(args.remote.as_deref())?,
        }
        match app.json {
            true => output::json(&serde_json::json!({ "clean": true })),
            false => app.note("nothing that has to stay here would leave"),
        }
        return Ok(0);
    }
    if args.install_hook {
        return install_hook(&memory, app);
    }
    if args.team {
        return sync_team(&memory, app);
    }
    if memory.syncs_episodes().is_none() && !args.dry_run {
        ask_for_episodes(&memory, app)?;
    }
    ask_for_raw(&memory, &args, app)?;
    let progress = output::progress_line(app.quiet || app.json);
    let step = |what: &str| progress.set_message(what.to_string());
    let first_push = |bytes: u64| {
        progress.suspend(|| app.note(format!("the first push: {}", output::bytes(bytes))));
    };
    let request = SyncRequest::default()
        .remote(args.remote)
        .message(args.message)
        .full(args.full)
        .dry_run(args.dry_run)
        .may_ask(std::io::stdin().is_terminal())
        .program(app.program_path()?)
        .progress(&step)
        .first_push(&first_push);
    let report = memory.sync(&request);
    progress.finish_and_clear();
    let report = report?;
    if app.json {
        output::json(&report);
    } else {
        output::print(&shown(&report));
    }
    Ok(0)
}

fn sync_team(memory: &Memory, app: &App) -> Result<u8> {
    let may_ask = std::io::stdin().is_terminal();
    let report = memory.sync_team(&TeamSyncRequest::default().may_ask(may_ask))?;
    if app.json {
        output::json(&report);
        return Ok(0);
    }
    let names = |people: &[Person]| {
        people.iter().map(|person| person.as_str()).collect::<Vec<_>>().join(", ")
    };
    let mut text = match report.people.is_empty() {
        true => "nobody else's memory is here yet\n".to_string(),
        false => format!("here: {}\n", names(&report.people)),
    };
    if !report.removed.is_empty() {
        text.push_str(&format!("removed: {}\n", names(&report.removed)));
    }
    let sessions = |count: usize| output::count(count, "session");
    text.push_str(&match report.shared {
        0 => "nothing of yours is shared\n".to_string(),
        shared => format!("shared: {} of this device\n", sessions(shared)),
    });
    if report.withdrawn > 0 {
        text.push_str(&format!(
            "{} taken back: the repository's history still has them\n",
            sessions(report.withdrawn)
        ));
    }
    if !report.back.is_empty() {
        text.push_str(&format!(
            "left, and not read although there again: {}\n",
            names(&report.back)
        ));
    }
    for device in &report.namesakes {
        text.push_str(&format!(
            "your folder has sessions of the device {device}: if it is yours, `memtree config trust {device}`; if \
             not, somebody else is called as you are, and one of you needs another `team.name`\n"
        ));
    }
    for who in &report.offline {
        text.push_str(&format!("out of reach: {who}\n"));
    }
    output::print(&output::safe(&text));
    Ok(0)
}

/// Asks once whether the readable parts of this device's sessions travel, too.
fn ask_for_episodes(memory: &Memory, app: &App) -> Result<()> {
    let bytes = memory.episodes_bytes()?;
    if bytes == 0 {
        return Ok(());
    }
    let size = output::bytes(bytes);
    if !std::io::stdin().is_terminal() || app.json || app.quiet {
        app.note(format!(
            "episodes stay here ({size}), so links to them lead nowhere in a clone: `memtree config sync.episodes true` lets them travel"
        ));
        return Ok(());
    }
    let question = format!(
        "Let the readable, redacted episodes travel too ({size}), so that every link works in a clone?"
    );
    memory.decide_episodes(app.confirm(&question, false)?)
}

/// Asks once for each memory and remote whether raw goes there, where the person's settings send
/// it.
fn ask_for_raw(memory: &Memory, args: &Args, app: &App) -> Result<()> {
    let remote = args.remote.as_deref();
    let Some(raw) = memory.raw_to_agree_to(remote)? else { return Ok(()) };
    let what = format!(
        "{} of raw ({}), not redacted: whatever the logs held, secrets included",
        output::count(raw.files, "file"),
        output::bytes(raw.bytes)
    );
    let nobody_asked = !std::io::stdin().is_terminal() || app.json || app.quiet;
    if args.dry_run || (nobody_asked && !args.yes) {
        app.note(format!("raw stays here until you agree: {what}; `memtree sync --yes` sends it"));
        return Ok(());
    }
    let place = remote.map_or("the remote".to_string(), |remote| format!("`{remote}`"));
    let question = format!("Send {what}, to {place}, and all that comes later?");
    if app.confirm(&question, args.yes)? {
        memory.agree_to_raw(remote)?;
    } else {
        app.note("raw stays here; `memtree config sync.raw false` ends the question");
    }
    Ok(())
}

fn install_hook(memory: &Memory, app: &App) -> Result<u8> {
    let hook = memory.install_push_hook(&app.program_path()?)?;
    if app.json {
        output::json(&hook);
    } else if hook.written {
        output::print(&format!("wrote `{}`\n", hook.path.display()));
    } else {
        let path = hook.path.display();
        output::print(&format!("`{path}` is your own; put this line into it:\n{}\n", hook.line));
    }
    Ok(if hook.written { 0 } else { 3 })
}

/// The person's own commits outside of the memory, which a push of the branch sends as well.
fn beside_of(report: &SyncReport) -> String {
    if report.beside.is_empty() {
        return String::new();
    }
    let commits = output::count(report.beside.len(), "commit");
    let goes = if report.dry_run { "would go" } else { "went" };
    let mut text = format!("{commits} outside of the memory {goes} with it: ");
    const MOST_NAMED: usize = 5;
    let named: Vec<&str> = report.beside.iter().take(MOST_NAMED).map(String::as_str).collect();
    text.push_str(&named.join("; "));
    if report.beside.len() > MOST_NAMED {
        text.push_str(&format!("; and {} more", report.beside.len() - MOST_NAMED));
    }
    text + "\n"
}

/// The pages that a rule from outside would have left out.
fn ignored_of(report: &SyncReport) -> String {
    let added = if report.dry_run { "would be added" } else { "added" };
    let said = crate::ops::ignored::shown(&report.ignored).into_iter();
    said.map(|said| format!("{added} although an ignore rule leaves it out: {said}\n")).collect()
}

/// How much of it is raw.
fn raw_of(report: &SyncReport) -> String {
    let Some(raw) = report.raw else { return String::new() };
    let files = output::count(raw.files, "file");
    format!("raw is among it, not redacted: {files}, {}\n", output::bytes(raw.bytes))
}

/// What a sync did, in sentences.
pub fn shown(report: &SyncReport) -> String {
    let files = |count: usize| output::count(count, "file");
    let mut text = String::new();
    if report.dry_run {
        if report.committed.is_empty() {
            text.push_str("nothing to commit\n");
        }
        for path in &report.committed {
            text.push_str(&format!("would commit {path}\n"));
        }
        text.push_str(&raw_of(report));
        text.push_str(&beside_of(report));
        text.push_str(&ignored_of(report));
        if let Some(bytes) = report.first_push_bytes {
            text.push_str(&format!("the first push: {}\n", output::bytes(bytes)));
        }
        let remote = report.remote.as_deref();
        let next = remote.map(|remote| format!("would fetch from {remote}, merge and push\n"));
        text.push_str(
            &next.unwrap_or_else(|| "no remote is known: nothing would be pushed\n".into()),
        );
        return output::safe(&text).into_owned();
    }
    if !report.committed.is_empty() {
        let message = report.message.as_deref().unwrap_or_default();
        text.push_str(&format!("committed {}: {message}\n", files(report.committed.len())));
    }
    text.push_str(&raw_of(report));
    text.push_str(&ignored_of(report));
    if report.received > 0 {
        text.push_str(&format!("received {}\n", files(report.received)));
    }
    if report.removed > 0 {
        text.push_str(&format!("removed {}: they were removed there\n", files(report.removed)));
    }
    if let Some(first) = report.restored.first() {
        let pages = output::count(report.restored.len(), "page");
        text.push_str(&format!(
            "restored {pages} of this device that were removed there, such as {first}: `memtree forget` is what \
             takes a session out\n"
        ));
    }
    if !report.joined.is_empty() {
        let pages = output::count(report.joined.len(), "page");
        text.push_str(&format!("joined {pages} that two devices had changed\n"));
    }
    if report.other_versions > 0 {
        let sections = output::count(report.other_versions, "section");
        text.push_str(&format!(
            "{sections} was edited on two devices: the other version is in the page's notes (`memtree status`)\n"
        ));
    }
    match (&report.remote, &report.offline) {
        (None, _) => text
            .push_str("no remote is known, so nothing was pushed: `git remote add origin URL`\n"),
        (Some(remote), Some(why)) => text.push_str(&format!(
            "`{remote}` is out of reach, so nothing was pushed; the next sync does it ({why})\n"
        )),
        (Some(remote), None) if report.pushed => {
            text.push_str(&beside_of(report));
            let there = report.there.as_deref().unwrap_or(&report.branch);
            text.push_str(&format!("pushed to {remote}/{there}\n"));
        }
        (Some(remote), None) => text.push_str(&format!("`{remote}` has everything\n")),
    }
    output::safe(&text).into_owned()
}
