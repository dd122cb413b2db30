//! Choosing who makes embeddings: a server's address in the person's own configuration, and the way
//! back, which removes what it made.

use std::path::PathBuf;

use serde::Serialize;
use toml_edit::{DocumentMut, Item, Table, value};

use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::models::embeddings::Patience;
use crate::ops::own_settings::{self, Changed};

/// The server that is known by name.
const OLLAMA: &str = "ollama";
const OLLAMA_ADDRESS: &str = "http://127.0.0.1:11434/v1";
/// What undoes it.
pub const OFF: &str = "off";

/// Who makes embeddings from now on.
#[derive(Debug, Clone, Default)]
pub struct EmbeddingsRequest {
    /// A server's address, `ollama`, or `off`.
    pub name: String,
    /// The model's own name.
    pub model: Option<String>,
    /// The environment variable that holds the server's key.
    pub key_variable: Option<String>,
}

/// What was written.
#[derive(Debug, Serialize)]
pub struct EmbeddingsChoice {
    /// The person's own configuration.
    pub file: PathBuf,
    pub changed: bool,
    /// The server that will be asked; empty where it is off.
    pub base_url: String,
    pub model: String,
}

/// Writes into the person's own configuration who makes embeddings; nobody is asked yet.
pub fn choose_embeddings(
    environment: &Environment,
    request: &EmbeddingsRequest,
) -> Result<EmbeddingsChoice> {
    let base_url = match request.name.trim_end_matches('/') {
        OFF => "",
        OLLAMA => OLLAMA_ADDRESS,
        address if address.starts_with("http://") || address.starts_with("https://") => address,
        other => {
            return Err(Error::usage(format!("`{other}` is no server's address")).hint(
                "name one: `memtree config embeddings http://127.0.0.1:11434/v1 --model NAME`, \
                 or `ollama`, or `off`",
            ));
        }
    };
    let model = request.model.clone().unwrap_or_default();
    if !base_url.is_empty() && model.is_empty() {
        return Err(Error::usage("a server has many models, and none is named")
            .hint(format!("name one: `memtree config embeddings {} --model NAME`", request.name)));
    }
    let key_variable = request.key_variable.as_deref().unwrap_or_default();
    let lines = [("base_url", base_url), ("model", &model), ("key_variable", key_variable)];
    let Changed { file, changed, .. } =
        own_settings::change(environment, |before| Ok((chosen(before, &lines)?, ())))?;
    Ok(EmbeddingsChoice { file, changed, base_url: base_url.to_string(), model })
}

impl Memory {
    /// Asks the configured server for one vector; how many numbers it has, or why it has not
    /// answered.
    pub fn try_embeddings(&self) -> Result<Result<usize, String>> {
        let tried = self.embeddings()?.embed(&["Are you there?".to_string()], Patience::Sweep);
        Ok(match tried {
            Ok(embedded) => Ok(embedded.vectors.first().map_or(0, Vec::len)),
            Err(failure) => Err(failure.reason),
        })
    }
}

/// The configuration with these lines in its table, and without those that are empty; every other
/// line stays as it is.
fn chosen(text: &str, lines: &[(&str, &str)]) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|err| format!("{err}"))?;
    if !document.contains_key(TABLE) && lines.iter().all(|(_, text)| text.is_empty()) {
        return Ok(document.to_string());
    }
    let table = document.entry(TABLE).or_insert_with(|| Item::Table(Table::new()));
    let table = table.as_table_like_mut().ok_or("`embeddings` is no table")?;
    for (key, text) in lines {
        match text.is_empty() {
            true => drop(table.remove(key)),
            false => drop(table.insert(key, value(*text))),
        }
    }
    if table.is_empty() {
        document.remove(TABLE);
    }
    Ok(document.to_string())
}

const TABLE: &str = "embeddings";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_and_off_leave_every_other_line() {
        let before = "# mine\n[open]\neditor = \"vim\"\n";
        let on = [("base_url", "http://h/v1"), ("model", "m"), ("key_variable", "")];
        let text = chosen(before, &on).unwrap();
        let added = "\n[embeddings]\nbase_url = \"http://h/v1\"\nmodel = \"m\"\n";
        assert_eq!(text, format!("{before}{added}"));
        let off = [("base_url", ""), ("model", ""), ("key_variable", "")];
        assert_eq!(chosen(&text, &off).unwrap(), before);
        assert_eq!(chosen(before, &off).unwrap(), before);
        let kept = "[embeddings]\n# patience\nsearch_ms = 50\nbase_url = \"x\"\n";
        assert_eq!(chosen(kept, &off).unwrap(), "[embeddings]\n# patience\nsearch_ms = 50\n");
        assert!(chosen("embeddings = 3", &on).is_err());
    }
}
