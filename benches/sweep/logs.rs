//! Made-up logs in the shape of Claude Code's: the same number always makes the same log.
//!
//! Their measures are those of real ones: some 30 records of 3 kB for each prompt, half a megabyte
//! for each session.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

/// Writes logs of about so many bytes in all: many short ones, and a few that are a hundred times
/// as long.
pub fn write(folder: &Path, bytes: u64) -> io::Result<()> {
    let mut written = 0;
    for index in 0.. {
        if written >= bytes {
            break;
        }
        let mut dice = Dice(index);
        let most = 10_000 << dice.below(9);
        written +=
            write_one(folder, index, (most / 2 + dice.below(most / 2)).min(bytes - written))?;
    }
    Ok(())
}

/// Writes one log of at least so many bytes; returns how many.
pub fn write_one(folder: &Path, index: u64, bytes: u64) -> io::Result<u64> {
    let mut dice = Dice(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let project = ["ledger", "parser", "gateway", "notebook", "crawler"][dice.below(5) as usize];
    let id = format!(
        "{:08x}-{:04x}-4000-8000-{:012x}",
        dice.next() as u32,
        dice.next() as u16,
        index & 0xffff_ffff_ffff
    );
    let folder = folder.join(format!("projects/-home-dev-src-{project}"));
    fs::create_dir_all(&folder)?;
    let file = BufWriter::new(File::create(folder.join(format!("{id}.jsonl")))?);
    let second = dice.below(250 * 86_400);
    let mut log = Log { file, id, project, records: 0, second, bytes: 0 };
    while log.bytes < bytes {
        let prompt = dice.prose(4);
        log.record("user", json!({ "role": "user", "content": prompt }), Value::Null)?;
        for _ in 0..=dice.below(24) {
            if dice.below(2) == 0 {
                let text = dice.prose(3);
                log.answer(&mut dice, json!({ "type": "text", "text": text }))?;
            }
            let tool = format!("toolu_{:016x}", dice.next());
            let (name, input, output) = dice.tool(project);
            log.answer(
                &mut dice,
                json!({ "type": "tool_use", "id": tool, "name": name, "input": input }),
            )?;
            let result = json!([{ "tool_use_id": tool, "type": "tool_result", "content": output }]);
            log.record(
                "user",
                json!({ "role": "user", "content": result }),
                json!({ "stdout": output, "stderr": "" }),
            )?;
        }
    }
    log.file.flush()?;
    Ok(log.bytes)
}

struct Log {
    file: BufWriter<File>,
    id: String,
    project: &'static str,
    records: u64,
    second: u64,
    bytes: u64,
}

impl Log {
    fn record(&mut self, kind: &str, message: Value, result: Value) -> io::Result<()> {
        self.records += 1;
        self.second += 7;
        let (day, second) = (self.second / 86_400, self.second % 86_400);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let mut record = json!({
            "parentUuid": null, "isSidechain": false, "userType": "external", "sessionId": self.id, "type": kind,
            "cwd": format!("/home/dev/src/{}", self.project), "version": "2.1.0", "gitBranch": "main",
            "uuid": format!("{}-{}", self.id, self.records), "message": message,
            "timestamp": format!("2026-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}.000Z", day / 28 % 12 + 1, day % 28 + 1),
        });
        if !result.is_null() {
            record["toolUseResult"] = result;
        }
        let line = format!("{record}\n");
        self.bytes += line.len() as u64;
        self.file.write_all(line.as_bytes())
    }

    fn answer(&mut self, dice: &mut Dice, block: Value) -> io::Result<()> {
        let usage = json!({ "input_tokens": 4, "cache_read_input_tokens": 20_000, "output_tokens": dice.below(900) });
        let message = json!({
            "id": format!("msg_{:016x}", dice.next()), "type": "message", "role": "assistant",
            "model": "claude-opus-4-8", "content": [block], "stop_reason": null, "usage": usage,
        });
        self.record("assistant", message, Value::Null)
    }
}

/// Numbers that look like chance and are not.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// A word; short numbers, which are frequent words, come up most.
    fn word(&mut self) -> String {
        const SYLLABLES: [&str; 16] = [
            "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so",
            "tu", "wa",
        ];
        let bits = self.below(13) + 4;
        let mut number = self.below(1 << bits) as usize;
        let mut word = SYLLABLES[number % 16].to_string();
        while number >= 16 {
            number /= 16;
            word.push_str(SYLLABLES[number % 16]);
        }
        word
    }

    fn words(&mut self, least: u64, more: u64, between: &str) -> String {
        let words: Vec<String> = (0..least + self.below(more)).map(|_| self.word()).collect();
        words.join(between)
    }

    fn prose(&mut self, sentences: u64) -> String {
        let sentences: Vec<String> =
            (0..=self.below(sentences)).map(|_| self.words(6, 16, " ") + ".").collect();
        sentences.join(" ")
    }

    fn lines(&mut self, most: u64) -> String {
        let lines: Vec<String> = (0..=self.below(most))
            .map(|_| format!("    {} = {};", self.word(), self.words(2, 6, ".")))
            .collect();
        lines.join("\n")
    }

    fn tool(&mut self, project: &str) -> (&'static str, Value, String) {
        let path = format!("/home/dev/src/{project}/src/{}.rs", self.word());
        match self.below(4) {
            0 => ("Read", json!({ "file_path": path }), self.lines(400)),
            1 => (
                "Bash",
                json!({ "command": format!("cargo test {}", self.word()) }),
                self.lines(150),
            ),
            2 => ("Grep", json!({ "pattern": self.word() }), self.lines(60)),
            _ => {
                let input = json!({ "file_path": path, "old_string": self.lines(8), "new_string": self.lines(12) });
                ("Edit", input, format!("The file {path} has been updated."))
            }
        }
    }
}
