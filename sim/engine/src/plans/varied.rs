//! The workload of a run, drawn from its seed around the one that is set up.
//!
//! Clients that all hold for as long as each other come to write in the order in which they were granted, and timers that all
//! are constant meet at the same phases in every run. What a lock gets wrong between two holders, or between a hold and a
//! lease, is never met then, whatever the faults. So each run of a [workload that varies](Workload::varies) has its own
//! number of clients and rounds, and its own lengths of thinking and holding, from none to half as long again as a grant lasts, or to what
//! is set up if that is longer (of holding: to half of what a grant lasts, where the [work fits](Workload::work_fits));
//! within a run, too, most clients take longer at one time than at another ([`Pace`]).

use crate::seeded::dice::{Dice, Stream};
use picklock_model::cluster::Setup;
use picklock_model::system::System;
use picklock_model::time::Micros;
use picklock_model::workload::{AccessChoice, Pace, ROUNDS_WITHOUT_END, Workload};
use std::borrow::Cow;

/// The setup of this seed's run: `setup` itself, unless its workload varies. The same on every machine; what comes out does
/// not vary any more.
pub fn of_seed<Y: System>(setup: &Setup<Y>, seed: u64) -> Cow<'_, Setup<Y>> {
    let Some(workload) = workload_of_seed(&setup.workload, Y::patience(setup), seed) else {
        return Cow::Borrowed(setup);
    };
    Cow::Owned(setup.with_workload(workload))
}

/// How many clients and attendants a run of this setup can have, whatever its seed.
pub(crate) fn processes_max(around: &Workload) -> u8 {
    let clients = match around.varies {
        true => clients_max(around),
        false => around.clients,
    };
    clients.saturating_add(around.attendants)
}

/// The workload of this seed's run, if `around` varies, of a lock with this lease.
pub(crate) fn workload_of_seed(around: &Workload, lease: Option<Micros>, seed: u64) -> Option<Workload> {
    let lease = lease.unwrap_or(LEASE_IF_NONE);
    around.varies.then(|| varied(around, lease, &mut Dice::new(seed, Stream::Workload)))
}

/// What the seeds draw, if they do: of clients that hold something, or only call.
pub fn in_words(around: &Workload, lease: Option<Micros>, holds: bool) -> Option<String> {
    if !around.varies {
        return None;
    }
    let lengths = Lengths::of(around, lease.unwrap_or(LEASE_IF_NONE));
    let times = match around.rounds {
        0 | ROUNDS_WITHOUT_END => String::new(),
        rounds => {
            format!(", 1 to {} {}", rounds_max(rounds), if holds { "times each" } else { "operations each" })
        }
    };
    let clients = format!("{CLIENTS_MIN} to {} clients{times}", clients_max(around));
    let Lengths { think, hold } = lengths;
    let fits = if around.work_fits { " (half of its lease: this lock asks for work that fits)" } else { "" };
    Some(match holds {
        true => {
            format!("{clients}, and lengths anew: holds of up to {hold}{fits}, thinking of up to {think}")
        }
        false => format!("{clients}, and lengths anew: thinking of up to {think}"),
    })
}

/// The longest that there may be.
struct Lengths {
    think: Micros,
    hold: Micros,
}

impl Lengths {
    fn of(around: &Workload, lease: Micros) -> Lengths {
        let longest = Micros(lease.0.saturating_add(lease.0 / 2));
        // What a grant and an answer take comes on top.
        let hold = if around.work_fits { Micros(lease.0 / 2) } else { longest.max(around.hold) };
        Lengths { think: longest.max(around.think), hold }
    }
}

fn clients_max(around: &Workload) -> u8 {
    CLIENTS_MAX.max(around.clients.saturating_add(1))
}

fn rounds_max(rounds: u8) -> u8 {
    rounds.saturating_add(ROUNDS_MORE).min(ROUNDS_WITHOUT_END - 1)
}

/// What lengths are measured by where no grant ends by itself.
const LEASE_IF_NONE: Micros = Micros::seconds(10);

/// Fewer than so many clients are in nobody's way.
const CLIENTS_MIN: u8 = 2;

/// So many at least may come, however few are set up: some flaws want a third, and a crowd hides others.
const CLIENTS_MAX: u8 = 4;

/// So many rounds more than are set up may come.
const ROUNDS_MORE: u8 = 2;

/// The shortest length beside none at all.
const SHORTEST_MICROS: i64 = 1000;

/// Who is refused and asks again waits for so long at least: else a run is all refusals.
const RETRY_MIN: Micros = Micros::millis(20);

fn varied(around: &Workload, lease: Micros, dice: &mut Dice) -> Workload {
    let longest = Lengths::of(around, lease);
    let clients_max = i64::from(clients_max(around));
    // The smaller one of two: few clients more often than many, for each costs the others time.
    let mut clients = || dice.between(i64::from(CLIENTS_MIN), clients_max) as u8;
    let clients = clients().min(clients());
    let rounds = match around.rounds {
        0 | ROUNDS_WITHOUT_END => around.rounds,
        rounds => dice.between(1, i64::from(rounds_max(rounds))) as u8,
    };
    let (think, hold) = (length(longest.think, dice), length(longest.hold, dice));
    let think = if around.retries { think.max(RETRY_MIN.min(around.think)) } else { think };
    let pace = pace(dice);
    let access = access(around.access, dice);
    Workload { clients, rounds, access, think, hold, pace, varies: false, ..*around }
}

/// The same choice, drawn otherwise if it is drawn.
fn access(around: AccessChoice, dice: &mut Dice) -> AccessChoice {
    match around {
        AccessChoice::First | AccessChoice::ByClient(_) => around,
        AccessChoice::Drawn { seed: _, weights } => AccessChoice::Drawn { seed: dice.bits(), weights },
    }
}

/// None, of any order of magnitude, or anything: what goes wrong between two messages wants lengths as short as those are.
fn length(longest: Micros, dice: &mut Dice) -> Micros {
    match dice.below(8) {
        0 => Micros::ZERO,
        1..=3 => Micros(dice.log_uniform(SHORTEST_MICROS, longest.0)),
        _ => Micros(dice.between(0, longest.0)),
    }
}

/// A quarter of the runs is even, a quarter somewhat uneven, half as uneven as can be.
fn pace(dice: &mut Dice) -> Option<Pace> {
    let spread_per_mille = match dice.below(4) {
        0 => return None,
        1 => dice.between(1, 1000) as u16,
        _ => 1000,
    };
    Some(Pace { seed: dice.bits(), spread_per_mille })
}

/// For how long clients that are in each other's way are busy, about: to measure one workload by another.
pub(crate) fn busy(workload: &Workload) -> Micros {
    let mean = |length: Micros| match workload.pace {
        None => length.0,
        Some(pace) => length.0 - length.0 * i64::from(pace.spread_per_mille) / 2000,
    };
    /// What it takes to be granted, at least.
    const ASKING: i64 = 100_000;
    let turn = mean(workload.hold) + ASKING;
    let round = mean(workload.think) + turn * i64::from(workload.clients);
    Micros(round * i64::from(workload.rounds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy;

    fn workloads() -> impl Iterator<Item = Workload> {
        let mut setup = toy::leased_setup();
        setup.workload.varies = true;
        (0..2000).map(move |seed| of_seed(&setup, seed).workload)
    }

    #[test]
    fn a_workload_that_does_not_vary_is_left_as_it_is() {
        let setup = toy::leased_setup();
        assert!(matches!(of_seed(&setup, 1), Cow::Borrowed(same) if *same == setup));
    }

    #[test]
    fn what_is_drawn_is_the_same_for_the_same_seed_and_does_not_vary_again() {
        let mut setup = toy::leased_setup();
        setup.workload.varies = true;
        for seed in 0..100 {
            let drawn = of_seed(&setup, seed).into_owned();
            assert_eq!(*of_seed(&setup, seed), drawn);
            assert!(matches!(of_seed(&drawn, seed + 1), Cow::Borrowed(same) if *same == drawn));
            assert_eq!(drawn.check(), Ok(()));
        }
    }

    #[test]
    fn holds_are_shorter_and_longer_than_a_lease_and_none_is_much_longer() {
        let lease = crate::toy::leased_setup();
        let lease = <crate::toy::Key as System>::lease_of(&lease.lock).unwrap();
        let holds: Vec<i64> = workloads().map(|workload| workload.hold.0).collect();
        let many = |is: &dyn Fn(i64) -> bool| holds.iter().filter(|hold| is(**hold)).count();
        assert!(many(&|hold| hold == 0) > 100, "some do not hold at all");
        assert!(many(&|hold| hold > 0 && hold < lease.0 / 100) > 100, "some hold for a moment");
        assert!(many(&|hold| hold < lease.0) > 800 && many(&|hold| hold > lease.0) > 200);
        assert!(holds.iter().all(|hold| *hold <= lease.0 * 3 / 2));
    }

    #[test]
    fn holds_and_thinking_are_as_long_as_is_set_where_that_is_longer_than_usual() {
        let mut setup = toy::leased_setup();
        setup.workload.varies = true;
        let lease = <crate::toy::Key as System>::lease_of(&setup.lock).unwrap();
        let long = Micros(lease.0 * 10);
        (setup.workload.hold, setup.workload.think) = (long, long);
        let drawn: Vec<Workload> = (0..2000).map(|seed| of_seed(&setup, seed).workload).collect();
        for length in [|drawn: &Workload| drawn.hold, |drawn: &Workload| drawn.think] {
            assert!(drawn.iter().any(|drawn| length(drawn).0 > lease.0 * 5));
            assert!(drawn.iter().all(|drawn| length(drawn) <= long));
        }
    }

    #[test]
    fn there_are_always_two_clients_and_sometimes_more_and_seldom_many() {
        let many = |clients| workloads().filter(|workload| workload.clients == clients).count();
        assert!(many(2) > many(3) && many(3) > many(4) && many(4) > 100);
        assert_eq!(many(2) + many(3) + many(4), 2000);
    }

    #[test]
    fn each_seed_draws_other_modes_of_access_and_changes_nothing_else_by_that() {
        let mut setup = toy::leased_setup();
        setup.workload.varies = true;
        let mut shared = setup.clone();
        let weights = [1; 8];
        shared.workload.access = AccessChoice::Drawn { seed: 0, weights };
        let mut seeds = std::collections::BTreeSet::new();
        for seed in 0..100 {
            let drawn = of_seed(&shared, seed).workload;
            let AccessChoice::Drawn { seed: of_modes, weights: drawn_weights } = drawn.access else {
                panic!("{:?} is drawn no more", drawn.access);
            };
            assert_eq!(drawn_weights, weights);
            seeds.insert(of_modes);
            assert_eq!(Workload { access: AccessChoice::First, ..drawn }, of_seed(&setup, seed).workload);
        }
        assert_eq!(seeds.len(), 100);
    }

    #[test]
    fn most_runs_are_uneven_and_some_are_not() {
        let uneven = workloads().filter(|workload| workload.pace.is_some()).count();
        assert!((1400..1600).contains(&uneven), "{uneven} of 2000");
    }
}
