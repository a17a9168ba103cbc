//! The engines against each other, over every lock, fault and promise, in both directions.
//!
//! Where `check` explores a whole small world with the fault allowed and calls the promise kept, no random run with that fault may break
//! it. Where one does, the small world lacks something, and [`KNOWN`] says what. Only a cell that a random run breaks can be such a
//! contradiction, so only those are explored. A search that does not end soon says nothing of its cell: the test counts the broken cells of
//! which something was said.
//!
//! And where `check` breaks a promise, the matrix must know that it breaks, though no run of it may have met the failure. A drop that is
//! made by setting the store otherwise than the matrix has it says nothing of the matrix's store, and is left out.
//!
//! And the exhaustive engine against itself: what breaks without one assumption breaks without that one and another, too.
//!
//! `PICKLOCK_LONG=1` goes through larger worlds and more seeds.

use crate::evidence::{STATES_MAX, lock};
use picklock_model::claims::{Assumption, Judgement, Known, NamedSpace};
use picklock_model::explore::Limits;
use picklock_properties::{Promise, PromiseSet};
use picklock_sim::plans::fault::{FaultKind, FaultSet};
use picklock_sim::registry::{AnyLock, CheckOptions, CheckVerdict, SweepHow, known_of, known_run, locks};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The promises of the matrix that single steps break.
const PROMISES: [Promise; 4] =
    [Promise::MutualExclusion, Promise::FencedResource, Promise::Fifo, Promise::LeaseLoss];

/// Where the small world of `check` lacks what breaks the promise in random runs.
const KNOWN: &[(&str, &str, Promise, &str)] = &[];

/// All systems by name, locks or not.
fn all_names() -> Vec<&'static str> {
    locks().iter().map(|lock| lock.name()).collect()
}

/// The promises of a system that single steps break: of a lock those of the matrix, of anything else those that it watches.
fn promises(lock: &dyn AnyLock) -> PromiseSet {
    match lock.is_lock() {
        true => PROMISES.into_iter().collect(),
        false => lock.watched().iter().filter(|promise| !promise.is_liveness()).collect(),
    }
}

/// What a fault stands for: each time the assumptions to be dropped together. Delays and partitions stand for none.
fn assumptions(lock: &dyn AnyLock, fault: Option<FaultKind>) -> Vec<Vec<Assumption>> {
    use Assumption::*;
    match fault {
        // A server that is down for a while gets nothing of what is sent to it. Locks are patient with a server in other ways.
        Some(FaultKind::Crash) if !lock.is_lock() => vec![vec![NoCrash, NoLoss]],
        Some(FaultKind::PowerLoss) if !lock.is_lock() => vec![vec![Durable, NoLoss]],
        fault => of_locks(fault),
    }
}

fn of_locks(fault: Option<FaultKind>) -> Vec<Vec<Assumption>> {
    use Assumption::*;
    let each = |assumptions: &[Assumption]| assumptions.iter().map(|assumption| vec![*assumption]).collect();
    match fault {
        None => vec![vec![]],
        Some(FaultKind::Pause) => each(&[NoPause]),
        Some(FaultKind::Clock) => {
            each(&[NoClockStep, NoClockFreeze, ClocksAgree, BoundedDrift, NoServerClockStep])
        }
        Some(FaultKind::Loss) => each(&[NoLoss]),
        Some(FaultKind::Duplicate) => each(&[NoDuplicate]),
        // In random runs leases always end, and a server may be down for longer than they last.
        Some(FaultKind::Crash) => vec![vec![NoCrash], vec![MajorityUp], vec![NoExpiry, MajorityUp]],
        Some(FaultKind::PowerLoss) => each(&[Durable]),
        Some(FaultKind::Suspend) => each(&[NoSuspend]),
        Some(
            FaultKind::Delay
            | FaultKind::Partition
            | FaultKind::CoarseClock
            | FaultKind::Resource
            | FaultKind::Reset
            | FaultKind::Replace,
        ) => Vec::new(),
    }
}

fn options(lock: &dyn AnyLock, drop: &[Assumption], promise: Promise, rounds: u8) -> CheckOptions {
    CheckOptions {
        clients: if lock.is_lock() { 2 } else { lock.usual_clients() },
        servers: lock.usual_servers(),
        rounds: if lock.is_lock() { rounds } else { lock.usual_rounds() },
        try_lock: false,
        drop: drop.to_vec(),
        promises: [promise].into_iter().collect(),
    }
}

/// What `check` says of the promise in a world of this size.
fn verdict(lock: &dyn AnyLock, space: &NamedSpace, states_max: u64) -> Option<CheckVerdict> {
    let checked = lock.check(space, &Judgement::Safety, &Limits::states(states_max));
    checked.ok().map(|checked| checked.verdict)
}

/// What `check` says of the promise, whichever of the fault's assumptions are dropped: that it holds, if it does with each.
fn check_says(
    lock: &dyn AnyLock,
    fault: Option<FaultKind>,
    promise: Promise,
    rounds: u8,
    states_max: u64,
) -> Option<CheckVerdict> {
    let whole = lock.space(&options(lock, &[], promise, rounds));
    // Dropping what has no meaning for a lock changes nothing, and says nothing.
    let dropped = assumptions(lock, fault).into_iter();
    let spaces = dropped.map(|drop| (drop.is_empty(), lock.space(&options(lock, &drop, promise, rounds))));
    let meant: Vec<_> = spaces.filter(|(is_whole, space)| *is_whole || *space != whole).collect();
    let mut says = None;
    for (_, space) in &meant {
        match verdict(lock, space, states_max) {
            Some(CheckVerdict::Holds) => says = Some(CheckVerdict::Holds),
            other => return other,
        }
    }
    says
}

/// For each promise that random runs break under this fault, the first seed that does.
fn broken_by(lock: &dyn AnyLock, fault: Option<FaultKind>, seeds: u64) -> Vec<(Promise, u64)> {
    let stop = AtomicBool::new(false);
    let faults = fault.map_or(FaultSet::EMPTY, FaultSet::from);
    let promises = promises(lock);
    let setup = lock.setup(Some(promises));
    let how = SweepHow { keep_going: true, ..SweepHow::new(&|_| {}, &stop) };
    let report = lock.sweep(&setup, faults, 0..seeds, &how);
    let report = report.unwrap_or_else(|error| panic!("{} cannot be swept: {error}", lock.name()));
    promises.iter().filter_map(|promise| Some((promise, report.first_seed(promise)?))).collect()
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn what_check_calls_kept_no_random_run_breaks() {
    let (rounds, states_max, seeds, least) = match std::env::var_os("PICKLOCK_LONG") {
        Some(_) => (2, STATES_MAX, 2_000, 100),
        None => (2, 10_000, 40, 20),
    };
    let compared = AtomicUsize::new(0);
    let names = all_names();
    // Of what stands for no assumption, check says nothing.
    let all = std::iter::once(None).chain(FaultKind::ALL.into_iter().map(Some));
    let faults: Vec<Option<FaultKind>> = all.filter(|fault| !of_locks(*fault).is_empty()).collect();
    let contradictions_of = |name: &&'static str| -> Vec<(&'static str, String, Promise, u64)> {
        let lock = lock(name);
        let mut found = Vec::new();
        for fault in &faults {
            for (promise, seed) in broken_by(lock.as_ref(), *fault, seeds) {
                match check_says(lock.as_ref(), *fault, promise, rounds, states_max) {
                    Some(CheckVerdict::Holds) => {
                        let fault = fault.map_or("none".to_owned(), |fault| fault.to_string());
                        found.push((*name, fault, promise, seed));
                    }
                    Some(CheckVerdict::Violated) => {
                        compared.fetch_add(1, Ordering::Relaxed);
                    }
                    Some(_) | None => {}
                }
            }
        }
        found
    };
    let found: Vec<_> = names.par_iter().map(contradictions_of).collect::<Vec<_>>().concat();
    let is_known = |(lock, fault, promise, _): &(&str, String, Promise, u64)| {
        KNOWN.iter().any(|known| (known.0, known.1, known.2) == (*lock, fault.as_str(), *promise))
    };
    let unknown: Vec<String> = found
        .iter()
        .filter(|found| !is_known(found))
        .map(|(lock, fault, promise, seed)| {
            format!("{lock} · {fault} · {promise}: check says holds, seed {seed} breaks it")
        })
        .collect();
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
    let compared = compared.into_inner();
    assert!(
        compared >= least,
        "only {compared} cells were compared: worlds are too large for {states_max} states"
    );
}

/// Where `check` breaks what the matrix does not know to be broken, and why both are right.
const BROKEN_IN_SMALL_WORLDS_ALONE: &[(&str, &str, Promise, &str)] = &[];

/// Whether the store of this space is set otherwise than that of the other one.
fn sets_store(lock: &dyn AnyLock, space: &NamedSpace, whole: &NamedSpace) -> bool {
    let of_store = |space: &NamedSpace| -> Vec<String> {
        let surroundings = lock.surroundings(space);
        let settings = surroundings.unwrap_or_else(|error| panic!("{}: {error}", lock.name())).settings;
        settings.into_iter().filter(|setting| setting.starts_with("store.")).collect()
    };
    of_store(space) != of_store(whole)
}

/// The space without the faults that small worlds of Redis let in though no assumption is dropped (what is written down survives a loss
/// of power, and clocks err within the margin), where the row of the matrix does not have them.
fn without_what_is_no_assumption(space: NamedSpace, fault: Option<FaultKind>) -> NamedSpace {
    let mut bounds = space.bounds.clone();
    if fault != Some(FaultKind::PowerLoss) {
        bounds.power_losses = 0;
    }
    if fault != Some(FaultKind::Clock) {
        bounds.drifts = 0;
    }
    NamedSpace { bounds, ..space }
}

/// Of these the matrix says that a late write needs no fault at all, though hardly any random run shows it.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_write_under_way_when_the_lease_ends_is_overtaken_without_any_fault() {
    for name in ["redis-readers-writer", "redis-readers-writer-repaired", "redlock"] {
        let lock = lock(name);
        let space = lock.space(&options(lock.as_ref(), &[], Promise::FencedResource, 2));
        let space = without_what_is_no_assumption(space, None);
        assert_eq!(space.bounds.allowed(), Vec::<String>::new(), "{name}");
        assert_eq!(verdict(lock.as_ref(), &space, STATES_MAX), Some(CheckVerdict::Violated), "{name}");
    }
}

/// These cells of the matrix rest on the exhaustive search alone: no seed has met them, and the tests of all cells end long before.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn who_shows_no_token_writes_late_where_a_clock_drifts_or_keep_alives_are_lost() {
    let drifting = ["etcd-mutex", "etcd-election", "etcd-lease-key", "zookeeper-lock", "consul-lock"];
    let drifts = drifting.map(|name| (name, Assumption::BoundedDrift));
    let losses = ["etcd-mutex", "etcd-election"].map(|name| (name, Assumption::NoLoss));
    for (name, dropped) in drifts.into_iter().chain(losses) {
        let lock = lock(name);
        let space = lock.space(&options(lock.as_ref(), &[dropped], Promise::FencedResource, 2));
        let verdict = verdict(lock.as_ref(), &space, STATES_MAX);
        assert_eq!(verdict, Some(CheckVerdict::Violated), "{name} without {}", dropped.name());
    }
}

/// As well: a server crashes when it has done what it was asked for, and before it says so.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn whose_deletion_is_done_by_a_server_that_crashes_deletes_the_next_ones_key_too() {
    let lock = lock("etcd-lease-key");
    let dropped = [Assumption::MajorityUp, Assumption::NoExpiry];
    for promise in [Promise::MutualExclusion, Promise::FencedResource] {
        let space = lock.space(&options(lock.as_ref(), &dropped, promise, 2));
        assert_eq!(verdict(lock.as_ref(), &space, STATES_MAX), Some(CheckVerdict::Violated), "{promise}");
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn what_check_breaks_the_matrix_knows_to_be_broken() {
    let (states_max, least) = match std::env::var_os("PICKLOCK_LONG") {
        Some(_) => (200_000, 300),
        None => (2_000, 50),
    };
    let names: Vec<&str> = locks().iter().filter(|lock| lock.is_lock()).map(|lock| lock.name()).collect();
    let faults = || std::iter::once(None).chain(FaultKind::USUAL.into_iter().map(Some));
    let cells = names.iter().flat_map(|name| faults().map(move |fault| (*name, fault)));
    let cells: Vec<_> =
        cells.flat_map(|(name, fault)| PROMISES.map(|promise| (name, fault, promise))).collect();
    let judged = AtomicUsize::new(0);
    let unknown_of = |&(name, fault, promise): &(&'static str, Option<FaultKind>, Promise)| {
        let row = fault.map_or("none", FaultKind::name);
        let is_known = known_run(name, row, promise).is_some()
            || known_of(name, row, promise).is_some_and(|cell| cell.known == Known::Broken);
        if is_known {
            return None;
        }
        let lock = lock(name);
        let space_without = |drop: &[Assumption]| {
            without_what_is_no_assumption(lock.space(&options(lock.as_ref(), drop, promise, 2)), fault)
        };
        let whole = space_without(&[]);
        of_locks(fault).into_iter().find_map(|drop| {
            let space = space_without(&drop);
            if !drop.is_empty() && (space == whole || sets_store(lock.as_ref(), &space, &whole)) {
                return None;
            }
            match verdict(lock.as_ref(), &space, states_max)? {
                CheckVerdict::Violated => {
                    let names: Vec<_> = drop.iter().map(|assumption| assumption.name()).collect();
                    Some((name, row, promise, format!(" without {}", names.join("+"))))
                }
                CheckVerdict::Holds => {
                    judged.fetch_add(1, Ordering::Relaxed);
                    None
                }
                CheckVerdict::Incomplete | CheckVerdict::Vacuous => None,
            }
        })
    };
    let found: Vec<_> = cells.par_iter().filter_map(unknown_of).collect();
    let is_explained = |name: &str, row: &str, promise: Promise| {
        BROKEN_IN_SMALL_WORLDS_ALONE.iter().any(|cell| (cell.0, cell.1, cell.2) == (name, row, promise))
    };
    let unexplained: Vec<String> = found
        .iter()
        .filter(|(name, row, promise, _)| !is_explained(name, row, *promise))
        .map(|(name, row, promise, drop)| format!("{name} · {row} · {promise}: check breaks it{drop}"))
        .collect();
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
    for (name, row, promise, _) in BROKEN_IN_SMALL_WORLDS_ALONE {
        let is_found = found.iter().any(|cell| (cell.0, cell.1, cell.2) == (*name, *row, *promise));
        assert!(is_found, "{name} · {row} · {promise} is explained, and check does not break it");
    }
    let judged = judged.into_inner();
    assert!(judged >= least, "only {judged} spaces were judged: they are too large for {states_max} states");
}

/// Why it is right that the promise is not broken any more once the second assumption is dropped, too.
fn why_mended(
    name: &str,
    first: Assumption,
    second: Assumption,
    verdict: CheckVerdict,
) -> Option<&'static str> {
    match (name, first, second, verdict) {
        ("redis-single" | "redis-single-fenced", _, Assumption::KeysExpire, CheckVerdict::Holds) => {
            Some("a key without an end is given to nobody else, whatever befalls its holder")
        }
        ("cassandra-queue" | "cassandra-shadow", Assumption::NoClockFreeze, _, CheckVerdict::Vacuous) => {
            Some("the second brings time in, in which no clock stops: the verdict is no pass, and says so")
        }
        _ => None,
    }
}

/// What is let in more can be left undone, so a world with more faults has every run of the one with fewer.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn what_breaks_without_one_assumption_breaks_without_a_second_one() {
    // Every day one pair of many: others for other locks and promises.
    let (states_max, each, least) = match std::env::var_os("PICKLOCK_LONG") {
        Some(_) => (20_000, 1, 500),
        None => (4_000, 17, 20),
    };
    let promises_of =
        |name| promises(lock(name).as_ref()).iter().map(move |promise| (name, promise)).collect();
    let cells = all_names().into_iter().flat_map(|name| -> Vec<(&str, Promise)> { promises_of(name) });
    let cells: Vec<_> = cells.enumerate().collect();
    let compared = AtomicUsize::new(0);
    let mended_in = |&(place, (name, promise)): &(usize, (&'static str, Promise))| {
        let lock = lock(name);
        let space = |drop: &[Assumption]| lock.space(&options(lock.as_ref(), drop, promise, 1));
        let whole = space(&[]);
        let matters = |assumption: &Assumption| space(&[*assumption]) != whole;
        let meant: Vec<Assumption> = Assumption::ALL.into_iter().filter(matters).collect();
        let is_broken = |drop: &[Assumption]| verdict(lock.as_ref(), &space(drop), states_max);
        let mut mended = Vec::new();
        for (row, first) in meant.iter().enumerate() {
            let is_chosen =
                |column: &usize| *column != row && (place + row * meant.len() + column).is_multiple_of(each);
            let chosen: Vec<Assumption> =
                (0..meant.len()).filter(is_chosen).map(|column| meant[column]).collect();
            if chosen.is_empty() || is_broken(&[*first]) != Some(CheckVerdict::Violated) {
                continue;
            }
            for second in chosen {
                // A pause is one of the two, and the command lets in one.
                let both = [*first, second];
                if [Assumption::NoPause, Assumption::NoSuspend].iter().all(|kind| both.contains(kind)) {
                    continue;
                }
                match is_broken(&both) {
                    Some(CheckVerdict::Violated) => {
                        compared.fetch_add(1, Ordering::Relaxed);
                    }
                    Some(verdict @ (CheckVerdict::Holds | CheckVerdict::Vacuous)) => {
                        mended.push((name, promise, *first, second, verdict));
                    }
                    Some(CheckVerdict::Incomplete) | None => {}
                }
            }
        }
        mended
    };
    let mended: Vec<_> = cells.par_iter().map(mended_in).collect::<Vec<_>>().concat();
    let unexplained: Vec<String> = mended
        .iter()
        .filter(|(name, _, first, second, verdict)| why_mended(name, *first, *second, *verdict).is_none())
        .map(|(name, promise, first, second, verdict)| {
            format!("{name} · {promise}: broken without {first}, and without {second} too it is {verdict:?}")
        })
        .collect();
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
    let compared = compared.into_inner();
    assert!(
        compared >= least,
        "only {compared} pairs were compared: worlds are too large for {states_max} states"
    );
}
