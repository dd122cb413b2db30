//! The one test binary. Each file proves one part of what the program promises.

mod adapters; // every log dialect, read into the text beside its fixture
mod bad_input; // broken logs, hostile names, missing and foreign memories
#[cfg(unix)]
mod before_tools; // hooks that a person has to ask for
mod blame; // from a line to the raw bytes, from a file to its sessions
mod callers; // agents that run the hooks of others
mod claims; // what a pulled file says takes effect once it is accepted here
mod commands; // docs/commands.md says what `--help` says
mod consolidate; // eight sessions to a core, eight cores to a sphere, and nothing lost
mod context; // the page for an agent
mod damage; // every kind of file × every kind of damage: seen, and made again
mod databases; // files that many sessions share
mod day_and_night; // 24 hours on two devices, proved at every hour
mod day_of_hooks; // both agents' hooks across midnight, with kills
mod digests; // what a digest says of a session
#[cfg(unix)]
mod doctor; // what is wrong, what it means, how to fix it
mod documents; // what is written is read back as it was meant
#[cfg(unix)]
mod edits; // a person edits while memtree writes, in every way of saving
mod embeddings; // a server that makes vectors, well, badly or not at all
mod exclude; // projects and folders that are never captured
mod faults; // the n-th change to the disk fails or kills, for every n
#[cfg(unix)]
mod first_run; // `memtree` alone, in a terminal and elsewhere
#[cfg(unix)]
mod flush; // the day before its agent forgets it
mod folders; // those that the settings name, once they have lain still
mod forget; // gone from everywhere, for good, and proven
#[cfg(target_os = "linux")]
mod full_disk; // a small disk that is really full
mod fuzz; // seeds bent in many ways: nothing panics
mod git_exposure; // raw stays out of git, and git itself is asked
#[cfg(unix)]
mod going_on; // resume, handoff, fix, why
mod harness; // Desk: a person's machine in a temporary folder
mod hooks; // what agents call
#[cfg(unix)]
mod inbox;
mod injected_orders; // orders from the web that an assistant repeated: no surface gives them
mod install; // hooks, servers and skills in and out of agents' files
mod knowledge; // pages from days, answers from pages, and their checks
mod layers; // who may use whom
mod log; // lines written into a day by hand
#[cfg(unix)]
mod losses; // what could be lost or leak, each found by trying
mod mcp; // the server for agents, over a pipe
mod memories; // the memory tool, word for word
#[cfg(unix)]
mod model_replies;
mod models; // a server and a program that answer, fail, hang or lie
mod older_files; // pages of days and event logs that other tools left
mod outcomes; // how a session went, against labels by hand
mod package; // the project's own pages: every link leads somewhere
#[cfg(unix)]
mod patterns; // the loop: detect, review, distribute, measure, retro
mod plugin; // the plugin folder: its manifests and skills
mod real_model; // flushes against a real server, where one is named
mod recall; // the raw part that a reference, a trigger, a hit or a question names
#[cfg(unix)]
mod red_team; // everything hostile at once: none of it gets through
mod redigest; // writing digests again, around a person's edits
mod retain; // the storage budget: who goes, who stays, what is left
mod search; // finding, in any language and while others write
mod secret_kinds; // 200 kinds of secrets in every place of a log, and as many harmless lines
mod short_cut; // a sweep that has nothing to do says the same by a short cut
mod snapshot; // any folder as a session
mod subagents; // parts of the session that started them, whatever comes first
mod sweep; // the whole way of the data, once, twice, and interrupted
mod sync; // the memory travels by git, and nothing leaves that has to stay
mod sync_devices; // 2 to 5 devices, and anything in any order
mod sync_episodes; // readable parts travel where the person wants it
mod sync_guards; // what does not leave, does not come back, and stops nobody
mod sync_pages; // two devices change one page
mod sync_raw; // raw travels where the person themself wants it
mod team; // other people's memories: found with their names, never as one's own words
#[cfg(unix)]
mod terminal; // a command with a person at both ends
mod transcripts; // the console blocks of the README and the guide
mod upgrade;
mod verify; // proof that nothing was lost, and the name of whatever was
mod watch; // sweeping when logs change, until told to stop
mod wrong_words; // what a person types wrongly, and what is said to it
