//! A master that dies at every step of whatever three processes do with one resource, and what is promised afterwards.

use super::super::recovery::{Middle, Order, Recovery, Survives, Unanswered};
use super::super::*;
use std::collections::BTreeSet;

const MODES: [Mode; 4] = [Mode::Nl, Mode::Pr, Mode::Cw, Mode::Ex];
const SETTINGS: Settings = Settings::LINUX;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Said {
    Request(Wish),
    Convert(Wish),
    Release(u32),
}

/// A process with its copy of its lock, and what is under way between it and the master, in order.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Owner {
    copy: Option<Lock>,
    unanswered: Option<Unanswered>,
    to_master: Vec<Said>,
    from_master: Vec<Notice>,
    left: u8,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Cluster {
    master: Resource,
    owners: Vec<Owner>,
    /// The number of the last write, of those that may be known to anybody.
    written: u32,
}

const fn handle(owner: usize) -> Handle {
    Handle { owner: owner as u8, number: 0 }
}

impl Owner {
    /// By what it goes.
    fn goes_by(&self) -> Option<Mode> {
        self.copy.and_then(|copy| copy.granted)
    }
}

/// Asks for this mode, or for nothing any more. Who goes down from writing has written.
fn says(cluster: &mut Cluster, who: usize, mode: Option<Mode>) {
    let is_writer = cluster.owners[who].goes_by() >= Some(Mode::Pw);
    let is_down = mode.is_none_or(|mode| mode < Mode::Pw);
    if is_writer && is_down {
        cluster.written += 1;
    }
    let value = cluster.written;
    let owner = &mut cluster.owners[who];
    owner.left -= 1;
    let (said, unanswered) = match (mode, &mut owner.copy) {
        (None, _) => (Said::Release(value), Unanswered::Release),
        (Some(mode), None) => {
            let wish = Wish { mode, flags: Flags::VALBLK, value: 0 };
            let mut asked = Resource::default();
            asked.request(handle(who), wish, &SETTINGS, &mut Notices::new());
            let copy = asked.granted[0];
            owner.copy = Some(Lock { granted: None, requested: Some(mode), ..copy });
            (Said::Request(wish), Unanswered::Wish)
        }
        (Some(mode), Some(copy)) => {
            let wish = Wish { mode, flags: Flags::VALBLK, value };
            let granted = copy.granted.unwrap();
            let is_middle = matches!((granted, mode), (Mode::Pr, Mode::Cw) | (Mode::Cw, Mode::Pr));
            if is_writer {
                copy.value.content = value;
            }
            if mode <= granted && !is_middle {
                // Down: there is no answer to wait for, and it has less at once.
                (copy.granted, copy.requested) = (Some(mode), None);
                owner.to_master.push(Said::Convert(wish));
                return;
            }
            copy.requested = Some(mode);
            (Said::Convert(wish), Unanswered::Wish)
        }
    };
    owner.unanswered = Some(unanswered);
    if mode.is_none() {
        owner.copy = owner.copy.map(|copy| Lock { granted: Some(Mode::Nl), ..copy });
    }
    owner.to_master.push(said);
}

/// The master hears the next thing that this one said. To one that waits it says so, which is the answer that recovery looks at.
fn hears(cluster: &mut Cluster, who: usize) {
    let said = cluster.owners[who].to_master.remove(0);
    let mut notices = Notices::new();
    let (master, handle) = (&mut cluster.master, handle(who));
    match said {
        Said::Request(wish) => master.request(handle, wish, &SETTINGS, &mut notices),
        Said::Convert(wish) => master.convert(handle, wish, &SETTINGS, &mut notices),
        Said::Release(value) => master.release(handle, Flags::VALBLK, value, &SETTINGS, &mut notices),
    }
    for (whose, notice) in notices {
        if matches!(notice, Notice::Completed { .. }) {
            cluster.owners[usize::from(whose.owner)].from_master.push(notice);
        }
    }
}

/// What is told of a conversion down changes nothing: it was taken for done when it was asked for.
fn is_told(cluster: &mut Cluster, who: usize) {
    let owner = &mut cluster.owners[who];
    let notice = owner.from_master.remove(0);
    let Notice::Completed { status, granted, value, .. } = notice else { unreachable!() };
    let Some(copy) = &mut owner.copy else { return };
    match status {
        Status::Granted if copy.requested == granted => {
            (copy.granted, copy.requested) = (granted, None);
            if let Some((value, _)) = value {
                copy.value = value;
            }
            owner.unanswered = None;
        }
        Status::Granted => {}
        Status::Deadlock => (copy.requested, owner.unanswered) = (None, None),
        Status::Released => (owner.copy, owner.unanswered) = (None, None),
        other => panic!("{other:?} was not asked for"),
    }
}

fn next(cluster: &Cluster) -> Vec<Cluster> {
    let mut next = Vec::new();
    let mut push = |what: &dyn Fn(&mut Cluster)| {
        let mut after = cluster.clone();
        what(&mut after);
        // What the master says to one that waits is left out: it comes with the grant. So it counts as answered when it is heard.
        for (who, owner) in after.owners.iter_mut().enumerate() {
            let waits = after.master.lock(handle(who)).is_some_and(|lock| lock.requested.is_some());
            if waits && owner.to_master.is_empty() && owner.unanswered == Some(Unanswered::Wish) {
                let may_be_answered = owner.from_master.is_empty();
                if may_be_answered {
                    owner.unanswered = None;
                }
            }
        }
        next.push(after);
    };
    for (who, owner) in cluster.owners.iter().enumerate() {
        let waits = owner.unanswered.is_some() || owner.copy.is_some_and(|copy| copy.requested.is_some());
        if owner.left > 0 && !waits && owner.to_master.is_empty() {
            MODES.into_iter().for_each(|mode| push(&|after| says(after, who, Some(mode))));
            if owner.copy.is_some() {
                push(&|after| says(after, who, None));
            }
        }
        if !owner.to_master.is_empty() {
            push(&|after| hears(after, who));
        }
        if !owner.from_master.is_empty() {
            push(&|after| is_told(after, who));
        }
    }
    next
}

fn reachable(left: [u8; 3]) -> BTreeSet<Cluster> {
    let owners = left.map(|left| Owner { left, ..Owner::default() }).to_vec();
    let first = Cluster { master: Resource::default(), owners, written: 0 };
    let (mut seen, mut frontier) = (BTreeSet::from([first.clone()]), vec![first]);
    while let Some(cluster) = frontier.pop() {
        for after in next(&cluster) {
            if seen.insert(after.clone()) {
                frontier.push(after);
            }
        }
    }
    seen
}

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// What was found over all moments, orders of arrival, and with and without the death of one that was on the master's node.
#[derive(Default, Debug)]
struct Found {
    recoveries: usize,
    incompatible: usize,
    lost: usize,
    stuck: usize,
    /// The value block is taken for valid, and is not what was written last.
    stale: usize,
    /// The same, where no granted lock survives: there is nothing to tell it from.
    forgotten: usize,
}

fn recovered(clusters: &BTreeSet<Cluster>, recovery: Recovery) -> Found {
    let mut found = Found::default();
    for cluster in clusters {
        for dead in [None, Some(2)] {
            // A writer that dies may have written what nobody knows of.
            let wrote = dead.is_some_and(|dead: usize| cluster.owners[dead].goes_by() >= Some(Mode::Pw));
            for order in ORDERS {
                found.recoveries += 1;
                one(cluster, dead, order, recovery, wrote, &mut found);
            }
        }
    }
    found
}

fn one(
    cluster: &Cluster,
    dead: Option<usize>,
    order: [usize; 3],
    recovery: Recovery,
    wrote: bool,
    found: &mut Found,
) {
    let alive = || order.into_iter().filter(|who| Some(*who) != dead);
    let mut copies = Vec::new();
    for who in alive() {
        let owner = &cluster.owners[who];
        match owner.copy.map(|copy| copy.survives(owner.unanswered, recovery)) {
            Some(Survives::Sent(lock) | Survives::AskedAgain(Some(lock))) => copies.push(lock),
            Some(Survives::AskedAgain(None) | Survives::Gone) | None => {}
        }
    }
    let mut resource = Resource::rebuilt(&copies, recovery);
    if !resource.is_unused() && !resource.is_doubtful && (wrote || resource.value.content != cluster.written)
    {
        match copies.iter().any(|copy| copy.granted.is_some()) {
            true => found.stale += 1,
            false => found.forgotten += 1,
        }
    }
    let mut notices = Notices::new();
    resource.reopen(recovery, &SETTINGS, &mut notices);
    // The gate is open: what was not answered is asked again.
    for who in alive() {
        let owner = &cluster.owners[who];
        let Some(copy) = owner.copy else { continue };
        let (Survives::AskedAgain(_), Some(mode)) =
            (copy.survives(owner.unanswered, recovery), copy.requested)
        else {
            continue;
        };
        let wish = Wish { mode, flags: Flags::VALBLK, value: copy.value.content };
        match copy.granted {
            None => resource.request(handle(who), wish, &SETTINGS, &mut notices),
            Some(_) => resource.convert(handle(who), wish, &SETTINGS, &mut notices),
        }
    }
    let told = |who: usize| notices.iter().any(|(whose, _)| usize::from(whose.owner) == who);
    for who in alive() {
        let owner = &cluster.owners[who];
        let has = resource.lock(handle(who)).and_then(|lock| lock.granted);
        let is_middle = owner.copy.is_some_and(|copy| {
            matches!(
                (copy.granted, copy.requested),
                (Some(Mode::Pr), Some(Mode::Cw)) | (Some(Mode::Cw), Some(Mode::Pr))
            )
        });
        if owner.goes_by().is_some()
            && owner.unanswered != Some(Unanswered::Release)
            && !told(who)
            && !is_middle
        {
            found.lost += usize::from(has != owner.goes_by());
        }
    }
    let granted: Vec<(Handle, Mode)> =
        resource.locks().filter_map(|lock| Some((lock.handle, lock.granted?))).collect();
    let collide = |(one, mode): &(Handle, Mode)| {
        granted.iter().any(|(other, theirs)| one != other && !mode.goes_beside(*theirs))
    };
    found.incompatible += usize::from(granted.iter().any(collide));
    // Nobody has anything but those that wait.
    let nobody_is_free = resource.granted.is_empty() && !resource.converting.is_empty();
    found.stuck += usize::from(nobody_is_free);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn whenever_the_master_dies_its_locks_come_back_compatible_and_nobody_waits_for_ever() {
    let clusters = reachable([2, 2, 2]);
    let found = recovered(&clusters, Recovery::LINUX);
    assert_eq!((clusters.len(), found.recoveries), (477_287, 5_727_444));
    assert_eq!((found.incompatible, found.lost, found.stuck, found.stale), (0, 0, 0, 0), "{found:?}");
}

/// What Linux 1416bd508c78 repaired in 2026.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn guessing_what_they_have_who_convert_between_pr_and_cw_leaves_some_waiting_for_ever() {
    let clusters = reachable([2, 2, 1]);
    for (middle, incompatible, stuck) in [(Middle::Guessed, 3_528, 3_312), (Middle::FallToNull, 0, 4_032)] {
        let found = recovered(&clusters, Recovery { middle, ..Recovery::LINUX });
        assert_eq!(found.recoveries, 1_100_580);
        assert_eq!((found.incompatible, found.stuck, found.stale), (incompatible, stuck, 0), "{found:?}");
    }
}

/// Row V7.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn conversions_granted_in_the_order_of_their_arrival_wait_for_one_another() {
    let clusters = reachable([2, 2, 2]);
    let found = recovered(&clusters, Recovery { order: Order::AsTheyStand, ..Recovery::LINUX });
    assert_eq!((found.incompatible, found.stuck, found.stale), (0, 792, 0), "{found:?}");
}

/// Row V3.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_value_block_that_is_not_sent_along_is_empty_and_nothing_says_so() {
    let clusters = reachable([2, 2, 1]);
    let found = recovered(&clusters, Recovery { sends_values: false, ..Recovery::LINUX });
    assert_eq!((found.incompatible, found.stuck, found.stale), (0, 0, 371_532), "{found:?}");
}

/// The kernel sends no doubt along: it is a flag of the resource, and of each grant, and of no lock that is rebuilt.
#[test]
fn a_value_in_doubt_is_taken_for_valid_when_the_master_dies_as_well() {
    let wish = |mode| Wish { mode, flags: Flags::VALBLK, value: 0 };
    let (mut resource, mut notices) = (Resource::default(), Notices::new());
    resource.request(handle(0), wish(Mode::Ex), &SETTINGS, &mut notices);
    resource.request(handle(1), wish(Mode::Pr), &SETTINGS, &mut notices);
    resource.purge(0, &SETTINGS, &mut notices);
    assert!(resource.is_doubtful && resource.granted.len() == 1);
    let rebuilt = Resource::rebuilt(&resource.granted, Recovery::LINUX);
    assert!(!rebuilt.is_doubtful);
}
