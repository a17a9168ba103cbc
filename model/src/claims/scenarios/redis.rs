//! The rows of Redis and Redlock, and of fencing tokens.

mod hunts;

use super::{Hunt, Scenario, Search};
use crate::claims::redis::{
    self as spaces, LONG_TICKS, TTL, readers_writer, redis_single, redlock, semaphore,
};
use crate::claims::{Assumption, Judgement, NamedSpace, pack_setup};
use crate::explore::{Draws, Goal, Space};
use crate::locks::redis_readers_writer::{self as shared, Readers};
use crate::locks::redis_semaphore::{self as permits, Stamps, Take};
use crate::locks::redis_single::{self as single, Fencing, RedisSingle, Release};
use crate::locks::redlock::{
    Contact, DrawnFor, ElapsedClock, ExtendBy, Extension, Redlock, Settles, ValidityFrom,
};
use crate::machine::Lock;
use crate::stores::redis::{Eviction, ExpiryClock, Layout, Persistence, Tenant, TenantDoes};
use crate::time::Micros;
use crate::workload::{Calls, ROUNDS_WITHOUT_END, Writes};
use crate::world::{Aim, TICK, WITHOUT_END};
use picklock_properties::{ClientId, Promise};

/// The rows, in the order of the catalogue.
pub(super) fn scenarios() -> Vec<Scenario> {
    let mut rows = vec![r1(), r2(), r3(), r4(), r5(), r7(), r8(), r9(), r10(), r11(), r12()];
    rows.extend([r15(), r16(), r18(), r19(), r20(), r21(), r23(), r24(), r25(), r28()]);
    rows.extend([r29(), r30(), r31(), r32(), r33(), r34()]);
    rows.extend([f1(), f2(), f3(), f4()]);
    rows
}

// Time, and what clients do with it.

fn r1() -> Scenario {
    let mut fenced = redis_single(2, Calls::TryLock, &[Promise::FencedResource]);
    fenced.setup.lock.fencing = Fencing::WithGrant;
    checked(&mut fenced);
    fenced.bounds.pauses = 1;
    fenced.bounds.pause_ticks = LONG_TICKS;
    fenced.bounds.aim = Aim::Holding;
    Scenario {
        id: "R1",
        story: "the holder pauses for longer than its lock is valid, and another client takes it",
        breaks: Promise::MutualExclusion,
        search: safety(on_three_nodes(|space| {
            without_faults(space);
            spaces::drop_from_redlock(space, Assumption::NoPause);
            space.bounds.aim = Aim::Holding;
        })),
        fix: "fencing token drawn with the grant, checked by the resource: two may believe to hold, only the later one \
              can write",
        fix_search: safety_single(fenced),
        note: "repaired on one instance: Redlock has no such token, and the largest counter of a quorum does not always grow (row F4)",
        hunt: Some(hunts::r1()),
        ..REDIS
    }
}

fn r2() -> Scenario {
    let space = |from| {
        safety(on_three_nodes(|space| {
            spaces::drop_from_redlock(space, Assumption::NoPause);
            space.bounds.aim = Aim::Asking;
            space.setup.lock.validity_from = from;
        }))
    };
    Scenario {
        id: "R2",
        story: "the client counts the lock's validity from the last reply on, and not from its first request",
        breaks: Promise::MutualExclusion,
        search: space(ValidityFrom::Replies),
        fix: "step 3 of the algorithm: the elapsed time is taken off",
        fix_search: space(ValidityFrom::Start),
        hunt: Some(hunts::r2()),
        ..REDIS
    }
}

fn r3() -> Scenario {
    let space = |expiry_clock| {
        safety(on_three_nodes(|space| {
            spaces::drop_from_redlock(space, Assumption::NoServerClockStep);
            space.setup.store.expiry_clock = expiry_clock;
        }))
    };
    Scenario {
        id: "R3",
        story: "a node's wall clock jumps past the TTL: the key that completes the holder's majority is dead, and another \
                client completes one with it",
        breaks: Promise::MutualExclusion,
        search: space(ExpiryClock::Wall),
        fix: "expiry by the monotonic clock",
        fix_search: space(ExpiryClock::Monotonic),
        hunt: Some(hunts::r3()),
        ..REDIS
    }
}

fn r9() -> Scenario {
    let space = |clock| {
        safety(on_three_nodes(|space| {
            spaces::drop_from_redlock(space, Assumption::NoClockStep);
            space.setup.lock.elapsed_clock = clock;
        }))
    };
    Scenario {
        id: "R9",
        story: "the client measures by its wall clock, which steps back: too little seems to have passed, and the lock \
                seems valid when its keys are gone",
        breaks: Promise::MutualExclusion,
        search: space(ElapsedClock::Wall),
        fix: "the client measures by its monotonic clock",
        fix_search: space(ElapsedClock::Monotonic),
        hunt: Some(hunts::r9()),
        ..REDIS
    }
}

fn r10() -> Scenario {
    let space = |margin_ticks: i64| {
        safety(on_three_nodes(|space| {
            space.bounds.drifts = 3;
            let lock = &mut space.setup.lock;
            lock.ttl = Some(TTL + Micros(2 * TICK.0));
            lock.drift_margin = Micros(margin_ticks * TICK.0) - Micros::millis(1);
        }))
    };
    Scenario {
        id: "R10",
        story: "clocks drift apart by more than the margin allows: the keys die while the client takes its lock for valid",
        breaks: Promise::MutualExclusion,
        search: space(2),
        fix: "a larger margin",
        fix_search: space(4),
        note: "the margin must cover the drift over a whole TTL, and the time that the holder needs to stop",
        hunt: Some(hunts::r10()),
        ..REDIS
    }
}

fn r16() -> Scenario {
    let space = |from| {
        let mut space = redlock(2, 1, Calls::TryLock, &[Promise::MutualExclusion]);
        without_faults(&mut space);
        space.bounds.latency_ticks = Some(3);
        space.setup.workload.hold = Micros(12 * TICK.0);
        let lock = &mut space.setup.lock;
        lock.ttl = Some(TTL + Micros(2 * TICK.0));
        lock.node_timeout = None;
        lock.extension = Some(Extension {
            lead: Micros(3 * TICK.0),
            times_max: 1,
            how: ExtendBy::CompareAndExtend,
            validity_from: from,
        });
        safety(space)
    };
    Scenario {
        id: "R16",
        story: "the replies to an extension are slow, and the client counts the new validity from when they came",
        breaks: Promise::MutualExclusion,
        search: space(ValidityFrom::Replies),
        fix: "as at acquisition: from before the extension was sent",
        fix_search: space(ValidityFrom::Start),
        hunt: Some(hunts::r16()),
        ..REDIS
    }
}

// Servers that forget.

fn r4() -> Scenario {
    let space = |restart_delay| {
        safety(on_three_nodes(|space| {
            space.setup.store.persistence = Persistence::None;
            space.setup.store.restart_delay = restart_delay;
        }))
    };
    Scenario {
        id: "R4",
        story: "a node of the holder's majority restarts empty, and another client completes a majority with it",
        breaks: Promise::MutualExclusion,
        search: space(None),
        fix: "delayed restart: the node stays away for a tick more than the TTL",
        fix_search: space(Some(Micros(i64::from(LONG_TICKS) * TICK.0))),
        hunt: Some(hunts::r4()),
        ..REDIS
    }
}

fn r5() -> Scenario {
    let space = |persistence| safety(on_three_nodes(|space| space.setup.store.persistence = persistence));
    Scenario {
        id: "R5",
        story: "a power loss takes the last second of a node's AOF, and with it the key",
        breaks: Promise::MutualExclusion,
        search: space(Persistence::AofEverySecond),
        fix: "AOF always",
        fix_search: space(Persistence::AofAlways),
        hunt: Some(hunts::r5()),
        ..REDIS
    }
}

fn r23() -> Scenario {
    let space = |eviction| {
        let mut space = redis_single(2, Calls::TryLock, &[Promise::MutualExclusion]);
        space.setup.store.keys_max = Some(1);
        space.setup.store.tenant = Some(Tenant { period: TICK, does: TenantDoes::Writes });
        space.setup.store.eviction = eviction;
        safety_single(space)
    };
    Scenario {
        id: "R23",
        story: "the memory is full, and the lock's key is evicted for somebody else's",
        breaks: Promise::MutualExclusion,
        search: space(Eviction::AllKeysLru),
        fix: "noeviction: whoever wants more memory is turned down",
        fix_search: space(Eviction::No),
        note: "FLUSHALL does the same, and no setting helps: picklock check redlock --drop keys-kept",
        hunt: Some(hunts::r23()),
        ..REDIS
    }
}

// Failover.

fn r7() -> Scenario {
    let mut space = failing_over(Promise::MutualExclusion);
    space.bounds.crashes_take_sent = true;
    let mut masters = on_three_nodes(without_faults);
    masters.bounds.server_crashes = 1;
    masters.bounds.crashes_take_sent = true;
    Scenario {
        id: "R7",
        story: "the master dies before its replica has heard of the lock, the replica is promoted, and another client takes \
                the lock there",
        breaks: Promise::MutualExclusion,
        search: safety_named("redis-failover", space),
        fix: "independent masters (Redlock)",
        fix_search: safety(masters),
        hunt: Some(hunts::r7()),
        ..REDIS
    }
}

fn r8() -> Scenario {
    // The master's process ends, but what it has said arrives: row R7 does not happen here.
    let mut space = failing_over(Promise::MutualExclusion);
    space.bounds.crashes_keep_sent = true;
    space.bounds.last_server_ahead_ticks = FAILOVER_LONG_TICKS;
    let mut masters = on_three_nodes(without_faults);
    masters.bounds.server_crashes = 1;
    masters.bounds.last_server_ahead_ticks = FAILOVER_LONG_TICKS;
    Scenario {
        id: "R8",
        story: "the replica's clock is ahead: the key arrives with a moment of death that has passed there, and after the \
                failover the lock is free",
        breaks: Promise::MutualExclusion,
        search: safety_named("redis-failover", space),
        fix: "independent masters (Redlock)",
        fix_search: safety(masters),
        note: "where clocks agree, the master that was succeeded comes back, and lets somebody in before anybody has told it (20 \
               steps): what is replicated in time is not enough",
        ..REDIS
    }
}

// How a lock is given back.

fn r11() -> Scenario {
    release(
        "R11",
        Release::Delete,
        "the holder's DEL comes late, and deletes the key of the next one",
        hunts::r11(),
    )
}

fn r12() -> Scenario {
    release(
        "R12",
        Release::GetThenDelete,
        "between the holder's GET and its DEL the key expires and becomes another's, and is deleted",
        hunts::r12(),
    )
}

fn release(id: &'static str, flaw: Release, story: &'static str, hunt: Hunt) -> Scenario {
    let space = |release| {
        let mut space = redis_single(3, Calls::TryLock, &[Promise::MutualExclusion]);
        space.bounds.power_losses = 0;
        space.bounds.drifts = 0;
        space.bounds.latency_ticks = Some(2);
        space.setup.lock.ttl = Some(Micros::millis(2999));
        space.setup.lock.validity_margin = Some(Micros::millis(999));
        space.setup.lock.release = release;
        space.setup.workload.hold = Micros::ZERO;
        safety_single(space)
    };
    Scenario {
        id,
        story,
        breaks: Promise::MutualExclusion,
        search: space(flaw),
        fix: "the compare-and-delete script",
        fix_search: space(Release::CompareAndDelete),
        hunt: Some(hunt),
        ..REDIS
    }
}

fn r15() -> Scenario {
    let space = |how| {
        let mut space = redis_single(2, Calls::TryLock, &[Promise::LeaseLoss]);
        spaces::drop_from_redis_single(&mut space, Assumption::NoPause);
        space.bounds.aim = Aim::Holding;
        space.setup.lock.extension = Some(single::Extension { lead: TICK, times_max: 1, how });
        safety_single(space)
    };
    Scenario {
        id: "R15",
        story: "the extension makes a key that was gone again: its holder goes on as if nobody had held the lock meanwhile",
        breaks: Promise::LeaseLoss,
        search: space(ExtendBy::ExtendOrCreate),
        fix: "the script that wants the key to be there with the own value",
        fix_search: space(ExtendBy::CompareAndExtend),
        note: "mutual exclusion is broken by the pause itself (row R1), with either script",
        hunt: Some(hunts::r15()),
        ..REDIS
    }
}

fn r24() -> Scenario {
    let seeds = |ttl| Search::Seeds {
        lock: "redis-single",
        setup: pack_setup::<RedisSingle>(&hunts::resent(ttl)),
        faults: &["duplicate"],
        seeds: 1000,
    };
    Scenario {
        id: "R24",
        story: "a SET takes effect, and its sender does not hold: it comes after the release, or the nil of its copy comes before its OK; \
                nobody will release the key",
        breaks: Promise::DeadlockFreedom,
        search: seeds(None),
        fix: "a TTL bounds it",
        fix_search: seeds(Some(Micros::seconds(10))),
        note: "searched with messages that arrive twice (a client library that sends again), the second time late",
        hunt: Some(hunts::r24()),
        ..REDIS
    }
}

fn r34() -> Scenario {
    let space = |value| {
        let mut space = contended(2, 2);
        // As long as a client waits before it tries again.
        space.bounds.latency_ticks = Some(1);
        space.setup.promises = [Promise::MutualExclusion].into_iter().collect();
        space.setup.workload.rounds = 2;
        space.setup.lock.value = value;
        safety(space)
    };
    Scenario {
        id: "R34",
        story: "an attempt fails, and its unlocking is late: by then the next attempt of the same call has the lock with the same value, its \
                keys are deleted, and another client gets in",
        breaks: Promise::MutualExclusion,
        search: space(DrawnFor::PerCall),
        fix: "a new random value for each attempt",
        fix_search: space(DrawnFor::PerAttempt),
        note: "nothing is lost and nobody pauses: a message takes as long as a client waits before it tries again. redsync, redlock-py and \
               antirez/redlock-rb draw one value for a call, and wait for an answer to the unlocking up to a time-out",
        hunt: Some(hunts::r34()),
        ..REDIS
    }
}

// Getting the lock at all.

fn r18() -> Scenario {
    let space = |retry_choices| {
        let mut space = contended(2, 2);
        space.setup.lock.retry_choices = retry_choices;
        progress(space)
    };
    Scenario {
        id: "R18",
        story: "each client gets some nodes and none a majority; all wait equally long, and split the vote again, for ever",
        breaks: Promise::DeadlockFreedom,
        search: space(1),
        fix: "release, and a random delay",
        fix_search: space(2),
        note: "judged with dice for the delays: with an adversary's draws no delay is random enough",
        hunt: Some(hunts::r18()),
        ..REDIS
    }
}

fn r19() -> Scenario {
    let space = |settles| {
        let mut space = contended(2, 2);
        space.setup.lock.retry_choices = 2;
        space.setup.lock.settles = settles;
        progress(space)
    };
    Scenario {
        id: "R19",
        story: "an even number of nodes, a tie, and a client that waits for a majority to say yes or no",
        breaks: Promise::DeadlockFreedom,
        search: space(Settles::Majority),
        fix: "settle when all have answered",
        fix_search: space(Settles::All),
        hunt: Some(hunts::r19()),
        ..REDIS
    }
}

fn r20() -> Scenario {
    let space = |minority_error_fails| {
        let mut space = alone(3);
        space.bounds.server_crashes = 1;
        space.setup.lock.minority_error_fails = minority_error_fails;
        progress(space)
    };
    Scenario {
        id: "R20",
        story: "one node of three is down, and its error fails every attempt",
        breaks: Promise::DeadlockFreedom,
        search: space(true),
        fix: "count the quorum",
        fix_search: space(false),
        hunt: Some(hunts::r20()),
        ..REDIS
    }
}

fn r21() -> Scenario {
    let space = |unlocks_after_failure| {
        let mut space = contended(2, 2);
        space.setup.lock.retry_choices = 2;
        space.setup.lock.unlocks_after_failure = unlocks_after_failure;
        progress(space)
    };
    Scenario {
        id: "R21",
        story: "an attempt that failed returns without unlocking the nodes that it did get",
        breaks: Promise::DeadlockFreedom,
        search: space(false),
        fix: "always unlock",
        fix_search: space(true),
        note: "searched without a TTL; with one, what is left behind blocks for that long, each time",
        hunt: Some(hunts::r21()),
        ..REDIS
    }
}

fn r25() -> Scenario {
    let space = |node_timeout| {
        let mut space = alone(3);
        space.bounds.server_crashes = 1;
        space.setup.lock.node_timeout = node_timeout;
        progress(space)
    };
    Scenario {
        id: "R25",
        story: "one node does not answer, and the client, which asks one after the other, waits for it for ever",
        breaks: Promise::DeadlockFreedom,
        search: space(None),
        fix: "a time-out per node, far below the TTL",
        fix_search: space(Some(TICK)),
        hunt: Some(hunts::r25()),
        ..REDIS
    }
}

fn r28() -> Scenario {
    let space = |losses| {
        let mut space = alone(3);
        space.bounds.losses = losses;
        progress(space)
    };
    Scenario {
        id: "R28",
        story: "the client is cut off from a majority again and again: no attempt succeeds for as long as that lasts",
        breaks: Promise::DeadlockFreedom,
        search: space(WITHOUT_END),
        fix: "none, by design: the lock can be had again when messages are lost no more",
        fix_search: space(3),
        ..REDIS
    }
}

// Locks that several may hold.

fn r29() -> Scenario {
    let space = |readers| {
        let mut space = readers_writer(
            shared::Settings { readers, ..shared::Settings::counted() },
            3,
            Calls::TryLock,
            &[Promise::MutualExclusion],
        );
        space.bounds.power_losses = 0;
        space.bounds.drifts = 0;
        space.bounds.latency_ticks = Some(2);
        space.setup.lock.ttl = Micros::millis(2999);
        space.setup.lock.validity_margin = Some(Micros::millis(999));
        space.setup.workload.hold = Micros::ZERO;
        Search::Space { space: NamedSpace::new("redis-readers-writer", &space), judgement: Judgement::Safety }
    };
    Scenario {
        id: "R29",
        story: "a reader's DECR comes when the counter of the readers is another one, and takes the count of a reader that is still \
                there: a writer finds 0",
        breaks: Promise::MutualExclusion,
        search: space(Readers::CountedFromZero),
        fix: "an entry for each reader, with a lease of its own",
        fix_search: space(Readers::Entries),
        note: "searched with a counter that nobody takes below 0, which does not help; a DECR that arrives \
               twice does the same: picklock check redis-readers-writer --clients 3 --drop no-duplicate",
        hunt: Some(hunts::r29()),
        ..REDIS
    }
}

fn r30() -> Scenario {
    let space = |writers_first| {
        let lock = shared::Settings { writers_first, ..shared::Settings::repaired() };
        let mut space = readers_writer(lock, 3, Calls::Lock, &[]);
        space.bounds.power_losses = 0;
        space.bounds.drifts = 0;
        space.setup.workload.hold = Micros::ZERO;
        space.setup.workload.rounds = ROUNDS_WITHOUT_END;
        let goals = vec![Goal::StarvationFreedom(ClientId(0))];
        let judgement = Judgement::Progress { goals, draws: Draws::Adversary };
        Search::Space { space: NamedSpace::new("redis-readers-writer", &space), judgement }
    };
    Scenario {
        id: "R30",
        story: "readers come and go, one of them is always there, and the writer waits for ever",
        breaks: Promise::StarvationFreedom,
        search: space(false),
        fix: "a mark of the writer that waits, which no reader overtakes",
        fix_search: space(true),
        note: "what is repaired is the lot of one writer among readers: a second writer that comes back at once is always the first, and the \
               other one starves as the readers do; so does who waits less long than an answer takes",
        hunt: Some(hunts::r30()),
        ..REDIS
    }
}

fn r31() -> Scenario {
    let space = |take| safety_of_permits(permits::Settings { take, ..permits::Settings::basic() });
    Scenario {
        id: "R31",
        story: "a client whose stamp is smaller, as its clock is behind or its request was slow, comes before those who hold, and takes a \
                permit that is none",
        breaks: Promise::MutualExclusion,
        search: space(Take::ByRank),
        fix: "a script that counts who is there",
        fix_search: space(Take::ByCount),
        note: "\"Redis in Action\", 6.3.1, blames the clocks: with clocks that agree it is enough that one request \
               overtakes another",
        hunt: Some(hunts::r31()),
        ..REDIS
    }
}

fn r32() -> Scenario {
    let space = |take| safety_of_permits(permits::Settings { take, ..permits::Settings::basic() });
    Scenario {
        id: "R32",
        story: "between the counter that a client draws and the entry that it makes, one with a larger count takes the last permit",
        breaks: Promise::MutualExclusion,
        search: space(Take::ByCounter),
        fix: "a script that counts who is there",
        fix_search: space(Take::ByCount),
        note: "\"Redis in Action\", 6.3.4, repairs it by a lock around both",
        hunt: Some(hunts::r32()),
        ..REDIS
    }
}

fn r33() -> Scenario {
    let space = |stamps| {
        let lock = permits::Settings { stamps, ..permits::Settings::repaired() };
        let mut space = semaphore(lock, 3, Calls::TryLock, &[Promise::MutualExclusion]);
        space.bounds.power_losses = 0;
        space.bounds.drifts = 0;
        spaces::drop_from_semaphore(&mut space, Assumption::ClocksAgree);
        Search::Space { space: NamedSpace::new("redis-semaphore", &space), judgement: Judgement::Safety }
    };
    Scenario {
        id: "R33",
        story: "a client whose clock is ahead by more than an entry lives takes all holders for dead, and removes them",
        breaks: Promise::MutualExclusion,
        search: space(Stamps::Clients),
        fix: "the server's clock, for all",
        fix_search: space(Stamps::Server),
        ..REDIS
    }
}

/// Three clients and two permits, on clocks that agree.
fn safety_of_permits(lock: permits::Settings) -> Search {
    let mut space = semaphore(lock, 3, Calls::TryLock, &[Promise::MutualExclusion]);
    space.bounds.power_losses = 0;
    space.bounds.drifts = 0;
    Search::Space { space: NamedSpace::new("redis-semaphore", &space), judgement: Judgement::Safety }
}

// Fencing.

fn f1() -> Scenario {
    let space = |fencing| {
        let mut space = redis_single(2, Calls::TryLock, &[Promise::FencedResource]);
        space.bounds.power_losses = 0;
        space.bounds.drifts = 0;
        space.bounds.latency_ticks = Some(2);
        let lock = &mut space.setup.lock;
        lock.ttl = Some(Micros::millis(1999));
        lock.validity_margin = None;
        lock.fencing = fencing;
        checked(&mut space);
        safety_single(space)
    };
    Scenario {
        id: "F1",
        story: "the token is drawn after the grant: a client that draws late gets a larger token than its successor",
        breaks: Promise::FencedResource,
        search: space(Fencing::AfterGrant),
        fix: "token and grant in one step",
        fix_search: space(Fencing::WithGrant),
        hunt: Some(hunts::f1()),
        ..REDIS
    }
}

fn f2() -> Scenario {
    let paused = |space: &mut Space<RedisSingle>| {
        checked(space);
        space.setup.workload.hold = FAILOVER_HOLD;
        space.setup.lock.fencing = Fencing::WithGrant;
        space.bounds.pauses = 1;
        space.bounds.pause_ticks = FAILOVER_LONG_TICKS as u8;
        space.bounds.aim = Aim::Holding;
    };
    let mut space = failing_over(Promise::FencedResource);
    paused(&mut space);
    space.bounds.crashes_take_sent = true;
    let mut durable = failing_over(Promise::FencedResource);
    paused(&mut durable);
    durable.setup.servers = 1;
    durable.setup.store.layout = Layout::Independent;
    durable.bounds.server_crashes = 0;
    durable.bounds.power_losses = 1;
    Scenario {
        id: "F2",
        story: "the server that counts fails over to one that has not heard of the last tokens, and gives them out again",
        breaks: Promise::FencedResource,
        search: safety_named("redis-failover-fenced", space),
        fix: "a counter that forgets nothing: on one durable server (AOF always), or by consensus if it is to fail over",
        fix_search: safety_single(durable),
        hunt: Some(hunts::f2()),
        ..REDIS
    }
}

fn f3() -> Scenario {
    let space = |resource_forgets| {
        let mut space = redis_single(2, Calls::TryLock, &[Promise::FencedResource]);
        spaces::drop_from_redis_single(&mut space, Assumption::NoPause);
        space.bounds.aim = Aim::Holding;
        space.bounds.power_losses = 0;
        space.bounds.drifts = 0;
        space.bounds.resource_restarts = 1;
        space.setup.lock.fencing = Fencing::WithGrant;
        checked(&mut space);
        space.setup.workload.resource_forgets = resource_forgets;
        safety_single(space)
    };
    Scenario {
        id: "F3",
        story: "the resource restarts and forgets the largest token that it has seen",
        breaks: Promise::FencedResource,
        search: space(true),
        fix: "persist it",
        fix_search: space(false),
        hunt: Some(hunts::f3()),
        ..REDIS
    }
}

fn f4() -> Scenario {
    Scenario {
        id: "F4",
        story: "the largest of the quorum's counters as token: two quorums share a node, but not the one that counted \
                furthest, and the later grant has the smaller token, or the same one",
        breaks: Promise::FencedResource,
        search: Search::Seeds {
            lock: "redlock-fenced",
            setup: hunts::fenced_by_quorum(),
            faults: &["pause", "loss", "partition"],
            seeds: 3000,
        },
        fix: "one counter",
        fix_search: Search::Seeds {
            lock: "redis-single-fenced",
            setup: hunts::one_fenced(),
            faults: &["pause", "loss", "partition"],
            seeds: 3000,
        },
        note: "what the critique means when it says that Redlock has no token to offer",
        hunt: Some(hunts::f4()),
        ..REDIS
    }
}

/// What the rows above have in common; the searches are placeholders that every row replaces.
const REDIS: Scenario = Scenario {
    id: "",
    system: "redis",
    story: "",
    breaks: Promise::MutualExclusion,
    search: Search::NOWHERE,
    fix: "",
    fix_search: Search::NOWHERE,
    note: "",
    hunt: None,
};

/// Two clients and three nodes, in ticks; one node may lose power, and one clock may drift by less than the margin.
fn on_three_nodes(change: impl FnOnce(&mut Space<Redlock>)) -> Space<Redlock> {
    let mut space = redlock(2, 3, Calls::TryLock, &[Promise::MutualExclusion]);
    change(&mut space);
    space
}

fn without_faults(space: &mut Space<Redlock>) {
    space.bounds.power_losses = 0;
    space.bounds.drifts = 0;
}

/// Clients that ask all nodes at once, as often as it takes, for a lock without TTL that is kept for a moment.
fn contended(clients: u8, servers: u8) -> Space<Redlock> {
    let mut space = redlock(clients, servers, Calls::Lock, &[]);
    without_faults(&mut space);
    space.setup.lock.ttl = None;
    space.setup.lock.node_timeout = None;
    space.setup.lock.contact = Contact::AtOnce;
    space.setup.workload.hold = Micros::ZERO;
    space
}

/// One client whom nobody disturbs.
fn alone(servers: u8) -> Space<Redlock> {
    let mut space = redlock(1, servers, Calls::Lock, &[]);
    without_faults(&mut space);
    space.setup.workload.hold = Micros::ZERO;
    space
}

/// Two clients of a master that may die, and of its replica.
fn failing_over(promise: Promise) -> Space<RedisSingle> {
    let mut space = redis_single(2, Calls::Lock, &[promise]);
    space.setup.servers = 2;
    space.setup.store.layout = Layout::Replicated { ping_period: TICK, down_after: Micros(2 * TICK.0) };
    let lock = &mut space.setup.lock;
    lock.request_timeout = Some(TICK);
    // Long enough for a failover while somebody holds.
    lock.ttl = Some(TTL + Micros(4 * TICK.0));
    space.setup.workload.hold = FAILOVER_HOLD;
    space.bounds.unhurried = false;
    space.bounds.power_losses = 0;
    space.bounds.drifts = 0;
    space.bounds.server_crashes = 1;
    space
}

/// Longer than it takes to miss a master and to find the new one.
const FAILOVER_HOLD: Micros = Micros(5 * TICK.0);

/// Longer than a lock lives that outlasts a failover.
const FAILOVER_LONG_TICKS: i8 = 9;

/// The holder writes to a resource that looks at the tokens.
fn checked<L: Lock>(space: &mut Space<L>) {
    space.setup.workload.writes = Writes::Resource;
    space.setup.workload.resource_checks = true;
    // Shorter than a lock is valid: else nobody would ever come to write.
    space.setup.workload.hold = TICK;
}

fn safety(space: Space<Redlock>) -> Search {
    Search::Space { space: NamedSpace::new("redlock", &space), judgement: Judgement::Safety }
}

fn safety_single(space: Space<RedisSingle>) -> Search {
    safety_named("redis-single", space)
}

fn safety_named(lock: &'static str, space: Space<RedisSingle>) -> Search {
    Search::Space { space: NamedSpace::new(lock, &space), judgement: Judgement::Safety }
}

fn progress(space: Space<Redlock>) -> Search {
    let judgement = Judgement::Progress { goals: vec![Goal::DeadlockFreedom], draws: Draws::Dice };
    Search::Space { space: NamedSpace::new("redlock", &space), judgement }
}
