//! `memtree consolidate`

use super::{App, output};
use crate::error::Result;
use crate::ops::consolidate::{ConsolidateReport, ConsolidateRequest};

/// Roll every eight closed sessions into a core, every eight cores into a sphere, and rewrite
/// MEMORY.md
///
/// Every sweep does this too. A core is made once all eight sessions with its numbers are closed,
/// forgotten or not worth remembering; a digest that changes later opens it again. Nothing is
/// deleted: what holds no more is superseded, with what replaced it and why.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let dry_run = args.dry_run;
    let report = app.memory_for(dry_run)?.consolidate(ConsolidateRequest { dry_run })?;
    if app.json {
        output::json(&report);
        return Ok(0);
    }
    if !app.quiet {
        show(&report, dry_run, app);
    }
    Ok(0)
}

fn show(report: &ConsolidateReport, dry_run: bool, app: &App) {
    let ConsolidateReport { cores, spheres, memory, left_out, waiting, .. } = report;
    let would = if dry_run { "would write" } else { "wrote" };
    let mut text = String::new();
    if cores.is_empty() && spheres.is_empty() && !memory {
        text.push_str("nothing to consolidate\n");
    } else {
        let mut written =
            vec![output::count(cores.len(), "core"), output::count(spheres.len(), "sphere")];
        written.extend(memory.then(|| "MEMORY.md".to_string()));
        text.push_str(&format!("{would} {}\n", written.join(", ")));
        cores.iter().chain(spheres).for_each(|path| text.push_str(&format!("  {path}\n")));
    }
    output::print(&text);
    for one in waiting {
        app.note(format!("core {} waits: {}", one.core, one.because));
    }
    if *left_out > 0 {
        app.note(format!(
            "MEMORY.md has no room for {}; the cores have them",
            output::count(*left_out, "landmark")
        ));
    }
}
