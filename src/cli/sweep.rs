//! `memtree sweep`

use std::path::PathBuf;
use std::time::Duration;

use super::retain::{self, RetentionArgs};
use super::sources::SourceArgs;
use super::{App, config, folders, output};
use crate::capture::sources::Root;
use crate::error::{Context, Result};
use crate::memory::Memory;
use crate::ops::embeddings::EmbeddingsReport;
use crate::ops::flush::FlushRequest;
use crate::ops::sample;
use crate::ops::sweep::{SweepReport, SweepRequest};
use crate::ops::turns;
use crate::store::Store;

/// Read the agents' logs into the memory: the main job, once
///
/// Finds every session in the logs that agents keep on this machine, takes a raw snapshot of each,
/// writes its digest and its lines of the day, and refreshes the search index. Only what changed is
/// read again. Folders that your own settings name under `[[folders]]` are kept too, once they have
/// lain still for half an hour. Lines that cannot be read are named as `path:line: reason`, and the
/// exit code is 3.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Take the bundled sample sessions instead of your own logs; they go into `./memtree-sample`,
    /// unless you name a memory, or the one at hand holds nothing else
    #[arg(long, conflicts_with = "source")]
    sample: bool,
    #[command(flatten)]
    sources: SourceArgs,
    #[command(flatten)]
    retention: RetentionArgs,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
    /// The agent's own id of a session whose agent does not say when it ends
    #[arg(long, hide = true, value_name = "ID", requires = "after_turn")]
    session: Option<String>,
    /// Wait, and sweep only if this was the session's last turn until then
    #[arg(long, hide = true, value_name = "TURN", requires = "session")]
    after_turn: Option<u64>,
}

/// How long an agent's session has to be quiet after an answer: a person who goes on has done so by
/// then, most of the time.
const QUIET: Duration = Duration::from_secs(if cfg!(debug_assertions) { 2 } else { 15 });

pub fn run(args: Args, app: &App) -> Result<u8> {
    if let (Some(session), Some(turn)) = (&args.session, args.after_turn) {
        std::thread::sleep(QUIET);
        // The session went on, and its next turn has its own sweep; or it has ended, and was taken
        // in.
        if turns::so_far(app.memory()?.store(), session) != turn {
            return Ok(0);
        }
    }
    if !args.sample || takes_samples(app) {
        return sweep(args, app);
    }
    // Nobody wants invented sessions among their own.
    let root = app.environment.current_dir.join(SAMPLE_MEMORY);
    let environment = app.environment.clone();
    let sample = App { root, store_was_named: true, json: app.json, quiet: app.quiet, environment };
    let code = sweep(args, &sample)?;
    sample.note(format!(
        "this sample is a memory of its own; delete it with `rm -r {SAMPLE_MEMORY}`"
    ));
    Ok(code)
}

/// Where the samples go where there is no other place for them.
const SAMPLE_MEMORY: &str = "memtree-sample";

/// Whether the samples may go into the memory at hand: a person named it, or it lies in a project
/// and has no session but them.
fn takes_samples(app: &App) -> bool {
    if app.store_was_named || app.environment.variable("MEMTREE_STORE").is_some() {
        return true;
    }
    let store = Store::at(&app.root);
    let is_sample = |id| {
        let digest = store.digest(id).ok().flatten();
        digest.is_some_and(|digest| sample::has_session(&digest.source_id))
    };
    app.root != app.environment.places.home.join("memory")
        && store.session_ids().unwrap_or_default().iter().all(is_sample)
}

fn sweep(args: Args, app: &App) -> Result<u8> {
    let selection = args.sources.selection()?;
    let memory = if args.dry_run { app.memory_for_dry_run()? } else { app.memory_or_new()? };
    if !args.dry_run {
        memory.refuse_tracked_raw()?;
    }
    let bar = output::progress_bar(app.quiet || app.json);
    let progress = |done, of| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    };
    let limits = args.retention.limits(memory.limits());
    let mut request = SweepRequest::default()
        .selection(selection)
        .limits(limits)
        .dry_run(args.dry_run)
        .progress(&progress);
    let mut samples = None;
    if args.sample {
        let unpacked = Samples::unpack(&memory, args.dry_run)?;
        request = request.roots(vec![Root::named(&unpacked.folder)]);
        samples = Some(unpacked);
    } else {
        args.sources.warn_of_unknown_agents(&memory, app);
    }
    let report = memory.sweep(request)?;
    drop(samples);
    if !args.dry_run {
        memory.flush(FlushRequest::Retry)?;
    }
    bar.finish_and_clear();
    let place = match args.sources.source.as_slice() {
        [] => "in the usual places".to_string(),
        sources => format!("in `{}`", sources.join("`, `")),
    };
    show(&report, app, &args, &place);
    Ok(match (report.retention.data_loss.is_empty(), report.skipped.is_empty()) {
        (false, _) => 1,
        (true, false) => 3,
        (true, true) => 0,
    })
}

/// What was done for vectors, and what still waits.
fn show_embeddings(report: &SweepReport, app: &App) {
    let Some(EmbeddingsReport { sessions, chunks, waiting, unavailable }) = &report.embeddings
    else {
        return;
    };
    if let Some(reason) = unavailable {
        eprintln!("the server of embeddings has not answered: {}", output::safe(reason));
    }
    let made = format!("made {} of {}", output::count(*chunks, "vector"), of_sessions(*sessions));
    match (*chunks, *waiting) {
        (0, 0) => {}
        (_, 0) => app.note(made),
        (0, _) => app.note(format!("{} for vectors until the next sweep", wait(*waiting))),
        _ => app.note(format!("{made}; {} for the next sweep", wait(*waiting))),
    }
}

fn of_sessions(sessions: usize) -> String {
    output::count(sessions, "session")
}

fn wait(sessions: usize) -> String {
    let verb = if sessions == 1 { "waits" } else { "wait" };
    format!("{} {verb}", of_sessions(sessions))
}

fn show(report: &SweepReport, app: &App, args: &Args, place: &str) {
    for skipped in &report.skipped {
        eprintln!(
            "{}:{}: {}",
            output::safe(&skipped.path.to_string_lossy()),
            skipped.line,
            output::safe(&skipped.reason)
        );
    }
    let more = report.skipped_total.saturating_sub(report.skipped.len() as u64);
    if more > 0 {
        eprintln!("and {more} more; `state/skipped.txt` of each session names them all");
    }
    if let Some(older) = report.older_rules {
        app.note(format!(
            "{} captured with rules that knew fewer secrets; `{} doctor --secrets --fix` writes \
             their pages again",
            match older {
                1 => "1 session was".to_string(),
                _ => format!("{older} sessions were"),
            },
            app.program()
        ));
    }
    if let Some(model) = &report.model
        && let Some(reason) = &model.unavailable
    {
        let waiting = output::count(model.waiting, "digest");
        eprintln!("the model has not answered: {}", output::safe(reason));
        app.note(format!("{waiting} can do without it; the next sweep asks again"));
    }
    show_embeddings(report, app);
    for entry in &report.quarantined {
        let by = entry.by.as_ref().map_or("another device".to_string(), |by| format!("`{by}`"));
        app.note(format!(
            "{by} forgot {} (“{}”): it is in quarantine until {}; `{}` brings it back",
            entry.session, entry.title, entry.until, entry.undo
        ));
    }
    for session in &report.quarantine_ended {
        app.note(format!("{session} was in quarantine for thirty days and is deleted"));
    }
    config::warn_of_waiting(&report.settings_waiting, app);
    for device in &report.new_devices {
        app.note(format!(
            "new here: the device `{device}`; what it wrote is given to agents as somebody's words. \
             If it is yours: `memtree config trust {device}`"
        ));
    }
    if let Some(from) = &report.copied_from {
        app.note(format!(
            "this folder was copied from the device `{from}`, so it has another name here; \
             nothing that was accepted there counts here"
        ));
    }
    if let Some(first) = report.namesakes.first() {
        let sessions = output::count(report.namesakes.len(), "session");
        eprintln!(
            "warning: another device has this one's name, `{}`: {sessions} in its name, such as \
             {first}, came from elsewhere; give one of the two another name with MEMTREE_DEVICE, \
             or, if they are your own from an earlier copy: `memtree config trust {}`",
            first.device, first.device
        );
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
    output::print(&summary(report, args.dry_run));
    if let Some(first) = report.repaired.first() {
        let pages = output::count(report.repaired.len(), "damaged file");
        output::print(&format!("repaired: {pages}, such as {first}\n"));
    }
    output::print(&retain::storage(&report.retention, args.dry_run));
    output::print(&folders::lines(&report.folders));
    let found_nothing = report.discovered + report.excluded == 0 && report.folders.is_empty();
    // What could not be read was found, and is named.
    if found_nothing && report.skipped_total == 0 {
        app.note(format!(
            "no agent's logs were found {place}; `{} sweep --sample` shows how a memory looks",
            app.program()
        ));
    } else if !args.dry_run && !found_nothing {
        let query = if args.sample { "EWOULDBLOCK lock" } else { "what you remember" };
        app.note(format!("next: `{} search \"{query}\"`", app.program()));
    }
}

/// What was found and what became of it, in one line.
fn summary(report: &SweepReport, dry_run: bool) -> String {
    let (captured, digested) = match dry_run {
        true => ("would be captured", "would be digested"),
        false => ("captured", "digested"),
    };
    let digested_count = if dry_run { report.captured } else { report.digested };
    let closed = report.digested.saturating_sub(report.captured);
    let mut parts = vec![
        format!("{} {captured}", report.captured),
        format!("{} unchanged", report.unchanged),
        format!("{digested_count} {digested}"),
        format!("{} skipped", output::count(report.skipped_total as usize, "line")),
    ];
    let model = report.model.as_ref().map_or(0, |model| model.improved);
    let cores = output::count(report.cores.len(), "core");
    let redactions = format!(
        "redacted {} in {}",
        output::count(report.redactions.count as usize, "secret"),
        output::count(report.redactions.sessions, "session")
    );
    for (count, part) in [
        (report.excluded, format!("{} left out", report.excluded)),
        (report.held_back, format!("{} held back", report.held_back)),
        (report.left_to_others, format!("{} left to other devices", report.left_to_others)),
        (report.quarantined.len(), format!("{} quarantined", report.quarantined.len())),
        (closed, format!("closed {closed}")),
        (report.upgraded, format!("{} written in format 2", report.upgraded)),
        (report.cores.len(), format!("consolidated {cores}")),
        (model, format!("a model added to {model}")),
        (report.redactions.sessions, redactions),
    ] {
        if count > 0 {
            parts.push(part);
        }
    }
    let agents: Vec<String> =
        report.by_flavor.iter().map(|(flavor, count)| format!("{count} {flavor}")).collect();
    let agents =
        if agents.is_empty() { String::new() } else { format!(" ({})", agents.join(", ")) };
    let discovered = output::count(report.discovered, "session");
    format!("{discovered} discovered: {}{agents} ({} ms)\n", parts.join(", "), report.took_ms)
}

/// The bundled samples can only be read where they were unpacked; a dry run unpacks them elsewhere,
/// and clears them away.
struct Samples {
    folder: PathBuf,
    is_temporary: bool,
}

impl Samples {
    fn unpack(memory: &Memory, is_temporary: bool) -> Result<Samples> {
        let folder = match is_temporary {
            true => std::env::temp_dir().join(format!("memtree-sample-{}", std::process::id())),
            false => memory.layout().samples(),
        };
        sample::unpack(&folder).context(|| "cannot unpack the samples".into())?;
        Ok(Samples { folder, is_temporary })
    }
}

impl Drop for Samples {
    fn drop(&mut self) {
        if self.is_temporary {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}
