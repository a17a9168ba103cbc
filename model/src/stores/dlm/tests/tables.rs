//! Every operation on every state that a resource with up to three locks can be in, against the naive rules.

use super::super::*;
use super::naive::{Outcome, Rules, document_says};
use std::collections::{BTreeSet, VecDeque};

const fn lock(owner: u8) -> Handle {
    Handle { owner, number: 0 }
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Request(Mode, Flags),
    Convert(Mode, Flags),
    Release,
    Cancel,
}

/// What can be done with a lock, with one of these flags or none.
fn operations(resource: &Resource, handle: Handle, flags: &[Flags]) -> Vec<Operation> {
    let all = |what: fn(Mode, Flags) -> Operation| {
        flags.iter().flat_map(move |flags| Mode::ALL.map(|mode| what(mode, *flags))).collect()
    };
    match resource.lock(handle) {
        None => all(Operation::Request),
        Some(Lock { requested: Some(_), .. }) => vec![Operation::Cancel],
        Some(_) => {
            let mut operations: Vec<Operation> = all(Operation::Convert);
            operations.push(Operation::Release);
            operations
        }
    }
}

fn done(resource: &mut Resource, handle: Handle, operation: Operation, settings: &Settings) -> Notices {
    let mut notices = Notices::new();
    let wish = |mode, flags| Wish { mode, flags, value: 0 };
    match operation {
        Operation::Request(mode, flags) => {
            resource.request(handle, wish(mode, flags), settings, &mut notices);
        }
        Operation::Convert(mode, flags) => {
            resource.convert(handle, wish(mode, flags), settings, &mut notices);
        }
        Operation::Release => resource.release(handle, Flags::NONE, 0, settings, &mut notices),
        Operation::Cancel => resource.cancel(handle, Status::Cancelled, settings, &mut notices),
    }
    notices
}

fn outcome(handle: Handle, notices: &Notices) -> Result<Outcome, Refusal> {
    let mut own = notices.iter().filter(|(whose, _)| *whose == handle);
    let completed = own.find_map(|(_, notice)| match notice {
        Notice::Completed { status, .. } => Some(*status),
        Notice::Blocks(_) | Notice::Queued => None,
    });
    Ok(match completed {
        None => Outcome::Queued,
        Some(Status::Granted) => Outcome::Granted,
        Some(Status::NotQueued) => Outcome::NotQueued,
        Some(Status::Deadlock) => Outcome::Deadlock,
        Some(Status::Released) => Outcome::Off,
        Some(Status::Cancelled) => Outcome::Cancelled,
        Some(Status::Refused(refusal)) => return Err(refusal),
    })
}

fn naive(resource: &Resource) -> Rules {
    let mut rules = Rules::default();
    for lock in resource.locks() {
        rules.add(lock.handle.owner, lock.granted, lock.requested, lock.flags);
    }
    rules
}

fn naively(rules: &mut Rules, owner: u8, operation: Operation, settings: &Settings) -> Outcome {
    let refuses = settings.deadlocks == Deadlocks::InPlace;
    match operation {
        Operation::Request(mode, flags) => rules.request(owner, mode, flags),
        Operation::Convert(mode, flags) => rules.convert(owner, mode, flags, refuses),
        Operation::Release => rules.release(owner),
        Operation::Cancel => rules.cancel(owner),
    }
}

type Modes = Vec<(u8, Option<Mode>, Option<Mode>)>;

/// Who has and wants what.
fn modes(resource: &Resource) -> Modes {
    let mut modes: Modes =
        resource.locks().map(|lock| (lock.handle.owner, lock.granted, lock.requested)).collect();
    modes.sort_unstable();
    modes
}

/// The same but for who is who, and for what no rule looks at.
fn canonical(mut resource: Resource, remembers_told: bool) -> Resource {
    for lock in &mut resource.granted {
        lock.flags = Flags::NONE;
    }
    resource.granted.sort_unstable_by_key(|lock| (lock.granted, lock.told));
    let queues = [&mut resource.granted, &mut resource.converting, &mut resource.waiting];
    for (number, lock) in queues.into_iter().flatten().enumerate() {
        lock.handle = self::lock(number as u8);
        lock.is_demoted = false;
        if !remembers_told || lock.requested.is_some() {
            lock.told = None;
        }
    }
    resource
}

/// Whether the flags may be given at all: `set_lock_args` and `validate_lock_args`, as sentences.
fn may_be_asked(resource: &Resource, handle: Handle, operation: Operation, kind: Kind) -> bool {
    let is_of_kind = |flags: Flags| match kind {
        Kind::Vms => !flags.has(Flags::CONVDEADLK.and(Flags::NOORDER).and(Flags::HEADQUE)),
        Kind::Linux => !flags.has(Flags::NODLCKBLK),
    };
    match operation {
        Operation::Request(mode, flags) => {
            is_of_kind(flags)
                && !flags.has(Flags::QUECVT.and(Flags::CONVDEADLK))
                && (!flags.has(Flags::EXPEDITE) || mode == Mode::Nl)
        }
        Operation::Convert(mode, flags) => {
            let has = resource.lock(handle).unwrap().granted.unwrap();
            // "Restricts": up, and between PR and CW, never sideways, down, or to NL.
            let is_up = mode > has || (has, mode) == (Mode::Pr, Mode::Cw);
            is_of_kind(flags)
                && !flags.has(Flags::EXPEDITE)
                && (!flags.has(Flags::QUECVT) || is_up && mode != Mode::Nl)
        }
        Operation::Release | Operation::Cancel => true,
    }
}

/// Does everything in every state that comes of it, with so many locks and these flags; returns how many states and operations.
fn explore(
    locks: u8,
    flags: &[Flags],
    settings: &Settings,
    remembers_told: bool,
    each: impl Fn(&Resource, &Resource, Handle, Operation, &Notices),
) -> (usize, usize) {
    let (mut seen, mut operations_done) = (BTreeSet::new(), 0);
    let mut frontier = VecDeque::from([Resource::default()]);
    seen.insert(Resource::default());
    while let Some(before) = frontier.pop_front() {
        let there = before.locks().count() as u8;
        for handle in (0..locks.min(there + 1)).map(lock) {
            for operation in operations(&before, handle, flags) {
                let mut after = before.clone();
                let notices = done(&mut after, handle, operation, settings);
                operations_done += 1;
                each(&before, &after, handle, operation, &notices);
                let next = canonical(after, remembers_told);
                if !seen.contains(&next) {
                    seen.insert(next.clone());
                    frontier.push_back(next);
                }
            }
        }
    }
    (seen.len(), operations_done)
}

/// The operation comes to what the naive rules say, and leaves what they leave.
fn agrees(settings: Settings) -> impl Fn(&Resource, &Resource, Handle, Operation, &Notices) {
    move |before, after, handle, operation, notices| {
        let found = outcome(handle, notices);
        if !may_be_asked(before, handle, operation, settings.kind) {
            assert_eq!(found, Err(Refusal::Flags), "{operation:?} by {handle} of {before:?}");
            assert_eq!(modes(before), modes(after));
            return;
        }
        let mut rules = naive(before);
        let expected = naively(&mut rules, handle.owner, operation, &settings);
        assert_eq!(found, Ok(expected), "{operation:?} by {handle} of {before:?}");
        let mut left: Modes = rules.locks.iter().map(|lock| (lock.owner, lock.has, lock.wants)).collect();
        left.sort_unstable();
        assert_eq!(modes(after), left, "{operation:?} by {handle} of {before:?}");
    }
}

const ALL_FLAGS: &[Flags] = &[
    Flags::NONE,
    Flags::NOQUEUE,
    Flags::QUECVT,
    Flags::EXPEDITE,
    Flags::CONVDEADLK,
    Flags::NODLCKWT,
    Flags::NODLCKBLK,
    Flags::NOORDER,
    Flags::HEADQUE,
];

const LEFT: Settings = Settings { deadlocks: Deadlocks::Left, ..Settings::LINUX };

#[test]
fn who_goes_beside_whom_is_the_table_of_document_004_and_that_of_the_kernel() {
    let kernel = [
        [1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 1, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 1, 0, 1, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [1, 0, 0, 0, 0, 0],
    ];
    for one in Mode::ALL {
        for other in Mode::ALL {
            assert_eq!(one.goes_beside(other), document_says(one, other), "{one} {other}");
            assert_eq!(one.goes_beside(other), kernel[one as usize][other as usize] == 1, "{one} {other}");
            let modes = picklock_properties::AccessModes::DLM;
            assert_eq!(one.goes_beside(other), modes.compatible(one.access(), other.access()));
        }
        assert_eq!(Mode::of(one.access()), one);
    }
}

#[test]
fn two_locks_with_every_mode_and_flag_are_granted_queued_and_refused_as_the_rules_say() {
    let sizes = [(533, 18_176), (1_007, 14_372), (1_571, 20_252)];
    for (settings, size) in [Settings::LINUX, Settings::VMS, LEFT].into_iter().zip(sizes) {
        assert_eq!(explore(2, ALL_FLAGS, &settings, false, agrees(settings)), size, "{settings:?}");
    }
}

#[test]
fn three_locks_with_every_mode_are_granted_queued_and_refused_as_the_rules_say() {
    let flags = [Flags::NONE, Flags::NOQUEUE, Flags::QUECVT];
    for (settings, size) in [(Settings::LINUX, (1_802, 44_225)), (LEFT, (14_840, 106_631))] {
        assert_eq!(explore(3, &flags, &settings, false, agrees(settings)), size, "{settings:?}");
    }
}

#[test]
fn three_locks_that_skip_the_order_or_are_demoted_are_granted_and_queued_as_the_rules_say() {
    let sizes = [(2_175, 37_414), (4_165, 47_646), (1_738, 30_287)];
    for (flags, size) in [Flags::NOORDER, Flags::HEADQUE, Flags::CONVDEADLK].into_iter().zip(sizes) {
        let settings = Settings::LINUX;
        assert_eq!(explore(3, &[Flags::NONE, flags], &settings, false, agrees(settings)), size, "{flags}");
    }
}

fn is_wanted_in_vain(resource: &Resource, holder: &Lock) -> bool {
    let queued = resource.converting.iter().chain(&resource.waiting);
    let wanted = queued.filter(|lock| lock.handle != holder.handle).filter_map(|lock| lock.requested);
    wanted.into_iter().any(|mode| !holder.granted.unwrap().goes_beside(mode))
}

#[test]
fn whoever_holds_what_somebody_waits_for_was_told_so_unless_it_came_past_the_order() {
    for (flags, may_miss) in [(Flags::NONE, false), (Flags::HEADQUE, false), (Flags::NOORDER, true)] {
        let missed = std::cell::Cell::new(0);
        let (states, _) = explore(3, &[Flags::NONE, flags], &Settings::LINUX, true, |_, after, _, _, _| {
            let untold = |lock: &&Lock| lock.told.is_none() && is_wanted_in_vain(after, lock);
            missed.set(missed.get() + after.granted.iter().filter(untold).count());
        });
        println!("{flags}: {states} states, {} missed", missed.get());
        assert_eq!(missed.get() > 0, may_miss, "{flags}");
    }
}

#[test]
fn nobody_is_told_to_be_in_the_way_who_is_not() {
    explore(3, &[Flags::NONE], &Settings::LINUX, true, |before, after, handle, operation, notices| {
        for (whose, notice) in notices {
            let Notice::Blocks(mode) = notice else { continue };
            let holder = after.lock(*whose).unwrap();
            let is_incompatible = !holder.granted.unwrap().goes_beside(*mode);
            assert!(
                is_incompatible && holder.requested.is_none() && is_wanted_in_vain(after, holder),
                "{whose} is told of {mode}: {operation:?} by {handle} of {before:?}"
            );
        }
    });
}

#[test]
fn a_conversion_past_the_queue_is_compatible_and_leaves_those_who_wait_where_they_are() {
    let (mut resource, settings) = (Resource::default(), Settings::LINUX);
    for (owner, mode) in [(0, Mode::Pr), (1, Mode::Nl), (2, Mode::Ex)] {
        done(&mut resource, lock(owner), Operation::Request(mode, Flags::NONE), &settings);
    }
    assert_eq!(resource.waiting.len(), 1);
    let mut queueing = resource.clone();
    let up = |flags| Operation::Convert(Mode::Pr, flags);
    let notices = done(&mut resource, lock(1), up(Flags::NONE), &settings);
    assert_eq!(outcome(lock(1), &notices), Ok(Outcome::Granted));
    // QUECVT waits behind conversions only: there are none.
    let notices = done(&mut queueing, lock(1), up(Flags::QUECVT), &settings);
    assert_eq!(outcome(lock(1), &notices), Ok(Outcome::Granted));
    assert_eq!(resource, {
        queueing.granted.iter_mut().for_each(|lock| lock.flags = Flags::NONE);
        queueing
    });
}

/// How many of a queue were granted past one that stood ahead of them and waits on.
fn overtakes(before: &[Lock], after: &Resource, whose: Handle) -> usize {
    let others = || before.iter().filter(|lock| lock.handle != whose);
    let waits = |lock: &Lock| after.lock(lock.handle).is_some_and(|lock| lock.requested.is_some());
    let first_that_waits = others().position(waits).unwrap_or(before.len());
    others().skip(first_that_waits).filter(|lock| !waits(lock)).count()
}

#[test]
fn nobody_who_waits_is_overtaken_in_its_queue_but_by_who_skips_the_order() {
    for (locks, flags, may_overtake) in [
        (4, Flags::NONE, false),
        (3, Flags::QUECVT, false),
        (3, Flags::HEADQUE, false),
        (3, Flags::CONVDEADLK, false),
        (3, Flags::NOORDER, true),
    ] {
        let found = std::cell::Cell::new(0);
        let flags_used = &[Flags::NONE, flags][usize::from(flags == Flags::NONE)..];
        let (states, _) =
            explore(locks, flags_used, &Settings::LINUX, false, |before, after, handle, _, _| {
                let queues = [&before.converting, &before.waiting];
                let past: usize = queues.map(|queue| overtakes(queue, after, handle)).iter().sum();
                found.set(found.get() + past);
            });
        println!("{flags}, {locks} locks: {states} states, {} overtaken", found.get());
        assert_eq!(found.get() > 0, may_overtake, "{flags}");
    }
}
