//! `memtree completions`

use clap::CommandFactory;
use clap_complete::Shell;

use super::{App, Cli, output};
use crate::error::Result;

/// Print a script by which a shell completes commands and flags
///
/// Put it where your shell looks for such scripts:
///
/// bash: `memtree completions bash > ~/.local/share/bash-completion/completions/memtree`;
/// zsh: `memtree completions zsh > DIR/_memtree`, with DIR in `$fpath`;
/// fish: `memtree completions fish > ~/.config/fish/completions/memtree.fish`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "memtree", &mut script);
    let script = String::from_utf8_lossy(&script);
    if app.json {
        output::json(&serde_json::json!({ "shell": args.shell.to_string(), "script": script }));
    } else {
        output::print_raw(&script);
    }
    Ok(0)
}
