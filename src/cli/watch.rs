//! `memtree watch`

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::{Duration, Instant};

use serde_json::json;

use super::sources::SourceArgs;
use super::{App, folders, output, sync};
use crate::base::clock::{self, Timestamp};
use crate::base::files;
use crate::base::watcher::Watcher;
use crate::capture::folder::FolderStatus;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::ops::days::Scope;
use crate::ops::flush::{FlushReport, FlushRequest};
use crate::ops::sweep::{SweepReport, SweepRequest};
use crate::ops::sync::SyncRequest;
use crate::ops::watch::{self, News, Pace, Skip, Swept, Trigger, World};
use crate::settings::Settings;

/// Sweep whenever logs change, until stopped
///
/// Sweeps at once, then a few seconds after the last change of a log, and every 12 hours although
/// nothing changed; `watch.interval` and `watch.debounce_seconds` set both. What can wait is done
/// when a session has ended, at most every five minutes (`watch.finalize_seconds`), and with each
/// interval: days that are over get their last summary, idle sessions are flushed, knowledge is
/// compiled. Logs that do not exist yet are noticed when they appear. One watch runs for each
/// memory. Ctrl-C stops it after the sweep at hand, a second one at once.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    sources: SourceArgs,
    /// Sync after sweeps that captured something, as `memtree sync` does, but not more often than
    /// `sync.debounce_seconds` says; what cannot be pushed is reported, and the watch goes on
    #[arg(long)]
    sync: bool,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
}

/// While logs keep changing, a sweep starts after this long.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn run(args: Args, app: &App) -> Result<u8> {
    let memory = app.memory_for_dry_run()?;
    args.sources.warn_of_unknown_agents(&memory, app);
    let pace = pace(memory.settings())?;
    let (watched, awaited): (Vec<PathBuf>, Vec<PathBuf>) =
        request(&args.sources)?.places(&memory)?.into_iter().partition(|path| files::exists(path));
    if args.dry_run {
        preview(&watched, &awaited, memory.settings(), pace, app);
        return Ok(0);
    }
    let memory = app.memory_or_new()?;
    let lock = memory.layout().watch_lock();
    let _lock = files::try_lock_exclusive(&lock)
        .context(|| format!("cannot write to the memory `{}`", app.root.display()))?
        .ok_or_else(|| {
            Error::new(format!(
                "another `memtree watch` runs for the memory `{}`",
                app.root.display()
            ))
            .hint("stop that one first, or name another memory with `--store`")
        })?;
    // One piece of news is enough to know that there is any.
    let (sender, news) = mpsc::sync_channel(1);
    let stop = Arc::new(AtomicBool::new(false));
    stop_on_signals(&stop, sender.clone()).context(|| "cannot listen for signals".into())?;
    let awaited = match awaited.len() {
        0 => String::new(),
        more => format!(" ({more} more once they are there)"),
    };
    let places = output::count(watched.len(), "place");
    app.note(format!(
        "watching {places}{awaited}, sweeping at least every {}; Ctrl-C stops",
        memory.settings().watch.interval
    ));
    let began = Instant::now();
    let (watcher, last, warned, syncing) = (None, None, HashSet::new(), Syncing::default());
    watch::watch(&mut Machine {
        args,
        app,
        began,
        news,
        sender,
        stop,
        watcher,
        pace,
        last,
        warned,
        syncing,
    });
    app.note("stopped");
    Ok(0)
}

fn preview(watched: &[PathBuf], awaited: &[PathBuf], config: &Settings, pace: Pace, app: &App) {
    if app.json {
        return output::json(&json!({
            "watched": watched,
            "awaited": awaited,
            "interval_seconds": pace.interval.as_secs(),
            "debounce_seconds": pace.settle.as_secs(),
            "finalize_seconds": pace.debounce.as_secs(),
        }));
    }
    let mut text = String::new();
    for path in watched {
        text.push_str(&format!("would watch `{}`\n", path.display()));
    }
    for path in awaited {
        text.push_str(&format!("would watch `{}` once it is there\n", path.display()));
    }
    let (settle, interval) = (pace.settle.as_secs(), &config.watch.interval);
    output::print(&format!(
        "{text}would sweep {settle} s after the last change, and every {interval}\n"
    ));
}

/// The machine as it is: its clock, its files and the memory.
struct Machine<'a> {
    args: Args,
    app: &'a App,
    began: Instant,
    news: Receiver<()>,
    sender: SyncSender<()>,
    stop: Arc<AtomicBool>,
    watcher: Option<Watcher>,
    pace: Pace,
    /// What the last sweep did, until it is shown.
    last: Option<Done>,
    /// The warnings of the last sweep, so that they are not shown at each.
    warned: HashSet<String>,
    syncing: Syncing,
}

/// When it last synced, and whether something waits for the next time.
#[derive(Default)]
struct Syncing {
    last: Option<Duration>,
    waits: bool,
    /// What went wrong the last time, so that it is reported once.
    trouble: String,
}

/// What a sweep did.
struct Done {
    at: Timestamp,
    report: SweepReport,
    /// How many lines were skipped that have not been shown yet.
    skipped: usize,
}

impl World for Machine<'_> {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn wait(&mut self, at_most: Duration) -> News {
        let heard = !self.stop.load(Ordering::SeqCst) && self.news.recv_timeout(at_most).is_ok();
        match (self.stop.load(Ordering::SeqCst), heard) {
            (true, _) => News::Stop,
            (false, true) => News::Changed,
            (false, false) => News::Nothing,
        }
    }

    fn sweep(&mut self) -> Swept {
        match self.sweep_once() {
            Ok(swept) => {
                self.pace = swept.pace;
                swept
            }
            // The next one may do better.
            Err(error) => {
                self.complain(&error);
                Swept { pace: self.pace, ended: false }
            }
        }
    }

    fn finalize(&mut self, decision: Result<Trigger, Skip>) {
        let flushed = decision.map(|_| {
            self.finalize_now().unwrap_or_else(|error| {
                self.complain(&error);
                FlushReport::default()
            })
        });
        self.show(decision, flushed.unwrap_or_default());
        if self.args.sync {
            self.sync_if_due();
        }
    }
}

impl Machine<'_> {
    fn complain(&self, error: &Error) {
        match self.app.json {
            true => output::json_line(&output::error_object(error)),
            false => output::error(error, false),
        }
    }

    fn sweep_once(&mut self) -> Result<Swept> {
        let app = self.app;
        // Settings may change while we run.
        let memory = reopened(app)?;
        app.tell_settled(&memory)?;
        let (settings, now) = (memory.settings(), memory.now());
        let mut pace = pace(settings)?;
        let request = request(&self.args.sources)?;
        // The new watcher is there before the sweep begins and before the old one goes, so that
        // nothing is missed.
        let paths = request.places(&memory)?;
        let sender = self.sender.clone();
        let watcher = Watcher::new(&paths, &app.root, move || {
            let _ = sender.try_send(());
        });
        let before = std::mem::take(&mut self.warned);
        let warnings = watcher.errors.iter().map(|error| {
            format!(
                "warning: changes are noticed only every {}: {}",
                settings.watch.interval,
                output::safe(error)
            )
        });
        let watching: Vec<String> = warnings.collect();
        self.watcher = Some(watcher);
        let report = memory.sweep(request)?;
        let models = memory.models()?;
        if models.is_enabled() && report.captured > 0 {
            memory.flush(FlushRequest::Watch(Scope::Today))?;
        }
        if report.captured > 0 {
            // A session that is open now will have to be closed, although nothing changes any more.
            let closing = Duration::from_secs(60 * u64::from(settings.sessions.open_minutes) + 60);
            pace.interval = pace.interval.min(closing);
        }
        self.syncing.waits |= report.digested > 0 || self.syncing.last.is_none();
        if self.args.sync && self.syncing.waits {
            pace.interval = pace.interval.min(sync_debounce(settings));
        }
        if let Some(due) = report.folders.iter().filter_map(|folder| folder.due).min() {
            let wait =
                (due - now).to_std().unwrap_or_default().saturating_add(Duration::from_secs(1));
            pace.interval = pace.interval.min(wait);
        }
        let skipped = report
            .skipped
            .iter()
            .map(|one| format!("{}:{}: {}", one.path.display(), one.line, one.reason));
        let skipped: Vec<String> = skipped.collect();
        let unheard = |line: &&String| !before.contains(*line);
        let warnings = report.folders.iter().filter_map(folders::warning);
        let warnings: Vec<String> = watching.into_iter().chain(warnings).collect();
        for line in warnings.iter().chain(&skipped).filter(unheard) {
            eprintln!("{}", output::safe(line));
        }
        let count = skipped.iter().filter(unheard).count();
        self.warned = warnings.into_iter().chain(skipped).collect();
        let ended = report.ended > 0;
        self.last = Some(Done { at: now, report, skipped: count });
        Ok(Swept { pace, ended })
    }

    /// Syncs what was captured, unless it did so a moment ago.
    fn sync_if_due(&mut self) {
        let synced = reopened(self.app).and_then(|memory| {
            let since = self.syncing.last.map(|last| self.began.elapsed().saturating_sub(last));
            let debounce = sync_debounce(memory.settings());
            if !self.syncing.waits || since.is_some_and(|since| since < debounce) {
                return Ok(None);
            }
            self.syncing.last = Some(self.began.elapsed());
            let program = self.app.program_path()?;
            memory.sync(&SyncRequest::default().program(program)).map(Some)
        });
        match synced {
            Ok(None) => {}
            Ok(Some(report)) => {
                self.syncing.waits = report.offline.is_some();
                self.syncing.trouble.clear();
                match self.app.json {
                    true => output::json_line(&json!({ "sync": report })),
                    false => self.app.note(sync::shown(&report).trim_end()),
                }
            }
            Err(error) => {
                let earlier = std::mem::replace(&mut self.syncing.trouble, error.to_string());
                if earlier != self.syncing.trouble {
                    self.complain(&error);
                }
            }
        }
    }

    /// Does what can wait.
    fn finalize_now(&self) -> Result<FlushReport> {
        let memory = reopened(self.app)?;
        let flushed = memory.flush(FlushRequest::Watch(Scope::All))?;
        memory.compile_after(&flushed);
        Ok(flushed)
    }

    /// Says what was done, if anything was.
    fn show(&mut self, decision: Result<Trigger, Skip>, flushed: FlushReport) {
        let Some(Done { at, report, skipped }) = self.last.take() else {
            return self.say_finalized(&flushed);
        };
        let kept =
            report.folders.iter().filter(|folder| folder.status == FolderStatus::Kept).count();
        if report.digested == 0 && kept == 0 && skipped == 0 {
            return self.say_finalized(&flushed);
        }
        if self.app.json {
            let decided = match &decision {
                Ok(trigger) => {
                    json!({"trigger": trigger, "finalized": flushed.summaries.finalized})
                }
                Err(skip) => json!({"skipped": skip}),
            };
            let mut line = json!(report);
            line["finalize"] = decided;
            return output::json_line(&line);
        }
        let mut line =
            format!("{} captured {}", clock::stamp(at), output::count(report.captured, "session"));
        let closed = report.digested.saturating_sub(report.captured);
        if closed > 0 {
            line.push_str(&format!(", closed {closed}"));
        }
        if kept > 0 {
            line.push_str(&format!(", kept {}", output::count(kept, "folder")));
        }
        if skipped > 0 {
            line.push_str(&format!(", skipped {}", output::count(skipped, "line")));
        }
        self.app.note(format!("{line} ({} ms)", report.took_ms));
        self.say_finalized(&flushed);
    }

    fn say_finalized(&self, flushed: &FlushReport) {
        let days = flushed.summaries.finalized.len();
        if days > 0 && !self.app.json {
            self.app.note(format!("finalized {}", output::count(days, "day")));
        }
    }
}

/// The memory as it is now, without a second warning about its settings.
fn reopened(app: &App) -> Result<Memory> {
    Memory::open_in(&app.root, app.environment.at_present()?)
}

/// What each round sweeps; a place that was named need not be there yet. Days that are over wait.
fn request(sources: &SourceArgs) -> Result<SweepRequest<'static>> {
    let mut selection = sources.selection()?;
    selection.roots.iter_mut().for_each(|root| root.named = false);
    Ok(SweepRequest::default().selection(selection).finalize(false))
}

fn sync_debounce(config: &Settings) -> Duration {
    Duration::from_secs(config.sync.debounce_seconds.into())
}

fn pace(config: &Settings) -> Result<Pace> {
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    let interval = config.watch_interval()?;
    Ok(Pace {
        settle: seconds(config.watch.debounce_seconds),
        patience: PATIENCE,
        interval,
        debounce: seconds(config.watch.finalize_seconds),
        finalize: interval,
    })
}

/// Sets the flag at the first signal to end, and wakes whoever waits; the second one ends the
/// program.
#[cfg(unix)]
fn stop_on_signals(stop: &Arc<AtomicBool>, waker: SyncSender<()>) -> std::io::Result<()> {
    use signal_hook::consts::TERM_SIGNALS;
    use signal_hook::flag;
    for signal in TERM_SIGNALS {
        // In this order: at the first signal the flag is not yet set.
        flag::register_conditional_shutdown(*signal, 1, stop.clone())?;
        flag::register(*signal, stop.clone())?;
    }
    let mut signals = signal_hook::iterator::Signals::new(TERM_SIGNALS)?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            // If it is full, the one who waits wakes anyway.
            let _ = waker.try_send(());
        }
    });
    Ok(())
}

/// Elsewhere Ctrl-C ends the program at once; the next sweep does what is left.
#[cfg(not(unix))]
fn stop_on_signals(_: &Arc<AtomicBool>, _: SyncSender<()>) -> std::io::Result<()> {
    Ok(())
}
