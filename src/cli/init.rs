//! `memtree init`

use std::io::IsTerminal;

use super::{App, output};
use crate::base::files;
use crate::error::Result;
use crate::memory::Memory;
use crate::store::layout::Layout;

/// Make a memory, with its README, settings and git files
///
/// Whatever is in the folder already stays as it is.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let there = files::is_file(Layout::new(&app.root).settings());
    if there {
        // Nothing is added to a memory that a newer program made.
        Memory::open_in(&app.root, app.environment.clone())?;
    }
    if args.dry_run {
        let would = if there { "is a memory already" } else { "would become a memory" };
        match app.json {
            true => output::json(&serde_json::json!({ "store": app.root, "is_there": there })),
            false => output::print(&format!("`{}` {would}\n", app.root.display())),
        }
        return Ok(0);
    }
    let (memory, mut wrote) = Memory::init_in(&app.root, app.environment.clone())?;
    if !there && !app.json && !app.quiet && std::io::stdin().is_terminal() {
        let question = "Let `memtree sync` carry the readable, redacted episodes too, so that every link works in a clone?";
        memory.decide_episodes(app.confirm(question, false)?)?;
    } else if !there {
        memory.decide_episodes(true)?;
    }
    let registered = memory.register_merge_driver(&app.program_path()?)?;
    if registered.driver {
        app.note(
            "git joins pages by section here: `memtree merge-file` is registered in its settings",
        );
    }
    if registered.attributes && wrote.is_empty() {
        wrote.push(memory.layout().shown(&memory.layout().gitattributes()));
    }
    if app.json {
        output::json(&serde_json::json!({ "store": memory.root(), "wrote": wrote }));
    } else if there {
        output::print(&format!("`{}` is a memory already\n", app.root.display()));
    } else {
        output::print(&format!("made a memory in `{}`\n", app.root.display()));
        let program = app.program();
        app.note(format!(
            "next: `{program} sweep` reads your agents' logs into it, `{program} sweep --sample` shows how it looks"
        ));
    }
    Ok(0)
}
