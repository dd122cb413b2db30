//! The days: every session worth remembering has its lines in them.

use std::collections::BTreeMap;
use std::io;

use super::{Findings, Step};
use crate::base::clock::Timestamp;
use crate::model::ids::SessionId;
use crate::store::{Store, days};

/// The sessions that must have lines, and when they began.
pub type Expected = BTreeMap<SessionId, Timestamp>;

/// Counts the lines of each session.
pub fn check(store: &Store, expected: &Expected) -> io::Result<Findings> {
    let counted = days::count(store.layout())?;
    let mut findings = Findings::default();
    let amount = findings.amount(Step::Day);
    (amount.files, amount.lines) = (counted.days, counted.lines);
    amount.sessions = counted.by_session.len() as u64;
    for (session, began) in expected {
        if !counted.by_session.contains_key(session) {
            let day = store.layout().shown(&store.layout().day(began.date_naive()));
            findings.gap(Step::Day, Some(session), day, format!("{session} has no line in any day"));
        }
    }
    Ok(findings)
}
