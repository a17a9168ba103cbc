//! The spaces in which etcd's locks are judged: the base that the claims speak of, and how each assumption is dropped from it.
//!
//! The base has no time: leases that do not end, calls that are waited for; each client locks twice. Whatever makes time
//! matter brings leases along, in ticks of a second: one lasts [`LEASE`] without a keep-alive, which is sent every
//! tick, and a call is given up after a tick.

use super::Assumption;
use super::cassandra::workload;
use super::surroundings::majority_down;
use crate::cluster::Setup;
use crate::explore::Space;
use crate::locks::etcd_election::{self, EtcdElection};
use crate::locks::etcd_keys::{Fence, OnDone};
use crate::locks::etcd_lease_key::{self, EtcdLeaseKey};
use crate::locks::etcd_mutex::{self, EtcdMutex};
use crate::machine::Lock;
use crate::stores::etcd::session::{Deadline, SessionSettings};
use crate::stores::etcd::{self as store, Etcd, History, Log, Quorums};
use crate::time::Micros;
use crate::workload::{Calls, Workload};
use crate::world::{Bounds, TICK};
use picklock_properties::{Promise, PromiseSet};

/// How long a lease lasts in small models.
pub const LEASE: Micros = Micros(3 * TICK.0);

/// How long a pause, a hold, or a step of a clock must be to outlast every lease.
pub const LONG_TICKS: u8 = 5;

/// How a client holds its session in small models: as the library does, in ticks.
pub const SESSION: SessionSettings = SessionSettings {
    ttl: Some(LEASE),
    deadline: Deadline::FromReply,
    margin: Micros::ZERO,
    deadline_interval: TICK,
    first_deadline: LEASE,
    retry_interval: TICK,
    request_timeout: Some(TICK),
    dial_keep_alive: None,
};

/// The same with a client that counts its lease's time from what it has sent, and less of it: by a tick, for two things within
/// a tick come in any order.
pub const CAREFUL_SESSION: SessionSettings = SessionSettings {
    deadline: Deadline::FromSending,
    margin: TICK,
    deadline_interval: Micros::ZERO,
    ..SESSION
};

/// A lock on etcd that is held for as long as a session goes on.
pub trait InSession: Lock<Store = Etcd> {
    /// As it is written, with leases that do not end, and calls that are waited for.
    const TIMELESS: Self::Settings;

    /// How its clients hold their session.
    fn session(settings: &mut Self::Settings) -> &mut SessionSettings;

    /// What a holder does when its session is done.
    fn on_done(settings: &mut Self::Settings) -> &mut OnDone;

    /// What keeps out the write of a holder whose time is over.
    fn fence(settings: &mut Self::Settings) -> &mut Fence;
}

impl InSession for EtcdMutex {
    const TIMELESS: etcd_mutex::Settings = etcd_mutex::Settings::timeless();

    fn session(settings: &mut etcd_mutex::Settings) -> &mut SessionSettings {
        &mut settings.session
    }

    fn on_done(settings: &mut etcd_mutex::Settings) -> &mut OnDone {
        &mut settings.on_done
    }

    fn fence(settings: &mut etcd_mutex::Settings) -> &mut Fence {
        &mut settings.fence
    }
}

impl InSession for EtcdElection {
    const TIMELESS: etcd_election::Settings = etcd_election::Settings::timeless();

    fn session(settings: &mut etcd_election::Settings) -> &mut SessionSettings {
        &mut settings.session
    }

    fn on_done(settings: &mut etcd_election::Settings) -> &mut OnDone {
        &mut settings.on_done
    }

    fn fence(settings: &mut etcd_election::Settings) -> &mut Fence {
        &mut settings.fence
    }
}

impl InSession for EtcdLeaseKey {
    const TIMELESS: etcd_lease_key::Settings = etcd_lease_key::Settings::timeless();

    fn session(settings: &mut etcd_lease_key::Settings) -> &mut SessionSettings {
        &mut settings.session
    }

    fn on_done(settings: &mut etcd_lease_key::Settings) -> &mut OnDone {
        &mut settings.on_done
    }

    fn fence(settings: &mut etcd_lease_key::Settings) -> &mut Fence {
        &mut settings.fence
    }
}

/// A lock as it is written, on one member; nothing is lost, nobody dies, no lease ends.
pub fn on_etcd<L: InSession>(clients: u8, calls: Calls, promises: &[Promise]) -> Space<L> {
    Space {
        setup: Setup {
            lock: L::TIMELESS,
            store: store::Settings { history: History::WhileUnderWay, ..store::Settings::default() },
            servers: 1,
            workload: Workload { rounds: 2, ..workload(clients, calls) },
            promises: promises.iter().copied().collect::<PromiseSet>(),
        },
        bounds: Bounds::default(),
    }
}

/// The same in ticks, with leases that end.
pub fn on_etcd_with_leases<L: InSession>(clients: u8, calls: Calls, promises: &[Promise]) -> Space<L> {
    let mut space = on_etcd(clients, calls, promises);
    with_leases(&mut space);
    space
}

/// The same store with so many members. They elect a leader where time passes or members die; else the first one leads for good,
/// its word is everybody's, and what is left of the others is how far they are behind.
pub fn among<L: InSession>(members: u8, space: &mut Space<L>) {
    space.setup.servers = members;
    let Bounds { latency_ticks, server_crashes, power_losses, .. } = space.bounds;
    let elects = latency_ticks.is_some() || server_crashes > 0 || power_losses > 0;
    if elects && latency_ticks.is_none() {
        // Elections take time: without it no member ever misses the leader.
        with_leases(space);
    }
    space.setup.store.tick = elects.then_some(TICK);
    space.setup.store.election_timeout = Micros(2 * TICK.0);
    space.setup.store.quorums = if elects { Quorums::Awaited } else { Quorums::Assumed };
}

/// [`on_etcd`], of the mutex.
pub fn etcd_mutex(clients: u8, calls: Calls, promises: &[Promise]) -> Space<EtcdMutex> {
    on_etcd(clients, calls, promises)
}

/// [`on_etcd_with_leases`], of the mutex.
pub fn etcd_leases(clients: u8, calls: Calls, promises: &[Promise]) -> Space<EtcdMutex> {
    on_etcd_with_leases(clients, calls, promises)
}

/// Drops an assumption of the lock's claims. Several may be dropped, one after the other.
pub fn drop_from_etcd<L: InSession>(space: &mut Space<L>, assumption: Assumption) {
    match assumption {
        Assumption::NoExpiry => with_leases(space),
        // What the dead leave behind stays, unless leases end.
        Assumption::NoCrash => space.bounds.crashes = 1,
        // Without leases that end there is no time to stop in.
        Assumption::StopsInTime => {
            with_leases(space);
            *L::on_done(&mut space.setup.lock) = OnDone::GoOn;
        }
        Assumption::NoDuplicate => space.bounds.duplicates = 1,
        Assumption::NoPause | Assumption::NoSuspend => {
            with_leases(space);
            space.bounds.pauses_suspend |= assumption == Assumption::NoSuspend;
            space.bounds.pauses = 1;
            space.bounds.pause_ticks = LONG_TICKS;
        }
        // Only who waits in vain for an answer asks again.
        Assumption::NoLoss => {
            with_leases(space);
            space.bounds.losses = 2;
        }
        Assumption::NoServerClockStep => {
            with_leases(space);
            space.bounds.server_clock_steps = 1;
            space.bounds.server_clock_step_ticks = LONG_TICKS as i8;
        }
        Assumption::NoClockStep => {
            with_leases(space);
            space.bounds.clock_steps = 1;
            space.bounds.clock_step_ticks = -(LONG_TICKS as i8);
        }
        Assumption::ClocksAgree => {
            with_leases(space);
            space.bounds.let_clocks_disagree(LONG_TICKS);
        }
        Assumption::BoundedDrift => {
            with_leases(space);
            space.bounds.drifts = 3;
            space.bounds.drift_ticks = 1;
        }
        Assumption::Durable => {
            with_leases(space);
            space.setup.store.log = Log::Unsynced;
            space.bounds.power_losses = 1;
        }
        Assumption::MajorityUp => space.bounds.server_crashes = majority_down(space.setup.servers),
        // The base has two rounds.
        Assumption::FreeAtStart
        | Assumption::UniqueIds
        | Assumption::NoClockFreeze
        | Assumption::QuorumsMeet
        | Assumption::ReadAfterAck
        | Assumption::KeysExpire
        | Assumption::KeysKept
        | Assumption::NoFailOver => {}
    }
}

fn with_leases<L: InSession>(space: &mut Space<L>) {
    let session = L::session(&mut space.setup.lock);
    if session.ttl.is_none() {
        let is_careful = session.deadline == Deadline::FromSending;
        *session = if is_careful { CAREFUL_SESSION } else { SESSION };
    }
    // A watch of which nothing is heard for a tick is begun again.
    space.setup.store.history = History::Kept;
    // The member looks at every moment: what ends within a tick is seen to have ended before the tick is over.
    space.setup.store.expiry_interval = Micros::ZERO;
    space.bounds.latency_ticks = Some(0);
    space.bounds.unhurried = true;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::{Limits, Verdict, search};

    /// Two clients that lock once, each with a member of its own, of which the first leads. With a third member, whom nobody asks,
    /// there are more than three million states: that was not gone through.
    fn behind<L: InSession>() -> (Verdict, u64) {
        let mut space = on_etcd::<L>(2, Calls::Lock, &[Promise::MutualExclusion]);
        space.setup.workload.rounds = 1;
        among(2, &mut space);
        let exploration = search(&space, &Limits::states(1_000_000));
        (exploration.verdict, exploration.states)
    }

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn a_member_that_is_behind_as_it_likes_breaks_no_lock() {
        assert_eq!(behind::<EtcdMutex>(), (Verdict::Verified, 115_864));
        assert_eq!(behind::<EtcdElection>(), (Verdict::Verified, 120_241));
        assert_eq!(behind::<EtcdLeaseKey>(), (Verdict::Verified, 251_236));
    }
}
