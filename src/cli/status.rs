//! `memtree status`

use super::{Door, output};
use crate::error::Result;
use crate::ops::status;

/// Say what there is in the memory
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_: Args, door: &Door) -> Result<u8> {
    let status = status::status(&door.store()?, door.device.as_str())?;
    if door.json {
        output::json(&status);
        return Ok(0);
    }
    let flavors: Vec<String> =
        status.sessions.by_flavor.iter().map(|(flavor, count)| format!("{count} {flavor}")).collect();
    let mut text = format!("memory    {} (this device: {})\n", status.store.display(), status.device);
    text.push_str(&format!("sessions  {}", status.sessions.total));
    if !flavors.is_empty() {
        text.push_str(&format!(" ({}), {} open", flavors.join(", "), status.sessions.open));
    }
    text.push_str(&format!("\nepisodes  {}\ndays      {}\n", status.episodes, status.days));
    text.push_str(&format!(
        "room      raw {}, readable {}, digests and days {}, cache {}\n",
        shown(status.bytes.raw),
        shown(status.bytes.derived),
        shown(status.bytes.distilled),
        shown(status.bytes.cache)
    ));
    for damaged in &status.damaged {
        text.push_str(&format!("damaged   {damaged}\n"));
    }
    output::print(&text);
    Ok(0)
}

fn shown(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
