//! The lock on the store that the Cassandra paper, *The Cassandra queue lock*, wishes for (section 6): what it keeps, and what each of its
//! precautions is for.

use picklock_model::claims::feedback as spaces;
use picklock_model::claims::{Assumption, Judgement, NamedSpace};
use picklock_model::explore::Space;
use picklock_model::locks::FeedbackLock;
use picklock_model::locks::feedback_lock::{Repeats, Settings};
use picklock_model::stores::feedback::Log;
use picklock_model::workload::{Calls, Writes};
use picklock_properties::Promise;

const LOCK: &str = "feedback-lock";

mod exhaustive {
    use super::*;
    use crate::evidence::{check, evidence};
    use picklock_model::explore::Draws;
    use picklock_model::world::TICK;
    use picklock_properties::PromiseSet;
    use picklock_sim::registry::{CheckVerdict, Checked, goals};

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn three_who_call_twice_are_let_in_one_by_one_in_the_order_in_which_the_store_heard_of_them() {
        let mut space = spaces::feedback_lock(3, Calls::Lock, &[Promise::MutualExclusion, Promise::Fifo]);
        space.setup.workload.rounds = 2;
        kept(&space);
    }

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn three_who_try_are_let_in_one_by_one() {
        let mut space = spaces::feedback_lock(3, Calls::TryLock, &[Promise::MutualExclusion]);
        space.setup.workload.rounds = 2;
        kept(&space);
    }

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn everybody_who_waits_gets_the_lock_on_every_fair_schedule() {
        let mut space = spaces::feedback_lock(3, Calls::Lock, &[]);
        space.setup.workload.rounds = 2;
        served(&space);
        // With leases, of which none runs out as long as everybody is prompt.
        served(&spaces::feedback_leases(3, Calls::Lock, &[]));
    }

    #[test]
    fn a_crash_costs_a_lease_and_nobody_else_the_lock() {
        let mut space = spaces::feedback_leases(2, Calls::Lock, &[Promise::MutualExclusion]);
        drop(&mut space, Assumption::NoCrash);
        kept(&space);
        served(&space);
    }

    /// What a lease is for: without, the dead hold for ever.
    #[test]
    fn without_a_lease_a_crash_blocks_everybody() {
        let mut space = spaces::feedback_lock(2, Calls::Lock, &[]);
        drop(&mut space, Assumption::NoCrash);
        let Checked { verdict, counterexample, .. } = check_progress(&space);
        assert_eq!(verdict, CheckVerdict::Violated);
        assert_eq!(counterexample.map(|found| found.promise), Some(Promise::DeadlockFreedom));
    }

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn lost_and_doubled_messages_break_nothing() {
        let promises = [Promise::MutualExclusion, Promise::Fifo, Promise::LeaseLoss];
        for assumption in [Assumption::NoLoss, Assumption::NoDuplicate] {
            let mut space = spaces::feedback_leases(2, Calls::Lock, &promises);
            drop(&mut space, assumption);
            kept(&space);
            served(&space);
        }
    }

    /// What the ticket is for. A call that is made anew because nobody has answered the first time gives its place up.
    #[test]
    fn a_call_that_is_repeated_under_another_ticket_loses_its_place() {
        let repeated = |repeats| {
            let mut space = spaces::feedback_leases(2, Calls::Lock, &[Promise::Fifo]);
            drop(&mut space, Assumption::NoLoss);
            space.setup.lock.repeats = repeats;
            space
        };
        kept(&repeated(Repeats::SameTicket));
        broken(&repeated(Repeats::NewTicket));
    }

    /// What the margin is for: half the lease's two spare ticks is one for a clock that drifts.
    #[test]
    fn a_drift_within_the_margin_breaks_nothing_and_one_beyond_it_does() {
        let drifting = |ticks| {
            let mut space = spaces::feedback_leases(2, Calls::Lock, &[Promise::MutualExclusion]);
            drop(&mut space, Assumption::BoundedDrift);
            space.bounds.drifts = ticks;
            space
        };
        kept(&drifting(1));
        broken(&drifting(3));
    }

    /// What minding the lease is for: without pauses, clocks or lost power, lost messages alone let two in.
    #[test]
    fn a_client_that_does_not_look_at_its_lease_holds_beside_another_when_messages_are_lost() {
        let losing = |minds_lease| {
            let mut space = spaces::feedback_leases(2, Calls::Lock, &[Promise::MutualExclusion]);
            drop(&mut space, Assumption::NoLoss);
            // Every sign of life of a whole lease.
            space.bounds.losses = 5;
            space.setup.workload.hold = picklock_model::time::Micros(8 * TICK.0);
            space.setup.lock = Settings { minds_lease, ..space.setup.lock };
            space
        };
        kept(&losing(true));
        broken(&losing(false));
    }

    /// "push may be late": where a client pauses and messages take their time, only the lease says whether a grant still
    /// counts. A pause before the grant breaks nothing, one of the holder does: hence the token.
    #[test]
    fn a_pause_before_the_grant_breaks_nothing_and_a_pause_of_the_holder_only_what_is_not_fenced() {
        use picklock_model::world::Aim;
        let paused = |aim, promise, minds_lease| {
            let mut space = spaces::feedback_leases(2, Calls::Lock, &[promise]);
            drop(&mut space, Assumption::NoPause);
            space.bounds.aim = aim;
            space.setup.lock.minds_lease = minds_lease;
            space.setup.workload.hold = TICK;
            space.setup.workload.writes = Writes::resource_if(promise == Promise::FencedResource);
            space.setup.workload.resource_checks = promise == Promise::FencedResource;
            space
        };
        kept(&paused(Aim::Asking, Promise::MutualExclusion, true));
        broken(&paused(Aim::Asking, Promise::MutualExclusion, false));
        broken(&paused(Aim::Holding, Promise::MutualExclusion, true));
        kept(&paused(Aim::Holding, Promise::FencedResource, true));
    }

    /// What writing before answering is for.
    #[test]
    fn a_store_that_forgets_lets_a_second_one_in_and_one_that_syncs_does_not() {
        let losing_power = |log| {
            let mut space = spaces::feedback_leases(2, Calls::Lock, &[Promise::MutualExclusion]);
            drop(&mut space, Assumption::Durable);
            space.setup.store.log = log;
            space.bounds.power_losses = 2;
            space
        };
        kept(&losing_power(Log::Synced));
        broken(&losing_power(Log::Unsynced));
    }

    /// No wall clock has a part in it.
    #[test]
    fn wall_clocks_may_show_what_they_like() {
        for assumption in [Assumption::NoClockStep, Assumption::NoServerClockStep, Assumption::ClocksAgree] {
            let mut space =
                spaces::feedback_leases(2, Calls::Lock, &[Promise::MutualExclusion, Promise::Fifo]);
            drop(&mut space, assumption);
            kept_whatever(&space);
        }
    }

    /// What a single server hides: while it is down for good, nobody gets the lock.
    #[test]
    fn with_its_one_server_down_nobody_gets_the_lock() {
        let mut space = spaces::feedback_leases(2, Calls::Lock, &[]);
        drop(&mut space, Assumption::MajorityUp);
        assert_eq!(check_progress(&space).verdict, CheckVerdict::Violated);
    }

    fn drop(space: &mut Space<FeedbackLock>, assumption: Assumption) {
        spaces::drop_from_feedback_lock(space, assumption);
    }

    fn check_progress(space: &Space<FeedbackLock>) -> Checked {
        let clients = space.setup.workload.clients;
        let goals = goals(clients, 1, false, PromiseSet::liveness());
        let goals = goals
            .into_iter()
            .filter(|goal| matches!(goal.promise(), Promise::DeadlockFreedom | Promise::StarvationFreedom))
            .collect();
        check(&NamedSpace::new(LOCK, space), &Judgement::Progress { goals, draws: Draws::Adversary })
    }

    fn served(space: &Space<FeedbackLock>) {
        let Checked { verdict, exploration, counterexample, .. } = check_progress(space);
        if let Some(found) = counterexample {
            panic!("{:?}\n{}", space.setup.lock, evidence(found.promise, &found.token));
        }
        assert_eq!(verdict, CheckVerdict::Holds, "{exploration:?}");
        assert!(exploration.coverage.granted > 0, "{exploration:?}");
    }

    fn kept(space: &Space<FeedbackLock>) {
        let is_faulty = kept_whatever(space);
        let bounds = &space.bounds;
        let asked = bounds.losses > 0 || bounds.pauses > 0 || bounds.crashes > 0 || bounds.power_losses > 0;
        assert!(is_faulty || !asked, "no fault ever struck");
    }

    /// Whether anything struck.
    fn kept_whatever(space: &Space<FeedbackLock>) -> bool {
        let Checked { verdict, exploration, counterexample, .. } = search(space);
        if let Some(found) = counterexample {
            panic!("{:?}\n{}", space.setup.lock, evidence(found.promise, &found.token));
        }
        assert_eq!(verdict, CheckVerdict::Holds, "{exploration:?}");
        assert!(exploration.coverage.granted > 0, "{exploration:?}");
        exploration.coverage.faults > 0
    }

    fn broken(space: &Space<FeedbackLock>) {
        let Checked { verdict, exploration, .. } = search(space);
        assert_eq!(verdict, CheckVerdict::Violated, "{:?}: {exploration:?}", space.setup.lock);
    }

    fn search(space: &Space<FeedbackLock>) -> Checked {
        check(&NamedSpace::new(LOCK, space), &Judgement::Safety)
    }
}

mod seeded {
    use super::*;
    use crate::evidence::{assert_clean, first_seed, lock, replay, sweep};
    use crate::seeds::seeds;
    use picklock_model::claims::{pack_setup, unpack_setup};
    use picklock_model::time::Micros;
    use picklock_properties::PromiseSet;
    use picklock_sim::hosted::turmoil::{self, Hosting};
    use picklock_sim::plans::fault::{FaultKind, FaultSet};
    use picklock_sim::plans::plan::{Fault, Plan, Planned, Target, Trigger, When};
    use picklock_sim::report::TextOptions;
    use picklock_sim::seeded::outcome::Limits;
    use picklock_sim::sweep::PlannedRun;

    #[test]
    fn without_faults_every_promise_is_kept_and_everybody_is_served() {
        let varied = lock(LOCK).setup(Some(every_promise()));
        let report = sweep(LOCK, &varied, FaultSet::EMPTY, seeds(300), true);
        assert_clean(LOCK, &varied, FaultSet::EMPTY, &report);

        let mut setup = unpack_setup::<FeedbackLock>(&varied).unwrap();
        setup.workload.varies = false;
        let setup = pack_setup(&setup);
        let report = sweep(LOCK, &setup, FaultSet::EMPTY, seeds(300), true);
        assert_clean(LOCK, &setup, FaultSet::EMPTY, &report);
        assert_eq!(report.grants, 9 * report.runs);
        assert!(report.enqueued > 0 && report.renewals > report.grants, "{report:?}");
    }

    #[test]
    fn all_but_pauses_and_partitions_break_nothing_not_even_the_order() {
        use FaultKind::{Clock, Crash, Delay, Duplicate, Loss, PowerLoss};
        for kind in [Clock, Delay, Loss, Duplicate, Crash, PowerLoss] {
            let setup = lock(LOCK).setup(Some(every_promise()));
            let faults = FaultSet::from(kind);
            let report = sweep(LOCK, &setup, faults, seeds(300), true);
            assert_clean(LOCK, &setup, faults, &report);
            assert!(report.strikes.named().iter().any(|(_, times)| *times > 0), "{report:?}");
        }
    }

    /// No step of its own says that it has a place, so a fault that is aimed at that waits for what the store says.
    #[test]
    fn who_has_a_place_is_struck_when_the_store_says_so_in_virtual_time_and_over_tcp() {
        let when = When::Trigger { client: None, event: Trigger::Enqueued, nth: 2, delay: Micros::ZERO };
        let fault = Fault::Pause { node: Target::Struck, length: Micros::millis(300) };
        let faults = vec![Planned { when, fault }];
        let plan = Plan { faults, heal_at: Micros::seconds(3600), ..Plan::default() };
        let packed = lock(LOCK).setup(None);

        let token = lock(LOCK).token(&packed, &PlannedRun { plan: plan.clone(), seed: 1 }, None).unwrap();
        let steps = replay(&token, &TextOptions::default()).events;
        let enqueued = |step: &usize| steps[*step].reported.iter().any(|words| words.starts_with("enqueued"));
        let second = (0..steps.len()).filter(enqueued).nth(1).expect("two have a place");
        let paused = steps.iter().find(|step| step.what == "paused").expect("one is paused");
        let who = paused.node.as_deref().expect("a node is paused");
        assert_eq!(paused.at_us, steps[second].at_us);
        assert!(steps[second].reported.contains(&format!("enqueued {who}")), "{:?}", steps[second].reported);

        let setup = unpack_setup::<FeedbackLock>(&packed).unwrap();
        let hosted = turmoil::run(&setup, &plan, 1, &Limits::of(&setup), &Hosting::default());
        let strikes = hosted.unwrap_or_else(|error| panic!("{error}")).outcome.strikes;
        assert_eq!((strikes.triggers, strikes.pauses), (1, 1));
    }

    #[test]
    fn a_pause_breaks_mutual_exclusion_and_never_the_fenced_resource() {
        let pause = FaultSet::from(FaultKind::Pause);
        let setup = lock(LOCK).setup(Some([Promise::MutualExclusion].into_iter().collect()));
        assert!(first_seed(LOCK, &setup, pause, seeds(300), Promise::MutualExclusion).0.is_some());
        let setup =
            lock(LOCK).setup(Some([Promise::FencedResource, Promise::LeaseLoss].into_iter().collect()));
        let report = sweep(LOCK, &setup, pause, seeds(600), true);
        assert_clean(LOCK, &setup, pause, &report);
        assert!(report.strikes.pauses > 0 && report.grants > 0, "{report:?}");
    }

    /// The same search that finds nothing in the careful one.
    #[test]
    fn a_store_that_forgets_breaks_mutual_exclusion_when_power_is_lost() {
        let promise = Promise::MutualExclusion;
        let mut setup =
            unpack_setup::<FeedbackLock>(&lock(LOCK).setup(Some([promise].into_iter().collect()))).unwrap();
        setup.store.log = Log::Unsynced;
        let found =
            first_seed(LOCK, &pack_setup(&setup), FaultSet::from(FaultKind::PowerLoss), seeds(300), promise);
        assert!(found.0.is_some(), "{found:?}");
    }

    #[test]
    fn a_client_that_does_not_look_at_its_lease_breaks_mutual_exclusion_when_it_is_cut_off() {
        let promise = Promise::MutualExclusion;
        let mut setup =
            unpack_setup::<FeedbackLock>(&lock(LOCK).setup(Some([promise].into_iter().collect()))).unwrap();
        let cut = FaultSet::from(FaultKind::Partition);
        let careful = sweep(LOCK, &pack_setup(&setup), cut, seeds(300), true);
        assert_clean(LOCK, &pack_setup(&setup), cut, &careful);
        setup.lock.minds_lease = false;
        let found = first_seed(LOCK, &pack_setup(&setup), cut, seeds(300), promise);
        assert!(found.0.is_some(), "{found:?}");
    }

    fn every_promise() -> PromiseSet {
        use Promise::*;
        let safety = [MutualExclusion, FencedResource, Fifo, LeaseLoss];
        safety.into_iter().chain(PromiseSet::liveness().iter()).collect()
    }
}
