//! What the exactly-once article, *Heterogeneous concurrent exactly-once processing of data in real time*, says of variables, transfers,
//! queues and handlers on compare-and-set, none of it proved there.
//!
//! "Can be repeated without harm" ("CAS") is what all of it leans on, and it holds of the store alone: under lost answers every
//! object is claimed twice, as written and with marks of who has written.

use super::Claim;
use crate::claims::objects::{
    DropInStore, accounts, drop_from_object, handler, in_cassandra, in_etcd, in_ideal_store, in_redis,
    in_zookeeper, of_cassandra, of_redis, of_zookeeper, queue, stream, variable,
};
use crate::claims::{Assumption, Expected};
use crate::explore::Space;
use crate::objects::accounts::Intents;
use crate::objects::cells::{Cells, EtcdField, Reads};
use crate::objects::content::Marks;
use crate::objects::handler::Commit;
use crate::objects::queue::{Order, Raises, Wanted};
use crate::objects::{Shared, Variable};
use crate::system::System;
use picklock_properties::Promise;

/// The claims, in the order of the statements.
pub(super) fn claims() -> Vec<Claim> {
    let mut claims = variables();
    claims.extend(transfers());
    claims.extend(queues());
    claims.extend(handlers());
    claims
}

fn claim<Y: System>(
    lock: &'static str,
    theorem: &'static str,
    variant: &'static str,
    (space, dropped): (&Space<Y>, &[Assumption]),
    (expected, reason): (Expected, &'static str),
) -> Claim {
    Claim { variant, reason, ..Claim::of(lock, theorem, space, dropped, expected) }
}

/// Two clients, two operations each.
fn variables() -> Vec<Claim> {
    use Assumption::{Durable, NoCrash, NoDuplicate, NoLoss};
    use Expected::{Holds, Violated};
    const SIZE: (u8, u8) = (2, 2);
    let promises = [Promise::Linearizable];

    fn dropped<C: Cells>(
        mut space: Space<Shared<Variable, C>>,
        marks: Marks,
        assumption: Assumption,
        in_store: DropInStore<C>,
    ) -> Space<Shared<Variable, C>> {
        space.setup.lock.object.marks = marks;
        drop_from_object(&mut space, assumption, in_store);
        space
    }
    let no = "the store does it once, the answer to the second asking says no (row X1)";
    let gone = "the mark of the last writer is gone when another one has written";
    let marked = "what a client has written last can be told from what is there";
    let ideal = || variable(SIZE.0, SIZE.1, &promises);
    let on_ideal = |variant, marks, assumption, outcome| {
        let space = dropped(ideal(), marks, assumption, in_ideal_store);
        claim("cas-variable", "variable", variant, (&space, &[assumption]), outcome)
    };
    let redis = || in_redis::<Variable>(1, SIZE, &promises);
    let on_redis = |variant, marks, assumption, outcome| {
        let space = dropped(redis(), marks, assumption, of_redis);
        claim("redis-variable", "variable", variant, (&space, &[assumption]), outcome)
    };
    let cassandra = || in_cassandra::<Variable>(1, Reads::Serial, SIZE, &promises);
    let on_cassandra = |variant, marks, assumption, outcome| {
        let space = dropped(cassandra(), marks, assumption, of_cassandra);
        claim("cassandra-variable", "variable", variant, (&space, &[assumption]), outcome)
    };
    let zookeeper = |servers, sync| in_zookeeper::<Variable>(servers, sync, SIZE, &promises);
    // Sessions that end make two clients a space of 16 million states; the second one is not needed.
    let on_zookeeper = |variant, marks, assumption, outcome| {
        let space = in_zookeeper::<Variable>(1, false, (1, 3), &promises);
        let space = dropped(space, marks, assumption, of_zookeeper);
        claim("zookeeper-variable", "variable", variant, (&space, &[assumption]), outcome)
    };
    let etcd = |by| {
        let mut space = in_etcd::<Variable>(by, (2, 3), &promises);
        (space.setup.lock.object.deletes, space.setup.lock.object.values) = (true, 1);
        space
    };
    let never_again = "a version is never that of two contents";
    vec![
        claim("cas-variable", "variable", "ideal store", (&ideal(), &[]), (Holds, never_again)),
        claim("redis-variable", "variable", "Redis", (&redis(), &[]), (Holds, "no content comes again")),
        claim(
            "cassandra-variable",
            "variable",
            "Cassandra",
            (&cassandra(), &[]),
            (Holds, "no content comes again"),
        ),
        claim(
            "zookeeper-variable",
            "variable",
            "ZooKeeper",
            (&zookeeper(1, false), &[]),
            (Holds, never_again),
        ),
        claim(
            "zookeeper-variable",
            "variable",
            "ZooKeeper, a follower that lags",
            (&zookeeper(2, false), &[]),
            (Violated, "a read is answered by what the client's server has (the ZooKeeper article, WTF #4)"),
        ),
        claim(
            "zookeeper-variable",
            "variable",
            "ZooKeeper, a follower that lags, sync",
            (&zookeeper(2, true), &[]),
            (Holds, "the client's server catches up before it answers"),
        ),
        claim(
            "etcd-variable",
            "variable",
            "etcd, with deletes, by VERSION",
            (&etcd(EtcdField::Version), &[]),
            (Violated, "the version begins again when the key is deleted (row X7)"),
        ),
        claim(
            "etcd-variable-mod",
            "variable",
            "etcd, with deletes, by MOD",
            (&etcd(EtcdField::ModRevision), &[]),
            (Holds, "a revision never comes again"),
        ),
        on_ideal("ideal store", Marks::None, NoLoss, (Violated, no)),
        on_ideal("ideal store, last mark", Marks::Last, NoLoss, (Violated, gone)),
        on_ideal("ideal store, marks", Marks::EachClient, NoLoss, (Holds, marked)),
        on_ideal(
            "ideal store, marks",
            Marks::EachClient,
            NoDuplicate,
            (Holds, "an old version is never there again"),
        ),
        on_ideal("ideal store, marks", Marks::EachClient, NoCrash, (Holds, marked)),
        on_redis("Redis", Marks::None, NoLoss, (Violated, no)),
        on_redis("Redis, marks", Marks::EachClient, NoLoss, (Holds, marked)),
        on_redis(
            "Redis, marks",
            Marks::EachClient,
            Durable,
            (Violated, "what was acknowledged is gone (row R4)"),
        ),
        on_cassandra("Cassandra", Marks::None, NoLoss, (Violated, no)),
        on_cassandra("Cassandra, marks", Marks::EachClient, NoLoss, (Holds, marked)),
        on_zookeeper("ZooKeeper", Marks::None, NoLoss, (Violated, no)),
        on_zookeeper("ZooKeeper, marks", Marks::EachClient, NoLoss, (Holds, marked)),
    ]
}

/// One client, who moves money and counts it in the end.
fn transfers() -> Vec<Claim> {
    use Assumption::{NoCrash, NoDuplicate, NoLoss};
    use Expected::{Holds, Violated};
    let space = |rounds, logged: Option<Intents>, dropped: &[Assumption]| {
        let mut space = accounts(1, rounds, &[Promise::Conservation]);
        if let Some(intents) = logged {
            (space.setup.lock.object.marks, space.setup.lock.object.intents) = (Marks::Last, intents);
        }
        dropped.iter().for_each(|assumption| drop_from_object(&mut space, *assumption, in_ideal_store));
        space
    };
    let of = |variant, rounds, logged, dropped: &[Assumption], expected, reason| {
        let space = space(rounds, logged, dropped);
        claim("transfer", "transfer", variant, (&space, dropped), (expected, reason))
    };
    let logged = Some(Intents::CompareAndSet);
    let between = "dying between the halves loses what is on its way (row X3)";
    let again = "whoever begins again finds the intent, and finishes it once";
    vec![
        of("as written", 4, None, &[], Holds, "both halves are done"),
        of("as written", 4, None, &[NoLoss], Violated, "a half whose answer is lost is done twice (row X1)"),
        of("as written", 4, None, &[NoCrash], Violated, between),
        of("intents", 5, logged, &[], Holds, again),
        of("intents", 5, logged, &[NoCrash], Holds, again),
        of("intents", 5, logged, &[NoLoss], Holds, "the mark says that the half is done"),
        of("intents", 5, logged, &[NoCrash, NoDuplicate], Holds, "the log is compared before it is set"),
        of(
            "intents that are set in any case",
            5,
            Some(Intents::Set),
            &[NoCrash, NoDuplicate],
            Violated,
            "the intent comes back with a late duplicate",
        ),
    ]
}

/// Two pushers and a reader, once each; a pusher and a reader, twice each.
fn queues() -> Vec<Claim> {
    use Assumption::{NoCrash, NoDuplicate, NoLoss};
    use Expected::{Holds, Violated};
    let promises = [Promise::Linearizable, Promise::NoHole, Promise::NoOverwrite, Promise::NoDuplicate];
    let of = |variant, size: (u8, u8), order, marks, dropped: &[Assumption], outcome| {
        let mut space = queue(size.0, size.1, &promises);
        let object = &mut space.setup.lock.object;
        (object.order, object.marks, object.readers_wait) = (order, marks, order == Order::ItemFirst);
        dropped.iter().for_each(|assumption| drop_from_object(&mut space, *assumption, in_ideal_store));
        claim("lock-free-queue", "queue", variant, (&space, dropped), outcome)
    };
    let indexed = |variant, size: (u8, u8), raises, dropped: &[Assumption], outcome| {
        let mut space = queue(size.0, size.1, &[Promise::IndexNeverFalls, Promise::Linearizable]);
        let object = &mut space.setup.lock.object;
        (object.readers_ask, object.raises, object.marks) = (Wanted::Index, raises, Marks::Last);
        dropped.iter().for_each(|assumption| drop_from_object(&mut space, *assumption, in_ideal_store));
        claim("lock-free-queue-index", "queue", variant, (&space, dropped), outcome)
    };
    let never_back = "it is compared before it is raised";
    let (item, index) = (Order::ItemFirst, Order::IndexFirst);
    let first_empty = "the item itself takes the first empty place, and the index is a hint";
    let whose = "a position is written once: the mark on it stays";
    vec![
        of("as written", (3, 1), item, Marks::None, &[], (Holds, first_empty)),
        of("marks", (3, 1), item, Marks::Last, &[], (Holds, first_empty)),
        of(
            "as written",
            (2, 2),
            item,
            Marks::None,
            &[NoLoss],
            (Violated, "it pushes again what is there (row X2)"),
        ),
        of("marks", (2, 2), item, Marks::Last, &[NoLoss], (Holds, whose)),
        of("marks", (3, 1), item, Marks::Last, &[NoLoss], (Holds, whose)),
        of("marks", (2, 2), item, Marks::Last, &[NoDuplicate], (Holds, whose)),
        of("marks", (2, 2), item, Marks::Last, &[NoCrash], (Holds, "who dies leaves an item or none")),
        indexed("marks, of the index", (3, 2), Raises::CompareAndSet, &[], (Holds, never_back)),
        indexed("marks, of the index", (2, 2), Raises::CompareAndSet, &[NoDuplicate], (Holds, never_back)),
        indexed(
            "index set in any case",
            (3, 2),
            Raises::Set,
            &[],
            (Violated, "who is slow writes its own over a larger one"),
        ),
        of(
            "index first",
            (3, 1),
            index,
            Marks::None,
            &[NoCrash],
            (Violated, "who dies leaves a hole (rows X4, X5)"),
        ),
    ]
}

/// Three numbers in two streams; and one pusher of a queue.
fn handlers() -> Vec<Claim> {
    use Assumption::{NoCrash, NoDuplicate, NoLoss};
    use Expected::{Holds, Violated};
    let of = |variant, size: (u8, u8), commit, dropped: &[Assumption], outcome| {
        let mut space = handler(size.0, size.1, &[Promise::ExactlyOnce]);
        space.setup.lock.object.commit = commit;
        dropped.iter().for_each(|assumption| drop_from_object(&mut space, *assumption, in_ideal_store));
        claim("handler", "exactly-once", variant, (&space, dropped), outcome)
    };
    let (apart, at_once) = (Commit::Apart, Commit::AtOnce);
    let over_queue = |rounds, dropped: &[Assumption], outcome| {
        let mut space = stream(3, rounds, 2, &[Promise::ExactlyOnce]);
        space.setup.lock.object.queue.marks = Marks::Last;
        dropped.iter().for_each(|assumption| drop_from_object(&mut space, *assumption, in_ideal_store));
        claim("stream", "exactly-once", "at once, two, over the queue", (&space, dropped), outcome)
    };
    let decided = "one compare-and-set decides what is next; all that follows may be done twice";
    vec![
        of("naive, two", (2, 1), apart, &[], (Violated, "they overwrite each other (row X8)")),
        of("at once, two", (2, 1), at_once, &[], (Holds, decided)),
        of("naive, one", (1, 2), apart, &[NoCrash], (Violated, "a crash between its writes (row X6)")),
        of("at once, two", (2, 2), at_once, &[NoCrash], (Holds, decided)),
        of("at once, two", (2, 1), at_once, &[NoLoss], (Holds, decided)),
        // A million states.
        Claim { long: true, ..of("at once, two", (2, 1), at_once, &[NoDuplicate], (Holds, decided)) },
        over_queue(1, &[NoCrash], (Holds, decided)),
        // Five million.
        Claim { long: true, ..over_queue(2, &[], (Holds, decided)) },
    ]
}
