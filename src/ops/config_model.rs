//! Choosing a model: the settings that let a person's own agent or a server answer, written into
//! their own configuration, and tried with one short call.

use std::path::PathBuf;

use serde::Serialize;
use toml_edit::{Array, DocumentMut, Item, Table, value};

use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::models::presets::{self, Preset};
use crate::models::{Alias, Answer, Prompt};
use crate::ops::own_settings::{self, Changed};
use crate::settings::Summarizer;

/// Which model to ask from now on.
#[derive(Debug, Clone, Default)]
pub struct ModelRequest {
    /// An agent that is known by name, or a server's address.
    pub name: String,
    /// The model's own name, where it is not the agent's choice.
    pub model: Option<String>,
    /// The environment variable that holds a server's key.
    pub key_variable: Option<String>,
}

/// What was written.
#[derive(Debug, Serialize)]
pub struct ModelChoice {
    /// The person's own configuration.
    pub file: PathBuf,
    pub changed: bool,
    /// The program that will be run, word by word; empty for a server.
    pub command: Vec<String>,
    /// The server that will be asked; empty for a program.
    pub base_url: String,
    pub low: String,
}

/// What a model is asked when it is tried.
const TRIAL: Prompt = Prompt {
    task: "trial",
    text: "Reply with the one word `ready` and nothing else.",
    reply_tokens: 16,
};

/// Writes into the person's own configuration which model is asked; nobody is asked yet.
pub fn choose_model(environment: &Environment, request: &ModelRequest) -> Result<ModelChoice> {
    let known = presets::KNOWN.join(", ");
    let preset = presets::preset(&request.name, request.model.as_deref()).ok_or_else(|| {
        Error::usage(format!("unknown model `{}`; known: {known}", request.name))
            .hint("or name a server: `memtree config model http://127.0.0.1:8080/v1 --model NAME`")
    })?;
    if preset.summarizer == Summarizer::OpenAi && preset.low.is_empty() {
        return Err(Error::usage("a server has many models, and none is named")
            .hint(format!("name one: `memtree config model {} --model NAME`", request.name)));
    }
    let Changed { file, changed, .. } = own_settings::change(environment, |before| {
        Ok((chosen(before, &preset, request.key_variable.as_deref())?, ()))
    })?;
    let Preset { command, base_url, low, .. } = preset;
    Ok(ModelChoice { file, changed, command, base_url, low })
}

impl Memory {
    /// Asks the configured model for one word; says why it has not answered, if so. The call is
    /// booked like any other.
    pub fn try_model(&self) -> Result<Option<String>> {
        let material = ["Are you there?".to_string()];
        Ok(match self.models()?.ask(Alias::Low, &TRIAL, &material) {
            Answer::Text(_) | Answer::Nothing => None,
            Answer::Unavailable(reason) => Some(reason),
        })
    }
}

/// The configuration with the model in it; every other line stays as it is.
fn chosen(text: &str, preset: &Preset, key_variable: Option<&str>) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|err| format!("{err}"))?;
    let summarizer = match preset.summarizer {
        Summarizer::Extractive => "extractive",
        Summarizer::Command => "command",
        Summarizer::OpenAi => "openai",
    };
    document["summarizer"] = kept_decor(&document, "summarizer", value(summarizer));
    let models = document.entry("models").or_insert_with(|| Item::Table(Table::new()));
    let models = models.as_table_like_mut().ok_or("`models` is no table")?;
    let command: Array = preset.command.iter().map(String::as_str).collect();
    let lines = [
        ("command", (!preset.command.is_empty()).then(|| value(command))),
        ("base_url", some(&preset.base_url)),
        ("key_variable", key_variable.and_then(some)),
        ("low", some(&preset.low)),
        ("high", some(&preset.high)),
        ("input_tokens", Some(value(preset.input_tokens as i64))),
    ];
    for (key, line) in lines {
        match line {
            Some(line) => drop(models.insert(key, line)),
            None => drop(models.remove(key)),
        }
    }
    Ok(document.to_string())
}

/// A value with the comment and the space around the one that it replaces.
fn kept_decor(document: &DocumentMut, key: &str, mut item: Item) -> Item {
    let decor = document.get(key).and_then(Item::as_value).map(|old| old.decor().clone());
    if let (Some(decor), Some(new)) = (decor, item.as_value_mut()) {
        *new.decor_mut() = decor;
    }
    item
}

fn some(text: &str) -> Option<Item> {
    (!text.is_empty()).then(|| value(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_line_stays_as_it_is() {
        let claude = presets::preset("claude", None).unwrap();
        let before = "# mine\nsummarizer = \"extractive\" # for now\n\n[models]\n# enough\ndaily_usd = 0.5\nbase_url = \"http://old\"\n\n[open]\neditor = \"vim\"\n";
        let text = chosen(before, &claude, None).unwrap();
        assert!(text.starts_with("# mine\nsummarizer = \"command\" # for now\n"), "{text}");
        assert!(text.contains("[models]\n# enough\ndaily_usd = 0.5\n"), "{text}");
        assert!(text.contains("command = [\"claude\", \"-p\", \"--tools\", \"\""), "{text}");
        assert!(!text.contains("http://old") && text.ends_with("\n[open]\neditor = \"vim\"\n"));
        assert_eq!(chosen(&text, &claude, None).unwrap(), text, "once is enough");
        assert!(chosen("models = 3", &claude, None).is_err());
        let server = presets::preset("http://localhost:1/v1", Some("q")).unwrap();
        let text = chosen("", &server, Some("KEY")).unwrap();
        assert_eq!(
            text,
            "summarizer = \"openai\"\n\n[models]\nbase_url = \"http://localhost:1/v1\"\nkey_variable = \"KEY\"\nlow = \"q\"\ninput_tokens = 6000\n"
        );
    }
}
