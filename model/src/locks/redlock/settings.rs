//! The variants of Redlock, as named knobs on one machine.
//!
//! Four clients in use are imitated: the author's own `antirez/redlock-rb` (`redlock.rb`), its descendant
//! `leandromoreira/redlock-rb` (version 1, `lib/redlock/client.rb`), `mike-marcacci/node-redlock` (version 5,
//! `src/index.ts`), `go-redsync/redsync` (version 4, `mutex.go`). A fifth, `SPSCommerce/redlock-py` (`redlock/__init__.py`), is named where it
//! differs. Rows (R…, F…) are the catalogue's.

use crate::stores::redis::Millis;
use crate::time::Micros;
use serde::{Deserialize, Serialize};

/// The named knobs. [`Settings::as_written`] is the source's algorithm.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// The lifetime of the keys (`PX`), of which whole milliseconds are sent and counted. `None`: `SET NX` without `PX`,
    /// and then no validity either: a crash of the holder is for good.
    pub ttl: Option<Micros>,
    /// `CLOCK_DRIFT` of `MIN_VALIDITY = TTL - (T2 - T1) - CLOCK_DRIFT`: how much earlier than its keys the client takes
    /// its lock for over. Too small for the drift there is: R10. All four clients: a hundredth of the TTL, and all but
    /// redsync 2 ms more for the precision of `PX`.
    pub drift_margin: Micros,
    /// Whether the nodes are asked in turn or at once.
    pub contact: Contact,
    /// After how long without an answer a node counts as not locked, by the client's monotonic clock; asked at once, all
    /// nodes share one time-out. `None`: the client waits for ever (R25: one hung node eats the validity).
    pub node_timeout: Option<Micros>,
    /// From when the validity is counted; [`ValidityFrom::Replies`] is the flaw of R2.
    pub validity_from: ValidityFrom,
    /// Which of its clocks the client measures the validity by; [`ElapsedClock::Wall`] is the flaw of R9.
    pub elapsed_clock: ElapsedClock,
    /// When an attempt is decided; [`Settles::Majority`] is the flaw of R19.
    pub settles: Settles,
    /// The attempt fails as soon as one node answers with an error or not in time, though a quorum might be had without it
    /// (R20). leandromoreira/redlock-rb rescues `CannotConnectError` only: a time-out or an error reply escapes from
    /// `lock_instances`.
    pub minority_error_fails: bool,
    /// Step 5: a failed attempt unlocks all nodes. Without (R21), what it did get stays locked for the TTL: the escaping
    /// error of leandromoreira/redlock-rb skips the unlocking, and so does redsync's `if n == 0 && err != nil { return err }`,
    /// where every node may have set the key and only the answers were lost.
    pub unlocks_after_failure: bool,
    /// The unit of the wait between two attempts.
    pub retry_delay: Micros,
    /// How many different waits there are: `retry_delay * (1 + choice)` for `choice` in `0..retry_choices`, by chance. 1 (or
    /// 0): a fixed delay, as in redlock-py; clients that split the vote once split it again (R18).
    pub retry_choices: u32,
    /// A holder stops when its validity is over by its own clock. Without, it goes on for as long as its work takes: the
    /// four clients hand the validity out and leave minding it to the caller. Then R1 needs no pause, only long work.
    pub minds_validity: bool,
    /// Whether and how a holder prolongs the lock ("Продлеваем блокировку"). `None`: never; the source offers extension as an
    /// addition to the algorithm.
    pub extension: Option<Extension>,
    /// Every grant carries a fencing token: lock and counter are one script on each node, and the token is the largest
    /// number of the quorum (repairs F1 on one node).
    ///
    /// With more than one node it is no fencing token: two quorums share a node, but the largest number may come from a
    /// node that they do not share. A gets {1,2,3} with the numbers 6, 1, 1 and token 6, then B gets {3,4,5} with 2, 1, 1
    /// and token 2. Numbers that grow across quorums need a write to the counters as well: consensus (F2).
    pub fencing: bool,
    /// For how long one random value is used; [`DrawnFor::PerCall`] is the flaw of R34.
    pub value: DrawnFor,
}

/// For how long one random value is used, where a call of `lock` takes several attempts.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum DrawnFor {
    /// Each attempt draws its own, so that the unlocking after one that failed never meets the key of the next, however late it
    /// comes. leandromoreira/redlock-rb (`lock_instances`, 023ec5c).
    #[default]
    PerAttempt,
    /// All attempts of a call have one, and the nodes are unlocked in between: the unlocking after the first, if it is late, deletes the
    /// keys of the second (R34). redsync (`LockContext`, 01d5d90), redlock-py (`lock`, 142545d), antirez/redlock-rb (`lock`,
    /// 7fae7d8). All three wait for the answers to the unlocking, up to the connection's time-out: what is given up then may still
    /// be under way. node-redlock has one value for a call, too (`acquire`, 09fd36a), but unlocks nothing before the last
    /// attempt has failed.
    PerCall,
}

/// Whether the nodes are asked in turn or at once (step 2; "Повторная попытка при отказе").
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Contact {
    /// Step 2 as written: the next node is asked when the one before has answered or its time-out is over. Both
    /// redlock-rb.
    InTurn,
    /// "Multiplexing": the narrower the window in which the nodes are asked, the rarer a split vote. redsync,
    /// node-redlock.
    AtOnce,
}

/// From when the validity is counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ValidityFrom {
    /// From T1, before the first node is asked (steps 1 and 3): no key was set earlier, so none goes earlier.
    Start,
    /// From when the attempt is decided: no elapsed time is taken off, and none can be too long (R2; for an extension
    /// R16).
    Replies,
}

/// Which of its clocks the client measures the validity by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ElapsedClock {
    /// The monotonic clock. leandromoreira/redlock-rb (`CLOCK_MONOTONIC`), redsync (Go's `time.Time` carries it).
    Monotonic,
    /// The wall clock, which may be stepped back (R9). antirez/redlock-rb (`Time.now`), node-redlock (`Date.now()`).
    Wall,
}

/// When an attempt is decided.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Settles {
    /// Step 2: when every node has answered, or its time-out is over.
    All,
    /// As soon as a majority says yes or a majority says no; with an even number of nodes a tie is neither, and the
    /// attempt never ends (R19). node-redlock, `_attemptOperation`.
    Majority,
}

/// How a holder prolongs the lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Extension {
    /// The extension begins when so much of the validity is left.
    pub lead: Micros,
    /// How many extensions one hold may begin: the source wants a bound, or one holder keeps the lock for good.
    pub times_max: u8,
    /// The script that prolongs a key.
    pub how: ExtendBy,
    /// From when the prolonged validity is counted; [`ValidityFrom::Replies`] is the flaw of R16. (redsync's first `Extend`
    /// does not touch `until` at all, which errs on the other side.)
    pub validity_from: ValidityFrom,
}

/// The script that prolongs a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ExtendBy {
    /// The source's: only a key that is there and has the own value; and only within the old validity is a majority of
    /// them a success.
    CompareAndExtend,
    /// leandromoreira/redlock-rb's `LOCK_SCRIPT` with `extend`: a key that is gone is made again, and the old validity is
    /// not looked at, so that a lock which somebody else has held meanwhile seems never to have been away (R15).
    ExtendOrCreate,
}

impl Settings {
    /// The source's algorithm, with the numbers of its example in step 2 (a lock of 10 s, time-outs of 5 to 50 ms) and
    /// redlock-rb's margin and delay. No extension and no fencing token: the algorithm of steps 1 to 5 has neither.
    pub const fn as_written() -> Settings {
        let ttl = Micros::seconds(10);
        Settings {
            ttl: Some(ttl),
            drift_margin: Settings::usual_margin(ttl),
            contact: Contact::InTurn,
            node_timeout: Some(Micros::millis(50)),
            validity_from: ValidityFrom::Start,
            elapsed_clock: ElapsedClock::Monotonic,
            settles: Settles::All,
            minority_error_fails: false,
            unlocks_after_failure: true,
            retry_delay: Micros::millis(200),
            retry_choices: 4,
            minds_validity: true,
            extension: None,
            fencing: false,
            value: DrawnFor::PerAttempt,
        }
    }

    /// The same with all nodes asked at once, as the source recommends.
    pub const fn multiplexed() -> Settings {
        Settings { contact: Contact::AtOnce, ..Settings::as_written() }
    }

    /// redlock-rb's `drift`: a hundredth of the lifetime, and 2 ms for the precision of `PX`.
    pub const fn usual_margin(ttl: Micros) -> Micros {
        Micros(ttl.0 / 100 + Micros::millis(2).0)
    }

    /// The lifetime as it is sent.
    pub(super) fn px(&self) -> Option<Millis> {
        self.ttl.map(|ttl| Millis(ttl.0.div_euclid(Micros::millis(1).0)))
    }

    /// For how long a lock counts as valid, from the moment it is counted from.
    pub(super) fn validity(&self) -> Option<Micros> {
        self.px().map(|Millis(px)| Micros::millis(px) - self.drift_margin)
    }
}

impl Extension {
    /// The source's extension, begun when a third of the lifetime is left, as often as three times.
    pub const fn as_written(ttl: Micros) -> Extension {
        Extension {
            lead: Micros(ttl.0 / 3),
            times_max: 3,
            how: ExtendBy::CompareAndExtend,
            validity_from: ValidityFrom::Start,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::as_written()
    }
}
