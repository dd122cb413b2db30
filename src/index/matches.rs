//! Matches: the documents that answer a query, found list by list and scored by [`rank`].
//!
//! Every list of a query's words is read to its end, rather than letting tantivy skip what cannot
//! win: that is fast enough for 100,000 digests, and makes a score depend on the living documents
//! alone, not on how they happen to be spread over segments.

use std::collections::HashSet;

use tantivy::postings::SegmentPostings;
use tantivy::query::{EnableScoring, PhraseQuery, Query as _};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocId, DocSet, Searcher, SegmentReader, TERMINATED, Term};

use super::document::Fields;
use super::rank::{self, Scored};
use crate::base::clock::Timestamp;
use crate::base::text;
use crate::model::hit::Tree;
use crate::query::dates::NamedTimes;
use crate::query::synonyms::synonyms;
use crate::query::terms::{self, QueryTerm};
use crate::query::{Filter, FilterKey, Query};

/// How many words of a query are looked up.
const MOST_WORDS: usize = 96;
/// The shortest word that may be a misspelled one.
const SHORTEST_SLIP: usize = 4;
/// How many words may stand for a misspelled one.
const MOST_NEAR: usize = 3;
/// How many words are looked through for one that looks alike.
const MOST_ALIKE: usize = 100_000;
/// Up to so many words of a query are few.
const FEW_WORDS: usize = 2;
/// How many words are looked up in all, with those that stand for others.
const MOST_WANTED: usize = 256;

/// A word that is looked up, with what it counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// As the index keeps it.
    pub word: String,
    /// What it adds to a score, where it is present.
    pub weight: f32,
    /// What it adds to the covered share of the query.
    pub covers: f32,
    /// How much of a word that was asked for it is: one, or less where it only stands for it.
    pub factor: f32,
    /// Which word of the query it stands for: of the words of one group, only the best counts.
    /// Groups lie together.
    pub group: usize,
}

/// What the words of a query come to in this memory.
#[derive(Debug, Default)]
pub struct Plan {
    pub wanted: Vec<Wanted>,
    /// Words that no digest has, but an episode may: they weigh nothing here.
    pub absent: Vec<Wanted>,
    /// The weight of all that was asked for, found or not.
    pub asked: f32,
    /// Words that nothing has, with those that were taken instead.
    pub unknown: Vec<(String, Vec<String>)>,
    /// The times that it names.
    pub times: NamedTimes,
}

/// Weighs the words of a query by how rare they are.
pub fn plan(searcher: &Searcher, query: &Query) -> tantivy::Result<Plan> {
    let field = Fields::get().words;
    let living = searcher.num_docs() as u32;
    let mut plan = Plan { times: NamedTimes::of(&query.words.join(" ")), ..Plan::default() };
    let mut seen = HashSet::new();
    let typed = asked(query);
    let few = typed.iter().filter(|word| word.unit).count() <= FEW_WORDS;
    for (group, word) in typed.into_iter().enumerate() {
        if !seen.insert((word.text.clone(), word.unit)) || seen.len() > MOST_WORDS {
            continue;
        }
        let having = living_having(searcher, field, &word.text)?;
        // Everyday words stand in a page by chance: how rare they are there says little.
        let told = terms::weight(&word.typed);
        // When it was is no part of what it was; see `rank::as_asked`.
        let is_time = plan.times.words.contains(&word.typed);
        let rarity = rank::rarity(having, living) * told;
        if !word.unit {
            if having > 0 {
                let weight = rarity * rank::COMPOUND;
                let factor = rank::COMPOUND;
                plan.wanted.push(Wanted { word: word.text, weight, covers: 0.0, factor, group });
            }
            continue;
        }
        let (wanted, absent) = (&mut plan.wanted, &mut plan.absent);
        let mut stand_in = |word: &str, having: u32, factor: f32| {
            let factor = factor * told;
            let weight = if having > 0 { rank::rarity(having, living) * factor } else { 0.0 };
            let list = if having > 0 { &mut *wanted } else { &mut *absent };
            list.push(Wanted { word: word.to_string(), weight, covers: weight, factor, group });
        };
        stand_in(&word.text, having, 1.0);
        let mut taken = Vec::new();
        for other in synonyms(&word.text) {
            let having = living_having(searcher, field, other)?;
            stand_in(other, having, rank::RELATED);
            if having > 0 {
                taken.push(other.to_string());
            }
        }
        let mut asked = rarity;
        if having == 0 {
            // Nothing has the word or means the same: it may be misspelled.
            if taken.is_empty() {
                let near = near(searcher, field, &word.text)?;
                near.iter().for_each(|(near, having)| stand_in(near, *having, rank::NEAR_WORD));
                // In few words a slip is likelier than a word that nothing has; in many it may well
                // be one of those.
                if let Some((_, having)) = near.first().filter(|_| few) {
                    asked = rank::rarity(*having, living) * told;
                }
                taken.extend(near.into_iter().map(|(word, _)| word));
            }
            plan.unknown.push((word.typed, taken));
        }
        plan.asked += if is_time { 0.0 } else { asked };
        plan.wanted.truncate(MOST_WANTED);
        plan.absent.truncate(MOST_WANTED);
    }
    Ok(plan)
}

impl Plan {
    /// Whether a page is only a guess: its best part has so much of the query's weight, all of it
    /// so much, and it lacks that share of the names.
    pub fn is_weak(&self, by_part: f32, by_all: f32, names_lacked: f32) -> bool {
        let asked = self.asked.max(f32::MIN_POSITIVE);
        !self.wanted.is_empty()
            && (names_lacked > 0.0 || rank::is_weak(by_part / asked, by_all / asked))
    }

    /// A term with those that may stand for it, as the index has them.
    pub fn alternatives(&self, term: &str) -> Vec<String> {
        let all = || self.wanted.iter().chain(&self.absent);
        let groups: HashSet<usize> =
            all().filter(|wanted| wanted.word == term).map(|wanted| wanted.group).collect();
        let mut words: Vec<String> = self
            .wanted
            .iter()
            .filter(|wanted| groups.contains(&wanted.group))
            .map(|wanted| wanted.word.clone())
            .collect();
        words.retain(|stands_for| stands_for != term);
        words.insert(0, term.to_string());
        words
    }

    /// All words that may stand in an episode, those of one group together.
    pub fn for_episodes(&self) -> Vec<Wanted> {
        let mut all: Vec<Wanted> = self.wanted.iter().chain(&self.absent).cloned().collect();
        all.sort_by_key(|wanted| wanted.group);
        all
    }
}

/// The words that count: all but those that any question has, unless there are no others.
fn asked(query: &Query) -> Vec<QueryTerm> {
    let mut typed: Vec<QueryTerm> = terms::of(&query.words.join(" "));
    if typed.iter().any(|word| !terms::is_question_word(&word.typed)) || !query.phrases.is_empty() {
        typed.retain(|word| !terms::is_question_word(&word.typed));
    }
    for phrase in &query.phrases {
        typed.extend(terms::of(phrase));
    }
    typed
}

/// How many living documents have a word.
fn living_having(searcher: &Searcher, field: Field, word: &str) -> tantivy::Result<u32> {
    let term = Term::from_field_text(field, word);
    let mut having = 0;
    for segment in searcher.segment_readers() {
        let list = segment.inverted_index(field)?;
        if !segment.has_deletes() {
            having += list.doc_freq(&term)?;
            continue;
        }
        let Some(mut postings) = list.read_postings(&term, IndexRecordOption::Basic)? else {
            continue;
        };
        while postings.doc() != TERMINATED {
            having += u32::from(!segment.is_deleted(postings.doc()));
            postings.advance();
        }
    }
    Ok(having)
}

/// The known words that are one slip away from an unknown one, the commonest first.
fn near(searcher: &Searcher, field: Field, word: &str) -> tantivy::Result<Vec<(String, u32)>> {
    if word.chars().count() < SHORTEST_SLIP || word.chars().all(|letter| letter.is_ascii_digit()) {
        return Ok(Vec::new());
    }
    let mut near = Vec::new();
    for slip in terms::slips(word) {
        let having = living_having(searcher, field, &slip)?;
        if having > 0 {
            near.push((slip, having));
        }
    }
    near.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    near.truncate(MOST_NEAR);
    Ok(near)
}

/// Known words that look like an unknown one, further away than a slip; for when nothing else
/// helps.
pub fn alike(searcher: &Searcher, word: &str) -> tantivy::Result<Option<String>> {
    let field = Fields::get().words;
    let Some(first) = word.chars().next().filter(|_| word.chars().count() > SHORTEST_SLIP) else {
        return Ok(None);
    };
    let mut known = Vec::new();
    for segment in searcher.segment_readers() {
        let inverted = segment.inverted_index(field)?;
        let mut terms = inverted.terms().range().ge(first.to_string()).into_stream()?;
        while terms.advance() && known.len() < MOST_ALIKE {
            let Some(term) =
                std::str::from_utf8(terms.key()).ok().filter(|term| term.starts_with(first))
            else {
                break;
            };
            if term.len().abs_diff(word.len()) <= 2 {
                known.push(term.to_string());
            }
        }
    }
    known.sort_unstable();
    Ok(text::nearest(word, known.iter().map(String::as_str)).map(str::to_string))
}

/// The values that a filter can have in this memory, in order; none for one that is no list of
/// names.
pub fn filter_values(searcher: &Searcher, key: FilterKey) -> tantivy::Result<Vec<String>> {
    let fields = Fields::get();
    let field = match key {
        FilterKey::Project => fields.project,
        FilterKey::Flavor => fields.flavor,
        FilterKey::Tag => fields.tag,
        FilterKey::Status | FilterKey::File | FilterKey::Since | FilterKey::Before => {
            return Ok(Vec::new());
        }
    };
    let mut values = std::collections::BTreeSet::new();
    for segment in searcher.segment_readers() {
        let inverted = segment.inverted_index(field)?;
        let mut terms = inverted.terms().stream()?;
        while terms.advance() && values.len() < MOST_ALIKE {
            values.extend(std::str::from_utf8(terms.key()).ok().map(str::to_string));
        }
    }
    Ok(values.into_iter().collect())
}

/// Every document that answers a query, with its score; of notes, only those of some trees.
pub fn matches(
    searcher: &Searcher,
    query: &Query,
    plan: &Plan,
    now: Timestamp,
    trees: &[Tree],
) -> tantivy::Result<Vec<Scored<DocAddress>>> {
    let mut scored = Vec::new();
    let has_words = !query.words.is_empty() || !query.phrases.is_empty();
    for (number, segment) in searcher.segment_readers().iter().enumerate() {
        let allowed = Allowed::by(segment, query, now, trees)?;
        let ended = segment.fast_fields().i64(Fields::ENDED)?;
        let mut take = |doc: DocId, score: f32| {
            if !segment.is_deleted(doc) && allowed.has(doc) {
                let place = DocAddress::new(number as u32, doc);
                scored.push(Scored { score: score * rank::recency(ended.first(doc)), place });
            }
        };
        match has_words {
            true => Scores::of(segment, plan)?.each(&mut take),
            false => (0..segment.max_doc()).for_each(|doc| take(doc, 1.0)),
        }
    }
    Ok(scored)
}

/// The scores of a segment's documents.
struct Scores {
    /// By document; zero where it has nothing of the query.
    scores: Vec<f32>,
    /// The documents that have something, in the order in which they were found.
    found: Vec<DocId>,
}

impl Scores {
    fn of(segment: &SegmentReader, plan: &Plan) -> tantivy::Result<Scores> {
        let mut all = Scores::none(segment);
        // What the words of one group give, the best of them for each document, before it is added.
        let mut best: Option<Scores> = None;
        for group in plan.wanted.chunk_by(|a, b| a.group == b.group) {
            if let [only] = group {
                each(segment, only, |doc, value| all.add(doc, value))?;
                continue;
            }
            let best = best.get_or_insert_with(|| Scores::none(segment));
            for wanted in group {
                each(segment, wanted, |doc, value| best.raise(doc, value))?;
            }
            best.drain(|doc, value| all.add(doc, value));
        }
        Ok(all)
    }

    fn none(segment: &SegmentReader) -> Scores {
        Scores { scores: vec![0.0; segment.max_doc() as usize], found: Vec::new() }
    }

    #[inline]
    fn add(&mut self, doc: DocId, value: f32) {
        let score = &mut self.scores[doc as usize];
        if *score == 0.0 {
            self.found.push(doc);
        }
        *score += value;
    }

    #[inline]
    fn raise(&mut self, doc: DocId, value: f32) {
        let score = &mut self.scores[doc as usize];
        if *score == 0.0 {
            self.found.push(doc);
        }
        *score = score.max(value);
    }

    fn each(&self, mut take: impl FnMut(DocId, f32)) {
        self.found.iter().for_each(|doc| take(*doc, self.scores[*doc as usize]));
    }

    fn drain(&mut self, mut take: impl FnMut(DocId, f32)) {
        for doc in self.found.drain(..) {
            take(doc, std::mem::take(&mut self.scores[doc as usize]));
        }
    }
}

/// Goes through the documents that have a word, with what it gives each.
fn each(
    segment: &SegmentReader,
    wanted: &Wanted,
    mut take: impl FnMut(DocId, f32),
) -> tantivy::Result<()> {
    let field = Fields::get().words;
    let lengths = segment.get_fieldnorms_reader(field)?;
    let term = Term::from_field_text(field, &wanted.word);
    let list =
        segment.inverted_index(field)?.read_block_postings(&term, IndexRecordOption::WithFreqs)?;
    let Some(mut list) = list else { return Ok(()) };
    while !list.docs().is_empty() {
        for (doc, times) in list.docs().iter().zip(list.freqs()) {
            take(*doc, wanted.weight * rank::presence(*times, lengths.fieldnorm(*doc)));
        }
        list.advance();
    }
    Ok(())
}

pub fn postings(
    segment: &SegmentReader,
    field: Field,
    word: &str,
    record: IndexRecordOption,
) -> tantivy::Result<Option<SegmentPostings>> {
    Ok(segment.inverted_index(field)?.read_postings(&Term::from_field_text(field, word), record)?)
}

/// Whether a document has a term.
pub fn contains(segment: &SegmentReader, doc: DocId, term: &str) -> tantivy::Result<bool> {
    let list = postings(segment, Fields::get().words, term, IndexRecordOption::Basic)?;
    Ok(list
        .is_some_and(|mut list| doc == if list.doc() < doc { list.seek(doc) } else { list.doc() }))
}

/// The documents of a segment that filters, phrases and exclusions let through; `None` lets all
/// through.
struct Allowed(Option<Vec<bool>>);

impl Allowed {
    fn by(
        segment: &SegmentReader,
        query: &Query,
        now: Timestamp,
        trees: &[Tree],
    ) -> tantivy::Result<Allowed> {
        let mut allowed = Allowed(None);
        if !trees.is_empty() {
            let field = Fields::get().tree;
            let named = |tree: &Tree| {
                documents(postings(segment, field, tree.name(), IndexRecordOption::Basic)?)
            };
            allowed.narrow(
                segment,
                true,
                &trees.iter().map(named).collect::<tantivy::Result<Vec<_>>>()?,
            );
        }
        let words = Fields::get().words;
        for phrase in &query.phrases {
            allowed.narrow(segment, true, &[with_phrase(segment, words, phrase)?]);
        }
        for phrase in &query.excluded {
            allowed.narrow(segment, false, &[with_phrase(segment, words, phrase)?]);
        }
        for alternatives in query.wanted_filters().values() {
            let sets = alternatives.iter().map(|filter| with_filter(segment, filter, now));
            allowed.narrow(segment, true, &sets.collect::<tantivy::Result<Vec<_>>>()?);
        }
        for filter in query.filters.iter().filter(|filter| filter.negated) {
            allowed.narrow(segment, false, &[with_filter(segment, filter, now)?]);
        }
        Ok(allowed)
    }

    /// Keeps the documents that are in one of the sets, or in none of them.
    fn narrow(&mut self, segment: &SegmentReader, keep: bool, sets: &[Vec<DocId>]) {
        let mut named = vec![false; segment.max_doc() as usize];
        for doc in sets.iter().flatten() {
            named[*doc as usize] = true;
        }
        let allowed = self.0.get_or_insert_with(|| vec![true; segment.max_doc() as usize]);
        for (allowed, named) in allowed.iter_mut().zip(named) {
            *allowed &= named == keep;
        }
    }

    fn has(&self, doc: DocId) -> bool {
        self.0.as_ref().is_none_or(|allowed| allowed[doc as usize])
    }
}

/// The documents in which the smallest words of a phrase follow each other.
fn with_phrase(segment: &SegmentReader, field: Field, phrase: &str) -> tantivy::Result<Vec<DocId>> {
    let mut units = terms::of(phrase);
    units.retain(|word| word.unit);
    units.truncate(MOST_WORDS);
    match units.as_slice() {
        [] => Ok(Vec::new()),
        [unit] => documents(postings(segment, field, &unit.text, IndexRecordOption::Basic)?),
        units => {
            let terms = units
                .iter()
                .map(|unit| (unit.position, Term::from_field_text(field, &unit.text)))
                .collect();
            let phrase = PhraseQuery::new_with_offset(terms);
            let weight = phrase.weight(EnableScoring::disabled_from_schema(segment.schema()))?;
            documents(Some(weight.scorer(segment, 1.0)?))
        }
    }
}

fn with_filter(
    segment: &SegmentReader,
    filter: &Filter,
    now: Timestamp,
) -> tantivy::Result<Vec<DocId>> {
    let fields = Fields::get();
    let named = |field| {
        documents(postings(segment, field, &filter.value.to_lowercase(), IndexRecordOption::Basic)?)
    };
    match filter.key {
        FilterKey::Project => named(fields.project),
        FilterKey::Flavor => named(fields.flavor),
        FilterKey::Status => named(fields.status),
        FilterKey::Tag => named(fields.tag),
        FilterKey::File => with_phrase(segment, fields.file, &filter.value),
        FilterKey::Since | FilterKey::Before => {
            // Before the beginning of the calendar there is nothing.
            let time = filter.time(now).map_or(i64::MIN, |time| time.timestamp());
            let ended = segment.fast_fields().i64(Fields::ENDED)?;
            let fits =
                |at: i64| if filter.key == FilterKey::Since { at >= time } else { at < time };
            Ok((0..segment.max_doc()).filter(|doc| ended.first(*doc).is_some_and(fits)).collect())
        }
    }
}

fn documents(list: Option<impl DocSet>) -> tantivy::Result<Vec<DocId>> {
    let mut documents = Vec::new();
    if let Some(mut list) = list {
        while list.doc() != TERMINATED {
            documents.push(list.doc());
            list.advance();
        }
    }
    Ok(documents)
}
