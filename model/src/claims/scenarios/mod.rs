//! The catalogue: known failures, each with the search that finds it and the repair under which the same search does not.

mod cassandra;
mod cassandra_lwt;
mod cassandra_shadow;
mod chubby;
mod dlm;
mod etcd;
mod objects;
mod redis;
mod zookeeper;

use super::{Judgement, NamedSpace};
use crate::workload::Workload;
use picklock_properties::Promise;

/// A row of the catalogue.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The row's id: `C1`.
    pub id: &'static str,
    /// Which system: `cassandra`.
    pub system: &'static str,
    /// What happens, in one sentence.
    pub story: &'static str,
    /// The promise that breaks.
    pub breaks: Promise,
    /// Where it is looked for.
    pub search: Search,
    /// What repairs it, in a few words.
    pub fix: &'static str,
    /// The same search on the repaired variant: must find nothing.
    pub fix_search: Search,
    /// What the search taught that the row does not say; may be empty.
    pub note: &'static str,
    /// Where random plans come upon the failure by themselves; [`UNHUNTED`] says why not, where they do not.
    pub hunt: Option<Hunt>,
}

/// How a failure is looked for.
#[derive(Clone, Debug)]
pub enum Search {
    /// Exhaustively.
    Space {
        /// Where.
        space: NamedSpace,
        /// By what.
        judgement: Judgement,
    },
    /// By seeds 0, 1, 2… of random plans.
    Seeds {
        /// Name of a registered lock.
        lock: &'static str,
        /// A packed setup of it.
        setup: Vec<u8>,
        /// Which kinds of faults a plan may have, by their names on the command line.
        faults: &'static [&'static str],
        /// How many seeds are tried at most.
        seeds: u64,
    },
}

/// A row as random plans find it, without being told what to look for: any plan of these kinds of faults, on a variant
/// and a store on which nothing else of those kinds breaks the promise, as the repaired setup shows.
#[derive(Clone, Debug)]
pub struct Hunt {
    /// Name of a registered lock.
    pub lock: &'static str,
    /// A packed setup of it.
    pub setup: Vec<u8>,
    /// Name of the registered lock that the repaired setup is of.
    pub fixed_lock: &'static str,
    /// The same, repaired: the same seeds must break nothing that it watches.
    pub fixed: Vec<u8>,
    /// Which kinds of faults a plan may have, by their names on the command line.
    pub faults: &'static [&'static str],
}

impl Search {
    /// What a row replaces.
    const NOWHERE: Search = Search::Seeds { lock: "", setup: Vec::new(), faults: &[], seeds: 0 };
}

/// The rows that random plans do not find, and why not.
pub const UNHUNTED: &[(&str, &str)] = &[
    (
        "R8",
        "wrong clocks end keys on the master itself more often (row R3), and its repairs are those of that row: what is \
         found could not be told from it",
    ),
    ("R28", "progress is owed once a run has healed, and healing ends the partitions that the row speaks of"),
    (
        "R33",
        "wrong clocks end entries on the server as well, whose clock is among them, and nothing repairs that (row R3): what is found \
         could not be told from it",
    ),
    (
        "C22a",
        "the service's time stands still for as long as the dead replica's clock was ahead, and after a clock has erred a \
         seeded run waits for twice that long before it calls anybody starved",
    ),
];

/// A hunt's workload, which varies from seed to seed unless the row needs it in the shape that it gave it.
fn varied_unless_shaped(workload: Workload, usual: &Workload) -> Workload {
    let shape = |of: &Workload| (of.clients, of.rounds, of.think, of.hold, of.calls, of.retries, of.releases);
    Workload { varies: shape(&workload) == shape(usual), ..workload }
}

/// Every row that can be run.
pub fn scenarios() -> Vec<Scenario> {
    let mut rows = cassandra::scenarios();
    rows.extend(cassandra_shadow::scenarios());
    rows.extend(cassandra_lwt::scenarios());
    rows.extend(redis::scenarios());
    rows.extend(zookeeper::scenarios());
    rows.extend(etcd::scenarios());
    rows.extend(objects::scenarios());
    rows.extend(dlm::scenarios());
    rows.extend(chubby::scenarios());
    rows
}
