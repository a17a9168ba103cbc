//! What is true of every registered lock: its tokens come back, and a verdict says what the world was like in which it was reached.

use picklock_model::claims::{Assumption, Known, MATRIX, claims, scenarios};
use picklock_properties::{Promise, PromiseSet};
use picklock_sim::plans::fault::{FaultKind, FaultSet};
use picklock_sim::plans::strategy::Strategy;
use picklock_sim::registry::{AnyLock, CheckOptions, Surroundings, locks};
use picklock_sim::report::TextOptions;
use picklock_sim::sweep::PlannedRun;

fn come_back(lock: &dyn AnyLock, setup: &[u8], faults: FaultSet) -> String {
    let plan = lock.plans(setup, faults, Strategy::Swarm, &[3]).unwrap().remove(0);
    let token = lock.token(setup, &PlannedRun { plan, seed: 3 }, None).unwrap();
    let text = token.encode();
    assert_eq!(text.parse(), Ok(token.clone()));
    let replay = lock.replay(&token, &TextOptions::default()).unwrap();
    assert!(!replay.came_out_otherwise, "{}: {text}", lock.name());
    text
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn every_registered_setup_and_every_one_that_is_hunted_in_comes_back_by_name() {
    let mut lengths = Vec::new();
    for lock in locks() {
        let text = come_back(lock.as_ref(), &lock.setup(None), FaultSet::EMPTY);
        // Of the registered setup only its name and what the seed drew is told: how many clients and rounds, and how long they
        // take. A byte of the name is not quite one and a half characters.
        let name = lock.name().len() * 3 / 2;
        assert!(text.len() < 100 + name, "{}: {}: {text}", lock.name(), text.len());
        come_back(lock.as_ref(), &lock.setup(Some([Promise::Fifo].into_iter().collect())), FaultSet::ALL);
    }
    for hunt in scenarios().into_iter().filter_map(|row| row.hunt) {
        let lock = locks().into_iter().find(|lock| lock.name() == hunt.lock).unwrap();
        lengths.push(come_back(lock.as_ref(), &hunt.setup, FaultSet::EMPTY).len());
    }
    assert!(lengths.len() > 50 && lengths.iter().all(|length| *length < 400), "{lengths:?}");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn of_the_tokens_of_one_usual_kind_of_fault_19_in_20_have_at_most_400_characters() {
    let mut lengths: Vec<usize> = Vec::new();
    for lock in locks().iter().filter(|lock| lock.is_lock()) {
        let setup = lock.setup(None);
        for kind in FaultKind::USUAL {
            let seeds: Vec<u64> = (0..20).collect();
            for (plan, seed) in
                lock.plans(&setup, kind.into(), Strategy::Swarm, &seeds).unwrap().into_iter().zip(seeds)
            {
                let token =
                    lock.token(&setup, &PlannedRun { plan, seed }, Some(Promise::MutualExclusion)).unwrap();
                lengths.push(token.encode().len());
            }
        }
    }
    lengths.sort_unstable();
    let within = lengths.iter().filter(|length| **length <= 400).count();
    assert!(
        within * 20 >= lengths.len() * 19,
        "{within} of {}, the longest {:?}",
        lengths.len(),
        lengths.last()
    );
}

fn of(name: &str, drop: &[Assumption], promises: &[Promise]) -> Surroundings {
    let lock = locks().into_iter().find(|lock| lock.name() == name).unwrap();
    let options = CheckOptions {
        clients: 2,
        servers: lock.usual_servers(),
        rounds: 1,
        try_lock: false,
        drop: drop.to_vec(),
        promises: promises.iter().copied().collect::<PromiseSet>(),
    };
    lock.surroundings(&lock.space(&options)).unwrap()
}

#[test]
fn a_power_loss_that_nobody_dropped_is_named() {
    let redlock = of("redlock", &[Assumption::NoPause], &[]);
    let allowed = redlock.allowed_in_words();
    assert!(allowed.contains("a server loses power once"), "{allowed}");
    assert!(allowed.contains("a client pauses once, for up to 5 ticks"), "{allowed}");
    assert!(redlock.not_in_force.contains(&"no-pause") && redlock.not_in_force.contains(&"no-expiry"));
}

#[test]
fn theorem_3_is_checked_with_a_lock_that_is_free_at_the_start_unless_that_is_dropped() {
    let held = of("cassandra-queue", &[], &[Promise::Theorem3]);
    assert!(held.used.contains("hold for good") && held.not_in_force.is_empty(), "{held:?}");
    let released = of("cassandra-queue", &[Assumption::FreeAtStart], &[Promise::Theorem3]);
    assert_eq!(released.not_in_force, ["free-at-start"]);
}

#[test]
fn who_may_take_any_time_is_not_said_to_take_none() {
    let timed = of("redlock", &[], &[]);
    assert!(timed.used.contains("hold for as long as they like, ask when they like; "), "{timed:?}");
    let fenced = of("redlock", &[], &[Promise::FencedResource]);
    assert!(fenced.used.contains(" and write to the resource, ask when they like; "), "{fenced:?}");
    let registered = locks().into_iter().find(|lock| lock.name() == "redlock").unwrap();
    let seeded = registered.use_in_words(&registered.setup(None)).unwrap();
    assert!(seeded.contains(", hold 3s and write to the resource, think 2s; "), "{seeded}");
    assert!(seeded.contains("; around these each seed draws 2 to 4 clients, 1 to "), "{seeded}");
}

/// Whose drops are walked in the short form, too: two stores that replicate, and sessions that a server loses with its power.
const IN_SHORT: [&str; 3] = ["etcd-mutex-3", "row-probe", "zookeeper-lock"];

/// Everything that a lock can be checked in; in the short form what each is registered with, and all drops of some (`IN_SHORT`).
#[test]
fn what_the_search_sees_of_each_registered_lock_is_what_happens() {
    let is_long = std::env::var_os("PICKLOCK_LONG").is_some();
    for lock in locks() {
        let drops = Assumption::ALL.into_iter().map(Some);
        for drop in std::iter::once(None).chain(drops) {
            if !is_long && drop.is_some() && !IN_SHORT.contains(&lock.name()) {
                continue;
            }
            let space = lock.space(&CheckOptions {
                clients: 2,
                servers: lock.usual_servers(),
                rounds: lock.rounds_max().min(2),
                try_lock: false,
                drop: drop.into_iter().collect(),
                promises: PromiseSet::default(),
            });
            let audit = lock.audit(&space).unwrap_or_else(|error| panic!("{}: {error}", lock.name()));
            let told = audit.map(|audit| (audit.what, audit.steps, audit.token.encode()));
            assert_eq!(told, None, "{} without {drop:?}", lock.name());
        }
    }
}

/// The worlds of claims are smaller than those of random runs; but no claim about one server is one about three.
#[test]
fn what_the_matrix_calls_verified_is_verified_with_as_many_servers() {
    let mut verified = 0;
    for cell in MATRIX.into_iter().flatten() {
        let Known::Verified { theorem, dropped } = cell.known else { continue };
        verified += 1;
        let lock = locks().into_iter().find(|lock| lock.name() == cell.lock).expect("it is registered");
        let used = lock.use_in_words(&lock.setup(None)).expect("the setup is this lock's");
        for claim in claims().iter().filter(|claim| claim.theorem == theorem && claim.dropped == dropped) {
            let space = lock.surroundings(&claim.space).expect("the space is this lock's");
            let is_of_servers = |part: &&str| part.ends_with("server") || part.ends_with("servers");
            let servers = |words: &str| words.split("; ").find(is_of_servers).map(str::to_owned);
            assert!(servers(&used).is_some());
            assert_eq!(servers(&space.used), servers(&used), "{theorem} about {}", cell.lock);
        }
    }
    assert!(verified > 0);
}
