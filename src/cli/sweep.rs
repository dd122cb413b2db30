//! `memtree sweep`

use super::retain::{self, RetentionArgs};
use super::sources::{SourceArgs, warn_of_unknown_agents};
use super::{App, folders, output};
use crate::error::{Context, Result};
use crate::ops::sample;
use crate::ops::sweep::{self, Report, Root};
use crate::store::layout::Layout;

/// Read the agents' logs into the memory: the main job, once
///
/// Finds every session in the logs that agents keep on this machine, takes a raw snapshot of each,
/// writes its digest and its lines of the day, and refreshes the search index. Only what changed is
/// read again. Folders that your own settings name under `[[folders]]` are kept too, once they have
/// lain still for half an hour. Lines that cannot be read are named as `path:line: reason`, and the
/// exit code is 3.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Take the bundled sample sessions instead of your own logs
    #[arg(long, conflicts_with = "source")]
    sample: bool,
    #[command(flatten)]
    sources: SourceArgs,
    #[command(flatten)]
    retention: RetentionArgs,
    /// Do nothing, but say what would be done
    #[arg(long)]
    pub(super) dry_run: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    args.sources.check()?;
    let config = app.config()?;
    let samples = Layout::new(&app.root).samples();
    // The samples can only be read where they were unpacked; a rehearsal unpacks them elsewhere.
    let unpacked = args.sample.then(|| {
        if app.dry_run {
            std::env::temp_dir().join(format!("memtree-sample-{}", std::process::id()))
        } else {
            samples
        }
    });
    let roots = match &unpacked {
        Some(folder) => vec![Root { path: folder.clone(), glob: None, named: true }],
        None => args.sources.roots(&config, app)?,
    };
    if !args.sample && args.sources.source.is_empty() {
        warn_of_unknown_agents(&config, app);
    }
    let bar = progress_bar(app);
    let progress = |done, of| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    };
    let models = app.models(&config)?;
    let mut request =
        args.sources.request(roots, &config, app, app.environment.now, &models, &progress)?;
    request.limits = args.retention.limits(&config);
    if !args.sample {
        request.folders = args.sources.folders(&config, app);
    }
    let report = if app.dry_run {
        if let Some(folder) = &unpacked {
            sample::unpack(folder).context(|| "cannot unpack the samples".into())?;
        }
        let report = sweep::rehearse(&app.root, &request);
        if let Some(folder) = &unpacked {
            let _ = std::fs::remove_dir_all(folder);
        }
        report?
    } else {
        let store = app.store_or_new()?;
        if let Some(folder) = &unpacked {
            sample::unpack(folder).context(|| "cannot unpack the samples".into())?;
        }
        let report = sweep::sweep(&store, &request)?;
        super::flush::retry(&store, &config, app, app.environment.now, &models)?;
        report
    };
    bar.finish_and_clear();
    let place = match args.sources.source.as_slice() {
        [] => "in the usual places".to_string(),
        sources => format!("in `{}`", sources.join("`, `")),
    };
    show(&report, app, args.sample, &place);
    Ok(match (report.retention.data_loss.is_empty(), report.skipped.is_empty()) {
        (false, _) => 1,
        (true, false) => 3,
        (true, true) => 0,
    })
}

fn show(report: &Report, app: &App, sample: bool, place: &str) {
    for skipped in &report.skipped {
        eprintln!(
            "{}:{}: {}",
            output::safe(&skipped.path.to_string_lossy()),
            skipped.line,
            output::safe(&skipped.reason)
        );
    }
    if let Some(model) = &report.model
        && let Some(reason) = &model.unavailable
    {
        let waiting = output::count(model.waiting, "digest");
        eprintln!("the model has not answered: {}", output::safe(reason));
        app.note(format!("{waiting} can do without it; the next sweep asks again"));
    }
    folders::warn(&report.folders);
    retain::warn(&report.retention);
    if app.json {
        output::json(report);
        return;
    }
    if app.quiet {
        return;
    }
    let would = if app.dry_run { "would capture" } else { "captured" };
    let mut line = format!(
        "{} found: {would} {}, {} unchanged",
        output::count(report.discovered, "session"),
        report.captured,
        report.unchanged
    );
    if report.excluded > 0 {
        line.push_str(&format!(", {} left out", report.excluded));
    }
    let closed = report.digested.saturating_sub(report.captured);
    if closed > 0 {
        line.push_str(&format!(", closed {closed}"));
    }
    if !report.cores.is_empty() {
        line.push_str(&format!(", consolidated {}", output::count(report.cores.len(), "core")));
    }
    if !report.skipped.is_empty() {
        line.push_str(&format!(", skipped {}", output::count(report.skipped.len(), "line")));
    }
    if let Some(model) = report.model.as_ref().filter(|model| model.improved > 0) {
        line.push_str(&format!(", a model added to {}", model.improved));
    }
    output::print(&format!("{line} ({} ms)\n", report.took_ms));
    output::print(&folders::told(&report.folders));
    if report.retention.evicted.count() > 0 {
        output::print(&retain::summary(&report.retention));
    }
    if report.discovered == 0 && report.folders.is_empty() {
        app.note(format!(
            "no agent's logs were found {place}; `{} sweep --sample` shows how a memory looks",
            app.program()
        ));
    } else if !app.dry_run {
        let query = if sample { "EWOULDBLOCK lock" } else { "what you remember" };
        app.note(format!("next: `{} search \"{query}\"`", app.program()));
    }
}

fn progress_bar(app: &App) -> indicatif::ProgressBar {
    use std::io::IsTerminal;
    if app.quiet || app.json || !std::io::stderr().is_terminal() {
        return indicatif::ProgressBar::hidden();
    }
    let bar = indicatif::ProgressBar::new(0);
    if let Ok(style) = indicatif::ProgressStyle::with_template("{bar:30} {pos}/{len} sessions") {
        bar.set_style(style);
    }
    bar
}
