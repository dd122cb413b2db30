//! Prompts: what a person may start from a client's menu.

use rmcp::model::{
    ErrorData, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role,
};

use super::{Served, answers};
use crate::base::text;
use crate::error::{Error, Result};
use crate::ops::handoff::HandoffRequest;

/// A prompt that a client offers.
struct Offered {
    name: &'static str,
    description: &'static str,
    /// Its one argument, what it means, and whether it has to be there.
    argument: (&'static str, &'static str, bool),
    /// Its text, in which `{argument}` and `{page}` are replaced.
    text: &'static str,
}

const OFFERED: &[Offered] = &[
    Offered {
        name: "recall_about",
        description: "Find out what earlier sessions know of something, with sources",
        argument: ("topic", "What it is about", true),
        text: include_str!("../../templates/mcp/prompts/recall_about.md"),
    },
    Offered {
        name: "handoff",
        description: "Go on with a session where it ended",
        argument: ("session", "SES3_laptop_SP1C2; the newest of the project otherwise", false),
        text: include_str!("../../templates/mcp/prompts/handoff.md"),
    },
    Offered {
        name: "curate",
        description: "Improve the pages of a session, with every line proved by a quote",
        argument: ("session", "SES3_laptop_SP1C2; the newest of the project otherwise", false),
        text: include_str!("../../templates/mcp/prompts/curate.md"),
    },
];

/// The prompts as clients list them.
pub fn all() -> Vec<Prompt> {
    let prompt = |offered: &Offered| {
        let (name, description, required) = offered.argument;
        let argument =
            PromptArgument::new(name).with_description(description).with_required(required);
        Prompt::new(offered.name, Some(offered.description), Some(vec![argument]))
    };
    OFFERED.iter().map(prompt).collect()
}

/// A prompt with its argument filled in.
pub fn prompt(
    served: &Served,
    name: &str,
    arguments: JsonObject,
) -> Result<GetPromptResult, ErrorData> {
    let filled = filled(served, name, &arguments);
    let (description, said) = filled.map_err(|error| answers::protocol_error(&error))?;
    let message = PromptMessage::new_text(Role::User, answers::printable_text(&said));
    Ok(GetPromptResult::new(vec![message]).with_description(description))
}

fn filled(served: &Served, name: &str, arguments: &JsonObject) -> Result<(&'static str, String)> {
    let offered = OFFERED.iter().find(|offered| offered.name == name).ok_or_else(|| {
        let known: Vec<&str> = OFFERED.iter().map(|offered| offered.name).collect();
        Error::usage(format!("there is no prompt `{}`", answers::shown(name)))
            .hint(format!("there are {}", known.join(", ")))
    })?;
    let (argument, _, required) = offered.argument;
    let said = arguments.get(argument).and_then(|value| value.as_str());
    let said = said.map(|said| text::one_line(said, 400)).filter(|said| !said.is_empty());
    if required && said.is_none() {
        return Err(Error::usage(format!("the argument `{argument}` is missing")));
    }
    if !offered.text.contains("{page}") {
        let said = said.unwrap_or_default();
        return Ok((offered.description, offered.text.replace("{argument}", &said)));
    }
    let report = served.memory()?.handoff(HandoffRequest::default().session(said))?;
    let filled = offered.text.replace("{argument}", &report.session.to_string());
    Ok((offered.description, filled.replace("{page}", &report.text)))
}
