//! Where the editors of the VS Code family keep what belongs to a person: the folder `User` of
//! each.

use std::path::PathBuf;

use super::Places;

/// The editors, by the names of their folders.
const EDITORS: &[&str] =
    &["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf", "Antigravity", "Trae", "Kiro"];
/// The folders of those that run on another machine, below the home directory there.
const SERVERS: &[&str] =
    &[".vscode-server", ".vscode-server-insiders", ".vscodium-server", ".cursor-server"];

/// The folders `User` that there may be, on any system.
pub fn user_folders(places: &Places) -> Vec<PathBuf> {
    let mut above = vec![
        places.folder("XDG_CONFIG_HOME", ".config"),
        places.home.join("Library/Application Support"),
    ];
    above.extend(places.variable("APPDATA").map(PathBuf::from));
    let editors = above.iter().flat_map(|folder| EDITORS.iter().map(move |name| folder.join(name)));
    let servers = SERVERS.iter().map(|name| places.home.join(name).join("data"));
    editors.chain(servers).map(|folder| folder.join("User")).collect()
}

/// The folder of an extension in each editor, where it keeps its own files.
pub fn extension_folders(places: &Places, extension: &str) -> Vec<PathBuf> {
    let users = user_folders(places).into_iter();
    users.map(|user| user.join("globalStorage").join(extension)).collect()
}
