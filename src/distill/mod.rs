//! Text from text: decides what a session's pages say, purely.
//!
//! Events come in one by one ([`steps`] joins calls to their answers), pages and facts come out.
//! Nothing here reads, writes or fails, and nothing but the session decides what is said of it.

pub mod clean;
pub mod core;
pub mod cost;
pub mod day;
pub mod digest;
pub mod episodes;
pub mod errors;
pub mod event_log;
pub mod evidence;
pub mod facts;
pub mod feeling;
pub mod intent;
pub mod knowledge;
pub mod note;
pub mod outcome;
pub mod sayings;
pub mod stated;
pub mod steps;
pub mod summary;
pub mod triggers;
pub mod worth;
