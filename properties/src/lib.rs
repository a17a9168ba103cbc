//! What a distributed lock promises, as monitors folded over a history.
//!
//! # The picture
//!
//! ```text
//!   engine (exhaustive, seeded, hosted)
//!      |
//!      |  Event: Called, Enqueued, Granted, Left …        in the order of true time, without times
//!      v
//!   Monitors ----> Usage: who waits, who holds            always; read by the liveness promises
//!      |
//!      +---------> one Monitor per watched promise ----> Violation: which promise, by whom, against whom
//! ```
//!
//! An engine runs a lock and records what can be seen from outside as [`Event`]s. [`Monitors`] takes each of them as
//! it happens and keeps only what is needed to judge what is still to come: the monitors are part of every state of an
//! exhaustive search, hashed and serialised with it, and a state that remembered how it was reached would be reached
//! only once.
//!
//! # The promises
//!
//! Their sources, each with its title: the Cassandra paper is *The Cassandra queue lock*, the Redlock article *Distributed Locks with Redis*,
//! the exactly-once article *Heterogeneous concurrent exactly-once processing of data in real time*, and the ZooKeeper article *ZooKeeper, or
//! writing a distributed lock service*.
//!
//! | promise | in plain words | source | judged |
//! |---|---|---|---|
//! | [`MutualExclusion`] | at most one client is in its critical section, or those that may be together | Redlock article, guarantees | each event |
//! | [`FencedResource`] | after a write of a later grant, none of an earlier one is accepted | ZooKeeper article, closing question | each event |
//! | [`DeadlockFreedom`] | if somebody waits, somebody is granted | Redlock article, guarantees | on cycles |
//! | [`StarvationFreedom`] | everybody who waits is granted | Cassandra paper, section 3 | on cycles |
//! | [`Fifo`] | nobody enqueued later is granted earlier | Cassandra paper, section 5 | each event |
//! | [`BoundedOvertaking`] | nobody who is enqueued is overtaken twice by the same other | textbooks: bounded waiting | each event |
//! | [`LeaseLoss`] | a lease that another was granted meanwhile is not prolonged | Redlock article, extending the lock | each event |
//! | [`Theorem1`] | `lock` callers exclude each other | Cassandra paper, section 5.1 | each event |
//! | [`Theorem2`] | `try_lock` callers exclude each other | Cassandra paper, section 5.2 | each event |
//! | [`Theorem3`] | of several `try_lock` callers one is granted | Cassandra paper, section 5.2 | each event, on cycles |
//! | [`Lemma1`] | of two writers who then read, one sees the other | Cassandra paper, section 5.1 | each event |
//! | [`MinValidity`] | the records a hold rests on outlive it | Redlock article, MIN_VALIDITY | each event |
//! | [`NoHerd`] | a release wakes one waiter, not all | ZooKeeper article, recipe, step 4 | each event |
//! | [`FreshRead`] | what is known to be written is read | ZooKeeper article, WTF #4 | each event |
//! | [`TimeOrder`] | the time service never goes back | Cassandra paper, 5.4 | each event |
//! | [`TokenOrder`] | fencing tokens grow in the order of grants | ZooKeeper article, closing question | each event |
//! | [`LostUpdate`] | no write undoes one that its writer has not read | Cassandra paper, section 1 | each event |
//! | [`ReleaseEnds`] | who gives the lock back is done in the end | Cassandra paper, 5.3 | on cycles |
//! | [`Linearizable`] | every call of an object is as if done at one moment | exactly-once article, CAS | each event |
//! | [`Conservation`] | the accounts hold what was put in less what was taken out | exactly-once article, half-transactions | each event |
//! | [`NoHole`] | no position of a queue is empty below a filled one | exactly-once article, queue | each event |
//! | [`NoOverwrite`] | a position of a queue keeps its item | exactly-once article, queue | each event |
//! | [`NoDuplicate`] | an item is in a queue as often as it was pushed | exactly-once article, queue | each event |
//! | [`IndexNeverFalls`] | the index of a queue never falls | exactly-once article, queue | each event |
//! | [`ExactlyOnce`] | what comes out is what one handler without crashes would put out | exactly-once article, exactly-once | each event |
//!
//! The last seven are about shared objects rather than locks: [`ObjectMonitors`] judges them, over calls that were
//! [invoked](Event::Invoked) and came [back](Event::Returned) or did [not](Event::Unknown), and [`check`] judges finished histories
//! of any length.
//!
//! A promise that can be broken by a finite history is a [`Monitor`]. One that can only be broken by an infinite
//! history is a pair of predicates, "owed leads to served", over the [`Usage`] of a state; finding the cycle is the
//! engine's business. [`Theorem3`] is both: refusing everybody breaks it at once, letting everybody try for ever never
//! does.
//!
//! # Modes of access
//!
//! A lock may be shared by some and not by others: [`AccessModes`] is a table of who may hold beside whom, and how many. A call says
//! in which mode its client wants to hold ([`Event::Called`]); the grant that ends it is in the same mode. Every promise that is
//! about who is in whose way is judged by that table, and says in its module what it means there. [`Monitors::with_modes`] is told
//! the table; without it a lock has one mode, and whoever holds excludes everybody else.
//!
//! Absent on purpose: time (a promise about *when* belongs to the engine that knows the time), and the lock's own idea
//! of who holds it (only what clients do counts).
//!
//! # Example
//!
//! ```
//! use picklock_properties::{ClientId, Event, HoldId, Monitors, Promise, PromiseSet};
//!
//! let (a, b, hold) = (ClientId(0), ClientId(1), HoldId(1));
//! let history = [
//!     Event::Granted { client: a, fence: None, hold },
//!     // A pauses, its lease expires, and the lock goes to B.
//!     Event::Granted { client: b, fence: None, hold },
//!     Event::Accepted { client: b, fence: None, hold: Some(hold) },
//!     // A wakes up in its critical section and writes.
//!     Event::Accepted { client: a, fence: None, hold: Some(hold) },
//! ];
//!
//! let mut monitors = Monitors::new(PromiseSet::safety());
//! let mut broken = Vec::new();
//! for event in history {
//!     monitors.observe(event, &mut |violation| broken.push((violation.promise, violation.client)));
//! }
//! assert_eq!(broken, [(Promise::MutualExclusion, b), (Promise::FencedResource, a)]);
//! assert_eq!(monitors.usage().holding, [a, b].into_iter().collect());
//! ```

mod access;
mod bounded_overtaking;
mod deadlock_freedom;
mod event;
mod fenced_resource;
mod fifo;
mod fresh_read;
mod grant_order;
mod history;
mod lease_loss;
mod lemma_1;
mod lost_update;
mod manager;
mod min_validity;
mod monitor;
mod monitors;
mod mutual_exclusion;
mod no_herd;
#[cfg(test)]
mod notation;
mod object;
mod order;
mod promise_set;
mod release_ends;
mod starvation_freedom;
mod theorem_1;
mod theorem_2;
mod theorem_3;
mod time_order;
mod token_order;
mod usage;

pub use access::{Access, AccessModes, Accesses, BadModes, ModeName};
pub use bounded_overtaking::BoundedOvertaking;
pub use deadlock_freedom::DeadlockFreedom;
pub use event::{CallPart, Emphasis, Hold, Tally};
pub use fenced_resource::FencedResource;
pub use fifo::Fifo;
pub use fresh_read::FreshRead;
pub use history::{ClientId, ClientSet, Event, FencingToken, HoldId, LockId, Mode, ServerSet};
pub use lease_loss::LeaseLoss;
pub use lemma_1::Lemma1;
pub use lost_update::LostUpdate;
pub use manager::ManagerMonitors;
pub use min_validity::MinValidity;
pub use monitor::{Having, Monitor, Verdict, Violation};
pub use monitors::{Monitors, Tests};
pub use mutual_exclusion::MutualExclusion;
pub use no_herd::NoHerd;
pub use object::{
    Accounts, Configurations, Conservation, ExactlyOnce, Handler, IndexNeverFalls, Judge, Linearizable,
    NoDuplicate, NoHole, NoOverwrite, NotLinearizable, ObjectAnswer, ObjectCall, ObjectId, ObjectMonitors,
    Operation, Queue, Specification, Variable, VariableState, check, check_objects,
};
pub use promise_set::{PromiseSet, StrayPromises};
pub use release_ends::ReleaseEnds;
pub use starvation_freedom::StarvationFreedom;
pub use theorem_1::Theorem1;
pub use theorem_2::Theorem2;
pub use theorem_3::Theorem3;
pub use time_order::TimeOrder;
pub use token_order::TokenOrder;
pub use usage::Usage;

use serde::{Deserialize, Serialize};

/// What a lock or a shared object can promise. The order is the order of every table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Promise {
    /// At most one client is in its critical section, or those whose modes of access are compatible; and nobody is granted what it
    /// holds already.
    MutualExclusion,
    /// Once a write of a later grant was accepted, no write of an earlier grant is.
    FencedResource,
    /// If somebody waits, somebody is granted.
    DeadlockFreedom,
    /// Everybody who waits is granted.
    StarvationFreedom,
    /// Nobody who was enqueued later is granted earlier.
    Fifo,
    /// A lease that another client has been granted meanwhile is never prolonged.
    LeaseLoss,
    /// The Cassandra paper, *The Cassandra queue lock*, Theorem 1.
    #[serde(rename = "theorem-1")]
    Theorem1,
    /// The Cassandra paper, Theorem 2.
    #[serde(rename = "theorem-2")]
    Theorem2,
    /// The Cassandra paper, Theorem 3.
    #[serde(rename = "theorem-3")]
    Theorem3,
    /// The Cassandra paper, Lemma 1.
    #[serde(rename = "lemma-1")]
    Lemma1,
    /// While a client holds, no record that its grant rests on goes.
    MinValidity,
    /// Between a release and the next grant at most one waiter is woken.
    NoHerd,
    /// Whoever begins to read once a record is known to be written sees it.
    FreshRead,
    /// The time service never gives out less than it gave out before.
    TimeOrder,
    /// The fencing tokens that come with grants are different and grow in the order of the grants.
    TokenOrder,
    /// Whoever has read and then writes overwrites nothing that it has not read.
    LostUpdate,
    /// Whoever releases the lock is done with that in the end.
    ReleaseEnds,
    /// Every call of an object is done at one moment between its beginning and its end, one after the other.
    Linearizable,
    /// The accounts hold what was put in less what was taken out.
    Conservation,
    /// No position of a queue is empty below a filled one.
    NoHole,
    /// A position of a queue keeps the item that it has.
    NoOverwrite,
    /// An item is in a queue as often as it was pushed, at most.
    NoDuplicate,
    /// The index of a queue, once read, is never read smaller.
    IndexNeverFalls,
    /// What comes out is what one handler that never crashes would have put out.
    ExactlyOnce,
    /// Nobody who is enqueued is overtaken twice by the same other.
    BoundedOvertaking,
}

impl Promise {
    /// How grave it is that this promise is broken; 0 is the gravest. No two are equally grave: of several broken promises
    /// one is spoken of first. (In tens, so that others fit between.)
    pub const fn gravity(self) -> u8 {
        match self {
            Promise::MutualExclusion => 0,
            Promise::Theorem1 => 10,
            Promise::Theorem2 => 20,
            Promise::FencedResource => 30,
            Promise::LostUpdate => 33,
            Promise::TokenOrder => 36,
            Promise::MinValidity => 40,
            Promise::LeaseLoss => 50,
            Promise::DeadlockFreedom => 60,
            Promise::StarvationFreedom => 70,
            Promise::ReleaseEnds => 75,
            Promise::Theorem3 => 80,
            Promise::Fifo => 90,
            Promise::BoundedOvertaking => 85,
            Promise::Lemma1 => 100,
            Promise::FreshRead => 110,
            Promise::TimeOrder => 120,
            Promise::NoHerd => 130,
            Promise::Linearizable => 5,
            Promise::Conservation => 32,
            Promise::NoHole => 46,
            Promise::NoOverwrite => 44,
            Promise::NoDuplicate => 47,
            Promise::IndexNeverFalls => 48,
            Promise::ExactlyOnce => 34,
        }
    }

    /// The gravest of these.
    pub fn gravest(promises: impl IntoIterator<Item = Promise>) -> Option<Promise> {
        promises.into_iter().min_by_key(|promise| promise.gravity())
    }

    /// Every promise, in the order of every table.
    pub const ALL: [Promise; 25] = [
        Promise::MutualExclusion,
        Promise::FencedResource,
        Promise::DeadlockFreedom,
        Promise::StarvationFreedom,
        Promise::Fifo,
        Promise::LeaseLoss,
        Promise::Theorem1,
        Promise::Theorem2,
        Promise::Theorem3,
        Promise::Lemma1,
        Promise::MinValidity,
        Promise::NoHerd,
        Promise::FreshRead,
        Promise::TimeOrder,
        Promise::TokenOrder,
        Promise::LostUpdate,
        Promise::ReleaseEnds,
        Promise::Linearizable,
        Promise::Conservation,
        Promise::NoHole,
        Promise::NoOverwrite,
        Promise::NoDuplicate,
        Promise::IndexNeverFalls,
        Promise::ExactlyOnce,
        Promise::BoundedOvertaking,
    ];

    /// The name that the command line takes, that JSON carries, and that [`FromStr`](std::str::FromStr) reads.
    pub fn name(self) -> &'static str {
        match self {
            Promise::MutualExclusion => "mutual-exclusion",
            Promise::FencedResource => "fenced-resource",
            Promise::DeadlockFreedom => "deadlock-freedom",
            Promise::StarvationFreedom => "starvation-freedom",
            Promise::Fifo => "fifo",
            Promise::LeaseLoss => "lease-loss",
            Promise::Theorem1 => "theorem-1",
            Promise::Theorem2 => "theorem-2",
            Promise::Theorem3 => "theorem-3",
            Promise::Lemma1 => "lemma-1",
            Promise::MinValidity => "min-validity",
            Promise::NoHerd => "no-herd",
            Promise::FreshRead => "fresh-read",
            Promise::TimeOrder => "time-order",
            Promise::TokenOrder => "token-order",
            Promise::LostUpdate => "lost-update",
            Promise::ReleaseEnds => "release-ends",
            Promise::Linearizable => "linearizable",
            Promise::Conservation => "conservation",
            Promise::NoHole => "no-hole",
            Promise::NoOverwrite => "no-overwrite",
            Promise::NoDuplicate => "no-duplicate",
            Promise::IndexNeverFalls => "index-never-falls",
            Promise::ExactlyOnce => "exactly-once",
            Promise::BoundedOvertaking => "bounded-overtaking",
        }
    }

    /// The promise in one plain sentence.
    pub fn statement(self) -> &'static str {
        match self {
            Promise::MutualExclusion => "At most one client is in its critical section.",
            Promise::FencedResource => {
                "Once a write of a later grant was accepted, the resource accepts no write of an earlier grant."
            }
            Promise::DeadlockFreedom => {
                "Whenever somebody waits for a lock that nobody keeps for ever, somebody is granted it in the end."
            }
            Promise::StarvationFreedom => "Everybody who waits for the lock is granted it in the end.",
            Promise::Fifo => "Nobody who was enqueued later is granted the lock earlier.",
            Promise::BoundedOvertaking => "Nobody who is enqueued is overtaken twice by the same other.",
            Promise::LeaseLoss => {
                "A lease is never prolonged once another client has been granted the lock meanwhile."
            }
            Promise::Theorem1 => "While several clients call lock, at most one of them holds.",
            Promise::Theorem2 => "While several clients call try_lock, at most one of them holds.",
            Promise::Theorem3 => {
                "Of the clients that call try_lock on a free lock, at least one is granted it."
            }
            Promise::Lemma1 => {
                "If two clients each write a record into one row and then read the row, at least one sees both records."
            }
            Promise::MinValidity => {
                "While a client holds, every record on a server that its grant rests on is alive."
            }
            Promise::NoHerd => {
                "Until the next grant, at most one waiter is woken because a holder's record is gone."
            }
            Promise::FreshRead => "Whoever begins to read after a record was acknowledged sees the record.",
            Promise::TimeOrder => "The time service never gives out less than it gave out before.",
            Promise::TokenOrder => {
                "Of two grants that come with fencing tokens, the later one comes with the larger token."
            }
            Promise::LostUpdate => {
                "No accepted write of a holder that has read overwrites a write accepted since that read."
            }
            Promise::ReleaseEnds => "Whoever gives the lock back is done with that in the end.",
            Promise::Linearizable => {
                "Every call of an object is as if done at one moment between its beginning and its end."
            }
            Promise::Conservation => {
                "The accounts together hold what was put in less what was taken out, and at no time more."
            }
            Promise::NoHole => {
                "Whoever reads a position of a queue below one that is known to be filled finds an item."
            }
            Promise::NoOverwrite => "A position of a queue that has an item keeps it.",
            Promise::NoDuplicate => "An item is at no more positions of a queue than it was pushed times.",
            Promise::IndexNeverFalls => {
                "Whoever begins to read the index of a queue after it was read finds no smaller one."
            }
            Promise::ExactlyOnce => {
                "What comes out is what one handler without crashes would put out over some order of the inputs."
            }
        }
    }

    /// Where the promise is made: document and section.
    pub fn source(self) -> &'static str {
        match self {
            Promise::MutualExclusion => "the Redlock article, guarantees, safety property",
            Promise::FencedResource => "the ZooKeeper article, closing question",
            Promise::DeadlockFreedom => "the Redlock article, guarantees, liveness property A",
            Promise::StarvationFreedom => "the Cassandra paper, section 3",
            Promise::Fifo => "the Cassandra paper, section 5",
            Promise::LeaseLoss => "the Redlock article, extending the lock",
            Promise::Theorem1 => "the Cassandra paper, section 5.1, Theorem 1",
            Promise::Theorem2 => "the Cassandra paper, section 5.2, Theorem 2",
            Promise::Theorem3 => "the Cassandra paper, section 5.2, Theorem 3",
            Promise::Lemma1 => "the Cassandra paper, section 5.1, Lemma 1",
            Promise::MinValidity => "the Redlock article, safety arguments, MIN_VALIDITY",
            Promise::NoHerd => "the ZooKeeper article, recipe, step 4",
            Promise::FreshRead => "the ZooKeeper article, WTF #4",
            Promise::TimeOrder => "the Cassandra paper, section 5.4",
            Promise::TokenOrder => "the ZooKeeper article, closing question",
            Promise::LostUpdate => "the Cassandra paper, section 1",
            Promise::ReleaseEnds => "the Cassandra paper, section 5.3",
            Promise::Linearizable => "the exactly-once article, CAS",
            Promise::Conservation => "the exactly-once article, half-transactions",
            Promise::NoHole => "the exactly-once article, a lock-free queue, as it were",
            Promise::NoOverwrite => "the exactly-once article, lock-free push",
            Promise::NoDuplicate => "the exactly-once article, queue",
            Promise::IndexNeverFalls => "the exactly-once article, lock-free push, update_index",
            Promise::ExactlyOnce => "the exactly-once article, exactly-once",
            Promise::BoundedOvertaking => {
                "the Cassandra paper, section 5, between \"not very fair\" and fair"
            }
        }
    }

    /// Whether it is about shared objects, and judged by [`ObjectMonitors`], rather than about a lock.
    pub fn is_of_objects(self) -> bool {
        match self {
            Promise::Linearizable
            | Promise::Conservation
            | Promise::NoHole
            | Promise::NoOverwrite
            | Promise::NoDuplicate
            | Promise::IndexNeverFalls
            | Promise::ExactlyOnce => true,
            Promise::MutualExclusion
            | Promise::FencedResource
            | Promise::DeadlockFreedom
            | Promise::StarvationFreedom
            | Promise::Fifo
            | Promise::BoundedOvertaking
            | Promise::LeaseLoss
            | Promise::Theorem1
            | Promise::Theorem2
            | Promise::Theorem3
            | Promise::Lemma1
            | Promise::MinValidity
            | Promise::NoHerd
            | Promise::FreshRead
            | Promise::TimeOrder
            | Promise::TokenOrder
            | Promise::LostUpdate
            | Promise::ReleaseEnds => false,
        }
    }

    /// Whether only an infinite history can break it, so that it has no monitor and is judged on cycles.
    ///
    /// [`Promise::Theorem3`] is not among them although it can be judged on cycles, too: see [`Theorem3::owed`].
    pub fn is_liveness(self) -> bool {
        matches!(self, Promise::DeadlockFreedom | Promise::StarvationFreedom | Promise::ReleaseEnds)
    }

    /// Whether it promises that something comes at last.
    pub fn is_of_progress(self) -> bool {
        self.is_liveness() || self == Promise::Theorem3
    }
}

impl std::fmt::Display for Promise {
    /// The [name](Promise::name), padded as the format asks.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Promise {
    type Err = UnknownPromise;

    /// Reads a [name](Promise::name), spelt exactly as it is printed.
    fn from_str(name: &str) -> Result<Promise, UnknownPromise> {
        Promise::ALL
            .into_iter()
            .find(|promise| promise.name() == name)
            .ok_or_else(|| UnknownPromise { name: name.to_owned(), nearest: nearest(name) })
    }
}

/// The first of the promises whose name begins so or, if there is none, takes the fewest edits to reach.
fn nearest(name: &str) -> Promise {
    let distance = |promise: &Promise| {
        let is_cut_short = !name.is_empty() && promise.name().starts_with(name);
        (!is_cut_short, strsim::damerau_levenshtein(name, promise.name()))
    };
    Promise::ALL.into_iter().min_by_key(distance).unwrap_or(Promise::MutualExclusion)
}

/// No promise has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownPromise {
    /// The name that was asked for.
    pub name: String,
    /// The promise whose name comes nearest.
    pub nearest: Promise,
}

impl std::fmt::Display for UnknownPromise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no promise is called {:?}; the nearest name is {}", self.name, self.nearest)
    }
}

impl std::error::Error for UnknownPromise {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_promise_is_in_the_table_once_at_its_own_place() {
        for (place, promise) in Promise::ALL.into_iter().enumerate() {
            assert_eq!(promise as usize, place);
        }
    }

    #[test]
    fn of_several_broken_promises_one_is_the_gravest() {
        let mut gravities = Promise::ALL.map(Promise::gravity);
        gravities.sort_unstable();
        assert!(gravities.windows(2).all(|pair| pair[0] < pair[1]), "{gravities:?}");
        assert_eq!(Promise::gravest(Promise::ALL), Some(Promise::MutualExclusion));
        let broken = [Promise::Fifo, Promise::StarvationFreedom, Promise::LeaseLoss];
        assert_eq!(Promise::gravest(broken), Some(Promise::LeaseLoss));
        assert_eq!(Promise::gravest([]), None);
    }

    #[test]
    fn name_display_parse_and_json_agree() {
        for promise in Promise::ALL {
            assert_eq!(promise.to_string(), promise.name());
            assert_eq!(promise.name().parse(), Ok(promise));
            assert_eq!(serde_json::to_value(promise).unwrap(), promise.name());
        }
    }

    #[test]
    fn a_statement_is_one_sentence_and_a_source_names_a_text_in_words() {
        for promise in Promise::ALL {
            let statement = promise.statement();
            assert!(statement.ends_with('.') && statement.matches(". ").count() == 0, "{statement}");
            let texts = ["Cassandra paper", "Redlock article", "exactly-once article", "ZooKeeper article"];
            let is_named = |text: &&str| promise.source().starts_with(&format!("the {text}, "));
            assert!(texts.iter().any(is_named), "{}", promise.source());
        }
    }

    #[test]
    fn a_misspelt_name_is_refused_with_the_nearest_one() {
        for (wrong, nearest) in [
            ("theorem3", Promise::Theorem3),
            ("lemma", Promise::Lemma1),
            ("mutex-exclusion", Promise::MutualExclusion),
            ("FIFO", Promise::Fifo),
            ("starvation", Promise::StarvationFreedom),
        ] {
            let error = wrong.parse::<Promise>().unwrap_err();
            assert_eq!(error, UnknownPromise { name: wrong.to_owned(), nearest });
        }
        let error = "liffo".parse::<Promise>().unwrap_err();
        assert_eq!(error.to_string(), "no promise is called \"liffo\"; the nearest name is fifo");
    }
}
