//! The catalogue: known failures, each with the search that finds it and the repair under which the same search does not.

use super::cassandra::queue_lock;
use super::{Judgement, NamedSpace};
use crate::locks::cassandra_queue::Settings;
use crate::workload::Calls;
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

/// Every row that can be run.
pub fn scenarios() -> Vec<Scenario> {
    let c16 = |shared| {
        let mut space = queue_lock(2, 1, Calls::Lock, &[Promise::MutualExclusion]);
        space.setup.lock = Settings { shared_thread_id: shared, ..space.setup.lock };
        Search::Space { space: NamedSpace::new("cassandra-queue", &space), judgement: Judgement::Safety }
    };
    vec![Scenario {
        id: "C16",
        system: "cassandra",
        story: "two threads with one id share a column: each finds one record in the main row",
        breaks: Promise::MutualExclusion,
        search: c16(true),
        fix: "unique ids",
        fix_search: c16(false),
        note: "",
    }]
}
