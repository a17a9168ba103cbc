//! The lock on the store that the Cassandra paper, *The Cassandra queue lock*, wishes for (section 6).

use picklock_engine::registry::{
    AnyLock, CLIENTS, CheckOptions, ROUNDS, Registered, with_holds_of_any_length,
};
use picklock_model::claims::feedback as spaces;
use picklock_model::cluster::Setup;
use picklock_model::explore::Space;
use picklock_model::locks::FeedbackLock;
use picklock_model::locks::feedback_lock::Settings;
use picklock_model::stores::feedback as store;
use picklock_model::time::Micros;
use picklock_model::workload::{AccessChoice, Calls, Workload, Writes};
use picklock_properties::{Promise, PromiseSet};

pub(crate) fn lock() -> Box<dyn AnyLock> {
    Box::new(Registered::<FeedbackLock> {
        name: "feedback-lock",
        summary: "a store that queues, pushes its grants and owns the lease (the Cassandra paper, section 6: what it wishes for)",
        default_settings: Settings::careful(),
        setup,
        space: Some(space),
        servers: 1,
        clients: CLIENTS,
        rounds: ROUNDS,
        is_lock: true,
        varies: true,
    })
}

/// Three clients that each take the lock three times, each time for longer than a lease, so that it has to be prolonged.
fn setup() -> Setup<FeedbackLock> {
    Setup {
        lock: Settings {
            lease: Some(Micros::seconds(6)),
            drift_margin: Micros::millis(62),
            heartbeat: Some(Micros::seconds(2)),
            request_timeout: Some(Micros::millis(500)),
            ..Settings::careful()
        },
        store: store::Settings::default(),
        servers: 1,
        workload: Workload {
            clients: 3,
            rounds: 3,
            retries: false,
            calls: Calls::Lock,
            access: AccessChoice::First,
            think: Micros::seconds(2),
            hold: Micros::seconds(8),
            releases: true,
            writes: Writes::Resource,
            resource_checks: true,
            resource_forgets: false,
            locks: 1,
            attendants: 0,
            pace: None,
            varies: false,
            work_fits: false,
        },
        promises: PromiseSet::usual(),
    }
}

fn space(options: &CheckOptions) -> Space<FeedbackLock> {
    let calls = if options.try_lock { Calls::TryLock } else { Calls::Lock };
    let mut space = spaces::feedback_lock(options.clients, calls, &[]);
    space.setup.promises = match options.promises.is_empty() {
        true => [Promise::MutualExclusion].into_iter().collect(),
        false => options.promises,
    };
    space.setup.workload.rounds = options.rounds;
    options.drop.iter().for_each(|assumption| spaces::drop_from_feedback_lock(&mut space, *assumption));
    let writes = Writes::judged_by(options.promises);
    space.setup.workload.writes = writes;
    space.setup.workload.resource_checks = writes != Writes::None;
    with_holds_of_any_length(space)
}
