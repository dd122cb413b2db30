//! The command line, an entry point. A command parses its arguments, asks one op, and prints the
//! answer.
//!
//! Data goes to stdout, talk to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done but
//! something was skipped.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};

use crate::base::files;
use crate::environment::Environment;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::query::MOST_PHRASINGS;
use crate::settings::Settings;
use crate::store::layout::Layout;

mod ask;
mod blame;
mod compile;
mod completions;
mod config;
mod consolidate;
mod context;
mod detect;
mod digest;
mod distribute;
mod doctor;
mod first_run;
mod fix;
mod flush;
mod folders;
mod forget;
mod handoff;
mod hook;
mod init;
mod install;
mod lint;
mod list;
mod log;
mod man;
mod mcp;
mod measure;
mod memories;
mod merge_file;
pub mod output;
mod pin;
mod recall;
mod resume;
mod retain;
mod retro;
mod review;
mod search;
mod snapshot;
mod sources;
mod status;
mod summarize;
mod sweep;
mod sync;
mod verify;
mod watch;
mod why;

/// The memory of coding agents as a tree of plain Markdown files.
#[derive(Debug, Parser)]
#[command(
    name = "memtree",
    version,
    about,
    max_term_width = 100,
    after_help = "\
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done but something was skipped."
)]
pub struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// What every command understands.
#[derive(Debug, Default, clap::Args)]
struct Common {
    /// The memory to use [default: $MEMTREE_STORE, the nearest `memory/`, or ~/memory]
    #[arg(long, global = true, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Your own settings [default: ~/.config/memtree/config.toml]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    json: bool,
    /// Say only what went wrong
    #[arg(long, short, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Args),
    Sweep(sweep::Args),
    Watch(watch::Args),
    Snapshot(snapshot::Args),
    Log(log::Args),
    Digest(digest::Args),
    Flush(flush::Args),
    Summarize(summarize::Args),
    Search(search::Args),
    List(list::Args),
    Recall(recall::Args),
    Doctor(doctor::Args),
    Forget(forget::Args),
    Context(context::Args),
    Install(install::Args),
    Uninstall(install::UndoArgs),
    Hook(hook::Args),
    Mcp(mcp::Args),
    Memories(memories::Args),
    Handoff(handoff::Args),
    Resume(resume::Args),
    Fix(fix::Args),
    Why(why::Args),
    Compile(compile::Args),
    Ask(ask::Args),
    Lint(lint::Args),
    Consolidate(consolidate::Args),
    Detect(detect::Args),
    Review(review::Args),
    Distribute(distribute::Args),
    Measure(measure::Args),
    Retro(retro::Args),
    Blame(blame::Args),
    Status(status::Args),
    Retain(retain::Args),
    Pin(pin::Args),
    Verify(verify::Args),
    Sync(sync::Args),
    MergeFile(merge_file::Args),
    Config(config::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// What a command works with besides its own arguments.
pub struct App {
    /// Where the memory is, or would be.
    pub root: PathBuf,
    /// Whether `--store` named it.
    pub store_was_named: bool,
    pub json: bool,
    pub quiet: bool,
    /// The time, the variables and the folders: nothing below asks for them itself.
    pub environment: Environment,
}

impl App {
    /// The memory, which has to be there; warnings about its settings go to stderr.
    pub fn memory(&self) -> Result<Memory> {
        self.opened(Memory::open_in(&self.root, self.environment.clone())?)
    }

    /// The memory for a command that writes: what git has merged since the last one is put right
    /// first.
    pub fn memory_to_write(&self) -> Result<Memory> {
        let memory = self.memory()?;
        self.tell_settled(&memory)?;
        Ok(memory)
    }

    /// The memory for a command that writes, unless it is only to say what it would do.
    pub fn memory_for(&self, dry_run: bool) -> Result<Memory> {
        if dry_run { self.memory() } else { self.memory_to_write() }
    }

    /// Puts right what git has merged, and says what is left to do.
    pub fn tell_settled(&self, memory: &Memory) -> Result<()> {
        let settled = memory.settle_merges()?;
        if !settled.joined.is_empty() {
            let pages = output::count(settled.joined.len(), "page");
            self.note(format!("joined {pages} by section that git had merged line by line"));
        }
        if !settled.to_add.is_empty() {
            let command = memory.add_command(&settled.to_add);
            self.note(format!("left to do: `{command}`, then go on with git as it says"));
        }
        for path in &settled.left {
            eprintln!("warning: `{}` is in conflict, and no text", output::safe(path));
        }
        Ok(())
    }

    /// The memory; a missing one is made, with a word about it.
    pub fn memory_or_new(&self) -> Result<Memory> {
        if files::is_file(Layout::new(&self.root).settings()) {
            return self.memory_to_write();
        }
        let (memory, _) = Memory::init_in(&self.root, self.environment.clone())?;
        memory.decide_episodes(true)?;
        self.note(format!("made a memory in `{}`", self.root.display()));
        self.opened(memory)
    }

    /// The memory as far as it is there: nothing is written to it.
    pub fn memory_for_dry_run(&self) -> Result<Memory> {
        self.opened(Memory::open_for_dry_run(&self.root, self.environment.clone())?)
    }

    fn opened(&self, memory: Memory) -> Result<Memory> {
        for warning in memory.warnings() {
            eprintln!("warning: {}", output::safe(warning));
        }
        Ok(memory)
    }

    /// Whether a program that memtree started, or an agent on its behalf, calls: then nothing is to
    /// come of it.
    pub fn was_invoked_by_us(&self) -> bool {
        let set = |name: &str| self.environment.variable(name).is_some();
        set("CLAUDE_INVOKED_BY") || set(crate::hooks::INVOKED_BY)
    }

    /// Tells the person something on stderr, unless they want quiet.
    pub fn note(&self, text: impl AsRef<str>) {
        if !self.quiet {
            eprintln!("{}", output::safe(text.as_ref()));
        }
    }

    /// Says so where a question is asked in more ways than count.
    pub fn note_phrasings(&self, also: usize) {
        if also >= MOST_PHRASINGS {
            self.note(format!("only the first {} phrasings are asked", MOST_PHRASINGS - 1));
        }
    }

    /// Asks the person before something that cannot be undone. Where nobody can answer, only
    /// `--yes` is an answer.
    pub fn confirm(&self, question: &str, yes: bool) -> Result<bool> {
        if yes {
            return Ok(true);
        }
        if !std::io::stdin().is_terminal() {
            return Err(Error::usage("nobody is there to be asked, so nothing was done")
                .because("this is not a terminal")
                .hint("look at it with `--dry-run`, then say `--yes`"));
        }
        eprint!("{} [y/N] ", output::safe(question));
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer).context(|| "cannot read the answer".into())?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// How the program was called, so that the next command can be copied.
    pub fn program(&self) -> String {
        if self.environment.variable("CARGO").is_some() {
            "cargo run --release --".into()
        } else if self.environment.variable("MEMTREE_STORE").is_some() || !self.store_was_named {
            "memtree".into()
        } else {
            format!("memtree --store {}", self.root.display())
        }
    }

    /// Where this program is, as hooks call it: the way that `PATH` leads to it, where it does. The
    /// name behind a link may change with every version, and Codex trusts a hook by its words.
    pub fn program_path(&self) -> Result<PathBuf> {
        let own = std::env::current_exe();
        let own = own.context(|| "cannot tell where this program is".into())?;
        let real = std::fs::canonicalize(&own).unwrap_or_else(|_| own.clone());
        let is_same = |path: &PathBuf| std::fs::canonicalize(path).is_ok_and(|path| path == real);
        let folders = std::env::split_paths(self.environment.variable("PATH").unwrap_or_default());
        let mut named = folders
            .filter(|folder| folder.is_absolute())
            .filter_map(|folder| Some(folder.join(own.file_name()?)));
        Ok(named.find(is_same).unwrap_or(own))
    }

    /// The program that opens a file for the person.
    pub fn editor(&self, settings: &Settings) -> Option<String> {
        let own = Some(settings.open.editor.as_str()).filter(|editor| !editor.is_empty());
        let variable = |name| self.environment.variable(name);
        own.or_else(|| variable("VISUAL")).or_else(|| variable("EDITOR")).map(str::to_string)
    }
}

/// Opens a file in the person's editor and waits until they have closed it.
fn open_in_editor(editor: &str, path: &std::path::Path) -> Result<()> {
    // `code --wait` is a program and its arguments.
    let mut words = editor.split_whitespace();
    let mut command = std::process::Command::new(words.next().unwrap_or_default());
    let status = command.args(words).arg(path).status();
    let status = status.context(|| format!("cannot start the editor `{editor}`"))?;
    if !status.success() {
        return Err(Error::new(format!("the editor `{editor}` failed")).because(status.to_string()));
    }
    Ok(())
}

/// Runs the program with its arguments and returns its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments = with_flags_behind(arguments.into_iter().collect());
    if let [program] = arguments.as_slice()
        && let Ok(app) = app(Common::default())
        && first_run::is_due(&app)
    {
        let command = |words: &[&str]| {
            let mut all = vec![program.clone()];
            all.extend(words.iter().map(OsString::from));
            run(all)
        };
        return first_run::run(&app, command).unwrap_or_else(|error| {
            output::error(&error, false);
            error.exit_code()
        });
    }
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(err) => {
            // Help and version are answers, not errors; and to an agent that calls a hook, a 2
            // would mean: stop.
            let is_hook = calls_hook(&arguments) || is_bare(&err);
            let code = if err.use_stderr() && !is_hook { 2 } else { 0 };
            let wants_json = arguments.iter().any(|word| word == "--json");
            if code == 2 && wants_json {
                output::error(&wrong_usage(&err), true);
            } else {
                let _ = err.print();
            }
            return code;
        }
    };
    let json = cli.common.json;
    let command = match cli.command {
        Command::Hook(args) => return hook::run(args, app(cli.common)),
        // Git calls it in the middle of a merge: no memory is opened.
        Command::MergeFile(args) => {
            return merge_file::run(args, json).unwrap_or_else(|error| {
                output::error(&error, json);
                error.exit_code()
            });
        }
        command => command,
    };
    let answer = app(cli.common).and_then(|app| match command {
        Command::Init(args) => init::run(args, &app),
        Command::Sweep(args) => sweep::run(args, &app),
        Command::Watch(args) => watch::run(args, &app),
        Command::Snapshot(args) => snapshot::run(args, &app),
        Command::Log(args) => log::run(args, &app),
        Command::Digest(args) => digest::run(args, &app),
        Command::Flush(args) => flush::run(args, &app),
        Command::Summarize(args) => summarize::run(args, &app),
        Command::Search(args) => search::run(args, &app),
        Command::Recall(args) => recall::run(args, &app),
        Command::Doctor(args) => doctor::run(args, &app),
        Command::Forget(args) => forget::run(args, &app),
        Command::Context(args) => context::run(args, &app),
        Command::Install(args) => install::run(args, &app),
        Command::Uninstall(args) => install::undo(args, &app),
        Command::Hook(args) => Ok(hook::run(args, Ok(app))),
        Command::Sync(args) => sync::run(args, &app),
        Command::MergeFile(args) => merge_file::run(args, json),
        Command::Mcp(args) => mcp::run(args, &app),
        Command::Memories(args) => memories::run(args, &app),
        Command::Handoff(args) => handoff::run(args, &app),
        Command::Resume(args) => resume::run(args, &app),
        Command::Fix(args) => fix::run(args, &app),
        Command::Why(args) => why::run(args, &app),
        Command::Compile(args) => compile::run(args, &app),
        Command::Ask(args) => ask::run(args, &app),
        Command::Lint(args) => lint::run(args, &app),
        Command::List(args) => list::run(args, &app),
        Command::Detect(args) => detect::run(args, &app),
        Command::Review(args) => review::run(args, &app),
        Command::Distribute(args) => distribute::run(args, &app),
        Command::Measure(args) => measure::run(args, &app),
        Command::Retro(args) => retro::run(args, &app),
        Command::Blame(args) => blame::run(args, &app),
        Command::Consolidate(args) => consolidate::run(args, &app),
        Command::Status(args) => status::run(args, &app),
        Command::Retain(args) => retain::run(args, &app),
        Command::Pin(args) => pin::run(args, &app),
        Command::Verify(args) => verify::run(args, &app),
        Command::Config(args) => config::run(args, &app),
        Command::Completions(args) => completions::run(args, &app),
        Command::Man(args) => man::run(args, &app),
    });
    answer.unwrap_or_else(|error| {
        output::error(&error, json);
        error.exit_code()
    })
}

/// What is wrong with a command line, as other errors are told.
fn wrong_usage(err: &clap::Error) -> Error {
    let said = err.to_string();
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let rest: Vec<&str> = lines
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .map(|line| line.strip_prefix("tip: ").unwrap_or(line))
        .collect();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    // Which arguments it is about stands below, a line for each.
    let (named, rest) = match first.ends_with(':') {
        true => rest.into_iter().partition(|line| line.starts_with(['-', '<', '['])),
        false => (Vec::new(), rest),
    };
    let wrong = Error::usage(format!("{first} {}", named.join(", ")).trim_end());
    match rest.is_empty() {
        true => wrong.hint("`memtree COMMAND --help` shows what a command takes"),
        false => wrong.hint(rest.join(" ")),
    }
}

/// The command line with the flags of a command behind it: `memtree -y install` means `memtree
/// install -y`, for the commands that ask.
fn with_flags_behind(arguments: Vec<OsString>) -> Vec<OsString> {
    let (mut words, mut moved) = (Vec::with_capacity(arguments.len()), Vec::new());
    let mut rest = arguments.into_iter();
    words.extend(rest.next());
    while let Some(word) = rest.next() {
        match word.to_string_lossy().as_ref() {
            "-y" | "--yes" | "--dry-run" => moved.push(word),
            flag if takes_value(flag) => words.extend([word].into_iter().chain(rest.next())),
            flag if flag.starts_with('-') => words.push(word),
            _ => {
                words.push(word);
                break;
            }
        }
    }
    words.extend(moved.into_iter().chain(rest));
    words
}

/// Whether the word behind a flag of every command belongs to it.
fn takes_value(flag: &str) -> bool {
    matches!(flag, "--store" | "--config")
}

/// Whether no command was named, and no person is at the other end: an agent that does not know the
/// arguments of a hook calls it so.
fn is_bare(err: &clap::Error) -> bool {
    let names_none = matches!(
        err.kind(),
        clap::error::ErrorKind::MissingSubcommand
            | clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    names_none && !std::io::stdin().is_terminal()
}

/// Whether a command line that cannot be understood was to be a hook's: its first word that belongs
/// to no flag says so.
fn calls_hook(arguments: &[OsString]) -> bool {
    let mut words = arguments.iter().skip(1).map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        match word.as_ref() {
            flag if takes_value(flag) => drop(words.next()),
            flag if flag.starts_with('-') => {}
            word => return word == "hook",
        }
    }
    false
}

fn app(common: Common) -> Result<App> {
    let environment = Environment { settings_file: common.config, ..Environment::of_process()? };
    let store_was_named = common.store.is_some();
    let root = match (common.store, environment.variable("MEMTREE_STORE")) {
        (Some(root), _) => root,
        (None, Some(root)) => PathBuf::from(root),
        (None, None) => nearest_memory(&environment.current_dir)
            .unwrap_or_else(|| environment.places.home.join("memory")),
    };
    let root =
        std::path::absolute(&root).context(|| format!("cannot find `{}`", root.display()))?;
    Ok(App { root, store_was_named, json: common.json, quiet: common.quiet, environment })
}

/// The nearest `memory/` that holds a `memtree.toml`, at or above a folder.
fn nearest_memory(here: &Path) -> Option<PathBuf> {
    here.ancestors().flat_map(|folder| [folder.join("memory"), folder.to_path_buf()]).find(
        |folder| {
            folder.file_name().is_some_and(|name| name == "memory")
                && files::is_file(Layout::new(folder).settings())
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_s_flags_may_stand_before_it() {
        let behind = |line: &str| {
            let words = with_flags_behind(line.split(' ').map(OsString::from).collect());
            words
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect::<Vec<_>>()
                .join(" ")
        };
        for (typed, meant) in [
            ("memtree -y install claude", "memtree install -y claude"),
            ("memtree --store -y --yes -q forget x", "memtree --store -y -q forget --yes x"),
            ("memtree sweep --dry-run", "memtree sweep --dry-run"),
            ("memtree -y", "memtree -y"),
            ("memtree", "memtree"),
        ] {
            assert_eq!(behind(typed), meant);
        }
    }
}
