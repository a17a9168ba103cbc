//! What else is true of the Cassandra queue lock (the Cassandra paper, *The Cassandra queue lock*, section 5), beside its theorems and its
//! rows of the catalogue.

use picklock_model::claims::{NamedSpace, cassandra as spaces, pack_setup, unpack_setup};
use picklock_model::explore::Space;
use picklock_model::locks::CassandraQueue;
use picklock_model::workload::{Calls, Writes};
use picklock_properties::Promise;

const AS_WRITTEN: &str = "cassandra-queue";
const REPAIRED: &str = "cassandra-queue-repaired";

/// Row C2 is a pause "between lines 3 and 4". These tests go into it: which side of the read the pause falls on decides
/// which repair is enough.
mod exhaustive {
    use super::*;
    use crate::evidence::{check, evidence};
    use picklock_model::claims::{Assumption, Judgement};
    use picklock_model::locks::cassandra_queue::{Settings, Timestamps};
    use picklock_model::machine::Line;
    use picklock_model::time::Micros;
    use picklock_model::world::{Aim, TICK};
    use picklock_sim::registry::{CheckVerdict, Checked};

    /// Standing at this line of Listing 6, a client waits for the reply to the request that the line sends.
    const LINE_3: u8 = 3;
    const LINE_4: u8 = 4;
    /// Messages arrive, and are answered, within the tick.
    const AT_ONCE: u8 = 0;
    const WITHIN_A_TICK: u8 = 1;

    #[test]
    fn a_pause_before_the_read_is_repaired_by_the_own_id_check_if_messages_take_no_time() {
        broken(&pause_at(LINE_3, AT_ONCE, |lock| lock));
        // The own record has expired by the time the row is read, and the check misses it.
        kept(&pause_at(LINE_3, AT_ONCE, own_id));
    }

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn a_pause_before_the_read_is_not_repaired_by_the_own_id_check_if_messages_take_a_tick() {
        // The record is still there when the server reads the row, and is over when the reply arrives.
        broken(&pause_at(LINE_3, WITHIN_A_TICK, own_id));
    }

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn a_pause_after_the_read_is_not_repaired_by_the_own_id_check() {
        // The reply was on its way before the pause, and names the own record alone.
        broken(&pause_at(LINE_4, AT_ONCE, own_id));
        broken(&pause_at(LINE_4, WITHIN_A_TICK, own_id));
    }

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn no_pause_before_the_grant_gets_past_the_validity_check() {
        for (line, latency) in
            [(LINE_3, AT_ONCE), (LINE_4, AT_ONCE), (LINE_3, WITHIN_A_TICK), (LINE_4, WITHIN_A_TICK)]
        {
            kept(&pause_at(line, latency, valid));
        }
    }

    #[test]
    fn with_both_repairs_one_pause_at_any_moment_before_the_grant_breaks_nothing() {
        kept(&pause(Aim::Asking, AT_ONCE, |lock| Settings { own_id_check: true, ..valid(lock) }));
    }

    #[test]
    fn with_both_repairs_a_pause_of_the_holder_still_breaks_mutual_exclusion() {
        // What no lock with a lease can help: hence fencing (row C3).
        broken(&pause(Aim::Holding, AT_ONCE, |lock| Settings { own_id_check: true, ..valid(lock) }));
    }

    /// Row C10 wants two clocks: a renewal stamped by the client that also stamps the deletion is older, whenever it arrives.
    #[test]
    fn a_late_renewal_that_its_client_has_stamped_changes_nothing() {
        let mut space = spaces::queue_lock(1, 1, Calls::TryLock, &[Promise::Theorem3]);
        spaces::drop_from_queue_lock(&mut space, Assumption::NoExpiry);
        space.setup.workload.rounds = 2;
        space.setup.workload.hold = Micros(2 * TICK.0);
        for (timestamps, verdict) in [
            (Timestamps::Coordinator, CheckVerdict::Violated),
            (Timestamps::ClientWall, CheckVerdict::Holds),
            (Timestamps::ClientMonotonic, CheckVerdict::Holds),
        ] {
            space.setup.lock.timestamps = timestamps;
            assert_eq!(search(&space).verdict, verdict, "{timestamps:?}");
        }
    }

    /// What row C24's repair costs: the proof of Theorem 3 needs a first in the queue that stays.
    #[test]
    fn bounded_attempts_give_up_theorem_3() {
        let bounded = |max| {
            let mut space = spaces::queue_lock(2, 1, Calls::TryLock, &[Promise::Theorem3]);
            space.setup.workload.releases = false;
            space.setup.lock.try_attempts_max = max;
            search(&space).verdict
        };
        assert_eq!(bounded(None), CheckVerdict::Holds);
        assert_eq!(bounded(Some(1)), CheckVerdict::Violated);
        assert_eq!(bounded(Some(3)), CheckVerdict::Violated);
    }

    fn own_id(lock: Settings) -> Settings {
        Settings { own_id_check: true, ..lock }
    }

    /// A second is taken off the lease, for the store counts in whole ones.
    fn valid(lock: Settings) -> Settings {
        Settings { validity_check: true, validity_margin: TICK, ..lock }
    }

    /// Row C3's repair: the token is the timestamp of the record that the grant rests on.
    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn a_fencing_token_that_is_a_clock_reading_is_as_good_as_the_clocks() {
        let fenced = |last_client_ahead_ticks| {
            let mut space = pause(Aim::Holding, AT_ONCE, |lock| Settings { fencing: true, ..lock });
            space.setup.promises = [Promise::FencedResource].into_iter().collect();
            space.setup.workload.writes = Writes::Resource;
            space.setup.workload.resource_checks = true;
            space.bounds.last_client_ahead_ticks = last_client_ahead_ticks;
            space
        };
        kept(&fenced(0));
        // Less than the pause is long: the later grant still has the larger token.
        kept(&fenced(-2));
        broken(&fenced(-12));
    }

    fn pause_at(number: u8, latency_ticks: u8, lock: fn(Settings) -> Settings) -> Space<CassandraQueue> {
        pause(Aim::At(Line { listing: 6, number }), latency_ticks, lock)
    }

    /// Row C2's space: two clients with a lease, and one pause that outlives it.
    fn pause(aim: Aim, latency_ticks: u8, lock: fn(Settings) -> Settings) -> Space<CassandraQueue> {
        let mut space = spaces::queue_lock(2, 1, Calls::Lock, &[Promise::MutualExclusion]);
        spaces::drop_from_queue_lock(&mut space, Assumption::NoExpiry);
        space.bounds.latency_ticks = Some(latency_ticks);
        space.bounds.pauses = 1;
        space.bounds.pause_ticks = spaces::TTL_SECONDS as u8 + 1;
        space.bounds.aim = aim;
        space.setup.lock = lock(space.setup.lock);
        space
    }

    fn broken(space: &Space<CassandraQueue>) {
        let Checked { verdict, exploration, .. } = search(space);
        assert_eq!(verdict, CheckVerdict::Violated, "{:?}: {exploration:?}", space.setup.lock);
    }

    fn kept(space: &Space<CassandraQueue>) {
        let Checked { verdict, exploration, counterexample, .. } = search(space);
        if let Some(found) = counterexample {
            panic!("{:?}\n{}", space.setup.lock, evidence(found.promise, &found.token));
        }
        assert_eq!(verdict, CheckVerdict::Holds, "{exploration:?}");
        assert!(exploration.coverage.granted > 0 && exploration.coverage.faults > 0, "{exploration:?}");
    }

    fn search(space: &Space<CassandraQueue>) -> Checked {
        check(&NamedSpace::new(AS_WRITTEN, space), &Judgement::Safety)
    }
}

/// Three clients, each twice, that hold so long that a renewal is due and so often that the last in the queue waits longer
/// than a TTL.
mod seeded {
    use super::*;
    use crate::evidence::{
        USUAL_FAULTS, assert_clean, breaks, evidence, first_seed, lock, replay, seeded_token, sweep,
    };
    use crate::seeds::seeds;
    use picklock_model::locks::cassandra_queue::Settings;
    use picklock_model::time::Micros;
    use picklock_model::workload::Workload;
    use picklock_properties::PromiseSet;
    use picklock_sim::plans::fault::{FaultKind, FaultSet};
    use picklock_sim::report::TextOptions;

    const CLIENTS: u8 = 3;
    const ROUNDS: u8 = 2;

    #[test]
    fn without_faults_the_repaired_lock_keeps_every_promise() {
        let setup = setup(REPAIRED, Calls::Lock, every_promise());
        let report = sweep(REPAIRED, &setup, FaultSet::EMPTY, seeds(300), true);
        assert_clean(REPAIRED, &setup, FaultSet::EMPTY, &report);
        assert_eq!(report.grants, u64::from(CLIENTS * ROUNDS) * report.runs);
    }

    #[test]
    fn without_faults_no_lock_breaks_a_promise_to_callers_of_try_lock() {
        for lock in [AS_WRITTEN, REPAIRED] {
            let setup = setup(lock, Calls::TryLock, every_promise());
            let report = sweep(lock, &setup, FaultSet::EMPTY, seeds(300), true);
            assert_clean(lock, &setup, FaultSet::EMPTY, &report);
            assert!(report.grants > 0 && report.refusals > 0, "{report:?}");
        }
    }

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn without_faults_the_lock_as_written_lets_nobody_in_twice() {
        let setup = setup(AS_WRITTEN, Calls::Lock, safety());
        let report = sweep(AS_WRITTEN, &setup, FaultSet::EMPTY, seeds(300), true);
        assert_clean(AS_WRITTEN, &setup, FaultSet::EMPTY, &report);
        assert!(report.grants > 0);
    }

    /// Row C6 without any fault: two holds of 6 s are longer than the TTL of 10 s, the cell of the third in the queue
    /// expires, and nothing ever writes it again.
    #[test]
    fn without_faults_whoever_waits_longer_than_the_ttl_starves_under_the_lock_as_written() {
        let setup = setup(AS_WRITTEN, Calls::Lock, every_promise());
        let seeds = seeds(20);
        let report = sweep(AS_WRITTEN, &setup, FaultSet::EMPTY, seeds.clone(), true);
        let starving = report.broken.get(&Promise::StarvationFreedom).copied().unwrap_or(0);
        assert_eq!(starving, report.runs, "in some of the seeds {seeds:?} nobody starves");
        assert_eq!(report.first_seed(Promise::MutualExclusion), None);
    }

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn a_pause_breaks_mutual_exclusion_of_the_lock_as_written() {
        is_broken(AS_WRITTEN, Calls::Lock, FaultKind::Pause, 1000);
    }

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn a_wrong_clock_breaks_mutual_exclusion_of_the_lock_as_written() {
        is_broken(AS_WRITTEN, Calls::Lock, FaultKind::Clock, 200);
        is_broken(AS_WRITTEN, Calls::TryLock, FaultKind::Clock, 500);
    }

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn lost_messages_break_mutual_exclusion_of_the_lock_as_written() {
        is_broken(AS_WRITTEN, Calls::Lock, FaultKind::Loss, 1000);
    }

    /// The exhaustive explorer says the same: `with_both_repairs_a_pause_of_the_holder_still_breaks_mutual_exclusion`.
    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn a_pause_breaks_mutual_exclusion_of_the_repaired_lock_and_never_its_fenced_resource() {
        is_broken(REPAIRED, Calls::Lock, FaultKind::Pause, 1000);

        let pause = FaultSet::from(FaultKind::Pause);
        let kept = [Promise::FencedResource, Promise::LeaseLoss].into_iter().collect();
        let setup = setup(REPAIRED, Calls::Lock, kept);
        let report = sweep(REPAIRED, &setup, pause, seeds(1000), true);
        assert_clean(REPAIRED, &setup, pause, &report);
        assert!(report.grants > 0 && report.strikes.pauses > 0, "{report:?}");
    }

    #[test]
    fn what_leaves_clocks_alone_and_pauses_nobody_breaks_nothing_of_the_repaired_lock() {
        use FaultKind::{Crash, Delay, Duplicate, Loss, Partition};
        let faults = FaultSet::from_iter([Delay, Loss, Duplicate, Partition, Crash]);
        for calls in [Calls::Lock, Calls::TryLock] {
            let setup = setup(REPAIRED, calls, every_promise());
            let report = sweep(REPAIRED, &setup, faults, seeds(500), true);
            assert_clean(REPAIRED, &setup, faults, &report);
            let strikes = &report.strikes;
            let happened =
                [strikes.lost, strikes.duplicated, strikes.delayed, strikes.partitions, strikes.crashes];
            // A few seeds may have drawn none of some kind.
            assert!(report.runs < 100 || happened.iter().all(|times| *times > 0), "{strikes:?}");
        }
    }

    /// The reason that the matrix gives for all its deadlocks: of all repairs this one alone ends them.
    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn waiters_that_prolong_their_cells_end_every_lasting_deadlock_whatever_usual_fault() {
        let promises = PromiseSet::from_iter([Promise::DeadlockFreedom]);
        let setup = matrix_setup(promises, |lock| lock.waiters_renew = true);
        for fault in USUAL_FAULTS {
            let report = sweep(AS_WRITTEN, &setup, FaultSet::from(fault), seeds(100), true);
            assert_clean(AS_WRITTEN, &setup, FaultSet::from(fault), &report);
        }
    }

    /// The reason that the matrix gives for double grants without pauses or wrong clocks.
    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn a_holder_that_minds_its_own_lease_ends_double_grants_under_all_but_pauses_and_clocks() {
        let promises = PromiseSet::from_iter([Promise::MutualExclusion]);
        let setup = matrix_setup(promises, |lock| {
            lock.validity_check = true;
            lock.validity_margin = Micros::seconds(2);
        });
        for fault in USUAL_FAULTS {
            if !matches!(fault, FaultKind::Pause | FaultKind::Clock) {
                let report = sweep(AS_WRITTEN, &setup, FaultSet::from(fault), seeds(100), true);
                assert_clean(AS_WRITTEN, &setup, FaultSet::from(fault), &report);
            }
        }
    }

    /// The setup of the matrix, with something repaired.
    fn matrix_setup(promises: PromiseSet, repair: impl Fn(&mut Settings)) -> Vec<u8> {
        let mut setup = unpack_setup::<CassandraQueue>(&lock(AS_WRITTEN).setup(Some(promises))).unwrap();
        repair(&mut setup.lock);
        pack_setup(&setup)
    }

    fn is_broken(lock: &str, calls: Calls, fault: FaultKind, seeds_max: u64) {
        let promise = Promise::MutualExclusion;
        let (faults, seeds) = (FaultSet::from(fault), seeds(seeds_max));
        let setup = setup(lock, calls, safety());
        let Some(seed) = first_seed(lock, &setup, faults, seeds.clone(), promise).0 else {
            panic!("{lock} under {faults}: none of the seeds {seeds:?} breaks {promise}");
        };
        let token = seeded_token(lock, &setup, faults, seed);
        assert!(
            breaks(&replay(&token, &TextOptions::default()), promise),
            "seed {seed} breaks {promise} in the sweep and not when it is replayed\n{}",
            evidence(promise, &token)
        );
    }

    fn safety() -> PromiseSet {
        [Promise::MutualExclusion, Promise::FencedResource, Promise::LeaseLoss].into_iter().collect()
    }

    fn every_promise() -> PromiseSet {
        safety().iter().chain(PromiseSet::liveness().iter()).collect()
    }

    fn setup(name: &str, calls: Calls, promises: PromiseSet) -> Vec<u8> {
        let mut setup = unpack_setup::<CassandraQueue>(&lock(name).setup(Some(promises))).unwrap();
        setup.lock.ttl_seconds = Some(10);
        setup.workload = Workload {
            clients: CLIENTS,
            rounds: ROUNDS,
            calls,
            think: Micros::millis(300),
            hold: Micros::seconds(6),
            varies: false,
            ..setup.workload
        };
        pack_setup(&setup)
    }
}
