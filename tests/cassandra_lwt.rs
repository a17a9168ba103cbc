//! What else is true of the lock on Cassandra's conditional writes, beside row C29.

mod exhaustive {
    use picklock_model::claims::Assumption;
    use picklock_model::claims::cassandra_lwt::{drop_from_lwt_lock, lwt_lock};
    use picklock_model::explore::{Exploration, Limits, Verdict, search};
    use picklock_model::time::Micros;
    use picklock_model::workload::Calls;
    use picklock_model::world::TICK;
    use picklock_properties::Promise;

    #[test]
    fn a_conditional_write_keeps_mutual_exclusion_whatever_is_lost_and_whoever_crashes() {
        for dropped in [None, Some(Assumption::NoLoss), Some(Assumption::NoCrash)] {
            let exploration = explored(dropped);
            assert_eq!(exploration.verdict, Verdict::Verified, "without {dropped:?}");
            assert!(exploration.coverage.granted > 0 && exploration.coverage.released > 0);
            assert_eq!(exploration.coverage.faults > 0, dropped.is_some(), "without {dropped:?}");
        }
    }

    /// `DELETE … IF owner = me` names the thread and not the acquisition: the second copy of a release comes when the same
    /// thread holds again, finds its owner, and deletes the cell under it.
    #[test]
    fn a_doubled_release_takes_the_same_threads_next_lock_away() {
        let exploration = explored(Some(Assumption::NoDuplicate));
        let Verdict::Violated { violation, .. } = exploration.verdict else {
            panic!("kept: {exploration:?}");
        };
        assert_eq!(violation.promise, Promise::MutualExclusion);
    }

    /// `check` gives this lock work of half its lease, for nothing renews it. Shorter work is alone, too, and a client or a round
    /// more changes nothing; what takes as long as the lease is not.
    #[test]
    fn work_that_fits_into_half_of_its_lease_is_alone_however_short_it_is() {
        let expired = |hold: i64, clients, rounds| {
            let mut space = lwt_lock(clients, 1, Calls::Lock, &[Promise::MutualExclusion]);
            drop_from_lwt_lock(&mut space, Assumption::NoExpiry);
            space.setup.workload.rounds = rounds;
            space.setup.workload.hold = Micros(hold * TICK.0);
            search(&space, &Limits::states(1_000_000))
        };
        for (hold, clients, rounds) in [(0, 2, 2), (1, 2, 2), (2, 2, 2), (2, 3, 1), (2, 2, 3)] {
            let explored = expired(hold, clients, rounds);
            assert_eq!(
                explored.verdict,
                Verdict::Verified,
                "{hold} ticks, {clients} clients, {rounds} rounds"
            );
            assert!(explored.coverage.granted > 0 && explored.coverage.ticks > 0);
        }
        assert!(matches!(expired(4, 2, 2).verdict, Verdict::Violated { .. }));
    }

    /// Two clients on one server, each twice.
    fn explored(dropped: Option<Assumption>) -> Exploration {
        let mut space = lwt_lock(2, 1, Calls::Lock, &[Promise::MutualExclusion]);
        space.setup.workload.rounds = 2;
        if let Some(assumption) = dropped {
            drop_from_lwt_lock(&mut space, assumption);
        }
        search(&space, &Limits::states(1_000_000))
    }
}
