//! `memtree sweep`

use std::path::PathBuf;

use chrono::Duration;

use super::{Door, output};
use crate::adapters;
use crate::base::redact::Redactor;
use crate::base::text;
use crate::config::Config;
use crate::distill::clean::Cleaner;
use crate::error::{Context, Error, Result};
use crate::ops::capture::Pages;
use crate::ops::sweep::{self, Report, Root, Sweep};
use crate::ops::sample;
use crate::store::layout::Layout;

/// Read the agents' logs into the memory: the main job, once
///
/// Finds every session in the logs that agents keep on this machine, takes a raw snapshot of each, writes
/// its digest and its lines of the day, and refreshes the search index. Only what changed is read again.
/// Lines that cannot be read are named as `path:line: reason`, and the exit code is 3.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Take the bundled sample sessions instead of your own logs
    #[arg(long, conflicts_with = "source")]
    sample: bool,
    /// Look here instead; may be given more than once. The agent is told by the content of the files
    #[arg(long, value_name = "FLAVOR=PATH")]
    source: Vec<String>,
    /// Only sessions of this agent; may be given more than once
    #[arg(long, value_name = "FLAVOR")]
    only: Vec<String>,
    /// No sessions of this agent; may be given more than once
    #[arg(long, value_name = "FLAVOR")]
    except: Vec<String>,
}

pub fn run(args: Args, door: &Door) -> Result<u8> {
    for flavor in args.only.iter().chain(&args.except) {
        known_flavor(flavor)?;
    }
    let config = door.config()?;
    let samples = Layout::new(&door.root).samples();
    // The samples can only be read where they were unpacked; a rehearsal unpacks them elsewhere.
    let unpacked = args.sample.then(|| if door.dry_run { std::env::temp_dir().join(format!("memtree-sample-{}", std::process::id())) } else { samples });
    let roots = match &unpacked {
        Some(folder) => vec![Root { path: folder.clone(), glob: None, named: true }],
        None if args.source.is_empty() => own_roots(&config, door)?,
        None => args.source.iter().map(|source| named_root(source)).collect::<Result<_>>()?,
    };
    let bar = progress_bar(door);
    let rules: Vec<(String, String)> =
        config.redact.rules.iter().map(|rule| (rule.name.clone(), rule.pattern.clone())).collect();
    let redactor = Redactor::with_rules(&rules)
        .map_err(|reason| Error::new("cannot use the setting `redact.rules`").because(reason))?;
    let request = Sweep {
        roots,
        only: args.only,
        except: args.except,
        domains: config.domains.clone(),
        device: door.device.clone(),
        now: door.now,
        zone: config.zone()?,
        open_for: Duration::minutes(config.sessions.open_minutes.into()),
        pages: Pages {
            cleaner: Cleaner::new(redactor, config.snapshot.sensory_bytes),
            inline_lines: config.snapshot.inline_lines,
        },
        progress: &|done, of| {
            bar.set_length(of as u64);
            bar.set_position(done as u64);
        },
    };
    let report = if door.dry_run {
        if let Some(folder) = &unpacked {
            sample::unpack(folder).context(|| "cannot unpack the samples".into())?;
        }
        let report = sweep::rehearse(&door.root, &request);
        if let Some(folder) = &unpacked {
            let _ = std::fs::remove_dir_all(folder);
        }
        report?
    } else {
        let store = door.store_or_new()?;
        if let Some(folder) = &unpacked {
            sample::unpack(folder).context(|| "cannot unpack the samples".into())?;
        }
        sweep::sweep(&store, &request)?
    };
    bar.finish_and_clear();
    let place = match args.source.as_slice() {
        [] => "in the usual places".to_string(),
        sources => format!("in `{}`", sources.join("`, `")),
    };
    show(&report, door, args.sample, &place);
    Ok(if report.skipped.is_empty() { 0 } else { 3 })
}

fn show(report: &Report, door: &Door, sample: bool, place: &str) {
    for skipped in &report.skipped {
        eprintln!("{}:{}: {}", output::safe(&skipped.path.to_string_lossy()), skipped.line, output::safe(&skipped.reason));
    }
    if door.json {
        output::json(report);
        return;
    }
    if door.quiet {
        return;
    }
    let would = if door.dry_run { "would capture" } else { "captured" };
    let mut line = format!(
        "{} found: {would} {}, {} unchanged",
        output::count(report.discovered, "session"),
        report.captured,
        report.unchanged
    );
    let closed = report.digested.saturating_sub(report.captured);
    if closed > 0 {
        line.push_str(&format!(", closed {closed}"));
    }
    if !report.skipped.is_empty() {
        line.push_str(&format!(", skipped {}", output::count(report.skipped.len(), "line")));
    }
    output::print(&format!("{line} ({} ms)\n", report.took_ms));
    if report.discovered == 0 {
        door.say(format!("no agent's logs were found {place}; `{} sweep --sample` shows how a memory looks", door.program()));
    } else if !door.dry_run {
        let query = if sample { "EWOULDBLOCK lock" } else { "what you remember" };
        door.say(format!("next: `{} search \"{query}\"`", door.program()));
    }
}

/// Where the agents of this machine keep their logs, as the settings say.
fn own_roots(config: &Config, door: &Door) -> Result<Vec<Root>> {
    let mut roots = Vec::new();
    for adapter in adapters::ALL {
        let setting = config.sources.get(adapter.name());
        if setting.is_some_and(|setting| !setting.enabled || setting.root.is_some()) {
            continue;
        }
        let paths = adapter.roots(&door.places);
        roots.extend(paths.into_iter().map(|path| Root { path, glob: None, named: false }));
    }
    for (name, setting) in &config.sources {
        let (true, Some(root)) = (setting.enabled, &setting.root) else {
            if adapters::named(name).is_none() {
                door.say(format!("warning: the setting `sources.{name}` names no agent that memtree knows"));
            }
            continue;
        };
        let path = match root.strip_prefix("~/") {
            Some(below) => door.places.home.join(below),
            None => PathBuf::from(root),
        };
        let glob = setting.glob.as_deref().map(glob::Pattern::new).transpose().map_err(|err| {
            Error::new(format!("cannot use the setting `sources.{name}.glob`")).because(err)
        })?;
        roots.push(Root { path, glob, named: false });
    }
    Ok(roots)
}

fn named_root(source: &str) -> Result<Root> {
    let (flavor, path) = source.split_once('=').ok_or_else(|| {
        Error::usage(format!("`--source {source}` has no `=`")).hint("write `--source claude=PATH`")
    })?;
    known_flavor(flavor)?;
    let path = std::path::absolute(path).context(|| format!("cannot find `{path}`"))?;
    Ok(Root { path, glob: None, named: true })
}

fn known_flavor(flavor: &str) -> Result<()> {
    let mut names: Vec<&str> = adapters::ALL.iter().map(|adapter| adapter.name()).collect();
    names.sort_unstable();
    if names.contains(&flavor) {
        return Ok(());
    }
    let error = Error::usage(format!("unknown agent `{flavor}`; known: {}", names.join(", ")));
    Err(match text::nearest(flavor, names) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    })
}

fn progress_bar(door: &Door) -> indicatif::ProgressBar {
    use std::io::IsTerminal;
    if door.quiet || door.json || !std::io::stderr().is_terminal() {
        return indicatif::ProgressBar::hidden();
    }
    let bar = indicatif::ProgressBar::new(0);
    if let Ok(style) = indicatif::ProgressStyle::with_template("{bar:30} {pos}/{len} sessions") {
        bar.set_style(style);
    }
    bar
}
