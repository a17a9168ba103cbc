//! The rows of the exactly-once article, *Heterogeneous concurrent exactly-once processing of data in real time*: what breaks objects over
//! compare-and-set, and what does not.

use super::{Hunt, Scenario, Search};
use crate::claims::objects::{accounts, etcd_variable, handler, in_time, queue};
use crate::claims::{Judgement, NamedSpace, pack_setup};
use crate::cluster::Setup;
use crate::explore::{Draws, Goal, Space};
use crate::objects::accounts::{Intents, Moves};
use crate::objects::cells::EtcdField;
use crate::objects::client::Settings;
use crate::objects::content::Marks;
use crate::objects::handler::Commit;
use crate::objects::queue::Order;
use crate::system::System;
use crate::time::Micros;
use crate::workload::Workload;
use picklock_properties::Promise;

/// The rows, in the order of the catalogue.
pub(super) fn scenarios() -> Vec<Scenario> {
    vec![x1(), x2(), x3(), x4(), x5(), x6(), x7(), x8()]
}

fn x1() -> Scenario {
    let space = |marks| {
        let mut space = accounts(1, 3, &[Promise::Conservation]);
        space.bounds.losses = 1;
        (space.setup.lock.object.moves, space.setup.lock.object.marks) = (Moves::Withdrawals, marks);
        space
    };
    Scenario {
        id: "X1",
        story: "a withdrawal is done and its answer is lost; repeated, it is told no, reads the balance again, and takes the money \
                a second time",
        breaks: Promise::Conservation,
        search: safety("transfer", space(Marks::None)),
        fix: "the operation's mark in the account, looked for before it is tried again",
        fix_search: safety("transfer", space(Marks::Last)),
        note: "\"such an operation can be repeated without harm\" is true of the store and false of the answer. The mark of the last \
               writer alone is enough while nobody else writes in between; where others do, each client needs a mark of its own",
        hunt: Some(hunt("transfer", &["loss"], space(Marks::None), "transfer", space(Marks::Last))),
        ..OBJECTS
    }
}

fn x2() -> Scenario {
    let space = |marks| {
        let mut space = queue(2, 2, &[Promise::NoDuplicate]);
        space.bounds.losses = 1;
        space.setup.lock.object.marks = marks;
        space
    };
    Scenario {
        id: "X2",
        story: "an item is written and the answer is lost; repeated, the write is told that the position is taken, and the item goes \
                to the next one as well",
        breaks: Promise::NoDuplicate,
        search: safety("lock-free-queue", space(Marks::None)),
        fix: "the pusher's mark beside the item: it looks whose the item is before it goes on",
        fix_search: safety("lock-free-queue", space(Marks::Last)),
        note: "a position is written once, so that the mark of the last writer is the only one",
        hunt: Some(hunt(
            "lock-free-queue",
            &["loss"],
            space(Marks::None),
            "lock-free-queue",
            space(Marks::Last),
        )),
        ..OBJECTS
    }
}

fn x3() -> Scenario {
    let space = |intents| {
        let mut space = accounts(1, 4, &[Promise::Conservation]);
        space.bounds.crashes = 1;
        (space.setup.lock.object.marks, space.setup.lock.object.intents) = (Marks::Last, intents);
        space
    };
    Scenario {
        id: "X3",
        story: "a client dies between the two halves of a transfer, and the money is in neither account",
        breaks: Promise::Conservation,
        search: safety("transfer", space(Intents::None)),
        fix: "the intent is written down before, by compare-and-set, and gone on with when the client comes back",
        fix_search: safety("transfer", space(Intents::CompareAndSet)),
        note: "an intent that is merely set and deleted is enough for a crash alone. With a request that arrives twice, the second time \
               late, it comes back after it was deleted, and the money moves again",
        hunt: Some(hunt(
            "transfer",
            &["crash"],
            space(Intents::None),
            "transfer",
            space(Intents::CompareAndSet),
        )),
        ..OBJECTS
    }
}

fn x4() -> Scenario {
    let space = |order| {
        let mut space = queue(2, 1, &[Promise::DeadlockFreedom]);
        space.bounds.crashes = 1;
        space.bounds.crashes_restart = false;
        space.bounds.unhurried = false;
        space.setup.lock.object.order = order;
        space
    };
    let search = |space: Space<_>| {
        let judgement = Judgement::Progress { goals: vec![Goal::DeadlockFreedom], draws: Draws::Adversary };
        Search::Space { space: NamedSpace::new("naive-queue-waiting", &space), judgement }
    };
    Scenario {
        id: "X4",
        story: "a pusher takes an index and never writes its item, as it is dead or stands still: whoever reads that place waits for ever",
        breaks: Promise::DeadlockFreedom,
        search: search(space(Order::IndexFirst)),
        fix: "the item first; the index is a hint",
        fix_search: search(space(Order::ItemFirst)),
        note: "pushing alone is lock-free in both: it is pushing and reading together that is not, as the exactly-once article says",
        hunt: Some(hunt(
            "naive-queue-waiting",
            &["crash"],
            space(Order::IndexFirst),
            "naive-queue-waiting",
            space(Order::ItemFirst),
        )),
        ..OBJECTS
    }
}

fn x5() -> Scenario {
    let space = |order| {
        let mut space = queue(3, 1, &[Promise::NoHole]);
        space.bounds.crashes = 1;
        (space.setup.lock.object.order, space.setup.lock.object.readers_wait) = (order, false);
        space
    };
    Scenario {
        id: "X5",
        story: "a pusher takes an index and has not written its item, or dies before it does: the place is empty, and later items stand behind it",
        breaks: Promise::NoHole,
        search: safety("naive-queue", space(Order::IndexFirst)),
        fix: "the item first; the index is a hint",
        fix_search: safety("naive-queue", space(Order::ItemFirst)),
        note: "it takes no fault to be seen: the hole is there until the item is, and for good if its pusher is dead",
        hunt: Some(hunt(
            "naive-queue",
            &["crash"],
            space(Order::IndexFirst),
            "naive-queue",
            space(Order::ItemFirst),
        )),
        ..OBJECTS
    }
}

fn x6() -> Scenario {
    let space = |commit| {
        let mut space = handler(1, 2, &[Promise::ExactlyOnce]);
        space.bounds.crashes = 1;
        space.setup.lock.object.commit = commit;
        space
    };
    Scenario {
        id: "X6",
        story: "the naive handler crashes between its effects and begins anew with what is saved: a mean comes out twice, the counter \
                is raised twice, or a number is in the window twice",
        breaks: Promise::ExactlyOnce,
        search: safety("naive-handler", space(Commit::Apart)),
        fix: "state and positions in one compare-and-set before the effects, which can then be done again without harm",
        fix_search: safety("naive-handler", space(Commit::AtOnce)),
        note: "a crash at the article's point A or E is harmless, one at B, C or D is not: all five as it says. The repair is ours: the \
               text ends before its own",
        // One handler: with a second one the row would be X8.
        hunt: Some(Hunt {
            lock: "naive-handler",
            setup: pack_setup(&alone(space(Commit::Apart))),
            fixed_lock: "handler",
            fixed: pack_setup(&alone(space(Commit::AtOnce))),
            faults: &["crash"],
        }),
        ..OBJECTS
    }
}

fn x7() -> Scenario {
    let space = |by| {
        let mut space = etcd_variable(2, 3, by, &[Promise::Linearizable]);
        (space.setup.lock.object.deletes, space.setup.lock.object.values) = (true, 1);
        space
    };
    Scenario {
        id: "X7",
        story: "a variable is deleted and made again, with version 1 once more: a compare that was read before finds its version, and \
                overwrites something else",
        breaks: Promise::Linearizable,
        search: safety("etcd-variable", space(EtcdField::Version)),
        fix: "compare the modification revision, which never comes again",
        fix_search: safety("etcd-variable", space(EtcdField::ModRevision)),
        note: "the exactly-once article has versions against ABA and names etcd and ZooKeeper; the version of either starts again. A revision does not help \
               against row X1: an answer that is asked for twice wants marks as well",
        hunt: Some(Hunt {
            lock: "etcd-variable",
            setup: pack_setup(&eager(space(EtcdField::Version))),
            fixed_lock: "etcd-variable-mod",
            fixed: pack_setup(&eager(space(EtcdField::ModRevision))),
            faults: &[],
        }),
        ..OBJECTS
    }
}

fn x8() -> Scenario {
    let space = |commit| {
        let mut space = handler(2, 1, &[Promise::ExactlyOnce]);
        space.setup.lock.object.commit = commit;
        space
    };
    Scenario {
        id: "X8",
        story: "two naive handlers run at once: each takes the same numbers, and they overwrite each other's outputs and positions",
        breaks: Promise::ExactlyOnce,
        search: safety("naive-handler", space(Commit::Apart)),
        fix: "state and positions in one compare-and-set: one of the two decides, both may carry it out",
        fix_search: safety("naive-handler", space(Commit::AtOnce)),
        hunt: Some(hunt("naive-handler", &[], space(Commit::Apart), "naive-handler", space(Commit::AtOnce))),
        ..OBJECTS
    }
}

/// What the rows above have in common; the searches are placeholders that every row replaces.
const OBJECTS: Scenario = Scenario {
    id: "",
    system: "objects",
    story: "",
    breaks: Promise::Linearizable,
    search: Search::NOWHERE,
    fix: "",
    fix_search: Search::NOWHERE,
    note: "",
    hunt: None,
};

fn safety<Y: System>(name: &'static str, space: Space<Y>) -> Search {
    Search::Space { space: NamedSpace::new(name, &space), judgement: Judgement::Safety }
}

/// The row's own setup, in time, with one client.
fn alone<Y, O, C>(space: Space<Y>) -> Setup<Y>
where
    Y: System<Settings = Settings<O, C>>,
    O: Clone,
    C: Clone,
{
    let mut setup = in_time(space);
    setup.workload = Workload { clients: 1, rounds: 6, think: Micros::millis(10), ..setup.workload };
    setup
}

/// The row's own setup, in time, with three clients that ask again at once: the failure takes a delete and another's write within one round
/// trip of a third one.
fn eager<Y, O, C>(space: Space<Y>) -> Setup<Y>
where
    Y: System<Settings = Settings<O, C>>,
    O: Clone,
    C: Clone,
{
    let mut setup = in_time(space);
    setup.workload = Workload { clients: 3, rounds: 6, think: Micros::ZERO, ..setup.workload };
    setup
}

/// The row's own setup, in time, with as many clients and rounds as each seed draws.
fn hunt<Y, O, C>(
    lock: &'static str,
    faults: &'static [&'static str],
    broken: Space<Y>,
    fixed_lock: &'static str,
    fixed: Space<Y>,
) -> Hunt
where
    Y: System<Settings = Settings<O, C>>,
    O: Clone,
    C: Clone,
{
    let setup = |space: Space<Y>| {
        let mut setup = in_time(space);
        setup.workload = Workload { varies: true, ..setup.workload };
        pack_setup(&setup)
    };
    Hunt { lock, setup: setup(broken), fixed_lock, fixed: setup(fixed), faults }
}
