//! `memtree forget`

use std::io::IsTerminal;

use chrono::NaiveDate;

use super::{App, output};
use crate::error::{Error, Result};
use crate::ops::forget::{ForgetPlan, ForgetReport, ForgetRequest, Target, TextPattern};
use crate::ops::team::{LeaveReport, Removal};

/// Remove a session or a text for good, and prove that it is gone
///
/// Shows what will go and asks first. It goes from raw, readable parts, digests, days, cores,
/// knowledge, patterns, index and inbox. A line in forgotten.md, with an id and a hash but nothing
/// of the content, keeps it from coming back by a sweep or a sync. The agent's own log is not
/// touched.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true)))]
pub struct Args {
    /// A session: its id, its digest's path, the agent's own id (`claude:…`) or a hit of the last
    /// search
    #[arg(group = "what", value_name = "REF")]
    session: Option<String>,
    /// A text, wherever it stands; case and spacing do not matter. Logs that hold it are not
    /// captured again
    #[arg(long, group = "what", value_name = "TEXT")]
    text: Option<String>,
    /// Every session of a project
    #[arg(long, group = "what", value_name = "NAME")]
    project: Option<String>,
    /// Every session that ended before a day, such as 2026-01-31
    #[arg(long, group = "what", value_name = "DAY", value_parser = day)]
    before: Option<NaiveDate>,
    /// A person who left your team: their memory goes from this device and from the team's
    /// repository, and what its history still holds is said
    #[arg(long, group = "what", value_name = "NAME")]
    author: Option<String>,
    /// Bring back a session that another device's forgetting put into quarantine: its id, or the
    /// agent's own; or read a person again who had left your team
    #[arg(long, group = "what", value_name = "REF")]
    undo: Option<String>,
    /// Delete what is in quarantine before its thirty days are over: one session, or all
    #[arg(long, group = "what", value_name = "REF", num_args = 0..=1)]
    purge: Option<Option<String>>,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Ask no questions
    #[arg(long, short = 'y')]
    yes: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    if let Some(name) = args.undo.as_ref().filter(|_| !args.dry_run)
        && app.memory()?.readmit_author(name)?
    {
        match app.json {
            true => output::json(&serde_json::json!({ "author": name })),
            false => {
                output::print(&format!("{name} is read again; `memtree sync --team` fetches\n"))
            }
        }
        return Ok(0);
    }
    if let Some(reference) = &args.undo {
        let entry = app.memory_for(args.dry_run)?.undo_forget(reference)?;
        match app.json {
            true => output::json(&entry),
            false => output::print(&format!("{} is back: {}\n", entry.session, entry.title)),
        }
        return Ok(0);
    }
    if let Some(reference) = &args.purge {
        return end_quarantine(reference.as_deref(), args.yes, app);
    }
    if let Some(author) = &args.author {
        return forget_author(author, args.dry_run, args.yes, app);
    }
    let target = match (args.session, args.text, args.project, args.before) {
        (Some(session), ..) => Target::Session(session),
        (_, Some(text), ..) => Target::Text(TextPattern::new(&text)?),
        (_, _, Some(project), _) => Target::Project(project),
        (.., Some(day)) => Target::Before(day),
        _ => {
            return Err(
                Error::usage("there is nothing to forget").hint("name a session, or use `--text`")
            );
        }
    };
    let memory = app.memory_for(args.dry_run)?;
    let plan = memory.plan_forget(ForgetRequest { target })?;
    if plan.is_empty() {
        let report = memory.forget(&plan)?;
        if app.json {
            output::json(&report);
        } else {
            app.note("nothing in this memory is like that, so nothing was forgotten");
            output::print(&git_summary(&report));
        }
        return Ok(1);
    }
    if args.dry_run {
        match app.json {
            true => output::json(&plan),
            false => output::print(&shown(&plan)),
        }
        return Ok(0);
    }
    if !app.json {
        app.note(shown(&plan).trim_end());
    }
    if !app.confirm("Forget all this for good?", args.yes)? {
        app.note("nothing was forgotten");
        return Ok(0);
    }
    let report = memory.forget(&plan)?;
    if app.json {
        output::json(&report);
    } else {
        output::print(&summary(&report, &plan));
    }
    Ok(if report.left.is_empty() && report.quarantine.is_empty() { 0 } else { 1 })
}

/// A day as it is typed.
fn day(typed: &str) -> Result<NaiveDate, String> {
    typed.parse().map_err(|_| "it is no day; write one like 2026-01-31".to_string())
}

fn forget_author(author: &str, dry_run: bool, yes: bool, app: &App) -> Result<u8> {
    let memory = app.memory_for(dry_run)?;
    let plan = memory.forget_author(author, true, false)?;
    if !dry_run && !app.json {
        app.note(leaving(&plan).trim_end());
    }
    if !dry_run && !app.confirm("Remove this person?", yes)? {
        app.note("nobody was removed");
        return Ok(0);
    }
    let report = match dry_run {
        true => plan,
        false => memory.forget_author(author, false, std::io::stdin().is_terminal())?,
    };
    match app.json {
        true => output::json(&report),
        false => output::print(&output::safe(&left(&report))),
    }
    Ok(0)
}

/// What goes, or went, of a person who left.
fn leaving(report: &LeaveReport) -> String {
    let sessions = output::count(report.sessions, "session");
    let verb = if report.dry_run { "would go" } else { "went" };
    let mut text = format!("{}: {sessions}\n", report.author);
    for path in &report.removed {
        text.push_str(&format!("  {} {verb}\n", path.display()));
    }
    if let Some(file) = &report.settings {
        text.push_str(&format!("  their line in `{}` went\n", file.display()));
    }
    if let Some(folder) = &report.stays {
        text.push_str(&format!("  `{}` is theirs and stays; it is not read\n", folder.display()));
    }
    match report.repository.as_ref().filter(|_| !report.dry_run) {
        Some(Removal::Pushed) => text.push_str("  their folder in the team's repository went\n"),
        Some(Removal::Waits(why)) => text.push_str(&format!(
            "  their folder in the team's repository goes with the next `memtree sync --team` ({why})\n"
        )),
        None => {}
    }
    text
}

/// The same, with what git's history still holds.
fn left(report: &LeaveReport) -> String {
    let mut text = leaving(report);
    if !report.git.is_empty() {
        text.push_str(
            "\nThe history of the team's repository still has their sessions, and so does every clone. To \
             rewrite it,\nonce everybody agrees:\n\n",
        );
        report.git.iter().for_each(|command| text.push_str(&format!("  {command}\n")));
    }
    text
}

fn end_quarantine(reference: Option<&str>, yes: bool, app: &App) -> Result<u8> {
    let memory = app.memory_to_write()?;
    for entry in memory.quarantine() {
        app.note(format!("{}  {} (until {})", entry.session, entry.title, entry.until));
    }
    if !memory.quarantine().is_empty() && !app.confirm("Delete it for good?", yes)? {
        app.note("nothing was deleted");
        return Ok(0);
    }
    let ended = memory.end_quarantine(reference)?;
    match app.json {
        true => output::json(&ended),
        false => {
            let sessions = output::count(ended.len(), "session");
            output::print(&format!("deleted {sessions} from quarantine\n"));
        }
    }
    Ok(0)
}

fn shown(plan: &ForgetPlan) -> String {
    let mut text = String::new();
    let verb = if plan.is_text() { "loses the text" } else { "goes" };
    for one in &plan.sessions {
        let title = if one.title.is_empty() { "(without a title)" } else { &one.title };
        text.push_str(&format!("{}  {title}\n  {verb}; {} bytes", one.session, one.bytes));
        if let Some(ended) = &one.ended {
            text.push_str(&format!(", ended {ended}"));
        }
        if let Some(project) = &one.project {
            text.push_str(&format!(", project {project}"));
        }
        if plan.is_text() && one.log_stays_out {
            text.push_str(
                "\n  its raw log goes as a whole and is not captured again, also when it grows",
            );
        }
        text.push('\n');
    }
    for file in &plan.files {
        text.push_str(&format!("{file}\n  loses what it says of it\n"));
    }
    text
}

fn summary(report: &ForgetReport, plan: &ForgetPlan) -> String {
    let sessions = output::count(report.sessions.len(), "session");
    let mut text = match plan.is_text() {
        true => format!("forgot the text in {sessions} and "),
        false => format!("forgot {sessions} and what is said of them in "),
    };
    text.push_str(&format!("{}\n", output::count(report.files.len(), "other file")));
    let (files, bytes) =
        (output::count(report.scanned_files as usize, "file"), report.scanned_bytes);
    match report.left.is_empty() {
        true => text
            .push_str(&format!("looked through {files} ({bytes} bytes): nothing of it is left\n")),
        false => {
            text.push_str(&format!(
                "looked through {files} ({bytes} bytes): something is left in\n"
            ));
            report.left.iter().for_each(|place| text.push_str(&format!("  {place}\n")));
            text.push_str(NEXT_STEP);
        }
    }
    report.searched.iter().for_each(|how| text.push_str(&format!("  {how}\n")));
    for session in &report.quarantine {
        text.push_str(&format!(
            "{session} lies in quarantine and holds it, too; `memtree forget --purge {session}` ends that\n"
        ));
    }
    if report.shared > 0 {
        let sessions = output::count(report.shared, "session");
        text.push_str(&format!(
            "{sessions} of it was shared with your team: `memtree sync --team` takes that back\n"
        ));
    }
    text + &git_summary(report)
}

/// What to do about what is left.
const NEXT_STEP: &str = "next: look at these lines; what is of it goes with `memtree forget --text WORDS`, or by hand\n";

/// What git's history holds, and what to do about it.
fn git_summary(report: &ForgetReport) -> String {
    let mut text = String::new();
    if let Some(git) = &report.git_objects {
        let objects = output::count(git.searched as usize, "object");
        let found = match git.holding {
            0 => "none of them holds it".to_string(),
            1 => "1 of them holds it".to_string(),
            some => format!("{some} of them hold it"),
        };
        let reason = git.incomplete.as_ref().map(|reason| format!(" (not all: {reason})"));
        text.push_str(&format!(
            "looked through {objects} of git{}: {found}\n",
            reason.unwrap_or_default()
        ));
        if git.messages > 0 {
            let messages = output::count(git.messages as usize, "message");
            text.push_str(&format!(
                "{messages} of commits or tags hold it: the commands put [forgotten] into those of commits, \
                 and leave such tags as mere names\n"
            ));
        }
        for name in &git.refs {
            text.push_str(&format!("the name `{name}` holds it: rename it yourself\n"));
        }
    }
    if !report.git.is_empty() {
        text.push_str(
            "\nThe commands below commit what is here now, then remove from every earlier commit only the \
             files that\nhold it, and leave all others, messages and dates as they are. Commit ids \
             change. To do that:\n\n",
        );
        report.git.iter().for_each(|command| text.push_str(&format!("  {command}\n")));
        text.push_str("\nOther clones keep it until they are made anew.\n");
    }
    text
}
