//! The models that a person's settings name.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::{Backend, Model, ModelSettings, Models};
use crate::base::clock::Timestamp;
use crate::distill::cost;
use crate::error::{Error, Result};
use crate::settings::{Settings, Summarizer};
use crate::store::layout::Layout;

impl Models {
    /// The models of the settings, if any. `now` is when the run began.
    pub fn configured(
        settings: &Settings,
        home: &Path,
        variables: &BTreeMap<String, String>,
        now: Timestamp,
        layout: &Layout,
    ) -> Result<Models> {
        let set = &settings.models;
        let backend = match settings.summarizer {
            Summarizer::Extractive => return Ok(Models::none()),
            Summarizer::Command => {
                // No shell is run, so what it would do to `~` is done here.
                let expanded = |word: &String| match word.strip_prefix("~/") {
                    Some(below) => home.join(below).to_string_lossy().into_owned(),
                    None => word.clone(),
                };
                Backend::Program(set.command.iter().map(expanded).collect())
            }
            Summarizer::OpenAi => Backend::Server {
                base_url: set.base_url.clone(),
                key: variables
                    .get(&set.key_variable)
                    .map(|key| key.trim().to_string())
                    .filter(|key| !key.is_empty()),
            },
        };
        let model_settings = ModelSettings {
            backend,
            low: model(&set.low, &set.low_usd, "low_usd")?,
            high: model(&set.high, &set.high_usd, "high_usd")?,
            input_tokens: set.input_tokens,
            timeout: Duration::from_secs(set.timeout_seconds.max(1)),
            pause: Duration::from_secs(set.retry_seconds),
            daily_tokens: set.daily_tokens,
            daily_usd: set.daily_usd,
            trust_prompts: set.trust_prompts,
            now,
            zone: settings.zone()?,
        };
        let missing = !set.key_variable.is_empty()
            && matches!(model_settings.backend, Backend::Server { key: None, .. });
        let models = Models::new(model_settings, settings.redactor()?, layout);
        if missing {
            // No reason to stop: a sweep that a timer starts captures without the key, and the next
            // one asks.
            models.give_up(&format!(
                "the variable `{}`, which should hold the model's key, is not set",
                set.key_variable
            ));
        }
        Ok(models)
    }
}

/// A model with its price: the settings' own, else that of the table that ships with the program.
fn model(name: &str, usd: &[f64], setting: &str) -> Result<Model> {
    let usd = match usd {
        [] => cost::price(name).map(|[read, written, ..]| (read, written)),
        [read, written] => Some((*read, *written)),
        _ => {
            return Err(Error::new(format!("cannot use the setting `models.{setting}`"))
                .because("it needs two numbers: US dollars for a million tokens read, and written")
                .hint(format!("write `{setting} = [0.25, 2.0]`")));
        }
    };
    Ok(Model { name: name.to_string(), usd })
}
