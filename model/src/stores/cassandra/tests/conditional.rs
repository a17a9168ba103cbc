//! Conditional writes: what rounds of Paxos promise, one coordinator or several.

use super::cluster::Cluster;
use super::*;
use proptest::prelude::*;

fn insert(thread: ThreadId) -> Operation {
    let change = Change::Put { value: Value::Number(thread.0.into()), ttl_seconds: None };
    Operation::Conditional { row: MAIN, change, condition: Condition::Absent }
}

fn delete_own(thread: ThreadId) -> Operation {
    let condition = Condition::Equals(Value::Number(thread.0.into()));
    Operation::Conditional { row: MAIN, change: Change::Delete, condition }
}

fn taken_by(thread: ThreadId) -> Outcome {
    Outcome::Slice([(SHARED, Value::Number(thread.0.into()))].into_iter().collect())
}

/// Asks `server`, with everything delivered.
fn ask(cluster: &mut Cluster, server: u8, operation: Operation) -> Outcome {
    let serial = cluster.request(server, 0, operation);
    cluster.deliver_all();
    cluster.outcome(serial).expect("answered").clone()
}

#[test]
fn the_first_insert_is_applied_and_the_second_is_shown_its_value_until_the_owner_deletes_it() {
    for servers in [1, 3] {
        let mut cluster = Cluster::new(servers, Settings::default());
        let last = servers - 1;
        assert_eq!(ask(&mut cluster, 0, insert(A)), Outcome::Applied);
        assert_eq!(ask(&mut cluster, last, insert(B)), taken_by(A));
        assert_eq!(ask(&mut cluster, last, delete_own(B)), taken_by(A));
        assert_eq!(ask(&mut cluster, last, delete_own(A)), Outcome::Applied);
        assert_eq!(ask(&mut cluster, 0, insert(B)), Outcome::Applied);
    }
}

#[test]
fn an_accepted_proposal_of_a_dead_coordinator_is_finished_by_the_next() {
    let mut cluster = Cluster::new(3, Settings::default());
    let lost = cluster.request(0, 0, insert(A));
    // Until server 2 has accepted; nobody else hears of it, and the coordinator dies.
    while !cluster.in_flight.iter().any(|flight| says(flight, |said| *said == Said::Accept)) {
        let next = cluster.in_flight.iter().position(|flight| flight.from == 1 || flight.to == 1);
        cluster.deliver(next.expect("the round goes on"));
    }
    cluster.in_flight.clear();
    cluster.restart(0, false);
    assert_eq!(cluster.outcome(lost), None);
    let serial = cluster.request(1, 0, insert(B));
    cluster.deliver_among(&[1, 2]);
    assert_eq!(cluster.outcome(serial), Some(&taken_by(A)));
}

/// An insert of A's that times out: its coordinator, the first server, has accepted it, and nobody else has heard of it; or not even
/// that, for the promise that it waited for was lost.
fn timed_out(cluster: &mut Cluster, is_accepted: bool) {
    let lost = cluster.request(0, 0, insert(A));
    let prepare = cluster.in_flight.iter().position(|flight| flight.to == 1).expect("prepares");
    cluster.deliver(prepare);
    if is_accepted {
        let promise = cluster.in_flight.iter().position(|flight| flight.from == 1).expect("promises");
        cluster.deliver(promise);
        // The read of the round.
        let read = cluster.in_flight.iter().rposition(|flight| flight.to == 1).expect("reads");
        cluster.deliver(read);
        let cells = cluster.in_flight.iter().rposition(|flight| flight.from == 1).expect("cells");
        cluster.deliver(cells);
    }
    cluster.in_flight.clear();
    cluster.pass(Micros::seconds(2));
    cluster.run_deadlines();
    assert_eq!(cluster.outcome(lost), Some(&Outcome::TimedOut));
}

/// CASSANDRA-12126: whoever is told that its write is not there is told so for good, unless that was the rejection of old.
#[test]
fn what_few_have_accepted_is_not_finished_after_a_write_was_rejected_without_it() {
    for (rejections, next) in [(Rejections::Proposed, Outcome::Applied), (Rejections::Answered, taken_by(A))]
    {
        let mut cluster = Cluster::new(3, Settings { rejections, ..Settings::default() });
        timed_out(&mut cluster, true);
        let taken_back = cluster.request(1, 0, delete_own(A));
        cluster.deliver_among(&[1, 2]);
        let nothing = Outcome::Slice(Found::default());
        assert_eq!(cluster.outcome(taken_back), Some(&nothing), "{rejections:?}: the others know of none");
        cluster.in_flight.clear();
        assert_eq!(ask(&mut cluster, 0, insert(B)), next, "{rejections:?}");
    }
}

#[test]
fn a_time_out_may_turn_out_applied_or_not() {
    for is_accepted in [false, true] {
        let mut cluster = Cluster::new(3, Settings::default());
        timed_out(&mut cluster, is_accepted);
        let expected = if is_accepted { taken_by(A) } else { Outcome::Applied };
        assert_eq!(ask(&mut cluster, 0, insert(B)), expected);
    }
}

#[test]
fn a_coordinator_whose_clock_is_behind_draws_a_ballot_above_the_one_that_refuses_it() {
    let mut cluster = Cluster::new(3, Settings::default());
    cluster.ahead[0] = Micros::seconds(10);
    assert_eq!(ask(&mut cluster, 0, insert(A)), Outcome::Applied);
    assert_eq!(ask(&mut cluster, 1, delete_own(A)), Outcome::Applied);
    assert_eq!(ask(&mut cluster, 2, insert(B)), Outcome::Applied);
}

fn says(flight: &super::cluster::Flight, what: impl Fn(&Said) -> bool) -> bool {
    matches!(&flight.message, Message::Peer(Peer::Paxos(paxos)) if what(&paxos.said))
}

/// In each step a message is delivered, lost, or doubled.
fn any_path() -> impl Strategy<Value = Vec<(usize, u8)>> {
    prop::collection::vec((any::<usize>(), 0..12u8), 0..80)
}

proptest! {
    #[test]
    fn of_three_racing_inserts_at_most_one_is_applied_and_all_later_ones_see_one_owner(path in any_path()) {
        let mut cluster = Cluster::new(3, Settings::default());
        let threads = [ThreadId(0), ThreadId(1), ThreadId(2)];
        let serials: Vec<u32> =
            threads.iter().map(|thread| cluster.request(thread.0 as u8, 0, insert(*thread))).collect();
        for (position, fate) in path {
            if cluster.in_flight.is_empty() {
                break;
            }
            let position = position % cluster.in_flight.len();
            match fate {
                0 => { cluster.in_flight.remove(position); }
                1 => {
                    let flight = cluster.in_flight[position].clone();
                    cluster.in_flight.push(flight);
                }
                _ => cluster.deliver(position),
            }
        }
        cluster.deliver_all();
        let applied: Vec<ThreadId> = serials
            .iter()
            .zip(threads)
            .filter(|(serial, _)| cluster.outcome(**serial) == Some(&Outcome::Applied))
            .map(|(_, thread)| thread)
            .collect();
        prop_assert!(applied.len() <= 1, "two were told that they have it: {applied:?}");
        let first = ask(&mut cluster, 0, insert(ThreadId(3)));
        let owner = match (&first, applied.first()) {
            (first, Some(owner)) => {
                prop_assert_eq!(first, &taken_by(*owner));
                taken_by(*owner)
            }
            (Outcome::Applied, None) => taken_by(ThreadId(3)),
            (found, None) => found.clone(),
        };
        for server in 1..3 {
            prop_assert_eq!(&ask(&mut cluster, server, insert(ThreadId(4))), &owner);
        }
    }
}
