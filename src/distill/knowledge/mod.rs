//! Knowledge from days: which topics came up, and what was said of each, in the words in which it
//! was said.
//!
//! The same days give the same pages, in whatever order they arrived and on whichever device: what
//! a day is about is told by that day alone, and what a page says by all days together.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;

use crate::model::day::LineKind;
use crate::model::ids::{EpisodeId, SessionId};
use crate::model::knowledge::{About, Concept, Knowledge, PageName};

mod chunks;
mod connections;
mod pages;
mod sayings;
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
    let said = sayings::Said::of(days);
    let chosen = topics::chosen(&said, sessions, there);
    let pages = pages::concepts(&said, &chosen, sessions);
    let said_enough = |concept: &Concept| concept.key_points.len() >= pages::FEWEST_POINTS;
    let (chosen, mut concepts): (Vec<Topic>, Vec<Concept>) =
        chosen.into_iter().zip(pages).filter(|(_, concept)| said_enough(concept)).unzip();
    let connections = connections::connections(&said, &chosen, there);
    pages::relate(&said, &chosen, &connections, &mut concepts);
    Knowledge { concepts, connections }
}
