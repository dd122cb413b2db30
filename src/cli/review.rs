//! `memtree review`

use std::io::{IsTerminal, Write};

use console::{Key, Term};

use super::{App, output};
use crate::base::text;
use crate::error::{Context, Error, Result};
use crate::ops::review::{InboxItem, ItemKind, Reply, ReviewReport};
use crate::store::pattern::reviews::Action;

/// Say yes or no to what memtree found: patterns, and what cores believe
///
/// In a terminal it shows one item after the other, with its evidence and what a yes would add
/// where; one key decides: y yes, n no, d discuss later, e in your own words (in $VISUAL or $EDITOR
/// where they are set), u undo, A yes to all that follow (it asks once), q or Esc quit. What agents
/// put there through MCP comes first: how they would decide, and why, and instructions of yours that
/// they took down; nothing of it counts before your yes. Decisions are lines of
/// patterns/reviews.jsonl. What you rejected comes back when its evidence changes. Without a
/// terminal, name items with the flags below.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// List what waits
    #[arg(long)]
    list: bool,
    /// Say yes to this item; may be given more than once
    #[arg(long, value_name = "ID")]
    approve: Vec<String>,
    /// Say no to this item; may be given more than once
    #[arg(long, value_name = "ID")]
    reject: Vec<String>,
    /// Withdraw this pattern of the catalog: the next `distribute --apply` takes it out; may be
    /// given more than once
    #[arg(long, value_name = "ID", conflicts_with_all = ["approve", "reject", "discuss"])]
    retire: Vec<String>,
    /// Leave this item for later; nothing is recorded
    #[arg(long, value_name = "ID")]
    discuss: Vec<String>,
    /// Why, for the decisions of this call
    #[arg(long, value_name = "TEXT", default_value = "")]
    why: String,
    /// What to do, in your own words, for the one item that is approved
    #[arg(long, value_name = "TEXT", requires = "approve")]
    advice: Option<String>,
    /// Take the last decision of this device back
    #[arg(long)]
    undo: bool,
    /// Take in what passes the gate of the settings, as provisional: nothing is distributed without
    /// your yes
    #[arg(long)]
    auto_approve: bool,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let memory = app.memory_to_write()?;
    if args.undo {
        return undo(app);
    }
    let replies = replies(&args)?;
    if args.auto_approve {
        return Ok(taken_in(&memory.auto_approve()?, app));
    }
    if !args.retire.is_empty() {
        return Ok(finish(&memory.retire(&args.retire, &args.why)?, app));
    }
    if !replies.is_empty() {
        return Ok(finish(&memory.decide(&replies)?, app));
    }
    if args.list || app.json || !std::io::stdin().is_terminal() {
        let inbox = memory.inbox()?;
        if app.json {
            output::json(&inbox);
        } else {
            inbox.damaged.iter().for_each(|damaged| app.note(damaged));
            inbox.items.iter().for_each(|item| output::print(&line(item)));
            output::print(&format!("{} waiting\n", output::count(inbox.items.len(), "item")));
        }
        return Ok(if inbox.damaged.is_empty() { 0 } else { 3 });
    }
    let total = memory.inbox()?.items.len();
    let mut screen = Screen::new(total, app.editor(memory.settings()));
    let report = memory.review(&mut |item| screen.ask(item))?;
    Ok(finish(&report, app))
}

fn replies(args: &Args) -> Result<Vec<(String, Reply)>> {
    if args.advice.is_some() && args.approve.len() != 1 {
        return Err(Error::usage("`--advice` is for one item").hint("approve them one by one"));
    }
    let mut named: Vec<&String> =
        args.approve.iter().chain(&args.reject).chain(&args.discuss).collect();
    named.sort();
    if let Some(twice) = named.windows(2).find(|two| two[0] == two[1]) {
        let wrong = format!("`{}` is named twice", twice[0]);
        return Err(Error::usage(wrong).hint("say one thing of each item"));
    }
    let why = args.why.clone();
    let yes = |name: &String| match &args.advice {
        Some(advice) => (name.clone(), Reply::Edit(advice.clone())),
        None => (name.clone(), Reply::Approve(why.clone())),
    };
    let mut replies: Vec<(String, Reply)> = args.approve.iter().map(yes).collect();
    replies.extend(args.reject.iter().map(|name| (name.clone(), Reply::Reject(why.clone()))));
    replies.extend(args.discuss.iter().map(|name| (name.clone(), Reply::Discuss)));
    Ok(replies)
}

fn undo(app: &App) -> Result<u8> {
    let undone = app.memory_to_write()?.undo()?;
    if app.json {
        output::json(&undone);
    } else {
        match undone {
            Some(undone) => output::print(&format!("taken back: {}\n", undone.item)),
            None => app.note("there is nothing to take back"),
        }
    }
    Ok(0)
}

fn line(item: &InboxItem) -> String {
    let InboxItem { kind, id, title, because, .. } = item;
    let proposed = proposed(item).map(|said| format!("  {said}\n")).unwrap_or_default();
    format!("{} · {id} · {title} ({because})\n{proposed}", kind.word())
}

/// What an agent would say to it.
fn proposed(item: &InboxItem) -> Option<String> {
    let view = item.proposed.as_ref()?;
    let decision = if view.action == Action::Approve { "yes" } else { "no" };
    Some(format!("{} proposes {decision}: “{}”", view.by, view.why))
}

/// What passed the gate.
fn taken_in(report: &ReviewReport, app: &App) -> u8 {
    if app.json {
        output::json(report);
    } else if !app.quiet {
        warn(report, app);
        let wait = if report.decided.len() == 1 { "waits" } else { "wait" };
        output::print(&format!(
            "{} taken in provisionally: {wait} for your yes in `{} review`; {} in all\n",
            output::count(report.decided.len(), "pattern"),
            app.program(),
            output::count(report.left, "item"),
        ));
    }
    if report.damaged.is_empty() { 0 } else { 3 }
}

/// What a person should know of what was decided.
fn warn(report: &ReviewReport, app: &App) {
    for decided in &report.decided {
        let warnings = decided.warnings.iter();
        warnings.for_each(|warning| app.note(format!("{}: {warning}", decided.item)));
    }
    report.damaged.iter().for_each(|damaged| app.note(damaged));
}

fn finish(report: &ReviewReport, app: &App) -> u8 {
    if app.json {
        output::json(report);
    } else if !app.quiet {
        let count = |action: Action| report.decided.iter().filter(|it| it.action == action).count();
        warn(report, app);
        output::print(&format!(
            "{} approved, {} rejected, {} retired, {} taken back; {} left\n",
            count(Action::Approve),
            count(Action::Reject),
            count(Action::Retire),
            count(Action::Undo),
            report.left
        ));
        if report.queued > 0 {
            let verb = if report.queued == 1 { "waits" } else { "wait" };
            let count = output::count(report.queued, "decision");
            app.note(format!("{count} {verb} for your program"));
        }
        if count(Action::Approve) + count(Action::Retire) > 0 {
            app.note(format!("next: `{} distribute`", app.program()));
        }
    }
    if report.damaged.is_empty() { 0 } else { 3 }
}

/// The inbox on a terminal.
struct Screen {
    term: Term,
    editor: Option<String>,
    /// The items that were shown, in their order: after an undo one of them comes again.
    shown: Vec<String>,
    total: usize,
    /// Whether the rest is a yes.
    all: bool,
    note: String,
}

const KEYS: &str = "[y]es  [n]o  [d]iscuss  [e]dit  [u]ndo  [A]ll yes  [q]uit";

impl Screen {
    fn new(total: usize, editor: Option<String>) -> Screen {
        Screen {
            term: Term::stdout(),
            editor,
            shown: Vec::new(),
            total,
            all: false,
            note: String::new(),
        }
    }

    /// Which of the items it is, from 1 on.
    fn number(&mut self, item: &InboxItem) -> usize {
        let known = self.shown.iter().position(|shown| *shown == item.id);
        known.map_or_else(
            || {
                self.shown.push(item.id.clone());
                self.shown.len()
            },
            |at| at + 1,
        )
    }

    fn ask(&mut self, item: &InboxItem) -> Reply {
        if self.all {
            // Only what was shown before can be a yes for all: a retirement, and what would be the
            // person's own words, are asked for by themselves.
            if !matches!(item.kind, ItemKind::Retire | ItemKind::Standing) {
                self.number(item);
                return Reply::Approve("with all others".into());
            }
            self.all = false;
        }
        loop {
            self.show(item);
            let key = self.key();
            self.note.clear();
            return match key {
                Ok(Key::Char('y')) => Reply::Approve(String::new()),
                Ok(Key::Char('n')) => Reply::Reject(String::new()),
                Ok(Key::Char('d')) | Ok(Key::Char(' ')) => Reply::Discuss,
                Ok(Key::Char('u')) => {
                    self.note = "taken back".into();
                    Reply::Undo
                }
                Ok(Key::Char('A')) if self.is_sure() => {
                    self.all = true;
                    Reply::Approve("with all others".into())
                }
                Ok(Key::Char('A')) => {
                    self.note = "nothing was approved".into();
                    continue;
                }
                Ok(Key::Char('e')) => match self.words(item) {
                    Some(words) => Reply::Edit(words),
                    None => continue,
                },
                Ok(Key::Char('q')) | Ok(Key::Escape) | Ok(Key::CtrlC) | Err(_) => Reply::Stop,
                Ok(_) => {
                    self.note = "that key means nothing here".into();
                    continue;
                }
            };
        }
    }

    /// The next key. What a key sends beyond what is known of it (`ESC [ 1 ; 2 A` for Shift and an
    /// arrow) belongs to it: its letters are no answers.
    fn key(&mut self) -> std::io::Result<Key> {
        let mut key = self.term.read_key()?;
        while let Key::UnknownEscSeq(sent) = &mut key {
            if is_whole(sent) {
                break;
            }
            match self.term.read_key()? {
                Key::Char(more) => sent.push(more),
                _ => break,
            }
        }
        Ok(key)
    }

    /// Whether the person means all that follow.
    fn is_sure(&mut self) -> bool {
        let left = (self.total + 1).saturating_sub(self.shown.len());
        let _ = write!(self.term, "\napprove {}? y/n ", output::count(left, "item"));
        matches!(self.key(), Ok(Key::Char('y')))
    }

    fn show(&mut self, item: &InboxItem) {
        let width = usize::from(self.term.size().1).clamp(40, 120);
        let _ = self.term.clear_screen();
        let number = self.number(item);
        let mut page = format!(
            "{number} of {} · {} · {}\n\n{}\n",
            self.total.max(number),
            item.kind.word(),
            item.because,
            wrapped(&item.title, width, ""),
        );
        for advice in item.advice.iter().take(3) {
            page.push_str(&wrapped(&format!("→ {advice}"), width, "  "));
            page.push('\n');
        }
        if let Some(said) = proposed(item) {
            page.push_str(&format!("\n{}\n", wrapped(&said, width, "")));
        }
        if !item.evidence.is_empty() {
            page.push_str("\nEvidence\n");
        }
        for line in item.evidence.iter().take(7) {
            page.push_str(&format!("  {}\n", text::one_line(line, width.saturating_sub(4))));
        }
        page.push_str("\nA yes adds\n");
        for line in item.adds.iter().take(4) {
            page.push_str(&format!("  {}\n", text::one_line(line, width.saturating_sub(4))));
        }
        for warning in &item.warnings {
            page.push_str(&format!("\n! {warning}\n"));
        }
        let rows = usize::from(self.term.size().0);
        // Its spaces only go where they have to.
        let keys = if KEYS.len() > width { wrapped(KEYS, width, "") } else { KEYS.to_string() };
        let keys = format!("\n{keys}\n{}", self.note);
        output::print(&format!("{}{keys}", fitting(&page, rows, keys.lines().count())));
    }

    /// The person's own words, from their editor where they have named one; none where they say
    /// nothing.
    fn words(&mut self, item: &InboxItem) -> Option<String> {
        if let Some(editor) = &self.editor {
            return edited(editor, item).unwrap_or_else(|err| {
                self.note = err.to_string();
                None
            });
        }
        let _ = write!(self.term, "\nwhat to do, in one line (empty: back): ");
        let line = self.term.read_line().ok()?;
        let line = line.trim();
        (!line.is_empty()).then(|| line.to_string())
    }
}

/// The first lines of a page, where a screen of so many rows has no room for all: what it is about
/// must not scroll away.
fn fitting(page: &str, rows: usize, below: usize) -> String {
    let room = rows.saturating_sub(below + 1).max(4);
    let lines: Vec<&str> = page.lines().collect();
    if rows == 0 || lines.len() <= room {
        return page.to_string();
    }
    // Empty lines go first.
    let mut kept: Vec<&str> = lines.into_iter().filter(|line| !line.trim().is_empty()).collect();
    if kept.len() > room {
        kept.truncate(room - 1);
        kept.push("  …");
    }
    kept.join("\n") + "\n"
}

/// Whether a key's escape sequence has its end.
fn is_whole(sent: &[char]) -> bool {
    match sent {
        // A function key of old terminals: one letter more.
        ['O'] => false,
        ['['] | ['[', '['] => false,
        ['[', parameters @ ..] => parameters.last().is_some_and(|last| ('@'..='~').contains(last)),
        _ => true,
    }
}

/// What a person made of an item's advice in their editor; none where they left it as it was, or
/// nothing of it.
fn edited(editor: &str, item: &InboxItem) -> Result<Option<String>> {
    let cannot = || "cannot make a file for the editor".to_string();
    let before = item.advice.join(" ");
    let mut file =
        tempfile::Builder::new().prefix("memtree-").suffix(".md").tempfile().context(cannot)?;
    let ask = "# What to do, in your own words, stands above this line.";
    writeln!(file, "{before}\n\n{ask}\n# {}", item.title).context(cannot)?;
    super::open_in_editor(editor, file.path())?;
    // The editor may have put another file in its place.
    let text = crate::base::files::read_to_string(file.path()).context(cannot)?;
    let lines = text.lines().filter(|line| !line.starts_with('#')).map(str::trim);
    let words = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    Ok((!words.is_empty() && words != before).then_some(words))
}

/// Words on lines of a width.
fn wrapped(words: &str, width: usize, indent: &str) -> String {
    let mut lines: Vec<String> = vec![indent.to_string()];
    for word in words.split_whitespace() {
        let last = lines.len() - 1;
        if lines[last].chars().count() + word.chars().count() + 1 > width && lines[last] != indent {
            lines.push(format!("{indent}{word}"));
        } else {
            let gap = if lines[last] == indent { "" } else { " " };
            lines[last].push_str(&format!("{gap}{word}"));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_screen_shows_what_the_item_is() {
        let page = "1 of 3\n\nThe title\n  advice\n\nEvidence\n  a\n  b\n  c\n\nA yes adds\n  d\n";
        assert_eq!(fitting(page, 40, 3), page);
        assert_eq!(fitting(page, 10, 3), "1 of 3\nThe title\n  advice\nEvidence\n  a\n  …\n");
        assert!(fitting(page, 2, 3).contains("The title"));
    }

    #[test]
    fn a_key_is_read_to_its_end() {
        let whole = |sent: &str| is_whole(&sent.chars().collect::<Vec<_>>());
        for part in ["[", "[1", "[1;", "[1;2", "O", "[["] {
            assert!(!whole(part), "{part}");
        }
        for key in ["[1;2A", "[1;5A", "[15~", "[[A", "OA", "y", "[P"] {
            assert!(whole(key), "{key}");
        }
    }
}
