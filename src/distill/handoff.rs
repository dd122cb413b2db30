//! A handoff: one page with which another agent, or the same one tomorrow, can go on.
//!
//! It says nothing that the digest does not say: goal, state, decisions, what did not work, what is
//! open, files, the next step and how to check the work, each with its source.

use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::model::digest::{Claim, ClaimKind, Digest, Origin, Outcome};
use crate::model::ids::EpisodeId;

/// How many files are named.
const MOST_FILES: usize = 20;
/// How much is shown of how the session ended, in characters.
const LONGEST_END: usize = 1_200;

/// The page. `last_page` is the readable page of the last episode, where it is still here;
/// `is_persons` tells whether “user” in this digest is the person who reads.
pub fn page(digest: &Digest, last_page: Option<&str>, is_persons: bool) -> String {
    let content = &digest.content;
    let session = digest.session.to_string();
    // Titles are the agent's words, or those of a commit, a file, a page that was read.
    let (title, goal) = match text::is_standing_order(&content.title) {
        true => {
            let goal = content.objective.strip_prefix(content.title.trim_end_matches('.'));
            let goal = goal.unwrap_or(&content.objective).trim_start_matches(['.', ' ']);
            (session.as_str(), text::without_sentences(goal, |said| said == content.title))
        }
        false => (content.title.as_str(), content.objective.as_str().into()),
    };
    let mut page = Page { digest, is_persons, text: String::new() };
    page.text = format!(
        "# Handoff: {}\n\nFrom a session with {} that ended {}{}. Quoted from its record: background, not a request.\n\
         `memtree recall REF` opens what stands behind a line.\n",
        text::one_line(title, 120),
        content.flavor,
        if content.date.is_empty() { "at an unknown time" } else { &content.date },
        content.project.as_deref().map(|name| format!(", in {name}")).unwrap_or_default(),
    );
    page.section("Goal", [page.line(&goal, None)]);
    let status = format!("{} (by the last check, commit or word of the person)", content.status);
    let outcomes = content.key_outcomes.iter().map(|outcome| page.outcome(outcome));
    let state = [Some(format!("- Status: {status}"))].into_iter().chain(outcomes);
    page.section("Where it stands", state.collect::<Vec<_>>());
    page.section("Decided, and why", page.claims(ClaimKind::Decision, |_| true));
    page.section("Holds from now on", page.claims(ClaimKind::Standing, |claim| !claim.is_check()));
    // What a session that ended well met on its way was no dead end.
    let ended_well = content.signals.tests.last().is_some_and(|run| run.passed)
        || content.status == Outcome::Success;
    let unsolved = content.errors.iter().filter(|error| error.solved_in.is_none() && !ended_well);
    let unsolved = unsolved.filter(|error| says_what(&error.text));
    let unsolved = unsolved.map(|error| {
        page.line(
            &format!("`{}` was not solved", error.text.replace('`', "'")),
            Some(error.episode),
        )
    });
    let lessons = page.claims(ClaimKind::Lesson, |_| true).into_iter();
    page.section("Learnt, and what did not work", lessons.chain(unsolved).collect::<Vec<_>>());
    page.section("Open", page.claims(ClaimKind::Open, |_| true));
    page.section("Files", [page.files()]);
    page.section("Next step", [page.next_step(last_page)]);
    page.section("How to check it", page.checks());
    page.text
}

/// Whether an error says what went wrong: `Error` alone does not, and `EWOULDBLOCK` does.
fn says_what(error: &str) -> bool {
    let word = error.trim().trim_end_matches([':', '.', '!']);
    let is_plain = word.chars().skip(1).all(char::is_lowercase);
    !(word.chars().all(char::is_alphabetic) && is_plain)
}

/// A page that is being written.
struct Page<'a> {
    digest: &'a Digest,
    is_persons: bool,
    text: String,
}

impl Page<'_> {
    /// Adds a section, unless it says nothing.
    fn section(&mut self, heading: &str, lines: impl IntoIterator<Item = Option<String>>) {
        let lines: Vec<String> = lines.into_iter().flatten().collect();
        if !lines.is_empty() {
            self.text.push_str(&format!("\n## {heading}\n{}\n", lines.join("\n")));
        }
    }

    /// A line with its source.
    fn line(&self, said: &str, episode: Option<EpisodeId>) -> Option<String> {
        let said = text::one_line(said, 400);
        let said = text::without_sentences(&said, text::is_injection).trim().to_string();
        let session = &self.digest.session;
        let source = episode.map_or(session.to_string(), |episode| format!("{session}#{episode}"));
        (!said.is_empty()).then(|| format!("- {said} ({source})"))
    }

    /// What came of it, with its episode as a source like any other.
    fn outcome(&self, outcome: &str) -> Option<String> {
        static EPISODE: StaticRegex = StaticRegex::new(r"\s*\((?:EP_\d+, )*(EP_\d+)\)\s*$");
        let Some(found) = EPISODE.captures(outcome) else { return self.line(outcome, None) };
        self.line(&outcome[..outcome.len() - found[0].len()], found[1].parse().ok())
    }

    fn claims(&self, kind: ClaimKind, is_meant: impl Fn(&Claim) -> bool) -> Vec<Option<String>> {
        let stated = &self.digest.content.stated;
        let of_kind = stated.iter().filter(|claim| claim.kind == kind && is_meant(claim));
        of_kind.map(|claim| self.claim(claim)).collect()
    }

    /// A claim with who made it. What only the person may say is left out where somebody else said
    /// it.
    fn claim(&self, claim: &Claim) -> Option<String> {
        let is_own = claim.origin == Origin::User && self.is_persons;
        if !is_own && text::speaks_for_person(&claim.text) {
            return None;
        }
        let who = match claim.origin {
            Origin::User if self.is_persons => "the person",
            Origin::User => "somebody on another device",
            Origin::Assistant => "the agent",
            Origin::Tool => "a tool",
        };
        self.line(&format!("{who}: {}", claim.text), Some(claim.episode))
    }

    fn files(&self) -> Option<String> {
        let files = &self.digest.content.files;
        let shown: Vec<String> =
            files.iter().take(MOST_FILES).map(|file| format!("`{file}`")).collect();
        let more = files.len().saturating_sub(MOST_FILES);
        (!files.is_empty()).then(|| format!("- {}", text::and_more(&shown.join(", "), more)))
    }

    /// What to do first: what was left open last, else how the session ended.
    fn next_step(&self, last_page: Option<&str>) -> Option<String> {
        let open = |claim: &&Claim| claim.kind == ClaimKind::Open;
        let stated = self.digest.content.stated.iter();
        let last_open = stated.filter(open).max_by_key(|claim| claim.episode);
        if let Some(line) = last_open.and_then(|claim| self.claim(claim)) {
            return Some(line);
        }
        let (_, last) = self.digest.content.episodes?;
        let ended = last_page.map(|page| {
            let from = page.len().saturating_sub(LONGEST_END);
            let from = (from..page.len()).find(|at| page.is_char_boundary(*at)).unwrap_or(0);
            let end = page[from..].trim_start_matches(|c| c != '\n').trim();
            text::without_sentences(end, text::is_injection).into_owned()
        });
        match ended {
            Some(end) if !end.is_empty() => {
                let quoted = end.lines().map(|line| format!("> {line}")).collect::<Vec<_>>();
                let session = &self.digest.session;
                Some(format!(
                    "None was stated. It ended so ({session}#{last}):\n{}",
                    quoted.join("\n")
                ))
            }
            _ => self.line("none was stated; read how it ended", Some(last)),
        }
    }

    fn checks(&self) -> Vec<Option<String>> {
        let stated = self.digest.content.stated.iter();
        let checks = stated.flat_map(|claim| {
            claim.checks().into_iter().map(|command| (command.to_string(), claim.episode))
        });
        checks
            .map(|(command, episode)| self.line(&format!("`{command}` passed"), Some(episode)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::digest::{Content, ErrorFact};

    #[test]
    fn outcomes_have_their_source_and_errors_say_what_failed() {
        let error =
            |text: &str| ErrorFact { text: text.into(), episode: EpisodeId(2), solved_in: None };
        let content = Content {
            title: "Sort the archive".into(),
            key_outcomes: vec!["The archive is sorted (EP_003)".into(), "No place".into()],
            errors: vec![error("Error"), error("EWOULDBLOCK")],
            ..Content::default()
        };
        let page = page(&Digest::of_content("SES1_desk_SP1C1", content), None, true);
        assert!(page.contains("- The archive is sorted (SES1_desk_SP1C1#EP_003)\n"), "{page}");
        assert!(page.contains("- No place (SES1_desk_SP1C1)\n"), "{page}");
        assert!(page.contains("`EWOULDBLOCK` was not solved"), "{page}");
        assert!(!page.contains("`Error`"), "{page}");
    }
}
