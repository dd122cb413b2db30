//! Searching a team's memories: each by its own index, then in one order, with whose they are.

use std::time::Instant;

use super::Colleague;
use crate::error::{Error, Result};
use crate::index::Corpus;
use crate::memory::Memory;
use crate::model::hit::{Hit, Tree, Whose};
use crate::ops::search::{self, LIMIT, SearchReport, SearchRequest};

impl Memory {
    /// Finds what has most to do with a query, in this memory and in those of the team.
    pub fn search_team(&self, request: SearchRequest) -> Result<SearchReport> {
        let started = Instant::now();
        if request.trees.iter().any(|tree| *tree != Tree::Digests) {
            return Err(Error::usage("only sessions of a team are searched")
                .hint("leave `--in` away, or `--team`"));
        }
        let colleagues = self.colleagues()?;
        if colleagues.is_empty() {
            return Err(Error::usage("your settings name no other person's memory").hint(
                "name them in ~/.config/memtree/config.toml, under `[team]`; then `memtree sync --team` fetches what is not on this machine",
            ));
        }
        let limit = request.limit.unwrap_or(LIMIT);
        let mut report = self.search(request.clone().dry_run(request.dry_run))?;
        let own = self.own_name()?.map_or("you".to_string(), |name| name.to_string());
        for hit in &mut report.hits {
            hit.whose = Some(whose(&own, hit, false));
        }
        for colleague in &colleagues {
            let (hits, total) = self.search_colleague(colleague, &request, limit)?;
            report.hits.extend(hits);
            report.total += total;
        }
        // Scores of different indexes do not compare; how sure a hit is does. Of equals one's own
        // comes first: the sort is stable.
        report.hits.sort_by(|a, b| {
            a.weak.cmp(&b.weak).then_with(|| b.confidence.total_cmp(&a.confidence))
        });
        report.hits.truncate(limit);
        report.hits.iter_mut().zip(1..).for_each(|(hit, rank)| hit.rank = rank);
        if report.hits.iter().any(|hit| !hit.weak) {
            report.suggestions.clear();
        }
        if !request.dry_run {
            search::remember(self.store(), &report);
        }
        report.took_ms = started.elapsed().as_millis() as u64;
        Ok(report)
    }

    fn search_colleague(
        &self,
        colleague: &Colleague,
        request: &SearchRequest,
        limit: usize,
    ) -> Result<(Vec<Hit>, usize)> {
        let store = colleague.store(self.layout());
        let index = search::open_index(&store, Corpus::Digests, request)?;
        let phrasings = request.query.phrasings(&request.also);
        let found = match request.deep {
            true => index.deep(&phrasings, self.now(), limit)?,
            false => index.search_phrasings(&phrasings, self.now(), limit)?,
        };
        let mut hits = found.hits;
        for hit in &mut hits {
            hit.whose = Some(whose(colleague.name.as_str(), hit, true));
            // They are not below this memory, so they are named in full.
            let whole = |path: &str| store.layout().root().join(path).display().to_string();
            hit.path = whole(&hit.path);
            hit.triggers.iter_mut().for_each(|trigger| trigger.path = whole(&trigger.path));
        }
        Ok((hits, found.total))
    }
}

fn whose(author: &str, hit: &Hit, others: bool) -> Whose {
    Whose { author: author.to_string(), device: hit.session.device.to_string(), others }
}
