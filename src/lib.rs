//! memtree: the memory of coding agents as a tree of plain Markdown files.
//!
//! The data's way, from top to bottom of this list:
//!
//! - [`adapters`] read the logs that agents leave on disk, one agent a file, as a stream of events;
//! - [`capture`] takes sessions from there into the tree;
//! - [`distill`] decides, purely, what the pages of a session say;
//! - [`models`] asks a model to add to that, where one is configured;
//! - [`store`] is the Markdown tree: snapshots, digests, days;
//! - [`index`] finds things in it, from a cache that can be thrown away;
//! - [`ops`] are the verbs, where reading, deciding and writing meet;
//! - [`cli`] is the command line: it parses, asks one op, prints; [`hooks`] is the entry point for agents.
//!
//! Below the entry points nothing prints and nothing asks for the environment or the time: they are handed
//! in.
//!
//! The whole way in one example, from the bundled sample logs to a hit:
//!
//! ```
//! use memtree::memory::Memory;
//! use memtree::model::query::Query;
//! use memtree::ops::{sample, search, sweep::SweepRequest};
//! use memtree::store::Store;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let desk = tempfile::tempdir()?;
//! let logs = desk.path().join("logs");
//! sample::unpack(&logs)?;
//! let memory = Memory::init(desk.path().join("memory"))?;
//! let report = memory.sweep(SweepRequest::of(&logs))?;
//! assert_eq!(report.captured, 10);
//!
//! let query = Query::parse("EWOULDBLOCK lock")?;
//! let store = Store::open(memory.root())?;
//! let answer = search::search(&store, &search::SearchRequest::new(query, 3, memory.now()))?;
//! assert_eq!(answer.hits[0].project.as_deref(), Some("tidepool"));
//! # Ok(())
//! # }
//! ```

pub mod adapters;
pub mod base;
pub mod capture;
pub mod cli;
pub mod distill;
pub mod environment;
pub mod error;
pub mod hooks;
pub mod index;
pub mod memory;
pub mod model;
pub mod models;
pub mod ops;
pub mod settings;
pub mod store;
