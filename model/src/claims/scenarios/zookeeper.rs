//! The rows of ZooKeeper and its recipe.

mod hunts;

use super::{Scenario, Search};
use crate::claims::zookeeper::{self as spaces, LONG_TICKS, zookeeper_lock, zookeeper_sessions};
use crate::claims::{Assumption, Judgement, NamedSpace};
use crate::explore::{Draws, Goal, Space};
use crate::locks::zookeeper_lock::{Fence, OnConnectionLoss, Parent, Retries, Watch, ZookeeperLock};
use crate::stores::zookeeper::{Counter, Ephemerals, SessionClock};
use crate::time::Micros;
use crate::workload::{Calls, Writes};
use crate::world::{Aim, TICK};
use picklock_properties::Promise;

/// The rows, in the order of the catalogue.
pub(super) fn scenarios() -> Vec<Scenario> {
    vec![z1(), z2(), z3(), z4(), z5(), z7(), z8(), z9(), z11(), z12(), z13(), z18(), z19(), z20()]
}

// Requests of unknown outcome.

fn z1() -> Scenario {
    let space = |guid| {
        let mut space = lossy();
        space.setup.lock.guid = guid;
        progress(space)
    };
    Scenario {
        id: "Z1",
        story: "the reply to a create is lost, and the client, which cannot tell its znode, creates another: it waits behind \
                its own first one for as long as its session lasts",
        breaks: Promise::DeadlockFreedom,
        search: space(false),
        fix: "a guid in the name: the client looks for its own child first",
        fix_search: space(true),
        hunt: Some(hunts::z1()),
        ..ZOOKEEPER
    }
}

fn z2() -> Scenario {
    let space = |retries| {
        let mut space = lossy();
        space.setup.lock.retries = retries;
        progress(space)
    };
    Scenario {
        id: "Z2",
        story: "a create or delete of unknown outcome is given up: its znode belongs to no call any more, and stays while its session lasts",
        breaks: Promise::DeadlockFreedom,
        search: space(Retries::GivenUp),
        fix: "the library deletes it in the background",
        note: "not enough by itself on several servers: the look for the own guid must come after a `sync` (row Z19)",
        fix_search: space(Retries::BackgroundDelete),
        hunt: Some(hunts::z2()),
        ..ZOOKEEPER
    }
}

fn z19() -> Scenario {
    let seeds = |sync_before_search| Search::Seeds {
        lock: "zookeeper-lock",
        setup: hunts::lagging(sync_before_search),
        faults: &["delay", "partition"],
        seeds: 5000,
    };
    Scenario {
        id: "Z19",
        story: "the reply to a create is late, the client looks for its guid on a server that has not applied the create \
                yet, and creates another: one of its znodes belongs to no call, and stays while its session lasts",
        breaks: Promise::DeadlockFreedom,
        search: seeds(false),
        fix: "sync before the guid is looked for",
        fix_search: seeds(true),
        note: "the stale read of row Z9, within the recipe as written, with the real servers' default \
               times",
        hunt: Some(hunts::z19()),
        ..ZOOKEEPER
    }
}

// Sessions that end.

fn z3() -> Scenario {
    Scenario {
        id: "Z3",
        story: "the holder pauses for longer than its session lasts, and the next one in the queue is first",
        breaks: Promise::MutualExclusion,
        search: safety(paused(Promise::MutualExclusion)),
        fix: "the czxid of the own znode as fencing token, checked by the resource: two may believe to hold, only the \
              later one can write",
        fix_search: fenced(Fence::Czxid),
        hunt: Some(hunts::z3()),
        ..ZOOKEEPER
    }
}

fn z4() -> Scenario {
    let space = |on_connection_loss| {
        let mut space = lossy();
        space.setup.promises = [Promise::MutualExclusion].into_iter().collect();
        space.bounds.losses = 2;
        space.setup.lock.on_connection_loss = on_connection_loss;
        // Longer than a session without a sign of life.
        space.setup.workload.hold = Micros(i64::from(LONG_TICKS) * TICK.0);
        safety(space)
    };
    Scenario {
        id: "Z4",
        story: "the holder's sign of life is lost: the holder sees only CONNECTIONLOSS, and goes on, and the server ends its session, of which it heard \
                nothing",
        breaks: Promise::MutualExclusion,
        search: space(OnConnectionLoss::GoOn),
        fix: "stop when the connection is lost: that is noticed after two thirds of the time",
        fix_search: space(OnConnectionLoss::Stop),
        note: "on one server; in an ensemble the leader must drop a silent follower before the session ends: or that \
               follower goes on serving a client whose session is over, and the holder learns it too late",
        hunt: Some(hunts::z4()),
        ..ZOOKEEPER
    }
}

fn z20() -> Scenario {
    let seeds = |setup| Search::Seeds {
        lock: "zookeeper-lock-repaired",
        setup,
        faults: &["power-loss"],
        seeds: 5000,
    };
    Scenario {
        id: "Z20",
        story: "the host of a follower dies with a sign of life that it had not passed on to the leader: the holder has heard its pong, and goes on \
                for longer than the leader waits",
        breaks: Promise::MutualExclusion,
        search: seeds(hunts::served_by_a_dying_host()),
        fix: "the czxid of the own znode as fencing token, checked by the resource",
        fix_search: seeds(hunts::z20().fixed),
        note: "stopping when the connection is lost (row Z4) is not enough: nobody tells the client that the host is dead, and it counts two \
               thirds of the timeout from what it has heard last. Real servers round the end of a session up to the next tick, and these do \
               not: there it is seldomer, not impossible. A follower that lives and is out of the leader's hearing does the same",
        hunt: Some(hunts::z20()),
        ..ZOOKEEPER
    }
}

fn z12() -> Scenario {
    let space = |session_clock| {
        let mut space = zookeeper_sessions(2, 1, Calls::Lock, &[Promise::MutualExclusion]);
        spaces::drop_from_zookeeper(&mut space, Assumption::NoServerClockStep);
        space.setup.store.session_clock = session_clock;
        safety(space)
    };
    Scenario {
        id: "Z12",
        story: "the leader's wall clock jumps, and all sessions end, that of the holder too",
        breaks: Promise::MutualExclusion,
        search: space(SessionClock::Wall),
        fix: "sessions counted by the monotonic clock (since 3.5)",
        fix_search: space(SessionClock::Monotonic),
        hunt: Some(hunts::z12()),
        ..ZOOKEEPER
    }
}

fn z11() -> Scenario {
    let space = |ephemerals| {
        let mut space = zookeeper_sessions(2, 1, Calls::Lock, &[]);
        spaces::drop_from_zookeeper(&mut space, Assumption::NoCrash);
        space.setup.store.ephemerals = ephemerals;
        progress(space)
    };
    Scenario {
        id: "Z11",
        story: "a client crashes, its session ends, but its znode stays: whoever comes after it waits for ever",
        breaks: Promise::DeadlockFreedom,
        search: space(Ephemerals::StayBehind),
        fix: "the server's: ephemeral znodes go with their session",
        fix_search: space(Ephemerals::GoWithTheirSession),
        hunt: Some(hunts::z11()),
        ..ZOOKEEPER
    }
}

// The order of the queue.

fn z5() -> Scenario {
    let space = |parent| {
        let mut space = zookeeper_lock(2, 1, Calls::Lock, &[Promise::MutualExclusion]);
        space.setup.store.sequence = Counter::Wraps;
        space.setup.store.first_sequence = i32::MAX;
        space.setup.lock.parent = parent;
        safety(space)
    };
    Scenario {
        id: "Z5",
        story: "the holder's number is 2147483647, the newcomer's is -2147483648, and sorts first",
        breaks: Promise::MutualExclusion,
        search: space(Parent::Kept),
        fix: "delete the parent while it has no children, and create it again: it counts from zero",
        fix_search: space(Parent::RecreatedWhenEmpty),
        note: "so up to 3.5; since 3.6 the counter sticks at 2147483647, and every later child has that number",
        hunt: Some(hunts::z5()),
        ..ZOOKEEPER
    }
}

fn z7() -> Scenario {
    let space = |watch| {
        let mut space = zookeeper_lock(3, 1, Calls::Lock, &[Promise::MutualExclusion]);
        space.setup.lock.watch = watch;
        space.setup.lock.relists = false;
        safety(space)
    };
    Scenario {
        id: "Z7",
        story: "every waiter watches the first znode, and takes the event for the lock: all of them enter",
        breaks: Promise::MutualExclusion,
        search: space(Watch::First),
        fix: "watch the next smaller one",
        fix_search: space(Watch::Predecessor),
        note: "searched without step 5's way back to step 2, which makes up for it: who lists again may watch any of those \
               before it, and pays with a herd",
        hunt: Some(hunts::z7()),
        ..ZOOKEEPER
    }
}

fn z8() -> Scenario {
    let space = |watch| {
        let mut space = zookeeper_lock(3, 1, Calls::Lock, &[Promise::NoHerd]);
        space.setup.lock.watch = watch;
        safety(space)
    };
    Scenario {
        id: "Z8",
        story: "every waiter watches the parent: one release wakes them all, and all but one ask in vain",
        breaks: Promise::NoHerd,
        search: space(Watch::Parent),
        fix: "watch the next smaller one",
        fix_search: space(Watch::Predecessor),
        note: "the lock is as safe; `picklock herd` counts what it costs",
        hunt: Some(hunts::z8()),
        ..ZOOKEEPER
    }
}

// What lies outside of ZooKeeper.

fn z9() -> Scenario {
    let space = |sync_before_read| Search::Space {
        space: NamedSpace::new("znode-probe", &spaces::znode(2, 2, sync_before_read)),
        judgement: Judgement::Safety,
    };
    Scenario {
        id: "Z9",
        story: "a client knows from elsewhere that a znode was written, and reads it on a follower that does not know yet",
        breaks: Promise::FreshRead,
        search: space(false),
        fix: "sync before the read",
        fix_search: space(true),
        note: "not a lock, but two clients: the recipe does not lean on anything told elsewhere, and lagging followers do not \
               break it",
        hunt: Some(hunts::z9()),
        ..ZOOKEEPER
    }
}

fn z13() -> Scenario {
    let space = |fence| {
        let mut space = checked(fence);
        space.setup.lock.parent = Parent::RecreatedWhenEmpty;
        space.setup.store.sequence = Counter::Sticks;
        // Somebody has used the lock before.
        space.setup.store.first_sequence = 5;
        safety(space)
    };
    Scenario {
        id: "Z13",
        story: "the number in the name as fencing token, and a parent that is created again: the next holder's token is \
                no larger than that of one who outlived its session",
        breaks: Promise::FencedResource,
        search: space(Fence::Sequence),
        fix: "the czxid as token: it never comes again",
        fix_search: space(Fence::Czxid),
        hunt: Some(hunts::z13()),
        ..ZOOKEEPER
    }
}

fn z18() -> Scenario {
    Scenario {
        id: "Z18",
        story: "the resource is outside ZooKeeper: nothing orders what a holder of the past writes there with what the lock \
                has done since (the source's closing question)",
        breaks: Promise::FencedResource,
        search: fenced(Fence::None),
        fix: "a fencing token, checked by the resource",
        fix_search: fenced(Fence::Czxid),
        hunt: Some(hunts::z18()),
        ..ZOOKEEPER
    }
}

/// What the rows above have in common; the searches are placeholders that every row replaces.
const ZOOKEEPER: Scenario = Scenario {
    id: "",
    system: "zookeeper",
    story: "",
    breaks: Promise::MutualExclusion,
    search: Search::NOWHERE,
    fix: "",
    fix_search: Search::NOWHERE,
    note: "",
    hunt: None,
};

/// Two clients with sessions, and one message that gets lost.
fn lossy() -> Space<ZookeeperLock> {
    let mut space = zookeeper_sessions(2, 1, Calls::Lock, &[]);
    space.bounds.losses = 1;
    space
}

/// Two clients, of which a holder may pause for longer than its session lasts.
fn paused(promise: Promise) -> Space<ZookeeperLock> {
    let mut space = zookeeper_sessions(2, 1, Calls::Lock, &[promise]);
    spaces::drop_from_zookeeper(&mut space, Assumption::NoPause);
    space.bounds.aim = Aim::Holding;
    space
}

/// The same, writing to a resource that looks at the tokens.
fn checked(fence: Fence) -> Space<ZookeeperLock> {
    let mut space = paused(Promise::FencedResource);
    space.setup.workload.writes = Writes::Resource;
    space.setup.workload.resource_checks = true;
    space.setup.lock.fence = fence;
    space
}

fn fenced(fence: Fence) -> Search {
    safety(checked(fence))
}

fn safety(space: Space<ZookeeperLock>) -> Search {
    Search::Space { space: NamedSpace::new("zookeeper-lock", &space), judgement: Judgement::Safety }
}

fn progress(space: Space<ZookeeperLock>) -> Search {
    let judgement = Judgement::Progress { goals: vec![Goal::DeadlockFreedom], draws: Draws::Adversary };
    Search::Space { space: NamedSpace::new("zookeeper-lock", &space), judgement }
}
