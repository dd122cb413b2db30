//! The command line, an entry point. A command parses its arguments, asks one op, and prints the answer.
//!
//! Data goes to stdout, talk to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done but
//! something was skipped.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};

use crate::adapters::Places;
use crate::base::clock::{self, Timestamp};
use crate::base::redact::Redactor;
use crate::error::{Context, Error, Result};
use crate::model::calls;
use crate::model::exclude::Exclude;
use crate::model::ids::Device;
use crate::models::Models;
use crate::settings::{Config, Layers};
use crate::store::Store;
use crate::store::layout::Layout;

mod ask;
mod blame;
mod compile;
mod config;
mod consolidate;
mod context;
mod digest;
mod doctor;
mod flush;
mod folders;
mod forget;
mod hook;
mod init;
mod install;
mod lint;
mod log;
mod models;
pub mod output;
mod pin;
mod recall;
mod retain;
mod search;
mod snapshot;
mod sources;
mod status;
mod summarize;
mod sweep;
mod verify;
mod watch;

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
#[derive(Debug, clap::Args)]
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
    /// Do nothing, but say what would be done
    #[arg(long, global = true)]
    dry_run: bool,
    /// At most this many results
    #[arg(long, global = true, value_name = "N")]
    limit: Option<usize>,
    /// Ask no questions
    #[arg(long, short = 'y', global = true)]
    yes: bool,
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
    Recall(recall::Args),
    Doctor(doctor::Args),
    Forget(forget::Args),
    Context(context::Args),
    Install(install::Args),
    Uninstall(install::UndoArgs),
    Hook(hook::Args),
    Compile(compile::Args),
    Ask(ask::Args),
    Lint(lint::Args),
    Consolidate(consolidate::Args),
    Blame(blame::Args),
    Status(status::Args),
    Retain(retain::Args),
    Pin(pin::Args),
    Verify(verify::Args),
    Config(config::Args),
}

/// What the world outside hands to a command: nothing below asks the environment or the clock
/// itself.
pub struct App {
    /// Where the memory is, or would be.
    pub root: PathBuf,
    /// Whether `--store` named it.
    pub store_was_named: bool,
    pub json: bool,
    pub quiet: bool,
    pub dry_run: bool,
    pub limit: Option<usize>,
    pub yes: bool,
    pub now: Timestamp,
    /// This machine's name in the memory.
    pub device: Device,
    /// Where agents keep their logs.
    pub places: Places,
    /// The person's own settings, where `--config` names them.
    config_file: Option<PathBuf>,
    environment: BTreeMap<String, String>,
}

impl App {
    /// The memory, which has to be there.
    pub fn store(&self) -> Result<Store> {
        let store = Store::open(&self.root)?;
        // Refuses a memory that a newer program made; warnings are for whoever uses the settings.
        self.settings()?;
        Ok(store)
    }

    /// The memory; a missing one is made, with a word about it.
    pub fn store_or_new(&self) -> Result<Store> {
        if Layout::new(&self.root).settings().is_file() {
            return self.store();
        }
        let (store, _) = Store::init(&self.root)?;
        self.note(format!("made a memory in `{}`", self.root.display()));
        Ok(store)
    }

    /// The settings; warnings about them go to stderr.
    pub fn config(&self) -> Result<Config> {
        let (config, warnings) = self.settings()?;
        for warning in warnings {
            eprintln!("warning: {}", output::safe(&warning));
        }
        Ok(config)
    }

    fn settings(&self) -> Result<(Config, Vec<String>)> {
        let read = |path: &Path| match std::fs::read_to_string(path) {
            Ok(text) => Ok(Some(text)),
            // Also where a file stands in the way: whoever makes the memory will say so.
            Err(err) if matches!(err.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(err) => {
                Err(err).context(|| format!("cannot read the settings `{}`", path.display()))
            }
        };
        let memory_path = Layout::new(&self.root).settings();
        if let Some(named) = &self.config_file
            && !named.is_file()
        {
            return Err(Error::usage(format!("there is no file `{}`", named.display()))
                .hint("check the path after `--config`"));
        }
        let user_path = match (
            &self.config_file,
            self.environment.get("XDG_CONFIG_HOME").filter(|f| !f.is_empty()),
        ) {
            (Some(file), _) => file.clone(),
            (None, Some(folder)) => PathBuf::from(folder).join("memtree/config.toml"),
            (None, None) => self.places.home.join(".config/memtree/config.toml"),
        };
        let (memory, user) = (read(&memory_path)?, read(&user_path)?);
        Config::load(&Layers {
            memory: memory.as_deref().map(|text| (memory_path.as_path(), text)),
            user: user.as_deref().map(|text| (user_path.as_path(), text)),
            environment: self.environment.clone(),
        })
    }

    /// The models that the settings name, if any. Below a call of a model there are none, or it
    /// could go on for ever.
    pub fn models(&self, config: &Config) -> Result<Models> {
        if self.environment.get(calls::GUARDS[0]).is_some_and(|caller| caller == calls::CALLER) {
            return Ok(Models::none());
        }
        models::models(config, self)
    }

    /// Finds secrets, by the rules that are built in and the person's own.
    pub fn redactor(&self, config: &Config) -> Result<Redactor> {
        let rules =
            config.redact.rules.iter().map(|rule| (rule.name.clone(), rule.pattern.clone()));
        Redactor::with_rules(&rules.collect::<Vec<_>>())
            .map_err(|reason| Error::new("cannot use the setting `redact.rules`").because(reason))
    }

    /// Whether a program that memtree started, or an agent on its behalf, calls: then nothing is to
    /// come of it.
    pub fn was_invoked_by_us(&self) -> bool {
        let set = |name: &str| self.environment.get(name).is_some_and(|value| !value.is_empty());
        set("CLAUDE_INVOKED_BY") || set(crate::hooks::INVOKED_BY)
    }

    /// Talks to the person, unless they want quiet.
    pub fn note(&self, text: impl AsRef<str>) {
        if !self.quiet {
            eprintln!("{}", output::safe(text.as_ref()));
        }
    }

    /// What the person wants left out.
    pub fn exclude(&self, config: &Config) -> Exclude {
        let folders = config.exclude.folders.iter().map(|folder| self.expanded(folder)).collect();
        Exclude { projects: config.exclude.projects.clone(), folders }
    }

    /// A path of the settings, in which `~` is the home directory.
    pub fn expanded(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(below) => self.places.home.join(below),
            None if path == "~" => self.places.home.clone(),
            None => PathBuf::from(path),
        }
    }

    /// Asks the person before something that cannot be undone. Where nobody can answer, only
    /// `--yes` is an answer.
    pub fn confirm(&self, question: &str) -> Result<bool> {
        if self.yes {
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
        let set = |name: &str| self.environment.get(name).is_some_and(|value| !value.is_empty());
        if set("CARGO") {
            "cargo run --release --".into()
        } else if set("MEMTREE_STORE") || !self.store_was_named {
            "memtree".into()
        } else {
            format!("memtree --store {}", self.root.display())
        }
    }

    /// The program that opens a file for the person.
    pub fn editor(&self, config: &Config) -> Option<String> {
        [Some(&config.open.editor), self.environment.get("VISUAL"), self.environment.get("EDITOR")]
            .into_iter()
            .flatten()
            .find(|editor| !editor.is_empty())
            .cloned()
    }
}

/// Runs the program with its arguments and returns its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(err) => {
            // Help and version are answers, not errors; and to an agent that calls a hook, a 2
            // would mean: stop.
            let code = if err.use_stderr() && !calls_hook(&arguments) { 2 } else { 0 };
            let _ = err.print();
            return code;
        }
    };
    let json = cli.common.json;
    let command = match cli.command {
        Command::Hook(args) => return hook::run(args, app(cli.common)),
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
        Command::Compile(args) => compile::run(args, &app),
        Command::Ask(args) => ask::run(args, &app),
        Command::Lint(args) => lint::run(args, &app),
        Command::Blame(args) => blame::run(args, &app),
        Command::Consolidate(args) => consolidate::run(args, &app),
        Command::Status(args) => status::run(args, &app),
        Command::Retain(args) => retain::run(args, &app),
        Command::Pin(args) => pin::run(args, &app),
        Command::Verify(args) => verify::run(args, &app),
        Command::Config(args) => config::run(args, &app),
    });
    answer.unwrap_or_else(|error| {
        output::error(&error, json);
        error.exit_code()
    })
}

/// Whether a command line that cannot be understood was to be a hook's: its first word that belongs
/// to no flag says so.
fn calls_hook(arguments: &[OsString]) -> bool {
    let mut words = arguments.iter().skip(1).map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        match word.as_ref() {
            "--store" | "--config" | "--limit" => drop(words.next()),
            flag if flag.starts_with('-') => {}
            word => return word == "hook",
        }
    }
    false
}

fn app(common: Common) -> Result<App> {
    let environment: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let home = environment
        .get("HOME")
        .or(environment.get("USERPROFILE"))
        .filter(|home| !home.is_empty())
        .map_or_else(|| PathBuf::from("."), PathBuf::from);
    let now =
        clock::now().map_err(|reason| Error::usage("cannot tell the time").because(reason))?;
    let store_was_named = common.store.is_some();
    let root = match common.store {
        Some(root) => root,
        None => match environment.get("MEMTREE_STORE").filter(|store| !store.is_empty()) {
            Some(root) => PathBuf::from(root),
            None => nearest_memory().unwrap_or_else(|| home.join("memory")),
        },
    };
    let root =
        std::path::absolute(&root).context(|| format!("cannot find `{}`", root.display()))?;
    Ok(App {
        root,
        store_was_named,
        json: common.json,
        quiet: common.quiet,
        dry_run: common.dry_run,
        limit: common.limit,
        yes: common.yes,
        now,
        device: device(&environment),
        places: Places { home, environment: environment.clone() },
        config_file: common.config,
        environment,
    })
}

/// The nearest `memory/` that holds a `memtree.toml`, at or above the current folder.
fn nearest_memory() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().flat_map(|folder| [folder.join("memory"), folder.to_path_buf()]).find(
        |folder| {
            folder.file_name().is_some_and(|name| name == "memory")
                && Layout::new(folder).settings().is_file()
        },
    )
}

/// The host's name and four digits of its machine id, or what `$MEMTREE_DEVICE` says.
fn device(environment: &BTreeMap<String, String>) -> Device {
    if let Some(name) = environment.get("MEMTREE_DEVICE").filter(|name| !name.is_empty()) {
        return Device::new(name);
    }
    let first_line =
        |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_string());
    let host = first_line("/etc/hostname")
        .filter(|host| !host.is_empty())
        .or_else(|| environment.get("HOSTNAME").cloned())
        .or_else(|| environment.get("COMPUTERNAME").cloned())
        .unwrap_or_else(|| "device".into());
    let host = host.split('.').next().unwrap_or(&host).to_string();
    let machine =
        first_line("/etc/machine-id").filter(|id| !id.is_empty()).unwrap_or_else(|| host.clone());
    let digits = &crate::base::files::sha256_hex(machine.as_bytes())[..4];
    Device::new(&format!("{host}-{digits}"))
}
