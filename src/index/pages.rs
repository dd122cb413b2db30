//! Pages that are read already, scored among themselves: there are few of them, and no index needs
//! to be made for that.

use std::borrow::Cow;
use std::collections::HashMap;

use super::bm25::{self, LengthNorm};
use crate::base::text;
use crate::query::terms::stem;

/// The texts of a page, each with how much its words count.
pub type PageTexts<'a> = Vec<(Cow<'a, str>, f32)>;

/// Scores pages by some terms, each of which has its weight.
pub fn score_pages(terms: &[(String, f32)], pages: &[PageTexts]) -> Vec<f32> {
    let places: HashMap<&str, usize> =
        terms.iter().map(|(term, _)| term.as_str()).zip(0..).collect();
    let mut counts = vec![vec![0.0; terms.len()]; pages.len()];
    let mut lengths = vec![0.0; pages.len()];
    for ((page, counts), length) in pages.iter().zip(&mut counts).zip(&mut lengths) {
        for (value, weight) in page {
            text::each_word(value, |word| {
                *length += weight;
                if let Some(term) = places.get(stem(&word.text)) {
                    counts[*term] += weight;
                }
            });
        }
    }
    let mean = lengths.iter().sum::<f32>() / lengths.len().max(1) as f32;
    let norm = LengthNorm::around(mean.max(1.0));
    let weights = terms.iter().enumerate().map(|(term, (_, weight))| {
        let having = counts.iter().filter(|counts| counts[term] > 0.0).count();
        weight * bm25::idf(having as u32, pages.len() as u32)
    });
    let weights: Vec<f32> = weights.collect();
    let score = |(counts, length): (&Vec<f32>, &f32)| {
        let terms = weights.iter().zip(counts);
        terms.map(|(weight, count)| bm25::bm25(*weight, *count, *length, norm)).sum()
    };
    counts.iter().zip(&lengths).map(score).collect()
}
