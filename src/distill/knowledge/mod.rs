//! Knowledge from days: which topics came up, and what was said of each, in the words in which it
//! was said.
//!
//! The same days give the same pages, in whatever order they arrived and on whichever device: the
//! topics of a day depend on that day alone, and what a page says on all days together.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;

use crate::model::day::LineKind;
use crate::model::ids::{EpisodeId, SessionId};
use crate::model::knowledge::{About, Concept, Knowledge, PageName};

mod chunks;
mod connections;
mod pages;
mod relations;
mod sentences;
mod topics;
pub mod wording;

pub use chunks::chunks;
use topics::Topic;

/// One day, as it was read.
#[derive(Debug, Clone)]
pub struct Day {
    pub day: NaiveDate,
    pub lines: Vec<Line>,
}

/// One line of a day.
#[derive(Debug, Clone)]
pub struct Line {
    pub kind: LineKind,
    pub session: Option<SessionId>,
    pub episode: Option<EpisodeId>,
    pub text: String,
}

/// The pages that days make; `there` are pages that the memory has already, which stay as long as
/// the days have anything to say of them.
pub fn knowledge(
    days: &[Day],
    sessions: &BTreeMap<SessionId, About>,
    there: &BTreeSet<PageName>,
) -> Knowledge {
    let transcript = sentences::Transcript::of(days);
    let chosen = topics::chosen(&transcript, sessions, there);
    let pages = pages::concepts(&transcript, &chosen, sessions);
    let has_enough = |concept: &Concept| concept.key_points.len() >= pages::FEWEST_POINTS;
    let (chosen, mut concepts): (Vec<Topic>, Vec<Concept>) =
        chosen.into_iter().zip(pages).filter(|(_, concept)| has_enough(concept)).unzip();
    let connections = connections::connections(&transcript, &chosen, there);
    relations::relate(&transcript, &chosen, &connections, &mut concepts);
    Knowledge { concepts, connections }
}
