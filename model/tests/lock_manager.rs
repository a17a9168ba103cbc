//! What users of the lock managers of VMS and Linux may rely on, in every order in which things can happen.

use crate::is_long;
use picklock_model::claims::dlm::{
    CachedVariable, LINUX_2006, among, asks, cached_variable, cached_whose_master_dies, hierarchy,
    journaled_variable, managed, modes, queues_in_order, readers_and_writers, standby, two_conversions,
    two_resources, upgrades, whose_master_dies,
};
use picklock_model::explore::{Draws, Exploration, Goal, Limits, Space, Verdict, check_liveness, search};
use picklock_model::managed::{Believes, Chosen, Managed, Program};
use picklock_model::objects::cells::{CacheSettings, GivesUp, Validity};
use picklock_model::stores::dlm::recovery::{Order, Recovery};
use picklock_model::stores::dlm::{Flags, Journals, Mode, NewMaster, Settings};
use picklock_model::time::Micros;
use picklock_properties::Promise;

const EXCLUDES: &[Promise] = &[Promise::MutualExclusion];
const GOES_ON: &[Promise] = &[Promise::DeadlockFreedom];

fn explored(what: &str, space: &Space<Managed>) -> Exploration {
    let explored = search(space, &Limits::states(20_000_000));
    println!("{what}: {} states, {:?}", explored.states, explored.verdict);
    explored
}

fn assert_holds(what: &str, space: &Space<Managed>) -> Exploration {
    let explored = explored(what, space);
    assert_eq!(explored.verdict, Verdict::Verified, "{what}");
    let untested = explored.coverage.tested.untested(space.setup.promises);
    assert!(untested.is_empty(), "{what}: nothing put {untested:?} to the test");
    explored
}

/// The same, in so many states: the book has their number.
fn assert_holds_in(states: u64, what: &str, space: &Space<Managed>) {
    assert_eq!(assert_holds(what, space).states, states, "{what}");
}

fn goes_on(what: &str, space: &Space<Managed>) -> bool {
    let (explored, lassos) =
        check_liveness(space, &[Goal::DeadlockFreedom], Draws::Adversary, &Limits::states(20_000_000));
    println!("{what}: {} states, lasso {:?}", explored.states, lassos.first().map(Option::is_some));
    assert_eq!(explored.verdict, Verdict::Verified, "{what}");
    lassos[0].is_none()
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn holders_in_every_mode_go_together_and_come_to_an_end() {
    for store in [Settings::LINUX, Settings::VMS] {
        assert_holds("two rounds", &modes(store, (2, 2), EXCLUDES));
        assert_holds("three processes", &modes(store, (3, 1), EXCLUDES));
        assert!(goes_on("three processes", &modes(store, (3, 1), GOES_ON)));
    }
}

#[test]
fn holders_that_die_and_come_back_leave_nothing_behind() {
    let mut space = readers_and_writers(Settings::LINUX, (2, 2), EXCLUDES);
    space.bounds.crashes = 1;
    assert_holds("a crash", &space);
    space.setup.promises = GOES_ON.iter().copied().collect();
    assert!(goes_on("a crash", &space));
    space.bounds.crashes_restart = false;
    assert!(!goes_on("a crash for good: nobody tells the manager", &space));
}

#[test]
fn requests_that_arrive_twice_are_done_once() {
    let mut space = readers_and_writers(Settings::LINUX, (2, 2), EXCLUDES);
    space.bounds.duplicates = 1;
    assert_holds("a duplicate", &space);
}

/// Row V1.
#[test]
fn two_readers_that_want_to_write_wait_for_ever_until_2007_and_not_since() {
    let space = |store, flags| upgrades(store, flags, (2, 1), GOES_ON);
    assert!(!goes_on("2006", &space(LINUX_2006, Flags::NONE)));
    assert!(!goes_on("NODLCKWT", &space(Settings::LINUX, Flags::NODLCKWT)));
    assert!(goes_on("Linux", &space(Settings::LINUX, Flags::NONE)));
    assert!(goes_on("VMS", &space(Settings::VMS, Flags::NONE)));
    assert!(goes_on("CONVDEADLK", &space(LINUX_2006, Flags::CONVDEADLK)));
    assert!(goes_on("three", &upgrades(Settings::LINUX, Flags::NONE, (3, 1), GOES_ON)));
    assert_holds("Linux", &upgrades(Settings::LINUX, Flags::NONE, (3, 1), EXCLUDES));
}

/// Row V2.
#[test]
fn a_reader_that_is_demoted_and_goes_on_reading_meets_a_writer() {
    let mut space = upgrades(Settings::LINUX, Flags::CONVDEADLK, (2, 1), EXCLUDES);
    assert_holds("it goes by nothing while it converts", &space);
    space.setup.lock.believes = Believes::WhatItHad;
    assert!(matches!(explored("it reads on", &space).verdict, Verdict::Violated { .. }));
}

/// Row V8.
#[test]
fn a_circle_over_two_resources_stays_in_linux_and_is_ended_in_vms() {
    assert!(!goes_on("Linux", &two_resources(Settings::LINUX, (2, 1), GOES_ON)));
    assert!(goes_on("VMS", &two_resources(Settings::VMS, (2, 1), GOES_ON)));
    assert!(goes_on("VMS, three", &two_resources(Settings::VMS, (3, 1), GOES_ON)));
    assert_holds("VMS, three", &two_resources(Settings::VMS, (3, 1), EXCLUDES));
}

#[test]
fn one_instance_serves_and_the_others_follow() {
    for store in [Settings::LINUX, Settings::VMS] {
        let mut space = standby(store, (3, 1), EXCLUDES);
        assert_holds("standby", &space);
        space.setup.promises = GOES_ON.iter().copied().collect();
        assert!(goes_on("standby", &space));
    }
}

#[test]
fn a_lock_on_a_file_keeps_out_those_who_lock_its_pages() {
    for store in [Settings::LINUX, Settings::VMS] {
        assert_holds("pages", &hierarchy(store, (2, 1), EXCLUDES));
        assert!(goes_on("pages", &hierarchy(store, (2, 1), GOES_ON)));
    }
}

fn cache(gives_up: GivesUp, validity: Validity, size: (u8, u8)) -> Space<CachedVariable> {
    let settings = CacheSettings { gives_up, validity, ..CacheSettings::default() };
    cached_variable(settings, Settings::LINUX, size, &[Promise::Linearizable])
}

fn cached(what: &str, space: &Space<CachedVariable>) -> Exploration {
    let explored = search(space, &Limits::states(20_000_000));
    println!("{what}: {} states, {:?}", explored.states, explored.verdict);
    explored
}

fn verdict(what: &str, space: &Space<CachedVariable>) -> Verdict {
    cached(what, space).verdict
}

/// As [`assert_holds_in`].
fn assert_linearizable_in(states: u64, what: &str, space: &Space<CachedVariable>) {
    let explored = cached(what, space);
    assert_eq!((explored.verdict, explored.states), (Verdict::Verified, states), "{what}");
}

/// Row V5.
#[test]
fn a_cache_is_emptied_before_its_lock_is_given_up_or_somebody_reads_what_is_not_there_any_more() {
    let space = |gives_up| cache(gives_up, Validity::Minded, (2, 2));
    assert_eq!(verdict("cache first", &space(GivesUp::CacheFirst)), Verdict::Verified);
    assert!(matches!(verdict("lock first", &space(GivesUp::LockFirst)), Verdict::Violated { .. }));
}

/// Row V9.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_value_block_in_doubt_is_no_number_or_a_stale_cache_is_taken_for_fresh() {
    let space = |validity| {
        let mut space = cache(GivesUp::CacheFirst, validity, (2, 2));
        space.bounds.crashes = 1;
        space
    };
    assert_linearizable_in(399_762, "minded", &space(Validity::Minded));
    assert!(matches!(verdict("ignored", &space(Validity::Ignored)), Verdict::Violated { .. }));
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_new_master_that_asks_keeps_everything_and_one_that_does_not_gives_locks_away() {
    for (what, of) in [
        ("readers and writers", readers_and_writers as fn(_, _, &[Promise]) -> _),
        ("modes", modes),
        ("two resources", two_resources),
        ("standby", standby),
    ] {
        let dies =
            |new_master, promises| whose_master_dies(of(Settings::VMS, (2, 1), promises), new_master, 1);
        assert_holds(what, &dies(asks(2), EXCLUDES));
        assert!(goes_on(what, &dies(asks(2), GOES_ON)), "{what}");
        let forgetful = explored(what, &dies(NewMaster::HasNone, EXCLUDES));
        assert!(matches!(forgetful.verdict, Verdict::Violated { .. }), "{what}");
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_master_may_die_at_every_step_of_a_conversion() {
    let dies =
        |promises| whose_master_dies(upgrades(Settings::LINUX, Flags::NONE, (2, 1), promises), asks(2), 2);
    assert_holds_in(38_621, "two deaths", &dies(EXCLUDES));
    assert!(goes_on("two deaths", &dies(GOES_ON)));
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_process_and_the_master_may_both_die() {
    let mut space = whose_master_dies(readers_and_writers(Settings::LINUX, (2, 1), EXCLUDES), asks(2), 1);
    space.bounds.crashes = 1;
    assert_holds_in(93_687, "both", &space);
    space.setup.promises = GOES_ON.iter().copied().collect();
    assert!(goes_on("both", &space));
}

/// Row V6.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn an_answer_to_a_recovery_that_was_given_up_counts_for_nothing_or_somebody_has_a_lock_for_ever() {
    let space = |minds_epoch| {
        let new_master = NewMaster::Asks { recovery: Recovery::LINUX, members: 2, minds_epoch };
        whose_master_dies(readers_and_writers(Settings::LINUX, (2, 1), GOES_ON), new_master, 2)
    };
    assert!(goes_on("minded", &space(true)));
    assert!(!goes_on("not minded", &space(false)));
}

/// Row V7.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn conversions_that_are_granted_as_they_came_to_stand_anew_wait_for_ever() {
    let space = |order| {
        let mut space = two_conversions(queues_in_order(order, 3), 1, GOES_ON);
        space.bounds.power_losses = 1;
        space
    };
    assert!(!goes_on("as they stand", &space(Order::AsTheyStand)));
    assert!(!goes_on("free once, as in Linux", &space(Order::FreeOnce)));
    let mut free = space(Order::FreeUntilNoneWaits);
    assert!(goes_on("free until none waits", &free));
    free.setup.promises = EXCLUDES.iter().copied().collect();
    assert_holds_in(96_454, "free until none waits", &free);
}

/// Row V3.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_value_block_that_a_new_master_is_not_sent_is_taken_for_valid() {
    let space = |sends_values| {
        let recovery = Recovery { sends_values, ..Recovery::LINUX };
        cached_whose_master_dies(cache(GivesUp::CacheFirst, Validity::Minded, (2, 2)), recovery)
    };
    assert_linearizable_in(759_198, "sent", &space(true));
    assert!(matches!(verdict("not sent", &space(false)), Verdict::Violated { .. }));
}

/// Row V4.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_lock_that_is_given_on_before_a_journal_is_replayed_shows_what_was_before() {
    let space = |journals| journaled_variable(journals, (2, 2), &[Promise::Linearizable]);
    assert_linearizable_in(405_360, "first", &space(Journals::ReplayedFirst));
    assert!(matches!(verdict("meanwhile", &space(Journals::ReplayedMeanwhile)), Verdict::Violated { .. }));
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn who_is_taken_for_dead_is_switched_off_first_or_goes_on_beside_the_next_one() {
    let of_size = |size, of: fn(_, _, &[Promise]) -> Space<Managed>, fences| {
        let store = Settings { fences, removed_after: Some(Micros::seconds(20)), ..Settings::LINUX };
        of(store, size, EXCLUDES)
    };
    let space = |of, fences| of_size((2, 1), of, fences);
    // So many where each may be the silent one, alone or with others.
    for (what, of, states) in [
        ("readers and writers", readers_and_writers as fn(_, _, &[Promise]) -> _, 3_353),
        ("modes", modes, 30_549),
    ] {
        assert_holds_in(states, what, &space(of, true));
        assert!(matches!(explored(what, &space(of, false)).verdict, Verdict::Violated { .. }));
        if what == "modes" && is_long() {
            assert_holds("a new master", &whose_master_dies(space(of, true), asks(2), 1));
        }
    }
    let of = readers_and_writers;
    assert_holds_in(892_376, "a new master", &whose_master_dies(space(of, true), asks(2), 1));
    assert_holds_in(232_973, "three processes", &of_size((3, 1), of, true));
}

/// A directory, and masters of what was first asked for from them; what a dead one mastered gets another master.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn several_nodes_master_resources_and_one_of_them_may_die() {
    for (what, of, sizes) in [
        ("readers and writers", readers_and_writers as fn(_, _, &[Promise]) -> _, [545, 719_333]),
        (
            "upgrades",
            |store, size, promises: &[Promise]| upgrades(store, Flags::NONE, size, promises),
            [300, 346_035],
        ),
        ("two resources", two_resources, [1_203, 1_241_621]),
    ] {
        for ((nodes, deaths), states) in [(3, 0), (2, 1)].into_iter().zip(sizes) {
            // Of these there are 1.2 million states.
            if what.starts_with("two") && deaths > 0 && !is_long() {
                continue;
            }
            let space = |promises| among(of(Settings::LINUX, (2, 1), promises), nodes, deaths);
            let what = format!("{what}, {nodes} nodes, {deaths} deaths");
            assert_holds_in(states, &what, &space(EXCLUDES));
            // In Linux, a circle over two resources is not looked for.
            if !what.starts_with("two") {
                assert!(goes_on(&what, &space(GOES_ON)), "{what}");
            }
        }
    }
    let mut forgetful = among(readers_and_writers(Settings::LINUX, (2, 1), EXCLUDES), 2, 1);
    forgetful.setup.store.new_master = NewMaster::HasNone;
    assert!(matches!(explored("nobody is asked", &forgetful).verdict, Verdict::Violated { .. }));
}

/// One reads and one writes, on three nodes of which one dies; and both want to write what they have read.
#[test]
fn three_nodes_master_resources_and_one_of_them_may_die() {
    if !is_long() {
        return eprintln!("skipped without PICKLOCK_LONG=1: it takes minutes and gigabytes");
    }
    let programs = [Mode::Ex, Mode::Pr].map(Program::holds);
    let one_of_each = managed(&programs, Chosen::ByProcess, Settings::LINUX, (2, 1), EXCLUDES);
    let upgrades = upgrades(Settings::LINUX, Flags::NONE, (2, 1), EXCLUDES);
    // Nobody has counted the states of upgrades since the book last did.
    for (what, space, states) in
        [("one reads, one writes", one_of_each, Some(18_366_214)), ("upgrades", upgrades, None)]
    {
        let explored = search(&among(space, 3, 1), &Limits::states(60_000_000));
        println!("{what}, 3 nodes, 1 death: {} states", explored.states);
        assert_eq!(explored.verdict, Verdict::Verified, "{what}");
        assert!(states.is_none_or(|states| states == explored.states), "{what}");
    }
}

/// A silence may be of any length, and come at any moment: each of two nodes may take the other one for dead, and is not.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn nodes_that_take_each_other_for_dead_need_a_quorum_or_a_fence() {
    let explored = |quorum, fences| {
        let removed_after = Some(Micros::seconds(20));
        let store = Settings { quorum, fences, removed_after, ..Settings::LINUX };
        let of = managed(&[Program::holds(Mode::Ex)], Chosen::ByProcess, store, (2, 1), EXCLUDES);
        explored(&format!("quorum {quorum}, fences {fences}"), &among(of, 2, 0))
    };
    let split = explored(false, false).verdict;
    assert!(
        matches!(split, Verdict::Violated { .. }),
        "each goes on alone, and gives away what the other has"
    );
    for fences in [false, true] {
        let both_or_none = explored(true, fences);
        assert_eq!((both_or_none.verdict, both_or_none.states), (Verdict::Verified, 684));
    }
    let race = explored(false, true);
    assert_eq!(
        (race.verdict, race.states),
        (Verdict::Verified, 248_906),
        "nobody goes on before the other is off"
    );
    if is_long() {
        let removed_after = Some(Micros::seconds(20));
        let store = Settings { quorum: false, fences: true, removed_after, ..Settings::LINUX };
        let readers = readers_and_writers(store, (2, 1), EXCLUDES);
        assert_holds_in(967_476, "readers and writers", &among(readers, 2, 0));
        let writers = managed(&[Program::holds(Mode::Ex)], Chosen::ByProcess, store, (2, 2), EXCLUDES);
        assert_holds_in(925_494, "two rounds", &among(writers, 2, 0));
    }
}

/// Of two resources each may have another master: no node sees the circle by itself.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_circle_over_two_masters_is_found_when_they_tell_each_other_who_waits() {
    let space = |store, promises| among(two_resources(store, (2, 1), promises), 2, 0);
    assert!(!goes_on("Linux", &space(Settings::LINUX, GOES_ON)));
    assert_holds_in(1_203, "Linux", &space(Settings::LINUX, EXCLUDES));
    assert!(goes_on("VMS", &space(Settings::VMS, GOES_ON)));
    assert_holds_in(84_703, "VMS", &space(Settings::VMS, EXCLUDES));
}
