//! What we claim, as data, in one place: theorems with their assumptions, known failures with their repairs, and the
//! verdicts that the matrix is expected to show. The command and the tests both read it from here.

pub mod cassandra;
pub mod cassandra_lwt;
pub mod cassandra_served;
pub mod cassandra_shadow;
pub mod chubby;
pub mod dlm;
pub mod etcd;
pub mod feedback;
pub mod lease_lengths;
mod matrix;
pub mod objects;
pub mod redis;
pub mod zookeeper;

mod scenarios;
mod surroundings;
mod theorems;
mod unmet;
mod widening;

pub use matrix::{Cell, Known, MATRIX, known_cell};

pub use scenarios::{Hunt, Scenario, Search, UNHUNTED, scenarios};
pub use theorems::{Claim, THEOREMS, Theorem, claims};
pub use unmet::{Sight, Unmet, unmet};
pub use widening::{FALLS, Fall, REPAIRED, Widened, Widening, known_fall, known_falls};

use crate::cluster::Setup;
use crate::explore::{Draws, Goal, Space};
use crate::system::System;
use crate::workload::Writes;
use crate::world::Bounds;
use picklock_properties::PromiseSet;
use serde::{Deserialize, Serialize};

/// A space whose lock's type is known by name only: what claims and tokens carry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedSpace {
    /// Name of a registered lock; it says which machine `setup` is of.
    pub lock: &'static str,
    /// A packed [`Setup`] of that lock.
    pub setup: Vec<u8>,
    /// The bounds.
    pub bounds: Bounds,
}

impl NamedSpace {
    /// Forgets the type.
    pub fn new<Y: System>(lock: &'static str, space: &Space<Y>) -> NamedSpace {
        NamedSpace { lock, setup: pack_setup(&space.setup), bounds: space.bounds.clone() }
    }
}

/// A setup as bytes; [`unpack_setup`] reads them.
pub fn pack_setup<Y: System>(setup: &Setup<Y>) -> Vec<u8> {
    match postcard::to_stdvec(setup) {
        Ok(bytes) => bytes,
        Err(error) => unreachable!("a setup is plain data: {error}"),
    }
}

/// A setup from bytes, checked.
///
/// # Errors
/// If the bytes are not a setup of this lock, or ask for numbers of nodes that no run can have.
pub fn unpack_setup<Y: System>(bytes: &[u8]) -> Result<Setup<Y>, BadSetup> {
    let (setup, rest): (Setup<Y>, &[u8]) =
        postcard::take_from_bytes(bytes).map_err(|_| BadSetup::Unreadable)?;
    if !rest.is_empty() {
        return Err(BadSetup::Unreadable);
    }
    setup.check()?;
    Ok(setup)
}

/// Why a setup cannot be run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadSetup {
    /// Not a packed setup of this lock.
    #[error("the setup in it is not one of this lock")]
    Unreadable,
    /// Too few or too many clients.
    #[error("{0} clients: a run has 1 to 128")]
    Clients(u8),
    /// Too many attendants.
    #[error("{0} clients and attendants: a run has up to 128 together")]
    Attendants(u16),
    /// Too few or too many locks.
    #[error("{0} locks: a run has 1 to 8")]
    Locks(u8),
    /// [`Writes::Store`] with several locks: there is one thing in the store to write.
    #[error("the work writes inside the store, where there is one lock's work only")]
    LocksInside,
    /// Too few or too many servers.
    #[error("{0} servers: a store has 1 to 9")]
    Servers(u8),
    /// [`Writes::Store`] with a lock that has no way to do it.
    #[error("the work writes inside the store, which this lock cannot do")]
    WritesInside,
    /// The workload asks in a mode of access that the lock does not have.
    #[error("somebody asks in a mode of access that this lock does not have")]
    Access,
}

impl<Y: System> Setup<Y> {
    /// Checks that a cluster of this setup can be built.
    ///
    /// # Errors
    /// If there are no clients, locks or servers, or too many, or if they do what the lock cannot.
    pub fn check(&self) -> Result<(), BadSetup> {
        if !(1..=128).contains(&self.workload.clients) {
            return Err(BadSetup::Clients(self.workload.clients));
        }
        let processes = u16::from(self.workload.clients) + u16::from(self.workload.attendants);
        if processes > 128 {
            return Err(BadSetup::Attendants(processes));
        }
        if !(1..=8).contains(&self.workload.locks) {
            return Err(BadSetup::Locks(self.workload.locks));
        }
        if self.workload.locks > 1 && self.workload.writes == Writes::Store {
            return Err(BadSetup::LocksInside);
        }
        if !(1..=9).contains(&self.servers) {
            return Err(BadSetup::Servers(self.servers));
        }
        if self.workload.writes == Writes::Store && !Y::WRITES_INSIDE {
            return Err(BadSetup::WritesInside);
        }
        if !self.workload.access.is_of(&Y::access_modes(&self.lock)) {
            return Err(BadSetup::Access);
        }
        Ok(())
    }
}

/// By what a space is judged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Judgement {
    /// No step breaks a promise that the setup watches.
    Safety,
    /// What is owed comes, on every fair schedule.
    Progress {
        /// What is owed.
        goals: Vec<Goal>,
        /// Who decides what clients draw by chance.
        draws: Draws,
    },
}

impl Judgement {
    /// Which promises are judged by it where the setup watches these.
    pub fn of(&self, watched: PromiseSet) -> PromiseSet {
        match self {
            Judgement::Safety => watched.iter().filter(|promise| !promise.is_liveness()).collect(),
            Judgement::Progress { goals, .. } => goals.iter().map(|goal| goal.promise()).collect(),
        }
    }
}

/// What is claimed to come out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expected {
    /// The promise is kept in the whole space.
    Holds,
    /// It is broken.
    Violated,
    /// The promise is kept in the whole space, and nothing of what the dropped assumptions rule out happens there or matters to anybody:
    /// that is no evidence that it does without them ([`Unmet`]).
    Untested,
}

/// What a theorem leans on. A theorem is a claim under all of these; each can be dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Assumption {
    /// No two threads have the same id.
    UniqueIds,
    /// A client's clock never steps back, so that its write timestamps grow.
    NoClockStep,
    /// A client's clock never stands still, so that its write timestamps differ.
    NoClockFreeze,
    /// Clocks agree, of clients and of servers.
    ClocksAgree,
    /// No cell expires: there is no TTL.
    NoExpiry,
    /// No client pauses.
    NoPause,
    /// Writes that were acknowledged survive a power loss.
    Durable,
    /// Every read quorum meets every write quorum: W + R > N.
    QuorumsMeet,
    /// A thread reads only after its own write was acknowledged.
    ReadAfterAck,
    /// No client crashes.
    NoCrash,
    /// No message is lost.
    NoLoss,
    /// No message arrives twice.
    NoDuplicate,
    /// The lock is free, and no release under way, when the contention begins.
    FreeAtStart,
    /// Clocks of servers and clients drift apart by less than the lock allows for.
    BoundedDrift,
    /// A server's wall clock is never set.
    NoServerClockStep,
    /// A holder has left when its lock is not valid any more, by its own clock.
    StopsInTime,
    /// No key is evicted, flushed or deleted by anybody else.
    KeysKept,
    /// A majority of the servers is up.
    MajorityUp,
    /// No client's machine is suspended: a pause is counted by its monotonic clock.
    NoSuspend,
    /// What a client leaves behind expires: keys have a TTL.
    KeysExpire,
    /// No master is replaced by another, and none begins again.
    NoFailOver,
}

impl Assumption {
    /// All of them, in the order of the tables.
    pub const ALL: [Assumption; 21] = [
        Assumption::UniqueIds,
        Assumption::NoClockStep,
        Assumption::NoClockFreeze,
        Assumption::ClocksAgree,
        Assumption::NoExpiry,
        Assumption::NoPause,
        Assumption::Durable,
        Assumption::QuorumsMeet,
        Assumption::ReadAfterAck,
        Assumption::NoCrash,
        Assumption::NoLoss,
        Assumption::NoDuplicate,
        Assumption::FreeAtStart,
        Assumption::BoundedDrift,
        Assumption::NoServerClockStep,
        Assumption::StopsInTime,
        Assumption::KeysKept,
        Assumption::MajorityUp,
        Assumption::NoSuspend,
        Assumption::KeysExpire,
        Assumption::NoFailOver,
    ];

    /// The name it goes by on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Assumption::UniqueIds => "unique-ids",
            Assumption::NoClockStep => "no-clock-step",
            Assumption::NoClockFreeze => "no-clock-freeze",
            Assumption::ClocksAgree => "clocks-agree",
            Assumption::NoExpiry => "no-expiry",
            Assumption::NoPause => "no-pause",
            Assumption::Durable => "durable",
            Assumption::QuorumsMeet => "quorums-meet",
            Assumption::ReadAfterAck => "read-after-ack",
            Assumption::NoCrash => "no-crash",
            Assumption::NoLoss => "no-loss",
            Assumption::NoDuplicate => "no-duplicate",
            Assumption::FreeAtStart => "free-at-start",
            Assumption::BoundedDrift => "bounded-drift",
            Assumption::NoServerClockStep => "no-server-clock-step",
            Assumption::StopsInTime => "stops-in-time",
            Assumption::KeysKept => "keys-kept",
            Assumption::MajorityUp => "majority-up",
            Assumption::NoSuspend => "no-suspend",
            Assumption::KeysExpire => "keys-expire",
            Assumption::NoFailOver => "no-fail-over",
        }
    }

    /// What it says, in one sentence.
    pub const fn statement(self) -> &'static str {
        match self {
            Assumption::UniqueIds => "no two threads have the same id",
            Assumption::NoClockStep => "a client's clock never steps back",
            Assumption::NoClockFreeze => "a client's clock never stands still",
            Assumption::ClocksAgree => "clocks agree, those of clients and those of servers",
            Assumption::NoExpiry => "no cell expires: there is no TTL",
            Assumption::NoPause => "no client pauses",
            Assumption::Durable => "acknowledged writes survive a power loss",
            Assumption::QuorumsMeet => "every read quorum meets every write quorum (W + R > N)",
            Assumption::ReadAfterAck => "a thread reads only after its own write was acknowledged",
            Assumption::NoCrash => "no client crashes",
            Assumption::NoLoss => "no message is lost, but of whoever ends or loses power",
            Assumption::NoDuplicate => "no message arrives twice",
            Assumption::FreeAtStart => "the lock is free and no release under way when the contention begins",
            Assumption::BoundedDrift => "clocks drift apart by less than the lock allows for",
            Assumption::NoServerClockStep => "a server's wall clock is never set",
            Assumption::StopsInTime => "a holder leaves before its lock is over by its own clock",
            Assumption::KeysKept => "no key is evicted or flushed",
            Assumption::MajorityUp => "a majority of the servers is up",
            Assumption::NoSuspend => "no client's machine is suspended: its clock counts every pause",
            Assumption::KeysExpire => "what a client leaves behind expires: keys have a TTL",
            Assumption::NoFailOver => "no master is replaced by another",
        }
    }
}

impl std::fmt::Display for Assumption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locks::{CassandraQueue, ZookeeperLock};
    use crate::workload::{AccessChoice, Calls, Workload};
    use picklock_properties::{Access, AccessModes};

    #[test]
    fn where_work_is_written_takes_the_byte_that_says_whether_it_is() {
        let bytes = |writes: Writes| postcard::to_stdvec(&writes).unwrap();
        assert_eq!(bytes(Writes::None), postcard::to_stdvec(&false).unwrap());
        assert_eq!(bytes(Writes::Resource), postcard::to_stdvec(&true).unwrap());
        assert_eq!(bytes(Writes::Store), [2]);
    }

    #[test]
    fn a_lock_that_cannot_write_inside_its_store_is_not_asked_to() {
        fn inside<Y: System>() -> Result<Setup<Y>, BadSetup> {
            let setup = Setup::<Y> {
                lock: Y::Settings::default(),
                store: Default::default(),
                servers: 1,
                workload: Workload { writes: Writes::Store, ..cassandra::workload(1, Calls::Lock) },
                promises: Default::default(),
            };
            unpack_setup(&pack_setup(&setup))
        }
        assert_eq!(inside::<CassandraQueue>().err(), Some(BadSetup::WritesInside));
        assert!(inside::<ZookeeperLock>().is_ok());
    }

    #[test]
    fn a_lock_that_excludes_everybody_is_not_asked_for_a_share() {
        let mut setup = Setup::<ZookeeperLock>::default();
        setup.workload.access = AccessChoice::ByClient([Access(1); AccessModes::MODES_MAX]);
        assert_eq!(setup.check(), Err(BadSetup::Access));
    }
}
