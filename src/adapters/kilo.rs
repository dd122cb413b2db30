//! Kilo, which is built on OpenCode: the same tables in the database `kilo.db` (seen in 7.7), and
//! the same tree `storage/` before it (seen nowhere). Its extension for editors was built on Cline
//! before, and kept tasks as that one does (seen nowhere).

use std::path::{Path, PathBuf};

use super::cline::task;
use super::opencode::{self, OpenCode};
use super::schema::{Schema, Table};
use super::{Adapter, Identity, Places, editors, rows};
use crate::error::Result;
use crate::model::session::{EventSink, Head, Log};

/// Kilo.
pub struct Kilo;

const EXTENSION: &str = "kilocode.kilo-code";

impl Adapter for Kilo {
    fn name(&self) -> &'static str {
        "kilo"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let data = places.folder("XDG_DATA_HOME", ".local/share").join("kilo");
        let mut roots = opencode::roots(&data, places.variable("KILO_DB"));
        roots.extend(task::folders(editors::extension_folders(places, EXTENSION)));
        roots
    }

    fn schema(&self) -> Option<&'static Schema> {
        Some(&SCHEMA)
    }

    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        if file.components().any(|part| part.as_os_str() == EXTENSION) {
            return task::identify(file);
        }
        // The documents of the tree are OpenCode's in every field; only their place tells.
        let is_own = rows::is_extract(file)
            || file.ancestors().any(|folder| folder.ends_with("kilo/storage"));
        if is_own { opencode::identify(file, self.name()) } else { Ok(None) }
    }

    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
        match task::is_task(log) {
            true => task::read(log, events),
            false => OpenCode.read(log, events),
        }
    }
}

/// What is read of the database. The board, on which the sessions of one task leave notes for each
/// other, is Kilo's own: by it a database is known whatever it is called.
static SCHEMA: Schema = Schema {
    flavor: "kilo",
    is_named: |name| name.starts_with("kilo") && name.ends_with(".db"),
    lineage: "id",
    parent: opencode::PARENT,
    tables: &[
        opencode::SESSION,
        opencode::MESSAGE,
        opencode::PART,
        opencode::TODO,
        opencode::SESSION_MESSAGE,
        Table::new("kilo_board", "root_session_id", &["4"])
            .optional(&["root_session_id", "objective", "time_created", "time_updated"])
            .touched("time_updated"),
    ],
};
