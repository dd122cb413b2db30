//! `memtree flush`

use std::path::{Path, PathBuf};

use chrono::Duration;

use super::{App, output};
use crate::base::clock::Timestamp;
use crate::base::files::Stamp;
use crate::capture::sources::Root;
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::models::Models;
use crate::ops::days::Scope;
use crate::ops::flush::{self, Flush, Flushed, Reason};
use crate::ops::sweep::SweepRequest;
use crate::settings::Settings;
use crate::store::{Store, local};

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
    #[arg(long, value_name = "ID", requires = "transcript")]
    session: Option<String>,
    /// Why: precompact, end, interval, reset or idle
    #[arg(long, value_name = "REASON", default_value = "end", requires = "transcript")]
    reason: Reason,
    /// Look again as long as the log keeps growing: agents write the last words a moment after they
    /// call
    #[arg(long, hide = true, requires = "transcript")]
    linger: bool,
    /// Do nothing, but say what would be done
    #[arg(long)]
    pub(super) dry_run: bool,
}

/// How long to wait before looking again, and how often.
const MOMENT: std::time::Duration = std::time::Duration::from_secs(1);
const MOST_LOOKS: usize = 4;

pub fn run(args: Args, app: &App) -> Result<u8> {
    let config = app.config()?;
    let store = app.store()?;
    let (models, redactor) = (app.models(&config)?, app.redactor(&config)?);
    let flush = Flush {
        now: app.environment.now,
        zone: config.zone()?,
        idle: idle(&config),
        models: &models,
        redactor: &redactor,
    };
    if app.dry_run {
        let waiting = store.inbox().len();
        output::print(&format!(
            "would flush, with {} in the inbox\n",
            output::count(waiting, "context")
        ));
        return Ok(0);
    }
    let missing = |path: &Path| {
        // Whoever called us detached has gone on; it is told where somebody may look.
        local::note(
            store.layout(),
            app.environment.now,
            &format!("flush: there is no file `{}`", path.display()),
        );
        Ok(0)
    };
    let flushed = match (&args.context_file, &args.session_id, &args.transcript, &args.session) {
        (Some(file), Some(session), ..) => match std::fs::read(file) {
            Ok(text) => flush::handed_in(&store, &String::from_utf8_lossy(&text), session, &flush)?,
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => return missing(file),
            Err(err) => {
                return Err(Error::new(format!("cannot read the context `{}`", file.display()))
                    .because(err));
            }
        },
        (.., Some(log), Some(session)) => {
            if !log.is_file() {
                return missing(log);
            }
            let memory = app.memory()?;
            let once = || {
                let sweep = SweepRequest::default().roots(roots(log)).finalize(Some("flush"));
                flush::transcript(&memory, sweep, session, args.reason, &flush)
            };
            let looks = || std::fs::metadata(log).map(|metadata| Stamp::of(&metadata)).ok();
            let mut before = looks();
            let mut flushed = once()?;
            for _ in 1..if args.linger { MOST_LOOKS } else { 1 } {
                std::thread::sleep(MOMENT);
                if looks() == before {
                    break;
                }
                before = looks();
                flushed = once()?;
            }
            flushed
        }
        _ => flush::due(&store, &flush, Scope::All, "flush")?,
    };
    compile(&store, app, app.environment.now, &flushed)?;
    show(&flushed, app);
    Ok(0)
}

/// Tries again what earlier flushes could not do.
pub fn retry(
    store: &Store,
    config: &Settings,
    app: &App,
    now: Timestamp,
    models: &Models,
) -> Result<Flushed> {
    let redactor = &app.redactor(config)?;
    flush::retry(store, &Flush { now, zone: config.zone()?, idle: idle(config), models, redactor })
}

/// Flushes what is due, for `watch`.
pub fn due(
    store: &Store,
    config: &Settings,
    app: &App,
    now: Timestamp,
    models: &Models,
    scope: Scope,
) -> Result<Flushed> {
    let redactor = &app.redactor(config)?;
    let flush = Flush { now, zone: config.zone()?, idle: idle(config), models, redactor };
    flush::due(store, &flush, scope, "watch")
}

/// Compiles knowledge after a flush, if days have changed and an hour has passed.
pub fn compile(store: &Store, app: &App, now: Timestamp, flushed: &Flushed) -> Result<()> {
    // What waits for a model will change the days again.
    if flushed.kept > 0 {
        return Ok(());
    }
    let environment = Environment { now, ..app.environment.clone() };
    let memory = Memory::open_in(&app.root, environment)?;
    if let Err(error) = memory.compile_if_due() {
        local::note(store.layout(), now, &format!("compile: {error}"));
    }
    Ok(())
}

/// How long a session is silent before it counts as idle.
pub fn idle(config: &Settings) -> Duration {
    Duration::minutes(config.sessions.open_minutes.into())
}

/// A session's log, and the folder beside it in which its subagents have theirs.
fn roots(log: &Path) -> Vec<Root> {
    let beside = log.with_extension("");
    let beside = (beside != log && beside.is_dir()).then_some(beside);
    let paths = [Some(log.to_path_buf()), beside].into_iter().flatten();
    paths.map(Root::usual).collect()
}

fn show(flushed: &Flushed, app: &App) {
    if app.json {
        return output::json(flushed);
    }
    if app.quiet {
        return;
    }
    let mut said = Vec::new();
    for (count, what) in [
        (flushed.flushed, "flushed"),
        (flushed.nothing, "with nothing worth saving"),
        (flushed.duplicates, "flushed before"),
        (flushed.kept, "kept for a later flush"),
    ] {
        if count > 0 {
            said.push(format!("{} {what}", output::count(count, "context")));
        }
    }
    said.push(format!(
        "{} written",
        output::count(flushed.summaries.days.len(), "summary").replace("summarys", "summaries")
    ));
    output::print(&format!("{}\n", said.join(", ")));
}
