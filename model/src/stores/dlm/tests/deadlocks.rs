//! Circles of waits against what a deadlock is: whatever those do who can do something, some wait for ever.

use super::super::*;
use super::naive::document_says;
use std::collections::{BTreeSet, VecDeque};

const NAMES: [Name; 2] = [Name::of(1), Name::of(2)];
const LEFT: Settings = Settings { deadlocks: Deadlocks::Left, ..Settings::LINUX };
const IN_PLACE: Settings = Settings::LINUX;

const fn lock(owner: u8, resource: u8) -> Handle {
    Handle { owner, number: resource }
}

/// Those who wait for ever: let everybody who waits for nothing give up all it has, and whoever is granted then as well.
fn stuck(manager: &Manager) -> BTreeSet<u8> {
    let mut manager = manager.clone();
    loop {
        let all: BTreeSet<u8> = locks(&manager).map(|lock| lock.handle.owner).collect();
        let waiting: BTreeSet<u8> =
            locks(&manager).filter(|lock| lock.requested.is_some()).map(|lock| lock.handle.owner).collect();
        let Some(free) = all.difference(&waiting).next() else { return waiting };
        manager.purge(*free, &LEFT, &mut Notices::new());
    }
}

fn locks(manager: &Manager) -> impl Iterator<Item = &Lock> {
    manager.resources.iter().flat_map(|(_, resource)| resource.locks())
}

/// Everything that so many processes can do on so many resources in these modes, each of them waiting for one thing at a time.
fn explore(
    processes: u8,
    resources: u8,
    modes: &[Mode],
    settings: &Settings,
    mut each: impl FnMut(&Manager),
) -> usize {
    let (mut seen, mut frontier) =
        (BTreeSet::from([Manager::default()]), VecDeque::from([Manager::default()]));
    while let Some(before) = frontier.pop_front() {
        each(&before);
        for owner in 0..processes {
            if locks(&before).any(|lock| lock.handle.owner == owner && lock.requested.is_some()) {
                continue;
            }
            for resource in 0..resources {
                let (handle, name) = (lock(owner, resource), NAMES[usize::from(resource)]);
                let has = locks(&before).any(|lock| lock.handle == handle);
                let mut next: Vec<Manager> = modes
                    .iter()
                    .map(|mode| {
                        let wish = Wish { mode: *mode, flags: Flags::NONE, value: 0 };
                        let mut after = before.clone();
                        match has {
                            true => after.convert(handle, wish, settings, &mut Notices::new()),
                            false => after.request(handle, name, wish, settings, &mut Notices::new()),
                        }
                        after
                    })
                    .collect();
                if has {
                    let mut after = before.clone();
                    after.release(handle, Flags::NONE, 0, settings, &mut Notices::new());
                    next.push(after);
                }
                for after in next.into_iter().map(canonical) {
                    if seen.insert(after.clone()) {
                        frontier.push_back(after);
                    }
                }
            }
        }
    }
    seen.len()
}

/// The same but for what no rule looks at, and with the processes numbered as they come.
fn canonical(mut manager: Manager) -> Manager {
    let mut owners: Vec<u8> = Vec::new();
    for (_, resource) in &mut manager.resources {
        resource.granted.sort_unstable_by_key(|lock| {
            let place = owners.iter().position(|owner| *owner == lock.handle.owner);
            (lock.granted, place.unwrap_or(usize::MAX))
        });
        for queue in [&mut resource.granted, &mut resource.converting, &mut resource.waiting] {
            for lock in queue {
                lock.told = None;
                let place = owners.iter().position(|owner| *owner == lock.handle.owner);
                lock.handle.owner = place.unwrap_or_else(|| {
                    owners.push(lock.handle.owner);
                    owners.len() - 1
                }) as u8;
            }
        }
    }
    manager
}

/// Every state: a circle is found if and only if somebody waits for ever, it is made of such, and refusing one of it at a time ends all.
fn searched(processes: u8, resources: u8, modes: &[Mode]) -> (usize, usize) {
    let mut deadlocks = 0;
    let states = explore(processes, resources, modes, &LEFT, |manager| {
        let (stuck, found) = (stuck(manager), circle(manager));
        assert_eq!(found.is_some(), !stuck.is_empty(), "{found:?} {stuck:?} in {manager:?}");
        let Some(found) = found else { return };
        deadlocks += 1;
        assert!(found.iter().all(|handle| stuck.contains(&handle.owner)), "{found:?} in {manager:?}");
        let (mut ended, mut refused) = (manager.clone(), BTreeSet::new());
        while let Some(victim) = ended.end_a_deadlock(&LEFT, &mut Notices::new()) {
            assert!(refused.insert(victim), "{victim} is refused twice in {manager:?}");
        }
        assert!(self::stuck(&ended).is_empty(), "{ended:?}");
    });
    (states, deadlocks)
}

/// In all six modes with `PICKLOCK_LONG=1`.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn every_deadlock_of_three_processes_on_two_resources_is_found_and_none_that_is_not_there() {
    let mut spaces: Vec<&[Mode]> = vec![&[Mode::Pr, Mode::Ex], &[Mode::Cr, Mode::Cw, Mode::Pr, Mode::Ex]];
    if std::env::var_os("PICKLOCK_LONG").is_some() {
        spaces.push(&Mode::ALL);
    }
    for modes in spaces {
        let (states, deadlocks) = searched(3, 2, modes);
        println!("{modes:?}: {states} states, {deadlocks} of them deadlocks");
        assert!(deadlocks > 400, "{deadlocks}");
        if modes == Mode::ALL {
            assert_eq!((states, deadlocks), (1_508_269, 1_192_695));
        }
    }
}

#[test]
fn every_deadlock_of_two_processes_on_two_resources_in_all_modes_is_found_and_none_that_is_not_there() {
    let (states, deadlocks) = searched(2, 2, &Mode::ALL);
    println!("all modes: {states} states, {deadlocks} of them deadlocks");
    assert!(deadlocks > 100, "{deadlocks}");
}

#[test]
fn on_one_resource_the_check_in_place_leaves_no_deadlock_and_without_it_there_are_some() {
    for (settings, sizes) in [(IN_PLACE, (741, 0)), (LEFT, (2_445, 1_704))] {
        let mut deadlocks = 0;
        let states = explore(3, 1, &Mode::ALL, &settings, |manager| {
            deadlocks += usize::from(!stuck(manager).is_empty());
        });
        assert_eq!((states, deadlocks), sizes, "{settings:?}");
    }
}

/// Row V8: the check in place looks at one resource.
#[test]
fn the_check_in_place_misses_a_circle_over_two_resources() {
    let mut manager = Manager::default();
    let wish = Wish { mode: Mode::Ex, flags: Flags::NONE, value: 0 };
    for (owner, resource) in [(0, 0), (1, 1), (0, 1), (1, 0)] {
        let name = NAMES[usize::from(resource)];
        manager.request(lock(owner, resource), name, wish, &IN_PLACE, &mut Notices::new());
    }
    assert_eq!(stuck(&manager).len(), 2);
    assert_eq!(circle(&manager).map(|circle| circle.len()), Some(2));
    let mut notices = Notices::new();
    assert_eq!(manager.end_a_deadlock(&Settings::VMS, &mut notices), Some(lock(1, 0)));
    let told = |owner| notices.iter().filter(move |(whose, _)| whose.owner == owner).count();
    assert_eq!((told(0), told(1)), (0, 1), "granted locks stay, one that waits is refused: {notices:?}");
    assert!(stuck(&manager).is_empty());
}

/// Row V1, and the kernel's check since 2007 (c85d65e91430).
#[test]
fn two_readers_that_both_want_to_write_wait_for_ever_unless_one_is_refused_or_demoted() {
    let both_convert = |settings: &Settings, flags: Flags| {
        let (mut manager, mut notices) = (Manager::default(), Notices::new());
        for owner in 0..2 {
            let wish = Wish { mode: Mode::Pr, flags: Flags::NONE, value: 0 };
            manager.request(lock(owner, 0), NAMES[0], wish, settings, &mut notices);
        }
        for owner in 0..2 {
            let wish = Wish { mode: Mode::Ex, flags, value: 0 };
            manager.convert(lock(owner, 0), wish, settings, &mut notices);
        }
        (stuck(&manager).len(), notices)
    };
    assert_eq!(both_convert(&LEFT, Flags::NONE).0, 2);
    assert_eq!(both_convert(&IN_PLACE, Flags::NODLCKWT).0, 2);
    let completion = |notices: &Notices, wanted: Status| {
        notices.iter().rev().find_map(|(whose, notice)| match notice {
            Notice::Completed { status, granted, .. } if *status == wanted => Some((whose.owner, *granted)),
            Notice::Completed { .. } | Notice::Blocks(_) | Notice::Queued => None,
        })
    };
    let (waiting, notices) = both_convert(&IN_PLACE, Flags::NONE);
    assert_eq!((waiting, completion(&notices, Status::Deadlock)), (0, Some((1, Some(Mode::Pr)))));
    // The first one is granted over the second one's demoted lock.
    let (waiting, notices) = both_convert(&LEFT, Flags::CONVDEADLK);
    assert_eq!((waiting, completion(&notices, Status::Granted)), (0, Some((0, Some(Mode::Ex)))));
}

#[test]
fn what_is_said_to_be_ended_from_elsewhere_is_no_part_of_a_circle() {
    for (owner, flags) in
        [(0, Flags::NODLCKWT), (1, Flags::NODLCKWT), (0, Flags::NODLCKBLK), (1, Flags::NODLCKBLK)]
    {
        let mut manager = Manager::default();
        for (whose, resource) in [(0, 0), (1, 1), (0, 1), (1, 0)] {
            let flags = if whose == owner { flags } else { Flags::NONE };
            let wish = Wish { mode: Mode::Ex, flags, value: 0 };
            let name = NAMES[usize::from(resource)];
            manager.request(lock(whose, resource), name, wish, &Settings::VMS, &mut Notices::new());
        }
        assert_eq!(circle(&manager), None, "{owner}{flags}");
    }
    assert!(document_says(Mode::Nl, Mode::Ex));
}
