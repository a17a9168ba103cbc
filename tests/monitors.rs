//! What the monitors make of whole runs: which promise tells apart what others do not, and that correct locks are accused of
//! nothing. What they make of single histories is tested in `properties`.

use picklock_model::claims::{Assumption, Judgement, NamedSpace, redis as spaces};
use picklock_model::explore::Space;
use picklock_model::locks::RedisSingle;
use picklock_model::locks::redis_single::Fencing;
use picklock_model::time::Micros;
use picklock_model::workload::{Calls, Writes};
use picklock_model::world::{Aim, TICK};
use picklock_properties::Promise;
use picklock_sim::registry::CheckVerdict;

mod exhaustive {
    use super::*;
    use crate::evidence::check;

    /// Two clients of one Redis server, who call twice; the resource checks tokens, and a holder may pause.
    fn fenced(promise: Promise) -> Space<RedisSingle> {
        let mut space = spaces::redis_single(2, Calls::TryLock, &[promise]);
        spaces::drop_from_redis_single(&mut space, Assumption::NoPause);
        space.bounds.aim = Aim::Holding;
        space.bounds.power_losses = 0;
        space.bounds.drifts = 0;
        space.setup.lock.fencing = Fencing::WithGrant;
        space.setup.workload.rounds = 2;
        space.setup.workload.hold = TICK;
        space.setup.workload.writes = Writes::Resource;
        space.setup.workload.resource_checks = true;
        space
    }

    /// The same without a pause: instead tokens that come late, if they do not come with the grant.
    fn late(promise: Promise, fencing: Fencing) -> Space<RedisSingle> {
        let mut space = fenced(promise);
        space.bounds.pauses = 0;
        space.bounds.latency_ticks = Some(2);
        space.setup.workload.rounds = 1;
        space.setup.lock.ttl = Some(Micros::millis(1999));
        space.setup.lock.validity_margin = None;
        space.setup.lock.fencing = fencing;
        space
    }

    fn verdict(space: &Space<RedisSingle>) -> CheckVerdict {
        let checked = check(&NamedSpace::new("redis-single", space), &Judgement::Safety);
        for promise in space.setup.promises.iter() {
            let is_tested = checked.exploration.coverage.tested.times(promise) > 0;
            assert!(is_tested || checked.verdict != CheckVerdict::Holds, "nothing put {promise} to the test");
        }
        checked.verdict
    }

    #[test]
    fn a_stale_write_of_an_earlier_hold_that_comes_in_order_accuses_nobody() {
        assert_eq!(verdict(&fenced(Promise::FencedResource)), CheckVerdict::Holds);
    }

    #[test]
    fn a_resource_that_checks_nothing_takes_stale_writes_in_the_same_space() {
        let mut space = fenced(Promise::FencedResource);
        space.setup.workload.resource_checks = false;
        assert_eq!(verdict(&space), CheckVerdict::Violated);
    }

    #[test]
    fn tokens_grow_with_the_grants_if_they_come_with_them_and_not_if_they_are_drawn_afterwards() {
        assert_eq!(verdict(&fenced(Promise::TokenOrder)), CheckVerdict::Holds);
        assert_eq!(verdict(&late(Promise::TokenOrder, Fencing::WithGrant)), CheckVerdict::Holds);
        assert_eq!(verdict(&late(Promise::TokenOrder, Fencing::AfterGrant)), CheckVerdict::Violated);
    }

    #[test]
    fn fencing_on_writes_alone_loses_updates_and_tokens_shown_when_reading_do_not() {
        let updating = |reads_with_token| {
            let mut space = fenced(Promise::LostUpdate);
            space.setup.workload.rounds = 1;
            space.setup.workload.writes = Writes::ReadModifyWrite { reads_with_token };
            verdict(&space)
        };
        assert_eq!(updating(false), CheckVerdict::Violated);
        assert_eq!(updating(true), CheckVerdict::Holds);
    }
}

mod progress {
    use super::*;
    use crate::evidence::check;
    use picklock_model::explore::{Draws, Goal};
    use picklock_properties::ClientId;

    #[test]
    fn a_release_ends_though_its_answer_is_lost_unless_the_client_waits_for_ever() {
        let released = |request_timeout: Option<Micros>| {
            let mut space = spaces::redis_single(2, Calls::Lock, &[Promise::ReleaseEnds]);
            space.bounds.losses = 1;
            space.setup.lock.request_timeout = request_timeout;
            let goals = vec![Goal::ReleaseEnds(ClientId(0)), Goal::ReleaseEnds(ClientId(1))];
            let judgement = Judgement::Progress { goals, draws: Draws::Adversary };
            check(&NamedSpace::new("redis-single", &space), &judgement)
        };
        assert_eq!(released(Some(TICK)).verdict, CheckVerdict::Holds);
        let stuck = released(None);
        assert_eq!(stuck.verdict, CheckVerdict::Violated);
        let broken = stuck.counterexample.map(|found| found.promise);
        assert_eq!(broken, Some(Promise::ReleaseEnds));
    }
}

mod seeded {
    use super::*;
    use crate::evidence::{assert_clean, lock, sweep};
    use picklock_properties::PromiseSet;
    use picklock_sim::plans::fault::{FaultKind, FaultSet};

    /// The record of B's dead session comes first in the queue once more, then A's, then B's new one: and between those two
    /// another server takes the lead. What it found done it had not said: B's grant passed for the one before A's. These six runs showed
    /// it when plans were drawn in another way; today they are six of many, and the store's own test of a new leader shows it.
    #[test]
    fn who_comes_back_after_a_crash_is_granted_anew_though_another_leader_made_the_grant() {
        let setup = lock("zookeeper-lock-repaired").setup(Some(watched()));
        let faults: FaultSet = [FaultKind::Crash, FaultKind::PowerLoss].into_iter().collect();
        for seed in [8957, 288771, 311747, 363739, 364937, 497045] {
            let report = sweep("zookeeper-lock-repaired", &setup, faults, seed..seed + 1, true);
            assert_clean("zookeeper-lock-repaired", &setup, faults, &report);
        }
    }

    fn watched() -> PromiseSet {
        [Promise::FencedResource, Promise::TokenOrder].into_iter().collect()
    }
}
