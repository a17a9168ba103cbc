//! The rows of the old Cassandra lock.

mod hunts;

use super::{Scenario, Search};
use crate::claims::cassandra::TTL_SECONDS;
use crate::claims::cassandra_shadow::{backing_off, drop_from_shadow_lock, shadow_lock, timed};
use crate::claims::{Assumption, Judgement, NamedSpace};
use crate::explore::{Draws, Goal, Space};
use crate::locks::CassandraShadow;
use crate::locks::cassandra_queue::Timestamps;
use crate::locks::cassandra_shadow::{Backoff, Reread, Settings};
use crate::machine::Line;
use crate::time::Micros;
use crate::workload::Calls;
use crate::world::{Aim, TICK};
use picklock_properties::Promise;

/// The rows, in the order of the catalogue.
pub(super) fn scenarios() -> Vec<Scenario> {
    vec![c17(), c18(), c19(), c21(), c30()]
}

fn c17() -> Scenario {
    let space = |lock: fn(Settings) -> Settings| {
        let mut space = backing_off(2, 2);
        space.bounds.crashes = 1;
        // It has a shadow cell, and no main cell.
        space.bounds.aim = Aim::At(Line { listing: 3, number: 8 });
        progress(space, lock)
    };
    Scenario {
        id: "C17",
        story: "a thread dies between lines 7 and 14: its shadow cell stays, nobody is ever alone in the shadow row again",
        breaks: Promise::DeadlockFreedom,
        search: space(|lock| lock),
        fix: "a TTL on shadow cells",
        fix_search: space(|lock| Settings { shadow_ttl_seconds: Some(TTL_SECONDS), ..lock }),
        note: "section 5.3 gives a TTL to the cells of the queue and of the main row; the shadow row needs one of its own, \
               and with it comes row C18",
        hunt: Some(hunts::c17()),
        ..SHADOW
    }
}

fn c18() -> Scenario {
    let space = |lock: fn(Settings) -> Settings| {
        let mut space = shadow_lock(2, 1, Calls::Lock, &[Promise::MutualExclusion]);
        drop_from_shadow_lock(&mut space, Assumption::NoExpiry);
        space.bounds.latency_ticks = Some(0);
        // Main cells stay: what breaks is the shadow row's doing.
        space.setup.lock.ttl_seconds = None;
        pause_once(&mut space, Aim::Asking);
        safety(space, lock)
    };
    Scenario {
        id: "C18",
        story: "A finds itself alone and the main row empty, and pauses until its shadow cell has expired; B takes the lock; \
                A writes line 11 and takes it too",
        breaks: Promise::MutualExclusion,
        search: space(|lock| lock),
        fix: "look at the main row once more after line 11: only the own cell may be there",
        fix_search: space(|lock| Settings { reread: Reread::Main, ..lock }),
        note: "a look at the shadow row, for the own cell, does as well, and so does a client that measures by its own clock \
               that the shadow cell still stood; where main cells expire too, only the last does, and must be asked of \
               both cells. No pause is needed if lines 7 to 11, seven messages in turn, can take longer than the TTL. \
               Random plans of pauses come upon it if the shadow TTL is a second: the moment is short. And they come \
               upon another failure, which no second look repairs: a release whose deletion is taken for done leaves a \
               main cell, line 3 takes it for a grant, and then the deletion arrives",
        hunt: Some(hunts::c18()),
        ..SHADOW
    }
}

fn c19() -> Scenario {
    let space = |lock: fn(Settings) -> Settings| {
        let mut space = shadow_lock(2, 1, Calls::Lock, &[Promise::MutualExclusion]);
        drop_from_shadow_lock(&mut space, Assumption::NoClockStep);
        // Long enough that a step back hides what follows the hold, and not what went before it.
        timed(&mut space);
        space.bounds.latency_ticks = Some(0);
        space.setup.workload.hold = Micros(2 * TICK.0);
        space.setup.workload.rounds = 2;
        safety(space, lock)
    };
    Scenario {
        id: "C19",
        story: "A's clock steps back after it has released the lock: when it takes it again its cell in the main row is hidden by the \
                tombstone of that release, A enters all the same, and B finds the main row empty and enters, too",
        breaks: Promise::MutualExclusion,
        search: space(|lock| lock),
        fix: "timestamps that never go back",
        fix_search: space(|lock| Settings { timestamps: Timestamps::ClientMonotonic, ..lock }),
        note: "a second look at the main row after line 11 does as well. Asking at line 9 for one cell of one's own does not: a \
               step that goes back less far hides the cell in the main row alone, behind the tombstone of the last release",
        hunt: Some(hunts::c19()),
        ..SHADOW
    }
}

fn c21() -> Scenario {
    let space = |backoff: Backoff| {
        let mut space = backing_off(2, 1);
        space.setup.lock.backoff = backoff;
        progress(space, |lock| lock)
    };
    Scenario {
        id: "C21",
        story: "both add their shadow cells, both see two, both leave and wait equally long, for ever",
        breaks: Promise::DeadlockFreedom,
        search: space(Backoff::Fixed(TICK)),
        fix: "a random wait (Listing 4 has it), or the queue",
        fix_search: space(Backoff::Drawn { unit: TICK, below: 2 }),
        note: "judged with dice for the waits. One draw of two lengths is random enough for two threads to end one fight; \
               that everybody is served in the end is not to be had: see the theorem old-lock-progress",
        hunt: Some(hunts::c21()),
        ..SHADOW
    }
}

fn c30() -> Scenario {
    let space = |lock: fn(Settings) -> Settings| {
        let mut space = shadow_lock(2, 1, Calls::Lock, &[Promise::LeaseLoss]);
        drop_from_shadow_lock(&mut space, Assumption::NoExpiry);
        space.bounds.latency_ticks = Some(0);
        // Long enough for a renewal.
        space.setup.workload.hold = Micros(4 * TICK.0);
        pause_once(&mut space, Aim::Holding);
        safety(space, lock)
    };
    Scenario {
        id: "C30",
        story: "the holder pauses past its TTL, another takes the lock, and the holder's relock writes its cell beside the \
                other's without looking",
        breaks: Promise::LeaseLoss,
        search: space(|lock| lock),
        fix: "a relock that first looks for its own cell, and knows when its lease is over",
        fix_search: space(|lock| Settings { conditional_renewal: true, ..valid(lock) }),
        note: "the look alone, which the catalogue names, is not enough: what it finds may be over when the relock writes; the \
               clock alone is enough. The authors' own lock relocks without a look, and only while its last success is \
               younger than half the TTL",
        hunt: Some(hunts::c30()),
        ..SHADOW
    }
}

/// What the rows above have in common; the searches are placeholders that every row replaces.
const SHADOW: Scenario = Scenario {
    id: "",
    system: "cassandra",
    story: "",
    breaks: Promise::MutualExclusion,
    search: Search::NOWHERE,
    fix: "",
    fix_search: Search::NOWHERE,
    note: "",
    hunt: None,
};

/// One pause, up to a tick longer than the TTL.
fn pause_once(space: &mut Space<CassandraShadow>, aim: Aim) {
    space.bounds.pauses = 1;
    space.bounds.pause_ticks = TTL_SECONDS as u8 + 1;
    space.bounds.aim = aim;
}

/// The lease as the client itself can judge it: a second is taken off, for the store counts in whole ones.
fn valid(lock: Settings) -> Settings {
    Settings { validity_check: true, validity_margin: TICK, ..lock }
}

fn safety(mut space: Space<CassandraShadow>, lock: fn(Settings) -> Settings) -> Search {
    space.setup.lock = lock(space.setup.lock);
    Search::Space { space: NamedSpace::new("cassandra-shadow", &space), judgement: Judgement::Safety }
}

fn progress(mut space: Space<CassandraShadow>, lock: fn(Settings) -> Settings) -> Search {
    space.setup.lock = lock(space.setup.lock);
    Search::Space {
        space: NamedSpace::new("cassandra-shadow", &space),
        judgement: Judgement::Progress { goals: vec![Goal::DeadlockFreedom], draws: Draws::Dice },
    }
}
