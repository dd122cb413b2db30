//! A plugin of ours: a whole file in an agent's own language, which calls memtree as hooks do.

use super::edit::Wiring;

/// How the file begins, whatever its version.
const MARK: &str = "// memtree: written by `memtree install`";
/// The line that says which program and which memory are called.
const CALL: &str = "const CALL = ";

/// The file for a program and a memory.
pub fn text(template: &str, wiring: &Wiring) -> String {
    let agent = wiring.spec.agent;
    let call = [wiring.program, "--store", wiring.store, "hook", agent];
    let call = serde_json::to_string(&call).expect("a list of texts can always be written as JSON");
    let lines = template.lines().map(|line| match line.starts_with(CALL) {
        true => format!("{CALL}{call};\n"),
        false => format!("{line}\n"),
    });
    lines.collect()
}

/// Whether a file is a plugin of ours, of any version.
pub fn is_ours(text: &str) -> bool {
    text.starts_with(MARK)
}

/// Whether a file is what we would write, for whichever program and memory.
pub fn is_unchanged(text: &str, template: &str) -> bool {
    let rest = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with(CALL)).map(str::to_string).collect()
    };
    rest(text) == rest(template)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::hooks::{self, Shape};

    #[test]
    fn a_plugin_names_the_program_and_the_memory() {
        for agent in ["opencode", "kilo", "pi"] {
            let spec = hooks::of(agent).unwrap();
            let Shape::Plugin(template) = spec.shape else { panic!("{agent} has plugins") };
            let wiring = Wiring { spec, program: "/opt/my \"tools\"/memtree", store: "/m" };
            let text = text(template, &wiring);
            let call = format!(
                r#"const CALL = ["/opt/my \"tools\"/memtree","--store","/m","hook","{agent}"];"#
            );
            assert_eq!(text.lines().filter(|line| *line == call).count(), 1, "{text}");
            assert!(is_ours(&text) && is_unchanged(&text, template));
            assert!(!is_unchanged(&format!("{text}// mine\n"), template));
        }
    }
}
