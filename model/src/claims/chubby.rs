//! The spaces in which the locks of a Chubby cell are judged, and those of Consul: the bases that the claims speak of, and how each
//! assumption is dropped from them.
//!
//! The base has no time: sessions that do not end, calls that are waited for; each client locks twice. Whatever makes time
//! matter brings leases along, in ticks of a second: one lasts [`LEASE`], of which its client counts on all but a tick, for two
//! things within a tick come in any order. There is no lock-delay unless a space says so: what it is worth is seen beside that.

use super::Assumption;
use super::cassandra::workload;
use super::surroundings::majority_down;
use crate::cluster::Setup;
use crate::explore::Space;
use crate::locks::chubby_lock::{self, ChubbyLock, OnJeopardy, Wait};
use crate::stores::chubby::session::{Count, NextKeepAlive, SessionSettings, Unanswered};
use crate::stores::chubby::{self as store, KeepAlives};
use crate::time::Micros;
use crate::workload::{Calls, Workload};
use crate::world::{Bounds, TICK};
use picklock_properties::{Promise, PromiseSet};

/// How long a lease lasts in small models.
pub const LEASE: Micros = Micros(3 * TICK.0);

/// How long the grace period is.
pub const GRACE: Micros = Micros(2 * TICK.0);

/// How long a pause, a hold, or a step of a clock must be to outlast every lease.
pub const LONG_TICKS: u8 = 5;

/// How a client holds its session in small models: it counts a tick less than the lease, from the sending.
pub const SESSION: SessionSettings = SessionSettings {
    lease: Some(LEASE),
    count: Count::FromSending,
    margin: TICK,
    grace: GRACE,
    next: NextKeepAlive::AtOnce,
    unanswered: Unanswered::InJeopardy(TICK),
    request_timeout: None,
};

/// A lock of a cell; nothing is lost, nobody dies, no session ends.
pub fn chubby_lock(clients: u8, calls: Calls, promises: &[Promise]) -> Space<ChubbyLock> {
    Space {
        setup: Setup {
            lock: chubby_lock::Settings::timeless(),
            store: store::Settings::CHUBBY,
            servers: 1,
            workload: Workload { rounds: 2, ..workload(clients, calls) },
            promises: promises.iter().copied().collect::<PromiseSet>(),
        },
        bounds: Bounds::default(),
    }
}

/// The same in ticks, with leases that end.
pub fn chubby_leases(clients: u8, calls: Calls, promises: &[Promise]) -> Space<ChubbyLock> {
    let mut space = chubby_lock(clients, calls, promises);
    with_leases(&mut space);
    space
}

/// Drops an assumption of the lock's claims. Several may be dropped, one after the other.
pub fn drop_from_chubby(space: &mut Space<ChubbyLock>, assumption: Assumption) {
    match assumption {
        Assumption::NoExpiry => with_leases(space),
        // What the dead hold stays theirs, unless leases end.
        Assumption::NoCrash => space.bounds.crashes = 1,
        // Without leases that end there is no time to stop in.
        Assumption::StopsInTime => {
            with_leases(space);
            space.setup.lock.on_jeopardy = OnJeopardy::GoOn;
        }
        Assumption::NoDuplicate => space.bounds.duplicates = 1,
        Assumption::NoPause | Assumption::NoSuspend => {
            with_leases(space);
            space.bounds.pauses_suspend |= assumption == Assumption::NoSuspend;
            space.bounds.pauses = 1;
            space.bounds.pause_ticks = LONG_TICKS;
        }
        Assumption::NoLoss => {
            with_leases(space);
            with_repeats(space);
            space.bounds.losses = 1;
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
        // The database is on more than one disk, and is kept: what is lost is the master's memory.
        Assumption::NoFailOver => {
            with_leases(space);
            with_repeats(space);
            space.bounds.power_losses = 1;
        }
        Assumption::MajorityUp => space.bounds.server_crashes = majority_down(space.setup.servers),
        // The base has two rounds.
        Assumption::FreeAtStart
        | Assumption::Durable
        | Assumption::UniqueIds
        | Assumption::NoClockFreeze
        | Assumption::QuorumsMeet
        | Assumption::ReadAfterAck
        | Assumption::KeysExpire
        | Assumption::KeysKept => {}
    }
}

/// How long a TTL of Consul is; the leader keeps a session for twice that.
pub const TTL: Micros = Micros(3 * TICK.0);

/// How long a pause must be to outlast a session of Consul's.
pub const CONSUL_LONG_TICKS: u8 = 8;

/// How many losses it takes, in a row, to end a session of Consul's under its holder: all that renews it in one TTL, after which nothing
/// is sent any more.
pub const CONSUL_LOSSES: u8 = 3;

/// A lock of Consul's, in ticks, as these settings have it but for the lengths: a renewal each tick, an attempt each tick, no
/// lock-delay.
pub fn consul_lock(
    clients: u8,
    calls: Calls,
    promises: &[Promise],
    lock: chubby_lock::Settings,
) -> Space<ChubbyLock> {
    let mut space = chubby_lock(clients, calls, promises);
    let session = SessionSettings {
        lease: Some(TTL),
        margin: TICK,
        grace: TTL,
        next: NextKeepAlive::After(TICK),
        unanswered: Unanswered::WithinTtl(TICK),
        request_timeout: Some(TICK),
        ..lock.session
    };
    let (wait, lock_delay) = (Wait::AtHome(TICK), Micros::ZERO);
    space.setup.lock = chubby_lock::Settings { session, wait, lock_delay, ..lock };
    space.setup.store = store::Settings::CONSUL;
    space.setup.workload.rounds = 1;
    with_leases(&mut space);
    space
}

/// [`drop_from_chubby`] for a space of Consul's.
pub fn drop_from_consul(space: &mut Space<ChubbyLock>, assumption: Assumption) {
    drop_from_chubby(space, assumption);
    if matches!(assumption, Assumption::NoPause | Assumption::NoSuspend) {
        space.bounds.pause_ticks = CONSUL_LONG_TICKS;
    }
    if assumption == Assumption::StopsInTime {
        // Its grace period, too, is over before the leader ends the session: who counts nothing goes on.
        space.setup.lock.session.count = Count::NotAtAll;
    }
    if assumption == Assumption::BoundedDrift {
        // What the leader keeps a session for, in ticks.
        space.bounds.drifts = (2 * TTL.0 / TICK.0) as u8;
    }
}

/// Only who waits in vain for an answer asks again.
fn with_repeats(space: &mut Space<ChubbyLock>) {
    space.setup.lock.session.request_timeout = Some(TICK);
}

fn with_leases(space: &mut Space<ChubbyLock>) {
    let session = &mut space.setup.lock.session;
    if session.lease.is_none() {
        *session = SessionSettings { request_timeout: session.request_timeout, ..SESSION };
    }
    if let KeepAlives::Held { until_left } = &mut space.setup.store.keep_alives {
        // A tick before the client's own count is over.
        *until_left = Micros(2 * TICK.0);
    }
    space.bounds.latency_ticks = Some(0);
    space.bounds.unhurried = true;
}
