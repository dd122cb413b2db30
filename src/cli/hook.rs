//! `memtree hook`: what agents call.

use std::io::{IsTerminal, Read};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::{App, output};
use crate::error::{Error, Result};
use crate::hooks::{self, HookCall, NOTIFY};
use crate::memory::Memory;
use crate::store::{Store, local};

/// Answer an agent's hook; `memtree install` writes these calls into an agent's settings
///
/// The agent says what happens as JSON on stdin (Codex's older `notify` as the last argument). The
/// answer is what the memory has for this moment, if anything; longer work is sent off. The exit
/// code is always 0: trouble goes into `.memtree/local/log` of the memory, not to the agent.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Whose hook it is: claude, codex, and all others that `memtree install` knows
    agent: String,
    /// The event as that agent names it, such as SessionStart; or notify
    event: String,
    /// It is the hook of memtree's plugin: silent where one that `install` wrote has just answered
    #[arg(long)]
    plugin: bool,
    /// What `notify` sends, as JSON
    #[arg(hide = true)]
    payload: Vec<String>,
}

/// How long an agent may take to say what happened; then what it has said until now counts.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a call may take in all: the agent waits for it. A debug build is slow, and the machines
/// that test it are busy.
const LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 2 });

/// Answers a call. Whatever goes wrong, the agent goes on.
pub fn run(args: Args, app: Result<App>) -> u8 {
    // A bug of ours must not stop the agent.
    std::panic::set_hook(Box::new(|_| std::process::exit(0)));
    std::thread::spawn(|| {
        std::thread::sleep(LIMIT);
        std::process::exit(0);
    });
    if let Ok(app) = app
        && !app.was_invoked_by_us()
        && let Err(error) = answer(args, &app)
        && let Ok(store) = Store::open(&app.root)
    {
        local::note(store.layout(), app.environment.now, &format!("hook: {error}"));
    }
    0
}

fn answer(args: Args, app: &App) -> Result<()> {
    let input = match args.event.as_str() {
        NOTIFY => {
            args.payload.last().map(|payload| payload.clone().into_bytes()).unwrap_or_default()
        }
        _ => stdin(),
    };
    // The settings refuse a memory that a newer program made.
    let memory = Memory::open_in(&app.root, app.environment.clone())?;
    let (agent, event, is_plugins) = (args.agent, args.event, args.plugin);
    let call = HookCall { agent, event, input, is_plugins };
    let reply = hooks::answer(&call, &memory);
    if let Some(work) = &reply.work {
        let started = std::env::current_exe()
            .and_then(|program| hooks::start_detached(&program, work, &app.root));
        started.map_err(|err| {
            Error::new("cannot start the work that a hook leaves behind").because(err)
        })?;
    }
    output::print_raw(&reply.output);
    Ok(())
}

/// What the agent sends. One that holds its end open is not waited for, whatever it sends.
fn stdin() -> Vec<u8> {
    if std::io::stdin().is_terminal() {
        return Vec::new();
    }
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock().take(hooks::LONGEST_CALL);
        let mut piece = vec![0; 64 << 10];
        while let Ok(read @ 1..) = input.read(&mut piece) {
            if send.send(piece[..read].to_vec()).is_err() {
                break;
            }
        }
    });
    let began = Instant::now();
    let mut bytes = Vec::new();
    // The channel closes where the agent's end does.
    while let Ok(piece) = receive.recv_timeout(PATIENCE.saturating_sub(began.elapsed())) {
        bytes.extend(piece);
        if began.elapsed() >= PATIENCE {
            break;
        }
    }
    bytes
}
