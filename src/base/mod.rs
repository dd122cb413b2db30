//! Tools that know nothing of memory.

pub mod clock;
pub mod common_words;
pub mod files;
pub mod front_matter;
pub mod git;
pub mod jsonc;
pub mod markdown;
pub mod redact;
pub mod setters;
pub mod shell;
pub mod size;
pub mod static_regex;
pub mod stem;
pub mod text;
pub mod watcher;
pub mod zone;
