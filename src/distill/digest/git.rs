//! What git and the forge have of a session: its commits and pull requests as they stand at the
//! end.
//!
//! The latest wins: an amended or squashed commit gives way to the one that took its place, a pull
//! request is described as far as it came.

use crate::distill::commands::{Commit, PullStep};
use crate::distill::facts::{EpisodeFacts, Facts};

/// The commits and pull requests of a session.
#[derive(Debug, Default)]
pub struct Git<'f> {
    pub commits: Vec<(&'f EpisodeFacts, &'f Commit)>,
    pub pulls: Vec<Pull>,
}

/// A pull request, as it was left.
#[derive(Debug, Clone)]
pub struct Pull {
    /// Its number; 0 where it was not seen.
    pub number: u64,
    pub title: String,
    pub points: Vec<String>,
    pub step: PullStep,
    /// How often it was looked at or changed.
    pub looks: u32,
    /// The episode in which it came as far as it did.
    pub episode: u32,
    /// Whether its review comments were answered.
    pub answered: bool,
}

impl Pull {
    /// Whether the session opened, changed or merged it.
    pub fn is_own(&self) -> bool {
        self.step > PullStep::Answered
    }

    /// ` (PR #12)`, where its number is known.
    pub fn reference(&self) -> String {
        if self.number > 0 { format!(" (PR #{})", self.number) } else { String::new() }
    }

    /// How far it came, in a word.
    pub fn state(&self) -> &'static str {
        match self.step {
            PullStep::Seen | PullStep::SeenMerged => "looked at",
            PullStep::Answered => "answered",
            PullStep::Updated => "updated",
            PullStep::Draft => "opened as a draft",
            PullStep::Opened => "opened",
            PullStep::Ready => "ready for review",
            PullStep::Closed => "closed",
            PullStep::Merged => "merged",
        }
    }
}

impl<'f> Git<'f> {
    /// What stands at the end of a session.
    pub fn of(facts: &'f Facts) -> Git<'f> {
        let mut git = Git::default();
        for part in facts.own_parts() {
            for commit in part.commits.iter().filter(|commit| !commit.undone) {
                // The same subject again is the same commit after a rebase.
                git.commits.retain(|(_, known)| known.message != commit.message);
                git.commits.push((part, commit));
            }
            git.add_pulls(part);
        }
        let reverted: Vec<String> = git
            .commits
            .iter()
            .filter_map(|(_, commit)| commit.message.strip_prefix("Revert \"")?.split('"').next())
            .map(str::to_string)
            .collect();
        git.commits.retain(|(_, commit)| !reverted.contains(&commit.message));
        git
    }

    fn add_pulls(&mut self, part: &EpisodeFacts) {
        for step in &part.pulls {
            // `gh pr merge` without a number means the one that was spoken of last.
            let number = match step.number {
                0 => self.pulls.last().map_or(0, |pull| pull.number),
                number => number,
            };
            let at = match self.pulls.iter().position(|known| known.number == number) {
                Some(at) => at,
                None => {
                    self.pulls.push(Pull {
                        number,
                        title: String::new(),
                        points: Vec::new(),
                        step: step.step,
                        looks: 0,
                        episode: part.last_episode,
                        answered: false,
                    });
                    self.pulls.len() - 1
                }
            };
            let mut pull = self.pulls.remove(at);
            pull.looks += 1;
            pull.answered |= step.step == PullStep::Answered;
            if !step.title.is_empty() && (pull.title.is_empty() || step.step > PullStep::Answered) {
                pull.title.clone_from(&step.title);
            }
            if !step.points.is_empty() {
                pull.points.clone_from(&step.points);
            }
            let came_to = match step.step {
                PullStep::SeenMerged if pull.is_own() => PullStep::Merged,
                step => step,
            };
            if came_to >= pull.step {
                (pull.step, pull.episode) = (came_to, part.last_episode);
            }
            self.pulls.push(pull);
        }
    }
}
