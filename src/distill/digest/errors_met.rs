//! Errors met: those of a session that somebody may ask about later, verbatim.
//!
//! What the person pasted comes first: it is what the session was about. Then what calls failed
//! with, and went away; then the rest, and what came back several times before what came once.

use crate::base::text;
use crate::distill::errors::{self, Met};
use crate::distill::facts::Facts;
use crate::model::digest::{ErrorFact, LONGEST_ERROR};
use crate::model::ids::EpisodeId;

/// How many errors a page names.
const MOST: usize = 8;

/// The errors of a session that mattered, in the order in which they were met.
pub fn errors_met(facts: &Facts) -> Vec<ErrorFact> {
    struct Found<'f> {
        fingerprint: &'f str,
        fact: ErrorFact,
        met: Met,
        times: usize,
    }
    let mut found: Vec<Found<'_>> = Vec::new();
    for part in facts.own_parts() {
        // What says only that something failed helps nobody later.
        for error in part.errors.iter().filter(|error| !errors::is_general(&error.sample)) {
            match found.iter_mut().find(|known| known.fingerprint == error.fingerprint) {
                Some(known) => {
                    known.times += 1;
                    known.met = known.met.min(error.met);
                }
                None => found.push(Found {
                    fingerprint: &error.fingerprint,
                    fact: ErrorFact {
                        text: text::one_line(&error.sample, LONGEST_ERROR),
                        episode: EpisodeId(part.episode),
                        solved_in: None,
                    },
                    met: error.met,
                    times: 1,
                }),
            }
        }
        for solved in &part.solved {
            let fingerprint = errors::fingerprint(&solved.error);
            if let Some(known) = found.iter_mut().find(|known| known.fingerprint == fingerprint) {
                known.fact.solved_in = Some(EpisodeId(part.last_episode));
            }
        }
    }
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|at| {
        let error = &found[*at];
        let solved = error.fact.solved_in.is_some();
        (error.met != Met::Pasted, !solved, std::cmp::Reverse(error.times), *at)
    });
    order.truncate(MOST);
    order.sort_unstable();
    order.into_iter().map(|at| found[at].fact.clone()).collect()
}
