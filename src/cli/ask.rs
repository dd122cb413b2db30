//! `memtree ask`

use super::{App, output};
use crate::error::Result;
use crate::ops::ask::{AskReport, AskRequest};

/// Answer a question from the pages of knowledge, with citations
///
/// Picks the pages that have most to do with the question, and the digests where these do not
/// answer it, and quotes what they say. Where nothing answers, it says so.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The question
    #[arg(value_name = "QUESTION", required = true)]
    question: Vec<String>,
    /// The same question in other words; whichever is answered answers it. Repeat it: the likely
    /// identifiers and error texts, everyday words, the jargon
    #[arg(long, value_name = "QUESTION")]
    also: Vec<String>,
    /// File the answer as a page below knowledge/qa
    #[arg(long)]
    file_back: bool,
    /// Do nothing, but say what would be done
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let Args { question, also, file_back, dry_run } = args;
    let question = question.join(" ");
    app.note_phrasings(also.len());
    let answer = app.memory()?.ask(AskRequest { question, also, file_back, dry_run })?;
    if app.json {
        output::json(&answer);
    } else {
        show(&answer, app);
    }
    Ok(0)
}

fn show(answer: &AskReport, app: &App) {
    match &answer.answer {
        Some(text) => output::print(text),
        None => {
            output::print("nothing in this memory answers that\n");
            app.note(format!(
                "`{} search` with other words may find what comes near",
                app.program()
            ));
        }
    }
    if answer.answer.is_some() {
        app.note(format!("from {}", answer.consulted.join(", ")));
    }
    if let Some(path) = &answer.filed {
        app.note(format!("filed as {path}"));
    }
}
