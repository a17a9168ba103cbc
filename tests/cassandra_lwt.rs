//! What else is true of the lock on Cassandra's conditional writes, beside row C29.

mod exhaustive {
    use picklock_model::claims::Assumption;
    use picklock_model::claims::cassandra_lwt::{drop_from_lwt_lock, lwt_lock};
    use picklock_model::explore::{Exploration, Limits, Verdict, search};
    use picklock_model::workload::Calls;
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
