//! The machines of shared objects on a real etcd and a real Redis, under load, with clients killed and the server stopped and killed in
//! the middle; the histories are judged linearizable or not.
//!
//! Needs `apt-get install etcd-server redis-server`; where one is missing, this says so and passes. What clients ask for and when
//! something happens to them is drawn from a seed; what the servers make of it, and so each history, differs from run to run. No
//! violation is arranged: what is said to break has broken by itself, under no other faults than what holds. `PICKLOCK_TELL=1` tells of
//! each kind the first history that no order explains.
//!
//! **Histories** are short and many, each on keys of its own: five clients of at most fifteen rounds of two operations. There are no more
//! marks than that ([`content`](picklock_model::objects::content)). A push of unknown outcome can be at many positions; queues have
//! shorter histories yet, and few such pushes.
//!
//! **Faults.** A client leaves a request unanswered, and says it again or is killed. The server is stopped for longer than clients wait,
//! and then does what was given up. The server is killed, and starts again on its data. Each plan prints how often what happened.
//!
//! Left out: machines that lose power, clusters of more than one member, clocks. Transfers between accounts and handlers of streams:
//! what they promise is not judged by what clients are told alone.
//!
//! - `random`: a generator
//! - `server`: a server's process
//! - `connection`: requests about variables, in each server's words
//! - `load`: clients, faults, histories
//! - here: what clients ask for, and what must hold

mod connection;
mod load;
mod random;
mod server;

use load::{Application, CLIENTS, Fault, Plan, ROUNDS_MAX, Recorded, Tally, run};
use picklock_model::objects::cells::EtcdField;
use picklock_model::objects::content::Marks;
use picklock_model::objects::{Accounts, Queue, Repeats, Turn, Variable, accounts, queue, variable};
use picklock_properties::{NotLinearizable, ObjectAnswer, ObjectCall, ObjectId, check};
use random::Random;
use server::{Kind, Server};

const OBJECT: ObjectId = ObjectId(0);

/// No two clients write the same in any two rounds.
fn fresh(whose: Turn) -> i32 {
    1 + i32::from(whose.round) * i32::from(CLIENTS) + i32::from(whose.client)
}

/// A client reads, and compares with what it has read.
impl Application for Variable {
    fn first(_whose: Turn, _random: &mut Random) -> ObjectCall {
        ObjectCall::Read { variable: OBJECT }
    }

    fn second(
        first: ObjectAnswer,
        whose: Turn,
        settings: &variable::Settings,
        random: &mut Random,
    ) -> ObjectCall {
        let ObjectAnswer::Value { value: expected, .. } = first else { panic!("not of a read: {first}") };
        match settings.deletes && random.one_in(2) {
            true => ObjectCall::Delete { variable: OBJECT },
            false => ObjectCall::CompareAndSet { variable: OBJECT, expected, new: fresh(whose) },
        }
    }
}

/// A client pushes, and reads near where its item is.
impl Application for Queue {
    fn first(whose: Turn, _random: &mut Random) -> ObjectCall {
        ObjectCall::Push { queue: OBJECT, item: fresh(whose) }
    }

    fn second(
        first: ObjectAnswer,
        _whose: Turn,
        _settings: &queue::Settings,
        random: &mut Random,
    ) -> ObjectCall {
        let ObjectAnswer::Pushed { position } = first else { panic!("not of a push: {first}") };
        ObjectCall::ReadAt { queue: OBJECT, position: (position + random.below(6)).saturating_sub(3) }
    }
}

/// A client puts money in or takes it out, and counts it. It is all on one account, so that both are looked at at one moment.
impl Application for Accounts {
    fn first(_whose: Turn, random: &mut Random) -> ObjectCall {
        let (account, amount) = (OBJECT, 1 + random.below(9));
        match random.one_in(2) {
            true => ObjectCall::Add { account, amount },
            false => ObjectCall::Withdraw { account, amount },
        }
    }

    fn second(
        _first: ObjectAnswer,
        _whose: Turn,
        _settings: &accounts::Settings,
        _random: &mut Random,
    ) -> ObjectCall {
        ObjectCall::Audit
    }

    fn judge(operations: &[Recorded]) -> Result<(), NotLinearizable> {
        check::<picklock_properties::Accounts>(operations)
    }
}

/// Many more than any fault lasts.
const REPEATS: Repeats = Repeats::Times(200);

fn plan<O: Application>(
    what: &'static str,
    object: O::Settings,
    fault: Fault,
    histories: u32,
    seed: u64,
) -> Plan<O> {
    Plan {
        what,
        object,
        by: EtcdField::ModRevision,
        repeats: REPEATS,
        fault,
        hurry_one_in: Some(12),
        killed_max: 10,
        rounds: ROUNDS_MAX,
        histories,
        seed,
    }
}

fn variables(marks: Marks, fault: Fault, histories: u32, seed: u64) -> Plan<Variable> {
    let settings = variable::Settings { marks, ..variable::Settings::default() };
    plan("variable", settings, fault, histories, seed)
}

/// Shorter ones, and few clients are killed: with each push of which nobody knows where it went, a history is many times harder to judge.
fn queues(marks: Marks, fault: Fault, histories: u32, seed: u64) -> Plan<Queue> {
    let settings = queue::Settings { marks, ..queue::Settings::default() };
    Plan {
        rounds: 6,
        hurry_one_in: Some(20),
        killed_max: 3,
        ..plan("queue", settings, fault, histories, seed)
    }
}

fn money(marks: Marks, fault: Fault, histories: u32, seed: u64) -> Plan<Accounts> {
    let settings = accounts::Settings { marks, ..accounts::Settings::default() };
    Plan { hurry_one_in: Some(30), ..plan("account", settings, fault, histories, seed) }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_variable_in_etcd_with_a_mark_for_each_client_is_linearizable_whatever_happens() {
    let Some(mut etcd) = Server::start(Kind::Etcd) else { return };
    let tallies = [
        (EtcdField::ModRevision, Fault::Stop, 7, 1),
        (EtcdField::ModRevision, Fault::Kill, 4, 2),
        (EtcdField::Version, Fault::Stop, 4, 3),
    ]
    .map(|(by, fault, histories, seed)| {
        run(&mut etcd, &Plan { by, ..variables(Marks::EachClient, fault, histories, seed) })
    });
    Tally::assert_hold(&tallies);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_variable_in_a_redis_that_keeps_what_it_answers_is_linearizable_whatever_happens() {
    let Some(mut redis) = Server::start(Kind::RedisThatKeeps) else { return };
    let tallies = [(Fault::Stop, 1), (Fault::Kill, 2)]
        .map(|(fault, seed)| run(&mut redis, &variables(Marks::EachClient, fault, 12, seed)));
    Tally::assert_hold(&tallies);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_queue_with_the_pushers_mark_is_linearizable_whatever_happens() {
    for (kind, stops, kills) in [(Kind::Etcd, 5, 3), (Kind::RedisThatKeeps, 12, 12)] {
        let Some(mut server) = Server::start(kind) else { continue };
        let tallies = [(Fault::Stop, stops, 1), (Fault::Kill, kills, 2)]
            .map(|(fault, histories, seed)| run(&mut server, &queues(Marks::Last, fault, histories, seed)));
        Tally::assert_hold(&tallies);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn money_with_a_mark_for_each_client_is_neither_lost_nor_taken_twice_whatever_happens() {
    for (kind, stops, kills) in [(Kind::Etcd, 3, 2), (Kind::RedisThatKeeps, 8, 8)] {
        let Some(mut server) = Server::start(kind) else { continue };
        let tallies = [(Fault::Stop, stops, 1), (Fault::Kill, kills, 2)].map(|(fault, histories, seed)| {
            run(&mut server, &money(Marks::EachClient, fault, histories, seed))
        });
        Tally::assert_hold(&tallies);
    }
}

/// Row X1: what was done, its answer lost, and said again, is told no.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_variable_as_written_is_not_linearizable_where_requests_are_said_again() {
    for kind in [Kind::Etcd, Kind::RedisThatKeeps] {
        let Some(mut server) = Server::start(kind) else { continue };
        let as_written = |seed| Plan { killed_max: 0, ..variables(Marks::None, Fault::Stop, 6, seed) };
        let mut broken = run(&mut server, &as_written(1)).broken();
        // The server's fault alone.
        broken += run(&mut server, &Plan { hurry_one_in: None, ..as_written(2) }).broken();
        // A balance comes again, and in Redis would be no version of itself.
        if kind == Kind::Etcd {
            broken += run(&mut server, &money(Marks::None, Fault::Stop, 4, 3)).broken();
        }
        assert!(broken > 0, "{kind:?}: no answer was lost");
        // The mark of the last writer is gone when another one writes: how often, is a matter of speed.
        let last = run(&mut server, &variables(Marks::Last, Fault::Stop, 6, 4));
        assert!(last.broken() > 0 || kind == Kind::Etcd, "nobody has written in between");
    }
}

/// Row X2.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_queue_as_written_is_not_linearizable_where_requests_are_said_again() {
    for (kind, histories) in [(Kind::Etcd, 6), (Kind::RedisThatKeeps, 10)] {
        let Some(mut server) = Server::start(kind) else { continue };
        let plan = Plan { killed_max: 0, ..queues(Marks::None, Fault::Stop, histories, 1) };
        assert!(run(&mut server, &plan).broken() > 0, "{kind:?}: no answer was lost");
    }
}

/// Rows X4 and X5. Nothing has to happen to anybody: the index is there before the item.
#[test]
fn a_queue_whose_index_is_written_first_is_not_linearizable() {
    let Some(mut redis) = Server::start(Kind::RedisThatKeeps) else { return };
    let mut plan = queues(Marks::Last, Fault::None, 30, 1);
    plan.object.order = queue::Order::IndexFirst;
    // Where a pusher was killed they would wait for ever.
    plan.object.readers_wait = false;
    assert!(run(&mut redis, &plan).broken() > 0, "readers have always found what the index told");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_redis_that_forgets_is_linearizable_until_it_is_killed() {
    let Some(mut redis) = Server::start(Kind::RedisThatForgets) else { return };
    Tally::assert_hold(&[run(&mut redis, &variables(Marks::EachClient, Fault::Stop, 10, 1))]);
    let variables = run(&mut redis, &variables(Marks::EachClient, Fault::Kill, 10, 2));
    let queues = run(&mut redis, &queues(Marks::Last, Fault::Kill, 10, 3));
    assert!(variables.broken() > 0 && queues.broken() > 0, "nothing was forgotten");
}

/// Row X7. No request is said again, so that row X1 is not met: a delete takes marks with it. That an old compare succeeds takes a
/// delete and a new beginning between a client's two requests, which is seldom: how often, is printed.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn versions_that_start_again_let_an_old_compare_succeed_and_revisions_do_not() {
    let Some(mut etcd) = Server::start(Kind::Etcd) else { return };
    for (by, fault, histories, seed) in [
        (EtcdField::ModRevision, Fault::Stop, 4, 1),
        (EtcdField::ModRevision, Fault::None, 12, 2),
        (EtcdField::Version, Fault::None, 12, 3),
    ] {
        let plan = variables(Marks::None, fault, histories, seed);
        let mut plan = Plan { by, repeats: Repeats::Never, hurry_one_in: Some(40), ..plan };
        plan.object.deletes = true;
        let tally = run(&mut etcd, &plan);
        if by == EtcdField::ModRevision {
            assert_eq!(tally.broken(), 0, "{tally:?}");
        }
    }
}
