//! A made-up database in the shape of OpenCode's, with many small sessions.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::json;

const TABLES: &str = "
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    CREATE TABLE session (id TEXT PRIMARY KEY, directory TEXT, title TEXT, version TEXT,
        time_created INTEGER, time_updated INTEGER);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,
        time_updated INTEGER, data TEXT);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,
        time_updated INTEGER, data TEXT);
    CREATE INDEX message_of ON message (session_id);
    CREATE INDEX part_of ON part (session_id);
    BEGIN;";
/// Ten minutes, in milliseconds.
const BETWEEN: u64 = 600_000;
const FIRST: u64 = 1_790_000_000_000;

/// Writes a database of so many sessions, each with three prompts, six calls and what these
/// printed, which is so many bytes long; returns where it is.
pub fn write(folder: &Path, sessions: u64, output: usize) -> Result<PathBuf, Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let path = folder.join("opencode.db");
    let database = Connection::open(&path)?;
    database.execute_batch(TABLES)?;
    let printed = "lantern gravel meadow kettle ".repeat(output / 28 + 1);
    for number in 0..sessions {
        write_session(&database, number, &printed)?;
    }
    database.execute_batch("COMMIT")?;
    Ok(path)
}

fn write_session(database: &Connection, number: u64, printed: &str) -> rusqlite::Result<()> {
    let (session, began) = (format!("ses_{number:08}"), FIRST + number * BETWEEN);
    let folder = format!("/home/dev/src/project-{}", number % 40);
    database.execute(
        "INSERT INTO session VALUES (?1, ?2, ?3, '1.18.33', ?4, ?4)",
        (&session, &folder, format!("Look at part {number}"), began as i64),
    )?;
    let mut messages = 0;
    let mut say = |role: &str, parts: Vec<serde_json::Value>| -> rusqlite::Result<()> {
        messages += 1;
        let (id, at) = (format!("msg_{number:08}{messages:04}"), began + messages * 1000);
        let data = json!({
            "role": role, "modelID": "mock", "providerID": "mock", "time": { "created": at },
            "tokens": { "input": 1000, "output": 40, "cache": { "read": 300, "write": 0 } },
        });
        let data = data.to_string();
        let add = "INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)";
        database.execute(add, (&id, &session, at as i64, data))?;
        for (place, part) in parts.into_iter().enumerate() {
            let (own, part) = (format!("prt_{id}{place}"), part.to_string());
            let add = "INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)";
            database.execute(add, (own, &id, &session, at as i64, part))?;
        }
        Ok(())
    };
    for turn in 0..3 {
        let file = format!("file_{number}_{turn}.py");
        say("user", vec![json!({ "type": "text", "text": format!("Please look at {file}") })])?;
        for call in 0..2 {
            let state = json!({
                "status": "completed", "input": { "command": format!("cat {file}") },
                "output": printed, "metadata": { "exit": 0 },
            });
            let id = format!("call_{number}_{turn}_{call}");
            let call = json!({ "type": "tool", "tool": "bash", "callID": id, "state": state });
            say("assistant", vec![json!({ "type": "text", "text": "I will run it." }), call])?;
        }
        let text = format!("{file} holds what it should.");
        say("assistant", vec![json!({ "type": "text", "text": text })])?;
    }
    Ok(())
}
