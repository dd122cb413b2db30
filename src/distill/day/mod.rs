//! A day: the lines that a session leaves in it, their summary, and a session's event log.

mod event_log;
mod lines;
mod sentences;
mod summary;

pub use event_log::event_log;
pub use lines::{SubagentState, line};
pub use sentences::{as_said, is_low, is_noise};
pub use summary::DayReader;
