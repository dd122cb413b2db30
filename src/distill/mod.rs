//! Text from text: decides what a session's pages say, purely.
//!
//! Events come in one by one ([`steps`] joins calls to their results), pages and facts come out.
//! Nothing here reads, writes or fails, and nothing but the session decides what is said of it.

pub mod agent_state;
pub mod change;
pub mod clean;
pub mod commands;
pub mod core;
pub mod cost;
pub mod cured;
pub mod day;
pub mod digest;
pub mod episodes;
pub mod errors;
pub mod facts;
pub mod folder_turns;
pub mod handoff;
pub mod knowledge;
pub mod lists;
pub mod messages;
pub mod patterns;
pub mod prompts;
pub mod remarks;
pub mod replies;
pub mod signals;
pub mod stated;
pub mod steps;
pub mod test_runs;
pub mod todo_list;
pub mod tools;
pub mod usage;
pub mod words;
pub mod work_tree;
