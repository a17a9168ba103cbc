//! Who takes part: a lock, its store, and how both are set up.

use super::tally::Tally;
use super::{Case, Figures, LATENCY, POLL_INTERVAL, TTL_SECONDS, WARM_UP};
use crate::plans::plan::Plan;
use crate::seeded::network::Network;
use crate::seeded::outcome::Limits;
use crate::seeded::run::Engine;
use picklock_model::cluster::Setup;
use picklock_model::locks::{
    CassandraQueue, CassandraShadow, FeedbackLock, cassandra_queue, cassandra_shadow, feedback_lock,
};
use picklock_model::machine::{Lock, Store};
use picklock_model::stores::cassandra;
use picklock_model::time::Micros;
use picklock_model::workload::{AccessChoice, Calls, ROUNDS_WITHOUT_END, Workload, Writes};
use picklock_properties::Promise;

/// A lock on its store.
#[derive(Clone, Copy, Debug)]
pub struct Contestant {
    /// The name it is registered under.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// How many servers its store has.
    pub servers: u8,
    measure: fn(&Case, u64) -> Figures,
}

impl Contestant {
    /// One run: the same arguments give the same figures.
    pub fn measure(&self, case: &Case, seed: u64) -> Figures {
        (self.measure)(case, seed)
    }
}

/// Cassandra's replicas; two of them are a quorum.
const REPLICAS: u8 = 3;

/// How long deleted columns are kept: so short that reading past them does not slow the measuring down. In a real table they
/// stay for ten days, and every look at the queue's first column has to get past all that were deleted since; as a read takes
/// no time here but its messages', that does not show.
const GC_GRACE_SECONDS: i64 = 1;

/// All, in the order of the tables.
pub fn contestants() -> [Contestant; 4] {
    [
        Contestant {
            name: "cassandra-shadow",
            summary: "the old lock: fights, backs off for up to 1 s (the Cassandra paper, Listings 3 and 4)",
            servers: REPLICAS,
            measure: |case, seed| {
                let lock = cassandra_shadow::Settings {
                    ttl_seconds: Some(TTL_SECONDS),
                    ..cassandra_shadow::Settings::as_written()
                };
                run::<CassandraShadow>(lock, cassandra(), REPLICAS, case, seed)
            },
        },
        Contestant {
            name: "cassandra-queue",
            summary: "the new lock: queues, looks every 20 ms whether it is first (Listings 5 and 6)",
            servers: REPLICAS,
            measure: |case, seed| queue(cassandra_queue::Settings::as_written(), case, seed),
        },
        Contestant {
            name: "cassandra-queue-repaired",
            summary: "the same with every repair of the catalogue, and a fencing token",
            servers: REPLICAS,
            measure: |case, seed| queue(cassandra_queue::Settings::repaired(), case, seed),
        },
        Contestant {
            name: "feedback-lock",
            summary: "the store that section 6 wishes for: queues, and pushes its grants",
            servers: 1,
            measure: |case, seed| {
                let lock = feedback_lock::Settings::careful();
                run::<FeedbackLock>(lock, Default::default(), 1, case, seed)
            },
        },
    ]
}

fn cassandra() -> cassandra::Settings {
    cassandra::Settings { gc_grace_seconds: Some(GC_GRACE_SECONDS), ..cassandra::Settings::default() }
}

fn queue(lock: cassandra_queue::Settings, case: &Case, seed: u64) -> Figures {
    let lock =
        cassandra_queue::Settings { ttl_seconds: Some(TTL_SECONDS), poll_interval: POLL_INTERVAL, ..lock };
    run::<CassandraQueue>(lock, cassandra(), REPLICAS, case, seed)
}

fn run<L: Lock>(
    lock: L::Settings,
    store: <L::Store as Store>::Settings,
    servers: u8,
    case: &Case,
    seed: u64,
) -> Figures {
    let setup = Setup::<L> {
        lock,
        store,
        servers,
        workload: Workload {
            clients: case.threads,
            rounds: ROUNDS_WITHOUT_END,
            retries: false,
            calls: Calls::Lock,
            access: AccessChoice::First,
            think: Micros::ZERO,
            hold: case.hold,
            releases: true,
            writes: Writes::None,
            resource_checks: false,
            resource_forgets: false,
            locks: 1,
            attendants: 0,
            pace: None,
            varies: false,
            work_fits: false,
        },
        promises: [Promise::MutualExclusion].into_iter().collect(),
    };
    let [latency_min, latency_max] = LATENCY;
    let plan =
        Plan { network: Network { latency_min, latency_max, ..Network::default() }, ..Plan::default() };
    let until = WARM_UP + case.window;
    let limits = Limits { events_max: u64::MAX, after_heal_max: until, ..Limits::of(&setup) };
    let mut tally = Tally::new(case.threads, WARM_UP, until);
    let outcome = Engine::new().run(&setup, &plan, seed, &limits, &mut tally);
    tally.figures(outcome.breaks(Promise::MutualExclusion))
}
