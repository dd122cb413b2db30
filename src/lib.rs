//! memtree: the memory of coding agents as a tree of plain Markdown files.
//!
//! The data's way, from top to bottom of this list:
//!
//! - [`adapters`] read the logs that agents leave on disk, one agent a file, as a stream of events;
//! - [`distill`] decides, purely, what the pages of a session say;
//! - [`store`] is the Markdown tree: snapshots, digests, days;
//! - [`index`] finds things in it, from a cache that can be thrown away;
//! - [`ops`] are the verbs, where reading, deciding and writing meet;
//! - [`cli`] is the door: it parses, asks one op, prints.
//!
//! Below the doors nothing prints and nothing asks for the environment or the time: they are handed in.

pub mod adapters;
pub mod base;
pub mod cli;
pub mod config;
pub mod distill;
pub mod error;
pub mod index;
pub mod model;
pub mod ops;
pub mod store;
