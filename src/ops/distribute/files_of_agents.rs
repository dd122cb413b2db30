//! The files from which agents take instructions: looked at before anything is planned.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::base::files;

/// Larger files are not read by agents either.
const LARGEST: u64 = 4 << 20;
/// What a new file of Cursor's rules begins with.
const CURSOR: &str =
    "---\ndescription: Lessons of earlier sessions, kept by memtree\nalwaysApply: true\n---\n";

/// A file of instructions as it is.
#[derive(Debug)]
pub struct Place {
    pub path: PathBuf,
    /// `None` where there is no such file yet.
    pub text: Option<String>,
    pub is_read_only: bool,
    /// What a new file begins with.
    pub header: Cow<'static, str>,
}

/// The folder of a project in which an agent looks for skills.
pub fn skills_of(flavor: &str) -> &'static str {
    if flavor == "claude" { ".claude/skills" } else { ".agents/skills" }
}

/// Whether a file is a skill, which is wholly ours but for what somebody wrote around the block.
pub fn is_skill(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "SKILL.md")
}

/// Whether nothing of a skill is left but its front matter.
pub fn is_only_front_matter(text: &str) -> bool {
    let inner = text.trim().strip_prefix("---\n").and_then(|rest| rest.strip_suffix("\n---"));
    inner.is_some_and(|inner| !inner.contains("\n---"))
}

/// Whether a folder between a project and one of its files is a link to somewhere else: what would
/// be written there is another project's, or everybody's.
fn leads_out(root: &Path, path: &Path) -> bool {
    let there = path.ancestors().skip(1).find_map(|folder| folder.canonicalize().ok());
    match (there, root.canonicalize()) {
        (Some(there), Ok(root)) => !there.starts_with(&root),
        _ => false,
    }
}

/// Looks at a file of a project; says why it cannot be used. A link within the project is followed,
/// and a CLAUDE.md that imports AGENTS.md stands for it.
pub fn read_place(root: &Path, name: &str) -> Result<Place, String> {
    let path = root.join(name);
    let header = Cow::Borrowed(if name.ends_with(".mdc") { CURSOR } else { "" });
    let new =
        |path: PathBuf| Place { path, text: None, is_read_only: false, header: header.clone() };
    let shown = path.display().to_string();
    if leads_out(root, &path) {
        return Err(format!(
            "{shown}: a folder on the way is a link that leads out of the project"
        ));
    }
    let Ok(metadata) = files::symlink_metadata(&path) else { return Ok(new(path)) };
    let path = match metadata.is_symlink() {
        false => path,
        true => {
            let target = path.canonicalize().map_err(|err| format!("{shown}: a link, {err}"))?;
            let root = root.canonicalize().map_err(|err| format!("{shown}: {err}"))?;
            if !target.starts_with(&root) {
                return Err(format!("{shown}: it is a link that leads out of the project"));
            }
            target
        }
    };
    let metadata = files::metadata(&path).map_err(|err| format!("{shown}: {err}"))?;
    if !metadata.is_file() {
        return Err(format!("{shown}: it is no file"));
    }
    if metadata.len() > LARGEST {
        return Err(format!("{shown}: it is larger than any agent reads"));
    }
    let bytes = files::read(&path).map_err(|err| format!("{shown}: {err}"))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{shown}: it is not UTF-8"))?;
    let imports = |line: &str| line.trim() == "@AGENTS.md" || line.trim() == "@./AGENTS.md";
    if name == "CLAUDE.md" && text.lines().any(imports) && files::is_file(root.join("AGENTS.md")) {
        return read_place(root, "AGENTS.md");
    }
    let is_read_only = metadata.permissions().readonly();
    Ok(Place { path, text: Some(text), is_read_only, header })
}
