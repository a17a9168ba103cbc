//! `picklock locks`, `faults`, `properties`, `assumptions`: what there is, one line each.

use super::screen::{Screen, list};
use super::{BadCall, Ending, plan_parts};
use crate::plans::fault::{FaultKind, FaultSet};
use crate::registry::{AnyLock, Locks};
use picklock_model::claims::Assumption;
use picklock_properties::Promise;
use serde::Serialize;

/// The texts that locks and promises are taken from, by the names that the lists give them.
pub const SOURCES: &str = "\
Their sources, all in Russian:
  the Cassandra paper       \"The Cassandra queue lock\"
  the Redlock article       \"Distributed Locks with Redis\"
  the exactly-once article  \"Heterogeneous concurrent exactly-once processing of
                            data in real time\"
  the ZooKeeper article     \"ZooKeeper, or writing a distributed lock service\"
  the lock-manager article  \"Distributed lock manager\"";

#[derive(Serialize)]
struct LockRow {
    name: &'static str,
    description: &'static str,
    is_lock: bool,
    /// How many `picklock check` gives it unless told otherwise.
    servers: u8,
    /// How many seeded runs have.
    swept_with: u8,
    settings: Vec<String>,
}

/// The locks, and what else can be checked and swept.
pub fn locks(locks: &Locks, screen: &mut Screen) -> Result<Ending, BadCall> {
    let row = |lock: &dyn AnyLock| LockRow {
        name: lock.name(),
        description: lock.summary(),
        is_lock: lock.is_lock(),
        servers: lock.usual_servers(),
        swept_with: lock.swept_servers(),
        settings: lock.settings(),
    };
    let rows: Vec<LockRow> = locks.iter().map(row).collect();
    let some = |servers: u8| if servers == 1 { "1 server".to_owned() } else { format!("{servers} servers") };
    let servers = |row: &LockRow| match row.swept_with {
        swept if swept == row.servers => some(swept),
        swept => format!("{}, {} in check", some(swept), row.servers),
    };
    Ok(list(screen, &rows, |row| [row.name.to_owned(), format!("{} ({})", row.description, servers(row))]))
}

#[derive(Serialize)]
struct Named {
    name: &'static str,
    description: &'static str,
}

fn named(row: &Named) -> [String; 2] {
    [row.name.to_owned(), row.description.to_owned()]
}

#[derive(Serialize)]
struct FaultRow {
    name: &'static str,
    description: &'static str,
    /// Whether it is one of the usual ones, which `all` means and the matrix has rows for.
    in_all: bool,
}

/// `picklock faults`.
#[derive(Debug, clap::Args)]
pub struct FaultsAsked {
    /// Lists what a plan file may say instead: every fault with its fields, and when it strikes
    #[arg(long)]
    fields: bool,
}

impl FaultsAsked {
    /// Lists them.
    pub fn run(self, screen: &mut Screen) -> Result<Ending, BadCall> {
        if self.fields { Ok(plan_parts::fields(screen)) } else { faults(screen) }
    }
}

/// The kinds of faults.
fn faults(screen: &mut Screen) -> Result<Ending, BadCall> {
    let rows = FaultKind::ALL.map(|kind| FaultRow {
        name: kind.name(),
        description: kind.description(),
        in_all: FaultSet::ALL.contains(kind),
    });
    let line = |row: &FaultRow| {
        let by_name = if row.in_all { "" } else { " (not one of `all`: by its name only)" };
        [row.name.to_owned(), format!("{}{by_name}", row.description)]
    };
    Ok(list(screen, &rows, line))
}

#[derive(Serialize)]
struct PromiseRow {
    name: &'static str,
    description: &'static str,
    source: &'static str,
    judged: &'static str,
    /// What puts it to the test.
    tested_by: &'static str,
}

/// The promises.
pub fn properties(screen: &mut Screen) -> Result<Ending, BadCall> {
    let rows = Promise::ALL.map(|promise| PromiseRow {
        name: promise.name(),
        description: promise.statement(),
        source: promise.source(),
        judged: if promise.is_liveness() { "on cycles" } else { "each event" },
        tested_by: promise.tested_by(),
    });
    let line = |row: &PromiseRow| {
        let PromiseRow { description, source, tested_by, .. } = row;
        [row.name.to_owned(), format!("{description} ({source}) Put to the test by: {tested_by}.")]
    };
    Ok(list(screen, &rows, line))
}

/// The assumptions.
pub fn assumptions(screen: &mut Screen) -> Result<Ending, BadCall> {
    let rows = Assumption::ALL
        .map(|assumption| Named { name: assumption.name(), description: assumption.statement() });
    Ok(list(screen, &rows, named))
}
