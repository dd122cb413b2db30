//! `memtree mcp`: the server for agents that speak the Model Context Protocol.

use super::App;
use crate::error::Result;
use crate::mcp::{self, Served};

/// Serve the memory to an agent over MCP, on stdin and stdout
///
/// Agents start it themselves: `claude mcp add memtree -- memtree mcp`, and likewise elsewhere. It
/// speaks both revisions of the protocol, 2025-11-25 and 2026-07-28. Tools: search, recall, context,
/// blame, ask, status; remember and annotate write. Several clients and a sweep may run at the same
/// time. What goes wrong is said on stderr.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Serves until the client leaves.
pub fn run(_: Args, app: &App) -> Result<u8> {
    mcp::serve(Served { root: app.root.clone(), environment: app.environment.clone() })?;
    Ok(0)
}
