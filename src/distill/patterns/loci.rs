//! Loci of errors: what makes two errors the same, whichever agent or tool words them.
//!
//! An error's fingerprint is its locus, unless it belongs to a class: every agent has its own words
//! for an edit that missed its place, and every program for a file that is not there. What says
//! only that something failed, and what is a line of a file, has no locus.

use std::sync::LazyLock;

use regex::RegexSet;

use crate::base::static_regex::StaticRegex;
use crate::distill::errors;

/// Errors that are one, with what is known about them.
#[derive(Debug)]
pub struct Class {
    pub name: &'static str,
    /// Matches fingerprints, which are in lower case.
    pattern: &'static str,
    /// What happens, in a sentence.
    pub title: &'static str,
    /// What helps, in a sentence.
    pub advice: &'static str,
}

/// The classes, the more special first.
pub const CLASSES: &[Class] = &[
    Class {
        name: "edit text not found",
        pattern: r"string to replace not found|could not find (the )?exact text|old_?string not found|oldstring .{0,20}not found|failed to find (expected lines|context)|could not find the string to replace|no match found for .{0,10}old_?str|0 occurrences found|replacement produced identical content|text to replace was not found|search block.{0,20}(did not|failed to) match",
        title: "An edit fails because the text it should replace is not in the file",
        advice: "Read the place again right before an edit and copy the old text exactly, white space included; after another edit or a formatter it has changed.",
    },
    Class {
        name: "edit text not unique",
        pattern: r"found _ matches of the string to replace|multiple matches|is not unique in the file|appears _ times|found multiple (times|occurrences)",
        title: "An edit fails because the text it should replace is there several times",
        advice: "Give an edit enough of the lines around it to be unique, or ask for all places at once.",
    },
    Class {
        name: "edit changes nothing",
        pattern: r"old_string and new_string are (exactly )?the same|no changes to make|identical content",
        title: "An edit fails because it would change nothing",
        advice: "When old and new text are the same the change is already there: look at the file instead of editing again.",
    },
    Class {
        name: "file not read before edit",
        pattern: r"file has not been read yet|must (use the )?read (tool )?.{0,30}before|read the file first|file has been (unexpectedly )?modified since|file .{0,60}has been modified since",
        title: "A file is written that was not read, or that changed since it was read",
        advice: "Read a file in the same session before it is edited, and again after a formatter, a checkout or a subagent has touched it.",
    },
    Class {
        name: "branch used by another worktree",
        pattern: r"already (used|checked out) (by worktree )?at|is already used by worktree|worktree .{0,40}already exists",
        title: "A branch cannot be checked out because another worktree has it",
        advice: "In a repository with worktrees, look at `git worktree list` first and branch from `origin/main` instead of checking out `main`.",
    },
    Class {
        name: "push rejected",
        pattern: r"failed to push some refs|non-fast-forward|updates were rejected|push declined|\[remote rejected\]|stale info",
        title: "A push is rejected because the remote branch has moved on or is protected",
        advice: "Fetch and rebase onto the remote branch before a push, and look at why it was rejected before trying again.",
    },
    Class {
        name: "merge conflict",
        pattern: r"^conflict \(|merge conflict in|automatic merge failed|could not apply|needs merge|unmerged files",
        title: "A merge, rebase or cherry-pick ends in conflicts",
        advice: "Bring a branch up to date before the work starts, and resolve conflicts file by file with both sides read.",
    },
    Class {
        name: "command not found",
        pattern: r"command not found|: not found$|is not recognized as|unrecognized subcommand|unknown command|could not determine executable|executable file not found",
        title: "A command is called that is not there",
        advice: "Look at which tools and scripts the project has before calling one; a wrapper does not pass every command on.",
    },
    Class {
        name: "sandbox refuses",
        // Codex says "sandbox denied exec error" of every command that fails in it.
        pattern: r"operation not permitted|sandbox (?:denied|blocked) (?:access|write|network|the)|blocked by (the )?sandbox|eperm\b",
        title: "The sandbox refuses a command",
        advice: "What the sandbox refuses once it refuses again: ask for permission or take another way instead of repeating it.",
    },
    Class {
        name: "permission denied",
        pattern: r"permission denied|eacces\b|access is denied",
        title: "A command fails for lack of permission",
        advice: "Look at whose file or right it is before trying the same again.",
    },
    Class {
        name: "no credentials",
        pattern: r"eneedauth|need auth|not logged in|authentication (failed|required)|could not read username|unauthorized|bad credentials|requires authentication|gh auth login",
        title: "A service refuses because nobody is logged in",
        advice: "Ask the person to log in; nothing else helps.",
    },
    Class {
        name: "library not found",
        pattern: r"cannot open shared object file|error while loading shared libraries|library not loaded|dll load failed",
        title: "A program fails because a library of the system is missing",
        advice: "Install the library that the message names with the system's package manager, in CI too; the project's own packages do not bring it.",
    },
    Class {
        name: "path not found",
        pattern: r"no such file or directory|path does not exist|file (does not exist|not found)|enoent\b|cannot access '|can't read _|cannot find the path|did not match any file|does not exist in the (current )?(directory|workspace)|no files found",
        title: "A path is used that does not exist",
        advice: "List the folder or search for the name before using a path; paths are relative to the folder of the last `cd`.",
    },
    Class {
        name: "shell quoting",
        pattern: r"unmatched (\x22|'|`)|unexpected eof while looking for|parse error near|here-document|unterminated (quoted )?string|syntax error near unexpected token|bad substitution|no matches found: ",
        title: "A command line breaks on its quotes or here-documents",
        advice: "Write longer texts to a file and hand over the file; quotes, backticks and here-documents break in one-line commands.",
    },
    Class {
        name: "timeout",
        pattern: r"timed out|timeout (of|after|exceeded)|deadline exceeded|etimedout",
        title: "A command runs into a time limit",
        advice: "Give slow commands a longer limit, or let them run in the background and look at their output.",
    },
    Class {
        name: "rate limit",
        pattern: r"rate limit|too many requests|http 429|quota exceeded",
        title: "A service refuses because of too many requests",
        advice: "Wait before the next try and do fewer at once.",
    },
    Class {
        name: "wrong tool arguments",
        pattern: r"required parameter .{1,40} is missing|must have required propert|invalid_?arguments|inputvalidationerror|missing required (argument|parameter|option)|unrecognized (flag|option|argument)|unknown (option|flag|argument)|unexpected argument|unknown json field",
        title: "A tool or command is called with arguments that it does not take",
        advice: "Look at the help or the schema of a tool before guessing its arguments.",
    },
    Class {
        name: "unknown skill or agent",
        pattern: r"unknown skill|unknown agent|agent type .{1,60} not found|no such tool|tool .{1,60}not found|unknown tool",
        title: "A skill, agent or tool is called by a name that does not exist",
        advice: "Call only skills, agents and tools that are listed in this session; their names differ between projects.",
    },
    Class {
        name: "module not found",
        pattern: r"cannot find (module|package)|modulenotfounderror|no module named|module not found|could not resolve|failed to resolve import|unresolved import",
        title: "A module or package cannot be found",
        advice: "A fresh clone or worktree has no dependencies until the project's own install step is done; otherwise look at the path of the import before the code around it.",
    },
    Class {
        name: "port in use",
        pattern: r"eaddrinuse|address already in use|port _ is (already )?in use",
        title: "A server cannot start because its port is taken",
        advice: "Look for the server that is already running before starting another.",
    },
];

static CLASS_SET: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new(CLASSES.iter().map(|class| class.pattern)).expect("a test makes every pattern")
});

/// The locus of an error: the name of its class, or else its fingerprint; none where it says
/// nothing that could come again.
pub fn of_error(fingerprint: &str) -> Option<String> {
    let fingerprint = errors::without_wrapper(fingerprint);
    if let Some(class) = class_of(fingerprint) {
        return Some(class.name.to_string());
    }
    (!is_noise(fingerprint)).then(|| fingerprint.to_string())
}

/// The class that a text is about, by its fingerprint.
fn class_of(fingerprint: &str) -> Option<&'static Class> {
    CLASS_SET.matches(fingerprint).into_iter().next().map(|class| &CLASSES[class])
}

/// Whether what was learnt speaks of another class of errors than a locus.
pub fn is_of_another_class(lesson: &str, locus: &str) -> bool {
    class_of(&errors::fingerprint(lesson)).is_some_and(|class| class.name != locus)
}

/// The class with a name.
pub fn class(name: &str) -> Option<&'static Class> {
    CLASSES.iter().find(|class| class.name == name)
}

/// Whether a line says nothing that could come again: that something failed, a test's own
/// expectation, a line of a file, a heading.
fn is_noise(fingerprint: &str) -> bool {
    static SAYS_WHY: StaticRegex = StaticRegex::new(
        r"(?x)\b(?:error|err|fatal|panic|fail(?:ed|ure)?|cannot|can't|could\ not|couldn't|unable|not\ (?:found|a|an|in|defined|available|supported|valid|installed|exist)|no\ (?:such|module|matching|overload|task|space)|denied|refus\w+|invalid|missing|unknown|conflict|undefined|unexpected|already|exceeded|required|deprecated|unsupported|duplicate|unresolved|is\ not)\b
          | \b\w+(?:error|exception)\b | \b(?:err|e)_[a-z]{3,}",
    );
    static OWN_OF_A_RUN: StaticRegex = StaticRegex::new(
        r"(?x)^(?:---\ )?fail\b | sibling\ tool | expect\(|\bassert|to(?:be|equal|contain|match)\b | ^e\ \  | ^e\ file | ^line\ _\ column
          | script\ .{1,40}\ exited | exit(?:ed)?\ (?:with\ )?(?:code|status) | ^npm\ warn | ^_+\W | ^\W*_\ (?:problems?|errors?|fixable|fail)
          | =>|[{};]\s*$|\)\s*\{ | ^(?:it|describe|test|t|if|const|let|return|func|def|throw|raise|import|export)\b[\s.(] | ^\W*[\w./-]+:?$
          | user\ chose | plan\ mode | refusing\ to | test\ failed | tests?\ fail | build\ failed | compil\w+\ failed | ^error:\ _?$",
    );
    let letters = fingerprint.chars().filter(|c| c.is_alphabetic()).count();
    let words = fingerprint.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic));
    letters < 12
        || words.count() < 3
        || letters * 2 < fingerprint.chars().count()
        || !SAYS_WHY.is_match(fingerprint)
        || OWN_OF_A_RUN.is_match(fingerprint)
        || (errors::is_general(fingerprint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_has_one_locus_in_every_agent() {
        for said in [
            "String to replace not found in file.",
            "Could not find the exact text in src/a.ts. The old text must match exactly.",
            "oldString not found in content",
            "Failed to find expected lines in /x/y.rs:",
        ] {
            let locus = of_error(&errors::fingerprint(said));
            assert_eq!(locus.as_deref(), Some("edit text not found"), "{said}");
        }
        for said in ["cat: x: No such file or directory", "Path does not exist: /a/b"] {
            assert_eq!(of_error(&errors::fingerprint(said)).as_deref(), Some("path not found"));
        }
        let said =
            "ImportError: libEGL.so.1: cannot open shared object file: No such file or directory";
        assert_eq!(of_error(&errors::fingerprint(said)).as_deref(), Some("library not found"));
        assert!(is_of_another_class(said, "path not found"));
        assert!(!is_of_another_class(said, "library not found"));
        assert!(!is_of_another_class("The root was wrong", "path not found"));
        let own = "error: the lock of the day is already held by another writer";
        assert_eq!(of_error(own).as_deref(), Some(own));
    }

    #[test]
    fn what_says_nothing_has_no_locus() {
        for said in [
            "Sibling tool call errored",
            "FAIL example.com/cmd 0.412s",
            "error: script \"lint\" exited with code 1",
            "error: expect(received).toBe(expected)",
            "it('returns undefined for a missing budget', () => {",
            "Project structure",
            "E   File \"a.py\", line 3",
            "npm warn unknown env config",
        ] {
            assert_eq!(of_error(&errors::fingerprint(said)), None, "{said}");
        }
    }

    #[test]
    fn every_class_is_found_by_its_name_and_says_what_helps() {
        for known in CLASSES {
            assert!(class(known.name).is_some() && known.advice.ends_with('.'), "{}", known.name);
            assert!(!known.title.ends_with('.'), "{}", known.title);
        }
        assert_eq!(CLASS_SET.len(), CLASSES.len());
    }
}
