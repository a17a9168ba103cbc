//! Several locks in one store (the Cassandra paper, *The Cassandra queue lock*, Listing 1: every call names its `lockId`): each is a lock
//! of its own, and none is in the way of another.

use picklock_model::claims::unpack_setup;
use picklock_model::cluster::Setup;
use picklock_model::locks::{
    CassandraQueue, CassandraShadow, ChubbyLock, FeedbackLock, RedisSingle, Redlock, ZookeeperLock,
};
use picklock_model::machine::Lock;
use picklock_model::trace::{Observer, Step};
use picklock_model::workload::Workload;
use picklock_properties::{LockId, Promise};
use picklock_sim::plans::plan::Plan;
use picklock_sim::registry::locks;
use picklock_sim::seeded::outcome::Limits;
use picklock_sim::seeded::run::run;

mod seeded {
    use super::*;

    #[test]
    fn two_locks_in_one_store_are_held_at_once_and_each_by_one_client() {
        crowded::<CassandraQueue>("cassandra-queue-repaired");
        crowded::<CassandraShadow>("cassandra-shadow-repaired");
        crowded::<RedisSingle>("redis-single-fenced");
        crowded::<Redlock>("redlock");
        crowded::<ZookeeperLock>("zookeeper-lock");
        crowded::<FeedbackLock>("feedback-lock");
        crowded::<ChubbyLock>("chubby-lock");
        crowded::<ChubbyLock>("consul-lock");
    }

    /// Four clients take two locks in turn, with nothing going wrong.
    fn crowded<L: Lock>(name: &str) {
        let setup: Setup<L> =
            unpack_setup(&registered(name)).expect("a registered lock has a setup of its own");
        let promises = [Promise::MutualExclusion, Promise::FencedResource].into_iter();
        let promises = promises.chain([Promise::DeadlockFreedom, Promise::StarvationFreedom]).collect();
        let workload = Workload { clients: 4, locks: 2, ..setup.workload };
        let setup = Setup { workload, promises, ..setup };
        let mut held = Held::default();
        for seed in 0..20 {
            let outcome = run(&setup, &Plan::default(), seed, &Limits::of(&setup), &mut held);
            assert_eq!(outcome.violations, [], "{name}, seed {seed}");
            assert!(!outcome.truncated, "{name}, seed {seed}");
        }
        assert!(held.both > 0, "{name}: the two were never held at once");
        let rounds = usize::from(setup.workload.clients * setup.workload.rounds) * 20;
        assert_eq!(
            held.grants,
            [rounds / 2, rounds / 2],
            "{name}: every client takes the one, then the other"
        );
    }

    /// How often both locks were held, and how often each was granted.
    #[derive(Default)]
    struct Held {
        both: usize,
        grants: [usize; 2],
        before: [bool; 2],
    }

    impl<L: Lock> Observer<L> for Held {
        fn observe(&mut self, step: &Step<L>) {
            let now = [LockId(0), LockId(1)].map(|lock| {
                let holding = step.cluster.monitors[usize::from(lock.0)].usage().holding;
                !holding.is_empty()
            });
            for ((grants, before), now) in self.grants.iter_mut().zip(self.before).zip(now) {
                *grants += usize::from(now && !before);
            }
            self.both += usize::from(now == [true, true]);
            self.before = now;
        }
    }
}

mod exhaustive {
    use super::*;
    use picklock_model::claims::cassandra::queue_lock;
    use picklock_model::explore::{Draws, Goal, Limits, Space, Verdict, check_liveness, search};
    use picklock_model::workload::Calls;

    #[test]
    fn two_clients_with_two_locks_keep_mutual_exclusion_on_every_schedule() {
        let exploration = search(&two_locks(), &Limits::states(1_000_000));
        assert_eq!(exploration.verdict, Verdict::Verified);
        assert!(exploration.coverage.granted > 0);
    }

    #[test]
    fn each_of_two_locks_is_granted_in_the_end() {
        let goals = [Goal::DeadlockFreedom, Goal::DeadlockFreedomOf(LockId(1))];
        let (exploration, lassos) =
            check_liveness(&two_locks(), &goals, Draws::Adversary, &Limits::states(1_000_000));
        assert_eq!((exploration.verdict, lassos), (Verdict::Verified, vec![None, None]));
    }

    /// Each client asks for one lock after the other, and each begins with another one.
    fn two_locks() -> Space<CassandraQueue> {
        let mut space = queue_lock(2, 1, Calls::Lock, &[Promise::MutualExclusion]);
        space.setup.workload.rounds = 2;
        space.setup.workload.locks = 2;
        space
    }
}

fn registered(name: &str) -> Vec<u8> {
    let locks = locks();
    let lock = locks.iter().find(|lock| lock.name() == name);
    lock.expect("the lock is registered").setup(None)
}
