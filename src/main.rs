//! The `memtree` program: parse, run, report, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(memtree::run(std::env::args_os()))
}
