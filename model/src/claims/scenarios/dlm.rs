//! The rows of the lock managers of VMS and Linux.

use super::{Hunt, Scenario, Search};
use crate::claims::dlm::{
    CachedVariable, LINUX_2006, cached_in_time, cached_variable, cached_whose_master_dies, in_time,
    journaled_variable, queues_in_order, readers_and_writers, two_conversions, two_resources, upgrades,
    whose_master_dies,
};
use crate::claims::{Judgement, NamedSpace, pack_setup};
use crate::explore::{Draws, Goal, Space};
use crate::managed::{Believes, Managed};
use crate::objects::cells::{CacheSettings, GivesUp, Validity};
use crate::stores::dlm::recovery::{Order, Recovery};
use crate::stores::dlm::{self, Flags, Journals, NewMaster};
use crate::time::Micros;
use crate::workload::Workload;
use picklock_properties::Promise;

/// The rows, in the order of the catalogue.
pub(super) fn scenarios() -> Vec<Scenario> {
    vec![v1(), v2(), v3(), v4(), v5(), v6(), v7(), v8(), v9()]
}

fn v1() -> Scenario {
    let space = |store| upgrades(store, Flags::NONE, (2, 1), &[Promise::DeadlockFreedom]);
    Scenario {
        id: "V1",
        story: "two readers want to write what they have read: each converts from PR to EX, and waits for the other's PR to go",
        breaks: Promise::DeadlockFreedom,
        search: progress("dlm-upgrade", &space(LINUX_2006)),
        fix: "whose granted mode is in the way of a conversion that waits is refused at once (Linux since 2007, c85d65e91430)",
        fix_search: progress("dlm-upgrade", &space(dlm::Settings::LINUX)),
        note: "the refused one keeps its PR, and has to give it back: the refusal alone ends nothing. NODLCKWT switches the check off, and \
               the deadlock is there again",
        hunt: Some(hunt("dlm-upgrade", space(LINUX_2006), space(dlm::Settings::LINUX))),
        ..LOCK_MANAGER
    }
}

fn v2() -> Scenario {
    let space = |believes| {
        let mut space =
            upgrades(dlm::Settings::LINUX, Flags::CONVDEADLK, (2, 1), &[Promise::MutualExclusion]);
        space.setup.lock.believes = believes;
        space
    };
    let safety =
        |space| Search::Space { space: NamedSpace::new("dlm-upgrade", &space), judgement: Judgement::Safety };
    Scenario {
        id: "V2",
        story: "a reader that converts with CONVDEADLK is demoted to NL to let another one write, and goes on reading: it is told when \
                its own conversion is done",
        breaks: Promise::MutualExclusion,
        search: safety(space(Believes::WhatItHad)),
        fix: "who converts with CONVDEADLK goes by nothing until it is told",
        fix_search: safety(space(Believes::Nothing)),
        note: "the row's own kernel defect (7d3c1feb8091) is a second copy of the mode that is not kept alike; one node is enough to see \
               what a copy that lags comes to",
        hunt: Some(hunt("dlm-upgrade", space(Believes::WhatItHad), space(Believes::Nothing))),
        ..LOCK_MANAGER
    }
}

fn v3() -> Scenario {
    let space = |sends_values| {
        let recovery = Recovery { sends_values, ..Recovery::LINUX };
        cached_whose_master_dies(cached(CacheSettings::default()), recovery)
    };
    Scenario {
        id: "V3",
        story: "the master dies, and the new one puts the locks together without their value blocks: it hands out 0 as valid, and who has \
                read at 0 takes its cache for fresh",
        breaks: Promise::Linearizable,
        search: of_cache(space(false)),
        fix: "an owner sends its copy of the value block along; where nobody above CR is left, the last one known is in doubt (Linux, recover_lvb)",
        fix_search: of_cache(space(true)),
        hunt: Some(busy_cache_hunt(&["power-loss"], space(false), space(true))),
        ..LOCK_MANAGER
    }
}

fn v4() -> Scenario {
    let space = |journals| journaled_variable(journals, (2, 2), &[Promise::Linearizable]);
    let (broken, fixed) = (space(Journals::ReplayedMeanwhile), space(Journals::ReplayedFirst));
    Scenario {
        id: "V4",
        story: "a node changes a variable, in its journal, and dies; its lock is given on before its journal is replayed, and the next one \
                reads what was before",
        breaks: Promise::Linearizable,
        search: of_cache(broken.clone()),
        fix: "locks are given on when the journal of the dead node is replayed",
        fix_search: of_cache(fixed.clone()),
        hunt: Some(busy_cache_hunt(&["crash"], broken, fixed)),
        ..LOCK_MANAGER
    }
}

fn v5() -> Scenario {
    let space = |gives_up| cached(CacheSettings { gives_up, ..CacheSettings::default() });
    Scenario {
        id: "V5",
        story: "a node is asked for its lock, gives it up, and empties its cache afterwards: what it reads in between another one has \
                changed already",
        breaks: Promise::Linearizable,
        search: of_cache(space(GivesUp::LockFirst)),
        fix: "the cache first, then the lock (gfs2, 58e9fee13e57)",
        fix_search: of_cache(space(GivesUp::CacheFirst)),
        hunt: Some(busy_cache_hunt(&[], space(GivesUp::LockFirst), space(GivesUp::CacheFirst))),
        ..LOCK_MANAGER
    }
}

fn v6() -> Scenario {
    let new_master =
        |members, minds_epoch| NewMaster::Asks { recovery: Recovery::LINUX, members, minds_epoch };
    let space = |minds_epoch| {
        let users = readers_and_writers(dlm::Settings::LINUX, (2, 1), &[Promise::DeadlockFreedom]);
        progress("dlm-readers-writer", &whose_master_dies(users, new_master(2, minds_epoch), 2))
    };
    // Two masters die within the time of a message, and many are under way.
    let setup = |minds_epoch| {
        let users = readers_and_writers(dlm::Settings::LINUX, (3, 12), &[Promise::DeadlockFreedom]);
        let mut setup = in_time(users);
        setup.store.new_master = new_master(0, minds_epoch);
        let instant = Micros::millis(1);
        setup.workload = Workload { think: instant, hold: instant, varies: false, ..setup.workload };
        pack_setup(&setup)
    };
    let lock = "dlm-readers-writer";
    Scenario {
        id: "V6",
        story: "a new master dies while it asks, and the one after it asks again; an answer to the first question comes late, and is taken for \
                one to the second: what it says is past, and a lock stays with one that does not know of it, for ever",
        breaks: Promise::DeadlockFreedom,
        search: space(false),
        fix: "every recovery has a number, and an answer to another one counts for nothing (Linux, ls_recover_seq)",
        fix_search: space(true),
        note: "what it grants meanwhile answers what the others said to the first question; they have answered the second since, mind it no more, and \
               no receipt is shown",
        hunt: Some(Hunt {
            lock,
            setup: setup(false),
            fixed_lock: lock,
            fixed: setup(true),
            faults: &["crash", "delay"],
        }),
        ..LOCK_MANAGER
    }
}

fn v7() -> Scenario {
    let space = |order| {
        let mut space = two_conversions(queues_in_order(order, 3), 1, &[Promise::DeadlockFreedom]);
        space.bounds.power_losses = 1;
        space
    };
    let setup = |order| {
        let users = two_conversions(queues_in_order(order, 0), 12, &[Promise::DeadlockFreedom]);
        let new_master = users.setup.store.new_master;
        let mut setup = in_time(users);
        setup.store.new_master = new_master;
        setup.workload = Workload { think: Micros::millis(200), varies: false, ..setup.workload };
        pack_setup(&setup)
    };
    let lock = "dlm-upgrade";
    Scenario {
        id: "V7",
        story: "two conversions wait for a reader, B from PR and behind it A from NL; the master dies, and on the new one A comes to stand \
                first: it waits for B's PR to go, and B for its turn",
        breaks: Promise::DeadlockFreedom,
        search: progress(lock, &space(Order::AsTheyStand)),
        fix: "after a recovery conversions are granted out of order until none of them waits",
        fix_search: progress(lock, &space(Order::FreeUntilNoneWaits)),
        note: "Linux grants them out of order once, when the gate opens (RSB_RECOVER_GRANT), and in order from then on: if the \
               reader is there still by then, which takes a longer run than the shortest one, the deadlock stays",
        hunt: Some(Hunt {
            lock,
            setup: setup(Order::AsTheyStand),
            fixed_lock: lock,
            fixed: setup(Order::FreeUntilNoneWaits),
            faults: &["power-loss"],
        }),
        ..LOCK_MANAGER
    }
}

fn v8() -> Scenario {
    let space = |store| two_resources(store, (2, 1), &[Promise::DeadlockFreedom]);
    Scenario {
        id: "V8",
        story: "each of two has one of two resources and waits for the other: the check in place looks at one resource, and nobody is refused",
        breaks: Promise::DeadlockFreedom,
        search: progress("dlm-two", &space(dlm::Settings::LINUX)),
        fix: "waits are followed over resources, and one request that waits is refused (VMS, DEADLOCK_WAIT)",
        fix_search: progress("dlm-two", &space(dlm::Settings::VMS)),
        note: "it is also told that the resource that was locked first is freed. Nothing is: a request is refused, and its owner gives \
               back what it has",
        hunt: Some(hunt("dlm-two", space(dlm::Settings::LINUX), space(dlm::Settings::VMS))),
        ..LOCK_MANAGER
    }
}

fn v9() -> Scenario {
    let space = |validity| {
        let mut space = cached(CacheSettings { validity, ..CacheSettings::default() });
        space.bounds.crashes = 1;
        space
    };
    Scenario {
        id: "V9",
        story: "a writer dies with its change on the disk and the old number in the value block; a reader takes its cache for fresh, and \
                goes back behind what another one has read",
        breaks: Promise::Linearizable,
        search: of_cache(space(Validity::Ignored)),
        fix: "a value block that is not valid (VALNOTVALID) is no number",
        fix_search: of_cache(space(Validity::Minded)),
        note: "whoever meets it with EX must leave a number that nobody has met beside another content: it makes the value block valid again \
               by writing it",
        hunt: Some(cache_hunt(&["crash"], space(Validity::Ignored), space(Validity::Minded))),
        ..LOCK_MANAGER
    }
}

/// What the rows above have in common; the searches are placeholders that every row replaces.
const LOCK_MANAGER: Scenario = Scenario {
    id: "",
    system: "dlm",
    story: "",
    breaks: Promise::DeadlockFreedom,
    search: Search::NOWHERE,
    fix: "",
    fix_search: Search::NOWHERE,
    note: "",
    hunt: None,
};

fn cached(cache: CacheSettings) -> Space<CachedVariable> {
    cached_variable(cache, dlm::Settings::LINUX, (2, 2), &[Promise::Linearizable])
}

fn of_cache(space: Space<CachedVariable>) -> Search {
    Search::Space { space: NamedSpace::new("cached-variable", &space), judgement: Judgement::Safety }
}

fn progress(lock: &'static str, space: &Space<Managed>) -> Search {
    let judgement = Judgement::Progress { goals: vec![Goal::DeadlockFreedom], draws: Draws::Adversary };
    Search::Space { space: NamedSpace::new(lock, space), judgement }
}

/// The row's own setup, in time, with as many processes and rounds as each seed draws.
fn hunt(lock: &'static str, broken: Space<Managed>, fixed: Space<Managed>) -> Hunt {
    let setup = |space| {
        let mut setup = in_time(space);
        setup.workload = Workload { varies: true, ..setup.workload };
        pack_setup(&setup)
    };
    Hunt { lock, setup: setup(broken), fixed_lock: lock, fixed: setup(fixed), faults: &[] }
}

/// Of a cache that three use all the time: between two messages there is little time for a read.
fn busy_cache_hunt(
    faults: &'static [&'static str],
    broken: Space<CachedVariable>,
    fixed: Space<CachedVariable>,
) -> Hunt {
    let setup = |space| {
        let mut setup = cached_in_time(space);
        setup.workload =
            Workload { clients: 3, rounds: 12, think: Micros::millis(1), varies: false, ..setup.workload };
        pack_setup(&setup)
    };
    let (setup, fixed) = (setup(broken), setup(fixed));
    Hunt { lock: "cached-variable", setup, fixed_lock: "cached-variable", fixed, faults }
}

/// The same of a cache.
fn cache_hunt(
    faults: &'static [&'static str],
    broken: Space<CachedVariable>,
    fixed: Space<CachedVariable>,
) -> Hunt {
    let setup = |space| {
        let mut setup = cached_in_time(space);
        setup.workload = Workload { varies: true, ..setup.workload };
        pack_setup(&setup)
    };
    let lock = "cached-variable";
    Hunt { lock, setup: setup(broken), fixed_lock: lock, fixed: setup(fixed), faults }
}
