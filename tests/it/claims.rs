//! What a pulled file says is a claim: it takes effect when it was accepted on this device, and not
//! before.

use std::fs;

use crate::harness::Desk;

/// A digest that another device would write, with a prompt of its own.
fn foreign_digest(desk: &Desk, id: &str) {
    let own = desk.read("sessions/SES1_desk_SP1C1/SES1_desk_SP1C1_DIGEST.md");
    let text =
        own.replace("SES1_desk_SP1C1", id).replace("source_id: \"claude:", "source_id: \"claude:f");
    fs::create_dir_all(desk.store().join(format!("sessions/{id}"))).unwrap();
    desk.write(&format!("sessions/{id}/{id}_DIGEST.md"), text);
}

#[test]
fn a_new_device_is_named_once_with_the_command_that_trusts_it() {
    let desk = Desk::new().with_log("claude", "one_question");
    let quiet = desk.memtree(["sweep"]).success();
    assert!(!quiet.stderr.contains("config trust"), "{}", quiet.stderr);
    foreign_digest(&desk, "SES1_lap-7f3a_SP1C1");
    let told = "memtree config trust lap-7f3a";
    desk.memtree(["sweep"]).success().stderr_has(told);
    let again = desk.memtree(["sweep"]).success();
    assert!(!again.stderr.contains(told), "{}", again.stderr);
    desk.memtree(["doctor"]).success().stdout_has(told);
    // Only the person's own file may say so, and what else it says stays.
    let own = desk.home().join(".config/memtree/config.toml");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(&own, "# mine\n[open]\neditor = \"vim\" # always\n").unwrap();
    desk.memtree(["config", "trust", "lap-7f3a"]).success().stdout_has("is trusted");
    let text = fs::read_to_string(&own).unwrap();
    assert!(text.starts_with("# mine\n[open]\neditor = \"vim\" # always\n"), "{text}");
    assert!(!desk.memtree(["doctor"]).success().stdout.contains(told));
    desk.memtree(["config", "distrust", "lap-7f3a"]).success();
    desk.memtree(["doctor"]).success().stdout_has(told);
    desk.write("memtree.toml", "format = 1\n[devices]\ntrust = [\"lap-7f3a\"]\n");
    desk.memtree(["doctor"]).success().stdout_has(told);
    desk.memtree(["config", "trust", "no/name"]).code(2);
}

#[test]
fn another_device_of_the_same_name_is_noticed() {
    let desk = Desk::new().with_log("claude", "one_question");
    desk.memtree(["sweep"]).success();
    foreign_digest(&desk, "SES7_desk_SP1C1");
    let noticed = desk.memtree(["sweep", "--json"]).success();
    assert_eq!(noticed.json()["namesakes"], serde_json::json!(["SES7_desk_SP1C1"]));
    desk.memtree(["sweep"]).success().stderr_has("another device has this one's name, `desk`");
    desk.memtree(["doctor"]).code(1).stdout_has("another device is called `desk`, too");
}
