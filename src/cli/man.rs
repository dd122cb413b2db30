//! `memtree man`

use clap::CommandFactory;

use super::{App, Cli, output};
use crate::base::text::nearest;
use crate::error::{Context, Error, Result};

/// Print a manual page, of memtree or of one of its commands
///
/// Read it with `memtree man sweep | man -l -`, or keep it: `memtree man > DIR/man1/memtree.1`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The command; nothing means memtree itself
    command: Option<String>,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let mut program = Cli::command();
    program.build();
    let command = match &args.command {
        Some(name) => program.find_subcommand(name).ok_or_else(|| unknown(name, &program))?,
        None => &program,
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .context(|| "cannot render the manual page".into())?;
    let page = String::from_utf8_lossy(&page);
    if app.json {
        output::json(&serde_json::json!({ "page": page }));
    } else {
        output::print_raw(&page);
    }
    Ok(0)
}

fn unknown(name: &str, program: &clap::Command) -> Error {
    let known: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
    let error = Error::usage(format!("there is no command `{name}`"));
    match nearest(name, known.iter().copied()) {
        Some(near) => error.hint(format!("did you mean `memtree man {near}`?")),
        None => error.hint(format!("known: {}", known.join(", "))),
    }
}
