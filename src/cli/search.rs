//! `memtree search`: ranks sessions by what their digests say.

use std::process::Command;

use super::{Door, output};
use crate::base::text;
use crate::error::{Context, Error, Result};
use crate::model::query::{FilterKey, Hit, Query};
use crate::ops::search::{SearchAnswer, SearchRequest, search};

/// How many hits are shown unless `--limit` says otherwise.
const LIMIT: usize = 10;

/// Find sessions by what was wanted, decided, changed or broke in them
///
/// Words rank; a whole question works as well as keywords. "Two words" in quotes have to stand together, -word
/// leaves out, and filters narrow: project: flavor: status: file: tag: since: before:. The shell takes quotes for
/// itself: write '"two words"', and put a query with a -word into quotes as a whole, or after `--`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to find
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
    /// Only sessions of this project
    #[arg(long, value_name = "NAME")]
    project: Vec<String>,
    /// Only sessions with this agent: claude, codex, …
    #[arg(long, value_name = "AGENT")]
    flavor: Vec<String>,
    /// Only sessions that went like this: success, fail, abandoned, unknown
    #[arg(long, value_name = "STATUS")]
    status: Vec<String>,
    /// Only sessions that changed this file: its path or a part of it
    #[arg(long, value_name = "PATH")]
    file: Vec<String>,
    /// Only sessions with this tag
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Only sessions that ended at this time or later: 2026-11-15, 2026-11, yesterday, 7d, 2w, 3m
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only sessions that ended before this time
    #[arg(long, value_name = "WHEN")]
    before: Option<String>,
    /// Print only the paths of the digests, one a line
    #[arg(long, conflicts_with = "json")]
    paths: bool,
    /// Open the best hit in your editor
    #[arg(long, conflicts_with_all = ["json", "paths"])]
    open: bool,
}

/// Searches, and shows the hits.
pub fn run(args: Args, door: &Door) -> Result<u8> {
    let mut query = Query::parse(&args.query.join(" "))?;
    for (key, values) in [
        (FilterKey::Project, args.project),
        (FilterKey::Flavor, args.flavor),
        (FilterKey::Status, args.status),
        (FilterKey::File, args.file),
        (FilterKey::Tag, args.tag),
        (FilterKey::Since, args.since.into_iter().collect()),
        (FilterKey::Before, args.before.into_iter().collect()),
    ] {
        for value in values {
            query.filter(key, &value)?;
        }
    }
    let store = door.store()?;
    let limit = if args.open { 1 } else { door.limit.unwrap_or(LIMIT) };
    let answer = search(&store, &SearchRequest { query, limit, now: door.now, dry_run: door.dry_run })?;
    if door.json {
        output::json(&answer);
    } else if args.paths {
        for hit in &answer.hits {
            output::print(&format!("{}\n", store.layout().root().join(&hit.path).display()));
        }
    } else if args.open {
        open(&answer, door)?;
    } else {
        show(&answer, door);
    }
    Ok(0)
}

fn show(answer: &SearchAnswer, door: &Door) {
    for hit in &answer.hits {
        output::print_styled(&shown(hit));
    }
    if answer.hits.is_empty() {
        door.say("nothing found");
    } else if answer.hits.iter().all(|hit| hit.weak) {
        door.say("nothing fits well; these are guesses");
    }
    for suggestion in &answer.suggestions {
        door.say(format!("  {suggestion}"));
    }
    if let Some(best) = answer.hits.first() {
        let more = answer.total - answer.hits.len();
        if more > 0 {
            door.say(format!("{more} more; see them with --limit {}", answer.hits.len() + more.min(20)));
        }
        let what = if best.triggers.is_empty() { "its digest" } else { "the part behind it" };
        door.say(format!("next: `{} recall {}` ({what})", door.program(), best.rank));
    }
}

/// A hit as a person likes to see it, in pieces with their style.
fn shown(hit: &Hit) -> Vec<(output::Style, String)> {
    use output::Style::{Dim, Plain, Strong};
    let mut pieces = vec![(Dim, format!("{:>2}. ", hit.rank)), (Strong, text::one_line(&hit.title, 160))];
    pieces.push((Dim, if hit.weak { " (weak)\n".into() } else { "\n".into() }));
    let session = hit.session.to_string();
    let day = hit.ended.as_deref().and_then(|ended| ended.split('T').next());
    let facts: Vec<&str> = [hit.project.as_deref(), day, Some(&hit.status), Some(&hit.flavor), Some(session.as_str())]
        .into_iter()
        .flatten()
        .filter(|fact| !fact.is_empty())
        .collect();
    pieces.push((Dim, format!("    {}\n", facts.join(" · "))));
    if let Some(trigger) = hit.triggers.first() {
        pieces.push((Plain, format!("    ⚡ {}", text::one_line(&trigger.topic, 100))));
        pieces.push((Dim, format!(" → {}\n", trigger.episode)));
    }
    pieces.push((Plain, "    ".into()));
    pieces.extend(highlighted(&hit.excerpt, &hit.words));
    pieces.push((Plain, "\n\n".into()));
    pieces
}

/// A text in pieces, the matching words strong.
fn highlighted(excerpt: &str, words: &[String]) -> Vec<(output::Style, String)> {
    let mut pieces = Vec::new();
    let mut done = 0;
    text::each_word(excerpt, |word| {
        if word.start >= done && words.iter().any(|known| *known == word.text) {
            pieces.push((output::Style::Plain, excerpt[done..word.start].to_string()));
            pieces.push((output::Style::Strong, excerpt[word.start..word.end].to_string()));
            done = word.end;
        }
    });
    pieces.push((output::Style::Plain, excerpt[done..].to_string()));
    pieces
}

fn open(answer: &SearchAnswer, door: &Door) -> Result<()> {
    let Some(hit) = answer.hits.first() else {
        show(answer, door);
        return Ok(());
    };
    let path = door.root.join(&hit.path);
    let editor = door.editor(&door.config()?).ok_or_else(|| {
        Error::new("no editor is known").hint("set $EDITOR, or `open.editor` in ~/.config/memtree/config.toml")
    })?;
    // `code --wait` is a program and its arguments.
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or_default();
    let status = Command::new(program).args(words).arg(&path).status();
    let status = status.context(|| format!("cannot start the editor `{editor}`"))?;
    if !status.success() {
        return Err(Error::new(format!("the editor `{editor}` failed")).because(status));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matching_words_stand_out() {
        let strong = |excerpt: &str, words: &[&str]| -> Vec<String> {
            let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
            let pieces = highlighted(excerpt, &words);
            let whole: String = pieces.iter().map(|(_, piece)| piece.as_str()).collect();
            assert_eq!(whole, excerpt);
            pieces.into_iter().filter(|(style, _)| *style == output::Style::Strong).map(|(_, piece)| piece).collect()
        };
        assert_eq!(strong("Locks in src/day.rs, locked", &["locks", "day.rs"]), ["Locks", "day.rs"]);
        assert_eq!(strong("src/day.rs", &["src/day.rs", "day"]), ["src/day.rs"]);
        assert_eq!(strong("数据库锁", &["数据"]), ["数据"]);
        assert!(strong("", &["x"]).is_empty());
    }
}
