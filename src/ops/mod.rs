//! The verbs: where reading, deciding and writing meet, one file for each.

pub mod ask;
pub mod capture;
mod commit;
pub mod context;
pub mod doctor;
pub mod forget;
pub mod log;
pub mod compile;
pub mod cursors;
pub mod lint;
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
pub mod watch;
