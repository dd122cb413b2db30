//! memtree: the memory of coding agents as a tree of plain Markdown files.
//!
//! A [`Memory`] is such a tree, opened. Its methods are the verbs: each takes a request and gives a
//! report. From the bundled sample logs to the page behind a hit:
//!
//! ```
//! use memtree::{Memory, SearchRequest, SweepRequest};
//!
//! # fn main() -> memtree::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let (folder, logs) = (folder.path().join("memory"), folder.path().join("logs"));
//! # memtree::internals::ops::sample::unpack(&logs).unwrap();
//! let memory = Memory::open_or_init(&folder)?;
//! let report = memory.sweep(SweepRequest::of(&logs))?;
//! let found = memory.search(SearchRequest::of("EWOULDBLOCK lock")?)?;
//! let page = memory.recall(&found.hits[0])?;
//! # assert_eq!((report.captured, found.hits[0].project.as_deref()), (10, Some("tidepool")));
//! # assert!(page.text.contains("EWOULDBLOCK"), "{}", page.text);
//! # Ok(())
//! # }
//! ```
//!
//! The data's way, from top to bottom of this list:
//!
//! - `adapters` read the logs that agents leave on disk, one agent a file, as a stream of events;
//! - `capture` takes sessions from there into the tree;
//! - `distill` decides, purely, what the pages of a session say;
//! - `models` ask a model to add to that, where one is configured;
//! - `store` is the Markdown tree: snapshots, digests, days;
//! - `query` and `index` find things in it, from a cache that can be thrown away;
//! - `ops` are the verbs, where reading, deciding and writing meet;
//! - `cli` is the command line: it parses, asks one op, prints; `hooks` is the entry point for
//!   agents, `mcp` for those that speak the Model Context Protocol.
//!
//! Below the entry points nothing prints and nothing asks for the environment or the time: they are
//! handed in.

mod adapters;
mod base;
mod capture;
mod cli;
mod distill;
mod environment;
mod error;
mod hooks;
mod index;
mod mcp;
mod memory;
pub mod model;
mod models;
mod ops;
mod query;
mod settings;
mod store;

pub use adapters::{Adapter, Places};
pub use cli::run;
pub use environment::Environment;
pub use error::{Error, ErrorKind, Result};
pub use memory::Memory;
pub use ops::annotate::{AnnotateReport, AnnotateRequest, ProposedLine};
pub use ops::ask::{AskReport, AskRequest};
pub use ops::blame::{BlameReport, BlameRequest};
pub use ops::compile::{CompileReport, CompileRequest};
pub use ops::consolidate::{ConsolidateReport, ConsolidateRequest};
pub use ops::context::{
    Considered, Contents, ContextReport, ContextRequest, Explanation, GivenLine, ToolCall,
    WeekOfGiving,
};
pub use ops::detect::{DetectReport, DetectRequest};
pub use ops::digest::{DigestReport, DigestRequest};
pub use ops::distribute::{DistributeReport, DistributeRequest};
pub use ops::doctor::{DoctorReport, DoctorRequest};
pub use ops::fix::{FixReport, FixRequest};
pub use ops::flush::{FlushReport, FlushRequest};
pub use ops::forget::{ForgetPlan, ForgetReport, ForgetRequest};
pub use ops::git_exposure::GitExposure;
pub use ops::handoff::{HandoffReport, HandoffRequest};
pub use ops::install::{InstallPlan, InstallPlans, InstallRequest, LeftAlone, Part};
pub use ops::launch::{HandoffToRequest, Launch, ResumeRequest};
pub use ops::lint::{LintReport, LintRequest};
pub use ops::log::{LogReport, LogRequest};
pub use ops::measure::{MeasureReport, MeasureRequest};
pub use ops::native::{NativeNotes, NativeReport, NativeRequest};
pub use ops::pages::{ListedPage, PageRef, PagesReport, PagesRequest};
pub use ops::pin::{PinReport, PinRequest};
pub use ops::recall::{RecallReport, RecallRequest};
pub use ops::remember::{NoteKind, RememberReport, RememberRequest};
pub use ops::retain::{RetainReport, RetainRequest};
pub use ops::retro::{RetroReport, RetroRequest};
pub use ops::review::{
    AgentsView, Inbox, InboxItem, InstructionRequest, ProposeRequest, Reply, ReviewReport,
};
pub use ops::search::{SearchReport, SearchRequest};
pub use ops::snapshot::{SnapshotReport, SnapshotRequest};
pub use ops::status::StatusReport;
pub use ops::summarize::{SummarizeReport, SummarizeRequest};
pub use ops::sweep::{SweepReport, SweepRequest};
pub use ops::sync::{
    Exposed, InstalledHook, MergeFileReport, MergeFileRequest, PageVersion, RawAmount, Registered,
    SettledMerges, SyncReport, SyncRequest, merge_file,
};
pub use ops::team::{LeaveReport, Removal, TeamSyncReport, TeamSyncRequest};
pub use ops::verify::{VerifyReport, VerifyRequest};
pub use ops::why::{WhyReport, WhyRequest};

/// What the tests and benches of this package need of the inside; no promise to anybody else.
#[doc(hidden)]
pub mod internals {
    pub mod adapters {
        pub use crate::adapters::{
            ALL, Adapter, Identified, Identity, Places, gather, named, recognize,
        };
        pub mod children {
            pub use crate::adapters::children::read;
        }
        pub mod hooks {
            pub use crate::adapters::hooks::of;
        }
        pub mod shared {
            pub use crate::adapters::shared::{SharedFiles, SharedSession};
        }
    }
    pub mod base {
        pub mod clock {
            pub use crate::base::clock::{from_millis, parse, stamp};
        }
        pub mod files {
            pub use crate::base::files::{hash_file, lock_exclusive, sha256_hex, walk_files};
        }
        pub mod front_matter {
            pub use crate::base::front_matter::Document;
        }
        pub mod jsonc {
            pub use crate::base::jsonc::value;
        }
        pub mod markdown {
            pub use crate::base::markdown::{inline, quoted, tight_code};
        }
        pub mod redact {
            pub use crate::base::redact::{READERS, RULES, Redactor};
        }
        pub mod text {
            pub use crate::base::text::{cut, each_word, one_line, printable, tokens};
        }
        pub mod zone {
            pub use crate::base::zone::Zone;
        }
    }
    pub mod capture {
        pub use crate::capture::PageSettings;
        pub use crate::capture::found;
        pub mod stage {
            pub use crate::capture::stage::{CaptureError, stage};
        }
    }
    pub mod distill {
        pub mod clean {
            pub use crate::distill::clean::Cleaner;
        }
        pub mod digest {
            pub use crate::distill::digest::MADE_BY;
        }
    }
    pub mod ops {
        pub mod sample {
            pub use crate::ops::sample::unpack;
        }
    }
    pub mod query {
        pub use crate::query::Query;
    }
    pub mod settings {
        pub use crate::settings::{Layers, Settings};
    }
    pub mod store {
        pub use crate::store::Store;
        pub mod core {
            pub use crate::store::core::{core_ids, parse_core};
            pub mod memory {
                pub use crate::store::core::memory::{MOST_BYTES, MOST_LINES, leads_to};
            }
        }
        pub mod digest {
            pub use crate::store::digest::{parse, parse_trigger, text, text_over};
        }
        pub mod layout {
            pub use crate::store::layout::{Layout, link_path};
        }
        pub mod snapshots {
            pub use crate::store::snapshots::parse_manifest_line;
        }
        pub mod tombstones {
            pub use crate::store::tombstones::{Tombstone, Tombstones, add};
        }
    }
}
