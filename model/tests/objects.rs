//! What the exactly-once article, *Heterogeneous concurrent exactly-once processing of data in real time*, says of objects over
//! compare-and-set, sentence by sentence.

use crate::is_long;
use picklock_model::claims::objects::{accounts, etcd_variable, handler, queue, stream, variable};
use picklock_model::explore::{Draws, Exploration, Goal, Limits, Space, Verdict, check_liveness, search};
use picklock_model::machine::Line;
use picklock_model::objects::accounts::{Intents, Moves};
use picklock_model::objects::cells::EtcdField;
use picklock_model::objects::content::Marks;
use picklock_model::objects::handler::Commit;
use picklock_model::objects::queue::{Order, Raises, Wanted};
use picklock_model::stores::memory::Versions;
use picklock_model::system::System;
use picklock_model::world::Aim;
use picklock_properties::Promise;

fn explored<Y: System>(what: &str, space: &Space<Y>) -> Exploration {
    let explored = search(space, &Limits::states(20_000_000));
    println!("{what}: {} states, {:?}", explored.states, explored.verdict);
    explored
}

fn assert_holds<Y: System>(what: &str, space: &Space<Y>) {
    let explored = explored(what, space);
    assert_eq!(explored.verdict, Verdict::Verified, "{what}");
    let untested = explored.coverage.tested.untested(space.setup.promises);
    assert!(untested.is_empty(), "{what}: nothing put {untested:?} to the test");
}

fn assert_broken<Y: System>(what: &str, space: &Space<Y>) -> usize {
    match explored(what, space).verdict {
        Verdict::Violated { path, .. } => path.len(),
        verdict => panic!("{what}: {verdict:?}"),
    }
}

#[test]
fn a_compare_and_set_that_is_repeated_does_no_harm_to_the_store_and_its_answer_is_wrong() {
    let mut space = variable(2, 2, &[Promise::Linearizable]);
    assert_holds("nothing lost", &space);
    space.bounds.losses = 1;
    assert_broken("one lost", &space);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_mark_of_the_last_writer_is_not_enough_where_others_write_and_one_for_each_client_is() {
    let mut space = variable(2, 2, &[Promise::Linearizable]);
    space.bounds.losses = 1;
    space.setup.lock.object.marks = Marks::Last;
    assert_broken("last writer", &space);
    space.setup.lock.object.marks = Marks::EachClient;
    assert_holds("each client", &space);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn versions_that_start_again_let_an_old_compare_succeed() {
    let mut space = variable(2, 3, &[Promise::Linearizable]);
    space.setup.lock.object.deletes = true;
    space.setup.lock.object.values = 1;
    assert_broken("start again", &space);
    space.setup.store.versions = Versions::GoOn;
    assert_holds("go on", &space);
    for by in [EtcdField::Version, EtcdField::ModRevision] {
        let mut space = etcd_variable(2, 3, by, &[Promise::Linearizable]);
        space.setup.lock.object.deletes = true;
        space.setup.lock.object.values = 1;
        match by {
            EtcdField::Version => drop(assert_broken("etcd's VERSION", &space)),
            EtcdField::ModRevision => assert_holds("etcd's MOD", &space),
        }
    }
}

#[test]
fn money_is_taken_twice_if_an_answer_is_lost_and_not_if_the_account_says_who_took_it() {
    let mut space = accounts(1, 3, &[Promise::Conservation]);
    space.setup.lock.object.moves = Moves::Withdrawals;
    assert_holds("nothing lost", &space);
    space.bounds.losses = 2;
    assert_broken("lost", &space);
    space.setup.lock.object.marks = Marks::Last;
    assert_holds("marks", &space);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn money_is_lost_between_the_halves_of_a_transfer_and_not_if_the_intent_is_written_down() {
    let mut space = accounts(1, 4, &[Promise::Conservation]);
    space.bounds.crashes = 1;
    assert_broken("crash", &space);
    space.setup.lock.object.marks = Marks::Last;
    assert_broken("crash, marks", &space);
    space.setup.lock.object.intents = Intents::Set;
    assert_holds("crash, intents", &space);
    space.bounds.duplicates = 1;
    space.setup.workload.rounds = 5;
    assert_broken("crash and a duplicate, intents that are set", &space);
    space.setup.lock.object.intents = Intents::CompareAndSet;
    assert_holds("crash and a duplicate, intents", &space);
    space.bounds.losses = 1;
    space.bounds.duplicates = 0;
    assert_holds("crash and loss, intents", &space);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_queue_has_no_hole_no_overwrite_and_no_duplicate() {
    let promises = [Promise::NoHole, Promise::NoOverwrite, Promise::NoDuplicate];
    let space = queue(3, 2, &promises);
    assert_holds("two pushers and a reader", &space);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_index_never_falls_where_it_is_compared_before_it_is_raised() {
    let mut space = queue(3, 2, &[Promise::IndexNeverFalls, Promise::Linearizable]);
    space.setup.lock.object.readers_ask = Wanted::Index;
    assert_holds("two pushers, and a reader of the index", &space);
    space.setup.lock.object.raises = Raises::Set;
    assert_broken("set in any case", &space);
}

#[test]
fn an_item_is_pushed_twice_if_an_answer_is_lost() {
    let mut space = queue(2, 2, &[Promise::NoDuplicate]);
    space.bounds.losses = 1;
    assert_broken("lost", &space);
    space.setup.lock.object.marks = Marks::Last;
    assert_holds("marks", &space);
}

#[test]
fn a_stalled_pusher_of_the_naive_queue_blocks_its_readers_for_ever() {
    let mut space = queue(2, 1, &[]);
    space.bounds.crashes = 1;
    space.bounds.crashes_restart = false;
    space.bounds.unhurried = false;
    space.setup.lock.object.order = Order::IndexFirst;
    for order in [Order::IndexFirst, Order::ItemFirst] {
        space.setup.lock.object.order = order;
        let (explored, lassos) =
            check_liveness(&space, &[Goal::DeadlockFreedom], Draws::Adversary, &Limits::states(10_000_000));
        println!("{order:?}: {} states", explored.states);
        assert_eq!(lassos[0].is_some(), order == Order::IndexFirst);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn an_index_that_is_taken_and_never_filled_is_a_hole() {
    let mut space = queue(3, 1, &[Promise::NoHole]);
    space.bounds.crashes = 1;
    space.setup.lock.object.readers_wait = false;
    assert_holds("item first", &space);
    space.setup.lock.object.order = Order::IndexFirst;
    assert_broken("index first", &space);
}

#[test]
fn the_naive_handler_survives_a_crash_before_and_after_its_writes_and_none_between_them() {
    let mut space = handler(1, 2, &[Promise::ExactlyOnce]);
    space.bounds.crashes = 1;
    let points = [("A", 8, true), ("B", 11, false), ("C", 12, false), ("D", 13, false), ("E", 14, true)];
    for (point, line, harmless) in points.into_iter().chain([("while it restores", 2, true)]) {
        space.bounds.aim = Aim::At(Line { listing: 1, number: line });
        match harmless {
            true => assert_holds(point, &space),
            false => drop(assert_broken(point, &space)),
        }
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn two_naive_handlers_overwrite_each_other() {
    let mut space = handler(2, 1, &[Promise::ExactlyOnce]);
    assert_broken("apart", &space);
    space.setup.lock.object.commit = Commit::AtOnce;
    assert_holds("at once", &space);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_handler_that_decides_in_one_compare_and_set_runs_once_though_two_run_and_crash() {
    let mut space = handler(2, 2, &[Promise::ExactlyOnce]);
    space.setup.lock.object.commit = Commit::AtOnce;
    space.bounds.crashes = if is_long() { 2 } else { 1 };
    assert_holds("two handlers, crashes", &space);
    // One that has crashed does not come back: the other one goes on.
    space.setup.workload.rounds = 1;
    space.bounds.crashes = 1;
    space.bounds.losses = 1;
    assert_holds("two handlers, a crash and a loss", &space);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_handler_over_the_queue_runs_once_though_two_run_and_others_push() {
    // One number, which is handled a second time; and one that a message may be lost about.
    let both = is_long().then_some(("a crash and a loss", 1, 1));
    for (what, crashes, losses) in std::iter::once(("a crash", 1, 0)).chain(both) {
        let mut space = stream(3, 1, 2, &[Promise::ExactlyOnce]);
        space.setup.lock.object.queue.marks = Marks::Last;
        (space.bounds.crashes, space.bounds.losses) = (crashes, losses);
        assert_holds(what, &space);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn two_naive_handlers_over_the_queue_overwrite_each_other_and_one_that_crashes_does_it_twice() {
    let mut space = stream(3, 1, 2, &[Promise::ExactlyOnce]);
    space.setup.lock.object.handler.commit = Commit::Apart;
    assert_broken("two", &space);
    let mut space = stream(2, 2, 1, &[Promise::ExactlyOnce]);
    space.setup.lock.object.handler.commit = Commit::Apart;
    assert_eq!(explored("one", &space).verdict, Verdict::Verified);
    space.bounds.crashes = 1;
    assert_broken("one, a crash", &space);
}
