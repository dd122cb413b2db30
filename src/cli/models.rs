//! The models of the settings, put together for whoever asks one.

use std::time::Duration;

use super::App;
use crate::distill::cost;
use crate::error::{Error, Result};
use crate::models::{Model, Models, Settings, Who};
use crate::settings::{Config, Summarizer};
use crate::store::layout::Layout;

pub fn models(config: &Config, app: &App) -> Result<Models> {
    let set = &config.models;
    let who = match config.summarizer {
        Summarizer::Extractive => return Ok(Models::none()),
        Summarizer::Command => {
            // A shell is not asked, so what it would do to `~` is done here.
            let home = |word: &String| match word.strip_prefix("~/") {
                Some(below) => app.places.home.join(below).to_string_lossy().into_owned(),
                None => word.clone(),
            };
            Who::Program(set.command.iter().map(home).collect())
        }
        Summarizer::OpenAi => {
            Who::Server { base_url: set.base_url.clone(), key: key(&set.key_variable, app) }
        }
    };
    let settings = Settings {
        who,
        low: model(&set.low, &set.low_usd, "low_usd")?,
        high: model(&set.high, &set.high_usd, "high_usd")?,
        input_tokens: set.input_tokens,
        timeout: Duration::from_secs(set.timeout_seconds.max(1)),
        pause: Duration::from_secs(set.retry_seconds),
        daily_tokens: set.daily_tokens,
        daily_usd: set.daily_usd,
        trust_prompts: set.trust_prompts,
        now: app.now,
        zone: config.zone()?,
    };
    let missing =
        !set.key_variable.is_empty() && matches!(settings.who, Who::Server { key: None, .. });
    let models = Models::new(settings, app.redactor(config)?, &Layout::new(&app.root));
    if missing {
        // No reason to stop: a sweep that a timer starts captures without the key, and the next one
        // asks.
        models.give_up(&format!(
            "the variable `{}`, which should hold the model's key, is not set",
            set.key_variable
        ));
    }
    Ok(models)
}

/// The key to a server, from the variable that the settings name.
fn key(variable: &str, app: &App) -> Option<String> {
    app.environment.get(variable).map(|key| key.trim().to_string()).filter(|key| !key.is_empty())
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
