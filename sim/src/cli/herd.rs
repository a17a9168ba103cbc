//! `picklock herd`: row Z8 of the catalogue, whom a release wakes, in numbers.

use super::screen::{Screen, Tone, cell, lines};
use super::{BadCall, Ending, interrupt};
use crate::measures::herd::{Herd as Counted, SEEDS, measure_unless};
use clap::Args;
use comfy_table::CellAlignment;
use picklock_model::locks::zookeeper_lock::Watch;
use serde::Serialize;

/// Counts whom a release of the ZooKeeper recipe wakes, and what the lock costs (row Z8)
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Herd {
    /// How many clients ask at the same time, each once, 2 to 128
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [2, 4, 8, 16, 32])]
    clients: Vec<u64>,
}

const EXAMPLES: &str = "\
Examples:
  picklock herd
  picklock herd --clients 2,100
  picklock herd --json

One server, no faults, the seeds 0 to 9. One client holds and the others wait, until all have held: with \
n clients n-1 are woken by the first release if they watch the parent, one by the last, n/2 on average. \
Wake-ups are the watches' events that the server sends; requests are all but pings and connecting.

Exits 5 if a release wakes others than the row says: one, or all who wait.";

const CLIENTS_MAX: u64 = 128;

/// What was counted with one watch and one number of clients.
#[derive(Serialize)]
struct Row {
    clients: u8,
    watch: &'static str,
    first_seed: u64,
    seeds: u64,
    releases: usize,
    wake_ups_per_release: f64,
    wake_ups_max: u32,
    requests_per_acquisition: f64,
    as_catalogued: bool,
}

impl Herd {
    /// Counts all.
    pub fn run(self, screen: &mut Screen) -> Result<Ending, BadCall> {
        let clients = self.clients.iter().map(|clients| number(*clients)).collect::<Result<Vec<u8>, _>>()?;
        let watches = [(Watch::Parent, "parent"), (Watch::Predecessor, "predecessor")];
        let wanted = clients.len() * watches.len();
        let mut rows: Vec<Row> = Vec::new();
        for (clients, (watch, name)) in
            clients.into_iter().flat_map(|clients| watches.map(|watch| (clients, watch)))
        {
            let Some(herd) = measure_unless(interrupt::flag(), watch, clients, SEEDS) else { break };
            rows.push(Row::new(name, &herd));
        }
        screen.text(&table(&rows, screen));
        if rows.len() < wanted {
            let note = format!("\nstopped after {} of {wanted} rows: the rest is NOT a pass\n", rows.len());
            screen.text(&screen.paint().text(Tone::Unclear, &note));
        }
        let complete = rows.len() == wanted;
        screen.rows(&rows, complete);
        let differs = Ending::Unexpected.or_fine(!rows.iter().all(|row| row.as_catalogued));
        Ok(differs.max(Ending::Incomplete.or_fine(!complete)))
    }
}

/// A herd needs one who holds and one who waits.
fn number(clients: u64) -> Result<u8, BadCall> {
    match u8::try_from(clients) {
        Ok(number) if (2..=CLIENTS_MAX).contains(&clients) => Ok(number),
        Ok(_) | Err(_) => {
            Err(BadCall(format!("--clients {clients}: it takes 2 to {CLIENTS_MAX} clients, as in 2,8,32")))
        }
    }
}

impl Row {
    fn new(watch: &'static str, herd: &Counted) -> Row {
        Row {
            clients: herd.clients,
            watch,
            first_seed: SEEDS.start,
            seeds: SEEDS.end - SEEDS.start,
            releases: herd.releases.len(),
            wake_ups_per_release: herd.wake_ups_per_release(),
            wake_ups_max: herd.wake_ups_max(),
            requests_per_acquisition: herd.requests_per_acquisition(),
            as_catalogued: herd.is_as_catalogued() == Some(true) && !herd.releases.is_empty(),
        }
    }
}

fn table(rows: &[Row], screen: &Screen) -> String {
    let header =
        ["clients", "watch on", "wake-ups\na release", "at\nmost", "requests\na grant", "as the\nrow"];
    let mut table = screen.paint().table(&header);
    for row in rows {
        let number = |text: String| cell(Tone::Plain, &text).set_alignment(CellAlignment::Right);
        let (tone, mark) = if row.as_catalogued { (Tone::Good, "✓") } else { (Tone::Bad, "✗") };
        table.add_row([
            number(row.clients.to_string()),
            cell(Tone::Plain, row.watch),
            number(format!("{:.1}", row.wake_ups_per_release)),
            number(row.wake_ups_max.to_string()),
            number(format!("{:.1}", row.requests_per_acquisition)),
            cell(tone, mark),
        ]);
    }
    lines(&table)
}
