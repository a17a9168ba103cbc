//! The Redis locks.

use super::{Comparable, Walkable, Walked, walk_cases};
use picklock_model::claims::redis::{self as spaces, LONG_TICKS, TTL};
use picklock_model::explore::Space;
use picklock_model::locks::redis_single::{self as single, Fencing, RedisSingle, Release};
use picklock_model::locks::redlock::{
    Contact, DrawnFor, ElapsedClock, ExtendBy, Extension, Redlock, ValidityFrom,
};
use picklock_model::machine::{Lock, Message};
use picklock_model::stores::redis::{
    Effect, Eviction, ExpiryClock, Layout, Lifetime, Peer, Persistence, Redis, Tenant, TenantDoes,
};
use picklock_model::time::Micros;
use picklock_model::workload::{Calls, Writes};
use picklock_model::world::{Aim, TICK};
use picklock_properties::Promise;

impl Comparable for Redis {
    /// The plain cluster remembers how many steps ago a key was set: to the world they are within the tick.
    fn forget_hidden(message: &mut Message<Self>) {
        let round = |lifetime: &mut Lifetime| match lifetime {
            Lifetime::For(rest) => *rest = Micros(-(-rest.0).div_euclid(TICK.0) * TICK.0),
            Lifetime::Until(_) | Lifetime::Endless => {}
        };
        match message {
            Message::Peer(Peer::Change { effects, .. }) => {
                for effect in effects {
                    match effect {
                        Effect::Put(put) => round(&mut put.lifetime),
                        Effect::Remove(_) | Effect::Clear => {}
                    }
                }
            }
            Message::Peer(Peer::Snapshot { records, .. }) => {
                records.iter_mut().for_each(|put| round(&mut put.lifetime));
            }
            Message::Peer(Peer::Ping { .. } | Peer::Ack { .. } | Peer::Sync { .. } | Peer::Newer { .. })
            | Message::Request(_)
            | Message::Reply(_)
            | Message::Read { .. }
            | Message::Shown { .. }
            | Message::Write { .. }
            | Message::Written { .. } => {}
        }
    }
}

/// There are many variants, each of which is walked through.
fn walks_alike<L: Walkable>(space: Space<L>, is_interesting: fn(&Walked) -> bool) {
    walk_cases(120, space, is_interesting);
}

const PERSISTENCES: [Persistence; 4] =
    [Persistence::None, Persistence::AofEverySecond, Persistence::AofAlways, Persistence::Rdb];

/// Two clients of one server, twice; they hold longer than the key lives.
fn one(change: impl FnOnce(&mut Space<RedisSingle>)) -> Space<RedisSingle> {
    let mut space = spaces::redis_single(2, Calls::Lock, &[]);
    undisturbed(&mut space);
    change(&mut space);
    space
}

/// The same on three nodes.
fn many(change: impl FnOnce(&mut Space<Redlock>)) -> Space<Redlock> {
    let mut space = spaces::redlock(2, 3, Calls::Lock, &[]);
    undisturbed(&mut space);
    change(&mut space);
    space
}

/// Nothing is watched, so that no walk ends early.
fn undisturbed<L: Lock>(space: &mut Space<L>) {
    space.bounds.power_losses = 0;
    space.bounds.drifts = 0;
    space.setup.workload.rounds = 2;
}

fn pausing<L: Lock>(space: &mut Space<L>) {
    space.bounds.pauses = 3;
    space.bounds.pause_ticks = LONG_TICKS;
}

fn writing<L: Lock>(space: &mut Space<L>) {
    space.setup.workload.writes = Writes::Resource;
    space.setup.workload.resource_checks = true;
    space.setup.workload.hold = TICK;
}

/// As in the rows of failover: a master and replicas that miss it after two ticks, and clients that hold longer than
/// that takes.
fn failing_over(servers: u8, change: impl FnOnce(&mut Space<RedisSingle>)) -> Space<RedisSingle> {
    one(|space| {
        space.setup.servers = servers;
        space.setup.store.layout = Layout::Replicated { ping_period: TICK, down_after: Micros(2 * TICK.0) };
        space.setup.lock.request_timeout = Some(TICK);
        space.setup.lock.ttl = Some(TTL + Micros(4 * TICK.0));
        space.setup.workload.hold = Micros(5 * TICK.0);
        space.bounds.unhurried = false;
        space.bounds.server_crashes = 1;
        change(space);
    })
}

#[test]
fn one_server_whose_clients_pause() {
    let mut space = one(pausing);
    walks_alike(space.clone(), |walked| walked.grants > 100 && walked.ticks > 333 && walked.faults > 166);
    space.bounds.aim = Aim::Holding;
    space.bounds.latency_ticks = Some(2);
    walks_alike(space.clone(), |walked| walked.grants > 100 && walked.ticks > 333 && walked.faults > 66);
    space.bounds.pauses_suspend = true;
    space.bounds.drifts = 2;
    walks_alike(space, |walked| walked.grants > 100 && walked.ticks > 333 && walked.faults > 66);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn one_server_that_loses_power() {
    for persistence in PERSISTENCES {
        let mut space = one(|space| {
            space.bounds.power_losses = 3;
            space.setup.store.persistence = persistence;
            space.setup.lock.request_timeout = Some(Micros(2 * TICK.0));
        });
        walks_alike(space.clone(), |walked| walked.grants > 100 && walked.faults > 166);
        space.setup.store.restart_delay = Some(Micros(2 * TICK.0));
        space.bounds.latency_ticks = Some(1);
        walks_alike(space, |walked| walked.grants > 66 && walked.faults > 166);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn one_server_whose_wall_clock_is_set() {
    for (expiry_clock, ticks) in [
        (ExpiryClock::Wall, LONG_TICKS as i8),
        (ExpiryClock::Wall, 1),
        (ExpiryClock::Wall, -1),
        (ExpiryClock::Wall, -(LONG_TICKS as i8)),
        (ExpiryClock::Monotonic, -2),
        (ExpiryClock::Monotonic, 2),
    ] {
        let space = one(|space| {
            space.setup.store.expiry_clock = expiry_clock;
            space.setup.store.persistence = Persistence::AofEverySecond;
            space.bounds.server_clock_steps = 2;
            space.bounds.server_clock_step_ticks = ticks;
            space.bounds.power_losses = 1;
        });
        walks_alike(space, |walked| walked.grants > 66 && walked.faults > 166);
    }
}

#[test]
fn one_server_and_clocks_that_drift() {
    for expiry_clock in [ExpiryClock::Wall, ExpiryClock::Monotonic] {
        let space = one(|space| {
            space.setup.store.expiry_clock = expiry_clock;
            space.setup.store.persistence = Persistence::AofEverySecond;
            space.bounds.drifts = 5;
            space.bounds.drift_ticks = 2;
            space.bounds.power_losses = 1;
            space.bounds.server_clock_steps = 1;
            space.bounds.server_clock_step_ticks = -3;
        });
        walks_alike(space, |walked| walked.grants > 100 && walked.ticks > 166 && walked.faults > 333);
    }
}

#[test]
fn one_server_with_another_tenant() {
    let tenants = [
        (TenantDoes::Writes, Eviction::AllKeysLru, Some(1)),
        (TenantDoes::Writes, Eviction::AllKeysLru, Some(3)),
        (TenantDoes::Writes, Eviction::No, Some(2)),
        (TenantDoes::FlushesAll, Eviction::No, None),
    ];
    for (does, eviction, keys_max) in tenants {
        let space = one(|space| {
            space.setup.store.tenant = Some(Tenant { period: Micros(2 * TICK.0), does });
            space.setup.store.eviction = eviction;
            space.setup.store.keys_max = keys_max;
            space.setup.store.persistence = Persistence::AofEverySecond;
            space.setup.lock.fencing = Fencing::WithGrant;
            space.bounds.power_losses = 1;
            space.bounds.drifts = 2;
        });
        walks_alike(space, |walked| walked.grants > 16 && walked.ticks > 333 && walked.faults > 166);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn one_server_with_lost_and_doubled_messages() {
    for release in [Release::CompareAndDelete, Release::Delete, Release::GetThenDelete] {
        for fencing in [Fencing::None, Fencing::WithGrant, Fencing::AfterGrant] {
            let space = one(|space| {
                space.setup.lock.release = release;
                space.setup.lock.fencing = fencing;
                space.setup.lock.request_timeout = Some(Micros(2 * TICK.0));
                space.setup.lock.retry_choices = 2;
                space.bounds.losses = 3;
                space.bounds.duplicates = 2;
                space.bounds.latency_ticks = Some(1);
                space.bounds.crashes = 1;
            });
            walks_alike(space, |walked| walked.grants > 33 && walked.faults > 166 && walked.dismissed > 16);
        }
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn one_server_and_extensions() {
    for how in [ExtendBy::CompareAndExtend, ExtendBy::ExtendOrCreate] {
        for validity_margin in [Some(spaces::DRIFT_MARGIN), None] {
            let mut space = one(|space| {
                space.setup.lock.ttl = Some(TTL + TICK);
                space.setup.lock.validity_margin = validity_margin;
                space.setup.lock.request_timeout = Some(Micros(2 * TICK.0));
                space.setup.lock.extension = Some(single::Extension { lead: TICK, times_max: 2, how });
                space.setup.workload.hold = Micros(6 * TICK.0);
                pausing(space);
                space.bounds.losses = 1;
            });
            walks_alike(space.clone(), |walked| walked.grants > 66 && walked.faults > 166);
            space.bounds.latency_ticks = Some(1);
            space.bounds.power_losses = 2;
            space.setup.store.persistence = Persistence::None;
            walks_alike(space, |walked| walked.grants > 66 && walked.faults > 166);
        }
    }
}

#[test]
fn one_server_with_tokens_and_a_resource_that_restarts() {
    for forgets in [false, true] {
        let mut space = one(|space| {
            writing(space);
            pausing(space);
            space.bounds.resource_restarts = 2;
            space.setup.workload.resource_forgets = forgets;
            space.setup.lock.fencing = Fencing::WithGrant;
            space.setup.promises = [Promise::FencedResource, Promise::LeaseLoss].into_iter().collect();
        });
        walks_alike(space.clone(), |walked| walked.grants > 100 && walked.faults > 166);
        space.bounds.latency_ticks = Some(2);
        space.setup.lock.fencing = Fencing::AfterGrant;
        walks_alike(space, |walked| walked.grants > 66 && walked.faults > 166);
    }
}

#[test]
fn one_server_where_time_does_not_pass() {
    let space = one(|space| {
        space.setup.lock.ttl = None;
        space.setup.lock.retry_delay = Micros::ZERO;
        space.bounds.latency_ticks = None;
        space.bounds.crashes = 1;
        space.bounds.duplicates = 2;
        space.setup.workload.hold = Micros::ZERO;
        space.setup.store.persistence = Persistence::AofEverySecond;
        space.bounds.power_losses = 1;
    });
    walks_alike(space, |walked| walked.grants > 100 && walked.ticks == 0 && walked.faults > 166);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_master_that_dies() {
    for crashes_take_sent in [false, true] {
        for (servers, expiry_clock) in
            [(2, ExpiryClock::Wall), (3, ExpiryClock::Wall), (2, ExpiryClock::Monotonic)]
        {
            let space = failing_over(servers, |space| {
                space.bounds.crashes_take_sent = crashes_take_sent;
                space.setup.store.expiry_clock = expiry_clock;
            });
            walks_alike(space, |walked| walked.grants > 33 && walked.ticks > 333 && walked.faults > 33);
        }
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_master_that_loses_power_and_comes_back() {
    for persistence in PERSISTENCES {
        for restart_delay in [None, Some(Micros(4 * TICK.0))] {
            let space = failing_over(2, |space| {
                space.bounds.server_crashes = 0;
                space.bounds.power_losses = 3;
                space.setup.store.persistence = persistence;
                space.setup.store.restart_delay = restart_delay;
                space.setup.lock.fencing = Fencing::WithGrant;
            });
            walks_alike(space, |walked| walked.grants > 33 && walked.ticks > 333 && walked.faults > 166);
        }
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_master_and_a_replica_whose_clocks_differ() {
    for (ahead, step) in [(9, -2), (-9, 3), (0, -9), (0, 9), (3, -1)] {
        let space = failing_over(2, |space| {
            space.bounds.last_server_ahead_ticks = ahead;
            space.bounds.server_clock_steps = 2;
            space.bounds.server_clock_step_ticks = step;
            space.bounds.drifts = 2;
            space.bounds.drift_ticks = 1;
        });
        walks_alike(space, |walked| walked.grants > 33 && walked.ticks > 166 && walked.faults > 166);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_master_whose_replica_hears_too_little() {
    for waits_for_replicas in [false, true] {
        let space = failing_over(2, |space| {
            // A replica that is dead stops everybody who waits for it.
            space.bounds.server_crashes = u8::from(!waits_for_replicas);
            space.bounds.losses = 6;
            space.bounds.duplicates = 2;
            space.bounds.latency_ticks = Some(1);
            space.setup.lock.request_timeout = Some(Micros(3 * TICK.0));
            space.setup.lock.waits_for_replicas = waits_for_replicas;
        });
        walks_alike(space, |walked| walked.grants > 16 && walked.ticks > 333 && walked.faults > 333);
    }
}

#[test]
fn a_master_and_pauses_and_tokens_and_another_tenant() {
    let space = failing_over(2, |space| {
        pausing(space);
        writing(space);
        space.setup.lock.fencing = Fencing::WithGrant;
        space.setup.lock.waits_for_replicas = true;
        space.setup.store.tenant = Some(Tenant { period: Micros(2 * TICK.0), does: TenantDoes::Writes });
        space.setup.store.eviction = Eviction::AllKeysLru;
        space.setup.store.keys_max = Some(3);
        space.bounds.server_crashes = 0;
        space.bounds.power_losses = 2;
        space.bounds.resource_restarts = 1;
    });
    walks_alike(space, |walked| walked.grants > 16 && walked.ticks > 333 && walked.faults > 166);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn nodes_that_lose_power_and_clocks_that_drift() {
    for persistence in PERSISTENCES {
        for contact in [Contact::InTurn, Contact::AtOnce] {
            let mut space = many(|space| {
                space.setup.store.persistence = persistence;
                space.setup.lock.contact = contact;
                space.bounds.power_losses = 3;
                space.bounds.drifts = 3;
                space.bounds.drift_ticks = 1;
            });
            walks_alike(space.clone(), |walked| walked.grants > 33 && walked.faults > 166);
            space.setup.store.restart_delay = Some(Micros(i64::from(LONG_TICKS) * TICK.0));
            space.bounds.latency_ticks = Some(1);
            walks_alike(space, |walked| walked.grants > 16 && walked.faults > 166);
        }
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn nodes_whose_clients_pause() {
    for (validity_from, value) in
        [(ValidityFrom::Start, DrawnFor::PerCall), (ValidityFrom::Replies, DrawnFor::PerAttempt)]
    {
        let mut space = many(|space| {
            pausing(space);
            space.setup.lock.validity_from = validity_from;
            space.setup.lock.value = value;
            space.setup.lock.retry_choices = 2;
        });
        walks_alike(space.clone(), |walked| walked.grants > 33 && walked.faults > 166);
        space.bounds.aim = Aim::Asking;
        space.bounds.latency_ticks = Some(1);
        space.setup.lock.contact = Contact::AtOnce;
        walks_alike(space, |walked| walked.grants > 33 && walked.faults > 166);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn nodes_whose_wall_clocks_are_set() {
    for ticks in [LONG_TICKS as i8, 1, -1, -(LONG_TICKS as i8)] {
        let space = many(|space| {
            space.bounds.server_clock_steps = 3;
            space.bounds.server_clock_step_ticks = ticks;
            space.setup.lock.contact = Contact::AtOnce;
            space.bounds.power_losses = 1;
        });
        walks_alike(space, |walked| walked.grants > 33 && walked.faults > 166);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn nodes_whose_clients_measure_by_wall_clocks_that_are_set() {
    for ticks in [LONG_TICKS as i8, 1, -1, -(LONG_TICKS as i8)] {
        let mut space = many(|space| {
            space.bounds.clock_steps = 3;
            space.bounds.clock_step_ticks = ticks;
            space.setup.lock.elapsed_clock = ElapsedClock::Wall;
            space.setup.lock.contact = Contact::AtOnce;
        });
        walks_alike(space.clone(), |walked| walked.grants > 33 && walked.faults > 166);
        space.setup.lock.extension = Some(Extension {
            lead: TICK,
            times_max: 2,
            how: ExtendBy::CompareAndExtend,
            validity_from: ValidityFrom::Start,
        });
        space.setup.workload.hold = Micros(5 * TICK.0);
        space.bounds.drifts = 2;
        walks_alike(space, |walked| walked.grants > 33 && walked.faults > 166);
    }
}

/// What was due long before is due again when the clock has been set back, if it was not due for longer than that.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn moments_long_overdue_when_a_wall_clock_is_set_back() {
    for ticks in [-1, -2, -3] {
        let clients = many(|space| {
            pausing(space);
            space.bounds.aim = Aim::Holding;
            space.bounds.pauses = 6;
            space.bounds.clock_steps = 6;
            space.bounds.clock_step_ticks = ticks;
            space.setup.servers = 1;
            space.setup.workload.hold = Micros(8 * TICK.0);
            space.setup.workload.rounds = 4;
            space.setup.lock.elapsed_clock = ElapsedClock::Wall;
        });
        walks_alike(clients, |walked| walked.grants > 100 && walked.faults > 300);
        let server = one(|space| {
            space.bounds.drifts = 6;
            space.bounds.drift_ticks = 3;
            space.bounds.server_clock_steps = 6;
            space.bounds.server_clock_step_ticks = ticks;
            space.setup.workload.rounds = 4;
        });
        walks_alike(server, |walked| walked.grants > 100 && walked.faults > 300);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn nodes_of_which_one_crashes() {
    for crashes_take_sent in [false, true] {
        for contact in [Contact::InTurn, Contact::AtOnce] {
            let space = many(|space| {
                space.bounds.server_crashes = 1;
                space.bounds.crashes_take_sent = crashes_take_sent;
                space.setup.lock.contact = contact;
                space.bounds.latency_ticks = Some(1);
            });
            walks_alike(space, |walked| walked.grants > 33 && walked.faults > 33);
        }
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn nodes_and_extensions() {
    for how in [ExtendBy::CompareAndExtend, ExtendBy::ExtendOrCreate] {
        for validity_from in [ValidityFrom::Start, ValidityFrom::Replies] {
            for minds_validity in [true, false] {
                let space = many(|space| {
                    space.setup.lock.ttl = Some(TTL + TICK);
                    space.setup.lock.contact = Contact::AtOnce;
                    space.setup.lock.minds_validity = minds_validity;
                    space.setup.lock.extension =
                        Some(Extension { lead: Micros(2 * TICK.0), times_max: 2, how, validity_from });
                    space.setup.workload.hold = Micros(6 * TICK.0);
                    pausing(space);
                    space.bounds.aim = Aim::Holding;
                    space.bounds.losses = 1;
                    space.bounds.latency_ticks = Some(1);
                });
                walks_alike(space, |walked| walked.grants > 33 && walked.faults > 66);
            }
        }
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn nodes_with_lost_and_doubled_messages_and_counters() {
    for contact in [Contact::InTurn, Contact::AtOnce] {
        let space = many(|space| {
            writing(space);
            space.setup.lock.contact = contact;
            space.setup.lock.fencing = true;
            space.setup.lock.retry_choices = 2;
            space.bounds.losses = 3;
            space.bounds.duplicates = 3;
            space.bounds.crashes = 1;
            space.bounds.resource_restarts = 1;
            space.bounds.latency_ticks = Some(1);
            space.setup.promises = [Promise::MinValidity].into_iter().collect();
        });
        walks_alike(space, |walked| walked.grants > 16 && walked.faults > 166 && walked.dismissed > 16);
    }
}
