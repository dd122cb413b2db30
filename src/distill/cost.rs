//! What a session cost: what its log says, else its tokens by a table of prices that ships with the
//! program.
//!
//! A model that is not in the table gets no price, and a session with such a model no sum: half a
//! bill would read like a whole one.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::model::session::ModelUsage;

/// The cost of a session in US dollars.
pub fn cost_usd(usage: &[ModelUsage]) -> Option<f64> {
    let used = usage
        .iter()
        .filter(|model| model.input + model.output + model.cache_read + model.cache_write > 0);
    let costs: Option<Vec<f64>> =
        used.map(|model| model.cost_usd.or_else(|| priced(model))).collect();
    costs.filter(|costs| !costs.is_empty()).map(|costs| costs.iter().sum())
}

/// Dollars for a million tokens: input, output, cache read, cache write.
pub type Price = [f64; 4];

static PRICES: LazyLock<BTreeMap<String, Price>> = LazyLock::new(|| {
    toml::from_str(include_str!("../../templates/prices.toml"))
        .expect("templates/prices.toml is a table of prices")
});

/// What a model costs, if the table knows it.
pub fn price(model: &str) -> Option<Price> {
    // `anthropic/claude-…` and `us.anthropic.claude-…` are the same models, sold by others.
    let name = model.rsplit(['/']).next().unwrap_or(model);
    let name = name.rsplit_once("anthropic.").map_or(name, |(_, name)| name);
    let fits = PRICES.iter().filter(|(beginning, _)| name.starts_with(beginning.as_str()));
    fits.max_by_key(|(beginning, _)| beginning.len()).map(|(_, price)| *price)
}

fn priced(usage: &ModelUsage) -> Option<f64> {
    let [input, output, cache_read, cache_write] = price(&usage.model)?;
    let tokens =
        [usage.input, usage.output, usage.cache_read, usage.cache_write].map(|count| count as f64);
    let sum =
        tokens[0] * input + tokens[1] * output + tokens[2] * cache_read + tokens[3] * cache_write;
    Some(sum / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(model: &str, input: u64, output: u64) -> ModelUsage {
        ModelUsage { model: model.into(), input, output, ..ModelUsage::default() }
    }

    #[test]
    fn the_longest_beginning_counts() {
        assert_eq!(cost_usd(&[usage("claude-opus-4-5-20251101", 1_000_000, 0)]), Some(5.0));
        assert_eq!(cost_usd(&[usage("claude-opus-4-20250514", 1_000_000, 0)]), Some(15.0));
        assert_eq!(cost_usd(&[usage("anthropic/claude-sonnet-4.5", 0, 1_000_000)]), Some(15.0));
        assert_eq!(cost_usd(&[usage("gpt-4o-mini-2024-07-18", 1_000_000, 0)]), Some(0.15));
    }

    #[test]
    fn half_a_bill_is_none() {
        let known = usage("claude-opus-4-5", 1_000_000, 0);
        assert_eq!(cost_usd(&[known.clone(), usage("unheard-of", 5, 5)]), None);
        assert_eq!(cost_usd(&[known.clone(), usage("unheard-of", 0, 0)]), Some(5.0));
        assert_eq!(cost_usd(&[]), None);
        let with_cost = ModelUsage { cost_usd: Some(0.25), ..usage("unheard-of", 5, 5) };
        assert_eq!(cost_usd(&[known, with_cost]), Some(5.25));
    }
}
