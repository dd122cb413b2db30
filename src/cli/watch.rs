//! `memtree watch`

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::{Duration, Instant};

use serde_json::json;

use super::sources::{SourceArgs, warn_of_unknown_agents};
use super::{Door, output};
use crate::base::clock::{self, Timestamp};
use crate::base::files;
use crate::base::watcher::Watcher;
use crate::config::Config;
use crate::error::{Context, Error, Result};
use crate::ops::sweep::{self, Report, Root};
use crate::ops::watch::{self, News, Pace, World};

/// Sweep whenever logs change, until stopped
///
/// Sweeps at once, then a few seconds after the last change of a log, and every 12 hours although nothing
/// changed; `watch.interval` and `watch.debounce_seconds` set both. Logs that do not exist yet are noticed when
/// they appear. One watch runs for each memory. Ctrl-C stops it after the sweep at hand, a second one at once.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    sources: SourceArgs,
}

/// While logs keep changing, a sweep starts after this long.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn run(args: Args, door: &Door) -> Result<u8> {
    args.sources.check()?;
    let config = door.config()?;
    if args.sources.source.is_empty() {
        warn_of_unknown_agents(&config, door);
    }
    let pace = pace(&config)?;
    let (watched, awaited): (Vec<PathBuf>, Vec<PathBuf>) =
        places(&args.sources, &config, door)?.into_iter().map(|root| root.path).partition(|path| path.exists());
    if door.dry_run {
        rehearse(&watched, &awaited, &config, pace, door);
        return Ok(0);
    }
    let store = door.store_or_new()?;
    let lock = store.layout().watch_lock();
    let _lock = files::try_lock_exclusive(&lock)
        .context(|| format!("cannot write to the memory `{}`", door.root.display()))?
        .ok_or_else(|| {
            Error::new(format!("another `memtree watch` runs for the memory `{}`", door.root.display()))
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
    door.say(format!("watching {places}{awaited}, sweeping at least every {}; Ctrl-C stops", config.watch.interval));
    let began = Instant::now();
    watch::watch(&mut Machine { args, door, began, news, sender, stop, watcher: None, pace, told: HashSet::new() });
    door.say("stopped");
    Ok(0)
}

fn rehearse(watched: &[PathBuf], awaited: &[PathBuf], config: &Config, pace: Pace, door: &Door) {
    if door.json {
        return output::json(&json!({
            "watched": watched,
            "awaited": awaited,
            "interval_seconds": pace.interval.as_secs(),
            "debounce_seconds": pace.settle.as_secs(),
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
    output::print(&format!("{text}would sweep {settle} s after the last change, and every {interval}\n"));
}

/// The machine as it is: its clock, its files and the memory.
struct Machine<'a> {
    args: Args,
    door: &'a Door,
    began: Instant,
    news: Receiver<()>,
    sender: SyncSender<()>,
    stop: Arc<AtomicBool>,
    watcher: Option<Watcher>,
    pace: Pace,
    /// The trouble of the last sweep, so that it is not told at each.
    told: HashSet<String>,
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

    fn sweep(&mut self) -> Pace {
        match self.sweep_once() {
            Ok(pace) => self.pace = pace,
            // The next one may do better.
            Err(error) if self.door.json => output::json_line(&output::error_object(&error)),
            Err(error) => output::error(&error, false),
        }
        self.pace
    }
}

impl Machine<'_> {
    fn sweep_once(&mut self) -> Result<Pace> {
        let door = self.door;
        // Settings may change while we run.
        let (config, _) = door.settings()?;
        let store = door.store()?;
        let mut pace = pace(&config)?;
        let roots = places(&self.args.sources, &config, door)?;
        // The new watcher is there before the sweep begins and before the old one goes, so that nothing is missed.
        let paths: Vec<PathBuf> = roots.iter().map(|root| root.path.clone()).collect();
        let sender = self.sender.clone();
        let watcher = Watcher::new(&paths, &door.root, move || {
            let _ = sender.try_send(());
        });
        let before = std::mem::take(&mut self.told);
        for trouble in &watcher.trouble {
            if !before.contains(trouble) {
                eprintln!(
                    "warning: changes are noticed only every {}: {}",
                    config.watch.interval,
                    output::safe(trouble)
                );
            }
        }
        self.told.extend(watcher.trouble.iter().cloned());
        self.watcher = Some(watcher);
        let now = clock::now().map_err(|reason| Error::new("cannot tell the time").because(reason))?;
        let models = door.models(&config)?;
        let request = self.args.sources.request(roots, &config, door, now, &models, &|_, _| {})?;
        let report = sweep::sweep(&store, &request)?;
        super::flush::due(&store, &config, door, now, &models)?;
        if report.captured > 0 {
            // A session that is open now will have to be closed, although nothing changes any more.
            let closing = Duration::from_secs(60 * u64::from(config.sessions.open_minutes) + 60);
            pace.interval = pace.interval.min(closing);
        }
        self.show(&report, &before, now);
        Ok(pace)
    }

    /// Says what a sweep did, if it did anything.
    fn show(&mut self, report: &Report, before: &HashSet<String>, now: Timestamp) {
        let mut skipped = 0;
        for one in &report.skipped {
            let line = format!("{}:{}: {}", one.path.display(), one.line, one.reason);
            if !before.contains(&line) {
                eprintln!("{}", output::safe(&line));
                skipped += 1;
            }
            self.told.insert(line);
        }
        if report.digested == 0 && skipped == 0 {
            return;
        }
        if self.door.json {
            return output::json_line(report);
        }
        let mut line = format!("{} captured {}", clock::stamp(now), output::count(report.captured, "session"));
        let closed = report.digested.saturating_sub(report.captured);
        if closed > 0 {
            line.push_str(&format!(", closed {closed}"));
        }
        if skipped > 0 {
            line.push_str(&format!(", skipped {}", output::count(skipped, "line")));
        }
        self.door.say(format!("{line} ({} ms)", report.took_ms));
    }
}

/// The places to watch; one that was named need not be there yet.
fn places(sources: &SourceArgs, config: &Config, door: &Door) -> Result<Vec<Root>> {
    let roots = sources.roots(config, door)?;
    Ok(roots.into_iter().map(|root| Root { named: false, ..root }).collect())
}

fn pace(config: &Config) -> Result<Pace> {
    let settle = Duration::from_secs(config.watch.debounce_seconds.into());
    Ok(Pace { settle, patience: PATIENCE, interval: config.watch_interval()? })
}

/// Sets the flag at the first signal to end, and wakes whoever waits; the second one ends the program.
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
