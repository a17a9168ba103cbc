//! Leases and times of the Cassandra queue lock (the Cassandra paper, *The Cassandra queue lock*, sections 5.3, 5.4 and 6): how long a TTL
//! must be, what the time service guarantees, and what a lease service instead of the TTL saves and does not save.

use crate::evidence::{check, evidence};
use picklock_model::claims::cassandra_served::{kept, published_past_the_last, timed};
use picklock_model::claims::lease_lengths::{AUTHORS_TTL_SECONDS, Answer, Holder, Question};
use picklock_model::claims::{Judgement, NamedSpace};
use picklock_model::explore::{Limits, Space};
use picklock_model::locks::CassandraServed;
use picklock_model::locks::cassandra_queue::Timestamps;
use picklock_model::locks::cassandra_served::{Advance, CellStamps, Settings, TimeService};
use picklock_model::time::Micros;
use picklock_model::workload::Calls;
use picklock_model::world::{Aim, TICK};
use picklock_properties::Promise;
use picklock_sim::registry::{CheckVerdict, Checked};

mod ttl {
    use super::*;

    const STATES_MAX: u64 = 1_000_000;

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn the_smallest_safe_ttl_is_twice_what_may_make_a_renewal_late() {
        is_as_the_formula(Holder::AsWritten);
    }

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn the_smallest_safe_ttl_of_a_holder_that_minds_its_lease_is_just_above_its_margin() {
        is_as_the_formula(Holder::MindsItsLease);
    }

    fn is_as_the_formula(holder: Holder) {
        for (skew_seconds, pause_seconds) in [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1)] {
            let question = Question { skew_seconds, pause_seconds, latency_seconds: 0, holder };
            let expected = question.formula();
            let found = question.smallest_safe_ttl(expected + 1, &Limits::states(STATES_MAX));
            assert_eq!(found.answer, Answer::Seconds(expected), "{question:?}: {found:?}");
            // As written there is a shortest run that breaks it one second below.
            assert_eq!(found.counterexample_steps.is_some(), holder == Holder::AsWritten, "{found:?}");
        }
    }

    #[test]
    fn the_authors_quarter_of_an_hour_bears_half_of_it() {
        let borne = Question::borne_seconds(AUTHORS_TTL_SECONDS, 0);
        assert_eq!(borne, 449);
        let question = |skew_seconds| Question {
            skew_seconds,
            pause_seconds: 0,
            latency_seconds: 0,
            holder: Holder::AsWritten,
        };
        // The formula, solved for the skew, is the formula.
        for skew_seconds in 0..=9 {
            let ttl = question(skew_seconds).formula();
            assert_eq!(Question::borne_seconds(ttl, 0), u32::from(skew_seconds));
            assert!(Question::borne_seconds(ttl - 1, 0) < u32::from(skew_seconds).max(1));
        }
    }

    #[test]
    fn a_search_that_is_cut_short_is_no_number() {
        let question =
            Question { skew_seconds: 0, pause_seconds: 1, latency_seconds: 0, holder: Holder::AsWritten };
        let found = question.smallest_safe_ttl(9, &Limits::states(5000));
        assert!(matches!(found.answer, Answer::IncompleteAt(ttl) if ttl <= question.formula()), "{found:?}");
        let found = question.smallest_safe_ttl(3, &Limits::states(STATES_MAX));
        assert_eq!(found.answer, Answer::NoneUpTo(3));
    }
}

/// "Гарантированно будет отдавать неубывающее значение времени" (section 5.4).
mod time {
    use super::*;

    #[test]
    fn one_replica_alone_never_goes_back() {
        kept_promise(&order(1, |time| time));
    }

    #[test]
    fn two_replicas_go_back_unless_the_cells_timestamp_is_its_value() {
        // Row C22c has the rest.
        broken(&order(2, |time| TimeService { advance: Advance::PastLast, ..time }), Promise::TimeOrder);
        kept_promise(&order(2, |time| TimeService {
            advance: Advance::PastLast,
            stamps: CellStamps::Value,
            ..time
        }));
    }

    /// One thread that asks twice: if it is never given less, nobody is.
    fn order(replicas: u8, time: fn(TimeService) -> TimeService) -> Space<CassandraServed> {
        let mut space = timed(1, replicas, &[Promise::TimeOrder]);
        space.setup.workload.rounds = 2;
        space.setup.lock.queue.remembers_time = true;
        space.setup.lock.time = time(space.setup.lock.time);
        space
    }

    /// Why row C22a is not judged by the order of the queue.
    #[test]
    fn a_healthy_service_does_not_make_the_queue_first_in_first_out() {
        for repair in [|settings: Settings| settings, published_past_the_last] {
            let mut space = timed(2, 1, &[Promise::Fifo]);
            space.setup.lock = repair(space.setup.lock);
            broken(&space, Promise::Fifo);
        }
    }

    /// Row C22b with the authors' mixture of clocks, and with the other repair.
    #[test]
    fn additions_by_the_service_and_deletions_by_the_client_hide_records_and_the_own_id_check_notices() {
        let stamped = |own_id_check| {
            let mut space = timed(2, 1, &[Promise::MutualExclusion]);
            space.bounds.latency_ticks = Some(0);
            space.bounds.unhurried = true;
            space.setup.lock.time.period = Micros(10 * TICK.0);
            space.setup.lock.queue.timestamps = Timestamps::ServiceAdds;
            space.setup.lock.queue.own_id_check = own_id_check;
            space
        };
        broken(&stamped(false), Promise::MutualExclusion);
        kept_promise(&stamped(true));
    }
}

/// The lease service of section 6 beside the TTL.
mod service {
    use super::*;

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn a_paused_holder_outlives_a_lease_that_a_keeper_ends_as_it_outlives_a_ttl() {
        let mut space = kept(2, 1, &[Promise::MutualExclusion]);
        space.bounds.colocated = true;
        space.bounds.pauses = 1;
        space.bounds.pause_ticks = 5;
        space.bounds.aim = Aim::Holding;
        broken(&space, Promise::MutualExclusion);
    }

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn a_keeper_ends_no_lease_that_is_renewed() {
        let mut space = kept(2, 1, &[Promise::MutualExclusion]);
        space.bounds.colocated = true;
        kept_promise(&space);
    }

    /// A TTL of two seconds does not survive this (row C15): the keeper measures with its own clock alone.
    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn a_keeper_needs_no_common_clock() {
        let mut space = kept(2, 1, &[Promise::MutualExclusion]);
        space.setup.servers = 2;
        space.setup.lock.queue.ttl_seconds = Some(2);
        space.setup.workload.calls = Calls::TryLock;
        space.setup.workload.releases = false;
        space.bounds.colocated = true;
        space.bounds.last_server_ahead_ticks = 3;
        space.bounds.last_client_ahead_ticks = -9;
        kept_promise(&space);
    }
}

fn broken(space: &Space<CassandraServed>, promise: Promise) {
    let Checked { verdict, exploration, counterexample, .. } = search(space);
    assert_eq!(verdict, CheckVerdict::Violated, "{:?}: {exploration:?}", space.setup.lock);
    assert_eq!(counterexample.map(|found| found.promise), Some(promise));
}

fn kept_promise(space: &Space<CassandraServed>) {
    let Checked { verdict, exploration, counterexample, .. } = search(space);
    if let Some(found) = counterexample {
        panic!("{:?}\n{}", space.setup.lock, evidence(found.promise, &found.token));
    }
    assert_eq!(verdict, CheckVerdict::Holds, "{exploration:?}");
    assert!(exploration.coverage.granted > 0, "{exploration:?}");
}

fn search(space: &Space<CassandraServed>) -> Checked {
    check(&NamedSpace::new("cassandra-timed", space), &Judgement::Safety)
}
