//! memtree: the memory of coding agents as a tree of plain Markdown files.
//!
//! The data's way, from top to bottom of this list:
//!
//! - [`adapters`] read the logs that agents leave on disk, one agent a file, as a stream of events;
//! - [`distill`] decides, purely, what the pages of a session say;
//! - [`models`] asks a model to add to that, where one is configured;
//! - [`store`] is the Markdown tree: snapshots, digests, days;
//! - [`query`] reads what people type to find things in it;
//! - [`index`] finds them, from a cache that can be thrown away;
//! - [`ops`] are the verbs, where reading, deciding and writing meet;
//! - [`cli`] is the command line: it parses, asks one op, prints; [`hooks`] is the entry point for agents.
//!
//! Below the entry points nothing prints and nothing asks for the environment or the time: they are handed
//! in.
//!
//! The whole way in one example, from the bundled sample logs to a hit:
//!
//! ```
//! use memtree::base::{clock, redact::Redactor, zone::Zone};
//! use memtree::distill::clean::Cleaner;
//! use memtree::model::ids::Device;
//! use memtree::ops::{capture::Pages, sample, search, sweep};
//! use memtree::query::Query;
//! use memtree::store::Store;
//! use memtree::models::Models;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let desk = tempfile::tempdir()?;
//! let logs = desk.path().join("logs");
//! sample::unpack(&logs)?;
//! let (store, _) = Store::init(&desk.path().join("memory"))?;
//!
//! let now = clock::parse("2026-11-15T12:00:00Z").ok_or("no such time")?;
//! let report = sweep::sweep(&store, &sweep::Sweep {
//!     roots: vec![sweep::Root { path: logs, glob: None, named: true }],
//!     only: Vec::new(),
//!     except: Vec::new(),
//!     domains: Default::default(),
//!     device: Device::new("desk"),
//!     now,
//!     zone: Zone::UTC,
//!     open_for: chrono::Duration::minutes(30),
//!     models: &Models::none(),
//!     pages: Pages { cleaner: Cleaner::new(Redactor::new(), 16384), inline_lines: 12, exclude: Default::default() },
//!     limits: Default::default(),
//!     folders: Vec::new(),
//!     finalize: Some("sweep"),
//!     event_logs: false,
//!     progress: &|_, _| {},
//! })?;
//! assert_eq!(report.captured, 10);
//!
//! let query = Query::parse("EWOULDBLOCK lock")?;
//! let answer = search::search(&store, &search::SearchRequest::new(query, 3, now))?;
//! assert_eq!(answer.hits[0].project.as_deref(), Some("tidepool"));
//! # Ok(())
//! # }
//! ```

pub mod adapters;
pub mod base;
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
pub mod query;
pub mod settings;
pub mod store;

pub use environment::Environment;
pub use error::{Error, ErrorKind, Result};
pub use memory::Memory;
pub use ops::blame::{BlameReport, BlameRequest};
pub use ops::compile::{CompileReport, CompileRequest};
pub use ops::consolidate::{ConsolidateReport, ConsolidateRequest};
pub use ops::context::{ContextReport, ContextRequest};
pub use ops::forget::{ForgetPlan, ForgetReport, ForgetRequest};
pub use ops::lint::{LintReport, LintRequest};
pub use ops::log::{LogReport, LogRequest};
