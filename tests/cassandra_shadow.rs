//! What else is true of the old Cassandra lock (the Cassandra paper, *The Cassandra queue lock*, section 4), beside its theorems and its
//! rows of the catalogue.

use picklock_model::claims::{cassandra_shadow as spaces, pack_setup, unpack_setup};
use picklock_model::locks::CassandraShadow;
use picklock_model::locks::cassandra_shadow::Settings;
use picklock_model::workload::Calls;
use picklock_properties::Promise;

const AS_WRITTEN: &str = "cassandra-shadow";
const REPAIRED: &str = "cassandra-shadow-repaired";

mod exhaustive {
    use super::*;
    use crate::evidence::{check, evidence};
    use picklock_model::claims::{Assumption, Judgement, NamedSpace, cassandra::TTL_SECONDS};
    use picklock_model::explore::Space;
    use picklock_model::locks::cassandra_queue::{RetryDeletes, Timestamps};
    use picklock_model::locks::cassandra_shadow::Reread;
    use picklock_model::time::Micros;
    use picklock_model::world::{Aim, TICK};
    use picklock_sim::registry::{CheckVerdict, Checked};

    /// Messages arrive, and are answered, within the tick.
    const AT_ONCE: u8 = 0;
    const WITHIN_A_TICK: u8 = 1;

    /// Row C18, and which second look is enough.
    mod after_line_11 {
        use super::*;

        #[test]
        #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
        fn any_second_look_is_enough_where_main_cells_stay() {
            for latency in [AT_ONCE, WITHIN_A_TICK] {
                broken(&paused(latency, None, |lock| lock));
                broken(&paused(latency, None, |lock| Settings { own_id_check: true, ..lock }));
                kept(&paused(latency, None, |lock| Settings { reread: Reread::Main, ..lock }));
                kept(&paused(latency, None, |lock| Settings { reread: Reread::Shadow, ..lock }));
                kept(&paused(latency, None, valid));
            }
        }

        #[test]
        #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
        fn only_the_clients_own_clock_is_enough_where_main_cells_expire_too() {
            broken(&paused(AT_ONCE, Some(TTL_SECONDS), |lock| Settings { reread: Reread::Main, ..lock }));
            broken(&paused(AT_ONCE, Some(TTL_SECONDS), |lock| Settings { reread: Reread::Shadow, ..lock }));
            kept(&paused(AT_ONCE, Some(TTL_SECONDS), valid));
            kept(&paused(WITHIN_A_TICK, Some(TTL_SECONDS), valid));
        }

        /// Two clients, of which one pauses before it is granted, longer than its cells live.
        fn paused(
            latency_ticks: u8,
            ttl_seconds: Option<u32>,
            lock: fn(Settings) -> Settings,
        ) -> Space<CassandraShadow> {
            let mut space = expiring(Promise::MutualExclusion, latency_ticks);
            space.setup.lock.ttl_seconds = ttl_seconds;
            pause_once(&mut space, Aim::Asking);
            space.setup.lock = lock(space.setup.lock);
            space
        }
    }

    /// Row C30, and what a relock has to know.
    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn a_relock_that_looks_first_is_not_enough_and_one_that_minds_its_clock_is() {
        for latency in [AT_ONCE, WITHIN_A_TICK] {
            let relocking = |lock: fn(Settings) -> Settings| {
                let mut space = expiring(Promise::LeaseLoss, latency);
                space.setup.workload.hold = Micros(4 * TICK.0);
                pause_once(&mut space, Aim::Holding);
                space.setup.lock = lock(space.setup.lock);
                space
            };
            broken(&relocking(|lock| lock));
            broken(&relocking(|lock| Settings { conditional_renewal: true, ..lock }));
            kept(&relocking(valid));
            kept(&relocking(|lock| Settings { conditional_renewal: true, ..valid(lock) }));
        }
    }

    /// Row C19, where clocks stand still between steps: whatever goes back hides the shadow cell. Any of three repairs helps.
    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn a_hidden_shadow_cell_is_harmless_under_any_of_three_repairs() {
        broken(&stepping(|lock| lock));
        kept(&stepping(|lock| Settings { own_id_check: true, ..lock }));
        kept(&stepping(|lock| Settings { timestamps: Timestamps::ClientMonotonic, ..lock }));
        kept(&stepping(|lock| Settings { reread: Reread::Main, ..lock }));
    }

    /// Row C19, where a hold takes two ticks: a step of one hides the next cell of the main row alone, behind the tombstone of
    /// the last release. Who asks for one cell of its own in the shadow row finds it.
    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn the_own_id_check_does_not_see_a_hidden_main_cell() {
        let held = |lock| {
            let mut space = stepping(lock);
            spaces::timed(&mut space);
            space.bounds.latency_ticks = Some(0);
            space.setup.workload.hold = Micros(2 * TICK.0);
            space
        };
        broken(&held(|lock| lock));
        broken(&held(|lock| Settings { own_id_check: true, ..lock }));
        kept(&held(|lock| Settings { timestamps: Timestamps::ClientMonotonic, ..lock }));
        kept(&held(|lock| Settings { reread: Reread::Main, ..lock }));
    }

    fn stepping(lock: fn(Settings) -> Settings) -> Space<CassandraShadow> {
        let mut space = spaces::shadow_lock(2, 1, Calls::Lock, &[Promise::MutualExclusion]);
        spaces::drop_from_shadow_lock(&mut space, Assumption::NoClockStep);
        space.setup.workload.rounds = 2;
        space.setup.lock = lock(space.setup.lock);
        space
    }

    /// Line 4 finds the own cell of a release whose deletion timed out and is still under way. The authors' own lock draws a
    /// new thread id for each call, and so never gets there.
    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn line_4_takes_a_cell_for_its_own_whose_deletion_is_under_way() {
        let late = |retry_deletes| {
            let mut space = spaces::shadow_lock(2, 1, Calls::Lock, &[Promise::MutualExclusion]);
            spaces::timed(&mut space);
            // A time-out does not mean that the request is lost.
            space.bounds.latency_ticks = Some(2);
            space.setup.lock.request_timeout = Some(TICK);
            space.setup.lock.retry_deletes = retry_deletes;
            space.setup.lock.timestamps = Timestamps::ClientMonotonic;
            space.setup.workload.rounds = 2;
            space
        };
        broken(&late(RetryDeletes::Never));
    }

    /// The Cassandra paper proves Theorem 3 for Listing 7; Listing 3 does not have it: two callers may turn each other away.
    #[test]
    fn all_callers_of_try_lock_may_be_refused_a_free_lock() {
        broken(&spaces::shadow_lock(2, 1, Calls::TryLock, &[Promise::Theorem3]));
    }

    fn valid(lock: Settings) -> Settings {
        Settings { validity_check: true, validity_margin: TICK, ..lock }
    }

    fn expiring(promise: Promise, latency_ticks: u8) -> Space<CassandraShadow> {
        let mut space = spaces::shadow_lock(2, 1, Calls::Lock, &[promise]);
        spaces::drop_from_shadow_lock(&mut space, Assumption::NoExpiry);
        space.bounds.latency_ticks = Some(latency_ticks);
        space
    }

    fn pause_once(space: &mut Space<CassandraShadow>, aim: Aim) {
        space.bounds.pauses = 1;
        space.bounds.pause_ticks = TTL_SECONDS as u8 + 1;
        space.bounds.aim = aim;
    }

    fn broken(space: &Space<CassandraShadow>) {
        let Checked { verdict, exploration, .. } = search(space);
        assert_eq!(verdict, CheckVerdict::Violated, "{:?}: {exploration:?}", space.setup.lock);
    }

    fn kept(space: &Space<CassandraShadow>) {
        let Checked { verdict, exploration, counterexample, .. } = search(space);
        if let Some(found) = counterexample {
            panic!("{:?}\n{}", space.setup.lock, evidence(found.promise, &found.token));
        }
        assert_eq!(verdict, CheckVerdict::Holds, "{exploration:?}");
        assert!(exploration.coverage.granted > 0 && exploration.coverage.faults > 0, "{exploration:?}");
    }

    fn search(space: &Space<CassandraShadow>) -> Checked {
        check(&NamedSpace::new(AS_WRITTEN, space), &Judgement::Safety)
    }
}

/// The setup of the matrix: two clients, three times each, with a hold that needs a renewal.
mod seeded {
    use super::*;
    use crate::evidence::{USUAL_FAULTS, assert_clean, lock, sweep};
    use crate::seeds::seeds;
    use picklock_model::time::Micros;
    use picklock_properties::PromiseSet;
    use picklock_sim::plans::fault::{FaultKind, FaultSet};

    #[test]
    fn without_faults_neither_lock_breaks_a_promise() {
        for name in [AS_WRITTEN, REPAIRED] {
            for calls in [Calls::Lock, Calls::TryLock] {
                let mut setup = unpack_setup::<CassandraShadow>(&lock(name).setup(None)).unwrap();
                setup.workload.calls = calls;
                let setup = pack_setup(&setup);
                let report = sweep(name, &setup, FaultSet::EMPTY, seeds(200), true);
                assert_clean(name, &setup, FaultSet::EMPTY, &report);
                assert!(report.grants > 0 && report.renewals > 0, "{report:?}");
            }
        }
    }

    #[test]
    fn what_leaves_clocks_alone_and_pauses_nobody_breaks_nothing_of_the_repaired_lock() {
        use FaultKind::{Crash, Delay, Duplicate, Loss, Partition};
        let faults = FaultSet::from_iter([Delay, Loss, Duplicate, Partition, Crash]);
        let setup = lock(REPAIRED).setup(None);
        let report = sweep(REPAIRED, &setup, faults, seeds(500), true);
        assert_clean(REPAIRED, &setup, faults, &report);
        assert!(report.grants > 0 && report.strikes.lost > 0, "{report:?}");
    }

    /// The reason that the matrix gives for its deadlocks: of all repairs this one alone ends them.
    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn a_ttl_on_shadow_cells_ends_every_lasting_deadlock_whatever_usual_fault() {
        stays_clean(Promise::DeadlockFreedom, &USUAL_FAULTS, |lock| {
            lock.shadow_ttl_seconds = lock.ttl_seconds;
        });
    }

    /// The reason that the matrix gives for double grants without pauses or wrong clocks.
    #[test]
    fn a_holder_that_minds_its_own_lease_ends_double_grants_under_all_but_pauses_and_clocks() {
        let faults: Vec<FaultKind> = USUAL_FAULTS
            .into_iter()
            .filter(|fault| !matches!(fault, FaultKind::Pause | FaultKind::Clock))
            .collect();
        stays_clean(Promise::MutualExclusion, &faults, |lock| {
            lock.validity_check = true;
            lock.validity_margin = Micros::seconds(2);
        });
    }

    /// The reason that the matrix gives for leases that are prolonged though they are another's.
    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn a_relock_that_looks_first_prolongs_nobody_elses_lease() {
        stays_clean(Promise::LeaseLoss, &USUAL_FAULTS, |lock| lock.conditional_renewal = true);
    }

    fn stays_clean(promise: Promise, faults: &[FaultKind], repair: impl Fn(&mut Settings)) {
        let promises = PromiseSet::from_iter([promise]);
        let mut setup = unpack_setup::<CassandraShadow>(&lock(AS_WRITTEN).setup(Some(promises))).unwrap();
        repair(&mut setup.lock);
        let setup = pack_setup(&setup);
        for fault in faults {
            let faults = FaultSet::from(*fault);
            let report = sweep(AS_WRITTEN, &setup, faults, seeds(300), true);
            assert_clean(AS_WRITTEN, &setup, faults, &report);
        }
    }
}
