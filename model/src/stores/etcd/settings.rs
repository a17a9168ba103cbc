//! How members are configured, and their faults as knobs.

use crate::time::Micros;
use serde::{Deserialize, Serialize};

/// How the members are configured. The defaults are those of release 3.6.9 and of every later one up to now, August 2026.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// What survives a power loss.
    pub log: Log,
    /// The shortest time that a lease is granted for: one and a half elections, in whole seconds.
    pub lease_ttl_min: Micros,
    /// How often the leader looks which leases are over.
    pub expiry_interval: Micros,
    /// The time of an election, by which leases are prolonged when a leader begins.
    pub election_timeout: Micros,
    /// By which clock leases are counted (row E7).
    pub lease_clock: LeaseClock,
    /// What a keep-alive is answered whose lease ends meanwhile (row E10).
    pub keep_alives: KeepAlives,
    /// For how long events are kept.
    pub history: History,
    /// How often a leader tells that it lives, and all members count how long they have heard of none, on their monotonic
    /// clocks (`--heartbeat-interval`). `None`: they do not, and the first member leads for good; then no message between
    /// members may be lost, and no member crash.
    pub tick: Option<Micros>,
    /// Whether the leader waits for a quorum.
    pub quorums: Quorums,
    /// What a leader does before it ends leases when it was not told of the time for three ticks (row E5).
    pub revoke_office: Office,
    /// What it does then before it keeps one alive (row E6).
    pub keep_alive_office: Office,
    /// How often a leader tells the others what is left of leases that last longer than that (`--feature-gates
    /// LeaseCheckpoint=true,LeaseCheckpointPersist=true`, every five minutes). `None`: never, and every new leader gives them
    /// their full time (row E8).
    pub checkpoints: Option<Micros>,
    /// How a leader makes sure that a read is not stale (row E9).
    pub read_index: ReadIndex,
    /// Disks that get stuck.
    pub stalls: Option<Stalls>,
    /// How often an operator has the leader hand its office over (`etcdctl move-leader`): a cluster that is maintained all the time.
    pub handovers: Option<Micros>,
    /// For tests of tests: how the members break their own contract.
    pub flaw: Flaw,
}

impl Settings {
    /// How many ticks an election lasts.
    pub(super) fn election_ticks(&self) -> u8 {
        let ticks = self.tick.map_or(1, |tick| self.election_timeout.0 / tick.0.max(1));
        ticks.clamp(1, 100) as u8
    }
}

/// Whether the leader waits for a quorum before it takes something for committed, or itself for the leader.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Quorums {
    /// It does.
    #[default]
    Awaited,
    /// It takes it for granted, and is told of no follower's log. For the exhaustive engine and members among which nothing fails:
    /// all that is left of them is how far the others are behind.
    Assumed,
}

/// What a member that may lead no more does before it acts as a leader.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Office {
    /// It has a quorum confirm that it leads (`ensureLeadership`; 3.4.31 and 3.5.13, #16822).
    #[default]
    Confirmed,
    /// It acts: nobody has told it otherwise.
    Assumed,
}

/// How a leader makes sure that a read is not stale.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ReadIndex {
    /// A quorum confirms that it leads. A read that is asked again has another number (3.4.42, 3.5.28, 3.6.9).
    #[default]
    NumberedAnew,
    /// A quorum confirms; a read that is asked again has the number it had. An old word for the first asking then confirms what
    /// stands before the second one, however new it is (#20418).
    NumberedOnce,
    /// Nobody confirms (#741, in the time before version 3).
    Unconfirmed,
}

/// Disks that get stuck: `fdatasync` takes its time. Raft hears messages meanwhile; nothing of what comes of them reaches the
/// rest of the member, or another. What does not go through Raft goes on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Stalls {
    /// Of so many messages that make a member write, one makes its disk get stuck, by chance.
    pub one_in: u32,
    /// For how long.
    pub lasts: Micros,
}

/// A way to break the contract, for tests that must find it.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Flaw {
    /// None: the real members.
    #[default]
    None,
    /// The leader commits what nobody has but itself.
    CommitsAlone,
    /// A member votes for everybody who asks.
    VotesTwice,
    /// A member votes for somebody whose log ends before its own.
    VotesForShortLogs,
    /// A new leader counts a lease's time from when it begins, with nothing for what the election took.
    PromotesWithoutExtension,
}

/// For how long events are kept.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum History {
    /// Until they are compacted.
    #[default]
    Kept,
    /// In the exhaustive engine, as long as an answer or a watch is under way that may still ask for them. For users that
    /// watch from the revision of their last answer on, read no past, and never begin a watch again: they cannot tell
    /// the difference, and there are fewer states.
    WhileUnderWay,
}

/// What survives a power loss. The end of the process alone costs nothing but the time it takes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Log {
    /// The log is on the disk before anybody is told.
    #[default]
    Synced,
    /// It is written when the operating system likes (`--unsafe-no-fsync`): the worst case, never. The member begins anew.
    Unsynced,
}

/// By which clock leases are counted.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum LeaseClock {
    /// One that never steps.
    #[default]
    Monotonic,
    /// The wall clock: a step ends leases (etcd before it was built with Go 1.9; 4136df793).
    Wall,
}

/// What a keep-alive is answered whose lease ends meanwhile.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum KeepAlives {
    /// The answer waits for the end of a lease that is over; and who has waited for a checkpoint looks again whether the lease is there
    /// (943f4d296, 3.5.23 and 3.6.5).
    #[default]
    WaitForTheEnd,
    /// That all is well, though the end is on its way (before 279c10351, 3.1).
    AnswerAtOnce,
    /// Who has waited for a checkpoint answers that all is well, without another look (before 943f4d296, whose test is f8f1074b4).
    LookOnce,
    /// Who has waited for a checkpoint asks again whether the lease is over, and waits for its end then. No release does that.
    AskAgain,
}

impl Default for Settings {
    /// The real ones' defaults: heartbeats of 100 ms, elections of a second.
    fn default() -> Settings {
        Settings {
            log: Log::Synced,
            lease_ttl_min: Micros::seconds(2),
            expiry_interval: Micros::millis(500),
            election_timeout: Micros::seconds(1),
            lease_clock: LeaseClock::Monotonic,
            keep_alives: KeepAlives::WaitForTheEnd,
            history: History::Kept,
            tick: Some(Micros::millis(100)),
            quorums: Quorums::Awaited,
            revoke_office: Office::Confirmed,
            keep_alive_office: Office::Confirmed,
            checkpoints: None,
            read_index: ReadIndex::NumberedAnew,
            stalls: None,
            handovers: None,
            flaw: Flaw::None,
        }
    }
}
