//! The verbs: where reading, deciding and writing meet, one file for each.

pub mod ask;
pub mod blame;
pub mod capture;
mod commit;
pub mod compile;
pub mod consolidate;
pub mod context;
pub mod cursors;
pub mod digest;
pub mod doctor;
pub mod forget;
pub mod install;
pub mod lint;
pub mod log;
pub mod recall;
pub mod rescue;
pub mod sample;
pub mod search;
pub mod snapshot;
pub mod standstill;
pub mod status;
pub mod sweep;
pub mod turns;
pub mod verify;
mod waiting;
pub mod watch;
