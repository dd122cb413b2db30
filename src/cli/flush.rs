//! `memtree flush`

use std::path::{Path, PathBuf};

use super::{App, output};
use crate::base::files::{self, Stamp};
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::ops::flush::{FlushReport, FlushRequest, Reason, WaitingContext};
use crate::store::local;

/// Summarize what was said into its day
///
/// Without arguments, does what is due: contexts that an earlier flush could not summarize,
/// sessions that have been silent for half an hour or went on for 30 turns, and days without an
/// up-to-date summary. With a file, takes a context that somebody else extracted (`**User:** …`,
/// `**Assistant:** …`). Hooks name the agent's own log with `--transcript`: that session is swept
/// first. Nothing is flushed twice. Knowledge is compiled afterwards, if days have changed and an
/// hour has passed (`MEMTREE_COMPILE_INTERVAL_MIN`).
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A context that somebody else extracted; it is only read
    #[arg(requires = "session_id", conflicts_with = "transcript")]
    context_file: Option<PathBuf>,
    /// The session it is from
    session_id: Option<String>,
    /// The agent's own log of the session to flush
    #[arg(long, value_name = "PATH", requires = "session")]
    transcript: Option<PathBuf>,
    /// The agent's own id of that session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The agent whose session that is, where it does not say which log it writes
    #[arg(long, hide = true, requires = "session", conflicts_with = "transcript")]
    agent: Option<String>,
    /// Why: precompact, end, interval, reset or idle
    #[arg(long, value_name = "REASON", default_value = "end", requires = "session")]
    reason: Reason,
    /// Look again as long as the log keeps growing: agents write the last words a moment after they
    /// call
    #[arg(long, hide = true, requires = "session")]
    linger: bool,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
}

/// How long to wait before looking again, and how often.
const MOMENT: std::time::Duration = std::time::Duration::from_secs(1);
const MOST_LOOKS: usize = 4;

pub fn run(args: Args, app: &App) -> Result<u8> {
    let memory = app.memory_for(args.dry_run)?;
    if args.dry_run {
        let waiting = output::count(memory.store().inbox().len(), "context");
        output::print(&format!("would flush, with {waiting} in the inbox\n"));
        return Ok(0);
    }
    let report = match &args {
        Args { context_file: Some(file), session_id: Some(session), .. } => {
            let (text, session) = (context(file)?, session.clone());
            memory.flush(FlushRequest::Context { text, session })?
        }
        Args { transcript: Some(log), .. } if !files::is_file(log) => {
            // A hook that called us has gone on, so it is noted where a person may look.
            let what = format!("flush: there is no file `{}`", log.display());
            local::note(memory.layout(), memory.now(), &what);
            return Ok(0);
        }
        Args { session: Some(session), .. } => session_of_agent(&args, session, &memory)?,
        _ => memory.flush(FlushRequest::Due)?,
    };
    memory.compile_after(&report);
    show(&report, app);
    Ok(0)
}

fn context(file: &Path) -> Result<String> {
    let bytes = files::read(file).map_err(|err| {
        Error::new(format!("cannot read the context `{}`", file.display()))
            .because(err)
            .hint("name a file with `**User:** …` and `**Assistant:** …` turns")
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Flushes a session that an agent names, and again as long as its log keeps growing; one of whose
/// log nothing is known, once more.
fn session_of_agent(args: &Args, session: &str, memory: &Memory) -> Result<FlushReport> {
    let (reason, session) = (args.reason, session.to_string());
    let request = match (&args.transcript, &args.agent) {
        (Some(log), _) => FlushRequest::Transcript { log: log.clone(), session, reason },
        (None, Some(agent)) => FlushRequest::Agent { agent: agent.clone(), session, reason },
        (None, None) => {
            return Err(Error::usage("`--session` says whose session it is, but not where")
                .hint("name its log with `--transcript`"));
        }
    };
    let stamp = || {
        let log = args.transcript.as_ref()?;
        files::metadata(log).map(|metadata| Stamp::of(&metadata)).ok()
    };
    let looks = match (args.linger, &args.transcript) {
        (false, _) => 1,
        (true, None) => 2,
        (true, Some(_)) => MOST_LOOKS,
    };
    let mut before = stamp();
    let mut report = memory.flush(request.clone())?;
    for _ in 1..looks {
        std::thread::sleep(MOMENT);
        if before.is_some() && stamp() == before {
            break;
        }
        before = stamp();
        report = memory.flush(request.clone())?;
    }
    Ok(report)
}

fn show(report: &FlushReport, app: &App) {
    if app.json {
        return output::json(report);
    }
    if app.quiet {
        return;
    }
    let mut said = Vec::new();
    for (count, what) in [
        (report.flushed, "flushed"),
        (report.nothing, "with nothing worth saving"),
        (report.duplicates, "flushed before"),
        (report.kept, "kept for a later flush"),
    ] {
        if count > 0 {
            said.push(format!("{} {what}", output::count(count, "context")));
        }
    }
    said.push(format!(
        "{} written",
        output::count(report.summaries.days.len(), "summary").replace("summarys", "summaries")
    ));
    output::print(&format!("{}\n", said.join(", ")));
    for WaitingContext { session, day, from, until, turns, reason } in &report.waiting {
        let turns = output::count(*turns, "turn");
        app.note(format!("waits: {turns} of {session}, {day} {from} to {until}: {reason}"));
    }
    if !report.refused.is_empty() {
        let refused = output::count(report.refused.len(), "line");
        app.note(format!(
            "{refused} of the model's refused, since the session does not bear them out"
        ));
    }
}
