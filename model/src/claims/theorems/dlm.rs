//! What the lock-manager article, *Distributed lock manager*, says of the lock managers of VMS and Linux, none of it proved there: who goes
//! beside whom, that deadlocks come to an end, and that a cache may be kept under a lock.

use super::Claim;
use crate::claims::dlm::{
    LINUX_2006, among, cached_variable, drop_from_managed, hierarchy, managed, modes, readers_and_writers,
    standby, two_resources, upgrades, whose_master_dies,
};
use crate::claims::{Assumption, Expected, Judgement};
use crate::explore::{Draws, Goal, Space};
use crate::managed::{Believes, Chosen, Managed, Program};
use crate::objects::cells::{CacheSettings, GivesUp, Validity};
use crate::stores::dlm::{Flags, Mode, NewMaster, Settings};
use crate::time::Micros;
use picklock_properties::Promise;

const EXCLUDES: &[Promise] = &[Promise::MutualExclusion];
const GOES_ON: &[Promise] = &[Promise::DeadlockFreedom];

/// The claims, in the order of the statements.
pub(super) fn claims() -> Vec<Claim> {
    let mut claims = compatible_holders();
    claims.extend(progress());
    claims.extend(caches());
    claims
}

fn compatible_holders() -> Vec<Claim> {
    use Expected::{Holds, Violated};
    let claim = |lock, variant, space: Space<Managed>, dropped: &[Assumption], expected, reason| Claim {
        variant,
        reason,
        ..Claim::of(lock, "lock-manager", &space, dropped, expected)
    };
    let without = |assumption| {
        let rounds = if assumption == Assumption::NoFailOver { 1 } else { 2 };
        let mut space = readers_and_writers(Settings::LINUX, (2, rounds), EXCLUDES);
        drop_from_managed(&mut space, assumption);
        space
    };
    let demoted = |believes| {
        let mut space = upgrades(Settings::LINUX, Flags::CONVDEADLK, (2, 1), EXCLUDES);
        space.setup.lock.believes = believes;
        space
    };
    let switched_off = {
        let mut space = without(Assumption::NoPause);
        space.setup.store.fences = true;
        space.setup.workload.rounds = 1;
        space
    };
    // A silence of a node, where there is no time, is of any length and at any moment.
    let alone = |fences| {
        let removed_after = Some(Micros::seconds(20));
        let store = Settings { quorum: false, fences, removed_after, ..Settings::LINUX };
        let writers = [Program::holds(Mode::Ex)];
        among(managed(&writers, Chosen::ByProcess, store, (2, 1), EXCLUDES), 2, 0)
    };
    let table = "a lock is granted beside those only that it goes with";
    vec![
        claim("dlm-modes", "modes, Linux", modes(Settings::LINUX, (3, 1), EXCLUDES), &[], Holds, table),
        claim("dlm-modes", "modes, VMS", modes(Settings::VMS, (3, 1), EXCLUDES), &[], Holds, table),
        claim(
            "dlm-upgrade",
            "upgrade, Linux",
            upgrades(Settings::LINUX, Flags::NONE, (3, 1), EXCLUDES),
            &[],
            Holds,
            table,
        ),
        claim(
            "dlm-two",
            "two resources, VMS",
            two_resources(Settings::VMS, (3, 1), EXCLUDES),
            &[],
            Holds,
            table,
        ),
        claim("dlm-standby", "standby, Linux", standby(Settings::LINUX, (3, 1), EXCLUDES), &[], Holds, table),
        claim("dlm-pages", "pages, VMS", hierarchy(Settings::VMS, (2, 1), EXCLUDES), &[], Holds, table),
        claim(
            "dlm-upgrade",
            "upgrade, Linux, CONVDEADLK",
            demoted(Believes::Nothing),
            &[],
            Holds,
            "who may be demoted reads nothing while it converts",
        ),
        claim(
            "dlm-upgrade",
            "upgrade, Linux, CONVDEADLK, reads on",
            demoted(Believes::WhatItHad),
            &[],
            Violated,
            "its granted mode falls to NL before it is told (row V2)",
        ),
        claim(
            "dlm-readers-writer",
            "readers and writers, Linux",
            without(Assumption::NoCrash),
            &[Assumption::NoCrash],
            Holds,
            "its next life tells of the death of the last one",
        ),
        claim(
            "dlm-readers-writer",
            "readers and writers, a new master that asks",
            without(Assumption::NoFailOver),
            &[Assumption::NoFailOver],
            Holds,
            "owners know what they have",
        ),
        claim(
            "dlm-readers-writer",
            "readers and writers, a new master that does not ask",
            whose_master_dies(readers_and_writers(Settings::LINUX, (2, 1), EXCLUDES), NewMaster::HasNone, 1),
            &[Assumption::NoFailOver],
            Violated,
            "it knows of no locks, and grants them again",
        ),
        claim(
            "dlm-readers-writer",
            "readers and writers, Linux",
            without(Assumption::NoPause),
            &[Assumption::NoPause],
            Violated,
            "who is silent is taken for dead, and goes on with what it had: nothing fences it here",
        ),
        claim(
            "dlm-readers-writer",
            "readers and writers, who is silent is switched off first",
            switched_off,
            &[Assumption::NoPause],
            Holds,
            "nothing of a silent one is given on before it is off",
        ),
        claim(
            "dlm-upgrade",
            "upgrade, two nodes of which one dies",
            among(upgrades(Settings::LINUX, Flags::NONE, (2, 1), EXCLUDES), 2, 1),
            &[Assumption::NoFailOver],
            Holds,
            "in a view nothing is granted before all of its nodes and all processes have spoken",
        ),
        claim(
            "dlm-readers-writer",
            "two nodes, each alone if the other is silent",
            alone(false),
            &[Assumption::NoPause],
            Violated,
            "without a quorum each goes on alone, and gives away what the other one's processes have",
        ),
        claim(
            "dlm-readers-writer",
            "two nodes, each alone when the other is switched off",
            alone(true),
            &[Assumption::NoPause],
            Holds,
            "no gate opens before the processes of a node that is taken for dead are off",
        ),
        claim(
            "dlm-readers-writer",
            "readers and writers, Linux",
            without(Assumption::NoDuplicate),
            &[Assumption::NoDuplicate],
            Holds,
            "requests are numbered",
        ),
    ]
}

fn progress() -> Vec<Claim> {
    use Expected::{Holds, Violated};
    let claim = |lock, variant, space: Space<Managed>, expected, reason| Claim {
        variant,
        reason,
        judgement: Judgement::Progress { goals: vec![Goal::DeadlockFreedom], draws: Draws::Adversary },
        ..Claim::of(lock, "lock-manager-progress", &space, &[], expected)
    };
    let lossy = {
        let mut space = modes(Settings::LINUX, (2, 1), GOES_ON);
        drop_from_managed(&mut space, Assumption::NoLoss);
        space
    };
    let upgrade = |store, flags, clients| upgrades(store, flags, (clients, 1), GOES_ON);
    let two = |store, clients| two_resources(store, (clients, 1), GOES_ON);
    vec![
        claim("dlm-modes", "modes, Linux", modes(Settings::LINUX, (2, 2), GOES_ON), Holds, "one lock each"),
        Claim {
            dropped: vec![Assumption::NoLoss],
            ..claim(
                "dlm-modes",
                "modes, Linux, nothing said again",
                lossy,
                Violated,
                "an AST is sent once here: that it arrives is what the connection between two nodes is for. Processes in drawn runs say again what is not answered",
            )
        },
        claim(
            "dlm-standby",
            "standby, Linux",
            standby(Settings::LINUX, (3, 1), GOES_ON),
            Holds,
            "NL is in nobody's way",
        ),
        claim(
            "dlm-pages",
            "pages, VMS",
            hierarchy(Settings::VMS, (2, 1), GOES_ON),
            Holds,
            "parents first is an order",
        ),
        claim(
            "dlm-upgrade",
            "upgrade, Linux until 2007",
            upgrade(LINUX_2006, Flags::NONE, 2),
            Violated,
            "each waits for the other's PR to go (row V1)",
        ),
        claim(
            "dlm-upgrade",
            "upgrade, Linux",
            upgrade(Settings::LINUX, Flags::NONE, 3),
            Holds,
            "the second one is refused at once",
        ),
        claim(
            "dlm-upgrade",
            "upgrade, VMS",
            upgrade(Settings::VMS, Flags::NONE, 3),
            Holds,
            "the search finds it",
        ),
        claim(
            "dlm-upgrade",
            "upgrade, Linux, NODLCKWT",
            upgrade(Settings::LINUX, Flags::NODLCKWT, 2),
            Violated,
            "it says that the wait ends from elsewhere, and it does not",
        ),
        claim(
            "dlm-two",
            "two resources, Linux",
            two(Settings::LINUX, 2),
            Violated,
            "the check in place looks at one resource (row V8)",
        ),
        claim(
            "dlm-two",
            "two resources, VMS",
            two(Settings::VMS, 3),
            Holds,
            "the search follows waits over resources",
        ),
    ]
}

fn caches() -> Vec<Claim> {
    use Expected::{Holds, Violated};
    let claim = |variant, cache, dropped: &[Assumption], expected, reason| {
        let mut space = cached_variable(cache, Settings::LINUX, (2, 2), &[Promise::Linearizable]);
        space.bounds.crashes = u8::from(dropped.contains(&Assumption::NoCrash));
        Claim { variant, reason, ..Claim::of("cached-variable", "cache", &space, dropped, expected) }
    };
    let careful = CacheSettings::default();
    let hasty = CacheSettings { gives_up: GivesUp::LockFirst, ..careful };
    let trusting = CacheSettings { validity: Validity::Ignored, ..careful };
    vec![
        claim("", careful, &[], Holds, "what is read is read under a lock, or has the number that it had"),
        claim(
            "the lock first",
            hasty,
            &[],
            Violated,
            "the cache is read when another writes already (row V5)",
        ),
        claim("", careful, &[Assumption::NoCrash], Holds, "the value block of a dead writer is not valid"),
        claim(
            "validity ignored",
            trusting,
            &[Assumption::NoCrash],
            Violated,
            "the dead one has written the disk and not the number (row V9)",
        ),
    ]
}
