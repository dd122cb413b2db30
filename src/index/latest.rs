//! The latest: which sessions of a project ended last, without reading a digest.

use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocSet, Searcher, TERMINATED};

use super::document::Fields;
use super::matches;

/// The places of a project's sessions, the last to end first.
pub fn of_project(
    searcher: &Searcher,
    project: &str,
    limit: usize,
) -> tantivy::Result<Vec<DocAddress>> {
    let (field, name) = (Fields::get().project, project.to_lowercase());
    let mut ended: Vec<(i64, DocAddress)> = Vec::new();
    for (ordinal, segment) in searcher.segment_readers().iter().enumerate() {
        let Some(mut sessions) =
            matches::postings(segment, field, &name, IndexRecordOption::Basic)?
        else {
            continue;
        };
        let times = segment.fast_fields().i64(Fields::ENDED)?;
        while sessions.doc() != TERMINATED {
            let session = sessions.doc();
            if !segment.is_deleted(session) {
                let place = DocAddress::new(ordinal as u32, session);
                ended.push((times.first(session).unwrap_or(i64::MIN), place));
            }
            sessions.advance();
        }
    }
    ended.sort_unstable_by_key(|(ended, _)| std::cmp::Reverse(*ended));
    // Sessions that ended in the same second are put in order by whoever reads them.
    ended.truncate(limit);
    Ok(ended.into_iter().map(|(_, place)| place).collect())
}
