//! `memtree ask`

use super::{Door, output};
use crate::error::Result;
use crate::ops::ask::{self, AskAnswer, AskRequest};

/// Answer a question from the pages of knowledge, with citations
///
/// Picks the pages that have most to do with the question, and the digests where these do not
/// answer it, and quotes what they say. Where nothing answers, it says so.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The question
    #[arg(value_name = "QUESTION", required = true)]
    question: Vec<String>,
    /// File the answer as a page below knowledge/qa
    #[arg(long)]
    file_back: bool,
}

pub fn run(args: Args, door: &Door) -> Result<u8> {
    let config = door.config()?;
    let store = door.store()?;
    let redactor = door.redactor(&config)?;
    let models = door.models(&config)?;
    let answer = ask::ask(
        &store,
        &AskRequest {
            question: args.question.join(" "),
            file_back: args.file_back,
            redactor: &redactor,
            models: &models,
            now: door.now,
            dry_run: door.dry_run,
        },
    )?;
    if door.json {
        output::json(&answer);
    } else {
        show(&answer, door);
    }
    Ok(0)
}

fn show(answer: &AskAnswer, door: &Door) {
    match &answer.answer {
        Some(text) => output::print(text),
        None => {
            output::print("nothing in this memory answers that\n");
            door.say(format!(
                "`{} search` with other words may find what comes near",
                door.program()
            ));
        }
    }
    if answer.answer.is_some() {
        door.say(format!("from {}", answer.consulted.join(", ")));
    }
    if let Some(path) = &answer.filed {
        door.say(format!("filed as {path}"));
    }
}
