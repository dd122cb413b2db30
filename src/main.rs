//! The `memtree` program: parse, run, report, exit code.

use std::process::ExitCode;

// Sweeping allocates small texts by the million, and the allocator of a static (musl) build is slow:
// docs/decisions/0015.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(memtree::run(std::env::args_os()))
}
