//! Callers: which agents have run hooks that are in the settings of another.

use crate::adapters::hooks;
use crate::base::files;
use crate::store::Store;

/// Notes that an agent has run hooks of another. Where that is not possible, nothing comes of it.
pub fn note(store: &Store, named: &'static str, caller: &'static str) {
    let path = store.layout().caller(named, caller);
    if !files::exists(&path) {
        let _ = files::append_plain(&path, b".");
    }
}

/// The agents that have run the hooks in the settings of this one.
pub fn of(store: &Store, named: &'static str) -> Vec<&'static str> {
    let agents = hooks::ALL.iter().map(|spec| spec.agent);
    agents.filter(|caller| files::exists(store.layout().caller(named, caller))).collect()
}
