//! MCP, the Model Context Protocol: an entry point for agents, on stdin and stdout.
//!
//! The official SDK speaks both eras of the protocol (the handshake of 2025 and the stateless
//! requests of 2026); here are the tools, resources and prompts. A call parses its arguments, asks
//! one op and answers with JSON. The memory is opened for every call, so a sweep, a changed setting
//! or a new day is seen at once, and nothing is kept between calls.

use std::path::PathBuf;
use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::model::ErrorData;
use rmcp::transport::stdio;

use crate::environment::Environment;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;

mod answers;
mod inbox;
mod memory_tool;
mod paging;
mod prompts;
mod resources;
mod server;
mod tools;

use server::Server;

/// Which memory is served, and what the process knows of the machine.
pub struct Served {
    /// Where the memory is, or will be.
    pub root: PathBuf,
    pub environment: Environment,
    /// Whether the memory tool is among the tools.
    pub memory_tool: bool,
}

impl Served {
    /// The memory as it is now.
    fn memory(&self) -> Result<Memory> {
        Memory::open_in(&self.root, self.environment.at_present()?)
    }
}

/// Answers a client until it closes stdin.
pub fn serve(served: Served) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .context(|| "cannot start the server".into())?;
    let answered = runtime.block_on(async {
        match Server::new(Arc::new(served)).serve(stdio()).await {
            Ok(service) => service.waiting().await.map(drop).map_err(|err| err.to_string()),
            // A client that says nothing and leaves wanted nothing.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(err) => Err(err.to_string()),
        }
    });
    // A call that is still being worked on has nobody left to hear it.
    runtime.shutdown_background();
    answered.map_err(|reason| Error::new("the client could not be served").because(reason))
}

/// Does work beside the one thread that answers.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ErrorData> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|err| ErrorData::internal_error(format!("the call was lost: {err}"), None))
}
