//! A context: turns of one session on one day, as a flush hands them to a model.

use chrono::NaiveDate;

use crate::base::clock::Timestamp;
use crate::base::front_matter::Document;
use crate::base::zone::Zone;
use crate::base::{clock, files, markdown, text};
use crate::distill::day::{DayReader, is_low};
use crate::model::day::{Line, LineKind, SessionSummary};
use crate::model::digest::Origin;
use crate::model::ids::EpisodeId;
use crate::models::check::{Kind, Proposal};

/// How many turns a context has at most, and how many characters; what is more goes into the next
/// one.
const MOST_TURNS: usize = 30;
const MOST_CHARS: usize = 15_000;

/// What somebody said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Utterance {
    pub by_user: bool,
    /// The day, and the time of it.
    pub day: NaiveDate,
    pub time: String,
    pub text: String,
}

impl Utterance {
    /// Reads it from a line of a day; what tools did is noise here.
    pub fn of(line: Line<'_>, day: NaiveDate) -> Option<Utterance> {
        let by_user = match line.kind {
            LineKind::User => true,
            LineKind::MainAgent => false,
            _ => return None,
        };
        Some(Utterance {
            by_user,
            day,
            time: line.time.to_string(),
            text: markdown::plain(line.text),
        })
    }

    fn shown(&self) -> String {
        format!("**{}:** {}", if self.by_user { "User" } else { "Assistant" }, self.text.trim())
    }
}

/// What is to be flushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// The beginning of the hash of the rest: identifies a duplicate.
    pub id: String,
    /// As lines name the session.
    pub session: String,
    pub day: NaiveDate,
    /// The first and the last moment of it.
    pub from: String,
    pub until: String,
    /// When it ended.
    pub at: Timestamp,
    pub reason: String,
    /// The turns, each beginning with what the person said.
    pub turns: Vec<String>,
}

impl Context {
    /// Makes contexts of what was said in a session, at least one for each day. Nothing is left
    /// out: a long session makes many.
    pub fn of(session: &str, said: &[Utterance], reason: &str, zone: Zone) -> Vec<Context> {
        let mut turns: Vec<&[Utterance]> = Vec::new();
        let mut start = 0;
        for at in 1..=said.len() {
            let begins =
                said.get(at).is_none_or(|next| next.by_user || next.day != said[start].day);
            if begins {
                turns.push(&said[start..at]);
                start = at;
            }
        }
        let mut contexts: Vec<Context> = Vec::new();
        let mut chars = 0;
        for turn in turns {
            let shown: Vec<String> = turn.iter().map(Utterance::shown).collect();
            let shown = shown.join("\n\n");
            let (first, last) = (&turn[0], &turn[turn.len() - 1]);
            chars += shown.chars().count();
            let has_room = |context: &&mut Context| {
                context.day == first.day && context.count() < MOST_TURNS && chars <= MOST_CHARS
            };
            match contexts.last_mut().filter(has_room) {
                Some(context) => {
                    context.turns.push(shown);
                    context.until = last.time.clone();
                }
                None => {
                    chars = shown.chars().count();
                    contexts.push(Context {
                        id: String::new(),
                        session: session.to_string(),
                        day: first.day,
                        from: first.time.clone(),
                        until: last.time.clone(),
                        at: Timestamp::default(),
                        reason: reason.to_string(),
                        turns: vec![shown],
                    });
                }
            }
        }
        for context in &mut contexts {
            context.id = context.hash();
            context.at = moment(context.day, &context.until, zone);
        }
        contexts
    }

    /// Makes a context of a text that somebody else extracted: `**User:** …` and `**Assistant:**
    /// …`. Where there are no such marks, all of it is one turn.
    pub fn handed_in(session: &str, text: &str, now: Timestamp, zone: Zone) -> Vec<Context> {
        let local = now.with_timezone(&zone);
        let (day, time) = (local.date_naive(), local.format("%H:%M:%S").to_string());
        let mut said: Vec<Utterance> = Vec::new();
        for line in text.lines() {
            let begun = [("**User:**", true), ("**Assistant:**", false)]
                .into_iter()
                .find_map(|(mark, by_user)| Some((line.trim_start().strip_prefix(mark)?, by_user)));
            match (begun, said.last_mut()) {
                (Some((text, by_user)), _) => {
                    said.push(Utterance {
                        by_user,
                        day,
                        time: time.clone(),
                        text: text.trim().to_string(),
                    });
                }
                (None, Some(last)) => last.text = format!("{}\n{}", last.text, line.trim_end()),
                (None, None) if line.trim().is_empty() => {}
                (None, None) => said.push(Utterance {
                    by_user: true,
                    day,
                    time: time.clone(),
                    text: line.to_string(),
                }),
            }
        }
        said.retain(|said| !said.text.trim().is_empty());
        Context::of(session, &said, "handed in", zone)
    }

    fn hash(&self) -> String {
        let all = format!("{}\n{}\n{}", self.session, self.day, self.turns.join("\n\n"));
        files::sha256_hex(all.as_bytes())[..12].to_string()
    }

    /// The turns as a model is shown them: each with the number by which it can name it.
    pub fn numbered_turns(&self) -> Vec<String> {
        let turns = self.turns.iter().zip(1..);
        turns.map(|(turn, number)| format!("# {}\n\n{turn}", EpisodeId(number))).collect()
    }

    /// How many turns there are.
    pub fn count(&self) -> usize {
        self.turns.len()
    }

    /// Whether nothing in it is worth saving: acknowledgements and greetings, and what was answered
    /// to them.
    pub fn is_idle(&self) -> bool {
        self.turns.iter().all(|turn| {
            let asked =
                turn.split("\n\n").next().unwrap_or_default().trim_start_matches("**User:**");
            is_low(&text::one_line(asked, 200)) && turn.chars().count() < 400
        })
    }

    /// What can be said of it without a model.
    pub fn summary(&self) -> SessionSummary {
        let mut reader = DayReader::default();
        for turn in &self.turns {
            for said in turn.split("\n\n**").map(|said| said.trim_start_matches("**")) {
                let (kind, words) = match said.strip_prefix("Assistant:**") {
                    Some(words) => (LineKind::MainAgent, words),
                    None => (LineKind::User, said.strip_prefix("User:**").unwrap_or(said)),
                };
                reader.take(Line {
                    time: &self.until,
                    kind,
                    session: &self.session,
                    text: words.trim(),
                });
            }
        }
        reader.section()
    }

    /// As it waits in the inbox.
    pub fn to_text(&self) -> String {
        format!(
            "---\nsession: {}\nday: {}\nfrom: \"{}\"\nuntil: \"{}\"\nat: {}\nreason: {}\n---\n{}\n",
            crate::base::front_matter::scalar(&self.session),
            self.day,
            self.from,
            self.until,
            clock::stamp(self.at),
            crate::base::front_matter::scalar(&self.reason),
            self.turns.join("\n\n---\n\n")
        )
    }

    /// Reads it back.
    pub fn parse(text: &str) -> Option<Context> {
        let document = Document::parse(text);
        let mut context = Context {
            id: String::new(),
            session: document.get_str("session")?,
            day: document.get_str("day")?.parse().ok()?,
            from: document.get_str("from")?,
            until: document.get_str("until")?,
            at: clock::parse(&document.get_str("at")?)?,
            reason: document.get_str("reason").unwrap_or_default(),
            turns: document.body().trim().split("\n\n---\n\n").map(str::to_string).collect(),
        };
        context.id = context.hash();
        Some(context)
    }
}

/// The moment at which a clock in a zone shows this.
fn moment(day: NaiveDate, time: &str, zone: Zone) -> Timestamp {
    use chrono::TimeZone;
    let local = day.and_time(time.parse().unwrap_or_default());
    zone.from_local_datetime(&local).earliest().map_or_else(|| local.and_utc(), |at| at.to_utc())
}

/// The lines of a reply that were kept, by the parts of a day's note.
pub fn summary_of(kept: Vec<(Proposal, Origin)>) -> SessionSummary {
    const MOST: usize = 12;
    let mut summary = SessionSummary::default();
    for (proposal, _) in kept {
        let part = match proposal.kind {
            Kind::Title | Kind::Objective => &mut summary.context,
            Kind::Outcome => &mut summary.exchanges,
            Kind::Decision | Kind::Standing => &mut summary.decisions,
            Kind::Lesson => &mut summary.lessons,
            Kind::Open => &mut summary.actions,
        };
        if part.len() < MOST {
            part.push(text::one_line(&proposal.text, 400));
        }
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::zone::Zone;

    fn said(day: u32, minute: usize, by_user: bool, text: &str) -> Utterance {
        let day = NaiveDate::from_ymd_opt(2026, 11, day).unwrap();
        Utterance {
            by_user,
            day,
            time: format!("{:02}:{:02}:00", minute / 60, minute % 60),
            text: text.into(),
        }
    }

    #[test]
    fn every_turn_is_in_a_context_and_midnight_splits_them() {
        let mut all = Vec::new();
        for turn in 0..40 {
            all.push(said(14 + turn / 38, turn as usize, true, &format!("question {turn}")));
            all.push(said(14 + turn / 38, turn as usize, false, "answer"));
        }
        let contexts = Context::of("S", &all, "end", Zone::UTC);
        assert_eq!(contexts.iter().map(Context::count).collect::<Vec<_>>(), [30, 8, 2]);
        assert!(contexts[0].turns[0].starts_with("**User:** question 0\n\n**Assistant:** answer"));
        assert_eq!(
            (contexts[2].from.as_str(), contexts[2].until.as_str()),
            ("00:38:00", "00:39:00")
        );
        assert_eq!(Context::parse(&contexts[0].to_text()).as_ref(), Some(&contexts[0]));
    }

    #[test]
    fn a_long_one_is_split_between_turns() {
        let all: Vec<Utterance> = (0..10)
            .map(|turn| said(14, turn, true, &format!("{turn} {}", "x".repeat(4000))))
            .collect();
        let contexts = Context::of("S", &all, "end", Zone::UTC);
        assert_eq!(contexts.iter().map(Context::count).collect::<Vec<_>>(), [3, 3, 3, 1]);
        assert!(contexts[1].turns[0].starts_with("**User:** 3 x"));
        let huge = [said(14, 1, true, &"y".repeat(40_000))];
        let contexts = Context::of("S", &huge, "end", Zone::UTC);
        assert_eq!((contexts.len(), contexts[0].count()), (1, 1), "no turn is cut");
    }

    #[test]
    fn a_context_handed_in_is_read_by_its_marks() {
        let now = clock::parse("2026-11-15T23:30:00Z").unwrap();
        let text = "\n**User:** Why does the\nlock fail?\n\n**Assistant:** Because the header is written twice.\n";
        let contexts = Context::handed_in("S", text, now, Zone::named("Europe/Paris").unwrap());
        assert_eq!(contexts.len(), 1);
        assert_eq!(
            (contexts[0].day.to_string(), contexts[0].until.as_str()),
            ("2026-11-16".into(), "00:30:00")
        );
        assert!(
            contexts[0].summary().exchanges[0].contains("the header is written twice"),
            "{:?}",
            contexts[0].summary()
        );
        assert!(!contexts[0].is_idle());
        assert!(
            Context::handed_in("S", "**User:** ok\n\n**Assistant:** Fine.", now, Zone::UTC)[0]
                .is_idle()
        );
        // `no` is an acknowledgement, `know` is not.
        assert!(
            !Context::handed_in("S", "**User:** I know the cause now", now, Zone::UTC)[0].is_idle()
        );
        assert_eq!(Context::handed_in("S", " \n", now, Zone::UTC), []);
    }
}
