//! Plain data: what the other layers hand to each other.

pub mod calls;
pub mod context;
pub mod core;
pub mod day;
pub mod digest;
pub mod evidence;
pub mod exclude;
pub mod hit;
pub mod ids;
pub mod knowledge;
pub mod memory_path;
pub mod pattern;
pub mod session;
pub mod signals;
pub mod trust;
pub(crate) mod words;
