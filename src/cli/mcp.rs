//! `memtree mcp`: the server for agents that speak the Model Context Protocol.

use super::App;
use crate::error::Result;
use crate::mcp::{self, Served};

/// Serve the memory to an agent over MCP, on stdin and stdout
///
/// Agents start it themselves: `claude mcp add memtree -- memtree mcp`, and likewise elsewhere. It
/// speaks both revisions of the protocol, 2025-11-25 and 2026-07-28. Tools: search, recall,
/// context, blame, ask, status; remember and annotate write; review lists what waits for your yes
/// or no, and what an agent would say to it: only you decide. Several clients and a sweep may run
/// at the same time. What goes wrong is said on stderr.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Offer the memory tool as well: a tool `memory` with the commands of `memtree memories`
    #[arg(long)]
    memory_tool: bool,
}

/// Serves until the client leaves.
pub fn run(args: Args, app: &App) -> Result<u8> {
    let Args { memory_tool } = args;
    let (root, environment) = (app.root.clone(), app.environment.clone());
    mcp::serve(Served { root, environment, memory_tool })?;
    Ok(0)
}
