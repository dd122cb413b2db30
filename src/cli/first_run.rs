//! The first run: `memtree` alone, in a terminal, where there is no memory yet.

use std::io::IsTerminal;

use super::{App, output};
use crate::adapters;
use crate::base::files;
use crate::error::{Context, Result};
use crate::ops::install;
use crate::store::layout::Layout;

/// Whether somebody is there who can be asked, and there is something to ask. Whoever pipes, or
/// calls on behalf of an agent, gets what they always got.
pub fn is_due(app: &App) -> bool {
    let is_person = std::io::stdin().is_terminal()
        && std::io::stdout().is_terminal()
        && std::io::stderr().is_terminal();
    is_person
        && !app.was_invoked_by_us()
        && !files::exists(Layout::new(&app.root).settings())
        && !with_logs(app).is_empty()
}

/// What a person wants.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    Both,
    Sweep,
    Nothing,
}

/// Offers what there is to do, in four lines, and does it. The commands are run as if they had been
/// typed.
pub fn run(app: &App, command: impl Fn(&[&str]) -> u8) -> Result<u8> {
    let home = &app.environment.places.home;
    let root = match app.root.strip_prefix(home) {
        Ok(below) => format!("~/{}", below.display()),
        Err(_) => app.root.display().to_string(),
    };
    let wired: Vec<&str> =
        install::agents_here(&app.environment.places).map(|spec| spec.agent).collect();
    let offer = format!(
        "There is no memory yet, but there are logs of {}.\n\
         memtree reads them, never changes them, and writes a page for each to {root}.\n\
         It can wire up {}; `memtree uninstall --all` undoes that.\n",
        listed(&with_logs(app)),
        if wired.is_empty() { "your agents".to_string() } else { listed(&wired) },
    );
    eprint!("{}", output::safe(&offer));
    let choice = ask()?;
    if choice == Choice::Nothing {
        app.note("nothing was done; `memtree --help` shows the commands");
        return Ok(0);
    }
    let mut code = command(&["sweep"]);
    if choice == Choice::Both && !wired.is_empty() {
        code = code.max(command(&["install", "--all"]));
    }
    app.note(format!(
        "the memory is in {root}: its README.md says what is where, memtree.toml has the settings\n\
         ask it with `memtree search WORDS`"
    ));
    Ok(code)
}

fn ask() -> Result<Choice> {
    eprint!("Do it? [y] both  [s] only read the logs  [N] nothing: ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).context(|| "cannot read the answer".into())?;
    Ok(match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Choice::Both,
        "s" => Choice::Sweep,
        _ => Choice::Nothing,
    })
}

/// The agents whose logs are here.
fn with_logs(app: &App) -> Vec<&'static str> {
    let places = &app.environment.places;
    let here =
        adapters::ALL.iter().filter(|adapter| adapter.roots(places).iter().any(files::exists));
    here.map(|adapter| adapter.name()).collect()
}

/// `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => one.to_string(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
