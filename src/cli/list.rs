//! `memtree list`

use super::{App, output};
use crate::error::Result;
use crate::ops::list::{ListRequest, ListedSession};

/// List sessions, newest first: what `sessions/INDEX.md` shows
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only sessions of this project
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Only sessions with this agent
    #[arg(long, value_name = "AGENT")]
    flavor: Option<String>,
    /// Only sessions that ended on this day or later: 2026-11-01, yesterday, 7d
    #[arg(long, value_name = "DAY")]
    since: Option<String>,
    /// Only sessions that went so: success, partial, fail, abandoned, unknown
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// At most so many; 0 is all
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

pub fn run(args: Args, app: &App) -> Result<u8> {
    let request = ListRequest::default()
        .project(args.project)
        .flavor(args.flavor)
        .since(args.since)
        .status(args.status)
        .limit(args.limit);
    let report = app.memory()?.list(request)?;
    if app.json {
        output::json(&report);
        return Ok(0);
    }
    output::print(&report.sessions.iter().map(line).collect::<String>());
    if report.sessions.is_empty() {
        app.note("no session fits");
    }
    Ok(0)
}

fn line(one: &ListedSession) -> String {
    let project = one.project.as_deref().unwrap_or("–");
    let (title, project) = (output::safe(&one.title), output::safe(project));
    format!("{} · {project} · {title} · {} · {}\n", one.date, one.status, one.session)
}
